//! What a person sees of an item: its fields.

use ordain::answer::quartiles;
use ordain::data::{Columns, texts};
use ordain::matrix::Features;
use serde_json::{Value, json};
use std::path::Path;

/// The most features that are shown.
const MOST: usize = 200;

/// Fields of all items.
pub(crate) enum Shown {
    /// Columns of the table as text, item by item.
    Texts(Vec<String>, Vec<Vec<String>>),
    /// The features, with their quartiles where there are few.
    Features(Vec<[f32; 2]>),
}

impl Shown {
    /// The columns that were asked for; without them the one text that the model reads, else the features.
    pub(crate) fn read(path: &Path, columns: &Columns, show: &[String], features: &Features) -> ordain::Result<Self> {
        if show.is_empty() {
            let few = features.cols() <= MOST;
            return Ok(Self::Features(if few { quartiles(features) } else { vec![] }));
        }
        Ok(Self::Texts(show.to_vec(), texts(path, &columns.roles, &[], show)?))
    }

    /// The text of an item, if one column of text is all that is shown.
    pub(crate) fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Texts(names, all) if names.len() == 1 => all.get(row)?.first().map(String::as_str),
            _ => None,
        }
    }

    /// The fields of an item whose row is the same in the table.
    pub(crate) fn item(&self, features: &Features, columns: &Columns, row: usize) -> Value {
        self.row(features, columns, row, row)
    }

    /// The fields of a row, which stands elsewhere in the table.
    pub(crate) fn row(&self, features: &Features, columns: &Columns, row: usize, input: usize) -> Value {
        match self {
            Self::Texts(names, all) => {
                let none = vec![];
                let own = all.get(input).unwrap_or(&none);
                if let Some(text) = self.text(input) {
                    return json!({"text": text});
                }
                let fields = names.iter().zip(own).filter(|(_, text)| !text.trim().is_empty());
                json!({"fields": fields.map(|(name, value)| json!({"name": name, "value": value})).collect::<Vec<_>>()})
            }
            Self::Features(typical) => {
                let mut fields = vec![];
                features.each(row, |j, value| {
                    if fields.len() < MOST {
                        fields.push(json!({"name": columns.names[j], "value": value, "typical": typical.get(j)}));
                    }
                });
                json!({"fields": fields})
            }
        }
    }
}
