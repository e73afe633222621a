//! Eigenvalues of a symmetric matrix: Householder's reflections make it tridiagonal, halving finds its eigenvalues.

use crate::error::{Interrupt, Result};

/// The eigenvalues, ascending, each within a small multiple of m · 2^-52 · |matrix|. O(m³); the matrix is used up, and its entries have to be
/// about 1 in size, for their squares to be finite.
///
/// Golub, Van Loan, *Matrix computations*, 2013, sections 8.3.1 and 8.4.1.
pub(super) fn eigenvalues(matrix: &mut [f64], m: usize, stop: &Interrupt) -> Result<Vec<f64>> {
    let (diagonal, beside) = tridiagonal(matrix, m, stop)?;
    // Gershgorin: all eigenvalues lie within this
    let radius = (0..m).map(|i| {
        let around = |at: Option<usize>| at.and_then(|at| beside.get(at)).map_or(0.0, |x| x.abs());
        diagonal[i].abs() + around(i.checked_sub(1)) + around(Some(i))
    });
    let radius = radius.fold(0.0, f64::max) * (1.0 + 4.0 * f64::EPSILON);
    let squares: Vec<f64> = beside.iter().map(|x| x * x).collect();
    let mut found = Vec::with_capacity(m);
    let mut least = -radius;
    for k in 0..m {
        stop.check()?;
        let (mut low, mut high) = (least, radius);
        loop {
            let middle = low + 0.5 * (high - low);
            if middle <= low || middle >= high || high - low <= f64::EPSILON * radius {
                break;
            }
            if below(&diagonal, &squares, middle) > k { high = middle } else { low = middle }
        }
        least = low; // the next one is not below it
        found.push(low + 0.5 * (high - low));
    }
    Ok(found)
}

/// How many eigenvalues lie below `x`: the negative pivots of the matrix less x, which is Sylvester's law.
fn below(diagonal: &[f64], squares: &[f64], x: f64) -> usize {
    let (mut count, mut pivot) = (0, 1.0);
    for (i, d) in diagonal.iter().enumerate() {
        let square = if i == 0 { 0.0 } else { squares[i - 1] };
        pivot = d - x - square / pivot;
        if pivot.abs() < f64::MIN_POSITIVE {
            pivot = -f64::MIN_POSITIVE;
        }
        count += usize::from(pivot < 0.0);
    }
    count
}

/// Diagonal and subdiagonal of a tridiagonal matrix with the same eigenvalues; the lower half of the matrix is read.
fn tridiagonal(matrix: &mut [f64], m: usize, stop: &Interrupt) -> Result<(Vec<f64>, Vec<f64>)> {
    let (mut diagonal, mut beside) = (vec![0.0; m], vec![0.0; m.saturating_sub(1)]);
    let (mut w, mut q) = (vec![0.0; m], vec![0.0; m]);
    for k in 0..m {
        stop.check()?;
        diagonal[k] = matrix[k * m + k];
        if k + 1 == m {
            break;
        }
        // the reflection that leaves nothing of column k below the subdiagonal
        for i in k + 1..m {
            w[i] = matrix[i * m + k];
        }
        let rest = w[k + 2..].iter().fold(0.0, |sum, x| sum + x * x);
        if rest <= f64::MIN_POSITIVE {
            beside[k] = w[k + 1];
            continue;
        }
        let norm = (rest + w[k + 1] * w[k + 1]).sqrt().copysign(w[k + 1]);
        beside[k] = -norm;
        let half = norm * (norm + w[k + 1]); // half of |w|² once its head is changed
        w[k + 1] += norm;
        // matrix <- H matrix H with H = 1 - w w' / half, in the lower half
        q[k + 1..].fill(0.0);
        for i in k + 1..m {
            let row = &matrix[i * m + k + 1..][..i - k];
            let mut sum = 0.0;
            for (j, x) in (k + 1..i).zip(row) {
                sum += x * w[j];
                q[j] += x * w[i];
            }
            q[i] += sum + row[i - k - 1] * w[i];
        }
        q[k + 1..].iter_mut().for_each(|x| *x /= half);
        let shift = q[k + 1..].iter().zip(&w[k + 1..]).fold(0.0, |sum, (q, w)| sum + q * w) / (2.0 * half);
        for i in k + 1..m {
            q[i] -= shift * w[i];
        }
        for i in k + 1..m {
            for j in k + 1..=i {
                matrix[i * m + j] -= w[i] * q[j] + q[i] * w[j];
            }
        }
    }
    Ok((diagonal, beside))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn known_eigenvalues_come_back() {
        // the second difference of m points: 2 - 2 cos(k pi / (m + 1)), in another order
        for m in [1usize, 2, 3, 10, 31] {
            let moved = |i: usize| (i * 7 + 3) % m; // no m is a multiple of 7
            let mut matrix = vec![0.0; m * m];
            for i in 0..m {
                let at = moved(i);
                matrix[at * m + at] = 2.0;
                if i + 1 < m {
                    let next = moved(i + 1);
                    (matrix[at * m + next], matrix[next * m + at]) = (-1.0, -1.0);
                }
            }
            let found = eigenvalues(&mut matrix, m, &Interrupt::default()).unwrap();
            for (k, x) in found.iter().enumerate() {
                let truth = 2.0 - 2.0 * (std::f64::consts::PI * (k + 1) as f64 / (m + 1) as f64).cos();
                assert!((x - truth).abs() < 1e-13, "{x} is not {truth}");
            }
        }
    }

    /// Sum and sum of squares are those of the matrix, also where it has few different rows.
    #[test]
    fn traces_are_kept() {
        let mut random = Random::new(1);
        for case in 0..200 {
            let m = random.below(12);
            let mut matrix = vec![0.0; m * m];
            for i in 0..m {
                for j in 0..=i {
                    let x = if case % 2 == 0 { random.normal() } else { random.below(3) as f64 - 1.0 };
                    (matrix[i * m + j], matrix[j * m + i]) = (x, x);
                }
            }
            let trace: f64 = (0..m).map(|i| matrix[i * m + i]).sum();
            let squares: f64 = matrix.iter().map(|x| x * x).sum();
            let found = eigenvalues(&mut matrix, m, &Interrupt::default()).unwrap();
            assert!(found.is_sorted());
            assert!((found.iter().sum::<f64>() - trace).abs() <= 1e-12 * (1.0 + squares));
            assert!((found.iter().map(|x| x * x).sum::<f64>() - squares).abs() <= 1e-12 * (1.0 + squares));
        }
    }
}
