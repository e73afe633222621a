//! CSV and TSV with a header: `label`, `qid`, optional `docid` and `weight`; every other column is a feature.

use crate::data::cells::open;
use crate::data::number::{self, Value};
use crate::data::rank::read::Builder;
use crate::data::strings::short;
use crate::error::{Error, Result, Way};
use std::path::Path;

pub(in crate::data) fn read(path: &Path, delimiter: u8, into: &mut Builder) -> Result<()> {
    let (mut rows, header) = open(path, delimiter)?;
    let find = |name: &str| header.iter().position(|h| h == name);
    let (label, document, weight) = (find("label"), find("docid"), find("weight"));
    let query = find("qid").ok_or_else(|| Error::Parse {
        path: path.into(),
        line: 1,
        column: 1,
        expected: "a header with a column named qid for queries (and label, docid, weight; the rest are features), or a column named labels for items".into(),
        found: format!("{:?}", short(&header.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(","))),
    })?;
    let special = [label, document, weight, Some(query)];
    let features: Vec<usize> = (0..header.len()).filter(|&j| !special.contains(&Some(j))).collect();
    let order = into.table_columns(path, features.iter().map(|&j| header[j].clone()).collect())?;
    let mut row = vec![0.0f32; features.len()];
    while let Some(record) = rows.next()? {
        let refuse = |j: usize, expected: String| record.refuse(j, expected);
        let number = |j: usize, what: &str| match fast_float2::parse::<f64, _>(record[j].trim_ascii()) {
            Ok(x) if x.is_finite() => Ok(x),
            _ => Err(refuse(j, format!("{what} (a finite number)"))),
        };
        let grade = label.map(|j| number(j, "a grade")).transpose()?;
        let weight = weight
            .map(|j| {
                number(j, "a weight")
                    .and_then(|x| if x >= 0.0 { Ok(x) } else { Err(refuse(j, "a weight of 0 or more".into())) })
            })
            .transpose()?;
        for (&j, &place) in features.iter().zip(&order) {
            row[place] = match number::whole(record[j].trim_ascii()) {
                Value::Number(x) => x,
                Value::Missing if into.keep_missing => f32::NAN,
                Value::Missing => {
                    return Err(refuse(j, "a value".into()).or(Way::gaps()));
                }
                Value::Bad => return Err(refuse(j, "a finite number".into())),
            };
        }
        let id = record[query].trim_ascii();
        if std::str::from_utf8(id).is_err() {
            return Err(refuse(query, "a query id in UTF-8".into()));
        }
        if id.is_empty() {
            return Err(refuse(query, "a query id".into()));
        }
        into.table_row(grade, id, document.map(|j| record[j].trim_ascii()), weight, &row);
    }
    Ok(())
}
