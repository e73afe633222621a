//! The header of an ARFF file: its attributes, and what becomes of the values of each.

use crate::data::Columns;
use crate::data::layout::Refusal;
use crate::data::strings::short;
use std::collections::{HashMap, HashSet};

/// An attribute of the file.
pub(in crate::data) struct Attribute {
    pub(in crate::data) name: String,
    pub(in crate::data) line: usize,
    /// The values that it may have, in the order of the header; none for a number.
    pub(in crate::data) values: Option<Vec<String>>,
}

impl Attribute {
    /// Whether it can be the label of this name.
    pub(in crate::data) fn is_label(&self, name: &str) -> bool {
        self.name == name && self.values.as_deref().and_then(bits).is_some()
    }
}

/// What a value becomes.
pub(in crate::data) enum Kind {
    /// A number, in this column.
    Number(u32),
    /// 0 or 1, in this column; the first of the two in the header.
    Bit(u32, u8),
    /// 0 or 1, of this label; the first of the two in the header.
    Label(u32, u8),
    /// One of some values, each of which has a column, from this one on.
    Choice(u32, Vec<String>),
}

/// A line of the header.
pub(in crate::data) enum Line {
    Nothing,
    Attribute(Attribute),
    Data,
}

/// The attributes as features and labels.
pub(in crate::data) struct Plan {
    pub(in crate::data) kinds: Vec<Kind>,
    pub(in crate::data) columns: Columns,
    pub(in crate::data) labels: Vec<String>,
    /// Whether the labels are attributes of the file.
    pub(in crate::data) labelled: bool,
    /// Attributes whose absence in a sparse row does not mean 0, ascending.
    pub(in crate::data) standing: Vec<u32>,
}

/// Reads a line of the header.
pub(in crate::data) fn line(text: &[u8], number: usize) -> Result<Line, Refusal> {
    let start = skip(text, 0);
    if start == text.len() || text[start] == b'%' {
        return Ok(Line::Nothing);
    }
    let end = start + text[start..].iter().position(|b| *b <= b' ').unwrap_or(text.len() - start);
    match text[start..end].to_ascii_lowercase().as_slice() {
        b"@relation" => Ok(Line::Nothing),
        b"@data" => Ok(Line::Data),
        b"@attribute" => attribute(text, end, number).map(Line::Attribute),
        _ => Err((start, "@relation, @attribute or @data".into(), end - start)),
    }
}

fn attribute(line: &[u8], at: usize, number: usize) -> Result<Attribute, Refusal> {
    let at = skip(line, at);
    let (name, after) = word(line, at, b"{")?;
    if name.is_empty() {
        return Err((at, "the name of an attribute".into(), 20));
    }
    let at = skip(line, after);
    if line.get(at) == Some(&b'{') {
        let (values, after) = values(line, at + 1)?;
        ended(line, after)?;
        return Ok(Attribute { name, line: number, values: Some(values) });
    }
    let (kind, after) = word(line, at, b"%")?;
    match kind.to_ascii_lowercase().as_str() {
        "numeric" | "real" | "integer" => {
            ended(line, after)?;
            Ok(Attribute { name, line: number, values: None })
        }
        "string" | "date" | "relational" => {
            let expected = format!(
                "a numeric or nominal attribute (take {:?} out of the file, or turn it into numbers)",
                short(&name)
            );
            Err((at, expected.into(), after - at))
        }
        _ => Err((at, "numeric, real, integer or {values}".into(), (after - at).max(1))),
    }
}

/// Nothing but a comment may follow.
fn ended(line: &[u8], at: usize) -> Result<(), Refusal> {
    let at = skip(line, at);
    match line.get(at) {
        None | Some(b'%') => Ok(()),
        Some(_) => Err((at, "the end of the line".into(), 20)),
    }
}

/// The values of a nominal attribute, behind `{`.
fn values(line: &[u8], mut at: usize) -> Result<(Vec<String>, usize), Refusal> {
    let (start, mut values) = (at, vec![]);
    loop {
        at = skip(line, at);
        let (value, after) = word_until(line, at, b",}")?;
        if after == at {
            return Err((at, "a value of the attribute".into(), 1));
        }
        values.push(value);
        at = skip(line, after);
        match line.get(at) {
            Some(b',') => at += 1,
            Some(b'}') => break,
            _ => return Err((at, ", or } behind a value".into(), 20)),
        }
    }
    let mut seen = HashSet::new();
    match values.iter().find(|value| !seen.insert(value.as_str())) {
        Some(twice) => Err((start, format!("each value once, but {:?} occurs twice", short(twice)).into(), 20)),
        None => Ok((values, at + 1)),
    }
}

pub(in crate::data) fn skip(line: &[u8], mut at: usize) -> usize {
    while line.get(at).is_some_and(|&b| b <= b' ') {
        at += 1;
    }
    at
}

/// A word in quotes, or one that ends at white space or at one of `signs`; and where it ends.
fn word(line: &[u8], at: usize, signs: &[u8]) -> Result<(String, usize), Refusal> {
    if matches!(line.get(at), Some(b'\'' | b'"')) {
        return quoted(line, at);
    }
    let len = line[at..].iter().position(|b| *b <= b' ' || signs.contains(b)).unwrap_or(line.len() - at);
    Ok((utf8(line, at, at + len)?.to_owned(), at + len))
}

/// A word in quotes, or one that ends at one of `signs`, without the white space around it; and where it ends.
pub(in crate::data) fn word_until(line: &[u8], at: usize, signs: &[u8]) -> Result<(String, usize), Refusal> {
    if matches!(line.get(at), Some(b'\'' | b'"')) {
        return quoted(line, at);
    }
    let len = line[at..].iter().position(|b| signs.contains(b)).unwrap_or(line.len() - at);
    let end = at + line[at..at + len].trim_ascii_end().len();
    Ok((utf8(line, at, end)?.to_owned(), end))
}

fn utf8(line: &[u8], at: usize, end: usize) -> Result<&str, Refusal> {
    std::str::from_utf8(&line[at..end]).map_err(|_| (at, "a name in UTF-8".into(), end - at))
}

/// The text of a word in quotes, and where it ends; a backslash takes its special meaning from the sign behind it.
fn quoted(line: &[u8], at: usize) -> Result<(String, usize), Refusal> {
    let (quote, mut text, mut next) = (line[at], vec![], at + 1);
    while let Some(&byte) = line.get(next) {
        if byte == quote {
            let text = String::from_utf8(text).map_err(|_| (at, "a name in UTF-8".into(), next - at))?;
            return Ok((text, next + 1));
        }
        if byte == b'\\'
            && let Some(&sign) = line.get(next + 1)
        {
            text.push(match sign {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                other => other,
            });
            next += 2;
        } else {
            text.push(byte);
            next += 1;
        }
    }
    Err((at, format!("a closing {}", char::from(quote)).into(), line.len() - at))
}

impl Plan {
    /// Sorts attributes into features and labels; what is wrong, and the line of the attribute where one is.
    pub(in crate::data) fn new(
        attributes: Vec<Attribute>,
        labels: Vec<String>,
    ) -> Result<Self, (Option<usize>, String, String)> {
        let wanted: HashSet<&str> = labels.iter().map(String::as_str).collect();
        let mut seen = HashMap::new();
        for attribute in &attributes {
            if let Some(before) = seen.insert(attribute.name.as_str(), attribute.line) {
                let expected = format!("each attribute once ({:?} stands in line {before})", short(&attribute.name));
                return Err((Some(attribute.line), expected, "it again".into()));
            }
        }
        let absent: Vec<&String> = labels.iter().filter(|name| !seen.contains_key(name.as_str())).collect();
        let labelled = absent.len() < labels.len();
        if let Some(name) = absent.first().filter(|_| labelled) {
            let expected = format!("an attribute for each label, such as {:?}", short(name));
            return Err((None, expected, format!("none for {} of {}", absent.len(), labels.len())));
        }
        let (mut kinds, mut names, mut found, mut standing) = (vec![], vec![], vec![], vec![]);
        for Attribute { name, line, values } in attributes {
            let at = names.len() as u32;
            let bits = values.as_deref().and_then(bits);
            let kind = match (values, bits) {
                (_, Some(first)) if wanted.contains(name.as_str()) => {
                    found.push(name);
                    Kind::Label(found.len() as u32 - 1, first)
                }
                (values, _) if wanted.contains(name.as_str()) => {
                    let expected = format!("{{0,1}} for the label {:?}", short(&name));
                    let values = values.map_or("a number".into(), |v| format!("{{{}}}", short(&v.join(","))));
                    return Err((Some(line), expected, format!("{values:?}")));
                }
                (None, _) => {
                    names.push(name);
                    Kind::Number(at)
                }
                (Some(_), Some(first)) => {
                    names.push(name);
                    Kind::Bit(at, first)
                }
                (Some(values), None) => {
                    names.extend(values.iter().map(|value| format!("{name}={value}")));
                    Kind::Choice(at, values)
                }
            };
            if matches!(kind, Kind::Choice(..) | Kind::Bit(_, 1) | Kind::Label(_, 1)) {
                standing.push(kinds.len() as u32);
            }
            kinds.push(kind);
        }
        Ok(Self {
            kinds,
            columns: Columns::of(names),
            labels: if labelled { found } else { labels },
            labelled,
            standing,
        })
    }
}

/// The first of two values 0 and 1.
fn bits(values: &[String]) -> Option<u8> {
    match values {
        [a, b] if a == "0" && b == "1" => Some(0),
        [a, b] if a == "1" && b == "0" => Some(1),
        _ => None,
    }
}
