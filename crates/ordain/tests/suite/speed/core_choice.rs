//! The choice of a core on many items: printed, no gate.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{alone, fastest};
use crate::core_choice::tags;
use ordain::method::core_choice::{FEWEST, choose_core};
use ordain::random::Random;
use std::collections::BTreeMap;

/// One greedy step on 100,000 items, 1000 labels, about 12 labels each, at 1, 16 and 128 cells. Seven labels decide
/// which of the others come, so that the core is these seven, and all of its cells are filled.
#[test]
#[ignore = "measures time, run by ./check --speed"]
fn core_choice_speed() {
    let (items, labels) = (100_000u32, 1000u32);
    let mut random = Random::new(1);
    let lists: Vec<Vec<u32>> = (0..items)
        .map(|_| {
            let mut list: Vec<u32> = (0..7).filter(|_| random.uniform() < 0.35).collect();
            let marks = list.clone();
            // few frequent labels, many rare ones, as tags are
            let rate = |i: u32| 0.85 / (4.0 + 0.12 * f64::from(i)) * if marks.contains(&(i % 7)) { 1.0 } else { 0.1 };
            list.extend((7..labels).filter(|&i| random.uniform() < rate(i)));
            list
        })
        .collect();
    let mean = lists.iter().map(Vec::len).sum::<usize>() as f64 / f64::from(items);
    let set = tags(labels as usize, lists);
    let core = choose_core(&set, &set.all(), 7);
    let cells = |size: usize| {
        let mut counts = BTreeMap::<Vec<bool>, usize>::new();
        for i in 0..set.len() {
            *counts.entry(core[..size].iter().map(|label| set.yes(i).contains(label)).collect()).or_default() += 1;
        }
        counts.values().filter(|&&count| count >= FEWEST).count()
    };
    alone(|| {
        let mut before = 0.0;
        for size in 1..=8 {
            let seconds = fastest(3, || assert_eq!(choose_core(&set, &set.all(), size).len(), size));
            println!("{mean:.1} labels per item, {} cells: {:.3} s", cells(size - 1), seconds - before);
            before = seconds;
        }
    });
}
