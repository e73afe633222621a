//! The routes of Annif's REST interface: a server that an Annif project of the kind `http` can ask, and that its clients can ask.

use crate::guard::body;
use crate::models::Loaded;
use crate::problem::{At, Problem, Result, json};
use crate::routes::App;
use crate::rows::Row;
use crate::said::{Said, said_of};
use axum::extract::{RawQuery, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use ordain::data::Kind;
use ordain::{Error, method};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Subjects by name: what a client knows.
pub(crate) struct Vocabulary {
    language: String,
    /// By URI and by label: URI, label and notation.
    subjects: HashMap<String, Arc<[String; 3]>>,
    size: usize,
}

impl Vocabulary {
    /// Reads a file as Annif has them: a line `<URI>`, tab, label and, after another tab, a notation.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], and [`Error::Parse`] of a line without a URI or a label.
    pub(crate) fn read(path: &std::path::Path, language: &str) -> ordain::Result<Self> {
        let lines = ordain::data::read_lines(path)?;
        let (mut subjects, mut uris) = (HashMap::new(), HashSet::new());
        for (line, text) in (1..).zip(&lines).filter(|(_, text)| !text.is_empty()) {
            let parts: Vec<&str> = text.split('\t').map(str::trim).collect();
            let uri = parts[0].strip_prefix('<').and_then(|uri| uri.strip_suffix('>')).unwrap_or(parts[0]);
            let label = parts.get(1).copied().unwrap_or_default();
            if uri.is_empty() || label.is_empty() {
                return Err(Error::Parse {
                    path: path.into(),
                    line,
                    column: 1,
                    expected: "<URI>, a tab and a label, as `annif load-vocab` reads them".into(),
                    found: format!("{:?}", text.chars().take(60).collect::<String>()),
                });
            }
            let notation = parts.get(2).copied().unwrap_or_default();
            let subject = Arc::new([uri, label, notation].map(str::to_owned));
            uris.insert(uri.to_owned());
            subjects.insert(uri.to_owned(), subject.clone());
            // a name that is a URI of another subject keeps that meaning
            subjects.entry(label.to_owned()).or_insert(subject);
        }
        Ok(Self { language: language.into(), subjects, size: uris.len() })
    }
}

impl App {
    fn vocabulary(&self) -> Result<&Vocabulary> {
        let none = "the routes of Annif are off: start the server with --annif --vocabulary FILE";
        self.vocabulary.as_ref().ok_or_else(|| Problem::not_found(none))
    }
}

pub(crate) async fn root(State(app): State<Arc<App>>) -> Result<Response> {
    app.vocabulary()?;
    let facts = json!({"title": "ordain serve", "version": env!("CARGO_PKG_VERSION")});
    Ok(json(StatusCode::OK, facts.to_string()))
}

/// What is said of a project, which is a model.
fn project(loaded: &Loaded, vocabulary: &Vocabulary) -> Value {
    json!({
        "project_id": loaded.name,
        "name": loaded.name,
        "language": vocabulary.language,
        "backend": {"backend_id": "ordain"},
        "vocab": {"vocab_id": "ordain", "languages": [vocabulary.language], "size": vocabulary.size, "loaded": true},
        "vocab_language": vocabulary.language,
        "is_trained": true,
        "modification_time": null,
    })
}

pub(crate) async fn projects(State(app): State<Arc<App>>) -> Result<Response> {
    let vocabulary = app.vocabulary()?;
    let all: Vec<Value> = (app.models.all().iter())
        .filter(|loaded| loaded.annotator().is_ok())
        .map(|loaded| project(loaded, vocabulary))
        .collect();
    Ok(json(StatusCode::OK, json!({"projects": all}).to_string()))
}

/// The model of a project.
fn found(app: &App, name: &str) -> Result<Arc<Loaded>> {
    let loaded = app.models.find(name)?;
    loaded.annotator().map(|_: &ordain::task::Fitted<method::Annotate>| ())?;
    Ok(loaded)
}

pub(crate) async fn one(State(app): State<Arc<App>>, At(name): At<String>) -> Result<Response> {
    let vocabulary = app.vocabulary()?;
    Ok(json(StatusCode::OK, project(&*found(&app, &name)?, vocabulary).to_string()))
}

pub(crate) async fn vocabularies(State(app): State<Arc<App>>) -> Result<Response> {
    let vocabulary = app.vocabulary()?;
    let own =
        json!({"vocab_id": "ordain", "languages": [vocabulary.language], "size": vocabulary.size, "loaded": true});
    Ok(json(StatusCode::OK, json!({"vocabs": [own]}).to_string()))
}

/// How many suggestions are wanted, and how sure.
#[derive(Clone, Copy)]
struct Wanted {
    limit: usize,
    threshold: f64,
}

impl Wanted {
    fn of(all: &HashMap<String, String>, vocabulary: &Vocabulary) -> Result<Self> {
        fn number<T: std::str::FromStr>(all: &HashMap<String, String>, name: &str, usual: T, range: &str) -> Result<T> {
            let Some(text) = all.get(name) else { return Ok(usual) };
            text.parse().map_err(|_| Problem::bad(format!("{name}: expected {range}, found {text:?}")))
        }
        let wanted = Self {
            limit: number(all, "limit", 10, "a whole number from 0")?,
            threshold: number(all, "threshold", 0.0, "a number from 0 to 1")?,
        };
        if !(0.0..=1.0).contains(&wanted.threshold) {
            return Err(Problem::bad("threshold: expected a number from 0 to 1"));
        }
        match all.get("language").filter(|own| **own != vocabulary.language) {
            Some(other) => {
                Err(Problem::bad(format!("language: the vocabulary has {:?}, found {other:?}", vocabulary.language)))
            }
            None => Ok(wanted),
        }
    }
}

/// What a model says of a text: by its words, if it reads one text and nothing else, else of the item that shows it or has it as its id.
fn said(app: &App, loaded: &Loaded, text: &str, id: Option<&str>) -> Result<Said> {
    let inputs = &loaded.annotator()?.model.inputs;
    let is_text = inputs.raw().len() == 1 && inputs.steps.iter().any(|(input, _)| input.kind == Kind::Text);
    if is_text {
        return said_of(loaded, Row { text: Some(text), ..Row::default() });
    }
    let page = app.session.as_ref().map(|session| &session.page);
    let unit = page.and_then(|page| id.and_then(|id| page.find(id).ok()).or_else(|| page.by_text(text)));
    match page.zip(unit) {
        Some((page, unit)) => page.suggested(unit),
        None => Err(Problem::unfit(
            "this model takes features, not text: start the server with --items DATA --show COLUMN, and send texts of that column",
        )),
    }
}

/// Suggestions that the client knows, each once.
fn suggestions(vocabulary: &Vocabulary, said: &Said, wanted: Wanted) -> Value {
    let mut seen = HashSet::new();
    let subject = |(label, score): &(String, Option<f64>)| {
        let score = score.unwrap_or_else(|| f64::from(u8::from(said.chosen.contains(label))));
        let subject = vocabulary.subjects.get(label).filter(|_| score > 0.0 && score >= wanted.threshold)?;
        let [uri, label, notation] = &**subject;
        let notation = Some(notation).filter(|notation| !notation.is_empty());
        seen.insert(uri.clone())
            .then(|| json!({"uri": uri, "label": label, "notation": notation, "score": score.min(1.0)}))
    };
    said.labels.iter().filter_map(subject).take(wanted.limit).collect::<Vec<_>>().into()
}

pub(crate) async fn suggest(State(app): State<Arc<App>>, At(name): At<String>, request: Request) -> Result<Response> {
    app.vocabulary()?;
    let loaded = found(&app, &name)?;
    let bytes = body(&app, request.into_body()).await?;
    let all: HashMap<String, String> = form_urlencoded::parse(&bytes).into_owned().collect();
    let own = app.clone();
    let work = move || {
        let vocabulary = own.vocabulary()?;
        let wanted = Wanted::of(&all, vocabulary)?;
        let text = all.get("text").ok_or_else(|| Problem::bad("expected the parameter text"))?;
        let said = said(&own, &loaded, text, None)?;
        Ok::<_, Problem>(json!({"results": suggestions(vocabulary, &said, wanted)}))
    };
    Ok(json(StatusCode::OK, app.work.run(&app.metrics, work).await??.to_string()))
}

/// The most documents of a request.
const BATCH: usize = 32;

pub(crate) async fn suggest_batch(
    State(app): State<Arc<App>>,
    At(name): At<String>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response> {
    app.vocabulary()?;
    let loaded = found(&app, &name)?;
    let bytes = body(&app, request.into_body()).await?;
    let all = crate::session::routes::parameters(query.as_deref());
    let own = app.clone();
    let work = move || {
        let vocabulary = own.vocabulary()?;
        let wanted = Wanted::of(&all, vocabulary)?;
        let request: Value =
            serde_json::from_slice(&bytes).map_err(|error| Problem::bad(format!("expected JSON, found {error}")))?;
        let documents = request["documents"].as_array().filter(|all| all.len() <= BATCH);
        let documents = documents.ok_or_else(|| Problem::bad(format!("expected up to {BATCH} documents")))?;
        let one = |document: &Value| {
            let text = document["text"].as_str().ok_or_else(|| Problem::bad("expected a text in each document"))?;
            let said = said(&own, &loaded, text, document["document_id"].as_str())?;
            Ok::<_, Problem>(
                json!({"document_id": document["document_id"], "results": suggestions(vocabulary, &said, wanted)}),
            )
        };
        documents.iter().map(one).collect::<Result<Vec<Value>>>()
    };
    Ok(json(StatusCode::OK, Value::from(app.work.run(&app.metrics, work).await??).to_string()))
}

/// Writes the subjects of documents to the answers, all of them or none: a fit learns from these, not the request.
pub(crate) async fn learn(State(app): State<Arc<App>>, At(name): At<String>, request: Request) -> Result<StatusCode> {
    let (vocabulary, _) = (app.vocabulary()?, found(&app, &name)?);
    let session = app.session.as_ref().filter(|_| app.accept_learn).ok_or_else(|| {
        let text = "nothing is learned here: start the server with --accept-learn --items DATA";
        Problem::new(StatusCode::FORBIDDEN, text)
    })?;
    let bytes = body(&app, request.into_body()).await?;
    let request: Value =
        serde_json::from_slice(&bytes).map_err(|error| Problem::bad(format!("expected JSON, found {error}")))?;
    let expected = || Problem::bad("expected a list of documents, each with a text and its subjects");
    let mut told = vec![];
    for (n, document) in (1..).zip(request.as_array().ok_or_else(expected)?) {
        let text = document["text"].as_str().ok_or_else(expected)?;
        let unit = session.page.by_text(text);
        let unit =
            unit.ok_or_else(|| Problem::bad(format!("document {n}: expected the text of an item, found another")))?;
        let mut things = vec![];
        for subject in document["subjects"].as_array().ok_or_else(expected)? {
            let uri = subject["uri"].as_str().ok_or_else(expected)?;
            let unknown = || Problem::bad(format!("document {n}: expected subjects of the vocabulary, found {uri:?}"));
            let [_, label, _] = &**vocabulary.subjects.get(uri).ok_or_else(unknown)?;
            let one = serde_json::Map::from_iter([("label".into(), label.as_str().into())]);
            things.push((session.page.thing(unit, &one)?, Some(true)));
        }
        told.push((unit, things));
    }
    for (unit, things) in told {
        session.annotated(unit, "annif".into(), Value::Null, things).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}
