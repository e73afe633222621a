//! The gates of the project, on real data (`./check --data`) and, as twins that always run, on made-up data.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and these print what they measured

use ordain::data::synthetic::{Interactions, Scenes, Synthetic};
use ordain::data::{LabelReading, Missing, RankSet, read_labels, read_parts, write, write_labels};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn ordain(words: &[&str]) -> (String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_ordain")).args(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (data, talk) = (text(out.stdout), text(out.stderr));
    assert!(out.status.success(), "ordain {}: {talk}", words.join(" "));
    (data, talk)
}

fn json(words: &[&str]) -> Value {
    serde_json::from_str(&ordain(words).0).unwrap()
}

/// The mean of the fold means of the first method.
fn fold_mean(result: &Value, metric: &str) -> f64 {
    let metric = &result["methods"][0]["metrics"][metric];
    println!("  {}", metric);
    metric["fold_mean"].as_f64().unwrap()
}

fn real(name: &str) -> PathBuf {
    PathBuf::from(std::env::var_os("ORDAIN_DATA").expect("ORDAIN_DATA names the data folder"))
        .join("ranking")
        .join(name)
}

/// Five parts of made-up data.
fn made_up(folder: &Path, seed: u64) {
    let set = Synthetic { queries: 150, seed, ..Synthetic::default() }.make();
    for part in 0..5 {
        let units: Vec<u32> = (part * 30..(part + 1) * 30).collect();
        write(&set.only(&units), &folder.join(format!("S{}.txt.zst", part + 1))).unwrap();
    }
}

/// NDCG@k and average precision by the text of LETOR's readme, written as plainly as can be.
fn letor2(grades: &[f64], scores: &[f64], k: Option<usize>) -> f64 {
    let mut order: Vec<usize> = (0..grades.len()).collect();
    order.sort_by(|&a, &b| scores[b].partial_cmp(&scores[a]).unwrap());
    let ranked: Vec<f64> = order.iter().map(|&i| grades[i]).collect();
    let Some(k) = k else {
        let hits: Vec<usize> = (0..ranked.len()).filter(|&i| ranked[i] > 0.0).collect();
        let sum: f64 = hits.iter().enumerate().map(|(h, &i)| (h + 1) as f64 / (i + 1) as f64).sum();
        return if hits.is_empty() { 0.0 } else { sum / hits.len() as f64 };
    };
    let dcg = |ranked: &[f64]| {
        let terms = ranked.iter().take(k).enumerate();
        terms.map(|(i, g)| (2f64.powf(*g) - 1.0) / if i < 2 { 1.0 } else { ((i + 1) as f64).log2() }).sum::<f64>()
    };
    let mut best = grades.to_vec();
    best.sort_by(|a, b| b.partial_cmp(a).unwrap());
    let ideal = dcg(&best);
    if ideal > 0.0 { dcg(&ranked) / ideal } else { 0.0 }
}

const ALL: &str = "ndcg@1,ndcg@2,ndcg@3,ndcg@4,ndcg@5,ndcg@6,ndcg@7,ndcg@8,ndcg@9,ndcg@10,map";

/// Ranking by each feature alone must give the expected means, to four decimals.
fn single_features(data: &Path, features: usize, expected: impl Fn(usize, &str) -> f64) {
    let (mut compared, mut worst) = (0, 0.0f64);
    for feature in 1..=features {
        let (data, number) = (data.display().to_string(), feature.to_string());
        let found =
            json(&["evaluate", &data, "--feature", &number, "--convention", "letor2", "--metric", ALL, "--json"]);
        for metric in ALL.split(',') {
            let difference = (found["metrics"][metric]["mean"].as_f64().unwrap() - expected(feature, metric)).abs();
            worst = worst.max(difference);
            compared += 1;
        }
    }
    println!("  {compared} values, largest difference {worst:.1e}");
    assert!(worst < 5e-5);
}

#[test]
fn single_features_of_made_up_data() {
    let dir = tempfile::tempdir().unwrap();
    made_up(dir.path(), 2);
    let files = (1..=5).map(|i| dir.path().join(format!("S{i}.txt.zst"))).collect();
    let (set, _): (RankSet, _) = read_parts(&[files], Missing::Error).unwrap();
    single_features(dir.path(), 20, |feature, metric| {
        let k = metric.strip_prefix("ndcg@").map(|k| k.parse().unwrap());
        let values = (0..set.len()).map(|q| {
            let scores: Vec<f64> = set.span(q).map(|row| f64::from(set.features.value(row, feature - 1))).collect();
            letor2(&set.grades[set.span(q)], &scores, k)
        });
        values.sum::<f64>() / set.len() as f64
    });
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn single_features_of_ohsumed_are_the_published_ones() {
    let folder = real("ohsumed-letor2");
    let text = std::fs::read_to_string(folder.join("published/single_features.csv")).unwrap();
    let published: HashMap<(usize, String), f64> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>())
        .map(|row| ((row[0].parse().unwrap(), row[1].to_lowercase()), row[2].parse().unwrap()))
        .collect();
    single_features(&folder, 25, |feature, metric| published[&(feature, metric.to_owned())]);
}

fn compare(method: &str, folder: &Path, convention: &[&str]) -> Value {
    let folder = folder.display().to_string();
    println!("{method} on {}", folder.rsplit('/').next().unwrap());
    json(&[&["compare", method, "--folds", &folder, "--json"], convention].concat())
}

const MQ: [&str; 6] = ["--convention", "standard", "--empty", "zero", "--ties", "input"];

/// The thresholds are below what the true weights reach (.79, .85) by what 90 training queries cost.
#[test]
fn quality_on_made_up_data() {
    let dir = tempfile::tempdir().unwrap();
    made_up(dir.path(), 1);
    for (method, convention) in [
        ("ranksvm[scale=query,weight=pair,lambda=1]", &["--convention", "letor2"][..]),
        ("ranksvm", &["--convention", "letor2"]),
        ("ranksvm", &MQ),
    ] {
        let result = compare(method, dir.path(), convention);
        assert!(fold_mean(&result, "ndcg@10") >= 0.75 && fold_mean(&result, "map") >= 0.82);
    }
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn quality_on_ohsumed_and_mq2008() {
    let letor2 = ["--convention", "letor2"];
    let result = compare("ranksvm[scale=query,weight=pair,lambda=1]", &real("ohsumed-letor2"), &letor2);
    assert!(fold_mean(&result, "ndcg@10") >= 0.446 && fold_mean(&result, "map") >= 0.445);
    let result = compare("ranksvm", &real("ohsumed-letor2"), &letor2);
    assert!(fold_mean(&result, "ndcg@10") >= 0.4352 && fold_mean(&result, "map") >= 0.4475);
    let result = compare("ranksvm", &real("mq2008"), &MQ);
    assert!(fold_mean(&result, "ndcg@10") >= 0.4995 && fold_mean(&result, "map") >= 0.4715);
    let result = compare("rankmatch", &real("mq2008"), &MQ);
    assert!(fold_mean(&result, "ndcg@10") >= 0.505 && fold_mean(&result, "map") >= 0.478);
}

/// Transforms that are found by a rule do no harm; the twin is `transforms::an_exponential_of_features_costs_nothing`.
#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn transforms_do_no_harm() {
    for (name, convention) in
        [("ohsumed-letor2", &["--convention", "letor2"][..]), ("mq2008", &MQ), ("mq2007-subset", &MQ)]
    {
        let [with, without] = ["ranksvm", "ranksvm[transform=none]"]
            .map(|method| fold_mean(&compare(method, &real(name), convention), "ndcg@10"));
        println!("{name}: {with:.4} with transforms, {without:.4} without");
        // a choice on 157 queries moves by more than that: .0023 below on MQ2008, .0075 above on MQ2007
        assert!(with >= without - 0.003, "{name}");
    }
    for (name, test) in [("scene", "scene-test.arff.gz"), ("yeast", "yeast-test.arff")] {
        let train = items(name, &format!("{name}-train.arff.gz"));
        let means = annotated(&["cstar", "cstar[transform=none]"], &["--train", &train, "--test", &items(name, test)]);
        println!("{name}: {:.4} with transforms, {:.4} without", means[0], means[1]);
        // .0255 above on scene; on yeast, where columns have both signs, none is transformed
        assert!(means[0] >= means[1] - 0.002, "{name}");
    }
}

/// A convex objective has one optimum, which an independent solver found: NDCG@10 and MAP by scaling and λ.
const OPTIMA: [(&str, &str, f64, f64); 19] = [
    ("listnet", "minmax,lambda=0.001", 0.4494, 0.4488),
    ("listnet", "minmax,lambda=0.01", 0.4393, 0.4451),
    ("listnet", "minmax,lambda=0.1", 0.4397, 0.4423),
    ("listnet", "query,lambda=0.001", 0.4390, 0.4481),
    ("listnet", "query,lambda=0.01", 0.4434, 0.4475),
    ("listnet", "query,lambda=0.1", 0.4447, 0.4462),
    ("ranknet", "minmax,lambda=0.001", 0.4389, 0.4492),
    ("ranknet", "minmax,lambda=0.01", 0.4366, 0.4458),
    ("ranknet", "minmax,lambda=0.1", 0.4458, 0.4440),
    ("ranknet", "query,lambda=0.001", 0.4371, 0.4468),
    ("ranknet", "query,lambda=0.01", 0.4405, 0.4483),
    ("ranknet", "query,lambda=0.1", 0.4406, 0.4460),
    ("structrank", "minmax,lambda=0.001", 0.4409, 0.4487),
    ("structrank", "minmax,lambda=0.01", 0.4372, 0.4470),
    ("structrank", "minmax,lambda=0.1", 0.4475, 0.4471),
    ("structrank", "query,lambda=0.001", 0.4392, 0.4472),
    ("structrank", "query,lambda=0.01", 0.4413, 0.4476),
    ("structrank", "query,lambda=0.1", 0.4391, 0.4477),
    ("ccrf", "minmax", 0.4345, 0.4449),
];

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn convex_methods_land_on_their_optima() {
    let methods: Vec<String> =
        OPTIMA.iter().map(|(method, how, ..)| format!("{method}[transform=none,scale={how}]")).collect();
    let folder = real("ohsumed-letor2").display().to_string();
    let mut command = vec!["compare"];
    command.extend(methods.iter().map(String::as_str));
    command.extend(["--folds", &folder, "--convention", "letor2", "--metric", "ndcg@10,map", "--json"]);
    let result = json(&command);
    for (n, (method, (.., ndcg, map))) in methods.iter().zip(&OPTIMA).enumerate() {
        let mean = |metric: &str| result["methods"][n]["metrics"][metric]["fold_mean"].as_f64().unwrap();
        let found = [mean("ndcg@10"), mean("map")];
        println!("{method}: {found:.4?} for {ndcg} {map}");
        assert!((found[0] - ndcg).abs() < 0.001 && (found[1] - map).abs() < 0.001, "{method}");
    }
}

/// The thresholds are those of `quality_on_made_up_data`; a field has no negative weights, and half of the true ones are.
#[test]
fn networks_on_made_up_data() {
    let dir = tempfile::tempdir().unwrap();
    made_up(dir.path(), 1);
    for (method, ndcg, map) in [
        ("ranknet[scale=query,lambda=0.01]", 0.75, 0.82),
        ("ranknet[scale=query,lambda=0.001,hidden=4]", 0.7, 0.78),
        ("structrank[scale=query,lambda=0.01]", 0.75, 0.82),
        ("ranksvm[loss=hinge,scale=query,lambda=0.01]", 0.75, 0.82),
        ("sortnet[hidden=5,rounds=2]", 0.7, 0.78),
    ] {
        let result = compare(method, dir.path(), &["--convention", "letor2"]);
        let found = [fold_mean(&result, "ndcg@10"), fold_mean(&result, "map")];
        println!("{method}: {found:.4?}");
        assert!(found[0] >= ndcg && found[1] >= map, "{method}: {found:?}");
    }
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn sortnet_on_ohsumed() {
    let result = compare("sortnet", &real("ohsumed-letor2"), &["--convention", "letor2"]);
    let found = [fold_mean(&result, "ndcg@10"), fold_mean(&result, "map")];
    println!("sortnet: {found:.4?}");
    // .4409 and .4468; seeds 0 to 4 have .4377 to .4504 and .4453 to .4499
    assert!(found[0] >= 0.436 && found[1] >= 0.438);
}

/// The threshold is that of `quality_on_made_up_data`.
#[test]
fn svmmap_on_made_up_data() {
    let dir = tempfile::tempdir().unwrap();
    made_up(dir.path(), 1);
    let result = compare("svmmap[lambda=0.001,scale=minmax]", dir.path(), &["--convention", "letor2"]);
    assert!(fold_mean(&result, "map") >= 0.82);
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn svmmap_on_ohsumed() {
    let result = compare("svmmap[lambda=0.001,scale=minmax]", &real("ohsumed-letor2"), &["--convention", "letor2"]);
    assert!(fold_mean(&result, "ndcg@10") >= 0.438 && fold_mean(&result, "map") >= 0.446);
}

/// Grades that depend on pairs of columns: trees find what weights do not.
#[test]
fn trees_on_made_up_data() {
    let dir = tempfile::tempdir().unwrap();
    let set = Interactions { queries: 100, ..Interactions::default() }.make();
    for part in 0..5 {
        let units: Vec<u32> = (part * 20..(part + 1) * 20).collect();
        write(&set.only(&units), &dir.path().join(format!("S{}.txt.zst", part + 1))).unwrap();
    }
    let linear = compare("ranksvm[scale=query,lambda=1]", dir.path(), &MQ);
    let trees = compare("ranksvm[scale=query,lambda=1,scorer=linear+trees,leaves=15,rounds=60]", dir.path(), &MQ);
    assert!(fold_mean(&trees, "ndcg@10") >= fold_mean(&linear, "ndcg@10") + 0.05);
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn trees_on_ohsumed_and_mq2008() {
    let method = "ranksvm[scorer=linear+trees]";
    let result = compare(method, &real("ohsumed-letor2"), &MQ);
    assert!(fold_mean(&result, "ndcg@10") >= 0.447 && fold_mean(&result, "map") >= 0.450);
    let result = compare(method, &real("mq2008"), &MQ);
    assert!(fold_mean(&result, "ndcg@10") >= 0.502 && fold_mean(&result, "map") >= 0.475);
    let result = compare("rankmatch[scorer=auto]", &real("mq2008"), &MQ);
    assert!(fold_mean(&result, "ndcg@10") >= 0.505 && fold_mean(&result, "map") >= 0.479);
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn trees_on_mq2007_stay_calibrated() {
    let result = compare("rankmatch[scorer=linear+trees]", &real("mq2007-subset"), &MQ);
    assert!(fold_mean(&result, "ndcg@10") >= 0.454 && fold_mean(&result, "map") >= 0.467);
    let calibration = &result["methods"][0]["calibration"];
    assert!(calibration["error"].as_f64().unwrap() <= 0.006, "{calibration}");
    assert!(calibration["first"].as_f64().unwrap() <= 0.004, "{calibration}");
}

/// Means over seeds of the fold means of one method.
fn over_seeds(method: &str, folder: &Path, convention: &[&str], metrics: [&str; 3]) -> [f64; 3] {
    let results: Vec<Value> =
        (0..5).map(|seed| compare(method, folder, &[convention, &["--seed", &seed.to_string()]].concat())).collect();
    metrics.map(|metric| results.iter().map(|result| fold_mean(result, metric)).sum::<f64>() / 5.0)
}

#[test]
fn lists_on_made_up_data() {
    let dir = tempfile::tempdir().unwrap();
    made_up(dir.path(), 1);
    let letor2 = ["--convention", "letor2"];
    for method in [
        "rankmatch[scale=query,lambda=0.1,places=3]",
        "rankmatch[scale=query,lambda=0.1]",
        "dorm[scale=query,lambda=0.1]",
    ] {
        let result = compare(method, dir.path(), &letor2);
        assert!(fold_mean(&result, "ndcg@10") >= 0.75 && fold_mean(&result, "map") >= 0.82);
        let error = result["methods"][0]["calibration"]["error"].as_f64();
        assert!(method.starts_with("dorm") || error.is_some_and(|error| error < 0.1), "{error:?}");
    }
    let subsets =
        over_seeds("rankmatch[scale=query,lambda=0.1,subset=R]", dir.path(), &letor2, ["ndcg@10", "ndcg@5", "map"]);
    assert!(subsets[0] >= 0.75 && subsets[2] >= 0.82, "{subsets:?}");
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn lists_on_ohsumed_and_mq2008() {
    let (ohsumed, letor2) = (real("ohsumed-letor2"), ["--convention", "letor2"]);
    let subsets =
        over_seeds("rankmatch[scale=query,lambda=0.1,subset=3]", &ohsumed, &letor2, ["ndcg@10", "ndcg@5", "map"]);
    println!("subsets of 3, mean of 5 seeds: {subsets:?}");
    assert!(subsets[0] >= 0.443 && subsets[1] >= 0.454 && subsets[2] >= 0.446);
    let result = compare("rankmatch[scale=query,lambda=0.1,places=3]", &ohsumed, &letor2);
    assert!(fold_mean(&result, "ndcg@10") >= 0.444 && fold_mean(&result, "map") >= 0.445);
    let result = compare("rankmatch[scale=query,lambda=0.1,places=5]", &ohsumed, &letor2);
    assert!(fold_mean(&result, "ndcg@10") >= 0.442);
    println!("calibration error {}", result["methods"][0]["calibration"]["error"]);
    let result = compare("dorm[scale=query,lambda=0.1,subset=3]", &ohsumed, &letor2);
    assert!(fold_mean(&result, "ndcg@10") >= 0.438);
    let result = compare("rankmatch[scale=global,lambda=0.1,places=5]", &real("mq2008"), &MQ);
    assert!(fold_mean(&result, "ndcg@10") >= 0.505 && fold_mean(&result, "map") >= 0.478);
}

/// The memory of a fit stays near that of the matrix.
#[test]
fn memory_of_a_fit_on_made_up_data() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("big.txt");
    let made = Synthetic { queries: 6000, documents: (20, 50), features: 46, grades: 3, ..Synthetic::default() }.make();
    write(&made, &path).unwrap();
    let name = path.display().to_string();
    let found = json(&["inspect", &name, "--json", "--threads", "2"]);
    assert_eq!((found["rows"].as_u64().unwrap() as usize, &found["features"]), (made.rows(), &Value::from(46)));
    let model = dir.path().join("m.ordain").display().to_string();
    let matrix = made.rows() as f64 * 46.0 * 4.0 / f64::from(1 << 20);
    for method in ["ranksvm[transform=none]", "ranksvm[transform=log]"] {
        let (_, talk) = ordain(&["fit", method, &name, "-o", &model, "--threads", "2", "-v"]);
        let peak = talk.lines().find_map(|line| line.strip_prefix("peak memory ")?.strip_suffix(" kB")).unwrap();
        let peak = peak.parse::<f64>().unwrap() / 1024.0;
        println!("{method}: {peak:.0} MB at most, matrix {matrix:.0} MB");
        assert!(peak <= 1.3 * matrix + 64.0);
    }
}

/// Means of break-even precision of some methods.
fn annotated(methods: &[&str], data: &[&str]) -> Vec<f64> {
    let result = json(&[&["compare"], methods, data, &["--metric", "bep", "--json", "--quiet"]].concat());
    let means = result["methods"].as_array().unwrap().iter().map(|m| m["metrics"]["bep"]["mean"].as_f64().unwrap());
    let means: Vec<f64> = means.collect();
    for (method, mean) in methods.iter().zip(&means) {
        println!("  {method}: {mean:.4}");
    }
    means
}

fn items(name: &str, file: &str) -> String {
    let folder = PathBuf::from(std::env::var_os("ORDAIN_DATA").expect("ORDAIN_DATA names the data folder"));
    folder.join("annotation").join(name).join(file).display().to_string()
}

/// The data of the demo: break-even precision far above labels alone, by both trainers, and the scenes found as the core.
#[test]
fn annotate_on_made_up_data() {
    let dir = tempfile::tempdir().unwrap();
    let set = Scenes { items: 1000, noise: 1.5, ..Scenes::default() }.make();
    let (train, test): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(|&i| i < 600);
    let at = |name: &str| dir.path().join(name);
    write_labels(&set.only(&train), &at("train.arff")).unwrap();
    write_labels(&set.only(&test), &at("test.arff")).unwrap();
    let (train, test) = (at("train.arff").display().to_string(), at("test.arff").display().to_string());
    // what is chosen for likelihoods, and that they are above labels by themselves, is in the test of the demo
    let methods = ["likelihood", "margin"]
        .map(|trainer| format!("cstar[core=5,features=given,trainer={trainer},lambda=0.01,link_lambda=0.001]"));
    let data = ["--train", &train, "--test", &test, "--json", "-q"];
    let result = json(&[&["compare", &methods[0], &methods[1]], &data[..]].concat());
    let bep = |i: usize| result["methods"][i]["metrics"]["bep"]["mean"].as_f64().unwrap();
    let all = [0, 1].map(bep);
    println!("  {all:.4?}");
    assert!((all[1] - all[0]).abs() <= 0.03);
    let mut core: Vec<&str> =
        result["methods"][0]["core"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    core.sort_unstable();
    assert_eq!(core, ["beach", "forest", "kitchen", "office", "street"]);
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn annotation_of_mirflickr_real() {
    let gates = [
        ("independent[count_bias=false,features=scores]", 0.650),
        ("independent", 0.655),
        ("cstar[core=5]", 0.670),
        ("cstar[core=5,trainer=margin]", 0.668),
        ("cstar[core=5,features=both]", 0.675),
    ];
    let file = items("mirflickr25k-tags", "all.svm.gz");
    for (method, least) in gates {
        let means = annotated(&[method], &["--cv", "5", &file, "--only-fold", "0"]);
        assert!(means[0] >= least, "{method}: {} is below {least}", means[0]);
    }
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn annotation_of_published_splits_real() {
    for (name, method, train, test, least) in [
        ("scene", "cstar[core=3]", "scene-train.arff.gz", "scene-test.arff.gz", 0.74),
        ("yeast", "cstar[core=3]", "yeast-train.arff.gz", "yeast-test.arff", 0.665),
        ("corel5k", "cstar[core=3,features=scores]", "Corel5k-train-sparse.arff", "Corel5k-test-sparse.arff", 0.290),
        ("mediamill_reduced", "cstar[core=5,features=scores]", "mediamill-train.arff.gz", "mediamill-test.arff", 0.630),
        ("scene", "cstar[kernel=auto]", "scene-train.arff.gz", "scene-test.arff.gz", 0.795),
        ("yeast", "cstar[kernel=auto]", "yeast-train.arff.gz", "yeast-test.arff", 0.700),
        ("yeast", "cstar[scorer=trees]", "yeast-train.arff.gz", "yeast-test.arff", 0.698),
    ] {
        println!("{name}");
        let means = annotated(&[method], &["--train", &items(name, train), "--test", &items(name, test)]);
        assert!(means[0] >= least, "{name}: {} is below {least}", means[0]);
    }
}

/// Break-even precision after five questions by expected precision, on the first 500 test items.
fn after_five_questions(name: &str, train: &str, test: &str) -> [f64; 2] {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let (star, alone) = (at("star.ordain"), at("alone.ordain"));
    ordain(&["fit", "cstar[core=5,features=scores]", train, "-o", &star, "-q"]);
    ordain(&["fit", "independent[features=scores]", train, "-o", &alone, "-q"]);
    let words = ["simulate", &star, test, "--against", &alone, "--items", "500", "--questions", "5", "--json", "-q"];
    let result = json(&[&words[..], &["--strategy", "expected"]].concat());
    let after = |part: &Value| part["strategies"]["expected"]["bep"][1].as_f64().unwrap();
    let both = [after(&result), after(&result["against"])];
    println!("{name}: {:.4} after five questions, independent {:.4}", both[0], both[1]);
    both
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn annotation_after_five_questions_real() {
    // the first fold of five, as files
    let dir = tempfile::tempdir().unwrap();
    let reading = LabelReading::default();
    let (all, _) = read_labels(&[vec![items("mirflickr25k-tags", "all.svm.gz").into()]], &reading).unwrap();
    let (test, train): (Vec<u32>, Vec<u32>) = all.all().into_iter().partition(|i| i % 5 == 0);
    let at = |name: &str| dir.path().join(name);
    write_labels(&all.only(&train), &at("train.svm")).unwrap();
    write_labels(&all.only(&test), &at("test.svm")).unwrap();
    let path = |name: &str| at(name).display().to_string();
    let of =
        |name: &str, train: &str, test: &str| after_five_questions(name, &items(name, train), &items(name, test))[0];
    let [linked, alone] = after_five_questions("mirflickr25k-tags", &path("train.svm"), &path("test.svm"));
    assert!(linked >= 0.895 && linked > alone);
    assert!(of("mediamill_reduced", "mediamill-train.arff.gz", "mediamill-test.arff") >= 0.825);
    assert!(of("corel5k", "Corel5k-train-sparse.arff", "Corel5k-test-sparse.arff") >= 0.46);
}
