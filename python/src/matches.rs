//! Matchers.

use crate::input::{Ids, Rows, asked, check_finite, learned};
use crate::model::{By, Gone, Run, Worth, drift, json, lines, model_methods, of_task, worth};
use crate::raised;
use crate::work::work;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use ordain::answer::{Answers, Want};
use ordain::data::{Clash, Clashing, Cloud, Columns, EdgeRows, MatchSet, PointFeature, Truth};
use ordain::matrix::Features;
use ordain::method::{AnyMethod, Match, MatchPrediction, Matched, Matcher as Model, Operating, Sums};
use ordain::metric::Convention;
use ordain::task::{Fitted, Model as _, Ready, Task};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::borrow::Cow;
use std::num::NonZeroUsize;

/// A fitted matcher.
#[pyclass(frozen, module = "ordain._ordain")]
pub(crate) struct Matcher {
    pub(crate) fitted: Fitted<Match>,
}

/// A table of edges: features, their names, and the problem, the left and the right item of each row.
type Table<'py> = (Rows<'py>, Option<Vec<String>>, Option<Ids<'py>>, Ids<'py>, Ids<'py>);

/// Column, both values, the difference after scaling, the weight and their product.
type Reason = (usize, f32, f32, f64, f64, f64);

/// How to answer where that is not what was fitted for: what is decided by, the least probability, and the precision to reach.
type How<'a> = (Option<&'a str>, Option<f64>, Option<f64>);

type Doubles<'py> = Bound<'py, PyArray1<f64>>;
type Ints<'py> = Bound<'py, PyArray1<i64>>;
type Bools<'py> = Bound<'py, PyArray1<bool>>;

/// Problems, and the row that each of their edges was.
struct Edges<S = MatchSet> {
    set: S,
    rows: Vec<u32>,
}

/// The same, prepared for a model.
type ReadyEdges = Edges<Ready<'static, Match>>;

/// The problem, the left and the right item of each row.
type Ends<'a> = (Option<Names<'a>>, Names<'a>, Names<'a>);

impl Edges {
    /// Problems of rows in any order, and how many of them stand before row `from`.
    fn new(
        mut features: Features,
        columns: Columns,
        y: Option<&[f64]>,
        (problem, left, right): Ends<'_>,
        from: usize,
    ) -> PyResult<(Self, usize)> {
        let n = features.rows();
        let given = [("y", y.map(<[f64]>::len)), ("problem", problem.map(Names::len)), ("left", Some(left.len()))];
        for (what, len) in given.into_iter().chain([("right", Some(right.len()))]) {
            if let Some(len) = len.filter(|&len| len != n) {
                let text = format!("expected {n} values in {what}, one for each row of X, found {len}");
                return Err(PyValueError::new_err(text));
            }
        }
        if u32::try_from(n).is_err() {
            return Err(PyValueError::new_err(format!("expected at most 4294967295 edges, found {n}")));
        }
        let (mut words, mut rows, mut first) = ([const { String::new() }; 3], EdgeRows::default(), None);
        for row in 0..n {
            if row == from {
                first = Some(rows.next_part());
            }
            let truth = y.map_or(Ok(Truth::Unknown), |y| truth(y[row], row))?;
            let [a, b, c] = &mut words;
            let problem = problem.map_or("1", |names| names.get(row, a));
            rows.push(problem, left.get(row, b), right.get(row, c), truth);
        }
        let (problems, rows) = rows.grouped().map_err(|clash| refused(&clash, from))?;
        if !rows.is_sorted() {
            features.permute_rows(&rows);
        }
        let first = first.unwrap_or(problems.len());
        Ok((Self { set: MatchSet::new(features, columns, problems).map_err(raised)?, rows }, first))
    }
}

/// Problems of edges with what is known of them, in rows in any order.
pub(crate) fn problems(
    features: Features,
    columns: Columns,
    y: &PyReadonlyArray1<'_, f64>,
    problem: Option<&Ids<'_>>,
    left: &Ids<'_>,
    right: &Ids<'_>,
) -> PyResult<MatchSet> {
    let rows = features.rows();
    let (made, _) = Edges::new(features, columns, Some(y.as_slice()?), ends(problem, left, right)?, rows)?;
    Ok(made.set)
}

impl ReadyEdges {
    /// The problems.
    fn set(&self) -> &MatchSet {
        self.set.set()
    }

    /// The row of an edge of problem `p`.
    fn row(&self, p: usize, edge: usize) -> usize {
        self.rows[self.set().span(p).start + edge] as usize
    }

    /// A value for each row, given those of the edges of each problem.
    fn by_row<T: Clone>(&self, blank: T, mut of: impl FnMut(usize, &mut dyn FnMut(usize, T))) -> Vec<T> {
        let mut out = vec![blank; self.rows.len()];
        for p in 0..self.set().len() {
            of(p, &mut |edge, value| out[self.row(p, edge)] = value);
        }
        out
    }
}

/// Ids that can be read without the interpreter lock.
#[derive(Clone, Copy)]
enum Names<'a> {
    Numbers(&'a [i64]),
    Words(&'a [String]),
}

impl<'a> Names<'a> {
    fn of(ids: &'a Ids<'_>) -> PyResult<Self> {
        Ok(match ids {
            Ids::Numbers(ids) => Self::Numbers(ids.as_slice()?),
            Ids::Words(ids) => Self::Words(ids),
        })
    }

    fn len(self) -> usize {
        match self {
            Self::Numbers(ids) => ids.len(),
            Self::Words(ids) => ids.len(),
        }
    }

    /// The text of the id of a row.
    fn get<'b>(self, row: usize, buffer: &'b mut String) -> &'b str
    where
        'a: 'b,
    {
        use std::fmt::Write;
        match self {
            Self::Words(ids) => &ids[row],
            Self::Numbers(ids) => {
                buffer.clear();
                let _ = write!(buffer, "{}", ids[row]); // a string takes all that is written
                buffer
            }
        }
    }
}

/// The problem, the left and the right item of each row, from their ids.
fn ends<'a>(problem: Option<&'a Ids<'_>>, left: &'a Ids<'_>, right: &'a Ids<'_>) -> PyResult<Ends<'a>> {
    Ok((problem.map(Names::of).transpose()?, Names::of(left)?, Names::of(right)?))
}

#[allow(clippy::float_cmp)] // 0 and 1 are meant as they are
fn truth(y: f64, row: usize) -> PyResult<Truth> {
    match y {
        y if y.is_nan() => Ok(Truth::Unknown),
        0.0 => Ok(Truth::No),
        1.0 => Ok(Truth::Yes),
        _ => Err(PyValueError::new_err(format!(
            "y[{row}]: expected 1 (matched), 0 (not matched) or NaN (nobody knows), found {y}"
        ))),
    }
}

/// The refusal of two rows; those from `from` on are of the validation set.
fn refused(clash: &Clash, from: usize) -> PyErr {
    let [first, again] = clash.rows;
    let (start, part) = if again >= from { (from, " of eval_set") } else { (0, "") };
    let what = match &clash.what {
        Clashing::Edge(left, right) => format!("the edge {left} - {right} is there twice"),
        Clashing::Item(side, item) => format!("the {side} item {item} is matched twice"),
    };
    PyValueError::new_err(format!(
        "row {}{part}: {what} (row {}), in problem {}",
        again - start,
        first - start,
        clash.problem
    ))
}

/// Fits a matcher; the rows from `valid_from` on are for validation.
#[pyfunction]
#[pyo3(signature = (name, settings, x, names, y, problem, left, right, valid_from, run))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_match(
    py: Python<'_>,
    name: &str,
    settings: Vec<(String, String)>,
    x: Rows<'_>,
    names: Option<Vec<String>>,
    y: PyReadonlyArray1<'_, f64>,
    problem: Option<Ids<'_>>,
    left: Ids<'_>,
    right: Ids<'_>,
    valid_from: Option<usize>,
    run: Run<'_>,
) -> PyResult<(Matcher, Option<PyErr>)> {
    let own = |any| if let AnyMethod::Match(method) = any { Some(method) } else { None };
    let asked = of_task::<Match>(name, &settings, "matching method", own)?;
    let (features, columns) = learned(&x, names, &run)?;
    let from = valid_from.unwrap_or(features.rows());
    let (truth, ends) = (y.as_slice()?, ends(problem.as_ref(), &left, &right)?);
    let made = py.detach(|| Edges::new(features, columns, Some(truth), ends, from));
    let (Edges { set, .. }, first) = made?;
    let (fitted, raise) = run.fit::<Match>(py, &asked, set, first, valid_from.is_some(), None)?;
    Ok((Matcher { fitted }, raise))
}

/// How probabilities were found, in JSON: engines, accuracy, the largest known error.
fn how(said: &[MatchPrediction]) -> PyResult<String> {
    let sums = Sums::of(said);
    json(&serde_json::json!({"engines": sums.engines, "accuracy": sums.accuracy(), "error": sums.error()}))
}

impl Matcher {
    /// Data as the model wants them.
    fn edges(
        &self,
        py: Python<'_>,
        (x, names, problem, left, right): Table<'_>,
        y: Option<&PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<ReadyEdges> {
        let matcher = &self.fitted.model;
        let (features, columns) = asked(&x, names, &matcher.inputs)?;
        check_finite(&features, &columns, matcher.inputs.missing)?;
        let rows = features.rows();
        let (y, ends) = (y.map(|y| y.as_slice()).transpose()?, ends(problem.as_ref(), &left, &right)?);
        py.detach(|| {
            let (Edges { set, rows }, _) = Edges::new(features, columns, y, ends, rows)?;
            Ok(Edges { set: matcher.prepare_owned(set).map_err(raised)?, rows })
        })
    }

    /// The model as it is to answer.
    fn operating(&self, (decide, min_probability, precision): How<'_>) -> PyResult<Cow<'_, Model>> {
        if (decide, min_probability, precision) == (None, None, None) {
            return Ok(Cow::Borrowed(&self.fitted.model));
        }
        let decide = decide.map(|how| how.parse().map_err(raised)).transpose()?;
        let mut model = self.fitted.model.clone();
        model.operate(&Operating { decide, min_probability, precision }).map_err(raised)?;
        Ok(Cow::Owned(model))
    }

    /// What it says of every problem, with probabilities.
    fn sure(
        &self,
        py: Python<'_>,
        edges: &ReadyEdges,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Vec<MatchPrediction>> {
        if self.fitted.model.temperature.is_none() {
            return Err(PyValueError::new_err(
                "this model was fitted with calibrate=False, and has no probabilities; fit it with calibrate=True",
            ));
        }
        work(py, threads, || self.fitted.model.answer(&edges.set, &edges.set().all(), false))
    }
}

#[pymethods]
impl Matcher {
    /// The score of each row.
    fn scores<'py>(&self, py: Python<'py>, data: Table<'py>, threads: Option<NonZeroUsize>) -> PyResult<Doubles<'py>> {
        let edges = self.edges(py, data, None)?;
        let matcher = &self.fitted.model;
        let scores = work(py, threads, || {
            let all = matcher.scores_of(&edges.set, &edges.set().all())?;
            Ok(edges.by_row(0.0, |p, put| all[p].iter().enumerate().for_each(|(e, &s)| put(e, s))))
        })?;
        Ok(scores.into_pyarray(py))
    }

    /// 1 for each row of the best matching of its problem, 0 for the others.
    fn matched<'py>(
        &self,
        py: Python<'py>,
        data: Table<'py>,
        threads: Option<NonZeroUsize>,
        operating: How<'_>,
    ) -> PyResult<Bound<'py, PyArray1<i8>>> {
        let (model, edges) = (self.operating(operating)?, self.edges(py, data, None)?);
        let matched = work(py, threads, || {
            let said = model.plain().answer(&edges.set, &edges.set().all(), false)?;
            Ok(edges.by_row(0, |p, put| said[p].matches.iter().for_each(|m| put(m.edge as usize, 1))))
        })?;
        Ok(matched.into_pyarray(py))
    }

    /// The probability of each row, and in JSON how they were found: engines, accuracy, the largest known error.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        data: Table<'py>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<(Doubles<'py>, String)> {
        let edges = self.edges(py, data, None)?;
        let said = self.sure(py, &edges, threads)?;
        let all = edges.by_row(0.0, |p, put| {
            let of_edges = said[p].probabilities.iter().flatten().take(edges.set().span(p).len());
            of_edges.enumerate().for_each(|(e, &value)| put(e, value));
        });
        Ok((all.into_pyarray(py), how(&said)?))
    }

    /// The matches, problem by problem and by left item: row, score, probability (NaN without), what the best sum loses
    /// without it, its turn to be checked by a person, from 1 in each problem, and whether it is less likely than that one of its items stays
    /// unmatched; and in JSON how probabilities were found.
    #[allow(clippy::type_complexity)]
    fn matches<'py>(
        &self,
        py: Python<'py>,
        data: Table<'py>,
        threads: Option<NonZeroUsize>,
        operating: How<'_>,
    ) -> PyResult<((Ints<'py>, Doubles<'py>, Doubles<'py>, Doubles<'py>, Ints<'py>, Bools<'py>), String)> {
        let (model, edges) = (self.operating(operating)?, self.edges(py, data, None)?);
        let said = work(py, threads, || model.predict(&edges.set, &edges.set().all()))?;
        let all = || said.iter().enumerate().flat_map(|(p, said)| said.matches.iter().map(move |m| (p, m)));
        let doubles = |of: fn(&Matched) -> f64| all().map(|(_, m)| of(m)).collect::<Vec<_>>().into_pyarray(py);
        let rows: Vec<i64> = all().map(|(p, m)| edges.row(p, m.edge as usize) as i64).collect();
        let check: Vec<i64> = all().map(|(_, m)| m.check as i64).collect();
        let columns = (
            rows.into_pyarray(py),
            doubles(|m| m.score),
            doubles(|m| m.probability.unwrap_or(f64::NAN)),
            doubles(|m| m.margin),
            check.into_pyarray(py),
            all().map(|(_, m)| m.unlikely).collect::<Vec<_>>().into_pyarray(py),
        );
        Ok((columns, how(&said)?))
    }

    /// The items without a match: a row that each is in, whether it is a right one, and how likely that is (NaN without);
    /// and in JSON how probabilities were found.
    #[allow(clippy::type_complexity)]
    fn unmatched<'py>(
        &self,
        py: Python<'py>,
        data: Table<'py>,
        threads: Option<NonZeroUsize>,
        operating: How<'_>,
    ) -> PyResult<((Ints<'py>, Bools<'py>, Doubles<'py>), String)> {
        let (model, edges) = (self.operating(operating)?, self.edges(py, data, None)?);
        let said = work(py, threads, || model.answer(&edges.set, &edges.set().all(), false))?;
        let (mut rows, mut sides, mut chances) = (vec![], vec![], vec![]);
        for (p, said) in said.iter().enumerate() {
            let problem = edges.set().problem(p);
            let mut of_right = vec![0; problem.right.len()];
            problem.edges.iter().enumerate().for_each(|(e, &(_, j))| of_right[j as usize] = e);
            let left = said.left.iter().map(|&i| (false, i as usize, problem.candidates(i as usize).start));
            let right = said.right.iter().map(|&j| (true, j as usize, of_right[j as usize]));
            for (side, item, edge) in left.chain(right) {
                rows.push(edges.row(p, edge) as i64);
                sides.push(side);
                chances.push(said.unmatched(problem, side, item).unwrap_or(f64::NAN));
            }
        }
        let columns = (rows.into_pyarray(py), sides.into_pyarray(py), chances.into_pyarray(py));
        Ok((columns, how(&said)?))
    }

    /// The mean of a metric over the problems, its sign changed where less is better.
    fn measure(
        &self,
        py: Python<'_>,
        data: Table<'_>,
        y: PyReadonlyArray1<'_, f64>,
        metric: By<'_>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<f64> {
        let measure = metric.of(Match::WORDS)?;
        let metric = measure.metric;
        let edges = self.edges(py, data, Some(&y))?;
        let found = measure.told(work(py, threads, || {
            self.fitted.model.evaluate(&edges.set, &edges.set().all(), &[metric], &Convention::STANDARD)
        }))?;
        Ok(if metric.is_loss() { -found.mean(0) } else { found.mean(0) })
    }

    /// What each feature is worth by a metric: its name, the mean loss, and the ends of its interval.
    fn importances(
        &self,
        py: Python<'_>,
        data: Table<'_>,
        y: PyReadonlyArray1<'_, f64>,
        by: (By<'_>, String),
        draws: NonZeroUsize,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Vec<Worth>> {
        let edges = self.edges(py, data, Some(&y))?;
        worth::<Match>(py, &self.fitted.model, &edges.set, &by, draws, threads)
    }

    /// The columns in which edges have left what the model has seen, the farthest first.
    fn drift(&self, py: Python<'_>, data: Table<'_>, threads: Option<NonZeroUsize>) -> PyResult<Vec<Gone>> {
        let edges = self.edges(py, data, None)?;
        work(py, threads, || Ok(drift::<Match>(&edges.set)))
    }

    /// What each feature adds to the score of row `above` over row `below`, the largest first.
    fn explain(&self, py: Python<'_>, data: Table<'_>, above: usize, below: usize) -> PyResult<Vec<Reason>> {
        let edges = self.edges(py, data, None)?;
        let wrong = |expected: &str, found: String| raised(ordain::Error::Data { expected: expected.into(), found });
        let stored = |row: usize| edges.rows.iter().position(|&of| of as usize == row);
        let (Some(a), Some(b)) = (stored(above), stored(below)) else {
            return Err(wrong("two rows of X", format!("{above} and {below} of {}", edges.rows.len())));
        };
        let p = (0..edges.set().len()).find(|&p| edges.set().span(p).contains(&a)).unwrap_or(0);
        let span = edges.set().span(p);
        if !span.contains(&b) {
            let found = format!("{above} of problem {:?} and {below} of another", edges.set().problem(p).name);
            return Err(wrong("two rows of one problem", found));
        }
        let all = self.fitted.model.explain(&edges.set, p, a - span.start, b - span.start).map_err(raised)?;
        Ok(all.iter().map(|c| (c.column, c.above, c.below, c.difference, c.weight, c.contribution)).collect())
    }

    /// The answers of the command line, as JSON: the matching of each problem.
    fn answers(
        &self,
        py: Python<'_>,
        data: Table<'_>,
        top: Option<usize>,
        threads: Option<NonZeroUsize>,
        operating: How<'_>,
    ) -> PyResult<Vec<String>> {
        let (model, edges) = (self.operating(operating)?, self.edges(py, data, None)?);
        let (all, want) = (edges.set().all(), Want { top, ..Want::default() });
        lines(&work(py, threads, || Match::predict(&model, &edges.set, &all, want))?)
    }

    /// The weights on scaled features; none with a kernel.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Option<Doubles<'py>> {
        let score = &self.fitted.model.score;
        score.is_linear().then(|| PyArray1::from_slice(py, score.weights()))
    }

    /// What splits by each feature gain in all trees, as a share; none without trees.
    #[getter]
    fn gains<'py>(&self, py: Python<'py>) -> Option<Doubles<'py>> {
        self.fitted.model.score.gains().map(|gains| PyArray1::from_vec(py, gains))
    }

    /// The score of an item that stays unmatched; none where all of the lesser side have to be matched.
    #[getter]
    fn null(&self) -> Option<f64> {
        self.fitted.model.null
    }

    /// What scores are divided by before they become probabilities; none where there are no probabilities.
    #[getter]
    fn temperature(&self) -> Option<f64> {
        self.fitted.model.temperature
    }
}

model_methods!(Matcher);

/// The edges between all points of two sets: features, left and right point of each, and the names of the features.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn point_edges<'py>(
    py: Python<'py>,
    left: PyReadonlyArray2<'py, f64>,
    right: PyReadonlyArray2<'py, f64>,
    wanted: Vec<String>,
) -> PyResult<(Bound<'py, PyArray2<f32>>, Ints<'py>, Ints<'py>, Vec<String>)> {
    let asked = match &wanted[..] {
        [] => vec![],
        names => PointFeature::list(&names.join(",")).map_err(raised)?,
    };
    let further: Vec<String> = (2..left.shape()[1]).map(|j| format!("descriptor{}", j - 2)).collect();
    let (a, b) = (cloud(&left)?, cloud(&right)?);
    let set = work(py, None, || MatchSet::of_points("1", [&a, &b], &further, &asked))?;
    let problem = set.problem(0);
    let points: Vec<i64> = problem.right.iter().filter_map(|id| id.parse().ok()).collect();
    let lefts: Vec<i64> = problem.edges.iter().map(|&(i, _)| i64::from(i)).collect();
    let rights: Vec<i64> = problem.edges.iter().map(|&(_, j)| points[j as usize]).collect();
    let (rows, cols) = (set.features.rows(), set.features.cols());
    let Features::Dense(matrix) = set.features else {
        return Err(PyValueError::new_err("features of points are dense"));
    };
    let x = PyArray1::from_slice(py, matrix.values()).reshape([rows, cols])?;
    Ok((x, lefts.into_pyarray(py), rights.into_pyarray(py), set.columns.names))
}

/// The rows of an array as points, numbered from 0: two coordinates, then whatever else is known of them.
fn cloud(points: &PyReadonlyArray2<'_, f64>) -> PyResult<Cloud> {
    let width = points.shape()[1];
    let mut out = Cloud::default();
    for (i, point) in points.as_slice()?.chunks_exact(width.max(1)).enumerate() {
        let [x, y, further @ ..] = point else {
            return Err(PyValueError::new_err(format!("expected points with two coordinates, found {width}")));
        };
        out.ids.push(i.to_string());
        out.places.push([*x, *y]);
        out.descriptors.extend(further.iter().map(|&x| x as f32));
    }
    Ok(out)
}
