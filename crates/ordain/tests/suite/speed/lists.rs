//! Speed gates of whole lists: the cost of a transition as places are added, and a fit beside one of RankSVM. On one
//! thread, so that time is CPU time.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{alone, at_most, fastest, folder};
use ordain::data::synthetic::Synthetic;
use ordain::data::{self, Missing, RankSet};
use ordain::method::RankMethod;
use ordain::solver::run::Watch;
use ordain::structure::matching::places::{Work, log_sum};
use ordain::task::{Method, Training};

fn fits(name: &str, set: &RankSet, units: &[u32]) {
    let one = |text: &str| {
        let method: RankMethod = text.parse().unwrap();
        fastest(7, || {
            method.fit(&Training::new(set, units), &Watch::NOBODY).unwrap();
        })
    };
    alone(|| {
        let svm = one("ranksvm[scale=query,lambda=1]");
        let list = one("rankmatch[scale=query,lambda=0.1,places=3]");
        println!("{name}: rankmatch k = 3 {:.1} ms, ranksvm {:.1} ms: {:.1} times", list * 1e3, svm * 1e3, list / svm);
        at_most(&format!("rankmatch beside ranksvm, {name}"), list / svm, 5.0);
    });
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn transitions_and_fits_made_up() {
    let s: Vec<f64> = (0..1000).map(|i| ((i * 7919) % 1009) as f64 / 500.0).collect();
    let transition = |k: usize| {
        let c: Vec<f64> = (1..=k).map(|j| 1.0 / ((1 + j) as f64).log2()).collect();
        let (mut work, mut marginals) = (Work::default(), vec![0.0; 1000 * k]);
        let seconds = fastest(15, || {
            log_sum(&s, &c, &mut work, &mut marginals).unwrap();
        });
        println!(
            "N = 1000, k = {k}: {:.3} ms, {:.3} ns per transition",
            seconds * 1e3,
            seconds * 1e9 / ((1000 * k) << k) as f64
        );
        seconds / ((1000 * k) << k) as f64
    };
    let (five, ten) = (transition(5), transition(10));
    at_most("a transition with ten places beside one with five", ten / five, 2.5);
    let set = Synthetic { queries: 63, documents: (100, 200), features: 25, grades: 3, ..Synthetic::default() }.make();
    fits("made up", &set, &set.all());
}

#[test]
#[ignore = "measures time on the data in ORDAIN_DATA, run by ./check --speed"]
fn fits_on_ohsumed_real() {
    let folder = folder();
    let files =
        [1, 2, 3].map(|i| folder.join(format!("ranking/ohsumed-letor2/S{i}.txt{}", if i == 1 { "" } else { ".zst" })));
    let (set, _) = data::read_parts(&[files.to_vec()], Missing::Error).unwrap();
    fits("ohsumed fold 1", &set, &set.all());
}
