//! From files to one [`LabelSet`]: each file is read by its format, and the parts are joined by the names of columns and labels.

use crate::data::Missing;
use crate::data::columns::stacked;
use crate::data::labels::arff;
use crate::data::labels::multilabel;
use crate::data::labels::rows;
use crate::data::labels::set::Lists;
use crate::data::sniff::kind;
use crate::data::strings::short;
use crate::data::table::{Format, Roles};
use crate::data::{Columns, LabelSet, Strings, Texts};
use crate::error::{Error, Result, Way};
use crate::matrix::Features;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How files of items with labels are to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelReading {
    /// What an absent value means.
    pub missing: Missing,
    /// Where the labels are: an XML file of them (`labels.xml`) for ARFF, names of columns (`sea,sky`) for CSV and TSV,
    /// a file of names (`labels.txt`) for text. Without it: the only XML file in the folder, the column `labels`,
    /// `labels.txt` beside the file.
    pub labels: Option<String>,
    /// Labels that are known already, such as those of a model: where nothing else says what the labels are, columns and
    /// `{0,1}` attributes of these names.
    pub known: Vec<String>,
    /// Of a table: the column whose value is the one label of an item, instead of what `labels` says.
    pub category: Option<String>,
    /// Of a table: which column means what. Ids are in `id`, else in `item`, where there is one.
    pub roles: Roles,
    /// The features of a model for which a file is read; its roles are those of the model.
    pub model: Option<Vec<String>>,
    /// Where cells that are no numbers are kept.
    pub texts: Texts,
}

impl LabelReading {
    pub(in crate::data) fn keep_missing(&self) -> bool {
        self.missing != Missing::Error
    }

    /// Names of columns in a list such as `labels`, between commas; names with commas in quotes.
    pub fn names(text: &str) -> Result<Vec<String>> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(text.as_bytes());
        let names: Vec<String> = match reader.records().next() {
            Some(Ok(record)) => record.iter().map(str::to_owned).collect(),
            _ => vec![],
        };
        let mut seen = HashSet::new();
        if names.is_empty() || !names.iter().all(|name| !name.is_empty() && seen.insert(name.as_str())) {
            return Err(Error::Setting {
                name: "labels".into(),
                expected: "names of columns between commas, each once".into(),
                found: short(text),
            });
        }
        Ok(names)
    }
}

/// What one file holds.
pub(in crate::data) struct Part {
    pub(in crate::data) features: Features,
    pub(in crate::data) columns: Columns,
    /// An index that is absent counts as 0, so that another file may have other columns.
    pub(in crate::data) loose: bool,
    pub(in crate::data) labels: Vec<String>,
    /// The vocabulary is a list of its own, not just the labels that occur.
    pub(in crate::data) fixed: bool,
    /// Whether the file said which labels apply; `None` where that cannot be told.
    pub(in crate::data) labelled: Option<bool>,
    pub(in crate::data) yes: Lists,
    pub(in crate::data) unknown: Lists,
    /// Ids of the items; empty where there are none.
    pub(in crate::data) items: Strings,
}

/// Reads files of items with labels as one set; each part is a list of files, and its items are a range of the set.
///
/// A file is ARFF (`.arff`) or a table (`.csv`, `.tsv`, `.parquet`, `.feather`) by its name, else text
/// `label,label index:value…`; gzip and zstd are seen by their first bytes. Columns and labels are put right by name; files that name others are refused.
/// With `missing` other than [`Missing::Error`] gaps are kept as NaN for [`LabelSet::fill_missing`].
///
/// Cost: one pass over each file, parsed on all threads but for tables.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use ordain::data::{LabelReading, read_labels};
/// let path = dir.path().join("photos.csv");
/// std::fs::write(&path, "id,blue,green,labels\na,0.9,0.1,sky;sea\nb,0.2,0.8,forest\n").unwrap();
/// let (set, parts) = read_labels(&[vec![path]], &LabelReading::default())?;
/// assert_eq!((set.labels.join(" "), parts), ("sky sea forest".into(), vec![0..2]));
/// assert_eq!((set.item(1), set.yes(1)), ("b".into(), &[2][..]));
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn read_labels(parts: &[Vec<PathBuf>], reading: &LabelReading) -> Result<(LabelSet, Vec<Range<usize>>)> {
    let (mut all, mut ranges, mut rows) = (vec![], vec![], 0);
    for part in parts {
        let start = rows;
        for path in part {
            let read = file(path, reading)?;
            rows += read.features.rows();
            all.push((path.as_path(), read));
        }
        ranges.push(start..rows);
    }
    if rows > u32::MAX as usize {
        return Err(Error::Data { expected: "at most 4294967295 items in all".into(), found: rows.to_string() });
    }
    reading.texts.finish()?;
    Ok((join(all)?, ranges))
}

fn file(path: &Path, reading: &LabelReading) -> Result<Part> {
    let content = |expected: &str, found: &str| {
        Err(Error::Content { path: path.into(), expected: expected.into(), found: found.into() })
    };
    let kind = kind(path);
    let of_tables = reading.category.is_some() || reading.model.is_none() && !reading.roles.is_empty();
    let format = Format::named(&kind);
    if of_tables && format.is_none() {
        return content(
            "a table (.csv, .tsv, .parquet or .feather), whose columns can be named as categories, as ids or to be left out",
            "another file",
        );
    }
    let part = match kind.as_str() {
        "arff" => arff::read(path, reading)?,
        "xml" => {
            let way = Way::new("labels", ["FILE.xml"], "takes the XML of the labels, beside a data file");
            return content("a data file", "an .xml file").map_err(|error| error.or(way));
        }
        _ => match format {
            Some(format) => rows::read(path, format, reading)?,
            None => multilabel::read(path, reading)?,
        },
    };
    if part.columns.names.is_empty() {
        return content("features", "items without any");
    }
    if part.features.rows() == 0 {
        return content("items", "none: the file has no rows");
    }
    Ok(part)
}

fn join(mut parts: Vec<(&Path, Part)>) -> Result<LabelSet> {
    if parts.len() <= 1 {
        let Some((_, part)) = parts.pop() else {
            return Err(Error::Data { expected: "files".into(), found: "none".into() });
        };
        let labelled = part.labelled == Some(true);
        let features = (part.features, part.columns);
        return Ok(LabelSet::of_lists(features, part.labels, labelled, (part.yes, part.unknown), part.items));
    }
    let some = |wanted: bool| parts.iter().find(|(_, part)| part.labelled == Some(wanted)).map(|(path, _)| *path);
    if let (Some(with), Some(without)) = (some(true), some(false)) {
        return Err(Error::Content {
            path: without.into(),
            expected: format!("labels, as in {}", with.display()),
            found: "items without them".into(),
        });
    }
    let labelled = some(true).is_some();
    let columns = all_columns(&parts)?;
    let labels = all_labels(&parts)?;
    let (mut yes, mut unknown, mut items, mut rows) = (Lists::default(), Lists::default(), Strings::default(), 0);
    let mut features = vec![];
    let places: HashMap<&str, u32> = columns.names.iter().map(String::as_str).zip(0..).collect();
    let numbers: HashMap<&str, u32> = labels.iter().map(String::as_str).zip(0..).collect();
    for (_, part) in parts {
        let place: Vec<u32> = part.labels.iter().map(|name| numbers[name.as_str()]).collect();
        let n = part.features.rows();
        yes.append(&part.yes, n, &place);
        unknown.append(&part.unknown, n, &place);
        if !part.items.is_empty() {
            items.fill_to(rows);
            items.append(&part.items);
        }
        rows += n;
        features.push(if part.columns.names == columns.names {
            part.features
        } else {
            let mut from = vec![None; columns.names.len()];
            (0..).zip(&part.columns.names).for_each(|(j, name)| from[places[name.as_str()] as usize] = Some(j));
            part.features.select_columns(&from)
        });
    }
    if !items.is_empty() {
        items.fill_to(rows);
    }
    let features = stacked(features, columns.names.len());
    Ok(LabelSet::of_lists((features, columns), labels, labelled, (yes, unknown), items))
}

/// The columns of all parts: those of the first, or all indices where columns are indices and an absent one is 0.
fn all_columns(parts: &[(&Path, Part)]) -> Result<Columns> {
    let shown = |name: &String| short(name).escape_debug().to_string();
    let (path, first) = (parts[0].0, &parts[0].1.columns);
    let mut seen: HashSet<&str> = first.names.iter().map(String::as_str).collect();
    let mut all = first.clone();
    for (other, part) in &parts[1..] {
        let extra: Vec<&String> = part.columns.names.iter().filter(|name| !seen.contains(name.as_str())).collect();
        if first.numbered && part.columns.numbered && (parts[0].1.loose || part.loose) {
            seen.extend(extra.iter().map(|name| name.as_str()));
            all.names.extend(extra.into_iter().cloned());
            continue;
        }
        let here: HashSet<&String> = part.columns.names.iter().collect();
        let missing: Vec<String> = first.names.iter().filter(|name| !here.contains(name)).map(shown).collect();
        if !(extra.is_empty() && missing.is_empty()) {
            let differ = Error::Features { missing, extra: extra.into_iter().map(shown).collect() };
            let expected = format!("the columns of {}", path.display());
            return Err(Error::Content { path: (*other).into(), expected, found: format!("others: {differ}") });
        }
    }
    parts[1..].iter().for_each(|(_, part)| all.also_coarse(&part.columns.coarse));
    if all.names.len() > first.names.len() {
        all.names.sort_by_key(|name| name.parse::<u32>().unwrap_or(u32::MAX));
    }
    Ok(all)
}

/// The vocabulary of all parts: the fixed one, which all must share, else every label that occurs.
fn all_labels(parts: &[(&Path, Part)]) -> Result<Vec<String>> {
    let fixed = parts.iter().find(|(_, part)| part.fixed);
    let (path, first) = fixed.unwrap_or(&parts[0]);
    let mut all = first.labels.clone();
    let mut seen: HashSet<&str> = first.labels.iter().map(String::as_str).collect();
    for (other, part) in parts {
        let extra: Vec<&String> = part.labels.iter().filter(|name| !seen.contains(name.as_str())).collect();
        let differ = match extra.first() {
            Some(name) if fixed.is_some() => Some(format!("{:?}, which is not one of them", short(name))),
            None if part.fixed && part.labels.len() < first.labels.len() => {
                Some(format!("only {} of {}", part.labels.len(), first.labels.len()))
            }
            _ => None,
        };
        if let Some(found) = differ {
            let expected = format!("the labels of {}", path.display());
            return Err(Error::Content { path: (*other).into(), expected, found });
        }
        seen.extend(extra.iter().map(|name| name.as_str()));
        all.extend(extra.into_iter().cloned());
    }
    Ok(all)
}
