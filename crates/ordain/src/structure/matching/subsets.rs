//! The exact law of matchings by subsets of columns: log-partition function, edge marginals, samples.

use crate::error::{Error, Interrupt, Result};
use crate::random::Random;

/// The largest number of rows that is taken without being asked for.
pub const LARGEST: usize = 22;

/// The largest number of rows at all: 0.54 GB and about a second.
pub const LARGEST_ON_REQUEST: usize = 26;

/// Up to here the scalar recursion is the faster one, and its table fits on the stack.
const SMALL: usize = 6;

/// The values of the 8 subsets that differ in the lowest 3 columns.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Lanes([f64; 8]);

/// The sizes of the subsets in the 8 lanes, which are ∅, 2, 0, 1, 02, 12, 01, 012: so pairs of neighbours do alike.
const SIZES: [usize; 8] = [0, 1, 1, 1, 2, 2, 2, 3];

/// The lane of each subset of the lowest 3 columns.
const PLACES: [usize; 8] = [0, 2, 3, 6, 1, 4, 5, 7];

/// How the recursion goes over its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One subset after the other: the plain twin, and the faster one up to 6 rows.
    Scalar,
    /// Eight subsets at once.
    Lanes,
}

/// Groups of 8 subsets between two questions whether to stop.
const ASK: usize = 1 << 14;

/// Buffers of [`log_sum`], kept from call to call: nothing is allocated once they have the size.
#[derive(Default)]
pub struct Work {
    limit: Option<usize>,
    /// `exp(w − u − v)`, row-major.
    weights: Vec<f64>,
    /// By subset of columns: first F, then G; in lanes, and for the plain twin.
    table: Vec<Lanes>,
    flat: Vec<f64>,
    /// The weights that add a high column (from 3 on), by number of high columns there, column and lane; and Σ F·G.
    outer: Vec<Lanes>,
    outer_sums: Vec<Lanes>,
    /// The weights that add a low column, by number of high columns there, number of low ones, and column; and Σ F·G.
    inner: Vec<[[f64; 3]; 3]>,
    inner_sums: Vec<[[f64; 3]; 3]>,
    stop: Interrupt,
}

impl Work {
    /// Work that takes up to `limit` rows, where that is more or less than [`LARGEST`]; never above
    /// [`LARGEST_ON_REQUEST`]. Memory is 8·2^M bytes and stays.
    pub fn up_to(limit: usize) -> Self {
        Self { limit: Some(limit.min(LARGEST_ON_REQUEST)), ..Self::default() }
    }

    /// The same, but it asks whether to stop.
    pub fn stopped_by(self, stop: Interrupt) -> Self {
        Self { stop, ..self }
    }

    fn check(&self, w: &[f64], m: usize) -> Result<()> {
        let limit = self.limit.unwrap_or(LARGEST);
        if m > limit {
            let way = if m <= LARGEST_ON_REQUEST {
                format!("; up to {LARGEST_ON_REQUEST} are taken on request, in {} MB", (8usize << m) / 1_000_000)
            } else {
                String::new()
            };
            return Err(Error::Data {
                expected: format!("at most {limit} rows for exact inference over matchings{way}"),
                found: format!("{m} rows"),
            });
        }
        assert_eq!(w.len(), m * m, "log-weights of {m} rows and columns");
        match w.iter().position(|&x| !(x.abs() <= 1e300 || x == f64::NEG_INFINITY)) {
            Some(at) => Err(Error::Data {
                expected: "log-weights within ±1e300, or -inf for a forbidden edge".into(),
                found: format!("{} in row {}, column {} (counted from 0)", w[at], at / m, at % m),
            }),
            None => Ok(()),
        }
    }
}

/// The log-partition function `log Z` of all perfect matchings of `m` rows and columns, and the edge marginals.
///
/// ```text
/// Z = per(exp w) = Σ_y Π_i exp w[i, y(i)],   P[i, j] = p(y(i) = j) = ∂ log Z / ∂ w[i, j]
/// ```
///
/// `w` and `marginals` are row-major `m`×`m`; −∞ forbids an edge. \[EFM\] Section 4.2 knows no way but enumeration;
/// this one goes over subsets S of columns, with `B = exp(w − u − v)` for optimal duals `u`, `v` of the assignment:
///
/// ```text
/// F[S] = Σ_{j∈S} B[|S|−1, j] F[S∖j],   G[S] = Σ_{j∉S} B[|S|, j] G[S∪j]
/// P[i, j] = B[i, j] / F[all] · Σ_{|S|=i, j∉S} F[S] G[S∪j]
/// ```
///
/// The duals make `1 ≤ F[all] ≤ m!`, so that neither large nor small weights leave the range of `f64`, and all terms
/// are positive, so that nothing cancels, as it does in the formulas of Ryser and Glynn. G takes the place of F from
/// above: O(m 2^m) time, 8·2^m bytes. Few rows need no buffers, and no duals unless the weights lie far apart.
///
/// [`Error::Data`] for more than [`LARGEST`] rows (see [`Work::up_to`]), NaN and +∞; [`Error::Infeasible`] where no
/// matching is allowed; [`Error::NotFinite`] where weights are so large that their differences are lost.
///
/// ```
/// use ordain::structure::matching::subsets::{Work, log_sum};
/// let (w, mut p) = ([3f64.ln(), 0.0, 0.0, 0.0], [0.0; 4]);
/// let log_z = log_sum(&w, 2, &mut Work::default(), &mut p)?; // matchings of weight 3 and 1
/// assert!((log_z - 4f64.ln()).abs() < 1e-15);
/// assert!((p[0] - 0.75).abs() < 1e-15 && (p[1] - 0.25).abs() < 1e-15);
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn log_sum(w: &[f64], m: usize, work: &mut Work, marginals: &mut [f64]) -> Result<f64> {
    log_sum_by(if m <= SMALL { Layout::Scalar } else { Layout::Lanes }, w, m, work, marginals)
}

/// [`log_sum`] with a layout of one's own choice; fewer than 3 rows are always scalar.
pub fn log_sum_by(layout: Layout, w: &[f64], m: usize, work: &mut Work, marginals: &mut [f64]) -> Result<f64> {
    work.check(w, m)?;
    assert_eq!(marginals.len(), m * m, "marginals of {m} rows and columns");
    if m <= SMALL && layout == Layout::Scalar {
        let (mut b, mut table) = ([0.0; SMALL * SMALL], [0.0; 1 << SMALL]);
        let (b, table) = (&mut b[..m * m], &mut table[..1 << m]);
        let mut shift = shifted_by_maxima(w, m, b);
        forward_scalar(b, m, table);
        let enough = table[table.len() - 1] > ENOUGH;
        if !enough {
            shift = shifted(w, m, b)?;
            forward_scalar(b, m, table);
        }
        return finish(shift, backward_scalar(b, m, table, marginals));
    }
    work.weights.resize(m * m, 0.0);
    let shift = shifted(w, m, &mut work.weights)?;
    let z = if m < 3 || layout == Layout::Scalar {
        grow(&mut work.flat, 1 << m);
        let table = &mut work.flat[..1 << m];
        forward_scalar(&work.weights, m, table);
        backward_scalar(&work.weights, m, table, marginals)
    } else {
        work.spread(m);
        work.forward(m - 3)?;
        work.backward(m, marginals)?
    };
    finish(shift, z)
}

fn finish(shift: f64, z: f64) -> Result<f64> {
    let log_z = shift + z.ln();
    if log_z.is_finite() { Ok(log_z) } else { Err(Error::NotFinite { what: "the log-partition function" }) }
}

/// At least `len` values, the old ones given back first so that both are never held at once.
fn grow<T: Clone + Default>(values: &mut Vec<T>, len: usize) {
    if values.len() < len {
        *values = vec![];
        *values = vec![T::default(); len];
    }
}

/// F of all subsets, one by one.
fn forward_scalar(b: &[f64], m: usize, table: &mut [f64]) {
    table[0] = 1.0;
    for s in 1..table.len() {
        let row = &b[(s.count_ones() as usize - 1) * m..][..m];
        let (mut sum, mut rest) = (0.0, s);
        while rest != 0 {
            let j = rest.trailing_zeros() as usize;
            sum += row[j] * table[s ^ (1 << j)];
            rest &= rest - 1;
        }
        table[s] = sum;
    }
}

/// G in the place of F, and the marginals. Returns the sum of all.
fn backward_scalar(b: &[f64], m: usize, table: &mut [f64], marginals: &mut [f64]) -> f64 {
    let all = table.len() - 1;
    let z = table[all];
    table[all] = 1.0;
    marginals.fill(0.0);
    for s in (0..all).rev() {
        let i = s.count_ones() as usize * m;
        let (row, sums) = (&b[i..i + m], &mut marginals[i..i + m]);
        let (mut sum, mut rest, below) = (0.0, all ^ s, table[s]);
        while rest != 0 {
            let j = rest.trailing_zeros() as usize;
            let above = table[s | (1 << j)];
            sum += row[j] * above;
            sums[j] += below * above;
            rest &= rest - 1;
        }
        table[s] = sum;
    }
    marginals.iter_mut().zip(b).for_each(|(p, b)| *p *= b / z);
    z
}

impl Work {
    /// Lays the weights out so that a column is added to 8 subsets at once with 8 neighbouring weights.
    fn spread(&mut self, m: usize) {
        let (high, b) = (m - 3, &self.weights);
        grow(&mut self.table, 1 << high);
        self.outer.clear();
        for p in 0..high {
            self.outer.extend((3..m).map(|j| Lanes(SIZES.map(|low| b[(p + low) * m + j]))));
        }
        self.inner.clear();
        self.inner.extend((0..=high).map(|p| [0, 1, 2].map(|low| [0, 1, 2].map(|j| b[(p + low) * m + j]))));
    }

    /// F of all subsets, 8 at a time.
    fn forward(&mut self, high: usize) -> Result<()> {
        let (table, outer) = (&mut self.table[..1 << high], &self.outer);
        for s in 0..table.len() {
            if s % ASK == 0 {
                self.stop.check()?;
            }
            let p = s.count_ones() as usize;
            let mut f = Lanes::default();
            if p == 0 {
                f.0[0] = 1.0;
            } else {
                from_below(table, s, &outer[(p - 1) * high..][..high], &mut f);
            }
            // the low columns: x, y, z add them to none, one and two
            let f = &mut f.0;
            let [x, y, z] = &self.inner[p];
            f[1] += x[2] * f[0];
            f[2] += x[0] * f[0];
            f[3] += x[1] * f[0];
            f[4] += y[0] * f[1] + y[2] * f[2];
            f[5] += y[1] * f[1] + y[2] * f[3];
            f[6] += y[1] * f[2] + y[0] * f[3];
            f[7] += z[1] * f[4] + z[0] * f[5] + z[2] * f[6];
            table[s].0 = *f;
        }
        Ok(())
    }

    /// G in the place of F, 8 at a time from above, and the marginals. Returns the sum of all.
    fn backward(&mut self, m: usize, marginals: &mut [f64]) -> Result<f64> {
        let high = m - 3;
        let table = &mut self.table[..1 << high];
        let all = table.len() - 1;
        let z_all = table[all].0[7];
        self.outer_sums.clear();
        self.outer_sums.resize(high * high, Lanes::default());
        self.inner_sums.clear();
        self.inner_sums.resize(high + 1, [[0.0; 3]; 3]);
        for s in (0..=all).rev() {
            if s % ASK == 0 {
                self.stop.check()?;
            }
            let p = s.count_ones() as usize;
            let mut g = Lanes::default();
            if s == all {
                g.0[7] = 1.0;
            } else {
                let of = p * high..(p + 1) * high;
                from_above(table, s, &self.outer[of.clone()], &mut self.outer_sums[of], &mut g);
            }
            let (f, g) = (&table[s].0, &mut g.0);
            let [x, y, z] = &self.inner[p];
            g[6] += z[2] * g[7];
            g[5] += z[0] * g[7];
            g[4] += z[1] * g[7];
            g[3] += y[2] * g[5] + y[0] * g[6];
            g[2] += y[2] * g[4] + y[1] * g[6];
            g[1] += y[0] * g[4] + y[1] * g[5];
            g[0] += x[2] * g[1] + x[0] * g[2] + x[1] * g[3];
            let [x, y, z] = &mut self.inner_sums[p];
            x[0] += f[0] * g[2];
            x[1] += f[0] * g[3];
            x[2] += f[0] * g[1];
            y[0] += f[1] * g[4] + f[3] * g[6];
            y[1] += f[1] * g[5] + f[2] * g[6];
            y[2] += f[2] * g[4] + f[3] * g[5];
            z[0] += f[5] * g[7];
            z[1] += f[4] * g[7];
            z[2] += f[6] * g[7];
            table[s].0 = *g;
        }
        marginals.fill(0.0);
        for p in 0..=high {
            for low in 0..3 {
                for j in 0..3 {
                    marginals[(p + low) * m + j] += self.inner_sums[p][low][j];
                }
            }
        }
        for (at, Lanes(sum)) in self.outer_sums.iter().enumerate() {
            let (p, j) = (at / high, at % high + 3);
            for (sum, low) in sum.iter().zip(SIZES) {
                marginals[(p + low) * m + j] += sum;
            }
        }
        marginals.iter_mut().zip(&self.weights).for_each(|(p, b)| *p *= b / z_all);
        Ok(z_all)
    }
}

/// `f += Σ_{j∈s} row[j] table[s∖j]` in every lane. O(m).
///
/// A function of its own, on aligned lanes: written into the caller, it is paired up by the compiler in slower ways.
#[inline(always)]
fn from_below(table: &[Lanes], s: usize, row: &[Lanes], f: &mut Lanes) {
    let (mut sum, mut rest) = (f.0, s);
    while rest != 0 {
        let j = rest.trailing_zeros() as usize;
        let (below, by) = (&table[s ^ (1 << j)].0, &row[j].0);
        for l in 0..8 {
            sum[l] += by[l] * below[l];
        }
        rest &= rest - 1;
    }
    f.0 = sum;
}

/// `g += Σ_{j∉s} row[j] table[s∪j]` and `sums[j] += table[s] table[s∪j]` in every lane. O(m).
#[inline(always)]
fn from_above(table: &[Lanes], s: usize, row: &[Lanes], sums: &mut [Lanes], g: &mut Lanes) {
    let (f, mut sum, mut rest) = (table[s].0, g.0, (table.len() - 1) ^ s);
    while rest != 0 {
        let j = rest.trailing_zeros() as usize;
        let (above, by, product) = (&table[s | (1 << j)].0, &row[j].0, &mut sums[j].0);
        for l in 0..8 {
            sum[l] += by[l] * above[l];
            product[l] += f[l] * above[l];
        }
        rest &= rest - 1;
    }
    g.0 = sum;
}

/// Independent exact samples of matchings.
///
/// Holds F of [`log_sum`]. A draw goes from the last row up: row i takes column j of those left, S, with probability
/// `B[i, j] F[S∖j] / F[S]`. O(m 2^m) once, O(m²) per draw.
///
/// ```
/// use ordain::{random::Random, structure::matching::subsets::{Sampler, Work}};
/// let none = f64::NEG_INFINITY;
/// let sampler = Sampler::new(&[none, 0.0, 0.0, none], 2, Work::default())?;
/// let mut columns = [0; 2];
/// sampler.draw(&mut Random::new(1), &mut columns);
/// assert_eq!(columns, [1, 0]); // all that is allowed
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct Sampler {
    work: Work,
    m: usize,
    log_sum: f64,
}

impl Sampler {
    /// The sampler of log-weights `w`, row-major `m`×`m`; it keeps the buffers. Fails where [`log_sum`] does.
    pub fn new(w: &[f64], m: usize, mut work: Work) -> Result<Self> {
        work.check(w, m)?;
        work.weights.resize(m * m, 0.0);
        let shift = shifted(w, m, &mut work.weights)?;
        if m < 3 {
            grow(&mut work.table, 1);
            let mut few = [0.0; 4];
            forward_scalar(&work.weights, m, &mut few[..1 << m]);
            (0..1 << m).for_each(|s| work.table[0].0[PLACES[s]] = few[s]);
        } else {
            work.spread(m);
            work.forward(m - 3)?;
        }
        let sampler = Self { work, m, log_sum: 0.0 };
        let log_sum = finish(shift, sampler.forward((1 << m) - 1))?;
        Ok(Self { log_sum, ..sampler })
    }

    fn forward(&self, s: usize) -> f64 {
        self.work.table[s >> 3].0[PLACES[s & 7]]
    }

    /// The log-partition function.
    pub fn log_sum(&self) -> f64 {
        self.log_sum
    }

    /// The buffers, for other use.
    pub fn into_work(self) -> Work {
        self.work
    }

    /// Draws a matching: `columns[i]` becomes the column of row `i`.
    pub fn draw(&self, random: &mut Random, columns: &mut [u32]) {
        assert_eq!(columns.len(), self.m, "columns of {} rows", self.m);
        let mut s = (1 << self.m) - 1;
        for (i, column) in columns.iter_mut().enumerate().rev() {
            let row = &self.work.weights[i * self.m..][..self.m];
            let mut left = random.uniform() * self.forward(s);
            let mut rest: usize = s;
            while rest != 0 {
                let j = rest.trailing_zeros();
                let share = row[j as usize] * self.forward(s ^ (1 << j));
                // what cannot be is never taken, not even where rounding leaves a little at the end
                if share > 0.0 {
                    *column = j;
                    if left < share {
                        break;
                    }
                    left -= share;
                }
                rest &= rest - 1;
            }
            s ^= 1 << *column;
        }
    }
}

/// Writes `exp(w − u − v)`, which is at most 1 and is 1 on a best matching; returns `Σu + Σv`.
fn shifted(w: &[f64], m: usize, b: &mut [f64]) -> Result<f64> {
    let mut duals = [[0.0; LARGEST_ON_REQUEST]; 2];
    let [u, v] = &mut duals;
    assign(w, m, u, v)?;
    for i in 0..m {
        for j in 0..m {
            b[i * m + j] = (w[i * m + j] - u[i] - v[j]).exp();
        }
    }
    Ok(u[..m].iter().zip(&v[..m]).map(|(u, v)| u + v).sum())
}

/// A sum above this is exact to rounding after any shift: what underflows is below 1e-200 of it.
const ENOUGH: f64 = 1e-100;

/// [`shifted`] by the maxima of rows and then of columns: cheaper, but the sum of all may become tiny, or NaN.
fn shifted_by_maxima(w: &[f64], m: usize, b: &mut [f64]) -> f64 {
    let (mut v, mut shift) = ([f64::NEG_INFINITY; SMALL], 0.0);
    let step = m.max(1);
    for (b, w) in b.chunks_exact_mut(step).zip(w.chunks_exact(step)) {
        let u = w.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        shift += u;
        for ((b, w), v) in b.iter_mut().zip(w).zip(&mut v) {
            *b = w - u;
            *v = v.max(*b);
        }
    }
    for b in b.chunks_exact_mut(step) {
        b.iter_mut().zip(&v).for_each(|(b, v)| *b = (*b - v).exp());
    }
    shift + v[..m].iter().sum::<f64>()
}

/// Optimal duals of the assignment that maximises `Σ w`: `u_i + v_j ≥ w_ij`, with equality on a best matching.
///
/// Shortest augmenting paths, one row after the other: O(m³).
fn assign(w: &[f64], m: usize, u: &mut [f64], v: &mut [f64]) -> Result<()> {
    const NONE: usize = LARGEST_ON_REQUEST;
    let mut row_of = [NONE; LARGEST_ON_REQUEST];
    for start in 0..m {
        // slack of the best known path to each column, and the column before it on that path
        let mut slack = [f64::INFINITY; LARGEST_ON_REQUEST];
        let mut before = [NONE; LARGEST_ON_REQUEST];
        let mut seen = [false; LARGEST_ON_REQUEST];
        let (mut i, mut last) = (start, NONE);
        loop {
            let (mut best, mut next) = (f64::INFINITY, NONE);
            for j in 0..m {
                if seen[j] {
                    continue;
                }
                let reduced = u[i] + v[j] - w[i * m + j];
                if reduced < slack[j] {
                    (slack[j], before[j]) = (reduced, last);
                }
                if slack[j] < best {
                    (best, next) = (slack[j], j);
                }
            }
            if next == NONE {
                return Err(Error::Infeasible { side: "row", index: start });
            }
            u[start] -= best;
            for j in 0..m {
                if seen[j] {
                    u[row_of[j]] -= best;
                    v[j] += best;
                } else {
                    slack[j] -= best;
                }
            }
            seen[next] = true;
            last = next;
            if row_of[next] == NONE {
                break;
            }
            i = row_of[next];
        }
        while before[last] != NONE {
            row_of[last] = row_of[before[last]];
            last = before[last];
        }
        row_of[last] = start;
    }
    Ok(())
}
