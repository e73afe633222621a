//! RankSVM: the squared or the plain hinge over all pairs of different grades within a query; linear, or with a kernel.

use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::data::{Columns, RankSet};
use crate::error::{Error, Result};
use crate::kernel::Form;
use crate::method::kernels::Shape;
use crate::method::rank::CHOOSES_BY;
use crate::method::rank::boosting::{self, TreeLearner};
use crate::method::rank::core_documents::{self, Choose, CoreFit, Fitting};
use crate::method::rank::exportable::{EXPORTABLE, Exportable};
use crate::method::rank::hinge::{self, HingeFit, Steps};
use crate::method::rank::kernel_search::{self, KernelChoices, KernelFit, KernelLearner, KernelProblem, Kernels};
use crate::method::rank::search::{Choices, Drawn, Learner, Point, Problem, Solved, Start, fit, signed};
use crate::method::rank::shards::{Spread, Whole, alone};
use crate::method::settings::{
    self, Common, SCALE, TRANSFORM, above_0, accuracy, count, name_of, one_of, ridge, serves, shown, steps,
};
use crate::method::{Choice, CoreFacts, Positive, Rank, Trees};
use crate::metric::Metric;
use crate::pieces::{Node, Run, add_up, merge, nodes};
use crate::risk::Empirical;
use crate::scorer::kernel_rows::Gram;
use crate::solver::newton::{Memory, Newton};
use crate::solver::run::{Report, Watch, run};
use crate::surrogate::pair_hinge::PairHinge;
use crate::surrogate::pair_logistic::{self, Lambda, PairLogistic};
use crate::surrogate::squared::Squared;
use crate::task::{About, Fitted, Method, Setting, Training, Written};
use crate::traits::{Risk, Solver, Stop, Surrogate};
use rayon::prelude::*;
use serde_json::{Map, Value};
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// What the mean of the pair losses is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PairWeight {
    /// Over queries, and within a query over its pairs: every query counts the same.
    Query,
    /// Over all pairs: a query counts by its number of pairs.
    Pair,
}

impl PairWeight {
    pub(super) fn name(self) -> &'static str {
        if self == Self::Query { "query" } else { "pair" }
    }
}

/// How many core documents a model with a kernel rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Documents {
    /// All where no block has more than [`EXACT`], else [`BUDGET`].
    Auto,
    /// All: the exact solution.
    All,
    /// At most so many, over all queries.
    Most(usize),
}

/// Up to so many documents of a block the exact solution is found: its kernel matrix takes 100 MB.
pub use crate::method::kernels::EXACT;
/// Core documents where there are more.
pub const BUDGET: usize = 500;
/// Core documents of fits that only serve a choice.
const CHOOSING: usize = 200;
/// Documents times core documents above which such fits are made cheaper.
const LARGE: usize = 2_000_000;

/// RankSVM.
///
/// ```text
/// min over w:   λ/2·|w|² + mean over pairs (i better than j)  ½ (1 − w·x_i + w·x_j)₊²
/// ```
///
/// \[BRM\] Eq. (4) in its primal form, with λ = 1/(C · pairs) for the C of a sum; Joachims 2002, Lee and Lin 2014. Fitted
/// by Newton's method, a few steps of O(n log n + n d²) each.
///
/// With a kernel `w·x` becomes `F(x) = Σ_i β_i k(x_i, x)` and `|w|²` its norm `β'Kβ`, one β for each *document* however many pairs there are: conjugate
/// gradients in the inner product of the kernel, O(n²) each, up to [`EXACT`] documents of a block. Above, the same objective over the span of a
/// budget of core documents: drawn by how hard the loss pulls at them, in growing batches, and pruned (`choose=dual`).
///
/// `loss=hinge` has the plain hinge in the place of the squared one, \[BRM\] Eq. (3), the machine of SVM-light:
///
/// ```text
/// min over w:   λ/2·|w|² + mean over pairs (i better than j)  (1 − w·x_i + w·x_j)₊
/// ```
///
/// linear or with a kernel, to a duality gap of `tol` times the objective.
///
/// ```
/// use ordain::{method::RankSvm, metric::Convention, solver::run::Watch, task::{Method, Model, Training}};
/// let set = ordain::data::synthetic::Synthetic::default().make();
/// let all = set.all();
/// let (train, test) = all.split_at(200);
/// let model = RankSvm::default().fit(&Training::new(&set, train), &Watch::NOBODY)?;
/// let ready = model.model.prepare(&set)?;
/// let quality = model.model.evaluate(&ready, test, &["ndcg@10".parse()?], &Convention::STANDARD)?;
/// assert!(quality.mean(0) > 0.7);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RankSvm {
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
    /// The kernel.
    pub kernels: Kernels,
    /// How many core documents there may be.
    pub documents: Documents,
    /// How they are chosen.
    pub choose: Choose,
    /// The most Newton steps of one fit.
    pub max_iter: usize,
    /// The norm of the gradient at which a fit stops, relative to the one at zero.
    pub tol: Positive,
    /// Trees beside weights, or in their place.
    pub trees: Trees,
    /// The loss that trees lower, or the plain hinge.
    pub loss: PairLoss,
}

/// The loss of pairs. Weights have the squared hinge or the plain one, trees one of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairLoss {
    /// The plain hinge: not of trees.
    Hinge,
    /// `log(1 + exp(s_j − s_i))` of every pair.
    Logistic,
    /// The same, each pair by how much NDCG would change if the two changed places: LambdaRank.
    Lambda,
    /// The squared difference of score and grade.
    Squared,
}

const LOSSES: [(&str, PairLoss); 4] = [
    ("hinge", PairLoss::Hinge),
    ("logistic", PairLoss::Logistic),
    ("lambda", PairLoss::Lambda),
    ("squared", PairLoss::Squared),
];

impl Default for RankSvm {
    fn default() -> Self {
        Self {
            lambda: Choice::Auto,
            transform: Transform::Auto,
            scale: Choice::Auto,
            exportable: Exportable::No,
            weight: Choice::Auto,
            kernels: Kernels::new(Form::Linear),
            documents: Documents::Auto,
            choose: Choose::Dual,
            max_iter: 100,
            tol: Positive(1e-5),
            trees: Trees::default(),
            loss: PairLoss::Logistic,
        }
    }
}

pub(super) const WEIGHTS: [(&str, PairWeight); 2] = [("query", PairWeight::Query), ("pair", PairWeight::Pair)];
/// λ where nothing says otherwise.
const LAMBDA: f64 = 1.0;
/// The λ that are tried on validation, from the strongest.
const PATH: [f64; 11] = [100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4];

/// Pairs with their weights.
pub(in crate::method) struct Pairs {
    loss: PairHinge,
    /// The pairs of each query, and the sum of their weights.
    counts: Vec<(f64, f64)>,
    weight: Vec<f64>,
}

impl RankSvm {
    /// What can be set.
    pub const SETTINGS: &'static [Setting] = &[
        TRANSFORM,
        SCALE,
        Exportable::SETTING,
        ridge("strength of the ridge: auto by validation (else 1, with a kernel 1e-4); c=1/lambda is accepted too"),
        Setting {
            name: "weight",
            range: "auto, query, pair",
            default: "auto",
            help: "what the mean loss is over: query (every query counts the same), pair (every pair does), or auto by validation beside lambda or scale (pair without trees on fewer than 50 validation queries; query where nothing is chosen, with a kernel and for trees alone)",
        },
        Kernels::setting("linear"),
        Shape::SETTINGS[0],
        Shape::SETTINGS[1],
        Shape::SETTINGS[2],
        Setting {
            name: "documents",
            range: "auto, all, or a whole number above 0",
            default: "auto",
            help: "with a kernel: how many core documents the model may rest on; auto is all up to 5000 documents (of a query, with blocks), else 500",
        },
        Setting {
            name: "choose",
            range: "dual, random, cholesky",
            default: "dual",
            help: "core documents: drawn by how hard the loss pulls at them, then pruned (dual), at random, or those that others explain least (cholesky)",
        },
        Kernels::BLOCKS,
        steps("100", "the most Newton steps of one fit (loss=hinge: of each of its smooth problems)"),
        accuracy(
            "1e-5",
            "the norm of the gradient at which a fit stops, relative to the one at zero (loss=hinge: the duality gap, relative to the objective)",
        ),
        Trees::SETTINGS[0],
        Setting {
            name: "loss",
            range: "hinge, logistic, lambda, squared",
            default: "logistic",
            help: "with trees: the loss that they lower: logistic of pairs, the same by what a swap changes of NDCG (lambda), or squared differences from grades; without: hinge is the L1 machine, to a duality gap of tol, and logistic stands for the squared hinge",
        },
        Trees::SETTINGS[1],
        Trees::SETTINGS[2],
        Trees::SETTINGS[3],
        Trees::SETTINGS[4],
        Trees::SETTINGS[5],
        Trees::SETTINGS[6],
        Trees::SETTINGS[7],
        Trees::SETTINGS[8],
    ];

    /// What the mean is over where nothing was chosen.
    fn pairs(&self) -> PairWeight {
        if let Choice::Set(weight) = self.weight { weight } else { PairWeight::Query }
    }

    /// Whether pairs have the plain hinge.
    fn hinge(&self) -> bool {
        self.loss == PairLoss::Hinge
    }

    /// Whether it is the linear machine, whose model is one weight per feature.
    pub fn is_linear(&self) -> bool {
        self.kernels.shape.form == Form::Linear && !self.kernels.blocks
    }
}

impl Method<Rank> for RankSvm {
    fn name(&self) -> &'static str {
        "ranksvm"
    }

    fn about(&self) -> About {
        About {
            good_for: "the first to try: fast, linear, kernels or trees",
            measured_on: "OHSUMED",
            figures: &[("ndcg@10", 0.4503), ("map", 0.4482)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        let text = match name {
            "weight" => shown(&self.weight, |weight| weight.name().into()),
            "documents" => match self.documents {
                Documents::Auto => "auto".into(),
                Documents::All => "all".into(),
                Documents::Most(most) => most.to_string(),
            },
            "exportable" => name_of(&self.exportable, &EXPORTABLE).to_owned(),
            "choose" => name_of(&self.choose, &CHOOSE).to_owned(),
            "loss" => name_of(&self.loss, &LOSSES).to_owned(),
            _ => {
                return self.kernels.get(name).or_else(|| self.trees.get(name)).or_else(|| {
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
        if self.trees.set(name, value)? {
            return Ok(());
        }
        match (name, value) {
            ("loss", _) => self.loss = one_of("loss", value, &LOSSES)?,
            ("documents", "auto") => self.documents = Documents::Auto,
            ("documents", "all") => self.documents = Documents::All,
            ("documents", _) => self.documents = Documents::Most(count(name, value)?),
            ("exportable", _) => self.exportable = one_of("exportable", value, &EXPORTABLE)?,
            ("choose", _) => self.choose = one_of("choose", value, &CHOOSE)?,
            ("weight", "auto") => self.weight = Choice::Auto,
            _ => {
                self.weight = Choice::Set(
                    one_of("weight", value, &WEIGHTS)
                        .map_err(|_| Error::unknown("weight", value, ["auto", "query", "pair"]))?,
                )
            }
        }
        Ok(())
    }

    /// Refuses settings that do not go together.
    ///
    /// ```
    /// use ordain::{method::{Documents, RankSvm}, task::Method};
    /// assert!(RankSvm { documents: Documents::Most(50), ..RankSvm::default() }.check().is_err()); // of a kernel
    /// ```
    fn check(&self) -> Result<()> {
        settings::check(self.scale, self.max_iter)?;
        self.exportable.check(self.scale, self.transform)?;
        self.kernels.shape.check()?;
        if self.documents == Documents::Most(0) {
            above_0("documents", 0)?;
        }
        let kernel = !self.is_linear();
        self.trees.check_beside_signs()?;
        let signed = !self.trees.monotone.is_empty();
        serves("monotone", signed, !kernel, "kernel=linear and blocks=false", "a kernel or blocks")?;
        serves("monotone", signed, !self.hinge(), "the squared hinge (loss=logistic)", "loss=hinge")?;
        self.trees.check_transform(self.transform)?;
        serves("loss=hinge", self.hinge(), !self.trees.grows(), "scorer=linear", "trees")?;
        let grown = !matches!(self.loss, PairLoss::Logistic | PairLoss::Hinge);
        serves("loss", grown, self.trees.grows(), "trees (scorer=trees, linear+trees or auto)", "scorer=linear")?;
        serves("scorer", self.trees.grows(), !kernel, "kernel=linear and blocks=false", "a kernel or blocks")?;
        let exported = self.exportable != Exportable::No;
        serves("exportable", exported, !kernel, "kernel=linear and blocks=false", "a kernel or blocks")?;
        let given = matches!(self.documents, Documents::Most(_));
        serves("documents", given, kernel, "a kernel (kernel=rbf, …)", "kernel=linear")?;
        serves("choose", self.choose != Choose::Dual, kernel, "a kernel (kernel=rbf, …)", "kernel=linear")
    }

    fn chooses(&self) -> bool {
        let weights = if self.is_linear() { Learner::choices(self).open() } else { kernel_search::open(self) };
        self.trees.starts_linear() && weights || self.trees.open()
    }

    fn resumes(&self) -> bool {
        self.trees.grows()
    }

    fn takes_gaps(&self) -> bool {
        !self.trees.starts_linear()
    }

    /// NDCG and squared differences from grades need grades.
    fn takes_preferences(&self) -> bool {
        !self.trees.grows() || self.loss == PairLoss::Logistic
    }

    fn takes_start(&self) -> bool {
        !self.trees.starts_linear()
    }

    fn takes_init(&self) -> bool {
        self.is_linear() && !self.trees.grows()
    }

    fn chooses_by(&self) -> Metric {
        CHOOSES_BY
    }

    fn transform(&self) -> Transform {
        self.trees.transform(self.transform)
    }

    fn categories(&self) -> &[String] {
        &self.trees.categories
    }

    fn written(&self) -> Written {
        let asked = self.trees.asked_beside(Learner::choices(self).asked());
        Written { asked, settings: self.used() }
    }

    fn learn(&self, data: &Training<'_, Rank>, watch: &Watch) -> Result<Fitted<Rank>> {
        match self.is_linear() {
            true if self.trees.grows() => boosting::fit(self, data, watch),
            true => fit(self, data, watch),
            false => kernel_search::fit(self, data, watch),
        }
    }
}

const CHOOSE: [(&str, Choose); 3] =
    [("dual", Choose::Dual), ("random", Choose::Random), ("cholesky", Choose::Cholesky)];

impl KernelLearner for RankSvm {
    /// The kernel matrices of all blocks, where the fit is exact.
    type Carry = Vec<Gram>;

    fn choices(&self) -> KernelChoices {
        KernelChoices { scale: self.scale, lambda: self.lambda, kernels: self.kernels }
    }

    fn path(&self, _: f64) -> (Vec<f64>, f64) {
        (vec![1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7], 1e-4)
    }

    fn weight(&self) -> PairWeight {
        self.pairs()
    }

    fn landmarks(&self) -> Option<usize> {
        Some(if let Documents::Most(most) = self.documents { most } else { usize::MAX })
    }

    fn ends_with_own(&self) -> bool {
        false
    }

    fn hinge(&self) -> bool {
        self.loss == PairLoss::Hinge
    }

    fn own_settings(&self) -> Map<String, Value> {
        let mut all = self.used();
        all.insert("weight".into(), self.pairs().name().into());
        let documents = match self.documents {
            Documents::Auto => "auto".into(),
            Documents::All => "all".into(),
            Documents::Most(most) => most.into(),
        };
        all.insert("documents".into(), documents);
        if let Some((name, _)) = CHOOSE.iter().find(|(_, own)| *own == self.choose) {
            all.insert("choose".into(), (*name).into());
        }
        all
    }

    fn solve(
        &self,
        problem: &KernelProblem,
        carry: &mut Vec<Gram>,
        from: Option<&[CoreFit]>,
        watch: &Watch,
    ) -> Result<KernelFit> {
        let blocks = problem.blocks;
        let sizes = blocks.iter().map(|block| block.grades.len());
        let most = match self.documents {
            Documents::Most(most) if most < sizes.clone().sum() => Some(most),
            Documents::Auto if sizes.clone().max().unwrap_or(0) > EXACT => Some(BUDGET),
            _ => None,
        };
        let how = Fitting {
            kernel: problem.kernel,
            lambda: problem.lambda,
            tol: self.tol.get(),
            max_iter: self.max_iter,
            watch,
            kept: problem.kept,
            hinge: RankSvm::hinge(self),
        };
        let large = sizes.sum::<usize>() * most.unwrap_or(0) > LARGE;
        let fits = match most {
            // of large data the core of one λ serves the next ones of a choice, and it is a smaller one
            Some(_) if problem.choosing && large && from.is_some() => {
                let one = |(block, from): (&_, &CoreFit)| {
                    core_documents::restricted(block, &from.documents, &how, Some(from))
                };
                let from = from.unwrap_or_default();
                blocks.par_iter().zip(from).map(one).collect::<Result<Vec<CoreFit>>>()?
            }
            Some(most) => {
                let most = if problem.choosing && large { most.min(CHOOSING) } else { most };
                core_documents::budget(blocks, most, self.choose, &how, problem.seed)?
            }
            None => {
                if carry.is_empty() {
                    *carry = blocks.iter().map(|block| how.gram(block)).collect::<Result<_>>()?;
                }
                let one = |(at, (block, gram)): (usize, (&_, &_))| {
                    core_documents::exact(block, gram, &how, from.map(|from| &from[at]))
                };
                blocks.par_iter().zip(carry.par_iter()).enumerate().map(one).collect::<Result<Vec<CoreFit>>>()?
            }
        };
        let distance = |report: &Report| report.gap.unwrap_or(report.gradient);
        let worst = fits.iter().map(|fit| fit.report).max_by(|a, b| distance(a).total_cmp(&distance(b)));
        let objective = fits.iter().map(|fit| fit.report.objective).sum();
        let iterations = fits.iter().map(|fit| fit.report.iterations).max().unwrap_or(0);
        let stop = if watch.stopped() { Stop::Interrupted } else { worst.map_or(Stop::Gradient, |report| report.stop) };
        let gradient = worst.map_or(0.0, |report| report.gradient);
        let gap = how.hinge.then(|| fits.iter().filter_map(|fit| fit.report.gap).sum());
        let report = Report { iterations, objective, gradient, gap, rounds: None, stop };
        let documents = fits.iter().map(|fit| fit.documents.len()).sum();
        let support = || blocks.iter().zip(&fits).map(|(block, fit)| block.support(&fit.scores)).sum();
        let pairs = how.hinge.then(support);
        Ok(KernelFit { fits, report, core: CoreFacts { documents, pairs, f: None, certificate: None } })
    }
}

impl Learner for RankSvm {
    type Examples = Pairs;
    type Carry = Memory;

    fn choices(&self) -> Choices {
        let all = Choices::new(self.scale, self.lambda, LAMBDA, &PATH).exported(self.exportable).weighted(self.weight);
        // trees that go on from the weights have a mean over queries of their own
        if self.trees.grows() { all } else { all.by_pair_on_few() }
    }

    /// The pairs of some queries with their weights; refuses data without a single pair.
    fn draw(&self, data: &Training<'_, Rank>, units: &[u32]) -> Result<Drawn<Pairs>> {
        let mut drawn = self.examples(data, units, &[])?;
        let totals = merge(self.totals(data.set, &drawn, 0..data.set.pieces().len()), add_up);
        let total = totals.map_or(0.0, |total| total[0]);
        let whole = Whole { teaching: drawn.units.len(), uneven: drawn.units.len(), count: drawn.count, total };
        self.enough(&whole)?;
        drawn.examples.weight = self.weights(&drawn, &whole)?;
        Ok(drawn)
    }

    fn risk<'a>(&self, problem: &Problem<'a, Pairs>, stop: &'a AtomicBool) -> Box<dyn Risk + 'a> {
        let Pairs { loss, weight, .. } = &problem.drawn.examples;
        Box::new(Empirical::new(problem.rows, loss, weight.clone()).stopped_by(stop))
    }

    fn solve(&self, problem: &Problem<Pairs>, from: Start<Memory>, watch: &Watch) -> Result<Solved<Memory>> {
        if !RankSvm::hinge(self) {
            return self.descend(&mut *self.risk(problem, watch.stop), problem.lambda, from, watch);
        }
        let Pairs { loss, weight, .. } = &problem.drawn.examples;
        let (lambda, tol, max_iter) = (problem.lambda, self.tol.get(), self.max_iter);
        let how = HingeFit { lambda, tol, max_iter, watch, steps: Steps::Usual };
        let (theta, _, report) = hinge::minimise(problem.rows, loss, weight, from.theta, &how)?;
        Ok(Solved { theta, report, carry: Memory::default(), state: None })
    }

    fn descend(&self, risk: &mut dyn Risk, lambda: f64, from: Start<Memory>, watch: &Watch) -> Result<Solved<Memory>> {
        if !from.signs.is_empty() {
            return signed(risk, lambda, (self.tol.get(), self.max_iter), (&from.theta, &from.signs), watch);
        }
        let mut newton = Newton::new(risk, lambda, self.tol.get(), from.theta, from.carry)?;
        let report = run(&mut newton, self.max_iter, 0, watch)?;
        Ok(Solved { theta: newton.theta().to_vec(), report, carry: newton.into_memory(), state: None })
    }

    fn settled(&self, at: Point) -> Self {
        Self { weight: at.weight.map_or(self.weight, Choice::Set), ..self.clone() }
    }

    fn used(&self) -> Map<String, Value> {
        let mut all =
            Map::from_iter([("max_iter".into(), self.max_iter.into()), ("tol".into(), self.tol.get().into())]);
        all.extend(self.exportable.written());
        if let Choice::Set(weight) = self.weight {
            all.insert("weight".into(), weight.name().into());
        }
        if RankSvm::hinge(self) {
            all.insert("loss".into(), "hinge".into());
        }
        if self.trees.grows() {
            all.insert("loss".into(), name_of(&self.loss, &LOSSES).into());
        }
        all.append(&mut self.trees.used());
        all
    }

    fn signs(&self, columns: &Columns) -> Result<Vec<i8>> {
        self.trees.signs(columns)
    }
}

impl Spread for RankSvm {
    type Loss = PairHinge;

    fn kind(&self) -> &'static str {
        "pair"
    }

    fn check_spread(&self) -> Result<()> {
        let kernel = self.kernels.shape.form.name();
        alone("kernel", "linear", kernel, self.kernels.shape.form == Form::Linear)?;
        alone("blocks", "false", "true", !self.kernels.blocks)?;
        alone("scorer", "linear", &self.trees.get("scorer").unwrap_or_default(), !self.trees.grows())?;
        alone("loss", "logistic (the squared hinge)", "hinge", !self.hinge())
    }

    fn loss(examples: &Pairs) -> &PairHinge {
        &examples.loss
    }

    fn examples(&self, data: &Training<'_, Rank>, units: &[u32], _grades: &[f64]) -> Result<Drawn<Pairs>> {
        let set = data.set;
        let units: Vec<u32> = units.iter().copied().filter(|&q| !set.is_flat(q as usize)).collect();
        let loss = PairHinge::of_set(set, &units);
        let counts: Vec<(f64, f64)> = (0..loss.len()).map(|n| loss.pairs(n)).collect();
        let count = counts.iter().map(|&(pairs, _)| pairs).sum();
        Ok(Drawn { units, examples: Pairs { loss, counts, weight: vec![] }, count, weights: None, kind: self.kind() })
    }

    fn totals(&self, set: &RankSet, drawn: &Drawn<Pairs>, run: Range<usize>) -> Vec<Node<Vec<f64>>> {
        let (of_weight, counts) = (self.pairs(), &drawn.examples.counts);
        let leaf = |run: &mut Run| {
            let of = |&n: &u32| {
                let (pairs, weight) = counts[n as usize];
                if of_weight == PairWeight::Pair { weight } else { weight / pairs }
            };
            Ok::<_, Error>(vec![run.examples.iter().fold(0.0, |sum, n| sum + of(n))])
        };
        let mut runs = set.pieces().runs(drawn.units.iter().map(|&q| q as usize));
        nodes(&mut runs, run, &|run| run.piece, &leaf, &add_up).unwrap_or_default()
    }

    fn enough(&self, whole: &Whole) -> Result<()> {
        if whole.total > 0.0 && whole.total.is_finite() {
            return Ok(());
        }
        Err(Error::Data {
            expected: "at least one training query with two different grades (and weights above 0)".into(),
            found: "none: there is no pair to learn from".into(),
        })
    }

    fn weights(&self, drawn: &Drawn<Pairs>, whole: &Whole) -> Result<Vec<f64>> {
        let (counts, total) = (&drawn.examples.counts, whole.total);
        let weight: Vec<f64> = match self.pairs() {
            PairWeight::Pair => vec![1.0 / total; counts.len()],
            PairWeight::Query => counts.iter().map(|&(pairs, _)| 1.0 / (pairs * total)).collect(),
        };
        if !weight.iter().all(|w| w.is_finite()) {
            let expected = "weights whose sum has an inverse".into();
            return Err(Error::Data { expected, found: "a sum of weights that is almost 0".into() });
        }
        Ok(weight)
    }
}

/// The loss of one query as trees lower it.
pub(in crate::method) enum QueryLoss {
    Pairs(Box<PairLogistic>),
    Grades(Squared),
}

impl Surrogate for QueryLoss {
    type Work = pair_logistic::Work;

    fn len(&self) -> usize {
        match self {
            Self::Pairs(loss) => loss.len(),
            Self::Grades(loss) => loss.len(),
        }
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut Self::Work) -> Result<f64> {
        match self {
            Self::Pairs(loss) => loss.value(n, s, d, work),
            Self::Grades(loss) => loss.value(n, s, d, &mut ()),
        }
    }

    fn diagonal(
        &self,
        n: usize,
        s: &[f64],
        d: &mut [f64],
        h: &mut [f64],
        work: &mut Self::Work,
    ) -> Result<Option<f64>> {
        match self {
            Self::Pairs(loss) => loss.diagonal(n, s, d, h, work),
            Self::Grades(loss) => loss.diagonal(n, s, d, h, &mut ()),
        }
    }
}

impl TreeLearner for RankSvm {
    type Loss = QueryLoss;

    fn trees(&self) -> &Trees {
        &self.trees
    }

    /// The mean over queries of `weight=query` is kept: there a query of many pairs counts as much as one of few. LambdaRank has
    /// a rule of its own for that.
    fn lessons(&self, data: &Training<'_, Rank>, units: &[u32]) -> Result<(Drawn<QueryLoss>, Vec<f64>)> {
        let Drawn { units, count, kind, .. } = self.draw(data, units)?;
        let set = data.set;
        let weights: Option<Vec<&[f64]>> =
            set.weights.as_ref().map(|w| units.iter().map(|&q| &w[set.span(q as usize)]).collect());
        let grades = units.iter().map(|&q| &set.grades[set.span(q as usize)]);
        let each = vec![1.0; units.len()];
        let (examples, weight) = match self.loss {
            PairLoss::Logistic => {
                let loss = PairLogistic::of_set(set, &units);
                let of = |n: usize| if self.pairs() == PairWeight::Pair { 1.0 } else { 1.0 / loss.pairs(n).0 };
                let weight = (0..loss.len()).map(of).collect();
                (QueryLoss::Pairs(Box::new(loss)), weight)
            }
            PairLoss::Lambda => {
                let loss = PairLogistic::lambda(grades, weights.as_deref(), Lambda::default())?;
                (QueryLoss::Pairs(Box::new(loss)), each)
            }
            PairLoss::Hinge => {
                return Err(Error::Setting {
                    name: "loss".into(),
                    expected: "logistic, lambda or squared with trees".into(),
                    found: "hinge".into(),
                });
            }
            PairLoss::Squared => (QueryLoss::Grades(Squared::new(grades, weights.as_deref())), each),
        };
        Ok((Drawn { units, examples, count, weights: None, kind }, weight))
    }
}
