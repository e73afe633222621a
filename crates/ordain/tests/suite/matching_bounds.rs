//! Balanced and Bethe approximations of matchings: sums, gradients, extremes, errors; the bound of the rejection sampler.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::needless_range_loop)] // a test may panic, and says what it found

use crate::cases::cases;
use ordain::Error;
use ordain::random::Random;
use ordain::structure::exhaustive;
use ordain::structure::matching::graph::Graph;
use ordain::structure::matching::huber_law::{bound, h};
use ordain::structure::matching::sinkhorn::Balanced;
use ordain::structure::matching::{bethe, sinkhorn};
use proptest::prelude::*;

fn permanent(a: &[f64], n: usize) -> f64 {
    let mut sum = 0.0;
    exhaustive::permutations(n, &mut |y| {
        sum += y.iter().enumerate().map(|(i, &j)| a[i * n + j as usize]).product::<f64>()
    });
    sum
}

fn without(a: &[f64], n: usize, row: usize, column: usize) -> Vec<f64> {
    (0..n * n).filter(|at| at / n != row && at % n != column).map(|at| a[at]).collect()
}

/// Kinds of matrices of entries within 0 and 1.
fn matrix(n: usize, kind: u32, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut a: Vec<f64> = (0..n * n)
        .map(|_| match kind {
            0 => random.uniform(),
            1 => f64::from(random.below(2) as u32),
            2 => random.normal().exp(),
            3 => (3.0 * random.normal()).exp(),
            4 if random.below(3) > 0 => 0.0,
            5 => 1.0,
            _ => random.uniform(),
        })
        .collect();
    for row in a.chunks_mut(n) {
        let top = row.iter().copied().fold(0.0, f64::max);
        row.iter_mut().filter(|_| top > 0.0).for_each(|a| *a /= top);
    }
    a
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1000)))]
    #[test]
    fn the_bound_holds_and_nests_by_columns(n in 1usize..8, kind in 0u32..6, seed in any::<u64>()) {
        let a = matrix(n, kind, seed);
        let u = bound(&a, n);
        prop_assert!(u >= permanent(&a, n) * (1.0 - 1e-12));
        for c in 0..n {
            let parts: f64 = (0..n).map(|i| a[i * n + c] * bound(&without(&a, n, i, c), n - 1)).sum();
            prop_assert!(parts <= u * (1.0 + 1e-12), "column {}: {} above {}", c, parts, u);
        }
    }

    #[test]
    fn h_is_concave_enough(r in 0.0..30.0f64, a in 0.0..1.0f64) {
        prop_assert!(h(r + a) >= h(r) && h(r + a) - h(r) <= (std::f64::consts::E - 1.0) * a + 1e-12);
    }
}

/// The trap: a row fixed, and the bound by row sums. Samples would be wrong, for parts together exceed the whole.
#[test]
fn fixing_a_row_does_not_nest() {
    let a = [
        1.0, 1.0, 0.0, //
        0.0, 0.0, 1.0, //
        0.0, 0.0, 1.0,
    ];
    let by_row: f64 = (0..3).map(|j| a[j] * bound(&without(&a, 3, 0, j), 2)).sum();
    let by_column: f64 = (0..3).map(|i| a[i * 3] * bound(&without(&a, 3, i, 0), 2)).sum();
    let whole = bound(&a, 3);
    assert!(by_row > whole * 1.2 && by_column <= whole, "{by_row} {by_column} {whole}");
}

pub(crate) fn graph(n: usize, m: usize, share: f64, null: bool, seed: u64) -> Graph {
    let mut random = Random::new(seed);
    let mut edges = vec![];
    for i in 0..n {
        for j in 0..m {
            if random.uniform() < share || (!null && i == j) {
                edges.push((i as u32, j as u32));
            }
        }
    }
    Graph::new(n, m, &edges, null).unwrap()
}

pub(crate) fn scores(graph: &Graph, scale: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..graph.table()).map(|_| scale * random.normal()).collect()
}

pub(crate) fn exact(graph: &Graph, s: &[f64]) -> (f64, Vec<f64>) {
    let (mut top, mut z, mut one) = (f64::NEG_INFINITY, 0.0, vec![0.0; graph.table()]);
    let mut sum = vec![0.0; graph.table()];
    exhaustive::matchings(graph, &mut |y| top = top.max(graph.score(s, y)));
    exhaustive::matchings(graph, &mut |y| {
        let share = (graph.score(s, y) - top).exp();
        z += share;
        graph.write(y, &mut one);
        sum.iter_mut().zip(&one).for_each(|(sum, one)| *sum += share * one);
    });
    sum.iter_mut().for_each(|p| *p /= z);
    (top + z.ln(), sum)
}

pub(crate) type By = fn(&Graph, &[f64], &mut [f64]) -> ordain::Result<Balanced>;

fn balanced(graph: &Graph, s: &[f64], p: &mut [f64]) -> ordain::Result<Balanced> {
    sinkhorn::log_sum(graph, s, &mut sinkhorn::Work::default(), p)
}

fn propagated(graph: &Graph, s: &[f64], p: &mut [f64]) -> ordain::Result<Balanced> {
    bethe::log_sum(graph, s, &mut bethe::Work::default(), p)
}

pub(crate) const BOTH: [(&str, By); 2] = [("sinkhorn", balanced), ("bethe", propagated)];

/// The largest distance from 1 (from at most 1, where items may stay for nothing) of the sum of an item.
fn unbalanced(graph: &Graph, p: &[f64]) -> f64 {
    let nulls = &p[graph.edges()..];
    let mut off = 0.0f64;
    for i in 0..graph.left() {
        let sum = graph.of_left(i).map(|e| p[e]).sum::<f64>() + if graph.null() { nulls[i] } else { 0.0 };
        let free = graph.left_may_stay() && !graph.null();
        off = off.max(if free { sum - 1.0 } else { (sum - 1.0).abs() });
    }
    for j in 0..graph.right() {
        let edges = graph.of_right(j).iter().map(|&e| p[e as usize]).sum::<f64>();
        let sum = edges + if graph.null() { nulls[graph.left() + j] } else { 0.0 };
        let free = graph.right_may_stay() && !graph.null();
        off = off.max(if free { sum - 1.0 } else { (sum - 1.0).abs() });
    }
    off
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]
    #[test]
    fn sums_are_one_and_gradients_are_marginals(
        n in 1usize..6, m in 1usize..6, sparse in any::<bool>(), null in any::<bool>(),
        scale in prop::sample::select(vec![0.3, 1.0, 2.0]), seed in any::<u64>(),
    ) {
        let graph = graph(n, m, if sparse { 0.5 } else { 1.0 }, null, seed);
        let mut s = scores(&graph, scale, seed ^ 1);
        for (name, by) in BOTH {
            let mut p = vec![f64::NAN; graph.table()];
            let sum = by(&graph, &s, &mut p).unwrap();
            prop_assert!(p.iter().all(|p| (0.0..=1.0 + 1e-8).contains(p)));
            // with nulls always; without, weights may be so peaked that it takes long
            prop_assert!(sum.converged || !null, "{name} {sum:?}");
            if !sum.converged {
                continue;
            }
            prop_assert!(unbalanced(&graph, &p) < 1e-8, "{name}: {}", unbalanced(&graph, &p));
            for k in 0..s.len() {
                let (old, mut scratch) = (s[k], p.clone());
                s[k] = old + 1e-4;
                let up = by(&graph, &s, &mut scratch).unwrap();
                s[k] = old - 1e-4;
                let down = by(&graph, &s, &mut scratch).unwrap();
                s[k] = old;
                let slope = (up.log_z - down.log_z) / 2e-4;
                prop_assert!((slope - p[k]).abs() < 2e-6, "{name} {k}: {slope} {}", p[k]);
            }
        }
    }

    #[test]
    fn bounds_on_the_sum(n in 1usize..6, scale in prop::sample::select(vec![0.3, 1.0, 3.0]), seed in any::<u64>()) {
        let graph = graph(n, n, 1.0, false, seed);
        let s = scores(&graph, scale, seed ^ 1);
        let (log_z, mut p) = exact(&graph, &s);
        let above = balanced(&graph, &s, &mut p).unwrap();
        prop_assert!(above.log_z >= log_z - 1e-7);
        let below = propagated(&graph, &s, &mut p).unwrap();
        prop_assert!(below.log_z <= log_z + 1e-7 && log_z <= below.log_z + n as f64 / 2.0 * 2f64.ln() + 1e-7);
    }

    #[test]
    fn large_scores_make_no_trouble(
        n in 0usize..7, m in 0usize..7, sparse in any::<bool>(), null in any::<bool>(),
        scale in prop::sample::select(vec![30.0, 300.0, 1e4]), shift in any::<bool>(), seed in any::<u64>(),
    ) {
        let graph = graph(n, m, if sparse { 0.5 } else { 1.0 }, null, seed);
        let mut s = scores(&graph, scale, seed ^ 1);
        if shift {
            let mut random = Random::new(seed ^ 2);
            let rows: Vec<f64> = (0..n + m).map(|_| 2e4 * random.uniform() - 1e4).collect();
            for e in 0..graph.edges() {
                let (i, j) = graph.ends(e);
                s[e] += rows[i] + rows[n + j];
            }
        }
        let (truth, _) = exact(&graph, &s);
        for (name, by) in BOTH {
            let mut p = vec![f64::NAN; graph.table()];
            let sum = by(&graph, &s, &mut p).unwrap();
            prop_assert!(p.iter().all(|p| (0.0..=1.0 + 1e-8).contains(p)), "{name} {p:?}");
            // the approximations are off by at most about 1 per item, however large the scores
            if sum.converged {
                let most = 1.5 * (n + m) as f64 + 1e-6;
                prop_assert!((sum.log_z - truth).abs() <= most, "{name}: {} {truth}", sum.log_z);
                prop_assert!(unbalanced(&graph, &p) < 1e-8);
            }
        }
    }

    #[test]
    fn shifts_change_nothing(n in 1usize..6, null in any::<bool>(), seed in any::<u64>()) {
        let graph = graph(n, n, 1.0, null, seed);
        let s = scores(&graph, 1.0, seed ^ 1);
        let mut random = Random::new(seed ^ 2);
        let by: Vec<f64> = (0..2 * n).map(|_| (2e4 * random.uniform() - 1e4).round()).collect();
        let mut moved = s.clone();
        for e in 0..graph.edges() {
            let (i, j) = graph.ends(e);
            moved[e] += by[i] + by[n + j];
        }
        moved[graph.edges()..].iter_mut().zip(&by).for_each(|(s, by)| *s += by);
        for (name, engine) in BOTH {
            let (mut p, mut q) = (vec![0.0; graph.table()], vec![0.0; graph.table()]);
            let a = engine(&graph, &s, &mut p).unwrap();
            let b = engine(&graph, &moved, &mut q).unwrap();
            if a.converged && b.converged {
                prop_assert!((a.log_z + by.iter().sum::<f64>() - b.log_z).abs() < 1e-6, "{name} {a:?} {b:?}");
                for (p, q) in p.iter().zip(&q) {
                    prop_assert!((p - q).abs() < 1e-6);
                }
            }
        }
    }
}

#[test]
fn few_items_and_scores_of_thousands() {
    // 16094893785083302536 once came to an end before it was balanced
    let (mut wrong, mut done) = (0, 0);
    for seed in (0..3000u64).chain([16094893785083302536]) {
        let graph = graph(1 + seed as usize % 3, 2, 1.0, true, seed);
        let s = scores(&graph, [1e4, 1e3, 100.0][seed as usize / 3 % 3], seed ^ 1);
        let (truth, mut p) = exact(&graph, &s);
        for (name, by) in BOTH {
            let sum = by(&graph, &s, &mut p).unwrap();
            done += usize::from(sum.converged);
            if sum.converged && (sum.log_z - truth).abs() > 7.5 {
                println!("{name} {seed}: {sum:?} {truth}");
                wrong += 1;
            }
        }
    }
    println!("{done} of 6002 converged");
    assert!(wrong == 0 && done > 5500, "{wrong} {done}");
}

#[test]
fn small_cases_by_hand() {
    // one pair with nulls: Bethe is exact, 1 / (1 + 1) and log 2
    let pair = Graph::new(1, 1, &[(0, 0)], true).unwrap();
    let mut p = [0.0; 3];
    let sum = propagated(&pair, &[0.0; 3], &mut p).unwrap();
    assert!((sum.log_z - 2f64.ln()).abs() < 1e-9 && p.iter().all(|p| (p - 0.5).abs() < 1e-9));
    // P = (1 − P)² for balanced ones
    let sum = balanced(&pair, &[0.0; 3], &mut p).unwrap();
    assert!(sum.converged && (p[0] - (3.0 - 5f64.sqrt()) / 2.0).abs() < 1e-8);
    // without nulls one pair is certain
    let pair = Graph::new(1, 1, &[(0, 0)], false).unwrap();
    for (_, by) in BOTH {
        let sum = by(&pair, &[-7.0], &mut p[..1]).unwrap();
        assert!(sum.converged && (sum.log_z + 7.0).abs() < 1e-9 && (p[0] - 1.0).abs() < 1e-9);
    }
    // one against three, for nothing: a choice, and Bethe is exact
    let choice = Graph::new(1, 3, &[(0, 0), (0, 1), (0, 2)], false).unwrap();
    let sum = propagated(&choice, &[1f64.ln(), 2f64.ln(), 5f64.ln()], &mut p).unwrap();
    assert!((sum.log_z - 8f64.ln()).abs() < 1e-9 && (p[2] - 0.625).abs() < 1e-9);
    // an item without an edge stays
    let isolated = Graph::new(2, 2, &[(0, 0), (0, 1)], true).unwrap();
    for (_, by) in BOTH {
        let mut p = [0.0; 6];
        let sum = by(&isolated, &[0.0, 1.0, 0.5, 3.0, 0.0, 0.0], &mut p).unwrap();
        assert!(sum.converged && (p[3] - 1.0).abs() < 1e-9);
    }
    let nobody = Graph::new(0, 2, &[], true).unwrap();
    for (_, by) in BOTH {
        let mut p = [0.0; 2];
        let sum = by(&nobody, &[1.0, 2.0], &mut p).unwrap();
        assert!((sum.log_z - 3.0).abs() < 1e-12 && p.iter().all(|p| (p - 1.0).abs() < 1e-12));
        assert!(by(&Graph::new(0, 0, &[], false).unwrap(), &[], &mut []).unwrap().log_z.abs() < 1e-12);
    }
    // edges that no matching has are 0
    let path = Graph::new(3, 3, &[(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)], false).unwrap();
    for (_, by) in BOTH {
        let mut p = [0.0; 5];
        let sum = by(&path, &[0.0, 9.0, 0.0, 9.0, 2.0], &mut p).unwrap();
        assert!(sum.converged && (sum.log_z - 2.0).abs() < 1e-9, "{sum:?}");
        assert!(p.iter().zip([1.0, 0.0, 1.0, 0.0, 1.0]).all(|(p, t)| (p - t).abs() < 1e-9));
    }
    let none = Graph::new(2, 2, &[(0, 0), (1, 0)], false).unwrap();
    for (_, by) in BOTH {
        assert!(matches!(by(&none, &[0.0, 0.0], &mut [0.0; 2]), Err(Error::Infeasible { side: "row", index: 1 })));
        assert!(matches!(by(&choice, &[0.0, f64::NAN, 0.0], &mut [0.0; 3]), Err(Error::NotFinite { .. })));
    }
}

#[test]
fn buffers_are_no_state() {
    let (mut a, mut b) = (sinkhorn::Work::default(), bethe::Work::default());
    for seed in 0..50u64 {
        let graph = graph(1 + (seed as usize * 7) % 6, 1 + (seed as usize * 5) % 6, 0.7, seed % 2 == 0, seed);
        let s = scores(&graph, 1.0 + (seed % 5) as f64 * 20.0, seed);
        let (mut p, mut q) = (vec![0.0; graph.table()], vec![0.0; graph.table()]);
        let one = sinkhorn::log_sum(&graph, &s, &mut a, &mut p).unwrap();
        assert!(one == balanced(&graph, &s, &mut q).unwrap() && p == q);
        let one = bethe::log_sum(&graph, &s, &mut b, &mut p).unwrap();
        assert!(one == propagated(&graph, &s, &mut q).unwrap() && p == q);
    }
}
