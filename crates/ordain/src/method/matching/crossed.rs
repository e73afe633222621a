//! Choices by cross-validation, where few items are held out: every problem says something once, scored by a fit that has not seen it.

use crate::error::{Error, Result};
use crate::kernel::Form;
use crate::method::matching::decide::Unseen;
use crate::method::matching::matcher::Matcher;
use crate::method::matching::search::{Learner, Made, Outcome, PATIENCE, Search, Start, cases_of, crowd};
use crate::method::matching::space::{Space, Spec};
use crate::method::matching::temperature::{fit_level, fit_temperature};
use crate::metric::{Kind, Metric};
use crate::surrogate::matching::{Case, Right};
use crate::task::{Candidate, Chosen, both};
use crate::traits::Stop;

/// Into how many parts problems are cut.
const PARTS: usize = 5;

/// Below so many known matches in held-out problems a choice on them is mostly chance: as many as queries of a ranker.
pub(super) const FEW: usize = 50;

/// Below so many they do not say how far the null is to move either.
pub(super) const SOME: usize = 500;

/// The known matches of some problems.
pub(super) fn matches(cases: &[Case]) -> usize {
    let of = |case: &Case| match &case.right {
        Right::Matching(edges) => edges.len(),
        Right::Among(among) => among.sure.len(),
    };
    cases.iter().map(of).sum()
}

/// Problems to fit on, and those that are scored by that fit.
struct Part {
    train: Vec<u32>,
    cases: Vec<Case>,
    held: Vec<u32>,
}

/// Problems in parts.
pub(super) struct Crossed<'a, L> {
    search: &'a Search<'a, L>,
    parts: Vec<Part>,
    /// All problems, part by part.
    units: Vec<u32>,
    cases: Vec<Case>,
}

/// What the fits at one candidate say of all problems.
struct Trial {
    /// The score of every edge, the null of its fit taken off: an edge takes two items from those that stay unmatched.
    scores: Vec<Vec<f64>>,
    /// By how much the null is to move, and the temperature.
    shift: f64,
    temperature: Option<f64>,
    value: f64,
    /// Of each problem what its measure is a ratio of.
    ratios: Vec<(f64, f64)>,
    /// The fit of the first part.
    first: Outcome,
    stopped: bool,
}

impl<'a, L: Learner> Crossed<'a, L> {
    /// Problem n is in part n mod 5.
    pub(super) fn new(search: &'a Search<'a, L>, units: &[u32]) -> Result<Self> {
        let (set, null) = (search.data.set, search.learner.null());
        let part = |part: usize| -> Result<Part> {
            let own = |own: bool| -> Vec<u32> {
                units.iter().enumerate().filter(|(n, _)| (n % PARTS == part) == own).map(|(_, &p)| p).collect()
            };
            let (train, held) = (own(false), own(true));
            Ok(Part { cases: cases_of(set, &train, null)?, train, held })
        };
        let parts: Vec<Part> = (0..PARTS.min(units.len())).map(part).collect::<Result<_>>()?;
        let units: Vec<u32> = parts.iter().flat_map(|part| part.held.iter().copied()).collect();
        let cases = cases_of(set, &units, null)?;
        Ok(Self { search, parts, units, cases })
    }

    fn spaces(&self, spec: Spec) -> Result<Vec<Space>> {
        self.parts.iter().map(|part| self.search.space(spec, &part.train)).collect()
    }

    /// Fits at one λ, each from where the one before it ended.
    fn trial(&self, spaces: &[Space], lambda: f64, from: &mut [Option<Start>], choosing: bool) -> Result<Trial> {
        let (search, set) = (self.search, self.search.data.set);
        let (mut scores, mut first, mut stopped) = (vec![], None, false);
        for ((part, space), from) in self.parts.iter().zip(spaces).zip(from) {
            let outcome = search.fit_one((&part.train, &part.cases), space, lambda, from.take(), choosing)?;
            *from = Some(outcome.start());
            let matcher = &outcome.matcher;
            let own = search.scores(matcher, &part.held)?;
            let level = 2.0 * matcher.null.unwrap_or(0.0);
            scores.extend(own.into_iter().map(|own| own.into_iter().map(|s| s - level).collect::<Vec<f64>>()));
            stopped |= outcome.report.stop == Stop::Interrupted;
            first.get_or_insert(outcome);
            if stopped {
                break;
            }
        }
        let first = first.ok_or(Error::Interrupted)?;
        if stopped {
            return Ok(Trial { scores, shift: 0.0, temperature: None, value: 0.0, ratios: vec![], first, stopped });
        }
        let by = search.by;
        let (shift, temperature) = self.level(&first.matcher, &scores)?;
        let null = first.matcher.null.map(|_| shift);
        let level = Matcher { null, temperature, ..first.matcher.clone() };
        let said = level.evaluate_scored(set, &self.units, &scores, &[by])?;
        Ok(Trial { scores, shift, temperature, value: said.together(0), ratios: said.ratios(0), first, stopped })
    }

    /// By how much the null of fits is to move, and the temperature: the likeliest together. Where the choice is by F1, an edge is worth its match from the probability
    /// F1 / 2 on (Lewis 1995), and that moves the null further: by half of its log-odds, since an edge takes two items.
    fn level(&self, matcher: &Matcher, scores: &[Vec<f64>]) -> Result<(f64, Option<f64>)> {
        let search = self.search;
        if matcher.null.is_none() || search.choices.calibrate == Some(false) {
            let level = Matcher { null: matcher.null.map(|_| 0.0), ..matcher.clone() };
            let shift = search.shift_of(&level, (&self.units, scores), search.by)?;
            return match search.choices.calibrate {
                Some(false) => Ok((shift, None)),
                _ => Ok((shift, Some(fit_temperature(&self.cases, &self.tables(scores, shift))?))),
            };
        }
        let (shift, t) = fit_level(&self.cases, scores)?;
        if search.by.kind != Kind::F1 {
            return Ok((shift, Some(t)));
        }
        let level = Matcher { null: Some(shift), ..matcher.clone() };
        let f1 = level.evaluate_scored(search.data.set, &self.units, scores, &[search.by])?.together(0);
        let least = 0.5 * f1.clamp(0.02, 1.0);
        Ok((shift + 0.5 * t * (least / (1.0 - least)).ln(), Some(t)))
    }

    /// Scores of edges, and what each item that stays unmatched scores.
    fn tables(&self, scores: &[Vec<f64>], null: f64) -> Vec<Vec<f64>> {
        let table = |(s, case): (&Vec<f64>, &Case)| {
            let mut table = s.clone();
            table.resize(case.graph.table(), null);
            table
        };
        scores.iter().zip(&self.cases).map(table).collect()
    }

    /// Minus the log-likelihood of the right matchings at what is likeliest.
    fn nll(&self, trial: &Trial) -> Result<f64> {
        let matcher = &trial.first.matcher;
        let null = matcher.null.map(|_| trial.shift);
        let level = Matcher { null, temperature: trial.temperature, ..matcher.clone() };
        let nll = Metric { kind: Kind::Nll, k: None };
        Ok(level.evaluate_scored(self.search.data.set, &self.units, &trial.scores, &[nll])?.mean(0))
    }

    /// By how much the null of a fit on all of the problems is to move, its temperature, and what they follow from. Nothing where somebody stops it.
    pub(super) fn moved(&self, spec: Spec, lambda: f64) -> Result<Option<(f64, Option<f64>, Unseen)>> {
        let spaces = self.spaces(spec)?;
        // from zero: a start that has seen what is held out would be a hint
        let mut from: Vec<Option<Start>> = spaces.iter().map(|_| None).collect();
        match self.trial(&spaces, lambda, &mut from, false) {
            Err(Error::Interrupted) => Ok(None),
            Ok(trial) if trial.stopped => Ok(None),
            Ok(trial) => {
                let unseen = self.unseen(&trial.first, trial.scores, trial.shift, trial.temperature);
                Ok(Some((trial.shift, trial.temperature, unseen)))
            }
            Err(other) => Err(other),
        }
    }

    /// What the fits of a trial say of the problems that they have not seen.
    fn unseen(&self, first: &Outcome, scores: Vec<Vec<f64>>, shift: f64, temperature: Option<f64>) -> Unseen {
        Unseen { units: self.units.clone(), scores, null: first.matcher.null.map(|_| shift), temperature }
    }

    /// The choice of scaling, kernel and λ, and the fit at what was chosen.
    ///
    /// A measure of few items tells few candidates apart: of those within one paired standard error of the best the one that finds the right
    /// matchings most likely is taken, which every problem has a say in, not those alone that change sides. Where there are no probabilities
    /// the best is taken, of equals the first.
    pub(super) fn choose(&self, train: &[u32], valid: &[u32]) -> Result<Made> {
        let search = self.search;
        let (choices, data, watch) = (search.choices, search.data, search.watch);
        let (mut specs, mut others) = (choices.specs(), choices.tries_kernels());
        let (mut trials, mut tried): (Vec<(Trial, Spec, f64)>, Vec<Candidate>) = (vec![], vec![]);
        let loss = |trial: &Trial| if search.by.is_loss() { trial.value } else { -trial.value };
        let better = |trials: &[(Trial, Spec, f64)]| {
            (0..trials.len()).min_by(|&a, &b| loss(&trials[a].0).total_cmp(&loss(&trials[b].0)))
        };
        let (mut at, mut refused) = (0, None);
        'all: while at < specs.len() {
            let spec = specs[at];
            at += 1;
            let spaces = match self.spaces(spec) {
                // under another scaling, or another kernel, values may be those of histograms
                Err(error @ Error::Data { .. })
                    if spec.kernel.is_some_and(|(form, _): (Form, f64)| form.of_histograms()) =>
                {
                    refused = Some(error);
                    continue;
                }
                spaces => spaces?,
            };
            let unit = spaces[0].unit(&search.from, &self.parts[0].train)? * crowd(&self.cases, choices.growth);
            let mut from: Vec<Option<Start>> = spaces.iter().map(|_| None).collect();
            let (lambdas, mut best_here, mut since) = (choices.lambdas(&spec, unit), f64::INFINITY, 0);
            for (step, &lambda) in lambdas.iter().enumerate() {
                let share =
                    ((at - 1) as f64 + step as f64 / lambdas.len() as f64) / choices.planned(&specs, others) as f64;
                (watch.tell)(0.95 * share, "choosing");
                let trial = match self.trial(&spaces, lambda, &mut from, true) {
                    Err(Error::Interrupted) if !trials.is_empty() => break 'all,
                    other => other?,
                };
                if trial.stopped && trials.is_empty() {
                    return Ok(search.made(&self.parts[0].train, trial.first, None, false));
                }
                if trial.stopped {
                    break 'all;
                }
                tried.push(spec.candidate(lambda, choices.kernels(), trial.value));
                since = if loss(&trial) < best_here { 0 } else { since + 1 };
                best_here = best_here.min(loss(&trial));
                trials.push((trial, spec, lambda));
                if since >= PATIENCE {
                    break;
                }
            }
            if let (true, Some(best)) = (others && at == specs.len(), better(&trials)) {
                specs.extend(choices.other_kernels(trials[best].1.scale));
                others = false;
            }
        }
        let Some(best) = better(&trials) else { return Err(refused.unwrap_or(Error::Interrupted)) };
        let mut taken = best;
        if choices.calibrate != Some(false) && !search.by.of_probabilities() {
            let mut least = f64::INFINITY;
            for (n, (trial, ..)) in trials.iter().enumerate() {
                let level = loss(trial) - loss(&trials[best].0) <= apart(&trial.ratios, &trials[best].0.ratios);
                let nll = if level { self.nll(trial)? } else { f64::INFINITY };
                if nll < least {
                    (taken, least) = (n, nll);
                }
            }
        }
        let (Trial { scores, shift, temperature, mut first, .. }, spec, lambda) = trials.swap_remove(taken);
        let unseen = self.unseen(&first, scores, shift, temperature);
        let chosen = choices.open().then(|| Chosen {
            parts: Some(self.parts.len()),
            ..Chosen::new(search.by, &data.convention, self.units.len(), tried)
        });
        let finish = |outcome: &mut Outcome| {
            outcome.move_null(shift);
            outcome.matcher.temperature = temperature;
        };
        let units = if data.refit { both(train, valid) } else { train.to_vec() };
        if !watch.stopped() {
            (watch.tell)(0.95, if data.refit { "fitting on training and validation" } else { "fitting" });
            let cases = cases_of(data.set, &units, search.learner.null())?;
            let space = search.space(spec, &units)?;
            match search.fit_one((&units, &cases), &space, lambda, None, false) {
                Err(Error::Interrupted) => {}
                Ok(last) if last.report.stop == Stop::Interrupted => {}
                Ok(mut last) => {
                    finish(&mut last);
                    return Ok(search.made(&units, last, chosen, data.refit).with(unseen));
                }
                Err(other) => return Err(other),
            }
        }
        finish(&mut first);
        first.report.stop = Stop::Interrupted;
        Ok(search.made(&self.parts[0].train, first, chosen, false).with(unseen))
    }
}

/// The standard error of the difference of two ratios of sums over the same problems, by what each problem adds to it.
pub(super) fn apart(a: &[(f64, f64)], b: &[(f64, f64)]) -> f64 {
    let influence = |all: &[(f64, f64)]| -> Vec<f64> {
        let (over, under) = all.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let (ratio, under) = if under > 0.0 { (over / under, under) } else { (0.0, 1.0) };
        all.iter().map(|one| (one.0 - ratio * one.1) / under).collect()
    };
    influence(a).iter().zip(influence(b)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of plain means it is the paired standard error, but for the factor n/(n − 1).
    #[test]
    fn the_error_of_a_difference_is_paired() {
        let (a, b) = ([3.0, 1.0, 4.0, 1.0, 5.0], [2.0, 2.0, 4.0, 0.0, 3.0]);
        let ratios = |all: &[f64]| all.iter().map(|&x| (x, 1.0)).collect::<Vec<_>>();
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let mean = differences.iter().sum::<f64>() / 5.0;
        let slow = (differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 25.0).sqrt();
        assert!((apart(&ratios(&a), &ratios(&b)) - slow).abs() < 1e-12);
        assert!(apart(&ratios(&a), &ratios(&a)) < 1e-15);
    }
}
