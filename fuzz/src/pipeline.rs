//! What is done with a set that was read: written and read again, fitted, scored, measured, explained, saved, loaded.

use super::suite::{Check, cut, ensure};
use ordain::data::scale::Scale;
use ordain::data::{self, Filled, Missing, RankSet};
use ordain::method::{Rank, RankMethod};
use ordain::metric::{self, Convention, Kind, Metric};
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Ready, Training};
use ordain::{Error, model_file};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Every metric, with and without a cut-off where it has one.
pub(crate) fn metrics() -> Vec<Metric> {
    let names = [
        "ndcg", "ndcg@1", "ndcg@10", "dcg", "dcg@5", "map", "p@5", "recall@5", "mrr", "err@10", "wta", "bep",
        "kendall", "pairs",
    ];
    names.iter().map(|name| name.parse().expect("a metric")).collect()
}

/// All of it, with the scaling of this turn. Errors must be clear; results must be finite and in their range.
pub(crate) fn all(set: &RankSet, missing: Missing, turn: usize, folder: &Path) -> Check {
    let packing = ["", ".gz", ".zst"][turn % 3];
    let table = ["csv", "tsv"][turn / 3 % 2];
    // LETOR text has no place for weights, nor for the lack of grades
    if set.graded && set.weights.is_none() {
        again(set, &folder.join(format!("again.txt{packing}")))?;
    }
    if set.rows() * set.features.cols() < 1 << 18 {
        again(set, &folder.join(format!("again.{table}{packing}")))?;
    }
    let mut set = set.clone();
    let filled = set.fill(missing, &set.all());
    let scale = Scale::ALL[turn % 4];
    if let Some(model) = fit(&set, filled, scale)? {
        let ready = told(model.model.prepare(&set))?;
        let scores = told(model.model.scores(&ready))?;
        measure(&set, &scores)?;
        explain(&ready, &model, &scores)?;
        kept(&model, turn, folder)?;
    }
    Ok(())
}

fn told<T>(outcome: ordain::Result<T>) -> Check<T> {
    outcome.map_err(|error| ("an error".to_owned(), error.to_string()))
}

/// Writes a set and reads it again: the same rows in the same order, unless the format is refused.
pub(crate) fn again(set: &RankSet, path: &Path) -> Check {
    if let Err(error) = data::write(set, path) {
        let message = error.to_string();
        let right = matches!(error, Error::Data { .. }) && message.len() < 1000;
        ensure!(right, "writing: unclear error", "{}", cut(&message, 300));
        return Ok(());
    }
    let (other, _) = match data::read_parts(&[vec![PathBuf::from(path)]], Missing::Zero) {
        Ok(read) => read,
        Err(error) => return Err(("what was written cannot be read".into(), cut(&error.to_string(), 300))),
    };
    let sizes = |s: &RankSet| (s.rows(), s.len(), s.graded, s.columns.numbered);
    ensure!(sizes(set) == sizes(&other), "written and read: other sizes", "{:?} to {:?}", sizes(set), sizes(&other));
    let columns = same_columns(set, &other)?;
    let weights = |s: &RankSet| s.weights.as_ref().map(|w| w.iter().map(|w| w.to_bits()).collect::<Vec<_>>());
    ensure!(weights(set) == weights(&other), "written and read: other weights", "{:?}", other.weights);
    for q in 0..set.len() {
        ensure!(set.query(q) == other.query(q), "written and read: other query", "{:?}", other.query(q));
        ensure!(set.span(q) == other.span(q), "written and read: other span", "query {q}");
    }
    for row in 0..set.rows() {
        ensure!(set.input_row(row) == other.input_row(row), "written and read: other order", "row {row}");
        let (a, b) = (set.grades[row], other.grades[row]);
        ensure!(a.to_bits() == b.to_bits(), "written and read: other grade", "{a} to {b}");
        let (a, b) = (set.document(row), other.document(row));
        ensure!(a == b, "written and read: other document", "{a:?} to {b:?}");
        for (j, &k) in columns.iter().enumerate() {
            let (a, b) = (set.features.value(row, j), other.features.value(row, k));
            let same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() || a.abs() + b.abs() <= 0.0;
            ensure!(same, "written and read: other value", "{a} to {b} in row {row}, column {j}");
        }
    }
    Ok(())
}

/// Where each column of a set is in another: by name, each once. Only columns of zeros may be more, where they are
/// numbered: there an index that no row has is a column of zeros.
fn same_columns(set: &RankSet, other: &RankSet) -> Check<Vec<usize>> {
    let (from, to) = (&set.columns.names, &other.columns.names);
    let places: HashMap<&String, usize> = to.iter().zip(0..).collect();
    let found: Vec<usize> = from.iter().filter_map(|name| places.get(name).copied()).collect();
    let distinct: HashSet<usize> = found.iter().copied().collect();
    let right = distinct.len() == from.len() && places.len() == to.len();
    ensure!(
        right,
        "written and read: other names of columns",
        "{} to {}",
        cut(&format!("{from:?}"), 200),
        cut(&format!("{to:?}"), 200)
    );
    for k in (0..to.len()).filter(|k| !distinct.contains(k)) {
        let zero = set.columns.numbered && (0..other.rows()).all(|row| other.features.value(row, k).abs() <= 0.0);
        ensure!(zero, "written and read: more columns", "{:?}", to[k]);
    }
    Ok(found)
}

fn fit(set: &RankSet, filled: Filled, scale: Scale) -> Check<Option<Fitted<Rank>>> {
    let method: RankMethod = format!("ranksvm[scale={},lambda=1]", scale.name()).parse().expect("a method");
    let train = set.all();
    let pairs = train.iter().any(|&q| {
        let grades = &set.grades[set.span(q as usize)];
        grades.iter().any(|g| (g - grades[0]).abs() > 0.0)
    });
    let outcome = method.fit(&Training { filled, ..Training::new(set, &train) }, &Watch::NOBODY);
    let model = match outcome {
        Ok(model) => model,
        Err(error @ Error::Data { .. }) => {
            ensure!(!set.graded || !pairs || set.weights.is_some(), "fit refused", "{error}");
            return Ok(None);
        }
        Err(error) => return Err((format!("fit failed, scale={}", scale.name()), error.to_string())),
    };
    ensure!(set.graded && pairs, "fitted without pairs", "{:?}", model.facts);
    let report = &model.facts.report;
    let finite = model.model.score.weights().iter().chain([&report.gradient]).all(|w| w.is_finite());
    ensure!(finite, "a weight is not finite", "scale={} {:?}", scale.name(), model.model.score.weights());
    // with all weights 0 every pair costs ½
    let right = report.objective >= -1e-9 && report.objective <= 0.5 + 1e-9;
    ensure!(right, "objective out of range", "scale={} {report:?}", scale.name());
    Ok(Some(model))
}

fn measure(set: &RankSet, scores: &[f64]) -> Check {
    let (metrics, units) = (metrics(), set.all());
    for &by in Convention::ALL {
        let whole = metric::evaluate(set, &units, scores, &metrics, &by);
        let parts = match whole {
            Ok(whole) => vec![whole],
            Err(_) => {
                let mut parts = vec![];
                for metric in &metrics {
                    match metric::evaluate(set, &units, scores, &[*metric], &by) {
                        Ok(part) => parts.push(part),
                        Err(error) => refused(&error, metric, &set.grades)?,
                    }
                }
                parts
            }
        };
        parts.iter().try_for_each(|part| in_range(part, &by))?;
    }
    Ok(())
}

/// Only a metric with gains may be refused, and only for grades that have none.
pub(crate) fn refused(error: &Error, metric: &Metric, grades: &[f64]) -> Check {
    let gains = matches!(metric.kind, Kind::Ndcg | Kind::Dcg | Kind::Err);
    let right = gains && !grades.iter().all(|g| (0.0..=500.0).contains(g));
    ensure!(right, format!("metric {metric} refused"), "{error}");
    Ok(())
}

/// Values are finite and in the range of their metric.
pub(crate) fn in_range(result: &metric::Evaluation, by: &Convention) -> Check {
    for (m, metric) in result.metrics.iter().enumerate() {
        let range = match metric.kind {
            Kind::Dcg => 0.0..=f64::MAX,
            Kind::Kendall => -1.0 - 1e-9..=1.0 + 1e-9,
            _ => 0.0..=1.0 + 1e-9,
        };
        for x in result.counted(m) {
            ensure!(range.contains(&x), format!("{metric} out of range"), "{x} by {by}");
        }
    }
    Ok(())
}

fn explain(ready: &Ready<Rank>, model: &Fitted<Rank>, scores: &[f64]) -> Check {
    let set = ready.set();
    let large = |q: &usize| set.span(*q).len() > 1 && set.span(*q).len() * set.features.cols() < 1 << 18;
    let Some(q) = (0..set.len()).find(large) else { return Ok(()) };
    let (above, below) = (set.span(q).start, set.span(q).end - 1);
    let parts = told(model.model.explain(ready, q, above, below))?;
    let sum: f64 = parts.iter().map(|p| p.contribution).sum();
    let size: f64 = parts.iter().map(|p| p.contribution.abs()).sum::<f64>() + scores[above].abs() + scores[below].abs();
    let difference = scores[above] - scores[below];
    let right = (sum - difference).abs() <= 1e-6 * (1.0 + size);
    ensure!(right, "contributions do not add up", "{sum} for {difference}, scale={}", model.model.inputs.scale.name());
    Ok(())
}

/// A model is the same after it was saved and loaded.
fn kept(model: &Fitted<Rank>, turn: usize, folder: &Path) -> Check {
    let path = folder.join("kept.ordain");
    let loaded = if turn.is_multiple_of(16) {
        model_file::save(model, &path).and_then(|()| model_file::load::<Rank>(&path))
    } else {
        model_file::from_bytes(&model_file::to_bytes(model), &path)
    };
    let loaded = loaded.map_err(|error| ("a saved model cannot be loaded".to_owned(), error.to_string()))?;
    ensure!(loaded.model == model.model, "a loaded model ranks otherwise", "{:?}", loaded.model);
    ensure!(loaded == *model, "a loaded model has other facts", "{:?} for {:?}", loaded.facts, model.facts);
    Ok(())
}
