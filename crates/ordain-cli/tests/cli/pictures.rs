//! `ordain features`.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and gates print what they measured

use crate::support::{Done, command};
use std::path::Path;

fn run(words: &[&str]) -> Done {
    Done::of(command(words).output().unwrap())
}

/// A BMP file of 24 bits in which one half is bright.
fn write(path: &Path, bright_left: bool, bright: u8) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let (w, h) = (32usize, 32usize);
    let mut bytes = b"BM".to_vec();
    for n in [54 + 3 * w * h, 0, 54, 40, w, h] {
        bytes.extend((n as u32).to_le_bytes());
    }
    bytes.extend([1, 0, 24, 0]);
    bytes.extend([0; 24]);
    for _ in 0..h {
        for x in 0..w {
            bytes.extend([if (x < w / 2) == bright_left { bright } else { 5 }; 3]);
        }
    }
    std::fs::write(path, bytes).unwrap();
}

/// Two kinds of pictures: bright on the left, bright on the right.
fn folder(dir: &Path) -> String {
    for k in 0..6u8 {
        write(&dir.join(format!("pictures/left/{k}.bmp")), true, 140 + 10 * k);
        write(&dir.join(format!("pictures/right/{k}.bmp")), false, 140 + 10 * k);
    }
    dir.join("pictures").display().to_string()
}

/// From a folder of pictures to a ranking by category.
#[test]
fn pictures_become_a_table_that_can_be_ranked() {
    let dir = tempfile::tempdir().unwrap();
    let (pictures, name) = (folder(dir.path()), |name: &str| dir.path().join(name).display().to_string());
    let (table, queries, model) = (name("photos.csv"), name("queries.csv"), name("m.ordain"));
    let done = run(&["features", &pictures, "-o", &table, "--colour", "64", "--edges", "16", "--grid", "4"]).code(0);
    assert_eq!(done.err.trim(), format!("wrote 12 rows of 320 features to {table}"));
    let text = std::fs::read_to_string(&table).unwrap();
    assert!(text.starts_with("id,category,colour0,") && text.lines().count() == 13);
    assert!(text.lines().nth(1).unwrap().starts_with("left/0.bmp,left,"));
    run(&["convert", &table, &queries, "--queries", "category=category"]).code(0);
    run(&["fit", "ranksvm[lambda=1,scale=none,transform=none]", &queries, "-o", &model]).code(0);
    let done = run(&["evaluate", &model, &queries, "--metric", "map", "--json"]).code(0);
    assert!(done.json()["metrics"]["map"]["mean"].as_f64().unwrap() > 0.0);
}

/// What was learned is kept for other pictures: the same row as where it was learned.
#[test]
fn what_is_learned_serves_other_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let (pictures, name) = (folder(dir.path()), |name: &str| dir.path().join(name).display().to_string());
    let (all, kept, one) = (name("all.csv"), name("kept.json"), name("one.csv"));
    run(&["features", &pictures, "-o", &all, "--fisher", "2", "--shape", "--keep", &kept]).code(0);
    let file = format!("{pictures}/right/3.bmp");
    run(&["features", &file, "-o", &one, "--learned", &kept]).code(0);
    let row = |path: &str, id: &str| {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().find(|line| line.starts_with(id)).unwrap().split_once("right,").map_or_else(
            || text.lines().nth(1).unwrap().split_once(',').unwrap().1.to_owned(),
            |(_, rest)| rest.to_owned(),
        )
    };
    assert_eq!(row(&all, "right/3.bmp"), row(&one, "3.bmp"));
}

#[test]
fn frames_become_cores() {
    let dir = tempfile::tempdir().unwrap();
    for k in 0..4u8 {
        for frame in 0..3u8 {
            write(&dir.path().join(format!("videos/a/{k}/{frame}.bmp")), k % 2 == 0, 100 + 20 * k + 5 * frame);
        }
    }
    let videos = dir.path().join("videos").display().to_string();
    let done = run(&["features", &videos, "-o", "-", "--tensor", "2x2x1", "--side", "8"]).code(0);
    assert!(done.err.contains("4 of 8x8x3 numbers each, reduced to 2x2x1"), "{}", done.err);
    assert!(done.out.starts_with("id,category,tensor0,tensor1,tensor2,tensor3\na/0,a,"), "{}", done.out);
    run(&["features", &videos, "-o", "-", "--tensor", "9x2x1", "--side", "8"])
        .code(1)
        .says("a rank from 1 to that size");
    run(&["features", &videos, "-o", "-", "--tensor", "2by2"]).code(2).says("sizes such as 5x5x4");
}

#[test]
fn what_cannot_be_done_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let (pictures, name) = (folder(dir.path()), |name: &str| dir.path().join(name).display().to_string());
    let out = name("t.csv");
    run(&["features", &pictures, "-o", &out]).code(2).says("at least one of colour, layout");
    run(&["features", &pictures, "-o", &out, "--colour", "12"]).code(2).says("a multiple of 8");
    run(&["features", &name("nothing"), "-o", &out, "--shape"]).code(1).says("nothing");
    std::fs::write(dir.path().join("pictures/left/bad.png"), b"\x89PNG\r\n\x1a\nrubbish").unwrap();
    run(&["features", &pictures, "-o", &out, "--shape"]).code(1).says("bad.png: expected a PNG, JPEG");
    assert!(!Path::new(&out).exists());
}

/// Files of a tar archive: names and contents.
fn untar(bytes: &[u8]) -> Vec<(String, &[u8])> {
    let (mut at, mut files) = (0, vec![]);
    while at + 512 <= bytes.len() && bytes[at] != 0 {
        let text = |from: usize, to: usize| {
            let field = &bytes[at + from..at + to];
            String::from_utf8_lossy(&field[..field.iter().position(|&b| b == 0).unwrap_or(field.len())]).into_owned()
        };
        let size = usize::from_str_radix(text(124, 136).trim(), 8).unwrap();
        if matches!(bytes[at + 156], b'0' | 0) {
            files.push((text(0, 100), &bytes[at + 512..at + 512 + size]));
        }
        at += 512 + size.next_multiple_of(512);
    }
    files
}

/// NDCG of each query.
fn per_query(words: &[&str]) -> Vec<f64> {
    let done = run(&[&["evaluate"], words, &["--metric", "ndcg", "--per-query", "--json", "-q"]].concat()).code(0);
    done.json()["per_query"].as_array().unwrap().iter().map(|q| q["ndcg"].as_f64().unwrap()).collect()
}

/// The mean of differences with its interval of 95 %.
fn paired(a: &[f64], b: &[f64]) -> (f64, f64) {
    let n = a.len() as f64;
    let mean = a.iter().zip(b).map(|(a, b)| a - b).sum::<f64>() / n;
    let variance = a.iter().zip(b).map(|(a, b)| (a - b - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, 1.96 * (variance / n).sqrt())
}

/// The negative sum of the differences of two items, each column divided by its mean over the training rows: no learning.
fn distances(train: &str, test: &str) -> String {
    let rows = |path: &str| -> Vec<Vec<f64>> {
        let text = std::fs::read_to_string(path).unwrap();
        let skip = 3; // label, qid, docid
        text.lines().skip(1).map(|l| l.split(',').skip(skip).map(|x| x.parse().unwrap()).collect()).collect()
    };
    let known = rows(train);
    let mut means = vec![0.0; known[0].len()];
    known.iter().for_each(|row| means.iter_mut().zip(row).for_each(|(m, x)| *m += x / known.len() as f64));
    let score = |row: &Vec<f64>| -row.iter().zip(&means).map(|(x, m)| if *m > 0.0 { x / m } else { 0.0 }).sum::<f64>();
    rows(test).iter().map(|row| score(row).to_string() + "\n").collect()
}

/// Retrieval by example from the pixel on: silhouettes of a class are to come first. A learned kernel ranker and a linear
/// one beside the distance on the same features.
#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn silhouettes_by_example_real() {
    let folder = std::path::PathBuf::from(std::env::var_os("ORDAIN_DATA").expect("ORDAIN_DATA names the data folder"));
    let dir = tempfile::tempdir().unwrap();
    let archive = ordain::data::read_whole(&folder.join("matching/mpeg7-ce1-b/mpeg7b-png.tar.zst")).unwrap();
    for (name, bytes) in untar(&archive) {
        let name = name.rsplit('/').next().unwrap().to_owned();
        let class = name.rsplit_once('-').map_or("none", |(class, _)| class);
        std::fs::create_dir_all(dir.path().join("png").join(class)).unwrap();
        std::fs::write(dir.path().join("png").join(class).join(&name), bytes).unwrap();
    }
    let name = |name: &str| dir.path().join(name).display().to_string();
    let (table, train, test, model) = (name("t.csv"), name("train.csv"), name("test.csv"), name("m.ordain"));
    let done = run(&["features", &name("png"), "-o", &table, "--shape"]).code(0);
    assert!(done.err.contains("wrote 1400 rows of 46 features"), "{}", done.err);
    for (rows, path) in [("even", &train), ("odd", &test)] {
        let queries = ["--queries", "image=category", "--rows", rows, "--per-category", "4", "-q"];
        run(&[&["convert", &table, path], &queries[..]].concat()).code(0);
    }
    std::fs::write(name("scores.txt"), distances(&train, &test)).unwrap();
    let unlearned = per_query(&[&test, "--scores", &name("scores.txt")]);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    println!("  distance: NDCG {:.4}, {} queries", mean(&unlearned), unlearned.len());
    for method in ["ranksvm", "ranksvm[kernel=rbf,documents=300]"] {
        run(&["fit", method, &train, "-o", &model, "-q"]).code(0);
        let learned = per_query(&[&model, &test]);
        let (difference, half) = paired(&learned, &unlearned);
        println!("  {method}: NDCG {:.4}, {difference:+.4} +- {half:.4}", mean(&learned));
        assert!(difference > half, "{method}");
    }
}
