//! Predictions are the documents of the library, whatever way rows are sent.

use super::three;
use axum::http::StatusCode;
use ordain::answer::{Answers, Ask, Want};
use ordain::data::synthetic::{Linkage, Scenes, Synthetic};
use ordain::method::{Annotate, Match, Rank};
use ordain::model_file;
use ordain::task::Model as _;
use serde_json::{Map, Value, json};

/// The features of a row by name, and in the order of the columns.
fn row(features: &ordain::matrix::Features, names: &[String], row: usize) -> (Value, Value) {
    let values: Vec<f32> = (0..features.cols()).map(|j| features.value(row, j)).collect();
    let named: Map<String, Value> = names.iter().cloned().zip(values.iter().map(|x| (*x).into())).rev().collect();
    (named.into(), values.into())
}

/// JSON as it comes back from a text.
fn again(value: impl serde::Serialize) -> Value {
    serde_json::from_str(&serde_json::to_string(&value).unwrap()).unwrap()
}

#[test]
fn rankings_are_those_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let server = three(folder.path());
    let set = Synthetic { queries: 3, ..Synthetic::default() }.make();
    let fitted = model_file::load::<Rank>(&folder.path().join("r")).unwrap();
    let ready = fitted.model.prepare(&set).unwrap();
    let want = Want { top: Some(4), ..Want::default() };
    let expected = again(Rank::predict(&fitted.model, &ready, &set.all(), want).unwrap());
    for by_name in [true, false] {
        let item = |i: usize| {
            let (named, plain) = row(&set.features, &set.columns.names, i);
            let (field, value) = if by_name { ("features", named) } else { ("row", plain) };
            json!({"id": set.document(i), field: value})
        };
        let queries: Vec<Value> = (0..set.len())
            .map(|q| json!({"id": set.query(q), "items": set.span(q).map(item).collect::<Vec<_>>()}))
            .collect();
        let said = server.post("/api/v1/models/r/rank", &json!({"queries": queries, "top": 4})).well();
        assert_eq!(said["queries"], expected);
        assert_eq!(said["model"], "r");
        let ask = json!({"query": set.query(1)});
        let said = server.post("/api/v1/models/r/explain", &json!({"queries": queries, "explain": ask})).well();
        let why = Rank::explain(&fitted.model, &ready, &Ask { unit: Some(set.query(1)), ..Ask::default() }).unwrap();
        assert_eq!(said["explanation"], again(why));
    }
}

#[test]
fn rankings_follow_rules() {
    let folder = tempfile::tempdir().unwrap();
    let server = three(folder.path());
    let set = Synthetic { queries: 2, ..Synthetic::default() }.make();
    let fitted = model_file::load::<Rank>(&folder.path().join("r")).unwrap();
    let ready = fitted.model.prepare(&set).unwrap();
    let brand = |row: usize| ["x", "y", "z"][row % 3];
    let item = |row: usize| json!({"id": set.document(row), "row": row_of(&set, row), "values": {"brand": brand(row)}});
    let queries: Vec<Value> = (0..set.len())
        .map(|q| json!({"id": set.query(q), "items": set.span(q).map(item).collect::<Vec<_>>()}))
        .collect();
    let pinned = set.document(set.span(0).start + 3);
    let rules = json!({"pins": [{"query": set.query(0), "document": pinned, "place": 2}],
        "exclusions": [{"document": set.document(0)}], "caps": [{"column": "brand", "most": 1, "first": 3}]});
    let ask =
        |rules: &Value| server.post("/api/v1/models/r/rank", &json!({"queries": queries, "top": 5, "rules": rules}));
    let values = vec![(0..set.rows()).map(|row| brand(row).to_owned()).collect()];
    let known = ordain::data::Rules::from_json(&rules.to_string()).unwrap();
    let want = Want { top: Some(5), ..Want::default() };
    let expected = ordain::answer::ruled_lists(&fitted.model, &ready, &set.all(), want, (&known, &values)).unwrap();
    let said = ask(&rules).well();
    assert_eq!(said["queries"], again(expected));
    assert_eq!(said["queries"][0]["items"][1]["id"], *pinned);
    for (wrong, says) in [
        (json!({}), "at least one rule"),
        (json!({"pins": [{"document": "a", "place": 0}]}), "places from 1"),
        (json!({"caps": [{"column": "shop", "most": 1, "first": 3}]}), "caps go by"),
        (json!({"pin": []}), "unknown field"),
    ] {
        let reply = ask(&wrong);
        assert!(reply.status == StatusCode::UNPROCESSABLE_ENTITY && reply.text.contains(says), "{}", reply.text);
    }
    let both = json!({"queries": queries, "probabilities": true, "rules": rules});
    assert_eq!(server.post("/api/v1/models/r/rank", &both).status, StatusCode::UNPROCESSABLE_ENTITY);
}

fn row_of(set: &ordain::data::RankSet, at: usize) -> Value {
    row(&set.features, &set.columns.names, at).1
}

#[test]
fn labels_and_matches_are_those_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let server = three(folder.path());
    let set = Scenes { items: 9, ..Scenes::default() }.make();
    let fitted = model_file::load::<Annotate>(&folder.path().join("a")).unwrap();
    let ready = fitted.model.prepare(&set).unwrap();
    let items: Vec<Value> = (0..set.len())
        .map(|i| json!({"id": set.item(i), "features": row(&set.features, &set.columns.names, i).0}))
        .collect();
    let said = server.post("/api/v1/models/a/annotate", &json!({"items": items})).well();
    assert_eq!(said["items"], again(Annotate::predict(&fitted.model, &ready, &set.all(), Want::default()).unwrap()));

    let set = Linkage { problems: 2, ..Linkage::default() }.make();
    let fitted = model_file::load::<Match>(&folder.path().join("m")).unwrap();
    let ready = fitted.model.prepare(&set).unwrap();
    let problems: Vec<Value> = (0..set.len())
        .map(|p| {
            let problem = set.problem(p);
            let edge = |(e, &(i, j)): (usize, &(u32, u32))| {
                let plain = row(&set.features, &set.columns.names, set.span(p).start + e).1;
                json!({"left": problem.left[i as usize], "right": problem.right[j as usize], "row": plain})
            };
            // whatever the order of the edges
            let mut edges: Vec<Value> = problem.edges.iter().enumerate().map(edge).collect();
            edges.sort_by_key(|edge| edge["left"].to_string());
            json!({"id": problem.name, "edges": edges})
        })
        .collect();
    let said = server.post("/api/v1/models/m/match", &json!({"problems": problems, "top": 2})).well();
    let want = Want { top: Some(2), ..Want::default() };
    let expected = again(Match::predict(&fitted.model, &ready, &set.all(), want).unwrap());
    let matched = |all: &Value| -> Vec<String> {
        let all = all.as_array().unwrap().iter().flat_map(|one| one["matches"].as_array().unwrap());
        let mut all: Vec<String> = all.map(|m| format!("{} {}", m["left"], m["right"])).collect();
        all.sort();
        all
    };
    assert_eq!(matched(&said["problems"]), matched(&expected));
}

#[test]
fn what_a_model_does_not_take_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let server = three(folder.path());
    let rank = |items: Value| server.post("/api/v1/models/r/rank", &json!({"queries": [{"id": "q", "items": items}]}));
    for (items, says) in [
        (json!([{"row": [1.0]}]), "item 1: expected"),
        (json!([{"id": "d", "row": [1e300]}]), "\"d\""),
        (json!([{"row": [1], "features": {}}]), "one of features, row and text"),
        (json!([{"text": "sea"}]), "text alone is for models"),
        (json!([{"rows": []}]), "unknown field"),
    ] {
        let reply = rank(items);
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", reply.text);
        assert_eq!(reply.headers["content-type"], "application/problem+json");
        assert!(reply.text.contains(&says.replace('"', "\\\"")), "{} lacks {says}", reply.text);
    }
    let annotate =
        |features: Value| server.post("/api/v1/models/a/annotate", &json!({"items": [{"features": features}]}));
    let reply = annotate(json!({"no_such": 1}));
    assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(reply.json()["unexpected"], json!(["no_such"]));
    assert_eq!(server.post("/api/v1/models/x/rank", &json!({})).status, StatusCode::NOT_FOUND);
    assert!(server.post("/api/v1/models/a/rank", &json!({"queries": []})).text.contains("/annotate"));
    let bad = server.send("POST", "/api/v1/models/r/rank", &[("content-type", "application/json")], b"{\"queries\":[");
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);
    assert_eq!(server.post("/api/v1/models/r/rank", &json!({"queries": []})).well()["queries"], json!([]));
    assert_eq!(
        server.post("/api/v1/models/r/explain", &json!({"queries": []})).status,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    let facts = server.get("/api/v1/models/a").well();
    assert_eq!((&facts["task"], facts["version"].as_str().unwrap().len()), (&json!("annotate"), 12));
    assert_eq!(server.get("/api/v1/models").well()["models"].as_array().unwrap().len(), 3);
}

/// Bodies in the documents are of the shape that is read; that these models have other features is what is left to refuse.
#[test]
fn the_requests_of_the_documents_are_understood() {
    let folder = tempfile::tempdir().unwrap();
    let server = three(folder.path());
    let page = include_str!("../../../../docs/serve.md");
    let block = page.split("```text requests\n").nth(1).unwrap().split("```").next().unwrap();
    let lines: Vec<&str> = block.lines().collect();
    assert_eq!(lines.len(), 8);
    for pair in lines.chunks(2) {
        let path = pair[0].strip_prefix("POST ").unwrap();
        let model = if path.ends_with("annotate") {
            "a"
        } else if path.ends_with("match") {
            "m"
        } else {
            "r"
        };
        let body: Value = serde_json::from_str(pair[1]).unwrap();
        let reply = server.post(&path.replace("/M/", &format!("/{model}/")), &body);
        assert!([StatusCode::UNPROCESSABLE_ENTITY, StatusCode::NOT_FOUND].contains(&reply.status), "{}", reply.text);
        let detail = reply.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            ["features", "text alone", "unknown document", "Unknown"].iter().any(|word| detail.contains(word))
                && !detail.contains("field"),
            "{detail}"
        );
    }
}
