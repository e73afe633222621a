//! Columns that a score may only rise or fall with.

use super::settings::names;
use crate::data::Columns;
use crate::error::{Error, Result};
use crate::task::Setting;

/// The setting.
pub(in crate::method) const MONOTONE: Setting = Setting {
    name: "monotone",
    range: "none or columns, as in +bm25;-age",
    default: "none",
    help: "columns that a score may only rise with (+) or fall with (-): weights keep that sign, and trees that direction",
};

/// Reads it.
pub(in crate::method) fn read(value: &str) -> Result<Vec<(String, i8)>> {
    names(value).map(|word| signed(&word)).collect()
}

/// Columns as they are read.
pub(in crate::method) fn written(monotone: &[(String, i8)]) -> String {
    let sign = |way: i8| if way > 0 { '+' } else { '-' };
    let words: Vec<String> = monotone.iter().map(|(name, way)| format!("{}{name}", sign(*way))).collect();
    if words.is_empty() { "none".into() } else { words.join(";") }
}

/// The sign of each column; nothing where none has one. Refuses a column that is not there.
pub(in crate::method) fn signs(monotone: &[(String, i8)], columns: &Columns) -> Result<Vec<i8>> {
    let mut all = if monotone.is_empty() { vec![] } else { vec![0; columns.names.len()] };
    for (name, way) in monotone {
        let at = columns.names.iter().position(|own| own == name);
        all[at.ok_or_else(|| Error::unknown("column", name, columns.names.iter().map(String::as_str)))?] = *way;
    }
    Ok(all)
}

/// A name with the way of its score.
fn signed(word: &str) -> Result<(String, i8)> {
    let wrong = || Error::Setting {
        name: "monotone".into(),
        expected: "a sign before each column, as in +bm25;-age".into(),
        found: word.into(),
    };
    let (way, name) = match (word.strip_prefix('+'), word.strip_prefix('-')) {
        (Some(name), _) => (1, name),
        (_, Some(name)) => (-1, name),
        _ => return Err(wrong()),
    };
    if name.is_empty() { Err(wrong()) } else { Ok((name.to_owned(), way)) }
}
