//! CSV and TSV of edges: `problem`, `left`, `right`, `matched`; every other column is a feature.

use crate::data::cells::Cells;
use crate::data::columns::once;
use crate::data::matches::read::Part;
use crate::data::number::{self, Value};
use crate::data::strings::short;
use crate::data::{Clash, Clashing, Columns, EdgeRows, Truth};
use crate::error::{Error, Result, Way};
use crate::matrix::{Features, Matrix};
use std::path::Path;

/// The columns that are no features.
pub(in crate::data) const SPECIAL: [&str; 4] = ["problem", "left", "right", "matched"];

pub(in crate::data) fn read(
    path: &Path,
    (mut table, header): (Cells, Vec<String>),
    keep_missing: bool,
) -> Result<Part> {
    let find = |name: &str| header.iter().position(|h| h.eq_ignore_ascii_case(name));
    let special = SPECIAL.map(find);
    let [problem, Some(left), Some(right), matched] = special else {
        return Err(crate::data::matches::read::no_format(path, &header));
    };
    once(path, "column", &header)?;
    let features: Vec<usize> = (0..header.len()).filter(|&j| !special.contains(&Some(j))).collect();
    let names: Vec<String> = features.iter().map(|&j| header[j].clone()).collect();
    if let Some(twice) = names.iter().find(|name| SPECIAL.iter().any(|special| name.eq_ignore_ascii_case(special))) {
        let found = format!("{:?} twice", short(twice));
        return Err(Error::Content { path: path.into(), expected: "each column name once".into(), found });
    }
    let (mut values, mut rows, mut lines) = (vec![], EdgeRows::default(), vec![]);
    while let Some(record) = table.next()? {
        let refuse = |j: usize, expected: String| record.refuse(j, expected);
        let text = |j: usize| std::str::from_utf8(record[j].trim_ascii());
        let id = |j: usize| match text(j) {
            Ok("") => Err(refuse(j, format!("the id of a {} item", SPECIAL[if j == left { 1 } else { 2 }]))),
            Err(_) => Err(refuse(j, "an id in UTF-8".into())),
            Ok(id) => Ok(id),
        };
        let name = match problem.map(|j| (j, text(j))) {
            None => "1",
            Some((j, Ok(""))) => return Err(refuse(j, "the name of a problem".into())),
            Some((j, Err(_))) => return Err(refuse(j, "a name in UTF-8".into())),
            Some((_, Ok(name))) => name,
        };
        let truth = match matched.map(|j| (j, record[j].trim_ascii())) {
            None | Some((_, b"")) => Truth::Unknown,
            Some((_, b"0" | b"0.0")) => Truth::No,
            Some((_, b"1" | b"1.0")) => Truth::Yes,
            Some((j, _)) => return Err(refuse(j, "1, 0, or nothing where it is not known".into())),
        };
        rows.push(name, id(left)?, id(right)?, truth);
        lines.push(record.line());
        for &j in &features {
            values.push(match number::whole(record[j].trim_ascii()) {
                Value::Number(x) => x,
                Value::Missing if keep_missing => f32::NAN,
                Value::Missing => {
                    return Err(refuse(j, "a value".into()).or(Way::gaps()));
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
    let (problems, order) = rows.grouped().map_err(|clash| refused(path, &lines, &clash))?;
    let mut features = Features::Dense(Matrix::new(values, names.len()));
    if !names.is_empty() && !order.is_sorted() {
        features.permute_rows(&order);
    }
    let columns = Columns::of(names);
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
