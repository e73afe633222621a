//! One number that scores are divided by before they become probabilities.

use crate::error::Result;
use crate::structure::matching::{Engine, engine};
use crate::surrogate::matching::{Case, MatchLikelihood, Right};
use crate::traits::Surrogate;
use rayon::prelude::*;

/// The temperature at which the right matchings are most likely.
///
/// ```text
/// min over T of  mean of  log Σ_y exp(score(y)/T) − score(right)/T
/// ```
///
/// where of K right matches in all one in (K + 2)² is taken to be drawn at random, so that few problems without a fault do not make
/// everything certain; with many that doubt is gone. It is convex in 1/T: the sign of the slope there is followed by halving, to half a hundredth. Between 1/1000 and 1000 times the spread of the scores.
/// The scores are those of every problem, edges and then items that stay unmatched.
pub(super) fn fit_temperature(cases: &[Case], all: &[Vec<f64>]) -> Result<f64> {
    let count = all.iter().map(Vec::len).sum::<usize>().max(1) as f64;
    let mean = all.iter().flatten().sum::<f64>() / count;
    let spread = (all.iter().flatten().map(|s| (s - mean).powi(2)).sum::<f64>() / count).sqrt();
    if spread.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
        return Ok(1.0);
    }
    let loss = MatchLikelihood { cases, engines: vec![Engine::Auto; cases.len()] };
    let doubt = ((cases.iter().map(|case| case.graph.lesser()).sum::<usize>() + 2) as f64).powi(-2);
    // the mean score of a matching at random: balanced weights are enough for that
    let mut work = engine::Work::default();
    let mut random = vec![];
    for (case, s) in cases.iter().zip(all) {
        let mut p = vec![0.0; s.len()];
        let engine = if case.graph.null() { Engine::Bethe } else { Engine::Sinkhorn };
        engine::log_sum(engine, &case.graph, &vec![0.0; s.len()], 0, &mut work, &mut p)?;
        random.push(p.iter().zip(s).map(|(p, s)| p * s).sum::<f64>());
    }
    // the slope of the mean loss by 1/T
    let slope = |inverse: f64| -> Result<f64> {
        let one = |work: &mut engine::Work, (n, s): (usize, &Vec<f64>)| {
            let warm: Vec<f64> = s.iter().map(|s| s * inverse).collect();
            let mean = |table: &[f64]| table.iter().zip(s).map(|(x, s)| x * s).sum::<f64>();
            let mut p = vec![0.0; s.len()];
            loss.sum(n, &warm, &mut p, work)?;
            let now = mean(&p);
            let right = match &cases[n].right {
                Right::Matching(edges) => cases[n].graph.score(s, edges),
                Right::Among(_) => {
                    loss.value(n, &warm, &mut p, work)?;
                    now - mean(&p)
                }
            };
            Ok(now - (1.0 - doubt) * right - doubt * random[n])
        };
        let slopes: Result<Vec<f64>> = all.par_iter().enumerate().map_init(engine::Work::default, one).collect();
        Ok(slopes?.iter().sum())
    };
    // doubling away from 1/spread until the slope changes its sign, then halving
    let mut low = 1.0 / spread;
    let mut high = low;
    if slope(low)? < 0.0 {
        while high * spread < 1e3 && slope(high)? < 0.0 {
            (low, high) = (high, 2.0 * high);
        }
    } else {
        while low * spread > 1e-3 && slope(low)? >= 0.0 {
            (low, high) = (0.5 * low, low);
        }
    }
    while high / low > 1.005 {
        let middle = (low * high).sqrt();
        if slope(middle)? < 0.0 { low = middle } else { high = middle }
    }
    Ok(1.0 / (low * high).sqrt())
}
