//! Two made-up registers as files of candidate edges, with the partners of some left records known.
//!
//! `cargo run --release -p ordain --example registers -- DIR [--records 5000] [--labels 100] [--seed 1]` writes two tables
//! of the same edges: `known.csv` says which are matched of that many left records, drawn at random, and `rest.csv` of
//! all others. `scripts/bench_linkage.py` measures on them.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::data::synthetic::Registers;
use ordain::data::{MatchSet, Truth, write_matches};
use ordain::random::Random;
use std::path::Path;

/// The same problem with the truth of some edges alone.
fn knowing(set: &MatchSet, known: impl Fn(usize) -> bool) -> ordain::Result<MatchSet> {
    let mut problem = set.problem(0).clone();
    for (truth, &(i, _)) in problem.truth.iter_mut().zip(&problem.edges) {
        *truth = if known(i as usize) { *truth } else { Truth::Unknown };
    }
    MatchSet::new(set.features.clone(), set.columns.clone(), vec![problem])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str, default: u64| -> Result<u64, std::num::ParseIntError> {
        let at = words.iter().position(|word| word == name);
        at.and_then(|at| words.get(at + 1)).map_or(Ok(default), |word| word.parse())
    };
    let folder = Path::new(words.first().filter(|word| !word.starts_with("--")).ok_or("a folder to write to")?);
    let (records, seed) = (option("--records", 5000)? as usize, option("--seed", 1)?);
    let set = Registers { records, page: None, seed }.make();
    let mut order: Vec<usize> = (0..records).collect();
    Random::new(seed ^ 0x1abe1).shuffle(&mut order);
    let mut labelled = vec![false; records];
    order.iter().take(option("--labels", 100)? as usize).for_each(|&i| labelled[i] = true);
    std::fs::create_dir_all(folder)?;
    write_matches(&knowing(&set, |i| labelled[i])?, &folder.join("known.csv"))?;
    write_matches(&knowing(&set, |i| !labelled[i])?, &folder.join("rest.csv"))?;
    println!("{records} records on either side, {} edges, {} matches", set.edges(), set.problem(0).matched().count());
    Ok(())
}
