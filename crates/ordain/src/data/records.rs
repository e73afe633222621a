//! Records: a table whose cells are text, with an id for each row.

use super::table::{Finding, Format, Table};
use super::{Roles, write_whole};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::path::Path;

/// Records of people, products or anything else: an id each, and fields as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// The id of each record; no two are equal.
    pub ids: Vec<String>,
    /// The names of the fields.
    pub fields: Vec<String>,
    /// The values of each field, one for each record; an empty cell is none.
    pub values: Vec<Vec<Option<Box<str>>>>,
}

impl Records {
    /// Records of these ids and fields.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if two records have the same id, two fields the same name, or a field another number of values.
    pub fn new(ids: Vec<String>, fields: Vec<(String, Vec<Option<Box<str>>>)>) -> Result<Self> {
        let mut seen: HashMap<&str, usize> = HashMap::with_capacity(ids.len());
        for (row, id) in ids.iter().enumerate() {
            if let Some(first) = seen.insert(id, row) {
                return Err(Error::Data {
                    expected: "a different id in every row".into(),
                    found: format!("{id:?} in rows {} and {}", first + 1, row + 1),
                });
            }
        }
        for (n, (name, values)) in fields.iter().enumerate() {
            if values.len() != ids.len() || fields[..n].iter().any(|(other, _)| other == name) {
                return Err(Error::Data {
                    expected: format!("fields of different names with {} values each", ids.len()),
                    found: format!("{name:?} twice, or with {} values", values.len()),
                });
            }
        }
        let (fields, values) = fields.into_iter().unzip();
        Ok(Self { ids, fields, values })
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// A field by its name.
    pub fn field(&self, name: &str) -> Option<&[Option<Box<str>>]> {
        self.fields.iter().position(|own| own == name).map(|at| self.values[at].as_slice())
    }
}

/// Words that say of which side a column is, in the place of each other.
const SIDES: [[&str; 2]; 3] = [["left", "right"], ["l", "r"], ["a", "b"]];

/// The columns of a table of pairs as fields: the name of each, and the places of its left and its right column; the same place twice
/// for a column of the pair, or of one side alone. Two columns are one field if their names differ in one word: left and right, l and
/// r, or a and b.
///
/// ```
/// let names = ["left.name", "year", "right.name", "town_a", "town_b", "left_only"].map(str::to_owned);
/// let fields = ordain::data::fields_of_pairs(&names);
/// let places: Vec<(&str, usize, usize)> = fields.iter().map(|(name, left, right)| (&**name, *left, *right)).collect();
/// assert_eq!(places, [("name", 0, 2), ("year", 1, 1), ("town", 3, 4), ("left_only", 5, 5)]);
/// ```
///
/// O(names²).
pub fn fields_of_pairs(names: &[String]) -> Vec<(String, usize, usize)> {
    let mut taken = vec![false; names.len()];
    let mut fields = vec![];
    for (place, name) in names.iter().enumerate() {
        if std::mem::replace(&mut taken[place], true) {
            continue;
        }
        let twin = sides(name).into_iter().find_map(|(field, kind, right)| {
            let other = (field.clone(), kind, !right);
            let at = (0..names.len()).find(|&at| !taken[at] && sides(&names[at]).contains(&other))?;
            Some((field, at, right))
        });
        fields.push(match twin {
            None => (name.clone(), place, place),
            Some((field, at, right)) => {
                taken[at] = true;
                if right { (field, at, place) } else { (field, place, at) }
            }
        });
    }
    fields
}

/// A name without a word that is a side: the rest, which pair of words it is of, and whether it says right.
fn sides(name: &str) -> Vec<(String, usize, bool)> {
    let words: Vec<&str> = name.split(['_', '.', ' ', '-']).collect();
    let without = |at: usize| {
        let rest: Vec<&str> = words.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, word)| *word).collect();
        rest.join(" ")
    };
    let of = |at: usize| {
        let word = words[at].to_lowercase();
        let kind = SIDES.iter().position(|pair| pair.contains(&word.as_str()))?;
        Some((without(at), kind, SIDES[kind][1] == word))
    };
    (0..words.len()).filter_map(of).filter(|(rest, ..)| !rest.is_empty()).collect()
}

/// Reads a table (CSV, TSV, Parquet, Feather; packed or not) as records with the ids of column `id`.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("people.csv");
/// std::fs::write(&path, "id,given,surname\n7,Ann,Ashford\n9,,Oakley\n").unwrap();
/// let people = ordain::data::read_records(&path, "id")?;
/// assert_eq!((people.ids.join(","), people.fields.join(",")), ("7,9".into(), "given,surname".into()));
/// assert_eq!(people.field("given").unwrap(), [Some("Ann".into()), None]);
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Content`] if the file is no table, or two rows have the same id; [`Error::Parse`] if a column is not there or a cell is not
/// UTF-8; [`Error::Io`].
pub fn read_records(path: &Path, id: &str) -> Result<Records> {
    let mut table = Table::open(path, super::matches::read::format(path)?)?;
    super::columns::once(path, "column", &table.header)?;
    let roles = Roles::default();
    let at = Finding { path, header: &table.header, roles: &roles, model: None }.column(id, "id")?;
    let others: Vec<usize> = (0..table.header.len()).filter(|&j| j != at).collect();
    let mut fields: Vec<(String, Vec<Option<Box<str>>>)> =
        others.iter().map(|&j| (table.header[j].clone(), vec![])).collect();
    table.select(&[], &(0..table.header.len()).collect::<Vec<_>>())?;
    let mut ids = vec![];
    while let Some(row) = table.next()? {
        let cell = |j: usize| row.word(j).ok_or_else(|| row.refuse(j, "text in UTF-8"));
        let own = cell(at)?;
        if own.is_empty() {
            return Err(row.refuse(at, "an id"));
        }
        ids.push(own.into_owned());
        for ((_, values), &j) in fields.iter_mut().zip(&others) {
            let value = cell(j)?;
            values.push((!value.is_empty()).then(|| value.into()));
        }
    }
    Records::new(ids, fields).map_err(|error| match error {
        Error::Data { expected, found } => Error::Content { path: path.into(), expected, found },
        other => other,
    })
}

/// Writes records as a table, with their ids as column `id`.
pub fn write_records(records: &Records, id: &str, path: &Path) -> Result<()> {
    write_rows(path, std::iter::once(id).chain(records.fields.iter().map(String::as_str)), |row| {
        (0..records.len()).try_for_each(|n| {
            let own = records.values.iter().map(|values| values[n].as_deref().unwrap_or(""));
            row(&mut std::iter::once(records.ids[n].as_str()).chain(own))
        })
    })
}

/// What takes the cells of a row.
pub type RowWriter<'a> = dyn FnMut(&mut dyn Iterator<Item = &str>) -> Result<()> + 'a;

/// Writes a table with a header, as CSV or as TSV if the name of the file says so; `fill` gives it row by row.
pub fn write_rows<'a>(
    path: &Path,
    header: impl Iterator<Item = &'a str>,
    fill: impl FnOnce(&mut RowWriter) -> Result<()>,
) -> Result<()> {
    let delimiter = if Format::of(path) == Some(Format::Text(b'\t')) { b'\t' } else { b',' };
    let mut failed = None;
    let written = write_whole(path, |out| {
        let mut out = super::table::csv::headed(out, delimiter, header)?;
        let fail = |reason: std::io::Error| Error::Io { path: path.into(), action: "write", reason };
        let done = fill(&mut |cells| {
            for cell in cells {
                out.write_field(cell).map_err(|error| fail(error.into()))?;
            }
            out.write_record(None::<&[u8]>).map_err(|error| fail(error.into()))
        });
        match done {
            Ok(()) => out.flush(),
            Err(Error::Io { reason, .. }) => Err(reason),
            Err(error) => {
                failed = Some(error);
                Err(std::io::Error::other("the rows could not be made"))
            }
        }
    });
    match failed {
        Some(error) => Err(error),
        None => written,
    }
}
