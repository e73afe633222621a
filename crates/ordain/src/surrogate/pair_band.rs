//! The pair hinge of the L1 Ranking SVM, with its corner rounded over a band, in O(n log n) for any number of grades.

use crate::error::Result;
use crate::matrix::axpy;
use crate::surrogate::pair_hinge::{Doc, PairHinge, Work};
use crate::traits::Surrogate;

/// The hinge over all pairs of different grades within a query, rounded where slacks are below a width.
///
/// ```text
/// L(s) = Σ_{g_i > g_j} u_i u_j h(1 − s_i + s_j),     h(z) = max over 0 ≤ α ≤ 1 of  α z − width/2·α²
///      = 0 below 0,   z²/(2 width) up to the width,   z − width/2 above
/// ```
///
/// with the weights `u_i u_j` of the [`PairHinge`] that it is made from. At width 0 it is the hinge itself, \[BRM\] Eq. (3), with one of its
/// subgradients. `0 ≤ hinge − h ≤ width/2`, and `α = h'(z)` is a feasible dual variable of the pair, so that the minimum of ridge and
/// rounded losses bounds that of ridge and hinges from both sides (Nesterov 2005).
///
/// Value, gradient and Hessian product cost O(n log n): the partners of a document that are beyond the band, and those in it, are two
/// runs of the documents in order of score, and both ends of both only move one way.
///
/// ```
/// use ordain::{surrogate::{pair_band::PairBand, pair_hinge::PairHinge}, traits::Surrogate};
/// let pairs = PairHinge::new([&[2.0, 0.0][..]], None);
/// let mut slope = [0.0; 2];
/// for (width, value, alpha) in [(0.0, 0.75, 1.0), (0.5, 0.5, 1.0), (1.5, 0.1875, 0.5)] {
///     let loss = PairBand { pairs: &pairs, width };
///     assert_eq!(loss.value(0, &[0.25, 0.0], &mut slope, &mut Default::default())?, value);
///     assert_eq!(slope, [-alpha, alpha]);
/// }
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct PairBand<'a> {
    /// The pairs.
    pub pairs: &'a PairHinge,
    /// Slacks from 0 to here are in the band; at least 0.
    pub width: f64,
}

/// How much a pair is behind; written once, so that both directions of a sweep agree to the last bit.
#[inline]
fn slack(better: &Doc, lesser: &Doc) -> f64 {
    1.0 - better.score + lesser.score
}

/// What happens on the way through the documents of one side, in order of score.
enum Event<'d> {
    /// A partner comes into the band.
    Enters(&'d Doc),
    /// A partner leaves it for where the loss is straight.
    Passes(&'d Doc),
    /// All partners of this document are where they belong.
    Meets(&'d Doc),
    /// That was the last one.
    Ends,
}

/// Goes through documents that have more partners the later they stand, with partners that cost more the earlier they stand.
fn go<'d>(
    mine: impl Iterator<Item = &'d Doc>,
    partners: impl Iterator<Item = &'d Doc> + Clone,
    width: f64,
    behind: impl Fn(&Doc, &Doc) -> f64,
    event: &mut impl FnMut(Event<'d>),
) {
    let (mut near, mut far) = (partners.clone().peekable(), partners.peekable());
    let mut inside = 0usize;
    for doc in mine {
        while let Some(partner) = near.next_if(|partner| behind(doc, partner) > 0.0) {
            inside += 1;
            event(Event::Enters(partner));
        }
        while inside > 0
            && let Some(partner) = far.next_if(|partner| behind(doc, partner) > width)
        {
            inside -= 1;
            event(Event::Passes(partner));
        }
        event(Event::Meets(doc));
    }
    event(Event::Ends);
}

/// Sums over partners in the band, and over those beyond it.
#[derive(Clone, Copy, Default)]
struct Sums {
    inside: usize,
    near: [f64; 3],
    far: [f64; 2],
}

impl Sums {
    /// Takes a partner in or lets it pass.
    fn count(&mut self, doc: &Doc, enters: bool) {
        let (u, s) = (doc.root, doc.score);
        let sign = if enters { 1.0 } else { -1.0 };
        self.inside = if enters { self.inside + 1 } else { self.inside - 1 };
        self.near.iter_mut().zip([u, u * s, u * s * s]).for_each(|(sum, own)| *sum += sign * own);
        if self.inside == 0 {
            self.near = [0.0; 3]; // what is not there leaves no dust
        }
        if !enters {
            self.far.iter_mut().zip([u, u * s]).for_each(|(sum, own)| *sum += own);
        }
    }

    /// The sum of slacks `a ± s` over the band.
    fn near(&self, a: f64, sign: f64) -> f64 {
        self.near[0] * a + sign * self.near[1]
    }
}

impl PairBand<'_> {
    /// Number of pairs of query `n` that cost anything at these scores: its support pairs, where these are a minimum. O(n log n).
    pub fn support(&self, n: usize, s: &[f64], work: &mut Work) -> usize {
        let mut total = 0;
        self.pairs.sweep(n, s, &mut work.docs, &mut work.spare, &mut |lesser, better| {
            let mut behind = 0;
            go(better.iter().rev(), lesser.iter().rev(), f64::INFINITY, slack, &mut |event| match event {
                Event::Enters(_) => behind += 1,
                Event::Meets(_) => total += behind,
                Event::Passes(_) | Event::Ends => {}
            });
        });
        total
    }
}

impl Surrogate for PairBand<'_> {
    type Work = Work;

    fn len(&self) -> usize {
        self.pairs.len()
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut Work) -> Result<f64> {
        d.fill(0.0);
        let width = self.width;
        let over = if width > 0.0 { 1.0 / width } else { 0.0 };
        let mut total = 0.0;
        self.pairs.sweep(n, s, &mut work.docs, &mut work.spare, &mut |lesser, better| {
            let mut sums = Sums::default();
            go(better.iter().rev(), lesser.iter().rev(), width, slack, &mut |event| match event {
                Event::Enters(j) => sums.count(j, true),
                Event::Passes(j) => sums.count(j, false),
                Event::Meets(i) => {
                    let a = 1.0 - i.score;
                    d[i.row as usize] -= i.root * (sums.far[0] + over * sums.near(a, 1.0));
                    let squares = a * (sums.near[0] * a + 2.0 * sums.near[1]) + sums.near[2];
                    total += i.root * (sums.far[0] * (a - 0.5 * width) + sums.far[1] + 0.5 * over * squares.max(0.0));
                }
                Event::Ends => {}
            });
            let mut sums = Sums::default();
            go(lesser.iter(), better.iter(), width, |j, i| slack(i, j), &mut |event| match event {
                Event::Enters(i) => sums.count(i, true),
                Event::Passes(i) => sums.count(i, false),
                Event::Meets(j) => {
                    d[j.row as usize] += j.root * (sums.far[0] + over * sums.near(1.0 + j.score, -1.0));
                }
                Event::Ends => {}
            });
        });
        Ok(total)
    }

    fn curvature(
        &self,
        n: usize,
        s: &[f64],
        v: &[f64],
        columns: usize,
        out: &mut [f64],
        work: &mut Work,
    ) -> Result<bool> {
        out.fill(0.0);
        if self.width <= 0.0 {
            return Ok(false);
        }
        let sum = &mut work.sum;
        sum.clear();
        sum.resize(columns, 0.0);
        let row = |doc: &Doc| doc.row as usize * columns..(doc.row as usize + 1) * columns;
        let over = 1.0 / self.width;
        // out_i += u_i (Σ u_j · v_i − Σ u_j v_j) / width over the partners j of i in the band, from either side
        self.pairs.sweep(n, s, &mut work.docs, &mut work.spare, &mut |lesser, better| {
            let (mut inside, mut count) = (0usize, 0.0);
            let mut step = |event: Event| {
                match event {
                    Event::Meets(mine) => {
                        for ((out, v), sum) in out[row(mine)].iter_mut().zip(&v[row(mine)]).zip(&*sum) {
                            *out += over * mine.root * (count * v - sum);
                        }
                        return;
                    }
                    Event::Enters(doc) => {
                        (inside, count) = (inside + 1, count + doc.root);
                        axpy(doc.root, &v[row(doc)], sum);
                    }
                    Event::Passes(doc) => {
                        (inside, count) = (inside - 1, count - doc.root);
                        axpy(-doc.root, &v[row(doc)], sum);
                    }
                    Event::Ends => inside = 0,
                }
                if inside == 0 {
                    count = 0.0;
                    sum.fill(0.0);
                }
            };
            go(better.iter().rev(), lesser.iter().rev(), self.width, slack, &mut step);
            go(lesser.iter(), better.iter(), self.width, |j, i| slack(i, j), &mut step);
        });
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The slow truth: all pairs, one by one.
    fn slow(grades: &[f64], weights: &[f64], s: &[f64], width: f64) -> (f64, Vec<f64>, Vec<Vec<f64>>) {
        let n = s.len();
        let (mut value, mut d, mut h) = (0.0, vec![0.0; n], vec![vec![0.0; n]; n]);
        for i in 0..n {
            for j in (0..n).filter(|&j| grades[i] > grades[j]) {
                let (z, w) = (1.0 - s[i] + s[j], (weights[i] * weights[j]).sqrt());
                if z > width {
                    value += w * (z - 0.5 * width);
                    d[i] -= w;
                    d[j] += w;
                } else if z > 0.0 {
                    value += w * z * z / (2.0 * width);
                    d[i] -= w * z / width;
                    d[j] += w * z / width;
                    for (a, b, sign) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
                        h[a][b] += sign * w / width;
                    }
                }
            }
        }
        (value, d, h)
    }

    proptest! {
        #[test]
        fn sums_are_those_of_all_pairs(
            query in prop::collection::vec((0..4i32, -2.0..2.0f64, 0.1..3.0f64), 1..14),
            weighted in any::<bool>(),
            width in prop_oneof![Just(0.0), Just(1e-3), 0.01..3.0f64],
            coarse in any::<bool>(),
        ) {
            let grades: Vec<f64> = query.iter().map(|q| f64::from(q.0)).collect();
            let s: Vec<f64> = query.iter().map(|q| if coarse { (q.1 * 2.0).round() / 2.0 } else { q.1 }).collect();
            let weights: Vec<f64> = query.iter().map(|q| if weighted { q.2 } else { 1.0 }).collect();
            let pairs = PairHinge::new([&grades[..]], weighted.then_some(&[&weights[..]][..]));
            let loss = PairBand { pairs: &pairs, width };
            let (value, d, h) = slow(&grades, &weights, &s, width);
            let (mut work, n) = (Work::default(), s.len());
            let mut slope = vec![0.0; n];
            let fast = loss.value(0, &s, &mut slope, &mut work).unwrap();
            prop_assert!((fast - value).abs() <= 1e-9 * (1.0 + value), "{fast} {value}");
            let ahead = |&(i, j): &(usize, usize)| grades[i] > grades[j] && 1.0 - s[i] + s[j] > 0.0;
            let support = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(ahead).count();
            prop_assert_eq!(loss.support(0, &s, &mut work), support);
            for (a, b) in slope.iter().zip(&d) {
                prop_assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{a} {b}");
            }
            let v: Vec<f64> = (0..n * 3).map(|k| ((k * 37 + 11) % 17) as f64 - 8.0).collect();
            let mut hv = vec![0.0; n * 3];
            prop_assert_eq!(loss.curvature(0, &s, &v, 3, &mut hv, &mut work).unwrap(), width > 0.0);
            for i in 0..n {
                for c in 0..3 {
                    let truth: f64 = (0..n).map(|j| h[i][j] * v[j * 3 + c]).sum();
                    prop_assert!((hv[i * 3 + c] - truth).abs() <= 1e-8 * (1.0 + truth.abs()));
                }
            }
        }
    }
}
