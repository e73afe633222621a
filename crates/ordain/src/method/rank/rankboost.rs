//! RankBoost: a sum of thresholds on columns, each the best one for the exponential loss of pairs.

use crate::data::transform::Transform;
use crate::error::Result;
use crate::method::rank::ranksvm::PairWeight;
use crate::method::rank::staged::{
    self, Job, Made, Staged, THRESHOLDS, WEIGHTS, Weak, Weighs, asked, pair_weights, rows_of, staged, thresholds,
};
use crate::method::settings::{count, name_of, one_of, shown};
use crate::method::trees::choice;
use crate::method::{Choice, Rank};
use crate::surrogate::pair_exponential::{PairExponential, Work};
use crate::task::{About, Method, Setting, Written};
use crate::traits::Surrogate;
use crate::tree::{Stump, Stumps};
use rayon::prelude::*;
use serde_json::Map;
use std::ops::Range;

/// RankBoost: one threshold on one column after another, each weighed by how well it orders the pairs that are still wrong.
///
/// ```text
/// D_ij ∝ weight · exp(s_j − s_i),   r(h) = Σ_pairs D_ij (h(x_i) − h(x_j)),   h(x) = 1 if x_f > θ, else 0
/// take the h of the largest |r|,   α = ½ ln((1 + r)/(1 − r)),   s ← s + α h
/// ```
///
/// Freund, Iyer, Schapire and Singer 2003: their third way to choose α, which minimises a bound of the loss; `alpha=exact` minimises the loss
/// itself (their second, for 0/1 rules). Thresholds lie between quantiles of a column as it stands in the data. Where values are missing, each rule says
/// whether they count as above (the paper's `q_def`). The number of rounds is chosen on held-out queries.
///
/// D is a product of numbers of documents ([`PairExponential`]), so that a round costs O(documents · columns), whatever the number of pairs.
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::RankBoost, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Synthetic::default().make();
/// let fitted = RankBoost::default().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// assert!(fitted.facts.report.objective < 1.0); // what it is without any rule
/// assert_eq!(fitted.model.score.forests()[0].trees(), fitted.facts.report.iterations);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankBoost {
    /// The number of rules.
    pub rounds: Choice<usize>,
    /// Whether all pairs count alike, or all queries.
    pub weight: PairWeight,
    /// The most thresholds of a column.
    pub thresholds: usize,
    /// How a rule is weighed.
    pub alpha: Alpha,
}

/// How a rule is weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alpha {
    /// By r, which minimises a bound of the loss.
    Bound,
    /// By the pairs that the rule orders rightly and wrongly, which minimises the loss.
    Exact,
}

const ALPHAS: [(&str, Alpha); 2] = [("bound", Alpha::Bound), ("exact", Alpha::Exact)];

impl Default for RankBoost {
    fn default() -> Self {
        Self { rounds: Choice::Auto, weight: PairWeight::Pair, thresholds: 254, alpha: Alpha::Bound }
    }
}

impl RankBoost {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        staged::rounds("the number of rules: auto by validation (at most 300; 100 if nothing can be chosen)"),
        Setting {
            name: "weight",
            range: "pair, query",
            default: "pair",
            help: "what the mean of the loss is over: all pairs, or queries and then the pairs of each",
        },
        Setting {
            name: "thresholds",
            range: THRESHOLDS,
            default: "254",
            help: "the most thresholds of a column, at quantiles",
        },
        Setting {
            name: "alpha",
            range: "bound, exact",
            default: "bound",
            help: "how a rule is weighed: by a bound of the loss, or by the loss itself, which falls faster and ranks worse",
        },
    ];
}

impl Method<Rank> for RankBoost {
    fn name(&self) -> &'static str {
        "rankboost"
    }

    fn about(&self) -> About {
        About {
            good_for: "thresholds on columns, whatever their units",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4338), ("map", 0.4451)],
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
            "alpha" => Some(name_of(&self.alpha, &ALPHAS).into()),
            _ => None,
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "rounds" => self.rounds = choice(name, value)?,
            "weight" => self.weight = one_of("weight", value, &WEIGHTS)?,
            "thresholds" => self.thresholds = count(name, value)?,
            "alpha" => self.alpha = one_of("alpha", value, &ALPHAS)?,
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
        let settings = [
            ("weight".to_owned(), self.weight.name().into()),
            ("thresholds".to_owned(), self.thresholds.into()),
            ("alpha".to_owned(), name_of(&self.alpha, &ALPHAS).into()),
        ];
        Written { asked: asked(self.rounds), settings: Map::from_iter(settings) }
    }

    staged!();
}

impl Staged for RankBoost {
    const MOST: usize = 300;
    const WEIGHS: Weighs = Weighs::Documents;

    fn rounds(&self) -> Choice<usize> {
        self.rounds
    }

    fn run(&self, job: &Job<'_>) -> Result<Vec<Made>> {
        let (stumps, set) = (job.stumps(self.thresholds)?, job.data.set);
        let rules = |on: &[u32]| {
            let (weight, pairs) = pair_weights(job.data, on, self.weight)?;
            let spans: Vec<Range<usize>> = on.iter().map(|&q| set.span(q as usize)).collect();
            let rows = rows_of(job.data, on);
            let (slopes, votes) = (vec![0.0; rows.len()], vec![0; rows.len()]);
            let loss = PairExponential::of_set(set, on);
            Ok(Rules { loss, spans, weight, rows, slopes, votes, pairs, alpha: self.alpha })
        };
        job.boost(&stumps, rules, "pair")
    }
}

/// What finds the next rule.
struct Rules {
    loss: PairExponential,
    spans: Vec<Range<usize>>,
    /// The weight of a pair of each query.
    weight: Vec<f64>,
    rows: Vec<u32>,
    slopes: Vec<f64>,
    /// The same as whole numbers, which add up alike in any order.
    votes: Vec<i64>,
    pairs: f64,
    alpha: Alpha,
}

/// What a vote of 1 is as a whole number.
const ONE: f64 = (1u64 << 50) as f64;
/// Votes that differ by less are the same: of rules that are as good the first is taken.
const SAME: i64 = 1 << 12;
/// What is added to both sides of a ratio, so that a rule without a fault has a finite weight.
const FAULT: f64 = 1e-9;
/// The loss, as a share of that without rules, at which nothing is left to learn.
const DONE: f64 = 1e-12;
/// Queries of a job: fewer are not worth a thread.
const JOB: usize = 16;

impl Weak for Rules {
    fn next(&mut self, stumps: &Stumps, scores: &[f64]) -> Result<(f64, Option<(Stump, f64, f64)>)> {
        let loss = self.potentials(scores)?;
        if !loss.is_finite() || loss <= DONE {
            return Ok((loss, None));
        }
        self.votes.iter_mut().zip(&self.slopes).for_each(|(vote, slope)| *vote = (-slope / loss * ONE).round() as i64);
        let best = |slot| best_of(stumps, slot, &self.rows, &self.votes);
        let all: Vec<_> = (0..stumps.slots()).into_par_iter().with_min_len(8).filter_map(best).collect();
        let taken =
            all.into_iter().reduce(|best, next| if next.1.abs() / SAME > best.1.abs() / SAME { next } else { best });
        let Some((stump, votes)) = taken.filter(|(_, votes)| votes.abs() >= SAME) else { return Ok((loss, None)) };
        let r = (votes as f64 / ONE).clamp(-1.0, 1.0);
        let alpha = match self.alpha {
            Alpha::Bound => 0.5 * ((1.0 + r + FAULT) / (1.0 - r + FAULT)).ln(),
            Alpha::Exact => {
                let [right, wrong] = self.crossing(stumps, stump, scores).map(|w| w / loss);
                0.5 * ((right + FAULT) / (wrong + FAULT)).ln()
            }
        };
        // the bound of the loss falls by this
        let gain = loss * (1.0 - (1.0 - r * r).sqrt());
        Ok((loss, Some((stump, alpha, gain))))
    }

    fn examples(&self) -> f64 {
        self.pairs
    }
}

impl Rules {
    /// The loss, and what each document adds to it.
    fn potentials(&mut self, scores: &[f64]) -> Result<f64> {
        let (loss, spans, weight) = (&self.loss, &self.spans, &self.weight);
        let (mut rest, mut parts) = (&mut self.slopes[..], vec![]);
        for span in spans {
            let (own, next) = rest.split_at_mut(span.len());
            parts.push(own);
            rest = next;
        }
        let one = |work: &mut Work, (n, d): (usize, &mut [f64])| {
            let value = loss.value(n, &scores[spans[n].clone()], d, work)?;
            d.iter_mut().for_each(|d| *d *= weight[n]);
            Ok(weight[n] * value)
        };
        let parts = parts.into_par_iter().enumerate().with_min_len(JOB);
        let values = parts.map_init(Work::default, one).collect::<Result<Vec<f64>>>()?;
        Ok(values.iter().sum())
    }

    /// The parts of the loss that a rule orders rightly, and wrongly.
    fn crossing(&self, stumps: &Stumps, stump: Stump, scores: &[f64]) -> [f64; 2] {
        let mut work = Work::default();
        let mut sum = [0.0; 2];
        for (n, (span, weight)) in self.spans.iter().zip(&self.weight).enumerate() {
            let marked = |i: usize| stumps.above(stump, span.start + i);
            let own = self.loss.crossing(n, &scores[span.clone()], marked, &mut work);
            (0..2).for_each(|side| sum[side] += weight * own[side]);
        }
        sum
    }
}

/// The rule at a slot with the most votes, of either sign; of equals the lowest bin.
fn best_of(stumps: &Stumps, slot: usize, rows: &[u32], votes: &[i64]) -> Option<(Stump, i64)> {
    let sums = stumps.sums(slot, rows, votes);
    let (cuts, gaps) = (stumps.cuts(slot).len(), sums[0]);
    let mut best: Option<(Stump, i64)> = None;
    let mut take = |bin: usize, gap: bool, votes: i64| {
        let better = best.is_none_or(|(_, most)| votes.abs() / SAME >= most.abs() / SAME);
        // from the highest bin down: of equals the last one stays
        if better {
            best = Some((Stump { slot, bin: bin as u8, gap }, votes));
        }
    };
    let mut above = 0;
    for bin in (1..=cuts + 1).rev() {
        if gaps != 0 {
            take(bin, true, above + gaps);
        }
        if bin <= cuts {
            take(bin, false, above);
        }
        above += sums[bin];
    }
    best
}
