//! The choice of settings of linear methods: a race between candidates.
//!
//! 1. **Coarse.** Every scaling and weight with every third λ of the path; where validation queries are few, of pairs without trees the
//!    weight by pair alone.
//! 2. **Race.** Candidates are judged in rounds, and after a round the worse half leaves. Where validation queries are few, rounds are the parts of a
//!    cross-validation; where documents are many, they are growing samples of the training queries. Else there is one round.
//! 3. **Fine.** The λ that were left out around the best one.
//! 4. **Ends.** A best λ at an end of the path makes the path longer, a few times.
//! 5. **Regular.** In a cross-validation the strongest ridge takes it whose mean is within half a paired standard error of the best, among those of
//!    the same scaling and weight: λ compares only where features have the same units, and neither scalings nor weights are more or less regular
//!    than others. On many validation queries the best is taken. (A whole standard error is better where documents are few and worse where
//!    they are many, and the plain best the other way round: half is never far from the better of the two. See docs/benchmarks.md.)

use crate::data::scale::{Scale, Scaling};
use crate::error::{Error, Result};
use crate::method::Ranker;
use crate::method::rank::ranksvm::PairWeight;
use crate::method::rank::search::{Choices, Drawn, Learner, Point, Problem, Search};
use crate::method::trees::paired;
use crate::metric;
use crate::scorer::rows::Rows;
use crate::solver::run::Report;
use crate::task::{Candidate, Edge, Rounds};
use crate::traits::Stop;
use std::collections::HashMap;
use std::rc::Rc;

/// Of so many λ in a row one is in the coarse grid.
const COARSE: usize = 3;
/// The race leaves at least so many.
const LEAST: usize = 4;
/// A candidate leaves only after so many queries that count have judged it.
const SEEN: usize = 8;
/// Of a cross-validation: so many paired standard errors below the best a stronger ridge is as good.
const LEVEL: f64 = 0.5;
/// By so many λ a path becomes longer.
const STEPS: usize = 4;
/// Training documents above which a race begins on samples of queries.
const MANY: usize = 50_000;
/// The share of the training queries of each round of such a race, as one of so many.
const SAMPLES: [usize; 4] = [8, 4, 2, 1];

/// A candidate with what it was worth to each query that has judged it.
struct Tried {
    at: Point,
    values: Vec<f64>,
    /// Its last fit, and the round of that.
    last: Option<(usize, Ranker, Report)>,
}

impl Tried {
    fn new(at: Point) -> Self {
        Self { at, values: vec![], last: None }
    }

    fn mean(&self) -> f64 {
        metric::stats::mean(&self.values)
    }

    /// Whether the other one has the same scaling and weight.
    fn beside(&self, other: &Self) -> bool {
        self.at.space() == other.at.space()
    }
}

/// A round of the race: who trains and who judges, and what is made of them once.
struct Round<E> {
    train: Vec<u32>,
    held: Vec<u32>,
    drawn: HashMap<Option<PairWeight>, Rc<Drawn<E>>>,
    /// Parameters of fits so far, to start others from.
    known: Vec<(Point, Vec<f64>)>,
}

impl<E> Round<E> {
    fn new((train, held): (Vec<u32>, Vec<u32>)) -> Self {
        Self { train, held, drawn: HashMap::new(), known: vec![] }
    }

    /// Where a fit starts: at the nearest stronger ridge of the same scaling and weight.
    fn start(&self, at: Point) -> Option<Vec<f64>> {
        let stronger = self.known.iter().filter(|(known, _)| known.space() == at.space() && known.lambda > at.lambda);
        stronger.min_by(|a, b| a.0.lambda.total_cmp(&b.0.lambda)).map(|(_, theta)| theta.clone())
    }
}

/// λ that are so many times apart make different models.
const FAR: f64 = 100.0;

/// What came out of a race.
pub(super) struct Taken {
    pub(super) at: Point,
    pub(super) ranker: Ranker,
    pub(super) report: Report,
    /// The queries that this ranker was fitted on.
    pub(super) train: Vec<u32>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) edge: Option<Edge>,
    /// The least and the largest λ that are level with the best, where they are far apart.
    pub(super) level: Option<[f64; 2]>,
}

/// A race over some rounds.
pub(super) struct Race<'r, 'a, L: Learner> {
    search: &'r mut Search<'a, L>,
    rounds: Vec<Round<L::Examples>>,
    /// Whether values of all rounds count; else those of the last.
    adds: bool,
    crossed: bool,
    tried: Vec<Tried>,
    /// Scalings that do not depend on who trains.
    own: HashMap<&'static str, Rc<Scaling>>,
    /// Fits that are to be expected in all.
    expected: usize,
    done: usize,
}

/// Runs a race; nothing comes out of it where no part of the data both teaches and judges.
pub(super) fn run<L: Learner>(search: &mut Search<'_, L>, choices: &Choices, rounds: Rounds) -> Result<Option<Taken>> {
    let set = search.data.set;
    let documents = |units: &[u32]| units.iter().map(|&q| set.span(q as usize).len()).sum::<usize>();
    let sampled = !rounds.crossed && rounds.rounds.iter().any(|(train, _)| documents(train) > MANY);
    let of = |(train, held): (Vec<u32>, Vec<u32>)| {
        let shares = if sampled { &SAMPLES[..] } else { &SAMPLES[SAMPLES.len() - 1..] };
        shares.iter().map(move |&share| (train.iter().copied().step_by(share).collect(), held.clone()))
    };
    let crossed = rounds.crossed;
    let rounds: Vec<Round<L::Examples>> = rounds.rounds.into_iter().flat_map(of).map(Round::new).collect();
    let tried: Vec<Tried> = choices.grid(COARSE, crossed).into_iter().map(Tried::new).collect();
    let expected = tried.len() * (rounds.len() + 1);
    let mut race = Race { search, rounds, adds: crossed, crossed, tried, own: HashMap::new(), expected, done: 0 };
    let edge = match race.all(choices) {
        Ok(edge) => edge,
        Err(Error::Interrupted) if race.tried.iter().any(|tried| tried.last.is_some()) => None,
        Err(error) => return Err(error),
    };
    race.taken(edge)
}

impl<L: Learner> Race<'_, '_, L> {
    /// All steps; the end at which the best λ still is.
    fn all(&mut self, choices: &Choices) -> Result<Option<Edge>> {
        let mut alive: Vec<usize> = (0..self.tried.len()).collect();
        for round in 0..self.rounds.len() {
            self.judge(round, &alive)?;
            let seen = alive.first().map_or(0, |&n| self.tried[n].values.len());
            if round + 1 < self.rounds.len() && seen >= SEEN {
                alive = self.better_half(alive);
            }
            // a sample has said what it had to say
            if round + 1 < self.rounds.len() && !self.adds {
                (self.rounds[round].drawn, self.rounds[round].known) = (HashMap::new(), vec![]);
            }
        }
        if choices.lambda_is_open() {
            self.refine(choices.path)?;
            return self.lengthen(choices.path);
        }
        Ok(None)
    }

    /// Fits and judges some candidates in a round, from strong to weak ridges of each scaling and weight.
    fn judge(&mut self, round: usize, some: &[usize]) -> Result<()> {
        let mut order = some.to_vec();
        order.sort_by(|&a, &b| {
            // one weight after the other, so that the examples of one are there at a time
            let first = |n: usize| {
                let own = self.tried[n].at;
                let place = self.tried.iter().position(|tried| tried.beside(&self.tried[n]));
                (own.weight == Some(PairWeight::Pair), place)
            };
            first(a).cmp(&first(b)).then(self.tried[b].at.lambda.total_cmp(&self.tried[a].at.lambda))
        });
        let same = |&a: &usize, &b: &usize| self.tried[a].beside(&self.tried[b]);
        let groups: Vec<Vec<usize>> = order.chunk_by(same).map(<[usize]>::to_vec).collect();
        for group in groups {
            let at = self.tried[group[0]].at;
            let Some(drawn) = self.drawn(round, at)? else { continue };
            let scaling = self.scaling(round, at.scale)?;
            let mut carry = L::Carry::default();
            for n in group {
                carry = self.judge_one(round, n, &drawn, &scaling, carry)?;
                if self.search.watch.stopped() {
                    return Err(Error::Interrupted);
                }
            }
        }
        Ok(())
    }

    /// Fits and judges a candidate; what it leaves to the next.
    fn judge_one(
        &mut self,
        round: usize,
        n: usize,
        drawn: &Rc<Drawn<L::Examples>>,
        scaling: &Scaling,
        carry: L::Carry,
    ) -> Result<L::Carry> {
        let (search, of, at) = (&mut *self.search, &mut self.rounds[round], self.tried[n].at);
        let set = search.data.set;
        (search.watch.tell)(0.97 * self.done as f64 / self.expected.max(self.done + 1) as f64, &at.words());
        let rows = Rows::new(set, &drawn.units, scaling);
        let dim = search.learner.dim(set.features.cols(), &drawn.examples);
        let start = of.start(at).unwrap_or_else(|| search.begin(dim, drawn));
        let problem = Problem { rows: &rows, drawn: drawn.as_ref(), lambda: at.lambda };
        let solved = search.solve(&search.learner.settled(at), &problem, start, carry)?;
        self.done += 1;
        let ranker = search.ranker(solved.theta.clone(), drawn, at.scale, scaling);
        let values = search.learner.worth(Some((&ranker, scaling)), search.data, &of.held, search.by)?;
        of.known.push((at, solved.theta));
        let tried = &mut self.tried[n];
        if !self.adds {
            tried.values.clear();
        }
        tried.values.extend(values.into_iter().flatten());
        tried.last = Some((round, ranker, solved.report));
        Ok(solved.carry)
    }

    /// The examples of a round by a weight; nothing if the queries of a part teach nothing.
    fn drawn(&mut self, round: usize, at: Point) -> Result<Option<Rc<Drawn<L::Examples>>>> {
        let of = &mut self.rounds[round];
        if let Some(drawn) = of.drawn.get(&at.weight) {
            return Ok(Some(Rc::clone(drawn)));
        }
        of.drawn.clear();
        match self.search.learner.settled(at).draw(self.search.data, &of.train) {
            Ok(drawn) => Ok(Some(Rc::clone(of.drawn.entry(at.weight).or_insert(Rc::new(drawn))))),
            Err(Error::Data { .. }) if self.crossed && self.rounds.len() > 1 => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn scaling(&mut self, round: usize, scale: Scale) -> Result<Rc<Scaling>> {
        let own = matches!(scale, Scale::Query | Scale::Minmax);
        if let Some(scaling) = self.own.get(scale.name()) {
            return Ok(Rc::clone(scaling));
        }
        let made = Rc::new(self.search.learner.scaling(scale, self.search.data.set, &self.rounds[round].train)?);
        if own {
            self.own.insert(scale.name(), Rc::clone(&made));
        }
        Ok(made)
    }

    /// Whether one candidate is better than another on the queries of both.
    fn better(&self, a: usize, b: usize) -> bool {
        self.search.by.better(self.tried[a].mean(), self.tried[b].mean())
    }

    /// The better half of some, in their order; of equals the first.
    fn better_half(&self, mut some: Vec<usize>) -> Vec<usize> {
        let keep = (some.len() / 2).max(LEAST);
        some.sort_by(|&a, &b| {
            let order = self.tried[b].mean().total_cmp(&self.tried[a].mean());
            if self.search.by.is_loss() { order.reverse() } else { order }.then(a.cmp(&b))
        });
        some.truncate(keep);
        some.sort_unstable();
        some
    }

    /// Those that as many queries have judged as any.
    fn judged(&self) -> Vec<usize> {
        let most = self.tried.iter().map(|tried| tried.values.len()).max().unwrap_or(0);
        let last = self.tried.iter().filter_map(|tried| tried.last.as_ref()).map(|last| last.0).max();
        let whole = |n: &usize| {
            let tried = &self.tried[*n];
            tried.values.len() == most && (self.adds || tried.last.as_ref().map(|last| last.0) == last)
        };
        (0..self.tried.len()).filter(whole).collect()
    }

    /// The best of those; of equals the first that was tried.
    fn best(&self) -> Option<usize> {
        self.judged().into_iter().reduce(|best, next| if self.better(next, best) { next } else { best })
    }

    /// By how much a candidate is below the best, and the paired standard error of that.
    fn below(&self, n: usize, best: usize) -> (f64, f64) {
        let [own, top] = [n, best].map(|n| self.tried[n].values.clone());
        let (gain, error) = paired(&[own, top]).unwrap_or((0.0, 0.0));
        (if self.search.by.is_loss() { -gain } else { gain }, error)
    }

    /// Tries some λ beside a candidate, on all queries.
    fn also(&mut self, n: usize, lambdas: impl Iterator<Item = f64>) -> Result<()> {
        let at = self.tried[n].at;
        let judged = self.judged();
        let known = |lambda: f64| judged.iter().any(|&other| self.tried[other].at == Point { lambda, ..at });
        let new: Vec<Point> = lambdas.filter(|&lambda| !known(lambda)).map(|lambda| Point { lambda, ..at }).collect();
        // one that left the race before starts again
        self.tried.retain(|old| !new.contains(&old.at));
        let first = self.tried.len();
        self.tried.extend(new.into_iter().map(Tried::new));
        let some: Vec<usize> = (first..self.tried.len()).collect();
        let rounds = if self.adds { 0 } else { self.rounds.len() - 1 }..self.rounds.len();
        rounds.into_iter().try_for_each(|round| self.judge(round, &some))
    }

    /// The λ between those of the coarse grid: beside the best, and where there is one round beside what is level with it.
    fn refine(&mut self, path: &[f64]) -> Result<()> {
        let Some(best) = self.best() else { return Ok(()) };
        let mut level = vec![self.tried[best].at];
        if self.rounds.len() == 1 {
            for n in self.judged() {
                let rivals = || self.judged().into_iter().filter(|&other| self.tried[other].beside(&self.tried[n]));
                let own = !self.tried[n].beside(&self.tried[best]) && rivals().all(|other| !self.better(other, n));
                let (gap, error) = self.below(n, best);
                if own && gap <= error && !level.iter().any(|at| at.space() == self.tried[n].at.space()) {
                    level.push(self.tried[n].at);
                }
            }
        }
        for at in level {
            let Some(place) = path.iter().position(|lambda| lambda.to_bits() == at.lambda.to_bits()) else { continue };
            let around = place.saturating_sub(COARSE - 1)..(place + COARSE).min(path.len());
            let Some(n) = self.tried.iter().position(|tried| tried.at == at) else { continue };
            self.also(n, path[around].iter().copied())?;
        }
        Ok(())
    }

    /// Makes a path longer while its last λ is the best of all; the end at which it still is.
    fn lengthen(&mut self, path: &[f64]) -> Result<Option<Edge>> {
        let [Some(&strong), Some(&weak)] = [path.first(), path.last()] else { return Ok(None) };
        if path.len() < 2 {
            return Ok(None);
        }
        let ratios = (path[0] / path[1], path[path.len() - 1] / path[path.len() - 2]);
        for step in 0..=STEPS {
            let Some(best) = self.best() else { return Ok(None) };
            let own = self.tried[best].at.lambda;
            let (edge, next) = match own {
                own if own >= strong => (Edge::Strongest, tidy(own * ratios.0)),
                own if own <= weak => (Edge::Weakest, tidy(own * ratios.1)),
                _ => return Ok(None),
            };
            let further = |other: &Tried| match edge {
                Edge::Strongest => other.at.lambda > own,
                Edge::Weakest => other.at.lambda < own,
            };
            if self.tried.iter().any(|other| other.beside(&self.tried[best]) && further(other)) {
                return Ok(None);
            }
            if step == STEPS {
                return Ok(Some(edge));
            }
            self.also(best, std::iter::once(next))?;
        }
        Ok(None)
    }

    /// The least and the largest λ beside the best that are below it by no more than one paired standard error, where they are
    /// [`FAR`] apart. Those that left the race are compared on the units that they saw.
    fn level(&self, best: usize) -> Option<[f64; 2]> {
        let beside = (0..self.tried.len()).filter(|&n| self.tried[n].beside(&self.tried[best]));
        let level = beside.filter(|&n| {
            let seen = self.tried[n].values.len().min(self.tried[best].values.len());
            let [own, top] = [n, best].map(|n| self.tried[n].values[..seen].to_vec());
            let (gain, error) = paired(&[own, top]).unwrap_or((0.0, 0.0));
            seen > 1 && (if self.search.by.is_loss() { -gain } else { gain }) <= error
        });
        let lambdas: Vec<f64> = level.map(|n| self.tried[n].at.lambda).collect();
        let least = lambdas.iter().copied().fold(f64::INFINITY, f64::min);
        let most = lambdas.iter().copied().fold(0.0, f64::max);
        (most >= FAR * least * (1.0 - 1e-9)).then_some([least, most])
    }

    /// The candidate that is taken, with all that were tried.
    fn taken(mut self, edge: Option<Edge>) -> Result<Option<Taken>> {
        let Some(best) = self.best().filter(|&best| self.tried[best].last.is_some()) else { return Ok(None) };
        let regular = |n: &usize| {
            let (gap, error) = self.below(*n, best);
            self.tried[*n].beside(&self.tried[best]) && gap <= LEVEL * error
        };
        let taken = match self.crossed {
            false => best,
            true => self
                .judged()
                .into_iter()
                .filter(regular)
                .max_by(|&a, &b| self.tried[a].at.lambda.total_cmp(&self.tried[b].at.lambda))
                .unwrap_or(best),
        };
        let level = self.level(best);
        let most = self.tried[best].values.len();
        let candidates = self.tried.iter().filter(|tried| !tried.values.is_empty()).map(|tried| Candidate {
            units: Some(tried.values.len()).filter(|&seen| seen < most),
            ..Candidate::new(tried.at.settings(), tried.mean())
        });
        let candidates = candidates.collect();
        let at = self.tried[taken].at;
        let (round, ranker, mut report) = self.tried[taken].last.take().ok_or(Error::Interrupted)?;
        if self.search.watch.stopped() {
            report.stop = Stop::Interrupted;
        }
        let train = std::mem::take(&mut self.rounds[round].train);
        Ok(Some(Taken { at, ranker, report, train, candidates, edge, level }))
    }
}

/// A λ without the dust of rounding.
fn tidy(lambda: f64) -> f64 {
    format!("{lambda:.3e}").parse().unwrap_or(lambda)
}
