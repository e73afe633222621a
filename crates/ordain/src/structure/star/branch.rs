//! The best configuration of a star's core, depth-first with dominance and bound.

use crate::structure::star::max::{Found, Met, at_most, front, top};
use crate::structure::star::reduced::Reduced;

/// Buffers of the search.
#[derive(Clone, Debug, Default)]
pub(in crate::structure) struct Branch {
    /// What the core labels from a level on can add to a label and take from it: a row per level.
    above: Vec<f64>,
    below: Vec<f64>,
    /// Half of what a core label can gain from the other undecided ones, a row per level.
    half: Vec<f64>,
    /// The labels left at each level and their scores there; the scores of the core labels at each level.
    left: Vec<u32>,
    scores: Vec<f64>,
    own: Vec<f64>,
    values: Vec<f64>,
    /// Largest scores without links, descending.
    steps: Vec<f64>,
}

/// A node: the core labels before `level` are decided, `taken` of them are in.
#[derive(Clone, Copy)]
struct Node {
    level: usize,
    taken: usize,
    mask: u32,
    /// The score of what is in.
    constant: f64,
    /// Labels left.
    left: usize,
}

fn positive(g: f64) -> f64 {
    if g > 0.0 { g } else { 0.0 }
}

impl Branch {
    /// Offers the best set (and where two are sought the next one) of every configuration that is not given up.
    pub(in crate::structure) fn max(&mut self, reduced: &Reduced, found: &mut Found) {
        let (free, stride, count) = (reduced.core.len(), reduced.stride, reduced.labels.len());
        let grow = |buffer: &mut Vec<f64>, width: usize| buffer.resize(buffer.len().max((free + 1) * width), 0.0);
        grow(&mut self.above, stride);
        grow(&mut self.below, stride);
        grow(&mut self.scores, stride);
        grow(&mut self.half, free);
        grow(&mut self.own, free);
        self.left.resize(self.left.len().max((free + 1) * stride), 0);
        self.above[free * stride..(free + 1) * stride].fill(0.0);
        self.below[free * stride..(free + 1) * stride].fill(0.0);
        self.half[free * free..].fill(0.0);
        for f in (0..free).rev() {
            let row = reduced.row(f);
            let (above, after) = self.above[f * stride..].split_at_mut(stride);
            for (x, (y, &g)) in above.iter_mut().zip(after.iter().zip(row)) {
                *x = y + positive(g);
            }
            let (below, after) = self.below[f * stride..].split_at_mut(stride);
            for (x, (y, &g)) in below.iter_mut().zip(after.iter().zip(row)) {
                *x = y + (g - positive(g));
            }
            let (half, after) = self.half[f * free..].split_at_mut(free);
            for (x, (y, &g)) in half.iter_mut().zip(after.iter().zip(&reduced.pair[f * free..])) {
                *x = y + 0.5 * positive(g);
            }
        }
        self.own[..free].copy_from_slice(&reduced.own);
        self.left.iter_mut().zip(0..).take(count).for_each(|(x, i)| *x = i);
        self.scores[..count].copy_from_slice(&reduced.score[..count]);
        self.steps.clear();
        self.steps.extend_from_slice(&reduced.score[..count]);
        self.steps.extend_from_slice(&reduced.own);
        front(&mut self.steps, reduced.k, |&x| x);
        self.steps.truncate(reduced.k);
        self.steps.sort_unstable_by(|a, b| b.total_cmp(a));
        let root = Node { level: 0, taken: 0, mask: 0, constant: reduced.base, left: count };
        if free == 0 {
            self.values.clear();
            self.values.extend_from_slice(&reduced.score[..count]);
            self.leaf(reduced, root, found);
        } else {
            self.expand(reduced, root, found);
        }
    }

    /// The most that a set below a child can score, with `values` free for use; none where there is no set.
    /// Below the last level it is the best value itself, which is offered.
    fn bound(&mut self, reduced: &Reduced, at: Node, inside: bool, found: &mut Found) -> Option<(f64, Node)> {
        let (free, stride, level) = (reduced.core.len(), reduced.stride, at.level);
        let own = level * free;
        let taken = at.taken + usize::from(inside);
        if taken > reduced.k {
            return None;
        }
        let mut child = Node { level: level + 1, taken, ..at };
        let left = &self.left[level * stride..level * stride + at.left];
        let scores = &self.scores[level * stride..level * stride + at.left];
        let above = &self.above[(level + 1) * stride..(level + 2) * stride];
        self.values.clear();
        if inside {
            child.constant += self.own[own + level];
            child.mask |= reduced.bit(level);
            let row = reduced.row(level);
            self.values.extend(left.iter().zip(scores).map(|(&i, v)| v + row[i as usize] + above[i as usize]));
        } else {
            self.values.extend(left.iter().zip(scores).map(|(&i, v)| v + above[i as usize]));
        }
        if child.level == free {
            let r = reduced.k - taken;
            if r > 0 && found.beats(child.constant + at_most(&self.values, r, self.steps[r - 1]), child.mask) {
                return None;
            }
            self.leaf(reduced, child, found);
            return None;
        }
        let pair = &reduced.pair[level * free..(level + 1) * free];
        let half = &self.half[(level + 1) * free..(level + 2) * free];
        for f in level + 1..free {
            let linked = if inside { pair[f] } else { 0.0 };
            self.values.push(self.own[own + f] + linked + half[f]);
        }
        let r = reduced.k - taken;
        let lower = reduced.bit(level) - 1;
        if r > 0 && r <= self.values.len() {
            let quick = child.constant + at_most(&self.values, r, self.steps[r - 1]);
            if found.beats(quick, child.mask | lower) {
                return None;
            }
        }
        let (sum, _) = top(&mut self.values, r)?;
        Some((child.constant + sum, child))
    }

    fn leaf(&mut self, reduced: &Reduced, at: Node, found: &mut Found) {
        let Some((sum, lost)) = top(&mut self.values, reduced.k - at.taken) else { return };
        let value = at.constant + sum;
        found.offer(Met { value, mask: at.mask, exchanged: false });
        if found.two && lost < f64::INFINITY {
            found.offer(Met { value: value - lost, mask: at.mask, exchanged: true });
        }
    }

    fn expand(&mut self, reduced: &Reduced, at: Node, found: &mut Found) {
        let children = [true, false].map(|inside| self.bound(reduced, at, inside, found));
        let swap = matches!(children, [Some((a, _)), Some((b, _))] if a < b);
        let lower = reduced.bit(at.level) - 1;
        for inside in if swap { [false, true] } else { [true, false] } {
            let Some((bound, mut child)) = children[usize::from(!inside)] else { continue };
            if !found.beats(bound, child.mask | lower) {
                child.left = self.shorten(reduced, at, inside, reduced.k - child.taken + usize::from(found.two));
                self.expand(reduced, child, found);
            }
        }
    }

    /// Writes down the scores of a child and leaves out labels that `t` others exceed whatever follows.
    fn shorten(&mut self, reduced: &Reduced, at: Node, inside: bool, t: usize) -> usize {
        let (free, stride, level) = (reduced.core.len(), reduced.stride, at.level);
        let (scores, child) = self.scores[level * stride..].split_at_mut(stride);
        let (left, kept) = self.left[level * stride..].split_at_mut(stride);
        let row = reduced.row(level);
        let above = &self.above[(level + 1) * stride..(level + 2) * stride];
        let below = &self.below[(level + 1) * stride..(level + 2) * stride];
        let score = |i: u32, v: f64| if inside { v + row[i as usize] } else { v };
        let mut floor = f64::NEG_INFINITY;
        if t == 0 {
            floor = f64::INFINITY;
        } else if t < at.left {
            self.values.clear();
            let all = left.iter().zip(&*scores).take(at.left);
            self.values.extend(all.map(|(&i, &v)| score(i, v) + below[i as usize]));
            floor = *self.values.select_nth_unstable_by(t - 1, |a, b| b.total_cmp(a)).1;
        }
        let mut count = 0;
        for (&i, &v) in left.iter().zip(&*scores).take(at.left) {
            let v = score(i, v);
            kept[count] = i;
            child[count] = v;
            count += usize::from(v + above[i as usize] >= floor);
        }
        let (own, more) = self.own[level * free..].split_at_mut(free);
        for (x, (v, g)) in more.iter_mut().zip(own.iter().zip(&reduced.pair[level * free..])) {
            *x = if inside { v + g } else { *v };
        }
        count
    }
}
