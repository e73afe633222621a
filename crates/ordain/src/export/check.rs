//! The self-check: rows, what the model says of them, and what the arithmetic of a target makes of it.

use super::formula::{Formula, Gaps};
use super::{Exports, Scaled, Target, digest};
use crate::error::Result;
use crate::matrix::Matrix;
use crate::random::Random;
use crate::task::{DataSet, Fitted, Model, Ready};
use serde::Serialize;

/// What a person replays in the engine, and what it should give.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelfCheck {
    /// The digest of the model.
    pub model: String,
    /// The target.
    pub to: String,
    /// The number of rows.
    pub rows: usize,
    /// The columns.
    pub columns: Vec<String>,
    /// What is scored.
    pub outputs: Vec<String>,
    /// The rows; null is a gap.
    pub input: Vec<Vec<Option<f32>>>,
    /// The query of each row.
    pub query: Vec<String>,
    /// What the model says, output after output of each row.
    pub expected: Vec<f64>,
    /// The same in the arithmetic of the target.
    pub target: Vec<f64>,
    /// The largest difference of the two, over the largest score.
    pub difference: f64,
    /// What a difference should not exceed.
    pub tolerance: f64,
    /// Pairs of rows of one query whose order differs.
    pub order_changes: usize,
    /// The first of these: their places, from 0.
    pub changed: Option<[usize; 2]>,
    /// The least score.
    pub least: f64,
}

/// The difference, relative to the largest score, that a target may have.
const TOLERANCE: f64 = 2e-6;

/// Rows with their queries, and what the model says of them.
struct Rows {
    values: Matrix,
    bounds: Vec<usize>,
    names: Vec<String>,
    scores: Vec<f64>,
}

impl SelfCheck {
    /// On the first rows of some data, whole units of them, up to `most` if the first one is not larger.
    ///
    /// # Errors
    ///
    /// As the scores of the model.
    pub fn on_data<T: Exports>(fitted: &Fitted<T>, to: Target, on: &Ready<'_, T>, most: usize) -> Result<Self> {
        let formula = T::formula(&fitted.model)?;
        let (mut bounds, mut names) = T::units(on.set());
        let whole = bounds.iter().skip(1).take_while(|&&end| end <= most).count().max(1).min(names.len());
        bounds.truncate(whole + 1);
        names.truncate(whole);
        let mut scores = T::scores(&fitted.model, on)?;
        let (rows, given) = (bounds.last().copied().unwrap_or(0), formula.columns.len());
        scores.truncate(rows * formula.outputs.len());
        let features = on.raw().features();
        let mut values = Vec::with_capacity(rows * given);
        for row in 0..rows {
            values.extend((0..given).map(|j| features.value(row, j)));
            // gaps were filled, and these columns say where
            for (at, &j) in fitted.model.inputs().flags().iter().enumerate() {
                if features.value(row, given + at) > 0.0 {
                    values[row * given + j as usize] = f32::NAN;
                }
            }
        }
        let rows = Rows { values: Matrix::new(values, given), bounds, names, scores };
        Ok(Self::new(digest(fitted), &formula, to, &rows))
    }

    /// On rows that nobody gave: values around those that columns are scaled, filled and cut by.
    ///
    /// # Errors
    ///
    /// As [`Exports::formula`].
    pub fn made_up<T: Exports>(fitted: &Fitted<T>, to: Target, rows: usize) -> Result<Self> {
        let formula = T::formula(&fitted.model)?;
        let (values, bounds) = made_up(&formula, rows, 0);
        let names = (1..bounds.len()).map(|q| format!("made up {q}")).collect();
        let scores = formula.scores(&values, &bounds);
        Ok(Self::new(digest(fitted), &formula, to, &Rows { values, bounds, names, scores }))
    }

    fn new(model: String, formula: &Formula, to: Target, on: &Rows) -> Self {
        let single = |x: f64| if to.is_single() { f64::from(x as f32) } else { x };
        let target: Vec<f64> = formula.scores(&on.values, &on.bounds).into_iter().map(single).collect();
        let largest = on.scores.iter().fold(0.0f64, |most, x| most.max(x.abs())).max(f64::MIN_POSITIVE);
        let apart = on.scores.iter().zip(&target).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
        let input = |row: &[f32]| row.iter().map(|&x| (!x.is_nan()).then_some(x)).collect();
        let query = on.bounds.windows(2).zip(&on.names).flat_map(|(span, name)| vec![name.clone(); span[1] - span[0]]);
        let (order_changes, changed) = changes(formula, on, &target);
        Self {
            model,
            to: to.name().into(),
            rows: on.values.rows(),
            columns: formula.columns.clone(),
            outputs: formula.outputs.clone(),
            input: on.values.some_rows(0..on.values.rows()).map(input).collect(),
            query: query.collect(),
            expected: on.scores.clone(),
            target,
            difference: apart / largest,
            tolerance: TOLERANCE,
            order_changes,
            changed,
            least: on.scores.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }
}

/// Neighbours in the order of a query, by its only output, that the target has the other way round.
fn changes(formula: &Formula, on: &Rows, target: &[f64]) -> (usize, Option<[usize; 2]>) {
    let (mut count, mut first) = (0, None);
    if formula.outputs.len() > 1 {
        return (0, None);
    }
    for span in on.bounds.windows(2) {
        let mut rows: Vec<usize> = (span[0]..span[1]).collect();
        rows.sort_by(|&a, &b| on.scores[b].total_cmp(&on.scores[a]));
        for pair in rows.windows(2).filter(|pair| on.scores[pair[0]] > on.scores[pair[1]]) {
            if target[pair[0]] <= target[pair[1]] {
                count += 1;
                first = first.or(Some([pair[0], pair[1]]));
            }
        }
    }
    (count, first)
}

/// Rows that nobody gave, in queries of ten.
fn made_up(formula: &Formula, rows: usize, seed: u64) -> (Matrix, Vec<usize>) {
    let mut random = Random::new(seed);
    let d = formula.columns.len();
    let spread = |j: usize| match &formula.scale {
        Scaled::By { offset, factor } if factor[j] > 0.0 => (f64::from(offset[j]), 1.0 / f64::from(factor[j])),
        _ => (0.0, 1.0),
    };
    let cuts: Vec<Vec<f32>> = (0..d as u32).map(|j| formula.cuts(j)).collect();
    let mut values = Vec::with_capacity(rows * d);
    for _ in 0..rows {
        for (j, cuts) in cuts.iter().enumerate() {
            let (mean, deviation) = spread(j);
            let mut x = (mean + deviation * random.normal()) as f32;
            if !cuts.is_empty() {
                let cut = cuts[random.below(cuts.len())];
                x = [cut, cut.next_up(), cut.next_down(), x][random.below(4)];
            }
            let gap = formula.gaps != Gaps::Refused && random.below(10) == 0;
            values.push(if gap { f32::NAN } else { x.clamp(-1e30, 1e30) });
        }
    }
    let bounds = (0..rows).step_by(10).chain([rows]).collect();
    (Matrix::new(values, d), bounds)
}
