//! Health, readiness, counts, and what is served.

use crate::models::Loaded;
use crate::problem::{At, Problem, Result, json};
use crate::routes::App;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordain::model_file::AnyModel;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Every route, for programs.
const OPENAPI: &str = include_str!("openapi.json");

pub(crate) async fn alive() -> Response {
    json(StatusCode::OK, json!({"status": "ok"}).to_string())
}

/// Whether requests may come: models are loaded before anything listens, so what can fail is the disk.
pub(crate) async fn ready(State(app): State<Arc<App>>) -> Result<Response> {
    let refuse = |why: String| Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, why));
    if app.ending.load(Ordering::SeqCst) {
        return refuse("the server is ending".into());
    }
    match app.session.as_ref().and_then(|session| session.read_only()) {
        Some(why) => refuse(why),
        None => Ok(json(StatusCode::OK, json!({"status": "ready"}).to_string())),
    }
}

pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let method = |loaded: &Loaded| match &loaded.model {
        AnyModel::Rank(fitted) => fitted.facts.method.clone(),
        AnyModel::Annotate(fitted) => fitted.facts.method.clone(),
        AnyModel::Match(fitted) => fitted.facts.method.clone(),
        _ => String::new(),
    };
    let facts =
        |loaded: &Arc<Loaded>| [loaded.name.clone(), loaded.version.clone(), loaded.task().to_owned(), method(loaded)];
    let models: Vec<[String; 4]> = app.models.all().iter().map(facts).collect();
    let mut response = app.metrics.text(&models).into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

pub(crate) async fn openapi() -> Response {
    json(StatusCode::OK, OPENAPI.to_owned())
}

pub(crate) async fn models(State(app): State<Arc<App>>) -> Response {
    let all: Vec<Value> = app.models.all().iter().map(|loaded| loaded.facts()).collect();
    json(StatusCode::OK, json!({"models": all}).to_string())
}

pub(crate) async fn model(State(app): State<Arc<App>>, At(model): At<String>) -> Result<Response> {
    Ok(json(StatusCode::OK, app.models.find(&model)?.facts().to_string()))
}
