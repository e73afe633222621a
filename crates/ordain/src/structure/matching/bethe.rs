//! The Bethe approximation of the law of matchings, by belief propagation on edge lists.

use super::graph::Graph;
use super::sinkhorn::{self, Balanced};
use crate::error::{Error, Interrupt, Result};

/// Messages stay within this and its inverse, so that products of two are finite.
const FAR: f64 = 1e150;

/// The least weight of what is allowed.
const LEAST: f64 = 1e-290;

/// Sweeps before messages are damped.
const PATIENCE: usize = 60;

/// Settings and buffers of [`log_sum`], kept from call to call.
pub struct Work {
    /// How far the marginals of an item may be from what they are by the items on the other side, all together.
    pub tolerance: f64,
    /// The most sweeps over all edges.
    pub limit: usize,
    balance: sinkhorn::Work,
    x: Vec<f64>,
    y: Vec<f64>,
    columns: Vec<Column>,
    /// By left item: the marginal of staying.
    rows: Vec<f64>,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            tolerance: 1e-9,
            limit: 2000,
            balance: sinkhorn::Work::default(),
            x: vec![],
            y: vec![],
            columns: vec![],
            rows: vec![],
        }
    }
}

impl Work {
    /// The same, but it asks whether to stop.
    pub fn stopped_by(self, stop: Interrupt) -> Self {
        Self { balance: self.balance.stopped_by(stop), ..self }
    }
}

/// A sum of messages, the largest apart.
#[derive(Clone, Copy)]
struct Column {
    others: f64,
    top: f64,
    at: usize,
}

impl Column {
    fn new(stay: f64) -> Self {
        Self { others: stay, top: 0.0, at: usize::MAX }
    }

    fn add(&mut self, e: usize, x: f64) {
        if x > self.top {
            self.others += self.top;
            (self.top, self.at) = (x, e);
        } else {
            self.others += x;
        }
    }

    fn total(&self) -> f64 {
        self.others + self.top
    }

    /// The sum without one term: the largest is never subtracted, and all others are at most half of the sum.
    fn without(&self, e: usize, x: f64) -> f64 {
        if e == self.at { self.others } else { self.total() - x }
    }
}

/// The Bethe approximation of a graph: `marginals` P, and log Z of the Bethe free energy.
///
/// ```text
/// x_ij = A_ij / (u_i + Σ_{k≠j} A_ik y_ik),   y_ij = 1 / (v_j + Σ_{k≠i} x_kj),   P_ij = x_ij y_ij / (1 + x_ij y_ij)
/// log Z = Σ_i ln(u_i + Σ_j A_ij y_ij) + Σ_j ln(v_j + Σ_i x_ij) − Σ ln(1 + x_ij y_ij)
///       = ⟨P, s⟩ − Σ P ln P + Σ (1−P) ln(1−P) − Σ a ln a − Σ b ln b
/// ```
///
/// for weights `A = exp s` of edges and `u`, `v` of items that stay; `a` and `b` are their marginals. Exact where the graph has
/// no circles. Without nulls `log Z_B ≤ log Z ≤ log Z_B + n/2 ln 2` (Gurvits; Anari and Rezaei 2019) and log Z_B is
/// convex in `s` (Vontobel 2013); P is its gradient. With nulls the iteration converges and errors are small (the largest of a
/// table .01 to .05 with 7 items on a side); without, .002 to .07 for 18 items and random weights, but marginals of peaked
/// weights, and of very few items, may be far off: .3 for points that moved, and 2 by 2 gives 0 and 1.
///
/// Starts from the weights that [`sinkhorn`] balances, so that messages keep a range. Geometric damping by half after
/// 60 sweeps; `converged` is false where that did not help either. O(edges) per sweep.
///
/// ```
/// use ordain::structure::matching::bethe::{Work, log_sum};
/// use ordain::structure::matching::graph::Graph;
/// let graph = Graph::new(1, 2, &[(0, 0), (0, 1)], true)?; // a tree: 1 + 1 + 3 matchings by weight
/// let mut p = [0.0; 5];
/// let sum = log_sum(&graph, &[0.0, 3f64.ln(), 0.0, 0.0, 0.0], &mut Work::default(), &mut p)?;
/// assert!(sum.converged && (sum.log_z - 5f64.ln()).abs() < 1e-9 && (p[1] - 0.6).abs() < 1e-9);
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// Those of [`sinkhorn::log_sum`].
pub fn log_sum(graph: &Graph, s: &[f64], work: &mut Work, marginals: &mut [f64]) -> Result<Balanced> {
    let (balanced, _) = work.balance.balance(graph, s, 1e-2, 500)?;
    let (n, m) = (graph.left(), graph.right());
    let Work { tolerance, limit, balance, x, y, columns, rows } = work;
    rows.clear();
    rows.resize(n, 0.0);
    let (alive, a) = (&balance.support.alive, &mut balance.kernel);
    // what is allowed keeps a weight, however small: next to balanced weights that is nothing, next to others unknown
    let mut raised = false;
    let mut raise = |a: &mut f64| {
        raised |= *a < LEAST;
        *a = a.max(LEAST);
    };
    a.iter_mut().enumerate().filter(|(e, _)| alive.is_empty() || alive[*e]).for_each(|(_, a)| raise(a));
    let leaves = |k: usize| balance.support.leaves.is_empty() || balance.support.leaves[k];
    for (may, stay) in
        [(graph.left_may_stay(), &mut balance.left_stay), (graph.right_may_stay(), &mut balance.right_stay)]
    {
        stay.iter_mut().enumerate().filter(|(k, _)| may && leaves(*k)).for_each(|(_, stay)| raise(stay));
    }
    let (u, v) = (&balance.left_stay, &balance.right_stay);
    for values in [&mut *x, &mut *y] {
        values.clear();
        values.resize(graph.edges(), 1.0);
    }
    let (mut converged, mut iterations) = (false, 0);
    while iterations < *limit {
        balance.stop.check()?;
        iterations += 1;
        let damped = iterations > PATIENCE;
        columns.clear();
        columns.extend(v.iter().map(|&v| Column::new(v)));
        let mut off = 0.0f64;
        for i in 0..n {
            let of = graph.of_left(i);
            let mut row = Column::new(u[i]);
            of.clone().for_each(|e| row.add(e, a[e] * y[e]));
            let total = 1.0 / row.total();
            let mut apart = 0.0;
            for e in of {
                // a marginal as its column has it, and as its row has it
                let odds = x[e] * y[e];
                apart += (odds / (1.0 + odds) - a[e] * y[e] * total).abs();
                let mut new = if a[e] > 0.0 { a[e] / row.without(e, a[e] * y[e]) } else { 0.0 };
                if damped {
                    new = (x[e] * new.min(FAR)).sqrt();
                }
                x[e] = if a[e] > 0.0 { new.clamp(1.0 / FAR, FAR) } else { 0.0 };
                columns[graph.ends(e).1].add(e, x[e]);
            }
            off = off.max(apart);
            rows[i] = u[i] * total;
        }
        if graph.null() && iterations < *limit / 2 {
            let c = slide(rows, columns, v);
            x.iter_mut().for_each(|x| *x = (*x * c).min(FAR));
            columns.iter_mut().zip(v).for_each(|(column, v)| {
                column.others = v + (column.others - v).max(0.0) * c;
                column.top *= c;
            });
        }
        if iterations > 1 && off <= *tolerance {
            converged = true;
        }
        for (e, (x, y)) in x.iter().zip(y.iter_mut()).enumerate() {
            *y = (1.0 / columns[graph.ends(e).1].without(e, *x)).clamp(1.0 / FAR, FAR);
        }
        if converged {
            break;
        }
    }
    let mut log_z: f64 = balance.left_dual.iter().chain(&balance.right_dual).sum();
    let (edges, nulls) = marginals.split_at_mut(graph.edges());
    for (i, u) in u.iter().enumerate() {
        let total = u + graph.of_left(i).map(|e| a[e] * y[e]).sum::<f64>();
        log_z += total.ln();
        if graph.null() {
            nulls[i] = u / total;
        }
    }
    for (j, (column, v)) in columns.iter().zip(v).enumerate() {
        log_z += column.total().ln();
        if graph.null() {
            nulls[n + j] = v / column.total();
        }
    }
    if columns.len() < m {
        return Err(Error::Setting { name: "limit".into(), expected: "1 or more".into(), found: limit.to_string() });
    }
    for (p, (x, y)) in edges.iter_mut().zip(x.iter().zip(y)) {
        let odds = x * *y;
        log_z -= odds.ln_1p();
        *p = odds / (1.0 + odds);
    }
    if !log_z.is_finite() {
        return Err(Error::NotFinite { what: "the log-partition function" });
    }
    Ok(Balanced { log_z, converged: converged && (balanced || !raised), iterations })
}

/// By what all messages of rows are multiplied, so that rows and columns agree on how many are matched.
///
/// ```text
/// Σ_i (1 − a_i) = Σ_j (1 − b_j):  one step of Newton in ln c,  (Σ_j b_j − Σ_i a_i + n − m) / (Σ a (1−a) + Σ b (1−b))
/// ```
///
/// Sweeps alone are slow at that, with many items; where they have converged, c is 1.
fn slide(a: &[f64], columns: &[Column], v: &[f64]) -> f64 {
    let b = columns.iter().zip(v).map(|(column, v)| v / column.total());
    let (mut apart, mut slope) = (0.0, 0.0);
    for a in a {
        apart += 1.0 - a;
        slope += a * (1.0 - a);
    }
    for b in b {
        apart -= 1.0 - b;
        slope += b * (1.0 - b);
    }
    let noise = 1e-14 * (a.len() + v.len()) as f64;
    if apart.abs() > noise && slope > noise { (apart / slope).clamp(-1.0, 1.0).exp() } else { 1.0 }
}
