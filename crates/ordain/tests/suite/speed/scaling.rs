//! Global scaling on all threads: two passes over the rows, by pieces. The slow twin, one piece after the other, is in `data/scale.rs`.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{at_least, seconds};
use ordain::data::Groups;
use ordain::data::scale::{Scale, Scaling};
use ordain::matrix::{Features, Matrix};
use std::hint::black_box;

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn two_threads_scale_faster_than_one() {
    let (queries, cols) = (20_000, 46);
    let rows = 50 * queries;
    let values = (0..rows * cols).map(|k| ((k as u64 * 2_654_435_761) % 1009) as f32).collect();
    let (features, units) = (Features::Dense(Matrix::new(values, cols)), (0..queries as u32).collect::<Vec<u32>>());
    let bounds: Vec<usize> = (0..=queries).map(|q| 50 * q).collect();
    let set = Groups::new(&features, &bounds);
    let pools = [1, 2].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    let (mut best, mut found) = ([f64::INFINITY; 2], vec![]);
    for _ in 0..12 {
        for (pool, best) in pools.iter().zip(&mut best) {
            pool.install(|| {
                let time = seconds(|| found.push(black_box(Scaling::learn(Scale::Global, set, &units))));
                *best = best.min(time);
            });
        }
    }
    assert!(found.iter().all(|scaling| *scaling == found[0]));
    println!(
        "global scaling of {rows} x {cols}: {:.1} ms on one thread, {:.1} ms on two",
        best[0] * 1e3,
        best[1] * 1e3
    );
    at_least("global scaling on two threads beside one", best[0] / best[1], 1.6);
}
