//! What holds rows of queries, and answers questions about them.

use super::away::{Asked, Lesson};
use super::{Lessons, Spread, Taught, Whole};
use crate::data::{Filled, Place, RankSet};
use crate::error::{Error, Result};
use crate::method::rank::RankMethod;
use crate::method::shards::parts::{Part, Parts};
use crate::method::shards::wire::{Question, bits, said, torn, unpack};
use crate::method::{Rank, Ranker};
use crate::metric;
use crate::score::Score;
use crate::scorer::rows::Rows;
use crate::task::{Inputs, Training};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Drawn examples that are kept at most.
const KEPT: usize = 2;

/// Examples of all parts, and what they were drawn by.
type Drawn = (Lesson, Vec<u8>, Arc<Vec<Box<dyn Taught>>>);

/// Queries of a set that is spread over machines: a run of its [pieces](crate::pieces).
///
/// [`Self::answer`] depends on the rows and on the question alone. Examples and scalings are kept for the next question about the same, and made
/// anew by a shard that has none.
pub struct Shard {
    parts: Parts<RankSet>,
    drawn: Mutex<Vec<Drawn>>,
}

impl Shard {
    /// Queries that stand at some [`Place`] of a set; of each set some pieces that are whole in it, one run behind the other.
    ///
    /// ```
    /// use ordain::{data::{Place, synthetic::Synthetic}, method::Shard};
    /// let set = Synthetic::default().make();
    /// let (pieces, half) = (set.pieces(), set.pieces().len() / 2);
    /// let (units, rows) = (0..pieces.units(half).start, 0..pieces.rows(half).start);
    /// let place = Place { pieces: pieces.within(units.clone(), rows), query: 0, row: 0 };
    /// let shard = Shard::new(vec![(set.part(units.clone()), place, 0..half)]);
    /// assert_eq!(shard.queries(), units.len());
    /// ```
    pub fn new(parts: Vec<(RankSet, Place, Range<usize>)>) -> Self {
        Self { parts: Parts::new(parts), drawn: Mutex::default() }
    }

    /// The number of its queries.
    pub fn queries(&self) -> usize {
        self.parts.len()
    }

    /// The number of its documents.
    pub fn rows(&self) -> usize {
        self.parts.rows()
    }

    /// Answers a question about some of the queries, on all threads. Both are bytes that [`fit_shards`](super::fit_shards) makes.
    ///
    /// # Errors
    ///
    /// What a fit on one machine would refuse in these rows, and bytes that no question has.
    pub fn answer(&self, common: &[u8], own: &[u8]) -> Result<Vec<u8>> {
        let (question, numbers): (Question<Asked>, Vec<Vec<f64>>) = unpack(common)?;
        let list = |k: usize| numbers.get(k).map(Vec::as_slice).ok_or_else(|| torn("numbers are missing"));
        let units = self.parts.units(own);
        let asked = match question {
            Question::Rows(of) => return self.parts.answer(&of, &numbers, (own, &units)),
            Question::Own(asked) => asked,
        };
        match asked {
            Asked::Grades => {
                let grades = self.parts.iter().zip(&units).flat_map(|(part, units)| {
                    units.iter().flat_map(|&q| part.set.grades[part.set.span(q as usize)].iter().copied())
                });
                said(Some(vec![]), vec![distinct(grades.collect())], vec![])
            }
            Asked::Draw(lesson) => {
                let drawn = self.drawn(&lesson, own, &units)?;
                let (mut nodes, mut count, mut taught) = (vec![], 0.0, vec![]);
                let mut uneven = 0;
                for ((part, units), drawn) in self.parts.iter().zip(&units).zip(drawn.iter()) {
                    nodes.extend(drawn.totals(&part.set, part.run.clone()));
                    count += drawn.count();
                    uneven += units.iter().filter(|&&q| !part.set.is_flat(q as usize)).count();
                    let mut own = vec![false; part.units.len()];
                    drawn.units().iter().for_each(|&q| own[q as usize - part.units.start] = true);
                    taught.extend(own);
                }
                said(Some(nodes), vec![vec![count, uneven as f64]], bits(taught.into_iter()))
            }
            Asked::Risk { lesson, scale, what } => {
                let (drawn, scalings) =
                    (self.drawn(&lesson, own, &units)?, self.parts.scalings(scale, list(1)?, list(2)?));
                let [count, total] = *list(0)? else { return Err(torn("numbers are missing")) };
                let whole = Whole { count, total, ..Whole::default() };
                let theta = list(3)?;
                let ask = what.at(theta, numbers.get(4).map_or(&[], Vec::as_slice));
                let mut nodes = Some(vec![]);
                for ((part, drawn), scaling) in self.parts.iter().zip(drawn.iter()).zip(scalings.iter()) {
                    let rows = Rows::new(&part.set, drawn.units(), scaling);
                    let own = drawn.nodes(&rows, &whole, part.run.clone(), ask)?;
                    nodes = nodes.zip(own).map(|(mut nodes, own)| {
                        nodes.extend(own);
                        nodes
                    });
                }
                said(nodes, vec![], vec![])
            }
            Asked::Worth { scale, metric, convention } => {
                let [max_grade] = *list(3)? else { return Err(torn("numbers are missing")) };
                let (by, convention) = (metric.parse()?, convention.parse()?);
                let (scalings, weights, mut values) =
                    (self.parts.scalings(scale, list(0)?, list(1)?), list(2)?, vec![]);
                for ((part, units), scaling) in self.parts.iter().zip(&units).zip(scalings.iter()) {
                    let scores = if weights.is_empty() {
                        vec![0.0; part.set.rows()]
                    } else {
                        let inputs = Inputs::new(&part.set.columns, &Filled::default(), scale, scaling.global());
                        let score = Score::Linear(weights.to_vec());
                        let ranker = Ranker { inputs, score, places: vec![], quadratic: None, start: None };
                        ranker.scores_with(&part.set, units, scaling)?
                    };
                    let made = metric::evaluate_part(&part.set, units, &scores, &[by], &convention, max_grade)?;
                    values.extend(made.values[0].iter().map(|value| value.unwrap_or(f64::NAN)));
                }
                said(Some(vec![]), vec![values], vec![])
            }
        }
    }

    /// The same shard with its columns transformed; the bytes are those that [`Cluster::transform`](crate::method::Cluster::transform) is given.
    ///
    /// # Errors
    ///
    /// Bytes that are no transforms.
    pub fn transformed(&self, by: &[u8]) -> Result<Self> {
        Ok(Self { parts: self.parts.transformed(by)?, drawn: Mutex::default() })
    }

    /// The examples of each part.
    fn drawn(&self, lesson: &Lesson, own: &[u8], units: &[Vec<u32>]) -> Result<Arc<Vec<Box<dyn Taught>>>> {
        let mut kept = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(of, mask, _)| of == lesson && mask == own) {
            return Ok(Arc::clone(&kept[at].2));
        }
        let method: RankMethod = lesson.method.parse()?;
        let of = |(part, units): (&Part<RankSet>, &Vec<u32>)| {
            let data = Training { seed: lesson.seed, ..Training::<Rank>::new(&part.set, units) };
            match &method {
                RankMethod::RankSvm(learner) => lessons(learner, &data, &lesson.grades),
                RankMethod::RankMatch(learner) => lessons(learner, &data, &lesson.grades),
                RankMethod::Dorm(learner) => lessons(learner, &data, &lesson.grades),
                RankMethod::ListNet(learner) => lessons(learner, &data, &lesson.grades),
                _ => Err(torn("a method that is not spread over machines")),
            }
        };
        let made = Arc::new(self.parts.iter().zip(units).map(of).collect::<Result<Vec<_>>>()?);
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((lesson.clone(), own.to_vec(), Arc::clone(&made)));
        Ok(made)
    }
}

/// Examples of the training queries.
fn lessons<L: Spread>(learner: &L, data: &Training<'_, Rank>, grades: &[f64]) -> Result<Box<dyn Taught>>
where
    L::Examples: Send + Sync,
{
    let drawn = learner.examples(data, data.train, grades)?;
    Ok(Box::new(Lessons { learner: learner.clone(), drawn }))
}

/// Grades that occur, ascending.
pub(super) fn distinct(mut grades: Vec<f64>) -> Vec<f64> {
    grades.sort_by(f64::total_cmp);
    grades.dedup_by(|next, last| *next <= *last);
    grades
}

/// What the method is called where it has to be on one machine.
pub(super) fn refuse(method: &str) -> Error {
    Error::Setting {
        name: "method".into(),
        expected: "ranksvm, rankmatch, dorm or listnet on several machines (any other on a sample of the queries, on one machine)".into(),
        found: method.into(),
    }
}
