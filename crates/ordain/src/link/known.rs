//! Pairs of records of which somebody knows whether they belong together.

use super::learn::HELD;
use crate::data::{Records, Role, Roles, is_table, texts};
use crate::error::{Error, Result};
use crate::labelling::{Subject, Subjects, standing};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Pairs of records, by their places in the two tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Two that belong together: neither belongs to anybody else.
    pub(super) yes: Vec<(u32, u32)>,
    /// Two that do not.
    pub(super) no: BTreeSet<(u32, u32)>,
}

impl Known {
    /// How many pairs are known to belong together, and how many are known not to.
    pub fn counts(&self) -> (usize, usize) {
        (self.yes.len(), self.no.len())
    }
}

impl Known {
    /// What is known without every fifth match, and these.
    pub(super) fn held_out(&self) -> (Self, Vec<(u32, u32)>) {
        let held = |n: usize| n as u32 % HELD == HELD - 1;
        let part = |want: bool| {
            self.yes.iter().enumerate().filter(move |(n, _)| held(*n) == want).map(|(_, pair)| *pair).collect()
        };
        (Self { yes: part(false), no: self.no.clone() }, part(true))
    }
}

/// The ids of a side, with their places.
fn places(records: &Records) -> HashMap<&str, u32> {
    records.ids.iter().map(String::as_str).zip(0..).collect()
}

pub(super) fn find<'k>(
    left: &Records,
    right: &Records,
    right_many: bool,
    pairs: impl IntoIterator<Item = (&'k str, &'k str, bool)>,
) -> Result<Known> {
    let (lefts, rights) = (places(left), places(right));
    let (mut known, mut partners) = (Known::default(), [HashMap::new(), HashMap::new()]);
    for (a, b, yes) in pairs {
        let i = *lefts.get(a).ok_or_else(|| Error::unknown("left record", a, &left.ids))?;
        let j = *rights.get(b).ok_or_else(|| Error::unknown("right record", b, &right.ids))?;
        if !yes {
            known.no.insert((i, j));
            continue;
        }
        let clash = |old: &u32, new: u32| *old != new;
        let two = match (partners[0].insert(i, j), partners[1].insert(j, i)) {
            (Some(old), _) if clash(&old, j) => Some(("left", a)),
            (_, Some(old)) if clash(&old, i) && !right_many => Some(("right", b)),
            (Some(_), _) => continue,
            _ => None,
        };
        if let Some((side, id)) = two {
            return Err(Error::Data {
                expected: "known matches with one partner for each record".into(),
                found: format!("two partners of the {side} record {id:?}"),
            });
        }
        known.yes.push((i, j));
    }
    match known.yes.iter().find(|pair| known.no.contains(pair)) {
        None => Ok(known),
        Some(&(i, j)) => Err(Error::Data {
            expected: "pairs that match or do not".into(),
            found: format!("{:?} and {:?} as both", left.ids[i as usize], right.ids[j as usize]),
        }),
    }
}

/// Pairs by id, with whether they belong together.
pub type KnownPairs = Vec<(String, String, bool)>;

/// Reads pairs that are known: a table with the columns left, right and, if wanted, matched (1 or 0; without it all are matched), or a file of answers of people.
///
/// # Errors
///
/// [`Error::Content`] and [`Error::Parse`] if the file is neither; [`Error::Io`].
pub fn read_known(path: &Path, left: &Records, right: &Records) -> Result<KnownPairs> {
    if !is_table(path) {
        let pairs = Pairs { left, right, places: [places(left), places(right)] };
        let name = |(subject, yes): (Subject, bool)| {
            (left.ids[subject.unit as usize].clone(), right.ids[subject.thing as usize].clone(), yes)
        };
        return Ok(standing(path, &pairs)?.into_iter().map(name).collect());
    }
    let wrong = |row: usize, expected: &str, found: &str| Error::Parse {
        path: path.into(),
        line: row + 2,
        column: 1,
        expected: expected.into(),
        found: format!("{:?}", found.chars().take(60).collect::<String>()),
    };
    let rows = texts(path, &Roles::default(), &[Role::Left, Role::Right, Role::Matched], &[])?;
    if rows.iter().all(|cells| cells[0].is_empty() && cells[1].is_empty()) {
        return Err(Error::Content {
            path: path.into(),
            expected: "known pairs: the columns left and right, and if wanted matched (1 or 0)".into(),
            found: format!("{} rows without them", rows.len()),
        });
    }
    let whole = rows.iter().all(|cells| cells[2].is_empty());
    let mut out = vec![];
    for (row, cells) in rows.into_iter().enumerate() {
        let [a, b, matched] = <[String; 3]>::try_from(cells).unwrap_or_default();
        let yes = match matched.as_str() {
            "" if whole => true,
            "" => continue, // nobody knows
            "1" | "1.0" | "true" => true,
            "0" | "0.0" | "false" => false,
            other => return Err(wrong(row, "matched as 1, 0 or nothing", other)),
        };
        if a.is_empty() || b.is_empty() {
            return Err(wrong(row, "the ids of a left and a right record", &format!("{a},{b}")));
        }
        out.push((a, b, yes));
    }
    Ok(out)
}

/// All pairs of two tables, as answers name them.
struct Pairs<'a> {
    left: &'a Records,
    right: &'a Records,
    places: [HashMap<&'a str, u32>; 2],
}

impl Subjects for Pairs<'_> {
    const TASK: &'static str = "match";
    const EXAMPLE: &'static str = r#"{"problem":"a1","left":"a1","right":"b1","answer":true}"#;

    fn head(&self) -> Map<String, Value> {
        ["data", "problems", "edges"].map(|field| (field.into(), Value::Null)).into_iter().collect()
    }

    fn differs(&self, _: &Value) -> Option<&'static str> {
        None // ids say what is meant, whatever the pairs were
    }

    fn by_name(&self) -> bool {
        true
    }

    fn units(&self) -> usize {
        self.left.len()
    }

    fn find(&self, line: &Value) -> std::result::Result<Option<Subject>, String> {
        let (Some(a), Some(b)) = (line["left"].as_str(), line["right"].as_str()) else { return Ok(None) };
        let unit = *self.places[0].get(a).ok_or_else(|| format!("no left record {a:?}"))?;
        let thing = *self.places[1].get(b).ok_or_else(|| format!("no right record {b:?}"))?;
        Ok(Some(Subject { unit, thing }))
    }

    fn names(&self, subject: Subject) -> Map<String, Value> {
        Map::from_iter([
            ("left".into(), self.left.ids[subject.unit as usize].clone().into()),
            ("right".into(), self.right.ids[subject.thing as usize].clone().into()),
        ])
    }
}
