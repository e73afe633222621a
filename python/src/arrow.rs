//! Tables of any library that speaks Arrow's C stream interface (polars, pyarrow, DuckDB …).

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::DataType;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

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

/// A number in double precision.
trait Number: Copy {
    fn f64(self) -> f64;
}

macro_rules! numbers {
    ($($kind:ty),*) => { $(impl Number for $kind { fn f64(self) -> f64 { self as f64 } })* };
}
numbers!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

impl Number for half::f16 {
    fn f64(self) -> f64 {
        self.to_f64()
    }
}

/// Calls `put(row, value)` for each row of a column of numbers; a gap is NaN.
fn each<T: ArrowPrimitiveType<Native: Number>>(column: &dyn Array, put: &mut dyn FnMut(usize, f64)) {
    let column = column.as_primitive::<T>();
    let values = column.values();
    if column.null_count() == 0 {
        values.iter().enumerate().for_each(|(row, x)| put(row, x.f64()));
    } else {
        (0..column.len()).for_each(|row| put(row, if column.is_null(row) { f64::NAN } else { values[row].f64() }));
    }
}

/// The same for a column of numbers or truth values; whether it is one.
fn numbers(column: &dyn Array, put: &mut dyn FnMut(usize, f64)) -> bool {
    match column.data_type() {
        DataType::Boolean => {
            let values = column.as_boolean();
            let of = |row| if values.is_null(row) { f64::NAN } else { f64::from(u8::from(values.value(row))) };
            (0..values.len()).for_each(|row| put(row, of(row)));
        }
        DataType::Null => (0..column.len()).for_each(|row| put(row, f64::NAN)),
        kind => of_numbers!(kind, each, column, put => return false),
    }
    true
}

/// Whole numbers of a column of them, where no row is missing.
fn whole<T: ArrowPrimitiveType<Native: TryInto<i64>>>(column: &dyn Array) -> Option<Vec<i64>> {
    let column = column.as_primitive::<T>();
    if column.null_count() > 0 {
        return None;
    }
    column.values().iter().map(|&x| x.try_into().ok()).collect()
}

fn words_of<T: ArrowDictionaryKeyType>(column: &dyn Array) -> Option<Vec<Option<String>>> {
    let column = column.as_dictionary::<T>();
    let known = words(column.values().as_ref())?;
    Some(column.keys_iter().map(|key| key.and_then(|key| known[key].clone())).collect())
}

/// The text of each row of a column of text.
fn words(column: &dyn Array) -> Option<Vec<Option<String>>> {
    let own = |text: Option<&str>| text.map(str::to_owned);
    Some(match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().map(own).collect(),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().map(own).collect(),
        DataType::Utf8View => column.as_string_view().iter().map(own).collect(),
        DataType::Dictionary(key, _) => {
            return match **key {
                DataType::Int8 => words_of::<Int8Type>(column),
                DataType::Int16 => words_of::<Int16Type>(column),
                DataType::Int32 => words_of::<Int32Type>(column),
                DataType::Int64 => words_of::<Int64Type>(column),
                DataType::UInt8 => words_of::<UInt8Type>(column),
                DataType::UInt16 => words_of::<UInt16Type>(column),
                DataType::UInt32 => words_of::<UInt32Type>(column),
                DataType::UInt64 => words_of::<UInt64Type>(column),
                _ => None,
            };
        }
        _ => return None,
    })
}

/// A column that is no feature: whole numbers, numbers, or a list of texts.
fn taken<'py>(py: Python<'py>, name: &str, batches: &[RecordBatch], at: usize) -> PyResult<Bound<'py, PyAny>> {
    let columns = || batches.iter().map(|batch| batch.column(at).as_ref());
    let ints = |column: &dyn Array| match column.data_type() {
        DataType::Int8 => whole::<Int8Type>(column),
        DataType::Int16 => whole::<Int16Type>(column),
        DataType::Int32 => whole::<Int32Type>(column),
        DataType::Int64 => whole::<Int64Type>(column),
        DataType::UInt8 => whole::<UInt8Type>(column),
        DataType::UInt16 => whole::<UInt16Type>(column),
        DataType::UInt32 => whole::<UInt32Type>(column),
        DataType::UInt64 => whole::<UInt64Type>(column),
        _ => None,
    };
    if let Some(parts) = columns().map(ints).collect::<Option<Vec<_>>>() {
        return Ok(parts.concat().into_pyarray(py).into_any());
    }
    if let Some(parts) = columns().map(words).collect::<Option<Vec<_>>>() {
        return parts.concat().into_bound_py_any(py);
    }
    let mut all: Vec<f64> = vec![];
    for column in columns() {
        if !numbers(column, &mut |_, x| all.push(x)) {
            let found = column.data_type();
            return Err(PyTypeError::new_err(format!("column {name:?}: expected numbers or text, found {found}")));
        }
    }
    Ok(all.into_pyarray(py).into_any())
}

/// Rows that are put from columns at once.
const BLOCK: usize = 256;

/// Features of a table as rows of float32, their names, and the columns `take` that are no features.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn read_arrow<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    take: Vec<String>,
) -> PyResult<(Bound<'py, PyArray2<f32>>, Vec<String>, Bound<'py, PyDict>)> {
    let wrong = |error: arrow_schema::ArrowError| {
        PyValueError::new_err(format!("X: cannot be read as an Arrow stream: {error}"))
    };
    let capsule = table.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: by the rules of the interface a capsule of this name holds a stream, which is moved out once and left released.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) }.map_err(wrong)?;
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().map_err(wrong)?;
    let (aside, kept): (Vec<usize>, Vec<usize>) =
        (0..schema.fields().len()).partition(|&at| take.contains(schema.field(at).name()));
    let others = PyDict::new(py);
    for at in aside {
        let name = schema.field(at).name();
        others.set_item(name, taken(py, name, &batches, at)?)?;
    }
    let (rows, cols) = (batches.iter().map(RecordBatch::num_rows).sum::<usize>(), kept.len());
    let mut values = vec![0f32; rows * cols];
    let mut from = 0;
    for batch in &batches {
        for start in (0..batch.num_rows()).step_by(BLOCK) {
            let part = batch.slice(start, BLOCK.min(batch.num_rows() - start));
            for (j, &at) in kept.iter().enumerate() {
                let block = &mut values[from * cols..];
                if !numbers(part.column(at).as_ref(), &mut |row, x| block[row * cols + j] = x as f32) {
                    let (name, found) = (schema.field(at).name(), part.column(at).data_type().clone());
                    return Err(PyValueError::new_err(format!(
                        "X: expected columns of numbers, found {name:?} of {found}"
                    )));
                }
            }
            from += part.num_rows();
        }
    }
    let names = kept.iter().map(|&at| schema.field(at).name().clone()).collect();
    Ok((values.into_pyarray(py).reshape([rows, cols])?, names, others))
}
