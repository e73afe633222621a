//! Matchings that score the same as the best one.

use super::Engine;
use super::best::Best;
use super::engine::{self, Work};
use super::graph::Graph;
use crate::error::Result;

/// Sums of prices and scores that differ by less than this share of the largest score are equal.
const ROUNDING: f64 = 1e-10;
/// Up to so many items that tie with each other their matchings are counted; more are balanced instead.
const COUNTED: usize = 10;

/// How often an edge is in a best matching, where several score the same: edges that are in some of them, but not in all.
///
/// ```text
/// share(e) = |{y best : e in y}| / |{y best}|
/// ```
///
/// Every best matching is made of edges whose prices prove it, `p_i + q_j = s_ij`, and every perfect matching of such edges is one
/// of the best. So shares are the probabilities of edges under the uniform law on the perfect matchings of that graph. They
/// are exact where no more than ten items tie with each other, or all do. Only where both sides are as large and all items
/// are matched; elsewhere nothing is said. O(E), and O(2^t) for t items that tie.
///
/// ```
/// use ordain::structure::matching::{best::{self, best}, engine, graph::Graph, ties::shares};
/// let graph = Graph::new(3, 3, &[(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)], false)?;
/// let (s, mut work) = ([1.0, 2.0, 3.0, 4.0, 0.0], best::Work::default()); // 1 + 4 = 2 + 3
/// let found = best(&graph, &s, &mut work)?;
/// let tied = shares(&graph, &s, &found, &mut engine::Work::default())?;
/// assert!(tied.iter().map(|t| t.0).eq(0..4) && tied.iter().all(|t| (t.1 - 0.5).abs() < 1e-12));
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Interrupted`](crate::error::Error::Interrupted).
pub fn shares(graph: &Graph, s: &[f64], found: &Best, work: &mut Work) -> Result<Vec<(u32, f64)>> {
    if graph.null() || graph.left() != graph.right() {
        return Ok(vec![]);
    }
    let slack = ROUNDING * s.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    let tight: Vec<usize> = (0..graph.edges())
        .filter(|&e| {
            let (i, j) = graph.ends(e);
            found.left_dual[i] + found.right_dual[j] - s[e] <= slack
        })
        .collect();
    if tight.len() <= found.edges.len() {
        return Ok(vec![]);
    }
    let ends: Vec<(u32, u32)> = tight.iter().map(|&e| graph.ends(e)).map(|(i, j)| (i as u32, j as u32)).collect();
    let level = Graph::new(graph.left(), graph.right(), &ends, false)?;
    let engine = if engine::widest(&level) <= COUNTED { Engine::Exact } else { Engine::Sinkhorn };
    let mut p = vec![0.0; tight.len()];
    engine::log_sum(engine, &level, &vec![0.0; tight.len()], 0, work, &mut p)?;
    let some = |p: f64| p > 1e-12 && p < 1.0 - 1e-12;
    Ok(tight.iter().zip(p).filter(|(_, p)| some(*p)).map(|(&e, p)| (e as u32, p)).collect())
}
