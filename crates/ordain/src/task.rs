//! What a task is: types that belong together, and the few generic types between them.
//!
//! [`Rank`](crate::method::Rank), [`Annotate`](crate::method::Annotate) and [`Match`](crate::method::Match) implement
//! [`Task`]. Each names its data set, its methods and its model. Training ([`Training`] to [`Fitted`]), prediction
//! ([`Ready`]) and files are then written once for all three.
//!
//! ```
//! use ordain::{data::synthetic::Synthetic, method::{Choice, Positive, RankSvm}, solver::run::Watch};
//! use ordain::task::{Method, Model, Training};
//!
//! let set = Synthetic::default().make();
//! let method = RankSvm { lambda: Choice::Set(Positive::new(1.0)?), ..RankSvm::default() };
//! let fitted = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
//! let ready = fitted.model.prepare(&set)?; // columns aligned, gaps filled, scaling learned once
//! assert_eq!(fitted.model.scores(&ready)?.len(), set.rows());
//! # Ok::<(), ordain::Error>(())
//! ```

mod facts;
mod journal;
mod ready;
mod training;

pub use crate::data::DataSet;
use crate::data::Holds;
use crate::data::ranges::Ranges;
use crate::data::transform::{Transform, Transforms};
pub use facts::{AutoChoice, Candidate, Chosen, Edge, Facts, TriedMethod};
pub use journal::Journal;
pub use ready::{Inputs, Ready};
pub use training::{Fitted, Training};
pub(crate) use training::{Rounds, WIDE, both};

use crate::error::{Error, Result};
use crate::features::Steps;
use crate::metric::{Convention, Evaluation, Metric};
use crate::solver::run::Watch;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt::{Debug, Display};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A task: the types that belong together.
pub trait Task: Clone + Debug + PartialEq + Send + Sync + Sized + 'static {
    /// Its names in files, messages and reports.
    const WORDS: &'static Words;
    /// What it learns from and predicts on.
    type Set: DataSet;
    /// How files are read.
    type Reading: Clone + Debug + Default + Send + Sync;
    /// Any method of the task.
    type Method: Method<Self> + FromStr<Err = Error> + Display;
    /// What a method fits.
    type Model: Model<Self>;
    /// What is known of a training beside the [`Facts`] of every task.
    type Notes: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync;
    /// Name and defaults of every method of the task: the list that help, Python, tests and documents read.
    const METHODS: Methods<Self::Method>;
    /// What [`crate::method::auto`] tries, from the cheapest and most regular on: a list for each kind of data.
    const CANDIDATES: &'static [&'static [&'static str]];
    /// Which of these lists, by what is known of some units.
    fn candidates(_set: &Self::Set, _units: &[u32]) -> &'static [&'static str] {
        Self::CANDIDATES[0]
    }
    /// Reads files as one set. Each part is a list of files, and its units are a range of the set.
    fn read(parts: &[Vec<PathBuf>], how: &Self::Reading) -> Result<(Self::Set, Vec<Range<usize>>)>;
    /// Writes a set in the format that the name of the file says.
    fn write(set: &Self::Set, path: &Path) -> Result<()>;
}

/// Methods by name, each with its defaults.
pub type Methods<M> = &'static [(&'static str, fn() -> M)];

/// The names of a task: the one place where they are written.
#[derive(Debug, PartialEq, Eq)]
pub struct Words {
    /// The task itself, in files and in JSON.
    pub name: &'static str,
    /// What a model of it does.
    pub does: &'static str,
    /// One example, and several.
    pub unit: [&'static str; 2],
    /// One row of features, and several.
    pub row: [&'static str; 2],
    /// One thing that is put in order, and several.
    pub thing: [&'static str; 2],
    /// The metric of the curve of a report, in a heading and on an axis.
    pub curve: [&'static str; 2],
    /// Why a unit is left out of the means.
    pub empty: &'static str,
    /// What a data file holds.
    pub holds: &'static str,
    /// The same, as [`crate::data::holds`] finds it.
    pub file: Holds,
    /// What `evaluate` and `compare` measure by default.
    pub metrics: &'static [&'static str],
}

impl Words {
    /// `1 query`, `2 queries`.
    pub fn units(&self, count: usize) -> String {
        format!("{count} {}", self.unit[usize::from(count != 1)])
    }

    /// Refuses a metric of another task.
    pub fn check_metric(&self, metric: Metric) -> Result<()> {
        metric.need_task(self.name)
    }
}

/// A method with its settings.
///
/// [`Method::fit`] is the only way to a model: it checks settings, metric and data first.
pub trait Method<T: Task>: Clone + Debug + PartialEq + Send + Sync + Sized + 'static {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What it is good for, with figures.
    fn about(&self) -> About;
    /// What can be set.
    fn settings(&self) -> &'static [Setting];
    /// A setting as text, which [`Method::set`] reads back; nothing if it follows from the others.
    fn get(&self, name: &str) -> Option<String>;
    /// Changes a setting; the name is one of [`Method::settings`], or `c` for 1/lambda.
    fn set(&mut self, name: &str, value: &str) -> Result<()>;
    /// Refuses settings that contradict each other. `parse` and `fit` call it, interfaces need not.
    fn check(&self) -> Result<()>;
    /// Whether a setting is left to validation.
    fn chooses(&self) -> bool;
    /// The metric of that choice by default.
    fn chooses_by(&self) -> Metric;
    /// Whether an interrupted fit can continue.
    fn resumes(&self) -> bool {
        false
    }
    /// Whether it learns links between rows by features of pairs; others do not look at them.
    fn takes_links(&self) -> bool {
        false
    }
    /// Whether values may be missing in what it learns from.
    fn takes_gaps(&self) -> bool {
        false
    }
    /// Whether it can start from the scores of another model.
    fn takes_start(&self) -> bool {
        false
    }
    /// Whether it learns from pairs of rows of which one is better, so that preferences can stand in place of grades.
    fn takes_preferences(&self) -> bool {
        false
    }
    /// Whether a fit can start from the parameters of a model.
    fn takes_init(&self) -> bool {
        false
    }
    /// How columns are transformed before anything is learned from them.
    fn transform(&self) -> Transform;
    /// Columns that hold categories, which are never transformed.
    fn categories(&self) -> &[String] {
        &[]
    }
    /// Its settings as they stand in a model.
    fn written(&self) -> Written;
    /// The journal of an interrupted fit of the same data, settings, seed and metric; refuses any other model.
    fn resume<'a>(&self, model: &'a Fitted<T>, data: &Training<'_, T>) -> Result<&'a Journal> {
        let (facts, Written { asked, settings }) = (&model.facts, self.written());
        let differ = |what: &str| {
            Err(Error::Data {
                expected: format!("an interrupted model of the same {what} to resume"),
                found: "another".into(),
            })
        };
        if facts.method != self.name()
            || facts.asked != asked
            || !settings.iter().all(|(k, v)| facts.settings.get(k) == Some(v))
            || facts.settings.get("transform") != Some(&self.transform().name().into())
        {
            return differ("method and settings");
        }
        if facts.seed != data.seed {
            return differ("seed");
        }
        if !model.trained_on(data.set) {
            return differ("data");
        }
        let by = [data.by(self).to_string(), data.convention.to_string()];
        if facts.chosen.as_ref().is_some_and(|chosen| by != [&*chosen.metric, &*chosen.convention]) {
            return differ("metric of the choice, under the same convention,");
        }
        match &model.journal {
            Some(journal) if self.resumes() => Ok(journal),
            Some(_) => Err(Error::Data {
                expected: "a method that resumes (this one takes seconds: fit it anew)".into(),
                found: self.name().into(),
            }),
            None => {
                Err(Error::Data { expected: "an interrupted model to resume".into(), found: "a complete one".into() })
            }
        }
    }
    /// Fits a model on data that [`Method::fit`] has checked.
    fn learn(&self, data: &Training<'_, T>, watch: &Watch) -> Result<Fitted<T>>;
    /// Fits a model. Settings that are left open are chosen on validation units.
    ///
    /// Cells that are no numbers become columns of numbers first, by [steps](crate::features) that the training units teach. Columns are then
    /// [transformed](crate::data::transform), by what the training units teach; the set is copied only if one is. The model says
    /// what was done, and [`Model::prepare`] does the same to other sets.
    ///
    /// # Errors
    ///
    /// Settings that contradict each other, a metric of another task, data without a truth or with gaps, and
    /// [`Error::Interrupted`] if the watch stopped before there was anything to keep.
    fn fit(&self, data: &Training<'_, T>, watch: &Watch) -> Result<Fitted<T>> {
        checked(self, data)?;
        let steps = Steps::learn(data.set, data.train)?;
        if steps.is_empty() {
            data.refuse_other_columns(data.set)?;
            return fit_numbers(self, data, &(0..0), watch);
        }
        let mut set = data.set.clone();
        let (filled, made) = steps.apply_filled(&mut set, &data.filled)?;
        data.refuse_other_columns(&set)?;
        let mut fitted = fit_numbers(self, &Training { set: &set, filled, ..data.again() }, &made, watch)?;
        fitted.facts.data = given_digest::<T>(&fitted, &set, data.set);
        fitted.model.inputs_mut().steps = steps;
        Ok(fitted)
    }

    /// Learns the transforms of columns from the units `train`, and transforms the set in place: for [`Method::fit_transformed`].
    /// A set with texts or other cells that are no numbers stays as it is: a fit makes columns of them first.
    fn transform_in_place(&self, set: &mut T::Set, train: &[u32]) -> Transformed {
        if set.columns().cells.is_some() {
            return Transformed { looks: Default::default(), given: None, has_cells: true };
        }
        let looks = Training::<T>::new(set, train).looks(self, &(0..0));
        let transforms = &looks.0;
        let given = (!transforms.is_empty()).then(|| [set.digest(), set.linked_digest()]);
        transforms.apply(set.features_mut());
        Transformed { looks, given, has_cells: false }
    }

    /// The fit of [`Method::fit`] on a set that was handed over and is [transformed](Method::transform_in_place): there is never a second copy of
    /// its features. The training has to be on the same set and units.
    ///
    /// ```
    /// use ordain::{data::synthetic::Synthetic, method::RankSvm, solver::run::Watch, task::{Method, Training}};
    /// let mut set = Synthetic { queries: 60, ..Synthetic::default() }.make();
    /// let (method, units) = (RankSvm::default(), set.all());
    /// let copied = method.fit(&Training::new(&set, &units), &Watch::NOBODY)?;
    /// let transformed = method.transform_in_place(&mut set, &units);
    /// assert_eq!(method.fit_transformed(&Training::new(&set, &units), transformed, &Watch::NOBODY)?, copied);
    /// # Ok::<(), ordain::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Method::fit`].
    fn fit_transformed(&self, data: &Training<'_, T>, made: Transformed, watch: &Watch) -> Result<Fitted<T>> {
        if made.has_cells {
            return self.fit(data, watch);
        }
        checked(self, data)?;
        data.refuse_other_columns(data.set)?;
        let mut fitted = self.learn(data, watch)?;
        fitted.facts.init = data.init.map(|init| init.facts.data.clone());
        if let Some([plain, linked]) = made.given {
            // a digest is one of the data as they were given
            fitted.facts.data = if fitted.facts.data == data.set.digest() { plain } else { linked };
        }
        Ok(noted(self, fitted, made.looks))
    }
}

/// What was done to a set by [`Method::transform_in_place`].
#[derive(Clone, Debug)]
pub struct Transformed {
    looks: (Transforms, Ranges),
    /// The digests of the set before, if it was changed: without links and with them.
    given: Option<[String; 2]>,
    /// Whether nothing was done, because there are cells that are no numbers.
    has_cells: bool,
}

impl Transformed {
    /// That columns were transformed in this way where the rows are, and what they looked like before.
    pub(crate) fn elsewhere(looks: (Transforms, Ranges)) -> Self {
        Self { looks, given: None, has_cells: false }
    }
}

/// Refuses a training that a method cannot learn from.
fn checked<T: Task>(method: &impl Method<T>, data: &Training<'_, T>) -> Result<()> {
    method.check()?;
    T::WORDS.check_metric(data.by(method))?;
    data.set.need_truth()?;
    data.need_values(method.takes_gaps())?;
    data.refuse_preferences(method.name(), method.takes_preferences())?;
    data.refuse_init(method.name(), method.takes_init())?;
    data.refuse_start(method.takes_start())
}

/// The fit with how its columns were transformed, and what they looked like before.
fn noted<T: Task>(
    method: &impl Method<T>,
    mut fitted: Fitted<T>,
    (transforms, ranges): (Transforms, Ranges),
) -> Fitted<T> {
    fitted.facts.settings.insert("transform".into(), method.transform().name().into());
    let inputs = fitted.model.inputs_mut();
    (inputs.transforms, inputs.ranges) = (transforms, ranges);
    fitted
}

/// Fits a model on columns of numbers, some of which steps have made.
fn fit_numbers<T: Task, M: Method<T>>(
    method: &M,
    data: &Training<'_, T>,
    made: &Range<usize>,
    watch: &Watch,
) -> Result<Fitted<T>> {
    let looks = data.looks(method, made);
    let init = data.init.map(|init| init.facts.data.clone());
    if looks.0.is_empty() {
        let mut fitted = method.learn(data, watch)?;
        fitted.facts.init = init;
        return Ok(noted(method, fitted, looks));
    }
    let mut set = data.set.clone();
    looks.0.apply(set.features_mut());
    let mut fitted = method.learn(&Training { set: &set, ..data.again() }, watch)?;
    (fitted.facts.data, fitted.facts.init) = (given_digest::<T>(&fitted, &set, data.set), init);
    Ok(noted(method, fitted, looks))
}

/// The digest of the data as they were given, of a model that was fitted on a set made of them.
fn given_digest<T: Task>(fitted: &Fitted<T>, made: &T::Set, given: &T::Set) -> String {
    let linked = fitted.facts.data != made.digest();
    if linked { given.linked_digest() } else { given.digest() }
}

/// Settings of a method as they stand in a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// Those that validation can choose, as they were asked for.
    pub asked: Map<String, Value>,
    /// The others.
    pub settings: Map<String, Value>,
}

/// What a method is good for, in a line that stands beside those of other methods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct About {
    /// Where to take it.
    pub good_for: &'static str,
    /// The set that figures are of; the benchmarks of the documents have the command.
    pub measured_on: &'static str,
    /// Metrics with their values, by default settings.
    pub figures: &'static [(&'static str, f64)],
}

/// One setting of a method, as it is shown to a person.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub range: &'static str,
    /// What it is by default.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// A fitted model.
pub trait Model<T: Task<Model = Self>>: Clone + Debug + PartialEq + Send + Sync + Sized {
    /// What scaling makes of a set.
    type Scaled: Clone + Debug + Send + Sync;
    /// What it needs to read a row.
    fn inputs(&self) -> &Inputs;
    /// The same, to be changed.
    fn inputs_mut(&mut self) -> &mut Inputs;
    /// Refuses parameters whose sizes do not fit together.
    fn check(&self) -> Result<()>;
    /// Whether a set with the columns of the model fits otherwise; what it has to change in the set, and the names that
    /// the model does not know.
    fn adapt(&self, set: &mut std::borrow::Cow<'_, T::Set>) -> Result<Vec<String>> {
        let _ = set;
        Ok(vec![])
    }
    /// The scaling of a set that is aligned and filled.
    fn scaled(&self, set: &T::Set) -> Self::Scaled;
    /// Measures it on some units. The convention concerns rankings and label sets.
    fn evaluate(&self, on: &Ready<'_, T>, units: &[u32], metrics: &[Metric], by: &Convention) -> Result<Evaluation>;
    /// Makes a set fit this model: columns by name, gaps filled, scaling learned. The set is copied only if it differs.
    fn prepare<'a>(&self, set: &'a T::Set) -> Result<Ready<'a, T>> {
        Ready::new(self, std::borrow::Cow::Borrowed(set))
    }
    /// The same of a set that is not needed any more.
    fn prepare_owned(&self, set: T::Set) -> Result<Ready<'static, T>> {
        Ready::new(self, std::borrow::Cow::Owned(set))
    }
}
