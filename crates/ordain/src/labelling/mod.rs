//! Answers of people: a file that loses nothing, what stands in it, and what can be learned from it.
//!
//! ```text
//! {"ordain":"answers","format":2,"task":"annotate","data":"5d0c…","model":"91ab…","items":65}
//! {"n":1,"t":"2026-11-16T12:00:00.123Z","by":"ann","item":"7","label":"sea","answer":true,"strategy":"expected","value":0.71}
//! {"n":2,"t":"2026-11-16T12:00:04.821Z","by":"ann","undo":1}
//! ```
//!
//! A line is on the disk before [`Labelling::answer`] returns. An undo names the line that it takes back, so that those of
//! two people cannot cross. One process writes at a time. Files of format 1, without numbers, are read and continued.

mod agreement;
mod journal;
mod subjects;
mod time;

pub use agreement::{Agreement, Pair};
pub use subjects::{LabelQuestions, MatchQuestions, RankQuestions, Subjects};

use crate::data::{LabelSet, MatchSet, Problem, RankSet, Truth, notes, read_whole};
use crate::error::{Error, Result};
use journal::Journal;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What is asked about: a label of an item, an edge of a problem, or a document of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    /// The item, the problem or the query.
    pub unit: u32,
    /// The label, or the edge or document by its number within the unit.
    pub thing: u32,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it is about.
    pub subject: Subject,
    /// Whether the label applies, or the two belong together; none if the person could not say.
    pub yes: Option<bool>,
    /// The grade, of documents; none if the person could not say.
    pub grade: Option<u8>,
    /// Whether it was asked about: what is said unasked is not one of the questions.
    pub asked: bool,
}

impl Answer {
    /// Whether the person could say something.
    pub fn is_known(&self) -> bool {
        self.value().is_some()
    }

    /// What was said as a number: no is 0 and yes is 1, and a grade is itself; none if the person could not say.
    pub fn value(&self) -> Option<u8> {
        self.grade.or(self.yes.map(u8::from))
    }
}

/// Who says something, and when.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// The person, if known.
    pub by: Option<&'a str>,
    /// The moment.
    pub at: SystemTime,
    /// A name of this answer that its sender gave it: what is sent twice is written once.
    pub key: Option<&'a str>,
}

/// What stands behind a line.
enum Event {
    Answer {
        answer: Answer,
        by: Option<String>,
        /// Whether nobody took it back and no other answer took its place.
        stands: bool,
        /// The answer of the same person whose place it took: "cannot say", or one that the line names.
        replaces: Option<usize>,
        /// What the model would have said, of a question that controls it.
        guess: Option<bool>,
    },
    /// Takes an answer back.
    Undo { of: usize, redone: bool },
    /// Takes the undo of an answer back.
    Redo { of: usize },
}

/// All that was said, in order; line n of a file is event n − 1.
#[derive(Default)]
struct Events {
    all: Vec<Event>,
    /// The answers of each unit, in order, whether they stand or not.
    of_unit: Vec<Vec<usize>>,
    /// All lines about each unit, undos and redos among them.
    touched: Vec<Vec<usize>>,
    keys: HashMap<String, usize>,
}

impl Events {
    fn new(units: usize) -> Self {
        Self { of_unit: vec![vec![]; units], touched: vec![vec![]; units], ..Self::default() }
    }

    /// The answer that a line is about: its own, or the one that it takes back or says again; with its person.
    fn about(&self, at: usize) -> Option<(&Answer, Option<&str>)> {
        let of = match self.all.get(at)? {
            Event::Answer { .. } => at,
            Event::Undo { of, .. } | Event::Redo { of } => *of,
        };
        match self.all.get(of)? {
            Event::Answer { answer, by, .. } => Some((answer, by.as_deref())),
            _ => None,
        }
    }

    /// Whether a line is about an answer of this person; of anybody, if the person is not known.
    fn is_own(&self, at: usize, by: Option<&str>) -> bool {
        by.is_none() || self.about(at).is_some_and(|(_, own)| own == by)
    }

    /// The last answer of a person that stands.
    fn last(&self, by: Option<&str>) -> Option<usize> {
        (0..self.all.len()).rev().find(|&at| self.standing(at).is_some() && self.is_own(at, by))
    }

    /// The last undo of a person that can be taken back: nothing else was said by the same since but other undos and redos.
    fn last_undone(&self, by: Option<&str>) -> Option<usize> {
        let mut own = (0..self.all.len()).rev().filter(|&at| self.is_own(at, by));
        own.find_map(|at| match &self.all[at] {
            Event::Undo { redone: false, .. } => Some(Some(at)),
            Event::Answer { .. } => Some(None),
            _ => None,
        })?
    }

    /// The answer of an event, if it is one that stands; with its person.
    fn standing(&self, at: usize) -> Option<(&Answer, Option<&str>)> {
        match self.all.get(at) {
            Some(Event::Answer { answer, by, stands: true, .. }) => Some((answer, by.as_deref())),
            _ => None,
        }
    }

    /// The answer of a person on a subject that stands.
    fn of(&self, subject: Subject, by: Option<&str>) -> Option<usize> {
        let own = |&&at: &&usize| self.standing(at).is_some_and(|(a, who)| a.subject == subject && who == by);
        self.of_unit[subject.unit as usize].iter().rev().find(own).copied()
    }

    /// Notes an answer, which may take the place of the one that it names; says why not, if it cannot stand.
    fn answer(
        &mut self,
        mut answer: Answer,
        by: Option<&str>,
        guess: Option<bool>,
        instead: Option<usize>,
    ) -> std::result::Result<(), String> {
        let replaces = self.of(answer.subject, by);
        if instead.is_some() && instead != replaces {
            return Err("an answer instead of one that does not stand".into());
        }
        if let Some(Event::Answer { answer: old, stands, .. }) = replaces.and_then(|at| self.all.get_mut(at)) {
            if old.is_known() && instead.is_none() {
                return Err("a second answer of the same person on the same question, with no undo between".into());
            }
            answer.asked |= old.asked;
            *stands = false;
        }
        self.of_unit[answer.subject.unit as usize].push(self.all.len());
        self.touched[answer.subject.unit as usize].push(self.all.len());
        self.all.push(Event::Answer { answer, by: by.map(Into::into), stands: true, replaces, guess });
        Ok(())
    }

    /// Adds a line about the unit of an answer.
    fn touch(&mut self, of: usize, event: Event) {
        let unit = self.about(of).map(|(answer, _)| answer.subject.unit as usize);
        unit.into_iter().for_each(|unit| self.touched[unit].push(self.all.len()));
        self.all.push(event);
    }

    /// Lets an answer stand or fall, and what it replaced the other way round.
    fn turn(&mut self, at: usize, to: bool) {
        let Some(Event::Answer { stands, replaces, .. }) = self.all.get_mut(at) else { return };
        *stands = to;
        if let Some(Event::Answer { stands, .. }) = replaces.and_then(|old| self.all.get_mut(old)) {
            *stands = !to;
        }
    }

    fn undo(&mut self, of: usize) -> std::result::Result<(), String> {
        if self.standing(of).is_none() {
            return Err("an undo of no answer that stands".into());
        }
        self.turn(of, false);
        self.touch(of, Event::Undo { of, redone: false });
        Ok(())
    }

    fn redo(&mut self, undo: usize) -> std::result::Result<(), String> {
        let of = match self.all.get(undo) {
            Some(Event::Undo { of, redone: false }) => *of,
            _ => return Err("a redo of no undo that stands".into()),
        };
        let Some(Event::Answer { answer, by, replaces, .. }) = self.all.get(of) else {
            return Err("a redo of no answer".into());
        };
        if self.of(answer.subject, by.as_deref()) != *replaces {
            return Err("a redo of an answer that another took the place of".into());
        }
        self.turn(of, true);
        if let Some(Event::Undo { redone, .. }) = self.all.get_mut(undo) {
            *redone = true;
        }
        self.touch(of, Event::Redo { of });
        Ok(())
    }

    /// Takes over a line of a file, in which all lines are numbered or, in format 1, some may be.
    fn take<S: Subjects>(&mut self, line: &Value, numbered: bool, subjects: &S) -> std::result::Result<(), String> {
        let next = self.all.len() + 1;
        match line.get("n") {
            Some(n) if n.as_u64() != Some(next as u64) => return Err(format!("number {n} where {next} follows")),
            None if numbered => return Err(format!("no number where {next} follows")),
            _ => {}
        }
        let by = line["by"].as_str();
        let event = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok()?.checked_sub(1));
        if let Some(key) = line["key"].as_str() {
            self.keys.insert(key.into(), self.all.len());
        }
        if let Some(undo) = event(&line["undo"]) {
            return self.undo(undo);
        }
        if let Some(redo) = event(&line["redo"]) {
            return self.redo(redo);
        }
        let Some(subject) = subjects.find(line)? else { return Err("a line that names nothing".into()) };
        if line["undo"] == Value::Bool(true) {
            // format 1: the last answer on the unit
            let last = self.of_unit[subject.unit as usize].iter().rev().find(|&&at| self.standing(at).is_some());
            let last = last.copied().filter(|&at| self.standing(at).is_some_and(|(a, _)| a.subject == subject));
            return last.map_or_else(|| Err("an undo of no answer".into()), |at| self.undo(at));
        }
        let (yes, grade) = match (S::BEST, line.get(if S::BEST.is_some() { "grade" } else { "answer" })) {
            (None, Some(Value::Bool(yes))) => (Some(*yes), None),
            (Some(best), Some(Value::Number(grade))) if grade.as_u64().is_some_and(|grade| grade <= best.into()) => {
                (None, grade.as_u64().map(|grade| grade as u8))
            }
            (_, Some(Value::Null)) => (None, None),
            (None, _) => return Err("a line without an answer of true, false or null".into()),
            (Some(best), _) => return Err(format!("a line without a grade from 0 to {best}, or null")),
        };
        let asked = line["asked"] != Value::Bool(false);
        self.answer(Answer { subject, yes, grade, asked }, by, line["guess"].as_bool(), event(&line["instead"]))
    }
}

/// What a file of answers holds, as far as it is whole.
struct Read {
    events: Events,
    /// Where the last whole line ends; the last line may be whole without its end.
    end: usize,
    unended: bool,
    /// Whether there is a first line.
    begun: bool,
}

/// Whether this may be half of a first line: of this format, or of format 1, which begins with the digest of the data.
fn is_half(text: &[u8]) -> bool {
    let fits = |start: &[u8]| text.starts_with(start) || start.starts_with(text);
    let digest = text.strip_prefix(b"{\"data\":\"").unwrap_or_default();
    fits(b"{\"ordain\":\"answers\"") || fits(b"{\"data\":\"") && digest.iter().take(64).all(u8::is_ascii_hexdigit)
}

/// What is expected of a file that holds something else.
const OTHERS: &str = "answers on these data (write new ones to another file: -o FILE)";

/// The most bytes of a line: an answer is short.
const LONGEST: usize = 1 << 20;

/// Reads a file of answers; with `strict` its first line has to name these very data.
fn read(old: &[u8], path: &Path, subjects: &impl Subjects, strict: bool) -> Result<Read> {
    let whole = old.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let last = &old[whole..];
    let unended = last.len() <= LONGEST && serde_json::from_slice::<Value>(last).is_ok();
    let end = if unended { old.len() } else { whole };
    let mut lines = old[..end].split(|&byte| byte == b'\n').zip(1..).filter(|(text, _)| !text.trim_ascii().is_empty());
    let wrong = |line: usize, expected: &str, found: String| Error::Parse {
        path: path.into(),
        line,
        column: 1,
        expected: expected.into(),
        found,
    };
    let first = lines.next();
    // half of a first line is what a process left that was killed; anything else is somebody's
    if first.is_none() && !unended && !is_half(last) {
        return Err(wrong(1, OTHERS, "a file that does not begin as answers do".into()));
    }
    let mut numbered = false;
    if let Some((text, line)) = first {
        let head: Value = serde_json::from_slice(&text[..text.len().min(LONGEST)]).unwrap_or_default();
        numbered = head.get("format").and_then(Value::as_u64).is_some_and(|format| format > 1);
        if let Some(found) = strange(&head, subjects, strict) {
            return Err(wrong(line, OTHERS, found));
        }
    }
    let mut events = Events::new(subjects.units());
    for (text, line) in lines {
        if text.len() > LONGEST {
            return Err(wrong(line, &format!("lines of at most {LONGEST} bytes"), "a longer one".into()));
        }
        let expected = || format!("an answer such as {}", example(subjects));
        let shown = || format!("{:?}", String::from_utf8_lossy(text).chars().take(60).collect::<String>());
        let record: Value = serde_json::from_slice(text).map_err(|_| wrong(line, &expected(), shown()))?;
        let refused = |found: String| wrong(line, &expected(), found.chars().take(200).collect());
        events.take(&record, numbered, subjects).map_err(refused)?;
    }
    Ok(Read { events, end, unended, begun: first.is_some() })
}

fn example<S: Subjects>(_: &S) -> &'static str {
    S::EXAMPLE
}

/// What is strange about the first line of a file.
fn strange<S: Subjects>(head: &Value, subjects: &S, strict: bool) -> Option<String> {
    let own = subjects.head();
    let said = own.keys().all(|field| head.get(field).is_some());
    let format = head.get("format").map_or(Some(1), Value::as_u64);
    match () {
        () if !said && head.get("task").is_none_or(|task| *task == *S::TASK) => {
            Some("a file that does not say so in its first line".into())
        }
        () if head.get("task").is_some_and(|task| *task != *S::TASK) => {
            let task = &head["task"];
            Some(format!("answers of the task {:?}", task.as_str().map_or_else(|| task.to_string(), str::to_owned)))
        }
        () if format.is_none_or(|format| !(1..=2).contains(&format)) => {
            Some(format!("answers of format {}, which a later version of ordain wrote", head["format"]))
        }
        () if strict => subjects.differs(head).map(Into::into),
        () => None,
    }
}

/// A file of answers that is open for more.
///
/// ```
/// use ordain::data::synthetic::Scenes;
/// use ordain::labelling::{Answer, LabelQuestions, Labelling, Said, Subject};
/// # let dir = std::env::temp_dir().join(format!("ordain-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir).unwrap();
/// # let path = dir.join("answers.jsonl");
/// let set = Scenes { items: 10, ..Scenes::default() }.make();
/// let questions = LabelQuestions::new(&set)?;
/// let (mut labelling, _) = Labelling::open(&questions, &path)?;
/// let subject = Subject { unit: 3, thing: 1 };
/// let said = Said { by: Some("ann"), at: std::time::SystemTime::now(), key: None };
/// let n = labelling.answer(Answer { subject, yes: Some(true), grade: None, asked: true }, Default::default(), said)?;
/// assert_eq!((n, labelling.of_unit(3).count()), (1, 1));
/// assert_eq!(labelling.undo(said)?.map(|answer| answer.subject), Some(subject));
/// assert_eq!(labelling.of_unit(3).count(), 0);
/// # drop(labelling);
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct Labelling<'a, S: Subjects> {
    subjects: &'a S,
    path: PathBuf,
    journal: Journal,
    events: Events,
}

impl<'a, S: Subjects> Labelling<'a, S> {
    /// Opens a file, makes it if it is not there, and takes over its answers. Half a last line is cut off: the second value says so.
    ///
    /// # Errors
    ///
    /// [`Error::Parse`] if the file holds something else, and then it is left as it is; [`Error::Content`] if another
    /// process writes to it; [`Error::Io`].
    pub fn open(subjects: &'a S, path: &Path) -> Result<(Self, bool)> {
        let (mut journal, old) = Journal::open(path)?;
        let Read { events, end, unended, begun } = read(&old, path, subjects, true)?;
        let half = end < old.len();
        if half {
            journal.cut(end)?;
        } else if unended {
            journal.append("\n")?;
        }
        if !begun {
            let mut head = Map::from_iter([
                ("ordain".into(), "answers".into()),
                ("format".into(), 2.into()),
                ("task".into(), S::TASK.into()),
            ]);
            head.append(&mut subjects.head());
            journal.append(&format!("{}\n", Value::Object(head)))?;
        }
        Ok((Self { subjects, path: path.into(), journal, events }, half))
    }

    /// The answers on a unit that stand, in the order in which they were given.
    pub fn of_unit(&self, unit: usize) -> impl Iterator<Item = &Answer> {
        self.events.of_unit[unit].iter().filter_map(|&at| Some(self.events.standing(at)?.0))
    }

    /// The answers of a person on a unit that stand, in the order in which they were given.
    pub fn of_unit_by(&self, unit: usize, by: Option<&str>) -> impl Iterator<Item = &Answer> {
        let standing = self.events.of_unit[unit].iter().filter_map(|&at| self.events.standing(at));
        standing.filter(move |(_, own)| *own == by).map(|(answer, _)| answer)
    }

    /// All answers that stand, each with its person, in the order in which they were given.
    pub fn standing(&self) -> impl Iterator<Item = (&Answer, Option<&str>)> {
        (0..self.events.all.len()).filter_map(|at| self.events.standing(at))
    }

    /// The number of the last line about a unit and an answer of this person; 0 where there is none.
    pub fn last_line(&self, unit: usize, by: Option<&str>) -> u64 {
        let own = |&&at: &&usize| self.events.about(at).is_some_and(|(_, own)| own == by);
        self.events.touched[unit].iter().rev().find(own).map_or(0, |&at| at as u64 + 1)
    }

    /// The number of the line that has this key.
    pub fn line_of(&self, key: &str) -> Option<u64> {
        self.events.keys.get(key).map(|&at| at as u64 + 1)
    }

    /// Whether a person has an answer to take back, and one to say again.
    pub fn can_turn(&self, by: Option<&str>) -> (bool, bool) {
        (self.events.last(by).is_some(), self.events.last_undone(by).is_some())
    }

    /// Of the questions that control the model: how many were answered by a person, and how many as it would have said.
    pub fn control(&self, by: Option<&str>) -> (usize, usize) {
        let said = self.events.all.iter().filter_map(|event| match event {
            Event::Answer {
                answer: Answer { yes: Some(yes), .. }, by: own, stands: true, guess: Some(guess), ..
            } if own.as_deref() == by => Some(yes == guess),
            _ => None,
        });
        said.fold((0, 0), |(asked, right), same| (asked + 1, right + usize::from(same)))
    }

    /// Does several things whose lines are written and synced at once, when they are done; what they returned, and whether they are on the
    /// disk. Where that failed nothing of it was said.
    pub fn together<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> (R, Result<()>) {
        self.journal.hold();
        let done = work(self);
        let written = self.journal.release();
        if written.is_err() {
            // as the file has it
            match std::fs::read(&self.path).map_err(|reason| Error::Io {
                path: self.path.clone(),
                action: "read",
                reason,
            }) {
                Ok(old) => match read(&old, &self.path, self.subjects, true) {
                    Ok(read) => self.events = read.events,
                    Err(error) => return (done, Err(error)),
                },
                Err(error) => return (done, Err(error)),
            }
        }
        (done, written)
    }

    /// Whether a person can say something about a subject: nothing stands, or that nobody could say.
    pub fn is_open(&self, subject: Subject, by: Option<&str>) -> bool {
        let old = self.events.of(subject, by).and_then(|at| self.events.standing(at));
        old.is_none_or(|(answer, _)| !answer.is_known())
    }

    /// Writes an answer, with what else is to be known of it, and returns its number once it is on the disk. An answer whose
    /// key is there already is not written again.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if an answer of the same person stands; [`Error::Io`], and then nothing was written.
    pub fn answer(&mut self, answer: Answer, more: Map<String, Value>, said: Said<'_>) -> Result<u64> {
        if let Some(&at) = said.key.and_then(|key| self.events.keys.get(key)) {
            return Ok(at as u64 + 1);
        }
        if !self.is_open(answer.subject, said.by) {
            return Err(self.refused("a second answer of the same person on the same question".into()));
        }
        self.say(answer, more, said, None)
    }

    /// The same where an answer of the person may stand: the new one takes its place, and an undo of the new one brings the old one back.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], and then nothing was written.
    pub fn change(&mut self, answer: Answer, more: Map<String, Value>, said: Said<'_>) -> Result<u64> {
        if let Some(&at) = said.key.and_then(|key| self.events.keys.get(key)) {
            return Ok(at as u64 + 1);
        }
        let old = match self.is_open(answer.subject, said.by) {
            true => None,
            false => self.events.of(answer.subject, said.by),
        };
        self.say(answer, more, said, old)
    }

    fn say(&mut self, answer: Answer, more: Map<String, Value>, said: Said<'_>, old: Option<usize>) -> Result<u64> {
        let mut line = self.subjects.names(answer.subject);
        match S::BEST {
            Some(_) => line.insert("grade".into(), answer.grade.into()),
            None => line.insert("answer".into(), answer.yes.into()),
        };
        if !answer.asked {
            line.insert("asked".into(), false.into());
        }
        line.extend(old.map(|at| ("instead".into(), (at + 1).into())));
        let guess = more.get("guess").and_then(Value::as_bool);
        line.extend(more);
        self.write(line, said)?;
        self.events.answer(answer, said.by, guess, old).map_err(|found| self.refused(found))?;
        Ok(self.events.all.len() as u64)
    }

    /// Takes back the last answer of a person that stands (of anybody, if the person is not known): the answer, if there was one.
    /// An undo whose key is there already is not done again.
    pub fn undo(&mut self, said: Said<'_>) -> Result<Option<Answer>> {
        if let Some(done) = self.repeated(said) {
            return Ok(done);
        }
        let Some(at) = self.events.last(said.by) else { return Ok(None) };
        let answer = self.events.standing(at).map(|(answer, _)| *answer);
        self.write(Map::from_iter([("undo".into(), (at + 1).into())]), said)?;
        self.events.undo(at).map_err(|found| self.refused(found))?;
        Ok(answer)
    }

    /// Takes back the last undo of a person, if the same said nothing else since but other undos and redos: the answer that stands again, if
    /// any. A redo whose key is there already is not done again.
    pub fn redo(&mut self, said: Said<'_>) -> Result<Option<Answer>> {
        if let Some(done) = self.repeated(said) {
            return Ok(done);
        }
        let Some(at) = self.events.last_undone(said.by) else { return Ok(None) };
        let Event::Undo { of, .. } = self.events.all[at] else { return Ok(None) };
        self.write(Map::from_iter([("redo".into(), (at + 1).into())]), said)?;
        self.events.redo(at).map_err(|found| self.refused(found))?;
        Ok(self.events.standing(of).map(|(answer, _)| *answer))
    }

    /// Takes back the answer of a person on a subject: the answer, if one stands.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], and then nothing was written.
    pub fn take_back(&mut self, subject: Subject, said: Said<'_>) -> Result<Option<Answer>> {
        let Some(at) = self.events.of(subject, said.by) else { return Ok(None) };
        let answer = self.events.standing(at).map(|(answer, _)| *answer);
        self.write(Map::from_iter([("undo".into(), (at + 1).into())]), said)?;
        self.events.undo(at).map_err(|found| self.refused(found))?;
        Ok(answer)
    }

    /// What a line with this key was about, if it is there.
    fn repeated(&self, said: Said<'_>) -> Option<Option<Answer>> {
        let at = *self.events.keys.get(said.key?)?;
        Some(self.events.about(at).map(|(answer, _)| *answer))
    }

    /// Writes a line under the next number.
    fn write(&mut self, line: Map<String, Value>, said: Said<'_>) -> Result<()> {
        let number = self.events.all.len() + 1;
        let mut all = Map::from_iter([("n".into(), number.into()), ("t".into(), time::utc(said.at).into())]);
        all.extend(said.by.map(|by| ("by".into(), by.into())));
        all.extend(said.key.map(|key| ("key".into(), key.into())));
        all.extend(line);
        self.journal.append(&format!("{}\n", Value::Object(all)))?;
        if let Some(key) = said.key {
            self.events.keys.insert(key.into(), number - 1);
        }
        Ok(())
    }

    fn refused(&self, found: String) -> Error {
        Error::Data { expected: format!("{}: an answer that can stand", self.path.display()), found }
    }
}

/// What a file holds, without opening it for more. A last line that is not whole, or has no end, is noted.
fn looked_at(path: &Path, subjects: &impl Subjects) -> Result<Events> {
    let old = read_whole(path)?;
    let Read { events, end, unended, .. } = read(&old, path, subjects, !subjects.by_name())?;
    let line = 1 + old.iter().filter(|&&b| b == b'\n').count();
    match () {
        () if end < old.len() => notes::half(path, line),
        () if unended => notes::cut(path, line),
        () => {}
    }
    Ok(events)
}

/// The answers of a file that stand, without opening it for more: on each subject what most people say; nothing where as many
/// say yes as no, or nobody could say. In the order of subjects.
///
/// Subjects go by name: the data may be others than those that were asked about, as long as all names are there. Items without ids
/// of their own have no names, and answers are on one set of them alone.
///
/// # Errors
///
/// As [`Labelling::open`]; no lock is needed, and half a last line is left out.
pub fn standing(path: &Path, subjects: &impl Subjects) -> Result<Vec<(Subject, bool)>> {
    let events = looked_at(path, subjects)?;
    let mut votes: std::collections::BTreeMap<Subject, i64> = Default::default();
    for at in 0..events.all.len() {
        if let Some((Answer { subject, yes: Some(yes), .. }, _)) = events.standing(at) {
            *votes.entry(*subject).or_default() += if *yes { 1 } else { -1 };
        }
    }
    Ok(votes.into_iter().filter(|&(_, sum)| sum != 0).map(|(subject, sum)| (subject, sum > 0)).collect())
}

/// The answers of a file that stand, each with its person and as a number ([`Answer::value`]), without opening it for more; those
/// that could not say are left out.
///
/// # Errors
///
/// As [`standing`].
pub fn votes(path: &Path, subjects: &impl Subjects) -> Result<Vec<(Subject, Option<String>, u8)>> {
    let events = looked_at(path, subjects)?;
    let vote = |at: usize| {
        let (answer, by) = events.standing(at)?;
        Some((answer.subject, by.map(Into::into), answer.value()?))
    };
    Ok((0..events.all.len()).filter_map(vote).collect())
}

/// One grade for each document that somebody graded: of several the middle one, of two in the middle the lesser. In the order of
/// subjects.
///
/// ```
/// use ordain::labelling::{Subject, grades};
/// let of = |thing| Subject { unit: 0, thing };
/// let said = [(of(1), 4), (of(0), 3), (of(1), 0), (of(1), 2), (of(0), 1)];
/// assert_eq!(grades(said), [(of(0), 1), (of(1), 2)]);
/// ```
pub fn grades(said: impl IntoIterator<Item = (Subject, u8)>) -> Vec<(Subject, u8)> {
    let mut of_subject: std::collections::BTreeMap<Subject, Vec<u8>> = Default::default();
    said.into_iter().for_each(|(subject, grade)| of_subject.entry(subject).or_default().push(grade));
    let middle = |(subject, mut own): (Subject, Vec<u8>)| {
        own.sort_unstable();
        (subject, own[(own.len() - 1) / 2])
    };
    of_subject.into_iter().map(middle).collect()
}

/// A set with the grades that people gave, and the number of each of its queries in the set that was given. Of documents that nobody
/// graded those stay whose grades are `known`, by their rows; queries of which fewer than two documents are left teach nothing, and
/// are left out.
///
/// ```
/// use ordain::data::synthetic::Synthetic;
/// use ordain::labelling::{Subject, graded};
/// let set = Synthetic { queries: 3, ..Synthetic::default() }.make();
/// let of = |thing| Subject { unit: 1, thing };
/// let (few, queries) = graded(&set, &[(of(0), 2), (of(3), 1)], |_| false);
/// assert_eq!((few.rows(), queries), (2, vec![1]));
/// assert_eq!(few.grades, [2.0, 1.0]);
/// ```
pub fn graded(set: &RankSet, grades: &[(Subject, u8)], known: impl Fn(usize) -> bool) -> (RankSet, Vec<usize>) {
    let row = |subject: &Subject| set.span(subject.unit as usize).start + subject.thing as usize;
    let said: HashMap<usize, u8> = grades.iter().map(|(subject, grade)| (row(subject), *grade)).collect();
    let has = |row: usize| said.contains_key(&row) || known(row);
    let count = |query: usize| set.span(query).filter(|&row| has(row)).count();
    let queries: Vec<usize> = (0..set.len()).filter(|&query| count(query) > 1).collect();
    let units: Vec<u32> = queries.iter().map(|&query| query as u32).collect();
    let mut own = set.some_rows(&units, has);
    let grade = |row: usize| said.get(&row).map_or(set.grades[row], |&grade| grade.into());
    own.grades = queries.iter().flat_map(|&query| set.span(query)).filter(|&row| has(row)).map(grade).collect();
    own.graded = true;
    (own, queries)
}

/// A set with what people said of its items: labels that were answered, and no other label of such an item counts as absent. Labels
/// that the data give an item stay. Items without an answer are as they were, but those without any label are all unknown:
/// that nobody gave them a label is not known to mean that they have none.
///
/// ```
/// use ordain::data::synthetic::Scenes;
/// use ordain::labelling::{Subject, label};
/// let set = label(&Scenes { items: 3, ..Scenes::default() }.make(), &[(Subject { unit: 1, thing: 0 }, false)])?;
/// assert!(!set.yes(1).contains(&0) && !set.unknown(1).contains(&0)); // known not to apply
/// assert_eq!(set.yes(1).len() + set.unknown(1).len() + 1, set.labels.len());
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn label(set: &LabelSet, answers: &[(Subject, bool)]) -> Result<LabelSet> {
    let mut of_item: Vec<Vec<(u32, bool)>> = vec![vec![]; set.len()];
    answers.iter().for_each(|(subject, yes)| of_item[subject.unit as usize].push((subject.thing, *yes)));
    let all = 0..set.labels.len() as u32;
    let (mut yes, mut unknown) = (vec![], vec![]);
    for (i, said) in of_item.iter().enumerate() {
        let bare = set.yes(i).is_empty() && set.unknown(i).is_empty();
        if said.is_empty() && !bare {
            yes.push(set.yes(i).to_vec());
            unknown.push(set.unknown(i).to_vec());
            continue;
        }
        let said_of = |label: u32| said.iter().find(|(own, _)| *own == label).map(|(_, yes)| *yes);
        let has = |label: u32| said_of(label).unwrap_or(set.yes(i).binary_search(&label).is_ok());
        yes.push(all.clone().filter(|&label| has(label)).collect());
        unknown.push(all.clone().filter(|&label| said_of(label).is_none() && !has(label)).collect());
    }
    set.with_labels(yes, unknown)
}

/// A set with what people said of its edges: two that belong together have no other partner; what nobody answered is as it was.
///
/// # Errors
///
/// [`Error::Data`] if answers and data give an item two partners.
pub fn matched(set: &MatchSet, answers: &[(Subject, bool)]) -> Result<MatchSet> {
    let mut problems: Vec<Problem> = set.problems().to_vec();
    for (subject, yes) in answers {
        let problem = &mut problems[subject.unit as usize];
        problem.truth[subject.thing as usize] = if *yes { Truth::Yes } else { Truth::No };
    }
    for (subject, _) in answers.iter().filter(|(_, yes)| *yes) {
        let Problem { edges, truth, .. } = &mut problems[subject.unit as usize];
        let (i, j) = edges[subject.thing as usize];
        let others = edges.iter().zip(truth).filter(|(ends, _)| **ends != (i, j) && (ends.0 == i || ends.1 == j));
        others.filter(|(_, truth)| **truth == Truth::Unknown).for_each(|(_, truth)| *truth = Truth::No);
    }
    MatchSet::new(set.features.clone(), set.columns.clone(), problems)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)] // a test may panic
mod tests {
    use super::*;
    use crate::data::synthetic::{Linkage, Scenes, Synthetic};
    use crate::random::Random;
    use std::time::UNIX_EPOCH;

    fn said(by: Option<&str>) -> Said<'_> {
        Said { by, at: UNIX_EPOCH, key: None }
    }

    fn all<S: Subjects>(labelling: &Labelling<'_, S>) -> Vec<Answer> {
        (0..labelling.subjects.units()).flat_map(|unit| labelling.of_unit(unit).copied()).collect()
    }

    /// What stands, by replaying every word on a stack of states: an undo brings back the state before the answer it takes back.
    #[derive(Clone, Default)]
    struct Slow {
        stands: Vec<(usize, Answer, Option<&'static str>)>,
        hidden: HashMap<usize, (usize, Answer, Option<&'static str>)>,
    }

    impl Slow {
        fn answer(&mut self, n: usize, mut answer: Answer, by: Option<&'static str>) {
            if let Some(at) = self.stands.iter().position(|old| old.1.subject == answer.subject && old.2 == by) {
                let old = self.stands.remove(at);
                answer.asked |= old.1.asked;
                self.hidden.insert(n, old);
            }
            self.stands.push((n, answer, by));
        }

        fn undo(&mut self, n: usize) {
            self.stands.retain(|own| own.0 != n);
            self.stands.extend(self.hidden.remove(&n));
            self.stands.sort_by_key(|own| own.0);
        }
    }

    #[test]
    fn what_stands_is_what_was_said_and_not_taken_back_however_often_the_file_is_opened() {
        let (set, dir) = (Scenes { items: 4, ..Scenes::default() }.make(), tempfile::tempdir().unwrap());
        let (questions, mut random) = (LabelQuestions::new(&set).unwrap(), Random::new(3));
        let people = [None, Some("ann"), Some("bob")];
        for round in 0..crate::cases::cases(8) {
            let path = dir.path().join(format!("{round}.jsonl"));
            let (mut labelling, _) = Labelling::open(&questions, &path).unwrap();
            // one person or many: who does not give a name takes back anybody's answers
            let many = round % 2 == 1;
            let (mut slow, mut order): (Slow, Vec<(usize, Option<&str>)>) = Default::default();
            for _ in 0..40 {
                let by = if many { people[1 + random.below(2)] } else { None };
                let n = labelling.events.all.len() + 1;
                match random.below(10) {
                    0..3 => {
                        let last = order.iter().rposition(|own| own.1 == by);
                        let undone = labelling.undo(said(by)).unwrap();
                        assert_eq!(undone.is_some(), last.is_some() || slow.stands.iter().any(|own| own.2 == by));
                        if let Some(answer) = undone {
                            let own = *slow.stands.iter().rev().find(|own| own.2 == by).unwrap();
                            assert_eq!(own.1, answer);
                            slow.undo(own.0);
                            order.retain(|other| other.0 != own.0);
                        }
                    }
                    3 => {
                        drop(labelling);
                        labelling = Labelling::open(&questions, &path).unwrap().0;
                    }
                    _ => {
                        let subject = Subject { unit: random.below(4) as u32, thing: random.below(5) as u32 };
                        let yes = [Some(true), Some(false), None][random.below(3)];
                        let answer = Answer { subject, yes, grade: None, asked: random.below(2) == 0 };
                        let open = !slow
                            .stands
                            .iter()
                            .any(|own| own.1.subject == subject && own.2 == by && own.1.yes.is_some());
                        assert_eq!(labelling.is_open(subject, by), open);
                        match labelling.answer(answer, Map::new(), said(by)) {
                            Ok(number) => {
                                assert!(open && number == n as u64);
                                slow.answer(n, answer, by);
                                order.push((n, by));
                            }
                            Err(_) => assert!(!open),
                        }
                    }
                }
                let mut stands: Vec<(usize, Answer)> = slow.stands.iter().map(|own| (own.0, own.1)).collect();
                stands.sort_by_key(|own| (own.1.subject.unit, own.0));
                assert_eq!(all(&labelling), stands.into_iter().map(|own| own.1).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_redo_says_again_what_an_undo_took_back() {
        let (set, dir) = (Linkage { problems: 2, ..Linkage::default() }.make(), tempfile::tempdir().unwrap());
        let (questions, path) = (MatchQuestions::new(&set).unwrap(), dir.path().join("answers.jsonl"));
        let (mut labelling, _) = Labelling::open(&questions, &path).unwrap();
        let answer = |thing: u32, yes| Answer { subject: Subject { unit: 1, thing }, yes, grade: None, asked: true };
        assert_eq!(labelling.redo(said(None)).unwrap(), None);
        for one in [answer(0, None), answer(1, Some(true)), answer(0, Some(false))] {
            labelling.answer(one, Map::new(), said(None)).unwrap();
        }
        let whole = all(&labelling);
        assert_eq!(whole, [answer(1, Some(true)), answer(0, Some(false))]);
        assert_eq!(labelling.undo(said(None)).unwrap(), Some(answer(0, Some(false))));
        assert_eq!(all(&labelling), [answer(0, None), answer(1, Some(true))], "what it replaced stands again");
        assert_eq!(labelling.undo(said(None)).unwrap(), Some(answer(1, Some(true))));
        for again in [answer(1, Some(true)), answer(0, Some(false))] {
            assert_eq!(labelling.redo(said(None)).unwrap(), Some(again));
        }
        assert_eq!((all(&labelling), labelling.redo(said(None)).unwrap()), (whole.clone(), None));
        drop(labelling);
        assert_eq!(all(&Labelling::open(&questions, &path).unwrap().0), whole);
    }

    #[test]
    fn grades_are_kept_and_changed_and_an_undo_brings_the_old_one_back() {
        let (set, dir) = (Synthetic::default().make(), tempfile::tempdir().unwrap());
        let (questions, path) = (RankQuestions::new(&set).unwrap(), dir.path().join("answers.jsonl"));
        let (mut labelling, _) = Labelling::open(&questions, &path).unwrap();
        let graded = |thing, grade| Answer { subject: Subject { unit: 2, thing }, yes: None, grade, asked: true };
        for one in [graded(0, Some(3)), graded(1, None), graded(1, Some(0)), graded(0, Some(1))] {
            labelling.change(one, Map::new(), said(Some("ann"))).unwrap();
        }
        assert!(labelling.answer(graded(0, Some(2)), Map::new(), said(Some("ann"))).is_err());
        assert_eq!(all(&labelling), [graded(1, Some(0)), graded(0, Some(1))]);
        assert_eq!(labelling.undo(said(Some("ann"))).unwrap(), Some(graded(0, Some(1))));
        drop(labelling);
        let (labelling, _) = Labelling::open(&questions, &path).unwrap();
        assert_eq!(all(&labelling), [graded(0, Some(3)), graded(1, Some(0))]);
        drop(labelling);
        let text = std::fs::read_to_string(&path).unwrap();
        let next = text.lines().count();
        let names = Value::Object(questions.names(graded(0, None).subject)).to_string();
        for wrong in [r#""grade":10"#, r#""grade":1.5"#, r#""answer":true"#] {
            std::fs::write(&path, format!("{text}{{\"n\":{next},{},{wrong}}}\n", names.trim_matches(['{', '}'])))
                .unwrap();
            let refused = Labelling::open(&questions, &path).err().unwrap().to_string();
            assert!(refused.contains("grade from 0 to 9"), "{refused}");
        }
    }

    #[test]
    fn an_answer_with_the_same_key_is_written_once_and_one_process_writes() {
        let (set, dir) = (Scenes { items: 3, ..Scenes::default() }.make(), tempfile::tempdir().unwrap());
        let (questions, path) = (LabelQuestions::new(&set).unwrap(), dir.path().join("answers.jsonl"));
        let (mut labelling, _) = Labelling::open(&questions, &path).unwrap();
        let answer = Answer { subject: Subject { unit: 0, thing: 0 }, yes: Some(true), grade: None, asked: true };
        let keyed = Said { key: Some("k1"), ..said(Some("ann")) };
        for _ in 0..3 {
            assert_eq!(labelling.answer(answer, Map::new(), keyed).unwrap(), 1);
        }
        let refused = Labelling::open(&questions, &path).err().unwrap().to_string();
        assert!(refused.contains("nobody else writes"), "{refused}");
        if cfg!(target_os = "linux") {
            assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        }
        drop(labelling);
        let (mut labelling, half) = Labelling::open(&questions, &path).unwrap();
        assert!(!half && labelling.answer(answer, Map::new(), keyed).unwrap() == 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
    }

    /// Cut anywhere, changed anywhere: what is read is a beginning of what was written, or an error that leaves the file as it is.
    #[test]
    fn a_damaged_file_is_refused_or_read_up_to_a_whole_line() {
        let (set, dir) = (Scenes { items: 3, ..Scenes::default() }.make(), tempfile::tempdir().unwrap());
        let (questions, path) = (LabelQuestions::new(&set).unwrap(), dir.path().join("answers.jsonl"));
        let (mut labelling, _) = Labelling::open(&questions, &path).unwrap();
        let mut states = vec![vec![]];
        for thing in 0..4 {
            let answer = Answer {
                subject: Subject { unit: thing % 3, thing },
                yes: Some(thing % 2 == 0),
                grade: None,
                asked: true,
            };
            labelling.answer(answer, Map::new(), said(Some("ann"))).unwrap();
            states.push(all(&labelling));
        }
        labelling.undo(said(Some("ann"))).unwrap();
        states.push(all(&labelling));
        drop(labelling);
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let (labelling, _) = Labelling::open(&questions, &path).unwrap();
            assert!(states.contains(&all(&labelling)), "cut at {cut}");
            drop(labelling);
            assert!(std::fs::read(&path).unwrap().ends_with(b"\n"));
        }
        // a line that is missing, or that stands twice, is noticed by its number
        let lines: Vec<&str> = std::str::from_utf8(&whole).unwrap().lines().collect();
        for gone in 1..lines.len() - 1 {
            let mut some = lines.clone();
            some.remove(gone);
            let twice = [&lines[..=gone], &lines[gone..]].concat();
            for text in [some, twice].map(|lines| lines.join("\n") + "\n") {
                std::fs::write(&path, &text).unwrap();
                assert!(matches!(Labelling::open(&questions, &path), Err(Error::Parse { .. })), "{text}");
                assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            }
        }
    }

    #[test]
    fn what_nobody_answered_is_unknown() {
        let (set, mut random) = (Scenes { items: 40, ..Scenes::default() }.make(), Random::new(1));
        let n = set.labels.len();
        for _ in 0..20 {
            let mut answers: Vec<(Subject, bool)> = vec![];
            for unit in (0..40).filter(|unit| unit % 3 == 0) {
                let mut things: Vec<u32> = (0..n as u32).collect();
                random.shuffle(&mut things);
                let own =
                    things[..1 + random.below(n)].iter().map(|&thing| (Subject { unit, thing }, random.below(2) == 0));
                answers.extend(own.collect::<Vec<_>>());
            }
            let learned = label(&set, &answers).unwrap();
            for i in 0..40 {
                for l in 0..n as u32 {
                    let said = answers.iter().find(|(s, _)| (s.unit as usize, s.thing) == (i, l)).map(|(_, yes)| *yes);
                    let (yes, unknown) = (learned.yes(i).contains(&l), learned.unknown(i).contains(&l));
                    let before = set.yes(i).contains(&l);
                    let asked = i % 3 == 0;
                    assert_eq!(yes, said.unwrap_or(before));
                    assert_eq!(unknown, asked && said.is_none() && !before);
                }
            }
        }
    }

    #[test]
    fn a_match_leaves_no_other_partner() {
        let set = Linkage { problems: 3, ..Linkage::default() }.make();
        let blank: Vec<Problem> = set
            .problems()
            .iter()
            .map(|p| Problem { truth: vec![Truth::Unknown; p.edges.len()], ..p.clone() })
            .collect();
        let blank = MatchSet::new(set.features.clone(), set.columns.clone(), blank).unwrap();
        let right = set.problem(1).matched().next().unwrap();
        let learned = matched(&blank, &[(Subject { unit: 1, thing: right as u32 }, true)]).unwrap();
        let (problem, (i, j)) = (learned.problem(1), set.problem(1).edges[right]);
        for (&(a, b), &truth) in problem.edges.iter().zip(&problem.truth) {
            let expected = match (a == i, b == j) {
                (true, true) => Truth::Yes,
                (false, false) => Truth::Unknown,
                _ => Truth::No,
            };
            assert_eq!(truth, expected);
        }
        assert_eq!(learned.problem(0), blank.problem(0));
        let clash = problem.edges.iter().position(|&(a, b)| a == i && b != j).unwrap() as u32;
        let both = [right as u32, clash].map(|thing| (Subject { unit: 1, thing }, true));
        assert!(matches!(matched(&blank, &both), Err(Error::Data { .. })));
    }
}
