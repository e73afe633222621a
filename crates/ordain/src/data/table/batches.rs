//! Tables whose columns have types: batches of Arrow arrays, from a file or from another library.

use super::losses::Loss;
use super::no_feature;
use crate::data::strings::short;
use crate::error::{Error, Result, Way};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};
use rayon::prelude::*;
use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

/// Rows of a batch that are put from columns into rows at once.
const BLOCK: usize = 256;

/// The most places of a vector.
const WIDEST: usize = 1 << 20;

/// Work of another library on a file that may be damaged: where it panics, the file is refused.
pub(in crate::data) fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Error::Content {
            path: path.into(),
            expected: "a whole file of columns".into(),
            found: "one whose parts contradict each other".into(),
        })
    })
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
        let header: Vec<String> = schema.fields().iter().map(|field| field.name().trim().to_owned()).collect();
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
        let mut names = vec![];
        for (k, &column) in columns.iter().enumerate() {
            let name = &self.header[column];
            match self.batch.get(k).and_then(width) {
                None => names.push(name.clone()),
                Some(width) if (1..=WIDEST).contains(&width) => {
                    names.extend((0..width).map(|i| format!("{name}_{i}")));
                    self.widths[k] = width;
                }
                Some(width) => {
                    return Err(Error::Content {
                        path: self.path.clone(),
                        expected: format!("vectors of 1 to {WIDEST} numbers in column {:?}", short(name)),
                        found: format!("{width} of them"),
                    });
                }
            }
        }
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
        let (mut own, mut rest) = (vec![], &mut self.losses[..]);
        for &width in &self.widths {
            let (one, others) = rest.split_at_mut(width);
            own.push(one);
            rest = others;
        }
        self.batch.par_iter().zip(own).for_each(|(array, losses)| weigh(array.as_ref(), losses));
        self.values.clear();
        self.values.resize(self.rows * cols, 0.0);
        if cols == 0 {
            return Ok(());
        }
        let (batch, widths) = (&self.batch, &self.widths);
        let wrong = self.values.par_chunks_mut(BLOCK * cols).enumerate().find_map_first(|(b, block)| {
            let (start, rows) = (b * BLOCK, block.len() / cols);
            let mut from = 0;
            for (k, (array, &width)) in batch.iter().zip(widths).enumerate() {
                let part = array.slice(start, rows);
                if !put(part.as_ref(), width, &mut |row, i, x| block[row * cols + from + i] = x) {
                    return Some((k, start));
                }
                from += width;
            }
            None
        });
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
        if is_list(array.data_type()) {
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
            guarded(&self.path.clone(), || {
                self.fetch()?;
                self.fill()
            })?;
            if self.rows == 0 {
                return Ok(None);
            }
        }
        self.at += 1;
        Ok(Some(Row { row: self.at - 1, table: self }))
    }
}

impl Row<'_> {
    fn array(&self, column: usize) -> Option<&ArrayRef> {
        self.table.batch.get(self.table.place[column]?)
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

/// A call for each kind of column of numbers.
macro_rules! of_numbers {
    ($kind:expr, $call:ident, $($argument:expr),* => $other:expr) => {
        match $kind {
            DataType::Int8 => $call::<Int8Type>($($argument),*),
            DataType::Int16 => $call::<Int16Type>($($argument),*),
            DataType::Int32 => $call::<Int32Type>($($argument),*),
            DataType::Int64 => $call::<Int64Type>($($argument),*),
            DataType::UInt8 => $call::<UInt8Type>($($argument),*),
            DataType::UInt16 => $call::<UInt16Type>($($argument),*),
            DataType::UInt32 => $call::<UInt32Type>($($argument),*),
            DataType::UInt64 => $call::<UInt64Type>($($argument),*),
            DataType::Float16 => $call::<Float16Type>($($argument),*),
            DataType::Float32 => $call::<Float32Type>($($argument),*),
            DataType::Float64 => $call::<Float64Type>($($argument),*),
            _ => $other,
        }
    };
}

/// A number of a column, in single and in double precision.
trait Number: Copy {
    fn f32(self) -> f32;
    fn f64(self) -> f64;
}

macro_rules! numbers {
    ($($kind:ty),*) => { $(impl Number for $kind {
        fn f32(self) -> f32 { self as f32 }
        fn f64(self) -> f64 { self as f64 }
    })* };
}
numbers!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

impl Number for half::f16 {
    fn f32(self) -> f32 {
        self.to_f32()
    }
    fn f64(self) -> f64 {
        self.to_f64()
    }
}

fn is_list(kind: &DataType) -> bool {
    matches!(kind, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..))
}

/// The number of values of the first vector of a column; nothing of other columns.
fn width(array: &ArrayRef) -> Option<usize> {
    let first = || (0..array.len()).find(|&row| !array.is_null(row)).unwrap_or(0);
    match array.data_type() {
        DataType::FixedSizeList(_, width) => usize::try_from(*width).ok(),
        DataType::List(_) => Some(array.as_list::<i32>().value(first()).len()),
        DataType::LargeList(_) => Some(array.as_list::<i64>().value(first()).len()),
        _ => None,
    }
}

/// Calls `put(row, place, value)` for each value of a column of numbers, truth values or vectors; a gap is NaN, and what a float32 does
/// not hold is infinite. Whether it is such a column.
pub(in crate::data) fn put(array: &dyn Array, width: usize, put: &mut dyn FnMut(usize, usize, f32)) -> bool {
    match array.data_type() {
        DataType::FixedSizeList(..) => vectors(array, |row| array.as_fixed_size_list().value(row), width, put),
        DataType::List(_) => vectors(array, |row| array.as_list::<i32>().value(row), width, put),
        DataType::LargeList(_) => vectors(array, |row| array.as_list::<i64>().value(row), width, put),
        _ => scalars(array, &mut |row, x| put(row, 0, x)),
    }
}

fn scalars(array: &dyn Array, put: &mut dyn FnMut(usize, f32)) -> bool {
    match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean();
            let of = |row| if values.is_null(row) { f32::NAN } else { f32::from(u8::from(values.value(row))) };
            (0..values.len()).for_each(|row| put(row, of(row)));
        }
        DataType::Null => (0..array.len()).for_each(|row| put(row, f32::NAN)),
        DataType::Decimal128(..) => {
            (0..array.len()).for_each(|row| put(row, number(array, row).map_or(f32::NAN, |x| x as f32)));
        }
        kind => of_numbers!(kind, each, array, put => return false),
    }
    true
}

fn each<T: ArrowPrimitiveType<Native: Number>>(array: &dyn Array, put: &mut dyn FnMut(usize, f32)) {
    let array = array.as_primitive::<T>();
    let values = array.values();
    if array.null_count() == 0 {
        values.iter().enumerate().for_each(|(row, x)| put(row, x.f32()));
    } else {
        (0..array.len()).for_each(|row| put(row, if array.is_null(row) { f32::NAN } else { values[row].f32() }));
    }
}

/// Notes what a column of numbers wider than single precision loses; vectors are not looked at.
fn weigh(array: &dyn Array, losses: &mut [Loss]) {
    fn each<T: ArrowPrimitiveType<Native: Number>>(array: &dyn Array, loss: &mut Loss) {
        let array = array.as_primitive::<T>();
        for (row, x) in array.values().iter().enumerate() {
            if x.f64().is_finite() && !array.is_null(row) {
                loss.add(x.f64(), x.f32());
            }
        }
    }
    let [loss] = losses else { return };
    match array.data_type() {
        DataType::Float64 => each::<Float64Type>(array, loss),
        DataType::Int32 => each::<Int32Type>(array, loss),
        DataType::Int64 => each::<Int64Type>(array, loss),
        DataType::UInt32 => each::<UInt32Type>(array, loss),
        DataType::UInt64 => each::<UInt64Type>(array, loss),
        _ => {}
    }
}

/// The values of vectors of one width, given by what each row holds.
fn vectors(
    lists: &dyn Array,
    value: impl Fn(usize) -> ArrayRef,
    width: usize,
    put: &mut dyn FnMut(usize, usize, f32),
) -> bool {
    (0..lists.len()).all(|row| match lists.is_null(row) {
        true => {
            (0..width).for_each(|i| put(row, i, f32::NAN));
            true
        }
        false => {
            let values = value(row);
            values.len() == width && scalars(values.as_ref(), &mut |i, x| put(row, i, x))
        }
    })
}

fn one<T: ArrowPrimitiveType<Native: Number>>(array: &dyn Array, row: usize) -> Option<f64> {
    Some(array.as_primitive::<T>().value(row).f64())
}

/// A cell as a number; text as the number that it writes.
fn number(array: &dyn Array, row: usize) -> Option<f64> {
    if array.is_null(row) {
        return None;
    }
    match array.data_type() {
        DataType::Boolean => Some(f64::from(u8::from(array.as_boolean().value(row)))),
        DataType::Decimal128(_, scale) => {
            Some(array.as_primitive::<Decimal128Type>().value(row) as f64 / 10f64.powi(i32::from(*scale)))
        }
        kind => of_numbers!(kind, one, array, row => fast_float2::parse(&*text(array, row)).ok()),
    }
}

fn word<T: ArrowDictionaryKeyType>(array: &dyn Array, row: usize) -> Cow<'_, [u8]> {
    let array = array.as_dictionary::<T>();
    array.key(row).map_or(Cow::Borrowed(b""), |key| text(array.values().as_ref(), key))
}

/// A cell as text: numbers as they are usually written, whole ones without a point.
fn text(array: &dyn Array, row: usize) -> Cow<'_, [u8]> {
    fn whole<T: ArrowPrimitiveType<Native: std::fmt::Display>>(array: &dyn Array, row: usize) -> String {
        array.as_primitive::<T>().value(row).to_string()
    }
    if array.is_null(row) {
        return Cow::Borrowed(b"");
    }
    let owned = match array.data_type() {
        DataType::Utf8 => return Cow::Borrowed(array.as_string::<i32>().value(row).trim().as_bytes()),
        DataType::LargeUtf8 => return Cow::Borrowed(array.as_string::<i64>().value(row).trim().as_bytes()),
        DataType::Utf8View => return Cow::Borrowed(array.as_string_view().value(row).trim().as_bytes()),
        DataType::Binary => return Cow::Borrowed(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => return Cow::Borrowed(array.as_binary::<i64>().value(row)),
        DataType::Dictionary(key, _) => {
            return match **key {
                DataType::Int8 => word::<Int8Type>(array, row),
                DataType::Int16 => word::<Int16Type>(array, row),
                DataType::Int32 => word::<Int32Type>(array, row),
                DataType::Int64 => word::<Int64Type>(array, row),
                DataType::UInt8 => word::<UInt8Type>(array, row),
                DataType::UInt16 => word::<UInt16Type>(array, row),
                DataType::UInt32 => word::<UInt32Type>(array, row),
                _ => word::<UInt64Type>(array, row),
            };
        }
        DataType::Int8 => whole::<Int8Type>(array, row),
        DataType::Int16 => whole::<Int16Type>(array, row),
        DataType::Int32 => whole::<Int32Type>(array, row),
        DataType::Int64 => whole::<Int64Type>(array, row),
        DataType::UInt8 => whole::<UInt8Type>(array, row),
        DataType::UInt16 => whole::<UInt16Type>(array, row),
        DataType::UInt32 => whole::<UInt32Type>(array, row),
        DataType::UInt64 => whole::<UInt64Type>(array, row),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Float16 | DataType::Float64 | DataType::Decimal128(..) => {
            number(array, row).map_or(String::new(), |x| x.to_string())
        }
        DataType::Float32 => array.as_primitive::<Float32Type>().value(row).to_string(),
        kind => format!("a value of type {kind}"),
    };
    Cow::Owned(owned.into_bytes())
}
