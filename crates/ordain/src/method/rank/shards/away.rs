//! Where the fit runs: learners whose examples are on other machines.

use super::shard::{distinct, refuse};
use super::{Spread, Whole};
use crate::data::scale::{Affine, Scale, Scaling};
use crate::data::transform::Transform;
use crate::data::{Columns, RankSet};
use crate::error::Result;
use crate::method::rank::RankMethod;
use crate::method::rank::search::{self, Choices, Drawn, Learner, Point, Problem, Solved, Start};
use crate::method::shards::Whereabouts;
use crate::method::shards::field::{Field, doubles};
use crate::method::shards::remote::Remote;
use crate::method::shards::wire::{Question, What, Which, set_bits, torn};
use crate::method::{Rank, Ranker};
use crate::metric::Metric;
use crate::pieces::add_up;
use crate::solver::run::Watch;
use crate::task::{About, Fitted, Method, Setting, Training, Transformed, Written};
use crate::traits::Risk;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

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
    let field = Queries {
        field: Arc::new(Field::new(&where_, &data.set.pieces())),
        weighted: where_.weighted,
        seed: data.seed,
        method: method.to_string(),
        known: Mutex::default(),
        digest: OnceLock::new(),
    };
    let away = Away { inner: learner.clone(), field: Arc::new(field), scale: Scale::None };
    // of the data as they are given
    let digest = away.field.digest(data.set)?;
    away.field.digest.get_or_init(|| digest);
    let looks = away.field.field.looks(learner.transform(), data.set.columns.names.len(), data.train)?;
    away.field.field.transform(&looks.0)?;
    away.fit_transformed(data, Transformed::elsewhere(looks), watch)
}

/// What examples are drawn by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Lesson {
    /// The method with its settings.
    pub(super) method: String,
    pub(super) seed: u64,
    /// The grades of the training queries, ascending.
    pub(super) grades: Vec<f64>,
}

/// What a shard of queries can be asked; numbers stand behind the question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Asked {
    /// The grades that occur, ascending.
    Grades,
    /// Which queries teach something; how many have two grades, the number of examples, and the nodes of their totals.
    Draw(Lesson),
    /// The nodes of a risk, given the count and the total of all examples, offsets, factors, the parameters and a vector.
    Risk { lesson: Lesson, scale: Scale, what: What },
    /// What each query is worth by a metric, given offsets, factors, the weights (none: all scores are 0) and the largest grade.
    Worth { scale: Scale, metric: String, convention: String },
}

/// All shards of queries.
struct Queries {
    field: Arc<Field>,
    weighted: bool,
    seed: u64,
    method: String,
    /// The grades of lists of queries that were asked for last.
    known: Mutex<Vec<(Vec<u32>, Vec<f64>)>>,
    digest: OnceLock<String>,
}

/// Lists of grades that are kept: of both parts of five rounds.
const KEPT: usize = 10;

impl Queries {
    /// The grades that occur in some queries, ascending.
    fn grades(&self, units: &[u32]) -> Result<Vec<f64>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, grades)) = known.iter().find(|(of, _)| of == units) {
            return Ok(grades.clone());
        }
        let answers = self.field.ask(&Question::Own(Asked::Grades), &[], &self.field.masks(units), None)?;
        let grades = distinct(answers.into_iter().flat_map(|(_, lists)| lists.into_iter().flatten()).collect());
        if known.len() == KEPT {
            known.remove(0);
        }
        known.push((units.to_vec(), grades.clone()));
        Ok(grades)
    }

    /// The digest of the rows as they are.
    fn digest(&self, set: &RankSet) -> Result<String> {
        Ok(set.digest_of_parts(set.sizes().sum(), self.weighted, &self.field.digests()?))
    }

    /// Offsets and factors of `scale=global`.
    fn standard(&self, set: &RankSet, units: &[u32]) -> Result<Affine> {
        let rows = units.iter().map(|&q| set.span(q as usize).len()).sum();
        self.field.standard(set.columns.names.len(), rows, units, Which::All)
    }
}

/// A learner whose examples are elsewhere.
#[derive(Clone)]
struct Away<L> {
    inner: L,
    field: Arc<Queries>,
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
        let (field, masks) = (&self.field, self.field.field.masks(units));
        let method = self.settled_text();
        let lesson = Lesson { method, seed: field.seed, grades: field.grades(units)? };
        let answers = field.field.ask(&Question::Own(Asked::Draw(lesson.clone())), &[], &masks, None)?;
        let (mut whole, mut teaching) = (Whole::default(), vec![]);
        for ((said, lists), queries) in answers.iter().zip(field.field.units()) {
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
        let (lesson, scale) = (lesson.clone(), self.scale);
        Box::new(Remote {
            field: Arc::clone(&self.field.field),
            question: move |what| Asked::Risk { lesson: lesson.clone(), scale, what },
            numbers: vec![vec![whole.count, whole.total], offset, factor],
            masks: masks.clone(),
            dim: *columns,
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
        let question = Question::Own(Asked::Worth { scale, metric, convention });
        let numbers = [&offset[..], &factor, weights, &[largest]];
        let answers = field.field.ask(&question, &numbers, &field.field.masks(units), None)?;
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
