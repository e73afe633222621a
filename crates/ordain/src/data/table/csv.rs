//! Rows and cells of CSV and TSV: separators, quotes and line ends, and what may not stand in a cell.
//!
//! A cell that begins with `"` ends at the next `"` that is not doubled; behind it comes a separator or the end of the
//! line. Lines end in LF or CRLF; empty lines are skipped. A file that ends inside quotes is refused at the line where
//! they open: otherwise one quote too many would swallow all rows up to the next one.
//!
//! Written by hand beside the crate `csv`, which is the twin in the tests: that one ends a row at any CR, says nothing of
//! a quote that is never closed, and counts lines otherwise behind CRLF and behind empty lines.

use super::no_feature;
use crate::data::losses::Loss;
use crate::data::notes::max_line;
use crate::data::number::{self, Value};
use crate::data::source::{NO_CONTROL, Source, control, control_name, extension};
use crate::data::strings::short;
use crate::error::{Error, Result, Way};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::ops::{Index, Range};
use std::path::{Path, PathBuf};

/// The rows of a table behind its header.
pub(in crate::data) struct Cells {
    path: PathBuf,
    header: Vec<String>,
    rows: Rows,
    /// The columns that are features.
    pub(in crate::data) features: Vec<usize>,
    marks: Cell<Marks>,
    losses: RefCell<Vec<Loss>>,
}

/// What is known of decimal marks, where the separator is not a comma: where each was seen first as a decimal mark for sure, and
/// where first in a number such as `1,234`, which may be a thousand or one and a bit.
#[derive(Clone, Copy, Default)]
struct Marks {
    sure: [Option<Place>; 2],
    doubtful: [Option<Place>; 2],
}

/// A line, and a column from 0.
type Place = (usize, usize);

/// The two marks, in the order of [`Marks`].
const MARKS: [u8; 2] = [b'.', b','];

/// A row of a table.
pub(in crate::data) struct Row<'a> {
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

/// The most columns of a table: a header of the longest line could name 67 million.
const MOST_COLUMNS: usize = 1 << 20;

/// What may cut a row into cells.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// The separator that cuts the header of a table into most columns, and where the header begins: behind the line `sep=;`, if that
/// is the first one, as spreadsheets write it.
pub(in crate::data) fn separator(text: &[u8], usual: u8) -> (u8, usize) {
    let mut from = 0;
    for line in text.split_inclusive(|&b| b == b'\n') {
        let bare = line.trim_ascii();
        if let [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', rest @ ..] = bare
            && let [sign] = rest.strip_prefix(b"\"").and_then(|r| r.strip_suffix(b"\"")).unwrap_or(rest)
        {
            return (*sign, from + line.len());
        }
        if !matches!(line, b"\n" | b"\r\n") {
            break; // blanks and a CR alone are no empty line here either
        }
        from += line.len();
    }
    let (mut counts, mut quoted, signs) = ([0usize; 3], false, SEPARATORS);
    for &byte in &text[from..] {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => break,
            _ if quoted => {}
            _ => signs.iter().zip(&mut counts).for_each(|(&sign, count)| *count += usize::from(byte == sign)),
        }
    }
    let count = |sign: u8| signs.iter().position(|&s| s == sign).map_or(0, |at| counts[at]);
    (signs.into_iter().fold(usual, |best, sign| if count(sign) > count(best) { sign } else { best }), from)
}

/// The separator that the name of a file asks for; `-` is CSV.
pub(in crate::data) fn table_name(path: &Path) -> Result<u8> {
    match extension(path).as_str() {
        "csv" => Ok(b','),
        "tsv" => Ok(b'\t'),
        _ if path.as_os_str() == "-" => Ok(b','),
        other => Err(Error::Content {
            path: path.into(),
            expected: "a name that ends in .csv or .tsv, then .gz or .zst to pack it".into(),
            found: if other.is_empty() { "none of them".into() } else { format!(".{other}") },
        }),
    }
}

/// A writer of rows behind a header. Where a name holds a separator that is not the one of the table, all names are quoted,
/// so that the header is not cut at it when it is read again.
pub(in crate::data) fn headed<'o, 'n>(
    out: &'o mut dyn Write,
    delimiter: u8,
    names: impl IntoIterator<Item = &'n str>,
) -> io::Result<::csv::Writer<&'o mut dyn Write>> {
    let names: Vec<&str> = names.into_iter().collect();
    let strange = |name: &&str| name.bytes().any(|b| b != delimiter && SEPARATORS.contains(&b));
    let style = if names.iter().any(strange) { ::csv::QuoteStyle::Always } else { ::csv::QuoteStyle::Necessary };
    let mut head = ::csv::WriterBuilder::new().delimiter(delimiter).quote_style(style).from_writer(&mut *out);
    head.write_record(&names)?;
    head.flush()?;
    drop(head);
    Ok(::csv::WriterBuilder::new().delimiter(delimiter).from_writer(out))
}

/// Opens a table; its rows, and its header. The separator is the usual one unless another cuts the header into more columns.
pub(in crate::data) fn open(path: &Path, usual: u8) -> Result<(Cells, Vec<String>)> {
    let mut source = Source::open(path)?;
    let mut block = vec![];
    source.next_block(&mut block)?;
    let (delimiter, at) = separator(&block, usual);
    let lines = memchr::memchr_iter(b'\n', &block[..at]).count();
    let mut rows = Rows { source, delimiter, block, at, line: 0, lines, plain: None, unquoted: vec![], cells: vec![] };
    rows.next()?;
    if rows.cells.len() > MOST_COLUMNS {
        let (expected, found) = (format!("at most {MOST_COLUMNS} columns"), rows.cells.len().to_string());
        return Err(Error::Parse { path: path.into(), line: rows.line, column: 1, expected, found });
    }
    let text = rows.text();
    if let Some((column, _)) =
        (1..).zip(&rows.cells).find(|(_, cell)| std::str::from_utf8(&text[(*cell).clone()]).is_err())
    {
        let expected = "names of columns in UTF-8 (save the file as UTF-8)".into();
        let found = "other bytes, such as those of Latin-1".into();
        return Err(Error::Parse { path: path.into(), line: rows.line, column, expected, found });
    }
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
        String::from_utf8_lossy(&text[cell.clone()]).trim_start_matches('\u{feff}').trim_ascii().to_owned()
    };
    let header: Vec<String> = rows.cells.iter().map(name).collect();
    let cells = Cells {
        path: path.into(),
        header: header.clone(),
        rows,
        features: vec![],
        marks: Cell::default(),
        losses: RefCell::default(),
    };
    Ok((cells, header))
}

impl Cells {
    /// The next row, with as many cells as the header has.
    pub(in crate::data) fn next(&mut self) -> Result<Option<Row<'_>>> {
        if !self.rows.next()? {
            self.check_marks()?;
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

    /// What each feature lost.
    pub(in crate::data) fn losses(&self) -> Vec<Loss> {
        self.losses.borrow().clone()
    }

    /// Refuses a file in which a comma or a point may be a decimal mark or may cut thousands, and nothing tells which.
    fn check_marks(&self) -> Result<()> {
        let Marks { sure, doubtful } = self.marks.get();
        let (place, found) = match (sure, doubtful) {
            ([Some(point), Some(comma)], _) => (point.max(comma), "decimal points and decimal commas in one file"),
            ([Some(_), None], [_, Some(place)]) => (place, "a comma that cuts thousands, among decimal points"),
            ([None, Some(_)], [Some(place), _]) => (place, "a point that cuts thousands, among decimal commas"),
            ([None, None], [Some(a), Some(b)]) => (a.min(b), "points and commas before three digits"),
            ([None, None], [Some(place), None]) if self.rows.delimiter == b';' => {
                (place, "points before three digits, and none elsewhere")
            }
            ([None, None], [None, Some(place)]) => (place, "commas before three digits, and none elsewhere"),
            _ => return Ok(()),
        };
        Err(Error::Parse {
            path: self.path.clone(),
            line: place.0,
            column: place.1 + 1,
            expected: "one decimal mark and no thousands separators, so that 1,234 and 1.234 mean one thing (save the numbers with decimal points, separated by commas)".into(),
            found: format!("{found}, in column {:?}", short(&self.header[place.1])),
        })
    }

    /// Notes the decimal mark of a number.
    fn note(&self, column: usize, cell: &[u8]) {
        let Some(at) = memchr::memchr2(b'.', b',', cell) else { return };
        let mark = usize::from(cell[at] == MARKS[1]);
        let (before, after) = (cell[..at].strip_prefix(b"-").unwrap_or(&cell[..at]), &cell[at + 1..]);
        let doubtful = matches!(before, [b'1'..=b'9', rest @ ..] if rest.len() <= 2)
            && after.len() == 3
            && before.iter().chain(after).all(u8::is_ascii_digit);
        let mut marks = self.marks.get();
        let first = if doubtful { &mut marks.doubtful[mark] } else { &mut marks.sure[mark] };
        if first.is_none() {
            *first = Some((self.rows.line, column));
            self.marks.set(marks);
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
    pub(in crate::data) fn line(&self) -> usize {
        self.table.rows.line
    }

    /// A cell as a finite number.
    pub(in crate::data) fn number(&self, column: usize) -> Option<f64> {
        let cell = self[column].trim_ascii();
        self.decimal(column, cell, |text| fast_float2::parse::<f64, _>(text).ok().filter(|x| x.is_finite()))
    }

    /// All features; a gap is NaN where gaps are kept.
    #[inline]
    pub(in crate::data) fn features(&self, keep_missing: bool, out: &mut Vec<f32>) -> Result<()> {
        let unsure = self.table.rows.delimiter != b',' && self.table.marks.get().sure[0].is_none();
        let mut losses = self.table.losses.borrow_mut();
        losses.resize(self.table.features.len(), Loss::default());
        for (&j, loss) in self.table.features.iter().zip(losses.iter_mut()) {
            let cell = self[j].trim_ascii();
            let (value, double) = number::cell(cell);
            out.push(match value {
                Value::Number(x) => {
                    if unsure {
                        self.table.note(j, cell);
                    }
                    loss.add(double, x);
                    x
                }
                Value::Missing if keep_missing => f32::NAN,
                Value::Missing => return Err(self.refuse(j, "a value").or(Way::gaps())),
                Value::Bad => match self.unusual(j, cell) {
                    Some((x, double)) => {
                        loss.add(double, x);
                        x
                    }
                    None => {
                        return Err(no_feature(cell, &self.table.header[j], |expected| self.refuse(j, expected)));
                    }
                },
            });
        }
        Ok(())
    }

    /// A number that is not written as usual, in single and in double precision: a truth value, or with a decimal comma.
    #[cold]
    fn unusual(&self, column: usize, cell: &[u8]) -> Option<(f32, f64)> {
        match cell {
            _ if cell.eq_ignore_ascii_case(b"true") => Some((1.0, 1.0)),
            _ if cell.eq_ignore_ascii_case(b"false") => Some((0.0, 0.0)),
            _ => self.decimal(column, cell, |text| match number::cell(text) {
                (Value::Number(x), double) => Some((x, double)),
                _ => None,
            }),
        }
    }

    /// A number whose decimal mark may be a comma where commas do not separate cells.
    fn decimal<T>(&self, column: usize, cell: &[u8], parse: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        let delimiter = self.table.rows.delimiter;
        match parse(cell) {
            Some(x) => {
                if delimiter != b',' {
                    self.table.note(column, cell);
                }
                Some(x)
            }
            None if delimiter != b',' && memchr::memchr_iter(b',', cell).count() == 1 => {
                let with_point: Vec<u8> = cell.iter().map(|&b| if b == b',' { b'.' } else { b }).collect();
                let x = parse(&with_point)?;
                self.table.note(column, cell);
                Some(x)
            }
            None => None,
        }
    }

    /// Refuses the cell of a column.
    pub(in crate::data) fn refuse(&self, column: usize, expected: impl Into<String>) -> Error {
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
            if self.unquoted.len() > max_line() {
                let found = format!("none in the next {} bytes", max_line());
                return Err(refuse(self, opened, "a quote that closes the cell", &found));
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
pub(in crate::data) fn check_writable<'a>(
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Table = Vec<Vec<Vec<u8>>>;

    /// Names that hold other separators do not change the one that a header is read by.
    #[test]
    fn a_header_is_cut_where_it_was_written() {
        for delimiter in [b',', b'\t'] {
            for names in [vec!["#", "%\ta=b\t'"], vec!["a;b;c", "d,e,f"], vec!["plain", "x"], vec!["say \"it\";;", "y"]]
            {
                let mut text = vec![];
                drop(headed(&mut text, delimiter, names.iter().copied()).unwrap());
                assert_eq!(separator(&text, delimiter), (delimiter, 0), "{names:?}");
            }
        }
    }

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
