//! Comparisons of methods on the same units.

use super::{BOOTSTRAP, Cell, Named};
use crate::ask::Replayed;
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
    /// Figures of others that were given: by algorithm, then by metric.
    #[serde(skip_serializing_if = "Named::is_empty")]
    pub published: Named<Named<f64>>,
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
    /// What questions about the labels of test items are worth to it, by strategy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<Named<AskedCells>>,
    /// Of several seeds: the mean of the fold means of each, by metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Named<Vec<f64>>>,
}

/// Break-even precision before and after questions, \[QAP\] Table 1: one number for each of `after`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AskedCells {
    /// Numbers of questions; 0 is the automatic answer.
    pub after: Vec<usize>,
    /// Whether the model is told how many labels an item has (`oracle`), or goes by what it has learned (`learned`).
    pub count: &'static str,
    /// Items that were asked about.
    pub items: usize,
    /// Means over items.
    pub bep: Vec<f64>,
    /// The lower ends of their 95 % bootstrap intervals.
    pub low: Vec<f64>,
    /// The upper ends.
    pub high: Vec<f64>,
    /// The means of the means of the folds.
    pub fold_mean: Vec<f64>,
    /// The means of every fold.
    pub folds: Vec<Vec<f64>>,
}

impl AskedCells {
    /// The cells of what was replayed, fold after fold.
    ///
    /// ```
    /// use ordain::{answer::AskedCells, ask::{Replayed, Strategy}};
    /// // two folds: items, after 0 and 1 questions
    /// let folds = [vec![vec![0.5, 1.0], vec![0.0, 0.5]], vec![vec![1.0, 1.0]]];
    /// let folds = folds.map(|rows| Replayed { strategy: Strategy::Paper, rows });
    /// let cells = AskedCells::of(&[0, 1], "oracle", &folds);
    /// assert_eq!((cells.bep[0], cells.folds[1][0], cells.fold_mean[1]), (0.5, 1.0, 0.875));
    /// ```
    pub fn of(after: &[usize], count: &'static str, folds: &[Replayed]) -> Self {
        let all = |q: usize| -> Vec<f64> { folds.iter().flat_map(|fold| fold.at(q)).collect() };
        let ends: Vec<(f64, f64)> = after.iter().map(|&q| stats::interval(&all(q), BOOTSTRAP)).collect();
        let folds: Vec<Vec<f64>> =
            folds.iter().map(|fold| after.iter().map(|&q| stats::mean(&fold.at(q))).collect()).collect();
        let of_folds = |m: usize| stats::mean(&folds.iter().map(|fold| fold[m]).collect::<Vec<_>>());
        Self {
            after: after.to_vec(),
            count,
            items: all(0).len(),
            bep: after.iter().map(|&q| stats::mean(&all(q))).collect(),
            low: ends.iter().map(|ends| ends.0).collect(),
            high: ends.iter().map(|ends| ends.1).collect(),
            fold_mean: (0..after.len()).map(of_folds).collect(),
            folds,
        }
    }
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
///     items: vec![],
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

/// Tests all pairs of methods by one number per unit, which is named: as [`differences`] of a metric.
pub fn differences_in(name: &str, labels: &[String], values: &[Vec<f64>]) -> Vec<Difference> {
    let pairs: Vec<(usize, usize)> = pairs(values.len()).collect();
    let one = |&(a, b): &(usize, usize)| {
        let (x, y) = (&values[a], &values[b]);
        let (low, high) = stats::paired_interval(x, y, BOOTSTRAP);
        let (difference, p) = (stats::mean(x) - stats::mean(y), stats::paired_test(x, y, BOOTSTRAP));
        Difference { metric: name.into(), a: labels[a].clone(), b: labels[b].clone(), difference, low, high, p }
    };
    let mut tests: Vec<Difference> = pairs.par_iter().map(one).collect();
    let corrected = stats::holm(&tests.iter().map(|test| test.p).collect::<Vec<_>>());
    tests.iter_mut().zip(corrected).for_each(|(test, p)| test.p = p);
    tests
}

/// All pairs of methods, in the order of their tests.
fn pairs(methods: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..methods).flat_map(move |a| (a + 1..methods).map(move |b| (a, b)))
}

/// The best method by a metric, and those that a test cannot tell from it.
pub fn best_and_level(results: &[&Evaluation], tests: &[Difference], metric: usize) -> (usize, Vec<usize>) {
    let Some(by) = results.first().map(|result| result.metrics[metric]) else { return (0, vec![]) };
    let means: Vec<f64> = results.iter().map(|result| result.mean(metric)).collect();
    best_of(&by.to_string(), &means, tests, |a, b| by.better(a, b))
}

/// The method with the best of some means that are named, and those that a test cannot tell from it.
pub fn best_of(
    name: &str,
    means: &[f64],
    tests: &[Difference],
    better: impl Fn(f64, f64) -> bool,
) -> (usize, Vec<usize>) {
    let best = (0..means.len()).fold(0, |best, i| if better(means[i], means[best]) { i } else { best });
    let tests = pairs(means.len()).zip(tests.iter().filter(|test| test.metric == name));
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
