//! Rows in bins.

use super::cuts::{Column, Cuts};
use crate::matrix::{Features, Matrix};
use rayon::prelude::*;

/// Columns side by side in a block: their histogram of 32 kB fits the first cache.
pub(super) const WIDTH: usize = 8;

/// Rows that are put into bins together, one column after another.
const BATCH: usize = 256;

/// Rows in bins of a byte: bin 0 for missing values, then those of [`Cuts`].
///
/// They are kept twice: row after row in blocks of eight columns, from which histograms are summed, and column after column, by which
/// rows are sent left and right. Columns in which all rows are the same are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Bins {
    rows: usize,
    columns: usize,
    blocks: usize,
    /// Row after row.
    cells: Vec<[u8; WIDTH]>,
    /// Column after column.
    columnwise: Vec<u8>,
}

impl Bins {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Blocks of a row.
    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Block `block` of row `row`.
    #[inline(always)]
    pub(super) fn block(&self, row: usize, block: usize) -> &[u8; WIDTH] {
        &self.cells[row * self.blocks + block]
    }

    /// Some blocks of row `row`.
    #[inline(always)]
    pub(super) fn row(&self, row: usize, first: usize, blocks: usize) -> &[[u8; WIDTH]] {
        &self.cells[row * self.blocks + first..][..blocks]
    }

    /// The bins of all rows in a column that is stored at `slot`.
    pub(super) fn slot(&self, slot: usize) -> &[u8] {
        &self.columnwise[slot * self.rows..(slot + 1) * self.rows]
    }

    /// The bin of a row in a column that is stored at `slot`.
    #[inline(always)]
    pub(super) fn bin(&self, row: usize, slot: usize) -> u8 {
        self.cells[row * self.blocks + slot / WIDTH][slot % WIDTH]
    }

    /// All rows of `x`, which has the columns of the cuts.
    pub(super) fn new(cuts: &Cuts, x: &Features) -> Self {
        let (rows, blocks) = (x.rows(), cuts.live.len().div_ceil(WIDTH));
        let mut bins = Self {
            rows,
            columns: cuts.columns.len(),
            blocks,
            cells: vec![[0; WIDTH]; rows * blocks],
            columnwise: vec![0; rows * cuts.live.len()],
        };
        if !bins.cells.is_empty() {
            let finders: Vec<Finder> = cuts.live.iter().map(|&j| Finder::new(&cuts.columns[j as usize])).collect();
            match x {
                Features::Dense(x) => bins.fill_dense(cuts, &finders, x),
                Features::Sparse(_) => bins.fill_sparse(cuts, &finders, x),
            }
        }
        bins
    }

    /// Columns first, so that the cuts of one stay in the cache; then rows.
    fn fill_dense(&mut self, cuts: &Cuts, finders: &[Finder], x: &Matrix) {
        let (rows, blocks) = (self.rows, self.blocks);
        // sixteen columns are a line of the cache
        let groups =
            self.columnwise.par_chunks_mut(16 * rows).zip(cuts.live.par_chunks(16)).zip(finders.par_chunks(16));
        groups.for_each(|((bins, live), finders)| {
            for start in (0..rows).step_by(BATCH) {
                let batch = start..rows.min(start + BATCH);
                let values = &x.values()[batch.start * x.cols()..batch.end * x.cols()];
                for ((bins, &j), finder) in bins.chunks_exact_mut(rows).zip(live).zip(finders) {
                    let mut of_column = values.iter().skip(j as usize).step_by(x.cols());
                    let (eights, rest) = bins[batch.clone()].as_chunks_mut::<8>();
                    for bins in eights {
                        *bins = finder.bins(std::array::from_fn(|_| of_column.next().copied().unwrap_or(0.0)));
                    }
                    rest.iter_mut().zip(of_column).for_each(|(bin, &x)| *bin = finder.bin(x));
                }
            }
        });
        let columnwise = &self.columnwise;
        self.cells.par_chunks_mut(BATCH * blocks).enumerate().for_each(|(batch, cells)| {
            for (slot, bins) in columnwise.chunks_exact(rows).enumerate() {
                let bins = &bins[batch * BATCH..];
                cells.chunks_exact_mut(blocks).zip(bins).for_each(|(row, &bin)| row[slot / WIDTH][slot % WIDTH] = bin);
            }
        });
    }

    /// Rows first, by what they store; then columns.
    fn fill_sparse(&mut self, cuts: &Cuts, finders: &[Finder], x: &Features) {
        let (rows, blocks) = (self.rows, self.blocks);
        let mut slots = vec![u32::MAX; cuts.columns.len()];
        (0..).zip(&cuts.live).for_each(|(slot, &j)| slots[j as usize] = slot);
        let mut zeros = vec![[0; WIDTH]; blocks];
        for (slot, finder) in finders.iter().enumerate() {
            zeros[slot / WIDTH][slot % WIDTH] = finder.bin(0.0);
        }
        self.cells.par_chunks_mut(BATCH * blocks).enumerate().for_each(|(batch, cells)| {
            for (i, row) in (batch * BATCH..).zip(cells.chunks_exact_mut(blocks)) {
                row.copy_from_slice(&zeros);
                x.each(i, |j, value| {
                    let slot = slots[j] as usize;
                    if let Some(finder) = finders.get(slot) {
                        row[slot / WIDTH][slot % WIDTH] = finder.bin(value);
                    }
                });
            }
        });
        let cells = &self.cells;
        self.columnwise.par_chunks_mut(WIDTH * rows).enumerate().for_each(|(block, bins)| {
            for (i, row) in cells.chunks_exact(blocks).enumerate() {
                bins.chunks_exact_mut(rows).zip(row[block]).for_each(|(bins, bin)| bins[i] = bin);
            }
        });
    }
}

/// Finds bins by eight halvings, without a branch.
struct Finder {
    /// Cuts or values, then +∞.
    sorted: [f32; 256],
    exact: bool,
}

impl Finder {
    fn new(column: &Column) -> Self {
        let (values, exact) = match column {
            Column::Cuts(values) => (values, false),
            Column::Values(values) => (values, true),
        };
        let mut sorted = [f32::INFINITY; 256];
        sorted.iter_mut().zip(values).for_each(|(to, &value)| *to = value);
        // a category of +∞ would be found behind the last one: NaN is equal to nothing
        if exact {
            sorted[values.len().min(255)..].fill(f32::NAN);
        }
        Self { sorted, exact }
    }

    fn bin(&self, x: f32) -> u8 {
        self.bins([x])[0]
    }

    /// Bins of a few values side by side, so that no search waits for another one.
    #[inline(always)]
    #[allow(clippy::float_cmp)] // categories are compared exactly
    fn bins<const N: usize>(&self, x: [f32; N]) -> [u8; N] {
        let mut below = [0usize; N];
        for bit in (0..8).rev() {
            for (below, &x) in below.iter_mut().zip(&x) {
                // no branch, which would be wrong half of the time
                let cut = self.sorted[(*below | ((1 << bit) - 1)) & 255];
                *below |= usize::from(cut < x) << bit;
            }
        }
        let mut bins = [0; N];
        for ((bin, &below), &x) in bins.iter_mut().zip(&below).zip(&x) {
            let known = if self.exact { self.sorted[below & 255] == x } else { !x.is_nan() };
            *bin = (below as u8).wrapping_add(1) * u8::from(known);
        }
        bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::cases;
    use crate::matrix::{Csr, Matrix};
    use proptest::prelude::*;

    /// The plainest search.
    #[allow(clippy::float_cmp)] // categories are compared exactly
    fn plain(column: &Column, x: f32) -> u8 {
        let found = match column {
            _ if x.is_nan() => 0,
            Column::Cuts(cuts) => 1 + cuts.iter().filter(|&&cut| cut < x).count(),
            Column::Values(values) => values.iter().position(|&value| value == x).map_or(0, |at| at + 1),
        };
        found as u8
    }

    fn some() -> impl Strategy<Value = f32> {
        prop_oneof![
            4 => (0i32..400).prop_map(|k| k as f32 / 4.0),
            2 => (-2i32..3).prop_map(|k| k as f32),
            1 => Just(f32::NAN), 1 => Just(f32::INFINITY), 1 => Just(f32::NEG_INFINITY), 1 => Just(-0.0f32),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(200)))]

        #[test]
        fn bins_are_those_of_a_plain_search(
            values in prop::collection::vec(some(), 1..900), cols in 1usize..20, most in 1usize..256, kinds in any::<u32>(),
            seed in any::<u64>(),
        ) {
            let rows = values.len() / cols;
            prop_assume!(rows > 0);
            let values = values[..rows * cols].to_vec();
            let x = Features::Dense(Matrix::new(values.clone(), cols));
            let categorical: Vec<bool> = (0..cols).map(|j| kinds >> j & 1 == 1).collect();
            let all: Vec<u32> = (0..rows as u32).collect();
            let cuts = Cuts::learn(&x, &all, &categorical, most).unwrap();
            let bins = cuts.bin(&x).unwrap();
            for i in 0..rows {
                for (slot, &j) in cuts.live.iter().enumerate() {
                    prop_assert_eq!(bins.bin(i, slot), bins.slot(slot)[i]);
                    prop_assert_eq!(bins.bin(i, slot), plain(&cuts.columns[j as usize], values[i * cols + j as usize]));
                }
            }
            for j in (0..cols as u32).filter(|j| !cuts.live.contains(j)) {
                let of = |i: usize| plain(&cuts.columns[j as usize], values[i * cols + j as usize]);
                prop_assert!((0..rows).all(|i| of(i) == of(0)));
            }
            // whatever the order
            let mut shuffled = all;
            crate::random::Random::new(seed).shuffle(&mut shuffled);
            prop_assert_eq!(&cuts, &Cuts::learn(&x, &shuffled, &categorical, most).unwrap());
            // sparse rows are the same rows
            let (mut ends, mut columns, mut stored) = (vec![], vec![], vec![]);
            for (k, &value) in values.iter().enumerate() {
                if value != 0.0 || k % 7 == 0 {
                    columns.push((k % cols) as u32);
                    stored.push(value);
                }
                if k % cols == cols - 1 {
                    ends.push(stored.len());
                }
            }
            let sparse = Features::Sparse(Csr::new(ends, columns, stored, cols));
            prop_assert_eq!(&cuts, &Cuts::learn(&sparse, &shuffled, &categorical, most).unwrap());
            prop_assert_eq!(bins, cuts.bin(&sparse).unwrap());
        }
    }
}
