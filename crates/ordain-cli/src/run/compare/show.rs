//! A comparison as a table, as JSON, and as a report.

use super::{Entry, Test, best_and_level};
use crate::plan::Measures;
use crate::report::{ChoicePart, MethodPart, Report, TestPart};
use crate::run::evaluate::{cells, command_line, watched};
use crate::screen::{assignments, four, table};
use ordain::method::Facts;
use ordain::metric::Metric;
use serde_json::{Map, Value, json};

pub(super) fn text(
    entries: &[Entry],
    tests: &[Test],
    measures: &Measures,
    units: usize,
    folds: usize,
    load: f64,
) -> String {
    let mut head = vec!["method".to_owned()];
    head.extend(measures.metrics.iter().map(Metric::to_string));
    let mut wide = head.clone();
    wide.extend(["fit s", "bytes"].map(str::to_owned));
    let marks: Vec<_> = (0..measures.metrics.len()).map(|m| best_and_level(entries, tests, m)).collect();
    let rows: Vec<Vec<String>> = entries
        .iter()
        .enumerate()
        .map(|(i, entry)| {
            let mut row = vec![entry.label.clone()];
            for (m, cell) in cells(&entry.result).iter().enumerate() {
                let mark = if entries.len() < 2 {
                    ""
                } else if marks[m].0 == i {
                    "*"
                } else if marks[m].1.contains(&i) {
                    "="
                } else {
                    " "
                };
                row.push(format!("{} ±{:.3}{mark}", four(cell.mean), (cell.high - cell.low) / 2.0));
            }
            row.extend([format!("{:.2}", entry.fit), entry.bytes.to_string()]);
            row
        })
        .collect();
    let mut text = table(&wide, &rows);
    if entries.len() > 1 {
        text += "* best, = not shown to differ from it (paired randomisation, Holm, p ≥ 0.05)\n";
    }
    if folds > 1 {
        let rows: Vec<Vec<String>> = entries
            .iter()
            .map(|entry| {
                std::iter::once(entry.label.clone())
                    .chain((0..measures.metrics.len()).map(|m| four(entry.fold_mean(m))))
                    .collect()
            })
            .collect();
        text += &format!("\nmeans of the {folds} fold means:\n{}", table(&head, &rows));
    }
    for entry in entries.iter().filter(|entry| entry.method.chooses()) {
        text += &format!("\n{}: chosen by validation\n", entry.label);
        for (fold, chosen) in entry.chosen().iter().enumerate() {
            let settings = chosen.as_object().filter(|map| !map.is_empty());
            text += &format!("  fold {}: {}\n", fold + 1, settings.map_or("the defaults".to_owned(), assignments));
        }
    }
    for (entry, reliability) in entries.iter().filter_map(|entry| Some((entry, entry.reliability()?))) {
        text += &format!(
            "\n{}: probabilities of the first {} places, expected calibration error {:.4}\n",
            entry.label, reliability.k, reliability.error
        );
    }
    let skipped = entries.first().map_or(0, |entry| entry.result.skipped());
    text += &format!(
        "\n{units} test queries, {skipped} left out (nothing relevant); convention {}; ± is half a 95 % bootstrap interval; data read in {load:.2} s\n",
        measures.convention
    );
    text
}

pub(super) fn document(entries: &[Entry], tests: &[Test], measures: &Measures, folds: usize, load: f64) -> Value {
    let methods: Vec<Value> = entries
        .iter()
        .map(|entry| {
            let mut metrics = Map::new();
            for (m, cell) in cells(&entry.result).iter().enumerate() {
                let folds: Vec<f64> = entry.fold_means.iter().map(|fold| fold[m]).collect();
                metrics.insert(
                    measures.metrics[m].to_string(),
                    json!({"mean": cell.mean, "low": cell.low, "high": cell.high, "fold_mean": entry.fold_mean(m), "folds": folds}),
                );
            }
            let mut method = json!({
                "method": entry.method.name(), "label": entry.label, "chosen": entry.chosen(), "metrics": metrics,
                "seconds": {"load": load, "fit": entry.fit, "predict": entry.predict},
                "model_bytes": entry.bytes, "support": entry.support,
            });
            if let Some(reliability) = entry.reliability() {
                method["calibration"] = json!(reliability);
            }
            method
        })
        .collect();
    let tests: Vec<Value> = tests
        .iter()
        .map(|t| {
            json!({"metric": measures.metrics[t.metric].to_string(), "a": entries[t.a].label, "b": entries[t.b].label,
                   "difference": t.difference, "p": t.p})
        })
        .collect();
    let (units, skipped) = entries.first().map_or((0, 0), |e| (e.result.values[0].len(), e.result.skipped()));
    json!({"task": "rank", "convention": measures.convention.to_string(), "folds": folds, "unit": "query", "units": units,
           "skipped": skipped, "methods": methods, "tests": tests})
}

pub(super) fn report(
    entries: &[Entry],
    tests: &[Test],
    measures: &Measures,
    tested: &[String],
    folds: usize,
) -> Report {
    let marks: Vec<_> = (0..measures.metrics.len()).map(|m| best_and_level(entries, tests, m)).collect();
    let watched = watched(&measures.metrics);
    let methods = entries.iter().enumerate().map(|(i, entry)| {
        let mut shown = cells(&entry.result);
        for (m, cell) in shown.iter_mut().enumerate() {
            cell.fold_mean = (folds > 1).then(|| entry.fold_mean(m));
            cell.best = entries.len() > 1 && marks[m].0 == i;
            cell.level = marks[m].1.contains(&i);
        }
        MethodPart {
            label: entry.label.clone(),
            cells: shown,
            fit_seconds: Some(entry.fit),
            predict_seconds: Some(entry.predict),
            model_bytes: Some(entry.bytes),
            curve: if entry.curve.values[0].is_empty() { vec![] } else { cells(&entry.curve) },
            per_query: tested.iter().cloned().zip(entry.result.values[watched].iter().copied()).collect(),
            choices: entry.facts.iter().enumerate().filter_map(|(fold, facts)| choice(fold + 1, facts)).collect(),
            features: entry.features.clone(),
            reliability: entry.reliability(),
            places: entry.places.clone(),
        }
    });
    Report {
        title: entries.iter().map(|e| e.label.as_str()).collect::<Vec<_>>().join(" · "),
        command: command_line(),
        version: env!("CARGO_PKG_VERSION").into(),
        convention: measures.convention.to_string(),
        units: tested.len(),
        skipped: entries.first().map_or(0, |e| e.result.skipped()),
        folds,
        metrics: measures.metrics.iter().map(Metric::to_string).collect(),
        watched: measures.metrics[watched].to_string(),
        methods: methods.collect(),
        tests: tests
            .iter()
            .map(|t| TestPart {
                metric: measures.metrics[t.metric].to_string(),
                a: entries[t.a].label.clone(),
                b: entries[t.b].label.clone(),
                difference: t.difference,
                p: t.p,
            })
            .collect(),
    }
}

/// What was tried on validation, as lines over lambda.
fn choice(fold: usize, facts: &Facts) -> Option<ChoicePart> {
    let chosen = facts.chosen.as_ref()?;
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = vec![];
    let mut taken = (String::new(), 0.0, f64::NEG_INFINITY);
    for candidate in &chosen.candidates {
        let scale = candidate.settings.get("scale")?.as_str()?.to_owned();
        let lambda = candidate.settings.get("lambda")?.as_f64()?;
        if candidate.value > taken.2 {
            taken = (scale.clone(), lambda, candidate.value);
        }
        match lines.iter_mut().find(|(name, _)| *name == scale) {
            Some((_, points)) => points.push((lambda, candidate.value)),
            None => lines.push((scale, vec![(lambda, candidate.value)])),
        }
    }
    Some(ChoicePart { fold, metric: chosen.metric.clone(), lines, taken })
}
