//! Two-layer networks: a score of a row that is not linear in it.

use crate::random::Random;

/// `s(x) = Σ_k v_k tanh(a_k·x + c_k)` with one hidden layer.
///
/// ```
/// use ordain::scorer::network::Network;
/// let net = Network { columns: 1, hidden: 1, numbers: vec![2.0, 0.5, 3.0] }; // a, c, v
/// let mut s = [0.0];
/// net.scores(&[1.0], &mut s);
/// assert_eq!(s, [3.0 * 2.5f64.tanh()]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Values of a row.
    pub columns: usize,
    /// Units of the hidden layer.
    pub hidden: usize,
    /// For each hidden unit its weights and its offset, then the weights of the output.
    pub numbers: Vec<f64>,
}

impl Network {
    /// How many numbers a network has.
    pub fn size(columns: usize, hidden: usize) -> usize {
        hidden * (columns + 2)
    }

    /// Numbers to start from: drawn so that hidden units and the output vary by about 1 on scaled rows, without offsets.
    pub fn begin(columns: usize, hidden: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let (first, last) = (1.0 / (columns.max(1) as f64).sqrt(), 1.0 / (hidden.max(1) as f64).sqrt());
        let mut numbers = Vec::with_capacity(Self::size(columns, hidden));
        for _ in 0..hidden {
            numbers.extend((0..columns).map(|_| first * random.normal()));
            numbers.push(0.0);
        }
        numbers.extend((0..hidden).map(|_| last * random.normal()));
        numbers
    }

    /// Whether it scores rows of so many columns, and every number is finite.
    pub fn fits(&self, columns: usize) -> bool {
        let sized = self.hidden > 0 && self.columns == columns;
        let size = self.columns.checked_add(2).and_then(|d| d.checked_mul(self.hidden));
        sized && Some(self.numbers.len()) == size && self.numbers.iter().all(|x| x.is_finite())
    }

    /// What goes into hidden unit `k` for a row.
    fn enters(&self, k: usize, row: &[f32]) -> f64 {
        let own = &self.numbers[k * (self.columns + 1)..(k + 1) * (self.columns + 1)];
        own[self.columns] + row.iter().zip(own).map(|(&x, a)| f64::from(x) * a).sum::<f64>()
    }

    fn last(&self) -> &[f64] {
        &self.numbers[self.hidden * (self.columns + 1)..]
    }

    /// The scores of rows. O(rows · columns · hidden units).
    pub fn scores(&self, rows: &[f32], s: &mut [f64]) {
        for (row, s) in rows.chunks_exact(self.columns.max(1)).zip(s) {
            *s = self.last().iter().enumerate().map(|(k, v)| v * self.enters(k, row).tanh()).sum();
        }
    }

    /// The mean slope on the straight way from one row to another: `Σ_k v_k a_k Δtanh/Δ`, whose product with the way is
    /// the difference of scores.
    pub fn mean_slope(&self, from: &[f32], to: &[f32]) -> Vec<f64> {
        let mut slope = vec![0.0; self.columns];
        for (k, v) in self.last().iter().enumerate() {
            let (a, b) = (self.enters(k, from), self.enters(k, to));
            let rise = match (b - a).abs() < 1e-6 {
                true => 1.0 - (0.5 * (a + b)).tanh().powi(2),
                false => (b.tanh() - a.tanh()) / (b - a),
            };
            let own = &self.numbers[k * (self.columns + 1)..][..self.columns];
            slope.iter_mut().zip(own).for_each(|(slope, w)| *slope += v * rise * w);
        }
        slope
    }
}

/// Scores of a list by numbers of a network of so many hidden units, with what its hidden units say kept for the way back.
///
/// O(rows · columns · hidden units) there, and the same back.
#[derive(Default)]
pub struct Pass {
    said: Vec<f64>,
    behind: Vec<f64>,
}

impl Pass {
    /// The scores of rows of `d` values.
    pub fn scores(&mut self, numbers: &[f64], d: usize, rows: &[f32], s: &mut [f64]) {
        let hidden = numbers.len() / (d + 2);
        let last = &numbers[hidden * (d + 1)..];
        self.said.clear();
        for (row, s) in rows.chunks_exact(d.max(1)).zip(s) {
            *s = 0.0;
            for (own, v) in numbers.chunks_exact(d + 1).zip(last) {
                let said = (own[d] + row.iter().zip(own).map(|(&x, a)| f64::from(x) * a).sum::<f64>()).tanh();
                self.said.push(said);
                *s += v * said;
            }
        }
    }

    /// Adds to the gradient by all numbers what slopes by scores mean; after [`Self::scores`] of the same rows.
    pub fn pull_back(&mut self, numbers: &[f64], d: usize, rows: &[f32], slopes: &[f64], grad: &mut [f64]) {
        let hidden = numbers.len() / (d + 2);
        let last = &numbers[hidden * (d + 1)..];
        let (first, out) = grad.split_at_mut(hidden * (d + 1));
        for ((row, slope), said) in rows.chunks_exact(d.max(1)).zip(slopes).zip(self.said.chunks_exact(hidden.max(1))) {
            out.iter_mut().zip(said).for_each(|(out, said)| *out += slope * said);
            self.behind.clear();
            self.behind.extend(said.iter().zip(last).map(|(said, v)| slope * v * (1.0 - said * said)));
            for (own, behind) in first.chunks_exact_mut(d + 1).zip(&self.behind) {
                own.iter_mut().zip(row).for_each(|(own, &x)| *own += behind * f64::from(x));
                own[d] += behind;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_differences_and_add_up() {
        let (d, hidden) = (3, 4);
        let numbers = Network::begin(d, hidden, 7);
        let rows: Vec<f32> = (0..12).map(|i| ((i * 7 % 5) as f32) / 3.0 - 0.5).collect();
        let loss = |numbers: &[f64]| {
            let mut s = [0.0; 4];
            Pass::default().scores(numbers, d, &rows, &mut s);
            s.iter().enumerate().map(|(i, s)| (i as f64 - 1.2) * s).sum::<f64>()
        };
        let (mut pass, mut s, mut grad) = (Pass::default(), [0.0; 4], vec![0.0; numbers.len()]);
        pass.scores(&numbers, d, &rows, &mut s);
        let slopes: Vec<f64> = (0..4).map(|i| f64::from(i) - 1.2).collect();
        pass.pull_back(&numbers, d, &rows, &slopes, &mut grad);
        for i in 0..numbers.len() {
            let at = |step: f64| {
                let mut moved = numbers.clone();
                moved[i] += step;
                loss(&moved)
            };
            assert!(((at(1e-5) - at(-1e-5)) / 2e-5 - grad[i]).abs() < 1e-8, "{i}");
        }
        let net = Network { columns: d, hidden, numbers };
        let mut again = [0.0; 4];
        net.scores(&rows, &mut again);
        assert!(again.iter().zip(&s).all(|(a, b)| (a - b).abs() < 1e-15));
        let slope = net.mean_slope(&rows[..3], &rows[6..9]);
        let way: f64 = (0..3).map(|j| slope[j] * f64::from(rows[6 + j] - rows[j])).sum();
        assert!((way - (s[2] - s[0])).abs() < 1e-6);
        assert!(net.fits(3) && !net.fits(4));
    }
}
