//! Exact sums in lanes beside sums one by one.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{at_least, seconds as once};
use crate::permanents::gaussian;
use ordain::structure::matching::subsets::{Layout, Work, log_sum_by};

/// Least seconds of both layouts, by turns.
fn seconds(m: usize, rounds: usize) -> [f64; 2] {
    let (w, mut p, mut work) = (gaussian(m, 1.0, 1), vec![0.0; m * m], Work::default());
    let mut least = [f64::INFINITY; 2];
    for _ in 0..rounds {
        for (layout, least) in [Layout::Scalar, Layout::Lanes].into_iter().zip(&mut least) {
            *least = least.min(once(|| _ = log_sum_by(layout, &w, m, &mut work, &mut p).unwrap()));
        }
    }
    least
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn lanes_are_faster_than_scalars() {
    for (m, rounds) in [(16, 200), (20, 25)] {
        let [scalar, lanes] = seconds(m, rounds);
        let ratio = scalar / lanes;
        println!("{m} rows: scalar {:.2} ms, lanes {:.2} ms, ratio {ratio:.2}", scalar * 1e3, lanes * 1e3);
        at_least(&format!("one by one beside lanes, {m} rows"), ratio, 1.7);
    }
}
