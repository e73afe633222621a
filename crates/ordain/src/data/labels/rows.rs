//! CSV and TSV of items with labels: columns of 0 and 1 that are named, a column `labels` of names between `;`, or a
//! column of categories.

use crate::data::labels::read::{LabelReading, Part};
use crate::data::labels::set::Lists;
use crate::data::table::{Finding, Format, Role, Table};
use crate::data::{Columns, Strings};
use crate::error::{Error, Result, Way};
use crate::matrix::{Features, Matrix};
use std::collections::HashMap;
use std::path::Path;

/// Where a table has its labels.
enum Labels {
    /// One column for each.
    Columns(Vec<usize>),
    /// Names in one column.
    Names(usize),
    /// One name in one column.
    Category(usize),
    /// Nowhere.
    None,
}

pub(in crate::data) fn read(path: &Path, format: Format, reading: &LabelReading) -> Result<Part> {
    let mut rows = Table::open(path, format)?;
    let finding = Finding { path, header: &rows.header, roles: &reading.roles, model: reading.model.as_deref() };
    let (labels, mut vocabulary) = labels_of(&finding, reading)?;
    let taken = match &labels {
        Labels::Columns(columns) => columns.clone(),
        Labels::Names(column) | Labels::Category(column) => vec![*column],
        Labels::None => vec![],
    };
    let found = finding.find(&[Role::Item], &taken)?;
    let id = found.get(Role::Item);
    reading.texts.enter(path);
    let names = found.with_cells(rows.select(&found.features, &[&taken[..], &found.others()].concat())?);
    let mut known: HashMap<String, u32> = vocabulary.iter().cloned().zip(0..).collect();
    let (mut values, mut items) = (vec![], Strings::default());
    let (mut yes, mut unknown, mut row) = (Lists::default(), Lists::default(), (vec![], vec![]));
    while let Some(record) = rows.next()? {
        let refuse = |j: usize, expected: &str| record.refuse(j, expected);
        // a column of text may be one of labels
        record.features(reading.keep_missing(), &mut values).map_err(|error| match (&error, &labels) {
            (Error::Advised { way, .. }, Labels::None | Labels::Names(_)) if way.option == "ignore" => {
                let more = Way::new("labels", way.values.clone(), "takes it as a label");
                error.or(more)
            }
            _ => error,
        })?;
        found.push_cells(&record, &reading.texts, &mut values)?;
        row.0.clear();
        row.1.clear();
        match &labels {
            Labels::None => {}
            Labels::Columns(columns) => {
                for (label, &j) in (0u32..).zip(columns) {
                    match state(&record.text(j)) {
                        Some(Some(true)) => row.0.push(label),
                        Some(Some(false)) => {}
                        Some(None) => row.1.push(label),
                        None => return Err(refuse(j, "1, 0, true, false, yes, no, or nothing where unknown")),
                    }
                }
            }
            Labels::Names(j) => {
                let names = record.text(*j);
                let names = std::str::from_utf8(&names).map_err(|_| refuse(*j, "labels in UTF-8"))?;
                for name in names.split(';').map(str::trim_ascii).filter(|name| !name.is_empty()) {
                    row.0.push(number_of(name, &mut known, &mut vocabulary));
                }
            }
            Labels::Category(j) => {
                let name = record.text(*j);
                let name = std::str::from_utf8(&name).map_err(|_| refuse(*j, "a category in UTF-8"))?;
                if name.trim_ascii().is_empty() {
                    return Err(refuse(*j, "a category"));
                }
                row.0.push(number_of(name.trim_ascii(), &mut known, &mut vocabulary));
            }
        }
        yes.push(&row.0);
        unknown.push(&row.1);
        if let Some(id) = id {
            let Some(name) = record.word(id) else {
                return Err(refuse(id, "an id in UTF-8 (save the file as UTF-8)"));
            };
            items.push(name.as_bytes());
        }
    }
    let coarse = rows.coarse().into_iter().map(|j| names[j].clone()).collect();
    Ok(Part {
        features: Features::Dense(Matrix::new(values, names.len())),
        columns: Columns { cells: found.cells(&reading.texts), roles: found.roles, coarse, ..Columns::of(names) },
        loose: false,
        labels: vocabulary,
        fixed: matches!(labels, Labels::Columns(_)),
        labelled: Some(!matches!(labels, Labels::None)),
        yes,
        unknown,
        items,
    })
}

/// The number of a label, which is added to the vocabulary where it is new.
fn number_of(name: &str, known: &mut HashMap<String, u32>, vocabulary: &mut Vec<String>) -> u32 {
    known.get(name).copied().unwrap_or_else(|| {
        known.insert(name.to_owned(), vocabulary.len() as u32);
        vocabulary.push(name.to_owned());
        vocabulary.len() as u32 - 1
    })
}

/// Where the labels are, and their names as far as the header tells.
fn labels_of(table: &Finding, reading: &LabelReading) -> Result<(Labels, Vec<String>)> {
    if let Some(category) = &reading.category {
        return Ok((Labels::Category(table.column(category, "queries")?), vec![]));
    }
    let header = table.header;
    let find = |name: &str| header.iter().position(|h| h == name);
    let Some(given) = &reading.labels else {
        if let Some(column) = header.iter().position(|h| h.eq_ignore_ascii_case("labels")) {
            return Ok((Labels::Names(column), vec![]));
        }
        let known: Vec<(usize, &String)> = reading.known.iter().filter_map(|name| Some((find(name)?, name))).collect();
        return Ok(match known.is_empty() {
            true => (Labels::None, vec![]),
            false => (
                Labels::Columns(known.iter().map(|(column, _)| *column).collect()),
                known.into_iter().map(|(_, name)| name.clone()).collect(),
            ),
        });
    };
    let names = LabelReading::names(given)?;
    let columns = names.iter().map(|name| table.column(name, "labels")).collect::<Result<Vec<usize>>>()?;
    Ok((Labels::Columns(columns), names))
}

/// Whether a label applies, `Some(None)` where that is not known; `None` where the cell says something else.
fn state(cell: &[u8]) -> Option<Option<bool>> {
    let is = |words: &[&str]| words.iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes()));
    if is(&["1", "true", "yes"]) {
        Some(Some(true))
    } else if is(&["0", "false", "no"]) {
        Some(Some(false))
    } else {
        is(&["", "?", "null", "nan"]).then_some(None)
    }
}
