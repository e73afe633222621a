//! The slow truth of matchings: every one of them, one by one.
//!
//! Good for up to some 9 rows; what is fast is tested against it.

/// Calls `visit` with every permutation of `0..m`, in lexicographic order; for `m = 0` once, with nothing.
///
/// Costs O(m!) and allocates once, not per visit.
///
/// ```
/// let mut all = vec![];
/// ordain::structure::exhaustive::permutations(3, &mut |y| all.push(y.to_vec()));
/// assert_eq!(all, [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]);
/// ```
pub fn permutations(m: usize, visit: &mut dyn FnMut(&[u32])) {
    injections(m, m, visit);
}

/// Calls `visit` with every choice of `k` different numbers of `0..n` in a row, in lexicographic order.
///
/// There are n!/(n − k)! of them, none where `k > n`. Allocates once, not per visit.
///
/// ```
/// let mut count = 0;
/// ordain::structure::exhaustive::injections(5, 2, &mut |_| count += 1);
/// assert_eq!(count, 5 * 4);
/// ```
pub fn injections(n: usize, k: usize, visit: &mut dyn FnMut(&[u32])) {
    fn choose(at: usize, chosen: &mut [u32], taken: &mut [bool], visit: &mut dyn FnMut(&[u32])) {
        if at == chosen.len() {
            return visit(chosen);
        }
        for i in 0..taken.len() {
            if !taken[i] {
                taken[i] = true;
                chosen[at] = i as u32;
                choose(at + 1, chosen, taken, visit);
                taken[i] = false;
            }
        }
    }
    if k <= n {
        choose(0, &mut vec![0; k], &mut vec![false; n], visit);
    }
}

/// Log-partition function and edge marginals of `k` columns that choose `k` different rows of `n`; others stay out.
///
/// ```text
/// Z = Σ_y Π_j exp w[y(j), j],   P[i, j] = p(y(j) = i)
/// ```
///
/// over all injections `y` of columns into rows; `w` and `P` are row-major `n`×`k`, and −∞ forbids an edge. For `n = k`
/// this is the permanent, for `k < n` the law of the top k places of a list. Summed in log space, in two rounds; O(k)
/// per injection. Where nothing is allowed, log Z is −∞ and the marginals are 0.
///
/// ```
/// let (log_z, p) = ordain::structure::exhaustive::log_sum(&[0.0; 6], 3, 2);
/// assert!((log_z - 6f64.ln()).abs() < 1e-14);
/// assert!(p.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-14));
/// ```
pub fn log_sum(w: &[f64], n: usize, k: usize) -> (f64, Vec<f64>) {
    assert_eq!(w.len(), n * k, "log-weights of {n} rows and {k} columns");
    let weight = |rows: &[u32]| rows.iter().enumerate().map(|(j, &i)| w[i as usize * k + j]).sum::<f64>();
    let (mut top, mut sum, mut marginals) = (f64::NEG_INFINITY, 0.0, vec![0.0; n * k]);
    injections(n, k, &mut |rows| top = top.max(weight(rows)));
    if top == f64::NEG_INFINITY {
        return (top, marginals);
    }
    injections(n, k, &mut |rows| {
        let share = (weight(rows) - top).exp();
        sum += share;
        rows.iter().enumerate().for_each(|(j, &i)| marginals[i as usize * k + j] += share);
    });
    marginals.iter_mut().for_each(|p| *p /= sum);
    (top + sum.ln(), marginals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_there_should_be() {
        for (n, k, truth) in [(0, 0, 1), (1, 0, 1), (1, 1, 1), (2, 3, 0), (4, 4, 24), (6, 3, 120), (7, 7, 5040)] {
            let mut last: Option<Vec<u32>> = None;
            let mut count = 0;
            injections(n, k, &mut |rows| {
                assert!(rows.len() == k && rows.iter().all(|&i| (i as usize) < n));
                // ascending order, so that none comes twice
                assert!(last.as_deref().is_none_or(|last| last < rows));
                last = Some(rows.to_vec());
                count += 1;
            });
            assert_eq!(count, truth);
        }
    }

    #[test]
    fn known_sums() {
        let small = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0f64].map(f64::ln);
        let (log_z, p) = log_sum(&small, 3, 3); // the permanent of 1..9 is 450
        assert!((log_z - 450f64.ln()).abs() < 1e-14);
        assert!((p[0] - (5.0 * 9.0 + 6.0 * 8.0) / 450.0).abs() < 1e-14);
        let (log_z, p) = log_sum(&small[..2], 2, 1);
        assert!((log_z - 3f64.ln()).abs() < 1e-15 && (p[1] - 2.0 / 3.0).abs() < 1e-15);
        let none = f64::NEG_INFINITY;
        assert_eq!(log_sum(&[none, 0.0, none, 0.0], 2, 2), (none, vec![0.0; 4]));
        assert_eq!(log_sum(&[], 0, 0), (0.0, vec![]));
    }
}
