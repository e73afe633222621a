//! Logs of features: answers of Elasticsearch, OpenSearch and Solr.

use super::{Foreign, ForeignTable};
use crate::data::notes;
use crate::data::rank::trec;
use crate::data::room;
use crate::data::source::{control, plain_name, read_at_most};
use crate::data::strings::{short, visible};
use crate::data::table::Role;
use crate::error::{Error, Result, Way};
use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The most bytes of a file, unpacked: several files can be given.
const LONGEST: usize = 1 << 30;
/// What a cell of a table takes, with its text.
const CELL: u64 = 48;

/// A document with the features of its log: (log, feature, value).
struct Hit {
    query: String,
    id: String,
    features: Vec<(String, String, Option<f64>)>,
}

pub(super) fn read(files: &[PathBuf], from: Foreign, qrels: Option<&Path>) -> Result<ForeignTable> {
    let mut hits = vec![];
    for path in files {
        answers(path, from, &mut hits)?;
    }
    let grades = qrels.map(trec::read_grades).transpose()?;
    let path = || files.first().cloned().unwrap_or_default();
    let refuse = |expected: &str, found: String| Err(Error::Content { path: path(), expected: expected.into(), found });
    // columns in the order in which they come
    let logs: HashSet<&str> = hits.iter().flat_map(|hit| &hit.features).map(|(log, ..)| log.as_str()).collect();
    let several = logs.len() > 1;
    let named = |log: &str, name: &str| if several { format!("{log}.{name}") } else { name.to_owned() };
    let (mut names, mut places) = (vec![], HashMap::new());
    for (log, name, _) in hits.iter().flat_map(|hit| &hit.features) {
        let name = named(log, name);
        if !places.contains_key(&name) {
            places.insert(name.clone(), names.len());
            names.push(name);
        }
    }
    let mut taken = vec![Role::Query, Role::Document, Role::Weight];
    taken.extend(grades.is_none().then_some(Role::Label));
    let has_meaning = |name: &&String| {
        let usual = taken.iter().any(|role| name.eq_ignore_ascii_case(role.names()[0]));
        usual || name.eq_ignore_ascii_case("label") || name.is_empty() || name.trim_ascii() != name.as_str()
    };
    if let Some(name) = names.iter().find(has_meaning) {
        return refuse(
            "names of features that mean nothing else in a table (not qid, docid, weight, label)",
            format!("{:?}", short(name)),
        );
    }
    if let Some(name) = names.iter().find(|name| control(name.as_bytes()).is_some()) {
        return refuse("names of features without control characters", format!("{:?}", short(name)));
    }
    let mut table = ForeignTable::default();
    table.header.extend(grades.is_some().then(|| "label".to_owned()));
    table.header.extend(["qid".to_owned(), "docid".to_owned()]);
    let first = table.header.len();
    table.header.extend(names);
    // every document has a cell for each feature of any document
    let cells = (hits.len() as u64).saturating_mul(table.header.len() as u64);
    room::need(&path(), "read", cells.saturating_mul(CELL))?;
    let mut seen = HashSet::new();
    for hit in &hits {
        if !seen.insert((&hit.query, &hit.id)) {
            return refuse(
                "each document once in a query",
                format!("{:?} of query {:?} twice", short(&hit.id), short(&hit.query)),
            );
        }
        let mut row = vec![String::new(); table.header.len()];
        if let Some(grades) = &grades {
            let grade = grades.get(&(hit.query.clone(), hit.id.clone()));
            table.unjudged += usize::from(grade.is_none());
            row[0] = grade.copied().unwrap_or(0.0).to_string();
        }
        row[first - 2].clone_from(&hit.query);
        row[first - 1].clone_from(&hit.id);
        let mut own = HashSet::new();
        for (log, name, value) in &hit.features {
            let at = first + places[&named(log, name)];
            if !own.insert(at) {
                return refuse(
                    "each feature once in a document",
                    format!("{:?} of {:?} twice", short(name), short(&hit.id)),
                );
            }
            row[at] = value.map_or(String::new(), |value| value.to_string());
        }
        table.missing += row[first..].iter().filter(|cell| cell.is_empty()).count();
        table.rows.push(row);
    }
    Ok(table)
}

/// Where the JSON documents of a text stand, one after another. What is wrong begins the last one, and is said where that is read.
fn documents(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut all, mut start) = (vec![], 0);
    let mut stream = Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    while let Some(document) = stream.next() {
        let end = if document.is_ok() { stream.byte_offset() } else { bytes.len() };
        all.push(start..end);
        start = end;
        if document.is_err() {
            break;
        }
    }
    all
}

/// The error of a document that is no JSON, where `before` stands before it.
fn no_json(path: &Path, before: &[u8], error: &serde_json::Error) -> Error {
    let ends = memchr::memchr_iter(b'\n', before).count();
    let first = before.len() - memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    // what is missing behind the end of a line is missing in it
    let (line, column) =
        if error.column() == 0 { (error.line().saturating_sub(1), 0) } else { (error.line(), error.column()) };
    let column = if line <= 1 { first + column } else { column };
    let said = error.to_string();
    Error::Parse {
        path: path.into(),
        line: (ends + line).max(1),
        column: column.max(1),
        expected: "answers of a search engine as JSON, one or one per line".into(),
        found: visible(said.split(" at line ").next().unwrap_or_default()),
    }
}

/// The answers of a file, one JSON document after another.
fn answers(path: &Path, from: Foreign, hits: &mut Vec<Hit>) -> Result<()> {
    let bytes = read_at_most(path, LONGEST, "answers of a search engine")?;
    let stem = plain_name(path).file_stem().map_or_else(|| "query".into(), |stem| stem.to_string_lossy().into_owned());
    let documents = documents(&bytes);
    let several = documents.len() > 1;
    for (n, place) in (1..).zip(documents) {
        let (before, text) = (&bytes[..place.start], &bytes[place]);
        if text.len() > notes::max_line() {
            return Err(Error::Content {
                path: path.into(),
                expected: format!("answers of at most {} bytes each", notes::max_line()),
                found: format!("a longer one, answer {n}"),
            }
            .or(Way::new("max-line", ["BYTES"], "takes longer ones")));
        }
        room::for_json(path, text)?;
        let answer: Value = serde_json::from_slice(text).map_err(|error| no_json(path, before, &error))?;
        let wrong = |expected: String, found: &Value| Error::Content {
            path: path.into(),
            expected: format!("{expected}, in answer {n}"),
            found: visible(&found.to_string()),
        };
        let (list, what) = match from {
            Foreign::Solr => (&answer["response"]["docs"], "response.docs"),
            _ => (&answer["hits"]["hits"], "hits.hits"),
        };
        let Some(list) = list.as_array() else { return Err(wrong(format!("a list {what}"), &answer)) };
        let params = &answer["responseHeader"]["params"];
        let of_solr = (from == Foreign::Solr).then_some(&params["q"]);
        let told = std::iter::once(&answer["qid"]).chain(of_solr);
        let usual = if several { format!("{stem}-{n}") } else { stem.clone() };
        let query = told.into_iter().find_map(id).unwrap_or(usual);
        for hit in list {
            let key = if from == Foreign::Solr { "id" } else { "_id" };
            let id = id(&hit[key]).ok_or_else(|| wrong(format!("an id {key:?} for each document"), hit))?;
            let features = if from == Foreign::Solr { solr(hit) } else { elastic(hit) };
            let features = features.map_err(|expected| wrong(expected, hit))?;
            hits.push(Hit { query: query.clone(), id, features });
        }
    }
    Ok(())
}

/// An id, which is text or a whole number; neither empty nor with blanks around it.
fn id(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_u64() || number.is_i64() => number.to_string(),
        _ => return None,
    };
    (!text.is_empty() && text.trim_ascii() == text && !text.contains(char::is_control)).then_some(text)
}

type Features = std::result::Result<Vec<(String, String, Option<f64>)>, String>;

/// `fields._ltrlog[0].LOG = [{"name", "value"}]`.
fn elastic(hit: &Value) -> Features {
    let logs = hit["fields"]["_ltrlog"][0].as_object();
    let logs = logs.ok_or("features in fields._ltrlog (ask with ext.ltr_log)")?;
    let mut out = vec![];
    for (log, list) in logs {
        for feature in list.as_array().ok_or("a list of features in each log")? {
            let name = feature["name"].as_str().ok_or("a name for each feature")?;
            let value = match &feature["value"] {
                Value::Null => None,
                value => Some(value.as_f64().ok_or_else(|| format!("a number for {name:?}"))?),
            };
            out.push((log.clone(), name.to_owned(), value));
        }
    }
    Ok(out)
}

/// `"[features]": "a=1,b=2"`, of old versions `"a:1;b:2"`.
fn solr(hit: &Value) -> Features {
    let text = ["[features]", "features"].iter().find_map(|key| hit[*key].as_str());
    let text = text.ok_or("a text \"[features]\" (ask with fl=id,[features])")?;
    let (between, is) = if text.contains('=') { (',', '=') } else { (';', ':') };
    let mut out = vec![];
    for part in text.split(between).filter(|part| !part.is_empty()) {
        let both = part.rsplit_once(is).and_then(|(name, value)| Some((name, value.parse::<f64>().ok()?)));
        let (name, value) = both.filter(|(_, value)| value.is_finite()).ok_or("features as name=value,name=value")?;
        out.push((String::new(), name.to_owned(), Some(value)));
    }
    Ok(out)
}
