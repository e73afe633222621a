//! The speed gate of training: Newton with the explicit Hessian costs no more CPU than 15 evaluations of its own value
//! and gradient, to a relative gradient norm of 1e-5. Run by `./check` in release mode, on one thread, so that time is
//! CPU time.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use ordain::data::scale::{Scale, Scaling};
use ordain::data::synthetic::Synthetic;
use ordain::data::{self, Missing, RankSet};
use ordain::risk::Empirical;
use ordain::scorer::rows::Rows;
use ordain::solver::newton::{Memory, Newton};
use ordain::solver::run::{Watch, run};
use ordain::surrogate::pair_hinge::PairHinge;
use ordain::traits::{Risk, Solver, Stop};
use std::path::PathBuf;
use std::time::Instant;

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

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

fn on_one_thread(work: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(work);
}

#[test]
#[ignore = "a speed gate: meant for release mode, run by ./check"]
fn newton_on_made_up_data() {
    let set = Synthetic { queries: 1400, documents: (5, 70), features: 46, grades: 3, ..Synthetic::default() }.make();
    on_one_thread(|| assert!(evaluations("made up", &set, Scale::Query).iter().all(|&ratio| ratio <= 15.0)));
}

/// The gate is the objective that other tools minimise on this file: its features as they are.
#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn newton_on_mq2007_subset() {
    let folder = PathBuf::from(std::env::var_os("ORDAIN_DATA").expect("ORDAIN_DATA names the data folder"));
    let files = (1..=5).map(|i| folder.join(format!("ranking/mq2007-subset/S{i}.txt.zst"))).collect();
    let (set, _) = data::read(&[files], Missing::Error).unwrap();
    on_one_thread(|| {
        let gate = evaluations("mq2007-subset", &set, Scale::None);
        evaluations("mq2007-subset", &set, Scale::Query);
        evaluations("mq2007-subset", &set, Scale::Global);
        assert!(gate.iter().all(|&ratio| ratio <= 15.0));
    });
}
