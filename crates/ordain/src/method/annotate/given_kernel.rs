//! Classifiers of labels on a kernel that is given: the features of an item are its kernel with every training item.
//!
//! Column `i` of the data is the kernel with item `i` of the training data, so that a sum of kernels is a weight on each
//! column: `F(x) = Σ_j α_j k(x_j, x)`. A model is then an ordinary linear one on columns that are named by training items,
//! and whoever scores, explains or stores it need not know.

use crate::data::LabelSet;
use crate::error::{Error, Result};
use crate::matrix::{Features, factor_spd};
use crate::method::annotate::kernel_ridge::{BUDGET, exact_of};
use crate::method::annotate::one_vs_rest::{Judged, OneVsRest};
use crate::method::coordinates::Coordinates;
use crate::method::kernels::EXACT;
use crate::score::Score;
use crate::scorer::kernel_rows::Gram;
use crate::solver::run::Watch;

/// By how much of a value the two halves of a matrix may differ.
const ROUNDING: f64 = 1e-4;

/// Kernel ridge on `units` by the kernel that the features of the set are; as [`super::kernel_ridge::fit`] has it.
pub(super) fn fit(set: &LabelSet, units: &[u32], seed: u64, watch: &Watch) -> Result<Judged> {
    let gram = &set.features;
    check(gram, units)?;
    let n = set.labels.len();
    let known = units.iter().all(|&i| set.unknown(i as usize).is_empty());
    if known && units.len() <= EXACT {
        let values = part(gram, units);
        return exact_of(&Gram::of(values, units.len()), set, units, watch, |alpha| {
            let mut weights = vec![0.0; gram.cols() * n];
            for (&i, alpha) in units.iter().zip(alpha.chunks_exact(n.max(1))) {
                weights[i as usize * n..(i as usize + 1) * n].copy_from_slice(alpha);
            }
            Score::Linear(weights)
        });
    }
    let by = Coordinates::given(gram, units, BUDGET, seed);
    let seen = by.at(&super::kernel_ridge::dense(gram, units), units, gram.rows());
    let mut judged = OneVsRest::judged(&seen, set, units, watch)?;
    judged.model.score = by.score(judged.model.score.weights(), n);
    Ok(judged)
}

/// The kernel of some items with each other, row after row.
fn part(gram: &Features, units: &[u32]) -> Vec<f32> {
    units.iter().flat_map(|&i| units.iter().map(move |&j| gram.value(i as usize, j as usize))).collect()
}

/// Refuses what is no Gram matrix of the items: not square, not symmetric, or with a negative direction.
///
/// O(m²), and up to 5,000 items O(m³/3) for the last.
fn check(gram: &Features, units: &[u32]) -> Result<()> {
    let wrong = |expected: &str, found: String| Err(Error::Data { expected: expected.into(), found });
    if gram.cols() != gram.rows() {
        return wrong(
            "with kernel=given a column for each item, its kernel with that item (a Gram matrix)",
            format!("{} columns and {} items", gram.cols(), gram.rows()),
        );
    }
    let value = |i: u32, j: u32| f64::from(gram.value(i as usize, j as usize));
    let mut trace = 0.0;
    for &i in units {
        let own = value(i, i);
        if own.is_nan() || own < 0.0 {
            return wrong(
                "a Gram matrix, whose diagonal is at least 0",
                format!("{own} of item {} with itself", i + 1),
            );
        }
        trace += own;
    }
    for &i in units {
        for &j in units.iter().filter(|&&j| j < i) {
            let (a, b) = (value(i, j), value(j, i));
            let size = (value(i, i) * value(j, j)).sqrt();
            if (a - b).abs() > ROUNDING * (size + a.abs()) {
                return wrong(
                    "a symmetric Gram matrix",
                    format!("{a} in row {}, column {}, and {b} the other way round", i + 1, j + 1),
                );
            }
            if a.abs() > (1.0 + ROUNDING) * size + f64::MIN_POSITIVE {
                return negative(&format!(
                    "{a} of items {} and {}, which have {} and {} with themselves",
                    i + 1,
                    j + 1,
                    value(i, i),
                    value(j, j)
                ));
            }
        }
    }
    let m = units.len();
    if m <= EXACT && trace > 0.0 {
        let mut system: Vec<f64> = part(gram, units).into_iter().map(f64::from).collect();
        (0..m).for_each(|i| system[i * m + i] += ROUNDING * trace / m as f64);
        if !factor_spd(&mut system, m) {
            return negative("an eigenvalue below 0");
        }
    }
    Ok(())
}

fn negative<T>(found: &str) -> Result<T> {
    Err(Error::Data {
        expected: "a positive semi-definite Gram matrix: a kernel is an inner product (clip negative eigenvalues, or add their size to the diagonal)"
            .into(),
        found: found.into(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::matrix::Matrix;

    #[test]
    fn what_is_no_gram_matrix_is_refused() {
        let told = |values: Vec<f32>, cols: usize| {
            let gram = Features::Dense(Matrix::new(values, cols));
            let units: Vec<u32> = (0..gram.rows() as u32).collect();
            check(&gram, &units).map_err(|error| error.to_string())
        };
        assert!(told(vec![2.0, 1.0, 1.0, 2.0], 2).is_ok());
        assert!(told(vec![1.0; 9], 3).is_ok()); // all alike, of rank one
        for (values, cols, says) in [
            (vec![1.0; 6], 3, "3 columns and 2 items"),
            (vec![1.0, 0.5, 0.4, 1.0], 2, "symmetric"),
            (vec![1.0, 2.0, 2.0, 1.0], 2, "positive semi-definite"),
            (vec![-1.0], 1, "diagonal"),
            // every pair is possible, all three together are not
            (vec![1.0, 0.9, -0.9, 0.9, 1.0, 0.9, -0.9, 0.9, 1.0], 3, "eigenvalue"),
        ] {
            let error = told(values, cols).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
