//! Samplers of matchings: printed, no gate.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use crate::matching_samplers::case;
use ordain::random::Random;
use ordain::structure::matching::graph::Graph;
use ordain::structure::matching::samples::Samples;
use ordain::structure::matching::{chain, huber_law, importance};
use std::time::Instant;

/// Points of the plane that moved a little.
fn points(m: usize, noise: f64, seed: u64) -> (Graph, Vec<f64>) {
    let mut random = Random::new(seed);
    let at: Vec<(f64, f64)> = (0..m).map(|_| (random.uniform(), random.uniform())).collect();
    let moved: Vec<(f64, f64)> =
        at.iter().map(|p| (p.0 + noise * random.normal(), p.1 + noise * random.normal())).collect();
    let edges: Vec<(u32, u32)> = (0..m as u32).flat_map(|i| (0..m as u32).map(move |j| (i, j))).collect();
    let s = edges.iter().map(|&(i, j)| {
        let (a, b) = (at[i as usize], moved[j as usize]);
        -((a.0 - b.0).powi(2) + (a.1 - b.1).powi(2)) / (2.0 * noise * noise)
    });
    let s = s.collect();
    (Graph::new(m, m, &edges, false).unwrap(), s)
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn speed_of_samplers() {
    println!("M=20, 500 samples: microseconds per accepted sample (acceptance)");
    let kinds = [
        ("sigma 0.5", {
            let c = case("", 20, 20, 1.0, false, 0.5, 1);
            (c.graph, c.s)
        }),
        ("sigma 1", {
            let c = case("", 20, 20, 1.0, false, 1.0, 1);
            (c.graph, c.s)
        }),
        ("sigma 2", {
            let c = case("", 20, 20, 1.0, false, 2.0, 1);
            (c.graph, c.s)
        }),
        ("points .1", points(20, 0.1, 1)),
        ("points .2", points(20, 0.2, 1)),
    ];
    for (name, (graph, s)) in &kinds {
        for head in [0, 5, 10, 14] {
            let (mut work, mut samples) = (huber_law::Work::default(), Samples::default());
            let settings = huber_law::Settings { head, cap: 20_000_000 };
            let start = Instant::now();
            let drawn =
                huber_law::draw(graph, s, 500, &settings, &mut Random::new(1), &mut work, &mut samples).unwrap();
            let time = start.elapsed().as_secs_f64();
            println!("{name:10} d={head:2}: {:9.2} ({:.1e})", 1e6 * time / drawn.accepted as f64, drawn.acceptance());
        }
        let (mut work, mut samples) = (importance::Work::default(), Samples::default());
        let start = Instant::now();
        let drawn = importance::draw(graph, s, 1000.0, 100_000, &mut Random::new(1), &mut work, &mut samples).unwrap();
        println!(
            "{name:10} importance: {:.2} ms for {} draws, effective {:.0}",
            1e3 * start.elapsed().as_secs_f64(),
            drawn.draws,
            drawn.effective
        );
        let (mut work, mut samples) = (chain::Work::default(), Samples::default());
        let first: Vec<u32> = (0..20).map(|i| 21 * i).collect();
        let settings = chain::Settings::of(graph);
        let start = Instant::now();
        let drawn =
            chain::draw(graph, s, &first, 10_000, &settings, &mut Random::new(1), &mut work, &mut samples).unwrap();
        println!(
            "{name:10} chain: {:.2} ms, {:.0} ns per step, accepted {:.3}, R {:.3}, effective {:.0} of 10000",
            1e3 * start.elapsed().as_secs_f64(),
            1e9 * start.elapsed().as_secs_f64() / drawn.steps as f64,
            drawn.accepted,
            drawn.r_hat,
            drawn.effective
        );
    }
}
