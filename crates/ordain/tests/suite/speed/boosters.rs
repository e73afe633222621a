//! Rankers that go round by round beside plain loops over pairs, on one thread.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{alone, at_least, fastest, folder, seconds};
use crate::boosters::{Pairs, fit, minmax, plain_adarank};
use ordain::data::synthetic::Synthetic;
use ordain::data::{self, Missing, RankSet};
use std::hint::black_box;

/// Rounds of a plain loop, each with all rules on all pairs.
fn plain(set: &RankSet, frank: bool, thresholds: usize, rounds: usize) {
    let (pairs, mut s) = (Pairs::new(set, frank, thresholds), vec![0.0; set.rows()]);
    for _ in 0..rounds {
        let rule = if frank { pairs.frank(set, &s).0 } else { pairs.rankboost(set, &s).0 };
        rule.add(set, &mut s);
    }
    black_box(s);
}

fn beside(name: &str, set: &RankSet) {
    alone(|| {
        for (method, frank) in [("rankboost", false), ("frank", true)] {
            let text = format!("{method}[rounds=3,thresholds=20]");
            let fast = fastest(5, || drop(black_box(fit(&text, set))));
            let slow = seconds(|| plain(set, frank, 20, 3));
            println!("{method}, {name}, 3 rounds: {:.1} ms, plain {:.0} ms", fast * 1e3, slow * 1e3);
            at_least(&format!("{method} beside a loop over pairs, {name}"), slow / fast, 10.0);
        }
        let fast = fastest(5, || drop(black_box(fit("adarank[rounds=20,transform=none]", set))));
        let slow = seconds(|| drop(black_box(plain_adarank(set, &minmax(set), 20))));
        println!("adarank, {name}, 20 rounds: {:.1} ms, plain {:.0} ms", fast * 1e3, slow * 1e3);
        at_least(&format!("adarank beside a loop over pairs, {name}"), slow / fast, 10.0);
    });
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn rounds_beside_loops_over_pairs_made_up() {
    beside(
        "made up",
        &Synthetic { queries: 20, documents: (100, 200), features: 25, grades: 3, ..Synthetic::default() }.make(),
    );
}

#[test]
#[ignore = "measures time on the data in ORDAIN_DATA, run by ./check --speed"]
fn rounds_beside_loops_over_pairs_on_ohsumed_real() {
    let (set, _) = data::read_parts(&[vec![folder().join("ranking/ohsumed-letor2/S1.txt")]], Missing::Error).unwrap();
    beside("ohsumed S1", &set);
}
