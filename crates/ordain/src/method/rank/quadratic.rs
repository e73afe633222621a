//! What a ranker with links has beside its weights, and the orders that it gives.

use super::quadrank::{best_documents, find, named_documents};
use crate::data::RankSet;
use crate::error::{Error, Result};
use crate::scorer::items::{ItemIndex, NO_ITEM};
use crate::scorer::pairs::PairIndex;
use crate::structure::ranking::{Links, MOST_CORE, Problem, Sums, Work};
pub use crate::surrogate::ranking::{PlaceDesign, Places};
use std::collections::HashSet;

/// Items with a bias, and links between a core of them and all others: with the score `s_i = w·x_i + b_item(i)` of each document
/// the documents of a query stand in the order of the largest
///
/// ```text
/// f(π) = Σ_i s_i c(π_i) + Σ_{c in the core, i} g_ci D(π_c, π_i)
/// ```
///
/// \[QAP\] Eqs. (4), (5), over the head places and the tail, or over whole rankings. An item that the model does not know has the bias 0 and no links.
#[derive(Clone, Debug, PartialEq)]
pub struct Quadratic {
    /// Head places, what they are worth, and the design.
    pub places: Places,
    /// Which order it gives.
    pub order: GivenOrder,
    /// The items by name, ascending.
    pub items: Vec<String>,
    /// A bias per item.
    pub biases: Vec<f64>,
    /// The core, by item.
    pub core: Vec<u32>,
    /// A row of links to all items per core item; a pair inside the core is read from the row of the one that comes first.
    pub links: Vec<f64>,
    /// Links between documents by features of pairs; then there are no items.
    pub pairs: Option<PairLinks>,
}

/// Links between documents of a query, whatever their names: `g_ci = v·z_ci`, with z the features of the pair. Pairs that have none are not
/// linked.
#[derive(Clone, Debug, PartialEq)]
pub struct PairLinks {
    /// The features of pairs, by name.
    pub names: Vec<String>,
    /// A weight `v` for each, per unit of the feature as it is given.
    pub weights: Vec<f64>,
    /// Which documents are the core of a query.
    pub core: PairCore,
}

/// Which documents of a query are linked with all others.
#[derive(Clone, Debug, PartialEq)]
pub enum PairCore {
    /// So many with the largest scores by weights of their own: those of the same fit without links.
    Best {
        /// How many.
        size: usize,
        /// A weight for each feature of a document, on the scale of the model.
        weights: Vec<f64>,
    },
    /// Those with one of these names.
    Named(Vec<String>),
}

impl PairLinks {
    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        let first = if let PairCore::Best { weights, .. } = &self.core { weights.len() } else { 0 };
        self.weights.len() + first
    }

    /// Whether sizes fit together for documents of `columns` features, and all numbers are finite.
    fn fits(&self, columns: usize) -> bool {
        let (core, finite) = match &self.core {
            PairCore::Best { size, weights } => {
                (*size, weights.len() == columns && weights.iter().all(|w| w.is_finite()))
            }
            PairCore::Named(names) => {
                (names.len(), names.iter().enumerate().all(|(n, name)| !names[..n].contains(name)))
            }
        };
        let once = self.names.iter().enumerate().all(|(n, name)| !self.names[..n].contains(name));
        (1..=MOST_CORE).contains(&core)
            && finite
            && once
            && !self.names.is_empty()
            && self.weights.len() == self.names.len()
            && self.weights.iter().all(|v| v.is_finite())
    }

    /// The core documents of query `q`, with a row of links to all documents each; `first` are the scores that find the core. Core documents
    /// without links are left out: they change no order.
    fn of(&self, set: &RankSet, q: usize, first: &[f64]) -> (Vec<u32>, Vec<f64>) {
        let span = set.span(q);
        let core = match &self.core {
            PairCore::Best { size, .. } => best_documents(first, *size),
            PairCore::Named(names) => named_documents(set, q, names),
        };
        let Some(pairs) = set.pairs() else { return (vec![], vec![]) };
        let mut index = PairIndex::new(self.names.len());
        index.push(pairs, span.clone(), &core, &vec![1.0; self.names.len()]);
        let mut g = vec![0.0; index.core(0).len() * span.len()];
        index.add_links(0, &self.weights, &mut g);
        (index.core(0).to_vec(), g)
    }
}

/// Which order a model with links gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GivenOrder {
    /// Documents by the expected worth of their place, `Σ_j p(π_i = j) c_j`, exact: best for NDCG and other linear measures.
    Expected,
    /// The order of the largest score, which is the most likely one; below the head documents stand by their scores.
    Best,
}

/// The order of one query.
#[derive(Default)]
pub(in crate::method) struct Answer {
    /// The rows, best first.
    pub(in crate::method) order: Vec<usize>,
    /// Whether nothing tells a row from the one before it but the order of the input.
    tied: Vec<bool>,
    /// The value of the order, and by how much another one could be better.
    pub(in crate::method) value: f64,
    pub(in crate::method) gap: f64,
}

impl Answer {
    /// Minus the place of each document, in stored order; tied documents have the same.
    pub(in crate::method) fn scores(&self, start: usize) -> Vec<f64> {
        let (mut scores, mut last) = (vec![0.0; self.order.len()], 0.0);
        for (at, (&row, &tied)) in self.order.iter().zip(&self.tied).enumerate() {
            last = if tied { last } else { -((at + 1) as f64) };
            scores[row - start] = last;
        }
        scores
    }
}

/// The order of a query, with what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The score of each document by itself, without links, in stored order.
    pub own: Vec<f64>,
    /// The value of the order, f(π).
    pub value: f64,
    /// By how much another order could have a larger value.
    pub gap: f64,
}

/// A core document, and what its links add to two documents where they stand.
pub type LinkReason = (String, [f64; 2]);

/// What a whole ranking may cost, in assignments: beyond, the answer has a gap. Lists with a tail are always exact.
const LIMIT: u64 = 20_000;

/// Scratch of [`Quadratic`].
#[derive(Default)]
pub(in crate::method) struct QuadraticWork {
    ranking: Work,
    links: Links,
    pins: Vec<(u32, u32)>,
    classes: Vec<u32>,
    sums: Sums,
}

impl Quadratic {
    /// Whether sizes fit together and all numbers are finite.
    pub(in crate::method) fn fits(&self, columns: usize) -> bool {
        let (n, c) = (self.items.len(), self.core.len());
        self.pairs.as_ref().is_none_or(|pairs| n == 0 && pairs.fits(columns))
            && self.items.is_sorted_by(|a, b| a < b)
            && self.biases.len() == n
            && Some(self.links.len()) == n.checked_mul(c)
            && self.core.iter().all(|&item| (item as usize) < n)
            && self.core.is_sorted_by(|a, b| a != b)
            && Links::new(n, &self.core, &self.links).is_ok()
            && self.biases.iter().all(|b| b.is_finite())
    }

    /// The item of a row.
    fn item(&self, set: &RankSet, row: usize) -> u32 {
        match set.has_documents() {
            true => find(&self.items, &set.document(row)).map_or(NO_ITEM, |item| item as u32),
            false => NO_ITEM,
        }
    }

    /// The names of documents that are no item of the model, each once, of a model that has items.
    pub(in crate::method) fn unknown(&self, set: &RankSet) -> Vec<String> {
        let (mut names, mut seen) = (vec![], HashSet::new());
        for row in (0..set.rows()).filter(|&row| !self.items.is_empty() && self.item(set, row) == NO_ITEM) {
            let name = set.document(row);
            if seen.insert(name.clone()) {
                names.push(name.into_owned());
            }
        }
        names
    }

    /// The bias of a row.
    pub(crate) fn bias(&self, set: &RankSet, row: usize) -> f64 {
        self.biases.get(self.item(set, row) as usize).copied().unwrap_or(0.0)
    }

    /// Adds biases to the scores of query `q`.
    pub(in crate::method) fn add_biases(&self, set: &RankSet, q: usize, own: &mut [f64]) {
        for (own, row) in own.iter_mut().zip(set.span(q)) {
            *own += self.bias(set, row);
        }
    }

    /// The weights that find the core of a query, where links are between documents.
    pub(in crate::method) fn first(&self) -> Option<&[f64]> {
        match self.pairs.as_ref().map(|pairs| &pairs.core) {
            Some(PairCore::Best { weights, .. }) => Some(weights),
            _ => None,
        }
    }

    /// The core documents of query `q`, with a row of links to all documents each.
    fn linked(&self, set: &RankSet, q: usize, first: &[f64]) -> (Vec<u32>, Vec<f64>) {
        if let Some(pairs) = &self.pairs {
            return pairs.of(set, q, first);
        }
        let mut index = ItemIndex::new(self.items.len(), self.core.clone());
        index.push(set.span(q).map(|row| self.item(set, row)));
        let mut g = vec![];
        for &(c, _) in index.inside(0) {
            let row = &self.links[c as usize * self.items.len()..];
            g.extend(index.of(0).iter().map(|&item| if item == NO_ITEM { 0.0 } else { row[item as usize] }));
        }
        (index.inside(0).iter().map(|&(_, document)| document).collect(), g)
    }

    /// The problem of query `q` at the scores of its documents, and at those that find the core.
    fn problem<'a>(
        &'a self,
        set: &RankSet,
        q: usize,
        (own, first): (&'a [f64], &[f64]),
        work: &'a mut QuadraticWork,
    ) -> Result<(Problem<'a>, &'a mut Work, &'a mut Vec<u32>, &'a mut Sums)> {
        let n = own.len();
        let QuadraticWork { ranking, links, pins, classes, sums } = work;
        let (core, g) = self.linked(set, q, first);
        links.set(n, &core, &g).map_err(|error| told(set, q, error))?;
        self.places.check(n).map_err(|error| told(set, q, error))?;
        let (discounts, design) = self.places.of(n);
        let last = discounts.len() as u32 - 1;
        pins.clear();
        let pinned = set.span(q).enumerate().filter_map(|(i, row)| Some((i as u32, set.pinned(row)? as u32)));
        pins.extend(pinned.map(|(i, place)| (i, (place - 1).min(last))));
        Ok((Problem { scores: own, discounts, design, links, extra: &[], pins }, ranking, classes, sums))
    }

    /// The order of query `q` at the scores of its documents, and at those that find the core.
    pub(in crate::method) fn answer(
        &self,
        set: &RankSet,
        q: usize,
        (own, first): (&[f64], &[f64]),
        work: &mut QuadraticWork,
    ) -> Result<Answer> {
        let span = set.span(q);
        if span.is_empty() {
            return Ok(Answer::default());
        }
        let (problem, ranking, classes, sums) = self.problem(set, q, (own, first), work)?;
        let found = problem.best(LIMIT, ranking, classes).map_err(|error| told(set, q, error))?;
        let last = problem.classes() - 1;
        // what documents stand by: of the best order the places of its head, then the tail by scores
        let worth: Vec<f64> = match self.order {
            GivenOrder::Best => classes.iter().map(|&class| -f64::from(class)).collect(),
            GivenOrder::Expected => {
                problem.log_sum(ranking, sums).map_err(|error| told(set, q, error))?;
                let expected = |p: &[f64]| p.iter().zip(problem.discounts).map(|(p, c)| p * c).sum();
                sums.marginals.chunks_exact(last + 1).map(expected).collect()
            }
        };
        let by = |values: &[f64], a: usize, b: usize| values[b - span.start].total_cmp(&values[a - span.start]);
        let mut free: Vec<usize> = span.clone().filter(|&row| set.pinned(row).is_none()).collect();
        free.sort_by(|&a, &b| by(&worth, a, b).then(by(own, a, b)).then(set.input_row(a).cmp(&set.input_row(b))));
        let mut order: Vec<Option<usize>> = vec![None; span.len()];
        span.clone().for_each(|row| set.pinned(row).into_iter().for_each(|place| order[place - 1] = Some(row)));
        let mut free = free.into_iter();
        let order: Vec<usize> = order.into_iter().filter_map(|row| row.or_else(|| free.next())).collect();
        // documents that nothing tells apart are tied, unless they have a place of the best head
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + a.abs());
        let tied = |at: usize| {
            let (a, b) = (order[at - 1], order[at]);
            let known = set.pinned(a).or(set.pinned(b)).is_some();
            !known && by(own, a, b).is_eq() && near(worth[a - span.start], worth[b - span.start])
        };
        let tied = (0..order.len()).map(|at| at > 0 && tied(at)).collect();
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &row)| places[row - span.start] = at.min(last) as u32);
        let value = problem.value(&places);
        Ok(Answer { order, tied, value, gap: (found.bound - value).max(0.0) })
    }

    /// The probability of each document of query `q` at each place, a row of places per document, the tail last.
    pub(in crate::method) fn marginals(
        &self,
        set: &RankSet,
        q: usize,
        scores: (&[f64], &[f64]),
        work: &mut QuadraticWork,
    ) -> Result<Vec<f64>> {
        let (problem, ranking, _, sums) = self.problem(set, q, scores, work)?;
        problem.log_sum(ranking, sums).map_err(|error| told(set, q, error))?;
        Ok(std::mem::take(&mut sums.marginals))
    }

    /// What the links of each core document of query `q` add to two rows where they stand in an order: (core document, to the first, to the
    /// second).
    pub(in crate::method) fn reasons(
        &self,
        set: &RankSet,
        q: usize,
        first: &[f64],
        order: &[usize],
        rows: [usize; 2],
    ) -> Vec<LinkReason> {
        let ((discounts, design), start, n) = (self.places.of(order.len()), set.span(q).start, order.len());
        let last = discounts.len() - 1;
        let class = |row: usize| order.iter().position(|&r| r == row).unwrap_or(0).min(last);
        let (core, g) = self.linked(set, q, first);
        let one = |(c, &at): (usize, &u32)| {
            let link = |row: usize| {
                let i = row - start;
                // a pair inside the core stands in the row of the first
                let (first, second) = match core.iter().position(|&other| other as usize == i) {
                    Some(other) if other < c => (other, at as usize),
                    _ => (c, i),
                };
                if i == at as usize {
                    0.0
                } else {
                    g[first * n + second] * design.at(class(start + at as usize), class(row))
                }
            };
            (set.document(start + at as usize).into_owned(), rows.map(link))
        };
        core.iter().enumerate().map(one).collect()
    }
}

/// An error with the query that it is about.
fn told(set: &RankSet, q: usize, error: Error) -> Error {
    match error {
        Error::Data { expected, found } => {
            Error::Data { expected: format!("in query {:?} {expected}", set.query(q)), found }
        }
        other => other,
    }
}
