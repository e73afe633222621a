//! The whole line from features to objective against slow twins: scaling by hand, differences, all pairs.
#![allow(clippy::unwrap_used, clippy::needless_range_loop)] // a test may panic, and twins are written by index

use ordain::data::RankSet;
use ordain::data::scale::{Scale, Scaling};
use ordain::data::synthetic::Synthetic;
use ordain::matrix::{Csr, Features, mirror};
use ordain::pieces::{Node, add_up, merge};
use ordain::risk::{Ask, Empirical};
use ordain::scorer::rows::Rows;
use ordain::solver::lbfgs::Lbfgs;
use ordain::solver::newton::{Memory, Newton};
use ordain::solver::run::{Watch, run};
use ordain::surrogate::pair_hinge::PairHinge;
use ordain::traits::{Risk, Scorer, Solver, Stop, Surrogate};
use proptest::prelude::*;

fn set(seed: u64, sparse: bool) -> RankSet {
    let mut set = Synthetic { queries: 12, documents: (1, 9), features: 6, seed, ..Synthetic::default() }.make();
    if sparse {
        // a third of the values kept, some columns absent from some queries
        let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
        for row in 0..set.rows() {
            set.features.each(row, |j, x| {
                if (row * 7 + j * 5 + seed as usize).is_multiple_of(3) {
                    columns.push(j as u32);
                    values.push(x);
                }
            });
            ends.push(values.len());
        }
        set.features = Features::Sparse(Csr::new(ends, columns, values, 6));
    }
    set
}

/// Scaled values by the definition, query by query.
fn scaled(set: &RankSet, scale: Scale, units: &[u32]) -> Vec<Vec<f64>> {
    let d = set.features.cols();
    let value = |row: usize, j: usize| f64::from(set.features.value(row, j));
    let trained: Vec<usize> = units.iter().flat_map(|&q| set.span(q as usize)).collect();
    let mut out = vec![vec![0.0; d]; set.rows()];
    for q in 0..set.len() {
        let own: Vec<usize> = set.span(q).collect();
        let over = if scale == Scale::Global { &trained } else { &own };
        for j in 0..d {
            let column: Vec<f64> = over.iter().map(|&row| value(row, j)).collect();
            let n = column.len() as f64;
            let mean = column.iter().sum::<f64>() / n;
            let low = column.iter().fold(f64::INFINITY, |a, &b| a.min(b));
            let high = column.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            let deviation = (column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
            let (offset, width) = match scale {
                Scale::None | Scale::Matched => (0.0, 1.0),
                Scale::Minmax => (low, high - low),
                Scale::Global | Scale::Query => (mean, deviation),
                other => panic!("no twin of {other:?}"),
            };
            for &row in &own {
                let constant = scale != Scale::None && low >= high;
                out[row][j] = if constant { 0.0 } else { (value(row, j) - offset) / width };
            }
        }
    }
    out
}

fn close(a: f64, b: f64, tol: f64) -> bool {
    (a - b).abs() <= tol * (1.0 + b.abs())
}

/// Calls `check(set, scale, units, scorer, loss)` for dense and sparse sets under every scaling.
fn everywhere(check: impl Fn(&RankSet, Scale, &[u32], &Rows, &PairHinge)) {
    for seed in 0..6 {
        for sparse in [false, true] {
            let set = set(seed, sparse);
            let units: Vec<u32> = set.all().into_iter().filter(|&q| !set.is_flat(q as usize)).collect();
            let loss = PairHinge::new(units.iter().map(|&q| &set.grades[set.span(q as usize)]), None);
            for &scale in Scale::ALL {
                let scaling = Scaling::learn(scale, &set, &units);
                check(&set, scale, &units, &Rows::new(&set, &units, &scaling), &loss);
            }
        }
    }
}

#[test]
fn scores_and_their_way_back_equal_the_definition() {
    everywhere(|set, scale, units, rows, _| {
        let truth = scaled(set, scale, units);
        let d = set.features.cols();
        let theta: Vec<f64> = (0..d).map(|j| 0.3 * j as f64 - 0.7).collect();
        let (mut grad, mut expected, mut work) = (vec![0.0; d], vec![0.0; d], Default::default());
        for (n, &q) in units.iter().enumerate() {
            let span = set.span(q as usize);
            let mut s = vec![0.0; span.len()];
            rows.scores(n, &theta, &mut s, &mut work);
            let mut matrix = vec![0.0; span.len() * d];
            assert!(rows.matrix(n, &mut matrix));
            for (i, row) in span.clone().enumerate() {
                let slow: f64 = truth[row].iter().zip(&theta).map(|(x, w)| x * w).sum();
                // offsets and factors are stored as f32
                assert!(close(s[i], slow, 1e-4), "{scale:?}: {} is not {slow}", s[i]);
                assert!((0..d).all(|j| close(matrix[i * d + j], truth[row][j], 1e-4)));
                let exact: f64 = matrix[i * d..(i + 1) * d].iter().zip(&theta).map(|(x, w)| x * w).sum();
                assert!(close(s[i], exact, 1e-9));
            }
            let back: Vec<f64> = (0..span.len()).map(|i| (i as f64 - 1.5) * 0.2).collect();
            rows.pull_back(n, &back, &mut grad, &mut work);
            for (i, d_i) in back.iter().enumerate() {
                (0..d).for_each(|j| expected[j] += d_i * matrix[i * d + j]);
            }
        }
        assert!(grad.iter().zip(&expected).all(|(a, b)| close(*a, *b, 1e-9)));
    });
}

#[test]
fn gradient_hessian_and_products_agree_with_differences() {
    everywhere(|set, scale, units, rows, loss| {
        if scale == Scale::None {
            return; // raw units span three decades: differences say nothing there
        }
        let d = set.features.cols();
        let mut risk = Empirical::new(rows, loss, (0..units.len()).map(|n| 0.1 + n as f64).collect());
        let theta: Vec<f64> = (0..d).map(|j| 0.05 * (j as f64 - 2.2)).collect();
        let mut at = |theta: &[f64]| {
            let mut grad = vec![0.0; d];
            let value = risk.value(theta, &mut grad).unwrap();
            let (mut hessian, mut product) = (vec![0.0; d * d], vec![0.0; d]);
            assert!(risk.hessian(theta, &mut hessian).unwrap());
            let v: Vec<f64> = theta.iter().map(|x| x + 1.0).collect();
            assert!(risk.curvature(theta, &v, &mut product).unwrap());
            (value, grad, hessian, product)
        };
        let (_, grad, hessian, product) = at(&theta);
        for j in 0..d {
            let step = 1e-6;
            let moved =
                |by: f64| theta.iter().enumerate().map(|(i, x)| if i == j { x + by } else { *x }).collect::<Vec<_>>();
            let (up, down) = (at(&moved(step)), at(&moved(-step)));
            assert!(close((up.0 - down.0) / (2.0 * step), grad[j], 1e-6));
            for i in 0..d {
                assert!(close((up.1[i] - down.1[i]) / (2.0 * step), hessian[i * d + j], 1e-5));
            }
            let expected: f64 = (0..d).map(|i| hessian[j * d + i] * (theta[i] + 1.0)).sum();
            assert!(close(product[j], expected, 1e-9));
        }
    });
}

#[test]
fn both_ways_of_newton_reach_the_minimum() {
    everywhere(|set, scale, units, rows, loss| {
        let d = set.features.cols();
        let pairs: f64 = (0..units.len()).map(|n| loss.pairs(n).0).sum();
        for lambda in [1.0, 1e-3] {
            let mut risk = Empirical::new(rows, loss, vec![1.0 / pairs; units.len()]);
            let solve = |risk: &mut Empirical<_, _>, explicit: bool| {
                let mut newton = Newton::new(risk, lambda, 1e-9, vec![0.0; d], Memory::default()).unwrap();
                if !explicit {
                    newton = newton.by_products();
                }
                let report = run(&mut newton, 300, 0, &Watch::NOBODY).unwrap();
                assert!(matches!(report.stop, Stop::Gradient | Stop::Stalled), "{scale:?} {report:?}");
                (newton.theta().to_vec(), report.objective)
            };
            let (a, b) = (solve(&mut risk, true), solve(&mut risk, false));
            assert!(close(a.1, b.1, 1e-9), "{scale:?}: {} and {}", a.1, b.1);
            // no neighbour is lower, by the slow sum over all pairs
            let objective = |theta: &[f64]| {
                let mut matrix = vec![];
                let mut sum = 0.5 * lambda * theta.iter().map(|x| x * x).sum::<f64>();
                for (n, &q) in units.iter().enumerate() {
                    let span = set.span(q as usize);
                    matrix.resize(span.len() * d, 0.0);
                    rows.matrix(n, &mut matrix);
                    let s: Vec<f64> = matrix.chunks(d).map(|x| x.iter().zip(theta).map(|(x, w)| x * w).sum()).collect();
                    for i in 0..s.len() {
                        for j in 0..s.len() {
                            if set.grades[span.start + i] > set.grades[span.start + j] {
                                sum += 0.5 * (1.0 - s[i] + s[j]).max(0.0).powi(2) / pairs;
                            }
                        }
                    }
                }
                sum
            };
            let best = objective(&a.0);
            assert!(close(best, a.1, 1e-9));
            for j in 0..d {
                for step in [1e-3, -1e-3] {
                    let mut moved = a.0.clone();
                    moved[j] += step;
                    assert!(objective(&moved) >= best - 1e-12 * best);
                }
            }
        }
    });
}

/// `−ln(1 − θ) − 3θ`, which is no number from θ = 1 on; its minimum without a ridge is at 2/3.
struct Edge {
    outside: usize,
}

impl Risk for Edge {
    fn dim(&self) -> usize {
        1
    }
    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> ordain::Result<f64> {
        self.outside += usize::from(theta[0] >= 1.0);
        grad[0] = 1.0 / (1.0 - theta[0]) - 3.0;
        Ok(-(1.0 - theta[0]).ln() - 3.0 * theta[0])
    }
}

#[test]
fn a_value_that_is_no_number_ends_a_trial_step_and_not_the_run() {
    let mut risk = Edge { outside: 0 };
    let mut solver = Lbfgs::new(&mut risk, 1e-9, 1e-9, vec![0.0]).unwrap();
    let report = run(&mut solver, 100, 0, &Watch::NOBODY).unwrap();
    let theta = solver.theta()[0];
    assert!(matches!(report.stop, Stop::Gradient | Stop::Stalled), "{report:?}");
    assert!((theta - 2.0 / 3.0).abs() < 1e-6, "{theta}");
    assert!(risk.outside > 0, "the test never left the domain");
}

/// A risk on another machine that answers so many times, and then does not.
struct Lost(usize);

impl Risk for Lost {
    fn dim(&self) -> usize {
        1
    }
    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> ordain::Result<f64> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| ordain::Error::Outside("the machine is lost".into()))?;
        grad[0] = 4.0 * (theta[0] - 1.0).powi(3);
        Ok((theta[0] - 1.0).powi(4))
    }
}

/// To take a step for too long because nobody answered would end in another model.
#[test]
fn an_answer_that_does_not_come_ends_the_run() {
    for answers in 1..6 {
        let mut risk = Lost(answers);
        let ended = Lbfgs::new(&mut risk, 1e-9, 1e-12, vec![0.0])
            .and_then(|mut solver| run(&mut solver, 100, 0, &Watch::NOBODY).map(drop));
        assert!(ended.is_err_and(|error| error.to_string() == "the machine is lost"), "{answers}");
    }
}

/// Everything that a risk says at one point: gradient and value, product, Hessian.
fn answers(set: &RankSet, units: &[u32], scaling: &Scaling, theta: &[f64], v: &[f64]) -> Vec<u64> {
    let d = theta.len();
    let loss = PairHinge::new(units.iter().map(|&q| &set.grades[set.span(q as usize)]), None);
    let rows = Rows::new(set, units, scaling);
    let mut risk = Empirical::new(&rows, &loss, weights(units));
    let (mut grad, mut product, mut hessian) = (vec![0.0; d], vec![0.0; d], vec![0.0; d * d]);
    let value = risk.value(theta, &mut grad).unwrap();
    assert!(risk.curvature(theta, v, &mut product).unwrap() && risk.hessian(theta, &mut hessian).unwrap());
    grad.iter().chain([&value]).chain(&product).chain(&hessian).map(|x| x.to_bits()).collect()
}

fn weights(units: &[u32]) -> Vec<f64> {
    units.iter().map(|&q| 0.1 + f64::from(q) / 7.0).collect()
}

/// The same by shards of whole pieces, each of which knows its own queries alone, and one of which has forgotten its scores.
fn by_shards(
    set: &RankSet,
    units: &[u32],
    scaling: &Scaling,
    (theta, v): (&[f64], &[f64]),
    shards: &[std::ops::Range<usize>],
) -> Vec<u64> {
    let (d, pieces) = (theta.len(), set.pieces());
    let mut found: [Vec<Node<Vec<f64>>>; 3] = Default::default();
    for (at, shard) in shards.iter().enumerate() {
        let own: Vec<u32> = units.iter().copied().filter(|&q| shard.contains(&pieces.of(q as usize))).collect();
        let loss = PairHinge::new(own.iter().map(|&q| &set.grades[set.span(q as usize)]), None);
        let rows = Rows::new(set, &own, scaling);
        for (which, (ask, found)) in [Ask::Value { theta }, Ask::Product { theta, v }, Ask::Hessian { theta }]
            .into_iter()
            .zip(&mut found)
            .enumerate()
        {
            let mut risk = Empirical::new(&rows, &loss, weights(&own));
            if (at + which) % 2 == 0 {
                risk.value(v, &mut vec![0.0; d]).unwrap();
            }
            found.extend(risk.nodes(shard.clone(), ask).unwrap().unwrap());
        }
    }
    let [value, product, hessian] = found;
    let of = |mut nodes: Vec<Node<Vec<f64>>>, len: usize| {
        nodes.reverse();
        merge(nodes, add_up).unwrap_or_else(|| vec![0.0; len])
    };
    let mut hessian = of(hessian, d * d);
    mirror(&mut hessian, d);
    let both = [of(value, d + 1), of(product, d)].concat();
    both.iter().chain(&hessian).map(|x| x.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases::cases(60)))]

    /// Whichever queries are left out, in whatever order they come, on however many threads, and however pieces are dealt out to shards.
    #[test]
    fn shards_of_whole_pieces_add_up_to_the_whole_bit_for_bit(
        seed in 0u64..50, sparse: bool, scale in 0usize..4, left_out in 2u32..9, threads in 1usize..4,
        cuts in prop::collection::vec(0usize..1000, 0..5),
    ) {
        let mut set = set(seed, sparse);
        let many: Vec<u32> = (0..10).flat_map(|_| 0..set.len() as u32).collect();
        set = set.only(&many);
        let units: Vec<u32> = set.all().into_iter().filter(|q| !(q + seed as u32).is_multiple_of(left_out)).collect();
        let mut mixed = units.clone();
        mixed.rotate_left(units.len() / 3);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let scaling = Scaling::learn(Scale::ALL[scale], &set, &units);
        let again = pool.install(|| Scaling::learn(Scale::ALL[scale], &set, &mixed));
        prop_assert!(scaling == again);
        let theta: Vec<f64> = (0..6).map(|j| 0.05 * (f64::from(j) - 2.2)).collect();
        let v: Vec<f64> = (0..6).map(|j| 0.3 * f64::from(j) - 0.7).collect();
        let whole = answers(&set, &units, &scaling, &theta, &v);
        prop_assert!(whole == pool.install(|| answers(&set, &mixed, &scaling, &theta, &v)));
        let pieces = set.pieces().len();
        prop_assert!(pieces > 20, "{}", pieces);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % pieces).chain([0, pieces]).collect();
        cuts.sort_unstable();
        let shards: Vec<_> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
        prop_assert!(whole == pool.install(|| by_shards(&set, &units, &scaling, (&theta, &v), &shards)));
    }
}

/// The slow twin of the sum by pieces: example after example, piece after piece, on one thread.
#[test]
fn the_risk_is_the_sum_over_pieces_by_the_tree() {
    everywhere(|set, _, units, rows, loss| {
        let (d, pieces, weight) = (set.features.cols(), set.pieces(), weights(units));
        let theta: Vec<f64> = (0..d).map(|j| 0.05 * (j as f64 - 2.2)).collect();
        let mut nodes: Vec<Node<Vec<f64>>> = vec![];
        for (n, &q) in units.iter().enumerate() {
            let at = pieces.of(q as usize);
            if nodes.last().is_none_or(|node| node.at != at) {
                nodes.push(Node { level: 0, at, sum: vec![0.0; d + 1] });
            }
            let sum = &mut nodes.last_mut().unwrap().sum;
            let (mut s, mut back) = (vec![0.0; rows.span(n).len()], vec![0.0; rows.span(n).len()]);
            rows.scores(n, &theta, &mut s, &mut Default::default());
            sum[d] += weight[n] * loss.value(n, &s, &mut back, &mut Default::default()).unwrap();
            back.iter_mut().for_each(|x| *x *= weight[n]);
            rows.pull_back(n, &back, &mut sum[..d], &mut Default::default());
        }
        let (truth, mut grad) = (merge(nodes, add_up).unwrap(), vec![0.0; d]);
        let value = Empirical::new(rows, loss, weight).value(&theta, &mut grad).unwrap();
        assert!(grad == truth[..d] && value.to_bits() == truth[d].to_bits());
    });
}

#[test]
fn a_hessian_is_that_of_the_point_that_is_asked_for() {
    let differ = std::cell::Cell::new(0);
    everywhere(|set, _, units, rows, loss| {
        let d = set.features.cols();
        let at = |k: usize| (0..d).map(|j| 2.0 * ((j + 3 * k) as f64).sin()).collect::<Vec<f64>>();
        let (v, mut grad) = (at(9), vec![0.0; d]);
        let mut risk = Empirical::new(rows, loss, weights(units));
        for k in 0..3 {
            let mut fresh = Empirical::new(rows, loss, weights(units));
            let (mut right, mut found) = (vec![0.0; d * d + d], vec![0.0; d * d + d]);
            fresh.value(&at(k), &mut grad).unwrap();
            assert!(fresh.hessian(&at(k), &mut right[d..]).unwrap());
            assert!(fresh.curvature(&at(k), &v, &mut right[..d]).unwrap());
            risk.value(&at(k + 1), &mut grad).unwrap();
            assert!(risk.hessian(&at(k + 1), &mut found[d..]).unwrap());
            differ.set(differ.get() + usize::from(found[d..] != right[d..]));
            assert!(risk.hessian(&at(k), &mut found[d..]).unwrap());
            risk.value(&at(k + 1), &mut grad).unwrap();
            assert!(risk.curvature(&at(k), &v, &mut found[..d]).unwrap());
            assert!(found == right);
        }
    });
    assert!(differ.get() > 50, "{} points have another Hessian than the next: nothing to see", differ.get());
}
