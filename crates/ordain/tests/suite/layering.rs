//! A module uses only those below it; see the table in ARCHITECTURE.md.
#![allow(clippy::unwrap_used)] // a test may panic

use std::fs;
use std::path::Path;

/// Modules from the ground up, with the modules that each may use.
const MAY_USE: [(&str, &[&str]); 26] = [
    ("error", &[]),
    ("random", &[]),
    ("pieces", &[]),
    ("matrix", &["error"]),
    ("traits", &["error", "matrix", "pieces"]),
    ("picture", &["error", "matrix", "random"]),
    ("data", &["error", "matrix", "random", "pieces", "picture"]),
    ("kernel", &["error", "matrix", "random"]),
    ("structure", &["error", "random"]),
    ("tree", &["error", "matrix", "random"]),
    ("surrogate", &["error", "matrix", "random", "data", "structure", "traits"]),
    ("scorer", &["matrix", "random", "pieces", "data", "kernel", "traits"]),
    ("score", &["matrix", "data", "kernel", "tree", "scorer", "traits"]),
    ("risk", &["error", "matrix", "pieces", "traits"]),
    ("solver", &["error", "matrix", "random", "kernel", "tree", "traits", "risk"]),
    ("metric", &["error", "random", "data"]),
    ("features", &["error", "matrix", "data", "picture"]),
    ("task", &["error", "traits", "data", "features", "solver", "metric"]),
    (
        "method",
        &[
            "error",
            "matrix",
            "random",
            "pieces",
            "data",
            "kernel",
            "structure",
            "tree",
            "surrogate",
            "scorer",
            "score",
            "risk",
            "solver",
            "metric",
            "traits",
            "task",
        ],
    ),
    (
        "model_file",
        &[
            "error",
            "matrix",
            "random",
            "traits",
            "data",
            "features",
            "kernel",
            "structure",
            "tree",
            "scorer",
            "score",
            "task",
            "method",
        ],
    ),
    ("export", &["error", "matrix", "random", "data", "kernel", "tree", "score", "task", "method", "model_file"]),
    ("ask", &["error", "random", "structure", "solver", "task", "method", "data"]),
    ("labelling", &["error", "random", "data"]), // random: its tests alone
    (
        "link",
        &["error", "matrix", "random", "pieces", "traits", "data", "solver", "metric", "task", "method", "labelling"],
    ),
    (
        "answer",
        &["error", "matrix", "random", "data", "structure", "score", "metric", "task", "method", "model_file", "ask"],
    ),
    (
        "lib",
        &[
            "answer",
            "ask",
            "error",
            "export",
            "data",
            "features",
            "kernel",
            "labelling",
            "link",
            "matrix",
            "method",
            "metric",
            "model_file",
            "picture",
            "pieces",
            "random",
            "risk",
            "score",
            "scorer",
            "solver",
            "structure",
            "surrogate",
            "task",
            "traits",
            "tree",
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
            !touches_files || ["data", "labelling", "model_file"].contains(&own.as_str()),
            "{path}: only data, labelling and model_file touch files"
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
        let speed = ["/suite/speed/", "/cli/speed.rs"].iter().any(|place| path.contains(place));
        assert!(speed || clock.is_none(), "{path} uses {clock:?}: measure in the tests of speed, wait for an event");
    }
}

/// What ARCHITECTURE.md names is there, and every module and folder of the library is named there.
#[test]
fn the_map_of_the_code_is_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../../ARCHITECTURE.md")).unwrap();
    let named: Vec<&str> = page.split('`').skip(1).step_by(2).collect();
    let mut files = vec![];
    sources(&root.join("src"), &mut files);
    sources(&root.join("tests"), &mut files);
    for other in ["../ordain-cli/src", "../ordain-serve/src", "../../fuzz/src", "../../python/src"] {
        sources(&root.join(other), &mut files);
    }
    let exists = |name: &str| files.iter().any(|(path, _)| path.ends_with(&format!("/{name}")));
    for name in named.iter().filter(|name| name.ends_with(".rs")) {
        let name = name.trim_start_matches("crates/ordain/").trim_start_matches("crates/ordain-cli/");
        assert!(exists(name), "ARCHITECTURE.md names {name}, which is not there");
    }
    let shown = |name: &str| named.iter().any(|known| known.trim_end_matches('/') == name);
    let inner = |folder: &str| fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    for path in ["src", "src/data", "src/method", "src/structure"].into_iter().flat_map(inner) {
        let (name, top) = (path.file_stem().unwrap().to_str().unwrap(), path.parent().unwrap().ends_with("src"));
        if name != "lib" && (top || path.is_dir()) {
            assert!(shown(name), "ARCHITECTURE.md does not name {}", path.display());
        }
    }
}

/// Every file with code that the compiler does not check has its row in ARCHITECTURE.md, and every row names such a file.
#[test]
fn the_list_of_unsafe_code_is_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let section = page.split("\n## ").find(|section| section.starts_with("Unsafe code")).unwrap();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let named: Vec<&str> = rows.iter().map(|row| row.split('`').nth(1).unwrap()).collect();
    let mut files = vec![];
    ["crates", "fuzz", "python/src"].iter().for_each(|folder| sources(&root.join(folder), &mut files));
    let word = ["un", "safe"].concat(); // so that this file does not find itself
    let has = |text: &str| {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).any(|own| own == word)
    };
    let found: Vec<String> = files
        .iter()
        .filter(|(path, text)| has(text) && !path.ends_with("shield.rs")) // a header of that name
        .map(|(path, _)| path[root.display().to_string().len() + 1..].to_owned())
        .collect();
    assert!(found.len() > 5, "{found:?}");
    for path in &found {
        assert!(named.iter().any(|name| path.ends_with(name)), "{path} is not in the list");
    }
    for name in named {
        assert!(found.iter().any(|path| path.ends_with(name)), "{name} has none");
    }
}
