//! What holds rows, and answers questions about them.

use super::wire::{Lesson, Question, What, bits, said, set_bits, torn, unpack, unpack_transforms};
use super::{Lessons, Spread, Taught, Whole};
use crate::data::scale::{Affine, Parts, Scale, Scaling};
use crate::data::transform::SENT;
use crate::data::{Filled, Place, RankSet};
use crate::error::{Error, Result};
use crate::matrix::runs::{self, Run, merge};
use crate::method::rank::RankMethod;
use crate::method::{Rank, Ranker};
use crate::metric;
use crate::risk::Ask;
use crate::score::Score;
use crate::scorer::rows::Rows;
use crate::task::{Inputs, Training};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Drawn examples that are kept at most.
const KEPT: usize = 2;

/// Queries of a set that is spread over machines: a run of its [pieces](crate::pieces).
///
/// [`Self::answer`] depends on the rows and on the question alone. Examples and scalings are kept for the next question about the same, and made
/// anew by a shard that has none.
pub struct Shard {
    parts: Vec<Part>,
    kept: Mutex<Kept>,
}

/// Some of the pieces, with the queries of a set that are theirs.
struct Part {
    set: RankSet,
    run: Range<usize>,
    units: Range<usize>,
}

/// Examples of all parts, and what they were drawn by.
type Drawn = (Lesson, Vec<u8>, Arc<Vec<Box<dyn Taught>>>);

/// The values of some columns in order, of some queries, of each part.
type Sorted = (Vec<u32>, Vec<u8>, Arc<Vec<Vec<Vec<Run>>>>);

/// The rows of some queries.
fn rows(part: &Part, units: &[u32]) -> Vec<u32> {
    units.iter().flat_map(|&q| part.set.span(q as usize)).map(|row| row as u32).collect()
}

#[derive(Default)]
struct Kept {
    drawn: Vec<Drawn>,
    scalings: Vec<(Scale, Arc<Vec<Scaling>>)>,
    sorted: Option<Sorted>,
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
        let part = |(set, place, run): (RankSet, Place, Range<usize>)| {
            let units = match run.is_empty() {
                true => 0..0,
                false => place.pieces.units(run.start).start..place.pieces.units(run.end - 1).end,
            };
            Part { set: set.placed(place), run, units }
        };
        Self { parts: parts.into_iter().map(part).collect(), kept: Mutex::default() }
    }

    /// The number of its queries.
    pub fn queries(&self) -> usize {
        self.parts.iter().map(|part| part.units.len()).sum()
    }

    /// The number of its documents.
    pub fn rows(&self) -> usize {
        self.parts.iter().flat_map(|part| part.units.clone().map(|q| part.set.span(q).len())).sum()
    }

    /// Answers a question about some of the queries, on all threads. Both are bytes that [`fit_shards`](super::fit_shards) makes.
    ///
    /// # Errors
    ///
    /// What a fit on one machine would refuse in these rows, and bytes that no question has.
    pub fn answer(&self, common: &[u8], own: &[u8]) -> Result<Vec<u8>> {
        let (question, numbers): (Question, Vec<Vec<f64>>) = unpack(common)?;
        let list = |k: usize| numbers.get(k).map(Vec::as_slice).ok_or_else(|| torn("numbers are missing"));
        let units = self.units(own);
        match question {
            Question::Digests => {
                let all = self.parts.iter().flat_map(|part| part.set.digests(part.run.clone()));
                said(Some(vec![]), vec![], all.flatten().collect())
            }
            Question::Grades => {
                let grades = self.parts.iter().zip(&units).flat_map(|(part, units)| {
                    units.iter().flat_map(|&q| part.set.grades[part.set.span(q as usize)].iter().copied())
                });
                said(Some(vec![]), vec![distinct(grades.collect())], vec![])
            }
            Question::Draw(lesson) => {
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
            Question::Values => {
                let columns = self.parts.first().map_or(0, |part| part.set.features.cols());
                let mut all: Vec<Vec<Run>> = vec![vec![]; columns];
                for (part, units) in self.parts.iter().zip(&units) {
                    let few = |_: usize, runs: &[Run]| runs[..runs.len().min(SENT + 1)].to_vec();
                    let own = runs::columns(&part.set.features, &rows(part, units), few);
                    all.iter_mut().zip(own).for_each(|(all, own)| *all = merge(all, &own));
                }
                let sent = |runs: Vec<Run>| match runs.len() > SENT {
                    true => vec![f64::NAN],
                    false => runs.iter().flat_map(|run| [f64::from(run.0), run.1 as f64]).collect(),
                };
                said(Some(vec![]), all.into_iter().map(sent).collect(), vec![])
            }
            Question::Below { columns } => {
                let sorted = self.sorted(&columns, own, &units);
                let mut counts: Vec<Vec<f64>> = numbers.iter().map(|keys| vec![0.0; keys.len()]).collect();
                for part in sorted.iter() {
                    for ((counts, keys), runs) in counts.iter_mut().zip(&numbers).zip(part) {
                        for (count, &key) in counts.iter_mut().zip(keys) {
                            let at = runs.partition_point(|run| f64::from(run.0) < key);
                            *count += if at == 0 { 0.0 } else { runs[at - 1].1 as f64 };
                        }
                    }
                }
                said(Some(vec![]), counts, vec![])
            }
            Question::Totals => {
                let of = |(part, units): (&Part, &Vec<u32>)| Parts::totals((&part.set).into(), units, part.run.clone());
                said(Some(self.parts.iter().zip(&units).flat_map(of).collect()), vec![], vec![])
            }
            Question::Squares => {
                let means = list(0)?;
                let of = |(part, units): (&Part, &Vec<u32>)| {
                    Parts::squares((&part.set).into(), units, part.run.clone(), means)
                };
                said(Some(self.parts.iter().zip(&units).flat_map(of).collect()), vec![], vec![])
            }
            Question::Risk { lesson, scale, what } => {
                let (drawn, scalings) = (self.drawn(&lesson, own, &units)?, self.scalings(scale, list(1)?, list(2)?));
                let [count, total] = *list(0)? else { return Err(torn("numbers are missing")) };
                let whole = Whole { count, total, ..Whole::default() };
                let theta = list(3)?;
                let ask = match what {
                    What::Value => Ask::Value { theta },
                    What::Product => Ask::Product { theta, v: list(4)? },
                    What::Hessian => Ask::Hessian { theta },
                };
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
            Question::Worth { scale, metric, convention } => {
                let [max_grade] = *list(3)? else { return Err(torn("numbers are missing")) };
                let (by, convention) = (metric.parse()?, convention.parse()?);
                let (scalings, weights, mut values) = (self.scalings(scale, list(0)?, list(1)?), list(2)?, vec![]);
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

    /// The same shard with its columns transformed; the bytes are those that [`Cluster::transform`](super::Cluster::transform) is given.
    ///
    /// # Errors
    ///
    /// Bytes that are no transforms.
    pub fn transformed(&self, by: &[u8]) -> Result<Self> {
        let transforms = unpack_transforms(by)?;
        let one = |part: &Part| {
            let mut set = part.set.clone();
            transforms.apply(&mut set.features);
            Part { set, run: part.run.clone(), units: part.units.clone() }
        };
        Ok(Self { parts: self.parts.iter().map(one).collect(), kept: Mutex::default() })
    }

    /// The values of some columns in order, each with how many are not above it; of each part, and kept for the next question.
    fn sorted(&self, columns: &[u32], own: &[u8], units: &[Vec<u32>]) -> Arc<Vec<Vec<Vec<Run>>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, mask, sorted)) = &kept.sorted
            && of == columns
            && mask == own
        {
            return Arc::clone(sorted);
        }
        kept.sorted = None; // one is enough memory
        let some: Vec<Option<u32>> = columns.iter().map(|&j| Some(j)).collect();
        let added = |_: usize, runs: &[Run]| {
            let mut sum = 0;
            let of = |run: &Run| {
                sum += run.1;
                (run.0, sum)
            };
            runs.iter().map(of).collect::<Vec<Run>>()
        };
        let one = |(part, units): (&Part, &Vec<u32>)| {
            runs::columns(&part.set.features.select_columns(&some), &rows(part, units), added)
        };
        let made = Arc::new(self.parts.iter().zip(units).map(one).collect::<Vec<_>>());
        kept.sorted = Some((columns.to_vec(), own.to_vec(), Arc::clone(&made)));
        made
    }

    /// The queries that are meant, of each part.
    fn units(&self, own: &[u8]) -> Vec<Vec<u32>> {
        let mut before = 0;
        let of = |part: &Part| {
            let bits = before..before + part.units.len();
            before = bits.end;
            let shift = |k: usize| (k - bits.start + part.units.start) as u32;
            set_bits(own, bits.clone()).map(shift).collect()
        };
        self.parts.iter().map(of).collect()
    }

    /// The scaling of each part; by query it is kept.
    fn scalings(&self, scale: Scale, offset: &[f64], factor: &[f64]) -> Arc<Vec<Scaling>> {
        let single = |list: &[f64]| list.iter().map(|&x| x as f32).collect();
        if !offset.is_empty() {
            let global = Scaling::Global(Affine { offset: single(offset), factor: single(factor) });
            return Arc::new(vec![global; self.parts.len()]);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = kept.scalings.iter().find(|(of, _)| *of == scale) {
            return Arc::clone(known);
        }
        let made = self.parts.iter().map(|part| {
            let units: Vec<u32> = part.units.clone().map(|q| q as u32).collect();
            Scaling::of_units(scale, &part.set, &units)
        });
        let made = Arc::new(made.collect());
        kept.scalings.push((scale, Arc::clone(&made)));
        made
    }

    /// The examples of each part.
    fn drawn(&self, lesson: &Lesson, own: &[u8], units: &[Vec<u32>]) -> Result<Arc<Vec<Box<dyn Taught>>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.drawn.iter().position(|(of, mask, _)| of == lesson && mask == own) {
            return Ok(Arc::clone(&kept.drawn[at].2));
        }
        let method: RankMethod = lesson.method.parse()?;
        let of = |(part, units): (&Part, &Vec<u32>)| {
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
        if kept.drawn.len() == KEPT {
            kept.drawn.remove(0);
        }
        kept.drawn.push((lesson.clone(), own.to_vec(), Arc::clone(&made)));
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
