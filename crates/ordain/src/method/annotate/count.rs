//! How many labels an item has: a distribution that is learned, where the papers are told the number.

use crate::error::Result;
use crate::pieces::{Run, sums_of, sums_with};
use crate::solver::lbfgs::Lbfgs;
use crate::solver::run::{Watch, run};
use crate::traits::{Risk, Solver};
use std::collections::BTreeMap;

/// The probability of each number of labels, given how many the classifiers expect.
///
/// ```text
/// p(k | z) ∝ exp(a_k + (b·k + c·log(1 + k))·z),   z = (Σ_i p_i − mean) / deviation
/// ```
///
/// with p_i the calibrated probability of label i by its own classifier. A convex fit of the numbers of the training items, each
/// a_k held near the logarithm of how often k occurs.
#[derive(Clone, Debug, PartialEq)]
pub struct CountModel {
    /// The numbers that occur, ascending.
    pub numbers: Vec<u32>,
    /// a_k, for each of them.
    pub level: Vec<f64>,
    /// b and c.
    pub slope: [f64; 2],
    /// Mean and deviation of the expected number.
    pub center: [f64; 2],
}

/// The expected number of labels, from log-odds of each.
pub(in crate::method) fn expected(logits: &[f64]) -> f64 {
    logits.iter().map(|z| 1.0 / (1.0 + (-z).exp())).sum()
}

impl CountModel {
    /// Learns from items with an expected and a true number of labels; `labels` is the most that an item can have, and `runs` are the items in
    /// the pieces of their set.
    pub fn fit(items: &[(f64, usize)], labels: usize, runs: &[Run]) -> Result<Self> {
        let mut often: BTreeMap<u32, f64> = BTreeMap::new();
        items.iter().for_each(|&(_, k)| *often.entry(k.min(labels) as u32).or_default() += 1.0);
        if often.is_empty() {
            often.insert(1.min(labels as u32), 1.0);
        }
        let n = items.len().max(1) as f64;
        let mean = sums_of(runs, 1, |i, sum| sum[0] += items[i].0)[0] / n;
        let square = sums_of(runs, 1, |i, sum| sum[0] += (items[i].0 - mean) * (items[i].0 - mean))[0] / n;
        let center = [mean, if square > 0.0 { square.sqrt() } else { 1.0 }];
        let numbers: Vec<u32> = often.keys().copied().collect();
        let prior: Vec<f64> = often.values().map(|f| (f / n).ln()).collect();
        let mut model = Self { numbers, level: prior.clone(), slope: [0.0; 2], center };
        let levels = prior.len();
        let place =
            |k: usize| model.numbers.partition_point(|&number| (number as usize) < k.min(labels)).min(levels - 1);
        let places: Vec<(f64, usize)> = items.iter().map(|&(m, k)| (m, place(k))).collect();
        let mut risk = CountRisk { items: &places, runs, model: model.clone(), prior };
        let mut solver = Lbfgs::new(&mut risk, 1.0 / n, 1e-4, vec![0.0; levels + 2])?;
        run(&mut solver, 200, 0, &Watch::NOBODY)?;
        let theta = solver.theta().to_vec();
        model.level.iter_mut().zip(&theta).for_each(|(a, d)| *a += d);
        model.slope = [theta[levels], theta[levels + 1]];
        Ok(model)
    }

    /// The probability of each number of labels, from 0.
    pub fn distribution(&self, expected: f64) -> Vec<f64> {
        let mut p = vec![0.0; self.level.len()];
        self.of_numbers(expected, &self.logs(), &mut p);
        let mut all = vec![0.0; self.numbers.last().map_or(1, |&most| most as usize + 1)];
        self.numbers.iter().zip(p).for_each(|(&k, p)| all[k as usize] = p);
        all
    }

    /// `log(1 + k)` of each number that occurs.
    fn logs(&self) -> Vec<f64> {
        self.numbers.iter().map(|&k| f64::from(k).ln_1p()).collect()
    }

    /// The probability of each number that occurs.
    fn of_numbers(&self, expected: f64, logs: &[f64], p: &mut [f64]) {
        let z = (expected - self.center[0]) / self.center[1];
        let [b, c] = self.slope;
        for (((p, a), &k), log) in p.iter_mut().zip(&self.level).zip(&self.numbers).zip(logs) {
            *p = a + (b * f64::from(k) + c * log) * z;
        }
        let top = p.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        p.iter_mut().for_each(|p| *p = (*p - top).exp());
        let total: f64 = p.iter().sum();
        p.iter_mut().for_each(|p| *p /= total);
    }
}

/// Minus the mean log-probability of the true numbers, by the differences of a_k from their prior, then b and c.
struct CountRisk<'a> {
    /// Expected number, and the place of the true one.
    items: &'a [(f64, usize)],
    runs: &'a [Run],
    model: CountModel,
    prior: Vec<f64>,
}

impl Risk for CountRisk<'_> {
    fn dim(&self) -> usize {
        self.prior.len() + 2
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        let levels = self.prior.len();
        self.model.level.iter_mut().zip(&self.prior).zip(theta).for_each(|((a, prior), d)| *a = prior + d);
        self.model.slope = [theta[levels], theta[levels + 1]];
        let (model, weight) = (&self.model, 1.0 / self.items.len().max(1) as f64);
        let (items, logs) = (self.items, &model.logs());
        // the value stands after the gradient
        let all = sums_with(self.runs, levels + 3, |i, sum, p: &mut Vec<f64>| {
            let (expected, place) = items[i];
            p.resize(levels, 0.0);
            let z = (expected - model.center[0]) / model.center[1];
            model.of_numbers(expected, logs, p);
            sum[levels + 2] -= weight * p[place].max(f64::MIN_POSITIVE).ln();
            p[place] -= 1.0;
            for (((at, p), &k), log) in p.iter().enumerate().zip(&model.numbers).zip(logs) {
                sum[at] += weight * p;
                sum[levels] += weight * p * f64::from(k) * z;
                sum[levels + 1] += weight * p * log * z;
            }
        });
        grad.copy_from_slice(&all[..levels + 2]);
        Ok(all[levels + 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::Pieces;
    use crate::random::Random;

    #[test]
    fn numbers_come_back_as_they_were_drawn() {
        let mut random = Random::new(3);
        // the number is the expected one plus or minus one
        let items: Vec<(f64, usize)> = (0..4000)
            .map(|_| {
                let k = 1 + random.below(8);
                (k as f64 + random.uniform() - 0.5, (k + random.below(3)).saturating_sub(1))
            })
            .collect();
        let model = CountModel::fit(&items, 20, &Pieces::of_items(4000, 1).runs(0..4000)).unwrap();
        for k in [2.0, 5.0, 7.0] {
            let p = model.distribution(k);
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let mean: f64 = p.iter().enumerate().map(|(k, p)| k as f64 * p).sum();
            assert!((mean - k).abs() < 0.6, "{k}: {mean}");
        }
        let few: Vec<(f64, usize)> = items[..50].iter().map(|&(m, k)| (m, k.min(model.level.len() - 1))).collect();
        let (mut risk, mut theta) = (
            CountRisk {
                items: &few,
                runs: &Pieces::of_items(50, 1).runs(0..50),
                model: model.clone(),
                prior: model.level.clone(),
            },
            (0..model.level.len() + 2).map(|_| 0.3 * random.normal()).collect::<Vec<f64>>(),
        );
        let mut grad = vec![0.0; theta.len()];
        risk.value(&theta, &mut grad).unwrap();
        let truth = grad.clone();
        for j in 0..theta.len() {
            let at = theta[j];
            theta[j] = at + 1e-5;
            let up = risk.value(&theta, &mut grad).unwrap();
            theta[j] = at - 1e-5;
            let down = risk.value(&theta, &mut grad).unwrap();
            theta[j] = at;
            assert!(((up - down) / 2e-5 - truth[j]).abs() < 1e-7);
        }
    }
}
