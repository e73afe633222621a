//! Trees on top of the scores of another model.

use crate::support::{Place, number, ordain, well};

/// Queries in two files, with the scores of a model on each.
fn stacked() -> Place {
    let place = Place::trained();
    for name in ["train", "test"] {
        let scores = well(&["predict", &place.at("model.ordain"), &place.at(&format!("{name}.txt"))]).out;
        place.write(&format!("{name}.scores"), &scores);
    }
    place
}

#[test]
fn scores_of_another_model_are_where_trees_start() {
    let place = stacked();
    let at = |name: &str| place.at(name);
    let (train, test, model) = (at("train.txt"), at("test.txt"), at("stacked.ordain"));
    let method = "ranksvm[scorer=trees,rounds=10,leaves=4]";
    well(&["fit", method, &train, "--start", &at("train.scores"), "-o", &model]);
    let with = ["--start", &at("test.scores")];
    let scores = well(&["predict", &model, &test, with[0], with[1]]).out;
    let numbers = |text: &str| text.lines().map(|line| line.parse::<f64>().unwrap()).collect::<Vec<f64>>();
    let (made, start) = (numbers(&scores), numbers(&place.read("test.scores")));
    assert!(made.len() == start.len() && made.iter().zip(&start).any(|(a, b)| (a - b).abs() > 1e-6));
    assert!(made.iter().zip(&start).all(|(a, b)| (a - b).abs() < 5.0));
    let said = well(&["evaluate", &model, &test, with[0], with[1], "--json"]).json();
    assert!(number(&said["metrics"]["ndcg@10"]["mean"]) > 0.3);
    // what the other model says is one of the reasons
    let query = well(&["predict", &model, &test, with[0], with[1], "--top", "2", "--json"]).json_lines()[0].clone();
    let query = query["query"].as_str().unwrap().to_owned();
    let why = well(&["explain", &model, &test, "--query", &query, with[0], with[1], "--json"]).json();
    let parts = why["contributions"].as_array().unwrap();
    assert!(parts.iter().any(|part| part["feature"] == "start score"));
    let sum: f64 = parts.iter().map(|part| number(&part["contribution"])).sum();
    assert!((sum - number(&why["difference"])).abs() < 1e-9);
}

#[test]
fn a_model_on_start_scores_wants_them_again() {
    let place = stacked();
    let at = |name: &str| place.at(name);
    let (train, test, model) = (at("train.txt"), at("test.txt"), at("stacked.ordain"));
    let (scores, tests) = (at("train.scores"), at("test.scores"));
    let method = "rankmatch[scorer=trees,rounds=3,leaves=4]";
    well(&["fit", method, &train, "--start", &scores, "-o", &model]);
    for command in ["predict", "evaluate"] {
        ordain(&[command, &model, &test]).code(1).says("--start FILE");
        ordain(&[command, &at("model.ordain"), &test, "--start", &tests]).code(1).says("no start scores");
    }
    ordain(&["predict", &model, &test, "--start", &scores]).code(1).says("one per row of the data");
    ordain(&["fit", "ranksvm", &train, "--start", &scores, "-o", &at("no.ordain")]).code(2).says("scorer=trees");
    ordain(&["fit", "matchmap", &train, "--start", &scores, "-o", &at("no.ordain")])
        .code(2)
        .says("--start is for rankings");
    place.write("bad.scores", "0.5\nhigh\n");
    ordain(&["fit", method, &train, "--start", &at("bad.scores"), "-o", &at("no.ordain")])
        .code(1)
        .says("bad.scores:2:1");
    // with a validation file its scores follow those of the training file
    place.write("both.scores", &(place.read("train.scores") + &place.read("test.scores")));
    well(&["fit", method, &train, "--valid", &test, "--start", &at("both.scores"), "-o", &model]);
    ordain(&["fit", method, &train, "--valid", &test, "--start", &scores, "-o", &model]).code(1).says("one per row");
}
