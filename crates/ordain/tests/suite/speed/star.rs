//! Speed gates of stars: the best set beside the plain loop over the core, and all forced values beside one sweep.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{at_least, at_most, seconds as once};
use ordain::random::Random;
use ordain::structure::star::{MaxWork, Search, Star, Subsets};
use std::hint::black_box;

pub(crate) const K: usize = 12;

pub(crate) fn case(n: usize, c: usize, seed: u64) -> (Vec<f64>, Star) {
    let mut random = Random::new(seed);
    let s: Vec<f64> = (0..n).map(|_| random.normal()).collect();
    let mut core: Vec<u32> = (0..n as u32).collect();
    random.shuffle(&mut core);
    let links: Vec<f64> = (0..n * c).map(|_| 0.1 * random.normal()).collect();
    (s, Star::new(n, &core[..c], &links).unwrap())
}

/// The plain loop: the scores of all labels anew for each part of the core, of the first `parts` parts. These have
/// fewer core labels in than the others, so that the whole loop takes longer than its share says.
pub(crate) fn naive(star: &Star, s: &[f64], parts: usize, a: &mut Vec<f64>) -> f64 {
    let (core, mut best) = (star.core(), f64::NEG_INFINITY);
    for mask in (0..parts).filter(|mask| mask.count_ones() as usize <= K) {
        let inside = |c: usize| mask >> c & 1 == 1;
        let mut value = 0.0;
        a.clear();
        a.extend_from_slice(s);
        for (c, &label) in core.iter().enumerate().filter(|&(c, _)| inside(c)) {
            value += s[label as usize];
            let others = core.iter().enumerate().skip(c + 1).filter(|&(d, _)| inside(d));
            value += others.map(|(_, &other)| star.links(c)[other as usize]).sum::<f64>();
            a.iter_mut().zip(star.links(c)).for_each(|(a, g)| *a += g);
        }
        core.iter().for_each(|&label| a[label as usize] = f64::NEG_INFINITY);
        let r = K - mask.count_ones() as usize;
        if r > 0 {
            a.select_nth_unstable_by(r - 1, |a, b| b.total_cmp(a));
            value += a[..r].iter().sum::<f64>();
        }
        best = best.max(value);
    }
    best
}

/// Seconds per call, the better of two measurements of at least `least` seconds.
fn seconds(least: f64, mut work: impl FnMut()) -> f64 {
    work();
    let mut mean = || {
        let (mut spent, mut count) = (0.0, 0);
        while spent < least {
            let many = 1 << count.min(10);
            spent += once(|| (0..many).for_each(|_| work()));
            count += 1;
        }
        spent / f64::from((0..count).map(|i| 1 << i.min(10)).sum::<u32>())
    };
    mean().min(mean())
}

/// The mean over some instances of the plain loop and of the search, in seconds.
fn gate(n: usize, c: usize, seeds: u64, parts: usize, least: f64) {
    let (mut work, mut set, mut a) = (MaxWork::default(), vec![], vec![]);
    let over = Subsets { k: K, clamp: &[] };
    let (mut plain, mut fast) = (0.0, 0.0);
    for seed in 0..seeds {
        let (s, star) = case(n, c, seed);
        star.max(&s, &over, &mut work, &mut set).unwrap();
        let share = (1 << c) as f64 / parts as f64;
        plain += share * seconds(0.02, || _ = black_box(naive(&star, &s, parts, &mut a)));
        fast += seconds(0.02, || _ = black_box(star.max(&s, &over, &mut work, &mut set).unwrap()));
    }
    let (plain, fast) = (plain / seeds as f64, fast / seeds as f64);
    let part = if parts < 1 << c { format!(" (from {parts} of {} parts of the core)", 1 << c) } else { String::new() };
    println!(
        "N = {n}, C = {c}: plain loop {:.2} us{part}, max {:.2} us: {:.1} times",
        plain * 1e6,
        fast * 1e6,
        plain / fast
    );
    at_least(&format!("the plain loop beside the best set, N = {n}, C = {c}"), plain / fast, least);
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn the_best_set_beside_the_plain_loop() {
    gate(93, 5, 20, 1 << 5, 3.0);
    gate(1000, 10, 5, 1 << 10, 50.0);
    gate(10_000, 15, 2, 1 << 9, 1000.0);
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn all_forced_values_beside_one_sweep() {
    let (mut work, mut set) = (MaxWork::default(), vec![]);
    let over = Subsets { k: K, clamp: &[] };
    for (n, c) in [(93, 5), (93, 10), (1000, 5), (1000, 10)] {
        let (s, star) = case(n, c, 1);
        let (mut one, mut all) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..20 {
            let sweep = || _ = black_box(star.max_by(Search::Sweep, &s, &over, &mut work, &mut set).unwrap());
            one = seconds(0.004, sweep).min(one);
            all = seconds(0.004, || _ = black_box(star.forced(&s, &over, &mut work).unwrap())).min(all);
        }
        println!("N = {n}, C = {c}: sweep {:.2} us, all forced {:.2} us: {:.2} times", one * 1e6, all * 1e6, all / one);
        at_most(&format!("all forced values beside one sweep, N = {n}, C = {c}"), all / one, 1.5);
    }
}
