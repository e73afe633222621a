//! Annotators.

use crate::input::{Lists, Rows, asked, check_finite, learned, lists};
use crate::model::{By, Gone, Run, Worth, drift, lines, model_methods, of_task, worth};
use crate::raised;
use crate::work::work;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use ordain::answer::{self, Want};
use ordain::ask::{self, Count, Known, Strategy};
use ordain::data::{Columns, LabelSet};
use ordain::matrix::Features;
use ordain::method::annotator::ranked;
use ordain::method::{Annotate, AnyMethod, Decide, LabelPrediction, LabelReason, LabelWork, Trainer};
use ordain::metric::Convention;
use ordain::structure::star::{Clamp, Subsets};
use ordain::task::{Fitted, Model, Ready, Task};
use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::num::NonZeroUsize;

/// A fitted annotator.
#[pyclass(frozen, module = "ordain._ordain")]
pub(crate) struct Annotator {
    pub(crate) fitted: Fitted<Annotate>,
}

/// Lists of labels that were asked about, one for each row, and the answers.
type Answers<'py> = (Lists<'py>, PyReadonlyArray1<'py, bool>);

/// The label, its best scores inside and outside, its probability, and what it was chosen by.
type Asked = (usize, f64, f64, Option<f64>, f64);

/// What is said, what it adds to both labels, and whether it is a link.
type Reason = (String, f64, f64, bool);

/// Fits an annotator; the rows from `valid_from` on are for validation.
#[pyfunction]
#[pyo3(signature = (name, settings, x, names, labels, yes, unknown, valid_from, run))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_labels(
    py: Python<'_>,
    name: &str,
    settings: Vec<(String, String)>,
    x: Rows<'_>,
    names: Option<Vec<String>>,
    labels: Vec<String>,
    yes: Lists<'_>,
    unknown: Option<Lists<'_>>,
    valid_from: Option<usize>,
    run: Run<'_>,
) -> PyResult<(Annotator, Option<PyErr>)> {
    let own = |any| if let AnyMethod::Annotate(method) = any { Some(method) } else { None };
    let asked = of_task::<Annotate>(name, &settings, "method that annotates", own)?;
    let set = labelled(learned(&x, names, &run)?, labels, &yes, unknown.as_ref())?;
    let first = valid_from.unwrap_or(set.len());
    let (fitted, raise) = run.fit::<Annotate>(py, &asked, set, first, valid_from.is_some(), None)?;
    Ok((Annotator { fitted }, raise))
}

/// Items with labels.
fn labelled(
    (features, columns): (Features, Columns),
    labels: Vec<String>,
    yes: &Lists<'_>,
    unknown: Option<&Lists<'_>>,
) -> PyResult<LabelSet> {
    let (rows, n) = (features.rows(), labels.len());
    let set = LabelSet::new(features, columns, labels, lists(yes, rows, n)?).map_err(raised)?;
    match unknown {
        Some(unknown) => set.with_unknown(lists(unknown, rows, n)?).map_err(raised),
        None => Ok(set),
    }
}

/// Answers as the library wants them.
fn clamps((labels, yes): &Answers<'_>, rows: usize, n: usize) -> PyResult<Vec<Vec<Clamp>>> {
    let (labels, mut yes) = (lists(labels, rows, n)?, yes.as_slice()?.iter());
    let one = |list: &Vec<u32>| {
        let mut clamp = if list.is_empty() { vec![] } else { vec![Clamp::Free; n] };
        for &label in list {
            clamp[label as usize] = if *yes.next()? { Clamp::In } else { Clamp::Out };
        }
        Some(clamp)
    };
    let all: Option<Vec<Vec<Clamp>>> = labels.iter().map(one).collect();
    all.ok_or_else(|| PyValueError::new_err("expected an answer for each label that was asked about, found fewer"))
}

impl Annotator {
    /// Features that the model was given.
    fn features(&self, x: &Rows<'_>, names: Option<Vec<String>>) -> PyResult<(Features, Columns)> {
        let annotator = &self.fitted.model;
        let (features, columns) = asked(x, names, &annotator.inputs)?;
        check_finite(&features, &columns, annotator.inputs.missing)?;
        Ok((features, columns))
    }

    /// Items without labels, as the model wants them.
    fn ready(&self, x: &Rows<'_>, names: Option<Vec<String>>) -> PyResult<Ready<'static, Annotate>> {
        let (features, columns) = self.features(x, names)?;
        let none = vec![vec![]; features.rows()];
        let set = LabelSet::new(features, columns, self.fitted.model.labels.clone(), none).map_err(raised)?;
        self.fitted.model.prepare_owned(set).map_err(raised)
    }

    /// What the model says of items; one value of each that `pick` picks, as rows of an array.
    fn rows<'py, T: numpy::Element + Send>(
        &self,
        py: Python<'py>,
        (x, names, answers): (&Rows<'py>, Option<Vec<String>>, Option<&Answers<'py>>),
        decide: Option<Decide>,
        threads: Option<NonZeroUsize>,
        pick: impl Fn(LabelPrediction) -> Vec<T> + Send + Sync,
    ) -> PyResult<Bound<'py, PyArray2<T>>> {
        let (ready, n) = (self.ready(x, names)?, self.fitted.model.labels.len());
        let set = ready.set();
        let known = answers.map(|answers| clamps(answers, set.len(), n)).transpose()?.unwrap_or_default();
        let values: Vec<T> = work(py, threads, || {
            let model = &self.fitted.model;
            let all = model.predict_as(&ready, &set.all(), &known, decide.unwrap_or(model.decide))?;
            Ok(all.into_par_iter().flat_map_iter(pick).collect())
        })?;
        values.into_pyarray(py).reshape([set.len(), n])
    }
}

model_methods!(Annotator);

#[pymethods]
impl Annotator {
    /// What labels are ranked by: probabilities, or differences of scores of a model by margin.
    fn values<'py>(
        &self,
        py: Python<'py>,
        x: Rows<'py>,
        names: Option<Vec<String>>,
        answers: Option<Answers<'py>>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.rows(py, (&x, names, answers.as_ref()), None, threads, |said| said.values)
    }

    /// The score of each label by itself, links apart.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        x: Rows<'py>,
        names: Option<Vec<String>>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.rows(py, (&x, names, None), None, threads, |said| said.scores)
    }

    /// All labels of each row by number, best first.
    fn order<'py>(
        &self,
        py: Python<'py>,
        x: Rows<'py>,
        names: Option<Vec<String>>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let pick = |said: LabelPrediction| ranked(&said.values).into_iter().map(i64::from).collect();
        self.rows(py, (&x, names, None), None, threads, pick)
    }

    /// The place of each label in the set that is given to a row, 1 for the best; 0 for labels that are not in it. `decide` is what
    /// the set is best for, by default what the model was fitted for.
    #[pyo3(signature = (x, names, answers, threads, decide=None))]
    fn chosen<'py>(
        &self,
        py: Python<'py>,
        x: Rows<'py>,
        names: Option<Vec<String>>,
        answers: Option<Answers<'py>>,
        threads: Option<NonZeroUsize>,
        decide: Option<&str>,
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let decide = decide.map(|how| how.parse().map_err(raised)).transpose()?;
        self.rows(py, (&x, names, answers.as_ref()), decide, threads, |said| {
            let mut places = vec![0; said.values.len()];
            said.chosen.iter().zip(1..).for_each(|(&label, place)| places[label as usize] = place);
            places
        })
    }

    /// The mean of a metric over the items that count, and labels that the model does not know.
    #[allow(clippy::too_many_arguments)]
    fn measure(
        &self,
        py: Python<'_>,
        by: (By<'_>, String),
        x: Rows<'_>,
        names: Option<Vec<String>>,
        labels: Vec<String>,
        yes: Lists<'_>,
        unknown: Option<Lists<'_>>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<(f64, Vec<String>)> {
        let (measure, annotator) = (by.0.of(Annotate::WORDS)?, &self.fitted.model);
        let metric = measure.metric;
        let by: Convention = by.1.parse().map_err(raised)?;
        let set = labelled(self.features(&x, names)?, labels, &yes, unknown.as_ref())?;
        let ready = annotator.prepare_owned(set).map_err(raised)?;
        let all = ready.set().all();
        let value = work(py, threads, || Ok(annotator.evaluate(&ready, &all, &[metric], &by)?.mean(0)));
        let value = measure.told(value)?;
        Ok((if metric.is_loss() { -value } else { value }, ready.differ().labels.clone()))
    }

    /// What each feature is worth by a metric: its name, the mean loss, and the ends of its interval.
    #[allow(clippy::too_many_arguments)]
    fn importances(
        &self,
        py: Python<'_>,
        x: Rows<'_>,
        names: Option<Vec<String>>,
        labels: Vec<String>,
        yes: Lists<'_>,
        unknown: Option<Lists<'_>>,
        by: (By<'_>, String),
        draws: NonZeroUsize,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Vec<Worth>> {
        let set = labelled(self.features(&x, names)?, labels, &yes, unknown.as_ref())?;
        let ready = self.fitted.model.prepare_owned(set).map_err(raised)?;
        worth::<Annotate>(py, &self.fitted.model, &ready, &by, draws, threads)
    }

    /// The columns in which rows have left what the model has seen, the farthest first.
    fn drift(
        &self,
        py: Python<'_>,
        x: Rows<'_>,
        names: Option<Vec<String>>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Vec<Gone>> {
        let ready = self.ready(&x, names)?;
        work(py, threads, || Ok(drift::<Annotate>(&ready)))
    }

    /// The next label to ask about, for one row; none where nothing is left to ask.
    #[allow(clippy::too_many_arguments)]
    fn question<'py>(
        &self,
        py: Python<'py>,
        x: Rows<'py>,
        names: Option<Vec<String>>,
        answers: Answers<'py>,
        skipped: Vec<u32>,
        strategy: &str,
        k: Option<usize>,
        seed: u64,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Option<Asked>> {
        let strategy: Strategy = strategy.parse().map_err(raised)?;
        let (ready, annotator) = (self.ready(&x, names)?, &self.fitted.model);
        let clamp = clamps(&answers, ready.set().len(), annotator.labels.len())?.pop().unwrap_or_default();
        let given = clamp.iter().filter(|&&clamp| clamp != Clamp::Free).count() + skipped.len();
        work(py, threads, || {
            let (item, mut scratch) = (annotator.score(&ready, 0)?, LabelWork::default());
            let known = Known { count: k.map_or(Count::Learned, Count::Told), clamp: &clamp, skipped: &skipped };
            let mut random = ask::generator(seed, 0, given);
            let Some(next) = ask::next(annotator, &item, &known, strategy, &mut random, &mut scratch)? else {
                return Ok(None);
            };
            let (yes, no) = ask::sides(annotator, &item, &known, next.label, &mut scratch)?;
            let label = next.label as usize;
            let probability = match (annotator.trainer, k) {
                (Trainer::Margin, _) => None,
                (Trainer::Likelihood, None) => Some(annotator.values(&item, &clamp, &mut scratch)?.0[label]),
                (Trainer::Likelihood, Some(k)) => {
                    Some(annotator.values_at(&item, &Subsets { k, clamp: &clamp }, &mut scratch)?[label])
                }
            };
            Ok(Some((label, yes, no, probability, next.value)))
        })
    }

    /// What two labels of a row have, the largest difference first; a label that is not given is the best of the others.
    #[allow(clippy::too_many_arguments)]
    fn explain(
        &self,
        py: Python<'_>,
        x: Rows<'_>,
        names: Option<Vec<String>>,
        row: usize,
        above: Option<usize>,
        below: Option<usize>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Vec<Reason>> {
        let (ready, annotator) = (self.ready(&x, names)?, &self.fitted.model);
        let set = ready.set();
        let wrong = |expected: &str, found: String| ordain::Error::Data { expected: expected.into(), found };
        if row >= set.len() {
            return Err(raised(wrong("a row of X", format!("{row} of {}", set.len()))));
        }
        let reasons = work(py, threads, || {
            let said = annotator.predict(&ready, &[row as u32])?;
            let mut rest = said.iter().flat_map(|item| ranked(&item.values)).map(|label| label as usize);
            let mut other = |given: Option<usize>| rest.find(|&label| given != Some(label));
            let (above, below) = match above {
                Some(above) => (Some(above), below.or_else(|| other(Some(above)))),
                None => (other(below), below.or_else(|| other(None))),
            };
            match (above, below) {
                (Some(above), Some(below)) if above != below => annotator.explain(&ready, row, above, below),
                _ => Err(wrong("two different labels", "one".into())),
            }
        })?;
        let one = |r: LabelReason| {
            let link = r.what.starts_with("link to ");
            (r.what, r.above, r.below, link)
        };
        Ok(reasons.into_iter().map(one).collect())
    }

    /// The answers of the command line, as JSON: the ranked labels of each item.
    fn answers(
        &self,
        py: Python<'_>,
        x: Rows<'_>,
        names: Option<Vec<String>>,
        top: Option<usize>,
        threads: Option<NonZeroUsize>,
    ) -> PyResult<Vec<String>> {
        let ready = self.ready(&x, names)?;
        let want = Want { top, ..Want::default() };
        lines(&work(py, threads, || {
            <Annotate as answer::Answers>::predict(&self.fitted.model, &ready, &ready.set().all(), want)
        })?)
    }

    /// The number of a label.
    fn label(&self, name: &str) -> PyResult<usize> {
        let labels = &self.fitted.model.labels;
        let found = labels.iter().position(|label| label == name);
        found.ok_or_else(|| raised(ordain::Error::unknown("label", name, labels)))
    }

    /// Weights on scaled features, one row for each label, and what is added to each label.
    #[allow(clippy::type_complexity)]
    fn linear<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>)> {
        let annotator = &self.fitted.model;
        let kernel = || PyAttributeError::new_err("coef_: expected linear scores, found a kernel or trees");
        let (weights, added) = annotator.linear().ok_or_else(kernel)?;
        let (n, d) = (annotator.labels.len(), annotator.inputs.columns.names.len());
        let rows: Vec<f64> = (0..n).flat_map(|label| weights.iter().skip(label).step_by(n).copied()).collect();
        Ok((rows.into_pyarray(py).reshape([n, d])?, added.into_pyarray(py)))
    }

    /// What splits by each feature gain in the trees of all labels, as a share; none without trees.
    #[getter]
    fn gains<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.fitted.model.classifiers.score.gains().map(|gains| gains.into_pyarray(py))
    }

    /// The links, one row for each label of the core.
    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let star = &self.fitted.model.star;
        let core = star.core().len();
        let links: Vec<f64> = (0..core).flat_map(|c| star.links(c)).copied().collect();
        links.into_pyarray(py).reshape([core, star.len()])
    }

    /// Whether labels have probabilities.
    #[getter]
    fn probabilistic(&self) -> bool {
        self.fitted.model.trainer == Trainer::Likelihood
    }

    /// Whether it does worse on validation than a classifier for each label.
    #[getter]
    fn below_floor(&self) -> bool {
        self.fitted.facts.below_floor()
    }
}
