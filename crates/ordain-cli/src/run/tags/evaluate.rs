//! `ordain evaluate` of what is said about items.

use crate::plan::Usage;
use anyhow::Result;
use ordain::Error;
use ordain::data::{self, LabelSet};
use ordain::method::Annotator;
use ordain::metric::{self, Convention, Evaluation, Kind, LabelScores, Metric};
use std::path::Path;

/// What is said about the labels of items.
pub(in crate::run) enum Said {
    /// By a model.
    Model(Box<Annotator>),
    /// By scores, one per label, item after item.
    Scores(Vec<f64>),
}

impl Said {
    pub(in crate::run) fn evaluate(
        &self,
        set: &LabelSet,
        metrics: &[Metric],
        by: &Convention,
    ) -> ordain::Result<Evaluation> {
        match self {
            Self::Model(annotator) => annotator.evaluate(set, &set.all(), metrics, by),
            Self::Scores(scores) => {
                let said = LabelScores { scores: scores.clone(), sets: vec![] };
                metric::evaluate_tags(set, &set.all(), &said, metrics, by)
            }
        }
    }

    /// Leaves out metrics that need to know how many labels the model would give; refuses them where they were asked for.
    pub(in crate::run) fn measurable(&self, metrics: &mut Vec<Metric>, asked: bool) -> Result<()> {
        if matches!(self, Self::Model(_)) {
            return Ok(());
        }
        let needs_number = |metric: &Metric| metric.of_sets() || metric.kind == Kind::BepLearned;
        match metrics.iter().find(|metric| needs_number(metric)).filter(|_| asked) {
            Some(metric) => Err(Usage(format!(
                "--metric {metric}: scores rank labels but do not say how many apply; {metric} needs a model (bep, p@k, ap, rankloss and coverage do not)"
            ))
            .into()),
            None => {
                metrics.retain(|metric| !needs_number(metric));
                Ok(())
            }
        }
    }

    /// What the metrics know of how many labels an item has.
    pub(in crate::run) fn remarks(&self, metrics: &[Metric]) -> Vec<String> {
        match self {
            Self::Model(_) => remarks(metrics),
            Self::Scores(_) => losses(metrics).into_iter().collect(),
        }
    }
}

/// What metrics of what a model says know of how many labels an item has; which are losses.
pub(in crate::run) fn remarks(metrics: &[Metric]) -> Vec<String> {
    let some = |right: &dyn Fn(&Metric) -> bool| {
        let names: Vec<String> = metrics.iter().filter(|metric| right(metric)).map(Metric::to_string).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let told = |metric: &Metric| metric.kind == Kind::Bep;
    let cut = |metric: &Metric| metric.kind == Kind::BepLearned;
    let mut all = vec![];
    all.extend(some(&told).map(|name| {
        format!("{name}: the model is told the true number of labels of each item (an oracle, as in the paper), and its answer for that number is measured")
    }));
    all.extend(some(&cut).map(|name| {
        format!("{name}: the model ranks labels without being told; the first k of that ranking are counted, with k the true number")
    }));
    all.extend(
        some(&|metric| metric.of_sets())
            .map(|names| format!("{names}: by the number of labels that the model itself chose")),
    );
    all.extend(
        some(&|metric| !told(metric) && !cut(metric) && !metric.of_sets())
            .map(|names| format!("{names}: by the ranking of labels, without being told")),
    );
    all.extend(losses(metrics));
    all
}

/// Which metrics are losses.
pub(in crate::run) fn losses(metrics: &[Metric]) -> Option<String> {
    let names: Vec<String> = metrics.iter().filter(|metric| metric.is_loss()).map(Metric::to_string).collect();
    (!names.is_empty()).then(|| format!("less is better: {}", names.join(", ")))
}

/// The metrics that leave out an item, by name: what has no label, or all, says nothing of a ranking.
pub(in crate::run) fn left_out(result: &Evaluation) -> Vec<String> {
    let some = |(_, values): &(&Metric, &Vec<Option<f64>>)| values.iter().any(Option::is_none);
    result.metrics.iter().zip(&result.values).filter(some).map(|(metric, _)| metric.to_string()).collect()
}

/// How many items are left out, and of what.
pub(in crate::run) fn skipped(result: &Evaluation) -> String {
    match result.skipped() {
        0 => "none left out".into(),
        n => format!("{n} left out of {} (no label, or all)", left_out(result).join(", ")),
    }
}

/// One line per item with one score per label, apart by white space or commas.
pub(in crate::run) fn read_scores(path: &Path, set: &LabelSet) -> Result<Vec<f64>> {
    let (n, mut scores, mut items) = (set.labels.len(), vec![], 0);
    for (i, line) in data::read_lines(path)?.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let refuse = |column: usize, expected: String, found: String| {
            Err(Error::Parse { path: path.into(), line: i + 1, column, expected, found }.into())
        };
        let mut here = 0;
        for word in line.split([',', ' ', '\t']).filter(|word| !word.is_empty()) {
            match word.parse::<f64>() {
                Ok(score) if score.is_finite() => scores.push(score),
                _ => {
                    let column = word.as_ptr() as usize - line.as_ptr() as usize + 1;
                    let found = format!("{:?}", word.chars().take(60).collect::<String>());
                    return refuse(column, "a finite score".into(), found);
                }
            }
            here += 1;
        }
        if here != n {
            return refuse(1, format!("{n} scores, one per label"), here.to_string());
        }
        items += 1;
    }
    if items != set.len() {
        return Err(Error::Content {
            path: path.into(),
            expected: format!("{} lines of scores, one per item of the data", set.len()),
            found: items.to_string(),
        }
        .into());
    }
    Ok(scores)
}
