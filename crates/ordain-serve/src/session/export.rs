//! What people said, for other programs.

use super::Page;
use crate::problem::{Problem, Result};
use ordain::labelling::Answer;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is said of a subject: by one person, or by the most of all.
pub(super) struct Vote {
    pub(super) unit: u32,
    pub(super) thing: u32,
    pub(super) yes: bool,
    by: Option<String>,
}

/// The votes: of each person, or of the majority, which says nothing where as many say yes as no.
pub(super) fn votes(standing: &[(Answer, Option<String>)], all: bool) -> Vec<Vote> {
    let said = standing.iter().filter_map(|(answer, by)| Some((answer.subject, answer.yes?, by)));
    if all {
        let one = |(subject, yes, by): (ordain::labelling::Subject, bool, &Option<String>)| Vote {
            unit: subject.unit,
            thing: subject.thing,
            yes,
            by: by.clone(),
        };
        return said.map(one).collect();
    }
    let mut sums: BTreeMap<(u32, u32), [usize; 2]> = BTreeMap::new();
    for (subject, yes, _) in said {
        sums.entry((subject.unit, subject.thing)).or_default()[usize::from(yes)] += 1;
    }
    let sides = sums.into_iter().filter(|(_, [no, yes])| no != yes);
    sides.map(|((unit, thing), [no, yes])| Vote { unit, thing, yes: yes > no, by: None }).collect()
}

/// The names of a format: what kind of text it is, and the end of the name of its file.
pub(super) fn kind(format: &str) -> Result<(&'static str, &'static str)> {
    match format {
        "jsonl" => Ok(("application/x-ndjson", "jsonl")),
        "csv" => Ok(("text/csv; charset=utf-8", "csv")),
        "labelstudio" => Ok(("application/json", "json")),
        "doccano" => Ok(("application/x-ndjson", "doccano.jsonl")),
        other => Err(Problem::bad(format!("format: expected jsonl, csv, labelstudio or doccano, found {other:?}"))),
    }
}

/// Answers as a table, as tasks of Label Studio with annotations, or as lines of doccano.
pub(super) fn text(page: &dyn Page, standing: &[(Answer, Option<String>)], format: &str, all: bool) -> Result<String> {
    if page.grades().is_some() && format == "csv" {
        return Ok(graded(page, standing));
    }
    let votes = votes(standing, all);
    if format == "csv" {
        return Ok(table(page, &votes, all));
    }
    if page.labels().is_none() {
        return Err(Problem::bad(format!("format: expected jsonl or csv of this task, found {format:?}")));
    }
    // labels by item and person
    let mut chosen: BTreeMap<(u32, Option<&str>), Vec<&str>> = BTreeMap::new();
    for vote in &votes {
        let own = chosen.entry((vote.unit, vote.by.as_deref())).or_default();
        own.extend(vote.yes.then(|| page.label(vote.thing)));
    }
    let data = |unit: u32| json!({"id": page.name(unit as usize), "text": page.text(unit as usize)});
    if format == "doccano" {
        let line = |((unit, by), labels): (&(u32, Option<&str>), &Vec<&str>)| {
            let item = data(*unit);
            let text = item["text"].as_str().unwrap_or_default();
            let mut line = json!({"id": item["id"], "text": text, "label": labels});
            if let Some(by) = by {
                line["annotator"] = (*by).into();
            }
            line.to_string() + "\n"
        };
        return Ok(chosen.iter().map(line).collect());
    }
    let mut tasks: Vec<Value> = vec![];
    let mut last = None;
    for ((unit, by), labels) in &chosen {
        if last != Some(*unit) {
            tasks.push(json!({"data": data(*unit), "annotations": []}));
            last = Some(*unit);
        }
        let result =
            json!([{"from_name": "labels", "to_name": "text", "type": "choices", "value": {"choices": labels}}]);
        let annotation = json!({"result": result, "completed_by": {"email": by}});
        let own = tasks.last_mut().and_then(|task| task["annotations"].as_array_mut());
        own.into_iter().for_each(|own| own.push(annotation.clone()));
    }
    Ok(Value::from(tasks).to_string())
}

/// A row for each grade that stands, with its person.
fn graded(page: &dyn Page, standing: &[(Answer, Option<String>)]) -> String {
    let mut text = format!("{},doc,grade,by\n", page.unit());
    for (Answer { subject, grade, .. }, by) in standing {
        let Some(grade) = grade else { continue };
        let names = page.names(subject.unit as usize, subject.thing);
        let doc = names.get("doc").and_then(Value::as_str).unwrap_or_default();
        let cells = [&page.name(subject.unit as usize), doc, &grade.to_string(), by.as_deref().unwrap_or_default()];
        text += &cells.map(quoted).join(",");
        text.push('\n');
    }
    text
}

/// A row for each vote, with the columns of the file of answers.
fn table(page: &dyn Page, votes: &[Vote], all: bool) -> String {
    let mut text = String::new();
    let mut row = |cells: &[String]| {
        text += &cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",");
        text.push('\n');
    };
    let mut head = None;
    for vote in votes {
        let names = page.names(vote.unit as usize, vote.thing);
        if head.is_none() {
            let mut cells = vec![page.unit().to_owned()];
            cells.extend(names.keys().cloned());
            cells.push("answer".into());
            cells.extend(all.then(|| "by".into()));
            row(&cells);
            head = Some(());
        }
        let mut cells = vec![page.name(vote.unit as usize)];
        cells.extend(names.values().map(|name| name.as_str().unwrap_or_default().to_owned()));
        cells.push(u8::from(vote.yes).to_string());
        cells.extend(all.then(|| vote.by.clone().unwrap_or_default()));
        row(&cells);
    }
    text
}

/// A cell of a table. What a spreadsheet would take for a formula has a quote before it.
fn quoted(cell: &str) -> String {
    let cell = match cell.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{cell}"),
        _ => cell.to_owned(),
    };
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        assert_eq!(
            ["a", "a,b", "say \"x\"", "=1+1", "-5"].map(quoted),
            ["a", "\"a,b\"", "\"say \"\"x\"\"\"", "'=1+1", "'-5"]
        );
    }
}
