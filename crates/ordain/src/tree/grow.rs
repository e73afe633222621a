//! Trees grown leaf by leaf, the best gain first.

use super::bins::{Bins, WIDTH};
use super::cuts::{Column, Cuts};
use super::grown::{Inner, Node, Raw, Tree};
use super::histogram::{Block, Cell, EMPTY, Rounded, Sums, add, finite, minus, plus};
use super::partition::partition;
use super::split::{Open, Rules, Split, Test, best};
use crate::random::Random;
use rayon::prelude::*;

/// How a tree is grown.
///
/// ```
/// let how = ordain::tree::Growth { leaves: 7, ..Default::default() };
/// assert_eq!((how.leaves, how.ridge, how.least_rows), (7, 1.0, 20));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// The most leaves of a tree.
    pub leaves: usize,
    /// The ridge on values of leaves.
    pub ridge: f64,
    /// The fewest rows of a leaf.
    pub least_rows: u32,
    /// The least sum of curvatures of a leaf.
    pub least_curvature: f64,
    /// The gain that a split has to pass: how much less the sum to be minimised becomes.
    pub least_gain: f64,
    /// The share of columns that a tree may use, drawn for each tree.
    pub columns: f64,
    /// For each column 1 if scores may not fall along it, −1 if they may not rise, 0 if they may; empty: 0 for all. Categories are free.
    pub monotone: Vec<i8>,
}

impl Default for Growth {
    /// 31 leaves of 20 rows, ridge 1, all columns.
    fn default() -> Self {
        Self {
            leaves: 31,
            ridge: 1.0,
            least_rows: 20,
            least_curvature: 1e-3,
            least_gain: 0.0,
            columns: 1.0,
            monotone: vec![],
        }
    }
}

/// Bytes of histograms that are kept; leaves that could not be kept are summed again when they are split.
const KEPT: usize = 1 << 28;

/// Fewer cells than these are not worth a second thread.
const ALONE: usize = 1 << 14;

/// Rows whose slopes are added one after another; longer runs are halved.
const RUN: usize = 4096;

/// A leaf of the tree that grows.
struct Leaf {
    node: u32,
    /// Its rows, in the order of rows of the grower.
    rows: [usize; 2],
    open: Open,
    /// Its histogram in the pool.
    histogram: Option<usize>,
    best: Option<Split>,
}

/// Grows trees on rows in bins. It keeps its buffers from one tree to the next.
pub struct Grower<'a> {
    cuts: &'a Cuts,
    bins: &'a Bins,
    rounded: Rounded,
    /// Rows, those of a leaf together and ascending.
    order: Vec<u32>,
    spare: Vec<u32>,
    /// Rows of each leaf of the last tree.
    spans: Vec<[usize; 2]>,
    pool: Pool,
    /// Which slots the tree may use.
    allowed: Vec<bool>,
    found: Vec<[Option<Split>; 2]>,
    /// Histograms of parts of the rows of a leaf, one for each thread but the first.
    parts: Vec<Vec<Block>>,
}

/// Histograms that are reused.
struct Pool {
    all: Vec<Vec<Block>>,
    free: Vec<usize>,
    /// The most bytes that are kept.
    kept: usize,
}

impl Pool {
    /// A histogram, of which nothing is known; `None` where no more are to be kept.
    fn take(&mut self, blocks: usize) -> Option<usize> {
        if let Some(at) = self.free.pop() {
            return Some(at);
        }
        // at least three: a parent and two children
        if self.all.len() >= 3 && (self.all.len() + 1) * blocks * size_of::<Block>() > self.kept {
            return None;
        }
        self.all.push(vec![EMPTY; blocks]);
        Some(self.all.len() - 1)
    }

    fn put(&mut self, at: Option<usize>) {
        self.free.extend(at);
    }
}

impl<'a> Grower<'a> {
    /// A grower on these rows, which were put into bins by these cuts.
    pub fn new(cuts: &'a Cuts, bins: &'a Bins) -> Self {
        Self {
            cuts,
            bins,
            rounded: Rounded::default(),
            order: vec![],
            spare: vec![],
            spans: vec![],
            pool: Pool { all: vec![], free: vec![], kept: KEPT },
            allowed: vec![],
            found: vec![],
            parts: vec![],
        }
    }

    /// One tree f that makes `Σ d_i f(x_i) + ½ h_i f(x_i)² + ridge/2 Σ leaf²` small, over `rows` (ascending, each once).
    ///
    /// The leaf with the best gain is split, until there are enough leaves or no split is worth it. Gains come from rounded sums; the value
    /// of a leaf, `−Σd/(Σh + ridge)`, from sums in f64, in an order that the rows fix. Where both directions of missing values are as
    /// good, or two splits, the first column and the lowest bin are taken. `d` and `h` have an entry for each row of the bins;
    /// one that is not finite counts as 0, and so does a negative `h`.
    ///
    /// O(rows · columns · log leaves) where splits are even, on all threads, with the same bits on any number of them.
    ///
    /// # Panics
    ///
    /// If `d` or `h` is shorter than the rows need.
    pub fn grow(&mut self, d: &[f64], h: &[f64], rows: &[u32], how: &Growth, random: &mut Random) -> Tree {
        self.rounded.set(d, h, rows);
        self.order.clear();
        self.order.extend_from_slice(rows);
        self.spare.resize(rows.len(), 0);
        self.draw(how.columns, random);
        self.pool.free = (0..self.pool.all.len()).rev().collect();
        let rules = Rules {
            ridge: how.ridge,
            least_rows: u64::from(how.least_rows.max(1)),
            least_curvature: how.least_curvature,
            least_gain: how.least_gain.max(0.0),
            units: self.rounded.units,
        };
        let mut nodes = vec![Node::Leaf(0.0)];
        let mut leaves = vec![self.root(how)];
        if how.leaves > 1 {
            self.look_at_root(&mut leaves[0], how, &rules);
        }
        while leaves.len() < how.leaves {
            let Some(at) = best_leaf(&leaves) else { break };
            let last = leaves.len() + 1 == how.leaves;
            self.split(&mut nodes, &mut leaves, at, last, how, &rules);
        }
        let values: Vec<f64> = leaves.par_iter().map(|leaf| self.value(d, h, leaf, &rules)).collect();
        self.spans.clear();
        self.spans.extend(leaves.iter().map(|leaf| leaf.rows));
        let leaves: Vec<u32> = leaves.iter().map(|leaf| leaf.node).collect();
        leaves.iter().zip(values).for_each(|(&node, value)| nodes[node as usize] = Node::Leaf(value));
        Tree { nodes, leaves }
    }

    /// Adds `rate · value` to the score of every row that took part in the last tree, by the leaf in which it ended. O(rows).
    pub fn add_last(&self, tree: &Tree, rate: f64, scores: &mut [f64]) {
        scores.par_chunks_mut(1 << 14).enumerate().for_each(|(part, scores)| {
            let (first, end) = (part << 14, (part << 14) + scores.len());
            for (leaf, &[start, stop]) in self.spans.iter().enumerate().take(tree.leaves()) {
                let (rows, step) = (&self.order[start..stop], rate * tree.value(leaf));
                let rows = &rows[rows.partition_point(|&row| (row as usize) < first)..];
                let rows = &rows[..rows.partition_point(|&row| (row as usize) < end)];
                rows.iter().for_each(|&row| scores[row as usize - first] += step);
            }
        });
    }

    /// Adds `rate · value` to the scores of some rows in bins of the same cuts, by a walk from the root. O(rows · depth).
    pub fn walk(&self, tree: &Tree, bins: &Bins, rows: &[u32], rate: f64, scores: &mut [f64]) {
        fn parts(tree: &Tree, bins: &Bins, rows: &[u32], first: usize, rate: f64, scores: &mut [f64]) {
            if rows.len() <= RUN {
                rows.iter().for_each(|&row| scores[row as usize - first] += rate * tree.of_row(bins, row as usize));
                return;
            }
            let (left, right) = rows.split_at(rows.len() / 2);
            let (above, below) = scores.split_at_mut(right[0] as usize - first);
            rayon::join(
                || parts(tree, bins, left, first, rate, above),
                || parts(tree, bins, right, right[0] as usize, rate, below),
            );
        }
        if rows.is_sorted_by(|a, b| a < b) {
            parts(tree, bins, rows, 0, rate, scores);
        } else {
            rows.iter().for_each(|&row| scores[row as usize] += rate * tree.of_row(bins, row as usize));
        }
    }

    /// The columns of this tree.
    fn draw(&mut self, share: f64, random: &mut Random) {
        let live = self.cuts.live.len();
        let wanted = ((share * live as f64).round() as usize).clamp(live.min(1), live);
        self.allowed.clear();
        self.allowed.resize(live, wanted == live);
        if wanted < live {
            let mut slots: Vec<usize> = (0..live).collect();
            for k in 0..wanted {
                slots.swap(k, k + random.below(live - k));
                self.allowed[slots[k]] = true;
            }
        }
    }

    fn root(&self, how: &Growth) -> Leaf {
        let cells = &self.rounded.rows;
        let sum = |part: &[u32]| part.iter().fold([0; 2], |sum, &row| plus(sum, cells[row as usize]));
        let cell = self.order.par_chunks(1 << 14).map(sum).reduce(|| [0; 2], plus);
        let bounds = how.monotone.iter().any(|&rises| rises != 0).then_some([f64::NEG_INFINITY, f64::INFINITY]);
        Leaf { node: 0, rows: [0, self.order.len()], open: Open { cell, bounds }, histogram: None, best: None }
    }

    fn look_at_root(&mut self, root: &mut Leaf, how: &Growth, rules: &Rules) {
        root.histogram = self.pool.take(self.bins.blocks());
        let mut own = root.histogram.map_or_else(Vec::new, |at| std::mem::take(&mut self.pool.all[at]));
        let rows = &self.order[..];
        let work = rows.len() * self.cuts.live.len();
        let view =
            View { cuts: self.cuts, bins: self.bins, cells: &self.rounded.rows, allowed: &self.allowed, how, rules };
        self.found.clear();
        self.found.resize(self.bins.blocks(), [None; 2]);
        let (group, parallel) = groups(self.bins.blocks(), work);
        let parts = part_rows(&mut self.parts, self.bins.blocks(), rows.len());
        view.sum_parts(&mut own, parts, rows);
        type Work<'w> = (usize, (&'w mut [Block], &'w mut [[Option<Split>; 2]]));
        let one = |(at, (sums, found)): Work| {
            view.sum(sums, at * group, rows, parts);
            for ((block, sums), found) in (at * group..).zip(sums).zip(found) {
                found[0] = view.best(sums, block, &root.open);
            }
        };
        if parallel {
            own.par_chunks_mut(group).zip(self.found.par_chunks_mut(group)).enumerate().for_each(one);
        } else {
            one((0, (&mut own, &mut self.found)));
        }
        if let Some(at) = root.histogram {
            self.pool.all[at] = own;
        }
        root.best = best_block(&self.found, 0);
    }

    /// Splits leaf `at`; its left child takes its place, its right child comes last.
    fn split(
        &mut self,
        nodes: &mut Vec<Node>,
        leaves: &mut Vec<Leaf>,
        at: usize,
        last: bool,
        how: &Growth,
        rules: &Rules,
    ) {
        let Some(split) = leaves[at].best.take() else { return };
        let parent = &leaves[at];
        let [start, end] = parent.rows;
        let (slot, test) = (split.slot as usize, split.test);
        let (bins, goes_left) = (self.bins.slot(slot), test.table());
        let count = partition(&mut self.order[start..end], &mut self.spare[start..end], |row| {
            goes_left[bins[row as usize] as usize]
        });
        let column = self.cuts.live[slot];
        let rises = match self.cuts.columns[column as usize] {
            Column::Cuts(_) => how.monotone.get(column as usize).copied().unwrap_or(0),
            Column::Values(_) => 0,
        };
        let child = [nodes.len() as u32, nodes.len() as u32 + 1];
        let raw = self.raw(column, test);
        let (node, gain) = (parent.node as usize, split.gain);
        nodes[node] = Node::Inner(Inner { column, slot: split.slot, test, raw, child, gain });
        nodes.extend([Node::Leaf(0.0), Node::Leaf(0.0)]);
        let opens = children(&parent.open, &split, rises, rules);
        let histogram = leaves[at].histogram.take();
        let [mut left, mut right] = [0, 1].map(|side| Leaf {
            node: child[side],
            rows: [[start, start + count], [start + count, end]][side],
            open: opens[side],
            histogram: None,
            best: None,
        });
        if last {
            self.pool.put(histogram);
        } else {
            self.look_at(&mut left, &mut right, histogram, leaves, how, rules);
        }
        leaves[at] = left;
        leaves.push(right);
    }

    /// Finds the best splits of two children. The smaller one is summed, the other one is what is left of the parent.
    fn look_at(
        &mut self,
        left: &mut Leaf,
        right: &mut Leaf,
        parent: Option<usize>,
        leaves: &mut [Leaf],
        how: &Growth,
        rules: &Rules,
    ) {
        let can = |leaf: &Leaf| rules.units.rows(leaf.open.cell) >= 2 * rules.least_rows;
        let size = |leaf: &Leaf| leaf.rows[1] - leaf.rows[0];
        let (small, large) = if size(left) <= size(right) { (left, right) } else { (right, left) };
        if !can(large) {
            self.pool.put(parent);
            return;
        }
        let known = parent.is_some();
        let large_at = parent.or_else(|| self.room(leaves));
        let small_at = self.room(leaves);
        let (Some(small_at), Some(large_at)) = (small_at, large_at) else { return };
        let mut small_sums = std::mem::take(&mut self.pool.all[small_at]);
        let mut large_sums = std::mem::take(&mut self.pool.all[large_at]);
        let order = &self.order;
        let rows = |leaf: &Leaf| &order[leaf.rows[0]..leaf.rows[1]];
        let (small_rows, large_rows, both) = (rows(small), rows(large), can(small));
        let view =
            View { cuts: self.cuts, bins: self.bins, cells: &self.rounded.rows, allowed: &self.allowed, how, rules };
        let (group, parallel) = groups(self.bins.blocks(), small_rows.len() * self.cuts.live.len());
        let parts = part_rows(&mut self.parts, self.bins.blocks(), small_rows.len());
        view.sum_parts(&mut small_sums, parts, small_rows);
        type Work<'w> = (usize, ((&'w mut [Block], &'w mut [Block]), &'w mut [[Option<Split>; 2]]));
        let one = |(at, ((small_sums, large_sums), found)): Work| {
            let first = at * group;
            view.sum(small_sums, first, small_rows, parts);
            if !known {
                view.sum(large_sums, first, large_rows, &[]);
            }
            for (((block, small_sums), large_sums), found) in (first..).zip(small_sums).zip(large_sums).zip(found) {
                if known {
                    view.subtract(large_sums, small_sums, block);
                }
                found[0] = if both { view.best(small_sums, block, &small.open) } else { None };
                found[1] = view.best(large_sums, block, &large.open);
            }
        };
        if parallel {
            let sums = small_sums.par_chunks_mut(group).zip(large_sums.par_chunks_mut(group));
            sums.zip(self.found.par_chunks_mut(group)).enumerate().for_each(one);
        } else {
            one((0, ((&mut small_sums, &mut large_sums), &mut self.found)));
        }
        self.pool.all[small_at] = small_sums;
        self.pool.all[large_at] = large_sums;
        for (leaf, at, side) in [(small, small_at, 0), (large, large_at, 1)] {
            leaf.best = best_block(&self.found, side);
            match leaf.best {
                Some(_) => leaf.histogram = Some(at),
                None => self.pool.put(Some(at)),
            }
        }
    }

    /// A histogram for a leaf; where too many are kept, that of the leaf with the least gain.
    fn room(&mut self, leaves: &mut [Leaf]) -> Option<usize> {
        self.pool.take(self.bins.blocks()).or_else(|| {
            let gain = |leaf: &Leaf| leaf.best.map_or(0.0, |split| split.gain);
            let kept = leaves.iter_mut().filter(|leaf| leaf.histogram.is_some());
            kept.min_by(|a, b| gain(a).total_cmp(&gain(b)))?.histogram.take()
        })
    }

    /// The test of a node on raw values.
    fn raw(&self, column: u32, test: Test) -> Raw {
        let values = self.cuts.of(column as usize);
        match test {
            Test::Cut { bin, missing_left } => {
                let cut = values.get(bin as usize - 1).copied().unwrap_or(f32::INFINITY);
                Raw::Cut { cut, missing_left }
            }
            Test::Set(_) => {
                let left = values.iter().enumerate().filter(|(k, _)| test.left(*k as u8 + 1));
                Raw::Set(left.map(|(_, &value)| value).collect())
            }
        }
    }

    /// The value of a leaf, by sums in f64 of its rows in their order.
    fn value(&self, d: &[f64], h: &[f64], leaf: &Leaf, rules: &Rules) -> f64 {
        let [start, end] = leaf.rows;
        let (d, h) = sum(d, h, &self.order[start..end]);
        rules.value(&Sums { rows: (end - start) as u64, d, h }, leaf.open.bounds)
    }
}

/// Slopes and curvatures of some rows, in runs that are added by halves: the same order on any number of threads.
fn sum(d: &[f64], h: &[f64], rows: &[u32]) -> (f64, f64) {
    if rows.len() <= RUN {
        return rows
            .iter()
            .fold((0.0, 0.0), |(a, b), &row| (a + finite(d[row as usize]), b + finite(h[row as usize]).max(0.0)));
    }
    let (left, right) = rows.split_at(rows.len() / 2);
    let (a, b) = rayon::join(|| sum(d, h, left), || sum(d, h, right));
    (a.0 + b.0, a.1 + b.1)
}

/// What the work on one block reads.
struct View<'a> {
    cuts: &'a Cuts,
    bins: &'a Bins,
    cells: &'a [Cell],
    allowed: &'a [bool],
    how: &'a Growth,
    rules: &'a Rules,
}

impl View<'_> {
    /// Slots of a block that the tree may use, with their columns.
    fn slots(&self, block: usize) -> impl Iterator<Item = (usize, u32)> {
        let live = &self.cuts.live;
        (block * WIDTH..live.len().min((block + 1) * WIDTH))
            .filter(|&slot| self.allowed[slot])
            .map(|slot| (slot, live[slot]))
    }

    /// The histograms of some blocks, the first of them `first`, for some rows; or where parts of the rows were summed, their sums.
    fn sum(&self, sums: &mut [Block], first: usize, rows: &[u32], parts: &[Vec<Block>]) {
        if parts.is_empty() {
            self.clear(sums, first);
            return self.add(sums, first, rows);
        }
        for (block, sums) in (first..).zip(sums) {
            for (slot, used) in self.used(block) {
                for part in parts {
                    let (sums, part) = (&mut sums[slot % WIDTH][..used], &part[block][slot % WIDTH]);
                    sums.iter_mut().zip(part).for_each(|(a, b)| *a = plus(*a, *b));
                }
            }
        }
    }

    /// Sums parts of the rows on their own threads: the first into `sums`, the others into `parts`.
    fn sum_parts(&self, sums: &mut [Block], parts: &mut [Vec<Block>], rows: &[u32]) {
        if parts.is_empty() {
            return;
        }
        let each = rows.len().div_ceil(parts.len() + 1);
        let all: Vec<&mut [Block]> = [sums].into_iter().chain(parts.iter_mut().map(|part| &mut part[..])).collect();
        all.into_par_iter().zip(rows.par_chunks(each)).for_each(|(sums, rows)| {
            self.clear(sums, 0);
            self.add(sums, 0, rows);
        });
    }

    fn add(&self, sums: &mut [Block], first: usize, rows: &[u32]) {
        add(sums, first, self.bins, rows, self.cells, |block| self.slots(block).next().is_some());
    }

    fn clear(&self, sums: &mut [Block], first: usize) {
        for (block, sums) in (first..).zip(sums) {
            self.used(block).for_each(|(slot, used)| sums[slot % WIDTH][..used].fill([0; 2]));
        }
    }

    /// Slots of a block that the tree may use, with the number of their bins, that of missing values among them.
    fn used(&self, block: usize) -> impl Iterator<Item = (usize, usize)> {
        self.slots(block).map(|(slot, column)| (slot, self.cuts.columns[column as usize].bins() + 1))
    }

    /// What is left of a parent.
    fn subtract(&self, parent: &mut Block, child: &Block, block: usize) {
        for (slot, used) in self.used(block) {
            let (parent, child) = (&mut parent[slot % WIDTH][..used], &child[slot % WIDTH]);
            parent.iter_mut().zip(child).for_each(|(a, b)| *a = minus(*a, *b));
        }
    }

    /// The best split of a leaf by the columns of a block, the first where several are as good.
    fn best(&self, sums: &Block, block: usize, open: &Open) -> Option<Split> {
        let mut found: Option<Split> = None;
        for (slot, column) in self.slots(block) {
            let rises = self.how.monotone.get(column as usize).copied().unwrap_or(0);
            let split =
                best(&sums[slot % WIDTH], &self.cuts.columns[column as usize], slot as u32, open, rises, self.rules);
            if let Some(split) = split.filter(|split| found.is_none_or(|best| split.gain > best.gain)) {
                found = Some(split);
            }
        }
        found
    }
}

/// The fewest rows for which a thread has a histogram of its own.
const APART: usize = 4096;

/// Histograms for parts of so many rows; none where one will do. Their number changes no bit: sums are of whole numbers.
fn part_rows(parts: &mut Vec<Vec<Block>>, blocks: usize, rows: usize) -> &mut [Vec<Block>] {
    let more = rayon::current_num_threads().min(rows / APART).saturating_sub(1);
    while parts.len() < more {
        parts.push(vec![EMPTY; blocks]);
    }
    &mut parts[..more]
}

/// How many blocks a thread takes, and whether there is to be more than one thread for so many cells.
fn groups(blocks: usize, cells: usize) -> (usize, bool) {
    let threads = rayon::current_num_threads();
    let parallel = threads > 1 && blocks > 1 && cells > ALONE;
    (if parallel { blocks.div_ceil(threads) } else { blocks.max(1) }, parallel)
}

/// The best of what blocks found, the first where several are as good.
fn best_block(found: &[[Option<Split>; 2]], side: usize) -> Option<Split> {
    found.iter().filter_map(|found| found[side]).reduce(|best, next| if next.gain > best.gain { next } else { best })
}

/// The leaf with the best gain, the first where several are as good.
fn best_leaf(leaves: &[Leaf]) -> Option<usize> {
    let gains = leaves.iter().enumerate().filter_map(|(at, leaf)| Some((at, leaf.best?.gain)));
    gains.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(at, _)| at)
}

/// Sums and bounds of the children of a leaf. Along a monotone column the values of one side have to lie below those of the other.
fn children(parent: &Open, split: &Split, rises: i8, rules: &Rules) -> [Open; 2] {
    let cells = [split.left, minus(parent.cell, split.left)];
    let mut bounds = [parent.bounds; 2];
    if let Some([low, high]) = parent.bounds.filter(|_| rises != 0) {
        let [a, b] = cells.map(|cell| rules.value(&rules.units.read(cell), parent.bounds));
        let middle = a / 2.0 + b / 2.0;
        let sides = if rises > 0 { [[low, middle], [middle, high]] } else { [[middle, high], [low, middle]] };
        bounds = sides.map(Some);
    }
    [0, 1].map(|side| Open { cell: cells[side], bounds: bounds[side] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Features, Matrix};

    /// Histograms that are dropped and summed again give the same tree.
    #[test]
    fn a_small_pool_changes_no_bit() {
        let mut random = Random::new(4);
        let (rows, cols) = (3000, 19);
        let x: Vec<f32> = (0..rows * cols).map(|_| random.normal() as f32).collect();
        let d: Vec<f64> = (0..rows).map(|i| random.normal() + f64::from(x[i * cols] * x[i * cols + 7])).collect();
        let (x, h) = (Features::Dense(Matrix::new(x, cols)), vec![1.0; rows]);
        let all: Vec<u32> = (0..rows as u32).collect();
        let cuts = Cuts::learn(&x, &all, &vec![false; cols], 255).unwrap();
        let bins = cuts.bin(&x).unwrap();
        let how = Growth { leaves: 40, ..Growth::default() };
        let grow = |kept: usize| {
            let mut grower = Grower::new(&cuts, &bins);
            grower.pool.kept = kept;
            let trees = [0, 1].map(|_| grower.grow(&d, &h, &all, &how, &mut Random::new(1)));
            (trees, grower.pool.all.len())
        };
        let (trees, many) = grow(KEPT);
        assert!(many > 20 && trees[0] == trees[1] && trees[0].leaves() == 40);
        for kept in [0, 8 * 3 * size_of::<Block>()] {
            let (others, few) = grow(kept);
            assert!(few <= 8 && others == trees);
        }
    }
}
