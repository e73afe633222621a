//! `ordain predict`.

use super::read_for;
use crate::args::Predict;
use crate::screen::Screen;
use anyhow::Result;
use ordain::data::RankSet;
use ordain::model_file;
use serde_json::json;
use std::fmt::Write as _;

pub(super) fn run(args: &Predict, screen: &Screen) -> Result<()> {
    let model = model_file::load(&args.model)?;
    let set = read_for(&model, std::slice::from_ref(&args.data), screen)?;
    if args.run.is_some() {
        ordain::data::check_ids(&set)?;
    }
    let scores = model.ranker.scores(&set);
    let mut text = String::new();
    let top = args.top.map_or(usize::MAX, |k| k as usize);
    if screen.json {
        for q in 0..set.len() {
            let items: Vec<_> = ranked(&set, q, &scores)
                .into_iter()
                .take(top)
                .enumerate()
                .map(|(rank, row)| json!({"id": set.document(row), "score": scores[row], "rank": rank + 1}))
                .collect();
            writeln!(text, "{}", json!({"query": set.query(q), "items": items}))?;
        }
    } else if let Some(tag) = &args.run {
        each_ranked(&set, &scores, top, |query, id, rank, score| {
            Ok(writeln!(text, "{query} Q0 {id} {rank} {score} {tag}")?)
        })?;
    } else if args.top.is_some() {
        text.push_str("query\trank\tdocument\tscore\n");
        each_ranked(&set, &scores, top, |query, id, rank, score| {
            Ok(writeln!(text, "{query}\t{rank}\t{id}\t{score}")?)
        })?;
    } else {
        for score in set.in_input_order(&scores) {
            writeln!(text, "{score}")?;
        }
    }
    screen.data(&text)
}

/// The rows of a query, best first; ties in input order.
pub(super) fn ranked(set: &RankSet, q: usize, scores: &[f64]) -> Vec<usize> {
    let mut rows: Vec<usize> = set.span(q).collect();
    rows.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(set.input_row(a).cmp(&set.input_row(b))));
    rows
}

fn each_ranked(
    set: &RankSet,
    scores: &[f64],
    top: usize,
    mut line: impl FnMut(&str, &str, usize, f64) -> Result<()>,
) -> Result<()> {
    for q in 0..set.len() {
        for (rank, row) in ranked(set, q, scores).into_iter().take(top).enumerate() {
            line(set.query(q), &set.document(row), rank + 1, scores[row])?;
        }
    }
    Ok(())
}
