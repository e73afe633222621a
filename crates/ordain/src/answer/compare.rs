//! Comparisons of methods on the same units.

use super::{BOOTSTRAP, Cell, Named};
use crate::method::Floor;
use crate::metric::calibration::Calibration;
use crate::metric::{Evaluation, Kind, Metric, stats};
use crate::random::Random;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};

/// Random exchanges of a test.
const SWAPS: usize = 2000;

/// From where on a difference is not taken for chance.
const LEVEL: f64 = 0.05;

/// Methods side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The task.
    pub task: &'static str,
    /// The rules of the metrics.
    pub convention: String,
    /// Number of folds.
    pub folds: usize,
    /// What one unit is.
    pub unit: &'static str,
    /// Number of units that were tested.
    pub units: usize,
    /// Units that a metric leaves out.
    pub skipped: usize,
    /// Every method.
    pub methods: Vec<ComparedMethod>,
    /// All pairs of methods by all metrics.
    pub tests: Vec<Difference>,
}

/// One method over all folds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedMethod {
    /// Its name.
    pub method: &'static str,
    /// Its name with the settings that were asked for.
    pub label: String,
    /// What the data chose, fold by fold.
    pub chosen: Vec<Map<String, Value>>,
    /// What it reaches.
    pub metrics: Named<FoldCell>,
    /// What it costs.
    pub seconds: Seconds,
    /// The size of the largest model file.
    pub model_bytes: usize,
    /// The most weights that are not 0, or documents in a core.
    pub support: usize,
    /// Labels with links, of the first fold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<Vec<String>>,
    /// What classifiers of single labels reach on validation, fold by fold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<Vec<Option<Floor>>>,
    /// How its probabilities come true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Value>,
}

/// A mean over all units with its interval, and the means of the folds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoldCell {
    /// Over all units.
    #[serde(flatten)]
    pub cell: Cell,
    /// The mean of the means of the folds.
    pub fold_mean: f64,
    /// The mean of every fold.
    pub folds: Vec<f64>,
}

/// Seconds of reading, of all fits and of all predictions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Seconds {
    /// Reading.
    pub load: f64,
    /// Fitting.
    pub fit: f64,
    /// Predicting.
    pub predict: f64,
}

/// A paired test of two methods by one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The metric.
    pub metric: String,
    /// The label of one method.
    pub a: String,
    /// The label of the other.
    pub b: String,
    /// The mean of a less that of b.
    pub difference: f64,
    /// The lower end of its 95 % bootstrap interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// By paired randomisation, corrected by Holm for the number of pairs.
    pub p: f64,
}

/// Tests all pairs of methods by all metrics. The results are of the same units, in the same order.
///
/// A difference of means is tested by exchanging what two methods reach on a unit (paired randomisation), and p-values of one
/// metric are corrected for the number of pairs (Holm). A calibration error is of all units together and no mean: units are drawn
/// again for its interval, and what two methods said of a unit is exchanged for p.
///
/// Cost: O(pairs · metrics · units · samples), on all threads.
///
/// ```
/// use ordain::{answer, metric::Evaluation};
/// let result = |values: &[f64]| Evaluation {
///     metrics: vec!["map".parse().unwrap()],
///     values: vec![values.iter().map(|&x| Some(x)).collect()],
///     calibration: vec![],
/// };
/// let (a, b) = (result(&[0.9, 0.8, 0.7]), result(&[0.6, 0.7, 0.5]));
/// let tests = answer::differences(&["a".into(), "b".into()], &[&a, &b]);
/// assert!((tests[0].difference - 0.2).abs() < 1e-12 && tests[0].p > 0.05); // three units show nothing
/// assert_eq!(answer::best_and_level(&[&a, &b], &tests, 0), (0, vec![1]));
/// ```
pub fn differences(labels: &[String], results: &[&Evaluation]) -> Vec<Difference> {
    let pairs: Vec<(usize, usize)> = pairs(results.len()).collect();
    let metrics = results.first().map_or(&[][..], |result| &result.metrics[..]);
    let mut all = vec![];
    for (m, metric) in metrics.iter().enumerate() {
        let one = |&(a, b): &(usize, usize)| {
            let (difference, low, high, p) = paired(m, results[a], results[b]);
            let (a, b) = (labels[a].clone(), labels[b].clone());
            Difference { metric: metric.to_string(), a, b, difference, low, high, p }
        };
        let mut tests: Vec<Difference> = pairs.par_iter().map(one).collect();
        let corrected = stats::holm(&tests.iter().map(|test| test.p).collect::<Vec<_>>());
        tests.iter_mut().zip(corrected).for_each(|(test, p)| test.p = p);
        all.extend(tests);
    }
    all
}

/// All pairs of methods, in the order of their tests.
fn pairs(methods: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..methods).flat_map(move |a| (a + 1..methods).map(move |b| (a, b)))
}

/// The best method by a metric, and those that a test cannot tell from it.
pub fn best_and_level(results: &[&Evaluation], tests: &[Difference], metric: usize) -> (usize, Vec<usize>) {
    let Some(by) = results.first().map(|result| result.metrics[metric]) else { return (0, vec![]) };
    let mean = |i: usize| results[i].mean(metric);
    let best = (0..results.len()).fold(0, |best, i| if by.better(mean(i), mean(best)) { i } else { best });
    let name = by.to_string();
    let tests = pairs(results.len()).zip(tests.iter().filter(|test| test.metric == name));
    let level = tests.filter(|((a, b), test)| (*a == best || *b == best) && test.p >= LEVEL);
    (best, level.map(|((a, b), _)| if a == best { b } else { a }).collect())
}

/// The difference of two results by one metric, its interval, and p.
fn paired(metric: usize, x: &Evaluation, y: &Evaluation) -> (f64, f64, f64, f64) {
    let n = x.calibration.len();
    if is_pooled(x.metrics[metric]) && n > 0 && y.calibration.len() == n {
        return pooled(x.mean(metric) - y.mean(metric), &x.calibration, &y.calibration);
    }
    let both = x.values[metric].iter().zip(&y.values[metric]);
    let (x, y): (Vec<f64>, Vec<f64>) = both.filter_map(|(x, y)| Some(((*x)?, (*y)?))).unzip();
    let (low, high) = stats::paired_interval(&x, &y, BOOTSTRAP);
    (stats::mean(&x) - stats::mean(&y), low, high, stats::paired_test(&x, &y, BOOTSTRAP))
}

fn is_pooled(metric: Metric) -> bool {
    metric.kind == Kind::Ece
}

fn pooled(difference: f64, x: &[Calibration], y: &[Calibration]) -> (f64, f64, f64, f64) {
    let n = x.len();
    let error = |parts: &mut dyn Iterator<Item = &Calibration>| Calibration::joined(parts).error();
    let (low, high) = stats::interval_of(n, BOOTSTRAP, |sample| {
        error(&mut sample.iter().map(|&p| &x[p])) - error(&mut sample.iter().map(|&p| &y[p]))
    });
    let mut random = Random::new(BOOTSTRAP);
    let seen = difference.abs() * (1.0 - 1e-12);
    let extreme = (0..SWAPS).filter(|_| {
        let coins: Vec<bool> = (0..n).map(|_| random.below(2) == 1).collect();
        let side = |first: bool| error(&mut (0..n).map(|p| if coins[p] == first { &x[p] } else { &y[p] }));
        (side(true) - side(false)).abs() >= seen
    });
    let p = (1 + extreme.count()) as f64 / (1 + SWAPS) as f64;
    // the error of a sample is a little larger than that of all, so that the interval may miss what it is of
    (difference, low.min(difference), high.max(difference), p)
}
