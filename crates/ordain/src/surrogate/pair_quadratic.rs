//! The squared hinge of pairs with a quadratic bound that falls apart by documents (QBRank).

use super::pair_hinge::{self, Graded, PairHinge};
use crate::data::RankSet;
use crate::error::Result;
use crate::traits::Surrogate;

/// The squared hinge of all pairs with a margin τ, and twice the number of its pairs as the curvature of a document.
///
/// ```text
/// L(s) = ½ Σ_{g_i > g_j} (τ − s_i + s_j)₊²
///      ≤ ½ Σ R_ij² + Σ R_ij (δ_j − δ_i) + δ_i² + δ_j²      after steps δ,  R_ij = (τ − s_i + s_j)₊
/// ```
///
/// Zheng, Zha, Zhang, Chapelle, Chen and Sun 2007, on preferences alone. The bound asks `+R/2` of the better and `−R/2` of the lesser document of
/// every pair, those in the right order too (R = 0): a document with c pairs has the target `(Σ R as the better − Σ R as the lesser)/(2c)` with the weight
/// c. A step that minimises the bound never raises L. Value and slope cost O(n log n), as [`PairHinge`]: `L_τ(s) = τ² L_1(s/τ)`.
///
/// ```
/// use ordain::{surrogate::pair_quadratic::PairQuadratic, traits::Surrogate};
/// let loss = PairQuadratic::new(&[&[1.0, 0.0]], 2.0);
/// let (mut d, mut h) = ([0.0; 2], [0.0; 2]);
/// loss.diagonal(0, &[0.0, 0.0], &mut d, &mut h, &mut Default::default())?;
/// assert_eq!((-d[0] / h[0], -d[1] / h[1]), (1.0, -1.0)); // half of τ each
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct PairQuadratic {
    hinge: PairHinge,
    /// The pairs of each document, by weight.
    pairs: Vec<f64>,
    bounds: Vec<usize>,
    tau: f64,
}

/// Scratch of [`PairQuadratic`].
#[derive(Default)]
pub struct Work {
    hinge: pair_hinge::Work,
    scaled: Vec<f64>,
}

impl PairQuadratic {
    /// The loss of queries with these grades.
    pub fn new(queries: &[&[f64]], tau: f64) -> Self {
        Self::of_graded(Graded::new(queries.iter().copied(), None), tau)
    }

    /// The loss of queries of a set: over the pairs of its preferences, where it has some, else over those of its grades, with the weights of its documents.
    pub fn of_set(set: &RankSet, units: &[u32], tau: f64) -> Self {
        Self::of_graded(Graded::of_set(set, units), tau)
    }

    fn of_graded(graded: Graded, tau: f64) -> Self {
        let (mut pairs, mut bounds) = (vec![], vec![0]);
        for n in 0..graded.len() {
            pairs.extend(graded.partners(n));
            bounds.push(pairs.len());
        }
        Self { hinge: PairHinge(graded), pairs, bounds, tau }
    }
}

impl Surrogate for PairQuadratic {
    type Work = Work;

    fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], Work { hinge, scaled }: &mut Work) -> Result<f64> {
        scaled.clear();
        scaled.extend(s.iter().map(|s| s / self.tau));
        let value = self.hinge.value(n, scaled, d, hinge)?;
        d.iter_mut().for_each(|d| *d *= self.tau);
        Ok(self.tau * self.tau * value)
    }

    fn diagonal(&self, n: usize, s: &[f64], d: &mut [f64], h: &mut [f64], work: &mut Work) -> Result<Option<f64>> {
        let pairs = &self.pairs[self.bounds[n]..self.bounds[n + 1]];
        h.iter_mut().zip(pairs).for_each(|(h, pairs)| *h = 2.0 * pairs);
        self.value(n, s, d, work).map(Some)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::random::Random;

    /// The loss after any step is at most the bound, and what the bound asks of a document is what pairs ask one by one.
    #[test]
    fn the_bound_holds_and_sums_what_pairs_ask() {
        let (mut random, mut work) = (Random::new(8), Work::default());
        for case in 0..300 {
            let (n, tau) = (2 + random.below(9), 0.1 + 2.0 * random.uniform());
            let grades: Vec<f64> = (0..n).map(|_| random.below(4) as f64).collect();
            let mut numbers = |width: f64| -> Vec<f64> { (0..n).map(|_| width * (random.uniform() - 0.5)).collect() };
            let (s, step) = (numbers(4.0), numbers([0.1, 1.0, 10.0][case % 3]));
            let loss = PairQuadratic::new(&[&grades], tau);
            let (mut d, mut h, mut spare) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
            let value = loss.diagonal(0, &s, &mut d, &mut h, &mut work).unwrap().unwrap();
            let (mut sum, mut asked, mut count) = (0.0, vec![0.0; n], vec![0.0; n]);
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|&(i, j)| grades[i] > grades[j]) {
                let r = (tau - s[i] + s[j]).max(0.0);
                sum += 0.5 * r * r;
                (asked[i], asked[j]) = (asked[i] + r / 2.0, asked[j] - r / 2.0);
                (count[i], count[j]) = (count[i] + 1.0, count[j] + 1.0);
            }
            assert!((value - sum).abs() < 1e-10 * (1.0 + sum), "case {case}");
            for i in (0..n).filter(|&i| count[i] > 0.0) {
                assert!((-d[i] / h[i] - asked[i] / count[i]).abs() < 1e-10, "case {case}");
            }
            let moved: Vec<f64> = s.iter().zip(&step).map(|(s, step)| s + step).collect();
            let after = loss.value(0, &moved, &mut spare, &mut work).unwrap();
            let bound: f64 = (0..n).map(|i| d[i] * step[i] + 0.5 * h[i] * step[i] * step[i]).sum();
            assert!(after <= value + bound + 1e-10 * (1.0 + value), "case {case}: {after} above {}", value + bound);
        }
    }
}
