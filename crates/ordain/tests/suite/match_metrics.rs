//! Metrics of matchings by hand, and calibration over all problems.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::data::Truth::{No, Unknown, Yes};
use ordain::data::{Columns, MatchSet, Problem, Truth};
use ordain::matrix::{Features, Matrix};
use ordain::metric::{Evaluation, Metric, SaidMatches, evaluate_matches};
use ordain::random::Random;

const NAMES: [&str; 5] = ["hamming", "accuracy", "precision", "recall", "f1"];

fn metrics(names: &[&str]) -> Vec<Metric> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn set(problems: Vec<Problem>) -> MatchSet {
    let rows = problems.iter().map(|problem| problem.edges.len()).sum();
    let columns = Columns::named(vec!["x".into()]);
    MatchSet::new(Features::Dense(Matrix::new(vec![0.0; rows], 1)), columns, problems).unwrap()
}

fn problem(left: usize, right: usize, edges: &[(u32, u32)], truth: &[Truth]) -> Problem {
    Problem {
        name: "p".into(),
        left: (0..left).map(|i| format!("a{i}")).collect(),
        right: (0..right).map(|j| format!("b{j}")).collect(),
        edges: edges.to_vec(),
        truth: truth.to_vec(),
        places: None,
    }
}

fn said(edges: &[u32]) -> SaidMatches {
    SaidMatches { edges: edges.to_vec(), ..SaidMatches::default() }
}

fn near(a: Option<f64>, b: Option<f64>) -> bool {
    a.zip(b).map_or(a == b, |(a, b)| (a - b).abs() < 1e-12)
}

#[test]
fn a_table_by_hand() {
    const SQUARE: &[(u32, u32)] = &[(0, 0), (0, 1), (1, 0), (1, 1)];
    const WIDE: &[(u32, u32)] = &[(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)];
    const TALL: &[(u32, u32)] = &[(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)];
    type Row<'a> = (&'a str, (usize, usize), &'a [(u32, u32)], &'a [Truth], &'a [u32], [Option<f64>; 5]);
    let half = Some(0.5);
    let (zero, one, third) = (Some(0.0), Some(1.0), Some(2.0 / 3.0));
    #[rustfmt::skip]
    let table: [Row; 17] = [
        ("all right", (2, 2), SQUARE, &[Yes, No, No, Yes], &[0, 3], [zero, one, one, one, one]),
        ("all wrong", (2, 2), SQUARE, &[Yes, No, No, Yes], &[1, 2], [one, zero, zero, zero, zero]),
        ("nothing said", (2, 2), SQUARE, &[Yes, No, No, Yes], &[], [one, zero, None, zero, zero]),
        ("half said", (2, 2), SQUARE, &[Yes, No, No, Yes], &[0], [half, half, one, half, third]),
        ("nothing is right", (2, 2), SQUARE, &[No, No, No, No], &[0], [half, half, zero, None, zero]),
        ("nothing is right, nothing said", (2, 2), SQUARE, &[No, No, No, No], &[], [zero, one, None, None, one]),
        ("one too many", (2, 2), SQUARE, &[Yes, No, No, No], &[0, 3], [half, half, half, one, third]),
        ("wide: left items count", (2, 3), WIDE, &[Yes, No, No, No, Yes, No], &[0, 5], [half, half, half, half, half]),
        ("wide: a right item left over", (2, 3), WIDE, &[Yes, No, No, No, No, Yes], &[0, 5], [zero, one, one, one, one]),
        ("tall: right items count", (3, 2), TALL, &[Yes, No, No, Yes, No, No], &[0, 5], [half, half, half, half, half]),
        ("tall: all wrong", (3, 2), TALL, &[Yes, No, No, Yes, No, No], &[1, 4], [one, zero, zero, zero, zero]),
        ("tall: unmatched is right", (3, 2), TALL, &[Yes, No, No, No, No, No], &[0], [zero, one, one, one, one]),
        // left 1 is open: it counts nowhere, whatever is said of it
        ("unknown, not said", (2, 2), SQUARE, &[Yes, No, No, Unknown], &[0], [zero, one, one, one, one]),
        ("unknown, said", (2, 2), SQUARE, &[Yes, No, No, Unknown], &[0, 3], [zero, one, one, one, one]),
        // a wrong edge of an item that is open counts for precision, and not for the item
        ("wrong, open", (2, 2), SQUARE, &[No, Yes, No, Unknown], &[2], [one, zero, zero, zero, zero]),
        // an unknown edge of an item whose match is known is wrong for the item
        ("unknown beside a match", (2, 2), SQUARE, &[Yes, Unknown, No, Yes], &[1], [one, zero, None, zero, zero]),
        ("nothing known", (2, 2), SQUARE, &[Unknown; 4], &[0, 3], [None; 5]),
    ];
    for (what, (n, m), edges, truth, edges_said, expected) in table {
        // beside a problem of which all is known, so that something is
        let set = set(vec![problem(n, m, edges, truth), problem(1, 1, &[(0, 0)], &[Yes])]);
        let found = evaluate_matches(&set, &[0, 1], &[said(edges_said), said(&[0])], &metrics(&NAMES)).unwrap();
        for (k, name) in NAMES.iter().enumerate() {
            assert!(near(found.values[k][0], expected[k]), "{what}: {name} is {:?}", found.values[k][0]);
            assert!(found.values[k][1].is_some(), "{what}");
        }
        // every problem alone or after another is the same
        let alone = evaluate_matches(&set, &[1], &[said(&[0])], &metrics(&NAMES)).unwrap();
        let mut joined = alone.clone();
        if let Ok(first) = evaluate_matches(&set, &[0], &[said(edges_said)], &metrics(&NAMES)) {
            joined = first;
            joined.extend(alone);
            assert_eq!(joined, found, "{what}");
        } else {
            assert_eq!((what, joined.skipped(), found.skipped()), ("nothing known", 0, 1));
        }
    }
}

fn with(probabilities: &[f64], nll: Option<f64>) -> SaidMatches {
    SaidMatches { probabilities: Some(probabilities.to_vec()), nll, ..SaidMatches::default() }
}

#[test]
fn probabilities_by_hand() {
    let square = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let set = set(vec![
        problem(2, 2, &square, &[Yes, No, No, Yes]),
        problem(2, 2, &square, &[No, Yes, Unknown, Unknown]),
        problem(2, 2, &square, &[Unknown; 4]),
    ]);
    let answers = [
        with(&[0.75, 0.25, 0.005, 0.95], Some(0.5)),
        with(&[0.72, 0.28, 0.5, 0.5], None),
        with(&[0.9, 0.1, 0.1, 0.9], None),
    ];
    let found = evaluate_matches(&set, &set.all(), &answers, &metrics(&["nll", "ece"])).unwrap();
    assert_eq!(found.values[0], [Some(0.5), None, None]);
    assert!((found.mean(0) - 0.5).abs() < 1e-15);
    // .005 is too small to count: |.75 − 1|, |.25 − 0| and |.95 − 1| of three
    assert!(near(found.values[1][0], Some(0.55 / 3.0)), "{:?}", found.values[1]);
    // |.72 − 0| and |.28 − 1| of two
    assert!(near(found.values[1][1], Some(0.72)) && found.values[1][2].is_none(), "{:?}", found.values[1]);
    // together: .75 and .72 are one bin of which one came true, .25 and .28 another one
    let pooled = ((1.47f64 - 1.0).abs() + (0.53f64 - 1.0).abs() + 0.05) / 5.0;
    assert!((found.mean(1) - pooled).abs() < 1e-12, "{}", found.mean(1));
    // what was extended is what was measured at once
    let part = |p: u32| evaluate_matches(&set, &[p], &answers[p as usize..=p as usize], &metrics(&["nll", "ece"]));
    let mut both = part(0).unwrap();
    both.extend(part(1).unwrap());
    assert!((both.mean(1) - pooled).abs() < 1e-12);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let set = set(vec![problem(1, 1, &[(0, 0)], &[Yes]), problem(1, 1, &[(0, 0)], &[Unknown])]);
    let refusal = |units: &[u32], answers: &[SaidMatches], name: &str| {
        evaluate_matches(&set, units, answers, &metrics(&[name])).unwrap_err().to_string()
    };
    assert!(refusal(&[0, 1], &[said(&[0])], "f1").contains("1 of 2"));
    assert!(refusal(&[1], &[said(&[0])], "f1").contains("a column matched"));
    assert!(refusal(&[0], &[said(&[0])], "nll").contains("probabilities"));
    assert!(refusal(&[0, 1], &[with(&[0.5], None), said(&[0])], "ece").contains("probabilities"));
    for name in ["ndcg@10", "recall@5", "bep", "rankloss", "p@2"] {
        assert!(refusal(&[0], &[with(&[0.5], None)], name).contains(name), "{name}");
    }
    let none = evaluate_matches(&set, &[], &[], &metrics(&["f1", "ece"])).unwrap();
    assert!(none.mean(0).abs() < 1e-15 && none.mean(1).abs() < 1e-15);
}

/// One edge for each problem, that comes true as often as `law` says of its probability.
fn calibrated(random: &mut Random, problems: usize, law: &dyn Fn(f64) -> f64) -> Evaluation {
    let (mut all, mut answers) = (vec![], vec![]);
    for _ in 0..problems {
        let edges = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let p = 0.02 + 0.96 * random.uniform();
        let straight = random.uniform() < law(p);
        let truth = if straight { [Yes, No, No, Yes] } else { [No, Yes, Yes, No] };
        all.push(problem(2, 2, &edges, &truth));
        answers.push(with(&[p, 1.0 - p, 1.0 - p, p], Some(0.0)));
    }
    let set = set(all);
    evaluate_matches(&set, &set.all(), &answers, &metrics(&["ece", "f1", "nll"])).unwrap()
}

#[test]
fn the_interval_of_ece_contains_it() {
    let mut random = Random::new(1);
    for round in 0..20 {
        for (problems, law) in [
            (40, &(|p| p) as &dyn Fn(f64) -> f64),
            (400, &|p| p),
            (40, &|p: f64| 0.5 + 0.3 * (p - 0.5)),
            (400, &|p: f64| 0.5 + 0.3 * (p - 0.5)),
        ] {
            let found = calibrated(&mut random, problems, law);
            for m in 0..3 {
                let (low, high) = found.interval(m, round).unwrap();
                let mean = found.mean(m);
                assert!(low <= mean && mean <= high, "metric {m}: {mean} is not within {low} to {high} of {problems}");
                assert!(low >= 0.0, "metric {m}: {low}");
            }
        }
    }
}

#[test]
fn probabilities_that_are_not_finite_are_refused() {
    let set = set(vec![problem(2, 2, &[(0, 0), (1, 1)], &[Yes, No])]);
    let said = SaidMatches { edges: vec![0], probabilities: Some(vec![0.5, f64::NAN]), ..SaidMatches::default() };
    let error = evaluate_matches(&set, &[0], &[said], &metrics(&["f1"])).unwrap_err().to_string();
    assert!(error.starts_with("problem \"p\", edge \"a1\" - \"b1\": expected a finite score, found NaN"), "{error}");
}

/// Hamming loss is the mean over all matchings that score the same, as enumeration finds them.
#[test]
fn ties_are_averaged_as_by_enumeration() {
    use ordain::structure::exhaustive::matchings;
    use ordain::structure::matching::{best, engine, graph::Graph, ties};
    let mut random = Random::new(3);
    for round in 0..200 {
        let n = 1 + round % 5;
        let edges: Vec<(u32, u32)> = (0..n as u32)
            .flat_map(|i| (0..n as u32).map(move |j| (i, j)))
            .filter(|&(i, j)| i == j || random.uniform() < 0.8)
            .collect();
        let graph = Graph::new(n, n, &edges, false).unwrap();
        let s: Vec<f64> = edges.iter().map(|_| 0.1 * random.below(3) as f64).collect();
        let (mut top, mut all) = (f64::NEG_INFINITY, vec![]);
        matchings(&graph, &mut |own| {
            all.push((graph.score(&s, own), own.to_vec()));
            top = top.max(graph.score(&s, own));
        });
        let level: Vec<_> = all.iter().filter(|(score, _)| top - score < 1e-9).map(|(_, own)| own).collect();
        let mut work = best::Work::default();
        let found = best::best(&graph, &s, &mut work).unwrap();
        let tied = ties::shares(&graph, &s, &found, &mut engine::Work::default()).unwrap();
        let truth: Vec<Truth> = edges.iter().map(|&(i, j)| if i == j { Yes } else { No }).collect();
        let set = set(vec![problem(n, n, &edges, &truth)]);
        let answer = SaidMatches { edges: found.edges.to_vec(), ties: tied, ..SaidMatches::default() };
        let wrong = |own: &[u32]| evaluate_matches(&set, &[0], &[said(own)], &metrics(&["hamming"])).unwrap().mean(0);
        let wanted = level.iter().map(|own| wrong(own)).sum::<f64>() / level.len() as f64;
        let own = evaluate_matches(&set, &[0], &[answer], &metrics(&["hamming"])).unwrap().mean(0);
        assert!((own - wanted).abs() < 1e-9, "{own}, {wanted} of {} matchings", level.len());
    }
}

/// One problem has an interval over its items, or none: never one without width around a share.
#[test]
fn the_interval_of_one_problem_is_over_its_items() {
    let n = 200u32;
    let edges: Vec<(u32, u32)> = (0..n).map(|i| (i, i)).collect();
    let truth: Vec<Truth> = (0..n).map(|i| if i % 10 == 0 { No } else { Yes }).collect();
    let one = set(vec![problem(n as usize, n as usize, &edges, &truth)]);
    let answer = SaidMatches {
        probabilities: Some(vec![0.9; n as usize]),
        nll: Some(1.0),
        ..said(&(0..n).collect::<Vec<u32>>())
    };
    let all = metrics(&["hamming", "accuracy", "precision", "f1", "recall", "nll", "ece"]);
    let found = evaluate_matches(&one, &[0], std::slice::from_ref(&answer), &all).unwrap();
    for m in 0..4 {
        let ((low, high), mean) = (found.interval(m, 1).unwrap(), found.mean(m));
        assert!(low < mean && mean < high && high - low < 0.12, "metric {m}: {low} {mean} {high}");
    }
    assert_eq!((found.interval(5, 1), found.interval(6, 1)), (None, None));
    let two = set(vec![one.problem(0).clone(), one.problem(0).clone()]);
    let found = evaluate_matches(&two, &[0, 1], &[answer.clone(), answer], &all).unwrap();
    assert!(found.interval(5, 1).is_some());
}
