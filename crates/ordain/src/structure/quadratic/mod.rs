//! Quadratic assignment: items to places one to one, where every pair of items costs what their two places make of it.
//!
//! ```text
//! minimise  Σ_ij A[i][j] · B[p(i)][p(j)] + Σ_i C[i][p(i)]   over permutations p
//! ```
//!
//! The problem of Koopmans and Beckmann (1957). It is hard: beyond some 30 items nobody proves optima. [`solve`] searches within a limit
//! and returns what it found beside a lower bound.

mod ascent;
mod bound;
mod eigen;
mod search;
mod table;

use super::exhaustive::permutations;
use crate::error::{Error, Interrupt, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub use bound::{Bound, lower_bound};

/// Problems of up to so many items are solved by trying all permutations: 5040 of them take less than a millisecond.
const ENUMERATED: usize = 7;
/// The largest sum of products in size, far from overflow: bounds and differences add up some thousand of them.
const LARGEST: f64 = 1e290;
/// Sums of whole numbers up to this size are exact, in differences and in halves too.
const EXACT: f64 = (1u64 << 44) as f64;
/// Data that are not whole numbers count as solved within this share of the size of a value.
const NEAR: f64 = 1e-10;
/// One over the share of a time limit that is held back at most, so that a pause at the end stays within it.
const HELD_BACK: u128 = 4;
/// The share of a time limit that the bound may take.
const BOUND_SHARE: f64 = 0.25;

/// A quadratic assignment problem, checked.
///
/// ```
/// use ordain::structure::quadratic::Problem;
/// let flow = [0.0, 5.0, 2.0, 0.0]; // 5 from item 0 to item 1, and 2 back
/// let distance = [0.0, 1.0, 3.0, 0.0];
/// let problem = Problem::new(2, &flow, &distance, None)?;
/// assert_eq!((problem.value(&[0, 1]), problem.value(&[1, 0])), (11.0, 17.0));
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Problem {
    n: usize,
    /// Off the diagonal; there it is 0.
    a: Vec<f64>,
    b: Vec<f64>,
    /// The linear term and the products of the diagonals.
    linear: Vec<f64>,
    /// Both matrices are symmetric. Where one was, the other is replaced by its symmetric half, which changes no value.
    symmetric: bool,
    /// At least the sum of the sizes of all terms of any permutation.
    size: f64,
    /// Every value is a multiple of this whole number; 0 where values are not whole, or too large to be exact.
    grid: f64,
}

/// When [`solve`] ends, if it has not proved its result before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// After so many exchanges of two items. The same problem, steps and seed give the same result.
    Steps(u64),
    /// After so many seconds, bound included: a quarter of them at most is for the bound. It ends earlier by the longest time that a step took so far,
    /// with the time for which other work had the processor, but at most a quarter, so that the last step ends within the limit.
    Seconds(f64),
}

/// How [`solve`] works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// When it ends.
    pub limit: Limit,
    /// The lower bound.
    pub bound: Bound,
    /// The seed of the search.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { limit: Limit::Seconds(1.0), bound: Bound::Auto, seed: 0 }
    }
}

/// What [`solve`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The place of each item.
    pub places: Vec<u32>,
    /// Its value.
    pub value: f64,
    /// No permutation has a lesser value than this; −∞ where no bound was asked for, or there was no time for one.
    pub bound: f64,
    /// Whether the value is the bound, up to rounding: the optimum.
    pub proven: bool,
    /// Exchanges that the search made, or permutations tried.
    pub steps: u64,
}

impl Solution {
    /// Value less bound: 0 to ∞.
    pub fn gap(&self) -> f64 {
        self.value - self.bound
    }
}

impl Problem {
    /// A problem of `n` items and as many places, from matrices that lie row after row.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] for a matrix that is not `n` × `n`, a number that is not finite, or products whose sums may exceed 1e290.
    pub fn new(n: usize, a: &[f64], b: &[f64], linear: Option<&[f64]>) -> Result<Self> {
        for (name, matrix) in [("A", Some(a)), ("B", Some(b)), ("the linear term", linear)] {
            matrix.map_or(Ok(()), |matrix| check(n, name, matrix))?;
        }
        let mut own = Self {
            n,
            a: a.to_vec(),
            b: b.to_vec(),
            linear: linear.map_or_else(|| vec![0.0; n * n], <[f64]>::to_vec),
            symmetric: false,
            size: 0.0,
            grid: 0.0,
        };
        own.size = own.measure();
        if own.size > LARGEST || own.size.is_nan() {
            return Err(Error::Data {
                expected: format!("sums of products of at most {LARGEST:e}; divide the entries by a common factor"),
                found: format!("entries of up to {:e} in A and {:e} in B", largest(a), largest(b)),
            });
        }
        own.part_diagonals();
        own.grid = own.step();
        own.make_symmetric();
        Ok(own)
    }

    /// The number of items.
    pub fn items(&self) -> usize {
        self.n
    }

    /// Whether both matrices are symmetric, or one is: the other may then be replaced by its symmetric half.
    pub fn symmetric(&self) -> bool {
        self.symmetric
    }

    /// The value of an assignment, in O(n²): exact for whole numbers with sums up to 2^44.
    ///
    /// # Panics
    ///
    /// Where `places` is not a permutation of `0..n`.
    pub fn value(&self, places: &[u32]) -> f64 {
        assert_eq!(places.len(), self.n, "a place for each item");
        let rows = places.iter().enumerate().map(|(i, &place)| {
            let (a, b) = (&self.a[i * self.n..][..self.n], &self.b[place as usize * self.n..][..self.n]);
            let row = a.iter().zip(places).fold(0.0, |sum, (a, &other)| sum + a * b[other as usize]);
            row + self.linear[i * self.n + place as usize]
        });
        rows.fold(0.0, |sum, row| sum + row)
    }

    /// At least the sum of the sizes of all terms of any permutation.
    fn measure(&self) -> f64 {
        let sum = |matrix: &[f64]| matrix.iter().fold(0.0, |sum, x| sum + x.abs());
        let products = (sum(&self.a) * largest(&self.b)).min(largest(&self.a) * sum(&self.b));
        products + self.linear.chunks(self.n.max(1)).map(largest).fold(0.0, |sum, row| sum + row)
    }

    /// Puts the products of the diagonals to the linear term, where they belong.
    fn part_diagonals(&mut self) {
        let n = self.n;
        for i in 0..n {
            for j in 0..n {
                self.linear[i * n + j] += self.a[i * n + i] * self.b[j * n + j];
            }
        }
        (0..n).for_each(|i| (self.a[i * n + i], self.b[i * n + i]) = (0.0, 0.0));
    }

    /// The greatest number of which every value is a multiple, 0 where it is not whole.
    fn step(&self) -> f64 {
        let all = || self.a.iter().chain(&self.b).chain(&self.linear);
        if self.size > EXACT || all().any(|x| x.fract().abs() > 0.0) || all().any(|x| x.abs() > EXACT) {
            return 0.0;
        }
        let common = |matrix: &[f64]| matrix.iter().fold(0, |divisor, x| gcd(divisor, x.abs() as u64));
        let pairs = if mirrored(&self.a, self.n) && mirrored(&self.b, self.n) { 2 } else { 1 };
        // a product that is not 0 is at most the size
        gcd(common(&self.a) * common(&self.b) * pairs, common(&self.linear)).max(1) as f64
    }

    /// Where one matrix is symmetric, only the symmetric half of the other counts.
    fn make_symmetric(&mut self) {
        let (a, b) = (mirrored(&self.a, self.n), mirrored(&self.b, self.n));
        self.symmetric = a || b;
        if a && !b {
            halve(&mut self.b, self.n);
        } else if b && !a {
            halve(&mut self.a, self.n);
        }
    }

    /// A bound made safe against rounding, and raised to the next value that is possible.
    fn safe(&self, bound: f64, slack: f64) -> f64 {
        let safe = bound - slack;
        if self.grid > 0.0 && safe.is_finite() { (safe / self.grid).ceil() * self.grid } else { safe }
    }

    /// What rounding may do to the sum of the terms of a permutation, and to the assignments that bound it: 0 for whole numbers.
    fn slack(&self) -> f64 {
        if self.grid > 0.0 {
            return 0.0;
        }
        (4 * self.n + 16) as f64 * f64::EPSILON * self.size + (self.n * self.n) as f64 * f64::MIN_POSITIVE
    }

    /// How near to the bound a value has to be to be the optimum.
    fn near(&self) -> f64 {
        if self.grid > 0.0 { 0.0 } else { NEAR * self.size }
    }
}

fn check(n: usize, name: &str, matrix: &[f64]) -> Result<()> {
    if n.checked_mul(n) != Some(matrix.len()) || u32::try_from(n).is_err() {
        return Err(Error::Data {
            expected: format!("{n} x {n} numbers in {name}"),
            found: format!("{} numbers", matrix.len()),
        });
    }
    match matrix.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(Error::Data {
            expected: format!("finite numbers in {name}"),
            found: format!("{} in row {}, column {} (counted from 0)", matrix[at], at / n, at % n),
        }),
        None => Ok(()),
    }
}

fn largest(matrix: &[f64]) -> f64 {
    matrix.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[allow(clippy::float_cmp)] // the same number twice
fn mirrored(matrix: &[f64], n: usize) -> bool {
    (0..n).all(|i| (0..i).all(|j| matrix[i * n + j] == matrix[j * n + i]))
}

fn halve(matrix: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..i {
            let half = 0.5 * matrix[i * n + j] + 0.5 * matrix[j * n + i];
            (matrix[i * n + j], matrix[j * n + i]) = (half, half);
        }
    }
}

/// The end of the time, and whoever else may stop the work.
struct Clock {
    start: Instant,
    /// Seconds until the end, if there is one.
    limit: Option<f64>,
    pace: Arc<Pace>,
    stop: Interrupt,
    /// Whether it was not the time.
    stopped: Arc<AtomicBool>,
}

/// The longest time between two looks at the clock, in nanoseconds: of one step where nothing else runs, and on a busy machine the time for which
/// others have had the processor. Work that ends so long before its limit ends within it, unless it is put aside for longer than ever before. More
/// than a quarter of the limit is not held back: where others have the processor for that long, ending early would leave no time to search.
#[derive(Default)]
struct Pace {
    last: AtomicU64,
    longest: AtomicU64,
}

impl Pace {
    /// A look at the clock: whether the next one may come after `end`.
    fn over(&self, now: Duration, end: Duration) -> bool {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let away = now.saturating_sub(self.last.swap(now, Ordering::Relaxed));
        let longest = u128::from(self.longest.fetch_max(away, Ordering::Relaxed).max(away));
        u128::from(now) + longest.min(end.as_nanos() / HELD_BACK) >= end.as_nanos()
    }
}

impl Clock {
    fn new(limit: Limit, stop: Interrupt) -> Self {
        let limit = if let Limit::Seconds(seconds) = limit { Some(seconds) } else { None };
        Self { start: Instant::now(), limit, pace: Arc::default(), stop, stopped: Arc::default() }
    }

    /// What says yes when this share of the time is over, when all of it may be over at the next step, or when somebody stops the work.
    fn until(&self, share: f64) -> Interrupt {
        let (stop, stopped, pace, start) = (self.stop.clone(), self.stopped.clone(), self.pace.clone(), self.start);
        // a limit of more seconds than a duration holds is none
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
        let ends = self.limit.and_then(|limit| Some((seconds(limit)?, seconds(limit * share)?)));
        Interrupt::when(move || {
            if stop.check().is_err() {
                stopped.store(true, Ordering::Relaxed);
                return true;
            }
            let Some((limit, end)) = ends else { return false };
            let now = start.elapsed();
            pace.over(now, limit) || now >= end
        })
    }

    /// The share of the time that is over.
    fn share(&self) -> f64 {
        self.limit.map_or(0.0, |limit| if limit > 0.0 { self.start.elapsed().as_secs_f64() / limit } else { 1.0 })
    }

    /// What was interrupted by time goes on; who stopped it is obeyed.
    fn go_on<T>(&self, done: Result<T>, instead: T) -> Result<T> {
        match done {
            Err(Error::Interrupted) if !self.stopped.load(Ordering::Relaxed) => Ok(instead),
            other => other,
        }
    }
}

/// The best assignment that a search finds within a limit, and a lower bound.
///
/// Up to 7 items all permutations are tried. Beyond, the bound comes first ([`lower_bound`]); then iterated 2-opt has half of
/// the rest of the limit, and robust tabu search from the best so far the other half. The search ends as soon as its value is the bound. A step
/// costs O(n²): an exchange of two items updates the changes that all other exchanges would make, each in O(1).
///
/// Values of whole numbers with sums up to 2^44 are exact, and the bound is rounded up to the next value that is possible. Otherwise the bound is
/// lowered by what rounding may have done, and a value within 1e-10 of the largest possible sum of sizes counts as proven.
///
/// ```
/// use ordain::Interrupt;
/// use ordain::structure::quadratic::{Limit, Problem, Settings, solve};
/// // eight items in a ring, on eight places in a line: no ring is shorter than there and back
/// let ring: Vec<f64> = (0..64).map(|at| f64::from(u8::from((at / 8 + 1) % 8 == at % 8))).collect();
/// let line: Vec<f64> = (0..64).map(|at| (at as f64 / 8.0).floor() - (at % 8) as f64).map(f64::abs).collect();
/// let settings = Settings { limit: Limit::Steps(1000), ..Settings::default() };
/// let found = solve(&Problem::new(8, &ring, &line, None)?, &settings, Interrupt::default())?;
/// assert_eq!(found.value, 14.0);
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Setting`] for seconds that are not a finite number from 0; [`Error::Data`] for a bound that this problem does not have (see [`lower_bound`]);
/// [`Error::Interrupted`] where `stop` says so, which is asked at every step.
pub fn solve(problem: &Problem, settings: &Settings, stop: Interrupt) -> Result<Solution> {
    if let Limit::Seconds(seconds) = settings.limit
        && !(seconds.is_finite() && seconds >= 0.0)
    {
        let found = seconds.to_string();
        return Err(Error::Setting { name: "seconds".into(), expected: "a finite number from 0".into(), found });
    }
    settings.bound.check(problem)?;
    if problem.n <= ENUMERATED {
        return Ok(enumerated(problem));
    }
    let clock = Clock::new(settings.limit, stop);
    let bound = bound::within(problem, settings.bound, &clock)?;
    let (places, steps) = search::search(problem, settings, bound, &clock)?;
    let value = problem.value(&places);
    let proven = value - bound <= problem.near();
    Ok(Solution { places, value, bound: bound.min(value), proven, steps })
}

/// The first of the best permutations.
fn enumerated(problem: &Problem) -> Solution {
    let mut best = Solution { places: vec![], value: f64::INFINITY, bound: 0.0, proven: true, steps: 0 };
    permutations(problem.n, &mut |places| {
        let value = problem.value(places);
        if value < best.value {
            best.value = value;
            best.places.clear();
            best.places.extend_from_slice(places);
        }
        best.steps += 1;
    });
    best.bound = best.value;
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Work that looks at the clock after every step ends within its time, if it was once put aside for as long before; and not much earlier.
    #[test]
    fn the_last_step_ends_within_the_limit() {
        let mut random = Random::new(1);
        for case in 0..240 {
            let (limit, pace) = (Duration::from_millis(100), Pace::default());
            // steps of microseconds, and now and then milliseconds without the processor: at first the longest of them
            let longest = Duration::from_micros(20 + 100 * case);
            let mut now = Duration::ZERO;
            for step in 0.. {
                now += match step {
                    0 => longest,
                    _ if random.below(50) == 0 => longest.mul_f64(random.uniform()),
                    _ => Duration::from_micros(1 + random.below(20) as u64),
                };
                assert!(now <= limit, "{now:?} with pauses of up to {longest:?}");
                if pace.over(now, limit) {
                    break;
                }
            }
            assert!(now + 2 * longest >= limit, "{now:?} with pauses of up to {longest:?}");
        }
    }

    /// However long others had the processor, three quarters of the time are for work.
    #[test]
    fn most_of_the_time_is_not_held_back() {
        let (limit, pace) = (Duration::from_secs(1), Pace::default());
        for (now, over) in [(0, false), (600, false), (749, false), (750, true), (1000, true)] {
            assert_eq!(pace.over(Duration::from_millis(now), limit), over, "{now} ms");
        }
    }

    /// A limit that is over is over at the first look, and one that no clock reaches never is.
    #[test]
    fn limits_at_both_ends() {
        assert!(Pace::default().over(Duration::ZERO, Duration::ZERO));
        assert!(!Pace::default().over(Duration::from_secs(1 << 40), Duration::MAX));
    }
}
