//! A table: a header and rows of cells, whatever its syntax. It stands between the syntax of a file ([`csv`], Parquet, Feather) and the
//! meaning of its columns ([`Roles`]).
//!
//! A cell is a number, a truth value, text, a date, a vector or nothing. Text files do not say which: there a cell is what a reader
//! asks for. Readers ask for ids as text, for grades as numbers, and for all features of a row at once.

#[cfg(feature = "parquet")]
mod arrays;
#[cfg(feature = "parquet")]
pub(in crate::data) mod batches;
#[cfg(feature = "parquet")]
mod bounds;
pub(in crate::data) mod csv;
#[cfg(feature = "parquet")]
mod file;
#[cfg(feature = "parquet")]
mod frame;
#[cfg(feature = "parquet")]
mod messages;
mod roles;
mod texts;

#[cfg(feature = "parquet")]
pub use arrays::Taken;
#[cfg(feature = "parquet")]
pub use frame::Frame;
pub(in crate::data) use roles::{Finding, shown};
pub use roles::{Role, Roles};
pub use texts::{all_texts, column_texts, texts};

use crate::data::sniff::kind;
use crate::data::strings::short;
use crate::error::{Error, Result, Way};
use std::borrow::Cow;
use std::path::Path;

/// The formats of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data) enum Format {
    /// Text with a separator, the usual one of which is this.
    Text(u8),
    Parquet,
    Feather,
}

impl Format {
    /// The format of a table, by the name of its file or the beginning of a stream.
    pub(in crate::data) fn of(path: &Path) -> Option<Self> {
        Self::named(&kind(path))
    }

    pub(in crate::data) fn named(kind: &str) -> Option<Self> {
        match kind {
            "csv" => Some(Self::Text(b',')),
            "tsv" | "tab" => Some(Self::Text(b'\t')),
            "parquet" | "pq" => Some(Self::Parquet),
            "feather" | "arrow" | "ipc" => Some(Self::Feather),
            _ => None,
        }
    }
}

/// Whether a file is a table, by the name of the file or the beginning of a stream.
///
/// ```
/// use std::path::Path;
/// assert!(ordain::data::is_table(Path::new("people.csv.gz")) && !ordain::data::is_table(Path::new("answers.jsonl")));
/// ```
pub fn is_table(path: &Path) -> bool {
    Format::of(path).is_some()
}

/// A table whose rows are read one after another.
pub(in crate::data) struct Table {
    /// The names of the columns.
    pub(in crate::data) header: Vec<String>,
    body: Body,
}

enum Body {
    Text(Box<csv::Cells>),
    #[cfg(feature = "parquet")]
    Batches(Box<batches::Batches>),
}

/// A row of a table.
pub(in crate::data) enum Row<'a> {
    Text(csv::Row<'a>),
    #[cfg(feature = "parquet")]
    Batch(batches::Row<'a>),
}

impl Table {
    /// Opens a table and reads its header.
    pub(in crate::data) fn open(path: &Path, format: Format) -> Result<Self> {
        match format {
            Format::Text(usual) => {
                let (cells, header) = csv::open(path, usual)?;
                Ok(Self { header, body: Body::Text(Box::new(cells)) })
            }
            #[cfg(feature = "parquet")]
            binary => {
                let (batches, header) = file::open(path, binary)?;
                Ok(Self { header, body: Body::Batches(Box::new(batches)) })
            }
            #[cfg(not(feature = "parquet"))]
            binary => Err(Error::Content {
                path: path.into(),
                expected: "CSV or TSV (this build reads neither Parquet nor Feather: the feature \"parquet\" is off)"
                    .into(),
                found: format!("a {binary:?} file"),
            }),
        }
    }

    /// Says which columns are features, and which others will be asked for. Returns the names of the features: a column of vectors has
    /// one for each place.
    pub(in crate::data) fn select(&mut self, columns: &[usize], others: &[usize]) -> Result<Vec<String>> {
        match &mut self.body {
            Body::Text(cells) => {
                let _ = others; // text is cut into all of its cells anyway
                cells.features = columns.to_vec();
                Ok(columns.iter().map(|&j| self.header[j].clone()).collect())
            }
            #[cfg(feature = "parquet")]
            Body::Batches(batches) => batches.features(columns, others),
        }
    }

    /// The features, by their place among them, whose values lose more in single precision than they should; at the end.
    pub(in crate::data) fn coarse(&self) -> Vec<usize> {
        let losses = match &self.body {
            Body::Text(cells) => cells.losses(),
            #[cfg(feature = "parquet")]
            Body::Batches(batches) => batches.losses(),
        };
        (0..).zip(losses).filter(|(_, loss)| loss.is_coarse()).map(|(j, _)| j).collect()
    }

    /// The next row.
    pub(in crate::data) fn next(&mut self) -> Result<Option<Row<'_>>> {
        Ok(match &mut self.body {
            Body::Text(cells) => cells.next()?.map(Row::Text),
            #[cfg(feature = "parquet")]
            Body::Batches(batches) => batches.next()?.map(Row::Batch),
        })
    }
}

impl Row<'_> {
    /// A cell as text, without blanks around it; a number as it is usually written, nothing as "".
    #[inline]
    pub(in crate::data) fn text(&self, column: usize) -> Cow<'_, [u8]> {
        match self {
            Self::Text(row) => Cow::Borrowed(row[column].trim_ascii()),
            #[cfg(feature = "parquet")]
            Self::Batch(row) => row.text(column),
        }
    }

    /// The same; nothing where it is not UTF-8.
    #[inline]
    pub(in crate::data) fn word(&self, column: usize) -> Option<Cow<'_, str>> {
        match self.text(column) {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        }
    }

    /// A cell as a finite number.
    #[inline]
    pub(in crate::data) fn number(&self, column: usize) -> Option<f64> {
        match self {
            Self::Text(row) => row.number(column),
            #[cfg(feature = "parquet")]
            Self::Batch(row) => row.number(column),
        }
    }

    /// All features, in the order in which they were asked for; a gap is NaN where gaps are kept.
    #[inline]
    pub(in crate::data) fn features(&self, keep_missing: bool, out: &mut Vec<f32>) -> Result<()> {
        match self {
            Self::Text(row) => row.features(keep_missing, out),
            #[cfg(feature = "parquet")]
            Self::Batch(row) => row.features(keep_missing, out),
        }
    }

    /// The line on which it begins, or its number from 1 in a file without lines.
    pub(in crate::data) fn line(&self) -> usize {
        match self {
            Self::Text(row) => row.line(),
            #[cfg(feature = "parquet")]
            Self::Batch(row) => row.number_of_row(),
        }
    }

    /// Refuses the cell of a column.
    #[cold]
    pub(in crate::data) fn refuse(&self, column: usize, expected: impl Into<String>) -> Error {
        match self {
            Self::Text(row) => row.refuse(column, expected),
            #[cfg(feature = "parquet")]
            Self::Batch(row) => row.refuse(column, expected),
        }
    }
}

/// The refusal of a feature that is no number, with the way out.
#[cold]
pub(in crate::data) fn no_feature(cell: &[u8], name: &str, refuse: impl FnOnce(String) -> Error) -> Error {
    let expected = match cell {
        cell if has_thousands(cell) && !is_date(cell) => {
            "a number with a decimal point and without thousands separators"
        }
        _ => "a finite number",
    };
    let error = refuse(expected.into());
    let error = match is_date(cell) {
        true => error.or(Way::new("input", [format!("{}:date", short(name))], "reads it as a date")),
        false => error,
    };
    error.or(roles::leave_out(name))
}

/// `2024-05-31`, `31.05.2024`, `5/31/2024`, with or without a time.
fn is_date(cell: &[u8]) -> bool {
    let day = cell.split(|&b| matches!(b, b'T' | b' ')).next().unwrap_or(cell);
    [b'-', b'.', b'/'].iter().any(|sign| {
        let parts: Vec<&[u8]> = day.split(|b| b == sign).collect();
        let digits = |part: &&[u8]| (1..=4).contains(&part.len()) && part.iter().all(u8::is_ascii_digit);
        parts.len() == 3 && parts.iter().all(digits) && parts.iter().filter(|part| part.len() <= 2).count() >= 2
    })
}

/// Digits in groups of three.
fn has_thousands(cell: &[u8]) -> bool {
    let sign = |b: &u8| matches!(b, b',' | b'.' | b'\'' | b' ' | b'_');
    let only = cell.iter().all(|b| b.is_ascii_digit() || sign(b) || matches!(b, b'-' | b'+'));
    only && cell.iter().filter(|b| sign(b)).count() > 0 && cell.iter().any(u8::is_ascii_digit)
}
