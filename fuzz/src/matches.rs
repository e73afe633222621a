//! Damaged files of problems of matching. Plain readers say what those that are taken hold.

use super::memory;
use super::mutate;
use super::plain::matches as plain;
use super::readers::allowed;
use super::suite::{Check, Suite, clear, damage, ensure};
use ordain::data::{MatchReading, MatchSet, Missing, PointFeature, is_matches, read_matches, write_matches};
use std::fs;
use std::path::Path;

const PAIRS: &str =
    "baseline,split,frame_a,frame_b,problem\n0,train,1,2,\n1,validate,1,1,\n2,test,2,2,x\n3,train,2,1,\n";

/// The most memory: what is made of points is a row of 66 values for each pair of a left and a right one.
fn most(text: usize, points: bool) -> usize {
    allowed(text) + if points { 8 << 20 } else { 0 }
}

fn edges(between: &str) -> String {
    let mut random = damage(1);
    let mut rows = vec![["problem", "left", "right", "name likeness", "gap", "matched"].join(between)];
    for p in 0..3 {
        for (i, j) in [(0, 0), (0, 1), (1, 1), (2, 0), (2, 2)] {
            let matched = if i == j { "1" } else { ["0", "", "0.0"][random.below(3)] };
            let values = [format!("{:.3}", random.normal()), random.below(9).to_string()];
            rows.push(
                [format!("p{p}"), format!("a{i}"), format!("b{j}"), values.join(between), matched.into()].join(between),
            );
        }
    }
    rows.join("\n") + "\n"
}

fn points(head: &str, groups: &[&str]) -> String {
    let mut random = damage(2);
    let mut text = format!("{head}\n");
    for group in groups {
        for k in 0..4 {
            let place: Vec<String> = (0..3).map(|_| random.below(12).to_string()).collect();
            text += &format!("{group},{k},{}\n", place.join(","));
        }
    }
    text
}

/// A file that is damaged: its name, what it holds, and whether it goes with pairs.
fn seeds() -> Vec<(&'static str, String, bool)> {
    vec![
        ("edges.csv", edges(","), false),
        ("edges.tsv", edges("\t"), false),
        ("sides.csv", points("problem,side,id,x,y,red", &["p,left", "p,right", "q,left", "q,right"]), false),
        ("numbers.csv", points("side,id,x,y,red", &["1", "2"]), false),
        ("frames.csv", points("frame,point,x,y,red", &["1", "2"]), true),
    ]
}

/// What was read holds together, and what is written of it is read again.
fn sound(set: &MatchSet, folder: &Path, missing: Missing) -> Check {
    ensure!(!set.is_empty() && set.features.cols() == set.columns.names.len(), "an empty set", "{set:?}");
    for row in 0..set.edges() {
        let mut bad = false;
        set.features.each(row, |_, x| bad |= x.is_infinite() || x.is_nan() && missing == Missing::Error);
        ensure!(!bad, "a value that is no number", "row {row}");
    }
    let path = folder.join("again.csv");
    if write_matches(set, &path).is_err() {
        return Ok(()); // names that the format has no place for
    }
    let read = read_matches(&[vec![path]], &MatchReading { missing, ..MatchReading::default() });
    let again = read.map_err(|error| ("what was written is refused".to_owned(), error.to_string()))?.0;
    ensure!(again.edges() == set.edges() && again.columns == set.columns, "another set", "{again:?}");
    for problem in set.problems().iter().filter(|problem| !problem.edges.is_empty()) {
        let Ok(p) = again.find_problem(&problem.name) else {
            return Err(("a problem is lost".into(), problem.name.clone()));
        };
        let from = set.find_problem(&problem.name).expect("it is there");
        let other = again.problem(p);
        for (e, &(i, j)) in problem.edges.iter().enumerate() {
            let ends = (other.find_left(&problem.left[i as usize]), other.find_right(&problem.right[j as usize]));
            let there = match ends {
                (Ok(i), Ok(j)) => other.find_edge(i, j),
                _ => None,
            };
            let Some(there) = there else { return Err(("an edge is lost".into(), format!("{e} of {problem:?}"))) };
            let same = |k: usize| {
                let a = set.features.value(set.span(from).start + e, k);
                let b = again.features.value(again.span(p).start + there, k);
                a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
            };
            ensure!(other.truth[there] == problem.truth[e], "another truth", "{e} of {problem:?}");
            ensure!((0..set.features.cols()).all(same), "other values", "{e} of {problem:?}");
        }
    }
    Ok(())
}

/// What was read is what the plain readers find.
fn judged(set: &MatchSet, name: &str, text: &[u8], reading: &MatchReading, pairs: Option<&[u8]>) -> Check {
    let keep = reading.missing != Missing::Error;
    let wrong = || Err(("what is wrong was read".into(), format!("{} problems of {name}", set.problems().len())));
    // damage to the head may make edges of points, and the other way round
    if set.problems().iter().any(|problem| problem.places.is_none()) {
        let usual = if name.ends_with("tsv") { b'\t' } else { b',' };
        return plain::edges(text, usual, keep).map_or_else(wrong, |truth| plain::same_edges(set, &truth));
    }
    let truth = plain::points(text, pairs, keep, &reading.features);
    truth.map_or_else(wrong, |truth| plain::same_points(set, &truth))
}

/// One file and its pairs: read, judged, and what is read is sound.
fn case(suite: &mut Suite, name: &str, text: &[u8], pairs: Option<&[u8]>, told: &str, turn: usize) -> bool {
    let missing = [Missing::Error, Missing::Zero, Missing::Mean][turn % 3];
    let (folder, path, other) = (suite.folder.path().to_path_buf(), suite.path(name), suite.path("the_pairs.csv"));
    fs::write(&path, text).expect("a file");
    fs::write(&other, pairs.unwrap_or(b"")).expect("a file");
    let features = if turn.is_multiple_of(2) { vec![] } else { PointFeature::ALL.to_vec() };
    let reading = MatchReading {
        missing,
        features,
        pairs: pairs.map(|_| other.clone()),
        only: vec![],
        ..MatchReading::default()
    };
    let size = text.len() + pairs.map_or(0, <[u8]>::len);
    let outcome = suite.run(&format!("{name} {turn} ({told})"), text, || {
        let (read, peak) = memory::peak(|| read_matches(&[vec![path.clone()]], &reading));
        ensure!(peak <= most(size, !name.starts_with("edges")), "too much memory", "{peak} bytes for {size}");
        is_matches(&path);
        match read {
            Ok((set, _)) => {
                judged(&set, name, text, &reading, pairs)?;
                sound(&set, &folder, missing).map(|()| true)
            }
            Err(error) => {
                // the pairs are named where they are wrong, and the points then may be too: as those that were expected
                let named = error.to_string().starts_with(&other.display().to_string());
                let file = if named { (&*other, pairs.unwrap_or(b"")) } else { (&*path, text) };
                clear(&error, &[file]).map(|()| false)
            }
        }
    });
    outcome == Some(true)
}

/// Edges and points.
pub(crate) fn damaged_problems(suite: &mut Suite, inputs: usize) {
    let (seeds, mut random) = (seeds(), damage(600));
    let pairs = |pairs: bool| pairs.then_some(PAIRS.as_bytes());
    for (name, text, with) in &seeds {
        assert!(case(suite, name, text.as_bytes(), pairs(*with), "whole", 1), "{name} is not read");
    }
    for turn in 0..inputs {
        let (name, text, with) = &seeds[turn % seeds.len()];
        let (text, told) = mutate::text(text.as_bytes(), &mut random);
        case(suite, name, &text, pairs(*with), &told, turn / seeds.len());
    }
}

/// Pairs of frames.
pub(crate) fn damaged_pairs(suite: &mut Suite, inputs: usize) {
    let (name, text, _) = seeds().pop().expect("the frames are last");
    let mut random = damage(700);
    for turn in 0..inputs {
        let (pairs, told) = mutate::text(PAIRS.as_bytes(), &mut random);
        case(suite, name, text.as_bytes(), Some(&pairs), &told, turn);
    }
}
