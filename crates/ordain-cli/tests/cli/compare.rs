//! `ordain compare`: files, cross-validation and both layouts of folds.

use crate::data;
use crate::golden::golden_json;
use crate::support::{Place, has_fields, near, number, ordain, well};
use serde_json::Value;

/// Checks that every field of the contract is there and that the numbers fit together.
pub(crate) fn check(value: &Value, methods: usize, folds: usize) {
    has_fields(value, &["task", "convention", "folds", "methods", "tests"]);
    assert_eq!(value["folds"], folds);
    let list = value["methods"].as_array().unwrap();
    assert_eq!(list.len(), methods);
    for method in list {
        let fields = ["method", "label", "chosen", "metrics", "seconds", "model_bytes", "support"];
        has_fields(method, &fields);
        has_fields(&method["seconds"], &["load", "fit", "predict"]);
        assert_eq!(method["chosen"].as_array().unwrap().len(), folds);
        for (_, cell) in method["metrics"].as_object().unwrap() {
            has_fields(cell, &["mean", "low", "high", "fold_mean", "folds"]);
            let means: Vec<f64> = cell["folds"].as_array().unwrap().iter().map(number).collect();
            assert_eq!(means.len(), folds);
            near(means.iter().sum::<f64>() / folds as f64, number(&cell["fold_mean"]));
        }
    }
    let tests = value["tests"].as_array().unwrap();
    assert_eq!(tests.len(), list[0]["metrics"].as_object().unwrap().len() * methods * (methods - 1) / 2);
    for test in tests {
        has_fields(test, &["metric", "a", "b", "difference", "low", "high", "p"]);
        assert!(
            number(&test["low"]) <= number(&test["difference"]) && test["difference"].as_f64() <= test["high"].as_f64()
        );
        let mean = |label: &Value| {
            let method = list.iter().find(|method| method["label"] == *label).unwrap();
            number(&method["metrics"][test["metric"].as_str().unwrap()]["mean"])
        };
        near(mean(&test["a"]) - mean(&test["b"]), number(&test["difference"]));
        assert!((0.0..=1.0).contains(&number(&test["p"])));
    }
}

#[test]
fn train_and_test() {
    let place = Place::trained();
    let (train, test) = (place.at("train.txt"), place.at("test.txt"));
    let methods = ["ranksvm", "ranksvm[weight=pair,lambda=1]", "ranksvm[scale=none,c=10]"];
    let words = [&["compare"], &methods[..], &["--train", &train, "--test", &test, "--json", "--metric=ndcg@5,map"]];
    let value = well(&words.concat()).json();
    check(&value, 3, 1);
    assert_eq!(value["methods"][0]["label"], "ranksvm");
    has_fields(&value["methods"][0]["chosen"][0], &["scale", "lambda"]);
    golden_json("compare.json", &value);
}

#[test]
fn what_is_compared_is_what_fit_and_evaluate_give() {
    let place = Place::trained();
    let (train, test) = (place.at("train.txt"), place.at("test.txt"));
    let method = "ranksvm[lambda=0.1,scale=query]";
    let compared = well(&["compare", method, "--train", &train, "--test", &test, "--json"]).json();
    let evaluated = well(&["evaluate", &place.at("model.ordain"), &test, "--json"]).json();
    for (name, cell) in evaluated["metrics"].as_object().unwrap() {
        for part in ["mean", "low", "high"] {
            near(number(&cell[part]), number(&compared["methods"][0]["metrics"][name][part]));
        }
    }
    assert_eq!(compared["methods"][0]["model_bytes"], place.bytes("model.ordain").len());
}

#[test]
fn cross_validation() {
    let place = Place::trained();
    let train = place.at("train.txt");
    let words = ["compare", "ranksvm[scale=query]", "--cv", "5", &train, "--json", "--metric=ndcg@10"];
    let value = well(&words).json();
    check(&value, 1, 5);
    assert_eq!(value["units"], 30);
    golden_json("compare_cv.json", &value);
    let shuffled = well(&[&words[..], &["--shuffle=3"]].concat()).json();
    assert_ne!(shuffled["methods"][0]["metrics"], value["methods"][0]["metrics"]);
    let third = well(&[&words[..], &["--only-fold=2"]].concat()).json();
    check(&third, 1, 1);
    let folds = &value["methods"][0]["metrics"]["ndcg@10"]["folds"];
    near(number(&third["methods"][0]["metrics"]["ndcg@10"]["mean"]), number(&folds[2]));
    ordain(&[&words[..], &["--only-fold=5"]].concat()).code(2).silent().says("from 0 to 4, found 5");
    let shown = well(&["compare", "ranksvm[scale=query]", "--cv", "5", &train, "--only-fold=2", "--metric=map"]);
    assert!(shown.out.contains("\n  fold 2: scale=query lambda="), "{}", shown.out);
}

/// Writes five parts of six queries each.
fn parts(place: &Place) -> Vec<String> {
    let rows = data::rows(30, 5);
    let of = |i: usize| rows.iter().filter(move |row| row.query[1..].parse::<usize>().unwrap() % 5 == i);
    (0..5)
        .map(|i| {
            let rows: Vec<data::Row> = of(i)
                .map(|r| data::Row {
                    query: r.query.clone(),
                    document: r.document.clone(),
                    values: r.values.clone(),
                    ..*r
                })
                .collect();
            let text = data::letor_of(&rows);
            place.write(&format!("plain/S{}.txt", i + 1), &text);
            text
        })
        .collect()
}

#[test]
fn parts_of_folds_packed_or_not() {
    let place = Place::empty();
    parts(&place);
    place.write("mixed/S1.txt", &place.read("plain/S1.txt"));
    for (name, packed) in [("S2", "S2.txt.gz"), ("S3", "S3.txt.zst"), ("S4", "S4.txt.gz"), ("S5", "S5.txt.zst")] {
        well(&["convert", &place.at(&format!("plain/{name}.txt")), &place.at(&format!("mixed/{packed}"))]);
    }
    assert!(place.bytes("mixed/S2.txt.gz").starts_with(&[0x1f, 0x8b]));
    assert!(place.bytes("mixed/S3.txt.zst").starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
    let run = |folder: &str| {
        let words = ["compare", "ranksvm[scale=query]", "--folds", &place.at(folder), "--json", "--metric=ndcg@10,map"];
        let mut value = well(&words).json();
        check(&value, 1, 5);
        value["methods"][0]["seconds"] = Value::Null;
        value
    };
    let value = run("plain");
    assert_eq!(value, run("mixed"));
    golden_json("compare_parts.json", &value);
}

#[test]
fn folders_of_folds_rotate_as_parts_do() {
    let place = Place::empty();
    let parts = parts(&place);
    for i in 0..5 {
        let part = |k: usize| parts[(i + k) % 5].as_str();
        place.write(&format!("folders/Fold{}/train.txt", i + 1), &[part(0), part(1), part(2)].concat());
        place.write(&format!("folders/Fold{}/vali.txt", i + 1), part(3));
        place.write(&format!("folders/Fold{}/test.txt", i + 1), part(4));
    }
    let run = |folder: &str, more: &[&str]| {
        let folder = place.at(folder);
        let words = ["compare", "ranksvm[scale=query]", "--folds", &folder, "--json", "--metric=ndcg@10"];
        well(&[&words[..], more].concat()).json()
    };
    let (folders, plain) = (run("folders", &[]), run("plain", &[]));
    check(&folders, 1, 5);
    assert_eq!(folders["methods"][0]["chosen"], plain["methods"][0]["chosen"]);
    let (a, b) = (&folders["methods"][0]["metrics"]["ndcg@10"], &plain["methods"][0]["metrics"]["ndcg@10"]);
    for fold in 0..5 {
        near(number(&a["folds"][fold]), number(&b["folds"][fold]));
    }
    // folds of a folder are counted as their names are
    let last = run("plain", &["--only-fold=5"]);
    near(number(&last["methods"][0]["metrics"]["ndcg@10"]["mean"]), number(&b["folds"][4]));
    let words = ["compare", "ranksvm", "--folds", &place.at("plain"), "--only-fold=0"];
    ordain(&words).code(2).silent().says("from 1 to 5, found 0");
    // the fit on training and validation is another model
    assert_ne!(run("plain", &["--refit"])["methods"][0]["metrics"], plain["methods"][0]["metrics"]);
}

#[test]
fn a_folder_without_folds_says_what_is_looked_for() {
    let place = Place::empty();
    let folder = place.at(".");
    ordain(&["compare", "ranksvm", "--folds", &folder]).code(1).silent().says("S1.txt").says("Fold1");
    place.write("Fold1/train.txt", &data::letor(5, 1));
    ordain(&["compare", "ranksvm", "--folds", &folder]).code(1).silent().says("Fold1: expected vali.txt");
}

#[test]
fn the_table_names_methods_metrics_and_convention() {
    let place = Place::trained();
    let (train, test) = (place.at("train.txt"), place.at("test.txt"));
    let words =
        ["compare", "ranksvm", "ranksvm[scale=none]", "--train", &train, "--test", &test, "--convention=letor2"];
    let done = well(&words);
    for text in ["method", "ndcg@10", "map", "fit s", "bytes", "ranksvm[scale=none]", "*", "±", "convention letor2"] {
        assert!(done.out.contains(text), "no {text:?} in\n{}", done.out);
    }
    assert!(done.out.contains("ranksvm: chosen by validation\n  scale="), "{}", done.out);
    assert!(done.out.contains("12 test queries"), "{}", done.out);
    assert_eq!(done.err, "");
}

#[test]
fn a_report_shows_both_methods() {
    let place = Place::trained();
    let report = place.at("report.html");
    let (train, test) = (place.at("train.txt"), place.at("test.txt"));
    well(&["compare", "ranksvm", "ranksvm[c=1]", "--train", &train, "--test", &test, "--report", &report]);
    let html = place.read("report.html");
    assert!(html.contains("<svg") && html.contains("ranksvm[c=1]") && html.contains("</html>"));
    assert!(!html.contains("src=\"http") && !html.contains("href=\"http"));
    // on a small screen a table scrolls under its caption, which stays and is never wider than the screen
    assert!(html.contains("caption { position: sticky; left: 0; max-width: calc(100vw"), "{html:.2000}");
}

/// A method that draws is fitted for each seed, and its values are means over them; one that does not is fitted once.
#[test]
fn several_seeds_and_figures_of_others() {
    let place = Place::trained();
    let (train, test) = (place.at("train.txt"), place.at("test.txt"));
    let (sort, net) = ("sortnet[hidden=2,pairs=30,rounds=1,max_iter=10]", "ranknet[scale=query,lambda=0.1]");
    let data = ["--train", &train, "--test", &test, "--metric=ndcg@5,map"];
    let published = place.at("published.csv");
    let table =
        "algorithm,set,fold,metric,value\nOld,test,1,NDCG@5,0.25\nOld,test,2,NDCG@5,0.75\nOld,train,1,NDCG@5,1\n";
    std::fs::write(&published, table).unwrap();
    let more = ["--json", "--seeds", "3", "--published", &published];
    let value = well(&[&["compare", sort, net][..], &data[..], &more].concat()).json();
    check(&value, 2, 1);
    let seeds: Vec<f64> = value["methods"][0]["seeds"]["map"].as_array().unwrap().iter().map(number).collect();
    assert_eq!(seeds.len(), 3);
    near(seeds.iter().sum::<f64>() / 3.0, number(&value["methods"][0]["metrics"]["map"]["mean"]));
    for (seed, mean) in ["0", "1", "2"].iter().zip(&seeds) {
        let one = well(&[&["compare", sort][..], &data[..], &["--json", "--seed", seed]].concat()).json();
        near(number(&one["methods"][0]["metrics"]["map"]["mean"]), *mean);
    }
    assert!(value["methods"][1]["seeds"].is_null());
    near(number(&value["published"]["Old"]["ndcg@5"]), 0.5);
    let report = place.at("report.html");
    let more = ["--seeds", "3", "--published", &published, "--report", &report];
    let text = well(&[&["compare", sort, net][..], &data[..], &more].concat()).out;
    assert!(text.contains("means of 3 seeds") && text.contains("published:\n"), "{text}");
    assert!(std::fs::read_to_string(&report).unwrap().contains("published: Old"));
    std::fs::write(&published, "algorithm,metric\nOld,map\n").unwrap();
    let refused = ordain(&[&["compare", net][..], &data[..], &["--published", &published]].concat());
    assert!(refused.err.contains("expected the columns algorithm, metric and value"), "{}", refused.err);
    std::fs::write(&published, "algorithm,metric,value\nOld,map,high\n").unwrap();
    let refused = ordain(&[&["compare", net][..], &data[..], &["--published", &published]].concat());
    assert!(refused.err.contains("published.csv:2: expected a number, found \"high\""), "{}", refused.err);
}
