//! The best matching of a graph against enumeration and linear assignment, its prices, and the loss of each edge.
#![allow(clippy::unwrap_used, clippy::float_cmp, clippy::print_stdout)] // a test may panic, tell, and sum whole numbers

use crate::cases::cases;
use ordain::Error;
use ordain::random::Random;
use ordain::structure::exhaustive::matchings;
use ordain::structure::matching::assignment;
use ordain::structure::matching::best::{Best, Work, best, forbidden};
use ordain::structure::matching::graph::Graph;
use proptest::prelude::*;

/// Asserts that the matching is one, and that its prices prove it optimal within `slack`.
fn prove(graph: &Graph, s: &[f64], found: &Best, slack: f64) {
    let (n, m) = (graph.left(), graph.right());
    let (p, q) = (found.left_dual, found.right_dual);
    assert_eq!((p.len(), q.len()), (n, m));
    assert!(found.edges.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(graph.null() || found.edges.len() == graph.lesser());
    let (mut left, mut right) = (vec![true; n], vec![true; m]);
    for &e in found.edges {
        let (i, j) = graph.ends(e as usize);
        assert!(std::mem::replace(&mut left[i], false) && std::mem::replace(&mut right[j], false));
        assert!(p[i] + q[j] <= s[e as usize] + slack);
    }
    for (e, s) in s.iter().enumerate().take(graph.edges()) {
        let (i, j) = graph.ends(e);
        assert!(p[i] + q[j] >= s - slack, "edge {e}: {} + {} < {s}", p[i], q[j]);
    }
    for (i, alone) in left.into_iter().enumerate() {
        assert!(!graph.left_may_stay() || p[i] >= graph.left_null(s, i) - slack);
        assert!(!alone || graph.left_may_stay() && p[i] == graph.left_null(s, i));
    }
    for (j, alone) in right.into_iter().enumerate() {
        assert!(!graph.right_may_stay() || q[j] >= graph.right_null(s, j) - slack);
        assert!(!alone || graph.right_may_stay() && q[j] == graph.right_null(s, j));
    }
    let prices: f64 = p.iter().chain(q).sum();
    assert!((prices - found.score).abs() <= slack * (n + m) as f64, "{prices} and {}", found.score);
    assert_eq!(found.score, graph.score(s, found.edges));
}

/// A random graph; where `pad` is above 0, with as many pairs of items that have no other edge, so that few pairs are edges.
pub(crate) fn random_graph(random: &mut Random, n: usize, m: usize, density: f64, null: bool, pad: usize) -> Graph {
    let mut edges = vec![];
    for i in 0..n as u32 {
        edges.extend((0..m as u32).filter(|_| random.uniform() < density).map(|j| (i, j)));
    }
    edges.extend((0..pad).map(|k| ((n + k) as u32, (m + k) as u32)));
    Graph::new(n + pad, m + pad, &edges, null).unwrap()
}

/// Scores and how far sums of them may be off: integers are exact.
pub(crate) fn random_scores(random: &mut Random, len: usize, kind: usize) -> (Vec<f64>, f64) {
    let mut whole = |least: f64, many: usize| (0..len).map(|_| least + random.below(many) as f64).collect();
    match kind {
        0 => (whole(-1.0, 3), 0.0),
        1 => (whole(-40.0, 81), 0.0),
        2 => (whole(0.0, 1), 0.0),
        _ => ((0..len).map(|_| random.normal()).collect(), 1e-12),
    }
}

/// A graph that is small but for pairs of items which have no other edge, and scores.
fn small() -> impl Strategy<Value = (Graph, Vec<f64>, f64)> {
    let sizes = (0..=6usize, 0..=6usize, prop_oneof![Just(0), Just(30usize)]);
    (sizes, any::<u64>(), 0..4usize, any::<bool>(), 0..4usize).prop_map(|((n, m, pad), seed, full, null, kind)| {
        let mut random = Random::new(seed);
        let graph = random_graph(&mut random, n, m, [1.0, 0.8, 0.5, 0.25][full], null, pad);
        let (mut s, slack) = random_scores(&mut random, graph.table(), kind);
        // the enumeration need not see more than one way for each pair that is there to fill up
        for e in graph.edges() - pad..graph.edges() {
            s[e] = 3.0;
            if null {
                let (i, j) = graph.ends(e);
                s[graph.edges() + i] = -100.0;
                s[graph.edges() + graph.left() + j] = -100.0;
            }
        }
        (graph, s, slack)
    })
}

/// The best score by enumeration, and for each edge the best without it; −∞ where there is no matching.
fn slow(graph: &Graph, s: &[f64]) -> (f64, Vec<f64>) {
    let mut best = f64::NEG_INFINITY;
    let mut without = vec![f64::NEG_INFINITY; graph.edges()];
    let mut table = vec![0.0; graph.table()];
    matchings(graph, &mut |edges| {
        let score = graph.score(s, edges);
        best = best.max(score);
        graph.write(edges, &mut table);
        for (without, &used) in without.iter_mut().zip(&table) {
            *without = if used == 0.0 { without.max(score) } else { *without };
        }
    });
    (best, without)
}

/// The small graph without what fills it up, its scores, and the score of the rest.
fn unpadded(graph: &Graph, s: &[f64]) -> (Graph, Vec<f64>, usize) {
    let mut pad = 0;
    let lone = |k: usize| {
        let e = graph.edges() - 1 - k;
        let (i, j) = graph.ends(e);
        (i, j) == (graph.left() - 1 - k, graph.right() - 1 - k) && s[e] == 3.0
    };
    if graph.left().min(graph.right()) >= 30 {
        while pad < 30 {
            assert!(lone(pad));
            pad += 1;
        }
    }
    let (n, m, edges) = (graph.left() - pad, graph.right() - pad, graph.edges() - pad);
    let ends: Vec<(u32, u32)> = (0..edges).map(|e| graph.ends(e)).map(|(i, j)| (i as u32, j as u32)).collect();
    let mut short = s[..edges].to_vec();
    if graph.null() {
        short.extend((0..n).map(|i| graph.left_null(s, i)));
        short.extend((0..m).map(|j| graph.right_null(s, j)));
    }
    (Graph::new(n, m, &ends, graph.null()).unwrap(), short, pad)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2500)))]
    #[test]
    fn equals_enumeration((graph, s, slack) in small()) {
        let (inner, short, pad) = unpadded(&graph, &s);
        let (truth, without) = slow(&inner, &short);
        let (mut work, mut losses) = (Work::default(), vec![]);
        match best(&graph, &s, &mut work) {
            Ok(found) => {
                prove(&graph, &s, &found, slack);
                prop_assert!((found.score - truth - 3.0 * pad as f64).abs() <= 10.0 * slack);
                let edges = found.edges.to_vec();
                forbidden(&graph, &s, &mut work, &mut losses).unwrap();
                prop_assert_eq!(losses.len(), edges.len());
                for (&e, &loss) in edges.iter().zip(&losses) {
                    if let Some(without) = without.get(e as usize) {
                        let other = truth - without;
                        prop_assert!(loss == other || (loss - other).abs() <= slack, "{loss} is not {other}");
                    } else {
                        let other = if graph.null() { 3.0 + 100.0 + 100.0 } else { f64::INFINITY };
                        prop_assert_eq!(loss, other);
                    }
                }
                // what was found is still there
                let again = best(&graph, &s, &mut work).unwrap();
                prop_assert_eq!(again.edges, &edges[..]);
            }
            Err(Error::Infeasible { side, index }) => {
                prop_assert!(truth == f64::NEG_INFINITY && !graph.null());
                prop_assert_eq!(side, if graph.left() <= graph.right() { "row" } else { "column" });
                prop_assert!(index < graph.lesser());
                prop_assert!(forbidden(&graph, &s, &mut work, &mut losses).is_err());
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn a_used_work_gives_the_same(problems in prop::collection::vec(small(), 1..5)) {
        let mut used = Work::default();
        for (graph, s, _) in &problems {
            let mut fresh = Work::default();
            let (mut a, mut b) = (vec![], vec![]);
            prop_assert_eq!(
                best(graph, s, &mut used).map_err(|error| error.to_string()),
                best(graph, s, &mut fresh).map_err(|error| error.to_string())
            );
            prop_assert_eq!(
                forbidden(graph, s, &mut used, &mut a).is_ok(),
                forbidden(graph, s, &mut fresh, &mut b).is_ok()
            );
            prop_assert_eq!(a, b);
        }
    }
}

/// Costs for linear assignment, infinite where there is no edge.
fn costs(graph: &Graph, s: &[f64]) -> Vec<f64> {
    let mut costs = vec![f64::INFINITY; graph.left() * graph.right()];
    for (e, s) in s.iter().enumerate().take(graph.edges()) {
        let (i, j) = graph.ends(e);
        costs[i * graph.right() + j] = -s;
    }
    costs
}

/// Costs of a problem with nulls: each item has one of its own, and two nulls meet for nothing.
fn costs_with_nulls(graph: &Graph, s: &[f64]) -> Vec<f64> {
    let (n, m) = (graph.left(), graph.right());
    let mut wide = vec![f64::INFINITY; (n + m) * (n + m)];
    for (at, cost) in costs(graph, s).into_iter().enumerate() {
        wide[at / m * (n + m) + at % m] = cost;
    }
    (0..n).for_each(|i| wide[i * (n + m) + m + i] = -graph.left_null(s, i));
    (0..m).for_each(|j| wide[(n + j) * (n + m) + j] = -graph.right_null(s, j));
    (n..n + m).for_each(|i| wide[i * (n + m) + m..][..n].fill(0.0));
    wide
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(250)))]
    #[test]
    fn equals_assignment(n in 0..=60usize, m in 0..=60usize, square: bool, null: bool, full in 0..3usize, kind in 0..4usize, seed: u64) {
        let m = if square { n } else { m };
        let mut random = Random::new(seed);
        let graph = random_graph(&mut random, n, m, [1.0, 0.3, 0.12][full], null, 0);
        let (s, slack) = random_scores(&mut random, graph.table(), kind);
        let (mut work, mut other) = (Work::default(), assignment::Work::default());
        let truth = if null {
            assignment::solve(&costs_with_nulls(&graph, &s), n + m, n + m, &mut other)
        } else {
            assignment::solve(&costs(&graph, &s), n, m, &mut other)
        };
        match (best(&graph, &s, &mut work), truth) {
            (Ok(found), Ok(truth)) => {
                prove(&graph, &s, &found, slack);
                prop_assert!((found.score + truth.cost).abs() <= 10.0 * slack);
            }
            (Err(Error::Infeasible { side, .. }), Err(Error::Infeasible { side: same, .. })) => prop_assert_eq!(side, same),
            (found, truth) => prop_assert!(false, "{found:?} but {truth:?}"),
        }
    }
}

/// A graph with `degree` random edges per left item, and the diagonal.
pub(crate) fn sparse_graph(random: &mut Random, n: usize, m: usize, degree: usize, null: bool) -> Graph {
    let mut hidden: Vec<u32> = (0..n.max(m) as u32).map(|j| j % m as u32).collect();
    random.shuffle(&mut hidden[..n.min(m)]);
    let mut edges: Vec<(u32, u32)> = vec![];
    for (i, &j) in hidden.iter().enumerate().take(n) {
        edges.push((i as u32, j));
        edges.extend((1..degree).map(|_| (i as u32, random.below(m) as u32)));
    }
    edges.sort_unstable();
    edges.dedup();
    Graph::new(n, m, &edges, null).unwrap()
}

#[test]
fn sparse_problems_equal_assignment() {
    let mut random = Random::new(5);
    let (mut work, mut other) = (Work::default(), assignment::Work::default());
    let mut losses = vec![];
    for (n, m) in [(200, 200), (180, 220), (220, 180), (200, 200)] {
        for degree in [3, 5, 10, 30] {
            for kind in 0..4 {
                for null in [false, true] {
                    let graph = sparse_graph(&mut random, n, m, degree, null);
                    let (s, slack) = random_scores(&mut random, graph.table(), kind);
                    let found = best(&graph, &s, &mut work).unwrap();
                    prove(&graph, &s, &found, slack);
                    let (score, edges) = (found.score, found.edges.to_vec());
                    let truth = if null {
                        assignment::solve(&costs_with_nulls(&graph, &s), n + m, n + m, &mut other)
                    } else {
                        assignment::solve(&costs(&graph, &s), n, m, &mut other)
                    };
                    assert!((score + truth.unwrap().cost).abs() <= 1e-10);
                    // a few of the losses, by solving again with the edge made worthless
                    forbidden(&graph, &s, &mut work, &mut losses).unwrap();
                    assert_eq!(losses.len(), edges.len());
                    for at in (0..edges.len()).step_by(67) {
                        let mut less = s.clone();
                        less[edges[at] as usize] = -1e6;
                        let mut second = Work::default();
                        let found = best(&graph, &less, &mut second).unwrap();
                        prove(&graph, &less, &found, slack.max(1e-9));
                        let loss = if found.edges.contains(&edges[at]) { f64::INFINITY } else { score - found.score };
                        // 1e6 is lost again as nulls are summed up
                        assert!(losses[at] == loss || (losses[at] - loss).abs() < 1e-9, "{} is not {loss}", losses[at]);
                    }
                }
            }
        }
    }
}

#[test]
fn empty_problems_have_empty_matchings() {
    let (mut work, mut losses) = (Work::default(), vec![7.0]);
    for (n, m) in [(0, 0), (0, 3), (3, 0)] {
        let graph = Graph::new(n, m, &[], false).unwrap();
        let found = best(&graph, &[], &mut work).unwrap();
        assert_eq!((found.score, found.edges), (0.0, &[][..]));
        assert_eq!((found.left_dual, found.right_dual), (&vec![0.0; n][..], &vec![0.0; m][..]));
        forbidden(&graph, &[], &mut work, &mut losses).unwrap();
        assert!(losses.is_empty());
    }
    let graph = Graph::new(2, 1, &[], true).unwrap();
    let found = best(&graph, &[1.0, 2.0, -4.0], &mut work).unwrap();
    assert_eq!((found.score, found.edges), (-1.0, &[][..]));
    assert_eq!((found.left_dual, found.right_dual), (&[1.0, 2.0][..], &[-4.0][..]));
}

#[test]
fn what_cannot_be_solved_is_named() {
    let mut work = Work::default();
    let graph = Graph::new(2, 3, &[(0, 0), (1, 0)], false).unwrap();
    let Err(Error::Infeasible { side: "row", index: 0 | 1 }) = best(&graph, &[1.0, 2.0], &mut work) else { panic!() };
    let graph = Graph::new(3, 2, &[(0, 0), (1, 0)], false).unwrap();
    let Err(Error::Infeasible { side: "column", index: 1 }) = best(&graph, &[1.0, 2.0], &mut work) else { panic!() };
    assert!(best(&graph, &[1.0], &mut work).unwrap_err().to_string().ends_with("found 1 scores"));

    let graph = Graph::new(2, 2, &[(0, 0), (1, 1)], true).unwrap();
    let range = "expected scores of at most 1e300 in size, found";
    for (at, x, place) in [
        (1, f64::NAN, "NaN on the edge of left item 1 and right item 1"),
        (3, f64::INFINITY, "inf of left item 1 unmatched"),
        (4, -f64::INFINITY, "-inf of right item 0 unmatched"),
    ] {
        let mut s = [0.0; 6];
        s[at] = x;
        let error = best(&graph, &s, &mut work).unwrap_err();
        assert_eq!(error.to_string(), format!("{range} {place} (counted from 0)"));
    }
    let error = forbidden(&graph, &[0.0; 6], &mut work, &mut vec![]).unwrap_err();
    assert!(error.to_string().starts_with("expected a best matching of the same graph"));
    best(&graph, &[0.0; 6], &mut work).unwrap();
    let other = Graph::new(2, 2, &[(0, 0), (1, 1)], false).unwrap();
    assert!(forbidden(&other, &[0.0; 2], &mut work, &mut vec![]).is_err());
}

/// Rounding must neither loop nor break the matching, where scores lie 600 orders of magnitude apart.
#[test]
fn scores_of_any_size_end() {
    let mut random = Random::new(8);
    let (mut work, mut losses) = (Work::default(), vec![]);
    for (n, m) in [(9, 9), (40, 33), (300, 300)] {
        for (null, degree, kind) in (0..24).map(|k| (k % 2 == 0, [3, 8, 100][k / 2 % 3], k / 6)) {
            let graph = sparse_graph(&mut random, n, m, degree, null);
            let s: Vec<f64> = (0..graph.table())
                .map(|_| match kind {
                    0 => 1e300 * (1.0 - 2.0 * random.uniform()),
                    1 => 10f64.powf(600.0 * random.uniform() - 300.0).copysign(random.uniform() - 0.5),
                    2 => [1e300, -1e300, 1e-300, 2e-300, 0.0][random.below(5)],
                    _ => 1e300 + 1e-300 * random.uniform(),
                })
                .collect();
            let found = best(&graph, &s, &mut work).unwrap();
            prove(&graph, &s, &found, 1e290);
            forbidden(&graph, &s, &mut work, &mut losses).unwrap();
            assert!(losses.iter().all(|loss| *loss >= 0.0));
        }
    }
}
