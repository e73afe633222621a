//! Places that are known beforehand: a table with the columns qid, docid and place.

use crate::data::RankSet;
use crate::data::table::{Format, Table, shown};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::path::Path;

/// Reads the places of documents and [pins](RankSet::pin) them; other columns are ignored.
pub(in crate::data) fn read(path: &Path, set: &mut RankSet) -> Result<()> {
    let mut rows = Table::open(path, Format::of(path).unwrap_or(Format::Text(b',')))?;
    let header = rows.header.clone();
    rows.select(&[], &(0..header.len()).collect::<Vec<_>>())?;
    let find = |names: &[&str]| header.iter().position(|own| names.iter().any(|name| own.eq_ignore_ascii_case(name)));
    let columns = (find(&["qid", "query"]), find(&["docid", "document", "id"]), find(&["place"]));
    let (Some(query), Some(document), Some(place)) = columns else {
        return Err(Error::Parse {
            path: path.into(),
            line: 1,
            column: 1,
            expected: "a header with the columns qid, docid and place".into(),
            found: shown(&header),
        });
    };
    let queries: HashMap<String, usize> = (0..set.len()).map(|q| (set.query(q).to_owned(), q)).collect();
    while let Some(record) = rows.next()? {
        let word = |j: usize| record.word(j).ok_or_else(|| record.refuse(j, "UTF-8"));
        let q = *queries.get(&*word(query)?).ok_or_else(|| record.refuse(query, "a query of the data"))?;
        let row = set.find_document(q, &word(document)?);
        let row = row.map_err(|_| record.refuse(document, format!("a document of query {:?}", set.query(q))))?;
        let most = set.span(q).len();
        let whole = record.number(place).filter(|x| x.fract() == 0.0 && (1.0..=most as f64).contains(x));
        let number = whole.ok_or_else(|| record.refuse(place, format!("a place from 1 to {most}")))?;
        set.pin_row(q, row, number as usize).map_err(|error| match error {
            Error::Data { expected, .. } => record.refuse(place, expected),
            other => other,
        })?;
    }
    Ok(())
}
