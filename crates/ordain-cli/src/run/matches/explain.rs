//! `ordain explain` with a model that matches.

use super::{read_for, sums, warn_approximate};
use crate::args::Explain;
use crate::plan::{self, Usage};
use crate::run::explain::contributions;
use crate::screen::{Screen, four, table};
use anyhow::{Result, anyhow};
use ordain::data::Problem;
use ordain::method::FittedMatch;
use serde_json::json;

/// Rows of a table.
const SHOWN: usize = 20;

pub(in crate::run) fn run(model: &FittedMatch, args: &Explain, screen: &Screen) -> Result<()> {
    let matcher = &model.matcher;
    let data = std::slice::from_ref(&args.data);
    let set = read_for(matcher, data, &args.points, &[], screen)?;
    let p = match (&args.query, set.len()) {
        (None, 1) => 0,
        (query, _) => set.find_problem(plan::explained(query.as_ref())?)?,
    };
    let problem = set.problem(p);
    let said = matcher
        .predict(&set, &[p as u32])?
        .pop()
        .ok_or_else(|| anyhow!("problem {} has no prediction", problem.name))?;
    warn_approximate(&sums(std::slice::from_ref(&said)), screen);
    let ends = |e: usize| (problem.edges[e].0 as usize, problem.edges[e].1 as usize);
    let left = match &args.left {
        Some(name) => problem.find_left(name)?,
        None => said
            .matches
            .iter()
            .min_by_key(|m| m.check)
            .map(|m| ends(m.edge as usize).0)
            .ok_or_else(|| anyhow!("problem {} has no match; name an item with --left", problem.name))?,
    };
    let scores = &said.scores;
    let name = &problem.left[left];
    let mut order: Vec<usize> = problem.candidates(left).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let partner = said.matches.iter().map(|m| m.edge as usize).find(|&e| ends(e).0 == left);
    let pick = |wanted: &Option<String>| wanted.as_ref().map(|right| edge(problem, left, right)).transpose();
    let given = pick(&args.below)?;
    let first = partner.filter(|&e| given != Some(e)).or(order.iter().copied().find(|&e| given != Some(e)));
    let few = || anyhow!("left item {name} has no candidate");
    let above = pick(&args.above)?.or(first).ok_or_else(few)?;
    // an item with a single candidate has nothing to put beside it
    let below = given.or(order.iter().copied().find(|&e| e != above));
    if below == Some(above) {
        return Err(Usage("--above and --below name the same right item; give two".into()).into());
    }
    let chance = |e: usize| said.probabilities.as_ref().map(|all| all[e]);
    let free = matcher.null.and(said.unmatched(problem, false, left));
    let parts = below.map_or(Ok(vec![]), |below| matcher.explain(&set, p, above, below))?;
    let difference = below.map(|below| scores[above] - scores[below]);
    // somebody else may need the best candidate more
    let better = order.first().copied().filter(|&best| Some(best) != partner);
    let taker = better.and_then(|best| {
        let taken = said.matches.iter().map(|m| m.edge as usize).find(|&e| ends(e).1 == ends(best).1)?;
        Some((best, taken))
    });
    let right = |e: usize| &problem.right[ends(e).1];
    let names = &matcher.columns.names;
    if screen.json {
        let side = |e: usize| json!({"right": right(e), "score": scores[e], "probability": chance(e), "matched": partner == Some(e)});
        let contributions = contributions(&parts, names);
        return screen.document(&json!({
            "problem": problem.name, "left": name, "match": partner.map(right),
            "unmatched": matcher.null.map(|score| json!({"score": score, "probability": free})),
            "above": side(above), "below": below.map(side), "difference": difference, "contributions": contributions,
            "taken": taker.map(|(best, taken)| {
                json!({"right": right(best), "by": problem.left[ends(taken).0], "score": scores[best],
                       "score_there": scores[taken]})
            }),
        }));
    }
    let shown = |e: usize| {
        let sure = chance(e).map_or(String::new(), |p| format!(", probability {}", four(p)));
        format!("score {}{sure}", four(scores[e]))
    };
    let state = match partner {
        Some(e) => format!("is matched with {} ({})", right(e), shown(e)),
        None => "stays unmatched".to_owned(),
    };
    let mut text = format!("problem {}: left item {name} {state}", problem.name);
    if let Some(null) = matcher.null {
        let sure = free.map_or(String::new(), |p| format!(", probability {}", four(p)));
        text += &format!("; staying unmatched: score {}{sure}", four(null));
    }
    text.push('\n');
    if let Some((best, taken)) = taker {
        text += &format!(
            "its best candidate alone would be {} ({}), but left item {} needs that more (score {}): together the matches score more this way\n",
            right(best),
            shown(best),
            problem.left[ends(taken).0],
            four(scores[taken])
        );
    } else if let Some(best) = better.filter(|_| partner.is_none()) {
        text += &format!(
            "its best candidate is {} ({}), which is worth less than both staying unmatched\n",
            right(best),
            shown(best)
        );
    }
    let (Some(below), Some(difference)) = (below, difference) else {
        text +=
            &format!("{} ({}) is its only candidate: there is no other to compare with\n", right(above), shown(above));
        return screen.data(&text);
    };
    let (a, b) = (right(above), right(below));
    text += &format!("\n{a} ({}) against {b} ({}):\n", shown(above), shown(below));
    let head = ["feature", a, b, "difference", "weight", "contribution"].map(str::to_owned);
    let counted = || parts.iter().filter(|c| c.contribution != 0.0);
    let mut rows: Vec<Vec<String>> = counted()
        .take(SHOWN)
        .map(|c| {
            let signed = |x: f64| format!("{x:+.4}");
            let values = [c.above.to_string(), c.below.to_string()];
            [names[c.column].clone()]
                .into_iter()
                .chain(values)
                .chain([c.difference, c.weight, c.contribution].map(signed))
                .collect()
        })
        .collect();
    let rest: f64 = counted().skip(SHOWN).map(|c| c.contribution).sum();
    let last = |what: String, sum: f64| {
        let mut row = vec![String::new(); 6];
        (row[0], row[5]) = (what, format!("{sum:+.4}"));
        row
    };
    if counted().count() > SHOWN {
        rows.push(last(format!("{} others", counted().count() - SHOWN), rest));
    }
    rows.push(last("sum: difference of scores".into(), difference));
    text += &table(&head, &rows);
    screen.data(&text)
}

/// The edge of a left item to a right one, by its name.
fn edge(problem: &Problem, left: usize, right: &str) -> Result<usize> {
    let j = problem.find_right(right)?;
    problem.find_edge(left, j).ok_or_else(|| {
        anyhow!(
            "problem {}: {right} is no candidate of {}: the data have no edge between them",
            problem.name,
            problem.left[left]
        )
    })
}
