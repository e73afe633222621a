//! Sums of rounded slopes and curvatures by bin: whole numbers, so that no order of adding changes a bit.

use super::bins::{Bins, WIDTH};
use rayon::prelude::*;

/// `Σ rounded d` (two's complement), and `rows << shift | Σ rounded h`.
pub(super) type Cell = [u64; 2];

/// The cells of a column.
pub(super) type Cells = [Cell; 256];

/// The cells of the columns of a block.
pub(super) type Block = [Cells; WIDTH];

/// Nothing yet.
pub(super) static EMPTY: Block = [[[0; 2]; 256]; WIDTH];

/// Slopes and curvatures as whole numbers, and how they are read back.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounded {
    /// What row `i` adds to a cell.
    pub(super) rows: Vec<Cell>,
    pub(super) units: Units,
}

/// How a cell is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Units {
    /// Where the number of rows begins.
    shift: u32,
    /// What one is worth, of slopes and of curvatures: powers of two.
    pub(super) slope: f64,
    pub(super) curvature: f64,
}

/// What a cell says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) rows: u64,
    pub(super) d: f64,
    pub(super) h: f64,
}

impl Units {
    #[inline(always)]
    pub(super) fn rows(&self, cell: Cell) -> u64 {
        cell[1] >> self.shift
    }

    /// The sum of curvatures in units.
    #[inline(always)]
    pub(super) fn whole_curvature(&self, cell: Cell) -> f64 {
        // below 2^63, where a signed number converts faster
        (cell[1] & ((1 << self.shift) - 1)) as i64 as f64
    }

    #[inline(always)]
    pub(super) fn read(&self, cell: Cell) -> Sums {
        let h = self.whole_curvature(cell) * self.curvature;
        Sums { rows: self.rows(cell), d: cell[0] as i64 as f64 * self.slope, h }
    }
}

#[inline(always)]
pub(super) fn plus(a: Cell, b: Cell) -> Cell {
    [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])]
}

#[inline(always)]
pub(super) fn minus(a: Cell, b: Cell) -> Cell {
    [a[0].wrapping_sub(b[0]), a[1].wrapping_sub(b[1])]
}

/// A number that counts: what is not finite does not.
#[inline(always)]
pub(super) fn finite(x: f64) -> f64 {
    if x.is_finite() { x } else { 0.0 }
}

/// The largest power of two by which `largest` stays below `2^bits`, as an exponent.
fn exponent(largest: f64, bits: i32) -> i32 {
    if largest > 0.0 {
        // largest < 2^(e + 1)
        let e = ((largest.to_bits() >> 52) as i32 - 1023).max(-1022);
        (bits - 1 - e).clamp(-1000, 1000)
    } else {
        0
    }
}

impl Rounded {
    /// Rounds the slopes and curvatures of all rows so that sums over `rows` fit: slopes to 30 bits of the largest one, curvatures to
    /// what the number of rows leaves of 64 bits (24 bits for a million rows).
    pub(super) fn set(&mut self, d: &[f64], h: &[f64], rows: &[u32]) {
        let largest = |part: &[u32]| {
            part.iter().fold((0.0f64, 0.0f64), |(a, b), &row| {
                (a.max(finite(d[row as usize]).abs()), b.max(finite(h[row as usize])))
            })
        };
        let both = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.max(b.1));
        let (most_d, most_h) = rows.par_chunks(1 << 14).map(largest).reduce(|| (0.0, 0.0), both);
        let count_bits = (64 - (rows.len() as u64).leading_zeros()).max(1);
        let shift = 64 - count_bits;
        let (d_exponent, h_exponent) = (exponent(most_d, 30), exponent(most_h, (shift - count_bits).min(30) as i32));
        let (d_scale, h_scale) = (2f64.powi(d_exponent), 2f64.powi(h_exponent));
        self.units = Units { shift, slope: 2f64.powi(-d_exponent), curvature: 2f64.powi(-h_exponent) };
        self.rows.resize(d.len(), [0; 2]);
        let one = 1u64 << shift;
        let parts = self.rows.par_chunks_mut(1 << 14).zip(d.par_chunks(1 << 14)).zip(h.par_chunks(1 << 14));
        parts.for_each(|((cells, d), h)| {
            for ((cell, &d), &h) in cells.iter_mut().zip(d).zip(h) {
                *cell =
                    [whole(finite(d) * d_scale) as u64, one.wrapping_add(whole(finite(h).max(0.0) * h_scale) as u64)];
            }
        });
    }
}

/// The nearest whole number, ties to even, of a number below 2^51; without a call of a library.
#[inline(always)]
fn whole(x: f64) -> i64 {
    const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52
    (x + MAGIC).to_bits() as i64 - MAGIC.to_bits() as i64
}

/// Rows that are added to one block after another while they are in the cache.
const BATCH: usize = 512;

/// Adds the cells of some rows to the histograms of those of some blocks that are wanted, the first of them `first`. O(rows · columns).
pub(super) fn add(
    sums: &mut [Block],
    first: usize,
    bins: &Bins,
    rows: &[u32],
    cells: &[Cell],
    wanted: impl Fn(usize) -> bool,
) {
    let mut own = [[0; 2]; BATCH];
    for rows in rows.chunks(BATCH) {
        // all that is far away at once, so that loads do not wait for each other
        let mut seen = 0;
        for (own, &row) in own.iter_mut().zip(rows) {
            *own = cells[row as usize];
            let blocks = bins.row(row as usize, first, sums.len());
            seen ^= blocks.iter().step_by(64 / WIDTH).fold(0, |seen, block| seen ^ block[0]);
        }
        std::hint::black_box(seen);
        for (block, sums) in (first..).zip(sums.iter_mut()).filter(|(block, _)| wanted(*block)) {
            for (&row, &cell) in rows.iter().zip(&own) {
                for (column, &bin) in sums.iter_mut().zip(bins.block(row as usize, block)) {
                    let sum = &mut column[bin as usize];
                    *sum = plus(*sum, cell);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::cases;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(300)))]

        #[test]
        fn sums_are_near_and_counts_exact(
            values in prop::collection::vec((-1.0f64..1.0, 0.0f64..1.0, any::<bool>()), 1..300), size in -250i32..250,
        ) {
            let factor = 10f64.powi(size);
            let d: Vec<f64> = values.iter().map(|row| row.0 * factor).collect();
            let h: Vec<f64> = values.iter().map(|row| row.1 / factor).collect();
            let rows: Vec<u32> = (0..).zip(&values).filter(|(_, row)| row.2).map(|(i, _)| i).collect();
            let mut rounded = Rounded::default();
            rounded.set(&d, &h, &rows);
            let sum = rows.iter().fold([0; 2], |sum, &row| plus(sum, rounded.rows[row as usize]));
            let found = rounded.units.read(sum);
            prop_assert_eq!(found.rows, rows.len() as u64);
            let (d, h) = rows.iter().fold((0.0, 0.0), |sum, &row| (sum.0 + d[row as usize], sum.1 + h[row as usize]));
            let near = 1e-8 * rows.len() as f64;
            prop_assert!((found.d - d).abs() <= near * factor && (found.h - h).abs() <= near / factor);
        }

        #[test]
        fn the_nearest_whole_number(x in -1e15f64..1e15) {
            prop_assert_eq!(whole(x), x.round_ties_even() as i64);
        }
    }

    #[test]
    fn what_is_not_finite_does_not_count() {
        let mut rounded = Rounded::default();
        rounded.set(&[f64::NAN, f64::INFINITY, 2.0, 1e-310], &[1.0, 1.0, f64::NAN, -5.0], &[0, 1, 2, 3]);
        let sum = rounded.rows.iter().fold([0; 2], |sum, &cell| plus(sum, cell));
        assert_eq!(rounded.units.read(sum), Sums { rows: 4, d: 2.0, h: 2.0 });
        rounded.set(&[1e-310], &[5e-324], &[0]);
        let found = rounded.units.read(rounded.rows[0]);
        assert!(found.d <= 1e-310 && found.h <= 5e-324);
    }
}
