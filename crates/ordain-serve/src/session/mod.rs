//! A session of labelling: what people see, and what they say.

mod data;
mod export;
mod labels;
pub(crate) mod learn;
mod matches;
mod media;
mod ranks;
mod records;
pub(crate) mod routes;
mod search;
mod show;
pub(crate) mod writer;

use crate::Labelled;
use crate::metrics::Metrics;
use crate::models::Loaded;
use crate::problem::{Problem, Result};
use crate::said::Said;
use axum::http::StatusCode;
use learn::{Learned, Learner};
use media::Media;
use ordain::answer::Control;
use ordain::labelling::Answer;
use ordain::metric::stats;
use ordain::model_file::AnyModel;
use ordain::solver::run::Watch;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use writer::{Book, Writer};

/// What the page of a task needs of its model and data. It knows nothing of people and files.
pub(crate) trait Page: Send + Sync {
    fn task(&self) -> &'static str;
    /// `NAME@VERSION` of the model.
    fn version(&self) -> String;
    fn units(&self) -> usize;
    /// The number of labels, where there are labels.
    fn labels(&self) -> Option<usize>;
    /// The best grade, where answers are grades.
    fn grades(&self) -> Option<u8> {
        None
    }
    /// The strategy, and what is to be said about it.
    fn strategy(&self) -> (&'static str, Option<String>);
    fn find(&self, name: &str) -> Result<usize>;
    /// What a unit is called in a file of answers: `item`, `problem` or `query`.
    fn unit(&self) -> &'static str;
    fn name(&self, unit: usize) -> String;
    /// The text of a unit, if that is what is shown of it.
    fn text(&self, unit: usize) -> Option<&str>;
    /// The names of all pictures.
    fn pictures(&self) -> Vec<&str> {
        vec![]
    }
    /// What an answer is about: its number within the unit.
    fn thing(&self, unit: usize, body: &Map<String, Value>) -> Result<u32>;
    /// The names of that.
    fn names(&self, unit: usize, thing: u32) -> Map<String, Value>;
    /// How much each unit is in doubt before any answer.
    fn doubts(&self) -> &[f64];
    /// The part of the state of a unit that is the task's own, with the question in it.
    fn state(&self, unit: usize, answers: &[Answer], how: &How) -> Result<State>;
    /// Takes over another model of the same columns and names.
    fn take_over(&self, loaded: &Arc<Loaded>) -> ordain::Result<()>;
    /// Learns from the answers that stand; `twin` is the model that is judged in the place of the one that is served.
    fn learn(
        &self,
        served: &Loaded,
        twin: Option<&AnyModel>,
        standing: &[(Answer, Option<String>)],
        watch: &Watch,
    ) -> ordain::Result<Option<Learned>>;
    /// The labels of a unit, for programs that show them.
    fn suggested(&self, _unit: usize) -> Result<Said> {
        Err(Problem::unfit("this model gives no labels"))
    }
    /// The unit that shows a text.
    fn by_text(&self, _text: &str) -> Option<usize> {
        None
    }
    /// Labels that are searched for by a part of their name: the first of them by number, and how many there are.
    fn search(&self, text: &str, most: usize) -> (Vec<u32>, usize);
    /// The label of a number.
    fn label(&self, label: u32) -> &str;
}

/// How a unit is shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct How {
    /// Whether what the model thinks is left out.
    pub(crate) blind: bool,
    /// Whether the question is drawn at random.
    pub(crate) control: bool,
    /// What the person wants to be asked about.
    pub(crate) wanted: Option<u32>,
}

/// The state of a unit.
pub(crate) struct State {
    pub(crate) document: Map<String, Value>,
    /// The number of what is asked about, and what a line is to say of the question.
    pub(crate) question: Option<(u32, Map<String, Value>)>,
    pub(crate) precision: Option<f64>,
}

/// A question is drawn at random after so many.
const CONTROL: usize = 20;
/// How long an item is kept for a person.
const LEASE: Duration = Duration::from_secs(600);
/// How many of a person's own answers on an item are listed.
const HISTORY: usize = 20;

/// A person: a name, or none was given.
type Person = Option<String>;
/// The line that was the last when a question was seen, and the question.
type Seen = (u64, u32, Map<String, Value>);

/// A session.
pub(crate) struct Session {
    pub(crate) page: Arc<dyn Page>,
    pub(crate) writer: Writer,
    media: Option<Media>,
    learner: Option<Learner>,
    /// The name of the data.
    name: String,
    pub(crate) path: std::path::PathBuf,
    blind: bool,
    overlap: usize,
    target: f64,
    leases: Mutex<HashMap<usize, Vec<(Person, Instant)>>>,
    /// The question that each person saw last on each unit, with the line that was the last then.
    asked: Mutex<HashMap<(usize, Person), Seen>>,
    precisions: Mutex<HashMap<usize, f64>>,
}

/// What the file says of a unit and a person.
struct Told {
    answers: Vec<Answer>,
    seq: u64,
    can: (bool, bool),
    control: (usize, usize),
    /// Units with an answer of the person, all answers of the person, and those that were asked for.
    counts: [usize; 3],
}

impl Told {
    fn of(book: &dyn Book, unit: Option<usize>, by: Option<&str>) -> Self {
        let own: Vec<Answer> =
            book.standing().into_iter().filter(|(_, who)| who.as_deref() == by).map(|(answer, _)| answer).collect();
        let units: HashSet<u32> = own.iter().map(|answer| answer.subject.unit).collect();
        let asked = own.iter().filter(|answer| answer.asked).count();
        Self {
            answers: unit.map_or(vec![], |unit| book.of_unit(unit, by)),
            seq: unit.map_or(0, |unit| book.last_line(unit, by)),
            can: book.can_turn(by),
            control: book.control(by),
            counts: [units.len(), own.len(), asked],
        }
    }
}

impl Session {
    /// Reads the data of a session, and opens its file of answers. The second value has words for the person who runs the server.
    pub(crate) fn open(
        given: &Labelled,
        (loaded, model): (&Arc<Loaded>, &Path),
        metrics: &Arc<Metrics>,
    ) -> ordain::Result<(Self, Vec<String>)> {
        if given.records.is_some() && loaded.task() != "match" {
            return Err(ordain::Error::Setting {
                name: "records".into(),
                expected: "a model that matches, whose pairs have records on both sides".into(),
                found: format!("one of the task {}", loaded.task()),
            });
        }
        let (page, writer, half) = match &loaded.model {
            AnyModel::Annotate(_) => labels::open(given, loaded, metrics)?,
            AnyModel::Match(_) => matches::open(given, loaded, metrics)?,
            AnyModel::Rank(_) => ranks::open(given, loaded, metrics)?,
            _ => {
                return Err(ordain::Error::Data {
                    expected: "a model that ranks, gives labels or matches, for the page".into(),
                    found: format!("one of the task {}", loaded.task()),
                });
            }
        };
        let mut words = vec![];
        if half {
            words.push(format!("warning: {}: the last line was not complete and is left out", given.answers.display()));
        }
        words.extend(page.strategy().1);
        let media = given.media.as_ref().map(|folder| Media::open(folder, page.pictures().into_iter())).transpose()?;
        let (media, gone) = media.unzip();
        words.extend(gone.flatten());
        let name = given.items.file_stem().map_or("items".into(), |name| name.to_string_lossy().into_owned());
        let session = Self {
            page,
            writer,
            media,
            learner: given.learn.map(|every| Learner::new(every, model)).transpose()?,
            name,
            path: given.answers.clone(),
            blind: given.blind,
            overlap: given.overlap.max(1),
            target: given.target,
            leases: Mutex::default(),
            asked: Mutex::default(),
            precisions: Mutex::default(),
        };
        Ok((session, words))
    }

    /// Why answers cannot be written, if that is so.
    pub(crate) fn read_only(&self) -> Option<String> {
        self.writer.failed()
    }

    /// Takes over another model.
    pub(crate) fn take_over(&self, loaded: &Arc<Loaded>) -> ordain::Result<()> {
        self.page.take_over(loaded)?;
        lock(&self.precisions).clear();
        Ok(())
    }

    /// A picture of the data and its kind.
    pub(crate) fn picture(&self, name: &str) -> Result<(&'static str, Vec<u8>)> {
        let none = || Problem::not_found("no pictures are shown here: start the server with --media FOLDER");
        self.media.as_ref().ok_or_else(none)?.read(name)
    }

    /// Waits until all answers are on the disk.
    pub(crate) fn close(&self) {
        self.learner.iter().for_each(Learner::end);
        self.writer.close();
    }

    /// What is said of the whole session.
    fn document(&self, told: &Told, by: Option<&str>, fixed: bool) -> Value {
        let (strategy, note) = self.page.strategy();
        let [done, answers, _] = told.counts;
        let control = Control::new(told.control.0, told.control.1);
        let known: Vec<f64> = lock(&self.precisions).values().copied().collect();
        let precision = (!known.is_empty()).then(|| stats::mean(&known));
        json!({
            "task": self.page.task(),
            "name": self.name,
            "version": self.page.version(),
            "items": self.page.units(),
            "labels": self.page.labels(),
            "grades": self.page.grades(),
            "strategy": strategy,
            "note": note,
            "blind": self.blind,
            "annotator": by,
            "annotator_fixed": fixed,
            "progress": {"items_done": done, "answers": answers, "open": self.page.units() - done},
            "quality": {"expected_precision": if self.blind { None } else { precision }, "control": control},
            "suggest_stop": control.stop(self.target),
            "read_only": self.read_only(),
            "can": {"undo": told.can.0, "redo": told.can.1},
            "formats": if self.page.task() == "annotate" {
                vec!["jsonl", "csv", "labelstudio", "doccano"]
            } else {
                vec!["jsonl", "csv"]
            },
        })
    }

    /// Whether the next question of a person is one that controls the model.
    fn controls(&self, told: &Told) -> bool {
        self.page.task() == "annotate" && told.counts[2] % CONTROL == CONTROL - 1
    }

    /// The state of a unit for a person; costs a question.
    fn state(&self, unit: usize, told: &Told, who: &Who, wanted: Option<u32>) -> Result<Value> {
        let by = who.by.as_deref();
        let how = How { blind: self.blind, control: self.controls(told), wanted };
        let State { mut document, question, precision } = self.page.state(unit, &told.answers, &how)?;
        if let Some(precision) = precision {
            lock(&self.precisions).insert(unit, precision);
        }
        let key = (unit, who.by.clone());
        match question {
            Some((thing, record)) => _ = lock(&self.asked).insert(key, (told.seq, thing, record)),
            None => _ = lock(&self.asked).remove(&key),
        }
        let history = told.answers.iter().rev().take(HISTORY).map(|answer| {
            let mut line = self.page.names(unit, answer.subject.thing);
            line.insert("answer".into(), said(answer));
            Value::Object(line)
        });
        let mut all = Map::from_iter([
            ("item".into(), self.page.name(unit).into()),
            ("seq".into(), told.seq.into()),
            ("state".into(), if told.answers.is_empty() { "open" } else { "done" }.into()),
            ("leased_by".into(), self.leased(unit, by).into()),
            ("history".into(), history.collect()),
        ]);
        all.append(&mut document);
        all.insert("session".into(), self.document(told, by, who.fixed));
        Ok(all.into())
    }

    /// What a line is to say of the question that it answers, if the person saw it.
    fn record(&self, unit: usize, thing: u32, seen: Option<u64>, by: &Option<String>) -> Map<String, Value> {
        let asked = lock(&self.asked);
        let found = asked
            .get(&(unit, by.clone()))
            .filter(|(seq, own, _)| seen.is_none_or(|seen| seen == *seq) && *own == thing);
        found.map(|(.., record)| record.clone()).unwrap_or_default()
    }

    /// Keeps a unit for a person.
    fn lease(&self, unit: usize, by: Option<&str>) {
        let mut leases = lock(&self.leases);
        let own = leases.entry(unit).or_default();
        own.retain(|(who, since)| who.as_deref() != by && since.elapsed() < LEASE);
        own.push((by.map(Into::into), Instant::now()));
    }

    /// Who else a unit is kept for, if nobody more is to see it.
    fn leased(&self, unit: usize, by: Option<&str>) -> Option<String> {
        let leases = lock(&self.leases);
        let own = leases.get(&unit)?;
        let others: Vec<&(Option<String>, Instant)> =
            own.iter().filter(|(who, since)| who.as_deref() != by && since.elapsed() < LEASE).collect();
        let first = others.first().filter(|_| others.len() >= self.overlap)?;
        Some(first.0.clone().unwrap_or_else(|| "somebody without a name".into()))
    }

    /// The units that are offered to a person, the most doubtful first.
    fn listed(&self, standing: &[(Answer, Option<String>)], by: Option<&str>, what: &str) -> Vec<(usize, usize)> {
        let mut own: HashMap<usize, usize> = HashMap::new();
        let mut others: HashMap<usize, HashSet<Option<&str>>> = HashMap::new();
        for (answer, who) in standing {
            let unit = answer.subject.unit as usize;
            match who.as_deref() == by {
                true => *own.entry(unit).or_default() += 1,
                false => _ = others.entry(unit).or_default().insert(who.as_deref()),
            }
        }
        let doubts = self.page.doubts();
        let mut order: Vec<usize> = (0..self.page.units()).collect();
        order.sort_by(|&a, &b| doubts[b].total_cmp(&doubts[a]).then(a.cmp(&b)));
        let count = |unit: usize| own.get(&unit).copied().unwrap_or(0);
        let free =
            |unit: usize| others.get(&unit).map_or(0, HashSet::len) < self.overlap && self.leased(unit, by).is_none();
        order.retain(|&unit| match what {
            "open" => count(unit) == 0 && free(unit),
            "done" => count(unit) > 0,
            _ => true,
        });
        order.into_iter().map(|unit| (unit, count(unit))).collect()
    }
}

/// What an answer says: yes, no, a grade, or nothing.
fn said(answer: &Answer) -> Value {
    answer.grade.map_or_else(|| answer.yes.into(), Into::into)
}

/// A person, and whether the name is that of a token.
pub(crate) struct Who {
    pub(crate) by: Option<String>,
    pub(crate) fixed: bool,
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The refusal of an answer to a state that is no longer so.
fn stale(state: Value) -> Problem {
    Problem::new(StatusCode::CONFLICT, "the item has changed since: look at it again").with("item", state)
}
