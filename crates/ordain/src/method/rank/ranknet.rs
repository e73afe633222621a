//! RankNet: the logistic loss of pairs, with a linear scorer or a network of two layers.

use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::method::rank::exportable::{EXPORTABLE, Exportable};
use crate::method::rank::network::NetworkRisk;
use crate::method::rank::ranksvm::{PairWeight, WEIGHTS};
use crate::method::rank::search::{Choices, Drawn, Learner, Point, Problem, Solved, Start, lbfgs, searched};
use crate::method::settings::{self, Common, SCALE, TRANSFORM, accuracy, name_of, one_of, ridge, serves, shown, steps};
use crate::method::{Choice, Positive, Rank, Ranker};
use crate::pieces::sums;
use crate::risk::Empirical;
use crate::score::Score;
use crate::scorer::network::Network;
use crate::solver::lbfgs::Lbfgs;
use crate::solver::run::{Watch, run};
use crate::surrogate::pair_logistic::PairLogistic;
use crate::task::{About, Method, Setting, Training};
use crate::traits::{Risk, Solver, Stop, Surrogate};
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;

/// RankNet: the better document of a pair should come first with the probability of a logistic curve.
///
/// ```text
/// min over θ:   λ/2·|θ|² + mean over pairs (i better than j)  log(1 + exp(s_j − s_i))
/// s = w·x,   or with hidden=H   s = Σ_k v_k tanh(a_k·x + c_k),  k = 1 … H
/// ```
///
/// Burges et al. 2005. Pairs of equal grades teach nothing here: the paper gives them the probability ½, which pulls them together. Linear it is
/// convex; with hidden units it starts at numbers that the seed draws, and a ridge chosen by validation stands where the paper stops
/// early. Fitted by L-BFGS. An evaluation costs O(pairs + values), times H for the values.
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::RankMethod, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Synthetic::default().make();
/// let method: RankMethod = "ranknet[scale=query,lambda=0.01]".parse()?;
/// let fitted = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// assert!(fitted.facts.report.objective < 2f64.ln()); // that of a guess
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankNet {
    /// Strength of the ridge.
    pub lambda: Choice<Positive>,
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features.
    pub scale: Choice<Scale>,
    /// What the model is to be exported to, which restricts the choice.
    pub exportable: Exportable,
    /// What the mean is over.
    pub weight: Choice<PairWeight>,
    /// Hidden units; 0 is the linear scorer.
    pub hidden: usize,
    /// The most steps of one fit.
    pub max_iter: usize,
    /// The norm of the gradient at which a fit stops, relative to the one at its start.
    pub tol: Positive,
}

impl Default for RankNet {
    fn default() -> Self {
        Self {
            lambda: Choice::Auto,
            transform: Transform::Auto,
            scale: Choice::Auto,
            exportable: Exportable::No,
            weight: Choice::Set(PairWeight::Query),
            hidden: 0,
            max_iter: 1000,
            tol: Positive(1e-5),
        }
    }
}

/// λ if nothing can be chosen.
const LAMBDA: f64 = 0.1;
/// The λ that are tried on validation, from the strongest.
const PATH: [f64; 9] = [10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4];
/// The λ of networks if nothing can be chosen: the ridge is on both layers.
const NETWORK_LAMBDA: f64 = 1e-3;
/// The λ of networks: above, both layers are 0.
const NETWORK_PATH: [f64; 7] = [0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5];
/// The most hidden units.
const MOST: usize = 1000;

/// Pairs with the weight of each query's.
pub(in crate::method) struct Pairs {
    loss: PairLogistic,
    weight: Vec<f64>,
    columns: usize,
    seed: u64,
}

impl RankNet {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        TRANSFORM,
        SCALE,
        Exportable::SETTING,
        ridge(
            "strength of the ridge: auto by validation (else 0.1, with hidden units 1e-3); c=1/lambda is accepted too",
        ),
        Setting {
            name: "weight",
            range: "auto, query, pair",
            default: "query",
            help: "what the mean loss is over: query (every query counts the same), pair (every pair does), or auto by validation beside lambda or scale (else query)",
        },
        Setting {
            name: "hidden",
            range: "a whole number from 0 to 1000",
            default: "0",
            help: "units of the hidden layer; 0 is a linear scorer",
        },
        steps("1000", "the most steps of one fit"),
        accuracy("1e-5", "the norm of the gradient at which a fit stops, relative to the one at its start"),
    ];
}

impl Method<Rank> for RankNet {
    fn name(&self) -> &'static str {
        "ranknet"
    }

    fn about(&self) -> About {
        About {
            good_for: "one smooth loss of pairs; hidden units if wanted",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4416), ("map", 0.4479)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "exportable" => Some(name_of(&self.exportable, &EXPORTABLE).into()),
            "weight" => Some(shown(&self.weight, |weight| weight.name().into())),
            "hidden" => Some(self.hidden.to_string()),
            _ => settings::common(name, self.transform, &self.scale, &self.lambda, self.max_iter, self.tol),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match (name, value) {
            ("exportable", _) => self.exportable = one_of("exportable", value, &EXPORTABLE)?,
            ("weight", "auto") => self.weight = Choice::Auto,
            ("weight", _) => {
                let known = one_of("weight", value, &WEIGHTS);
                self.weight =
                    Choice::Set(known.map_err(|_| Error::unknown("weight", value, ["auto", "query", "pair"]))?);
            }
            ("hidden", _) => self.hidden = value.parse().map_err(|_| wrong_hidden(value))?,
            _ => {
                let Self { transform, scale, lambda, max_iter, tol, .. } = self;
                Common { transform, scale, lambda, max_iter, tol }.set(name, value)?;
            }
        }
        Ok(())
    }

    fn takes_preferences(&self) -> bool {
        true
    }

    fn check(&self) -> Result<()> {
        settings::check(self.scale, self.max_iter)?;
        if self.hidden > MOST {
            return Err(wrong_hidden(&self.hidden.to_string()));
        }
        self.exportable.check(self.scale, self.transform)?;
        let exported = self.exportable != Exportable::No;
        serves("exportable", exported, self.hidden == 0, "hidden=0", "hidden units")
    }

    fn transform(&self) -> Transform {
        self.transform
    }

    searched!();
}

fn wrong_hidden(found: &str) -> Error {
    Error::Setting { name: "hidden".into(), expected: "a whole number from 0 to 1000".into(), found: found.into() }
}

impl Learner for RankNet {
    type Examples = Pairs;
    type Carry = ();

    fn choices(&self) -> Choices {
        let (default, path) = if self.hidden > 0 { (NETWORK_LAMBDA, &NETWORK_PATH[..]) } else { (LAMBDA, &PATH[..]) };
        Choices::new(self.scale, self.lambda, default, path).exported(self.exportable).weighted(self.weight)
    }

    fn draw(&self, data: &Training<'_, Rank>, units: &[u32]) -> Result<Drawn<Pairs>> {
        let set = data.set;
        let units: Vec<u32> = units.iter().copied().filter(|&q| !set.is_flat(q as usize)).collect();
        let loss = PairLogistic::of_set(set, &units);
        let counts: Vec<(f64, f64)> = (0..loss.len()).map(|n| loss.pairs(n)).collect();
        let by_pair = self.weight == Choice::Set(PairWeight::Pair);
        let total = sums(&set.pieces(), units.iter().map(|&q| q as usize), 1, |n, _, total| {
            let (pairs, weight) = counts[n];
            total[0] += if by_pair { weight } else { weight / pairs };
        })[0];
        if !(total > 0.0 && (1.0 / total).is_finite()) {
            return Err(Error::Data {
                expected: "at least one training query with two different grades (and weights above 0)".into(),
                found: "none: there is no pair to learn from".into(),
            });
        }
        let weight =
            counts.iter().map(|&(pairs, _)| if by_pair { 1.0 / total } else { 1.0 / (pairs * total) }).collect();
        let count = counts.iter().map(|&(pairs, _)| pairs).sum();
        let examples = Pairs { loss, weight, columns: set.features.cols(), seed: data.seed };
        Ok(Drawn { units, examples, count, weights: None, kind: "pair" })
    }

    fn risk<'a>(&self, problem: &Problem<'a, Pairs>, stop: &'a AtomicBool) -> Box<dyn Risk + 'a> {
        let Pairs { loss, weight, .. } = &problem.drawn.examples;
        match self.hidden {
            0 => Box::new(Empirical::new(problem.rows, loss, weight.clone()).stopped_by(stop)),
            hidden => Box::new(NetworkRisk::new(problem.rows, loss, weight, hidden, stop)),
        }
    }

    fn descend(&self, risk: &mut dyn Risk, lambda: f64, from: Start<()>, watch: &Watch) -> Result<Solved<()>> {
        let (tol, max_iter) = (self.tol.get(), self.max_iter);
        if self.hidden == 0 {
            return lbfgs(risk, lambda, (tol, max_iter), from, watch);
        }
        // at zero a network has no slope: it is measured by the one at its start
        let mut solver = Lbfgs::at(risk, lambda, tol, from.theta, None)?;
        let mut before = 0;
        if let Some((state, iterations)) = &from.state {
            solver.restore(state)?;
            before = *iterations;
        }
        let report = run(&mut solver, max_iter, before, watch)?;
        let state = (report.stop == Stop::Interrupted).then(|| solver.state());
        Ok(Solved { theta: solver.theta().to_vec(), report, carry: (), state })
    }

    fn settled(&self, at: Point) -> Self {
        Self { weight: at.weight.map_or(self.weight, Choice::Set), ..*self }
    }

    fn dim(&self, columns: usize, _: &Pairs) -> usize {
        if self.hidden == 0 { columns } else { Network::size(columns, self.hidden) }
    }

    fn begin(&self, dim: usize, examples: &Pairs) -> Vec<f64> {
        match self.hidden {
            0 => vec![0.0; dim],
            hidden => Network::begin(examples.columns, hidden, examples.seed),
        }
    }

    fn score(&self, theta: Vec<f64>, examples: &Pairs) -> Score {
        match self.hidden {
            0 => Score::Linear(theta),
            hidden => Score::Network(Network { columns: examples.columns, hidden, numbers: theta }),
        }
    }

    fn parameters(&self, ranker: &Ranker, _: &Pairs) -> Vec<f64> {
        match &ranker.score {
            Score::Network(network) => network.numbers.clone(),
            score => score.weights().to_vec(),
        }
    }

    fn used(&self) -> Map<String, Value> {
        let mut all = Map::from_iter([
            ("max_iter".into(), self.max_iter.into()),
            ("tol".into(), self.tol.get().into()),
            ("hidden".into(), self.hidden.into()),
        ]);
        if let Choice::Set(weight) = self.weight {
            all.insert("weight".into(), weight.name().into());
        }
        all.extend(self.exportable.written());
        all
    }
}
