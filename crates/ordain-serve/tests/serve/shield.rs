//! What is refused before any route, and what every answer says.

use super::{config, fitted, three};
use axum::http::StatusCode;
use ordain::data::synthetic::Synthetic;
use ordain::method::RankSvm;
use ordain_serve::Access;
use serde_json::{Value, json};

#[test]
fn hosts_origins_kinds_and_sizes_are_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = three(folder.path());
    assert_eq!(server.get("/healthz").well()["status"], "ok");
    assert_eq!(server.get("/readyz").well()["status"], "ready");
    server.headers.clear();
    let status = |path: &str, headers: &[(&str, &str)]| server.send("GET", path, headers, b"").status;
    for (host, known) in [
        ("127.0.0.1:8080", true),
        ("localhost", true),
        ("[::1]:8080", true),
        ("10.1.2.3", true),
        ("evil.example", false),
        ("localhost.evil.example:8080", false),
        ("127.0.0.1.evil.example", false),
        ("", false),
    ] {
        let expected = if known { StatusCode::OK } else { StatusCode::MISDIRECTED_REQUEST };
        assert_eq!(status("/healthz", &[("host", host)]), expected, "{host}");
    }
    assert_eq!(status("/healthz", &[]), StatusCode::BAD_REQUEST);
    assert_eq!(status("/healthz", &[("host", "localhost"), ("host", "localhost")]), StatusCode::MISDIRECTED_REQUEST);
    for (origin, expected) in [
        ("http://localhost", StatusCode::OK),
        ("http://evil.example", StatusCode::FORBIDDEN),
        ("http://localhost.evil.example", StatusCode::FORBIDDEN),
        ("null", StatusCode::FORBIDDEN),
    ] {
        assert_eq!(status("/healthz", &[("host", "localhost"), ("origin", origin)]), expected, "{origin}");
    }
    let host = ("host", "localhost");
    let post =
        |headers: &[(&str, &str)], body: &[u8]| server.send("POST", "/api/v1/models/r/rank", headers, body).status;
    assert_eq!(post(&[host], b"{}"), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    // what a form of another page could send
    assert_eq!(post(&[host, ("content-type", "text/plain")], b"{}"), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let kind = ("content-type", "application/json; charset=utf-8");
    assert_eq!(post(&[host, kind], &vec![b' '; (8 << 20) + 1]), StatusCode::PAYLOAD_TOO_LARGE);
    // depth is bounded by what is read
    assert_eq!(post(&[host, kind], &[b'['; 100_000]), StatusCode::BAD_REQUEST);
    let rows = vec![json!({"row": []}); 10_001];
    let body = json!({"queries": [{"items": rows}]}).to_string();
    assert!(
        [StatusCode::UNPROCESSABLE_ENTITY, StatusCode::PAYLOAD_TOO_LARGE]
            .contains(&post(&[host, kind], body.as_bytes()))
    );
    for path in
        ["/static/../Cargo.toml", "/static/%2e%2e%2fCargo.toml", "/static/..%2f..%2fetc%2fpasswd", "/etc/passwd"]
    {
        assert_eq!(status(path, &[host]), StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(server.send("DELETE", "/healthz", &[host], b"").status, StatusCode::METHOD_NOT_ALLOWED);
}

/// As many requests as there are processors work, so many wait, and the next one is told to come back.
#[test]
fn a_full_queue_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r");
    fitted(&RankSvm::default(), &Synthetic { queries: 20, ..Synthetic::default() }.make(), &file);
    let mut config = config(vec![("r".into(), file)]);
    config.limits.waiting = 2;
    let server = super::Server::new(config);
    let threads = rayon::current_num_threads();
    // everything that works is held up, until the other end of the channel is gone
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Arc::new(std::sync::Mutex::new(held));
    for _ in 0..threads {
        let held = held.clone();
        rayon::spawn(move || _ = held.lock().unwrap().recv());
    }
    let statuses = server.at_once(threads + 3, "/api/v1/models/r/rank", &json!({"queries": []}), || drop(release));
    let count = |status: StatusCode| statuses.iter().filter(|own| **own == status).count();
    assert_eq!((count(StatusCode::OK), count(StatusCode::SERVICE_UNAVAILABLE)), (threads + 2, 1));
    assert!(server.get("/metrics").text.contains("ordain_queue_full_total 1\n"));
}

#[test]
fn a_token_is_needed_for_all_but_health() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r");
    fitted(&RankSvm::default(), &Synthetic { queries: 20, ..Synthetic::default() }.make(), &file);
    let mut config = config(vec![("r".into(), file)]);
    config.access = Access::Tokens(vec![(None, "0123456789".into()), (Some("ann".into()), "abcdefghij".into())]);
    let server = super::Server::new(config);
    let status = |path: &str, token: Option<&str>| {
        let header = token.map(|token| ("authorization", token));
        server.send("GET", path, header.as_slice(), b"").status
    };
    for path in ["/", "/healthz", "/readyz", "/metrics", "/openapi.json"] {
        assert_eq!(status(path, None), StatusCode::OK, "{path}");
    }
    let path = "/api/v1/models";
    for wrong in [
        None,
        Some("Bearer 012345678"),
        Some("Bearer 01234567890"),
        Some("0123456789"),
        Some("Basic 0123456789"),
        Some("Bearer "),
    ] {
        assert_eq!(status(path, wrong), StatusCode::UNAUTHORIZED, "{wrong:?}");
    }
    for right in ["Bearer 0123456789", "bearer abcdefghij"] {
        assert_eq!(status(path, Some(right)), StatusCode::OK);
    }
}

#[test]
fn every_answer_says_what_a_browser_may_do_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = three(folder.path());
    for path in ["/", "/static/app.js", "/healthz", "/api/v1/models", "/nothing", "/api/v1/session"] {
        let reply = server.get(path);
        let header = |name: &str| reply.headers[name].to_str().unwrap().to_owned();
        assert!(header("content-security-policy").starts_with("default-src 'none'; script-src 'self'"));
        assert!(!header("content-security-policy").contains("unsafe"));
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(!reply.headers.contains_key("access-control-allow-origin"));
    }
    let counts = server.get("/metrics").text;
    assert!(counts.contains("ordain_requests_total{route=\"/static/{name}\",status=\"200\"} 1"), "{counts}");
    assert!(counts.contains("ordain_requests_total{route=\"other\",status=\"404\"} 1"), "{counts}");
    assert!(counts.contains("ordain_model_info{model=\"a\","), "{counts}");
}

/// Each line `.route("…", get(…))` of the table has its paragraph, and there is no other.
#[test]
fn every_route_is_in_the_openapi_document() {
    let mut routes: Vec<(String, &str)> = vec![];
    for line in include_str!("../../src/routes.rs").split(".route(").skip(1) {
        let path = line.split('"').nth(1).unwrap().replace("{*", "{");
        let method = if line.split_once(',').unwrap().1.trim_start().starts_with("post") { "post" } else { "get" };
        routes.push((path, method));
    }
    let document: Value = serde_json::from_str(include_str!("../../src/openapi.json")).unwrap();
    let mut said: Vec<(String, &str)> = vec![];
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            said.push((path.clone(), if method == "post" { "post" } else { "get" }));
        }
    }
    routes.sort();
    said.sort();
    assert_eq!(routes, said);
}

/// The crate moves bytes: it does no arithmetic on scores and probabilities, and it never calls out.
#[test]
fn nothing_is_computed_and_nobody_is_called() {
    fn each(folder: &std::path::Path, visit: &mut dyn FnMut(&str, &str)) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                each(&path, visit);
            } else if path.extension().is_some_and(|end| end == "rs") {
                visit(path.to_str().unwrap(), &std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    each(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut |path, text| {
        for word in [".sqrt()", ".exp()", ".ln()", ".powi(", "1.0 - ", "TcpStream::connect", "UdpSocket", "innerHTML"] {
            assert!(!text.contains(word), "{path} has {word}");
        }
    });
}
