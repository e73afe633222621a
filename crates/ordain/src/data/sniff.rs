//! What a file is, and whether it holds items with labels, by its name and its beginning.

use super::source::{BLOCK, is_stream, peek};
use crate::data::labels::multilabel::counts;
use crate::data::matches::read::has_matches;
use crate::data::source::extension;
use crate::data::table::{Format, Role, Table, csv};
use std::collections::HashSet;
use std::path::Path;

/// Rows that are looked at.
const ROWS: usize = 50;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Queries with documents.
    Queries,
    /// Items with labels.
    Items,
    /// Problems of matching: two sides with edges, or points.
    Problems,
}

/// What a file holds, as far as its name and its beginning tell. A stream still has its beginning after the look.
///
/// ```
/// use ordain::data::{Holds, holds};
/// # let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("train.txt");
/// std::fs::write(&path, "2 qid:7 1:0.5\n0 qid:7 1:0.1\n").unwrap();
/// assert_eq!(holds(&path), Some(Holds::Queries));
/// std::fs::write(&path, "hello").unwrap();
/// assert_eq!(holds(&path), None);
/// ```
pub fn holds(path: &Path) -> Option<Holds> {
    let kind = kind(path);
    if let Some(format) = Format::named(&kind) {
        let names = names_in(path, format)?;
        return match () {
            () if has_matches(&names) => Some(Holds::Problems),
            () if names.contains("labels") => Some(Holds::Items),
            () => Role::Query.names().iter().any(|&name| names.contains(name)).then_some(Holds::Queries),
        };
    }
    if is_labels(path) {
        return Some(Holds::Items);
    }
    let queries = match kind.as_str() {
        "arff" | "xml" | "ordain" => false,
        _ => rows_of(path).iter().any(|row| has_query(row)),
    };
    queries.then_some(Holds::Queries)
}

/// Whether a file holds items with labels rather than queries with documents, as far as its beginning tells.
///
/// ARFF does; a table with a column `labels` does; text does whose first line counts items, features and labels, whose
/// rows begin with labels between commas, or which has `labels.txt` beside it and no `qid:`. What cannot be read does not.
/// A stream still has its beginning after the look.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("tags.txt");
/// std::fs::write(&path, "3 1:0.5\n0,2 1:0.1 7:1\n").unwrap();
/// assert!(ordain::data::is_labels(&path));
/// ```
pub fn is_labels(path: &Path) -> bool {
    match kind(path).as_str() {
        "arff" => true,
        "xml" | "ordain" => false,
        kind if Format::named(kind).is_some() => column_names(path).is_some_and(|names| names.contains("labels")),
        _ => text(path),
    }
}

/// What a file is by its name, in small letters; a stream whose name does not tell is what its first line says.
///
/// ARFF begins with `@` or `%`, JSON with `{`. The header of a table has separators and begins with no number, or it names one of the
/// columns that ordain knows. All else is text.
pub(super) fn kind(path: &Path) -> String {
    let by_name = extension(path);
    if !is_stream(path) || ["arff", "xml", "ordain"].contains(&by_name.as_str()) || Format::named(&by_name).is_some() {
        return by_name;
    }
    let Ok(text) = peek(path, BLOCK) else { return by_name };
    let first = text.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty()).unwrap_or(b"");
    if matches!(first.first(), Some(b'@' | b'%')) {
        return "arff".into();
    }
    if text.starts_with(b"PAR1") {
        return "parquet".into();
    }
    if text.starts_with(b"ARROW1") {
        return "feather".into();
    }
    if matches!(first.first(), Some(b'{')) {
        return "json".into();
    }
    let (delimiter, from) = csv::separator(&text, b',');
    let first = match from {
        0 => first,
        from => text[from..].split(|&b| b == b'\n').next().unwrap_or(b""),
    };
    let name = if delimiter == b'\t' { "tsv" } else { "csv" };
    let known = ["qid", "label", "labels", "left", "right", "frame", "side"];
    let header = names_of(first, delimiter);
    let word = first.first().is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'"' | b'_') || *b >= 0x80);
    let table = header.len() > 1 && (word || known.iter().any(|&name| header.contains(name)));
    if table { name.into() } else { by_name }
}

/// The names of the columns of a table, in small letters; nothing of what is no table or cannot be read.
pub(super) fn column_names(path: &Path) -> Option<HashSet<String>> {
    names_in(path, Format::of(path)?)
}

fn names_in(path: &Path, format: Format) -> Option<HashSet<String>> {
    match format {
        Format::Text(usual) => {
            let text = peek(path, BLOCK).ok()?;
            let (delimiter, from) = csv::separator(&text, usual);
            Some(names_of(&text[from..], delimiter))
        }
        binary if !is_stream(path) => {
            let table = Table::open(path, binary).ok()?;
            Some(table.header.iter().map(|name| name.to_ascii_lowercase()).collect())
        }
        _ => None,
    }
}

fn names_of(text: &[u8], delimiter: u8) -> HashSet<String> {
    let mut reader = ::csv::ReaderBuilder::new().delimiter(delimiter).from_reader(text);
    let name = |field: &[u8]| String::from_utf8_lossy(field).trim_ascii().to_ascii_lowercase();
    reader.byte_headers().map_or_else(|_| HashSet::new(), |header| header.iter().map(name).collect())
}

/// The first rows of a text, without comments.
fn rows_of(path: &Path) -> Vec<Vec<u8>> {
    let block = peek(path, BLOCK).unwrap_or_default();
    let lines = block.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty() && line[0] != b'#').take(ROWS).map(<[u8]>::to_vec).collect()
}

/// Whether a row of text names its query.
fn has_query(row: &[u8]) -> bool {
    row.split(u8::is_ascii_whitespace).any(|word| word.starts_with(b"qid:"))
}

fn text(path: &Path) -> bool {
    let Ok(mut block) = peek(path, BLOCK) else { return false };
    if block.len() == BLOCK {
        block.truncate(memchr::memrchr(b'\n', &block).map_or(BLOCK, |end| end + 1));
    }
    let mut lines = block.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    if counts(&block).is_some() {
        return lines.nth(1).is_some();
    }
    let rows: Vec<&[u8]> = lines.filter(|line| line[0] != b'#').take(ROWS).collect();
    if rows.is_empty() || rows.iter().any(|row| has_query(row)) {
        return false;
    }
    let many = |row: &&[u8]| {
        let first = row.split(u8::is_ascii_whitespace).next().unwrap_or(b"");
        first.contains(&b',') && first.iter().all(|&b| b == b',' || b.is_ascii_digit())
    };
    rows.iter().any(many) || path.with_file_name("labels.txt").is_file()
}
