//! Columns of a table as text, for people to read.

use super::{Finding, Format, Role, Roles, Table};
use crate::error::{Error, Result};
use std::path::Path;

/// Some columns of a table as text, row by row: those of the roles `keys` (empty where there is no such column), then those named.
///
/// ```
/// use ordain::data::{Role, Roles, texts};
/// # let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("shop.csv");
/// std::fs::write(&path, "id,title,price\n7,\"shoe, red\",12.50\n").unwrap();
/// assert_eq!(texts(&path, &Roles::default(), &[Role::Item], &["title".into(), "price".into()])?, [["7", "shoe, red", "12.50"]]);
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Content`] if the file is no table; [`Error::Parse`] if a column is not there or a cell is not UTF-8; [`Error::Io`].
pub fn texts(path: &Path, roles: &Roles, keys: &[Role], names: &[String]) -> Result<Vec<Vec<String>>> {
    all(path, roles, keys, (names, "show"))
}

/// Some columns of a table as text, column by column; `option` named them.
///
/// # Errors
///
/// Those of [`texts`].
pub fn column_texts(path: &Path, names: &[String], option: &'static str) -> Result<Vec<Vec<String>>> {
    let rows = all(path, &Roles::default(), &[], (names, option))?;
    let mut columns = vec![Vec::with_capacity(rows.len()); names.len()];
    for row in rows {
        columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
    }
    Ok(columns)
}

/// A small table as text: its header, and its rows. A file whose name does not say what it is is CSV.
///
/// # Errors
///
/// [`Error::Content`] if it is a folder or a device; [`Error::Parse`] if a cell is not UTF-8; [`Error::Io`].
pub fn all_texts(path: &Path) -> Result<(Vec<String>, Vec<Vec<String>>)> {
    let mut table = Table::open(path, Format::of(path).unwrap_or(Format::Text(b',')))?;
    let header = table.header.clone();
    table.select(&[], &(0..header.len()).collect::<Vec<_>>())?;
    let mut rows = vec![];
    while let Some(row) = table.next()? {
        let cell = |j: usize| row.word(j).map(Into::into).ok_or_else(|| row.refuse(j, "text in UTF-8"));
        rows.push((0..header.len()).map(cell).collect::<Result<Vec<String>>>()?);
    }
    Ok((header, rows))
}

fn all(
    path: &Path,
    roles: &Roles,
    keys: &[Role],
    (names, option): (&[String], &'static str),
) -> Result<Vec<Vec<String>>> {
    let Some(format) = Format::of(path) else {
        return Err(Error::Content {
            path: path.into(),
            expected: "a table (CSV, TSV, Parquet, Feather) whose columns can be shown".into(),
            found: "another format".into(),
        });
    };
    let mut table = Table::open(path, format)?;
    let finding = Finding { path, header: &table.header, roles, model: None };
    let key = |role: &Role| match roles.get(*role) {
        Some(name) => finding.column(name, role.option()).map(Some),
        None => {
            let usual = |name: &&str| table.header.iter().position(|own| own.eq_ignore_ascii_case(name));
            Ok(role.names().iter().find_map(usual))
        }
    };
    let mut columns = keys.iter().map(key).collect::<Result<Vec<Option<usize>>>>()?;
    for name in names {
        columns.push(Some(finding.column(name, option)?));
    }
    let wanted: Vec<usize> = columns.iter().flatten().copied().collect();
    table.select(&[], &wanted)?;
    let mut rows = vec![];
    while let Some(row) = table.next()? {
        let cell = |column: &Option<usize>| match column {
            None => Ok(String::new()),
            Some(j) => row.word(*j).map(Into::into).ok_or_else(|| row.refuse(*j, "text in UTF-8")),
        };
        rows.push(columns.iter().map(cell).collect::<Result<Vec<String>>>()?);
    }
    Ok(rows)
}
