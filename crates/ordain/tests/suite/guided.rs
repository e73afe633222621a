//! What a caller brings to a fit beside data: a metric of his own, a model to start from, and signs of weights.
#![allow(clippy::unwrap_used, clippy::panic)] // a test may panic

use crate::cases::cases;
use ordain::data::synthetic::{Linkage, Scenes, Synthetic};
use ordain::data::{DataSet, RankSet};
use ordain::method::{CStar, MatchMethod, Rank, RankMethod};
use ordain::metric::{Metric, Own};
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Task, Training};

fn fit<T: Task>(method: &str, set: &T::Set, by: Option<Metric>) -> ordain::Result<Fitted<T>> {
    let units = set.all();
    let training = Training { by, ..Training::new(set, &units) };
    method.parse::<T::Method>()?.fit(&training, &Watch::NOBODY)
}

fn ranked(seed: u64) -> RankSet {
    Synthetic { queries: 40, documents: (4, 9), features: 5, grades: 3, seed, ..Synthetic::default() }.make()
}

/// The order of scores, the best first; no two are equal.
fn order(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    order
}

/// One over the rank of the first that is right.
fn reciprocal(truth: &[f64], said: &[f64]) -> Option<f64> {
    order(said).iter().position(|&i| truth[i] > 0.0).map(|rank| 1.0 / (rank + 1) as f64)
}

/// 2 |T ∩ P| / (|T| + |P|).
fn f1(truth: &[f64], said: &[f64]) -> f64 {
    let both: f64 = truth.iter().zip(said).map(|(t, s)| t * s).sum();
    let sum: f64 = truth.iter().chain(said).sum();
    if sum > 0.0 { 2.0 * both / sum } else { 1.0 }
}

/// A function that says what a metric of ordain says makes the same choices by the same values, in all three tasks.
#[test]
fn a_metric_of_the_caller_chooses_as_the_same_one_of_ordain() {
    let own = Own::new("first", |truth, said| Ok(reciprocal(truth, said)));
    let values = |fitted: Fitted<Rank>| fitted.facts.chosen.unwrap();
    let set = ranked(1);
    let (a, b) = (
        values(fit::<Rank>("ranksvm", &set, Some(own.metric())).unwrap()),
        values(fit::<Rank>("ranksvm", &set, Some("mrr".parse().unwrap())).unwrap()),
    );
    assert_eq!((a.metric.as_str(), a.candidates.len()), ("own:first", b.candidates.len()));
    for (a, b) in a.candidates.iter().zip(&b.candidates) {
        assert!(a.settings == b.settings && (a.value - b.value).abs() < 1e-12, "{a:?} {b:?}");
    }
    let items = Scenes { items: 120, labels: 5, ..Scenes::default() }.make();
    let chosen = |by| fit::<ordain::method::Annotate>("cstar[core=1]", &items, Some(by)).unwrap().facts.chosen.unwrap();
    let (a, b) = (chosen(own.metric()), chosen("mrr".parse().unwrap()));
    assert!(a.candidates.iter().zip(&b.candidates).all(|(a, b)| (a.value - b.value).abs() < 1e-12), "{a:?} {b:?}");
    let edges = Linkage { problems: 140, records: 4, matched: 1.0, ..Linkage::default() }.make();
    let whole = Own::new("f1", |truth, said| Ok(Some(f1(truth, said))));
    let chosen = |by| fit::<ordain::method::Match>("matchmap", &edges, Some(by)).unwrap().facts.chosen.unwrap();
    let (a, b) = (chosen(whole.metric()), chosen("f1".parse().unwrap()));
    assert!(a.candidates.iter().zip(&b.candidates).all(|(a, b)| (a.value - b.value).abs() < 1e-12), "{a:?} {b:?}");
}

#[test]
fn what_a_metric_of_the_caller_may_not_say() {
    let set = ranked(2);
    let endless = Own::new("endless", |_, _| Ok(Some(f64::INFINITY)));
    let error = fit::<Rank>("ranksvm", &set, Some(endless.metric())).unwrap_err().to_string();
    assert!(error.contains("a finite number of the metric") && error.contains("endless"), "{error}");
    let broken = Own::new("broken", |_, _| Err(ordain::Error::Data { expected: "luck".into(), found: "none".into() }));
    let error = fit::<Rank>("listnet", &set, Some(broken.metric())).unwrap_err().to_string();
    assert!(error.contains("expected luck"), "{error}");
    let metric = broken.metric();
    drop(broken);
    let error = fit::<Rank>("listnet", &set, Some(metric)).unwrap_err().to_string();
    assert!(error.contains("still lives"), "{error}");
    // a model says by what it was chosen, and nobody can read that back
    let error = "own:first".parse::<Metric>().unwrap_err().to_string();
    assert!(error.contains("the function itself"), "{error}");
    // of no unit at all there is nothing to choose on
    let silent = Own::new("silent", |_, _| Ok(None));
    assert!(fit::<Rank>("ranksvm", &set, Some(silent.metric())).unwrap().facts.chosen.is_none());
}

/// A fit that starts from a model of the same data comes to it, and a smooth convex one in fewer steps.
#[test]
fn a_fit_starts_from_a_model() {
    let set = ranked(3);
    for method in [
        "ranksvm[scale=global,lambda=0.1,tol=1e-8]",
        "ranksvm[scale=query,lambda=0.01,tol=1e-8]",
        "listnet[scale=global,lambda=0.1,tol=1e-8]",
        "rankmatch[scale=global,lambda=0.1,tol=1e-7]",
        "svmmap[scale=global,lambda=0.1]",
        "dorm[scale=global,lambda=0.1]",
        "ranknet[scale=global,lambda=0.1,hidden=3,max_iter=400,tol=1e-7]",
    ] {
        let method: RankMethod = method.parse().unwrap();
        let units = set.all();
        let first = method.fit(&Training::new(&set, &units), &Watch::NOBODY).unwrap();
        let again = Training { init: Some(&first), ..Training::new(&set, &units) };
        let second = method.fit(&again, &Watch::NOBODY).unwrap();
        let (before, after) = (first.facts.report, second.facts.report);
        // cuts are gathered anew, and a network is judged by the gradient at its start
        let smooth = !["svmmap", "dorm", "ranknet"].contains(&method.name());
        assert!(!smooth || after.iterations < before.iterations, "{method}: {before:?} {after:?}");
        let slack = if smooth || method.name() == "ranknet" { 1e-9 } else { 1e-2 };
        assert!(after.objective <= before.objective * (1.0 + slack), "{method}: {before:?} {after:?}");
        assert_eq!(second.facts.init.as_deref(), Some(first.facts.data.as_str()));
    }
}

#[test]
fn a_model_that_nothing_can_start_from_is_refused() {
    let set = ranked(4);
    let units = set.all();
    let init = fit::<Rank>("listnet[scale=global,lambda=1]", &set, None).unwrap();
    let error = |method: &str, set: &RankSet| {
        let method: RankMethod = method.parse().unwrap();
        let training = Training { init: Some(&init), ..Training::new(set, &units) };
        method.fit(&training, &Watch::NOBODY).unwrap_err().to_string()
    };
    assert!(error("ranksvm", &set).contains("expected a model of ranksvm to start from, found one of listnet"));
    for method in ["ranksvm[kernel=rbf]", "ranksvm[scorer=trees]", "rankboost", "quadrank", "sortnet", "isorank"] {
        assert!(error(method, &set).contains("no model to start from for"), "{method}");
    }
    let mut other = set.clone();
    other.columns.names[2] = "price".into();
    let text = error("listnet", &other);
    assert!(text.contains("whose column 3 is \"price\""), "{text}");
}

/// The slow twin of signs: of all sets of columns that keep a weight, one has the best fit under the signs.
#[test]
fn signs_are_kept_at_the_best_objective() {
    for seed in 0..cases(4) as u64 {
        let set = ranked(20 + seed);
        for (method, monotone) in [
            ("ranksvm[scale=query,transform=none,lambda=0.05,tol=1e-9,max_iter=500]", "+1;-2;-3"),
            ("listnet[scale=query,transform=none,lambda=0.05,tol=1e-9]", "-1;+2;-4"),
            ("rankmatch[scale=query,transform=none,lambda=0.05,tol=1e-8,max_iter=500]", "-1;-2;+3"),
        ] {
            let with = |monotone: &str, set: &RankSet| {
                let mut method: RankMethod = method.parse().unwrap();
                method.set("monotone", monotone).unwrap();
                method.fit(&Training::new(set, &set.all()), &Watch::NOBODY).unwrap()
            };
            let fitted = with(monotone, &set);
            let signs: Vec<(usize, f64)> = monotone
                .split(';')
                .map(|word| (word[1..].parse::<usize>().unwrap() - 1, if &word[..1] == "+" { 1.0 } else { -1.0 }))
                .collect();
            let kept = |weights: &[f64]| signs.iter().all(|&(j, sign)| sign * weights[j] >= 0.0);
            assert!(kept(fitted.model.score.weights()), "{method}: {:?}", fitted.model.score.weights());
            let mut best = f64::INFINITY;
            for gone in 0..1 << signs.len() {
                let mut part = set.clone();
                for (n, &(j, _)) in signs.iter().enumerate() {
                    if gone >> n & 1 == 1 {
                        part.features.replace_column(j, &vec![0.0; set.rows()]);
                    }
                }
                let plain = with("none", &part);
                if kept(plain.model.score.weights()) {
                    best = best.min(plain.facts.report.objective);
                }
            }
            let own = fitted.facts.report.objective;
            assert!((own - best).abs() <= 1e-7 * best, "{method} seed {seed}: {own} {best}");
            assert_eq!(fitted.facts.settings["monotone"], monotone);
        }
    }
}

/// Matchers keep signs too, from any side and with weights of staying alone.
#[test]
fn matchers_keep_signs() {
    for (null, matched) in [("false", 1.0), ("true", 0.7)] {
        let set = Linkage { problems: 30, records: 4, matched, ..Linkage::default() }.make();
        let all = |method: &str| fit::<ordain::method::Match>(method, &set, None).unwrap();
        let plain = all(&format!("matchmap[lambda=0.01,null={null}]"));
        let weights = plain.model.score.weights().to_vec();
        let j = (0..weights.len()).max_by(|&a, &b| weights[a].abs().total_cmp(&weights[b].abs())).unwrap();
        let name = &set.columns.names[j];
        let (agree, against) = if weights[j] > 0.0 { ("+", "-") } else { ("-", "+") };
        let same = all(&format!("matchmap[lambda=0.01,null={null},monotone={agree}{name}]"));
        for (a, b) in same.model.score.weights().iter().zip(&weights) {
            assert!((a - b).abs() < 1e-2 * (1.0 + b.abs()), "{a} {b}");
        }
        let held = all(&format!("matchmap[lambda=0.01,null={null},monotone={against}{name}]"));
        assert!(held.model.score.weights()[j].abs() <= 0.0, "{name}");
    }
}

#[test]
fn signs_of_nothing_are_refused() {
    let set = ranked(5);
    for (method, expected) in [
        ("ranksvm[monotone=+nothing]", "unknown column"),
        ("ranksvm[monotone=+1,kernel=rbf]", "kernel=linear"),
        ("ranksvm[monotone=+1,loss=hinge]", "squared hinge"),
        ("listnet[monotone=1]", "a sign before each column"),
        ("svmmap[monotone=+1]", "monotone"),
    ] {
        let error = fit::<Rank>(method, &set, None).unwrap_err().to_string();
        assert!(error.contains(expected), "{method}: {error}");
    }
    let error = "cstar[monotone=+1]".parse::<CStar>().unwrap_err().to_string();
    assert!(error.contains("trees"), "{error}");
    assert!("matchmap[monotone=+1,kernel=rbf]".parse::<MatchMethod>().is_err());
    // trees on top of weights keep the direction of the whole score
    let both = fit::<Rank>("ranksvm[scorer=linear+trees,lambda=0.1,rounds=5,monotone=-1;-2;-3;-4;-5]", &set, None);
    let both = both.unwrap();
    let ready = both.model.prepare(&set).unwrap();
    assert!(both.model.score.weights().iter().all(|&w| w <= 0.0));
    assert!(both.model.scores(&ready).unwrap().iter().all(|s| s.is_finite()));
}
