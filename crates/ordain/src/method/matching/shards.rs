//! Matchers whose problems are on other machines. Where the fit runs there are the problems without features of edges: who may be matched, and what
//! is right.

use super::matcher::{Matcher, Sums};
use super::matchmap::MatchMap;
use super::search::{self, Learner, cases_of};
use super::space::Space;
use crate::data::scale::Affine;
use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::data::{MatchSet, Place};
use crate::error::{Error, Result};
use crate::method::matching::local::Local;
use crate::method::shards::field::{Field, doubles};
use crate::method::shards::parts::{Part, Parts, Spreads};
use crate::method::shards::remote::Remote;
use crate::method::shards::wire::{Question, What, Which, said, torn, unpack};
use crate::method::shards::{Whereabouts, alone};
use crate::method::{Match, MatchMethod};
use crate::metric::Metric;
use crate::risk::Empirical;
use crate::scorer::edges::Edges;
use crate::scorer::rows;
use crate::solver::run::Watch;
use crate::structure::matching::{Engine, engine};
use crate::surrogate::matching::{Case, MatchLikelihood};
use crate::task::{About, Fitted, Method, Setting, Training, Transformed, Written};
use crate::traits::{Risk, Scorer};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Cases of lists of problems that are kept: those of the parts of a cross-validation, and of all.
const KEPT: usize = 6;

/// How the sums over the matchings of some problems are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// All by this engine.
    All(Engine),
    /// By engines that always serve: exact ones where problems are small, else approximations.
    Rough,
}

impl By {
    /// The engine of each problem.
    pub(super) fn engines(self, cases: &[Case]) -> Vec<Engine> {
        let rough = |case: &Case| match case {
            case if engine::always_exact(&case.graph) => Engine::Pruned,
            case if case.graph.null() => Engine::Bethe,
            _ => Engine::Sinkhorn,
        };
        match self {
            Self::All(engine) => vec![engine; cases.len()],
            Self::Rough => cases.iter().map(rough).collect(),
        }
    }

    fn name(self) -> Option<String> {
        if let Self::All(engine) = self { Some(engine.name().into()) } else { None }
    }

    fn of(name: Option<&str>) -> Result<Self> {
        let Some(name) = name else { return Ok(Self::Rough) };
        let known = Engine::ALL.iter().find(|engine| engine.name() == name);
        known.map(|&engine| Self::All(engine)).ok_or_else(|| torn("no such engine"))
    }
}

/// What a shard of problems can be asked; numbers stand behind the question: the weight of a problem, offsets, factors, parameters and a vector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Asked {
    /// The nodes of the risk.
    Risk { scale: Scale, null: bool, by: Option<String>, what: What },
    /// How the sums at these parameters are found, and how near they are.
    Sums { scale: Scale, null: bool, by: Option<String> },
    /// The score of every edge.
    Scores { scale: Scale },
}

/// Problems of a set that is spread over machines: a run of its [pieces](crate::pieces).
///
/// [`Self::answer`] depends on the edges and on the question alone, as that of [`Shard`](crate::method::Shard) does.
pub struct ProblemShard {
    parts: Parts<MatchSet>,
    cases: Mutex<Vec<Known>>,
}

/// Cases of some problems of each part, with or without nulls.
type Known = (bool, Vec<u8>, Arc<Vec<Vec<Case>>>);

impl ProblemShard {
    /// Problems that stand at some [`Place`] of a set; of each set some pieces that are whole in it, one run behind the other.
    ///
    /// ```
    /// use ordain::{data::{Place, synthetic::Linkage}, method::ProblemShard};
    /// let set = Linkage::default().make();
    /// let place = Place { pieces: set.pieces(), query: 0, row: 0 };
    /// assert_eq!(ProblemShard::new(vec![(set.clone(), place, 0..set.pieces().len())]).problems(), set.len());
    /// ```
    pub fn new(parts: Vec<(MatchSet, Place, Range<usize>)>) -> Self {
        Self { parts: Parts::new(parts), cases: Mutex::default() }
    }

    /// The number of its problems.
    pub fn problems(&self) -> usize {
        self.parts.len()
    }

    /// Answers a question about some of the problems, on all threads. Both are bytes that [`fit_problem_shards`] makes.
    ///
    /// # Errors
    ///
    /// What a fit on one machine would refuse in these problems, and bytes that no question has.
    pub fn answer(&self, common: &[u8], own: &[u8]) -> Result<Vec<u8>> {
        let (question, numbers): (Question<Asked>, Vec<Vec<f64>>) = unpack(common)?;
        let list = |k: usize| numbers.get(k).map(Vec::as_slice).ok_or_else(|| torn("numbers are missing"));
        let units = self.parts.units(own);
        let asked = match question {
            Question::Rows(of) => return self.parts.answer(&of, &numbers, (own, &units)),
            Question::Own(asked) => asked,
        };
        let theta = list(3)?;
        let scale = match &asked {
            Asked::Risk { scale, .. } | Asked::Sums { scale, .. } | Asked::Scores { scale } => *scale,
        };
        let scalings = self.parts.scalings(scale, list(1)?, list(2)?);
        let all = self.parts.iter().zip(&units).zip(scalings.iter());
        match asked {
            Asked::Scores { .. } => {
                let mut scores = vec![];
                for ((part, units), scaling) in all {
                    let rows = rows::Rows::new(&part.set, units, scaling);
                    let one = |work: &mut rows::Work, n: usize| {
                        let mut s = vec![0.0; rows.span(n).len()];
                        rows.scores(n, theta, &mut s, work);
                        s
                    };
                    let own: Vec<Vec<f64>> = (0..units.len()).into_par_iter().map_init(Default::default, one).collect();
                    scores.extend(own.into_iter().flatten());
                }
                said(Some(vec![]), vec![scores], vec![])
            }
            Asked::Risk { null, by, what, .. } => {
                let [weight] = *list(0)? else { return Err(torn("numbers are missing")) };
                let (by, cases) = (By::of(by.as_deref())?, self.cases(null, own, &units)?);
                let ask = what.at(theta, numbers.get(4).map_or(&[], Vec::as_slice));
                let mut nodes = Some(vec![]);
                for (((part, units), scaling), cases) in all.zip(cases.iter()) {
                    let items = items_of(&part.set);
                    let edges = Edges::new(&part.set, units, scaling, null.then_some(&items));
                    let loss = MatchLikelihood { cases, engines: by.engines(cases) };
                    let mut risk = Empirical::new(&edges, &loss, vec![weight; cases.len()]);
                    let own = risk.nodes(part.run.clone(), ask)?;
                    nodes = nodes.zip(own).map(|(mut nodes, own)| {
                        nodes.extend(own);
                        nodes
                    });
                }
                said(nodes, vec![], vec![])
            }
            Asked::Sums { null, by, .. } => {
                let (by, cases) = (By::of(by.as_deref())?, self.cases(null, own, &units)?);
                let (mut names, mut errors) = (vec![], vec![]);
                for (((part, units), scaling), cases) in all.zip(cases.iter()) {
                    let items = items_of(&part.set);
                    let edges = Edges::new(&part.set, units, scaling, null.then_some(&items));
                    let loss = MatchLikelihood { cases, engines: by.engines(cases) };
                    let one = |work: &mut (rows::Work, engine::Work), n: usize| {
                        let mut s = vec![0.0; cases[n].graph.table()];
                        edges.scores(n, theta, &mut s, &mut work.0);
                        let mut marginals = vec![0.0; s.len()];
                        loss.sum(n, &s, &mut marginals, &mut work.1)
                    };
                    let made: Result<Vec<_>> =
                        (0..cases.len()).into_par_iter().map_init(Default::default, one).collect();
                    for sum in made? {
                        let (by, accuracy, error) = Sums::named(&sum);
                        names.push([by, accuracy]);
                        errors.push(error.unwrap_or(f64::NAN));
                    }
                }
                let names = serde_json::to_vec(&names).map_err(|error| torn(&error.to_string()))?;
                said(Some(vec![]), vec![errors], names)
            }
        }
    }

    /// The same shard with its columns transformed; the bytes are those that [`Cluster::transform`](crate::method::Cluster::transform) is given.
    ///
    /// # Errors
    ///
    /// Bytes that are no transforms.
    pub fn transformed(&self, by: &[u8]) -> Result<Self> {
        Ok(Self { parts: self.parts.transformed(by)?, cases: Mutex::default() })
    }

    /// The cases of some problems, of each part.
    fn cases(&self, null: bool, own: &[u8], units: &[Vec<u32>]) -> Result<Arc<Vec<Vec<Case>>>> {
        let mut kept = self.cases.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., known)) = kept.iter().find(|(with, mask, _)| *with == null && mask == own) {
            return Ok(Arc::clone(known));
        }
        let of = |(part, units): (&Part<MatchSet>, &Vec<u32>)| cases_of(&part.set, units, null);
        let made = Arc::new(self.parts.iter().zip(units).map(of).collect::<Result<Vec<_>>>()?);
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((null, own.to_vec(), Arc::clone(&made)));
        Ok(made)
    }
}

/// The number of items of each problem, of both sides together.
fn items_of(set: &MatchSet) -> impl Fn(u32) -> usize {
    |p| set.problem(p as usize).left.len() + set.problem(p as usize).right.len()
}

/// Edges that are elsewhere.
pub(super) struct Far {
    field: Arc<Field>,
    digest: String,
}

impl Far {
    /// To mean 0 and deviation 1 over the edges of some problems.
    pub(super) fn standard(&self, set: &MatchSet, units: &[u32], which: Which) -> Result<Affine> {
        let rows = set.rows_of(units, which).iter().map(Range::len).sum();
        self.field.standard(set.columns.names.len(), rows, units, which)
    }

    /// The digest of the set as it was given.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    /// The score of every edge of some problems.
    pub(super) fn scores(&self, set: &MatchSet, matcher: &Matcher, units: &[u32]) -> Result<Vec<Vec<f64>>> {
        let [offset, factor] = doubles(matcher.inputs.global.as_ref());
        let question = Question::Own(Asked::Scores { scale: matcher.inputs.scale });
        let numbers = [&[][..], &offset, &factor, matcher.score.weights()];
        let answers = self.field.ask(&question, &numbers, &self.field.masks(units), None)?;
        let mut values = answers.into_iter().flat_map(|(_, lists)| lists.into_iter().flatten());
        // answers are by ascending number, whatever the order of the list
        let mut order: Vec<usize> = (0..units.len()).collect();
        order.sort_by_key(|&n| units[n]);
        let mut scores = vec![vec![]; units.len()];
        for n in order {
            let len = set.span(units[n] as usize).len();
            scores[n].extend(values.by_ref().take(len));
            if scores[n].len() < len {
                return Err(torn("scores are missing"));
            }
        }
        Ok(scores)
    }
}

/// The problems of a fit whose edges are elsewhere.
#[derive(Clone, Copy)]
pub(super) struct There<'a> {
    pub(super) far: &'a Far,
    pub(super) units: &'a [u32],
    pub(super) null: bool,
    pub(super) space: &'a Space,
}

impl<'a> There<'a> {
    /// The mean loss of the problems.
    pub(super) fn risk(&self, by: By, dim: usize, stop: &'a AtomicBool) -> impl Risk + 'a {
        let [offset, factor] = doubles(self.space.scaling.global());
        let (scale, null, by) = (self.space.spec.scale, self.null, by.name());
        Remote {
            field: Arc::clone(&self.far.field),
            question: move |what| Asked::Risk { scale, null, by: by.clone(), what },
            numbers: vec![vec![1.0 / self.units.len() as f64], offset, factor],
            masks: self.far.field.masks(self.units),
            dim,
            stop,
            heeds: false,
        }
    }

    /// How the sums over the matchings at some parameters are found.
    pub(super) fn sums(&self, by: By, theta: &[f64]) -> Result<Sums> {
        let [offset, factor] = doubles(self.space.scaling.global());
        let question = Question::Own(Asked::Sums { scale: self.space.spec.scale, null: self.null, by: by.name() });
        let field = &self.far.field;
        let mut all = Sums::default();
        for (said, lists) in field.ask(&question, &[&[], &offset, &factor, theta], &field.masks(self.units), None)? {
            let names: Vec<[String; 2]> = serde_json::from_slice(&said.bytes).map_err(|e| torn(&e.to_string()))?;
            for ([by, accuracy], error) in names.iter().zip(lists.first().into_iter().flatten()) {
                all.add_named(by, accuracy, Some(*error).filter(|error| !error.is_nan()));
            }
        }
        Ok(all)
    }

    /// What to say where a fit would go on by samples.
    pub(super) fn no_samples(found: &str) -> Error {
        let expected = "exact, pruned, bethe or sinkhorn";
        match alone("marginals", expected, found, false) {
            Err(error) => error,
            Ok(()) => torn("it is right"),
        }
    }
}

/// Fits a matcher on problems whose edges are on other machines: the set of the training is an [outline](MatchSet::outline).
///
/// The model has the bytes that [`Method::fit`] gives where all edges are on one machine.
///
/// # Errors
///
/// Those of [`Method::fit`], those of the machines, and a method or a setting that needs all edges in one place.
pub fn fit_problem_shards(
    method: &MatchMethod,
    data: &Training<'_, Match>,
    where_: Whereabouts,
    watch: &Watch,
) -> Result<Fitted<Match>> {
    let MatchMethod::MatchMap(inner) = method else {
        return Err(Error::Setting {
            name: "method".into(),
            expected: "matchmap on several machines (any other on a sample of the problems, on one machine)".into(),
            found: method.name().into(),
        });
    };
    inner.check()?;
    check_spread(inner)?;
    if let Some(p) = Local::large(data, inner.null(), inner.choices().scale)? {
        return Err(Error::Data {
            expected: "problems that can be summed as they are on several machines (larger ones on one machine, where they are cut around what is known)".into(),
            found: format!("problem {:?}", data.set.problem(p as usize).name),
        });
    }
    let field = Arc::new(Field::new(&where_, &data.set.pieces()));
    // of the data as they are given
    let digest = data.set.digest_of_parts(&field.digests()?);
    let looks = field.looks(inner.transform(), data.set.columns.names.len(), data.train)?;
    field.transform(&looks.0)?;
    let away = Away { inner: inner.clone(), far: Arc::new(Far { field, digest }) };
    away.fit_transformed(data, Transformed::elsewhere(looks), watch)
}

/// Refuses settings that need all edges on one machine.
fn check_spread(method: &MatchMap) -> Result<()> {
    let text = |name: &str| Method::<Match>::get(method, name).unwrap_or_default();
    alone("kernel", "linear", &text("kernel"), method.kernel.is_linear())?;
    alone("scorer", "linear", &text("scorer"), !method.trees.grows())?;
    match method.marginals.draws() {
        true => Err(There::no_samples(method.marginals.name())),
        false => Ok(()),
    }
}

/// A matcher whose edges are elsewhere.
#[derive(Clone)]
struct Away {
    inner: MatchMap,
    far: Arc<Far>,
}

impl fmt::Debug for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Away").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl PartialEq for Away {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner && Arc::ptr_eq(&self.far, &other.far)
    }
}

impl Method<Match> for Away {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn about(&self) -> About {
        self.inner.about()
    }

    fn settings(&self) -> &'static [Setting] {
        self.inner.settings()
    }

    fn get(&self, name: &str) -> Option<String> {
        self.inner.get(name)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.inner.set(name, value)
    }

    fn check(&self) -> Result<()> {
        self.inner.check()
    }

    fn chooses(&self) -> bool {
        self.inner.chooses()
    }

    fn chooses_by(&self) -> Metric {
        self.inner.chooses_by()
    }

    fn transform(&self) -> Transform {
        Method::<Match>::transform(&self.inner)
    }

    fn written(&self) -> Written {
        self.inner.written()
    }

    fn learn(&self, data: &Training<'_, Match>, watch: &Watch) -> Result<Fitted<Match>> {
        search::fit_far(&self.inner, data, &self.far, watch)
    }
}
