//! Unmatched items inside the solver, beside a threshold after a full assignment: landmarks of the CMU house that are partly hidden.
//!
//! `cargo run --release -p ordain --example house_nulls -- [DATA [SEEDS]]`; DATA, or `ORDAIN_DATA`, is the folder of data sets. Of each pair
//! of frames 10 landmarks are seen in both and 3 others in either alone, drawn by a seed (three of them without a number); shape contexts are those of the 13 points
//! that are seen. Methods are fitted with `null=true` on the training pairs, λ and scaling by F1 of the validation pairs. Then, with
//! the same weights: all 13 are matched, and edges below a threshold are taken out again, of the score or of the probability among
//! full assignments, the threshold by F1 of the validation pairs; and the worth of the null over again, by the same F1 at every score.
//! Fails where the null in the solver is worse than the threshold on the score by more than .01.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::data::{Columns, MatchSet, Problem, Truth, shape_contexts};
use ordain::matrix::{Features, Matrix};
use ordain::method::{Choice, MatchDecide, MatchMap, MatchMargin, MatchPrediction, Matched, Matcher};
use ordain::metric::{Convention, Metric, SaidMatches, evaluate_matches};
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::task::{Method, Model, Training};
use std::path::Path;

const COMMON: usize = 10;
const PRIVATE: usize = 3;

/// Problems, and those of each split.
type Read = Result<(MatchSet, [Vec<u32>; 3]), Box<dyn std::error::Error>>;

/// The problems of a baseline by their splits, with the numbers of those of each split.
fn house(folder: &Path, baseline: &str, seed: u64) -> Read {
    let (points, pairs) =
        (std::fs::read_to_string(folder.join("points.csv"))?, std::fs::read_to_string(folder.join("pairs.csv"))?);
    let mut frames: Vec<Vec<[f64; 2]>> = vec![];
    for line in points.lines().skip(1) {
        let numbers = line.split(',').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        frames.resize(frames.len().max(numbers[0] as usize + 1), vec![]);
        frames[numbers[0] as usize].push([numbers[2], numbers[3]]);
    }
    let (mut random, mut values, mut problems, mut splits) =
        (Random::new(seed), vec![], vec![], [vec![], vec![], vec![]]);
    for line in pairs.lines().skip(1) {
        let words: Vec<&str> = line.split(',').collect();
        if words[0] != baseline {
            continue;
        }
        let mut seen: Vec<usize> = (0..30).collect();
        random.shuffle(&mut seen);
        let left = seen[..COMMON + PRIVATE].to_vec();
        let mut right = [&seen[..COMMON], &seen[COMMON + PRIVATE..COMMON + 2 * PRIVATE]].concat();
        random.shuffle(&mut right);
        let contexts = |frame: &str, seen: &[usize]| -> Result<_, std::num::ParseIntError> {
            let frame = &frames[frame.parse::<usize>()?];
            Ok(shape_contexts(&seen.iter().map(|&k| frame[k]).collect::<Vec<_>>()))
        };
        let (a, b) = (contexts(words[2], &left)?, contexts(words[3], &right)?);
        let (mut edges, mut truth) = (vec![], vec![]);
        for (i, a) in a.iter().enumerate() {
            for (j, b) in b.iter().enumerate() {
                edges.push((i as u32, j as u32));
                truth.push(if left[i] == right[j] { Truth::Yes } else { Truth::No });
                values.extend(a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)));
            }
        }
        let split = ["train", "validate", "test"].iter().position(|name| *name == words[1]).ok_or("no split")?;
        splits[split].push(problems.len() as u32);
        let names = |seen: &[usize]| seen.iter().map(usize::to_string).collect();
        problems.push(Problem {
            name: line.into(),
            left: names(&left),
            right: names(&right),
            edges,
            truth,
            places: None,
        });
    }
    let names: Vec<String> = (0..60).map(|k| format!("context{k}")).collect();
    let matrix = Features::Dense(Matrix::new(values, names.len()));
    Ok((MatchSet::new(matrix, Columns::named(names), problems)?, splits))
}

/// F1 on test problems of a full assignment without the edges of which `sure` is below what is best on validation problems.
fn threshold(
    set: &MatchSet,
    [_, valid, test]: &[Vec<u32>; 3],
    full: &Matcher,
    by_probability: bool,
) -> ordain::Result<f64> {
    let by: Metric = "f1".parse()?;
    let ready = full.prepare(set)?;
    let full_of = |units: &[u32]| full.answer(&ready, units, false);
    let sure = |m: &Matched| if by_probability { m.probability.unwrap_or(0.0) } else { m.score };
    let f1 = |units: &[u32], said: &[MatchPrediction], least: f64| -> ordain::Result<f64> {
        let keep = |said: &MatchPrediction| SaidMatches {
            edges: said.matches.iter().filter(|m| sure(m) >= least).map(|m| m.edge).collect(),
            ..SaidMatches::default()
        };
        Ok(evaluate_matches(set, units, &said.iter().map(keep).collect::<Vec<_>>(), &[by])?.mean(0))
    };
    let said = full_of(valid)?;
    let mut best = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for least in said.iter().flat_map(|said| &said.matches).map(sure) {
        let value = f1(valid, &said, least)?;
        best = if value > best.0 { (value, least) } else { best };
    }
    f1(test, &full_of(test)?, best.1)
}

/// F1 on test problems of the null that is best on validation problems.
fn tuned(set: &MatchSet, [_, valid, test]: &[Vec<u32>; 3], fitted: &Matcher) -> ordain::Result<f64> {
    let ready = fitted.prepare(set)?;
    let f1 = |null: f64, units: &[u32]| -> ordain::Result<f64> {
        let model = Matcher { null: Some(null), temperature: None, ..fitted.clone() };
        Ok(model.evaluate(&ready, units, &["f1".parse()?], &Convention::STANDARD)?.mean(0))
    };
    let full = Matcher { null: None, temperature: None, ..fitted.clone() }.answer(&ready, valid, false)?;
    let mut best = (f64::NEG_INFINITY, 0.0);
    for null in full.iter().flat_map(|said| &said.matches).map(|m| 0.5 * m.score) {
        let value = f1(null, valid)?;
        best = if value > best.0 { (value, null) } else { best };
    }
    f1(best.1, test)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = std::env::args().nth(1).or(std::env::var("ORDAIN_DATA").ok()).ok_or("the folder of data sets")?;
    let seeds: u64 = std::env::args().nth(2).map_or(Ok(3), |seeds| seeds.parse())?;
    println!(
        "baseline  method       seed  null in the solver  null by validation  score threshold  probability threshold"
    );
    let mut failed = vec![];
    for baseline in ["30", "60"] {
        for method in ["matchmap", "matchmargin"] {
            let mut sums = [0.0; 4];
            for seed in 1..=seeds {
                let (set, splits) = house(&Path::new(&data).join("matching/cmu-house"), baseline, seed)?;
                let training = Training { valid: Some(&splits[1]), refit: false, ..Training::new(&set, &splits[0]) };
                // what is compared are nulls and thresholds, under the best sum of scores
                let decide = Choice::Set(MatchDecide::Map);
                let fitted = match method {
                    "matchmap" => {
                        MatchMap { null: true, decide, ..MatchMap::default() }.fit(&training, &Watch::NOBODY)?
                    }
                    _ => MatchMargin { null: true, decide, ..MatchMargin::default() }.fit(&training, &Watch::NOBODY)?,
                };
                let (matcher, by) = (fitted.model, "f1".parse()?);
                let full = Matcher { null: None, ..matcher.clone() };
                let ready = matcher.prepare(&set)?;
                let f1 = [
                    matcher.evaluate(&ready, &splits[2], &[by], &Convention::STANDARD)?.mean(0),
                    tuned(&set, &splits, &matcher)?,
                    threshold(&set, &splits, &full, false)?,
                    threshold(&set, &splits, &full, true)?,
                ];
                sums.iter_mut().zip(f1).for_each(|(sum, f1)| *sum += f1 / f64::from(seeds as u32));
                println!(
                    "{baseline:8}  {method:12} {seed:4}  {:18.4} {:19.4} {:16.4} {:22.4}",
                    f1[0], f1[1], f1[2], f1[3]
                );
            }
            println!(
                "{baseline:8}  {method:12} mean  {:18.4} {:19.4} {:16.4} {:22.4}",
                sums[0], sums[1], sums[2], sums[3]
            );
            if sums[0] < sums[2] - 0.01 {
                failed.push(format!("{method} at baseline {baseline}"));
            }
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("worse than a threshold on the score by more than .01: {}", failed.join(", ")).into()),
    }
}
