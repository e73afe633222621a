//! Whether a file holds items with labels.

use super::multilabel::counts;
use super::source::Source;
use super::tagging::extension;
use std::path::Path;

/// Rows that are looked at.
const ROWS: usize = 50;

/// Whether a file holds items with labels rather than queries with documents, as far as its beginning tells.
///
/// ARFF does; a table with a column `labels` does; text does whose first line counts items, features and labels, whose
/// rows begin with labels between commas, or which has `labels.txt` beside it and no `qid:`. Standard input and what
/// cannot be read do not.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("tags.txt");
/// std::fs::write(&path, "3 1:0.5\n0,2 1:0.1 7:1\n").unwrap();
/// assert!(ordain::data::is_tags(&path));
/// ```
pub fn is_tags(path: &Path) -> bool {
    if path.as_os_str() == "-" {
        return false;
    }
    match extension(path).as_str() {
        "arff" => true,
        "csv" => has_labels(path, b','),
        "tsv" => has_labels(path, b'\t'),
        "parquet" | "xml" | "ordain" => false,
        _ => text(path),
    }
}

fn has_labels(path: &Path, delimiter: u8) -> bool {
    let Ok(source) = Source::open(path) else { return false };
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(source);
    let plain = |field: &[u8]| field.strip_prefix(b"\xef\xbb\xbf").unwrap_or(field).trim_ascii().to_ascii_lowercase();
    let name = |field: &[u8]| plain(field) == b"labels";
    reader.byte_headers().is_ok_and(|header| header.iter().any(name))
}

fn text(path: &Path) -> bool {
    let mut block = vec![];
    if Source::open(path).and_then(|mut source| source.next_block(&mut block)).is_err() {
        return false;
    }
    let mut lines = block.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    if counts(&block).is_some() {
        return lines.nth(1).is_some();
    }
    let rows: Vec<&[u8]> = lines.filter(|line| line[0] != b'#').take(ROWS).collect();
    let words = |row: &[u8]| row.split(u8::is_ascii_whitespace).any(|word| word.starts_with(b"qid:"));
    if rows.is_empty() || rows.iter().any(|row| words(row)) {
        return false;
    }
    let many = |row: &&[u8]| {
        let first = row.split(u8::is_ascii_whitespace).next().unwrap_or(b"");
        first.contains(&b',') && first.iter().all(|&b| b == b',' || b.is_ascii_digit())
    };
    rows.iter().any(many) || path.with_file_name("labels.txt").is_file()
}
