//! Rows on other machines: blocks of units, shards of a set that they make together, and fits that ask these.

mod fits;

use crate::data::{Named, Table, gaps, table};
use crate::input::{Ids, Rows, check_finite, columns, features, rank_set};
use crate::matches::problems;
use crate::model::{json, missing};
use crate::raised;
use crate::work::work;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use ordain::data::{
    Columns, DataSet, MatchReading, MatchSet, Place, Problem, RankReading, RankSet, Truth, read_matches, read_rank,
};
use ordain::matrix::{Features, Matrix};
use ordain::method::{Cluster, layouts as lay_out};
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

pub(crate) use fits::{fit_away, fit_problems_away};

/// Units of a task.
enum Set {
    Queries(RankSet),
    Problems(MatchSet),
}

/// The same question to a set of any task.
macro_rules! each {
    ($of:expr, $set:ident => $answer:expr) => {
        match $of {
            Set::Queries($set) => $answer,
            Set::Problems($set) => $answer,
        }
    };
}

/// Units as they came, in a file or in a part of a frame.
#[pyclass(frozen, module = "ordain._ordain")]
pub(crate) struct Block {
    set: Set,
}

/// The sizes of units, and hashes of their names.
type Outline<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u64>>);

/// All that a block of problems is.
type ProblemState<'py> = (Table<'py>, Bound<'py, PyBytes>, String);

/// All that a block of queries is: features, grades, sizes and names of queries, weights, columns, where rows stood, and names of documents.
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

/// A problem as it travels.
#[derive(Serialize, Deserialize)]
struct Packed {
    name: String,
    left: Vec<String>,
    right: Vec<String>,
    edges: Vec<(u32, u32)>,
    truth: Vec<u8>,
}

const TRUTHS: [Truth; 3] = [Truth::No, Truth::Yes, Truth::Unknown];

/// Problems as bytes, without the features of their edges.
fn pack(problems: &[Problem]) -> PyResult<Vec<u8>> {
    let one = |problem: &Problem| Packed {
        name: problem.name.clone(),
        left: problem.left.clone(),
        right: problem.right.clone(),
        edges: problem.edges.clone(),
        truth: problem.truth.iter().map(|&truth| truth as u8).collect(),
    };
    serde_json::to_vec(&problems.iter().map(one).collect::<Vec<_>>()).map_err(wrong)
}

/// The same, read back.
fn unpack(bytes: &[u8]) -> PyResult<Vec<Problem>> {
    let packed: Vec<Packed> = serde_json::from_slice(bytes).map_err(wrong)?;
    let truth = |code: u8| TRUTHS.get(usize::from(code)).copied().ok_or_else(|| wrong("no such truth"));
    let one = |packed: Packed| {
        let truth = packed.truth.into_iter().map(truth).collect::<PyResult<_>>()?;
        let Packed { name, left, right, edges, .. } = packed;
        Ok(Problem { name, left, right, edges, truth, places: None })
    };
    packed.into_iter().map(one).collect()
}

/// Dense rows that are shared with the shards that are made of them.
fn shared(features: Features) -> Features {
    match features {
        Features::Dense(matrix) => {
            let cols = matrix.cols();
            Features::Dense(Matrix::lent(Arc::new(matrix.into_values()), cols))
        }
        sparse => sparse,
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
    /// The units of a file: `kind` is "query" or "problem".
    #[staticmethod]
    fn read(
        py: Python<'_>,
        kind: &str,
        path: PathBuf,
        columns: Named,
        missing: &str,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Self> {
        let (missing, fill) = gaps(missing)?;
        let (roles, files) = (columns.roles()?, [vec![path]]);
        let mut set = work(py, threads, || match kind {
            "problem" => {
                let reading = MatchReading { missing, roles, ..MatchReading::default() };
                read_matches(&files, &reading).map(|(set, _)| Set::Problems(set))
            }
            _ => {
                let reading = RankReading { missing, roles, ..RankReading::default() };
                read_rank(&files, &reading).map(|(set, _)| Set::Queries(set))
            }
        })?;
        ordain::data::take_notes();
        each!(&mut set, set => {
            if let Some(fill) = fill {
                set.fill(fill, &[]);
            }
            let features = std::mem::replace(&mut set.features, Features::Dense(Matrix::new(vec![], 0)));
            set.features = shared(features);
        });
        Ok(Self { set })
    }

    /// The problems of edges.
    #[staticmethod]
    #[pyo3(signature = (x, names, y, problem, left, right, roles, missing_))]
    #[allow(clippy::too_many_arguments)]
    fn of_edges(
        x: Rows<'_>,
        names: Option<Vec<String>>,
        y: PyReadonlyArray1<'_, f64>,
        problem: Option<Ids<'_>>,
        left: Ids<'_>,
        right: Ids<'_>,
        roles: Named,
        missing_: &str,
    ) -> PyResult<Self> {
        let (features, _) = features(&x)?;
        let columns = Columns { roles: roles.roles()?, ..columns(names, features.cols()) };
        let missing = missing(missing_)?;
        check_finite(&features, &columns, missing)?;
        let mut set = problems(features, columns, &y, problem.as_ref(), &left, &right)?;
        set.fill(missing, &[]);
        Ok(Self { set: Set::Problems(set) })
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
        Ok(Self { set: Set::Queries(set) })
    }

    /// The names of columns and what others meant, in JSON.
    fn columns(&self) -> PyResult<String> {
        each!(&self.set, set => json(&set.columns))
    }

    /// The sizes of units, and hashes of their names.
    fn outline<'py>(&self, py: Python<'py>) -> Outline<'py> {
        let hash = |name: &str| {
            let mut hash = DefaultHasher::new(); // of fixed keys: the same on every machine
            name.hash(&mut hash);
            hash.finish()
        };
        each!(&self.set, set => {
            let sizes: Vec<i64> = (0..set.len()).map(|unit| set.span(unit).len() as i64).collect();
            let hashes: Vec<u64> = (0..set.len()).map(|unit| hash(&DataSet::name(set, unit))).collect();
            (sizes.into_pyarray(py), hashes.into_pyarray(py))
        })
    }

    /// The name of a unit.
    fn name(&self, unit: usize) -> String {
        each!(&self.set, set => DataSet::name(set, unit).into_owned())
    }

    /// Whether it says what is right, has weights, is sparse; bytes of its features.
    fn about(&self) -> (bool, bool, bool, usize) {
        let (told, weighted) = match &self.set {
            Set::Queries(set) => (set.graded, set.weights.is_some()),
            Set::Problems(_) => (true, false),
        };
        let (sparse, bytes) = match each!(&self.set, set => &set.features) {
            Features::Dense(m) => (false, 4 * m.values().len()),
            Features::Sparse(m) => (true, 8 * m.values().len() + 8 * m.rows()),
        };
        (told, weighted, sparse, bytes)
    }

    /// Its problems without features; nothing of queries.
    fn problems<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match &self.set {
            Set::Queries(_) => Ok(PyBytes::new(py, &[])),
            Set::Problems(set) => Ok(PyBytes::new(py, &pack(set.problems())?)),
        }
    }

    /// Some of its units.
    fn part(&self, from_: usize, to: usize) -> Self {
        let set = match &self.set {
            Set::Queries(set) => Set::Queries(set.part(from_..to)),
            Set::Problems(set) => Set::Problems(set.part(from_..to)),
        };
        Self { set }
    }

    /// Units of blocks one behind the other, each with the number of the first row of its block; columns as a plan has them.
    #[staticmethod]
    fn stacked(fragments: Vec<(PyRef<'_, Block>, usize)>, plan: &str) -> PyResult<Self> {
        let Plan { columns, .. } = serde_json::from_str(plan).map_err(wrong)?;
        let (mut queries, mut problems) = (vec![], vec![]);
        for (block, row) in &fragments {
            match &block.set {
                Set::Queries(set) => queries.push((aligned(set, &columns)?, *row)),
                Set::Problems(set) => problems.push(aligned(set, &columns)?),
            }
        }
        let mut set = match problems.is_empty() {
            true => Set::Queries(RankSet::stacked(&queries, &columns)),
            false => Set::Problems(MatchSet::stacked(&problems, &columns)),
        };
        each!(&mut set, set => {
            let features = std::mem::replace(&mut set.features, Features::Dense(Matrix::new(vec![], 0)));
            set.features = shared(features);
        });
        Ok(Self { set })
    }

    /// All that problems are: features, the problems, and columns.
    fn problem_state<'py>(&self, py: Python<'py>) -> PyResult<Option<ProblemState<'py>>> {
        let Set::Problems(set) = &self.set else { return Ok(None) };
        Ok(Some((table(py, set.features.clone(), true)?, self.problems(py)?, json(&set.columns)?)))
    }

    /// A block of problems that was elsewhere.
    #[staticmethod]
    fn of_problem_state(x: Rows<'_>, problems: &[u8], columns: &str) -> PyResult<Self> {
        let (features, _) = features(&x)?;
        let columns: Columns = serde_json::from_str(columns).map_err(wrong)?;
        let set = MatchSet::new(features, columns, unpack(problems)?).map_err(raised)?;
        Ok(Self { set: Set::Problems(set) })
    }

    /// All that queries are.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Option<State<'py>>> {
        let Set::Queries(set) = &self.set else { return Ok(None) };
        let sizes: Vec<i64> = set.sizes().map(|n| n as i64).collect();
        let input = (0..set.rows()).map(|row| set.input_row(row) as u32).collect();
        Ok(Some((
            table(py, set.features.clone(), true)?,
            set.grades.clone().into_pyarray(py),
            sizes.into_pyarray(py),
            (0..set.len()).map(|q| set.query(q).to_owned()).collect(),
            set.weights.clone().map(|weights| weights.into_pyarray(py)),
            json(&set.columns)?,
            input,
            set.has_documents().then(|| (0..set.rows()).map(|row| set.document(row).into_owned()).collect()),
        )))
    }

    /// A block of queries that was elsewhere.
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
        Ok(Self { set: Set::Queries(set.from_input(input)) })
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
    held: Held,
}

enum Held {
    Queries(ordain::method::Shard),
    Problems(ordain::method::ProblemShard),
}

/// A set with its columns in this order.
fn aligned<S: DataSet>(set: &S, columns: &Columns) -> PyResult<S> {
    let mut set = set.clone();
    set.align(columns).map_err(raised)?;
    Ok(set)
}

#[pymethods]
impl Shard {
    /// What a plan makes of a block, and of the piece that it shares with others.
    #[new]
    #[pyo3(signature = (block, joint, plan))]
    fn new(block: &Block, joint: Option<PyRef<'_, Block>>, plan: &str) -> PyResult<Self> {
        let Plan { place, whole, joint: shared, columns }: Plan = serde_json::from_str(plan).map_err(wrong)?;
        let piece = shared.zip(joint).map(|((place, piece), joint)| (place, piece..piece + 1, joint));
        let held = match &block.set {
            Set::Queries(set) => {
                let mut parts = vec![(aligned(set, &columns)?, place, whole)];
                if let Some((place, run, joint)) = piece {
                    let Set::Queries(own) = &joint.set else { return Err(wrong("problems among queries")) };
                    parts.push((own.clone(), place, run));
                }
                Held::Queries(ordain::method::Shard::new(parts))
            }
            Set::Problems(set) => {
                let mut parts = vec![(aligned(set, &columns)?, place, whole)];
                if let Some((place, run, joint)) = piece {
                    let Set::Problems(own) = &joint.set else { return Err(wrong("queries among problems")) };
                    parts.push((own.clone(), place, run));
                }
                Held::Problems(ordain::method::ProblemShard::new(parts))
            }
        };
        Ok(Self { held })
    }

    /// The same shard with its columns transformed.
    fn transformed(&self, py: Python<'_>, by: &[u8], threads: Option<NonZeroUsize>) -> PyResult<Self> {
        let held = work(py, threads, || match &self.held {
            Held::Queries(shard) => shard.transformed(by).map(Held::Queries),
            Held::Problems(shard) => shard.transformed(by).map(Held::Problems),
        })?;
        Ok(Self { held })
    }

    /// Answers a question.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        common: &[u8],
        own: &[u8],
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let said = work(py, threads, || match &self.held {
            Held::Queries(shard) => shard.answer(common, own),
            Held::Problems(shard) => shard.answer(common, own),
        })?;
        Ok(PyBytes::new(py, &said))
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
