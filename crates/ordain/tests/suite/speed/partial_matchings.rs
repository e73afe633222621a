//! Pruned and exact sums of matchings as they grow, and beside all sets.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{at_least, fastest};
use crate::partial_matchings::{complete, house_weights, normal, peaked};
use ordain::random::Random;
use ordain::structure::matching::{partial, pruned, subsets};

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn speed_of_pruned_and_exact_sums() {
    let (mut random, mut work, mut last) = (Random::new(11), partial::Work::default(), 0.0);
    for k in [10, 12, 14, 16, 18] {
        let graph = complete(k, k, true);
        let s = normal(&mut random, graph.table(), 1.0);
        let mut p = vec![0.0; graph.table()];
        let t = fastest(if k < 16 { 20 } else { 5 }, || {
            partial::log_sum(&graph, &s, &mut work, &mut p).unwrap();
        });
        let growth = if last > 0.0 { f64::sqrt(t / last) } else { f64::NAN };
        println!("{k} + {k} items that may stay: {:.3} ms, x {growth:.2} per item", t * 1e3);
        last = t;
    }
    for (n, k) in [(22, 18), (23, 18), (30, 18), (100, 12)] {
        let graph = complete(n, k, false);
        let s = normal(&mut random, graph.table(), 1.0);
        let mut p = vec![0.0; graph.table()];
        let t = fastest(3, || {
            partial::log_sum(&graph, &s, &mut work, &mut p).unwrap();
        });
        println!("{n} x {k}, no null: {:.2} ms", t * 1e3);
    }
    let (mut prune, mut dense) = (pruned::Work::default(), subsets::Work::default());
    for (m, house, noise) in [
        (20, false, 0.0),
        (20, true, 0.03),
        (20, true, 0.05),
        (22, false, 0.0),
        (22, true, 0.03),
        (22, true, 0.05),
        (30, false, 0.0),
        (30, true, 0.03),
        (30, true, 0.04),
        (50, true, 0.02),
    ] {
        let graph = complete(m, m, false);
        for _ in 0..3 {
            let s = peaked(&mut random, m, house, noise);
            let mut p = vec![0.0; m * m];
            let mut kept = None;
            let t = fastest(10, || kept = pruned::log_sum(&graph, &s, 1e-8, 20_000, &mut prune, &mut p).unwrap());
            print!("{m} x {m} {}: {:.3} ms, {kept:?}", if house { "points" } else { "permutation" }, t * 1e3);
            if m <= 22 {
                let ratio = fastest(3, || _ = subsets::log_sum(&s, m, &mut dense, &mut p).unwrap()) / t;
                println!(", {ratio:.0} times faster than all sets");
                if m == 22 {
                    at_least("all sets beside the pruned sum, 22 x 22", ratio, if house { 10.0 } else { 4.0 });
                }
            } else {
                println!();
            }
        }
    }
}

/// With what was learned of the house.
#[test]
#[ignore = "measures time on the data in ORDAIN_DATA, run by ./check --speed"]
fn house_weights_are_summed_fast_real() {
    let (mut prune, mut dense) = (pruned::Work::default(), subsets::Work::default());
    for (baseline, tables) in house_weights() {
        let (mut times, m) = ([0.0; 2], 22);
        let graph = complete(m, m, false);
        for s in &tables {
            let mut p = vec![0.0; m * m];
            times[0] +=
                fastest(5, || _ = pruned::log_sum(&graph, s, 1e-8, 100_000, &mut prune, &mut p).unwrap().unwrap());
            times[1] += fastest(2, || _ = subsets::log_sum(s, m, &mut dense, &mut p).unwrap());
        }
        println!("house {baseline}: {:.2} ms", 1e3 * times[0] / tables.len() as f64);
        at_least(&format!("all sets beside the pruned sum, house {baseline}"), times[1] / times[0], 10.0);
    }
}
