//! `predict --rules`: pins, exclusions and caps from a file to ranked lists.

use crate::support::{Place, has_fields, ordain, well};
use serde_json::Value;

/// Two queries of six documents with a brand and a shop each, and a model that ranks by price.
fn shop() -> Place {
    let place = Place::empty();
    let mut text = "label,qid,docid,price,brand,shop\n".to_owned();
    for q in ["boots", "sandals"] {
        for i in 0..6 {
            text +=
                &format!("{},{q},d{i},{},{},{}\n", (i + 1) / 3, i, ["acme", "acme", "bolt"][i / 2], ["", "x"][i % 2]);
        }
    }
    place.write("shop.csv", &text);
    let fit = ["fit", "ranksvm[scale=none,lambda=0.1]", &place.at("shop.csv"), "--ignore", "brand,shop"];
    well(&[&fit[..], &["-o", &place.at("shop.ordain")]].concat());
    place
}

fn ids(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

#[test]
fn lists_keep_the_rules() {
    let place = shop();
    let (model, data) = (place.at("shop.ordain"), place.at("shop.csv"));
    place.write(
        "rules.csv",
        "rule,qid,docid,place,column,most,first\npin,boots,d0,2,,,\nexclude,,d5,,,,\ncap,,,,brand,1,2\n",
    );
    let rules = place.at("rules.csv");
    let lists = well(&["predict", &model, &data, "--rules", &rules, "--json"]).json_lines();
    assert_eq!(ids(&lists[0]), ["d4", "d0", "d3", "d2", "d1"]);
    assert_eq!(ids(&lists[1]), ["d4", "d3", "d2", "d1", "d0"]);
    has_fields(&lists[0]["rules"], &["exact", "value", "bound", "gap", "pinned", "excluded", "left_out"]);
    assert_eq!((&lists[0]["rules"]["exact"], &lists[0]["rules"]["pinned"]), (&true.into(), &1.into()));
    // as text and as a run, whose scores are in the order of the rules
    let text = well(&["predict", &model, &data, "--rules", &rules, "--top", "2"]).out;
    assert_eq!(text.lines().count(), 5);
    assert!(text.lines().nth(2).unwrap().starts_with("boots\t2\td0\t"), "{text}");
    let run = well(&["predict", &model, &data, "--rules", &rules, "--run", "tag"]).out;
    assert!(run.lines().nth(1).unwrap().starts_with("boots Q0 d0 2 -2 tag"), "{run}");
    // JSON, two columns, and what is not there
    place.write(
        "rules.json",
        r#"{"exclusions":[{"document":"d9"}],"caps":[{"column":"brand","most":1,"first":3},{"column":"shop","most":1,"first":3}]}"#,
    );
    let done = well(&["predict", &model, &data, "--rules", &place.at("rules.json"), "--json"]);
    let lists = done.json_lines();
    assert_eq!(ids(&lists[0]), ["d5", "d2"]);
    assert_eq!(lists[0]["rules"]["left_out"], 4);
    assert!(done.err.contains("1 rule(s) name what these data do not have, such as document \"d9\""), "{}", done.err);
    assert!(done.err.contains("8 document(s) are in no list"), "{}", done.err);
}

#[test]
fn wrong_rules_are_refused() {
    let place = shop();
    let (model, data) = (place.at("shop.ordain"), place.at("shop.csv"));
    let wrong = |text: &str, says: &str| {
        place.write("wrong.csv", text);
        ordain(&["predict", &model, &data, "--rules", &place.at("wrong.csv")]).code(1).silent().says(says);
    };
    wrong("rule,docid,place\npin,d1,x\n", "wrong.csv:2:3: expected place, a whole number from 1");
    wrong("rule,docid,place\npin,d1,1\npin,d2,1\n", "one pinned document for each place");
    wrong("rule,docid,place\npin,d1,7\n", "places from 1 to 6 (query \"boots\")");
    wrong("rule,column,most,first\ncap,colour,1,3\n", "a header with the column \"colour\"");
    let rules = place.at("wrong.csv");
    ordain(&["predict", &model, &data, "--rules", &rules, "--probabilities"]).code(2);
    let stream = ["predict", &model, "-", "--rules", &rules];
    let text = std::fs::read(place.path().join("shop.csv")).unwrap();
    crate::support::piped(&stream, &text).code(2).says("have to be a file");
}
