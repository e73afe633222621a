//! Top-k lists: the sum over all of them, with probabilities of places and expectations of links.

use super::fill::Fill;
use super::list::Lists;
use super::power::Power;
use super::reduced::Reduced;
use super::walk::{At, Visit};
use super::weights::Weights;
use super::{Problem, Search, Sums, Way};
use crate::error::{Interrupt, Result};
use crate::structure::matching::places;

/// Placements whose lists together weigh less than e^−60 of the best list are left out: that is far below rounding.
const NEGLIGIBLE: f64 = 60.0;

/// Buffers of the sum.
#[derive(Default)]
pub(super) struct Summing {
    sweep: places::Work,
    fill: Fill,
    weights: Weights,
    power: Power,
    /// The value of the best list, and the logarithm of the most lists of a placement.
    top: f64,
    many: f64,
    /// The probability of each leaf at each open place of one placement; the weight of all lists below each level, and of
    /// those with a leaf at a free place.
    one: Vec<f64>,
    share: Vec<f64>,
    tables: Vec<Vec<f64>>,
    /// Weights of core items at classes; the design of pairs inside the core and of core items with leaves, weighted.
    core: Vec<f64>,
    inside: Vec<f64>,
    pairs: Vec<f64>,
    /// The design against the tail: `D(j, l) − D(tail, l)` for class l and free place j, and `D(tail, l)`.
    slopes: Vec<f64>,
    tail: Vec<f64>,
    design: Vec<f64>,
}

impl Visit for Summing {
    fn skip(&self, bound: f64) -> bool {
        bound + self.many < self.top - NEGLIGIBLE
    }

    fn visit(&mut self, reduced: &Reduced, at: &mut At) -> Result<()> {
        let Some(sum) = self.fill.run(reduced, at.open.len(), at.rows)? else { return Ok(()) };
        if self.skip(at.value + sum) {
            return Ok(());
        }
        let z = self.lists(reduced, at)?;
        let share = (at.value + sum - self.top).exp();
        self.add(reduced, at, share * z);
        Ok(())
    }

    fn leave(&mut self, reduced: &Reduced, c: usize, class: usize) {
        let (n, f) = (reduced.leaves.len(), reduced.free.len());
        if c + 1 == reduced.core() {
            return; // done by `add`
        }
        let (before, after) = self.tables.split_at_mut(c + 1);
        let (to, from) = (&mut before[c], &mut after[0]);
        let (slopes, tail) = (&self.slopes[class * f..(class + 1) * f], self.tail[class]);
        let share = std::mem::take(&mut self.share[c + 1]);
        if share > 0.0 {
            self.share[c] += share;
            for (i, pair) in self.pairs[c * n..(c + 1) * n].iter_mut().enumerate() {
                *pair += share * tail;
                for (j, slope) in slopes.iter().enumerate() {
                    let p = std::mem::take(&mut from[i * f + j]);
                    to[i * f + j] += p;
                    *pair += slope * p;
                }
            }
        }
    }
}

impl Summing {
    pub(super) fn stopped_by(&mut self, stop: Interrupt) {
        self.power.stopped_by(stop.clone());
        self.sweep = std::mem::take(&mut self.sweep).stopped_by(stop);
    }

    /// The sum over all lists of one placement, divided by the best of them; `one` is the probability of each leaf at each open place.
    fn lists(&mut self, reduced: &Reduced, at: &At) -> Result<f64> {
        let (n, k) = (reduced.leaves.len(), at.open.len());
        if k == 0 {
            return Ok(1.0);
        }
        let (weights, stay) = self.sweep.tables(n, k);
        self.weights.fill(reduced, at, &self.fill, weights, stay);
        self.one.resize(self.one.len().max(n * k), 0.0);
        self.sweep.sweep_short(n, k, &mut self.one[..n * k])
    }

    /// Adds the lists of a placement: `weight` is that of all of them.
    fn add(&mut self, reduced: &Reduced, at: &At, weight: f64) {
        let (n, k, f, core) = (reduced.leaves.len(), at.open.len(), reduced.free.len(), reduced.core());
        let classes = self.tail.len();
        let level = core.saturating_sub(1);
        self.share[level] += weight;
        for (c, &class) in at.core.iter().enumerate() {
            self.core[c * classes + class as usize] += weight;
            for (d, &other) in at.core.iter().enumerate().take(c) {
                self.inside[c * core + d] += weight * self.design[class as usize * classes + other as usize];
            }
        }
        let table = &mut self.tables[level];
        if core == 0 {
            for (i, one) in self.one[..n * k].chunks_exact(k.max(1)).enumerate() {
                one.iter().zip(at.open).for_each(|(p, &slot)| table[i * f + slot as usize] += weight * p);
            }
            return;
        }
        let class = at.core[level] as usize;
        let tail = weight * self.tail[class];
        let pairs = &mut self.pairs[level * n..(level + 1) * n];
        pairs.iter_mut().for_each(|pair| *pair += tail);
        if k == 0 {
            return;
        }
        let slopes = &self.slopes[class * f..(class + 1) * f];
        for ((i, one), pair) in self.one[..n * k].chunks_exact(k).enumerate().zip(pairs) {
            for (p, &slot) in one.iter().zip(at.open) {
                let p = weight * p;
                table[i * f + slot as usize] += p;
                *pair += slopes[slot as usize] * p;
            }
        }
    }

    /// Empties all sums; the design is copied against the tail.
    fn start(&mut self, problem: &Problem, reduced: &Reduced) {
        let (n, f, core) = (reduced.leaves.len(), reduced.free.len(), reduced.core());
        let (classes, tail) = (problem.classes(), problem.head());
        self.many = (0..f).map(|j| (n.saturating_sub(j).max(1) as f64).ln()).sum();
        let levels = core.max(1);
        if self.tables.len() < levels {
            self.tables.resize_with(levels, Vec::new);
        }
        for (buffer, len) in
            [(&mut self.share, levels), (&mut self.core, core * classes), (&mut self.inside, core * core)]
        {
            buffer.clear();
            buffer.resize(len, 0.0);
        }
        self.pairs.clear();
        self.pairs.resize(core * n, 0.0);
        for table in &mut self.tables[..levels] {
            table.clear();
            table.resize(n * f, 0.0);
        }
        self.slopes.clear();
        self.tail.clear();
        self.design.clear();
        for class in 0..classes {
            let d = problem.design.row(class);
            self.slopes.extend(reduced.free.iter().map(|&j| d[j as usize] - d[tail]));
            self.tail.push(d[tail]);
            self.design.extend_from_slice(d);
        }
        self.weights.set(reduced, &self.slopes);
    }

    /// Turns the sums into probabilities.
    fn read(&self, problem: &Problem, reduced: &Reduced, sums: &mut Sums) {
        let (n, f, core) = (reduced.leaves.len(), reduced.free.len(), reduced.core());
        let (items, classes, tail) = (problem.items(), problem.classes(), problem.head());
        let z = self.share[0];
        let Sums { marginals, pairs } = sums;
        marginals.clear();
        marginals.resize(items * classes, 0.0);
        pairs.clear();
        pairs.resize(core * items, 0.0);
        for (at, &i) in reduced.leaves.iter().enumerate() {
            let row = &mut marginals[i as usize * classes..(i as usize + 1) * classes];
            let mut head = 0.0;
            for (&j, p) in reduced.free.iter().zip(&self.tables[0][at * f..(at + 1) * f]) {
                row[j as usize] = p / z;
                head += p / z;
            }
            row[tail] = if 1.0 - head > 0.0 { 1.0 - head } else { 0.0 };
            (0..core).for_each(|c| pairs[c * items + i as usize] = self.pairs[c * n + at] / z);
        }
        reduced.must.iter().for_each(|&at| marginals[reduced.leaves[at as usize] as usize * classes + tail] = 0.0);
        for (c, &item) in problem.links.core().iter().enumerate() {
            let own = &self.core[c * classes..(c + 1) * classes];
            let row = &mut marginals[item as usize * classes..(item as usize + 1) * classes];
            row.iter_mut().zip(own).for_each(|(p, weight)| *p = weight / z);
            for (d, &other) in problem.links.core().iter().enumerate().take(c) {
                let pair = self.inside[c * core + d] / z;
                pairs[c * items + other as usize] = pair;
                pairs[d * items + item as usize] = pair;
            }
            for &(i, j) in &reduced.pinned {
                let d = problem.design.row(j as usize);
                pairs[c * items + i as usize] = own.iter().zip(d).map(|(p, d)| p / z * d).sum();
            }
        }
        reduced.pinned.iter().for_each(|&(i, j)| marginals[i as usize * classes + j as usize] = 1.0);
    }
}

impl Summing {
    /// Sums by powers; the logarithm of the sum, none where that is not for this problem.
    fn by_powers(&mut self, problem: &Problem, reduced: &Reduced) -> Result<Option<f64>> {
        let Some(found) = self.power.sum(problem, reduced, &self.weights, &self.slopes)? else { return Ok(None) };
        let (n, f) = (reduced.leaves.len(), reduced.free.len());
        let log = found.scale + found.share.ln();
        self.share[0] = found.share;
        self.core.copy_from_slice(found.core);
        self.inside.copy_from_slice(found.inside);
        for i in 0..n {
            (0..f).for_each(|slot| self.tables[0][i * f + slot] = self.power.leaf(i, slot));
            (0..reduced.core()).for_each(|c| self.pairs[c * n + i] = self.power.pair(c, i));
        }
        Ok(Some(log))
    }
}

impl Lists {
    /// `log Z` and the probabilities; none where there is no list.
    pub(super) fn log_sum(
        &mut self,
        problem: &Problem,
        way: Way,
        summing: &mut Summing,
        sums: &mut Sums,
    ) -> Result<Option<f64>> {
        self.reduced.set(problem);
        summing.start(problem, &self.reduced);
        if way == Way::Powers
            && let Some(log) = summing.by_powers(problem, &self.reduced)?
        {
            summing.read(problem, &self.reduced, sums);
            return Ok(Some(log));
        }
        if !self.search(problem, Search::Bounded)? {
            return Ok(None);
        }
        summing.top = self.value();
        let Self { reduced, walk, .. } = self;
        walk.run(problem, reduced, summing)?;
        summing.read(problem, reduced, sums);
        Ok(Some(summing.top - reduced.big * reduced.must.len() as f64 + summing.share[0].ln()))
    }
}
