//! Queries with graded documents.

use crate::data::Groups;
use crate::data::columns::{self, Aligned, Columns, Filled, Missing, write_name};
use crate::data::rank::pairs::DocumentPairs;
use crate::data::rank::preferences::Preferences;
use crate::data::strings::{Strings, short};
use crate::error::{Error, Result};
use crate::matrix::Features;
use crate::pieces::Pieces;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Queries with their documents: one block of features, the rows of a query adjacent.
#[derive(Clone, Debug, PartialEq)]
pub struct RankSet {
    /// One row per document.
    pub features: Features,
    /// The names of the columns.
    pub columns: Columns,
    /// The grade of each document; zeros where the file had none.
    pub grades: Vec<f64>,
    /// Whether the file had grades.
    pub graded: bool,
    /// A weight for each document, where the file gave them.
    pub weights: Option<Vec<f64>>,
    pub(in crate::data) bounds: Vec<usize>,
    pub(in crate::data) queries: Vec<String>,
    pub(in crate::data) documents: Option<Strings>,
    pub(in crate::data) input: Option<Vec<u32>>,
    /// The place that is known of each document, from 1; 0 where it is not. Empty: none is known.
    pub(in crate::data) pins: Vec<u32>,
    /// Features of pairs of documents, where somebody gave them.
    pub(in crate::data) pairs: Option<Arc<DocumentPairs>>,
    /// The score that each document starts from, where somebody gave it.
    pub(in crate::data) start: Option<Vec<f64>>,
    /// Which of two documents is better, in place of grades, where somebody gave that.
    pub(in crate::data) preferences: Option<Arc<Preferences>>,
    /// Where it stands in a larger set, of a part.
    pub(in crate::data) place: Option<Arc<Place>>,
}

/// Where some of the queries stand in the set that they are a part of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// How the whole set is cut, as this part [sees it](Pieces::within).
    pub pieces: Pieces,
    /// The number of its first query.
    pub query: usize,
    /// The number of its first row.
    pub row: usize,
}

impl RankSet {
    /// A row as a person finds it: its query and its document.
    pub(crate) fn place(&self, row: usize) -> String {
        let q = self.bounds.partition_point(|&start| start <= row).saturating_sub(1);
        format!("query {:?}, document {:?}", self.query(q), self.document(row))
    }

    /// A set from its parts; the documents of query `q` are the rows `bounds[q]..bounds[q + 1]`.
    pub fn new(
        features: Features,
        columns: Columns,
        grades: Vec<f64>,
        bounds: Vec<usize>,
        queries: Vec<String>,
    ) -> Result<Self> {
        let rows = features.rows();
        let right = grades.len() == rows
            && columns.names.len() == features.cols()
            && bounds.len() == queries.len() + 1
            && bounds[0] == 0
            && bounds.windows(2).all(|pair| pair[0] <= pair[1])
            && bounds.last() == Some(&rows);
        if !right {
            return Err(Error::Data {
                expected: "features, grades, names and bounds that fit together".into(),
                found: format!(
                    "{rows} rows of {} columns, {} names, {} grades, {} queries with bounds up to {}",
                    features.cols(),
                    columns.names.len(),
                    grades.len(),
                    queries.len(),
                    bounds.last().copied().unwrap_or(0)
                ),
            });
        }
        Ok(Self {
            features,
            columns,
            grades,
            graded: true,
            weights: None,
            bounds,
            queries,
            documents: None,
            input: None,
            pins: vec![],
            pairs: None,
            start: None,
            preferences: None,
            place: None,
        })
    }

    /// The same with names of documents, in the order of the input: an item that several queries rank has one name.
    ///
    /// ```
    /// let set = ordain::data::synthetic::Levels { queries: 1, documents: 1, ..Default::default() }.make();
    /// let set = set.with_documents(&["red", "green", "blue"])?;
    /// assert_eq!(set.document(2), "blue");
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn with_documents<S: AsRef<str>>(mut self, names: &[S]) -> Result<Self> {
        if names.len() != self.rows() {
            return Err(Error::Data {
                expected: format!("a name for each of {} documents", self.rows()),
                found: names.len().to_string(),
            });
        }
        let mut strings = Strings::default();
        (0..self.rows()).for_each(|row| strings.push(names[self.input_row(row)].as_ref().as_bytes()));
        self.documents = Some(strings);
        Ok(self)
    }

    /// The same with a score that each document starts from, in the order of the input: what another model says of it.
    ///
    /// ```
    /// let set = ordain::data::synthetic::Levels { queries: 1, documents: 1, ..Default::default() }.make();
    /// let set = set.with_start(&[0.5, -1.0, 2.0])?;
    /// assert_eq!(set.start(), Some(&[0.5, -1.0, 2.0][..]));
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn with_start(mut self, scores: &[f64]) -> Result<Self> {
        let refuse = |expected: String, found: String| Err(Error::Data { expected, found });
        if scores.len() != self.rows() {
            return refuse(format!("a start score for each of {} documents", self.rows()), scores.len().to_string());
        }
        if let Some((row, score)) = (1..).zip(scores).find(|(_, score)| !score.is_finite()) {
            return refuse("start scores that are finite".into(), format!("{score} for row {row}"));
        }
        self.start = Some((0..self.rows()).map(|row| scores[self.input_row(row)]).collect());
        Ok(self)
    }

    /// The score that each document starts from, in stored order, where somebody gave it.
    pub fn start(&self) -> Option<&[f64]> {
        self.start.as_deref()
    }

    /// A set from rows in any order, row `i` a document of query `of[i]`; the rows of a query are put together, and
    /// where they came from is remembered.
    ///
    /// ```
    /// use ordain::{data::{Columns, RankSet}, matrix::{Features, Matrix}};
    /// let features = Features::Dense(Matrix::new(vec![1.0, 2.0, 3.0], 1));
    /// let columns = Columns::named(vec!["size".into()]);
    /// let queries = vec!["a".into(), "b".into()];
    /// let set = RankSet::of_rows(features, columns, vec![0.0, 1.0, 2.0], &[0, 1, 0], queries)?;
    /// assert_eq!((set.span(0), &set.grades[..], set.input_row(1)), (0..2, &[0.0, 2.0, 1.0][..], 2));
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn of_rows(
        features: Features,
        columns: Columns,
        grades: Vec<f64>,
        of: &[u32],
        queries: Vec<String>,
    ) -> Result<Self> {
        let rows = features.rows();
        if of.len() != rows || of.iter().any(|&q| q as usize >= queries.len()) {
            return Err(Error::Data {
                expected: format!("a query of {} for each of {rows} rows", queries.len()),
                found: format!("{} numbers of queries", of.len()),
            });
        }
        // sizes that fit for now: `group` says which rows belong to which query
        let bounds = (0..queries.len()).map(|_| 0).chain([rows]).collect();
        let mut set = Self::new(features, columns, grades, bounds, queries)?;
        let runs: Vec<(u32, usize)> = of.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
        set.group(&runs);
        Ok(set)
    }

    /// Puts the rows of a query together, given the runs (query, number of rows) that they come in.
    pub(in crate::data) fn group(&mut self, runs: &[(u32, usize)]) {
        let mut sizes = vec![0usize; self.queries.len()];
        runs.iter().for_each(|&(query, count)| sizes[query as usize] += count);
        self.bounds = vec![0];
        self.bounds.extend(sizes.iter().scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        }));
        if runs.windows(2).all(|pair| pair[0].0 <= pair[1].0) {
            return;
        }
        let (mut places, mut from, mut row) = (self.bounds.clone(), vec![0u32; self.rows()], 0u32);
        for &(query, count) in runs {
            for _ in 0..count {
                let place = &mut places[query as usize];
                from[*place] = row;
                *place += 1;
                row += 1;
            }
        }
        let take = |values: &[f64]| from.iter().map(|&i| values[i as usize]).collect::<Vec<f64>>();
        self.features.permute_rows(&from);
        self.grades = take(&self.grades);
        self.weights = self.weights.as_deref().map(take);
        self.start = self.start.as_deref().map(take);
        self.documents = self.documents.as_ref().map(|documents| documents.permuted(&from));
        if !self.pins.is_empty() {
            self.pins = from.iter().map(|&i| self.pins[i as usize]).collect();
        }
        self.input = Some(from);
    }

    /// Number of documents.
    pub fn rows(&self) -> usize {
        self.grades.len()
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether there is no query.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// The rows of query `q`.
    pub fn span(&self, q: usize) -> Range<usize> {
        self.bounds[q]..self.bounds[q + 1]
    }

    /// Whether all documents of query `q` have the same grade, or it has no preferences where these stand in place of grades, so that nothing
    /// in it can be out of order.
    pub fn is_flat(&self, q: usize) -> bool {
        if let Some(preferences) = &self.preferences {
            return preferences.of(self.span(q)).len() == 0;
        }
        let same = |a: f64, b: f64| a.partial_cmp(&b) == Some(std::cmp::Ordering::Equal);
        self.grades[self.span(q)].windows(2).all(|pair| same(pair[0], pair[1]))
    }

    /// The number of query `q` in the whole set: it has the same random numbers there and in a part.
    pub(crate) fn number(&self, q: u32) -> u64 {
        u64::from(q) + self.place.as_ref().map_or(0, |place| place.query as u64)
    }

    /// How the whole set is cut that these queries are a part of; nothing where they are the whole.
    pub(in crate::data) fn whole(&self) -> Option<&Pieces> {
        self.place.as_ref().map(|place| &place.pieces)
    }

    /// The same queries as a part of a larger set.
    pub(crate) fn placed(mut self, place: Place) -> Self {
        self.place = Some(Arc::new(place));
        self
    }

    /// Queries with their numbers of rows and nothing in them: what is known of a set whose rows are elsewhere. Query `q` has the rows
    /// `bounds[q]..bounds[q + 1]`.
    pub fn outline(columns: Columns, bounds: Vec<usize>) -> Self {
        Self {
            features: Features::Dense(crate::matrix::Matrix::new(vec![], columns.names.len())),
            columns,
            grades: vec![],
            graded: true,
            weights: None,
            queries: vec![String::new(); bounds.len().saturating_sub(1)],
            bounds,
            documents: None,
            input: None,
            pins: vec![],
            pairs: None,
            start: None,
            preferences: None,
            place: None,
        }
    }

    /// The same with where each of its rows stood in the input.
    pub fn from_input(mut self, rows: Vec<u32>) -> Self {
        self.input = (rows.len() == self.rows()).then_some(rows);
        self
    }

    /// Consecutive queries alone; their rows are known by their numbers here.
    pub fn part(&self, units: Range<usize>) -> Self {
        let units: Vec<u32> = units.map(|q| q as u32).collect();
        let input = units.iter().flat_map(|&q| self.span(q as usize)).map(|row| self.input_row(row) as u32).collect();
        Self { input: Some(input), ..self.only(&units) }
    }

    /// Sets one behind the other, each with the number of its first row; they have the same columns.
    pub fn stacked(parts: &[(Self, usize)], columns: &Columns) -> Self {
        let mut all = Self::outline(columns.clone(), vec![0]);
        let (mut input, mut weights, mut documents) = (vec![], vec![], Strings::default());
        for (part, row) in parts {
            part.documents.iter().flat_map(Strings::iter).for_each(|name| documents.push(name));
            input.extend((0..part.rows()).map(|own| (part.input_row(own) + row) as u32));
            let start = all.grades.len();
            all.bounds.extend(part.bounds[1..].iter().map(|end| start + end));
            all.grades.extend_from_slice(&part.grades);
            all.queries.extend_from_slice(&part.queries);
            weights.extend(part.weights.iter().flatten().copied());
        }
        let features = parts.iter().map(|(part, _)| part.features.clone()).collect();
        all.features = columns::stacked(features, columns.names.len());
        all.weights = (!weights.is_empty()).then_some(weights);
        all.documents = (documents.len() == all.grades.len()).then_some(documents);
        all.input = Some(input);
        all
    }

    /// The sizes of all queries.
    pub fn sizes(&self) -> impl Iterator<Item = usize> {
        self.bounds.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// The digests of a run of its pieces, for [`Self::digest_of_parts`].
    pub(crate) fn digests(&self, run: Range<usize>) -> Vec<[u8; 32]> {
        self.piece_digests(&self.pieces(), run, false)
    }

    /// The digest of a set by those of all its pieces.
    pub(crate) fn digest_of_parts(&self, rows: usize, weighted: bool, pieces: &[[u8; 32]]) -> String {
        columns::digest(&digest_head(&self.columns, [rows, self.len()], weighted), pieces)
    }

    /// The id of query `q`.
    pub fn query(&self, q: usize) -> &str {
        &self.queries[q]
    }

    /// All queries, as the list that a fit or an evaluation takes.
    pub fn all(&self) -> Vec<u32> {
        (0..self.len() as u32).collect()
    }

    /// A set of some of the queries alone.
    pub fn only(&self, units: &[u32]) -> Self {
        self.some_rows(units, |_| true)
    }

    /// A set of some of the queries, of each only the rows that are wanted.
    pub fn some_rows(&self, units: &[u32], mut wanted: impl FnMut(usize) -> bool) -> Self {
        let (mut rows, mut bounds): (Vec<u32>, Vec<usize>) = (vec![], vec![0]);
        for &q in units {
            rows.extend(self.span(q as usize).filter(|&row| wanted(row)).map(|row| row as u32));
            bounds.push(rows.len());
        }
        let take = |values: &[f64]| rows.iter().map(|&row| values[row as usize]).collect::<Vec<f64>>();
        let mut to: HashMap<u32, Vec<u32>> = HashMap::new();
        if self.pairs.is_some() || self.preferences.is_some() {
            (0..).zip(&rows).for_each(|(new, &old)| to.entry(old).or_default().push(new));
        }
        Self {
            features: self.features.select_rows(&rows),
            columns: self.columns.clone(),
            grades: take(&self.grades),
            graded: self.graded,
            weights: self.weights.as_deref().map(take),
            bounds,
            queries: units.iter().map(|&q| self.queries[q as usize].clone()).collect(),
            documents: self.documents.as_ref().map(|d| d.permuted(&rows)),
            input: None,
            pins: if self.pins.is_empty() { vec![] } else { rows.iter().map(|&row| self.pins[row as usize]).collect() },
            pairs: self.pairs.as_ref().map(|pairs| Arc::new(pairs.of_rows(&to))),
            start: self.start.as_deref().map(take),
            preferences: self.preferences.as_ref().map(|all| Arc::new(all.of_rows(&to))),
            place: None,
        }
    }

    /// The rows of query `q` by the scores of its documents, best first; ties in the order of the input.
    pub fn order(&self, q: usize, scores: &[f64]) -> Vec<usize> {
        let span = self.span(q);
        let mut rows: Vec<usize> = span.clone().collect();
        let score = |row: usize| scores[row - span.start];
        rows.sort_by(|&a, &b| score(b).total_cmp(&score(a)).then(self.input_row(a).cmp(&self.input_row(b))));
        rows
    }

    /// Where a stored row stood in the input, from 0.
    pub fn input_row(&self, row: usize) -> usize {
        self.input.as_ref().map_or(row, |input| input[row] as usize)
    }

    /// The id of a document: the one of the file, else the number of its input row, from 1.
    pub fn document(&self, row: usize) -> Cow<'_, str> {
        match self.documents.as_ref().map(|d| d.get(row)) {
            Some(id) if !id.is_empty() => String::from_utf8_lossy(id),
            _ => Cow::Owned((self.input_row(row) + 1 + self.place.as_ref().map_or(0, |place| place.row)).to_string()),
        }
    }

    /// Says the place of a document, from 1; refuses a place that the query has not, and one that is taken.
    ///
    /// ```
    /// let mut set = ordain::data::synthetic::Orders::default().make();
    /// set.pin("3", "item_8", 1)?;
    /// assert_eq!((set.pinned(23), set.pinned(22)), (Some(1), None));
    /// assert!(set.pin("3", "item_7", 1).is_err());
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn pin(&mut self, query: &str, document: &str, place: usize) -> Result<()> {
        let q = self.find_query(query)?;
        let row = self.find_document(q, document)?;
        self.pin_row(q, row, place)
    }

    /// The same by the number of the query and the stored row.
    pub fn pin_row(&mut self, q: usize, row: usize, place: usize) -> Result<()> {
        let (span, query) = (self.span(q), self.query(q));
        let found = format!("place {place} of {:?}", self.document(row));
        let refuse = |expected: String| Err(Error::Data { expected, found });
        if !(1..=span.len()).contains(&place) || !span.contains(&row) {
            return refuse(format!("a document of query {query:?} and a place from 1 to {}", span.len()));
        }
        let taken = |other: &usize| *other != row && self.pinned(*other) == Some(place);
        if let Some(other) = span.clone().find(taken) {
            return refuse(format!("a free place in query {query:?}, not that of {:?}", self.document(other)));
        }
        if self.pinned(row).is_some_and(|known| known != place) {
            return refuse(format!("one place for each document of query {query:?}"));
        }
        self.pins.resize(self.grades.len(), 0);
        self.pins[row] = place as u32;
        Ok(())
    }

    /// The place of a document that is known beforehand, from 1.
    pub fn pinned(&self, row: usize) -> Option<usize> {
        self.pins.get(row).filter(|&&place| place > 0).map(|&place| place as usize)
    }

    /// Whether the place of any document is known beforehand.
    pub fn has_pins(&self) -> bool {
        !self.pins.is_empty()
    }

    /// Whether the file named its documents.
    pub fn has_documents(&self) -> bool {
        self.documents.is_some()
    }

    /// The row of a document of query `q` by its id, or by its number within the query, from 1.
    pub fn find_document(&self, q: usize, wanted: &str) -> Result<usize> {
        let span = self.span(q);
        if let Some(row) = span.clone().find(|&row| self.document(row) == wanted) {
            return Ok(row);
        }
        let number = wanted.strip_prefix('#').and_then(|n| n.parse::<usize>().ok());
        match number.filter(|n| (1..=span.len()).contains(n)) {
            Some(number) => Ok(span.start + number - 1),
            None => Err(Error::unknown("document", wanted, span.map(|row| self.document(row).into_owned()))),
        }
    }

    /// The query with this id.
    pub fn find_query(&self, wanted: &str) -> Result<usize> {
        self.queries.iter().position(|id| id == wanted).ok_or_else(|| Error::unknown("query", wanted, &self.queries))
    }

    /// What belongs to documents put from stored order into the order of the input; untouched where both are the same.
    pub fn in_input_order<T: Clone + Default>(&self, stored: Vec<T>) -> Vec<T> {
        let Some(input) = &self.input else { return stored };
        let mut out = vec![T::default(); stored.len()];
        for (x, &row) in stored.into_iter().zip(input) {
            out[row as usize] = x;
        }
        out
    }

    /// Refuses a set without grades and without preferences in place of them.
    pub fn need_truth(&self) -> Result<()> {
        if self.graded || self.preferences.is_some() {
            return Ok(());
        }
        Err(Error::Data {
            expected: "grades (a column named label)".into(),
            found: format!("a table with the columns {}", short(&self.columns.names.join(", "))),
        })
    }

    /// Puts the columns into the order of a model's, by name.
    ///
    /// Named columns must be the same set. Of numbered columns an absent one is 0, as the format has it, and one that the
    /// model does not know is left out; the names of both are returned.
    pub fn align(&mut self, to: &Columns) -> Result<Aligned> {
        columns::align(&mut self.features, &mut self.columns, to)
    }

    /// The mean of each column over the values that some queries have; 0 where there is none.
    pub fn column_means(&self, units: &[u32]) -> Vec<f32> {
        columns::means(&self.features, &self.pieces(), units.iter().map(|&q| self.span(q as usize))).0
    }

    /// Fills gaps as `missing` says, with the means of the queries `units` if they are asked for.
    pub fn fill(&mut self, missing: Missing, units: &[u32]) -> Filled {
        let pieces = self.pieces();
        let rows = units.iter().map(|&q| self.bounds[q as usize]..self.bounds[q as usize + 1]);
        columns::fill_as((&mut self.features, &mut self.columns), missing, &pieces, rows)
    }

    /// Puts `means[j]` where a value of column `j` is missing, or 0 without means.
    pub fn fill_missing(&mut self, means: Option<&[f32]>) {
        columns::fill(&mut self.features, means);
    }

    /// How the queries are cut for sums over all of them.
    pub fn pieces(&self) -> Pieces {
        Groups::from(self).pieces()
    }

    /// A digest of the documents themselves: names and features, whichever grades they have.
    pub fn documents_digest(&self) -> String {
        let mut hash = blake3::Hasher::new();
        let mut bytes: Vec<u8> = (self.len() as u64).to_le_bytes().to_vec();
        self.columns.names.iter().for_each(|name| write_name(name, &mut bytes));
        for q in 0..self.len() {
            write_name(self.query(q), &mut bytes);
            bytes.extend_from_slice(&(self.span(q).len() as u64).to_le_bytes());
            self.span(q).for_each(|row| write_name(&self.document(row), &mut bytes));
        }
        hash.update(&bytes);
        columns::hash(&self.features, 0..self.features.rows(), &mut hash);
        hash.finalize().to_hex().to_string()
    }

    /// A digest of all that a fit depends on: queries, grades, preferences, weights, start scores and features.
    pub fn digest(&self) -> String {
        self.digest_of(false)
    }

    /// The same with the names of documents and with features of pairs, of methods that learn from them.
    pub fn linked_digest(&self) -> String {
        self.digest_of(true)
    }

    fn digest_of(&self, linked: bool) -> String {
        let pieces = self.pieces();
        let mut head = digest_head(&self.columns, [self.rows(), self.len()], self.weights.is_some());
        if self.start.is_some() {
            head.extend_from_slice(b"start");
        }
        if let Some(preferences) = &self.preferences {
            head.extend_from_slice(b"preferences");
            preferences.bytes(&mut head);
        }
        if linked {
            head.extend_from_slice(b"linked");
            self.pairs.iter().for_each(|pairs| pairs.bytes(&mut head));
        }
        columns::digest(&head, &self.piece_digests(&pieces, 0..pieces.len(), linked))
    }

    /// The digests of a run of pieces.
    fn piece_digests(&self, pieces: &Pieces, run: Range<usize>, linked: bool) -> Vec<[u8; 32]> {
        columns::piece_digests(run, |p, hash| {
            let (rows, mut bytes) = (pieces.rows(p), vec![]);
            for q in pieces.units(p) {
                write_name(&self.queries[q], &mut bytes);
                bytes.extend_from_slice(&(self.span(q).len() as u64).to_le_bytes());
            }
            for list in [Some(&self.grades), self.weights.as_ref(), self.start.as_ref()].into_iter().flatten() {
                bytes.extend(list[rows.clone()].iter().flat_map(|x| x.to_le_bytes()));
            }
            if linked && self.has_documents() {
                rows.clone().for_each(|row| write_name(&self.document(row), &mut bytes));
            }
            hash.update(&bytes);
            columns::hash(&self.features, rows, hash);
        })
    }
}

/// What a digest begins with: rows, queries, columns, whether there are weights, and the names of columns.
fn digest_head(columns: &Columns, [rows, queries]: [usize; 2], weighted: bool) -> Vec<u8> {
    let mut head: Vec<u8> = vec![];
    for n in [rows as u64, queries as u64, columns.names.len() as u64, u64::from(weighted)] {
        head.extend_from_slice(&n.to_le_bytes());
    }
    columns.names.iter().for_each(|name| write_name(name, &mut head));
    head
}
