//! Training of matchers against the slow truth: gradients, margins, samples, engines, and where a fit ends.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::Error;
use ordain::data::scale::{Scale, Scaling};
use ordain::data::synthetic::{Linkage, Registers};
use ordain::data::{Columns, MatchSet, Problem, Truth};
use ordain::matrix::{Csr, Features, Matrix, dot};
use ordain::method::{Match, MatchMethod, Matcher};
use ordain::metric::{Convention, Metric};
use ordain::model_file::to_bytes;
use ordain::random::Random;
use ordain::risk::Empirical;
use ordain::scorer::edges::{Edges, NULL_UNIT};
use ordain::scorer::rows;
use ordain::solver::run::Watch;
use ordain::structure::exhaustive::matchings;
use ordain::structure::matching::engine::{self, log_sum};
use ordain::structure::matching::graph::Graph;
use ordain::structure::matching::{Accuracy, Engine, Sum, best, partial};
use ordain::surrogate::matching::{
    Case, FrozenLikelihood, FrozenWork, MarginWork, MatchLikelihood, MatchMargin, Right,
};
use ordain::task::{Fitted, Method, Model, Training};
use ordain::traits::{Risk, Scorer, Stop, Surrogate};

/// Left and right items, the share of edges, and whether items may stay unmatched.
const SHAPES: [(usize, usize, f64, bool); 12] = [
    (1, 1, 1.0, false),
    (1, 1, 1.0, true),
    (4, 4, 1.0, false),
    (4, 4, 1.0, true),
    (5, 5, 0.5, false),
    (5, 5, 0.4, true),
    (3, 5, 1.0, false),
    (5, 3, 1.0, false),
    (3, 5, 0.5, false),
    (5, 3, 0.5, true),
    (2, 5, 0.3, true),
    (1, 4, 1.0, false),
];

/// Edges at random, and a diagonal so that a matching exists.
fn graph(random: &mut Random, (n, m, share, null): (usize, usize, f64, bool)) -> Graph {
    let mut edges = vec![];
    for i in 0..n {
        edges.extend((0..m).filter(|&j| i == j || random.uniform() < share).map(|j| (i as u32, j as u32)));
    }
    Graph::new(n, m, &edges, null).unwrap()
}

fn normals(random: &mut Random, n: usize, scale: f64) -> Vec<f64> {
    (0..n).map(|_| scale * random.normal()).collect()
}

fn all(graph: &Graph) -> Vec<Vec<u32>> {
    let mut all = vec![];
    matchings(graph, &mut |edges| all.push(edges.to_vec()));
    all
}

/// The log of a sum of exponentials.
fn log_add(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = values.clone().fold(f64::NEG_INFINITY, f64::max);
    top + values.map(|x| (x - top).exp()).sum::<f64>().ln()
}

/// Log Z and the table of probabilities, matching by matching.
fn slow(graph: &Graph, s: &[f64]) -> (f64, Vec<f64>) {
    let all = all(graph);
    let log_z = log_add(all.iter().map(|y| graph.score(s, y)));
    let (mut p, mut table) = (vec![0.0; graph.table()], vec![0.0; graph.table()]);
    for y in &all {
        graph.write(y, &mut table);
        let share = (graph.score(s, y) - log_z).exp();
        p.iter_mut().zip(&table).for_each(|(p, t)| *p += share * t);
    }
    (log_z, p)
}

/// What is known of the edges: a matching at random, and a share of gaps.
fn truth(random: &mut Random, graph: &Graph, gap: f64) -> Vec<Truth> {
    let all = all(graph);
    let right = &all[random.below(all.len())];
    let of = |e: u32| if right.contains(&e) { Truth::Yes } else { Truth::No };
    (0..graph.edges() as u32).map(|e| if random.uniform() < gap { Truth::Unknown } else { of(e) }).collect()
}

fn edges_of(known: &[Truth], wanted: Truth) -> Vec<u32> {
    (0u32..).zip(known).filter(|(_, truth)| **truth == wanted).map(|(e, _)| e).collect()
}

fn case_of(graph: Graph, known: &[Truth]) -> Case {
    Case::new(graph, &edges_of(known, Truth::Yes), &edges_of(known, Truth::Unknown)).unwrap()
}

fn agrees(y: &[u32], known: &[Truth]) -> bool {
    y.iter().all(|&e| known[e as usize] != Truth::No) && edges_of(known, Truth::Yes).iter().all(|yes| y.contains(yes))
}

/// Central differences of a value along each axis.
fn differences(at: &[f64], h: f64, mut value: impl FnMut(&[f64]) -> f64) -> Vec<f64> {
    let mut x = at.to_vec();
    let mut slope = |k: usize| {
        x[k] = at[k] + h;
        let up = value(&x);
        x[k] = at[k] - h;
        let down = value(&x);
        x[k] = at[k];
        (up - down) / (2.0 * h)
    };
    (0..at.len()).map(&mut slope).collect()
}

fn assert_near(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (k, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() <= tolerance, "{what}: {x}, not {y} at {k}");
    }
}

#[test]
fn the_likelihood_is_that_of_all_matchings_that_agree() {
    let mut random = Random::new(1);
    let mut partly = 0;
    for round in 0..8 * SHAPES.len() {
        let graph = graph(&mut random, SHAPES[round % SHAPES.len()]);
        let known = truth(&mut random, &graph, [0.0, 0.3, 0.7, 1.0][round / SHAPES.len() % 4]);
        let s = normals(&mut random, graph.table(), [0.5, 3.0][round % 2]);
        let ys = all(&graph);
        let sum = |only: bool| log_add(ys.iter().filter(|y| !only || agrees(y, &known)).map(|y| graph.score(&s, y)));
        let expected = sum(false) - sum(true);
        let cases = [case_of(graph, &known)];
        partly += usize::from(matches!(cases[0].right, Right::Among(_)));
        for engine in [Engine::Auto, Engine::Exact, Engine::Pruned] {
            let loss = MatchLikelihood { cases: &cases, engines: vec![engine] };
            let (mut d, mut work) = (vec![0.0; s.len()], engine::Work::default());
            let value = loss.value(0, &s, &mut d, &mut work).unwrap();
            assert!((value - expected).abs() < 1e-10, "round {round}: {value}, not {expected}");
            let mut rest = vec![0.0; s.len()];
            let slopes = differences(&s, 1e-5, |s| loss.value(0, s, &mut rest, &mut work).unwrap());
            assert_near(&d, &slopes, 1e-8, &format!("round {round}"));
        }
        // of several that agree, the best
        let right = cases[0].best_right(&s, &mut best::Work::default()).unwrap();
        assert!(agrees(&right, &known) && ys.contains(&right), "round {round}");
        let top = ys.iter().filter(|y| agrees(y, &known)).map(|y| cases[0].graph.score(&s, y));
        assert!((top.fold(f64::NEG_INFINITY, f64::max) - cases[0].graph.score(&s, &right)).abs() < 1e-12);
    }
    assert!(partly > 50, "{partly}");
}

/// Every engine copes with a problem of which all that is left open is nothing.
#[test]
fn what_is_known_may_leave_nothing_open() {
    let graph = Graph::new(2, 2, &[(0, 0), (0, 1), (1, 0), (1, 1)], false).unwrap();
    let nulls = Graph::new(2, 2, &[(0, 0), (0, 1), (1, 0), (1, 1)], true).unwrap();
    for graph in [graph, nulls] {
        let s: Vec<f64> = (0..graph.table()).map(|k| 0.1 * k as f64).collect();
        let (log_z, p) = slow(&graph, &s);
        let cases = [Case::new(graph.clone(), &[0, 3], &[1, 2]).unwrap()];
        let expected = log_z - graph.score(&s, &[0, 3]);
        let mut right = vec![0.0; s.len()];
        graph.write(&[0, 3], &mut right);
        for &engine in Engine::ALL {
            let loss = MatchLikelihood { cases: &cases, engines: vec![engine] };
            let mut d = vec![0.0; s.len()];
            let value = loss.value(0, &s, &mut d, &mut engine::Work::default()).unwrap();
            let exact: Vec<f64> = p.iter().zip(&right).map(|(p, y)| p - y).collect();
            // Bethe is off by a factor of 2 here, and its chain with it
            let (off, wrong) = match engine {
                Engine::Auto | Engine::Exact | Engine::Pruned => (1e-12, 1e-12),
                Engine::Bethe | Engine::Sinkhorn => (0.8, 0.6),
                _ => (0.8, 0.1),
            };
            assert!((value - expected).abs() < off, "{}: {value}, not {expected}", engine.name());
            assert_near(&d, &exact, wrong, engine.name());
        }
    }
}

#[test]
fn what_cannot_be_right_is_refused() {
    let square = |null: bool| Graph::new(2, 2, &[(0, 0), (0, 1), (1, 0), (1, 1)], null).unwrap();
    let refusal = Case::new(square(false), &[1], &[]).unwrap_err();
    assert!(matches!(refusal, Error::Infeasible { side: "row", index: 1 }), "{refusal}");
    assert!(Case::new(square(true), &[1], &[]).is_ok());
    let tall = Graph::new(3, 2, &[(0, 0), (1, 1), (2, 1)], false).unwrap();
    let refusal = Case::new(tall, &[2], &[]).unwrap_err();
    assert!(matches!(refusal, Error::Infeasible { side: "column", index: 0 }), "{refusal}");
    // edge 3 is ruled out, and what is open leaves right item 1 to nobody
    assert!(matches!(Case::new(square(false), &[], &[0, 2]), Err(Error::Data { .. })));
    assert!(Case::new(square(true), &[], &[0, 2]).is_ok());
}

/// Problems with features at random.
fn made(random: &mut Random, count: usize, cols: usize, sparse: bool, null: bool, gap: f64) -> MatchSet {
    let weights = normals(random, cols, 1.0);
    let (mut problems, mut values) = (vec![], vec![]);
    for p in 0..count {
        let (n, m) = if null { (2 + random.below(3), 2 + random.below(3)) } else { (2 + p % 3, 4 - p % 2) };
        let graph = graph(random, (n, m, 0.8, null));
        let rows: Vec<Vec<f32>> = (0..graph.edges())
            .map(|_| {
                let value = |_| if sparse && random.uniform() < 0.5 { 0.0 } else { (random.normal() + 0.5) as f32 };
                (0..cols).map(value).collect()
            })
            .collect();
        // drawn from the law of a matcher
        let mut s: Vec<f64> =
            rows.iter().map(|row| row.iter().zip(&weights).map(|(&x, w)| f64::from(x) * w).sum()).collect();
        s.resize(graph.table(), 0.2);
        let ys = all(&graph);
        let (log_z, _) = slow(&graph, &s);
        let mut left = random.uniform();
        let drawn = ys.iter().find(|y| {
            left -= (graph.score(&s, y) - log_z).exp();
            left <= 0.0
        });
        let right = drawn.unwrap_or(&ys[0]);
        let of = |e: u32| if right.contains(&e) { Truth::Yes } else { Truth::No };
        let truth =
            (0..graph.edges() as u32).map(|e| if random.uniform() < gap { Truth::Unknown } else { of(e) }).collect();
        problems.push(Problem {
            name: format!("p{p}"),
            left: (0..n).map(|i| format!("a{i}")).collect(),
            right: (0..m).map(|j| format!("b{j}")).collect(),
            edges: (0..graph.edges()).map(|e| graph.ends(e)).map(|(i, j)| (i as u32, j as u32)).collect(),
            truth,
            places: None,
        });
        values.extend(rows);
    }
    let features = if sparse {
        let (mut ends, mut columns, mut kept) = (vec![], vec![], vec![]);
        for row in &values {
            for (j, &x) in (0u32..).zip(row).filter(|&(_, &x)| x != 0.0) {
                columns.push(j);
                kept.push(x);
            }
            ends.push(kept.len());
        }
        Features::Sparse(Csr::new(ends, columns, kept, cols))
    } else {
        Features::Dense(Matrix::new(values.concat(), cols))
    };
    let columns = Columns::named((0..cols).map(|j| format!("x{j}")).collect());
    MatchSet::new(features, columns, problems).unwrap()
}

fn graph_of(set: &MatchSet, p: u32, null: bool) -> Graph {
    let problem = set.problem(p as usize);
    Graph::new(problem.left.len(), problem.right.len(), &problem.edges, null).unwrap()
}

fn cases_of(set: &MatchSet, units: &[u32], null: bool) -> Vec<Case> {
    units.iter().map(|&p| case_of(graph_of(set, p, null), &set.problem(p as usize).truth)).collect()
}

fn scorer<'a>(set: &'a MatchSet, units: &'a [u32], scaling: &'a Scaling, null: bool) -> Edges<'a> {
    let items = |p: u32| set.problem(p as usize).left.len() + set.problem(p as usize).right.len();
    Edges::new(set, units, scaling, null.then_some(&items as &dyn Fn(u32) -> usize))
}

#[test]
fn the_gradient_of_a_whole_risk_is_that_of_differences() {
    let mut random = Random::new(2);
    for &scale in Scale::ALL {
        for (sparse, null, gap) in [(false, false, 0.0), (true, true, 0.3), (true, false, 0.3), (false, true, 0.0)] {
            let set = made(&mut random, 7, 4, sparse, null, gap);
            let units: Vec<u32> = vec![4, 0, 1, 6, 3]; // some of them, in no order
            let scaling = Scaling::learn(scale, &set, &units);
            let edges = scorer(&set, &units, &scaling, null);
            let cases = cases_of(&set, &units, null);
            let what = format!("{} sparse={sparse} null={null}", scale.name());
            assert_eq!((edges.dim(), edges.len()), (4 + usize::from(null), 5), "{what}");
            let theta = normals(&mut random, edges.dim(), 0.3);
            // the matrix, the scores and the way back are one
            for (n, case) in cases.iter().enumerate() {
                let (rows, d) = (case.graph.table(), edges.dim());
                assert_eq!(edges.span(n).len(), rows);
                let (mut a, mut s, mut work) = (vec![9.0; rows * d], vec![9.0; rows], rows::Work::default());
                assert!(edges.matrix(n, &mut a));
                edges.scores(n, &theta, &mut s, &mut work);
                let product: Vec<f64> = a.chunks(d).map(|row| dot(row, &theta)).collect();
                assert_near(&s, &product, 1e-9, &what);
                let v = normals(&mut random, rows, 1.0);
                let mut back = vec![0.5; d];
                edges.pull_back(n, &v, &mut back, &mut work);
                let slow: Vec<f64> =
                    (0..d).map(|j| 0.5 + (0..rows).map(|r| a[r * d + j] * v[r]).sum::<f64>()).collect();
                assert_near(&back, &slow, 1e-9, &what);
                if null {
                    let nulls = &s[case.graph.edges()..];
                    assert!(nulls.iter().all(|x| (x - NULL_UNIT * theta[d - 1]).abs() < 1e-12), "{what}");
                }
            }
            let loss = MatchLikelihood { cases: &cases, engines: vec![Engine::Exact; 5] };
            let weight = vec![0.3, 0.1, 0.2, 0.2, 0.2];
            let mut risk = Empirical::new(&edges, &loss, weight);
            let (mut grad, mut rest) = (vec![0.0; theta.len()], vec![0.0; theta.len()]);
            risk.value(&theta, &mut grad).unwrap();
            let slopes = differences(&theta, 1e-5, |theta| risk.value(theta, &mut rest).unwrap());
            assert_near(&grad, &slopes, 1e-7, &what);
        }
    }
}

/// The share of the items with another partner than in the right matching: of both sides with nulls, else of the lesser one.
fn share_wrong(graph: &Graph, y: &[u32], right: &[u32]) -> f64 {
    let partner = |matching: &[u32], left: bool, item: usize| {
        matching.iter().copied().find(|&e| {
            let (i, j) = graph.ends(e as usize);
            item == if left { i } else { j }
        })
    };
    let sides = [(true, graph.left()), (false, graph.right())];
    let counted = sides.into_iter().filter(|&(_, n)| graph.null() || n == graph.lesser());
    let items: Vec<(bool, usize)> = counted.flat_map(|(left, n)| (0..n).map(move |item| (left, item))).collect();
    let wrong = items.iter().filter(|&&(left, item)| partner(y, left, item) != partner(right, left, item)).count();
    wrong as f64 / items.len() as f64
}

/// The same problems with left and right exchanged.
fn turned(set: &MatchSet) -> MatchSet {
    let (mut problems, mut rows) = (vec![], vec![]);
    for (p, problem) in set.problems().iter().enumerate() {
        let mut order: Vec<usize> = (0..problem.edges.len()).collect();
        order.sort_by_key(|&e| (problem.edges[e].1, problem.edges[e].0));
        rows.extend(order.iter().map(|&e| (set.span(p).start + e) as u32));
        problems.push(Problem {
            name: problem.name.clone(),
            left: problem.right.clone(),
            right: problem.left.clone(),
            edges: order.iter().map(|&e| (problem.edges[e].1, problem.edges[e].0)).collect(),
            truth: order.iter().map(|&e| problem.truth[e]).collect(),
            places: None,
        });
    }
    MatchSet::new(set.features.select_rows(&rows), set.columns.clone(), problems).unwrap()
}

#[test]
fn it_does_not_matter_which_side_is_called_left() {
    let mut random = Random::new(14);
    for round in 0..12 {
        let null = round % 3 > 0;
        let set = made(&mut random, 20, 3, round % 4 == 1, null, 0.0);
        let (units, back) = (set.all(), turned(&set));
        if null {
            // items that stay unmatched on both sides of one problem, and sides of several sizes
            let alone = |p: &Problem, side: &[String]| p.matched().count() < side.len();
            assert!(set.problems().iter().any(|p| alone(p, &p.left) && alone(p, &p.right)));
            assert!(set.problems().iter().any(|p| p.left.len() == p.right.len()));
            assert!(set.problems().iter().any(|p| p.left.len() != p.right.len()));
        }
        let scale = ["none", "global", "query", "minmax"][round % 4];
        let method =
            format!("matchmargin[scale={scale},lambda=0.1,null={null},calibrate=false,tol=1e-13,max_iter=20000]");
        let (a, b) = (fit(&method, &set, &units), fit(&method, &back, &units));
        let objectives = [a.facts.report.objective, b.facts.report.objective];
        assert!((objectives[0] - objectives[1]).abs() < 1e-12, "{method}: {:?} {:?}", a.facts.report, b.facts.report);
        assert_near(&theta_of(&a.model), &theta_of(&b.model), 1e-6, &method);
    }
}

#[test]
fn the_margin_is_that_of_the_worst_matching() {
    let mut random = Random::new(3);
    for round in 0..6 * SHAPES.len() {
        let graph = graph(&mut random, SHAPES[round % SHAPES.len()]);
        let known = truth(&mut random, &graph, 0.0);
        let right = edges_of(&known, Truth::Yes);
        let s = normals(&mut random, graph.table(), [0.05, 1.0][round % 2]);
        let cases = [case_of(graph, &known)];
        let loss = MatchMargin { cases: &cases, right: vec![right.clone()] };
        let (graph, mut work) = (&cases[0].graph, MarginWork::default());
        let slow = |s: &[f64]| {
            let of = |y: &Vec<u32>| share_wrong(graph, y, &right) + graph.score(s, y) - graph.score(s, &right);
            all(graph).iter().map(of).fold(f64::NEG_INFINITY, f64::max)
        };
        let mut d = vec![0.0; s.len()];
        let value = loss.value(0, &s, &mut d, &mut work).unwrap();
        assert!((value - slow(&s)).abs() < 1e-12, "round {round}: {value}, not {}", slow(&s));
        for _ in 0..20 {
            let way = normals(&mut random, s.len(), 0.5);
            let there: Vec<f64> = s.iter().zip(&way).map(|(s, w)| s + w).collect();
            assert!(slow(&there) >= value + dot(&d, &way) - 1e-10, "round {round}");
        }
    }
}

fn frozen<'a>(cases: &'a [Case], engine: Engine, s: &[Vec<f64>]) -> FrozenLikelihood<'a> {
    let (mut samples, mut log_z, mut work) = (vec![], vec![], engine::Work::default());
    for (n, (case, s)) in cases.iter().zip(s).enumerate() {
        let (drawn, z) = engine::draw(engine, &case.graph, s, n as u64, &mut work).unwrap();
        samples.push(drawn);
        log_z.push(z);
    }
    FrozenLikelihood { cases, samples, drawn_at: s.to_vec(), log_z }
}

#[test]
fn frozen_samples_have_the_gradient_of_the_likelihood() {
    let mut random = Random::new(4);
    for engine in [Engine::Importance, Engine::Chain, Engine::HuberLaw, Engine::DeepAr] {
        let (mut cases, mut s) = (vec![], vec![]);
        for (gap, shape) in [0.0, 0.3, 0.0, 0.3, 0.2].into_iter().zip([
            (5, 5, 1.0, false),
            (5, 5, 0.8, false),
            (4, 6, 1.0, false),
            (4, 4, 1.0, true),
            (5, 4, 0.8, true),
        ]) {
            let graph = graph(&mut random, shape);
            let known = truth(&mut random, &graph, gap);
            s.push(normals(&mut random, graph.table(), 0.5));
            cases.push(case_of(graph, &known));
        }
        let mut loss = frozen(&cases, engine, &s);
        let exact = MatchLikelihood { cases: &cases, engines: vec![Engine::Exact; cases.len()] };
        let (mut work, mut exact_work) = (FrozenWork::default(), engine::Work::default());
        for n in 0..cases.len() {
            let what = format!("{} case {n}", engine.name());
            let (mut d, mut right) = (vec![0.0; s[n].len()], vec![0.0; s[n].len()]);
            let value = loss.value(n, &s[n], &mut d, &mut work).unwrap();
            let truth = exact.value(n, &s[n], &mut right, &mut exact_work).unwrap();
            let error = 0.5 / loss.samples[n].effective().sqrt();
            assert!(error < 0.05, "{what}: {error}");
            assert_near(&d, &right, 5.0 * error, &what);
            // a chain does not know log Z: it takes the one of Bethe
            let slack = if engine == Engine::Chain { 2.0 } else { 0.2 };
            assert!((value - truth).abs() < slack, "{what}: {value}, not {truth}");
            // away from there it is the function whose gradient it says
            let way = normals(&mut random, s[n].len(), 0.3);
            let there: Vec<f64> = s[n].iter().zip(&way).map(|(s, w)| s + w).collect();
            loss.value(n, &there, &mut d, &mut work).unwrap();
            let mut rest = vec![0.0; d.len()];
            let slopes = differences(&there, 1e-5, |s| loss.value(n, s, &mut rest, &mut work).unwrap());
            assert_near(&d, &slopes, 1e-8, &what);
            // far away it turns back: exactly where fewer than a tenth of the samples count, however slow the chain was
            loss.samples[n].worth *= 0.05;
            let mut refused = 0;
            for length in [0.5, 1.0, 2.0, 4.0, 8.0, 1e2, 1e4] {
                let far: Vec<f64> = s[n].iter().zip(&way).map(|(s, w)| s + length / 0.3 * w).collect();
                let change: Vec<f64> = far.iter().zip(&s[n]).map(|(a, b)| a - b).collect();
                let samples = &loss.samples[n];
                let count = |change: &[f64]| {
                    let of = |k: usize| samples.log_weight(k) + cases[n].graph.score(change, samples.get(k));
                    let logs: Vec<f64> = (0..samples.len()).map(of).collect();
                    (2.0 * log_add(logs.iter().copied()) - log_add(logs.iter().map(|w| 2.0 * w))).exp()
                };
                let share = count(&change) / count(&vec![0.0; change.len()]);
                let answer = loss.value(n, &far, &mut d, &mut work);
                assert_eq!(answer.is_err(), share < 0.1, "{what}: {share} of the samples count at {length}");
                refused += usize::from(answer.is_err());
            }
            assert!(refused >= 2, "{what}");
        }
    }
}

/// What an engine says, beside the truth.
fn judge(found: &Sum, p: &[f64], graph: &Graph, (log_z, truth): &(f64, Vec<f64>), what: &str) {
    let edges = graph.edges();
    match found.accuracy {
        Accuracy::Exact => {
            assert!((found.log_z - log_z).abs() <= 1e-10 * (1.0 + log_z.abs()), "{what}: {}, not {log_z}", found.log_z);
            assert_near(p, truth, 1e-10, what);
        }
        Accuracy::Certified(error) => {
            assert_near(p, truth, error + 1e-12, what);
            assert!((found.log_z - log_z).abs() <= 2.0 * error * p.len() as f64 + 1e-10, "{what}");
        }
        Accuracy::Estimated(error) => {
            assert!(error < 0.1, "{what}: {error}");
            // what is seldom may not have been drawn at all
            assert_near(&p[..edges], &truth[..edges], 6.0 * error + 5e-3, what);
            assert_near(&p[edges..], &truth[edges..], 6.0 * error.max(0.02), what);
            let slack = if found.by == Engine::Chain { 2.0 } else { 0.3 };
            assert!((found.log_z - log_z).abs() < slack, "{what}: {}, not {log_z}", found.log_z);
        }
        Accuracy::Seen(_) | Accuracy::Approximate => {}
    }
    assert!(p.iter().all(|p| (-1e-9..=1.0 + 1e-3).contains(p)), "{what}: {p:?}");
    for side in [true, false] {
        for item in 0..if side { graph.left() } else { graph.right() } {
            let mut sum: f64 = match side {
                true => graph.of_left(item).map(|e| p[e]).sum(),
                false => graph.of_right(item).iter().map(|&e| p[e as usize]).sum(),
            };
            if graph.null() {
                sum += p[edges + item + if side { 0 } else { graph.left() }];
            }
            let may_stay = if side { graph.left_may_stay() } else { graph.right_may_stay() };
            let slack = if found.accuracy == Accuracy::Approximate { 1e-3 } else { 1e-6 };
            let fits = if graph.null() || !may_stay { (sum - 1.0).abs() < slack } else { sum < 1.0 + slack };
            assert!(fits, "{what}: the sum of item {item} is {sum}");
        }
    }
}

#[test]
fn engines_are_as_near_as_they_say() {
    let mut random = Random::new(5);
    let mut work = engine::Work::default();
    let mut answered = [0; 9];
    for round in 0..3 * SHAPES.len() {
        let graph = graph(&mut random, SHAPES[round % SHAPES.len()]);
        let s = normals(&mut random, graph.table(), [0.3, 1.0, 3.0][round / SHAPES.len()]);
        let truth = slow(&graph, &s);
        for (k, engine) in Engine::ALL.iter().copied().enumerate() {
            let what = format!("{} round {round}", engine.name());
            let mut p = vec![7.0; graph.table()];
            match log_sum(engine, &graph, &s, round as u64, &mut work, &mut p) {
                Ok(sum) => {
                    judge(&sum, &p, &graph, &truth, &what);
                    answered[k] += 1;
                    let small = matches!(engine, Engine::Auto | Engine::Exact | Engine::Pruned);
                    assert_eq!(sum.accuracy == Accuracy::Exact, small, "{what}");
                    assert!(small || sum.by == engine, "{what}");
                    // the same seed says the same, whatever was asked before; another one something else
                    let mut again = vec![1.0; p.len()];
                    let fresh = &mut engine::Work::default();
                    let second = log_sum(engine, &graph, &s, round as u64, fresh, &mut again).unwrap();
                    assert_eq!((second, &again), (sum, &p), "{what}");
                    log_sum(engine, &graph, &s, 1000, fresh, &mut again).unwrap();
                    let free = p.iter().any(|p| (0.05..0.95).contains(p));
                    assert_eq!(again != p, engine.draws() && free, "{what}");
                }
                // weights may be too peaked for rejection
                Err(error) => assert!(
                    matches!(engine, Engine::HuberLaw | Engine::DeepAr) && matches!(error, Error::Data { .. }),
                    "{what}: {error}"
                ),
            }
        }
    }
    assert!(answered.iter().all(|&n| n > 25), "{answered:?}");
}

/// Larger graphs, where sums are pruned: against all subsets, which are tested elsewhere.
/// A problem of ten items or fewer is a part of its own, so that what is seen there is the whole error; of larger ones it is that of some parts.
#[test]
fn approximations_say_how_far_they_are_off_in_parts() {
    let (mut random, mut work) = (Random::new(15), engine::Work::default().looking());
    let shapes = [(4, 4, false), (6, 9, true), (8, 8, false), (10, 10, true), (3, 7, false)];
    for round in 0..30 {
        let (n, m, null) = shapes[round % 5];
        let graph = graph(&mut random, (n, m, 1.0, null));
        let s = normals(&mut random, graph.table(), [0.3, 2.0, 6.0][round / 5 % 3]);
        let mut truth = vec![0.0; graph.table()];
        partial::log_sum(&graph, &s, &mut partial::Work::default(), &mut truth).unwrap();
        for engine in [Engine::Bethe, Engine::Sinkhorn] {
            let mut p = vec![0.0; graph.table()];
            let sum = log_sum(engine, &graph, &s, 1, &mut work, &mut p).unwrap();
            let off = truth.iter().zip(&p).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max);
            let Accuracy::Seen(seen) = sum.accuracy else { panic!("{} round {round}: {sum:?}", engine.name()) };
            assert!((seen - off).abs() <= 1e-9, "{} round {round}: {seen}, not {off}", engine.name());
            let plain = log_sum(engine, &graph, &s, 1, &mut engine::Work::default(), &mut p).unwrap();
            assert_eq!((plain.accuracy, plain.log_z.to_bits()), (Accuracy::Approximate, sum.log_z.to_bits()));
        }
    }
    // larger ones, whole or in parts: the same probabilities as without a look, and something is seen
    for (n, share, null) in [(40, 0.2, true), (30, 1.0, false), (60, 0.05, true)] {
        let graph = graph(&mut random, (n, n, share, null));
        let s = normals(&mut random, graph.table(), 2.0);
        let [mut p, mut q] = [(); 2].map(|()| vec![0.0; graph.table()]);
        let sum = log_sum(Engine::Bethe, &graph, &s, 1, &mut work, &mut p).unwrap();
        assert!(matches!(sum.accuracy, Accuracy::Seen(off) if (0.0..0.5).contains(&off)), "{n}: {sum:?}");
        log_sum(Engine::Bethe, &graph, &s, 1, &mut engine::Work::default(), &mut q).unwrap();
        assert_eq!(p, q);
    }
}

#[test]
fn auto_says_exact_or_certified_only_where_it_is() {
    let mut random = Random::new(6);
    let mut work = engine::Work::default();
    let mut kinds = [0; 4];
    let shapes = [(12, 12, false), (14, 17, false), (16, 13, true), (13, 13, true), (17, 15, false), (12, 12, true)];
    for round in 0..24 {
        let (n, m, null) = shapes[round % 6];
        let graph = graph(&mut random, (n, m, [1.0, 0.3][round / 6 % 2], null));
        let s = normals(&mut random, graph.table(), [0.3, 2.0, 8.0, 30.0][round / 6]);
        let mut truth = vec![0.0; graph.table()];
        let log_z = partial::log_sum(&graph, &s, &mut partial::Work::default(), &mut truth).unwrap();
        let truth = (log_z, truth);
        for engine in [Engine::Auto, Engine::Pruned, Engine::Exact, Engine::Bethe, Engine::Sinkhorn] {
            let mut p = vec![7.0; graph.table()];
            let sum = log_sum(engine, &graph, &s, 1, &mut work, &mut p).unwrap();
            judge(&sum, &p, &graph, &truth, &format!("{} round {round}", engine.name()));
            kinds[match sum.accuracy {
                Accuracy::Exact => 0,
                Accuracy::Certified(_) => 1,
                Accuracy::Estimated(_) => 2,
                Accuracy::Seen(_) | Accuracy::Approximate => 3,
            }] += 1;
            let approximate = matches!(engine, Engine::Bethe | Engine::Sinkhorn);
            assert_eq!(matches!(sum.accuracy, Accuracy::Approximate), approximate, "round {round}");
        }
    }
    assert!(kinds[0] > 24 && kinds[1] > 10, "{kinds:?}");
    // beyond what can be exact, flat weights are no more than estimated
    for (n, null) in [(26, false), (40, false), (30, true), (101, false)] {
        let graph = graph(&mut random, (n, n, 1.0, null));
        let mut p = vec![0.0; graph.table()];
        let flat = vec![0.0; graph.table()];
        let sum = log_sum(Engine::Auto, &graph, &flat, 1, &mut work, &mut p).unwrap();
        assert!(matches!(sum.accuracy, Accuracy::Estimated(_) | Accuracy::Approximate), "{n}: {sum:?}");
        if !null {
            assert_near(&p, &vec![1.0 / n as f64; n * n], 0.05, "flat weights");
        }
    }
}

/// A graph of blocks that no edge connects, its items in random order.
fn blocks(random: &mut Random, sizes: &[(usize, usize)], null: bool) -> Graph {
    let (n, m) = sizes.iter().fold((0, 0), |(n, m), &(l, r)| (n + l, m + r));
    let (mut left, mut right): (Vec<u32>, Vec<u32>) = ((0..n as u32).collect(), (0..m as u32).collect());
    random.shuffle(&mut left);
    random.shuffle(&mut right);
    let (mut edges, mut at) = (vec![], (0, 0));
    for &(l, r) in sizes {
        for i in 0..l {
            for j in (0..r).filter(|&j| i == j || random.uniform() < 0.7) {
                edges.push((left[at.0 + i], right[at.1 + j]));
            }
        }
        at = (at.0 + l, at.1 + r);
    }
    edges.sort_unstable();
    Graph::new(n, m, &edges, null).unwrap()
}

#[test]
fn parts_are_the_whole() {
    let mut random = Random::new(7);
    let mut work = engine::Work::default();
    let sizes: [(&[(usize, usize)], bool); 9] = [
        (&[(2, 2), (3, 3), (1, 1)], false),
        (&[(2, 3), (3, 3), (1, 2)], false),
        (&[(3, 2), (3, 3), (2, 1)], false),
        (&[(2, 2), (0, 2), (3, 3)], false),
        (&[(2, 3), (3, 1), (0, 1), (1, 0)], true),
        (&[(1, 1), (1, 1), (4, 4)], true),
        (&[(12, 12), (2, 3)], false),
        (&[(12, 11), (1, 1), (1, 3)], true),
        (&[(0, 2), (1, 0)], true),
    ];
    for round in 0..18 {
        let (sizes, null) = sizes[round % 9];
        let graph = blocks(&mut random, sizes, null);
        let s = normals(&mut random, graph.table(), [1.0, 8.0][round / 9]);
        let mut truth = vec![0.0; graph.table()];
        let log_z = partial::log_sum(&graph, &s, &mut partial::Work::default(), &mut truth).unwrap();
        let truth = (log_z, truth);
        for &engine in Engine::ALL {
            let mut p = vec![7.0; graph.table()];
            let what = format!("{} {sizes:?} round {round}", engine.name());
            match log_sum(engine, &graph, &s, 1, &mut work, &mut p) {
                Ok(sum) => judge(&sum, &p, &graph, &truth, &what),
                Err(error) => {
                    let peaked = matches!(engine, Engine::HuberLaw | Engine::DeepAr);
                    assert!(peaked && matches!(error, Error::Data { .. }), "{what}: {error}");
                }
            }
        }
        assert!(engine::always_exact(&graph) && engine::may_prune(&graph));
    }
    // forty items, exact by their parts
    for null in [false, true] {
        let graph = blocks(&mut random, &[(4, 4); 10], null);
        let s = normals(&mut random, graph.table(), 1.0);
        let mut p = vec![0.0; graph.table()];
        assert!(engine::always_exact(&graph));
        let sum = log_sum(Engine::Auto, &graph, &s, 1, &mut work, &mut p).unwrap();
        assert_eq!((sum.accuracy, sum.by), (Accuracy::Exact, Engine::Exact));
        judge(&sum, &p, &graph, &(sum.log_z, p.clone()), "ten parts");
    }
}

#[test]
fn the_item_that_cannot_be_matched_is_named() {
    // 0 and 1 are well; of 2, 3 and 4 two want right 2 alone, and rights 3 and 4 want left 4 alone
    let stuck = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (3, 2), (4, 2), (4, 3), (4, 4)];
    let mut flipped: Vec<(u32, u32)> = stuck.iter().map(|&(i, j)| (j, i)).collect();
    flipped.sort_unstable();
    let named = |left: usize, right: usize, edges: &[(u32, u32)], rows: &[usize], columns: &[usize]| {
        let graph = Graph::new(left, right, edges, false).unwrap();
        for &engine in Engine::ALL {
            let mut p = vec![0.0; graph.table()];
            let refusal = log_sum(engine, &graph, &vec![0.1; graph.table()], 1, &mut engine::Work::default(), &mut p);
            let right = match &refusal {
                Err(Error::Infeasible { side: "row", index }) => rows.contains(index),
                Err(Error::Infeasible { side: "column", index }) => columns.contains(index),
                _ => false,
            };
            assert!(right, "{}: {refusal:?}", engine.name());
        }
    };
    named(5, 5, &stuck, &[2, 3], &[3, 4]);
    named(5, 5, &flipped, &[3, 4], &[2, 3]);
    // one more right item, which nobody wants
    named(5, 6, &stuck, &[2, 3], &[]);
    named(6, 5, &flipped, &[], &[2, 3]);
    // a left item without an edge
    named(3, 3, &[(0, 0), (0, 1), (2, 0), (2, 1)], &[1], &[2]);
}

fn fit(method: &str, set: &MatchSet, units: &[u32]) -> Fitted<Match> {
    let method: MatchMethod = method.parse().unwrap();
    method.fit(&Training::new(set, units), &Watch::NOBODY).unwrap()
}

fn theta_of(matcher: &Matcher) -> Vec<f64> {
    matcher.score.weights().iter().copied().chain(matcher.null.map(|null| null / NULL_UNIT)).collect()
}

/// Ridge and mean minus log-likelihood at some parameters, exactly, and the gradient.
fn objective(set: &MatchSet, units: &[u32], model: &Fitted<Match>, theta: &[f64]) -> (f64, Vec<f64>) {
    let (null, lambda) = (model.model.null.is_some(), model.facts.settings["lambda"].as_f64().unwrap());
    let scaling = Scaling::learn(model.model.inputs.scale, set, units);
    let (edges, cases) = (scorer(set, units, &scaling, null), cases_of(set, units, null));
    let loss = MatchLikelihood { cases: &cases, engines: vec![Engine::Exact; cases.len()] };
    let mut grad = vec![0.0; theta.len()];
    let mut risk = Empirical::new(&edges, &loss, vec![1.0 / cases.len() as f64; cases.len()]);
    let value = risk.value(theta, &mut grad).unwrap() + 0.5 * lambda * dot(theta, theta);
    grad.iter_mut().zip(theta).for_each(|(g, t)| *g += lambda * t);
    (value, grad)
}

/// Ridge and mean margin, matching by matching.
fn margin_objective(set: &MatchSet, units: &[u32], model: &Fitted<Match>) -> f64 {
    let (null, lambda) = (model.model.null.is_some(), model.facts.settings["lambda"].as_f64().unwrap());
    let scaling = Scaling::learn(model.model.inputs.scale, set, units);
    let (edges, cases) = (scorer(set, units, &scaling, null), cases_of(set, units, null));
    let theta = theta_of(&model.model);
    let mut sum = 0.0;
    for (n, case) in cases.iter().enumerate() {
        let Right::Matching(right) = &case.right else { panic!("not all is known") };
        let mut s = vec![0.0; case.graph.table()];
        edges.scores(n, &theta, &mut s, &mut rows::Work::default());
        let of = |y: &Vec<u32>| share_wrong(&case.graph, y, right) + case.graph.score(&s, y);
        let worst = all(&case.graph).iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        sum += worst - case.graph.score(&s, right);
    }
    0.5 * lambda * dot(&theta, &theta) + sum / cases.len() as f64
}

#[test]
fn a_likelihood_fit_ends_at_a_minimum() {
    let mut random = Random::new(8);
    for &scale in Scale::ALL {
        for (null, sparse, gap) in [(false, false, 0.0), (true, true, 0.0), (false, true, 0.3), (true, false, 0.3)] {
            let set = made(&mut random, 25, 3, sparse, null, gap);
            let units = set.all();
            let method = format!("matchmap[scale={},lambda=0.05,null={null},tol=1e-7]", scale.name());
            let model = fit(&method, &set, &units);
            let report = model.facts.report;
            assert!(matches!(report.stop, Stop::Gradient | Stop::Stalled) && report.gradient < 1e-6, "{report:?}");
            let known: Vec<u32> = units.iter().copied().filter(|&p| told(&set, p)).collect();
            let theta = theta_of(&model.model);
            let (best, grad) = objective(&set, &known, &model, &theta);
            assert!((best - report.objective).abs() < 1e-9, "{method}: {best}, {report:?}");
            let slopes = differences(&theta, 1e-4, |theta| objective(&set, &known, &model, theta).0);
            assert!(slopes.iter().chain(&grad).all(|g| g.abs() < 1e-5), "{method}: {grad:?} {slopes:?}");
            for length in [1e-2, 0.1, 1.0] {
                let way = normals(&mut random, theta.len(), length);
                let there: Vec<f64> = theta.iter().zip(&way).map(|(t, w)| t + w).collect();
                // known in part it is not convex: a minimum near by is all there is
                if gap < 0.1 || length < 0.05 {
                    assert!(objective(&set, &known, &model, &there).0 > best, "{method}");
                }
            }
            assert_eq!((model.facts.notes.accuracy.as_str(), model.facts.notes.error), ("exact", None));
            assert_eq!(model.model.temperature, Some(1.0));
        }
    }
}

fn told(set: &MatchSet, p: u32) -> bool {
    set.problem(p as usize).truth.iter().any(|&truth| truth != Truth::Unknown)
}

#[test]
fn a_margin_fit_knows_how_near_it_is() {
    let mut random = Random::new(9);
    for (scale, null, sparse) in [("none", false, false), ("global", true, true), ("query", true, false)] {
        let set = made(&mut random, 25, 3, sparse, null, 0.0);
        let units = set.all();
        let of = |tol: &str| {
            let method = format!("matchmargin[scale={scale},lambda=0.05,null={null},calibrate=false,tol={tol}]");
            fit(&method, &set, &units)
        };
        let (rough, fine) = (of("0.05"), of("1e-4"));
        for (model, tol) in [(&rough, 0.05), (&fine, 1e-4)] {
            let report = model.facts.report;
            let value = margin_objective(&set, &units, model);
            assert!((value - report.objective).abs() < 1e-10, "{scale}: {value}, {report:?}");
            assert!(report.stop == Stop::Gap && report.gap.unwrap() <= tol * report.objective, "{scale}: {report:?}");
            assert_eq!(model.model.temperature, None);
        }
        // the gap is one
        let (rough, fine) = (rough.facts.report, fine.facts.report);
        assert!(fine.objective <= rough.objective + 1e-12);
        assert!(rough.objective - rough.gap.unwrap() <= fine.objective + 1e-12, "{scale}: {rough:?} {fine:?}");
    }
}

#[test]
fn a_path_of_ridges_ends_where_a_cold_start_does() {
    let mut random = Random::new(10);
    for null in [false, true] {
        let set = made(&mut random, 40, 3, false, null, 0.0);
        let units = set.all();
        for (method, tol) in [("matchmap", 1e-6), ("matchmargin", 1e-3)] {
            let warm = fit(&format!("{method}[null={null},tol={tol}]"), &set, &units);
            let settings = &warm.facts.settings;
            let (scale, lambda) = (settings["scale"].as_str().unwrap(), settings["lambda"].as_f64().unwrap());
            let cold = format!("{method}[null={null},tol={tol},scale={scale},lambda={lambda}]");
            let cold = fit(&cold, &set, &units);
            let (a, b) = (warm.facts.report.objective, cold.facts.report.objective);
            assert!((a - b).abs() <= 1.1 * tol * b, "{method}: {a} and {b}");
            assert!(warm.facts.refit && warm.facts.notes.problems == 40 && warm.facts.chosen.is_some());
            assert_eq!(cold.facts.chosen, None);
        }
    }
}

#[test]
fn the_temperature_is_the_best_of_all() {
    let mut random = Random::new(11);
    for null in [false, true] {
        let set = made(&mut random, 60, 3, false, null, 0.0);
        let (train, valid): (Vec<u32>, Vec<u32>) = ((0..30).collect(), (30..60).collect());
        let method: MatchMethod =
            format!("matchmargin[scale=global,lambda=0.01,null={null},tol=1e-7]").parse().unwrap();
        let training = Training { valid: Some(&valid), refit: false, ..Training::new(&set, &train) };
        let model = method.fit(&training, &Watch::NOBODY).unwrap();
        let t = model.model.temperature.unwrap();
        let nll: Metric = "nll".parse().unwrap();
        let ready = model.model.prepare(&set).unwrap();
        let at = |t: f64| {
            let matcher = Matcher { temperature: Some(t), ..model.model.clone() };
            matcher.evaluate(&ready, &valid, &[nll], &Convention::STANDARD).unwrap().mean(0)
        };
        // one match in all + 2 counts as drawn at random, so it is a little warmer than the plain best
        let best = (-60..=60).map(|k| at(t * 1.05f64.powi(k))).fold(f64::INFINITY, f64::min);
        assert!(at(t) <= best + 0.02, "null={null}: {} at {t}, {best}", at(t));
        assert!(at(t) >= at(0.9 * t) - 0.02 && at(0.5 * t) > best);
        assert!(at(t) < at(1e3 * t) - 0.05 && at(t) < at(1e-3 * t) - 0.05, "null={null}");
    }
}

/// Seven problems without a fault do not make everything certain.
#[test]
fn few_problems_do_not_freeze_the_temperature() {
    let (n, mut problems, mut x) = (4u32, vec![], vec![]);
    for p in 0..7u32 {
        let edges: Vec<(u32, u32)> = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).collect();
        x.extend(edges.iter().map(|&(i, j)| if i == j { 1.0 } else { 0.1 * ((i + 2 * j + p) % 4) as f32 }));
        let names = |side: &str| (0..n).map(|i| format!("{side}{i}")).collect::<Vec<String>>();
        let truth = edges.iter().map(|&(i, j)| if i == j { Truth::Yes } else { Truth::No }).collect();
        let (left, right) = (names("l"), names("r"));
        problems.push(Problem { name: p.to_string(), left, right, edges, truth, places: None });
    }
    let columns = Columns::named(vec!["likeness".into()]);
    let set = MatchSet::new(Features::Dense(Matrix::new(x, 1)), columns, problems).unwrap();
    let model = fit("matchmargin", &set, &set.all());
    let said = model.model.predict(&model.model.prepare(&set).unwrap(), &set.all()).unwrap();
    let sure: Vec<f64> = said.iter().flat_map(|said| said.matches.iter().map(|m| m.probability.unwrap())).collect();
    // of 28 matches without a fault one in 30² is taken to be drawn at random
    assert!(sure.iter().all(|&p| p > 0.5 && p < 0.9997), "{sure:?}");
}

fn f1(matcher: &Matcher, set: &MatchSet, units: &[u32]) -> f64 {
    let (ready, by) = (matcher.prepare(set).unwrap(), ["f1".parse().unwrap()]);
    matcher.evaluate(&ready, units, &by, &Convention::STANDARD).unwrap().mean(0)
}

#[test]
fn a_threshold_is_learned_also_from_half_of_the_truth() {
    let set = Linkage { problems: 120, records: 6, ..Linkage::default() }.make();
    let (train, test): (Vec<u32>, Vec<u32>) = ((0..80).collect(), (80..120).collect());
    let mut random = Random::new(12);
    let mut problems = set.problems().to_vec();
    for truth in problems.iter_mut().take(80).flat_map(|problem| &mut problem.truth) {
        if random.uniform() < 0.5 {
            *truth = Truth::Unknown;
        }
    }
    let half = MatchSet::new(set.features.clone(), set.columns.clone(), problems).unwrap();
    for method in ["matchmap[null=true,scale=none,lambda=0.003]", "matchmargin[null=true,scale=none,lambda=0.03]"] {
        let model = fit(method, &set, &train);
        let reached = f1(&model.model, &set, &test);
        let everything = Matcher { null: Some(-1e4), ..model.model.clone() };
        let floor = f1(&everything, &set, &test);
        assert!(reached > floor + 0.05 && reached > 0.85, "{method}: {reached}, matching everything {floor}");
        let partly = fit(method, &half, &train);
        assert_eq!((partly.facts.notes.partly_known, partly.facts.notes.blank_problems), (80, 0));
        let with_half = f1(&partly.model, &set, &test);
        assert!(with_half > reached - 0.05, "{method}: {with_half} with half of the truth, {reached} with all");
    }
}

#[test]
fn problems_of_which_nothing_is_known_are_left_out_and_counted() {
    let mut random = Random::new(13);
    let set = made(&mut random, 30, 3, false, false, 0.0);
    let mut problems = set.problems().to_vec();
    for p in [3, 7, 11, 29] {
        problems[p].truth.fill(Truth::Unknown);
    }
    let gaps = MatchSet::new(set.features.clone(), set.columns.clone(), problems).unwrap();
    let known: Vec<u32> = (0..30).filter(|p| ![3, 7, 11, 29].contains(p)).collect();
    for method in ["matchmap[lambda=0.1,scale=global]", "matchmargin[lambda=0.1,scale=global]", "matchmap"] {
        let (mut a, b) = (fit(method, &gaps, &gaps.all()), fit(method, &set, &known));
        let (own, other) = (&a.facts.notes, &b.facts.notes);
        assert_eq!((own.problems, own.blank_problems, other.blank_problems), (26, 4, 0), "{method}");
        // what columns look like is seen on all problems, as their transforms are
        assert_eq!(a.model.inputs.ranges.units(), 30);
        a.model.inputs.ranges = b.model.inputs.ranges.clone();
        assert_eq!(a.model, b.model, "{method}");
    }
    let blank = [3, 7];
    for method in ["matchmap", "matchmargin"] {
        let method: MatchMethod = method.parse().unwrap();
        let refusal = method.fit(&Training::new(&gaps, &blank), &Watch::NOBODY).unwrap_err().to_string();
        assert!(refusal.contains("known matches") && refusal.contains("2 problems"), "{refusal}");
    }
}

#[test]
fn errors_name_the_problem_and_the_item() {
    let mut random = Random::new(14);
    let set = made(&mut random, 8, 2, false, false, 0.0);
    let mut problems = set.problems().to_vec();
    problems[4].truth.fill(Truth::No);
    let wrong = MatchSet::new(set.features.clone(), set.columns.clone(), problems).unwrap();
    for method in ["matchmap[lambda=1]", "matchmargin", "matchmap[marginals=chain,scale=none,lambda=1]"] {
        let method: MatchMethod = method.parse().unwrap();
        let refusal = method.fit(&Training::new(&wrong, &wrong.all()), &Watch::NOBODY).unwrap_err().to_string();
        assert!(refusal.contains("\"p4\"") && refusal.contains("item \"a0\""), "{refusal}");
        assert!(refusal.contains("null=true"), "{refusal}");
    }
    // in prediction: two left items with one candidate
    let stuck = Problem {
        name: "stuck".into(),
        left: vec!["u".into(), "v".into(), "w".into()],
        right: vec!["x".into(), "y".into(), "z".into()],
        edges: vec![(0, 0), (0, 1), (0, 2), (1, 1), (2, 1)],
        truth: vec![Truth::Unknown; 5],
        places: None,
    };
    let features = Features::Dense(Matrix::new(vec![0.5; 10], 2));
    let stuck = MatchSet::new(features, set.columns.clone(), vec![stuck]).unwrap();
    for method in ["matchmap[lambda=1,scale=none]", "matchmargin[lambda=1,scale=none]"] {
        let matcher = fit(method, &set, &set.all()).model;
        let ready = matcher.prepare(&stuck).unwrap();
        let refusal = matcher.predict(&ready, &[0]).unwrap_err().to_string();
        let item = refusal.contains("left item \"v\"") || refusal.contains("left item \"w\"");
        assert!(refusal.contains("\"stuck\"") && item, "{refusal}");
        let free = Matcher { null: Some(0.0), ..matcher };
        assert!(free.predict(&ready, &[0]).unwrap()[0].matches.len() <= 2);
    }
}

/// Problems too large to be exact at all scores, drawn at random: half of the edges, so that nothing is simple.
fn large(random: &mut Random, count: usize, n: usize) -> MatchSet {
    let (mut problems, mut values) = (vec![], vec![]);
    for p in 0..count {
        let graph = graph(random, (n, n, 0.5, false));
        let ends: Vec<(u32, u32)> =
            (0..graph.edges()).map(|e| graph.ends(e)).map(|(i, j)| (i as u32, j as u32)).collect();
        for &(i, j) in &ends {
            let shift = if i == j { 1.0 } else { 0.0 };
            values.extend([(random.normal() + shift) as f32, random.normal() as f32]);
        }
        problems.push(Problem {
            name: format!("p{p}"),
            left: (0..n).map(|i| format!("a{i}")).collect(),
            right: (0..n).map(|j| format!("b{j}")).collect(),
            truth: ends.iter().map(|(i, j)| if i == j { Truth::Yes } else { Truth::No }).collect(),
            edges: ends,
            places: None,
        });
    }
    let columns = Columns::named(vec!["x".into(), "y".into()]);
    MatchSet::new(Features::Dense(Matrix::new(values, 2)), columns, problems).unwrap()
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let mut random = Random::new(15);
    let (exact, partly) = (made(&mut random, 33, 3, true, false, 0.0), made(&mut random, 33, 3, false, true, 0.3));
    let big = large(&mut random, 3, 30);
    for (set, method) in [
        (&exact, "matchmap"),
        (&exact, "matchmargin"),
        (&partly, "matchmap[null=true]"),
        (&partly, "matchmargin[null=true,lambda=0.1,scale=query]"),
        (&exact, "matchmap[marginals=chain,lambda=0.1,scale=none]"),
        (&exact, "matchmap[marginals=importance,lambda=0.1,scale=none]"),
        (&exact, "matchmap[marginals=bethe,lambda=0.1,scale=minmax]"),
        (&big, "matchmap[lambda=0.1,scale=none]"),
    ] {
        let bytes = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let model = fit(method, set, &set.all());
                let ready = model.model.prepare(set).unwrap();
                (to_bytes(&model), model.model.predict(&ready, &set.all()).unwrap())
            })
        };
        let first = bytes(1);
        assert!(first == bytes(2) && first == bytes(3) && first == bytes(1), "{method}");
    }
}

#[test]
fn samplers_train_to_near_the_exact_optimum() {
    let mut random = Random::new(16);
    for null in [false, true] {
        let set = made(&mut random, 40, 3, false, null, 0.0);
        let units = set.all();
        let exact = fit(&format!("matchmap[scale=none,lambda=0.05,null={null},tol=1e-7]"), &set, &units);
        let best = exact.facts.report.objective;
        let at_zero = objective(&set, &units, &exact, &vec![0.0; 3 + usize::from(null)]).0;
        for engine in ["importance", "chain", "deepar", "huber-law"] {
            let method = format!("matchmap[scale=none,lambda=0.05,null={null},marginals={engine}]");
            let model = fit(&method, &set, &units);
            let reached = objective(&set, &units, &exact, &theta_of(&model.model)).0;
            assert!(reached - best < 2e-3 * (at_zero - best), "{method}: {reached}, best {best}, at zero {at_zero}");
            assert_eq!(model.facts.notes.engines.keys().collect::<Vec<_>>(), [engine], "{method}");
            assert!(model.facts.notes.accuracy != "exact" && model.facts.notes.accuracy != "certified", "{method}");
        }
        for (engine, share) in [("bethe", 0.2), ("sinkhorn", 0.2)] {
            let method = format!("matchmap[scale=none,lambda=0.05,null={null},marginals={engine}]");
            let model = fit(&method, &set, &units);
            let reached = objective(&set, &units, &exact, &theta_of(&model.model)).0;
            assert!(reached - best < share * (at_zero - best), "{method}: {reached}, best {best}, at zero {at_zero}");
            assert_eq!(model.facts.notes.accuracy, "approximate", "{method}");
        }
    }
}

/// Where the choice is by F1 the null is moved to what is best on the validation problems, or near it; by likelihood it stays as it was fitted.
#[test]
fn the_null_moves_for_f1_alone() {
    let set = Linkage { problems: 40, ..Linkage::default() }.make();
    let (train, valid): (Vec<u32>, Vec<u32>) = set.all().iter().partition(|&&p| p % 2 == 0);
    let f1: Metric = "f1".parse().unwrap();
    for lambda in [0.3, 0.01] {
        let method = format!("matchmargin[null=true,scale=matched,lambda={lambda}]").parse::<MatchMethod>().unwrap();
        let fit = |by: &str| {
            let by = Some(by.parse().unwrap());
            let data = Training { valid: Some(&valid), by, refit: false, ..Training::new(&set, &train) };
            method.fit(&data, &Watch::NOBODY).unwrap().model
        };
        let (moved, stayed) = (fit("f1"), fit("nll"));
        assert_eq!(moved.score.weights(), stayed.score.weights());
        let ready = moved.prepare(&set).unwrap();
        let of = |null: f64| {
            let matcher = Matcher { null: Some(null), ..moved.clone() };
            matcher.evaluate(&ready, &valid, &[f1], &Convention::STANDARD).unwrap().mean(0)
        };
        let (own, fitted) = (of(moved.null.unwrap()), of(stayed.null.unwrap()));
        let best = (-400..400).map(|at| of(0.05 * f64::from(at))).fold(0.0, f64::max);
        assert!(own >= fitted - 1e-9 && own >= best - 0.02, "{fitted} -> {own} of {best}");
    }
}

/// Registers as one problem in which the partners of some left records are known, drawn at random, and one with all others.
fn registers(records: usize, labels: usize, seed: u64) -> [MatchSet; 2] {
    let mut set = Registers { records, page: None, seed }.make();
    set.fill(ordain::data::Missing::Auto, &[0]);
    let mut order: Vec<usize> = (0..records).collect();
    Random::new(seed).shuffle(&mut order);
    [true, false].map(|wanted| {
        let mut problem = set.problem(0).clone();
        for (truth, &(i, _)) in problem.truth.iter_mut().zip(&problem.edges) {
            if order[..labels].contains(&(i as usize)) != wanted {
                *truth = Truth::Unknown;
            }
        }
        MatchSet::new(set.features.clone(), set.columns.clone(), vec![problem]).unwrap()
    })
}

/// One problem that is too large to be summed teaches as much as small ones would: by the items of which something is known.
#[test]
fn one_large_problem_is_learned_from_around_what_is_known() {
    let [known, rest] = registers(1500, 100, 101);
    let problem = known.problem(0);
    let told = problem.edges.iter().zip(&problem.truth).filter(|(_, truth)| **truth != Truth::Unknown);
    let lefts = told.map(|((i, _), _)| i).collect::<std::collections::BTreeSet<_>>().len(); // some have no candidate
    assert!((80..=100).contains(&lefts));
    for method in ["matchmap[null=true]", "matchmargin[null=true]"] {
        let fitted = fit(method, &known, &[0]);
        let notes = &fitted.facts.notes;
        assert_eq!((notes.problems, notes.partly_known, notes.local), (1, 1, Some(lefts)), "{method}");
        assert!(fitted.trained_on(&known) && fitted.facts.chosen.is_some(), "{method}");
        if method.starts_with("matchmap") {
            assert_eq!((notes.engines["exact"].as_u64(), notes.accuracy.as_str()), (Some(lefts as u64), "exact"));
        }
        let reached = f1(&fitted.model, &rest, &[0]);
        assert!(reached > 0.95, "{method}: {reached}");
    }
    // a scaling of each problem by itself would be another in a part of it
    let whole = fit("matchmap[null=true,scale=query,max_iter=3]", &known, &[0]);
    assert_eq!((whole.facts.notes.local, whole.facts.notes.accuracy.as_str()), (None, "approximate"));
}
