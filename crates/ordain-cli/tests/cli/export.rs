//! `ordain export`: files, self-checks, options and refusals.

use crate::support::{Place, ordain};
use serde_json::Value;

fn read(place: &Place, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(place.at(name)).unwrap()).unwrap()
}

fn fitted(place: &Place, method: &str) -> String {
    let model = place.at("exported.ordain");
    ordain(&["fit", method, &place.at("train.txt"), "-o", &model, "-q"]).code(0);
    model
}

#[test]
fn every_target_is_written_with_its_self_check() {
    let place = Place::trained();
    let model = fitted(&place, "ranksvm[scale=global,lambda=1]");
    let trees = place.at("trees.ordain");
    ordain(&["fit", "ranksvm[scorer=trees,rounds=5]", &place.at("train.txt"), "-o", &trees, "-q"]).code(0);
    for to in ["onnx", "elasticsearch", "opensearch", "solr", "sql", "json", "python", "xgboost", "lightgbm"] {
        let model = if ["xgboost", "lightgbm"].contains(&to) { &trees } else { &model };
        let file = place.at(to);
        let words = ["export", model, "--to", to, "-o", &file, "--check", &place.at("test.txt"), "--rows", "60"];
        ordain(&words).code(0).says("self-check on").says("0 changes of order");
        let check = read(&place, &format!("{to}.check.json"));
        assert_eq!(check["to"], to);
        assert!(check["rows"].as_u64().is_some_and(|rows| rows > 0 && rows <= 60), "{check}");
        assert!(check["difference"].as_f64().is_some_and(|x| x <= 2e-6), "{check}");
        assert!(std::fs::metadata(&file).unwrap().len() > 100);
        // the same bytes again, and on standard output
        let first = std::fs::read(&file).unwrap();
        ordain(&words).code(0);
        assert_eq!(std::fs::read(&file).unwrap(), first);
        if to != "onnx" {
            let printed = ordain(&["export", model, "--to", to, "-o", "-", "-q"]).code(0);
            assert_eq!(printed.out.as_bytes(), first);
        }
    }
    let answer = ordain(&["export", &model, "--to", "solr", "-o", &place.at("solr"), "--json", "--shift"]).code(0);
    let answer: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(answer["files"].as_array().unwrap().len(), 2);
    let body = read(&place, "solr");
    assert!(body["params"]["weights"]["ordain_shift"].as_f64().is_some_and(|shift| shift > 0.0), "{body}");
}

#[test]
fn refusals_say_the_way_out() {
    let place = Place::trained();
    let model = fitted(&place, "ranksvm[scale=query,lambda=1]");
    let out = place.at("out");
    ordain(&["export", &model, "--to", "solr", "-o", &out]).code(1).says("fit with scale=global");
    ordain(&["export", &model, "--to", "onnx", "-o", &out, "--one-query-per-call"]).code(0);
    ordain(&["export", &model, "--to", "pmml", "-o", &out]).code(1).says("unknown target \"pmml\"");
    ordain(&["export", &model, "--to", "json", "-o", &out, "--map", "x"]).code(2).says("COLUMN=NAME");
    ordain(&["export", &model, "--to", "json", "-o", &out, "--map", "nothing=x"]).code(1).says("unknown column");
    ordain(&["export", &model, "--to", "sql", "-o", &out, "--dialect", "access"]).code(1).says("unknown dialect");
    ordain(&["export", &model, "--to", "json", "-o", &model]).code(1).says("another name for the output");
}
