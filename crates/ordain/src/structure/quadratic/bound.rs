//! Lower bounds: Gilmore-Lawler, projection, and which of them a problem gets.

use super::ascent;
use super::eigen::eigenvalues;
use super::{BOUND_SHARE, Clock, Limit, Problem, largest};
use crate::error::{Error, Interrupt, Result};
use crate::structure::matching::assignment::{self, Work};

/// A lower bound on the value of every assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bound {
    /// The largest of those below that the problem has.
    Auto,
    /// None: −∞.
    None,
    /// Gilmore (1962) and Lawler (1963): each item by itself, in O(n³).
    GilmoreLawler,
    /// Dual ascent of Hahn and Grant (1998), O(n⁵) a round at worst and n⁴ numbers: for up to 50 items.
    HahnGrant,
    /// The projection bound of Hadley, Rendl and Wolkowicz (1992), in O(n³): where A or B is symmetric.
    Projection,
}

impl Bound {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Auto, Self::None, Self::GilmoreLawler, Self::HahnGrant, Self::Projection];

    /// The name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::GilmoreLawler => "gilmore-lawler",
            Self::HahnGrant => "hahn-grant",
            Self::Projection => "projection",
        }
    }

    /// Whether a problem has this bound.
    pub(super) fn check(self, problem: &Problem) -> Result<()> {
        let (expected, found) = match self {
            Self::HahnGrant if problem.n > ascent::MOST => {
                (format!("at most {} items for the bound hahn-grant", ascent::MOST), format!("{} items", problem.n))
            }
            Self::Projection if !problem.symmetric => {
                ("a symmetric A or B for the bound projection".to_owned(), "two matrices that are not".to_owned())
            }
            _ => return Ok(()),
        };
        Err(Error::Data { expected: format!("{expected}; the bound auto takes those that a problem has"), found })
    }
}

/// A lower bound on the value of every assignment: `lower_bound(problem, by) ≤ problem.value(p)` for every p.
///
/// - Gilmore-Lawler: the assignment problem with costs `C_ij + A_ii B_jj + min Σ_k A_ik B_jπ(k)`, where the minimum over permutations
///   π of all k ≠ i is that of one row falling and the other rising.
/// - Hahn-Grant: from there, costs of pairs of pairs move between `(i→j, k→l)` and `(k→l, i→j)` and into the costs of Gilmore-Lawler, n²
///   assignments a round, until rounds hardly raise it, 100 at most. The order of the pairs turns round after every round.
/// - projection: `Σ λ_k μ_{n-k} + min_p Σ_i (2/n r_i s_{p(i)} + C_{i p(i)}) − (Σ r)(Σ s)/n²` with the eigenvalues of A and B on the vectors
///   of sum 0, and their row sums r and s, diagonals 0.
///
/// All are safe against rounding; for whole numbers with sums up to 2^44 they are rounded up to the next value that is possible.
///
/// ```
/// use ordain::Interrupt;
/// use ordain::structure::quadratic::{Bound, Problem, lower_bound};
/// let (ring, line) = ([0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0]);
/// let problem = Problem::new(3, &ring, &line, None)?;
/// assert_eq!(lower_bound(&problem, Bound::GilmoreLawler, &Interrupt::default())?, 8.0); // the value of all six
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Data`] for Hahn-Grant beyond 50 items and for projection where neither A nor B is symmetric; [`Error::Interrupted`] where `stop`
/// says so.
pub fn lower_bound(problem: &Problem, by: Bound, stop: &Interrupt) -> Result<f64> {
    by.check(problem)?;
    within(problem, by, &Clock::new(Limit::Steps(0), stop.clone()))
}

/// The bound that there is time for.
pub(super) fn within(problem: &Problem, by: Bound, clock: &Clock) -> Result<f64> {
    let until = clock.until(BOUND_SHARE);
    let mut bound = f64::NEG_INFINITY;
    let mut raise = |found: Result<f64>| {
        bound = bound.max(clock.go_on(found, f64::NEG_INFINITY)?);
        Ok::<_, Error>(())
    };
    if matches!(by, Bound::Auto | Bound::GilmoreLawler) {
        raise(gilmore_lawler(problem, &until))?;
    }
    if by == Bound::Projection || by == Bound::Auto && problem.symmetric {
        raise(projection(problem, &until))?;
    }
    if by == Bound::HahnGrant || by == Bound::Auto && problem.n <= ascent::MOST {
        raise(ascent::hahn_grant(problem, &until, clock))?;
    }
    Ok(bound)
}

/// The rows of a matrix without its diagonal, each sorted.
fn sorted_rows(matrix: &[f64], n: usize, falling: bool, stop: &Interrupt) -> Result<Vec<f64>> {
    let mut sorted = Vec::with_capacity(n * n.saturating_sub(1));
    for i in 0..n {
        stop.check()?;
        let from = sorted.len();
        sorted.extend(matrix[i * n..][..n].iter().enumerate().filter(|(j, _)| *j != i).map(|(_, x)| *x));
        sorted[from..].sort_by(|x, y| if falling { y.total_cmp(x) } else { x.total_cmp(y) });
    }
    Ok(sorted)
}

fn gilmore_lawler(problem: &Problem, stop: &Interrupt) -> Result<f64> {
    let (n, m) = (problem.n, problem.n.saturating_sub(1));
    let (a, b) = (sorted_rows(&problem.a, n, false, stop)?, sorted_rows(&problem.b, n, true, stop)?);
    let mut costs = problem.linear.clone();
    for i in 0..n {
        stop.check()?;
        for j in 0..n {
            costs[i * n + j] += dot(&a[i * m..][..m], &b[j * m..][..m]);
        }
    }
    let mut work = Work::default().stopped_by(stop.clone());
    Ok(problem.safe(assignment::solve(&costs, n, n, &mut work)?.cost, problem.slack()))
}

/// A sum of products, four at a time.
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let ((x, rest_x), (y, rest_y)) = (x.as_chunks::<4>(), y.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (x, y) in x.iter().zip(y) {
        sums = std::array::from_fn(|l| sums[l] + x[l] * y[l]);
    }
    let rest = rest_x.iter().zip(rest_y).fold(0.0, |sum, (x, y)| sum + x * y);
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

fn projection(problem: &Problem, stop: &Interrupt) -> Result<f64> {
    let n = problem.n;
    let (scale_a, scale_b) = (largest(&problem.a), largest(&problem.b));
    if n < 2 || scale_a <= 0.0 || scale_b <= 0.0 {
        return gilmore_lawler(problem, stop); // nothing is quadratic
    }
    let [a, b] = [(&problem.a, scale_a), (&problem.b, scale_b)]
        .map(|(matrix, scale)| matrix.iter().map(|x| x / scale).collect::<Vec<f64>>());
    let [rows_a, rows_b] = [&a, &b].map(|matrix| matrix.chunks(n).map(|row| row.iter().sum()).collect::<Vec<f64>>());
    let scale = scale_a * scale_b;
    let mut costs = problem.linear.clone();
    for (i, r) in rows_a.iter().enumerate() {
        for (j, s) in rows_b.iter().enumerate() {
            costs[i * n + j] += 2.0 / n as f64 * r * s * scale;
        }
    }
    let norms = [&a, &b].map(|matrix| matrix.iter().fold(0.0, |sum, x| sum + x * x).sqrt());
    let (a, b) = (eigenvalues(&mut inner(a, n), n - 1, stop)?, eigenvalues(&mut inner(b, n), n - 1, stop)?);
    let spread = a.iter().zip(b.iter().rev()).fold(0.0, |sum, (x, y)| sum + x * y);
    let sums = [&rows_a, &rows_b].map(|rows| rows.iter().fold(0.0, |sum, x| sum + x) / n as f64);
    let mut work = Work::default().stopped_by(stop.clone());
    let linear = assignment::solve(&costs, n, n, &mut work)?.cost;
    let bound = linear + scale * (spread - sums[0] * sums[1]);
    // eigenvalues are right within some n EPSILON of the norm; row sums and their products within less
    let many = (n * n) as f64;
    let slack = (32.0 * many + 64.0) * f64::EPSILON * (scale * norms[0] * norms[1] + largest(&problem.linear));
    Ok(problem.safe(bound, slack + problem.slack()))
}

/// A symmetric matrix on the vectors of sum 0, in an orthonormal base: H M H without its first row and column, where the reflection H
/// turns the vector of ones into a multiple of the first axis. The lower half of it, (n − 1) × (n − 1).
fn inner(matrix: Vec<f64>, n: usize) -> Vec<f64> {
    // w = 1 + √n e_0, H = 1 - w w' / half
    let root = (n as f64).sqrt();
    let half = n as f64 + root;
    let w = |i: usize| if i == 0 { 1.0 + root } else { 1.0 };
    let mut q: Vec<f64> = matrix.chunks(n).map(|row| (row.iter().sum::<f64>() + root * row[0]) / half).collect();
    let shift = q.iter().enumerate().fold(0.0, |sum, (i, x)| sum + x * w(i)) / (2.0 * half);
    q.iter_mut().enumerate().for_each(|(i, x)| *x -= shift * w(i));
    let m = n - 1;
    let mut out = vec![0.0; m * m];
    for i in 0..m {
        for j in 0..=i {
            out[i * m + j] = matrix[(i + 1) * n + j + 1] - q[j + 1] - q[i + 1];
        }
    }
    out
}
