//! The squared distance of scores from grades.

use crate::error::Result;
use crate::traits::Surrogate;

/// Half the squared distance of the scores of a query from its grades.
///
/// ```text
/// L(s) = ½ Σ_i u_i (s_i − g_i)²
/// ```
///
/// with u = 1, or the weights of documents. O(n) per query.
///
/// ```
/// use ordain::{surrogate::squared::Squared, traits::Surrogate};
/// let loss = Squared::new([&[2.0, 0.0][..]], None);
/// let (mut d, mut h) = ([0.0; 2], [0.0; 2]);
/// assert_eq!(loss.diagonal(0, &[1.0, 0.5], &mut d, &mut h, &mut ())?, Some(0.5 + 0.125));
/// assert_eq!((d, h), ([-1.0, 0.5], [1.0, 1.0]));
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct Squared {
    /// Grades with weights.
    documents: Vec<(f64, f64)>,
    bounds: Vec<usize>,
}

impl Squared {
    /// The loss of queries given by the grades of their documents, and the weights of these where there are any.
    pub fn new<'a>(grades: impl IntoIterator<Item = &'a [f64]>, weights: Option<&[&[f64]]>) -> Self {
        let (mut documents, mut bounds) = (vec![], vec![0]);
        for (n, grades) in grades.into_iter().enumerate() {
            let weight = |i: usize| weights.map_or(1.0, |weights| weights[n][i]);
            documents.extend(grades.iter().enumerate().map(|(i, &grade)| (grade, weight(i))));
            bounds.push(documents.len());
        }
        Self { documents, bounds }
    }

    fn of(&self, n: usize) -> &[(f64, f64)] {
        &self.documents[self.bounds[n]..self.bounds[n + 1]]
    }
}

impl Surrogate for Squared {
    type Work = ();

    fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], (): &mut ()) -> Result<f64> {
        let mut total = 0.0;
        for ((s, d), (grade, weight)) in s.iter().zip(d).zip(self.of(n)) {
            *d = weight * (s - grade);
            total += 0.5 * *d * (s - grade);
        }
        Ok(total)
    }

    fn diagonal(&self, n: usize, s: &[f64], d: &mut [f64], h: &mut [f64], work: &mut ()) -> Result<Option<f64>> {
        h.iter_mut().zip(self.of(n)).for_each(|(h, (_, weight))| *h = *weight);
        self.value(n, s, d, work).map(Some)
    }

    fn curvature(&self, n: usize, _: &[f64], v: &[f64], columns: usize, out: &mut [f64], (): &mut ()) -> Result<bool> {
        for (i, (_, weight)) in self.of(n).iter().enumerate() {
            let row = i * columns..(i + 1) * columns;
            out[row.clone()].iter_mut().zip(&v[row]).for_each(|(out, v)| *out = weight * v);
        }
        Ok(true)
    }
}
