//! SortNet: a symmetric network that compares two documents, and orders by its preferences.

use crate::data::RankSet;
use crate::data::scale::{Scale, Scaling};
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::method::settings::{self, Common, SCALE, TRANSFORM, accuracy, count, steps};
use crate::method::{Choice, Positive, Rank, RankNotes, Ranker};
use crate::metric::{self, Kind, Metric};
use crate::pieces::{Run, sums_of};
use crate::random::Random;
use crate::risk::go_on;
use crate::score::Score;
use crate::scorer::comparison::{Comparison, Meeting};
use crate::scorer::rows::Rows;
use crate::solver::lbfgs::Lbfgs;
use crate::solver::run::{Report, Watch, run};
use crate::surrogate::pair_hinge::levels_of;
use crate::task::{About, Candidate, Chosen, Facts, Fitted, Inputs, Method, Setting, Training, Written, both};
use crate::traits::{Risk, Solver, Stop};
use rayon::prelude::*;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

/// SortNet: a network is shown two documents and says which comes first.
///
/// ```text
/// min over all numbers:   λ/2·|θ|² + mean over pairs (x better than y)  (1 − out(x, y))² + out(y, x)²
/// ```
///
/// with the symmetric network of [`Comparison`], Rigutini, Papini, Maggini and Scarselli 2011. It learns from a few pairs that are drawn at random, queries in
/// turn; after each round it orders the training queries, and as many of the pairs that came out wrong are added. Every few steps it is judged on
/// validation queries, and the network that was best there is kept: adding wrong pairs teaches the noise of grades where there is much. The two
/// versions of the paper are two metrics of that choice, `map` (the default) and `p@10`.
///
/// A query is ordered by the mean preference over the other documents, because a sort by comparisons that go in circles would depend on the order of
/// the input. The share of threes of training documents that go in a circle is noted (`circles`). An order of n documents costs O(n² hidden).
///
/// The paper leaves open: the loss is squared errors of targets 0 and 1 (as it says), minimised by L-BFGS with a ridge.
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::RankMethod, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Synthetic { queries: 30, ..Synthetic::default() }.make();
/// let method: RankMethod = "sortnet[hidden=4,rounds=1]".parse()?;
/// let fitted = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// assert!(fitted.facts.settings["circles"].as_f64().is_some_and(|share| (0.0..=0.25).contains(&share)));
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SortNet {
    /// Strength of the ridge.
    pub lambda: Positive,
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features.
    pub scale: Scale,
    /// Hidden units, each with its twin.
    pub hidden: usize,
    /// Pairs to begin with, and the most that a round adds.
    pub pairs: usize,
    /// The most rounds.
    pub rounds: usize,
    /// The most steps of a round.
    pub max_iter: usize,
    /// The norm of the gradient at which a round ends, relative to the one at its start.
    pub tol: Positive,
}

impl Default for SortNet {
    fn default() -> Self {
        Self {
            lambda: Positive(1e-3),
            transform: Transform::Auto,
            scale: Scale::Minmax,
            hidden: 10,
            pairs: 2000,
            rounds: 8,
            max_iter: 60,
            tol: Positive(1e-4),
        }
    }
}

/// Steps between two looks at the validation queries.
const LOOK: usize = 10;
/// Rounds without a better network after which no more are made.
const PATIENCE: usize = 2;
/// Numbers that can be set, and the most of each.
const MOST: [(&str, usize); 3] = [("hidden", 1000), ("pairs", 1_000_000), ("rounds", 1000)];

impl SortNet {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        TRANSFORM,
        Setting {
            default: "minmax",
            range: "none, global, query, minmax",
            help: "scaling of the features: minmax (0 to 1 within each query), none, global or query",
            ..SCALE
        },
        Setting {
            name: "lambda",
            range: "a number above 0",
            default: "1e-3",
            help: "strength of the ridge; c=1/lambda is accepted too",
        },
        Setting {
            name: "hidden",
            range: "a whole number from 1 to 1000",
            default: "10",
            help: "hidden units, each with a twin that sees the two documents the other way round",
        },
        Setting {
            name: "pairs",
            range: "a whole number from 1 to 1000000",
            default: "2000",
            help: "pairs that the first round learns from, drawn at random; each further round adds at most so many that came out wrong",
        },
        Setting {
            name: "rounds",
            range: "a whole number from 1 to 1000",
            default: "8",
            help: "the most rounds; two without a better network on validation end them",
        },
        steps("60", "the most steps of a round; validation looks every 10"),
        accuracy("1e-4", "the norm of the gradient at which a round ends, relative to the one at its start"),
    ];

    fn used(&self) -> Map<String, Value> {
        Map::from_iter([
            ("scale".into(), self.scale.name().into()),
            ("lambda".into(), self.lambda.get().into()),
            ("hidden".into(), self.hidden.into()),
            ("pairs".into(), self.pairs.into()),
            ("rounds".into(), self.rounds.into()),
            ("max_iter".into(), self.max_iter.into()),
            ("tol".into(), self.tol.get().into()),
        ])
    }

    fn number(&self, name: &str) -> Option<usize> {
        match name {
            "hidden" => Some(self.hidden),
            "pairs" => Some(self.pairs),
            "rounds" => Some(self.rounds),
            _ => None,
        }
    }
}

impl Method<Rank> for SortNet {
    fn name(&self) -> &'static str {
        "sortnet"
    }

    fn about(&self) -> About {
        About {
            good_for: "preferences that no single score of a document has",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4430), ("map", 0.4477)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        let (scale, lambda) = (Choice::Set(self.scale), Choice::Set(self.lambda));
        let common = || settings::common(name, self.transform, &scale, &lambda, self.max_iter, self.tol);
        self.number(name).map(|number| number.to_string()).or_else(common)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "hidden" => self.hidden = count(name, value)?,
            "pairs" => self.pairs = count(name, value)?,
            "rounds" => self.rounds = count(name, value)?,
            "scale" => self.scale = value.parse()?,
            "lambda" | "c" => match settings::lambda(name, value)? {
                Choice::Set(lambda) => self.lambda = lambda,
                Choice::Auto => {
                    let (name, expected) = (name.into(), "a number above 0".into());
                    return Err(Error::Setting { name, expected, found: value.into() });
                }
            },
            _ => {
                let Self { transform, max_iter, tol, .. } = self;
                let (scale, lambda) = (&mut Choice::Auto, &mut Choice::Auto);
                Common { transform, scale, lambda, max_iter, tol }.set(name, value)?;
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        settings::check(Choice::Set(self.scale), self.max_iter)?;
        for (name, most) in MOST {
            let found = self.number(name).unwrap_or(0);
            if !(1..=most).contains(&found) {
                let expected = format!("a whole number from 1 to {most}");
                return Err(Error::Setting { name: name.into(), expected, found: found.to_string() });
            }
        }
        Ok(())
    }

    fn chooses(&self) -> bool {
        true
    }

    fn chooses_by(&self) -> Metric {
        Metric { kind: Kind::Map, k: None }
    }

    fn resumes(&self) -> bool {
        false
    }

    fn transform(&self) -> Transform {
        self.transform
    }

    fn written(&self) -> Written {
        Written { asked: Map::new(), settings: self.used() }
    }

    fn learn(&self, data: &Training<'_, Rank>, watch: &Watch) -> Result<Fitted<Rank>> {
        super::refuse_weights(data.set, "sortnet")?;
        let by = data.by(self);
        let (train, valid) = data.parts(true);
        let zeros = vec![0.0; data.set.rows()];
        let judged = metric::evaluate(data.set, &valid, &zeros, &[by], &data.convention)?;
        let judges = judged.counted(0).len();
        if judges == 0 {
            let (_, fitted) = Course { method: self, data, watch, by, judge: &[], until: None }.run(data.train)?;
            return Ok(fitted);
        }
        let course = Course { method: self, data, watch, by, judge: &valid, until: None };
        let (at, mut fitted) = course.run(&train)?;
        if let Some(chosen) = &mut fitted.facts.chosen {
            chosen.units = judges;
        }
        if !data.refit || fitted.facts.report.stop == Stop::Interrupted {
            return Ok(fitted);
        }
        // as far as the best network went, on all queries
        let chosen = fitted.facts.chosen.take();
        (watch.tell)(0.8, "fitting on training and validation");
        let until = Some((at.round, at.step));
        let (_, mut again) = Course { method: self, data, watch, by, judge: &[], until }.run(&both(&train, &valid))?;
        (again.facts.chosen, again.facts.refit) = (chosen, true);
        Ok(again)
    }
}

/// Where a network was kept.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kept {
    round: usize,
    step: usize,
}

/// A training from first to last.
struct Course<'a> {
    method: &'a SortNet,
    data: &'a Training<'a, Rank>,
    watch: &'a Watch<'a>,
    by: Metric,
    /// The queries that judge; none where it goes on to an end that is known.
    judge: &'a [u32],
    /// The round and the step that are the last.
    until: Option<(usize, usize)>,
}

impl Course<'_> {
    fn run(&self, all: &[u32]) -> Result<(Kept, Fitted<Rank>)> {
        let (method, set) = (self.method, self.data.set);
        let units: Vec<u32> = all.iter().copied().filter(|&q| !set.is_flat(q as usize)).collect();
        if units.is_empty() {
            return Err(Error::Data {
                expected: "at least one training query with two different grades".into(),
                found: "none: there is no pair to learn from".into(),
            });
        }
        let scaling = Scaling::learn(method.scale, set, all);
        let inputs = Inputs::new(&set.columns, &self.data.filled, method.scale, scaling.global());
        let of_judges = inputs.scaling(set, &set.all());
        let rows = Rows::new(set, &units, &scaling);
        let docs: Vec<Vec<f32>> = (0..units.len()).into_par_iter().map(|n| rows.dense(n)).collect();
        let mut random = Random::new(self.data.seed);
        let mut lessons = Lessons::draw(set, &units, method.pairs, &mut random);
        let mut network = Comparison::begin(set.features.cols(), method.hidden, random.bits());
        let ranker = |network: &Comparison| Ranker {
            inputs: inputs.clone(),
            score: Score::Comparison(network.clone()),
            places: vec![],
            quadratic: None,
            start: None,
        };
        let mut best: Option<(f64, Kept, Comparison, Report)> = None;
        let (mut candidates, mut poor, mut done) = (vec![], 0, 0);
        let (last, end) = self.until.map_or((method.rounds, method.max_iter), |(round, step)| (round, step));
        'rounds: for round in 1..=last {
            let mut better = false;
            let most = if round == last { end } else { method.max_iter };
            let mut risk = PairRisk::new(set, &units, &docs, &lessons, &network, self.watch.stop);
            let mut solver =
                Lbfgs::at(&mut risk, method.lambda.get(), method.tol.get(), network.numbers.clone(), None)?;
            let mut step = 0;
            while step < most {
                (self.watch.tell)(0.8 * (round - 1) as f64 / last as f64, &format!("round {round}, step {step}"));
                let report = run(&mut solver, (step + LOOK).min(most), step, self.watch)?;
                step = report.iterations;
                network.numbers.copy_from_slice(solver.theta());
                let ended = report.stop != Stop::Iterations;
                let report = Report { iterations: done + step, ..report };
                let value = match self.judge.is_empty() {
                    true => 0.0,
                    false => {
                        let scores = ranker(&network).scores_with(set, self.judge, &of_judges)?;
                        metric::evaluate(set, self.judge, &scores, &[self.by], &self.data.convention)?.mean(0)
                    }
                };
                let at = Kept { round, step };
                candidates.push(Candidate::new(at.settings(), value));
                let beats = best.as_ref().is_none_or(|(top, ..)| self.by.better(value, *top));
                if beats || self.judge.is_empty() {
                    better = true;
                    best = Some((value, at, network.clone(), report));
                }
                if report.stop == Stop::Interrupted {
                    break 'rounds;
                }
                if ended {
                    break;
                }
            }
            drop(solver);
            done += step;
            poor = if better { 0 } else { poor + 1 };
            if poor >= PATIENCE || round == last || !lessons.add_wrong(&network, &docs, method.pairs, &mut random) {
                break;
            }
        }
        let Some((_, at, network, report)) = best else { return Err(Error::Interrupted) };
        let report = if self.watch.stopped() {
            Report { stop: Stop::Interrupted, ..report }
        } else {
            Report { stop: Stop::Rounds, ..report }
        };
        let threes = docs.par_iter().map(|docs| network.circles(docs)).collect::<Vec<(f64, f64)>>();
        let (circles, of) = threes.iter().fold((0.0, 0.0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        let mut settings = method.used();
        settings.extend(at.settings());
        settings.insert("circles".into(), (if of > 0.0 { circles / of } else { 0.0 }).into());
        let chosen =
            (!self.judge.is_empty()).then(|| Chosen::new(self.by, &self.data.convention, self.judge.len(), candidates));
        let facts = Facts {
            method: method.name().into(),
            settings,
            asked: Map::new(),
            data: set.digest(),
            notes: RankNotes {
                preferences: None,
                rows: all.iter().map(|&q| set.span(q as usize).len()).sum(),
                queries: all.len(),
                flat_queries: all.len() - units.len(),
                examples: lessons.known.len() as f64,
                example: "pair".into(),
                core: None,
                trees: None,
            },
            report,
            refit: false,
            chosen,
            seed: self.data.seed,
            auto: None,
            init: None,
        };
        Ok((at, Fitted { model: ranker(&network), facts, journal: None }))
    }
}

impl Kept {
    fn settings(self) -> Map<String, Value> {
        Map::from_iter([("round".into(), self.round.into()), ("step".into(), self.step.into())])
    }
}

/// The pairs that are learned from.
struct Lessons {
    /// Of each query, documents from the worst to the best, with the number of documents that are worse than each.
    order: Vec<(Vec<u32>, Vec<u32>)>,
    /// Of each query its pairs, better document first.
    pairs: Vec<Vec<(u32, u32)>>,
    known: HashSet<(u32, u32, u32)>,
}

impl Lessons {
    /// Pairs of different grades, queries in turn.
    fn draw(set: &RankSet, units: &[u32], count: usize, random: &mut Random) -> Self {
        let order: Vec<(Vec<u32>, Vec<u32>)> = units
            .iter()
            .map(|&q| {
                let levels: Vec<u32> = levels_of(&set.grades[set.span(q as usize)]).collect();
                let mut order: Vec<u32> = (0..levels.len() as u32).collect();
                order.sort_by_key(|&i| levels[i as usize]);
                let worse = |&i: &u32| order.partition_point(|&j| levels[j as usize] < levels[i as usize]) as u32;
                let below = order.iter().map(worse).collect();
                (order, below)
            })
            .collect();
        let totals: Vec<usize> = order.iter().map(|(_, below)| below.iter().map(|&n| n as usize).sum()).collect();
        let mut lessons = Self { order, pairs: vec![vec![]; units.len()], known: HashSet::new() };
        let count = count.min(totals.iter().sum());
        let mut turn = 0;
        // a query whose pairs are all known is passed over; draws that are known already are made again
        while lessons.known.len() < count {
            let n = turn % units.len();
            turn += 1;
            if lessons.pairs[n].len() < totals[n] {
                let mut at = random.below(totals[n]);
                let (order, below) = &lessons.order[n];
                let better = below.iter().position(|&worse| {
                    let here = at < worse as usize;
                    at -= if here { 0 } else { worse as usize };
                    here
                });
                let (i, j) = (order[better.unwrap_or(0)], order[at]);
                lessons.take(n, i, j);
            }
        }
        lessons
    }

    fn take(&mut self, n: usize, i: u32, j: u32) {
        if self.known.insert((n as u32, i, j)) {
            self.pairs[n].push((i, j));
        }
    }

    /// Adds some pairs that a network orders wrongly; whether there were any.
    fn add_wrong(&mut self, network: &Comparison, docs: &[Vec<f32>], most: usize, random: &mut Random) -> bool {
        let one = |(n, docs): (usize, &Vec<f32>)| {
            let (order, below) = &self.order[n];
            let mut s = vec![0.0; order.len()];
            network.scores(docs, &mut s);
            let wrong = |(&i, &worse): (&u32, &u32)| {
                let own = s[i as usize];
                let lesser = order[..worse as usize].iter().filter(|&&j| s[j as usize] >= own);
                lesser.map(|&j| (n as u32, i, j)).collect::<Vec<_>>()
            };
            order.iter().zip(below).flat_map(wrong).collect::<Vec<(u32, u32, u32)>>()
        };
        let wrong: Vec<Vec<(u32, u32, u32)>> = docs.par_iter().enumerate().map(one).collect();
        let mut wrong: Vec<(u32, u32, u32)> =
            wrong.into_iter().flatten().filter(|pair| !self.known.contains(pair)).collect();
        random.shuffle(&mut wrong);
        wrong.truncate(most);
        wrong.iter().for_each(|&(n, i, j)| self.take(n as usize, i, j));
        !wrong.is_empty()
    }
}

/// The mean loss of pairs by the numbers of a comparison.
struct PairRisk<'a> {
    docs: &'a [Vec<f32>],
    pairs: &'a [Vec<(u32, u32)>],
    count: f64,
    columns: usize,
    hidden: usize,
    runs: Vec<Run>,
    stop: &'a AtomicBool,
    heeds: bool,
}

impl<'a> PairRisk<'a> {
    fn new(
        set: &RankSet,
        units: &[u32],
        docs: &'a [Vec<f32>],
        lessons: &'a Lessons,
        shape: &Comparison,
        stop: &'a AtomicBool,
    ) -> Self {
        let runs = set.pieces().runs(units.iter().map(|&q| q as usize));
        let (columns, hidden, count) = (shape.columns, shape.hidden, lessons.known.len() as f64);
        Self { docs, pairs: &lessons.pairs, count, columns, hidden, runs, stop, heeds: false }
    }
}

impl Risk for PairRisk<'_> {
    fn dim(&self) -> usize {
        Comparison::size(self.columns, self.hidden)
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        if self.heeds {
            go_on(Some(self.stop))?;
        }
        let (d, h, dim) = (self.columns, self.hidden, theta.len());
        let network = Comparison { columns: d, hidden: h, numbers: theta.to_vec() };
        let sums = sums_of(&self.runs, dim + 1, |n, sums| {
            let (docs, all) = (&self.docs[n], network.project(&self.docs[n]));
            let (grad, value) = sums.split_at_mut(dim);
            let mut meeting = Meeting::default();
            for &(i, j) in &self.pairs[n] {
                let [i, j] = [i as usize, j as usize];
                network.meet(&all[i * h..(i + 1) * h], &all[j * h..(j + 1) * h], &mut meeting);
                let [right, wrong] = meeting.out;
                value[0] += ((1.0 - right).powi(2) + wrong.powi(2)) / self.count;
                let by = [-2.0 * (1.0 - right) / self.count, 2.0 * wrong / self.count];
                network.pull_back(&docs[i * d..(i + 1) * d], &docs[j * d..(j + 1) * d], &meeting, by, grad);
            }
        });
        grad.copy_from_slice(&sums[..dim]);
        Ok(sums[dim])
    }

    fn heed(&mut self, stop: bool) {
        self.heeds = stop;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::data::synthetic::Synthetic;

    #[test]
    fn pairs_are_of_different_grades_and_each_is_there_once() {
        let set = Synthetic { queries: 12, documents: (1, 9), features: 3, grades: 3, ..Synthetic::default() }.make();
        let units: Vec<u32> = set.all().into_iter().filter(|&q| !set.is_flat(q as usize)).collect();
        let grade = |n: usize, i: u32| set.grades[set.span(units[n] as usize).start + i as usize];
        for count in [1, 30, usize::MAX] {
            let lessons = Lessons::draw(&set, &units, count, &mut Random::new(1));
            let all = lessons.pairs.iter().map(Vec::len).sum::<usize>();
            assert_eq!(all, lessons.known.len());
            assert!(lessons.known.iter().all(|&(n, i, j)| grade(n as usize, i) > grade(n as usize, j)));
            let pairs = |q: &u32| {
                let grades = &set.grades[set.span(*q as usize)];
                grades.iter().map(|a| grades.iter().filter(|b| a > *b).count()).sum::<usize>()
            };
            assert_eq!(all, count.min(units.iter().map(pairs).sum()));
        }
    }

    #[test]
    fn the_network_that_was_best_on_validation_is_kept() {
        let set = Synthetic { queries: 60, documents: (3, 12), features: 5, ..Synthetic::default() }.make();
        let all = set.all();
        let (train, valid) = all.split_at(40);
        let method = SortNet { hidden: 4, pairs: 200, rounds: 6, ..SortNet::default() };
        let training = Training { valid: Some(valid), refit: false, ..Training::new(&set, train) };
        let fitted = method.fit(&training, &Watch::NOBODY).unwrap();
        let chosen = fitted.facts.chosen.as_ref().unwrap();
        let best = chosen.candidates.iter().map(|candidate| candidate.value).fold(f64::NEG_INFINITY, f64::max);
        let taken = fitted.facts.taken().unwrap();
        assert_eq!(taken.value.to_bits(), best.to_bits());
        let ready = crate::task::Model::prepare(&fitted.model, &set).unwrap();
        let scores = fitted.model.scores_of(&ready, valid).unwrap();
        let again = metric::evaluate(&set, valid, &scores, &[method.chooses_by()], &training.convention).unwrap();
        assert!((again.mean(0) - best).abs() < 1e-12);
    }
}
