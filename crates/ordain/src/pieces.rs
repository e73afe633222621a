//! The one rule for sums over data: pieces that the whole set fixes, added in a fixed binary tree.
//!
//! A sum of floating-point numbers depends on its order. Here the order is a fact of the set alone: whatever the number of threads, whichever
//! units are left out for validation, and however the set is spread over machines, every sum has the same bits.
//!
//! Units (queries, problems, items) are cut into [`Pieces`]: consecutive whole units until there are at least R rows. Within a piece,
//! unit after unit is added in order. Piece `p` is leaf `p` of the binary tree whose node `at` of level `l` covers the pieces
//! `at·2^l .. (at + 1)·2^l`; a node is the sum of its two halves, and a half without anything to add is left out.
//!
//! A shard is a run of pieces. It gives the [`Node`]s that [`cover`] its run, and [`merge`] adds those of all shards.

use rayon::join;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A set is cut into about so many pieces at most, half of it at least: enough for 32 threads.
const MOST: usize = 64;
/// The fewest and the most rows that a piece is meant to have.
const SMALLEST: usize = 1 << 3;
const LARGEST: usize = 1 << 16;
/// Numbers in the sums of all pieces together: a set of very many columns is cut into fewer pieces.
const NUMBERS: usize = 1 << 21;

/// Below so many examples, [`sums`] stay on one thread.
const ALONE: usize = 1024;

/// How a set is cut into pieces: by the rows of all its units and the number of its columns, and nothing else.
///
/// A piece is made of consecutive whole units until it has at least R rows; the last may have fewer. R is the power of two
/// nearest above `rows/64`, from 2^3 to 2^16: what takes long takes time exponential in the rows of a unit, so that few rows have to
/// feed all threads, and less than 8 rows are hardly worth a piece. Where a sum is long beside what a piece adds to it, with more than
/// 2^15 columns, R is larger.
///
/// ```
/// use ordain::pieces::Pieces;
/// let pieces = Pieces::new(&[0, 5, 10, 11, 300], 10); // four queries; R is 8
/// assert_eq!((pieces.len(), pieces.units(0), pieces.rows(0)), (2, 0..2, 0..10));
/// assert_eq!((pieces.of(1), pieces.of(2)), (0, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pieces {
    /// The first unit of each piece, and their number.
    units: Vec<usize>,
    /// The first row of each piece, and the end.
    rows: Vec<usize>,
}

/// R.
fn least(rows: usize, columns: usize) -> usize {
    let most = (NUMBERS / columns.max(1)).clamp(2, MOST);
    rows.div_ceil(most).next_power_of_two().clamp(SMALLEST, LARGEST)
}

impl Pieces {
    /// The pieces of a set whose unit `u` has the rows `bounds[u]..bounds[u + 1]`.
    pub fn new(bounds: &[usize], columns: usize) -> Self {
        let (first, end) = (bounds.first().copied().unwrap_or(0), bounds.last().copied().unwrap_or(0));
        let least = least(end - first, columns);
        let mut pieces = Self { units: vec![0], rows: vec![first] };
        let mut start = first;
        for (unit, &row) in bounds.iter().enumerate().skip(1) {
            if row - start >= least || unit + 1 == bounds.len() {
                pieces.units.push(unit);
                pieces.rows.push(row);
                start = row;
            }
        }
        pieces
    }

    /// The pieces of a set in which every row is a unit.
    pub fn of_items(items: usize, columns: usize) -> Self {
        let least = least(items, columns);
        let starts: Vec<usize> = (0..items).step_by(least).chain([items]).collect();
        let starts = if items == 0 { vec![0] } else { starts };
        Self { units: starts.clone(), rows: starts }
    }

    /// The same cut as a part of the set sees it: the part has these units, and these rows of theirs, and counts both from 0. Pieces keep
    /// their numbers; those outside are empty.
    ///
    /// ```
    /// use ordain::pieces::Pieces;
    /// let whole = Pieces::new(&[0, 9, 20, 31, 300], 10);
    /// let part = whole.within(2..4, 20..300); // the last two queries
    /// assert_eq!((part.units(1), part.units(2), part.units(3)), (0..0, 0..1, 1..2));
    /// assert_eq!((part.rows(3), part.of(1)), (11..280, 3));
    /// ```
    pub fn within(&self, units: Range<usize>, rows: Range<usize>) -> Self {
        let inside = |all: &[usize], of: &Range<usize>| {
            all.iter().map(|start| (*start).clamp(of.start, of.end) - of.start).collect()
        };
        Self { units: inside(&self.units, &units), rows: inside(&self.rows, &rows) }
    }

    /// Number of pieces.
    pub fn len(&self) -> usize {
        self.units.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The units of piece `p`.
    pub fn units(&self, p: usize) -> Range<usize> {
        self.units[p]..self.units[p + 1]
    }

    /// The rows of piece `p`.
    pub fn rows(&self, p: usize) -> Range<usize> {
        self.rows[p]..self.rows[p + 1]
    }

    /// The piece of a unit.
    pub fn of(&self, unit: usize) -> usize {
        self.units.partition_point(|&start| start <= unit) - 1
    }

    /// The piece of a row.
    pub fn of_row(&self, row: usize) -> usize {
        self.rows.partition_point(|&start| start <= row) - 1
    }

    /// Examples in their pieces: example `n` is the `n`-th of the units. Within a piece they stand by unit, in whatever order they were given.
    pub fn runs(&self, units: impl Iterator<Item = usize>) -> Vec<Run> {
        let mut all: Vec<(usize, u32)> = units.zip(0..).collect();
        if all.windows(2).any(|pair| pair[0].0 > pair[1].0) {
            all.sort_unstable();
        }
        let mut runs: Vec<Run> = vec![];
        let mut end = 0;
        for (unit, n) in all {
            if unit >= end || runs.is_empty() {
                let piece = self.of(unit);
                end = self.units[piece + 1];
                runs.push(Run { piece, examples: vec![] });
            }
            if let Some(run) = runs.last_mut() {
                run.examples.push(n);
            }
        }
        runs
    }

    /// Rows in their pieces, ascending in each, in whatever order they were given.
    pub fn row_runs(&self, rows: impl Iterator<Item = Range<usize>>) -> Vec<Rows> {
        let mut all: Vec<Range<usize>> = rows.filter(|rows| !rows.is_empty()).collect();
        if all.windows(2).any(|pair| pair[0].start > pair[1].start) {
            all.sort_unstable_by_key(|rows| (rows.start, rows.end));
        }
        let mut runs: Vec<Rows> = vec![];
        let mut end = 0;
        for mut rows in all {
            while !rows.is_empty() {
                if rows.start >= end || runs.is_empty() {
                    let piece = self.of_row(rows.start);
                    end = self.rows[piece + 1];
                    runs.push((piece, vec![]));
                }
                let own = rows.start..rows.end.min(end);
                rows.start = own.end;
                if let Some((_, runs)) = runs.last_mut() {
                    // rows that stand together are read together
                    match runs.last_mut().filter(|last| last.end == own.start) {
                        Some(last) => last.end = own.end,
                        None => runs.push(own),
                    }
                }
            }
        }
        runs
    }
}

/// Rows of one piece: its number and the rows.
pub type Rows = (usize, Vec<Range<usize>>);

/// The examples of one piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The number of the piece.
    pub piece: usize,
    /// Examples, in the order in which they are added.
    pub examples: Vec<u32>,
}

/// The sum of a node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<T> {
    /// Its height: it covers 2^level pieces.
    pub level: u32,
    /// Its number among the nodes of this height.
    pub at: usize,
    /// The sum over its pieces.
    pub sum: T,
}

/// The fewest nodes of the tree that cover a run of pieces, as (level, number), in order: at most `2·log2(pieces)`.
///
/// ```
/// assert_eq!(ordain::pieces::cover(3..8), [(0, 3), (2, 1)]); // piece 3, and pieces 4 to 7
/// ```
pub fn cover(run: Range<usize>) -> Vec<(u32, usize)> {
    let (mut nodes, mut start) = (vec![], run.start);
    while start < run.end {
        let level = start.trailing_zeros().min((run.end - start).ilog2());
        nodes.push((level, start >> level));
        start += 1 << level;
    }
    nodes
}

/// The sum of leaves in the order of the tree, on all threads; nothing where there is no leaf.
///
/// Leaves ascend by `number`. A thread holds the sum of a left half while it works on the right one: O(log leaves) sums at a time.
///
/// # Errors
///
/// That of the first half that failed.
pub fn tree<L: Send, T: Send, E: Send>(
    leaves: &mut [L],
    number: &(impl Fn(&L) -> usize + Sync),
    leaf: &(impl Fn(&mut L) -> Result<T, E> + Sync),
    add: &(impl Fn(T, T) -> T + Sync),
) -> Result<Option<T>, E> {
    match leaves {
        [] => Ok(None),
        [one] => leaf(one).map(Some),
        _ => {
            let (left, right) = halves(leaves, number);
            let (a, b) = join(|| tree(left, number, leaf, add), || tree(right, number, leaf, add));
            Ok(both(a?, b?, add))
        }
    }
}

/// The sum of all nodes, those of every shard together, in the order of the tree; they may come in any order.
///
/// ```
/// use ordain::pieces::{Node, merge};
/// let node = |level, at, sum| Node { level, at, sum };
/// let shards = [node(0, 4, 1e-16), node(2, 0, 1.0), node(0, 5, 1e-16)];
/// assert_eq!(merge(shards.to_vec(), |a: f64, b| a + b), Some(1.0 + 2e-16)); // not (1.0 + 1e-16) + 1e-16
/// ```
pub fn merge<T: Send>(mut nodes: Vec<Node<T>>, add: impl Fn(T, T) -> T + Sync) -> Option<T> {
    fn of<T>(nodes: &mut [(usize, Option<T>)], add: &impl Fn(T, T) -> T) -> Option<T> {
        match nodes {
            [] => None,
            [(_, one)] => one.take(),
            _ => {
                let (left, right) = halves(nodes, &|node: &(usize, Option<T>)| node.0);
                let (a, b) = (of(left, add), of(right, add));
                both(a, b, add)
            }
        }
    }
    nodes.sort_unstable_by_key(|node| node.at << node.level);
    let mut sums: Vec<(usize, Option<T>)> =
        nodes.into_iter().map(|node| (node.at << node.level, Some(node.sum))).collect();
    of(&mut sums, &add)
}

/// The sums of the nodes that [`cover`] a run of pieces, of leaves that ascend by `number`: what a shard has to say.
///
/// # Errors
///
/// That of the first leaf that failed.
pub fn nodes<L: Send, T: Send, E: Send>(
    leaves: &mut [L],
    run: Range<usize>,
    number: &(impl Fn(&L) -> usize + Sync),
    leaf: &(impl Fn(&mut L) -> Result<T, E> + Sync),
    add: &(impl Fn(T, T) -> T + Sync),
) -> Result<Vec<Node<T>>, E> {
    let mut all = vec![];
    for (level, at) in cover(run) {
        let before = |piece: usize| leaves.partition_point(|leaf| number(leaf) < piece);
        let of = before(at << level)..before((at + 1) << level);
        all.extend(tree(&mut leaves[of], number, leaf, add)?.map(|sum| Node { level, at, sum }));
    }
    Ok(all)
}

/// Two or more leaves cut where the smallest node that has them all is cut: at the highest bit in which the first and the last number differ.
fn halves<'a, L>(leaves: &'a mut [L], number: &impl Fn(&L) -> usize) -> (&'a mut [L], &'a mut [L]) {
    let (first, last) = (number(&leaves[0]), number(&leaves[leaves.len() - 1]));
    let bit = (first ^ last).max(1).ilog2();
    let middle = (last >> bit) << bit;
    let cut = leaves.partition_point(|leaf| number(leaf) < middle);
    leaves.split_at_mut(cut.clamp(1, leaves.len() - 1))
}

fn both<T>(a: Option<T>, b: Option<T>, add: &impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (a, b) => a.or(b),
    }
}

/// Adds one row of numbers to another, and gives it back.
pub fn add_up(mut a: Vec<f64>, b: Vec<f64>) -> Vec<f64> {
    a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
    a
}

/// `len` sums over some units by the tree: `add(n, unit, sums)` adds what example `n` has to say.
///
/// ```
/// use ordain::pieces::{Pieces, sums};
/// let pieces = Pieces::of_items(1000, 1);
/// assert_eq!(sums(&pieces, 0..10, 2, |n, unit, sums| { sums[0] += 1.0; sums[1] += (n + unit) as f64 }), [10.0, 90.0]);
/// ```
pub fn sums(
    pieces: &Pieces,
    units: impl Iterator<Item = usize> + Clone,
    len: usize,
    add: impl Fn(usize, usize, &mut [f64]) + Sync,
) -> Vec<f64> {
    let unit: Vec<usize> = units.clone().collect();
    sums_of(&pieces.runs(units), len, |n, sums| add(n, unit[n], sums))
}

/// The same over examples that are in their pieces already.
pub fn sums_of(runs: &[Run], len: usize, add: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
    sums_with(runs, len, |n, sums, _: &mut ()| add(n, sums))
}

/// The same with scratch, one for each piece. Few examples are not worth a second thread.
pub fn sums_with<W: Default>(runs: &[Run], len: usize, add: impl Fn(usize, &mut [f64], &mut W) + Sync) -> Vec<f64> {
    let leaf = |run: &mut &Run| {
        let (mut sum, mut work) = (vec![0.0; len], W::default());
        run.examples.iter().for_each(|&n| add(n as usize, &mut sum, &mut work));
        Ok::<_, ()>(sum)
    };
    let mut leaves: Vec<&Run> = runs.iter().collect();
    let sum = if runs.iter().map(|run| run.examples.len()).sum::<usize>() < ALONE {
        let nodes = leaves.iter_mut().filter_map(|run| Some(Node { level: 0, at: run.piece, sum: leaf(run).ok()? }));
        merge(nodes.collect(), add_up)
    } else {
        tree(&mut leaves, &|run| run.piece, &leaf, &add_up).ok().flatten()
    };
    sum.unwrap_or_else(|| vec![0.0; len])
}

/// Buffers that threads take and put back, so that none is made anew for every piece.
#[derive(Debug, Default)]
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

impl<T: Default> Pool<T> {
    pub(crate) fn take(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(crate) fn put(&self, buffer: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::cases;
    use proptest::prelude::*;

    /// Numbers of very different size, so that every other order of adding has other bits.
    fn number(k: usize) -> f64 {
        let x = (k as f64 * 0.754_877_666 + (k as f64).sqrt()).fract() - 0.5;
        x * 10f64.powi(k as i32 * 7 % 12)
    }

    /// The slow twin of the tree: level after level, on one thread.
    fn by_levels(leaves: &[(usize, f64)]) -> Option<f64> {
        let mut level: Vec<(usize, f64)> = leaves.to_vec();
        while level.len() > 1 || level.first().is_some_and(|node| node.0 > 0) {
            let mut above: Vec<(usize, f64)> = vec![];
            for (at, sum) in level {
                match above.last_mut().filter(|last| last.0 == at / 2) {
                    Some(last) => last.1 += sum,
                    None => above.push((at / 2, sum)),
                }
            }
            level = above;
        }
        level.first().map(|node| node.1)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(200)))]

        #[test]
        fn pieces_are_the_rule(
            sizes in prop::collection::vec(0usize..40, 0..300), columns in 0usize..3_000_000, first in 0usize..9,
        ) {
            let mut bounds = vec![first];
            sizes.iter().for_each(|size| bounds.push(bounds[bounds.len() - 1] + size));
            let (rows, pieces) = (bounds[sizes.len()] - first, Pieces::new(&bounds, columns));
            let most = if columns <= 1 << 15 { 64.0 } else { (f64::from(1 << 21) / columns as f64).floor().max(2.0) };
            let mut r = 8;
            while (r as f64) < rows as f64 / most {
                r *= 2;
            }
            // one unit after another, by the definition
            let (mut ends, mut own) = (vec![], 0);
            for (unit, size) in sizes.iter().enumerate() {
                own += size;
                if own >= r || unit + 1 == sizes.len() {
                    ends.push(unit + 1);
                    own = 0;
                }
            }
            prop_assert_eq!((0..pieces.len()).map(|p| pieces.units(p).end).collect::<Vec<_>>(), ends);
            for p in 0..pieces.len() {
                prop_assert_eq!(pieces.rows(p), bounds[pieces.units(p).start]..bounds[pieces.units(p).end]);
                prop_assert!(pieces.units(p).all(|unit| pieces.of(unit) == p));
                prop_assert!(pieces.rows(p).all(|row| pieces.of_row(row) == p));
            }
            let items: Vec<usize> = (0..=rows).collect();
            prop_assert_eq!(Pieces::of_items(rows, columns), Pieces::new(&items, columns));
        }

        #[test]
        fn shards_of_any_cut_add_up_to_the_whole(
            taken in prop::collection::vec(any::<bool>(), 1..200),
            cuts in prop::collection::vec(0usize..200, 0..6),
            threads in 1usize..4,
        ) {
            let leaves: Vec<(usize, f64)> =
                taken.iter().enumerate().filter(|(_, taken)| **taken).map(|(p, _)| (p, number(p))).collect();
            let sum = |leaves: &mut [(usize, f64)]| {
                tree(leaves, &|leaf| leaf.0, &|leaf| Ok::<_, ()>(leaf.1), &|a, b| a + b).unwrap()
            };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let whole = pool.install(|| sum(&mut leaves.clone()));
            prop_assert_eq!(whole.map(f64::to_bits), by_levels(&leaves).map(f64::to_bits));
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % taken.len()).chain([0, taken.len()]).collect();
            cuts.sort_unstable();
            let mut nodes = vec![];
            for run in cuts.windows(2) {
                let covered = cover(run[0]..run[1]);
                prop_assert!(covered.len() <= 2 * 8);
                let mut next = run[0];
                for (level, at) in covered {
                    prop_assert_eq!(at << level, next);
                    next = (at + 1) << level;
                    let mut own: Vec<_> = leaves.iter().copied().filter(|leaf| leaf.0 >> level == at).collect();
                    nodes.extend(sum(&mut own).map(|sum| Node { level, at, sum }));
                }
                prop_assert_eq!(next, run[1]);
            }
            nodes.reverse();
            prop_assert_eq!(merge(nodes, |a, b| a + b).map(f64::to_bits), whole.map(f64::to_bits));
        }

        #[test]
        fn the_order_of_units_is_that_of_the_set(
            units in prop_oneof![0usize..80, 1000usize..1100].prop_flat_map(|n| prop::collection::vec(0usize..500, n)),
            threads in 1usize..4,
        ) {
            let pieces = Pieces::of_items(500, 3);
            let of = |units: &[usize]| sums(&pieces, units.iter().copied(), 1, |n, unit, sum| {
                assert_eq!(units[n], unit);
                sum[0] += number(unit);
            });
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let found = pool.install(|| of(&units));
            let mut sorted = units;
            sorted.sort_unstable();
            prop_assert_eq!(found[0].to_bits(), of(&sorted)[0].to_bits());
            let leaves: Vec<(usize, f64)> = sorted.chunk_by(|a, b| pieces.of(*a) == pieces.of(*b))
                .map(|run| (pieces.of(run[0]), run.iter().fold(0.0, |sum, &unit| sum + number(unit)))).collect();
            prop_assert_eq!(found[0].to_bits(), by_levels(&leaves).unwrap_or(0.0).to_bits());
        }
    }
}
