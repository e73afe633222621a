//! Data that are made up or read from files, as arrays.

use crate::raised;
use crate::work::reading;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use ordain::data::synthetic::{Levels, Linkage, Orders, Registers, Scenes, Shapes, Synthetic, Videos};
use ordain::data::{
    Columns, LabelReading, LabelSet, MatchReading, MatchSet, Missing, PointFeature, RankReading, RankSet, Roles, Split,
    Truth, read_labels, read_matches, read_rank,
};
use ordain::matrix::Features;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Features for numpy, or for scipy.
#[derive(IntoPyObject)]
pub(crate) enum Table<'py> {
    /// A row-major array.
    Dense(Bound<'py, PyArray2<f32>>),
    /// `data`, `indices`, `indptr` and the number of columns.
    Sparse((Bound<'py, PyArray1<f32>>, Index<'py>, Index<'py>, usize)),
}

/// Places in a sparse matrix, as narrow as scipy has them.
#[derive(IntoPyObject)]
pub(crate) enum Index<'py> {
    /// Of a matrix of fewer than 2^31 values.
    Narrow(Bound<'py, PyArray1<i32>>),
    /// Of any other.
    Wide(Bound<'py, PyArray1<i64>>),
}

/// For each row a number, and what the numbers stand for.
type Coded<'py> = (Bound<'py, PyArray1<i64>>, Vec<String>);

/// Features without a copy, but for sparse ones that are to be dense.
pub(crate) fn table<'py>(py: Python<'py>, features: Features, sparse: bool) -> PyResult<Table<'py>> {
    let (rows, cols) = (features.rows(), features.cols());
    let dense = |values: Vec<f32>| Ok(Table::Dense(values.into_pyarray(py).reshape([rows, cols])?));
    match features {
        Features::Dense(matrix) => dense(matrix.into_values()),
        Features::Sparse(_) if !sparse => {
            let mut values = vec![0.0; rows * cols];
            (0..rows).for_each(|i| features.each(i, |j, x| values[i * cols + j] = x));
            dense(values)
        }
        Features::Sparse(matrix) => {
            let (ends, columns, values) = matrix.into_parts();
            let (indices, starts) = if values.len().max(cols) <= i32::MAX as usize {
                let starts: Vec<i32> = std::iter::once(0).chain(ends.iter().map(|&end| end as i32)).collect();
                let columns: Vec<i32> = columns.into_iter().map(|j| j as i32).collect();
                (Index::Narrow(columns.into_pyarray(py)), Index::Narrow(starts.into_pyarray(py)))
            } else {
                let starts: Vec<i64> = std::iter::once(0).chain(ends.iter().map(|&end| end as i64)).collect();
                let columns: Vec<i64> = columns.into_iter().map(i64::from).collect();
                (Index::Wide(columns.into_pyarray(py)), Index::Wide(starts.into_pyarray(py)))
            };
            Ok(Table::Sparse((values.into_pyarray(py), indices, starts, cols)))
        }
    }
}

/// The names of columns, unless they are just 1, 2, ….
fn names(columns: &Columns) -> Option<Vec<String>> {
    let plain = columns.numbered && columns.names.iter().zip(1..).all(|(name, j)| *name == j.to_string());
    (!plain).then(|| columns.names.clone())
}

/// What to read gaps as, and what to fill them with; `nan` leaves them.
pub(crate) fn gaps(missing: &str) -> PyResult<(Missing, Option<Missing>)> {
    match missing {
        "nan" => Ok((Missing::Mean, None)),
        "error" | "zero" | "mean" | "indicator" => {
            crate::model::missing(missing).map(|missing| (missing, Some(missing)))
        }
        _ => Err(raised(ordain::Error::unknown("missing", missing, ["error", "zero", "mean", "indicator", "nan"]))),
    }
}

/// Which columns of a table mean what, as the package says it.
#[derive(Clone, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Named {
    label: Option<String>,
    query: Option<String>,
    id: Option<String>,
    weight: Option<String>,
    problem: Option<String>,
    left: Option<String>,
    right: Option<String>,
    matched: Option<String>,
    ignore: Vec<String>,
    features: Option<Vec<String>>,
    inputs: Vec<String>,
}

impl Named {
    pub(crate) fn roles(&self) -> PyResult<Roles> {
        let Self { label, query, id, weight, problem, left, right, matched, ignore, features, inputs } = self.clone();
        let inputs = inputs.iter().map(|input| input.parse()).collect::<ordain::Result<_>>().map_err(raised)?;
        Ok(Roles { label, query, id, weight, problem, left, right, matched, ignore, features, inputs })
    }
}

/// Features, grades, queries and items of made-up orders.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn make_orders<'py>(
    py: Python<'py>,
    lists: usize,
    link: f64,
    seed: u64,
) -> PyResult<(Table<'py>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>, Vec<String>)> {
    let set = py.detach(|| Orders { lists, link, seed }.make());
    let qid: Vec<i64> = (0..set.len()).flat_map(|q| set.span(q).map(move |_| q as i64 + 1)).collect();
    let items = (0..set.rows()).map(|row| set.document(row).into_owned()).collect();
    Ok((table(py, set.features, false)?, set.grades.into_pyarray(py), qid.into_pyarray(py), items))
}

/// Features, grades and queries of made-up rankings.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn make_ranking<'py>(
    py: Python<'py>,
    queries: usize,
    documents: (usize, usize),
    features: usize,
    grades: usize,
    noise: f64,
    seed: u64,
) -> PyResult<(Table<'py>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>)> {
    let set = py.detach(|| Synthetic { queries, documents, features, grades, noise, seed }.make());
    let qid: Vec<i64> = (0..set.len()).flat_map(|q| set.span(q).map(move |_| q as i64 + 1)).collect();
    Ok((table(py, set.features, false)?, set.grades.into_pyarray(py), qid.into_pyarray(py)))
}

/// Features, grades and queries of made-up documents on three levels in the plane.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn make_levels<'py>(
    py: Python<'py>,
    queries: usize,
    documents: usize,
    side: f64,
    seed: u64,
) -> PyResult<(Table<'py>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>)> {
    let set = py.detach(|| Levels { queries, documents, side, seed }.make());
    let qid: Vec<i64> = (0..set.len()).flat_map(|q| set.span(q).map(move |_| q as i64 + 1)).collect();
    Ok((table(py, set.features, false)?, set.grades.into_pyarray(py), qid.into_pyarray(py)))
}

/// The pixels of pictures of silhouettes, from 0 to 1, one after another, and the class of each.
#[pyfunction]
pub(crate) fn make_silhouettes(
    py: Python<'_>,
    classes: usize,
    each: usize,
    side: usize,
    seed: u64,
) -> (Bound<'_, PyArray1<f32>>, Vec<usize>) {
    let all = py.detach(|| Shapes { classes, each, side, seed }.make());
    let pixels: Vec<f32> = all.iter().flat_map(|(_, plane)| plane.values()).map(|v| v / 255.0).collect();
    (pixels.into_pyarray(py), all.iter().map(|(class, _)| *class).collect())
}

/// The pixels of frames of sequences, from 0 to 1, frame after frame, and the class of each sequence.
#[pyfunction]
pub(crate) fn make_videos(
    py: Python<'_>,
    classes: usize,
    sequences: usize,
    frames: usize,
    side: usize,
    seed: u64,
) -> (Bound<'_, PyArray1<f32>>, Vec<usize>) {
    let all = py.detach(|| Videos { classes, sequences, frames, side, seed }.make());
    let pixels = all.iter().flat_map(|(_, frames)| frames).flat_map(|plane| plane.values()).map(|v| v / 255.0);
    (pixels.collect::<Vec<f32>>().into_pyarray(py), all.iter().map(|(class, _)| *class).collect())
}

/// Features, indicators and names of labels of made-up pictures.
#[pyfunction]
pub(crate) fn make_tagging<'py>(
    py: Python<'py>,
    items: usize,
    labels: usize,
    scenes: usize,
    noise: f64,
    seed: u64,
) -> PyResult<(Table<'py>, Bound<'py, PyArray2<i8>>, Vec<String>)> {
    let set = py.detach(|| Scenes { items, labels, scenes, noise, seed }.make());
    let known = indicators(&set, 1i8, None);
    let shape = [set.len(), set.labels.len()];
    Ok((table(py, set.features, false)?, known.into_pyarray(py).reshape(shape)?, set.labels))
}

/// A row per item, `yes` for the labels that apply to it; others 0, or `unknown`.
fn indicators<T: Copy + Default>(set: &LabelSet, yes: T, unknown: Option<T>) -> Vec<T> {
    let n = set.labels.len();
    let mut out = vec![T::default(); set.len() * n];
    for (i, row) in out.chunks_exact_mut(n.max(1)).enumerate() {
        set.yes(i).iter().for_each(|&label| row[label as usize] = yes);
        if let Some(unknown) = unknown {
            set.unknown(i).iter().for_each(|&label| row[label as usize] = unknown);
        }
    }
    out
}

/// Features, truth, problem, left and right item of each edge, the names of columns, and those that lose much in single precision.
type Edges<'py> =
    (Table<'py>, Bound<'py, PyArray1<f64>>, Coded<'py>, Coded<'py>, Coded<'py>, Option<Vec<String>>, Vec<String>);

fn edges<'py>(py: Python<'py>, set: MatchSet) -> PyResult<Edges<'py>> {
    let n = set.edges();
    let (mut truth, mut of) = (Vec::with_capacity(n), [(); 3].map(|()| Vec::with_capacity(n)));
    let mut known: [Vec<String>; 3] = Default::default();
    for (p, problem) in set.problems().iter().enumerate() {
        truth.extend(problem.truth.iter().map(|truth| match truth {
            Truth::No => 0.0,
            Truth::Yes => 1.0,
            Truth::Unknown => f64::NAN,
        }));
        let (left, right) = (known[1].len() as i64, known[2].len() as i64);
        for &(i, j) in &problem.edges {
            of[0].push(p as i64);
            of[1].push(left + i64::from(i));
            of[2].push(right + i64::from(j));
        }
        known[0].push(problem.name.clone());
        known[1].extend_from_slice(&problem.left);
        known[2].extend_from_slice(&problem.right);
    }
    let [problem, left, right] = of.map(|of| of.into_pyarray(py));
    let [problems, lefts, rights] = known;
    let names = names(&set.columns);
    let truth = truth.into_pyarray(py);
    let (features, coarse) = (table(py, set.features, false)?, set.columns.coarse);
    Ok((features, truth, (problem, problems), (left, lefts), (right, rights), names, coarse))
}

/// Two made-up registers.
#[pyfunction]
pub(crate) fn make_matching<'py>(
    py: Python<'py>,
    problems: usize,
    records: usize,
    matched: f64,
    look_alikes: f64,
    seed: u64,
) -> PyResult<Edges<'py>> {
    let set = py.detach(|| Linkage { problems, records, matched, look_alikes, seed }.make());
    edges(py, set)
}

/// Two made-up registers with gaps, as one problem or in pages.
#[pyfunction]
pub(crate) fn make_registers<'py>(
    py: Python<'py>,
    records: usize,
    page: Option<usize>,
    seed: u64,
) -> PyResult<Edges<'py>> {
    let set = py.detach(|| Registers { records, page, seed }.make());
    edges(py, set)
}

/// Features, grades, queries, names of columns, ids of documents and weights, in the order of the file; and the columns that lose much
/// in single precision.
type Documents<'py> = (
    Table<'py>,
    Option<Bound<'py, PyArray1<f64>>>,
    Coded<'py>,
    Option<Vec<String>>,
    Option<Vec<String>>,
    Option<Bound<'py, PyArray1<f64>>>,
    Vec<String>,
);

/// Reads queries with documents.
#[pyfunction]
pub(crate) fn read_letor<'py>(
    py: Python<'py>,
    path: PathBuf,
    columns: Named,
    missing: &str,
    n_features: Option<usize>,
    sparse: bool,
) -> PyResult<Documents<'py>> {
    let (missing, fill) = gaps(missing)?;
    let roles = columns.roles()?;
    let mut set = reading(py, move || {
        let reading = RankReading { missing, roles, ..RankReading::default() };
        let (mut set, _) = read_rank(&[vec![path]], &reading)?;
        if let Some(n) = n_features {
            numbered(&mut set, n)?;
        }
        if let Some(fill) = fill {
            let all = set.all();
            set.fill(fill, &all);
        }
        Ok(set)
    })?;
    let rows = set.rows();
    let mut stored = vec![0u32; rows]; // where each row of the file went
    (0..rows).for_each(|row| stored[set.input_row(row)] = row as u32);
    let mut query = vec![0i64; rows];
    for q in 0..set.len() {
        set.span(q).for_each(|row| query[set.input_row(row)] = q as i64);
    }
    let queries = (0..set.len()).map(|q| set.query(q).to_owned()).collect();
    let documents = set.has_documents().then(|| {
        let id = |&row: &u32| set.document(row as usize).into_owned();
        stored.iter().map(id).collect()
    });
    let weights = set.weights.take().map(|weights| set.in_input_order(weights).into_pyarray(py));
    let grades = std::mem::take(&mut set.grades);
    let grades = set.graded.then(|| set.in_input_order(grades).into_pyarray(py));
    let names = names(&set.columns);
    let mut features = set.features;
    if !stored.is_sorted() {
        features.permute_rows(&stored);
    }
    let (features, queries) = (table(py, features, sparse)?, (query.into_pyarray(py), queries));
    Ok((features, grades, queries, names, documents, weights, set.columns.coarse))
}

/// Makes the columns 1 to `n` of numbered ones.
fn numbered(set: &mut RankSet, n: usize) -> ordain::Result<()> {
    if !set.columns.numbered {
        return Err(ordain::Error::Data {
            expected: "features that are numbered, for n_features".into(),
            found: format!("names such as {:?}", set.columns.names[0]),
        });
    }
    set.align(&Columns::numbered(n)).map(drop)
}

/// Indicators of labels: whole numbers, or with NaN where a label is unknown.
#[derive(IntoPyObject)]
pub(crate) enum Labels<'py> {
    /// All are known.
    Known(Bound<'py, PyArray2<i8>>),
    /// Some are not.
    Unknown(Bound<'py, PyArray2<f32>>),
}

/// Features, indicators, names of labels, names of columns, ids of items, and the columns that lose much in single precision.
type Items<'py> = (Table<'py>, Option<Labels<'py>>, Vec<String>, Option<Vec<String>>, Option<Vec<String>>, Vec<String>);

/// Reads items with labels.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn read_multilabel<'py>(
    py: Python<'py>,
    path: PathBuf,
    labels: Option<String>,
    category: Option<String>,
    columns: Named,
    missing: &str,
    sparse: bool,
) -> PyResult<Items<'py>> {
    let (missing, fill) = gaps(missing)?;
    let roles = columns.roles()?;
    let set = reading(py, move || {
        let reading = LabelReading { missing, labels, category, roles, ..LabelReading::default() };
        let (mut set, _) = read_labels(&[vec![path]], &reading)?;
        if let Some(fill) = fill {
            let all = set.all();
            set.fill(fill, &all);
        }
        Ok(set)
    })?;
    let shape = [set.len(), set.labels.len()];
    let known = match (set.labelled, set.has_unknown()) {
        (false, _) => None,
        (true, false) => Some(Labels::Known(indicators(&set, 1i8, None).into_pyarray(py).reshape(shape)?)),
        (true, true) => Some(Labels::Unknown(indicators(&set, 1f32, Some(f32::NAN)).into_pyarray(py).reshape(shape)?)),
    };
    let items = set.has_items().then(|| (0..set.len()).map(|i| set.item(i).into_owned()).collect());
    let names = names(&set.columns);
    Ok((table(py, set.features, sparse)?, known, set.labels, names, items, set.columns.coarse))
}

/// Reads problems of matching.
#[pyfunction]
pub(crate) fn read_matching<'py>(
    py: Python<'py>,
    path: PathBuf,
    pairs: Option<PathBuf>,
    features: &str,
    columns: Named,
    split: Option<&str>,
    missing: &str,
) -> PyResult<Edges<'py>> {
    let (missing, fill) = gaps(missing)?;
    let features = if features.is_empty() { vec![] } else { PointFeature::list(features).map_err(raised)? };
    let only = match split {
        None => vec![],
        Some(name) => {
            let found = Split::ALL.iter().copied().find(|split| split.name() == name);
            vec![found.ok_or_else(|| {
                raised(ordain::Error::unknown("split", name, Split::ALL.iter().map(|split| split.name())))
            })?]
        }
    };
    if split.is_some() && pairs.is_none() {
        return Err(PyValueError::new_err(
            "split: expected pairs=, the table whose column split it goes by, found none",
        ));
    }
    let roles = columns.roles()?;
    let set = reading(py, move || {
        let reading = MatchReading { missing, features, pairs, only, roles, ..MatchReading::default() };
        let (mut set, _) = read_matches(&[vec![path]], &reading)?;
        if let Some(fill) = fill {
            let all = set.all();
            set.fill(fill, &all);
        }
        Ok(set)
    })?;
    edges(py, set)
}
