//! The law of matchings by those sets of columns that carry weight, with a bound on all that is left out.

use super::frame::{self, Frame};
use super::graph::Graph;
use crate::error::{Error, Result};
use std::ops::{BitAnd, BitOr};

/// The most items of the lesser side.
pub const LARGEST: usize = 128;

/// A good cap on the states of a row: above it other ways are faster.
pub const CAP: usize = 2_000;

/// Rounds of balancing at most, and how near to 1 the sums have to come.
const ROUNDS: usize = 30;
const BALANCED: f64 = 0.02;

/// A share of a column that counts as none, so that it can be divided by.
const TINY: f64 = 1e-30;

/// What is left of a column is looked up again when it has fallen below this part of what it was.
const LAG: f64 = 0.99;

/// Paths into a state are dropped below this part of what a state would be.
const PATH: f64 = 0.1;

/// The order of rows is looked for up to this product of rows and edges, by edges of more than this weight.
const ORDERED: usize = 1 << 22;
const LIGHT: f64 = 1e-8;

/// A sum over most of the weight of all matchings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pruned {
    /// The log-partition function of what was kept: the truth is at most `−ln(1 − error)` above it.
    pub log_z: f64,
    /// No marginal is further from the truth.
    pub error: f64,
    /// The most sets of columns that any row kept.
    pub states: usize,
}

/// Buffers of [`log_sum`], kept from call to call.
#[derive(Default)]
pub struct Work {
    frame: Frame,
    /// Scales of rows and columns, and the sums of a round.
    x: Vec<f64>,
    y: Vec<f64>,
    totals: Vec<f64>,
    /// Rows in the order in which they are taken, what is used up of the columns, and the edges that count in this.
    order: Vec<u32>,
    used: Vec<(f64, f64)>,
    heavy: Vec<(u32, f64)>,
    /// Where the ways of each place of the order start.
    starts: Vec<usize>,
    ways: Vec<Way>,
    sums: Vec<f64>,
    back: Vec<f64>,
    spare: Vec<f64>,
    stay: Vec<f64>,
    out: Vec<f64>,
    narrow: Layers<u64>,
    wide: Layers<u128>,
}

/// What a row may do: take a column, or stay.
#[derive(Clone, Copy)]
struct Way {
    /// What the bound of a set is multiplied by when the column is taken, and when the weight is as well.
    lift: f64,
    rate: f64,
    weight: f64,
    /// Or `STAY`, and then the edge is a row.
    column: u32,
    edge: u32,
}

const STAY: u32 = u32::MAX;

/// A set of columns.
trait Set: Copy + Eq + BitAnd<Output = Self> + BitOr<Output = Self> + Default {
    /// The set of one column; of none for [`STAY`].
    fn one(column: u32) -> Self;
    /// A number that looks random in its high bits.
    fn mixed(self) -> u64;
    /// Whether two sets have nothing in common.
    fn apart(self, other: Self) -> bool {
        self & other == Self::default()
    }
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Set for u64 {
    fn one(column: u32) -> Self {
        if column == STAY { 0 } else { 1 << column }
    }
    fn mixed(self) -> u64 {
        (self ^ (self >> 32)).wrapping_mul(GOLDEN)
    }
}

impl Set for u128 {
    fn one(column: u32) -> Self {
        if column == STAY { 0 } else { 1 << column }
    }
    fn mixed(self) -> u64 {
        let (low, high) = (self as u64, (self >> 64) as u64);
        (low.wrapping_mul(GOLDEN) ^ high ^ (high >> 32)).wrapping_mul(GOLDEN)
    }
}

/// Sets that were reached, row by row, and the moves between them.
#[derive(Default)]
struct Layers<K> {
    /// Of the last row: the sets, and the bounds on what can still come.
    sets: Vec<K>,
    bounds: Vec<f64>,
    next: Next<K>,
    /// F of all rows, where each row starts, and where the moves of each set start.
    values: Vec<f64>,
    starts: Vec<usize>,
    firsts: Vec<usize>,
    moves: Vec<Move>,
    /// The new number of each next set.
    numbers: Vec<u32>,
    bits: Vec<K>,
    fallen: Vec<(K, f64)>,
}

/// The sets of the next row, by an open hash table: at most half of its slots are taken.
#[derive(Default)]
struct Next<K> {
    sets: Vec<K>,
    bounds: Vec<f64>,
    values: Vec<f64>,
    slots: Vec<u32>,
    size: usize,
}

/// To a set of the next row, by a way.
#[derive(Clone, Copy)]
struct Move {
    to: u32,
    way: u32,
}

const EMPTY: u32 = u32::MAX;

/// The log-partition function and the marginals of a graph from sets that carry weight; `None` where the cap is reached.
///
/// The recursion is the one of [`super::partial::log_sum`], over sets S of columns (the lesser side), of which only
/// those with some weight are kept, in a hash table. Weights are balanced first, so that the ways of each row and column
/// sum to 1, and the rows are put in an order in which few columns are partly used up. With `B` the balanced weights,
/// `u ≤ 1` and `v` those of rows and columns that stay, all that can still come after a set S is at most
///
/// ```text
/// bound(S) = Π_{j∉S} (v_j + Σ_{rows i to come} B_ij)
/// ```
///
/// because the product, multiplied out, lets each column choose alone: it has a term for every matching, times the `u_i`
/// of rows that stay. A set is dropped where `F[S] bound(S) < epsilon · max_S F[S] bound(S)`, and a path into a set
/// where it has a tenth of that. The sum D of all that is dropped, each times its bound, is a certificate: with Z the
/// sum over what is left, the true one lies between Z and Z + D, and the marginals are off by at most
///
/// ```text
/// error = D / (Z + D),   log Z ≤ log-partition function ≤ log Z − ln(1 − error)
/// ```
///
/// (some units in the last place are added for rounding). Peaked weights need hundreds of sets where
/// [`super::partial`] needs 2^k; flat ones soon reach `cap`, the most sets that a row may keep (say [`CAP`]), which ends
/// it. Time is that of the paths between the sets, at most O(rows · cap · columns).
///
/// ```
/// use ordain::structure::matching::{graph::Graph, pruned::{CAP, Work, log_sum}};
/// let edges: Vec<(u32, u32)> = (0..40).flat_map(|i| (0..40).map(move |j| (i, j))).collect();
/// let graph = Graph::new(40, 40, &edges, false)?;
/// let s: Vec<f64> = edges.iter().map(|(i, j)| if i == j { 9.0 } else { f64::from((i * 7 + j * 3) % 5) / 2.0 }).collect();
/// let mut p = vec![0.0; 1600];
/// let sum = log_sum(&graph, &s, 1e-8, CAP, &mut Work::default(), &mut p)?;
/// assert!(sum.is_some_and(|sum| sum.error < 1e-3 && sum.states < 1000 && p[0] > 0.9));
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Data`] where the lesser side has more than [`LARGEST`] items; [`Error::NotFinite`] for a score that is not
/// finite; [`Error::Infeasible`] where not all items can be matched that have to be.
pub fn log_sum(
    graph: &Graph,
    s: &[f64],
    epsilon: f64,
    cap: usize,
    work: &mut Work,
    marginals: &mut [f64],
) -> Result<Option<Pruned>> {
    frame::check(graph, s, marginals)?;
    if graph.lesser() > LARGEST {
        return Err(Error::Data {
            expected: format!("at most {LARGEST} items on the lesser side for pruned sums over matchings"),
            found: format!("{} items", graph.lesser()),
        });
    }
    let shift = work.frame.set(graph, s)? + work.balance();
    work.arrange();
    work.list_ways();
    let mut narrow = std::mem::take(&mut work.narrow);
    let mut wide = std::mem::take(&mut work.wide);
    let found = if graph.lesser() <= 64 {
        narrow.run(work, epsilon, cap, graph, marginals)
    } else {
        wide.run(work, epsilon, cap, graph, marginals)
    };
    (work.narrow, work.wide) = (narrow, wide);
    Ok(found.map(|found| Pruned { log_z: found.log_z + shift, ..found }).filter(|found| found.log_z.is_finite()))
}

impl Work {
    /// Scales rows and columns in turn until both sum to 1, or nearly: columns in the end. What is to be added to the
    /// log-partition function. O(edges) per round.
    fn balance(&mut self) -> f64 {
        let (n, k, frame) = (self.frame.rows, self.frame.cols, &mut self.frame);
        self.x.clear();
        self.x.resize(n, 1.0);
        self.y.clear();
        self.y.resize(k, 1.0);
        for _ in 0..ROUNDS {
            self.totals.clear();
            self.totals.extend_from_slice(&frame.out);
            for i in 0..n {
                let of = frame.of_row(i);
                let (columns, weights) = (&frame.column[of.clone()], &frame.weight[of]);
                let sum: f64 = columns.iter().zip(weights).map(|(&j, w)| w * self.y[j as usize]).sum();
                let x = 1.0 / (frame.stay[i] + sum);
                self.x[i] = x;
                columns.iter().zip(weights).for_each(|(&j, w)| self.totals[j as usize] += w * x);
            }
            let mut off: f64 = 0.0;
            for (y, total) in self.y.iter_mut().zip(&self.totals) {
                off = off.max((*y * total - 1.0).abs());
                *y = 1.0 / total;
            }
            if off < BALANCED {
                break;
            }
        }
        for i in 0..n {
            for at in frame.of_row(i) {
                frame.weight[at] *= self.x[i] * self.y[frame.column[at] as usize];
            }
            frame.stay[i] = (frame.stay[i] * self.x[i]).min(1.0);
        }
        frame.out.iter_mut().zip(&self.y).for_each(|(v, y)| *v *= y);
        -self.x.iter().chain(&self.y).map(|x| x.ln()).sum::<f64>()
    }

    /// Puts the rows in order: next the one after which the columns are least undecided, by `Σ_j √(m_j (1 − m_j))` with
    /// `m_j` the part of column j that is used up. O(rows · edges); where that is much, rows are merely put together by
    /// their best column.
    fn arrange(&mut self) {
        let (n, frame) = (self.frame.rows, &self.frame);
        self.order.clear();
        self.order.extend(0..n as u32);
        if n * frame.edge.len() > ORDERED {
            let best = |i: u32| {
                let of = frame.of_row(i as usize);
                of.max_by(|&a, &b| frame.weight[a].total_cmp(&frame.weight[b])).map(|at| frame.column[at])
            };
            self.order.sort_unstable_by_key(|&i| (best(i), i));
            return;
        }
        self.heavy.clear();
        self.starts.clear();
        for i in 0..n {
            self.starts.push(self.heavy.len());
            let edges = frame.of_row(i).map(|at| (frame.column[at], frame.weight[at]));
            self.heavy.extend(edges.filter(|(_, weight)| *weight > LIGHT));
        }
        self.starts.push(self.heavy.len());
        let undecided = |m: f64| (m * (1.0 - m)).max(0.0).sqrt();
        // what is used up of each column, and how undecided that is
        self.used.clear();
        self.used.resize(frame.cols, (0.0, 0.0));
        for place in 0..n {
            let (mut least, mut next) = (f64::INFINITY, place);
            for (at, &i) in self.order.iter().enumerate().skip(place) {
                let mut more = 0.0;
                for &(j, weight) in &self.heavy[self.starts[i as usize]..self.starts[i as usize + 1]] {
                    let (used, before) = self.used[j as usize];
                    more += undecided(used + weight) - before;
                }
                if more < least {
                    (least, next) = (more, at);
                }
            }
            // the others keep their order, so that ties are decided by number
            self.order[place..=next].rotate_right(1);
            let i = self.order[place] as usize;
            for &(j, weight) in &self.heavy[self.starts[i]..self.starts[i + 1]] {
                let used = self.used[j as usize].0 + weight;
                self.used[j as usize] = (used, undecided(used));
            }
        }
    }

    /// Lists what each row may do, likeliest first, in the order of rows; `lift` is what is left of the column then.
    fn list_ways(&mut self) {
        let frame = &self.frame;
        self.starts.clear();
        self.ways.clear();
        self.totals.clear();
        self.totals.extend_from_slice(&frame.out);
        // from the last row on, what is left of a column is what was added up so far
        for &i in self.order.iter().rev() {
            self.starts.push(self.ways.len());
            for at in frame.of_row(i as usize) {
                let (column, weight) = (frame.column[at], frame.weight[at]);
                let left = &mut self.totals[column as usize];
                if weight > 0.0 {
                    self.ways.push(Way { lift: *left, rate: 0.0, weight, column, edge: frame.edge[at] });
                }
                *left += weight;
            }
            let weight = frame.stay[i as usize];
            if weight > 0.0 {
                self.ways.push(Way { lift: 1.0, rate: weight, weight, column: STAY, edge: i });
            }
        }
        self.starts.push(self.ways.len());
    }
}

impl<K: Set> Next<K> {
    /// Nothing, with room for about four times as many sets as there were before.
    fn clear(&mut self, before: usize) {
        self.sets.clear();
        self.bounds.clear();
        self.values.clear();
        self.resize((8 * before).next_power_of_two().max(64));
    }

    fn resize(&mut self, size: usize) {
        self.size = size;
        if self.slots.len() < size {
            self.slots.resize(size, EMPTY);
        }
        self.slots[..size].fill(EMPTY);
        for (number, &set) in (0u32..).zip(&self.sets) {
            let slot = find(&self.slots[..size], &self.sets, set);
            self.slots[slot] = number;
        }
    }

    /// Adds to the value of a set, which is new perhaps; its number.
    #[inline(always)]
    fn add(&mut self, set: K, bound: f64, value: f64) -> u32 {
        let slot = find(&self.slots[..self.size], &self.sets, set);
        let number = self.slots[slot];
        if number != EMPTY {
            self.values[number as usize] += value;
            return number;
        }
        let number = self.sets.len() as u32;
        self.slots[slot] = number;
        self.sets.push(set);
        self.bounds.push(bound);
        self.values.push(value);
        if 2 * self.sets.len() > self.size {
            self.resize(2 * self.size);
        }
        number
    }
}

/// The slot where a set is, or may be put.
#[inline(always)]
fn find<K: Set>(slots: &[u32], sets: &[K], set: K) -> usize {
    let mut at = (set.mixed() >> (64 - slots.len().trailing_zeros())) as usize;
    loop {
        let number = slots[at];
        if number == EMPTY || sets[number as usize] == set {
            return at;
        }
        at = (at + 1) & (slots.len() - 1);
    }
}

impl<K: Set> Layers<K> {
    /// All rows forward and backward. `None` where a row keeps more sets than `cap`.
    fn run(
        &mut self,
        work: &mut Work,
        epsilon: f64,
        cap: usize,
        graph: &Graph,
        marginals: &mut [f64],
    ) -> Option<Pruned> {
        let n = work.frame.rows;
        for values in [&mut self.values, &mut self.bounds] {
            values.clear();
        }
        self.starts.clear();
        self.firsts.clear();
        self.moves.clear();
        self.sets.clear();
        self.sets.push(K::default());
        self.values.push(1.0);
        self.bounds.push(work.totals.iter().product());
        let (mut dropped, mut states, mut from) = (0.0, 1, 0);
        for place in 0..n {
            // the ways were listed from the last row on
            let of = work.starts[n - 1 - place]..work.starts[n - place];
            let (here, first) = (self.sets.len(), self.moves.len());
            self.starts.push(from);
            self.fall(&mut work.ways[of.clone()], &mut work.totals);
            dropped += self.advance(&work.ways[of.clone()], of.start as u32, from, epsilon * PATH);
            dropped += self.prune(epsilon, from, first);
            from += here;
            states = states.max(self.sets.len());
            if self.sets.is_empty() || self.sets.len() > cap {
                return None;
            }
        }
        self.starts.push(from);
        self.firsts.push(self.moves.len());
        work.spare.clear();
        work.spare.reserve(states);
        work.back.clear();
        work.back.reserve(states);
        let z = self.backward(work, graph, marginals);
        // the rows and columns may each be off by some roundings
        let rounding = 8.0 * f64::EPSILON * (work.frame.rows + work.frame.cols + 1) as f64;
        let error = (dropped / (z + dropped) + rounding).min(1.0);
        (z > 0.0).then(|| Pruned { log_z: z.ln(), error, states })
    }

    /// Lowers the bounds of all sets to what is left of their columns after this row, and puts its ways in order.
    fn fall(&mut self, ways: &mut [Way], left: &mut [f64]) {
        self.fallen.clear();
        for way in ways.iter_mut().filter(|way| way.column != STAY) {
            let (left, after) = (&mut left[way.column as usize], way.lift.max(TINY));
            // the bound may lag behind, but never be too low
            if after < LAG * *left {
                self.fallen.push((K::one(way.column), after / *left));
                *left = after;
            }
            way.lift = 1.0 / *left;
            way.rate = way.weight * way.lift;
        }
        ways.sort_unstable_by(|a, b| b.rate.total_cmp(&a.rate).then(a.column.cmp(&b.column)));
        for (&set, bound) in self.sets.iter().zip(&mut self.bounds) {
            for &(column, by) in &self.fallen {
                *bound *= if set.apart(column) { by } else { 1.0 };
            }
        }
    }

    /// All ways of a row from all sets, which start at `from`; what was dropped.
    fn advance(&mut self, ways: &[Way], first_way: u32, from: usize, epsilon: f64) -> f64 {
        self.bits.clear();
        self.bits.extend(ways.iter().map(|way| K::one(way.column)));
        self.next.clear(self.sets.len());
        let values = &self.values[from..];
        // the best way of the best set is a state of the next row, or a part of one
        let masses = values.iter().zip(&self.bounds).map(|(f, b)| f * b).enumerate();
        let (best, most) = masses.fold((0, -1.0), |most, new| if new.1 > most.1 { new } else { most });
        let free = |set: K| ways.iter().zip(&self.bits).filter(move |(_, bit)| set.apart(**bit)).map(|(way, _)| way);
        let least = epsilon * most * free(self.sets[best]).next().map_or(0.0, |way| way.rate);
        let mut dropped = 0.0;
        for ((&set, &bound), &f) in self.sets.iter().zip(&self.bounds).zip(values) {
            self.firsts.push(self.moves.len());
            let mass = f * bound;
            for (number, (way, &bit)) in ways.iter().zip(&self.bits).enumerate() {
                if mass * way.rate < least {
                    let rest = ways[number..].iter().zip(&self.bits[number..]).filter(|(_, bit)| set.apart(**bit));
                    dropped += mass * rest.map(|(way, _)| way.rate).sum::<f64>();
                    break;
                }
                if set.apart(bit) {
                    let to = self.next.add(set | bit, bound * way.lift, f * way.weight);
                    self.moves.push(Move { to, way: first_way + number as u32 });
                }
            }
        }
        dropped
    }

    /// Drops the next sets with little weight, and the moves to them; the others follow the sets so far. What was dropped.
    fn prune(&mut self, epsilon: f64, from: usize, first: usize) -> f64 {
        let mass = |f: &f64, b: &f64| f * b;
        let next = &self.next;
        let most = next.values.iter().zip(&next.bounds).map(|(f, b)| mass(f, b)).fold(0.0, f64::max);
        let (least, mut dropped) = (epsilon * most, 0.0);
        self.numbers.clear();
        self.sets.clear();
        self.bounds.clear();
        for ((&set, &bound), &f) in next.sets.iter().zip(&next.bounds).zip(&next.values) {
            if mass(&f, &bound) < least {
                dropped += f * bound;
                self.numbers.push(EMPTY);
            } else {
                self.numbers.push(self.sets.len() as u32);
                self.sets.push(set);
                self.bounds.push(bound);
                self.values.push(f);
            }
        }
        if self.sets.len() < next.sets.len() {
            let (mut read, mut write) = (first, first);
            for at in from..self.firsts.len() {
                let end = self.firsts.get(at + 1).copied().unwrap_or(self.moves.len());
                self.firsts[at] = write;
                while read < end {
                    let Move { to, way } = self.moves[read];
                    let to = self.numbers[to as usize];
                    // written in any case, and kept where the set is
                    self.moves[write] = Move { to, way };
                    write += usize::from(to != EMPTY);
                    read += 1;
                }
            }
            self.moves.truncate(write);
        }
        dropped
    }

    /// The sum over what was kept, and the marginals.
    fn backward(&mut self, work: &mut Work, graph: &Graph, marginals: &mut [f64]) -> f64 {
        let (n, k) = (work.frame.rows, work.frame.cols);
        let last = &self.values[self.starts[n]..];
        work.out.clear();
        work.out.resize(k, 0.0);
        let mut z = 0.0;
        for (&set, f) in self.sets.iter().zip(last) {
            let is_out = |j: usize| set.apart(K::one(j as u32));
            let g: f64 = (0..k).filter(|&j| is_out(j)).map(|j| work.frame.out[j]).product();
            work.back.push(g);
            z += f * g;
            (0..k).filter(|&j| is_out(j)).for_each(|j| work.out[j] += f * g);
        }
        work.sums.clear();
        work.sums.resize(work.ways.len(), 0.0);
        for place in (0..n).rev() {
            let of = self.starts[place]..self.starts[place + 1];
            work.spare.clear();
            for at in of {
                let (f, mut sum) = (self.values[at], 0.0);
                for &Move { to, way } in &self.moves[self.firsts[at]..self.firsts[at + 1]] {
                    let g = work.back[to as usize];
                    sum += work.ways[way as usize].weight * g;
                    work.sums[way as usize] += f * g;
                }
                work.spare.push(sum);
            }
            std::mem::swap(&mut work.back, &mut work.spare);
        }
        marginals.fill(0.0);
        work.stay.clear();
        work.stay.resize(n, 0.0);
        for (way, sum) in work.ways.iter().zip(&work.sums) {
            let p = if way.column == STAY { &mut work.stay } else { &mut *marginals };
            p[way.edge as usize] = sum * way.weight / z;
        }
        work.out.iter_mut().for_each(|p| *p /= z);
        frame::write_nulls(graph, &work.stay, &work.out, marginals);
        z
    }
}
