//! What a person sees of an item: its fields.

use super::media::{address, kind};
use crate::Labelled;
use ordain::answer::quartiles;
use ordain::data::{Columns, texts};
use ordain::matrix::Features;
use ordain::task::Inputs;
use serde_json::{Map, Value, json};

/// The most features that are shown.
const MOST: usize = 200;

/// Fields of all items.
pub(super) struct Shown {
    fields: Fields,
    /// Whether a cell that has the name of a picture is shown as one.
    pictures: bool,
}

enum Fields {
    /// Columns of the table as text, item by item.
    Texts(Vec<String>, Vec<Vec<String>>),
    /// The features, with their quartiles where there are few.
    Features(Vec<[f32; 2]>),
}

impl Shown {
    /// The columns that were asked for; without them those of the model that a person can read, else the features.
    pub(super) fn read(given: &Labelled, inputs: &Inputs, features: &Features) -> ordain::Result<Self> {
        let pictures = given.media.is_some();
        let own = inputs.readable();
        let show = if given.show.is_empty() { &own } else { &given.show };
        if show.is_empty() {
            let few = features.cols() <= MOST;
            let fields = Fields::Features(if few { quartiles(features) } else { vec![] });
            return Ok(Self { fields, pictures: false });
        }
        let cells = texts(&given.items, &inputs.columns.roles, &[], show)?;
        Ok(Self { fields: Fields::Texts(show.clone(), cells), pictures })
    }

    /// The names of all pictures.
    pub(super) fn pictures(&self) -> impl Iterator<Item = &str> {
        let rows = match &self.fields {
            Fields::Texts(_, all) if self.pictures => &all[..],
            _ => &[],
        };
        rows.iter().flatten().map(|cell| cell.trim()).filter(|cell| kind(cell).is_some())
    }

    /// The text of an item, if one column of text is all that is shown.
    pub(super) fn text(&self, row: usize) -> Option<&str> {
        match &self.fields {
            Fields::Texts(names, all) if names.len() == 1 => all.get(row)?.first().map(String::as_str),
            _ => None,
        }
    }

    /// The fields of an item whose row is the same in the table.
    pub(super) fn item(&self, features: &Features, columns: &Columns, row: usize) -> Value {
        self.row(features, columns, row, row)
    }

    /// The fields of a row, which stands elsewhere in the table.
    pub(super) fn row(&self, features: &Features, columns: &Columns, row: usize, input: usize) -> Value {
        match &self.fields {
            Fields::Texts(names, all) => {
                let own = all.get(input).map_or(&[][..], Vec::as_slice);
                self.cells(names, own)
            }
            Fields::Features(typical) => {
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

    /// Cells of the table: the first picture as one, one other cell as a text, more as fields.
    fn cells(&self, names: &[String], own: &[String]) -> Value {
        let own: Vec<(&String, &str)> = names.iter().zip(own.iter().map(|cell| cell.trim())).collect();
        let picture = own.iter().position(|(_, cell)| self.pictures && kind(cell).is_some());
        let mut said = Map::new();
        if let Some(at) = picture {
            said.insert("image".into(), address(own[at].1).into());
            said.insert("alt".into(), own[at].1.into());
        }
        let rest: Vec<&(&String, &str)> =
            own.iter().enumerate().filter(|(at, _)| Some(*at) != picture).map(|(_, cell)| cell).collect();
        match rest[..] {
            [] => {}
            [(_, text)] => _ = said.insert("text".into(), (*text).into()),
            _ => {
                let fields = rest.iter().filter(|(_, text)| !text.is_empty());
                let fields = fields.map(|(name, value)| json!({"name": name, "value": value}));
                said.insert("fields".into(), fields.collect::<Vec<_>>().into());
            }
        }
        said.into()
    }
}
