//! What a shell and a person at it see: help, completions, the manual, pipes and the demo.

use crate::data;
use crate::support::{Done, Place, command, ordain, well};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const COMMANDS: [&str; 9] =
    ["fit", "predict", "evaluate", "compare", "methods", "inspect", "explain", "convert", "demo"];

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
fn help_of_fit_is_a_screen_or_one_method() {
    let all = ordain::answer::methods(None);
    let screen = well(&["fit", "--help"]).out;
    assert!(screen.lines().count() <= 45, "{} lines:\n{screen}", screen.lines().count());
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    assert!(!screen.contains("Settings of") && screen.contains("ordain fit METHOD --help"), "{screen}");
    assert_eq!(well(&["fit", "-h"]).out, screen);
    // nothing is lost: all options and all settings
    let whole = well(&["help", "fit"]).out;
    assert!(whole.contains("--relevant-from") && whole.contains("--point-features"), "{whole}");
    for method in &all {
        let page = well(&["fit", method.name, "--help"]).out;
        assert!(page.lines().all(|line| line.chars().count() <= 110), "{page}");
        assert!(page.contains(method.good_for) && page.contains(method.measured_on), "{page}");
        for other in &all {
            let title = format!("Settings of {} ", other.name);
            assert_eq!(page.contains(&title), other.name == method.name, "{title}\n{page}");
            assert!(whole.contains(&title), "{title}\n{whole}");
        }
        for setting in method.settings {
            let line = page.lines().find(|line| line.starts_with(&format!("  {} ", setting.name)));
            let line = line.unwrap_or_else(|| panic!("no setting {} in\n{page}", setting.name));
            assert!(line.ends_with(&format!("{} [default: {}]", setting.range, setting.default)), "{line}");
        }
    }
    let page = well(&["fit", "ranksvm", "--help"]).out;
    for words in [&["fit", "-h", "ranksvm"][..], &["--quiet", "fit", "-o", "m", "ranksvm[lambda=1]", "x", "--help"]] {
        assert_eq!(well(words).out, page, "{words:?}");
    }
}

/// Every figure stands in the table of the benchmarks, in the row of its method.
#[test]
fn methods_say_what_they_are_good_for() {
    let table = well(&["methods"]).out;
    let facts: Value = serde_json::from_str(&well(&["methods", "--json"]).out).unwrap();
    let all = facts["methods"].as_array().unwrap();
    assert_eq!(table.lines().count(), 1 + all.len());
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks.md");
    let pages = std::fs::read_to_string(path).unwrap();
    let rows = pages.split("### Every method by itself\n").nth(1).unwrap().split("\n#").next().unwrap();
    for method in all {
        let name = method["name"].as_str().unwrap();
        let line = table.lines().find(|line| line.split_whitespace().nth(1) == Some(name)).unwrap();
        assert!(line.starts_with(method["task"].as_str().unwrap()) && line.chars().count() <= 110, "{line}");
        assert!(line.contains(method["good_for"].as_str().unwrap()), "{line}");
        let row = rows.lines().find(|row| row.starts_with(&format!("| `{name}` "))).unwrap_or_else(|| panic!("{name}"));
        assert!(row.contains(method["measured_on"].as_str().unwrap()), "{row}");
        let figures = method["figures"].as_array().unwrap();
        assert!(!figures.is_empty() && !method["settings"].as_array().unwrap().is_empty(), "{method}");
        for figure in figures {
            let (metric, value) = (figure["metric"].as_str().unwrap(), figure["value"].as_f64().unwrap());
            let short = format!("{metric} {}", format!("{value:.4}").trim_start_matches('0'));
            assert!(line.contains(&short) && row.contains(&short), "{name} {metric}\n{line}\n{row}");
        }
    }
    for task in ["rank", "annotate", "match"] {
        let some = well(&["methods", "--task", task]).out;
        let lines: Vec<&str> =
            table.lines().filter(|line| line.starts_with("task ") || line.starts_with(task)).collect();
        assert_eq!(some.lines().collect::<Vec<_>>(), lines);
    }
    ordain(&["methods", "--task", "sort"]).code(2).says("sort");
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
