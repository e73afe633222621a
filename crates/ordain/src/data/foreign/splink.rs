//! Edges of splink, and edges for splink.

use super::ForeignTable;
use crate::data::matches::read::format;
use crate::data::records::write_rows;
use crate::data::strings::short;
use crate::data::table::{Table, shown};
use crate::data::{MatchSet, Truth};
use crate::error::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Where the columns of a table of splink stand.
struct Columns {
    ids: [usize; 2],
    sets: Option<[usize; 2]>,
    score: Option<usize>,
}

impl Columns {
    fn find(path: &Path, header: &[String]) -> Result<Self> {
        let find = |name: &str| header.iter().position(|own| own == name);
        let both = |name: &str| Some([find(&format!("{name}_l"))?, find(&format!("{name}_r"))?]);
        let ids = both("unique_id").ok_or_else(|| Error::Parse {
            path: path.into(),
            line: 1,
            column: 1,
            expected: "a header with the columns unique_id_l and unique_id_r".into(),
            found: shown(header),
        })?;
        Ok(Self { ids, sets: both("source_dataset"), score: find("clerical_match_score") })
    }
}

/// A record: its data set, if there are several, and its id.
type Record = (String, String);

/// The two records of a row, and what a person said of them.
fn edge(row: &crate::data::table::Row, columns: &Columns) -> Result<([Record; 2], Option<bool>)> {
    let cell = |j: usize| match row.word(j) {
        None => Err(row.refuse(j, "text in UTF-8")),
        Some(id) if id.is_empty() => Err(row.refuse(j, "an id")),
        Some(id) => Ok(id.into_owned()),
    };
    let record = |side: usize| -> Result<Record> {
        let set = columns.sets.map(|sets| cell(sets[side])).transpose()?.unwrap_or_default();
        Ok((set, cell(columns.ids[side])?))
    };
    let said = match columns.score {
        Some(j) if row.word(j).is_none_or(|text| !text.is_empty()) => {
            let score = row.number(j).filter(|score| (0.0..=1.0).contains(score));
            Some(score.ok_or_else(|| row.refuse(j, "a score from 0 to 1, or nothing"))? >= 0.5)
        }
        _ => None,
    };
    let records = [record(0)?, record(1)?];
    if records[0] == records[1] {
        return Err(row.refuse(columns.ids[1], "two records; here is one and itself"));
    }
    Ok((records, said))
}

/// What is the same record finds the least place of its part.
struct Parts(Vec<usize>);

impl Parts {
    fn find(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }
}

pub(super) fn read(files: &[PathBuf], labels: Option<&Path>) -> Result<ForeignTable> {
    let mut header: Option<Vec<String>> = None;
    let (mut edges, mut values) = (vec![], vec![]);
    for path in files {
        let mut table = Table::open(path, format(path)?)?;
        crate::data::columns::once(path, "column", &table.header)?;
        let columns = Columns::find(path, &table.header)?;
        let own: Vec<usize> = (0..table.header.len())
            .filter(|&j| table.header[j].starts_with("gamma_") || table.header[j] == "match_weight")
            .collect();
        let names: Vec<String> = own.iter().map(|&j| table.header[j].clone()).collect();
        if names.is_empty() || header.as_ref().is_some_and(|known| *known != names) {
            return Err(Error::Content {
                path: path.clone(),
                expected: "columns gamma_… or match_weight, the same in all files".into(),
                found: shown(&table.header),
            });
        }
        let gamma: Vec<bool> = names.iter().map(|name| name.starts_with("gamma_")).collect();
        header = Some(names);
        table.select(&[], &(0..table.header.len()).collect::<Vec<_>>())?;
        while let Some(row) = table.next()? {
            edges.push(edge(&row, &columns)?);
            for (&j, &gamma) in own.iter().zip(&gamma) {
                let empty = row.word(j).is_some_and(|text| text.is_empty());
                let number =
                    if empty { None } else { Some(row.number(j).ok_or_else(|| row.refuse(j, "a finite number"))?) };
                // splink writes −1 where a comparison has no value
                let number = number.filter(|x| !(gamma && x.total_cmp(&-1.0).is_eq()));
                values.push(number.map_or(String::new(), |x| x.to_string()));
            }
        }
    }
    let features = header.unwrap_or_default();
    let (known, unused) = labels.map_or(Ok(Default::default()), |path| told(path, &edges))?;
    let says = |at: usize| known.get(&at).copied().or(edges[at].1);
    let labelled = (0..edges.len()).any(|at| says(at).is_some());
    // records by number, and what edges join
    let mut numbers: HashMap<&Record, usize> = HashMap::new();
    for (records, _) in &edges {
        for record in records {
            let next = numbers.len();
            numbers.entry(record).or_insert(next);
        }
    }
    let mut parts = Parts((0..numbers.len()).collect());
    edges.iter().for_each(|([a, b], _)| parts.join(numbers[a], numbers[b]));
    // of one data set on a side an id says enough
    let sets = |side: usize| edges.iter().map(|(records, _)| &records[side].0).collect::<HashSet<_>>().len();
    let several = sets(0) > 1 || sets(1) > 1;
    let name = |record: &Record| if several { format!("{}:{}", record.0, record.1) } else { record.1.clone() };
    let mut least: HashMap<usize, String> = HashMap::new();
    for (record, &number) in &numbers {
        let own = name(record);
        let entry = least.entry(parts.find(number)).or_insert_with(|| own.clone());
        if own < *entry {
            *entry = own;
        }
    }
    let mut table = ForeignTable { unjudged: unused, ..ForeignTable::default() };
    table.header = ["problem", "left", "right"].map(str::to_owned).to_vec();
    table.header.extend(features.iter().cloned());
    table.header.extend(labelled.then(|| "matched".to_owned()));
    // two parts may have the same least id where two data sets share ids
    let mut by_name: HashMap<&String, usize> = HashMap::new();
    least.values().for_each(|name| *by_name.entry(name).or_default() += 1);
    for (at, ([a, b], _)) in edges.iter().enumerate() {
        let part = parts.find(numbers[a]);
        let problem = &least[&part];
        let problem = if by_name[problem] > 1 { format!("{problem}#{part}") } else { problem.clone() };
        let own = &values[at * features.len()..(at + 1) * features.len()];
        let mut row = vec![problem, name(a), name(b)];
        row.extend_from_slice(own);
        table.missing += own.iter().filter(|cell| cell.is_empty()).count();
        let said = says(at).map_or("", |yes| if yes { "1" } else { "0" });
        row.extend(labelled.then(|| said.to_owned()));
        table.rows.push(row);
    }
    Ok(table)
}

/// What a table of labels says of edges by their number, and how many labels are of no edge.
fn told(path: &Path, edges: &[([Record; 2], Option<bool>)]) -> Result<(HashMap<usize, bool>, usize)> {
    let mut table = Table::open(path, format(path)?)?;
    let columns = Columns::find(path, &table.header)?;
    if columns.score.is_none() {
        return Err(Error::Parse {
            path: path.into(),
            line: 1,
            column: 1,
            expected: "a header with the columns unique_id_l, unique_id_r and clerical_match_score".into(),
            found: shown(&table.header),
        });
    }
    // without data sets ids are enough, in either order
    let plain = columns.sets.is_none();
    let key = |[a, b]: &[Record; 2]| {
        let bare = |record: &Record| if plain { (String::new(), record.1.clone()) } else { record.clone() };
        let (a, b) = (bare(a), bare(b));
        if a <= b { (a, b) } else { (b, a) }
    };
    let mut numbers: HashMap<(Record, Record), Vec<usize>> = HashMap::new();
    edges.iter().enumerate().for_each(|(at, (records, _))| numbers.entry(key(records)).or_default().push(at));
    table.select(&[], &(0..table.header.len()).collect::<Vec<_>>())?;
    let (mut said, mut unused) = (HashMap::new(), 0);
    while let Some(row) = table.next()? {
        let (records, Some(yes)) = edge(&row, &columns)? else { continue };
        let found = numbers.get(&key(&records));
        unused += usize::from(found.is_none());
        for &at in found.into_iter().flatten() {
            if said.insert(at, yes).is_some_and(|before| before != yes) {
                return Err(row.refuse(columns.ids[0], "the same label of a pair wherever it stands"));
            }
        }
    }
    Ok((said, unused))
}

/// Writes a set as edges for splink: `unique_id_l`, `unique_id_r`, the features, and `clerical_match_score` where anything is known.
///
/// A column `gamma_…` has −1 where it has no value.
///
/// # Errors
///
/// [`Error::Data`] where an item stands in two problems, which splink does not have; [`Error::Io`].
pub fn write_splink(set: &MatchSet, path: &Path) -> Result<()> {
    let mut of: [HashMap<&str, usize>; 2] = Default::default();
    for (p, problem) in set.problems().iter().enumerate() {
        for (of, ids) in of.iter_mut().zip([&problem.left, &problem.right]) {
            for id in ids {
                if of.insert(id, p).is_some_and(|other| other != p) {
                    return Err(Error::Data {
                        expected: "ids that stand in one problem each".into(),
                        found: format!("{:?} in problem {:?} and in another", short(id), short(&problem.name)),
                    });
                }
            }
        }
    }
    let labelled = set.labelled();
    let (ids, names) = (["unique_id_l", "unique_id_r"], set.columns.names.iter().map(String::as_str));
    let header = ids.into_iter().chain(names).chain(labelled.then_some("clerical_match_score"));
    let gamma: Vec<bool> = set.columns.names.iter().map(|name| name.starts_with("gamma_")).collect();
    write_rows(path, header, |row| {
        for (p, problem) in set.problems().iter().enumerate() {
            let start = set.span(p).start;
            for (at, (&(i, j), truth)) in problem.edges.iter().zip(&problem.truth).enumerate() {
                let mut values = vec![0.0f32; gamma.len()];
                set.features.each(start + at, |j, x| values[j] = x);
                let cells: Vec<String> = values
                    .iter()
                    .zip(&gamma)
                    .map(|(x, gamma)| match (x.is_nan(), gamma) {
                        (true, true) => "-1".into(),
                        (true, false) => String::new(),
                        (false, _) => x.to_string(),
                    })
                    .collect();
                let said = match truth {
                    Truth::Yes => "1",
                    Truth::No => "0",
                    Truth::Unknown => "",
                };
                let ends = [problem.left[i as usize].as_str(), problem.right[j as usize].as_str()];
                let own = cells.iter().map(String::as_str);
                row(&mut ends.into_iter().chain(own).chain(labelled.then_some(said)))?;
            }
        }
        Ok(())
    })
}
