//! Rows and cells of CSV and TSV: separators, quotes and line ends, and what may not stand in a cell.
//!
//! A cell that begins with `"` ends at the next `"` that is not doubled; behind it comes a separator or the end of the
//! line. Lines end in LF or CRLF; empty lines are skipped. A file that ends inside quotes is refused at the line where
//! they open: otherwise one quote too many would swallow all rows up to the next one.
//!
//! Written by hand beside the crate `csv`, which is the twin in the tests: that one ends a row at any CR, says nothing of
//! a quote that is never closed, and counts lines otherwise behind CRLF and behind empty lines.

use super::source::{NO_CONTROL, Source, control, control_name};
use crate::data::strings::short;
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::ops::{Index, Range};
use std::path::{Path, PathBuf};

/// The most bytes of one row.
const LONGEST: usize = 1 << 30;

/// The rows of a table behind its header.
pub(super) struct Cells {
    path: PathBuf,
    header: Vec<String>,
    rows: Rows,
}

/// A row of a table.
pub(super) struct Row<'a> {
    table: &'a Cells,
    text: &'a [u8],
}

/// The rows of a text, as bytes.
struct Rows {
    source: Source,
    delimiter: u8,
    block: Vec<u8>,
    /// Where the next row begins.
    at: usize,
    /// The line of the row, and the lines up to its end.
    line: usize,
    lines: usize,
    /// The row, where it is in the block; `None`: it had quotes, and stands in `unquoted` without them.
    plain: Option<Range<usize>>,
    unquoted: Vec<u8>,
    /// Where each cell of the row begins and ends.
    cells: Vec<Range<usize>>,
}

/// Opens a table; its rows, and its header.
pub(super) fn open(path: &Path, delimiter: u8) -> Result<(Cells, Vec<String>)> {
    let mut rows = Rows {
        source: Source::open(path)?,
        delimiter,
        block: vec![],
        at: 0,
        line: 0,
        lines: 0,
        plain: None,
        unquoted: vec![],
        cells: vec![],
    };
    rows.next()?;
    let text = rows.text();
    for (column, cell) in (1..).zip(&rows.cells) {
        // a name may be written on several lines, as spreadsheets do
        let lines = text[cell.clone()].split_inclusive(|&b| b == b'\n');
        let lines = lines.map(|line| line.strip_suffix(b"\r\n").or(line.strip_suffix(b"\n")).unwrap_or(line));
        if let Some(byte) = lines.filter_map(|line| Some(line[control(line)?])).next() {
            let (expected, found) = (format!("a name of a column: {NO_CONTROL}"), control_name(byte));
            return Err(Error::Parse { path: path.into(), line: rows.line, column, expected, found });
        }
    }
    let name = |cell: &Range<usize>| {
        String::from_utf8_lossy(&text[cell.clone()]).trim_start_matches('\u{feff}').trim().to_owned()
    };
    let header: Vec<String> = rows.cells.iter().map(name).collect();
    check_separator(path, &header)?;
    Ok((Cells { path: path.into(), header: header.clone(), rows }, header))
}

impl Cells {
    /// The next row, with as many cells as the header has.
    pub(super) fn next(&mut self) -> Result<Option<Row<'_>>> {
        if !self.rows.next()? {
            return Ok(None);
        }
        let (wide, found) = (self.header.len(), self.rows.cells.len());
        if found != wide {
            return Err(Error::Parse {
                path: self.path.clone(),
                line: self.rows.line,
                column: 1,
                expected: format!("{wide} fields, as in the header"),
                found: found.to_string(),
            });
        }
        let row = Row { text: self.rows.text(), table: self };
        match control(row.text) {
            None => Ok(Some(row)),
            Some(at) => Err(row.control(at)),
        }
    }
}

impl Index<usize> for Row<'_> {
    type Output = [u8];

    fn index(&self, column: usize) -> &[u8] {
        &self.text[self.table.rows.cells[column].clone()]
    }
}

impl Row<'_> {
    /// The line on which it begins.
    pub(super) fn line(&self) -> usize {
        self.table.rows.line
    }

    /// Refuses the cell of a column.
    pub(super) fn refuse(&self, column: usize, expected: impl Into<String>) -> Error {
        self.error(column, expected.into(), format!("{:?}", short(&String::from_utf8_lossy(&self[column]))))
    }

    fn error(&self, column: usize, expected: String, found: String) -> Error {
        Error::Parse {
            path: self.table.path.clone(),
            line: self.line(),
            column: column + 1,
            expected,
            found: format!("{found} in column {:?}", short(&self.table.header[column])),
        }
    }

    #[cold]
    fn control(&self, at: usize) -> Error {
        let column = self.table.rows.cells.iter().position(|cell| at < cell.end).unwrap_or(0);
        match self.text[at] {
            b'\n' | b'\r' if memchr::memchr(b'\n', &self.text[at..]).is_some() => {
                let expected = "a cell on one line (is a quote left open?)".into();
                self.error(column, expected, "a line end inside quotes".into())
            }
            byte => self.error(column, NO_CONTROL.into(), control_name(byte)),
        }
    }
}

impl Rows {
    fn text(&self) -> &[u8] {
        match &self.plain {
            Some(row) => &self.block[row.clone()],
            None => &self.unquoted,
        }
    }

    /// Goes to the next row that is not empty; whether there is one.
    fn next(&mut self) -> Result<bool> {
        self.cells.clear();
        loop {
            if self.at == self.block.len() {
                self.at = 0;
                self.source.next_block(&mut self.block)?;
                if self.block.is_empty() {
                    self.plain = None;
                    self.unquoted.clear();
                    return Ok(false);
                }
            }
            let rest = &self.block[self.at..];
            let end = memchr::memchr(b'\n', rest);
            let line = &rest[..end.unwrap_or(rest.len())];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            self.lines += 1;
            self.line = self.lines;
            if !line.is_empty() && memchr::memchr(b'"', line).is_some() {
                self.quoted()?;
                return Ok(true);
            }
            let start = self.at;
            self.at += end.map_or(rest.len(), |end| end + 1);
            if !line.is_empty() {
                let (len, mut from) = (line.len(), 0);
                for to in memchr::memchr_iter(self.delimiter, line) {
                    self.cells.push(from..to);
                    from = to + 1;
                }
                self.cells.push(from..len);
                self.plain = Some(start..start + len);
                return Ok(true);
            }
        }
    }

    /// Reads a row with quotes, which may go over several lines.
    fn quoted(&mut self) -> Result<()> {
        self.plain = None;
        self.unquoted.clear();
        loop {
            let start = self.unquoted.len();
            if self.byte()? == Some(b'"') {
                self.at += 1;
                self.in_quotes()?;
            } else {
                let rest = &self.block[self.at..];
                let len = memchr::memchr2(self.delimiter, b'\n', rest).unwrap_or(rest.len());
                let ends = rest.get(len) != Some(&self.delimiter);
                let cell = rest[..len].strip_suffix(b"\r").filter(|_| ends).unwrap_or(&rest[..len]);
                self.unquoted.extend_from_slice(cell);
                self.at += len;
            }
            self.cells.push(start..self.unquoted.len());
            match self.block.get(self.at) {
                Some(&byte) if byte == self.delimiter => self.at += 1,
                Some(_) => {
                    self.at += 1;
                    return Ok(());
                }
                None => return Ok(()),
            }
        }
    }

    /// Takes what stands in quotes, up to the separator or the end of the line behind them.
    fn in_quotes(&mut self) -> Result<()> {
        let opened = self.lines;
        let refuse = |rows: &Self, line: usize, expected: &str, found: &str| Error::Parse {
            path: rows.source.path().into(),
            line,
            column: rows.cells.len() + 1,
            expected: expected.into(),
            found: found.into(),
        };
        loop {
            let rest = &self.block[self.at..];
            let len = memchr::memchr(b'"', rest).unwrap_or(rest.len());
            self.lines += memchr::memchr_iter(b'\n', &rest[..len]).count();
            self.unquoted.extend_from_slice(&rest[..len]);
            self.at += len;
            if self.byte()?.is_none() {
                return Err(refuse(self, opened, "a quote that closes the cell", "the end of the file"));
            }
            if self.unquoted.len() > LONGEST {
                return Err(refuse(self, opened, "a quote that closes the cell", "none in the next 1 GB"));
            }
            if self.block[self.at] != b'"' {
                continue; // the next block
            }
            self.at += 1;
            match self.byte()? {
                Some(b'"') => {
                    self.unquoted.push(b'"');
                    self.at += 1;
                }
                Some(b'\r') if matches!(self.block.get(self.at + 1), None | Some(b'\n')) => {
                    self.at += 1;
                    return Ok(());
                }
                None | Some(b'\n') => return Ok(()),
                Some(byte) if byte == self.delimiter => return Ok(()),
                Some(_) => {
                    let expected = "a separator behind the quote that closes the cell (a quote inside is doubled)";
                    return Err(refuse(self, self.lines, expected, "more text"));
                }
            }
        }
    }

    /// The byte that comes next, in the next block where this one is at its end.
    fn byte(&mut self) -> Result<Option<u8>> {
        if self.at == self.block.len() {
            self.at = 0;
            self.source.next_block(&mut self.block)?;
        }
        Ok(self.block.get(self.at).copied())
    }
}

/// Refuses what a table that is written could not be read with: control bytes, and line ends in ids.
pub(super) fn check_writable<'a>(
    names: impl IntoIterator<Item = &'a String>,
    ids: impl IntoIterator<Item = Cow<'a, str>>,
) -> Result<()> {
    let refuse = |what: &str, found: &str| {
        let expected = format!("{what} without control characters, which a table cannot hold");
        Err(Error::Data { expected, found: format!("{:?}", short(found)) })
    };
    let mut names = names.into_iter();
    if let Some(name) = names.find(|name| control(name.replace('\n', "").as_bytes()).is_some()) {
        return refuse("names", name);
    }
    match ids.into_iter().find(|id| control(id.as_bytes()).is_some()) {
        Some(id) => refuse("ids", &id),
        None => Ok(()),
    }
}

/// Refuses a header in one piece that another separator would cut.
fn check_separator(path: &Path, header: &[String]) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Table = Vec<Vec<Vec<u8>>>;

    fn read(text: &[u8], delimiter: u8) -> Result<(Table, Vec<usize>)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table.csv");
        std::fs::write(&path, text).unwrap();
        let (mut cells, header) = open(&path, delimiter)?;
        let (mut rows, mut lines) = (vec![], vec![]);
        while let Some(row) = cells.next()? {
            rows.push((0..header.len()).map(|j| row[j].to_vec()).collect());
            lines.push(row.line());
        }
        Ok((rows, lines))
    }

    fn refusal(text: &str) -> String {
        let text = read(text.as_bytes(), b',').unwrap_err().to_string();
        text.split("table.csv").nth(1).unwrap_or("").to_owned()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn cells_are_those_of_the_crate_csv(
            rows in prop::collection::vec(prop::collection::vec("[a-c\", \t\u{e9}.-]{0,4}", 3), 0..6),
            style in prop::collection::vec((any::<bool>(), any::<bool>()), 6),
            tabs in any::<bool>(),
            end in any::<bool>(),
        ) {
            let delimiter = if tabs { b'\t' } else { b',' };
            let mut text = ["one", "two", "three"].join(if tabs { "\t" } else { "," });
            text += "\r\n";
            let mut truth = vec![];
            for (row, &(crlf, blank)) in rows.iter().zip(&style) {
                let cell = |cell: &String| match cell.contains(['"', ',', '\t']) {
                    true => format!("\"{}\"", cell.replace('"', "\"\"")),
                    false => cell.clone(),
                };
                truth.push(1 + text.matches('\n').count());
                text += &row.iter().map(cell).collect::<Vec<_>>().join(if tabs { "\t" } else { "," });
                text += if crlf { "\r\n" } else { "\n" };
                text += if blank { "\n\r\n" } else { "" };
            }
            if end {
                text.truncate(text.trim_end_matches(['\r', '\n']).len());
            }
            let mut twin = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(text.as_bytes());
            let twin: Table = twin.byte_records().map(|row| row.unwrap().iter().map(<[u8]>::to_vec).collect()).collect();
            let (rows, lines) = read(text.as_bytes(), delimiter).unwrap();
            prop_assert_eq!(rows, twin);
            prop_assert_eq!(lines, truth);
        }

        #[test]
        fn no_damage_loses_a_row_in_silence(at in 0usize..200, byte in any::<u8>()) {
            let text: String = "id,a,b\n".to_owned() + &(0..20).map(|i| format!("d{i},{i},x{i}\n")).collect::<String>();
            let mut text = text.into_bytes();
            let at = 7 + at % (text.len() - 7);
            text[at] = byte;
            // one byte at most joins two lines or cuts one, and then a line has too many or too few cells
            if let Ok((rows, _)) = read(&text, b',') {
                prop_assert_eq!(rows.len(), 20);
            }
        }
    }

    #[test]
    fn refusals_name_the_line() {
        let open = ":3:2: expected a quote that closes the cell, found the end of the file";
        assert_eq!(refusal("id,a\n1,2\n3,\"5 inch\n4,5\n6,7\n"), open);
        assert_eq!(
            refusal("id,a\n1,2\n3,\"5 inch\n4,5\n6,\"7 inch\n"),
            ":5:2: expected a separator behind the quote that closes the cell (a quote inside is doubled), found more text"
        );
        assert_eq!(
            refusal("id,a\n1,2\n3,\"5 inch\n4,5\n6,\"\n"),
            ":3:2: expected a cell on one line (is a quote left open?), found a line end inside quotes in column \"a\""
        );
        let bytes = "text without control bytes (blanks are space and tab, lines end in LF or CRLF)";
        assert_eq!(refusal("id,a\n1,2\0\n"), format!(":2:2: expected {bytes}, found the byte 0x00 in column \"a\""));
        assert_eq!(refusal("id,a\n1,2\r3\n"), format!(":2:2: expected {bytes}, found a CR without LF in column \"a\""));
        assert_eq!(
            refusal("i\0d,a\n1,2\n"),
            format!(":1:1: expected a name of a column: {bytes}, found the byte 0x00")
        );
        assert_eq!(refusal("id,a\n\n1,2\n\n3\n"), ":5:1: expected 2 fields, as in the header, found 1");
        // a file that is cut off inside its last line end, and one with quotes there
        for text in ["id,a\r\n1,2\r", "id,a\r\n1,\"2\"\r"] {
            assert_eq!(read(text.as_bytes(), b',').unwrap().0, [[b"1".to_vec(), b"2".to_vec()]]);
        }
    }

    #[test]
    fn cells_go_over_blocks() {
        let long = "x".repeat(5 << 20);
        let text = format!("id,a\n1,\"{long}\"\"{long}\"\n2,\"\"\n");
        let (rows, lines) = read(text.as_bytes(), b',').unwrap();
        assert_eq!((rows.len(), rows[0][1].len(), lines), (2, (10 << 20) + 1, vec![2, 3]));
    }
}
