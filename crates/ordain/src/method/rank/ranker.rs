//! A ranker: each document gets a score, and a query is sorted by them.

use crate::data::scale::{Scale, Scaling};
use crate::data::{Groups, RankSet};
use crate::error::{Error, Result};
use crate::matrix::Features;
use crate::method::Rank;
use crate::method::rank::quadratic::{GivenOrder, LinkReason, Placed, Quadratic, QuadraticWork};
use crate::metric::{self, Convention, Evaluation, Metric};
use crate::score::{Contribution, Score, with_values};
use crate::scorer::rows::{Rows, Work};
use crate::structure::matching::places::{self, log_sum};
use crate::task::{Inputs, Model, Ready};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashSet;

/// Puts the documents of a query in the order of their scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranker {
    /// What it needs to read a row.
    pub inputs: Inputs,
    /// How a document gets its score.
    pub score: Score,
    /// The values of the head places, of models with probabilities of places; else empty.
    pub places: Vec<f64>,
    /// Links between items, of a model that has them: the order of a query is then not a sort by scores.
    pub quadratic: Option<Quadratic>,
    /// What the score that a document starts from is multiplied by before it is added, of a model that was fitted on such scores.
    pub start: Option<f64>,
}

/// What a ranker says of one query.
#[derive(Clone, Debug, PartialEq)]
pub struct RankPrediction {
    /// The rows of the set, best first; ties in the order of the input.
    pub order: Vec<usize>,
    /// The score of each document of the query, in stored order. With links it is minus the place.
    pub scores: Vec<f64>,
    /// The probabilities of places of each document, in stored order, if they were asked for.
    pub places: Option<Vec<PlaceProbabilities>>,
    /// Scores without links and the value of the order, of a model with links.
    pub placed: Option<Placed>,
}

/// How likely a document stands where.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct PlaceProbabilities {
    /// The probability of each head place.
    pub places: Vec<f64>,
    /// The probability of being among the head places.
    pub first_k: f64,
    /// The mean of the rank.
    pub expected_rank: f64,
}

impl Model<Rank> for Ranker {
    type Scaled = Scaling;

    fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    fn inputs_mut(&mut self) -> &mut Inputs {
        &mut self.inputs
    }

    fn check(&self) -> Result<()> {
        let d = self.inputs.columns.names.len();
        let worth = self.places.len() <= places::MOST
            && self.places.iter().all(|&c| c > 0.0)
            && self.places.is_sorted_by(|a, b| a >= b);
        let linked = |quadratic: &Quadratic| {
            let likely = quadratic.places.sums() && self.places == quadratic.places.values();
            quadratic.fits(d) && (likely || self.places.is_empty() && quadratic.order == GivenOrder::Best)
        };
        let sized = self.score.fits(d) && self.quadratic.as_ref().is_none_or(linked);
        let starts = self.start.is_none_or(|factor| factor.is_finite() && factor > 0.0);
        match self.inputs.fits() && worth && sized && starts && self.inputs.scale != Scale::Matched {
            true => Ok(()),
            false => Err(Error::Data { expected: "a ranker whose parts fit".into(), found: "another".into() }),
        }
    }

    /// Refuses queries without a scorer: a model with a scorer for each query (`blocks=true`) knows no other. Refuses known places where
    /// they would change nothing, a set without links between documents or without start scores if it was fitted with them, and start scores
    /// if it was not. The names that it does not know are items without a bias and without links.
    fn adapt(&self, set: &mut Cow<'_, RankSet>) -> Result<Vec<String>> {
        self.check_queries(set, &set.all())?;
        if set.has_pins() && self.quadratic.is_none() {
            return Err(Error::Data {
                expected: "a model with links for places that are known beforehand (quadrank)".into(),
                found: "one that sorts by scores".into(),
            });
        }
        match (self.start.is_some(), set.start().is_some()) {
            (true, false) => {
                return Err(Error::Data {
                    expected: "the start scores of these rows (--start FILE; init_score in Python), because the model adds trees to such scores"
                        .into(),
                    found: "none".into(),
                });
            }
            (false, true) => {
                return Err(Error::Data {
                    expected: "no start scores, because the model was fitted without them".into(),
                    found: "some".into(),
                });
            }
            _ => {}
        }
        if let Some(links) = self.links() {
            let names: Vec<String> = links.into_iter().map(|(name, _)| name).collect();
            if set.pairs().is_none_or(|own| own.names() != names) {
                set.to_mut().align_pairs(&names)?;
            }
            if let (Score::Field(_), Some(pairs)) = (&self.score, set.pairs()) {
                pairs.need_at_least_0(set)?;
            }
        }
        Ok(self.quadratic.as_ref().map_or(vec![], |quadratic| quadratic.unknown(set)))
    }

    fn scaled(&self, set: &RankSet) -> Scaling {
        self.inputs.scaling(set, &set.all())
    }

    fn evaluate(&self, on: &Ready<'_, Rank>, units: &[u32], metrics: &[Metric], by: &Convention) -> Result<Evaluation> {
        metric::evaluate(on.set(), units, &self.scores_of(on, units)?, metrics, by)
    }
}

impl Ranker {
    /// What each feature of pairs is worth, by name, of a model that was fitted with links between documents: weights of links, or how much
    /// documents of a field pull at each other.
    pub fn links(&self) -> Option<Vec<(String, f64)>> {
        match (&self.score, self.quadratic.as_ref().and_then(|quadratic| quadratic.pairs.as_ref())) {
            (_, Some(pairs)) => Some(pairs.names.iter().cloned().zip(pairs.weights.iter().copied()).collect()),
            (Score::Field(field), None) if !field.links.is_empty() => Some(field.links.clone()),
            _ => None,
        }
    }

    /// Refuses queries for which the model has no scorer: one that has a scorer for each query by name (`blocks=true`) knows no other.
    pub fn check_queries(&self, set: &RankSet, units: &[u32]) -> Result<()> {
        let Some(expansion) = self.score.expansion() else { return Ok(()) };
        let known: HashSet<Option<&str>> = expansion.parts.iter().map(|part| part.query.as_deref()).collect();
        let strange = |&&q: &&u32| !known.contains(&None) && !known.contains(&Some(set.query(q as usize)));
        match units.iter().find(strange) {
            None => Ok(()),
            Some(&q) => Err(Error::Data {
                expected: format!(
                    "one of the {} queries that the model was fitted on (blocks=true learns a scorer for each; blocks=false one for all)",
                    known.len()
                ),
                found: format!("query {:?}", set.query(q as usize)),
            }),
        }
    }

    /// The score of every document, in stored order. With links it is minus the place in the order that the model gives; documents that
    /// nothing tells apart have the same.
    ///
    /// O(values), in parallel over queries; with links, one best order per query.
    ///
    /// # Errors
    ///
    /// [`Error::Score`] naming the first document whose score is not finite.
    pub fn scores(&self, on: &Ready<'_, Rank>) -> Result<Vec<f64>> {
        self.scores_of(on, &on.set().all())
    }

    /// The scores of rows that have the columns of the model, whatever their queries, to the bit those of [`Self::scores`];
    /// `None` if a score depends on the query, is not linear, or columns are transformed.
    ///
    /// O(values), in parallel over rows: each value is read once.
    pub fn row_scores(&self, features: &Features) -> Option<Vec<f64>> {
        let scaling = match (&self.inputs.global, self.inputs.scale) {
            (Some(affine), _) => Scaling::Global(affine.clone()),
            (None, Scale::None) => Scaling::None,
            _ => return None,
        };
        let bounds = [0, features.rows()];
        let fits = self.score.is_linear()
            && self.quadratic.is_none()
            && self.start.is_none()
            && self.inputs.transforms.is_empty()
            && self.score.fits(features.cols());
        fits.then(|| self.score.units(Groups::new(features, &bounds), &[0], &scaling, |_| ""))
    }

    /// The scores of some queries; 0 elsewhere. Errors as [`Self::scores`].
    ///
    /// O(values of these queries), and a number per document of the set.
    pub fn scores_of(&self, on: &Ready<'_, Rank>, units: &[u32]) -> Result<Vec<f64>> {
        self.scores_with(on.set(), units, on.scaled(self)?)
    }

    /// The scores of some queries under a scaling that was learned before; 0 elsewhere.
    pub(crate) fn scores_with(&self, set: &RankSet, units: &[u32], scaling: &Scaling) -> Result<Vec<f64>> {
        let mut scores = self.own_with(set, units, scaling)?;
        if let Some(quadratic) = &self.quadratic {
            let first = self.first_with(set, units, scaling);
            let placed = units.par_iter().map_init(QuadraticWork::default, |work, &q| {
                let span = set.span(q as usize);
                let by = (&scores[span.clone()], of_query(&first, &span));
                Ok(quadratic.answer(set, q as usize, by, work)?.scores(span.start))
            });
            for (&q, made) in units.iter().zip(placed.collect::<Result<Vec<_>>>()?) {
                scores[set.span(q as usize)].copy_from_slice(&made);
            }
        }
        Ok(scores)
    }

    /// The same without links: the score of each document by itself.
    fn own_with(&self, set: &RankSet, units: &[u32], scaling: &Scaling) -> Result<Vec<f64>> {
        let mut scores = self.score.units(set.into(), units, scaling, |q| set.query(q));
        if let Some(quadratic) = &self.quadratic {
            units.iter().for_each(|&q| quadratic.add_biases(set, q as usize, &mut scores[set.span(q as usize)]));
        }
        units.iter().for_each(|&q| self.add_start(set, q as usize, &mut scores[set.span(q as usize)]));
        self.finite(set, 0, &scores)?;
        Ok(scores)
    }

    /// The scores that find the core of each query, where links are between documents; else none.
    fn first_with(&self, set: &RankSet, units: &[u32], scaling: &Scaling) -> Vec<f64> {
        let weights = self.quadratic.as_ref().and_then(Quadratic::first);
        let scores = |w: &[f64]| Score::Linear(w.to_vec()).units(set.into(), units, scaling, |q| set.query(q));
        weights.map_or(vec![], scores)
    }

    /// What the links of each core document of query `q` add to two rows where they stand in an order: (core document, to the first, to
    /// the second); nothing of a model without links.
    pub fn link_reasons(
        &self,
        on: &Ready<'_, Rank>,
        q: usize,
        order: &[usize],
        rows: [usize; 2],
    ) -> Result<Option<Vec<LinkReason>>> {
        let Some(quadratic) = &self.quadratic else { return Ok(None) };
        let (set, first) = (on.set(), self.first_with(on.set(), &[q as u32], on.scaled(self)?));
        Ok(Some(quadratic.reasons(set, q, of_query(&first, &set.span(q)), order, rows)))
    }

    /// What the model says of some queries; with the probabilities of places if they are asked for.
    ///
    /// O(values), and O(n k 2^k) for the exact probabilities of k head places of n documents. In parallel over queries.
    pub fn predict(&self, on: &Ready<'_, Rank>, units: &[u32], probabilities: bool) -> Result<Vec<RankPrediction>> {
        if probabilities {
            self.need_places()?;
        }
        let (set, scores) = (on.set(), self.own_with(on.set(), units, on.scaled(self)?)?);
        let first = self.first_with(set, units, on.scaled(self)?);
        let one = |&q: &u32| {
            let (q, own) = (q as usize, &scores[set.span(q as usize)]);
            let by = (own, of_query(&first, &set.span(q)));
            let places = probabilities.then(|| self.places_by(set, q, by)).transpose()?;
            let Some(quadratic) = &self.quadratic else {
                return Ok(RankPrediction { order: set.order(q, own), scores: own.to_vec(), places, placed: None });
            };
            let answer = quadratic.answer(set, q, by, &mut QuadraticWork::default())?;
            let placed = Some(Placed { own: own.to_vec(), value: answer.value, gap: answer.gap });
            Ok(RankPrediction { scores: answer.scores(set.span(q).start), order: answer.order, places, placed })
        };
        units.par_iter().with_min_len(if probabilities { 1 } else { 64 }).map(one).collect()
    }

    /// The scores of the documents of query `q` by themselves, without links. O(values of the query).
    fn scores_in(&self, on: &Ready<'_, Rank>, q: usize) -> Result<Vec<f64>> {
        let (set, units) = (on.set(), [q as u32]);
        let rows = Rows::new(set, &units, on.scaled(self)?);
        let mut scores = vec![0.0; set.span(q).len()];
        self.score.unit(&rows, 0, set.query(q), &mut scores, &mut Work::default());
        if let Some(quadratic) = &self.quadratic {
            quadratic.add_biases(set, q, &mut scores);
        }
        self.add_start(set, q, &mut scores);
        self.finite(set, set.span(q).start, &scores)?;
        Ok(scores)
    }

    /// Adds what the documents of query `q` start from, of a model that was fitted on start scores.
    fn add_start(&self, set: &RankSet, q: usize, scores: &mut [f64]) {
        if let (Some(factor), Some(start)) = (self.start, set.start()) {
            scores.iter_mut().zip(&start[set.span(q)]).for_each(|(score, start)| *score += factor * start);
        }
    }

    /// Refuses scores of the rows from `start` on that are not finite: the one place where rankings are kept from them.
    fn finite(&self, set: &RankSet, start: usize, scores: &[f64]) -> Result<()> {
        let Some(at) = scores.iter().position(|s| !s.is_finite()) else { return Ok(()) };
        Err(Error::Score {
            place: set.place(start + at),
            score: scores[at],
            cure: self.score.cure(
                "look for a value that is missing or too large, or fit with scaled features (scale=query, global or minmax)",
                "values of this size overflow the power of the kernel: fit with scaled features (scale=query, global or minmax) or a lower degree",
            ),
        })
    }

    /// The features of the documents of some queries as the model sees them, scaled, row after row.
    pub fn scaled_rows(&self, on: &Ready<'_, Rank>, units: &[u32]) -> Result<Vec<f32>> {
        let rows = Rows::new(on.set(), units, on.scaled(self)?);
        Ok((0..units.len()).flat_map(|n| rows.dense(n)).collect())
    }

    /// The scores of documents whose features are [scaled](Self::scaled_rows), by the scorer for queries of this name; `None` where there is none.
    ///
    /// With it the function can be seen where there is no document.
    pub fn scores_of_scaled(&self, query: &str, docs: &[f32]) -> Option<Vec<f64>> {
        self.score.scaled(query, docs, self.inputs.columns.names.len())
    }

    /// For each document of query `q` the probability of each head place, of the head, and the expected rank.
    ///
    /// Exact, O(n k 2^k). Below the head all orders are as likely, so a document that is not in the head of k has the mean
    /// rank k + (n − k + 1)/2.
    pub fn place_probabilities(&self, on: &Ready<'_, Rank>, q: usize) -> Result<Vec<PlaceProbabilities>> {
        self.need_places()?;
        let (set, own) = (on.set(), self.scores_in(on, q)?);
        let first = self.first_with(set, &[q as u32], on.scaled(self)?);
        self.places_by(set, q, (&own, of_query(&first, &set.span(q))))
    }

    fn need_places(&self) -> Result<()> {
        if self.places.is_empty() {
            return Err(Error::Data {
                expected: "a model with probabilities of places: rankmatch on whole lists (subset=full), or quadrank by likelihood".into(),
                found: "one that only ranks".into(),
            });
        }
        Ok(())
    }

    /// The probabilities of places by the scores of the documents of query `q`, and by those that find the core.
    fn places_by(&self, set: &RankSet, q: usize, (scores, first): (&[f64], &[f64])) -> Result<Vec<PlaceProbabilities>> {
        if let Some(steep) = scores.iter().find(|s| s.abs() > STEEPEST) {
            return Err(Error::Data {
                expected: format!(
                    "scores of at most {STEEPEST:e} in size (beyond, a number does not hold differences of 1)"
                ),
                found: format!("{steep:e} in query {:?}", set.query(q)),
            });
        }
        let (n, k) = (scores.len(), self.places.len().min(scores.len()));
        let mut marginals = vec![0.0; n * k];
        match &self.quadratic {
            Some(quadratic) => {
                let all = quadratic.marginals(set, q, (scores, first), &mut QuadraticWork::default())?;
                let classes = all.len() / n.max(1);
                let heads = all.chunks_exact(classes.max(1)).flat_map(|row| &row[..k]);
                marginals.iter_mut().zip(heads).for_each(|(p, own)| *p = *own);
            }
            None => drop(log_sum(scores, &self.places, &mut places::Work::default(), &mut marginals)?),
        }
        let rest = k as f64 + (n - k + 1) as f64 / 2.0;
        let of = |p: &[f64]| {
            let first_k = p.iter().sum::<f64>().min(1.0);
            let head: f64 = p.iter().enumerate().map(|(j, p)| (j + 1) as f64 * p).sum();
            PlaceProbabilities { places: p.to_vec(), first_k, expected_rank: head + (1.0 - first_k) * rest }
        };
        Ok(marginals.chunks_exact(k.max(1)).map(of).collect())
    }

    /// What each feature adds to the score of row `above` over row `below`, both of query `q`; the largest first.
    ///
    /// The contributions add up to the difference of the scores.
    /// With a kernel the weight of a feature is its mean slope on the straight way from one document to the other.
    pub fn explain(&self, on: &Ready<'_, Rank>, q: usize, above: usize, below: usize) -> Result<Vec<Contribution>> {
        self.scores_in(on, q)?; // what has no score has no reasons
        let set = on.set();
        let parts = self.score.explain(set.into(), (q, set.query(q)), on.scaled(self)?, above, below);
        Ok(with_values(parts, &on.raw().features, above, below))
    }
}

/// The scores of one query; none where there are none.
fn of_query<'a>(scores: &'a [f64], span: &std::ops::Range<usize>) -> &'a [f64] {
    scores.get(span.clone()).unwrap_or(&[])
}

/// The largest score of which a probability of places is worth something.
const STEEPEST: f64 = 1e15;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)] // a test may panic
mod tests {
    use super::*;
    use crate::data::Filled;
    use crate::data::scale::Affine;
    use crate::data::synthetic::Synthetic;
    use crate::matrix::Csr;

    /// All rows in blocks, whatever their query, or query by query: the same numbers to the last bit.
    #[test]
    fn scores_of_all_equal_scores_query_by_query() {
        let dense = Synthetic { queries: 300, documents: (1, 40), ..Synthetic::default() }.make();
        let mut sparse = dense.clone();
        let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
        for row in 0..dense.rows() {
            dense.features.each(row, |j, x| {
                if x > 0.0 {
                    columns.push(j as u32);
                    values.push(x);
                }
            });
            ends.push(values.len());
        }
        sparse.features = Features::Sparse(Csr::new(ends, columns, values, dense.features.cols()));
        for set in [dense, sparse] {
            for scale in [Scale::None, Scale::Global] {
                let ranker = ranker(&set, scale);
                let ready = ranker.prepare(&set).unwrap();
                let all = ranker.scores(&ready).unwrap();
                assert_eq!(ranker.row_scores(&set.features), Some(all.clone()), "{scale:?}");
                for q in 0..set.len() {
                    let some = ranker.scores_of(&ready, &[q as u32]).unwrap();
                    assert_eq!(all[set.span(q)], some[set.span(q)], "{scale:?} {q}");
                    assert_eq!(all[set.span(q)], ranker.scores_in(&ready, q).unwrap(), "{scale:?} {q}");
                }
            }
        }
    }

    fn ranker(set: &RankSet, scale: Scale) -> Ranker {
        let global = (scale == Scale::Global)
            .then(|| Affine::standard(&set.features, &set.pieces(), std::iter::once(0..set.rows())));
        Ranker {
            inputs: Inputs::new(&set.columns, &Filled::default(), scale, global.as_ref()),
            score: Score::Linear((0..set.features.cols()).map(|j| (j as f64).sin()).collect()),
            places: vec![1.0, 0.5],
            quadratic: None,
            start: None,
        }
    }

    /// However a query is asked about, its scaling is learned from itself once, and from no other.
    #[test]
    fn the_scaling_of_a_query_is_learned_once() {
        use crate::data::scale::learned;
        let set = Synthetic { queries: 300, documents: (1, 40), ..Synthetic::default() }.make();
        for scale in [Scale::Query, Scale::Minmax] {
            let ranker = ranker(&set, scale);
            let few = [7u32, 3, 200];
            let mut ready = None;
            assert_eq!(learned::by(|| ready = Some(ranker.prepare(&set).unwrap())), 300);
            let (ready, at) = (ready.unwrap(), set.span(200).start);
            let asked = || {
                ranker.scores(&ready).unwrap();
                ranker.scores_of(&ready, &few).unwrap();
                ranker.scaled_rows(&ready, &few).unwrap();
                ranker.predict(&ready, &set.all(), true).unwrap();
                (0..300).for_each(|q| drop(ranker.place_probabilities(&ready, q).unwrap()));
                ranker.explain(&ready, 200, at, at).unwrap();
            };
            assert_eq!(learned::by(asked), 0);
        }
    }

    #[test]
    fn some_queries_score_as_all_do() {
        let set = Synthetic { queries: 50, documents: (1, 9), ..Synthetic::default() }.make();
        for scale in [Scale::None, Scale::Global, Scale::Query, Scale::Minmax] {
            let ranker = ranker(&set, scale);
            let ready = ranker.prepare(&set).unwrap();
            let (all, few) = (ranker.scores(&ready).unwrap(), [40u32, 3, 17]);
            let some = ranker.scores_of(&ready, &few).unwrap();
            for (&q, said) in few.iter().zip(&ranker.predict(&ready, &few, true).unwrap()) {
                let q = q as usize;
                assert_eq!(all[set.span(q)], some[set.span(q)]);
                assert_eq!(all[set.span(q)], said.scores);
                assert!(said.order.windows(2).all(|pair| all[pair[0]] >= all[pair[1]]));
                assert_eq!(Some(ranker.place_probabilities(&ready, q).unwrap()), said.places);
            }
            let asked: usize = few.iter().map(|&q| set.span(q as usize).len()).sum();
            assert!(some.iter().filter(|&&s| s != 0.0).count() <= asked);
        }
    }

    #[test]
    fn a_score_that_is_not_finite_is_an_error_that_names_the_document() {
        let mut set = Synthetic { queries: 4, documents: (3, 3), ..Synthetic::default() }.make();
        let mut ranker = ranker(&set, Scale::None);
        let cols = set.features.cols();
        let mut weights = ranker.score.weights().to_vec();
        weights[1] = 1e290;
        ranker.score = Score::Linear(weights);
        let Features::Dense(m) = &mut set.features else { panic!("made dense") };
        m.values_mut()[7 * cols + 1] = 1e30; // the second document of the third query
        let ready = ranker.prepare(&set).unwrap();
        let text = ranker.scores(&ready).unwrap_err().to_string();
        let place =
            format!("query {:?}, document {:?}: expected a finite score, found inf", set.query(2), set.document(7));
        assert!(text.starts_with(&place) && text.contains("scale="), "{text}");
        assert!(ranker.scores_of(&ready, &[0, 1]).is_ok());
        for refused in [
            ranker.scores_of(&ready, &[2]).unwrap_err(),
            ranker.place_probabilities(&ready, 2).unwrap_err(),
            ranker.predict(&ready, &[2], true).unwrap_err(),
            ranker.explain(&ready, 2, 6, 8).unwrap_err(),
        ] {
            assert!(matches!(refused, Error::Score { .. }), "{refused}");
        }
    }

    #[test]
    fn other_columns_are_refused_and_columns_in_another_order_are_found() {
        let mut set = Synthetic { queries: 4, features: 5, ..Synthetic::default() }.make();
        set.columns = crate::data::Columns::of(["a", "b", "c", "d", "e"].map(str::to_owned).to_vec());
        let (ranker, scores) =
            (ranker(&set, Scale::Query), |ranker: &Ranker, set: &RankSet| ranker.scores(&ranker.prepare(set)?));
        let mut narrow = Synthetic { queries: 4, features: 3, ..Synthetic::default() }.make();
        narrow.columns = crate::data::Columns::of(["a", "b", "c"].map(str::to_owned).to_vec());
        assert!(matches!(ranker.prepare(&narrow), Err(Error::Features { .. })));
        let mut moved = set.clone();
        moved.features = set.features.select_columns(&[Some(1), Some(0), Some(2), Some(3), Some(4)]);
        moved.columns.names.swap(0, 1);
        assert_eq!(scores(&ranker, &moved).unwrap(), scores(&ranker, &set).unwrap());
    }

    #[test]
    fn a_set_that_another_model_prepared_is_refused() {
        let set = Synthetic { queries: 4, ..Synthetic::default() }.make();
        let (one, other) = (ranker(&set, Scale::Query), ranker(&set, Scale::Minmax));
        let ready = one.prepare(&set).unwrap();
        assert!(one.scores(&ready).is_ok());
        assert!(other.scores(&ready).unwrap_err().to_string().contains("another model prepared"));
    }
}
