//! `ordain predict`.

use super::{matches, open_model, read_for, tags};
use crate::args::Predict;
use crate::plan::{self, Usage};
use crate::screen::Screen;
use anyhow::Result;
use ordain::data::RankSet;
use ordain::model_file::Model;
use serde_json::json;
use std::fmt::Write as _;

pub(super) fn run(args: &Predict, screen: &Screen) -> Result<()> {
    let model = match open_model(&args.model, &args.reading)? {
        Model::Rank(model) => model,
        Model::Annotate(model) => {
            refuse_check(args)?;
            super::warn_interrupted(&model.facts.report, &args.model, screen);
            return tags::predict::run(&model, args, screen);
        }
        Model::Match(model) => {
            super::warn_interrupted(&model.facts.report, &args.model, screen);
            return matches::predict::run(&model, args, screen);
        }
    };
    refuse_check(args)?;
    super::warn_interrupted(&model.facts.report, &args.model, screen);
    tags::refuse_items(&args.model, std::slice::from_ref(&args.data), &args.reading)?;
    let set = read_for(&model, std::slice::from_ref(&args.data), screen)?;
    if args.run.is_some() {
        ordain::data::check_ids(&set)?;
    }
    // both rest on one pass over the data
    let (scores, places) = match args.probabilities {
        true => model.ranker.all_place_probabilities(&set, &set.all()).map(|(scores, all)| (scores, Some(all)))?,
        false => (model.ranker.scores(&set)?, None),
    };
    let mut text = String::new();
    let top = args.top.map_or(usize::MAX, |k| k as usize);
    if screen.json || args.probabilities {
        if !screen.json {
            let places: String = (1..=model.ranker.places.len()).map(|j| format!("place_{j}\t")).collect();
            writeln!(text, "query\trank\tdocument\tscore\t{places}first_k\texpected_rank")?;
        }
        for q in 0..set.len() {
            let places = places.as_ref().map(|all| &all[q]);
            let rows = ranked(&set, q, &scores).into_iter().take(top).enumerate();
            if screen.json {
                let items = rows.map(|(rank, row)| {
                    let mut item = json!({"id": set.document(row), "score": scores[row], "rank": rank + 1});
                    if let Some(p) = places.map(|p| &p[row - set.span(q).start]) {
                        item["places"] = p.places.clone().into();
                        item["first_k"] = p.first_k.into();
                        item["expected_rank"] = p.expected_rank.into();
                    }
                    item
                });
                writeln!(text, "{}", json!({"query": set.query(q), "items": items.collect::<Vec<_>>()}))?;
                continue;
            }
            for (rank, row) in rows {
                let Some(p) = places.map(|p| &p[row - set.span(q).start]) else { continue };
                write!(text, "{}\t{}\t{}\t{}", set.query(q), rank + 1, set.document(row), scores[row])?;
                // a list shorter than the head has no such place
                let absent = model.ranker.places.len() - p.places.len();
                p.places.iter().try_for_each(|p| write!(text, "\t{p:.6}"))?;
                (0..absent).try_for_each(|_| write!(text, "\t0"))?;
                writeln!(text, "\t{:.6}\t{:.4}", p.first_k, p.expected_rank)?;
            }
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
        for score in set.in_input_order(scores) {
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

/// Refuses options of matching with another model.
fn refuse_check(args: &Predict) -> Result<()> {
    plan::no_points(&args.points)?;
    match args.check {
        Some(_) => Err(Usage("--check is for models that match; this one does not: use --top K".into()).into()),
        None => Ok(()),
    }
}
