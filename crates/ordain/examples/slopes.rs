//! Seconds against size for every claimed complexity: the last column should hardly change.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::data::scale::Scale;
use ordain::data::synthetic::{Linkage, Synthetic};
use ordain::method::{Matcher, RankMethod};
use ordain::metric::{Convention, Metric, Query};
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::structure::matching::places;
use ordain::structure::star::sum::{StarSum, SumWork};
use ordain::structure::star::{MaxWork, Star, Subsets};
use ordain::surrogate::average_precision::ApMargin;
use ordain::surrogate::pair_hinge::PairHinge;
use ordain::task::{Method, Model, Training};
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
    println!("{what:<42} {size:<24} {:>11.3} ms {:>9.3} ns", seconds * 1e3, seconds * 1e9 / terms);
}

fn main() -> ordain::Result<()> {
    println!("{:<42} {:<24} {:>14} {:>12}", "what", "size", "time", "per term");
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
    for share in [0.01, 0.1, 0.5] {
        for n in [1_000usize, 10_000, 100_000, 1_000_000] {
            let relevant: Vec<bool> = (0..n).map(|i| i == 0 || random.uniform() < share).collect();
            let s: Vec<f64> = (0..n).map(|_| random.normal()).collect();
            let loss = ApMargin::new([relevant]);
            let (mut d, mut work) = (vec![0.0; n], Default::default());
            let seconds = fastest(|| loss.value(0, &s, &mut d, &mut work).map(drop))?;
            let what = format!("worst ordering, {}% relevant, n log2 n", 100.0 * share);
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
    stars(&mut random)?;
    rayon::ThreadPoolBuilder::new().num_threads(1).build().map_or(Ok(()), |pool| pool.install(units))
}

/// Probabilities of places and scores of edges where features are scaled within each query or problem: a term is one of these.
fn units() -> ordain::Result<()> {
    for n in [500usize, 1_000, 2_000, 4_000] {
        let set = Synthetic { queries: n, documents: (20, 20), features: 20, ..Synthetic::default() }.make();
        let few: Vec<u32> = (0..100).collect();
        let method: RankMethod = "rankmatch[scale=query,lambda=0.1]".parse()?;
        let ranker = method.fit(&Training::new(&set, &few), &Watch::NOBODY)?.model;
        let (size, all) = (format!("{n} queries"), set.all());
        let seconds = fastest(|| ranker.predict(&ranker.prepare(&set)?, &all, true).map(drop))?;
        line("places of all queries, scale=query", &size, seconds, n as f64);
        let by_query = || {
            let ready = ranker.prepare(&set)?;
            (0..n).try_for_each(|q| ranker.place_probabilities(&ready, q).map(drop))
        };
        let seconds = fastest(by_query)?;
        line("the same, query by query", &size, seconds, n as f64);
    }
    for n in [500usize, 1_000, 2_000, 4_000] {
        let set = Linkage { problems: n, records: 4, ..Linkage::default() }.make();
        let weights = vec![1.0; set.features.cols()];
        let mut matcher = Matcher::unlearned(&set, weights);
        matcher.inputs.scale = Scale::Query;
        let (size, all) = (format!("{n} problems"), set.all());
        let seconds = fastest(|| matcher.scores_of(&matcher.prepare(&set)?, &all).map(drop))?;
        line("scores of all problems, scale=query", &size, seconds, n as f64);
        let by_problem = || {
            let ready = matcher.prepare(&set)?;
            (0..n).try_for_each(|p| matcher.scores(&ready, p).map(drop))
        };
        let seconds = fastest(by_problem)?;
        line("the same, problem by problem", &size, seconds, n as f64);
    }
    Ok(())
}

/// Sets of 12 labels with links of size 0.1 around a core of `c`.
fn stars(random: &mut Random) -> ordain::Result<()> {
    let over = Subsets { k: 12, clamp: &[] };
    let (mut work, mut set) = (MaxWork::default(), vec![]);
    for (n, c) in [(100, 5), (1_000, 5), (10_000, 5), (100_000, 5), (1_000, 0), (1_000, 10), (1_000, 15)] {
        let s: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let links: Vec<f64> = (0..n * c).map(|_| 0.1 * random.normal()).collect();
        let star = Star::new(n, &(0..c as u32).collect::<Vec<u32>>(), &links)?;
        let size = format!("n = {n}, C = {c}");
        let seconds = fastest(|| star.max(&s, &over, &mut work, &mut set).map(drop))?;
        line("best set of a star, n (falling, C apart)", &size, seconds, n as f64);
        if c <= 10 {
            let seconds = fastest(|| star.forced(&s, &over, &mut work).map(drop))?;
            line("all forced values, n 2^C", &size, seconds, (n << c) as f64);
        }
    }
    for (n, c, k) in
        [(100, 5, 12), (1_000, 5, 12), (10_000, 5, 12), (1_000, 3, 12), (1_000, 10, 12), (1_000, 5, 3), (1_000, 5, 48)]
    {
        let s: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let links: Vec<f64> = (0..n * c).map(|_| 0.1 * random.normal()).collect();
        let star = Star::new(n, &(0..c as u32).collect::<Vec<u32>>(), &links)?;
        let (sum, mut work, mut p) = (StarSum::new(&star)?, SumWork::default(), vec![0.0; n]);
        let over = Subsets { k, clamp: &[] };
        let seconds = fastest(|| sum.log_sum(&s, &over, &mut work, &mut p, None).map(drop))?;
        line("sum over sets of a star, n k 2^C", &format!("n = {n}, C = {c}, k = {k}"), seconds, ((n * k) << c) as f64);
    }
    Ok(())
}
