//! Tables of any library that speaks Arrow's C stream interface (polars, pyarrow, DuckDB …).

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use ordain::data::{Frame, Taken};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

/// Features as rows of float32, their names, the columns that were taken, the features that lose much in single precision, and the
/// cells of columns that are no numbers.
type Read<'py> = (Bound<'py, PyArray2<f32>>, Vec<String>, Bound<'py, PyDict>, Vec<String>, Vec<Vec<String>>);

/// Reads a table whose columns are features, but for those to `take`, those to `leave` out and those whose `cells` are no numbers.
#[pyfunction]
pub(crate) fn read_arrow<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    take: Vec<String>,
    mut leave: Vec<String>,
    cells: Vec<String>,
) -> PyResult<Read<'py>> {
    let wrong = |error: arrow_schema::ArrowError| {
        PyValueError::new_err(format!("X: cannot be read as an Arrow stream: {error}"))
    };
    let capsule = table.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: by the rules of the interface a capsule of this name holds a stream, which is moved out once and left released.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) }.map_err(wrong)?;
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().map_err(wrong)?;
    let refused = |error: ordain::Error| PyValueError::new_err(format!("X: {error}"));
    let texts = cells.iter().map(|name| Frame::texts(&schema, &batches, name)).collect::<ordain::Result<_>>();
    let texts: Vec<Vec<String>> = texts.map_err(refused)?;
    leave.extend(cells);
    let Frame { rows, features, columns, taken, .. } =
        Frame::read(&schema, &batches, &take, &leave).map_err(refused)?;
    let others = PyDict::new(py);
    for (name, values) in taken {
        let values = match values {
            Taken::Whole(numbers) => numbers.into_pyarray(py).into_any(),
            Taken::Numbers(numbers) => numbers.into_pyarray(py).into_any(),
            Taken::Words(words) => words.into_bound_py_any(py)?,
            Taken::Other(found) => {
                return Err(PyTypeError::new_err(format!("column {name:?}: expected numbers or text, found {found}")));
            }
        };
        others.set_item(name, values)?;
    }
    let values = features.into_values().into_pyarray(py).reshape([rows, columns.names.len()])?;
    Ok((values, columns.names, others, columns.coarse, texts))
}
