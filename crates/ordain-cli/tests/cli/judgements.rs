//! Preferences and clicks in place of grades, from files to answers.

use crate::support::{Place, has_fields, number, ordain, well};
use ordain::data::RankSet;
use ordain::data::synthetic::Synthetic;
use std::fmt::Write;

/// Queries as a table without grades, and their grades as preferences.
fn preferred() -> (Place, RankSet) {
    let place = Place::empty();
    let set = Synthetic { queries: 40, documents: (5, 8), features: 4, seed: 2, ..Synthetic::default() }.make();
    let mut data = "qid,docid,x,y,z,u\n".to_owned();
    let mut told = "qid,winner,loser,weight\n".to_owned();
    for q in 0..set.len() {
        for row in set.span(q) {
            let values: Vec<String> = (0..4).map(|j| set.features.value(row, j).to_string()).collect();
            writeln!(data, "{},{},{}", set.query(q), set.document(row), values.join(",")).unwrap();
            for other in set.span(q).filter(|&other| set.grades[row] > set.grades[other]) {
                let (a, b) = (set.document(row), set.document(other));
                writeln!(told, "{},{a},{b},{}", set.query(q), 1 + other % 2).unwrap();
            }
        }
    }
    place.write("data.csv", &data);
    place.write("told.csv", &told);
    (place, set)
}

#[test]
fn preferences_take_the_place_of_grades() {
    let (place, set) = preferred();
    let (data, told, model) = (place.at("data.csv"), place.at("told.csv"), place.at("model.ordain"));
    for method in [
        "ranksvm",
        "ranksvm[kernel=rbf]",
        "ranknet",
        "rankboost",
        "frank",
        "qbrank",
        "ranksvm[scorer=trees,loss=logistic]",
    ] {
        let done = well(&["fit", method, &data, "--preferences", &told, "-o", &model, "--json"]);
        let answer = done.json();
        has_fields(&answer["preferences"], &["pairs", "weight", "opposed"]);
        assert!(done.err.contains("by pairs on") || method.contains("trees"), "{method}: {}", done.err);
        let found = well(&["evaluate", &model, &data, "--preferences", &told, "--json"]).json();
        assert!(number(&found["metrics"]["pairs"]["mean"]) > 0.6, "{method}");
    }
    assert!(well(&["inspect", &model]).out.contains("judged by"));
    assert_eq!(well(&["predict", &model, &data]).out.lines().count(), set.rows());
    let no = |words: &[&str], says: &str| {
        ordain(&[&["fit"], words, &["-o", &place.at("no.ordain")]].concat()).code(2).silent().says(says);
    };
    no(&["rankmatch", &data, "--preferences", &told], "--preferences is for methods that learn from pairs");
    no(&["ranksvm[scorer=trees,loss=lambda]", &data, "--preferences", &told], "loss=logistic");
    no(&["cstar", &data, "--preferences", &told], "--preferences is for rankings; this one annotates");
    no(&["ranksvm", &data, "--preferences", &told, "--clicks", "ips"], "cannot be used with");
    no(&["matchmap", &data, "--clicks", "ips"], "--clicks is for rankings");
    no(&["ranksvm", &data, "--clicks", "log"], "expected ips");
    no(&["listnet", &data, "--clicks", "ips"], "--clicks is for methods that learn from pairs");
    ordain(&["evaluate", &data, "--feature", "1", "--preferences", &told]).code(2);
    ordain(&["evaluate", &model, &data, "--preferences", &told, "--metric", "ndcg@5"])
        .code(1)
        .says("pairs goes by preferences");
}

/// The choice of a method and comparisons go by preferences too; what cannot learn from them is said, or refused.
#[test]
fn methods_are_chosen_and_compared_by_preferences() {
    let (place, _) = preferred();
    let (data, told, model) = (place.at("data.csv"), place.at("told.csv"), place.at("auto.ordain"));
    let words = ["fit", "auto", &data, "--preferences", &told, "--candidates", "3", "-o", &model, "--json"];
    let answer = well(&words).json();
    let tried = answer["auto"]["tried"].as_array().unwrap();
    assert_eq!(answer["auto"]["metric"], "pairs");
    assert_eq!(tried.len(), 3);
    for one in tried {
        assert!(one["value"].is_number() != one["refused"].is_string(), "{one}");
    }
    assert!(tried.iter().any(|one| one["refused"].as_str().is_some_and(|why| why.contains("learns from pairs"))));
    let compared = ["compare", "ranksvm", "ranknet", "--cv", "5", &data, "--preferences", &told, "--json"];
    let answer = well(&compared).json();
    for method in answer["methods"].as_array().unwrap() {
        assert!(number(&method["metrics"]["pairs"]["mean"]) > 0.6, "{method}");
    }
    let no = |words: &[&str], says: &str| {
        ordain(&[&["compare"], words, &["--cv", "5", &data, "--preferences", &told]].concat())
            .code(2)
            .silent()
            .says(says);
    };
    no(&["ranksvm", "listnet"], "--preferences is for methods that learn from pairs");
    no(&["cstar"], "--preferences is for rankings; this one annotates");
}

#[test]
fn clicks_say_how_much_they_tell() {
    let (place, set) = preferred();
    let mut log = "qid,docid,rank,clicked,x,y,z,u\n".to_owned();
    for q in 0..set.len() {
        for (position, row) in (1..).zip(set.span(q)) {
            let values: Vec<String> = (0..4).map(|j| set.features.value(row, j).to_string()).collect();
            let clicked = u8::from(set.grades[row] > 1.0);
            writeln!(log, "{},{},{position},{clicked},{}", set.query(q), set.document(row), values.join(",")).unwrap();
        }
    }
    place.write("log.csv", &log);
    let (log, model) = (place.at("log.csv"), place.at("model.ordain"));
    let words =
        ["fit", "ranksvm[scale=global,lambda=0.1]", &log, "--clicks", "ips,eta=1,clip=3,position=rank", "-o", &model];
    let done = well(&[&words[..], &["--json"]].concat());
    let clicks = &done.json()["preferences"]["clicks"];
    has_fields(clicks, &["eta", "clip", "lists", "silent", "clicks", "clipped", "effective"]);
    assert!(number(&clicks["effective"]) < number(&clicks["clicks"]) && number(&clicks["clipped"]) > 0.0);
    assert!(done.err.contains("clicks of one weight") && done.err.contains("clipped at 3"), "{}", done.err);
    // the log itself can be scored: the model knows which columns are no features
    let scored = well(&["predict", &model, &log]);
    assert!(!scored.err.contains("never seen"), "{}", scored.err);
    ordain(&["fit", "ranksvm", &log, "--clicks", "ips", "-o", &model]).code(1).says("\"position\"");
}
