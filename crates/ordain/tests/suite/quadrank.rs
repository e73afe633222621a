//! QuadRank: orders with links between items that queries share.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::data::RankSet;
use ordain::data::synthetic::Orders;
use ordain::method::{GivenOrder, PlaceDesign, Rank, RankMethod};
use ordain::metric::Convention;
use ordain::model_file::{from_bytes, to_bytes};
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Training};
use ordain::traits::Stop;
use std::path::Path;

fn fit(method: &str, set: &RankSet, units: &[u32]) -> Fitted<Rank> {
    method.parse::<RankMethod>().unwrap().fit(&Training::new(set, units), &Watch::NOBODY).unwrap()
}

/// NDCG@3 with the gains 3, 2 and 1.
fn ndcg(fitted: &Fitted<Rank>, set: &RankSet, units: &[u32]) -> f64 {
    let by: Convention = "standard, gain=linear".parse().unwrap();
    let ready = fitted.model.prepare(set).unwrap();
    fitted.model.evaluate(&ready, units, &["ndcg@3".parse().unwrap()], &by).unwrap().mean(0)
}

/// The lists with the place of the core known.
fn told(set: &RankSet) -> RankSet {
    let mut told = set.clone();
    for q in 0..set.len() {
        let grades = &set.grades[set.span(q)];
        let core = grades[7];
        // 1, 2 or 3 in the head; the tail has no order, so any of its places will do
        let place = if core > 0.0 { 4 - core as usize } else { 8 };
        told.pin(set.query(q), Orders::CORE, place).unwrap();
    }
    told
}

/// Mean over draws of NDCG@3 without and with links, and the same with the place of the core known.
fn gate(draws: u64, lists: usize, settings: &str) -> [f64; 4] {
    let mut means = [0.0; 4];
    for seed in 0..draws {
        let set = Orders { lists, seed, ..Orders::default() }.make();
        let (train, test): (Vec<u32>, Vec<u32>) = (0..lists as u32).partition(|&q| (q as usize) < lists / 2);
        let [without, with] =
            [0, 1].map(|core| fit(&format!("quadrank[places=3,core={core},{settings}]"), &set, &train));
        let quadratic = with.model.quadratic.as_ref().unwrap();
        assert_eq!(quadratic.items[quadratic.core[0] as usize], Orders::CORE, "seed {seed}");
        let told = told(&set);
        let found = [
            ndcg(&without, &set, &test),
            ndcg(&with, &set, &test),
            ndcg(&without, &told, &test),
            ndcg(&with, &told, &test),
        ];
        means.iter_mut().zip(found).for_each(|(mean, x)| *mean += x / draws as f64);
    }
    means
}

/// The synthetic set of orders: links and known places are worth what they should be.
#[test]
fn links_between_places_pay_on_orders_that_have_them() {
    let [without, with, without_told, with_told] = gate(10, 1200, "scale=none,lambda=0.003");
    assert!(with >= 0.680 && with >= without + 0.035, "{without:.4} {with:.4}");
    assert!(with_told >= 0.820 && with_told >= without_told + 0.060, "{without_told:.4} {with_told:.4}");
}

fn small() -> RankSet {
    Orders { lists: 60, seed: 4, ..Orders::default() }.make()
}

/// All settings that differ in kind.
const METHODS: [&str; 6] = [
    "quadrank[places=3,scale=none,lambda=0.01]",
    "quadrank[places=2,core=item_8;item_1,design=product,order=best,scale=query,lambda=0.01,link_lambda=0.1]",
    "quadrank[places=2,design=head,ties=sum,scale=minmax,lambda=0.1]",
    "quadrank[trainer=margin,places=3,scale=none,lambda=0.01,max_iter=30]",
    "quadrank[trainer=margin,loss=p@2,places=2,core=2,scale=global,lambda=0.1,max_iter=30]",
    "quadrank[places=3,core=0,scale=none]",
];

/// Every order of a query of eight items, as the place of each, with its value by the parameters of a model; without the order of the tail.
fn values(fitted: &Fitted<Rank>, set: &RankSet, q: usize) -> Vec<(Vec<usize>, f64)> {
    let model = &fitted.model;
    let quadratic = model.quadratic.as_ref().unwrap();
    let ready = model.prepare(set).unwrap();
    let own = model.predict(&ready, &[q as u32], false).unwrap().remove(0).placed.unwrap().own;
    let (k, items) = (quadratic.places.values().len(), quadratic.items.len());
    let item = |i: usize| quadratic.items.iter().position(|name| *name == set.document(set.span(q).start + i)).unwrap();
    let value = |place: usize| quadratic.places.values().get(place).copied().unwrap_or(0.0);
    let design = |j: usize, l: usize| match quadratic.places.design() {
        PlaceDesign::Distance => j.min(k).abs_diff(l.min(k)) as f64 / k as f64,
        PlaceDesign::Product => value(j) * value(l),
        PlaceDesign::Head => f64::from(u8::from(j.max(l) < k)),
    };
    let mut all = vec![];
    let mut head = vec![];
    heads(8, k, &mut head, &mut |head| {
        let place: Vec<usize> = (0..8).map(|i| head.iter().position(|&h| h == i).unwrap_or(k)).collect();
        let mut f: f64 = (0..8).map(|i| own[i] * value(place[i])).sum();
        for (c, &core) in quadratic.core.iter().enumerate() {
            let at = (0..8).find(|&i| item(i) == core as usize).unwrap();
            for i in (0..8).filter(|&i| i != at && !quadratic.core[..c].contains(&(item(i) as u32))) {
                f += quadratic.links[c * items + item(i)] * design(place[at], place[i]);
            }
        }
        all.push((place, f));
    });
    all
}

fn heads(n: usize, k: usize, head: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize])) {
    if head.len() == k {
        return visit(head);
    }
    for i in 0..n {
        if !head.contains(&i) {
            head.push(i);
            heads(n, k, head, visit);
            head.pop();
        }
    }
}

/// Orders, values, gaps and probabilities, with places known and not, against all orders.
#[test]
fn a_model_with_links_answers_as_enumeration_does() {
    let set = small();
    for (method, pinned) in
        METHODS.into_iter().flat_map(|method| [(method, None), (method, Some(2)), (method, Some(8))])
    {
        let fitted = fit(method, &set, &set.all());
        let (model, k) = (&fitted.model, fitted.model.quadratic.as_ref().unwrap().places.values().len());
        let mut known = set.clone();
        (0..4).for_each(|q| pinned.into_iter().for_each(|place| known.pin(set.query(q), "item_3", place).unwrap()));
        let ready = model.prepare(&known).unwrap();
        let likely = !model.places.is_empty();
        for q in 0..4 {
            let said = model.predict(&ready, &[q as u32], likely).unwrap().remove(0);
            let placed = said.placed.unwrap();
            let mut all = values(&fitted, &set, q);
            all.retain(|(place, _)| pinned.is_none_or(|known| place[2] == (known - 1).min(k)));
            let most = all.iter().map(|(_, f)| *f).fold(f64::NEG_INFINITY, f64::max);
            let place = |i: usize| said.order.iter().position(|&row| row == 8 * q + i).unwrap();
            let own = all.iter().find(|(p, _)| (0..8).all(|i| p[i] == place(i).min(k))).unwrap().1;
            assert!((placed.value - own).abs() < 1e-9, "{method}: {} not {own}", placed.value);
            assert!((placed.gap - (most - own)).abs() < 1e-9, "{method}: {} not {}", placed.gap, most - own);
            if model.quadratic.as_ref().unwrap().order == GivenOrder::Best {
                assert!(placed.gap < 1e-9, "{method}");
            }
            pinned.into_iter().for_each(|known| assert_eq!(place(2), known - 1, "{method}"));
            // whoever sorts by scores gets the order
            assert!(said.order.windows(2).all(|pair| said.scores[pair[0] - 8 * q] >= said.scores[pair[1] - 8 * q]));
            assert_eq!(said.scores, model.scores_of(&ready, &[q as u32]).unwrap()[8 * q..8 * q + 8], "{method}");
            let Some(places) = said.places else { continue };
            let z: f64 = all.iter().map(|(_, f)| (f - most).exp()).sum();
            for (i, document) in places.iter().enumerate() {
                for (j, p) in document.places.iter().enumerate() {
                    let truth: f64 = all.iter().filter(|(p, _)| p[i] == j).map(|(_, f)| (f - most).exp() / z).sum();
                    assert!((p - truth).abs() < 1e-10, "{method}: {p} not {truth}");
                }
            }
        }
    }
}

/// Whole rankings whose order is drawn by scores and by links of the last item with all others.
fn whole_orders(lists: usize, seed: u64) -> RankSet {
    let (mut random, n) = (ordain::random::Random::new(seed), 6);
    let (mut values, mut grades, mut names) = (vec![], vec![], vec![]);
    for _ in 0..lists {
        let scores: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        // the best of some random orders: near the best of all
        let f = |place: &[usize]| {
            let own: f64 = (0..n).map(|i| 2.0 * scores[i] / ((place[i] + 2) as f64).log2()).sum();
            let link = |i: usize| if i.is_multiple_of(2) { 4.0 } else { -4.0 };
            own + (0..n - 1).map(|i| link(i) * place[i].abs_diff(place[n - 1]) as f64 / (n - 1) as f64).sum::<f64>()
        };
        let mut place: Vec<usize> = (0..n).collect();
        let mut best = (f64::NEG_INFINITY, place.clone());
        for _ in 0..300 {
            random.shuffle(&mut place);
            if f(&place) > best.0 {
                best = (f(&place), place.clone());
            }
        }
        values.extend(scores.iter().map(|&s| s as f32));
        grades.extend(best.1.iter().map(|&place| (n - place) as f64));
        names.extend((0..n).map(|i| format!("item_{i}")));
    }
    let columns = ordain::data::Columns::named(vec!["score".into()]);
    let features = ordain::matrix::Features::Dense(ordain::matrix::Matrix::new(values, 1));
    let bounds = (0..=lists).map(|list| list * n).collect();
    let queries = (0..lists).map(|list| list.to_string()).collect();
    RankSet::new(features, columns, grades, bounds, queries).unwrap().with_documents(&names).unwrap()
}

/// Eq. (2) over whole rankings: links between all places are learned, and answers are those of all orders.
#[test]
fn whole_rankings_are_learned_by_margin() {
    let set = whole_orders(160, 2);
    let (train, test): (Vec<u32>, Vec<u32>) = (0..160).partition(|&q| q < 80);
    let settings = "places=all,trainer=margin,scale=none,lambda=0.001,max_iter=60";
    let with = fit(&format!("quadrank[core=item_5;,{settings}]"), &set, &train);
    let without = fit(&format!("quadrank[core=0,{settings}]"), &set, &train);
    let ndcg = |fitted: &Fitted<Rank>| {
        let ready = fitted.model.prepare(&set).unwrap();
        let metric = ["ndcg".parse().unwrap()];
        fitted.model.evaluate(&ready, &test, &metric, &Convention::STANDARD).unwrap().mean(0)
    };
    assert!(ndcg(&with) > ndcg(&without) + 0.03, "{} {}", ndcg(&with), ndcg(&without));
    assert!(with.facts.report.gap.is_some() && with.facts.settings["places"] == "all");
    let model = from_bytes::<Rank>(&to_bytes(&with), Path::new("m")).unwrap().model;
    assert_eq!(model, with.model);
    let (ready, quadratic) = (model.prepare(&set).unwrap(), model.quadratic.as_ref().unwrap());
    for q in 80..84 {
        let said = model.predict(&ready, &[q as u32], false).unwrap().remove(0);
        let placed = said.placed.unwrap();
        let mut most = f64::NEG_INFINITY;
        let value = |place: &[usize]| {
            let own: f64 = (0..6).map(|i| placed.own[i] / ((place[i] + 2) as f64).log2()).sum();
            own + (0..5).map(|i| quadratic.links[i] * place[i].abs_diff(place[5]) as f64 / 5.0).sum::<f64>()
        };
        heads(6, 6, &mut vec![], &mut |order| {
            let place: Vec<usize> = (0..6).map(|i| order.iter().position(|&o| o == i).unwrap()).collect();
            most = most.max(value(&place));
        });
        let place: Vec<usize> = (0..6).map(|i| said.order.iter().position(|&row| row == 6 * q + i).unwrap()).collect();
        assert!((placed.value - most).abs() < 1e-9 && placed.gap < 1e-9, "{} {most}", placed.value);
        assert!((placed.value - value(&place)).abs() < 1e-9);
    }
    // so many head places that every list is whole: the last one is then worth nothing, as the tail
    let many = fit("quadrank[core=item_5;,places=20,trainer=margin,scale=none,lambda=0.001,max_iter=60]", &set, &train);
    assert!(ndcg(&many) > ndcg(&without), "{}", ndcg(&many));
}

#[test]
fn a_file_keeps_a_model_and_threads_do_not_change_it() {
    let set = small();
    for method in METHODS {
        let made = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let fitted = fit(method, &set, &set.all());
                let scores = fitted.model.scores(&fitted.model.prepare(&set).unwrap()).unwrap();
                (to_bytes(&fitted), scores)
            })
        };
        let (bytes, scores) = made(1);
        assert!((bytes.clone(), scores.clone()) == made(3), "{method}");
        let again = from_bytes::<Rank>(&bytes, Path::new("m")).unwrap();
        assert_eq!(again.model.scores(&again.model.prepare(&set).unwrap()).unwrap(), scores, "{method}");
        assert!(again == fit(method, &set, &set.all()), "{method}");
    }
}

#[test]
fn a_stopped_fit_goes_on_to_the_same_bytes() {
    let set = small();
    let method: RankMethod = METHODS[0].parse().unwrap();
    let all = set.all();
    let data = Training::new(&set, &all);
    let whole = to_bytes(&method.fit(&data, &Watch::NOBODY).unwrap());
    let stop = std::sync::atomic::AtomicBool::new(true);
    let watch = Watch { stop: &stop, tell: &|_, _| {} };
    let stopped = method.fit(&data, &watch).unwrap();
    assert_eq!(stopped.facts.report.stop, Stop::Interrupted);
    let stopped = from_bytes::<Rank>(&to_bytes(&stopped), Path::new("m")).unwrap();
    let journal = method.resume(&stopped, &data).unwrap().clone();
    let again = method.fit(&Training { resume: Some(&journal), ..data }, &Watch::NOBODY).unwrap();
    assert!(to_bytes(&again) == whole);
}

#[test]
fn items_that_are_not_known_have_no_bias_and_no_links() {
    let set = small();
    let fitted = fit(METHODS[0], &set, &set.all());
    let names: Vec<String> = (0..set.rows()).map(|row| format!("other {}", set.document(row))).collect();
    let strange = set.clone().with_documents(&names).unwrap();
    let ready = fitted.model.prepare(&strange).unwrap();
    assert_eq!(ready.differ().labels.len(), 8);
    // without links the order is that of the weights
    let said = fitted.model.predict(&ready, &[0], true).unwrap().remove(0);
    let own = said.placed.unwrap().own;
    assert!(said.order.windows(2).all(|pair| own[pair[0]] >= own[pair[1]]));
    let weight = fitted.model.score.weights()[0];
    assert!((own[3] - weight * f64::from(set.features.value(3, 0))).abs() < 1e-12);
}

#[test]
fn what_cannot_be_fitted_is_refused_with_the_reason() {
    let set = small();
    let all = set.all();
    let refused = |method: &str, set: &RankSet| {
        let error = match method.parse::<RankMethod>() {
            Err(error) => error,
            Ok(method) => method.fit(&Training::new(set, &all), &Watch::NOBODY).unwrap_err(),
        };
        error.to_string()
    };
    let bare = RankSet::new(
        set.features.clone(),
        set.columns.clone(),
        set.grades.clone(),
        (0..=60).map(|q| 8 * q).collect(),
        (0..60).map(|q| q.to_string()).collect(),
    )
    .unwrap();
    let twice = set.clone().with_documents(&vec!["same"; set.rows()]).unwrap();
    for (method, set, found) in [
        ("quadrank", &bare, "documents with names (a column docid)"),
        ("quadrank[core=item_9]", &set, "unknown item that two queries share \"item_9\""),
        ("quadrank[core=0]", &twice, "each item once in a query"),
        ("quadrank[core=9]", &set, "core: expected auto, a number up to 8"),
        ("quadrank[loss=ndcg]", &set, "loss: expected trainer=margin with it"),
        ("quadrank[trainer=margin,loss=map]", &set, "a loss has to be linear in the places"),
        ("quadrank[trainer=margin,loss=p@9]", &set, "p@K with K up to the 5 head places"),
        ("quadrank[trainer=margin,loss=mrr]", &set, "at most one relevant document in each list for loss=mrr"),
        ("quadrank[trainer=margin,ties=sum]", &set, "ties: expected trainer=likelihood with it"),
        ("quadrank[trainer=margin,order=expected]", &set, "order: expected trainer=likelihood with it"),
        ("quadrank[places=17]", &set, "places: expected a number from 1 to 16 (the exact sum doubles its time"),
        ("quadrank[places=all]", &set, "places: expected a number from 1 to 16 (the exact sum doubles its time"),
        ("quadrank[places=all,trainer=margin,order=expected]", &set, "order: expected trainer=likelihood with it"),
        (
            "quadrank[places=all,trainer=margin,design=head]",
            &set,
            "design: expected distance or product with places=all",
        ),
        ("quadrank[places=1001,trainer=margin]", &set, "places: expected a number from 1 to 1000, or all"),
    ] {
        let error = refused(method, set);
        assert!(error.contains(found), "{method}: {error}");
    }
    // known places are for models with links
    let mut known = set.clone();
    known.pin("1", "item_3", 2).unwrap();
    let svm = fit("ranksvm[scale=none,lambda=1]", &set, &all);
    assert!(svm.model.prepare(&known).unwrap_err().to_string().contains("a model with links for places"));
    for (document, place, found) in
        [("item_4", 2, "a free place"), ("item_3", 1, "one place for each"), ("item_4", 9, "a place from 1 to 8")]
    {
        let error = known.pin("1", document, place).unwrap_err().to_string();
        assert!(error.contains(found), "{error}");
    }
}

/// Label rankings: an order of labels for each item, or grades of some of them. Columns of its own make a function of the item for each label.
#[test]
fn label_rankings_are_learned() {
    let (mut random, items, d, n) = (ordain::random::Random::new(3), 300, 3, 5);
    let truth: Vec<f64> = (0..n * d).map(|_| random.normal()).collect();
    let x: Vec<f32> = (0..items * d).map(|_| random.normal() as f32).collect();
    let mut grades = vec![];
    for item in x.chunks_exact(d) {
        let score = |l: usize| (0..d).map(|j| truth[l * d + j] * f64::from(item[j])).sum::<f64>();
        let scores: Vec<f64> = (0..n).map(|l| score(l) + 0.3 * random.normal()).collect();
        let below = |l: usize| scores.iter().filter(|s| **s < scores[l]).count();
        let coarse = random.below(4) == 0;
        grades.extend((0..n).map(|l| match coarse {
            true if random.below(4) == 0 => f64::NAN,
            true => (below(l) / 2) as f64,
            false => below(l) as f64,
        }));
    }
    let (names, labels): (Vec<String>, Vec<String>) =
        ((0..items).map(|i| format!("i{i}")).collect(), (0..n).map(|l| format!("l{l}")).collect());
    let columns = ordain::data::Columns::named(["a", "b", "c"].map(String::from).to_vec());
    let features = ordain::matrix::Features::Dense(ordain::matrix::Matrix::new(x.clone(), d));
    let set = RankSet::of_label_rankings(&features, &columns, &names, &labels, &grades).unwrap();
    assert_eq!((set.len(), set.rows()), (items, grades.iter().filter(|g| !g.is_nan()).count()));
    assert_eq!((set.features.cols(), set.columns.names[4].as_str()), (n * d, "l1 b"));
    // the same documents with the features of their items, in columns that all labels share
    let (mut shared, mut values) = (set.clone(), vec![]);
    for (q, item) in x.chunks_exact(d).enumerate() {
        set.span(q).for_each(|_| values.extend_from_slice(item));
    }
    shared.features = ordain::matrix::Features::Dense(ordain::matrix::Matrix::new(values, d));
    shared.columns = columns.clone();
    let (train, test): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(|q| q % 2 == 0);
    let worth = |set: &RankSet, core: usize| {
        let fitted =
            fit(&format!("quadrank[places=3,core={core},transform=none,scale=none,lambda=0.003]"), set, &train);
        ndcg(&fitted, set, &test)
    };
    let (own, linked, alike) = (worth(&set, 0), worth(&set, 1), worth(&shared, 1));
    assert!(own > alike + 0.1 && linked > alike + 0.1, "{own} {linked} {alike}");
    // any ranker takes them
    let ranked = fit("ranksvm[transform=none,scale=none,lambda=0.01]", &set, &train);
    assert!(ndcg(&ranked, &set, &test) > alike + 0.1);
    let refused = |names: &[String], labels: &[String], grades: &[f64]| {
        RankSet::of_label_rankings(&features, &columns, names, labels, grades).unwrap_err().to_string()
    };
    assert!(refused(&names[1..], &labels, &grades).contains("a row for each of 299 items"));
    assert!(refused(&names, &labels, &grades[1..]).contains("300 x 5 grades"));
    let twice: Vec<String> = ["a", "b", "c", "b", "d"].map(String::from).to_vec();
    assert!(refused(&names, &twice, &grades).contains("\"b\" twice"));
    let infinite = [vec![f64::INFINITY], grades[1..].to_vec()].concat();
    assert!(refused(&names, &labels, &infinite).contains("inf of \"l0\" for \"i0\""));
}
