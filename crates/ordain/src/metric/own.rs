//! Metrics that a caller brings: a function of truths and scores.

use super::{Kind, Metric};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The value of one unit, by what is right of its things and what a model says of them; nothing of a unit that does not count.
type Function = dyn Fn(&[f64], &[f64]) -> Result<Option<f64>> + Send + Sync;

/// A name and a function.
type Entry = (String, Box<Function>);

/// Every metric of this kind that is alive.
static KNOWN: RwLock<BTreeMap<u32, Arc<Entry>>> = RwLock::new(BTreeMap::new());
/// The number of the next one; none is given twice.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A metric that a caller brings, of which more is better; it can be measured by as long as this lives.
///
/// The function is given one unit: the grades and scores of the documents of a query; for each label of an item whether it applies (1 or 0)
/// and its score; for each edge of a problem whether it is right and whether it is matched (1 or 0). What nobody knows is left out. A unit
/// of which it says nothing does not count. It is called on any thread, and the same values must give the same answer.
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::RankSvm, solver::run::Watch, task::{Method, Training}};
/// use ordain::metric::Own;
///
/// // whether the first document is relevant
/// let first = Own::new("first", |grades, scores| {
///     let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
///     Ok(best.map(|best| f64::from(u8::from(grades[best] > 0.0))))
/// });
/// let set = Synthetic { queries: 60, ..Synthetic::default() }.make();
/// let units = set.all();
/// let training = Training { by: Some(first.metric()), ..Training::new(&set, &units) };
/// let fitted = RankSvm::default().fit(&training, &Watch::NOBODY)?;
/// assert_eq!(fitted.facts.chosen.unwrap().metric, "own:first");
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Debug)]
pub struct Own {
    id: u32,
}

impl Own {
    /// A function as a metric; its name is what models and reports say.
    pub fn new(name: &str, function: impl Fn(&[f64], &[f64]) -> Result<Option<f64>> + Send + Sync + 'static) -> Self {
        let name: String = name.chars().filter(|c| !c.is_control() && *c != '@').take(60).collect();
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        KNOWN.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::new((name, Box::new(function))));
        Self { id }
    }

    /// The metric.
    pub fn metric(&self) -> Metric {
        Metric { kind: Kind::Own(self.id), k: None }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        KNOWN.write().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

fn entry(id: u32) -> Option<Arc<Entry>> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
}

/// How it is written: a model says what it was chosen by, and cannot be asked to measure by it.
pub(super) fn written(id: u32) -> String {
    entry(id).map_or("own".into(), |own| format!("own:{}", own.0))
}

/// The value of one unit.
pub(super) fn value(id: u32, truth: &[f64], said: &[f64]) -> Result<Option<f64>> {
    let wrong = |expected: &str, found: String| Error::Data { expected: expected.into(), found };
    let own =
        entry(id).ok_or_else(|| wrong("a metric of the caller's own that still lives", "one that ended".into()))?;
    match (own.1)(truth, said)? {
        Some(value) if value.is_nan() => Ok(None),
        Some(value) if value.is_infinite() => {
            Err(wrong("a finite number of the metric for each unit", format!("{value} from {}", own.0)))
        }
        value => Ok(value),
    }
}

/// Reads nothing: a function has no name that could be read back.
pub(super) fn refuse_text(text: &str) -> Result<()> {
    match text.starts_with("own:") {
        false => Ok(()),
        true => Err(Error::Setting {
            name: "metric".into(),
            expected: "the function itself (a model does not hold it), or the name of a metric".into(),
            found: text.into(),
        }),
    }
}
