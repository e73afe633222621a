//! Networks, fields and comparisons: files, refusals, and what they reach beside a random order.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and gates print what they measured

use ordain::data::RankSet;
use ordain::data::split::{self, Layout};
use ordain::data::synthetic::Synthetic;
use ordain::method::{Rank, RankMethod};
use ordain::metric::{Convention, Metric, evaluate};
use ordain::model_file::{from_bytes, to_bytes};
use ordain::score::Score;
use ordain::scorer::field::{Field, Similarity};
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Task, Training};
use std::path::Path;

fn fit(method: &str, set: &RankSet, train: &[u32]) -> Fitted<Rank> {
    method.parse::<RankMethod>().unwrap().fit(&Training::new(set, train), &Watch::NOBODY).unwrap()
}

#[test]
fn a_file_whose_numbers_do_not_fit_is_refused() {
    let set = Synthetic { queries: 12, documents: (3, 6), features: 3, ..Synthetic::default() }.make();
    for method in
        ["ranknet[hidden=2,scale=query,lambda=0.01,max_iter=5]", "sortnet[hidden=2,pairs=20,rounds=1]", "ccrf"]
    {
        let fitted = fit(method, &set, &set.all());
        let again: Fitted<Rank> = from_bytes(&to_bytes(&fitted), Path::new("m")).unwrap();
        assert!(again == fitted, "{method}");
        for damage in 0..4 {
            let mut broken = fitted.clone();
            let numbers = match &mut broken.model.score {
                Score::Network(network) => &mut network.numbers,
                Score::Comparison(comparison) => &mut comparison.numbers,
                Score::Field(field) => &mut field.alpha,
                other => unreachable!("{other:?}"),
            };
            match damage {
                0 => drop(numbers.pop()),
                1 => numbers.push(1.0),
                2 => numbers[0] = f64::NAN,
                _ => numbers.clear(),
            }
            assert!(broken.model.check().is_err(), "{method}: {damage}");
            let read: Result<Fitted<Rank>, _> = from_bytes(&to_bytes(&broken), Path::new("m"));
            assert!(read.is_err(), "{method}: {damage}");
        }
    }
    let field = |beta: f64| Score::Field(Field { alpha: vec![1.0], beta, similarity: Similarity::Rbf, links: vec![] });
    assert!(
        field(0.5).fits(1) && !field(-0.5).fits(1) && !field(f64::INFINITY).fits(1) && !field(0.5).fits_labels(1, 1)
    );
}

#[test]
fn wrong_settings_are_refused() {
    for wrong in [
        "ranknet[hidden=-1]",
        "ranknet[hidden=2000]",
        "ranknet[hidden=3,exportable=onnx]",
        "ranknet[weight=documents]",
        "structrank[edges=chain]",
        "ccrf[similarity=cosine]",
        "ccrf[lambda=1]",
        "ccrf[scale=matched]",
        "sortnet[hidden=0]",
        "sortnet[rounds=0]",
        "sortnet[lambda=auto]",
        "sortnet[pairs=0]",
    ] {
        assert!(wrong.parse::<RankMethod>().is_err(), "{wrong}");
    }
    for right in
        ["ranknet[weight=pair,hidden=3]", "structrank[edges=pairs]", "ccrf[similarity=none]", "sortnet[pairs=50]"]
    {
        assert_eq!(right.parse::<RankMethod>().unwrap().to_string(), right);
    }
    let mut set = Synthetic { queries: 8, ..Synthetic::default() }.make();
    set.weights = Some(vec![1.0; set.rows()]);
    for method in ["ccrf", "sortnet"] {
        let refusal = method.parse::<RankMethod>().unwrap().fit(&Training::new(&set, &set.all()), &Watch::NOBODY);
        assert!(refusal.unwrap_err().to_string().contains(&format!("weights for {method}")), "{method}");
    }
}

/// What every method reaches above a random order of the same queries.
fn above_random(method: &str, set: &RankSet, train: &[u32], test: &[u32]) -> f64 {
    let metric: Metric = "ndcg@10".parse().unwrap();
    let model = fit(method, set, train).model;
    let value = |scores: &[f64]| evaluate(set, test, scores, &[metric], &Convention::STANDARD).unwrap().mean(0);
    // ties are averaged: all scores alike are the mean of all orders
    value(&model.scores_of(&model.prepare(set).unwrap(), test).unwrap()) - value(&vec![0.0; set.rows()])
}

const QUICK: [&str; 5] = [
    "ranksvm[loss=hinge,scale=query,lambda=0.01]",
    "ranknet[scale=query,lambda=0.01]",
    "structrank[scale=query,lambda=0.01]",
    "ccrf",
    "sortnet[hidden=4,rounds=1]",
];

#[test]
fn made_up_data_are_ordered_better_than_at_random() {
    let set = Synthetic { queries: 80, documents: (10, 20), features: 6, ..Synthetic::default() }.make();
    let all = set.all();
    for method in QUICK {
        let gain = above_random(method, &set, &all[..60], &all[60..]);
        println!("{method}: {gain:+.3}");
        assert!(gain >= 0.1, "{method}: {gain}");
    }
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn mq2008_is_ordered_better_than_at_random() {
    let folder = Path::new(&std::env::var("ORDAIN_DATA").unwrap()).join("ranking/mq2008");
    let Layout::Parts(files) = split::layout(&folder).unwrap() else { unreachable!("five parts") };
    let files: Vec<Vec<std::path::PathBuf>> = files.into_iter().map(|file| vec![file]).collect();
    let (set, parts) = Rank::read(&files, &Default::default()).unwrap();
    let fold = split::rotation(&parts, 0);
    for method in ["ranksvm[loss=hinge,scale=query,lambda=0.01]", "ranknet", "structrank", "ccrf", "sortnet", "svmmap"]
    {
        let gain = above_random(method, &set, &fold.train, &fold.test);
        println!("{method}: {gain:+.3}");
        assert!(gain >= 0.1, "{method}: {gain}");
    }
}
