//! Stumps: one threshold on one column.

use super::bins::Bins;
use super::cuts::Cuts;
use super::forest::{Forest, Parts};
use crate::error::Result;
use crate::matrix::Features;

/// A rule that gives a row 1 where its column is above a cut, else 0.
///
/// A missing value is above the cut or not, as it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stump {
    /// Where the column is stored; see [`Stumps::column`].
    pub slot: usize,
    /// Rows of higher bins are above.
    pub bin: u8,
    /// Whether missing values are above too.
    pub gap: bool,
}

/// Rows in bins, and the stumps that tell them apart: at most 255 cuts of a column, by the shares of rows between them.
///
/// ```
/// use ordain::{matrix::{Features, Matrix}, tree::{Stump, Stumps}};
/// let x = Features::Dense(Matrix::new(vec![1.0, 2.0, 3.0], 1));
/// let stumps = Stumps::learn(&x, &[0, 1, 2], 255)?;
/// assert_eq!(stumps.sums(0, &[0, 1, 2], &[1, 10, 100])[1..4], [1, 10, 100]); // by bin, 0 holds missing values
/// let stump = Stump { slot: 0, bin: 1, gap: false };
/// assert!(!stumps.above(stump, 0) && stumps.above(stump, 1));
/// let forest = stumps.forest(&[(stump, 0.5, 1.0)])?;
/// assert_eq!([forest.score_row(&[1.4]), forest.score_row(&[1.6])], [0.0, 0.5]);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stumps {
    cuts: Cuts,
    bins: Bins,
}

impl Stumps {
    /// Bins of all rows of `x`, by cuts that are learned from some of them; at most `most` bins for a column. Cost as [`Cuts::learn`].
    ///
    /// # Errors
    ///
    /// As [`Cuts::learn`].
    pub fn learn(x: &Features, rows: &[u32], most: usize) -> Result<Self> {
        let cuts = Cuts::learn(x, rows, &vec![false; x.cols()], most)?;
        let bins = cuts.bin(x)?;
        Ok(Self { cuts, bins })
    }

    /// Columns in which some rows can be told from others.
    pub fn slots(&self) -> usize {
        self.cuts.live.len()
    }

    /// The column that is stored at a slot.
    pub fn column(&self, slot: usize) -> usize {
        self.cuts.live[slot] as usize
    }

    /// The cuts of a slot, ascending; rows below all of them are in bin 1.
    pub fn cuts(&self, slot: usize) -> &[f32] {
        self.cuts.of(self.column(slot))
    }

    /// The bins of all rows at a slot; 0 for missing values.
    pub fn bins(&self, slot: usize) -> &[u8] {
        self.bins.slot(slot)
    }

    /// Whether a row is above the cut.
    #[inline]
    pub fn above(&self, stump: Stump, row: usize) -> bool {
        match self.bins(stump.slot)[row] {
            0 => stump.gap,
            bin => bin > stump.bin,
        }
    }

    /// The sums of the values of some rows, bin by bin. Values are whole numbers, so that no order of adding changes a sum. O(rows).
    pub fn sums(&self, slot: usize, rows: &[u32], values: &[i64]) -> [i64; 256] {
        let (mut sums, bins) = ([0; 256], self.bins(slot));
        rows.iter().zip(values).for_each(|(&row, value)| sums[bins[row as usize] as usize] += value);
        sums
    }

    /// A sum of stumps, each times a factor; beside it stands what it gained.
    ///
    /// # Errors
    ///
    /// If a factor is not finite.
    pub fn forest(&self, all: &[(Stump, f64, f64)]) -> Result<Forest> {
        let mut parts = Parts { first: vec![0], ..Parts::default() };
        for &(stump, factor, gain) in all {
            let at = parts.kind.len() as u32;
            let cut = self.cuts(stump.slot).get(stump.bin as usize - 1).copied().unwrap_or(f32::INFINITY);
            let kind = if stump.gap { Parts::CUT } else { Parts::CUT_OR_GAP };
            parts.kind.extend([kind, Parts::LEAF, Parts::LEAF]);
            parts.column.extend([self.column(stump.slot) as u32, 0, 0]);
            parts.cut.extend([cut, 0.0, 0.0]);
            parts.child.extend([[at + 1, at + 2], [0; 2], [0; 2]]);
            parts.value.extend([gain, 0.0, factor]);
            parts.first.push(at + 3);
        }
        Forest::new(parts, self.cuts.columns())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::random::Random;

    /// A forest of stumps says of every row what the stumps say of its bins, missing values too.
    #[test]
    fn a_forest_scores_as_its_stumps() {
        let mut random = Random::new(5);
        let value = |random: &mut Random| match random.below(6) {
            0 => f32::NAN,
            1 => 2.0,
            _ => random.uniform() as f32,
        };
        let (rows, cols) = (200, 4);
        let x: Vec<f32> = (0..rows * cols).map(|_| value(&mut random)).collect();
        let x = Features::Dense(Matrix::new(x, cols));
        let stumps = Stumps::learn(&x, &(0..150).collect::<Vec<u32>>(), 16).unwrap();
        let all: Vec<(Stump, f64, f64)> = (0..30)
            .map(|_| {
                let (slot, gap) = (random.below(stumps.slots()), random.below(2) == 0);
                let bin = 1 + random.below(stumps.cuts(slot).len() + usize::from(gap)) as u8;
                (Stump { slot, bin, gap }, random.uniform() - 0.5, 1.0)
            })
            .collect();
        let forest = stumps.forest(&all).unwrap();
        let mut scores = vec![0.0; rows];
        forest.add_scores(&x, 0..rows, &mut scores);
        for (row, score) in scores.iter().enumerate() {
            let own: f64 =
                all.iter().filter(|(stump, ..)| stumps.above(*stump, row)).map(|(_, factor, _)| factor).sum();
            assert!((own - score).abs() < 1e-12, "row {row}");
        }
        assert!(stumps.forest(&[(Stump { slot: 0, bin: 1, gap: false }, f64::NAN, 0.0)]).is_err());
    }
}
