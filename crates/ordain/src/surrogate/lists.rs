//! Losses of lists: minus the log-likelihood of right orders, and the margin to the worst wrong one.

use crate::data::resample::Lists;
use crate::error::Result;
use crate::structure::matching::places;
use crate::traits::Surrogate;

/// What a place is worth, by the length of the list.
#[derive(Clone, Debug, PartialEq)]
pub enum PlaceValues {
    /// These, whatever the length; 0 below.
    Fixed(Vec<f64>),
    /// `m − j` at place j of m, [EFM] section 5.1; the last place is worth 0.
    Linear,
}

impl PlaceValues {
    /// The values above 0 for a list of m documents.
    pub fn of(&self, m: usize, out: &mut Vec<f64>) {
        out.clear();
        match self {
            Self::Fixed(values) => out.extend(values.iter().take(m).take_while(|&&c| c > 0.0)),
            Self::Linear => out.extend((1..m).rev().map(|c| c as f64)),
        }
    }
}

/// What is right where several documents have the same grade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RightOrders {
    /// The mean of all right orders: convex.
    Average,
    /// The sum of their probabilities: smooth, not convex.
    Sum,
    /// One of them at random.
    Random,
}

/// Lists with what is right of them.
pub struct ListCases {
    pub(crate) lists: Lists,
    pub(crate) values: PlaceValues,
    /// The value of its place that is right for each row of each list.
    pub(crate) right: Vec<f64>,
    /// Where the runs of equal grades end, list after list, for [`RightOrders::Sum`].
    runs: Vec<u32>,
    run_ends: Vec<usize>,
}

impl ListCases {
    /// The lists of queries, given by the grades of their documents.
    pub fn new<'a>(
        lists: Lists,
        grades: impl IntoIterator<Item = &'a [f64]>,
        values: PlaceValues,
        how: RightOrders,
        seed: u64,
    ) -> Self {
        let (mut right, mut runs, mut run_ends, mut c) = (Vec::with_capacity(lists.rows.len()), vec![], vec![], vec![]);
        let mut random = crate::random::Random::new(seed);
        for (n, grades) in grades.into_iter().enumerate() {
            for l in lists.of(n) {
                let rows = &lists.rows[lists.span(l)];
                values.of(rows.len(), &mut c);
                c.resize(rows.len(), 0.0);
                let mut start = 0;
                for run in rows.chunk_by(|&a, &b| grades[a as usize] <= grades[b as usize]) {
                    let end = start + run.len();
                    let mean = c[start..end].iter().sum::<f64>() / run.len() as f64;
                    match how {
                        RightOrders::Average | RightOrders::Sum => right.extend(run.iter().map(|_| mean)),
                        RightOrders::Random => {
                            random.shuffle(&mut c[start..end]);
                            right.extend_from_slice(&c[start..end]);
                        }
                    }
                    runs.push(end as u32);
                    start = end;
                }
                run_ends.push(runs.len());
            }
        }
        if how != RightOrders::Sum {
            (runs, run_ends) = (vec![], vec![]);
        }
        Self { lists, values, right, runs, run_ends }
    }
}

/// Minus the log-likelihood of the right orders of lists.
///
/// ```text
/// L(s) = Σ_lists  log Z(s) − Σ_i s_i·(value of the right place of i)
/// ```
///
/// [EFM] Eq. (8) with x_ij = ψ_i c_j (16): in score space only `E[c_y(i)]` of each document is needed, never an edge feature. Right
/// places that are tied share their mean value, or (`Sum`) the probabilities of all right orders are added:
/// `log Z − Σ_runs log Z(run)`, for the runs of equal grades have their places to themselves. Cost O(n k 2^k) per list.
pub struct ListLikelihood(pub ListCases);

/// Scratch of the losses of lists.
#[derive(Default)]
pub struct Work {
    places: places::Work,
    c: Vec<f64>,
    s: Vec<f64>,
    marginals: Vec<f64>,
}

impl Surrogate for ListLikelihood {
    type Work = Work;

    fn len(&self) -> usize {
        self.0.lists.of_query.len()
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut Work) -> Result<f64> {
        let cases = &self.0;
        d.fill(0.0);
        let mut total = 0.0;
        for l in cases.lists.of(n) {
            let span = cases.lists.span(l);
            let rows = &cases.lists.rows[span.clone()];
            cases.values.of(rows.len(), &mut work.c);
            total += work.expect(rows, s, 0..work.c.len(), 1.0, d)?;
            if cases.run_ends.is_empty() {
                for (&row, right) in rows.iter().zip(&cases.right[span]) {
                    total -= s[row as usize] * right;
                    d[row as usize] -= right;
                }
                continue;
            }
            let mut start = 0;
            let runs = if l == 0 { 0 } else { cases.run_ends[l - 1] }..cases.run_ends[l];
            for &end in &cases.runs[runs] {
                let end = end as usize;
                let head = start.min(work.c.len())..end.min(work.c.len());
                total -= work.expect(&rows[start..end], s, head, -1.0, d)?;
                start = end;
            }
        }
        Ok(total)
    }

    /// The curvature at `s = 0`, where every order is as likely: `κ (v − mean v)` with `κ = Σ_j (c_j − c̄)² / (m − 1)` for a list
    /// of m. It stands in for the one at `s` as the first matrix of a quasi-Newton method.
    fn curvature(
        &self,
        n: usize,
        _: &[f64],
        v: &[f64],
        columns: usize,
        out: &mut [f64],
        work: &mut Work,
    ) -> Result<bool> {
        let cases = &self.0;
        out.fill(0.0);
        for l in cases.lists.of(n) {
            let rows = &cases.lists.rows[cases.lists.span(l)];
            let m = rows.len() as f64;
            cases.values.of(rows.len(), &mut work.c);
            let mean = work.c.iter().sum::<f64>() / m;
            let squares =
                work.c.iter().map(|c| (c - mean).powi(2)).sum::<f64>() + (m - work.c.len() as f64) * mean * mean;
            let curve = squares / (m - 1.0).max(1.0);
            let at = |row: u32| row as usize * columns..(row as usize + 1) * columns;
            work.s.clear();
            work.s.resize(columns, 0.0);
            for &row in rows {
                work.s.iter_mut().zip(&v[at(row)]).for_each(|(sum, v)| *sum += v / m);
            }
            for &row in rows {
                for ((out, v), mean) in out[at(row)].iter_mut().zip(&v[at(row)]).zip(&work.s) {
                    *out += curve * (v - mean);
                }
            }
        }
        Ok(true)
    }
}

impl Work {
    /// `log Z` of some rows at some places; `d += sign · E[c]`.
    fn expect(
        &mut self,
        rows: &[u32],
        s: &[f64],
        head: std::ops::Range<usize>,
        sign: f64,
        d: &mut [f64],
    ) -> Result<f64> {
        let c = &self.c[head];
        self.s.clear();
        self.s.extend(rows.iter().map(|&row| s[row as usize]));
        let k = c.len().min(rows.len());
        self.marginals.resize(self.marginals.len().max(rows.len() * k), 0.0);
        let value = places::log_sum(&self.s, c, &mut self.places, &mut self.marginals[..rows.len() * k])?;
        if k > 0 {
            for (&row, p) in rows.iter().zip(self.marginals.chunks_exact(k)) {
                d[row as usize] += sign * p.iter().zip(c).map(|(p, c)| p * c).sum::<f64>();
            }
        }
        Ok(value)
    }
}
