//! What all linear methods share: what can be chosen on validation queries (by a race), the last fit, and going on
//! from where an interrupted fit stopped.

use crate::data::scale::{Scale, Scaling};
use crate::data::{Columns, Preferences, RankSet};
use crate::error::{Error, Result};
use crate::method::rank::exportable::Exportable;
use crate::method::rank::race;
use crate::method::rank::ranksvm::PairWeight;
use crate::method::{Choice, Positive, Quadratic, Rank, RankNotes, Ranker};
use crate::metric::{self, Metric};
use crate::risk::Empirical;
use crate::score::Score;
use crate::scorer::rows::Rows;
use crate::solver::bundle::Bundle;
use crate::solver::lbfgs::Lbfgs;
use crate::solver::run::{Report, Watch, run};
use crate::solver::signed::Signed;
use crate::task::{Chosen, Facts, Fitted, Inputs, Journal, Method, Rounds, Training, both};
use crate::traits::{Risk, Solver, State, Stop, Surrogate};
use serde_json::{Map, Value};
use std::collections::HashSet;
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
    /// All settings but those that are chosen, as they were used.
    fn used(&self) -> Map<String, Value>;
    /// The same method with what a point settles beside scaling and λ.
    fn settled(&self, _at: Point) -> Self {
        self.clone()
    }
    /// What head places are worth, of methods that give probabilities of places.
    fn places(&self) -> Vec<f64> {
        vec![]
    }
    /// Number of parameters.
    fn dim(&self, columns: usize, _examples: &Self::Examples) -> usize {
        columns
    }
    /// Where a fit starts that no other leads to.
    fn begin(&self, dim: usize, _examples: &Self::Examples) -> Vec<f64> {
        vec![0.0; dim]
    }
    /// The scaling that some queries teach.
    fn scaling(&self, scale: Scale, set: &RankSet, units: &[u32]) -> Result<Scaling> {
        Ok(Scaling::learn(scale, set, units))
    }
    /// What a ranker, under a scaling of the set, is worth to each of some queries by a metric; nothing of a query that does not count. Without a ranker
    /// all scores are 0.
    fn worth(
        &self,
        ranker: Option<(&Ranker, &Scaling)>,
        data: &Training<'_, Rank>,
        units: &[u32],
        by: Metric,
    ) -> Result<Vec<Option<f64>>> {
        let scores = match ranker {
            Some((ranker, scaling)) => ranker.scores_with(data.set, units, scaling)?,
            None => vec![0.0; data.set.rows()],
        };
        let mut made = metric::evaluate(data.set, units, &scores, &[by], &data.convention)?;
        Ok(made.values.swap_remove(0))
    }
    /// How parameters score a document.
    fn score(&self, theta: Vec<f64>, _examples: &Self::Examples) -> Score {
        Score::Linear(theta)
    }
    /// The part of a ranker beside its weights; its parameters are taken off the end.
    fn quadratic(&self, _theta: &mut Vec<f64>, _examples: &Self::Examples) -> Option<Quadratic> {
        None
    }
    /// A digest of what it learns from.
    fn digest(&self, set: &RankSet) -> Result<String> {
        Ok(set.digest())
    }
    /// The sign that each parameter keeps, in the order of the columns; nothing where none does.
    fn signs(&self, _columns: &Columns) -> Result<Vec<i8>> {
        Ok(vec![])
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

        fn takes_init(&self) -> bool {
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

/// The mean of a loss over all examples, by the weights of their queries.
pub(in crate::method) fn mean_risk<'a, R: Surrogate>(
    problem: &Problem<'a, R>,
    stop: &'a AtomicBool,
) -> Box<dyn Risk + 'a> {
    let loss = &problem.drawn.examples;
    let even = || vec![1.0 / problem.drawn.count; loss.len()];
    let weight = problem.drawn.weights.clone().unwrap_or_else(even);
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
    if !from.signs.is_empty() {
        return signed(risk, lambda, (tol, max_iter), (&from.theta, &from.signs), watch);
    }
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

/// A fit some of whose parameters keep a sign.
pub(in crate::method) fn signed<C: Default>(
    risk: &mut dyn Risk,
    lambda: f64,
    (tol, max_iter): (f64, usize),
    (theta, signs): (&[f64], &[i8]),
    watch: &Watch,
) -> Result<Solved<C>> {
    let mut solver = Signed::new(risk, signs, lambda, tol, theta)?;
    let report = run(&mut solver, max_iter, 0, watch)?;
    Ok(Solved { theta: solver.theta().to_vec(), report, carry: C::default(), state: None })
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
    /// What the loss of each query is multiplied by in a mean; without weights 1 / count.
    pub(in crate::method) weights: Option<Vec<f64>>,
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
    /// The sign that each parameter keeps; nothing where none does.
    pub(in crate::method) signs: Vec<i8>,
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
    scale: Choice<Scale>,
    /// The scalings that are tried.
    scales: &'static [Scale],
    /// What the mean of the loss is over, of methods that have a choice.
    weight: Option<Choice<PairWeight>>,
    /// The weight on few queries, where it is open and not chosen there.
    on_few: Option<PairWeight>,
    lambda: Choice<Positive>,
    /// λ where nothing says otherwise.
    default: f64,
    /// The λ that are tried, from the strongest.
    pub(super) path: &'static [f64],
}

impl Choices {
    /// A scaling and a λ: one of a path, or a default.
    pub(in crate::method) fn new(
        scale: Choice<Scale>,
        lambda: Choice<Positive>,
        default: f64,
        path: &'static [f64],
    ) -> Self {
        Self { scale, scales: Scale::ALL, weight: None, on_few: None, lambda, default, path }
    }

    /// The same among the scalings that can be exported.
    pub(in crate::method) fn exported(self, to: Exportable) -> Self {
        Self { scales: to.scales(), ..self }
    }

    /// The same with a choice of what the mean of the loss is over. It is part of the choice of λ or of a scaling: where both are given a
    /// person knows what is wanted, and nothing is held out for it.
    pub(in crate::method) fn weighted(self, weight: Choice<PairWeight>) -> Self {
        Self { weight: Some(weight), ..self }
    }

    /// The same with the weight by pair on few queries, without a choice: a query of two pairs then counts for two and not for as much as
    /// one of hundreds, which few queries cannot make up for, and what is not chosen is not chosen by luck.
    pub(in crate::method) fn by_pair_on_few(self) -> Self {
        Self { on_few: Some(PairWeight::Pair), ..self }
    }

    /// What was asked, as it is written.
    pub(in crate::method) fn asked(&self) -> Map<String, Value> {
        let scale = if let Choice::Set(scale) = self.scale { scale.name() } else { "auto" };
        let lambda = if let Choice::Set(lambda) = self.lambda { lambda.get().into() } else { "auto".into() };
        let mut asked = Map::from_iter([("scale".into(), scale.into()), ("lambda".into(), lambda)]);
        if let Some(weight) = self.weight {
            let weight = if let Choice::Set(weight) = weight { weight.name() } else { "auto" };
            asked.insert("weight".into(), weight.into());
        }
        asked
    }

    pub(in crate::method) fn open(&self) -> bool {
        self.lambda_is_open() || self.scale == Choice::Auto
    }

    pub(super) fn lambda_is_open(&self) -> bool {
        self.lambda == Choice::Auto
    }

    /// Every scaling and weight with every so many-th λ of the path, from the strongest; `few`: for a choice on few queries.
    pub(super) fn grid(&self, step: usize, few: bool) -> Vec<Point> {
        let scales = if let Choice::Set(scale) = self.scale { vec![scale] } else { self.scales.to_vec() };
        let weights = match self.weight {
            None => vec![None],
            Some(Choice::Set(weight)) => vec![Some(weight)],
            Some(Choice::Auto) if few && self.on_few.is_some() => vec![self.on_few],
            Some(Choice::Auto) => vec![Some(PairWeight::Query), Some(PairWeight::Pair)], // part of a choice, never all of it
        };
        let lambdas = match self.lambda {
            Choice::Set(lambda) => vec![lambda.get()],
            Choice::Auto => self.path.iter().copied().step_by(step).collect(),
        };
        let of = |(scale, weight)| lambdas.iter().map(move |&lambda| Point { scale, weight, lambda });
        let spaces = scales.iter().flat_map(|&scale| weights.iter().map(move |&weight| (scale, weight)));
        spaces.flat_map(of).collect()
    }

    /// The defaults where nothing can be chosen.
    pub(super) fn fixed(&self) -> Point {
        let usual = |choice| if let Choice::Set(weight) = choice { weight } else { PairWeight::Query };
        Point {
            lambda: if let Choice::Set(lambda) = self.lambda { lambda.get() } else { self.default },
            scale: if let Choice::Set(scale) = self.scale { scale } else { self.scales[0] },
            weight: self.weight.map(usual),
        }
    }
}

/// A scaling, a weight of queries and a λ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::method) struct Point {
    pub(super) scale: Scale,
    pub(super) weight: Option<PairWeight>,
    pub(super) lambda: f64,
}

impl Point {
    pub(super) fn settings(self) -> Map<String, Value> {
        let mut all =
            Map::from_iter([("scale".into(), self.scale.name().into()), ("lambda".into(), self.lambda.into())]);
        all.extend(self.weight.map(|weight| ("weight".to_owned(), weight.name().into())));
        all
    }

    /// Everything but λ: what a path of λ is for.
    pub(super) fn space(self) -> (Scale, Option<PairWeight>) {
        (self.scale, self.weight)
    }

    /// What is said while it is tried.
    pub(super) fn words(self) -> String {
        let weight = self.weight.map_or(String::new(), |weight| format!(" weight={}", weight.name()));
        format!("choosing: scale={}{weight} lambda={}", self.scale.name(), self.lambda)
    }
}

/// A fit.
struct Outcome {
    at: Point,
    ranker: Ranker,
    report: Report,
}

/// Fits a ranker.
///
/// What is [`Choice::Auto`] is chosen by a race on the validation queries, or by cross-validation if these are few. With
/// fewer than five queries, or none that the metric counts, there is nothing to choose on, and the defaults serve.
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
        if choices.open() {
            let (train, valid) = data.parts(true);
            if let Some(chosen) = self.choose(choices, &train, &valid)? {
                return Ok(chosen);
            }
        }
        let at = choices.fixed();
        let drawn = self.learner.settled(at).draw(data, all)?;
        (self.watch.tell)(0.0, "fitting");
        let outcome = self.fit_one(&drawn, all, at, None)?;
        Ok((self.fitted(all, &drawn, outcome, None, false)?, at))
    }

    /// Which queries of a list the metric counts: the others say nothing about a choice.
    fn counted(&self, units: &[u32]) -> Result<HashSet<u32>> {
        let values = self.learner.worth(None, self.data, units, self.by)?;
        Ok(units.iter().zip(&values).filter(|(_, value)| value.is_some()).map(|(&unit, _)| unit).collect())
    }

    /// The scores of all documents of some queries by a fit at these settings on others.
    pub(in crate::method) fn scores_at(&mut self, at: Point, on: &[u32], of: &[u32]) -> Result<Vec<f64>> {
        let drawn = self.learner.settled(at).draw(self.data, on)?;
        let ranker = self.fit_one(&drawn, on, at, None)?.ranker;
        ranker.scores_with(self.data.set, of, &self.learner.scaling(at.scale, self.data.set, on)?)
    }

    /// Chooses and fits; nothing where nothing can be chosen.
    fn choose(&mut self, choices: &Choices, train: &[u32], valid: &[u32]) -> Result<Option<(Fitted<Rank>, Point)>> {
        let both = both(train, valid);
        let counted = self.counted(&both)?;
        let rounds = Rounds::new(train, valid, |unit| counted.contains(&unit));
        if rounds.rounds.is_empty() {
            return Ok(None);
        }
        let (parts, judges) = (rounds.rounds.len(), rounds.rounds.iter().map(|(_, held)| held.len()).sum());
        let crossed = rounds.crossed;
        let Some(taken) = race::run(self, choices, rounds)? else { return Ok(None) };
        let at = taken.at;
        let chosen = Some(Chosen {
            parts: crossed.then_some(parts),
            edge: taken.edge,
            level: taken.level,
            ..Chosen::new(self.by, &self.data.convention, judges, taken.candidates)
        });
        let best = Outcome { at, ranker: taken.ranker, report: taken.report };
        let last = if self.data.refit { &both[..] } else { train };
        let interrupted = best.report.stop == Stop::Interrupted;
        if interrupted || !self.data.refit && taken.train == train {
            let drawn = self.learner.settled(at).draw(self.data, &taken.train)?;
            return Ok(Some((self.fitted(&taken.train, &drawn, best, chosen, false)?, at)));
        }
        let what =
            if self.data.refit { "fitting on training and validation" } else { "fitting on all of the training part" };
        (self.watch.tell)(0.98, what);
        let drawn = self.learner.settled(at).draw(self.data, last)?;
        let start = self.learner.parameters(&best.ranker, &drawn.examples);
        match self.fit_one(&drawn, last, at, Some(start)) {
            Err(Error::Interrupted) => {
                let drawn = self.learner.settled(at).draw(self.data, &taken.train)?;
                let report = Report { stop: Stop::Interrupted, ..best.report };
                Ok(Some((self.fitted(&taken.train, &drawn, Outcome { report, ..best }, chosen, false)?, at)))
            }
            outcome => Ok(Some((self.fitted(last, &drawn, outcome?, chosen, self.data.refit)?, at))),
        }
    }

    fn fit_one(
        &mut self,
        drawn: &Drawn<L::Examples>,
        units: &[u32],
        at: Point,
        start: Option<Vec<f64>>,
    ) -> Result<Outcome> {
        let set = self.data.set;
        let learner = self.learner.settled(at);
        let scaling = learner.scaling(at.scale, set, units)?;
        let rows = Rows::new(set, &drawn.units, &scaling);
        let dim = self.learner.dim(set.features.cols(), &drawn.examples);
        let start = start.unwrap_or_else(|| self.begin(dim, drawn));
        let problem = Problem { rows: &rows, drawn, lambda: at.lambda };
        let solved = self.solve(&learner, &problem, start, L::Carry::default())?;
        let ranker = self.ranker(solved.theta, drawn, at.scale, &scaling);
        Ok(Outcome { at, ranker, report: solved.report })
    }

    /// Where a fit starts that no other leads to: at the model that was given, or where the method begins.
    pub(super) fn begin(&self, dim: usize, drawn: &Drawn<L::Examples>) -> Vec<f64> {
        let given = self.data.init.map(|init| self.learner.parameters(&init.model, &drawn.examples));
        given.filter(|theta| theta.len() == dim).unwrap_or_else(|| self.learner.begin(dim, &drawn.examples))
    }

    /// One fit: read off the journal if it was made before an interruption, else made and written down.
    pub(super) fn solve(
        &mut self,
        learner: &L,
        problem: &Problem<L::Examples>,
        theta: Vec<f64>,
        carry: L::Carry,
    ) -> Result<Solved<L::Carry>> {
        if let Some((theta, report)) = self.journal.replay() {
            return Ok(Solved { theta, report, carry, state: None });
        }
        let signs = learner.signs(&self.data.set.columns)?;
        let start = Start { theta, carry, state: self.journal.partial(), signs };
        let solved = learner.solve(problem, start, self.watch)?;
        // a fit that was interrupted and cannot be saved is made anew
        if solved.report.stop != Stop::Interrupted || solved.state.is_some() {
            self.journal.record(&solved.theta, &solved.report, &solved.state);
        }
        Ok(solved)
    }

    pub(super) fn ranker(
        &self,
        mut theta: Vec<f64>,
        drawn: &Drawn<L::Examples>,
        scale: Scale,
        scaling: &Scaling,
    ) -> Ranker {
        let inputs = Inputs::new(&self.data.set.columns, &self.data.filled, scale, scaling.global());
        let quadratic = self.learner.quadratic(&mut theta, &drawn.examples);
        let score = self.learner.score(theta, &drawn.examples);
        Ranker { inputs, score, places: self.learner.places(), quadratic, start: None }
    }

    fn fitted(
        &self,
        units: &[u32],
        drawn: &Drawn<L::Examples>,
        outcome: Outcome,
        chosen: Option<Chosen>,
        refit: bool,
    ) -> Result<Fitted<Rank>> {
        let data = self.data;
        let mut settings = outcome.at.settings();
        settings.extend(self.learner.settled(outcome.at).used());
        let facts = Facts {
            method: self.learner.name().into(),
            settings,
            asked: self.learner.written().asked,
            data: self.learner.digest(data.set)?,
            notes: RankNotes {
                preferences: self.data.set.preferences().map(Preferences::facts),
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
            auto: None,
            init: None,
        };
        let resumes = outcome.report.stop == Stop::Interrupted && self.learner.resumes();
        let journal = resumes.then(|| self.journal.rewound());
        Ok(Fitted { model: outcome.ranker, facts, journal })
    }
}
