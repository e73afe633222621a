//! The axes along which things differ most.

use crate::matrix::eigen;

/// The eigenvalues of a symmetric `n`×`n` matrix in falling order, and its eigenvectors as the rows of a matrix in the same
/// order. Only the lower half is read. The entry of a vector that is largest in size is positive, so that the result does
/// not depend on how it was found.
pub(super) fn falling(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut whole = matrix.to_vec();
    crate::matrix::mirror(&mut whole, n);
    let (values, columns) = eigen(&whole, n);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| values[j].total_cmp(&values[i]).then(i.cmp(&j)));
    let mut rows = Vec::with_capacity(n * n);
    for &k in &order {
        let column = (0..n).map(|i| columns[i * n + k]);
        let largest = column.clone().fold(0.0f64, |most, x| if x.abs() > most.abs() * (1.0 + 1e-9) { x } else { most });
        rows.extend(column.map(|x| if largest < 0.0 { -x } else { x }));
    }
    (order.iter().map(|&k| values[k]).collect(), rows)
}

/// Whether rows of this length are orthonormal, as far as a file keeps them.
pub(super) fn are_orthonormal(rows: &[f64], length: usize) -> bool {
    let rows: Vec<&[f64]> = rows.chunks_exact(length).collect();
    let right = |i: usize, j: usize| {
        (crate::matrix::dot(rows[i], rows[j]) - f64::from(u8::from(i == j))).abs() <= 1e-6 // never true of a NaN
    };
    (0..rows.len()).all(|i| (0..=i).all(|j| right(i, j)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// `A v = λ v`, orthonormal, falling; also for matrices of low rank and with equal eigenvalues.
    #[test]
    fn vectors_are_those_of_the_matrix() {
        let mut random = Random::new(3);
        for case in 0..60 {
            let n = 1 + random.below(14);
            let rank = if case % 3 == 0 { n } else { 1 + random.below(n) };
            let mut a = vec![0.0; n * n];
            for _ in 0..rank {
                let v: Vec<f64> =
                    (0..n).map(|_| if case % 2 == 0 { random.normal() } else { random.below(2) as f64 }).collect();
                for i in 0..n {
                    for j in 0..n {
                        a[i * n + j] += v[i] * v[j];
                    }
                }
            }
            let (values, vectors) = falling(&a, n);
            assert!(values.is_sorted_by(|x, y| x >= y));
            let scale = 1.0 + values[0].abs();
            for i in 0..n {
                for j in 0..n {
                    let dot: f64 = (0..n).map(|k| vectors[i * n + k] * vectors[j * n + k]).sum();
                    assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-12);
                    let av: f64 = (0..n).map(|k| a[j * n + k] * vectors[i * n + k]).sum();
                    assert!((av - values[i] * vectors[i * n + j]).abs() < 1e-11 * scale);
                }
            }
        }
    }
}
