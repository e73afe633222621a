//! All placements of the core, depth first: each level adds the links of one core item to the rows of all leaves.

use super::Problem;
use super::fill::Fill;
use super::reduced::{Choice, Reduced, TAIL};
use super::wide::add;
use crate::error::{Interrupt, Result};

/// A placement of the whole core.
pub(super) struct At<'a> {
    /// The class of each core item.
    pub(super) core: &'a [u32],
    /// What the core is worth, and all leaves in the tail.
    pub(super) value: f64,
    /// What no list exceeds: the largest terms together, and what leaves pay.
    pub(super) bound: f64,
    /// The largest of each row, less what leaves pay.
    pub(super) most: &'a [f64],
    /// The free places that the core left, by their number among the free places, ascending.
    pub(super) open: &'a [u32],
    /// `a_ij(p)`: a row of leaves per open place, in the order of `open`. What leaves pay is taken off in
    /// [`Visit::skip_at`], and put back for [`Visit::visit`].
    pub(super) rows: &'a mut [f64],
}

/// Part of the core is placed: what is known before the last one or two are.
pub(super) struct Near<'a> {
    /// The class of each core item; those of the last ones are tried.
    pub(super) core: &'a [u32],
    /// The numbers of the free places that the last ones take.
    pub(super) taken: &'a [u32],
    pub(super) open: &'a [u32],
    /// `a_ij` without the links of the last ones and without what leaves pay, and the largest of each row.
    pub(super) rows: &'a [f64],
    pub(super) most: &'a [f64],
    /// By how much the rows rose at most with the core item before; empty where that is not known.
    pub(super) rise: &'a [f64],
}

/// What is done at each placement.
pub(super) trait Visit {
    /// Whether placements of at most this value are of no use.
    fn skip(&self, bound: f64) -> bool;
    /// So many core items are to be placed in all ways, with those before them where they are.
    fn enter(&mut self, _: usize) {}
    /// Whether [`Visit::skip_near`] is asked before the last two core items are placed, not the last one alone.
    fn looks_far(&self) -> bool {
        false
    }
    /// Whether one placement is of no use, whose lists are worth at most `bound`: the sum of the largest terms.
    fn skip_near(&mut self, _: &Near, _: f64) -> bool {
        false
    }
    /// The same when some rows of the placement that was asked for last are known.
    fn skip_part(&self, _: &[u32], _: f64) -> bool {
        false
    }
    /// The same once the whole core is placed.
    fn skip_at(&mut self, at: &At) -> bool {
        self.skip(at.bound)
    }
    /// One placement.
    fn visit(&mut self, reduced: &Reduced, at: &mut At) -> Result<()>;
    /// All placements with core item `c` at `class`, and those before it where they are, were visited.
    fn leave(&mut self, reduced: &Reduced, c: usize, class: usize);
}

/// One level: the places that are open, and the rows of them.
#[derive(Default)]
struct Level {
    open: Vec<u32>,
    rows: Vec<f64>,
    most: Vec<f64>,
    rise: Vec<f64>,
    /// Choices of the next core item by what they are worth at most.
    next: Vec<(f64, Choice)>,
}

/// The largest and the least link of a core item to a leaf.
#[derive(Clone, Copy)]
struct Reach {
    up: f64,
    down: f64,
}

impl Reach {
    /// The largest `by·g`.
    fn most(self, by: f64) -> f64 {
        if by > 0.0 {
            by * self.up
        } else if by < 0.0 {
            by * self.down
        } else {
            0.0
        }
    }
}

/// Buffers of the walk.
#[derive(Default)]
pub(super) struct Walk {
    levels: Vec<Level>,
    core: Vec<u32>,
    reach: Vec<Reach>,
    /// What leaves pay in bounds, and the sum of it.
    prices: Fill,
    paid: f64,
    stop: Interrupt,
}

/// Puts `a_ij(p)` back for leaves that pay.
fn restore(problem: &Problem, reduced: &Reduced, prices: &Fill, at: &mut At) {
    let (n, tail) = (reduced.leaves.len(), problem.head());
    for (row, &slot) in at.rows.chunks_exact_mut(n).zip(at.open) {
        let (start, place) = (&reduced.rows[slot as usize * n..], reduced.free[slot as usize] as usize);
        prices.paid.iter().for_each(|&(leaf, _)| row[leaf as usize] = start[leaf as usize]);
        for (c, &class) in at.core.iter().enumerate() {
            let (d, g) = (problem.design.row(class as usize), reduced.links(c));
            let by = d[place] - d[tail];
            prices.paid.iter().for_each(|&(leaf, _)| row[leaf as usize] += by * g[leaf as usize]);
        }
    }
}

impl Walk {
    pub(super) fn stopped_by(&mut self, stop: Interrupt) {
        self.stop = stop;
    }

    /// Visits all placements that are of use, best choices first where some may be skipped.
    pub(super) fn run(&mut self, problem: &Problem, reduced: &Reduced, visit: &mut impl Visit) -> Result<()> {
        let (c, n) = (reduced.core(), reduced.leaves.len());
        if self.levels.len() < c + 1 {
            self.levels.resize_with(c + 1, Level::default);
        }
        self.core.clear();
        self.core.resize(c, 0);
        self.paid = 0.0;
        self.prices.paid.clear();
        self.reach.clear();
        self.reach.extend((0..c).map(|c| {
            let start = Reach { up: f64::NEG_INFINITY, down: f64::INFINITY };
            reduced.links(c).iter().fold(start, |of, &g| Reach { up: of.up.max(g), down: of.down.min(g) })
        }));
        self.levels.iter_mut().for_each(|level| level.rise.clear());
        let first = &mut self.levels[0];
        first.open.clear();
        first.open.extend(0..reduced.free.len() as u32);
        first.rows.clear();
        first.rows.extend_from_slice(&reduced.rows);
        first.most.clear();
        first.most.extend((0..reduced.free.len()).map(|slot| {
            reduced.rows[slot * n..(slot + 1) * n].iter().fold(f64::NEG_INFINITY, |a, &b| if b > a { b } else { a })
        }));
        self.down(problem, reduced, 0, reduced.constant, visit)
    }

    fn down(
        &mut self,
        problem: &Problem,
        reduced: &Reduced,
        depth: usize,
        value: f64,
        visit: &mut impl Visit,
    ) -> Result<()> {
        self.stop.check()?;
        if depth == reduced.core() {
            let Level { open, rows, most, .. } = &mut self.levels[depth];
            let bound: f64 = value + self.paid + most.iter().sum::<f64>();
            let mut at = At { core: &self.core, value, bound, most, open, rows };
            if at.open.len() > reduced.leaves.len() || visit.skip_at(&at) {
                return Ok(());
            }
            if self.paid > 0.0 {
                restore(problem, reduced, &self.prices, &mut at);
            }
            return visit.visit(reduced, &mut at);
        }
        if visit.looks_far() && depth == 0 {
            self.price(problem, reduced)?;
        }
        let last = depth + 1 == reduced.core();
        visit.enter(reduced.core() - depth);
        self.rank(problem, reduced, depth, value);
        for at in 0..self.levels[depth].next.len() {
            let (bound, choice) = self.levels[depth].next[at];
            if last && visit.skip(bound) {
                break;
            }
            self.core[depth] = choice.class;
            if last {
                let Level { open, rows, most, rise, .. } = &self.levels[depth];
                let near = Near { core: &self.core, taken: &[choice.slot], open, rows, most, rise };
                if visit.skip_near(&near, bound) {
                    continue;
                }
            }
            let pairs = self.pairs(problem, reduced, depth, choice.class);
            let value = value + choice.value + pairs;
            if depth + 2 == reduced.core() && visit.looks_far() {
                self.relax(problem, reduced, depth, choice);
                self.rank(problem, reduced, depth + 1, value);
                if self.skip_far(depth, choice, visit) {
                    continue;
                }
            }
            if !self.place(problem, reduced, depth, choice, |core, fall| last && visit.skip_part(core, bound - fall)) {
                continue;
            }
            self.down(problem, reduced, depth + 1, value, visit)?;
            visit.leave(reduced, depth, choice.class as usize);
        }
        Ok(())
    }

    /// Lets leaves pay, so that bounds do not count on the same leaf at two places: rows hold `a_ij − u_i`.
    ///
    /// ```text
    /// Σ_i u_i + Σ_j max_i [a_ij(p) − u_i]  ≥  what any list with the core at p is worth, for any u ≥ 0
    /// ```
    ///
    /// The prices `u` are those of the best list without links. They are of use where links move a row by less than the
    /// bound is loose; with larger links they only cost time.
    fn price(&mut self, problem: &Problem, reduced: &Reduced) -> Result<()> {
        let Level { open, rows, most, .. } = &mut self.levels[0];
        if open.len() > reduced.leaves.len() {
            return Ok(());
        }
        let Some(sum) = self.prices.run(reduced, open.len(), rows)? else { return Ok(()) };
        let links = self.reach.iter().fold(0.0f64, |most, reach| most.max(reach.up).max(-reach.down));
        self.prices.paid.retain(|&(_, u)| u > 0.0);
        if most.iter().sum::<f64>() - sum <= problem.design.largest() * links {
            self.prices.paid.clear();
            return Ok(());
        }
        most.copy_from_slice(&self.prices.price);
        for &(leaf, u) in &self.prices.paid {
            self.paid += u;
            rows.chunks_exact_mut(reduced.leaves.len()).take(open.len()).for_each(|row| row[leaf as usize] -= u);
        }
        Ok(())
    }

    /// Opens the next level without rows: with what they have at most.
    fn relax(&mut self, problem: &Problem, reduced: &Reduced, depth: usize, choice: Choice) {
        let (before, after) = self.levels.split_at_mut(depth + 1);
        let (Level { open, most, .. }, level) = (&before[depth], &mut after[0]);
        let d = problem.design.row(choice.class as usize);
        let tail = d[problem.head()];
        level.open.clear();
        level.most.clear();
        level.rise.clear();
        for (&slot, most) in open.iter().zip(most).filter(|&(&slot, _)| slot != choice.slot) {
            level.open.push(slot);
            let rise = self.reach[depth].most(d[reduced.free[slot as usize] as usize] - tail);
            level.rise.push(rise);
            level.most.push(most + rise);
        }
    }

    /// Whether no placement of the last two core items is of use, the first of them at `choice`.
    fn skip_far(&mut self, depth: usize, choice: Choice, visit: &mut impl Visit) -> bool {
        let (before, after) = self.levels.split_at(depth + 1);
        let Level { open, rows, most, .. } = &before[depth];
        after[0].next.iter().all(|&(bound, next)| {
            self.core[depth + 1] = next.class;
            let taken = &[choice.slot, next.slot];
            visit.skip_near(&Near { core: &self.core, taken, open, rows, most, rise: &[] }, bound)
        })
    }

    /// The links of a core item to those placed before it.
    fn pairs(&self, problem: &Problem, reduced: &Reduced, depth: usize, class: u32) -> f64 {
        let (d, c) = (problem.design.row(class as usize), reduced.core());
        (0..depth).map(|other| reduced.inside[depth * c + other] * d[self.core[other] as usize]).sum()
    }

    /// The choices of a core item, the largest first by what they are worth at most, before others are placed.
    fn rank(&mut self, problem: &Problem, reduced: &Reduced, depth: usize, value: f64) {
        let mut next = std::mem::take(&mut self.levels[depth].next);
        next.clear();
        let Level { open, most, .. } = &self.levels[depth];
        let tail = problem.design.row(problem.head());
        for &choice in reduced.of_core(depth) {
            if choice.slot != TAIL && open.binary_search(&choice.slot).is_err() {
                continue;
            }
            let d = problem.design.row(choice.class as usize);
            let mut bound = value + self.paid + choice.value + self.pairs(problem, reduced, depth, choice.class);
            for (&slot, most) in open.iter().zip(most).filter(|&(&slot, _)| slot != choice.slot) {
                let by = d[reduced.free[slot as usize] as usize] - tail[choice.class as usize];
                bound += most + self.reach[depth].most(by);
            }
            next.push((bound, choice));
        }
        next.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.class.cmp(&b.1.class)));
        self.levels[depth].next = next;
    }

    /// Opens the next level: the core item stands at its choice. Whether all rows were made: `stop` is asked after each,
    /// with the core and by how much the bound fell.
    fn place(
        &mut self,
        problem: &Problem,
        reduced: &Reduced,
        depth: usize,
        choice: Choice,
        stop: impl Fn(&[u32], f64) -> bool,
    ) -> bool {
        let n = reduced.leaves.len();
        let (before, after) = self.levels.split_at_mut(depth + 1);
        let (Level { open, rows, most, .. }, level) = (&before[depth], &mut after[0]);
        let mut fall = 0.0;
        let d = problem.design.row(choice.class as usize);
        let tail = d[problem.head()];
        let g = reduced.links(depth);
        level.open.clear();
        level.most.clear();
        level.rows.resize(reduced.free.len() * n, 0.0);
        for (at, &slot) in open.iter().enumerate().filter(|&(_, &slot)| slot != choice.slot) {
            let by = d[reduced.free[slot as usize] as usize] - tail;
            let to = level.open.len() * n;
            let out = &mut level.rows[to..to + n];
            level.open.push(slot);
            let now = add(&rows[at * n..(at + 1) * n], g, by, out);
            level.most.push(now);
            fall += most[at] + self.reach[depth].most(by) - now;
            if stop(&self.core, fall) {
                return false;
            }
        }
        true
    }
}
