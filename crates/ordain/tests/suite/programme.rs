//! Quadratic programmes, as an oracle: a dense interior point method that shows its answer to be the optimum.

/// `min x'Px/2 + q'x` where the first of `rows` are equalities `a·x = b`, the others `a·x ≤ b`; P is symmetric and not indefinite.
///
/// The answer is checked before it is returned: it satisfies the conditions of Karush, Kuhn and Tucker, which make it a minimum whatever
/// way led to it. (Predictor and corrector: Mehrotra, SIAM J. Optimization 2 (1992).)
pub(crate) fn minimum(p: &[Vec<f64>], q: &[f64], rows: &[(Vec<f64>, f64)], equalities: usize) -> (f64, Vec<f64>) {
    let (n, (equal, less)) = (q.len(), rows.split_at(equalities));
    let size = 1.0 + q.iter().chain(rows.iter().map(|row| &row.1)).fold(0.0f64, |most, x| most.max(x.abs()));
    let (mut x, mut y) = (vec![0.0; n], vec![0.0; equalities]);
    let mut s: Vec<f64> = less.iter().map(|row| row.1.max(1.0)).collect();
    let mut z = vec![1.0; less.len()];
    for _ in 0..100 {
        // what is left of the four conditions: slope, equalities, inequalities with their slack, and slack times price
        let slope: Vec<f64> = (0..n)
            .map(|j| {
                let priced = |rows: &[(Vec<f64>, f64)], by: &[f64]| -> f64 {
                    rows.iter().zip(by).map(|(row, by)| row.0[j] * by).sum()
                };
                dot(&p[j], &x) + q[j] + priced(equal, &y) + priced(less, &z)
            })
            .collect();
        let off: Vec<f64> = equal.iter().map(|row| dot(&row.0, &x) - row.1).collect();
        let over: Vec<f64> = less.iter().zip(&s).map(|(row, s)| dot(&row.0, &x) + s - row.1).collect();
        let gap = dot(&s, &z);
        let value = 0.5 * (0..n).map(|j| x[j] * dot(&p[j], &x)).sum::<f64>() + dot(q, &x);
        let largest = [&slope, &off, &over].into_iter().flatten().fold(0.0f64, |most, r| most.max(r.abs()));
        if largest <= 1e-10 * size && gap <= 1e-11 * (1.0 + value.abs()) {
            assert!(s.iter().chain(&z).all(|v| *v >= 0.0));
            return (value, x);
        }
        let matrix = system(p, equal, less, &s, &z);
        // the step that leaves the products at `target`
        let step = |target: &dyn Fn(usize) -> f64| {
            let push: Vec<f64> = (0..less.len()).map(|i| (target(i) - s[i] * z[i] + z[i] * over[i]) / s[i]).collect();
            let pulled = |j: usize| less.iter().zip(&push).map(|(row, push)| row.0[j] * push).sum::<f64>();
            let mut right: Vec<f64> = (0..n).map(|j| -slope[j] - pulled(j)).collect();
            right.extend(off.iter().map(|off| -off));
            let both = solved(matrix.clone(), right);
            let (dx, dy) = both.split_at(n);
            let ds: Vec<f64> = less.iter().zip(&over).map(|(row, over)| -over - dot(&row.0, dx)).collect();
            let dz: Vec<f64> = (0..less.len()).map(|i| (target(i) - s[i] * z[i] - z[i] * ds[i]) / s[i]).collect();
            (dx.to_vec(), dy.to_vec(), ds, dz)
        };
        let count = less.len().max(1) as f64;
        let (_, _, ds, dz) = step(&|_| 0.0);
        let (a, b) = (longest(&s, &ds), longest(&z, &dz));
        let after: f64 = (0..s.len()).map(|i| (s[i] + a * ds[i]) * (z[i] + b * dz[i])).sum();
        // no smaller than is asked for: with products of nothing the system is as good as singular
        let least = 1e-12 * (1.0 + value.abs());
        let target = ((after / gap.max(f64::MIN_POSITIVE)).powi(3) * gap).max(least) / count;
        let (dx, dy, ds, dz) = step(&|i| target - ds[i] * dz[i]);
        // one length for both sides: P joins them
        let far = 0.995 * longest(&s, &ds).min(longest(&z, &dz));
        let far = if less.is_empty() { 1.0 } else { far };
        for (at, by) in [(&mut x, &dx), (&mut y, &dy), (&mut s, &ds), (&mut z, &dz)] {
            at.iter_mut().zip(by).for_each(|(at, by)| *at += far * by);
        }
    }
    panic!("no optimum in 100 steps");
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// How far a step goes before something falls below 0; 1 at most.
fn longest(at: &[f64], by: &[f64]) -> f64 {
    at.iter().zip(by).filter(|(_, by)| **by < 0.0).fold(1.0, |most, (at, by)| most.min(-at / by))
}

/// `P + A'(z/s)A` with the equalities beside and below it.
fn system(p: &[Vec<f64>], equal: &[(Vec<f64>, f64)], less: &[(Vec<f64>, f64)], s: &[f64], z: &[f64]) -> Vec<Vec<f64>> {
    let (n, m) = (p.len(), equal.len());
    let mut all = vec![vec![0.0; n + m]; n + m];
    for j in 0..n {
        all[j][..n].copy_from_slice(&p[j]);
        for (e, row) in equal.iter().enumerate() {
            (all[j][n + e], all[n + e][j]) = (row.0[j], row.0[j]);
        }
    }
    for ((row, _), weight) in less.iter().zip(s.iter().zip(z).map(|(s, z)| z / s)) {
        let held: Vec<usize> = (0..n).filter(|&j| row[j] != 0.0).collect();
        for &i in &held {
            held.iter().for_each(|&j| all[i][j] += weight * row[i] * row[j]);
        }
    }
    all
}

/// Elimination with the largest pivot of each column.
fn solved(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap_or(k);
        a.swap(k, pivot);
        b.swap(k, pivot);
        let (top, rest) = a.split_at_mut(k + 1);
        for (i, row) in rest.iter_mut().enumerate().filter(|(_, row)| row[k] != 0.0) {
            let factor = row[k] / top[k][k];
            row[k..].iter_mut().zip(&top[k][k..]).for_each(|(to, from)| *to -= factor * from);
            b[k + 1 + i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        b[k] = (b[k] - dot(&a[k][k + 1..], &b[k + 1..])) / a[k][k];
    }
    b
}

#[test]
fn programmes_by_hand() {
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    let unit = vec![vec![1.0, 0.0], vec![0.0, 1.0]];
    // the point of x + y = 1 next to 0, and the one with x ≤ 1/4
    let sum = (vec![1.0, 1.0], 1.0);
    near(minimum(&unit, &[0.0; 2], std::slice::from_ref(&sum), 1).0, 0.25);
    let (value, x) = minimum(&unit, &[0.0; 2], &[sum, (vec![1.0, 0.0], 0.25)], 1);
    near(value, 0.5 * (1.0 / 16.0 + 9.0 / 16.0));
    near(x[1], 0.75);
    // a corner of a square, where nothing is curved
    let flat = vec![vec![0.0; 2]; 2];
    let square = [(vec![1.0, 0.0], 2.0), (vec![0.0, 1.0], 3.0), (vec![-1.0, 0.0], 0.0), (vec![0.0, -1.0], 0.0)];
    near(minimum(&flat, &[-1.0, -1.0], &square, 0).0, -5.0);
}
