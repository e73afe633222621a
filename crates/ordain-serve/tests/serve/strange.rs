//! Requests that somebody damaged: whatever comes, no answer is a fault of the server, and every refusal is a document.

use super::cases::cases;
use super::{fitted, scenes, session};
use axum::http::{HeaderName, HeaderValue, Request, StatusCode, Uri};
use ordain::method::CStar;
use ordain::random::Random;
use ordain_serve::LabelStudio;
use serde_json::{Value, json};

/// A request that is right.
struct Right {
    method: &'static str,
    path: String,
    kind: &'static str,
    body: String,
}

/// One request of each route that takes something, and some that take nothing.
fn right(names: &[String], set: &ordain::data::LabelSet) -> Vec<Right> {
    let values: Vec<f32> = (0..set.features.cols()).map(|j| set.features.value(0, j)).collect();
    let features: Value =
        names.iter().cloned().zip(values.iter().map(|x| Value::from(*x))).collect::<serde_json::Map<_, _>>().into();
    let row = json!(values);
    let label = &set.labels[0];
    let config =
        "<View><Choices name=\"tags\" toName=\"text\" choice=\"multiple\"><Choice value=\"sea\"/></Choices></View>";
    let annotation = json!({"id": 1, "completed_by": {"email": "a@b"}, "result": [{"type": "choices", "value": {"choices": [label]}}]});
    let tensor = json!({"name": "X", "datatype": "FP32", "shape": [1, values.len()], "data": values});
    let json = |path: &str, body: Value| Right {
        method: "POST",
        path: path.into(),
        kind: "application/json",
        body: body.to_string(),
    };
    let get = |path: &str| Right { method: "GET", path: path.into(), kind: "", body: String::new() };
    let form = Right {
        method: "POST",
        path: "/v1/projects/model/suggest".into(),
        kind: "application/x-www-form-urlencoded",
        body: "text=picture+3&limit=4&threshold=0.1&language=en".into(),
    };
    let studio = |call: &str| format!("/label-studio/any/{call}");
    vec![
        json(
            "/api/v1/models/model/annotate",
            json!({"items": [{"id": "7", "features": features}, {"row": row}], "top": 3}),
        ),
        json("/api/v1/models/model/explain", json!({"items": [{"id": "7", "row": row}], "explain": {"item": "7"}})),
        json(
            "/api/v1/models/model/rank",
            json!({"queries": [{"id": 1, "items": [{"row": row}]}], "rules": {"pins": [{"document": "a", "place": 1}]}}),
        ),
        json(
            "/api/v1/answers",
            json!({"key": "k", "item": "1", "label": label, "answer": true, "seen": 0, "asked": true, "ms": 9}),
        ),
        json("/api/v1/undo", json!({"key": "u"})),
        json("/api/v1/redo", json!({"key": "r"})),
        json("/v2/models/model/infer", json!({"id": "1", "inputs": [tensor], "outputs": [{"name": "probability"}]})),
        json(
            "/v1/projects/model/suggest-batch?limit=3",
            json!({"documents": [{"text": "picture 3", "document_id": "1"}]}),
        ),
        json("/v1/projects/model/learn", json!([{"text": "picture 3", "subjects": [{"uri": "http://example.org/a"}]}])),
        json(&studio("setup"), json!({"project": "1.2", "schema": config})),
        json(
            &studio("predict"),
            json!({"tasks": [{"id": 1, "data": {"id": "3"}}, {"id": 2, "data": features}], "label_config": config}),
        ),
        json(
            &studio("webhook"),
            json!({"action": "ANNOTATION_CREATED", "annotation": annotation, "task": {"data": {"id": "3"}}, "project": {"label_config": config}}),
        ),
        json(&studio("webhook"), json!({"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 1}]})),
        form,
        get("/api/v1/session"),
        get("/api/v1/items?state=open&after=3&n=50"),
        get("/api/v1/items/3?left=a&right=b"),
        get("/api/v1/labels?q=bo&n=30&item=3"),
        get("/api/v1/export?format=labelstudio&votes=all"),
        get("/media/a.png"),
        get("/v2/models/model/versions/1/ready"),
        get("/metrics"),
    ]
}

/// Texts that programs stumble over.
const WORDS: [&str; 24] = [
    "null",
    "true",
    "-1",
    "1e999",
    "18446744073709551616",
    "-9223372036854775809",
    "NaN",
    "[]",
    "{}",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "<img src=x onerror=alert(1)>",
    "'; DROP TABLE x; --",
    "../../etc/passwd",
    "%00",
    "%ff",
    "\r\nX-Evil: 1",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    "\u{202e}\u{feff}",
    "\"id\":\"7\",",
    "{{7*7}}",
    "=1+1",
    "99999999999999999999999999999",
];

/// Damages bytes: some are changed, left out, doubled, or have a word put between them.
fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len() + 1);
        let end = (at + 1 + random.below(12)).min(bytes.len());
        match random.below(6) {
            0 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            1 => drop(bytes.drain(at..end)),
            2 => {
                let twice = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, twice));
            }
            3 if !bytes.is_empty() => bytes.truncate(at),
            // a whole value of JSON, where one stands
            4 => {
                let is_end = |byte: &u8| b",]}&".contains(byte);
                let from = bytes[..at].iter().rposition(|byte| b":[,=".contains(byte)).map_or(0, |at| at + 1);
                let to = bytes[from..].iter().position(is_end).map_or(bytes.len(), |at| from + at);
                drop(bytes.splice(from..to, WORDS[random.below(WORDS.len())].bytes()));
            }
            _ => drop(bytes.splice(at..at, WORDS[random.below(WORDS.len())].bytes())),
        }
    }
    bytes
}

#[test]
fn damaged_requests_are_refused_and_never_a_fault_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut set = scenes(folder.path());
    set.columns.roles.ignore = vec!["title".into()];
    fitted(&CStar::independent(), &set, &folder.path().join("model"));
    let text = std::fs::read_to_string(folder.path().join("items.csv")).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    let shown: String = rows.lines().enumerate().map(|(i, row)| format!("picture {i},{row}\n")).collect();
    std::fs::write(folder.path().join("shown.csv"), format!("title,{head}\n{shown}")).unwrap();
    let subjects: String = set.labels.iter().map(|label| format!("<http://example.org/{label}>\t{label}\n")).collect();
    std::fs::write(folder.path().join("vocabulary.tsv"), subjects).unwrap();
    let server = session(folder.path(), |config| {
        let own = config.labelling.as_mut().unwrap();
        (own.items, own.show) = (folder.path().join("shown.csv"), vec!["title".into()]);
        own.media = Some(folder.path().to_path_buf());
        config.annif = Some((folder.path().join("vocabulary.tsv"), "en".into()));
        config.accept_learn = true;
        config.label_studio = Some(LabelStudio::default());
    });
    let all = right(&set.columns.names, &set);
    for one in &all {
        let headers: &[(&str, &str)] = if one.kind.is_empty() { &[] } else { &[("content-type", one.kind)] };
        let reply = server.send(one.method, &one.path, headers, one.body.as_bytes());
        assert!(reply.status.as_u16() < 500, "{} {}: {}", one.method, one.path, reply.text);
    }
    let mut random = Random::new(7);
    let mut counts = std::collections::BTreeMap::new();
    for n in 0..cases(1500) {
        let one = &all[n as usize % all.len()];
        let (mut path, mut body, mut kind) =
            (one.path.clone().into_bytes(), one.body.clone().into_bytes(), one.kind.as_bytes().to_vec());
        match random.below(8) {
            0 => path = damaged(&path, &mut random),
            1 => kind = damaged(&kind, &mut random),
            _ if body.is_empty() => path = damaged(&path, &mut random),
            _ => body = damaged(&body, &mut random),
        }
        // what no client can send is no request
        let Ok(path) = String::from_utf8(path) else { continue };
        let Ok(kind) = HeaderValue::from_bytes(&kind) else { continue };
        let method = if random.below(20) == 0 {
            ["PUT", "DELETE", "GET", "POST", "OPTIONS"][random.below(5)]
        } else {
            one.method
        };
        let name = HeaderValue::from_bytes(&damaged(b"Zo%C3%AB", &mut random)).ok();
        if Request::builder().method(method).uri(&path).body(()).is_err() {
            continue;
        }
        let mut headers = vec![(HeaderName::from_static("content-type"), kind)];
        headers
            .extend(name.filter(|_| random.below(10) == 0).map(|name| (HeaderName::from_static("x-annotator"), name)));
        let reply = server.send_bytes(method, &path, &headers, &body);
        let shown = || format!("{method} {path} {headers:?} {:?}: {}", String::from_utf8_lossy(&body), reply.text);
        assert!(reply.status.as_u16() < 500 || reply.status == StatusCode::SERVICE_UNAVAILABLE, "{}", shown());
        let kind = reply.headers.get("content-type").map_or("", |kind| kind.to_str().unwrap());
        if reply.status.as_u16() >= 400 {
            assert!(["application/problem+json", "application/json"].contains(&kind), "{kind} {}", shown());
            assert!(reply.json().is_object(), "{}", shown());
        } else if !["/", "/static/index.html"].contains(&path.parse::<Uri>().unwrap().path()) {
            assert!(!kind.starts_with("text/html"), "{kind} {}", shown());
        }
        assert!(
            reply.headers.contains_key("content-security-policy") && !reply.headers.contains_key("x-evil"),
            "{}",
            shown()
        );
        *counts.entry(reply.status.as_u16()).or_insert(0u32) += 1;
    }
    eprintln!("{counts:?}");
    // and the answers that were written are whole
    drop(server);
    let text = std::fs::read_to_string(folder.path().join("answers.jsonl")).unwrap();
    for line in text.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
    }
    drop(session(folder.path(), |config| {
        let own = config.labelling.as_mut().unwrap();
        (own.items, own.show) = (folder.path().join("shown.csv"), vec!["title".into()]);
    }));
}
