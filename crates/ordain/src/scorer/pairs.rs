//! Scores of documents, and links between documents by features of pairs.

use crate::data::DocumentPairs;
use crate::pieces::Pieces;
use crate::scorer::rows::{Rows, Work};
use crate::traits::Scorer;
use std::ops::Range;

/// The features of the links of some queries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairIndex {
    /// Number of features of a pair.
    pub features: usize,
    /// Documents of each query, and core documents of each.
    sizes: Vec<usize>,
    cores: Vec<Vec<u32>>,
    /// Links of core documents, query after query: the place among the links of the query (a row of all documents per core document), and
    /// the features, which were multiplied by a factor each.
    at: Vec<u32>,
    values: Vec<f64>,
    ends: Vec<usize>,
}

impl PairIndex {
    /// An index of no query yet.
    pub fn new(features: usize) -> Self {
        Self { features, ..Self::default() }
    }

    /// Adds a query by its rows and its core documents. Each feature is multiplied by its factor. Core documents without a link are left
    /// out: they change no order.
    pub fn push(&mut self, pairs: &DocumentPairs, span: Range<usize>, core: &[u32], factors: &[f64]) {
        let n = span.len();
        let listed: Vec<(usize, usize, &[f64])> =
            pairs.of(span.clone()).map(|(a, b, values)| (a - span.start, b - span.start, values)).collect();
        let core = linked(&listed, core);
        for (a, b, values) in listed {
            let place = |i: usize| core.iter().position(|&c| c as usize == i);
            // a pair inside the core stands in the row of the one that comes first in the core
            let (c, other) = match (place(a), place(b)) {
                (Some(c), Some(d)) if d < c => (d, a),
                (Some(c), _) => (c, b),
                (None, Some(d)) => (d, a),
                (None, None) => continue,
            };
            self.at.push((c * n + other) as u32);
            self.values.extend(values.iter().zip(factors).map(|(x, factor)| x * factor));
        }
        self.sizes.push(n);
        self.cores.push(core);
        self.ends.push(self.at.len());
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there is no query.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// The core documents of query `n`.
    pub fn core(&self, n: usize) -> &[u32] {
        &self.cores[n]
    }

    /// The links of query `n`, each with its features.
    fn each(&self, n: usize) -> impl Iterator<Item = (usize, &[f64])> {
        let range = (if n == 0 { 0 } else { self.ends[n - 1] })..self.ends[n];
        let width = self.features;
        range.map(move |at| (self.at[at] as usize, &self.values[at * width..(at + 1) * width]))
    }

    /// Adds the links of query `n` to a row of all documents per core document.
    pub fn add_links(&self, n: usize, v: &[f64], g: &mut [f64]) {
        self.each(n).for_each(|(at, values)| g[at] += dot(values, v));
    }
}

/// The documents of a core that have links at all.
fn linked(listed: &[(usize, usize, &[f64])], core: &[u32]) -> Vec<u32> {
    let any = |c: &&u32| listed.iter().any(|&(a, b, _)| a == **c as usize || b == **c as usize);
    core.iter().filter(any).copied().collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `s_i = w·x_i` of the documents of a query, and after them a row of links `g_ci = v·z_ci` per core document, z the features of the pair.
///
/// The parameters are those of the rows, then v. A pair without features has no link. O(values).
pub struct Pairs<'a> {
    rows: &'a Rows<'a>,
    index: &'a PairIndex,
    ends: Vec<usize>,
}

impl<'a> Pairs<'a> {
    /// The scores of rows whose queries the index has, in the same order.
    pub fn new(rows: &'a Rows<'a>, index: &'a PairIndex) -> Self {
        assert_eq!(rows.len(), index.len());
        let ends = (0..index.len()).scan(0, |end, n| {
            *end += index.sizes[n] * (1 + index.core(n).len());
            Some(*end)
        });
        Self { rows, ends: ends.collect(), index }
    }
}

impl Scorer for Pairs<'_> {
    type Work = Work;

    fn dim(&self) -> usize {
        self.rows.dim() + self.index.features
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
        let (own, links) = s.split_at_mut(self.index.sizes[n]);
        let (w, v) = theta.split_at(self.rows.dim());
        self.rows.scores(n, w, own, work);
        links.fill(0.0);
        self.index.add_links(n, v, links);
    }

    fn pull_back(&self, n: usize, d: &[f64], grad: &mut [f64], work: &mut Work) {
        let (own, links) = d.split_at(self.index.sizes[n]);
        let (w, v) = grad.split_at_mut(self.rows.dim());
        self.rows.pull_back(n, own, w, work);
        for (at, values) in self.index.each(n) {
            v.iter_mut().zip(values).for_each(|(v, x)| *v += links[at] * x);
        }
    }
}
