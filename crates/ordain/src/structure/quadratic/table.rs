//! What every exchange of two items would change, kept up to date in O(1) each.

use super::Problem;
use super::bound::dot;
use crate::error::{Interrupt, Result};

/// Changes are computed anew after so many exchanges of numbers that are not whole, before rounding adds up.
const ANEW: usize = 4096;

/// An assignment, its value, and the change of the value by every exchange of two items.
///
/// With `M[i][j] = B[p(i)][p(j)]` and `G = A M' + A' M + C`, the columns of C in the order of p, exchanging r and s changes the value by
///
/// ```text
/// delta(r, s) = G_rs + G_sr − G_rr − G_ss + (A_rs + A_sr)(M_rs + M_sr)
/// ```
///
/// where the diagonals of A and M are 0. An exchange of u and v swaps columns u and v of G and adds x mx' + y my' to it, with M after the exchange and
///
/// ```text
/// x_i = A_iu − A_iv,   y_i = A_ui − A_vi,   mx_j = M_ju − M_jv,   my_j = M_uj − M_vj
/// delta(r, s) += (x_r − x_s)(mx_s − mx_r) + (y_r − y_s)(my_s − my_r)     for r, s other than u and v
/// ```
///
/// The last line is the update of Taillard (1991), who computes pairs that touch u or v anew, in O(n) each; G gives them in O(1).
#[derive(Clone)]
pub(super) struct Table<'a> {
    problem: &'a Problem,
    pub(super) places: Vec<u32>,
    pub(super) value: f64,
    m: Vec<f64>,
    g: Vec<f64>,
    /// delta(r, s) for r < s, in rows of n; the rest is not used.
    pub(super) delta: Vec<f64>,
    /// Exchanges since all was computed anew.
    age: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    mx: Vec<f64>,
    my: Vec<f64>,
}

impl<'a> Table<'a> {
    /// O(n³).
    pub(super) fn new(problem: &'a Problem, places: Vec<u32>, stop: &Interrupt) -> Result<Self> {
        let (n, square) = (problem.n, vec![0.0; problem.n * problem.n]);
        let mut table = Self {
            problem,
            places,
            value: 0.0,
            m: square.clone(),
            g: square.clone(),
            delta: square,
            age: 0,
            x: vec![0.0; n],
            y: vec![0.0; n],
            mx: vec![0.0; n],
            my: vec![0.0; n],
        };
        table.compute(stop)?;
        Ok(table)
    }

    /// Becomes another one, without allocating.
    pub(super) fn copy(&mut self, other: &Self) {
        self.places.copy_from_slice(&other.places);
        self.m.copy_from_slice(&other.m);
        self.g.copy_from_slice(&other.g);
        self.delta.copy_from_slice(&other.delta);
        (self.value, self.age) = (other.value, other.age);
    }

    /// Everything from the places alone.
    fn compute(&mut self, stop: &Interrupt) -> Result<()> {
        let (n, problem) = (self.problem.n, self.problem);
        self.age = 0;
        self.value = problem.value(&self.places);
        for (row, &p) in self.m.chunks_exact_mut(n).zip(&self.places) {
            let b = &problem.b[p as usize * n..][..n];
            row.iter_mut().zip(&self.places).for_each(|(to, &q)| *to = b[q as usize]);
        }
        for i in 0..n {
            stop.check()?;
            for (j, &place) in self.places.iter().enumerate() {
                let there = dot(&problem.a[i * n..][..n], &self.m[j * n..][..n]);
                let twice = if problem.symmetric { there } else { 0.0 };
                self.g[i * n + j] = problem.linear[i * n + place as usize] + there + twice;
            }
        }
        if !problem.symmetric {
            let (at, mt) = (transposed(&problem.a, n), transposed(&self.m, n));
            for i in 0..n {
                stop.check()?;
                for j in 0..n {
                    self.g[i * n + j] += dot(&at[i * n..][..n], &mt[j * n..][..n]);
                }
            }
        }
        for r in 0..n {
            (r + 1..n).for_each(|s| self.delta[r * n + s] = self.direct(r, s));
        }
        Ok(())
    }

    fn direct(&self, r: usize, s: usize) -> f64 {
        let (n, a, m, g) = (self.problem.n, &self.problem.a, &self.m, &self.g);
        let (rs, sr) = (r * n + s, s * n + r);
        g[rs] + g[sr] - g[r * n + r] - g[s * n + s] + (a[rs] + a[sr]) * (m[rs] + m[sr])
    }

    /// Exchanges the places of items u < v.
    pub(super) fn exchange(&mut self, u: usize, v: usize, stop: &Interrupt) -> Result<()> {
        let (n, a) = (self.problem.n, &self.problem.a);
        self.value += self.delta[u * n + v];
        self.places.swap(u, v);
        self.age += 1;
        if self.age == ANEW && self.problem.grid <= 0.0 {
            return self.compute(stop);
        }
        let (above, below) = self.m.split_at_mut(v * n);
        above[u * n..][..n].swap_with_slice(&mut below[..n]);
        self.m.chunks_exact_mut(n).for_each(|row| row.swap(u, v));
        let factor = if self.problem.symmetric { 2.0 } else { 1.0 };
        subtract(&a[u * n..][..n], &a[v * n..][..n], factor, &mut self.y);
        subtract(&self.m[u * n..][..n], &self.m[v * n..][..n], 1.0, &mut self.my);
        if self.problem.symmetric {
            for (i, row) in self.g.chunks_exact_mut(n).enumerate() {
                row.swap(u, v);
                let y = self.y[i];
                row.iter_mut().zip(&self.my).for_each(|(g, my)| *g += y * my);
            }
            for (r, row) in self.delta.chunks_exact_mut(n).enumerate() {
                let (y, my) = (self.y[r], self.my[r]);
                let others = self.y[r + 1..].iter().zip(&self.my[r + 1..]);
                row[r + 1..].iter_mut().zip(others).for_each(|(delta, (ys, mys))| *delta += (y - ys) * (mys - my));
            }
        } else {
            self.spread_both(u, v);
        }
        for t in [u, v] {
            (0..t).for_each(|s| self.delta[s * n + t] = self.direct(s, t));
            (t + 1..n).for_each(|s| self.delta[t * n + s] = self.direct(t, s));
        }
        Ok(())
    }

    /// The change of G and of the deltas where nothing is symmetric.
    fn spread_both(&mut self, u: usize, v: usize) {
        let (n, a) = (self.problem.n, &self.problem.a);
        for i in 0..n {
            self.x[i] = a[i * n + u] - a[i * n + v];
            self.mx[i] = self.m[i * n + u] - self.m[i * n + v];
        }
        for (i, row) in self.g.chunks_exact_mut(n).enumerate() {
            row.swap(u, v);
            let (x, y) = (self.x[i], self.y[i]);
            row.iter_mut().zip(self.mx.iter().zip(&self.my)).for_each(|(g, (mx, my))| *g += x * mx + y * my);
        }
        for (r, row) in self.delta.chunks_exact_mut(n).enumerate() {
            let (x, y, mx, my) = (self.x[r], self.y[r], self.mx[r], self.my[r]);
            let first = self.x[r + 1..].iter().zip(&self.mx[r + 1..]);
            let second = self.y[r + 1..].iter().zip(&self.my[r + 1..]);
            for (delta, ((xs, mxs), (ys, mys))) in row[r + 1..].iter_mut().zip(first.zip(second)) {
                *delta += (x - xs) * (mxs - mx) + (y - ys) * (mys - my);
            }
        }
    }
}

fn subtract(x: &[f64], y: &[f64], factor: f64, out: &mut [f64]) {
    out.iter_mut().zip(x.iter().zip(y)).for_each(|(out, (x, y))| *out = factor * (x - y));
}

fn transposed(matrix: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|at| matrix[at % n * n + at / n]).collect()
}

impl Table<'_> {
    /// The exchange that lowers the value most, the first of equal ones; none for fewer than two items.
    pub(super) fn best_exchange(&self) -> Option<(f64, usize, usize)> {
        let n = self.problem.n;
        let mut best = (f64::INFINITY, 0);
        for r in 0..n {
            let least = least(&self.delta[r * n + r + 1..(r + 1) * n]);
            if least < best.0 {
                best = (least, r);
            }
        }
        let (delta, r) = best;
        let s = self.delta[r * n + r + 1..(r + 1) * n].iter().position(|x| *x <= delta)?;
        Some((delta, r, r + 1 + s))
    }

    /// The best exchange of those that tabu search wants: they lead below `best`, or were not undone since `old`. Where it wants none, the best of
    /// those that are not forbidden `now`.
    pub(super) fn choose(&self, until: &[f64], now: f64, old: f64, best: f64) -> Option<(usize, usize)> {
        let n = self.problem.n;
        let lower = best - self.value;
        let wanted = |delta: f64, until: f64| until < old || delta < lower;
        let free = |_: f64, until: f64| until < now;
        let (mut most, mut next) = ((f64::INFINITY, 0), (f64::INFINITY, 0));
        for r in 0..n {
            let (delta, until) = (&self.delta[r * n + r + 1..(r + 1) * n], &until[r * n + r + 1..(r + 1) * n]);
            let [first, second] = least_two(delta, until, wanted, free);
            most = if first < most.0 { (first, r) } else { most };
            next = if second < next.0 { (second, r) } else { next };
        }
        let any = most.0 < f64::INFINITY;
        let (least, r) = if any { most } else { next };
        let row = self.delta[r * n..][..n].iter().zip(&until[r * n..][..n]).enumerate().skip(r + 1);
        let meant = |delta: f64, until: f64| if any { wanted(delta, until) } else { free(delta, until) };
        row.into_iter().find(|(_, (delta, until))| **delta <= least && meant(**delta, **until)).map(|(s, _)| (r, s))
    }
}

fn lesser(x: f64, y: f64) -> f64 {
    if x < y { x } else { y }
}

/// The least delta of those that pass the first test, and of those that pass the second, four at a time.
fn least_two(
    delta: &[f64],
    until: &[f64],
    first: impl Fn(f64, f64) -> bool,
    second: impl Fn(f64, f64) -> bool,
) -> [f64; 2] {
    let pass = |pass: bool, delta: f64| if pass { delta } else { f64::INFINITY };
    let ((blocks, rest), (waits, rest_waits)) = (delta.as_chunks::<4>(), until.as_chunks::<4>());
    let mut lanes = [[f64::INFINITY; 4]; 2];
    for (delta, until) in blocks.iter().zip(waits) {
        lanes = [
            std::array::from_fn(|l| lesser(pass(first(delta[l], until[l]), delta[l]), lanes[0][l])),
            std::array::from_fn(|l| lesser(pass(second(delta[l], until[l]), delta[l]), lanes[1][l])),
        ];
    }
    let mut least = lanes.map(|lanes| lanes.into_iter().fold(f64::INFINITY, lesser));
    for (delta, until) in rest.iter().zip(rest_waits) {
        least[0] = lesser(pass(first(*delta, *until), *delta), least[0]);
        least[1] = lesser(pass(second(*delta, *until), *delta), least[1]);
    }
    least
}

/// The least of some numbers, four at a time.
fn least(row: &[f64]) -> f64 {
    let (blocks, rest) = row.as_chunks::<4>();
    let mut lanes = [f64::INFINITY; 4];
    for block in blocks {
        lanes = std::array::from_fn(|l| lesser(block[l], lanes[l]));
    }
    rest.iter().chain(&lanes).fold(f64::INFINITY, |least, x| lesser(*x, least))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    /// A problem of whole or real numbers: nothing symmetric, one matrix, or both.
    fn problem(random: &mut Random, n: usize) -> Problem {
        let whole = random.below(2) == 0;
        let mut matrix = |mirror: bool| {
            let mut made: Vec<f64> =
                (0..n * n).map(|_| if whole { random.below(21) as f64 - 10.0 } else { random.normal() }).collect();
            for at in 0..if mirror { n * n } else { 0 } {
                made[at] = made[at % n * n + at / n];
            }
            made
        };
        let (a, b) = (matrix(n.is_multiple_of(2)), matrix(n.is_multiple_of(3)));
        Problem::new(n, &a, &b, Some(&matrix(false))).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::cases::cases(200)))]
        /// After any exchanges, the value and every change are those of the two values that they lie between.
        #[test]
        fn changes_equal_recomputation(seed: u64, n in 2..12usize, exchanges in 0..30usize) {
            let mut random = Random::new(seed);
            let problem = problem(&mut random, n);
            let mut places: Vec<u32> = (0..n as u32).collect();
            random.shuffle(&mut places);
            let stop = Interrupt::default();
            let mut table = Table::new(&problem, places, &stop).unwrap();
            let slack = 1e-12 * problem.size * f64::from(u8::from(problem.grid <= 0.0));
            for step in 0..=exchanges {
                let value = problem.value(&table.places);
                prop_assert!((table.value - value).abs() <= slack, "value {} is not {value}", table.value);
                for r in 0..n {
                    for s in r + 1..n {
                        let mut other = table.places.clone();
                        other.swap(r, s);
                        let (found, truth) = (table.delta[r * n + s], problem.value(&other) - value);
                        prop_assert!((found - truth).abs() <= slack, "step {step}, {r} and {s}: {found} is not {truth}");
                    }
                }
                let v = 1 + random.below(n - 1);
                table.exchange(random.below(v), v, &stop).unwrap();
            }
        }

        /// The scan by blocks chooses what a plain one does.
        #[test]
        fn choices_equal_a_plain_scan(seed: u64, n in 2..14usize) {
            let mut random = Random::new(seed);
            let problem = problem(&mut random, n);
            let mut table = Table::new(&problem, (0..n as u32).collect(), &Interrupt::default()).unwrap();
            table.delta.iter_mut().for_each(|delta| *delta = random.below(9) as f64 - 4.0);
            let until: Vec<f64> = (0..n * n).map(|_| random.below(30) as f64).collect();
            let (now, old, best) = (15.0, random.below(6) as f64 - 2.0, table.value - random.below(5) as f64);
            let pairs = || (0..n).flat_map(|r| (r + 1..n).map(move |s| (r, s)));
            let least = |pass: &dyn Fn(f64, f64) -> bool| {
                let mut least: Option<(usize, usize)> = None;
                for (r, s) in pairs().filter(|(r, s)| pass(table.delta[r * n + s], until[r * n + s])) {
                    if least.is_none_or(|(u, v)| table.delta[r * n + s] < table.delta[u * n + v]) {
                        least = Some((r, s));
                    }
                }
                least
            };
            let lower = best - table.value; // by the same subtraction, which may round
            let wanted = least(&|delta, until| until < old || delta < lower);
            prop_assert_eq!(table.choose(&until, now, old, best), wanted.or(least(&|_, until| until < now)));
            let (delta, u, v) = table.best_exchange().unwrap();
            prop_assert_eq!(Some((u, v)), least(&|_, _| true));
            prop_assert!((delta - table.delta[u * n + v]).abs() <= 0.0);
        }
    }

    /// Numbers that are not whole are computed anew before rounding adds up.
    #[test]
    fn long_walks_stay_exact() {
        let mut random = Random::new(4);
        let n = 9;
        let (a, b): (Vec<f64>, Vec<f64>) = (0..n * n).map(|_| (random.normal() * 1e3, random.normal())).unzip();
        let problem = Problem::new(n, &a, &b, None).unwrap();
        let stop = Interrupt::default();
        let mut table = Table::new(&problem, (0..n as u32).collect(), &stop).unwrap();
        for _ in 0..3 * ANEW {
            let v = 1 + random.below(n - 1);
            table.exchange(random.below(v), v, &stop).unwrap();
        }
        assert!((table.value - problem.value(&table.places)).abs() <= 1e-11 * problem.size);
    }
}
