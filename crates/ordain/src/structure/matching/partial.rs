//! The exact law of matchings of any graph, by subsets of the lesser side: unmatched items, rectangles, absent edges.

use super::frame::{self, Frame};
use super::graph::Graph;
use super::places::{step, step_back};
use super::subsets;
use crate::error::{Error, Interrupt, Result};

/// The most items of the lesser side that are taken without being asked for, where no item may stay at a price.
pub const LARGEST: usize = 22;

/// The same where items may stay unmatched at a price.
pub const LARGEST_NULL: usize = 18;

/// The most items of the lesser side at all.
pub const LARGEST_ON_REQUEST: usize = 26;

/// Up to this many items too many on the greater side, a square problem is the faster one.
const SQUARED: usize = 3;

/// Above this many numbers the forward table is kept for some rows only, and made again block by block.
const TABLE: usize = 1 << 22;

/// Buffers of [`log_sum`], kept from call to call: nothing is allocated once they have the size.
#[derive(Default)]
pub struct Work {
    limit: Option<usize>,
    on_request: bool,
    frame: Frame,
    square: Option<subsets::Work>,
    /// Weights and marginals of the square problem, or of all rows and columns.
    weights: Vec<f64>,
    sums: Vec<f64>,
    /// Forward states of one block of rows, and at the start of each block.
    inside: Vec<f64>,
    starts: Vec<f64>,
    back: Vec<f64>,
    spare: Vec<f64>,
    /// The marginals of rows and columns that stay.
    stay: Vec<f64>,
    out: Vec<f64>,
    stop: Interrupt,
}

impl Work {
    /// Work that takes what can be had in about a second and half a gigabyte: squares without nulls, or nearly squares,
    /// of [`LARGEST_ON_REQUEST`] items, and whatever else of [`LARGEST`] on the lesser side.
    pub fn on_request() -> Self {
        Self { on_request: true, ..Self::default() }
    }

    /// Work that takes up to `limit` items of the lesser side, never above [`LARGEST_ON_REQUEST`]. Memory stays.
    pub fn up_to(limit: usize) -> Self {
        Self { limit: Some(limit.min(LARGEST_ON_REQUEST)), ..Self::default() }
    }

    /// The same, but it asks whether to stop.
    pub fn stopped_by(self, stop: Interrupt) -> Self {
        Self { stop, ..self }
    }
}

/// The log-partition function of all matchings of a graph, and the marginals of its edges and of the items that stay.
///
/// ```text
/// Z = Σ_y exp score(y),   P_e = p(e in y) = ∂ log Z / ∂ s_e,   P_null = p(the item is not in y)
/// ```
///
/// with [`Graph::score`]. Rows i are the greater side, columns j the lesser one, `A` the weights of edges, `u` and `v`
/// those of rows and columns that stay (0 where an item has to be matched, 1 where it may stay for nothing):
///
/// ```text
/// F_i[S] = u_i F_{i−1}[S] + Σ_{j∈S} A_ij F_{i−1}[S∖j],   G_{i−1}[S] = u_i G_i[S] + Σ_{j∉S} A_ij G_i[S∪j]
/// F_0[∅] = 1,   G_n[S] = Π_{j∉S} v_j,   Z = Σ_S F_n[S] G_n[S]
/// P_ij = A_ij / Z · Σ_{S∌j} F_{i−1}[S] G_i[S∪j]
/// ```
///
/// All weights are first divided by optimal duals of the best matching, which makes them at most 1 and Z at least 1; all
/// terms are positive, so that nothing cancels. O(n k 2^k) time for n rows and k columns, and about `2 √n 8·2^k` bytes;
/// after i rows only sets of at most i columns are looked at, and those from which all that must be matched still can
/// be. Where all of k columns have to be matched and there are at most 3 more rows, the square problem with columns of
/// ones goes to [`subsets::log_sum`], which needs O(n 2^n) and one table.
///
/// ```
/// use ordain::structure::matching::{graph::Graph, partial::{Work, log_sum}};
/// let graph = Graph::new(1, 2, &[(0, 0), (0, 1)], true)?;
/// let mut p = [0.0; 5]; // matched with the first, with the second; left, first and second item unmatched
/// let log_z = log_sum(&graph, &[2f64.ln(), 0.0, 0.0, 0.0, 0.0], &mut Work::default(), &mut p)?;
/// assert!((log_z - 4f64.ln()).abs() < 1e-15); // matchings of weight 2, 1 and, without an edge, 1
/// for (p, truth) in p.iter().zip([0.5, 0.25, 0.25, 0.5, 0.75]) {
///     assert!((p - truth).abs() < 1e-15);
/// }
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Data`] where the lesser side has more than [`LARGEST`] items, or [`LARGEST_NULL`] (see [`Work::on_request`]);
/// [`Error::NotFinite`] for a score that is not finite; [`Error::Infeasible`] where not all items can be matched that
/// have to be.
pub fn log_sum(graph: &Graph, s: &[f64], work: &mut Work, marginals: &mut [f64]) -> Result<f64> {
    frame::check(graph, s, marginals)?;
    let (n, k) = (graph.left().max(graph.right()), graph.lesser());
    let squared = !graph.null() && n - k <= SQUARED && n <= LARGEST_ON_REQUEST;
    let (limit, more) = match (work.limit, work.on_request) {
        (Some(limit), _) => (limit, String::new()),
        (None, true) if squared => (LARGEST_ON_REQUEST, String::new()),
        (None, true) => {
            let wide =
                format!(" ({LARGEST_ON_REQUEST} where both sides have about as many and none may stay unmatched)");
            (LARGEST, wide)
        }
        (None, false) => (if graph.null() { LARGEST_NULL } else { LARGEST }, String::new()),
    };
    if k > limit {
        return Err(Error::Data {
            expected: format!(
                "at most {limit} items on the lesser side for the exact sum over matchings{more}, or marginals=auto"
            ),
            found: format!("{k} items"),
        });
    }
    let log_z = if squared {
        work.square(graph, s, marginals)?
    } else {
        let shift = work.frame.set(graph, s)?;
        work.sweep(graph, marginals)?.ln() + shift
    };
    if log_z.is_finite() { Ok(log_z) } else { Err(Error::NotFinite { what: "the log-partition function" }) }
}

impl Work {
    /// Without null: every row and column is matched, some rows with columns that are there for nothing.
    fn square(&mut self, graph: &Graph, s: &[f64], marginals: &mut [f64]) -> Result<f64> {
        let (n, k, turned) = (graph.left().max(graph.right()), graph.lesser(), frame::turned(graph));
        let at = |e: usize| {
            let (i, j) = graph.ends(e);
            if turned { j * n + i } else { i * n + j }
        };
        self.weights.clear();
        self.weights.resize(n * n, f64::NEG_INFINITY);
        self.weights.chunks_exact_mut(n.max(1)).for_each(|row| row[k..].fill(0.0));
        (0..graph.edges()).for_each(|e| self.weights[at(e)] = s[e]);
        self.sums.resize(n * n, 0.0);
        let made = || subsets::Work::up_to(LARGEST_ON_REQUEST).stopped_by(self.stop.clone());
        let square = self.square.get_or_insert_with(made);
        let log_z = match subsets::log_sum(&self.weights, n, square, &mut self.sums) {
            // it names a row, and where there are more rows than columns, it is a column that has no match
            Err(Error::Infeasible { .. }) if n > k => return self.frame.set(graph, s),
            other => other?,
        };
        (0..graph.edges()).for_each(|e| marginals[e] = self.sums[at(e)]);
        Ok(log_z - (2..=n - k).map(|d| d as f64).product::<f64>().ln())
    }

    /// Forward and backward over the rows of the frame; the sum over all matchings.
    fn sweep(&mut self, graph: &Graph, marginals: &mut [f64]) -> Result<f64> {
        let (n, k) = (self.frame.rows, self.frame.cols);
        let states = 1usize << k;
        self.weights.clear();
        self.weights.resize(n * k, 0.0);
        for i in 0..n {
            for at in self.frame.of_row(i) {
                self.weights[i * k + self.frame.column[at] as usize] = self.frame.weight[at];
            }
        }
        let block = if n * states <= TABLE { n } else { (n as f64).sqrt().ceil() as usize }.max(1);
        let blocks = n.div_ceil(block).max(1);
        grow(&mut self.inside, (block + 1) * states);
        grow(&mut self.starts, blocks * states);
        grow(&mut self.back, states);
        grow(&mut self.spare, states);
        self.stay.clear();
        self.stay.resize(n, 0.0);
        self.out.clear();
        self.out.resize(k, 0.0);
        self.starts[..states].fill(0.0);
        self.starts[0] = 1.0;
        for b in 0..blocks - 1 {
            self.forward(b, block, graph.null())?;
            let end = block * states;
            self.starts[(b + 1) * states..(b + 2) * states].copy_from_slice(&self.inside[end..end + states]);
        }
        let mut z = 0.0;
        self.sums.resize(k, 0.0);
        for b in (0..blocks).rev() {
            let rows = self.forward(b, block, graph.null())?;
            if b + 1 == blocks {
                z = self.turn(rows.len());
            }
            for i in rows.clone().rev() {
                self.stop.check()?;
                let at = (i - rows.start) * states;
                let (weights, stay) = (&self.weights[i * k..(i + 1) * k], self.frame.stay[i]);
                let (forward, back) = (&self.inside[at..at + states], &self.back[..states]);
                let wanted = reached(i, n, k, graph.null());
                let (new, sums) = (&mut self.spare[..states], &mut self.sums[..k]);
                if stay > 0.0 {
                    self.stay[i] = stay / z * dot(forward, back);
                }
                if k <= 16 {
                    step_back::<13>(forward, back, stay, weights, wanted, new, sums);
                } else {
                    step_back::<{ LARGEST_ON_REQUEST - 3 }>(forward, back, stay, weights, wanted, new, sums);
                }
                for at in self.frame.of_row(i) {
                    let (j, e) = (self.frame.column[at] as usize, self.frame.edge[at] as usize);
                    marginals[e] = sums[j] * (self.frame.weight[at] / z);
                }
                std::mem::swap(&mut self.back, &mut self.spare);
            }
        }
        frame::write_nulls(graph, &self.stay, &self.out, marginals);
        Ok(z)
    }

    /// The forward states of one block, from its start; its rows.
    fn forward(&mut self, b: usize, block: usize, null: bool) -> Result<std::ops::Range<usize>> {
        let (n, k) = (self.frame.rows, self.frame.cols);
        let states = 1usize << k;
        let rows = b * block..((b + 1) * block).min(n);
        self.inside[..states].copy_from_slice(&self.starts[b * states..(b + 1) * states]);
        for (i, row) in rows.clone().enumerate() {
            self.stop.check()?;
            let (old, new) = self.inside[i * states..(i + 2) * states].split_at_mut(states);
            let weights = &self.weights[row * k..(row + 1) * k];
            step(old, self.frame.stay[row], weights, reached(row + 1, n, k, null), new);
        }
        Ok(rows)
    }

    /// From the last forward states, which are `at` in the block: the first backward ones, the sum over all matchings,
    /// and the marginals of columns that stay.
    fn turn(&mut self, at: usize) -> f64 {
        let (k, states) = (self.frame.cols, 1usize << self.frame.cols);
        // Π v_j over the columns that are not in the set, a column after the other
        self.back[0] = 1.0;
        for (j, v) in self.frame.out.iter().enumerate() {
            let (without, with) = self.back[..2 << j].split_at_mut(1 << j);
            with.copy_from_slice(without);
            without.iter_mut().for_each(|x| *x *= v);
        }
        let last = &self.inside[at * states..(at + 1) * states];
        let products = &mut self.spare[..states];
        products.iter_mut().zip(last.iter().zip(&self.back)).for_each(|(x, (f, g))| *x = f * g);
        // folded column by column, so that all of it costs two tables
        let mut len = states;
        for j in (0..k).rev() {
            len /= 2;
            let (without, with) = products[..2 * len].split_at_mut(len);
            self.out[j] = total(without);
            without.iter_mut().zip(with).for_each(|(a, b)| *a += *b);
        }
        let z = products[0];
        self.out.iter_mut().for_each(|p| *p /= z);
        z
    }
}

/// At least `len` values, the old ones given back first so that both are never held at once.
fn grow(values: &mut Vec<f64>, len: usize) {
    if values.len() < len {
        *values = vec![];
        *values = vec![0.0; len];
    }
}

/// `Σ a b`, in 8 sums.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

/// `Σ a`, in 8 sums.
fn total(a: &[f64]) -> f64 {
    let (a, rest) = a.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for a in a {
        for lane in 0..8 {
            sums[lane] += a[lane];
        }
    }
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

/// Which groups of 8 sets can stand after `i` of `n` rows: not more columns than rows so far, and without null at least
/// as many as those that the other rows leave over.
fn reached(i: usize, n: usize, k: usize, null: bool) -> impl Fn(usize) -> bool {
    let least = if null { 0 } else { k.saturating_sub(n - i) };
    move |group: usize| {
        let size = group.count_ones() as usize;
        size <= i && size + 3 >= least
    }
}
