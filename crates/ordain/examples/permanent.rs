//! How long the exact law of matchings takes: log-partition function and all edge marginals, by number of rows.
//!
//! `cargo run --release --example permanent`; `-- --large` goes on to 26 rows and needs 0.6 GB
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::random::Random;
use ordain::structure::matching::subsets::{LARGEST, LARGEST_ON_REQUEST, Layout, Work, log_sum_by};
use std::time::Instant;

/// Least seconds of one evaluation for each layout, by turns, so that both meet the same noise.
fn seconds(layouts: &[Layout], m: usize) -> ordain::Result<Vec<f64>> {
    let mut random = Random::new(m as u64);
    let w: Vec<f64> = (0..m * m).map(|_| random.normal()).collect();
    let (mut marginals, mut work) = (vec![0.0; m * m], Work::up_to(LARGEST_ON_REQUEST));
    let calls = 1 + (20_000 >> m);
    let rounds = 3 + ((10 << 20) >> m).min(200);
    let mut least = vec![f64::INFINITY; layouts.len()];
    for _ in 0..rounds {
        for (&layout, least) in layouts.iter().zip(&mut least) {
            let start = Instant::now();
            for _ in 0..calls {
                log_sum_by(layout, &w, m, &mut work, &mut marginals)?;
            }
            *least = least.min(start.elapsed().as_secs_f64() / calls as f64);
        }
    }
    Ok(least)
}

/// The largest memory that this process has held, in MB, where the system tells.
fn peak() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0 / 1e6)
}

fn main() -> ordain::Result<()> {
    let mut sizes = vec![3, 4, 5, 8, 12, 14, 16, 18, 20, 22];
    if std::env::args().any(|word| word == "--large") {
        sizes.extend([24, 26]);
    }
    println!("rows  scalar, s   lanes, s  ratio  growth per row  peak, MB");
    let mut last = None;
    for m in sizes {
        let (scalar, lanes) = if m <= LARGEST {
            let both = seconds(&[Layout::Scalar, Layout::Lanes], m)?;
            (both[0], both[1])
        } else {
            // one after the other, so that only one table is held
            (seconds(&[Layout::Scalar], m)?[0], seconds(&[Layout::Lanes], m)?[0])
        };
        let growth = last.map_or(String::new(), |(before, time): (usize, f64)| {
            format!("{:.2}", (lanes / time).powf(1.0 / (m - before) as f64))
        });
        let peak = peak().map_or("?".to_owned(), |mb| format!("{mb:.0}"));
        println!("{m:>4} {scalar:>10.2e} {lanes:>10.2e} {:>6.2} {growth:>15} {peak:>9}", scalar / lanes);
        last = Some((m, lanes));
    }
    Ok(())
}
