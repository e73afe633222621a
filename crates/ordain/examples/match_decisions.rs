//! Two ways to decide who is matched with whom, of the same fit: the likeliest matching, and the one by the probabilities of edges.
//!
//! `cargo run --release -p ordain --example match_decisions -- [SEEDS] [POINTS PAIRS]…`; POINTS and PAIRS are files of points, and of
//! frames that belong together with their splits. On generated data, for each of some seeds, and on these files methods are fitted without any setting; the
//! error of `map`, of `marginals` and of what the fit took (`auto`) is measured on problems that had no part in it. Intervals are over all test
//! problems, of the difference of the same problems. Then, where items may stay unmatched, what a precision of validation comes to on the
//! test problems.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::data::synthetic::{Linkage, Registers, Silhouettes};
use ordain::data::{MatchReading, MatchSet, Missing, PointFeature, Truth, read_match_splits};
use ordain::method::{MatchDecide, MatchMethod, Matcher, Operating};
use ordain::metric::stats::{mean, paired_interval};
use ordain::metric::{Convention, Metric};
use ordain::solver::run::Watch;
use ordain::task::{Method, Model, Training};
use std::path::Path;

/// Problems, those to learn from, those to choose on if they are given, and those to measure on.
type Data = (MatchSet, Vec<u32>, Option<Vec<u32>>, Vec<u32>);

/// What is made, the setting that it needs, and how it is made from a seed.
type Generated = (&'static str, &'static str, fn(u64) -> Data);

/// Losses of test problems under both decisions and the one that was taken, and how many fits took `marginals`.
#[derive(Default)]
struct Losses {
    of: [Vec<f64>; 3],
    marginals: usize,
    fits: usize,
}

fn cut(set: MatchSet, train: usize) -> Data {
    let all = set.all();
    (set, all[..train].to_vec(), None, all[train..].to_vec())
}

fn fitted(line: &str, (set, train, valid): (&MatchSet, &[u32], &Option<Vec<u32>>)) -> ordain::Result<Matcher> {
    let mut full = set.clone();
    let filled = full.fill(Missing::Auto, train);
    let data = Training { valid: valid.as_deref(), filled, ..Training::new(&full, train) };
    Ok(line.parse::<MatchMethod>()?.fit(&data, &Watch::NOBODY)?.model)
}

fn measured(losses: &mut Losses, line: &str, (set, train, valid, test): &Data, by: Metric) -> ordain::Result<()> {
    let fitted = fitted(line, (set, train, valid))?;
    let ready = fitted.prepare(set)?;
    let loss = |decide: MatchDecide| -> ordain::Result<Vec<f64>> {
        let values = Matcher { decide, ..fitted.clone() }.evaluate(&ready, test, &[by], &Convention::STANDARD)?;
        Ok(values.counted(0).iter().map(|x| if by.is_loss() { *x } else { 1.0 - x }).collect())
    };
    let all = [loss(MatchDecide::Map)?, loss(MatchDecide::Marginals)?, loss(fitted.decide)?];
    losses.of.iter_mut().zip(all).for_each(|(sum, own)| sum.extend(own));
    losses.marginals += usize::from(fitted.decide == MatchDecide::Marginals);
    losses.fits += 1;
    Ok(())
}

/// At a precision of validation: the matches of test problems, those that are right, and how many there are; nothing if it was not reached.
fn at_precision(line: &str, (set, train, valid, test): &Data, asked: f64) -> ordain::Result<Option<[usize; 3]>> {
    let mut model = fitted(line, (set, train, valid))?;
    if model.operate(&Operating { precision: Some(asked), ..Operating::default() }).is_err() {
        return Ok(None);
    }
    let mut counts = [0; 3];
    for (&p, said) in test.iter().zip(model.answer(&model.prepare(set)?, test, false)?) {
        let truth = &set.problem(p as usize).truth;
        counts[0] += said.matches.len();
        counts[1] += said.matches.iter().filter(|m| truth[m.edge as usize] == Truth::Yes).count();
        counts[2] += set.problem(p as usize).matched().count();
    }
    Ok(Some(counts))
}

fn row(name: &str, line: &str, by: &Metric, losses: &Losses) {
    let [map, marginals, auto] = &losses.of;
    let (low, high) = paired_interval(marginals, map, 1);
    println!(
        "| {name} | `{line}` | {by} | {:.4} | {:.4} | {:+.4} [{low:+.4}, {high:+.4}] | {:.4} ({} of {}) |",
        mean(map),
        mean(marginals),
        mean(marginals) - mean(map),
        mean(auto),
        losses.marginals,
        losses.fits
    );
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1).peekable();
    let seeds: u64 = words.next_if(|word| word.parse::<u64>().is_ok()).map_or(Ok(5), |word| word.parse())?;
    println!("| set | method | error by | map | marginals | difference | auto (fits that took marginals) |");
    println!("|---|---|---|---|---|---|---|");
    let generated: [Generated; 3] = [
        ("pages of registers", ",null=true", |seed| cut(Registers { records: 800, page: Some(8), seed }.make(), 20)),
        ("pages of families", ",null=true", |seed| {
            cut(Linkage { problems: 200, records: 6, look_alikes: 0.6, seed, ..Linkage::default() }.make(), 40)
        }),
        ("silhouettes", "", |seed| {
            let (set, [train, valid, test]) =
                Silhouettes { points: 12, pairs: [20, 20, 60], seed, ..Silhouettes::default() }.make();
            let units = |range: std::ops::Range<usize>| range.map(|p| p as u32).collect::<Vec<u32>>();
            (set, units(train), Some(units(valid)), units(test))
        }),
    ];
    for (name, null, make) in generated.into_iter().filter(|_| seeds > 0) {
        for method in ["matchmap", "matchmargin"] {
            let line = format!("{method}[decide=auto{null}]");
            for by in if null.is_empty() { &["hamming"][..] } else { &["hamming", "f1"] } {
                let (by, mut losses) = (by.parse()?, Losses::default());
                for seed in 1..=seeds {
                    measured(&mut losses, &line, &make(seed), by)?;
                }
                row(name, &line, &by, &losses);
            }
        }
    }
    println!(
        "\n| set | method | precision asked | reached on test | of the right matches | refused |\n|---|---|---|---|---|---|"
    );
    for (name, null, make) in generated.into_iter().filter(|(_, null, _)| seeds > 0 && !null.is_empty()) {
        for method in ["matchmap", "matchmargin"] {
            for asked in [0.98, 0.99] {
                let (mut counts, mut refused) = ([0; 3], 0);
                for seed in 1..=seeds {
                    match at_precision(&format!("{method}[decide=auto{null}]"), &make(seed), asked)? {
                        Some(own) => counts.iter_mut().zip(own).for_each(|(sum, own)| *sum += own),
                        None => refused += 1,
                    }
                }
                let [matches, hits, all] = counts.map(|count| count as f64);
                let (precision, recall) = (hits / matches, hits / all);
                println!("| {name} | `{method}` | {asked} | {precision:.4} | {recall:.4} | {refused} of {seeds} |");
            }
        }
    }
    while let (Some(points), Some(pairs)) = (words.next(), words.next()) {
        let reading = MatchReading {
            pairs: Some(pairs.into()),
            features: vec![PointFeature::ShapeContext],
            ..MatchReading::default()
        };
        let (set, splits) = read_match_splits(&[Path::new(&points).to_owned()], &reading)?;
        let [train, valid, test] = splits.ok_or("pairs with a column split")?;
        let units = |range: std::ops::Range<usize>| range.map(|p| p as u32).collect::<Vec<u32>>();
        let data = (set, units(train), Some(units(valid)), units(test));
        for line in ["matchmap[decide=auto]", "matchmargin[decide=auto]"] {
            let (by, mut losses) = ("hamming".parse()?, Losses::default());
            measured(&mut losses, line, &data, by)?;
            row(&points, line, &by, &losses);
        }
    }
    Ok(())
}
