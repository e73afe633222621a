//! Metrics against the tools that their conventions are named after, against all orders of tied documents, and against
//! what must hold for any ranking.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::cases::cases;
use ordain::metric::{Convention, Empty, Metric, Query, Ties};
use proptest::prelude::*;
use serde_json::Value;
use std::borrow::Cow;

fn convention(name: &str) -> Convention {
    name.parse().unwrap()
}

fn measure(metric: &str, grades: &[f64], scores: &[f64], by: &Convention) -> Option<f64> {
    let id = |i: usize| Cow::Owned(format!("d{}", i + 1));
    let max = grades.iter().fold(0.0f64, |a, &b| a.max(b));
    let query = Query { grades, scores, unretrieved: &[], id: &id };
    query.measure(&[metric.parse().unwrap()], by, max).unwrap()[0]
}

fn close(a: Option<f64>, b: Option<f64>, tol: f64) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= tol,
        (a, b) => a == b,
    }
}

/// One and the same ranking in the eyes of different tools; each figure was printed by the tool itself.
#[test]
fn the_tools_disagree_just_so() {
    let grades = [3.0, 2.0, 0.0, 1.0, 0.0, 2.0];
    let scores = [0.9, 0.5, 0.8, 0.7, 0.4, 0.3];
    let rows: [(&[f64], &[f64], [f64; 5]); 6] = [
        (&grades, &scores, [0.7217, 0.7217, 0.6652, 0.6652, 0.7217]),
        (&[1.0, 0.0, 0.0, 0.0], &[0.5; 4], [1.0, 1.0, 0.5327, 0.0, 0.5327]),
        (&[0.0, 0.0, 0.0, 1.0], &[0.5; 4], [0.0, 0.0, 0.5327, 1.0, 0.5327]),
        (&[0.0, 0.0, 0.0], &[0.3, 0.2, 0.1], [1.0, 1.0, 0.0, 0.0, f64::NAN]),
        (&[1.0], &[0.5], [1.0, 1.0, 1.0, 1.0, 1.0]),
        (&[0.0], &[0.5], [1.0, 1.0, 0.0, 0.0, f64::NAN]),
    ];
    for (grades, scores, expected) in rows {
        for (name, value) in ["lightgbm", "xgboost", "sklearn", "trec", "standard"].into_iter().zip(expected) {
            let found = measure("ndcg@3", grades, scores, &convention(name));
            let expected = Some(value).filter(|x| !x.is_nan());
            assert!(close(found, expected, 5e-5), "{name} {grades:?}: {found:?}, not {expected:?}");
        }
    }
    // XGBoost's `ndcg@3-` counts an empty query as 0
    let minus = Convention { empty: Empty::Zero, ..convention("xgboost") };
    assert_eq!(measure("ndcg@3", &[0.0, 0.0], &[0.2, 0.1], &minus), Some(0.0));
    // negative grades have no gain, and are refused by name; pairs and kendall take them
    let id = |_: usize| Cow::Borrowed("");
    let query = Query { grades: &[-1.0, 2.0], scores: &[0.1, 0.2], unretrieved: &[], id: &id };
    let refused = query.measure(&["ndcg".parse().unwrap()], &Convention::STANDARD, 2.0).unwrap_err().to_string();
    assert!(refused.contains("the grade -1") && refused.contains("pairs and kendall"), "{refused}");
    assert_eq!(measure("pairs", &[-1.0, 2.5], &[0.1, 0.2], &Convention::STANDARD), Some(1.0));
}

/// LETOR's scripts: ranks 1 and 2 count fully; in LETOR 4.0 a query of fewer than k documents has NDCG@k = 0.
#[test]
fn letor_by_hand() {
    let (grades, scores) = ([0.0, 2.0, 1.0], [0.9, 0.8, 0.7]);
    // gains in ranked order 0, 3, 1; ideal 3, 1, 0
    let at_3 = (3.0 + 1.0 / 3f64.log2()) / 4.0;
    assert!(close(measure("ndcg@3", &grades, &scores, &convention("letor2")), Some(at_3), 1e-12));
    assert!(close(measure("ndcg@10", &grades, &scores, &convention("letor2")), Some(at_3), 1e-12));
    assert!(close(measure("ndcg@3", &grades, &scores, &convention("letor4")), Some(at_3), 1e-12));
    assert_eq!(measure("ndcg@10", &grades, &scores, &convention("letor4")), Some(0.0));
    assert_eq!(measure("ndcg@2", &[0.0, 0.0], &[1.0, 2.0], &convention("letor2")), Some(0.0));
    // equal scores keep the order of the file
    assert_eq!(measure("ndcg@1", &[0.0, 1.0], &[1.0, 1.0], &convention("letor2")), Some(0.0));
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// What scikit-learn, LightGBM, XGBoost, trec_eval and SciPy printed for random queries (`scripts/metric_oracle.py`).
#[test]
fn conventions_equal_their_tools() {
    let oracle: Value = serde_json::from_str(include_str!("../fixtures/metric_oracle.json")).unwrap();
    let mut compared = std::collections::BTreeMap::<&str, usize>::new();
    for query in oracle["queries"].as_array().unwrap() {
        let (grades, scores) = (numbers(&query["grades"]), numbers(&query["scores"]));
        let ids: Vec<String> =
            query["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        let unretrieved: Vec<f64> =
            query["unretrieved"].as_array().into_iter().flatten().map(|d| d["grade"].as_f64().unwrap()).collect();
        let id = |i: usize| Cow::Borrowed(ids[i].as_str());
        let subject = Query { grades: &grades, scores: &scores, unretrieved: &unretrieved, id: &id };
        let one = |metric: &str, by: &Convention| subject.measure(&[metric.parse().unwrap()], by, 4.0).unwrap()[0];
        let xgboost_minus = Convention { empty: Empty::Zero, ..convention("xgboost") };
        let tools = [
            ("sklearn", convention("sklearn")),
            ("lightgbm", convention("lightgbm")),
            ("xgboost", convention("xgboost")),
            ("xgboost_minus", xgboost_minus),
            ("trec", convention("trec")),
        ];
        for (tool, by) in &tools {
            for (metric, expected) in query[*tool].as_object().into_iter().flatten() {
                // XGBoost divides p@k by the number of documents where that is smaller, and cuts map@k
                if tool.starts_with("xgboost") && (metric.starts_with("p@") || metric.starts_with("map@")) {
                    continue;
                }
                let found = one(metric, by);
                assert!(
                    close(found, expected.as_f64(), 1e-6),
                    "{tool} {metric}: {found:?}, not {expected} for {query}"
                );
                *compared.entry(tool).or_default() += 1;
            }
        }
        if let Some(tau) = query["kendall"].as_f64() {
            assert!(close(one("kendall", &Convention::STANDARD), Some(tau), 1e-12));
            *compared.entry("kendall").or_default() += 1;
        }
    }
    assert!(compared.len() == 6 && compared.values().all(|&n| n >= 15), "{compared:?}");
}

const ALL: [&str; 14] = [
    "ndcg", "ndcg@1", "ndcg@3", "ndcg@10", "dcg@4", "map", "p@3", "recall@2", "mrr", "err@3", "err@20", "wta", "bep",
    "pairs",
];

fn query(longest: usize) -> impl Strategy<Value = Vec<(f64, f64)>> {
    let score = prop_oneof![(0..3i32).prop_map(f64::from), 0.0..3.0f64];
    prop::collection::vec(((0..4i32).prop_map(f64::from), score), 1..=longest)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(150)))]

    /// The slow truth of ties: the mean over all orders of the tied documents.
    #[test]
    fn averaged_ties_equal_the_mean_over_all_orders(query in query(6)) {
        let (grades, scores): (Vec<f64>, Vec<f64>) = query.into_iter().unzip();
        let input = Convention { ties: Ties::Input, ..Convention::STANDARD };
        let orders = permutations(grades.len());
        for metric in ALL {
            let fast = measure(metric, &grades, &scores, &Convention::STANDARD);
            let values: Vec<Option<f64>> = orders.iter().map(|order| {
                let pick = |from: &[f64]| order.iter().map(|&i| from[i]).collect::<Vec<f64>>();
                measure(metric, &pick(&grades), &pick(&scores), &input)
            }).collect();
            let slow = values.iter().copied().sum::<Option<f64>>().map(|sum| sum / values.len() as f64);
            prop_assert!(close(fast, slow, 1e-10), "{metric}: {fast:?}, not {slow:?}");
        }
    }

    /// Permuting rows changes no metric where ties are averaged, or go by id.
    #[test]
    fn the_order_of_rows_does_not_matter(query in query(30), seed in any::<u64>()) {
        let mut order: Vec<usize> = (0..query.len()).collect();
        ordain::random::Random::new(seed).shuffle(&mut order);
        for by in Convention::ALL.iter().copied().filter(|by| by.ties != Ties::Input) {
            for metric in ALL.into_iter().chain(["kendall"]) {
                let of = |order: &[usize]| {
                    let grades: Vec<f64> = order.iter().map(|&i| query[i].0).collect();
                    let scores: Vec<f64> = order.iter().map(|&i| query[i].1).collect();
                    let ids: Vec<String> = order.iter().map(|i| format!("d{i}")).collect();
                    let id = |i: usize| Cow::Owned(ids[i].clone());
                    let subject = Query { grades: &grades, scores: &scores, unretrieved: &[], id: &id };
                    subject.measure(&[metric.parse().unwrap()], &by, 3.0).unwrap()[0]
                };
                let plain: Vec<usize> = (0..query.len()).collect();
                prop_assert!(close(of(&plain), of(&order), 1e-12), "{metric} under {by}");
            }
        }
    }

    /// The ideal order gives 1 wherever 1 can be had, and nothing gives more, or less than 0.
    #[test]
    fn the_ideal_order_is_best(query in query(20)) {
        let (grades, scores): (Vec<f64>, Vec<f64>) = query.into_iter().unzip();
        for &by in Convention::ALL {
            for metric in ALL {
                let value = measure(metric, &grades, &scores, &by);
                let ideal = measure(metric, &grades, &grades, &by);
                prop_assert!(value.is_none() == ideal.is_none());
                let (Some(value), Some(ideal)) = (value, ideal) else { continue };
                prop_assert!(value >= 0.0 && value <= ideal + 1e-12, "{metric} under {by}: {value} > {ideal}");
                let reaches_1 = ["ndcg", "map", "mrr", "wta", "bep", "pairs"].contains(&metric);
                let relevant = grades.iter().any(|&g| g > 0.0);
                let differ = grades.windows(2).any(|pair| pair[0].total_cmp(&pair[1]).is_ne());
                if reaches_1 && (if metric == "pairs" { differ } else { relevant }) {
                    prop_assert!((ideal - 1.0).abs() < 1e-12, "{metric} under {by}: {ideal}");
                }
            }
        }
    }
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for i in 0..n {
        all = all
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                (0..=i).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, i);
                    order
                })
            })
            .collect();
    }
    all
}

#[test]
fn names_are_read_and_slips_are_named() {
    for name in
        ["ndcg@10", "ndcg", "dcg@5", "map", "p@1", "recall@3", "mrr", "err@10", "wta", "bep", "kendall", "pairs"]
    {
        assert_eq!(name.parse::<Metric>().unwrap().to_string(), name);
    }
    let message = |text: &str| text.parse::<Metric>().unwrap_err().to_string();
    assert_eq!(message("ndgc@10"), "unknown metric \"ndgc@10\": did you mean \"ndcg@10\"?");
    assert_eq!(message("ndgc"), "unknown metric \"ndgc\": did you mean \"ndcg\"?");
    let all = message("goodness");
    for list in [
        "those of rankings (ndcg, dcg, map, p@k, recall@k, ",
        "of labels (ndcg, ",
        "f1), of matches (recall, ",
        "nll, ece)",
    ] {
        assert!(all.contains(list), "{all}");
    }
    assert_eq!(message("p"), "metric: expected a cut-off, as in p@10, found \"p\"");
    assert_eq!(message("map@3"), "metric: expected map, which has no cut-off, found \"map@3\"");
    assert_eq!(message("ndcg@0"), "metric: expected a whole number above 0 after ndcg@, found \"ndcg@0\"");
    assert_eq!(message("ndcg@+5"), "metric: expected a whole number above 0 after ndcg@, found \"ndcg@+5\"");
    assert_eq!(message("ndcg@05"), "metric: expected a whole number above 0 after ndcg@, found \"ndcg@05\"");
    let changed = Convention { empty: Empty::Zero, ties: Ties::Input, ..Convention::STANDARD };
    assert_eq!(changed.to_string(), "standard, empty=zero, ties=input");
    assert_eq!(convention("letor4").to_string(), "letor4");
}

#[test]
fn scores_that_are_not_finite_have_no_metric() {
    let set = ordain::data::synthetic::Synthetic { queries: 5, documents: (4, 4), ..Default::default() }.make();
    let metrics: Vec<Metric> = ["ndcg@10", "map", "pairs"].map(|name| name.parse().unwrap()).to_vec();
    for strange in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut scores = set.grades.clone();
        scores[9] = strange;
        let error = ordain::metric::evaluate(&set, &set.all(), &scores, &metrics, &Convention::STANDARD).unwrap_err();
        let place = format!(
            "query {:?}, document {:?}: expected a finite score, found {strange}",
            set.query(2),
            set.document(9)
        );
        assert!(error.to_string().starts_with(&place), "{error}");
        assert!(ordain::metric::evaluate(&set, &[0, 1, 3], &scores, &metrics, &Convention::STANDARD).is_ok());
        let id = |i: usize| Cow::Owned(format!("d{i}"));
        let query = Query { grades: &[1.0, 0.0], scores: &[0.0, strange], unretrieved: &[], id: &id };
        let error = query.measure(&metrics, &Convention::STANDARD, 1.0).unwrap_err().to_string();
        assert!(error.starts_with("document \"d1\": expected a finite score"), "{error}");
    }
    let few = ordain::metric::evaluate(&set, &set.all(), &[1.0], &metrics, &Convention::STANDARD).unwrap_err();
    assert!(few.to_string().contains("20 scores, one per document"), "{few}");
}

#[test]
fn metrics_know_what_they_are_of() {
    let of = |name: &str| {
        let metric: Metric = name.parse().unwrap();
        [metric.of_rankings(), metric.of_labels(), metric.of_matches()]
    };
    for (name, right) in [
        ("ndcg@10", [true, true, false]),
        ("recall@5", [true, true, false]),
        ("recall", [false, false, true]),
        ("bep_learned", [false, true, false]),
        ("rankloss", [false, true, false]),
        ("hamming", [false, true, true]),
        ("accuracy", [false, false, true]),
        ("nll", [false, false, true]),
    ] {
        assert_eq!(of(name), right, "{name}");
    }
    let metric: Metric = "bep_learned".parse().unwrap();
    let query = Query { grades: &[1.0], scores: &[0.0], unretrieved: &[], id: &|_| Cow::Borrowed("") };
    assert!(query.measure(&[metric], &Convention::STANDARD, 1.0).unwrap_err().to_string().contains("of rankings"));
}

#[test]
fn a_convention_is_read_as_it_is_written() {
    for &preset in Convention::ALL {
        let mut changed = preset;
        for (rule, value) in [("gain", "linear"), ("empty", "one"), ("ties", "id"), ("relevant_from", "2.5")] {
            changed.set(rule, value).unwrap();
        }
        for by in [preset, changed] {
            assert_eq!(by.to_string().parse::<Convention>().unwrap(), by);
        }
    }
    for (text, found) in
        [("letor5", "did you mean"), ("letor4, empty", "rules after the name"), ("trec, gian=exp", "gain")]
    {
        assert!(text.parse::<Convention>().unwrap_err().to_string().contains(found), "{text}");
    }
}
