//! The computational core on its own: assignments, sums over matchings and samples of them, head places.

use crate::raised;
use crate::work::stoppable;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use ordain::Interrupt;
use ordain::random::Random;
use ordain::structure::matching::assignment::{self, Work};
use ordain::structure::matching::graph::Graph;
use ordain::structure::matching::samples::Samples;
use ordain::structure::matching::{Accuracy, Engine, best, chain, engine, huber_law, places, subsets};
use ordain::structure::quadratic::{self, Bound as LowerBound, Limit, Problem};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::RefCell;

/// From this many costs on, the interpreter lock is let go; below, that costs more than it is worth.
const LARGE: usize = 2500;
/// Work of fewer steps than this, and sums over so few items, are over before a thread of their own would have begun.
pub(crate) const SHORT: usize = 1 << 20;
const FEW: usize = 10;
/// The largest cost in size.
const LARGEST: f64 = 1e300;
/// The largest score or log-weight in size: beyond, a double does not hold differences of 1, which probabilities are about.
pub(crate) const STEEPEST: f64 = 1e15;

thread_local! {
    /// Scratch for small problems, where to allocate it costs as much as to solve them.
    static WORK: RefCell<Work> = RefCell::default();
}

/// The pairs of an assignment by row, and the prices of rows and columns.
struct Pairs {
    rows: Vec<i64>,
    cols: Vec<i64>,
    row_dual: Vec<f64>,
    column_dual: Vec<f64>,
}

/// The cheapest one-to-one matching of rows to columns, as scipy.optimize.linear_sum_assignment returns it.
///
/// Returns `(rows, cols)`, int64 arrays of the matched pairs with ascending rows: all rows of a matrix with no more rows
/// than columns, otherwise all columns. With `duals=True` it returns `(rows, cols, u, v)`: prices of rows and columns with
/// `u[i] + v[j] <= cost[i, j]` everywhere and equality on matched pairs, so that `cost[rows, cols].sum() == u.sum() +
/// v.sum()`; whoever is left over has price 0.
///
/// `inf` forbids a pair. With `maximize=True` the dearest matching is found, `-inf` forbids, and the prices are such that
/// `u[i] + v[j] >= cost[i, j]`. Costs are numbers of any type, at most 1e300 in size; float64 in rows is read without a
/// copy. NaN, whole numbers that float64 does not hold (some beyond 2**53), or forbidden pairs that leave no matching raise
/// ValueError.
///
/// Costs O(n² m) at worst with n the lesser side, and next to no memory beside the matrix (a copy of it where it has more
/// rows than columns, or is to be maximised).
#[pyfunction]
#[pyo3(signature = (cost, *, maximize=false, duals=false))]
pub(crate) fn linear_assignment<'py>(
    py: Python<'py>,
    cost: &Bound<'py, PyAny>,
    maximize: bool,
    duals: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let cost = matrix(cost)?;
    let (n, m) = (cost.shape()[0], cost.shape()[1]);
    let given = cost.as_slice()?;
    let solve = |work: &mut Work| {
        if maximize {
            let turned: Vec<f64> = given.iter().map(|x| -x).collect();
            pairs(&turned, n, m, duals, work)
        } else {
            pairs(given, n, m, duals, work)
        }
    };
    let wrong = |error| misfit(given, m, maximize).unwrap_or_else(|| raised(error));
    let mut found = if given.len() < LARGE {
        WORK.with_borrow_mut(solve).map_err(wrong)?
    } else {
        // what is wrong with the costs is named by their place in the array that was given
        stoppable(py, false, |stop| match solve(&mut Work::default().stopped_by(stop)) {
            Err(ordain::Error::Interrupted) => Err(ordain::Error::Interrupted),
            other => Ok(other),
        })?
        .map_err(wrong)?
    };
    let (rows, cols) = (PyArray1::from_slice(py, &found.rows), PyArray1::from_slice(py, &found.cols));
    if !duals {
        return (rows, cols).into_pyobject(py);
    }
    if maximize {
        found.row_dual.iter_mut().chain(&mut found.column_dual).for_each(|price| *price = 0.0 - *price);
    }
    (rows, cols, found.row_dual.into_pyarray(py), found.column_dual.into_pyarray(py)).into_pyobject(py)
}

fn pairs(costs: &[f64], n: usize, m: usize, duals: bool, work: &mut Work) -> ordain::Result<Pairs> {
    let found = assignment::solve(costs, n, m, work)?;
    let (mut rows, mut cols) = (Vec::with_capacity(n.min(m)), Vec::with_capacity(n.min(m)));
    for (i, column) in (0i64..).zip(found.column_of) {
        if let Some(j) = column {
            rows.push(i);
            cols.push(i64::from(*j));
        }
    }
    let [row_dual, column_dual] =
        [found.row_dual, found.column_dual].map(|of| if duals { of.to_vec() } else { vec![] });
    Ok(Pairs { rows, cols, row_dual, column_dual })
}

/// What is wrong with a cost, by its place.
fn misfit(costs: &[f64], cols: usize, maximize: bool) -> Option<PyErr> {
    let forbids = if maximize { f64::NEG_INFINITY } else { f64::INFINITY };
    let right = |x: f64| x.abs() <= LARGEST || x.partial_cmp(&forbids) == Some(std::cmp::Ordering::Equal);
    let at = costs.iter().position(|&x| !right(x))?;
    Some(PyValueError::new_err(format!(
        "cost[{}, {}]: expected a number of at most {LARGEST:e} in size, or {forbids} for a pair that is forbidden, found {}",
        at / cols,
        at % cols,
        costs[at]
    )))
}

/// A matrix of numbers as float64 in rows, without a copy where it is that already.
fn matrix<'py>(value: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray2<'py, f64>> {
    if let Ok(array) = value.cast::<PyArray2<f64>>()
        && array.is_c_contiguous()
        && (array.data() as usize).is_multiple_of(align_of::<f64>())
    {
        return Ok(array.try_readonly()?);
    }
    let array = value.py().import("numpy")?.call_method1("asarray", (value,))?;
    let (kind, ndim): (String, usize) =
        (array.getattr("dtype")?.getattr("kind")?.extract()?, array.getattr("ndim")?.extract()?);
    if ndim != 2 || !"fiub".contains(&kind) {
        return Err(PyValueError::new_err(format!(
            "expected a matrix (2-D array) of numbers, found an array of shape {} and type {}",
            array.getattr("shape")?,
            array.getattr("dtype")?
        )));
    }
    match kind.as_str() {
        "i" => check_held(&array, "int64", |x: i64| x as f64 as i128 == i128::from(x))?,
        "u" => check_held(&array, "uint64", |x: u64| x as f64 as i128 == i128::from(x))?,
        _ => {}
    }
    let array = array.call_method1("astype", ("float64", "C"))?;
    Ok(array.cast_into::<PyArray2<f64>>()?.try_readonly()?)
}

/// Refuses whole numbers that a double does not hold: the matching of others than those that were given need not be the best.
fn check_held<T: numpy::Element + Copy + std::fmt::Display>(
    array: &Bound<'_, PyAny>,
    wide: &str,
    held: impl Fn(T) -> bool,
) -> PyResult<()> {
    if array.getattr("dtype")?.getattr("itemsize")?.extract::<usize>()? < 8 {
        return Ok(());
    }
    let array = array.call_method1("astype", (wide, "C"))?.cast_into::<PyArray2<T>>()?.try_readonly()?;
    let (cols, values) = (array.shape()[1], array.as_slice()?);
    match values.iter().position(|&x| !held(x)) {
        None => Ok(()),
        Some(at) => Err(PyValueError::new_err(format!(
            "cost[{}, {}]: expected a whole number that float64 holds (every one up to 2**53 in size), found {}; subtract \
             the same number from all costs, which changes no matching, or round with cost.astype(float)",
            at / cols,
            at % cols,
            values[at]
        ))),
    }
}

/// The law of matchings: the graph of the pairs that are allowed, their log-weights and those of items that stay alone.
struct Law {
    graph: Graph,
    scores: Vec<f64>,
}

/// Log-weights of left and of right items that stay alone.
type Nulls<'py> = Option<(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>)>;

fn law(weights: &PyReadonlyArray2<'_, f64>, null: &Nulls<'_>) -> PyResult<Law> {
    let (n, m, w) = (weights.shape()[0], weights.shape()[1], weights.as_slice()?);
    let (mut edges, mut scores) = (Vec::with_capacity(w.len()), Vec::with_capacity(w.len()));
    for (at, &x) in w.iter().enumerate() {
        if x.abs() <= STEEPEST {
            edges.push(((at / m) as u32, (at % m) as u32));
            scores.push(x);
        } else if x.is_nan() || x > 0.0 || x > f64::NEG_INFINITY {
            return Err(PyValueError::new_err(format!(
                "log_weights[{}, {}]: expected a number of at most {STEEPEST:e} in size, or -inf for a pair that is forbidden, found {x}",
                at / m,
                at % m
            )));
        }
    }
    if let Some((left, right)) = null {
        for (side, values, items) in [("rows", left, n), ("columns", right, m)] {
            let values = values.as_slice()?;
            if values.len() != items || !values.iter().all(|x| x.abs() <= STEEPEST) {
                return Err(PyValueError::new_err(format!(
                    "null: expected {items} finite numbers for {side} that stay unmatched, found {values:?}"
                )));
            }
            scores.extend_from_slice(values);
        }
    }
    Ok(Law { graph: Graph::new(n, m, &edges, null.is_some()).map_err(raised)?, scores })
}

/// An error of the library in which a setting of methods has its name in this module.
fn reworded(error: ordain::Error) -> ordain::Error {
    match error {
        ordain::Error::Data { expected, found } => {
            ordain::Error::Data { expected: expected.replace("marginals=auto", "method=\"auto\""), found }
        }
        other => other,
    }
}

/// `log Z`, the marginals of pairs, how near they are, by how much, and the engine.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn permanent<'py>(
    py: Python<'py>,
    weights: PyReadonlyArray2<'py, f64>,
    null: Nulls<'py>,
    method: &str,
    seed: u64,
) -> PyResult<(f64, Bound<'py, PyArray2<f64>>, &'static str, Option<f64>, &'static str)> {
    let Some(by) = Engine::ALL.iter().copied().find(|engine| engine.name() == method) else {
        return Err(raised(ordain::Error::unknown("method", method, Engine::ALL.iter().map(|engine| engine.name()))));
    };
    let Law { graph, scores } = law(&weights, &null)?;
    let (sum, table) = stoppable(py, graph.lesser() <= FEW, |stop| {
        let mut table = vec![0.0; graph.table()];
        // who asks for the exact sum gets it as far as it goes
        let work = if by == Engine::Exact { engine::Work::on_request() } else { engine::Work::default() };
        let mut work = work.stopped_by(stop);
        let sum = engine::log_sum(by, &graph, &scores, seed, &mut work, &mut table).map_err(reworded)?;
        Ok((sum, table))
    })?;
    let (n, m) = (graph.left(), graph.right());
    let marginals = if graph.is_complete() {
        let mut table = table;
        table.truncate(n * m);
        table
    } else {
        let mut all = vec![0.0; n * m];
        for (e, &p) in table[..graph.edges()].iter().enumerate() {
            let (i, j) = graph.ends(e);
            all[i * m + j] = p;
        }
        all
    };
    let (how, error) = match sum.accuracy {
        Accuracy::Exact => ("exact", Some(0.0)),
        Accuracy::Certified(error) => ("certified", Some(error)),
        Accuracy::Estimated(error) => ("estimated", Some(error)),
        Accuracy::Seen(error) => ("approximate", Some(error)),
        Accuracy::Approximate => ("approximate", None),
    };
    Ok((sum.log_z, marginals.into_pyarray(py).reshape([n, m])?, how, error, sum.by.name()))
}

/// The column of each row in each sample, -1 where it has none.
#[pyfunction]
pub(crate) fn sample_matchings<'py>(
    py: Python<'py>,
    weights: PyReadonlyArray2<'py, f64>,
    count: usize,
    null: Nulls<'py>,
    method: &str,
    seed: u64,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let Law { graph, scores } = law(&weights, &null)?;
    let (n, m) = (graph.left(), graph.right());
    let room = count.checked_mul(n).is_some_and(|len| Vec::<i64>::new().try_reserve_exact(len).is_ok());
    if !room {
        return Err(PyMemoryError::new_err(format!("no memory for {count} samples of {n} rows")));
    }
    let size = if graph.null() { n + m } else { n.max(m) };
    let sum = !graph.null() && size <= subsets::LARGEST;
    let samples = stoppable(py, false, |stop| match method {
        "auto" if sum => from_sum(&graph, &scores, count, seed, stop),
        "exact" if sum => from_sum(&graph, &scores, count, seed, stop),
        "auto" | "deepar" => rejected(&graph, &scores, count, seed, size.min(huber_law::LARGEST_HEAD), stop),
        "huber-law" => rejected(&graph, &scores, count, seed, 0, stop),
        "chain" => chained(&graph, &scores, count, seed, stop),
        "exact" => Err(ordain::Error::Data {
            expected: format!("at most {} items a side and no null for samples from the exact sum", subsets::LARGEST),
            found: if graph.null() { "null".into() } else { format!("{size} items") },
        }),
        _ => Err(ordain::Error::unknown("method", method, ["auto", "exact", "deepar", "huber-law", "chain"])),
    });
    samples?.into_pyarray(py).reshape([count, n])
}

/// Independent samples from the sum over subsets; the lesser side is filled up by items that cost nothing.
fn from_sum(graph: &Graph, scores: &[f64], count: usize, seed: u64, stop: Interrupt) -> ordain::Result<Vec<i64>> {
    let (n, m) = (graph.left(), graph.right());
    let size = n.max(m);
    let mut square = vec![f64::NEG_INFINITY; size * size];
    (0..n).for_each(|i| square[i * size + m..(i + 1) * size].fill(0.0));
    square[n * size..].fill(0.0);
    for (e, &score) in scores.iter().enumerate() {
        let (i, j) = graph.ends(e);
        square[i * size + j] = score;
    }
    let sampler = match subsets::Sampler::new(&square, size, subsets::Work::default().stopped_by(stop.clone())) {
        // the names of rows are those of the square
        Err(ordain::Error::Infeasible { .. }) if n != m => {
            best::best(graph, scores, &mut best::Work::default())?;
            return Err(ordain::Error::NotFinite { what: "the sum over all matchings" });
        }
        other => other?,
    };
    let (mut random, mut columns) = (Random::new(seed), vec![0; size]);
    let mut out = Vec::with_capacity(count * n);
    for _ in 0..count {
        stop.check()?;
        sampler.draw(&mut random, &mut columns);
        out.extend(columns[..n].iter().map(|&j| if (j as usize) < m { i64::from(j) } else { -1 }));
    }
    Ok(out)
}

/// Independent samples by rejection.
fn rejected(
    graph: &Graph,
    scores: &[f64],
    count: usize,
    seed: u64,
    head: usize,
    stop: Interrupt,
) -> ordain::Result<Vec<i64>> {
    let settings = huber_law::Settings { head, cap: 1_000_000usize.saturating_add(count.saturating_mul(1000)) };
    let (mut work, mut samples) = (huber_law::Work::default().stopped_by(stop), Samples::default());
    let drawn = huber_law::draw(graph, scores, count, &settings, &mut Random::new(seed), &mut work, &mut samples)?;
    if drawn.accepted < count {
        return Err(ordain::Error::Data {
            expected: "weights that are flat enough for exact samples; method=\"chain\" draws from a Markov chain"
                .into(),
            found: format!("{} samples in {} trials", drawn.accepted, drawn.trials),
        });
    }
    Ok(columns_of(graph, &samples))
}

/// Samples of a Markov chain.
fn chained(graph: &Graph, scores: &[f64], count: usize, seed: u64, stop: Interrupt) -> ordain::Result<Vec<i64>> {
    let start = best::best(graph, scores, &mut best::Work::default().stopped_by(stop.clone()))?.edges.to_vec();
    let (settings, mut random) = (chain::Settings::of(graph), Random::new(seed));
    let (mut work, mut samples) = (chain::Work::default().stopped_by(stop), Samples::default());
    chain::draw(graph, scores, &start, count, &settings, &mut random, &mut work, &mut samples)?;
    Ok(columns_of(graph, &samples))
}

fn columns_of(graph: &Graph, samples: &Samples) -> Vec<i64> {
    let n = graph.left();
    let mut out = vec![-1; samples.len() * n];
    for (k, matching) in samples.iter().enumerate() {
        for &e in matching {
            let (i, j) = graph.ends(e as usize);
            out[k * n + i] = j as i64;
        }
    }
    out
}

/// `log Z`, the probability of each item at each head place, and of standing in the head.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn top_k_marginals<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray1<'py, f64>,
    k: usize,
    discounts: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<(f64, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>)> {
    let s = scores.as_slice()?;
    check_finite("scores", s)?;
    if k > places::MOST {
        return Err(PyValueError::new_err(format!("k: expected at most {}, found {k}", places::MOST)));
    }
    let c = match &discounts {
        Some(given) => given.as_slice()?.to_vec(),
        None => (1..=k).map(|place| 1.0 / (1.0 + place as f64).log2()).collect(),
    };
    if c.len() != k || !c.iter().all(|&c| (0.0..=STEEPEST).contains(&c)) || !c.is_sorted_by(|a, b| a >= b) {
        return Err(PyValueError::new_err(format!(
            "discounts: expected {k} numbers from 0, none above the one before it, found {c:?}"
        )));
    }
    let (n, heads) = (s.len(), k.min(s.len()));
    let (log_z, table) = stoppable(py, (n * heads) << heads < SHORT, |stop| {
        let mut table = vec![0.0; n * heads];
        let log_z = places::log_sum(s, &c, &mut places::Work::default().stopped_by(stop), &mut table)?;
        Ok((log_z, table))
    })?;
    if !log_z.is_finite() {
        return Err(PyValueError::new_err(
            "scores, discounts: expected lesser products of the two, found some beyond 1e300",
        ));
    }
    let first: Vec<f64> =
        if heads == 0 { vec![0.0; n] } else { table.chunks(heads).map(|row| row.iter().sum()).collect() };
    let mut all = table;
    if heads < k {
        // places that nobody stands at
        let mut wide = vec![0.0; n * k];
        all.iter().enumerate().for_each(|(at, p)| wide[at / heads * k + at % heads] = *p);
        all = wide;
    }
    Ok((log_z, all.into_pyarray(py).reshape([n, k])?, first.into_pyarray(py)))
}

pub(crate) fn check_finite(what: &str, values: &[f64]) -> PyResult<()> {
    match values.iter().position(|x| x.is_nan() || x.abs() > STEEPEST) {
        Some(at) => Err(PyValueError::new_err(format!(
            "{what}[{at}]: expected a number of at most {STEEPEST:e} in size, found {}",
            values[at]
        ))),
        None => Ok(()),
    }
}

/// Places of items, value, bound, whether it is proven, and steps of a search for the least value.
#[pyfunction]
#[allow(clippy::type_complexity, clippy::too_many_arguments)]
pub(crate) fn quadratic_assignment<'py>(
    py: Python<'py>,
    a: PyReadonlyArray2<'py, f64>,
    b: PyReadonlyArray2<'py, f64>,
    linear: Option<PyReadonlyArray2<'py, f64>>,
    seconds: f64,
    steps: Option<u64>,
    seed: u64,
    bound: &str,
) -> PyResult<(Bound<'py, PyArray1<i64>>, f64, f64, bool, u64)> {
    let Some(&by) = LowerBound::ALL.iter().find(|by| by.name() == bound) else {
        return Err(raised(ordain::Error::unknown("bound", bound, LowerBound::ALL.iter().map(|by| by.name()))));
    };
    let limit = steps.map_or(Limit::Seconds(seconds), Limit::Steps);
    let settings = quadratic::Settings { limit, bound: by, seed };
    let n = a.shape()[0];
    let (a, b) = (a.as_slice()?, b.as_slice()?);
    let linear = linear.as_ref().map(|linear| linear.as_slice()).transpose()?;
    let found = stoppable(py, n < FEW, |stop| quadratic::solve(&Problem::new(n, a, b, linear)?, &settings, stop))?;
    let places: Vec<i64> = found.places.iter().map(|&place| i64::from(place)).collect();
    Ok((places.into_pyarray(py), found.value, found.bound, found.proven, found.steps))
}
