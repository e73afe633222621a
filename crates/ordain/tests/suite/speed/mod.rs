//! Speed: ratios of times in one run, and measurements that are only printed. `./check --speed` runs them in release mode, one after another.
//!
//! A gate says what it found beside its bound, and fails where it is missed. With `ORDAIN_REPORT` set it only says so.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and these print what they measured

mod ask;
mod ball;
mod best_matching;
mod boosters;
mod core_choice;
mod kernels;
mod lists;
mod matching_bounds;
mod matching_samplers;
mod newton;
mod partial_matchings;
mod permanents;
mod quadratic;
mod ranking;
mod rules;
mod scaling;
pub(crate) mod star;
mod star_training;
mod trees;

use std::path::PathBuf;
use std::time::Instant;

fn gate(what: &str, found: f64, word: &str, bound: f64, kept: bool) {
    println!("gate: {what}: {found:.2}, {word} {bound}{}", if kept { "" } else { ": MISSED" });
    assert!(kept || std::env::var_os("ORDAIN_REPORT").is_some(), "{what}: {found:.2}, {word} {bound}");
}

/// A gate: this is at most so much.
pub(crate) fn at_most(what: &str, found: f64, most: f64) {
    gate(what, found, "at most", most, found <= most);
}

/// A gate: this is at least so much.
pub(crate) fn at_least(what: &str, found: f64, least: f64) {
    gate(what, found, "at least", least, found >= least);
}

/// Seconds of some work.
pub(crate) fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// The least seconds of some tries.
pub(crate) fn fastest(tries: usize, mut work: impl FnMut()) -> f64 {
    (0..tries).map(|_| seconds(&mut work)).fold(f64::INFINITY, f64::min)
}

/// Work on one thread, so that time is CPU time.
pub(crate) fn alone(work: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(work);
}

/// The folder of real data.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("ORDAIN_DATA").expect("ORDAIN_DATA names the data folder"))
}
