//! Tables whose columns have types: batches of Arrow arrays, from a file or from another library.

use super::arrays::{BLOCK, by_widths, is_number, number, put, put_rows, shape, text, weigh, width};
use super::no_feature;
use crate::data::losses::Loss;
use crate::data::source::{NO_CONTROL, control, control_name};
use crate::data::strings::short;
use crate::error::{Error, Result, Way};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};
use rayon::prelude::*;
use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};

/// Work of another library on a file that may be damaged: where it panics, the file is refused.
pub(in crate::data) fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    keep_quiet();
    GUARDED.fetch_add(1, Ordering::Relaxed);
    let done = std::panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.fetch_sub(1, Ordering::Relaxed);
    done.unwrap_or_else(|_| {
        Err(Error::Content {
            path: path.into(),
            expected: "a whole file of columns".into(),
            found: "one whose parts contradict each other".into(),
        })
    })
}

/// How many threads do guarded work.
static GUARDED: AtomicUsize = AtomicUsize::new(0);

/// Panics that become errors are not printed: those of the libraries of columns during guarded work. All others go to the hook that was
/// there before.
fn keep_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let of_columns = |file: &str| ["arrow", "parquet", "flatbuffers"].iter().any(|name| file.contains(name));
            let foreign = panic.location().is_some_and(|place| of_columns(place.file()));
            if !foreign || GUARDED.load(Ordering::Relaxed) == 0 {
                before(panic);
            }
        }));
    });
}

/// Where batches come from: the columns that were asked for, in that order; nothing at the end.
pub(in crate::data) trait Supply: Send {
    /// Reads only these columns from now on.
    fn project(&mut self, columns: &[usize]) -> Result<()>;
    /// The next batch.
    fn next(&mut self) -> Result<Option<Vec<ArrayRef>>>;
}

/// The rows of batches.
pub(in crate::data) struct Batches {
    path: PathBuf,
    header: Vec<String>,
    supply: Box<dyn Supply>,
    /// For each column of the header its place in a batch.
    place: Vec<Option<usize>>,
    features: Vec<usize>,
    /// How many values each feature column has.
    widths: Vec<usize>,
    batch: Vec<ArrayRef>,
    rows: usize,
    /// The row of the batch, from 1; the rows before the batch.
    at: usize,
    before: usize,
    /// The features of the batch, row by row.
    values: Vec<f32>,
    /// What each feature lost.
    losses: Vec<Loss>,
}

/// A row of a batch.
pub(in crate::data) struct Row<'a> {
    table: &'a Batches,
    row: usize,
}

impl Batches {
    pub(in crate::data) fn new(path: PathBuf, schema: &Schema, supply: Box<dyn Supply>) -> (Self, Vec<String>) {
        let header: Vec<String> = schema.fields().iter().map(|field| field.name().trim_ascii().to_owned()).collect();
        let made = Self {
            path,
            header: header.clone(),
            supply,
            place: vec![None; header.len()],
            features: vec![],
            widths: vec![],
            batch: vec![],
            rows: 0,
            at: 0,
            before: 0,
            values: vec![],
            losses: vec![],
        };
        (made, header)
    }

    /// Says which columns are features and which others are asked for; the names of the features.
    pub(in crate::data) fn features(&mut self, columns: &[usize], others: &[usize]) -> Result<Vec<String>> {
        let all: Vec<usize> = columns.iter().chain(others).copied().collect();
        guarded(&self.path.clone(), || self.supply.project(&all))?;
        for (place, &column) in all.iter().enumerate() {
            self.place[column].get_or_insert(place);
        }
        self.features = columns.to_vec();
        self.widths = vec![1; columns.len()];
        guarded(&self.path.clone(), || self.fetch())?;
        let shapes = columns.iter().enumerate().map(|(k, &column)| (&*self.header[column], self.batch.get(k)));
        let (names, widths) =
            shape(shapes).map_err(|(expected, found)| Error::Content { path: self.path.clone(), expected, found })?;
        self.widths = widths;
        guarded(&self.path.clone(), || self.fill())?;
        Ok(names)
    }

    /// Gets the next batch that has rows.
    fn fetch(&mut self) -> Result<()> {
        self.before += self.rows;
        (self.at, self.rows) = (0, 0);
        self.batch.clear();
        while let Some(batch) = self.supply.next()? {
            if let Some(first) = batch.first().filter(|first| !first.is_empty()) {
                self.rows = first.len();
                self.batch = batch;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Puts the features of the batch into rows.
    fn fill(&mut self) -> Result<()> {
        let cols: usize = self.widths.iter().sum();
        self.losses.resize(cols, Loss::default());
        let own = by_widths(&mut self.losses, &self.widths);
        self.batch.par_iter().zip(own).for_each(|(array, losses)| weigh(array.as_ref(), losses));
        self.values.clear();
        self.values.resize(self.rows * cols, 0.0);
        if cols == 0 {
            return Ok(());
        }
        let (batch, widths) = (&self.batch, &self.widths);
        let wrong = self
            .values
            .par_chunks_mut(BLOCK * cols)
            .enumerate()
            .find_map_first(|(b, block)| put_rows(batch, widths, b * BLOCK, block).map(|k| (k, b * BLOCK)));
        match wrong {
            None => Ok(()),
            Some((k, start)) => Err(self.no_numbers(k, start)),
        }
    }

    /// The refusal of a column that is no feature, at the first row of the block from `start` on that tells.
    #[cold]
    fn no_numbers(&self, k: usize, start: usize) -> Error {
        let (array, column) = (&self.batch[k], self.features[k]);
        let first = (start..self.rows).find(|&row| !array.is_null(row)).unwrap_or(start);
        let row = Row { table: self, row: first };
        if width(array).is_some() {
            let width = self.widths[k];
            let bad = (start..self.rows)
                .find(|&row| !array.is_null(row) && !put(array.slice(row, 1).as_ref(), width, &mut |_, _, _| {}));
            let row = Row { table: self, row: bad.unwrap_or(first) };
            return row.error(column, format!("a vector of {width} numbers, as in the first row"), "another".into());
        }
        let cell = row.text(column).into_owned();
        let date = matches!(
            array.data_type(),
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) | DataType::Time32(_) | DataType::Time64(_)
        );
        match date {
            true => no_feature(b"2000-01-01", &self.header[column], |expected| {
                row.error(column, expected, format!("{}", array.data_type()))
            }),
            false => no_feature(&cell, &self.header[column], |expected| {
                row.error(column, expected, format!("{:?}", short(&String::from_utf8_lossy(&cell))))
            }),
        }
    }

    pub(in crate::data) fn losses(&self) -> Vec<Loss> {
        self.losses.clone()
    }

    pub(in crate::data) fn next(&mut self) -> Result<Option<Row<'_>>> {
        if self.at == self.rows {
            crate::data::room::check(&self.path)?;
            guarded(&self.path.clone(), || {
                self.fetch()?;
                self.fill()
            })?;
            if self.rows == 0 {
                return Ok(None);
            }
        }
        self.at += 1;
        let row = Row { row: self.at - 1, table: self };
        row.check_words()?;
        Ok(Some(row))
    }
}

impl Row<'_> {
    fn array(&self, column: usize) -> Option<&ArrayRef> {
        self.table.batch.get(self.table.place[column]?)
    }

    /// Refuses control bytes in ids and names, as in text.
    fn check_words(&self) -> Result<()> {
        let of_words = |array: &&ArrayRef| !is_number(array.data_type()) && width(array).is_none();
        for array in self.table.batch[self.table.features.len()..].iter().filter(of_words) {
            let word = text(array.as_ref(), self.row);
            if let Some(at) = control(&word) {
                let place = self.table.batch.iter().position(|other| Arc::ptr_eq(other, array));
                let column = self.table.place.iter().position(|own| own.is_some() && *own == place).unwrap_or(0);
                return Err(self.error(column, NO_CONTROL.into(), control_name(word[at])));
            }
        }
        Ok(())
    }

    pub(in crate::data) fn text(&self, column: usize) -> Cow<'_, [u8]> {
        self.array(column).map_or(Cow::Borrowed(b""), |array| text(array.as_ref(), self.row))
    }

    pub(in crate::data) fn number(&self, column: usize) -> Option<f64> {
        number(self.array(column)?.as_ref(), self.row).filter(|x| x.is_finite())
    }

    pub(in crate::data) fn features(&self, keep_missing: bool, out: &mut Vec<f32>) -> Result<()> {
        let cols: usize = self.table.values.len() / self.table.rows.max(1);
        let row = &self.table.values[self.row * cols..(self.row + 1) * cols];
        if !row.iter().fold(true, |fine, x| fine & x.is_finite())
            && let Some(at) = row.iter().position(|x| !(x.is_finite() || x.is_nan() && keep_missing))
        {
            return Err(self.no_value(at, row[at]));
        }
        out.extend_from_slice(row);
        Ok(())
    }

    #[cold]
    fn no_value(&self, mut at: usize, x: f32) -> Error {
        let column = self.table.features.iter().zip(&self.table.widths).find_map(|(&column, &width)| {
            if at < width {
                return Some(column);
            }
            at -= width;
            None
        });
        let column = column.unwrap_or(0);
        match x.is_nan() {
            true => self.error(column, "a value".into(), "null".into()).or(Way::gaps()),
            false => {
                let found = String::from_utf8_lossy(&self.text(column)).into_owned();
                self.error(column, "a finite number that a float32 holds".into(), found)
            }
        }
    }

    /// The number of the row in the file, from 1.
    pub(in crate::data) fn number_of_row(&self) -> usize {
        self.table.before + self.row + 1
    }

    pub(in crate::data) fn refuse(&self, column: usize, expected: impl Into<String>) -> Error {
        let found = format!("{:?}", short(&String::from_utf8_lossy(&self.text(column))));
        self.error(column, expected.into(), found)
    }

    fn error(&self, column: usize, expected: String, found: String) -> Error {
        Error::Parse {
            path: self.table.path.clone(),
            line: self.number_of_row(),
            column: column + 1,
            expected,
            found: format!("{found} in column {:?}", short(&self.table.header[column])),
        }
    }
}
