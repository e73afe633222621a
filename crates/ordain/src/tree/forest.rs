//! A sum of trees that scores rows of raw values.

use super::grown::{Node, Raw, Tree};
use crate::error::{Error, Result};
use crate::matrix::Features;
use std::ops::Range;

/// A forest as plain vectors, for a file. Nodes of a tree stand together, its root first, and children behind their parent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// Where the nodes of each tree begin, and at the end the number of nodes.
    pub first: Vec<u32>,
    /// Of each node what it is: [`LEAF`](Parts::LEAF), [`CUT`](Parts::CUT), [`CUT_OR_GAP`](Parts::CUT_OR_GAP) or [`SET`](Parts::SET).
    pub kind: Vec<u8>,
    /// The column that a node tests; 0 for a leaf.
    pub column: Vec<u32>,
    /// Where `x ≤ cut` goes left; 0 for a leaf and a set.
    pub cut: Vec<f32>,
    /// Left and right child; 0 for a leaf.
    pub child: Vec<[u32; 2]>,
    /// The value of a leaf; of any other node the gain of its split.
    pub value: Vec<f64>,
    /// Of each node that is a set, in their order, where its list in `set` ends.
    pub set_end: Vec<u32>,
    /// Values that go left, ascending in each list.
    pub set: Vec<f32>,
}

impl Parts {
    /// A leaf.
    pub const LEAF: u8 = 0;
    /// `x ≤ cut` goes left; a missing value goes right.
    pub const CUT: u8 = 1;
    /// `x ≤ cut` goes left, and so does a missing value.
    pub const CUT_OR_GAP: u8 = 2;
    /// The values of a list go left, all others and missing ones go right.
    pub const SET: u8 = 3;
}

/// A sum of trees: `F(x) = Σ_t value of the leaf of tree t in which x ends`, on raw values; NaN is a value of its own.
///
/// ```
/// use ordain::tree::{Forest, Parts};
/// let parts = Parts {
///     first: vec![0, 3],
///     kind: vec![Parts::CUT, Parts::LEAF, Parts::LEAF],
///     column: vec![1, 0, 0],
///     cut: vec![0.5, 0.0, 0.0],
///     child: vec![[1, 2], [0; 2], [0; 2]],
///     value: vec![3.0, -1.0, 2.0],
///     ..Parts::default()
/// };
/// let forest = Forest::new(parts, 2)?;
/// assert_eq!((forest.score_row(&[7.0, 0.5]), forest.score_row(&[7.0, f32::NAN])), (-1.0, 2.0));
/// assert_eq!(forest.shares(&[7.0, 1.0], &[6.0, 0.0]), [(1, 3.0)]);
/// assert_eq!(forest.gains(), [0.0, 3.0]);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    pub(super) parts: Parts,
    columns: usize,
    /// Nodes as a walk reads them.
    pub(super) steps: Vec<Step>,
    /// Of each tree, how many steps lead to every leaf; [`ONE_BY_ONE`] if rows are to walk alone.
    depths: Vec<u32>,
}

/// A node as a walk reads it: sixteen bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// The bits of the cut, or the number of the list of a set.
    test: u32,
    /// The column, and in the highest bit whether a missing value goes left.
    column: u32,
    /// Left and right; a leaf leads to itself.
    pub(super) child: [u32; 2],
}

impl Step {
    pub(super) fn column(&self) -> usize {
        (self.column & !MISSING_LEFT) as usize
    }

    /// Whether a value goes left at a cut.
    #[inline(always)]
    fn left(&self, x: f32) -> bool {
        (x <= f32::from_bits(self.test)) | (x.is_nan() & (self.column & MISSING_LEFT != 0))
    }
}

/// The highest bit of a column.
const MISSING_LEFT: u32 = 1 << 31;

/// Trees with sets, and trees so deep that most steps would lead from leaves to themselves.
const ONE_BY_ONE: u32 = u32::MAX;

/// The most steps that rows take side by side.
const DEEP: u32 = 40;

/// Rows that are scored together.
const TOGETHER: usize = 64;

/// Rows that walk side by side.
const LANES: usize = 8;

impl Forest {
    /// No tree yet: the score of every row is 0.
    pub fn empty(columns: usize) -> Self {
        Self { parts: Parts { first: vec![0], ..Parts::default() }, columns, steps: vec![], depths: vec![] }
    }

    /// A forest on rows of `columns` values; every vector is checked in full. O(nodes).
    ///
    /// # Errors
    ///
    /// If lengths disagree; a tree has no node; a column is not there; a cut or a listed value is NaN, or lists do not ascend; a child is not
    /// behind its parent, not in its tree, or has not exactly one parent; a value is not finite, or values are so large that scores may not be.
    pub fn new(parts: Parts, columns: usize) -> Result<Self> {
        check(&parts, columns)?;
        let (nodes, trees) = (parts.kind.len(), parts.first.len());
        let mut forest = Self { columns, steps: Vec::with_capacity(nodes), depths: Vec::with_capacity(trees), parts };
        forest.compile();
        Ok(forest)
    }

    /// The vectors, for a file.
    pub fn parts(&self) -> Parts {
        self.parts.clone()
    }

    /// Adds a tree, its values times `rate`.
    ///
    /// # Panics
    ///
    /// If the forest would have 2^32 nodes.
    pub fn push(&mut self, tree: &Tree, rate: f64) {
        let parts = &mut self.parts;
        let first = u32::try_from(parts.kind.len()).unwrap_or(u32::MAX);
        assert!(u32::MAX - first > tree.nodes.len() as u32, "a forest has less than 2^32 nodes");
        for node in &tree.nodes {
            let (kind, column, cut, child, value) = match node {
                Node::Leaf(value) => (Parts::LEAF, 0, 0.0, [0; 2], rate * value),
                Node::Inner(inner) => {
                    let (kind, cut) = match &inner.raw {
                        Raw::Cut { cut, missing_left: false } => (Parts::CUT, *cut),
                        Raw::Cut { cut, missing_left: true } => (Parts::CUT_OR_GAP, *cut),
                        Raw::Set(values) => {
                            parts.set.extend_from_slice(values);
                            parts.set_end.push(parts.set.len() as u32);
                            (Parts::SET, 0.0)
                        }
                    };
                    (kind, inner.column, cut, inner.child.map(|child| first + child), inner.gain)
                }
            };
            parts.kind.push(kind);
            parts.column.push(column);
            parts.cut.push(cut);
            parts.child.push(child);
            parts.value.push(value);
        }
        parts.first.push(parts.kind.len() as u32);
        self.compile();
    }

    /// Keeps the first `trees` trees.
    pub fn truncate(&mut self, trees: usize) {
        if trees >= self.trees() {
            return;
        }
        let parts = &mut self.parts;
        let nodes = parts.first[trees] as usize;
        parts.first.truncate(trees + 1);
        parts.kind.truncate(nodes);
        parts.column.truncate(nodes);
        parts.cut.truncate(nodes);
        parts.child.truncate(nodes);
        parts.value.truncate(nodes);
        parts.set_end.truncate(parts.kind.iter().filter(|&&kind| kind == Parts::SET).count());
        parts.set.truncate(parts.set_end.last().map_or(0, |&end| end as usize));
        self.steps.truncate(nodes);
        self.depths.truncate(trees);
    }

    /// Number of trees.
    pub fn trees(&self) -> usize {
        self.parts.first.len() - 1
    }

    /// Number of columns of a row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of nodes of all trees, leaves among them.
    pub fn nodes(&self) -> usize {
        self.parts.kind.len()
    }

    /// Whether there is no tree.
    pub fn is_empty(&self) -> bool {
        self.trees() == 0
    }

    /// `F(x)` of one row. O(trees · depth).
    pub fn score_row(&self, x: &[f32]) -> f64 {
        let roots = &self.parts.first[..self.trees()];
        roots.iter().fold(0.0, |sum, &root| sum + self.parts.value[self.leaf(root as usize, x)])
    }

    /// `out[i] += F(x_i)` for some rows, the first of them at `out[0]`. O(rows · trees · depth), on one thread.
    pub fn add_scores(&self, x: &Features, rows: Range<usize>, out: &mut [f64]) {
        match x {
            Features::Dense(x) => {
                let rows: Vec<&[f32]> = x.some_rows(rows).collect();
                for (rows, out) in rows.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)) {
                    self.add_rows(rows, out);
                }
            }
            Features::Sparse(_) => {
                let mut row = vec![0.0; self.columns];
                for (i, out) in rows.zip(out) {
                    x.each(i, |j, value| row[j] = value);
                    *out += self.score_row(&row);
                    x.each(i, |j, _| row[j] = 0.0);
                }
            }
        }
    }

    /// A few rows, tree after tree.
    fn add_rows(&self, rows: &[&[f32]], out: &mut [f64]) {
        let mut sums = [0.0; TOGETHER];
        for (&root, &depth) in self.parts.first.iter().zip(&self.depths) {
            let (rows_8, rest) = rows.as_chunks::<LANES>();
            let (sums_8, rest_sums) = sums.as_chunks_mut::<LANES>();
            if depth == ONE_BY_ONE {
                sums.iter_mut().zip(rows).for_each(|(sum, x)| *sum += self.parts.value[self.leaf(root as usize, x)]);
                continue;
            }
            for (sums, rows) in sums_8.iter_mut().zip(rows_8) {
                let leaves = self.leaves(root, depth, rows);
                sums.iter_mut().zip(leaves).for_each(|(sum, leaf)| *sum += self.parts.value[leaf as usize]);
            }
            let rest_sums = sums_8.get_mut(rows_8.len()).map_or(rest_sums, |sums| &mut sums[..]);
            for (sum, x) in rest_sums.iter_mut().zip(rest) {
                *sum += self.parts.value[self.leaf(root as usize, x)];
            }
        }
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
    }

    /// The leaves of eight rows that walk side by side: no branch depends on their values, and no load waits for that of another row.
    #[inline(always)]
    fn leaves(&self, root: u32, depth: u32, rows: &[&[f32]; LANES]) -> [u32; LANES] {
        let mut at = [root; LANES];
        for _ in 0..depth {
            for (at, x) in at.iter_mut().zip(rows) {
                let step = &self.steps[*at as usize];
                *at = step.child[usize::from(!step.left(x[step.column()]))];
            }
        }
        at
    }

    /// The importance of each column: the sum of the gains of the splits by it. O(nodes).
    pub fn gains(&self) -> Vec<f64> {
        let mut gains = vec![0.0; self.columns];
        for ((&kind, &column), gain) in self.parts.kind.iter().zip(&self.parts.column).zip(&self.parts.value) {
            if kind != Parts::LEAF {
                gains[column as usize] += gain;
            }
        }
        gains
    }

    /// Whether a value goes left at a node that is no leaf.
    #[inline]
    #[allow(clippy::float_cmp)] // categories are compared exactly
    pub(super) fn left(&self, node: usize, x: f32) -> bool {
        let step = &self.steps[node];
        if self.parts.kind[node] != Parts::SET {
            return step.left(x);
        }
        let (set, ends) = (step.test as usize, &self.parts.set_end);
        let list = &self.parts.set[if set == 0 { 0 } else { ends[set - 1] as usize }..ends[set] as usize];
        list.get(list.partition_point(|&value| value < x)).is_some_and(|&value| value == x)
    }

    /// The leaf in which a row ends.
    fn leaf(&self, root: usize, x: &[f32]) -> usize {
        let mut at = root;
        while self.parts.kind[at] != Parts::LEAF {
            let step = &self.steps[at];
            at = step.child[usize::from(!self.left(at, x[step.column()]))] as usize;
        }
        at
    }

    /// Steps of trees that have none yet.
    pub(super) fn compile(&mut self) {
        let parts = &self.parts;
        let mut sets = parts.kind[..self.steps.len()].iter().filter(|&&kind| kind == Parts::SET).count() as u32;
        for tree in parts.first.windows(2).skip(self.depths.len()) {
            let (start, end) = (tree[0] as usize, tree[1] as usize);
            let (mut depths, mut deepest) = (vec![0; end - start], 0);
            for node in start..end {
                let (kind, depth) = (parts.kind[node], depths[node - start]);
                let (mut test, mut column, mut child) =
                    (parts.cut[node].to_bits(), parts.column[node], parts.child[node]);
                match kind {
                    Parts::LEAF => child = [node as u32; 2],
                    Parts::CUT_OR_GAP => column |= MISSING_LEFT,
                    Parts::SET => {
                        test = sets;
                        sets += 1;
                        deepest = ONE_BY_ONE;
                    }
                    _ => {}
                }
                if kind == Parts::LEAF {
                    deepest = depth.max(deepest);
                } else {
                    child.iter().for_each(|&child| depths[child as usize - start] = depth + 1);
                }
                self.steps.push(Step { test, column, child });
            }
            self.depths.push(if deepest > DEEP { ONE_BY_ONE } else { deepest });
        }
    }
}

/// Whether the vectors are a forest on so many columns.
fn check(parts: &Parts, columns: usize) -> Result<()> {
    let refuse =
        |expected: &str, found: String| Err(Error::Data { expected: format!("trees in which {expected}"), found });
    let nodes = parts.kind.len();
    let lengths = [parts.column.len(), parts.cut.len(), parts.child.len(), parts.value.len()];
    if columns > MISSING_LEFT as usize {
        return refuse("columns are below 2^31", format!("{columns} columns"));
    }
    if lengths.iter().any(|&length| length != nodes) || nodes >= u32::MAX as usize {
        return refuse("all vectors of nodes are as long", format!("{nodes} kinds beside {lengths:?}"));
    }
    let first = &parts.first;
    let ends = (first.first().copied(), first.last().map(|&last| last as usize));
    if ends != (Some(0), Some(nodes)) || !first.is_sorted_by(|a, b| a < b) {
        return refuse(
            "the first nodes ascend from 0 to the number of nodes",
            format!("{} trees, {nodes} nodes, the ends {ends:?}", first.len().saturating_sub(1)),
        );
    }
    check_sets(parts)?;
    for tree in first.windows(2) {
        let (start, end) = (tree[0], tree[1]);
        let mut parents = vec![false; (end - start) as usize];
        parents[0] = true; // the root needs none
        for node in start..end {
            let at = node as usize;
            let (kind, column, cut, child, value) =
                (parts.kind[at], parts.column[at], parts.cut[at], parts.child[at], parts.value[at]);
            if !value.is_finite() {
                return refuse("values and gains are finite", format!("{value} at node {node}"));
            }
            let bare = child == [0; 2] && column == 0;
            match kind {
                Parts::LEAF if bare && cut.to_bits() == 0 => continue,
                Parts::LEAF => return refuse("a leaf has no test", format!("one at node {node}")),
                Parts::CUT | Parts::CUT_OR_GAP if !cut.is_nan() => {}
                Parts::SET if cut.to_bits() == 0 => {}
                Parts::CUT..=Parts::SET => return refuse("a cut is a number", format!("{cut} at node {node}")),
                _ => return refuse("a kind is 0 to 3", format!("{kind} at node {node}")),
            }
            if column as usize >= columns || value < 0.0 {
                return refuse(
                    &format!("a node tests one of {columns} columns and gains by it"),
                    format!("column {column} and gain {value} at node {node}"),
                );
            }
            for child in child {
                if child <= node || child >= end || std::mem::replace(&mut parents[(child - start) as usize], true) {
                    return refuse(
                        "a child stands behind its parent, in the same tree, and has one parent",
                        format!("child {child} of node {node}"),
                    );
                }
            }
        }
        if let Some(alone) = parents.iter().position(|known| !known) {
            return refuse("every node but the root has a parent", format!("none of node {}", start as usize + alone));
        }
    }
    // every score, share and importance is a sum of some of these
    let most: f64 = parts.value.iter().map(|value| value.abs()).sum();
    if most > f64::MAX / 4.0 {
        return refuse("values are so small that scores are finite", format!("a sum of {most:e}"));
    }
    Ok(())
}

fn check_sets(parts: &Parts) -> Result<()> {
    let sets = parts.kind.iter().filter(|&&kind| kind == Parts::SET).count();
    let ends = &parts.set_end;
    let last = ends.last().map_or(0, |&end| end as usize);
    let lists = || (0..ends.len()).map(|k| if k == 0 { 0..ends[0] } else { ends[k - 1]..ends[k] });
    let ascend = ends.is_sorted_by(|a, b| a < b) && ends.first() != Some(&0);
    let good = |list: Range<u32>| {
        let list = &parts.set[list.start as usize..list.end as usize];
        list.is_sorted_by(|a, b| a < b) && !list[0].is_nan()
    };
    if ends.len() != sets || last != parts.set.len() || !ascend || !lists().all(good) {
        return Err(Error::Data {
            expected: "trees in which every set has a list of ascending values".into(),
            found: format!("{sets} sets, {} lists, {} values", ends.len(), parts.set.len()),
        });
    }
    Ok(())
}
