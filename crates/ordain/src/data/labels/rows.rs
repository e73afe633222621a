//! CSV and TSV of items with labels: columns of 0 and 1 that are named, a column `labels` of names between `;`, or a
//! column of categories.

use crate::data::cells::open;
use crate::data::columns::once;
use crate::data::labels::read::{LabelReading, Part};
use crate::data::labels::set::Lists;
use crate::data::number::{self, Value};
use crate::data::strings::short;
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

pub(in crate::data) fn read(path: &Path, delimiter: u8, reading: &LabelReading) -> Result<Part> {
    let (mut rows, header) = open(path, delimiter)?;
    once(path, "column", &header)?;
    let (labels, mut vocabulary) = labels_of(path, &header, reading)?;
    let is_label = |j: usize| match &labels {
        Labels::Columns(columns) => columns.contains(&j),
        Labels::Names(column) | Labels::Category(column) => *column == j,
        Labels::None => false,
    };
    let column = |name: &String, option: &'static str| find_column(path, &header, name, option);
    let ignored = reading.ignore.iter().map(|name| column(name, "ignore")).collect::<Result<Vec<usize>>>()?;
    let plain: Vec<usize> = (0..header.len()).filter(|&j| !is_label(j) && !ignored.contains(&j)).collect();
    let find = |name: &str| plain.iter().copied().find(|&j| header[j].eq_ignore_ascii_case(name));
    let id = match &reading.id {
        Some(name) => Some(column(name, "id")?),
        None => find("id").or_else(|| find("item")),
    };
    let features: Vec<usize> = plain.iter().copied().filter(|&j| Some(j) != id).collect();
    let mut known: HashMap<String, u32> = vocabulary.iter().cloned().zip(0..).collect();
    let (mut values, mut items) = (vec![], Strings::default());
    let (mut yes, mut unknown, mut row) = (Lists::default(), Lists::default(), (vec![], vec![]));
    while let Some(record) = rows.next()? {
        let refuse = |j: usize, expected: String| record.refuse(j, expected);
        for &j in &features {
            values.push(match number::whole(record[j].trim_ascii()) {
                Value::Number(x) => x,
                Value::Missing if reading.keep_missing() => f32::NAN,
                Value::Missing => {
                    return Err(refuse(j, "a value".into()).or(Way::gaps()));
                }
                Value::Bad => {
                    let way = match &labels {
                        Labels::Category(_) => Way::new("ignore", [short(&header[j])], "leaves the column out"),
                        _ => Way::new("labels", [short(&header[j])], "takes the column as a label"),
                    };
                    let expected = "a finite number (take a column of text out, or turn it into numbers)";
                    return Err(refuse(j, expected.into()).or(way));
                }
            });
        }
        row.0.clear();
        row.1.clear();
        match &labels {
            Labels::None => {}
            Labels::Columns(columns) => {
                for (label, &j) in (0u32..).zip(columns) {
                    match state(record[j].trim_ascii()) {
                        Some(Some(true)) => row.0.push(label),
                        Some(Some(false)) => {}
                        Some(None) => row.1.push(label),
                        None => return Err(refuse(j, "1, 0, true, false, yes, no, or nothing where unknown".into())),
                    }
                }
            }
            Labels::Names(j) => {
                let names = std::str::from_utf8(&record[*j]).map_err(|_| refuse(*j, "labels in UTF-8".into()))?;
                for name in names.split(';').map(str::trim).filter(|name| !name.is_empty()) {
                    row.0.push(number_of(name, &mut known, &mut vocabulary));
                }
            }
            Labels::Category(j) => {
                let name = std::str::from_utf8(&record[*j]).map_err(|_| refuse(*j, "a category in UTF-8".into()))?;
                if name.trim().is_empty() {
                    return Err(refuse(*j, "a category".into()));
                }
                row.0.push(number_of(name.trim(), &mut known, &mut vocabulary));
            }
        }
        yes.push(&row.0);
        unknown.push(&row.1);
        if let Some(id) = id {
            items.push(record[id].trim_ascii());
        }
    }
    let names: Vec<String> = features.iter().map(|&j| header[j].clone()).collect();
    Ok(Part {
        features: Features::Dense(Matrix::new(values, names.len())),
        columns: Columns::of(names),
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

/// The place of a column that an option names.
fn find_column(path: &Path, header: &[String], name: &str, option: &'static str) -> Result<usize> {
    let absent = || Error::Parse {
        path: path.into(),
        line: 1,
        column: 1,
        expected: format!("a header with the column {:?}", short(name)),
        found: format!("{:?}", short(&header.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(","))),
    };
    header.iter().position(|h| h == name).ok_or_else(|| absent().or(Way::new(option, [short(name)], "names it")))
}

/// Where the labels are, and their names as far as the header tells.
fn labels_of(path: &Path, header: &[String], reading: &LabelReading) -> Result<(Labels, Vec<String>)> {
    if let Some(category) = &reading.category {
        return Ok((Labels::Category(find_column(path, header, category, "queries")?), vec![]));
    }
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
    let columns = names.iter().map(|name| find_column(path, header, name, "labels")).collect::<Result<Vec<usize>>>()?;
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
