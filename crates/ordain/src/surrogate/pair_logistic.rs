//! The logistic loss of pairs: every pair alike, or by what it would change in NDCG (LambdaRank).

use crate::data::RankSet;
use crate::error::{Error, Result};
use crate::surrogate::pair_hinge::Graded;
use crate::surrogate::pair_side::{Doc, FAR, LANES, NONE, Side, exp};
use crate::traits::Surrogate;

/// How pairs are weighed by what they would change in NDCG.
///
/// ```text
/// w_ij = |2^{g_i} − 2^{g_j}| · |1/log2(1 + r_i) − 1/log2(1 + r_j)| / DCG of the ideal order
/// ```
///
/// with ranks r by the present scores, ties in the order of the documents; Burges 2010. The default is that of LightGBM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lambda {
    /// Only pairs with a document at one of the first so many ranks count, and the ideal order is taken so far; `None`: all.
    pub truncation: Option<usize>,
    /// Weights are divided by `.01 + |s_i − s_j|` (unless all scores are equal), and then all of a query by `x / log2(1 + x)`, with x
    /// twice the sum of its slopes: a query with many pairs counts less than by their number. Weights of documents do not change x.
    pub norm: bool,
}

impl Default for Lambda {
    fn default() -> Self {
        Self { truncation: Some(30), norm: true }
    }
}

/// The logistic loss over pairs of different grades within a query.
///
/// ```text
/// L(s) = Σ_{g_i > g_j} w_ij u_i u_j log(1 + exp(s_j − s_i))
/// ```
///
/// with u = 1, or the square roots of document weights, as in [`PairHinge`](crate::surrogate::pair_hinge::PairHinge); RankNet, Burges et
/// al. 2005. `w = 1`, or that of [`Lambda`], made anew from the scores at each call: then value, slopes and curvature are those of the loss
/// in which these weights are kept ([`Self::pair_weights`], [`of_pairs`]), and a smaller value need not follow from a step.
///
/// Cost: O(number of pairs), with one exponential per document and one division per pair, for
/// `1/(1 + exp(s_i − s_j)) = e_j/(e_i + e_j)` with `e = exp(s)`; documents stand by grade, so that the partners of one are a run. Of scores
/// there are only sums, products and divisions in a fixed order, also in exponentials and logarithms, so that no bit depends on the machine.
///
/// ```
/// use ordain::{surrogate::pair_logistic::PairLogistic, traits::Surrogate};
/// let loss = PairLogistic::new([&[2.0, 0.0][..]], None);
/// let (mut d, mut h) = ([0.0; 2], [0.0; 2]);
/// let value = loss.diagonal(0, &[0.0, 0.0], &mut d, &mut h, &mut Default::default())?;
/// assert!((value.unwrap_or(0.0) - 2f64.ln()).abs() < 1e-15);
/// assert_eq!((d, h), ([-0.5, 0.5], [0.25, 0.25]));
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct PairLogistic {
    graded: Graded,
    /// Where the grade of each document begins among the places of its query, which stand by grade, [`LANES`] by [`LANES`].
    below: Vec<u32>,
    /// Places of each query.
    places: Vec<u32>,
    lambda: Option<Gains>,
}

/// What the weights of [`Lambda`] rest on.
struct Gains {
    how: Lambda,
    gain: Vec<f64>,
    /// By rank from 0.
    discount: Vec<f64>,
    /// Of each query: 1 / DCG of the ideal order, and the mean weight `u_i u_j` of its pairs.
    queries: Vec<(f64, f64)>,
}

impl PairLogistic {
    /// The loss of queries given by the grades of their documents, and the weights of these where there are any; all pairs count alike.
    pub fn new<'a>(grades: impl IntoIterator<Item = &'a [f64]>, weights: Option<&[&[f64]]>) -> Self {
        Self::of_graded(Graded::new(grades, weights))
    }

    /// The loss of queries of a set: over the pairs of its preferences, where it has some, else over those of its grades, with the weights of its documents.
    pub fn of_set(set: &RankSet, units: &[u32]) -> Self {
        Self::of_graded(Graded::of_set(set, units))
    }

    fn of_graded(graded: Graded) -> Self {
        let (mut below, mut places) = (Vec::with_capacity(graded.levels.len()), Vec::with_capacity(graded.len()));
        let mut counts: Vec<u32> = vec![];
        for n in 0..graded.len() {
            let levels = &graded.levels[graded.span(n)];
            counts.clear();
            counts.resize(levels.iter().max().map_or(0, |&top| top as usize + 1), 0);
            levels.iter().for_each(|&level| counts[level as usize] += 1);
            let mut sum = 0;
            counts.iter_mut().for_each(|count| sum += std::mem::replace(count, sum).next_multiple_of(LANES as u32));
            below.extend(levels.iter().map(|&level| counts[level as usize]));
            places.push(sum);
        }
        Self { graded, below, places, lambda: None }
    }

    /// The same with pairs weighed by NDCG.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] for grades outside of 0 to 500, and [`Error::Setting`] for a truncation at 0.
    pub fn lambda<'a>(
        grades: impl IntoIterator<Item = &'a [f64], IntoIter: Clone>,
        weights: Option<&[&[f64]]>,
        how: Lambda,
    ) -> Result<Self> {
        if how.truncation == Some(0) {
            return Err(Error::Setting {
                name: "truncation".into(),
                expected: "a rank from 1 on".into(),
                found: "0".into(),
            });
        }
        let grades = grades.into_iter();
        if let Some(grade) = grades.clone().flatten().find(|g| !(0.0..=500.0).contains(*g)) {
            return Err(Error::Data {
                expected: "grades from 0 to 500 for loss=lambda (try loss=logistic)".into(),
                found: format!("the grade {grade}"),
            });
        }
        let gain: Vec<f64> = grades.clone().flatten().map(|g| g.exp2() - 1.0).collect();
        let longest = grades.clone().map(<[f64]>::len).max().unwrap_or(0);
        let discount: Vec<f64> = (0..longest).map(|rank| 1.0 / ((rank + 2) as f64).log2()).collect();
        let plain = Self::new(grades, weights);
        let mut sorted = vec![];
        let queries = (0..plain.graded.len()).map(|n| {
            sorted.clear();
            sorted.extend_from_slice(&gain[plain.graded.span(n)]);
            sorted.sort_unstable_by(|a, b| b.total_cmp(a));
            let head = sorted.iter().zip(&discount).take(how.truncation.unwrap_or(usize::MAX));
            let ideal: f64 = head.map(|(gain, discount)| gain * discount).sum();
            let (pairs, weights) = plain.graded.pairs(n);
            let mean = weights / pairs;
            (if ideal > 0.0 { 1.0 / ideal } else { 0.0 }, if mean > 0.0 { mean } else { 1.0 })
        });
        let queries = queries.collect();
        Ok(Self { lambda: Some(Gains { how, gain, discount, queries }), ..plain })
    }

    /// Number of pairs of query `n`, and the sum of their weights `u_i u_j`.
    pub fn pairs(&self, n: usize) -> (f64, f64) {
        self.graded.pairs(n)
    }

    /// Each pair of query `n` that counts, as (better, lesser, weight), at some scores: one by one, and slow.
    pub fn pair_weights(&self, n: usize, s: &[f64]) -> Vec<(u32, u32, f64)> {
        if let Some(pairs) = self.graded.given(n) {
            return pairs.to_vec();
        }
        let span = self.graded.span(n);
        let levels = &self.graded.levels[span.clone()];
        let mut pairs = vec![];
        for i in 0..levels.len() {
            for j in (0..levels.len()).filter(|&j| levels[i] > levels[j]) {
                let weight = self.graded.root(span.start + i) * self.graded.root(span.start + j);
                pairs.push((i as u32, j as u32, weight));
            }
        }
        let Some(gains) = &self.lambda else { return pairs };
        let score = |i: u32| s[i as usize] + 0.0; // no zero below zero
        let mut order: Vec<u32> = (0..s.len() as u32).collect();
        order.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
        let mut rank = vec![0; s.len()];
        order.iter().enumerate().for_each(|(r, &i)| rank[i as usize] = r);
        pairs.retain(|&(i, j, _)| rank[i as usize].min(rank[j as usize]) < self.most().unwrap_or(usize::MAX));
        let flat = order.first().is_none_or(|&first| score(order[s.len() - 1]) >= score(first));
        let ((over_ideal, mean), mut slopes) = (gains.queries[n], 0.0);
        for (i, j, weight) in &mut pairs {
            let (i, j) = (*i as usize, *j as usize);
            let gain = gains.gain[span.start + i] - gains.gain[span.start + j];
            *weight *= gain * (gains.discount[rank[i]] - gains.discount[rank[j]]).abs() * over_ideal;
            if gains.how.norm && !flat {
                *weight /= NEAR + (s[i] - s[j]).abs();
            }
            slopes += *weight / (1.0 + (s[i] - s[j]).exp());
        }
        if gains.how.norm {
            let factor = damping(slopes / mean);
            pairs.iter_mut().for_each(|(.., weight)| *weight *= factor);
        }
        pairs
    }
}

/// `L(s) = Σ w_ij log(1 + exp(s_j − s_i))` over given pairs (i, j, w), with slopes and the diagonal of its curvature, pair by pair.
///
/// ```
/// use ordain::surrogate::pair_logistic::of_pairs;
/// let (mut d, mut h) = ([0.0; 2], [0.0; 2]);
/// assert!((of_pairs(&[(0, 1, 2.0)], &[0.0, 0.0], &mut d, &mut h) - 2.0 * 2f64.ln()).abs() < 1e-15);
/// assert_eq!((d, h), ([-1.0, 1.0], [0.5, 0.5]));
/// ```
pub fn of_pairs(pairs: &[(u32, u32, f64)], s: &[f64], d: &mut [f64], h: &mut [f64]) -> f64 {
    d.fill(0.0);
    h.fill(0.0);
    let mut total = 0.0;
    for &(i, j, weight) in pairs {
        let (i, j) = (i as usize, j as usize);
        let behind = s[j] - s[i];
        let (slope, curve) = (1.0 / (1.0 + (-behind).exp()), bend(behind));
        total += weight * (behind.max(0.0) + (-behind.abs()).exp().ln_1p());
        d[i] -= weight * slope;
        d[j] += weight * slope;
        h[i] += weight * curve;
        h[j] += weight * curve;
    }
    total
}

/// The second derivative of `log(1 + e^x)`.
fn bend(x: f64) -> f64 {
    1.0 / (2.0 + x.exp() + (-x).exp())
}

/// Refuses scores that are not finite.
fn finite(s: &[f64]) -> Result<()> {
    if s.iter().all(|s| s.is_finite()) { Ok(()) } else { Err(Error::NotFinite { what: "a score" }) }
}

/// The score by which documents that are tied count as apart, for [`Lambda::norm`].
const NEAR: f64 = 0.01;

/// What the weights of a query are multiplied by for [`Lambda::norm`], by the sum of the slopes of its pairs.
fn damping(slopes: f64) -> f64 {
    let x = 2.0 * slopes;
    if x > 0.0 { (1.0 + x).log2() / x } else { 1.0 }
}

/// Scratch of [`PairLogistic`].
#[derive(Default)]
pub struct Work {
    /// Documents by rank, or as they came.
    order: Vec<(u64, u32)>,
    taken: Vec<u32>,
    /// All documents by grade, with their ranks; and those at ranks that count, where not all do.
    all: Side,
    rank: Vec<u32>,
    top: Side,
    /// Slopes, curvatures and losses of the pairs of one document.
    own: [Vec<f64>; 3],
    /// Of given pairs: curvatures that nobody asked for.
    curves: Vec<f64>,
}

/// What the scores of a query are like.
#[derive(Clone, Copy)]
struct Found {
    /// Whether they are too far apart for one table of exponentials.
    far: bool,
    /// Whether they are all equal.
    flat: bool,
}

/// How pairs of a query are weighed.
#[derive(Clone, Copy)]
enum Weights {
    One,
    /// By NDCG.
    Ndcg {
        over_ideal: f64,
    },
    /// By NDCG, over the distance of scores.
    Near {
        over_ideal: f64,
    },
}

/// Adds the pairs of document i with the first `m` places of a side, all of lesser grade, to these; the sums of their slopes, curvatures and losses.
fn meet(side: &mut Side, m: usize, i: Doc, weights: Weights, own: &mut [Vec<f64>; 3]) -> [f64; 3] {
    let [slopes, curves, losses] = own;
    let (slopes, curves, losses) = (&mut slopes[..m], &mut curves[..m], &mut losses[..m]);
    let ndcg = |gain: f64, discount: f64| (i.gain - gain) * (i.discount - discount).abs();
    match weights {
        Weights::One => side.terms(i, |_, _, _| i.root, slopes, curves, losses),
        Weights::Ndcg { over_ideal } => {
            let scale = i.root * over_ideal;
            side.terms(i, |gain, discount, _| ndcg(gain, discount) * scale, slopes, curves, losses);
        }
        Weights::Near { over_ideal } => {
            let scale = i.root * over_ideal;
            let near = |s: f64| NEAR + (i.s - s).abs();
            side.terms(i, |gain, discount, s| ndcg(gain, discount) * scale / near(s), slopes, curves, losses);
        }
    }
    side.add(slopes, curves, losses)
}

/// A whole number that is less where the score is larger.
fn descending(s: f64) -> u64 {
    let bits = (s + 0.0).to_bits(); // no zero below zero
    if bits >> 63 == 0 { !bits & (u64::MAX >> 1) } else { bits }
}

impl PairLogistic {
    /// Puts the documents of a query in their places: by grade, and where ranks count, by rank within a grade.
    fn prepare(&self, n: usize, s: &[f64], work: &mut Work) -> Result<Found> {
        let Work { order, taken, all, rank: ranks, top, .. } = work;
        let start = self.graded.span(n).start;
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for &s in s {
            if !s.is_finite() {
                return Err(Error::NotFinite { what: "a score" });
            }
            (low, high) = (low.min(s), high.max(s));
        }
        let middle = 0.5 * low + 0.5 * high;
        order.clear();
        order.extend(s.iter().enumerate().map(|(row, &s)| (descending(s), row as u32)));
        if self.lambda.is_some() {
            order.sort_unstable();
        }
        taken.clear();
        taken.resize(self.places[n] as usize, 0);
        ranks.resize(self.places[n] as usize, 0);
        all.clear(self.places[n] as usize);
        for (rank, &(_, row)) in order.iter().enumerate() {
            let at = start + row as usize;
            let (gain, discount) = self.lambda.as_ref().map_or((0.0, 0.0), |l| (l.gain[at], l.discount[rank]));
            let (s, below) = (s[row as usize], self.below[at] as usize);
            let place = below + taken[below] as usize;
            taken[below] += 1;
            ranks[place] = rank as u32;
            all.put(place, Doc { row, s, e: 1.0, root: self.graded.root(at), gain, discount });
        }
        all.e.iter_mut().zip(&all.s).for_each(|(e, s)| *e = exp(s - middle));
        top.clear(if self.most().is_some_and(|most| most < s.len()) { all.row.len() } else { 0 });
        Ok(Found { far: high - middle > FAR, flat: low >= high })
    }

    /// How many ranks count, if not all.
    fn most(&self) -> Option<usize> {
        self.lambda.as_ref().and_then(|gains| gains.how.truncation)
    }

    /// Goes through all pairs of a query and leaves slopes and curvatures on the two sides; the value, and what all is to be multiplied by.
    /// `bend(document, side, curvatures)` is called for each document with those that it is better than.
    #[inline(always)]
    fn each(
        &self,
        n: usize,
        s: &[f64],
        work: &mut Work,
        mut bend: impl FnMut(Doc, &Side, &[f64]),
    ) -> Result<(f64, f64)> {
        let found = self.prepare(n, s, work)?;
        let Work { all, top, rank, own, .. } = work;
        own.iter_mut().for_each(|x| x.resize(x.len().max(all.row.len()), 0.0));
        let start = self.graded.span(n).start;
        let most = self.most().unwrap_or(usize::MAX);
        let (weights, norm) = match &self.lambda {
            None => (Weights::One, None),
            Some(gains) => {
                let ((over_ideal, mean), norm) = (gains.queries[n], gains.how.norm);
                let near = norm && !found.flat;
                let weights = if near { Weights::Near { over_ideal } } else { Weights::Ndcg { over_ideal } };
                (weights, norm.then_some(mean))
            }
        };
        let (mut value, mut slope_sum) = (0.0, 0.0);
        let (mut level, mut top_below, mut top_end) = (0, 0, 0usize);
        for (place, &rank) in rank.iter().enumerate() {
            let mut i = all.get(place);
            if i.row == NONE {
                continue;
            }
            let below = self.below[start + i.row as usize] as usize;
            if below != level {
                top_end = top_end.next_multiple_of(LANES);
                (level, top_below) = (below, top_end);
            }
            let counts = (rank as usize) < most;
            if counts && most < s.len() {
                top.put(top_end, i);
                top_end += 1;
            }
            let (side, m) = if counts { (&mut *all, below) } else { (&mut *top, top_below) };
            if m == 0 {
                continue;
            }
            if found.far {
                side.e[..m].iter_mut().zip(&side.s).for_each(|(e, s)| *e = exp(s - i.s));
                i.e = 1.0;
            }
            let [slope, curve, loss] = meet(side, m, i, weights, own);
            bend(i, side, &own[1][..m]);
            all.d[place] -= slope;
            all.h[place] += curve;
            slope_sum += slope;
            value += loss;
        }
        let factor = norm.map_or(1.0, |mean| damping(slope_sum / mean));
        Ok((factor * value, factor))
    }
}

impl Surrogate for PairLogistic {
    type Work = Work;

    fn len(&self) -> usize {
        self.graded.len()
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut Work) -> Result<f64> {
        if let Some(pairs) = self.graded.given(n) {
            finite(s)?;
            work.curves.resize(s.len(), 0.0);
            return Ok(of_pairs(pairs, s, d, &mut work.curves[..s.len()]));
        }
        let (value, factor) = self.each(n, s, work, |_, _, _| ())?;
        scatter(&work.all, &work.top, factor, |side| &side.d, d);
        Ok(value)
    }

    /// `h_i = Σ_j w_ij u_i u_j p_ij (1 − p_ij)`, `p_ij = 1/(1 + exp(s_i − s_j))`, over all partners j of i.
    fn diagonal(&self, n: usize, s: &[f64], d: &mut [f64], h: &mut [f64], work: &mut Work) -> Result<Option<f64>> {
        if let Some(pairs) = self.graded.given(n) {
            finite(s)?;
            return Ok(Some(of_pairs(pairs, s, d, h)));
        }
        let (value, factor) = self.each(n, s, work, |_, _, _| ())?;
        scatter(&work.all, &work.top, factor, |side| &side.d, d);
        scatter(&work.all, &work.top, factor, |side| &side.h, h);
        Ok(Some(value))
    }

    /// O(pairs · columns).
    fn curvature(
        &self,
        n: usize,
        s: &[f64],
        v: &[f64],
        columns: usize,
        out: &mut [f64],
        work: &mut Work,
    ) -> Result<bool> {
        out.fill(0.0);
        if let Some(pairs) = self.graded.given(n) {
            finite(s)?;
            for &(i, j, weight) in pairs {
                let curve = weight * bend(s[j as usize] - s[i as usize]);
                for (a, b) in (i as usize * columns..).zip(j as usize * columns..).take(columns) {
                    let bent = curve * (v[a] - v[b]);
                    out[a] += bent;
                    out[b] -= bent;
                }
            }
            return Ok(true);
        }
        let (_, factor) = self.each(n, s, work, |i, side, curves| {
            for (curve, &j) in curves.iter().zip(&side.row).filter(|(_, j)| **j != NONE) {
                for (a, b) in (i.row as usize * columns..).zip(j as usize * columns..).take(columns) {
                    let bent = curve * (v[a] - v[b]);
                    out[a] += bent;
                    out[b] -= bent;
                }
            }
        })?;
        if self.lambda.is_some() {
            out.iter_mut().for_each(|out| *out *= factor);
        }
        Ok(true)
    }
}

/// Brings numbers of documents back to their rows.
fn scatter(all: &Side, top: &Side, factor: f64, of: impl Fn(&Side) -> &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for side in [all, top] {
        for (&row, x) in side.row.iter().zip(of(side)).filter(|(row, _)| **row != NONE) {
            out[row as usize] += factor * x;
        }
    }
}
