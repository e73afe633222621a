//! ARFF, the plain way: a line is cut into words first, and words are understood afterwards.

use super::labels::{Item, Items};
use super::{has_control, trimmed, value};
use std::collections::BTreeSet;

/// A piece of a line: a sign, or a word with whether it stood in quotes.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Sign(u8),
    Word(Vec<u8>, bool),
}

/// Cuts a text at signs; words lose the blanks around them, and those in quotes their quotes.
fn pieces(text: &[u8], signs: &[u8]) -> Option<Vec<Piece>> {
    let (mut out, mut at) = (vec![], 0);
    while at < text.len() {
        let byte = text[at];
        if byte == b' ' || byte == b'\t' {
            at += 1;
        } else if signs.contains(&byte) {
            out.push(Piece::Sign(byte));
            at += 1;
        } else if byte == b'\'' || byte == b'"' {
            let mut word = vec![];
            at += 1;
            while *text.get(at)? != byte {
                if text[at] == b'\\' && at + 1 < text.len() {
                    at += 1;
                    word.push(match text[at] {
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        other => other,
                    });
                } else {
                    word.push(text[at]);
                }
                at += 1;
            }
            at += 1;
            std::str::from_utf8(&word).ok()?;
            out.push(Piece::Word(word, true));
        } else {
            let len = text[at..].iter().position(|b| signs.contains(b)).unwrap_or(text.len() - at);
            out.push(Piece::Word(text[at..at + len].trim_ascii_end().to_vec(), false));
            at += len;
        }
    }
    Some(out)
}

/// An attribute: its name, and its values if it has a list of them.
struct Attribute {
    name: String,
    values: Option<Vec<String>>,
}

/// The first word of a text, in quotes or up to a blank or one of `signs`, and what follows.
fn first<'a>(text: &'a [u8], signs: &[u8]) -> Option<(String, &'a [u8])> {
    let text = text.trim_ascii_start();
    if let Some(quote @ (b'\'' | b'"')) = text.first() {
        let mut at = 1;
        while *text.get(at)? != *quote {
            at += if text[at] == b'\\' && at + 1 < text.len() { 2 } else { 1 };
        }
        let Some(Piece::Word(word, _)) = pieces(&text[..=at], b"")?.into_iter().next() else { return None };
        return Some((String::from_utf8(word).ok()?, &text[at + 1..]));
    }
    let end = text.iter().position(|b| *b <= b' ' || signs.contains(b)).unwrap_or(text.len());
    Some((String::from_utf8(text[..end].to_vec()).ok()?, &text[end..]))
}

fn attribute(rest: &[u8]) -> Option<Attribute> {
    let (name, rest) = first(rest, b"{").filter(|(name, _)| !name.is_empty())?;
    let rest = rest.trim_ascii_start();
    let over = |rest: &[u8]| matches!(rest.trim_ascii_start(), [] | [b'%', ..]);
    let Some(list) = rest.strip_prefix(b"{") else {
        let (kind, rest) = first(rest, b"%")?;
        let number = ["numeric", "real", "integer"].contains(&kind.to_ascii_lowercase().as_str());
        return (number && over(rest)).then_some(Attribute { name, values: None });
    };
    // the list ends at the first } outside of quotes
    let (mut values, mut rest, mut word) = (vec![], list, None::<Vec<u8>>);
    loop {
        rest = rest.trim_ascii_start();
        match rest.first()? {
            b'}' | b',' => {
                values.push(String::from_utf8(word.take()?).ok()?);
                let end = rest[0] == b'}';
                rest = &rest[1..];
                if end {
                    break;
                }
            }
            _ if word.is_some() => return None,
            b'\'' | b'"' => {
                let (text, after) = first(rest, b"")?;
                (word, rest) = (Some(text.into_bytes()), after);
            }
            _ => {
                let end = rest.iter().position(|b| b",}".contains(b))?;
                (word, rest) = (Some(rest[..end].trim_ascii_end().to_vec()), &rest[end..]);
            }
        }
    }
    let distinct = values.iter().collect::<BTreeSet<_>>().len() == values.len();
    (distinct && over(rest)).then_some(Attribute { name, values: Some(values) })
}

/// Puts a value of an attribute into an item.
fn put(item: &mut Item, attribute: &Attribute, label: bool, word: &[u8], keep: bool) -> Option<()> {
    let name = &attribute.name;
    let bits = attribute.values.as_ref().is_some_and(|values| values == &["0", "1"] || values == &["1", "0"]);
    match &attribute.values {
        Some(_) if label => match word {
            b"1" => drop(item.yes.insert(name.clone())),
            b"0" => {}
            b"?" => drop(item.unknown.insert(name.clone())),
            _ => return None,
        },
        Some(values) if !bits => {
            let own = values.iter().any(|value| value.as_bytes() == word);
            (own || word == b"?" && keep).then_some(())?;
            for value in values {
                let x = if !own { f32::NAN } else { f32::from(value.as_bytes() == word) };
                item.values.insert(format!("{name}={value}"), x);
            }
        }
        _ => {
            let x = if word == b"?" { value(b"", keep)? } else { value(word, keep)? };
            (!bits || x.is_nan() || word == b"0" || word == b"1").then_some(())?;
            item.values.insert(name.clone(), x);
        }
    }
    Some(())
}

/// The items of an ARFF file whose labels are these.
pub(crate) fn arff(text: &[u8], labels: &[String], keep: bool) -> Option<Items> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut lines = text.split(|&b| b == b'\n').map(trimmed);
    let meant = |line: &&[u8]| !matches!(line.iter().find(|&&b| b > b' '), None | Some(b'%'));
    let mut attributes = vec![];
    loop {
        let line = lines.next()?;
        if !meant(&line) {
            (line.contains(&b'%') || !has_control(line)).then_some(())?;
            continue;
        }
        (!has_control(line)).then_some(())?;
        let line = line.trim_ascii();
        let end = line.iter().position(|b| *b <= b' ').unwrap_or(line.len());
        match line[..end].to_ascii_lowercase().as_slice() {
            b"@relation" => {}
            b"@attribute" => attributes.push(attribute(&line[end..])?),
            b"@data" => break,
            _ => return None,
        }
    }
    let names: BTreeSet<&String> = attributes.iter().map(|a| &a.name).collect();
    let found = labels.iter().filter(|label| names.contains(label)).count();
    let bits = |a: &Attribute| a.values.as_ref().is_some_and(|v| v == &["0", "1"] || v == &["1", "0"]);
    let is_label = |a: &Attribute| labels.contains(&a.name);
    if names.len() < attributes.len()
        || found != 0 && found != labels.len()
        || attributes.iter().any(|a| is_label(a) && !bits(a))
    {
        return None;
    }
    let mut rows = vec![];
    for line in lines {
        if !meant(&line) {
            (line.contains(&b'%') || !has_control(line)).then_some(())?;
            continue;
        }
        (!has_control(line)).then_some(())?;
        let mut item = Item::default();
        let given = if line.trim_ascii().starts_with(b"{") {
            sparse(line, &attributes)?
        } else {
            dense(line, attributes.len())?.into_iter().map(Some).collect()
        };
        for (attribute, word) in attributes.iter().zip(given) {
            let usual = attribute.values.as_ref().map_or(b"0".to_vec(), |values| values[0].clone().into_bytes());
            put(&mut item, attribute, is_label(attribute), &word.unwrap_or(usual), keep)?;
        }
        rows.push(item);
    }
    let order: Vec<String> = attributes.iter().filter(|a| is_label(a)).map(|a| a.name.clone()).collect();
    let columns = attributes.iter().filter(|a| !is_label(a)).flat_map(|a| match &a.values {
        Some(values) if !bits(a) => values.iter().map(|value| format!("{}={value}", a.name)).collect(),
        _ => vec![a.name.clone()],
    });
    let columns: Vec<String> = columns.collect();
    let distinct = columns.iter().collect::<BTreeSet<_>>().len() == columns.len();
    let labels = if order.is_empty() { labels.to_vec() } else { order };
    (distinct && !columns.is_empty() && !rows.is_empty()).then_some(Items {
        labels: Some(labels),
        columns: Some(columns),
        rows,
    })
}

/// The values of a row, one for each attribute.
fn dense(line: &[u8], count: usize) -> Option<Vec<Vec<u8>>> {
    let (mut values, mut word) = (vec![], None);
    for piece in pieces(line, b",")? {
        match piece {
            Piece::Sign(_) => values.push(word.take().unwrap_or_default()),
            Piece::Word(..) if word.is_some() => return None,
            Piece::Word(text, _) => word = Some(text),
        }
    }
    values.push(word?);
    (values.len() == count).then_some(values)
}

/// The values that a sparse row has.
fn sparse(line: &[u8], attributes: &[Attribute]) -> Option<Vec<Option<Vec<u8>>>> {
    let mut out = vec![None; attributes.len()];
    let mut rest = line.trim_ascii().strip_prefix(b"{")?;
    loop {
        rest = rest.trim_ascii_start();
        if rest.first()? == &b'}' {
            break;
        }
        let len = rest.iter().position(|b| !b.is_ascii_digit())?;
        let index: usize = std::str::from_utf8(&rest[..len]).ok()?.parse().ok()?;
        rest = &rest[len..];
        (rest.first()? == &b' ' || rest[0] == b'\t').then_some(())?;
        rest = rest.trim_ascii_start();
        let word;
        if let Some(b'\'' | b'"') = rest.first() {
            let (text, after) = first(rest, b"")?;
            (word, rest) = (text.into_bytes(), after.trim_ascii_start());
        } else {
            let end = rest.iter().position(|b| b",}".contains(b))?;
            (word, rest) = (rest[..end].trim_ascii_end().to_vec(), &rest[end..]);
        }
        if out.get_mut(index)?.replace(word).is_some() {
            return None;
        }
        match rest.first()? {
            b',' => rest = &rest[1..],
            b'}' => {}
            _ => return None,
        }
    }
    rest[1..].trim_ascii().is_empty().then_some(out)
}
