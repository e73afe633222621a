//! Linking of two tables.

use crate::raised;
use crate::work::watched;
use numpy::{IntoPyArray, PyArray1};
use ordain::data::{Records, read_records};
use ordain::link::{Comparison, Linking, read_known};
use ordain::method::Operating;
use pyo3::prelude::*;
use std::path::PathBuf;

/// A file, or ids and the values of each field.
#[derive(FromPyObject)]
pub(crate) enum Table {
    File(PathBuf),
    Columns(Vec<String>, Vec<(String, Vec<Option<String>>)>),
}

impl Table {
    fn records(self, id: &str) -> ordain::Result<Records> {
        match self {
            Self::File(path) => read_records(&path, id),
            Self::Columns(ids, fields) => {
                let cells = |all: Vec<Option<String>>| {
                    let cell = |text: Option<String>| text.filter(|text| !text.trim_ascii().is_empty()).map(Into::into);
                    all.into_iter().map(cell).collect()
                };
                Records::new(ids, fields.into_iter().map(|(name, all)| (name, cells(all))).collect())
            }
        }
    }
}

/// Known pairs: a file, or ids with whether they match.
#[derive(FromPyObject)]
pub(crate) enum Pairs {
    File(PathBuf),
    List(Vec<(String, String, bool)>),
}

/// Ids of both sides, probabilities, whether somebody said so; rules with their pairs and new pairs; how many known matches are candidates; and
/// what comparisons are worth.
type Linked<'py> = (
    Vec<Option<String>>,
    Vec<Option<String>>,
    Bound<'py, PyArray1<f64>>,
    Vec<bool>,
    Vec<(String, usize, usize)>,
    (usize, usize),
    Vec<(String, f64)>,
);

/// Links two tables by known pairs.
#[pyfunction]
#[pyo3(signature = (left, right, id, known, block, compare, right_many, min_probability))]
#[allow(clippy::too_many_arguments)] // called by keyword from one place
pub(crate) fn link<'py>(
    py: Python<'py>,
    left: Table,
    right: Table,
    id: &str,
    known: Pairs,
    block: Vec<String>,
    compare: Vec<String>,
    right_many: bool,
    min_probability: Option<f64>,
) -> PyResult<Linked<'py>> {
    let compare =
        compare.iter().map(|text| Comparison::list(text)).collect::<ordain::Result<Vec<_>>>().map_err(raised)?;
    let linking = Linking { block, compare: compare.concat(), right_many };
    let (done, raise) = watched(py, None, None, move |watch| {
        let (left, right) = (left.records(id)?, right.records(id)?);
        let candidates = linking.candidates(&left, &right)?;
        let pairs = match known {
            Pairs::File(path) => read_known(&path, &left, &right)?,
            Pairs::List(pairs) => pairs,
        };
        let known = candidates.find(pairs.iter().map(|(a, b, yes)| (a.as_str(), b.as_str(), *yes)))?;
        let mut fitted = candidates.learn(&known, watch)?;
        fitted.model.operate(&Operating { min_probability, ..Operating::default() })?;
        let links = candidates.links(&fitted, &known)?;
        Ok((links, candidates.found.clone(), candidates.reached(&known), candidates.worth(&fitted)))
    })?;
    if let Some(raise) = raise {
        return Err(raise);
    }
    let (links, found, reached, worth) = done;
    let probabilities: Vec<f64> = links.iter().map(|link| link.probability).collect();
    let sure = links.iter().map(|link| link.known).collect();
    let (lefts, rights) = links.into_iter().map(|link| (link.left, link.right)).unzip();
    let rules = found.into_iter().map(|found| (found.rule, found.pairs, found.fresh)).collect();
    Ok((lefts, rights, probabilities.into_pyarray(py), sure, rules, reached, worth))
}
