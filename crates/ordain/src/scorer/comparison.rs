//! Networks that compare two rows: the score of a row is how it does against the others of its list.

use crate::kernel::expansion::GAUSS;
use crate::random::Random;

/// A symmetric network of two rows, Rigutini et al. 2011 (SortNet).
///
/// ```text
/// h_k(x, y) = σ(a_k·x + b_k·y + c_k)
/// out(x, y) = σ(Σ_k w_k h_k(x, y) + u_k h_k(y, x) + o)          "x before y"; "y before x" is out(y, x)
/// s(x)      = mean over the other rows y of its list of  out(x, y) − out(y, x)
/// ```
///
/// The two outputs share all numbers, so that the preference of x over y is minus that of y over x to the last bit. It need not be
/// transitive: a list is ordered by mean preferences, which always are an order.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Values of a row.
    pub columns: usize,
    /// Hidden units.
    pub hidden: usize,
    /// For each hidden unit a, b and c; then all w, all u, and o.
    pub numbers: Vec<f64>,
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The numbers of a comparison in their places.
#[derive(Clone, Copy)]
struct Parts<'a> {
    first: &'a [f64],
    w: &'a [f64],
    u: &'a [f64],
    o: f64,
    d: usize,
}

impl Parts<'_> {
    fn unit(&self, k: usize) -> (&[f64], &[f64], f64) {
        let own = &self.first[k * (2 * self.d + 1)..(k + 1) * (2 * self.d + 1)];
        (&own[..self.d], &own[self.d..2 * self.d], own[2 * self.d])
    }
}

/// What both outputs of one pair are made of.
#[derive(Clone, Default)]
pub struct Meeting {
    /// `h_k(x, y)` and `h_k(y, x)`.
    units: Vec<[f64; 2]>,
    /// `out(x, y)` and `out(y, x)`.
    pub out: [f64; 2],
}

impl Comparison {
    /// How many numbers it has.
    pub fn size(columns: usize, hidden: usize) -> usize {
        hidden * (2 * columns + 1) + 2 * hidden + 1
    }

    /// A network to start from: small numbers, so that no output is near 0 or 1.
    pub fn begin(columns: usize, hidden: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (first, last) = (1.0 / (columns.max(1) as f64).sqrt(), 1.0 / (hidden.max(1) as f64).sqrt());
        let head = hidden * (2 * columns + 1);
        let draw = |at: usize| if at < head { first } else { last } * random.normal();
        Self { columns, hidden, numbers: (0..Self::size(columns, hidden)).map(draw).collect() }
    }

    /// Whether it compares rows of so many columns, and every number is finite.
    pub fn fits(&self, columns: usize) -> bool {
        let size = columns.checked_mul(2).and_then(|d| d.checked_add(3)?.checked_mul(self.hidden)?.checked_add(1));
        let sized = self.hidden > 0 && self.columns == columns && Some(self.numbers.len()) == size;
        sized && self.numbers.iter().all(|x| x.is_finite())
    }

    fn parts(&self) -> Parts<'_> {
        let (first, rest) = self.numbers.split_at(self.hidden * (2 * self.columns + 1));
        let (w, rest) = rest.split_at(self.hidden);
        let (u, o) = rest.split_at(self.hidden);
        Parts { first, w, u, o: o[0], d: self.columns }
    }

    /// What each row gives to hidden units as the first and as the second of two: `a_k·x + c_k` and `b_k·x`. O(rows · columns · hidden units).
    pub fn project(&self, rows: &[f32]) -> Vec<[f64; 2]> {
        let parts = self.parts();
        let dot = |row: &[f32], w: &[f64]| row.iter().zip(w).map(|(&x, w)| f64::from(x) * w).sum::<f64>();
        let of = |row: &[f32]| -> Vec<[f64; 2]> {
            (0..self.hidden)
                .map(|k| {
                    let (a, b, c) = parts.unit(k);
                    [dot(row, a) + c, dot(row, b)]
                })
                .collect()
        };
        rows.chunks_exact(self.columns.max(1)).flat_map(of).collect()
    }

    /// Both outputs for two projected rows. O(hidden units).
    pub fn meet(&self, x: &[[f64; 2]], y: &[[f64; 2]], meeting: &mut Meeting) {
        let parts = self.parts();
        meeting.units.clear();
        meeting.units.extend(x.iter().zip(y).map(|(x, y)| [sigmoid(x[0] + y[1]), sigmoid(y[0] + x[1])]));
        let sum = |first: usize| {
            let of = |((h, w), u): ((&[f64; 2], &f64), &f64)| w * h[first] + u * h[1 - first];
            meeting.units.iter().zip(parts.w).zip(parts.u).map(of).sum::<f64>() + parts.o
        };
        meeting.out = [sigmoid(sum(0)), sigmoid(sum(1))];
    }

    /// `out(x, y) − out(y, x)` of two projected rows.
    pub fn preference(&self, x: &[[f64; 2]], y: &[[f64; 2]], meeting: &mut Meeting) -> f64 {
        self.meet(x, y, meeting);
        meeting.out[0] - meeting.out[1]
    }

    /// The scores of the rows of one list. O(rows · columns · hidden units + rows² · hidden units).
    pub fn scores(&self, rows: &[f32], s: &mut [f64]) {
        s.fill(0.0);
        let (all, h, n) = (self.project(rows), self.hidden, s.len());
        let mut meeting = Meeting::default();
        for i in 0..n {
            for j in i + 1..n {
                let by = self.preference(&all[i * h..(i + 1) * h], &all[j * h..(j + 1) * h], &mut meeting);
                s[i] += by;
                s[j] -= by;
            }
        }
        let others = n.saturating_sub(1).max(1) as f64;
        s.iter_mut().for_each(|s| *s /= others);
    }

    /// Threes of a list that the network prefers in a circle, and all threes. O(rows² · hidden units).
    ///
    /// Of a tournament without ties these are `n(n−1)(n−2)/6 − Σ w(w−1)/2` by the wins w of each row (Kendall and Babington Smith 1940); a row
    /// that is level with another wins against the earlier ones.
    pub fn circles(&self, rows: &[f32]) -> (f64, f64) {
        let (all, h) = (self.project(rows), self.hidden);
        let n = all.len() / h.max(1);
        let (mut wins, mut meeting) = (vec![0.0f64; n], Meeting::default());
        for i in 0..n {
            for j in i + 1..n {
                let by = self.preference(&all[i * h..(i + 1) * h], &all[j * h..(j + 1) * h], &mut meeting);
                wins[if by > 0.0 { i } else { j }] += 1.0;
            }
        }
        let n = n as f64;
        let threes = (n * (n - 1.0) * (n - 2.0) / 6.0).max(0.0);
        (threes - wins.iter().map(|w| w * (w - 1.0) / 2.0).sum::<f64>(), threes)
    }

    /// Adds the slopes by all numbers, where `by` are the slopes by both outputs of the last [`Self::meet`] of rows x and y. O(columns · hidden
    /// units).
    pub fn pull_back(&self, x: &[f32], y: &[f32], meeting: &Meeting, by: [f64; 2], grad: &mut [f64]) {
        let (parts, d, h) = (self.parts(), self.columns, self.hidden);
        let [p, q] = [0, 1].map(|n| by[n] * meeting.out[n] * (1.0 - meeting.out[n]));
        let (first, last) = grad.split_at_mut(h * (2 * d + 1));
        last[2 * h] += p + q;
        for (k, units) in meeting.units.iter().enumerate() {
            last[k] += p * units[0] + q * units[1];
            last[h + k] += p * units[1] + q * units[0];
            let [r, s] = [
                (p * parts.w[k] + q * parts.u[k]) * units[0] * (1.0 - units[0]),
                (p * parts.u[k] + q * parts.w[k]) * units[1] * (1.0 - units[1]),
            ];
            let own = &mut first[k * (2 * d + 1)..(k + 1) * (2 * d + 1)];
            own[2 * d] += r + s;
            let (a, b) = own.split_at_mut(d);
            for (((a, b), &x), &y) in a.iter_mut().zip(b).zip(x).zip(y) {
                let (x, y) = (f64::from(x), f64::from(y));
                *a += r * x + s * y;
                *b += r * y + s * x;
            }
        }
    }

    /// The slope of the score by the values of row `x` against the rows of its list.
    fn slope(&self, x: &[f32], all: &[[f64; 2]], weight: f64, slope: &mut [f64]) {
        let (parts, h, own) = (self.parts(), self.hidden, self.project(x));
        let mut meeting = Meeting::default();
        for other in all.chunks_exact(h.max(1)) {
            self.meet(&own, other, &mut meeting);
            let [p, q] = [0, 1].map(|n| meeting.out[n] * (1.0 - meeting.out[n]));
            for (k, units) in meeting.units.iter().enumerate() {
                let (a, b, _) = parts.unit(k);
                let r = (p * parts.w[k] - q * parts.u[k]) * units[0] * (1.0 - units[0]) * weight;
                let s = (p * parts.u[k] - q * parts.w[k]) * units[1] * (1.0 - units[1]) * weight;
                slope.iter_mut().zip(a).zip(b).for_each(|((slope, a), b)| *slope += r * a + s * b);
            }
        }
    }

    /// The mean slope of the score on the straight way from one row of a list to another, the list staying as it is: the product with
    /// the way is the difference of their scores, to the accuracy of Gauss's rule in 16 pieces.
    pub fn mean_slope(&self, rows: &[f32], from: &[f32], to: &[f32]) -> Vec<f64> {
        const PIECES: usize = 16;
        let all = self.project(rows);
        let others = (all.len() / self.hidden.max(1)).saturating_sub(1).max(1) as f64;
        let mut slope = vec![0.0; self.columns];
        for piece in 0..PIECES {
            for (at, weight) in GAUSS {
                let t = (piece as f64 + 0.5 + at) / PIECES as f64;
                let on = |(&a, &b): (&f32, &f32)| (f64::from(a) + t * (f64::from(b) - f64::from(a))) as f32;
                let here: Vec<f32> = from.iter().zip(to).map(on).collect();
                self.slope(&here, &all, weight / (others * PIECES as f64), &mut slope);
            }
        }
        slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n: usize, d: usize, seed: u64) -> Vec<f32> {
        let mut random = Random::new(seed);
        (0..n * d).map(|_| random.normal() as f32).collect()
    }

    #[test]
    fn it_is_symmetric_to_the_last_bit() {
        let (net, rows) = (Comparison::begin(4, 6, 3), rows(5, 4, 1));
        let all = net.project(&rows);
        for i in 0..5 {
            for j in 0..5 {
                let [mut there, mut back] = [Meeting::default(), Meeting::default()];
                net.meet(&all[i * 6..(i + 1) * 6], &all[j * 6..(j + 1) * 6], &mut there);
                net.meet(&all[j * 6..(j + 1) * 6], &all[i * 6..(i + 1) * 6], &mut back);
                assert_eq!(there.out.map(f64::to_bits), [back.out[1], back.out[0]].map(f64::to_bits));
            }
        }
    }

    /// `u = −w` and `b = −a` compare by `a·x − a·y` alone.
    #[test]
    fn a_linear_comparison_orders_as_its_weights_do() {
        let (d, rows) = (3, rows(9, 3, 2));
        let a = [0.5, -1.0, 0.25];
        let numbers = [&a[..], &a.map(|a| -a), &[0.0, 1.5, -1.5, 0.0]].concat();
        let net = Comparison { columns: d, hidden: 1, numbers };
        assert!(net.fits(3));
        let mut s = vec![0.0; 9];
        net.scores(&rows, &mut s);
        let linear: Vec<f64> = rows.chunks(3).map(|x| x.iter().zip(a).map(|(&x, a)| f64::from(x) * a).sum()).collect();
        for i in 0..9 {
            for j in 0..9 {
                assert_eq!(s[i] > s[j], linear[i] > linear[j]);
            }
        }
        assert_eq!(net.circles(&rows), (0.0, 84.0));
    }

    #[test]
    fn circles_are_those_of_all_threes() {
        for seed in 0..20 {
            let (n, d) = (7, 2);
            let mut net = Comparison::begin(d, 3, seed);
            net.numbers.iter_mut().for_each(|x| *x *= 4.0);
            let rows = rows(n, d, 100 + seed);
            let all = net.project(&rows);
            let wins = |i: usize, j: usize| {
                net.preference(&all[i * 3..(i + 1) * 3], &all[j * 3..(j + 1) * 3], &mut Meeting::default()) > 0.0
            };
            let (mut circles, mut threes) = (0.0, 0.0);
            for i in 0..n {
                for j in i + 1..n {
                    for k in j + 1..n {
                        threes += 1.0;
                        let round = wins(i, j) && wins(j, k) && wins(k, i) || wins(j, i) && wins(k, j) && wins(i, k);
                        circles += f64::from(u8::from(round));
                    }
                }
            }
            assert_eq!(net.circles(&rows), (circles, threes));
        }
    }

    #[test]
    fn slopes_are_those_of_differences() {
        let (d, h) = (3, 2);
        let (net, rows) = (Comparison::begin(d, h, 5), rows(4, d, 8));
        let loss = |net: &Comparison| {
            let all = net.project(&rows[..2 * d]);
            let mut meeting = Meeting::default();
            net.meet(&all[..h], &all[h..], &mut meeting);
            (1.0 - meeting.out[0]).powi(2) + meeting.out[1].powi(2)
        };
        let all = net.project(&rows[..2 * d]);
        let (mut meeting, mut grad) = (Meeting::default(), vec![0.0; net.numbers.len()]);
        net.meet(&all[..h], &all[h..], &mut meeting);
        let by = [-2.0 * (1.0 - meeting.out[0]), 2.0 * meeting.out[1]];
        net.pull_back(&rows[..d], &rows[d..2 * d], &meeting, by, &mut grad);
        #[allow(clippy::needless_range_loop)] // number i is moved
        for i in 0..grad.len() {
            let at = |step: f64| {
                let mut moved = net.clone();
                moved.numbers[i] += step;
                loss(&moved)
            };
            assert!(((at(1e-5) - at(-1e-5)) / 2e-5 - grad[i]).abs() < 1e-8, "{i}");
        }
        let mut s = vec![0.0; 4];
        net.scores(&rows, &mut s);
        let slope = net.mean_slope(&rows, &rows[d..2 * d], &rows[..d]);
        let way: f64 = (0..d).map(|j| slope[j] * f64::from(rows[j] - rows[d + j])).sum();
        assert!((way - (s[0] - s[1])).abs() < 1e-6, "{way} {}", s[0] - s[1]);
    }
}
