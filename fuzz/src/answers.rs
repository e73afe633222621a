//! Damaged files of answers: refused, or replayed line by line as they stand.

use super::mutate;
use super::suite::{Suite, clear, damage, ensure};
use ordain::data::LabelSet;
use ordain::data::synthetic::Scenes;
use ordain::labelling::{Answer, LabelQuestions, Labelling, Said, Subject};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// What stands after all lines, by item: the label, the answer and whether it was asked, in the order of the answers.
type Standing = BTreeMap<u32, Vec<Answer>>;

/// One thing that was said: an answer with who gave it, or an undo of a line.
enum Line {
    Answer(Answer, Option<String>),
    Undo(usize),
    Redo(usize),
}

/// Replays the lines from the start for every look: an answer stands unless an undo that stands names it, and takes the place of one
/// by the same person that said nothing.
fn standing(lines: &[Line]) -> Option<Vec<(usize, Answer, Option<String>)>> {
    let mut gone: Vec<usize> = vec![];
    let mut out: Vec<(usize, Answer, Option<String>)> = vec![];
    for (at, line) in (1..).zip(lines) {
        match line {
            Line::Answer(..) => {}
            Line::Undo(of) => {
                out.iter().any(|own| own.0 == *of).then(|| gone.push(*of))?;
            }
            Line::Redo(undo) => {
                let Some(Line::Undo(of)) = lines.get(undo.checked_sub(1)?) else { return None };
                let redone = lines[..at - 1].iter().any(|line| matches!(line, Line::Redo(own) if own == undo));
                let place = gone.iter().position(|own| own == of).filter(|_| *undo < at && !redone)?;
                gone.remove(place);
            }
        }
        out = vec![];
        for (n, line) in (1..).zip(&lines[..at]) {
            let Line::Answer(answer, by) = line else { continue };
            if gone.contains(&n) {
                continue;
            }
            let mut answer = *answer;
            if let Some(old) = out.iter().position(|(_, own, who)| own.subject == answer.subject && who == by) {
                out[old].1.yes.is_none().then_some(())?;
                answer.asked |= out[old].1.asked;
                out.remove(old);
            }
            out.push((n, answer, by.clone()));
        }
    }
    Some(out)
}

/// What a file says; nothing where a line of it says nothing that can be.
fn plain(text: &[u8], set: &LabelSet, head: &Value) -> Option<Standing> {
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    let last = lines.pop()?;
    if serde_json::from_slice::<Value>(last).is_ok() {
        lines.push(last); // whole but for its end
    }
    let mut lines = lines.into_iter().filter(|line| !line.trim_ascii().is_empty());
    let Some(first) = lines.next() else { return Some(Standing::new()) };
    let first: Value = serde_json::from_slice(first).ok()?;
    let same = ["data", "model", "items"].iter().all(|key| first.get(key) == head.get(key));
    let format = first.get("format").map_or(Some(1), Value::as_u64)?;
    (same && first["task"].as_str().is_none_or(|task| task == "annotate") && (1..=2).contains(&format)).then_some(())?;
    let mut all = vec![];
    for (number, line) in (1..).zip(lines) {
        let line: Value = serde_json::from_slice(line).ok()?;
        match line.get("n") {
            None if format == 1 => {}
            n => (n?.as_u64() == Some(number)).then_some(())?,
        }
        if let Some(undo) = line["undo"].as_u64() {
            all.push(Line::Undo(undo as usize));
        } else if let Some(redo) = line["redo"].as_u64() {
            all.push(Line::Redo(redo as usize));
        } else {
            let unit = (0..set.len()).position(|i| line["item"].as_str() == Some(&*set.item(i)))?;
            let thing = set.labels.iter().position(|label| line["label"].as_str() == Some(label.as_str()))?;
            let subject = Subject { unit: unit as u32, thing: thing as u32 };
            if line["undo"] == true {
                let now = standing(&all)?;
                let last = now.iter().rev().find(|own| own.1.subject.unit == subject.unit)?;
                (last.1.subject == subject).then_some(())?;
                all.push(Line::Undo(last.0));
                continue;
            }
            let yes = match line.get("answer")? {
                Value::Bool(yes) => Some(*yes),
                Value::Null => None,
                _ => return None,
            };
            all.push(Line::Answer(
                Answer { subject, yes, grade: None, asked: line["asked"] != false },
                line["by"].as_str().map(Into::into),
            ));
        }
    }
    let mut out = Standing::new();
    standing(&all)?.into_iter().for_each(|(_, answer, _)| out.entry(answer.subject.unit).or_default().push(answer));
    Some(out)
}

/// Answers about labels.
pub(crate) fn damaged_answers(suite: &mut Suite, inputs: usize) {
    let set = Scenes { items: 10, ..Scenes::default() }.make();
    let questions = LabelQuestions::new(&set).expect("labels");
    let path = suite.path("answers.jsonl");
    {
        let (mut labelling, _) = Labelling::open(&questions, &path).expect("a new file");
        let said = |by| Said { by: Some(by), at: std::time::SystemTime::UNIX_EPOCH, key: None };
        for unit in 0..8u32 {
            let yes = [Some(true), None, Some(false)][unit as usize % 3];
            let answer =
                Answer { subject: Subject { unit: unit % 4, thing: unit % 3 }, yes, grade: None, asked: unit % 4 != 3 };
            labelling.answer(answer, Default::default(), said(["ann", "bob"][unit as usize / 4])).expect("an answer");
            if unit % 3 == 1 {
                labelling.undo(said("ann")).expect("an undo");
            }
        }
        labelling.redo(said("ann")).expect("a redo");
    }
    let whole = fs::read(&path).expect("a file");
    let head = whole.split(|&byte| byte == b'\n').next().unwrap_or(b"");
    let head: Value = serde_json::from_slice(head).expect("a head");
    let mut random = damage(900);
    for turn in 0..=inputs {
        let (text, told) = match turn {
            0 => (whole.clone(), "whole".to_owned()),
            _ => mutate::text(&whole, &mut random),
        };
        fs::write(&path, &text).expect("a file");
        let taken =
            suite.run(&format!("answers {turn} ({told})"), &text, || match Labelling::open(&questions, &path) {
                Err(error) => clear(&error, &[(&path, &text)]).map(|()| false),
                Ok((labelling, _)) => {
                    let mut found = Standing::new();
                    for unit in 0..set.len() {
                        let all: Vec<Answer> = labelling.of_unit(unit).copied().collect();
                        if !all.is_empty() {
                            found.insert(unit as u32, all);
                        }
                    }
                    let truth = plain(&text, &set, &head);
                    ensure!(truth.as_ref() == Some(&found), "other answers", "{found:?}, not {truth:?}");
                    Ok(true)
                }
            });
        assert!(turn > 0 || taken == Some(true), "the whole file is not read");
    }
}
