//! How settings are best chosen on few queries: rules for the choice from cross-validated values, compared on queries that had no part in it.
//!
//! ```text
//! cargo run -p ordain --example choice_rules -- SET DRAWS [DATA [FIRST]]
//! ```
//!
//! SET is `shifted`, `tails`, `units` (made up: features with an offset of their own in each query, with heavy tails, in units of three decades), or `ohsumed`, `mq2008`, `mq2007`,
//! for which DATA is the data folder. Of public sets only the first three parts are read, the training part of fold 1. Each draw takes some of the queries
//! (42 of OHSUMED, 84 of others), fits every scaling, weight and λ on five parts of them, lets each rule choose, and judges the fit of what it took on all of
//! them by the queries that are left. FIRST is the number of the first draw, 0 by default. What `ranksvm` does is the last rule.
#![allow(clippy::print_stdout)] // it is what an example does

use ordain::Result;
use ordain::data::synthetic::Synthetic;
use ordain::data::{Missing, RankSet, read_parts};
use ordain::matrix::{Features, Matrix};
use ordain::method::{Rank, RankMethod};
use ordain::metric::Convention;
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Training};
use std::path::Path;

const PATH: [f64; 11] = [100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4];
const PARTS: usize = 5;

/// A point of the grid: its scaling and weight (odd ones are by pair), its place on the path of λ, its NDCG@10 and MAP on each query in turn, and both
/// on the queries that are left.
struct Candidate {
    space: usize,
    step: usize,
    values: Vec<f64>,
    maps: Vec<f64>,
    parts: Vec<usize>,
    judged: [f64; 2],
}

impl Candidate {
    /// The mean over the queries of the first parts.
    fn mean(&self, parts: usize) -> f64 {
        let some: Vec<f64> = self.values.iter().zip(&self.parts).filter(|x| *x.1 < parts).map(|x| *x.0).collect();
        mean(&some)
    }
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len().max(1) as f64
}

/// The standard error of a mean.
fn error(x: &[f64]) -> f64 {
    let (m, n) = (mean(x), x.len() as f64);
    (x.iter().map(|x| (x - m).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt()
}

fn evaluated(fitted: &Fitted<Rank>, set: &RankSet, units: &[u32]) -> Result<[Vec<Option<f64>>; 2]> {
    let ready = fitted.model.prepare(set)?;
    let found =
        fitted.model.evaluate(&ready, units, &["ndcg@10".parse()?, "map".parse()?], &Convention::STANDARD)?.values;
    Ok([found[0].clone(), found[1].clone()])
}

/// All points of the grid on the queries of a draw.
fn grid(set: &RankSet, own: &[u32], left: &[u32]) -> Result<Vec<Candidate>> {
    let mut all = vec![];
    let scales = ["query", "global", "minmax", "none"].into_iter();
    for (space, (scale, weight)) in scales.flat_map(|scale| [(scale, "query"), (scale, "pair")]).enumerate() {
        for (step, lambda) in PATH.into_iter().enumerate() {
            let method: RankMethod = format!("ranksvm[scale={scale},weight={weight},lambda={lambda}]").parse()?;
            let (mut values, mut maps, mut parts) = (vec![], vec![], vec![]);
            for part in 0..PARTS {
                let units = |held: bool| own.iter().enumerate().filter(move |x| (x.0 % PARTS == part) == held);
                let [train, held] = [false, true].map(|held| units(held).map(|x| *x.1).collect::<Vec<u32>>());
                let fitted = method.fit(&Training::new(set, &train), &Watch::NOBODY)?;
                let made = evaluated(&fitted, set, &held)?;
                values.extend(made[0].iter().flatten());
                maps.extend(made[1].iter().flatten());
                parts.resize(values.len(), part);
            }
            let fitted = method.fit(&Training::new(set, own), &Watch::NOBODY)?;
            let judged = evaluated(&fitted, set, left)?;
            let judged = judged.map(|values| mean(&values.into_iter().flatten().collect::<Vec<f64>>()));
            all.push(Candidate { space, step, values, maps, parts, judged });
        }
    }
    Ok(all)
}

/// The first of the best by a value.
fn best<'a>(some: &[&'a Candidate], value: impl Fn(&Candidate) -> f64) -> Option<&'a Candidate> {
    some.iter().copied().reduce(|best, next| if value(next) > value(best) { next } else { best })
}

/// The race: every third λ, half of which leaves after each part, and then the λ around the best.
fn raced<'a>(all: &[&'a Candidate]) -> Vec<&'a Candidate> {
    let mut alive: Vec<&Candidate> = all.iter().copied().filter(|c| c.step % 3 == 0).collect();
    for seen in 1..PARTS {
        alive.sort_by(|a, b| b.mean(seen).total_cmp(&a.mean(seen)));
        alive.truncate((alive.len() / 2).max(4));
    }
    let Some(top) = best(&alive, |c| c.mean(PARTS)) else { return alive };
    alive.extend(all.iter().copied().filter(|c| c.space == top.space && (1..3).contains(&c.step.abs_diff(top.step))));
    alive
}

/// The strongest ridge that is within so many paired standard errors of the best, of its scaling and weight.
fn regular<'a>(some: &[&'a Candidate], errors: f64) -> Option<&'a Candidate> {
    let top = best(some, |c| c.mean(PARTS))?;
    let level = |c: &Candidate| {
        let below: Vec<f64> = top.values.iter().zip(&c.values).map(|(a, b)| a - b).collect();
        c.space == top.space && mean(&below) <= errors * error(&below)
    };
    some.iter().copied().filter(|c| level(c)).min_by_key(|c| c.step)
}

/// The best mean with those of the λ on either side, its own counting twice.
fn with_neighbours<'a>(some: &[&'a Candidate]) -> Option<&'a Candidate> {
    best(some, |c| {
        let near = some.iter().filter(|o| o.space == c.space && o.step.abs_diff(c.step) < 2);
        let (sum, total) = near.fold((0.0, 0.0), |(sum, total), o| {
            let share = if o.step == c.step { 2.0 } else { 1.0 };
            (sum + share * o.mean(PARTS), total + share)
        });
        sum / total
    })
}

/// Those of one weight.
fn of_weight<'a>(some: &[&'a Candidate], pair: bool) -> Vec<&'a Candidate> {
    some.iter().copied().filter(|c| (c.space % 2 == 1) == pair).collect()
}

/// The best by query, or the best by pair where that is above it by more than a paired standard error.
fn pair_if_clear<'a>(some: &[&'a Candidate]) -> Option<&'a Candidate> {
    let [query, pair] = [false, true].map(|pair| regular(&of_weight(some, pair), 0.5));
    let (query, pair) = (query?, pair?);
    let above: Vec<f64> = pair.values.iter().zip(&query.values).map(|(a, b)| a - b).collect();
    Some(if mean(&above) > error(&above) { pair } else { query })
}

fn made_up(name: &str, seed: u64) -> RankSet {
    let noise = 1.0 + 0.7 * (seed % 3) as f64;
    let mut set =
        Synthetic { queries: 284, documents: (20, 60), features: 20, noise, grades: 3, seed: seed + 1 }.make();
    if name == "units" {
        return set;
    }
    let mut random = Random::new(seed + 1001);
    let weights: Vec<f64> = (0..20).map(|_| random.normal() * if random.uniform() < 0.5 { 0.2 } else { 1.0 }).collect();
    let size = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
    let mut values = vec![];
    for q in 0..set.len() {
        let offsets: Vec<f64> = (0..20).map(|_| 0.3 * random.normal()).collect();
        let hard = random.normal();
        for row in set.span(q) {
            let shared = random.normal();
            let z: Vec<f64> = (0..20).map(|_| 0.7 * random.normal() + 0.7 * shared).collect();
            let score = z.iter().zip(&weights).map(|(z, w)| z * w).sum::<f64>() / size + noise * random.normal();
            set.grades[row] = [1.0, 2.2].iter().filter(|cut| score > *cut + hard).count() as f64;
            let seen = z.iter().zip(&offsets).map(|(z, offset)| z + offset);
            values.extend(seen.map(|x| if name == "tails" { (1.5 * x).exp() as f32 } else { x as f32 }));
        }
    }
    set.features = Features::Dense(Matrix::new(values, 20));
    set
}

fn read(folder: &str, name: &str) -> Result<RankSet> {
    let folder = Path::new(folder).join("ranking").join(name);
    let file = |part: usize| {
        let plain = folder.join(format!("S{part}.txt"));
        if plain.exists() { plain } else { folder.join(format!("S{part}.txt.zst")) }
    };
    Ok(read_parts(&[(1..=3).map(file).collect()], Missing::Error)?.0)
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let name = words.first().map_or("shifted", String::as_str);
    let draws: u64 = words.get(1).and_then(|n| n.parse().ok()).unwrap_or(2);
    let data = words.get(2).map_or("", String::as_str);
    let first: u64 = words.get(3).and_then(|n| n.parse().ok()).unwrap_or(0);
    let folder = [("ohsumed", "ohsumed-letor2"), ("mq2008", "mq2008"), ("mq2007", "mq2007-subset")];
    let folder = folder.iter().find(|x| x.0 == name).map(|x| x.1);
    let rules = [
        "one part",
        "best",
        "half an error",
        "an error",
        "race, best",
        "race, half an error",
        "race, an error",
        "with neighbours",
        "best by MAP",
        "weight=query",
        "weight=pair",
        "pair if clear",
        "race, weight=pair",
    ];
    let mut found: Vec<[Vec<f64>; 2]> = rules.iter().map(|_| [vec![], vec![]]).collect();
    for draw in first..first + draws {
        let set = if let Some(folder) = folder { read(data, folder)? } else { made_up(name, draw) };
        let mut units = set.all();
        Random::new(draw + 77).shuffle(&mut units);
        let (own, left) = units.split_at(if name == "ohsumed" { 42 } else { 84 });
        let all = grid(&set, own, left)?;
        let every: Vec<&Candidate> = all.iter().collect();
        let (raced, by_pair) = (raced(&every), raced(&of_weight(&every, true)));
        let taken = [
            best(&every, |c| c.mean(1)),
            regular(&every, 0.0),
            regular(&every, 0.5),
            regular(&every, 1.0),
            regular(&raced, 0.0),
            regular(&raced, 0.5),
            regular(&raced, 1.0),
            with_neighbours(&every),
            best(&every, |c| mean(&c.maps)),
            regular(&of_weight(&every, false), 0.5),
            regular(&of_weight(&every, true), 0.5),
            pair_if_clear(&every),
            regular(&by_pair, 0.5),
        ];
        for (found, taken) in found.iter_mut().zip(taken.into_iter().flatten()) {
            (0..2).for_each(|m| found[m].push(taken.judged[m]));
        }
    }
    println!("{name}, {draws} draws: NDCG@10 and MAP of queries that are left, and what they have over the best mean");
    for (rule, own) in rules.iter().zip(&found) {
        let [ndcg, map] = [0, 1].map(|m| {
            let over: Vec<f64> = own[m].iter().zip(&found[1][m]).map(|(a, b)| a - b).collect();
            format!("{:.4} {:+.4} ± {:.4}", mean(&own[m]), mean(&over), error(&over))
        });
        println!("{rule:20} {ndcg}   {map}");
    }
    Ok(())
}
