//! The speed gate of training: Newton with the explicit Hessian costs no more CPU than 15 evaluations of its own value
//! and gradient, to a relative gradient norm of 1e-5. On one thread, so that time is CPU time.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{alone, at_most, folder, seconds};
use ordain::data::scale::{Scale, Scaling};
use ordain::data::synthetic::Synthetic;
use ordain::data::{self, Missing, RankSet};
use ordain::risk::Empirical;
use ordain::scorer::rows::Rows;
use ordain::solver::newton::{Memory, Newton};
use ordain::solver::run::{Watch, run};
use ordain::surrogate::pair_hinge::PairHinge;
use ordain::traits::{Risk, Solver, Stop};

/// The cost of Newton's method in evaluations, for three strengths of the ridge: fastest of some tries, by turns.
fn evaluations(name: &str, set: &RankSet, scale: Scale) -> [f64; 3] {
    let units: Vec<u32> = set.all().into_iter().filter(|&q| !set.is_flat(q as usize)).collect();
    let loss = PairHinge::new(units.iter().map(|&q| &set.grades[set.span(q as usize)]), None);
    let pairs: f64 = (0..units.len()).map(|n| loss.pairs(n).0).sum();
    let scaling = Scaling::learn(scale, set, &units);
    let rows = Rows::new(set, &units, &scaling);
    let d = set.features.cols();
    let mut risk = Empirical::new(&rows, &loss, vec![1.0 / pairs; units.len()]);
    let mut grad = vec![0.0; d];
    [1e-4, 1e-2, 1.0].map(|c| {
        let (mut one, mut all, mut steps, mut theta) = (f64::INFINITY, f64::INFINITY, 0, vec![0.0; d]);
        for _ in 0..9 {
            all = all.min(seconds(|| {
                let lambda = 1.0 / (c * pairs);
                let mut newton = Newton::new(&mut risk, lambda, 1e-5, vec![0.0; d], Memory::default()).unwrap();
                let report = run(&mut newton, 100, 0, &Watch::NOBODY).unwrap();
                assert_eq!(report.stop, Stop::Gradient);
                steps = report.iterations;
                theta.copy_from_slice(newton.theta());
            }));
            for _ in 0..5 {
                one = one.min(seconds(|| {
                    risk.value(&theta, &mut grad).unwrap();
                }));
            }
        }
        let (all, one) = (all * 1e3, one * 1e3);
        println!(
            "{name}, scale={}, C = {c}: {steps} steps, {all:.1} ms = {:.1} evaluations of {one:.2} ms",
            scale.name(),
            all / one
        );
        all / one
    })
}

/// The dearest of three, beside the bound.
fn gate(what: &str, ratios: [f64; 3]) {
    at_most(&format!("Newton's method in evaluations, {what}"), ratios.into_iter().fold(0.0, f64::max), 15.0);
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn newton_on_made_up_data() {
    let set = Synthetic { queries: 1400, documents: (5, 70), features: 46, grades: 3, ..Synthetic::default() }.make();
    alone(|| gate("made up", evaluations("made up", &set, Scale::Query)));
}

/// The gate is the objective that other tools minimise on this file: its features as they are.
#[test]
#[ignore = "measures time on the data in ORDAIN_DATA, run by ./check --speed"]
fn newton_on_mq2007_subset_real() {
    let files = (1..=5).map(|i| folder().join(format!("ranking/mq2007-subset/S{i}.txt.zst"))).collect();
    let (set, _) = data::read_parts(&[files], Missing::Error).unwrap();
    alone(|| {
        let ratios = evaluations("mq2007-subset", &set, Scale::None);
        evaluations("mq2007-subset", &set, Scale::Query);
        evaluations("mq2007-subset", &set, Scale::Global);
        gate("mq2007-subset", ratios);
    });
}
