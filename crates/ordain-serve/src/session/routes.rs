//! The routes of the page.

use super::{Session, Told, Who, said, stale};
use crate::guard::{Person, body};
use crate::problem::{At, Problem, Result, json};
use crate::routes::App;
use axum::Extension;
use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordain::labelling::{Answer, Said, Subject};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

impl App {
    /// The session, or what is missing for one.
    fn session(&self) -> Result<&Session> {
        let none = "there is nothing to label here: start the server with --items DATA";
        self.session.as_ref().ok_or_else(|| Problem::not_found(none))
    }
}

/// The person of a request: by the token, else as the page says.
fn who(person: &Person, headers: &HeaderMap) -> Result<Who> {
    if let Some(name) = &person.0 {
        return Ok(Who { by: Some(name.clone()), fixed: true });
    }
    let Some(name) = headers.get("x-annotator") else { return Ok(Who { by: None, fixed: false }) };
    // the name stands there as in a form
    let text = [b"n=", &name.as_bytes().replace_plus()[..]].concat();
    let name = form_urlencoded::parse(&text).next().map(|(_, name)| name.trim().to_owned()).unwrap_or_default();
    if name.chars().count() > 100 || name.contains(char::is_control) {
        return Err(Problem::bad("expected a name of at most 100 characters in X-Annotator"));
    }
    Ok(Who { by: Some(name).filter(|name| !name.is_empty()), fixed: false })
}

/// Percent-encoded text has no blanks as plus signs.
trait ReplacePlus {
    fn replace_plus(&self) -> Vec<u8>;
}

impl ReplacePlus for [u8] {
    fn replace_plus(&self) -> Vec<u8> {
        self.iter().flat_map(|&b| if b == b'+' { b"%2B".to_vec() } else { vec![b] }).collect()
    }
}

/// The parameters of an address.
pub(crate) fn parameters(query: Option<&str>) -> HashMap<String, String> {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect()
}

/// A number among parameters.
fn number(all: &HashMap<String, String>, name: &str, usual: usize, most: usize) -> Result<usize> {
    let Some(text) = all.get(name) else { return Ok(usual) };
    let wrong = || Problem::bad(format!("{name}: expected a whole number, found {text:?}"));
    Ok(text.parse::<usize>().map_err(|_| wrong())?.min(most))
}

/// What the file says of a unit and a person.
async fn told(session: &Session, unit: Option<usize>, by: &Option<String>) -> Result<Told> {
    let by = by.clone();
    session.writer.look(move |book| Told::of(book, unit, by.as_deref())).await
}

pub(crate) async fn session(
    State(app): State<Arc<App>>,
    Extension(person): Extension<Person>,
    headers: HeaderMap,
) -> Result<Response> {
    let (session, who) = (app.session()?, who(&person, &headers)?);
    let told = told(session, None, &who.by).await?;
    Ok(json(StatusCode::OK, session.document(&told, who.by.as_deref(), who.fixed).to_string()))
}

pub(crate) async fn items(
    State(app): State<Arc<App>>,
    Extension(person): Extension<Person>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response> {
    let (session, who, query) = (app.session()?, who(&person, &headers)?, parameters(query.as_deref()));
    let (what, most) = (query.get("state").map_or("open", String::as_str).to_owned(), number(&query, "n", 50, 500)?);
    if !["open", "done", "doubtful"].contains(&&*what) {
        return Err(Problem::bad(format!("state: expected open, done or doubtful, found {what:?}")));
    }
    let after = query.get("after").map(|name| session.page.find(name)).transpose()?;
    let standing = session.writer.look(|book| book.standing()).await?;
    let mut all = session.listed(&standing, who.by.as_deref(), &what);
    if let Some(after) = after {
        // the order is fixed: what follows comes first, and the one itself does not come again
        let doubts = session.page.doubts();
        let place = |unit: usize| doubts[after].total_cmp(&doubts[unit]).then(unit.cmp(&after));
        let before = |unit: usize| place(unit).is_le();
        let first = all.iter().position(|(unit, _)| !before(*unit)).unwrap_or(all.len());
        all.rotate_left(first);
        all.retain(|(unit, _)| *unit != after);
    }
    let rows: Vec<Value> = (all.into_iter().take(most))
        .map(|(unit, answers)| {
            let state = if answers > 0 { "done" } else { "open" };
            let doubt = Some(session.page.doubts()[unit]).filter(|doubt| doubt.is_finite());
            json!({"item": session.page.name(unit), "state": state, "answers": answers, "doubt": doubt})
        })
        .collect();
    Ok(json(StatusCode::OK, json!({"items": rows}).to_string()))
}

/// The state of a unit, worked out where models work.
async fn state(app: &Arc<App>, unit: usize, told: Told, who: Who, wanted: Option<u32>) -> Result<Value> {
    let own = app.clone();
    app.work.run(&app.metrics, move || own.session()?.state(unit, &told, &who, wanted)).await?
}

pub(crate) async fn item(
    State(app): State<Arc<App>>,
    Extension(person): Extension<Person>,
    At(item): At<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response> {
    let (session, who, query) = (app.session()?, who(&person, &headers)?, parameters(query.as_deref()));
    let unit = session.page.find(&item)?;
    let body: Map<String, Value> = query.into_iter().map(|(name, value)| (name, value.into())).collect();
    let wanted = if body.contains_key("left") { Some(session.page.thing(unit, &body)?) } else { None };
    if session.leased(unit, who.by.as_deref()).is_none() {
        session.lease(unit, who.by.as_deref());
    }
    let told = told(session, Some(unit), &who.by).await?;
    Ok(json(StatusCode::OK, state(&app, unit, told, who, wanted).await?.to_string()))
}

pub(crate) async fn labels(
    State(app): State<Arc<App>>,
    Extension(person): Extension<Person>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response> {
    let (session, who, query) = (app.session()?, who(&person, &headers)?, parameters(query.as_deref()));
    let most = number(&query, "n", 30, 100)?;
    let unit = query.get("item").map(|name| session.page.find(name)).transpose()?;
    let answers = told(session, unit, &who.by).await?.answers;
    let (found, total) = session.page.search(query.get("q").map_or("", String::as_str), most);
    let state = |label: u32| {
        let said = answers.iter().find(|answer| answer.subject.thing == label)?.yes?;
        Some(if said { "yes" } else { "no" })
    };
    let rows: Vec<Value> = (found.into_iter())
        .map(|label| json!({"label": session.page.label(label), "probability": null, "state": state(label)}))
        .collect();
    Ok(json(StatusCode::OK, json!({"labels": rows, "total": total}).to_string()))
}

pub(crate) async fn picture(State(app): State<Arc<App>>, At(name): At<String>) -> Result<Response> {
    app.session()?;
    let own = app.clone();
    let read = tokio::task::spawn_blocking(move || own.session()?.picture(&name)).await;
    let gone = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the picture could not be read");
    let (kind, bytes) = read.map_err(gone)??;
    let mut response = bytes.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

/// The body of a request as an object.
async fn object(app: &App, request: Request) -> Result<Map<String, Value>> {
    let bytes = body(app, request.into_body()).await?;
    serde_json::from_slice(&bytes).map_err(|error| Problem::bad(format!("expected a JSON object, found {error}")))
}

/// Text in an object.
fn text<'a>(body: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= 10_000 => Ok(Some(text)),
        Some(_) => Err(Problem::unfit(format!("expected {name:?} to be a text of at most 10000 bytes"))),
    }
}

/// A key that is there already, one that is to be written, or a state that is no longer so.
enum Done {
    Written,
    Repeated,
    Stale,
}

pub(crate) async fn answers(
    State(app): State<Arc<App>>,
    Extension(person): Extension<Person>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response> {
    let (session, who) = (app.session()?, who(&person, &headers)?);
    let body = object(&app, request).await?;
    let item = text(&body, "item")?.ok_or_else(|| Problem::unfit("expected \"item\", the id of an item"))?;
    let unit = session.page.find(item)?;
    let thing = session.page.thing(unit, &body)?;
    let (yes, grade) = match (body.get("answer"), session.page.grades()) {
        (Some(Value::Null), _) => (None, None),
        (Some(Value::Bool(yes)), None) => (Some(*yes), None),
        (Some(Value::Number(grade)), Some(best)) if grade.as_u64().is_some_and(|grade| grade <= best.into()) => {
            (None, grade.as_u64().map(|grade| grade as u8))
        }
        (_, None) => return Err(Problem::unfit("expected \"answer\" to be true, false or null")),
        (_, Some(best)) => {
            return Err(Problem::unfit(format!("expected \"answer\" to be a grade from 0 to {best}, or null")));
        }
    };
    let seen = body.get("seen").and_then(Value::as_u64);
    let asked = body.get("asked") != Some(&Value::Bool(false));
    let mut more = if asked { session.record(unit, thing, seen, &who.by) } else { Map::new() };
    more.insert("version".into(), session.page.version().into());
    more.extend(body.get("ms").and_then(Value::as_u64).map(|ms| ("ms".into(), ms.into())));
    let key = text(&body, "key")?.map(str::to_owned);
    let answer = Answer { subject: Subject { unit: unit as u32, thing }, yes, grade, asked };
    let by = who.by.clone();
    let write = move |book: &mut dyn super::Book| {
        let (by, key) = (by.as_deref(), key.as_deref());
        let done = if key.is_some_and(|key| book.has_key(key)) {
            Done::Repeated
        } else if seen.is_some_and(|seen| seen != book.last_line(unit, by)) {
            Done::Stale
        } else {
            book.change(answer, more, Said { by, at: SystemTime::now(), key })?;
            Done::Written
        };
        Ok::<_, ordain::Error>((done, Told::of(book, Some(unit), by)))
    };
    let (done, told) = session.writer.run(write).await??;
    session.lease(unit, who.by.as_deref());
    if matches!(done, Done::Written) {
        session.noted(usize::from(answer.is_known()));
        app.metrics.answered(match yes {
            _ if grade.is_some() => "grade",
            Some(true) => "yes",
            Some(false) => "no",
            None => "skip",
        });
    }
    let state = state(&app, unit, told, who, None).await?;
    match done {
        Done::Stale => Err(stale(state)),
        _ => Ok(json(StatusCode::OK, state.to_string())),
    }
}

/// Takes back, or says again.
async fn turn(app: Arc<App>, person: Person, headers: HeaderMap, request: Request, undo: bool) -> Result<Response> {
    let (session, who) = (app.session()?, who(&person, &headers)?);
    let body = object(&app, request).await?;
    let (key, by) = (text(&body, "key")?.map(str::to_owned), who.by.clone());
    let write = move |book: &mut dyn super::Book| {
        let said = Said { by: by.as_deref(), at: SystemTime::now(), key: key.as_deref() };
        let done = if undo { book.undo(said)? } else { book.redo(said)? };
        let told = done.map(|answer| Told::of(book, Some(answer.subject.unit as usize), by.as_deref()));
        Ok::<_, ordain::Error>(done.zip(told))
    };
    let word = if undo { "undone" } else { "redone" };
    let Some((answer, told)) = session.writer.run(write).await?? else {
        return Ok(json(StatusCode::OK, json!({word: null, "item": null}).to_string()));
    };
    app.metrics.answered(if undo { "undo" } else { "redo" });
    let unit = answer.subject.unit as usize;
    session.lease(unit, who.by.as_deref());
    let mut line = session.page.names(unit, answer.subject.thing);
    line.insert("item".into(), session.page.name(unit).into());
    line.insert("answer".into(), said(&answer));
    let state = state(&app, unit, told, who, None).await?;
    Ok(json(StatusCode::OK, json!({word: line, "item": state}).to_string()))
}

pub(crate) async fn undo(
    State(app): State<Arc<App>>,
    Extension(person): Extension<Person>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response> {
    turn(app, person, headers, request, true).await
}

pub(crate) async fn redo(
    State(app): State<Arc<App>>,
    Extension(person): Extension<Person>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response> {
    turn(app, person, headers, request, false).await
}

pub(crate) async fn export(
    State(app): State<Arc<App>>,
    Extension(person): Extension<Person>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response> {
    let (session, _) = (app.session()?, who(&person, &headers)?);
    let query = parameters(query.as_deref());
    let format = query.get("format").map_or("jsonl", String::as_str);
    let all = match query.get("votes").map(String::as_str) {
        None => false,
        Some("all") => true,
        Some(other) => return Err(Problem::bad(format!("votes: expected all, found {other:?}"))),
    };
    let (kind, end) = super::export::kind(format)?;
    let text = if format == "jsonl" {
        // the writer is asked first, so that no half line is there
        let path = session.path.clone();
        let read = session.writer.look(move |_| std::fs::read_to_string(path)).await?;
        read.map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?
    } else {
        let standing = session.writer.look(|book| book.standing()).await?;
        super::export::text(&*session.page, &standing, format, all)?
    };
    let mut response = json(StatusCode::OK, text);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let name = format!("attachment; filename=\"answers.{end}\"");
    headers.extend(HeaderValue::from_str(&name).ok().map(|value| (header::CONTENT_DISPOSITION, value)));
    Ok(response)
}
