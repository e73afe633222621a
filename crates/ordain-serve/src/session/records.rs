//! What is shown of a pair: its records, field by field, from the table of pairs or from two tables of records.

use crate::Labelled;
use ordain::answer::PairFeature;
use ordain::data::{Records, Role, fields_of_pairs, read_records, texts};
use ordain::task::Inputs;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::Path;

/// A table of records, with the row of each id.
struct Register {
    records: Records,
    rows: HashMap<String, usize>,
}

impl Register {
    fn read(path: &Path) -> ordain::Result<Self> {
        let records = read_records(path, "id")?;
        let rows = records.ids.iter().cloned().zip(0..).collect();
        Ok(Self { records, rows })
    }

    fn cell(&self, id: &str, field: &str) -> Option<&str> {
        self.records.field(field)?[*self.rows.get(id)?].as_deref()
    }
}

/// Fields of pairs.
pub(super) struct Compared {
    /// Columns of the table of pairs: the name of a field, with the places of its left and its right column; the same place twice for a
    /// column of the pair.
    columns: Vec<(String, usize, usize)>,
    /// Texts by problem, left and right.
    texts: HashMap<Vec<String>, Vec<String>>,
    /// The records of both sides, and the names of their fields.
    registers: Option<([Register; 2], Vec<String>)>,
}

impl Compared {
    pub(super) fn read(given: &Labelled, inputs: &Inputs) -> ordain::Result<Self> {
        let readable = inputs.readable();
        let show = if given.show.is_empty() { &readable } else { &given.show };
        let mut own = HashMap::new();
        if !show.is_empty() {
            let keys = [Role::Problem, Role::Left, Role::Right];
            for mut row in texts(&given.items, &inputs.columns.roles, &keys, show)? {
                let cells = row.split_off(keys.len());
                own.insert(row, cells);
            }
        }
        let registers = given.records.as_ref().map(|[left, right]| -> ordain::Result<_> {
            let both = [Register::read(left)?, Register::read(right)?];
            let mut names = both[0].records.fields.clone();
            names.extend(both[1].records.fields.iter().filter(|name| both[0].records.field(name).is_none()).cloned());
            Ok((both, names))
        });
        Ok(Self { columns: fields_of_pairs(show), texts: own, registers: registers.transpose()? })
    }

    /// Both records, and the comparison: fields with the feature that is named after them, then the other features.
    pub(super) fn compare(&self, key: [&str; 3], features: &[PairFeature], blind: bool) -> Value {
        let said = |feature: &PairFeature| if blind { None } else { feature.contribution };
        let (mut left, mut right, mut rows) = (Map::new(), Map::new(), vec![]);
        let mut used = vec![false; features.len()];
        let mut field = |name: &str, a: Option<&str>, b: Option<&str>| {
            left.insert(name.into(), a.into());
            right.insert(name.into(), b.into());
            let wanted = words(name);
            let own =
                features.iter().position(|feature| wanted.iter().all(|word| words(&feature.feature).contains(word)));
            own.into_iter().for_each(|at| used[at] = true);
            let feature = own.map(|at| &features[at]);
            json!({
                "field": name, "left": a, "right": b, "same": a.is_some() && a == b,
                "feature": feature.map(|own| &own.feature), "value": feature.map(|own| own.value),
                "contribution": feature.and_then(said),
            })
        };
        if let Some(([a, b], names)) = &self.registers {
            rows.extend(names.iter().map(|name| field(name, a.cell(key[1], name), b.cell(key[2], name))));
        }
        let cells = self.texts.get(key.map(str::to_owned).as_slice());
        let cell = |at: usize| cells.map(|cells| cells[at].trim()).filter(|text| !text.is_empty());
        for (name, i, j) in &self.columns {
            if i == j {
                rows.push(json!({"field": null, "feature": name, "value": cell(*i), "contribution": null}));
            } else {
                rows.push(field(name, cell(*i), cell(*j)));
            }
        }
        let rest = features.iter().zip(&used).filter(|(_, used)| !**used).map(|(feature, _)| {
            json!({
                "field": null, "feature": feature.feature, "value": feature.value, "contribution": said(feature),
            })
        });
        rows.extend(rest);
        json!({"left": {"id": key[1], "fields": left}, "right": {"id": key[2], "fields": right}, "compare": rows})
    }
}

/// The words of a name.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect()
}
