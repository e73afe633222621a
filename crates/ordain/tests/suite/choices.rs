//! What `auto` takes of scalings, weights and λ, on many validation queries and on few.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::data::synthetic::Synthetic;
use ordain::data::{Columns, RankSet};
use ordain::matrix::{Features, Matrix};
use ordain::method::{Rank, RankMethod};
use ordain::metric::Convention;
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::task::{Edge, Fitted, Method, Model, Training};

fn fit(method: &str, data: &Training<'_, Rank>) -> Fitted<Rank> {
    method.parse::<RankMethod>().unwrap().fit(data, &Watch::NOBODY).unwrap()
}

fn ndcg(fitted: &Fitted<Rank>, set: &RankSet, units: &[u32]) -> f64 {
    let ready = fitted.model.prepare(set).unwrap();
    fitted.model.evaluate(&ready, units, &["ndcg@10".parse().unwrap()], &Convention::STANDARD).unwrap().mean(0)
}

/// With two validation queries the choice is that of all queries, and the last fit is on those that it was to be on.
#[test]
fn few_validation_queries_choose_with_the_training_queries() {
    let set = Synthetic { queries: 260, noise: 2.0, ..Synthetic::default() }.make();
    let (train, valid, test): (Vec<u32>, Vec<u32>, Vec<u32>) = ((0..48).collect(), vec![48, 49], (50..260).collect());
    for method in ["rankmatch", "ranksvm", "listnet"] {
        for refit in [false, true] {
            let fitted = fit(method, &Training { valid: Some(&valid), refit, ..Training::new(&set, &train) });
            let chosen = fitted.facts.chosen.as_ref().unwrap();
            assert_eq!((chosen.units, chosen.parts), (50, Some(5)), "{method}");
            assert_eq!(
                (fitted.facts.refit, fitted.facts.notes.queries),
                (refit, if refit { 50 } else { 48 }),
                "{method}"
            );
            // the ridge is at least as strong as that of the best, of the same scaling and weight
            let taken = fitted.facts.taken().unwrap();
            let whole = chosen.candidates.iter().filter(|c| c.units.is_none());
            let best = whole.reduce(|a, b| if b.value > a.value { b } else { a }).unwrap();
            let number = |c: &ordain::task::Candidate| c.settings["lambda"].as_f64().unwrap();
            assert!(taken.value <= best.value && number(taken) >= number(best), "{method}");
            assert_eq!(
                (&taken.settings["scale"], taken.settings.get("weight")),
                (&best.settings["scale"], best.settings.get("weight"))
            );
            // what every fit of this set reaches with settings by hand
            let by_hand = fit(&format!("{method}[scale=query,lambda=1]"), &Training::new(&set, &train));
            let (own, hand) = (ndcg(&fitted, &set, &test), ndcg(&by_hand, &set, &test));
            assert!(own > hand - 0.02, "{method}: {own} chosen, {hand} by hand");
        }
    }
}

/// Both weights are tried, and what is set is not; on few validation queries it is that by pair.
#[test]
fn the_weight_of_pairs_is_part_of_the_choice() {
    let set = Synthetic { queries: 260, ..Synthetic::default() }.make();
    let units = set.all();
    let weights_on = |units: &[u32], method: &str| {
        let facts = fit(method, &Training::new(&set, units)).facts;
        let mut tried: Vec<String> = facts
            .chosen
            .unwrap()
            .candidates
            .iter()
            .map(|c| c.settings["weight"].as_str().unwrap().to_owned())
            .collect();
        tried.sort_unstable();
        tried.dedup();
        (
            facts.settings["weight"].as_str().unwrap().to_owned(),
            facts.asked["weight"].as_str().unwrap().to_owned(),
            tried,
        )
    };
    let weights = |method: &str| weights_on(&units, method);
    let (used, asked, tried) = weights("ranksvm[scale=query]");
    assert!(asked == "auto" && tried == ["pair", "query"] && tried.contains(&used));
    let (used, asked, tried) = weights("ranksvm[scale=query,weight=pair]");
    assert!(asked == "pair" && tried == ["pair"] && used == "pair");
    // 20 validation queries
    let (used, asked, tried) = weights_on(&units[..100], "ranksvm[scale=query]");
    assert!(asked == "auto" && tried == ["pair"] && used == "pair");
    let (used, _, tried) = weights_on(&units[..100], "ranksvm[scale=query,weight=query]");
    assert!(tried == ["query"] && used == "query");
}

/// Queries whose grades follow differences of two almost equal features: the k-th difference is 10^-k, and shows at λ of about 10^-2k.
fn differences(pairs: i32) -> RankSet {
    let mut set = Synthetic { queries: 300, documents: (10, 10), ..Synthetic::default() }.make();
    let (mut random, mut values) = (Random::new(5), vec![]);
    for grade in &mut set.grades {
        let mut score = 0.0;
        for k in 1..=pairs {
            let (z, u) = (random.normal(), random.normal());
            values.extend([z as f32, (z + 10f64.powi(-k) * u) as f32]);
            score += u;
        }
        *grade = f64::from(u8::from(score > 0.5)) + f64::from(u8::from(score > 2.0));
    }
    set.features = Features::Dense(Matrix::new(values, 2 * pairs as usize));
    set.columns = Columns::numbered(2 * pairs as usize);
    set
}

/// A best λ at the end of its path makes the path longer; one that is beyond all of it is said.
#[test]
fn a_path_becomes_longer_at_its_ends() {
    for (pairs, edge) in [(1, None), (6, Some(Edge::Weakest))] {
        let set = differences(pairs);
        let facts = fit("ranksvm[scale=none,weight=query]", &Training::new(&set, &set.all())).facts;
        let (lambda, chosen) = (facts.settings["lambda"].as_f64().unwrap(), facts.chosen.unwrap());
        assert_eq!(chosen.edge, edge, "{pairs} pairs: {lambda}");
        assert_eq!(lambda < 1e-4, pairs > 1, "{pairs} pairs: {lambda}");
    }
}

/// Above 50,000 training documents candidates leave the race on samples of queries; what is taken is as good as the best on all of them.
#[test]
fn many_documents_are_searched_on_samples() {
    let set = Synthetic { queries: 2700, documents: (25, 25), features: 4, ..Synthetic::default() }.make();
    let units = set.all();
    let fitted = fit("ranksvm", &Training { refit: false, ..Training::new(&set, &units) });
    let facts = &fitted.facts;
    assert_eq!((facts.notes.queries, facts.chosen.as_ref().unwrap().units), (2160, 540));
    let held: Vec<u32> = units.iter().copied().filter(|unit| unit % 5 == 4).collect();
    let own = ndcg(&fitted, &set, &held);
    assert!((own - facts.taken().unwrap().value).abs() < 1e-12);
    let train: Vec<u32> = units.iter().copied().filter(|unit| unit % 5 != 4).collect();
    for lambda in [10.0, 0.1] {
        let method = format!("ranksvm[scale=query,weight=query,lambda={lambda}]");
        assert!(own > ndcg(&fit(&method, &Training::new(&set, &train)), &set, &held) - 0.002);
    }
}

/// Models that are to be carried elsewhere score a document by itself; what contradicts that is refused.
#[test]
fn what_is_exportable_does_not_depend_on_the_list() {
    let set = Synthetic { queries: 25, ..Synthetic::default() }.make();
    let units = set.all();
    let search = ["ranksvm", "rankmatch", "listnet", "svmmap", "dorm[draws=0.1]"].map(|method| (method, "search"));
    for (method, to) in search.into_iter().chain([("ranksvm", "onnx"), ("listnet", "onnx")]) {
        let method = if method.ends_with(']') {
            method.replace(']', ",exportable=") + to + "]"
        } else {
            format!("{method}[exportable={to}]")
        };
        let facts = fit(&method, &Training::new(&set, &units)).facts;
        let scales = facts.chosen.iter().flat_map(|chosen| &chosen.candidates).map(|c| &c.settings["scale"]);
        assert!(scales.chain([&facts.settings["scale"]]).all(|scale| scale == "global" || scale == "none"), "{method}");
        assert_eq!(facts.settings["exportable"], to);
    }
    // also where nothing can be chosen
    let few = set.only(&[0, 1, 2]);
    assert_eq!(fit("ranksvm[exportable=onnx]", &Training::new(&few, &[0, 1, 2])).facts.settings["scale"], "global");
    for wrong in [
        "ranksvm[exportable=search,scale=query]",
        "rankmatch[exportable=onnx,scale=minmax]",
        "dorm[exportable=search,transform=quantile]",
        "ranksvm[exportable=search,kernel=rbf]",
    ] {
        assert!(wrong.parse::<RankMethod>().unwrap_err().to_string().contains("exportable"), "{wrong}");
    }
    assert!("listnet[exportable=onnx,transform=quantile]".parse::<RankMethod>().is_ok());
}
