//! Time trees on data from files, for `scripts/bench_trees.py`.
//!
//! `cargo run --release --example trees -- folder 59000 46 60 59000`: the folder holds `x.f32` (rows of 46 values) and `y.f64`, raw and
//! little-endian. 60 trees of 31 leaves are grown on the squared loss of the first 59,000 rows, on one thread, and all rows of the file are
//! scored. Prints one line of JSON: CPU seconds of the bins, of a round and of the scores, peak memory above the data, and the error.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::matrix::{Features, Matrix};
use ordain::random::Random;
use ordain::tree::{Cuts, Forest, Grower, Growth};
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufReader, Read};

/// Raw numbers of a file, without a second copy.
fn read<T, const N: usize>(path: &str, of: impl Fn([u8; N]) -> T) -> Result<Vec<T>, Box<dyn Error>> {
    let file = File::open(path)?;
    let count = file.metadata()?.len() as usize / N;
    let (mut file, mut numbers) = (BufReader::with_capacity(1 << 20, file), Vec::with_capacity(count));
    let mut bytes = [0; N];
    for _ in 0..count {
        file.read_exact(&mut bytes)?;
        numbers.push(of(bytes));
    }
    Ok(numbers)
}

/// CPU seconds of all threads so far.
fn seconds() -> Result<f64, Box<dyn Error>> {
    let mut sum = 0.0;
    for thread in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        sum += text.split_whitespace().next().unwrap_or("0").parse::<f64>()? / 1e9;
    }
    Ok(sum)
}

/// A figure of `/proc/self/status` in megabytes.
fn megabytes(name: &str) -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such figure")?;
    Ok(line.trim_matches([':', ' ', '\t', 'k', 'B']).parse::<f64>()? / 1024.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rows, cols, rounds, train] = &arguments[..] else {
        return Err("usage: trees <folder> <rows> <columns> <rounds> <rows to train on>".into());
    };
    let (rows, cols, rounds, train): (usize, usize, usize, usize) =
        (rows.parse()?, cols.parse()?, rounds.parse()?, train.parse()?);
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let x = Features::Dense(Matrix::new(read(&format!("{folder}/x.f32"), f32::from_le_bytes)?, cols));
    let y = read(&format!("{folder}/y.f64"), f64::from_le_bytes)?;
    if x.rows() != rows || y.len() != rows || train > rows || rounds == 0 {
        return Err(format!("{folder}: expected {rows} rows, found {} and {} answers", x.rows(), y.len()).into());
    }

    let before = megabytes("VmRSS")?;
    let all: Vec<u32> = (0..train as u32).collect();
    let (trained, start) = (if train == rows { None } else { Some(x.select_rows(&all)) }, seconds()?);
    let of = trained.as_ref().unwrap_or(&x);
    let cuts = Cuts::learn(of, &all, &vec![false; cols], 255)?;
    let bins = cuts.bin(of)?;
    let binning = seconds()? - start;

    let (mut grower, mut forest) = (Grower::new(&cuts, &bins), Forest::empty(cols));
    let (mut scores, mut d, h) = (vec![0.0; train], vec![0.0; train], vec![1.0; train]);
    let (how, mut random) = (Growth::default(), Random::new(1));
    let start = seconds()?;
    for _ in 0..rounds {
        d.iter_mut().zip(scores.iter().zip(&y)).for_each(|(d, (score, y))| *d = score - y);
        let tree = grower.grow(&d, &h, &all, &how, &mut random);
        grower.add_last(&tree, 0.1, &mut scores);
        forest.push(&tree, 0.1);
    }
    let round = (seconds()? - start) / rounds as f64;
    let peak = megabytes("VmHWM")? - before;

    let (mut out, start) = (vec![0.0; rows], seconds()?);
    forest.add_scores(&x, 0..rows, &mut out);
    let scoring = seconds()? - start;
    let error = (out.iter().zip(&y).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / rows as f64).sqrt();
    let report =
        serde_json::json!({ "binning": binning, "round": round, "scoring": scoring, "peak": peak, "error": error });
    println!("{report}");
    Ok(())
}
