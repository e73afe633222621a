//! The exact law of matchings where no way of edges leads back to where it began.

use super::frame;
use super::graph::Graph;
use crate::error::Result;

/// No edge.
const NONE: u32 = u32::MAX;

/// Buffers of [`log_sum`], kept from call to call.
#[derive(Default)]
pub struct Work {
    /// Items, left ones and then right ones, each after the one that it was reached from.
    order: Vec<u32>,
    /// The edge by which each item was reached; [`NONE`] of the first of a tree.
    by: Vec<u32>,
    /// What each item says to the one that it was reached from, and what it hears from there.
    up: Vec<f64>,
    down: Vec<f64>,
    /// The terms of one item, and their sums from the end.
    terms: Vec<f64>,
    rest: Vec<f64>,
    open: Vec<u32>,
    met: Vec<bool>,
}

/// The log-partition function of the matchings of a forest in which every item may stay unmatched, and the marginals of its edges and of items that
/// stay; nothing where the graph is no forest, or has no nulls.
///
/// ```text
/// m_{c→v} = 1 / (u_c + Σ_{b ≠ v} w_cb m_{b→c}),   log Z = Σ_v log (u_v + Σ_{c below v} w_vc m_{c→v})
/// p_vc = w_vc m_{c→v} / (u_v + Σ_b w_vb m_{b→v})
/// ```
///
/// with `w` and `u` the exponentials of the scores of edges and of items that stay: what [`super::bethe`] comes to in many rounds, and
/// exact here after one to the roots and one back. All in logarithms; sums without one term are made of the
/// others, so that nothing cancels. O(edges).
///
/// ```
/// use ordain::structure::matching::{forest::{Work, log_sum}, graph::Graph};
/// let star = Graph::new(1, 2, &[(0, 0), (0, 1)], true)?;
/// let mut p = [0.0; 5]; // matched with the first, with the second; left, first and second item unmatched
/// let log_z = log_sum(&star, &[2f64.ln(), 0.0, 0.0, 0.0, 0.0], &mut Work::default(), &mut p)?;
/// assert!(log_z.is_some_and(|log_z| (log_z - 4f64.ln()).abs() < 1e-14)); // matchings of weight 2, 1 and, without an edge, 1
/// for (p, truth) in p.iter().zip([0.5, 0.25, 0.25, 0.5, 0.75]) {
///     assert!((p - truth).abs() < 1e-14);
/// }
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::NotFinite`](crate::error::Error::NotFinite) for a score that is not finite.
pub fn log_sum(graph: &Graph, s: &[f64], work: &mut Work, marginals: &mut [f64]) -> Result<Option<f64>> {
    if !work.lay_out(graph) {
        return Ok(None);
    }
    frame::check(graph, s, marginals)?;
    Ok(Some(work.sweep(graph, s, marginals)))
}

/// Whether [`log_sum`] has an answer.
pub fn fits(graph: &Graph) -> bool {
    Work::default().lay_out(graph)
}

/// `log Σ exp`, of at least one number.
fn log_add(values: &[f64]) -> f64 {
    let top = values.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
    top + values.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
}

/// Calls `each` with every edge of an item and the item at its other end.
fn around(graph: &Graph, item: usize, mut each: impl FnMut(usize, usize)) {
    let n = graph.left();
    match item < n {
        true => graph.of_left(item).for_each(|e| each(e, n + graph.ends(e).1)),
        false => graph.of_right(item - n).iter().for_each(|&e| each(e as usize, graph.ends(e as usize).0)),
    }
}

impl Work {
    /// Orders the items; whether the graph is a forest with nulls.
    fn lay_out(&mut self, graph: &Graph) -> bool {
        let items = graph.left() + graph.right();
        if !graph.null() || graph.edges() >= items.max(1) {
            return false;
        }
        self.order.clear();
        self.by.clear();
        self.by.resize(items, NONE);
        self.met.clear();
        self.met.resize(items, false);
        for first in 0..items {
            if std::mem::replace(&mut self.met[first], true) {
                continue;
            }
            self.open.push(first as u32);
            while let Some(item) = self.open.pop() {
                self.order.push(item);
                let (mut back, own) = (false, self.by[item as usize]);
                around(graph, item as usize, |e, other| {
                    if e as u32 != own {
                        back |= std::mem::replace(&mut self.met[other], true);
                        self.by[other] = e as u32;
                        self.open.push(other as u32);
                    }
                });
                if back {
                    self.open.clear();
                    return false;
                }
            }
        }
        true
    }

    fn sweep(&mut self, graph: &Graph, s: &[f64], marginals: &mut [f64]) -> f64 {
        let (edges, items) = (graph.edges(), self.by.len());
        self.up.clear();
        self.up.resize(items, 0.0);
        self.down.clear();
        self.down.resize(items, 0.0);
        let mut log_z = 0.0;
        for &item in self.order.iter().rev() {
            let item = item as usize;
            self.terms.clear();
            self.terms.push(s[edges + item]);
            around(graph, item, |e, other| {
                if e as u32 != self.by[item] {
                    self.terms.push(s[e] + self.up[other]);
                }
            });
            let sum = log_add(&self.terms);
            log_z += sum;
            self.up[item] = -sum;
        }
        for &item in &self.order {
            let (item, own) = (item as usize, self.by[item as usize]);
            self.terms.clear();
            self.terms.push(s[edges + item]);
            around(graph, item, |e, other| {
                self.terms.push(s[e] + if e as u32 == own { self.down[item] } else { self.up[other] });
            });
            let top = (0..self.terms.len()).fold(0, |a, b| if self.terms[b] > self.terms[a] { b } else { a });
            let largest = self.terms[top];
            self.rest.clear();
            self.rest.resize(self.terms.len() + 1, 0.0);
            for k in (0..self.terms.len()).rev() {
                self.rest[k] = self.rest[k + 1] + (self.terms[k] - largest).exp();
            }
            let total = self.rest[0];
            marginals[edges + item] = (self.terms[0] - largest).exp() / total;
            let (mut k, mut before) = (0, (self.terms[0] - largest).exp());
            around(graph, item, |e, other| {
                k += 1;
                let term = (self.terms[k] - largest).exp();
                if e as u32 != own {
                    marginals[e] = term / total;
                    self.down[other] = match k == top {
                        false => -(largest + (before + self.rest[k + 1]).ln()),
                        true => {
                            let others = [&self.terms[..k], &self.terms[k + 1..]];
                            let second =
                                others.map(|part| if part.is_empty() { f64::NEG_INFINITY } else { log_add(part) });
                            -log_add(&second)
                        }
                    };
                }
                before += term;
            });
        }
        log_z
    }
}
