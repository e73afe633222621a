//! One document against all that it is better than: the inner loop of [`PairLogistic`](super::pair_logistic::PairLogistic).

/// Pairs that are done side by side.
pub(super) const LANES: usize = 4;
/// The row of a place without a document.
pub(super) const NONE: u32 = u32::MAX;

/// Places by grade; each grade begins at a multiple of [`LANES`], and the places that are left over have no weight.
#[derive(Default)]
pub(super) struct Side {
    pub(super) row: Vec<u32>,
    pub(super) s: Vec<f64>,
    pub(super) e: Vec<f64>,
    root: Vec<f64>,
    gain: Vec<f64>,
    discount: Vec<f64>,
    pub(super) d: Vec<f64>,
    pub(super) h: Vec<f64>,
}

/// A document at its place on a side.
#[derive(Clone, Copy)]
pub(super) struct Doc {
    pub(super) row: u32,
    pub(super) s: f64,
    pub(super) e: f64,
    pub(super) root: f64,
    pub(super) gain: f64,
    pub(super) discount: f64,
}

impl Side {
    /// Makes `n` empty places.
    pub(super) fn clear(&mut self, n: usize) {
        let Self { row, s, e, root, gain, discount, d, h } = self;
        row.clear();
        row.resize(n, NONE);
        for numbers in [s, e, root, gain, discount, d, h] {
            numbers.clear();
            numbers.resize(n, 0.0);
        }
    }

    pub(super) fn put(&mut self, at: usize, doc: Doc) {
        self.row[at] = doc.row;
        self.s[at] = doc.s;
        self.e[at] = doc.e;
        self.root[at] = doc.root;
        self.gain[at] = doc.gain;
        self.discount[at] = doc.discount;
    }

    pub(super) fn get(&self, at: usize) -> Doc {
        Doc {
            row: self.row[at],
            s: self.s[at],
            e: self.e[at],
            root: self.root[at],
            gain: self.gain[at],
            discount: self.discount[at],
        }
    }

    /// Slope, curvature and loss of the pair of each of the first places with a better document, as many as there is room for;
    /// `weigh(gain, discount, score)` is the weight of a pair but for the root of the weight of the lesser. It takes no branch, and what it
    /// writes is known to overlap nothing, so that it is compiled for several pairs at once.
    #[inline(never)]
    pub(super) fn terms(
        &self,
        i: Doc,
        weigh: impl Fn(f64, f64, f64) -> f64,
        slopes: &mut [f64],
        curves: &mut [f64],
        losses: &mut [f64],
    ) {
        let m = slopes.len();
        let (s, e, root) = (&self.s[..m], &self.e[..m], &self.root[..m]);
        let (gain, discount) = (&self.gain[..m], &self.discount[..m]);
        let (curves, losses) = (&mut curves[..m], &mut losses[..m]);
        for j in 0..m {
            let w = weigh(gain[j], discount[j], s[j]) * root[j];
            // slope = e_j / (e_i + e_j) and z = less / (2 more + less) by one division
            let less = if e[j] < i.e { e[j] } else { i.e };
            let more = if e[j] < i.e { i.e } else { e[j] };
            let (both, wide) = (less + more, less + more + more);
            let over = 1.0 / (both * wide);
            let slope = e[j] * wide * over;
            let behind = s[j] - i.s;
            slopes[j] = w * slope;
            curves[j] = w * (slope * (1.0 - slope));
            losses[j] = w * (log_of(less * both * over) + if behind > 0.0 { behind } else { 0.0 });
        }
    }

    /// Adds slopes and curvatures of pairs to those of the lesser documents; the sums of slopes, curvatures and losses.
    pub(super) fn add(&mut self, slopes: &[f64], curves: &[f64], losses: &[f64]) -> [f64; 3] {
        let mut sums = [[0.0; LANES]; 3];
        let given = slopes.as_chunks().0.iter().zip(curves.as_chunks().0).zip(losses.as_chunks().0);
        let taken = self.d.as_chunks_mut().0.iter_mut().zip(self.h.as_chunks_mut().0);
        for (((slope, curve), loss), (d, h)) in given.zip(taken) {
            add(&mut sums[0], slope);
            add(&mut sums[1], curve);
            add(&mut sums[2], loss);
            add(d, slope);
            add(h, curve);
        }
        sums.map(|lanes| (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))
    }
}

#[inline(always)]
fn add(to: &mut [f64; LANES], x: &[f64; LANES]) {
    to.iter_mut().zip(x).for_each(|(to, x)| *to += x);
}

/// `log(1 + x)` by `z = x/(2 + x)` from 0 to 1/3, which is `2 atanh z`: an odd polynomial within 1e-16 of it, relative.
#[inline(always)]
fn log_of(z: f64) -> f64 {
    const TERMS: [f64; 10] = [
        2.0,
        0.6666666666668257,
        0.399999999952876,
        0.2857142911165716,
        0.22222190861346283,
        0.1818285980047391,
        0.15363676248891633,
        0.13591305485579894,
        0.09880789048764786,
        0.17780763826113302,
    ];
    let [t0, t1, t2, t3, t4, t5, t6, t7, t8, t9] = TERMS;
    let x = z * z;
    let square = x * x;
    let fourth = square * square;
    // in pairs of pairs: a term need not wait for all before it
    let low = (t0 + t1 * x) + (t2 + t3 * x) * square;
    let middle = (t4 + t5 * x) + (t6 + t7 * x) * square;
    z * (low + (middle + (t8 + t9 * x) * fourth) * fourth)
}

/// `Σ_k terms_k x^k`.
#[inline(always)]
fn polynomial<const N: usize>(terms: &[f64; N], x: f64) -> f64 {
    terms[..N - 1].iter().rev().fold(terms[N - 1], |sum, term| sum * x + term)
}

/// Scores may be so far from their middle: exponentials, and products of two, are then far inside the range of a double.
pub(super) const FAR: f64 = 300.0;

/// `exp(x)` with x clamped to ±[`FAR`], within a few units in the last place.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    const TERMS: [f64; 12] = [
        1.0,
        1.0,
        0.5000000000000019,
        0.1666666666666668,
        0.0416666666664881,
        0.008333333333319601,
        0.0013888888952314775,
        0.00019841269890047113,
        2.4801485482328494e-05,
        2.755724091857897e-06,
        2.763263963904103e-07,
        2.5110037605963777e-08,
    ];
    const ROUND: f64 = 6755399441055744.0; // 1.5·2^52: added and subtracted, it rounds to a whole number
    const LN_2: [f64; 2] = [0.6931471803691238, 1.9082149292705877e-10]; // the first with zeros at its end
    let x = x.clamp(-FAR, FAR);
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let rest = (x - whole * LN_2[0]) - whole * LN_2[1];
    let power = f64::from_bits((shifted.to_bits().wrapping_add(1023)) << 52);
    polynomial(&TERMS, rest) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::cases::cases(2000)))]
        #[test]
        fn polynomials_are_the_functions_of_the_library(
            x in prop_oneof![-300.0..300.0f64, -1.0..1.0f64],
            ratio in prop_oneof![0.0..1.0f64, (-300.0..0.0f64).prop_map(f64::exp)],
        ) {
            prop_assert!((exp(x) / x.exp() - 1.0).abs() < 1e-14);
            let log = log_of(ratio / (2.0 + ratio));
            prop_assert!((log - ratio.ln_1p()).abs() <= 1e-15 * ratio, "{log}, not {}", ratio.ln_1p());
        }
    }

    #[test]
    fn ends_are_right() {
        assert_eq!((exp(0.0), log_of(0.0)), (1.0, 0.0));
        assert_eq!((exp(1e300), exp(-1e300)), (exp(FAR), exp(-FAR)));
        assert!((log_of(1.0 / 3.0) - std::f64::consts::LN_2).abs() < 1e-15);
    }
}
