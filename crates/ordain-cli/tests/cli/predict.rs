//! `ordain predict` and `ordain explain`.

use crate::data;
use crate::golden::{calm_text, golden, golden_json, golden_lines};
use crate::support::{Place, has_fields, near, number, ordain, well};
use std::collections::HashMap;

#[test]
fn json_lines_one_per_query() {
    let place = Place::trained();
    let lines = well(&["predict", &place.at("model.ordain"), &place.at("test.txt"), "--json"]).json_lines();
    assert_eq!(lines.len(), 12);
    for line in &lines {
        has_fields(line, &["query", "items"]);
        let items = line["items"].as_array().unwrap();
        for (i, item) in items.iter().enumerate() {
            has_fields(item, &["id", "score", "rank"]);
            assert_eq!(item["rank"], i + 1);
            assert!(i == 0 || number(&items[i - 1]["score"]) >= number(&item["score"]));
        }
    }
    golden_lines("predict.jsonl", &lines);
}

#[test]
fn the_best_as_a_table() {
    let place = Place::trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.txt"));
    let done = well(&["predict", &model, &test, "--top", "2"]);
    let mut lines = done.out.lines();
    assert_eq!(lines.next(), Some("query\trank\tdocument\tscore"));
    let expected = well(&["predict", &model, &test, "--json", "--top=2"]).json_lines();
    for line in &expected {
        assert_eq!(line["items"].as_array().unwrap().len(), 2);
        for item in line["items"].as_array().unwrap() {
            let row: Vec<&str> = lines.next().unwrap().split('\t').collect();
            assert_eq!(row[0], line["query"]);
            assert_eq!(row[1], item["rank"].to_string());
            assert_eq!(row[2], item["id"]);
            near(row[3].parse().unwrap(), number(&item["score"]));
        }
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn plain_scores_come_in_the_order_of_the_rows() {
    let place = Place::trained();
    let model = place.at("model.ordain");
    let by_document: HashMap<String, f64> = well(&["predict", &model, &place.at("test.txt"), "--json"])
        .json_lines()
        .iter()
        .flat_map(|line| line["items"].as_array().unwrap().clone())
        .map(|item| (item["id"].as_str().unwrap().to_owned(), number(&item["score"])))
        .collect();
    // the rows of all queries mixed: every fourth row, then the next
    let rows = data::rows(12, 2);
    let order: Vec<usize> = (0..4).flat_map(|k| (k..rows.len()).step_by(4)).collect();
    let text = data::letor_of(&rows);
    let lines: Vec<&str> = text.lines().collect();
    let mixed: String = order.iter().map(|&i| format!("{}\n", lines[i])).collect();
    let done = well(&["predict", &model, &place.write("mixed.txt", &mixed)]);
    let scores: Vec<f64> = done.out.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(scores.len(), rows.len());
    for (&i, &score) in order.iter().zip(&scores) {
        near(score, by_document[&rows[i].document]);
    }
    assert_eq!(done.err, "");
}

#[test]
fn a_run_can_be_measured() {
    let place = Place::trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.txt"));
    let done = well(&["predict", &model, &test, "--run", "mine"]);
    let first: Vec<&str> = done.out.lines().next().unwrap().split(' ').collect();
    assert_eq!((first[0], first[1], first[3], first[5], first.len()), ("q1", "Q0", "1", "mine", 6));
    let run = place.write("test.run", &done.out);
    let qrels = place.at("test.qrels");
    well(&["convert", &test, &qrels]);
    let by_run = well(&["evaluate", "--run", &run, "--qrels", &qrels, "--json", "--per-query"]).json();
    let by_model = well(&["evaluate", &model, &test, "--json", "--per-query"]).json();
    assert_eq!(by_run, by_model);
}

#[test]
fn data_without_grades_can_be_scored() {
    let place = Place::empty();
    let rows = data::rows(10, 1);
    let train = place.write("train.csv", &data::table_of(&rows, ',', &[0, 1, 2, 3, 4]));
    let model = place.at("m.ordain");
    well(&["fit", "ranksvm", &train, "-o", &model, "--set=lambda=1"]);
    let new = place.write("new.csv", "qid,docid,title,body,age,links,length\nx,n1,9,0,-9,0,0\nx,n2,-9,0,9,0,0\n");
    let lines = well(&["predict", &model, &new, "--json"]).json_lines();
    assert_eq!((lines[0]["items"][0]["id"].as_str(), lines[0]["items"][1]["id"].as_str()), (Some("n1"), Some("n2")));
    ordain(&["evaluate", &model, &new]).code(1).silent().says("label");
}

#[test]
fn explain_as_json() {
    let place = Place::trained();
    let words = ["explain", &place.at("model.ordain"), &place.at("test.txt"), "--query=q3", "--json"];
    let value = well(&words).json();
    has_fields(&value, &["query", "above", "below", "difference", "contributions"]);
    let parts = value["contributions"].as_array().unwrap();
    assert_eq!(parts.len(), 5);
    near(parts.iter().map(|part| number(&part["contribution"])).sum(), number(&value["difference"]));
    let scores = (number(&value["above"]["score"]), number(&value["below"]["score"]));
    near(scores.0 - scores.1, number(&value["difference"]));
    assert_eq!((&value["above"]["rank"], &value["below"]["rank"]), (&1.into(), &2.into()));
    golden_json("explain.json", &value);
}

#[test]
fn explain_as_a_table() {
    let place = Place::trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.txt"));
    let done = well(&["explain", &model, &test, "--query=q3", "--above=d3-2", "--below=#1"]);
    assert!(done.out.starts_with("query q3: d3-2 (rank "), "{}", done.out);
    assert_eq!(done.err, "");
    golden("explain.txt", &calm_text(&done.out, place.path()));
}

#[test]
fn explain_of_what_is_not_there() {
    let place = Place::trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.txt"));
    ordain(&["explain", &model, &test, "--query=q33"]).code(1).silent().says("unknown query \"q33\": did you mean");
    let words = ["explain", &model, &test, "--query=q3", "--above=d3_2"];
    ordain(&words).code(1).silent().says("unknown document \"d3_2\": did you mean");
    let words = ["explain", &model, &test, "--query=q3", "--above=d3-2", "--below=d3-2"];
    ordain(&words).code(2).silent().says("same document");
}
