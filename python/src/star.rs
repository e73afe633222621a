//! Sets of labels and orders of items whose links all touch a small core.

use crate::raised;
use crate::structure::{SHORT, STEEPEST, check_finite};
use crate::work::stoppable;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use ordain::structure::ranking::{self, Design, Links, MOST_CORE, MOST_SUM, Problem, Sums, UNLIMITED};
use ordain::structure::star::sum::{StarSum, SumWork};
use ordain::structure::star::{Clamp, MaxWork, Star, Subsets};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

fn wrong(text: String) -> PyErr {
    PyValueError::new_err(text)
}

/// Items by their numbers, all of them there.
fn numbers(what: &str, given: &[i64], n: usize) -> PyResult<Vec<u32>> {
    let right = |&item: &i64| u32::try_from(item).ok().filter(|&item| (item as usize) < n);
    given
        .iter()
        .map(right)
        .collect::<Option<_>>()
        .ok_or_else(|| wrong(format!("{what}: expected numbers from 0 to {}, found {given:?}", n as i64 - 1)))
}

fn star(scores: &[f64], links: &PyReadonlyArray2<'_, f64>, core: &[i64]) -> PyResult<Star> {
    let n = scores.len();
    check_finite("scores", scores)?;
    if links.shape() != [core.len(), n] {
        return Err(wrong(format!(
            "links: expected the shape ({}, {n}), a row for each label of the core and a column for each label, found {:?}",
            core.len(),
            links.shape()
        )));
    }
    let labels: Option<Vec<u32>> = core.iter().map(|&label| u32::try_from(label).ok()).collect();
    let Some(labels) = labels.filter(|labels| labels.iter().all(|&label| (label as usize) < n)) else {
        return Err(wrong(format!("core: expected labels from 0 to {}, found {core:?}", n as i64 - 1)));
    };
    Star::new(n, &labels, links.as_slice()?).map_err(raised)
}

/// What is known of each label.
fn clamps(fixed: &[(i64, bool)], n: usize) -> PyResult<Vec<Clamp>> {
    let labels = numbers("fixed", &fixed.iter().map(|&(label, _)| label).collect::<Vec<_>>(), n)?;
    let mut clamp = vec![Clamp::Free; n];
    for (label, &(_, inside)) in labels.into_iter().zip(fixed) {
        clamp[label as usize] = if inside { Clamp::In } else { Clamp::Out };
    }
    Ok(clamp)
}

/// A set: its labels, ascending, and its value.
type Set<'py> = (Bound<'py, PyArray1<i64>>, f64);
/// The best set, the next best, and the values with each label forced in and forced out, where they are asked for.
type Best<'py> = (Set<'py>, Option<Set<'py>>, Option<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)>);

/// The best set of `k` labels, and more where it is asked for.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn star_argmax<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray1<'py, f64>,
    links: PyReadonlyArray2<'py, f64>,
    core: Vec<i64>,
    k: usize,
    fixed: Vec<(i64, bool)>,
    second: bool,
    forced: bool,
) -> PyResult<Best<'py>> {
    let scores = scores.as_slice()?;
    let star = star(scores, &links, &core)?;
    let clamp = clamps(&fixed, scores.len())?;
    let (best, next, forced) = py
        .detach(|| {
            let (over, mut work) = (Subsets { k, clamp: &clamp }, MaxWork::default());
            let (best, next) = if second {
                star.two_best(scores, &over, &mut work)?
            } else {
                let mut labels = vec![];
                let value = star.max(scores, &over, &mut work, &mut labels)?;
                (ordain::structure::star::Best { value, labels }, None)
            };
            let forced = if forced { Some(star.forced(scores, &over, &mut work)?) } else { None };
            Ok((best, next, forced))
        })
        .map_err(raised)?;
    let set = |best: ordain::structure::star::Best| {
        (best.labels.into_iter().map(i64::from).collect::<Vec<i64>>().into_pyarray(py), best.value)
    };
    let forced = forced.map(|forced| (forced.inside.into_pyarray(py), forced.outside.into_pyarray(py)));
    Ok((set(best), next.map(set), forced))
}

/// `log Z` and the probability of each label.
#[pyfunction]
pub(crate) fn star_marginals<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray1<'py, f64>,
    links: PyReadonlyArray2<'py, f64>,
    core: Vec<i64>,
    k: usize,
    fixed: Vec<(i64, bool)>,
) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
    let scores = scores.as_slice()?;
    let star = star(scores, &links, &core)?;
    let clamp = clamps(&fixed, scores.len())?;
    let (log_z, p) = stoppable(py, scores.len() << core.len().min(30) < SHORT, |stop| {
        let mut p = vec![0.0; scores.len()];
        let (sum, mut work) = (StarSum::new(&star)?, SumWork::default().stopped_by(stop));
        let log_z = sum.log_sum(scores, &Subsets { k, clamp: &clamp }, &mut work, &mut p, None)?;
        Ok((log_z, p))
    })?;
    Ok((log_z, p.into_pyarray(py)))
}

/// Scores, links, core, k (none for whole rankings), discounts, the name of a design, its matrix, extra terms, pins.
type Given<'py> = (
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray2<'py, f64>,
    Vec<i64>,
    Option<usize>,
    Option<PyReadonlyArray1<'py, f64>>,
    String,
    Option<PyReadonlyArray2<'py, f64>>,
    Option<PyReadonlyArray2<'py, f64>>,
    Vec<(i64, i64)>,
);

/// The score of orders, with all that it is made of.
struct Orders {
    scores: Vec<f64>,
    discounts: Vec<f64>,
    design: Design,
    links: Links,
    extra: Vec<f64>,
    pins: Vec<(u32, u32)>,
}

impl Orders {
    fn read(given: &Given<'_>) -> PyResult<Self> {
        let (scores, links, core, k, discounts, design, matrix, extra, fixed) = given;
        let scores = scores.as_slice()?.to_vec();
        check_finite("scores", &scores)?;
        let n = scores.len();
        if let Some(k) = k.filter(|&k| k > n) {
            return Err(wrong(format!("k: expected at most {n}, the number of items, found {k}")));
        }
        let classes = k.map_or(n.max(1), |k| k + 1);
        let discounts = read_discounts(discounts.as_ref(), *k, classes)?;
        let design = read_design(design, matrix.as_ref(), *k, classes, &discounts)?;
        let links = read_links(links, core, n)?;
        let extra = read_extra(extra.as_ref(), n, classes)?;
        let items = numbers("fixed", &fixed.iter().map(|&(item, _)| item).collect::<Vec<_>>(), n)?;
        let places = numbers("fixed places", &fixed.iter().map(|&(_, place)| place).collect::<Vec<_>>(), classes)?;
        Ok(Self { scores, discounts, design, links, extra, pins: items.into_iter().zip(places).collect() })
    }

    fn problem(&self) -> Problem<'_> {
        Problem {
            scores: &self.scores,
            discounts: &self.discounts,
            design: &self.design,
            links: &self.links,
            extra: &self.extra,
            pins: &self.pins,
        }
    }

    /// Whether so many orders are over before a thread would have begun.
    fn short(&self, each: usize) -> bool {
        let (n, k, c) = (self.scores.len(), self.design.classes(), self.links.core().len() as u32);
        k.checked_pow(c).and_then(|p| p.checked_mul(n * k * each)).is_some_and(|steps| steps < SHORT)
    }
}

/// Discounts of all classes; those of DCG where none are given, and 0 for a tail that has none.
fn read_discounts(given: Option<&PyReadonlyArray1<'_, f64>>, k: Option<usize>, classes: usize) -> PyResult<Vec<f64>> {
    let heads = k.unwrap_or(classes);
    let mut discounts = match given {
        Some(given) => given.as_slice()?.to_vec(),
        None => (1..=heads).map(|place| 1.0 / (1.0 + place as f64).log2()).collect(),
    };
    if k.is_some() && discounts.len() == heads {
        discounts.push(0.0);
    }
    if discounts.len() != classes {
        let tail = if k.is_some() { format!(", or {classes} with that of the tail") } else { String::new() };
        return Err(wrong(format!("discounts: expected {heads} numbers{tail}, found {}", discounts.len())));
    }
    check_finite("discounts", &discounts)?;
    Ok(discounts)
}

fn read_design(
    name: &str,
    matrix: Option<&PyReadonlyArray2<'_, f64>>,
    k: Option<usize>,
    classes: usize,
    discounts: &[f64],
) -> PyResult<Design> {
    if let Some(matrix) = matrix {
        if matrix.shape() != [classes, classes] {
            return Err(wrong(format!(
                "design: expected the shape ({classes}, {classes}), a row and a column for each place{}, found {:?}",
                if k.is_some() { " and for the tail" } else { "" },
                matrix.shape()
            )));
        }
        let table = matrix.as_slice()?;
        check_table("design", table, classes, None)?;
        return Design::matrix(classes, table.to_vec()).map_err(raised);
    }
    match (name, k) {
        ("distance", _) => Ok(Design::distance(classes)),
        ("product", _) => Design::product(discounts).map_err(raised),
        ("head", Some(k)) => Ok(Design::head(classes, k)),
        ("head", None) => Err(wrong("design: expected k with design=\"head\", found whole rankings (k=None)".into())),
        _ => Err(raised(ordain::Error::unknown("design", name, ["distance", "product", "head"]))),
    }
}

/// Links by a row for each core item, or the whole matrix of flows.
fn read_links(links: &PyReadonlyArray2<'_, f64>, core: &[i64], n: usize) -> PyResult<Links> {
    let items = numbers("core", core, n)?;
    if items.len() > MOST_CORE {
        return Err(wrong(format!("core: expected at most {MOST_CORE} items, found {}", items.len())));
    }
    let table = links.as_slice()?;
    check_table("links", table, links.shape()[1], None)?;
    if links.shape() == [items.len(), n] {
        return Links::new(n, &items, table).map_err(raised);
    }
    if links.shape() == [n, n] {
        return Links::of_flow(n, &items, table).map_err(raised);
    }
    Err(wrong(format!(
        "links: expected the shape ({}, {n}), a row for each item of the core, or ({n}, {n}), found {:?}",
        items.len(),
        links.shape()
    )))
}

fn read_extra(extra: Option<&PyReadonlyArray2<'_, f64>>, n: usize, classes: usize) -> PyResult<Vec<f64>> {
    let Some(extra) = extra else { return Ok(vec![]) };
    if extra.shape() != [n, classes] {
        return Err(wrong(format!(
            "extra: expected the shape ({n}, {classes}), a row for each item and a column for each place and the tail, found {:?}",
            extra.shape()
        )));
    }
    check_table("extra", extra.as_slice()?, classes, Some(f64::NEG_INFINITY))?;
    Ok(extra.as_slice()?.to_vec())
}

/// Refuses what is no number or too large, but for `allowed`.
fn check_table(what: &str, table: &[f64], columns: usize, allowed: Option<f64>) -> PyResult<()> {
    let right = |x: &f64| x.abs() <= STEEPEST || allowed.is_some_and(|allowed| x.total_cmp(&allowed).is_eq());
    match table.iter().position(|x| !right(x)) {
        Some(at) => Err(wrong(format!(
            "{what}[{}, {}]: expected a number of at most {STEEPEST:e} in size{}, found {}",
            at / columns,
            at % columns,
            if allowed.is_some() { ", or -inf for a place that is excluded" } else { "" },
            table[at]
        ))),
        None => Ok(()),
    }
}

/// The items of the head in order (all items of a whole ranking), the value and what no order exceeds.
#[pyfunction]
pub(crate) fn star_ranking<'py>(
    py: Python<'py>,
    given: Given<'py>,
    limit: Option<u64>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, f64, f64)> {
    let orders = Orders::read(&given)?;
    let head = given.3.unwrap_or(orders.scores.len());
    let (items, best) = stoppable(py, orders.short(1), |stop| {
        let problem = orders.problem();
        let (mut work, mut places) = (ranking::Work::default().stopped_by(stop), vec![]);
        let best = problem.best(limit.unwrap_or(UNLIMITED), &mut work, &mut places)?;
        Ok((ranking::order(&places), best))
    })?;
    let items: Vec<i64> = items.into_iter().take(head).map(i64::from).collect();
    Ok((items.into_pyarray(py), best.value, best.bound))
}

/// `log Z`, the probabilities of places, and the expectations of the design, item by core item.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn star_ranking_marginals<'py>(
    py: Python<'py>,
    given: Given<'py>,
) -> PyResult<(f64, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>)> {
    let orders = Orders::read(&given)?;
    let (n, classes, core) = (orders.scores.len(), orders.design.classes(), orders.links.core().len());
    if classes - 1 > MOST_SUM {
        let found = given.3.map_or_else(|| format!("whole rankings of {n} items"), |k| k.to_string());
        return Err(wrong(format!("k: expected at most {MOST_SUM} places for a sum over all orders, found {found}")));
    }
    let (log_z, sums) = stoppable(py, orders.short(1 << classes), |stop| {
        let mut sums = Sums::default();
        let log_z = orders.problem().log_sum(&mut ranking::Work::default().stopped_by(stop), &mut sums)?;
        Ok((log_z, sums))
    })?;
    let pairs: Vec<f64> = (0..n * core).map(|at| sums.pairs[at % core * n + at / core]).collect();
    let marginals = sums.marginals.into_pyarray(py).reshape([n, classes])?;
    Ok((log_z, marginals, pairs.into_pyarray(py).reshape([n, core])?))
}

/// The best value with each item at each place.
#[pyfunction]
pub(crate) fn star_ranking_forced<'py>(py: Python<'py>, given: Given<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let orders = Orders::read(&given)?;
    let (n, classes) = (orders.scores.len(), orders.design.classes());
    let values = stoppable(py, orders.short(1), |stop| {
        let mut values = vec![];
        orders.problem().forced(&mut ranking::Work::default().stopped_by(stop), &mut values)?;
        Ok(values)
    })?;
    values.into_pyarray(py).reshape([n, classes])
}
