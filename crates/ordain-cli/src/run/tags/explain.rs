//! `ordain explain` with a model that annotates.

use super::{rank_name, read_for};
use crate::args::Explain;
use crate::plan::{self, Usage};
use crate::screen::{Screen, four, table};
use anyhow::Result;
use ordain::method::annotator::ranked;
use ordain::method::{FittedTags, LabelReason, Trainer};
use serde_json::{Value, json};

/// Rows of a table.
const SHOWN: usize = 20;

pub(in crate::run) fn run(model: &FittedTags, args: &Explain, screen: &Screen) -> Result<()> {
    let annotator = &model.annotator;
    let query = plan::explained(args.query.as_ref())?;
    let set = read_for(annotator, std::slice::from_ref(&args.data), args.reading.labels.as_deref(), screen)?;
    let i = set.find_item(query)?;
    let item =
        annotator.predict(&set, &[i as u32])?.pop().ok_or_else(|| anyhow::anyhow!("item {query} has no prediction"))?;
    let order = ranked(&item.values);
    let pick = |wanted: &Option<String>, other: Option<usize>| match wanted {
        Some(name) => Ok(set.find_label(name)?),
        // the first of the ranking that is not the other one
        None => order
            .iter()
            .map(|&label| label as usize)
            .find(|&label| Some(label) != other)
            .ok_or_else(|| anyhow::anyhow!("the model knows only {} label(s)", order.len())),
    };
    let given = args.below.as_ref().map(|name| set.find_label(name)).transpose()?;
    let above = pick(&args.above, given)?;
    let below = pick(&args.below, Some(above))?;
    if above == below {
        return Err(Usage("--above and --below name the same label; give two".into()).into());
    }
    let place = |label: usize| order.iter().position(|&l| l as usize == label).map_or(0, |p| p + 1);
    let (links, parts): (Vec<LabelReason>, Vec<LabelReason>) =
        annotator.explain(&set, i, above, below)?.into_iter().partition(|reason| reason.what.starts_with("link to "));
    let difference = item.scores[above] - item.scores[below];
    let of_links: f64 = links.iter().map(gain).sum();
    let kind = rank_name(annotator);
    if screen.json {
        let label = |l: usize| {
            let mut one = json!({"label": annotator.labels[l], "rank": place(l), "score": item.scores[l]});
            one[kind] = item.values[l].into();
            one
        };
        let list = |reasons: &[LabelReason]| -> Value {
            let one =
                |r: &LabelReason| json!({"what": r.what, "above": r.above, "below": r.below, "contribution": gain(r)});
            reasons.iter().map(one).collect()
        };
        return screen.document(&json!({
            "item": set.item(i), "above": label(above), "below": label(below), "difference": difference,
            "contributions": list(&parts), "link_difference": of_links, "links": list(&links),
        }));
    }
    let (a, b) = (&annotator.labels[above], &annotator.labels[below]);
    let verb = match item.values[above].total_cmp(&item.values[below]) {
        std::cmp::Ordering::Greater => "stands above",
        std::cmp::Ordering::Less => "stands BELOW",
        std::cmp::Ordering::Equal => "is tied with",
    };
    let mut text = format!(
        "item {}: {a} (rank {}, {kind} {}) {verb} {b} (rank {}, {kind} {})\n\n",
        set.item(i),
        place(above),
        four(item.values[above]),
        place(below),
        four(item.values[below])
    );
    text += &reasons(["what", a, b, "contribution"], &parts, "sum: difference of scores", difference);
    if annotator.direct.is_empty() && !annotator.own.is_empty() {
        text +=
            "single features are inside the classifiers: a model with features=direct or features=both shows them\n";
    }
    if !links.is_empty() {
        let heading = match annotator.trainer {
            Trainer::Likelihood => "links, at the probabilities of the labels (in brackets):",
            Trainer::Margin => "links, to the labels of the best set (1.00):",
        };
        text += &format!("\n{heading}\n");
        text += &reasons(["link", a, b, "contribution"], &links, "sum of links", of_links);
    }
    let links = if links.is_empty() { "" } else { ", and the links, with a sum of their own, are not in it" };
    text += &format!("\nThe first table adds up to the difference of the scores{links}.\n");
    text += match annotator.trainer {
        Trainer::Likelihood => {
            "Labels are ranked by probability, which weighs whole sets of labels: a sum need not have the sign of the ranking.\n"
        }
        Trainer::Margin => {
            "Labels are ranked by margin, which compares whole sets of labels: a sum need not have the sign of the ranking.\n"
        }
    };
    screen.data(&text)
}

/// What a reason adds to the difference.
fn gain(reason: &LabelReason) -> f64 {
    reason.above - reason.below
}

fn reasons(head: [&str; 4], all: &[LabelReason], last: &str, sum: f64) -> String {
    let row = |what: &str, above: f64, below: f64| {
        vec![what.to_owned(), format!("{above:+.4}"), format!("{below:+.4}"), format!("{:+.4}", above - below)]
    };
    let mut rows: Vec<Vec<String>> = all.iter().take(SHOWN).map(|r| row(&r.what, r.above, r.below)).collect();
    if all.len() > SHOWN {
        let rest = &all[SHOWN..];
        rows.push(row(
            &format!("{} others", rest.len()),
            rest.iter().map(|r| r.above).sum(),
            rest.iter().map(|r| r.below).sum(),
        ));
    }
    rows.push(vec![last.to_owned(), String::new(), String::new(), format!("{sum:+.4}")]);
    table(&head.map(str::to_owned), &rows)
}
