//! CSV and TSV with a header: `label`, `qid`, optional `docid` and `weight`; every other column is a feature.

use super::build::{Builder, short};
use super::number::{self, Value};
use super::source::Source;
use crate::error::{Error, Result};
use std::path::Path;

/// A table after its header, and the header.
pub(super) fn open(path: &Path, delimiter: u8) -> Result<(csv::Reader<Source>, Vec<String>)> {
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter).buffer_capacity(1 << 20).from_reader(Source::open(path)?);
    let header: Vec<String> = reader
        .byte_headers()
        .map_err(|error| broken(path, error))?
        .iter()
        .map(|name| String::from_utf8_lossy(name).trim_start_matches('\u{feff}').trim().to_owned())
        .collect();
    check_separator(path, &header)?;
    Ok((reader, header))
}

pub(super) fn read(path: &Path, delimiter: u8, into: &mut Builder) -> Result<()> {
    let (mut reader, header) = open(path, delimiter)?;
    let broken = |error: csv::Error| broken(path, error);
    let find = |name: &str| header.iter().position(|h| h == name);
    let (label, document, weight) = (find("label"), find("docid"), find("weight"));
    let query = find("qid").ok_or_else(|| Error::Parse {
        path: path.into(),
        line: 1,
        column: 1,
        expected: "a header with a column named qid for queries (and label, docid, weight; the rest are features), or a column named labels or --labels a,b,c for items".into(),
        found: format!("{:?}", short(&header.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(","))),
    })?;
    let special = [label, document, weight, Some(query)];
    let features: Vec<usize> = (0..header.len()).filter(|&j| !special.contains(&Some(j))).collect();
    let order = into.table_columns(path, features.iter().map(|&j| header[j].clone()).collect())?;
    let mut record = csv::ByteRecord::new();
    let mut row = vec![0.0f32; features.len()];
    while reader.read_byte_record(&mut record).map_err(broken)? {
        let refuse = |j: usize, expected: String| refuse_cell(path, &record, &header, j, expected);
        let number = |j: usize, what: &str| match fast_float2::parse::<f64, _>(record[j].trim_ascii()) {
            Ok(x) if x.is_finite() => Ok(x),
            _ => Err(refuse(j, format!("{what} (a finite number)"))),
        };
        let grade = label.map(|j| number(j, "a grade")).transpose()?;
        let weight = weight
            .map(|j| {
                number(j, "a weight")
                    .and_then(|x| if x >= 0.0 { Ok(x) } else { Err(refuse(j, "a weight of 0 or more".into())) })
            })
            .transpose()?;
        for (&j, &place) in features.iter().zip(&order) {
            row[place] = match number::whole(record[j].trim_ascii()) {
                Value::Number(x) => x,
                Value::Missing if into.keep_missing => f32::NAN,
                Value::Missing => {
                    return Err(refuse(j, "a value (--missing zero or --missing mean allows gaps)".into()));
                }
                Value::Bad => return Err(refuse(j, "a finite number".into())),
            };
        }
        let id = record[query].trim_ascii();
        if std::str::from_utf8(id).is_err() {
            return Err(refuse(query, "a query id in UTF-8".into()));
        }
        if id.is_empty() {
            return Err(refuse(query, "a query id".into()));
        }
        into.table_row(grade, id, document.map(|j| record[j].trim_ascii()), weight, &row);
    }
    Ok(())
}

/// Refuses the value of a column in a row.
pub(super) fn refuse_cell(
    path: &Path,
    record: &csv::ByteRecord,
    header: &[String],
    column: usize,
    expected: String,
) -> Error {
    Error::Parse {
        path: path.into(),
        line: record.position().map_or(1, |p| line_at(path, p.byte())),
        column: column + 1,
        expected,
        found: format!("{:?} in column {:?}", short(&String::from_utf8_lossy(&record[column])), short(&header[column])),
    }
}

/// Refuses a header in one piece that another separator would cut.
pub(super) fn check_separator(path: &Path, header: &[String]) -> Result<()> {
    let [whole] = header else { return Ok(()) };
    match whole.chars().find(|c| [';', '\t', ','].contains(c)) {
        None => Ok(()),
        Some(found) => Err(Error::Parse {
            path: path.into(),
            line: 1,
            column: 1,
            expected: "columns separated by , (in a .tsv file by tabs)".into(),
            found: if found == '\t' { "tabs".into() } else { format!("the separator {found}") },
        }),
    }
}

/// The line of the first byte from here on that is not a line end; the file is read again for it.
pub(super) fn line_at(path: &Path, byte: u64) -> usize {
    use std::io::Read;
    let Ok(mut source) = Source::open(path) else { return 1 };
    let (mut at, mut line, mut before, mut part) = (0u64, 1, 0u8, vec![0; 1 << 16]);
    while let Ok(n @ 1..) = source.read(&mut part) {
        for &b in &part[..n] {
            if at >= byte && b != b'\n' && b != b'\r' {
                return line;
            }
            line += usize::from(b == b'\r' || b == b'\n' && before != b'\r');
            before = b;
            at += 1;
        }
    }
    line
}

pub(super) fn broken(path: &Path, error: csv::Error) -> Error {
    let line = error.position().map_or(1, |p| line_at(path, p.byte()));
    match error.into_kind() {
        csv::ErrorKind::Io(reason) => Error::Io { path: path.into(), action: "read", reason },
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => Error::Parse {
            path: path.into(),
            line,
            column: 1,
            expected: format!("{expected_len} fields, as in the header"),
            found: format!("{len}"),
        },
        _ => Error::Content {
            path: path.into(),
            expected: "a table".into(),
            found: format!("a row that cannot be read, line {line}"),
        },
    }
}
