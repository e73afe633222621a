//! Trees against slow twins: splits and values by enumeration, shares by all coalitions, forests with damage.
#![allow(clippy::unwrap_used, clippy::float_cmp)] // a test may panic, and bits are compared here

use super::cases::cases;
use ordain::matrix::{Csr, Features, Matrix};
use ordain::random::Random;
use ordain::tree::{Cuts, Forest, Grower, Growth, Parts};
use proptest::prelude::*;

/// Rows with slopes and curvatures, and what the columns hold.
#[derive(Clone, Debug)]
struct Problem {
    cols: usize,
    x: Vec<f32>,
    d: Vec<f64>,
    h: Vec<f64>,
    categorical: Vec<bool>,
    how: Growth,
}

impl Problem {
    fn rows(&self) -> Vec<u32> {
        (0..self.d.len() as u32).collect()
    }

    fn features(&self) -> Features {
        Features::Dense(Matrix::new(self.x.clone(), self.cols))
    }

    fn value(&self, row: u32, j: usize) -> f32 {
        self.x[row as usize * self.cols + j]
    }

    fn forest(&self) -> Forest {
        let (x, rows) = (self.features(), self.rows());
        let cuts = Cuts::learn(&x, &rows, &self.categorical, 255).unwrap();
        let bins = cuts.bin(&x).unwrap();
        let tree = Grower::new(&cuts, &bins).grow(&self.d, &self.h, &rows, &self.how, &mut Random::new(1));
        let mut forest = Forest::empty(self.cols);
        forest.push(&tree, 1.0);
        forest
    }
}

fn problems() -> impl Strategy<Value = Problem> {
    (2usize..50, 1usize..5, any::<u64>(), 2usize..9, 0u32..6, any::<bool>()).prop_map(
        |(rows, cols, seed, leaves, least, monotone)| {
            let mut random = Random::new(seed);
            let values = 1 + random.below(12);
            let gaps = random.below(3);
            let x = (0..rows * cols)
                .map(|_| if random.below(6) < gaps { f32::NAN } else { random.below(values) as f32 - 2.0 });
            let x: Vec<f32> = x.collect();
            let d = (0..rows).map(|i| random.normal() + f64::from(x[i * cols]).max(-1.0)).collect();
            let h = (0..rows).map(|_| 0.1 + random.uniform()).collect();
            let categorical: Vec<bool> = (0..cols).map(|_| random.below(3) == 0).collect();
            let monotone = if monotone { (0..cols).map(|_| random.below(3) as i8 - 1).collect() } else { vec![] };
            let how = Growth {
                leaves,
                ridge: random.below(3) as f64,
                least_rows: least,
                least_curvature: random.below(2) as f64,
                least_gain: 0.2 * random.below(2) as f64,
                columns: 1.0,
                monotone,
            };
            Problem { cols, x, d, h, categorical, how }
        },
    )
}

/// A leaf of the slow twin.
#[derive(Clone, Debug)]
struct Slow {
    rows: Vec<u32>,
    bounds: [f64; 2],
}

impl Problem {
    fn sums(&self, rows: &[u32]) -> (f64, f64) {
        rows.iter().fold((0.0, 0.0), |sum, &row| (sum.0 + self.d[row as usize], sum.1 + self.h[row as usize]))
    }

    fn slow_value(&self, rows: &[u32], bounds: [f64; 2]) -> f64 {
        let (d, h) = self.sums(rows);
        (-d / (h + self.how.ridge)).max(bounds[0]).min(bounds[1])
    }

    /// What a leaf takes off the sum.
    fn worth(&self, rows: &[u32], bounds: [f64; 2]) -> f64 {
        let ((d, h), value) = (self.sums(rows), self.slow_value(rows, bounds));
        -(d * value + 0.5 * (h + self.how.ridge) * value * value)
    }

    fn rises(&self, j: usize) -> i8 {
        if self.categorical[j] { 0 } else { self.how.monotone.get(j).copied().unwrap_or(0) }
    }

    /// All ways to part the rows of a leaf by column `j`, as whether a row goes first.
    fn ways(&self, leaf: &Slow, j: usize) -> Vec<Vec<bool>> {
        let values: Vec<f32> = leaf.rows.iter().map(|&row| self.value(row, j)).collect();
        let mut known: Vec<f32> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        known.sort_by(f32::total_cmp);
        known.dedup();
        if self.categorical[j] {
            let (_, h) = self.sums(&leaf.rows);
            let smooth = 10.0 * h / leaf.rows.len() as f64;
            let ratio = |value: f32| {
                let own: Vec<u32> = leaf.rows.iter().copied().filter(|&row| self.value(row, j) == value).collect();
                let (d, h) = self.sums(&own);
                d / (h + smooth)
            };
            known.sort_by(|&a, &b| ratio(a).total_cmp(&ratio(b)));
        }
        let mut ways = vec![];
        for end in 1..=known.len() {
            for missing in [false, true] {
                let first = |x: &f32| if x.is_nan() { missing } else { known[..end].contains(x) };
                ways.push(values.iter().map(first).collect());
            }
        }
        ways
    }

    /// The best split of a leaf: gain, column and the two sides.
    fn slow_split(&self, leaf: &Slow) -> Option<(f64, usize, [Vec<u32>; 2])> {
        let mut found: Option<(f64, usize, [Vec<u32>; 2])> = None;
        for j in 0..self.cols {
            for way in self.ways(leaf, j) {
                let side = |first: bool| {
                    let rows = leaf.rows.iter().zip(&way).filter(|(_, way)| **way == first);
                    rows.map(|(&row, _)| row).collect::<Vec<u32>>()
                };
                let sides = [side(true), side(false)];
                let allowed = sides.iter().all(|side| {
                    side.len() >= self.how.least_rows.max(1) as usize && self.sums(side).1 >= self.how.least_curvature
                });
                let [a, b] = [0, 1].map(|k| self.slow_value(&sides[k], leaf.bounds));
                if !allowed || self.rises(j) > 0 && a > b || self.rises(j) < 0 && a < b {
                    continue;
                }
                let gain = self.worth(&sides[0], leaf.bounds) + self.worth(&sides[1], leaf.bounds)
                    - self.worth(&leaf.rows, leaf.bounds);
                let better = found.as_ref().is_none_or(|best| gain > best.0 + 1e-9);
                if gain > self.how.least_gain.max(1e-9) && better {
                    found = Some((gain, j, sides));
                }
            }
        }
        found
    }

    /// The scores of the rows and the gains of the splits, by enumeration.
    fn slow_tree(&self) -> (Vec<f64>, Vec<f64>) {
        let mut leaves = vec![Slow { rows: self.rows(), bounds: [f64::NEG_INFINITY, f64::INFINITY] }];
        let mut gains = vec![];
        while leaves.len() < self.how.leaves {
            let splits: Vec<_> = leaves.iter().map(|leaf| self.slow_split(leaf)).collect();
            let Some((at, (gain, j, sides))) = splits
                .into_iter()
                .enumerate()
                .filter_map(|(at, split)| Some((at, split?)))
                .reduce(|best, next| if next.1.0 > best.1.0 + 1e-9 { next } else { best })
            else {
                break;
            };
            gains.push(gain);
            let bounds = leaves[at].bounds;
            let middle = (self.slow_value(&sides[0], bounds) + self.slow_value(&sides[1], bounds)) / 2.0;
            let (below, above) = ([bounds[0], middle], [middle, bounds[1]]);
            let [first, second] = match self.rises(j) {
                1 => [below, above],
                -1 => [above, below],
                _ => [bounds; 2],
            };
            let [a, b] = sides;
            leaves[at] = Slow { rows: a, bounds: first };
            leaves.push(Slow { rows: b, bounds: second });
        }
        let mut scores = vec![0.0; self.d.len()];
        for leaf in &leaves {
            let value = self.slow_value(&leaf.rows, leaf.bounds);
            leaf.rows.iter().for_each(|&row| scores[row as usize] = value);
        }
        (scores, gains)
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-7 * (1.0 + a.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2000)))]

    /// Missing values, categories, monotone columns: the same splits, in the same order of gains, and the same values.
    #[test]
    fn trees_are_those_of_enumeration(problem in problems()) {
        let forest = problem.forest();
        let (scores, mut gains) = problem.slow_tree();
        for (row, &score) in (0..).zip(&scores) {
            let x: Vec<f32> = (0..problem.cols).map(|j| problem.value(row, j)).collect();
            let found = forest.score_row(&x);
            prop_assert!(near(found, score), "row {row}: {found} and {score}");
        }
        let parts = forest.parts();
        let inner = parts.kind.iter().zip(&parts.value).filter(|(kind, _)| **kind != Parts::LEAF);
        let mut found: Vec<f64> = inner.map(|(_, gain)| *gain).collect();
        found.sort_by(f64::total_cmp);
        gains.sort_by(f64::total_cmp);
        prop_assert_eq!(found.len(), gains.len());
        // slopes and curvatures were rounded to a billionth of the largest; gains are differences of d²/h
        let steepest = problem.d.iter().fold(0.0f64, |most, d| most.max(d.abs()));
        let flattest = problem.h.iter().fold(f64::INFINITY, |least, h| least.min(h + problem.how.ridge));
        let size = problem.d.iter().map(|d| d * d).sum::<f64>() + (steepest / flattest).powi(2);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-8 * (1.0 + size);
        prop_assert!(found.iter().zip(&gains).all(|(a, b)| close(*a, *b)), "{:?} and {:?}", found, gains);
    }

    /// With as many rows in each category and no ridge, no set of categories is better than the one that was found.
    #[test]
    fn sets_are_the_best_of_all(categories in 2usize..9, each in 1usize..4, seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let rows = categories * each;
        let problem = Problem {
            cols: 1,
            x: (0..rows).map(|i| (i % categories) as f32).collect(),
            d: (0..rows).map(|_| random.normal()).collect(),
            h: vec![1.0; rows],
            categorical: vec![true],
            how: Growth { leaves: 2, ridge: 0.0, least_rows: 1, least_curvature: 0.0, ..Growth::default() },
        };
        let bounds = [f64::NEG_INFINITY, f64::INFINITY];
        let best = (1u32..(1 << categories) - 1).map(|set| {
            let (a, b): (Vec<u32>, Vec<u32>) = problem.rows().into_iter().partition(|row| set >> (row % categories as u32) & 1 == 1);
            problem.worth(&a, bounds) + problem.worth(&b, bounds) - problem.worth(&problem.rows(), bounds)
        }).fold(0.0, f64::max);
        let parts = problem.forest().parts();
        prop_assert_eq!(parts.kind[0], Parts::SET);
        prop_assert!(near(parts.value[0], best), "{} and {best}", parts.value[0]);
        // a value that was not there goes where missing ones go
        let forest = problem.forest();
        prop_assert_eq!(forest.score_row(&[99.0]), forest.score_row(&[f32::NAN]));
    }
}

/// Made-up rows: columns of numbers with few or many values, gaps, categories; slopes with interactions.
struct Made {
    x: Features,
    d: Vec<f64>,
    h: Vec<f64>,
    categorical: Vec<bool>,
}

fn made(rows: usize, cols: usize, seed: u64) -> Made {
    let mut random = Random::new(seed);
    let categorical: Vec<bool> = (0..cols).map(|j| j % 7 == 3).collect();
    let mut values = Vec::with_capacity(rows * cols);
    for _ in 0..rows {
        for j in 0..cols {
            values.push(match j % 7 {
                _ if random.below(20) == 0 => f32::NAN,
                0 | 1 => random.normal() as f32,
                2 => random.below(5) as f32,
                3 => random.below(300) as f32,
                4 => 0.0,
                _ => (random.below(4) as f32 - 2.0).max(0.0),
            });
        }
    }
    let at = |i: usize, j: usize| f64::from(values[i * cols + j % cols].max(-3.0));
    let d = (0..rows).map(|i| random.normal() - at(i, 0) * at(i, 1) + at(i, 3).sin()).collect();
    let h = (0..rows).map(|_| 0.05 + random.uniform()).collect();
    Made { x: Features::Dense(Matrix::new(values, cols)), d, h, categorical }
}

/// The same rows with zeros left out.
fn thinned(x: &Features) -> Features {
    let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
    for i in 0..x.rows() {
        x.each(i, |j, value| {
            if value != 0.0 {
                columns.push(j as u32);
                values.push(value);
            }
        });
        ends.push(values.len());
    }
    Features::Sparse(Csr::new(ends, columns, values, x.cols()))
}

/// Some trees on some of the rows, and the scores of all rows on the way.
fn boosted(made: &Made, how: &Growth, trees: usize) -> (Forest, Vec<f64>) {
    let mut random = Random::new(9);
    let all: Vec<u32> = (0..made.d.len() as u32).collect();
    let cuts = Cuts::learn(&made.x, &all, &made.categorical, 255).unwrap();
    let bins = cuts.bin(&made.x).unwrap();
    let mut grower = Grower::new(&cuts, &bins);
    let (mut forest, mut scores) = (Forest::empty(made.x.cols()), vec![0.0; all.len()]);
    for _ in 0..trees {
        let (bag, out): (Vec<u32>, Vec<u32>) = all.iter().partition(|_| random.below(10) < 7);
        let d: Vec<f64> = (0..all.len()).map(|i| made.d[i] + made.h[i] * scores[i]).collect();
        let tree = grower.grow(&d, &made.h, &bag, how, &mut random);
        forest.push(&tree, 0.3);
        let before = scores.clone();
        grower.add_last(&tree, 0.3, &mut scores);
        grower.walk(&tree, &bins, &out, 0.3, &mut scores);
        // a walk of those that took part ends in the same leaves
        let mut walked = before;
        grower.walk(&tree, &bins, &all, 0.3, &mut walked);
        assert_eq!(walked, scores);
    }
    (forest, scores)
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let made = made(40_000, 23, 5);
    for how in [
        Growth::default(),
        Growth { columns: 0.4, leaves: 60, ..Growth::default() },
        Growth { monotone: (0..23).map(|j| j % 3 - 1).collect(), ..Growth::default() },
    ] {
        let of = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| boosted(&made, &how, 4))
        };
        let (forest, scores) = of(1);
        assert!(forest.nodes() > 4 * 30);
        for threads in [2, 7] {
            let (other, others) = of(threads);
            assert_eq!(forest, other);
            assert!(scores.iter().zip(&others).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}

/// Partitions, walks in bins, walks of raw values, dense and sparse: one score.
#[test]
fn every_way_to_score_a_row_is_the_same() {
    for (rows, cols, trees) in [(1, 1, 1), (500, 7, 20), (3000, 30, 12)] {
        let made = made(rows, cols, 8);
        let how = Growth { leaves: 20, least_rows: 3, ..Growth::default() };
        let (forest, scores) = boosted(&made, &how, trees);
        let mut raw = vec![0.0; rows];
        forest.add_scores(&made.x, 0..rows, &mut raw);
        assert!(raw.iter().zip(&scores).all(|(a, b)| a.to_bits() == b.to_bits()));
        let sparse = thinned(&made.x);
        let middle = rows / 3;
        let mut parts = vec![0.0; rows];
        forest.add_scores(&sparse, 0..middle, &mut parts[..middle]);
        forest.add_scores(&made.x, middle..rows, &mut parts[middle..]);
        assert_eq!(parts, raw);
        for (i, score) in raw.iter().enumerate().step_by(7) {
            let x: Vec<f32> = (0..cols).map(|j| made.x.value(i, j)).collect();
            assert_eq!(forest.score_row(&x), *score);
        }
        // sparse rows make the same trees
        let thin = Made { x: sparse, ..made };
        assert_eq!(boosted(&thin, &how, trees).0, forest);
    }
}

#[test]
fn a_forest_can_be_cut_and_read_again() {
    let made = made(2000, 14, 3);
    let how = Growth { leaves: 16, ..Growth::default() };
    let whole = boosted(&made, &how, 10).0;
    let mut short = whole.clone();
    short.truncate(4);
    assert_eq!(short, boosted(&made, &how, 4).0);
    for forest in [&whole, &short, &Forest::empty(14)] {
        assert_eq!(&Forest::new(forest.parts(), 14).unwrap(), forest);
    }
    assert!(whole.parts().kind.contains(&Parts::SET) && whole.parts().kind.contains(&Parts::CUT_OR_GAP));
    assert_eq!((short.trees(), short.columns(), short.is_empty()), (4, 14, false));
    let gains = whole.gains();
    assert!(gains[0] > gains[4] && gains[4] == 0.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    #[test]
    fn scores_rise_along_monotone_columns(seed in any::<u64>(), rows in 50usize..600, ridge in 0.0f64..2.0) {
        let made = made(rows, 6, seed);
        let monotone = vec![1, -1, 1, 0, 0, 0];
        let how = Growth { leaves: 31, ridge, least_rows: 2, monotone: monotone.clone(), ..Growth::default() };
        let forest = boosted(&made, &how, 5).0;
        let mut random = Random::new(seed ^ 1);
        for _ in 0..300 {
            let from = random.below(rows);
            let mut x: Vec<f32> = (0..6).map(|j| made.x.value(from, j)).collect();
            for (j, rises) in monotone.iter().enumerate().take(3) {
                let kept = x[j];
                let (a, b) = (random.normal() as f32 * 2.0, random.normal() as f32 * 2.0);
                x[j] = a.min(b);
                let low = forest.score_row(&x);
                x[j] = a.max(b);
                prop_assert!((forest.score_row(&x) - low) * f64::from(*rises) >= -1e-12);
                x[j] = kept;
            }
        }
    }

    /// Shares against the definition: the mean over all orders of what a column adds, as a sum over 2^d coalitions.
    #[test]
    fn shares_are_those_of_all_coalitions(seed in any::<u64>(), cols in 1usize..9, leaves in 2usize..25) {
        let made = made(400, cols, seed);
        let how = Growth { leaves, least_rows: 2, ..Growth::default() };
        let forest = boosted(&made, &how, 4).0;
        let mut random = Random::new(seed ^ 2);
        for _ in 0..5 {
            let (i, k) = (random.below(400), random.below(400));
            let above: Vec<f32> = (0..cols).map(|j| made.x.value(i, j)).collect();
            let below: Vec<f32> = (0..cols).map(|j| if random.below(4) == 0 { above[j] } else { made.x.value(k, j) }).collect();
            let worth: Vec<f64> = (0..1usize << cols).map(|set| {
                let x: Vec<f32> = (0..cols).map(|j| if set >> j & 1 == 1 { above[j] } else { below[j] }).collect();
                forest.score_row(&x)
            }).collect();
            let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
            let found = forest.shares(&above, &below);
            prop_assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0));
            for j in 0..cols {
                let share: f64 = (0..1usize << cols).filter(|set| set >> j & 1 == 0).map(|set| {
                    let size = (set as u64).count_ones() as usize;
                    factorial(size) * factorial(cols - size - 1) / factorial(cols) * (worth[set | 1 << j] - worth[set])
                }).sum();
                let own = found.iter().find(|one| one.0 == j);
                let same = above[j] == below[j] || above[j].is_nan() && below[j].is_nan();
                prop_assert!(!same || own.is_none());
                prop_assert!((own.map_or(0.0, |one| one.1) - share).abs() < 1e-10);
            }
            let sum: f64 = found.iter().map(|one| one.1).sum();
            prop_assert!((sum - (forest.score_row(&above) - forest.score_row(&below))).abs() < 1e-10);
        }
    }
}

/// A number that files with damage hold.
fn odd(random: &mut Random) -> u64 {
    match random.below(6) {
        0 => 0,
        1 => u64::MAX,
        2 => f64::NAN.to_bits(),
        3 => u64::from(f32::NAN.to_bits()),
        4 => random.below(40) as u64,
        _ => random.bits(),
    }
}

/// Changes one thing, or a few.
fn damage(parts: &mut Parts, random: &mut Random) {
    for _ in 0..1 + random.below(3) {
        let number = odd(random);
        macro_rules! change {
            ($vector:expr, $value:expr) => {{
                let length = $vector.len();
                match random.below(8) {
                    0 => $vector.truncate(random.below(length + 1)),
                    1 => $vector.push($value),
                    2 if length > 1 => $vector.swap(random.below(length), random.below(length)),
                    3 if length > 0 => {
                        let _ = $vector.remove(random.below(length));
                    }
                    _ if length > 0 => $vector[random.below(length)] = $value,
                    _ => {}
                }
            }};
        }
        match random.below(9) {
            0 => change!(parts.first, number as u32),
            1 => change!(parts.kind, number as u8 % 5),
            2 => change!(parts.column, number as u32),
            3 => change!(parts.cut, f32::from_bits(number as u32)),
            4 => change!(parts.child, [number as u32, random.below(60) as u32]),
            5 => change!(parts.child, [random.below(60) as u32, random.below(60) as u32]),
            6 => change!(parts.value, f64::from_bits(number)),
            7 => change!(parts.set_end, number as u32),
            _ => change!(parts.set, f32::from_bits(number as u32)),
        }
    }
}

/// Whatever stands in a file: it is refused, or every score is finite.
#[test]
fn damaged_forests_are_refused_or_score() {
    let made = made(600, 9, 4);
    let whole = boosted(&made, &Growth { leaves: 8, least_rows: 5, ..Growth::default() }, 5).0.parts();
    let mut random = Random::new(77);
    let (mut refused, tries) = (0, cases(100_000));
    for _ in 0..tries {
        let mut parts = whole.clone();
        damage(&mut parts, &mut random);
        match Forest::new(parts.clone(), 9) {
            Err(error) => {
                refused += 1;
                assert!(error.to_string().starts_with("expected trees in which"), "{error}");
            }
            Ok(forest) => {
                let row = |i: usize| (0..9).map(|j| made.x.value(i, j)).collect::<Vec<f32>>();
                let (a, b) = (row(random.below(600)), row(random.below(600)));
                assert!(forest.score_row(&a).is_finite() && forest.gains().iter().all(|gain| gain.is_finite()));
                assert!(forest.shares(&a, &b).iter().all(|share| share.1.is_finite()));
                let mut out = [0.0; 70];
                forest.add_scores(&made.x, 0..70, &mut out);
                assert!(out.iter().all(|score| score.is_finite()));
                assert_eq!(forest.parts(), parts);
            }
        }
    }
    assert!(refused * 2 > tries, "{refused} of {tries}");
}

/// A chain of a hundred thousand nodes is a tree: nothing recurses into it.
#[test]
fn a_deep_tree_is_walked() {
    let depth = 100_000u32;
    let mut parts = Parts { first: vec![0, 2 * depth + 1], ..Parts::default() };
    for node in 0..=2 * depth {
        let inner = node % 2 == 0 && node < 2 * depth;
        parts.kind.push(if inner { Parts::CUT } else { Parts::LEAF });
        parts.column.push(if inner { node % 3 } else { 0 });
        parts.cut.push(if inner { (node / 2) as f32 } else { 0.0 });
        parts.child.push(if inner { [node + 1, node + 2] } else { [0; 2] });
        parts.value.push(f64::from(node));
    }
    let forest = Forest::new(parts, 3).unwrap();
    assert_eq!(forest.score_row(&[f32::INFINITY; 3]), f64::from(2 * depth));
    let sum: f64 = forest.shares(&[f32::INFINITY; 3], &[-1.0; 3]).iter().map(|share| share.1).sum();
    assert!((sum - f64::from(2 * depth - 1)).abs() < 1e-6);
}

#[test]
fn wrong_cuts_are_refused() {
    let x = Features::Dense(Matrix::new(vec![1.0, 2.0], 2));
    let learn =
        |rows: &[u32], marks: &[bool], most| Cuts::learn(&x, rows, marks, most).map(|_| ()).unwrap_err().to_string();
    assert!(learn(&[0], &[false], 255).contains("each of 2 columns"));
    assert!(learn(&[0], &[false; 2], 256).contains("1 to 255"));
    assert!(learn(&[1], &[false; 2], 255).contains("row 1"));
    let cuts = Cuts::learn(&x, &[0], &[false; 2], 255).unwrap();
    let narrow = Features::Dense(Matrix::new(vec![1.0], 1));
    assert!(cuts.bin(&narrow).unwrap_err().to_string().contains("2 columns"));
}

/// No rows, one row, columns that are all the same, slopes that are not finite: a tree of one leaf, and no panic.
#[test]
fn poor_data_make_one_leaf() {
    let x = Features::Dense(Matrix::new(vec![1.0, f32::NAN, 1.0, f32::NAN], 2));
    for rows in [&[][..], &[0], &[0, 1]] {
        let cuts = Cuts::learn(&x, rows, &[false; 2], 255).unwrap();
        let bins = cuts.bin(&x).unwrap();
        let mut grower = Grower::new(&cuts, &bins);
        for d in [[0.0; 2], [1.0, 2.0], [f64::NAN, f64::INFINITY]] {
            let how = Growth { ridge: 0.0, least_rows: 0, least_curvature: 0.0, ..Growth::default() };
            for h in [[0.0; 2], [1.0; 2], [-1.0, f64::NAN]] {
                let tree = grower.grow(&d, &h, rows, &how, &mut Random::new(1));
                assert_eq!(tree.leaves(), 1);
                assert!(tree.values().all(f64::is_finite));
                let mut scores = [0.0; 2];
                grower.add_last(&tree, 1.0, &mut scores);
                grower.walk(&tree, &bins, &[0, 1], 1.0, &mut scores);
            }
        }
    }
}
