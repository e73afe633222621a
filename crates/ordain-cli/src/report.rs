//! The HTML report: one file, inline SVG, no network.

use serde::Serialize;

/// Everything that a report shows.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Report {
    /// Headline, such as `ranksvm, ranksvm[weight=pair] on ohsumed`.
    pub(crate) title: String,
    /// The command line that made it.
    pub(crate) command: String,
    /// Version of ordain.
    pub(crate) version: String,
    /// What the numbers are of: `letor2`, or `standard, empty=zero`.
    pub(crate) convention: String,
    /// Test queries, and how many were left out because nothing in them is relevant.
    pub(crate) units: usize,
    pub(crate) skipped: usize,
    pub(crate) folds: usize,
    /// Names of the metrics of the table, in order.
    pub(crate) metrics: Vec<String>,
    pub(crate) methods: Vec<MethodPart>,
    /// Paired tests between methods.
    pub(crate) tests: Vec<TestPart>,
}

/// One method of the comparison (or the one model of an evaluation).
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct MethodPart {
    /// As it was typed, `ranksvm[lambda=1]`.
    pub(crate) label: String,
    /// One cell per metric.
    pub(crate) cells: Vec<Cell>,
    /// Seconds of fitting and predicting; `None` where nothing was fitted.
    pub(crate) fit_seconds: Option<f64>,
    pub(crate) predict_seconds: Option<f64>,
    pub(crate) model_bytes: Option<usize>,
    /// NDCG@1..10: mean and interval at each k.
    pub(crate) curve: Vec<Cell>,
    /// The value of the first metric for each test query, with the query's id; `None` where it was left out.
    pub(crate) per_query: Vec<(String, Option<f64>)>,
    /// What was tried on validation, one entry per fold.
    pub(crate) choices: Vec<ChoicePart>,
    /// Strongest features of the model (of the first fold), by absolute weight, largest first: name and weight.
    pub(crate) features: Vec<(String, f64)>,
}

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Cell {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Mean of the fold means, where there are several folds.
    pub(crate) fold_mean: Option<f64>,
    /// Whether it is the best of its column, or statistically level with it.
    pub(crate) best: bool,
    pub(crate) level: bool,
}

/// A choice by validation: for each scaling a line of (lambda, metric).
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ChoicePart {
    pub(crate) fold: usize,
    pub(crate) metric: String,
    /// Scaling and its points.
    pub(crate) lines: Vec<(String, Vec<(f64, f64)>)>,
    /// What was taken: scaling, lambda, value.
    pub(crate) taken: (String, f64, f64),
}

/// A paired randomisation test between two methods.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct TestPart {
    pub(crate) metric: String,
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) difference: f64,
    /// After Holm's correction.
    pub(crate) p: f64,
}

/// Stand-in while the real one is written.
pub(crate) fn html(_report: &Report) -> Result<String, minijinja::Error> {
    Ok(String::new())
}
