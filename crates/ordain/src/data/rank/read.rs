//! From files to one [`RankSet`]: pieces are parsed in parallel and put together in the order of the file.

use super::{pairs, pins, preferences, scores::read_scores};
use crate::data::layout::{self, Rows};
use crate::data::rank::letor::{Piece, Rules};
use crate::data::rank::rows;
use crate::data::source::{Source, plain_name, read_lines};
use crate::data::strings::{Strings, short};
use crate::data::table::{Format, Roles};
use crate::data::{Cells, Clicks, Columns, Missing, RankSet, Texts};
use crate::error::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Reads files of queries as [`read_rank`] does; tables have the usual names of columns.
pub fn read_parts(parts: &[Vec<PathBuf>], missing: Missing) -> Result<(RankSet, Vec<Range<usize>>)> {
    read_rank(parts, &RankReading { missing, ..RankReading::default() })
}

/// How files of queries are to be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankReading {
    /// What an absent value means.
    pub missing: Missing,
    /// Of a table: which column means what.
    pub roles: Roles,
    /// The features of a model for which a file is read; its roles are those of the model.
    pub model: Option<Vec<String>>,
    /// A table of places that are known beforehand: qid, docid, place.
    pub pins: Option<PathBuf>,
    /// A table of features of pairs of documents: qid, doc_a, doc_b, features.
    pub links: Option<PathBuf>,
    /// A file with the score that each row starts from, one per line in the order of the rows.
    pub start: Option<PathBuf>,
    /// A table of preferences in place of grades: qid, winner, loser, weight.
    pub preferences: Option<PathBuf>,
    /// How clicks of a table become preferences; its rows then have a position and say whether there was a click.
    pub clicks: Option<Clicks>,
    /// Where cells that are no numbers are kept.
    pub texts: Texts,
}

impl RankReading {
    pub(in crate::data) fn keep_missing(&self) -> bool {
        self.missing != Missing::Error
    }
}

/// Reads one file of queries, in which every feature has a value ([`read_rank`] takes several files, gaps, and names of columns).
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("train.txt");
/// # std::fs::write(&path, "2 qid:7 1:0.5 2:3\n0 qid:7 1:0.1 2:4\n").unwrap();
/// let set = ordain::data::read(path)?;
/// assert_eq!((set.len(), set.rows()), (1, 2));
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn read(path: impl Into<PathBuf>) -> Result<RankSet> {
    Ok(read_rank(&[vec![path.into()]], &RankReading::default())?.0)
}

/// Reads files as one set; each part is a list of files, and its queries are a range of the set.
///
/// Within a part a query is known by its id, wherever its rows stand; the same id in two parts means two queries.
/// A file is a table by its name (`.csv`, `.tsv`, `.parquet`, `.feather`), else LETOR / SVMlight text; gzip and zstd are seen by
/// their first bytes. With `missing` other than [`Missing::Error`] gaps are kept as NaN for [`RankSet::fill_missing`].
///
/// Cost: one pass; 8 MB blocks are read while the one before is parsed on all threads. Memory: the set, two blocks
/// and the pieces of one.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("train.txt");
/// std::fs::write(&path, "2 qid:7 1:0.5 2:3 # a\n0 qid:7 1:0.1 2:4 # b\n1 qid:8 1:0.3 2:1 # c\n").unwrap();
/// let (set, parts) = ordain::data::read_rank(&[vec![path]], &Default::default())?;
/// assert_eq!((set.len(), set.rows(), set.features.cols(), parts), (2, 3, 2, vec![0..2]));
/// assert_eq!(set.document(set.span(0).start), "a");
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn read_rank(parts: &[Vec<PathBuf>], reading: &RankReading) -> Result<(RankSet, Vec<Range<usize>>)> {
    let mut builder = Builder { keep_missing: reading.keep_missing(), ..Builder::default() };
    let mut ranges = vec![];
    for part in parts {
        let start = builder.queries.len();
        builder.index.clear();
        for path in part {
            builder.file(path, reading)?;
        }
        ranges.push(start..builder.queries.len());
    }
    reading.texts.finish()?;
    let positions = std::mem::take(&mut builder.positions);
    let mut set = builder.finish(parts)?;
    if let Some(how) = &reading.clicks {
        set = set.with_clicks(&positions, how).map_err(|error| match (error, parts.iter().flatten().next()) {
            (Error::Data { expected, found }, Some(path)) => Error::Content { path: path.clone(), expected, found },
            (other, _) => other,
        })?;
    }
    if let Some(path) = &reading.preferences {
        preferences::read(path, &mut set)?;
    }
    if let Some(path) = &reading.pins {
        pins::read(path, &mut set)?;
    }
    if let Some(path) = &reading.links {
        pairs::read(path, &mut set)?;
    }
    if let Some(path) = &reading.start {
        let scores = read_scores(path, set.rows())?;
        set = set.with_start(&scores)?;
    }
    Ok((set, ranges))
}

/// The rows read so far.
#[derive(Default)]
pub(in crate::data) struct Builder {
    pub(in crate::data) keep_missing: bool,
    grades: Vec<f64>,
    /// Of clicks: the position of each row.
    pub(in crate::data) positions: Vec<u32>,
    ungraded: bool,
    weights: Vec<f64>,
    rows: Rows,
    header: HashMap<u32, String>,
    table: Option<Vec<String>>,
    roles: Roles,
    /// Features of tables that lose much in single precision; those of text are known by their indices.
    pub(in crate::data) coarse: Vec<String>,
    /// Columns whose cells are no numbers.
    pub(in crate::data) cells: Option<Cells>,
    numbered: bool,
    documents: Strings,
    queries: Vec<String>,
    index: HashMap<Box<[u8]>, u32>,
    runs: Vec<(u32, usize)>,
}

impl Builder {
    fn file(&mut self, path: &Path, reading: &RankReading) -> Result<()> {
        let name = plain_name(path);
        let before = self.grades.len();
        match Format::of(path) {
            Some(format) => rows::read(path, format, reading, self)?,
            None if reading.model.is_none() && (!reading.roles.is_empty() || reading.clicks.is_some()) => {
                return Err(Error::Content {
                    path: path.into(),
                    expected: "a table (.csv, .tsv, .parquet or .feather), whose columns have names".into(),
                    found: "LETOR text, which has its own places for grade, query and id".into(),
                });
            }
            None => self.letor(path, &name)?,
        }
        if self.grades.len() == before {
            return Err(Error::Content {
                path: path.into(),
                expected: "rows".into(),
                found: "none: the file is empty".into(),
            });
        }
        if self.grades.len() > u32::MAX as usize {
            return Err(Error::Content {
                path: path.into(),
                expected: "at most 4294967295 rows in all".into(),
                found: "more".into(),
            });
        }
        Ok(())
    }

    fn letor(&mut self, path: &Path, name: &Path) -> Result<()> {
        let mut source = Source::open(path)?;
        let (mut block, mut lines, mut loose, start) = (vec![], 0, 0, self.grades.len());
        let rules = Rules { keep_missing: self.keep_missing, ..Rules::default() };
        source.next_block(&mut block)?;
        layout::pieces(
            &mut source,
            block,
            |piece: &mut Piece, text, look| piece.parse(text, Rules { look, ..rules }),
            |piece| self.take(piece, path, &mut lines, &mut loose),
        )?;
        let rows = self.grades.len() - start;
        if loose == 0 {
            return Ok(());
        }
        if loose < rows {
            return Err(Error::Content {
                path: path.into(),
                expected: "qid:ID in every row or in none".into(),
                found: format!("{loose} of {rows} rows without one"),
            });
        }
        self.sizes(path, name, rows)
    }

    /// Adds the rows of a piece, or refuses the file at the line that is wrong.
    fn take(&mut self, piece: &Piece, path: &Path, lines: &mut usize, loose: &mut usize) -> Result<()> {
        if let Some(problem) = &piece.problem {
            return Err(problem.error(path, *lines));
        }
        *lines += piece.lines;
        *loose += piece.without_query;
        self.piece(piece);
        Ok(())
    }

    fn piece(&mut self, piece: &Piece) {
        let before = self.grades.len();
        if piece.grades.is_empty() {
            self.header.extend(piece.names.iter().cloned());
            return;
        }
        self.numbered = true;
        self.rows.piece(piece);
        self.grades.extend_from_slice(&piece.grades);
        self.header.extend(piece.names.iter().cloned());
        if !piece.documents.is_empty() {
            self.documents.fill_to(before);
            self.documents.append(&piece.documents);
        }
        for (id, &count) in piece.queries.iter().zip(&piece.runs) {
            self.run(id, count);
        }
    }

    fn run(&mut self, id: &[u8], count: usize) {
        if let Some((query, so_far)) = self.runs.last_mut()
            && self.index.get(id) == Some(query)
        {
            *so_far += count;
            return;
        }
        let query = match self.index.get(id) {
            Some(&query) => query,
            None => {
                let query = self.queries.len() as u32;
                self.queries.push(String::from_utf8_lossy(id).into_owned());
                self.index.insert(id.into(), query);
                query
            }
        };
        self.runs.push((query, count));
    }

    /// Queries by the sizes in `FILE.query` or `FILE.group`.
    fn sizes(&mut self, path: &Path, name: &Path, rows: usize) -> Result<()> {
        let beside = |ending: &str| {
            let mut file = name.as_os_str().to_owned();
            file.push(ending);
            PathBuf::from(file)
        };
        let Some(file) = [beside(".query"), beside(".group")].into_iter().find(|file| file.is_file()) else {
            return Err(Error::Content {
                path: path.into(),
                expected: format!(
                    "qid:ID in each row, or the sizes of the queries in {} (or .group)",
                    beside(".query").display()
                ),
                found: "neither".into(),
            });
        };
        let (mut total, mut number) = (0usize, 0);
        for (line, word) in (1..).zip(&read_lines(&file)?) {
            if word.is_empty() {
                continue;
            }
            let size: usize = word.parse().map_err(|_| Error::Parse {
                path: file.clone(),
                line,
                column: 1,
                expected: "the number of rows of a query".into(),
                found: format!("{:?}", short(word)),
            })?;
            total = total.saturating_add(size);
            if total > rows {
                break;
            }
            if size > 0 {
                number = number.max(self.queries.len()) + 1;
                while self.index.contains_key(number.to_string().as_bytes()) {
                    number += 1;
                }
                self.run(number.to_string().as_bytes(), size);
            }
        }
        if total != rows {
            return Err(Error::Content {
                path: file,
                expected: format!("sizes that add up to the {rows} rows of {}", path.display()),
                found: if total > rows { "more".into() } else { total.to_string() },
            });
        }
        Ok(())
    }

    /// The columns of a table: where each of its features goes. Tables after the first are put in its order.
    pub(in crate::data) fn table_columns(
        &mut self,
        path: &Path,
        names: Vec<String>,
        roles: Roles,
    ) -> Result<Vec<usize>> {
        let mut seen = HashSet::new();
        if let Some(twice) = names.iter().enumerate().find(|(_, name)| !seen.insert(name.as_str())) {
            return Err(Error::Content {
                path: path.into(),
                expected: "each column name once".into(),
                found: format!("{:?} twice", short(twice.1)),
            });
        }
        if self.table.is_none() {
            self.roles = roles;
        }
        let first = self.table.get_or_insert_with(|| names.clone());
        let places: HashMap<&str, usize> = first.iter().enumerate().map(|(j, name)| (name.as_str(), j)).collect();
        let order: Option<Vec<usize>> = names.iter().map(|name| places.get(name.as_str()).copied()).collect();
        match order {
            Some(order) if names.len() == first.len() => {
                self.rows.of_table(names.len());
                Ok(order)
            }
            _ => {
                let (old, new): (HashSet<&String>, HashSet<&String>) = (first.iter().collect(), names.iter().collect());
                let only =
                    |a: &[String], b: &HashSet<&String>| a.iter().filter(|name| !b.contains(name)).cloned().collect();
                let differ = Error::Features { missing: only(first, &new), extra: only(&names, &old) };
                let expected = "the columns of the first table".into();
                Err(Error::Content { path: path.into(), expected, found: format!("others: {differ}") })
            }
        }
    }

    /// One row of a table, its features already in order.
    pub(in crate::data) fn table_row(
        &mut self,
        grade: Option<f64>,
        query: &[u8],
        document: Option<&[u8]>,
        weight: Option<f64>,
        row: &[f32],
    ) {
        self.rows.push(row);
        self.ungraded |= grade.is_none();
        self.grades.push(grade.unwrap_or(0.0));
        if let Some(weight) = weight {
            self.weights.resize(self.grades.len() - 1, 1.0);
            self.weights.push(weight);
        }
        if let Some(document) = document {
            self.documents.fill_to(self.grades.len() - 1);
            self.documents.push(document);
        }
        self.run(query, 1);
    }

    fn finish(mut self, parts: &[Vec<PathBuf>]) -> Result<RankSet> {
        let path = parts.iter().flatten().next().cloned().unwrap_or_default();
        if self.table.is_some() && self.numbered {
            return Err(Error::Content {
                path,
                expected: "tables only or LETOR files only".into(),
                found: "both in one data set".into(),
            });
        }
        let rows = self.grades.len();
        let first = path.clone();
        let coarse = self.rows.coarse();
        let (features, ids) = std::mem::take(&mut self.rows).features();
        if ids.is_empty() {
            return Err(Error::Content { path, expected: "features".into(), found: "rows without any".into() });
        }
        let columns = match self.table {
            Some(names) => Columns { roles: self.roles, coarse: self.coarse, cells: self.cells, ..Columns::of(names) },
            None => Columns::of_indices(&ids, &self.header, &coarse),
        };
        let mut seen = HashSet::new();
        if let Some(twice) = columns.names.iter().find(|name| !seen.insert(name.as_str())) {
            let found = format!("{:?} twice", short(twice));
            return Err(Error::Content { path: first, expected: "each column name once".into(), found });
        }
        if !self.documents.is_empty() {
            self.documents.fill_to(rows);
        }
        if !self.weights.is_empty() {
            self.weights.resize(rows, 1.0);
        }
        let mut set = RankSet {
            features,
            columns,
            grades: self.grades,
            graded: !self.ungraded,
            weights: Some(self.weights).filter(|w| !w.is_empty()),
            bounds: vec![],
            queries: self.queries,
            documents: Some(self.documents).filter(|d| !d.is_empty()),
            input: None,
            pins: vec![],
            pairs: None,
            start: None,
            preferences: None,
            place: None,
        };
        set.group(&self.runs);
        Ok(set)
    }
}
