//! Predictions and explanations as the documents of `ordain --json`.

use crate::models::Loaded;
use crate::problem::{Problem, Result};
use crate::rows::{Cell, Named, Reader, Row, Word};
use axum::http::StatusCode;
use ordain::answer::{Answers, Ask, Want, ruled_lists};
use ordain::data::{DataSet as _, EdgeRows, LabelSet, MatchSet, RankSet, Rules, Strings, Truth};
use ordain::method::{Annotate, Match, Rank};
use ordain::model_file::AnyModel;
use ordain::task::{Fitted, Model as _, Task};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;

/// An id: text, or a whole number as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Id<'a> {
    #[serde(borrow)]
    Word(Word<'a>),
    Number(i64),
}

impl Id<'_> {
    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Word(Word(text)) => Cow::Borrowed(text),
            Self::Number(number) => number.to_string().into(),
        }
    }
}

/// A request to rank.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RankRequest<'a> {
    #[serde(borrow)]
    queries: Vec<Query<'a>>,
    #[serde(default)]
    top: Option<usize>,
    #[serde(default)]
    probabilities: bool,
    #[serde(default)]
    rules: Option<Rules>,
    #[serde(borrow, default)]
    explain: Option<Explain<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Query<'a> {
    #[serde(borrow, default)]
    id: Option<Id<'a>>,
    #[serde(borrow)]
    items: Vec<Item<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item<'a> {
    #[serde(borrow, default)]
    id: Option<Id<'a>>,
    #[serde(borrow, default)]
    features: Option<Named<'a>>,
    #[serde(borrow, default)]
    row: Option<Vec<Cell<'a>>>,
    #[serde(borrow, default)]
    text: Option<Word<'a>>,
    /// What caps go by.
    #[serde(borrow, default)]
    values: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
}

impl<'a> Item<'a> {
    fn row(&self) -> Row<'_, 'a> {
        row(&self.features, &self.row, &self.text)
    }
}

fn row<'r, 'a>(
    features: &'r Option<Named<'a>>,
    row: &'r Option<Vec<Cell<'a>>>,
    text: &'r Option<Word<'a>>,
) -> Row<'r, 'a> {
    Row { features: features.as_ref(), row: row.as_deref(), text: text.as_ref().map(|word| &*word.0) }
}

/// A request to annotate.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnnotateRequest<'a> {
    #[serde(borrow)]
    items: Vec<Item<'a>>,
    #[serde(default)]
    top: Option<usize>,
    #[serde(borrow, default)]
    explain: Option<Explain<'a>>,
}

/// A request to match.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MatchRequest<'a> {
    #[serde(borrow)]
    problems: Vec<ProblemRows<'a>>,
    #[serde(default)]
    top: Option<usize>,
    #[serde(borrow, default)]
    explain: Option<Explain<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProblemRows<'a> {
    #[serde(borrow, default)]
    id: Option<Id<'a>>,
    #[serde(borrow)]
    edges: Vec<Edge<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edge<'a> {
    #[serde(borrow)]
    left: Id<'a>,
    #[serde(borrow)]
    right: Id<'a>,
    #[serde(borrow, default)]
    features: Option<Named<'a>>,
    #[serde(borrow, default)]
    row: Option<Vec<Cell<'a>>>,
    #[serde(borrow, default)]
    text: Option<Word<'a>>,
}

/// What is to be explained: names as they stand in the request; see [`Ask`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Explain<'a> {
    #[serde(borrow, alias = "query", alias = "item", alias = "problem", default)]
    unit: Option<Word<'a>>,
    #[serde(borrow, default)]
    left: Option<Word<'a>>,
    #[serde(borrow, default)]
    above: Option<Word<'a>>,
    #[serde(borrow, default)]
    below: Option<Word<'a>>,
}

/// What a route is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Route {
    Rank,
    Annotate,
    Match,
    Explain,
}

/// The answer to a request, and how many rows it had.
pub(crate) fn answer(loaded: &Loaded, route: Route, body: &[u8], most: usize) -> Result<(String, usize)> {
    match (&loaded.model, route) {
        (AnyModel::Rank(fitted), Route::Rank | Route::Explain) => rank(loaded, fitted, route, body, most),
        (AnyModel::Annotate(fitted), Route::Annotate | Route::Explain) => annotate(loaded, fitted, route, body, most),
        (AnyModel::Match(fitted), Route::Match | Route::Explain) => matches(loaded, fitted, route, body, most),
        (_, Route::Rank) => Err(loaded.other("rank")),
        (_, Route::Annotate) => Err(loaded.other("annotate")),
        _ => Err(loaded.other("match")),
    }
}

/// JSON of a request; says where it is wrong.
fn parsed<'a, R: Deserialize<'a>>(body: &'a [u8]) -> Result<R> {
    serde_json::from_slice(body).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => Problem::unfit(error.to_string()),
        _ => Problem::bad(format!("expected JSON, found {error}")),
    })
}

fn rank(loaded: &Loaded, fitted: &Fitted<Rank>, route: Route, body: &[u8], most: usize) -> Result<(String, usize)> {
    let request: RankRequest = parsed(body)?;
    let mut reader = Reader::new(&fitted.model.inputs, most)?;
    let (mut bounds, mut names, mut ids) = (vec![0], vec![], vec![]);
    for (q, query) in request.queries.iter().enumerate() {
        let name = query.id.as_ref().map_or_else(|| (q + 1).to_string().into(), Id::text);
        for (i, item) in query.items.iter().enumerate() {
            let id = item.id.as_ref().map(Id::text).unwrap_or_default();
            reader.push(item.row(), &|| format!("query {name:?}, item {}", shown(&id, i)))?;
            ids.push(id);
        }
        bounds.push(ids.len());
        names.push(name.into_owned());
    }
    let (features, columns) = reader.done();
    let mut set = RankSet::new(features, columns, vec![0.0; ids.len()], bounds, names)?;
    set.graded = false;
    if ids.iter().any(|id| !id.is_empty()) {
        set = set.with_documents(&ids)?;
    }
    let want = Want { top: request.top, probabilities: request.probabilities };
    let Some(rules) = &request.rules else {
        return said::<Rank>(loaded, fitted, set, want, route, request.explain.as_ref(), "queries");
    };
    if route == Route::Explain || request.explain.is_some() || request.probabilities {
        return Err(Problem::unfit("rules are for /rank without probabilities: they change the order, not the scores"));
    }
    rules.check()?;
    let (rows, begun, values) = (set.rows(), Instant::now(), values(rules, &request)?);
    let ready = fitted.model.prepare_owned(set)?;
    let all = ruled_lists(&fitted.model, &ready, &ready.set().all(), want, (rules, &values))?;
    Ok((document(loaded, begun, "queries", &all)?, rows))
}

/// What caps go by, column by column, with an entry for each document.
fn values(rules: &Rules, request: &RankRequest<'_>) -> Result<Vec<Vec<String>>> {
    let all: Vec<&Item<'_>> = request.queries.iter().flat_map(|query| &query.items).collect();
    let of = |column: &str| {
        let value = |item: &&Item<'_>| Some(item.values.as_ref()?.get(column)?.clone().into_owned());
        let own: Vec<Option<String>> = all.iter().map(value).collect();
        if own.iter().all(Option::is_none) && !own.is_empty() {
            let text = format!("caps go by {column:?}: expected it in \"values\" of items, found none");
            return Err(Problem::unfit(text));
        }
        Ok(own.into_iter().map(Option::unwrap_or_default).collect())
    };
    rules.columns().into_iter().map(of).collect()
}

fn annotate(
    loaded: &Loaded,
    fitted: &Fitted<Annotate>,
    route: Route,
    body: &[u8],
    most: usize,
) -> Result<(String, usize)> {
    let request: AnnotateRequest = parsed(body)?;
    let set = items(fitted, request.items.iter().map(|item| (item.id.as_ref().map(Id::text), item.row())), most)?;
    let want = Want { top: request.top, ..Want::default() };
    said::<Annotate>(loaded, fitted, set, want, route, request.explain.as_ref(), "items")
}

/// A set of items for an annotator.
pub(crate) fn items<'r, 'a: 'r>(
    fitted: &Fitted<Annotate>,
    rows: impl Iterator<Item = (Option<Cow<'r, str>>, Row<'r, 'a>)>,
    most: usize,
) -> Result<LabelSet> {
    let mut reader = Reader::new(&fitted.model.inputs, most)?;
    let mut ids = vec![];
    for (i, (id, row)) in rows.enumerate() {
        let id = id.unwrap_or_default();
        reader.push(row, &|| format!("item {}", shown(&id, i)))?;
        ids.push(id);
    }
    let (features, columns) = reader.done();
    let mut set = LabelSet::new(features, columns, fitted.model.labels.clone(), vec![vec![]; ids.len()])?;
    set.labelled = false;
    let named = ids.iter().any(|id| !id.is_empty());
    let strings: Strings = ids.iter().map(|id| id.as_bytes()).collect();
    Ok(if named { set.with_items(strings) } else { set })
}

fn matches(loaded: &Loaded, fitted: &Fitted<Match>, route: Route, body: &[u8], most: usize) -> Result<(String, usize)> {
    let request: MatchRequest = parsed(body)?;
    let mut reader = Reader::new(&fitted.model.inputs, most)?;
    let mut rows = EdgeRows::default();
    for (p, problem) in request.problems.iter().enumerate() {
        let name = problem.id.as_ref().map_or_else(|| (p + 1).to_string().into(), Id::text);
        for edge in &problem.edges {
            let (left, right) = (edge.left.text(), edge.right.text());
            reader.push(row(&edge.features, &edge.row, &edge.text), &|| {
                format!("problem {name:?}, edge {left:?} - {right:?}")
            })?;
            rows.push(&name, &left, &right, Truth::Unknown);
        }
    }
    let (problems, order) = rows.grouped().map_err(|clash| {
        let expected = format!("problem {:?}: each edge once", clash.problem);
        Problem::unfit(format!("{expected}, found rows {} and {} alike", clash.rows[0] + 1, clash.rows[1] + 1))
    })?;
    let (mut features, columns) = reader.done();
    if !order.is_sorted() {
        features.permute_rows(&order);
    }
    let set = MatchSet::new(features, columns, problems)?;
    let want = Want { top: request.top, ..Want::default() };
    said::<Match>(loaded, fitted, set, want, route, request.explain.as_ref(), "problems")
}

/// An id as it is said in messages; a number where there is none.
fn shown(id: &str, at: usize) -> String {
    if id.is_empty() { (at + 1).to_string() } else { format!("{id:?}") }
}

/// What a model says of a set, as JSON.
fn said<T: Answers>(
    loaded: &Loaded,
    fitted: &Fitted<T>,
    set: <T as Task>::Set,
    want: Want,
    route: Route,
    explain: Option<&Explain<'_>>,
    name: &'static str,
) -> Result<(String, usize)> {
    let (rows, begun) = (set.rows(), Instant::now());
    let ready = fitted.model.prepare_owned(set)?;
    if route == Route::Explain {
        let names = explain.map(|e| [&e.unit, &e.left, &e.above, &e.below].map(|w| w.as_ref().map(|w| &*w.0)));
        let [unit, left, above, below] = names.unwrap_or_default();
        if ready.set().is_empty() {
            return Err(Problem::unfit("expected something to explain, found no rows"));
        }
        let first = ready.set().name(0);
        let unit = unit.or(Some(&*first));
        let why = T::explain(&fitted.model, &ready, &Ask { unit, left, above, below })?;
        return Ok((document(loaded, begun, "explanation", &why)?, rows));
    }
    if explain.is_some() {
        return Err(Problem::unfit("explain is for the route /explain"));
    }
    let all = T::predict(&fitted.model, &ready, &ready.set().all(), want)?;
    Ok((document(loaded, begun, name, &all)?, rows))
}

/// An answer with the model that gave it.
fn document(loaded: &Loaded, begun: Instant, name: &'static str, answer: &impl Serialize) -> Result<String> {
    let took = begun.elapsed().as_secs_f64();
    let head = serde_json::json!({"model": loaded.name, "version": loaded.version, "took_s": took});
    let failed = |error: serde_json::Error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let mut text = head.to_string();
    text.pop();
    text += &format!(",\"{name}\":");
    text += &serde_json::to_string(answer).map_err(failed)?;
    text.push('}');
    Ok(text)
}
