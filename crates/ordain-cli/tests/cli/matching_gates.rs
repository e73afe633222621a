//! The gates of matching, through the command line: on real data (`./check --data`), and their twins on made-up data.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and these print what they measured

use ordain::data::synthetic::{Linkage, Silhouettes};
use ordain::data::{MatchSet, write_matches};
use ordain::task::Model as _;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn json(words: &[&str]) -> Value {
    let out = Command::new(env!("CARGO_BIN_EXE_ordain")).args(words).output().unwrap();
    assert!(out.status.success(), "ordain {}: {}", words.join(" "), String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// What each of some methods reaches by a metric.
fn means(result: &Value, metric: &str) -> Vec<f64> {
    let methods = result["methods"].as_array().unwrap();
    methods.iter().map(|method| method["metrics"][metric]["mean"].as_f64().unwrap()).collect()
}

fn house(file: &str) -> PathBuf {
    let folder = PathBuf::from(std::env::var_os("ORDAIN_DATA").expect("ORDAIN_DATA names the data folder"));
    folder.join("matching").join("cmu-house").join(file)
}

/// The pairs of frames that are so far apart, as a file of their own.
fn baseline(apart: usize, folder: &Path) -> String {
    let text = std::fs::read_to_string(house("pairs.csv")).unwrap();
    let head = text.lines().next().unwrap();
    let rows = text.lines().filter(|line| line.split(',').next() == Some(&apart.to_string()));
    let path = folder.join(format!("pairs{apart}.csv"));
    std::fs::write(&path, std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n")).unwrap();
    path.display().to_string()
}

/// A metric of some methods, mean over baselines.
fn house_means(methods: &[&str], features: &str, metric: &str) -> Vec<f64> {
    let (dir, points) = (tempfile::tempdir().unwrap(), house("points.csv").display().to_string());
    let mut sums = vec![0.0; methods.len()];
    for &apart in &ALL {
        let pairs = baseline(apart, dir.path());
        let data = ["--train", &points, "--pairs", &pairs, "--features", features, "--metric", metric, "--json", "-q"];
        let found = means(&json(&[&["compare"], methods, &data].concat()), metric);
        println!("  baseline {apart}: {metric} {found:.4?}");
        sums.iter_mut().zip(found).for_each(|(sum, x)| *sum += x);
    }
    let all: Vec<f64> = sums.into_iter().map(|sum| sum / ALL.len() as f64).collect();
    println!("{methods:?} with {features}: mean {metric} {all:.4?}");
    all
}

const ALL: [usize; 9] = [10, 20, 30, 40, 50, 60, 70, 80, 90];

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn house_by_squared_contexts_real() {
    let found = house_means(&["matchmap[scale=none]", "matchmargin[scale=none]"], "shape-context", "hamming");
    assert!(found[0] <= 0.047 && found[1] <= 0.042, "{found:?}");
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn house_by_all_features_real() {
    let features = "shape-context-abs,coordinates,degree";
    let found = house_means(&["matchmap[scale=matched]", "matchmargin[scale=matched]"], features, "hamming");
    assert!(found.iter().any(|&error| error <= 0.006), "{found:?}");
}

/// The calibration error of the edges of all test pairs of baselines 60 to 90 together, for each method.
#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn house_probabilities_come_true_real() {
    let methods = ["matchmap[scale=none]", "matchmargin[scale=none]"];
    let (dir, points) = (tempfile::tempdir().unwrap(), house("points.csv").display().to_string());
    let mut bins = vec![[[0.0; 3]; 10]; methods.len()];
    for &apart in &ALL[5..] {
        let pairs = baseline(apart, dir.path());
        let data = ["--train", &points, "--pairs", &pairs, "--features", "shape-context", "--metric", "ece,nll"];
        let result = json(&[&["compare"], &methods[..], &data, &["--no-refit", "--json", "-q"]].concat());
        println!("  baseline {apart}: ece {:.4?}, nll {:.3?}", means(&result, "ece"), means(&result, "nll"));
        for (bins, method) in bins.iter_mut().zip(result["methods"].as_array().unwrap()) {
            for bin in method["calibration"]["bins"].as_array().unwrap() {
                let of = |name: &str| bin[name].as_f64().unwrap();
                let (sums, count) = (&mut bins[(of("low") * 10.0).round() as usize], of("edges"));
                sums.iter_mut()
                    .zip([count, count * of("predicted"), count * of("observed")])
                    .for_each(|(a, b)| *a += b);
            }
        }
    }
    for (method, bins) in methods.iter().zip(&bins) {
        let count: f64 = bins.iter().map(|bin| bin[0]).sum();
        let ece = bins.iter().map(|bin| (bin[1] - bin[2]).abs()).sum::<f64>() / count;
        println!("{method}: ece of all {count} edges {ece:.4}");
        assert!(ece <= 0.03, "{method}: {ece}");
    }
}

/// Parts of a made-up set as files.
fn files(set: &MatchSet, parts: &[Vec<u32>], folder: &Path) -> Vec<String> {
    let write = |(k, units): (usize, &Vec<u32>)| {
        let path = folder.join(format!("part{k}.csv"));
        write_matches(&set.only(units), &path).unwrap();
        path.display().to_string()
    };
    parts.iter().enumerate().map(write).collect()
}

/// A drawn silhouette: both methods lose at most a third of what contexts lose as they are, and their probabilities come true.
#[test]
fn silhouettes_made_up() {
    let dir = tempfile::tempdir().unwrap();
    let (set, parts) = Silhouettes { points: 18, pairs: [60, 40, 100], ..Silhouettes::default() }.make();
    let parts = parts.map(|part| part.map(|p| p as u32).collect::<Vec<u32>>());
    let paths = files(&set, &parts, dir.path());
    let plain = unlearned(&set, &parts[2]);
    let data = ["--train", &paths[0], "--valid", &paths[1], "--test", &paths[2]];
    let methods = ["matchmap[scale=none]", "matchmargin[scale=none]"];
    let result = json(&[&["compare"], &methods[..], &data, &["--metric", "hamming,ece", "--json", "-q"]].concat());
    let (errors, ece) = (means(&result, "hamming"), means(&result, "ece"));
    println!("unlearned {plain:.4}, learned {errors:.4?}, ece {ece:.4?}");
    assert!(errors.iter().all(|&error| error <= plain / 3.0), "{errors:?} {plain}");
    assert!(ece.iter().all(|&ece| ece <= 0.03), "{ece:?}");
}

/// The share matched wrongly when all weights are −1.
fn unlearned(set: &MatchSet, units: &[u32]) -> f64 {
    let matcher = ordain::method::Matcher::unlearned(set, vec![-1.0; set.features.cols()]);
    let (ready, hamming) = (matcher.prepare(set).unwrap(), ["hamming".parse().unwrap()]);
    matcher.evaluate(&ready, units, &hamming, &ordain::metric::Convention::STANDARD).unwrap().mean(0)
}

/// Made-up registers in which three of ten people have no partner.
#[test]
fn nulls_made_up() {
    let dir = tempfile::tempdir().unwrap();
    let set = Linkage::default().make();
    let (test, train): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(|p| p % 3 == 0);
    let paths = files(&set, &[train, test], dir.path());
    let data = ["--train", &paths[0], "--test", &paths[1], "--metric", "f1,ece", "--json", "-q"];
    let methods = ["matchmap[null=true]", "matchmargin[null=true]"];
    let result = json(&[&["compare"], &methods[..], &data].concat());
    let (f1, ece) = (means(&result, "f1"), means(&result, "ece"));
    println!("f1 {f1:.4?}, ece {ece:.4?}");
    assert!(f1.iter().all(|&f1| f1 >= 0.9) && ece.iter().all(|&ece| ece <= 0.03), "{f1:?} {ece:?}");
}
