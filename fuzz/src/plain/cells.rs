//! Tables with quotes, byte by byte.

use super::{has_control, marks_clash, number, value};
use std::cell::RefCell;

/// A table as the file has it.
pub(crate) struct Cells {
    delimiter: u8,
    pub(crate) head: Vec<String>,
    /// Each row with the line that it begins on; cells without the blanks around them.
    pub(crate) rows: Vec<(usize, Vec<Vec<u8>>)>,
    /// Whether something behind these rows is wrong: a quote, or a control byte.
    pub(crate) broken: bool,
    marked: RefCell<Vec<String>>,
}

/// The separator that cuts the head into most cells.
fn delimiter(text: &[u8], usual: u8) -> u8 {
    let mut head = vec![];
    let mut inside = false;
    for &byte in text.iter().skip_while(|&&b| b == b'\n' || b == b'\r') {
        inside ^= byte == b'"';
        if byte == b'\n' && !inside {
            break;
        }
        if !inside {
            head.push(byte);
        }
    }
    let count = |sign: u8| head.iter().filter(|&&b| b == sign).count();
    [b',', b';', b'\t'].into_iter().fold(usual, |a, b| if count(b) > count(a) { b } else { a })
}

/// One row from `at` on: its cells and where it ends; nothing where its quotes are wrong.
fn row(text: &[u8], mut at: usize, delimiter: u8) -> Option<(Vec<Vec<u8>>, usize)> {
    let mut cells = vec![];
    loop {
        let mut cell = vec![];
        if text.get(at) == Some(&b'"') {
            at += 1;
            loop {
                match (text.get(at)?, text.get(at + 1)) {
                    (b'"', Some(b'"')) => {
                        cell.push(b'"');
                        at += 2;
                    }
                    (b'"', _) => break,
                    (&byte, _) => {
                        cell.push(byte);
                        at += 1;
                    }
                }
            }
            at += 1;
            if text.get(at) == Some(&b'\r') && matches!(text.get(at + 1), None | Some(b'\n')) {
                at += 1;
            }
        } else {
            while at < text.len() && text[at] != delimiter && text[at] != b'\n' {
                cell.push(text[at]);
                at += 1;
            }
            if text.get(at) != Some(&delimiter) && cell.last() == Some(&b'\r') {
                cell.pop();
            }
        }
        cells.push(cell);
        match text.get(at) {
            None => return Some((cells, at)),
            Some(b'\n') => return Some((cells, at + 1)),
            Some(&byte) if byte == delimiter => at += 1,
            Some(_) => return None,
        }
    }
}

impl Cells {
    /// Reads a table; nothing where there is no head, or none that can be read, with its line.
    pub(crate) fn parse(text: &[u8], usual: u8) -> Result<Self, usize> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let delimiter = delimiter(text, usual);
        let (mut at, mut line) = (0, 1);
        let (mut all, mut broken) = (vec![], false);
        while at < text.len() {
            let blank = text[at..].split(|&b| b == b'\n').next().is_some_and(|l| l.is_empty() || l == b"\r");
            let Some((cells, end)) = row(text, at, delimiter) else {
                broken = true;
                break;
            };
            if !blank {
                all.push((line, cells));
            }
            line += text[at..end].iter().filter(|&&b| b == b'\n').count();
            at = end;
        }
        if all.is_empty() {
            return Err(0);
        }
        let (line, head) = all.remove(0);
        let mut names = vec![];
        for cell in head {
            // names may go over several lines
            let lines = cell.split_inclusive(|&b| b == b'\n');
            let mut lines = lines.map(|l| l.strip_suffix(b"\r\n").or(l.strip_suffix(b"\n")).unwrap_or(l));
            let plain = lines.all(|line| !has_control(line));
            let name = String::from_utf8(cell).ok().filter(|_| plain).ok_or(line)?;
            names.push(name.trim_start_matches('\u{feff}').trim_ascii().to_owned());
        }
        let trimmed = |cells: Vec<Vec<u8>>| cells.iter().map(|cell| cell.trim_ascii().to_vec()).collect::<Vec<_>>();
        let mut rows = vec![];
        for (line, cells) in all {
            if cells.iter().any(|cell| has_control(cell)) || cells.len() != names.len() {
                broken = true;
                rows.push((line, vec![])); // a row that is refused here
                break;
            }
            rows.push((line, trimmed(cells)));
        }
        Ok(Self { delimiter, head: names, rows, broken, marked: RefCell::default() })
    }

    /// The table if all of it is right.
    pub(crate) fn whole(text: &[u8], usual: u8) -> Option<Self> {
        Self::parse(text, usual).ok().filter(|cells| !cells.broken)
    }

    /// The first column of one of these names, in any case.
    pub(crate) fn find(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.head.iter().position(|own| own.eq_ignore_ascii_case(name)))
    }

    /// Columns that are none of these.
    pub(crate) fn others(&self, taken: &[Option<usize>]) -> Vec<usize> {
        (0..self.head.len()).filter(|&j| !taken.contains(&Some(j))).collect()
    }

    fn with_point(&self, token: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(token).into_owned();
        if self.delimiter != b',' {
            self.marked.borrow_mut().push(text.clone());
            if text.matches(',').count() == 1 {
                return text.replace(',', ".").into_bytes();
            }
        }
        token.to_vec()
    }

    /// A finite number.
    pub(crate) fn number(&self, token: &[u8]) -> Option<f64> {
        number(&self.with_point(token))
    }

    /// A feature; NaN where it is missing and gaps are kept.
    pub(crate) fn feature(&self, token: &[u8], keep: bool) -> Option<f32> {
        match token.to_ascii_lowercase().as_slice() {
            b"true" => Some(1.0),
            b"false" => Some(0.0),
            b"" | b"null" | b"nan" => value(token, keep),
            _ => value(&self.with_point(token), keep),
        }
    }

    /// Whether all numbers that were asked for can mean one thing only.
    pub(crate) fn marks_are_clear(&self) -> bool {
        !marks_clash(&self.marked.borrow(), self.delimiter)
    }
}

/// A cell as a word: UTF-8, without blanks around it.
pub(crate) fn word(cell: &[u8]) -> Option<String> {
    std::str::from_utf8(cell).ok().map(|text| text.trim_ascii().to_owned())
}
