//! The core-set machine in all its variants: printed, no gate.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use crate::ball::{Problem, images};
use ordain::kernel::{Form, Kernel};
use ordain::random::Random;
use ordain::solver::ball::{Geometry, Inner, Oracle, Query, Settings};
use ordain::solver::run::{Watch, run};
use std::time::Instant;

/// One block with 20 queries of 300 documents of three levels in two dimensions, as in the paper.
fn synthetic() -> Problem {
    let mut random = Random::new(3);
    let centres = [[0.0, 0.0], [4.0, 0.0], [2.0, 12f64.sqrt()]];
    let docs: Vec<f32> =
        (0..6000).flat_map(|i| centres[i % 3].map(|c| (c + random.normal()) as f32).into_iter()).collect();
    let query =
        |q: usize| Query { block: 0, documents: 300 * q..300 * (q + 1), levels: (0..300).map(|i| i % 3).collect() };
    let queries = (0..20).map(query).collect();
    Problem { docs: vec![docs], d: 2, kernel: Kernel { form: Form::Rbf, gamma: 0.5 }, queries }
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn speed() {
    let (images, synthetic) = (images(500), synthetic());
    for (oracle, geometry, inner, epsilon) in [
        (Oracle::Turn, Geometry::Centred, Inner::Qp, 1e-2),
        (Oracle::Turn, Geometry::Centred, Inner::Qp, 1e-3),
        (Oracle::Turn, Geometry::Centred, Inner::Qp, 3e-4),
        (Oracle::Turn, Geometry::Centred, Inner::BadoiuClarkson, 1e-3),
        (Oracle::Sample, Geometry::Centred, Inner::Qp, 1e-3),
        (Oracle::Exact, Geometry::Centred, Inner::Qp, 1e-3),
        (Oracle::Turn, Geometry::Plain, Inner::Qp, 1e-3),
        (Oracle::Exact, Geometry::Plain, Inner::Qp, 1e-2),
    ] {
        for (name, problem) in [("images", &images), ("synthetic", &synthetic)] {
            let settings = Settings { epsilon, oracle, geometry, inner, ..Settings::default() };
            let mut seconds = f64::INFINITY;
            let mut words = String::new();
            for _ in 0..3 {
                let start = Instant::now();
                let mut ball = problem.ball(settings);
                let report = run(&mut ball, 100_000, 0, &Watch::NOBODY).unwrap();
                seconds = seconds.min(start.elapsed().as_secs_f64());
                let (pairs, documents, all) = (ball.core().len(), ball.documents(), ball.total());
                let (steps, f, gap) = (report.iterations, report.objective, ball.certificate().gap);
                words =
                    format!("{steps} steps, {pairs} pairs of {all}, {documents} documents, f = {f:.3e}, gap {gap:.3}");
            }
            println!("{name} {oracle:?} {geometry:?} {inner:?} epsilon {epsilon}: {seconds:.4} s, {words}");
        }
    }
}
