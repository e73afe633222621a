//! The ranges and quantiles of columns, and which of them other data leave.
//!
//! A model answers for data like those that it learned from. It keeps what each column looked like there, so that data that look otherwise can
//! be told: a unit of measure that changed, a column that is filled by another program, months that have gone by.

use crate::matrix::Features;
use crate::matrix::runs::{Run, key, value};
use rayon::prelude::*;
use std::ops::Range;

/// The shares of rows below the quantiles that are kept.
pub const SHARES: [f64; 5] = [0.01, 0.25, 0.5, 0.75, 0.99];
/// Numbers that are kept of a column: its least value, its quantiles, its largest value.
pub const KEPT: usize = SHARES.len() + 2;
/// How rarely chance alone makes any column leave its range.
const CHANCE: f64 = 0.001;
/// So many times its own width outside a range a value is worth a word by itself.
const FAR: f64 = 10.0;
/// From so many units on it is looked at where most rows are, …
const ENOUGH: usize = 20;
/// … and from this share on beyond a quartile a column has moved; a quarter is usual.
const MOVED: f64 = 0.75;

/// What columns looked like where a model learned from them.
///
/// ```
/// use ordain::data::ranges::Ranges;
/// use ordain::matrix::{Features, Matrix};
/// let column = |values: &[f32]| Features::Dense(Matrix::new(values.to_vec(), 1));
/// let ranges = Ranges::learn(&column(&[1.0, 2.0, 3.0, 4.0]), &[0, 1, 2, 3], 4);
/// assert_eq!(ranges.columns()[0], [1.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0]);
/// let left = ranges.left(&column(&[2.0, 900.0]), [0..1, 1..2].into_iter());
/// assert_eq!((left[0].column, left[0].above, left[0].far), (0, 1, 896.0 / 3.0));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranges {
    /// The number of units: queries, items or problems.
    units: u32,
    /// Least value, quantiles and largest value of the first columns; of one without a value the least is above the largest.
    columns: Vec<[f32; KEPT]>,
}

/// A column that other data have left.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    /// The column.
    pub column: usize,
    /// The least and the largest value that the model has seen.
    pub range: [f32; 2],
    /// The least and the largest value now.
    pub now: [f32; 2],
    /// Rows that have a value.
    pub rows: usize,
    /// Rows below the range.
    pub below: usize,
    /// Rows above the range.
    pub above: usize,
    /// Units with such a row.
    pub units: usize,
    /// How far outside the farthest is, in widths of the range; infinite where that is a point.
    pub far: f64,
    /// The share of rows below the first quartile or above the third, if it is at least three quarters.
    pub moved: Option<f64>,
}

/// What is counted of a column: rows, below, above, units outside, beyond either quartile, least and largest.
#[derive(Clone, Copy)]
struct Count {
    rows: usize,
    outside: [usize; 2],
    units: usize,
    quarter: [usize; 2],
    ends: [f32; 2],
}

impl Count {
    const NONE: Self =
        Self { rows: 0, outside: [0; 2], units: 0, quarter: [0; 2], ends: [f32::INFINITY, f32::NEG_INFINITY] };

    fn add(mut self, other: Self) -> Self {
        self.rows += other.rows;
        self.units += other.units;
        for side in 0..2 {
            self.outside[side] += other.outside[side];
            self.quarter[side] += other.quarter[side];
        }
        self.ends = [self.ends[0].min(other.ends[0]), self.ends[1].max(other.ends[1])];
        self
    }

    /// Counts so many rows of a value; says whether it is outside.
    fn see(&mut self, x: f32, times: usize, range: &[f32; KEPT]) -> bool {
        self.rows += times;
        self.ends = [self.ends[0].min(x), self.ends[1].max(x)];
        let outside = [x < range[0], x > range[KEPT - 1]];
        let quarter = [x < range[2], x > range[4]];
        for side in 0..2 {
            self.outside[side] += times * usize::from(outside[side]);
            self.quarter[side] += times * usize::from(quarter[side]);
        }
        outside[0] || outside[1]
    }
}

impl Ranges {
    /// The ranges of all columns over some rows, which are those of so many units. O(rows · columns).
    pub fn learn(features: &Features, rows: &[u32], units: usize) -> Self {
        Self::new(units, crate::matrix::runs::columns(features, rows, |_, runs| of_runs(runs)))
    }

    /// These ranges.
    pub(crate) fn new(units: usize, columns: Vec<[f32; KEPT]>) -> Self {
        Self { units: u32::try_from(units).unwrap_or(u32::MAX), columns }
    }

    /// The same of the first columns alone.
    pub(crate) fn first(mut self, columns: usize) -> Self {
        self.columns.truncate(columns);
        self
    }

    /// The number of units that they were learned from.
    pub fn units(&self) -> u32 {
        self.units
    }

    /// Least value, quantiles ([`SHARES`]) and largest value of the first columns.
    pub fn columns(&self) -> &[[f32; KEPT]] {
        &self.columns
    }

    /// Whether none are known, as in models of versions that did not keep them.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Whether they are ranges of at most so many columns.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        let ascends = |c: &[f32; KEPT]| c.windows(2).all(|pair| pair[0] <= pair[1]);
        let finite = |c: &[f32; KEPT]| c.iter().all(|x| x.is_finite());
        self.columns.len() <= columns && self.columns.iter().all(|c| finite(c) && (ascends(c) || *c == NOTHING))
    }

    /// The columns that the rows of some units have left, the farthest first.
    ///
    /// If units are drawn alike, a new one has a value outside the range of U others with probability at most 2/(U + 1). A column is named
    /// if more units do than chance explains (a Poisson tail of .001 over all columns), if a value is ten widths outside, or if three
    /// quarters of the rows of at least 20 units are beyond a quartile. O(values).
    pub fn left(&self, features: &Features, units: impl Iterator<Item = Range<usize>>) -> Vec<Left> {
        let units: Vec<Range<usize>> = units.collect();
        let counts = self.count(features, &units);
        let least = CHANCE / self.columns.len().max(1) as f64;
        let expected = 2.0 * units.len() as f64 / (f64::from(self.units) + 1.0);
        let mut all: Vec<Left> = vec![];
        for (column, (count, kept)) in counts.iter().zip(&self.columns).enumerate() {
            let range = [kept[0], kept[KEPT - 1]];
            if count.rows == 0 || *kept == NOTHING {
                continue;
            }
            let width = f64::from(range[1]) - f64::from(range[0]);
            let over = (f64::from(range[0]) - f64::from(count.ends[0]))
                .max(f64::from(count.ends[1]) - f64::from(range[1]))
                .max(0.0);
            let far = if over > 0.0 { over / width } else { 0.0 };
            let most = count.quarter[0].max(count.quarter[1]) as f64 / count.rows as f64;
            let moved = (units.len() >= ENOUGH && most >= MOVED).then_some(most);
            if moved.is_some() || over > 0.0 && (far >= FAR && width > 0.0 || tail(count.units, expected) <= least) {
                let [below, above] = count.outside;
                let (rows, now) = (count.rows, count.ends);
                all.push(Left { column, range, now, rows, below, above, units: count.units, far, moved });
            }
        }
        all.sort_by(|a, b| b.far.total_cmp(&a.far).then(a.column.cmp(&b.column)));
        all
    }

    fn count(&self, features: &Features, units: &[Range<usize>]) -> Vec<Count> {
        let d = self.columns.len();
        // columns in which the 0 that a sparse row does not store is outside
        let never: Vec<usize> =
            (0..d).filter(|&j| self.columns[j][0] > 0.0 || self.columns[j][KEPT - 1] < 0.0).collect();
        let of = |units: &[Range<usize>]| {
            // counts, how many values are stored, the latest unit that was outside (from 1), and values stored in this unit
            let (mut all, mut stored, mut latest) = (vec![Count::NONE; d], vec![0usize; d], vec![0usize; d]);
            let mut here = vec![0usize; d];
            for (n, unit) in (1..).zip(units) {
                never.iter().for_each(|&j| here[j] = 0);
                for row in unit.clone() {
                    features.each(row, |j, x| {
                        let Some(range) = self.columns.get(j) else { return };
                        (stored[j], here[j]) = (stored[j] + 1, here[j] + 1);
                        if !x.is_nan() && all[j].see(x, 1, range) && latest[j] < n {
                            (latest[j], all[j].units) = (n, all[j].units + 1);
                        }
                    });
                }
                for &j in &never {
                    if here[j] < unit.len() && latest[j] < n {
                        (latest[j], all[j].units) = (n, all[j].units + 1);
                    }
                }
            }
            let rows: usize = units.iter().map(Range::len).sum();
            for j in (0..d).filter(|&j| stored[j] < rows) {
                all[j].see(0.0, rows - stored[j], &self.columns[j]);
            }
            all
        };
        let join = |a: Vec<Count>, b: Vec<Count>| a.into_iter().zip(b).map(|(a, b)| a.add(b)).collect();
        units.par_chunks(256).map(of).reduce(|| vec![Count::NONE; d], join)
    }
}

/// A column without a value.
const NOTHING: [f32; KEPT] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

/// What is kept of a column by its values.
pub(crate) fn of_runs(runs: &[Run]) -> [f32; KEPT] {
    let runs = &runs[..runs.partition_point(|run| run.0 < key(f32::INFINITY))];
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return NOTHING };
    let rows: usize = runs.iter().map(|run| run.1).sum();
    let (mut kept, mut next, mut below) = ([value(first.0); KEPT], 0, 0);
    for &(key, count) in runs {
        below += count;
        while next < SHARES.len() && below > (SHARES[next] * rows as f64) as usize {
            kept[next + 1] = value(key);
            next += 1;
        }
    }
    kept[KEPT - 1] = value(last.0);
    kept
}

/// An upper bound of the probability that a Poisson number of this mean is at least `count`.
fn tail(count: usize, mean: f64) -> f64 {
    let k = count as f64;
    if k <= mean || count == 0 {
        return 1.0;
    }
    let factorial: f64 = (1..=count).map(|i| (i as f64).ln()).sum();
    (k * mean.ln() - mean - factorial).exp() / (1.0 - mean / (k + 1.0))
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // quantiles are values of the data
mod tests {
    use super::*;
    use crate::matrix::{Csr, Matrix};
    use crate::random::Random;

    /// Sorted values, and the one below which the share of rows is.
    fn slow(values: &[f32]) -> [f32; KEPT] {
        let mut sorted: Vec<f32> = values.iter().copied().filter(|x| x.is_finite()).collect();
        sorted.sort_by(f32::total_cmp);
        let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else { return NOTHING };
        let mut kept = [first; KEPT];
        for (k, share) in SHARES.iter().enumerate() {
            kept[k + 1] = sorted[(share * sorted.len() as f64) as usize];
        }
        kept[KEPT - 1] = last;
        kept
    }

    #[test]
    fn ranges_are_those_of_sorted_values() {
        let mut random = Random::new(3);
        for _ in 0..crate::cases::cases(60) {
            let (n, d) = (1 + random.below(300), 3);
            let values: Vec<f32> = (0..n * d)
                .map(|_| if random.below(9) == 0 { f32::NAN } else { (random.below(40) as f32 - 20.0) / 4.0 })
                .collect();
            let features = Features::Dense(Matrix::new(values.clone(), d));
            let rows: Vec<u32> = (0..n as u32).filter(|_| random.below(5) > 0).collect();
            let ranges = Ranges::learn(&features, &rows, n);
            for (j, kept) in ranges.columns().iter().enumerate() {
                let own: Vec<f32> = rows.iter().map(|&row| values[row as usize * d + j]).collect();
                assert_eq!(*kept, slow(&own));
            }
            assert!(ranges.fits(d) && !ranges.fits(d - 1));
            assert!(ranges.left(&features, rows.iter().map(|&row| row as usize..row as usize + 1)).is_empty());
        }
    }

    #[test]
    fn sparse_rows_count_like_dense_ones() {
        let mut random = Random::new(8);
        let dense: Vec<f32> =
            (0..90 * 4).map(|_| if random.below(2) == 0 { 0.0 } else { random.normal() as f32 * 9.0 }).collect();
        let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
        for row in dense.chunks(4) {
            for (j, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                columns.push(j as u32);
                values.push(x);
            }
            ends.push(values.len());
        }
        let sparse = Features::Sparse(Csr::new(ends, columns, values, 4));
        let dense = Features::Dense(Matrix::new(dense, 4));
        let first: Vec<u32> = (0..20).collect();
        let ranges = Ranges::learn(&dense, &first, 10);
        assert_eq!(Ranges::learn(&sparse, &first, 10), ranges);
        let units = || (0..45).map(|unit| 2 * unit..2 * unit + 2);
        let left = ranges.left(&dense, units());
        assert_eq!(ranges.left(&sparse, units()), left);
    }

    #[test]
    fn chance_is_not_said_and_a_change_is() {
        let mut random = Random::new(1);
        let mut made = |rows: usize, scale: f32, shift: f32| {
            let values = (0..rows * 10).map(|_| scale * random.normal() as f32 + shift).collect();
            Features::Dense(Matrix::new(values, 10))
        };
        let (train, rows) = (made(500, 1.0, 0.0), (0..500).collect::<Vec<u32>>());
        let ranges = Ranges::learn(&train, &rows, 500);
        let one = |features: &Features| ranges.left(features, (0..features.rows()).map(|row| row..row + 1));
        for _ in 0..20 {
            assert_eq!(one(&made(100, 1.0, 0.0)), []);
        }
        assert_eq!(one(&made(100, 3.0, 0.0)).len(), 10, "wider");
        let moved = one(&made(100, 0.1, 2.0));
        assert!(moved.len() == 10 && moved.iter().all(|left| left.moved == Some(1.0)), "inside, and all at one end");
        assert_eq!(one(&made(3, 1e4, 0.0)).len(), 10, "even one row far away");
    }

    #[test]
    fn tails_bound_those_of_poisson() {
        let exact = |count: usize, mean: f64| {
            let mut term = (-mean).exp();
            let mut sum = term;
            (1..count).for_each(|k| {
                term *= mean / k as f64;
                sum += term;
            });
            1.0 - sum
        };
        for (count, mean) in [(1, 0.01), (3, 0.5), (9, 2.0), (12, 6.0)] {
            let (bound, exact) = (tail(count, mean), exact(count, mean));
            assert!(bound >= exact - 1e-15 && bound <= 2.0 * exact, "{count} {mean}: {bound} {exact}");
        }
        assert_eq!(tail(0, 0.1), 1.0);
    }
}
