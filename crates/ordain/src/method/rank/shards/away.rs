//! Where the fit runs: learners whose examples are on other machines.

use super::order::{self, TOGETHER};
use super::shard::{distinct, refuse};
use super::wire::{Lesson, Question, Said, What, bits, nodes, pack, pack_transforms, set_bits, torn, unpack};
use super::{Cluster, Spread, Whole};
use crate::data::ranges::Ranges;
use crate::data::scale::{Affine, Parts, Scale, Scaling};
use crate::data::transform::{Look, SENT, Transform, Transforms, of_values};
use crate::data::{Columns, RankSet};
use crate::error::Result;
use crate::matrix::runs::{self, Run};
use crate::matrix::{finite, mirror};
use crate::method::rank::RankMethod;
use crate::method::rank::search::{self, Choices, Drawn, Learner, Point, Problem, Solved, Start};
use crate::method::{Rank, Ranker};
use crate::metric::Metric;
use crate::pieces::{Node, add_up, merge};
use crate::solver::run::Watch;
use crate::task::{About, Fitted, Method, Setting, Training, Transformed, WIDE, Written};
use crate::traits::Risk;
use serde_json::{Map, Value};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Where the rows of a set are.
pub struct Whereabouts {
    /// The machines.
    pub cluster: Arc<dyn Cluster>,
    /// The pieces of each shard, one run behind the other.
    pub shards: Vec<Range<usize>>,
    /// Whether documents have weights.
    pub weighted: bool,
}

/// Fits a method on queries whose rows are on other machines: the set of the training is an [outline](RankSet::outline).
///
/// The model has the bytes that [`Method::fit`] gives where all rows are on one machine.
///
/// # Errors
///
/// Those of [`Method::fit`], those of the machines, and a method or a setting that needs all rows in one place.
pub fn fit_shards(
    method: &RankMethod,
    data: &Training<'_, Rank>,
    where_: Whereabouts,
    watch: &Watch,
) -> Result<Fitted<Rank>> {
    match method {
        RankMethod::RankSvm(learner) => fit(learner, method, data, where_, watch),
        RankMethod::RankMatch(learner) => fit(learner, method, data, where_, watch),
        RankMethod::Dorm(learner) => fit(learner, method, data, where_, watch),
        RankMethod::ListNet(learner) => fit(learner, method, data, where_, watch),
        other => Err(refuse(other.name())),
    }
}

fn fit<L: Spread>(
    learner: &L,
    method: &RankMethod,
    data: &Training<'_, Rank>,
    where_: Whereabouts,
    watch: &Watch,
) -> Result<Fitted<Rank>>
where
    L::Examples: Send + Sync,
{
    learner.check()?;
    learner.check_spread()?;
    let pieces = data.set.pieces();
    let queries = |run: &Range<usize>| match run.is_empty() {
        true => 0..0,
        false => pieces.units(run.start).start..pieces.units(run.end - 1).end,
    };
    let field = Field {
        queries: where_.shards.iter().map(queries).collect(),
        where_,
        seed: data.seed,
        method: method.to_string(),
        known: Mutex::default(),
        digest: OnceLock::new(),
    };
    let away = Away { inner: learner.clone(), field: Arc::new(field), scale: Scale::None };
    // of the data as they are given
    let digest = away.field.digest(data.set)?;
    away.field.digest.get_or_init(|| digest);
    let looks = away.field.looks(learner.transform(), data.set.columns.names.len(), data.train)?;
    if !looks.0.is_empty() {
        away.field.where_.cluster.transform(&pack_transforms(&looks.0)?)?;
    }
    away.fit_transformed(data, Transformed::elsewhere(looks), watch)
}

/// All shards.
struct Field {
    where_: Whereabouts,
    /// The queries of each shard.
    queries: Vec<Range<usize>>,
    seed: u64,
    method: String,
    /// The grades of lists of queries that were asked for last.
    known: Mutex<Vec<(Vec<u32>, Vec<f64>)>>,
    digest: OnceLock<String>,
}

/// Lists of grades that are kept: of both parts of five rounds.
const KEPT: usize = 10;

impl Field {
    /// Which queries of each shard are meant.
    fn masks(&self, units: &[u32]) -> Vec<Vec<u8>> {
        let last = self.queries.iter().map(|queries| queries.end).max().unwrap_or(0);
        let mut meant = vec![false; last];
        units.iter().for_each(|&q| meant[q as usize] = true);
        self.queries.iter().map(|queries| bits(meant[queries.clone()].iter().copied())).collect()
    }

    fn ask(
        &self,
        question: &Question,
        numbers: &[&[f64]],
        masks: &[Vec<u8>],
        stop: Option<&AtomicBool>,
    ) -> Result<Vec<(Said, Vec<Vec<f64>>)>> {
        let answers = self.where_.cluster.ask(&pack(question, numbers)?, masks, stop)?;
        if answers.len() != self.queries.len() {
            return Err(torn("an answer is missing"));
        }
        answers.iter().map(|answer| unpack(answer)).collect()
    }

    /// The sum of the nodes of all shards; nothing where there is no curvature, or no example.
    fn sum(
        answers: Vec<(Said, Vec<Vec<f64>>)>,
        before: usize,
        add: impl Fn(Vec<f64>, Vec<f64>) -> Vec<f64> + Sync,
    ) -> Option<Option<Vec<f64>>> {
        let all: Option<Vec<Vec<Node<Vec<f64>>>>> =
            answers.into_iter().map(|(said, lists)| nodes(&said, lists, before)).collect();
        all.map(|all| merge(all.into_iter().flatten().collect(), add))
    }

    /// The grades that occur in some queries, ascending.
    fn grades(&self, units: &[u32]) -> Result<Vec<f64>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, grades)) = known.iter().find(|(of, _)| of == units) {
            return Ok(grades.clone());
        }
        let answers = self.ask(&Question::Grades, &[], &self.masks(units), None)?;
        let grades = distinct(answers.into_iter().flat_map(|(_, lists)| lists.into_iter().flatten()).collect());
        if known.len() == KEPT {
            known.remove(0);
        }
        known.push((units.to_vec(), grades.clone()));
        Ok(grades)
    }

    /// The digest of the rows as they are.
    fn digest(&self, set: &RankSet) -> Result<String> {
        let answers = self.ask(&Question::Digests, &[], &vec![vec![]; self.queries.len()], None)?;
        let all: Vec<u8> = answers.into_iter().flat_map(|(said, _)| said.bytes).collect();
        let (pieces, _) = all.as_chunks::<32>();
        Ok(set.digest_of_parts(set.sizes().sum(), self.where_.weighted, pieces))
    }

    /// The transforms and ranges that some queries teach.
    fn looks(&self, how: Transform, columns: usize, units: &[u32]) -> Result<(Transforms, Ranges)> {
        let wide = columns > WIDE;
        if how == Transform::None && wide {
            return Ok(Default::default());
        }
        let masks = self.masks(units);
        let (mut values, mut many): (Vec<Vec<Run>>, Vec<bool>) = (vec![vec![]; columns], vec![false; columns]);
        for (_, lists) in self.ask(&Question::Values, &[], &masks, None)? {
            for ((list, values), many) in lists.iter().zip(&mut values).zip(&mut many) {
                *many |= list.len() == 1;
                let own: Vec<Run> = list.chunks_exact(2).map(|run| (run[0] as u32, run[1] as usize)).collect();
                *values = runs::merge(values, &own);
                *many |= values.len() > SENT;
            }
        }
        let mut all: Vec<Look> = values.iter().map(|runs| of_values(how, runs)).collect();
        let some: Vec<u32> = (0..columns as u32).filter(|&j| many[j as usize]).collect();
        for group in some.chunks(TOGETHER) {
            let question = Question::Below { columns: group.to_vec() };
            let below = |keys: &[Vec<u32>]| {
                let wide: Vec<Vec<f64>> =
                    keys.iter().map(|list| list.iter().map(|&key| f64::from(key)).collect()).collect();
                let lists: Vec<&[f64]> = wide.iter().map(Vec::as_slice).collect();
                let mut counts: Vec<Vec<usize>> = keys.iter().map(|list| vec![0; list.len()]).collect();
                for (_, own) in self.ask(&question, &lists, &masks, None)? {
                    for (counts, own) in counts.iter_mut().zip(own) {
                        counts.iter_mut().zip(own).for_each(|(count, own)| *count += own as usize);
                    }
                }
                Ok(counts)
            };
            for (&j, learned) in group.iter().zip(order::learn(how, group.len(), below)?) {
                all[j as usize] = learned;
            }
        }
        let (transforms, ranges) = all.into_iter().unzip();
        Ok((Transforms::new(transforms), if wide { Ranges::default() } else { Ranges::new(units.len(), ranges) }))
    }

    /// Offsets and factors of `scale=global`.
    fn standard(&self, set: &RankSet, units: &[u32]) -> Result<Affine> {
        let (masks, columns) = (self.masks(units), set.columns.names.len());
        let n = units.iter().map(|&q| set.span(q as usize).len()).sum::<usize>().max(1);
        let totals = Self::sum(self.ask(&Question::Totals, &[], &masks, None)?, 0, Parts::add(columns)).flatten();
        let means = Parts::means(totals.as_deref(), columns, n);
        let squares = Self::sum(self.ask(&Question::Squares, &[&means], &masks, None)?, 0, add_up).flatten();
        Ok(Affine::of_parts(totals.as_deref(), squares.as_deref(), columns, n))
    }
}

/// Offsets and factors in double precision, of a scaling that has them.
fn doubles(scaling: Option<&Affine>) -> [Vec<f64>; 2] {
    let wide = |list: &[f32]| list.iter().map(|&x| f64::from(x)).collect();
    scaling.map_or([vec![], vec![]], |affine| [wide(&affine.offset), wide(&affine.factor)])
}

/// A learner whose examples are elsewhere.
#[derive(Clone)]
struct Away<L> {
    inner: L,
    field: Arc<Field>,
    /// The scaling that is settled.
    scale: Scale,
}

impl<L: fmt::Debug> fmt::Debug for Away<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Away").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<L: PartialEq> PartialEq for Away<L> {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner && self.scale == other.scale && Arc::ptr_eq(&self.field, &other.field)
    }
}

impl<L: Spread> Method<Rank> for Away<L> {
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

    fn resumes(&self) -> bool {
        self.inner.resumes()
    }

    fn transform(&self) -> Transform {
        self.inner.transform()
    }

    fn written(&self) -> Written {
        self.inner.written()
    }

    fn learn(&self, data: &Training<'_, Rank>, watch: &Watch) -> Result<Fitted<Rank>> {
        search::fit(self, data, watch)
    }
}

/// Examples that are elsewhere, and what they come to.
struct Elsewhere {
    lesson: Lesson,
    masks: Vec<Vec<u8>>,
    whole: Whole,
    columns: usize,
}

impl<L: Spread> Learner for Away<L> {
    type Examples = Elsewhere;
    type Carry = L::Carry;

    fn choices(&self) -> Choices {
        Learner::choices(&self.inner)
    }

    fn draw(&self, data: &Training<'_, Rank>, units: &[u32]) -> Result<Drawn<Elsewhere>> {
        let (field, masks) = (&self.field, self.field.masks(units));
        let method = self.settled_text();
        let lesson = Lesson { method, seed: field.seed, grades: field.grades(units)? };
        let answers = field.ask(&Question::Draw(lesson.clone()), &[], &masks, None)?;
        let (mut whole, mut teaching) = (Whole::default(), vec![]);
        for ((said, lists), queries) in answers.iter().zip(&field.queries) {
            let Some(&[count, uneven]) = lists.first().map(Vec::as_slice) else {
                return Err(torn("numbers are missing"));
            };
            whole.count += count;
            whole.uneven += uneven as usize;
            teaching.extend(set_bits(&said.bytes, 0..queries.len()).map(|k| (queries.start + k) as u32));
        }
        whole.teaching = teaching.len();
        whole.total = Field::sum(answers, 1, add_up).flatten().and_then(|sum| sum.first().copied()).unwrap_or(0.0);
        self.inner.enough(&whole)?;
        let examples = Elsewhere { lesson, masks, whole, columns: data.set.columns.names.len() };
        Ok(Drawn { units: teaching, examples, count: whole.count, weights: None, kind: self.inner.kind() })
    }

    fn risk<'a>(&self, problem: &Problem<'a, Elsewhere>, stop: &'a AtomicBool) -> Box<dyn Risk + 'a> {
        let Elsewhere { lesson, masks, whole, columns } = &problem.drawn.examples;
        let [offset, factor] = doubles(problem.rows.global());
        Box::new(Remote {
            field: Arc::clone(&self.field),
            lesson,
            masks,
            whole: [whole.count, whole.total],
            scale: self.scale,
            offset,
            factor,
            columns: *columns,
            stop,
            heeds: false,
        })
    }

    fn descend(
        &self,
        risk: &mut dyn Risk,
        lambda: f64,
        from: Start<L::Carry>,
        watch: &Watch,
    ) -> Result<Solved<L::Carry>> {
        self.inner.descend(risk, lambda, from, watch)
    }

    fn used(&self) -> Map<String, Value> {
        self.inner.used()
    }

    fn signs(&self, columns: &Columns) -> Result<Vec<i8>> {
        self.inner.signs(columns)
    }

    fn settled(&self, at: Point) -> Self {
        Self { inner: self.inner.settled(at), scale: at.scale, ..self.clone() }
    }

    fn places(&self) -> Vec<f64> {
        self.inner.places()
    }

    fn digest(&self, set: &RankSet) -> Result<String> {
        match self.field.digest.get() {
            Some(digest) => Ok(digest.clone()),
            None => self.field.digest(set),
        }
    }

    fn scaling(&self, scale: Scale, set: &RankSet, units: &[u32]) -> Result<Scaling> {
        match scale {
            Scale::Global => self.field.standard(set, units).map(Scaling::Global),
            _ => Ok(Scaling::None), // each shard learns its own
        }
    }

    fn worth(
        &self,
        ranker: Option<(&Ranker, &Scaling)>,
        data: &Training<'_, Rank>,
        units: &[u32],
        by: Metric,
    ) -> Result<Vec<Option<f64>>> {
        let field = &self.field;
        let largest = field.grades(units)?.last().copied().unwrap_or(0.0).max(0.0);
        let scale = ranker.map_or(Scale::None, |(ranker, _)| ranker.inputs.scale);
        let [offset, factor] = doubles(ranker.and_then(|(_, scaling)| scaling.global()));
        let weights = ranker.map_or(&[][..], |(ranker, _)| ranker.score.weights());
        let (metric, convention) = (by.to_string(), data.convention.to_string());
        let question = Question::Worth { scale, metric, convention };
        let answers = field.ask(&question, &[&offset, &factor, weights, &[largest]], &field.masks(units), None)?;
        // answers are by ascending number, whatever the order of the list
        let mut order: Vec<usize> = (0..units.len()).collect();
        order.sort_by_key(|&n| units[n]);
        let mut values = vec![None; units.len()];
        for (n, value) in order.into_iter().zip(answers.iter().flat_map(|(_, lists)| lists.iter().flatten())) {
            values[n] = Some(*value).filter(|value| !value.is_nan());
        }
        Ok(values)
    }
}

impl<L: Spread> Away<L> {
    /// The method with what is settled beside scaling and λ, as shards are told of it.
    fn settled_text(&self) -> String {
        let weight = self.inner.get("weight").map(|weight| format!("weight={weight}"));
        match (weight, self.field.method.strip_suffix(']')) {
            (None, _) => self.field.method.clone(),
            (Some(weight), Some(open)) => format!("{open},{weight}]"),
            (Some(weight), None) => format!("{}[{weight}]", self.field.method),
        }
    }
}

/// The sum of what all shards say of a risk.
struct Remote<'a> {
    field: Arc<Field>,
    lesson: &'a Lesson,
    masks: &'a [Vec<u8>],
    whole: [f64; 2],
    scale: Scale,
    offset: Vec<f64>,
    factor: Vec<f64>,
    columns: usize,
    stop: &'a AtomicBool,
    heeds: bool,
}

impl Remote<'_> {
    /// The sum, written to `out`, and the number behind it; nothing where there is no curvature.
    fn sum(&self, what: What, lists: [&[f64]; 2], out: &mut [f64]) -> Result<Option<f64>> {
        let question = Question::Risk { lesson: self.lesson.clone(), scale: self.scale, what };
        let numbers = [&self.whole[..], &self.offset, &self.factor, lists[0], lists[1]];
        let stop = Some(self.stop).filter(|_| self.heeds);
        let Some(sum) = Field::sum(self.field.ask(&question, &numbers, self.masks, stop)?, 0, add_up) else {
            return Ok(None);
        };
        let sum = sum.unwrap_or_else(|| vec![0.0; out.len() + 1]);
        if sum.len() < out.len() {
            return Err(torn("a sum of another size"));
        }
        out.copy_from_slice(&sum[..out.len()]);
        Ok(Some(sum.get(out.len()).copied().unwrap_or(0.0)))
    }
}

impl Risk for Remote<'_> {
    fn dim(&self) -> usize {
        self.columns
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        finite("the objective", self.sum(What::Value, [theta, &[]], grad)?.unwrap_or(0.0))
    }

    fn curvature(&mut self, theta: &[f64], v: &[f64], out: &mut [f64]) -> Result<bool> {
        Ok(self.sum(What::Product, [theta, v], out)?.is_some())
    }

    fn hessian(&mut self, theta: &[f64], out: &mut [f64]) -> Result<bool> {
        let there = self.sum(What::Hessian, [theta, &[]], out)?.is_some();
        mirror(out, self.columns);
        Ok(there)
    }

    fn heed(&mut self, stop: bool) {
        self.heeds = stop;
    }
}
