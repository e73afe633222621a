//! Rows on other machines: blocks of queries, shards of a set that they make together, and fits that ask these.

use crate::data::{Named, Table, gaps, table};
use crate::input::{Ids, Rows, check_finite, columns, features, rank_set};
use crate::model::{Measure, Run, json, method, missing};
use crate::raised;
use crate::rank::Ranker;
use crate::work::{watched, work};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use ordain::data::{Columns, DataSet, Missing, Place, RankReading, RankSet, read_rank};
use ordain::matrix::{Features, Matrix};
use ordain::method::{AnyMethod, Cluster, Rank, Whereabouts, fit_shards, layouts as lay_out};
use ordain::metric::Convention;
use ordain::task::{Task, Training};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Queries as they came, in a file or in a part of a frame.
#[pyclass(frozen, module = "ordain._ordain")]
pub(crate) struct Block {
    set: RankSet,
}

/// The sizes of queries, and hashes of their names.
type Outline<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u64>>);

/// All that a block is: features, grades, sizes and names of queries, weights, columns, where rows stood, and names of documents.
type State<'py> = (
    Table<'py>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
    Vec<String>,
    Option<Bound<'py, PyArray1<f64>>>,
    String,
    Vec<u32>,
    Option<Vec<String>>,
);

impl Block {
    /// A block whose dense rows are shared with the shards that are made of it.
    fn new(mut set: RankSet) -> Self {
        set.features = match set.features {
            Features::Dense(matrix) => {
                let cols = matrix.cols();
                Features::Dense(Matrix::lent(Arc::new(matrix.into_values()), cols))
            }
            sparse => sparse,
        };
        Self { set }
    }
}

fn wrong(error: impl std::fmt::Display) -> PyErr {
    raised(ordain::Error::Data { expected: "a message of the same version of ordain".into(), found: error.to_string() })
}

fn natural(sizes: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
    sizes.as_slice()?.iter().map(|&n| usize::try_from(n).map_err(wrong)).collect()
}

/// Where queries with these sizes end.
fn bounds(sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut end = 0;
    std::iter::once(0)
        .chain(sizes.map(|n| {
            end += n;
            end
        }))
        .collect()
}

#[pymethods]
impl Block {
    /// The queries of a file.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        columns: Named,
        missing: &str,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Self> {
        let (missing, fill) = gaps(missing)?;
        let reading = RankReading { missing, roles: columns.roles()?, ..RankReading::default() };
        let (mut set, _) = work(py, threads, || read_rank(&[vec![path]], &reading))?;
        ordain::data::take_notes();
        if let Some(fill) = fill {
            set.fill(fill, &[]);
        }
        Ok(Self::new(set))
    }

    /// The queries of rows.
    #[staticmethod]
    #[pyo3(signature = (x, names, y, qid, weight, roles, missing_))]
    fn of_rows(
        x: Rows<'_>,
        names: Option<Vec<String>>,
        y: PyReadonlyArray1<'_, f64>,
        qid: Ids<'_>,
        weight: Option<PyReadonlyArray1<'_, f64>>,
        roles: Named,
        missing_: &str,
    ) -> PyResult<Self> {
        let (features, _) = features(&x)?;
        let columns = Columns { roles: roles.roles()?, ..columns(names, features.cols()) };
        let missing = missing(missing_)?;
        check_finite(&features, &columns, missing)?;
        let rows = features.rows();
        let (mut set, _) = rank_set(features, columns, Some(&y), Some(&qid), rows)?;
        if let Some(weight) = weight {
            let given = weight.as_slice()?;
            set.weights = Some((0..rows).map(|row| given[set.input_row(row)]).collect());
        }
        set.fill(missing, &[]);
        Ok(Self { set })
    }

    /// The names of columns and what others meant, in JSON.
    fn columns(&self) -> PyResult<String> {
        json(&self.set.columns)
    }

    /// The sizes of queries, and hashes of their names.
    fn outline<'py>(&self, py: Python<'py>) -> Outline<'py> {
        let hash = |q: usize| {
            let mut hash = DefaultHasher::new(); // of fixed keys: the same on every machine
            self.set.query(q).hash(&mut hash);
            hash.finish()
        };
        let sizes: Vec<i64> = self.set.sizes().map(|n| n as i64).collect();
        let hashes: Vec<u64> = (0..self.set.len()).map(hash).collect();
        (sizes.into_pyarray(py), hashes.into_pyarray(py))
    }

    /// The name of a query.
    fn query(&self, q: usize) -> String {
        self.set.query(q).to_owned()
    }

    /// Whether it is graded, has weights, is sparse; bytes of its features.
    fn about(&self) -> (bool, bool, bool, usize) {
        let (sparse, bytes) = match &self.set.features {
            Features::Dense(m) => (false, 4 * m.values().len()),
            Features::Sparse(m) => (true, 8 * m.values().len() + 8 * m.rows()),
        };
        (self.set.graded, self.set.weights.is_some(), sparse, bytes)
    }

    /// Some of its queries.
    fn part(&self, from_: usize, to: usize) -> Self {
        Self { set: self.set.part(from_..to) }
    }

    /// All that it is.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        let set = &self.set;
        let sizes: Vec<i64> = set.sizes().map(|n| n as i64).collect();
        let input = (0..set.rows()).map(|row| set.input_row(row) as u32).collect();
        Ok((
            table(py, set.features.clone(), true)?,
            set.grades.clone().into_pyarray(py),
            sizes.into_pyarray(py),
            (0..set.len()).map(|q| set.query(q).to_owned()).collect(),
            set.weights.clone().map(|weights| weights.into_pyarray(py)),
            json(&set.columns)?,
            input,
            set.has_documents().then(|| (0..set.rows()).map(|row| set.document(row).into_owned()).collect()),
        ))
    }

    /// A block that was elsewhere.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)] // those of `state`
    fn of_state(
        x: Rows<'_>,
        grades: PyReadonlyArray1<'_, f64>,
        sizes: PyReadonlyArray1<'_, i64>,
        names: Vec<String>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        columns: &str,
        input: Vec<u32>,
        documents: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let (features, _) = features(&x)?;
        let columns: Columns = serde_json::from_str(columns).map_err(wrong)?;
        let bounds = bounds(natural(&sizes)?.into_iter());
        let mut set = RankSet::new(features, columns, grades.as_slice()?.to_vec(), bounds, names).map_err(raised)?;
        set.weights = weights.map(|weights| weights.as_slice().map(<[f64]>::to_vec)).transpose()?;
        if let Some(documents) = documents {
            set = set.with_documents(&documents).map_err(raised)?;
        }
        Ok(Self { set: set.from_input(input) })
    }
}

/// What becomes of a block: where it stands, the pieces that are whole in it, the piece that it shares, and the columns of all.
#[derive(Serialize, Deserialize)]
struct Plan {
    place: Place,
    whole: Range<usize>,
    joint: Option<(Place, usize)>,
    columns: Columns,
}

/// Pieces that begin in a block, its plan in JSON, and (block, first query, end) of what it needs of blocks.
type Laid = (usize, usize, String, Vec<(usize, usize, usize)>);

/// What becomes of blocks whose queries have these sizes.
#[pyfunction]
pub(crate) fn layouts(columns: &str, sizes: Vec<PyReadonlyArray1<'_, i64>>) -> PyResult<Vec<Laid>> {
    let columns: Columns = serde_json::from_str(columns).map_err(wrong)?;
    let sizes: Vec<Vec<usize>> = sizes.iter().map(natural).collect::<PyResult<_>>()?;
    let set = RankSet::outline(columns.clone(), bounds(sizes.iter().flatten().copied()));
    let queries: Vec<usize> = sizes.iter().map(Vec::len).collect();
    let laid = lay_out(&set, &queries).into_iter().map(|layout| {
        let (joint, fragments) = match layout.joint {
            Some(joint) => (Some((joint.place, joint.piece)), joint.fragments),
            None => (None, vec![]),
        };
        let plan = Plan { place: layout.own.0, whole: layout.own.1, joint, columns: columns.clone() };
        let fragments = fragments.into_iter().map(|(block, of)| (block, of.start, of.end)).collect();
        Ok((layout.run.start, layout.run.end, json(&plan)?, fragments))
    });
    laid.collect()
}

/// Pieces of a set on this machine.
#[pyclass(frozen, module = "ordain._ordain")]
pub(crate) struct Shard {
    shard: ordain::method::Shard,
}

#[pymethods]
impl Shard {
    /// What a plan makes of a block and of queries of blocks, each with the number of the first row of its block.
    #[new]
    fn new(block: &Block, fragments: Vec<(PyRef<'_, Block>, usize)>, plan: &str) -> PyResult<Self> {
        let Plan { place, whole, joint, columns }: Plan = serde_json::from_str(plan).map_err(wrong)?;
        let aligned = |set: &RankSet| {
            let mut set = set.clone();
            set.align(&columns).map_err(raised)?;
            Ok::<RankSet, PyErr>(set)
        };
        let mut parts = vec![(aligned(&block.set)?, place, whole)];
        if let Some((place, piece)) = joint {
            let own: Vec<(RankSet, usize)> =
                fragments.iter().map(|(block, row)| Ok((aligned(&block.set)?, *row))).collect::<PyResult<_>>()?;
            parts.push((RankSet::stacked(&own, &columns), place, piece..piece + 1));
        }
        Ok(Self { shard: ordain::method::Shard::new(parts) })
    }

    /// The same shard with its columns transformed.
    fn transformed(&self, py: Python<'_>, by: &[u8], threads: Option<NonZeroUsize>) -> PyResult<Self> {
        Ok(Self { shard: work(py, threads, || self.shard.transformed(by))? })
    }

    /// Answers a question.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        common: &[u8],
        own: &[u8],
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &work(py, threads, || self.shard.answer(common, own))?))
    }
}

/// Machines that Python knows: `ask(common, own)` gives what has `wait(seconds)`, which is None or the answers, and `cancel()`.
struct Machines {
    pool: Py<PyAny>,
}

/// How often it is looked whether somebody stops the work.
const LOOK: f64 = 0.1;

impl Cluster for Machines {
    fn ask(&self, common: &[u8], own: &[Vec<u8>], stop: Option<&AtomicBool>) -> ordain::Result<Vec<Vec<u8>>> {
        Python::attach(|py| {
            let own: Vec<Bound<'_, PyBytes>> = own.iter().map(|own| PyBytes::new(py, own)).collect();
            let waiting = self.pool.bind(py).call_method1("ask", (PyBytes::new(py, common), own))?;
            loop {
                let answers = waiting.call_method1("wait", (LOOK,))?;
                if !answers.is_none() {
                    let answers: Vec<Bound<'_, PyBytes>> = answers.extract()?;
                    return Ok(Some(answers.iter().map(|answer| answer.as_bytes().to_vec()).collect()));
                }
                if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                    waiting.call_method0("cancel")?;
                    return Ok(None);
                }
            }
        })
        .map_err(|error: PyErr| ordain::Error::Outside(Box::new(error)))?
        .ok_or(ordain::Error::Interrupted)
    }

    fn transform(&self, by: &[u8]) -> ordain::Result<()> {
        Python::attach(|py| self.pool.bind(py).call_method1("transform", (PyBytes::new(py, by),)).map(drop))
            .map_err(|error: PyErr| ordain::Error::Outside(Box::new(error)))
    }
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
    let mut set = RankSet::outline(columns, bounds(natural(&sizes)?.into_iter()));
    let by = run.choose_by.as_ref().map(|by| by.of(Rank::WORDS)).transpose()?;
    if by.as_ref().is_some_and(Measure::is_own) {
        let text = "choose_by: expected the name of a metric on several machines, found a function";
        return Err(PyValueError::new_err(text));
    }
    let by = by.map(|measure| measure.metric);
    let convention: Convention = run.convention()?;
    let missing = run.missing()?;
    if !matches!(missing, Missing::Error | Missing::Zero) {
        return Err(raised(ordain::Error::Setting {
            name: "missing".into(),
            expected: "error or zero on several machines (fill gaps in the data before)".into(),
            found: run.missing_name().into(),
        }));
    }
    let filled = DataSet::fill(&mut set, missing, &[]);
    let all = set.all();
    let (train, valid) = all.split_at(valid_from.unwrap_or(all.len()).min(all.len()));
    let where_ = Whereabouts {
        cluster: Arc::new(Machines { pool }),
        shards: runs.into_iter().map(|(from, to)| from..to).collect(),
        weighted,
    };
    let (refit, seed) = (run.refit, run.seed);
    let (fitted, raise) = watched(py, run.threads, run.callback.as_ref(), |watch| {
        let valid = valid_from.is_some().then_some(valid);
        let training = Training { valid, by, convention, refit, seed, filled, ..Training::new(&set, train) };
        fit_shards(&method, &training, where_, watch)
    })?;
    Ok((Ranker { fitted }, raise))
}
