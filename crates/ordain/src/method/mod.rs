//! Named methods: settings, `fit`, and what is fitted. Each composes the modules below it.

pub mod annotate;
pub mod matching;
pub mod rank;
mod settings;

pub use annotate::{
    Annotator, CStar, Core, CountModel, FittedTags, LabelFeatures, LabelLoss, LabelPrediction, LabelReason, LabelScale,
    LabelWork, OneVsRest, Scored, TagFacts, TagTraining, Trainer, annotator, core_choice, cstar,
};
pub use matching::{
    FittedMatch, Match, MatchFacts, MatchMap, MatchMargin, MatchPrediction, MatchTraining, Matcher, Sums, matcher,
    matchmap, matchmargin,
};
pub use rank::{
    BallRank, Choose, Contribution, Documents, Dorm, Journal, Kernels, PlaceProbabilities, RankMatch, RankSvm, Ranker,
    Subset, ballrank, dorm, rankmatch, ranksvm,
};

use crate::data::{Missing, RankSet};
use crate::error::{Error, Result};
use crate::metric::{Convention, Metric};
use crate::solver::run::{Report, Watch};
use matching::search as match_search;
use rank::kernel_search;
use rank::search::Learner;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::str::FromStr;

/// A finite number above 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Positive(f64);

impl Positive {
    /// The number, unless it is not above 0.
    ///
    /// ```
    /// assert!(ordain::method::Positive::new(0.1).is_ok());
    /// assert!(ordain::method::Positive::new(-1.0).is_err());
    /// ```
    pub fn new(x: f64) -> Result<Self> {
        if x.is_finite() && x > 0.0 {
            Ok(Self(x))
        } else {
            Err(Error::Setting {
                name: "number".into(),
                expected: "a finite number above 0".into(),
                found: x.to_string(),
            })
        }
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// A value, or its choice by validation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice<T> {
    /// By validation; where there is none, the documented default.
    Auto,
    /// This one.
    Set(T),
}

/// One setting of a method, as it is shown to a person.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub range: &'static str,
    /// What it is unless something is said.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// What a method is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Queries with documents to an ordering.
    Rank,
    /// Items to labels.
    Annotate,
    /// Two sides to a matching.
    Match,
}

impl Task {
    /// The name in files and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rank => "rank",
            Self::Annotate => "annotate",
            Self::Match => "match",
        }
    }

    /// Refuses a metric of another task.
    pub fn check_metric(self, metric: Metric) -> Result<()> {
        match self {
            Self::Rank => metric.need_rankings(),
            Self::Annotate => metric.need_labels(),
            Self::Match => metric.need_matches(),
        }
    }

    /// What it is learned from, one by one.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Rank => "query",
            Self::Annotate => "item",
            Self::Match => "problem",
        }
    }
}

/// A method of any task with its settings; written `ranksvm[lambda=1,scale=query]`.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// It ranks.
    Rank(RankMethod),
    /// It annotates.
    Annotate(CStar),
    /// It matches.
    Match(MatchMethod),
}

impl Method {
    /// The names of all methods.
    pub const NAMES: [&'static str; 8] =
        ["ranksvm", "rankmatch", "dorm", "ballrank", "cstar", "independent", "matchmap", "matchmargin"];

    /// The method of this name, with its defaults.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "ranksvm" => Ok(Self::Rank(RankMethod::RankSvm(RankSvm::default()))),
            "rankmatch" => Ok(Self::Rank(RankMethod::RankMatch(RankMatch::default()))),
            "dorm" => Ok(Self::Rank(RankMethod::Dorm(Dorm::default()))),
            "ballrank" => Ok(Self::Rank(RankMethod::BallRank(BallRank::default()))),
            "cstar" => Ok(Self::Annotate(CStar::default())),
            "independent" => Ok(Self::Annotate(CStar::independent())),
            "matchmap" => Ok(Self::Match(MatchMethod::MatchMap(MatchMap::default()))),
            "matchmargin" => Ok(Self::Match(MatchMethod::MatchMargin(MatchMargin::default()))),
            _ => Err(Error::unknown("method", name, Self::NAMES)),
        }
    }

    /// What it is for.
    pub fn task(&self) -> Task {
        match self {
            Self::Rank(_) => Task::Rank,
            Self::Annotate(_) => Task::Annotate,
            Self::Match(_) => Task::Match,
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Rank(method) => method.name(),
            Self::Annotate(method) => method.name(),
            Self::Match(method) => method.name(),
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &'static [Setting] {
        match self {
            Self::Rank(method) => method.settings(),
            Self::Annotate(method) => method.known_settings(),
            Self::Match(method) => method.settings(),
        }
    }

    /// Changes a setting, given as `name=value`.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let Some((name, value)) = assignment.split_once('=') else {
            return Err(Error::Setting {
                name: "--set".into(),
                expected: match self {
                    Self::Annotate(CStar { core: Some(_), .. }) => {
                        "name=value (names of a core stand between ;, as in core=red;green)".into()
                    }
                    _ => "name=value".into(),
                },
                found: assignment.into(),
            });
        };
        let (name, value) = (name.trim(), value.trim());
        let known = self.settings().iter().map(|s| s.name).chain(["c"]);
        if !known.clone().any(|known| known == name) {
            return Err(Error::unknown("setting", name, known));
        }
        match self {
            Self::Rank(RankMethod::RankSvm(method)) => method.set(name, value),
            Self::Rank(RankMethod::RankMatch(method)) => method.set(name, value),
            Self::Rank(RankMethod::Dorm(method)) => method.set(name, value),
            Self::Rank(RankMethod::BallRank(method)) => method.set(name, value),
            Self::Annotate(method) => method.set(name, value),
            Self::Match(MatchMethod::MatchMap(method)) => method.set(name, value),
            Self::Match(MatchMethod::MatchMargin(method)) => method.set(name, value),
        }
    }

    /// A method written `NAME[name=value,…]`, then further settings, each `name=value`; what they come to together is checked.
    ///
    /// ```
    /// use ordain::method::Method;
    /// assert!("cstar[loss=p@3]".parse::<Method>().is_err()); // the likelihood has no loss to choose
    /// assert!(Method::parse("cstar[loss=p@3]", ["trainer=margin"]).is_ok());
    /// ```
    pub fn parse<S: AsRef<str>>(text: &str, further: impl IntoIterator<Item = S>) -> Result<Self> {
        let (name, settings) = match text.split_once('[') {
            None => (text, ""),
            Some((name, rest)) => match rest.strip_suffix(']') {
                Some(settings) => (name, settings),
                None => {
                    return Err(Error::Setting {
                        name: "method".into(),
                        expected: "METHOD[name=value,…]".into(),
                        found: text.into(),
                    });
                }
            },
        };
        let mut method = Self::named(name.trim())?;
        for assignment in settings.split(',').map(str::trim).filter(|a| !a.is_empty()) {
            method.set(assignment)?;
        }
        for assignment in further {
            method.set(assignment.as_ref())?;
        }
        method.check()?;
        Ok(method)
    }

    /// Refuses settings that do not go together, and those that no text could have given; every `fit` does so first.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Rank(method) => method.check(),
            Self::Annotate(method) => method.check(),
            Self::Match(method) => method.check(),
        }
    }

    /// Whether something is left to be chosen by validation.
    pub fn chooses(&self) -> bool {
        match self {
            Self::Rank(method) => method.chooses(),
            Self::Annotate(method) => method.chooses(),
            Self::Match(method) => method.chooses(),
        }
    }

    /// Says that a method of another task was expected.
    fn wrong_task(&self, expected: &str) -> Error {
        let does = ["ranks", "annotates", "matches"][self.task() as usize];
        Error::Data { expected: format!("a method that {expected}"), found: format!("{}, which {does}", self.name()) }
    }

    /// The method, if it ranks; otherwise says so.
    pub fn ranking(self) -> Result<RankMethod> {
        if let Self::Rank(method) = self { Ok(method) } else { Err(self.wrong_task("ranks")) }
    }

    /// The method, if it annotates; otherwise says so.
    pub fn annotating(self) -> Result<CStar> {
        if let Self::Annotate(method) = self { Ok(method) } else { Err(self.wrong_task("annotates")) }
    }

    /// The method, if it matches; otherwise says so.
    pub fn matching(self) -> Result<MatchMethod> {
        if let Self::Match(method) = self { Ok(method) } else { Err(self.wrong_task("matches")) }
    }
}

/// A method that matches.
#[derive(Clone, Debug, PartialEq)]
pub enum MatchMethod {
    /// The exponential family over matchings.
    MatchMap(MatchMap),
    /// Max-margin.
    MatchMargin(MatchMargin),
}

impl MatchMethod {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MatchMap(_) => "matchmap",
            Self::MatchMargin(_) => "matchmargin",
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &'static [Setting] {
        match self {
            Self::MatchMap(_) => MatchMap::SETTINGS,
            Self::MatchMargin(_) => MatchMargin::SETTINGS,
        }
    }

    /// Whether something is left to be chosen by validation.
    pub fn chooses(&self) -> bool {
        match self {
            Self::MatchMap(method) => match_search::Learner::choices(method).open(),
            Self::MatchMargin(method) => match_search::Learner::choices(method).open(),
        }
    }

    /// Refuses settings that do not go together.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::MatchMap(method) => method.check(),
            Self::MatchMargin(method) => method.check(),
        }
    }

    /// Fits a matcher.
    pub fn fit(&self, data: &MatchTraining, watch: &Watch) -> Result<FittedMatch> {
        match self {
            Self::MatchMap(method) => method.fit(data, watch),
            Self::MatchMargin(method) => method.fit(data, watch),
        }
    }
}

/// A method that ranks.
#[derive(Clone, Debug, PartialEq)]
pub enum RankMethod {
    /// RankSVM, linear or with a kernel.
    RankSvm(RankSvm),
    /// The exponential family over orders.
    RankMatch(RankMatch),
    /// Max-margin on subsets.
    Dorm(Dorm),
    /// The Ball Ranking Machine.
    BallRank(BallRank),
}

impl RankMethod {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RankSvm(_) => "ranksvm",
            Self::RankMatch(_) => "rankmatch",
            Self::Dorm(_) => "dorm",
            Self::BallRank(_) => "ballrank",
        }
    }

    /// Its settings.
    pub fn settings(&self) -> &'static [Setting] {
        match self {
            Self::RankSvm(_) => RankSvm::SETTINGS,
            Self::RankMatch(_) => RankMatch::SETTINGS,
            Self::Dorm(_) => Dorm::SETTINGS,
            Self::BallRank(_) => BallRank::SETTINGS,
        }
    }

    /// Whether something is left to be chosen by validation.
    pub fn chooses(&self) -> bool {
        match self {
            Self::RankSvm(method) if !method.is_linear() => kernel_search::open(method),
            Self::RankSvm(method) => Learner::choices(method).open(),
            Self::RankMatch(method) => method.choices().open(),
            Self::Dorm(method) => method.choices().open(),
            Self::BallRank(method) => kernel_search::open(method),
        }
    }

    /// What was asked, and the other settings.
    fn written(&self) -> (Map<String, Value>, Map<String, Value>) {
        match self {
            Self::RankSvm(method) => (Learner::choices(method).asked(), method.settings()),
            Self::RankMatch(method) => (method.choices().asked(), method.settings()),
            Self::Dorm(method) => (method.choices().asked(), method.settings()),
            Self::BallRank(method) => (kernel_search::asked(method), Map::new()),
        }
    }

    /// Where an interrupted fit of the same data, settings, seed and metric of the choice stopped; refuses any other model.
    pub fn resume<'a>(
        &self,
        model: &'a Fitted,
        set: &RankSet,
        seed: u64,
        (metric, convention): (Metric, Convention),
    ) -> Result<&'a Journal> {
        let (asked, settings) = self.written();
        let differ = |what: &str| {
            Err(Error::Data {
                expected: format!("an interrupted model of the same {what} to resume"),
                found: "another".into(),
            })
        };
        let facts = &model.facts;
        if facts.method != self.name()
            || facts.asked != asked
            || !settings.iter().all(|(k, v)| facts.settings.get(k) == Some(v))
        {
            return differ("method and settings");
        }
        if facts.seed != seed {
            return differ("seed");
        }
        if facts.data != set.digest() {
            return differ("data");
        }
        let by = [metric.to_string(), convention.to_string()];
        if facts.chosen.as_ref().is_some_and(|chosen| by != [&*chosen.metric, &*chosen.convention]) {
            return differ("metric of the choice, under the same convention,");
        }
        match &model.journal {
            Some(journal) if self.resumes() => Ok(journal),
            Some(_) => Err(Error::Data {
                expected: "a method that resumes (ranksvm and ballrank take seconds: fit them anew)".into(),
                found: self.name().into(),
            }),
            None => {
                Err(Error::Data { expected: "an interrupted model to resume".into(), found: "a complete one".into() })
            }
        }
    }

    /// Refuses settings that do not go together.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::RankSvm(method) => method.check(),
            Self::RankMatch(method) => method.check(),
            Self::Dorm(method) => method.check(),
            Self::BallRank(method) => method.check(),
        }
    }

    /// Whether an interrupted fit can be gone on with.
    pub fn resumes(&self) -> bool {
        matches!(self, Self::RankMatch(_) | Self::Dorm(_))
    }

    /// Fits a model.
    pub fn fit(&self, data: &Training, watch: &Watch) -> Result<Fitted> {
        match self {
            Self::RankSvm(method) => method.fit(data, watch),
            Self::RankMatch(method) => method.fit(data, watch),
            Self::Dorm(method) => method.fit(data, watch),
            Self::BallRank(method) => method.fit(data, watch),
        }
    }
}

impl FromStr for Method {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        Self::parse::<&str>(text, [])
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RankMethod {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        text.parse::<Method>()?.ranking()
    }
}

impl FromStr for MatchMethod {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        text.parse::<Method>()?.matching()
    }
}

impl FromStr for CStar {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        text.parse::<Method>()?.annotating()
    }
}

/// What a method is fitted on.
pub struct Training<'a> {
    /// The data.
    pub set: &'a RankSet,
    /// The queries to fit on.
    pub train: &'a [u32],
    /// The queries to choose on; without them every fifth query of `train` is held out where something is to be chosen.
    pub valid: Option<&'a [u32]>,
    /// What the choice is by.
    pub by: (Metric, Convention),
    /// Whether the model is fitted again on `train` and `valid` together after the choice.
    pub refit: bool,
    /// The seed of whatever is random.
    pub seed: u64,
    /// What missing values mean; they are filled already.
    pub missing: Missing,
    /// What they were filled with, with [`Missing::Mean`].
    pub means: Option<&'a [f32]>,
    /// Where an interrupted fit of the same data and settings stopped.
    pub resume: Option<&'a Journal>,
}

impl<'a> Training<'a> {
    /// A fit on the queries `train`: choices by NDCG@10 on queries held out of them, then a fit on all of them.
    pub fn new(set: &'a RankSet, train: &'a [u32]) -> Self {
        let by = (Metric { kind: crate::metric::Kind::Ndcg, k: Some(10) }, Convention::STANDARD);
        Self { set, train, valid: None, by, refit: true, seed: 0, missing: Missing::Error, means: None, resume: None }
    }
}

/// One of the values that were tried on validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The settings tried.
    pub settings: Map<String, Value>,
    /// The metric that they reached.
    pub value: f64,
}

/// How settings were chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// The metric of the choice.
    pub metric: String,
    /// Its convention.
    pub convention: String,
    /// The number of queries it was measured on.
    pub queries: usize,
    /// All that was tried, in order.
    pub candidates: Vec<Candidate>,
}

impl Chosen {
    /// The candidate that was taken: the one with the settings of the model. It need not have the largest value: kernels go by the mean of neighbours, matchers
    /// of equals by likelihood.
    ///
    /// `settings` are those of the facts that this choice is part of. Of a core that was chosen anew for the last fit only the size is compared.
    pub fn taken(&self, settings: &Map<String, Value>) -> Option<&Candidate> {
        let same = |(name, tried): (&String, &Value)| match (tried, settings.get(name)) {
            (Value::Array(tried), Some(Value::Array(used))) => tried.len() == used.len(),
            (tried, used) => used == Some(tried),
        };
        self.candidates.iter().find(|candidate| candidate.settings.iter().all(same))
    }
}

impl Facts {
    /// The candidate that was taken, where something was chosen.
    pub fn taken(&self) -> Option<&Candidate> {
        self.chosen.as_ref()?.taken(&self.settings)
    }
}

/// What is known of a training, besides the parameters that it gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The method.
    pub method: String,
    /// Every setting, as it was used in the end.
    pub settings: Map<String, Value>,
    /// What was asked of the settings that can be left to validation.
    pub asked: Map<String, Value>,
    /// Digest of the data.
    pub data: String,
    /// Documents fitted on.
    pub rows: usize,
    /// Queries fitted on.
    pub queries: usize,
    /// Of these, queries without two different grades, which teach nothing.
    pub flat_queries: usize,
    /// Examples fitted on.
    pub examples: f64,
    /// What one of them is: a pair, a list, a subset.
    pub example: String,
    /// How the solver ended.
    #[serde(flatten)]
    pub report: Report,
    /// What the model rests on, of one with a kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<CoreFacts>,
    /// Whether the fit is on training and validation together.
    pub refit: bool,
    /// How settings were chosen, if any were.
    pub chosen: Option<Chosen>,
    /// The seed.
    pub seed: u64,
}

/// What a model with a kernel rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoreFacts {
    /// Core documents, one for each query that uses it.
    pub documents: usize,
    /// Of a ball: the core pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<usize>,
    /// Of a ball: `f = α'Hα` where it stopped, which is 1/(2P) at the optimum, P being the objective of the kernel RankSVM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f: Option<f64>,
    /// Of a ball: how far f can be above its minimum, as a share of f.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<f64>,
}

/// A trained model.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// What ranks.
    pub ranker: Ranker,
    /// Where it comes from.
    pub facts: Facts,
    /// Where it stopped, if it was interrupted.
    pub journal: Option<Journal>,
}
