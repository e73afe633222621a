//! Losses of lists against all orders, one by one, and their slopes against differences.
#![allow(clippy::unwrap_used, clippy::needless_range_loop, clippy::float_cmp)] // a test may panic, twins are written by index

use ordain::data::resample::Lists;
use ordain::data::synthetic::Synthetic;
use ordain::method::{Method, Training};
use ordain::model_file::{from_bytes, to_bytes};
use ordain::solver::run::Watch;
use ordain::surrogate::lists::{ListCases, ListLikelihood, PlaceValues, RightOrders};
use ordain::traits::{Stop, Surrogate};
use proptest::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for i in 0..n {
        let grown = all.into_iter().flat_map(|order: Vec<usize>| {
            (0..=i).map(move |at| {
                let mut order = order.clone();
                order.insert(at, i);
                order
            })
        });
        all = grown.collect();
    }
    all
}

fn one_list(grades: &[f64]) -> Lists {
    let mut rows: Vec<u32> = (0..grades.len() as u32).collect();
    rows.sort_by(|&a, &b| grades[b as usize].total_cmp(&grades[a as usize]));
    Lists { ends: vec![rows.len()], rows, of_query: vec![1] }
}

/// Minus the log-likelihood by all orders; with `Average` the mean over right orders, with `Sum` of their summed probability.
fn slow(s: &[f64], grades: &[f64], c: &[f64], how: RightOrders) -> f64 {
    let score = |order: &[usize]| order.iter().zip(c).map(|(&i, c)| s[i] * c).sum::<f64>();
    let orders = permutations(s.len());
    let log_sum = |of: &[f64]| {
        let top = of.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        top + of.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
    };
    let right = orders.iter().filter(|order| order.windows(2).all(|w| grades[w[0]] >= grades[w[1]]));
    let right: Vec<f64> = right.map(|order| score(order)).collect();
    let all: Vec<f64> = orders.iter().map(|order| score(order)).collect();
    log_sum(&all)
        - if how == RightOrders::Sum { log_sum(&right) } else { right.iter().sum::<f64>() / right.len() as f64 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn likelihoods_equal_all_orders(
        docs in prop::collection::vec((-2.0..2.0f64, 0..3i32), 2..7), k in 1usize..5, linear in any::<bool>(), sum in any::<bool>(),
    ) {
        let s: Vec<f64> = docs.iter().map(|d| d.0).collect();
        let grades: Vec<f64> = docs.iter().map(|d| f64::from(d.1)).collect();
        let m = s.len();
        let values = if linear { PlaceValues::Linear } else { PlaceValues::Fixed((0..k).map(|j| 1.0 / ((j + 2) as f64).log2()).collect()) };
        let mut c = vec![];
        values.of(m, &mut c);
        c.resize(m, 0.0);
        let how = if sum { RightOrders::Sum } else { RightOrders::Average };
        let loss = ListLikelihood(ListCases::new(one_list(&grades), [&grades[..]], values, how, 0));
        let mut d = vec![0.0; m];
        let mut work = Default::default();
        let mut value = |s: &[f64], d: &mut [f64]| loss.value(0, s, d, &mut work).unwrap();
        // the orders below the head are a constant that the fast one leaves out
        let zero = vec![0.0; m];
        let constant = value(&zero, &mut d) - slow(&zero, &grades, &c, how);
        let fast = value(&s, &mut d);
        prop_assert!((fast - constant - slow(&s, &grades, &c, how)).abs() < 1e-10);
        for i in 0..m {
            let moved = |by: f64| {
                let mut s = s.clone();
                s[i] += by;
                slow(&s, &grades, &c, how)
            };
            prop_assert!(((moved(1e-5) - moved(-1e-5)) / 2e-5 - d[i]).abs() < 1e-7);
        }
        // the stand-in curvature is the true one at zero, where nothing is right but the mean
        if !sum {
            let v: Vec<f64> = (0..m).map(|i| i as f64 - 1.3).collect();
            let mut hv = vec![0.0; m];
            prop_assert!(loss.curvature(0, &zero, &v, 1, &mut hv, &mut Default::default()).unwrap());
            let slope = |by: f64| {
                let mut d = vec![0.0; m];
                loss.value(0, &v.iter().map(|v| by * v).collect::<Vec<_>>(), &mut d, &mut Default::default()).unwrap();
                d
            };
            let (up, down) = (slope(1e-5), slope(-1e-5));
            for i in 0..m {
                prop_assert!(((up[i] - down[i]) / 2e-5 - hv[i]).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn random_right_orders_are_right() {
    let grades = [1.0, 0.0, 1.0, 0.0, 2.0];
    let values = PlaceValues::Fixed(vec![1.0, 0.6, 0.5]);
    let mut seen = std::collections::HashSet::new();
    for seed in 0..40 {
        let loss =
            ListLikelihood(ListCases::new(one_list(&grades), [&grades[..]], values.clone(), RightOrders::Random, seed));
        // at s = 0 the slope is the mean value of a place minus that of the right place
        let mut d = [0.0; 5];
        loss.value(0, &[0.0; 5], &mut d, &mut Default::default()).unwrap();
        let right: Vec<f64> = d.iter().map(|d| ((2.1 / 5.0 - d) * 1e6).round() / 1e6).collect();
        assert_eq!(right[4], 1.0);
        assert!(right[0] + right[2] == 1.1 && right[1] + right[3] == 0.0, "{right:?}");
        seen.insert(right[0] > right[2]);
    }
    assert_eq!(seen.len(), 2);
}

/// A fit that is stopped after any number of steps, saved, loaded and resumed ends in the same bytes.
#[test]
fn a_resumed_fit_ends_in_the_same_bytes() {
    let set = Synthetic { queries: 60, documents: (5, 15), features: 8, ..Synthetic::default() }.make();
    let units = set.all();
    for text in
        ["rankmatch[scale=query,lambda=0.001,tol=1e-9]", "rankmatch", "rankmatch[subset=R,scale=query,lambda=0.01]"]
    {
        let method: Method = text.parse().unwrap();
        let whole = to_bytes(&method.fit(&Training::new(&set, &units), &Watch::NOBODY).unwrap());
        for stop_after in [0, 3, 11] {
            let (stop, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
            let mut model = None;
            for round in 0..200 {
                stop.store(round == 0 && stop_after == 0, Ordering::Relaxed);
                calls.store(0, Ordering::Relaxed);
                let tell = |_: f64, _: &str| {
                    if calls.fetch_add(1, Ordering::Relaxed) + 1 >= stop_after.max(1) && round < 3 {
                        stop.store(true, Ordering::Relaxed);
                    }
                };
                let journal = model.as_ref().and_then(|m: &ordain::method::Fitted| m.journal.clone());
                let training = Training { resume: journal.as_ref(), ..Training::new(&set, &units) };
                let fitted = method.fit(&training, &Watch { stop: &stop, tell: &tell }).unwrap();
                let again = from_bytes(&to_bytes(&fitted), Path::new("m")).unwrap();
                assert!(again == fitted);
                let done = fitted.facts.report.stop != Stop::Interrupted;
                model = Some(again);
                if done {
                    break;
                }
            }
            assert!(to_bytes(&model.unwrap()) == whole, "{text} stopped after {stop_after}");
        }
    }
}

#[test]
fn probabilities_of_places_add_up() {
    let set = Synthetic { queries: 30, documents: (1, 12), ..Synthetic::default() }.make();
    let model = "rankmatch[scale=query,lambda=0.1]".parse::<Method>().unwrap();
    let model = model.fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap();
    for q in 0..set.len() {
        let n = set.span(q).len();
        let all = model.ranker.place_probabilities(&set, q).unwrap();
        assert_eq!(all.len(), n);
        for j in 0..n.min(5) {
            assert!((all.iter().map(|p| p.places[j]).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        let ranks: f64 = all.iter().map(|p| p.expected_rank).sum();
        assert!((ranks - (n * (n + 1)) as f64 / 2.0).abs() < 1e-9);
        // a better score has a better expected rank
        let scores = &model.ranker.scores(&set)[set.span(q)];
        let best = (0..n).fold(0, |a, i| if scores[i] > scores[a] { i } else { a });
        assert!(all.iter().all(|p| p.expected_rank >= all[best].expected_rank - 1e-12));
    }
    let plain = "ranksvm[scale=query,lambda=1]".parse::<Method>().unwrap();
    let plain = plain.fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap();
    assert!(plain.ranker.place_probabilities(&set, 0).unwrap_err().to_string().contains("rankmatch"));
}
