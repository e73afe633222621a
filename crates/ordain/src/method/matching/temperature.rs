//! One number that scores are divided by before they become probabilities.

use crate::error::Result;
use crate::structure::matching::{Engine, engine};
use crate::surrogate::matching::{Case, MatchLikelihood, Right};
use crate::traits::Surrogate;
use rayon::prelude::*;

/// The share of the right matches that is taken to be drawn at random.
fn doubt(cases: &[Case]) -> f64 {
    ((cases.iter().map(|case| case.graph.lesser()).sum::<usize>() + 2) as f64).powi(-2)
}

/// The probabilities of each problem where all scores are 0, nearly: balanced weights are enough for that.
fn at_random(cases: &[Case]) -> Result<Vec<Vec<f64>>> {
    let mut work = engine::Work::default();
    let one = |case: &Case| {
        let mut p = vec![0.0; case.graph.table()];
        let engine = if case.graph.null() { Engine::Bethe } else { Engine::Sinkhorn };
        engine::log_sum(engine, &case.graph, &vec![0.0; p.len()], 0, &mut work, &mut p)?;
        Ok(p)
    };
    cases.iter().map(one).collect()
}

/// The most steps of [`fit_level`], and where it ends: by how much less than this a step lowers the loss of a problem.
const STEPS: usize = 20;
const STILL: f64 = 1e-7;

/// The score of an item that stays unmatched, and the temperature, at which the right matchings are most likely together.
///
/// ```text
/// min over a = 1/T and b = null/T of  mean of  log Σ_y exp(a·score(y) + b·(items not in y)) − (the same of the right matching)
/// ```
///
/// with the doubt of [`fit_temperature`]; convex, by Newton's method with differences of slopes for curvature. The scores are those of the edges of every problem.
pub(super) fn fit_level(cases: &[Case], edges: &[Vec<f64>]) -> Result<(f64, f64)> {
    let loss = MatchLikelihood { cases, engines: vec![Engine::Auto; cases.len()] };
    let (doubt, random) = (doubt(cases), at_random(cases)?);
    let count = cases.len().max(1) as f64;
    // what is drawn at random in the place of what is right, of scores and of items that stay: as if each right matching had their mean
    let table = |n: usize, [a, b]: [f64; 2]| -> Vec<f64> {
        let mut table: Vec<f64> = edges[n].iter().map(|s| a * s).collect();
        table.resize(cases[n].graph.table(), b);
        table
    };
    let sums = |n: usize, table: &[f64]| -> [f64; 2] {
        let (own, nulls) = table.split_at(edges[n].len());
        [own.iter().zip(&edges[n]).map(|(x, s)| x * s).sum(), nulls.iter().sum()]
    };
    let right = |n: usize, work: &mut engine::Work| -> Result<[f64; 2]> {
        let mut p = vec![0.0; cases[n].graph.table()];
        let (at, mut d) = (table(n, [1.0, 0.0]), p.clone());
        loss.sum(n, &at, &mut p, work)?;
        loss.value(n, &at, &mut d, work)?;
        let ([p, q], [d, e]) = (sums(n, &p), sums(n, &d));
        Ok([p - d, q - e])
    };
    let mut work = engine::Work::default();
    let mut pull = [0.0; 2];
    for (n, random) in random.iter().enumerate() {
        let (right, random) = (right(n, &mut work)?, sums(n, random));
        (0..2).for_each(|k| pull[k] += doubt * (right[k] - random[k]) / count);
    }
    let at = |x: [f64; 2]| -> Result<(f64, [f64; 2])> {
        let one = |work: &mut engine::Work, n: usize| -> Result<(f64, [f64; 2])> {
            let s = table(n, x);
            let mut d = vec![0.0; s.len()];
            Ok((loss.value(n, &s, &mut d, work)?, sums(n, &d)))
        };
        let all: Result<Vec<_>> = (0..cases.len()).into_par_iter().map_init(engine::Work::default, one).collect();
        let add = |(f, g): (f64, [f64; 2]), (value, d): (f64, [f64; 2])| {
            (f + value / count, [g[0] + d[0] / count, g[1] + d[1] / count])
        };
        let (f, g) = all?.into_iter().fold((0.0, [0.0; 2]), add);
        Ok((f + pull[0] * x[0] + pull[1] * x[1], [g[0] + pull[0], g[1] + pull[1]]))
    };
    let spread = edges.iter().flatten().map(|s| s * s).sum::<f64>();
    let spread = (spread / edges.iter().map(Vec::len).sum::<usize>().max(1) as f64).sqrt();
    if spread.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
        return Ok((0.0, 1.0));
    }
    let mut x = [1.0 / spread, 0.0];
    let (mut f, mut g) = at(x)?;
    for _ in 0..STEPS {
        let h = [1e-4 * x[0], 1e-4];
        let (across, along) = (at([x[0] + h[0], x[1]])?.1, at([x[0], x[1] + h[1]])?.1);
        let (aa, bb) = ((across[0] - g[0]) / h[0], (along[1] - g[1]) / h[1]);
        let ab = 0.5 * ((across[1] - g[1]) / h[0] + (along[0] - g[0]) / h[1]);
        let (aa, bb) = (aa.max(1e-9 / (x[0] * x[0])), bb.max(1e-9));
        let ab = ab.clamp(-0.99 * (aa * bb).sqrt(), 0.99 * (aa * bb).sqrt());
        let det = aa * bb - ab * ab;
        let way = [(ab * g[1] - bb * g[0]) / det, (ab * g[0] - aa * g[1]) / det];
        // a temperature changes by a factor of three at most, and a null by ten log-odds
        let long = (way[0] / (if way[0] < 0.0 { -0.667 } else { 2.0 } * x[0])).max(way[1].abs() / 10.0).max(1.0);
        let mut length = 1.0 / long;
        let before = f;
        while length > 1e-6 {
            let next = [x[0] + length * way[0], x[1] + length * way[1]];
            let (value, slope) = at(next)?;
            if value < f {
                (x, f, g) = (next, value, slope);
                break;
            }
            length *= 0.5;
        }
        if before - f < STILL {
            break;
        }
    }
    // as far from the spread as temperatures may be
    let t = (1.0 / x[0]).clamp(1e-3 * spread, 1e3 * spread);
    Ok((x[1] * t, t))
}

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
    let doubt = doubt(cases);
    let random: Vec<f64> =
        at_random(cases)?.iter().zip(all).map(|(p, s)| p.iter().zip(s).map(|(p, s)| p * s).sum()).collect();
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
