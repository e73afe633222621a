//! CSV and TSV of edges: `problem`, `left`, `right`, `matched`; every other column is a feature.

use crate::data::matches::read::{MatchReading, Part};
use crate::data::strings::short;
use crate::data::table::{Finding, Role, Table};
use crate::data::{Clash, Clashing, Columns, EdgeRows, Missing, Truth};
use crate::error::{Error, Result};
use crate::matrix::{Features, Matrix};
use std::borrow::Cow;
use std::path::Path;

/// The columns that are no features.
pub(in crate::data) const SPECIAL: [&str; 4] = ["problem", "left", "right", "matched"];

/// Whether a table has edges, by the names of its columns.
pub(in crate::data) fn has_edges(header: &[String], reading: &MatchReading) -> bool {
    let has = |role: Role| {
        let named = reading.roles.get(role).filter(|name| header.contains(name));
        named.is_some() || header.iter().any(|h| h.eq_ignore_ascii_case(role.names()[0]))
    };
    has(Role::Left) && has(Role::Right)
}

pub(in crate::data) fn read(path: &Path, mut table: Table, reading: &MatchReading) -> Result<Part> {
    let keep_missing = reading.missing != Missing::Error;
    let finding = Finding { path, header: &table.header, roles: &reading.roles, model: reading.model.as_deref() };
    let roles = [Role::Problem, Role::Left, Role::Right, Role::Matched];
    let found = finding.find(&roles, &[])?;
    let (problem, matched) = (found.get(Role::Problem), found.get(Role::Matched));
    let (Some(left), Some(right)) = (found.get(Role::Left), found.get(Role::Right)) else {
        return Err(crate::data::matches::read::no_format(path, &table.header));
    };
    reading.texts.enter(path);
    let names = found.with_cells(table.select(&found.features, &found.others())?);
    if let Some(twice) = names.iter().find(|name| SPECIAL.iter().any(|special| name.eq_ignore_ascii_case(special))) {
        let found = format!("{:?} twice", short(twice));
        return Err(Error::Content { path: path.into(), expected: "each column name once".into(), found });
    }
    let (mut values, mut rows, mut lines) = (vec![], EdgeRows::default(), vec![]);
    while let Some(record) = table.next()? {
        let word = |j: usize, what: &dyn Fn() -> String| match record.word(j) {
            None => Err(record.refuse(j, format!("{} in UTF-8 (save the file as UTF-8)", what()))),
            Some(word) if word.is_empty() => Err(record.refuse(j, what())),
            Some(word) => Ok(word),
        };
        let id = |j: usize| word(j, &|| format!("the id of a {} item", SPECIAL[if j == left { 1 } else { 2 }]));
        let name = match problem {
            None => Cow::Borrowed("1"),
            Some(j) => word(j, &|| "the name of a problem".into())?,
        };
        let truth = match matched {
            None => Truth::Unknown,
            Some(j) => match &*record.text(j) {
                b"" => Truth::Unknown,
                b"0" | b"0.0" => Truth::No,
                b"1" | b"1.0" => Truth::Yes,
                word if word.eq_ignore_ascii_case(b"false") => Truth::No,
                word if word.eq_ignore_ascii_case(b"true") => Truth::Yes,
                _ => return Err(record.refuse(j, "1, 0, or nothing where it is not known")),
            },
        };
        rows.push(&name, &id(left)?, &id(right)?, truth);
        lines.push(record.line());
        record.features(keep_missing, &mut values)?;
        found.push_cells(&record, &reading.texts, &mut values)?;
        if rows.len() > u32::MAX as usize {
            let (expected, found) = ("at most 4294967295 edges".into(), "more".into());
            return Err(Error::Content { path: path.into(), expected, found });
        }
    }
    let named = problem.is_some();
    let (problems, order) = rows.grouped().map_err(|clash| refused(path, &lines, &clash))?;
    let mut features = Features::Dense(Matrix::new(values, names.len()));
    if !names.is_empty() && !order.is_sorted() {
        features.permute_rows(&order);
    }
    let coarse = table.coarse().into_iter().map(|j| names[j].clone()).collect();
    let columns = Columns { cells: found.cells(&reading.texts), roles: found.roles, coarse, ..Columns::of(names) };
    Ok(Part { features, columns, problems, named, splits: None })
}

/// The refusal of two rows, by their lines.
fn refused(path: &Path, lines: &[usize], clash: &Clash) -> Error {
    let [first, again] = clash.rows.map(|row| lines[row]);
    let shown = |name: &str| format!("{:?}", short(name));
    let problem = shown(&clash.problem);
    let (expected, found) = match &clash.what {
        Clashing::Edge(left, right) => {
            (format!("each edge of problem {problem} once"), format!("{} - {} again", shown(left), shown(right)))
        }
        Clashing::Item(side, item) => (
            format!("at most one match of an item in problem {problem}"),
            format!("a second one of the {side} item {}", shown(item)),
        ),
    };
    let found = format!("{found}; the first is on line {first}");
    Error::Parse { path: path.into(), line: again, column: 1, expected, found }
}
