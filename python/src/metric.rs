//! Metrics of rankings.

use crate::input::{Ids, rank_set};
use crate::model::By;
use crate::raised;
use crate::work::work;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use ordain::data::Columns;
use ordain::matrix::{Csr, Features};
use ordain::metric::{Convention, Query};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::borrow::Cow;

/// The value of each query, in order of first appearance; NaN where the convention leaves a query out.
#[pyfunction]
#[pyo3(signature = (name, y, score, qid, convention, rules, docid=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn measure<'py>(
    py: Python<'py>,
    name: By<'py>,
    y: PyReadonlyArray1<'py, f64>,
    score: PyReadonlyArray1<'py, f64>,
    qid: Option<Ids<'py>>,
    convention: &str,
    rules: Vec<(String, String)>,
    docid: Option<Vec<String>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let measure = name.measure()?;
    let metric = measure.metric;
    let mut by: Convention = convention.parse().map_err(raised)?;
    for (rule, value) in &rules {
        by.set(rule, value).map_err(raised)?;
    }
    let (grades, scores) = (y.as_slice()?, score.as_slice()?);
    let rows = grades.len();
    let docids = docid.as_ref().map_or(rows, Vec::len);
    if scores.len() != rows || docids != rows {
        let found = if scores.len() == rows { docids } else { scores.len() };
        return Err(PyValueError::new_err(format!(
            "expected {rows} scores and document ids, as many as y has values, found {found}"
        )));
    }
    for (what, values) in [("y", grades), ("score", scores)] {
        if let Some(row) = values.iter().position(|x| !x.is_finite()) {
            return Err(PyValueError::new_err(format!(
                "{what}[{row}]: expected a finite number, found {}",
                values[row]
            )));
        }
    }
    // rows without features: only who belongs to which query counts
    let bare = Features::Sparse(Csr::new(vec![0; rows], vec![], vec![], 0));
    let (set, _) =
        rank_set(bare, Columns { names: vec![], numbered: true, ..Columns::default() }, Some(&y), qid.as_ref(), rows)?;
    let max_grade = grades.iter().fold(0.0f64, |a, &b| a.max(b));
    let values = measure.told(work(py, None, || {
        let stored: Vec<f64> = (0..rows).map(|row| scores[set.input_row(row)]).collect();
        let of = |q: usize| {
            let span = set.span(q);
            let id = |i: usize| match &docid {
                Some(ids) => Cow::Borrowed(ids[set.input_row(span.start + i)].as_str()),
                None => set.document(span.start + i),
            };
            let query =
                Query { grades: &set.grades[span.clone()], scores: &stored[span.clone()], unretrieved: &[], id: &id };
            Ok(query.measure(&[metric], &by, max_grade)?[0].unwrap_or(f64::NAN))
        };
        (0..set.len()).map(of).collect::<ordain::Result<Vec<f64>>>()
    }))?;
    Ok(values.into_pyarray(py))
}
