//! Where the bins of a column are cut.

use super::bins::Bins;
use crate::error::{Error, Result};
use crate::matrix::Features;
use crate::matrix::runs::{self, value};

/// The most bins of a column, beside the one of missing values.
pub const MOST: usize = 255;

/// The bins of one column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Column {
    /// Ascending cuts: bin `1 + number of cuts below x`.
    Cuts(Vec<f32>),
    /// Ascending values: bin `1 + place of x`, and 0 where it is not there.
    Values(Vec<f32>),
}

impl Column {
    /// Number of bins, without that of missing values.
    pub(super) fn bins(&self) -> usize {
        match self {
            Self::Cuts(cuts) => cuts.len() + 1,
            Self::Values(values) => values.len(),
        }
    }
}

/// The bins of every column: of numbers by ascending cuts (`x ≤ cut` goes left), of categories by their most frequent values.
///
/// Bin 0 holds missing values (NaN) and categories that have no bin of their own.
///
/// ```
/// use ordain::{matrix::{Features, Matrix}, tree::Cuts};
/// let x = Features::Dense(Matrix::new(vec![1.0, 2.0, 2.0, 5.0, f32::NAN], 1));
/// let cuts = Cuts::learn(&x, &[0, 1, 2, 3, 4], &[false], 255)?;
/// assert_eq!(cuts.of(0), [1.5, 3.5]);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cuts {
    pub(super) columns: Vec<Column>,
    /// Columns in which some rows can be told from others; only these are stored in bins.
    pub(super) live: Vec<u32>,
}

impl Cuts {
    /// Cuts learned from some rows, at most `most` bins for a column beside the one of missing values.
    ///
    /// Where a column has no more values than that, there is a cut between every two of them. Else bins take values, the smallest
    /// first, until they hold their share of the rows that are left; a value with more than its share has a bin to itself.
    /// `categorical[j]` says that column `j` holds categories; these are compared exactly, and the most frequent ones have bins.
    ///
    /// All values are sorted, so that the cuts are those of the set of rows, whatever their order. O(rows · columns), on all threads.
    ///
    /// # Errors
    ///
    /// If `categorical` is not as long as there are columns, `most` is not in 1..=255, or a row is not there.
    pub fn learn(x: &Features, rows: &[u32], categorical: &[bool], most: usize) -> Result<Self> {
        let cols = x.cols();
        if categorical.len() != cols {
            return Err(Error::Data {
                expected: format!("a mark for each of {cols} columns, whether it holds categories"),
                found: format!("{} marks", categorical.len()),
            });
        }
        if !(1..=MOST).contains(&most) {
            return Err(Error::Setting {
                name: "bins".into(),
                expected: format!("1 to {MOST}"),
                found: most.to_string(),
            });
        }
        if let Some(row) = rows.iter().find(|&&row| row as usize >= x.rows()) {
            return Err(Error::Data { expected: format!("rows below {}", x.rows()), found: format!("row {row}") });
        }
        let learnt = runs::columns(x, rows, |j, runs| column(runs, categorical[j], most));
        let live = (0..cols as u32).filter(|&j| learnt[j as usize].1).collect();
        Ok(Self { columns: learnt.into_iter().map(|(column, _)| column).collect(), live })
    }

    /// The bins of all rows of `x`. O(rows · columns · log bins), on all threads.
    ///
    /// # Errors
    ///
    /// If the number of columns is not that of the cuts.
    pub fn bin(&self, x: &Features) -> Result<Bins> {
        if x.cols() != self.columns.len() {
            return Err(Error::Data {
                expected: format!("{} columns, as the cuts were learned from", self.columns.len()),
                found: x.cols().to_string(),
            });
        }
        Ok(Bins::new(self, x))
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The cuts of column `j`, or its categories that have a bin; ascending.
    pub fn of(&self, j: usize) -> &[f32] {
        match &self.columns[j] {
            Column::Cuts(values) | Column::Values(values) => values,
        }
    }

    /// Whether column `j` holds categories.
    pub fn categorical(&self, j: usize) -> bool {
        matches!(self.columns[j], Column::Values(_))
    }
}

/// Bins of a column of sorted keys with their counts, and whether two rows can fall into different ones.
fn column(runs: &[(u32, usize)], categorical: bool, most: usize) -> (Column, bool) {
    let gaps = runs.last().is_some_and(|&(key, _)| key == u32::MAX);
    let known = &runs[..runs.len() - usize::from(gaps)];
    if categorical {
        let mut often: Vec<(u32, usize)> = known.to_vec();
        often.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        often.truncate(most);
        let mut values: Vec<f32> = often.into_iter().map(|(key, _)| value(key)).collect();
        values.sort_by(f32::total_cmp);
        let rest = gaps || values.len() < known.len();
        let live = values.len() + usize::from(rest) > 1;
        return (Column::Values(values), live);
    }
    let cuts = if known.len() <= most {
        known.windows(2).map(|pair| between(value(pair[0].0), value(pair[1].0))).collect()
    } else {
        by_share(known, most)
    };
    let live = cuts.len() + usize::from(gaps && !known.is_empty()) > 0;
    (Column::Cuts(cuts), live)
}

/// Cuts so that bins hold about the same number of rows; a value with more than its share ends a bin.
fn by_share(known: &[(u32, usize)], most: usize) -> Vec<f32> {
    let rows: usize = known.iter().map(|run| run.1).sum();
    let heavy = |count: usize| count * most >= rows;
    // rows and bins that are left for values that are not heavy
    let (mut left, mut bins) = (rows, most);
    for run in known.iter().filter(|run| heavy(run.1)) {
        left -= run.1;
        bins -= 1;
    }
    let (mut cuts, mut own, mut rest) = (vec![], 0, left);
    for pair in known.windows(2) {
        let ((this, count), (next, after)) = (pair[0], pair[1]);
        own += count;
        if !heavy(count) {
            rest -= count;
        }
        let full = own * bins >= left || heavy(after) && 2 * own * bins >= left;
        if heavy(count) || full {
            cuts.push(between(value(this), value(next)));
            if cuts.len() + 1 == most {
                break;
            }
            own = 0;
            if !heavy(count) {
                (left, bins) = (rest, bins.saturating_sub(1));
            }
        }
    }
    cuts
}

/// A cut with `a ≤ cut < b`, in the middle where there is one.
fn between(a: f32, b: f32) -> f32 {
    let middle = ((f64::from(a) + f64::from(b)) / 2.0) as f32;
    if a <= middle && middle < b && middle.is_finite() { middle } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::cases;
    use crate::matrix::runs::key;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(200)))]

        #[test]
        fn a_cut_is_between(a in any::<f32>(), b in any::<f32>()) {
            prop_assume!(a < b);
            let cut = between(a, b);
            prop_assert!(a <= cut && cut < b);
        }

        /// Never more bins than asked for, and none of them empty; one for each value where there are few.
        #[test]
        fn bins_are_even(
            counts in prop::collection::vec(prop_oneof![8 => 1usize..4, 1 => 1usize..300], 1..600), most in 1usize..256,
        ) {
            let known: Vec<(u32, usize)> = counts.iter().enumerate().map(|(k, &n)| (key(k as f32), n)).collect();
            let (found, _) = column(&known, false, most);
            let Column::Cuts(cuts) = &found else { panic!() };
            prop_assert!(found.bins() <= most);
            prop_assert!(cuts.windows(2).all(|pair| pair[0] < pair[1]));
            let mut bins = vec![vec![]; found.bins()];
            for (k, &count) in counts.iter().enumerate() {
                bins[cuts.partition_point(|&cut| cut < k as f32)].push(count);
            }
            prop_assert!(bins.iter().all(|bin| !bin.is_empty()));
            if counts.len() <= most {
                prop_assert_eq!(bins.len(), counts.len());
            }
        }

        /// Rows that are spread without a heavy value are spread evenly over bins.
        #[test]
        fn bins_of_many_values_are_even(values in 600usize..5000, most in 2usize..256) {
            let known: Vec<(u32, usize)> = (0..values).map(|k| (key(k as f32), 1)).collect();
            let (Column::Cuts(cuts), _) = column(&known, false, most) else { panic!() };
            prop_assert_eq!(cuts.len() + 1, most);
            let share = values.div_ceil(most) as f32;
            prop_assert!(cuts.windows(2).all(|pair| pair[1] - pair[0] <= share + 1.0));
            prop_assert!(cuts[0] <= share + 1.0 && values as f32 - cuts[most - 2] <= share + 1.0);
        }
    }
}
