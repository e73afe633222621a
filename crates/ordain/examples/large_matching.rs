//! A matching of 2,000 by 2,000 items with 20 candidates each: how long max-margin takes, and how much memory.
//!
//! `cargo run --release -p ordain --example large_matching [-- ITEMS]`. Four noisy similarities per candidate; four of five left
//! items have a partner, which is among their candidates, and the others have none. Three such problems, to learn, to choose and to
//! measure. A dense table of scores would take 8·ITEMS² bytes: 32 MB.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::data::{Columns, MatchSet, Problem, Truth};
use ordain::matrix::{Features, Matrix};
use ordain::method::MatchMargin;
use ordain::metric::Convention;
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::task::{Method, Model, Training};
use std::time::Instant;

const CANDIDATES: usize = 20;
/// By how much each similarity of a right pair is above that of a wrong one, in deviations.
const WORTH: [f64; 4] = [2.0, 1.0, 0.5, 0.0];

/// One problem; its features are added to `values`.
fn problem(n: usize, name: &str, random: &mut Random, values: &mut Vec<f32>) -> Problem {
    let mut partner: Vec<usize> = (0..n).collect();
    random.shuffle(&mut partner);
    let (mut edges, mut truth) = (vec![], vec![]);
    for (i, &partner) in partner.iter().enumerate() {
        let matched = random.below(5) > 0;
        let mut others: Vec<usize> = if matched { vec![partner] } else { vec![] };
        while others.len() < CANDIDATES.min(n - 1) {
            let j = random.below(n);
            if j != partner && !others.contains(&j) {
                others.push(j);
            }
        }
        others.sort_unstable();
        for j in others {
            edges.push((i as u32, j as u32));
            truth.push(if j == partner { Truth::Yes } else { Truth::No });
            values.extend(WORTH.map(|worth| (random.normal() + if j == partner { worth } else { 0.0 }) as f32));
        }
    }
    let ids = |side: &str| (0..n).map(|k| format!("{side}{k}")).collect();
    Problem { name: name.into(), left: ids("a"), right: ids("b"), edges, truth, places: None }
}

/// The largest memory that this process has held, in MB, where the system tells.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("");
    line.trim().trim_end_matches("kB").trim().parse::<f64>().map_or(f64::NAN, |kb| kb * 1024.0 / 1e6)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n: usize = std::env::args().nth(1).map_or(Ok(2000), |word| word.parse())?;
    let (mut random, mut values) = (Random::new(1), vec![]);
    let problems = ["learn", "choose", "measure"].map(|name| problem(n, name, &mut random, &mut values));
    let names = (1..=WORTH.len()).map(|k| format!("likeness{k}")).collect();
    let matrix = Features::Dense(Matrix::new(values, WORTH.len()));
    let set = MatchSet::new(matrix, Columns::named(names), problems.to_vec())?;
    println!("3 problems of {n} x {n} with {} edges in all: peak {:.1} MB", set.edges(), peak());
    let training = Training { valid: Some(&[1]), refit: false, ..Training::new(&set, &[0]) };
    for calibrate in [false, true] {
        let start = Instant::now();
        let fitted = MatchMargin { null: true, calibrate, ..MatchMargin::default() }.fit(&training, &Watch::NOBODY)?;
        let tried = fitted.facts.chosen.as_ref().map_or(1, |chosen| chosen.candidates.len());
        println!(
            "matchmargin[null=true,calibrate={calibrate}]: {:.2} s for {tried} fits and the choice, peak {:.1} MB",
            start.elapsed().as_secs_f64(),
            peak()
        );
        for margins in [false, true] {
            let start = Instant::now();
            let said = fitted.model.answer(&fitted.model.prepare(&set)?, &[2], margins)?;
            let by = said[0].sum.map_or("none", |sum| sum.by.name());
            println!(
                "  predicts {} matches in {:.2} s ({} margins, probabilities by {by}), peak {:.1} MB",
                said[0].matches.len(),
                start.elapsed().as_secs_f64(),
                if margins { "with" } else { "without" },
                peak()
            );
        }
        let (ready, metrics) = (fitted.model.prepare(&set)?, ["f1".parse()?, "hamming".parse()?]);
        let result = fitted.model.evaluate(&ready, &[2], &metrics, &Convention::STANDARD)?;
        println!(
            "  f1 {:.4}, hamming {:.4}; weights {:?}",
            result.mean(0),
            result.mean(1),
            fitted.model.score.weights()
        );
    }
    Ok(())
}
