//! The exponential loss of pairs (RankBoost), without a list of pairs.

use super::pair_hinge::Graded;
use crate::data::RankSet;
use crate::error::Result;
use crate::traits::Surrogate;

/// The exponential loss over all pairs of different grades within a query.
///
/// ```text
/// L(s) = Σ_{g_i > g_j} u_i u_j exp(s_j − s_i),   −∂L/∂s_i = Σ_{g_j < g_i} u_i u_j e^(s_j − s_i) − Σ_{g_j > g_i} u_i u_j e^(s_i − s_j)
/// ```
///
/// with `u = 1`, or the square roots of document weights. Freund, Iyer, Schapire and Singer 2003. The exponential of a difference is a product, so that sums of `e^s` and of `e^−s` by grade
/// give all pairs, as the paper has it for two grades: O(n log L) with L grades, where a loop over pairs is O(n²). Scores are taken from the middle of
/// their range, and what is further than 340 away counts as that far, so that nothing overflows.
///
/// ```
/// use ordain::{surrogate::pair_exponential::PairExponential, traits::Surrogate};
/// let loss = PairExponential::new([&[2.0, 0.0][..]]);
/// let mut slope = [0.0; 2];
/// let value = loss.value(0, &[3f64.ln(), 0.0], &mut slope, &mut Default::default())?;
/// assert!((value - 1.0 / 3.0).abs() < 1e-12 && (slope[0] + 1.0 / 3.0).abs() < 1e-12);
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct PairExponential(Graded);

/// Scratch of [`PairExponential`].
#[derive(Default)]
pub struct Work {
    /// `e^s` of all lower grades, and `e^−s` of all higher ones, grade by grade.
    below: Vec<f64>,
    above: Vec<f64>,
}

/// The largest exponent, of either sign: two of them together do not overflow.
const LARGEST: f64 = 340.0;

impl PairExponential {
    /// The loss of queries with these grades.
    pub fn new<'a>(queries: impl IntoIterator<Item = &'a [f64]>) -> Self {
        Self(Graded::new(queries, None))
    }

    /// The loss of queries of a set: over the pairs of its preferences, where it has some, else over those of its grades, with the weights of its documents.
    pub fn of_set(set: &RankSet, units: &[u32]) -> Self {
        Self(Graded::of_set(set, units))
    }

    /// Number of pairs of query `n`, and the sum of their weights.
    pub fn pairs(&self, n: usize) -> (f64, f64) {
        self.0.pairs(n)
    }

    /// The parts of the loss of query `n` that a 0/1 rule sees: pairs whose better document alone is marked, and the reverse.
    ///
    /// With `h` the marks, `L(s + α h) = L(s) − W⁺ − W⁻ + W⁺ e^−α + W⁻ e^α`. O(n + L).
    pub fn crossing(&self, n: usize, s: &[f64], marked: impl Fn(usize) -> bool, work: &mut Work) -> [f64; 2] {
        if let Some(pairs) = self.0.given(n) {
            let mut sums = [0.0; 2];
            for &(i, j, weight) in pairs {
                let (i, j) = (i as usize, j as usize);
                if marked(i) != marked(j) {
                    sums[usize::from(marked(j))] += weight * exp(s[j] - s[i]);
                }
            }
            return sums;
        }
        let (levels, start) = (&self.0.levels[self.0.span(n)], self.0.span(n).start);
        let middle = middle(s);
        // of lower grades unmarked and marked, of each grade and below
        let side = |marks: bool, below: &mut Vec<f64>| {
            sums(levels, below, |i| if marked(i) == marks { self.0.root(start + i) * exp(s[i] - middle) } else { 0.0 });
            let lower = |level: u32| if level == 0 { 0.0 } else { below[level as usize - 1] };
            let pairs = levels.iter().enumerate().filter(|&(i, _)| marked(i) != marks);
            pairs.map(|(i, &level)| self.0.root(start + i) * exp(middle - s[i]) * lower(level)).sum()
        };
        [side(false, &mut work.below), side(true, &mut work.below)]
    }
}

/// The exponential of what is not too large.
fn exp(x: f64) -> f64 {
    x.clamp(-LARGEST, LARGEST).exp()
}

/// The middle of the range of some scores.
pub(super) fn middle(s: &[f64]) -> f64 {
    let (low, high) = s.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &s| (low.min(s), high.max(s)));
    0.5 * (low + high)
}

/// Sums over documents of each level and all lower ones.
fn sums(levels: &[u32], out: &mut Vec<f64>, of: impl Fn(usize) -> f64) {
    out.clear();
    out.resize(levels.iter().max().map_or(0, |&top| top as usize + 1), 0.0);
    levels.iter().enumerate().for_each(|(i, &level)| out[level as usize] += of(i));
    (1..out.len()).for_each(|level| out[level] += out[level - 1]);
}

impl Surrogate for PairExponential {
    type Work = Work;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut Work) -> Result<f64> {
        if let Some(pairs) = self.0.given(n) {
            d.fill(0.0);
            let mut value = 0.0;
            for &(i, j, weight) in pairs {
                let cost = weight * exp(s[j as usize] - s[i as usize]);
                d[i as usize] -= cost;
                d[j as usize] += cost;
                value += cost;
            }
            return Ok(value);
        }
        let (levels, start) = (&self.0.levels[self.0.span(n)], self.0.span(n).start);
        let root = |i: usize| self.0.root(start + i);
        let (middle, Work { below, above }) = (middle(s), work);
        sums(levels, below, |i| root(i) * exp(s[i] - middle));
        // from the top: what is added last is the highest grade
        above.clear();
        above.resize(below.len(), 0.0);
        levels.iter().enumerate().for_each(|(i, &level)| above[level as usize] += root(i) * exp(middle - s[i]));
        (1..above.len()).rev().for_each(|level| above[level - 1] += above[level]);
        let mut value = 0.0;
        for (i, ((d, &s), &level)) in d.iter_mut().zip(s).zip(levels).enumerate() {
            let level = level as usize;
            let lower = if level == 0 { 0.0 } else { below[level - 1] };
            let higher = above.get(level + 1).copied().unwrap_or(0.0);
            let beats = root(i) * exp(middle - s) * lower;
            *d = root(i) * exp(s - middle) * higher - beats;
            value += beats;
        }
        Ok(value)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::random::Random;

    /// Value, slope and crossing pairs against a loop over pairs.
    #[test]
    fn sums_by_grade_equal_those_over_pairs() {
        let mut random = Random::new(11);
        let (mut work, mut cases) = (Work::default(), 0);
        for case in 0..300 {
            let n = 1 + random.below(12);
            let grades: Vec<f64> = (0..n).map(|_| random.below(1 + case % 5) as f64 - 1.0).collect();
            let s: Vec<f64> = (0..n).map(|_| 40.0 * random.uniform() * if case % 3 == 0 { 1.0 } else { 0.1 }).collect();
            let marks: Vec<bool> = (0..n).map(|_| random.below(2) == 0).collect();
            // without weights, with weights of documents, and by the same pairs one by one
            let weights: Vec<f64> = (0..n).map(|_| if case % 2 == 0 { 1.0 } else { 3.0 * random.uniform() }).collect();
            let weight = |i: usize, j: usize| (weights[i] * weights[j]).sqrt();
            let better = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|&(i, j)| grades[i] > grades[j]);
            let pairs: Vec<_> = better.map(|(i, j)| (i as u32, j as u32, weight(i, j))).collect();
            let loss = PairExponential(match case % 4 {
                0 => Graded::new([&grades[..]], None),
                1 => Graded::new([&grades[..]], Some(&[&weights])),
                _ => Graded::of_pairs([(n, pairs)]),
            });
            let mut d = vec![0.0; n];
            let value = loss.value(0, &s, &mut d, &mut work).unwrap();
            let crossing = loss.crossing(0, &s, |i| marks[i], &mut work);
            let (mut sum, mut slope, mut cross) = (0.0, vec![0.0; n], [0.0; 2]);
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|&(i, j)| grades[i] > grades[j]) {
                let own = weight(i, j) * (s[j] - s[i]).exp();
                (sum, cases) = (sum + own, cases + 1);
                (slope[i], slope[j]) = (slope[i] - own, slope[j] + own);
                if marks[i] != marks[j] {
                    cross[usize::from(marks[j])] += own;
                }
            }
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-11 * (1.0 + sum);
            assert!(near(value, sum) && near(crossing[0], cross[0]) && near(crossing[1], cross[1]), "case {case}");
            assert!(d.iter().zip(&slope).all(|(&a, &b)| near(a, b)), "case {case}");
        }
        assert!(cases > 1000);
    }

    #[test]
    fn scores_far_apart_do_not_overflow() {
        let loss = PairExponential::new([&[1.0, 0.0, 1.0][..]]);
        let mut d = [0.0; 3];
        let value = loss.value(0, &[1e6, -1e6, -3e6], &mut d, &mut Work::default()).unwrap();
        assert!(value.is_finite() && d.iter().all(|d| d.is_finite()));
    }
}
