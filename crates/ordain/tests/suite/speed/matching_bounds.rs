//! Errors and times of the approximations of matchings: printed, no gate.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::needless_range_loop)] // a test may panic, and this one prints what it measured

use crate::matching_bounds::{BOTH, exact, graph, scores};
use ordain::random::Random;
use ordain::structure::matching::graph::Graph;
use ordain::structure::matching::subsets;
use std::time::Instant;

fn points(n: usize, null: bool, noise: f64, seed: u64) -> (Graph, Vec<f64>) {
    let mut random = Random::new(seed);
    let graph = graph(n, n, 1.0, null, 0);
    let at: Vec<(f64, f64)> = (0..n).map(|_| (random.uniform(), random.uniform())).collect();
    let moved: Vec<(f64, f64)> =
        at.iter().map(|p| (p.0 + noise * random.normal(), p.1 + noise * random.normal())).collect();
    let mut s = vec![0.0; graph.table()];
    for e in 0..graph.edges() {
        let (i, j) = graph.ends(e);
        s[e] = -((at[i].0 - moved[j].0).powi(2) + (at[i].1 - moved[j].1).powi(2)) / (2.0 * noise * noise);
    }
    s[graph.edges()..].fill(-1.5);
    (graph, s)
}

#[test]
#[ignore = "prints errors, run by ./check --speed"]
fn errors_of_the_approximations() {
    println!("largest error of a marginal (of log Z; converged), mean of 5, against the exact law");
    for (what, n, null, scale) in [
        ("sigma .5", 7, true, 0.5),
        ("sigma 1", 7, true, 1.0),
        ("sigma 2", 7, true, 2.0),
        ("sigma 4", 7, true, 4.0),
        ("points .1", 7, true, -0.1),
        ("points .03", 7, true, -0.03),
        ("sigma .5", 8, false, 0.5),
        ("sigma 1", 8, false, 1.0),
        ("sigma 2", 8, false, 2.0),
        ("sigma 4", 8, false, 4.0),
        ("points .1", 8, false, -0.1),
        ("sigma .5", 18, false, 0.5),
        ("sigma 1", 18, false, 1.0),
        ("sigma 2", 18, false, 2.0),
        ("sigma 4", 18, false, 4.0),
        ("points .1", 18, false, -0.1),
    ] {
        let mut line = format!("{what:11} M={n:2} null={null:5}");
        for (name, by) in BOTH {
            let (mut error, mut log_error, mut converged) = (0.0, 0.0, 0);
            for seed in 0..5 {
                let (graph, s) = if scale < 0.0 {
                    points(n, null, -scale, seed)
                } else {
                    let graph = graph(n, n, 1.0, null, seed);
                    let s = scores(&graph, scale, seed + 10);
                    (graph, s)
                };
                let (log_z, truth) = if n > 8 {
                    let mut p = vec![0.0; n * n];
                    (subsets::log_sum(&s, n, &mut subsets::Work::default(), &mut p).unwrap(), p)
                } else {
                    exact(&graph, &s)
                };
                let mut p = truth.clone();
                let sum = by(&graph, &s, &mut p).unwrap();
                converged += usize::from(sum.converged);
                error += p.iter().zip(&truth).map(|(p, t)| (p - t).abs()).fold(0.0, f64::max) / 5.0;
                log_error += (sum.log_z - log_z) / 5.0;
            }
            line += &format!("   {name} {error:.4} ({log_error:+.3}; {converged}/5)");
        }
        println!("{line}");
    }
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn speed_of_the_approximations() {
    println!("seconds (sweeps, converged)");
    for (what, n, degree, null, scale) in [
        ("dense", 100, 0, false, 1.0),
        ("dense", 300, 0, false, 1.0),
        ("dense", 1000, 0, false, 1.0),
        ("dense", 100, 0, false, 4.0),
        ("dense", 300, 0, false, 4.0),
        ("dense", 1000, 0, false, 4.0),
        ("dense", 100, 0, true, 1.0),
        ("dense", 300, 0, true, 1.0),
        ("dense", 1000, 0, true, 1.0),
        ("sparse", 2000, 20, true, 1.0),
        ("sparse", 2000, 20, false, 1.0),
        ("sparse", 2000, 20, true, 4.0),
    ] {
        let graph = graph(n, n, if degree == 0 { 1.0 } else { degree as f64 / n as f64 }, null, 1);
        let s = scores(&graph, scale, 2);
        let mut p = vec![0.0; graph.table()];
        let mut line = format!("{what:6} {n:4} sigma {scale} null {null:5}:");
        for (name, by) in BOTH {
            let start = Instant::now();
            let sum = by(&graph, &s, &mut p).unwrap();
            let time = start.elapsed().as_secs_f64();
            line += &format!("   {name} {time:.2e} ({}, {})", sum.iterations, sum.converged);
        }
        println!("{line}");
    }
}
