//! `ordain ask`.

use super::files;
use crate::args::{Ask, Columns, Points};
use crate::plan::{Usage, usage};
use crate::run::{check_not_input, check_output};
use crate::screen::{Screen, complain};
use crate::show::Given;
use anyhow::Result;
use ordain::Error;
use ordain::ask::{Count, Known, Question, Strategy, generator, next};
use ordain::data::LabelSet;
use ordain::method::{Annotate, Annotator, LabelWork};
use ordain::model_file;
use ordain::structure::star::Clamp;
use ordain::task::{Fitted, Ready};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::path::Path;

pub(in crate::run) fn run(args: &Ask, screen: &Screen) -> Result<()> {
    let strategy: Strategy = usage(args.strategy.parse())?;
    if args.data.as_os_str() == "-" || args.output.as_os_str() == "-" {
        return Err(Usage("answers come from standard input: DATA and the output need files".into()).into());
    }
    if args.questions == 0 {
        return Err(Usage("--questions: expected a number above 0".into()).into());
    }
    check_output(&args.output)?;
    check_not_input(&args.output, [&args.model, &args.data])?;
    super::refuse_missing(&args.reading)?;
    let fitted: Fitted<Annotate> = model_file::load(&args.model)?;
    let annotator = &fitted.model;
    if !strategy.suits(annotator.trainer) {
        return Err(Usage(format!(
            "--strategy {strategy} needs probabilities, and a model by margin has none: ask by expected or paper"
        ))
        .into());
    }
    let columns = Columns::default();
    let points = Points::default();
    let given = Given { gram: args.gram.as_deref(), ..Given::new(&args.reading, &columns, &points) };
    let ready = files::read_for(&fitted, std::slice::from_ref(&args.data), &given, screen)?;
    let mut labelling = Labelling::open(&ready, annotator, &args.output, screen)?;
    labelling.ask(args, strategy, std::io::stdin().lock())?;
    labelling.print(screen)
}

/// What was said about a label.
#[derive(Clone, Copy)]
struct Answer {
    label: u32,
    /// Whether it applies; none where nobody could say.
    yes: Option<bool>,
    /// Whether it was asked about: what is said unasked is not one of the questions.
    asked: bool,
}

/// The labels of an item.
struct Labels {
    /// Answered with yes.
    confirmed: Vec<u32>,
    /// What the model would add to these, best first.
    guessed: Vec<u32>,
}

const WORDS: &str = "y, n, skip, undo or quit, or +LABEL (-LABEL) to say that another label applies (does not)";

/// Answers that stand, and the file that holds them all.
struct Labelling<'a> {
    on: &'a Ready<'static, Annotate>,
    set: &'a LabelSet,
    annotator: &'a Annotator,
    /// Of each item, in the order in which they were given; undone ones are gone.
    answers: Vec<Vec<Answer>>,
    /// The items of all answers, in that order too.
    order: Vec<usize>,
    path: &'a Path,
    file: File,
    work: LabelWork,
}

impl<'a> Labelling<'a> {
    /// Opens the file of answers, and takes over those that are there.
    fn open(
        on: &'a Ready<'static, Annotate>,
        annotator: &'a Annotator,
        path: &'a Path,
        screen: &Screen,
    ) -> Result<Self> {
        let set = on.set();
        let mut items: HashMap<String, usize> = HashMap::new();
        for i in 0..set.len() {
            if items.insert(set.item(i).into_owned(), i).is_some() {
                return Err(Error::Data {
                    expected: "items with different ids, so that answers can be told apart".into(),
                    found: format!("two items {:?}", set.item(i)),
                }
                .into());
            }
        }
        let failed = |action| move |reason| Error::Io { path: path.into(), action, reason };
        let old = match std::fs::read(path) {
            Ok(old) => old,
            Err(reason) if reason.kind() == std::io::ErrorKind::NotFound => vec![],
            Err(reason) => return Err(failed("read")(reason).into()),
        };
        let mut labelling = Self {
            on,
            set,
            annotator,
            answers: vec![vec![]; set.len()],
            order: vec![],
            path,
            file: OpenOptions::new().create(true).append(true).open(path).map_err(failed("write"))?,
            work: LabelWork::default(),
        };
        let record = json!({"data": set.items_digest(), "model": annotator.labels_digest(), "items": set.len()});
        let whole = old.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        // a whole line may lack its end
        let unended = serde_json::from_slice::<Value>(&old[whole..]).is_ok();
        let end = if unended { old.len() } else { whole };
        let mut lines =
            old[..end].split(|&byte| byte == b'\n').zip(1..).filter(|(text, _)| !text.trim_ascii().is_empty());
        let first = lines.next();
        if let Some((text, line)) = first {
            labelling.check_record(text, line, &record)?;
        }
        for (text, line) in lines {
            labelling.take_over(text, line, &items)?;
        }
        if unended {
            labelling.append("\n")?;
        } else if end < old.len() {
            screen.say(&format!("warning: {}: the last line was not complete and is left out", path.display()));
            labelling.file.set_len(end as u64).map_err(failed("write"))?;
        }
        if first.is_none() {
            labelling.append(&format!("{record}\n"))?;
        }
        Ok(labelling)
    }

    /// Refuses a file whose first line does not say that its answers are about these items and labels.
    fn check_record(&self, text: &[u8], line: usize, record: &Value) -> Result<()> {
        let found: Value = serde_json::from_slice(text).unwrap_or_default();
        let differs = |name: &str| found[name] != record[name];
        let found = match () {
            () if ["data", "model", "items"].iter().any(|name| found.get(name).is_none()) => {
                "a file that does not say so in its first line"
            }
            () if differs("model") => "answers on the labels of another model",
            () if differs("data") || differs("items") => "answers on other items",
            () => return Ok(()),
        };
        Err(Error::Parse {
            path: self.path.into(),
            line,
            column: 1,
            expected:
                "answers on these items and on the labels of this model (write new ones to another file: -o FILE)"
                    .into(),
            found: found.into(),
        }
        .into())
    }

    /// Takes over a line of the file.
    fn take_over(&mut self, text: &[u8], line: usize, items: &HashMap<String, usize>) -> Result<()> {
        let wrong = |found: String| Error::Parse {
            path: self.path.into(),
            line,
            column: 1,
            expected: "an answer such as {\"item\":\"7\",\"label\":\"sea\",\"answer\":true}".into(),
            found,
        };
        let shown = || format!("{:?}", String::from_utf8_lossy(text).chars().take(60).collect::<String>());
        let record: Value = serde_json::from_slice(text).map_err(|_| wrong(shown()))?;
        let (Some(item), Some(label)) = (record["item"].as_str(), record["label"].as_str()) else {
            return Err(wrong(shown()).into());
        };
        let Some(&item) = items.get(item) else { return Err(wrong(format!("no item {item:?}")).into()) };
        let label = self.set.find_label(label).map_err(|error| wrong(error.to_string()))? as u32;
        if record["undo"] == Value::Bool(true) {
            if self.answers[item].last().is_none_or(|answer| answer.label != label) {
                return Err(wrong("an undo of no answer".into()).into());
            }
            self.answers[item].pop();
            if let Some(at) = self.order.iter().rposition(|&i| i == item) {
                self.order.remove(at);
            }
            return Ok(());
        }
        let yes = match &record["answer"] {
            Value::Bool(yes) => Some(*yes),
            Value::Null if record.get("answer").is_some() => None,
            _ => return Err(wrong(shown()).into()),
        };
        if !self.is_open(item, label) {
            return Err(wrong("a second answer on the same label, with no undo between".into()).into());
        }
        self.put(item, Answer { label, yes, asked: record["asked"] != Value::Bool(false) });
        Ok(())
    }

    /// Whether something can be said about a label: nothing was, or nobody could say.
    fn is_open(&self, item: usize, label: u32) -> bool {
        !self.answers[item].iter().any(|answer| answer.label == label && answer.yes.is_some())
    }

    /// Notes an answer; where nobody could say before, it takes the place of that.
    fn put(&mut self, item: usize, mut answer: Answer) {
        if let Some(at) = self.answers[item].iter().position(|old| old.label == answer.label) {
            answer.asked |= self.answers[item].remove(at).asked;
            if let Some(at) = self.order.iter().rposition(|&i| i == item) {
                self.order.remove(at);
            }
        }
        self.answers[item].push(answer);
        self.order.push(item);
    }

    /// Adds to the file, and returns once it is on the disk.
    fn append(&mut self, text: &str) -> Result<()> {
        let done = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        Ok(done.map_err(|reason| Error::Io { path: self.path.into(), action: "write", reason })?)
    }

    /// What is known of an item: clamps, and labels that were skipped.
    fn known(&self, item: usize) -> (Vec<Clamp>, Vec<u32>) {
        let (mut clamp, mut skipped) = (vec![Clamp::Free; self.set.labels.len()], vec![]);
        for &Answer { label, yes, .. } in &self.answers[item] {
            match yes {
                Some(yes) => clamp[label as usize] = if yes { Clamp::In } else { Clamp::Out },
                None => skipped.push(label),
            }
        }
        (clamp, skipped)
    }

    /// Asks until everything is asked, or nobody answers any more.
    fn ask(&mut self, args: &Ask, strategy: Strategy, mut input: impl BufRead) -> Result<()> {
        let (mut at, mut shown) = (0, None);
        complain(&format!("answers: {WORDS}"));
        'items: while at < self.set.len() {
            let count = self.answers[at].len();
            if self.answers[at].iter().filter(|answer| answer.asked).count() >= args.questions {
                at += 1;
                continue;
            }
            let (clamp, skipped) = self.known(at);
            let item = self.annotator.score(self.on, at)?;
            // the same question comes again after an undo, and when a labelling is taken up
            let mut random = generator(args.seed, at, count);
            let known = Known { count: Count::Learned, clamp: &clamp, skipped: &skipped };
            let chosen = next(self.annotator, &item, &known, strategy, &mut random, &mut self.work)?;
            let Some(question) = chosen else {
                at += 1;
                continue;
            };
            if shown != Some(at) {
                complain(&format!("item {} ({} of {})", self.set.item(at), at + 1, self.set.len()));
                shown = Some(at);
            }
            complain(&self.facts(at, &self.labels(&item, &clamp)?));
            let label = &self.annotator.labels[question.label as usize];
            loop {
                complain(&format!("{label}? (y/n/skip/undo/quit)"));
                let mut line = vec![];
                if input.read_until(b'\n', &mut line)? == 0 {
                    return Ok(());
                }
                let line = String::from_utf8_lossy(&line);
                if let Some((yes, name)) = unasked(line.trim()) {
                    let label = match self.set.find_label(name) {
                        Ok(label) if self.is_open(at, label as u32) => label as u32,
                        Ok(_) => {
                            complain(&format!(
                                "{name} is answered already: undo takes answers back, the last one first"
                            ));
                            continue;
                        }
                        Err(error) => {
                            complain(&error.to_string());
                            continue;
                        }
                    };
                    let record = json!({"item": self.set.item(at), "label": name, "answer": yes, "asked": false});
                    self.answer(at, Answer { label, yes: Some(yes), asked: false }, &record)?;
                    continue 'items;
                }
                let yes = match line.trim().to_lowercase().as_str() {
                    "y" | "yes" => Some(true),
                    "n" | "no" => Some(false),
                    "s" | "skip" => None,
                    "q" | "quit" => return Ok(()),
                    "u" | "undo" => {
                        let Some(last) = self.undo()? else {
                            complain("there is nothing to undo");
                            continue;
                        };
                        at = last;
                        continue 'items;
                    }
                    _ => {
                        complain(&format!("expected {WORDS}"));
                        continue;
                    }
                };
                let Question { label: asked, value } = question;
                let record = json!({
                    "item": self.set.item(at), "label": label, "answer": yes, "strategy": strategy.name(), "value": value,
                });
                self.answer(at, Answer { label: asked, yes, asked: true }, &record)?;
                continue 'items;
            }
        }
        complain("all questions are answered");
        Ok(())
    }

    fn answer(&mut self, item: usize, answer: Answer, record: &Value) -> Result<()> {
        self.append(&format!("{record}\n"))?;
        self.put(item, answer);
        Ok(())
    }

    /// Takes the last answer back; the item that it was about, if there was one.
    fn undo(&mut self) -> Result<Option<usize>> {
        let Some(&item) = self.order.last() else { return Ok(None) };
        let Some(&Answer { label, .. }) = self.answers[item].last() else { return Ok(None) };
        let (id, name) = (self.set.item(item), &self.annotator.labels[label as usize]);
        complain(&format!("undone: item {id}, {name}"));
        self.append(&format!("{}\n", json!({"item": id, "label": name, "undo": true})))?;
        self.answers[item].pop();
        self.order.pop();
        Ok(Some(item))
    }

    /// The labels that an item has by its answers, and those that the model would add.
    fn labels(&self, item: &ordain::method::Scored, clamp: &[Clamp]) -> Result<Labels> {
        let is = |clamps: Clamp| move |&label: &u32| clamp[label as usize] == clamps;
        let confirmed: Vec<u32> = (0..clamp.len() as u32).filter(is(Clamp::In)).collect();
        let chosen = self.annotator.predict_item(item, clamp, &mut LabelWork::default())?.chosen;
        let guessed = chosen.into_iter().filter(is(Clamp::Free)).collect();
        Ok(Labels { confirmed, guessed })
    }

    fn names(&self, labels: impl IntoIterator<Item = u32>) -> String {
        let names = labels.into_iter().map(|label| self.annotator.labels[label as usize].as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        if names.is_empty() { "none".into() } else { names }
    }

    fn facts(&self, item: usize, labels: &Labels) -> String {
        let given = |yes: bool| {
            let answers = self.answers[item].iter().filter(move |answer| answer.yes == Some(yes));
            answers.map(|answer| answer.label)
        };
        format!(
            "  yes: {}; no: {}; best guess for the rest: {}",
            self.names(given(true)),
            self.names(given(false)),
            self.names(labels.guessed.iter().copied())
        )
    }

    /// The labels of every item that was asked about: those that were answered with yes, and the best guess for the rest.
    fn print(&self, screen: &Screen) -> Result<()> {
        let mut text = String::new();
        for i in 0..self.set.len() {
            let count = self.answers[i].len();
            if count == 0 {
                continue;
            }
            let (clamp, _) = self.known(i);
            let labels = self.labels(&self.annotator.score(self.on, i)?, &clamp)?;
            let names = |labels: &[u32]| -> Vec<&str> {
                labels.iter().map(|&label| self.annotator.labels[label as usize].as_str()).collect()
            };
            let (confirmed, guessed) = (names(&labels.confirmed), names(&labels.guessed));
            if text.is_empty() && !screen.json {
                text.push_str("item\tlabels\tguessed\n");
            }
            if screen.json {
                let record =
                    json!({"item": self.set.item(i), "labels": confirmed, "guessed": guessed, "answers": count});
                writeln!(text, "{record}")?;
            } else {
                writeln!(text, "{}\t{}\t{}", self.set.item(i), confirmed.join(";"), guessed.join(";"))?;
            }
        }
        screen.data(&text)
    }
}

/// Whether a label that was not asked about applies: `+sea` or `-sea`.
fn unasked(text: &str) -> Option<(bool, &str)> {
    let (yes, name) = match text.strip_prefix('+') {
        Some(name) => (true, name),
        None => (false, text.strip_prefix('-')?),
    };
    Some((yes, name.trim())).filter(|(_, name)| !name.is_empty())
}
