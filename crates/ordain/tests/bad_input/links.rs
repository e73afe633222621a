//! Damaged tables of pairs of documents.

use super::memory;
use super::mutate;
use super::readers::allowed;
use super::suite::{Check, Suite, clear, ensure};
use ordain::data::{RankReading, RankSet, read_rank};
use ordain::random::Random;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;

const CASES: usize = 2000;

/// Two queries of six documents each.
fn data() -> String {
    let mut text = "label,qid,docid,x\n".to_owned();
    for row in 0..12 {
        writeln!(text, "{},q{},d{},{}", row % 3, row / 6, row % 6, row).expect("text");
    }
    text
}

fn links() -> String {
    let mut text = "qid,doc_a,doc_b,near,far\n".to_owned();
    for (at, (a, b)) in [(0, 1), (2, 1), (5, 3), (4, 0), (3, 2)].into_iter().enumerate() {
        writeln!(text, "q{},d{a},d{b},{},{:.3}", at % 2, at, (at as f64).sin()).expect("text");
    }
    text
}

/// What was read holds together: pairs of two documents of one query, each once, with finite features.
fn sound(set: &RankSet) -> Check {
    let Some(pairs) = set.pairs() else { return Err(("no pairs".into(), String::new())) };
    let (mut seen, mut count) = (HashSet::new(), 0);
    for q in 0..set.len() {
        for (a, b, values) in pairs.of(set.span(q)) {
            let inside = set.span(q).contains(&a) && set.span(q).contains(&b);
            ensure!(inside && a < b && seen.insert((a, b)), "a pair that is none", "{a} {b}");
            ensure!(values.len() == pairs.names().len(), "another width", "{values:?}");
            ensure!(values.iter().all(|x| x.is_finite()), "a value that is no number", "{values:?}");
            count += 1;
        }
    }
    ensure!(count == pairs.len() && !pairs.names().is_empty(), "pairs are lost", "{count} of {}", pairs.len());
    Ok(())
}

/// The pairs by the plainest way, of text without quotes and blanks; nothing where it is not so plain.
fn plain(text: &[u8], set: &RankSet) -> Option<Vec<(usize, usize, Vec<f64>)>> {
    let text = std::str::from_utf8(text).ok()?;
    if !text.is_ascii()
        || text.contains(['"', '\r', ' ', '\t', ';', '\'', '\0'])
        || !text.starts_with("qid,doc_a,doc_b,")
    {
        return None;
    }
    let mut pairs = vec![];
    for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
        let cells: Vec<&str> = line.split(',').collect();
        let q = set.find_query(cells[0]).ok()?;
        let [a, b] = [cells.get(1)?, cells.get(2)?].map(|name| set.find_document(q, name).ok());
        let (a, b) = (a?, b?);
        let values = cells[3..].iter().map(|cell| cell.parse::<f64>().ok()).collect::<Option<Vec<f64>>>()?;
        pairs.push((a.min(b), a.max(b), values));
    }
    pairs.sort_by_key(|&(a, b, _)| (a, b));
    Some(pairs)
}

#[test]
fn damaged_pairs_of_documents() {
    let mut suite = Suite::new();
    let (data_path, path) = (suite.path("data.csv"), suite.path("links.csv"));
    fs::write(&data_path, data()).expect("a file");
    let reading = RankReading { links: Some(path.clone()), ..RankReading::default() };
    let (mut random, mut read) = (Random::new(77), 0);
    for turn in 0..CASES {
        let (text, told) = match turn {
            0 => (links().into_bytes(), "whole".to_owned()),
            _ => mutate::text(links().as_bytes(), &mut random),
        };
        fs::write(&path, &text).expect("a file");
        let outcome = suite.run(&format!("links {turn} ({told})"), &text, || {
            let (outcome, peak) = memory::peak(|| read_rank(&[vec![data_path.clone()]], &reading));
            ensure!(peak <= allowed(text.len()), "too much memory", "{peak} bytes for {}", text.len());
            match outcome {
                Ok((set, _)) => {
                    sound(&set)?;
                    if let Some(truth) = plain(&text, &set) {
                        let all = (0..set.len()).flat_map(|q| set.pairs().expect("pairs").of(set.span(q)));
                        let all: Vec<(usize, usize, Vec<f64>)> = all.map(|(a, b, z)| (a, b, z.to_vec())).collect();
                        ensure!(all == truth, "other pairs", "{all:?}, not {truth:?}");
                    }
                    Ok(true)
                }
                Err(error) => clear(&error, &[(&path, &text)]).map(|()| false),
            }
        });
        read += usize::from(outcome == Some(true));
        assert!(turn > 0 || read == 1, "the whole table is read");
    }
    suite.finish();
    assert!(read > CASES / 20, "{read} of {CASES} were read");
}
