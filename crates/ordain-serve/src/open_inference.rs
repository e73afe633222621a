//! The Open Inference Protocol, version 2: tensors in, tensors out.

use crate::guard::body;
use crate::models::Loaded;
use crate::operations;
use crate::problem::{At, Problem, Result, json};
use crate::routes::App;
use crate::rows::{Cell, Reader, Row};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ordain::data::scale::Scale;
use ordain::data::{EdgeRows, LabelSet, MatchSet, RankSet, Truth};
use ordain::method::{Annotate, Match, Rank, Trainer};
use ordain::model_file::AnyModel;
use ordain::score::Score;
use ordain::task::{Fitted, Model as _};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// A refusal as the protocol has it.
pub(crate) struct Refused(Problem);

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = match self.0.status {
            StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
            other => other,
        };
        json(status, json!({"error": self.0.detail}).to_string())
    }
}

type Answer = std::result::Result<Response, Refused>;

pub(crate) async fn server() -> Response {
    let facts = json!({"name": "ordain", "version": env!("CARGO_PKG_VERSION"), "extensions": []});
    json(StatusCode::OK, facts.to_string())
}

pub(crate) async fn live() -> Response {
    json(StatusCode::OK, json!({"live": true}).to_string())
}

pub(crate) async fn ready(state: State<Arc<App>>) -> Answer {
    operations::ready(state).await?;
    Ok(json(StatusCode::OK, json!({"ready": true}).to_string()))
}

/// A model, and the version that was asked for, if one was.
fn found(app: &App, path: &HashMap<String, String>) -> Result<Arc<Loaded>> {
    let loaded = app.models.find(path.get("model").map_or("", String::as_str))?;
    match path.get("version") {
        Some(version) if *version != loaded.version => {
            Err(Problem::not_found(format!("model {:?} has the version {:?} alone", loaded.name, loaded.version)))
        }
        _ => Ok(loaded),
    }
}

pub(crate) async fn model_ready(State(app): State<Arc<App>>, At(path): At<HashMap<String, String>>) -> Answer {
    let loaded = found(&app, &path)?;
    Ok(json(StatusCode::OK, json!({"name": loaded.name, "ready": true}).to_string()))
}

pub(crate) async fn model(State(app): State<Arc<App>>, At(path): At<HashMap<String, String>>) -> Answer {
    let loaded = found(&app, &path)?;
    let (names, outputs, ids) = match &loaded.model {
        AnyModel::Rank(fitted) => (
            fitted.model.inputs.raw(),
            vec![tensor("score", "FP64", &[-1]), tensor("rank", "INT64", &[-1])],
            vec!["qid"],
        ),
        AnyModel::Annotate(fitted) => {
            let width = fitted.model.labels.len() as i64;
            let mut output = tensor(values_of(fitted), "FP64", &[-1, width]);
            output["parameters"] = json!({"names": fitted.model.labels});
            (fitted.model.inputs.raw(), vec![output], vec![])
        }
        AnyModel::Match(fitted) => {
            let outputs = vec![
                tensor("score", "FP64", &[-1]),
                tensor("probability", "FP64", &[-1]),
                tensor("matched", "BOOL", &[-1]),
            ];
            (fitted.model.inputs.raw(), outputs, vec!["problem", "left", "right"])
        }
        _ => return Err(Problem::not_found("a model of a task that is not served").into()),
    };
    let mut x = tensor("X", "FP64", &[-1, names.len() as i64]);
    x["parameters"] = json!({"names": names});
    let mut inputs = vec![x];
    inputs.extend(ids.into_iter().map(|name| tensor(name, "BYTES", &[-1])));
    let facts = json!({
        "name": loaded.name, "versions": [loaded.version], "platform": "ordain", "inputs": inputs, "outputs": outputs,
    });
    Ok(json(StatusCode::OK, facts.to_string()))
}

fn tensor(name: &str, kind: &str, shape: &[i64]) -> Value {
    json!({"name": name, "datatype": kind, "shape": shape})
}

/// What the values of labels are.
fn values_of(fitted: &Fitted<Annotate>) -> &'static str {
    if fitted.model.trainer == Trainer::Likelihood { "probability" } else { "margin" }
}

pub(crate) async fn infer(
    State(app): State<Arc<App>>,
    At(path): At<HashMap<String, String>>,
    headers: HeaderMap,
    request: Request,
) -> Answer {
    if headers.contains_key("inference-header-content-length") {
        return Err(Problem::bad("binary tensors are not read here: send data as JSON").into());
    }
    let loaded = found(&app, &path)?;
    let (bytes, most, name) = (body(&app, request.into_body()).await?, app.limits.rows, loaded.name.clone());
    let (answer, rows) = app.work.run(&app.metrics, move || answer(&loaded, &bytes, most)).await??;
    app.metrics.rows(&name, rows);
    Ok(json(StatusCode::OK, answer.to_string()))
}

/// The numbers of a tensor, flattened or nested, in the order of its rows.
fn flat<'v>(data: &'v Value, out: &mut Vec<&'v Value>) {
    match data {
        Value::Array(all) => all.iter().for_each(|one| flat(one, out)),
        one => out.push(one),
    }
}

/// The inputs of a request by name.
struct Inputs<'v>(&'v [Value]);

impl<'v> Inputs<'v> {
    fn find(&self, name: &str) -> Option<&'v Value> {
        self.0.iter().find(|input| input["name"] == name)
    }

    /// A column of ids.
    fn ids(&self, name: &str, rows: usize) -> Result<Option<Vec<String>>> {
        let Some(input) = self.find(name) else { return Ok(None) };
        let mut all = vec![];
        flat(&input["data"], &mut all);
        let text = |value: &&Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let ids: Option<Vec<String>> = all.iter().map(text).collect();
        match ids.filter(|ids| ids.len() == rows) {
            Some(ids) => Ok(Some(ids)),
            None => {
                Err(Problem::unfit(format!("{name}: expected {rows} texts or whole numbers, one for each row of X")))
            }
        }
    }

    fn need(&self, name: &str, rows: usize) -> Result<Vec<String>> {
        self.ids(name, rows)?.ok_or_else(|| Problem::unfit(format!("expected the input {name:?}, found none")))
    }
}

fn answer(loaded: &Loaded, bytes: &[u8], most: usize) -> Result<(Value, usize)> {
    let request: Value =
        serde_json::from_slice(bytes).map_err(|error| Problem::bad(format!("expected JSON, found {error}")))?;
    let none = vec![];
    let inputs = Inputs(request["inputs"].as_array().unwrap_or(&none));
    let x = inputs.find("X").ok_or_else(|| Problem::unfit("expected the input \"X\", found none"))?;
    if !["FP32", "FP64"].contains(&x["datatype"].as_str().unwrap_or_default()) {
        return Err(Problem::unfit("X: expected the datatype FP32 or FP64"));
    }
    let shape: Option<Vec<usize>> =
        x["shape"].as_array().and_then(|all| all.iter().map(|n| n.as_u64().map(|n| n as usize)).collect());
    let Some([rows, cols]) = shape.as_deref() else {
        return Err(Problem::unfit("X: expected a shape [rows, columns]"));
    };
    let (rows, cols) = (*rows, *cols);
    let mut data = vec![];
    flat(&x["data"], &mut data);
    if rows.checked_mul(cols) != Some(data.len()) {
        let text = format!("X: expected {rows} × {cols} numbers as its shape says, found {}", data.len());
        return Err(Problem::unfit(text));
    }
    let model = match &loaded.model {
        AnyModel::Rank(fitted) => &fitted.model.inputs,
        AnyModel::Annotate(fitted) => &fitted.model.inputs,
        AnyModel::Match(fitted) => &fitted.model.inputs,
        _ => return Err(Problem::unfit("a model of a task that is not served")),
    };
    if !model.steps.is_empty() {
        return Err(Problem::unfit(
            "this model reads texts or categories, which a tensor of numbers does not hold: use /api/v1",
        ));
    }
    let mut reader = Reader::new(model, most)?;
    for (i, own) in data.chunks(cols.max(1)).take(rows).enumerate() {
        let cell = |value: &&Value| match value {
            Value::Number(number) => Cell::Number(number.as_f64().unwrap_or(f64::NAN)),
            Value::Null => Cell::Gap(()),
            _ => Cell::Text("no number".into()),
        };
        let cells: Vec<Cell> = own.iter().map(cell).collect();
        reader.push(Row { row: Some(&cells), ..Row::default() }, &|| format!("X, row {}", i + 1))?;
    }
    let made = reader.done();
    let outputs = match &loaded.model {
        AnyModel::Rank(fitted) => ranks(fitted, made, inputs.ids("qid", rows)?, rows)?,
        AnyModel::Annotate(fitted) => labels(fitted, made, rows)?,
        AnyModel::Match(fitted) => matches(fitted, made, &inputs, rows)?,
        _ => vec![],
    };
    let wanted = request["outputs"].as_array();
    let is_wanted =
        |output: &Value| wanted.is_none_or(|all| all.is_empty() || all.iter().any(|own| own["name"] == output["name"]));
    let strange =
        wanted.and_then(|all| all.iter().find(|own| !outputs.iter().any(|output| output["name"] == own["name"])));
    if let Some(strange) = strange {
        return Err(Problem::unfit(format!("there is no output {}", strange["name"])));
    }
    let outputs: Vec<Value> = outputs.into_iter().filter(is_wanted).collect();
    let mut said = json!({"model_name": loaded.name, "model_version": loaded.version, "outputs": outputs});
    if let Some(id) = request["id"].as_str() {
        said["id"] = id.into();
    }
    Ok((said, rows))
}

type Rows = (ordain::matrix::Features, ordain::data::Columns);

fn output(name: &str, kind: &str, shape: &[usize], data: Vec<Value>) -> Value {
    json!({"name": name, "datatype": kind, "shape": shape, "data": data})
}

fn ranks(
    fitted: &Fitted<Rank>,
    (features, columns): Rows,
    qid: Option<Vec<String>>,
    rows: usize,
) -> Result<Vec<Value>> {
    let model = &fitted.model;
    let alone = matches!(model.inputs.scale, Scale::None | Scale::Global)
        && model.quadratic.is_none()
        && !matches!(model.score, Score::Comparison(_) | Score::Field(_));
    if qid.is_none() && !alone {
        let text =
            "this ranker looks at all documents of a query together: send the input \"qid\", the query of each row";
        return Err(Problem::unfit(text));
    }
    let ids = qid.unwrap_or_else(|| vec!["1".into(); rows]);
    let (mut names, mut of) = (vec![], vec![]);
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    for id in &ids {
        let number = *numbers.entry(id).or_insert_with(|| {
            names.push(id.clone());
            (names.len() - 1) as u32
        });
        of.push(number);
    }
    let mut set = RankSet::of_rows(features, columns, vec![0.0; rows], &of, names)?;
    set.graded = false;
    let ready = model.prepare_owned(set)?;
    let set = ready.set();
    let (mut scores, mut places) = (vec![Value::Null; rows], vec![Value::Null; rows]);
    for (q, said) in model.predict(&ready, &set.all(), false)?.into_iter().enumerate() {
        for (row, score) in set.span(q).zip(said.scores) {
            scores[set.input_row(row)] = score.into();
        }
        for (place, row) in (1..).zip(said.order) {
            places[set.input_row(row)] = place.into();
        }
    }
    Ok(vec![output("score", "FP64", &[rows], scores), output("rank", "INT64", &[rows], places)])
}

fn labels(fitted: &Fitted<Annotate>, (features, columns): Rows, rows: usize) -> Result<Vec<Value>> {
    let model = &fitted.model;
    let set = LabelSet::new(features, columns, model.labels.clone(), vec![vec![]; rows])?;
    let ready = model.prepare_owned(set)?;
    let said = model.predict(&ready, &ready.set().all())?;
    let values: Vec<Value> = said.into_iter().flat_map(|item| item.values).map(Value::from).collect();
    Ok(vec![output(values_of(fitted), "FP64", &[rows, model.labels.len()], values)])
}

fn matches(
    fitted: &Fitted<Match>,
    (mut features, columns): Rows,
    inputs: &Inputs<'_>,
    rows: usize,
) -> Result<Vec<Value>> {
    let problems = inputs.ids("problem", rows)?.unwrap_or_else(|| vec!["1".into(); rows]);
    let (lefts, rights) = (inputs.need("left", rows)?, inputs.need("right", rows)?);
    let mut edges = EdgeRows::default();
    for ((problem, left), right) in problems.iter().zip(&lefts).zip(&rights) {
        edges.push(problem, left, right, Truth::Unknown);
    }
    let (problems, order) = edges.grouped().map_err(|clash| {
        Problem::unfit(format!("expected each edge of problem {:?} once, found one twice", clash.problem))
    })?;
    if !order.is_sorted() {
        features.permute_rows(&order);
    }
    let ready = fitted.model.prepare_owned(MatchSet::new(features, columns, problems)?)?;
    let set = ready.set();
    let (mut scores, mut chances) = (vec![Value::Null; rows], vec![Value::Null; rows]);
    let mut matched = vec![Value::from(false); rows];
    for (p, said) in fitted.model.predict(&ready, &set.all())?.into_iter().enumerate() {
        let at = |e: usize| order[set.span(p).start + e] as usize;
        for e in 0..set.problem(p).edges.len() {
            scores[at(e)] = said.scores[e].into();
            chances[at(e)] = said.probabilities.as_ref().map(|all| all[e]).into();
        }
        said.matches.iter().for_each(|own| matched[at(own.edge as usize)] = true.into());
    }
    let mut all = vec![output("score", "FP64", &[rows], scores)];
    if fitted.model.temperature.is_some() {
        all.push(output("probability", "FP64", &[rows], chances));
    }
    all.push(output("matched", "BOOL", &[rows], matched));
    Ok(all)
}
