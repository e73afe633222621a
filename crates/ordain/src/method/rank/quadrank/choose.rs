//! The size of the core by validation.

use super::{Core, QuadRank};
use crate::error::{Error, Result};
use crate::method::Rank;
use crate::method::rank::search;
use crate::metric;
use crate::solver::run::Watch;
use crate::task::{Candidate, Chosen, Fitted, Method, Model, Training, both};
use crate::traits::Stop;

/// A fit on the training part, with what it is worth on validation.
struct Tried {
    method: QuadRank,
    value: f64,
    fitted: Fitted<Rank>,
}

/// Fits with cores of 0, 1, … items, each with its own choice of scaling and λ, and takes the best on validation queries; of equals the
/// smallest. Where there is nothing to choose on the core is one item.
pub(super) fn fit(method: &QuadRank, data: &Training<'_, Rank>, watch: &Watch) -> Result<Fitted<Rank>> {
    let by = data.by(method);
    let (train, valid) = data.parts(true);
    let zeros = vec![0.0; data.set.rows()];
    if valid.is_empty() || metric::evaluate(data.set, &valid, &zeros, &[by], &data.convention)?.counted(0).is_empty() {
        let mut fitted = search::fit(&QuadRank { core: Core::Size(1), ..method.clone() }, data, watch)?;
        fitted.facts.asked = method.written().asked;
        return Ok(Fitted { journal: None, ..fitted });
    }
    let part = Training { valid: Some(&valid), refit: false, resume: None, ..again(data, &train) };
    let (mut best, mut candidates): (Option<Tried>, Vec<Candidate>) = (None, vec![]);
    let rounds = (Core::MOST_TRIED + 2) as f64;
    for size in 0..=Core::MOST_TRIED {
        let own = QuadRank { core: Core::Size(size), ..method.clone() };
        let tell = |share: f64, what: &str| {
            (watch.tell)((size as f64 + share) / rounds, &format!("core={size} {what}"));
        };
        let fitted = match search::fit(&own, &part, &Watch { stop: watch.stop, tell: &tell }) {
            // there are no more items that queries share
            Err(Error::Data { .. }) if size > 0 => break,
            Err(Error::Interrupted) if best.is_some() => break,
            other => other?,
        };
        let tried = tried(own, fitted, &part, &mut candidates)?;
        if best.as_ref().is_none_or(|best| by.better(tried.value, best.value)) {
            best = Some(tried);
        }
        if watch.stopped() {
            break;
        }
    }
    let best = best.ok_or(Error::Interrupted)?;
    let chosen = Some(Chosen::new(by, &data.convention, valid.len(), candidates));
    let mut fitted = best.fitted;
    if data.refit && !watch.stopped() {
        let all = both(&train, &valid);
        let last = Training { resume: None, ..again(data, &all) };
        match search::fit(&best.method, &last, watch) {
            Ok(on_all) => {
                fitted = on_all;
                fitted.facts.refit = true;
            }
            Err(Error::Interrupted) => {}
            Err(other) => return Err(other),
        }
    }
    if watch.stopped() {
        fitted.facts.report.stop = Stop::Interrupted;
    }
    fitted.facts.asked = method.written().asked;
    fitted.facts.chosen = chosen;
    Ok(Fitted { journal: None, ..fitted })
}

/// The same training on some units, with nothing to choose on.
fn again<'a>(data: &Training<'a, Rank>, train: &'a [u32]) -> Training<'a, Rank> {
    let filled = data.filled.clone();
    Training {
        valid: None,
        by: data.by,
        convention: data.convention,
        seed: data.seed,
        filled,
        ..Training::new(data.set, train)
    }
}

/// What a fit is worth, with the method as it was chosen; all that was tried is written down.
fn tried(
    mut method: QuadRank,
    fitted: Fitted<Rank>,
    part: &Training<'_, Rank>,
    candidates: &mut Vec<Candidate>,
) -> Result<Tried> {
    let core = || ("core".to_owned(), method.core.to_string().into());
    let settings = &fitted.facts.settings;
    let taken = |name: &str| settings.get(name).cloned().unwrap_or_default();
    let value = match (&fitted.facts.chosen, fitted.facts.taken()) {
        (Some(chosen), Some(taken)) => {
            candidates.extend(chosen.candidates.iter().map(|one| {
                let settings = one.settings.clone().into_iter().chain([core()]).collect();
                Candidate { settings, ..one.clone() }
            }));
            taken.value
        }
        _ => {
            let ready = fitted.model.prepare(part.set)?;
            let valid = part.valid.unwrap_or_default();
            let value = fitted.model.evaluate(&ready, valid, &[part.by(&method)], &part.convention)?.mean(0);
            let settings = ["scale", "lambda"].map(|name| (name.to_owned(), taken(name)));
            candidates.push(Candidate::new(settings.into_iter().chain([core()]).collect(), value));
            value
        }
    };
    method.set("scale", taken("scale").as_str().unwrap_or_default())?;
    method.set("lambda", &taken("lambda").to_string())?;
    Ok(Tried { method, value, fitted })
}
