//! The choice of a method: the same bytes by number as by clock, on all tasks, whatever the threads.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::Error;
use ordain::data::synthetic::{Linkage, Scenes, Synthetic};
use ordain::data::{Missing, RankSet};
use ordain::matrix::Features;
use ordain::method::auto::{AutoFit, Limit, auto};
use ordain::method::{Annotate, Match, Rank};
use ordain::metric::{Convention, stats};
use ordain::model_file::{Stored, from_bytes, to_bytes};
use ordain::solver::run::Watch;
use ordain::task::{DataSet, Method, Model, Task, Training};
use ordain::traits::Stop;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn queries(queries: usize) -> RankSet {
    Synthetic { queries, documents: (5, 9), features: 4, grades: 3, ..Synthetic::default() }.make()
}

fn made<T: Stored>(set: &T::Set, limit: Limit) -> AutoFit<T> {
    auto(&Training::new(set, &set.all()), Missing::Error, limit, &Watch::NOBODY).unwrap()
}

/// The file keeps how the method was chosen, and the model is that of a fit by its name.
fn holds<T: Stored>(set: &T::Set, candidates: usize) {
    let AutoFit { fitted, method, seconds } = made::<T>(set, Limit::Candidates(candidates));
    let choice = fitted.facts.auto.clone().unwrap();
    assert_eq!((choice.candidates, choice.tried.len(), seconds.len()), (candidates, candidates, candidates));
    assert_eq!(choice.of, T::candidates(set, &set.all()).len());
    assert_eq!(choice.taken, method.to_string());
    let bytes = to_bytes(&fitted);
    assert_eq!(from_bytes::<T>(&bytes, Path::new("m")).unwrap(), fitted);
    assert_eq!(to_bytes(&made::<T>(set, Limit::Candidates(candidates)).fitted), bytes);
    let units = set.all();
    let by = Some(choice.metric.parse().unwrap());
    let mut alone = method.fit(&Training { by, ..Training::new(set, &units) }, &Watch::NOBODY).unwrap();
    assert_eq!(alone.model, fitted.model);
    alone.facts.auto = Some(choice);
    assert_eq!(alone, fitted, "a fit by the name differs in nothing but what is said of the choice");
}

#[test]
fn a_choice_is_stored_and_repeated_on_every_task() {
    holds::<Rank>(&queries(20), 3);
    holds::<Annotate>(&Scenes { items: 40, labels: 6, scenes: 3, ..Scenes::default() }.make(), 2);
    holds::<Match>(&Linkage { problems: 15, records: 5, ..Linkage::default() }.make(), 2);
}

#[test]
fn every_candidate_is_a_method_of_its_task() {
    fn parse<T: Task>() {
        for text in T::CANDIDATES.iter().copied().flatten() {
            let method: T::Method = text.parse().unwrap();
            method.check().unwrap();
            assert_eq!(method.to_string(), *text, "the shortest way to write it");
        }
    }
    parse::<Rank>();
    parse::<Annotate>();
    parse::<Match>();
}

/// A budget only says where the list ends: nothing else of the model depends on it.
#[test]
fn a_budget_is_a_number_of_candidates() {
    let set = queries(25);
    let least = made::<Rank>(&set, Limit::Budget(Default::default()));
    assert_eq!(least.fitted.facts.auto.as_ref().unwrap().candidates, 1, "the first is always finished");
    assert_eq!(to_bytes(&least.fitted), to_bytes(&made::<Rank>(&set, Limit::Candidates(1)).fitted));
}

#[test]
fn values_are_those_of_fits_on_the_other_parts() {
    let set = queries(40);
    let choice = made::<Rank>(&set, Limit::Candidates(2)).fitted.facts.auto.unwrap();
    assert_eq!(choice.parts, Some(5));
    for tried in &choice.tried {
        let method: <Rank as Task>::Method = tried.method.parse().unwrap();
        let mut values = vec![];
        // hold-out first takes every fifth query for validation, then all are cut in five, training queries first
        let (valid, train): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(|unit| unit % 5 == 4);
        let all = [train, valid].concat();
        for part in 0..5 {
            let of = |own: bool| -> Vec<u32> {
                all.iter().enumerate().filter(|(i, _)| (i % 5 == part) == own).map(|(_, &unit)| unit).collect()
            };
            let (train, held) = (of(false), of(true));
            let fitted = method.fit(&Training::new(&set, &train), &Watch::NOBODY).unwrap();
            let ready = fitted.model.prepare(&set).unwrap();
            let result = fitted.model.evaluate(&ready, &held, &["ndcg@10".parse().unwrap()], &Convention::STANDARD);
            values.extend(result.unwrap().counted(0));
        }
        assert_eq!(values.len(), choice.units, "queries with something relevant");
        assert!((tried.value.unwrap() - stats::mean(&values)).abs() < 1e-12, "{tried:?}");
    }
}

/// Gaps are filled by what the units of a fit teach, and a candidate that cannot be fitted is said and passed over.
#[test]
fn gaps_and_refusals() {
    let mut set = queries(25);
    if let Features::Dense(matrix) = &mut set.features {
        matrix.values_mut()[3 * 4 + 1] = f32::NAN;
    }
    let units = set.all();
    let training = || Training::<Rank>::new(&set, &units);
    let mean = auto(&training(), Missing::Mean, Limit::Candidates(1), &Watch::NOBODY).unwrap();
    assert_eq!(mean.fitted.model.inputs.missing, Missing::Mean);
    let kept = auto(&training(), Missing::Keep, Limit::Candidates(6), &Watch::NOBODY).unwrap();
    let choice = kept.fitted.facts.auto.unwrap();
    assert_eq!(choice.taken, "frank");
    assert!(choice.tried[..5].iter().all(|tried| tried.value.is_none() && tried.refused.is_some()), "{choice:?}");
    assert_eq!(choice.honest, None, "there was one to choose from");
    let error = auto(&training(), Missing::Error, Limit::Candidates(2), &Watch::NOBODY).unwrap_err();
    assert!(error.to_string().contains("a value in every cell"), "{error}");
}

#[test]
fn what_cannot_be_chosen_is_refused() {
    let set = queries(25);
    let units = set.all();
    for (limit, units, text) in [
        (Limit::Candidates(0), &units[..], "candidates: expected a whole number from 1 to 9"),
        (Limit::Candidates(10), &units[..], "found \"10\""),
        (Limit::All, &units[..4], "five queries at least to choose a method on"),
    ] {
        let error = auto(&Training::<Rank>::new(&set, units), Missing::Error, limit, &Watch::NOBODY).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    }
    let matches = Linkage { problems: 10, ..Linkage::default() }.make();
    let (all, by) = (matches.all(), Some("ece".parse().unwrap()));
    let training = Training::<Match> { by, ..Training::new(&matches, &all) };
    let error = auto(&training, Missing::Error, Limit::All, &Watch::NOBODY).unwrap_err();
    assert!(matches!(error, Error::Setting { .. }), "{error}");
}

/// Stopped while the second is tried: the first, as a model that says that it is not complete.
#[test]
fn an_interrupted_choice_keeps_the_best_so_far() {
    let (set, stop, told) = (queries(25), AtomicBool::new(false), AtomicUsize::new(0));
    let tell = |_: f64, word: &str| {
        if word == "trying listnet" {
            told.fetch_add(1, Ordering::Relaxed);
            stop.store(true, Ordering::Relaxed);
        }
    };
    let units = set.all();
    let watch = Watch { stop: &stop, tell: &tell };
    let made = auto(&Training::<Rank>::new(&set, &units), Missing::Error, Limit::All, &watch).unwrap();
    assert!(told.load(Ordering::Relaxed) > 0);
    assert_eq!(made.fitted.facts.report.stop, Stop::Interrupted);
    assert_eq!(made.fitted.facts.auto.unwrap().candidates, 1);
    stop.store(true, Ordering::Relaxed);
    let error = auto(&Training::<Rank>::new(&set, &units), Missing::Error, Limit::All, &watch).unwrap_err();
    assert!(matches!(error, Error::Interrupted), "{error}");
}

#[test]
fn threads_change_nothing() {
    let set = queries(25);
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| to_bytes(&made::<Rank>(&set, Limit::Candidates(4)).fitted))
    };
    assert_eq!(of(1), of(3));
}
