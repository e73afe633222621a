//! The routes that other programs know: Open Inference Protocol, Annif and Label Studio.

use super::{Server, fitted, scenes, session, three};
use axum::http::StatusCode;
use ordain::data::LabelSet;
use ordain::data::synthetic::{Linkage, Scenes, Synthetic};
use ordain::method::{Annotate, CStar, Rank};
use ordain::model_file;
use ordain::task::Model as _;
use ordain_serve::{Access, LabelStudio};
use serde_json::{Value, json};
use std::path::Path;

fn values(features: &ordain::matrix::Features) -> Vec<Vec<f32>> {
    (0..features.rows()).map(|i| (0..features.cols()).map(|j| features.value(i, j)).collect()).collect()
}

fn x(rows: &[Vec<f32>], nested: bool) -> Value {
    let data = if nested { json!(rows) } else { json!(rows.concat()) };
    json!({"name": "X", "datatype": "FP32", "shape": [rows.len(), rows[0].len()], "data": data})
}

#[test]
fn tensors_give_the_scores_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let server = three(folder.path());
    let set = Synthetic { queries: 4, ..Synthetic::default() }.make();
    let fitted = model_file::load::<Rank>(&folder.path().join("r")).unwrap();
    let scores = fitted.model.scores(&fitted.model.prepare(&set).unwrap()).unwrap();
    // queries in turns: rows of a query need not stand together
    let rows: Vec<usize> = (0..set.rows()).map(|i| i * 7 % set.rows()).collect();
    let distinct = rows.iter().collect::<std::collections::HashSet<_>>().len() == rows.len();
    let rows: Vec<usize> = if distinct { rows } else { (0..set.rows()).rev().collect() };
    let all = values(&set.features);
    let mixed: Vec<Vec<f32>> = rows.iter().map(|&i| all[i].clone()).collect();
    let query = |row: usize| (0..set.len()).find(|&q| set.span(q).contains(&row)).unwrap();
    let qid: Vec<String> = rows.iter().map(|&row| query(row).to_string()).collect();
    let qid = json!({"name": "qid", "datatype": "BYTES", "shape": [rows.len()], "data": qid});
    for nested in [false, true] {
        let said = server.post("/v2/models/r/infer", &json!({"id": "7", "inputs": [x(&mixed, nested), qid]})).well();
        assert_eq!((&said["id"], &said["outputs"][0]["name"]), (&json!("7"), &json!("score")));
        for (i, &row) in rows.iter().enumerate() {
            assert!((said["outputs"][0]["data"][i].as_f64().unwrap() - scores[row]).abs() < 1e-12);
        }
    }
    let only = json!({"inputs": [x(&mixed, true), qid], "outputs": [{"name": "rank"}]});
    let said = server.post("/v2/models/r/infer", &only).well();
    assert_eq!(said["outputs"].as_array().unwrap().len(), 1);

    let set = Scenes { items: 5, ..Scenes::default() }.make();
    let fitted = model_file::load::<Annotate>(&folder.path().join("a")).unwrap();
    let expected = fitted.model.predict(&fitted.model.prepare(&set).unwrap(), &set.all()).unwrap();
    let said = server.post("/v2/models/a/infer", &json!({"inputs": [x(&values(&set.features), false)]})).well();
    let output = &said["outputs"][0];
    assert_eq!((&output["name"], &output["shape"]), (&json!("probability"), &json!([5, set.labels.len()])));
    let flat: Vec<f64> = expected.iter().flat_map(|item| item.values.clone()).collect();
    assert_eq!(serde_json::from_str::<Value>(&json!(flat).to_string()).unwrap(), output["data"]);

    let set = Linkage { problems: 2, ..Linkage::default() }.make();
    let (mut problem, mut left, mut right) = (vec![], vec![], vec![]);
    for own in set.problems() {
        for &(i, j) in &own.edges {
            problem.push(own.name.clone());
            left.push(own.left[i as usize].clone());
            right.push(own.right[j as usize].clone());
        }
    }
    let ids =
        |name: &str, data: Vec<String>| json!({"name": name, "datatype": "BYTES", "shape": [data.len()], "data": data});
    let inputs =
        json!([x(&values(&set.features), false), ids("problem", problem), ids("left", left), ids("right", right)]);
    let said = server.post("/v2/models/m/infer", &json!({"inputs": inputs})).well();
    let names: Vec<&str> = said["outputs"].as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["score", "probability", "matched"]);
    assert!(said["outputs"][2]["data"].as_array().unwrap().contains(&json!(true)));
}

#[test]
fn what_the_protocol_asks_of_a_server_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let server = three(folder.path());
    assert_eq!(server.get("/v2").well()["name"], "ordain");
    assert_eq!(server.get("/v2/health/live").well()["live"], true);
    assert_eq!(server.get("/v2/health/ready").well()["ready"], true);
    let facts = server.get("/v2/models/r").well();
    let version = facts["versions"][0].as_str().unwrap();
    assert_eq!(facts["inputs"][0]["parameters"]["names"].as_array().unwrap().len(), 20);
    assert_eq!(server.get(&format!("/v2/models/r/versions/{version}")).well(), facts);
    assert_eq!(server.get(&format!("/v2/models/r/versions/{version}/ready")).well()["ready"], true);
    assert_eq!(server.get("/v2/models/r/versions/1").status, StatusCode::NOT_FOUND);
    for (body, says) in [
        (json!({"inputs": []}), "\\\"X\\\""),
        (json!({"inputs": [{"name": "X", "datatype": "FP32", "shape": [1, 2], "data": [1.0]}]}), "2 numbers"),
        (json!({"inputs": [{"name": "X", "datatype": "BYTES", "shape": [1, 2], "data": [1.0]}]}), "FP64"),
        (json!({"inputs": [{"name": "X", "datatype": "FP64", "shape": [1, 2], "data": [1, 2]}]}), "20 features"),
    ] {
        let reply = server.post("/v2/models/a/infer", &body);
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{}", reply.text);
        assert!(
            reply.json()["error"].is_string() && (reply.text.contains(says) || reply.text.contains("features")),
            "{}",
            reply.text
        );
    }
    // a ranker that looks at whole queries does not take rows of none
    let fitted = model_file::load::<Rank>(&folder.path().join("r")).unwrap();
    let alone =
        matches!(fitted.model.inputs.scale, ordain::data::scale::Scale::None | ordain::data::scale::Scale::Global);
    let reply = server.post("/v2/models/r/infer", &json!({"inputs": [x(&[vec![0.5; 20]], false)]}));
    assert_eq!(reply.status == StatusCode::OK, alone, "{}", reply.text);
}

/// Items whose text is `item N`, with the routes of other programs.
fn others(folder: &Path, complete: bool) -> (Server, LabelSet) {
    let mut set = scenes(folder);
    // the model leaves the column out that is shown
    set.columns.roles.ignore = vec!["title".into()];
    fitted(&CStar::independent(), &set, &folder.join("model"));
    let text = std::fs::read_to_string(folder.join("items.csv")).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    let shown: String = rows.lines().enumerate().map(|(i, row)| format!("picture {i},{row}\n")).collect();
    std::fs::write(folder.join("shown.csv"), format!("title,{head}\n{shown}")).unwrap();
    // a subject for each label but the last, one of them twice
    let known = set.labels[..set.labels.len() - 1].iter();
    let lines: String = known.map(|label| format!("<http://example.org/{label}>\t{label}\n")).collect();
    std::fs::write(folder.join("vocabulary.tsv"), lines + "<http://example.org/other>\tother\tN1\n").unwrap();
    let server = session(folder, |config| {
        let own = config.labelling.as_mut().unwrap();
        own.items = folder.join("shown.csv");
        own.show = vec!["title".into()];
        config.annif = Some((folder.join("vocabulary.tsv"), "en".into()));
        config.label_studio = Some(LabelStudio { complete });
        config.access = Access::Tokens(vec![(None, "s3cret-token".into())]);
    });
    (server, set)
}

#[test]
fn annif_gets_subjects_that_it_knows() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, set) = others(folder.path(), false);
    assert_eq!(server.get("/v1/").status, StatusCode::UNAUTHORIZED);
    // annif:s3cret-token
    server.headers.push(("authorization", "Basic YW5uaWY6czNjcmV0LXRva2Vu".into()));
    assert_eq!(server.get("/v1/").well()["title"], "ordain serve");
    let project = server.get("/v1/projects/model").well();
    assert_eq!((&project["is_trained"], &project["vocab"]["size"]), (&json!(true), &json!(set.labels.len())));
    assert_eq!(server.get("/v1/projects").well()["projects"], json!([project]));
    assert_eq!(server.get("/v1/vocabs").well()["vocabs"][0]["size"], json!(set.labels.len()));
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let suggest = |body: &str| server.send("POST", "/v1/projects/model/suggest", &form, body.as_bytes());
    let said = suggest("text=picture+3&limit=4").well();
    let results = said["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    for one in results {
        let label = one["label"].as_str().unwrap();
        assert_eq!(one["uri"], format!("http://example.org/{label}"));
        assert_ne!(label, set.labels.last().unwrap());
        assert!(one["score"].as_f64().is_some_and(|score| score > 0.0 && score <= 1.0));
    }
    let all = suggest("text=picture+3&limit=1000").well()["results"].as_array().unwrap().len();
    assert!(all < set.labels.len());
    let sure = suggest("text=picture+3&limit=1000&threshold=0.5").well();
    assert!(sure["results"].as_array().unwrap().iter().all(|one| one["score"].as_f64().unwrap() >= 0.5));
    for (body, status) in [
        ("limit=3", StatusCode::BAD_REQUEST),
        ("text=picture+3&limit=x", StatusCode::BAD_REQUEST),
        ("text=picture+3&threshold=2", StatusCode::BAD_REQUEST),
        ("text=picture+3&language=fi", StatusCode::BAD_REQUEST),
        ("text=nobody+knows", StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        let reply = suggest(body);
        assert_eq!(
            (reply.status, reply.headers["content-type"].to_str().unwrap()),
            (status, "application/problem+json"),
            "{body}"
        );
    }
    let batch = json!({"documents": [{"text": "picture 3"}, {"text": "x", "document_id": "5"}]});
    let said = server.post("/v1/projects/model/suggest-batch?limit=4", &batch).well();
    assert_eq!(said[0]["results"], json!(results));
    assert_eq!(said[1]["document_id"], "5");
    let many = json!({"documents": vec![json!({"text": "picture 3"}); 33]});
    assert_eq!(server.post("/v1/projects/model/suggest-batch", &many).status, StatusCode::BAD_REQUEST);
    assert_eq!(server.get("/v1/projects/none").status, StatusCode::NOT_FOUND);
}

const CONFIG: &str = "<View><Text name=\"text\" value=\"$text\"/><Choices name=\"tags\" toName=\"text\" choice=\"multiple\">\
                      <Choice value=\"sea\"/><Choice value=\"beach\" alias=\"strand\"/></Choices></View>";

#[test]
fn label_studio_gets_predictions_and_its_annotations_are_answers() {
    for complete in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (server, set) = others(folder.path(), complete);
        let at = |call: &str| format!("/label-studio/s3cret-token/{call}");
        assert_eq!(server.get(&at("health")).well()["status"], "UP");
        assert_eq!(server.get("/label-studio/s3cret-tokeN/health").status, StatusCode::NOT_FOUND);
        let setup = json!({"project": "1.2", "schema": CONFIG, "access_token": "secret"});
        let version = server.post(&at("setup"), &setup).well()["model_version"].clone();
        assert!(version.as_str().unwrap().starts_with("model@"));
        assert_eq!(server.get(&at("versions")).well()["versions"], json!([version]));
        let fields: Value = (0..set.features.cols())
            .map(|j| (set.columns.names[j].clone(), set.features.value(2, j).into()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let tasks = json!([{"id": 1, "data": fields}, {"id": 2, "data": {"id": "3"}}, {"id": 3, "data": {"text": "picture 2"}}, {"id": 4, "data": {}}]);
        let said =
            server.post(&at("predict"), &json!({"tasks": tasks, "project": "1.2", "label_config": CONFIG})).well();
        let results = said["results"].as_array().unwrap();
        assert_eq!(results.len(), 4);
        let one = &results[0];
        assert_eq!((&one["model_version"], &one["result"][0]["from_name"]), (&version, &json!("tags")));
        assert!(one["score"].as_f64().is_some_and(|score| (0.0..=1.0).contains(&score)));
        // the same item by its features, its id and its text
        assert!(results[1] == *one && results[2] == *one && results[3]["result"] == json!([]));
        for choice in one["result"][0]["value"]["choices"].as_array().unwrap() {
            assert!(["sea", "strand"].contains(&choice.as_str().unwrap()));
        }

        let annotation = |choices: Value| {
            json!({"id": 9, "completed_by": {"email": "ann@example.org"}, "was_cancelled": false,
            "result": [{"type": "choices", "value": {"choices": choices}}]})
        };
        let hook = |action: &str, annotation: Value| {
            let task = json!({"data": {"id": "3"}});
            let body =
                json!({"action": action, "annotation": annotation, "task": task, "project": {"label_config": CONFIG}});
            let reply = server.post(&at("webhook"), &body);
            assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text);
        };
        let bearer = [("authorization", "Bearer s3cret-token")];
        let votes = || {
            let text = server.send("GET", "/api/v1/export?format=csv&votes=all", &bearer, b"").text;
            text.lines().filter(|line| line.ends_with(",1,ann@example.org")).map(str::to_owned).collect::<Vec<_>>()
        };
        hook("ANNOTATION_CREATED", annotation(json!(["sea", "strand"])));
        let mut first = votes();
        first.sort();
        assert_eq!(first, ["3,beach,1,ann@example.org", "3,sea,1,ann@example.org"]);
        let lines = || std::fs::read_to_string(folder.path().join("answers.jsonl")).unwrap().lines().count();
        assert_eq!(lines(), if complete { 1 + set.labels.len() } else { 3 });
        hook("ANNOTATION_UPDATED", annotation(json!(["sea"])));
        assert_eq!(votes(), ["3,sea,1,ann@example.org"]);
        hook("TASKS_CREATED", json!([]));
        let gone = json!({"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 9}]});
        assert_eq!(server.post(&at("webhook"), &gone).status, StatusCode::CREATED);
        assert_eq!(server.send("GET", "/api/v1/export?format=csv&votes=all", &bearer, b"").text, "");
        assert!(!std::fs::read_to_string(folder.path().join("answers.jsonl")).unwrap().contains("secret"));
    }
}

/// What Label Studio tells of annotations, taken down in memory: of each label who says what of it, the last at the end.
#[derive(Default)]
struct Told(std::collections::BTreeMap<&'static str, Vec<(u64, bool)>>);

impl Told {
    fn annotated(&mut self, id: u64, chosen: &[&str], complete: bool) {
        for label in ["sea", "beach"] {
            let own = self.0.entry(label).or_default();
            let yes = chosen.contains(&label);
            if (yes || complete) && own.contains(&(id, yes)) {
                continue;
            }
            own.retain(|entry| entry.0 != id);
            own.extend((yes || complete).then_some((id, yes)));
        }
    }

    fn deleted(&mut self, ids: &[u64]) {
        self.0.values_mut().for_each(|own| own.retain(|entry| !ids.contains(&entry.0)));
    }

    /// What stands.
    fn stands(&self) -> Vec<String> {
        let last = self.0.iter().filter_map(|(label, own)| Some((label, own.last()?.1)));
        last.map(|(label, yes)| format!("3,{label},{},ann@example.org", u8::from(yes))).collect()
    }
}

#[test]
fn an_annotation_that_is_deleted_takes_back_what_it_said_and_nothing_that_another_says_too() {
    for complete in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (mut server, _) = others(folder.path(), complete);
        server.headers.push(("authorization", "Bearer s3cret-token".into()));
        let hook = |body: Value| {
            let reply = server.post("/label-studio/s3cret-token/webhook", &body);
            assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text);
        };
        let (mut told, mut random) = (Told::default(), ordain::random::Random::new(3));
        for n in 0..super::cases::cases(40) {
            let id = random.below(4) as u64;
            if random.below(3) == 0 {
                let ids: Vec<u64> = if random.below(2) == 0 { vec![id] } else { vec![id, (id + 1) % 4] };
                let gone: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
                hook(json!({"action": "ANNOTATIONS_DELETED", "annotations": gone}));
                told.deleted(&ids);
            } else {
                let chosen: Vec<&str> = ["sea", "beach"].into_iter().filter(|_| random.below(2) == 0).collect();
                let choices: Vec<&str> =
                    chosen.iter().map(|label| if *label == "beach" { "strand" } else { *label }).collect();
                let annotation = json!({"id": id, "completed_by": {"email": "ann@example.org"}, "was_cancelled": false,
                    "result": [{"type": "choices", "value": {"choices": choices}}]});
                let action = if n % 2 == 0 { "ANNOTATION_CREATED" } else { "ANNOTATION_UPDATED" };
                hook(
                    json!({"action": action, "annotation": annotation, "task": {"data": {"id": "3"}}, "project": {"label_config": CONFIG}}),
                );
                told.annotated(id, &chosen, complete);
            }
            let text = server.get("/api/v1/export?format=csv&votes=all").text;
            let mut stands: Vec<String> = text
                .lines()
                .filter(|line| ["sea", "beach"].contains(&line.split(',').nth(1).unwrap()))
                .map(str::to_owned)
                .collect();
            stands.sort();
            assert_eq!(stands, told.stands(), "{complete} {n}");
        }
    }
}

#[test]
fn what_clients_of_annif_teach_is_written_if_that_is_wanted_and_all_of_it_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, _) = others(folder.path(), false);
    server.headers.push(("authorization", "Bearer s3cret-token".into()));
    let (path, document) =
        ("/v1/projects/model/learn", |text: &str, uri: &str| json!({"text": text, "subjects": [{"uri": uri}]}));
    let right = document("picture 3", "http://example.org/sea");
    assert_eq!(server.post(path, &json!([right])).status, StatusCode::FORBIDDEN);
    drop(server);
    let mut server = session(folder.path(), |config| {
        let own = config.labelling.as_mut().unwrap();
        (own.items, own.show) = (folder.path().join("shown.csv"), vec!["title".into()]);
        config.annif = Some((folder.path().join("vocabulary.tsv"), "en".into()));
        config.accept_learn = true;
    });
    server.headers.push(("x-annotator", "ann".into()));
    for (wrong, says) in [
        (json!({}), "a list of documents"),
        (
            json!([right, document("another text", "http://example.org/sea")]),
            "document 2: expected the text of an item",
        ),
        (json!([right, document("picture 4", "http://example.org/none")]), "subjects of the vocabulary"),
    ] {
        let reply = server.post(path, &wrong);
        assert!(reply.status == StatusCode::BAD_REQUEST && reply.text.contains(says), "{}", reply.text);
    }
    let votes = || server.get("/api/v1/export?format=csv&votes=all").text;
    assert_eq!(votes(), "");
    let reply = server.post(path, &json!([right, document("picture 5", "http://example.org/beach")]));
    assert_eq!((reply.status, &*reply.text), (StatusCode::NO_CONTENT, ""));
    assert_eq!(votes(), "item,label,answer,by\n4,sea,1,annif\n6,beach,1,annif\n");
}
