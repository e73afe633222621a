//! A module uses only those below it; see the table in ARCHITECTURE.md.
#![allow(clippy::unwrap_used)] // a test may panic

use std::fs;
use std::path::Path;

/// Modules from the ground up, with the modules that each may use.
const MAY_USE: [(&str, &[&str]); 16] = [
    ("error", &[]),
    ("random", &[]),
    ("matrix", &["error"]),
    ("traits", &["error", "matrix"]),
    ("data", &["error", "matrix", "random"]),
    ("kernel", &["error", "matrix", "random"]),
    ("structure", &["error", "random"]),
    ("surrogate", &["error", "matrix", "random", "data", "structure", "traits"]),
    ("scorer", &["matrix", "data", "kernel", "traits"]),
    ("risk", &["error", "matrix", "traits"]),
    ("solver", &["error", "matrix", "random", "kernel", "traits", "risk"]),
    ("metric", &["error", "random", "data"]),
    (
        "method",
        &[
            "error",
            "matrix",
            "random",
            "data",
            "kernel",
            "structure",
            "surrogate",
            "scorer",
            "risk",
            "solver",
            "metric",
            "traits",
        ],
    ),
    ("model_file", &["error", "matrix", "random", "traits", "data", "kernel", "structure", "method"]),
    ("ask", &["error", "random", "structure", "method", "data"]),
    (
        "lib",
        &[
            "ask",
            "error",
            "data",
            "kernel",
            "matrix",
            "method",
            "metric",
            "model_file",
            "random",
            "risk",
            "scorer",
            "solver",
            "structure",
            "surrogate",
            "traits",
        ],
    ),
];

fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            found.push((entry.display().to_string(), fs::read_to_string(&entry).unwrap()));
        }
    }
}

#[test]
fn modules_use_only_those_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![];
    sources(&root, &mut files);
    let mut edges = 0;
    for (path, text) in files {
        let own = path[root.display().to_string().len() + 1..].split(['/', '.']).next().unwrap().to_owned();
        let (_, allowed) =
            MAY_USE.iter().find(|(name, _)| *name == own).unwrap_or_else(|| panic!("{path}: not in the table"));
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for used in code.flat_map(|line| line.split("crate::").skip(1)) {
            let used: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if used == "cases" {
                continue; // how many random cases unit tests run
            }
            edges += 1;
            assert!(
                used == own || allowed.contains(&used.as_str()),
                "{path} uses crate::{used}, which the table does not allow"
            );
        }
        assert!(!text.contains("println!") && !text.contains("print!("), "{path}: the library prints nothing");
        let touches_files = text.contains("std::fs") || text.contains("File::open");
        assert!(
            !touches_files || ["data", "model_file"].contains(&own.as_str()),
            "{path}: only data and model_file touch files"
        );
    }
    assert!(edges > 40);
}

/// In two parts, so that this file does not find itself.
const CLOCK: [(&str, &str); 2] = [("std", "time"), ("thread", "sleep")];

/// Tests that measure or wait may fail on a busy machine: they are all in `speed`, which plain `./check` leaves out.
#[test]
fn no_other_test_looks_at_the_clock() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = vec![];
    for tests in ["ordain/tests", "ordain-cli/tests"] {
        sources(&crates.join(tests), &mut files);
    }
    assert!(files.len() > 50);
    for (path, text) in files {
        let clock = CLOCK.iter().find(|(a, b)| text.contains(&format!("{a}::{b}")));
        // damaged files have limits of time that count in `./check --speed` alone
        let speed = ["/suite/speed/", "/cli/speed.rs", "/bad_input/suite.rs"].iter().any(|place| path.contains(place));
        assert!(speed || clock.is_none(), "{path} uses {clock:?}: measure in the tests of speed, wait for an event");
    }
}

/// A file that is renamed is renamed in ARCHITECTURE.md too, and one that is new is named there.
#[test]
fn every_file_of_methods_is_in_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../../ARCHITECTURE.md")).unwrap();
    let row = page.lines().find(|line| line.starts_with("| `method` |")).unwrap();
    let named: Vec<&str> = row.split('`').skip(1).step_by(2).skip(1).collect();
    let files = fs::read_dir(root.join("src/method")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<String> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    files.retain(|name| name != "mod");
    for name in &named {
        assert!(files.iter().any(|file| file == name), "ARCHITECTURE.md names {name}, which is no file of method/");
    }
    for file in &files {
        assert!(named.contains(&file.as_str()), "ARCHITECTURE.md does not name method/{file}.rs");
    }
}
