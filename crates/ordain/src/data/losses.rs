//! What columns lose when their values are stored in single precision.
//!
//! A value x loses at most 2⁻²⁴ |x|. So a column whose values do not all lie within a sixteenth of the largest of them loses less than
//! 1e-6 of its spread, and two values show it: nearly every column is settled after a few rows, and only the others are looked at
//! further.

/// More than this share of the spread of a column is worth a warning.
const MOST: f64 = 1e-6;

/// Columns whose values lie within this share of the largest are narrow; 2⁻²⁴ of the largest is below `MOST` of any wider spread.
const BAND: f64 = 1.0 / 16.0;

/// Below this the error of single precision is no share of the value.
const TINY: f64 = 1e-30;

/// Rows of a piece of text whose values are looked at in double precision; of the first block all are.
pub(in crate::data) const SAMPLE: usize = 64;

/// The range of a column, and the most that a value lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::data) struct Loss {
    low: f64,
    high: f64,
    worst: f64,
    /// Whether nothing that follows can make it coarse.
    settled: bool,
}

impl Default for Loss {
    fn default() -> Self {
        Self { low: f64::INFINITY, high: f64::NEG_INFINITY, worst: 0.0, settled: false }
    }
}

impl Loss {
    /// A value, and what was stored of it.
    #[inline]
    pub(in crate::data) fn add(&mut self, x: f64, stored: f32) {
        if !self.settled {
            self.note(x, x, (x - f64::from(stored)).abs());
        }
    }

    /// What was seen elsewhere of the same column.
    fn merge(&mut self, other: &Self) {
        if other.low <= other.high {
            self.note(other.low, other.high, other.worst);
        }
    }

    #[inline]
    fn note(&mut self, low: f64, high: f64, lost: f64) {
        self.low = if low < self.low { low } else { self.low };
        self.high = if high > self.high { high } else { self.high };
        self.worst = if lost > self.worst { lost } else { self.worst };
        self.settled = is_wide(self.low, self.high);
    }

    /// Whether no value that follows changes the answer of [`is_coarse`](Self::is_coarse).
    #[inline]
    pub(in crate::data) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Whether values that differ can hardly be told apart any more.
    pub(in crate::data) fn is_coarse(&self) -> bool {
        self.worst > MOST * (self.high - self.low) && self.high > self.low
    }
}

/// Whether values of this range are too far apart to be stored badly. It stays so whatever is added to them.
#[inline]
fn is_wide(low: f64, high: f64) -> bool {
    let top = if -low > high { -low } else { high };
    high - low >= BAND * top && top > TINY
}

/// The columns of an array in double precision that lose more than 1e-6 of their spread when they are stored in single precision,
/// by their places. Gaps (NaN) and infinities do not count.
///
/// Cost: all values of narrow columns, a few of all others.
///
/// ```
/// let times = [1_700_000_000.0, 1_700_000_060.0, 1_700_086_400.0];
/// let value = |row: usize, column: usize| if column == 0 { times[row] } else { times[row] - times[0] };
/// assert_eq!(ordain::data::coarse_columns(3, 2, value), [0]);
/// ```
pub fn coarse_columns(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let mut open: Vec<(usize, Loss)> = (0..columns).map(|column| (column, Loss::default())).collect();
    for row in 0..rows {
        open.retain_mut(|(column, loss)| {
            let x = value(row, *column);
            if x.is_finite() {
                loss.add(x, x as f32);
            }
            !loss.is_settled()
        });
        if open.is_empty() {
            break;
        }
    }
    open.into_iter().filter(|(_, loss)| loss.is_coarse()).map(|(column, _)| column).collect()
}

/// The columns of one row of text.
#[derive(Clone, Copy)]
pub(in crate::data) enum Ids<'a> {
    /// This one and those that follow it.
    From(u32),
    /// These, ascending.
    Listed(&'a [u32]),
}

impl Ids<'_> {
    fn place(self, id: u32) -> Option<usize> {
        match self {
            Self::From(first) => id.checked_sub(first).map(|place| place as usize),
            Self::Listed(ids) => ids.binary_search(&id).ok(),
        }
    }
}

/// A column that no row lacks and whose values lie close together, as they are stored; and what it lost, as far as that was looked at.
#[derive(Clone, Copy)]
struct Narrow {
    id: u32,
    low: f32,
    high: f32,
    loss: Loss,
}

impl Narrow {
    /// Takes more stored values; whether it is still narrow. A column that has a 0 is not: an absent value of a sparse row is one.
    fn add(&mut self, low: f32, high: f32) -> bool {
        (self.low, self.high) = (self.low.min(low), self.high.max(high));
        !(self.low <= 0.0 && self.high >= 0.0 || is_wide(f64::from(self.low), f64::from(self.high)))
    }
}

/// The narrow columns of some rows of text, by their indices.
#[derive(Clone, Default)]
pub(in crate::data) struct Suspects {
    columns: Vec<Narrow>,
    seen: bool,
}

impl Suspects {
    /// Those of some rows, each of which gives its columns and its stored values.
    pub(in crate::data) fn find<'a>(&mut self, rows: usize, row: impl Fn(usize) -> (Ids<'a>, &'a [f32])) {
        self.columns.clear();
        self.seen = rows > 0;
        if rows == 0 {
            return;
        }
        let (ids, values) = row(0);
        let narrow = |(place, _): (usize, &f32)| {
            let id = match ids {
                Ids::From(first) => first.wrapping_add(place as u32),
                Ids::Listed(ids) => ids[place],
            };
            Narrow { id, low: f32::INFINITY, high: f32::NEG_INFINITY, loss: Loss::default() }
        };
        self.columns.extend(values.iter().enumerate().map(narrow));
        for at in 0..rows {
            let (ids, values) = row(at);
            self.columns.retain_mut(|column| match ids.place(column.id).and_then(|place| values.get(place)) {
                None => false,
                Some(&x) => x.is_nan() || column.add(x, x),
            });
            if self.columns.is_empty() {
                break;
            }
        }
    }

    pub(in crate::data) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Looks at a value in double precision, by the index of its column and its text.
    pub(in crate::data) fn look(&mut self, id: u32, text: &[u8]) {
        if let Ok(place) = self.columns.binary_search_by_key(&id, |column| column.id)
            && let Ok(x) = fast_float2::parse::<f64, _>(text)
            && x.is_finite()
        {
            self.columns[place].loss.add(x, x as f32);
        }
    }

    /// Adds those of the rows that follow.
    pub(in crate::data) fn merge(&mut self, more: &Self) {
        if !more.seen {
            return;
        }
        if !self.seen {
            self.clone_from(more);
            return;
        }
        self.columns.retain_mut(|column| {
            let Ok(place) = more.columns.binary_search_by_key(&column.id, |other| other.id) else { return false };
            let other = &more.columns[place];
            column.loss.merge(&other.loss);
            column.add(other.low, other.high)
        });
    }

    /// The indices of columns that lose more than they should.
    pub(in crate::data) fn coarse(&self) -> impl Iterator<Item = u32> + '_ {
        self.columns.iter().filter(|column| column.loss.is_coarse()).map(|column| column.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn coarse(values: &[f64]) -> bool {
        !coarse_columns(values.len(), 1, |row, _| values[row]).is_empty()
    }

    /// The rule itself.
    fn twin(values: &[f64]) -> bool {
        let (low, high) = (
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        let worst = values.iter().map(|&x| (x - f64::from(x as f32)).abs()).fold(0.0, f64::max);
        high > low && worst > MOST * (high - low)
    }

    /// The same by pieces, of which some values are looked at.
    fn by_pieces(values: &[f64], cuts: usize, all: bool) -> bool {
        let mut sum = Suspects::default();
        for part in values.chunks(cuts) {
            let stored: Vec<f32> = part.iter().map(|&x| x as f32).collect();
            let mut piece = Suspects::default();
            piece.find(part.len(), |row| (Ids::From(7), &stored[row..=row]));
            for x in &part[..if all { part.len() } else { 1 }] {
                piece.look(7, format!("{x}").as_bytes());
            }
            sum.merge(&piece);
        }
        sum.coarse().eq([7])
    }

    #[test]
    fn time_stamps_are_coarse_and_years_are_not() {
        for (values, truth) in [
            (&[1_700_000_000.0, 1_700_000_001.0, 1_700_086_400.0][..], true),
            (&[1000.0001, 1000.0002], true),
            (&[1999.0, 2024.0], false),
            (&[0.1, 0.2, 0.3], false),
            (&[0.1, 0.1], false),
            (&[0.0, 0.0], false),
            (&[], false),
        ] {
            assert_eq!((coarse(values), by_pieces(values, 2, true)), (truth, truth), "{values:?}");
        }
        // a row that lacks a column has a 0 there
        let mut piece = Suspects::default();
        piece.find(2, |row| (Ids::Listed(&[3, 9][row..]), &[1.7e9, 1.7e9][row..]));
        assert_eq!(piece.columns.iter().map(|column| column.id).collect::<Vec<_>>(), [9]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::cases::cases(1000)))]
        #[test]
        fn settled_columns_are_what_the_rule_says(
            middle in -1e10..1e10f64,
            digits in 0i32..14,
            parts in prop::collection::vec(-1.0..1.0f64, 1..30),
            cuts in 1usize..8,
            seldom in prop::option::of((0usize..30, -3.0..3.0f64)),
        ) {
            let mut values: Vec<f64> = parts.iter().map(|part| middle * (1.0 + part * 10f64.powi(-digits))).collect();
            if let Some((place, factor)) = seldom {
                let place = place % values.len();
                values[place] *= factor;
            }
            prop_assert_eq!(coarse(&values), twin(&values));
            prop_assert_eq!(by_pieces(&values, cuts, true), twin(&values));
            // what is looked at in part finds no wider column
            if by_pieces(&values, cuts, false) {
                prop_assert!(!is_wide(
                    values.iter().copied().fold(f64::INFINITY, f64::min),
                    values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                ));
            }
        }
    }
}
