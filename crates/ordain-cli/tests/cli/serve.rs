//! `ordain serve` as a process: it listens, ends when it is asked to, and loses no answer that it acknowledged.

#![cfg(unix)]

use crate::cases::cases;
use crate::golden::{golden_json, golden_lines};
use crate::support::{Place, command, hangups_are_ignored, ordain, well};
use ordain::data::synthetic::Scenes;
use ordain::data::write_labels;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};

/// A server that runs.
struct Server {
    child: Child,
    err: BufReader<ChildStderr>,
    address: String,
    token: String,
}

impl Server {
    /// Starts it at a free port, and waits until it listens.
    fn start(words: &[&str]) -> Self {
        Self::of(command(&[&["serve", "--bind", "127.0.0.1:0"], words].concat()))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let (address, token) = loop {
            let mut line = String::new();
            assert!(err.read_line(&mut line).unwrap() > 0, "it ended: {said}");
            if let Some((_, rest)) = line.split_once("http://") {
                let token = rest.split_once("#token=").map_or("", |(_, token)| token.trim());
                break (rest.split('/').next().unwrap().to_owned(), token.to_owned());
            }
            said += &line;
        };
        Self { child, err, address, token }
    }

    /// Status and body of a request; nothing where the connection broke.
    fn send(&self, head: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let (host, size, token) = (&self.address, body.len(), &self.token);
        let text = format!(
            "{head} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).ok()?;
        let mut reply = vec![];
        stream.read_to_end(&mut reply).ok()?;
        let reply = String::from_utf8_lossy(&reply);
        let status = reply.split(' ').nth(1)?.parse().ok()?;
        Some((status, reply.split_once("\r\n\r\n")?.1.to_owned()))
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        Command::new("kill").args([name, &pid]).stderr(Stdio::null()).status().unwrap();
    }

    /// Waits for the end: the exit code, and what was said.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.err.read_to_string(&mut said).unwrap();
        assert!(!said.contains("panicked"), "{said}");
        (self.child.wait().unwrap().code(), said)
    }
}

/// A folder with items and a model of them.
fn labelled() -> Place {
    let place = Place::empty();
    let set = Scenes { items: 40, labels: 12, ..Scenes::default() }.make();
    write_labels(&set, &place.path().join("items.csv")).unwrap();
    let names = set.labels.join(",");
    well(&["fit", "independent", &place.at("items.csv"), "-o", &place.at("model.ordain"), "--labels", &names]);
    place
}

fn session(place: &Place) -> Vec<String> {
    let words = ["--items", &place.at("items.csv"), "--answers", &place.at("answers.jsonl"), "--token", "none"];
    let strategy = ["--strategy", "entropy"];
    [&place.at("model.ordain")[..]].iter().chain(&words).chain(&strategy).map(|word| (*word).to_owned()).collect()
}

fn started(place: &Place) -> Server {
    let words = session(place);
    Server::start(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn it_serves_reads_again_and_ends_with_0() {
    let place = Place::trained();
    let server = Server::start(&[&format!("{}=m", place.at("model.ordain")), "--token", "none"]);
    assert_eq!(server.send("GET /healthz", "").unwrap().0, 200);
    let version = |server: &Server| {
        let (_, text) = server.send("GET /api/v1/models/m", "").unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["version"].clone()
    };
    let before = version(&server);
    well(&["fit", "ranksvm", &place.at("test.txt"), "-o", &place.at("model.ordain"), "--set=lambda=0.5"]);
    let mut server = server;
    if !hangups_are_ignored() {
        server.signal("-HUP");
        let mut line = String::new();
        server.err.read_line(&mut line).unwrap();
        assert!(line.contains("in the place of"), "{line}");
        assert_ne!(version(&server), before);
    }
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(0));
}

/// What the server says is what `--json` prints, field for field: both have the same golden files.
#[test]
fn the_documents_are_those_of_the_command() {
    let place = Place::trained();
    let (pairs, mut config) = (crate::matches::trained(), vec![]);
    config.extend([format!("{}=r", place.at("model.ordain")), format!("{}=m", pairs.at("model.ordain"))]);
    let server = Server::start(&[&config[0], &config[1], "--token", "none"]);
    let post = |path: &str, body: &Value| -> Value {
        let (status, text) = server.send(&format!("POST /api/v1/models/{path}"), &body.to_string()).unwrap();
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    };
    let row = |features: &ordain::matrix::Features, i: usize| -> Value {
        let cell = |x: f32| if x.is_nan() { Value::Null } else { x.into() };
        (0..features.cols()).map(|j| cell(features.value(i, j))).collect()
    };
    let set = ordain::data::read(place.path().join("test.txt")).unwrap();
    let item = |i: usize| json!({"id": set.document(i), "row": row(&set.features, i)});
    let query = |q: usize| json!({"id": set.query(q), "items": set.span(q).map(item).collect::<Vec<_>>()});
    let queries: Vec<Value> = (0..set.len()).map(query).collect();
    golden_lines("predict.jsonl", post("r/rank", &json!({"queries": queries}))["queries"].as_array().unwrap());
    let why = post("r/explain", &json!({"queries": queries, "explain": {"query": "q3"}}));
    golden_json("explain.json", &why["explanation"]);
    let reading = ordain::data::MatchReading::default();
    let (set, _) = ordain::data::read_matches(&[vec![pairs.path().join("test.csv")]], &reading).unwrap();
    let problem = |p: usize| {
        let own = set.problem(p);
        let edge = |(e, &(i, j)): (usize, &(u32, u32))| {
            let (left, right) = (&own.left[i as usize], &own.right[j as usize]);
            json!({"left": left, "right": right, "row": row(&set.features, set.span(p).start + e)})
        };
        json!({"id": own.name, "edges": own.edges.iter().enumerate().map(edge).collect::<Vec<_>>()})
    };
    let problems: Vec<Value> = (0..set.len()).map(problem).collect();
    let mut said = post("m/match", &json!({"problems": problems}));
    let said = said["problems"].as_array_mut().unwrap();
    for matched in said.iter_mut().flat_map(|problem| problem["matches"].as_array_mut().unwrap()) {
        matched.as_object_mut().unwrap().remove("margin"); // as in the test of the command
    }
    golden_lines("matches_predict.jsonl", said);
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(0));
}

/// The sockets of a process by `/proc`: the local and the other port of each, of all kinds that reach other machines.
#[cfg(target_os = "linux")]
fn sockets(pid: u32) -> Vec<(u16, u16)> {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = links.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    let own: HashSet<String> =
        links.filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())).collect();
    let mut found = vec![];
    for kind in ["tcp", "tcp6", "udp", "udp6", "raw", "raw6"] {
        let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/net/{kind}")) else { continue };
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let port = |word: &str| u16::from_str_radix(word.rsplit(':').next().unwrap(), 16).unwrap();
            if own.contains(words[9]) {
                found.push((port(words[1]), port(words[2])));
            }
        }
    }
    found
}

/// Whatever it is asked, every socket of the server is at the port where it listens: it calls nobody.
#[cfg(target_os = "linux")]
#[test]
fn it_calls_nobody() {
    let place = labelled();
    let server = started(&place);
    let port: u16 = server.address.rsplit(':').next().unwrap().parse().unwrap();
    let mut most = 0;
    let mut look = || {
        let all = sockets(server.child.id());
        assert!(all.contains(&(port, 0)), "{all:?}");
        assert!(all.iter().all(|(own, _)| *own == port), "{all:?}");
        most = most.max(all.len());
    };
    look();
    let open = TcpStream::connect(&server.address).unwrap();
    assert_eq!(server.send("GET /healthz", "").unwrap().0, 200);
    look();
    let labels = Scenes { items: 40, labels: 12, ..Scenes::default() }.make().labels;
    for (n, label) in labels.iter().enumerate() {
        let body = json!({"key": format!("k{n}"), "item": "1", "label": label, "answer": true});
        assert_eq!(server.send("POST /api/v1/answers", &body.to_string()).unwrap().0, 200);
        look();
    }
    // a connection that is open is seen, so that one to elsewhere would be
    assert!(most > 1);
    drop(open);
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn the_demo_serves_pictures_that_it_draws() {
    let place = Place::empty();
    let server = Server::of(command(&["demo", "serve", "--out", &place.at("demo"), "--bind", "127.0.0.1:0"]));
    let get = |path: &str| {
        let (status, text) = server.send(&format!("GET {path}"), "").unwrap();
        assert_eq!(status, 200, "{path}: {text}");
        text
    };
    let session: Value = serde_json::from_str(&get("/api/v1/session")).unwrap();
    assert_eq!((&session["items"], &session["labels"]), (&json!(60), &json!(8)));
    let list: Value = serde_json::from_str(&get("/api/v1/items?n=60")).unwrap();
    let mut asked = HashSet::new();
    for item in list["items"].as_array().unwrap() {
        let item: Value =
            serde_json::from_str(&get(&format!("/api/v1/items/{}", item["item"].as_str().unwrap()))).unwrap();
        asked.insert(item["question"]["label"].as_str().unwrap().to_owned());
        if asked.len() == 1 {
            assert!(get(item["show"]["image"].as_str().unwrap()).starts_with("BM"));
        }
    }
    // the model has something to ask of every kind of picture
    assert!(asked.len() > 3, "{asked:?}");
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(0));
}

/// The file is looked at again and again: a model that is put there is served without a word.
#[test]
fn a_watched_file_is_served_when_it_changes() {
    let place = Place::trained();
    let mut server = Server::start(&[&format!("{}=m", place.at("model.ordain")), "--token", "none", "--watch"]);
    well(&["fit", "ranksvm", &place.at("test.txt"), "-o", &place.at("model.ordain"), "--set=lambda=0.5"]);
    let mut line = String::new();
    server.err.read_line(&mut line).unwrap();
    assert!(line.starts_with("m: ") && line.contains("in the place of"), "{line}");
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn a_token_is_made_up_and_said_once() {
    let place = Place::trained();
    let server = Server::start(&[&place.at("model.ordain")]);
    assert!(server.token.is_empty());
    assert_eq!(server.send("GET /api/v1/models", "").unwrap().0, 401);
    server.signal("-INT");
    assert_eq!(server.end().0, Some(0));
    ordain(&["serve", &place.at("model.ordain"), "--token", "none", "--bind", "0.0.0.0:0"])
        .code(2)
        .says("--token none");
    ordain(&["serve", &place.at("model.ordain"), "--token", &place.write("t", "short\n")]).code(2).says("8 characters");
    ordain(&["serve", &format!("{}=a b", place.at("model.ordain"))]).code(2).says("MODEL=NAME");
    ordain(&[
        "serve",
        &place.at("model.ordain"),
        "--items",
        &place.at("test.txt"),
        "--answers",
        &place.at("model.ordain"),
    ])
    .code(1)
    .says("another name for the output");
}

#[test]
fn other_programs_are_served_when_they_are_wanted() {
    let place = labelled();
    let model = place.at("model.ordain");
    let words = place.write("v.tsv", "<http://example.org/sea>\tsea\n");
    for (more, complete) in [("--label-studio", false), ("--label-studio=complete", true)] {
        let answers = place.at(&format!("{complete}.jsonl"));
        let annif = ["--annif", "--vocabulary", &words, "--language", "fi"];
        let data = ["--items", &place.at("items.csv"), "--answers", &answers, "--token", "none"];
        let server = Server::start(&[&[&model[..], more][..], &annif, &data].concat());
        let (_, project) = server.send("GET /v1/projects/model", "").unwrap();
        assert_eq!(serde_json::from_str::<Value>(&project).unwrap()["language"], "fi");
        let done = json!({"action": "ANNOTATION_CREATED", "task": {"data": {"id": "3"}}, "annotation": {
            "id": 1, "completed_by": 1, "result": [{"type": "choices", "value": {"choices": ["sand"]}}]}});
        assert_eq!(server.send("POST /label-studio/none/webhook", &done.to_string()).unwrap().0, 201);
        server.signal("-TERM");
        let (code, said) = server.end();
        assert!(code == Some(0) && said.contains("ML_BLOCK_LOCAL_IP=false"), "{said}");
        let lines = std::fs::read_to_string(answers).unwrap().lines().count();
        assert_eq!(lines, if complete { 13 } else { 2 });
    }
    let server = Server::start(&[&model, "--token", "none"]);
    for route in ["GET /v1/projects", "GET /label-studio/none/health"] {
        assert_eq!(server.send(route, "").unwrap().0, 404, "{route}");
    }
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(0));
    ordain(&["serve", &model, "--annif"]).code(2).says("--vocabulary");
    let wrong = place.write("w.tsv", "sea\n");
    ordain(&["serve", &model, "--annif", "--vocabulary", &wrong]).code(1).says("w.tsv");
}

/// Killed at any moment: every answer that was acknowledged is there, none twice, and the file is taken up again.
#[test]
fn an_acknowledged_answer_survives_a_kill() {
    let place = labelled();
    let labels = Scenes { items: 40, labels: 12, ..Scenes::default() }.make().labels;
    let mut acknowledged: HashSet<String> = HashSet::new();
    let mut random = ordain::random::Random::new(5);
    let mut n = 0;
    for _ in 0..cases(5) {
        let server = started(&place);
        let last = random.below(12);
        let mut said = 0;
        loop {
            let key = format!("k{n}");
            let (item, label) = (n % 40 + 1, n / 40 % 12);
            n += 1;
            let body = json!({"key": key, "item": item.to_string(), "label": labels[label], "answer": n % 2 == 0});
            if said == last {
                // the kill and the answer race each other
                let pid = server.child.id().to_string();
                let killer = std::thread::spawn(move || Command::new("kill").args(["-9", &pid]).status().unwrap());
                if server.send("POST /api/v1/answers", &body.to_string()).is_some_and(|(status, _)| status == 200) {
                    acknowledged.insert(key);
                }
                killer.join().unwrap();
                break;
            }
            let (status, text) = server.send("POST /api/v1/answers", &body.to_string()).unwrap();
            assert_eq!(status, 200, "{text}");
            acknowledged.insert(key);
            said += 1;
        }
        assert_eq!(server.end().0, None);
    }
    let server = started(&place);
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(0));
    let lines: Vec<Value> =
        place.read("answers.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let keys: Vec<String> = lines.iter().filter_map(|line| Some(line["key"].as_str()?.to_owned())).collect();
    let different: HashSet<String> = keys.iter().cloned().collect();
    assert_eq!(keys.len(), different.len());
    assert!(acknowledged.is_subset(&different));
}

/// Two servers on one file: the second is refused.
#[test]
fn one_server_writes_to_a_file() {
    let place = labelled();
    let server = started(&place);
    let words = [&["serve".to_owned(), "--bind".into(), "127.0.0.1:0".into()][..], &session(&place)].concat();
    ordain(&words.iter().map(String::as_str).collect::<Vec<_>>()).code(1).says("nobody else writes");
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(0));
}

/// A file that cannot grow is a disk that is full: answers are refused, those before are there, and the server says that it is not ready.
#[test]
fn a_full_disk_refuses_answers_and_keeps_those_before() {
    let place = labelled();
    let labels = Scenes { items: 40, labels: 12, ..Scenes::default() }.make().labels;
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_ordain")]);
    let words = session(&place);
    limited.args(["serve", "--bind", "127.0.0.1:0"]).args(&words).stdin(Stdio::null()).env("NO_COLOR", "1");
    let server = Server::of(limited);
    assert_eq!(server.send("GET /readyz", "").unwrap().0, 200);
    let mut well = 0;
    let refused = labels.iter().cycle().zip(0..60).find_map(|(label, n)| {
        let body = json!({"key": format!("k{n}"), "item": (n / 12 + 1).to_string(), "label": label, "answer": true});
        let (status, text) = server.send("POST /api/v1/answers", &body.to_string()).unwrap();
        well += usize::from(status == 200);
        (status != 200).then_some((status, text))
    });
    let (status, text) = refused.expect("2 KiB hold no 60 answers");
    assert_eq!(status, 507, "{text}");
    assert_eq!(server.send("GET /readyz", "").unwrap().0, 503);
    let (_, session) = server.send("GET /api/v1/session", "").unwrap();
    let session: Value = serde_json::from_str(&session).unwrap();
    assert_eq!(session["progress"]["answers"], well);
    assert!(session["read_only"].is_string());
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(0));
    let text = place.read("answers.jsonl");
    assert!(text.ends_with('\n') && text.lines().count() == 1 + well, "{text}");
}
