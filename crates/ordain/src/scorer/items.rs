//! Scores of documents that are items which several queries share, and links between them.

use crate::pieces::Pieces;
use crate::scorer::rows::{Rows, Work};
use crate::traits::Scorer;
use std::ops::Range;

/// The item of a document that no parameter is for.
pub const NO_ITEM: u32 = u32::MAX;

/// Which items the documents of some queries are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemIndex {
    /// Number of items.
    pub items: usize,
    /// The core: items that are linked with all items.
    pub core: Vec<u32>,
    /// The item of each document, query after query; [`NO_ITEM`] where there is none.
    of: Vec<u32>,
    ends: Vec<usize>,
    /// The documents of each query that are in the core, as (place in the core, document), query after query.
    inside: Vec<(u32, u32)>,
    inside_ends: Vec<usize>,
}

impl ItemIndex {
    /// An index of no query yet.
    pub fn new(items: usize, core: Vec<u32>) -> Self {
        Self { items, core, ..Self::default() }
    }

    /// Adds a query by the items of its documents, each of them at most once.
    pub fn push(&mut self, of: impl IntoIterator<Item = u32>) {
        let start = self.of.len();
        self.of.extend(of);
        self.ends.push(self.of.len());
        for (c, core) in self.core.iter().enumerate() {
            if let Some(document) = self.of[start..].iter().position(|item| item == core) {
                self.inside.push((c as u32, document as u32));
            }
        }
        self.inside_ends.push(self.inside.len());
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no query.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The items of the documents of query `n`.
    pub fn of(&self, n: usize) -> &[u32] {
        &self.of[if n == 0 { 0 } else { self.ends[n - 1] }..self.ends[n]]
    }

    /// The documents of query `n` that are in the core, as (place in the core, document), in the order of the core.
    pub fn inside(&self, n: usize) -> &[(u32, u32)] {
        &self.inside[if n == 0 { 0 } else { self.inside_ends[n - 1] }..self.inside_ends[n]]
    }

    /// Biases and links: a bias per item, then a row of links per core item.
    pub fn dim(&self) -> usize {
        self.items * (1 + self.core.len())
    }
}

/// `s_i = w·x_i + b_item(i)` of the documents of a query, and after them a row of links `g_ci` per core item that is in the query.
///
/// The parameters are those of the rows, then biases and links as [`ItemIndex::dim`] has them. A document without an item has the bias 0 and no
/// links. O(values), and O(documents) per core item of the query.
pub struct Items<'a> {
    rows: &'a Rows<'a>,
    index: &'a ItemIndex,
    ends: Vec<usize>,
}

impl<'a> Items<'a> {
    /// The scores of rows whose queries the index has, in the same order.
    pub fn new(rows: &'a Rows<'a>, index: &'a ItemIndex) -> Self {
        assert_eq!(rows.len(), index.len());
        let ends = (0..index.len()).scan(0, |end, n| {
            *end += index.of(n).len() * (1 + index.inside(n).len());
            Some(*end)
        });
        Self { rows, ends: ends.collect(), index }
    }

    /// Each score with the place of its parameter after those of the rows; of documents without an item there is none. The link of two core
    /// items is that of the one which comes first in the core.
    fn each(&self, n: usize, mut visit: impl FnMut(usize, usize)) {
        let (of, items, from) = (self.index.of(n), self.index.items, self.rows.dim());
        let known = || of.iter().enumerate().filter(|(_, item)| **item != NO_ITEM);
        known().for_each(|(i, &item)| visit(i, from + item as usize));
        let inside = self.index.inside(n);
        for (row, &(c, _)) in inside.iter().enumerate() {
            let (at, links) = ((row + 1) * of.len(), from + (1 + c as usize) * items);
            let others = known().filter(|(i, _)| inside[..=row].iter().all(|&(_, core)| core as usize != *i));
            others.for_each(|(i, &item)| visit(at + i, links + item as usize));
        }
    }
}

impl Scorer for Items<'_> {
    type Work = Work;

    fn dim(&self) -> usize {
        self.rows.dim() + self.index.dim()
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn span(&self, n: usize) -> Range<usize> {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        start..self.ends[n]
    }

    fn pieces(&self) -> Pieces {
        self.rows.pieces()
    }

    fn unit(&self, n: usize) -> usize {
        self.rows.unit(n)
    }

    fn scores(&self, n: usize, theta: &[f64], s: &mut [f64], work: &mut Work) {
        let (own, links) = s.split_at_mut(self.index.of(n).len());
        self.rows.scores(n, &theta[..self.rows.dim()], own, work);
        links.fill(0.0);
        self.each(n, |at, parameter| s[at] += theta[parameter]);
    }

    fn pull_back(&self, n: usize, d: &[f64], grad: &mut [f64], work: &mut Work) {
        let own = &d[..self.index.of(n).len()];
        self.rows.pull_back(n, own, &mut grad[..self.rows.dim()], work);
        self.each(n, |at, parameter| grad[parameter] += d[at]);
    }
}
