//! `ordain predict` with a model that annotates.

use super::{rank_name, read_for};
use crate::args::Predict;
use crate::plan::Usage;
use crate::screen::Screen;
use anyhow::Result;
use ordain::data::LabelSet;
use ordain::method::annotator::ranked;
use ordain::method::{Annotator, FittedTags, LabelPrediction, Trainer};
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(in crate::run) fn run(model: &FittedTags, args: &Predict, screen: &Screen) -> Result<()> {
    let annotator = &model.annotator;
    if args.run.is_some() {
        return Err(Usage("--run is for models that rank; this one annotates: use --top K or --json".into()).into());
    }
    if args.probabilities && annotator.trainer == Trainer::Margin {
        return Err(Usage(
            "--probabilities: this model was fitted with trainer=margin, which has none; fit it with trainer=likelihood"
                .into(),
        )
        .into());
    }
    let set = read_for(annotator, std::slice::from_ref(&args.data), args.reading.labels.as_deref(), screen)?;
    let all = annotator.predict(&set, &set.all())?;
    let mut text = String::new();
    let top = args.top.map_or(usize::MAX, |k| k as usize);
    if screen.json {
        for (i, item) in all.iter().enumerate() {
            writeln!(text, "{}", document(annotator, &set, i, item, top))?;
        }
    } else if args.top.is_some() || args.probabilities {
        // without probabilities a model by margin still shows what it ranks by
        let shown = args.probabilities || annotator.trainer == Trainer::Margin;
        let last = if shown { format!("\t{}", rank_name(annotator)) } else { String::new() };
        writeln!(text, "item\trank\tlabel\tscore{last}")?;
        for (i, item) in all.iter().enumerate() {
            for (rank, label) in ranked(&item.values).into_iter().take(top).enumerate() {
                let l = label as usize;
                write!(text, "{}\t{}\t{}\t{}", set.item(i), rank + 1, annotator.labels[l], item.scores[l])?;
                match annotator.trainer {
                    Trainer::Likelihood if shown => writeln!(text, "\t{:.6}", item.values[l])?,
                    Trainer::Margin => writeln!(text, "\t{}", item.values[l])?,
                    Trainer::Likelihood => text.push('\n'),
                }
            }
        }
    } else {
        text.push_str("item\tlabels\n");
        for (i, item) in all.iter().enumerate() {
            writeln!(text, "{}\t{}", set.item(i), chosen(annotator, item).join(";"))?;
        }
    }
    screen.data(&text)
}

/// The names of the labels that the model would give, best first.
fn chosen<'t>(annotator: &'t Annotator, item: &LabelPrediction) -> Vec<&'t str> {
    item.chosen.iter().map(|&label| annotator.labels[label as usize].as_str()).collect()
}

fn document(annotator: &Annotator, set: &LabelSet, i: usize, item: &LabelPrediction, top: usize) -> Value {
    let labels = ranked(&item.values).into_iter().take(top).enumerate().map(|(rank, label)| {
        let l = label as usize;
        let mut one = json!({"label": annotator.labels[l], "score": item.scores[l], "rank": rank + 1});
        one[rank_name(annotator)] = item.values[l].into();
        one
    });
    json!({"item": set.item(i), "labels": labels.collect::<Vec<_>>(), "chosen": chosen(annotator, item)})
}
