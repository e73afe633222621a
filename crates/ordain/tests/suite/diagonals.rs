//! Slopes and diagonal curvatures of losses in score space: by differences, at extreme scores, and against all pairs.
#![allow(clippy::unwrap_used, clippy::needless_range_loop, clippy::float_cmp)] // a test may panic, twins are written by index

use crate::cases::cases;
use ordain::data::resample::Lists;
use ordain::random::Random;
use ordain::structure::matching::graph::Graph;
use ordain::structure::matching::{Engine, engine};
use ordain::structure::star::Star;
use ordain::structure::star::sum::StarSum;
use ordain::surrogate::fixed_nulls::FixedNulls;
use ordain::surrogate::label_logistic::LabelLogistic;
use ordain::surrogate::listnet::TopOne;
use ordain::surrogate::lists::{ListCases, ListLikelihood, ListLoss, ListMargin, PlaceValues, RightOrders};
use ordain::surrogate::matching::{Case, FrozenLikelihood, MatchLikelihood};
use ordain::surrogate::pair_hinge::PairHinge;
use ordain::surrogate::pair_logistic::{Lambda, PairLogistic, of_pairs};
use ordain::surrogate::squared::Squared;
use ordain::surrogate::star::{self, FixedLinks, StarLikelihood};
use ordain::traits::Surrogate;

/// Value, slopes and diagonal of an example.
fn diagonal<S: Surrogate>(loss: &S, n: usize, s: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
    let (mut d, mut h) = (vec![f64::NAN; s.len()], vec![f64::NAN; s.len()]);
    let value = loss.diagonal(n, s, &mut d, &mut h, &mut S::Work::default()).unwrap().unwrap();
    (value, d, h)
}

fn close(found: f64, expected: f64, within: f64, what: &str) {
    assert!((found - expected).abs() <= within * (1.0 + expected.abs()), "{what}: {found}, not {expected}");
}

/// Differences of the value must be the slopes, and those of the slopes the diagonal; value and slopes are those of `value` to the bit.
fn agrees_with_differences<S: Surrogate>(loss: &S, n: usize, s: &[f64]) {
    let mut own = vec![0.0; s.len()];
    let plain = loss.value(n, s, &mut own, &mut S::Work::default()).unwrap();
    let (value, d, h) = diagonal(loss, n, s);
    assert_eq!((plain.to_bits(), &own), (value.to_bits(), &d));
    differences(s, (&d, &h), |s| {
        let (value, d, _) = diagonal(loss, n, s);
        (value, d)
    });
}

fn differences(s: &[f64], (d, h): (&[f64], &[f64]), at: impl Fn(&[f64]) -> (f64, Vec<f64>)) {
    for i in 0..s.len() {
        let moved = |by: f64| {
            let mut s = s.to_vec();
            s[i] += by;
            at(&s)
        };
        let (up, down) = (moved(1e-5), moved(-1e-5));
        close((up.0 - down.0) / 2e-5, d[i], 1e-6, "slope");
        close((up.1[i] - down.1[i]) / 2e-5, h[i], 1e-6, "curvature");
    }
}

/// At scores far apart nothing overflows, and no curvature is below 0.
fn survives<S: Surrogate>(loss: &S, n: usize, s: &[f64]) {
    for factor in [1e3, 1e6, 1e12, -1e9] {
        let far: Vec<f64> = s.iter().map(|s| s * factor).collect();
        let (value, d, h) = diagonal(loss, n, &far);
        assert!(value.is_finite() && d.iter().chain(&h).all(|x| x.is_finite()), "{value} {d:?} {h:?}");
        assert!(h.iter().all(|&h| h >= 0.0), "{h:?}");
    }
}

struct Query {
    grades: Vec<f64>,
    weights: Vec<f64>,
    s: Vec<f64>,
}

/// Few grades, so that there are ties; of scores too; some weights are 0.
fn query(random: &mut Random, most: usize) -> Query {
    let n = random.below(most + 1);
    let (levels, width) = (1 + random.below(5), [0.3, 1.0, 5.0][random.below(3)]);
    Query {
        grades: (0..n).map(|_| random.below(levels) as f64).collect(),
        weights: (0..n).map(|_| if random.below(6) == 0 { 0.0 } else { 2.0 * random.uniform() }).collect(),
        s: (0..n).map(|_| if random.below(4) == 0 { 0.5 } else { width * random.normal() }).collect(),
    }
}

/// Lists of a query: all of it, and some of its documents twice; from the best grade to the least.
fn lists_of(grades: &[f64]) -> Lists {
    let mut all: Vec<u32> = (0..grades.len() as u32).collect();
    all.sort_by(|&a, &b| grades[b as usize].total_cmp(&grades[a as usize]));
    let some: Vec<u32> = all.iter().copied().filter(|i| i % 3 != 1).collect();
    let rows: Vec<u32> = all.iter().chain(&some).copied().collect();
    Lists { ends: vec![all.len(), rows.len()], of_query: vec![2], rows }
}

#[test]
fn of_lists() {
    let mut random = Random::new(1);
    for round in 0..cases(120) {
        let Query { grades, s, .. } = query(&mut random, 9);
        let values = match round % 3 {
            0 => PlaceValues::Linear,
            1 => PlaceValues::Fixed(vec![1.0, 0.63, 0.5, 0.43, 0.39]),
            _ => PlaceValues::Fixed(vec![3.0, 1.0]),
        };
        let new = |how| ListLikelihood(ListCases::new(lists_of(&grades), [&grades[..]], values.clone(), how, 7));
        for how in [RightOrders::Average, RightOrders::Random] {
            agrees_with_differences(&new(how), 0, &s);
            survives(&new(how), 0, &s);
        }
        // a difference of two convex functions: the slopes are those of both, the curvature is that of log Z, which the mean has too
        let sum = new(RightOrders::Sum);
        let (_, d, h) = diagonal(&sum, 0, &s);
        differences(&s, (&d, &diagonal(&new(RightOrders::Average), 0, &s).2), |s| {
            (diagonal(&sum, 0, s).0, diagonal(&new(RightOrders::Average), 0, s).1)
        });
        assert_eq!(h, diagonal(&new(RightOrders::Average), 0, &s).2);
        survives(&sum, 0, &s);
    }
}

#[test]
fn margins_have_none() {
    let grades = [1.0, 0.0];
    let cases = ListCases::new(lists_of(&grades), [&grades[..]], PlaceValues::Linear, RightOrders::Average, 7);
    let margin = ListMargin::new(cases, [&grades[..]], ListLoss::Ndcg).unwrap();
    let none = margin.diagonal(0, &[0.1, 0.2], &mut [0.0; 2], &mut [0.0; 2], &mut Default::default());
    assert_eq!(none.unwrap(), None);
}

#[test]
fn of_hinges() {
    let mut random = Random::new(2);
    for round in 0..cases(200) {
        // no two scores at a distance of 1, where the slope has a kink
        let Query { grades, weights, s } = query(&mut random, 20);
        let weighted = (round % 2 == 0).then_some([&weights[..]]);
        let loss = PairHinge::new([&grades[..]], weighted.as_ref().map(|w| &w[..]));
        let (value, d, h) = diagonal(&loss, 0, &s);
        let mut slope = vec![0.0; s.len()];
        assert_eq!(value, loss.value(0, &s, &mut slope, &mut Default::default()).unwrap());
        assert_eq!(slope, d);
        for i in 0..s.len() {
            let weight = |i: usize| if weighted.is_some() { weights[i] } else { 1.0 };
            let costs = |i: usize, j: usize| grades[i] > grades[j] && 1.0 - s[i] + s[j] > 0.0;
            let partners = (0..s.len()).filter(|&j| costs(i, j) || costs(j, i));
            close(h[i], partners.map(|j| (weight(i) * weight(j)).sqrt()).sum(), 1e-12, "curvature");
        }
        survives(&loss, 0, &s);
        let mut kinks = (0..s.len()).flat_map(|i| s.iter().map(move |b| (i, b))).map(|(i, b)| (s[i] - b).abs() - 1.0);
        if kinks.all(|kink| kink.abs() > 1e-4) {
            agrees_with_differences(&loss, 0, &s);
        }
    }
}

/// Every way to weigh the pairs of a query.
fn logistic_losses(query: &Query, weighted: bool) -> Vec<PairLogistic> {
    let (grades, weights) = ([&query.grades[..]], [&query.weights[..]]);
    let weights = weighted.then_some(&weights[..]);
    let mut losses = vec![PairLogistic::new(grades, weights)];
    for truncation in [None, Some(1), Some(3), Some(30)] {
        for norm in [false, true] {
            losses.push(PairLogistic::lambda(grades, weights, Lambda { truncation, norm }).unwrap());
        }
    }
    losses
}

#[test]
fn of_logistic_pairs() {
    let mut random = Random::new(3);
    for round in 0..cases(120) {
        let query = query(&mut random, if round % 8 == 0 { 60 } else { 12 });
        for loss in logistic_losses(&query, round % 2 == 0) {
            // against all pairs one by one, near and far
            for factor in [1.0, 0.0, 40.0, 500.0] {
                let s: Vec<f64> = query.s.iter().map(|s| s * factor).collect();
                let pairs = loss.pair_weights(0, &s);
                let (mut slow_d, mut slow_h) = (vec![0.0; s.len()], vec![0.0; s.len()]);
                let slow = of_pairs(&pairs, &s, &mut slow_d, &mut slow_h);
                let (value, d, h) = diagonal(&loss, 0, &s);
                close(value, slow, 1e-12, "value");
                d.iter().zip(&slow_d).for_each(|(a, b)| close(*a, *b, 1e-12, "slope"));
                h.iter().zip(&slow_h).for_each(|(a, b)| close(*a, *b, 1e-12, "curvature"));
                // the product with the whole curvature
                let v: Vec<f64> = (0..3 * s.len()).map(|_| random.normal()).collect();
                let (mut out, mut slow) = (vec![f64::NAN; v.len()], vec![0.0; v.len()]);
                assert!(loss.curvature(0, &s, &v, 3, &mut out, &mut Default::default()).unwrap());
                for &(i, j, weight) in &pairs {
                    let (i, j) = (i as usize, j as usize);
                    let apart = s[i] - s[j];
                    let curve = weight / (2.0 + apart.exp() + (-apart).exp());
                    for c in 0..3 {
                        let bent = curve * (v[3 * i + c] - v[3 * j + c]);
                        slow[3 * i + c] += bent;
                        slow[3 * j + c] -= bent;
                    }
                }
                out.iter().zip(&slow).for_each(|(a, b)| close(*a, *b, 1e-11, "product"));
            }
            survives(&loss, 0, &query.s);
        }
        if query.s.len() < 13 {
            // the plain loss is a function; where weights follow the scores, differences hold with weights kept
            let losses = logistic_losses(&query, round % 2 == 0);
            agrees_with_differences(&losses[0], 0, &query.s);
            for loss in &losses[1..] {
                let pairs = loss.pair_weights(0, &query.s);
                let (_, d, h) = diagonal(loss, 0, &query.s);
                differences(&query.s, (&d, &h), |s| {
                    let (mut d, mut h) = (vec![0.0; s.len()], vec![0.0; s.len()]);
                    (of_pairs(&pairs, s, &mut d, &mut h), d)
                });
            }
        }
    }
}

/// What a swap of two documents changes in NDCG, by two sorted lists, is the weight of their pair.
#[test]
fn pairs_weigh_what_they_change_in_ndcg() {
    let mut random = Random::new(4);
    for _ in 0..cases(100) {
        let Query { grades, s, .. } = query(&mut random, 10);
        let loss = PairLogistic::lambda([&grades[..]], None, Lambda { truncation: None, norm: false }).unwrap();
        let mut order: Vec<usize> = (0..s.len()).collect();
        order.sort_by(|&a, &b| s[b].total_cmp(&s[a]));
        let dcg = |order: &[usize]| -> f64 {
            let gain = |(j, &i): (usize, &usize)| (grades[i].exp2() - 1.0) / ((j + 2) as f64).log2();
            order.iter().enumerate().map(gain).sum()
        };
        let mut ideal = order.clone();
        ideal.sort_by(|&a, &b| grades[b].total_cmp(&grades[a]));
        for (i, j, weight) in loss.pair_weights(0, &s) {
            let swapped: Vec<usize> = order
                .iter()
                .map(|&at| {
                    if at == i as usize {
                        j as usize
                    } else if at == j as usize {
                        i as usize
                    } else {
                        at
                    }
                })
                .collect();
            close(weight, (dcg(&swapped) - dcg(&order)).abs() / dcg(&ideal), 1e-12, "weight");
        }
    }
}

#[test]
fn a_weight_of_all_documents_weighs_the_query() {
    let mut random = Random::new(5);
    for _ in 0..cases(50) {
        let mut query = query(&mut random, 12);
        query.weights.fill(3.0);
        let (plain, heavy) = (logistic_losses(&query, false), logistic_losses(&query, true));
        for (plain, heavy) in plain.iter().zip(&heavy) {
            let ((a, d, h), (b, e, k)) = (diagonal(plain, 0, &query.s), diagonal(heavy, 0, &query.s));
            close(b, 3.0 * a, 1e-12, "value");
            e.iter().zip(&d).chain(k.iter().zip(&h)).for_each(|(x, y)| close(*x, 3.0 * y, 1e-12, "slope"));
        }
    }
}

#[test]
fn what_has_no_meaning_is_refused() {
    let found = |grades: &[f64], truncation| PairLogistic::lambda([grades], None, Lambda { truncation, norm: true });
    assert!(found(&[0.0, -1.0], None).err().unwrap().to_string().contains("loss=logistic"));
    assert!(found(&[0.0, f64::NAN], None).is_err());
    assert!(found(&[0.0, 1.0], Some(0)).err().unwrap().to_string().contains("from 1 on"));
    let loss = found(&[0.0, 1.0], None).unwrap();
    assert!(loss.value(0, &[0.0, f64::NAN], &mut [0.0; 2], &mut Default::default()).is_err());
}

/// A problem with a right matching, and with one that is known in part; its scores.
fn problem(random: &mut Random, null: bool) -> (Case, Case, Vec<f64>) {
    let (left, right) = (1 + random.below(4), 1 + random.below(4));
    let mut edges = vec![];
    for i in 0..left as u32 {
        edges.extend((0..right as u32).filter(|&j| i == j || random.below(3) > 0).map(|j| (i, j)));
    }
    let graph = Graph::new(left, right, &edges, null).unwrap();
    let s = (0..graph.table()).map(|_| 2.0 * random.normal()).collect();
    let all = 0..edges.len() as u32;
    let yes: Vec<u32> = all.clone().filter(|&e| edges[e as usize].0 == edges[e as usize].1).collect();
    let whole = Case::new(graph.clone(), if null { &yes[1..] } else { &yes }, &[]).unwrap();
    let unknown: Vec<u32> = all.filter(|e| *e != yes[0]).collect();
    (whole, Case::new(graph, &yes[..1], &unknown).unwrap(), s)
}

#[test]
fn of_matchings() {
    let mut random = Random::new(6);
    for round in 0..cases(150) {
        let null = round % 3 > 0;
        let (whole, part, s) = problem(&mut random, null);
        let cases = [whole, part];
        let new = || MatchLikelihood { cases: &cases, engines: vec![Engine::Exact; 2] };
        let loss = new();
        agrees_with_differences(&loss, 0, &s);
        survives(&loss, 0, &s);
        survives(&loss, 1, &s);
        // known in part: the slopes are those of both sums, the curvature is that of log Z
        let ((_, d, h), of_sum) = (diagonal(&loss, 1, &s), diagonal(&loss, 0, &s).2);
        assert_eq!(h, of_sum);
        differences(&s, (&d, &of_sum), |s| (diagonal(&loss, 1, s).0, diagonal(&loss, 0, s).1));
        // edges alone, with nulls that are given
        let edges = cases[0].graph.edges();
        let fixed = FixedNulls { likelihood: new(), null: -0.7 };
        agrees_with_differences(&fixed, 0, &s[..edges]);
        let mut table = s.clone();
        table[edges..].fill(-0.7);
        let ((value, d, h), (own, own_d, own_h)) = (diagonal(&loss, 1, &table), diagonal(&fixed, 1, &s[..edges]));
        assert_eq!((value, &d[..edges], &h[..edges]), (own, &own_d[..], &own_h[..]));
        // samples that are kept
        let (samples, log_z) =
            engine::draw(Engine::Importance, &cases[0].graph, &s, 5, &mut engine::Work::default()).unwrap();
        let frozen = FrozenLikelihood {
            cases: &cases[..1],
            samples: vec![samples],
            drawn_at: vec![s.clone()],
            log_z: vec![log_z],
        };
        agrees_with_differences(&frozen, 0, &s);
    }
}

#[test]
fn of_label_sets() {
    let mut random = Random::new(7);
    for round in 0..cases(150) {
        let n = 2 + random.below(6);
        let mut labels: Vec<u32> = (0..n as u32).collect();
        random.shuffle(&mut labels);
        let core: Vec<u32> = labels[..random.below(3)].to_vec();
        random.shuffle(&mut labels);
        let (has, gaps) = (random.below(n), random.below(2));
        let (mut yes, unknown) = (labels[..has].to_vec(), &labels[has..(has + gaps).min(n)]);
        yes.sort_unstable();
        let cases = [star::Case::new(n, &yes, unknown)];
        let links: Vec<f64> = (0..n * core.len()).map(|_| random.normal()).collect();
        let s: Vec<f64> = (0..n).map(|_| 2.0 * random.normal()).collect();
        // links among the scores; what is not read of them has no slope
        let both: Vec<f64> = s.iter().chain(&links).copied().collect();
        let linked = StarLikelihood { labels: n, core: &core, cases: &cases };
        agrees_with_differences(&linked, 0, &both);
        // links given: the same
        let star = Star::new(n, &core, &links).unwrap();
        let fixed = FixedLinks { sum: StarSum::new(&star).unwrap(), cases: &cases };
        agrees_with_differences(&fixed, 0, &s);
        survives(&fixed, 0, &s);
        let ((value, d, h), (own, own_d, own_h)) = (diagonal(&linked, 0, &both), diagonal(&fixed, 0, &s));
        close(own, value, 1e-12, "value");
        own_d.iter().zip(&d).chain(own_h.iter().zip(&h)).for_each(|(a, b)| close(*a, *b, 1e-12, "slope"));
        // what is not known is not absent
        for &gap in unknown {
            assert_eq!((own_d[gap as usize], own_h[gap as usize]), (0.0, 0.0), "round {round}");
        }
    }
}

#[test]
fn of_one_label() {
    let mut random = Random::new(8);
    for round in 0..cases(100) {
        let n = random.below(8);
        let answers: Vec<Option<bool>> = (0..n).map(|_| [Some(true), Some(false), None][random.below(3)]).collect();
        let weights: Vec<f64> = (0..n).map(|_| 2.0 * random.uniform()).collect();
        let s: Vec<f64> = (0..n).map(|_| 3.0 * random.normal()).collect();
        let weighted = [&weights[..]];
        let loss = LabelLogistic::new([&answers[..]], (round % 2 == 0).then_some(&weighted[..]));
        agrees_with_differences(&loss, 0, &s);
        survives(&loss, 0, &s);
        let (value, d, h) = diagonal(&loss, 0, &s);
        let mut slow = 0.0;
        for i in 0..n {
            let weight = if round % 2 == 0 { weights[i] } else { 1.0 };
            let p = 1.0 / (1.0 + (-s[i]).exp());
            match answers[i] {
                None => assert_eq!((d[i], h[i]), (0.0, 0.0)),
                Some(yes) => {
                    slow -= weight * if yes { p } else { 1.0 - p }.ln();
                    close(d[i], weight * (p - f64::from(u8::from(yes))), 1e-12, "slope");
                }
            }
        }
        close(value, slow, 1e-9, "value");
        products_have_the_diagonal(&loss, &s, &h);
    }
}

/// The product of the curvature with a unit vector has the diagonal at its place.
fn products_have_the_diagonal<S: Surrogate>(loss: &S, s: &[f64], h: &[f64]) {
    for i in 0..s.len() {
        let (mut unit, mut out) = (vec![0.0; s.len()], vec![f64::NAN; s.len()]);
        unit[i] = 1.0;
        assert!(loss.curvature(0, s, &unit, 1, &mut out, &mut S::Work::default()).unwrap());
        close(out[i], h[i], 1e-12, "product");
    }
}

#[test]
fn of_distances_and_of_top_one() {
    let mut random = Random::new(9);
    for round in 0..cases(100) {
        let Query { grades, weights, s } = query(&mut random, 9);
        let weighted = [&weights[..]];
        let squared = Squared::new([&grades[..]], (round % 2 == 0).then_some(&weighted[..]));
        agrees_with_differences(&squared, 0, &s);
        survives(&squared, 0, &s);
        products_have_the_diagonal(&squared, &s, &diagonal(&squared, 0, &s).2);
        let top = TopOne::new([&grades[..]]);
        agrees_with_differences(&top, 0, &s);
        survives(&top, 0, &s);
        products_have_the_diagonal(&top, &s, &diagonal(&top, 0, &s).2);
        for loss in &logistic_losses(&Query { grades, weights, s: s.clone() }, round % 2 == 0) {
            products_have_the_diagonal(loss, &s, &diagonal(loss, 0, &s).2);
        }
    }
}
