//! Writing a data set: LETOR text, CSV, TSV, or the grades alone as TREC qrels.

use crate::data::RankSet;
use crate::data::atomic::write_whole;
use crate::data::source::plain_name;
use crate::data::strings::short;
use crate::data::table::csv::{check_writable, headed};
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

/// Writes a set, in the order of its input, in the format that the name of the file asks for.
///
/// `.csv` and `.tsv` are tables, `.qrels` and `.qrel` TREC judgements, everything else LETOR text; `.gz` and `.zst`
/// after that are packed. Numbers are written with the fewest digits that give the same `f32` again.
pub fn write(set: &RankSet, path: &Path) -> Result<()> {
    let mut rows = vec![0u32; set.rows()];
    let mut query_of = vec![0u32; set.rows()];
    for q in 0..set.len() {
        for row in set.span(q) {
            rows[set.input_row(row)] = row as u32;
            query_of[row] = q as u32;
        }
    }
    let rows: Vec<(usize, usize)> = rows.iter().map(|&row| (row as usize, query_of[row as usize] as usize)).collect();
    if let Some(name) = set.columns.names.iter().find(|n| ["label", "qid", "docid", "weight"].contains(&n.as_str()))
        && matches!(plain_name(path).extension().and_then(|e| e.to_str()), Some("csv" | "tsv"))
    {
        return Err(Error::Data {
            expected: "no feature named label, qid, docid or weight".into(),
            found: name.clone(),
        });
    }
    let check = || {
        let documents = (0..set.rows()).filter(|_| set.has_documents()).map(|row| set.document(row));
        check_writable(&set.columns.names, set.queries.iter().map(Cow::from).chain(documents))
    };
    match plain_name(path).extension().and_then(|e| e.to_str()) {
        Some("csv") => check().and_then(|()| write_whole(path, |out| table(set, &rows, b',', out))),
        Some("tsv") => check().and_then(|()| write_whole(path, |out| table(set, &rows, b'\t', out))),
        Some("qrels" | "qrel") => {
            set.need_truth()?;
            check_ids(set)?;
            write_whole(path, |out| {
                rows.iter().try_for_each(|&(row, q)| {
                    writeln!(out, "{} 0 {} {}", set.query(q), set.document(row), set.grades[row])
                })
            })
        }
        Some(other @ ("parquet" | "json" | "jsonl" | "xml" | "arff" | "html" | "ordain" | "run")) => {
            Err(Error::Content {
                path: path.into(),
                expected: "a name that ends in .txt, .csv, .tsv or .qrels, then .gz or .zst to pack it".into(),
                found: format!(".{other}"),
            })
        }
        _ => {
            set.need_truth()?;
            check_ids(set)?;
            if set.weights.is_some() {
                return Err(Error::Data {
                    expected: "rows without weights, for which LETOR text has no place (write .csv or .tsv instead)"
                        .into(),
                    found: "a column of weights".into(),
                });
            }
            if !set.columns.numbered
                && let Some(name) = set
                    .columns
                    .names
                    .iter()
                    .find(|n| n.trim_ascii() != *n || n.is_empty() || n.contains(char::is_control))
            {
                return Err(Error::Data {
                    expected: "columns with names of one line (write .csv or .tsv instead)".into(),
                    found: format!("{:?}", short(name)),
                });
            }
            write_whole(path, |out| letor(set, &rows, out))
        }
    }
}

/// Refuses ids that would fall apart in a format of words.
pub fn check_ids(set: &RankSet) -> Result<()> {
    let broken = |id: &str| id.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#');
    let queries = (0..set.len()).map(|q| set.query(q).to_owned());
    let documents = (0..set.rows()).filter(|_| set.has_documents()).map(|row| set.document(row).into_owned());
    match queries.chain(documents).find(|id| broken(id)) {
        None => Ok(()),
        Some(id) => Err(Error::Data {
            expected: "ids without white space or # for a format of words (write .csv or .tsv instead)".into(),
            found: format!("{:?}", short(&id)),
        }),
    }
}

fn letor(set: &RankSet, rows: &[(usize, usize)], out: &mut dyn Write) -> io::Result<()> {
    let mut index: Vec<usize> = (1..=set.columns.names.len()).collect();
    if set.columns.numbered {
        index = set.columns.names.iter().map(|name| name.parse().unwrap_or(0)).collect();
    } else {
        for (j, name) in set.columns.names.iter().enumerate() {
            writeln!(out, "#{}: {}", j + 1, name.replace(['\n', '\r'], " "))?;
        }
    }
    for &(row, q) in rows {
        write!(out, "{} qid:{}", set.grades[row], set.query(q))?;
        let mut result = Ok(());
        set.features.each(row, |j, x| {
            if result.is_ok() {
                result = write!(out, " {}:{}", index[j], x);
            }
        });
        result?;
        if set.has_documents() {
            write!(out, " #docid = {}", set.document(row))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn table(set: &RankSet, rows: &[(usize, usize)], delimiter: u8, out: &mut dyn Write) -> io::Result<()> {
    let mut head: Vec<&str> = vec![];
    if set.graded {
        head.push("label");
    }
    head.push("qid");
    if set.has_documents() {
        head.push("docid");
    }
    if set.weights.is_some() {
        head.push("weight");
    }
    head.extend(set.columns.names.iter().map(String::as_str));
    let mut out = headed(out, delimiter, head)?;
    let mut values = vec![0.0f32; set.features.cols()];
    let mut text = String::new();
    for &(row, q) in rows {
        let mut field = |x: &dyn std::fmt::Display| {
            use std::fmt::Write as _;
            text.clear();
            write!(text, "{x}").map_err(io::Error::other)?;
            out.write_field(&text).map_err(io::Error::other)
        };
        if set.graded {
            field(&set.grades[row])?;
        }
        field(&set.query(q))?;
        if set.has_documents() {
            field(&set.document(row))?;
        }
        if let Some(weights) = &set.weights {
            field(&weights[row])?;
        }
        values.fill(0.0);
        set.features.each(row, |j, x| values[j] = x);
        values.iter().try_for_each(|x| field(x))?;
        out.write_record(None::<&[u8]>)?;
    }
    out.flush()
}
