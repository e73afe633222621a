//! The choice of a method, with all its settings.
//!
//! A task has a fixed list of candidates ([`Task::candidates`]), from the cheapest and most regular on. Each is fitted on a part of the
//! units, where it chooses its own settings by units held out of that part, and is measured on units that had no part in any of it. Of those
//! that are not further behind the best than one paired standard error the first is taken (\[Breiman\], the rule of one standard error), and
//! fitted on everything.
//!
//! The best of many values is too good to be true. So the choice itself is measured too: units are drawn with replacement, a candidate is
//! chosen on those that were drawn by the same rule, and measured on those that were not (\[Tsamardinos\], bootstrap bias correction).
//!
//! A clock may say where the list ends, and nothing else: the number of candidates is stored, and as many again give the same bytes.
//!
//! \[Breiman\] Breiman, Friedman, Olshen, Stone, *Classification and Regression Trees*, 1984, section 3.4.3. \[Tsamardinos\] Tsamardinos,
//! Greasidou, Borboudakis, *Bootstrapping the out-of-sample predictions for efficient and accurate cross-validation*, 2018, algorithm 5.

use crate::data::{Filled, Missing};
use crate::error::{Error, Result};
use crate::metric::{Kind, Metric, stats};
use crate::random::Random;
use crate::solver::run::Watch;
use crate::task::{AutoChoice, DataSet, Fitted, Method, Model, Rounds, Task, Training, TriedMethod};
use crate::traits::Stop;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Where the list of candidates ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// At its end.
    #[default]
    All,
    /// After so many.
    Candidates(usize),
    /// Where the time ends, that of the last fit included as far as can be told; the first candidate that can be fitted is always finished.
    Budget(Duration),
}

/// A model whose method was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoFit<T: Task> {
    /// The model; its facts have the [`AutoChoice`].
    pub fitted: Fitted<T>,
    /// The method that was taken.
    pub method: T::Method,
    /// The seconds that each candidate took, in order.
    pub seconds: Vec<f64>,
}

/// How often units are drawn to measure the choice itself.
const DRAWS: usize = 500;
/// Their seed: what is measured is part of the answer.
const SEED: u64 = 1;
/// How often a clock is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Chooses a method and fits it. The set may have gaps: `missing` says what they mean, and every fit fills them by its own units.
///
/// A watch that stops it while candidates are tried leaves the best so far, fitted on a part of the units, as an interrupted model.
///
/// Cost: a fit of each candidate, or five on fewer than 250 units, and the last fit.
///
/// ```
/// use ordain::method::auto::{Limit, auto};
/// use ordain::{data::{Missing, synthetic::Synthetic}, method::Rank, solver::run::Watch, task::Training};
/// let set = Synthetic { queries: 60, ..Synthetic::default() }.make();
/// let units = set.all();
/// let made = auto::<Rank>(&Training::new(&set, &units), Missing::Error, Limit::Candidates(2), &Watch::NOBODY)?;
/// let choice = made.fitted.facts.auto.unwrap();
/// assert_eq!((choice.candidates, choice.units, choice.parts), (2, 60, Some(5)));
/// assert_eq!(made.fitted.facts.method, "ranksvm"); // the other is not better by more than a standard error
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// A limit outside the list, a metric without a value of each unit, fewer than five units, the error of the first candidate if none can be
/// fitted, and [`Error::Interrupted`] if the first was stopped.
pub fn auto<T: Task>(data: &Training<'_, T>, missing: Missing, limit: Limit, watch: &Watch) -> Result<AutoFit<T>> {
    let start = Instant::now();
    let list = T::candidates(data.set, data.train);
    let most = match limit {
        Limit::Candidates(n) if (1..=list.len()).contains(&n) => n,
        Limit::Candidates(n) => {
            let expected = format!("a whole number from 1 to {}, the length of the list", list.len());
            return Err(Error::Setting { name: "candidates".into(), expected, found: n.to_string() });
        }
        _ => list.len(),
    };
    data.set.need_truth()?;
    let methods = list.iter().map(|text| text.parse()).collect::<Result<Vec<T::Method>>>()?;
    let by = data.by(&methods[0]);
    T::WORDS.check_metric(by)?;
    if by.kind == Kind::Ece {
        let expected = "a metric that every problem has by itself, to choose methods by".into();
        return Err(Error::Setting { name: "metric".into(), expected, found: by.to_string() });
    }
    let (train, valid) = data.parts(true);
    let rounds = Rounds::new(&train, &valid, |_| true);
    if rounds.rounds.is_empty() {
        let units = T::WORDS.unit[1];
        return Err(Error::Data {
            expected: format!("five {units} at least to choose a method on (a method by its name needs fewer)"),
            found: T::WORDS.units(data.train.len()),
        });
    }
    let search = Search { data, missing, by, rounds };
    let (trials, interrupted) = search.try_all(&methods[..most], limit, start, watch)?;
    let worth = trials.counted();
    let taken = trials.works[pick(&worth, &vec![1.0; worth[0].len()])];
    let choice = search.choice(&trials, &worth, list.len(), taken);
    let seconds = trials.all.iter().map(|trial| trial.seconds).collect();
    let method = methods[taken].clone();
    let mut fitted = match (interrupted, trials.all.into_iter().nth(taken).and_then(|trial| trial.result.ok())) {
        (true, Some((_, mut part))) => {
            part.facts.report.stop = Stop::Interrupted;
            part
        }
        _ => {
            let before = choice.candidates as f64 / (choice.candidates + 1) as f64;
            let tell = |share: f64, word: &str| (watch.tell)(before + share * (1.0 - before), word);
            search.last(&method, &Watch { stop: watch.stop, tell: &tell })?
        }
    };
    fitted.facts.auto = Some(choice);
    Ok(AutoFit { fitted, method, seconds })
}

/// What all candidates share.
struct Search<'a, T: Task> {
    data: &'a Training<'a, T>,
    missing: Missing,
    by: Metric,
    rounds: Rounds,
}

/// Values of every unit that was held out, and the model of the first round.
type Held<T> = (Vec<Option<f64>>, Fitted<T>);

/// One candidate.
struct Trial<T: Task> {
    method: String,
    seconds: f64,
    result: Result<Held<T>>,
}

/// All that were tried, and which of them could be fitted.
struct Trials<T: Task> {
    all: Vec<Trial<T>>,
    works: Vec<usize>,
    sign: f64,
}

impl<T: Task> Trials<T> {
    /// What the units are worth that count for all candidates that work, the more the better.
    fn counted(&self) -> Vec<Vec<f64>> {
        let values: Vec<&Vec<Option<f64>>> =
            self.all.iter().filter_map(|trial| trial.result.as_ref().ok()).map(|held| &held.0).collect();
        let units = values.first().map_or(0, |first| first.len());
        let counts: Vec<usize> = (0..units).filter(|&i| values.iter().all(|own| own[i].is_some())).collect();
        let of = |own: &&Vec<Option<f64>>| counts.iter().filter_map(|&i| own[i]).map(|x| self.sign * x).collect();
        values.iter().map(of).collect()
    }
}

impl<T: Task> Search<'_, T> {
    /// The set as a fit on some units sees it.
    fn filled(&self, train: &[u32]) -> (Cow<'_, T::Set>, Filled) {
        let mut set = Cow::Borrowed(self.data.set);
        let filled = match self.missing {
            Missing::Error => Filled::default(),
            Missing::Auto if !set.features().has_gaps() => Filled::default(),
            missing => set.to_mut().fill(missing, train),
        };
        (set, filled)
    }

    /// Fits a method on every part and measures it on what is held out.
    fn held(&self, method: &T::Method, watch: &Watch) -> Result<Held<T>> {
        let (mut values, mut first) = (vec![], None);
        let count = self.rounds.rounds.len() as f64;
        for (n, (train, held)) in self.rounds.rounds.iter().enumerate() {
            let tell = |share: f64, word: &str| (watch.tell)((n as f64 + share) / count, word);
            let (set, filled) = self.filled(train);
            let training = Training {
                by: Some(self.by),
                convention: self.data.convention,
                seed: self.data.seed,
                filled,
                ..Training::new(&*set, train)
            };
            let fitted = method.fit(&training, &Watch { stop: watch.stop, tell: &tell })?;
            if watch.stopped() {
                return Err(Error::Interrupted);
            }
            let ready = fitted.model.prepare_owned(self.data.set.only(held))?;
            let units = ready.set().all();
            let result = fitted.model.evaluate(&ready, &units, &[self.by], &self.data.convention)?;
            values.extend(result.values.into_iter().flatten());
            first.get_or_insert(fitted);
        }
        first.map(|fitted| (values, fitted)).ok_or(Error::Interrupted)
    }

    /// Tries candidates in order until the limit, and says whether somebody stopped it.
    fn try_all(&self, methods: &[T::Method], limit: Limit, start: Instant, watch: &Watch) -> Result<(Trials<T>, bool)> {
        let sign = if self.by.is_loss() { -1.0 } else { 1.0 };
        let mut trials = Trials { all: vec![], works: vec![], sign };
        // what the last fit takes, as a share of a candidate: all units over those of its fits
        let last = if self.rounds.crossed { 0.25 } else { 1.25 };
        for (k, method) in methods.iter().enumerate() {
            let left = match limit {
                Limit::Budget(budget) if !trials.works.is_empty() => {
                    let worth = trials.counted();
                    let best = trials.works[pick(&worth, &vec![1.0; worth[0].len()])];
                    let left = budget.saturating_sub(start.elapsed()).as_secs_f64();
                    let time = (left / (1.0 + last)).min(left - last * trials.all[best].seconds);
                    if time <= 0.0 {
                        break;
                    }
                    Some(Duration::from_secs_f64(time))
                }
                _ => None,
            };
            let text = method.to_string();
            let tell = |share: f64, _: &str| {
                (watch.tell)((k as f64 + share) / (methods.len() + 1) as f64, &format!("trying {text}"));
            };
            let began = Instant::now();
            let own = Watch { stop: watch.stop, tell: &tell };
            let result = within(left, &own, |watch| self.held(method, watch));
            let seconds = began.elapsed().as_secs_f64();
            match (watch.stopped(), &result) {
                (true, _) if trials.works.is_empty() => return Err(Error::Interrupted),
                (true, _) => return Ok((trials, true)),
                (false, Err(Error::Interrupted)) => break,
                (false, Ok(_)) => trials.works.push(k),
                (false, Err(_)) => {}
            }
            trials.all.push(Trial { method: text, seconds, result });
        }
        if !trials.works.is_empty() {
            return Ok((trials, false));
        }
        let first = trials.all.into_iter().find_map(|trial| trial.result.err());
        Err(first.unwrap_or(Error::Interrupted))
    }

    /// The last fit: on everything, as a fit of the method by its name would be.
    fn last(&self, method: &T::Method, watch: &Watch) -> Result<Fitted<T>> {
        let (set, filled) = self.filled(self.data.train);
        let training = Training { set: &*set, by: Some(self.by), filled, ..self.data.again() };
        method.fit(&training, watch)
    }

    /// What is written down of the choice.
    fn choice(&self, trials: &Trials<T>, worth: &[Vec<f64>], of: usize, taken: usize) -> AutoChoice {
        let means: Vec<f64> = worth.iter().map(|own| stats::mean(own)).collect();
        let best = (0..means.len()).fold(0, |best, k| if means[k] > means[best] { k } else { best });
        let tried = |(k, trial): (usize, &Trial<T>)| {
            let at = trials.works.iter().position(|&own| own == k);
            let behind = |at: usize| {
                let (mean, error) = paired(&worth[best], &worth[at], &vec![1.0; worth[at].len()]);
                [mean, error]
            };
            TriedMethod {
                method: trial.method.clone(),
                value: at.map(|at| trials.sign * means[at]),
                error: at.map(|at| paired(&worth[at], &vec![0.0; worth[at].len()], &vec![1.0; worth[at].len()]).1),
                behind: at.map(behind),
                refused: trial.result.as_ref().err().map(Error::to_string),
            }
        };
        AutoChoice {
            candidates: trials.all.len(),
            of,
            metric: self.by.to_string(),
            convention: self.data.convention.to_string(),
            units: worth[0].len(),
            parts: self.rounds.crossed.then_some(self.rounds.rounds.len()),
            taken: trials.all[taken].method.clone(),
            honest: (worth.len() > 1).then(|| honest(worth)).flatten().map(|value| trials.sign * value),
            tried: trials.all.iter().enumerate().map(tried).collect(),
        }
    }
}

/// Work that a clock may stop.
fn within<R>(limit: Option<Duration>, watch: &Watch, work: impl FnOnce(&Watch) -> R) -> R {
    let Some(limit) = limit else { return work(watch) };
    let (enough, end) = (AtomicBool::new(false), Instant::now() + limit);
    let (working, ended) = channel::<()>();
    thread::scope(|scope| {
        let (enough, stop) = (&enough, watch.stop);
        scope.spawn(move || {
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if Instant::now() >= end || stop.load(Ordering::Relaxed) {
                    enough.store(true, Ordering::Relaxed);
                }
            }
        });
        let made = work(&Watch { stop: enough, tell: watch.tell });
        drop(working); // the clock has nothing more to look after
        made
    })
}

/// The mean of `a − b` over units that count so often, and its standard error; 0 where one unit tells nothing of others.
fn paired(a: &[f64], b: &[f64], count: &[f64]) -> (f64, f64) {
    let n: f64 = count.iter().sum();
    let each = || a.iter().zip(b).zip(count).map(|((a, b), c)| (a - b, c));
    let mean = each().map(|(x, c)| c * x).sum::<f64>() / n.max(1.0);
    let squares: f64 = each().map(|(x, c)| c * (x - mean) * (x - mean)).sum();
    (mean, if n > 1.0 { (squares / (n - 1.0) / n).sqrt() } else { 0.0 })
}

/// The first candidate that is not further behind the best than one paired standard error, on units that count so often.
///
/// `worth[k][i]` is what candidate k is worth on unit i, the more the better.
fn pick(worth: &[Vec<f64>], count: &[f64]) -> usize {
    let n: f64 = count.iter().sum();
    let mean = |own: &Vec<f64>| own.iter().zip(count).map(|(x, c)| c * x).sum::<f64>() / n.max(1.0);
    let means: Vec<f64> = worth.iter().map(mean).collect();
    let best = (0..means.len()).fold(0, |best, k| if means[k] > means[best] { k } else { best });
    let near = |&k: &usize| {
        let (behind, error) = paired(&worth[best], &worth[k], count);
        behind <= error
    };
    (0..best).find(near).unwrap_or(best)
}

/// What the choice of [`pick`] is worth on units that had no part in it: the mean over draws of units with replacement, each judged on the
/// units that it left out. Nothing where no draw leaves one out.
fn honest(worth: &[Vec<f64>]) -> Option<f64> {
    let n = worth.first().map_or(0, Vec::len);
    let mut random = Random::new(SEED);
    let mut values = vec![];
    for _ in 0..DRAWS {
        let mut count = vec![0.0; n];
        (0..n).for_each(|_| count[random.below(n)] += 1.0);
        let chosen = &worth[pick(worth, &count)];
        let out: Vec<f64> = chosen.iter().zip(&count).filter(|(_, c)| **c == 0.0).map(|(x, _)| *x).collect();
        if !out.is_empty() {
            values.push(stats::mean(&out));
        }
    }
    (!values.is_empty()).then(|| stats::mean(&values))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule as it is said: every candidate against the best, from the first on, by lists of differences.
    fn slow_pick(worth: &[Vec<f64>], drawn: &[usize]) -> usize {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let of = |k: usize| drawn.iter().map(|&i| worth[k][i]).collect::<Vec<f64>>();
        let means: Vec<f64> = (0..worth.len()).map(|k| mean(&of(k))).collect();
        let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let best = means.iter().position(|&m| m >= most).unwrap();
        for k in 0..best {
            let gaps: Vec<f64> = of(best).iter().zip(of(k)).map(|(a, b)| a - b).collect();
            let m = mean(&gaps);
            let variance = gaps.iter().map(|x| (x - m).powi(2)).sum::<f64>() / (gaps.len() - 1) as f64;
            if m <= (variance / gaps.len() as f64).sqrt() {
                return k;
            }
        }
        best
    }

    #[test]
    fn the_first_that_is_level_is_taken() {
        let mut random = Random::new(5);
        for _ in 0..crate::cases::cases(200) {
            let (n, candidates) = (2 + random.below(30), 1 + random.below(5));
            // halves of whole numbers: sums are exact in any order
            let worth: Vec<Vec<f64>> =
                (0..candidates).map(|_| (0..n).map(|_| random.below(8) as f64 / 2.0).collect()).collect();
            let drawn: Vec<usize> = (0..n).map(|_| random.below(n)).collect();
            let mut count = vec![0.0; n];
            drawn.iter().for_each(|&i| count[i] += 1.0);
            assert_eq!(pick(&worth, &count), slow_pick(&worth, &drawn), "{worth:?} {count:?}");
        }
    }

    #[test]
    fn a_clear_winner_is_taken_and_a_level_one_is_not() {
        let low = vec![0.1, 0.2, 0.3, 0.4];
        let clear: Vec<f64> = low.iter().map(|x| x + 0.1).collect();
        let level = vec![0.4, 0.1, 0.4, 0.2];
        assert_eq!(pick(&[low.clone(), clear.clone()], &[1.0; 4]), 1);
        assert_eq!(pick(&[low.clone(), level], &[1.0; 4]), 0);
        assert_eq!(pick(&[low.clone(), low, clear], &[1.0; 4]), 2);
    }

    /// Twenty candidates that are all the same but for noise: the best looks better than any is, and what is said of the choice does not.
    #[test]
    fn a_choice_among_equals_is_not_worth_more_than_they() {
        let (mut best, mut said, rounds) = (0.0, 0.0, 30);
        for seed in 0..rounds {
            let mut random = Random::new(100 + seed);
            let worth: Vec<Vec<f64>> = (0..20).map(|_| (0..40).map(|_| random.normal()).collect()).collect();
            best += worth.iter().map(|own| stats::mean(own)).fold(f64::NEG_INFINITY, f64::max) / rounds as f64;
            said += honest(&worth).unwrap() / rounds as f64;
        }
        // 40 units have a standard error of .16, and the largest of twenty is 1.87 of them above 0 on the mean
        assert!(best > 0.24 && said.abs() < 0.06, "{best} {said}");
    }

    #[test]
    fn a_clock_stops_work_and_never_what_is_done() {
        let slow = |watch: &Watch| {
            while !watch.stopped() {
                thread::yield_now();
            }
            7
        };
        assert_eq!(within(Some(Duration::ZERO), &Watch::NOBODY, slow), 7);
        assert!(!within(None, &Watch::NOBODY, |watch| watch.stopped()));
    }
}
