//! `ordain explain`.

use super::predict::ranked;
use super::{matches, open_model, read_for, tags};
use crate::args::Explain;
use crate::plan::{self, Usage};
use crate::screen::{Screen, four, table};
use anyhow::Result;
use ordain::method::Contribution;
use ordain::model_file::Model;
use serde_json::{Value, json};

pub(super) fn run(args: &Explain, screen: &Screen) -> Result<()> {
    let model = match open_model(&args.model, &args.reading)? {
        Model::Rank(model) => model,
        Model::Annotate(model) => {
            refuse_left(args)?;
            return tags::explain::run(&model, args, screen);
        }
        Model::Match(model) => return matches::explain::run(&model, args, screen),
    };
    refuse_left(args)?;
    let query = plan::explained(args.query.as_ref())?;
    tags::refuse_items(&args.model, std::slice::from_ref(&args.data), &args.reading)?;
    let set = read_for(&model, std::slice::from_ref(&args.data), screen)?;
    let q = set.find_query(query)?;
    let scores = model.ranker.scores_of(&set, &[q as u32])?;
    let order = ranked(&set, q, &scores);
    let pick = |wanted: &Option<String>, place: usize| match wanted {
        Some(id) => Ok(set.find_document(q, id)?),
        None => order
            .get(place)
            .copied()
            .ok_or_else(|| anyhow::anyhow!("query {} has only {} document(s)", query, order.len())),
    };
    let (above, below) = (pick(&args.above, 0)?, pick(&args.below, 1)?);
    if above == below {
        return Err(Usage("--above and --below name the same document; give two".into()).into());
    }
    let place = |row: usize| order.iter().position(|&r| r == row).map_or(0, |p| p + 1);
    let parts = model.ranker.explain(&set, q, above, below)?;
    let difference = scores[above] - scores[below];
    let names = &model.ranker.columns.names;
    if screen.json {
        let document = |row: usize| json!({"id": set.document(row), "rank": place(row), "score": scores[row]});
        let contributions = contributions(&parts, names);
        return screen.document(&json!({
            "query": query, "above": document(above), "below": document(below),
            "difference": difference, "contributions": contributions,
        }));
    }
    let (a, b) = (set.document(above), set.document(below));
    let verb = if difference > 0.0 {
        "stands above"
    } else if difference < 0.0 {
        "stands BELOW"
    } else {
        "is tied with"
    };
    let mut text = format!(
        "query {}: {a} (rank {}, score {}) {verb} {b} (rank {}, score {})\n\n",
        query,
        place(above),
        four(scores[above]),
        place(below),
        four(scores[below])
    );
    let head = ["feature", &*a, &*b, "difference", "weight", "contribution"].map(str::to_owned);
    let shown = parts.iter().filter(|c| c.contribution != 0.0).take(20);
    let mut rows: Vec<Vec<String>> = shown
        .map(|c| {
            vec![
                names[c.column].clone(),
                c.above.to_string(),
                c.below.to_string(),
                format!("{:+.4}", c.difference),
                format!("{:+.4}", c.weight),
                format!("{:+.4}", c.contribution),
            ]
        })
        .collect();
    let rest: f64 = parts.iter().filter(|c| c.contribution != 0.0).skip(20).map(|c| c.contribution).sum();
    let blank = String::new;
    if rest != 0.0 {
        rows.push(vec!["all others".into(), blank(), blank(), blank(), blank(), format!("{rest:+.4}")]);
    }
    rows.push(vec!["sum".into(), blank(), blank(), blank(), blank(), format!("{difference:+.4}")]);
    text += &table(&head, &rows);
    screen.data(&text)
}

/// Refuses options of matching with another model.
fn refuse_left(args: &Explain) -> Result<()> {
    plan::no_points(&args.points)?;
    match args.left {
        Some(_) => {
            Err(Usage("--left is for models that match; this one does not: use --above and --below".into()).into())
        }
        None => Ok(()),
    }
}

/// What each feature adds, in JSON.
pub(super) fn contributions(parts: &[Contribution], names: &[String]) -> Vec<Value> {
    let one = |c: &Contribution| {
        json!({"feature": names[c.column], "above": c.above, "below": c.below, "difference": c.difference,
               "weight": c.weight, "contribution": c.contribution})
    };
    parts.iter().map(one).collect()
}
