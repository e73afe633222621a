//! `docs/papers.md`: every numbered equation of the three papers has a row, and what the rows name is there.
#![allow(clippy::unwrap_used)] // a test may panic

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The numbered equations of the papers, from the first to the last; [EFM] has two properties with names of their own.
const PAPERS: [(&str, u32, &[&str]); 3] = [("EFM", 21, &["P1", "P2"]), ("BRM", 14, &[]), ("QAP", 10, &[])];

/// The head of a table that goes from equations to functions.
const HEAD: [&str; 4] = ["equation", "function", "test", "difference"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One row of such a table, and the paper that the heading above it names.
struct Row {
    line: usize,
    paper: Option<String>,
    cells: Vec<String>,
}

/// The cells of a line of a table.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?.replace("\\|", "\u{1}");
    Some(inner.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect())
}

/// The first thing in square brackets.
fn tag(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

fn rows(text: &str) -> Vec<Row> {
    let (mut all, mut paper, mut inside) = (vec![], None, false);
    for (line, text) in text.lines().enumerate() {
        if text.starts_with('#') {
            paper = tag(text);
        }
        match cells(text) {
            Some(cells) if cells == HEAD => inside = true,
            Some(cells) if inside && cells.iter().all(|cell| cell.bytes().all(|c| c == b'-')) => {}
            Some(cells) if inside => all.push(Row { line: line + 1, paper: paper.clone(), cells }),
            Some(_) => {}
            None => inside = false,
        }
    }
    all
}

/// The equations that a cell names: `[EFM] Eqs. (3)-(8), (16)`. Numbers belong to the paper that was named last.
fn equations(cell: &str, of: Option<&str>) -> Vec<(String, String)> {
    let (mut all, mut paper, mut last): (Vec<(String, String)>, _, Option<u32>) = (vec![], of.map(str::to_owned), None);
    let mut rest = cell;
    while let Some(at) = rest.find(['[', '(']) {
        let (between, open) = rest.split_at(at);
        let close = if open.starts_with('[') { ']' } else { ')' };
        let Some((inner, after)) = open[1..].split_once(close) else { break };
        if close == ']' {
            (paper, last) = (Some(inner.to_owned()), None);
        } else if let (Ok(number), Some(paper)) = (inner.parse::<u32>(), &paper) {
            let first = last.filter(|_| between == "-").map_or(number, |last| last + 1);
            all.extend((first..=number).map(|number| (paper.clone(), number.to_string())));
            last = Some(number);
        } else if let Some(paper) = &paper {
            all.push((paper.clone(), inner.to_owned()));
            last = None;
        }
        rest = after;
    }
    all
}

/// The equations of the papers without a row.
fn without_a_row(rows: &[Row]) -> Vec<String> {
    let known: HashSet<(String, String)> =
        rows.iter().flat_map(|row| equations(&row.cells[0], row.paper.as_deref())).collect();
    let all = PAPERS.iter().flat_map(|(paper, last, named)| {
        let numbers = (1..=*last).map(|number| number.to_string());
        numbers.chain(named.iter().map(|&name| name.to_owned())).map(|name| ((*paper).to_owned(), name))
    });
    all.filter(|equation| !known.contains(equation)).map(|(paper, name)| format!("[{paper}] ({name})")).collect()
}

fn table() -> Vec<Row> {
    rows(&std::fs::read_to_string(root().join("docs/papers.md")).unwrap())
}

#[test]
fn every_equation_of_the_papers_has_a_row() {
    let rows = table();
    let missing = without_a_row(&rows);
    assert!(missing.is_empty(), "docs/papers.md: no row for {}", missing.join(", "));
    for Row { line, cells, .. } in &rows {
        assert_eq!(cells.len(), HEAD.len(), "docs/papers.md:{line}: cells of {}", HEAD.join(", "));
        assert!(cells.iter().all(|cell| !cell.is_empty()), "docs/papers.md:{line}: an empty cell");
        let reason = !cells[1].starts_with("not built") || cells[3].len() > 20;
        assert!(reason, "docs/papers.md:{line}: not built, and no reason");
    }
}

#[test]
fn a_missing_equation_is_found() {
    let page = "| equation | function | test | difference |\n|---|---|---|---|\n\
        | [QAP] Eqs. (1)-(3), (5); [EFM] Eq. (1) | f | t | – |\n\n# Of [QAP]\n| equation | function | test | difference |\n\
        |---|---|---|---|\n| (6)-(9) as in [BRM] Eq. (2) | f(4) | t | (10) |\n";
    let missing = without_a_row(&rows(page));
    let of = |paper: &str| missing.iter().filter(|name| name.contains(paper)).cloned().collect::<Vec<_>>();
    assert_eq!(of("QAP"), ["[QAP] (4)", "[QAP] (10)"]);
    assert_eq!((of("EFM").len(), of("BRM").len()), (22, 13));
}

/// The names between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|end| end == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

/// Tests are named as they are in the sources, files with their path from the root or by their name in this folder.
#[test]
fn the_tests_of_the_rows_are_there() {
    let (mut text, mut found) = (String::new(), 0);
    sources(&root().join("crates"), &mut text);
    for Row { line, cells, .. } in table() {
        for name in quoted(&cells[2]) {
            let there = if name.ends_with(".rs") {
                root().join(name).exists() || root().join("crates/ordain/tests/suite").join(name).exists()
            } else {
                text.contains(&format!("fn {name}("))
            };
            assert!(there, "docs/papers.md:{line}: there is no test `{name}`");
            found += 1;
        }
    }
    assert!(found > 50, "{found} tests: nothing to see");
}

/// The sources of a module, by its path: its file, or all files of its folder.
fn module(path: &[&str]) -> Option<String> {
    let (place, mut text) = (root().join("crates/ordain/src").join(path.join("/")), String::new());
    if place.is_dir() {
        sources(&place, &mut text);
    }
    let file = std::fs::read_to_string(place.with_extension("rs"));
    match file {
        Ok(file) => Some(text + &file),
        Err(_) => (!text.is_empty()).then_some(text),
    }
}

/// Whether a name like `solver::ball::Ball` or `structure::star::Star::max` is there: the longest path that is a module has all other words.
fn is_there(name: &str) -> bool {
    let words: Vec<&str> = name.split("::").collect();
    let Some((text, rest)) = (1..=words.len()).rev().find_map(|n| Some((module(&words[..n])?, &words[n..]))) else {
        return false;
    };
    rest.iter().all(|word| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|own| own == *word))
}

#[test]
fn the_functions_of_the_rows_are_there() {
    let mut found = 0;
    for Row { line, cells, .. } in table() {
        // settings and calls may follow a name
        let names = quoted(&cells[1]).map(|name| name.split(['(', '[', ' ', '{']).next().unwrap_or(""));
        for name in names.filter(|name| name.contains("::")) {
            assert!(is_there(name), "docs/papers.md:{line}: there is no `{name}`");
            found += 1;
        }
    }
    assert!(found > 50, "{found} functions: nothing to see");
    assert!(is_there("structure::star::Star::max") && !is_there("structure::star::Star::maximum"));
    assert!(!is_there("nowhere::Star") && !is_there("structure::stars::Star"));
}
