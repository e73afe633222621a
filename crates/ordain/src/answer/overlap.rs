//! What stands in two parts of the data.

use crate::data::DataSet;
use serde::Serialize;
use std::collections::HashMap;
use std::hash::Hash;

/// How many names are kept as examples.
const EXAMPLES: usize = 3;

/// What stands in two parts of the data, of which one should be there to test what the other taught.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overlap {
    /// Units of the second part whose name a unit of the first has.
    pub names: Shared,
    /// Units of the second part whose rows are those of a unit of the first, in any order.
    pub units: Shared,
    /// Rows of the second part with the values of a row of the first, in all columns and not all 0.
    pub rows: Shared,
    /// Rows of the second part with the id of a row of the first, where rows have ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Shared>,
    /// Cells of the second part that stand in the first too, by column, of columns that are no numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<SharedTexts>,
}

/// How many of the second part stand in the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Shared {
    /// So many,
    pub count: usize,
    /// of so many.
    pub of: usize,
    /// The names of the first.
    pub examples: Vec<String>,
}

/// The same of the cells of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharedTexts {
    /// The column.
    pub column: String,
    /// Cells that are not empty.
    #[serde(flatten)]
    pub shared: Shared,
}

/// Counts what of `second` has a key among those of `first`.
fn shared<K: Hash + Eq>(first: impl Iterator<Item = K>, second: impl Iterator<Item = (K, String)>) -> Shared {
    let known: HashMap<K, ()> = first.map(|key| (key, ())).collect();
    let mut found = Shared::default();
    for (key, name) in second {
        found.of += 1;
        if known.contains_key(&key) {
            found.count += 1;
            if found.examples.len() < EXAMPLES && !found.examples.contains(&name) {
                found.examples.push(name);
            }
        }
    }
    found
}

/// What stands in both of two parts: the first units of a set, and all others. `id` gives the id of a row, where rows have one.
///
/// Rows are compared by their values to the last bit, and cells that are no numbers by their text. O(values), expected.
///
/// ```
/// use ordain::{answer::overlap, data::synthetic::Synthetic};
/// let set = Synthetic { queries: 10, ..Synthetic::default() }.make();
/// let twice = set.only(&[0, 1, 2, 3, 1, 2, 7]); // as if queries 2 and 3 of a training part were tested on again
/// let found = overlap(&twice, 4, |_| None);
/// assert_eq!((found.names.count, found.units.count, found.names.of), (2, 2, 3));
/// assert_eq!(found.rows.count, set.span(1).len() + set.span(2).len());
/// ```
pub fn overlap<S: DataSet>(set: &S, first: usize, id: impl Fn(usize) -> Option<String>) -> Overlap {
    let columns = set.columns();
    let cells = columns.cells.as_ref();
    let of_cells: Vec<usize> = cells.map_or(vec![], |cells| {
        let place = |column: &String| columns.names.iter().position(|name| name == column);
        cells.inputs.iter().filter_map(|input| place(&input.column)).collect()
    });
    let texts = cells.map(|cells| cells.texts.read());
    let text = |row: usize, j: usize| -> String {
        let place = set.features().value(row, j) as usize;
        texts.as_ref().map_or_else(String::new, |texts| texts.cell(place).text.trim_ascii().to_owned())
    };
    let digest = |row: usize| -> Option<[u8; 32]> {
        let (mut hash, mut some) = (blake3::Hasher::new(), false);
        set.features().each(row, |j, x| {
            if x != 0.0 && !of_cells.contains(&j) {
                some = true;
                hash.update(&(j as u64).to_le_bytes()).update(&x.to_bits().to_le_bytes());
            }
        });
        for &j in &of_cells {
            let text = text(row, j);
            some |= !text.is_empty();
            hash.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        some.then(|| *hash.finalize().as_bytes())
    };
    let rows: Vec<Option<[u8; 32]>> = (0..set.rows()).map(digest).collect();
    let (train, test) = (0..first.min(set.len()), first.min(set.len())..set.len());
    let of = |units: std::ops::Range<usize>| units.flat_map(|unit| set.span(unit).map(move |row| (unit, row)));
    let whole = |unit: usize| -> Option<Vec<[u8; 32]>> {
        let mut all = set.span(unit).map(|row| rows[row]).collect::<Option<Vec<[u8; 32]>>>()?;
        all.sort_unstable();
        (!all.is_empty()).then_some(all)
    };
    let name = |unit: usize| set.name(unit).into_owned();
    let known = of(train.clone()).next().is_some_and(|(_, row)| id(row).is_some());
    Overlap {
        names: shared(train.clone().map(name), test.clone().map(|unit| (name(unit), name(unit)))),
        units: shared(train.clone().filter_map(whole).map(Some), test.clone().map(|unit| (whole(unit), name(unit)))),
        rows: shared(
            of(train.clone()).filter_map(|(_, row)| rows[row]).map(Some),
            of(test.clone()).map(|(unit, row)| (rows[row], id(row).unwrap_or_else(|| name(unit)))),
        ),
        ids: known.then(|| {
            let own = |(_, row)| id(row).unwrap_or_default();
            shared(of(train.clone()).map(own), of(test.clone()).map(own).map(|id| (id.clone(), id)))
        }),
        texts: of_cells
            .iter()
            .map(|&j| SharedTexts {
                column: columns.names[j].clone(),
                shared: shared(
                    of(train.clone()).map(|(_, row)| text(row, j)),
                    of(test.clone()).map(|(_, row)| text(row, j)).filter(|cell| !cell.is_empty()).map(|cell| {
                        let shown = cell.chars().take(60).collect();
                        (cell, shown)
                    }),
                ),
            })
            .collect(),
    }
}
