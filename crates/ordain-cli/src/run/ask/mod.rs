//! `ordain ask`.

mod labels;
mod matches;

use super::files;
use crate::args::{Ask, AskOrder, Columns, Points};
use crate::plan::{Usage, usage};
use crate::run::{check_not_input, check_output};
use crate::screen::{Screen, complain};
use crate::show::{Given, Show};
use anyhow::Result;
use ordain::ask::Strategy;
use ordain::labelling::{Answer, Labelling, Said, Subject, Subjects};
use ordain::model_file::{self, AnyModel};
use ordain::random::Random;
use ordain::task::{Fitted, Inputs, Ready};
use serde_json::{Map, Value};
use std::io::BufRead;
use std::time::SystemTime;

pub(in crate::run) fn run(args: &Ask, screen: &Screen) -> Result<()> {
    let strategy: Strategy = usage(args.strategy.parse())?;
    if args.data.as_os_str() == "-" || args.output.as_os_str() == "-" {
        return Err(Usage("answers come from standard input: DATA and the output need files".into()).into());
    }
    if args.questions == Some(0) {
        return Err(Usage("--questions: expected a number above 0".into()).into());
    }
    check_output(&args.output)?;
    check_not_input(&args.output, [&args.model, &args.data])?;
    super::refuse_missing(&args.reading)?;
    match model_file::load_any(&args.model)? {
        AnyModel::Annotate(fitted) => labels::run(&fitted, strategy, args, screen),
        AnyModel::Match(fitted) => matches::run(&fitted, args, screen),
        _ => Err(Usage("ask is for models of labels and of matches: this one ranks documents".into()).into()),
    }
}

/// The data to ask about.
fn read<T: Show>(fitted: &Fitted<T>, args: &Ask, screen: &Screen) -> Result<Ready<'static, T>> {
    let (columns, points) = (Columns::default(), Points::default());
    let given = Given { gram: args.gram.as_deref(), ..Given::new(&args.reading, &columns, &points) };
    files::read_for(fitted, std::slice::from_ref(&args.data), &given, screen)
}

/// The columns to show: those of `--show`, else those of the model that a person can read.
fn shown(args: &Ask, inputs: &Inputs) -> Vec<String> {
    if args.show.is_empty() { inputs.readable() } else { args.show.clone() }
}

/// A cell on one line, whatever it holds.
fn line(cell: &str) -> String {
    let text: String = cell.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.trim().to_owned()
}

/// A question with what a person should see.
struct Asked {
    /// The label or the edge.
    thing: u32,
    /// What is known so far.
    facts: String,
    /// The question itself.
    text: String,
    /// What the file is to keep of it.
    record: Map<String, Value>,
}

/// The part of a task that is its own.
trait Asker {
    type Questions: Subjects;
    /// Questions per unit, if nothing is said.
    const QUESTIONS: usize;
    /// What else can be typed, and what it means.
    const MORE: &'static str;
    fn questions(&self) -> &Self::Questions;
    /// How much each unit is in doubt.
    fn doubts(&self) -> Result<Vec<f64>>;
    /// The unit by name.
    fn name(&self, unit: usize) -> String;
    /// What a unit is, with its place among so many.
    fn heading(&self, unit: usize, place: (usize, usize)) -> String;
    /// The next question about a unit, given the answers.
    fn next(&mut self, unit: usize, answers: &[Answer]) -> Result<Option<Asked>>;
    /// A label or an edge of a unit as a person typed it.
    fn typed(&self, unit: usize, text: &str) -> ordain::Result<u32>;
    /// A label or an edge of a unit, as a person reads it.
    fn shown(&self, unit: usize, thing: u32) -> String;
    /// What the model thinks of a unit beyond the answers: what `accept` confirms.
    fn guess(&self, unit: usize, answers: &[Answer]) -> Result<Vec<u32>>;
    /// What the answers so far come to.
    fn print(&self, labelling: &Labelling<'_, Self::Questions>, screen: &Screen) -> Result<()>;
}

const WORDS: &str = "y, n, skip, undo, redo, accept (the best guess), next, back or quit";

/// Asks until everything is asked, or nobody answers any more.
fn ask<A: Asker>(asker: &mut A, questions: &A::Questions, args: &Ask, screen: &Screen) -> Result<()> {
    let (mut labelling, half) = Labelling::open(questions, &args.output)?;
    if half {
        screen.say(&format!("warning: {}: the last line was not complete and is left out", args.output.display()));
    }
    let order = order(asker, args)?;
    complain(&format!("answers: {WORDS}, or {}", A::MORE));
    talk(asker, &mut labelling, &order, args, std::io::stdin().lock())?;
    asker.print(&labelling, screen)
}

/// The order in which units are asked about.
fn order<A: Asker>(asker: &A, args: &Ask) -> Result<Vec<usize>> {
    let mut order: Vec<usize> = (0..asker.questions().units()).collect();
    match args.order {
        AskOrder::File => {}
        AskOrder::Random => Random::new(args.seed).shuffle(&mut order),
        AskOrder::Doubtful => {
            let doubts = asker.doubts()?;
            order.sort_by(|&a, &b| doubts[b].total_cmp(&doubts[a]).then(a.cmp(&b)));
        }
    }
    Ok(order)
}

fn talk<A: Asker>(
    asker: &mut A,
    labelling: &mut Labelling<'_, A::Questions>,
    order: &[usize],
    args: &Ask,
    mut input: impl BufRead,
) -> Result<()> {
    let by = args.by.as_deref();
    let said = || Said { by, at: SystemTime::now(), key: None };
    let most = args.questions.unwrap_or(A::QUESTIONS);
    // who goes back wants to say more than was asked
    let (mut at, mut seen, mut back) = (0, None, false);
    'units: while let Some(&unit) = order.get(at) {
        let answers: Vec<Answer> = labelling.of_unit(unit).copied().collect();
        let asked = answers.iter().filter(|answer| answer.asked).count();
        let question = if asked < most || back { asker.next(unit, &answers)? } else { None };
        let Some(question) = question else {
            back &= at > 0;
            at = if back { at - 1 } else { at + 1 };
            continue;
        };
        back = false;
        if seen != Some(unit) {
            complain(&asker.heading(unit, (at + 1, order.len())));
            seen = Some(unit);
        }
        complain(&question.facts);
        loop {
            complain(&format!("{}? (y/n/skip/undo/quit)", question.text));
            let mut line = vec![];
            if input.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            let line = String::from_utf8_lossy(&line);
            if let Some((yes, name)) = unasked(line.trim()) {
                let thing = match asker.typed(unit, name) {
                    Ok(thing) => thing,
                    Err(error) => {
                        complain(&error.to_string());
                        continue;
                    }
                };
                let subject = Subject { unit: unit as u32, thing };
                if !labelling.is_open(subject, by) {
                    complain(&format!("{name} is answered already: undo takes answers back, the last one first"));
                    continue;
                }
                labelling.answer(Answer { subject, yes: Some(yes), grade: None, asked: false }, Map::new(), said())?;
                continue 'units;
            }
            let yes = match line.trim().to_lowercase().as_str() {
                "y" | "yes" => Some(true),
                "n" | "no" => Some(false),
                "s" | "skip" => None,
                "q" | "quit" => return Ok(()),
                word @ ("u" | "undo" | "r" | "redo") => {
                    let undo = word.starts_with('u');
                    let done = if undo { labelling.undo(said())? } else { labelling.redo(said())? };
                    let word = if undo { "undo" } else { "redo" };
                    let Some(Answer { subject: Subject { unit, thing }, .. }) = done else {
                        complain(&format!("there is nothing to {word}"));
                        continue;
                    };
                    let unit = unit as usize;
                    let done = if undo { "undone" } else { "said again" };
                    complain(&format!("{done}: {}, {}", asker.name(unit), asker.shown(unit, thing)));
                    at = order.iter().position(|&own| own == unit).unwrap_or(at);
                    continue 'units;
                }
                "accept" => {
                    for thing in asker.guess(unit, &answers)? {
                        let subject = Subject { unit: unit as u32, thing };
                        if labelling.is_open(subject, by) {
                            labelling.answer(
                                Answer { subject, yes: Some(true), grade: None, asked: false },
                                Map::new(),
                                said(),
                            )?;
                        }
                    }
                    at += 1;
                    continue 'units;
                }
                "next" => {
                    at += 1;
                    continue 'units;
                }
                "back" if at == 0 => {
                    complain("this is the first");
                    continue;
                }
                "back" => {
                    (at, back) = (at - 1, true);
                    continue 'units;
                }
                _ => {
                    complain(&format!("expected {WORDS}, or {}", A::MORE));
                    continue;
                }
            };
            let subject = Subject { unit: unit as u32, thing: question.thing };
            labelling.answer(Answer { subject, yes, grade: None, asked: true }, question.record, said())?;
            continue 'units;
        }
    }
    complain("all questions are answered");
    Ok(())
}

/// Whether something that was not asked about holds: `+sea` or `-sea`.
fn unasked(text: &str) -> Option<(bool, &str)> {
    let (yes, name) = match text.strip_prefix('+') {
        Some(name) => (true, name),
        None => (false, text.strip_prefix('-')?),
    };
    Some((yes, name.trim())).filter(|(_, name)| !name.is_empty())
}
