//! The optimisers that [QAP] names, sub-gradient descent and cutting planes, beside the block Frank-Wolfe that is shipped: all three
//! must come to the same minimum. They know examples by their worst outputs alone.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::star_training::{Demo, made, primal};
use ordain::data::synthetic::Scenes;
use ordain::pieces::Pieces;
use ordain::random::Random;
use ordain::scorer::labels::Labels;
use ordain::solver::block_fw::{BlockFw, Kept, objective};
use ordain::surrogate::star::{StarMargin, Target};
use ordain::traits::{Blocks, Solver};

/// Told the parameters after each pass; a true answer ends the run.
pub(crate) type Heard<'a> = &'a mut dyn FnMut(&[f64]) -> bool;

/// Sub-gradient descent with averaging, one example at a time in random order, until somebody has heard enough.
///
/// In units in which the ridge has strength 1, step t is `θ ← (1 − η)θ + η ψ(worst)` with `η = 2/(t + 2)`, and the average weighs
/// θ of step t by t, so that it is O(1/t) above the minimum (Lacoste-Julien, Schmidt, Bach 2012).
pub(crate) fn subgradient<B: Blocks>(blocks: &mut B, seed: u64, heard: Heard) {
    let (strength, mut random) = (blocks.strength(), Random::new(seed));
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    let (mut theta, mut average) = (vec![0.0; strength.len()], vec![0.0; strength.len()]);
    let (mut work, mut t) = (B::Work::default(), 0.0);
    while !heard(&average) {
        random.shuffle(&mut order);
        for &n in &order {
            let step = 2.0 / (t + 2.0);
            blocks.set_theta(&theta).unwrap();
            blocks.enter(n, &theta, &mut work);
            let (worst, _) = blocks.worst(n, &mut work).unwrap();
            theta.iter_mut().for_each(|theta| *theta *= 1.0 - step);
            blocks.turn(n, &[(1.0, &worst)], &mut work);
            blocks.advance(n, step, &mut theta, &mut work);
            average.iter_mut().zip(&theta).for_each(|(average, theta)| *average += step * (theta - *average));
            t += 1.0;
        }
    }
}

/// The cutting-plane method with a slack for each example (Tsochantaridis et al. 2005), until no constraint is violated by more than
/// `accuracy`: the worst output of each example joins its constraints, then the quadratic programme over all constraints so far is solved to
/// that accuracy, by pairwise steps on its dual.
pub(crate) fn cutting_plane<B: Blocks>(blocks: &mut B, accuracy: f64, heard: Heard) {
    let m = blocks.len();
    let first = |n: usize| vec![Kept { output: blocks.right(n), weight: 1.0, loss: 0.0 }];
    let mut kept: Vec<Vec<Kept<B::Output>>> = (0..m).map(first).collect();
    let (mut theta, mut work) = (vec![0.0; blocks.strength().len()], B::Work::default());
    loop {
        blocks.set_theta(&theta).unwrap();
        let mut more = false;
        for (n, kept) in kept.iter_mut().enumerate() {
            blocks.enter(n, &theta, &mut work);
            let (output, high) = blocks.worst(n, &mut work).unwrap();
            let value = |kept: &Kept<B::Output>| kept.loss + blocks.score(n, &kept.output, &work);
            let slack = kept.iter().map(value).fold(f64::NEG_INFINITY, f64::max);
            if high > slack + accuracy {
                let loss = blocks.loss(n, &output);
                kept.push(Kept { output, weight: 0.0, loss });
                more = true;
            }
        }
        if heard(&theta) || !more {
            return;
        }
        blocks.set_theta(&theta).unwrap();
        while programme(blocks, &mut kept, &mut theta, &mut work) > accuracy {}
    }
}

/// One pass over the quadratic programme of all constraints: weight of each example moves from its least violated constraint to its
/// most violated one. Returns the sum of the gaps that it met.
fn programme<B: Blocks>(
    blocks: &mut B,
    kept: &mut [Vec<Kept<B::Output>>],
    theta: &mut [f64],
    work: &mut B::Work,
) -> f64 {
    let (m, mut gap) = (kept.len() as f64, 0.0);
    for (n, kept) in kept.iter_mut().enumerate() {
        blocks.enter(n, theta, work);
        let values: Vec<f64> = kept.iter().map(|kept| kept.loss + blocks.score(n, &kept.output, work)).collect();
        let mean: f64 = kept.iter().zip(&values).map(|(kept, value)| kept.weight * value).sum();
        let all = 0..kept.len();
        let up = all.clone().max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap();
        let down = all.filter(|&i| kept[i].weight > 0.0).min_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap();
        gap += (values[up] - mean) / m;
        if up == down || values[up] <= values[down] {
            continue;
        }
        let bend = blocks.turn(n, &[(1.0, &kept[up].output), (-1.0, &kept[down].output)], work) / m;
        let room = kept[down].weight;
        let step = if bend > 0.0 { ((values[up] - values[down]) / bend).min(room) } else { room };
        blocks.advance(n, step / m, theta, work);
        kept[up].weight += step;
        kept[down].weight -= step;
    }
    gap
}

#[test]
fn the_optimisers_of_the_paper_reach_the_certified_optimum() {
    for (round, core) in [0, 1, 2, 3].into_iter().enumerate() {
        let set = Scenes { items: 100, labels: 9, scenes: 3, noise: 0.9, seed: round as u64 }.make();
        let Demo { n, units, features, own, log_count, targets, core } = Demo::of(&set, core);
        let (pieces, log_count) = (Pieces::of_items(units.len(), 1), Some(&log_count[..]));
        let (own, features) = if round % 2 == 0 { (Some(&own[..]), None) } else { (None, Some(&features)) };
        let scorer = Labels { labels: n, units: &units, pieces: &pieces, features, own, log_count };
        let new = || StarMargin::new(&scorer, n, &core, &targets, [0.1, 0.1]).unwrap();
        let (mut fast, mut other) = (new(), new());
        let strength = other.strength();
        let mut solver = BlockFw::new(&mut fast, 1e-6, 1).unwrap();
        while solver.progress().done.is_none() {
            solver.step().unwrap();
        }
        let (best, floor) = (solver.progress().objective, solver.progress().objective - solver.progress().gap.unwrap());
        // there is something to minimise: links and scores lower what nothing learned costs
        let at_zero = objective(&mut other, &strength, &vec![0.0; strength.len()], None).unwrap();
        assert!(best < 0.8 * at_zero, "round {round}: {best} {at_zero}");
        let value = |theta: &[f64]| objective(&mut new(), &strength, theta, None).unwrap();
        let (mut passes, mut averaged) = (0, vec![]);
        subgradient(&mut other, 1, &mut |theta| {
            passes += 1;
            averaged = theta.to_vec();
            passes % 20 == 0 && value(theta) <= 1.01 * best || passes > 4000
        });
        let mut cut = vec![];
        cutting_plane(&mut other, 1e-5 * best, &mut |theta| {
            cut = theta.to_vec();
            false
        });
        for (what, theta, most) in [("sub-gradient", &averaged, 1.01), ("cutting plane", &cut, 1.0001)] {
            // by all sets, one by one
            let found = primal(&scorer, &core, &targets, &strength, theta);
            assert!(found <= most * best, "round {round}, {what}: {found}, not {best}, after {passes} passes");
            assert!(found >= floor - 1e-10, "round {round}, {what}: {found} is below the certified {floor}");
        }
    }
}

/// [QAP] Eq. (9), one weight for each pair of labels: the slope of the structured hinge is −ψ of the worst set.
#[test]
fn the_worst_set_gives_the_slope_of_the_hinge() {
    let mut random = Random::new(10);
    for round in 0..20 {
        let (items, n) = (5, 5 + round % 3);
        let made = made(&mut random, items, n, round % 3 == 0);
        let scorer = made.scorer(n, round % 8);
        let core: Vec<u32> = (0..(round % 4) as u32).collect();
        let targets: Vec<Target> = made.cases.iter().cloned().map(Target::break_even).collect();
        let mut blocks = StarMargin::new(&scorer, n, &core, &targets, [0.3, 0.1]).unwrap();
        let strength = blocks.strength();
        let theta: Vec<f64> = strength.iter().map(|_| random.normal()).collect();
        let mut work = Default::default();
        let (mut slope, mut zero) = (vec![0.0; theta.len()], vec![0.0; theta.len()]);
        for i in 0..items {
            blocks.set_theta(&theta).unwrap();
            blocks.enter(i, &theta, &mut work);
            let (worst, _) = blocks.worst(i, &mut work).unwrap();
            blocks.turn(i, &[(1.0, &worst)], &mut work);
            zero.fill(0.0);
            blocks.advance(i, 1.0 / items as f64, &mut zero, &mut work);
            for ((slope, psi), strength) in slope.iter_mut().zip(&zero).zip(&strength) {
                *slope -= psi * strength;
            }
        }
        let no_ridge = vec![0.0; theta.len()];
        for j in 0..theta.len() {
            let mut at = |by: f64| {
                let mut moved = theta.clone();
                moved[j] += by;
                objective(&mut blocks, &no_ridge, &moved, None).unwrap()
            };
            let found = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((found - slope[j]).abs() < 1e-7, "round {round}, parameter {j}: {} and {found}", slope[j]);
        }
    }
}
