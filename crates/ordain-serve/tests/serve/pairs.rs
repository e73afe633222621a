//! A session of matches: the records of a pair, field by field.

use super::{Server, config, fitted, scenes};
use ordain::ask::Strategy;
use ordain::data::synthetic::Linkage;
use ordain::data::{MatchSet, write_matches};
use ordain::method::MatchMethod;
use ordain_serve::{Config, Labelled, Service};
use serde_json::json;
use std::path::{Path, PathBuf};

fn labelled(folder: &Path, items: &str, records: [PathBuf; 2]) -> Config {
    let mut config = config(vec![("model".into(), folder.join("model"))]);
    config.labelling = Some(Labelled {
        items: folder.join(items),
        labels: None,
        answers: folder.join("answers.jsonl"),
        show: vec![],
        media: None,
        records: Some(records),
        strategy: Strategy::Expected,
        blind: false,
        overlap: 1,
        target: 0.95,
        learn: None,
        teach: None,
    });
    config
}

/// A table of the items of one side, with a name and a field of this side alone.
fn register(set: &MatchSet, right: bool, path: &Path) {
    let mut text = format!("id,name,{}\n", if right { "shop" } else { "<b>town</b>" });
    let mut seen = std::collections::BTreeSet::new();
    for problem in set.problems() {
        for id in if right { &problem.right } else { &problem.left } {
            if seen.insert(id.clone()) {
                text += &format!("{id},<i>{id}</i>,\n");
            }
        }
    }
    std::fs::write(path, text).unwrap();
}

#[test]
fn records_of_both_sides_stand_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let set = Linkage { problems: 12, ..Linkage::default() }.make();
    let matching: MatchMethod = "matchmap[null=true,lambda=1]".parse().unwrap();
    fitted(&matching, &set, &at("model"));
    write_matches(&set, &at("items.csv")).unwrap();
    register(&set, false, &at("left.csv"));
    register(&set, true, &at("right.csv"));
    let server = Server::new(labelled(folder.path(), "items.csv", [at("left.csv"), at("right.csv")]));
    let name = server.get("/api/v1/items?n=1").well()["items"][0]["item"].as_str().unwrap().to_owned();
    let item = server.get(&format!("/api/v1/items/{name}")).well();
    let (left, right) = (&item["pair"]["left"], &item["pair"]["right"]);
    assert_eq!(left["fields"]["name"], format!("<i>{}</i>", left["id"].as_str().unwrap()));
    assert_eq!(right["fields"]["name"], format!("<i>{}</i>", right["id"].as_str().unwrap()));
    let fields: Vec<&serde_json::Value> =
        item["pair"]["compare"].as_array().unwrap().iter().map(|row| &row["field"]).take(3).collect();
    assert_eq!(fields, [&json!("name"), &json!("<b>town</b>"), &json!("shop")]);
    // an empty cell is no value
    assert!(left["fields"]["<b>town</b>"].is_null() && right["fields"]["shop"].is_null());
    drop(server);
    // a table without the column, and another task
    let wrong = labelled(folder.path(), "items.csv", [at("items.csv"), at("right.csv")]);
    assert!(Service::new(wrong).err().unwrap().to_string().contains("id"));
    let other = tempfile::tempdir().unwrap();
    scenes(other.path());
    let wrong = labelled(other.path(), "items.csv", [at("left.csv"), at("right.csv")]);
    assert!(Service::new(wrong).err().unwrap().to_string().contains("a model that matches"));
}
