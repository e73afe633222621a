//! Rows and columns balanced: the quick approximation of the law of matchings, on edge lists of any size.

use super::graph::Graph;
use super::support;
use crate::error::{Error, Interrupt, Result};

/// Scale factors leave this range by being written into the duals.
const FAR: f64 = 1e50;

/// Sweeps that are helped by sliding; where so many did not do, plain ones are sure to go on.
const SLIDES: usize = 200;

/// Settings and buffers of [`log_sum`], kept from call to call.
pub struct Work {
    /// How far a sum may be from 1.
    pub tolerance: f64,
    /// The most sweeps over all edges, those at high temperatures apart.
    pub limit: usize,
    pub(super) support: support::Work,
    /// `exp(s − α − β)` by edge, left item that stays and right item that stays; 0 where that is forbidden.
    pub(super) kernel: Vec<f64>,
    pub(super) left_stay: Vec<f64>,
    pub(super) right_stay: Vec<f64>,
    /// α and β.
    pub(super) left_dual: Vec<f64>,
    pub(super) right_dual: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    sums: Vec<f64>,
    tops: Vec<f64>,
    pub(super) stop: Interrupt,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            tolerance: 1e-9,
            limit: 5000,
            support: support::Work::default(),
            kernel: vec![],
            left_stay: vec![],
            right_stay: vec![],
            left_dual: vec![],
            right_dual: vec![],
            x: vec![],
            y: vec![],
            sums: vec![],
            tops: vec![],
            stop: Interrupt::default(),
        }
    }
}

/// What an approximation came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balanced {
    /// Its log-partition function.
    pub log_z: f64,
    /// Whether all sums are 1 within the tolerance.
    pub converged: bool,
    /// Sweeps over all edges.
    pub iterations: usize,
}

/// The balanced table of a graph: `marginals` P, and the value that they maximise as log Z.
///
/// ```text
/// max ⟨P, s⟩ − Σ P ln P − Σ a ln a − Σ b ln b − ν Σ P   with  Σ_j P_ij + a_i = 1,  Σ_i P_ij + b_j = 1
/// P_ij = exp(s_ij − α_i − β_j),   a_i = exp(s_i − α_i),   b_j = exp(s_j − β_j)
/// ```
///
/// `a` and `b` are the items that stay unmatched, where they may, and 0 elsewhere. With `null` ν = 1: a pair that is
/// matched is one event, not one on either side, and this is the limit of [`super::bethe`] for many small P; without,
/// Σ P is a constant, ν = 0, and a square without nulls has the plain entropy, which bounds the true log Z from above.
/// log Z is convex in `s`, nulls included, and P is its gradient.
///
/// Sinkhorn's sweeps (1967), with scale factors that are written into the duals before they overflow, from high
/// temperatures down where the scores lie far apart. O(edges) per sweep. Edges that no matching can have are 0. Weights
/// that are peaked around several matchings converge slowly: then `converged` is false at the limit, and the rows,
/// not the columns, add up to 1. With nulls [`super::bethe`] is much nearer to the truth; this one is too ready to leave items
/// unmatched, for it counts both ends of a pair that stays.
///
/// ```
/// use ordain::structure::matching::graph::Graph;
/// use ordain::structure::matching::sinkhorn::{Work, log_sum};
/// let graph = Graph::new(2, 2, &[(0, 0), (0, 1), (1, 0), (1, 1)], false)?;
/// let mut p = [0.0; 4];
/// let sum = log_sum(&graph, &[4f64.ln(), 0.0, 0.0, 0.0], &mut Work::default(), &mut p)?;
/// assert!(sum.converged && (p[0] - 2.0 / 3.0).abs() < 1e-9 && (p[1] - 1.0 / 3.0).abs() < 1e-9); // truth: 4/5, 1/5
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Infeasible`] where no matching is allowed, [`Error::NotFinite`] for a score that is no number.
pub fn log_sum(graph: &Graph, s: &[f64], work: &mut Work, marginals: &mut [f64]) -> Result<Balanced> {
    let (tolerance, limit) = (work.tolerance, work.limit);
    let (converged, iterations) = work.balance(graph, s, tolerance, limit)?;
    let (edges, nulls) = marginals.split_at_mut(graph.edges());
    edges.copy_from_slice(&work.kernel);
    if graph.null() {
        nulls[..graph.left()].copy_from_slice(&work.left_stay);
        nulls[graph.left()..].copy_from_slice(&work.right_stay);
    }
    let duals: f64 = work.left_dual.iter().chain(&work.right_dual).sum();
    let mass: f64 = work.kernel.iter().chain(&work.left_stay).chain(&work.right_stay).sum();
    let items = if graph.null() { graph.left() + graph.right() } else { graph.left().max(graph.right()) };
    let log_z = duals + (mass - items as f64);
    if !log_z.is_finite() {
        return Err(Error::NotFinite { what: "the log-partition function" });
    }
    Ok(Balanced { log_z, converged, iterations })
}

impl Work {
    /// The same, but it asks whether to stop.
    pub fn stopped_by(self, stop: Interrupt) -> Self {
        Self { stop, ..self }
    }

    /// Finds duals that balance the graph; afterwards the kernels are the balanced table. Converged, and sweeps.
    pub(super) fn balance(&mut self, graph: &Graph, s: &[f64], tolerance: f64, limit: usize) -> Result<(bool, usize)> {
        assert_eq!(s.len(), graph.table(), "a score for each edge and null");
        if !s.iter().all(|s| s.is_finite()) {
            return Err(Error::NotFinite { what: "a score" });
        }
        self.support.find(graph)?;
        let (n, m) = (graph.left(), graph.right());
        self.kernel.clear();
        self.kernel.resize(graph.edges(), 0.0);
        for (values, len) in [(&mut self.left_stay, n), (&mut self.right_stay, m), (&mut self.left_dual, n)] {
            values.clear();
            values.resize(len, 0.0);
        }
        self.right_dual.clear();
        self.right_dual.resize(m, 0.0);
        let mut temperature = self.spread(graph, s) / 30.0;
        let mut all = 0;
        while temperature > 2.0 {
            let (_, sweeps) = self.sweeps(graph, s, temperature, 1e-2, 40.min(limit))?;
            all += sweeps;
            temperature = if temperature > 8.0 { temperature / 4.0 } else { 1.0 };
        }
        let (converged, sweeps) = self.sweeps(graph, s, 1.0, tolerance, limit)?;
        Ok((converged, all + sweeps))
    }

    fn alive(&self, e: usize) -> bool {
        self.support.alive.is_empty() || self.support.alive[e]
    }

    /// The score of a left item that stays, −∞ where it cannot.
    fn left_stays(&self, graph: &Graph, s: &[f64], i: usize) -> f64 {
        let may = graph.left_may_stay() && (self.support.leaves.is_empty() || self.support.leaves[i]);
        if may { graph.left_null(s, i) } else { f64::NEG_INFINITY }
    }

    /// The same of a right item.
    fn right_stays(&self, graph: &Graph, s: &[f64], j: usize) -> f64 {
        let may = graph.right_may_stay() && (self.support.leaves.is_empty() || self.support.leaves[j]);
        if may { graph.right_null(s, j) } else { f64::NEG_INFINITY }
    }

    /// First duals, from the maxima of rows and then of columns; how far the scores lie apart then.
    fn spread(&mut self, graph: &Graph, s: &[f64]) -> f64 {
        for i in 0..graph.left() {
            let stay = self.left_stays(graph, s, i);
            self.left_dual[i] = graph.of_left(i).filter(|&e| self.alive(e)).map(|e| s[e]).fold(stay, f64::max);
        }
        for j in 0..graph.right() {
            let stay = self.right_stays(graph, s, j);
            let edges = graph.of_right(j).iter().map(|&e| e as usize).filter(|&e| self.alive(e));
            self.right_dual[j] = edges.map(|e| s[e] - self.left_dual[graph.ends(e).0]).fold(stay, f64::max);
        }
        let mut least = 0.0f64;
        for e in (0..graph.edges()).filter(|&e| self.alive(e)) {
            let (i, j) = graph.ends(e);
            least = least.min(s[e] - self.left_dual[i] - self.right_dual[j]);
        }
        -least
    }

    /// Sweeps at one temperature. Afterwards the kernels are balanced, and the scale factors part of the duals.
    fn sweeps(&mut self, graph: &Graph, s: &[f64], t: f64, tolerance: f64, limit: usize) -> Result<(bool, usize)> {
        let (n, m) = (graph.left(), graph.right());
        self.x.clear();
        self.x.resize(n, 1.0);
        self.y.clear();
        self.y.resize(m, 1.0);
        self.tops.resize(n.max(m), 0.0);
        self.left_in_logs(graph, s, t);
        let complete = graph.is_complete();
        let (mut converged, mut done) = (false, 0);
        while done < limit {
            self.stop.check()?;
            done += 1;
            self.sums.clear();
            self.sums.extend_from_slice(&self.right_stay);
            for i in 0..n {
                let (of, x) = (graph.of_left(i), self.x[i]);
                let row = &self.kernel[of.clone()];
                if complete {
                    self.sums.iter_mut().zip(row).for_each(|(sum, k)| *sum += x * k);
                } else {
                    row.iter().zip(of).for_each(|(k, e)| self.sums[graph.ends(e).1] += x * k);
                }
            }
            if self.sums.iter().any(|sum| !(1.0 / FAR..FAR).contains(sum)) {
                self.absorb(t);
                self.right_in_logs(graph, s, t);
            } else {
                self.y.iter_mut().zip(&self.sums).for_each(|(y, sum)| *y = 1.0 / sum);
            }
            let (mut off, mut far) = (0.0f64, false);
            for i in 0..n {
                let of = graph.of_left(i);
                let row = &self.kernel[of.clone()];
                let sum = self.left_stay[i]
                    + if complete {
                        dot(row, &self.y)
                    } else {
                        row.iter().zip(of).map(|(k, e)| k * self.y[graph.ends(e).1]).sum::<f64>()
                    };
                off = off.max((sum * self.x[i] - 1.0).abs());
                far |= !(1.0 / FAR..FAR).contains(&sum);
                self.tops[i] = 1.0 / sum;
            }
            if off <= tolerance {
                converged = true;
                break;
            }
            if far {
                self.absorb(t);
                self.left_in_logs(graph, s, t);
            } else {
                self.x.copy_from_slice(&self.tops[..n]);
                if done < limit.min(SLIDES) {
                    self.slide();
                }
            }
        }
        for i in 0..n {
            let x = self.x[i];
            self.left_stay[i] *= x;
            graph.of_left(i).for_each(|e| self.kernel[e] *= x * self.y[graph.ends(e).1]);
        }
        self.right_stay.iter_mut().zip(&self.y).for_each(|(stay, y)| *stay *= y);
        self.absorb(t);
        Ok((converged, done))
    }

    /// Moves a constant from all right duals to all left ones, as far as it serves: what changes no edge, but who stays.
    ///
    /// Sweeps alone are slow at that, with many items. The least of `(n − m) ln c + Σ a / c + c Σ b`.
    fn slide(&mut self) {
        let sum = |stay: &[f64], scale: &[f64]| stay.iter().zip(scale).map(|(a, b)| a * b).sum::<f64>();
        let (a, b) = (sum(&self.left_stay, &self.x), sum(&self.right_stay, &self.y));
        let more = self.right_stay.len() as f64 - self.left_stay.len() as f64;
        let root = (more * more + 4.0 * a * b).sqrt();
        // both forms of the root, each where nothing cancels
        let c = if more >= 0.0 { (more + root) / (2.0 * b) } else { 2.0 * a / (root - more) };
        if (1e-20..1e20).contains(&c) {
            self.x.iter_mut().for_each(|x| *x /= c);
            self.y.iter_mut().for_each(|y| *y *= c);
        }
    }

    /// Writes the scale factors into the duals.
    fn absorb(&mut self, t: f64) {
        for (dual, scale) in [(&mut self.left_dual, &mut self.x), (&mut self.right_dual, &mut self.y)] {
            dual.iter_mut().zip(scale.iter()).for_each(|(dual, scale)| *dual -= t * scale.ln());
            scale.fill(1.0);
        }
    }

    fn kernels(&mut self, graph: &Graph, s: &[f64], t: f64) {
        for i in 0..graph.left() {
            let dual = self.left_dual[i];
            for e in graph.of_left(i) {
                let weight = ((s[e] - dual - self.right_dual[graph.ends(e).1]) / t).exp();
                self.kernel[e] = if self.alive(e) { weight } else { 0.0 };
            }
            self.left_stay[i] = ((self.left_stays(graph, s, i) - dual) / t).exp();
        }
        for j in 0..graph.right() {
            self.right_stay[j] = ((self.right_stays(graph, s, j) - self.right_dual[j]) / t).exp();
        }
    }

    /// The duals of the left items, such that their rows add up to 1, whatever the scores.
    fn left_in_logs(&mut self, graph: &Graph, s: &[f64], t: f64) {
        for i in 0..graph.left() {
            let stay = self.left_stays(graph, s, i);
            let value = |e: usize| s[e] - self.right_dual[graph.ends(e).1];
            let alive = || graph.of_left(i).filter(|&e| self.alive(e));
            let top = alive().map(value).fold(stay, f64::max);
            let sum = ((stay - top) / t).exp() + alive().map(|e| ((value(e) - top) / t).exp()).sum::<f64>();
            self.left_dual[i] = top + t * sum.ln();
        }
        self.kernels(graph, s, t);
    }

    /// The same of the right items and columns.
    fn right_in_logs(&mut self, graph: &Graph, s: &[f64], t: f64) {
        let m = graph.right();
        self.sums.resize(m, 0.0);
        for j in 0..m {
            self.tops[j] = self.right_stays(graph, s, j);
        }
        for e in (0..graph.edges()).filter(|&e| self.support.alive.is_empty() || self.support.alive[e]) {
            let (i, j) = graph.ends(e);
            self.tops[j] = self.tops[j].max(s[e] - self.left_dual[i]);
        }
        for j in 0..m {
            let stay = self.right_stays(graph, s, j);
            self.sums[j] = ((stay - self.tops[j]) / t).exp();
        }
        for e in (0..graph.edges()).filter(|&e| self.support.alive.is_empty() || self.support.alive[e]) {
            let (i, j) = graph.ends(e);
            self.sums[j] += ((s[e] - self.left_dual[i] - self.tops[j]) / t).exp();
        }
        for j in 0..m {
            self.right_dual[j] = self.tops[j] + t * self.sums[j].ln();
        }
        self.kernels(graph, s, t);
    }
}

/// Σ a b, in 8 sums at once.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        (0..8).for_each(|l| sums[l] += a[l] * b[l]);
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}
