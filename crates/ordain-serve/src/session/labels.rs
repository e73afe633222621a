//! Labels of items.

use super::data::Data;
use super::learn::{Learned, Told, learned, majority};
use super::search::Search;
use super::show::Shown;
use super::writer::Writer;
use super::{How, Page, State};
use crate::Labelled;
use crate::metrics::Metrics;
use crate::models::Loaded;
use crate::problem::{Problem, Result};
use crate::said::{Said, said};
use ordain::answer::{AskHow, AskedItem, asked_item};
use ordain::ask::{Strategy, doubts};
use ordain::data::LabelReading;
use ordain::labelling::{Answer, label};
use ordain::method::Annotate;
use ordain::model_file::AnyModel;
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Ready};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time that a question may take before another strategy is taken.
const SLOW: Duration = Duration::from_millis(250);

struct Labels {
    data: Data<Annotate>,
    strategy: Strategy,
    note: Option<String>,
    target: f64,
    doubts: Vec<f64>,
    search: Search,
    /// Items by the text that is shown of them, the first of equals.
    by_text: HashMap<String, usize>,
    shown: Shown,
}

/// Reads the items, and opens the answers.
pub(super) fn open(
    given: &Labelled,
    loaded: &Arc<Loaded>,
    metrics: &Arc<Metrics>,
) -> ordain::Result<(Arc<dyn Page>, Writer, bool)> {
    let fitted = loaded.known::<Annotate>()?;
    let model = &fitted.model;
    let columns: HashSet<&String> = model.inputs.columns.names.iter().collect();
    let reading = LabelReading {
        missing: model.inputs.missing,
        labels: given.labels.clone(),
        known: model.labels.iter().filter(|label| !columns.contains(label)).cloned().collect(),
        roles: model.inputs.columns.roles.clone(),
        model: Some(model.inputs.given().to_vec()),
        ..LabelReading::default()
    };
    let (data, writer, half) = Data::<Annotate>::open(given, loaded, &reading, metrics)?;
    let (scored, set) = (data.scored(), &data.set);
    let on = &scored.on;
    let (strategy, note) = affordable(given, fitted, on)?;
    let raw = on.raw();
    let shown = Shown::read(given, &model.inputs, &raw.features)?;
    let mut by_text = HashMap::new();
    for unit in 0..set.len() {
        shown.text(unit).map(|text| by_text.entry(text.trim().to_owned()).or_insert(unit));
    }
    let labels = Labels {
        by_text,
        doubts: doubts(model, on)?,
        search: Search::new(model.labels.iter().map(String::as_str)),
        strategy,
        note,
        target: given.target,
        shown,
        data,
    };
    Ok((Arc::new(labels), writer, half))
}

/// The strategy, or the cheapest one where a question would make a person wait.
fn affordable(
    given: &Labelled,
    fitted: &Fitted<Annotate>,
    on: &Ready<'_, Annotate>,
) -> ordain::Result<(Strategy, Option<String>)> {
    if given.strategy != Strategy::Expected || on.set().is_empty() {
        return Ok((given.strategy, None));
    }
    let begun = Instant::now();
    let how = AskHow { strategy: given.strategy, control: false, target: given.target, seed: 0 };
    asked_item(&fitted.model, on, 0, &[], &how)?;
    match begun.elapsed() > SLOW {
        false => Ok((given.strategy, None)),
        true => {
            let note = "the strategy expected takes too long with so many labels: questions are chosen by paper";
            Ok((Strategy::Paper, Some(note.into())))
        }
    }
}

impl Page for Labels {
    fn task(&self) -> &'static str {
        "annotate"
    }

    fn version(&self) -> String {
        self.data.version()
    }

    fn take_over(&self, loaded: &Arc<Loaded>) -> ordain::Result<()> {
        if loaded.known::<Annotate>()?.model.labels != self.data.set.labels {
            return Err(ordain::Error::Data {
                expected: "a model of the labels that people are asked about".into(),
                found: "one of others".into(),
            });
        }
        self.data.take_over(loaded)
    }

    fn units(&self) -> usize {
        self.data.set.len()
    }

    fn labels(&self) -> Option<usize> {
        Some(self.data.set.labels.len())
    }

    fn strategy(&self) -> (&'static str, Option<String>) {
        (self.strategy.name(), self.note.clone())
    }

    fn find(&self, name: &str) -> Result<usize> {
        Ok(self.data.set.find_item(name)?)
    }

    fn name(&self, unit: usize) -> String {
        self.data.set.item(unit).into_owned()
    }

    fn unit(&self) -> &'static str {
        "item"
    }

    fn text(&self, unit: usize) -> Option<&str> {
        self.shown.text(unit)
    }

    fn pictures(&self) -> Vec<&str> {
        self.shown.pictures().collect()
    }

    fn thing(&self, _: usize, body: &Map<String, Value>) -> Result<u32> {
        let label = body.get("label").and_then(Value::as_str);
        let label = label.ok_or_else(|| Problem::unfit("expected \"label\", the name of a label"))?;
        Ok(self.data.set.find_label(label)? as u32)
    }

    fn names(&self, _: usize, thing: u32) -> Map<String, Value> {
        Map::from_iter([("label".into(), self.label(thing).into())])
    }

    fn doubts(&self) -> &[f64] {
        &self.doubts
    }

    fn state(&self, unit: usize, answers: &[Answer], how: &How) -> Result<State> {
        let scored = self.data.scored();
        let model = &scored.fitted()?.model;
        let said: Vec<(u32, Option<bool>)> = answers.iter().map(|answer| (answer.subject.thing, answer.yes)).collect();
        // who wants to be asked about something is not asked about something else
        let control = how.control && how.wanted.is_none();
        let ask = AskHow { strategy: self.strategy, control, target: self.target, seed: 0 };
        let AskedItem { mut question, mut set, expected_precision, stop } =
            asked_item(model, &scored.on, unit, &said, &ask)?;
        let record = question.as_ref().map(|question| {
            let mut record = Map::from_iter([
                ("strategy".into(), if control { "random" } else { self.strategy.name() }.into()),
                ("value".into(), question.value.into()),
            ]);
            if control {
                record.extend([("control".into(), true.into()), ("guess".into(), question.guess.into())]);
            }
            (question.number, record)
        });
        if how.blind || control {
            if let Some(question) = &mut question {
                (question.probability, question.gain) = (None, None);
                question.links.clear();
            }
            set.retain(|label| matches!(label.state, "yes" | "no"));
            set.iter_mut().for_each(|label| label.probability = None);
        }
        let precision = if how.blind || control { None } else { expected_precision };
        let raw = scored.on.raw();
        let document = json!({
            "show": self.shown.item(&raw.features, &raw.columns, unit),
            "question": question,
            "set": set,
            "expected_precision": precision,
            "stop": stop,
        });
        let Value::Object(document) = document else { return Err(Problem::bad("no document")) };
        Ok(State { document, question: record, precision: expected_precision })
    }

    fn learn(
        &self,
        served: &Loaded,
        twin: Option<&AnyModel>,
        standing: &[(Answer, Option<String>)],
        watch: &Watch,
    ) -> ordain::Result<Option<Learned>> {
        let answers = majority(standing);
        let answered: HashSet<usize> = answers.iter().map(|(subject, _)| subject.unit as usize).collect();
        let mut given = self.data.teaches().clone();
        given.align_labels(&self.data.set.labels);
        let set = label(&given, &answers)?;
        let known = (0..set.len()).filter(|&unit| set.unknown(unit).len() < set.labels.len());
        let told = Told::<Annotate> {
            units: known.map(|unit| (unit as u32, unit)).collect(),
            set,
            answered: &|unit| answered.contains(&unit),
            metric: "f1",
        };
        learned(served, twin, told, watch)
    }

    fn suggested(&self, unit: usize) -> Result<Said> {
        let scored = self.data.scored();
        Ok(said(&scored.fitted()?.model, &scored.on, unit)?)
    }

    fn by_text(&self, text: &str) -> Option<usize> {
        self.by_text.get(text.trim()).copied()
    }

    fn search(&self, text: &str, most: usize) -> (Vec<u32>, usize) {
        self.search.find(text, most)
    }

    fn label(&self, label: u32) -> &str {
        &self.data.set.labels[label as usize]
    }
}
