//! Match two sets of points: learn what each part of a shape context is worth, then say which matches are doubtful.
//!
//! `cargo run --release --example matching -- points.csv` (without a file, a made-up silhouette is sheared)
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::data::{MatchReading, read_matches, split, synthetic::Silhouettes};
use ordain::method::MatchMethod;
use ordain::metric::{Convention, Metric};
use ordain::solver::run::Watch;
use ordain::structure::matching::Accuracy;
use ordain::task::{Method, Model, Training};

fn main() -> ordain::Result<()> {
    let set = match std::env::args_os().nth(1) {
        Some(path) => read_matches(&[vec![path.into()]], &MatchReading::default())?.0,
        None => Silhouettes { points: 12, pairs: [20, 0, 20], shear: 0.9, ..Silhouettes::default() }.make().0,
    };
    println!("{} problems, {} edges, {} features", set.len(), set.edges(), set.columns.names.len());

    let (train, test) = split::hold_out(&set.all());
    let method: MatchMethod = "matchmap[scale=global,lambda=0.03]".parse()?;
    let matcher = method.fit(&Training::new(&set, &train), &Watch::NOBODY)?.model;
    let ready = matcher.prepare(&set)?;
    let metrics: [Metric; 2] = ["hamming".parse()?, "nll".parse()?];
    let result = matcher.evaluate(&ready, &test, &metrics, &Convention::STANDARD)?;
    println!(
        "on {} problems held out: {:.3} of the items matched wrongly, {:.3} nats per problem",
        test.len(),
        result.mean(0),
        result.mean(1)
    );

    // the first problem held out: what a person should look at first
    let problem = set.problem(test[0] as usize);
    let said = matcher.predict(&ready, &test[..1])?.remove(0);
    if let Some(sum) = said.sum {
        let near = if sum.accuracy == Accuracy::Exact { "exact" } else { "not exact" };
        println!("problem {}: probabilities by {}, {near}", problem.name, sum.by.name());
    }
    let mut matches = said.matches;
    matches.sort_by_key(|m| m.check);
    for m in matches.iter().take(3) {
        let (left, right) = problem.edges[m.edge as usize];
        println!(
            "check {}: {} - {}, probability {:.3}; without it the best matching scores {:.2} less",
            m.check,
            problem.left[left as usize],
            problem.right[right as usize],
            m.probability.unwrap_or(f64::NAN),
            m.margin
        );
    }
    Ok(())
}
