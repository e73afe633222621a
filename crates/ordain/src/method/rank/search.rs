//! What all linear methods share: the choice of scaling and λ on validation queries, the last fit, and going on from where
//! an interrupted fit stopped.

use crate::data::RankSet;
use crate::data::scale::{Scale, Scaling};
use crate::error::{Error, Result};
use crate::method::{Choice, Positive, Quadratic, Rank, RankNotes, Ranker};
use crate::metric::{self, Metric};
use crate::risk::Empirical;
use crate::score::Score;
use crate::scorer::rows::Rows;
use crate::solver::bundle::Bundle;
use crate::solver::lbfgs::Lbfgs;
use crate::solver::run::{Report, Watch, run};
use crate::task::{Candidate, Chosen, Facts, Fitted, Inputs, Journal, Method, Training, both};
use crate::traits::{Risk, Solver, State, Stop, Surrogate};
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;

/// The part of a linear method that is its own.
pub(in crate::method) trait Learner: Method<Rank> {
    /// What is learned from, drawn from queries once and used for every scaling and λ.
    type Examples;
    /// What one fit leaves to the next on the same examples and scaling.
    type Carry: Default;
    /// What is left to choose.
    fn choices(&self) -> Choices;
    /// Examples of some queries; refuses data that teach nothing.
    fn draw(&self, data: &Training<'_, Rank>, units: &[u32]) -> Result<Drawn<Self::Examples>>;
    /// The risk of the examples.
    fn risk<'a>(&self, problem: &Problem<'a, Self::Examples>, stop: &'a AtomicBool) -> Box<dyn Risk + 'a>;
    /// Minimises a risk at one λ, from a start, or from the state of an interrupted fit.
    fn descend(
        &self,
        risk: &mut dyn Risk,
        lambda: f64,
        from: Start<Self::Carry>,
        watch: &Watch,
    ) -> Result<Solved<Self::Carry>>;
    /// Fits at one λ: both.
    fn solve(
        &self,
        problem: &Problem<Self::Examples>,
        from: Start<Self::Carry>,
        watch: &Watch,
    ) -> Result<Solved<Self::Carry>> {
        self.descend(&mut *self.risk(problem, watch.stop), problem.lambda, from, watch)
    }
    /// All settings but scaling and λ, as they were used.
    fn used(&self) -> Map<String, Value>;
    /// What head places are worth, of methods that give probabilities of places.
    fn places(&self) -> Vec<f64> {
        vec![]
    }
    /// Number of parameters.
    fn dim(&self, columns: usize, _examples: &Self::Examples) -> usize {
        columns
    }
    /// The part of a ranker beside its weights; its parameters are taken off the end.
    fn quadratic(&self, _theta: &mut Vec<f64>, _examples: &Self::Examples) -> Option<Quadratic> {
        None
    }
    /// A digest of what it learns from.
    fn digest(&self, set: &RankSet) -> String {
        set.digest()
    }
    /// The parameters of a ranker, for these examples.
    fn parameters(&self, ranker: &Ranker, _examples: &Self::Examples) -> Vec<f64> {
        ranker.score.weights().to_vec()
    }
}

/// What every method of [`Learner`] that resumes answers as a [`Method`].
macro_rules! searched {
    () => {
        fn chooses(&self) -> bool {
            self.choices().open()
        }

        fn chooses_by(&self) -> $crate::metric::Metric {
            $crate::method::rank::CHOOSES_BY
        }

        fn resumes(&self) -> bool {
            true
        }

        fn written(&self) -> $crate::task::Written {
            $crate::task::Written { asked: self.choices().asked(), settings: self.used() }
        }

        fn learn(
            &self,
            data: &$crate::task::Training<'_, $crate::method::Rank>,
            watch: &$crate::solver::run::Watch,
        ) -> $crate::error::Result<$crate::task::Fitted<$crate::method::Rank>> {
            $crate::method::rank::search::fit(self, data, watch)
        }
    };
}
pub(in crate::method) use searched;

/// The mean of a loss over all examples.
pub(in crate::method) fn mean_risk<'a, R: Surrogate>(
    problem: &Problem<'a, R>,
    stop: &'a AtomicBool,
) -> Box<dyn Risk + 'a> {
    let loss = &problem.drawn.examples;
    let weight = vec![1.0 / problem.drawn.count; loss.len()];
    Box::new(Empirical::new(problem.rows, loss, weight).stopped_by(stop))
}

/// L-BFGS, from a start or from the state of an interrupted fit.
pub(in crate::method) fn lbfgs(
    risk: &mut dyn Risk,
    lambda: f64,
    (tol, max_iter): (f64, usize),
    from: Start<()>,
    watch: &Watch,
) -> Result<Solved<()>> {
    let mut solver = Lbfgs::new(risk, lambda, tol, from.theta)?;
    let mut before = 0;
    if let Some((state, iterations)) = &from.state {
        solver.restore(state)?;
        before = *iterations;
    }
    let report = run(&mut solver, max_iter, before, watch)?;
    let state = (report.stop == Stop::Interrupted).then(|| solver.state());
    Ok(Solved { theta: solver.theta().to_vec(), report, carry: (), state })
}

/// The bundle method, from a start or from the state of an interrupted fit.
pub(in crate::method) fn bundle(
    risk: &mut dyn Risk,
    lambda: f64,
    (tol, max_iter): (f64, usize),
    from: Start<()>,
    watch: &Watch,
) -> Result<Solved<()>> {
    let mut solver = Bundle::new(risk, lambda, tol, from.theta)?;
    let mut before = 0;
    if let Some((state, iterations)) = &from.state {
        solver.restore(state);
        before = *iterations;
    }
    let report = run(&mut solver, max_iter, before, watch)?;
    let state = (report.stop == Stop::Interrupted).then(|| solver.state());
    Ok(Solved { theta: solver.theta().to_vec(), report, carry: (), state })
}

/// Examples with what is said of them.
pub(in crate::method) struct Drawn<E> {
    /// The queries that teach something.
    pub(in crate::method) units: Vec<u32>,
    pub(in crate::method) examples: E,
    /// How many examples, and of what kind.
    pub(in crate::method) count: f64,
    pub(in crate::method) kind: &'static str,
}

/// One problem to solve.
pub(in crate::method) struct Problem<'a, E> {
    pub(in crate::method) rows: &'a Rows<'a>,
    pub(in crate::method) drawn: &'a Drawn<E>,
    pub(in crate::method) lambda: f64,
}

/// Where a fit starts.
pub(in crate::method) struct Start<C> {
    pub(in crate::method) theta: Vec<f64>,
    pub(in crate::method) carry: C,
    /// The state of an interrupted fit, and the steps that it had made.
    pub(in crate::method) state: Option<(State, usize)>,
}

/// What a fit came to.
pub(in crate::method) struct Solved<C> {
    pub(in crate::method) theta: Vec<f64>,
    pub(in crate::method) report: Report,
    pub(in crate::method) carry: C,
    /// What to go on from, where it was interrupted.
    pub(in crate::method) state: Option<State>,
}

/// What is left to choose, and from what.
pub(in crate::method) struct Choices {
    pub(in crate::method) scale: Choice<Scale>,
    pub(in crate::method) lambda: Choice<Positive>,
    /// λ where nothing says otherwise.
    pub(in crate::method) default: f64,
    /// The λ that are tried, from the strongest.
    pub(in crate::method) path: &'static [f64],
}

impl Choices {
    /// What was asked, as it is written.
    pub(in crate::method) fn asked(&self) -> Map<String, Value> {
        let scale = if let Choice::Set(scale) = self.scale { scale.name() } else { "auto" };
        let lambda = if let Choice::Set(lambda) = self.lambda { lambda.get().into() } else { "auto".into() };
        Map::from_iter([("scale".into(), scale.into()), ("lambda".into(), lambda)])
    }

    pub(in crate::method) fn open(&self) -> bool {
        self.lambda == Choice::Auto || self.scale == Choice::Auto
    }

    fn points(&self) -> Vec<Point> {
        let scales = if let Choice::Set(scale) = self.scale { vec![scale] } else { Scale::ALL.to_vec() };
        let lambdas = if let Choice::Set(lambda) = self.lambda { vec![lambda.get()] } else { self.path.to_vec() };
        scales.iter().flat_map(|&scale| lambdas.iter().map(move |&lambda| Point { scale, lambda })).collect()
    }

    /// The defaults where nothing can be chosen.
    fn fixed(&self) -> Point {
        Point {
            lambda: if let Choice::Set(lambda) = self.lambda { lambda.get() } else { self.default },
            scale: if let Choice::Set(scale) = self.scale { scale } else { Scale::Query },
        }
    }
}

/// A scaling and a λ.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::method) struct Point {
    scale: Scale,
    lambda: f64,
}

impl Point {
    fn settings(self) -> Map<String, Value> {
        Map::from_iter([("scale".into(), self.scale.name().into()), ("lambda".into(), self.lambda.into())])
    }
}

/// A fit with what it is worth on validation.
struct Outcome {
    at: Point,
    value: f64,
    ranker: Ranker,
    report: Report,
}

/// Fits a ranker.
///
/// Where λ or the scaling is [`Choice::Auto`], a path of λ from strong to weak is followed for each scaling, each fit starting
/// from the one before, and the best on the validation queries is taken; of equals the first tried. With fewer than
/// five queries, or none that the metric counts, there is nothing to choose on, and the defaults serve.
///
/// Every fit is written down in a [`Journal`]: an interrupted search goes on by doing the same again, with fits that were
/// finished read off instead of made.
pub(in crate::method) fn fit<L: Learner>(
    learner: &L,
    data: &Training<'_, Rank>,
    watch: &Watch,
) -> Result<Fitted<Rank>> {
    Ok(Search::new(learner, data, watch).run(data.train)?.0)
}

/// A search for settings, with the fits that it has made.
pub(in crate::method) struct Search<'a, L> {
    pub(in crate::method) learner: &'a L,
    pub(in crate::method) data: &'a Training<'a, Rank>,
    pub(in crate::method) by: Metric,
    pub(in crate::method) watch: &'a Watch<'a>,
    pub(in crate::method) journal: Journal,
}

impl<'a, L: Learner> Search<'a, L> {
    pub(in crate::method) fn new(learner: &'a L, data: &'a Training<'a, Rank>, watch: &'a Watch<'a>) -> Self {
        Self { learner, data, by: data.by(learner), watch, journal: data.resume.cloned().unwrap_or_default() }
    }

    /// Chooses what is open and fits: the model, and the settings that it was fitted with. Where nothing is open it is fitted on
    /// the queries `all`.
    pub(in crate::method) fn run(&mut self, all: &[u32]) -> Result<(Fitted<Rank>, Point)> {
        let (data, choices) = (self.data, &self.learner.choices());
        let (train, valid) = data.parts(choices.open());
        // a query that the metric leaves out says nothing about a choice
        let counted = |valid| {
            let zeros = vec![0.0; data.set.rows()];
            metric::evaluate(data.set, valid, &zeros, &[self.by], &data.convention).map(|e| e.counted(0).len())
        };
        if choices.open() && !valid.is_empty() && counted(&valid)? > 0 {
            return self.choose(choices, &train, &valid);
        }
        let drawn = self.learner.draw(data, all)?;
        (self.watch.tell)(0.0, "fitting");
        let outcome = self.fit_one(&drawn, all, choices.fixed(), None)?;
        let at = outcome.at;
        Ok((self.fitted(all, &drawn, outcome, None, false), at))
    }

    /// The scores of all documents of some queries by a fit at these settings on others.
    pub(in crate::method) fn scores_at(&mut self, at: Point, on: &[u32], of: &[u32]) -> Result<Vec<f64>> {
        let drawn = self.learner.draw(self.data, on)?;
        let ranker = self.fit_one(&drawn, on, at, None)?.ranker;
        ranker.scores_with(self.data.set, of, &Scaling::learn(at.scale, self.data.set, on))
    }

    fn choose(&mut self, choices: &Choices, train: &[u32], valid: &[u32]) -> Result<(Fitted<Rank>, Point)> {
        let drawn = self.learner.draw(self.data, train)?;
        let (best, candidates) = self.search(choices, &drawn, train, valid)?;
        let (at, chosen) = (best.at, Some(Chosen::new(self.by, &self.data.convention, valid.len(), candidates)));
        if !self.data.refit || best.report.stop == Stop::Interrupted {
            return Ok((self.fitted(train, &drawn, best, chosen, false), at));
        }
        drop(drawn);
        (self.watch.tell)(0.98, "fitting on training and validation");
        let both = both(train, valid);
        let drawn = self.learner.draw(self.data, &both)?;
        let start = self.learner.parameters(&best.ranker, &drawn.examples);
        match self.fit_one(&drawn, &both, best.at, Some(start)) {
            Err(Error::Interrupted) => {
                let drawn = self.learner.draw(self.data, train)?;
                let report = Report { stop: Stop::Interrupted, ..best.report };
                Ok((self.fitted(train, &drawn, Outcome { report, ..best }, chosen, false), at))
            }
            outcome => Ok((self.fitted(&both, &drawn, outcome?, chosen, true), at)),
        }
    }

    /// The best of all scalings and λ on the validation queries, and all that was tried.
    fn search(
        &mut self,
        choices: &Choices,
        drawn: &Drawn<L::Examples>,
        train: &[u32],
        valid: &[u32],
    ) -> Result<(Outcome, Vec<Candidate>)> {
        let set = self.data.set;
        let points = choices.points();
        let mut candidates: Vec<Candidate> = vec![];
        let mut best: Option<Outcome> = None;
        'search: for of_scale in points.chunk_by(|a, b| a.scale == b.scale) {
            let scaling = Scaling::learn(of_scale[0].scale, set, train);
            let rows = Rows::new(set, &drawn.units, &scaling);
            let dim = self.learner.dim(set.features.cols(), &drawn.examples);
            let (mut theta, mut carry) = (vec![0.0; dim], L::Carry::default());
            for &at in of_scale {
                let what = format!("choosing: scale={} lambda={}", at.scale.name(), at.lambda);
                (self.watch.tell)(candidates.len() as f64 / (points.len() + 1) as f64, &what);
                let problem = Problem { rows: &rows, drawn, lambda: at.lambda };
                let solved = match self.solve(&problem, theta, carry) {
                    Err(Error::Interrupted) if best.is_some() => break 'search,
                    other => other?,
                };
                (theta, carry) = (solved.theta, solved.carry);
                let ranker = self.ranker(theta.clone(), drawn, at.scale, &scaling);
                let scores = ranker.scores_with(set, valid, &scaling)?;
                let value = metric::evaluate(set, valid, &scores, &[self.by], &self.data.convention)?.mean(0);
                candidates.push(Candidate { settings: at.settings(), value });
                if best.as_ref().is_none_or(|best| self.by.better(value, best.value)) {
                    best = Some(Outcome { at, value, ranker, report: solved.report });
                }
                if self.watch.stopped() {
                    break 'search;
                }
            }
        }
        let mut best = best.ok_or(Error::Interrupted)?;
        if self.watch.stopped() {
            best.report.stop = Stop::Interrupted;
        }
        Ok((best, candidates))
    }

    fn fit_one(
        &mut self,
        drawn: &Drawn<L::Examples>,
        units: &[u32],
        at: Point,
        start: Option<Vec<f64>>,
    ) -> Result<Outcome> {
        let set = self.data.set;
        let scaling = Scaling::learn(at.scale, set, units);
        let rows = Rows::new(set, &drawn.units, &scaling);
        let start = start.unwrap_or_else(|| vec![0.0; self.learner.dim(set.features.cols(), &drawn.examples)]);
        let problem = Problem { rows: &rows, drawn, lambda: at.lambda };
        let solved = self.solve(&problem, start, L::Carry::default())?;
        let ranker = self.ranker(solved.theta, drawn, at.scale, &scaling);
        Ok(Outcome { at, value: 0.0, ranker, report: solved.report })
    }

    /// One fit: read off the journal if it was made before an interruption, else made and written down.
    fn solve(&mut self, problem: &Problem<L::Examples>, theta: Vec<f64>, carry: L::Carry) -> Result<Solved<L::Carry>> {
        if let Some((theta, report)) = self.journal.replay() {
            return Ok(Solved { theta, report, carry, state: None });
        }
        let start = Start { theta, carry, state: self.journal.partial() };
        let solved = self.learner.solve(problem, start, self.watch)?;
        // a fit that was interrupted and cannot be saved is made anew
        if solved.report.stop != Stop::Interrupted || solved.state.is_some() {
            self.journal.record(&solved.theta, &solved.report, &solved.state);
        }
        Ok(solved)
    }

    fn ranker(&self, mut theta: Vec<f64>, drawn: &Drawn<L::Examples>, scale: Scale, scaling: &Scaling) -> Ranker {
        let inputs = Inputs::new(&self.data.set.columns, &self.data.filled, scale, scaling.global());
        let quadratic = self.learner.quadratic(&mut theta, &drawn.examples);
        Ranker { inputs, score: Score::Linear(theta), places: self.learner.places(), quadratic, start: None }
    }

    fn fitted(
        &self,
        units: &[u32],
        drawn: &Drawn<L::Examples>,
        outcome: Outcome,
        chosen: Option<Chosen>,
        refit: bool,
    ) -> Fitted<Rank> {
        let data = self.data;
        let mut settings = outcome.at.settings();
        settings.extend(self.learner.used());
        let facts = Facts {
            method: self.learner.name().into(),
            settings,
            asked: self.learner.written().asked,
            data: self.learner.digest(data.set),
            notes: RankNotes {
                rows: units.iter().map(|&q| data.set.span(q as usize).len()).sum(),
                queries: units.len(),
                flat_queries: units.len() - drawn.units.len(),
                examples: drawn.count,
                example: drawn.kind.into(),
                core: None,
                trees: None,
            },
            report: outcome.report,
            refit,
            chosen,
            seed: data.seed,
        };
        let resumes = outcome.report.stop == Stop::Interrupted && self.learner.resumes();
        let journal = resumes.then(|| self.journal.rewound());
        Fitted { model: outcome.ranker, facts, journal }
    }
}
