//! The max-margin matcher, with a temperature that makes probabilities of its scores.

use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::error::Result;
use crate::kernel::Form;
use crate::method::kernels::KernelChoice;
use crate::method::matching::decide::{self, DECIDE, MatchDecide};
use crate::method::matching::matcher::Sums;
use crate::method::matching::search::{self, Learner, MatchChoices, Solved, Stage, Start};
use crate::method::settings::{self, Common, SWITCH, TRANSFORM, above_0, accuracy, one_of, ridge, serves, steps};
use crate::method::{Choice, Match, Positive};
use crate::risk::Empirical;
use crate::solver::bundle::Bundle;
use crate::solver::run::{Watch, run};
use crate::structure::matching::{Engine, best};
use crate::surrogate::matching::{self, Right};
use crate::task::{About, Method, Setting};
use crate::traits::{Scorer, Solver, Stop};
use serde_json::{Map, Value};

/// λ that are tried, from the strongest, in units of the variance of the features.
const PATH: &[f64] = &[10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3];
/// λ where nothing says otherwise.
const LAMBDA: f64 = 1e-2;
/// How often the right matching of a problem that is known in part is guessed anew.
const ROUNDS: usize = 5;

/// Matchings by their margin over wrong ones.
///
/// ```text
/// min  λ/2·|θ|² + mean of  max_y {loss(y) + score(y)} − score(right),   loss = share of the items that are matched wrongly
/// ```
///
/// Caetano et al. 2009, to which \[EFM\] compares, with unmatched items and forbidden edges: with `null=true` the loss counts the items of both
/// sides, and none is a partner too. Each step finds the worst matching of every problem, so
/// that large sparse problems are no trouble; the duality gap says how near the minimum is. Scores of a margin are no log-probabilities:
/// one temperature, fitted by likelihood on problems that the weights have not seen, makes them so.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchMargin {
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features of edges.
    pub scale: Choice<Scale>,
    /// Strength of the ridge.
    pub lambda: Choice<Positive>,
    /// What edges are scored by.
    pub kernel: KernelChoice,
    /// Whether items may stay unmatched.
    pub null: bool,
    /// What the matching is best for.
    pub decide: Choice<MatchDecide>,
    /// Whether a temperature is fitted.
    pub calibrate: bool,
    /// The most steps of one fit.
    pub max_iter: usize,
    /// Where a fit stops: the duality gap relative to the objective.
    pub tol: Positive,
}

impl Default for MatchMargin {
    fn default() -> Self {
        Self {
            transform: Transform::Auto,
            scale: Choice::Auto,
            lambda: Choice::Auto,
            kernel: KernelChoice::new(Form::Linear),
            null: false,
            decide: Choice::Auto,
            calibrate: true,
            max_iter: 500,
            tol: Positive(1e-2),
        }
    }
}

impl MatchMargin {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        TRANSFORM,
        search::SCALE,
        ridge("strength of the ridge: auto by validation (else 0.01); c=1/lambda is accepted too"),
        search::KERNEL,
        search::SHAPE[0],
        search::SHAPE[1],
        search::SHAPE[2],
        search::NULL,
        DECIDE,
        Setting {
            name: "calibrate",
            range: "true, false",
            default: "true",
            help: "fit one temperature on held-out problems, so that matches have probabilities",
        },
        steps("500", "the most steps of one fit"),
        accuracy("0.01", "where a fit stops: the duality gap relative to the objective"),
    ];
}

impl Method<Match> for MatchMargin {
    fn name(&self) -> &'static str {
        "matchmargin"
    }

    fn about(&self) -> About {
        About {
            good_for: "few wrong matches where no probability is asked for",
            measured_on: "CMU house",
            figures: &[("hamming", 0.0020)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "calibrate" => Some(self.calibrate.to_string()),
            "null" => Some(self.null.to_string()),
            "decide" => Some(decide::written(self.decide)),
            "kernel" | "gamma" | "degree" | "coef0" => self.kernel.get(name),
            _ => settings::common(name, self.transform, &self.scale, &self.lambda, self.max_iter, self.tol),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let Self { transform, scale, lambda, max_iter, tol, .. } = self;
        if search::set_scale(name, value, scale)
            || (Common { transform, scale, lambda, max_iter, tol }).set(name, value)?
        {
            return Ok(());
        }
        match name {
            "null" => self.null = one_of("null", value, &SWITCH)?,
            "decide" => self.decide = decide::typed(value)?,
            "kernel" | "gamma" | "degree" | "coef0" => search::set_kernel(name, value, &mut self.kernel)?,
            _ => self.calibrate = one_of("calibrate", value, &SWITCH)?,
        }
        Ok(())
    }

    /// Refuses settings that no text could have given.
    fn check(&self) -> Result<()> {
        above_0("max_iter", self.max_iter)?;
        let marginals = self.decide == Choice::Set(MatchDecide::Marginals);
        serves("decide", marginals, self.calibrate, "calibrate=true, which gives probabilities,", "calibrate=false")?;
        self.kernel.check()
    }

    fn transform(&self) -> Transform {
        self.transform
    }

    search::searched!();
}

/// The right matching of every case, where several agree with what is known the best at some parameters.
fn right_at(stage: &Stage, theta: &[f64]) -> Result<Vec<Vec<u32>>> {
    let mut work = best::Work::default();
    stage.cases.iter().zip(stage.scores(theta)).map(|(case, s)| case.best_right(&s, &mut work)).collect()
}

impl Learner for MatchMargin {
    fn null(&self) -> bool {
        self.null
    }

    fn choices(&self) -> MatchChoices {
        MatchChoices {
            scale: self.scale,
            lambda: self.lambda,
            default: LAMBDA,
            path: PATH,
            growth: 2,
            calibrate: Some(self.calibrate),
            kernel: self.kernel,
            decide: self.decide,
        }
    }

    fn engine(&self) -> Engine {
        Engine::Auto
    }

    fn used(&self) -> Map<String, Value> {
        Map::from_iter([
            ("null".into(), self.null.into()),
            ("calibrate".into(), self.calibrate.into()),
            ("max_iter".into(), self.max_iter.into()),
            ("tol".into(), self.tol.get().into()),
        ])
    }

    /// Where problems are known in part, the right matching is guessed by the present weights and the convex problem solved, in turns.
    fn solve(&self, stage: &Stage, from: Option<Start>, watch: &Watch) -> Result<Solved> {
        let partly = stage.cases.iter().any(|case| matches!(case.right, Right::Among(_)));
        let weight = vec![1.0 / stage.cases.len() as f64; stage.cases.len()];
        let mut theta = from.map_or_else(|| vec![0.0; stage.scorer.dim()], |from| from.theta);
        let mut right = vec![];
        let mut steps = 0;
        for round in 0.. {
            let now = right_at(stage, &theta)?;
            let last = !partly || round + 1 >= ROUNDS || now == right;
            right = now;
            let loss = matching::MatchMargin { cases: stage.cases, right: right.clone() };
            let mut risk = Empirical::new(stage.scorer, &loss, weight.clone()).stopped_by(watch.stop);
            let mut solver = Bundle::new(&mut risk, stage.lambda, self.tol.get(), theta)?;
            let mut report = run(&mut solver, self.max_iter, 0, watch)?;
            steps += report.iterations;
            report.iterations = steps;
            theta = solver.theta().to_vec();
            if last || report.stop == Stop::Interrupted {
                return Ok(Solved { theta, at_zero: None, report, sums: Sums::default() });
            }
        }
        unreachable!("the last round returns")
    }
}
