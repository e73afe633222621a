//! Arrow arrays as cells: columns of numbers, truth values, vectors and text become features, numbers and words.

use crate::data::cells::vector_text;
use crate::data::dates::date_text;
use crate::data::losses::Loss;
use crate::data::strings::short;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use std::borrow::Cow;

/// Rows that are put from columns into rows at once.
pub(super) const BLOCK: usize = 256;

/// The most places of a vector.
const WIDEST: usize = 1 << 20;

/// The names of features and the number of values of each column, by the names of columns and their first rows: a column of vectors has
/// a feature for each place. Else what was expected, and what was found.
pub(super) fn shape<'a>(
    columns: impl Iterator<Item = (&'a str, Option<&'a ArrayRef>)>,
) -> Result<(Vec<String>, Vec<usize>), (String, String)> {
    let (mut names, mut widths) = (vec![], vec![]);
    for (name, array) in columns {
        let places = array.and_then(|array| width(array));
        match places {
            None => names.push(name.to_owned()),
            Some(places) if (1..=WIDEST).contains(&places) => names.extend((0..places).map(|i| format!("{name}_{i}"))),
            Some(places) => {
                let expected = format!("vectors of 1 to {WIDEST} numbers in column {:?}", short(name));
                return Err((expected, format!("{places} of them")));
            }
        }
        widths.push(places.unwrap_or(1));
    }
    Ok((names, widths))
}

/// A list with a value for each feature, cut into those of each column.
pub(super) fn by_widths<'a, T>(mut rest: &'a mut [T], widths: &[usize]) -> Vec<&'a mut [T]> {
    let cut = |&width: &usize| {
        let (one, others) = std::mem::take(&mut rest).split_at_mut(width);
        rest = others;
        one
    };
    widths.iter().map(cut).collect()
}

/// Puts columns from row `start` on into the rows of `block`; the first column that holds no features.
pub(super) fn put_rows(columns: &[ArrayRef], widths: &[usize], start: usize, block: &mut [f32]) -> Option<usize> {
    let cols: usize = widths.iter().sum();
    let (rows, mut from) = (block.len() / cols.max(1), 0);
    for (k, (array, &width)) in columns.iter().zip(widths).enumerate() {
        let part = array.slice(start, rows);
        if !put(part.as_ref(), width, &mut |row, i, x| block[row * cols + from + i] = x) {
            return Some(k);
        }
        from += width;
    }
    None
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

/// A call for each kind of keys of a dictionary.
macro_rules! of_keys {
    ($kind:expr, $call:ident, $($argument:expr),*) => {
        match $kind {
            DataType::Int8 => $call::<Int8Type>($($argument),*),
            DataType::Int16 => $call::<Int16Type>($($argument),*),
            DataType::Int32 => $call::<Int32Type>($($argument),*),
            DataType::Int64 => $call::<Int64Type>($($argument),*),
            DataType::UInt8 => $call::<UInt8Type>($($argument),*),
            DataType::UInt16 => $call::<UInt16Type>($($argument),*),
            DataType::UInt32 => $call::<UInt32Type>($($argument),*),
            _ => $call::<UInt64Type>($($argument),*),
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

/// The number of values of the first vector of a column; nothing of other columns.
pub(super) fn width(array: &dyn Array) -> Option<usize> {
    match array.data_type() {
        DataType::FixedSizeList(_, width) => usize::try_from(*width).ok(),
        _ => {
            let first = (0..array.len()).find(|&row| !array.is_null(row));
            list(array).map(|value| first.map_or(0, |row| value(row).len()))
        }
    }
}

/// What each row of a column of vectors holds; nothing of other columns.
fn list(array: &dyn Array) -> Option<Box<dyn Fn(usize) -> ArrayRef + '_>> {
    match array.data_type() {
        DataType::FixedSizeList(..) => Some(Box::new(|row| array.as_fixed_size_list().value(row))),
        DataType::List(_) => Some(Box::new(|row| array.as_list::<i32>().value(row))),
        DataType::LargeList(_) => Some(Box::new(|row| array.as_list::<i64>().value(row))),
        _ => None,
    }
}

/// Calls `put(row, place, value)` for each value of a column of numbers, truth values or vectors; a gap is NaN, and what a float32 does
/// not hold is infinite. Whether it is such a column.
pub(super) fn put(array: &dyn Array, width: usize, put: &mut dyn FnMut(usize, usize, f32)) -> bool {
    match list(array) {
        Some(value) => vectors(array, value, width, put),
        None => scalars(array, &mut |row, x| put(row, 0, x)),
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

/// Notes what a column of numbers wider than single precision loses, in each place of vectors.
pub(super) fn weigh(array: &dyn Array, losses: &mut [Loss]) {
    if losses.iter().all(Loss::is_settled) {
        return;
    }
    match list(array) {
        None => wide(array, &mut |_, x, stored| losses[0].add(x, stored)),
        Some(value) => {
            for values in (0..array.len()).filter(|&row| !array.is_null(row)).map(value) {
                if values.len() == losses.len() {
                    wide(values.as_ref(), &mut |i, x, stored| losses[i].add(x, stored));
                }
            }
        }
    }
}

/// Calls `note(row, value, stored)` for each finite number of a column that single precision does not hold as it is.
fn wide(array: &dyn Array, note: &mut dyn FnMut(usize, f64, f32)) {
    fn each<T: ArrowPrimitiveType<Native: Number>>(array: &dyn Array, note: &mut dyn FnMut(usize, f64, f32)) {
        let array = array.as_primitive::<T>();
        for (row, x) in array.values().iter().enumerate() {
            if x.f64().is_finite() && !array.is_null(row) {
                note(row, x.f64(), x.f32());
            }
        }
    }
    match array.data_type() {
        DataType::Float64 => each::<Float64Type>(array, note),
        DataType::Int32 => each::<Int32Type>(array, note),
        DataType::Int64 => each::<Int64Type>(array, note),
        DataType::UInt32 => each::<UInt32Type>(array, note),
        DataType::UInt64 => each::<UInt64Type>(array, note),
        DataType::Decimal128(..) => {
            let known = (0..array.len()).filter_map(|row| Some((row, number(array, row)?)));
            known.for_each(|(row, x)| note(row, x, x as f32));
        }
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
pub(super) fn number(array: &dyn Array, row: usize) -> Option<f64> {
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

/// A cell as text: numbers as they are usually written, whole ones without a point; dates as 1975-12-03, lists of numbers between blanks.
pub(super) fn text(array: &dyn Array, row: usize) -> Cow<'_, [u8]> {
    fn whole<T: ArrowPrimitiveType<Native: std::fmt::Display>>(array: &dyn Array, row: usize) -> String {
        array.as_primitive::<T>().value(row).to_string()
    }
    if array.is_null(row) {
        return Cow::Borrowed(b"");
    }
    let owned = match array.data_type() {
        DataType::Utf8 => return Cow::Borrowed(array.as_string::<i32>().value(row).trim_ascii().as_bytes()),
        DataType::LargeUtf8 => return Cow::Borrowed(array.as_string::<i64>().value(row).trim_ascii().as_bytes()),
        DataType::Utf8View => return Cow::Borrowed(array.as_string_view().value(row).trim_ascii().as_bytes()),
        DataType::Binary => return Cow::Borrowed(array.as_binary::<i32>().value(row).trim_ascii()),
        DataType::LargeBinary => return Cow::Borrowed(array.as_binary::<i64>().value(row).trim_ascii()),
        DataType::Dictionary(key, _) => return of_keys!(**key, word, array, row),
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
        DataType::Date32 => date_text(i64::from(array.as_primitive::<Date32Type>().value(row))),
        DataType::Date64 => date_text(array.as_primitive::<Date64Type>().value(row).div_euclid(86_400_000)),
        DataType::Timestamp(unit, _) => {
            let (value, a_second) = match unit {
                TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(row), 1),
                TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().value(row), 1_000),
                TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().value(row), 1_000_000),
                TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().value(row), 1_000_000_000),
            };
            date_text(value.div_euclid(a_second * 86_400))
        }
        kind => list_text(array, row).unwrap_or_else(|| format!("a value of type {kind}")),
    };
    Cow::Owned(owned.into_bytes())
}

/// The numbers of a list, between blanks; nothing where it is none, or holds anything else.
fn list_text(array: &dyn Array, row: usize) -> Option<String> {
    let inner = list(array)?(row);
    let mut numbers = vec![];
    let right = inner.null_count() == 0 && scalars(inner.as_ref(), &mut |_, x| numbers.push(x));
    right.then(|| vector_text(numbers.into_iter()))
}

/// A column that is no feature, as another library wants it back.
#[derive(Clone, Debug, PartialEq)]
pub enum Taken {
    /// Whole numbers, and no gap.
    Whole(Vec<i64>),
    /// Numbers and truth values; a gap is NaN.
    Numbers(Vec<f64>),
    /// Text, of dictionaries too.
    Words(Vec<Option<String>>),
    /// Neither: what it holds.
    Other(String),
}

/// The rows of a column that comes in parts.
pub(super) fn taken<'a>(parts: impl Iterator<Item = &'a dyn Array> + Clone) -> Taken {
    if let Some(parts) = parts.clone().map(whole_numbers).collect::<Option<Vec<_>>>() {
        return Taken::Whole(parts.concat());
    }
    if let Some(parts) = parts.clone().map(words).collect::<Option<Vec<_>>>() {
        return Taken::Words(parts.concat());
    }
    let mut all = vec![];
    for part in parts {
        if !is_number(part.data_type()) {
            return Taken::Other(part.data_type().to_string());
        }
        all.extend((0..part.len()).map(|row| number(part, row).unwrap_or(f64::NAN)));
    }
    Taken::Numbers(all)
}

/// Whether a column holds numbers or truth values.
pub(super) fn is_number(kind: &DataType) -> bool {
    let other = matches!(kind, DataType::Boolean | DataType::Null | DataType::Decimal128(..));
    other || kind.is_integer() || kind.is_floating()
}

/// The least and the largest number of a column of plain numbers, NaN apart.
pub(super) fn range(array: &dyn Array) -> Option<(f64, f64)> {
    fn of<T: ArrowPrimitiveType<Native: Number + PartialOrd>>(array: &dyn Array) -> Option<(f64, f64)> {
        let array = array.as_primitive::<T>();
        let known: Vec<T::Native>;
        let values = match array.null_count() {
            0 => &array.values()[..],
            _ => {
                known = array.iter().flatten().collect();
                &known[..]
            }
        };
        let first = *values.iter().find(|x| x.partial_cmp(x).is_some())?;
        // in eight lanes, so that eight numbers are compared at once
        let (mut low, mut high) = ([first; 8], [first; 8]);
        let mut add = |lane: usize, x: T::Native| {
            low[lane] = if x < low[lane] { x } else { low[lane] };
            high[lane] = if x > high[lane] { x } else { high[lane] };
        };
        let chunks = values.chunks_exact(8);
        chunks.remainder().iter().for_each(|&x| add(0, x));
        chunks.for_each(|part| (0..8).for_each(|lane| add(lane, part[lane])));
        let ends = low.iter().zip(&high).map(|(low, high)| (low.f64(), high.f64()));
        ends.reduce(|(low, high), (a, b)| (low.min(a), high.max(b)))
    }
    of_numbers!(array.data_type(), of, array => None)
}

/// Whole numbers of a column of them, where no row is missing.
fn whole_numbers(array: &dyn Array) -> Option<Vec<i64>> {
    fn all<T: ArrowPrimitiveType<Native: TryInto<i64>>>(array: &dyn Array) -> Option<Vec<i64>> {
        array.as_primitive::<T>().values().iter().map(|&x| x.try_into().ok()).collect()
    }
    if array.null_count() > 0 {
        return None;
    }
    match array.data_type() {
        DataType::Int8 => all::<Int8Type>(array),
        DataType::Int16 => all::<Int16Type>(array),
        DataType::Int32 => all::<Int32Type>(array),
        DataType::Int64 => all::<Int64Type>(array),
        DataType::UInt8 => all::<UInt8Type>(array),
        DataType::UInt16 => all::<UInt16Type>(array),
        DataType::UInt32 => all::<UInt32Type>(array),
        DataType::UInt64 => all::<UInt64Type>(array),
        _ => None,
    }
}

/// The text of each row of a column of text, as it stands.
fn words(array: &dyn Array) -> Option<Vec<Option<String>>> {
    fn of_keys<T: ArrowDictionaryKeyType>(array: &dyn Array) -> Option<Vec<Option<String>>> {
        let array = array.as_dictionary::<T>();
        let known = words(array.values().as_ref())?;
        Some(array.keys_iter().map(|key| key.and_then(|key| known[key].clone())).collect())
    }
    let own = |text: Option<&str>| text.map(str::to_owned);
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().iter().map(own).collect()),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().iter().map(own).collect()),
        DataType::Utf8View => Some(array.as_string_view().iter().map(own).collect()),
        DataType::Dictionary(key, _) => of_keys!(**key, of_keys, array),
        _ => None,
    }
}
