//! What a shell and a person at it see: help, completions, the manual, pipes and the demo.

use crate::data;
use crate::support::{Done, Place, command, well};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const COMMANDS: [&str; 8] = ["fit", "predict", "evaluate", "compare", "inspect", "explain", "convert", "demo"];

#[test]
fn completions_name_the_commands_and_options() {
    for shell in ["bash", "zsh", "fish"] {
        let done = well(&["completions", shell]);
        assert_eq!(done.err, "");
        for word in COMMANDS.iter().chain(&["per-query", "threads", "choose-by"]) {
            assert!(done.out.contains(word), "{shell}: no {word:?}");
        }
    }
}

#[test]
fn the_manual_names_the_commands() {
    let done = well(&["man"]);
    assert!(done.out.contains(".TH ordain 1"), "{}", done.out);
    for name in COMMANDS {
        assert!(done.out.contains(name), "no {name:?} in the manual");
    }
}

#[test]
fn the_manual_shows_the_options_of_the_commands() {
    let text = well(&["man"]).out.replace("\\-", "-");
    for option in ["--set", "--per-query", "--folds", "--missing", "--convention"] {
        assert!(text.contains(option), "no {option} in the manual, nor any page of its command");
    }
}

#[test]
fn help_of_every_command_is_on_standard_output() {
    for name in COMMANDS.iter().chain(&["completions"]) {
        for flag in ["--help", "-h"] {
            let done = well(&[name, flag]);
            assert!(done.out.contains(&format!("Usage: ordain {name}")), "{}", done.out);
            assert!(done.out.contains("--json") && done.out.contains("--quiet"), "{name}: {}", done.out);
            assert_eq!(done.err, "");
        }
    }
    let done = well(&["--help"]);
    COMMANDS.iter().for_each(|name| assert!(done.out.contains(name)));
    assert!(well(&["--version"]).out.starts_with("ordain "));
}

#[test]
fn help_of_fit_lists_the_settings_with_defaults() {
    for words in [&["fit", "--help"][..], &["fit", "ranksvm", "--help"]] {
        let done = well(words);
        assert!(done.out.contains("Settings of ranksvm"), "{}", done.out);
        let settings =
            [("scale", "auto"), ("lambda", "auto"), ("weight", "auto"), ("max_iter", "100"), ("tol", "1e-5")];
        for (name, default) in settings {
            let line = done.out.lines().find(|line| line.trim_start().starts_with(&format!("{name} ")));
            let line = line.unwrap_or_else(|| panic!("no setting {name} in\n{}", done.out));
            assert!(line.ends_with(&format!("[default: {default}]")), "{line}");
        }
    }
}

#[test]
fn quiet_leaves_standard_error_empty() {
    let place = Place::trained();
    let (model, train, test) = (place.at("model.ordain"), place.at("train.txt"), place.at("test.txt"));
    let (new, csv, report, demo) = (place.at("n.ordain"), place.at("t.csv"), place.at("r.html"), place.at("demo"));
    let runs: [&[&str]; 8] = [
        &["fit", "ranksvm", &train, "-o", &new, "--quiet"],
        &["predict", &model, &test, "--quiet"],
        &["evaluate", &model, &test, "--quiet", "--report", &report],
        &["compare", "ranksvm", "--train", &train, "--test", &test, "-q", "--report", &report],
        &["inspect", &model, "-q"],
        &["explain", &model, &test, "--query=q1", "-q"],
        &["convert", &test, &csv, "-q"],
        &["demo", "--out", &demo, "-q"],
    ];
    for words in runs {
        assert_eq!(well(words).err, "", "{words:?}");
    }
}

#[test]
fn verbose_says_more() {
    let place = Place::trained();
    let words = ["fit", "ranksvm", &place.at("train.txt"), "-o", &place.at("n.ordain")];
    let (short, long) = (well(&words), well(&[&words[..], &["-v"]].concat()));
    assert!(long.err.lines().count() > short.err.lines().count());
    assert!(long.err.contains("read "), "{}", long.err);
}

#[test]
fn a_broken_pipe_is_no_panic() {
    let place = Place::trained();
    let many = place.write("many.txt", &data::letor(30_000, 3));
    let model = place.at("model.ordain");
    let runs: [&[&str]; 3] =
        [&["predict", &model, &many], &["predict", &model, &many, "--json"], &["convert", &many, "-"]];
    for words in runs {
        let mut child = command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        // as `head -1` does: one line, then the pipe is closed
        BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.len() > 1);
        let done = Done::of(child.wait_with_output().unwrap());
        assert!(!done.err.contains("error"), "{words:?}: {}", done.err);
        // 0, or ended by the signal for it
        assert!(matches!(done.code, Some(0) | None), "{words:?}: {:?}", done.code);
    }
}

#[test]
fn a_closed_standard_error_is_no_failure() {
    let place = Place::trained();
    let words = ["fit", "ranksvm", &place.at("train.txt"), "-o", &place.at("n.ordain")];
    let mut child = command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    well(&["inspect", &place.at("n.ordain")]);
}

#[test]
fn the_demo_works_and_so_do_its_suggestions() {
    let place = Place::empty();
    let folder = place.at("demo");
    let done = well(&["demo", "--out", &folder]);
    for name in ["train.txt", "test.txt", "model.ordain", "report.html"] {
        assert!(!place.bytes(&format!("demo/{name}")).is_empty(), "{name} is empty");
    }
    assert_eq!(std::fs::read_dir(place.path().join("demo")).unwrap().count(), 4);
    assert!(
        done.out.contains("ndcg@10") && done.out.contains("rankmatch") && done.out.contains("dorm"),
        "{}",
        done.out
    );
    let html = place.read("demo/report.html");
    assert!(html.contains("<svg") && html.contains("ranksvm") && html.contains("</html>"));
    let suggested: Vec<Vec<&str>> = done
        .err
        .lines()
        .filter_map(|line| line.trim().strip_prefix("ordain "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert!(suggested.len() >= 4, "{}", done.err);
    for words in &suggested {
        assert!(!well(words).out.is_empty(), "{words:?}");
    }
    let quality = well(&["evaluate", &place.at("demo/model.ordain"), &place.at("demo/test.txt"), "--json"]).json();
    assert!(quality["metrics"]["ndcg@10"]["mean"].as_f64().unwrap() > 0.7);
}

#[test]
fn the_demo_as_json_is_one_document() {
    let place = Place::empty();
    let value = well(&["demo", "--out", &place.at("demo"), "--json"]).json();
    assert_eq!(value["methods"].as_array().unwrap().len(), 3);
}
