//! The log-loss of one label over items.

use crate::error::Result;
use crate::traits::Surrogate;

/// The log-loss of one label, `s_i` being its log-odds for item i, over blocks of items.
///
/// ```text
/// L(s) = Σ_i u_i (log(1 + exp s_i) − y_i s_i)
/// ```
///
/// with y = 1 where the label applies and 0 where it does not, and u = 1, or the weights of items. An item of which it is not known plays
/// no part. O(n) per block; a block may be one item.
///
/// ```
/// use ordain::{surrogate::label_logistic::LabelLogistic, traits::Surrogate};
/// let loss = LabelLogistic::new([&[Some(true), None, Some(false)][..]], None);
/// let (mut d, mut h) = ([0.0; 3], [0.0; 3]);
/// let value = loss.diagonal(0, &[0.0; 3], &mut d, &mut h, &mut ())?;
/// assert!((value.unwrap_or(0.0) - 2.0 * 2f64.ln()).abs() < 1e-15);
/// assert_eq!((d, h), ([-0.5, 0.0, 0.5], [0.25, 0.0, 0.25]));
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct LabelLogistic {
    /// Whether the label applies, with the weight of the item: 0 where it is not known.
    items: Vec<(bool, f64)>,
    bounds: Vec<usize>,
}

impl LabelLogistic {
    /// The loss of blocks of items, by whether the label applies to each (`None`: not known), and the weights of items where there are any.
    pub fn new<'a>(blocks: impl IntoIterator<Item = &'a [Option<bool>]>, weights: Option<&[&[f64]]>) -> Self {
        let (mut items, mut bounds) = (vec![], vec![0]);
        for (n, block) in blocks.into_iter().enumerate() {
            let weight = |i: usize| weights.map_or(1.0, |weights| weights[n][i]);
            let item = |(i, yes): (usize, &Option<bool>)| yes.map_or((false, 0.0), |yes| (yes, weight(i)));
            items.extend(block.iter().enumerate().map(item));
            bounds.push(items.len());
        }
        Self { items, bounds }
    }

    fn of(&self, n: usize) -> &[(bool, f64)] {
        &self.items[self.bounds[n]..self.bounds[n + 1]]
    }
}

/// Loss, slope and curvature of an item at the log-odds `s`.
#[inline]
fn log_loss(s: f64, (yes, weight): (bool, f64)) -> [f64; 3] {
    let wrong = if yes { -s } else { s };
    let small = (-wrong.abs()).exp();
    let over = 1.0 / (1.0 + small);
    let miss = if wrong > 0.0 { over } else { small * over };
    let loss = wrong.max(0.0) + small.ln_1p();
    [weight * loss, if yes { -weight * miss } else { weight * miss }, weight * (small * over * over)]
}

impl Surrogate for LabelLogistic {
    type Work = ();

    fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], (): &mut ()) -> Result<f64> {
        let mut total = 0.0;
        for ((&s, d), &item) in s.iter().zip(d).zip(self.of(n)) {
            let [loss, slope, _] = log_loss(s, item);
            *d = slope;
            total += loss;
        }
        Ok(total)
    }

    fn diagonal(&self, n: usize, s: &[f64], d: &mut [f64], h: &mut [f64], (): &mut ()) -> Result<Option<f64>> {
        let mut total = 0.0;
        for (((&s, d), h), &item) in s.iter().zip(d).zip(h).zip(self.of(n)) {
            let [loss, slope, curve] = log_loss(s, item);
            (*d, *h) = (slope, curve);
            total += loss;
        }
        Ok(Some(total))
    }

    fn curvature(&self, n: usize, s: &[f64], v: &[f64], columns: usize, out: &mut [f64], (): &mut ()) -> Result<bool> {
        for (i, (&s, &item)) in s.iter().zip(self.of(n)).enumerate() {
            let (row, [.., curve]) = (i * columns..(i + 1) * columns, log_loss(s, item));
            out[row.clone()].iter_mut().zip(&v[row]).for_each(|(out, v)| *out = curve * v);
        }
        Ok(true)
    }
}
