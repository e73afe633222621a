//! FRank: a sum of thresholds on columns, each the best one for the fidelity loss of pairs.

use crate::data::transform::Transform;
use crate::error::Result;
use crate::method::rank::query_weights;
use crate::method::rank::ranksvm::PairWeight;
use crate::method::rank::staged::{
    self, Job, Made, Staged, THRESHOLDS, WEIGHTS, Weak, Weighs, asked, pair_weights, staged, thresholds,
};
use crate::method::settings::{count, name_of, one_of, shown};
use crate::method::trees::choice;
use crate::method::{Choice, Rank};
use crate::surrogate::pair_hinge::Preferred;
use crate::task::{About, Method, Setting, Written};
use crate::tree::{Stump, Stumps};
use rayon::prelude::*;
use serde_json::Map;
use std::ops::Range;

/// FRank: one threshold on one column after another, each the best one for the fidelity of pairs.
///
/// ```text
/// F(s) = Σ_pairs weight · (1 − √P_ij),   P_ij = 1/(1 + exp(s_j − s_i)),   W_ij = weight · ½ √P_ij (1 − P_ij) = −∂F/∂(s_i − s_j)
/// h(x) = 1 if x_f > θ, else 0;   W⁺, W⁻: the W of pairs that h orders rightly, and wrongly;   α = ½ ln(W⁺/W⁻),   s ← s + α h
/// ```
///
/// Tsai, Liu, Qin, Chen and Ma 2007, with target probabilities of 1: the loss of a pair is at most 1, so that pairs which cannot be put right are let go.
/// Pairs of equal grades are left out. The paper leaves the choice of rules open: here the eight of the largest `(√W⁺ − √W⁻)²` are tried, and the one
/// with the least loss is taken. Where no step lowers the loss, steps are halved until one does, so that the loss falls in every round. Missing values are
/// below every threshold. The number of rounds is chosen on held-out queries.
///
/// W is no product of numbers of documents: a round costs O(pairs · columns), by comparisons of bins alone.
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::FRank, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Synthetic { queries: 40, ..Synthetic::default() }.make();
/// let fitted = FRank::default().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// assert!(fitted.facts.report.objective < 1.0 - 0.5f64.sqrt()); // what it is without any rule
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FRank {
    /// The number of rules.
    pub rounds: Choice<usize>,
    /// Whether all pairs count alike, or all queries.
    pub weight: PairWeight,
    /// The most thresholds of a column.
    pub thresholds: usize,
}

impl Default for FRank {
    fn default() -> Self {
        Self { rounds: Choice::Auto, weight: PairWeight::Query, thresholds: 63 }
    }
}

impl FRank {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        staged::rounds("the number of rules: auto by validation (at most 100; 100 if nothing can be chosen)"),
        Setting {
            name: "weight",
            range: "query, pair",
            default: "query",
            help: "what the mean of the loss is over: queries and then the pairs of each, or all pairs",
        },
        Setting {
            name: "thresholds",
            range: THRESHOLDS,
            default: "63",
            help: "the most thresholds of a column, at quantiles",
        },
    ];
}

impl Method<Rank> for FRank {
    fn name(&self) -> &'static str {
        "frank"
    }

    fn about(&self) -> About {
        About {
            good_for: "noisy grades: pairs that cannot be had are let go",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4462), ("map", 0.4544)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "rounds" => Some(shown(&self.rounds, usize::to_string)),
            "weight" => Some(name_of(&self.weight, &WEIGHTS).into()),
            "thresholds" => Some(self.thresholds.to_string()),
            _ => None,
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "rounds" => self.rounds = choice(name, value)?,
            "weight" => self.weight = one_of("weight", value, &WEIGHTS)?,
            "thresholds" => self.thresholds = count(name, value)?,
            _ => {}
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        staged::above_0(self.rounds)?;
        thresholds(self.thresholds)
    }

    fn chooses(&self) -> bool {
        self.rounds == Choice::Auto
    }

    fn takes_preferences(&self) -> bool {
        true
    }

    fn takes_gaps(&self) -> bool {
        true
    }

    /// None: a threshold is the same before and after a monotone map.
    fn transform(&self) -> Transform {
        Transform::None
    }

    fn written(&self) -> Written {
        let settings =
            [("weight".to_owned(), self.weight.name().into()), ("thresholds".to_owned(), self.thresholds.into())];
        Written { asked: asked(self.rounds), settings: Map::from_iter(settings) }
    }

    staged!();
}

impl Staged for FRank {
    const MOST: usize = 100;
    const WEIGHS: Weighs = Weighs::Queries;
    const PATIENCE: usize = 30; // a round is dear: it goes through all pairs

    fn rounds(&self) -> Choice<usize> {
        self.rounds
    }

    fn run(&self, job: &Job<'_>) -> Result<Vec<Made>> {
        let (stumps, set) = (job.stumps(self.thresholds)?, job.data.set);
        let of_queries = query_weights(set, &job.units)?;
        let rules = |on: &[u32]| {
            let (weights, pairs) = pair_weights(job.data, on, self.weight)?;
            let query = |(&q, weight): (&u32, f64)| {
                let span = set.span(q as usize);
                match set.preferences() {
                    Some(preferences) => Query::of_pairs(span.clone(), preferences.of(span).collect(), weight),
                    None => {
                        let own = of_queries.as_ref().map_or(1.0, |weights| weights[&q]);
                        Query::new(span.start, &set.grades[span], weight * own)
                    }
                }
            };
            Ok(Rules { queries: on.iter().zip(weights).map(query).collect(), pairs, known: None })
        };
        job.boost(&stumps, rules, "pair")
    }
}

/// The documents of a query from the best grade to the least.
struct Query {
    rows: Vec<u32>,
    /// For each document where those of lesser grades begin.
    lesser: Vec<u32>,
    /// The weight of a pair, beside its own.
    weight: f64,
    /// Preferences in place of grades; the documents then stand as they are stored.
    given: Option<Vec<Preferred>>,
}

/// What finds the next rule.
struct Rules {
    queries: Vec<Query>,
    pairs: f64,
    /// The loss after the last step.
    known: Option<f64>,
}

/// Rules whose loss is computed.
const TRIED: usize = 8;
/// The largest exponent, of either sign: pairs further apart have a P of 0 or 1 in either precision.
const LARGEST: f64 = 40.0;
/// The largest value of `√P (1 − P)`, at P = 1/3.
const STEEPEST: f64 = 0.384_900_179_459_750_5;
/// What a sum of weights of 1 is as a whole number.
const ONE: f64 = (1u64 << 54) as f64;
/// Sums that differ by less are the same: of rules that are as good the first is taken.
const SAME: f64 = 1e-12;
/// What is added to both sides of a ratio, as a share of all weights, so that a rule without a fault has a finite weight.
const FAULT: f64 = 1e-9;
/// How often a step is halved.
const HALVINGS: usize = 20;
/// The share of the loss that a step has to lower it by.
const LEAST: f64 = 1e-12;

impl Query {
    fn new(start: usize, grades: &[f64], weight: f64) -> Self {
        let mut order: Vec<usize> = (0..grades.len()).collect();
        order.sort_by(|&a, &b| grades[b].total_cmp(&grades[a]).then(a.cmp(&b)));
        let lesser = |&i: &usize| order.partition_point(|&j| grades[j] >= grades[i]) as u32;
        Self {
            lesser: order.iter().map(lesser).collect(),
            rows: order.iter().map(|&i| (start + i) as u32).collect(),
            weight,
            given: None,
        }
    }

    fn of_pairs(span: Range<usize>, pairs: Vec<Preferred>, weight: f64) -> Self {
        Self { rows: span.map(|row| row as u32).collect(), lesser: vec![], weight, given: Some(pairs) }
    }

    /// Its part of the loss, of preferences.
    fn given_loss(&self, pairs: &[Preferred], e: impl Fn(u32) -> f64) -> f64 {
        let cost = |&(i, j, weight): &Preferred| weight * (1.0 - (e(i) / (e(i) + e(j))).sqrt());
        self.weight * pairs.iter().map(cost).sum::<f64>()
    }

    /// What [`Query::divide`] adds, of preferences.
    fn divide_given(&self, pairs: &[Preferred], stumps: &Stumps, e: &[f64], sums: &mut [[[i64; 256]; 2]]) {
        let steep = |&(i, j, weight): &Preferred| {
            let p = e[i as usize] / (e[i as usize] + e[j as usize]);
            (self.weight * weight * 0.5 * p.sqrt() * (1.0 - p) * ONE).round() as i64
        };
        let steep: Vec<i64> = pairs.iter().map(steep).collect();
        for (slot, [divided, differ]) in sums.iter_mut().enumerate() {
            let of = stumps.bins(slot);
            for (&(i, j, _), steep) in pairs.iter().zip(&steep) {
                let [i, j] = [i, j].map(|i| usize::from(of[self.rows[i as usize] as usize]));
                divided[i.min(j)] += steep;
                divided[i.max(j)] -= steep;
                differ[i] += steep;
                differ[j] -= steep;
            }
        }
    }

    /// `e^s` of its documents, times `e^step` of those that a rule marks.
    fn exponentials(&self, scores: &[f64], out: &mut Vec<f64>, marked: impl Fn(usize) -> bool, step: f64) {
        let of = |row: u32| scores[row as usize] + if marked(row as usize) { step } else { 0.0 };
        let range = |(low, high): (f64, f64), &row: &u32| (low.min(of(row)), high.max(of(row)));
        let (low, high) = self.rows.iter().fold((f64::INFINITY, f64::NEG_INFINITY), range);
        let middle = 0.5 * (low + high);
        out.clear();
        out.extend(self.rows.iter().map(|&row| (of(row) - middle).clamp(-LARGEST, LARGEST).exp()));
    }

    /// Its part of the loss. O(pairs).
    fn loss(&self, e: &[f64]) -> f64 {
        if let Some(pairs) = &self.given {
            return self.given_loss(pairs, |i| e[i as usize]);
        }
        let mut sum = 0.0;
        for (own, &first) in e.iter().zip(&self.lesser) {
            let lesser = &e[first as usize..];
            // four sums side by side
            let mut lanes = [0.0; 4];
            let mut fours = lesser.chunks_exact(4);
            for four in fours.by_ref() {
                for (lane, e) in lanes.iter_mut().zip(four) {
                    *lane += (own / (own + e)).sqrt();
                }
            }
            let rest: f64 = fours.remainder().iter().map(|e| (own / (own + e)).sqrt()).sum();
            sum += lesser.len() as f64 - (lanes[0] + lanes[1] + lanes[2] + lanes[3] + rest);
        }
        self.weight * sum
    }

    /// The same in single precision, to compare rules by.
    fn rough_loss(&self, e: &[f32]) -> f64 {
        if let Some(pairs) = &self.given {
            return self.given_loss(pairs, |i| f64::from(e[i as usize]));
        }
        let mut sum = 0.0;
        for (own, &first) in e.iter().zip(&self.lesser) {
            let lesser = &e[first as usize..];
            let mut lanes = [0.0; 8];
            let mut eights = lesser.chunks_exact(8);
            for eight in eights.by_ref() {
                for (lane, e) in lanes.iter_mut().zip(eight) {
                    *lane += (own / (own + e)).sqrt();
                }
            }
            let rest: f32 = eights.remainder().iter().map(|e| (own / (own + e)).sqrt()).sum();
            sum += lesser.len() as f64 - f64::from(lanes.iter().sum::<f32>() + rest);
        }
        self.weight * sum
    }

    /// The weights of all thresholds: of pairs that each one divides, and of these the right ones less the wrong ones; added to `sums`.
    ///
    /// Weights of pairs are whole numbers, which add up alike in any order. A threshold b divides a pair whose lower bin is at most b and whose
    /// higher one is above. So a pair counts from its lower bin on and until its higher one: the sum over lower bins is that over both less that over
    /// higher ones, and only the latter is a sum over pairs.
    fn divide(&self, stumps: &Stumps, e: &[f64], work: &mut Work, sums: &mut [[[i64; 256]; 2]]) {
        if let Some(pairs) = &self.given {
            return self.divide_given(pairs, stumps, e, sums);
        }
        let n = self.rows.len();
        let scale = f64::from(1 << 30) / (n as f64 * STEEPEST);
        let Work { weights, both, better, bins, higher, single, .. } = work;
        single.clear();
        single.extend(e.iter().map(|&e| e as f32));
        let steep = scale as f32;
        weights.clear();
        both.clear();
        both.resize(n, 0);
        better.clear();
        better.resize(n, 0);
        for (i, &first) in self.lesser.iter().enumerate() {
            let (own, at, first) = (single[i], weights.len(), first as usize);
            weights.extend(single[first..].iter().map(|e| {
                let part = 1.0 / (own + e);
                ((own * part).sqrt() * (e * part) * steep) as i32
            }));
            for (j, &w) in (first..n).zip(&weights[at..]) {
                both[j] += w;
                better[j] -= w;
            }
            let sum: i32 = weights[at..].iter().sum();
            both[i] += sum;
            better[i] += sum;
        }
        let unit = self.weight * 0.5 / scale * ONE;
        let whole = |x: i64| (x as f64 * unit).round() as i64;
        for (slot, sums) in sums.iter_mut().enumerate() {
            let of = stumps.bins(slot);
            bins.clear();
            bins.extend(self.rows.iter().map(|&row| i32::from(of[row as usize])));
            higher.clear();
            higher.resize(n, 0);
            let mut at = 0;
            for (i, &first) in self.lesser.iter().enumerate() {
                let (own, first) = (bins[i], first as usize);
                let weights = &weights[at..at + n - first];
                at += n - first;
                let mut sum = 0;
                for ((bin, w), higher) in bins[first..].iter().zip(weights).zip(&mut higher[first..]) {
                    let mine = -i32::from(*bin <= own);
                    sum += w & mine;
                    *higher += w & !mine;
                }
                higher[i] += sum;
            }
            let [divided, differ] = sums;
            for i in 0..n {
                let bin = bins[i] as usize;
                divided[bin] += whole(i64::from(both[i]) - 2 * i64::from(higher[i]));
                differ[bin] += whole(i64::from(better[i]));
            }
        }
    }
}

/// Scratch of a query.
#[derive(Default)]
struct Work {
    e: Vec<f64>,
    single: Vec<f32>,
    /// The weights of pairs, document after document.
    weights: Vec<i32>,
    /// Of each document the weights of its pairs, those as the better one less those as the lesser one, and those in which its bin is the higher one.
    both: Vec<i32>,
    better: Vec<i32>,
    bins: Vec<i32>,
    higher: Vec<i32>,
}

impl Rules {
    /// The loss after a step along a rule, in double or in single precision; in parallel over queries.
    fn loss(&self, scores: &[f64], marked: impl Fn(usize) -> bool + Sync, step: f64, rough: bool) -> f64 {
        let one = |Work { e, single, .. }: &mut Work, query: &Query| {
            query.exponentials(scores, e, &marked, step);
            if !rough {
                return query.loss(e);
            }
            single.clear();
            single.extend(e.iter().map(|&e| e as f32));
            query.rough_loss(single)
        };
        let all: Vec<f64> = self.queries.par_iter().with_min_len(4).map_init(Work::default, one).collect();
        all.iter().sum()
    }

    /// The rules of the largest `(√W⁺ − √W⁻)²`, each with its step.
    fn promising(&self, stumps: &Stumps, scores: &[f64]) -> Vec<(Stump, f64)> {
        let none = || vec![[[0; 256]; 2]; stumps.slots()];
        let some = |queries: &[Query]| {
            let (mut sums, mut work) = (none(), Work::default());
            for query in queries {
                let mut e = std::mem::take(&mut work.e);
                query.exponentials(scores, &mut e, |_| false, 0.0);
                query.divide(stumps, &e, &mut work, &mut sums);
                work.e = e;
            }
            sums
        };
        let add = |mut a: Vec<[[i64; 256]; 2]>, b: Vec<[[i64; 256]; 2]>| {
            a.as_flattened_mut()
                .as_flattened_mut()
                .iter_mut()
                .zip(b.as_flattened().as_flattened())
                .for_each(|(a, b)| *a += b);
            a
        };
        let sums = self.queries.par_chunks(16).map(some).reduce(none, add);
        let mut found: Vec<(f64, Stump, f64)> = vec![];
        for (slot, [divided, differ]) in sums.iter().enumerate() {
            let total: i64 = differ.iter().sum();
            let (mut cut, mut below) = (divided[0], differ[0]);
            for bin in 1..=stumps.cuts(slot).len() {
                (cut, below) = (cut + divided[bin], below + differ[bin]);
                let (all, r) = (cut as f64 / ONE, (total - below) as f64 / ONE);
                let [right, wrong] = [0.5 * (all + r), 0.5 * (all - r)].map(|w| w.max(0.0));
                let worth = (right.sqrt() - wrong.sqrt()).powi(2);
                let step = 0.5 * ((right + FAULT * all) / (wrong + FAULT * all)).ln();
                // of equals the first one stays
                let place = found.iter().position(|(other, ..)| worth > other + SAME).unwrap_or(found.len());
                if place < TRIED && all > 0.0 && step.is_finite() {
                    found.insert(place, (worth, Stump { slot, bin: bin as u8, gap: false }, step));
                    found.truncate(TRIED);
                }
            }
        }
        found.into_iter().filter(|(worth, ..)| *worth > 0.0).map(|(_, stump, step)| (stump, step)).collect()
    }
}

impl Weak for Rules {
    fn next(&mut self, stumps: &Stumps, scores: &[f64]) -> Result<(f64, Option<(Stump, f64, f64)>)> {
        let loss = self.known.take().unwrap_or_else(|| self.loss(scores, |_| false, 0.0, false));
        let promising = self.promising(stumps, scores);
        for halving in 0..HALVINGS {
            let shorter = 0.5f64.powi(halving as i32);
            let tried = promising.iter().map(|&(stump, step)| {
                let step = shorter * step;
                (self.loss(scores, |row| stumps.above(stump, row), step, true), stump, step)
            });
            // of equals the first
            let best = tried.reduce(|best, next| if next.0 < best.0 - SAME { next } else { best });
            let Some((_, stump, step)) = best else { break };
            let after = self.loss(scores, |row| stumps.above(stump, row), step, false);
            if loss - after > LEAST * loss {
                self.known = Some(after);
                return Ok((loss, Some((stump, step, loss - after))));
            }
        }
        self.known = Some(loss);
        Ok((loss, None))
    }

    fn examples(&self) -> f64 {
        self.pairs
    }
}
