//! Rank a LETOR file: read it, hold out every fifth query, fit a RankSVM on the others, and measure it.
//!
//! `cargo run --release --example rank -- train.txt` (without a file, made-up data are used)
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::data::{self, split, synthetic::Synthetic};
use ordain::method::RankMethod;
use ordain::metric::{Convention, Metric, evaluate, stats};
use ordain::solver::run::Watch;
use ordain::task::{Method, Model, Training};

fn main() -> ordain::Result<()> {
    let set = match std::env::args_os().nth(1) {
        Some(path) => data::read(path)?,
        None => Synthetic::default().make(),
    };
    println!("{} documents of {} queries, {} features", set.rows(), set.len(), set.features.cols());

    let (train, test) = split::hold_out(&set.all());
    let method: RankMethod = "ranksvm[scale=query,lambda=1]".parse()?;
    let fitted = method.fit(&Training::new(&set, &train), &Watch::NOBODY)?;
    let report = fitted.facts.report;
    println!("{} steps, objective {:.4}, stopped by {}", report.iterations, report.objective, report.stop.name());

    let ranker = fitted.model;
    let ready = ranker.prepare(&set)?;
    let scores = ranker.scores(&ready)?;
    let metrics: [Metric; 2] = ["ndcg@10".parse()?, "map".parse()?];
    let result = evaluate(&set, &test, &scores, &metrics, &Convention::STANDARD)?;
    for (m, metric) in metrics.iter().enumerate() {
        let (low, high) = stats::interval(&result.counted(m), 1);
        println!("{metric} on {} held-out queries: {:.4} [{low:.4}, {high:.4}]", test.len(), result.mean(m));
    }

    let query = test[0] as usize;
    let mut order: Vec<usize> = set.span(query).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    if let [first, second, ..] = order[..] {
        println!("why {} stands above {} in query {}:", set.document(first), set.document(second), set.query(query));
        for c in ranker.explain(&ready, query, first, second)?.iter().take(3) {
            println!("  feature {}: {:+.3}", set.columns.names[c.column], c.contribution);
        }
    }
    Ok(())
}
