//! The contract of a machine learning backend of Label Studio, below a secret in the path: other programs send no header with a webhook.

use crate::guard::{body, same};
use crate::models::Loaded;
use crate::problem::{At, Problem, Result, json};
use crate::routes::App;
use crate::rows::{Named, Row};
use crate::said::{Said, said_of};
use crate::session::writer::Book;
use crate::session::{Page, Session};
use crate::{Access, LabelStudio};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use config::Config;
use ordain::Error;
use ordain::labelling::{Answer, Said as By, Subject};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

mod config;

/// The model that gives labels, if the secret is right.
fn enter(app: &App, secret: &str) -> Result<(Arc<Loaded>, LabelStudio)> {
    let off = || Problem::not_found("there is no such route (GET /openapi.json lists all)");
    let how = app.label_studio.ok_or_else(off)?;
    let known = match &app.access {
        Access::Open => true,
        Access::Tokens(all) => {
            all.iter().fold(false, |known, (_, own)| known | same(own.as_bytes(), secret.as_bytes()))
        }
    };
    if !known {
        return Err(off());
    }
    let annotators: Vec<Arc<Loaded>> = app.models.all().into_iter().filter(|own| own.annotator().is_ok()).collect();
    match &annotators[..] {
        [one] => Ok((one.clone(), how)),
        all => Err(Problem::unfit(format!("expected one model that gives labels, found {}", all.len()))),
    }
}

pub(crate) async fn health(State(app): State<Arc<App>>, At(secret): At<String>) -> Result<Response> {
    let (loaded, _) = enter(&app, &secret)?;
    Ok(json(
        StatusCode::OK,
        json!({"status": "UP", "model_class": "ordain", "model_version": loaded.full()}).to_string(),
    ))
}

pub(crate) async fn versions(State(app): State<Arc<App>>, At(secret): At<String>) -> Result<Response> {
    let (loaded, _) = enter(&app, &secret)?;
    Ok(json(StatusCode::OK, json!({"versions": [loaded.full()]}).to_string()))
}

/// What is set up holds the access token of a person: nothing of it is kept.
pub(crate) async fn setup(State(app): State<Arc<App>>, At(secret): At<String>, request: Request) -> Result<Response> {
    let (loaded, _) = enter(&app, &secret)?;
    body(&app, request.into_body()).await?;
    Ok(json(StatusCode::OK, json!({"model_version": loaded.full()}).to_string()))
}

/// Calls that Label Studio defines and does not make.
pub(crate) async fn none() -> Result<Response> {
    Err(Problem::not_found("this call is not served"))
}

async fn object(app: &App, request: Request) -> Result<Map<String, Value>> {
    let bytes = body(app, request.into_body()).await?;
    serde_json::from_slice(&bytes).map_err(|error| Problem::bad(format!("expected a JSON object, found {error}")))
}

pub(crate) async fn predict(State(app): State<Arc<App>>, At(secret): At<String>, request: Request) -> Result<Response> {
    let (loaded, _) = enter(&app, &secret)?;
    let asked = object(&app, request).await?;
    let own = app.clone();
    let work = move || {
        let none = vec![];
        let tasks = asked.get("tasks").and_then(Value::as_array).unwrap_or(&none);
        if tasks.len() > own.limits.rows {
            let text = format!("expected at most {} tasks, found {}", own.limits.rows, tasks.len());
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, text));
        }
        let labels = &loaded.annotator()?.model.labels;
        let xml = asked.get("label_config").and_then(Value::as_str).unwrap_or_default();
        let config = Config::read(xml, labels)?;
        let one = |task: &Value| {
            let nothing = || json!({"result": [], "model_version": loaded.full()});
            // a task that the model cannot read has no prediction; the others have theirs
            match said(&own, &loaded, &task["data"]) {
                Ok(said) => prediction(&config, &loaded, &said),
                Err(_) => nothing(),
            }
        };
        Ok(json!({"results": tasks.iter().map(one).collect::<Vec<Value>>()}))
    };
    Ok(json(StatusCode::OK, app.work.run(&app.metrics, work).await??.to_string()))
}

/// The prediction of a task: the labels that are choices. Tasks with the least score are to come first.
fn prediction(config: &Config, loaded: &Loaded, said: &Said) -> Value {
    let choices: Vec<&str> = said.chosen.iter().filter_map(|label| config.choice(label)).collect();
    let result = json!({
        "id": "ordain", "from_name": config.from, "to_name": config.to, "type": "choices", "value": {"choices": choices},
    });
    let mut one = json!({"result": [result], "model_version": loaded.full()});
    if let Some(precision) = said.precision {
        one["score"] = precision.into();
    }
    one
}

/// What the model says of a task: of its fields, if they have the names of features, else of the item of that id or text.
fn said(app: &App, loaded: &Loaded, data: &Value) -> Result<Said> {
    let names = loaded.annotator()?.model.inputs.raw();
    let fields: Map<String, Value> =
        names.iter().filter_map(|name| Some((name.clone(), data.get(name)?.clone()))).collect();
    if fields.len() == names.len() {
        let fields = Value::Object(fields);
        let named = Named::deserialize(&fields).map_err(|error| Problem::unfit(error.to_string()))?;
        return said_of(loaded, Row { features: Some(&named), ..Row::default() });
    }
    match unit(app, data) {
        Some(unit) => {
            app.session.as_ref().map_or_else(|| Err(Problem::not_found("no items")), |own| own.page.suggested(unit))
        }
        None => Err(Problem::unfit("a task without the features of the model, and no item has its id")),
    }
}

/// The item of a task.
fn unit(app: &App, data: &Value) -> Option<usize> {
    let page = &app.session.as_ref()?.page;
    let id = ["id", "item"].iter().find_map(|name| match &data[*name] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    let by_id = id.and_then(|id| page.find(&id).ok());
    by_id.or_else(|| data.as_object()?.values().filter_map(Value::as_str).find_map(|text| page.by_text(text)))
}

/// Takes over what people annotate there, on disk before the reply.
pub(crate) async fn webhook(State(app): State<Arc<App>>, At(secret): At<String>, request: Request) -> Result<Response> {
    let (loaded, how) = enter(&app, &secret)?;
    let said = object(&app, request).await?;
    let action = said.get("action").and_then(Value::as_str).unwrap_or_default();
    let done = || Ok(json(StatusCode::CREATED, json!({"status": "ok"}).to_string()));
    let Some(session) = &app.session else { return done() };
    let list = |name: &str| match said.get(name) {
        Some(Value::Array(all)) => all.clone(),
        Some(one @ Value::Object(_)) => vec![one.clone()],
        _ => vec![],
    };
    let mut answers = vec![];
    match action {
        "ANNOTATION_CREATED" | "ANNOTATIONS_CREATED" | "ANNOTATION_UPDATED" => {
            let labels = &loaded.annotator()?.model.labels;
            let project = &said.get("project").cloned().unwrap_or_default();
            let config = Config::read(project["label_config"].as_str().unwrap_or_default(), labels).ok();
            for (annotation, task) in list("annotation").iter().zip(list("task")) {
                if let Some(unit) = unit(&app, &task["data"]) {
                    answers.push((
                        unit,
                        person(annotation),
                        annotation["id"].clone(),
                        chosen(annotation, config.as_ref()),
                    ));
                }
            }
        }
        "ANNOTATIONS_DELETED" => {
            let gone: Vec<Value> = list("annotations").iter().map(|own| own["id"].clone()).collect();
            session.forget(gone).await?;
            return done();
        }
        _ => return done(),
    }
    for (unit, by, id, chosen) in answers {
        let labels = session.page.labels().unwrap_or(0) as u32;
        let page = session.page.clone();
        let things: Vec<(u32, Option<bool>)> = (0..labels)
            .filter_map(|label| match &chosen {
                None => None,
                Some(chosen) if chosen.iter().any(|own| own == page.label(label)) => Some((label, Some(true))),
                Some(_) if how.complete => Some((label, Some(false))),
                Some(_) => Some((label, None)),
            })
            .collect();
        session.annotated(unit, by, id, things).await?;
    }
    done()
}

/// Who annotated.
fn person(annotation: &Value) -> String {
    match &annotation["completed_by"] {
        Value::Object(own) => own.get("email").or(own.get("id")).map_or_else(|| "label-studio".into(), plain),
        Value::Null => "label-studio".into(),
        id => format!("label-studio {}", plain(id)),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The labels of an annotation; none where the person could not say.
fn chosen(annotation: &Value, config: Option<&Config>) -> Option<Vec<String>> {
    if annotation["was_cancelled"] == true {
        return None;
    }
    let results = annotation["result"].as_array()?;
    let choices =
        results.iter().filter(|one| one["type"] == "choices").filter_map(|one| one["value"]["choices"].as_array());
    let names = choices.flatten().filter_map(Value::as_str);
    Some(names.map(|name| config.map_or_else(|| name.to_owned(), |config| config.label(name).to_owned())).collect())
}

impl Session {
    /// Writes the labels of an annotation, whose place is taken by what the same annotation says later. Of a label that is not chosen
    /// nothing is known; if this annotation chose it before, that is taken back.
    pub(crate) async fn annotated(
        &self,
        unit: usize,
        by: String,
        id: Value,
        things: Vec<(u32, Option<bool>)>,
    ) -> Result<()> {
        let (page, path, version) = (self.page.clone(), self.path.clone(), self.page.version());
        let write = move |book: &mut dyn Book| {
            let before = Before::read(&path, &*page, &by)?;
            let mut written = 0;
            for (thing, yes) in things {
                let subject = Subject { unit: unit as u32, thing };
                let own = before.of(subject);
                let mut same = own.iter().filter(|entry| entry.annotation.as_ref() == Some(&id)).peekable();
                if same.peek().is_none() && yes.is_none() || yes.is_some() && same.any(|entry| entry.yes == yes) {
                    continue;
                }
                let mut kept: Vec<Entry> =
                    own.iter().filter(|entry| entry.annotation.as_ref() != Some(&id)).cloned().collect();
                kept.extend(yes.map(|_| Entry { n: 0, annotation: Some(id.clone()), yes }));
                settle(book, subject, &by, own, &kept, &version)?;
                written += usize::from(yes.is_some());
            }
            Ok::<_, Error>(written)
        };
        let written = self.writer.run_alone(write).await??;
        self.noted(written);
        Ok(())
    }

    /// Takes back what some annotations said; what others said of the same stands.
    async fn forget(&self, ids: Vec<Value>) -> Result<()> {
        let (page, path, version) = (self.page.clone(), self.path.clone(), self.page.version());
        let write = move |book: &mut dyn Book| {
            for by in annotators(&path, &ids)? {
                let before = Before::read(&path, &*page, &by)?;
                for (subject, own) in &before.0 {
                    let is_gone = |entry: &&Entry| entry.annotation.as_ref().is_some_and(|id| ids.contains(id));
                    let kept: Vec<Entry> = own.iter().filter(|entry| !is_gone(entry)).cloned().collect();
                    settle(book, *subject, &by, own, &kept, &version)?;
                }
            }
            Ok::<_, Error>(())
        };
        self.writer.run_alone(write).await?.map_err(Problem::from)
    }
}

/// An answer of a person, and the annotation that it is from.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    n: u64,
    annotation: Option<Value>,
    yes: Option<bool>,
}

/// The answers of a person that nobody took back: the last one on each subject stands, and took the place of those before it.
struct Before(BTreeMap<Subject, Vec<Entry>>);

impl Before {
    /// Reads them from the file of answers.
    fn read(path: &std::path::Path, page: &dyn Page, by: &str) -> ordain::Result<Self> {
        let text = lines(path)?;
        let mut all: BTreeMap<Subject, Vec<Entry>> = BTreeMap::new();
        // answers by number, and which answer an undo took back
        let (mut answers, mut undone): (HashMap<u64, (Subject, Entry)>, HashMap<u64, u64>) = Default::default();
        for line in about(&text, by) {
            let number = |name: &str| line.get(name).and_then(Value::as_u64);
            let Some(n) = number("n") else { continue };
            if let Some(of) = number("undo") {
                undone.insert(n, of);
                if let Some(own) = answers.get(&of).and_then(|(subject, _)| all.get_mut(subject)) {
                    own.retain(|entry| entry.n != of);
                }
            } else if let Some((subject, entry)) =
                number("redo").and_then(|undo| answers.get(undone.get(&undo)?)).cloned()
            {
                all.entry(subject).or_default().push(entry);
            } else {
                let unit = line.get(page.unit()).and_then(Value::as_str).and_then(|name| page.find(name).ok());
                let Some((unit, thing)) = unit.and_then(|unit| Some((unit, page.thing(unit, &line).ok()?))) else {
                    continue;
                };
                let yes = line.get("answer").and_then(Value::as_bool);
                let (subject, annotation) = (Subject { unit: unit as u32, thing }, line.get("annotation").cloned());
                let entry = Entry { n, annotation, yes };
                answers.insert(n, (subject, entry.clone()));
                all.entry(subject).or_default().push(entry);
            }
        }
        Ok(Self(all))
    }

    fn of(&self, subject: Subject) -> &[Entry] {
        self.0.get(&subject).map_or(&[], Vec::as_slice)
    }
}

fn lines(path: &std::path::Path) -> ordain::Result<String> {
    std::fs::read_to_string(path).map_err(|reason| Error::Io { path: path.into(), action: "read", reason })
}

/// The lines of a person; others are not parsed.
fn about<'t>(text: &'t str, by: &'t str) -> impl Iterator<Item = Map<String, Value>> + 't {
    let name = format!("\"by\":{}", Value::from(by));
    let own = text.lines().filter(move |line| line.contains(&name));
    own.filter_map(|line| serde_json::from_str(line).ok()).filter(move |line: &Map<_, _>| line["by"] == by)
}

/// The people of some annotations.
fn annotators(path: &std::path::Path, ids: &[Value]) -> ordain::Result<BTreeSet<String>> {
    let text = lines(path)?;
    let with = text.lines().filter(|line| line.contains("\"annotation\":"));
    let own = with.filter_map(|line| serde_json::from_str::<Map<String, Value>>(line).ok());
    let own = own.filter(|line| line.get("annotation").is_some_and(|id| ids.contains(id)));
    Ok(own.filter_map(|line| Some(line.get("by")?.as_str()?.to_owned())).collect())
}

/// Takes back the answers from the first one on that is not kept, and says those again that are.
fn settle(
    book: &mut dyn Book,
    subject: Subject,
    by: &str,
    old: &[Entry],
    new: &[Entry],
    version: &str,
) -> ordain::Result<()> {
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let said = || By { by: Some(by), at: SystemTime::now(), key: None };
    for _ in same..old.len() {
        book.take_back(subject, said())?;
    }
    for entry in &new[same..] {
        let mut more = Map::from_iter([("version".into(), version.into())]);
        more.extend(entry.annotation.clone().map(|id| ("annotation".into(), id)));
        book.change(Answer { subject, yes: entry.yes, grade: None, asked: false }, more, said())?;
    }
    Ok(())
}
