//! A ranker that scores each document by a weighted sum of its scaled features.

use crate::data::scale::{Affine, Scale, Scaling};
use crate::data::{Aligned, Columns, Groups, Missing, RankSet};
use crate::error::{Error, Result};
use crate::scorer::rows::{Rows, Work};
use crate::structure::matching::places::{self, log_sum};
use crate::traits::Scorer;
use rayon::prelude::*;

/// Weights on scaled features.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearRanker {
    /// One weight per column.
    pub weights: Vec<f64>,
    /// The columns, by name.
    pub columns: Columns,
    /// How they are scaled.
    pub scale: Scale,
    /// Offsets and factors of `scale=global`.
    pub global: Option<Affine>,
    /// What missing values mean.
    pub missing: Missing,
    /// What is put in their place, with `missing=mean`.
    pub means: Option<Vec<f32>>,
    /// What head places are worth, of models that give probabilities of places; else empty.
    pub places: Vec<f64>,
}

/// How likely a document stands where.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceProbabilities {
    /// The probability of each head place.
    pub places: Vec<f64>,
    /// The probability of being among the head places.
    pub first_k: f64,
    /// The mean of the rank.
    pub expected_rank: f64,
}

/// Why one document stands above another: what one feature adds to the difference of their scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The column.
    pub column: usize,
    /// Its value of the upper document.
    pub above: f32,
    /// Its value of the lower document.
    pub below: f32,
    /// The difference of the two after scaling.
    pub difference: f64,
    /// The weight.
    pub weight: f64,
    /// Weight times difference.
    pub contribution: f64,
}

impl LinearRanker {
    /// Makes data fit this model: columns by name, gaps filled. Returns the numbered columns in which they differ.
    pub fn prepare(&self, set: &mut RankSet) -> Result<Aligned> {
        let differ = set.align(&self.columns)?;
        if self.missing != Missing::Error {
            set.fill_missing(self.means.as_deref());
        }
        Ok(differ)
    }

    fn scaling(&self, set: &RankSet) -> Scaling {
        match &self.global {
            Some(affine) => Scaling::Global(affine.clone()),
            None => Scaling::learn(self.scale, set, &[]),
        }
    }

    /// The score of every document, in stored order; the set must be [prepared](Self::prepare).
    ///
    /// O(values), in parallel over queries.
    pub fn scores(&self, set: &RankSet) -> Vec<f64> {
        self.scores_of(set, &set.all())
    }

    /// The scores of some queries; 0 elsewhere.
    pub fn scores_of(&self, set: &RankSet, units: &[u32]) -> Vec<f64> {
        self.scores_with(set, units, &self.scaling(set))
    }

    /// The scores of some queries under a scaling that was learned before; 0 elsewhere.
    pub(crate) fn scores_with(&self, set: &RankSet, units: &[u32], scaling: &Scaling) -> Vec<f64> {
        let rows = Rows::new(set, units, scaling);
        let parts: Vec<(usize, Vec<f64>)> = (0..units.len())
            .into_par_iter()
            .with_min_len(64)
            .map_init(Work::default, |work, n| {
                let span = set.span(units[n] as usize);
                let mut s = vec![0.0; span.len()];
                rows.scores(n, &self.weights, &mut s, work);
                (span.start, s)
            })
            .collect();
        let mut scores = vec![0.0; set.rows()];
        for (start, part) in parts {
            scores[start..start + part.len()].copy_from_slice(&part);
        }
        scores
    }

    /// For each document of query `q` the probability of each head place, of the head, and the expected rank.
    ///
    /// Exact, O(n k 2^k). Below the head all orders are as likely, so a document that is not in the head of k has the mean
    /// rank k + (n − k + 1)/2.
    pub fn place_probabilities(&self, set: &RankSet, q: usize) -> Result<Vec<PlaceProbabilities>> {
        if self.places.is_empty() {
            return Err(Error::Data {
                expected: "a model with probabilities of places: rankmatch on whole lists (subset=full)".into(),
                found: "one that only ranks".into(),
            });
        }
        let scores = &self.scores_of(set, &[q as u32])[set.span(q)];
        let (n, k) = (scores.len(), self.places.len().min(scores.len()));
        let mut marginals = vec![0.0; n * k];
        log_sum(scores, &self.places, &mut places::Work::default(), &mut marginals)?;
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
    pub fn explain(&self, set: &RankSet, q: usize, above: usize, below: usize) -> Vec<Contribution> {
        contributions(set, q, &self.scaling(set), &self.weights, above, below)
    }
}

/// What each feature adds to the score of row `above` over row `below`, both of group `q`; the largest first.
pub(super) fn contributions<'a>(
    set: impl Into<Groups<'a>>,
    q: usize,
    scaling: &Scaling,
    weights: &[f64],
    above: usize,
    below: usize,
) -> Vec<Contribution> {
    let (set, units) = (set.into(), [q as u32]);
    let (d, start) = (weights.len(), set.span(q).start);
    let rows = Rows::new(set, &units, scaling);
    // a row is where a one in its place comes back to
    let line = |row: usize| {
        let (mut out, mut one) = (vec![0.0; d], vec![0.0; set.span(q).len()]);
        one[row - start] = 1.0;
        rows.pull_back(0, &one, &mut out, &mut Work::default());
        out
    };
    let (upper, lower) = (line(above), line(below));
    let mut all: Vec<Contribution> = (0..d)
        .map(|j| {
            let difference = upper[j] - lower[j];
            Contribution {
                column: j,
                above: set.features.value(above, j),
                below: set.features.value(below, j),
                difference,
                weight: weights[j],
                contribution: weights[j] * difference,
            }
        })
        .collect();
    all.sort_by(|a, b| b.contribution.abs().total_cmp(&a.contribution.abs()).then(a.column.cmp(&b.column)));
    all
}
