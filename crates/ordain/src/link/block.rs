//! Blocking: which pairs of records are looked at, because they share something.

use super::fields::{self, Field};
use super::similar::soundex;
use crate::data::room;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// The most pairs that are made: more do not fit into the memory of usual machines.
const MOST: u64 = 50_000_000;

/// What of a field two records have to share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Key {
    /// All of it.
    Whole,
    /// So many of its first characters.
    First(usize),
    /// How it sounds.
    Soundex,
}

/// A rule by which two records become a candidate pair.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// All of these fields agree, as far as each key says; an empty field agrees with nothing.
    Same(Vec<(String, Key)>),
    /// They are neighbours in the order of a field: fewer than so many places apart.
    Near(String, usize),
}

impl Rule {
    /// A rule as it is typed: `COL`, `COL:3`, `COL:soundex`, several of them with `+` between, or `sort:COL:5`. What is the name of a
    /// column as a whole is that column.
    ///
    /// ```
    /// use ordain::link::{Key, Rule};
    /// let columns = ["surname".to_owned(), "given".to_owned()];
    /// let rule = Rule::parse("surname:soundex+given:1", &columns)?;
    /// assert_eq!(rule, Rule::Same(vec![("surname".into(), Key::Soundex), ("given".into(), Key::First(1))]));
    /// assert_eq!(Rule::parse("sort:surname:5", &columns)?, Rule::Near("surname".into(), 5));
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn parse(text: &str, columns: &[String]) -> Result<Self> {
        let is_column = |name: &str| columns.iter().any(|own| own == name);
        let wrong = |found: &str| {
            Error::Setting {
            name: "block".into(),
            expected: "COLUMN, COLUMN:N (the first N characters), COLUMN:soundex, several of them joined by +, or sort:COLUMN:N (neighbours)".into(),
            found: found.into(),
        }
        };
        let known = |name: &str| match is_column(name) {
            true => Ok(name.to_owned()),
            false => Err(Error::unknown("column of both tables", name, columns)),
        };
        let size = |text: &str, least: usize| text.parse().ok().filter(|&n| n >= least).ok_or_else(|| wrong(text));
        if let Some((column, places)) = text.strip_prefix("sort:").and_then(|rest| rest.rsplit_once(':')) {
            return Ok(Self::Near(known(column)?, size(places, 2)?));
        }
        let part = |text: &str| match text.rsplit_once(':') {
            _ if is_column(text) => Ok((text.to_owned(), Key::Whole)),
            Some((column, "soundex")) => Ok((known(column)?, Key::Soundex)),
            Some((column, count)) => Ok((known(column)?, Key::First(size(count, 1)?))),
            None => Err(Error::unknown("column of both tables", text, columns)),
        };
        match is_column(text) {
            true => Ok(Self::Same(vec![(text.to_owned(), Key::Whole)])),
            false => Ok(Self::Same(text.split('+').map(part).collect::<Result<_>>()?)),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Near(column, places) => write!(f, "sort:{column}:{places}"),
            Self::Same(parts) => {
                for (n, (column, key)) in parts.iter().enumerate() {
                    let plus = if n > 0 { "+" } else { "" };
                    match key {
                        Key::Whole => write!(f, "{plus}{column}")?,
                        Key::First(count) => write!(f, "{plus}{column}:{count}")?,
                        Key::Soundex => write!(f, "{plus}{column}:soundex")?,
                    }
                }
                Ok(())
            }
        }
    }
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The rule.
    pub rule: String,
    /// Its pairs.
    pub pairs: usize,
    /// Those of them that no rule before it has.
    pub fresh: usize,
}

/// The key of a value.
pub(super) fn key(word: &str, key: Key) -> std::borrow::Cow<'_, str> {
    match key {
        Key::Whole => word.into(),
        Key::First(count) => match word.char_indices().nth(count) {
            Some((end, _)) => word[..end].into(),
            None => word.into(),
        },
        Key::Soundex => soundex(word).into(),
    }
}

/// Pairs of records, and what each rule found.
pub(super) type Blocked = (Vec<(u32, u32)>, Vec<Found>);

/// The pairs of all rules, ascending, and what each rule found.
///
/// Cost: O(records) for each rule and O(pairs · log pairs) for all.
pub(super) fn pairs(rules: &[Rule], fields: &[Field], sizes: [usize; 2]) -> Result<Blocked> {
    let (mut all, mut found): (Vec<u64>, Vec<Found>) = (vec![], vec![]);
    for rule in rules {
        let mut own = match rule {
            Rule::Same(parts) => same(rule, parts, fields, sizes)?,
            Rule::Near(column, places) => near(rule, &fields[fields::find(fields, column)?], *places, sizes)?,
        };
        own.sort_unstable();
        own.dedup();
        let (before, pairs) = (all.len(), own.len());
        need((before + pairs) as u64)?;
        let mut joined = Vec::with_capacity(before + pairs);
        merge(&all, &own, &mut joined);
        all = joined;
        if all.len() as u64 > MOST {
            return Err(too_many(rule, all.len() as u64));
        }
        found.push(Found { rule: rule.to_string(), pairs, fresh: all.len() - before });
    }
    Ok((all.into_iter().map(|pair| ((pair >> 32) as u32, pair as u32)).collect(), found))
}

/// Both sorted lists as one, each pair once.
fn merge(a: &[u64], b: &[u64], out: &mut Vec<u64>) {
    let (mut i, mut j) = (0, 0);
    while let (Some(&x), Some(&y)) = (a.get(i), b.get(j)) {
        out.push(x.min(y));
        (i, j) = (i + usize::from(x <= y), j + usize::from(y <= x));
    }
    out.extend_from_slice(&a[i..]);
    out.extend_from_slice(&b[j..]);
}

/// Refuses so many more pairs where there is no room for them: as numbers, sorted, and joined with others.
fn need(pairs: u64) -> Result<()> {
    room::need(Path::new("candidate pairs"), "make", 16 * pairs)
}

#[cold]
fn too_many(rule: &Rule, pairs: u64) -> Error {
    Error::Data {
        expected: format!("at most {MOST} candidate pairs (make rules stricter: join two columns by +)"),
        found: format!("{pairs} with the rule {rule}"),
    }
}

fn pair(i: u32, j: u32) -> u64 {
    u64::from(i) << 32 | u64::from(j)
}

/// Pairs whose keys are equal.
fn same(rule: &Rule, parts: &[(String, Key)], fields: &[Field], sizes: [usize; 2]) -> Result<Vec<u64>> {
    let parts = parts
        .iter()
        .map(|(column, key)| Ok((&fields[fields::find(fields, column)?], *key)))
        .collect::<Result<Vec<(&Field, Key)>>>()?;
    let whole = |side: usize, record: u32| {
        let mut text = String::new();
        for (field, how) in &parts {
            text.push_str(&key(field.word(side, record)?, *how));
            text.push('\0');
        }
        Some(text)
    };
    let mut blocks: HashMap<String, Vec<u32>> = HashMap::new();
    for j in 0..sizes[1] as u32 {
        if let Some(key) = whole(1, j) {
            blocks.entry(key).or_default().push(j);
        }
    }
    let keys: Vec<Option<String>> = (0..sizes[0] as u32).map(|i| whole(0, i)).collect();
    let block = |key: &Option<String>| key.as_ref().and_then(|key| blocks.get(key));
    let count: u64 = keys.iter().filter_map(block).map(|block| block.len() as u64).sum();
    if count > MOST {
        return Err(too_many(rule, count));
    }
    need(count)?;
    let mut out = Vec::with_capacity(count as usize);
    for (i, key) in (0u32..).zip(&keys) {
        out.extend(block(key).into_iter().flatten().map(|&j| pair(i, j)));
    }
    Ok(out)
}

/// Pairs that are neighbours in the order of a field.
fn near(rule: &Rule, field: &Field, places: usize, sizes: [usize; 2]) -> Result<Vec<u64>> {
    let mut all: Vec<(&str, usize, u32)> = (0..2)
        .flat_map(|side| (0..sizes[side] as u32).filter_map(move |n| Some((field.word(side, n)?, side, n))))
        .collect();
    all.sort_unstable();
    let all = &all[..];
    let behind =
        move |at: usize| all[at + 1..].iter().take(places - 1).filter(move |(_, other, _)| *other != all[at].1);
    let mut count = 0;
    for at in 0..all.len() {
        count += behind(at).count() as u64;
        if count > MOST {
            return Err(too_many(rule, count));
        }
    }
    need(count)?;
    let mut out = Vec::with_capacity(count as usize);
    for (at, &(_, side, n)) in all.iter().enumerate() {
        out.extend(behind(at).map(|&(_, _, m)| if side == 0 { pair(n, m) } else { pair(m, n) }));
    }
    Ok(out)
}
