//! What all models share: names of methods and settings, what is in a file, loading.

use crate::data::Named;
use crate::labels::Annotator;
use crate::matches::Matcher;
use crate::raised;
use crate::rank::Ranker;
use crate::work::{watched, work};
use numpy::PyArray1;
use ordain::answer::importances;
use ordain::data::Missing;
use ordain::data::ranges::Left;
use ordain::export::{Exports, Options, export};
use ordain::method::AnyMethod;
use ordain::method::auto::{Limit, auto};
use ordain::metric::{Convention, Metric, Own};
use ordain::model_file::{self, AnyModel};
use ordain::task::{DataSet, Fitted, Method, Ready, Task, Training, Words};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The method of this name with these settings, checked.
pub(crate) fn method(name: &str, settings: &[(String, String)]) -> PyResult<AnyMethod> {
    AnyMethod::parse(name, settings.iter().map(|(name, value)| format!("{name}={value}"))).map_err(raised)
}

/// What a fit is by: a method with its settings, or the choice of one.
#[allow(clippy::large_enum_variant)] // there is one of them at a time
pub(crate) enum Asked<T: Task> {
    Method(T::Method),
    Auto(Limit),
}

/// A method of one task, which `own` takes out of any; or `auto`, with the budget in seconds or the number of candidates.
pub(crate) fn of_task<T: Task>(
    name: &str,
    settings: &[(String, String)],
    kind: &'static str,
    own: impl Fn(AnyMethod) -> Option<T::Method>,
) -> PyResult<Asked<T>> {
    if name != "auto" {
        let found = own(method(name, settings)?);
        let known = T::METHODS.iter().map(|(name, _)| *name);
        return found.map(Asked::Method).ok_or_else(|| raised(ordain::Error::unknown(kind, name, known)));
    }
    let mut limit = Limit::All;
    for (name, value) in settings {
        let wrong = || PyValueError::new_err(format!("{name}: expected a number above 0, found {value}"));
        limit = match name.as_str() {
            "candidates" => Limit::Candidates(value.parse().map_err(|_| wrong())?),
            _ => {
                let seconds = value.parse().map_err(|_| wrong())?;
                Limit::Budget(Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?)
            }
        };
    }
    Ok(Asked::Auto(limit))
}

/// What a choice or a measurement goes by: the name of a metric, or a function of truths and scores.
#[derive(FromPyObject)]
pub(crate) enum By<'py> {
    /// The name of a metric.
    Name(String),
    /// Something to call.
    Own(Bound<'py, PyAny>),
}

/// A metric that can be measured by as long as this lives.
pub(crate) struct Measure {
    pub(crate) metric: Metric,
    own: Option<Own>,
    /// What a function of Python raised first.
    failed: Arc<Mutex<Option<PyErr>>>,
}

impl By<'_> {
    /// The metric.
    pub(crate) fn measure(&self) -> PyResult<Measure> {
        let failed = Arc::new(Mutex::new(None));
        let function = match self {
            Self::Name(name) => {
                return Ok(Measure { metric: name.parse().map_err(raised)?, own: None, failed });
            }
            Self::Own(function) if function.is_callable() => function,
            Self::Own(other) => {
                let text = format!("choose_by: expected the name of a metric or a function, found {}", other.repr()?);
                return Err(PyValueError::new_err(text));
            }
        };
        let name = function.getattr("__name__").and_then(|name| name.extract::<String>());
        let name = name.unwrap_or_else(|_| function.get_type().to_string());
        let (function, keep) = (function.clone().unbind(), Arc::clone(&failed));
        let call = move |truth: &[f64], said: &[f64]| {
            Python::attach(|py| {
                let arrays = (PyArray1::from_slice(py, truth), PyArray1::from_slice(py, said));
                function.bind(py).call1(arrays)?.extract::<Option<f64>>()
            })
            .map_err(|error| {
                let found = error.to_string();
                keep.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                ordain::Error::Data { expected: "a number or None from the metric".into(), found }
            })
        };
        let own = Own::new(&name, call);
        Ok(Measure { metric: own.metric(), own: Some(own), failed })
    }

    /// The metric, if it is one of this task.
    pub(crate) fn of(&self, task: &Words) -> PyResult<Measure> {
        let found = self.measure()?;
        match task.check_metric(found.metric) {
            Ok(()) => Ok(found),
            Err(ordain::Error::Setting { expected, found, .. }) => {
                Err(raised(ordain::Error::Setting { name: "choose_by".into(), expected, found }))
            }
            Err(other) => Err(raised(other)),
        }
    }
}

impl Measure {
    /// Whether it is a function of Python, which no other machine has.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// An answer, or what the function raised where that is why there is none.
    pub(crate) fn told<T>(&self, made: PyResult<T>) -> PyResult<T> {
        made.map_err(|error| self.failed.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(error))
    }
}

pub(crate) fn missing(name: &str) -> PyResult<Missing> {
    match name {
        "error" => Ok(Missing::Error),
        "zero" => Ok(Missing::Zero),
        "mean" => Ok(Missing::Mean),
        "indicator" => Ok(Missing::Indicator),
        "keep" => Ok(Missing::Keep),
        "auto" => Ok(Missing::Auto),
        _ => Err(raised(ordain::Error::unknown("missing", name, ["error", "zero", "mean", "indicator"]))),
    }
}

/// How a fit is run, as the package says it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Run<'py> {
    /// The metric of a choice by validation; the usual one of matchers where there is none.
    pub(crate) choose_by: Option<By<'py>>,
    /// Its rules.
    convention: String,
    /// Whether the model is fitted again on all data after a choice.
    pub(crate) refit: bool,
    /// The seed of whatever is random.
    pub(crate) seed: u64,
    missing: String,
    /// The columns of a frame that were no features.
    pub(crate) columns: Named,
    /// The number of threads; all where there is none.
    pub(crate) threads: Option<NonZeroUsize>,
    /// Who hears of it.
    pub(crate) callback: Option<Bound<'py, PyAny>>,
}

impl Run<'_> {
    /// The rules of the metric.
    pub(crate) fn convention(&self) -> PyResult<Convention> {
        self.convention.parse().map_err(raised)
    }

    /// What missing values mean, by its name.
    pub(crate) fn missing_name(&self) -> &str {
        &self.missing
    }

    /// What missing values mean.
    pub(crate) fn missing(&self) -> PyResult<Missing> {
        missing(&self.missing)
    }

    /// Fits a method on rows of which the first units are for training and the others, if there are any, for validation.
    pub(crate) fn fit<T: Task>(
        &self,
        py: Python<'_>,
        asked: &Asked<T>,
        mut set: T::Set,
        first: usize,
        validates: bool,
        init: Option<&Fitted<T>>,
    ) -> PyResult<(Fitted<T>, Option<PyErr>)> {
        let measure = self.choose_by.as_ref().map(|by| by.of(T::WORDS)).transpose()?;
        let by = measure.as_ref().map(|measure| measure.metric);
        let told = |made| match &measure {
            Some(measure) => measure.told(made),
            None => made,
        };
        let convention = self.convention()?;
        let all = set.all();
        let (train, valid) = all.split_at(first.min(all.len()));
        let (refit, seed, missing) = (self.refit, self.seed, self.missing()?);
        let method = match asked {
            Asked::Method(method) => method,
            Asked::Auto(_) if init.is_some() => {
                let text = "init: expected None, because a choice of the method starts from no model, found one";
                return Err(PyValueError::new_err(text));
            }
            Asked::Auto(limit) => {
                return told(watched(py, self.threads, self.callback.as_ref(), |watch| {
                    let valid = validates.then_some(valid);
                    let training = Training { valid, by, convention, seed, ..Training::new(&set, train) };
                    auto(&training, missing, *limit, watch).map(|made| made.fitted)
                }));
            }
        };
        let filled = set.fill(missing, train);
        told(watched(py, self.threads, self.callback.as_ref(), |watch| {
            let made = method.transform_in_place(&mut set, train);
            let valid = validates.then_some(valid);
            let training = Training { valid, by, convention, refit, seed, filled, init, ..Training::new(&set, train) };
            method.fit_transformed(&training, made, watch)
        }))
    }
}

/// A feature, what it is worth, and the ends of its interval.
pub(crate) type Worth = (String, f64, f64, f64);

/// What each feature of a model is worth on some data, by a metric under a convention.
pub(crate) fn worth<T: Task>(
    py: Python<'_>,
    model: &T::Model,
    on: &Ready<'_, T>,
    (by, convention): &(By<'_>, String),
    draws: NonZeroUsize,
    threads: Option<NonZeroUsize>,
) -> PyResult<Vec<Worth>> {
    let measure = by.of(T::WORDS)?;
    let (metric, convention) = (measure.metric, convention.parse::<Convention>().map_err(raised)?);
    let made = work(py, threads, || importances::<T>(model, on, metric, &convention, draws.get(), |_| Ok(())));
    Ok(measure.told(made)?.into_iter().map(|one| (one.feature, one.mean, one.low, one.high)).collect())
}

/// A column that data have left: its name; the least and the largest value that the model has seen, and those of the data; rows with a value,
/// rows below and above, units with such a row; how far outside the farthest is; and the share beyond a quartile, if it is most of them.
pub(crate) type Gone = (String, [f32; 2], [f32; 2], [usize; 4], f64, Option<f64>);

/// The columns in which data have left what a model has seen, the farthest first.
pub(crate) fn drift<T: Task>(on: &Ready<'_, T>) -> Vec<Gone> {
    let names = &on.set().columns().names;
    let gone = |left: Left| {
        let counts = [left.rows, left.below, left.above, left.units];
        (names[left.column].clone(), left.range, left.now, counts, left.far, left.moved)
    };
    on.left().into_iter().map(gone).collect()
}

/// Anything that has a form in JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The methods that every class of models has: what it is, and its file.
macro_rules! model_methods {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            /// The name of the method.
            #[getter]
            fn method(&self) -> &str {
                &self.fitted.facts.method
            }

            /// What `max_iter` kept the fit from, if it did.
            #[getter]
            fn unfinished(&self) -> Option<String> {
                self.fitted.facts.report.unfinished(&self.fitted.facts.settings)
            }

            /// The header of the model file, in JSON.
            fn header(&self) -> PyResult<String> {
                crate::model::json(&ordain::model_file::Header::of(&self.fitted))
            }

            /// The names of the columns that data have.
            fn columns(&self) -> Vec<String> {
                ordain::task::Model::inputs(&self.fitted.model).raw()
            }

            /// The bytes of the model file.
            fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, pyo3::types::PyBytes> {
                pyo3::types::PyBytes::new(py, &ordain::model_file::to_bytes(&self.fitted))
            }

            /// Writes the model file, or leaves the old one.
            fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
                py.detach(|| ordain::model_file::save(&self.fitted, &path)).map_err(crate::raised)
            }

            /// The model for another program: its file, files that belong beside it by the end of their name, and warnings.
            fn export<'py>(
                &self,
                py: Python<'py>,
                to: &str,
                how: crate::model::ExportHow,
            ) -> PyResult<crate::model::Exported<'py>> {
                crate::model::exported(py, &self.fitted, to, how)
            }
        }
    };
}
pub(crate) use model_methods;

/// The options of an export, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ExportHow {
    name: String,
    featureset: String,
    store: String,
    map: Vec<(String, String)>,
    shift: Option<f32>,
    dialect: String,
    table: String,
    group: Option<String>,
    key: Vec<String>,
    one_query_per_call: bool,
}

/// The bytes of a file.
type Bytes<'py> = Bound<'py, pyo3::types::PyBytes>;

/// A file, files beside it, and warnings.
pub(crate) type Exported<'py> = (Bytes<'py>, Vec<(&'static str, Bytes<'py>)>, Vec<String>);

/// A model for another program.
pub(crate) fn exported<'py, T: Exports>(
    py: Python<'py>,
    fitted: &Fitted<T>,
    to: &str,
    how: ExportHow,
) -> PyResult<Exported<'py>> {
    let options = Options {
        name: how.name,
        featureset: how.featureset,
        store: how.store,
        map: how.map,
        shift: how.shift,
        dialect: how.dialect.parse().map_err(raised)?,
        table: how.table,
        query: how.group,
        keys: how.key,
        one_query_per_call: how.one_query_per_call,
    };
    let made = export(fitted, to.parse().map_err(raised)?, &options).map_err(raised)?;
    let bytes = |bytes: &[u8]| pyo3::types::PyBytes::new(py, bytes);
    let beside = made.beside.iter().map(|(end, file)| (*end, bytes(file))).collect();
    Ok((bytes(&made.bytes), beside, made.warnings))
}

/// The names of all methods: of rankers, of annotators, of matchers.
#[pyfunction]
pub(crate) fn methods() -> Vec<(&'static str, &'static str)> {
    AnyMethod::all().iter().map(|method| (method.task().name, method.name())).collect()
}

/// Answers as JSON lines, the same as those of the command line.
pub(crate) fn lines<A: serde::Serialize>(answers: &[A]) -> PyResult<Vec<String>> {
    answers.iter().map(json).collect()
}

/// The settings of a method: name, range, default and what it does.
#[pyfunction]
pub(crate) fn settings(name: &str) -> PyResult<Vec<(&'static str, &'static str, &'static str, &'static str)>> {
    let method = AnyMethod::named(name).map_err(raised)?;
    Ok(method.settings().iter().map(|s| (s.name, s.range, s.default, s.help)).collect())
}

fn python(py: Python<'_>, model: AnyModel) -> PyResult<Py<PyAny>> {
    match model {
        AnyModel::Rank(fitted) => Ranker { fitted }.into_py_any(py),
        AnyModel::Annotate(fitted) => Annotator { fitted }.into_py_any(py),
        AnyModel::Match(fitted) => Matcher { fitted }.into_py_any(py),
        _ => Err(PyValueError::new_err("this package does not know the task of the model")),
    }
}

/// The model of a file.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyAny>> {
    let model = py.detach(|| model_file::load_any(&path)).map_err(raised)?;
    python(py, model)
}

/// Writes a file as a whole, or leaves the old one.
#[pyfunction]
pub(crate) fn write_whole(py: Python<'_>, path: PathBuf, content: &[u8]) -> PyResult<()> {
    py.detach(|| ordain::data::write_whole(&path, |out| out.write_all(content))).map_err(raised)
}

/// The model of the bytes of a file.
#[pyfunction]
pub(crate) fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Py<PyAny>> {
    let model = py.detach(|| model_file::any_from_bytes(bytes, Path::new("model"))).map_err(raised)?;
    python(py, model)
}
