//! What both matchers share: problems with what is right of them, the choice of scaling and λ on validation problems, the
//! temperature, and the last fit.

use crate::data::scale::Scale;
use crate::data::{Columns, MatchSet, Truth, split};
use crate::error::{Error, Result};
use crate::kernel::Form;
use crate::method::kernels::{KernelBy, KernelChoice, Shape};
use crate::method::matching::boosting;
use crate::method::matching::crossed::{self, Crossed};
use crate::method::matching::decide::{self, MatchDecide, Unseen};
use crate::method::matching::local::Local;
use crate::method::matching::matcher::{MatchNotes, Matcher, Sums, graph_of, named, tells};
use crate::method::matching::shards::{Far, There};
use crate::method::matching::space::{Origin, Space, Spec};
use crate::method::matching::temperature::fit_temperature;
use crate::method::{Choice, Match, Positive, Trees};
use crate::metric::{Kind, Metric};
use crate::score::Score;
use crate::scorer::edges::{Edges, NULL_UNIT};
use crate::scorer::rows;
use crate::solver::run::{Report, Watch};
use crate::structure::matching::Engine;
use crate::surrogate::matching::Case;
use crate::task::{Candidate, Chosen, Facts, Fitted, Inputs, Method, Setting, Training, both};
use crate::traits::{Scorer, Stop};
use serde_json::{Map, Value};

/// `scale`, as matchers have it.
pub(in crate::method) const SCALE: Setting = Setting {
    name: "scale",
    range: "auto, none, matched, global, query, minmax",
    default: "auto",
    help: "scaling of the features of edges: auto by validation of matched and none (else matched), none, matched (deviation 1 over the matched edges, so that what agrees in matches weighs most), global (mean 0, deviation 1), query (the same within each problem), minmax (0 to 1 within each problem)",
};

/// `null`.
pub(in crate::method) const NULL: Setting = Setting {
    name: "null",
    range: "true, false",
    default: "false",
    help: "whether items may stay unmatched: what that is worth is learned, and moved to the best F1 of validation problems; false matches every item of the lesser side",
};

/// `kernel`, as matchers have it.
pub(in crate::method) const KERNEL: Setting = Setting {
    name: "kernel",
    range: "linear, rbf, poly, laplace, intersection, chi2, auto",
    default: "linear",
    help: "what edges are scored by: linear, weights on their features; rbf exp(-gamma d2), poly (gamma <a,b> + coef0)^degree, laplace exp(-gamma d1), intersection and chi2 of values of at least 0, all by the distance from core edges; or auto: the best of linear and kernels by validation",
};

/// `gamma`, `degree` and `coef0`.
pub(in crate::method) const SHAPE: [Setting; 3] = Shape::SETTINGS;

/// A kernel as it is typed; of edges none is given.
pub(in crate::method) fn set_kernel(name: &str, value: &str, kernel: &mut KernelChoice) -> Result<()> {
    if (name, value) == ("kernel", "given") {
        let known = KERNEL.range.split(", ");
        return Err(Error::unknown("kernel", value, known));
    }
    kernel.set(name, value).map(drop)
}

/// A scaling as it is typed, where it is one of matchers alone.
pub(in crate::method) fn set_scale(name: &str, value: &str, scale: &mut Choice<Scale>) -> bool {
    let own = name == "scale" && value == Scale::Matched.name();
    if own {
        *scale = Choice::Set(Scale::Matched);
    }
    own
}

/// How many λ in a row may be no better than the best before them.
pub(super) const PATIENCE: usize = 4;

/// At how many places among the scores of edges a null is tried.
const STOPS: usize = 60;

/// With how many neighbours on either side their measures are averaged.
const NEAR: usize = 2;

/// Matches of a problem for which the λ that are tried are made.
const USUAL: f64 = 25.0;

/// The scalings that are tried.
const SCALES: [Scale; 2] = [Scale::Matched, Scale::None];

/// Kernels that `kernel=auto` tries beside the linear one, with the scaling that serves that one best.
const KERNELS: [Form; 4] = [Form::Rbf, Form::Laplace, Form::Chi2, Form::Intersection];

/// Widths that are tried, in units of one over the median (squared) distance.
const WIDTHS: [f64; 3] = [0.3, 1.0, 3.0];

/// How much weaker the ridge of a kernel is: the variance of an edge is shared by many directions.
const WEAKER: f64 = 0.1;

/// What is left to choose, and from what.
pub(in crate::method) struct MatchChoices {
    pub(in crate::method) scale: Choice<Scale>,
    pub(in crate::method) lambda: Choice<Positive>,
    /// λ where nothing says otherwise.
    pub(in crate::method) default: f64,
    /// The λ that are tried, from the strongest.
    pub(in crate::method) path: &'static [f64],
    /// The power of its size by which λ grows with the size of a problem beyond [`USUAL`].
    pub(in crate::method) growth: i32,
    /// Whether a temperature is fitted; nothing where scores are log-probabilities as they are.
    pub(in crate::method) calibrate: Option<bool>,
    /// What edges are scored by.
    pub(in crate::method) kernel: KernelChoice,
    /// What matchings are best for; it needs no problems held out, but is chosen on those that are.
    pub(in crate::method) decide: Choice<MatchDecide>,
}

impl MatchChoices {
    pub(in crate::method) fn open(&self) -> bool {
        let KernelChoice { shape, by } = self.kernel;
        self.lambda == Choice::Auto
            || self.scale == Choice::Auto
            || by == KernelBy::Auto
            || shape.form.has_width() && shape.gamma == Choice::Auto
    }

    /// Whether problems have to be held out: for a choice, or for a temperature.
    fn holds_out(&self) -> bool {
        self.open() || self.calibrate == Some(true)
    }

    pub(in crate::method) fn asked(&self) -> Map<String, Value> {
        let scale = if let Choice::Set(scale) = self.scale { scale.name() } else { "auto" };
        let lambda = if let Choice::Set(lambda) = self.lambda { lambda.get().into() } else { "auto".into() };
        let mut asked = Map::from_iter([("scale".into(), scale.into()), ("lambda".into(), lambda)]);
        asked.append(&mut self.kernel.asked());
        if let Choice::Set(decide) = self.decide {
            asked.insert("decide".into(), decide.name().into());
        }
        asked
    }

    /// Whether a kernel was asked for, and what was taken is to be said.
    pub(super) fn kernels(&self) -> bool {
        !self.kernel.is_linear()
    }

    /// A form with its widths under a scaling.
    fn widths(&self, form: Form, scale: Scale) -> Vec<Spec> {
        let shape = Shape { form, ..self.kernel.shape };
        let widths = match shape.gamma {
            Choice::Set(gamma) => vec![gamma.get()],
            Choice::Auto if form.has_width() => WIDTHS.to_vec(),
            Choice::Auto => vec![1.0],
        };
        widths.into_iter().map(|gamma| Spec { scale, kernel: Some((shape.form(), gamma)) }).collect()
    }

    /// What is tried before anything is known: scalings of the linear score, or of the kernel that is set.
    pub(super) fn specs(&self) -> Vec<Spec> {
        let linear = self.kernel.by == KernelBy::Auto || self.kernel.shape.form == Form::Linear;
        let of = |scale: Scale| match linear {
            true => vec![Spec { scale, kernel: None }],
            false => self.widths(self.kernel.shape.form, scale),
        };
        self.scales().into_iter().flat_map(of).collect()
    }

    /// Whether kernels are tried beside the linear score.
    pub(super) fn tries_kernels(&self) -> bool {
        self.kernel.by == KernelBy::Auto
    }

    /// The kernels that are tried then, on the edges as they serve the linear score best.
    pub(super) fn other_kernels(&self, scale: Scale) -> Vec<Spec> {
        KERNELS.into_iter().flat_map(|form| self.widths(form, scale)).collect()
    }

    /// How many scalings and kernels are tried in the end.
    pub(super) fn planned(&self, specs: &[Spec], others: bool) -> usize {
        specs.len() + if others { KERNELS.len() * WIDTHS.len() } else { 0 }
    }

    /// What is fitted where nothing can be chosen.
    fn usual(&self) -> Spec {
        let scale = if let Choice::Set(scale) = self.scale { scale } else { Scale::Matched };
        let KernelChoice { shape, by } = self.kernel;
        let gamma = if let Choice::Set(gamma) = shape.gamma { gamma.get() } else { 1.0 };
        let kernel = (by == KernelBy::Set && shape.form != Form::Linear).then(|| (shape.form(), gamma));
        Spec { scale, kernel }
    }

    fn scales(&self) -> Vec<Scale> {
        if let Choice::Set(scale) = self.scale { vec![scale] } else { SCALES.to_vec() }
    }

    /// The λ that are tried, in units of how much the features of edges vary.
    pub(super) fn lambdas(&self, spec: &Spec, unit: f64) -> Vec<f64> {
        let unit = if spec.kernel.is_some() { WEAKER * unit } else { unit };
        match self.lambda {
            Choice::Set(lambda) => vec![lambda.get()],
            Choice::Auto => self.path.iter().map(|&lambda| pretty(lambda * unit)).collect(),
        }
    }
}

/// A number with the rounding of its product with a power of ten taken off.
fn pretty(x: f64) -> f64 {
    format!("{x:.3e}").parse().unwrap_or(x)
}

/// By how much λ has to grow because problems are large, a power of ten: where the loss is a share of the items but scores are sums over them,
/// weights shrink with the size, and the ridge on their squares has to grow with its square.
pub(super) fn crowd(cases: &[Case], growth: i32) -> f64 {
    let mean = cases.iter().map(|case| case.graph.lesser() as f64).sum::<f64>() / cases.len().max(1) as f64;
    10f64.powf((mean / USUAL).powi(growth).log10().round().max(0.0))
}

/// One problem to solve: scored edges with what is right of them.
pub(in crate::method) struct Stage<'a> {
    pub(in crate::method) scorer: &'a Edges<'a>,
    pub(in crate::method) cases: &'a [Case],
    pub(in crate::method) lambda: f64,
    pub(in crate::method) seed: u64,
    /// Whether the fit only serves a choice, and what is slow may be left out.
    pub(in crate::method) choosing: bool,
    /// The sign that the weight of each column keeps; nothing where none does.
    pub(in crate::method) signs: &'a [i8],
    /// Where the edges are, if they are not here.
    pub(super) there: Option<There<'a>>,
}

impl Stage<'_> {
    /// The scores of every problem.
    pub(in crate::method) fn scores(&self, theta: &[f64]) -> Vec<Vec<f64>> {
        scores_of(self.scorer, self.cases, theta)
    }
}

/// The scores of every problem at some parameters.
fn scores_of(edges: &Edges, cases: &[Case], theta: &[f64]) -> Vec<Vec<f64>> {
    let mut work = rows::Work::default();
    let one = |(n, case): (usize, &Case)| {
        let mut s = vec![0.0; case.graph.table()];
        edges.scores(n, theta, &mut s, &mut work);
        s
    };
    cases.iter().enumerate().map(one).collect()
}

/// Where a fit starts: at the end of another.
pub(in crate::method) struct Start {
    pub(in crate::method) theta: Vec<f64>,
    /// The norm of the gradient at zero, of fits that know.
    pub(in crate::method) at_zero: Option<f64>,
}

/// What a fit came to.
pub(in crate::method) struct Solved {
    pub(in crate::method) theta: Vec<f64>,
    pub(in crate::method) at_zero: Option<f64>,
    pub(in crate::method) report: Report,
    pub(in crate::method) sums: Sums,
}

/// The part of a matcher that is its own.
pub(in crate::method) trait Learner: Method<Match> {
    fn null(&self) -> bool;
    fn choices(&self) -> MatchChoices;
    /// How probabilities are found in prediction.
    fn engine(&self) -> Engine;
    /// All settings but scaling and λ.
    fn used(&self) -> Map<String, Value>;
    /// Fits at one λ, from zero or from another fit.
    fn solve(&self, stage: &Stage, from: Option<Start>, watch: &Watch) -> Result<Solved>;
    /// The sign that the weight of each column keeps; nothing where none does.
    fn signs(&self, _columns: &Columns) -> Result<Vec<i8>> {
        Ok(vec![])
    }
    /// How trees are set, of a method whose loss they can lower.
    fn trees(&self) -> Option<&Trees> {
        None
    }
}

/// What every method of [`Learner`] answers as a [`Method`].
macro_rules! searched {
    () => {
        fn chooses(&self) -> bool {
            let trees = $crate::method::matching::search::Learner::trees(self);
            trees.is_none_or(|t| t.starts_linear()) && self.choices().open() || trees.is_some_and(|t| t.open())
        }

        fn takes_gaps(&self) -> bool {
            $crate::method::matching::search::Learner::trees(self).is_some_and(|trees| !trees.starts_linear())
        }

        fn chooses_by(&self) -> $crate::metric::Metric {
            $crate::method::matching::search::chooses_by(self.null)
        }

        fn written(&self) -> $crate::task::Written {
            let (asked, trees) = (self.choices().asked(), $crate::method::matching::search::Learner::trees(self));
            let asked = trees.map_or(asked.clone(), |trees| trees.asked_beside(asked));
            $crate::task::Written { asked, settings: self.used() }
        }

        fn learn(
            &self,
            data: &$crate::task::Training<'_, $crate::method::Match>,
            watch: &$crate::solver::run::Watch,
        ) -> $crate::error::Result<$crate::task::Fitted<$crate::method::Match>> {
            $crate::method::matching::search::fit(self, data, watch)
        }
    };
}
pub(in crate::method) use searched;

/// A fit with the matcher that it gives.
pub(super) struct Outcome {
    pub(super) matcher: Matcher,
    pub(super) spec: Spec,
    theta: Vec<f64>,
    at_zero: Option<f64>,
    pub(super) lambda: f64,
    /// By how much the null of the matcher was moved after the fit.
    pub(super) shift: f64,
    pub(super) report: Report,
    sums: Sums,
}

impl Outcome {
    pub(super) fn start(&self) -> Start {
        Start { theta: self.theta.clone(), at_zero: self.at_zero }
    }

    /// Moves the null of the matcher, not of the fit that others start from.
    pub(super) fn move_null(&mut self, shift: f64) {
        self.matcher.null = self.matcher.null.map(|null| null + shift);
        self.shift = shift;
    }
}

/// The metric of a choice by default.
pub(in crate::method) fn chooses_by(null: bool) -> Metric {
    Metric { kind: if null { Kind::F1 } else { Kind::Hamming }, k: None }
}

/// Fits a matcher; choices as in the other methods, by `hamming`, or with nulls by `f1`, of validation problems.
pub(in crate::method) fn fit<L: Learner>(
    learner: &L,
    data: &Training<'_, Match>,
    watch: &Watch,
) -> Result<Fitted<Match>> {
    match Local::of(data, learner.null(), learner.choices().scale)? {
        Some(local) => Ok(local.told(fit_on(learner, &local.training(data), None, watch)?, data)),
        None => fit_on(learner, data, None, watch),
    }
}

/// The same on problems whose edges are elsewhere: the set is their outline.
pub(super) fn fit_far<L: Learner>(
    learner: &L,
    data: &Training<'_, Match>,
    far: &Far,
    watch: &Watch,
) -> Result<Fitted<Match>> {
    fit_on(learner, data, Some(far), watch)
}

/// The same, on the problems as they are.
fn fit_on<L: Learner>(
    learner: &L,
    data: &Training<'_, Match>,
    far: Option<&Far>,
    watch: &Watch,
) -> Result<Fitted<Match>> {
    let choices = learner.choices();
    let known = |units: &[u32]| units.iter().copied().filter(|&p| tells(data.set, p)).collect::<Vec<u32>>();
    let all = known(data.train);
    if all.is_empty() {
        return Err(Error::Data {
            expected: "problems with known matches (a column matched of 0 and 1) to learn from".into(),
            found: format!("{} problems of which nothing is known", data.train.len()),
        });
    }
    let valid = data.valid.map(|valid| known(valid).into());
    let (train, valid) = Training::<Match>::cut(all.as_slice().into(), valid, choices.holds_out());
    let from = Origin { set: data.set, far };
    let search = Search { learner, choices: &choices, data, from, by: data.by(learner), watch };
    if learner.trees().is_some_and(|trees| !trees.starts_linear()) {
        let (train, valid) = Training::<Match>::cut(all.as_slice().into(), data.valid.map(known).map(Into::into), true);
        return boosting::added(&search, search.bare(), &train, &valid);
    }
    if choices.holds_out() && !valid.is_empty() {
        let made = search.choose(&train, &valid)?;
        return boosting::added(&search, made, &train, &valid);
    }
    (watch.tell)(0.0, "fitting");
    let cases = cases_of(data.set, &all, learner.null())?;
    let space = search.space(choices.usual(), &all)?;
    let lambda = match choices.lambda {
        Choice::Set(lambda) => lambda.get(),
        Choice::Auto => {
            let weaker = if space.spec.kernel.is_some() { WEAKER } else { 1.0 };
            pretty(choices.default * weaker * space.unit(&search.from, &all)? * crowd(&cases, choices.growth))
        }
    };
    let mut outcome = search.fit_one((&all, &cases), &space, lambda, None, false)?;
    if choices.calibrate.is_some() {
        // without other problems the temperature can only be fitted on these
        let scores = search.scores(&outcome.matcher, &all)?;
        outcome.matcher.temperature = search.temperature(&outcome, &scores, &cases)?;
    }
    let mut made = search.made(&all, outcome, None, false);
    if !valid.is_empty() {
        // given although nothing is to be chosen by them
        let unseen = search.unseen(&made.outcome.matcher, &valid)?;
        made = made.with(unseen);
    }
    boosting::added(&search, made, &all, &[])
}

/// Problems with what is right of them; names the problem of which no matching agrees.
pub(super) fn cases_of(set: &MatchSet, units: &[u32], null: bool) -> Result<Vec<Case>> {
    let of = |&p: &u32| {
        let problem = set.problem(p as usize);
        let edges = |truth: Truth| -> Vec<u32> {
            (0u32..).zip(&problem.truth).filter(|(_, t)| **t == truth).map(|(e, _)| e).collect()
        };
        graph_of(set, p as usize, null)
            .and_then(|graph| Case::new(graph, &edges(Truth::Yes), &edges(Truth::Unknown)))
            .map_err(|error| match error {
                Error::Infeasible { side, index } => {
                    let (side, names) =
                        if side == "row" { ("left", &problem.left) } else { ("right", &problem.right) };
                    Error::Data {
                        expected: format!(
                            "problem {:?}: a match of every item of the lesser side to learn from; null=true learns when items stay unmatched",
                            problem.name
                        ),
                        found: format!("{side} item {:?} without one", names[index]),
                    }
                }
                other => named(other, set, p as usize),
            })
    };
    units.iter().map(of).collect()
}

pub(super) struct Search<'a, L> {
    pub(super) learner: &'a L,
    pub(super) choices: &'a MatchChoices,
    pub(super) data: &'a Training<'a, Match>,
    pub(super) from: Origin<'a>,
    pub(super) by: Metric,
    pub(super) watch: &'a Watch<'a>,
}

/// A fit with what is known of its training.
pub(super) struct Made {
    pub(super) units: Vec<u32>,
    pub(super) outcome: Outcome,
    pub(super) chosen: Option<Chosen>,
    pub(super) refit: bool,
    /// What fits like it say of problems that they have not seen, if there are any.
    pub(super) unseen: Option<Unseen>,
}

impl Made {
    pub(super) fn with(self, unseen: Unseen) -> Self {
        Self { unseen: Some(unseen), ..self }
    }
}

impl<L: Learner> Search<'_, L> {
    /// What weights are on, learned from some problems.
    pub(super) fn space(&self, spec: Spec, units: &[u32]) -> Result<Space> {
        Space::new(spec, &self.from, units, self.data.seed)
    }

    /// The scores of the edges of some problems.
    pub(super) fn scores(&self, matcher: &Matcher, units: &[u32]) -> Result<Vec<Vec<f64>>> {
        let set = self.data.set;
        match self.from.far {
            None => matcher.scores_with(set, units, &matcher.inputs.scaling(set, units)),
            Some(far) => {
                let all = far.scores(set, matcher, units)?;
                units.iter().zip(&all).try_for_each(|(&p, s)| matcher.finite(set, p as usize, s))?;
                Ok(all)
            }
        }
    }

    /// The best of all scalings, kernels and λ on the validation problems; of equals the one with the best likelihood, without one the first tried.
    /// Where few items are held out, all problems choose ([`Crossed`]).
    fn choose(&self, train: &[u32], valid: &[u32]) -> Result<Made> {
        let by = self.by;
        let cases = cases_of(self.data.set, train, self.learner.null())?;
        let held = cases_of(self.data.set, valid, self.learner.null())?;
        let own = self.data.valid.is_none();
        if own && crossed::matches(&held) < crossed::FEW && train.len() + valid.len() >= split::LEAST {
            return Crossed::new(self, &both(train, valid))?.choose(train, valid);
        }
        let (mut specs, kernels) = (self.choices.specs(), self.choices.kernels());
        let mut others = self.choices.tries_kernels();
        let mut best: Option<(f64, Option<f64>, Outcome)> = None;
        let mut tried: Vec<Candidate> = vec![];
        let (mut at, mut refused) = (0, None);
        'all: while at < specs.len() {
            let spec = specs[at];
            at += 1;
            let space = match self.space(spec, train) {
                // under another scaling, or another kernel, values may be those of histograms
                Err(error @ Error::Data { .. }) if spec.kernel.is_some_and(|(form, _)| form.of_histograms()) => {
                    refused = Some(error);
                    continue;
                }
                space => space?,
            };
            let (mut from, mut best_here, mut since) = (None, f64::INFINITY, 0);
            let unit = space.unit(&self.from, train)? * crowd(&cases, self.choices.growth);
            let lambdas = self.choices.lambdas(&spec, unit);
            for (step, &lambda) in lambdas.iter().enumerate() {
                let planned = self.choices.planned(&specs, others);
                let share = ((at - 1) as f64 + step as f64 / lambdas.len() as f64) / planned as f64;
                (self.watch.tell)(0.95 * share, "choosing");
                let mut outcome = match self.fit_one((train, &cases), &space, lambda, from.take(), true) {
                    Err(Error::Interrupted) if best.is_some() => break 'all,
                    other => other?,
                };
                from = Some(outcome.start());
                let scores = self.scores(&outcome.matcher, valid)?;
                if by.of_probabilities() {
                    outcome.matcher.temperature = self.temperature(&outcome, &scores, &held)?;
                }
                let shift = match self.shift_of(&outcome.matcher, (valid, &scores), by) {
                    Err(Error::Interrupted) => 0.0,
                    other => other?,
                };
                outcome.move_null(shift);
                let value = outcome.matcher.evaluate_scored(self.data.set, valid, &scores, &[by])?.mean(0);
                let mut nll = None;
                let stopped = outcome.report.stop == Stop::Interrupted;
                tried.push(spec.candidate(lambda, kernels, value));
                let loss = if by.is_loss() { value } else { -value };
                let better = match &mut best {
                    None => true,
                    Some((old, _, _)) if loss < *old => true,
                    // of equals the one that finds the right matchings more likely, where that is known
                    Some((old, old_nll, before)) if loss <= *old && self.choices.calibrate.is_none() => {
                        let before = match *old_nll {
                            Some(nll) => nll,
                            None => self.nll(&before.matcher, valid)?,
                        };
                        *old_nll = Some(before);
                        nll = Some(self.nll(&outcome.matcher, valid)?);
                        nll < Some(before)
                    }
                    Some(_) => false,
                };
                if better {
                    best = Some((loss, nll, outcome));
                }
                if stopped {
                    break 'all;
                }
                // weak ridges cost most: the path ends where they have not helped for long
                since = if loss < best_here { 0 } else { since + 1 };
                best_here = best_here.min(loss);
                if since >= PATIENCE {
                    break;
                }
            }
            if let (true, Some((.., outcome))) = (others && at == specs.len(), &best) {
                specs.extend(self.choices.other_kernels(outcome.spec.scale));
                others = false;
            }
        }
        let Some((.., mut outcome)) = best else { return Err(refused.unwrap_or(Error::Interrupted)) };
        let (spec, mut shift) = (outcome.spec, outcome.shift);
        let mut unseen = self.unseen(&outcome.matcher, valid)?;
        unseen.temperature = self.temperature(&outcome, &unseen.scores, &held)?;
        outcome.matcher.temperature = unseen.temperature;
        let chosen = self.choices.open().then(|| Chosen::new(by, &self.data.convention, valid.len(), tried));
        if !self.data.refit && !self.watch.stopped() {
            let temperature = outcome.matcher.temperature;
            let space = self.space(spec, train)?;
            match self.fit_one((train, &cases), &space, outcome.lambda, Some(outcome.start()), false) {
                Err(Error::Interrupted) => {}
                other => {
                    outcome = other?;
                    outcome.move_null(shift);
                    outcome.matcher.temperature = temperature;
                }
            }
        }
        if self.watch.stopped() {
            outcome.report.stop = Stop::Interrupted;
        }
        if !self.data.refit || self.watch.stopped() {
            return Ok(self.made(train, outcome, chosen, false).with(unseen));
        }
        (self.watch.tell)(0.95, "fitting on training and validation");
        let both = both(train, valid);
        let cases = cases_of(self.data.set, &both, self.learner.null())?;
        let space = self.space(spec, &both)?;
        // other core edges have other coordinates
        let start = spec.kernel.is_none().then(|| outcome.start());
        let mut last = match self.fit_one((&both, &cases), &space, outcome.lambda, start, false) {
            Err(Error::Interrupted) => {
                outcome.report.stop = Stop::Interrupted;
                return Ok(self.made(train, outcome, chosen, false).with(unseen));
            }
            other => other?,
        };
        let mut temperature = outcome.matcher.temperature;
        if own
            && self.learner.null()
            && crossed::matches(&held) < crossed::SOME
            && let Some(moved) = Crossed::new(self, &both)?.moved(spec, outcome.lambda)?
        {
            (shift, temperature, unseen) = moved;
        }
        last.move_null(shift);
        last.matcher.temperature = temperature;
        Ok(self.made(&both, last, chosen, true).with(unseen))
    }

    /// What a matcher says of problems that its fit has not seen.
    fn unseen(&self, matcher: &Matcher, units: &[u32]) -> Result<Unseen> {
        let scores = self.scores(matcher, units)?;
        Ok(Unseen { units: units.to_vec(), scores, null: matcher.null, temperature: matcher.temperature })
    }

    /// A matcher without anything learned.
    fn bare(&self) -> Made {
        let (set, data) = (self.data.set, self.data);
        let inputs = Inputs::new(&set.columns, &data.filled, Scale::None, None);
        let matcher = self.matcher(inputs, Score::Linear(vec![]), self.learner.null().then_some(0.0));
        let report =
            Report { iterations: 0, objective: 0.0, gradient: 0.0, gap: None, rounds: None, stop: Stop::Rounds };
        let (spec, sums) = (Spec { scale: Scale::None, kernel: None }, Sums::default());
        let outcome = Outcome { matcher, spec, theta: vec![], at_zero: None, lambda: 0.0, shift: 0.0, report, sums };
        self.made(&[], outcome, None, false)
    }

    /// A matcher with these scores, as a fit gives it.
    fn matcher(&self, inputs: Inputs, score: Score, null: Option<f64>) -> Matcher {
        Matcher {
            null,
            temperature: self.choices.calibrate.is_none().then_some(1.0),
            engine: self.learner.engine(),
            seed: self.data.seed,
            ..Matcher::scored(inputs, score)
        }
    }

    pub(super) fn made(&self, units: &[u32], outcome: Outcome, chosen: Option<Chosen>, refit: bool) -> Made {
        Made { units: units.to_vec(), outcome, chosen, refit, unseen: None }
    }

    /// By how much the null is to move for the best measure of some problems. The loss of a fit is not the measure that people read, and how many
    /// matches to leave out is where the two differ most. Where the measure is of probabilities, the fit has it right already.
    ///
    /// What can change is how the best edge of an item compares with two nulls: the nulls that are tried are at [`STOPS`] even places among these.
    /// A measure of few problems jumps from one to the next: the best is that of the mean with [`NEAR`] neighbours on either side, of equals the
    /// one that moves least. Cost: that many best matchings of each problem.
    pub(super) fn shift_of(&self, matcher: &Matcher, (units, all): (&[u32], &[Vec<f64>]), by: Metric) -> Result<f64> {
        let Some(null) = matcher.null.filter(|_| !by.of_probabilities()) else { return Ok(0.0) };
        let mut halves: Vec<f64> = vec![];
        for (&p, scores) in units.iter().zip(all) {
            let problem = self.data.set.problem(p as usize);
            let mut best = vec![f64::NEG_INFINITY; problem.left.len()];
            for (&(i, _), s) in problem.edges.iter().zip(scores) {
                best[i as usize] = best[i as usize].max(*s);
            }
            halves.extend(best.into_iter().filter(|s| s.is_finite()).map(|s| 0.5 * s));
        }
        halves.sort_by(f64::total_cmp);
        let at = |stop: usize| halves.get(stop * halves.len().saturating_sub(1) / STOPS).copied();
        let mut tried: Vec<f64> = (0..=STOPS).filter_map(at).map(|half| half - null).collect();
        tried.push(0.0);
        tried.sort_by(f64::total_cmp);
        tried.dedup();
        let loss = |shift: &f64| {
            if self.watch.stopped() {
                return Err(Error::Interrupted);
            }
            let moved = Matcher { null: Some(null + shift), ..matcher.clone() };
            let value = moved.evaluate_scored(self.data.set, units, all, &[by])?.together(0);
            Ok(if by.is_loss() { value } else { -value })
        };
        let losses: Vec<f64> = tried.iter().map(loss).collect::<Result<_>>()?;
        let smooth = |n: usize| {
            let near = &losses[n.saturating_sub(NEAR)..(n + NEAR + 1).min(losses.len())];
            near.iter().sum::<f64>() / near.len() as f64
        };
        let better =
            |&a: &usize, &b: &usize| smooth(a).total_cmp(&smooth(b)).then(tried[a].abs().total_cmp(&tried[b].abs()));
        Ok((0..tried.len()).min_by(better).map_or(0.0, |n| tried[n]))
    }

    fn nll(&self, matcher: &Matcher, valid: &[u32]) -> Result<f64> {
        let nll = Metric { kind: Kind::Nll, k: None };
        Ok(matcher.evaluate_scored(self.data.set, valid, &self.scores(matcher, valid)?, &[nll])?.mean(0))
    }

    pub(super) fn fit_one(
        &self,
        (units, cases): (&[u32], &[Case]),
        space: &Space,
        lambda: f64,
        from: Option<Start>,
        choosing: bool,
    ) -> Result<Outcome> {
        let (set, data) = (self.data.set, self.data);
        let edges = space.edges(set, units, self.learner.null());
        let signs = self.learner.signs(&set.columns)?;
        let there = self.from.far.map(|far| There { far, units, null: self.learner.null(), space });
        let stage = Stage { scorer: &edges, cases, lambda, seed: data.seed, choosing, signs: &signs, there };
        let Solved { theta, at_zero, report, sums } = self.learner.solve(&stage, from, self.watch)?;
        let d = space.dim(set);
        let null = self.learner.null().then(|| NULL_UNIT * theta[d]);
        let inputs = Inputs::new(&set.columns, &data.filled, space.spec.scale, space.scaling.global());
        let matcher = self.matcher(inputs, space.score(&theta[..d]), null);
        Ok(Outcome { matcher, spec: space.spec, theta, at_zero, lambda, shift: 0.0, report, sums })
    }

    /// The temperature of an outcome, fitted on some problems unless it is not wanted. A likelihood needs one as well where its λ was chosen by another
    /// measure: a ridge that finds the right matchings may be too timid, or too bold, about them.
    fn temperature(&self, outcome: &Outcome, scores: &[Vec<f64>], cases: &[Case]) -> Result<Option<f64>> {
        if self.choices.calibrate == Some(false) {
            return Ok(None);
        }
        // with the null, which may have been moved since
        let null = outcome.matcher.null.map_or(0.0, |null| NULL_UNIT * (null / NULL_UNIT));
        let table = |(s, case): (&Vec<f64>, &Case)| {
            let mut table = s.clone();
            table.resize(case.graph.table(), null);
            table
        };
        let all: Vec<Vec<f64>> = scores.iter().zip(cases).map(table).collect();
        fit_temperature(cases, &all).map(Some)
    }

    pub(super) fn fitted(&self, made: Made) -> Result<Fitted<Match>> {
        let Made { units, mut outcome, chosen, refit, unseen } = made;
        let (set, learner) = (self.data.set, self.learner);
        let mut settings = learner.used();
        settings.append(&mut outcome.spec.settings(outcome.lambda, self.choices.kernels()));
        let count = |right: &dyn Fn(u32) -> bool| units.iter().filter(|&&p| right(p)).count();
        let mut notes = MatchNotes {
            edges: units.iter().map(|&p| set.span(p as usize).len()).sum(),
            problems: units.len(),
            blank_problems: self.data.train.iter().filter(|&&p| !tells(set, p)).count(),
            partly_known: count(&|p| !set.problem(p as usize).is_known()),
            accuracy: outcome.sums.accuracy().into(),
            error: outcome.sums.error(),
            engines: outcome.sums.engines,
            trees: None,
            local: None,
            decisions: None,
        };
        decide::settle(self, &mut outcome.matcher, &mut notes, unseen.as_ref())?;
        if self.choices.decide != Choice::Auto || notes.decisions.is_some() {
            settings.insert("decide".into(), outcome.matcher.decide.name().into());
        }
        let facts = Facts {
            method: learner.name().into(),
            settings,
            asked: learner.written().asked,
            data: self.from.far.map_or_else(|| set.digest(), |far| far.digest().to_owned()),
            notes,
            report: outcome.report,
            refit,
            chosen,
            seed: self.data.seed,
            auto: None,
            init: None,
        };
        Ok(Fitted { model: outcome.matcher, facts, journal: None })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use crate::data::scale::learned;
    use crate::data::synthetic::Linkage;
    use crate::method::MatchMethod;
    use crate::solver::run::Watch;
    use crate::task::{Method, Training};

    /// Twice the problems, twice the scalings: the search for the null, which tries many, learns them no more often.
    #[test]
    fn the_search_for_the_null_learns_scalings_in_proportion_to_the_problems() {
        for line in ["matchmap[scale=query,lambda=0.1,null=true]", "matchmargin[scale=minmax,lambda=0.1,null=true]"] {
            let method: MatchMethod = line.parse().unwrap();
            let count = |problems: usize| {
                let set = Linkage { problems, records: 3, ..Linkage::default() }.make();
                let (train, valid): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(|p| p % 2 == 0);
                let data = Training { valid: Some(&valid), ..Training::new(&set, &train) };
                learned::by(|| drop(method.fit(&data, &Watch::NOBODY).unwrap()))
            };
            let (few, many) = (count(40), count(80));
            assert_eq!(many, 2 * few, "{line}");
            assert!(few <= 10 * 40, "{line}: {few} scalings of 40 problems");
        }
    }
}
