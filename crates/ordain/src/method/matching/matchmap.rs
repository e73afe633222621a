//! The exponential family over matchings, by maximum a posteriori.

use crate::data::Columns;
use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::kernel::Form;
use crate::matrix::dot;
use crate::method::kernels::KernelChoice;
use crate::method::matching::decide::{self, DECIDE, MatchDecide};
use crate::method::matching::matcher::Sums;
use crate::method::matching::search::{self, Learner, MatchChoices, Solved, Stage, Start};
use crate::method::matching::shards::{By, There};
use crate::method::settings::{self, Common, SWITCH, TRANSFORM, above_0, accuracy, one_of, ridge, serves, steps};
use crate::method::{Choice, Match, Positive, Trees};
use crate::risk::Empirical;
use crate::solver::lbfgs::Lbfgs;
use crate::solver::run::{Report, Watch, run};
use crate::solver::signed::Signed;
use crate::structure::matching::{Engine, engine};
use crate::surrogate::matching::{Case, FrozenLikelihood, MatchLikelihood};
use crate::task::{About, Method, Setting};
use crate::traits::{Risk, Scorer, Solver, Stop};
use rayon::prelude::*;
use serde_json::{Map, Value};

/// λ that are tried, from the strongest, in units of the variance of the features.
const PATH: &[f64] = &[1.0, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4];
/// λ where nothing says otherwise.
const LAMBDA: f64 = 1e-2;
/// How much earlier a fit may stop that only serves a choice.
const LOOSE: f64 = 10.0;
/// Items of the lesser side above which a fit starts on approximate sums.
const SMALL: usize = 10;
/// How much earlier it goes over to the sums that are asked for.
const ROUGH: f64 = 10.0;
/// How often samples are drawn anew, at most.
const ROUNDS: usize = 4;
/// The most steps on the same samples.
const STEPS: usize = 20;
/// A round that moves parameters by less than this share of their squared length is the last.
const STILL: f64 = 4e-4;

/// Matchings by the exponential family of their edges.
///
/// ```text
/// p(y | x) = exp(Σ_{e in y} ⟨θ, x_e⟩ + null·(items not in y)) / Z(x),   min  λ/2·|θ|² − mean of log p(right)
/// ```
///
/// \[EFM\] Eqs. (3)-(11), with unmatched items and forbidden edges beyond the paper. Gradients need the probability of every edge alone, and these
/// are exact where the paper samples: see [`engine::log_sum`] for how they are found, and what is exact.
///
/// Where λ or the scaling was chosen on validation problems, the probabilities of the fitted matcher are **not** Eq. (3) at
/// these θ: the null was moved to where the measure of the choice is best (unless that is of probabilities), and all scores are
/// divided by a temperature T, fitted by likelihood on the same problems:
///
/// ```text
/// p(y | x) = exp((Σ_{e in y} ⟨θ, x_e⟩ + (null + shift)·(items not in y)) / T) / Z(x)
/// ```
///
/// Where fewer than 500 known matches were held out, both are the likeliest of the scores of all problems by fits that have not seen them, and for F1 the null
/// is moved on to where an edge is worth its match, from the probability F1 / 2 on.
/// With both settings given shift = 0 and T = 1, and they are Eq. (3) as it stands.
///
/// ```
/// use ordain::{data::synthetic::Linkage, method::MatchMap, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Linkage::default().make();
/// let model = MatchMap { null: true, ..MatchMap::default() }.fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// let said = model.model.predict(&model.model.prepare(&set)?, &[0])?;
/// assert!(said[0].matches[0].probability.is_some());
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MatchMap {
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features of edges.
    pub scale: Choice<Scale>,
    /// Strength of the ridge.
    pub lambda: Choice<Positive>,
    /// What edges are scored by.
    pub kernel: KernelChoice,
    /// How the sum over matchings is found.
    pub marginals: Engine,
    /// Whether items may stay unmatched.
    pub null: bool,
    /// What the matching is best for.
    pub decide: Choice<MatchDecide>,
    /// The most steps of one fit.
    pub max_iter: usize,
    /// Where a fit stops: the gradient relative to the one at zero.
    pub tol: Positive,
    /// Trees beside weights, or in their place.
    pub trees: Trees,
}

impl Default for MatchMap {
    fn default() -> Self {
        Self {
            transform: Transform::Auto,
            scale: Choice::Auto,
            lambda: Choice::Auto,
            kernel: KernelChoice::new(Form::Linear),
            marginals: Engine::Auto,
            null: false,
            decide: Choice::Auto,
            max_iter: 200,
            tol: Positive(1e-4),
            trees: Trees::default(),
        }
    }
}

impl MatchMap {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        TRANSFORM,
        search::SCALE,
        ridge("strength of the ridge: auto by validation (else 0.01); c=1/lambda is accepted too"),
        search::KERNEL,
        search::SHAPE[0],
        search::SHAPE[1],
        search::SHAPE[2],
        Setting {
            name: "marginals",
            range: "auto, exact, pruned, bethe, sinkhorn, huber-law, deepar, importance, chain",
            default: "auto",
            help: "how probabilities are found: auto by size (the result says how, and how near they are); exact up to 22 items of the lesser side (18 with null), pruned with a certificate, bethe and sinkhorn quick and approximate, the others by samples",
        },
        search::NULL,
        DECIDE,
        steps("200", "the most steps of one fit"),
        accuracy("1e-4", "where a fit stops: the gradient relative to the one at zero"),
        Trees::SETTINGS[0],
        Trees::SETTINGS[1],
        Trees::SETTINGS[2],
        Trees::SETTINGS[3],
        Trees::SETTINGS[4],
        Trees::SETTINGS[5],
        Trees::SETTINGS[6],
        Trees::SETTINGS[7],
        Trees::SETTINGS[8],
    ];

    /// L-BFGS with sums by the engines of the cases, from zero or from another fit.
    fn descend(&self, stage: &Stage, by: By, from: Option<Start>, watch: &Watch) -> Result<Descent> {
        let loss = MatchLikelihood { cases: stage.cases, engines: by.engines(stage.cases) };
        let weight = vec![1.0 / stage.cases.len() as f64; stage.cases.len()];
        let (mut here, mut elsewhere);
        let risk: &mut dyn Risk = match &stage.there {
            None => {
                here = Empirical::new(stage.scorer, &loss, weight).stopped_by(watch.stop);
                &mut here
            }
            Some(there) => {
                elsewhere = there.risk(by, stage.scorer.dim(), watch.stop);
                &mut elsewhere
            }
        };
        let (lambda, tol) = (stage.lambda, self.tol.get() * if stage.choosing { LOOSE } else { 1.0 });
        if !stage.signs.is_empty() {
            let start = from.map_or_else(|| vec![0.0; stage.scorer.dim()], |from| from.theta);
            let mut solver = Signed::new(risk, stage.signs, lambda, tol, &start)?;
            let report = run(&mut solver, self.max_iter, 0, watch)?;
            return Ok(Descent { theta: solver.theta().to_vec(), at_zero: None, report });
        }
        let mut solver = match from {
            None => Lbfgs::new(risk, lambda, tol, vec![0.0; stage.scorer.dim()])?,
            Some(from) => Lbfgs::at(risk, lambda, tol, from.theta, from.at_zero)?,
        };
        let report = run(&mut solver, self.max_iter, 0, watch)?;
        Ok(Descent { theta: solver.theta().to_vec(), at_zero: Some(solver.at_zero()), report })
    }

    /// L-BFGS on samples that are drawn where the last round ended, until a round moves no more.
    fn descend_on_samples(&self, stage: &Stage, engine: Engine, from: Descent, watch: &Watch) -> Result<Descent> {
        let weight = vec![1.0 / stage.cases.len() as f64; stage.cases.len()];
        let mut at = from;
        for round in 0..ROUNDS {
            let loss = freeze(stage, engine, &at.theta, round as u64)?;
            let mut risk = Empirical::new(stage.scorer, &loss, weight.clone()).stopped_by(watch.stop);
            let (tol, steps) = (self.tol.get(), self.max_iter.min(STEPS));
            let (theta, report) = if stage.signs.is_empty() {
                let mut solver = Lbfgs::at(&mut risk, stage.lambda, tol, at.theta.clone(), at.at_zero)?;
                let report = run(&mut solver, steps, 0, watch)?;
                (solver.theta().to_vec(), report)
            } else {
                let mut solver = Signed::new(&mut risk, stage.signs, stage.lambda, tol, &at.theta)?;
                let report = run(&mut solver, steps, 0, watch)?;
                (solver.theta().to_vec(), report)
            };
            let way: Vec<f64> = theta.iter().zip(&at.theta).map(|(new, old)| new - old).collect();
            at.theta = theta;
            at.report = Report { iterations: at.report.iterations + report.iterations, ..report };
            if report.stop == Stop::Interrupted {
                break;
            }
            if dot(&way, &way) <= STILL * dot(&at.theta, &at.theta) {
                at.report.stop = Stop::Stalled; // as near as samples can tell
                break;
            }
        }
        Ok(at)
    }
}

impl Method<Match> for MatchMap {
    fn name(&self) -> &'static str {
        "matchmap"
    }

    fn about(&self) -> About {
        About {
            good_for: "matches with probabilities, and who stays alone",
            measured_on: "CMU house",
            figures: &[("hamming", 0.0006)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "marginals" => Some(self.marginals.name().into()),
            "null" => Some(self.null.to_string()),
            "decide" => Some(decide::written(self.decide)),
            "kernel" | "gamma" | "degree" | "coef0" => self.kernel.get(name),
            _ => self
                .trees
                .get(name)
                .or_else(|| settings::common(name, self.transform, &self.scale, &self.lambda, self.max_iter, self.tol)),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let Self { transform, scale, lambda, max_iter, tol, .. } = self;
        if search::set_scale(name, value, scale)
            || (Common { transform, scale, lambda, max_iter, tol }).set(name, value)?
        {
            return Ok(());
        }
        if self.trees.set(name, value)? {
            return Ok(());
        }
        match name {
            "null" => self.null = one_of("null", value, &SWITCH)?,
            "decide" => self.decide = decide::typed(value)?,
            "kernel" | "gamma" | "degree" | "coef0" => search::set_kernel(name, value, &mut self.kernel)?,
            _ => {
                let known: Vec<(&str, Engine)> = Engine::ALL.iter().map(|&engine| (engine.name(), engine)).collect();
                self.marginals = one_of("marginals", value, &known)?;
            }
        }
        Ok(())
    }

    /// Refuses settings that no text could have given.
    fn check(&self) -> Result<()> {
        self.trees.check_beside_signs()?;
        serves("monotone", !self.trees.monotone.is_empty(), self.kernel.is_linear(), "kernel=linear", "a kernel")?;
        self.trees.check_transform(self.transform)?;
        serves("scorer", self.trees.grows(), self.kernel.is_linear(), "kernel=linear", "a kernel")?;
        above_0("max_iter", self.max_iter)?;
        self.kernel.check()
    }

    fn transform(&self) -> Transform {
        self.trees.transform(self.transform)
    }

    fn categories(&self) -> &[String] {
        &self.trees.categories
    }

    search::searched!();
}

/// Where a descent came to.
struct Descent {
    theta: Vec<f64>,
    at_zero: Option<f64>,
    report: Report,
}

/// Samples of every case at some parameters.
fn freeze<'a>(stage: &Stage<'a>, by: Engine, theta: &[f64], round: u64) -> Result<FrozenLikelihood<'a>> {
    let (mut samples, mut log_z, mut work) = (vec![], vec![], engine::Work::default());
    let drawn_at = stage.scores(theta);
    for (n, (case, s)) in stage.cases.iter().zip(&drawn_at).enumerate() {
        let seed = stage.seed ^ (round << 32) ^ n as u64;
        let (drawn, z) = engine::draw(by, &case.graph, s, seed, &mut work)?;
        samples.push(drawn);
        log_z.push(z);
    }
    Ok(FrozenLikelihood { cases: stage.cases, samples, drawn_at, log_z })
}

/// How the sums over the matchings at some parameters are found.
fn sums_at(stage: &Stage, by: By, theta: &[f64]) -> Result<Sums> {
    if let Some(there) = &stage.there {
        return there.sums(by, theta);
    }
    let loss = MatchLikelihood { cases: stage.cases, engines: by.engines(stage.cases) };
    let one = |work: &mut engine::Work, (n, s): (usize, &Vec<f64>)| loss.sum(n, s, &mut vec![0.0; s.len()], work);
    let scores = stage.scores(theta);
    let made: Result<Vec<_>> = scores.par_iter().enumerate().map_init(engine::Work::default, one).collect();
    let mut all = Sums::default();
    made?.iter().for_each(|sum| all.add(sum));
    Ok(all)
}

impl Learner for MatchMap {
    fn null(&self) -> bool {
        self.null
    }

    fn choices(&self) -> MatchChoices {
        MatchChoices {
            scale: self.scale,
            lambda: self.lambda,
            default: LAMBDA,
            path: PATH,
            growth: 0,
            calibrate: None,
            kernel: self.kernel,
            decide: self.decide,
        }
    }

    fn engine(&self) -> Engine {
        self.marginals
    }

    fn used(&self) -> Map<String, Value> {
        Map::from_iter(
            [
                ("marginals".into(), self.marginals.name().into()),
                ("null".into(), self.null.into()),
                ("max_iter".into(), self.max_iter.into()),
                ("tol".into(), self.tol.get().into()),
            ]
            .into_iter()
            .chain(self.trees.used()),
        )
    }

    fn signs(&self, columns: &Columns) -> Result<Vec<i8>> {
        self.trees.signs(columns)
    }

    fn trees(&self) -> Option<&Trees> {
        self.trees.grows().then_some(&self.trees)
    }

    /// Exact where that can be done at all parameters. Larger problems start from an approximation that is convex as well, go on to the pruned
    /// sums, which are exact where weights are no longer flat, and where these fail to samples of a chain.
    fn solve(&self, stage: &Stage, from: Option<Start>, watch: &Watch) -> Result<Solved> {
        let done = |end: Descent, by: By| -> Result<Solved> {
            // one more evaluation, for which somebody who stops does not wait
            let stopped = end.report.stop == Stop::Interrupted;
            let sums = if stopped { Sums::default() } else { sums_at(stage, by, &end.theta)? };
            Ok(Solved { theta: end.theta, at_zero: end.at_zero, report: end.report, sums })
        };
        let small = |case: &Case| engine::always_exact(&case.graph);
        let direct = match self.marginals {
            Engine::Auto => stage.cases.iter().all(small).then_some(Engine::Pruned),
            asked => (!asked.draws()).then_some(asked),
        };
        if let Some(engine) = direct {
            let dear = matches!(engine, Engine::Exact | Engine::Pruned)
                && stage.cases.iter().any(|case| case.graph.lesser() > SMALL && !case.graph.null());
            if from.is_some() || !dear {
                return done(self.descend(stage, By::All(engine), from, watch)?, By::All(engine));
            }
            // nearly all steps on sums that cost next to nothing, the last ones on those that are asked for
            let near = Self { tol: Positive(ROUGH * self.tol.get()), ..self.clone() };
            let start = near.descend(stage, By::All(Engine::Sinkhorn), None, watch)?;
            if start.report.stop == Stop::Interrupted {
                return done(start, By::All(Engine::Sinkhorn));
            }
            let from = Start { theta: start.theta, at_zero: start.at_zero };
            let mut end = self.descend(stage, By::All(engine), Some(from), watch)?;
            end.report.iterations += start.report.iterations;
            return done(end, By::All(engine));
        }
        let start = self.descend(stage, By::Rough, from, watch)?;
        if start.report.stop == Stop::Interrupted {
            return done(start, By::Rough);
        }
        if self.marginals.draws() {
            return done(self.descend_on_samples(stage, self.marginals, start, watch)?, By::All(self.marginals));
        }
        if !stage.cases.iter().all(|case| small(case) || engine::may_prune(&case.graph)) {
            return done(start, By::Rough);
        }
        // where the pruned sums cannot be had at the start, they cannot be had later
        let from = Start { theta: start.theta.clone(), at_zero: start.at_zero };
        match self.descend(stage, By::All(Engine::Pruned), Some(from), watch) {
            Ok(end) => return done(end, By::All(Engine::Pruned)),
            Err(Error::Interrupted) => {
                let report = Report { stop: Stop::Interrupted, ..start.report };
                return done(Descent { report, ..start }, By::Rough);
            }
            Err(_) => {}
        }
        if stage.choosing {
            return done(start, By::Rough); // near enough to tell good settings from bad
        }
        if stage.there.is_some() {
            return Err(There::no_samples("auto, which goes by samples where pruned sums cannot be had"));
        }
        done(self.descend_on_samples(stage, Engine::Chain, start, watch)?, By::All(Engine::Auto))
    }
}
