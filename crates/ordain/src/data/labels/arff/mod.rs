//! Mulan ARFF: attributes, then rows of values or, sparse, of `{index value, …}`; an XML file tells which are labels.

mod header;
mod value;

use crate::data::Strings;
use crate::data::columns::once;
use crate::data::labels::arff::header::{Attribute, Kind, Line, Plan, skip};
use crate::data::labels::arff::value::{bit, choice, index, label_expected, numeric, token, weighted};
use crate::data::labels::label_xml;
use crate::data::labels::read::{LabelReading, Part};
use crate::data::labels::set::Lists;
use crate::data::layout::{self, Problem, Refusal};
use crate::data::losses::{Ids, Suspects};
use crate::data::source::extension;
use crate::data::source::{NO_CONTROL, Source, control, plain_name};
use crate::error::{Error, Result, Way};
use crate::matrix::{Csr, Features, Matrix};
use std::path::{Path, PathBuf};

pub(in crate::data) fn read(path: &Path, reading: &LabelReading) -> Result<Part> {
    let labels = labels_of(path, reading);
    let said = reading.known.is_empty() || reading.labels.is_some();
    let labels = if said { Some(labels?) } else { labels.ok() };
    let mut source = Source::open(path)?;
    let (attributes, rest, mut lines) = header(path, &mut source)?;
    let is_there = |name: &String| attributes.iter().any(|attribute| attribute.name == *name);
    let labels = match labels {
        Some(labels) if said || labels.iter().any(is_there) => labels,
        // nothing says which are labels: those that are known
        _ => reading.known.iter().filter(|name| attributes.iter().any(|a| a.is_label(name))).cloned().collect(),
    };
    let plan = Plan::new(attributes, labels).map_err(|(line, expected, found)| match line {
        Some(line) => Error::Parse { path: path.into(), line, column: 1, expected, found },
        None => Error::Content { path: path.into(), expected, found },
    })?;
    once(path, "column", &plan.columns.names)?;
    let mut table = Table { width: plan.columns.names.len(), ..Table::default() };
    let keep = reading.keep_missing();
    layout::pieces(
        &mut source,
        rest,
        |piece: &mut Piece, text, look| piece.parse(text, &plan, keep, look),
        |piece| {
            if let Some(problem) = &piece.problem {
                return Err(problem.error(path, lines));
            }
            lines += piece.lines;
            table.piece(piece);
            Ok(())
        },
    )?;
    let Plan { mut columns, labels, labelled, .. } = plan;
    columns.coarse = table.suspects.coarse().map(|column| columns.names[column as usize].clone()).collect();
    let (yes, unknown) = (table.yes, table.unknown);
    let features = match table.sparse {
        Some(columns) => Features::Sparse(Csr::new(table.ends, columns, table.values, table.width)),
        None => Features::Dense(Matrix::new(table.values, table.width)),
    };
    let (labelled, items) = (Some(labelled), Strings::default());
    Ok(Part { features, columns, loose: false, labels, fixed: true, labelled, yes, unknown, items })
}

/// The labels: from `--labels`, else from the only XML file in the folder of the ARFF file, or of several the one of its name.
fn labels_of(path: &Path, reading: &LabelReading) -> Result<Vec<String>> {
    if let Some(given) = &reading.labels {
        let file = Path::new(given);
        return if extension(file) == "xml" || file.is_file() {
            label_xml::read(file)
        } else {
            LabelReading::names(given)
        };
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut found: Vec<PathBuf> = match std::fs::read_dir(folder) {
        Ok(entries) if path.as_os_str() != "-" => {
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|file| extension(file) == "xml").collect()
        }
        _ => vec![],
    };
    found.sort();
    let own = plain_name(path).with_extension("xml");
    match &found[..] {
        [one] => label_xml::read(one),
        // the listing of a folder may spell it otherwise than the path does
        several if several.iter().any(|file| file.file_name() == own.file_name()) => label_xml::read(&own),
        _ if !path.exists() && path.as_os_str() != "-" => Source::open(path).map(|_| vec![]),
        none_or_some => Err(Error::Content {
            path: path.into(),
            expected: "one .xml file in its folder or one of its name, with the names of the labels".into(),
            found: if none_or_some.is_empty() { "none".into() } else { format!("{} of them", found.len()) },
        }
        .or(Way::new("labels", ["FILE.xml"], "names it"))),
    }
}

/// The attributes, the text behind `@data` that was read already, and the lines before it.
fn header(path: &Path, source: &mut Source) -> Result<(Vec<Attribute>, Vec<u8>, usize)> {
    let (mut attributes, mut block, mut lines) = (vec![], vec![], 0);
    loop {
        source.next_block(&mut block)?;
        if block.is_empty() {
            let expected = "a line @data behind the attributes".into();
            return Err(Error::Content { path: path.into(), expected, found: format!("none in {lines} lines") });
        }
        let mut start = 0;
        while start < block.len() {
            let end = memchr::memchr(b'\n', &block[start..]).map_or(block.len(), |len| start + len);
            let line = &block[start..end];
            lines += 1;
            start = (end + 1).min(block.len());
            match plain(line).and_then(|line| header::line(line, lines)) {
                Err(refusal) => return Err(Problem::new(lines, line, refusal).error(path, 0)),
                Ok(Line::Nothing) => {}
                Ok(Line::Attribute(attribute)) => attributes.push(attribute),
                Ok(Line::Data) => {
                    block.drain(..start);
                    if block.is_empty() {
                        source.next_block(&mut block)?;
                    }
                    return Ok((attributes, block, lines));
                }
            }
        }
    }
}

/// The line without its end; refuses control bytes, but for those of a comment.
fn plain(line: &[u8]) -> std::result::Result<&[u8], Refusal> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match control(line) {
        Some(at) if line[skip(line, 0)..].first() != Some(&b'%') => Err((at, NO_CONTROL.into(), 1)),
        _ => Ok(line),
    }
}

/// The rows of one piece of text.
#[derive(Default)]
struct Piece {
    rows: usize,
    /// Whether a row was sparse: then all have columns and ends.
    sparse: bool,
    values: Vec<f32>,
    columns: Vec<u32>,
    ends: Vec<usize>,
    yes: Vec<u32>,
    yes_ends: Vec<usize>,
    unknown: Vec<u32>,
    unknown_ends: Vec<usize>,
    /// The attributes that a sparse row names.
    named: Vec<u32>,
    /// Columns that may lose much in single precision.
    suspects: Suspects,
    lines: usize,
    problem: Option<Problem>,
}

impl Piece {
    /// Parses whole lines, and looks at the values of some rows in double precision.
    fn parse(&mut self, text: &[u8], plan: &Plan, keep: bool, look: usize) {
        self.clear();
        let mut rest = text;
        while !rest.is_empty() {
            let (line, after) = match memchr::memchr(b'\n', rest) {
                Some(end) => (&rest[..end], &rest[end + 1..]),
                None => (rest, &rest[rest.len()..]),
            };
            rest = after;
            self.lines += 1;
            if let Err(refusal) = plain(line).and_then(|line| self.line(line, plan, keep)) {
                self.problem = Some(Problem::new(self.lines, line, refusal));
                return;
            }
        }
        let (values, columns, ends, sparse) = (&self.values, &self.columns, &self.ends, self.sparse);
        self.suspects.find(self.rows, |row| {
            let span = row.checked_sub(1).map_or(0, |before| ends[before])..ends[row];
            let ids = if sparse { Ids::Listed(&columns[span.clone()]) } else { Ids::From(0) };
            (ids, &values[span])
        });
        if !self.suspects.is_empty() {
            self.look(text, plan, look);
        }
    }

    /// Looks at the numbers of these columns in the first rows in double precision.
    #[cold]
    fn look(&mut self, text: &[u8], plan: &Plan, rows: usize) {
        let lines = text.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
        for line in lines.filter(|line| !matches!(line, [] | [b'%', ..])).take(rows) {
            let (sparse, mut at) = (line[0] == b'{', usize::from(line[0] == b'{'));
            let mut number = 0;
            while at < line.len() {
                at = skip(line, at);
                if sparse {
                    let Ok((index, after)) = index(line, at, plan.kinds.len()) else { break };
                    (number, at) = (index as usize, skip(line, after));
                }
                let Ok((value, after)) = token(line, at, b",}") else { break };
                if let Some(Kind::Number(column)) = plan.kinds.get(number) {
                    self.suspects.look(*column, &value);
                }
                (number, at) = (number + 1, skip(line, after) + 1);
            }
        }
    }

    fn clear(&mut self) {
        (self.rows, self.sparse, self.lines, self.problem) = (0, false, 0, None);
        self.values.clear();
        self.columns.clear();
        self.ends.clear();
        self.yes.clear();
        self.yes_ends.clear();
        self.unknown.clear();
        self.unknown_ends.clear();
    }

    fn line(&mut self, line: &[u8], plan: &Plan, keep: bool) -> std::result::Result<(), Refusal> {
        let at = skip(line, 0);
        match line.get(at) {
            None | Some(b'%') => return Ok(()),
            Some(b'{') => self.sparse_row(line, at + 1, plan, keep)?,
            _ => self.dense_row(line, at, plan, keep)?,
        }
        self.rows += 1;
        self.yes_ends.push(self.yes.len());
        self.unknown_ends.push(self.unknown.len());
        Ok(())
    }

    fn dense_row(&mut self, line: &[u8], mut at: usize, plan: &Plan, keep: bool) -> std::result::Result<(), Refusal> {
        let (start, width) = (self.values.len(), plan.columns.names.len());
        self.values.resize(start + width, 0.0);
        for (number, kind) in plan.kinds.iter().enumerate() {
            let (value, after) = token(line, at, b",")?;
            let next = skip(line, after);
            let last = number + 1 == plan.kinds.len();
            if at >= line.len() || !last && next >= line.len() {
                let expected = format!("{} values, one for each attribute", plan.kinds.len());
                return Err((
                    line.len(),
                    format!("{expected}, but there are {}", number + usize::from(after > at)).into(),
                    1,
                ));
            }
            let row = &mut self.values[start..];
            match kind {
                Kind::Number(column) | Kind::Bit(column, _) => {
                    row[*column as usize] = numeric(kind, &value, at, plan, keep)?;
                }
                Kind::Label(label, _) => match bit(&value) {
                    Some(1) => self.yes.push(*label),
                    Some(_) => {}
                    None if *value == *b"?" => self.unknown.push(*label),
                    None => return Err((at, label_expected(plan, *label), (after - at).max(1))),
                },
                Kind::Choice(column, values) => {
                    let row = &mut row[*column as usize..][..values.len()];
                    match choice(values, &value, at, keep)? {
                        Some(chosen) => row[chosen] = 1.0,
                        None => row.fill(f32::NAN),
                    }
                }
            }
            match line.get(next) {
                None => at = line.len(),
                Some(b',') if !last => at = skip(line, next + 1),
                Some(b',') if line[skip(line, next + 1)..].starts_with(b"{") => return Err(weighted(line, next + 1)),
                _ if last => {
                    let expected = format!("{} values, one for each attribute", plan.kinds.len());
                    return Err((next, expected.into(), 20));
                }
                Some(_) => return Err((next, "a comma between values".into(), 20)),
            }
        }
        if self.sparse {
            self.columns.extend(0..width as u32);
        }
        self.ends.push(self.values.len());
        Ok(())
    }

    fn sparse_row(&mut self, line: &[u8], mut at: usize, plan: &Plan, keep: bool) -> std::result::Result<(), Refusal> {
        if !self.sparse {
            self.sparse = true;
            (0..self.rows).for_each(|_| self.columns.extend(0..plan.columns.names.len() as u32));
        }
        self.named.clear();
        let (start, open, mut sorted) = (self.values.len(), at - 1, true);
        at = skip(line, at);
        while line.get(at) != Some(&b'}') {
            let (index, after) = index(line, at, plan.kinds.len())?;
            sorted &= self.named.last().is_none_or(|&last| last < index);
            self.named.push(index);
            let begin = skip(line, after);
            let (value, after) = token(line, begin, b",}")?;
            self.sparse_value(&plan.kinds[index as usize], &value, begin, plan, keep)?;
            at = skip(line, after);
            match line.get(at) {
                Some(b',') => at = skip(line, at + 1),
                Some(b'}') => {}
                _ => return Err((at, ", or } behind a value".into(), 20)),
            }
        }
        at = skip(line, at + 1);
        match line.get(at) {
            None => {}
            Some(b',') => return Err(weighted(line, at + 1)),
            Some(_) => return Err((at, "the end of the line".into(), 20)),
        }
        if !sorted {
            self.named.sort_unstable();
            if let Some(pair) = self.named.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err((open, format!("each index once in a row, but {} occurs twice", pair[0]).into(), 20));
            }
        }
        for attribute in &plan.standing {
            if self.named.binary_search(attribute).is_err() {
                sorted = false;
                match &plan.kinds[*attribute as usize] {
                    Kind::Label(label, _) => self.yes.push(*label),
                    Kind::Number(column) | Kind::Bit(column, _) | Kind::Choice(column, _) => {
                        self.columns.push(*column);
                        self.values.push(1.0);
                    }
                }
            }
        }
        if !sorted {
            self.sort_row(start);
        }
        self.ends.push(self.values.len());
        Ok(())
    }

    /// Puts the row that begins at `start` into the order of its columns.
    fn sort_row(&mut self, start: usize) {
        let columns = &mut self.columns[start..];
        let mut row: Vec<(u32, f32)> = columns.iter().copied().zip(self.values[start..].iter().copied()).collect();
        row.sort_by_key(|&(column, _)| column);
        for (k, (column, value)) in row.into_iter().enumerate() {
            columns[k] = column;
            self.values[start + k] = value;
        }
    }

    fn sparse_value(
        &mut self,
        kind: &Kind,
        value: &[u8],
        at: usize,
        plan: &Plan,
        keep: bool,
    ) -> std::result::Result<(), Refusal> {
        match kind {
            Kind::Number(column) | Kind::Bit(column, _) => {
                let value = numeric(kind, value, at, plan, keep)?;
                self.columns.push(*column);
                self.values.push(value);
            }
            Kind::Label(label, _) => match bit(value) {
                Some(1) => self.yes.push(*label),
                Some(_) => {}
                None if *value == *b"?" => self.unknown.push(*label),
                None => return Err((at, label_expected(plan, *label), value.len().max(1))),
            },
            Kind::Choice(column, values) => match choice(values, value, at, keep)? {
                Some(chosen) => {
                    self.columns.push(*column + chosen as u32);
                    self.values.push(1.0);
                }
                None => {
                    self.columns.extend((0..values.len() as u32).map(|k| column + k));
                    self.values.extend(values.iter().map(|_| f32::NAN));
                }
            },
        }
        Ok(())
    }
}

/// The rows read so far.
#[derive(Default)]
struct Table {
    width: usize,
    rows: usize,
    values: Vec<f32>,
    ends: Vec<usize>,
    /// The column of each value, once a row was sparse.
    sparse: Option<Vec<u32>>,
    yes: Lists,
    unknown: Lists,
    suspects: Suspects,
}

impl Table {
    fn piece(&mut self, piece: &Piece) {
        self.suspects.merge(&piece.suspects);
        if piece.sparse && self.sparse.is_none() {
            self.sparse = Some((0..self.rows).flat_map(|_| 0..self.width as u32).collect());
        }
        let offset = self.values.len();
        if let Some(columns) = &mut self.sparse {
            if piece.sparse {
                columns.extend_from_slice(&piece.columns);
            } else {
                (0..piece.rows).for_each(|_| columns.extend(0..self.width as u32));
            }
        }
        self.ends.extend(piece.ends.iter().map(|end| offset + end));
        self.values.extend_from_slice(&piece.values);
        self.rows += piece.rows;
        let lists = |into: &mut Lists, values: &[u32], ends: &[usize]| {
            let mut start = 0;
            for &end in ends {
                into.push(&values[start..end]);
                start = end;
            }
        };
        lists(&mut self.yes, &piece.yes, &piece.yes_ends);
        lists(&mut self.unknown, &piece.unknown, &piece.unknown_ends);
    }
}
