//! Trees on two threads beside one, and scores by forests beside plain walks. Beside LightGBM: `scripts/bench_trees.py`.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{alone, at_least, fastest, seconds};
use ordain::matrix::{Features, Matrix};
use ordain::random::Random;
use ordain::tree::{Bins, Cuts, Forest, Grower, Growth};
use std::hint::black_box;

/// Rows with products of columns, and their slopes.
fn made(rows: usize, cols: usize) -> (Features, Vec<f64>) {
    let mut random = Random::new(1);
    let x: Vec<f32> = (0..rows * cols).map(|_| random.uniform() as f32).collect();
    let d = x.chunks_exact(cols).map(|x| f64::from(x[0] * x[4] - x[1] * x[5]) + 0.1 * random.normal()).collect();
    (Features::Dense(Matrix::new(x, cols)), d)
}

/// Some trees on the rest that earlier ones left.
fn rounds(cuts: &Cuts, bins: &Bins, d: &[f64], trees: usize) -> Forest {
    let (mut grower, mut forest) = (Grower::new(cuts, bins), Forest::empty(cuts.columns()));
    let (mut slopes, h) = (d.to_vec(), vec![1.0; d.len()]);
    let (rows, how) = ((0..d.len() as u32).collect::<Vec<u32>>(), Growth::default());
    for _ in 0..trees {
        let tree = grower.grow(&slopes, &h, &rows, &how, &mut Random::new(1));
        grower.add_last(&tree, 0.1, &mut slopes);
        forest.push(&tree, 0.1);
    }
    forest
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn two_threads_grow_trees_faster_than_one() {
    let (x, d) = made(400_000, 136);
    let rows: Vec<u32> = (0..400_000).collect();
    let cuts = Cuts::learn(&x, &rows, &[false; 136], 255).unwrap();
    let bins = cuts.bin(&x).unwrap();
    let pools = [1, 2].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    let (mut best, mut found) = ([f64::INFINITY; 2], vec![]);
    for _ in 0..4 {
        for (pool, best) in pools.iter().zip(&mut best) {
            pool.install(|| *best = best.min(seconds(|| found.push(black_box(rounds(&cuts, &bins, &d, 4))))));
        }
    }
    assert!(found.iter().all(|forest| *forest == found[0]));
    println!("a tree on 400,000 x 136: {:.0} ms on one thread, {:.0} ms on two", best[0] * 250.0, best[1] * 250.0);
    at_least("trees on two threads beside one", best[0] / best[1], 1.7);
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn rows_side_by_side_are_scored_faster_than_one_by_one() {
    alone(|| {
        let (x, d) = made(20_000, 40);
        let rows: Vec<u32> = (0..20_000).collect();
        let cuts = Cuts::learn(&x, &rows, &[false; 40], 255).unwrap();
        let forest = rounds(&cuts, &cuts.bin(&x).unwrap(), &d, 200);
        let Features::Dense(values) = &x else { return };
        let (mut together, mut apart) = (vec![0.0; 20_000], vec![0.0; 20_000]);
        let fast = fastest(5, || {
            together.fill(0.0);
            forest.add_scores(&x, 0..20_000, &mut together);
        });
        let slow = fastest(5, || {
            apart.iter_mut().enumerate().for_each(|(i, score)| *score = forest.score_row(values.row(i)));
        });
        assert_eq!(together, apart);
        println!("20,000 rows by 200 trees: {:.0} ms side by side, {:.0} ms one by one", fast * 1e3, slow * 1e3);
        at_least("rows side by side beside one by one", slow / fast, 1.5);
    });
}
