//! Preferences and clicks in place of grades, and weights of queries.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::cases::cases;
use ordain::data::synthetic::Synthetic;
use ordain::data::{Clicks, RankReading, RankSet, read_rank};
use ordain::method::{AnyMethod, Rank, RankMethod};
use ordain::metric::{Convention, evaluate};
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::task::{Fitted, Method, Model, Training};
use std::path::Path;

fn fit(method: &str, set: &RankSet) -> ordain::Result<Fitted<Rank>> {
    let AnyMethod::Rank(method) = AnyMethod::parse::<&str>(method, []).unwrap() else { panic!("{method} ranks") };
    method.fit(&Training::new(set, &set.all()), &Watch::NOBODY)
}

fn scores(fitted: &Fitted<Rank>, set: &RankSet) -> Vec<f64> {
    fitted.model.scores(&fitted.model.prepare(set).unwrap()).unwrap()
}

/// All pairs of different grades, with the weights that the two documents give them.
fn pairs(set: &RankSet) -> Vec<(usize, usize, f64)> {
    let weight = |row: usize| set.weights.as_ref().map_or(1.0, |weights| weights[row]);
    let mut pairs = vec![];
    for q in 0..set.len() {
        for i in set.span(q) {
            for j in set.span(q).filter(|&j| set.grades[i] > set.grades[j]) {
                pairs.push((i, j, (weight(i) * weight(j)).sqrt()));
            }
        }
    }
    pairs
}

/// A set without grades and weights.
fn ungraded(mut set: RankSet) -> RankSet {
    (set.graded, set.weights) = (false, None);
    set.grades.fill(0.0);
    set
}

fn made(seed: u64) -> RankSet {
    Synthetic { queries: 24, documents: (4, 9), features: 5, grades: 3, seed, ..Synthetic::default() }.make()
}

/// Methods whose choice is settled, so that what they learn from is all that differs.
const PAIRWISE: [&str; 10] = [
    "ranksvm[scale=global,lambda=0.1]",
    "ranksvm[scale=global,lambda=0.1,weight=pair]",
    "ranksvm[scale=global,lambda=0.1,loss=hinge,tol=1e-6]",
    "ranksvm[scale=global,lambda=0.01,kernel=rbf,gamma=1]",
    "ranksvm[scorer=trees,loss=logistic,rounds=8]",
    "ranknet[scale=global,lambda=0.01]",
    "ranknet[scale=global,lambda=0.01,weight=pair]",
    "rankboost[rounds=12]",
    "frank[rounds=8]",
    "qbrank[rounds=8]",
];

/// The slow twin of grades: every pair by itself. Where grades have the preferences of a set, the model is that of the grades.
#[test]
fn preferences_of_grades_make_the_model_of_the_grades() {
    for method in PAIRWISE {
        for weighted in [false, true] {
            let mut set = made(3);
            if weighted {
                let mut random = Random::new(5);
                // frank weighs whole queries
                let of: Vec<f64> = (0..set.len()).map(|_| 0.5 + 2.0 * random.uniform()).collect();
                let mut weights = vec![0.0; set.rows()];
                for (q, &of) in of.iter().enumerate() {
                    let own =
                        |random: &mut Random| if method.starts_with("frank") { of } else { 0.5 + random.uniform() };
                    set.span(q).for_each(|row| weights[row] = own(&mut random));
                }
                set.weights = Some(weights);
            }
            let told = ungraded(set.clone()).with_preferences(&pairs(&set)).unwrap();
            let (by_grades, by_pairs) = (fit(method, &set).unwrap(), fit(method, &told).unwrap());
            let (a, b) = (scores(&by_grades, &set), scores(&by_pairs, &told));
            let size = a.iter().fold(1e-3f64, |size, s| size.max(s.abs()));
            // trees and thresholds may be cut elsewhere where two cuts are as good
            let far = a.iter().zip(&b).filter(|(a, b)| (*a - *b).abs() > 2e-3 * size).count();
            assert!(far == 0, "{method}, weighted {weighted}: {far} of {} scores differ", a.len());
            assert_eq!(by_pairs.facts.notes.preferences.as_ref().unwrap().pairs, pairs(&set).len());
        }
    }
}

#[test]
fn twice_the_weight_is_twice_the_pair() {
    let set = made(1);
    let all = pairs(&set);
    let base = ungraded(set);
    let twice: Vec<_> = all.iter().chain(all.iter().step_by(3)).copied().collect();
    let heavy: Vec<_> =
        all.iter().enumerate().map(|(at, &(i, j, w))| (i, j, if at % 3 == 0 { 2.0 * w } else { w })).collect();
    let [twice, heavy] = [twice, heavy].map(|pairs| base.clone().with_preferences(&pairs).unwrap());
    assert_eq!(twice, heavy);
    assert_ne!(twice.digest(), base.with_preferences(&all).unwrap().digest());
}

/// What is open is chosen by `pairs`, and the choice holds out whole queries.
#[test]
fn choices_go_by_pairs() {
    let set = made(2);
    let told = ungraded(set.clone()).with_preferences(&pairs(&set)).unwrap();
    for method in [
        "ranksvm",
        "ranknet",
        "rankboost",
        "frank[rounds=auto]",
        "qbrank",
        "ranksvm[kernel=rbf]",
        "ranksvm[scorer=auto,loss=logistic]",
    ] {
        let fitted = fit(method, &told).unwrap();
        assert_eq!(fitted.facts.chosen.as_ref().unwrap().metric, "pairs", "{method}");
        let by = |metric: &str| {
            evaluate(&set, &set.all(), &scores(&fitted, &set), &[metric.parse().unwrap()], &Convention::STANDARD)
        };
        assert!(by("pairs").unwrap().mean(0) > 0.6, "{method}: {}", by("pairs").unwrap().mean(0));
    }
    // a metric that goes by grades needs them
    let wrong =
        evaluate(&told, &told.all(), &vec![0.0; told.rows()], &["ndcg".parse().unwrap()], &Convention::STANDARD);
    assert!(wrong.unwrap_err().to_string().contains("pairs goes by preferences"));
}

#[test]
fn the_metric_is_the_share_of_weight_in_order() {
    let mut random = Random::new(17);
    for case in 0..cases(60) {
        let set = made(u64::from(case));
        let all: Vec<_> = pairs(&set).into_iter().map(|(i, j, _)| (i, j, 0.1 + random.uniform())).collect();
        // with ties
        let scores: Vec<f64> = (0..set.rows()).map(|_| random.below(4) as f64).collect();
        let told = set.with_preferences(&all).unwrap();
        let found = evaluate(&told, &told.all(), &scores, &["pairs".parse().unwrap()], &Convention::STANDARD).unwrap();
        for q in 0..told.len() {
            let own: Vec<_> = all.iter().filter(|(i, ..)| told.span(q).contains(i)).collect();
            let total: f64 = own.iter().map(|(.., w)| w).sum();
            let right: f64 = own
                .iter()
                .map(|&&(i, j, w)| {
                    w * if scores[i] > scores[j] {
                        1.0
                    } else if scores[i] < scores[j] {
                        0.0
                    } else {
                        0.5
                    }
                })
                .sum();
            match found.values[0][q] {
                None => assert!(own.is_empty()),
                Some(value) => assert!((value - right / total).abs() < 1e-12),
            }
        }
    }
}

#[test]
fn other_methods_refuse_preferences_by_name() {
    let set = made(4);
    let told = set.clone().with_preferences(&pairs(&set)).unwrap();
    for (name, make) in RankMethod::ALL {
        let takes = ["ranksvm", "ranknet", "rankboost", "frank", "qbrank"].contains(name);
        assert_eq!(make().takes_preferences(), takes, "{name}");
        if !takes {
            let error = make().fit(&Training::new(&told, &told.all()), &Watch::NOBODY).unwrap_err().to_string();
            assert!(error.contains("learns from pairs") && error.contains(name), "{name}: {error}");
        }
    }
    for method in ["ranksvm[scorer=trees,loss=lambda]", "ranksvm[scorer=trees,loss=squared]"] {
        assert!(fit(method, &told).unwrap_err().to_string().contains("loss=logistic"), "{method}");
    }
}

/// A query of weight 2 is one that stands there twice; one of weight 0 is one that is not there.
#[test]
fn weights_of_queries_are_copies_of_them() {
    let set = made(7);
    let of = |q: usize| [1.0, 2.0, 0.0][q % 3];
    let mut weighted = set.clone();
    weighted.weights = Some((0..set.len()).flat_map(|q| set.span(q).map(move |_| of(q))).collect());
    let copies: Vec<u32> = set.all().into_iter().flat_map(|q| vec![q; of(q as usize) as usize]).collect();
    let copied = set.only(&copies);
    for method in [
        "rankmatch[scale=none,lambda=0.1,tol=1e-8]",
        "dorm[scale=none,lambda=0.1,tol=1e-5,subset=2,draws=all,ties=average]",
        "listnet[scale=none,lambda=0.1,tol=1e-8]",
        "structrank[scale=none,lambda=0.1,tol=1e-8]",
        "svmmap[scale=none,lambda=0.1,tol=1e-5]",
        "ranksvm[scale=none,lambda=0.1,tol=1e-8]",
        "ranknet[scale=none,lambda=0.1,tol=1e-8]",
        "rankboost[rounds=6,weight=query]",
    ] {
        let (a, b) = (fit(method, &weighted).unwrap(), fit(method, &copied).unwrap());
        let (a, b) = (scores(&a, &set), scores(&b, &set));
        let size = a.iter().fold(1e-3f64, |size, s| size.max(s.abs()));
        let far = a.iter().zip(&b).map(|(a, b)| (a - b).abs() / size).fold(0.0f64, f64::max);
        assert!(far < 0.01, "{method}: {far}");
    }
    weighted.weights.as_mut().unwrap()[0] = 5.0;
    for method in ["rankmatch", "listnet", "structrank", "svmmap", "frank", "isorank"] {
        let error = fit(method, &weighted).unwrap_err().to_string();
        assert!(error.contains("weighs whole queries"), "{method}: {error}");
    }
    for method in ["sortnet", "adarank", "quadrank", "ccrf", "ballrank"] {
        let error = fit(method, &weighted).unwrap_err().to_string();
        assert!(error.contains("weights") && error.contains(method), "{method}: {error}");
    }
}

/// Pairs of clicks by the plainest rule.
#[test]
fn clicks_are_preferred_to_what_was_passed_over() {
    let mut random = Random::new(23);
    for _ in 0..cases(100) {
        let (n, eta) = (2 + random.below(8), 2.0 * random.uniform());
        let mut set = Synthetic { queries: 1, documents: (n, n), ..Synthetic::default() }.make();
        set.grades = (0..n).map(|_| random.below(2) as f64).collect();
        let mut positions: Vec<u32> = (1..=n as u32).map(|p| p + 3).collect();
        random.shuffle(&mut positions);
        let how = Clicks { eta, clip: 5.0, ..Clicks::default() };
        let mut expected = vec![];
        for i in (0..n).filter(|&i| set.grades[i] > 0.0) {
            let weight = f64::from(positions[i]).powf(eta).min(5.0);
            for j in (0..n).filter(|&j| set.grades[j] < 1.0) {
                if positions[j] < positions[i] || positions[j] == positions[i] + 1 {
                    expected.push((i as u32, j as u32, weight));
                }
            }
        }
        match set.with_clicks(&positions, &how) {
            Err(_) => assert!(expected.is_empty()),
            Ok(set) => {
                let found: Vec<_> = set.preferences().unwrap().of(0..n).collect();
                expected.sort_by_key(|&(i, j, _)| (i, j));
                assert_eq!(found, expected);
            }
        }
    }
}

fn written(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn tables_of_preferences_and_clicks_say_where_they_are_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let data = written(folder.path(), "data.csv", "qid,docid,x\na,1,0.5\na,2,1\nb,1,2\nb,3,1\n");
    let read = |text: &str| {
        let preferences = Some(written(folder.path(), "p.csv", text));
        read_rank(&[vec![data.clone()]], &RankReading { preferences, ..RankReading::default() })
    };
    let (set, _) = read("qid,winner,loser,weight\na,2,1,0.5\na,2,1,1\nb,1,3,2\n").unwrap();
    assert_eq!(set.preferences().unwrap().of(set.span(0)).collect::<Vec<_>>(), [(1, 0, 1.5)]);
    assert!(!set.graded && set.need_truth().is_ok());
    for (text, says) in [
        ("qid,winner\na,2\n", "p.csv:1:1: expected a header with the columns qid, winner and loser"),
        ("qid,winner,loser\nc,1,2\n", "p.csv:2:1: expected a query of the data"),
        ("qid,winner,loser\na,3,1\n", "p.csv:2:2: expected a document of query \"a\""),
        ("qid,winner,loser\na,2,2\n", "p.csv:2:3: expected another document than the winner"),
        ("qid,winner,loser,weight\na,2,1,0\n", "p.csv:2:4: expected a weight above 0"),
        ("qid,winner,loser\n", "expected preferences"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let clicked = |text: &str, how: &str| {
        let path = written(folder.path(), "clicks.csv", text);
        read_rank(&[vec![path]], &RankReading { clicks: Some(how.parse().unwrap()), ..RankReading::default() })
    };
    let log =
        "qid,docid,position,clicked,x\ns1,a,1,0,0.5\ns1,b,2,1,1\ns1,c,3,0,2\ns2,a,1,1,3\ns2,b,20,1,3\ns3,a,1,0,4\n";
    let (set, _) = clicked(log, "ips").unwrap();
    assert_eq!(set.columns.names, ["x"]);
    assert_eq!(set.preferences().unwrap().of(set.span(0)).collect::<Vec<_>>(), [(1, 0, 2.0), (1, 2, 2.0)]);
    let facts = set.preferences().unwrap().facts().clicks.unwrap();
    assert_eq!((facts.lists, facts.silent, facts.clicks, facts.clipped, facts.effective), (3, 2, 1, 0, 1.0));
    for (text, says) in [
        ("qid,docid,clicked,x\ns,a,1,1\n", "expected a header with the column \"position\""),
        ("qid,docid,position,x\ns,a,1,1\n", "expected a header with the column \"clicked\""),
        ("qid,docid,position,clicked,x\ns,a,0,1,1\n", "clicks.csv:2:3: expected a position, a whole number from 1"),
        ("qid,docid,position,clicked,x\ns,a,1,2,1\n", "clicks.csv:2:4: expected 1 for a click, else 0"),
        ("qid,docid,position,clicked,x\ns,a,1,0,1\ns,b,1,1,1\n", "position 1 twice"),
        ("qid,docid,position,clicked,x\ns,a,1,1,1\n", "clicks say nothing of an order"),
    ] {
        let error = clicked(text, "ips").unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    for (text, says) in [
        ("log", "expected ips"),
        ("ips,eta=-1", "eta of at least 0"),
        ("ips,clip=0.5", "clip of at least 1"),
        ("ips,etta=1", "eta"),
    ] {
        assert!(text.parse::<Clicks>().unwrap_err().to_string().contains(says), "{text}");
    }
}

/// Clicks that fall with the position hide an order; their weights find it again.
#[test]
fn weights_undo_what_positions_did() {
    let mut random = Random::new(41);
    let mut set = Synthetic { queries: 600, documents: (10, 10), features: 2, seed: 8, ..Synthetic::default() }.make();
    // x_0 is what people want; x_1 is what the old ranking went by, and stands for nothing
    let mut positions = vec![0; set.rows()];
    for q in 0..set.len() {
        let span = set.span(q);
        let mut shown: Vec<usize> = span.clone().collect();
        shown.sort_by(|&a, &b| set.features.value(b, 1).total_cmp(&set.features.value(a, 1)));
        for (position, &row) in (1..).zip(&shown) {
            positions[row] = position;
            let wanted = 1.0 / (1.0 + (-2.0 * f64::from(set.features.value(row, 0))).exp());
            let seen = 1.0 / f64::from(position);
            set.grades[row] = f64::from(u8::from(random.uniform() < wanted * seen));
        }
    }
    let ratio = |how: &str| {
        let told = set.clone().with_clicks(&positions, &how.parse().unwrap()).unwrap();
        let fitted = fit("ranksvm[scale=none,lambda=0.001]", &told).unwrap();
        let weights = fitted.model.score.weights();
        weights[1] / weights[0]
    };
    let (even, ips) = (ratio("ips,eta=0"), ratio("ips,eta=1"));
    assert!(ips.abs() < 0.25 && even.is_finite(), "of the old ranking is left {ips}, without weights {even}");
}
