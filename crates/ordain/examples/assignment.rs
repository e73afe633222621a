//! Time linear assignment on cost matrices from a file, for `scripts/bench_assignment.py`.
//!
//! `cargo run --release --example assignment -- costs.f64 1000 1000 9`: the file holds one or more matrices of that
//! many rows and columns as raw little-endian `f64`, row after row; all are solved 9 times. Prints one line of JSON: the
//! seconds per matrix (least and median), and the cost of each matrix.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::structure::matching::assignment::{Work, solve};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, rows, cols, repetitions] = &arguments[..] else {
        return Err("usage: assignment <file of raw f64> <rows> <columns> <repetitions>".into());
    };
    let (rows, cols, repetitions): (usize, usize, usize) = (rows.parse()?, cols.parse()?, repetitions.parse()?);
    let costs: Vec<f64> = std::fs::read(file)?.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
    let one = rows * cols;
    if one == 0 || repetitions == 0 || costs.is_empty() || !costs.len().is_multiple_of(one) {
        return Err(format!("{file}: {} numbers are no matrices of {rows} x {cols}", costs.len()).into());
    }

    let mut work = Work::default();
    let mut results = vec![];
    for matrix in costs.chunks_exact(one) {
        results.push(solve(matrix, rows, cols, &mut work)?.cost);
    }
    let mut seconds = vec![];
    for _ in 0..repetitions {
        let start = Instant::now();
        for matrix in costs.chunks_exact(one) {
            std::hint::black_box(solve(std::hint::black_box(matrix), rows, cols, &mut work)?.cost);
        }
        seconds.push(start.elapsed().as_secs_f64() / results.len() as f64);
    }
    seconds.sort_by(f64::total_cmp);
    let report = serde_json::json!({ "min": seconds[0], "median": seconds[seconds.len() / 2], "costs": results });
    println!("{report}");
    Ok(())
}
