//! `ordain make linkage` and `ordain link`.

use crate::support::{Place, ordain, piped, well};
use std::collections::HashSet;

/// A folder with two registers of people, and some of their matches.
fn people(records: &str, known: &str) -> Place {
    let place = Place::empty();
    well(&["make", "linkage", "-o", &place.at(""), "--records", records, "--known", known]);
    place
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let row = |line: &str| line.split_once(',').map(|(a, b)| (a.to_owned(), b.split(',').next().unwrap().to_owned()));
    text.lines().skip(1).filter_map(row).collect()
}

#[test]
fn two_tables_are_linked_by_known_pairs() {
    let place = people("300", "60");
    let (left, right, known) = (place.at("left.csv"), place.at("right.csv"), place.at("known.csv"));
    let (links, report) = (place.at("links.csv"), place.at("report.html"));
    let done = well(&["link", &left, &right, "--known", &known, "-o", &links, "--report", &report]);
    let done = done.silent().says("candidate pairs of 300 and 300 records").says("known: 60 pairs that match");
    assert!(done.err.contains("rule") && done.err.contains("links, of which"), "{}", done.err);
    let text = place.read("links.csv");
    assert!(text.starts_with("left,right,probability\n"));
    let truth: HashSet<(String, String)> = pairs(&place.read("truth.csv")).into_iter().collect();
    let said = pairs(&text);
    let found: Vec<_> = said.iter().filter(|(a, b)| !a.is_empty() && !b.is_empty()).collect();
    let hits = found.iter().filter(|pair| truth.contains(**pair)).count();
    assert!(hits * 20 > 9 * (found.len() + truth.len()), "{hits} of {} and {}", found.len(), truth.len());
    assert!(said.iter().any(|(a, b)| a.is_empty() && !b.is_empty()) && said.iter().any(|(_, b)| b.is_empty()));
    let probability = |line: &str| line.rsplit_once(',').unwrap().1.parse::<f64>().unwrap();
    assert!(text.lines().skip(1).map(probability).is_sorted(), "the most doubtful first");
    let page = place.read("report.html");
    for said in ["Blocking", "What comparisons are worth", "How sure links are", "against both staying alone"] {
        assert!(page.contains(said), "{said}");
    }
    // the same bytes on one thread, and as JSON
    let one = well(&["--threads=1", "--json", "link", &left, &right, "--known", &known, "-o", &place.at("again.csv")]);
    assert_eq!(place.read("again.csv"), text);
    assert_eq!(place.bytes("again.ordain"), place.bytes("links.ordain"));
    let json = one.json();
    assert_eq!((json["left"].as_u64(), json["known"]["matched"].as_u64()), (Some(300), Some(60)));
    assert_eq!(json["links"].as_u64().unwrap() as usize, found.len());
    // without the less likely ones: their records stay alone, and the model beside the links is the same
    let both = |line: &&str| line.split(',').all(|cell| !cell.is_empty());
    let all: Vec<&str> = text.lines().skip(1).filter(both).collect();
    let chances: Vec<f64> = all.iter().map(|line| probability(line)).collect();
    let at = (all.len() / 8..all.len() - 1).find(|&n| chances[n] < chances[n + 1]).unwrap();
    let least = 0.5 * (chances[at] + chances[at + 1]);
    let (sure, option) = (place.at("sure.csv"), format!("--min-probability={least}"));
    well(&["link", &left, &right, "--known", &known, &option, "-o", &sure]);
    let kept: Vec<String> = place.read("sure.csv").lines().skip(1).filter(both).map(str::to_owned).collect();
    let likely = &all[at + 1..];
    assert!(kept == likely && likely.len() < found.len(), "{} of {}", kept.len(), likely.len());
    assert_eq!(place.bytes("sure.ordain"), place.bytes("links.ordain"));
}

#[test]
fn without_known_pairs_people_are_asked_and_their_answers_link() {
    let place = people("120", "1");
    let (left, right, links) = (place.at("left.csv"), place.at("right.csv"), place.at("links.csv"));
    let words = ["link", &left, &right, "--block", "surname", "--block", "birth", "-o", &links];
    let done = well(&words).silent().says("ordain ask").says("--block surname --block birth");
    assert!(!place.names().contains(&"links.csv".into()) && done.err.contains("--known"));
    let (model, table, answers) =
        (place.at("links.ordain"), place.at("links.pairs.csv"), place.at("links.answers.jsonl"));
    // a person who knows: asked again and again, with what was asked on the last line that ends in a question mark
    let truth: HashSet<(String, String)> = pairs(&place.read("truth.csv")).into_iter().collect();
    let mut said = String::new();
    let ask = ["ask", &model, &table, "--order=random", "--show", "left.given,right.given", "-o", &answers];
    for _ in 0..60 {
        let shown = piped(&[&ask[..ask.len() - 1], &[&place.at("trial.jsonl")[..]]].concat(), said.as_bytes()).err;
        std::fs::remove_file(place.at("trial.jsonl")).unwrap();
        let Some(line) = shown.lines().rev().find(|line| line.ends_with("(y/n/skip/undo/quit)")) else { break };
        let (a, b) = line.split_once('?').unwrap().0.split_once(" = ").unwrap();
        said += if truth.contains(&(a.to_owned(), b.to_owned())) { "y\n" } else { "n\n" };
    }
    assert!(said.contains('y') && said.contains('n'), "{said}");
    let done = piped(&ask, said.as_bytes()).code(0);
    assert!(done.err.contains("\n  given: ") && done.err.contains(" (same)\n"), "{}", done.err);
    well(&[&words[..], &["--known", &answers]].concat()).says("pairs that match and");
    assert!(place.read("links.csv").lines().count() > 100);
}

#[test]
fn several_left_records_may_share_a_right_one() {
    let place = Place::empty();
    let name =
        |n: usize| format!("{}{}", ["ash", "brook", "clay", "dale", "elm"][n % 5], ["ford", "ton", "ley"][n / 5]);
    let row = |id: &str, n: usize| format!("{id}{n},{},{}\n", name(n), 1950 + 7 * n);
    let rights: String = (0..15).map(|n| row("b", n)).collect();
    let lefts: String =
        (0..15).map(|n| row("a", n)).collect::<String>() + &(0..15).map(|n| row("c", n)).collect::<String>();
    let left = place.write("left.csv", &format!("key,name,year\n{lefts}"));
    let right = place.write("right.csv", &format!("key,name,year\n{rights}"));
    let known: String = (0..8).map(|n| format!("a{n},b{n}\n")).collect();
    let known = place.write("known.csv", &format!("left,right\n{known}"));
    let words = ["link", &left, &right, "--id=key", "--known", &known, "--block", "sort:name:9"];
    let compare = ["--compare", "name:exact,jaro,year:exact"];
    well(&[&words[..], &compare, &["-o", &place.at("many.csv"), "--right-many"]].concat());
    let many = pairs(&place.read("many.csv"));
    assert_eq!((0..15).filter(|n| many.contains(&(format!("c{n}"), format!("b{n}")))).count(), 15);
    well(&[&words[..], &compare, &["-o", &place.at("one.csv")]].concat());
    let one = pairs(&place.read("one.csv"));
    assert!((0..8).all(|n| !one.contains(&(format!("c{n}"), format!("b{n}")))), "known partners are taken");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let place = people("30", "5");
    let (left, right, out) = (place.at("left.csv"), place.at("right.csv"), place.at("links.csv"));
    let with = |more: &[&str]| ordain(&[&["link", &left, &right, "-o", &out], more].concat());
    ordain(&["link", &left, &right, "-o", "-"]).code(2).says("give the links a name");
    with(&["--id", "key"]).code(1).says("expected a header with the column \"key\"");
    with(&["--block", "sirname"]).code(1).says("unknown column of both tables \"sirname\"").says("surname");
    with(&["--block", "surname:x"]).code(1).says("the first N characters");
    with(&["--compare", "given:jarow"]).code(2).says("unknown comparison \"jarow\"");
    with(&["--compare", "given"]).code(2).says("COLUMN:HOW");
    with(&["--report", &place.at("r.html")]).code(2);
    let known = place.write("bad.csv", "left,right\na1,nobody\n");
    with(&["--known", &known]).code(1).says("bad.csv").says("unknown right record \"nobody\"");
    let known = place.write("two.csv", "left,right\na1,b1\na1,b2\n");
    with(&["--known", &known]).code(1).says("two partners of the left record \"a1\"");
    let known = place.write("none.csv", "left,right,matched\na1,b1,0\n");
    with(&["--known", &known]).code(1).says("pairs that are known to match");
    let known = place.write("other.csv", "a,b\n1,2\n");
    with(&["--known", &known]).code(1).says("the columns left and right");
    let twice = place.write("twice.csv", "id,given\n1,Ann\n1,Bob\n");
    ordain(&["link", &twice, &right, "-o", &out]).code(1).says("twice.csv").says("\"1\" in rows 1 and 2");
    let other = place.write("strange.csv", "id,colour\n1,red\n");
    ordain(&["link", &other, &right, "-o", &out]).code(1).says("columns of the same names");
}

/// A signal ends it at once: links of a fit that was not complete would be no links.
#[cfg(unix)]
#[test]
fn a_signal_leaves_no_half_links() {
    use std::io::{BufRead, Read};
    let place = people("3000", "100");
    let (left, right, known) = (place.at("left.csv"), place.at("right.csv"), place.at("known.csv"));
    let old = place.write("links.csv", "left,right,probability\n");
    let words = ["link", &left, &right, "--known", &known, "-o", &old, "-v"];
    let mut child = crate::support::command(&words).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut err = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    // learning has begun
    while !said.contains("0 %") {
        assert!(err.read_line(&mut said).unwrap() > 0, "{said}");
    }
    std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    err.read_to_string(&mut said).unwrap();
    match child.wait().unwrap().code() {
        // it was faster than the signal
        Some(0) => {}
        code => {
            assert_eq!(code, Some(143), "{said}");
            assert_eq!(place.read("links.csv"), "left,right,probability\n");
        }
    }
    assert!(place.names().iter().all(|name| !name.ends_with(".part")));
}
