//! Problems of matching: two sides with edges between them.

use crate::data::columns::{self, write_name};
use crate::data::{Aligned, Columns, Filled, Groups, Missing, Place};
use crate::error::{Error, Result};
use crate::matrix::{Features, Matrix};
use crate::pieces::Pieces;
use std::ops::Range;
use std::sync::Arc;

/// What is known of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// It is not matched.
    No,
    /// It is matched.
    Yes,
    /// Nobody said.
    Unknown,
}

/// One problem: the items of two sides, and the edges that may be matched. An edge that is not listed is forbidden.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problem {
    /// Its id.
    pub name: String,
    /// The ids of the left items.
    pub left: Vec<String>,
    /// The ids of the right items.
    pub right: Vec<String>,
    /// The ends of each edge, ascending by left, then by right item.
    pub edges: Vec<(u32, u32)>,
    /// What is known of each edge.
    pub truth: Vec<Truth>,
    /// Where the left and the right items are, where they are points of the plane.
    pub places: Option<[Vec<[f32; 2]>; 2]>,
}

impl Problem {
    /// Whether of every edge it is known whether it is matched.
    pub fn is_known(&self) -> bool {
        !self.truth.contains(&Truth::Unknown)
    }

    /// The edges that are known to be matched.
    pub fn matched(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        (0..self.truth.len()).filter(|&e| self.truth[e] == Truth::Yes)
    }

    /// The left item with this id.
    pub fn find_left(&self, wanted: &str) -> Result<usize> {
        find("left item", &self.left, wanted)
    }

    /// The right item with this id.
    pub fn find_right(&self, wanted: &str) -> Result<usize> {
        find("right item", &self.right, wanted)
    }

    /// The edge between two items, if it may be matched.
    pub fn find_edge(&self, left: usize, right: usize) -> Option<usize> {
        self.edges.binary_search(&(left as u32, right as u32)).ok()
    }

    /// The edges of a left item.
    pub fn candidates(&self, left: usize) -> Range<usize> {
        let before = |item: usize| self.edges.partition_point(|&(i, _)| (i as usize) < item);
        before(left)..before(left + 1)
    }

    /// What is wrong with it, if something is.
    fn fault(&self) -> Option<String> {
        let inside = |&(i, j): &(u32, u32)| (i as usize) < self.left.len() && (j as usize) < self.right.len();
        if self.truth.len() != self.edges.len() || !self.edges.iter().all(inside) {
            return Some("edges between items that are not there, or without a truth".into());
        }
        if let Some(pair) = self.edges.windows(2).find(|pair| pair[0] >= pair[1]) {
            let (i, j) = pair[1];
            return Some(format!(
                "the edge {} - {} out of order or twice",
                self.left[i as usize], self.right[j as usize]
            ));
        }
        if self.places.as_ref().is_some_and(|[l, r]| l.len() != self.left.len() || r.len() != self.right.len()) {
            return Some("another number of places than of items".into());
        }
        let (mut left, mut right) = (vec![false; self.left.len()], vec![false; self.right.len()]);
        for e in self.matched() {
            let (i, j) = self.edges[e];
            for (taken, name) in
                [(&mut left[i as usize], &self.left[i as usize]), (&mut right[j as usize], &self.right[j as usize])]
            {
                if std::mem::replace(taken, true) {
                    return Some(format!("two matches of {name:?}"));
                }
            }
        }
        None
    }
}

fn find(kind: &'static str, names: &[String], wanted: &str) -> Result<usize> {
    names.iter().position(|name| name == wanted).ok_or_else(|| Error::unknown(kind, wanted, names))
}

/// Problems of matching, a row of features per edge, the edges of a problem adjacent.
///
/// ```
/// use ordain::{data::{Columns, MatchSet, Problem, Truth}, matrix::{Features, Matrix}};
/// let problem = Problem {
///     name: "p".into(),
///     left: vec!["a".into(), "b".into()],
///     right: vec!["x".into()],
///     edges: vec![(0, 0), (1, 0)],
///     truth: vec![Truth::Yes, Truth::No],
///     places: None,
/// };
/// let columns = Columns::named(vec!["likeness".into()]);
/// let set = MatchSet::new(Features::Dense(Matrix::new(vec![0.9, 0.2], 1)), columns, vec![problem])?;
/// assert_eq!((set.len(), set.edges(), set.span(0)), (1, 2, 0..2));
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MatchSet {
    /// One row per edge.
    pub features: Features,
    /// The names of the columns.
    pub columns: Columns,
    problems: Vec<Problem>,
    bounds: Vec<usize>,
    /// Where it stands in a larger set, of a part.
    place: Option<Arc<Place>>,
}

impl<'a> From<&'a MatchSet> for Groups<'a> {
    fn from(set: &'a MatchSet) -> Self {
        Self::new(&set.features, &set.bounds).part_of(set.place.as_deref().map(|place| &place.pieces))
    }
}

impl MatchSet {
    /// A set from its parts: the rows of features are the edges of the problems, one problem after the other.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] where counts do not fit, edges are not ascending and different, or an item has two matches.
    pub fn new(features: Features, columns: Columns, problems: Vec<Problem>) -> Result<Self> {
        let bounds = checked_bounds(&problems)?;
        let edges = bounds[problems.len()];
        if edges != features.rows() || columns.names.len() != features.cols() {
            return Err(Error::Data {
                expected: format!("a row of features for each of {edges} edges, and a name for each column"),
                found: format!(
                    "{} rows of {} columns with {} names",
                    features.rows(),
                    features.cols(),
                    columns.names.len()
                ),
            });
        }
        Ok(Self { features, columns, problems, bounds, place: None })
    }

    /// Problems without the features of their edges: what is known of a set whose rows are elsewhere.
    ///
    /// # Errors
    ///
    /// Those of [`Self::new`].
    pub fn outline(columns: Columns, problems: Vec<Problem>) -> Result<Self> {
        let features = Features::Dense(Matrix::new(vec![], columns.names.len()));
        let bounds = checked_bounds(&problems)?;
        Ok(Self { features, columns, problems, bounds, place: None })
    }

    /// The same problems as a part of a larger set.
    pub(crate) fn placed(mut self, place: Place) -> Self {
        self.place = Some(Arc::new(place));
        self
    }

    /// Consecutive problems alone.
    pub fn part(&self, units: Range<usize>) -> Self {
        let units: Vec<u32> = units.map(|p| p as u32).collect();
        self.only(&units)
    }

    /// Sets one behind the other; they have the same columns.
    pub fn stacked(parts: &[Self], columns: &Columns) -> Self {
        let problems: Vec<Problem> = parts.iter().flat_map(|part| part.problems.iter().cloned()).collect();
        let features = parts.iter().map(|part| part.features.clone()).collect();
        Self {
            features: columns::stacked(features, columns.names.len()),
            columns: columns.clone(),
            bounds: bounds_of(&problems),
            problems,
            place: None,
        }
    }

    /// The rows of edges of some problems that are known to be matched, each by itself.
    pub(crate) fn matched_rows<'a>(&'a self, units: &'a [u32]) -> impl Iterator<Item = Range<usize>> + 'a {
        units.iter().flat_map(|&p| {
            let start = self.bounds[p as usize];
            self.problems[p as usize].matched().map(move |e| start + e..start + e + 1)
        })
    }

    /// Number of problems.
    pub fn len(&self) -> usize {
        self.problems.len()
    }

    /// Whether there is no problem.
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// Number of edges of all problems.
    pub fn edges(&self) -> usize {
        self.bounds[self.len()]
    }

    /// Problem `p`.
    pub fn problem(&self, p: usize) -> &Problem {
        &self.problems[p]
    }

    /// All problems, in order.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The rows of the edges of problem `p`.
    pub fn span(&self, p: usize) -> Range<usize> {
        self.bounds[p]..self.bounds[p + 1]
    }

    /// All problems, as the list that a fit or an evaluation takes.
    pub fn all(&self) -> Vec<u32> {
        (0..self.len() as u32).collect()
    }

    /// The problem with this id.
    pub fn find_problem(&self, wanted: &str) -> Result<usize> {
        let found = self.problems.iter().position(|problem| problem.name == wanted);
        found.ok_or_else(|| Error::unknown("problem", wanted, self.problems.iter().map(|p| &p.name)))
    }

    /// Whether the file says of any edge that it is matched or not.
    pub fn labelled(&self) -> bool {
        self.problems.iter().flat_map(|p| &p.truth).any(|&truth| truth != Truth::Unknown)
    }

    /// Refuses a set in which no edge is known to be matched or not.
    pub fn need_truth(&self) -> Result<()> {
        if self.labelled() {
            return Ok(());
        }
        let names = &self.columns.names;
        let shown = names.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if names.len() > 8 { ", …" } else { "" };
        let features = if names.is_empty() { String::new() } else { format!("; features are {shown}{more}") };
        Err(Error::Data {
            expected: "known matches (of edges a column matched of 0 and 1, of points the same id on both sides)"
                .into(),
            found: format!("{} problems of which nothing is known{features}", self.len()),
        })
    }

    /// A set of some of the problems alone.
    pub fn only(&self, units: &[u32]) -> Self {
        let rows: Vec<u32> = units.iter().flat_map(|&p| self.span(p as usize)).map(|row| row as u32).collect();
        let problems: Vec<Problem> = units.iter().map(|&p| self.problems[p as usize].clone()).collect();
        Self {
            features: self.features.select_rows(&rows),
            columns: self.columns.clone(),
            bounds: bounds_of(&problems),
            problems,
            place: None,
        }
    }

    /// Puts the columns into the order of a model's, by name; see [`crate::data::RankSet::align`].
    pub fn align(&mut self, to: &Columns) -> Result<Aligned> {
        columns::align(&mut self.features, &mut self.columns, to)
    }

    /// Fills gaps of the features as `missing` says; the means of `units`, where they were what was filled in.
    pub fn fill(&mut self, missing: Missing, units: &[u32]) -> Filled {
        let pieces = self.pieces();
        let rows = units.iter().map(|&p| self.bounds[p as usize]..self.bounds[p as usize + 1]);
        columns::fill_as((&mut self.features, &mut self.columns), missing, &pieces, rows)
    }

    /// Puts `means[j]` where a value of column `j` is missing, or 0 without means.
    pub fn fill_missing(&mut self, means: Option<&[f32]>) {
        columns::fill(&mut self.features, means);
    }

    /// How the problems are cut for sums over all of them.
    pub fn pieces(&self) -> Pieces {
        Groups::from(self).pieces()
    }

    /// A digest of the edges themselves: names and features, whatever is known of them.
    pub fn edges_digest(&self) -> String {
        let mut hash = blake3::Hasher::new();
        let mut bytes: Vec<u8> = (self.len() as u64).to_le_bytes().to_vec();
        self.columns.names.iter().for_each(|name| write_name(name, &mut bytes));
        for problem in &self.problems {
            write_name(&problem.name, &mut bytes);
            for side in [&problem.left, &problem.right] {
                bytes.extend_from_slice(&(side.len() as u64).to_le_bytes());
                side.iter().for_each(|name| write_name(name, &mut bytes));
            }
            bytes.extend_from_slice(&(problem.edges.len() as u64).to_le_bytes());
            bytes.extend(problem.edges.iter().flat_map(|(i, j)| [i.to_le_bytes(), j.to_le_bytes()].concat()));
        }
        hash.update(&bytes);
        columns::hash(&self.features, 0..self.features.rows(), &mut hash);
        hash.finalize().to_hex().to_string()
    }

    /// A digest of all that a fit depends on: edges, what is known of them, and features.
    pub fn digest(&self) -> String {
        let pieces = self.pieces();
        self.digest_of_parts(&self.piece_digests(&pieces, 0..pieces.len()))
    }

    /// The digests of a run of its pieces, for [`Self::digest_of_parts`].
    pub(crate) fn digests(&self, run: Range<usize>) -> Vec<[u8; 32]> {
        self.piece_digests(&self.pieces(), run)
    }

    /// The digest of a set by those of all its pieces.
    pub(crate) fn digest_of_parts(&self, pieces: &[[u8; 32]]) -> String {
        let mut head: Vec<u8> = vec![];
        for n in [self.len(), self.columns.names.len()] {
            head.extend_from_slice(&(n as u64).to_le_bytes());
        }
        self.columns.names.iter().for_each(|name| write_name(name, &mut head));
        columns::digest(&head, pieces)
    }

    fn piece_digests(&self, pieces: &Pieces, run: Range<usize>) -> Vec<[u8; 32]> {
        columns::piece_digests(run, |p, hash| {
            let mut bytes: Vec<u8> = vec![];
            for problem in &self.problems[pieces.units(p)] {
                for n in [problem.left.len(), problem.right.len(), problem.edges.len()] {
                    bytes.extend_from_slice(&(n as u64).to_le_bytes());
                }
                for (&(i, j), &truth) in problem.edges.iter().zip(&problem.truth) {
                    bytes.extend_from_slice(&i.to_le_bytes());
                    bytes.extend_from_slice(&j.to_le_bytes());
                    bytes.push(truth as u8);
                }
                hash.update(&bytes);
                bytes.clear();
            }
            columns::hash(&self.features, pieces.rows(p), hash);
        })
    }
}

/// Where the edges of each problem begin, and the end.
fn bounds_of(problems: &[Problem]) -> Vec<usize> {
    let ends = problems.iter().scan(0, |end, problem| {
        *end += problem.edges.len();
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// The same, of problems that are as they should be.
fn checked_bounds(problems: &[Problem]) -> Result<Vec<usize>> {
    let fault = |problem: &Problem| problem.fault().map(|found| (problem.name.clone(), found));
    match problems.iter().find_map(fault) {
        None => Ok(bounds_of(problems)),
        Some((name, found)) => Err(Error::Data {
            expected: format!("problem {name:?}: edges in order, each once, and at most one match of an item"),
            found,
        }),
    }
}
