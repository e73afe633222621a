//! `ordain evaluate`: of models, scores, features and runs.

use crate::golden::{calm_text, golden, golden_json};
use crate::support::{Place, has_fields, near, number, ordain, piped, well};

/// Two queries small enough to be measured by hand, their rows mixed, and one without a relevant document.
const SMALL: &str = "\
2 qid:a 1:3 2:0 #docid = a1
0 qid:b 1:5 2:1 #docid = b1
0 qid:a 1:2 2:0 #docid = a2
1 qid:b 1:4 2:2 #docid = b2
1 qid:a 1:1 2:0 #docid = a3
0 qid:c 1:1 2:1 #docid = c1
";

#[test]
fn json_of_a_model() {
    let place = Place::trained();
    let value = well(&["evaluate", &place.at("model.ordain"), &place.at("test.txt"), "--json"]).json();
    has_fields(&value, &["task", "convention", "unit", "units", "skipped", "metrics"]);
    assert!(value.get("per_query").is_none());
    for metric in ["ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map"] {
        let cell = &value["metrics"][metric];
        has_fields(cell, &["mean", "low", "high"]);
        assert!(number(&cell["low"]) <= number(&cell["mean"]) && number(&cell["mean"]) <= number(&cell["high"]));
    }
    golden_json("evaluate.json", &value);
}

#[test]
fn json_with_every_query() {
    let place = Place::trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.txt"));
    let value = well(&["evaluate", &model, &test, "--json", "--per-query", "--metric", "ndcg@10,p@2"]).json();
    let queries = value["per_query"].as_array().unwrap();
    assert_eq!(queries.len(), 12);
    queries.iter().for_each(|query| has_fields(query, &["query", "ndcg@10", "p@2"]));
    let counted: Vec<f64> = queries.iter().filter_map(|query| query["ndcg@10"].as_f64()).collect();
    near(counted.iter().sum::<f64>() / counted.len() as f64, number(&value["metrics"]["ndcg@10"]["mean"]));
    assert_eq!(12 - counted.len() as i64, value["skipped"].as_i64().unwrap());
    golden_json("evaluate_per_query.json", &value);
}

#[test]
fn table() {
    let place = Place::trained();
    let done = well(&["evaluate", &place.at("model.ordain"), &place.at("test.txt")]);
    assert_eq!(done.err, "");
    golden("evaluate.txt", &calm_text(&done.out, place.path()));
}

#[test]
fn table_with_every_query() {
    let place = Place::trained();
    let done = well(&["evaluate", &place.at("model.ordain"), &place.at("test.txt"), "--per-query", "--metric=map"]);
    golden("evaluate_per_query.txt", &calm_text(&done.out, place.path()));
}

#[test]
fn a_feature_by_number_as_measured_by_hand() {
    let place = Place::empty();
    let data = place.write("small.txt", SMALL);
    let value = well(&["evaluate", &data, "--feature", "1", "--json", "--per-query", "--metric=ndcg,map,mrr"]).json();
    assert_eq!((&value["units"], &value["skipped"]), (&3.into(), &1.into()));
    // query a stands as 2, 0, 1; query b as 0, 1
    let ndcg_a = 3.5 / (3.0 + 1.0 / 3f64.log2());
    let rows = value["per_query"].as_array().unwrap();
    assert_eq!(rows[0]["query"], "a");
    near(number(&rows[0]["ndcg"]), ndcg_a);
    near(number(&rows[0]["map"]), (1.0 + 2.0 / 3.0) / 2.0);
    near(number(&rows[0]["mrr"]), 1.0);
    assert_eq!(rows[1]["query"], "b");
    near(number(&rows[1]["ndcg"]), 1.0 / 3f64.log2());
    near(number(&rows[1]["map"]), 0.5);
    assert!(rows[2]["ndcg"].is_null());
    near(number(&value["metrics"]["ndcg"]["mean"]), (ndcg_a + 1.0 / 3f64.log2()) / 2.0);
}

#[test]
fn a_feature_by_name() {
    let place = Place::empty();
    let named = place.write("named.txt", &format!("#1: age\n#2: title\n{SMALL}"));
    let table = place.write("named.csv", "label,qid,age,title\n0,b,5,1\n1,b,4,2\n");
    let by_number = well(&["evaluate", &named, "--feature=2", "--json"]).json();
    let by_name = well(&["evaluate", &named, "--feature=title", "--json"]).json();
    assert_eq!(by_number, by_name);
    let in_table = well(&["evaluate", &table, "--feature=title", "--json", "--metric=map"]).json();
    near(number(&in_table["metrics"]["map"]["mean"]), 1.0);
    ordain(&["evaluate", &named, "--feature=tittle"]).code(1).silent().says("did you mean \"title\"?");
}

#[test]
fn scores_in_input_order() {
    let place = Place::empty();
    let data = place.write("small.txt", SMALL);
    // the first feature, row by row
    let scores = place.write("scores.txt", "3\n5\n2\n4\n1\n1\n");
    let by_scores = well(&["evaluate", &data, "--scores", &scores, "--json", "--per-query"]).json();
    let by_feature = well(&["evaluate", &data, "--feature=1", "--json", "--per-query"]).json();
    assert_eq!(by_scores, by_feature);
}

#[test]
fn scores_from_standard_input() {
    let place = Place::empty();
    let data = place.write("small.txt", SMALL);
    let done = piped(&["evaluate", &data, "--scores", "-", "--json"], b"3\n5\n2\n4\n1\n1\n").code(0);
    assert_eq!(done.json(), well(&["evaluate", &data, "--feature=1", "--json"]).json());
}

#[test]
fn scores_that_do_not_fit() {
    let place = Place::empty();
    let data = place.write("small.txt", SMALL);
    let few = place.write("few.txt", "3\n5\n");
    ordain(&["evaluate", &data, "--scores", &few]).code(1).says("few.txt: expected 6 scores").says("found 2");
    let bad = place.write("bad.txt", "3\n5\nhigh\n4\n1\n1\n");
    ordain(&["evaluate", &data, "--scores", &bad]).code(1).says("bad.txt:3:1: expected").says("\"high\"");
}

#[test]
fn a_run_with_judgements() {
    let place = Place::empty();
    let data = place.write("small.txt", SMALL);
    let qrels = place.at("small.qrels");
    well(&["convert", &data, &qrels]);
    assert_eq!(place.read("small.qrels"), "a 0 a1 2\nb 0 b1 0\na 0 a2 0\nb 0 b2 1\na 0 a3 1\nc 0 c1 0\n");
    let run = place.write(
        "small.run",
        "a Q0 a1 1 3 me\nb Q0 b1 1 5 me\na Q0 a2 2 2 me\nb Q0 b2 2 4 me\na Q0 a3 3 1 me\nz Q0 z1 1 1 me\n",
    );
    let done = well(&["evaluate", "--run", &run, "--qrels", &qrels, "--json", "--per-query", "--metric=ndcg,map"]);
    let value = done.json();
    assert_eq!(value["units"], 2);
    near(number(&value["per_query"][0]["ndcg"]), 3.5 / (3.0 + 1.0 / 3f64.log2()));
    near(number(&value["per_query"][1]["map"]), 0.5);
    let done = done.says("1 judged queries are not in the run").says("1 queries of the run are not judged");
    assert!(done.err.lines().count() == 1);
}

#[test]
fn conventions_change_the_answer_and_are_named() {
    let place = Place::empty();
    let data = place.write("small.txt", SMALL);
    let with = |more: &[&str]| {
        let words = [&["evaluate", &data, "--feature=1", "--json", "--metric=ndcg@10"], more].concat();
        let value = well(&words).json();
        (value["convention"].as_str().unwrap().to_owned(), number(&value["metrics"]["ndcg@10"]["mean"]))
    };
    let (a, b) = (3.5 / (3.0 + 1.0 / 3f64.log2()), 1.0 / 3f64.log2());
    let (name, mean) = with(&["--empty=zero"]);
    assert_eq!(name, "standard, empty=zero");
    near(mean, (a + b) / 3.0);
    let (name, mean) = with(&["--convention=lightgbm"]);
    assert_eq!(name, "lightgbm");
    near(mean, (a + b + 1.0) / 3.0);
    // no query has ten documents
    let (name, mean) = with(&["--convention=letor4"]);
    assert_eq!(name, "letor4");
    near(mean, 0.0);
    let (_, mean) = with(&["--convention=sklearn"]);
    near(mean, (2.5 / (2.0 + 1.0 / 3f64.log2()) + b) / 3.0);
}

#[test]
fn a_report_is_one_page_without_a_network() {
    let place = Place::trained();
    let report = place.at("report.html");
    let done = well(&["evaluate", &place.at("model.ordain"), &place.at("test.txt"), "--report", &report]);
    assert!(done.err.contains("report.html"));
    let html = place.read("report.html");
    assert!(html.contains("<svg") && html.contains("ndcg@10") && html.contains("</html>"));
    for link in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!html.contains(link), "the report asks the network: {link}");
    }
}

#[test]
fn several_files_and_a_folder_of_parts_are_one() {
    let place = Place::empty();
    let queries = |of: &str| SMALL.lines().filter(|l| l.contains(of)).map(|l| format!("{l}\n")).collect::<String>();
    let whole = place.write("whole.txt", &[queries("qid:a"), queries("qid:b"), queries("qid:c")].concat());
    let parts = ["a", "b", "c"].map(|q| place.write(&format!("parts/S{q}.txt"), &queries(&format!("qid:{q}"))));
    let evaluate = |files: &[&str]| {
        let words = [&["evaluate", "--feature=1", "--json", "--per-query"], files].concat();
        well(&words).json()
    };
    let expected = evaluate(&[&whole]);
    assert_eq!(evaluate(&parts.each_ref().map(String::as_str)), expected);
    for (i, file) in parts.iter().enumerate() {
        std::fs::rename(file, place.at(&format!("parts/S{}.txt", i + 1))).unwrap();
    }
    assert_eq!(evaluate(&[&place.at("parts")]), expected);
}

#[test]
fn importances_of_features_are_printed_and_in_the_json() {
    let place = Place::trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.txt"));
    let text = well(&["evaluate", &model, &test, "--importance"]).out;
    assert!(text.contains("what ndcg@10 loses if a feature is exchanged between queries:"), "{text}");
    let said = well(&["evaluate", &model, &test, "--importance", "--json"]).json();
    assert_eq!(said["importances"]["metric"], "ndcg@10");
    let all = said["importances"]["features"].as_array().unwrap();
    let means: Vec<f64> = all.iter().map(|one| number(&one["mean"])).collect();
    assert!(means[0] > 0.0 && means.is_sorted_by(|a, b| a >= b));
    assert!(well(&["evaluate", &model, &test, "--json"]).json().get("importances").is_none());
    ordain(&["evaluate", &test, "--feature", "1", "--importance"]).code(2);
    // trees stand in a report by what their splits gain
    let (trees, page) = (place.at("trees.ordain"), place.at("trees.html"));
    well(&["fit", "ranksvm[scorer=trees,rounds=5]", &place.at("train.txt"), "-o", &trees]);
    well(&["evaluate", &trees, &test, "--report", &page]);
    assert!(place.read("trees.html").contains("share of the gain"));
}
