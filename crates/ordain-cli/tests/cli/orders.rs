//! `quadrank` from a file to answers: items that queries share, and places that are known.

use crate::support::{Place, has_fields, number, ordain, well};
use ordain::data::synthetic::Orders;
use serde_json::Value;

/// A folder with orders as a table, and a model of them.
fn fitted(settings: &str) -> Place {
    let place = Place::empty();
    let set = Orders { lists: 80, seed: 1, ..Orders::default() }.make();
    ordain::data::write(&set, place.path().join("orders.csv").as_path()).unwrap();
    well(&["fit", &format!("quadrank[{settings}]"), &place.at("orders.csv"), "-o", &place.at("orders.ordain")]);
    place
}

const USUAL: &str = "places=3,scale=none,lambda=0.01";

#[test]
fn an_order_has_a_value_a_gap_and_probabilities() {
    let place = fitted(USUAL);
    let (model, data) = (place.at("orders.ordain"), place.at("orders.csv"));
    for line in well(&["predict", &model, &data, "--json", "--probabilities"]).json_lines() {
        has_fields(&line, &["query", "items", "value", "gap"]);
        assert!(number(&line["gap"]) >= 0.0);
        for (item, place) in line["items"].as_array().unwrap().iter().zip(1..) {
            has_fields(item, &["id", "score", "own_score", "rank", "places", "first_k", "expected_rank"]);
            assert_eq!(item["rank"], place);
        }
    }
    // one score per row, and a run, are in the order of the ranking
    let scores: Vec<f64> = well(&["predict", &model, &data]).out.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(scores.len(), 640);
    let mut first = scores[..8].to_vec();
    first.sort_by(|a, b| b.total_cmp(a));
    assert_eq!(first, [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0]);
    let run = well(&["predict", &model, &data, "--run", "tag"]).out;
    assert!(run.lines().take(8).zip(1..).all(|(line, rank)| line.ends_with(&format!(" {rank} -{rank} tag"))), "{run}");
}

#[test]
fn known_places_are_kept_and_pay() {
    let place = fitted(USUAL);
    let (model, data) = (place.at("orders.ordain"), place.at("orders.csv"));
    let set = ordain::data::read(place.path().join("orders.csv")).unwrap();
    let mut pins = "qid,docid,place\n".to_owned();
    for q in 0..set.len() {
        let grade = set.grades[set.span(q).end - 1] as usize;
        pins += &format!("{},item_8,{}\n", set.query(q), if grade > 0 { 4 - grade } else { 8 });
    }
    place.write("pins.csv", &pins);
    let told = place.at("pins.csv");
    let lines = well(&["predict", &model, &data, "--json", "--pin", &told]).json_lines();
    let at = |line: &Value| line["items"].as_array().unwrap().iter().position(|item| item["id"] == "item_8");
    assert_eq!(
        at(&lines[0]).unwrap() + 1,
        pins.lines().nth(1).unwrap().rsplit(',').next().unwrap().parse::<usize>().unwrap()
    );
    let ndcg = |more: &[&str]| {
        let words = [&["evaluate", &model, &data, "--metric", "ndcg@3", "--json"][..], more].concat();
        number(&well(&words).json()["metrics"]["ndcg@3"]["mean"])
    };
    assert!(ndcg(&["--pin", &told]) > ndcg(&[]) + 0.05);

    let wrong = |text: &str, says: &str| {
        place.write("wrong.csv", text);
        ordain(&["predict", &model, &data, "--pin", &place.at("wrong.csv")]).code(1).silent().says(says);
    };
    wrong("qid,place\n1,1\n", "wrong.csv:1:1: expected a header with the columns qid, docid and place");
    wrong("qid,docid,place\n1,item_1,0\n", "wrong.csv:2:3: expected a place from 1 to 8");
    wrong("qid,docid,place\n1,item_9,1\n", "expected a document of query \"1\"");
    wrong("qid,docid,place\nx,item_1,1\n", "wrong.csv:2:1: expected a query of the data");
    wrong("qid,docid,place\n1,item_1,1\n1,item_2,1\n", "wrong.csv:3:3: expected a free place in query \"1\"");
    // a model that sorts has no use for them
    well(&["fit", "ranksvm[scale=none,lambda=1]", &data, "-o", &place.at("svm.ordain")]);
    ordain(&["predict", &place.at("svm.ordain"), &data, "--pin", &told]).code(1).says("a model with links for places");
}

#[test]
fn links_are_inspected_and_explained() {
    let place = fitted("places=3,scale=none,lambda=0.01,core=item_8");
    let (model, data) = (place.at("orders.ordain"), place.at("orders.csv"));
    let text = well(&["inspect", &model]).out;
    assert!(
        text.contains("core: item_8") && text.contains("strongest links") && text.contains("largest biases"),
        "{text}"
    );
    let facts = well(&["inspect", &model, "--json"]).json();
    assert_eq!((&facts["core"][0], facts["links"].as_array().unwrap().len()), (&Value::from("item_8"), 7));
    let why = well(&["explain", &model, &data, "--query", "1", "--json"]).json();
    has_fields(&why, &["query", "above", "below", "difference", "contributions", "links"]);
    let sum: f64 = why["contributions"].as_array().unwrap().iter().map(|part| number(&part["contribution"])).sum();
    assert!((sum - number(&why["difference"])).abs() < 1e-9);
    assert!(why["contributions"].as_array().unwrap().iter().any(|part| part["feature"] == "bias of the item"));
    let text = well(&["explain", &model, &data, "--query", "1"]).out;
    assert!(text.contains("stands above") && text.contains("link to item_8"), "{text}");
}

#[test]
fn items_that_are_not_known_are_said_once() {
    let place = fitted(USUAL);
    let text = std::fs::read_to_string(place.path().join("orders.csv")).unwrap().replace("item_3", "other");
    place.write("others.csv", &text);
    let done = well(&["predict", &place.at("orders.ordain"), &place.at("others.csv"), "--top=1"]);
    assert_eq!(
        done.err.matches("1 item(s) that the model does not know have no bias and no links (such as other)").count(),
        1
    );
}

#[test]
fn methods_with_and_without_links_are_compared() {
    let place = fitted(USUAL);
    let (with, without) = (format!("quadrank[{USUAL}]"), format!("quadrank[core=0,{USUAL}]"));
    let words = ["compare", &with, &without, "--cv", "4", &place.at("orders.csv"), "--metric", "ndcg@3", "--json"];
    let methods = well(&words).json()["methods"].as_array().unwrap().clone();
    let mean = |at: usize| number(&methods[at]["metrics"]["ndcg@3"]["mean"]);
    assert!(mean(0) > mean(1), "{} {}", mean(0), mean(1));
}
