//! Arrays of Python as features and queries.

use crate::model::Run;
use crate::raised;
use numpy::{Element, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use ordain::data::{Cells, Columns, Input, Missing, RankSet, pair_text, vector_text};
use ordain::matrix::{Csr, Features, Matrix};
use ordain::task::Inputs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Features as the package hands them over: a row-major array of float32, or the rows of a sparse matrix.
#[derive(FromPyObject)]
pub(crate) enum Rows<'py> {
    /// A dense array.
    Dense(PyReadonlyArray2<'py, f32>),
    /// `indptr`, `indices`, `data` and the number of columns.
    Sparse(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f32>, usize),
    /// A dense array, and columns whose cells are no numbers: what each is, such as `title:text`, and its cells; two columns of `a,b:vectors`.
    Mixed(PyReadonlyArray2<'py, f32>, Vec<(String, Vec<Cell<'py>>)>),
}

/// The cells of a column that are no numbers.
#[derive(FromPyObject)]
pub(crate) enum Cell<'py> {
    /// Text, as it would stand in a file.
    Texts(Vec<String>),
    /// Vectors; one whose numbers are all NaN is missing.
    Vectors(PyReadonlyArray2<'py, f32>),
}

impl Cell<'_> {
    /// The cell of a row, as text; nothing where there is no such row.
    fn text(&self, row: usize) -> Option<Cow<'_, str>> {
        match self {
            Self::Texts(cells) => cells.get(row).map(|cell| Cow::Borrowed(cell.as_str())),
            Self::Vectors(array) => {
                let array = array.as_array();
                let numbers = (row < array.nrows()).then(|| array.row(row))?;
                let missing = numbers.iter().all(|x| x.is_nan());
                Some(if missing { "".into() } else { vector_text(numbers.iter().copied()).into() })
            }
        }
    }
}

/// Rows of numbers and of places of cells, which stand behind them, and what is known of the cells.
fn mixed(numbers: &PyReadonlyArray2<'_, f32>, given: &[(String, Vec<Cell<'_>>)]) -> PyResult<(Features, Cells)> {
    let numbers = numbers.as_array();
    let inputs: Vec<Input> = given.iter().map(|(input, _)| input.parse()).collect::<Result<_, _>>().map_err(raised)?;
    let (cells, cols) = (Cells { inputs, ..Cells::default() }, numbers.ncols() + given.len());
    let mut values = Vec::with_capacity(numbers.nrows() * cols);
    for (row, own) in numbers.rows().into_iter().enumerate() {
        values.extend(own.iter());
        for (input, parts) in given {
            let parts: Option<Vec<Cow<str>>> = parts.iter().map(|cell| cell.text(row)).collect();
            let text = match parts.as_deref() {
                Some([one]) => one.trim_ascii().to_owned(),
                Some([a, b]) => pair_text(a.trim_ascii(), b.trim_ascii()),
                _ => {
                    let text = format!("{input}: expected a cell for each of {} rows", numbers.nrows());
                    return Err(PyValueError::new_err(text));
                }
            };
            values.push(cells.texts.push(&text, row + 1).map_err(raised)?);
        }
    }
    Ok((Features::Dense(Matrix::new(values, cols)), cells))
}

/// An array of numbers that single precision may not hold.
#[derive(FromPyObject)]
pub(crate) enum Wide<'py> {
    /// In double precision.
    Doubles(PyReadonlyArray2<'py, f64>),
    /// Whole.
    Longs(PyReadonlyArray2<'py, i64>),
    /// Whole, from 0.
    Naturals(PyReadonlyArray2<'py, u64>),
    /// Whole, of 32 bits.
    Ints(PyReadonlyArray2<'py, i32>),
    /// Whole, from 0, of 32 bits.
    Counts(PyReadonlyArray2<'py, u32>),
}

/// The columns of an array that lose much in single precision, by their places.
#[pyfunction]
pub(crate) fn coarse_columns(values: Wide<'_>) -> Vec<usize> {
    fn of<T: Element + Copy>(values: &PyReadonlyArray2<'_, T>, double: impl Fn(T) -> f64) -> Vec<usize> {
        let (values, shape) = (values.as_array(), values.shape());
        ordain::data::coarse_columns(shape[0], shape[1], |row, column| double(values[[row, column]]))
    }
    match &values {
        Wide::Doubles(values) => of(values, |x| x),
        Wide::Longs(values) => of(values, |x| x as f64),
        Wide::Naturals(values) => of(values, |x| x as f64),
        Wide::Ints(values) => of(values, f64::from),
        Wide::Counts(values) => of(values, f64::from),
    }
}

/// The ids of the queries of the rows.
#[derive(FromPyObject)]
pub(crate) enum Ids<'py> {
    /// Whole numbers.
    Numbers(PyReadonlyArray1<'py, i64>),
    /// Anything else.
    Words(Vec<String>),
}

/// An array that is read where it stands.
struct Array {
    _owner: Py<PyArray2<f32>>,
    values: *const f32,
    len: usize,
}

// SAFETY: the values are only read, and the owner keeps them where they are. An array that another thread of Python writes to
// during a call gives that thread's numbers, as it does with every library that lets go of the interpreter lock.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

impl AsRef<[f32]> for Array {
    fn as_ref(&self) -> &[f32] {
        // SAFETY: `values` and `len` are those of a contiguous array that `_owner` keeps alive.
        unsafe { std::slice::from_raw_parts(self.values, self.len) }
    }
}

/// Features, dense ones without a copy, and the cells that are no numbers yet.
pub(crate) fn features(rows: &Rows<'_>) -> PyResult<(Features, Option<Cells>)> {
    let features = match rows {
        Rows::Mixed(numbers, cells) => return mixed(numbers, cells).map(|(features, cells)| (features, Some(cells))),
        Rows::Dense(array) => {
            let cols = array.shape()[1];
            let values =
                array.as_slice().map_err(|_| PyValueError::new_err("expected a row-major array of float32"))?;
            if cols == 0 {
                return Err(PyValueError::new_err("expected features, found rows without any"));
            }
            let owner: &Bound<'_, PyArray2<f32>> = array;
            let array = Array { _owner: owner.clone().unbind(), values: values.as_ptr(), len: values.len() };
            Features::Dense(Matrix::lent(Arc::new(array), cols))
        }
        Rows::Sparse(starts, indices, values, cols) => {
            let (starts, indices, values) = (starts.as_slice()?, indices.as_slice()?, values.as_slice()?);
            sparse(starts, indices, values, *cols).ok_or_else(|| {
                PyValueError::new_err(
                    "expected a valid CSR matrix with sorted indices, found indices outside it, out of order or twice; \
                     X.sum_duplicates() puts them right",
                )
            })?
        }
    };
    Ok((features, None))
}

/// The rows of a sparse matrix, if they are what they should be.
fn sparse(starts: &[i64], indices: &[i64], values: &[f32], cols: usize) -> Option<Features> {
    let (&first, ends) = starts.split_first()?;
    let ends: Vec<usize> = ends.iter().map(|&end| usize::try_from(end).ok()).collect::<Option<_>>()?;
    let right = first == 0
        && ends.is_sorted()
        && ends.last().copied().unwrap_or(0) == values.len()
        && indices.len() == values.len()
        && u32::try_from(cols).is_ok()
        && indices.iter().all(|&j| usize::try_from(j).is_ok_and(|j| j < cols));
    let mut from = 0;
    let sorted = right
        && ends.iter().all(|&end| {
            let row = &indices[from..end];
            from = end;
            row.windows(2).all(|pair| pair[0] < pair[1])
        });
    sorted.then(|| Features::Sparse(Csr::new(ends, indices.iter().map(|&j| j as u32).collect(), values.to_vec(), cols)))
}

/// The names of columns, or their numbers where there are none.
pub(crate) fn columns(names: Option<Vec<String>>, cols: usize) -> Columns {
    names.map_or_else(|| Columns::numbered(cols), Columns::of)
}

/// Refuses values that are not finite; gaps (NaN) are for `missing` to fill.
pub(crate) fn check_finite(features: &Features, columns: &Columns, missing: Missing) -> PyResult<()> {
    let right = |x: f32| x.is_finite() || x.is_nan() && missing != Missing::Error;
    let stored = match features {
        Features::Dense(m) => m.values(),
        Features::Sparse(m) => m.values(),
    };
    if stored.chunks(1024).all(|part| part.iter().fold(true, |fine, x| fine & x.is_finite())) {
        return Ok(());
    }
    for row in 0..features.rows() {
        let mut wrong = None;
        features.each(row, |j, x| {
            if wrong.is_none() && !right(x) {
                wrong = Some((j, x));
            }
        });
        if let Some((j, x)) = wrong {
            let name = if columns.numbered { String::new() } else { format!(" (feature {:?})", columns.names[j]) };
            let cure = if x.is_nan() { "; missing=\"zero\", \"mean\" or \"indicator\" fills gaps" } else { "" };
            let found = match x {
                _ if x.is_nan() => "NaN",
                f32::INFINITY => "inf (infinity, or more than float32 holds)",
                _ => "-inf (infinity, or more than float32 holds)",
            };
            return Err(PyValueError::new_err(format!(
                "X[{row}, {j}]{name}: expected a finite number, found {found}{cure}"
            )));
        }
    }
    Ok(())
}

/// Features to learn from, looked at for values that are not finite.
pub(crate) fn learned(x: &Rows<'_>, names: Option<Vec<String>>, run: &Run<'_>) -> PyResult<(Features, Columns)> {
    let (features, cells) = features(x)?;
    let columns = Columns { roles: run.columns.roles()?, cells, ..columns(names, features.cols()) };
    check_finite(&features, &columns, run.missing()?)?;
    Ok((features, columns))
}

/// Features for a model, whose names they take where they have none of their own.
pub(crate) fn asked(x: &Rows<'_>, names: Option<Vec<String>>, model: &Inputs) -> PyResult<(Features, Columns)> {
    let (features, cells) = features(x)?;
    let columns = match names {
        None if cells.is_none() && features.cols() == model.given().len() => {
            Columns { names: model.given().to_vec(), ..model.columns.clone() }
        }
        names => columns(names, features.cols()),
    };
    Ok((features, Columns { cells, ..columns }))
}

/// Lists of labels, one for each row: where each begins and where the last ends, and the labels by number.
pub(crate) type Lists<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>);

/// The lists, of `rows` rows and labels below `labels`.
pub(crate) fn lists((starts, columns): &Lists<'_>, rows: usize, labels: usize) -> PyResult<Vec<Vec<u32>>> {
    let (starts, columns) = (starts.as_slice()?, columns.as_slice()?);
    let list = |pair: &[i64]| {
        let span = usize::try_from(pair[0]).ok()?..usize::try_from(pair[1]).ok()?;
        let number = |&label: &i64| u32::try_from(label).ok().filter(|&label| (label as usize) < labels);
        columns.get(span)?.iter().map(number).collect::<Option<Vec<u32>>>()
    };
    let all: Option<Vec<Vec<u32>>> = starts.windows(2).map(list).collect();
    all.filter(|all| all.len() == rows).ok_or_else(|| {
        PyValueError::new_err(format!("expected a list of labels for each of {rows} rows, found lists that do not fit"))
    })
}

/// Numbers the values by their first appearance.
fn numbered<'a, T: Hash + Eq + Copy + 'a>(
    ids: impl Iterator<Item = T>,
    name: impl Fn(T) -> String,
) -> (Vec<u32>, Vec<String>) {
    let (mut known, mut names): (HashMap<T, u32>, Vec<String>) = (HashMap::new(), vec![]);
    let mut latest: Option<(T, u32)> = None;
    let of = ids
        .map(|id| match latest {
            Some((before, number)) if before == id => number,
            _ => {
                let number = *known.entry(id).or_insert_with(|| {
                    names.push(name(id));
                    names.len() as u32 - 1
                });
                latest = Some((id, number));
                number
            }
        })
        .collect();
    (of, names)
}

/// The query of each row, by first appearance, and their names; those from row `from` on are others than those before.
fn queries(ids: &Ids<'_>, from: usize) -> PyResult<(Vec<u32>, Vec<String>, usize)> {
    let parts = match ids {
        Ids::Numbers(ids) => {
            let (before, after) = ids.as_slice()?.split_at(from);
            [before, after].map(|ids| numbered(ids.iter().copied(), |id| id.to_string()))
        }
        Ids::Words(ids) => {
            let (before, after) = ids.split_at(from);
            [before, after].map(|ids| numbered(ids.iter().map(String::as_str), str::to_owned))
        }
    };
    let [(mut of, mut names), (after, others)] = parts;
    let first = names.len();
    of.extend(after.iter().map(|number| number + first as u32));
    names.extend(others);
    Ok((of, names, first))
}

/// Queries with documents, and how many of the queries stand before row `from`.
pub(crate) fn rank_set(
    features: Features,
    columns: Columns,
    grades: Option<&PyReadonlyArray1<'_, f64>>,
    ids: Option<&Ids<'_>>,
    from: usize,
) -> PyResult<(RankSet, usize)> {
    let rows = features.rows();
    let wrong = |what: &str, n: usize| {
        PyValueError::new_err(format!("expected {rows} {what}, one for each row of X, found {n}"))
    };
    let values = match grades {
        Some(grades) if grades.len() == rows => grades.as_slice()?.to_vec(),
        Some(grades) => return Err(wrong("values in y", grades.len())),
        None => vec![0.0; rows],
    };
    let made = match ids {
        None => {
            let bounds = if from < rows { vec![0, from, rows] } else { vec![0, rows] };
            let names = (1..bounds.len()).map(|q| q.to_string()).collect();
            RankSet::new(features, columns, values, bounds, names).map(|set| (set, 1))
        }
        Some(ids) => {
            let n = match ids {
                Ids::Numbers(ids) => ids.len(),
                Ids::Words(ids) => ids.len(),
            };
            if n != rows {
                return Err(wrong("values in qid", n));
            }
            let (of, names, first) = queries(ids, from.min(rows))?;
            RankSet::of_rows(features, columns, values, &of, names).map(|set| (set, first))
        }
    };
    let (mut set, first) = made.map_err(raised)?;
    set.graded = grades.is_some();
    Ok((set, first))
}
