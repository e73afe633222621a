//! Models in the formats of other programs: search engines, databases, ONNX, Python, XGBoost and LightGBM.
//!
//! A model is read once, into a [`Formula`]; each target writes that down, or refuses what it has no words for and says the way out.
//! Nothing here touches a file.

mod boosters;
mod check;
mod formula;
mod json;
mod onnx;
mod protobuf;
mod python;
mod search;
mod sql;
mod trees;

pub use check::SelfCheck;
pub use formula::{Formula, Gaps, KernelSum, SCORE, Scaled};
pub use sql::Dialect;
pub use trees::{Node, Split, Test, Tree};

use crate::data::{LabelSet, MatchSet, RankSet};
use crate::error::{Error, Result};
use crate::method::{Annotate, Annotator, Match, Matcher, Rank, Ranker};
use crate::model_file::{Stored, to_bytes};
use crate::task::{Chosen, DataSet, Fitted, Model, Ready};
use serde_json::{Map, Value, json};
use std::str::FromStr;

/// The program that is to take a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// ONNX, operators of version 17; trees by `ai.onnx.ml` 3.
    Onnx,
    /// The learning-to-rank plugin of Elasticsearch: the body of `_createmodel`.
    Elasticsearch,
    /// The same plugin of OpenSearch.
    Opensearch,
    /// The learning-to-rank module of Solr: an entry of its model store.
    Solr,
    /// A query on a table with the columns of the model.
    Sql,
    /// All numbers.
    Json,
    /// A module of Python that needs nothing else.
    Python,
    /// The JSON of XGBoost.
    Xgboost,
    /// The text of LightGBM.
    Lightgbm,
}

impl Target {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Onnx,
        Self::Elasticsearch,
        Self::Opensearch,
        Self::Solr,
        Self::Sql,
        Self::Json,
        Self::Python,
        Self::Xgboost,
        Self::Lightgbm,
    ];

    /// The name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Onnx => "onnx",
            Self::Elasticsearch => "elasticsearch",
            Self::Opensearch => "opensearch",
            Self::Solr => "solr",
            Self::Sql => "sql",
            Self::Json => "json",
            Self::Python => "python",
            Self::Xgboost => "xgboost",
            Self::Lightgbm => "lightgbm",
        }
    }

    /// Whether it computes in single precision.
    pub fn is_single(self) -> bool {
        !matches!(self, Self::Sql | Self::Json | Self::Python | Self::Lightgbm)
    }
}

impl FromStr for Target {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let known = || Self::ALL.iter().copied();
        known()
            .find(|target| target.name() == text)
            .ok_or_else(|| Error::unknown("target", text, known().map(Self::name)))
    }
}

/// How a model is written.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the model where it goes.
    pub name: String,
    /// The feature set of Elasticsearch and OpenSearch, for notes.
    pub featureset: String,
    /// The feature store of Solr.
    pub store: String,
    /// Other names of columns: (in the model, in the engine).
    pub map: Vec<(String, String)>,
    /// Search engines: a constant that a feature of its own adds.
    pub shift: Option<f32>,
    /// SQL: the words of which database.
    pub dialect: Dialect,
    /// SQL: the table.
    pub table: String,
    /// SQL: the column that names the query, of what is ranked within queries.
    pub query: Option<String>,
    /// SQL: the columns that name a row.
    pub keys: Vec<String>,
    /// ONNX: a call holds the rows of one query, so that these can be scaled by themselves.
    pub one_query_per_call: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "ordain".into(),
            featureset: "FEATURESET".into(),
            store: "_DEFAULT_".into(),
            map: vec![],
            shift: None,
            dialect: Dialect::default(),
            table: "documents".into(),
            query: None,
            keys: vec![],
            one_query_per_call: false,
        }
    }
}

impl Options {
    /// The name of a column in the engine.
    pub(crate) fn mapped<'a>(&'a self, column: &'a str) -> &'a str {
        self.map.iter().find(|(own, _)| own == column).map_or(column, |(_, engine)| engine)
    }

    fn check(&self, columns: &[String]) -> Result<()> {
        match self.map.iter().find(|(own, _)| !columns.contains(own)) {
            Some((own, _)) => Err(Error::unknown("column", own, columns.iter().map(String::as_str))),
            None => Ok(()),
        }
    }
}

/// A model in the format of another program.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// The file.
    pub bytes: Vec<u8>,
    /// Files that belong beside it: the end of their name, and what they hold.
    pub beside: Vec<(&'static str, Vec<u8>)>,
    /// What a person should know before it is used.
    pub warnings: Vec<String>,
}

impl Exported {
    fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), beside: vec![], warnings: vec![] }
    }
}

/// What an export needs to know of a task.
pub trait Exports: Stored {
    /// The formula of a model's scores.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] for a model that is more than such a formula.
    fn formula(model: &Self::Model) -> Result<Formula>;

    /// What a formula does not hold of a model, in words.
    fn left_out(model: &Self::Model) -> Option<&'static str>;

    /// The same as numbers.
    fn rest(model: &Self::Model) -> Map<String, Value>;

    /// What a model says of all rows of a set: a score of each output, row after row.
    fn scores(model: &Self::Model, on: &Ready<'_, Self>) -> Result<Vec<f64>>;

    /// Where each query or problem of a set begins, and the end; and their names.
    fn units(set: &Self::Set) -> (Vec<usize>, Vec<String>);
}

impl Exports for Rank {
    fn formula(model: &Ranker) -> Result<Formula> {
        Formula::of_ranker(model)
    }

    fn left_out(model: &Ranker) -> Option<&'static str> {
        (!model.places.is_empty()).then_some("scores alone: the probabilities of places stay in the model")
    }

    fn rest(model: &Ranker) -> Map<String, Value> {
        Map::from_iter([("place_values".to_owned(), json!(model.places))])
    }

    fn scores(model: &Ranker, on: &Ready<'_, Self>) -> Result<Vec<f64>> {
        model.scores(on)
    }

    fn units(set: &RankSet) -> (Vec<usize>, Vec<String>) {
        (bounds((0..set.len()).map(|q| set.span(q).end)), (0..set.len()).map(|q| set.query(q).to_owned()).collect())
    }
}

impl Exports for Annotate {
    fn formula(model: &Annotator) -> Result<Formula> {
        Formula::of_annotator(model)
    }

    fn left_out(_: &Annotator) -> Option<&'static str> {
        Some("scores of labels alone: links, the number of labels and probabilities stay in the model")
    }

    fn rest(model: &Annotator) -> Map<String, Value> {
        json::annotator(model)
    }

    fn scores(model: &Annotator, on: &Ready<'_, Self>) -> Result<Vec<f64>> {
        let items: Result<Vec<Vec<f64>>> = (0..on.set().rows()).map(|item| Ok(model.score(on, item)?.base)).collect();
        Ok(items?.concat())
    }

    fn units(set: &LabelSet) -> (Vec<usize>, Vec<String>) {
        ((0..=set.rows()).collect(), (0..set.rows()).map(|item| set.item(item).to_string()).collect())
    }
}

impl Exports for Match {
    fn formula(model: &Matcher) -> Result<Formula> {
        Formula::of_matcher(model)
    }

    fn left_out(_: &Matcher) -> Option<&'static str> {
        Some("scores of edges alone: the matching and its probabilities stay in the model")
    }

    fn rest(model: &Matcher) -> Map<String, Value> {
        json::object(json!({
            "null": model.null, "temperature": model.temperature, "engine": model.engine.name(),
        }))
    }

    fn scores(model: &Matcher, on: &Ready<'_, Self>) -> Result<Vec<f64>> {
        Ok(model.scores_of(on, &on.set().all())?.concat())
    }

    fn units(set: &MatchSet) -> (Vec<usize>, Vec<String>) {
        (bounds((0..set.len()).map(|p| set.span(p).end)), (0..set.len()).map(|p| set.problem(p).name.clone()).collect())
    }
}

/// Where units begin that end there, and the last end.
fn bounds(ends: impl Iterator<Item = usize>) -> Vec<usize> {
    std::iter::once(0).chain(ends).collect()
}

/// A digest of a model: of the bytes of its file.
pub fn digest<T: Stored>(fitted: &Fitted<T>) -> String {
    blake3::hash(&to_bytes(fitted)).to_hex().to_string()
}

/// Writes a model in the format of another program.
///
/// ```
/// use ordain::data::synthetic::Synthetic;
/// use ordain::export::{Options, Target, export};
/// use ordain::{method::{Rank, RankMethod}, solver::run::Watch, task::{Method, Training}};
/// let set = Synthetic { queries: 20, ..Synthetic::default() }.make();
/// let method: RankMethod = "ranksvm[scale=global,lambda=1]".parse()?;
/// let fitted = method.fit(&Training::<Rank>::new(&set, &set.all()), &Watch::NOBODY)?;
/// let made = export(&fitted, Target::Python, &Options::default())?;
/// assert!(String::from_utf8_lossy(&made.bytes).contains("def scores(rows):"));
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Data`] naming what the target has no words for, and the way out; [`Error::Unknown`] for another name of a column
/// that the model does not have.
pub fn export<T: Exports>(fitted: &Fitted<T>, to: Target, how: &Options) -> Result<Exported> {
    let inputs = fitted.model.inputs();
    how.check(inputs.given())?;
    let formula = T::formula(&fitted.model)?;
    if formula.by_query() && !can_scale_queries(to, how) {
        return Err(per_query(to, &formula, fitted.facts.chosen.as_ref()));
    }
    let mut made = match to {
        Target::Json => json::write(fitted, &formula)?,
        Target::Onnx => onnx::write(&formula, how, &digest(fitted))?,
        Target::Elasticsearch | Target::Opensearch => search::elasticsearch(&formula, how)?,
        Target::Solr => search::solr(&formula, how)?,
        Target::Sql => sql::write(&formula, how)?,
        Target::Python => python::write(&formula, how)?,
        Target::Xgboost => boosters::xgboost(&formula, how)?,
        Target::Lightgbm => boosters::lightgbm(&formula, how)?,
    };
    if !inputs.steps.is_empty() {
        made.warnings.push(
            "the columns are those that texts, categories and dates were turned into; convert writes them".into(),
        );
    }
    if let Some(left_out) = T::left_out(&fitted.model).filter(|_| to != Target::Json) {
        made.warnings.push(left_out.into());
    }
    Ok(made)
}

fn can_scale_queries(to: Target, how: &Options) -> bool {
    match to {
        Target::Sql | Target::Python | Target::Json => true,
        Target::Onnx => how.one_query_per_call,
        _ => false,
    }
}

/// The refusal of scales that depend on the list, with what another scale was worth if that is known.
fn per_query(to: Target, formula: &Formula, chosen: Option<&Chosen>) -> Error {
    let best = |scales: &[&str]| -> Option<f64> {
        let among = |settings: &serde_json::Map<String, Value>| {
            settings.get("scale").and_then(Value::as_str).is_some_and(|scale| scales.contains(&scale))
        };
        let tried = &chosen?.candidates;
        tried.iter().filter(|one| among(&one.settings)).map(|one| one.value).max_by(f64::total_cmp)
    };
    let worth = match (best(&["global", "none"]), best(&["query", "minmax"]), chosen) {
        (Some(other), Some(own), Some(chosen)) => {
            format!(" ({} {other:.4} instead of {own:.4} on validation)", chosen.metric)
        }
        _ => String::new(),
    };
    let scale = if formula.scale == Scaled::Query { "query" } else { "minmax" };
    let onnx = if to == Target::Onnx {
        "one call for each query (one_query_per_call)"
    } else {
        "onnx with one call for each query"
    };
    Error::Data {
        expected: format!(
            "a score that depends on one document: fit with scale=global{worth} or exportable={}; or export to sql or python, or to {onnx}",
            if to == Target::Onnx { "onnx" } else { "search" },
        ),
        found: format!("scale={scale}, which scales the columns of each query by its own documents"),
    }
}
