//! A session of labels: answers are on the disk, once each, and can be taken back.

use super::{Server, scenes, session};
use axum::http::StatusCode;
use serde_json::{Value, json};

fn file(folder: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("answers.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn answer(server: &Server, key: &str, item: &Value, yes: Value) -> super::Reply {
    let body = json!({"key": key, "item": item["item"], "label": item["question"]["label"], "answer": yes,
        "seen": item["seq"], "asked": true, "ms": 100});
    server.post("/api/v1/answers", &body)
}

#[test]
fn each_answer_is_a_line_and_gives_the_next_question() {
    let folder = tempfile::tempdir().unwrap();
    let set = scenes(folder.path());
    let mut server = session(folder.path(), |_| {});
    server.headers.push(("x-annotator", "Zo%C3%AB+1".into()));
    let whole = server.get("/api/v1/session").well();
    assert_eq!((&whole["items"], &whole["annotator"]), (&json!(60), &json!("Zoë+1")));
    let list = server.get("/api/v1/items?state=open&n=3").well();
    let name = list["items"][0]["item"].as_str().unwrap();
    let first = server.get(&format!("/api/v1/items/{name}")).well();
    assert_eq!((&first["seq"], &first["state"]), (&json!(0), &json!("open")));
    assert!(first["show"]["fields"].as_array().unwrap().len() == set.features.cols());
    let second = answer(&server, "k1", &first, json!(true)).well();
    assert_ne!(second["question"]["label"], first["question"]["label"]);
    assert_eq!((&second["set"][0]["label"], &second["set"][0]["state"]), (&first["question"]["label"], &json!("yes")));
    let line = file(folder.path()).remove(1);
    assert_eq!((&line["by"], &line["label"], &line["ms"]), (&json!("Zoë+1"), &first["question"]["label"], &json!(100)));
    assert_eq!((&line["strategy"], &line["key"]), (&json!("entropy"), &json!("k1")));
    // the same key again changes nothing, whatever was seen
    assert_eq!(answer(&server, "k1", &first, json!(true)).well(), second);
    assert_eq!(file(folder.path()).len(), 2);
    // another key on what was seen before is refused, with the state as it is
    let stale = answer(&server, "k2", &first, json!(false));
    assert_eq!((stale.status, &stale.json()["item"]["seq"]), (StatusCode::CONFLICT, &second["seq"]));
    let undone = server.post("/api/v1/undo", &json!({"key": "k3"})).well();
    assert_eq!(undone["undone"]["label"], first["question"]["label"]);
    assert_eq!(undone["item"]["question"], first["question"]);
    assert_eq!(server.post("/api/v1/undo", &json!({"key": "k3"})).well()["undone"]["answer"], true);
    assert_eq!(server.post("/api/v1/undo", &json!({"key": "k4"})).well(), json!({"undone": null, "item": null}));
    let redone = server.post("/api/v1/redo", &json!({})).well();
    assert_eq!(redone["item"]["question"], second["question"]);
    assert_eq!(redone["item"]["session"]["can"], json!({"undo": true, "redo": false}));
    // what is changed takes the place of what was said, and an undo brings that back
    let changed = json!({"item": name, "label": first["question"]["label"], "answer": false, "asked": false});
    let changed = server.post("/api/v1/answers", &changed).well();
    assert_eq!(changed["history"].as_array().unwrap().len(), 1);
    assert_eq!(changed["history"][0]["answer"], false);
    let back = server.post("/api/v1/undo", &json!({})).well();
    assert_eq!(back["item"]["history"][0]["answer"], true);
    // and all of it is there when the file is opened again
    let before = server.get(&format!("/api/v1/items/{name}")).well();
    drop(server);
    let mut server = session(folder.path(), |_| {});
    server.headers.push(("x-annotator", "Zo%C3%AB+1".into()));
    assert_eq!(server.get(&format!("/api/v1/items/{name}")).well()["history"], before["history"]);
}

#[test]
fn two_people_see_other_items_and_their_own_answers() {
    let folder = tempfile::tempdir().unwrap();
    scenes(folder.path());
    let server = session(folder.path(), |_| {});
    let get = |path: &str, who: &str| server.send("GET", path, &[("x-annotator", who)], b"").well();
    let post = |path: &str, who: &str, body: Value| {
        let headers = [("x-annotator", who), ("content-type", "application/json")];
        server.send("POST", path, &headers, body.to_string().as_bytes()).well()
    };
    let first = |who: &str| get("/api/v1/items?n=1", who)["items"][0]["item"].as_str().unwrap().to_owned();
    let ann = first("ann");
    get(&format!("/api/v1/items/{ann}"), "ann");
    let bob = first("bob");
    assert_ne!(ann, bob);
    assert_eq!(get(&format!("/api/v1/items/{ann}"), "bob")["leased_by"], "ann");
    for who in ["ann", "bob"] {
        post("/api/v1/answers", who, json!({"item": ann, "label": "sea", "answer": who == "ann"}));
    }
    assert_eq!(get(&format!("/api/v1/items/{ann}"), "ann")["history"][0]["answer"], true);
    let undone = post("/api/v1/undo", "ann", json!({}));
    assert_eq!(undone["item"]["history"], json!([]));
    assert_eq!(get(&format!("/api/v1/items/{ann}"), "bob")["history"][0]["answer"], false);
    post("/api/v1/redo", "ann", json!({}));
    let text = server.get("/api/v1/export?format=csv&votes=all").text;
    assert_eq!(
        text,
        format!("item,label,answer,by\n{ann},sea,0,bob\n{ann},sea,1,ann\n")
            .replace(&format!("{ann},sea,0,bob\n{ann},sea,1,ann"), &format!("{ann},sea,1,ann\n{ann},sea,0,bob"))
    );
    // as many say yes as no: the majority says nothing
    assert_eq!(server.get("/api/v1/export?format=csv").text, "");
    let tasks = server.get("/api/v1/export?format=labelstudio&votes=all").json();
    assert_eq!(tasks[0]["annotations"].as_array().unwrap().len(), 2);
    assert_eq!(
        server.get("/api/v1/export").text,
        std::fs::read_to_string(folder.path().join("answers.jsonl")).unwrap()
    );
    assert_eq!(server.get("/api/v1/export?format=xml").status, StatusCode::BAD_REQUEST);
    let lines: Vec<Value> = (server.get("/api/v1/export?format=doccano&votes=all").text.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0], json!({"id": ann, "text": "", "label": ["sea"], "annotator": "ann"}));
    assert_eq!(lines[1], json!({"id": ann, "text": "", "label": [], "annotator": "bob"}));
}

/// With an overlap of two an item is offered to one more person, and to nobody else.
#[test]
fn an_item_is_offered_to_as_many_people_as_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    scenes(folder.path());
    let server = session(folder.path(), |config| config.labelling.as_mut().unwrap().overlap = 2);
    let get = |path: &str, who: &str| server.send("GET", path, &[("x-annotator", who)], b"").well();
    let first = |who: &str| get("/api/v1/items?n=1", who)["items"][0]["item"].as_str().unwrap().to_owned();
    let opened = |who: &str| {
        let item = first(who);
        get(&format!("/api/v1/items/{item}"), who);
        item
    };
    let (ann, bob, cem) = (opened("ann"), opened("bob"), opened("cem"));
    assert!(ann == bob && bob != cem, "{ann} {bob} {cem}");
}

/// The page suggests to stop when the model was right often enough where it was controlled.
#[test]
fn a_stop_is_suggested_when_control_questions_say_so() {
    let folder = tempfile::tempdir().unwrap();
    scenes(folder.path());
    // the lower end of Wilson's interval of one of one is .2065
    let server = session(folder.path(), |config| config.labelling.as_mut().unwrap().target = 0.2);
    let mut item = server.get("/api/v1/items/1").well();
    for n in 0..19 {
        if item["question"].is_null() {
            let next = server.get("/api/v1/items?n=1").well()["items"][0]["item"].as_str().unwrap().to_owned();
            item = server.get(&format!("/api/v1/items/{next}")).well();
        }
        item = answer(&server, &n.to_string(), &item, json!(false)).well();
    }
    if item["question"].is_null() {
        let next = server.get("/api/v1/items?n=1").well()["items"][0]["item"].as_str().unwrap().to_owned();
        item = server.get(&format!("/api/v1/items/{next}")).well();
    }
    assert_eq!((&item["question"]["control"], &item["session"]["suggest_stop"]), (&json!(true), &Value::Null));
    let mut after = answer(&server, "yes", &item, json!(true)).well();
    if after["session"]["quality"]["control"]["right"] == 0 {
        assert!(after["session"]["suggest_stop"].is_null());
        let back = server.post("/api/v1/undo", &json!({})).well()["item"].clone();
        after = answer(&server, "no", &back, json!(false)).well();
    }
    assert_eq!(after["session"]["quality"]["control"]["right"], 1);
    assert!(after["session"]["suggest_stop"].as_str().unwrap().contains("right in 1 of 1 control questions"));
}

#[test]
fn blind_people_and_control_questions_see_nothing_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    scenes(folder.path());
    let server = session(folder.path(), |_| {});
    let mut item = server.get("/api/v1/items/1").well();
    let mut n = 0;
    while item["question"]["control"] != true {
        assert!(!item["question"]["probability"].is_null());
        let yes = json!(n % 2 == 0);
        item = answer(&server, &n.to_string(), &item, yes).well();
        if item["question"].is_null() {
            let next = server.get("/api/v1/items?n=1").well()["items"][0]["item"].as_str().unwrap().to_owned();
            item = server.get(&format!("/api/v1/items/{next}")).well();
        }
        n += 1;
    }
    assert_eq!(n, 19);
    assert!(item["question"]["probability"].is_null() && item["expected_precision"].is_null());
    assert!(item["set"].as_array().unwrap().iter().all(|label| label["state"] == "yes" || label["state"] == "no"));
    let after = answer(&server, "c", &item, json!(true)).well();
    assert_eq!(after["session"]["quality"]["control"]["asked"], 1);
    let line = file(folder.path()).pop().unwrap();
    assert_eq!((&line["control"], &line["strategy"]), (&json!(true), &json!("random")));
    drop(server);
    let other = tempfile::tempdir().unwrap();
    scenes(other.path());
    let blind = session(other.path(), |config| config.labelling.as_mut().unwrap().blind = true);
    let item = blind.get("/api/v1/items/1").well();
    assert!(item["question"]["probability"].is_null() && item["set"].as_array().unwrap().is_empty());
}

#[test]
fn strange_words_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    scenes(folder.path());
    let server = session(folder.path(), |_| {});
    for (body, status) in [
        (json!({"item": "none", "label": "sea", "answer": true}), StatusCode::NOT_FOUND),
        (json!({"item": "1", "label": "none", "answer": true}), StatusCode::NOT_FOUND),
        (json!({"item": "1", "label": "sea", "answer": "yes"}), StatusCode::UNPROCESSABLE_ENTITY),
        (json!({"item": "1", "label": "sea"}), StatusCode::UNPROCESSABLE_ENTITY),
        (json!({"item": 1, "label": "sea", "answer": true}), StatusCode::UNPROCESSABLE_ENTITY),
        (json!([]), StatusCode::BAD_REQUEST),
    ] {
        let reply = server.post("/api/v1/answers", &body);
        assert_eq!(reply.status, status, "{}", reply.text);
    }
    assert_eq!(server.get("/api/v1/items?state=all").status, StatusCode::BAD_REQUEST);
    assert_eq!(server.get("/api/v1/items?n=x").status, StatusCode::BAD_REQUEST);
    assert_eq!(file(folder.path()).len(), 1);
    let found = server.get("/api/v1/labels?q=SE&n=1").well();
    assert_eq!(found["labels"][0]["label"], "sea");
}

#[test]
fn another_model_is_taken_over_if_it_has_the_same_labels() {
    let folder = tempfile::tempdir().unwrap();
    let set = scenes(folder.path());
    let server = session(folder.path(), |_| {});
    let before = server.get("/api/v1/session").well()["version"].clone();
    server.service.reload();
    assert_eq!(server.get("/api/v1/session").well()["version"], before);
    let units: Vec<u32> = (0..40).collect();
    super::fitted(&ordain::method::CStar::independent(), &set.only(&units), &folder.path().join("model"));
    server.service.reload();
    let after = server.get("/api/v1/session").well()["version"].clone();
    assert_ne!(before, after);
    // half a file, and one of another task, leave the model where it is
    std::fs::write(folder.path().join("model"), b"half").unwrap();
    server.service.reload();
    assert_eq!(server.get("/api/v1/session").well()["version"], after);
    let other = ordain::data::synthetic::Synthetic { queries: 20, ..Default::default() }.make();
    super::fitted(&ordain::method::RankSvm::default(), &other, &folder.path().join("model"));
    server.service.reload();
    assert_eq!(server.get("/api/v1/session").well()["version"], after);
}

/// Of a model that reads texts the text is shown, and not the numbers that are made of it.
#[test]
fn texts_that_the_model_reads_are_shown() {
    use ordain::data::{LabelReading, Roles, read_labels};
    let folder = tempfile::tempdir().unwrap();
    let word = |n: usize| ["boat wave", "cloud bird"][n % 2];
    let rows: String = (0..40).map(|n| format!("i{n},A {} ({n}),{}\n", word(n), ["sea", "sky"][n % 2])).collect();
    let items = folder.path().join("items.csv");
    std::fs::write(&items, format!("id,title,labels\n{rows}")).unwrap();
    let roles = Roles { inputs: vec!["title:text".parse().unwrap()], ..Roles::default() };
    let (set, _) = read_labels(&[vec![items]], &LabelReading { roles, ..LabelReading::default() }).unwrap();
    super::fitted(&ordain::method::CStar::independent(), &set, &folder.path().join("model"));
    let server = session(folder.path(), |_| {});
    assert_eq!(server.get("/api/v1/items/i7").well()["show"], json!({"text": "A cloud bird (7)"}));
}
