//! Labelling that is replayed from known labels: what questions are worth.

use super::{Count, Known, Question, Strategy, next};
use crate::data::LabelSet;
use crate::error::{Error, Result};
use crate::method::annotator::ranked;
use crate::method::{Annotate, Annotator, LabelWork, Scored};
use crate::random::Random;
use crate::solver::run::Watch;
use crate::structure::star::{Clamp, Subsets};
use crate::task::Ready;
use rayon::prelude::*;
use std::sync::atomic::Ordering;

/// Items that are done between two looks at whether somebody waits no longer.
const BATCH: usize = 64;

/// Whether questions about item `i` can be replayed: it has labels, and lacks some that are known to be lacking.
pub fn replayable(set: &LabelSet, i: usize) -> bool {
    set.tells(i)
}

/// Labels item `i` by questions that its own labels answer: the precision at k, the true number of labels, before the first
/// question and after each of `questions`. Empty where [nothing can be replayed](replayable).
///
/// The k labels are those that were answered with yes, then the best [values](Annotator::values_at) of labels that are open;
/// labels of which it is unknown whether they apply are never asked about and never among the k. With `told`, the model knows k
/// throughout (break-even precision with an oracle, as in \[QAP\], Table 1); else it asks and ranks by what it thinks the number is.
///
/// Costs a [`next`] and a prediction per question.
pub fn replay(
    annotator: &Annotator,
    item: &Scored,
    set: &LabelSet,
    i: usize,
    (strategy, questions, told): (Strategy, usize, bool),
    random: &mut Random,
    work: &mut LabelWork,
) -> Result<Vec<f64>> {
    let (yes, n) = (set.yes(i), annotator.labels.len());
    strategy.check(annotator.trainer)?;
    if set.labels.len() != n {
        return Err(Error::Data {
            expected: format!("the {n} labels of the model"),
            found: format!("{} labels", set.labels.len()),
        });
    }
    if !replayable(set, i) {
        return Ok(vec![]);
    }
    let k = yes.len();
    let mut clamp = Clamp::out(n, set.unknown(i));
    clamp.resize(n, Clamp::Free);
    let count = if told { Count::Told(k) } else { Count::Learned };
    let mut curve = vec![];
    loop {
        let mut values = match count {
            Count::Told(k) => annotator.values_at(item, &Subsets { k, clamp: &clamp }, work)?,
            Count::Learned => annotator.values(item, &clamp, work)?.0,
        };
        for (value, clamp) in values.iter_mut().zip(&clamp) {
            match clamp {
                Clamp::Free => *value = value.clamp(f64::MIN, f64::MAX),
                Clamp::In => *value = f64::INFINITY,
                Clamp::Out => *value = f64::NEG_INFINITY,
            }
        }
        let right = ranked(&values)[..k].iter().filter(|label| yes.binary_search(label).is_ok()).count();
        curve.push(right as f64 / k as f64);
        if curve.len() > questions {
            return Ok(curve);
        }
        match next(annotator, item, &Known { count, clamp: &clamp, skipped: &[] }, strategy, random, work)? {
            Some(Question { label, .. }) => {
                clamp[label as usize] = if yes.binary_search(&label).is_ok() { Clamp::In } else { Clamp::Out };
            }
            None => {
                curve.resize(questions + 1, right as f64 / k as f64);
                return Ok(curve);
            }
        }
    }
}

/// What questions by one strategy gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// The strategy.
    pub strategy: Strategy,
    /// Of each item the precisions after 0, 1, 2 … questions.
    pub rows: Vec<Vec<f64>>,
}

impl Replayed {
    /// The precisions of all items after so many questions; after the last one nothing changes.
    ///
    /// ```
    /// use ordain::ask::{Replayed, Strategy};
    /// let replayed = Replayed { strategy: Strategy::Paper, rows: vec![vec![0.5, 0.5, 1.0], vec![1.0]] };
    /// assert_eq!(replayed.at(2), [1.0, 1.0]);
    /// ```
    pub fn at(&self, questions: usize) -> Vec<f64> {
        self.rows.iter().map(|row| row.get(questions).or(row.last()).copied().unwrap_or(0.0)).collect()
    }
}

/// [Replays](replay) up to `questions` questions about each of `units`, all of which must be [replayable]; an item has a stream of random numbers of its
/// own, so that neither threads nor other items change what is asked about it.
pub fn replay_all(
    annotator: &Annotator,
    on: &Ready<'_, Annotate>,
    units: &[u32],
    how: (Strategy, usize, bool),
    seed: u64,
    watch: &Watch,
) -> Result<Replayed> {
    let mut rows = Vec::with_capacity(units.len());
    for batch in units.chunks(BATCH) {
        if watch.stop.load(Ordering::SeqCst) {
            return Err(Error::Interrupted);
        }
        let one = |work: &mut LabelWork, &i: &u32| {
            let item = annotator.score(on, i as usize)?;
            let mut random = Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(i)));
            replay(annotator, &item, on.set(), i as usize, how, &mut random, work)
        };
        let part: Result<Vec<_>> = batch.par_iter().map_init(LabelWork::default, one).collect();
        rows.extend(part?);
        (watch.tell)(rows.len() as f64 / units.len() as f64, how.0.name());
    }
    Ok(Replayed { strategy: how.0, rows })
}
