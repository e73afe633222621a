//! Items with labels, the plain way: text, tables, lists of names and of XML.

use super::cells::{Cells, word};
use super::{document, has_control, is_blank, trimmed, value};
use crate::suite::{Check, ensure};
use ordain::data::LabelSet;
use std::collections::{BTreeMap, BTreeSet};

/// An item as the file has it, its labels and columns by name. A column that is not there is 0.
#[derive(Debug, Default)]
pub(crate) struct Item {
    pub(crate) id: Option<String>,
    pub(crate) yes: BTreeSet<String>,
    pub(crate) unknown: BTreeSet<String>,
    pub(crate) values: BTreeMap<String, f32>,
}

/// Items, and the labels and columns in order where the file fixes them.
#[derive(Debug)]
pub(crate) struct Items {
    pub(crate) labels: Option<Vec<String>>,
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) rows: Vec<Item>,
}

/// The set holds just these items.
pub(crate) fn same(set: &LabelSet, items: &Items) -> Check {
    ensure!(set.len() == items.rows.len(), "wrong number of items", "{} for {}", set.len(), items.rows.len());
    if let Some(labels) = &items.labels {
        ensure!(set.labels == *labels, "other labels", "{:?} for {labels:?}", set.labels);
    }
    if let Some(columns) = &items.columns {
        ensure!(set.columns.names == *columns, "other columns", "{:?} for {columns:?}", set.columns.names);
    }
    for (i, item) in items.rows.iter().enumerate() {
        let names = |list: &[u32]| list.iter().map(|&l| set.labels[l as usize].clone()).collect::<BTreeSet<_>>();
        ensure!(names(set.yes(i)) == item.yes, "wrong labels", "item {i}: {:?}", item.yes);
        ensure!(names(set.unknown(i)) == item.unknown, "wrong unknown labels", "item {i}: {:?}", item.unknown);
        let id = item.id.clone().filter(|id| !id.is_empty()).unwrap_or((i + 1).to_string());
        ensure!(set.item(i) == id, "another id", "{:?} for {id:?}", set.item(i));
        for name in item.values.keys() {
            ensure!(set.columns.names.contains(name), "a column is lost", "{name:?}");
        }
        for (j, name) in set.columns.names.iter().enumerate() {
            let (x, truth) = (set.features.value(i, j), item.values.get(name).copied().unwrap_or(0.0));
            let right = x.to_bits() == truth.to_bits() || x.is_nan() && truth.is_nan();
            ensure!(right, "wrong value", "{x} for {truth} in item {i}, column {name:?}");
        }
    }
    Ok(())
}

/// Names of labels, one per line.
pub(crate) fn names(text: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(text).ok()?.trim_start_matches('\u{feff}');
    let mut names: Vec<String> = vec![];
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        (!has_control(line.as_bytes())).then(|| names.push(line.trim_ascii().to_owned()))?;
    }
    while names.last().is_some_and(String::is_empty) {
        names.pop();
    }
    let distinct = names.iter().collect::<BTreeSet<_>>().len() == names.len();
    (distinct && !names.is_empty() && names.iter().all(|name| !name.is_empty())).then_some(names)
}

/// The three counts of a first line.
fn counts(line: &[u8]) -> Option<[u64; 3]> {
    let words: Vec<u64> = std::str::from_utf8(line).ok()?.split_ascii_whitespace().map_while(digits).collect();
    let count = std::str::from_utf8(line).ok()?.split_ascii_whitespace().count();
    (count == 3 && !has_control(line)).then(|| <[u64; 3]>::try_from(words).ok())?
}

fn digits(word: &str) -> Option<u64> {
    word.bytes().all(|b| b.is_ascii_digit()).then(|| word.parse().ok())?
}

/// Text of labels and features, with names of labels where there are some.
pub(crate) fn text(text: &[u8], labels: Option<&[String]>, keep: bool) -> Option<Items> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut lines: Vec<&[u8]> = text.split(|&b| b == b'\n').map(trimmed).collect();
    let counts = counts(lines[0]);
    let mut most = [u64::from(u32::MAX); 2];
    if let Some([_, columns, labels]) = counts {
        most = [columns.min(most[0]), labels.min(most[1])];
        lines.remove(0);
    }
    if let Some(labels) = labels {
        if counts.is_some_and(|counts| counts[2] != labels.len() as u64) {
            return None;
        }
        most[1] = labels.len() as u64;
    }
    let (mut rows, mut named) = (vec![], BTreeMap::new());
    for line in lines {
        let start = line.iter().position(|&b| b > b' ').unwrap_or(line.len());
        if line.get(start) == Some(&b'#') {
            let rest = String::from_utf8_lossy(&line[start + 1..]).into_owned();
            if let Some((index, name)) = rest.split_once(':')
                && !index.is_empty()
                && index.bytes().all(|b| b.is_ascii_digit())
            {
                if has_control(line) {
                    return None;
                }
                if let Some(index) = index.parse::<u32>().ok().filter(|_| !name.trim_ascii().is_empty()) {
                    named.insert(index, name.trim_ascii().to_owned());
                }
            }
            continue;
        }
        if has_control(line) {
            return None;
        }
        if start < line.len() {
            rows.push(row(line, labels, most, keep)?);
        }
    }
    if counts.is_some_and(|counts| counts[0] != rows.len() as u64) || rows.is_empty() {
        return None;
    }
    let mut items = vec![];
    for (item, values) in rows {
        let name = |(index, x): (u32, f32)| (named.get(&index).cloned().unwrap_or(index.to_string()), x);
        items.push(Item { values: values.into_iter().map(name).collect(), ..item });
    }
    Some(Items { labels: labels.map(<[String]>::to_vec), columns: None, rows: items })
}

type Indexed = BTreeMap<u32, f32>;

/// A row of text: labels before all features, if any.
fn row(line: &[u8], labels: Option<&[String]>, most: [u64; 2], keep: bool) -> Option<(Item, Indexed)> {
    let comment = line.iter().position(|&b| b == b'#');
    let words = line[..comment.unwrap_or(line.len())].split(|&b| is_blank(b)).filter(|word| !word.is_empty());
    let mut item =
        Item { id: comment.map(|at| String::from_utf8_lossy(&document(&line[at + 1..])).into()), ..Item::default() };
    let mut values = Indexed::new();
    for (at, word) in words.enumerate() {
        match word.iter().position(|&b| b == b':') {
            None if at == 0 => {
                for label in word.split(|&b| b == b',') {
                    let number = digits(std::str::from_utf8(label).ok().filter(|label| !label.is_empty())?)?;
                    (number < most[1]).then_some(())?;
                    item.yes.insert(labels.map_or(number.to_string(), |names| names[number as usize].clone()));
                }
            }
            None => return None,
            Some(colon) => {
                let index = digits(std::str::from_utf8(&word[..colon]).ok().filter(|index| !index.is_empty())?)?;
                let x = value(&word[colon + 1..], keep)?;
                (index < most[0] && values.insert(index as u32, x).is_none()).then_some(())?;
            }
        }
    }
    Some((item, values))
}

/// A table: columns of labels, or names between semicolons in a column `labels`.
pub(crate) fn table(text: &[u8], usual: u8, columns: Option<&str>, keep: bool) -> Option<Items> {
    let cells = Cells::whole(text, usual)?;
    let listed = columns.is_none().then(|| cells.find(&["labels"])).flatten();
    let asked: Vec<String> = columns.map_or(vec![], |names| names.split(',').map(str::to_owned).collect());
    let own = asked.iter().map(|name| cells.head.iter().position(|own| own == name));
    let own = own.collect::<Option<Vec<usize>>>()?;
    let id = cells.find(&["id", "item"]).filter(|id| !own.contains(id));
    let mut taken: Vec<Option<usize>> = own.iter().copied().map(Some).collect();
    taken.extend([id, listed]);
    let features = cells.others(&taken);
    let names: Vec<String> = features.iter().map(|&j| cells.head[j].clone()).collect();
    if cells.head.iter().collect::<BTreeSet<_>>().len() < cells.head.len() || names.is_empty() || cells.rows.is_empty()
    {
        return None;
    }
    let (mut rows, mut vocabulary) = (vec![], asked.clone());
    for (_, row) in &cells.rows {
        let mut item = Item { id: id.map_or(Some(None), |j| word(&row[j]).map(Some))?, ..Item::default() };
        for (name, &j) in asked.iter().zip(&own) {
            match String::from_utf8_lossy(&row[j]).to_ascii_lowercase().as_str() {
                "1" | "true" | "yes" => drop(item.yes.insert(name.clone())),
                "0" | "false" | "no" => {}
                "" | "?" | "null" | "nan" => drop(item.unknown.insert(name.clone())),
                _ => return None,
            }
        }
        let said = listed.map_or(Some(String::new()), |j| String::from_utf8(row[j].clone()).ok())?;
        for name in said.split(';').map(str::trim_ascii).filter(|name| !name.is_empty()) {
            item.yes.insert(name.to_owned());
            if !vocabulary.iter().any(|own| own == name) {
                vocabulary.push(name.to_owned());
            }
        }
        for (&j, name) in features.iter().zip(&names) {
            item.values.insert(name.clone(), cells.feature(&row[j], keep)?);
        }
        rows.push(item);
    }
    cells.marks_are_clear().then_some(Items { labels: Some(vocabulary), columns: Some(names), rows })
}

/// The names of the labels of an XML list: one root, tags that close in order, values in quotes.
pub(crate) fn xml(text: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)).ok()?;
    if text.replace("\r\n", "\n").chars().any(|c| c.is_ascii_control() && c != '\n' && c != '\t') {
        return None;
    }
    let (mut rest, mut open, mut names, mut roots): (&str, Vec<&str>, Vec<String>, usize) = (text, vec![], vec![], 0);
    while let Some(at) = rest.find('<') {
        if open.is_empty() && !rest[..at].trim_ascii().is_empty() {
            return None; // text outside of the root
        }
        rest = &rest[at..];
        if let Some((_, end)) = [("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>"), ("<!", ">")]
            .into_iter()
            .find(|(start, _)| rest.starts_with(start))
        {
            rest = &rest[rest.find(end)? + end.len()..];
            continue;
        }
        // a tag ends at the first > outside of quotes
        let mut quote = None;
        let end = rest.char_indices().find(|&(_, c)| match quote {
            Some(open) => {
                quote = Some(open).filter(|&open| c != open);
                false
            }
            None => {
                quote = Some(c).filter(|c| "\"'".contains(*c));
                c == '>'
            }
        });
        let end = end?.0;
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            (open.pop()? == name.trim_ascii_end()).then_some(())?;
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let name = &tag[..tag.find(|c: char| c.is_whitespace()).unwrap_or(tag.len())];
        let given = attributes(&tag[name.len()..])?;
        (!name.is_empty() && !name.contains(['<', '>', '/', '=', '\'', '"'])).then_some(())?;
        if name.rsplit(':').next() == Some("label") {
            names.push(given.get("name")?.clone());
        }
        roots += usize::from(open.is_empty());
        if !closed {
            open.push(name);
        }
    }
    let distinct = names.iter().collect::<BTreeSet<_>>().len() == names.len();
    (rest.trim_ascii().is_empty() && open.is_empty() && roots == 1 && distinct && !names.is_empty()).then_some(names)
}

/// Attributes of a tag, each once.
fn attributes(text: &str) -> Option<BTreeMap<String, String>> {
    let (mut rest, mut out) = (text.trim_ascii(), BTreeMap::new());
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        let (key, after) = (key.trim_ascii(), after.trim_ascii_start());
        let quote = after.chars().next().filter(|c| "\"'".contains(*c))?;
        let (raw, left) = after[1..].split_once(quote)?;
        let plain = !key.is_empty() && !key.contains(|c: char| c.is_whitespace() || "<>/='\"".contains(c));
        (plain && !raw.contains('<') && out.insert(key.to_owned(), entities(raw)?).is_none()).then_some(())?;
        rest = left.trim_ascii();
    }
    Some(out)
}

fn entities(text: &str) -> Option<String> {
    let mut parts = text.split('&');
    let mut out = parts.next()?.to_owned();
    for part in parts {
        let (name, rest) = part.split_once(';')?;
        let code = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        out.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => match name.strip_prefix("#x").or(name.strip_prefix("#X")) {
                Some(digits) => code(digits, 16)?,
                None => code(name.strip_prefix('#')?, 10)?,
            },
        });
        out += rest;
    }
    Some(out)
}
