//! LETOR / SVMlight text: `grade qid:ID index:value… # comment`.
//!
//! A block of lines is cut at line boundaries into pieces of fixed size, and each piece is parsed by itself into
//! buffers that are used again, so that nothing is allocated per line. While a piece lists the same columns in every
//! row (as LETOR files do) only the values are kept.

use crate::data::layout::{Expected, Problem, Refusal};
use crate::data::losses::{Ids, Suspects};
use crate::data::number::{self, Value};
use crate::data::source::{NO_CONTROL, control};
use crate::data::strings::Strings;

/// The rows of one piece of text.
#[derive(Default)]
pub(crate) struct Piece {
    pub(crate) grades: Vec<f64>,
    pub(crate) values: Vec<f32>,
    /// First index and number of columns, while every row lists `first, first + 1, …`.
    pub(crate) regular: Option<(u32, usize)>,
    /// Column of each value and end of each row, once a row was not regular.
    pub(crate) columns: Vec<u32>,
    pub(crate) ends: Vec<usize>,
    /// Query ids in order of appearance, with the number of rows that follow one another.
    pub(crate) queries: Strings,
    pub(crate) runs: Vec<usize>,
    pub(crate) without_query: usize,
    /// Document ids; empty while no row had one.
    pub(crate) documents: Strings,
    /// Names given to columns by `#N: name` lines.
    pub(crate) names: Vec<(u32, String)>,
    /// Labels of the rows, where rows begin with labels, and where those of each row end.
    pub(crate) labels: Vec<u32>,
    pub(crate) label_ends: Vec<usize>,
    /// Columns that may lose much in single precision.
    pub(in crate::data) suspects: Suspects,
    pub(crate) lines: usize,
    pub(crate) problem: Option<Problem>,
}

/// What the rows of a file may hold.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    /// A missing value is kept as NaN instead of refused.
    pub(crate) keep_missing: bool,
    /// Rows begin with labels below this number, instead of with a grade and a query.
    pub(crate) labels: Option<u32>,
    /// Indices are below this number.
    pub(crate) columns: u32,
    /// Rows of a piece that are looked at in double precision.
    pub(crate) look: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { keep_missing: false, labels: None, columns: u32::MAX, look: usize::MAX }
    }
}

impl Piece {
    fn clear(&mut self) {
        self.grades.clear();
        self.values.clear();
        self.regular = None;
        self.columns.clear();
        self.ends.clear();
        self.queries.clear();
        self.runs.clear();
        self.without_query = 0;
        self.documents.clear();
        self.names.clear();
        self.labels.clear();
        self.label_ends.clear();
        self.lines = 0;
        self.problem = None;
    }

    /// Parses whole lines.
    pub(crate) fn parse(&mut self, text: &[u8], rules: Rules) {
        self.clear();
        // one look at all bytes spares most files a look at each line
        let doubtful = |b: u8| (b < b' ') & (b != b'\t') & (b != b'\n') | (b == 0x7f);
        let doubtful = text.iter().fold(false, |any, &b| any | doubtful(b));
        let mut rest = text;
        while !rest.is_empty() {
            let (line, after) = match memchr::memchr(b'\n', rest) {
                Some(end) => (&rest[..end], &rest[end + 1..]),
                None => (rest, &rest[rest.len()..]),
            };
            rest = after;
            self.lines += 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let refused = if doubtful { plain(line) } else { Ok(()) };
            if let Err(refusal) = refused.and_then(|()| self.line(line, rules)) {
                self.problem = Some(Problem::new(self.lines, line, refusal));
                return;
            }
        }
        self.suspect();
        if !self.suspects.is_empty() {
            self.look(text, rules.look);
        }
    }

    /// Finds the columns that may lose much in single precision.
    #[inline(never)] // what parses lines stays as it is
    fn suspect(&mut self) {
        let (values, columns, ends) = (&self.values, &self.columns, &self.ends);
        self.suspects.find(self.grades.len(), |row| match self.regular {
            Some((first, width)) => (Ids::From(first), &values[row * width..(row + 1) * width]),
            None => {
                let span = row.checked_sub(1).map_or(0, |before| ends[before])..ends[row];
                (Ids::Listed(&columns[span.clone()]), &values[span])
            }
        });
    }

    /// Looks at the values of these columns in the first rows in double precision.
    #[cold]
    fn look(&mut self, text: &[u8], rows: usize) {
        let lines = text.split(|&b| b == b'\n').filter(|line| !matches!(line.trim_ascii_start(), [] | [b'#', ..]));
        for line in lines.take(rows) {
            let row = &line[..memchr::memchr(b'#', line).unwrap_or(line.len())];
            for word in row.split(|&b| b <= b' ') {
                if let Some(colon) = memchr::memchr(b':', word)
                    && let Ok((index, _)) = index(&word[..=colon], 0)
                {
                    self.suspects.look(index, &word[colon + 1..]);
                }
            }
        }
    }

    #[inline]
    fn line(&mut self, line: &[u8], rules: Rules) -> Result<(), Refusal> {
        let mut at = skip(line, 0);
        match line.get(at) {
            None => return Ok(()),
            Some(b'#') => {
                self.header(&line[at + 1..]);
                return Ok(());
            }
            _ => {}
        }
        let grade = match rules.labels {
            Some(limit) => self.row_labels(line, &mut at, limit).map(|()| 0.0)?,
            None => self.grade_and_query(line, &mut at)?,
        };
        self.row(line, &mut at, rules)?;
        if rules.labels.is_some() {
            self.label_ends.push(self.labels.len());
        }
        self.grades.push(grade);
        if line.get(at) == Some(&b'#') {
            self.documents.fill_to(self.grades.len() - 1);
            self.documents.push(document_id(&line[at + 1..]));
        } else if !self.documents.is_empty() {
            self.documents.push(b"");
        }
        Ok(())
    }

    /// The grade of a row and, where it has one, its query.
    #[inline]
    fn grade_and_query(&mut self, line: &[u8], place: &mut usize) -> Result<f64, Refusal> {
        let mut at = *place;
        let end = token_end(line, at);
        let grade = match &line[at..end] {
            [digit @ b'0'..=b'9'] => f64::from(digit - b'0'),
            token => match fast_float2::parse::<f64, _>(token) {
                Ok(grade) if grade.is_finite() => grade,
                _ if line.contains(&b',') || line.contains(&b';') => {
                    return Err((at, "a grade (a table is read by its name: .csv or .tsv)".into(), end - at));
                }
                _ => return Err((at, "a grade (a finite number)".into(), end - at)),
            },
        };
        at = skip(line, end);
        if line[at..].starts_with(b"qid:") {
            at += 4;
            let end = token_end(line, at);
            if end == at {
                return Err((at, "a query id after qid:".into(), 1));
            }
            if std::str::from_utf8(&line[at..end]).is_err() {
                return Err((at, "a query id in UTF-8".into(), end - at));
            }
            self.query(&line[at..end]);
            at = skip(line, end);
        } else {
            self.without_query += 1;
        }
        *place = at;
        Ok(grade)
    }

    /// The labels of a row, `3,7,1`; none where it begins with a feature.
    #[inline]
    fn row_labels(&mut self, line: &[u8], at: &mut usize, limit: u32) -> Result<(), Refusal> {
        let end = token_end(line, *at);
        if memchr::memchr(b':', &line[*at..end]).is_some() {
            return Ok(());
        }
        let mut start = *at;
        loop {
            let (mut next, mut label) = (start, 0u32);
            while let Some(digit) = line.get(next).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
                label = label.saturating_mul(10).saturating_add(u32::from(digit));
                next += 1;
            }
            if next == start || next < end && line[next] != b',' {
                let len = line[start..end].iter().position(|&b| b == b',').unwrap_or(end - start);
                return Err((start, "labels (numbers from 0, between commas), or index:value".into(), len.max(1)));
            }
            if label >= limit {
                return Err((start, format!("a label below {limit} (labels are counted from 0)").into(), next - start));
            }
            self.labels.push(label);
            if next == end {
                break;
            }
            start = next + 1;
        }
        *at = skip(line, end);
        Ok(())
    }

    #[inline]
    fn query(&mut self, id: &[u8]) {
        match self.runs.last_mut() {
            Some(count) if self.queries.last() == id => *count += 1,
            _ => {
                self.queries.push(id);
                self.runs.push(1);
            }
        }
    }

    /// The features of a row, from `at` to the end or the comment.
    #[inline]
    fn row(&mut self, line: &[u8], at: &mut usize, rules: Rules) -> Result<(), Refusal> {
        let start = self.values.len();
        let (mut regular, mut width) = (self.ends.is_empty(), 0);
        let first = self.regular.map(|(first, _)| first);
        let mut next = first.unwrap_or(1);
        while let Some(&byte) = line.get(*at) {
            if byte == b'#' {
                break;
            }
            let (index, after) = index(line, *at)?;
            if index >= rules.columns {
                let expected = format!("an index below {} (the first line counts the features)", rules.columns);
                return Err((*at, expected.into(), after - *at));
            }
            let (value, len) = number::leading(&line[after..]);
            let value = match value {
                Value::Number(x) => x,
                Value::Missing if rules.keep_missing => f32::NAN,
                other => return Err((after, expected_value(index, other), len)),
            };
            if regular && index != next {
                if index == 0 && width == 0 && first.is_none() {
                    next = 0;
                } else {
                    self.write_columns(start, next - width as u32);
                    regular = false;
                }
            }
            if !regular {
                self.columns.push(index);
            }
            self.values.push(value);
            width += 1;
            next = next.wrapping_add(1);
            *at = skip(line, after + len);
        }
        if regular {
            match self.regular {
                None => {
                    self.regular = Some((next.wrapping_sub(width as u32), width));
                    return Ok(());
                }
                Some((_, expected)) if expected == width => return Ok(()),
                Some(_) => self.write_columns(start, next - width as u32),
            }
        }
        self.order_row(start)
            .map_err(|index| (0, format!("each index once in a row, but {index} occurs twice").into(), 20))?;
        self.ends.push(self.values.len());
        Ok(())
    }

    /// Leaves the regular layout: writes down the columns of the rows before `start` and of the row that begins there.
    #[cold]
    fn write_columns(&mut self, start: usize, first: u32) {
        if let Some((first, width)) = self.regular.take() {
            for row in 1..=self.grades.len() {
                self.columns.extend((0..width as u32).map(|j| first + j));
                self.ends.push(row * width);
            }
        }
        let here = self.values.len() - start;
        self.columns.extend((0..here as u32).map(|j| first + j));
    }

    /// Sorts the row from `start` by column where it is not sorted; the column, where one occurs twice.
    fn order_row(&mut self, start: usize) -> Result<(), u32> {
        let columns = &mut self.columns[start..];
        if columns.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(());
        }
        let mut row: Vec<(u32, f32)> = columns.iter().copied().zip(self.values[start..].iter().copied()).collect();
        row.sort_by_key(|&(column, _)| column);
        if let Some(pair) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(pair[0].0);
        }
        for (k, (column, value)) in row.into_iter().enumerate() {
            columns[k] = column;
            self.values[start + k] = value;
        }
        Ok(())
    }

    /// `#N: name` gives column N a name; any other comment line is a comment.
    fn header(&mut self, text: &[u8]) {
        let Some(digits) = named(text) else { return };
        let name = String::from_utf8_lossy(&text[digits + 1..]).trim_ascii().to_owned();
        if let Some(index) = std::str::from_utf8(&text[..digits]).ok().and_then(|n| n.parse().ok())
            && !name.is_empty()
        {
            self.names.push((index, name));
        }
    }
}

/// Refuses control bytes, but for those of a line that is a comment and names no column.
#[cold]
fn plain(line: &[u8]) -> Result<(), Refusal> {
    match control(line) {
        None => Ok(()),
        Some(_) if line.trim_ascii_start().strip_prefix(b"#").is_some_and(|text| named(text).is_none()) => Ok(()),
        Some(at) => Err((at, NO_CONTROL.into(), 1)),
    }
}

/// The number of digits before the colon of `N: name`.
fn named(comment: &[u8]) -> Option<usize> {
    let digits = comment.iter().take_while(|b| b.is_ascii_digit()).count();
    (digits > 0 && comment.get(digits) == Some(&b':')).then_some(digits)
}

#[inline]
fn skip(line: &[u8], mut at: usize) -> usize {
    while line.get(at).is_some_and(|&b| b <= b' ') {
        at += 1;
    }
    at
}

#[inline]
fn token_end(line: &[u8], mut at: usize) -> usize {
    while line.get(at).is_some_and(|&b| b > b' ' && b != b'#') {
        at += 1;
    }
    at
}

/// The index before a colon, and where its value begins.
#[inline]
fn index(line: &[u8], start: usize) -> Result<(u32, usize), Refusal> {
    let (mut at, mut index) = (start, 0u32);
    while let Some(digit) = line.get(at).map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
        index = match index.checked_mul(10).and_then(|i| i.checked_add(u32::from(digit))) {
            Some(index) if index < u32::MAX => index,
            _ => return Err((start, "an index below 4294967295".into(), token_end(line, start) - start)),
        };
        at += 1;
    }
    if at > start && line.get(at) == Some(&b':') {
        Ok((index, at + 1))
    } else {
        Err((start, "index:value".into(), token_end(line, start).max(start + 1) - start))
    }
}

#[cold]
fn expected_value(index: u32, value: Value) -> Expected {
    match value {
        Value::Missing => Expected::value(format!("a value for feature {index}")),
        _ => format!("a finite number for feature {index}").into(),
    }
}

/// The word after `docid =`, else the first word.
fn document_id(comment: &[u8]) -> &[u8] {
    let word = |at: usize| {
        let start = skip(comment, at);
        let len = comment[start..].iter().position(|&b| b <= b' ').unwrap_or(comment.len() - start);
        &comment[start..start + len]
    };
    if let Some(found) = memchr::memmem::find(comment, b"docid") {
        let sign = skip(comment, found + 5);
        if comment.get(sign) == Some(&b'=') {
            return word(sign + 1);
        }
    }
    word(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Piece {
        let mut piece = Piece::default();
        piece.parse(text.as_bytes(), Rules::default());
        piece
    }

    fn refusal(text: &str) -> String {
        let problem = parsed(text).problem.expect("a refusal");
        format!("{}:{}: expected {}, found {}", problem.line, problem.column, problem.expected.text, problem.found)
    }

    #[test]
    fn regular_rows_keep_no_columns() {
        let piece = parsed("2 qid:1 1:0.5 2:1 #docid = a7 inc = 1\r\n0 qid:1 1:3 2:4 # b8 x\n1 qid:2 1:5 2:6\n");
        assert!(piece.problem.is_none());
        assert_eq!(piece.regular, Some((1, 2)));
        assert_eq!(piece.values, [0.5, 1.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(piece.grades, [2.0, 0.0, 1.0]);
        assert_eq!(piece.runs, [2, 1]);
        assert_eq!(piece.documents.iter().collect::<Vec<_>>(), [&b"a7"[..], b"b8", b""]);
    }

    #[test]
    fn quirks() {
        let piece = parsed(
            "# a comment\n#2: title length\n\n  +1.5\tqid:q-x  5:1e-3 2:.5   9:-2.  \n-1 qid:q-x\n0 qid:q-x 0:1",
        );
        assert!(piece.problem.is_none());
        assert_eq!(piece.grades, [1.5, -1.0, 0.0]);
        assert_eq!(piece.columns, [2, 5, 9, 0]);
        assert_eq!(piece.values, [0.5, 1e-3, -2.0, 1.0]);
        assert_eq!(piece.ends, [3, 3, 4]);
        assert_eq!(piece.names, [(2, "title length".to_owned())]);
        assert_eq!(piece.lines, 6);
        // a row that leaves the regular layout half-way, and one that is shorter
        let piece = parsed("0 qid:1 1:1 2:2 3:3\n0 qid:1 1:4 2:5 7:6\n0 qid:1 1:7\n");
        assert_eq!(piece.columns, [1, 2, 3, 1, 2, 7, 1]);
        assert_eq!(piece.ends, [3, 6, 7]);
        assert_eq!(parsed("0 0:1 1:2\n1 0:3 1:4\n").regular, Some((0, 2)));
        assert_eq!(parsed("0 0:1 1:2\n1 1:4\n").columns, [0, 1, 1]);
    }

    #[test]
    fn refusals_name_the_place() {
        assert_eq!(refusal("1 qid:1 1:2\n0 qid:1 12;0.5"), "2:9: expected index:value, found \"12;0.5\"");
        assert_eq!(refusal("x qid:1 1:2"), "1:1: expected a grade (a finite number), found \"x\"");
        assert_eq!(refusal("nan qid:1 1:2"), "1:1: expected a grade (a finite number), found \"nan\"");
        assert_eq!(refusal("1 qid: 1:2"), "1:7: expected a query id after qid:, found nothing");
        assert_eq!(refusal("1 qid:1 1:inf"), "1:11: expected a finite number for feature 1, found \"inf\"");
        assert_eq!(refusal("1 qid:1 3:NULL"), "1:11: expected a value for feature 3, found \"NULL\"");
        assert_eq!(
            refusal("1 qid:1 99999999999:1"),
            "1:9: expected an index below 4294967295, found \"99999999999:1\""
        );
        assert!(refusal("1 qid:1 2:1 2:2").contains("2 occurs twice"));
        assert_eq!(refusal("1 qid:1 title:1"), "1:9: expected index:value, found \"title:1\"");
    }
}
