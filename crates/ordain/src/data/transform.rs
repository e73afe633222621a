//! Monotone transforms of columns: what is learned from training rows, and how it is applied before scaling.
//!
//! A linear score is ruined by a column in which a few values are a thousand times the usual one: the deviation by which it is
//! scaled is that of these few. A monotone map of the column keeps the order of its values and takes the tail away.
//!
//! ```text
//! log:       sign(x) · log(1 + |x| / s)        s > 0, learned; 0 stays 0
//! quantile:  F(x) − F(0)                       F the share of training rows below x (ties by half), between knots a line
//! ```

use crate::data::ranges::{KEPT, Ranges, SHARES, of_runs};
use crate::error::{Error, Result};
use crate::matrix::Features;
use crate::matrix::runs::{self, Run, key, merge, value};
use rayon::prelude::*;
use std::borrow::Cow;
use std::str::FromStr;

/// How columns are transformed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transform {
    /// Log of the columns with a heavy tail: see [`Transforms::learn`].
    #[default]
    Auto,
    /// Not at all.
    None,
    /// Log of every column of more than two values.
    Log,
    /// Quantiles of every column of more than two values.
    Quantile,
}

impl Transform {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Auto, Self::None, Self::Log, Self::Quantile];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Log => "log",
            Self::Quantile => "quantile",
        }
    }
}

impl FromStr for Transform {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let known = || Self::ALL.iter().copied();
        known()
            .find(|transform| transform.name() == text)
            .ok_or_else(|| Error::unknown("transform", text, known().map(Self::name)))
    }
}

/// The transform of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnTransform {
    /// Values as they are.
    Keep,
    /// `sign(x) · log(1 + |x| / unit)`.
    Log {
        /// Below it a value counts about as it is, above it by its logarithm.
        unit: f32,
    },
    /// A line from knot to knot, and level beyond them.
    Quantile {
        /// Values of the column, ascending.
        values: Vec<f32>,
        /// What each becomes, ascending; 0 where the value is 0.
        levels: Vec<f32>,
    },
}

impl ColumnTransform {
    /// The new value; monotone, and 0 where `x` is 0.
    pub fn apply(&self, x: f32) -> f32 {
        match self {
            Self::Keep => x,
            Self::Log { unit } => {
                let size = (f64::from(x.abs()) / f64::from(*unit)).ln_1p() as f32;
                size.copysign(x)
            }
            Self::Quantile { values, levels } => level(values, levels, x),
        }
    }

    /// Whether its numbers are those of a transform.
    fn fits(&self) -> bool {
        match self {
            Self::Keep => true,
            Self::Log { unit } => unit.is_finite() && *unit > 0.0,
            Self::Quantile { values, levels } => {
                let ascends = |x: &[f32]| x.windows(2).all(|pair| pair[0] < pair[1]) && x.iter().all(|x| x.is_finite());
                !values.is_empty() && values.len() == levels.len() && ascends(values) && ascends(levels)
            }
        }
    }
}

/// The line between the knots around `x`.
fn level(values: &[f32], levels: &[f32], x: f32) -> f32 {
    let above = values.partition_point(|&value| value <= x);
    match above {
        0 => levels.first().copied().unwrap_or(0.0),
        above if above == values.len() => levels[above - 1],
        above => {
            let (low, high) = (f64::from(values[above - 1]), f64::from(values[above]));
            let (from, to) = (f64::from(levels[above - 1]), f64::from(levels[above]));
            (from + (to - from) * (f64::from(x) - low) / (high - low)) as f32
        }
    }
}

/// The transforms of all columns; none where no column is transformed.
///
/// ```
/// use ordain::data::transform::{ColumnTransform, Transform, Transforms};
/// use ordain::matrix::{Features, Matrix};
/// let x = |i: u32| [(i as f32 / 20.0).exp(), i as f32, (i % 2) as f32];
/// let mut x = Features::Dense(Matrix::new((0..200).flat_map(x).collect(), 3));
/// let learned = Transforms::learn(Transform::Auto, &x, &(0..200).collect::<Vec<u32>>());
/// assert!(matches!(learned.columns(), [ColumnTransform::Log { .. }, ColumnTransform::Keep, ColumnTransform::Keep]));
/// learned.apply(&mut x);
/// assert!(x.value(199, 0) < 11.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transforms(Vec<ColumnTransform>);

/// Values beside 0 up to which `auto` takes a column for a category or a grade, whose values are no sizes.
const FEW: usize = 10;
/// Quantiles that tails are measured by, and the most knots of a quantile transform.
const KNOTS: usize = 255;
/// The share of sizes of the rarer sign from which on a column is one of both signs.
const BOTH: f64 = 0.01;
/// The weight of the tail of `exp` of a standard normal, by the quantiles of this module.
const VERY_HEAVY: f64 = 23.6;
/// The shares of sizes below a unit of the logarithm that are tried.
const BELOW: [f64; 6] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

impl Transforms {
    /// Learns the transforms from some rows.
    ///
    /// With `auto` a column becomes its logarithm if its tail is *heavy*, which is to say heavier than exponential, and the
    /// logarithm's is not as heavy. The weight of a tail is the fourth moment over the squared second one, of 255 quantiles of
    /// the values that are not 0: how far the spread of the column is that of a few values. (Zeros are left out, because a
    /// column that is mostly 0 says little by that.) A column of at most ten values beside 0 is never transformed: it is an
    /// indicator, a category or a grade.
    ///
    /// A column of both signs (at least one size in a hundred is of the rarer one) has been centred, or is a difference: 0 is no least amount in it, and a logarithm about
    /// 0 bends its middle. That pays only where the tail is very heavy: heavier than that of `exp` of a standard normal.
    ///
    /// The unit s of the logarithm has 1, 2, 5, 10, 20 or 50 of a hundred sizes |x| > 0 below it: the one that makes the column most symmetric (the
    /// least third moment of the quantiles; the *start* of a logarithm in Mosteller and Tukey 1977). So the `exp` of a symmetric column comes back as
    /// a line, and counts of which many are 1 become log(1 + x). In a column of both signs 0 is the middle of the values and not their
    /// least, and what is small is noise around it: there s has at least as large a share of sizes below it as the rarer sign has.
    ///
    /// All is learned from the [sorted values](crate::matrix), so that neither the order of rows nor a cut into shards changes
    /// a bit. O(rows · columns), on all threads.
    pub fn learn(how: Transform, features: &Features, rows: &[u32]) -> Self {
        if how == Transform::None {
            return Self::default();
        }
        Self::new(runs::columns(features, rows, |_, runs| column(how, runs, false)))
    }

    /// The same, with the ranges of all columns, which are learned from the same sorted values; the rows are those of so many units.
    pub(crate) fn learn_with_ranges(how: Transform, features: &Features, rows: &[u32], units: usize) -> (Self, Ranges) {
        let both = runs::columns(features, rows, |_, runs| of_values(how, runs));
        let (columns, ranges) = both.into_iter().unzip();
        (Self::new(columns), Ranges::new(units, ranges))
    }

    /// These transforms.
    pub fn new(columns: Vec<ColumnTransform>) -> Self {
        let any = columns.iter().any(|column| *column != ColumnTransform::Keep);
        Self(if any { columns } else { vec![] })
    }

    /// The transform of each column; empty if none is transformed.
    pub fn columns(&self) -> &[ColumnTransform] {
        &self.0
    }

    /// Whether no column is transformed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same with some columns as they are.
    pub(crate) fn without(self, kept: impl Fn(usize) -> bool) -> Self {
        let one = |(j, column)| if kept(j) { ColumnTransform::Keep } else { column };
        Self::new(self.0.into_iter().enumerate().map(one).collect())
    }

    /// Whether they are transforms of so many columns.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        (self.is_empty() || self.0.len() == columns) && self.0.iter().all(ColumnTransform::fits)
    }

    /// Transforms all values in place; sparse rows stay as sparse as they are. O(values), on all threads.
    pub fn apply(&self, features: &mut Features) {
        if self.is_empty() {
            return;
        }
        let cols = features.cols();
        let changed: Vec<(usize, &ColumnTransform)> =
            self.0.iter().enumerate().filter(|(_, column)| **column != ColumnTransform::Keep).collect();
        match features {
            Features::Dense(m) => {
                let row = |row: &mut [f32]| changed.iter().for_each(|(j, column)| row[*j] = column.apply(row[*j]));
                m.values_mut().par_chunks_exact_mut(cols).with_min_len(64).for_each(row);
            }
            Features::Sparse(m) => {
                let (columns, values) = m.entries_mut();
                let one = |(&j, x): (&u32, &mut f32)| *x = self.0[j as usize].apply(*x);
                columns.par_iter().zip(values).with_min_len(1024).for_each(one);
            }
        }
    }
}

/// Of a column whose rows are on several machines: all its values, where there are at most so many.
pub(crate) const SENT: usize = 600;

/// The transform and the range of a column.
pub(crate) type Look = (ColumnTransform, [f32; KEPT]);

/// Those of a column whose values are all known.
pub(crate) fn of_values(how: Transform, runs: &[Run]) -> Look {
    (column(how, runs, false), of_runs(runs))
}

/// A value that a transform rests on, of a column of more than [`SENT`] values: the one of this rank, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Among all.
    Value(usize),
    /// Among those that are not 0.
    Size(usize),
    /// Among these without their signs.
    Absolute(usize),
}

/// The key of 0 and that of infinity.
const ZERO: u32 = 0x8000_0000;
const INFINITE: u32 = 0xff80_0000;

impl Wanted {
    /// Its rank.
    pub(crate) fn rank(self) -> usize {
        let (Self::Value(rank) | Self::Size(rank) | Self::Absolute(rank)) = self;
        rank
    }

    /// The keys of which it has to be known how many values are below, for [`Summary::rank`].
    pub(crate) fn asks(self, key: u32) -> impl Iterator<Item = u32> {
        let mirrored = matches!(self, Self::Absolute(_)).then_some(!key);
        std::iter::once(key.saturating_add(1)).chain(mirrored)
    }

    /// The keys that are to be known by themselves, where its value is this one.
    pub(crate) fn keys(self, found: u32) -> impl Iterator<Item = u32> {
        std::iter::once(found).chain(matches!(self, Self::Absolute(_)).then_some(!found))
    }
}

/// How many values of a column are 0, and are there in all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    zeros: usize,
    all: usize,
}

impl Summary {
    /// The keys of which it has to be known how many values are below.
    pub(crate) const LANDMARKS: [u32; 3] = [ZERO, ZERO + 1, INFINITE];

    /// By these counts.
    pub(crate) fn new(counts: &[usize]) -> Self {
        let of = |k: usize| counts.get(k).copied().unwrap_or(0);
        Self { zeros: of(1) - of(0).min(of(1)), all: of(2) }
    }

    /// What a transform and a range rest on.
    pub(crate) fn wanted(&self, how: Transform) -> Vec<Wanted> {
        let (all, sizes) = (self.all, self.all - self.zeros);
        let share = |share: f64, of: usize| (share * of as f64) as usize;
        let range = SHARES.iter().map(|&below| share(below, all)).chain([0, all.saturating_sub(1)]).map(Wanted::Value);
        match how {
            Transform::None => range.collect(),
            Transform::Quantile => range.chain((0..KNOTS).map(|k| Wanted::Value(share(place(k), all)))).collect(),
            Transform::Auto | Transform::Log => {
                let quantiles = (0..KNOTS).map(|k| Wanted::Size(share(place(k), sizes)));
                let absolute = BELOW.iter().map(|&below| Wanted::Absolute(share(below, sizes)));
                range.chain(quantiles).chain(absolute).collect()
            }
        }
    }

    /// Below this key there is no such value.
    pub(crate) fn least(&self, wanted: Wanted) -> u32 {
        if matches!(wanted, Wanted::Absolute(_)) { ZERO } else { 0 }
    }

    /// How many values are not above a key, of those among which one is wanted.
    pub(crate) fn rank(&self, wanted: Wanted, key: u32, below: &impl Fn(u32) -> usize) -> usize {
        let up_to = below(key.saturating_add(1));
        match wanted {
            Wanted::Value(_) => up_to,
            Wanted::Size(_) => up_to - if key >= ZERO { self.zeros } else { 0 },
            Wanted::Absolute(_) => up_to - below(!key) - self.zeros,
        }
    }

    /// The transform and the range, by how many values are below ascending keys: those of the landmarks and of all that is wanted, each with its successor.
    ///
    /// Values between them are taken together, which changes no rank that matters.
    pub(crate) fn learn(&self, how: Transform, keys: &[u32], counts: &[usize]) -> Look {
        let before = keys.first().zip(counts.first()).map(|(&key, &count)| (key.saturating_sub(1), count));
        let between = keys.windows(2).zip(counts.windows(2)).map(|(keys, counts)| (keys[0], counts[1] - counts[0]));
        let runs: Vec<Run> = before.into_iter().chain(between).filter(|run| run.1 > 0).collect();
        (column(how, &runs, true), of_runs(&runs))
    }
}

/// The transform of a column by its values; `many`: they are more than [`SENT`], and stand together where that does not matter.
fn column(how: Transform, runs: &[Run], many: bool) -> ColumnTransform {
    let zero = key(0.0);
    let runs = &runs[..runs.partition_point(|run| run.0 < key(f32::INFINITY))];
    let mut sizes = Vec::with_capacity(runs.len());
    sizes.extend(runs.iter().copied().filter(|run| run.0 != zero));
    match how {
        Transform::None => ColumnTransform::Keep,
        // two values are moved and stretched, whatever the map
        _ if !many && runs.len() <= 2 => ColumnTransform::Keep,
        Transform::Log => log(&sizes),
        Transform::Quantile => quantile(runs, many),
        Transform::Auto if !many && sizes.len() <= FEW => ColumnTransform::Keep,
        Transform::Auto => {
            let quantiles = quantiles(&sizes);
            let raw = weight(&quantiles.map(f64::from));
            let least = if rarer_sign(&sizes) >= BOTH { VERY_HEAVY } else { weight(&exponential()) };
            if raw <= least {
                return ColumnTransform::Keep; // most columns: no logarithm is looked for
            }
            let log = log(&sizes);
            let heavy = weight(&quantiles.map(|x| f64::from(log.apply(x)))) < raw;
            if heavy { log } else { ColumnTransform::Keep }
        }
    }
}

/// The place of quantile `k`: in the middle of its share.
fn place(k: usize) -> f64 {
    (k as f64 + 0.5) / KNOTS as f64
}

/// The value below which a share of the rows is.
fn at(runs: &[Run], share: f64) -> u32 {
    let rows: usize = runs.iter().map(|run| run.1).sum();
    let (wanted, mut below) = ((share * rows as f64) as usize, 0);
    let found = runs.iter().find(|run| {
        below += run.1;
        below > wanted
    });
    found.or(runs.last()).map_or(key(0.0), |run| run.0)
}

/// Quantiles of a column, ascending.
fn quantiles(runs: &[Run]) -> [f32; KNOTS] {
    let rows: usize = runs.iter().map(|run| run.1).sum();
    let (mut all, mut next, mut below) = ([0.0; KNOTS], 0, 0);
    for &(key, count) in runs {
        below += count;
        while next < KNOTS && below > (place(next) * rows as f64) as usize {
            all[next] = value(key);
            next += 1;
        }
    }
    all
}

/// The quantiles of the exponential law, where heavy tails begin.
fn exponential() -> [f64; KNOTS] {
    std::array::from_fn(|k| -(1.0 - place(k)).ln())
}

/// A moment about the mean, in units of the deviation.
fn moment(values: &[f64], power: i32) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let moment = |power: i32| values.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / n;
    let deviation = moment(2).sqrt();
    if deviation > 0.0 { moment(power) / deviation.powi(power) } else { 0.0 }
}

/// The weight of the tails.
fn weight(values: &[f64]) -> f64 {
    moment(values, 4)
}

/// The share of the rarer sign.
fn rarer_sign(sizes: &[Run]) -> f64 {
    let count = |side: &[Run]| side.iter().map(|run| run.1).sum::<usize>() as f64;
    let (below, above) = sizes.split_at(sizes.partition_point(|run| run.0 < key(0.0)));
    count(below).min(count(above)) / count(sizes).max(1.0)
}

/// The logarithm in units of a quantile of sizes, so that it is as symmetric as it can be.
fn log(sizes: &[Run]) -> ColumnTransform {
    let (below, above) = sizes.split_at(sizes.partition_point(|run| run.0 < key(0.0)));
    let rarer = rarer_sign(sizes);
    // most columns have no values below 0, and need no copy
    let all = match below {
        [] => Cow::Borrowed(above),
        _ => {
            let turned: Vec<Run> = below.iter().rev().map(|&(at, count)| (key(-value(at)), count)).collect();
            Cow::Owned(merge(&turned, above))
        }
    };
    let quantiles = quantiles(sizes);
    let units = BELOW.iter().filter(|&&share| share >= rarer).map(|&share| value(at(&all, share)));
    let skew = |unit: f32| {
        let log = ColumnTransform::Log { unit };
        moment(&quantiles.map(|x| f64::from(log.apply(x))), 3).abs()
    };
    let best = units.filter(|&unit| unit > 0.0).map(|unit| (unit, skew(unit)));
    let best = best.reduce(|best, next| if next.1 < best.1 { next } else { best });
    best.map_or(ColumnTransform::Keep, |(unit, _)| ColumnTransform::Log { unit })
}

/// The share of rows below each value, and half of those at it; knots at the quantiles of a column of many values, and at its ends.
fn quantile(runs: &[Run], many: bool) -> ColumnTransform {
    let rows = runs.iter().map(|run| run.1).sum::<usize>() as f64;
    let (mut below, mut all) = (0, Vec::with_capacity(runs.len()));
    for &(key, count) in runs {
        all.push((key, (below as f64 + count as f64 / 2.0) / rows));
        below += count;
    }
    if many || all.len() > KNOTS {
        let zero = key(0.0);
        let wanted: Vec<u32> = quantiles(runs).iter().map(|&x| key(x)).collect();
        let ends = [all.first().map(|knot| knot.0), all.last().map(|knot| knot.0)];
        all.retain(|knot| knot.0 == zero || ends.contains(&Some(knot.0)) || wanted.binary_search(&knot.0).is_ok());
    }
    // where 0 lies between two values it is a knot of its own, so that a line through it cannot miss it by rounding
    let inside = all.partition_point(|knot| knot.0 < key(0.0));
    if inside > 0 && inside < all.len() && all[inside].0 != key(0.0) {
        let ((low, from), (high, to)) = (all[inside - 1], all[inside]);
        let (low, high) = (f64::from(value(low)), f64::from(value(high)));
        all.insert(inside, (key(0.0), from + (to - from) * -low / (high - low)));
    }
    let values: Vec<f32> = all.iter().map(|knot| value(knot.0)).collect();
    let share: Vec<f32> = all.iter().map(|knot| knot.1 as f32).collect();
    let origin = level(&values, &share, 0.0);
    let levels: Vec<f32> = share.iter().map(|share| share - origin).collect();
    // shares that single precision cannot tell apart are one knot: that of 0 where it is among them
    let zero = values.iter().position(|&x| x == 0.0);
    let tells = |k: usize| k == 0 || levels[k] > levels[k - 1];
    let kept = |k: usize| zero == Some(k) || tells(k) && (zero.is_none() || levels[k] != 0.0);
    let kept: Vec<usize> = (0..levels.len()).filter(|&k| kept(k)).collect();
    let pick = |all: &[f32]| kept.iter().map(|&k| all[k]).collect();
    ColumnTransform::Quantile { values: pick(&values), levels: pick(&levels) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::cases;
    use crate::matrix::{Csr, Matrix};
    use crate::random::Random;
    use proptest::prelude::*;

    fn some() -> impl Strategy<Value = f32> {
        prop_oneof![
            3 => (-20i32..200).prop_map(|k| k as f32 / 4.0),
            3 => (-3.0f32..9.0).prop_map(f32::exp),
            2 => Just(0.0f32),
            1 => (-9.0f32..9.0).prop_map(|x| -x.exp()),
            1 => any::<f32>().prop_filter("numbers", |x| x.is_finite()),
        ]
    }

    fn bits(column: &ColumnTransform) -> Vec<u32> {
        match column {
            ColumnTransform::Keep => vec![],
            ColumnTransform::Log { unit } => vec![unit.to_bits()],
            ColumnTransform::Quantile { values, levels } => values.iter().chain(levels).map(|x| x.to_bits()).collect(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(150)))]

        /// Any cut of the rows into shards, summed up by themselves and merged in any order, gives the bits of all rows at once;
        /// so do sparse rows, and rows in another order.
        #[test]
        fn shards_give_equal_bits(
            values in prop::collection::vec(some(), 1..700), parts in 1usize..6, seed: u64, how in 1usize..4,
        ) {
            let how = [Transform::None, Transform::Auto, Transform::Log, Transform::Quantile][how];
            let n = values.len();
            let whole = Features::Dense(Matrix::new(values.clone(), 1));
            let all: Vec<u32> = (0..n as u32).collect();
            let learned = runs::columns(&whole, &all, |_, runs| column(how, runs, false)).remove(0);
            let mut random = Random::new(seed);
            let mut shuffled = all.clone();
            random.shuffle(&mut shuffled);
            let mut shards: Vec<Vec<Run>> = (0..parts)
                .map(|part| {
                    let own: Vec<u32> = shuffled.iter().copied().filter(|row| *row as usize % parts == part).collect();
                    runs::columns(&whole, &own, |_, runs| runs.to_vec()).remove(0)
                })
                .collect();
            random.shuffle(&mut shards);
            let merged = shards.iter().fold(vec![], |all, shard| merge(&all, shard));
            prop_assert_eq!(bits(&column(how, &merged, false)), bits(&learned));
            let stored: Vec<usize> = (0..n).filter(|&i| values[i] != 0.0).collect();
            let ends = (0..n).map(|i| stored.partition_point(|&at| at <= i)).collect();
            let sparse = Csr::new(ends, vec![0; stored.len()], stored.iter().map(|&i| values[i]).collect(), 1);
            let sparse = Transforms::learn(how, &Features::Sparse(sparse), &shuffled);
            prop_assert_eq!(sparse, Transforms::new(vec![learned]));
        }

        /// Every transform is monotone, keeps 0, and is finite.
        #[test]
        fn transforms_are_monotone(
            values in prop::collection::vec(some(), 3..400), others in prop::collection::vec(some(), 2..40), how in 1usize..4,
        ) {
            let how = [Transform::None, Transform::Auto, Transform::Log, Transform::Quantile][how];
            let rows: Vec<u32> = (0..values.len() as u32).collect();
            let x = Features::Dense(Matrix::new(values.clone(), 1));
            let learned = runs::columns(&x, &rows, |_, runs| column(how, runs, false)).remove(0);
            prop_assert!(learned.fits());
            prop_assert_eq!(learned.apply(0.0).to_bits(), 0);
            let mut sorted: Vec<f32> = values.into_iter().chain(others).collect();
            sorted.sort_by(f32::total_cmp);
            let made: Vec<f32> = sorted.iter().map(|&x| learned.apply(x)).collect();
            prop_assert!(made.windows(2).all(|pair| pair[0] <= pair[1]), "{:?} {:?}", sorted, made);
            prop_assert!(made.iter().all(|x| x.is_finite()));
        }

        /// 0 stays 0 wherever it lies among the values, to the last bit: sparse rows leave it out.
        #[test]
        fn quantiles_keep_zero(values in prop::collection::vec(-1000i32..1000, 3..40), apart in 0i32..40, fine in 1i32..9000) {
            let all = values.iter().map(|&x| (x.signum() * apart + x) as f32 / fine as f32);
            let values: Vec<f32> = all.filter(|&x| x != 0.0).collect();
            let rows: Vec<u32> = (0..values.len() as u32).collect();
            let x = Features::Dense(Matrix::new(values, 1));
            let learned = runs::columns(&x, &rows, |_, runs| column(Transform::Quantile, runs, false)).remove(0);
            prop_assert!(learned.fits());
            prop_assert_eq!(learned.apply(0.0).to_bits(), 0, "{:?}", learned);
        }

        /// The slow twin of quantiles: the share below each training value, counted.
        #[test]
        fn quantiles_are_shares(values in prop::collection::vec(-60i32..60, 3..300)) {
            let x = Features::Dense(Matrix::new(values.iter().map(|&x| x as f32).collect(), 1));
            let rows: Vec<u32> = (0..values.len() as u32).collect();
            let mut made = x.clone();
            let learned = Transforms::learn(Transform::Quantile, &x, &rows);
            prop_assume!(!learned.is_empty());
            learned.apply(&mut made);
            let share = |x: i32| {
                let count = |f: &dyn Fn(i32) -> bool| values.iter().filter(|&&own| f(own)).count() as f64;
                (count(&|own| own < x) + count(&|own| own == x) / 2.0) / values.len() as f64
            };
            for (i, &a) in values.iter().enumerate() {
                let (moved, truth) = (made.value(i, 0) - made.value(0, 0), share(a) - share(values[0]));
                prop_assert!((f64::from(moved) - truth).abs() < 1e-5, "{} {}", moved, truth);
            }
        }
    }

    #[test]
    fn zero_between_two_values_stays_zero() {
        let values = vec![-1.0, 0.5, 0.75];
        let learned = Transforms::learn(Transform::Quantile, &Features::Dense(Matrix::new(values, 1)), &[0, 1, 2]);
        assert_eq!(learned.columns()[0].apply(0.0).to_bits(), 0);
        assert!(learned.columns()[0].apply(-1e-6) < 0.0 && learned.columns()[0].apply(1e-6) > 0.0);
    }

    fn kind(values: impl Iterator<Item = f64>) -> ColumnTransform {
        let values: Vec<f32> = values.map(|x| x as f32).collect();
        let rows: Vec<u32> = (0..values.len() as u32).collect();
        let learned = Transforms::learn(Transform::Auto, &Features::Dense(Matrix::new(values, 1)), &rows);
        learned.columns().first().cloned().unwrap_or(ColumnTransform::Keep)
    }

    /// Light tails stay, heavy ones are taken away, and what is no size is left alone.
    #[test]
    fn heavy_tails_are_found() {
        let mut random = Random::new(1);
        let normal: Vec<f64> = (0..3000).map(|_| random.normal()).collect();
        let of = |f: &dyn Fn(f64) -> f64| kind(normal.iter().map(|&z| f(z)));
        let logged = |column: &ColumnTransform| matches!(column, ColumnTransform::Log { .. });
        for light in [of(&|z| z), of(&|z| 1000.0 + z), of(&|z| 0.5 + (z / 2.0).tanh()), of(&|z| z.abs())] {
            assert!(!logged(&light), "{light:?}");
        }
        for heavy in [of(&f64::exp), of(&|z| (3.0 * z).exp()), of(&|z| -(2.0 * z).exp()), of(&|z| (3.0 * z).sinh())] {
            assert!(logged(&heavy), "{heavy:?}");
        }
        // what is centred is bent only where the tail is very heavy
        let centred = |power: f64| of(&|z| (power * z).exp() - (0.5 * power * power).exp());
        assert!(!logged(&centred(0.7)) && logged(&of(&|z| (0.7 * z).exp())) && logged(&centred(2.0)));
        // counts that are mostly 0 and 1, with a tail
        let counts = of(&|z| if z < 0.5 { 0.0 } else { ((4.0 * (z - 0.5)).exp()).floor() });
        assert_eq!(counts, ColumnTransform::Log { unit: 1.0 });
        // indicators, grades, rare categories
        assert!(!logged(&of(&|z| f64::from(u8::from(z > 2.0)))));
        assert!(!logged(&of(&|z| z.abs().floor())));
        assert!(!logged(&of(&|z| if z > 2.0 { 1000.0 * (z * 2.0).floor() } else { 0.0 })));
    }

    #[test]
    fn a_very_heavy_tail_is_that_of_exp_of_a_normal() {
        let mut random = Random::new(3);
        let mut values: Vec<f32> = (0..400_000).map(|_| random.normal().exp() as f32).collect();
        values.sort_by(f32::total_cmp);
        let runs: Vec<Run> = values.iter().map(|&x| (key(x), 1)).collect();
        assert!((weight(&quantiles(&runs).map(f64::from)) - VERY_HEAVY).abs() < 2.0);
    }

    /// The logarithm of exp(3z) is a line in z, but for a bend at its lower end.
    #[test]
    fn an_exponential_comes_back() {
        let mut random = Random::new(2);
        let z: Vec<f64> = (0..2000).map(|_| random.normal()).collect();
        let ColumnTransform::Log { unit } = kind(z.iter().map(|z| (3.0 * z).exp())) else { panic!("it is heavy") };
        let back: Vec<f64> =
            z.iter().map(|z| f64::from(ColumnTransform::Log { unit }.apply((3.0 * z).exp() as f32))).collect();
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        let (a, b) = (mean(&z), mean(&back));
        let sum = |f: &dyn Fn(f64, f64) -> f64| z.iter().zip(&back).map(|(x, y)| f(x - a, y - b)).sum::<f64>();
        let correlation = sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
        assert!(correlation > 0.998, "{correlation}");
    }
}
