//! Prices that follow the core: `v_j(p) = a_j + Σ_c b_c(j − p_c)`.

use super::Whole;
use super::square::Placement;
use crate::error::Result;
use crate::random::Random;
use crate::structure::ranking::MOST_CORE;

/// Assignments per core item from which the model is fitted, and rounds of backfitting.
pub(super) const SAMPLES: usize = 16;
const ROUNDS: usize = 20;

impl Whole {
    /// Fits the model to the prices of some random placements. Any prices are valid, so that this decides on time alone.
    ///
    /// Backfitting: each part in turn becomes the mean of what the other parts leave. Prices have no level of their own
    /// (one number more for all places changes no bound), so each sample is taken around its mean.
    pub(super) fn fit_follow(&mut self) -> Result<()> {
        let (f, core) = (self.square.free.len(), self.square.core());
        let mut random = Random::new(1);
        let mut samples: Vec<(Placement, Vec<f64>)> = vec![];
        let mut places: Vec<usize> = (0..f).collect();
        for _ in 0..SAMPLES * core {
            random.shuffle(&mut places);
            let mut p = [0; MOST_CORE];
            p[..core].copy_from_slice(&places[..core]);
            let start = self.best.prices.clone();
            if let Some(mut prices) = self.solve(&p, &start)? {
                let mean = prices.iter().sum::<f64>() / f as f64;
                prices.iter_mut().for_each(|v| *v -= mean);
                samples.push((p, prices));
            }
        }
        if samples.is_empty() {
            return Ok(());
        }
        let last = self.square.free.last().map_or(0, |&j| j as usize);
        let width = 2 * last + 1;
        let free = &self.square.free;
        let at = |c: usize, j: usize, q: usize| c * width + last + free[j] as usize - free[q] as usize;
        let (mut own, mut follow) = (vec![0.0; f], vec![0.0; core * width]);
        for _ in 0..ROUNDS {
            let (mut sums, mut counts) = (vec![0.0; core * width], vec![0.0; core * width]);
            own.fill(0.0);
            for (p, prices) in &samples {
                for j in 0..f {
                    own[j] += prices[j] - (0..core).map(|c| follow[at(c, j, p[c])]).sum::<f64>();
                }
            }
            own.iter_mut().for_each(|a| *a /= samples.len() as f64);
            for c in 0..core {
                for (p, prices) in &samples {
                    for j in 0..f {
                        let others = (0..core).filter(|&d| d != c).map(|d| follow[at(d, j, p[d])]).sum::<f64>();
                        sums[at(c, j, p[c])] += prices[j] - own[j] - others;
                        counts[at(c, j, p[c])] += 1.0;
                    }
                }
                for k in c * width..(c + 1) * width {
                    follow[k] = if counts[k] > 0.0 { sums[k] / counts[k] } else { 0.0 };
                }
            }
        }
        self.follow = follow;
        Ok(())
    }
}
