//! Eigenvalues and eigenvectors of a symmetric matrix.

#![allow(clippy::needless_range_loop)] // several rows and columns at one index

use std::mem::swap;

/// The eigenvalues of a symmetric matrix, and its eigenvectors as the columns of a matrix, both in no order that is promised: Householder's reflections to a
/// tridiagonal matrix, then QL steps with implicit shifts (EISPACK `tred2` and `tql2`, Bowdler et al. 1968). O(n³).
///
/// ```
/// use ordain::matrix::eigen;
/// let (mut values, vectors) = eigen(&[2.0, 1.0, 1.0, 2.0], 2);
/// assert_eq!(vectors.len(), 4);
/// values.sort_by(f64::total_cmp);
/// assert!((values[0] - 1.0).abs() < 1e-12 && (values[1] - 3.0).abs() < 1e-12);
/// ```
pub fn eigen(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut v = matrix.to_vec();
    if n == 0 {
        return (vec![], v);
    }
    let (mut d, mut e) = (vec![0.0; n], vec![0.0; n]);
    reduce(&mut v, &mut d, &mut e, n);
    turn(&mut v, &mut d, &mut e, n);
    (d, v)
}

/// To tridiagonal form, with the reflections gathered in `v`.
fn reduce(v: &mut [f64], d: &mut [f64], e: &mut [f64], n: usize) {
    d.copy_from_slice(&v[(n - 1) * n..]);
    for i in (1..n).rev() {
        let scale: f64 = d[..i].iter().map(|x| x.abs()).sum();
        let mut h = 0.0;
        if scale == 0.0 {
            e[i] = d[i - 1];
            for j in 0..i {
                d[j] = v[(i - 1) * n + j];
                v[i * n + j] = 0.0;
                v[j * n + i] = 0.0;
            }
        } else {
            for x in &mut d[..i] {
                *x /= scale;
                h += *x * *x;
            }
            let f = d[i - 1];
            let g = if f > 0.0 { -h.sqrt() } else { h.sqrt() };
            e[i] = scale * g;
            h -= f * g;
            d[i - 1] = f - g;
            e[..i].fill(0.0);
            for j in 0..i {
                let f = d[j];
                v[j * n + i] = f;
                let mut g = e[j] + v[j * n + j] * f;
                for k in j + 1..i {
                    g += v[k * n + j] * d[k];
                    e[k] += v[k * n + j] * f;
                }
                e[j] = g;
            }
            let mut f = 0.0;
            for j in 0..i {
                e[j] /= h;
                f += e[j] * d[j];
            }
            let hh = f / (h + h);
            for j in 0..i {
                e[j] -= hh * d[j];
            }
            for j in 0..i {
                let (f, g) = (d[j], e[j]);
                for k in j..i {
                    v[k * n + j] -= f * e[k] + g * d[k];
                }
                d[j] = v[(i - 1) * n + j];
                v[i * n + j] = 0.0;
            }
        }
        d[i] = h;
    }
    for i in 0..n - 1 {
        v[(n - 1) * n + i] = v[i * n + i];
        v[i * n + i] = 1.0;
        let h = d[i + 1];
        if h != 0.0 {
            for k in 0..=i {
                d[k] = v[k * n + i + 1] / h;
            }
            for j in 0..=i {
                let g: f64 = (0..=i).map(|k| v[k * n + i + 1] * v[k * n + j]).sum();
                for k in 0..=i {
                    v[k * n + j] -= g * d[k];
                }
            }
        }
        for k in 0..=i {
            v[k * n + i + 1] = 0.0;
        }
    }
    for j in 0..n {
        d[j] = v[(n - 1) * n + j];
        v[(n - 1) * n + j] = 0.0;
    }
    v[n * n - 1] = 1.0;
    e[0] = 0.0;
}

/// The eigenvalues and eigenvectors of the tridiagonal form. Vectors are turned as rows, which lie together.
fn turn(v: &mut [f64], d: &mut [f64], e: &mut [f64], n: usize) {
    transpose(v, n);
    e.rotate_left(1);
    e[n - 1] = 0.0;
    let (mut shift, mut largest) = (0.0, 0.0f64);
    for l in 0..n {
        largest = largest.max(d[l].abs() + e[l].abs());
        let m = (l..n).find(|&m| e[m].abs() <= f64::EPSILON * largest).unwrap_or(n - 1);
        // each of a few dozen steps at most; a matrix that is not finite ends here too
        for _ in 0..if m > l { 100 } else { 0 } {
            let mut g = d[l];
            let mut p = (d[l + 1] - g) / (2.0 * e[l]);
            let mut r = p.hypot(1.0);
            if p < 0.0 {
                r = -r;
            }
            d[l] = e[l] / (p + r);
            d[l + 1] = e[l] * (p + r);
            let next = d[l + 1];
            let h = g - d[l];
            d[l + 2..n].iter_mut().for_each(|d| *d -= h);
            shift += h;
            p = d[m];
            let (mut c, mut c2, mut c3) = (1.0, 1.0, 1.0);
            let beside = e[l + 1];
            let (mut s, mut s2) = (0.0, 0.0);
            for i in (l..m).rev() {
                c3 = c2;
                c2 = c;
                s2 = s;
                g = c * e[i];
                let h = c * p;
                r = p.hypot(e[i]);
                e[i + 1] = s * r;
                s = e[i] / r;
                c = p / r;
                p = c * d[i] - s * g;
                d[i + 1] = h + s * (c * g + s * d[i]);
                let (low, high) = v.split_at_mut((i + 1) * n);
                for (a, b) in low[i * n..].iter_mut().zip(&mut high[..n]) {
                    let h = *b;
                    *b = s * *a + c * h;
                    *a = c * *a - s * h;
                }
            }
            p = -s * s2 * c3 * beside * e[l] / next;
            e[l] = s * p;
            d[l] = c * p;
            if e[l].abs() <= f64::EPSILON * largest || !e[l].is_finite() {
                break;
            }
        }
        d[l] += shift;
        e[l] = 0.0;
    }
    transpose(v, n);
}

fn transpose(v: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..i {
            let (low, high) = v.split_at_mut(i * n);
            swap(&mut low[j * n + i], &mut high[j]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_make_up_the_matrix() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 30) - 1.0
        };
        for n in [1, 2, 3, 5, 8, 40] {
            for rank in [1, n / 2 + 1, n] {
                let half: Vec<f64> = (0..n * rank).map(|_| random()).collect();
                let mut a = vec![0.0; n * n];
                for i in 0..n {
                    for j in 0..n {
                        a[i * n + j] = (0..rank).map(|k| half[i * rank + k] * half[j * rank + k]).sum();
                    }
                }
                let (values, vectors) = eigen(&a, n);
                let size = a.iter().fold(1.0f64, |size, x| size.max(x.abs()));
                for i in 0..n {
                    for j in 0..n {
                        let again: f64 = (0..n).map(|k| vectors[i * n + k] * values[k] * vectors[j * n + k]).sum();
                        assert!((again - a[i * n + j]).abs() < 1e-11 * size * n as f64, "{n} {rank}");
                        let unit: f64 = (0..n).map(|k| vectors[k * n + i] * vectors[k * n + j]).sum();
                        assert!((unit - f64::from(u8::from(i == j))).abs() < 1e-12 * n as f64);
                    }
                }
            }
        }
        let (values, _) = eigen(&[0.0; 9], 3);
        assert_eq!(values, [0.0; 3]);
    }
}
