//! Evaluations.

use super::{Importance, Named};
use crate::metric::calibration::Calibration;
use crate::metric::{Convention, Evaluation, Kind, Metric};
use crate::task::Words;
use serde::Serialize;
use serde_json::Value;

/// Seed of the bootstrap: an interval is part of the answer, so it does not change from run to run.
pub const BOOTSTRAP: u64 = 1;

/// A mean with its 95 % bootstrap interval; nothing if no unit counts, and no interval where a single unit cannot tell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The mean.
    pub mean: Option<f64>,
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// The mean of every metric, with its interval.
pub fn cells(result: &Evaluation) -> Vec<Cell> {
    let one = |m: usize| {
        let counts = !result.counted(m).is_empty();
        let ends = result.interval(m, BOOTSTRAP).filter(|_| counts);
        Cell { mean: counts.then(|| result.mean(m)), low: ends.map(|ends| ends.0), high: ends.map(|ends| ends.1) }
    };
    (0..result.metrics.len()).map(one).collect()
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The task.
    pub task: &'static str,
    /// The rules of the metrics.
    pub convention: String,
    /// What one unit is.
    pub unit: &'static str,
    /// Number of units.
    pub units: usize,
    /// Units that a metric leaves out.
    pub skipped: usize,
    /// Every metric.
    pub metrics: Named<Cell>,
    /// How the probabilities of edges come true, if a metric asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Value>,
    /// What each feature is worth, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub importances: Option<Importances>,
    /// Every unit by itself, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_query: Option<Vec<Named<Value>>>,
}

/// An evaluation as an answer; with every unit by itself if names are given.
pub fn measured(
    task: &'static Words,
    convention: &Convention,
    units: usize,
    result: &Evaluation,
    names: Option<&dyn Fn(usize) -> String>,
) -> Measured {
    let metrics = result.metrics.iter().map(Metric::to_string).zip(cells(result)).collect();
    let row = |q: usize, name: &dyn Fn(usize) -> String| {
        let mut row = vec![(task.unit[0].to_owned(), Value::from(name(q)))];
        row.extend(result.metrics.iter().zip(&result.values).map(|(m, values)| (m.to_string(), values[q].into())));
        Named(row)
    };
    let calibration = (!result.calibration.is_empty())
        .then(|| Reliability::of(None, &Calibration::joined(&result.calibration)).document(task.thing[1]));
    Measured {
        task: task.name,
        convention: convention.to_string(),
        unit: task.unit[0],
        units,
        skipped: result.skipped(),
        metrics: Named(metrics),
        calibration,
        importances: None,
        per_query: names.map(|name| (0..units).map(|q| row(q, name)).collect()),
    }
}

/// What each feature is worth by one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Importances {
    /// The metric.
    pub metric: String,
    /// Every feature, the most important first.
    pub features: Vec<Importance>,
}

/// How probabilities come true.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reliability {
    /// Number of head places, if being among them is what was predicted.
    pub k: Option<usize>,
    /// Mean distance of prediction and truth, weighted by counts (expected calibration error).
    pub error: f64,
    /// The same of the first place alone, of rankings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<f64>,
    /// Bins that are not empty.
    pub bins: Vec<Bin>,
}

/// One bin of predictions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bin {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How many predictions are in it.
    pub documents: usize,
    /// Their mean.
    pub predicted: f64,
    /// The share that came true.
    pub observed: f64,
}

impl Reliability {
    /// The reliability of a calibration.
    pub fn of(k: Option<usize>, calibration: &Calibration) -> Self {
        let bins = calibration.bins.iter().enumerate().filter(|(_, bin)| bin.count > 0).map(|(i, bin)| Bin {
            low: i as f64 / 10.0,
            high: (i + 1) as f64 / 10.0,
            documents: bin.count,
            predicted: bin.predicted / bin.count as f64,
            observed: bin.observed / bin.count as f64,
        });
        Self { k, first: None, error: calibration.error(), bins: bins.collect() }
    }

    /// As a document in which counts are those of labels or edges.
    pub fn document(&self, things: &str) -> Value {
        let bin = |bin: &Bin| {
            serde_json::json!({"low": bin.low, "high": bin.high, things: bin.documents, "predicted": bin.predicted,
                               "observed": bin.observed})
        };
        serde_json::json!({"error": self.error, "bins": self.bins.iter().map(bin).collect::<Value>()})
    }
}

/// NDCG@1 to NDCG@10, or p@1 to p@10 of so many labels: the curve of a report.
pub fn curve_metrics(task: &Words, labels: usize) -> Vec<Metric> {
    match task.name {
        "rank" => (1..=10).map(|k| Metric { kind: Kind::Ndcg, k: Some(k) }).collect(),
        "annotate" => (1..=labels.min(10)).map(|k| Metric { kind: Kind::Precision, k: Some(k) }).collect(),
        _ => vec![],
    }
}
