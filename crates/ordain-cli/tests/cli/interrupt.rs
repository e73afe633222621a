//! Ctrl-C and kill: a first Ctrl-C saves what there is, a second one and a kill leave the old file.

#![cfg(unix)]

use crate::data;
use crate::support::{Done, Place, command, ordain, well};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, Command, Stdio};

/// A running program whose standard error is read line by line.
///
/// Nothing here waits for a time: a signal is sent when the program has said, or used, enough; and a fit that a signal does
/// not stop goes on for minutes, so that its exit code is wrong whatever the machine.
struct Running {
    child: Child,
    err: BufReader<ChildStderr>,
}

/// What stands at the output before: it begins as a model does, for anything else would not be overwritten.
const OLD: &str = "12345678{\"__metadata__\": the old file";

impl Running {
    fn start(words: &[&str]) -> Self {
        let mut child = command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        Self { child, err }
    }

    /// Waits for a line with this word, so many times.
    fn until(mut self, times: usize, word: &str) -> Self {
        let (mut line, mut left) = (String::new(), times);
        while left > 0 {
            line.clear();
            assert!(self.err.read_line(&mut line).unwrap() > 0, "the program ended without saying {word:?}");
            left -= usize::from(line.contains(word));
        }
        self
    }

    /// Waits until the program has worked for this many seconds of its own: they do not run while others have the machine.
    fn worked(self, seconds: u64) -> Self {
        loop {
            let pid = self.child.id().to_string();
            let said = Command::new("ps").args(["-o", "time=", "-p", &pid]).output().unwrap().stdout;
            let said = String::from_utf8(said).unwrap();
            // [days-]hours:minutes:seconds
            let parts = said.trim().split(['-', ':']).map(|part| part.parse::<f64>().ok());
            let spent = parts.collect::<Option<Vec<f64>>>().filter(|parts| parts.len() >= 2);
            let spent = spent.unwrap_or_else(|| panic!("expected the time of the program, found {said:?}"));
            if spent.iter().fold(0.0, |sum, part| 60.0 * sum + part) >= seconds as f64 {
                return self;
            }
        }
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        // that it fails is no harm: the program may have ended by itself in between
        Command::new("kill").args([name, &pid]).stderr(Stdio::null()).status().unwrap();
    }

    /// Waits for the end.
    fn end(mut self) -> Done {
        let mut err = String::new();
        self.err.read_to_string(&mut err).unwrap();
        let mut output = self.child.wait_with_output().unwrap();
        output.stderr = err.into_bytes();
        Done::of(output)
    }
}

/// Words of a fit that takes minutes in steps of a fraction of a second.
fn slow_fit<'a>(train: &'a str, model: &'a str) -> Vec<&'a str> {
    let settings = ["--set=lambda=1e-8", "--set=scale=none", "--set=tol=1e-14", "--set=max_iter=100000"];
    [&["fit", "ranksvm", train, "-o", model, "--verbose", "--threads=1"], &settings[..]].concat()
}

#[test]
fn the_first_ctrl_c_saves_a_whole_model() {
    let place = Place::empty();
    let train = place.write("slow.txt", &data::slow(2000, 300));
    let model = place.at("m.ordain");
    let fit = Running::start(&[&slow_fit(&train, &model)[..], &["--json"]].concat()).until(1, "fitting").worked(4);
    fit.signal("-INT");
    let done = fit.end().code(130).says("stopping, to save the best so far");
    assert_eq!(done.json()["stop"], "interrupted");
    let value = well(&["inspect", &model, "--json"]).json();
    assert_eq!(value["stop"], "interrupted");
    assert!(value["objective"].as_f64().unwrap() < 0.5);
    assert_eq!(well(&["predict", &model, &train]).out.lines().count(), 2000);
    assert_eq!(place.names(), ["m.ordain", "slow.txt"]);
}

#[test]
fn ctrl_c_during_a_choice_keeps_the_best_so_far() {
    let place = Place::empty();
    let train = place.write("slow.txt", &data::slow(2000, 400));
    let model = place.at("m.ordain");
    let words = ["fit", "ranksvm", &train, "-o", &model, "--set=scale=none", "--set=tol=1e-14", "--threads=1", "-v"];
    // the second candidate is at work, and nine are to come
    let fit = Running::start(&words).until(2, "choosing");
    fit.signal("-INT");
    fit.end().code(130);
    let value = well(&["inspect", &model, "--json"]).json();
    assert_eq!(value["stop"], "interrupted");
    assert_eq!(value["refit"], false);
    assert!((1..11).contains(&value["chosen"]["candidates"].as_array().unwrap().len()));
}

#[test]
fn a_resumed_fit_ends_in_the_bytes_of_a_whole_one() {
    let place = Place::empty();
    let train = place.write("slow.txt", &data::slow(1000, 260));
    let fit = |model: &str| {
        let words =
            ["fit", "rankmatch", &train, "-o", model, "--set=scale=none", "--set=max_iter=12", "--set=places=9", "-v"];
        words.map(str::to_owned).to_vec()
    };
    let (whole, model) = (place.at("whole.ordain"), place.at("m.ordain"));
    let words = fit(&model);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let running = Running::start(&words).until(2, "choosing");
    running.signal("-INT");
    running.end().code(130);
    assert_eq!(well(&["inspect", &model, "--json"]).json()["stop"], "interrupted");
    // another setting or seed is another fit
    ordain(&[&words[..], &["--resume", "--seed=1"]].concat()).code(1).says("the same seed");
    ordain(&[&words[..], &["--resume", "--set=ties=sum"]].concat()).code(1).says("the same method and settings");
    well(&[&words[..], &["--resume"]].concat());
    let words = fit(&whole);
    well(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(place.bytes("m.ordain") == place.bytes("whole.ordain"), "the resumed model differs");
    ordain(&[
        "fit",
        "rankmatch",
        &train,
        "-o",
        &whole,
        "--set=scale=none",
        "--set=max_iter=12",
        "--set=places=9",
        "--resume",
    ])
    .code(1)
    .says("a complete one");
}

#[test]
fn the_second_ctrl_c_leaves_the_old_file_or_a_whole_model() {
    let place = Place::empty();
    let train = place.write("slow.txt", &data::slow(4000, 400));
    for _ in 0..3 {
        let model = place.write("m.ordain", OLD);
        let fit = Running::start(&slow_fit(&train, &model)).until(1, "fitting");
        fit.signal("-INT");
        let fit = fit.until(1, "Ctrl-C again ends at once");
        fit.signal("-INT");
        fit.end().code(130);
        assert_eq!(place.names(), ["m.ordain", "slow.txt"]);
        if place.bytes("m.ordain") != OLD.as_bytes() {
            // the step in which the first signal fell ended before the second one came
            assert_eq!(well(&["inspect", &model, "--json"]).json()["stop"], "interrupted");
        }
    }
}

#[test]
fn a_kill_leaves_the_old_file() {
    let place = Place::empty();
    let train = place.write("slow.txt", &data::slow(2000, 300));
    let model = place.write("m.ordain", OLD);
    let fit = Running::start(&slow_fit(&train, &model)).until(1, "fitting");
    fit.signal("-KILL");
    assert_eq!(fit.end().code, None);
    assert_eq!(place.bytes("m.ordain"), OLD.as_bytes());
    assert_eq!(place.names(), ["m.ordain", "slow.txt"]);
}

#[test]
fn ctrl_c_during_a_comparison_prints_no_half_answer() {
    let place = Place::empty();
    let train = place.write("slow.txt", &data::slow(2000, 300));
    let report = place.at("r.html");
    let method = "ranksvm[lambda=1e-8,scale=none,tol=1e-14,max_iter=100000]";
    let words = ["compare", method, "--cv", "3", &train, "--json", "--threads=1", "--report", &report, "-v"];
    let compare = Running::start(&words).until(1, "fold 0 of 3");
    compare.signal("-INT");
    compare.end().code(130).silent().says("interrupted");
    assert_eq!(place.names(), ["slow.txt"]);
}

#[test]
fn ctrl_c_while_waiting_for_standard_input_ends() {
    let place = Place::empty();
    let model = place.at("m.ordain");
    // more than a pipe holds: when it is written the program has begun to read, and it waits for more
    let text = data::letor(3000, 1);
    assert!(text.len() > 1 << 20);
    for words in [&["fit", "ranksvm", "-", "-o", &model][..], &["inspect", "-"], &["convert", "-", &place.at("x.csv")]]
    {
        let mut child =
            command(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut open = child.stdin.take().unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        let waiting = Running { child, err };
        open.write_all(text.as_bytes()).unwrap();
        waiting.signal("-INT");
        waiting.end().code(130).silent().says("interrupted");
        drop(open);
        assert!(place.names().is_empty());
    }
}
