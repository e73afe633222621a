//! Columns whose cells are no numbers, made numbers the plain way: terms, values, days, vectors, pictures.

use super::cells::{Cells, word};
use super::{Row, table_beside};
use ordain::data::{Input, Kind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use unicode_segmentation::UnicodeSegmentation;

/// What stands behind the name of the column in the names of those that are made of it, and the numbers of each row.
type Part = (Vec<String>, Vec<Vec<f32>>);

/// The columns of a table with these inputs, and its rows; `picture` knows the numbers of a picture by its path.
pub(crate) fn table(
    text: &[u8],
    inputs: &[Input],
    picture: impl Fn(&str) -> Option<Vec<f32>>,
) -> Option<(Vec<String>, Vec<Row>)> {
    let cells = Cells::whole(text, b',')?;
    let of = |name: &str| {
        let j = cells.head.iter().position(|own| own == name)?;
        cells.rows.iter().map(|(_, row)| word(&row[j])).collect::<Option<Vec<String>>>()
    };
    let (numbers, others): (Vec<&Input>, Vec<&Input>) = inputs.iter().partition(|input| input.kind == Kind::Number);
    let beside: Vec<&str> = others.iter().flat_map(|input| input.columns()).collect();
    let (mut names, mut rows) = table_beside(text, b',', false, &beside).ok()?;
    if !numbers.iter().all(|input| names.contains(&input.column)) {
        return None;
    }
    for input in others {
        let all = input.columns().into_iter().map(of).collect::<Option<Vec<Vec<String>>>>()?;
        let setting = |name: &str| input.settings.iter().find(|(own, _)| own == name).map_or(0, |(_, value)| *value);
        let (ends, numbers) = match input.kind {
            Kind::Text => texts(&all[0], setting("words"), setting("letters"), setting("most")),
            Kind::Category => values(&all[0], setting("most")),
            Kind::Date => dates(&all[0])?,
            Kind::Vector => vectors(&all[0])?,
            Kind::Vectors => pairs(&all[0], &all[1])?,
            Kind::Image => pictures(&all[0], setting("colour"), &picture)?,
            _ => return None,
        };
        let first = names.len() as u32 + 1;
        names.extend(ends.iter().map(|end| format!("{}{end}", input.column.replace(',', "~"))));
        rows.iter_mut().zip(numbers).for_each(|(row, numbers)| row.values.extend((first..).zip(numbers)));
    }
    if names.iter().collect::<BTreeSet<_>>().len() < names.len() {
        return None;
    }
    // columns that are made know no -0
    rows.iter_mut().flat_map(|row| row.values.values_mut()).for_each(|x| *x += 0.0);
    Some((names, rows))
}

/// Words of two letters and more, runs of words, and runs of letters of each word with a blank at its ends. Where words end in
/// other scripts the rules of Unicode say, as a library has them.
fn terms(text: &str, words: usize, letters: usize) -> Vec<String> {
    let seen = (0..=text.len().min(1 << 20)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let low: String = text[..seen].chars().flat_map(char::to_lowercase).collect();
    let parts: Vec<&str> = if low.is_ascii() { vec![&low] } else { low.unicode_words().collect() };
    let sign = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_';
    let own: Vec<&str> = parts.iter().flat_map(|part| part.split(sign)).filter(|word| word.len() > 1).collect();
    let mut all = vec![];
    for n in 0..own.len() {
        all.extend((n + 1..=(n + words).min(own.len())).map(|end| own[n..end].join(" ")));
        let spaced: Vec<char> = format!(" {} ", own[n]).chars().collect();
        all.extend(spaced.windows(letters).map(|run| run.iter().collect::<String>()));
    }
    all
}

/// TF-IDF of the terms that occur most often.
fn texts(cells: &[String], words: usize, letters: usize, most: usize) -> Part {
    let all: Vec<Vec<String>> = cells.iter().map(|cell| terms(cell, words, letters)).collect();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for terms in &all {
        terms.iter().for_each(|term| counts.entry(term).or_default().0 += 1);
        let once: BTreeSet<&String> = terms.iter().collect();
        once.into_iter().for_each(|term| counts.entry(term).or_default().1 += 1);
    }
    let mut kept: Vec<(&str, (usize, usize))> = counts.into_iter().collect();
    kept.sort_by_key(|(_, (count, _))| Reverse(*count));
    kept.truncate(most);
    kept.sort_unstable();
    let row = |terms: &Vec<String>| {
        let weight = |&(term, (_, texts)): &(&str, (usize, usize))| {
            let count = terms.iter().filter(|own| *own == term).count() as f64;
            count * (1.0 + ((1 + cells.len()) as f64 / (1 + texts) as f64).ln())
        };
        let weights: Vec<f64> = kept.iter().map(weight).collect();
        let length = weights.iter().map(|x| x * x).sum::<f64>().sqrt();
        weights.iter().map(|x| if length > 0.0 { (x / length) as f32 } else { 0.0 }).collect()
    };
    (kept.iter().map(|(term, _)| format!("={term}")).collect(), all.iter().map(row).collect())
}

/// A column for each of the values that occur most often, and one for all others, which a value may be called too.
fn values(cells: &[String], most: usize) -> Part {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    let own = cells.iter().filter(|cell| !cell.is_empty() && *cell != "(other)");
    own.for_each(|cell| *counts.entry(cell).or_default() += 1);
    let mut kept: Vec<(&String, usize)> = counts.into_iter().collect();
    kept.sort_by_key(|(_, count)| Reverse(*count));
    kept.truncate(most);
    let row = |cell: &String| {
        let mut row: Vec<f32> = kept.iter().map(|(value, _)| f32::from(u8::from(*value == cell))).collect();
        let other = !cell.is_empty() && row.iter().all(|x| *x < 1.0);
        row.push(f32::from(u8::from(other)));
        row
    };
    let names = kept.iter().map(|(value, _)| format!("={value}")).chain(["=(other)".to_owned()]);
    (names.collect(), cells.iter().map(row).collect())
}

/// The days of a month.
fn length(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1]
}

/// Years since 1970, the month, and the day of the week, Monday being 0. A time may stand behind a date.
fn date(cell: &str) -> Option<[f64; 3]> {
    let day = cell.split(['t', 'T', ' ']).next()?;
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<i64>().ok()).flatten();
    let sign = day.chars().find(|c| "-./".contains(*c));
    let (y, m, d) = match sign {
        None if day.len() == 8 => (day.get(..4)?, day.get(4..6)?, day.get(6..)?),
        None => return None,
        Some(sign) => {
            let parts: Vec<&str> = day.split(sign).collect();
            let [a, b, c] = parts[..] else { return None };
            match a.len() {
                4 => (a, b, c),
                _ if sign == '/' && number(a)? <= 12 => (c, a, b),
                _ => (c, b, a),
            }
        }
    };
    if [y, m, d].iter().any(|text| text.len() > 4) {
        return None;
    }
    let (y, m, d) = (number(y)?, number(m)?, number(d)?);
    if !(1..=12).contains(&m) || !(1..=length(y, m)).contains(&d) {
        return None;
    }
    let year = |y: i64| (1..=12).map(|m| length(y, m)).sum::<i64>();
    let before: i64 = (1970..y).map(year).sum::<i64>() - (y..1970).map(year).sum::<i64>();
    let days = before + (1..m).map(|m| length(y, m)).sum::<i64>() + d - 1;
    Some([days as f64 / 365.2425, m as f64, (days + 3).rem_euclid(7) as f64])
}

/// Dates; a missing one has the mean of all.
fn dates(cells: &[String]) -> Option<Part> {
    let all: Vec<[f64; 3]> =
        cells.iter().filter(|cell| !cell.is_empty()).map(|cell| date(cell)).collect::<Option<_>>()?;
    let mean = |k: usize| all.iter().fold(0.0, |sum, parts| sum + parts[k]) / all.len().max(1) as f64;
    let row = |cell: &String| {
        let (parts, gap) = match date(cell) {
            Some(parts) => (parts, 0.0),
            None => ([0, 1, 2].map(mean), 1.0),
        };
        parts.iter().map(|x| *x as f32).chain([gap]).collect()
    };
    Some((["_years", "_month", "_weekday", "_missing"].map(String::from).to_vec(), cells.iter().map(row).collect()))
}

/// Numbers with blanks or one comma or semicolon between them, all in brackets or not.
fn vector(cell: &str) -> Option<Vec<f32>> {
    let inside = if cell.starts_with('[') { cell.strip_prefix('[')?.strip_suffix(']')? } else { cell };
    let mut numbers = vec![];
    for part in inside.split([',', ';']) {
        let some: Vec<&str> = part.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
        if some.is_empty() {
            return None;
        }
        for word in some {
            numbers.push(word.parse::<f32>().ok().filter(|x| x.is_finite())?);
        }
    }
    Some(numbers)
}

/// Vectors of the same number of places; a missing one is all 0.
fn vectors(cells: &[String]) -> Option<Part> {
    let all = cells.iter().filter(|cell| !cell.is_empty()).map(|cell| vector(cell)).collect::<Option<Vec<_>>>()?;
    let places = all.first()?.len();
    let rows: Vec<Vec<f32>> = cells.iter().map(|cell| vector(cell).unwrap_or(vec![0.0; places])).collect();
    let fits = rows.iter().all(|row| row.len() == places);
    fits.then(|| ((0..places).map(|k| format!("_{k}")).collect(), rows))
}

/// Product, cosine and differences of two vectors; where one is missing that is all there is to say.
fn pairs(left: &[String], right: &[String]) -> Option<Part> {
    let side = |cell: &String| if cell.is_empty() { Some(None) } else { vector(cell).map(Some) };
    let both = left.iter().zip(right).map(|(a, b)| Some(side(a)?.zip(side(b)?)));
    let all = both.collect::<Option<Vec<Option<(Vec<f32>, Vec<f32>)>>>>()?;
    let places = all.iter().flatten().next()?.0.len();
    let mut rows = vec![];
    for pair in &all {
        let Some((a, b)) = pair else {
            rows.push([vec![0.0, 0.0, 1.0], vec![0.0; places]].concat());
            continue;
        };
        if a.len() != places || b.len() != places {
            return None;
        }
        let dot = |a: &[f32], b: &[f32]| (0..places).map(|k| f64::from(a[k]) * f64::from(b[k])).sum::<f64>();
        let norms = dot(a, a).sqrt() * dot(b, b).sqrt();
        let cosine = if norms > 0.0 { dot(a, b) / norms } else { 0.0 };
        let mut row = vec![dot(a, b) as f32, cosine as f32, 0.0];
        row.extend(a.iter().zip(b).map(|(x, y)| (x - y).abs()));
        if row.iter().any(|x| !x.is_finite()) {
            return None;
        }
        rows.push(row);
    }
    let ends = ["_dot", "_cosine", "_missing"].map(String::from).into_iter();
    Some((ends.chain((0..places).map(|k| format!("_diff_{k}"))).collect(), rows))
}

/// Histograms of colours of pictures.
fn pictures(cells: &[String], colours: usize, picture: impl Fn(&str) -> Option<Vec<f32>>) -> Option<Part> {
    let row = |cell: &String| if cell.is_empty() { Some(vec![0.0; colours]) } else { picture(cell) };
    let rows = cells.iter().map(row).collect::<Option<Vec<_>>>()?;
    Some(((0..colours).map(|k| format!("_colour{k}")).collect(), rows))
}
