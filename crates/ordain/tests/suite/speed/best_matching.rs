//! The best matching of a graph as it grows: printed, no gate.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::fastest;
use crate::best_matching::{random_graph, random_scores, sparse_graph};
use ordain::random::Random;
use ordain::structure::matching::best::{Work, best, forbidden};

/// The least of a few times, in milliseconds.
fn time(run: impl FnMut()) -> f64 {
    1e3 * fastest(5, run)
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn speed_of_sparse_matchings() {
    let mut random = Random::new(1);
    let (mut work, mut losses) = (Work::default(), vec![]);
    for (null, name) in [(true, "with null"), (false, "perfect")] {
        for kind in [3, 1] {
            let mut last: Option<f64> = None;
            for n in [500, 1000, 2000, 4000] {
                let graph = sparse_graph(&mut random, n, n, 20, null);
                let (s, _) = random_scores(&mut random, graph.table(), kind);
                let taken = time(|| {
                    best(&graph, &s, &mut work).unwrap();
                });
                let all = 1e3 * fastest(1, || forbidden(&graph, &s, &mut work, &mut losses).unwrap());
                let slope = last.map_or(f64::NAN, |last: f64| (taken / last).log2());
                println!(
                    "{name}, {} scores, n = {n}: {taken:.2} ms, slope {slope:.2}; forbidden {all:.1} ms",
                    if kind == 1 { "whole" } else { "normal" },
                );
                last = Some(taken);
            }
        }
    }
    for (null, n, density) in [true, false].into_iter().flat_map(|null| {
        [30, 300, 1000]
            .into_iter()
            .flat_map(move |n| [0.1, 0.24, 0.26, 0.5, 1.0].map(move |density| (null, n, density)))
    }) {
        let graph = random_graph(&mut random, n, n, density, null, 0);
        let (s, _) = random_scores(&mut random, graph.table(), 3);
        let taken = time(|| {
            let _ = best(&graph, &s, &mut work);
        });
        println!("{n} x {n}, {density} of all pairs, null {null}: {taken:.3} ms");
    }
}
