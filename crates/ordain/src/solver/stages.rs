//! Courses that run side by side, round by round, and the choice of the number of rounds.
//!
//! One course for each part that is held out, and one on everything, which gives the model. The mean of what held-out units
//! are worth is the curve by which the number of rounds is chosen.

use crate::error::Result;
use crate::solver::run::Watch;
use crate::traits::Stop;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;

/// A course: scores that become better round by round.
pub trait Stage: Send + Sync {
    /// Makes the round after the `made` first ones; `false` if there is nothing left to gain.
    fn round(&mut self, made: usize) -> Result<bool>;
    /// The scores of all rows now; those that are neither learned from nor judged may be anything.
    fn scores(&self) -> &[f64];
    /// Whether it holds rows out to be judged.
    fn judged(&self) -> bool;
}

/// What the held-out units of a course are worth at these scores of all rows, unit by unit; more is better.
pub type Judge<'a> = dyn Fn(usize, &[f64]) -> Result<Vec<f64>> + Sync + 'a;

/// How many rounds are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// The most rounds.
    pub rounds: usize,
    /// After how many rounds without a better mean of held-out units it ends; `None`: all rounds are made, and kept.
    pub patience: Option<usize>,
    /// What is said while it runs.
    pub word: &'static str,
}

/// What the rounds came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// The number of rounds that is chosen.
    pub best: usize,
    /// The mean worth of held-out units after so many rounds, from 0 on; empty where nothing was held out.
    pub curve: Vec<f64>,
    /// As in [`Boosted::worth`](super::boost::Boosted::worth).
    pub worth: [Vec<f64>; 2],
    /// The mean worth at the chosen number, over rounds nearby; minus infinity where nothing was held out.
    pub mean: f64,
    /// Why it ended.
    pub stop: Stop,
}

impl Pace {
    /// Runs all courses. Those with held rows are judged after every round.
    ///
    /// Without held rows all rounds are made. With them it ends [`Pace::patience`] rounds after the best one, by the mean over
    /// neighbours: single rounds are chosen by chance.
    pub fn run<R: Stage>(&self, stages: &mut [R], judge: &Judge<'_>, watch: &Watch) -> Result<Ran> {
        let judged = stages.iter().any(Stage::judged);
        let worth = |stages: &[R]| -> Result<Vec<f64>> {
            let one = |(n, stage): (usize, &R)| match stage.judged() {
                false => Ok(vec![]),
                true => judge(n, stage.scores()),
            };
            Ok(stages.par_iter().enumerate().map(one).collect::<Result<Vec<_>>>()?.concat())
        };
        let mut curve = Curve::default();
        if judged {
            curve.start(worth(stages)?);
        }
        let (mut made, mut stop) = (0, Stop::Rounds);
        let patience = if judged { self.patience } else { None };
        while made < self.rounds && patience.is_none_or(|patience| made - curve.best < patience + NEAR) {
            if watch.stopped() {
                stop = Stop::Interrupted;
                break;
            }
            (watch.tell)(made as f64 / self.rounds as f64, self.word);
            let went = stages.par_iter_mut().map(|stage| stage.round(made)).collect::<Result<Vec<bool>>>()?;
            if !went.contains(&true) {
                break;
            }
            made += 1;
            if judged {
                curve.add(worth(stages)?);
            }
        }
        curve.finish(patience.is_none());
        let best = if patience.is_none() { made } else { curve.best };
        let fair = curve.fair();
        let Curve { means, start, best_mean, .. } = curve;
        Ok(Ran { best, curve: means, worth: [start, fair], mean: best_mean, stop })
    }
}

/// Rounds on either side over which the worth of held-out units is averaged: single rounds are chosen by chance.
const NEAR: usize = 5;

/// What held-out units are worth, round after round.
struct Curve {
    /// The mean after so many rounds.
    means: Vec<f64>,
    start: Vec<f64>,
    /// The worth of each unit in the last rounds, up to `2·NEAR + 1` of them.
    recent: VecDeque<Vec<f64>>,
    /// The best round by the mean over its neighbours; 0 where no tree is worth it.
    best: usize,
    best_mean: f64,
    /// Stretches of units, each with the worth that its units have at the round that is best for all others.
    fifths: Vec<Fifth>,
}

/// Units that have no say in how many trees they are judged with.
struct Fifth {
    units: Range<usize>,
    best_of_others: f64,
    own: Vec<f64>,
}

/// Stretches of held-out units.
const FIFTHS: usize = 5;

impl Default for Curve {
    fn default() -> Self {
        let (means, recent) = (vec![], VecDeque::new());
        Self { means, start: vec![], recent, best: 0, best_mean: f64::NEG_INFINITY, fifths: vec![] }
    }
}

impl Curve {
    fn start(&mut self, worth: Vec<f64>) {
        self.best_mean = mean(&worth);
        self.means.push(self.best_mean);
        let cut = |k: usize| k * worth.len() / FIFTHS;
        let fifth = |k: usize| {
            let units = cut(k)..cut(k + 1);
            Fifth { best_of_others: mean_without(&worth, &units), own: worth[units.clone()].to_vec(), units }
        };
        self.fifths = (0..FIFTHS).map(fifth).collect();
        self.start = worth;
    }

    /// What each unit is worth with as many trees as are best for others.
    fn fair(&self) -> Vec<f64> {
        self.fifths.iter().flat_map(|fifth| fifth.own.iter().copied()).collect()
    }

    /// One more round: the one [`NEAR`] rounds before it has all its neighbours now.
    fn add(&mut self, worth: Vec<f64>) {
        self.means.push(mean(&worth));
        self.recent.push_back(worth);
        if self.recent.len() > 2 * NEAR + 1 {
            self.recent.pop_front();
        }
        let made = self.means.len() - 1;
        if made > NEAR {
            self.judge(made - NEAR);
        }
    }

    /// The last rounds, which have neighbours on one side only.
    fn finish(&mut self, take_last: bool) {
        let made = self.means.len().saturating_sub(1);
        for round in made.saturating_sub(NEAR).max(1) + usize::from(made > NEAR)..=made {
            while self.recent.len() > made - round + NEAR + 1 {
                self.recent.pop_front();
            }
            if take_last {
                self.best_mean = f64::NEG_INFINITY;
                self.fifths.iter_mut().for_each(|fifth| fifth.best_of_others = f64::NEG_INFINITY);
            }
            self.judge(round);
        }
    }

    /// Whether a round, whose neighbours are the recent ones, is the best so far.
    fn judge(&mut self, round: usize) {
        let count = self.recent.len() as f64;
        let mut near = vec![0.0; self.start.len()];
        for worth in &self.recent {
            near.iter_mut().zip(worth).for_each(|(sum, x)| *sum += x / count);
        }
        let mean = mean(&near);
        if mean > self.best_mean {
            (self.best, self.best_mean) = (round, mean);
        }
        for fifth in &mut self.fifths {
            let others = mean_without(&near, &fifth.units);
            if others > fifth.best_of_others {
                fifth.best_of_others = others;
                fifth.own.copy_from_slice(&near[fifth.units.clone()]);
            }
        }
    }
}

/// The mean of all values but some.
fn mean_without(values: &[f64], without: &Range<usize>) -> f64 {
    let rest = values.len() - without.len();
    (values[..without.start].iter().sum::<f64>() + values[without.end..].iter().sum::<f64>()) / rest.max(1) as f64
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The best round and the fair worth of units against a plain loop over all rounds, which keeps everything.
    #[test]
    fn units_are_judged_by_the_rounds_that_others_choose() {
        let mut random = Random::new(3);
        for case in 0..60 {
            let (units, rounds) = (7 + case % 11, 1 + random.below(40));
            let all: Vec<Vec<f64>> =
                (0..=rounds).map(|r| (0..units).map(|_| random.uniform() + (r as f64 / 9.0).sin()).collect()).collect();
            let mut curve = Curve::default();
            curve.start(all[0].clone());
            all[1..].iter().for_each(|worth| curve.add(worth.clone()));
            curve.finish(false);
            let near = |r: usize, unit: usize| match r {
                0 => all[0][unit],
                _ => {
                    let window = r.saturating_sub(NEAR).max(1)..=(r + NEAR).min(rounds);
                    let count = window.clone().count() as f64;
                    window.map(|s| all[s][unit]).sum::<f64>() / count
                }
            };
            let best = |judges: &[usize]| {
                let worth = |r: usize| judges.iter().map(|&unit| near(r, unit)).sum::<f64>();
                (0..=rounds).fold(0, |best, r| if worth(r) > worth(best) + 1e-12 { r } else { best })
            };
            assert_eq!(curve.best, best(&(0..units).collect::<Vec<_>>()), "case {case}");
            let fair = curve.fair();
            for k in 0..FIFTHS {
                let own = k * units / FIFTHS..(k + 1) * units / FIFTHS;
                let others: Vec<usize> = (0..units).filter(|unit| !own.contains(unit)).collect();
                let round = best(&others);
                own.for_each(|unit| assert!((fair[unit] - near(round, unit)).abs() < 1e-12, "case {case}"));
            }
        }
    }
}
