//! Whole rankings: boxes of placements of the core, each with prices of places that bound what is in it.
//!
//! A placement leaves only by its own assignment or by a bound that does not exceed the best order so far, so that the
//! answer is exact. At worst every placement is an assignment, the O(N^(C+3)) of \[QAP\] section 3.

mod bounds;
mod follow;
mod square;

use self::bounds::{Bounds, Prices, Region};
use self::square::{Placement, Square};
use super::design::Shape;
use super::{Best, MOST_CORE, Problem};
use crate::error::{Interrupt, Result};

/// The most placements whose bounds are held at once.
const HELD: f64 = (1 << 21) as f64;
/// The most numbers that are read between two questions whether to stop, where a bound reads N² of them.
const READ: f64 = 1e8;
/// Where more than this share of all placements survives one price vector, prices that follow the core are fitted.
const MANY: f64 = 0.3;
/// In the time of the bound of a single placement so many are found that stand in a box: for `|k − l|` and otherwise.
const DENSE: f64 = 12.0;
const DENSE_ANY: f64 = 1.5;
/// Of fewer placements, prices that follow the core cost more than they save.
const WORTH: usize = 8 * follow::SAMPLES;

/// Buffers of whole rankings.
#[derive(Default)]
pub(super) struct Whole {
    square: Square,
    bounds: Bounds,
    stop: Interrupt,
    /// Bounds of the placements of a region, by [`index`].
    held: Vec<f64>,
    region: Option<Region>,
    /// Prices that follow the core, where they are fitted.
    follow: Vec<f64>,
    distance: bool,
    limit: f64,
    spent: f64,
    best: Found,
    /// What no order that was not looked into exceeds.
    rest: f64,
    slack: f64,
}

/// The best order so far.
#[derive(Default)]
struct Found {
    value: f64,
    p: Placement,
    prices: Vec<f64>,
    place: Vec<usize>,
}

impl Whole {
    pub(super) fn stopped_by(&mut self, stop: Interrupt) {
        self.stop = stop;
    }

    /// The best order; none where there is no order.
    pub(super) fn best(&mut self, problem: &Problem, limit: u64, places: &mut Vec<u32>) -> Result<Option<Best>> {
        if problem.pins.iter().any(|&(_, place)| place as usize >= problem.items()) {
            return Ok(None); // in a tail that holds nobody
        }
        self.square.set(problem);
        self.distance = problem.design.shape() == Shape::Distance;
        (self.limit, self.spent, self.rest) = (limit as f64, 0.0, f64::NEG_INFINITY);
        self.best.value = f64::NEG_INFINITY;
        self.follow.clear();
        let Some((_, start)) = self.square.relaxed(false)? else { return Ok(None) };
        let zeros = vec![0.0; self.square.free.len()];
        if self.solve(&start, &zeros)?.is_none() {
            return Ok(None);
        }
        if self.square.core() > 0 {
            self.ascend()?;
            let (low, high) = ([0; MOST_CORE], [self.square.free.len() - 1; MOST_CORE]);
            self.regions(Region { low, high }, problem.design.shape() == Shape::Toeplitz)?;
        }
        self.square.read(problem, &self.best.p, &self.best.place, places);
        let value = problem.value(places);
        let bound = if self.rest > self.best.value + self.slack { self.rest } else { value };
        Ok(Some(Best { value, bound: if bound > value { bound } else { value } }))
    }

    /// Solves the assignment of a placement and keeps it where it is the best; its prices.
    fn solve(&mut self, p: &Placement, prices: &[f64]) -> Result<Option<Vec<f64>>> {
        self.stop.check()?;
        self.spent += 1.0;
        let Some(solved) = self.square.solve(p, prices)? else { return Ok(None) };
        if solved.value > self.best.value {
            self.best = Found { value: solved.value, p: *p, prices: solved.prices.clone(), place: solved.place };
            self.slack = 1e-13 * (1.0 + solved.value.abs());
        }
        Ok(Some(solved.prices))
    }

    /// Moves one core item after another to where the bound is largest, as long as that is better.
    fn ascend(&mut self) -> Result<()> {
        let core = self.square.core();
        let (mut c, mut since) = (0, 0);
        while since < core && self.spent < self.limit {
            let region = {
                let (mut low, mut high) = (self.best.p, self.best.p);
                (low[c], high[c]) = (0, self.square.free.len() - 1);
                Region { low, high }
            };
            let (value, now) = (self.best.value, self.best.p);
            let prices = std::mem::take(&mut self.best.prices);
            let mut most = (value + self.slack, None);
            let at = Prices { fixed: &prices, follow: &[] };
            self.bounds.pass(&self.square, &region, &at, self.distance, &mut |p, bound| {
                if bound > most.0 && *p != now {
                    most = (bound, Some(*p));
                }
            });
            self.best.prices = prices;
            if let (_, Some(p)) = most {
                let prices = self.best.prices.clone();
                self.solve(&p, &prices)?;
            }
            since = if self.best.value > value { 0 } else { since + 1 };
            c = (c + 1) % core;
        }
        Ok(())
    }

    /// What the bounds of a region cost, in assignments.
    fn cost(&self, region: &Region) -> f64 {
        let f = self.square.free.len() as f64;
        region.volume(self.square.core()) / if self.distance { 3.0 * f } else { 8.0 }
    }

    /// Regions of which all bounds can be held, one after another.
    fn regions(&mut self, region: Region, toeplitz: bool) -> Result<()> {
        let core = self.square.core();
        let f = self.square.free.len() as f64;
        let most = if self.distance { HELD } else { HELD.min(READ / (f * f)).max(1.0) };
        if region.volume(core) > most {
            let widest = (0..core).max_by_key(|&c| region.high[c] - region.low[c]).unwrap_or(0);
            let middle = usize::midpoint(region.low[widest], region.high[widest]);
            let (mut left, mut right) = (region, region);
            (left.high[widest], right.low[widest]) = (middle, middle + 1);
            self.regions(left, toeplitz)?;
            return self.regions(right, toeplitz);
        }
        self.stop.check()?;
        if self.spent + self.cost(&region) > self.limit {
            if self.rest < f64::INFINITY {
                // nothing is known of it but what is known of all
                let all = self.square.relaxed(true)?.map_or(f64::NEG_INFINITY, |(value, _)| value);
                self.rest = if all > self.rest { all } else { self.rest };
            }
            return Ok(());
        }
        self.spent += self.cost(&region);
        let fixed = self.best.prices.clone();
        self.hold(&region, &fixed, true);
        let mut left = self.survivors(&region);
        let many = left.len() as f64 > MANY * region.volume(core) && left.len() > WORTH * core;
        if toeplitz && self.follow.is_empty() && many {
            self.fit_follow()?;
        }
        let fixed = self.less_follow(&self.best.p, &self.best.prices);
        if !self.follow.is_empty() {
            self.hold(&region, &fixed, false);
            left = self.survivors(&region);
        }
        self.boxes(&mut left, &fixed)
    }

    /// Prices without the part that follows the core.
    fn less_follow(&self, p: &Placement, prices: &[f64]) -> Vec<f64> {
        let mut part = vec![];
        let zeros = vec![0.0; prices.len()];
        Prices { fixed: &zeros, follow: &self.follow }.at(&self.square, p, &mut part);
        prices.iter().zip(part).map(|(v, follow)| v - follow).collect()
    }

    /// The bounds of a region, `first` or against those that are held.
    fn hold(&mut self, region: &Region, fixed: &[f64], first: bool) {
        let core = self.square.core();
        if first {
            self.held.clear();
            self.held.resize(region.volume(core) as usize, f64::NEG_INFINITY);
            self.region = Some(*region);
        }
        let Some(whole) = self.region else { return };
        let held = &mut self.held;
        let prices = Prices { fixed, follow: &self.follow };
        self.bounds.pass(&self.square, region, &prices, self.distance, &mut |p, bound| {
            let held = &mut held[index(&whole, core, p)];
            if first || bound < *held {
                *held = bound;
            }
        });
    }

    /// The placements of a region that may be better than the best so far.
    fn survivors(&self, region: &Region) -> Vec<u32> {
        let cut = self.best.value + self.slack;
        let own = index(region, self.square.core(), &self.best.p);
        let inside = (0..self.square.core()).all(|c| (region.low[c]..=region.high[c]).contains(&self.best.p[c]));
        let better = |&at: &usize| self.held[at] > cut && !(inside && at == own);
        (0..self.held.len()).filter(better).map(|at| at as u32).collect()
    }

    /// The best placements of a box are solved, and their prices bound the others; then each half on its own.
    fn boxes(&mut self, left: &mut [u32], fixed: &[f64]) -> Result<()> {
        let Some(whole) = self.region else { return Ok(()) };
        let core = self.square.core();
        let (left, top) = self.kept(left);
        let Some(top) = top else { return Ok(()) };
        if self.spent >= self.limit {
            let bound = self.held[left[top] as usize];
            self.rest = if bound > self.rest { bound } else { self.rest };
            return Ok(());
        }
        let p = placement(&whole, core, left[top] as usize);
        self.held[left[top] as usize] = f64::NEG_INFINITY;
        let mut prices = vec![];
        Prices { fixed, follow: &self.follow }.at(&self.square, &p, &mut prices);
        let solved = self.solve(&p, &prices)?;
        let fixed = solved.map_or_else(|| fixed.to_vec(), |prices| self.less_follow(&p, &prices));
        let (left, top) = self.kept(left);
        if top.is_none() {
            return Ok(());
        }
        let region = around(&whole, core, left);
        let dense = if self.distance { DENSE } else { DENSE_ANY };
        if left.len() as f64 * dense > region.volume(core) {
            self.spent += self.cost(&region);
            self.hold(&region, &fixed, false);
        } else {
            self.spent += self.cost(&region) * left.len() as f64 * dense / region.volume(core);
            let prices = Prices { fixed: &fixed, follow: &self.follow };
            for &at in &*left {
                let bound = self.bounds.one(&self.square, &placement(&whole, core, at as usize), &prices);
                let held = &mut self.held[at as usize];
                *held = if bound < *held { bound } else { *held };
            }
        }
        let (left, top) = self.kept(left);
        let Some(top) = top else { return Ok(()) };
        let first = left[top];
        let region = around(&whole, core, left);
        let widest = (0..core).max_by_key(|&c| region.high[c] - region.low[c]).unwrap_or(0);
        let middle = usize::midpoint(region.low[widest], region.high[widest]);
        let side = |at: u32| placement(&whole, core, at as usize)[widest] > middle;
        left.sort_by_key(|&at| side(at) != side(first)); // the half of the best comes first
        let half = left.partition_point(|&at| side(at) == side(first));
        let (one, other) = left.split_at_mut(half);
        self.boxes(one, &fixed)?;
        self.boxes(other, &fixed)
    }

    /// Those that may still be better, and which of them has the largest bound.
    fn kept<'a>(&self, left: &'a mut [u32]) -> (&'a mut [u32], Option<usize>) {
        let cut = self.best.value + self.slack;
        let (mut count, mut top) = (0, None);
        let mut most = cut;
        for at in 0..left.len() {
            let bound = self.held[left[at] as usize];
            if bound > cut {
                left[count] = left[at];
                if bound > most {
                    (most, top) = (bound, Some(count));
                }
                count += 1;
            }
        }
        (&mut left[..count], top)
    }
}

/// Where the bound of a placement of a region is held.
fn index(region: &Region, core: usize, p: &Placement) -> usize {
    (0..core).fold(0, |at, c| at * (region.high[c] - region.low[c] + 1) + p[c].wrapping_sub(region.low[c]))
}

/// The placement whose bound is held there.
fn placement(region: &Region, core: usize, mut at: usize) -> Placement {
    let mut p = [0; MOST_CORE];
    for c in (0..core).rev() {
        let width = region.high[c] - region.low[c] + 1;
        p[c] = region.low[c] + at % width;
        at /= width;
    }
    p
}

/// The least region that has all of them.
fn around(whole: &Region, core: usize, left: &[u32]) -> Region {
    let mut region = Region { low: [usize::MAX; MOST_CORE], high: [0; MOST_CORE] };
    for &at in left {
        let p = placement(whole, core, at as usize);
        for (c, &q) in p[..core].iter().enumerate() {
            region.low[c] = region.low[c].min(q);
            region.high[c] = region.high[c].max(q);
        }
    }
    region
}
