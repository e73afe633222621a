//! What methods with a kernel share: documents in blocks, the choice of scaling, width and λ on validation documents, and the last fit.

use crate::data::scale::{Scale, Scaling};
use crate::data::{Preferences, RankSet};
use crate::error::{Error, Result};
use crate::kernel::{Expansion, Form, Kernel, Part};
use crate::matrix::Matrix;
use crate::method::kernels::Shape;
use crate::method::rank::core_documents::{Block, CoreFit};
use crate::method::rank::kernel_looks::{Grid, Seen, look};
use crate::method::rank::ranksvm::PairWeight;
use crate::method::settings::{SWITCH, one_of};
use crate::method::{Choice, CoreFacts, Positive, Rank, RankNotes, Ranker};
use crate::metric::{self, Metric};
use crate::score::Score;
use crate::scorer::rows::Rows;
use crate::solver::run::{Report, Watch};
use crate::surrogate::pair_hinge::{PairHinge, Preferred};
use crate::task::{Candidate, Chosen, Facts, Fitted, Inputs, Method, Setting, Training, both};
use crate::traits::{Stop, Surrogate};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The widths that are tried, in units of one over the median distance.
const WIDTHS: [f64; 6] = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0];
/// How many λ in a row may be worse than the best of their width before the rest are left out: weak ridges cost most.
pub(super) const PATIENCE: usize = 2;

/// What a kernel leaves to be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernels {
    /// Its shape.
    pub shape: Shape,
    /// Whether each query, by its name, has a scorer of its own.
    pub blocks: bool,
}

impl Kernels {
    pub(in crate::method) const fn new(form: Form) -> Self {
        Self { shape: Shape::new(form), blocks: false }
    }

    pub(in crate::method) const fn setting(default: &'static str) -> Setting {
        Setting {
            name: "kernel",
            range: "linear, rbf, poly, laplace, intersection, chi2",
            default,
            help: "what documents are compared by: linear, rbf exp(-gamma d2), poly (gamma <a,b> + coef0)^degree, laplace exp(-gamma d1), intersection and chi2 of histograms (values of at least 0)",
        }
    }

    /// `blocks`.
    pub(in crate::method) const BLOCKS: Setting = Setting {
        name: "blocks",
        range: "true, false",
        default: "false",
        help: "whether every query has a scorer of its own, as in retrieval by category, where later documents come for the same queries; choices are then made on documents held out of each query",
    };

    /// Sets it, if it is one of them.
    pub(in crate::method) fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        if name == "blocks" {
            self.blocks = one_of("blocks", value, &SWITCH)?;
            return Ok(true);
        }
        self.shape.set(name, value)
    }

    /// One of them as text.
    pub(in crate::method) fn get(&self, name: &str) -> Option<String> {
        if name == "blocks" { Some(self.blocks.to_string()) } else { self.shape.get(name) }
    }

    pub(in crate::method) fn settings(&self) -> Map<String, Value> {
        let mut all = self.shape.settings();
        // where it always stood, so that files stay as they are
        all.shift_insert(1, "blocks".into(), self.blocks.into());
        all
    }
}

/// What is left to choose, and the kernel.
pub(in crate::method) struct KernelChoices {
    pub(in crate::method) scale: Choice<Scale>,
    pub(in crate::method) lambda: Choice<Positive>,
    pub(in crate::method) kernels: Kernels,
}

/// The part of a method with a kernel that is its own.
pub(in crate::method) trait KernelLearner: Method<Rank> {
    fn choices(&self) -> KernelChoices;
    /// The λ that are tried, from the strongest, with so many pairs; and the one where nothing can be chosen.
    fn path(&self, pairs: f64) -> (Vec<f64>, f64);
    /// What the mean loss is over.
    fn weight(&self) -> PairWeight;
    /// The most core documents of a machine that may stand in for its fits while a point of the grid is chosen; none where its
    /// own fits have to be made.
    fn landmarks(&self) -> Option<usize>;
    /// Whether the last of the points are compared by its own fits all the same: where the number of core documents of a fit
    /// depends on the point.
    fn ends_with_own(&self) -> bool;
    /// Whether documents can have weights.
    fn weighs(&self) -> bool {
        true
    }
    /// Whether pairs have the plain hinge.
    fn hinge(&self) -> bool {
        false
    }
    /// All settings but those of the kernel, the scaling and λ, as they were used.
    fn own_settings(&self) -> Map<String, Value>;
    /// What serves all λ of one kernel.
    type Carry: Default;
    /// Fits at one λ, from the fit at the last one.
    fn solve(
        &self,
        problem: &KernelProblem,
        carry: &mut Self::Carry,
        from: Option<&[CoreFit]>,
        watch: &Watch,
    ) -> Result<KernelFit>;
}

/// One problem to solve.
pub(in crate::method) struct KernelProblem<'a> {
    pub(in crate::method) kernel: Kernel,
    pub(in crate::method) blocks: &'a [Block<'a>],
    pub(in crate::method) lambda: f64,
    /// Number of pairs.
    pub(in crate::method) pairs: f64,
    pub(in crate::method) seed: u64,
    /// Whether the fit only serves a choice.
    pub(in crate::method) choosing: bool,
    /// Whether there is another fit to keep.
    pub(in crate::method) kept: bool,
}

/// What a fit came to.
pub(in crate::method) struct KernelFit {
    pub(in crate::method) fits: Vec<CoreFit>,
    pub(in crate::method) report: Report,
    pub(in crate::method) core: CoreFacts,
}

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) scale: Scale,
    pub(super) gamma: f64,
    pub(super) lambda: f64,
}

/// A point, its place in the grid (scaling, width, λ) and its value.
pub(super) type GridPoint = (Point, [usize; 3], f64);

impl Point {
    pub(super) fn settings(self, form: Form) -> Map<String, Value> {
        let mut all =
            Map::from_iter([("scale".into(), self.scale.name().into()), ("lambda".into(), self.lambda.into())]);
        if form.has_width() {
            all.insert("gamma".into(), self.gamma.into());
        }
        all
    }
}

pub(in crate::method) fn open<L: KernelLearner>(learner: &L) -> bool {
    learner.choices().lambda == Choice::Auto
        || learner.choices().scale == Choice::Auto && scales(learner).len() > 1
        || learner.choices().kernels.shape.gamma == Choice::Auto && learner.choices().kernels.shape.form.has_width()
}

/// What was asked, as it is written.
pub(in crate::method) fn asked<L: KernelLearner>(learner: &L) -> Map<String, Value> {
    let number =
        |choice: Choice<Positive>| if let Choice::Set(x) = choice { x.get().into() } else { Value::from("auto") };
    let scale = if let Choice::Set(scale) = learner.choices().scale { scale.name() } else { "auto" };
    let mut all = Map::from_iter([("scale".into(), scale.into()), ("lambda".into(), number(learner.choices().lambda))]);
    if learner.choices().kernels.shape.form.has_width() {
        all.insert("gamma".into(), number(learner.choices().kernels.shape.gamma));
    }
    all
}

/// The scalings that are tried: one that is learned where all queries share documents of a kind or a scorer each; histograms stay as they are.
fn scales<L: KernelLearner>(learner: &L) -> Vec<Scale> {
    match learner.choices().scale {
        Choice::Set(scale) => vec![scale],
        Choice::Auto if learner.choices().kernels.shape.form.of_histograms() => vec![Scale::None],
        Choice::Auto if learner.choices().kernels.blocks => vec![Scale::Global],
        Choice::Auto => vec![Scale::Query, Scale::Global, Scale::Minmax],
    }
}

fn widths(kernels: &Kernels) -> Vec<f64> {
    match kernels.shape.gamma {
        Choice::Set(gamma) => vec![gamma.get()],
        Choice::Auto if kernels.shape.form.has_width() => WIDTHS.to_vec(),
        Choice::Auto => vec![1.0],
    }
}

/// The number of pairs of some queries.
fn pairs_of(set: &RankSet, units: &[u32]) -> f64 {
    let loss = PairHinge::of_set(set, units);
    (0..loss.len()).map(|n| loss.pairs(n).0).sum()
}

/// Documents that a query keeps where only some are looked at.
const FEW: usize = 10;

/// The queries that are looked at, each with those of its documents that are: all, where these are not more than `most`. Else an even
/// part of each grade, and at least one, of each query; a query keeps about ten at least, and where that is too many, queries
/// are left out evenly.
fn looked_at(set: &RankSet, units: &[u32], most: usize) -> Vec<(u32, Vec<usize>)> {
    let len = |q: u32| set.span(q as usize).len();
    if units.iter().map(|&q| len(q)).sum::<usize>() <= most {
        return units.iter().map(|&q| (q, (0..len(q)).collect())).collect();
    }
    if set.preferences().is_some() {
        // a document without the one that it is preferred to says nothing: whole queries
        let all = units.iter().map(|&q| len(q)).sum::<usize>();
        let count = (most * units.len() / all).clamp(1, units.len());
        let whole = |k: usize| units[k * units.len() / count];
        return (0..count).map(|k| (whole(k), (0..len(whole(k))).collect())).collect();
    }
    let queries = (most / FEW).clamp(1, units.len());
    let each = most / queries;
    let part = |k: usize| {
        let q = units[k * units.len() / queries];
        let grades = &set.grades[set.span(q as usize)];
        let mut by_grade: Vec<usize> = (0..grades.len()).collect();
        by_grade.sort_by(|&a, &b| grades[a].total_cmp(&grades[b]));
        let mut kept: Vec<usize> = vec![];
        for same in by_grade.chunk_by(|&a, &b| grades[a].total_cmp(&grades[b]).is_eq()) {
            let count = (same.len() * each).div_ceil(grades.len()).min(same.len());
            kept.extend((0..count).map(|t| same[(2 * t + 1) * same.len() / (2 * count)]));
        }
        kept.sort_unstable();
        (q, kept)
    };
    (0..queries).map(part).collect()
}

/// Documents of some queries, scaled, block after block.
pub(super) struct Stage {
    d: usize,
    /// The name of each block's queries, where blocks have names.
    names: Vec<Option<String>>,
    docs: Vec<Vec<f32>>,
    grades: Vec<Vec<f64>>,
    lists: Vec<Vec<std::ops::Range<usize>>>,
    weights: Vec<Vec<f64>>,
    /// The weights of documents, where somebody gave them.
    of_documents: Option<Vec<Vec<f64>>>,
    /// The preferences of each list, where they stand in place of grades.
    given: Option<Vec<Vec<Vec<Preferred>>>>,
    pub(super) pairs: f64,
}

impl Stage {
    /// The documents of queries with two grades; of more than `most` only [some](looked_at).
    pub(super) fn new<L: KernelLearner>(
        learner: &L,
        (set, units): Units,
        scaling: &Scaling,
        most: usize,
    ) -> Result<Self> {
        let kept: Vec<u32> = units.iter().copied().filter(|&q| !set.is_flat(q as usize)).collect();
        if !learner.weighs() {
            super::refuse_weights(set, learner.name())?;
        }
        if kept.is_empty() {
            return Err(Error::Data {
                expected: "at least one training query with two different grades".into(),
                found: "none: there is no pair to learn from".into(),
            });
        }
        let looked = looked_at(set, &kept, most);
        let grades: Vec<Vec<f64>> = looked
            .iter()
            .map(|(q, which)| {
                let own = &set.grades[set.span(*q as usize)];
                which.iter().map(|&i| own[i]).collect()
            })
            .collect();
        let some = |which: &[usize], own: &[f64]| which.iter().map(|&i| own[i]).collect::<Vec<f64>>();
        let of_documents: Option<Vec<Vec<f64>>> = set
            .weights
            .as_ref()
            .map(|weights| looked.iter().map(|(q, which)| some(which, &weights[set.span(*q as usize)])).collect());
        let loss = match set.preferences() {
            Some(_) => PairHinge::of_set(set, &looked.iter().map(|&(q, _)| q).collect::<Vec<u32>>()),
            None => {
                let weights: Option<Vec<&[f64]>> =
                    of_documents.as_ref().map(|all| all.iter().map(Vec::as_slice).collect());
                PairHinge::new(grades.iter().map(Vec::as_slice), weights.as_deref())
            }
        };
        let counts: Vec<(f64, f64)> = (0..loss.len()).map(|n| loss.pairs(n)).collect();
        let pairs: f64 = counts.iter().map(|(pairs, _)| pairs).sum();
        let total: f64 = match learner.weight() {
            PairWeight::Pair => counts.iter().map(|(_, weight)| weight).sum(),
            PairWeight::Query => counts.iter().map(|(pairs, weight)| weight / pairs).sum(),
        };
        if !(total > 0.0 && (1.0 / total).is_finite()) {
            return Err(Error::Data {
                expected: "weights whose sum has an inverse".into(),
                found: "a sum of weights that is almost 0".into(),
            });
        }
        let weight = |n: usize| match learner.weight() {
            PairWeight::Pair => 1.0 / total,
            PairWeight::Query => 1.0 / (counts[n].0 * total),
        };
        let queries: Vec<u32> = looked.iter().map(|&(q, _)| q).collect();
        let (rows, d) = (Rows::new(set, &queries, scaling), set.features.cols());
        let mut stage = Self {
            d,
            names: vec![],
            docs: vec![],
            grades: vec![],
            lists: vec![],
            weights: vec![],
            of_documents: of_documents.is_some().then(Vec::new),
            given: set.preferences().map(|_| vec![]),
            pairs,
        };
        let mut known: HashMap<Option<&str>, usize> = HashMap::new();
        for (n, ((q, which), grades)) in looked.iter().zip(&grades).enumerate() {
            let name = learner.choices().kernels.blocks.then(|| set.query(*q as usize));
            let at = *known.entry(name).or_insert_with(|| {
                stage.names.push(name.map(str::to_owned));
                stage.docs.push(vec![]);
                stage.grades.push(vec![]);
                stage.lists.push(vec![]);
                stage.weights.push(vec![]);
                stage.of_documents.iter_mut().for_each(|all| all.push(vec![]));
                stage.given.iter_mut().for_each(|all| all.push(vec![]));
                stage.names.len() - 1
            });
            let (start, own) = (stage.grades[at].len(), rows.dense(n));
            match which.len() * d == own.len() {
                true => stage.docs[at].extend(own),
                false => which.iter().for_each(|&i| stage.docs[at].extend_from_slice(&own[i * d..(i + 1) * d])),
            }
            stage.grades[at].extend_from_slice(grades);
            stage.lists[at].push(start..stage.grades[at].len());
            stage.weights[at].push(weight(n));
            if let (Some(all), Some(own)) = (&mut stage.of_documents, &of_documents) {
                all[at].extend_from_slice(&own[n]);
            }
            if let (Some(all), Some(preferences)) = (&mut stage.given, set.preferences()) {
                all[at].push(preferences.of(set.span(*q as usize)).collect());
            }
        }
        Ok(stage)
    }

    pub(super) fn blocks(&self) -> Vec<Block<'_>> {
        (0..self.names.len())
            .map(|b| Block {
                docs: &self.docs[b],
                d: self.d,
                lists: self.lists[b].clone(),
                grades: &self.grades[b],
                weight: self.weights[b].clone(),
                of_documents: self.of_documents.as_ref().map(|all| &all[b][..]),
                given: self.given.as_ref().map(|all| &all[b][..]),
            })
            .collect()
    }

    /// The kernel in units of the median distance of up to 4,000 documents of all blocks; no seed has a part in it.
    pub(super) fn kernel(&self, form: Form, gamma: f64) -> Result<Kernel> {
        let most = 4000 / self.docs.len().max(1);
        let mut some: Vec<f32> = vec![];
        for docs in &self.docs {
            // evenly over the block, so that all its queries have a say
            let n = docs.len() / self.d.max(1);
            let step = n.div_ceil(most.max(1)).max(1);
            (0..n).step_by(step).for_each(|i| some.extend_from_slice(&docs[i * self.d..(i + 1) * self.d]));
        }
        let kernel = Kernel::in_units(form, gamma, &some, self.d);
        self.docs.iter().try_for_each(|docs| kernel.check(docs))?;
        Ok(kernel)
    }

    /// The functions of all blocks, with each core document once.
    pub(super) fn expansion(&self, kernel: Kernel, fits: &[CoreFit]) -> Expansion {
        let (mut values, mut known): (Vec<f32>, HashMap<Vec<u32>, u32>) = (vec![], HashMap::new());
        let mut parts = vec![];
        for ((name, docs), fit) in self.names.iter().zip(&self.docs).zip(fits) {
            let mut part = Part { query: name.clone(), documents: vec![], coefficients: vec![] };
            for (&i, &beta) in fit.documents.iter().zip(&fit.coefficients) {
                let doc = &docs[i as usize * self.d..(i as usize + 1) * self.d];
                let fresh = known.len() as u32;
                let j = *known.entry(doc.iter().map(|x| x.to_bits()).collect()).or_insert(fresh);
                if j == fresh {
                    values.extend_from_slice(doc);
                }
                part.documents.push(j);
                part.coefficients.push(beta);
            }
            parts.push(part);
        }
        Expansion::new(kernel, Matrix::new(values, self.d), parts)
    }
}

/// The point with the best mean of its value (twice) and those of its neighbours in width and λ, with this mean, of equals the first: a measure of few queries jumps from one
/// point to the next, and the best of a hundred jumps is luck.
pub(super) fn smoothest(grid: &[GridPoint]) -> Option<([usize; 3], Point, f64)> {
    let mean = |at: [usize; 3]| {
        let (mut sum, mut total) = (0.0, 0.0);
        for (_, [scale, width, step], value) in grid {
            let share = |apart: usize| [2.0, 1.0].get(apart).copied().unwrap_or(0.0);
            let weight = if *scale == at[0] { share(width.abs_diff(at[1])) * share(step.abs_diff(at[2])) } else { 0.0 };
            (sum, total) = (sum + weight * value, total + weight);
        }
        sum / total
    };
    let mut best: Option<([usize; 3], Point, f64)> = None;
    for &(point, at, _) in grid {
        let value = mean(at);
        if best.is_none_or(|(.., old)| value > old) {
            best = Some((at, point, value));
        }
    }
    best
}

/// A fit with what it is worth on validation.
pub(super) struct Outcome {
    pub(super) at: Point,
    pub(super) value: f64,
    pub(super) ranker: Ranker,
    pub(super) fit: KernelFit,
}

/// Fits a ranker with a kernel.
///
/// As with linear methods what is open is chosen on validation queries, by the mean of a point of the grid with its neighbours; with a scorer for each query on documents: those of
/// the validation part that carry the same names, else every fifth document of each grade of each query.
pub(in crate::method) fn fit<L: KernelLearner>(
    learner: &L,
    data: &Training<'_, Rank>,
    watch: &Watch,
) -> Result<Fitted<Rank>> {
    let set = data.set;
    if set.features.cols() == 0 {
        return Err(Error::Data { expected: "documents with features".into(), found: "none".into() });
    }
    let by = data.by(learner);
    let search = Search { learner, data, by, watch };
    let all: Vec<u32> = data.train.to_vec();
    if !open(learner) {
        return search.last((set, &all), None, None, false);
    }
    if learner.choices().kernels.blocks && data.valid.is_none() {
        // every fifth document of a grade; a grade of fewer than five lends none
        let mut seen: HashMap<(u32, u64), usize> = HashMap::new();
        let mut held: Vec<bool> = vec![false; set.rows()];
        for &q in &all {
            for row in set.span(q as usize) {
                let of = seen.entry((q, set.grades[row].to_bits())).or_default();
                held[row] = *of % 5 == 4;
                *of += 1;
            }
        }
        let (part, rest) = (set.some_rows(&all, |row| !held[row]), set.some_rows(&all, |row| held[row]));
        let known: Vec<u32> = (0..part.len() as u32).filter(|&q| !part.is_flat(q as usize)).collect();
        let (units, valid): (Vec<u32>, Vec<u32>) =
            (part.all(), known.iter().copied().filter(|&q| !rest.is_flat(q as usize)).collect());
        if valid.is_empty() {
            return search.last((set, &all), None, None, false);
        }
        return search.choose((&part, &units), (&rest, &valid), (set, &all));
    }
    let (train, valid) = data.parts(true);
    let mut valid = valid.into_owned();
    if learner.choices().kernels.blocks {
        let names: std::collections::HashSet<&str> =
            train.iter().filter(|&&q| !set.is_flat(q as usize)).map(|&q| set.query(q as usize)).collect();
        valid.retain(|&q| names.contains(set.query(q as usize)));
    }
    let zeros = vec![0.0; set.rows()];
    if metric::evaluate(set, &valid, &zeros, &[by], &data.convention)?.counted(0).is_empty() {
        return search.last((set, &all), None, None, false);
    }
    search.choose((set, &train), (set, &valid), (set, &both(&train, &valid)))
}

pub(super) struct Search<'a, L> {
    pub(super) learner: &'a L,
    pub(super) data: &'a Training<'a, Rank>,
    pub(super) by: Metric,
    pub(super) watch: &'a Watch<'a>,
}

pub(super) type Units<'a> = (&'a RankSet, &'a [u32]);

impl<L: KernelLearner> Search<'_, L> {
    /// The form of the kernel, as it is named.
    pub(super) fn form(&self) -> Form {
        self.learner.choices().kernels.shape.form
    }

    /// The same with what else is set of it.
    pub(super) fn shape(&self) -> Form {
        self.learner.choices().kernels.shape.form()
    }

    /// The defaults where nothing can be chosen.
    fn fixed(&self, pairs: f64) -> Point {
        Point {
            scale: scales(self.learner)[0],
            gamma: if let Choice::Set(gamma) = self.learner.choices().kernels.shape.gamma { gamma.get() } else { 1.0 },
            lambda: if let Choice::Set(lambda) = self.learner.choices().lambda {
                lambda.get()
            } else {
                self.learner.path(pairs).1
            },
        }
    }

    fn choose(&self, train: Units, valid: Units, both: Units) -> Result<Fitted<Rank>> {
        let kernels = self.learner.choices().kernels;
        let lambdas = match self.learner.choices().lambda {
            Choice::Set(lambda) => vec![lambda.get()],
            Choice::Auto => self.learner.path(pairs_of(both.0, both.1)).0,
        };
        let (scales, widths) = (scales(self.learner), widths(&kernels));
        let core = self.learner.landmarks().filter(|_| !kernels.blocks);
        let grid = Grid { scales: &scales, widths: &widths, lambdas: &lambdas, train, valid, core: core.unwrap_or(0) };
        let seen = if core.is_some() { look(self, &grid)? } else { self.try_all(&grid)? };
        let mut best = seen.best.ok_or(Error::Interrupted)?;
        let chosen = Chosen::new(self.by, &self.data.convention, seen.valid, seen.tried);
        if self.watch.stopped() {
            best.fit.report.stop = Stop::Interrupted;
            return Ok(self.fitted(train, best, Some(chosen), false));
        }
        let at = seen.at.unwrap_or(best.at);
        // fits of a choice may have been made cheaper
        let (on, refit) = if self.data.refit { (both, true) } else { (train, false) };
        if refit {
            (self.watch.tell)(0.98, "fitting on training and validation");
        }
        match self.last(on, Some(at), Some(chosen.clone()), refit) {
            Err(Error::Interrupted) => {
                best.fit.report.stop = Stop::Interrupted;
                Ok(self.fitted(train, best, Some(chosen), false))
            }
            other => other,
        }
    }

    /// What a ranker is worth on validation queries.
    pub(super) fn value(&self, ranker: &Ranker, (set, units): Units) -> Result<f64> {
        let scores = ranker.scores_with(set, units, &ranker.inputs.scaling(set, units))?;
        Ok(metric::evaluate(set, units, &scores, &[self.by], &self.data.convention)?.mean(0))
    }

    /// Fits at every point of the grid but those of weak ridges that a path leaves out.
    fn try_all(&self, grid: &Grid) -> Result<Seen> {
        let Grid { scales, widths, lambdas, train, valid, .. } = *grid;
        let (form, by) = (self.form(), self.by);
        let total = (scales.len() * widths.len() * lambdas.len()) as f64;
        let (mut best, mut tried): (Option<Outcome>, Vec<Candidate>) = (None, vec![]);
        let mut points: Vec<GridPoint> = vec![];
        let mut done = 0;
        'all: for (of_scale, &scale) in scales.iter().enumerate() {
            let scaling = Scaling::learn(scale, train.0, train.1);
            let stage = Stage::new(self.learner, train, &scaling, usize::MAX)?;
            let blocks = stage.blocks();
            for (of_width, &gamma) in widths.iter().enumerate() {
                let kernel = stage.kernel(self.shape(), gamma)?;
                let (mut carry, mut from): (L::Carry, Option<Vec<CoreFit>>) = (L::Carry::default(), None);
                let (mut best_here, mut since) = (f64::NEG_INFINITY, 0);
                done += lambdas.len();
                for (step, &lambda) in lambdas.iter().enumerate() {
                    let at = Point { scale, gamma, lambda };
                    let what = format!("choosing: scale={} gamma={gamma} lambda={lambda}", scale.name());
                    (self.watch.tell)((done - lambdas.len() + step) as f64 / (total + 1.0), &what);
                    let problem = KernelProblem {
                        kernel,
                        blocks: &blocks,
                        lambda,
                        pairs: stage.pairs,
                        seed: self.data.seed,
                        choosing: true,
                        kept: best.is_some(),
                    };
                    let fit = match self.learner.solve(&problem, &mut carry, from.as_deref(), self.watch) {
                        Err(Error::Interrupted) if best.is_some() => break 'all,
                        other => other?,
                    };
                    let ranker = self.ranker(stage.expansion(kernel, &fit.fits), scale, &scaling);
                    let value = self.value(&ranker, valid)?;
                    tried.push(Candidate::new(at.settings(form), value));
                    points.push((at, [of_scale, of_width, step], value));
                    from = Some(fit.fits.clone());
                    if best.as_ref().is_none_or(|best| by.better(value, best.value)) {
                        best = Some(Outcome { at, value, ranker, fit });
                    }
                    if self.watch.stopped() {
                        break 'all;
                    }
                    since = if value > best_here { 0 } else { since + 1 };
                    best_here = best_here.max(value);
                    if since > PATIENCE {
                        break;
                    }
                }
            }
        }
        Ok(Seen { at: smoothest(&points).map(|(_, at, _)| at), best, tried, valid: valid.1.len() })
    }

    /// The fit at a point, or at the defaults.
    fn last(&self, on: Units, at: Option<Point>, chosen: Option<Chosen>, refit: bool) -> Result<Fitted<Rank>> {
        if chosen.is_none() {
            (self.watch.tell)(0.0, "fitting");
        }
        let at = at.unwrap_or_else(|| self.fixed(pairs_of(on.0, on.1)));
        let scaling = Scaling::learn(at.scale, on.0, on.1);
        let stage = Stage::new(self.learner, on, &scaling, usize::MAX)?;
        let kernel = stage.kernel(self.learner.choices().kernels.shape.form(), at.gamma)?;
        let problem = KernelProblem {
            kernel,
            blocks: &stage.blocks(),
            lambda: at.lambda,
            pairs: stage.pairs,
            seed: self.data.seed,
            choosing: false,
            kept: chosen.is_some(),
        };
        let fit = self.learner.solve(&problem, &mut L::Carry::default(), None, self.watch)?;
        let ranker = self.ranker(stage.expansion(kernel, &fit.fits), at.scale, &scaling);
        Ok(self.fitted(on, Outcome { at, value: 0.0, ranker, fit }, chosen, refit))
    }

    pub(super) fn ranker(&self, expansion: Expansion, scale: Scale, scaling: &Scaling) -> Ranker {
        let inputs = Inputs::new(&self.data.set.columns, &self.data.filled, scale, scaling.global());
        Ranker { inputs, score: Score::Kernel(expansion), places: vec![], quadratic: None, start: None }
    }

    fn fitted(&self, (set, units): Units, outcome: Outcome, chosen: Option<Chosen>, refit: bool) -> Fitted<Rank> {
        let mut settings = outcome.at.settings(self.learner.choices().kernels.shape.form);
        settings.extend(self.learner.choices().kernels.settings());
        settings.extend(self.learner.own_settings());
        let flat = units.iter().filter(|&&q| set.is_flat(q as usize)).count();
        let facts = Facts {
            method: self.learner.name().into(),
            settings,
            asked: asked(self.learner),
            data: self.data.set.digest(),
            notes: RankNotes {
                preferences: self.data.set.preferences().map(Preferences::facts),
                rows: units.iter().map(|&q| set.span(q as usize).len()).sum(),
                queries: units.len(),
                flat_queries: flat,
                examples: pairs_of(set, units),
                example: "pair".into(),
                core: Some(outcome.fit.core),
                trees: None,
            },
            report: outcome.fit.report,
            refit,
            chosen,
            seed: self.data.seed,
            auto: None,
            init: None,
        };
        Fitted { model: outcome.ranker, facts, journal: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::synthetic::{Levels, Synthetic};
    use crate::method::{BallRank, RankSvm};

    #[test]
    fn some_documents_are_an_even_part_of_each_grade() {
        let set = Synthetic { queries: 30, documents: (3, 90), seed: 5, ..Synthetic::default() }.make();
        let units: Vec<u32> = set.all().into_iter().filter(|&q| !set.is_flat(q as usize)).collect();
        let rows: usize = units.iter().map(|&q| set.span(q as usize).len()).sum();
        let whole = looked_at(&set, &units, rows);
        assert!(whole.iter().map(|(_, which)| which.len()).sum::<usize>() == rows && whole.len() == units.len());
        for most in [10, 60, 150, 400, 900, rows - 1] {
            let some = looked_at(&set, &units, most);
            // rounding up keeps one more of each of the four grades at most
            let kept: usize = some.iter().map(|(_, which)| which.len()).sum();
            assert!(kept <= most + 4 * some.len() && some.len() <= (most / FEW).max(1), "{most}: {kept}");
            for (q, which) in &some {
                assert!(which.windows(2).all(|two| two[0] < two[1]));
                let own = &set.grades[set.span(*q as usize)];
                let share = which.len() as f64 / own.len() as f64;
                for grade in 0..4 {
                    let of = |all: &mut dyn Iterator<Item = f64>| {
                        all.filter(|g| g.total_cmp(&f64::from(grade)).is_eq()).count() as f64
                    };
                    let (before, after) = (of(&mut own.iter().copied()), of(&mut which.iter().map(|&i| own[i])));
                    assert!((before > 0.0) == (after > 0.0) && (after - share * before).abs() <= 4.0, "{most}");
                }
            }
        }
    }

    /// What looks at few points leave is about as good, by fits at all points, as the best of all points.
    #[test]
    fn looks_find_what_all_fits_find() {
        fn regret<L: KernelLearner>(learner: &L, side: f64) -> f64 {
            let set = Levels { queries: 15, documents: 30, side, seed: 4 }.make();
            let all = set.all();
            let data = Training { by: Some("pairs".parse().unwrap()), ..Training::new(&set, &all) };
            let search = Search { learner, data: &data, by: data.by(learner), watch: &Watch::NOBODY };
            let (train, valid) = data.parts(true);
            let lambdas = learner.path(pairs_of(&set, &all)).0;
            let grid = Grid {
                scales: &[Scale::None],
                widths: &WIDTHS,
                lambdas: &lambdas,
                train: (&set, &train),
                valid: (&set, &valid),
                core: usize::MAX,
            };
            let (few, every) = (look(&search, &grid).unwrap(), search.try_all(&grid).unwrap());
            // by fits of the method itself
            let value = |at: Option<Point>| {
                let fitted = search.last(grid.train, at, None, false).unwrap();
                search.value(&fitted.model, grid.valid).unwrap()
            };
            assert!(few.best.unwrap().value > 0.5);
            value(every.at) - value(few.at)
        }
        for side in [2.0, 4.0] {
            let svm = RankSvm { kernels: Kernels::new(Form::Rbf), ..RankSvm::default() };
            let found = [regret(&svm, side), regret(&BallRank::default(), side)];
            assert!(found.iter().all(|regret| *regret < 0.01), "{side}: {found:?}");
        }
    }
}
