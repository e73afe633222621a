//! Fits whose rows are on other machines.

use super::{Machines, bounds, natural, unpack, wrong};
use crate::matches::Matcher;
use crate::model::{Measure, Run, method};
use crate::raised;
use crate::rank::Ranker;
use crate::work::watched;
use numpy::PyReadonlyArray1;
use ordain::data::{Columns, DataSet, MatchSet, Missing, RankSet};
use ordain::method::{AnyMethod, Match, Rank, Whereabouts, fit_problem_shards, fit_shards};
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Task, Training};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Arc;

/// Fits on shards of a set of which the first units are for training, and the others, if there are any, for validation.
fn fit<T: Task>(
    py: Python<'_>,
    run: &Run<'_>,
    mut set: T::Set,
    valid_from: Option<usize>,
    fit: impl FnOnce(&Training<'_, T>, &Watch) -> ordain::Result<Fitted<T>> + Send,
) -> PyResult<(Fitted<T>, Option<PyErr>)> {
    let by = run.choose_by.as_ref().map(|by| by.of(T::WORDS)).transpose()?;
    if by.as_ref().is_some_and(Measure::is_own) {
        let text = "choose_by: expected the name of a metric on several machines, found a function";
        return Err(PyValueError::new_err(text));
    }
    let by = by.map(|measure| measure.metric);
    let convention = run.convention()?;
    let missing = run.missing()?;
    if !matches!(missing, Missing::Error | Missing::Zero | Missing::Auto) {
        return Err(raised(ordain::Error::Setting {
            name: "missing".into(),
            expected: "error or zero on several machines (fill gaps in the data before)".into(),
            found: run.missing_name().into(),
        }));
    }
    let filled = set.fill(missing, &[]);
    let all = set.all();
    let (train, valid) = all.split_at(valid_from.unwrap_or(all.len()).min(all.len()));
    let (refit, seed) = (run.refit, run.seed);
    watched(py, run.threads, run.callback.as_ref(), |watch| {
        let valid = valid_from.is_some().then_some(valid);
        fit(&Training { valid, by, convention, refit, seed, filled, ..Training::new(&set, train) }, watch)
    })
}

/// Where the rows are: these pieces of each shard.
fn whereabouts(pool: Py<PyAny>, runs: Vec<(usize, usize)>, weighted: bool) -> Whereabouts {
    let shards = runs.into_iter().map(|(from, to)| from..to).collect();
    Whereabouts { cluster: Arc::new(Machines { pool }), shards, weighted }
}

/// Fits a ranker on shards; the queries from `valid_from` on are for validation.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_away(
    py: Python<'_>,
    name: &str,
    settings: Vec<(String, String)>,
    columns: &str,
    sizes: PyReadonlyArray1<'_, i64>,
    weighted: bool,
    runs: Vec<(usize, usize)>,
    valid_from: Option<usize>,
    run: Run<'_>,
    pool: Py<PyAny>,
) -> PyResult<(Ranker, Option<PyErr>)> {
    let AnyMethod::Rank(method) = method(name, &settings)? else {
        return Err(wrong("a method that ranks nothing"));
    };
    let columns: Columns = serde_json::from_str(columns).map_err(wrong)?;
    let set = RankSet::outline(columns, bounds(natural(&sizes)?.into_iter()));
    let where_ = whereabouts(pool, runs, weighted);
    let (fitted, raise) =
        fit::<Rank>(py, &run, set, valid_from, |data, watch| fit_shards(&method, data, where_, watch))?;
    Ok((Ranker { fitted }, raise))
}

/// Fits a matcher on shards; `problems` are those of all blocks, without features.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_problems_away(
    py: Python<'_>,
    name: &str,
    settings: Vec<(String, String)>,
    columns: &str,
    problems: Vec<Vec<u8>>,
    runs: Vec<(usize, usize)>,
    valid_from: Option<usize>,
    run: Run<'_>,
    pool: Py<PyAny>,
) -> PyResult<(Matcher, Option<PyErr>)> {
    let AnyMethod::Match(method) = method(name, &settings)? else {
        return Err(wrong("a method that matches nothing"));
    };
    let columns: Columns = serde_json::from_str(columns).map_err(wrong)?;
    let mut all = vec![];
    for bytes in &problems {
        all.append(&mut unpack(bytes)?);
    }
    let set = MatchSet::outline(columns, all).map_err(raised)?;
    let where_ = whereabouts(pool, runs, false);
    let (fitted, raise) =
        fit::<Match>(py, &run, set, valid_from, |data, watch| fit_problem_shards(&method, data, where_, watch))?;
    Ok((Matcher { fitted }, raise))
}
