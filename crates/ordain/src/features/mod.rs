//! Feature steps: columns of numbers out of texts, categories, dates, vectors and pictures.
//!
//! A step is learned on the rows of the training part, and applied to any row. [`Steps`] are those of a table, one for each column
//! whose cells are no numbers ([`crate::data::Input`]). They travel inside the model: a fit learns them before anything else, in every fold
//! anew, and a model applies them to whatever it is given.
//!
//! | kind | columns | an empty cell |
//! |---|---|---|
//! | `text` | TF-IDF of each term, `title=shoe`; settings `words`, `letters`, `most`, `hash` | all 0 |
//! | `category` | 1 for each value that is frequent enough, `country=FR`, and `country=(other)`; setting `most` | all 0 |
//! | `date` | years since 1970, month and day of the week, `born_years`, `born_month`, `born_weekday`, and `born_missing` | the mean, flagged |
//! | `vector` | each place, `emb_0` … | all 0 |
//! | `vectors` | of two vectors a and b their product, cosine and \|a_i − b_i\|, `a~b_dot`, `a~b_cosine`, `a~b_diff_0` …, and `a~b_missing` | all 0, flagged |
//! | `image` | features of the picture at a path, `photo_colour0` …; settings `colour`, `layout`, `edges`, `gradients`, `shape`, `fisher`, `grid`, `shares` | all 0 |

mod images;
mod text;
mod vectors;
mod words;

pub use text::{Text, TextSettings};

use crate::data::{Cell, Columns, DataSet, Filled, Input, Kind};
use crate::error::{Error, Result};
use crate::matrix::{Csr, Features, Matrix};
use crate::picture::Learned;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// The most values of a category that have a column of their own, unless `most` says otherwise.
const VALUES: usize = 100;
/// All other values; one that is called so is among them.
const OTHERS: &str = "(other)";
/// The most places of a vector.
const PLACES: usize = 100_000;

/// What makes numbers of the cells of one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Step {
    /// Words by TF-IDF.
    Text(Text),
    /// The values that have a column, the most frequent first; all others share one.
    Category(Vec<String>),
    /// The mean of years since 1970, month and weekday.
    Date([f64; 3]),
    /// The number of places.
    Vector(usize),
    /// The number of places of both vectors.
    Vectors(usize),
    /// Features of pictures, with what was learned for them.
    Image(Box<Learned>),
}

/// The value of a setting of an input.
fn setting(input: &Input, name: &str) -> Option<usize> {
    input.settings.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
}

impl Step {
    /// The settings that a kind of input has.
    fn settings(kind: Kind) -> &'static [&'static str] {
        match kind {
            Kind::Text => &["words", "letters", "most", "hash"],
            Kind::Category => &["most"],
            Kind::Image => images::SETTINGS,
            _ => &[],
        }
    }

    /// Learns a step from the cells of the training part.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] where cells are not what they are said to be; [`Error::Unknown`] and [`Error::Setting`] for settings that are none;
    /// those of reading pictures.
    pub fn learn<'a, C: Into<Cell<'a>>>(input: &Input, cells: impl Iterator<Item = C> + Clone) -> Result<Self> {
        let given = cells.map(Into::into);
        let cells = given.clone().map(|cell: Cell| cell.text);
        let known = Self::settings(input.kind);
        if let Some((name, _)) = input.settings.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            return Err(Error::unknown("setting of an input", name, known));
        }
        Ok(match input.kind {
            Kind::Text => {
                let usual = TextSettings::default();
                let settings = TextSettings {
                    words: setting(input, "words").unwrap_or(usual.words),
                    letters: setting(input, "letters").unwrap_or(usual.letters),
                    most: setting(input, "most").unwrap_or(usual.most),
                    hash: setting(input, "hash").unwrap_or(usual.hash),
                };
                Self::Text(Text::learn(settings, cells)?)
            }
            Kind::Category => {
                let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
                let own = cells.filter(|cell| !cell.is_empty() && *cell != OTHERS);
                own.for_each(|cell| *counts.entry(cell).or_default() += 1);
                let mut values: Vec<(&str, usize)> = counts.into_iter().collect();
                values.sort_by_key(|&(_, count)| std::cmp::Reverse(count)); // of equals by name
                values.truncate(setting(input, "most").unwrap_or(VALUES).max(1));
                Self::Category(values.into_iter().map(|(value, _)| value.to_owned()).collect())
            }
            Kind::Date => {
                let (mut sums, mut count) = ([0.0; 3], 0.0f64);
                for cell in cells.filter(|cell| !cell.is_empty()) {
                    let parts = date(cell).ok_or_else(|| strange(input, &cell.into()))?;
                    sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
                    count += 1.0;
                }
                Self::Date(sums.map(|sum| sum / count.max(1.0)))
            }
            Kind::Vector | Kind::Vectors => {
                let pair = input.kind == Kind::Vectors;
                let places = |cell: &str| match pair {
                    true => vectors::pair(cell).map(|pair| pair.map_or(0, |[a, _]| a.len())),
                    false => vectors::numbers(cell).map(|numbers| numbers.len()),
                };
                // of pairs one side may be missing
                let mut filled = cells.filter(|cell| !cell.is_empty() && (!pair || places(cell) != Some(0)));
                let Some(first) = filled.next() else {
                    return Err(Error::Data {
                        expected: format!("vectors in column {:?}", input.column),
                        found: "empty cells alone".into(),
                    });
                };
                let places = places(first).filter(|places| (1..=PLACES).contains(places));
                let places = places.ok_or_else(|| strange(input, &first.into()))?;
                if pair { Self::Vectors(places) } else { Self::Vector(places) }
            }
            Kind::Image => Self::Image(Box::new(images::learn(input, given)?)),
            _ => return Err(Error::Data { expected: "cells that are no numbers".into(), found: input.to_string() }),
        })
    }

    /// Whether it can be, as it was read from a file.
    fn restored(self) -> Result<Self> {
        let right = match &self {
            Self::Text(_) => true,
            Self::Category(values) => !values.iter().enumerate().any(|(n, value)| values[..n].contains(value)),
            Self::Date(means) => means.iter().all(|mean| mean.is_finite()),
            Self::Vector(places) | Self::Vectors(places) => (1..=PLACES).contains(places),
            Self::Image(learned) => learned.is_whole(),
        };
        match self {
            Self::Text(text) => Ok(Self::Text(text.restored()?)),
            other if right => Ok(other),
            _ => Err(Error::Data { expected: "a step whose parts fit".into(), found: "another".into() }),
        }
    }

    /// The names of its columns, for a column of this name.
    pub fn names(&self, column: &str) -> Vec<String> {
        match self {
            Self::Text(text) if text.terms().next().is_some() => {
                text.terms().map(|term| format!("{column}={term}")).collect()
            }
            Self::Text(text) => (0..text.columns()).map(|n| format!("{column}#{n}")).collect(),
            Self::Category(values) => {
                let own = values.iter().map(|value| format!("{column}={value}"));
                own.chain([format!("{column}={OTHERS}")]).collect()
            }
            Self::Date(_) => ["years", "month", "weekday", "missing"].map(|part| format!("{column}_{part}")).to_vec(),
            Self::Vector(places) => (0..*places).map(|n| format!("{column}_{n}")).collect(),
            Self::Vectors(places) => vectors::names(column, *places),
            Self::Image(learned) => learned.names().iter().map(|name| format!("{column}_{name}")).collect(),
        }
    }

    /// The columns of a cell that are not 0, ascending.
    fn apply_cell(&self, input: &Input, cell: &Cell, row: &mut Vec<(u32, f32)>) -> Result<()> {
        match self {
            Self::Image(learned) if !cell.text.is_empty() => {
                row.clear();
                row.extend((0..).zip(images::apply(learned, input, cell)?));
                Ok(())
            }
            _ => self.apply(cell.text, row).ok_or_else(|| strange(input, cell)),
        }
    }

    /// The columns of a cell that are not 0, ascending; nothing where the cell is not what it should be. A picture is read.
    pub fn apply(&self, cell: &str, row: &mut Vec<(u32, f32)>) -> Option<()> {
        row.clear();
        match self {
            Self::Text(text) => text.apply(cell, row),
            _ if cell.is_empty() && !matches!(self, Self::Date(_) | Self::Vectors(_)) => {}
            Self::Category(values) => {
                let at = values.iter().position(|value| value == cell).unwrap_or(values.len());
                row.push((at as u32, 1.0));
            }
            Self::Date(means) => {
                let (parts, gap) = if cell.is_empty() { (*means, 1.0) } else { (date(cell)?, 0.0) };
                row.extend((0..).zip(parts.into_iter().chain([gap])).map(|(at, x)| (at, x as f32)));
            }
            Self::Vector(places) => {
                let numbers = vectors::numbers(cell).filter(|numbers| numbers.len() == *places)?;
                row.extend((0..).zip(numbers));
            }
            Self::Vectors(places) => vectors::apply(cell, *places, row)?,
            Self::Image(learned) => row.extend((0..).zip(images::read(learned, &cell.into()).ok()?)),
        }
        Some(())
    }
}

#[cold]
fn strange(input: &Input, cell: &Cell) -> Error {
    let expected = match input.kind {
        Kind::Date => "dates such as 1975-12-03, 19751203 or 3.12.1975",
        Kind::Vectors => "two vectors of as many numbers, the same in every row,",
        _ => "numbers between blanks or commas, as many in every row",
    };
    let found: String = cell.text.chars().take(40).collect();
    let expected = format!("{expected} in column {:?}", input.column);
    Error::Data { expected, found: format!("{found:?}{}", in_row(cell)) }
}

/// The row of a cell, where it is known.
fn in_row(cell: &Cell) -> String {
    if cell.row > 0 { format!(" in row {}", cell.row) } else { String::new() }
}

/// Years since 1970, month and day of the week (Monday is 0) of a date: `1975-12-03`, `19751203`, `3.12.1975`, `12/3/1975`, with or without a time.
/// Nothing for a day that its month does not have.
fn date(text: &str) -> Option<[f64; 3]> {
    let (y, m, d) = crate::data::parse_date(text)?;
    let leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    if d > [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][m as usize - 1] {
        return None;
    }
    // days since 1970 of the Gregorian calendar
    let (year, month) = (i64::from(y) - i64::from(m <= 2), (i64::from(m) + 9) % 12);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let days =
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * month + 2) / 5 + i64::from(d) - 1 - 719_468;
    Some([days as f64 / 365.2425, f64::from(m), (days + 3).rem_euclid(7) as f64])
}

/// The steps of a table, one for each column whose cells are no numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Steps(Vec<(Input, Step)>);

impl Steps {
    /// Learns the steps of a set from the rows of some units; none if all its columns are numbers.
    ///
    /// ```
    /// use ordain::data::{DataSet, LabelReading, Roles, read_labels};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let path = dir.path().join("news.csv");
    /// # ordain::data::write_whole(&path, |out| out.write_all(b"title,labels\nred shoe,fashion\nblue sea,travel\n"))?;
    /// let roles = Roles { inputs: vec!["title:text".parse()?], ..Roles::default() };
    /// let (mut set, _) = read_labels(&[vec![path]], &LabelReading { roles, ..LabelReading::default() })?;
    /// let steps = ordain::features::Steps::learn(&set, &[0])?; // the first item alone
    /// steps.apply(&mut set)?;
    /// assert_eq!(set.columns.names, ["title=red", "title=shoe"]);
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn learn(set: &impl DataSet, units: &[u32]) -> Result<Self> {
        let Some(cells) = &set.columns().cells else { return Ok(Self::default()) };
        let texts = cells.texts.read();
        let mut steps = vec![];
        for input in &cells.inputs {
            let column = set.columns().find(&input.column)?;
            let rows = units.iter().flat_map(|&unit| set.span(unit as usize));
            let all = rows.map(|row| texts.cell(place(set.features(), row, column)));
            steps.push((input.clone(), Step::learn(input, all)?));
        }
        Ok(Self(steps))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each input with its step.
    pub fn iter(&self) -> impl Iterator<Item = &(Input, Step)> {
        self.0.iter()
    }

    /// The number of columns that they make.
    pub fn columns(&self) -> usize {
        self.0.iter().map(|(input, step)| step.names(&input.column).len()).sum()
    }

    /// Steps as they were read from a file, checked; refused if their columns are not the last of these.
    pub(crate) fn restored(self, names: &[String]) -> Result<Self> {
        let all = self.0.into_iter().map(|(input, step)| Ok((input, step.restored()?)));
        let steps = Self(all.collect::<Result<_>>()?);
        let own: Vec<String> = steps.0.iter().flat_map(|(input, step)| step.names(&input.column)).collect();
        // columns that say where others have gaps may follow
        match own.is_empty() || names.windows(own.len()).any(|part| part == own) {
            true => Ok(steps),
            false => Err(Error::Data { expected: "the columns of the steps".into(), found: "others".into() }),
        }
    }

    /// Puts columns of numbers in place of the cells of a set; a set without cells stays as it is.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if a cell is not what it should be, or the set has no such column; [`Error::Features`] if the set has cells for which there is no step.
    pub fn apply(&self, set: &mut impl DataSet) -> Result<()> {
        self.apply_filled(set, &Filled::default()).map(drop)
    }

    /// The same for a set whose gaps were filled: what they were filled with, column by column, and the columns that were made.
    pub(crate) fn apply_filled(&self, set: &mut impl DataSet, filled: &Filled) -> Result<(Filled, Range<usize>)> {
        let Some(cells) = set.columns().cells.clone() else { return Ok((filled.clone(), 0..0)) };
        let texts = cells.texts.read();
        let extra = cells.inputs.iter().filter(|input| !self.0.iter().any(|(own, _)| own == *input));
        let extra: Vec<String> = extra.map(ToString::to_string).collect();
        let mut places = vec![];
        for (input, step) in &self.0 {
            let column = set.columns().names.iter().position(|name| *name == input.column);
            let missing = || Error::Features { missing: vec![input.to_string()], extra: extra.clone() };
            places.push((input, step, column.ok_or_else(missing)?));
        }
        if !extra.is_empty() {
            return Err(Error::Features { missing: vec![], extra });
        }
        let columns = set.columns();
        let kept: Vec<usize> =
            (0..columns.names.len()).filter(|j| !places.iter().any(|(.., column)| column == j)).collect();
        // columns that say where others had gaps stay behind all others
        let given = filled.means().map_or(columns.names.len(), <[f32]>::len);
        let (mut names, mut to) = (vec![], BTreeMap::new());
        let name = |j: usize, names: &mut Vec<String>, to: &mut BTreeMap<usize, u32>| {
            to.insert(j, names.len() as u32);
            names.push(columns.names[j].clone());
        };
        kept.iter().filter(|&&j| j < given).for_each(|&j| name(j, &mut names, &mut to));
        let (mut starts, first) = (vec![], names.len());
        for (input, step, _) in &places {
            starts.push(names.len() as u32);
            names.extend(step.names(&input.column));
        }
        let made = first..names.len();
        kept.iter().filter(|&&j| j >= given).for_each(|&j| name(j, &mut names, &mut to));
        let mut seen = HashSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
            let twice: String = twice.chars().take(60).collect();
            let expected = "inputs that make columns of other names than there are: call a column otherwise".into();
            return Err(Error::Data { expected, found: format!("{twice:?} twice") });
        }
        let filled = filled.expanded(&kept, made.len());
        let features = set.features();
        let one = |row: usize| -> Result<Vec<(u32, f32)>> {
            let (mut out, mut part) = (vec![], vec![]);
            features.each(row, |j, x| out.extend(to.get(&j).filter(|_| x != 0.0).map(|&at| (at, x))));
            for ((input, step, column), start) in places.iter().zip(&starts) {
                let cell = texts.cell(place(features, row, *column));
                step.apply_cell(input, &cell, &mut part)?;
                out.extend(part.iter().filter(|(_, x)| *x != 0.0).map(|&(at, x)| (start + at, x)));
            }
            out.sort_unstable_by_key(|entry| entry.0);
            Ok(out)
        };
        let rows: Vec<Vec<(u32, f32)>> =
            (0..features.rows()).into_par_iter().with_min_len(64).map(one).collect::<Result<_>>()?;
        let (mut ends, mut at, mut values) = (vec![], vec![], vec![]);
        for row in rows {
            at.extend(row.iter().map(|entry| entry.0));
            values.extend(row.iter().map(|entry| entry.1));
            ends.push(values.len());
        }
        let sparse = places.iter().any(|(_, step, _)| matches!(step, Step::Text(_) | Step::Category(_)));
        let rows = Csr::new(ends, at, values, names.len());
        let features = if sparse { Features::Sparse(rows) } else { dense(&rows, names.len()) };
        drop(texts);
        *set.features_mut() = features;
        let columns = set.columns_mut();
        *columns = Columns { names, numbered: false, cells: None, ..std::mem::take(columns) };
        Ok((filled, made))
    }
}

/// The same rows with every value.
fn dense(rows: &Csr, cols: usize) -> Features {
    let mut values = vec![0f32; rows.rows() * cols];
    for n in 0..rows.rows() {
        let (columns, own) = rows.row(n);
        columns.iter().zip(own).for_each(|(&j, &x)| values[n * cols + j as usize] = x);
    }
    Features::Dense(Matrix::new(values, cols))
}

/// The place of a cell.
fn place(features: &Features, row: usize, column: usize) -> usize {
    let mut place = 0.0;
    match features {
        Features::Dense(m) => place = m.values()[row * m.cols() + column],
        Features::Sparse(_) => features.each(row, |j, x| {
            if j == column {
                place = x;
            }
        }),
    }
    place as usize
}
