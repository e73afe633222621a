//! What each feature is worth to a model, by exchanging it between units.

use super::evaluate::BOOTSTRAP;
use crate::data::DataSet;
use crate::error::Result;
use crate::metric::{Convention, Metric, stats};
use crate::random::Random;
use crate::task::{Model, Ready, Task};
use serde::Serialize;

/// By how much a metric gets worse when the values of a feature are those of other units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Importance {
    /// The feature.
    pub feature: String,
    /// The mean loss over units: of a metric that falls, how much it falls; of a loss, how much it rises.
    pub mean: f64,
    /// The lower end of its 95 % bootstrap interval over units.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What each feature is worth to a model on some data, the largest first.
///
/// The values of a feature are exchanged between whole units (queries, items, problems): a unit gets those of another one, in random
/// order, and again from the first if it has more rows. So a feature that is the same for all rows of a query counts too, and what a
/// feature says within a query is lost. Each feature is exchanged `draws` times, and the mean over draws is taken.
///
/// Cost: `draws` predictions and a copy of one column for each feature. The same on any number of threads.
///
/// ```
/// use ordain::{answer, data::synthetic::Synthetic, method::{Rank, RankSvm}, metric::Convention, solver::run::Watch};
/// use ordain::task::{Method, Model, Training};
/// let set = Synthetic { queries: 40, ..Default::default() }.make();
/// let fitted = RankSvm::default().fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// let ready = fitted.model.prepare(&set)?;
/// let all = answer::importances::<Rank>(&fitted.model, &ready, "ndcg@10".parse()?, &Convention::STANDARD, 3, |_| Ok(()))?;
/// assert!(all.len() == set.columns.names.len() && all[0].mean > 0.0 && all[0].mean >= all[1].mean);
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// Those of the metric, and those of `step`, which is told the share of the work that is done.
pub fn importances<T: Task>(
    model: &T::Model,
    on: &Ready<'_, T>,
    metric: Metric,
    by: &Convention,
    draws: usize,
    mut step: impl FnMut(f64) -> Result<()>,
) -> Result<Vec<Importance>> {
    let (set, units) = (on.set(), on.set().all());
    let measure = |on: &Ready<'_, T>| Ok(model.evaluate(on, &units, &[metric], by)?.values.remove(0));
    let base: Vec<Option<f64>> = measure(on)?;
    let sign = if metric.is_loss() { -1.0 } else { 1.0 };
    let mut changed: T::Set = set.clone();
    let mut all = vec![];
    for (j, feature) in set.columns().names.iter().enumerate() {
        let own: Vec<f32> = (0..set.rows()).map(|row| set.features().value(row, j)).collect();
        let mut lost = vec![0.0; units.len()];
        for draw in 0..draws {
            step((j * draws + draw) as f64 / (set.columns().names.len() * draws) as f64)?;
            changed.features_mut().replace_column(j, &exchanged(set, &own, draw as u64));
            let worth = measure(&on.with(model, &changed))?;
            for ((lost, worth), base) in lost.iter_mut().zip(&worth).zip(&base) {
                *lost += sign * (base.unwrap_or(0.0) - worth.unwrap_or(0.0)) / draws as f64;
            }
        }
        changed.features_mut().replace_column(j, &own);
        let counted: Vec<f64> = lost.iter().zip(&base).filter(|(_, base)| base.is_some()).map(|(x, _)| *x).collect();
        let (low, high) = stats::interval(&counted, BOOTSTRAP);
        all.push(Importance { feature: feature.clone(), mean: stats::mean(&counted), low, high });
    }
    all.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    Ok(all)
}

/// Values of a column with those of each unit taken from another one.
fn exchanged(set: &impl DataSet, own: &[f32], seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    let mut order: Vec<usize> = (0..set.len()).filter(|&unit| !set.span(unit).is_empty()).collect();
    random.shuffle(&mut order);
    let (mut new, mut donor) = (own.to_vec(), vec![]);
    for (at, &unit) in order.iter().enumerate() {
        // the next one of a random circle is never the unit itself, unless it is alone
        donor.clear();
        donor.extend_from_slice(&own[set.span(order[(at + 1) % order.len()])]);
        random.shuffle(&mut donor);
        set.span(unit).zip(donor.iter().cycle()).for_each(|(row, value)| new[row] = *value);
    }
    new
}
