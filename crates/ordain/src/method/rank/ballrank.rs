//! The Ball Ranking Machine: a kernel ranker from a few core pairs.

use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::error::Result;
use crate::kernel::{Columns, Form, Kernel};
use crate::method::kernels::Shape;
use crate::method::rank::CHOOSES_BY;
use crate::method::rank::core_documents::{Block, CoreFit, Fitting, restricted};
use crate::method::rank::kernel_search::{self, KernelChoices, KernelFit, KernelLearner, KernelProblem, Kernels};
use crate::method::rank::ranksvm::PairWeight;
use crate::method::settings::{
    self, Common, SCALE, SWITCH, TRANSFORM, above_0, accuracy, count, name_of, one_of, positive, ridge, steps,
};
use crate::method::{Choice, CoreFacts, Positive, Rank};
use crate::metric::Metric;
use crate::solver::ball::{Ball, Geometry, Inner, Oracle, Query, Settings, Until};
use crate::solver::run::{Watch, run};
use crate::surrogate::pair_hinge::levels_of;
use crate::task::{About, Fitted, Method, Setting, Training, Written};
use rayon::prelude::*;
use serde_json::{Map, Value};

/// Bytes of kernel columns that are kept, over all blocks.
const CACHE: usize = 512 << 20;

/// Core pairs of each block in fits that only serve a choice: with more, the polish differs little.
const CHOOSING: usize = 100;

/// The Ball Ranking Machine.
///
/// ```text
/// min over α ≥ 0, Σα = 1:   α'Hα,   H_ww' = ⟨φ_i − φ_j, φ_i' − φ_j'⟩ + [w = w']/C,   F(x) = Σ_w α_w (k(x_i, x) − k(x_j, x))
/// ```
///
/// over pairs w = (i better than j), of which only a core set has a weight above 0: \[BRM\] Eqs. (4)-(14), as corrected in `docs/papers.md`. In units of the
/// other methods C = 1/(λ · pairs). With `polish` the objective of the kernel RankSVM is minimised over the span of the core documents afterwards, so that a
/// model is as sparse as the ball and as good as its documents allow.
///
/// ```
/// use ordain::{data::synthetic::Levels, method::BallRank, metric::Convention, solver::run::Watch};
/// use ordain::task::{Method, Model, Training};
/// let set = Levels { documents: 20, ..Levels::default() }.make();
/// let all = set.all();
/// let (train, test) = all.split_at(10);
/// let model = BallRank::default().fit(&Training::new(&set, train), &Watch::NOBODY)?;
/// let ready = model.model.prepare(&set)?;
/// let quality = model.model.evaluate(&ready, test, &["ndcg".parse()?], &Convention::STANDARD)?;
/// assert!(quality.mean(0) > 0.9);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BallRank {
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features.
    pub scale: Choice<Scale>,
    /// Strength of the ridge.
    pub lambda: Choice<Positive>,
    /// The kernel.
    pub kernels: Kernels,
    /// Where the machine stops.
    pub epsilon: Positive,
    /// What ε means.
    pub until: Until,
    /// Which ball.
    pub geometry: Geometry,
    /// How the next pair is found.
    pub oracle: Oracle,
    /// Of how many random pairs the worst is taken.
    pub sample: usize,
    /// How the weights of the core pairs are found.
    pub inner: Inner,
    /// Whether the objective is minimised over the core documents afterwards.
    pub polish: bool,
    /// The most core pairs of one fit.
    pub max_iter: usize,
    /// Where the polish stops: the norm of the gradient relative to the one at zero.
    pub tol: Positive,
}

impl Default for BallRank {
    fn default() -> Self {
        Self {
            transform: Transform::Auto,
            scale: Choice::Auto,
            lambda: Choice::Auto,
            kernels: Kernels::new(Form::Rbf),
            epsilon: Positive(1e-3),
            until: Until::Epsilon,
            geometry: Geometry::Centred,
            oracle: Oracle::Turn,
            sample: 59,
            inner: Inner::Qp,
            polish: true,
            max_iter: 5000,
            tol: Positive(1e-4),
        }
    }
}

const UNTIL: [(&str, Until); 2] = [("epsilon", Until::Epsilon), ("gap", Until::Gap)];
const GEOMETRY: [(&str, Geometry); 2] = [("centred", Geometry::Centred), ("plain", Geometry::Plain)];
const ORACLE: [(&str, Oracle); 3] = [("turn", Oracle::Turn), ("sample", Oracle::Sample), ("exact", Oracle::Exact)];
const INNER: [(&str, Inner); 2] = [("qp", Inner::Qp), ("badoiu-clarkson", Inner::BadoiuClarkson)];

impl BallRank {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        TRANSFORM,
        SCALE,
        ridge(
            "strength of the ridge: auto by validation (else 1/pairs, which is C = 1 in the paper's units: its C is 1/(lambda·pairs)); c=1/lambda is accepted too",
        ),
        Kernels::setting("rbf"),
        Shape::SETTINGS[0],
        Shape::SETTINGS[1],
        Shape::SETTINGS[2],
        Setting {
            name: "epsilon",
            range: "a number above 0",
            default: "1e-3",
            help: "where the machine stops; with stop=epsilon no accuracy of the objective, see docs/papers.md",
        },
        Setting {
            name: "stop",
            range: "epsilon, gap",
            default: "epsilon",
            help: "what epsilon means: epsilon (all pairs in a ball of 1 + epsilon times the radius, as in the paper) or gap (the certified share by which the objective can be above its minimum)",
        },
        Setting {
            name: "geometry",
            range: "centred, plain",
            default: "centred",
            help: "which ball: centred solves the paper's problem, plain is the ball as printed, which solves another",
        },
        Setting {
            name: "oracle",
            range: "turn, sample, exact",
            default: "turn",
            help: "the next core pair: the worst of random pairs of one query, the queries in turn; of random pairs of all; or the worst of all pairs, which chases outliers",
        },
        Setting {
            name: "sample",
            range: "a whole number above 0",
            default: "59",
            help: "of how many random pairs the worst is taken",
        },
        Setting {
            name: "inner",
            range: "qp, badoiu-clarkson",
            default: "qp",
            help: "the weights of core pairs: optimal for them (qp), or by the steps of Badoiu and Clarkson",
        },
        Setting {
            name: "polish",
            range: "true, false",
            default: "true",
            help: "whether the objective of ranksvm is minimised over the core documents afterwards",
        },
        Kernels::BLOCKS,
        steps("5000", "the most core pairs of one fit"),
        accuracy("1e-4", "where the polish stops: the norm of the gradient relative to the one at zero"),
    ];
}

impl Method<Rank> for BallRank {
    fn name(&self) -> &'static str {
        "ballrank"
    }

    fn about(&self) -> About {
        About {
            good_for: "kernels on very many pairs, with a certificate",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4423), ("map", 0.4422)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        let text = match name {
            "epsilon" => self.epsilon.get().to_string(),
            "stop" => name_of(&self.until, &UNTIL).into(),
            "geometry" => name_of(&self.geometry, &GEOMETRY).into(),
            "oracle" => name_of(&self.oracle, &ORACLE).into(),
            "sample" => self.sample.to_string(),
            "inner" => name_of(&self.inner, &INNER).into(),
            "polish" => self.polish.to_string(),
            _ => {
                return self.kernels.get(name).or_else(|| {
                    settings::common(name, self.transform, &self.scale, &self.lambda, self.max_iter, self.tol)
                });
            }
        };
        Some(text)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let Self { transform, scale, lambda, max_iter, tol, .. } = self;
        if (Common { transform, scale, lambda, max_iter, tol }).set(name, value)? || self.kernels.set(name, value)? {
            return Ok(());
        }
        match name {
            "epsilon" => self.epsilon = positive(name, value)?,
            "stop" => self.until = one_of("stop", value, &UNTIL)?,
            "geometry" => self.geometry = one_of("geometry", value, &GEOMETRY)?,
            "oracle" => self.oracle = one_of("oracle", value, &ORACLE)?,
            "sample" => self.sample = count(name, value)?,
            "inner" => self.inner = one_of("inner", value, &INNER)?,
            _ => self.polish = one_of("polish", value, &SWITCH)?,
        }
        Ok(())
    }

    /// Refuses settings that do not go together.
    fn check(&self) -> Result<()> {
        settings::check(self.scale, self.max_iter)?;
        above_0("sample", self.sample)?;
        self.kernels.shape.check()
    }

    fn chooses(&self) -> bool {
        kernel_search::open(self)
    }

    fn chooses_by(&self) -> Metric {
        CHOOSES_BY
    }

    fn transform(&self) -> Transform {
        self.transform
    }

    fn written(&self) -> Written {
        Written { asked: kernel_search::asked(self), settings: Map::new() }
    }

    fn learn(&self, data: &Training<'_, Rank>, watch: &Watch) -> Result<Fitted<Rank>> {
        kernel_search::fit(self, data, watch)
    }
}

/// The kernel columns of each block. Blocks of the same documents, as in retrieval of the same items by category, share them.
fn columns_of<'a>(blocks: &[Block<'a>], kernel: Kernel) -> Vec<Columns<'a>> {
    let mut first: Vec<usize> = vec![];
    let of: Vec<usize> = (0..blocks.len())
        .map(|at| {
            let same =
                |&at_first: &usize| (blocks[at_first].d, blocks[at_first].docs) == (blocks[at].d, blocks[at].docs);
            first.iter().position(same).unwrap_or_else(|| {
                first.push(at);
                first.len() - 1
            })
        })
        .collect();
    let room = CACHE / first.len().max(1);
    let columns: Vec<Columns> =
        first.iter().map(|&at| Columns::new(kernel, blocks[at].docs, blocks[at].d, room)).collect();
    of.into_iter().map(|at| columns[at].clone()).collect()
}

impl KernelLearner for BallRank {
    type Carry = ();

    fn choices(&self) -> KernelChoices {
        KernelChoices { scale: self.scale, lambda: self.lambda, kernels: self.kernels }
    }

    /// By the C of the paper: where 1/C is far above the values of the kernel the ball no longer sees them.
    fn path(&self, pairs: f64) -> (Vec<f64>, f64) {
        let lambda = |c: f64| format!("{:.2e}", 1.0 / (c * pairs)).parse().unwrap_or(1.0 / (c * pairs));
        ([1e-2, 0.1, 1.0, 10.0, 100.0].map(lambda).to_vec(), lambda(1.0))
    }

    fn weight(&self) -> PairWeight {
        PairWeight::Pair
    }

    /// A ball that is polished is the machine of `ranksvm` on its core documents; without polish it is another.
    fn landmarks(&self) -> Option<usize> {
        self.polish.then_some(usize::MAX)
    }

    /// With weak ridges and wide kernels a ball stops at a handful of pairs, and its polish can do no more than these allow.
    fn ends_with_own(&self) -> bool {
        true
    }

    fn weighs(&self) -> bool {
        false
    }

    fn own_settings(&self) -> Map<String, Value> {
        Map::from_iter([
            ("epsilon".into(), self.epsilon.get().into()),
            ("stop".into(), name_of(&self.until, &UNTIL).into()),
            ("geometry".into(), name_of(&self.geometry, &GEOMETRY).into()),
            ("oracle".into(), name_of(&self.oracle, &ORACLE).into()),
            ("sample".into(), self.sample.into()),
            ("inner".into(), name_of(&self.inner, &INNER).into()),
            ("polish".into(), self.polish.into()),
            ("max_iter".into(), self.max_iter.into()),
            ("tol".into(), self.tol.get().into()),
        ])
    }

    fn solve(&self, problem: &KernelProblem, (): &mut (), _: Option<&[CoreFit]>, watch: &Watch) -> Result<KernelFit> {
        let blocks = problem.blocks;
        let queries = blocks.iter().enumerate().flat_map(|(at, block)| {
            block.lists.iter().map(move |list| Query {
                block: at,
                documents: list.clone(),
                levels: levels_of(&block.grades[list.clone()]).collect(),
            })
        });
        let settings = Settings {
            c: 1.0 / (problem.lambda * problem.pairs),
            epsilon: self.epsilon.get(),
            geometry: self.geometry,
            oracle: self.oracle,
            sample: self.sample,
            inner: self.inner,
            until: self.until,
            seed: problem.seed,
        };
        let mut ball = Ball::new(columns_of(blocks, problem.kernel), queries.collect(), settings)?;
        let most =
            if problem.choosing && self.polish { self.max_iter.min(CHOOSING * blocks.len()) } else { self.max_iter };
        let mut report = run(&mut ball, most, 0, watch)?;
        let certificate = ball.certificate();
        let made: Vec<Vec<(u32, f64)>> = (0..blocks.len()).map(|at| ball.coefficients(at)).collect();
        let pairs = ball.core().len();
        drop(ball);
        let fits: Vec<CoreFit> = if self.polish && !watch.stopped() {
            let how = Fitting {
                kernel: problem.kernel,
                lambda: problem.lambda,
                tol: self.tol.get(),
                max_iter: 100,
                watch,
                kept: problem.kept,
                hinge: false,
            };
            let polished: Result<Vec<CoreFit>> = blocks
                .par_iter()
                .zip(&made)
                .map(|(block, made)| {
                    let core: Vec<u32> = made.iter().map(|&(i, _)| i).collect();
                    restricted(block, &core, &how, None)
                })
                .collect();
            let polished = polished?;
            report.objective = polished.iter().map(|fit| fit.report.objective).sum();
            polished
        } else {
            made.into_iter()
                .map(|made| {
                    let (documents, coefficients) = made.into_iter().unzip();
                    CoreFit { documents, coefficients, scores: vec![], report }
                })
                .collect()
        };
        let core = CoreFacts {
            documents: fits.iter().map(|fit| fit.documents.len()).sum(),
            pairs: Some(pairs),
            f: Some(certificate.f),
            certificate: Some(certificate.gap),
        };
        Ok(KernelFit { fits, report, core })
    }
}
