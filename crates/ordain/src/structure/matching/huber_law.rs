//! Exact samples of matchings by rejection (Huber and Law 2008), with the first columns drawn exactly if wanted (DeepAR).

use super::graph::Graph;
use super::samples::Samples;
use super::sinkhorn;
use crate::error::{Error, Interrupt, Result};
use crate::random::Random;
use std::f64::consts::E;

/// The most rows and columns, items that stay unmatched included: memory is 16 bytes per entry.
pub const LARGEST: usize = 4000;

/// The most columns that are drawn exactly: time and memory double with each.
pub const LARGEST_HEAD: usize = 16;

/// `h(r) = r + ½ ln r + e − 1` for `r ≥ 1` and `1 + (e − 1) r` below: \[EFM\] appendix A, from Huber and Law (2008).
///
/// ```
/// use ordain::structure::matching::huber_law::h;
/// assert!((h(1.0) - 1f64.exp()).abs() < 1e-15 && h(0.0) == 1.0);
/// ```
pub fn h(r: f64) -> f64 {
    if r >= 1.0 { r + 0.5 * r.ln() + E - 1.0 } else { 1.0 + (E - 1.0) * r }
}

/// The bound on the permanent of an `n`×`n` matrix, row-major, of entries within 0 and 1.
///
/// ```text
/// per A ≤ U(A) = Π_i h(r_i) / e,   r_i = Σ_j A_ij;      Σ_i A_ic U(A without row i and column c) ≤ U(A)
/// ```
///
/// The second property makes the sampler exact. It holds where a *column* c is fixed and the bound is by *row* sums; where a
/// row is fixed, as \[EFM\] appendix A reads, it does not. O(n²).
///
/// ```
/// use ordain::structure::matching::huber_law::bound;
/// assert!((bound(&[1.0, 0.0, 0.0, 1.0], 2) - 1.0).abs() < 1e-15); // tight for the identity
/// // the permanent of ones is 2
/// assert!(bound(&[1.0; 4], 2) > 2.0);
/// ```
pub fn bound(a: &[f64], n: usize) -> f64 {
    assert_eq!(a.len(), n * n, "entries of {n} rows and columns");
    (0..n).map(|i| h(a[i * n..(i + 1) * n].iter().sum()) / E).product()
}

/// How matchings are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Columns that are drawn without rejection (DeepAR), at most [`LARGEST_HEAD`]; 0 is Huber and Law's own sampler.
    pub head: usize,
    /// Trials after which the sampler gives up.
    pub cap: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { head: 0, cap: 10_000_000 }
    }
}

/// Buffers of [`draw`], kept from call to call.
#[derive(Default)]
pub struct Work {
    balance: sinkhorn::Work,
    edges: Vec<(u32, u32)>,
    /// By entry of the square: log-weight, and the edge of the graph that it stands for.
    logs: Vec<f64>,
    edge: Vec<u32>,
    /// Columns in the order in which they are fixed, and other orders on trial.
    order: Vec<u32>,
    trial: Vec<u32>,
    keys: Vec<f64>,
    /// By step and row: `A e / h(r')`, and `h(r') / h(r)`, so that a trial only multiplies.
    take: Vec<f64>,
    keep: Vec<f64>,
    /// By row and step: the entries, scaled to at most 1.
    scaled: Vec<f64>,
    tail: Vec<f64>,
    /// By row: h of its whole sum, and of that without the head.
    whole: Vec<f64>,
    after: Vec<f64>,
    /// By row and subset of the head columns: the sums of the exact head.
    sums: Vec<f64>,
    free: Vec<u32>,
    /// By step: the row.
    rows: Vec<u32>,
    matching: Vec<u32>,
}

/// What [`draw`] did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// Samples, fewer than asked for where the cap was reached.
    pub accepted: usize,
    /// Trials, accepted ones included.
    pub trials: usize,
    /// The logarithm of the bound on Z that the sampler works with: proved, not estimated.
    pub log_bound: f64,
    /// The estimate of the log-partition function; none from fewer than 2 samples.
    pub log_z: Option<f64>,
}

impl Drawn {
    /// Samples per trial.
    pub fn acceptance(&self) -> f64 {
        self.accepted as f64 / (self.trials as f64).max(1.0)
    }
}

/// Draws `count` independent matchings from the exact law, or as many as `cap` trials give.
///
/// ```text
/// column after column: row i with probability  A_ic U(A without i, c) / U(A),  and with what is left start again
/// ```
///
/// The weights are balanced by [`sinkhorn`] and rows divided by their maxima, which changes no probability and makes [`bound`]
/// tight. With `head` = d > 0, the bound is unrolled over d columns, and these are drawn without rejection (DeepAR: Harviainen,
/// Röyskö and Koivisto 2021); β is the factor of a row's bound on the other columns:
///
/// ```text
/// D_{i+1}[S] = D_i[S] β_i + Σ_{j∈S} A_ij D_i[S∖j],   U_d = D_n[all d columns] ≤ U
/// ```
///
/// Of three choices of head columns the one with the least U_d is taken. Rectangles are filled up by rows of ones. Nulls make
/// an (n+m) square `[[A, diag u], [1 vᵀ, 1]]` whose permanent is m! Z, with the lesser side as m.
///
/// Z is estimated from the trials until the K-th success by Huber's gamma Bernoulli scheme, `Z ≈ U (K−1)/R` with R a sum of
/// one standard exponential per trial: its relative error is known from K alone (about 1/√K). Acceptance is Z/U and falls
/// geometrically with size: for flat weights and some 30 items at most. O(N²) per trial at worst, O(N d 2^d) once; where
/// nothing but the head is left, all is exact and no trial fails.
///
/// ```
/// use ordain::random::Random;
/// use ordain::structure::matching::graph::Graph;
/// use ordain::structure::matching::huber_law::{Settings, Work, draw};
/// use ordain::structure::matching::samples::Samples;
/// let graph = Graph::new(2, 2, &[(0, 0), (0, 1), (1, 0), (1, 1)], false)?;
/// let (mut work, mut samples) = (Work::default(), Samples::default());
/// let s = [3f64.ln(), 0.0, 0.0, 0.0];
/// let drawn = draw(&graph, &s, 1000, &Settings::default(), &mut Random::new(1), &mut work, &mut samples)?;
/// let mut p = [0.0; 4];
/// samples.marginals(&graph, &mut p);
/// assert!(drawn.accepted == 1000 && (p[0] - 0.75).abs() < 0.05);
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Infeasible`] where no matching is allowed; [`Error::Data`] for more than [`LARGEST`] rows; [`Error::Setting`] for
/// too large a head.
pub fn draw(
    graph: &Graph,
    s: &[f64],
    count: usize,
    settings: &Settings,
    random: &mut Random,
    work: &mut Work,
    samples: &mut Samples,
) -> Result<Drawn> {
    if settings.head > LARGEST_HEAD {
        return Err(Error::Setting {
            name: "head".into(),
            expected: format!("at most {LARGEST_HEAD}"),
            found: settings.head.to_string(),
        });
    }
    samples.clear();
    let (n, log_bound) = work.prepare(graph, s, settings.head)?;
    let head = settings.head.min(n);
    let (mut trials, mut accepted, mut time) = (0, 0, 0.0);
    while accepted < count && trials < settings.cap {
        work.balance.stop.check()?;
        trials += 1;
        time -= (1.0 - random.uniform()).ln();
        if work.one(n, head, random) {
            accepted += 1;
            work.matching.clear();
            for (step, &row) in work.rows.iter().enumerate() {
                let e = work.edge[row as usize * n + work.order[step] as usize];
                if e != u32::MAX {
                    work.matching.push(e);
                }
            }
            samples.push(&work.matching, 0.0);
        }
    }
    let log_z = (accepted > 1).then(|| log_bound + ((accepted - 1) as f64 / time).ln());
    samples.log_z = log_z;
    Ok(Drawn { accepted, trials, log_bound, log_z })
}

impl Work {
    /// The same, but it asks whether to stop.
    pub fn stopped_by(self, stop: Interrupt) -> Self {
        Self { balance: self.balance.stopped_by(stop), ..self }
    }

    /// Lays out the square; its size, and how often it counts each matching, as a logarithm.
    fn square(&mut self, graph: &Graph, s: &[f64]) -> Result<(usize, f64)> {
        // the greater side is that of the rows, with nulls; the lesser one without
        let (left, right) = (graph.left(), graph.right());
        let n = if graph.null() { left + right } else { left.max(right) };
        if n > LARGEST {
            return Err(Error::Data {
                expected: format!("at most {LARGEST} rows for samples by rejection"),
                found: format!("{n} rows"),
            });
        }
        let turned = if graph.null() { left < right } else { left > right };
        let (rows, columns) = if turned { (right, left) } else { (left, right) };
        self.logs.clear();
        self.logs.resize(n * n, f64::NEG_INFINITY);
        self.edge.clear();
        self.edge.resize(n * n, u32::MAX);
        for (e, &s) in s[..graph.edges()].iter().enumerate() {
            let (i, j) = graph.ends(e);
            let at = if turned { j * n + i } else { i * n + j };
            (self.logs[at], self.edge[at]) = (s, e as u32);
        }
        if graph.null() {
            let row_null = |i| if turned { graph.right_null(s, i) } else { graph.left_null(s, i) };
            let column_null = |j| if turned { graph.left_null(s, j) } else { graph.right_null(s, j) };
            (0..rows).for_each(|i| self.logs[i * n + columns + i] = row_null(i));
            for i in rows..n {
                (0..columns).for_each(|j| self.logs[i * n + j] = column_null(j));
                self.logs[i * n + columns..(i + 1) * n].fill(0.0);
            }
        } else {
            self.logs[rows * n..].fill(0.0);
        }
        Ok((n, (1..=n - rows).map(|k| (k as f64).ln()).sum()))
    }

    /// Everything that all trials share; the size, and the logarithm of the bound on Z.
    fn prepare(&mut self, graph: &Graph, s: &[f64], head: usize) -> Result<(usize, f64)> {
        assert_eq!(s.len(), graph.table(), "a score for each edge and null");
        if !s.iter().all(|s| s.is_finite()) {
            return Err(Error::NotFinite { what: "a score" });
        }
        self.balance.support.find(graph)?;
        let (n, repeats) = self.square(graph, s)?;
        let head = head.min(n);
        self.edges.clear();
        let there = (0..n * n).filter(|&at| self.logs[at] > f64::NEG_INFINITY);
        self.edges.extend(there.map(|at| ((at / n) as u32, (at % n) as u32)));
        let square = Graph::new(n, n, &self.edges, false)?;
        self.logs.retain(|log| *log > f64::NEG_INFINITY);
        self.balance.balance(&square, &self.logs, 1e-4, 2000)?;
        let mut log_bound = self.balance.left_dual.iter().chain(&self.balance.right_dual).sum::<f64>() - repeats;
        self.keys.clear();
        self.keys.resize(n, 0.0);
        for row in 0..n {
            let top = square.of_left(row).map(|e| self.balance.kernel[e]).fold(0.0, f64::max);
            log_bound += top.ln();
            for e in square.of_left(row) {
                let column = square.ends(e).1;
                self.keys[column] = self.keys[column].max(self.balance.kernel[e]);
                self.balance.kernel[e] /= top;
            }
        }
        self.order.clear();
        self.order.extend(0..n as u32);
        if head > 0 && head < n {
            // the columns of the largest balanced entry, those of the least, or the first
            let (mut best, mut kept) = (f64::INFINITY, vec![]);
            for turn in 0..3 {
                self.order.sort_unstable();
                let by = |&a: &u32, &b: &u32| self.keys[b as usize].total_cmp(&self.keys[a as usize]).then(a.cmp(&b));
                match turn {
                    0 => {}
                    1 => self.order.sort_by(by),
                    _ => self.order.sort_by(|a, b| by(b, a)),
                }
                let share = self.tables(&square, n, head);
                if share < best {
                    best = share;
                    kept.clone_from(&self.order);
                }
            }
            self.order.clone_from(&kept);
        }
        let share = self.tables(&square, n, head);
        log_bound += share.ln() + self.whole.iter().map(|h| (h / E).ln()).sum::<f64>();
        if !log_bound.is_finite() {
            return Err(Error::NotFinite { what: "the bound on the sum over matchings" });
        }
        Ok((n, log_bound))
    }

    /// Tables by step and row, and of the head; U_d / U.
    fn tables(&mut self, square: &Graph, n: usize, head: usize) -> f64 {
        self.scaled.clear();
        self.scaled.resize(n * n, 0.0);
        self.trial.resize(n, 0);
        for (step, &column) in self.order.iter().enumerate() {
            self.trial[column as usize] = step as u32;
        }
        for e in 0..square.edges() {
            let (i, j) = square.ends(e);
            self.scaled[i * n + self.trial[j] as usize] = self.balance.kernel[e];
        }
        // row sums from each step on: summed from the end, so that nothing is ever subtracted
        self.tail.clear();
        self.tail.resize(n * (n + 1), 0.0);
        self.take.resize(n * n, 0.0);
        self.keep.resize(n * n, 0.0);
        for i in 0..n {
            for step in (0..n).rev() {
                let (a, after) = (self.scaled[i * n + step], self.tail[i * (n + 1) + step + 1]);
                self.tail[i * (n + 1) + step] = after + a;
                self.take[step * n + i] = a * E / h(after);
                self.keep[step * n + i] = h(after) / h(after + a);
            }
        }
        self.whole.clear();
        self.whole.extend((0..n).map(|i| h(self.tail[i * (n + 1)])));
        self.after.clear();
        self.after.extend((0..n).map(|i| h(self.tail[i * (n + 1) + head])));
        if head == 0 {
            return 1.0;
        }
        let states = 1usize << head;
        self.sums.resize((n + 1) * states, 0.0);
        self.sums[..states].fill(0.0);
        self.sums[0] = 1.0;
        for i in 0..n {
            let all = self.whole[i];
            let stay = self.after[i] / all;
            let row = &self.scaled[i * n..i * n + head];
            let (old, new) = self.sums[i * states..(i + 2) * states].split_at_mut(states);
            for (set, new) in new.iter_mut().enumerate() {
                let (mut sum, mut rest) = (0.0, set);
                while rest != 0 {
                    let j = rest.trailing_zeros() as usize;
                    sum += row[j] * old[set ^ 1 << j];
                    rest &= rest - 1;
                }
                *new = old[set] * stay + sum * E / all;
            }
        }
        self.sums[(n + 1) * states - 1]
    }

    /// One trial; whether it went through.
    fn one(&mut self, n: usize, head: usize, random: &mut Random) -> bool {
        self.rows.clear();
        self.rows.resize(n, u32::MAX);
        self.free.clear();
        if head == 0 {
            self.free.extend(0..n as u32);
        } else {
            let (states, mut set) = (1usize << head, (1usize << head) - 1);
            for i in (0..n).rev() {
                if set == 0 {
                    self.free.push(i as u32);
                    continue;
                }
                let (all, old) = (self.whole[i], &self.sums[i * states..(i + 1) * states]);
                let stay = old[set] * self.after[i];
                let row = &self.scaled[i * n..i * n + head];
                let mut at = random.uniform() * self.sums[(i + 1) * states + set] * all - stay;
                let (mut chosen, mut rest) = (None, set);
                while (at >= 0.0 || stay == 0.0) && rest != 0 {
                    let j = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    let value = E * row[j] * old[set ^ 1 << j];
                    if value > 0.0 {
                        chosen = Some(j);
                        at -= value;
                        if at < 0.0 {
                            break;
                        }
                    }
                }
                match chosen {
                    Some(j) => {
                        self.rows[j] = i as u32;
                        set ^= 1 << j;
                    }
                    None => self.free.push(i as u32),
                }
            }
        }
        for step in head..n {
            let (take, keep) = (&self.take[step * n..(step + 1) * n], &self.keep[step * n..(step + 1) * n]);
            let kept: f64 = self.free.iter().map(|&i| keep[i as usize]).product();
            let mut at = random.uniform() / kept;
            let mut chosen = None;
            for (k, &i) in self.free.iter().enumerate() {
                at -= take[i as usize];
                if at < 0.0 {
                    chosen = Some(k);
                    break;
                }
            }
            let Some(k) = chosen else { return false };
            self.rows[step] = self.free.swap_remove(k);
        }
        true
    }
}
