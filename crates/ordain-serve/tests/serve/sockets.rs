//! What only a socket shows: too many connections, clients that do not read or do not write, and the end.

use super::{config, fitted};
use ordain::data::synthetic::Synthetic;
use ordain::method::RankSvm;
use ordain_serve::{Config, Control};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A server that listens, until it is dropped.
struct Listening {
    address: String,
    control: Control,
    thread: Option<std::thread::JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Listening {
    fn start(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("r");
        fitted(&RankSvm::default(), &Synthetic { queries: 20, ..Synthetic::default() }.make(), &file);
        let mut config = config(vec![("r".into(), file)]);
        config.bind = "127.0.0.1:0".parse().unwrap();
        let (tell, told) = channel();
        let tell = Mutex::new(tell);
        config.say = Arc::new(move |text| drop(tell.lock().unwrap().send(text.to_owned())));
        change(&mut config);
        let (control, orders) = ordain_serve::control();
        let thread = std::thread::spawn(move || ordain_serve::run(config, orders).unwrap());
        let said = told.recv().unwrap();
        let address = said.split("http://").nth(1).unwrap().trim_end_matches('/').to_owned();
        Self { address, control, thread: Some(thread), _folder: folder }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.control.end();
        self.thread.take().unwrap().join().unwrap();
    }
}

/// The status of an answer on a connection that stays open; none where it was closed.
fn ask(stream: &TcpStream, path: &str) -> Option<u16> {
    let mut writer = stream;
    writer.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).ok()?;
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let status = first.split(' ').nth(1)?.parse().ok()?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.trim().parse().ok()?,
            Some(_) => {}
            None => break,
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    Some(status)
}

#[test]
fn more_connections_than_allowed_are_refused_politely_and_taken_later() {
    let server = Listening::start(|config| config.limits.connections = 3);
    let mut open: Vec<TcpStream> = (0..3).map(|_| server.connect()).collect();
    for stream in &open {
        assert_eq!(ask(stream, "/healthz"), Some(200));
    }
    for _ in 0..10 {
        assert_eq!(ask(&server.connect(), "/healthz"), Some(503));
    }
    // those that were there first are still served
    for stream in &open {
        assert_eq!(ask(stream, "/healthz"), Some(200));
    }
    open.pop();
    while ask(&server.connect(), "/healthz") != Some(200) {}
}

/// The only place is taken by somebody who asks for much and reads nothing: it is free again without the help of that one.
#[test]
fn a_client_that_does_not_read_loses_its_place() {
    let server = Listening::start(|config| {
        config.limits.connections = 1;
        config.limits.time = Duration::from_millis(100);
    });
    let mut slow = server.connect();
    assert_eq!(ask(&slow, "/healthz"), Some(200));
    slow.set_nonblocking(true).unwrap();
    let many = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(2000);
    // as many as are taken: answers of 60 kB each fill whatever lies between
    let mut sent = 0;
    while sent < many.len() {
        match slow.write(&many.as_bytes()[sent..]) {
            Ok(n) if n > 0 => sent += n,
            _ => break,
        }
    }
    assert!(sent > 1000, "{sent}");
    while ask(&server.connect(), "/healthz") != Some(200) {}
    drop(slow);
}

/// The head of a request whose body is to come.
const BEGUN: &str = "POST /api/v1/models/r/rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n";

/// The status line of an answer.
fn status(stream: &TcpStream) -> String {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
}

/// A body that does not come is waited for as long as a request may take.
#[test]
fn a_request_that_takes_too_long_is_refused() {
    let server = Listening::start(|config| config.limits.time = Duration::from_millis(100));
    let mut slow = server.connect();
    slow.write_all(BEGUN.as_bytes()).unwrap();
    assert!(status(&slow).contains(" 503 "));
}

/// A request that is under way when the server is told to end is answered first; nobody new is taken.
#[test]
fn requests_under_way_are_answered_before_the_end() {
    let server = Listening::start(|_| {});
    let mut open = server.connect();
    open.write_all(BEGUN.as_bytes()).unwrap();
    // the head was read when one that came later is answered and counted
    let counted = || {
        let mut other = server.connect();
        other.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        other.read_to_string(&mut text).unwrap();
        text.contains("ordain_in_flight 2\n")
    };
    while !counted() {}
    server.control.end();
    while TcpStream::connect(&server.address).is_ok() {}
    open.write_all(b"{\"queries\":[]}").unwrap();
    assert!(status(&open).contains(" 200 "));
}
