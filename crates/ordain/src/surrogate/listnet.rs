//! The cross-entropy of top-one probabilities (ListNet).

use crate::error::Result;
use crate::traits::Surrogate;
use std::ops::Range;

/// The cross-entropy between the top-one probabilities of grades and of scores, list by list.
///
/// ```text
/// L(s) = −Σ_i p_i · log π_i,   p = softmax(grades),   π = softmax(s),   ∂L/∂s = π − p
/// ```
///
/// Cao et al. 2007, Eqs. (4) and (5) with k = 1. Convex in s. Cost: O(n) per list.
///
/// ```
/// use ordain::{surrogate::listnet::TopOne, traits::Surrogate};
/// let loss = TopOne::new([&[1.0, 0.0][..]]);
/// let mut d = [0.0; 2];
/// let value = loss.value(0, &[0.0, 0.0], &mut d, &mut ())?;
/// assert!((value - 2f64.ln()).abs() < 1e-12 && d[0] < 0.0 && (d[0] + d[1]).abs() < 1e-12);
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct TopOne {
    targets: Vec<f64>,
    bounds: Vec<usize>,
}

impl TopOne {
    /// The loss of lists with these grades.
    pub fn new<'a>(lists: impl IntoIterator<Item = &'a [f64]>) -> Self {
        let (mut targets, mut bounds) = (vec![], vec![0]);
        for grades in lists {
            let start = targets.len();
            targets.extend_from_slice(grades);
            softmax(&mut targets[start..]);
            bounds.push(targets.len());
        }
        Self { targets, bounds }
    }

    fn span(&self, n: usize) -> Range<usize> {
        self.bounds[n]..self.bounds[n + 1]
    }
}

/// Turns scores into probabilities; returns the logarithm of their sum.
fn softmax(s: &mut [f64]) -> f64 {
    let top = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    s.iter_mut().for_each(|s| *s = (*s - top).exp());
    let sum: f64 = s.iter().sum();
    s.iter_mut().for_each(|s| *s /= sum);
    top + sum.ln()
}

impl Surrogate for TopOne {
    type Work = ();

    fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], (): &mut ()) -> Result<f64> {
        let p = &self.targets[self.span(n)];
        d.copy_from_slice(s);
        let log_sum = softmax(d);
        d.iter_mut().zip(p).for_each(|(d, p)| *d -= p);
        Ok(p.iter().zip(s).map(|(p, s)| p * (log_sum - s)).sum())
    }

    fn diagonal(&self, n: usize, s: &[f64], d: &mut [f64], h: &mut [f64], work: &mut ()) -> Result<Option<f64>> {
        let value = self.value(n, s, d, work)?;
        for ((h, d), p) in h.iter_mut().zip(&*d).zip(&self.targets[self.span(n)]) {
            let pi = d + p;
            *h = (pi * (1.0 - pi)).max(0.0);
        }
        Ok(Some(value))
    }

    /// `∇²L·v = π ∘ (v − π·v)`, column by column.
    fn curvature(&self, _: usize, s: &[f64], v: &[f64], columns: usize, out: &mut [f64], (): &mut ()) -> Result<bool> {
        let mut pi = s.to_vec();
        softmax(&mut pi);
        for c in 0..columns {
            let mean: f64 = pi.iter().enumerate().map(|(i, pi)| pi * v[i * columns + c]).sum();
            pi.iter().enumerate().for_each(|(i, pi)| out[i * columns + c] = pi * (v[i * columns + c] - mean));
        }
        Ok(true)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::random::Random;

    /// All orders of `n` things.
    fn orders(n: usize) -> Vec<Vec<usize>> {
        match n {
            0 => vec![vec![]],
            _ => orders(n - 1)
                .into_iter()
                .flat_map(|order| {
                    (0..n).map(move |at| {
                        let mut order = order.clone();
                        order.insert(at, n - 1);
                        order
                    })
                })
                .collect(),
        }
    }

    /// The probability of each thing to come first, summed over all orders of the Plackett-Luce model.
    fn first(s: &[f64]) -> Vec<f64> {
        let mut first = vec![0.0; s.len()];
        for order in orders(s.len()) {
            let chance = |at: usize| {
                let rest: f64 = order[at..].iter().map(|&i| s[i].exp()).sum();
                s[order[at]].exp() / rest
            };
            first[order[0]] += (0..order.len()).map(chance).product::<f64>();
        }
        first
    }

    #[test]
    fn the_loss_is_that_of_all_orders_and_its_slopes_are_those_of_differences() {
        let mut random = Random::new(5);
        for round in 0..crate::cases::cases(200) {
            let n = 1 + round as usize % 5;
            let grades: Vec<f64> = (0..n).map(|_| random.below(4) as f64).collect();
            let s: Vec<f64> = (0..n).map(|_| 2.0 * random.normal()).collect();
            let loss = TopOne::new([&grades[..]]);
            let truth: f64 = first(&grades).iter().zip(first(&s)).map(|(p, pi)| -p * pi.ln()).sum();
            let mut d = vec![0.0; n];
            let value = loss.value(0, &s, &mut d, &mut ()).unwrap();
            assert!((value - truth).abs() < 1e-10, "{value}, not {truth}");
            let (step, mut other) = (1e-5, vec![0.0; n]);
            for i in 0..n {
                let mut at = |h: f64| {
                    let mut moved = s.clone();
                    moved[i] += h;
                    let value = loss.value(0, &moved, &mut other, &mut ()).unwrap();
                    (value, other.clone())
                };
                let (up, down) = (at(step), at(-step));
                assert!(((up.0 - down.0) / (2.0 * step) - d[i]).abs() < 1e-7);
                let (mut unit, mut column) = (vec![0.0; n], vec![0.0; n]);
                unit[i] = 1.0;
                assert!(loss.curvature(0, &s, &unit, 1, &mut column, &mut ()).unwrap());
                for ((up, down), slope) in up.1.iter().zip(&down.1).zip(&column) {
                    assert!(((up - down) / (2.0 * step) - slope).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn large_scores_do_not_overflow() {
        let loss = TopOne::new([&[2.0, 0.0, 1.0][..]]);
        let mut d = [0.0; 3];
        let value = loss.value(0, &[1e6, -1e6, 0.0], &mut d, &mut ()).unwrap();
        assert!(value.is_finite() && d.iter().all(|d| d.is_finite()));
    }
}
