//! How far scores are from the nearest ones in the right order (IsoRank).

use crate::error::Result;
use crate::traits::Surrogate;
use std::ops::Range;

/// Half the squared distance of scores from the nearest ones that keep all preferences, with a gap between grades.
///
/// ```text
/// L(s) = min over δ of ½ Σ_i δ_i²,   s_i + δ_i ≥ s_j + δ_j + G(g_i) − G(g_j)  for all pairs g_i > g_j
/// ```
///
/// Zheng, Zha and Sun 2008 with ζ = 0. Convex, with the slope `−δ` and a curvature of at most 1, so that a step `+δ` never raises it. The nearest scores are an isotonic
/// regression: `z = s − G(g)` in the order of grades, equal grades by z, pooled where neighbours are in the wrong order. Equal grades
/// are free, yet the nearest ones keep the order of z within a grade, so that the added constraints cost nothing. O(n log n).
///
/// ```
/// use ordain::{surrogate::isotonic::Isotonic, traits::Surrogate};
/// let loss = Isotonic::new([(&[1.0, 0.0][..], &[1.0, 0.0][..])]); // two documents, which should be 1 apart
/// let mut slope = [0.0; 2];
/// let value = loss.value(0, &[0.0, 0.0], &mut slope, &mut Default::default())?;
/// assert_eq!((value, slope), (0.25, [-0.5, 0.5])); // half a step each
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct Isotonic {
    /// Grade and level of each document.
    docs: Vec<(f64, f64)>,
    bounds: Vec<usize>,
}

/// Scratch of [`Isotonic`].
#[derive(Default)]
pub struct Work {
    order: Vec<usize>,
    /// Sum and size of each pool.
    pools: Vec<(f64, usize)>,
}

impl Isotonic {
    /// The loss of queries, each with the grades of its documents and what scores of these grades should differ by.
    pub fn new<'a>(queries: impl IntoIterator<Item = (&'a [f64], &'a [f64])>) -> Self {
        let (mut docs, mut bounds) = (vec![], vec![0]);
        for (grades, gaps) in queries {
            docs.extend(grades.iter().copied().zip(gaps.iter().copied()));
            bounds.push(docs.len());
        }
        Self { docs, bounds }
    }

    fn span(&self, n: usize) -> Range<usize> {
        self.bounds[n]..self.bounds[n + 1]
    }
}

impl Surrogate for Isotonic {
    type Work = Work;

    fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], Work { order, pools }: &mut Work) -> Result<f64> {
        let docs = &self.docs[self.span(n)];
        let z = |i: usize| s[i] - docs[i].1;
        order.clear();
        order.extend(0..docs.len());
        order.sort_by(|&a, &b| docs[a].0.total_cmp(&docs[b].0).then(z(a).total_cmp(&z(b))).then(a.cmp(&b)));
        pools.clear();
        for &i in &*order {
            let mut own = (z(i), 1);
            while let Some(&(sum, size)) = pools.last() {
                // the means of neighbours have to rise
                if sum * own.1 as f64 <= own.0 * size as f64 {
                    break;
                }
                own = (own.0 + sum, own.1 + size);
                pools.pop();
            }
            pools.push(own);
        }
        let mut places = order.iter();
        let mut value = 0.0;
        for &(sum, size) in &*pools {
            for &i in places.by_ref().take(size) {
                // a document alone stays where it is, to the bit
                d[i] = if size == 1 { 0.0 } else { z(i) - sum / size as f64 };
                value += 0.5 * d[i] * d[i];
            }
        }
        Ok(value)
    }

    fn diagonal(&self, n: usize, s: &[f64], d: &mut [f64], h: &mut [f64], work: &mut Work) -> Result<Option<f64>> {
        h.fill(1.0);
        self.value(n, s, d, work).map(Some)
    }
}
