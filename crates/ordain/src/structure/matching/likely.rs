//! The matching with the most items that are matched rightly, in expectation.

use super::graph::Graph;

/// What worths are multiples of: far below what probabilities are known to, and far above their rounding, so that edges that are equally
/// likely are worth the same to the bit.
const GRAIN: f64 = (1u64 << 30) as f64;

/// What each edge is worth to a matching that is to be right about as many items as it can be: its probability, less that of the item
/// of the lesser side to stay unmatched. Items that stay are worth 0.
///
/// The Hamming loss of matchings counts items of the lesser side (left where both are as large) whose partner is wrong, where none
/// is a partner too. Let `p_e` be the probability of an edge, `u_i` that of item i to stay unmatched, and `i(e)` the item of the lesser
/// side that e matches. The Bayes risk of a matching y, times the number n of these items, is
///
/// ```text
/// E[wrong items of y] = Σ_i P(partner of i is not that in y)
///                     = n − Σ_{e in y} p_e − Σ_{i not in y} u_i
///                     = (n − Σ_i u_i) − Σ_{e in y} (p_e − u_{i(e)})
/// ```
///
/// and only the last sum depends on y. So the price of an edge is what its item loses by not staying unmatched, and the matching
/// with the least risk is the best one ([`best`](super::best::best)) under these worths. Without nulls no item of the lesser side may
/// stay, `u` is 0, and it maximises the sum of marginals. `p` is a table of marginals as the engines write it, and `worth` a
/// table of the same shape. Worths are rounded to 2⁻³⁰ ≈ 10⁻⁹, so that ties of scores are ties here. O(E).
///
/// ```
/// use ordain::structure::matching::{best::{self, best}, engine, graph::Graph, likely, Engine};
/// // the best matching has one edge, 1 - 1; but either item of the left side is more likely to be right with another partner
/// let graph = Graph::new(2, 2, &[(0, 0), (0, 1), (1, 0), (1, 1)], true)?;
/// let s = [-3.0, 1.9, 1.0, 3.0, 0.0, 0.0, 0.0, 0.0];
/// assert_eq!(best(&graph, &s, &mut best::Work::default())?.edges, [3]);
/// let (mut p, mut worth) = ([0.0; 8], [0.0; 8]);
/// engine::log_sum(Engine::Exact, &graph, &s, 0, &mut engine::Work::default(), &mut p)?;
/// likely::worth(&graph, &p, &mut worth);
/// assert!((worth[3] - (p[3] - p[5])).abs() < 1e-9);
/// assert_eq!(best(&graph, &worth, &mut best::Work::default())?.edges, [1, 2]);
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn worth(graph: &Graph, p: &[f64], worth: &mut [f64]) {
    let by_left = graph.left() <= graph.right();
    let grained = |x: f64| (x * GRAIN).round() / GRAIN;
    worth.fill(0.0);
    for (e, worth) in worth.iter_mut().take(graph.edges()).enumerate() {
        let (i, j) = graph.ends(e);
        let stays = if by_left { graph.left_null(p, i) } else { graph.right_null(p, j) };
        *worth = grained(p[e] - stays);
    }
}
