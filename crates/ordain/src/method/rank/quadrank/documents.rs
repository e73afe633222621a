//! Links between documents by features of pairs: which documents are the core, and lists with it.

use super::{Core, Lists, QuadRank};
use crate::data::scale::Scale;
use crate::data::{DocumentPairs, RankSet};
use crate::error::Result;
use crate::method::Choice;
use crate::method::rank::search::{Problem, Solved, Start};
use crate::scorer::pairs::{PairIndex, Pairs};
use crate::scorer::rows::{Rows, Work};
use crate::solver::run::Watch;
use crate::surrogate::ranking::Places;
use crate::traits::{Scorer, Stop};
use std::ops::Range;
use std::sync::Arc;

/// The documents of some queries with the features of their pairs.
pub(in crate::method) struct Documents {
    pairs: Arc<DocumentPairs>,
    spans: Vec<Range<usize>>,
    grades: Vec<Vec<f64>>,
    /// What each feature is multiplied by: one over its root mean square.
    pub(super) factors: Vec<f64>,
    /// The documents of a core by name, of each query.
    named: Option<Vec<Vec<u32>>>,
    size: usize,
}

/// The documents of the largest scores, the largest first; of equal ones the first.
pub(in crate::method) fn best_documents(scores: &[f64], size: usize) -> Vec<u32> {
    let mut best: Vec<u32> = (0..scores.len() as u32).collect();
    best.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b)));
    best.truncate(size);
    best
}

/// The documents of a query with one of these names, in the order of the names.
pub(in crate::method) fn named_documents(set: &RankSet, q: usize, names: &[String]) -> Vec<u32> {
    let find = |name: &String| set.span(q).position(|row| set.document(row) == name.as_str());
    names.iter().filter_map(find).map(|at| at as u32).collect()
}

/// One over the root mean square of each feature over the pairs of some queries; 1 of a feature that is 0 everywhere.
fn factors(pairs: &DocumentPairs, spans: &[Range<usize>]) -> Vec<f64> {
    let each = || spans.iter().flat_map(|span| pairs.of(span.clone())).map(|(_, _, values)| values);
    let one = |j: usize| {
        let most = each().fold(0.0, |most: f64, x| most.max(x[j].abs()));
        let (sum, count) = each().fold((0.0, 0.0), |(sum, count), x| (sum + (x[j] / most).powi(2), count + 1.0));
        if most > 0.0 { 1.0 / (most * f64::sqrt(sum / count)) } else { 1.0 }
    };
    (0..pairs.names().len())
        .map(one)
        .map(|factor| if factor.is_finite() && factor > 0.0 { factor } else { 1.0 })
        .collect()
}

impl Documents {
    /// The documents of some queries of a set with features of pairs.
    pub(super) fn new(method: &QuadRank, set: &RankSet, pairs: Arc<DocumentPairs>, units: &[u32]) -> Self {
        let spans: Vec<Range<usize>> = units.iter().map(|&q| set.span(q as usize)).collect();
        let width = pairs.names().len();
        let factors = match method.scale {
            Choice::Set(Scale::None) => vec![1.0; width],
            _ => factors(&pairs, &spans),
        };
        let named = match &method.core {
            Core::Names(names) => Some(units.iter().map(|&q| named_documents(set, q as usize, names)).collect()),
            _ => None,
        };
        let grades = spans.iter().map(|span| set.grades[span.clone()].to_vec()).collect();
        Self { pairs, spans, grades, factors, named, size: method.core.len() }
    }

    /// The names of the features.
    pub(super) fn names(&self) -> &[String] {
        self.pairs.names()
    }

    /// Whether the core is found by scores.
    pub(super) fn by_score(&self) -> bool {
        self.named.is_none()
    }

    /// Parameters beside the weights: those of the features of pairs, and the weights that find the core.
    pub(super) fn dim(&self, columns: usize) -> usize {
        self.names().len() + if self.by_score() { columns } else { 0 }
    }

    /// The links of the core of each query.
    fn index(&self, rows: &Rows<'_>, first: &[f64]) -> PairIndex {
        let mut index = PairIndex::new(self.names().len());
        let (mut scores, mut work) = (vec![], Work::default());
        for (n, span) in self.spans.iter().enumerate() {
            let core = match &self.named {
                Some(named) => named[n].clone(),
                None => {
                    scores.clear();
                    scores.resize(span.len(), 0.0);
                    rows.scores(n, first, &mut scores, &mut work);
                    best_documents(&scores, self.size)
                }
            };
            index.push(&self.pairs, span.clone(), &core, &self.factors);
        }
        index
    }

    /// Fits links at one λ. The core is found first and then stays, so that the problem is convex:
    ///
    /// ```text
    /// w0 = the weights of the same problem without links;   core of a query = its m documents of the largest w0·x
    /// ```
    pub(super) fn solve(
        &self,
        method: &QuadRank,
        problem: &Problem<super::Cases>,
        from: Start<()>,
        watch: &Watch,
    ) -> Result<Solved<()>> {
        let (cases, columns) = (&problem.drawn.examples, problem.rows.dim());
        let width = self.names().len();
        let Start { theta, state, .. } = from;
        let size = |state: &(crate::traits::State, usize)| {
            state.0.iter().find(|(name, _)| name == "theta").map_or(0, |(_, theta)| theta.len())
        };
        let (of_first, of_links) = match state {
            Some(state) if self.by_score() && size(&state) == columns => (Some(state), None),
            state => (None, state),
        };
        let start = |theta: &[f64], state| Start { theta: theta.to_vec(), carry: (), state, signs: vec![] };
        let mut first = vec![];
        if self.by_score() {
            let from = start(&theta[columns + width..], of_first);
            let solved = method.solve_by(problem.rows.clone(), &cases.lists, problem, from, watch)?;
            if solved.report.stop == Stop::Interrupted {
                let theta = [&solved.theta[..], &vec![0.0; width], &solved.theta].concat();
                return Ok(Solved { theta, ..solved });
            }
            first = solved.theta;
        }
        let index = self.index(problem.rows, &first);
        let lists = self.lists(method, &index, &cases.places)?;
        let scorer = Pairs::new(problem.rows, &index);
        let solved = method.solve_by(scorer, &lists, problem, start(&theta[..columns + width], of_links), watch)?;
        Ok(Solved { theta: [&solved.theta[..], &first].concat(), ..solved })
    }

    /// What is right of each list, with its core.
    fn lists(&self, method: &QuadRank, index: &PairIndex, places: &Places) -> Result<Lists> {
        let core = |n: usize| index.core(n).to_vec();
        Lists::new(method, places, self.grades.iter().map(Vec::as_slice).enumerate().map(|(n, g)| (g, core(n))))
    }
}
