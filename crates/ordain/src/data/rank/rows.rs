//! Tables of documents: a query and a grade, an id and a weight if there are any; every other column is a feature.

use crate::data::Clicks;
use crate::data::rank::read::{Builder, RankReading};
use crate::data::table::{Finding, Format, Role, Table, shown};
use crate::error::{Error, Result, Way};
use std::path::Path;

/// The columns of clicks.
#[derive(Clone, Copy)]
struct Shown {
    clicked: usize,
    position: usize,
}

impl Shown {
    fn find(finding: &Finding, how: &Clicks) -> Result<Self> {
        let usual =
            || finding.header.iter().find(|own| own.eq_ignore_ascii_case("clicked")).map_or("clicked", String::as_str);
        let name = finding.roles.label.as_deref().unwrap_or_else(usual);
        Ok(Self { clicked: finding.column(name, "label")?, position: finding.column(&how.position, "clicks")? })
    }
}

pub(in crate::data) fn read(path: &Path, format: Format, reading: &RankReading, into: &mut Builder) -> Result<()> {
    let mut table = Table::open(path, format)?;
    let model = reading.model.as_deref();
    let finding = Finding { path, header: &table.header, roles: &reading.roles, model };
    let clicks = reading.clicks.as_ref().map(|how| Shown::find(&finding, how)).transpose()?;
    let mut found = match &clicks {
        None => finding.find(&[Role::Query, Role::Label, Role::Document, Role::Weight], &[])?,
        Some(Shown { clicked, position }) => finding.find(&[Role::Query, Role::Document], &[*clicked, *position])?,
    };
    let Some(query) = found.get(Role::Query) else {
        let expected = "a header with a column for the query, such as qid (and label, docid, weight; the rest are features), or a column named labels for items";
        let error = Error::Parse {
            path: path.into(),
            line: 1,
            column: 1,
            expected: expected.into(),
            found: shown(&table.header),
        };
        return Err(error.or(Way::new("query", ["NAME"], "names the column of the query")));
    };
    if let Some(Shown { clicked, position }) = clicks {
        // a model knows that both are no features
        found.roles.label = Some(table.header[clicked].clone());
        found.roles.ignore.push(table.header[position].clone());
    }
    let label = clicks.as_ref().map_or_else(|| found.get(Role::Label), |shown| Some(shown.clicked));
    let (document, weight) = (found.get(Role::Document), found.get(Role::Weight));
    reading.texts.enter(path);
    let beside = clicks.iter().flat_map(|shown| [shown.clicked, shown.position]);
    let others: Vec<usize> = found.others().into_iter().chain(beside).collect();
    let names = found.with_cells(table.select(&found.features, &others)?);
    let order = into.table_columns(path, names.clone(), found.roles.clone())?;
    into.cells = found.cells(&reading.texts);
    let in_order = order.is_sorted();
    let (mut values, mut row) = (vec![], vec![0.0f32; order.len()]);
    while let Some(record) = table.next()? {
        let number = |j: usize, what: &str| {
            record.number(j).ok_or_else(|| record.refuse(j, format!("{what} (a finite number)")))
        };
        let grade = label.map(|j| number(j, "a grade")).transpose()?;
        if let (Some(Shown { clicked, position }), Some(grade)) = (clicks, grade) {
            if ![0.0, 1.0].iter().any(|x: &f64| x.total_cmp(&(grade + 0.0)).is_eq()) {
                return Err(record.refuse(clicked, "1 for a click, else 0"));
            }
            let whole = record.number(position).filter(|x| x.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(x));
            let place = whole.ok_or_else(|| record.refuse(position, "a position, a whole number from 1"))?;
            into.positions.push(place as u32);
        }
        let weight = match weight.map(|j| (j, number(j, "a weight"))) {
            Some((j, Ok(x))) if x < 0.0 => return Err(record.refuse(j, "a weight of 0 or more")),
            other => other.map(|(_, weight)| weight).transpose()?,
        };
        values.clear();
        record.features(reading.keep_missing(), &mut values)?;
        found.push_cells(&record, &reading.texts, &mut values)?;
        let id = record.text(query);
        if std::str::from_utf8(&id).is_err() {
            return Err(record.refuse(query, "a query id in UTF-8 (save the file as UTF-8)"));
        }
        if id.is_empty() {
            return Err(record.refuse(query, "a query id"));
        }
        let document = match document.map(|j| (j, record.text(j))) {
            Some((j, id)) if std::str::from_utf8(&id).is_err() => {
                return Err(record.refuse(j, "a document id in UTF-8 (save the file as UTF-8)"));
            }
            other => other.map(|(_, id)| id),
        };
        if in_order {
            into.table_row(grade, &id, document.as_deref(), weight, &values);
        } else {
            values.iter().zip(&order).for_each(|(&x, &place)| row[place] = x);
            into.table_row(grade, &id, document.as_deref(), weight, &row);
        }
    }
    let coarse = table.coarse().into_iter().map(|j| names[j].clone());
    let new: Vec<String> = coarse.filter(|name| !into.coarse.contains(name)).collect();
    into.coarse.extend(new);
    Ok(())
}
