//! The risk of a network of two layers on lists.

use crate::error::{Error, Result};
use crate::pieces::{Run, sums_with};
use crate::risk::go_on;
use crate::scorer::network::{Network, Pass};
use crate::scorer::rows::Rows;
use crate::traits::{Risk, Scorer, Surrogate};
use std::sync::atomic::AtomicBool;

/// `Σ_n weight_n · L_n(s_n)` by the numbers of a network, s being its scores of the scaled rows of list n.
///
/// Lists are summed by the [pieces](crate::pieces) of their set, so that no number depends on threads. O(values · hidden units).
pub(super) struct NetworkRisk<'a, R: Surrogate> {
    rows: &'a Rows<'a>,
    loss: &'a R,
    weight: &'a [f64],
    dim: usize,
    runs: Vec<Run>,
    stop: &'a AtomicBool,
    heeds: bool,
}

/// Scratch of a piece.
struct Desk<W> {
    pass: Pass,
    s: Vec<f64>,
    d: Vec<f64>,
    grad: Vec<f64>,
    loss: W,
}

impl<W: Default> Default for Desk<W> {
    fn default() -> Self {
        Self { pass: Pass::default(), s: vec![], d: vec![], grad: vec![], loss: W::default() }
    }
}

impl<'a, R: Surrogate> NetworkRisk<'a, R> {
    pub(super) fn new(rows: &'a Rows<'a>, loss: &'a R, weight: &'a [f64], hidden: usize, stop: &'a AtomicBool) -> Self {
        let runs = rows.pieces().runs((0..rows.len()).map(|n| rows.unit(n)));
        Self { rows, loss, weight, dim: Network::size(rows.dim(), hidden), runs, stop, heeds: false }
    }
}

impl<R: Surrogate> Risk for NetworkRisk<'_, R> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        if self.heeds {
            go_on(Some(self.stop))?;
        }
        let d = self.rows.dim();
        let sum = sums_with(&self.runs, self.dim + 1, |n, sums, desk: &mut Desk<R::Work>| {
            let (docs, count) = (self.rows.dense(n), self.rows.span(n).len());
            desk.s.resize(count, 0.0);
            desk.d.resize(count, 0.0);
            desk.pass.scores(theta, d, &docs, &mut desk.s);
            // a loss that fails is not finite, which is refused below
            let value = self.loss.value(n, &desk.s, &mut desk.d, &mut desk.loss).unwrap_or(f64::NAN);
            desk.grad.clear();
            desk.grad.resize(self.dim, 0.0);
            desk.pass.pull_back(theta, d, &docs, &desk.d, &mut desk.grad);
            sums[self.dim] += self.weight[n] * value;
            sums.iter_mut().zip(&desk.grad).for_each(|(sum, own)| *sum += self.weight[n] * own);
        });
        grad.copy_from_slice(&sum[..self.dim]);
        match sum[self.dim].is_finite() {
            true => Ok(sum[self.dim]),
            false => Err(Error::Data { expected: "a finite loss".into(), found: "another".into() }),
        }
    }

    fn heed(&mut self, stop: bool) {
        self.heeds = stop;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::data::scale::{Scale, Scaling};
    use crate::data::synthetic::Synthetic;
    use crate::surrogate::pair_logistic::PairLogistic;

    #[test]
    fn slopes_are_those_of_differences() {
        let set = Synthetic { queries: 5, documents: (2, 6), features: 3, ..Synthetic::default() }.make();
        let (units, stop) = (set.all(), AtomicBool::new(false));
        let scaling = Scaling::learn(Scale::Query, &set, &units);
        let rows = Rows::new(&set, &units, &scaling);
        let loss = PairLogistic::new(units.iter().map(|&q| &set.grades[set.span(q as usize)]), None);
        let weight: Vec<f64> = (0..5).map(|n| 0.1 + f64::from(n)).collect();
        let mut risk = NetworkRisk::new(&rows, &loss, &weight, 4, &stop);
        let theta = Network::begin(3, 4, 1);
        let mut grad = vec![0.0; theta.len()];
        risk.value(&theta, &mut grad).unwrap();
        for i in 0..theta.len() {
            let mut at = |step: f64| {
                let mut moved = theta.clone();
                moved[i] += step;
                risk.value(&moved, &mut vec![0.0; theta.len()]).unwrap()
            };
            assert!(((at(1e-5) - at(-1e-5)) / 2e-5 - grad[i]).abs() < 1e-6, "{i}");
        }
    }
}
