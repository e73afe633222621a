//! Scaling of features: what is learned from data, and how it is applied without touching them.
//!
//! A scaled value is `(x − offset) · factor`, with one offset and factor per column, or per query and column. Nothing
//! is copied: [`crate::scorer::rows::Rows`] folds both into the parameters. A constant column gets the factor 0.

use super::Groups;
use crate::error::{Error, Result};
use crate::matrix::Features;
use crate::pieces::{self, Node, Pieces, add_up, tree};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::str::FromStr;

/// How features are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scale {
    /// Not at all.
    None,
    /// To mean 0 and standard deviation 1 over the training data.
    Global,
    /// To mean 0 and standard deviation 1 within each query.
    Query,
    /// To the range from 0 to 1 within each query.
    Minmax,
    /// To mean 0 and standard deviation 1 over the matched edges of the training data; of matchings alone.
    Matched,
}

impl Scale {
    /// All that serve rankings, in the order in which they are tried.
    pub const ALL: &'static [Self] = &[Self::Query, Self::Global, Self::Minmax, Self::None];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Global => "global",
            Self::Query => "query",
            Self::Minmax => "minmax",
            Self::Matched => "matched",
        }
    }
}

impl FromStr for Scale {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|scale| scale.name() == text)
            .ok_or_else(|| Error::unknown("scale", text, ["auto", "none", "global", "query", "minmax"]))
    }
}

/// Offsets and factors of one set of columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Affine {
    /// What is subtracted.
    pub offset: Vec<f32>,
    /// What it is then multiplied by.
    pub factor: Vec<f32>,
}

impl Affine {
    /// To mean 0 and standard deviation 1 over some rows of a set that is cut into these pieces; a constant column gets the factor 0.
    ///
    /// Two passes, O(values), on all threads; sums are added by the [tree](crate::pieces).
    pub fn standard(features: &Features, pieces: &Pieces, rows: impl Iterator<Item = Range<usize>>) -> Self {
        let mut runs = pieces.row_runs(rows);
        let n = runs.iter().flat_map(|(_, rows)| rows).map(Range::len).sum::<usize>().max(1);
        let (offset, factor) = column_spreads(features, &mut runs, n).iter().map(|s| s.standard(n)).unzip();
        Self { offset, factor }
    }

    /// To mean 0 and standard deviation 1 over some rows, to which a hundredth of the deviation over all is added: a column that hardly varies within
    /// what belongs together, and much otherwise, weighs most.
    pub fn within(
        features: &Features,
        pieces: &Pieces,
        some: impl Iterator<Item = Range<usize>>,
        all: impl Iterator<Item = Range<usize>>,
    ) -> Self {
        Self::standard(features, pieces, some).beside(&Self::standard(features, pieces, all))
    }

    /// [`Self::within`] by what standard scalings over some rows and over all found.
    pub(crate) fn beside(mut self, all: &Self) -> Self {
        for ((own, offset), (&whole, &mean)) in
            self.factor.iter_mut().zip(&mut self.offset).zip(all.factor.iter().zip(&all.offset))
        {
            let deviation = |factor: f32| if factor > 0.0 { 1.0 / f64::from(factor) } else { 0.0 };
            let width = (deviation(*own).powi(2) + 1e-4 * deviation(whole).powi(2)).sqrt();
            *own = if whole > 0.0 { (1.0 / width) as f32 } else { 0.0 };
            if whole == 0.0 {
                *offset = mean;
            }
        }
        self
    }

    /// The same factors without offsets: what keeps sparse features sparse.
    pub fn without_offsets(self) -> Self {
        Self { offset: vec![0.0; self.offset.len()], ..self }
    }

    /// The features under this scaling; sparse ones stay so if nothing is subtracted, and are dense otherwise.
    pub fn apply(&self, features: &Features) -> Features {
        let mut scaled = match features {
            Features::Sparse(_) if self.offset.iter().any(|&offset| offset != 0.0) => {
                Features::Dense(features.to_dense())
            }
            _ => features.clone(),
        };
        let cols = scaled.cols();
        match &mut scaled {
            Features::Dense(m) => m
                .values_mut()
                .chunks_exact_mut(cols.max(1))
                .flat_map(|row| row.iter_mut().enumerate())
                .for_each(|(j, x)| *x = (*x - self.offset[j]) * self.factor[j]),
            Features::Sparse(m) => {
                let (columns, values) = m.entries_mut();
                columns.iter().zip(values).for_each(|(&j, x)| *x *= self.factor[j as usize]);
            }
        }
        scaled
    }
}

/// A scaling, ready for a data set.
#[derive(Clone, Debug, PartialEq)]
pub enum Scaling {
    /// Values as they are.
    None,
    /// One offset and factor per column.
    Global(Affine),
    /// One per query and column; `starts` and `columns` say which columns where the set is sparse.
    Query {
        /// Offsets and factors, query after query.
        affine: Affine,
        /// Where each query begins, and the end.
        starts: Vec<usize>,
        /// The column of each entry; empty where the set is dense.
        columns: Vec<u32>,
    },
}

/// What is known of the values of one column over some rows.
#[derive(Clone, Copy)]
struct Spread {
    sum: f64,
    mean: f64,
    square: f64,
    low: f32,
    high: f32,
    count: usize,
}

impl Spread {
    const NONE: Self = Self { sum: 0.0, mean: 0.0, square: 0.0, low: f32::INFINITY, high: f32::NEG_INFINITY, count: 0 };

    fn add(&mut self, x: f32) {
        self.sum += f64::from(x);
        self.low = self.low.min(x);
        self.high = self.high.max(x);
        self.count += 1;
    }

    /// Takes the mean, counting the zeros that a sparse set does not store.
    fn settle(&mut self, rows: usize) {
        self.mean = self.sum / rows as f64;
        if self.count < rows {
            self.low = self.low.min(0.0);
            self.high = self.high.max(0.0);
        }
    }

    fn standard(&self, rows: usize) -> (f32, f32) {
        let square = self.square + (rows - self.count) as f64 * self.mean * self.mean;
        self.affine(self.mean, (square / rows as f64).sqrt())
    }

    fn range(&self) -> (f32, f32) {
        self.affine(f64::from(self.low), f64::from(self.high) - f64::from(self.low))
    }

    fn affine(&self, offset: f64, width: f64) -> (f32, f32) {
        let factor = if self.low < self.high { (1.0 / width) as f32 } else { 0.0 };
        if self.low <= self.high && factor.is_finite() { (offset as f32, factor) } else { (0.0, 0.0) }
    }
}

/// Sums, then squares about the mean, over some rows; two passes, so that nothing cancels. `seen` are the columns in them.
fn spreads(features: &Features, rows: impl Iterator<Item = usize> + Clone, n: usize, seen: &[u32], out: &mut [Spread]) {
    for row in rows.clone() {
        features.each(row, |j, x| out[j].add(x));
    }
    seen.iter().for_each(|&j| out[j as usize].settle(n));
    for row in rows {
        features.each(row, |j, x| {
            let away = f64::from(x) - out[j].mean;
            out[j].square += away * away;
        });
    }
}

/// What the first pass over some rows finds of every column; `count` is empty where every value is stored.
struct Totals {
    sum: Vec<f64>,
    low: Vec<f32>,
    high: Vec<f32>,
    count: Vec<usize>,
}

impl Totals {
    fn of(features: &Features, runs: &[Range<usize>]) -> Self {
        let cols = features.cols();
        let mut all = Self {
            sum: vec![0.0; cols],
            low: vec![f32::INFINITY; cols],
            high: vec![f32::NEG_INFINITY; cols],
            count: vec![],
        };
        match features {
            Features::Dense(m) => {
                for row in runs.iter().flat_map(|run| m.some_rows(run.clone())) {
                    let columns = all.sum.iter_mut().zip(&mut all.low).zip(&mut all.high).zip(row);
                    for (((sum, low), high), &x) in columns {
                        *sum += f64::from(x);
                        *low = low.min(x);
                        *high = high.max(x);
                    }
                }
            }
            Features::Sparse(_) => {
                all.count.resize(cols, 0);
                for row in runs.iter().cloned().flatten() {
                    features.each(row, |j, x| {
                        all.sum[j] += f64::from(x);
                        all.low[j] = all.low[j].min(x);
                        all.high[j] = all.high[j].max(x);
                        all.count[j] += 1;
                    });
                }
            }
        }
        all
    }

    fn add(mut self, other: Self) -> Self {
        self.low.iter_mut().zip(other.low).for_each(|(a, b)| *a = a.min(b));
        self.high.iter_mut().zip(other.high).for_each(|(a, b)| *a = a.max(b));
        self.count.iter_mut().zip(other.count).for_each(|(a, b)| *a += b);
        Self { sum: add_up(self.sum, other.sum), ..self }
    }

    /// What is known of the columns after the first pass over `n` rows.
    fn spreads(totals: Option<Self>, columns: usize, n: usize) -> Vec<Spread> {
        let Some(Self { sum, low, high, count }) = totals else { return vec![Spread::NONE; columns] };
        let of = |j: usize| {
            let count = if count.is_empty() { n } else { count[j] };
            let mut spread = Spread { sum: sum[j], low: low[j], high: high[j], count, ..Spread::NONE };
            spread.settle(n);
            spread
        };
        (0..columns).map(of).collect()
    }

    /// As numbers, to be sent.
    fn numbers(&self) -> Vec<f64> {
        let single = self.low.iter().chain(&self.high).map(|&x| f64::from(x));
        self.sum.iter().copied().chain(single).chain(self.count.iter().map(|&n| n as f64)).collect()
    }

    /// Read back.
    fn read(numbers: &[f64], columns: usize) -> Self {
        let part = |k: usize| numbers.chunks(columns.max(1)).nth(k).unwrap_or_default();
        let single = |k: usize| part(k).iter().map(|&x| x as f32).collect();
        let count = part(3).iter().map(|&n| n as usize).collect();
        Self { sum: part(0).to_vec(), low: single(1), high: single(2), count }
    }
}

/// The squares about the means over some rows.
fn squares(features: &Features, runs: &[Range<usize>], mean: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; mean.len()];
    match features {
        Features::Dense(m) => {
            for row in runs.iter().flat_map(|run| m.some_rows(run.clone())) {
                for ((out, mean), &x) in out.iter_mut().zip(mean).zip(row) {
                    let away = f64::from(x) - mean;
                    *out += away * away;
                }
            }
        }
        Features::Sparse(_) => {
            for row in runs.iter().cloned().flatten() {
                features.each(row, |j, x| {
                    let away = f64::from(x) - mean[j];
                    out[j] += away * away;
                });
            }
        }
    }
    out
}

/// What parts of a set say of their columns, for [`Affine::of_parts`]: two passes, whose nodes are merged by [`Self::add`] and [`add_up`].
pub(crate) struct Parts;

impl Parts {
    /// The first pass over some rows of a run of pieces: sums, least and largest values, and of sparse sets how many are stored.
    pub(crate) fn totals(set: Groups, rows: Vec<Range<usize>>, run: Range<usize>) -> Vec<Node<Vec<f64>>> {
        let mut runs = set.pieces().row_runs(rows.into_iter());
        let leaf = |run: &mut pieces::Rows| Ok::<_, ()>(Totals::of(set.features, &run.1));
        let all = pieces::nodes(&mut runs, run, &|run| run.0, &leaf, &Totals::add).unwrap_or_default();
        all.into_iter().map(|Node { level, at, sum }| Node { level, at, sum: sum.numbers() }).collect()
    }

    /// Totals of two runs.
    pub(crate) fn add(columns: usize) -> impl Fn(Vec<f64>, Vec<f64>) -> Vec<f64> + Sync {
        move |a, b| Totals::read(&a, columns).add(Totals::read(&b, columns)).numbers()
    }

    /// The means over `n` rows.
    pub(crate) fn means(totals: Option<&[f64]>, columns: usize, n: usize) -> Vec<f64> {
        Totals::spreads(totals.map(|all| Totals::read(all, columns)), columns, n).iter().map(|s| s.mean).collect()
    }

    /// The second pass: squares about the means.
    pub(crate) fn squares(
        set: Groups,
        rows: Vec<Range<usize>>,
        run: Range<usize>,
        means: &[f64],
    ) -> Vec<Node<Vec<f64>>> {
        let mut runs = set.pieces().row_runs(rows.into_iter());
        let leaf = |run: &mut pieces::Rows| Ok::<_, ()>(squares(set.features, &run.1, means));
        pieces::nodes(&mut runs, run, &|run| run.0, &leaf, &add_up).unwrap_or_default()
    }
}

impl Affine {
    /// What [`Self::standard`] finds over `n` rows, by what all parts of the set said.
    pub(crate) fn of_parts(totals: Option<&[f64]>, squares: Option<&[f64]>, columns: usize, n: usize) -> Self {
        let mut spread = Totals::spreads(totals.map(|all| Totals::read(all, columns)), columns, n);
        spread.iter_mut().zip(squares.unwrap_or_default()).for_each(|(s, &square)| s.square = square);
        let (offset, factor) = spread.iter().map(|s| s.standard(n)).unzip();
        Self { offset, factor }
    }
}

/// The same as [`spreads`] for every column over `n` rows of many pieces, on all threads.
fn column_spreads(features: &Features, runs: &mut [pieces::Rows], n: usize) -> Vec<Spread> {
    let totals = tree(runs, &|run| run.0, &|run| Ok::<_, ()>(Totals::of(features, &run.1)), &Totals::add);
    let totals = totals.ok().flatten();
    if totals.is_none() {
        return vec![Spread::NONE; features.cols()];
    }
    let mut spread = Totals::spreads(totals, features.cols(), n);
    let mean: Vec<f64> = spread.iter().map(|s| s.mean).collect();
    let square = tree(runs, &|run| run.0, &|run| Ok::<_, ()>(squares(features, &run.1, &mean)), &add_up);
    let square = square.ok().flatten().unwrap_or_default();
    spread.iter_mut().zip(square).for_each(|(s, square)| s.square = square);
    spread
}

impl Scaling {
    /// Offsets and factors, if they are the same for all rows.
    pub fn global(&self) -> Option<&Affine> {
        if let Self::Global(affine) = self { Some(affine) } else { None }
    }

    /// Learns a scaling: `global` from the queries `units`, the others from each query of the set by itself.
    ///
    /// Cost: two passes over the rows, O(values).
    pub fn learn<'a>(scale: Scale, set: impl Into<Groups<'a>>, units: &[u32]) -> Self {
        let set = set.into();
        match scale {
            // what edges are matched is not known here: see `Affine::within`
            Scale::None | Scale::Matched => Self::None,
            Scale::Global => {
                let rows = units.iter().map(|&q| set.span(q as usize));
                Self::Global(Affine::standard(set.features, &set.pieces(), rows))
            }
            Scale::Query | Scale::Minmax => Self::per_query(scale, set, (0..set.len()).collect()),
        }
    }

    /// The scaling of the queries `units` alone, which each learn from themselves: `scale=query` and `scale=minmax`. Nothing is known of other queries.
    ///
    /// Cost: two passes over the rows of these queries, and a number per query of the set. Whoever needs one query takes [`Groups::one`].
    pub fn of_units<'a>(scale: Scale, set: impl Into<Groups<'a>>, units: &[u32]) -> Self {
        let set = set.into();
        match scale {
            Scale::Query | Scale::Minmax => {
                let mut queries: Vec<usize> = units.iter().map(|&q| q as usize).collect();
                queries.sort_unstable();
                queries.dedup();
                Self::per_query(scale, set, queries)
            }
            Scale::None | Scale::Global | Scale::Matched => Self::None,
        }
    }

    /// The scaling of some queries, in ascending order.
    fn per_query(scale: Scale, set: Groups, queries: Vec<usize>) -> Self {
        #[cfg(test)]
        learned::add(queries.len());
        let cols = set.features.cols();
        let sparse = matches!(set.features, Features::Sparse(_));
        let of = |q: usize, spread: &mut Vec<Spread>, seen: &mut Vec<u32>, out: &mut (Vec<u32>, Vec<f32>, Vec<f32>)| {
            let span = set.span(q);
            seen.clear();
            if sparse {
                for row in span.clone() {
                    set.features.each(row, |j, _| {
                        if spread[j].count == 0 {
                            spread[j].count = 1;
                            seen.push(j as u32);
                        }
                    });
                }
                seen.sort_unstable();
                seen.iter().for_each(|&j| spread[j as usize] = Spread::NONE);
            } else {
                seen.extend(0..cols as u32);
            }
            spreads(set.features, span.clone(), span.len().max(1), seen, spread);
            for &j in seen.iter() {
                let s = &mut spread[j as usize];
                let (offset, factor) = if scale == Scale::Query { s.standard(span.len().max(1)) } else { s.range() };
                out.1.push(offset);
                out.2.push(factor);
                *s = Spread::NONE;
            }
            if sparse {
                out.0.extend_from_slice(seen);
            }
            seen.len()
        };
        // fixed runs of queries, put together in order
        let made: Vec<_> = queries
            .par_chunks(256)
            .map(|run| {
                let (mut spread, mut seen) = (vec![Spread::NONE; cols], vec![]);
                let mut out = (vec![], vec![], vec![]);
                let sizes: Vec<usize> = run.iter().map(|&q| of(q, &mut spread, &mut seen, &mut out)).collect();
                (sizes, out)
            })
            .collect();
        let total = made.iter().map(|(_, out)| out.1.len()).sum();
        let mut affine = Affine { offset: Vec::with_capacity(total), factor: Vec::with_capacity(total) };
        let (mut starts, mut columns) = (Vec::with_capacity(set.len() + 1), vec![]);
        starts.push(0);
        let (mut end, mut queries) = (0, queries.into_iter());
        for (sizes, out) in made {
            for (size, q) in sizes.into_iter().zip(&mut queries) {
                starts.resize(q + 1, end); // queries between are not asked for
                end += size;
                starts.push(end);
            }
            columns.extend(out.0);
            affine.offset.extend(out.1);
            affine.factor.extend(out.2);
        }
        starts.resize(set.len() + 1, end);
        Self::Query { affine, starts, columns }
    }
}

/// How many queries (or problems) had their scaling learned by calls from this thread: what tests count instead of seconds.
#[cfg(test)]
pub(crate) mod learned {
    use std::cell::Cell;

    thread_local! {
        static UNITS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn add(units: usize) {
        UNITS.set(UNITS.get() + units);
    }

    /// Those of one piece of work.
    pub(crate) fn by(work: impl FnOnce()) -> usize {
        let before = UNITS.get();
        work();
        UNITS.get() - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::cases;
    use crate::matrix::{Csr, Matrix};
    use crate::pieces::merge;
    use proptest::prelude::*;

    /// The slow twin: row after row and piece after piece on one thread, column by column.
    fn slow(features: &Features, pieces: &Pieces, rows: &[usize]) -> Affine {
        let n = rows.len().max(1);
        let by_pieces = |of: &dyn Fn(usize) -> f64| {
            let leaves = rows.chunk_by(|a, b| pieces.of_row(*a) == pieces.of_row(*b)).map(|run| Node {
                level: 0,
                at: pieces.of_row(run[0]),
                sum: run.iter().fold(0.0, |sum, &row| sum + of(row)),
            });
            merge(leaves.collect(), |a, b| a + b).unwrap_or(0.0)
        };
        let stored = |row: usize, j: usize| {
            let mut found = None;
            features.each(row, |k, x| found = if k == j { Some(x) } else { found });
            found
        };
        let of_column = |j: usize| {
            let mut spread = Spread { sum: by_pieces(&|row| stored(row, j).map_or(0.0, f64::from)), ..Spread::NONE };
            for x in rows.iter().filter_map(|&row| stored(row, j)) {
                spread.low = spread.low.min(x);
                spread.high = spread.high.max(x);
                spread.count += 1;
            }
            spread.settle(n);
            spread.square = by_pieces(&|row| {
                stored(row, j).map_or(0.0, |x| (f64::from(x) - spread.mean) * (f64::from(x) - spread.mean))
            });
            spread.standard(n)
        };
        let (offset, factor) = (0..features.cols()).map(of_column).unzip();
        Affine { offset, factor }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(60)))]

        #[test]
        fn pieces_on_all_threads_equal_one_after_the_other(
            sizes in prop::collection::vec(0usize..12, 1..60), taken in prop::collection::vec(any::<bool>(), 60),
            sparse: bool, seed in 0u64..1000, threads in 1usize..4,
        ) {
            let mut bounds = vec![0];
            sizes.iter().for_each(|size| bounds.push(bounds[bounds.len() - 1] + size));
            let (rows, cols) = (bounds[sizes.len()], 4);
            let x = |k: usize| {
                let x = ((k as u64 * 2_654_435_761 + seed * 97) % 1009) as f32 / 1009.0 - 0.4;
                if k % cols == 3 { 2.5 } else { x * 10f32.powi(k as i32 % 5) + 100.0 * (k % cols) as f32 }
            };
            let values: Vec<f32> = (0..rows * cols).map(x).collect();
            let features = if sparse {
                let (mut ends, mut columns, mut kept) = (vec![], vec![], vec![]);
                for row in 0..rows {
                    for j in (0..cols).filter(|j| !(row * 7 + j * 5 + seed as usize).is_multiple_of(3)) {
                        columns.push(j as u32);
                        kept.push(values[row * cols + j]);
                    }
                    ends.push(kept.len());
                }
                Features::Sparse(Csr::new(ends, columns, kept, cols))
            } else {
                Features::Dense(Matrix::new(values, cols))
            };
            let set = Groups::new(&features, &bounds);
            let units: Vec<u32> = (0..sizes.len() as u32).filter(|&u| taken[u as usize]).collect();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let backwards: Vec<u32> = units.iter().rev().copied().collect();
            let own: Vec<usize> = units.iter().flat_map(|&u| set.span(u as usize)).collect();
            let bits = |scaling: &Affine| {
                scaling.offset.iter().chain(&scaling.factor).map(|x| x.to_bits()).collect::<Vec<u32>>()
            };
            let truth = bits(&slow(&features, &set.pieces(), &own));
            for units in [&units, &backwards] {
                let Scaling::Global(found) = pool.install(|| Scaling::learn(Scale::Global, set, units)) else { unreachable!() };
                prop_assert_eq!(bits(&found), truth.clone());
            }
        }
    }
}
