//! CSV and TSV of edges: `problem`, `left`, `right`, `matched`; every other column is a feature.

use super::build::{is_index, short};
use super::matching::Part;
use super::number::{self, Value};
use super::table::{broken, line_at, open, refuse_cell};
use super::tagging::once;
use super::{Columns, Problem, Truth};
use crate::error::{Error, Result};
use crate::matrix::{Features, Matrix};
use std::collections::HashMap;
use std::path::Path;

/// The columns that are no features.
pub(super) const SPECIAL: [&str; 4] = ["problem", "left", "right", "matched"];

/// Ids of one kind, numbered by first appearance.
#[derive(Default)]
struct Ids(HashMap<Box<[u8]>, u32>);

impl Ids {
    fn number(&mut self, id: &[u8]) -> u32 {
        match self.0.get(id) {
            Some(&number) => number,
            None => {
                let number = self.0.len() as u32;
                self.0.insert(id.into(), number);
                number
            }
        }
    }

    fn names(self) -> Vec<String> {
        let mut out = vec![String::new(); self.0.len()];
        for (id, number) in self.0 {
            out[number as usize] = String::from_utf8_lossy(&id).into_owned();
        }
        out
    }
}

/// A row but for its features.
struct Row {
    problem: u32,
    ends: (u32, u32),
    truth: Truth,
    byte: u64,
}

pub(super) fn read(path: &Path, delimiter: u8, keep_missing: bool) -> Result<Part> {
    let (mut reader, header) = open(path, delimiter)?;
    let broken = |error: csv::Error| broken(path, error);
    let find = |name: &str| header.iter().position(|h| h.eq_ignore_ascii_case(name));
    let special = SPECIAL.map(find);
    let [problem, Some(left), Some(right), matched] = special else {
        return Err(super::matching::no_format(path, &header));
    };
    once(path, "column", &header)?;
    let features: Vec<usize> = (0..header.len()).filter(|&j| !special.contains(&Some(j))).collect();
    let names: Vec<String> = features.iter().map(|&j| header[j].clone()).collect();
    if let Some(twice) = names.iter().find(|name| SPECIAL.iter().any(|special| name.eq_ignore_ascii_case(special))) {
        let found = format!("{:?} twice", short(twice));
        return Err(Error::Content { path: path.into(), expected: "each column name once".into(), found });
    }
    let (mut values, mut rows) = (vec![], vec![]);
    let (mut problems, mut items) = (Ids::default(), Vec::<(Ids, Ids)>::new());
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(broken)? {
        let refuse = |j: usize, expected: String| refuse_cell(path, &record, &header, j, expected);
        let id = |j: usize| match record[j].trim_ascii() {
            b"" => Err(refuse(j, format!("the id of a {} item", SPECIAL[if j == left { 1 } else { 2 }]))),
            id if std::str::from_utf8(id).is_err() => Err(refuse(j, "an id in UTF-8".into())),
            id => Ok(id),
        };
        let name = match problem.map(|j| (j, record[j].trim_ascii())) {
            None => &b"1"[..],
            Some((j, b"")) => return Err(refuse(j, "the name of a problem".into())),
            Some((j, name)) if std::str::from_utf8(name).is_err() => return Err(refuse(j, "a name in UTF-8".into())),
            Some((_, name)) => name,
        };
        let number = problems.number(name);
        if number as usize == items.len() {
            items.push(Default::default());
        }
        let (lefts, rights) = &mut items[number as usize];
        let truth = match matched.map(|j| (j, record[j].trim_ascii())) {
            None | Some((_, b"")) => Truth::Unknown,
            Some((_, b"0" | b"0.0")) => Truth::No,
            Some((_, b"1" | b"1.0")) => Truth::Yes,
            Some((j, _)) => return Err(refuse(j, "1, 0, or nothing where it is not known".into())),
        };
        rows.push(Row {
            problem: number,
            ends: (lefts.number(id(left)?), rights.number(id(right)?)),
            truth,
            byte: record.position().map_or(0, csv::Position::byte),
        });
        for &j in &features {
            values.push(match number::whole(record[j].trim_ascii()) {
                Value::Number(x) => x,
                Value::Missing if keep_missing => f32::NAN,
                Value::Missing => {
                    return Err(refuse(j, "a value (--missing zero or --missing mean allows gaps)".into()));
                }
                Value::Bad => {
                    let way = "take a column of text out, or turn it into numbers";
                    return Err(refuse(j, format!("a finite number ({way})")));
                }
            });
        }
        if rows.len() > u32::MAX as usize {
            let (expected, found) = ("at most 4294967295 edges".into(), "more".into());
            return Err(Error::Content { path: path.into(), expected, found });
        }
    }
    let named = problem.is_some();
    let problems = problems.names().into_iter().zip(items).map(|(name, (left, right))| Problem {
        name,
        left: left.names(),
        right: right.names(),
        ..Problem::default()
    });
    let mut problems: Vec<Problem> = problems.collect();
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    let key = |row: u32| (rows[row as usize].problem, rows[row as usize].ends, row);
    if !order.is_sorted_by_key(|&row| key(row)) {
        order.sort_unstable_by_key(|&row| key(row));
    }
    check(path, &rows, &order, &problems)?;
    for &row in &order {
        let row = &rows[row as usize];
        problems[row.problem as usize].edges.push(row.ends);
        problems[row.problem as usize].truth.push(row.truth);
    }
    let mut features = Features::Dense(Matrix::new(values, names.len()));
    if !names.is_empty() && !order.is_sorted() {
        features.permute_rows(&order);
    }
    let columns = Columns { numbered: !names.is_empty() && names.iter().all(|name| is_index(name)), names };
    Ok(Part { features, columns, problems, named, splits: None })
}

/// Refuses an edge that is there twice, and an item with two matches.
fn check(path: &Path, rows: &[Row], order: &[u32], problems: &[Problem]) -> Result<()> {
    let line = |row: u32| line_at(path, rows[row as usize].byte);
    let refuse = |a: u32, b: u32, expected: String, found: &str| {
        let (first, again) = (a.min(b), a.max(b));
        let found = format!("{found}; the first is on line {}", line(first));
        Err(Error::Parse { path: path.into(), line: line(again), column: 1, expected, found })
    };
    let shown = |name: &str| format!("{:?}", short(name));
    let edge = |row: u32| (rows[row as usize].problem, rows[row as usize].ends);
    if let Some(pair) = order.windows(2).find(|pair| edge(pair[0]) == edge(pair[1])) {
        let row = &rows[pair[1] as usize];
        let problem = &problems[row.problem as usize];
        let (left, right) = (&problem.left[row.ends.0 as usize], &problem.right[row.ends.1 as usize]);
        let expected = format!("each edge of problem {} once", shown(&problem.name));
        return refuse(pair[0], pair[1], expected, &format!("{} - {} again", shown(left), shown(right)));
    }
    let mut taken: [HashMap<u32, u32>; 2] = Default::default();
    let mut current = None;
    for &number in order {
        let row = &rows[number as usize];
        if current.replace(row.problem) != Some(row.problem) {
            taken.iter_mut().for_each(HashMap::clear);
        }
        if row.truth != Truth::Yes {
            continue;
        }
        let problem = &problems[row.problem as usize];
        let ends = [(row.ends.0, "left", &problem.left), (row.ends.1, "right", &problem.right)];
        for (taken, (item, side, names)) in taken.iter_mut().zip(ends) {
            if let Some(other) = taken.insert(item, number) {
                let expected = format!("at most one match of an item in problem {}", shown(&problem.name));
                let found = format!("a second one of the {side} item {}", shown(&names[item as usize]));
                return refuse(other, number, expected, &found);
            }
        }
    }
    Ok(())
}
