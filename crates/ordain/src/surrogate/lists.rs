//! Losses of lists: minus the log-likelihood of right orders, and the margin to the worst wrong one.

use crate::data::resample::Lists;
use crate::error::{Error, Result};
use crate::structure::matching::{assignment, places};
use crate::traits::Surrogate;

/// What a place is worth, by the length of the list.
#[derive(Clone, Debug, PartialEq)]
pub enum PlaceValues {
    /// These, whatever the length; 0 below.
    Fixed(Vec<f64>),
    /// `m − j` at place j of m, \[EFM\] section 5.1; the last place is worth 0.
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
    /// The best of them at the present scores: the tightest margin, not convex. Of margins alone; right is what costs least.
    Best,
}

/// Lists with what is right of them.
pub struct ListCases {
    pub(crate) lists: Lists,
    pub(crate) values: PlaceValues,
    /// The value of its place that is right for each row of each list.
    pub(crate) right: Vec<f64>,
    /// Whether the best right order of each list counts, at whatever scores, instead.
    best: bool,
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
                        RightOrders::Average | RightOrders::Sum | RightOrders::Best => {
                            right.extend(run.iter().map(|_| mean))
                        }
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
        Self { lists, values, right, best: how == RightOrders::Best, runs, run_ends }
    }
}

/// Minus the log-likelihood of the right orders of lists.
///
/// ```text
/// L(s) = Σ_lists  log Z(s) − Σ_i s_i·(value of the right place of i)
/// ```
///
/// \[EFM\] Eq. (8) with x_ij = ψ_i c_j (16): in score space only `E[c_y(i)]` of each document is needed, never an edge feature. Right
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
        self.slopes(n, s, d, work, |_, _, _| ())
    }

    /// `h_i = E[c²] − E[c]²`, the variance of the value of the place of i, summed over lists; with [`RightOrders::Sum`] that of `log Z` alone.
    fn diagonal(&self, n: usize, s: &[f64], d: &mut [f64], h: &mut [f64], work: &mut Work) -> Result<Option<f64>> {
        h.fill(0.0);
        let variance = |row: usize, mean: f64, square: f64| h[row] += (square - mean * mean).max(0.0);
        self.slopes(n, s, d, work, variance).map(Some)
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

impl ListLikelihood {
    /// Value and slopes; `moments(row, E[c], E[c²])` is called for each document of each list.
    fn slopes(
        &self,
        n: usize,
        s: &[f64],
        d: &mut [f64],
        work: &mut Work,
        mut moments: impl FnMut(usize, f64, f64),
    ) -> Result<f64> {
        let cases = &self.0;
        d.fill(0.0);
        let mut total = 0.0;
        for l in cases.lists.of(n) {
            let span = cases.lists.span(l);
            let rows = &cases.lists.rows[span.clone()];
            cases.values.of(rows.len(), &mut work.c);
            total += work.expect(rows, s, 0..work.c.len(), 1.0, d, &mut moments)?;
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
                total -= work.expect(&rows[start..end], s, head, -1.0, d, |_, _, _| ())?;
                start = end;
            }
        }
        Ok(total)
    }
}

impl Work {
    /// `log Z` of some rows at some places; `d += sign · E[c]`, and `moments(row, E[c], E[c²])` is called for each row.
    fn expect(
        &mut self,
        rows: &[u32],
        s: &[f64],
        head: std::ops::Range<usize>,
        sign: f64,
        d: &mut [f64],
        mut moments: impl FnMut(usize, f64, f64),
    ) -> Result<f64> {
        let c = &self.c[head];
        self.s.clear();
        self.s.extend(rows.iter().map(|&row| s[row as usize]));
        let k = c.len().min(rows.len());
        self.marginals.resize(self.marginals.len().max(rows.len() * k), 0.0);
        let value = places::log_sum(&self.s, c, &mut self.places, &mut self.marginals[..rows.len() * k])?;
        if k > 0 {
            for (&row, p) in rows.iter().zip(self.marginals.chunks_exact(k)) {
                let mean = p.iter().zip(c).map(|(p, c)| p * c).sum::<f64>();
                d[row as usize] += sign * mean;
                moments(row as usize, mean, p.iter().zip(c).map(|(p, c)| p * c * c).sum());
            }
        }
        Ok(value)
    }
}

/// What a wrong order of a list costs; every one of them is 1 minus a sum of `worth_i · value_j` over documents i at places j.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListLoss {
    /// 1 − NDCG, gain 2^grade − 1, discount 1/log2(1 + j).
    Ndcg,
    /// 1 − the share of the first k places, as far as it can be, that is relevant (grade above 0).
    Precision(usize),
    /// 1 − 1/rank of the relevant document; linear only where there is one.
    Mrr,
    /// Whether the first document lacks the best grade (winner takes all).
    Wta,
}

impl std::fmt::Display for ListLoss {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Ndcg => f.write_str("ndcg"),
            Self::Precision(k) => write!(f, "p@{k}"),
            Self::Mrr => f.write_str("mrr"),
            Self::Wta => f.write_str("wta"),
        }
    }
}

/// The margin between right orders and the worst wrong one of each list.
///
/// ```text
/// L(s) = Σ_lists  max over y of [ loss(y) + Σ_i s_i c_y(i) ] − Σ_i s_i·(value of the right place of i)
/// ```
///
/// DORM (Le and Smola 2007) on the lists of \[EFM\] section 5.1. The maximum is a linear assignment, O(m³) for a list of m. Convex,
/// never negative, not smooth.
///
/// With [`RightOrders::Best`] it is the tightest of the bounds that right orders give, \[QAP\] Eq. (8), right being every order of
/// the least loss:
///
/// ```text
/// L'(s) = Σ_lists  max over y of [ loss(y) + Σ_i s_i c_y(i) ] − max over right y of Σ_i s_i c_y(i)
/// ```
///
/// The second maximum is a sort, O(m log m): documents that the loss counts alike stand by their scores. Documents of equal score and
/// worth share the mean of their places, so that no order of the input counts. With these right orders kept it is convex: [`FixedOrders`].
pub struct ListMargin {
    cases: ListCases,
    loss: ListLoss,
    /// What each row of each list is worth.
    worth: Vec<f64>,
}

impl ListMargin {
    /// The margin of lists; refuses grades that the loss has no meaning for.
    pub fn new<'a>(cases: ListCases, grades: impl IntoIterator<Item = &'a [f64]>, loss: ListLoss) -> Result<Self> {
        let mut worth = Vec::with_capacity(cases.lists.rows.len());
        for (n, grades) in grades.into_iter().enumerate() {
            for l in cases.lists.of(n) {
                let rows = cases.lists.rows[cases.lists.span(l)].iter();
                let own: Vec<f64> = rows.map(|&row| grades[row as usize]).collect();
                worth.extend(loss.worth(&own, own.len())?);
            }
        }
        Ok(Self { cases, loss, worth })
    }

    /// Number of lists.
    pub fn lists(&self) -> usize {
        self.cases.lists.len()
    }
}

impl ListLoss {
    /// What each document of a list is worth, by grades in descending order; places from `head` on (from 0) count nothing. Refuses grades that
    /// the loss has no meaning for.
    pub(crate) fn worth(self, grades: &[f64], head: usize) -> Result<Vec<f64>> {
        let refuse = |expected: &str, found: String| Err(Error::Data { expected: expected.into(), found });
        let relevant = grades.iter().filter(|&&g| g > 0.0).count();
        let each = |worth: &dyn Fn(f64) -> f64| Ok(grades.iter().map(|&g| worth(g)).collect());
        match self {
            Self::Ndcg => {
                if let Some(grade) = grades.iter().find(|&&g| !(0.0..=500.0).contains(&g)) {
                    return refuse("grades from 0 to 500 for loss=ndcg", format!("the grade {grade}"));
                }
                let gain = |g: f64| g.exp2() - 1.0;
                let ideal: f64 = grades.iter().take(head).enumerate().map(|(j, &g)| gain(g) * self.value(j)).sum();
                each(&|g| if ideal > 0.0 { gain(g) / ideal } else { 0.0 })
            }
            Self::Precision(k) => {
                let most = relevant.min(k).max(1) as f64;
                each(&|g| if g > 0.0 { 1.0 / most } else { 0.0 })
            }
            Self::Mrr if relevant > 1 => {
                let found = format!("{relevant} in one");
                refuse("at most one relevant document in each list for loss=mrr (try loss=ndcg)", found)
            }
            Self::Mrr => each(&|g| f64::from(u8::from(g > 0.0))),
            Self::Wta => each(&|g| f64::from(u8::from(g >= grades[0]))),
        }
    }

    /// What the loss counts at a place, from 0.
    pub(crate) fn value(self, place: usize) -> f64 {
        match self {
            Self::Ndcg => 1.0 / ((place + 2) as f64).log2(),
            Self::Precision(k) => f64::from(u8::from(place < k)),
            Self::Mrr => 1.0 / (place + 1) as f64,
            Self::Wta => f64::from(u8::from(place == 0)),
        }
    }
}

/// Scratch of [`ListMargin`].
#[derive(Default)]
pub struct MarginWork {
    assignment: assignment::Work,
    c: Vec<f64>,
    costs: Vec<f64>,
    /// Documents of a list, and the same by place.
    order: Vec<usize>,
    places: Vec<usize>,
    right: Vec<f64>,
}

impl ListMargin {
    /// Where the lists of query `n` stand in a table of right places.
    pub fn span(&self, n: usize) -> std::ops::Range<usize> {
        let lists = self.cases.lists.of(n);
        if lists.is_empty() {
            return 0..0;
        }
        self.cases.lists.span(lists.start).start..self.cases.lists.span(lists.end - 1).end
    }

    /// The part of query `n` in a table of right places: what the place of each document is worth in the best right order of each of its lists.
    pub fn best_right(&self, n: usize, s: &[f64], right: &mut [f64], work: &mut MarginWork) {
        let first = self.span(n).start;
        for l in self.cases.lists.of(n) {
            let span = self.cases.lists.span(l);
            self.best_of_list(l, s, &mut right[span.start - first..span.end - first], work);
        }
    }

    /// What lies in the direction of the right places of query `n`, less the mean of all places: `d += right − mean`.
    pub fn add_centred(&self, n: usize, right: &[f64], d: &mut [f64]) {
        let first = self.span(n).start;
        for l in self.cases.lists.of(n) {
            let span = self.cases.lists.span(l);
            let own = &right[span.start - first..span.end - first];
            let mean = own.iter().sum::<f64>() / own.len().max(1) as f64;
            for (&row, right) in self.cases.lists.rows[span].iter().zip(own) {
                d[row as usize] += right - mean;
            }
        }
    }

    /// The best right order of list `l`, as values of places; documents of equal score and worth share the mean of theirs.
    fn best_of_list(&self, l: usize, s: &[f64], right: &mut [f64], work: &mut MarginWork) {
        let span = self.cases.lists.span(l);
        let (rows, worth) = (&self.cases.lists.rows[span.clone()], &self.worth[span]);
        let m = rows.len();
        let MarginWork { c, order, places, .. } = work;
        self.cases.values.of(m, c);
        c.resize(m, 0.0);
        let score = |i: usize| s[rows[i] as usize] + 0.0; // no zero below zero
        let by = |a: usize, b: usize| worth[b].total_cmp(&worth[a]).then(score(b).total_cmp(&score(a)));
        order.clear();
        order.extend(0..m);
        order.sort_by(|&a, &b| by(a, b));
        places.clone_from(order);
        // of the head only its members count: those of the largest worth, and of these the best
        if let ListLoss::Precision(_) | ListLoss::Wta = self.loss {
            let k = if let ListLoss::Precision(k) = self.loss { k } else { 1 };
            let (head, tail) = places.split_at_mut(k.min(m));
            [head, tail].into_iter().for_each(|part| part.sort_by(|&a, &b| score(b).total_cmp(&score(a))));
        }
        places.iter().zip(c).for_each(|(&i, c)| right[i] = *c);
        for tied in order.chunk_by(|&a, &b| by(a, b).is_eq()) {
            let mean = tied.iter().map(|&i| right[i]).sum::<f64>() / tied.len() as f64;
            tied.iter().for_each(|&i| right[i] = mean);
        }
    }

    /// Adds the margin of list `l` over these right places to `total`, and its slope to `d`.
    fn margin(
        &self,
        l: usize,
        s: &[f64],
        right: &[f64],
        total: &mut f64,
        d: &mut [f64],
        work: &mut MarginWork,
    ) -> Result<()> {
        let span = self.cases.lists.span(l);
        let (rows, worth) = (&self.cases.lists.rows[span.clone()], &self.worth[span]);
        let m = rows.len();
        self.cases.values.of(m, &mut work.c);
        work.c.resize(m, 0.0);
        work.costs.clear();
        for (&row, worth) in rows.iter().zip(worth) {
            let score = s[row as usize];
            work.costs.extend(work.c.iter().enumerate().map(|(j, c)| worth * self.loss.value(j) - score * c));
        }
        let worst = assignment::solve(&work.costs, m, m, &mut work.assignment)?;
        *total += 1.0 - worst.cost;
        for ((&row, right), column) in rows.iter().zip(right).zip(worst.column_of) {
            let taken = column.map_or(0.0, |j| work.c[j as usize]);
            *total -= s[row as usize] * right;
            d[row as usize] += taken - right;
        }
        Ok(())
    }
}

/// [`ListMargin`] over right places that are given, in the order of its lists: convex.
pub struct FixedOrders<'a> {
    /// The margin.
    pub margin: &'a ListMargin,
    /// The value of the right place of each document of each list.
    pub right: &'a [f64],
}

impl Surrogate for FixedOrders<'_> {
    type Work = MarginWork;

    fn len(&self) -> usize {
        self.margin.len()
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut MarginWork) -> Result<f64> {
        d.fill(0.0);
        let cases = &self.margin.cases;
        let mut total = 0.0;
        for l in cases.lists.of(n) {
            self.margin.margin(l, s, &self.right[cases.lists.span(l)], &mut total, d, work)?;
        }
        Ok(total)
    }
}

impl Surrogate for ListMargin {
    type Work = MarginWork;

    fn len(&self) -> usize {
        self.cases.lists.of_query.len()
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut MarginWork) -> Result<f64> {
        let mut right = std::mem::take(&mut work.right);
        if self.cases.best {
            right.resize(self.cases.right.len(), 0.0);
            self.best_right(n, s, &mut right[self.span(n)], work);
        }
        let given = if self.cases.best { &right } else { &self.cases.right };
        let value = FixedOrders { margin: self, right: given }.value(n, s, d, work);
        work.right = right;
        value
    }
}
