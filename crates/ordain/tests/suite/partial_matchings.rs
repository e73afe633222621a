//! Exact and pruned sums over matchings of any graph against enumeration, permanents and each other.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and a gate prints what it measured

use ordain::Error;
use ordain::data::{MatchReading, read_match_splits};
use ordain::method::MatchMargin;
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::structure::exhaustive;
use ordain::structure::matching::graph::Graph;
use ordain::structure::matching::{forest, partial, pruned, subsets};
use ordain::task::{Method, Model, Training};

/// Log-partition function and marginals, one matching after the other.
fn slow(graph: &Graph, s: &[f64]) -> Option<(f64, Vec<f64>)> {
    let (mut top, mut z, mut p) = (f64::NEG_INFINITY, 0.0, vec![0.0; graph.table()]);
    exhaustive::matchings(graph, &mut |y| top = top.max(graph.score(s, y)));
    if top == f64::NEG_INFINITY {
        return None;
    }
    let mut table = p.clone();
    exhaustive::matchings(graph, &mut |y| {
        let share = (graph.score(s, y) - top).exp();
        z += share;
        graph.write(y, &mut table);
        p.iter_mut().zip(&table).for_each(|(p, t)| *p += share * t);
    });
    p.iter_mut().for_each(|p| *p /= z);
    Some((top + z.ln(), p))
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The largest distance of what is known of an item from 1; items may be left over where that is for nothing.
fn unbalanced(graph: &Graph, p: &[f64]) -> f64 {
    let (n, m, edges) = (graph.left(), graph.right(), graph.edges());
    let mut sums = vec![0.0; n + m];
    for (e, p) in p.iter().enumerate().take(edges) {
        let (i, j) = graph.ends(e);
        sums[i] += p;
        sums[n + j] += p;
    }
    if graph.null() {
        sums.iter_mut().zip(&p[edges..]).for_each(|(sum, p)| *sum += p);
    }
    let free = |at: usize| !graph.null() && if at < n { graph.left_may_stay() } else { graph.right_may_stay() };
    let off = |(at, sum): (usize, &f64)| if free(at) { (sum - 1.0).max(0.0) } else { (sum - 1.0).abs() };
    sums.iter().enumerate().map(off).fold(0.0, f64::max)
}

fn random_graph(random: &mut Random, n: usize, m: usize, out_of_four: usize, null: bool) -> Graph {
    let mut edges = vec![];
    for i in 0..n as u32 {
        edges.extend((0..m as u32).filter(|_| random.below(4) < out_of_four).map(|j| (i, j)));
    }
    Graph::new(n, m, &edges, null).unwrap()
}

pub(crate) fn complete(n: usize, m: usize, null: bool) -> Graph {
    random_graph(&mut Random::new(1), n, m, 4, null)
}

pub(crate) fn normal(random: &mut Random, len: usize, scale: f64) -> Vec<f64> {
    (0..len).map(|_| scale * random.normal()).collect()
}

fn exact(graph: &Graph, s: &[f64]) -> (f64, Vec<f64>) {
    let mut p = vec![f64::NAN; graph.table()];
    (partial::log_sum(graph, s, &mut partial::Work::up_to(22), &mut p).unwrap(), p)
}

/// Adds constants of items to all that they do: this is added up in log Z, and does nothing else.
fn shifted(graph: &Graph, s: &mut [f64], random: &mut Random, by: f64) -> f64 {
    let (n, m, edges) = (graph.left(), graph.right(), graph.edges());
    let c: Vec<f64> = (0..n + m)
        .map(|at| {
            let free = !graph.null() && if at < n { graph.left_may_stay() } else { graph.right_may_stay() };
            if free { 0.0 } else { by * (2.0 * random.uniform() - 1.0) }
        })
        .collect();
    for (e, s) in s.iter_mut().enumerate() {
        let (i, j) = if e < edges { graph.ends(e) } else { (e - edges, 0) };
        *s += if e < edges { c[i] + c[n + j] } else { c[i] };
    }
    c.iter().sum()
}

/// Whether some way of edges leads back to where it began: an edge joins two items that are joined already.
fn cyclic(graph: &Graph) -> bool {
    let mut tree: Vec<usize> = (0..graph.left() + graph.right()).collect();
    (0..graph.edges()).any(|e| {
        let (i, j) = graph.ends(e);
        let (a, b) = (tree[i], tree[graph.left() + j]);
        tree.iter_mut().filter(|tree| **tree == a).for_each(|tree| *tree = b);
        a == b
    })
}

#[test]
fn forests_equal_enumeration() {
    let (mut random, mut work) = (Random::new(8), forest::Work::default());
    let mut kinds = [0; 2];
    for round in 0..4000 {
        let (n, m, density) = (random.below(6), random.below(6), 1 + random.below(3));
        let graph = random_graph(&mut random, n, m, density, true);
        let scale = [0.0, 1.0, 5.0, 300.0][random.below(4)];
        let s = normal(&mut random, graph.table(), scale);
        let mut p = vec![f64::NAN; graph.table()];
        let found = forest::log_sum(&graph, &s, &mut work, &mut p).unwrap();
        assert_eq!((found.is_none(), forest::fits(&graph)), (cyclic(&graph), found.is_some()), "round {round}");
        kinds[usize::from(found.is_some())] += 1;
        let Some(log_z) = found else { continue };
        let (truth, marginals) = slow(&graph, &s).unwrap();
        assert!((log_z - truth).abs() <= 1e-12 * (1.0 + truth.abs()), "round {round}: {log_z}, not {truth}");
        assert!(apart(&p, &marginals) < 1e-10, "round {round}: {}", apart(&p, &marginals));
    }
    assert!(kinds.iter().all(|&count| count > 800), "{kinds:?}");
    // without nulls it has no answer
    let graph = complete(1, 1, false);
    assert_eq!(forest::log_sum(&graph, &[0.0], &mut work, &mut [0.0]).unwrap(), None);
    // a star as large as one likes, in closed form; and no score that is not a number
    let (k, edges) = (5000, (0..5000).map(|j| (0, j)).collect::<Vec<(u32, u32)>>());
    let star = Graph::new(1, k, &edges, true).unwrap();
    let mut s = normal(&mut random, star.table(), 2.0);
    let mut p = vec![f64::NAN; star.table()];
    let log_z = forest::log_sum(&star, &s, &mut work, &mut p).unwrap().unwrap();
    let alone: f64 = s[k + 1..].iter().sum();
    let sum = s[k].exp() + (0..k).map(|j| (s[j] - s[k + 1 + j]).exp()).sum::<f64>();
    assert!((log_z - alone - sum.ln()).abs() < 1e-9 && unbalanced(&star, &p) < 1e-9);
    s[3] = f64::NAN;
    assert!(forest::log_sum(&star, &s, &mut work, &mut p).is_err());
}

#[test]
fn sums_equal_enumeration() {
    let (mut random, mut work) = (Random::new(7), partial::Work::default());
    let (mut prune, mut infeasible, mut tried) = (pruned::Work::default(), 0, 0);
    for round in 0..4000 {
        let most = if round % 50 == 0 { 7 } else { 6 };
        let (n, m) = (random.below(most), random.below(most));
        let null = random.below(2) == 0;
        let density = 1 + random.below(4);
        let graph = random_graph(&mut random, n, m, density, null);
        let scale = [0.0, 1.0, 5.0, 30.0][random.below(4)];
        let mut s = normal(&mut random, graph.table(), scale);
        let truth = slow(&graph, &s);
        let by = [0.0, 1e4][random.below(2)];
        let total = shifted(&graph, &mut s, &mut random, by);
        // numbers of size 1e4 hold their place to 2e-12 and no better
        let close = if by > 0.0 { 1e-10 } else { 1e-12 };
        let mut p = vec![f64::NAN; graph.table()];
        let sum = partial::log_sum(&graph, &s, &mut work, &mut p);
        let mut q = vec![f64::NAN; graph.table()];
        let epsilon = [1e-12, 1e-3][random.below(2)];
        let kept = pruned::log_sum(&graph, &s, epsilon, 1000, &mut prune, &mut q);
        let Some((log_z, truth)) = truth else {
            infeasible += 1;
            for error in [sum.unwrap_err(), kept.unwrap_err()] {
                assert!(matches!(error, Error::Infeasible { side, .. } if side == "row" || m <= n), "{error}");
            }
            continue;
        };
        tried += 1;
        let (sum, kept) = (sum.unwrap(), kept.unwrap().unwrap());
        let log_z = log_z + total;
        assert!((sum - log_z).abs() <= close * (1.0 + log_z.abs()), "{round}: {sum} {log_z}");
        assert!(apart(&p, &truth) <= close, "{round}: {}", apart(&p, &truth));
        assert!(unbalanced(&graph, &p) <= 1e-12, "{round}: {}", unbalanced(&graph, &p));
        // what was pruned keeps its word
        assert!(apart(&q, &truth) <= kept.error + close, "{round}: {} {}", apart(&q, &truth), kept.error);
        let above = log_z - kept.log_z;
        let slack = close * (1.0 + log_z.abs());
        assert!(above >= -slack && above <= slack - (-kept.error).ln_1p(), "{round}: {above} {}", kept.error);
        assert!(unbalanced(&graph, &q) <= 1e-12);
    }
    assert!(tried > 3000 && infeasible > 200, "{tried} {infeasible}");
}

#[test]
fn a_permanent_holds_all_partial_matchings() {
    let mut random = Random::new(3);
    for (n, m) in [(1, 1), (2, 3), (4, 2), (5, 5), (3, 8)] {
        let graph = random_graph(&mut random, n, m, 3, true);
        let s = normal(&mut random, graph.table(), 2.0);
        // per [[A, diag(u)], [1 v', 1]] = m! Z
        let size = n + m;
        let mut w = vec![f64::NEG_INFINITY; size * size];
        for (e, s) in s.iter().enumerate().take(graph.edges()) {
            let (i, j) = graph.ends(e);
            w[i * size + j] = *s;
        }
        for i in 0..n {
            w[i * size + m + i] = graph.left_null(&s, i);
        }
        for i in n..size {
            (0..m).for_each(|j| w[i * size + j] = graph.right_null(&s, j));
            w[i * size + m..(i + 1) * size].fill(0.0);
        }
        let mut q = vec![0.0; size * size];
        let log_z = subsets::log_sum(&w, size, &mut subsets::Work::default(), &mut q).unwrap();
        let factorial: f64 = (1..=m).map(|x| x as f64).product();
        let (sum, p) = exact(&graph, &s);
        assert!((log_z - factorial.ln() - sum).abs() < 1e-12 * (1.0 + sum.abs()));
        for (e, p) in p.iter().enumerate().take(graph.edges()) {
            let (i, j) = graph.ends(e);
            assert!((p - q[i * size + j]).abs() < 1e-12);
        }
        (0..n).for_each(|i| assert!((p[graph.edges() + i] - q[i * size + m + i]).abs() < 1e-12));
    }
}

#[test]
fn marginals_are_the_slope_of_the_sum() {
    let mut random = Random::new(5);
    for (n, m, null) in [(4, 6, true), (9, 5, true), (5, 9, false), (7, 7, false), (6, 6, true)] {
        let graph = random_graph(&mut random, n, m, 3, null);
        let s = normal(&mut random, graph.table(), 1.5);
        let (_, p) = exact(&graph, &s);
        for at in 0..graph.table() {
            let moved = |by: f64| {
                let mut s = s.clone();
                s[at] += by;
                exact(&graph, &s).0
            };
            assert!(((moved(1e-5) - moved(-1e-5)) / 2e-5 - p[at]).abs() < 1e-9);
        }
    }
}

#[test]
fn both_ways_round_are_the_same() {
    let mut random = Random::new(6);
    for (n, m, null) in [(12, 9, true), (14, 8, false), (11, 11, true), (9, 12, false), (200, 6, true), (40, 17, true)]
    {
        let graph = random_graph(&mut random, n, m, 3, null);
        let s = normal(&mut random, graph.table(), 2.0);
        let mut edges: Vec<(u32, u32)> =
            (0..graph.edges()).map(|e| graph.ends(e)).map(|(i, j)| (j as u32, i as u32)).collect();
        edges.sort_unstable();
        let other = Graph::new(m, n, &edges, null).unwrap();
        let mut place = vec![0; graph.table()];
        for (e, place) in place.iter_mut().enumerate().take(graph.edges()) {
            let (i, j) = graph.ends(e);
            *place = other.of_left(j).find(|&f| other.ends(f).1 == i).unwrap();
        }
        for at in 0..graph.table() - graph.edges() {
            place[graph.edges() + at] = graph.edges() + if at < n { m + at } else { at - n };
        }
        let mut t = vec![0.0; s.len()];
        place.iter().zip(&s).for_each(|(&at, s)| t[at] = *s);
        let ((a, p), (b, q)) = (exact(&graph, &s), exact(&other, &t));
        let q: Vec<f64> = place.iter().map(|&at| q[at]).collect();
        assert!((a - b).abs() < 1e-12 * (1.0 + a.abs()) && apart(&p, &q) < 1e-12);
        assert!(unbalanced(&graph, &p) < 1e-12);
    }
}

#[test]
fn squares_and_rectangles_are_one_law() {
    // an item more on one side that weighs nothing with anybody: not matched, or matched with a spare item
    let mut random = Random::new(8);
    for (n, k) in [(9, 5), (10, 9), (12, 8), (13, 9), (8, 1), (7, 0)] {
        let graph = complete(n, k, false);
        let s = normal(&mut random, graph.table(), 3.0);
        let mut w = vec![0.0; n * n];
        (0..n * k).for_each(|at| w[at / k * n + at % k] = s[at]);
        let mut q = vec![0.0; n * n];
        let log_z = subsets::log_sum(&w, n, &mut subsets::Work::default(), &mut q).unwrap();
        let factorial: f64 = (1..=n - k).map(|x| x as f64).product();
        let (sum, p) = exact(&graph, &s);
        assert!((log_z - factorial.ln() - sum).abs() < 1e-12 * (1.0 + sum.abs()));
        assert!((0..n * k).all(|at| (p[at] - q[at / k * n + at % k]).abs() < 1e-12));
    }
}

/// Scores where the truth stands out: a hidden permutation, or points of the plane that moved a little.
pub(crate) fn peaked(random: &mut Random, m: usize, house: bool, noise: f64) -> Vec<f64> {
    if house {
        let points: Vec<(f64, f64)> = (0..m).map(|_| (random.uniform(), random.uniform())).collect();
        let moved: Vec<(f64, f64)> =
            points.iter().map(|p| (p.0 + noise * random.normal(), p.1 + noise * random.normal())).collect();
        let sigma = 1.5 * noise;
        let weight = |a: &(f64, f64), b: &(f64, f64)| -((a.0 - b.0).powi(2) + (a.1 - b.1).powi(2)) / (sigma * sigma);
        return points.iter().flat_map(|a| moved.iter().map(move |b| weight(a, b))).collect();
    }
    let mut partner: Vec<usize> = (0..m).collect();
    random.shuffle(&mut partner);
    let mut s = normal(random, m * m, 1.0);
    (0..m).for_each(|i| s[i * m + partner[i]] = 4.0 + 4.0 * random.uniform() + random.normal());
    s
}

#[test]
fn pruning_is_near_where_weights_are_peaked() {
    let (mut random, mut work) = (Random::new(9), pruned::Work::default());
    for round in 0..12 {
        let m = 16 + round % 4 * 2;
        let house = round % 2 == 0;
        let graph = complete(m, m, false);
        let s = peaked(&mut random, m, house, 0.05);
        let (log_z, p) = exact(&graph, &s);
        let mut q = vec![0.0; p.len()];
        let kept = pruned::log_sum(&graph, &s, 1e-8, 100_000, &mut work, &mut q).unwrap().unwrap();
        println!("{m} {house}: {kept:?}, off by {:.1e}", apart(&p, &q));
        assert!(apart(&p, &q) <= 1e-5 && apart(&p, &q) <= kept.error);
        assert!(log_z >= kept.log_z - 1e-10 && log_z <= kept.log_z - (-kept.error).ln_1p() + 1e-10);
    }
    // with nulls, and more items on one side
    for round in 0..8 {
        let (n, m) = [(14, 12), (12, 15), (13, 13), (30, 10)][round % 4];
        let graph = random_graph(&mut random, n, m, 3, true);
        let s: Vec<f64> = (0..graph.table())
            .map(|e| {
                let own = e < graph.edges() && graph.ends(e).0 == graph.ends(e).1;
                random.normal()
                    + if own {
                        6.0
                    } else if e < graph.edges() {
                        -3.0
                    } else {
                        0.0
                    }
            })
            .collect();
        let (_, p) = exact(&graph, &s);
        let mut q = vec![0.0; p.len()];
        let kept = pruned::log_sum(&graph, &s, 1e-8, 100_000, &mut work, &mut q).unwrap().unwrap();
        println!("{n} x {m}: {kept:?}, off by {:.1e}", apart(&p, &q));
        assert!(apart(&p, &q) <= 1e-5 && apart(&p, &q) <= kept.error);
        assert!(unbalanced(&graph, &q) < 1e-12);
    }
}

#[test]
fn pruning_keeps_its_word_on_flat_weights() {
    let (mut random, mut work) = (Random::new(10), pruned::Work::default());
    for round in 0..60 {
        let (n, m) = (6 + random.below(5), 6 + random.below(5));
        let graph = complete(n, m, round % 2 == 0);
        let s = normal(&mut random, graph.table(), [0.0, 0.3, 1.0][round % 3]);
        let (_, p) = exact(&graph, &s);
        for epsilon in [0.3, 1e-1, 1e-2, 1e-4] {
            let mut q = vec![0.0; p.len()];
            let kept = pruned::log_sum(&graph, &s, epsilon, 1 << 11, &mut work, &mut q).unwrap().unwrap();
            assert!(apart(&p, &q) <= kept.error, "{} {kept:?}", apart(&p, &q));
        }
    }
}

#[test]
fn too_many_states_are_given_up() {
    let mut work = pruned::Work::default();
    for m in [18, 70, 128] {
        let graph = complete(m, m, false);
        let mut p = vec![0.0; m * m];
        assert_eq!(pruned::log_sum(&graph, &vec![0.0; m * m], 1e-8, 2000, &mut work, &mut p).unwrap(), None);
        // 128 bits do: only the diagonal
        let s: Vec<f64> = (0..m * m).map(|at| if at % (m + 1) == 0 { 40.0 } else { 0.0 }).collect();
        let kept = pruned::log_sum(&graph, &s, 1e-8, 2000, &mut work, &mut p).unwrap().unwrap();
        assert!((kept.log_z - 40.0 * m as f64).abs() < 1e-8 && kept.error < 1e-8, "{kept:?}");
        assert!((0..m).all(|i| (p[i * m + i] - 1.0).abs() < 1e-8));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let graph = complete(3, 4, true);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let (mut s, mut p) = (vec![0.0; graph.table()], vec![0.0; graph.table()]);
        s[5] = bad;
        assert!(matches!(
            partial::log_sum(&graph, &s, &mut partial::Work::default(), &mut p),
            Err(Error::NotFinite { .. })
        ));
        let kept = pruned::log_sum(&graph, &s, 1e-8, 100, &mut pruned::Work::default(), &mut p);
        assert!(matches!(kept, Err(Error::NotFinite { .. })));
    }
    for (n, null, limit) in [(23, false, "22"), (19, true, "18"), (27, true, "18")] {
        let graph = complete(n, n + 1, null);
        let mut p = vec![0.0; graph.table()];
        let said = partial::log_sum(&graph, &p.clone(), &mut partial::Work::default(), &mut p).unwrap_err().to_string();
        assert!(
            said.contains(&format!("at most {limit} items")) && said.ends_with(&format!("found {n} items")),
            "{said}"
        );
    }
    let graph = complete(129, 129, true);
    let mut p = vec![0.0; graph.table()];
    assert!(pruned::log_sum(&graph, &p.clone(), 1e-8, 100, &mut pruned::Work::default(), &mut p).is_err());
}

/// Scores as they were learned of the house: of seven test pairs of three baselines, the first 22 landmarks and their partners.
pub(crate) fn house_weights() -> Vec<(&'static str, Vec<Vec<f64>>)> {
    let folder = std::path::PathBuf::from(std::env::var_os("ORDAIN_DATA").expect("ORDAIN_DATA names the data folder"));
    let house = folder.join("matching").join("cmu-house");
    let text = std::fs::read_to_string(house.join("pairs.csv")).unwrap();
    let (dir, m) = (tempfile::tempdir().unwrap(), 22);
    let of_baseline = |baseline: &'static str| {
        let pairs = dir.path().join("pairs.csv");
        let rows: Vec<&str> =
            text.lines().filter(|l| l.starts_with("baseline") || l.split(',').next() == Some(baseline)).collect();
        std::fs::write(&pairs, rows.join("\n")).unwrap();
        let reading = MatchReading { pairs: Some(pairs), ..MatchReading::default() };
        let (set, splits) = read_match_splits(&[house.join("points.csv")], &reading).unwrap();
        let [train, valid, test] = splits.unwrap().map(|range| range.map(|p| p as u32).collect::<Vec<u32>>());
        let training = Training { valid: Some(&valid), ..Training::new(&set, &train) };
        let fitted = MatchMargin::default().fit(&training, &Watch::NOBODY).unwrap();
        let ready = fitted.model.prepare(&set).unwrap();
        let tables = test.iter().take(7).map(|&p| {
            let (problem, scores) = (set.problem(p as usize), fitted.model.scores(&ready, p as usize).unwrap());
            let partner = |i: u32| problem.matched().map(|e| problem.edges[e]).find(|edge| edge.0 == i).unwrap().1;
            let kept: Vec<u32> = (0..m as u32).map(partner).collect();
            let mut s = vec![0.0; m * m];
            for (&(i, j), score) in problem.edges.iter().zip(&scores) {
                if let Some(j) = kept.iter().position(|&k| k == j).filter(|_| (i as usize) < m) {
                    s[i as usize * m + j] = score / fitted.model.temperature.unwrap();
                }
            }
            s
        });
        (baseline, tables.collect())
    };
    ["30", "60", "90"].map(of_baseline).to_vec()
}

/// The pruned sum against all sets, with what was learned of the house.
#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn house_weights_are_near_all_sets_real() {
    let (mut prune, mut dense, m) = (pruned::Work::default(), subsets::Work::default(), 22);
    let graph = complete(m, m, false);
    for (baseline, tables) in house_weights() {
        let (mut worst, mut states) = (0.0f64, 0);
        for s in &tables {
            let (mut p, mut q) = (vec![0.0; m * m], vec![0.0; m * m]);
            let found = pruned::log_sum(&graph, s, 1e-8, 100_000, &mut prune, &mut p).unwrap();
            subsets::log_sum(s, m, &mut dense, &mut q).unwrap();
            worst = worst.max(apart(&p, &q));
            states = states.max(found.unwrap().states);
        }
        println!("house {baseline}: 22 x 22, at most {states} sets of a row, {worst:.1e} from all sets");
        assert!(worst < 1e-5, "house {baseline}");
    }
}
