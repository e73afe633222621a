//! Samplers of matchings against enumeration: chi-square of all matchings, log Z within its error, seeds.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::Error;
use ordain::random::Random;
use ordain::structure::exhaustive;
use ordain::structure::matching::graph::Graph;
use ordain::structure::matching::samples::Samples;
use ordain::structure::matching::{chain, huber_law, importance};
use std::collections::HashMap;

pub(crate) struct Case {
    name: &'static str,
    pub(crate) graph: Graph,
    pub(crate) s: Vec<f64>,
}

/// Complete where `share` is 1, otherwise random edges, and a diagonal so that a matching exists.
pub(crate) fn case(name: &'static str, n: usize, m: usize, share: f64, null: bool, scale: f64, seed: u64) -> Case {
    let mut random = Random::new(seed);
    let mut edges = vec![];
    for i in 0..n {
        for j in 0..m {
            if i == j || random.uniform() < share {
                edges.push((i as u32, j as u32));
            }
        }
    }
    let graph = Graph::new(n, m, &edges, null).unwrap();
    let s = (0..graph.table()).map(|_| scale * random.normal()).collect();
    Case { name, graph, s }
}

fn circle(n: usize, scale: f64) -> Case {
    let mut edges: Vec<(u32, u32)> = (0..n as u32).flat_map(|i| [(i, i), (i, (i + 1) % n as u32)]).collect();
    edges.sort_unstable();
    let graph = Graph::new(n, n, &edges, false).unwrap();
    let s = (0..graph.edges()).map(|e| scale * ((e * 7 % 5) as f64 - 2.0) / 5.0).collect();
    Case { name: "circle", graph, s }
}

fn cases() -> Vec<Case> {
    let isolated = Graph::new(3, 3, &[(0, 0), (0, 1), (2, 0)], true).unwrap();
    let s = (0..isolated.table()).map(|k| 0.3 * (k as f64) - 1.0).collect();
    // a path: one matching only, though two edges more are allowed
    let forced = Graph::new(3, 3, &[(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)], false).unwrap();
    let mut shifted = case("rows and columns shifted", 4, 4, 1.0, false, 1.0, 12);
    for e in 0..16 {
        shifted.s[e] += [1e4, -1e4, 5e3, 0.0][e / 4] + [0.0, 3e3, -1e4, 7.0][e % 4];
    }
    vec![
        case("one pair", 1, 1, 1.0, false, 1.0, 1),
        case("one pair, null", 1, 1, 1.0, true, 1.0, 2),
        case("square", 4, 4, 1.0, false, 1.0, 3),
        case("square, peaked", 5, 5, 1.0, false, 3.0, 4),
        case("square, sparse", 5, 5, 0.4, false, 1.0, 5),
        case("wide", 3, 5, 1.0, false, 1.0, 6),
        case("tall", 5, 3, 1.0, false, 1.0, 7),
        case("wide, sparse", 3, 5, 0.3, false, 1.0, 8),
        case("tall, sparse", 5, 3, 0.3, false, 1.0, 21),
        case("square, null", 3, 3, 1.0, true, 1.0, 9),
        case("wide, null", 2, 4, 1.0, true, 1.0, 10),
        case("tall, null, sparse", 4, 3, 0.5, true, 1.5, 11),
        case("null, peaked", 3, 3, 1.0, true, 4.0, 14),
        shifted,
        circle(5, 1.0),
        Case { name: "isolated, null", graph: isolated, s },
        Case { name: "one matching", graph: forced, s: vec![1.0, 5.0, -1.0, 5.0, 0.0] },
        Case { name: "nothing", graph: Graph::new(0, 2, &[], false).unwrap(), s: vec![] },
        Case { name: "nobody, null", graph: Graph::new(0, 2, &[], true).unwrap(), s: vec![1.0, 2.0] },
    ]
}

/// log Z and the probability of every matching.
fn truth(case: &Case) -> (f64, HashMap<Vec<u32>, f64>) {
    let mut all = vec![];
    exhaustive::matchings(&case.graph, &mut |y| all.push((y.to_vec(), case.graph.score(&case.s, y))));
    let top = all.iter().map(|y| y.1).fold(f64::NEG_INFINITY, f64::max);
    let z: f64 = all.iter().map(|y| (y.1 - top).exp()).sum();
    (top + z.ln(), all.into_iter().map(|(y, score)| (y, (score - top).exp() / z)).collect())
}

fn marginals(case: &Case, law: &HashMap<Vec<u32>, f64>) -> Vec<f64> {
    let (mut sum, mut one) = (vec![0.0; case.graph.table()], vec![0.0; case.graph.table()]);
    for (y, p) in law {
        case.graph.write(y, &mut one);
        sum.iter_mut().zip(&one).for_each(|(sum, one)| *sum += p * one);
    }
    sum
}

/// Whether the counts fit the law: chi-square with rare matchings taken together, at `z` standard deviations of Wilson and
/// Hilferty's normal deviate.
fn fits(name: &str, samples: &Samples, law: &HashMap<Vec<u32>, f64>, z: f64) {
    let total = samples.len() as f64;
    let mut counts: HashMap<&[u32], f64> = HashMap::new();
    samples.iter().for_each(|y| *counts.entry(y).or_default() += 1.0);
    for y in counts.keys() {
        assert!(law.contains_key(*y), "{name}: {y:?} is no matching");
    }
    let (mut chi, mut bins, mut rare) = (0.0, 0, (0.0, 0.0));
    for (y, p) in law {
        let (count, expected) = (counts.get(y.as_slice()).copied().unwrap_or(0.0), p * total);
        if expected < 8.0 {
            rare = (rare.0 + count, rare.1 + expected);
        } else {
            chi += (count - expected).powi(2) / expected;
            bins += 1;
        }
    }
    if rare.1 >= 8.0 {
        chi += (rare.0 - rare.1).powi(2) / rare.1;
        bins += 1;
    } else {
        assert!(rare.0 <= rare.1 + 5.0 * rare.1.sqrt() + 3.0, "{name}: rare {rare:?}");
    }
    if bins > 1 {
        let df = f64::from(bins - 1);
        let limit = df * (1.0 - 2.0 / (9.0 * df) + z * (2.0 / (9.0 * df)).sqrt()).powi(3);
        assert!(chi < limit, "{name}: chi-square {chi} of {df}, limit {limit}");
    }
}

#[test]
fn rejection_draws_from_the_law() {
    for (k, case) in cases().iter().enumerate() {
        let (log_z, law) = truth(case);
        for head in [0, 1, 2, 3, 16] {
            let (mut work, mut samples) = (huber_law::Work::default(), Samples::default());
            let settings = huber_law::Settings { head, ..huber_law::Settings::default() };
            let mut random = Random::new(100 * k as u64 + head as u64);
            let drawn =
                huber_law::draw(&case.graph, &case.s, 20_000, &settings, &mut random, &mut work, &mut samples).unwrap();
            assert_eq!((drawn.accepted, samples.len()), (20_000, 20_000));
            fits(case.name, &samples, &law, 3.3);
            // the scheme of Huber: a relative error of 1/√K
            let found = drawn.log_z.unwrap();
            assert!((found - log_z).abs() < 4.0 / 20_000f64.sqrt(), "{} {head}: {found} {log_z}", case.name);
            assert!(drawn.log_bound > log_z - 1e-9, "{}: {} {log_z}", case.name, drawn.log_bound);
            let expected = (log_z - drawn.log_bound).exp();
            let error = (expected * (1.0 - expected).max(1e-9) / drawn.trials as f64).sqrt();
            assert!((drawn.acceptance() - expected).abs() < 4.0 * error + 1e-9, "{} {head}", case.name);
            if head == 16 {
                assert_eq!(drawn.trials, 20_000, "{}: all is head, and nothing is rejected", case.name);
            }
        }
    }
}

#[test]
fn a_longer_head_rejects_less() {
    let case = case("", 12, 12, 1.0, false, 1.0, 1);
    let mut last = f64::INFINITY;
    for head in [0, 2, 4, 8, 12] {
        let settings = huber_law::Settings { head, cap: 2000 };
        let (mut work, mut samples) = (huber_law::Work::default(), Samples::default());
        let drawn =
            huber_law::draw(&case.graph, &case.s, 2000, &settings, &mut Random::new(1), &mut work, &mut samples)
                .unwrap();
        assert!(drawn.log_bound <= last + 1e-12, "{head}: {} {last}", drawn.log_bound);
        assert_eq!(samples.len(), drawn.accepted);
        last = drawn.log_bound;
    }
}

#[test]
fn weighted_samples_agree_with_the_law() {
    for (k, case) in cases().iter().enumerate() {
        let (log_z, law) = truth(case);
        let exact = marginals(case, &law);
        let (mut work, mut samples) = (importance::Work::default(), Samples::default());
        let mut random = Random::new(k as u64);
        let drawn =
            importance::draw(&case.graph, &case.s, 5000.0, 100_000, &mut random, &mut work, &mut samples).unwrap();
        assert!(drawn.effective >= 5000.0, "{}: {drawn:?}", case.name);
        assert_eq!(drawn.draws, drawn.dead + samples.len());
        if case.graph.is_complete() || case.graph.null() {
            assert_eq!(drawn.dead, 0, "{}", case.name);
        }
        samples.iter().for_each(|y| assert!(law.contains_key(y), "{}: {y:?}", case.name));
        assert!((drawn.log_z - log_z).abs() < 4.0 * drawn.log_z_error + 1e-9, "{}: {drawn:?} {log_z}", case.name);
        assert_eq!(samples.log_z, Some(drawn.log_z));
        let mut p = vec![f64::NAN; case.graph.table()];
        samples.marginals(&case.graph, &mut p);
        let error = samples.standard_error(&case.graph, &p);
        assert!(error < 0.01 + 1e-9);
        for (p, truth) in p.iter().zip(&exact) {
            assert!((p - truth).abs() < 5.0 * error + 1e-9, "{}: {p} {truth} {error}", case.name);
        }
    }
}

fn any_matching(case: &Case) -> Vec<u32> {
    let mut first = None;
    exhaustive::matchings(&case.graph, &mut |y| {
        first.get_or_insert_with(|| y.to_vec());
    });
    first.unwrap()
}

#[test]
fn chains_keep_the_law_and_reach_everything() {
    for (k, case) in cases().iter().enumerate() {
        let (_, law) = truth(case);
        let exact = marginals(case, &law);
        let (mut work, mut samples) = (chain::Work::default(), Samples::default());
        let settings = chain::Settings { burn_in: 2000, thin: 400 };
        let start = any_matching(case);
        let mut random = Random::new(k as u64);
        let drawn =
            chain::draw(&case.graph, &case.s, &start, 10_000, &settings, &mut random, &mut work, &mut samples).unwrap();
        assert_eq!(samples.len(), 10_000);
        fits(case.name, &samples, &law, 3.7);
        assert!(drawn.r_hat < 1.01, "{}: {drawn:?}", case.name);
        assert!(drawn.effective > 3000.0, "{}: {drawn:?}", case.name);
        let mut p = vec![f64::NAN; case.graph.table()];
        samples.marginals(&case.graph, &mut p);
        let error = samples.standard_error(&case.graph, &p);
        for (p, truth) in p.iter().zip(&exact) {
            assert!((p - truth).abs() < 5.0 * error + 2e-3, "{}: {p} {truth} {error}", case.name);
        }
    }
}

#[test]
fn a_chain_says_when_it_is_stuck_and_when_it_is_slow() {
    // two matchings of equal weight, and 60 between them
    let graph = Graph::new(2, 2, &[(0, 0), (0, 1), (1, 0), (1, 1)], true).unwrap();
    let s = [60.0, 60.0, 60.0, 60.0, 0.0, 0.0, 0.0, 0.0];
    let (mut work, mut samples) = (chain::Work::default(), Samples::default());
    let settings = chain::Settings { burn_in: 100, thin: 1 };
    let mut random = Random::new(1);
    let drawn = chain::draw(&graph, &s, &[0, 3], 4000, &settings, &mut random, &mut work, &mut samples).unwrap();
    // exchanges help: an exchange is taken whenever it is proposed
    assert!(drawn.r_hat < 1.1, "{drawn:?}");
    let mut shape = circle(6, 0.0);
    // around the circle, one matching has all the weight on its edges and the other as well, at a price in between
    shape.s.fill(0.0);
    let two: Vec<Vec<u32>> = {
        let mut all = vec![];
        exhaustive::matchings(&shape.graph, &mut |y| all.push(y.to_vec()));
        all
    };
    assert_eq!(two.len(), 2);
    let settings = chain::Settings { burn_in: 200, thin: 1 };
    let drawn =
        chain::draw(&shape.graph, &shape.s, &two[0], 200, &settings, &mut random, &mut work, &mut samples).unwrap();
    assert!(drawn.effective < 100.0, "neighbours on the chain are alike: {drawn:?}");
}

#[test]
fn a_seed_fixes_everything_and_buffers_are_no_state() {
    let (mut h, mut i, mut c) = (huber_law::Work::default(), importance::Work::default(), chain::Work::default());
    for case in &cases() {
        let start = any_matching(case);
        let run = |h: &mut huber_law::Work, i: &mut importance::Work, c: &mut chain::Work| {
            let mut all = vec![];
            let mut random = Random::new(5);
            for head in [0, 2] {
                let mut samples = Samples::default();
                let settings = huber_law::Settings { head, cap: 1_000_000 };
                huber_law::draw(&case.graph, &case.s, 50, &settings, &mut random, h, &mut samples).unwrap();
                all.push(samples);
            }
            let mut samples = Samples::default();
            importance::draw(&case.graph, &case.s, 50.0, 300, &mut random, i, &mut samples).unwrap();
            all.push(samples.clone());
            let settings = chain::Settings::of(&case.graph);
            chain::draw(&case.graph, &case.s, &start, 50, &settings, &mut random, c, &mut samples).unwrap();
            all.push(samples);
            all
        };
        let used = run(&mut h, &mut i, &mut c);
        assert!(
            used == run(&mut huber_law::Work::default(), &mut importance::Work::default(), &mut chain::Work::default())
        );
    }
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let none = Graph::new(2, 2, &[(0, 0), (1, 0)], false).unwrap();
    let (mut random, mut samples) = (Random::new(1), Samples::default());
    let error = huber_law::draw(
        &none,
        &[0.0, 0.0],
        1,
        &huber_law::Settings::default(),
        &mut random,
        &mut huber_law::Work::default(),
        &mut samples,
    );
    assert!(matches!(error, Err(Error::Infeasible { side: "row", index: 1 })), "{error:?}");
    let error =
        importance::draw(&none, &[0.0; 2], 1.0, 10, &mut random, &mut importance::Work::default(), &mut samples);
    assert!(matches!(error, Err(Error::Infeasible { .. })));
    let one = Graph::new(1, 1, &[(0, 0)], false).unwrap();
    for start in [&[][..], &[0, 0], &[1]] {
        let settings = chain::Settings::of(&one);
        let error =
            chain::draw(&one, &[0.0], start, 1, &settings, &mut random, &mut chain::Work::default(), &mut samples);
        assert!(matches!(error, Err(Error::Data { .. })), "{error:?}");
    }
    let settings = huber_law::Settings { head: 17, cap: 1 };
    let mut work = huber_law::Work::default();
    let error = huber_law::draw(&one, &[0.0], 1, &settings, &mut random, &mut work, &mut samples);
    assert!(matches!(error, Err(Error::Setting { .. })));
    let error =
        huber_law::draw(&one, &[f64::NAN], 1, &huber_law::Settings::default(), &mut random, &mut work, &mut samples);
    assert!(matches!(error, Err(Error::NotFinite { .. })));
    // a cap gives what there is
    let hard = case("", 14, 14, 1.0, false, 2.0, 1);
    let settings = huber_law::Settings { head: 0, cap: 2000 };
    let drawn = huber_law::draw(&hard.graph, &hard.s, 2000, &settings, &mut random, &mut work, &mut samples).unwrap();
    assert!(drawn.accepted < 2000 && drawn.trials == 2000 && samples.len() == drawn.accepted);
}
