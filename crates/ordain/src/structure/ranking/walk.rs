//! All placements of the core, depth first: each level adds the links of one core item to the rows of all leaves.

use super::Problem;
use super::reduced::{Choice, Reduced, TAIL};
use crate::error::{Interrupt, Result};

/// A placement of the whole core.
pub(super) struct At<'a> {
    /// The class of each core item.
    pub(super) core: &'a [u32],
    /// What the core is worth, and all leaves in the tail.
    pub(super) value: f64,
    /// What no list exceeds: the largest terms together.
    pub(super) bound: f64,
    /// The free places that the core left, by their number among the free places, ascending.
    pub(super) open: &'a [u32],
    /// `a_ij(p)`: a row of leaves per open place, in the order of `open`.
    pub(super) rows: &'a mut [f64],
}

/// All of the core but its last item is placed: what is known before the last one is.
pub(super) struct Near<'a> {
    /// The class of each core item; that of the last one is tried.
    pub(super) core: &'a [u32],
    /// The number of the free place that the last one takes.
    pub(super) slot: u32,
    pub(super) open: &'a [u32],
    /// `a_ij` without the links of the last one, and the largest of each row.
    pub(super) rows: &'a [f64],
    pub(super) most: &'a [f64],
    /// Whether it is the first one that is tried.
    pub(super) first: bool,
}

/// What is done at each placement.
pub(super) trait Visit {
    /// Whether placements of at most this value are of no use.
    fn skip(&self, bound: f64) -> bool;
    /// Whether one placement is of no use, whose lists are worth at most `bound`: the sum of the largest terms.
    fn skip_near(&mut self, _: &Near, _: f64) -> bool {
        false
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
    /// Choices of the next core item by what they are worth at most.
    next: Vec<(f64, Choice)>,
}

/// Buffers of the walk.
#[derive(Default)]
pub(super) struct Walk {
    levels: Vec<Level>,
    core: Vec<u32>,
    /// Of each core item: its largest and its least link to a leaf.
    reach: Vec<(f64, f64)>,
    stop: Interrupt,
}

/// `out = row + by·g`; the largest of it.
#[inline]
fn add(row: &[f64], g: &[f64], by: f64, out: &mut [f64]) -> f64 {
    const LANES: usize = 8;
    let mut most = [f64::NEG_INFINITY; LANES];
    let (rows, rest) = row.as_chunks::<LANES>();
    let (links, other) = g.as_chunks::<LANES>();
    let (outs, last) = out.as_chunks_mut::<LANES>();
    for ((row, g), out) in rows.iter().zip(links).zip(outs) {
        for lane in 0..LANES {
            let x = row[lane] + by * g[lane];
            out[lane] = x;
            most[lane] = if x > most[lane] { x } else { most[lane] };
        }
    }
    let mut largest = most.iter().fold(f64::NEG_INFINITY, |a, &b| if b > a { b } else { a });
    for ((row, g), out) in rest.iter().zip(other).zip(last) {
        *out = row + by * g;
        largest = if *out > largest { *out } else { largest };
    }
    largest
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
        self.reach.clear();
        self.reach.extend((0..c).map(|c| {
            let start = (f64::NEG_INFINITY, f64::INFINITY);
            reduced.links(c).iter().fold(start, |(most, least), &g| (most.max(g), least.min(g)))
        }));
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
            let bound: f64 = value + most.iter().sum::<f64>();
            if open.len() > reduced.leaves.len() || visit.skip(bound) {
                return Ok(());
            }
            return visit.visit(reduced, &mut At { core: &self.core, value, bound, open, rows });
        }
        let last = depth + 1 == reduced.core();
        self.rank(problem, reduced, depth, value);
        for at in 0..self.levels[depth].next.len() {
            let (bound, choice) = self.levels[depth].next[at];
            if last && visit.skip(bound) {
                break;
            }
            self.core[depth] = choice.class;
            if last {
                let Level { open, rows, most, .. } = &self.levels[depth];
                let near = Near { core: &self.core, slot: choice.slot, open, rows, most, first: at == 0 };
                if visit.skip_near(&near, bound) {
                    continue;
                }
            }
            let pairs = self.pairs(problem, reduced, depth, choice.class);
            self.place(problem, reduced, depth, choice);
            self.down(problem, reduced, depth + 1, value + choice.value + pairs, visit)?;
            visit.leave(reduced, depth, choice.class as usize);
        }
        Ok(())
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
        let (up, down) = self.reach[depth];
        for &choice in reduced.of_core(depth) {
            if choice.slot != TAIL && open.binary_search(&choice.slot).is_err() {
                continue;
            }
            let d = problem.design.row(choice.class as usize);
            let mut bound = value + choice.value + self.pairs(problem, reduced, depth, choice.class);
            for (&slot, most) in open.iter().zip(most).filter(|&(&slot, _)| slot != choice.slot) {
                let by = d[reduced.free[slot as usize] as usize] - tail[choice.class as usize];
                let add = if by > 0.0 { by * up } else { by * down };
                bound += most + if by == 0.0 { 0.0 } else { add };
            }
            next.push((bound, choice));
        }
        next.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.class.cmp(&b.1.class)));
        self.levels[depth].next = next;
    }

    /// Opens the next level: the core item stands at its choice.
    fn place(&mut self, problem: &Problem, reduced: &Reduced, depth: usize, choice: Choice) {
        let n = reduced.leaves.len();
        let (before, after) = self.levels.split_at_mut(depth + 1);
        let (Level { open, rows, .. }, level) = (&before[depth], &mut after[0]);
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
            level.most.push(add(&rows[at * n..(at + 1) * n], g, by, out));
        }
    }
}
