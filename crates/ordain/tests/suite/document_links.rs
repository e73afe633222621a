//! QuadRank with links between documents by features of pairs.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::cases::cases;
use ordain::data::scale::Scaling;
use ordain::data::synthetic::Orders;
use ordain::data::{Columns, RankReading, RankSet, read_rank};
use ordain::matrix::{Features, Matrix};
use ordain::method::{PairCore, PlaceDesign, Rank, RankMethod};
use ordain::metric::Convention;
use ordain::model_file::{from_bytes, to_bytes};
use ordain::random::Random;
use ordain::risk::Empirical;
use ordain::scorer::pairs::{PairIndex, Pairs};
use ordain::scorer::rows::Rows;
use ordain::solver::run::Watch;
use ordain::surrogate::ranking::{Places, RankingCase, RankingLikelihood, RankingWork};
use ordain::task::{Fitted, Method, Model, Training};
use ordain::traits::{Risk, Scorer, Stop};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn fit(method: &str, set: &RankSet, units: &[u32]) -> Fitted<Rank> {
    method.parse::<RankMethod>().unwrap().fit(&Training::new(set, units), &Watch::NOBODY).unwrap()
}

fn ndcg(fitted: &Fitted<Rank>, set: &RankSet, units: &[u32]) -> f64 {
    let ready = fitted.model.prepare(set).unwrap();
    fitted.model.evaluate(&ready, units, &["ndcg@3".parse().unwrap()], &Convention::STANDARD).unwrap().mean(0)
}

const K: usize = 3;
const DOCUMENTS: usize = 6;

fn place_value(place: usize) -> f64 {
    if place < K { 1.0 / ((place + 2) as f64).log2() } else { 0.0 }
}

/// All heads of six documents, as the place of each.
fn orders() -> Vec<[usize; DOCUMENTS]> {
    let mut all = vec![];
    for a in 0..DOCUMENTS {
        for b in (0..DOCUMENTS).filter(|&b| b != a) {
            for c in (0..DOCUMENTS).filter(|&c| c != a && c != b) {
                let mut place = [K; DOCUMENTS];
                (place[a], place[b], place[c]) = (0, 1, 2);
                all.push(place);
            }
        }
    }
    all
}

/// Lists of documents of which no two have a name in common. Their order is drawn by scores and by links of the best document with all others:
/// one feature of pairs draws together or drives apart, the other is noise.
fn drawn(lists: usize, seed: u64) -> RankSet {
    let mut random = Random::new(seed);
    let (orders, n) = (orders(), DOCUMENTS);
    let (mut values, mut grades, mut pairs, mut z) = (vec![], vec![], vec![], vec![]);
    for list in 0..lists {
        let scores: Vec<f64> = (0..n).map(|_| 2.0 * random.normal()).collect();
        let best = (0..n).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
        let mut link = vec![0.0; n * n];
        for a in 0..n {
            for b in 0..a {
                if random.below(5) > 0 {
                    let own = if random.below(2) == 0 { 1.0 } else { -1.0 };
                    (link[a * n + b], link[b * n + a]) = (own, own);
                    pairs.push((list * n + a, list * n + b));
                    z.extend([10.0 * own, random.normal()]);
                }
            }
        }
        let f = |place: &[usize; DOCUMENTS]| {
            let own: f64 = (0..n).map(|i| 2.0 * scores[i] * place_value(place[i])).sum();
            let links = (0..n).map(|i| 5.0 * link[best * n + i] * place[best].abs_diff(place[i]) as f64 / K as f64);
            own + links.sum::<f64>()
        };
        let weights: Vec<f64> = orders.iter().map(|order| f(order).exp()).collect();
        let mut left = random.uniform() * weights.iter().sum::<f64>();
        let at = weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        let place = orders[at.unwrap_or(0)];
        values.extend(scores.iter().map(|&s| s as f32));
        grades.extend(place.iter().map(|&place| (K - place) as f64));
    }
    let rows = grades.len();
    let names: Vec<String> = (0..rows).map(|row| format!("d{row}")).collect();
    RankSet::new(
        Features::Dense(Matrix::new(values, 1)),
        Columns::named(vec!["score".into()]),
        grades,
        (0..=lists).map(|list| list * n).collect(),
        (0..lists).map(|list| format!("q{list}")).collect(),
    )
    .unwrap()
    .with_documents(&names)
    .unwrap()
    .with_pairs(vec!["kind".into(), "noise".into()], &pairs, &z)
    .unwrap()
}

#[test]
fn links_between_documents_pay_where_orders_have_them() {
    let (set, lists) = (drawn(600, 1), 600u32);
    let (train, test): (Vec<u32>, Vec<u32>) = (0..lists).partition(|&q| q < 300);
    let with = fit("quadrank[places=3,scale=global,lambda=0.003]", &set, &train);
    let without = fit("quadrank[places=3,core=0,scale=global,lambda=0.003]", &set, &train);
    let (a, b) = (ndcg(&with, &set, &test), ndcg(&without, &set, &test));
    assert!(a > b + 0.02, "{a} with links, {b} without");
    assert!(without.model.quadratic.as_ref().unwrap().pairs.is_none());
    let pairs = with.model.quadratic.as_ref().unwrap().pairs.as_ref().unwrap();
    // per unit of the feature, which is 10 where the link is 5
    assert!((0.3..0.8).contains(&pairs.weights[0]) && pairs.weights[1].abs() < 0.4, "{:?}", pairs.weights);
}

#[test]
fn the_size_of_the_core_is_chosen_on_validation() {
    let set = drawn(250, 2);
    let fitted = fit("quadrank[core=auto,places=3,scale=none,lambda=0.01]", &set, &set.all());
    let facts = &fitted.facts;
    let tried = &facts.chosen.as_ref().unwrap().candidates;
    assert_eq!(tried.iter().map(|c| c.settings["core"].as_str().unwrap()).collect::<Vec<_>>(), ["0", "1", "2", "3"]);
    let best = tried.iter().map(|c| c.value).fold(0.0, f64::max);
    assert_eq!(facts.taken().unwrap().value.to_bits(), best.to_bits());
    assert!(facts.settings["core"] != "0" && facts.refit, "{:?}", facts.settings);
    assert_eq!(facts.asked["core"], "auto");
    // the same as asking for it
    let size = facts.settings["core"].as_str().unwrap();
    let asked = fit(&format!("quadrank[core={size},places=3,scale=none,lambda=0.01]"), &set, &set.all());
    assert_eq!(asked.model, fitted.model);
    // items by name: as many as there are
    let named = Orders { lists: 40, seed: 3, ..Orders::default() }.make();
    let fitted = fit("quadrank[core=auto,places=3,scale=none]", &named, &named.all());
    let tried = &fitted.facts.chosen.as_ref().unwrap().candidates;
    assert!(["0", "1", "2", "3"].iter().all(|core| tried.iter().filter(|c| c.settings["core"] == *core).count() > 3));
    let few = fit("quadrank[core=auto,places=3,scale=none]", &named.only(&[0, 1, 2]), &[0, 1, 2]);
    assert!(few.facts.chosen.is_none() && few.facts.settings["core"] == "1");
}

/// Pairs of named items as one feature each, and items as columns: then links between documents are those between items, and weights are biases.
#[test]
fn features_that_name_pairs_are_links_between_items() {
    let base = Orders { lists: 60, seed: 4, ..Orders::default() }.make();
    let rows = base.rows();
    let mut values = vec![];
    for row in 0..rows {
        values.push(base.features.value(row, 0));
        values.extend((0..8).map(|i| f32::from(u8::from(i == row % 8))));
    }
    let names: Vec<String> = std::iter::once("score".to_owned()).chain((0..8).map(|i| format!("is_{i}"))).collect();
    let documents: Vec<String> = (0..rows).map(|row| base.document(row).into_owned()).collect();
    for core in [&[7usize][..], &[7, 2]] {
        let of: Vec<(usize, usize)> = core
            .iter()
            .enumerate()
            .flat_map(|(n, &c)| (0..8).filter(move |i| !core[..=n].contains(i)).map(move |i| (c, i)))
            .collect();
        let (mut pairs, mut z) = (vec![], vec![]);
        for list in 0..60 {
            for (at, &(c, i)) in of.iter().enumerate() {
                // a pair has no direction
                pairs.push(if list % 2 == 0 { (8 * list + c, 8 * list + i) } else { (8 * list + i, 8 * list + c) });
                z.extend((0..of.len()).map(|j| f64::from(u8::from(j == at))));
            }
        }
        let features = of.iter().map(|(c, i)| format!("{c}-{i}")).collect();
        let linked = RankSet::new(
            Features::Dense(Matrix::new(values.clone(), 9)),
            Columns::named(names.clone()),
            base.grades.clone(),
            (0..=60).map(|q| 8 * q).collect(),
            (1..=60).map(|q| q.to_string()).collect(),
        )
        .and_then(|set| set.with_documents(&documents))
        .and_then(|set| set.with_pairs(features, &pairs, &z))
        .unwrap();
        let called = core.iter().map(|c| format!("item_{}", c + 1)).collect::<Vec<_>>().join(";");
        for (settings, near) in [
            ("lambda=0.03,tol=1e-10", 1e-6),
            ("lambda=0.1,link_lambda=0.1,design=product,ties=sum,tol=1e-10", 1e-5),
            ("lambda=0.1,trainer=margin,tol=1e-7,max_iter=3000", 3e-3),
        ] {
            let method = format!("quadrank[places=3,core={called};,scale=none,{settings}]");
            let (by_name, by_pair) = (fit(&method, &base, &base.all()), fit(&method, &linked, &linked.all()));
            let (a, b) = (&by_name.facts.report, &by_pair.facts.report);
            assert!((a.objective - b.objective).abs() < 1e-6, "{method}: {} and {}", a.objective, b.objective);
            let (items, documents) = (by_name.model.quadratic.unwrap(), by_pair.model.quadratic.unwrap());
            let weights = by_pair.model.score.weights();
            assert!((weights[0] - by_name.model.score.weights()[0]).abs() < near, "{method}");
            (0..8).for_each(|i| assert!((weights[1 + i] - items.biases[i]).abs() < near, "{method}"));
            for (&(c, i), v) in of.iter().zip(&documents.pairs.unwrap().weights) {
                let row = items.core.iter().position(|&own| own as usize == c).unwrap();
                let link = items.links[row * 8 + i];
                assert!((link - v).abs() < near, "{method}: {link} and {v} of {c} and {i}");
            }
        }
    }
}

/// The gradient of the likelihood with links by features of pairs, against differences.
#[test]
fn the_gradient_of_links_is_that_of_differences() {
    let mut random = Random::new(8);
    for round in 0..cases(40) {
        let set = drawn(3, u64::from(round));
        let units = set.all();
        let rows = Rows::new(&set, &units, &Scaling::None);
        let design = [PlaceDesign::Distance, PlaceDesign::Product, PlaceDesign::Head][round as usize % 3];
        let places = Places::new(&[1.0, 0.7], design).unwrap();
        let mut index = PairIndex::new(2);
        let size = random.below(4);
        for q in 0..3 {
            let mut core: Vec<u32> = (0..DOCUMENTS as u32).collect();
            random.shuffle(&mut core);
            index.push(set.pairs().unwrap(), set.span(q), &core[..size], &[0.1, 2.0]);
        }
        let mut work = RankingWork::default();
        let case =
            |n: usize| RankingCase::new(&set.grades[set.span(n)], index.core(n).to_vec(), &places, &mut work).unwrap();
        let all: Vec<RankingCase> = (0..3).map(case).collect();
        let scorer = Pairs::new(&rows, &index);
        let loss = RankingLikelihood { places: &places, cases: &all, sum: round % 2 == 0 };
        let mut risk = Empirical::new(&scorer, &loss, vec![0.3; 3]);
        let theta: Vec<f64> = (0..scorer.dim()).map(|_| random.normal()).collect();
        let mut grad = vec![0.0; theta.len()];
        risk.value(&theta, &mut grad).unwrap();
        for j in 0..theta.len() {
            let mut at = |step: f64| {
                let mut moved = theta.clone();
                moved[j] += step;
                risk.value(&moved, &mut vec![0.0; theta.len()]).unwrap()
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - grad[j]).abs() < 1e-7, "{round} {j}: {} not {slope}", grad[j]);
        }
    }
}

/// Settings that differ in kind.
const METHODS: [&str; 4] = [
    "quadrank[places=3,core=2,scale=query,lambda=0.01]",
    "quadrank[places=3,core=3,scale=global,lambda=0.01,order=best,design=product]",
    "quadrank[places=3,core=1,scale=none,lambda=0.1,trainer=margin,max_iter=30]",
    "quadrank[places=3,core=d0;d8;d5;nobody,scale=none,lambda=0.1]",
];

/// Orders, values, gaps and probabilities against all orders, with links as they are defined.
#[test]
fn a_model_answers_as_enumeration_does() {
    let set = drawn(30, 5);
    for method in METHODS {
        let fitted = fit(method, &set, &set.all());
        let model = &fitted.model;
        let (quadratic, ready) = (model.quadratic.as_ref().unwrap(), model.prepare(&set).unwrap());
        let links = quadratic.pairs.as_ref().unwrap();
        let scaled = model.scaled_rows(&ready, &set.all()).unwrap();
        for q in 0..4 {
            let said = model.predict(&ready, &[q], !model.places.is_empty()).unwrap().remove(0);
            let placed = said.placed.unwrap();
            let (start, n) = (set.span(q as usize).start, DOCUMENTS);
            let core: Vec<usize> = match &links.core {
                PairCore::Best { size, weights } => {
                    let mut best: Vec<usize> = (0..n).collect();
                    let first = |i: usize| weights[0] * f64::from(scaled[start + i]);
                    best.sort_by(|&a, &b| first(b).total_cmp(&first(a)));
                    best[..*size].to_vec()
                }
                PairCore::Named(names) => {
                    (0..n).filter(|&i| names.iter().any(|name| set.document(start + i) == name.as_str())).collect()
                }
            };
            let design = |j: usize, l: usize| match quadratic.places.design() {
                PlaceDesign::Distance => j.abs_diff(l) as f64 / K as f64,
                _ => place_value(j) * place_value(l),
            };
            let f = |place: &[usize; DOCUMENTS]| {
                let own: f64 = (0..n).map(|i| placed.own[i] * place_value(place[i])).sum();
                let pairs = set.pairs().unwrap().of(set.span(q as usize));
                let pairs = pairs.filter(|(a, b, _)| core.contains(&(a - start)) || core.contains(&(b - start)));
                own + pairs
                    .map(|(a, b, z)| {
                        let link: f64 = z.iter().zip(&links.weights).map(|(z, v)| z * v).sum();
                        link * design(place[a - start], place[b - start])
                    })
                    .sum::<f64>()
            };
            let all: Vec<([usize; DOCUMENTS], f64)> = orders().into_iter().map(|order| (order, f(&order))).collect();
            let most = all.iter().map(|(_, f)| *f).fold(f64::NEG_INFINITY, f64::max);
            let place = |i: usize| said.order.iter().position(|&row| row == start + i).unwrap().min(K);
            let own = all.iter().find(|(p, _)| (0..n).all(|i| p[i] == place(i))).unwrap().1;
            assert!((placed.value - own).abs() < 1e-9, "{method}: {} not {own}", placed.value);
            assert!((placed.gap - (most - own)).abs() < 1e-9, "{method}: {} not {}", placed.gap, most - own);
            let z: f64 = all.iter().map(|(_, f)| (f - most).exp()).sum();
            for (i, document) in said.places.iter().flatten().enumerate() {
                for (j, p) in document.places.iter().enumerate() {
                    let truth: f64 = all.iter().filter(|(p, _)| p[i] == j).map(|(_, f)| (f - most).exp() / z).sum();
                    assert!((p - truth).abs() < 1e-10, "{method}: {p} not {truth}");
                }
            }
            let reasons = model.link_reasons(&ready, q as usize, &said.order, [start, start + 1]).unwrap().unwrap();
            assert!(reasons.len() <= core.len() && reasons.iter().all(|(_, [a, b])| a.is_finite() && b.is_finite()));
        }
    }
}

#[test]
fn a_file_keeps_links_and_threads_do_not_change_them() {
    let set = drawn(40, 6);
    for method in METHODS {
        let made = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let fitted = fit(method, &set, &set.all());
                (to_bytes(&fitted), fitted.model.scores(&fitted.model.prepare(&set).unwrap()).unwrap())
            })
        };
        let (bytes, scores) = made(1);
        assert!((bytes.clone(), scores.clone()) == made(3), "{method}");
        let again = from_bytes::<Rank>(&bytes, Path::new("m")).unwrap();
        assert_eq!(again.model.scores(&again.model.prepare(&set).unwrap()).unwrap(), scores, "{method}");
        assert!(again == fit(method, &set, &set.all()), "{method}");
    }
}

/// Wherever a fit is stopped, while the core is found or while links are learned, it goes on to the same bytes.
#[test]
fn a_stopped_fit_goes_on_to_the_same_bytes() {
    let set = drawn(40, 7);
    let all = set.all();
    let data = || Training::new(&set, &all);
    for text in ["quadrank[places=3,scale=none,lambda=0.01,tol=1e-6]", "quadrank[places=3,scale=none,tol=1e-4]"] {
        let method: RankMethod = text.parse().unwrap();
        let whole = to_bytes(&method.fit(&data(), &Watch::NOBODY).unwrap());
        for stop_at in [0, 1, 3, 6, 12, 25] {
            let (stop, told) = (AtomicBool::new(stop_at == 0), AtomicUsize::new(0));
            let tell = |_: f64, _: &str| {
                if told.fetch_add(1, Ordering::Relaxed) + 1 >= stop_at {
                    stop.store(true, Ordering::Relaxed);
                }
            };
            let Ok(stopped) = method.fit(&data(), &Watch { stop: &stop, tell: &tell }) else { continue };
            if stopped.facts.report.stop != Stop::Interrupted {
                continue;
            }
            let stopped = from_bytes::<Rank>(&to_bytes(&stopped), Path::new("m")).unwrap();
            let journal = method.resume(&stopped, &data()).unwrap().clone();
            let again = method.fit(&Training { resume: Some(&journal), ..data() }, &Watch::NOBODY).unwrap();
            assert!(to_bytes(&again) == whole, "{text} stopped at {stop_at}");
        }
    }
}

/// A fit that learns from names and links does not go on with others.
#[test]
fn other_names_and_other_links_are_other_data() {
    let stop = AtomicBool::new(true);
    let watch = Watch { stop: &stop, tell: &|_, _| {} };
    let set = Orders { lists: 30, seed: 1, ..Orders::default() }.make();
    let names: Vec<String> = (0..set.rows()).map(|row| set.document(row).replace("item_1", "first")).collect();
    let renamed = set.clone().with_documents(&names).unwrap();
    let linked = drawn(30, 1);
    let other = linked.clone().with_pairs(vec!["kind".into(), "noise".into()], &[(0, 1)], &[1.0, 2.0]).unwrap();
    for (set, other) in [(&set, &renamed), (&linked, &other)] {
        let all = set.all();
        let resumed = |method: &str, other: &RankSet| {
            let method: RankMethod = method.parse().unwrap();
            let stopped = method.fit(&Training::new(set, &all), &watch).unwrap();
            assert!(method.resume(&stopped, &Training::new(set, &all)).is_ok());
            method.resume(&stopped, &Training::new(other, &all)).map(drop).map_err(|error| error.to_string())
        };
        let error = resumed("quadrank[places=3,scale=none,lambda=0.01]", other).unwrap_err();
        assert!(error.contains("an interrupted model of the same data"), "{error}");
        // other methods know no names, and their digest is as it was
        assert!(resumed("listnet[scale=none,lambda=0.01]", other).is_ok());
        assert_eq!(set.digest(), other.digest());
    }
}

#[test]
fn a_model_with_links_wants_them_and_finds_features_by_name() {
    let set = drawn(30, 9);
    let fitted = fit(METHODS[0], &set, &set.all());
    let bare = set.only(&[0, 1]);
    assert_eq!(bare.pairs().unwrap().of(0..6).count(), set.pairs().unwrap().of(0..6).count());
    let z: Vec<f64> = set.pairs().unwrap().of(6..12).flat_map(|(_, _, z)| z.to_vec()).collect();
    let rows: Vec<(usize, usize)> = set.pairs().unwrap().of(6..12).map(|(a, b, _)| (a, b)).collect();
    let swapped: Vec<f64> = z.chunks(2).flat_map(|z| [z[1], z[0]]).collect();
    let other = set.clone().with_pairs(vec!["noise".into(), "kind".into()], &rows, &swapped).unwrap();
    let said =
        |set: &RankSet| fitted.model.scores_of(&fitted.model.prepare(set).unwrap(), &[1]).unwrap()[6..12].to_vec();
    assert_eq!(said(&set), said(&other));
    let named = set.clone().with_pairs(vec!["kind".into(), "alike".into()], &rows, &z).unwrap();
    let error = fitted.model.prepare(&named).unwrap_err().to_string();
    assert!(error.contains("expected pairs of documents with the features kind, noise, found kind, alike"), "{error}");
    let features = set.features.clone();
    let none = RankSet::new(
        features,
        set.columns.clone(),
        set.grades.clone(),
        (0..=30).map(|q| 6 * q).collect(),
        (0..30).map(|q| q.to_string()).collect(),
    )
    .unwrap();
    let error = fitted.model.prepare(&none).unwrap_err().to_string();
    assert!(error.contains("links between documents, with which the model was fitted") && error.contains("links=FILE"));
    // a method without links does not look at them
    let svm = fit("ranksvm[scale=none,lambda=1]", &set, &set.all());
    assert_eq!(svm.model.scores(&svm.model.prepare(&set).unwrap()).unwrap().len(), set.rows());
    // features are known by their pairs alone: a factor changes nothing but the weight
    let (all, z): (Vec<(usize, usize)>, Vec<f64>) = {
        let pairs = || (0..set.len()).flat_map(|q| set.pairs().unwrap().of(set.span(q)));
        (pairs().map(|(a, b, _)| (a, b)).collect(), pairs().flat_map(|(_, _, z)| [8.0 * z[0], z[1]]).collect())
    };
    let larger = set.clone().with_pairs(vec!["kind".into(), "noise".into()], &all, &z).unwrap();
    let again = fit(METHODS[0], &larger, &set.all());
    let weights =
        |fitted: &Fitted<Rank>| fitted.model.quadratic.as_ref().unwrap().pairs.as_ref().unwrap().weights.clone();
    assert!((weights(&again)[0] * 8.0 - weights(&fitted)[0]).abs() < 1e-9);
}

#[test]
fn what_is_wrong_with_pairs_is_said() {
    let set = Orders { lists: 2, ..Orders::default() }.make();
    let one = || vec!["z".to_owned()];
    for (names, pairs, values, found) in [
        (one(), vec![(0, 16)], vec![1.0], "rows of the data, from 0 to 15"),
        (one(), vec![(0, 8)], vec![1.0], "two documents of one query"),
        (one(), vec![(3, 3)], vec![1.0], "a document has no link to itself"),
        (one(), vec![(3, 4), (4, 3)], vec![1.0, 1.0], "each pair once, in either order"),
        (one(), vec![(3, 4)], vec![f64::NAN], "finite features of pairs"),
        (one(), vec![(3, 4)], vec![1.0, 2.0], "1 features for each of 1 pairs"),
        (vec![], vec![], vec![], "at least one feature of pairs"),
        (vec!["z".into(), "z".into()], vec![], vec![], "each feature of pairs once"),
    ] {
        let error = set.clone().with_pairs(names, &pairs, &values).unwrap_err().to_string();
        assert!(error.contains(found), "{error}");
    }
    let named = |query: &str, a: &str, b: &str| (query.to_owned(), a.to_owned(), b.to_owned());
    let known = set.clone().with_named_pairs(one(), &[named("2", "item_8", "#1")], &[3.0]).unwrap();
    assert_eq!(known.pairs().unwrap().of(8..16).next(), Some((8, 15, &[3.0][..])));
    for (pair, found) in [
        (named("9", "item_1", "item_2"), "a query of the data, found \"9\" in pair 0"),
        (named("1", "item_1", "item_9"), "a document of query \"1\", found \"item_9\" in pair 0"),
    ] {
        let error = set.clone().with_named_pairs(one(), &[pair], &[3.0]).unwrap_err().to_string();
        assert!(error.contains(found), "{error}");
    }
}

/// A table of pairs is read as it was written, and what is wrong is said with its line.
#[test]
fn a_table_of_pairs_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let (data, links) = (dir.path().join("data.csv"), dir.path().join("links.csv"));
    std::fs::write(&data, "label,qid,docid,x\n1,a,p,1\n0,a,q,2\n0,a,r,3\n1,b,p,1\n0,b,q,2\n").unwrap();
    let read = |text: &str| {
        std::fs::write(&links, text).unwrap();
        let reading = RankReading { links: Some(links.clone()), ..RankReading::default() };
        // twice: the same ids in two parts are two queries
        read_rank(&[vec![data.clone()], vec![data.clone()]], &reading).map(|(set, _)| set)
    };
    let set = read("near,doc_b,qid,doc_a,far\n0.5,q,a,r,1e300\n2,q,b,p,-1\n").unwrap();
    let pairs = set.pairs().unwrap();
    assert_eq!((pairs.names(), pairs.len()), (&["near".to_owned(), "far".to_owned()][..], 4));
    let found: Vec<_> = (0..4).flat_map(|q| pairs.of(set.span(q))).collect();
    let (far, near): (&[f64], &[f64]) = (&[0.5, 1e300], &[2.0, -1.0]);
    assert_eq!(found, [(1, 2, far), (3, 4, near), (6, 7, far), (8, 9, near)]);
    for (text, place, expected) in [
        ("qid,doc_a,z\na,p,1\n", "links.csv:1:1", "a header with the columns qid, doc_a, doc_b and one for each"),
        ("qid,doc_a,doc_b\na,p,q\n", "links.csv:1:1", "at least one feature of pairs, beside qid, doc_a and doc_b"),
        ("qid,doc_a,doc_b,z\nc,p,q,1\n", "links.csv:2:1", "expected a query of the data, found \"c\""),
        ("qid,doc_a,doc_b,z\nb,p,q,1\nb,p,r,1\n", "links.csv:3:3", "expected a document of query \"b\", found \"r\""),
        ("qid,doc_a,doc_b,z\nb,s,q,1\n", "links.csv:2:2", "expected a document of query \"b\", found \"s\""),
        ("qid,doc_a,doc_b,z\na,p,p,1\n", "links.csv:2:3", "a document has no link to itself"),
        ("qid,doc_a,doc_b,z\na,p,q,1\na,q,p,1\n", "links.csv:3:3", "each pair once, in either order"),
        ("qid,doc_a,doc_b,z\na,p,q,nan\n", "links.csv:2:4", "expected a finite number, found \"nan\""),
        ("qid,doc_a,doc_b,z\na,p,q,\n", "links.csv:2:4", "expected a finite number"),
        ("qid,doc_a,doc_b,z\na,p,q,1e999\n", "links.csv:2:4", "expected a finite number"),
        ("qid,doc_a,doc_b,z\na,p,q\n", "links.csv:2", "expected"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains(expected), "{error}");
    }
}
