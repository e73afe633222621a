//! Seconds per observation of a whole training on square problems of M documents and M places: exact likelihood by the
//! subset recursion, L-BFGS to a relative gradient of 1e-4. `--large` goes on to M = 26.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::data::scale::{Scale, Scaling};
use ordain::data::synthetic::Synthetic;
use ordain::risk::Empirical;
use ordain::scorer::rows::Rows;
use ordain::solver::lbfgs::Lbfgs;
use ordain::solver::run::{Watch, run};
use ordain::structure::matching::subsets::{Work, log_sum};
use ordain::traits::Surrogate;
use std::time::Instant;

/// Queries of m documents, the right order that of the grades; place j is worth m − j.
struct Square {
    queries: usize,
    m: usize,
    right: Vec<f64>,
}

/// Scratch of one thread, for sizes that have to be asked for.
struct Scratch(Work, Vec<f64>, Vec<f64>);

impl Default for Scratch {
    fn default() -> Self {
        Self(Work::up_to(26), vec![], vec![])
    }
}

impl Surrogate for Square {
    type Work = Scratch;
    fn len(&self) -> usize {
        self.queries
    }
    fn value(&self, n: usize, s: &[f64], d: &mut [f64], Scratch(work, w, p): &mut Scratch) -> ordain::Result<f64> {
        let worth = |j: usize| (self.m - 1 - j) as f64;
        w.clear();
        w.extend(s.iter().flat_map(|s| (0..self.m).map(move |j| s * worth(j))));
        p.resize(self.m * self.m, 0.0);
        let mut value = log_sum(w, self.m, work, p)?;
        for (i, d) in d.iter_mut().enumerate() {
            let right = self.right[n * self.m + i];
            *d = (0..self.m).map(|j| worth(j) * p[i * self.m + j]).sum::<f64>() - right;
            value -= s[i] * right;
        }
        Ok(value)
    }
}

fn main() -> ordain::Result<()> {
    println!("   M  observations  steps  s per observation");
    let large = std::env::args().any(|word| word == "--large");
    let sizes = [(3, 200), (4, 200), (5, 200), (8, 50), (12, 20), (16, 8), (20, 4), (22, 2), (24, 1), (26, 1)];
    for (m, queries) in sizes.into_iter().filter(|&(m, _)| large || m <= 20) {
        let set = Synthetic { queries, documents: (m, m), features: 10, grades: 1000, ..Synthetic::default() }.make();
        let mut right = vec![0.0; set.rows()];
        for q in 0..queries {
            // the grade puts them in order, ties by row
            let mut order: Vec<usize> = set.span(q).collect();
            order.sort_by(|&a, &b| set.grades[b].total_cmp(&set.grades[a]).then(a.cmp(&b)));
            order.iter().enumerate().for_each(|(j, &row)| right[row] = (m - 1 - j) as f64);
        }
        let units = set.all();
        let scaling = Scaling::learn(Scale::Query, &set, &units);
        let rows = Rows::new(&set, &units, &scaling);
        let loss = Square { queries, m, right };
        let mut risk = Empirical::new(&rows, &loss, vec![1.0 / queries as f64; queries]);
        let start = Instant::now();
        let mut solver = Lbfgs::new(&mut risk, 0.1, 1e-4, vec![0.0; 10])?;
        let report = run(&mut solver, 200, 0, &Watch::NOBODY)?;
        println!(
            "{m:4}  {queries:12}  {:5}  {:.2e}",
            report.iterations,
            start.elapsed().as_secs_f64() / queries as f64
        );
    }
    Ok(())
}
