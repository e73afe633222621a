//! Multi-label SVMlight text, `label,label index:value… # comment`, with labels counted from 0, and its Extreme
//! Classification variant, whose first line is `items features labels`.

use crate::data::columns::once;
use crate::data::labels::label_xml;
use crate::data::labels::read::{LabelReading, Part};
use crate::data::labels::set::Lists;
use crate::data::layout::{self, Rows, distinct};
use crate::data::rank::letor::{Piece, Rules};
use crate::data::source::extension;
use crate::data::source::{Source, control, read_lines};
use crate::data::strings::short;
use crate::data::{Columns, Strings};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub(in crate::data) fn read(path: &Path, reading: &LabelReading) -> Result<Part> {
    let names = label_names(path, reading)?;
    let mut source = Source::open(path)?;
    let mut block = vec![];
    source.next_block(&mut block)?;
    let counts = counts(&block);
    let mut lines = 0;
    if counts.is_some() {
        block.drain(..memchr::memchr(b'\n', &block).map_or(block.len(), |end| end + 1));
        lines = 1;
        if block.is_empty() {
            source.next_block(&mut block)?;
        }
    }
    if let (Some(counts), Some((file, names))) = (counts, &names)
        && names.len() as u64 != counts[2]
    {
        let expected = format!("{} names, as the first line of {} counts the labels", counts[2], path.display());
        return Err(Error::Content { path: file.clone(), expected, found: names.len().to_string() });
    }
    let limit = |count: Option<u64>| count.map_or(u32::MAX, |n| u32::try_from(n).unwrap_or(u32::MAX));
    let rules = Rules {
        keep_missing: reading.keep_missing(),
        labels: Some(names.as_ref().map_or(limit(counts.map(|c| c[2])), |(_, names)| names.len() as u32)),
        columns: limit(counts.map(|c| c[1])),
        ..Rules::default()
    };
    let mut text = Text::default();
    layout::pieces(
        &mut source,
        block,
        |piece: &mut Piece, text, look| piece.parse(text, Rules { look, ..rules }),
        |piece| {
            if let Some(problem) = &piece.problem {
                return Err(problem.error(path, lines));
            }
            lines += piece.lines;
            text.piece(piece);
            Ok(())
        },
    )?;
    if let Some(counts) = counts
        && counts[0] != text.count as u64
    {
        let expected = format!("{} items, as the first line says", counts[0]);
        return Err(Error::Content { path: path.into(), expected, found: text.count.to_string() });
    }
    text.finish(path, names.map(|(_, names)| names), counts)
}

/// The rows read so far.
#[derive(Default)]
struct Text {
    count: usize,
    rows: Rows,
    yes: Lists,
    items: Strings,
    header: HashMap<u32, String>,
}

impl Text {
    fn piece(&mut self, piece: &Piece) {
        self.header.extend(piece.names.iter().cloned());
        self.rows.piece(piece);
        let mut start = 0;
        for &end in &piece.label_ends {
            self.yes.push(&piece.labels[start..end]);
            start = end;
        }
        if !piece.documents.is_empty() {
            self.items.fill_to(self.count);
            self.items.append(&piece.documents);
        }
        self.count += piece.grades.len();
    }

    fn finish(mut self, path: &Path, names: Option<Vec<String>>, counts: Option<[u64; 3]>) -> Result<Part> {
        // an index that no row names is there where the file says so, unless most indices would be such
        let mut also: Vec<u32> = self.header.keys().copied().collect();
        if let Some([_, columns, _]) = counts
            && columns <= 1024 + 4 * self.rows.stored() as u64
        {
            also.extend(0..columns as u32);
        }
        also.sort_unstable();
        let coarse = self.rows.coarse();
        let (features, ids) = self.rows.sparse_features(&also);
        let columns = Columns::of_indices(&ids, &self.header, &coarse);
        once(path, "column", &columns.names)?;
        let fixed = names.is_some();
        let labels = names.unwrap_or_else(|| numbers(&mut self.yes, counts.map(|c| c[2])));
        if !self.items.is_empty() {
            self.items.fill_to(self.count);
        }
        Ok(Part {
            features,
            columns,
            loose: true,
            labels,
            fixed,
            labelled: (!self.yes.values().is_empty()).then_some(true),
            yes: self.yes,
            unknown: Lists::default(),
            items: self.items,
        })
    }
}

/// Labels named by their numbers: all up to the largest, unless most of them would be on no item.
fn numbers(yes: &mut Lists, count: Option<u64>) -> Vec<String> {
    let ids = distinct(yes.values());
    let ids = if yes.values().is_empty() { vec![] } else { ids };
    let all = count.unwrap_or(ids.last().map_or(0, |&last| u64::from(last) + 1));
    if all <= 1024 + 4 * yes.values().len() as u64 {
        return (0..all).map(|label| label.to_string()).collect();
    }
    yes.renumber(|label| ids.binary_search(&label).unwrap_or(0) as u32);
    ids.iter().map(u32::to_string).collect()
}

/// The three counts of a first line `items features labels`.
pub(in crate::data) fn counts(text: &[u8]) -> Option<[u64; 3]> {
    let line = &text[..memchr::memchr(b'\n', text).unwrap_or(text.len())];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if control(line).is_some() {
        return None;
    }
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let mut number = || {
        let word = words.next().filter(|word| word.bytes().all(|b| b.is_ascii_digit()))?;
        word.parse().ok()
    };
    let counts = [number()?, number()?, number()?];
    words.next().is_none().then_some(counts)
}

/// The names of the labels, one per line: from the file that is given, else from `labels.txt` beside the data.
fn label_names(path: &Path, reading: &LabelReading) -> Result<Option<(PathBuf, Vec<String>)>> {
    let file = match &reading.labels {
        Some(file) => PathBuf::from(file),
        None if path.as_os_str() == "-" => return Ok(None),
        None => match path.with_file_name("labels.txt") {
            file if file.is_file() && file != path => file,
            _ => return Ok(None),
        },
    };
    if extension(&file) == "xml" {
        return label_xml::read(&file).map(|names| Some((file, names)));
    }
    let mut names = read_lines(&file)?;
    while names.pop_if(|last| last.is_empty()).is_some() {}
    if let Some(line) = names.iter().position(|name| name.is_empty() || name.contains(char::is_control)) {
        let (expected, found) = (
            "the name of a label".into(),
            match names[line].as_str() {
                "" => "an empty line".into(),
                name => format!("{:?}", short(name)),
            },
        );
        return Err(Error::Parse { path: file, line: line + 1, column: 1, expected, found });
    }
    if names.is_empty() || names.len() >= u32::MAX as usize {
        let expected = "names of labels, one per line".into();
        return Err(Error::Content { path: file, expected, found: format!("{} names", names.len()) });
    }
    once(&file, "label", &names)?;
    Ok(Some((file, names)))
}
