//! Writing items with labels: Mulan ARFF with its XML, CSV, TSV, or text with `labels.txt`.

use crate::data::atomic::write_whole;
use crate::data::columns::is_index;
use crate::data::labels::label_xml;
use crate::data::source::extension;
use crate::data::source::{plain_name, read_whole};
use crate::data::strings::short;
use crate::data::table::csv::{check_writable, headed};
use crate::data::{Columns, LabelSet};
use crate::error::{Error, Result};
use crate::matrix::Features;
use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a set in the format that the name of the file asks for.
///
/// `.arff` is Mulan ARFF, sparse where the set is, with the labels in an `.xml` file of the same name (ids of items have
/// no place there); `.csv` and `.tsv` are tables with one column for each label, which `--labels` must name to read
/// them; everything else is text, with the names of the labels in `labels.txt` beside it. `.gz` and `.zst` after that
/// are packed. Numbers are written with the fewest digits that give the same `f32` again.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use ordain::data::{LabelReading, read_labels, synthetic::Scenes, write_labels};
/// let set = Scenes { items: 20, ..Scenes::default() }.make();
/// let path = dir.path().join("scenes.arff");
/// write_labels(&set, &path)?;
/// assert_eq!(read_labels(&[vec![path]], &LabelReading::default())?.0, set);
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn write_labels(set: &LabelSet, path: &Path) -> Result<()> {
    let kind = extension(path);
    match kind.as_str() {
        "arff" => {
            distinct(set)?;
            if set.labels.is_empty() {
                return refuse("labels, which an ARFF file has in an XML file beside it", "a set without a vocabulary");
            }
            names(set, "names that are not empty, without zero bytes", |name| {
                !name.is_empty() && !name.contains('\0')
            })?;
            xml_file(set, path)?;
            write_whole(path, |out| arff(set, out))
        }
        "csv" | "tsv" => {
            distinct(set)?;
            names(set, "names without white space around them", |name| {
                name.trim_start_matches('\u{feff}').trim_ascii() == name
            })?;
            if let Some(name) = set
                .columns
                .names
                .iter()
                .find(|n| ["id", "item", "labels"].iter().any(|special| n.eq_ignore_ascii_case(special)))
            {
                return refuse("no feature named id, item or labels", &format!("{name:?}"));
            }
            let ids = (0..set.len()).filter(|_| set.has_items()).map(|i| set.item(i));
            check_writable(set.columns.names.iter().chain(&set.labels), ids)?;
            write_whole(path, |out| table(set, if kind == "csv" { b',' } else { b'\t' }, out))
        }
        "parquet" | "json" | "jsonl" | "xml" | "html" | "ordain" | "run" | "qrels" | "qrel" => Err(Error::Content {
            path: path.into(),
            expected: "a name that ends in .arff, .csv, .tsv or .txt, then .gz or .zst to pack it".into(),
            found: format!(".{kind}"),
        }),
        _ => {
            check_text(set)?;
            label_file(set, path)?;
            write_whole(path, |out| text(set, out))
        }
    }
}

/// The file of names that [`write_labels`] puts beside a file, where there is one.
///
/// ```
/// use ordain::data::{side_file, synthetic::Scenes};
/// let set = Scenes { items: 20, ..Scenes::default() }.make();
/// assert_eq!(side_file(&set, "a/scenes.arff.gz".as_ref()), Some("a/scenes.xml".into()));
/// assert_eq!(side_file(&set, "a/scenes.csv".as_ref()), None);
/// ```
pub fn side_file(set: &LabelSet, path: &Path) -> Option<PathBuf> {
    match extension(path).as_str() {
        _ if set.labels.is_empty() || path.as_os_str() == "-" => None,
        "arff" => Some(plain_name(path).with_extension("xml")),
        "csv" | "tsv" => None,
        _ => Some(path.with_file_name("labels.txt")),
    }
}

fn refuse(expected: &str, found: &str) -> Result<()> {
    Err(Error::Data { expected: expected.into(), found: found.into() })
}

/// Refuses names of columns or labels that would not come back.
fn names(set: &LabelSet, expected: &str, right: impl Fn(&str) -> bool) -> Result<()> {
    match set.columns.names.iter().chain(&set.labels).find(|name| !right(name)) {
        Some(name) => refuse(expected, &format!("{:?}", short(name))),
        None => Ok(()),
    }
}

/// Refuses a label with the name of a column.
fn distinct(set: &LabelSet) -> Result<()> {
    let mut seen: HashSet<&String> = HashSet::new();
    let both = set.columns.names.iter().chain(set.labels.iter()).find(|name| !seen.insert(name));
    match both {
        Some(name) => refuse(
            "columns and labels with names of their own (write .txt instead)",
            &format!("{:?} twice", short(name)),
        ),
        None => Ok(()),
    }
}

/// How a name stands in an ARFF file.
fn quoted(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.=".contains(&b)) {
        return name.into();
    }
    let mut out = String::from("'");
    for c in name.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\'' | '\\' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out.push('\'');
    out.into()
}

fn arff(set: &LabelSet, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "@relation tags\n")?;
    for name in &set.columns.names {
        writeln!(out, "@attribute {} numeric", quoted(name))?;
    }
    let labels = if set.labelled { &set.labels[..] } else { &[] };
    for name in labels {
        writeln!(out, "@attribute {} {{0,1}}", quoted(name))?;
    }
    writeln!(out, "\n@data")?;
    let sparse = matches!(set.features, Features::Sparse(_));
    let first = set.columns.names.len();
    let mut states = vec![b'0'; labels.len()];
    for i in 0..set.len() {
        states.fill(b'0');
        if set.labelled {
            set.yes(i).iter().for_each(|&label| states[label as usize] = b'1');
            set.unknown(i).iter().for_each(|&label| states[label as usize] = b'?');
        }
        let (mut between, mut result) = ("", Ok(()));
        if sparse {
            write!(out, "{{")?;
        }
        set.features.each(i, |j, x| {
            if result.is_ok() {
                let index = if sparse { format!("{j} ") } else { String::new() };
                result = if x.is_nan() { write!(out, "{between}{index}?") } else { write!(out, "{between}{index}{x}") };
                between = ",";
            }
        });
        result?;
        for (label, &state) in states.iter().enumerate() {
            let state = char::from(state);
            match sparse {
                true if state == '0' => continue,
                true => write!(out, "{between}{} {state}", first + label)?,
                false => write!(out, "{between}{state}")?,
            }
            between = ",";
        }
        writeln!(out, "{}", if sparse { "}" } else { "" })?;
    }
    Ok(())
}

/// Writes the XML of the labels, unless it is there already; refuses to replace one with other names.
fn xml_file(set: &LabelSet, path: &Path) -> Result<()> {
    let file = plain_name(path).with_extension("xml");
    if !file.is_file() {
        return write_whole(&file, |out| xml(set, out));
    }
    let sorted = |mut names: Vec<String>| {
        names.sort_unstable();
        names
    };
    let found = match label_xml::read(&file) {
        Ok(names) if sorted(names.clone()) == sorted(set.labels.clone()) => return Ok(()),
        Ok(_) => "a list of other labels",
        Err(_) => "a file that is no list of labels",
    };
    let expected = "no file, or the same labels (give the data another name, or remove this file)".into();
    Err(Error::Content { path: file, expected, found: found.into() })
}

fn xml(set: &LabelSet, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>")?;
    writeln!(out, "<labels xmlns=\"http://mulan.sourceforge.net/labels\">")?;
    for name in &set.labels {
        write!(out, "<label name=\"")?;
        for c in name.chars() {
            match c {
                '&' | '<' | '>' | '"' | '\'' => write!(out, "&#{};", c as u32)?,
                c if c.is_control() => write!(out, "&#{};", c as u32)?,
                c => write!(out, "{c}")?,
            }
        }
        writeln!(out, "\"></label>")?;
    }
    writeln!(out, "</labels>")
}

fn table(set: &LabelSet, delimiter: u8, out: &mut dyn Write) -> io::Result<()> {
    let labels = if set.labelled { &set.labels[..] } else { &[] };
    let head = set.has_items().then_some("id").into_iter().chain(set.columns.names.iter().map(String::as_str));
    let mut out = headed(out, delimiter, head.chain(labels.iter().map(String::as_str)))?;
    let mut values = vec![0.0f32; set.features.cols()];
    let mut states = vec!["0"; labels.len()];
    let mut text = String::new();
    for i in 0..set.len() {
        if set.has_items() {
            out.write_field(set.item(i).as_bytes())?;
        }
        values.fill(0.0);
        set.features.each(i, |j, x| values[j] = x);
        for &x in &values {
            use std::fmt::Write as _;
            text.clear();
            if !x.is_nan() {
                write!(text, "{x}").map_err(io::Error::other)?;
            }
            out.write_field(&text)?;
        }
        states.fill("0");
        if set.labelled {
            set.yes(i).iter().for_each(|&label| states[label as usize] = "1");
            set.unknown(i).iter().for_each(|&label| states[label as usize] = "?");
        }
        states.iter().try_for_each(|state| out.write_field(state))?;
        out.write_record(None::<&[u8]>)?;
    }
    out.flush()
}

/// Refuses what text of labels cannot say.
fn check_text(set: &LabelSet) -> Result<()> {
    if let Some(i) = (0..set.len()).find(|&i| !set.unknown(i).is_empty()) {
        let label = &set.labels[set.unknown(i)[0] as usize];
        return refuse(
            "labels that are known of every item, for a format that cannot say otherwise (write .arff or .csv instead)",
            &format!("{:?} unknown of item {:?}", short(label), short(&set.item(i))),
        );
    }
    names(set, "names of one line, without white space around them (write .arff instead)", |name| {
        name.trim_ascii() == name && !name.is_empty() && !name.contains(char::is_control)
    })?;
    let broken = |id: &str| id.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#');
    match (0..set.len()).filter(|_| set.has_items()).map(|i| set.item(i)).find(|id| broken(id)) {
        Some(id) => refuse(
            "ids without white space or # for a format of words (write .csv or .tsv instead)",
            &format!("{:?}", short(&id)),
        ),
        None => Ok(()),
    }
}

/// Writes `labels.txt` beside the file, unless it is there already; refuses to replace one with other names.
fn label_file(set: &LabelSet, path: &Path) -> Result<()> {
    if set.labels.is_empty() {
        return Ok(());
    }
    if path.as_os_str() == "-" {
        if set.labels.iter().enumerate().all(|(label, name)| *name == label.to_string()) {
            return Ok(());
        }
        return refuse("the name of a file, since the names of the labels go beside it", "standard output");
    }
    let file = path.with_file_name("labels.txt");
    let all: String = set.labels.iter().flat_map(|name| [name, "\n"]).collect();
    let refuse = |expected: &str, found: &str| {
        Err(Error::Content { path: file.clone(), expected: expected.into(), found: found.into() })
    };
    if file == path {
        return refuse("another name for the data: this one is for the names of the labels", "labels.txt");
    }
    if file.is_file() {
        let there = read_whole(&file)?;
        if String::from_utf8_lossy(&there).lines().map(str::trim_ascii).eq(all.lines()) {
            return Ok(());
        }
        return refuse("no file, or the same labels (choose another folder)", "a list of other labels");
    }
    write_whole(&file, |out| out.write_all(all.as_bytes()))
}

fn text(set: &LabelSet, out: &mut dyn Write) -> io::Result<()> {
    let Columns { names, numbered, .. } = &set.columns;
    let numbers: Vec<u32> = names.iter().filter(|name| is_index(name)).filter_map(|name| name.parse().ok()).collect();
    let numbered = *numbered && numbers.len() == names.len() && numbers.windows(2).all(|pair| pair[0] < pair[1]);
    let index: Vec<u32> = if numbered { numbers } else { (1..=names.len() as u32).collect() };
    if !numbered {
        names.iter().zip(&index).try_for_each(|(name, j)| writeln!(out, "#{j}: {name}"))?;
    }
    // a column that no row stores is lost unless one row says that it is 0
    let mut stored = vec![!numbered; names.len()];
    (0..set.len()).for_each(|i| set.features.each(i, |j, _| stored[j] = true));
    for i in 0..set.len() {
        let (mut between, mut result) = ("", Ok(()));
        for label in set.yes(i) {
            write!(out, "{between}{label}")?;
            between = ",";
        }
        let mut empty = set.yes(i).is_empty();
        set.features.each(i, |j, x| {
            if result.is_ok() {
                result = write!(out, " {}:{x}", index[j]);
            }
            empty = false;
        });
        result?;
        for (j, _) in stored.iter().enumerate().filter(|(_, stored)| i == 0 && !**stored) {
            write!(out, " {}:0", index[j])?;
            empty = false;
        }
        if empty {
            write!(out, " {}:0", index.first().unwrap_or(&1))?; // an empty line would be no item
        }
        if set.has_items() {
            write!(out, " #docid = {}", set.item(i))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
