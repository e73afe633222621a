//! Questions about the labels of items.

use super::{Asked, Asker, ask, line, read, shown};
use crate::args::Ask;
use crate::plan::Usage;
use crate::screen::{Screen, name};
use anyhow::Result;
use ordain::ask::{Count, Known, Strategy, doubts, generator, next};
use ordain::data::{LabelSet, texts};
use ordain::labelling::{Answer, LabelQuestions, Labelling};
use ordain::method::{Annotate, Annotator, LabelWork, Scored};
use ordain::structure::star::Clamp;
use ordain::task::{Fitted, Ready};
use serde_json::{Map, json};
use std::fmt::Write as _;

pub(super) fn run(fitted: &Fitted<Annotate>, strategy: Strategy, args: &Ask, screen: &Screen) -> Result<()> {
    let annotator = &fitted.model;
    if !strategy.suits(annotator.trainer) {
        return Err(Usage(format!(
            "--strategy {strategy} needs probabilities, and a model by margin has none: ask by expected or paper"
        ))
        .into());
    }
    let ready = read(fitted, args, screen)?;
    let questions = LabelQuestions::new(ready.set())?;
    let work = LabelWork::default();
    let show = shown(args, &annotator.inputs);
    let cells = match show.is_empty() {
        true => vec![],
        false => texts(&args.data, &annotator.inputs.columns.roles, &[], &show)?,
    };
    let mut items = Items {
        on: &ready,
        set: ready.set(),
        annotator,
        questions: &questions,
        strategy,
        seed: args.seed,
        work,
        show,
        cells,
    };
    ask(&mut items, &questions, args, screen)
}

struct Items<'a> {
    on: &'a Ready<'static, Annotate>,
    set: &'a LabelSet,
    annotator: &'a Annotator,
    questions: &'a LabelQuestions<'a>,
    strategy: Strategy,
    seed: u64,
    work: LabelWork,
    /// Columns to show, and their texts, item by item.
    show: Vec<String>,
    cells: Vec<Vec<String>>,
}

/// What is known of an item: clamps, and labels that were skipped.
fn known(labels: usize, answers: &[Answer]) -> (Vec<Clamp>, Vec<u32>) {
    ordain::ask::known(labels, answers.iter().map(|answer| (answer.subject.thing, answer.yes)))
}

impl Items<'_> {
    fn names(&self, labels: impl IntoIterator<Item = u32>) -> String {
        let names = labels.into_iter().map(|label| self.annotator.labels[label as usize].as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        if names.is_empty() { "none".into() } else { names }
    }

    /// What the model would add to the answers, best first.
    fn guessed(&self, item: &Scored, clamp: &[Clamp]) -> Result<Vec<u32>> {
        let chosen = self.annotator.predict_item(item, clamp, &mut LabelWork::default())?.chosen;
        Ok(chosen.into_iter().filter(|&label| clamp[label as usize] == Clamp::Free).collect())
    }
}

impl<'a> Asker for Items<'a> {
    type Questions = LabelQuestions<'a>;
    const QUESTIONS: usize = 10;
    const MORE: &'static str = "+LABEL (-LABEL) to say that another label applies (does not)";

    fn questions(&self) -> &Self::Questions {
        self.questions
    }

    fn doubts(&self) -> Result<Vec<f64>> {
        Ok(doubts(self.annotator, self.on)?)
    }

    fn name(&self, unit: usize) -> String {
        format!("item {}", self.set.item(unit))
    }

    fn heading(&self, unit: usize, (at, of): (usize, usize)) -> String {
        let cells = self.cells.get(unit).into_iter().flatten().map(|cell| line(cell));
        let fields = self.show.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
        let fields: String = fields.map(|(name, cell)| format!("\n  {name}: {cell}")).collect();
        format!("{} ({at} of {of}){fields}", self.name(unit))
    }

    fn next(&mut self, unit: usize, answers: &[Answer]) -> Result<Option<Asked>> {
        let (clamp, skipped) = known(self.set.labels.len(), answers);
        let item = self.annotator.score(self.on, unit)?;
        // the same question comes again after an undo, and when a labelling is taken up
        let mut random = generator(self.seed, unit, answers.len());
        let so_far = Known { count: Count::Learned, clamp: &clamp, skipped: &skipped };
        let Some(question) = next(self.annotator, &item, &so_far, self.strategy, &mut random, &mut self.work)? else {
            return Ok(None);
        };
        let given = |yes: bool| {
            let answers = answers.iter().filter(move |answer| answer.yes == Some(yes));
            self.names(answers.map(|answer| answer.subject.thing))
        };
        let guessed = self.names(self.guessed(&item, &clamp)?);
        Ok(Some(Asked {
            thing: question.label,
            facts: format!("  yes: {}; no: {}; best guess for the rest: {guessed}", given(true), given(false)),
            text: self.annotator.labels[question.label as usize].clone(),
            record: Map::from_iter([
                ("strategy".into(), self.strategy.name().into()),
                ("value".into(), question.value.into()),
            ]),
        }))
    }

    fn typed(&self, _: usize, text: &str) -> ordain::Result<u32> {
        self.set.find_label(text).map(|label| label as u32)
    }

    fn shown(&self, _: usize, thing: u32) -> String {
        self.annotator.labels[thing as usize].clone()
    }

    fn guess(&self, unit: usize, answers: &[Answer]) -> Result<Vec<u32>> {
        let (clamp, _) = known(self.set.labels.len(), answers);
        self.guessed(&self.annotator.score(self.on, unit)?, &clamp)
    }

    /// The labels of every item that was asked about: those that were answered with yes, and the best guess for the rest.
    fn print(&self, labelling: &Labelling<'_, Self::Questions>, screen: &Screen) -> Result<()> {
        let mut text = String::new();
        for i in 0..self.set.len() {
            let answers: Vec<Answer> = labelling.of_unit(i).copied().collect();
            if answers.is_empty() {
                continue;
            }
            let (clamp, _) = known(self.set.labels.len(), &answers);
            let confirmed: Vec<u32> =
                (0..).zip(&clamp).filter(|(_, c)| **c == Clamp::In).map(|(label, _)| label).collect();
            let guessed = self.guessed(&self.annotator.score(self.on, i)?, &clamp)?;
            let names = |labels: &[u32]| -> Vec<&str> {
                labels.iter().map(|&label| self.annotator.labels[label as usize].as_str()).collect()
            };
            let (confirmed, guessed) = (names(&confirmed), names(&guessed));
            if text.is_empty() && !screen.json {
                text.push_str("item\tlabels\tguessed\n");
            }
            if screen.json {
                let record = json!({"item": self.set.item(i), "labels": confirmed, "guessed": guessed, "answers": answers.len()});
                writeln!(text, "{record}")?;
            } else {
                let (confirmed, guessed) = (confirmed.join(";"), guessed.join(";"));
                writeln!(text, "{}\t{}\t{}", name(&self.set.item(i)), name(&confirmed), name(&guessed))?;
            }
        }
        screen.data(&text)
    }
}
