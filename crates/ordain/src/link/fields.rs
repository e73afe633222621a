//! The fields that two tables share, cell by cell, as they are compared.

use crate::data::Records;
use crate::error::{Error, Result};
use std::collections::HashMap;

/// A cell that is empty.
const NOTHING: u32 = u32::MAX;

/// Cells are compared by this many of their first characters: no cell can make a comparison slow.
const LONGEST: usize = 1000;

/// A field of both tables: its different values in small letters, with blanks between words as one, and who has which.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    /// The different values.
    pub(super) words: Vec<Box<str>>,
    /// How many records of both tables have each.
    pub(super) counts: Vec<u32>,
    of: [Vec<u32>; 2],
}

impl Field {
    /// The number of the value of a record of the left (0) or the right side (1).
    pub(super) fn of(&self, side: usize, record: u32) -> Option<u32> {
        Some(self.of[side][record as usize]).filter(|&word| word != NOTHING)
    }

    /// The value itself.
    pub(super) fn word(&self, side: usize, record: u32) -> Option<&str> {
        self.of(side, record).map(|word| &*self.words[word as usize])
    }

    /// The share of the records of a side that have a value.
    pub(super) fn filled(&self, side: usize) -> f64 {
        let all = &self.of[side];
        all.iter().filter(|&&word| word != NOTHING).count() as f64 / all.len().max(1) as f64
    }

    /// The values of one field of both tables.
    fn new(name: &str, sides: [&[Option<Box<str>>]; 2]) -> Self {
        let (mut numbers, mut words, mut counts) = (HashMap::<Box<str>, u32>::new(), vec![], vec![]);
        let of = sides.map(|cells| {
            let number = |cell: &Option<Box<str>>| {
                let Some(text) = cell.as_deref().map(normal).filter(|text| !text.is_empty()) else { return NOTHING };
                let next = words.len() as u32;
                let number = *numbers.entry(text.clone()).or_insert(next);
                if number == next {
                    words.push(text);
                    counts.push(0);
                }
                counts[number as usize] += 1;
                number
            };
            cells.iter().map(number).collect()
        });
        Self { name: name.to_owned(), words, counts, of }
    }
}

/// A cell as it is compared: in small letters, one blank between words, its first characters.
pub(super) fn normal(cell: &str) -> Box<str> {
    let mut out = String::new();
    for c in cell.chars().take(LONGEST).flat_map(char::to_lowercase) {
        match c.is_whitespace() {
            false => out.push(c),
            true if !out.is_empty() && !out.ends_with(' ') => out.push(' '),
            true => {}
        }
    }
    out.trim_end().into()
}

/// The fields that both tables have, in the order of the left one.
pub(super) fn shared(left: &Records, right: &Records) -> Result<Vec<Field>> {
    let both = left.fields.iter().filter_map(|name| Some((name, [left.field(name)?, right.field(name)?])));
    let fields: Vec<Field> = both.map(|(name, sides)| Field::new(name, sides)).collect();
    if fields.is_empty() {
        let shown = |records: &Records| records.fields.join(", ");
        return Err(Error::Data {
            expected: "two tables with columns of the same names (rename those that mean the same)".into(),
            found: format!("{} on the left, {} on the right", shown(left), shown(right)),
        });
    }
    Ok(fields)
}

/// A field by its name.
pub(super) fn find(fields: &[Field], name: &str) -> Result<usize> {
    let known = || Error::unknown("column of both tables", name, fields.iter().map(|field| &field.name));
    fields.iter().position(|field| field.name == name).ok_or_else(known)
}
