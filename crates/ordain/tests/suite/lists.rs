//! Losses of lists against all orders, one by one, and their slopes against differences.
#![allow(clippy::unwrap_used, clippy::needless_range_loop, clippy::float_cmp)] // a test may panic, twins are written by index

use crate::cases::cases;
use ordain::data::resample::Lists;
use ordain::data::scale::{Scale, Scaling};
use ordain::data::synthetic::Synthetic;
use ordain::data::{Columns, RankSet};
use ordain::matrix::{Features, Matrix};
use ordain::method::{Rank, RankMethod};
use ordain::model_file::{from_bytes, to_bytes};
use ordain::risk::Empirical;
use ordain::scorer::rows::Rows;
use ordain::solver::bundle::Bundle;
use ordain::solver::lbfgs::Lbfgs;
use ordain::solver::newton::{Memory, Newton};
use ordain::solver::run::{Watch, run};
use ordain::structure::matching::{places, subsets};
use ordain::surrogate::lists::{ListCases, ListLikelihood, ListLoss, ListMargin, PlaceValues, RightOrders};
use ordain::surrogate::pair_hinge::PairHinge;
use ordain::task::{Fitted, Method, Model, Training};
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
    #![proptest_config(ProptestConfig::with_cases(cases(120)))]
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(120)))]
    #[test]
    fn margins_equal_all_orders(docs in prop::collection::vec((-2.0..2.0f64, 0..3i32), 2..6), kind in 0..4) {
        let s: Vec<f64> = docs.iter().map(|d| d.0).collect();
        let mut grades: Vec<f64> = docs.iter().map(|d| f64::from(d.1)).collect();
        let m = s.len();
        let loss = [ListLoss::Ndcg, ListLoss::Precision(2), ListLoss::Mrr, ListLoss::Wta][kind as usize];
        if loss == ListLoss::Mrr {
            grades = (0..m).map(|i| f64::from(u8::from(i == 0))).collect();
        }
        let best = grades.iter().fold(0.0f64, |a, &b| a.max(b));
        let relevant = grades.iter().filter(|&&g| g > 0.0).count();
        prop_assume!(best > 0.0);
        let cost = |order: &[usize]| {
            let at = |i: usize| grades[order[i]];
            let discount = |i: usize| 1.0 / ((i + 2) as f64).log2();
            match loss {
                ListLoss::Ndcg => {
                    let dcg: f64 = (0..m).map(|i| (at(i).exp2() - 1.0) * discount(i)).sum();
                    let mut ideal = grades.clone();
                    ideal.sort_by(|a, b| b.total_cmp(a));
                    1.0 - dcg / (0..m).map(|i| (ideal[i].exp2() - 1.0) * discount(i)).sum::<f64>()
                }
                ListLoss::Precision(k) => 1.0 - (0..k.min(m)).filter(|&i| at(i) > 0.0).count() as f64 / relevant.min(k) as f64,
                ListLoss::Mrr => 1.0 - 1.0 / ((0..m).position(|i| at(i) > 0.0).unwrap() + 1) as f64,
                ListLoss::Wta => if at(0) >= best { 0.0 } else { 1.0 },
            }
        };
        let c: Vec<f64> = (0..m).map(|j| (m - 1 - j) as f64).collect();
        let score = |order: &[usize], s: &[f64]| order.iter().zip(&c).map(|(&i, c)| s[i] * c).sum::<f64>();
        let orders = permutations(m);
        let right: Vec<&Vec<usize>> = orders.iter().filter(|o| o.windows(2).all(|w| grades[w[0]] >= grades[w[1]])).collect();
        let slow = |s: &[f64]| {
            let worst = orders.iter().map(|o| cost(o) + score(o, s)).fold(f64::NEG_INFINITY, f64::max);
            worst - right.iter().map(|o| score(o, s)).sum::<f64>() / right.len() as f64
        };
        let cases = ListCases::new(one_list(&grades), [&grades[..]], PlaceValues::Linear, RightOrders::Average, 0);
        let margin = ListMargin::new(cases, [&grades[..]], loss).unwrap();
        let mut d = vec![0.0; m];
        let fast = margin.value(0, &s, &mut d, &mut Default::default()).unwrap();
        prop_assert!((fast - slow(&s)).abs() < 1e-10 && fast > -1e-12);
        // the tightest bound: the best of all orders of the least loss, not their mean
        let cases = ListCases::new(one_list(&grades), [&grades[..]], PlaceValues::Linear, RightOrders::Best, 0);
        let tight = ListMargin::new(cases, [&grades[..]], loss).unwrap();
        let least = orders.iter().map(|o| cost(o)).fold(f64::INFINITY, f64::min);
        let slow_tight = |s: &[f64]| {
            let worst = orders.iter().map(|o| cost(o) + score(o, s)).fold(f64::NEG_INFINITY, f64::max);
            let right = orders.iter().filter(|o| cost(o) < least + 1e-9).map(|o| score(o, s));
            worst - right.fold(f64::NEG_INFINITY, f64::max)
        };
        let mut slope = vec![0.0; m];
        // scores at random, and the same with many ties
        for s in [s.clone(), s.iter().map(|s| s.round()).collect()] {
            let value = tight.value(0, &s, &mut slope, &mut Default::default()).unwrap();
            prop_assert!((value - slow_tight(&s)).abs() < 1e-10, "{:?} {:?}: {} {}", loss, grades, value, slow_tight(&s));
            prop_assert!(value > -1e-12 && value < slow(&s) + 1e-10);
        }
        tight.value(0, &s, &mut slope, &mut Default::default()).unwrap();
        for i in 0..m {
            let at = |by: f64| {
                let mut s = s.clone();
                s[i] += by;
                slow_tight(&s)
            };
            let (up, down) = ((at(1e-6) - at(0.0)) / 1e-6, (at(0.0) - at(-1e-6)) / 1e-6);
            if (up - down).abs() < 1e-6 {
                prop_assert!((up - slope[i]).abs() < 1e-6, "{:?}: {} {}", loss, up, slope[i]);
            }
        }
        // what is taken off is convex, its slope a plane below it, and the same for equal documents in any order
        let rounded: Vec<f64> = s.iter().map(|s| s.round()).collect();
        let right_of = |s: &[f64]| {
            let rows = one_list(&grades).rows;
            let (mut table, mut plane) = (vec![0.0; m], vec![0.0; m]);
            tight.best_right(0, s, &mut table, &mut Default::default());
            rows.iter().zip(&table).for_each(|(&row, &value)| plane[row as usize] = value);
            (s.iter().zip(&plane).map(|(s, g)| s * g).sum::<f64>(), plane)
        };
        let (off, plane) = right_of(&rounded);
        let change: f64 = s.iter().zip(&rounded).zip(&plane).map(|((a, b), g)| (a - b) * g).sum();
        prop_assert!(right_of(&s).0 >= off + change - 1e-10);
        for i in 0..m {
            for j in 0..m {
                prop_assert!(grades[i] != grades[j] || rounded[i] != rounded[j] || plane[i] == plane[j]);
            }
        }
        // a plane below the loss everywhere
        for by in [0.5, -0.5] {
            for i in 0..m {
                let mut moved = s.clone();
                moved[i] += by;
                prop_assert!(slow(&moved) >= fast + by * d[i] - 1e-10);
            }
        }
    }
}

/// A list in which every place counts is a square problem: both recursions give the same law.
#[test]
fn head_places_equal_the_full_recursion() {
    let mut random = ordain::random::Random::new(9);
    for m in 2..13 {
        let s: Vec<f64> = (0..m).map(|_| random.normal()).collect();
        let c: Vec<f64> = (1..m).rev().map(|c| c as f64).collect();
        let w: Vec<f64> =
            s.iter().flat_map(|s| (0..m).map(|j| s * c.get(j).unwrap_or(&0.0)).collect::<Vec<_>>()).collect();
        let (mut head, mut full) = (vec![0.0; m * (m - 1)], vec![0.0; m * m]);
        let a = places::log_sum(&s, &c, &mut Default::default(), &mut head).unwrap();
        let b = subsets::log_sum(&w, m, &mut Default::default(), &mut full).unwrap();
        assert!((a - b).abs() < 1e-11 * (1.0 + b.abs()), "M = {m}: {a} {b}");
        for i in 0..m {
            for j in 0..m - 1 {
                assert!((head[i * (m - 1) + j] - full[i * m + j]).abs() < 1e-12);
            }
        }
    }
}

/// The gap of the bundle method holds: no other method finds less than its lower bound, and it comes as low itself.
#[test]
fn the_gap_is_certified() {
    let set = Synthetic { queries: 40, documents: (5, 15), features: 6, ..Synthetic::default() }.make();
    let units: Vec<u32> = set.all().into_iter().filter(|&q| !set.is_flat(q as usize)).collect();
    let loss = PairHinge::new(units.iter().map(|&q| &set.grades[set.span(q as usize)]), None);
    let scaling = Scaling::learn(Scale::Query, &set, &units);
    let rows = Rows::new(&set, &units, &scaling);
    let pairs: f64 = (0..units.len()).map(|n| loss.pairs(n).0).sum();
    for lambda in [1.0, 0.1] {
        let mut risk = Empirical::new(&rows, &loss, vec![1.0 / pairs; units.len()]);
        let mut newton = Newton::new(&mut risk, lambda, 1e-10, vec![0.0; 6], Memory::default()).unwrap();
        let truth = run(&mut newton, 100, 0, &Watch::NOBODY).unwrap().objective;
        let mut risk = Empirical::new(&rows, &loss, vec![1.0 / pairs; units.len()]);
        let mut bundle = Bundle::new(&mut risk, lambda, 1e-6, vec![0.0; 6]).unwrap();
        let report = run(&mut bundle, 500, 0, &Watch::NOBODY).unwrap();
        let gap = report.gap.unwrap();
        assert_eq!(report.stop, Stop::Gap);
        assert!(
            gap <= 1e-6 * report.objective
                && report.objective >= truth - 1e-12
                && report.objective - gap <= truth + 1e-12
        );
        let mut risk = Empirical::new(&rows, &loss, vec![1.0 / pairs; units.len()]);
        let mut lbfgs = Lbfgs::new(&mut risk, lambda, 1e-9, vec![0.0; 6]).unwrap();
        let report = run(&mut lbfgs, 500, 0, &Watch::NOBODY).unwrap();
        assert!((report.objective - truth).abs() < 1e-12, "{} {truth}", report.objective);
    }
}

/// Lists of some documents with one feature.
fn lists_of(docs: &[(f64, f32)], queries: usize) -> RankSet {
    let n = docs.len();
    let values = (0..queries).flat_map(|_| docs.iter().map(|doc| doc.1)).collect();
    let grades = (0..queries).flat_map(|_| docs.iter().map(|doc| doc.0)).collect();
    let columns = Columns::named(vec!["x".into()]);
    let names = (0..queries).map(|q| format!("q{q}")).collect();
    let bounds = (0..=queries).map(|q| q * n).collect();
    RankSet::new(Features::Dense(Matrix::new(values, 1)), columns, grades, bounds, names).unwrap()
}

fn dorm(text: &str, set: &RankSet) -> Fitted<Rank> {
    text.parse::<RankMethod>().unwrap().fit(&Training::new(set, &set.all()), &Watch::NOBODY).unwrap()
}

/// The relevant document lies at 3, the others at 2, 0 and -2: the mean of right places wants the others together, and learns nothing.
#[test]
fn the_best_right_order_learns_where_the_mean_learns_nothing() {
    let docs = [(1.0, 3.0), (0.0, 2.0), (0.0, 0.0), (0.0, -2.0)];
    let mut turned = docs;
    turned.reverse();
    for loss in ["p@1", "wta", "mrr", "ndcg"] {
        for lambda in [3.0f64, 1.0, 0.1, 1e-2, 1e-3] {
            let text =
                |ties: &str| format!("dorm[scale=none,subset=4,loss={loss},lambda={lambda},ties={ties},tol=1e-9]");
            let model = dorm(&text("best"), &lists_of(&docs, 3));
            let (w, report) = (model.model.score.weights()[0], model.facts.report);
            assert!(w > 0.0 && report.stop == Stop::Change, "{loss} {lambda}: {w} {report:?}");
            assert!(report.rounds.is_some_and(|rounds| rounds > 0) && report.gap.is_some());
            // in whatever order the documents come
            let other = dorm(&text("best"), &lists_of(&turned, 3)).model.score.weights()[0];
            assert!((w - other).abs() < 1e-6, "{loss} {lambda}: {w} {other}");
            if loss == "p@1" || loss == "wta" {
                // one order of loss 1 is 1 behind per unit of w: the minimum of λ/2·w² + max(0, 1 − w)
                assert!((w - (1.0 / lambda).min(1.0)).abs() < 1e-4, "{loss} {lambda}: {w}");
                assert!(dorm(&text("average"), &lists_of(&docs, 3)).model.score.weights()[0].abs() < 1e-6);
            }
        }
    }
}

/// Documents of one grade in another order are the same documents, and without ties all three rules are one.
#[test]
fn the_order_of_documents_does_not_count() {
    let set = Synthetic { queries: 25, documents: (5, 5), features: 3, grades: 2, ..Synthetic::default() }.make();
    let mut order: Vec<u32> = (0..set.rows() as u32).collect();
    let mut random = ordain::random::Random::new(3);
    (0..set.len()).for_each(|q| random.shuffle(&mut order[set.span(q)]));
    let grades = order.iter().map(|&row| set.grades[row as usize]).collect();
    let names = (0..set.len()).map(|q| set.query(q).to_owned()).collect();
    let bounds = (0..=set.len()).map(|q| 5 * q).collect();
    let moved = RankSet::new(set.features.select_rows(&order), set.columns.clone(), grades, bounds, names).unwrap();
    let text = "dorm[scale=query,subset=5,lambda=0.1,tol=1e-12,max_iter=5000]";
    let (a, b) = (dorm(text, &set), dorm(text, &moved));
    for (x, y) in a.model.score.weights().iter().zip(b.model.score.weights()) {
        assert!((x - y).abs() < 1e-6, "{:?} {:?}", a.model.score.weights(), b.model.score.weights());
    }
    let set = Synthetic { queries: 25, documents: (5, 9), features: 3, grades: 3, ..Synthetic::default() }.make();
    let of = |ties: &str| dorm(&format!("dorm[scale=query,lambda=0.1,tol=1e-12,max_iter=5000,ties={ties}]"), &set);
    let (best, mean, one) = (of("best"), of("average"), of("random"));
    assert_eq!(mean.model.score.weights(), one.model.score.weights());
    assert!(best.model.score.weights().iter().zip(mean.model.score.weights()).all(|(a, b)| (a - b).abs() < 1e-6));
    assert_eq!((best.facts.report.rounds, mean.facts.report.rounds), (Some(1), None));
}

/// The seed breaks ties where that is asked.
#[test]
fn random_ties_go_by_the_seed() {
    let set = Synthetic { queries: 25, documents: (6, 6), features: 3, grades: 2, ..Synthetic::default() }.make();
    let of = |ties: &str, seed: u64| {
        let method: RankMethod = format!("dorm[scale=query,subset=6,lambda=0.1,ties={ties}]").parse().unwrap();
        let all = set.all();
        method
            .fit(&Training { seed, ..Training::new(&set, &all) }, &Watch::NOBODY)
            .unwrap()
            .model
            .score
            .weights()
            .to_vec()
    };
    assert_eq!(of("random", 1), of("random", 1));
    assert_ne!(of("random", 1), of("random", 2));
    // all six documents are in every subset: nothing else is drawn
    assert_eq!(of("average", 1), of("average", 2));
    assert_eq!(of("best", 1), of("best", 2));
}

#[test]
fn what_dorm_cannot_do_is_refused_with_the_reason() {
    let message = |text: &str| text.parse::<RankMethod>().unwrap_err().to_string();
    assert!(message("dorm[subset=full]").contains("smallest at w = 0"));
    let set = Synthetic { queries: 20, ..Synthetic::default() }.make();
    let fit = |text: &str| text.parse::<RankMethod>().unwrap().fit(&Training::new(&set, &set.all()), &Watch::NOBODY);
    assert!(fit("dorm[loss=mrr]").unwrap_err().to_string().contains("at most one relevant document"));
    assert!(fit("rankmatch[subset=2]").unwrap_err().to_string().contains("the number of grades"));
    assert!(message("rankmatch[subset=3,draws=all]").contains("all is for subset=2"));
    assert!(fit("rankmatch[subset=2,draws=all,scale=query,lambda=0.1]").is_ok());
    let mut weighted = set.clone();
    weighted.weights = Some(vec![1.0; set.rows()]);
    let refusal = "dorm".parse::<RankMethod>().unwrap().fit(&Training::new(&weighted, &set.all()), &Watch::NOBODY);
    assert!(refusal.unwrap_err().to_string().contains("weights for dorm with ties=best"));
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
    for text in [
        "rankmatch[scale=query,lambda=0.001,tol=1e-9]",
        "rankmatch",
        "rankmatch[subset=R,scale=query,lambda=0.01]",
        "dorm[subset=5,draws=0.1]",
        "dorm[ties=average,draws=0.1]",
        "svmmap[scale=query]",
    ] {
        let method: RankMethod = text.parse().unwrap();
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
                let journal = model.as_ref().and_then(|m: &Fitted<Rank>| m.journal.clone());
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
    let method = "rankmatch[scale=query,lambda=0.1]".parse::<RankMethod>().unwrap();
    let ranker = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap().model;
    let ready = ranker.prepare(&set).unwrap();
    for q in 0..set.len() {
        let n = set.span(q).len();
        let all = ranker.place_probabilities(&ready, q).unwrap();
        assert_eq!(all.len(), n);
        for j in 0..n.min(5) {
            assert!((all.iter().map(|p| p.places[j]).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        let ranks: f64 = all.iter().map(|p| p.expected_rank).sum();
        assert!((ranks - (n * (n + 1)) as f64 / 2.0).abs() < 1e-9);
        // a better score has a better expected rank
        let scores = &ranker.scores(&ready).unwrap()[set.span(q)];
        let best = (0..n).fold(0, |a, i| if scores[i] > scores[a] { i } else { a });
        assert!(all.iter().all(|p| p.expected_rank >= all[best].expected_rank - 1e-12));
    }
    let plain = "ranksvm[scale=query,lambda=1]".parse::<RankMethod>().unwrap();
    let plain = plain.fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap().model;
    let ready = plain.prepare(&set).unwrap();
    assert!(plain.place_probabilities(&ready, 0).unwrap_err().to_string().contains("rankmatch"));
    assert!(plain.predict(&ready, &[0], true).unwrap_err().to_string().contains("rankmatch"));
}
