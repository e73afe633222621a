//! Top-k lists: the best value with each item at each place, all in one walk.

use super::Problem;
use super::fill::Fill;
use super::list::Lists;
use super::reduced::Reduced;
use super::walk::{At, Near, Visit};
use super::wide;
use crate::error::Result;

/// How far leaves are ahead of their best values, before the last core items are placed. As best values rise, what was
/// found once is too large at worst.
#[derive(Default)]
struct Ahead {
    /// The open places, and `max_i (a_ij − rows_ij)` by place; empty where nothing was looked at yet.
    open: Vec<u32>,
    by: Vec<f64>,
    /// Whether `rows` is as it was then.
    fresh: bool,
}

/// Buffers of forced values.
#[derive(Default)]
pub(super) struct Force {
    fill: Fill,
    best: f64,
    /// The best values of leaves at free places, a row of leaves per place, and in the tail; of core items at classes.
    rows: Vec<f64>,
    tail: Vec<f64>,
    core: Vec<f64>,
    /// What it costs to free place x by moving its leaf to y, and so on until nobody is displaced; the tail is the last.
    loss: Vec<f64>,
    kept: Vec<f64>,
    /// The least of `tail`.
    least: f64,
    /// With one core item to be placed, and with two.
    ahead: [Ahead; 2],
    /// Whether the placement at hand is of use for the core alone.
    core_alone: bool,
}

impl Ahead {
    /// What is known with one core item less to be placed, where nothing was looked at yet.
    fn inherit(&mut self, before: &Self, near: &Near) -> &mut Self {
        if self.by.is_empty() && !before.by.is_empty() {
            let mut known = before.open.iter().zip(&before.by);
            let places = near.open.iter().zip(near.rise);
            self.by.extend(places.filter_map(|(slot, rise)| Some(known.find(|(other, _)| *other == slot)?.1 + rise)));
        }
        self
    }
}

/// `most = max(most, row + by)`.
#[inline]
fn raise(most: &mut [f64], row: &[f64], by: f64) {
    for (most, a) in most.iter_mut().zip(row) {
        let x = a + by;
        *most = if x > *most { x } else { *most };
    }
}

/// The least of `row`.
fn least(row: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut least = [f64::INFINITY; LANES];
    let (rows, rest) = row.as_chunks::<LANES>();
    for row in rows {
        least = std::array::from_fn(|lane| if row[lane] < least[lane] { row[lane] } else { least[lane] });
    }
    least.iter().chain(rest).fold(f64::INFINITY, |a, &b| if b < a { b } else { a })
}

fn more(most: &mut f64, value: f64) {
    *most = if value > *most { value } else { *most };
}

impl Visit for Force {
    fn skip(&self, _: f64) -> bool {
        false
    }

    fn enter(&mut self, left: usize) {
        if let Some(ahead) = self.ahead.get_mut(left - 1) {
            ahead.by.clear();
            ahead.fresh = false;
        }
    }

    fn looks_far(&self) -> bool {
        true
    }

    /// A list of at most `bound`, with leaf i at j, is worth at most `bound − most_j + a_ij`, where `most_j` is the largest of
    /// the row of j: the links of the last core items add the same to both in the bound.
    fn skip_near(&mut self, near: &Near, bound: f64) -> bool {
        self.core_alone = bound <= self.least && self.leaves_lead(near, bound);
        self.core_alone && self.core_leads(near.core, bound)
    }

    fn skip_part(&self, core: &[u32], bound: f64) -> bool {
        self.core_alone && self.core_leads(core, bound)
    }

    fn skip_at(&mut self, at: &At) -> bool {
        self.core_alone = self.core_alone || (at.bound <= self.least && self.leaves_follow(at));
        self.core_alone && self.core_leads(at.core, at.bound)
    }

    fn visit(&mut self, reduced: &Reduced, at: &mut At) -> Result<()> {
        let Some(sum) = self.fill.run(reduced, at.open.len(), at.rows)? else { return Ok(()) };
        let value = at.value + sum;
        more(&mut self.best, value);
        let classes = self.core.len().checked_div(at.core.len()).unwrap_or(0);
        for (c, &class) in at.core.iter().enumerate() {
            more(&mut self.core[c * classes + class as usize], value);
        }
        if self.core_alone {
            return Ok(());
        }
        self.displace(reduced, at);
        self.leaves(reduced, at, value);
        Ok(())
    }

    fn leave(&mut self, _: &Reduced, _: usize, _: usize) {}
}

impl Force {
    /// Whether every core item where it stands has a list of at least `bound` already.
    fn core_leads(&self, core: &[u32], bound: f64) -> bool {
        let classes = self.core.len().checked_div(core.len()).unwrap_or(0);
        core.iter().enumerate().all(|(c, &class)| bound <= self.core[c * classes + class as usize])
    }

    /// The same for leaves at open places.
    fn leaves_lead(&mut self, near: &Near, bound: f64) -> bool {
        let (n, [last, two]) = (self.tail.len(), &mut self.ahead);
        let ahead = if near.taken.len() == 1 { last.inherit(two, near) } else { two };
        let lead = |by: &[f64]| {
            let places = near.open.iter().zip(near.most.iter().zip(by));
            places.filter(|(slot, _)| !near.taken.contains(slot)).all(|(_, (most, ahead))| bound - most + ahead <= 0.0)
        };
        if !ahead.by.is_empty() {
            let lead = lead(&ahead.by);
            if lead || ahead.fresh {
                return lead;
            }
        }
        ahead.by.clear();
        ahead.open.clear();
        ahead.open.extend_from_slice(near.open);
        for (&slot, row) in near.open.iter().zip(near.rows.chunks_exact(n.max(1))) {
            ahead.by.push(wide::ahead(row, &self.rows[slot as usize * n..(slot as usize + 1) * n]));
        }
        ahead.fresh = true;
        lead(&ahead.by)
    }

    /// The same once the core is placed.
    fn leaves_follow(&self, at: &At) -> bool {
        let n = self.tail.len();
        let rows = at.rows.chunks_exact(n.max(1));
        at.open.iter().zip(at.most).zip(rows).all(|((&slot, most), row)| {
            at.bound - most + wide::ahead(row, &self.rows[slot as usize * n..(slot as usize + 1) * n]) <= 0.0
        })
    }

    /// The least loss of every chain of moves, by Floyd and Warshall: from x, whose leaf must go, to y, where one is free.
    fn displace(&mut self, reduced: &Reduced, at: &At) {
        let (n, k) = (reduced.leaves.len(), at.open.len());
        let side = k + 1;
        self.loss.clear();
        self.loss.resize(side * side, 0.0);
        for (x, &leaf) in self.fill.leaf.iter().enumerate() {
            let now = at.rows[x * n + leaf as usize];
            for y in 0..k {
                self.loss[x * side + y] = now - at.rows[y * n + leaf as usize];
            }
            self.loss[x * side + k] = if reduced.must.contains(&leaf) { f64::INFINITY } else { now };
        }
        for y in 0..k {
            self.loss[k * side + y] = -self.fill.spare(y);
        }
        for by in 0..side {
            for x in (0..side).filter(|&x| x != by) {
                let first = self.loss[x * side + by];
                for y in 0..side {
                    let way = first + self.loss[by * side + y];
                    if way < self.loss[x * side + y] {
                        self.loss[x * side + y] = way;
                    }
                }
            }
        }
    }

    /// `forced(i at j) = value − (a_i,now − a_ij) − loss(j → now)`.
    fn leaves(&mut self, reduced: &Reduced, at: &mut At, value: f64) {
        let (n, k) = (reduced.leaves.len(), at.open.len());
        let side = k + 1;
        self.kept.clear();
        // those of the head first, then all others in one go
        for (x, &leaf) in self.fill.leaf.iter().enumerate() {
            let leaf = leaf as usize;
            let now = at.rows[x * n + leaf];
            for (y, &slot) in at.open.iter().enumerate() {
                let a = at.rows[y * n + leaf];
                more(&mut self.rows[slot as usize * n + leaf], value - (now - a) - self.loss[y * side + x]);
            }
            if !reduced.must.contains(&(leaf as u32)) {
                let below = self.tail[leaf];
                self.kept.push(if value - now - self.loss[k * side + x] > below {
                    value - now - self.loss[k * side + x]
                } else {
                    below
                });
            } else {
                self.kept.push(f64::NEG_INFINITY);
            }
        }
        for (y, &slot) in at.open.iter().enumerate() {
            let row = &mut at.rows[y * n..(y + 1) * n];
            self.fill.leaf.iter().for_each(|&leaf| row[leaf as usize] = f64::NEG_INFINITY);
            let slot = slot as usize;
            raise(&mut self.rows[slot * n..(slot + 1) * n], row, value - self.loss[y * side + k]);
        }
        self.tail.iter_mut().for_each(|most| more(most, value));
        for (&leaf, &value) in self.fill.leaf.iter().zip(&self.kept) {
            self.tail[leaf as usize] = value;
        }
        self.least = least(&self.tail);
        self.ahead.iter_mut().for_each(|ahead| ahead.fresh = false);
    }

    fn start(&mut self, problem: &Problem, reduced: &Reduced) {
        let (n, f) = (reduced.leaves.len(), reduced.free.len());
        self.best = f64::NEG_INFINITY;
        self.least = f64::NEG_INFINITY;
        self.core_alone = false;
        self.ahead.iter_mut().for_each(|ahead| ahead.by.clear());
        let core = reduced.core() * problem.classes();
        for (buffer, len) in [(&mut self.rows, n * f), (&mut self.tail, n), (&mut self.core, core)] {
            buffer.clear();
            buffer.resize(len, f64::NEG_INFINITY);
        }
    }

    fn read(&self, problem: &Problem, reduced: &Reduced, values: &mut Vec<f64>) -> f64 {
        let (n, classes, tail) = (reduced.leaves.len(), problem.classes(), problem.head());
        let big = reduced.big * reduced.must.len() as f64;
        values.clear();
        values.resize(problem.items() * classes, f64::NEG_INFINITY);
        let rows = reduced.free.iter().zip(self.rows.chunks_exact(n.max(1)));
        for (&j, row) in rows.chain([(&(tail as u32), &self.tail[..])]) {
            for (&i, value) in reduced.leaves.iter().zip(row) {
                values[i as usize * classes + j as usize] = value - big;
            }
        }
        for (c, &item) in problem.links.core().iter().enumerate() {
            let row = &mut values[item as usize * classes..(item as usize + 1) * classes];
            row.iter_mut().zip(&self.core[c * classes..]).for_each(|(to, from)| *to = from - big);
        }
        reduced.pinned.iter().for_each(|&(i, j)| values[i as usize * classes + j as usize] = self.best - big);
        self.best - big
    }
}

impl Lists {
    /// All forced values; the best value, −∞ where there is no list.
    pub(super) fn forced(&mut self, problem: &Problem, force: &mut Force, values: &mut Vec<f64>) -> Result<f64> {
        let Self { reduced, walk, .. } = self;
        reduced.set(problem);
        force.start(problem, reduced);
        walk.run(problem, reduced, force)?;
        Ok(force.read(problem, reduced, values))
    }
}
