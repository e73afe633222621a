//! Seconds against size for every claimed complexity: the last column should hardly change.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::metric::{Convention, Metric, Query};
use ordain::random::Random;
use ordain::structure::matching::places;
use ordain::surrogate::pair_hinge::PairHinge;
use ordain::traits::Surrogate;
use std::borrow::Cow;
use std::time::Instant;

/// Seconds of the fastest of some runs.
fn fastest(mut work: impl FnMut() -> ordain::Result<()>) -> ordain::Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

fn line(what: &str, size: &str, seconds: f64, terms: f64) {
    println!("{what:<42} {size:<18} {:>11.3} ms {:>9.3} ns", seconds * 1e3, seconds * 1e9 / terms);
}

fn main() -> ordain::Result<()> {
    println!("{:<42} {:<18} {:>14} {:>12}", "what", "size", "time", "per term");
    let mut random = Random::new(1);
    for levels in [2usize, 5, 1_000_000] {
        for n in [1_000usize, 10_000, 100_000, 1_000_000] {
            let grades: Vec<f64> = (0..n).map(|_| random.below(levels.min(n)) as f64).collect();
            let s: Vec<f64> = (0..n).map(|_| random.normal()).collect();
            let loss = PairHinge::new([&grades[..]], None);
            let (mut d, mut work) = (vec![0.0; n], Default::default());
            let seconds = fastest(|| loss.value(0, &s, &mut d, &mut work).map(drop))?;
            let what = format!("pair hinge, {} grades, n log2 n", levels.min(n));
            line(&what, &format!("n = {n}"), seconds, n as f64 * (n as f64).log2());
        }
    }
    let metrics: Vec<Metric> = ["ndcg@10".parse()?, "map".parse()?, "pairs".parse()?, "kendall".parse()?].to_vec();
    for n in [1_000usize, 10_000, 100_000, 1_000_000] {
        let grades: Vec<f64> = (0..n).map(|_| random.below(5) as f64).collect();
        let scores: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let query = Query { grades: &grades, scores: &scores, unretrieved: &[], id: &|_| Cow::Borrowed("") };
        let seconds = fastest(|| query.measure(&metrics, &Convention::STANDARD, 4.0).map(drop))?;
        line("four metrics of one query, n log2 n", &format!("n = {n}"), seconds, n as f64 * (n as f64).log2());
    }
    for (n, k) in [(100, 5), (1_000, 5), (10_000, 5), (100_000, 5), (1_000, 3), (1_000, 8), (1_000, 10), (1_000, 12)] {
        let s: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let c: Vec<f64> = (1..=k).map(|j| 1.0 / ((1 + j) as f64).log2()).collect();
        let (mut work, mut marginals) = (places::Work::default(), vec![0.0; n * k]);
        let seconds = fastest(|| places::log_sum(&s, &c, &mut work, &mut marginals).map(drop))?;
        line("head places of a list, n k 2^k", &format!("n = {n}, k = {k}"), seconds, ((n * k) << k) as f64);
    }
    Ok(())
}
