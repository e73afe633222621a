//! A matcher that is taught by all pairs: by those that are known, and by the agreement of all others.
//!
//! Known pairs are few, and pairs of which nothing is known are many. [`Open::by_agreement`] says how likely each of them is. A logistic regression on the
//! comparisons then learns from these probabilities and from what is known; it sees what goes together in other pairs (suburb and postcode), which agreement counts
//! twice. The law of matchings makes new probabilities of its scores, and some rounds later hardly anything changes.
//!
//! What staying alone is worth follows. A logistic regression compares a pair with all other pairs, also with those of records that are taken by their
//! partners; under the law of matchings only free ones compete. Of the shares `q` and `r` of left and right records with a partner it follows that odds of pairs are by
//! `1 / ((1 − q)(1 − r))` larger among the free ones. A factor and a shift that make known pairs likeliest are the last step.

use super::Candidates;
use super::agreement::Open;
use super::known::Known;
use crate::error::Result;
use crate::matrix::dot;
use crate::method::Matcher;
use crate::pieces::{Pieces, Run, sums_of};
use crate::solver::lbfgs::Lbfgs;
use crate::solver::run::{Report, Watch, run};
use crate::task::Model;
use crate::traits::{Risk, Solver};
use std::collections::BTreeSet;

/// Times that a logistic regression learns from the probabilities of the one before.
const ROUNDS: usize = 3;
/// Times that the shares of records with a partner are taken from the law of matchings that goes by them.
const SHARES: usize = 2;
/// Of pairs that are less likely than this, one in [`SOME`] stands for all.
const UNLIKELY: f64 = 1e-3;
const SOME: usize = 12;
/// The ridge on weights of standardised columns, in pairs.
const RIDGE: f64 = 3.0;
/// The most records of a side that have a partner.
const MOST: f64 = 0.98;
/// How much is held against factors and shifts that known pairs ask for, in pairs: for a factor of e, and for a shift of 2.
const DOUBT: f64 = 5.0;

/// How likely pairs and records alone are to a matcher.
pub(super) struct Said {
    /// Of each candidate pair of which nothing is known; else 0.
    pub(super) pair: Vec<f64>,
    /// Of each left and right record that it stays alone; 0 of those whose partner is known.
    alone: [Vec<f64>; 2],
    /// The share of left and right records that have a partner, of those that have candidates and of which nothing is known.
    shares: [f64; 2],
}

/// A record with a partner, among its candidates: log-odds, how likely the other one is free, and which of them is the partner.
struct Star {
    edges: Vec<(f64, f64)>,
    partner: Option<usize>,
}

/// A linear score: weights of comparisons and a constant, as log-odds of pairs among all pairs.
struct Line {
    weights: Vec<f64>,
    constant: f64,
}

impl Candidates<'_> {
    /// Of each pair whether it is known to match or not; a known match says that neither record matches anything else.
    fn told(&self, known: &Known) -> Vec<Option<bool>> {
        let yes: BTreeSet<(u32, u32)> = known.yes.iter().copied().collect();
        let lefts: BTreeSet<u32> = known.yes.iter().map(|pair| pair.0).collect();
        let rights: BTreeSet<u32> = known.yes.iter().map(|pair| pair.1).filter(|_| !self.right_many).collect();
        let of = |pair: &(u32, u32)| match yes.contains(pair) {
            true => Some(true),
            false => (lefts.contains(&pair.0) || rights.contains(&pair.1) || known.no.contains(pair)).then_some(false),
        };
        self.pairs.iter().map(of).collect()
    }

    /// A matcher that all pairs teach, and how its last fit ended.
    pub(super) fn by_all(&self, known: &Known, watch: &Watch) -> Result<(Matcher, Report)> {
        let told = self.told(known);
        let sizes = [self.left.len(), self.right.len()];
        let fields = self.comparer()?.agreements(&self.pairs, &self.set.features);
        let open = Open { pairs: &self.pairs, told: &told, sizes, right_many: self.right_many };
        let mut p = open.by_agreement(&fields);
        drop(fields);
        let means = Means::of(self);
        let partners = p.iter().sum::<f64>();
        let mut shares = sizes.map(|size| (partners / size.max(1) as f64).min(MOST));
        let mut round = 0;
        loop {
            let (line, report) = self.logistic(&p, &told, &means, watch)?;
            let mut said = self.said(&self.matcher(&line, 0.0, &shares), known)?;
            for _ in 1..SHARES {
                shares = said.shares;
                said = self.said(&self.matcher(&line, 0.0, &shares), known)?;
            }
            shares = said.shares;
            let (factor, shift) = self.fitting(&line, &said, known);
            let line = line.times(factor);
            let matcher = self.matcher(&line, shift, &shares);
            round += 1;
            if round == ROUNDS || watch.stopped() {
                return Ok((matcher, report));
            }
            let said = self.said(&matcher, known)?;
            let all = said.pair.into_iter().zip(&told);
            p = all.map(|(p, told)| told.map_or(p, |yes| f64::from(u8::from(yes)))).collect();
        }
    }

    /// The matcher of a line. Odds of pairs are larger where only free records compete; half of what stands against a link is put down to either record.
    fn matcher(&self, line: &Line, shift: f64, shares: &[f64; 2]) -> Matcher {
        let free = |share: f64| -(1.0 - share.min(MOST)).ln();
        let more = free(shares[0]) + if self.right_many { 0.0 } else { free(shares[1]) };
        let mut matcher = Matcher::unlearned(&self.set, line.weights.clone());
        matcher.null = Some(-0.5 * (line.constant + shift + more));
        matcher.temperature = Some(1.0);
        matcher
    }

    /// What a matcher says of all pairs of which nothing is known.
    pub(super) fn said(&self, matcher: &Matcher, known: &Known) -> Result<Said> {
        let told = self.told(known);
        let (set, ends) = self.unknown(known)?;
        let answers = matcher.answer(&matcher.prepare(&set)?, &set.all(), false)?;
        let mut alone = [self.left.len(), self.right.len()].map(|size| vec![1.0; size]);
        for &(i, j) in &known.yes {
            alone[0][i as usize] = 0.0;
            if !self.right_many {
                alone[1][j as usize] = 0.0;
            }
        }
        let mut edges = vec![];
        let (mut partners, mut records) = (0.0, [BTreeSet::new(), BTreeSet::new()]);
        for (p, (answer, ends)) in answers.iter().zip(&ends).enumerate() {
            let problem = set.problem(p);
            let own = answer.probabilities.as_deref().unwrap_or_default();
            let own = own.get(..problem.edges.len()).unwrap_or_default();
            partners += own.iter().sum::<f64>();
            edges.extend_from_slice(own);
            for side in 0..2 {
                for (n, &record) in ends[side].iter().enumerate() {
                    alone[side][record as usize] *= answer.unmatched(problem, side == 1, n).unwrap_or(0.0);
                    records[side].insert(record);
                }
            }
        }
        // free pairs come in the order of all pairs
        let mut edges = edges.into_iter();
        let pair = told.iter().map(|told| if told.is_none() { edges.next().unwrap_or(0.0) } else { 0.0 }).collect();
        let shares = records.map(|all| (partners / all.len().max(1) as f64).min(MOST));
        Ok(Said { pair, alone, shares })
    }

    /// The stars of both records of some matches, by the score of a pair: whether the other record of each candidate is free, were this one not there, is what the matcher says.
    fn stars(&self, pairs: &[(u32, u32)], said: &Said, odds: impl Fn(usize) -> f64) -> Vec<Star> {
        let partner: BTreeSet<(u32, u32)> = pairs.iter().copied().collect();
        let mut rows: [Vec<(u32, usize)>; 2] = Default::default();
        let wanted: [BTreeSet<u32>; 2] =
            [pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect()];
        for (n, &(i, j)) in self.pairs.iter().enumerate() {
            if wanted[0].contains(&i) {
                rows[0].push((i, n));
            }
            if wanted[1].contains(&j) && !self.right_many {
                rows[1].push((j, n));
            }
        }
        let mut all = vec![];
        for (side, mut rows) in rows.into_iter().enumerate() {
            rows.sort_unstable();
            for own in rows.chunk_by(|a, b| a.0 == b.0) {
                let edge = |&(_, n): &(u32, usize)| {
                    let (i, j) = self.pairs[n];
                    let other = if side == 0 { j } else { i };
                    let free = match partner.contains(&(i, j)) {
                        true => 1.0,
                        false => (said.alone[1 - side][other as usize] / (1.0 - said.pair[n]).max(1e-9)).min(1.0),
                    };
                    (odds(n), free)
                };
                let found = own.iter().position(|&(_, n)| partner.contains(&self.pairs[n]));
                all.push(Star { edges: own.iter().map(edge).collect(), partner: found });
            }
        }
        all
    }

    /// The factor and the shift of log-odds under which known matches are likeliest: a record with its partner, as often as records have one, and without it.
    fn fitting(&self, line: &Line, said: &Said, known: &Known) -> (f64, f64) {
        let free = |share: f64| -(1.0 - share).ln();
        let more = free(said.shares[0]) + if self.right_many { 0.0 } else { free(said.shares[1]) };
        let odds = |n: usize| {
            let mut sum = line.constant;
            self.set.features.each(n, |j, x| sum += line.weights[j] * f64::from(x));
            sum
        };
        let stars = self.stars(&known.yes, said, odds);
        let mut best = (f64::NEG_INFINITY, 1.0, 0.0);
        for factor in [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5] {
            for step in -12..=12 {
                let shift = 0.25 * f64::from(step);
                let change = |odds: f64| factor * odds + more + shift;
                let told: f64 = stars.iter().map(|star| star.likelihood(said.shares[0], change)).sum();
                let value = told - DOUBT * (f64::ln(factor).powi(2) + 0.25 * shift * shift);
                if value > best.0 {
                    best = (value, factor, shift);
                }
            }
        }
        (best.1, best.2)
    }

    /// How likely matches are to a matcher that has not seen them, with their partners and without: the mean of logarithms.
    pub(super) fn likelihood(&self, matcher: &Matcher, known: &Known, held: &[(u32, u32)]) -> Result<f64> {
        let said = self.said(matcher, known)?;
        let scores = matcher.scores_of(&matcher.prepare(&self.set)?, &self.set.all())?.concat();
        let (null, t) = (matcher.null.unwrap_or(0.0), matcher.temperature.unwrap_or(1.0));
        let stars = self.stars(held, &said, |n| (scores[n] - 2.0 * null) / t);
        Ok(stars.iter().map(|star| star.likelihood(0.5, |odds| odds)).sum::<f64>() / stars.len().max(1) as f64)
    }

    /// A logistic regression on standardised comparisons, by probabilities: what is known, and what is likely, as it is; of the rest some for all.
    fn logistic(&self, p: &[f64], told: &[Option<bool>], means: &Means, watch: &Watch) -> Result<(Line, Report)> {
        let d = means.mean.len();
        let (mut rows, mut targets, mut seen) = (vec![], vec![], 0);
        for (n, (&p, told)) in p.iter().zip(told).enumerate() {
            let weight = match told.is_some() || p > UNLIKELY {
                true => 1.0,
                false => {
                    seen += 1;
                    if seen % SOME != 1 {
                        continue;
                    }
                    SOME as f64
                }
            };
            let start = rows.len();
            rows.resize(start + d, 0.0);
            let row = &mut rows[start..];
            row.iter_mut().zip(&means.mean).zip(&means.unit).for_each(|((x, mean), unit)| *x = -mean / unit);
            self.set.features.each(n, |j, x| row[j] += f64::from(x) / means.unit[j]);
            targets.push((p, weight));
        }
        let runs = Pieces::of_items(targets.len(), d).runs(0..targets.len());
        let mut risk = Soft { rows: &rows, targets: &targets, runs: &runs, d };
        let mut solver = Lbfgs::new(&mut risk, 0.0, 1e-5, vec![0.0; d + 1])?;
        let report = run(&mut solver, 300, 0, watch)?;
        let theta = solver.theta();
        let weights: Vec<f64> = theta[..d].iter().zip(&means.unit).map(|(w, unit)| w / unit).collect();
        let constant = theta[d] - dot(&weights, &means.mean);
        Ok((Line { weights, constant }, report))
    }
}

impl Line {
    fn times(&self, factor: f64) -> Self {
        Self { weights: self.weights.iter().map(|w| factor * w).collect(), constant: factor * self.constant }
    }
}

impl Star {
    /// The log-probability of the partner, times the share of records that have one, and of staying alone without it, times the rest.
    fn likelihood(&self, share: f64, change: impl Fn(f64) -> f64) -> f64 {
        let weight = |&(odds, free): &(f64, f64)| change(odds).clamp(-300.0, 300.0).exp() * free;
        let all: f64 = self.edges.iter().map(weight).sum();
        let own = self.partner.map_or(0.0, |at| weight(&self.edges[at]));
        let there = if self.partner.is_some() { share * (own.max(1e-300) / (1.0 + all)).ln() } else { 0.0 };
        there - (1.0 - share) * (all - own).max(0.0).ln_1p()
    }
}

/// Mean and deviation of every comparison over all candidate pairs.
struct Means {
    mean: Vec<f64>,
    unit: Vec<f64>,
}

impl Means {
    fn of(all: &Candidates) -> Self {
        let (n, d) = (all.pairs.len(), all.set.features.cols());
        let runs = Pieces::of_items(n, d).runs(0..n);
        let sums = sums_of(&runs, 2 * d, |row, sum| {
            all.set.features.each(row, |j, x| {
                sum[j] += f64::from(x);
                sum[d + j] += f64::from(x) * f64::from(x);
            });
        });
        let mean: Vec<f64> = sums[..d].iter().map(|sum| sum / n.max(1) as f64).collect();
        let unit = |(square, mean): (&f64, &f64)| {
            let variance = square / n.max(1) as f64 - mean * mean;
            if variance > 1e-12 { variance.sqrt() } else { 1.0 }
        };
        let unit = sums[d..].iter().zip(&mean).map(unit).collect();
        Self { mean, unit }
    }
}

/// Cross-entropy of probabilities and a ridge on all weights but the constant, the last; a mean over pairs.
struct Soft<'a> {
    rows: &'a [f64],
    /// Probability and weight of each row.
    targets: &'a [(f64, f64)],
    runs: &'a [Run],
    d: usize,
}

impl Risk for Soft<'_> {
    fn dim(&self) -> usize {
        self.d + 1
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        let d = self.d;
        let sums = sums_of(self.runs, d + 3, |n, sum| {
            let (row, (p, weight)) = (&self.rows[n * d..(n + 1) * d], self.targets[n]);
            let z = dot(row, &theta[..d]) + theta[d];
            let slope = weight * (1.0 / (1.0 + (-z).exp()) - p);
            sum[..d].iter_mut().zip(row).for_each(|(sum, x)| *sum += slope * x);
            sum[d] += slope;
            sum[d + 1] += weight * (z.max(0.0) + (-z.abs()).exp().ln_1p() - p * z);
            sum[d + 2] += weight;
        });
        let all = sums[d + 2].max(1.0);
        grad.iter_mut().zip(&sums).for_each(|(grad, sum)| *grad = sum / all);
        grad[..d].iter_mut().zip(theta).for_each(|(grad, w)| *grad += RIDGE * w / all);
        Ok((sums[d + 1] + 0.5 * RIDGE * dot(&theta[..d], &theta[..d])) / all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_differences() {
        let random = &mut crate::random::Random::new(3);
        let (n, d) = (50, 3);
        let rows: Vec<f64> = (0..n * d).map(|_| random.normal()).collect();
        let targets: Vec<(f64, f64)> = (0..n).map(|_| (random.uniform(), 1.0 + random.below(12) as f64)).collect();
        let runs = Pieces::of_items(n, d).runs(0..n);
        let mut risk = Soft { rows: &rows, targets: &targets, runs: &runs, d };
        let theta: Vec<f64> = (0..=d).map(|_| random.normal()).collect();
        let (mut grad, mut none) = (vec![0.0; d + 1], vec![0.0; d + 1]);
        risk.value(&theta, &mut grad).unwrap_or(f64::NAN);
        for j in 0..=d {
            let mut at = |h: f64| {
                let mut moved = theta.clone();
                moved[j] += h;
                risk.value(&moved, &mut none).unwrap_or(f64::NAN)
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - grad[j]).abs() < 1e-7, "{slope} and {}", grad[j]);
        }
    }

    /// The likelihood of a star by counting its answers.
    #[test]
    fn a_star_is_likely_as_its_answers_are() {
        let star = Star { edges: vec![(0.3, 1.0), (-1.0, 0.5), (2.0, 0.25)], partner: Some(0) };
        let weights = [0.3f64.exp(), (-1.0f64).exp() * 0.5, 2.0f64.exp() * 0.25];
        let with = weights[0] / (1.0 + weights.iter().sum::<f64>());
        let without = 1.0 / (1.0 + weights[1] + weights[2]);
        let expected = 0.7 * with.ln() + 0.3 * without.ln();
        assert!((star.likelihood(0.7, |odds| odds) - expected).abs() < 1e-12);
    }
}
