//! The core-set machine against an independent solver, its certificates, and what it must survive.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::programme::minimum;
use ordain::Error;
use ordain::kernel::{Columns, Form, Kernel};
use ordain::random::Random;
use ordain::solver::ball::{Ball, Certificate, Geometry, Inner, Oracle, Query, Settings, Until};
use ordain::solver::run::{Watch, run};
use ordain::traits::{Solver, Stop};

/// Documents in blocks with queries, and the kernel between them.
pub(crate) struct Problem {
    pub(crate) docs: Vec<Vec<f32>>,
    pub(crate) d: usize,
    pub(crate) kernel: Kernel,
    pub(crate) queries: Vec<Query>,
}

impl Problem {
    /// Levels follow the first value of a document, with noise.
    fn random(random: &mut Random, blocks: usize, form: Form) -> Self {
        let (d, mut docs, mut queries) = (3, vec![], vec![]);
        for block in 0..blocks {
            let (mut rows, per_block) = (vec![], 1 + random.below(2));
            for _ in 0..per_block {
                let start = rows.len() / d;
                let n = 3 + random.below(5);
                let values: Vec<f32> = (0..n * d).map(|_| (8.0 * random.normal()).round() as f32 / 8.0).collect();
                let noise = 0.3 * random.normal().abs();
                let level = |x: f64| (x + 1.0).clamp(0.0, 2.0).round() as u32;
                let levels = values.chunks(d).map(|x| level(f64::from(x[0]) + noise * random.normal())).collect();
                rows.extend(values);
                queries.push(Query { block, documents: start..start + n, levels });
            }
            docs.push(rows);
        }
        // there must be a pair
        queries[0].levels[0] = 0;
        queries[0].levels[1] = 2;
        Self { docs, d, kernel: Kernel { form, gamma: 0.3 }, queries }
    }

    pub(crate) fn ball(&self, settings: Settings) -> Ball<'_> {
        Ball::new(self.columns(), self.queries.clone(), settings).unwrap()
    }

    fn columns(&self) -> Vec<Columns<'_>> {
        self.docs.iter().map(|docs| Columns::new(self.kernel, docs, self.d, 1 << 28)).collect()
    }

    /// All pairs: block, query, better, lesser.
    fn pairs(&self) -> Vec<(usize, usize, usize, usize)> {
        let mut out = vec![];
        for (n, query) in self.queries.iter().enumerate() {
            for (i, a) in query.levels.iter().enumerate() {
                let lesser = query.levels.iter().enumerate().filter(|(_, b)| a > b);
                out.extend(lesser.map(|(j, _)| (query.block, n, query.documents.start + i, query.documents.start + j)));
            }
        }
        out
    }

    /// H over all pairs.
    fn h(&self, c: f64) -> Vec<Vec<f64>> {
        let columns = self.columns();
        let pairs = self.pairs();
        let row = |w: usize| {
            let (block, _, i, j) = pairs[w];
            let (a, b) = (columns[block].get(i), columns[block].get(j));
            let k = |at: usize| f64::from(a[at]) - f64::from(b[at]);
            let of = |&(other, _, i, j): &(usize, usize, usize, usize)| if other == block { k(i) - k(j) } else { 0.0 };
            let mut row: Vec<f64> = pairs.iter().map(of).collect();
            row[w] += 1.0 / c;
            row
        };
        (0..pairs.len()).map(row).collect()
    }
}

/// `min α'Hα − b'α` on the simplex, by the other solver.
fn dual(h: &[Vec<f64>], b: &[f64]) -> f64 {
    let n = h.len();
    let mut rows = vec![(vec![1.0; n], 1.0)];
    rows.extend((0..n).map(|i| ((0..n).map(|j| if i == j { -1.0 } else { 0.0 }).collect(), 0.0)));
    let twice: Vec<Vec<f64>> = h.iter().map(|row| row.iter().map(|x| 2.0 * x).collect()).collect();
    let b: Vec<f64> = b.iter().map(|b| -b).collect();
    minimum(&twice, &b, &rows, 1).0
}

/// `min |w|²/2 + C/2·Σ (1 − w·x)₊²` of a linear kernel, by the other solver, over w of each block and the slacks.
fn primal(problem: &Problem, c: f64) -> f64 {
    let (d, pairs) = (problem.d, problem.pairs());
    let (first, n) = (d * problem.docs.len(), d * problem.docs.len() + pairs.len());
    let strength = |i: usize| if i < first { 1.0 } else { c };
    let p: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| if i == j { strength(i) } else { 0.0 }).collect()).collect();
    let mut rows = vec![];
    for (w, &(block, _, i, j)) in pairs.iter().enumerate() {
        let mut row = vec![0.0; n];
        for f in 0..d {
            let docs = &problem.docs[block];
            row[block * d + f] = -f64::from(docs[i * d + f] - docs[j * d + f]);
        }
        row[first + w] = -1.0;
        rows.push((row, -1.0));
    }
    minimum(&p, &vec![0.0; n], &rows, 0).0
}

const GEOMETRIES: [Geometry; 2] = [Geometry::Centred, Geometry::Plain];
const ORACLES: [Oracle; 3] = [Oracle::Turn, Oracle::Sample, Oracle::Exact];
const INNERS: [Inner; 2] = [Inner::Qp, Inner::BadoiuClarkson];

fn exactly(c: f64, geometry: Geometry, oracle: Oracle) -> Settings {
    Settings { c, geometry, oracle, epsilon: 1e-8, until: Until::Gap, sample: 5, ..Settings::default() }
}

#[test]
fn the_centred_ball_is_the_ranking_machine_with_squared_hinges() {
    let mut random = Random::new(11);
    for round in 0..12 {
        let problem = Problem::random(&mut random, 1 + round % 3, Form::Linear);
        let c = [0.1, 1.0, 20.0][round / 3 % 3];
        let h = problem.h(c);
        let (right, p) = (dual(&h, &vec![0.0; h.len()]), primal(&problem, c));
        assert!((right * 2.0 * p - 1.0).abs() < 1e-6, "the other solver: {right} {p}");
        for oracle in ORACLES {
            let mut ball = problem.ball(exactly(c, Geometry::Centred, oracle));
            let report = run(&mut ball, 20_000, 0, &Watch::NOBODY).unwrap();
            assert_eq!(report.stop, Stop::Gap);
            assert!((report.objective * 2.0 * p - 1.0).abs() < 1e-6, "{oracle:?} {} {right} {p}", report.objective);
            assert!(ball.certificate().gap <= 1e-8);
            assert!((ball.theta().iter().sum::<f64>() - 1.0).abs() < 1e-10);
            let weights: f64 = ball.core().iter().map(|pair| pair.weight).sum();
            assert!((weights - 1.0).abs() < 1e-10 && ball.core().iter().all(|pair| pair.weight > 0.0));
        }
    }
}

#[test]
fn both_balls_reach_the_minimum_of_their_duals() {
    let mut random = Random::new(12);
    for round in 0..12 {
        let form = [Form::Rbf, Form::Laplace, Form::Linear, Form::Poly { degree: 2, coef0: 1.0 }][round % 4];
        let problem = Problem::random(&mut random, 1 + round % 3, form);
        let c = [0.5, 5.0][round % 2];
        let h = problem.h(c);
        let diagonal: Vec<f64> = (0..h.len()).map(|w| h[w][w]).collect();
        for geometry in GEOMETRIES {
            let b = if geometry == Geometry::Plain { diagonal.clone() } else { vec![0.0; h.len()] };
            let right = dual(&h, &b);
            for oracle in ORACLES {
                let mut ball = problem.ball(exactly(c, geometry, oracle));
                let report = run(&mut ball, 20_000, 0, &Watch::NOBODY).unwrap();
                assert_eq!(report.stop, Stop::Gap);
                let off = (report.objective - right).abs();
                assert!(
                    off < 1e-6 * right.abs() + 1e-9,
                    "{form:?} {geometry:?} {oracle:?} {} {right}",
                    report.objective
                );
                if geometry == Geometry::Plain {
                    assert!((ball.radius2() + report.objective).abs() < 1e-12);
                }
            }
        }
    }
}

/// The objective and the smallest u of weights of all pairs, by H in full.
fn by_hand(problem: &Problem, ball: &Ball, h: &[Vec<f64>], b: &[f64]) -> (f64, f64) {
    let pairs = problem.pairs();
    let mut alpha = vec![0.0; pairs.len()];
    for pair in ball.core() {
        let same = |&(_, q, i, j): &(usize, usize, usize, usize)| {
            (q, i, j) == (pair.query as usize, pair.better as usize, pair.lesser as usize)
        };
        alpha[pairs.iter().position(same).unwrap()] += pair.weight;
    }
    let ha: Vec<f64> = h.iter().map(|row| row.iter().zip(&alpha).map(|(h, a)| h * a).sum()).collect();
    let f = alpha.iter().zip(&ha).zip(b).map(|((a, ha), b)| a * (ha - b)).sum();
    (f, ha.iter().zip(b).map(|(ha, b)| ha - 0.5 * b).fold(f64::INFINITY, f64::min))
}

#[test]
fn certificates_hold_and_the_objective_falls_in_all_variants() {
    let mut random = Random::new(13);
    let mut looks = 0;
    for round in 0..6 {
        let problem = Problem::random(&mut random, 1 + round % 3, [Form::Rbf, Form::Linear][round % 2]);
        let c = [0.2, 2.0, 50.0][round % 3];
        let h = problem.h(c);
        for geometry in GEOMETRIES {
            let plain = geometry == Geometry::Plain;
            let b: Vec<f64> = (0..h.len()).map(|w| if plain { h[w][w] } else { 0.0 }).collect();
            let least = dual(&h, &b);
            // the plain ball has k(i, i) in double precision, the columns in single
            let tol = if plain { 1e-6 } else { 1e-8 };
            for oracle in ORACLES {
                for inner in INNERS {
                    for until in [Until::Epsilon, Until::Gap] {
                        let settings = Settings {
                            c,
                            epsilon: 1e-4,
                            geometry,
                            oracle,
                            sample: 4,
                            inner,
                            until,
                            seed: round as u64,
                        };
                        let mut ball = problem.ball(settings);
                        let mut before = f64::INFINITY;
                        for step in 0..60 {
                            let (f, u) = by_hand(&problem, &ball, &h, &b);
                            let progress = ball.progress();
                            assert!((f - progress.objective).abs() < tol * (1.0 + f.abs()), "{f} {progress:?}");
                            assert!(progress.gap.is_none_or(|gap| gap >= f - least - tol * (1.0 + f.abs())));
                            assert!(inner == Inner::BadoiuClarkson || f <= before + 1e-9 * f.abs().max(1.0));
                            before = f;
                            if step % 7 == 0 || progress.done.is_some() {
                                looks += 1;
                                let Certificate { least: m, lower, gap, .. } = ball.certificate();
                                assert!(m <= u + tol * (1.0 + u.abs()) && m >= u - tol * (1.0 + u.abs()), "{m} {u}");
                                assert!(lower <= least + tol * (1.0 + least.abs()), "{lower} {least}");
                                let whole = if plain { -least } else { f };
                                assert!(gap >= (f - least) / whole - tol, "{gap} {f} {least}");
                                if progress.done == Some(Stop::Gap) && until == Until::Gap {
                                    assert!(gap <= 1e-4);
                                }
                            }
                            if progress.done.is_some() {
                                break;
                            }
                            ball.step().unwrap();
                        }
                    }
                }
            }
        }
    }
    assert!(looks > 500);
}

#[test]
fn an_exact_stop_leaves_no_pair_outside() {
    let mut random = Random::new(14);
    for round in 0..10 {
        let problem = Problem::random(&mut random, 2, Form::Rbf);
        let h = problem.h(1.0);
        for geometry in GEOMETRIES {
            let plain = geometry == Geometry::Plain;
            let b: Vec<f64> = (0..h.len()).map(|w| if plain { h[w][w] } else { 0.0 }).collect();
            let epsilon = [0.3, 0.03, 0.003][round % 3];
            let settings = Settings { epsilon, geometry, oracle: Oracle::Exact, ..Settings::default() };
            let mut ball = problem.ball(settings);
            assert_eq!(run(&mut ball, 10_000, 0, &Watch::NOBODY).unwrap().stop, Stop::Gap);
            let (f, u) = by_hand(&problem, &ball, &h, &b);
            // 3 = 2·k(x, x) + 1/C, and |c|² = f + b'α
            let eta = if plain { 0.0 } else { 3.0 };
            let ba: f64 = if plain {
                let pairs = problem.pairs();
                let at = |q: u32, i: u32, j: u32| {
                    pairs.iter().position(|p| (p.1, p.2, p.3) == (q as usize, i as usize, j as usize)).unwrap()
                };
                ball.core().iter().map(|p| p.weight * b[at(p.query, p.better, p.lesser)]).sum()
            } else {
                0.0
            };
            let (furthest, r2) = (f + ba + eta - 2.0 * u, eta - f);
            assert!((r2 - ball.radius2()).abs() < 1e-5);
            assert!(furthest <= (1.0 + epsilon).powi(2) * r2 + 1e-5, "{geometry:?} {furthest} {r2}");
        }
    }
}

#[test]
fn documents_that_are_the_same_do_no_harm() {
    let mut random = Random::new(15);
    for geometry in GEOMETRIES {
        for oracle in ORACLES {
            for inner in INNERS {
                let mut problem = Problem::random(&mut random, 2, Form::Rbf);
                for docs in &mut problem.docs {
                    let first = docs[..3].to_vec();
                    docs.chunks_mut(3).step_by(2).for_each(|x| x.copy_from_slice(&first));
                }
                for c in [1.0, 1e9] {
                    let settings = Settings { c, geometry, oracle, inner, sample: 3, ..Settings::default() };
                    let mut ball = problem.ball(settings);
                    run(&mut ball, 300, 0, &Watch::NOBODY).unwrap();
                    let certificate = ball.certificate();
                    assert!(certificate.f.is_finite() && certificate.gap.is_finite());
                    assert!(ball.theta().iter().all(|a| (0.0..=1.0 + 1e-12).contains(a)));
                }
            }
        }
    }
    // nothing but copies of one document
    let docs = [1.0f32; 12];
    for geometry in GEOMETRIES {
        let columns = vec![Columns::new(Kernel { form: Form::Rbf, gamma: 1.0 }, &docs, 2, 1 << 20)];
        let query = Query { block: 0, documents: 0..6, levels: vec![0, 0, 1, 1, 2, 2] };
        let mut ball = Ball::new(columns, vec![query], exactly(1.0, geometry, Oracle::Exact)).unwrap();
        assert_eq!(run(&mut ball, 1000, 0, &Watch::NOBODY).unwrap().stop, Stop::Gap);
        // twelve pairs, all the same but for their own axes
        assert!(ball.core().iter().all(|pair| (pair.weight - 1.0 / 12.0).abs() < 1e-6) && ball.documents() == 6);
    }
}

#[test]
fn one_pair_is_enough_and_none_is_too_few() {
    let docs: Vec<f32> = (0..8).map(|i| i as f32).collect();
    let columns = || vec![Columns::new(Kernel { form: Form::Linear, gamma: 1.0 }, &docs, 1, 1 << 20)];
    let flat = Query { block: 0, documents: 2..8, levels: vec![7; 6] };
    let empty = Query { block: 0, documents: 3..3, levels: vec![] };
    let pair = Query { block: 0, documents: 4..6, levels: vec![3, 1] };
    for geometry in GEOMETRIES {
        for oracle in ORACLES {
            for inner in INNERS {
                for until in [Until::Epsilon, Until::Gap] {
                    let settings = Settings { geometry, oracle, inner, until, ..Settings::default() };
                    let queries = vec![flat.clone(), empty.clone(), pair.clone()];
                    let mut ball = Ball::new(columns(), queries, settings).unwrap();
                    let report = run(&mut ball, 10, 0, &Watch::NOBODY).unwrap();
                    assert_eq!(report.stop, Stop::Gap, "{geometry:?} {oracle:?} {inner:?} {until:?}");
                    let core = ball.core();
                    assert_eq!((core.len(), core[0].query, core[0].better, core[0].lesser), (1, 2, 4, 5));
                    assert_eq!(ball.coefficients(0), [(4, 1.0), (5, -1.0)]);
                    assert_eq!((ball.documents(), ball.total()), (2, 1));
                    let right = if geometry == Geometry::Centred { 2.0 } else { 0.0 };
                    assert!((report.objective - right).abs() < 1e-12);
                }
            }
        }
    }
    let none = Ball::new(columns(), vec![flat.clone(), empty], Settings::default());
    assert!(matches!(none, Err(Error::Data { .. })));
    assert!(matches!(Ball::new(columns(), vec![], Settings::default()), Err(Error::Data { .. })));
    let outside = Query { documents: 4..10, ..flat };
    assert!(matches!(Ball::new(columns(), vec![outside], Settings::default()), Err(Error::Data { .. })));
    for bad in [Settings { c: 0.0, ..Settings::default() }, Settings { epsilon: 0.0, ..Settings::default() }] {
        assert!(matches!(Ball::new(columns(), vec![pair.clone()], bad), Err(Error::Setting { .. })));
    }
}

/// Ten blocks of one query each: `n` images, a tenth of which are of the category, not far from the others.
pub(crate) fn images(n: usize) -> Problem {
    let (d, mut random) = (16, Random::new(9));
    let mut docs = vec![];
    let mut queries = vec![];
    for block in 0..10 {
        let levels: Vec<u32> = (0..n).map(|i| u32::from(i % 10 == block)).collect();
        docs.push(vec![]);
        queries.push(Query { block, documents: 0..n, levels });
    }
    let centres: Vec<f64> = (0..10 * d).map(|_| random.normal()).collect();
    let rows: Vec<f32> =
        (0..n * d).map(|at| (centres[at / d % 10 * d + at % d] + 0.8 * random.normal()) as f32).collect();
    docs.iter_mut().for_each(|docs| docs.clone_from(&rows));
    let kernel = Kernel::in_units(Form::Rbf, 1.0, &docs[0], d);
    Problem { docs, d, kernel, queries }
}

#[test]
fn the_seed_decides_and_a_smaller_epsilon_goes_further() {
    let problem = images(60);
    for oracle in ORACLES {
        let mut before: Option<(usize, f64)> = None;
        for epsilon in [1e-1, 1e-2, 3e-3] {
            let settings = Settings { epsilon, oracle, ..Settings::default() };
            let mut twice = [problem.ball(settings), problem.ball(settings)];
            let reports = [0, 1].map(|i| run(&mut twice[i], 100_000, 0, &Watch::NOBODY).unwrap());
            let bits = |ball: &Ball| ball.theta().iter().map(|a| a.to_bits()).collect::<Vec<u64>>();
            assert_eq!(reports[0], reports[1]);
            assert_eq!(bits(&twice[0]), bits(&twice[1]));
            assert_eq!(twice[0].core(), twice[1].core());
            let (size, f) = (twice[0].core().len(), reports[0].objective);
            if let Some((size_before, f_before)) = before {
                assert!(10 * size >= 9 * size_before && f < f_before, "{oracle:?} {epsilon} {size} {f} {before:?}");
            }
            before = Some((size, f));
        }
    }
    let other = |seed| {
        let mut ball = problem.ball(Settings { seed, ..Settings::default() });
        run(&mut ball, 50, 0, &Watch::NOBODY).unwrap();
        ball.core()
    };
    assert_ne!(other(1), other(2));
}

#[test]
fn sums_do_not_drift() {
    let problem = images(100);
    for oracle in [Oracle::Turn, Oracle::Exact] {
        let mut ball = problem.ball(Settings { oracle, ..Settings::default() });
        run(&mut ball, 450, 0, &Watch::NOBODY).unwrap();
        let mut f = 0.0;
        for block in 0..10 {
            let columns = Columns::new(problem.kernel, &problem.docs[block], problem.d, 1 << 24);
            let weights = ball.coefficients(block);
            for &(i, a) in &weights {
                let column = columns.get(i as usize);
                f += weights.iter().map(|&(j, b)| a * b * f64::from(column[j as usize])).sum::<f64>();
            }
        }
        f += ball.core().iter().map(|pair| pair.weight * pair.weight).sum::<f64>();
        assert!((f - ball.progress().objective).abs() < 1e-10, "{f} {}", ball.progress().objective);
        assert!((ball.theta().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
