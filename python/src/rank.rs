//! Rankers.

use crate::input::{Ids, Rows, asked, check_finite, learned, rank_set};
use crate::model::{By, Gone, Run, Worth, drift, lines, model_methods, of_task, worth};
use crate::raised;
use crate::work::work;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use ordain::answer::{Answers, Want, ruled_lists};
use ordain::data::scale::Scale;
use ordain::data::{Clicks, Missing, RankSet, Rules};
use ordain::method::{AnyMethod, Rank};
use ordain::task::{Fitted, Model, Ready};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Rules for what is shown.
#[pyclass(frozen, module = "ordain._ordain")]
pub(crate) struct RuleBook {
    rules: Rules,
}

#[pymethods]
impl RuleBook {
    /// Rules of a JSON document.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self { rules: Rules::from_json(text).map_err(raised)? })
    }

    /// Rules of a file.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        Ok(Self { rules: Rules::read(&path).map_err(raised)? })
    }

    /// The columns that caps go by.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.rules.columns().into_iter().map(str::to_owned).collect()
    }
}

/// A fitted ranker.
#[pyclass(frozen, module = "ordain._ordain")]
pub(crate) struct Ranker {
    pub(crate) fitted: Fitted<Rank>,
}

/// Column, both values, the difference after scaling, the weight and their product.
type Reason = (usize, f32, f32, f64, f64, f64);

/// Fits a ranker; the rows from `valid_from` on are for validation.
#[pyfunction]
#[pyo3(signature = (name, settings, x, names, y, qid, weight, valid_from, run, items = None, links = None, start = None, judged = None, init = None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_rank(
    py: Python<'_>,
    name: &str,
    settings: Vec<(String, String)>,
    x: Rows<'_>,
    names: Option<Vec<String>>,
    y: Option<PyReadonlyArray1<'_, f64>>,
    qid: Option<Ids<'_>>,
    weight: Option<PyReadonlyArray1<'_, f64>>,
    valid_from: Option<usize>,
    run: Run<'_>,
    items: Option<Ids<'_>>,
    links: Option<Links<'_>>,
    start: Option<PyReadonlyArray1<'_, f64>>,
    judged: Option<Judged<'_>>,
    init: Option<PyRef<'_, Ranker>>,
) -> PyResult<(Ranker, Option<PyErr>)> {
    let own = |any| if let AnyMethod::Rank(method) = any { Some(method) } else { None };
    let asked = of_task::<Rank>(name, &settings, "ranking method", own)?;
    let (features, columns) = learned(&x, names, &run)?;
    let rows = features.rows();
    let (mut set, first) = rank_set(features, columns, y.as_ref(), qid.as_ref(), valid_from.unwrap_or(rows))?;
    if let Some(items) = &items {
        set = set.with_documents(&words(items)?).map_err(raised)?;
    }
    if let Some(links) = links {
        set = links.of(set)?;
    }
    if let Some(start) = start {
        set = set.with_start(start.as_slice()?).map_err(raised)?;
    }
    if let Some(weight) = weight {
        let given = weight.as_slice()?;
        set.weights = Some((0..rows).map(|row| given[set.input_row(row)]).collect());
    }
    if let Some(judged) = judged {
        set = judged.of(set)?;
    }
    let init = init.as_ref().map(|model| &model.fitted);
    let (fitted, raise) = run.fit::<Rank>(py, &asked, set, first, valid_from.is_some(), init)?;
    Ok((Ranker { fitted }, raise))
}

/// Preferences in place of grades: by query, winner and loser, or by two rows (from 0) where there is no query; or clicks, with the position of
/// each row.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Judged<'py> {
    query: Option<Ids<'py>>,
    winner: Option<Ids<'py>>,
    loser: Option<Ids<'py>>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    clicks: Option<String>,
    positions: Option<Vec<u32>>,
}

impl Judged<'_> {
    /// A set with them.
    fn of(&self, set: RankSet) -> PyResult<RankSet> {
        if let (Some(clicks), Some(positions)) = (&self.clicks, &self.positions) {
            let how: Clicks = clicks.parse().map_err(raised)?;
            return set.with_clicks(positions, &how).map_err(raised);
        }
        let (Some(winner), Some(loser), Some(weight)) = (&self.winner, &self.loser, &self.weight) else {
            return Ok(set);
        };
        let weight = weight.as_slice()?;
        if let Some(query) = &self.query {
            let (query, winner, loser) = (words(query)?, words(winner)?, words(loser)?);
            let pairs: Vec<(String, String, String)> =
                query.into_iter().zip(winner).zip(loser).map(|((query, a), b)| (query, a, b)).collect();
            return set.with_named_preferences(&pairs, weight).map_err(raised);
        }
        let pairs = numbers(winner)?.into_iter().zip(numbers(loser)?).zip(weight);
        let pairs: Vec<(usize, usize, f64)> = pairs.map(|((a, b), &weight)| (a, b, weight)).collect();
        set.with_preferences(&pairs).map_err(raised)
    }
}

/// Ids that are numbers of rows.
fn numbers(ids: &Ids<'_>) -> PyResult<Vec<usize>> {
    let Ids::Numbers(ids) = ids else { return Ok(vec![]) };
    Ok(ids.as_slice()?.iter().map(|&row| usize::try_from(row).unwrap_or(usize::MAX)).collect())
}

/// Ids as text.
fn words(ids: &Ids<'_>) -> PyResult<Vec<String>> {
    Ok(match ids {
        Ids::Numbers(ids) => ids.as_slice()?.iter().map(ToString::to_string).collect(),
        Ids::Words(ids) => ids.clone(),
    })
}

/// Features of pairs of documents: by query and document, or by two rows (from 0) where there is no query.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Links<'py> {
    names: Vec<String>,
    query: Option<Ids<'py>>,
    a: Ids<'py>,
    b: Ids<'py>,
    values: PyReadonlyArray2<'py, f64>,
}

impl Links<'_> {
    /// A set with them.
    fn of(&self, set: RankSet) -> PyResult<RankSet> {
        let (names, values) = (self.names.clone(), self.values.as_slice()?);
        if let Some(query) = &self.query {
            let (query, a, b) = (words(query)?, words(&self.a)?, words(&self.b)?);
            let pairs: Vec<(String, String, String)> =
                query.into_iter().zip(a).zip(b).map(|((query, a), b)| (query, a, b)).collect();
            return set.with_named_pairs(names, &pairs, values).map_err(raised);
        }
        let pairs: Vec<(usize, usize)> = numbers(&self.a)?.into_iter().zip(numbers(&self.b)?).collect();
        set.with_pairs(names, &pairs, values).map_err(raised)
    }
}

/// What is known of rows beside their features: the item of each, its place in its query (from 1; 0 where it is not known), features
/// of pairs, and the score that each starts from.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Known<'py> {
    items: Option<Ids<'py>>,
    pins: Option<Vec<usize>>,
    links: Option<Links<'py>>,
    start: Option<PyReadonlyArray1<'py, f64>>,
}

/// Whether all scores are finite, on all threads.
fn all_finite(scores: &[f64]) -> bool {
    scores.par_chunks(1 << 14).all(|part| part.iter().fold(true, |fine, s| fine & s.is_finite()))
}

impl Ranker {
    /// Data as the model wants them, looked at for values that are not finite.
    fn ready(
        &self,
        x: &Rows<'_>,
        names: Option<Vec<String>>,
        qid: Option<&Ids<'_>>,
        known: Option<&Known<'_>>,
        grades: Option<&PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Ready<'static, Rank>> {
        let ranker = &self.fitted.model;
        let (features, columns) = asked(x, names, &ranker.inputs)?;
        check_finite(&features, &columns, ranker.inputs.missing)?;
        let rows = features.rows();
        let (mut set, _) = rank_set(features, columns, grades, qid, rows)?;
        if let Some(items) = known.and_then(|known| known.items.as_ref()) {
            set = set.with_documents(&words(items)?).map_err(raised)?;
        }
        if let Some(pins) = known.and_then(|known| known.pins.as_ref()) {
            for q in 0..set.len() {
                for row in set.span(q) {
                    match pins.get(set.input_row(row)) {
                        Some(&place) if place > 0 => set.pin_row(q, row, place).map_err(raised)?,
                        _ => {}
                    }
                }
            }
        }
        if let Some(links) = known.and_then(|known| known.links.as_ref()) {
            set = links.of(set)?;
        }
        if let Some(start) = known.and_then(|known| known.start.as_ref()) {
            set = set.with_start(start.as_slice()?).map_err(raised)?;
        }
        ranker.prepare_owned(set).map_err(raised)
    }
}

#[pymethods]
impl Ranker {
    /// The score of each row, in the order of the rows.
    #[pyo3(signature = (x, names, qid, threads, known = None))]
    fn scores<'py>(
        &self,
        py: Python<'py>,
        x: Rows<'py>,
        names: Option<Vec<String>>,
        qid: Option<Ids<'py>>,
        threads: Option<NonZeroUsize>,
        known: Option<Known<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let ranker = &self.fitted.model;
        // One pass over X where queries do not matter: a weighted sum is finite only where every value is.
        let started = known.as_ref().is_some_and(|known| known.start.is_some());
        if ranker.inputs.missing == Missing::Error && !started {
            let (features, columns) = asked(&x, names.clone(), &ranker.inputs)?;
            let made = (columns.cells.is_none() && columns.same(&ranker.inputs.columns))
                .then(|| work(py, threads, || Ok(ranker.row_scores(&features).filter(|scores| all_finite(scores)))));
            if let Some(scores) = made.transpose()?.flatten() {
                return Ok(scores.into_pyarray(py));
            }
        }
        let ready = self.ready(&x, names, qid.as_ref(), known.as_ref(), None)?;
        let scores = work(py, threads, || Ok(ready.set().in_input_order(ranker.scores(&ready)?)))?;
        Ok(scores.into_pyarray(py))
    }

    /// The probability of each head place, of standing in the head, and the expected rank, of each row.
    #[pyo3(signature = (x, names, qid, threads, known = None))]
    #[allow(clippy::type_complexity)]
    fn places<'py>(
        &self,
        py: Python<'py>,
        x: Rows<'py>,
        names: Option<Vec<String>>,
        qid: Option<Ids<'py>>,
        threads: Option<NonZeroUsize>,
        known: Option<Known<'py>>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let ranker = &self.fitted.model;
        let ready = self.ready(&x, names, qid.as_ref(), known.as_ref(), None)?;
        let (set, k) = (ready.set(), ranker.places.len());
        let (places, first, rank) = work(py, threads, || {
            let (mut places, mut first, mut rank) =
                (vec![0.0; set.rows() * k], vec![0.0; set.rows()], vec![0.0; set.rows()]);
            for (q, said) in ranker.predict(&ready, &set.all(), true)?.into_iter().enumerate() {
                for (row, of) in set.span(q).zip(said.places.unwrap_or_default()) {
                    let row = set.input_row(row);
                    places[row * k..row * k + of.places.len()].copy_from_slice(&of.places);
                    (first[row], rank[row]) = (of.first_k, of.expected_rank);
                }
            }
            Ok((places, first, rank))
        })?;
        let rows = first.len();
        Ok((places.into_pyarray(py).reshape([rows, k])?, first.into_pyarray(py), rank.into_pyarray(py)))
    }

    /// What each feature adds to the score of row `above` over row `below`, the largest first.
    #[pyo3(signature = (x, names, qid, above, below, known = None))]
    fn explain(
        &self,
        x: Rows<'_>,
        names: Option<Vec<String>>,
        qid: Option<Ids<'_>>,
        above: usize,
        below: usize,
        known: Option<Known<'_>>,
    ) -> PyResult<Vec<Reason>> {
        let ready = self.ready(&x, names, qid.as_ref(), known.as_ref(), None)?;
        let set = ready.set();
        let stored = |row: usize| (0..set.rows()).find(|&at| set.input_row(at) == row);
        let wrong = |expected: &str, found: String| raised(ordain::Error::Data { expected: expected.into(), found });
        let (Some(a), Some(b)) = (stored(above), stored(below)) else {
            return Err(wrong("two rows of X", format!("{above} and {below} of {}", set.rows())));
        };
        let q = (0..set.len()).find(|&q| set.span(q).contains(&a)).unwrap_or(0);
        if !set.span(q).contains(&b) {
            return Err(wrong(
                "two rows of one query",
                format!("{above} of query {:?} and {below} of another", set.query(q)),
            ));
        }
        let all = self.fitted.model.explain(&ready, q, a, b).map_err(raised)?;
        Ok(all.iter().map(|c| (c.column, c.above, c.below, c.difference, c.weight, c.contribution)).collect())
    }

    /// The answers of the command line, as JSON: the ranked list of each query.
    #[pyo3(signature = (x, names, qid, top, probabilities, threads, known = None))]
    #[allow(clippy::too_many_arguments)]
    fn answers(
        &self,
        py: Python<'_>,
        x: Rows<'_>,
        names: Option<Vec<String>>,
        qid: Option<Ids<'_>>,
        top: Option<usize>,
        probabilities: bool,
        threads: Option<NonZeroUsize>,
        known: Option<Known<'_>>,
    ) -> PyResult<Vec<String>> {
        let ready = self.ready(&x, names, qid.as_ref(), known.as_ref(), None)?;
        let want = Want { top, probabilities };
        lines(&work(py, threads, || Rank::predict(&self.fitted.model, &ready, &ready.set().all(), want))?)
    }

    /// The ranked list of each query under rules (as JSON, or in a file), as JSON; for each column of caps the value of each row.
    #[pyo3(signature = (x, names, qid, rules, values, top, threads, known = None))]
    #[allow(clippy::too_many_arguments)]
    fn ruled(
        &self,
        py: Python<'_>,
        x: Rows<'_>,
        names: Option<Vec<String>>,
        qid: Option<Ids<'_>>,
        rules: &RuleBook,
        values: Vec<Vec<String>>,
        top: Option<usize>,
        threads: Option<NonZeroUsize>,
        known: Option<Known<'_>>,
    ) -> PyResult<Vec<String>> {
        let ready = self.ready(&x, names, qid.as_ref(), known.as_ref(), None)?;
        let (want, model) = (Want { top, probabilities: false }, &self.fitted.model);
        let all = ready.set().all();
        lines(&work(py, threads, || ruled_lists(model, &ready, &all, want, (&rules.rules, &values)))?)
    }

    /// What each feature is worth by a metric: its name, the mean loss, and the ends of its interval.
    #[pyo3(signature = (x, names, qid, y, by, draws, threads, known = None))]
    #[allow(clippy::too_many_arguments)]
    fn importances(
        &self,
        py: Python<'_>,
        x: Rows<'_>,
        names: Option<Vec<String>>,
        qid: Option<Ids<'_>>,
        y: PyReadonlyArray1<'_, f64>,
        by: (By<'_>, String),
        draws: NonZeroUsize,
        threads: Option<NonZeroUsize>,
        known: Option<Known<'_>>,
    ) -> PyResult<Vec<Worth>> {
        let ready = self.ready(&x, names, qid.as_ref(), known.as_ref(), Some(&y))?;
        worth(py, &self.fitted.model, &ready, &by, draws, threads)
    }

    /// The columns in which rows have left what the model has seen, the farthest first.
    #[pyo3(signature = (x, names, qid, threads, known = None))]
    fn drift(
        &self,
        py: Python<'_>,
        x: Rows<'_>,
        names: Option<Vec<String>>,
        qid: Option<Ids<'_>>,
        threads: Option<NonZeroUsize>,
        known: Option<Known<'_>>,
    ) -> PyResult<Vec<Gone>> {
        let ready = self.ready(&x, names, qid.as_ref(), known.as_ref(), None)?;
        work(py, threads, || Ok(drift::<Rank>(&ready)))
    }

    /// Whether a score depends on the query that a document stands in.
    #[getter]
    fn by_query(&self) -> bool {
        let ranker = &self.fitted.model;
        let blocks =
            ranker.score.expansion().is_some_and(|expansion| expansion.parts.iter().any(|part| part.query.is_some()));
        blocks || ranker.quadratic.is_some() || matches!(ranker.inputs.scale, Scale::Query | Scale::Minmax)
    }

    /// The weights on scaled features; none with a kernel.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let ranker = &self.fitted.model;
        ranker.score.is_linear().then(|| PyArray1::from_slice(py, ranker.score.weights()))
    }

    /// What splits by each feature gain in all trees, as a share; none without trees.
    #[getter]
    fn gains<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.fitted.model.score.gains().map(|gains| PyArray1::from_vec(py, gains))
    }

    /// The weight of each feature of pairs, of models with links between documents.
    #[getter]
    fn pair_weights(&self) -> Option<Vec<(String, f64)>> {
        self.fitted.model.links()
    }

    /// What the head places are worth, of models with probabilities of places.
    #[getter]
    fn discounts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.fitted.model.places)
    }
}

model_methods!(Ranker);
