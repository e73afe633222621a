//! `kernel=given`: a Gram matrix in place of features.

use crate::support::{Place, number, ordain, well};
use ordain::data::synthetic::Scenes;
use ordain::data::{LabelSet, write_labels};
use ordain::kernel::{Form, Kernel};
use std::fmt::Write as _;

const METHOD: &str = "cstar[core=1,kernel=given,lambda=0.01,link_lambda=0.01,features=scores]";

/// Items with their ids: files without ids count from 1.
type Items = Vec<(usize, u32)>;

fn numbered(units: &[u32]) -> Items {
    (1..).zip(units.iter().copied()).collect()
}

fn row(set: &LabelSet, i: u32) -> Vec<f32> {
    (0..set.features.cols()).map(|j| set.features.value(i as usize, j)).collect()
}

/// The kernel of some items with others as a table.
fn table(set: &LabelSet, kernel: &Kernel, rows: &Items, columns: &Items) -> String {
    let mut text = String::from("id");
    columns.iter().for_each(|(id, _)| write!(text, ",{id}").unwrap());
    for &(id, i) in rows {
        write!(text, "\n{id}").unwrap();
        columns.iter().for_each(|&(_, j)| write!(text, ",{}", kernel.of(&row(set, i), &row(set, j))).unwrap());
    }
    text + "\n"
}

/// The same as NumPy writes it, without ids.
fn npy(set: &LabelSet, kernel: &Kernel, rows: &[u32], columns: &[u32]) -> Vec<u8> {
    let shape = format!("({}, {})", rows.len(), columns.len());
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    for &i in rows {
        columns.iter().for_each(|&j| bytes.extend(kernel.of(&row(set, i), &row(set, j)).to_le_bytes()));
    }
    bytes
}

#[test]
fn a_given_kernel_gives_what_the_kernel_gives() {
    let (place, set) = (Place::empty(), Scenes { items: 90, labels: 6, scenes: 3, ..Scenes::default() }.make());
    let (train, test): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(|i| i % 3 > 0);
    let items: Vec<f32> = train.iter().flat_map(|&i| row(&set, i)).collect();
    let kernel = Kernel::in_units(Form::Rbf, 0.3, &items, set.features.cols());
    let [data, held] = [("train.arff", &train), ("test.arff", &test)].map(|(name, units)| {
        write_labels(&set.only(units), &place.path().join(name)).unwrap();
        place.at(name)
    });
    let (rows, columns) = (numbered(&test), numbered(&train));
    let turned: Items = columns.iter().rev().copied().collect();
    for (name, text) in [
        ("train_gram.csv", table(&set, &kernel, &turned, &columns).into_bytes()),
        ("test_gram.csv", table(&set, &kernel, &rows, &turned).into_bytes()),
        ("few.csv", table(&set, &kernel, &rows, &columns[1..].to_vec()).into_bytes()),
        ("train_gram.npy", npy(&set, &kernel, &train, &train)),
        ("test_gram.npy", npy(&set, &kernel, &test, &train)),
    ] {
        std::fs::write(place.path().join(name), text).unwrap();
    }
    let at = |name: &str| place.at(name);
    for features in ["scores", "direct"] {
        let more = format!("features={features}");
        let given = METHOD.replace("kernel=given", &format!("kernel=given,{more}"));
        let own = METHOD.replace("kernel=given", &format!("kernel=rbf,gamma=0.3,scale=none,{more}"));
        well(&["fit", &given, &data, "--gram", &at("train_gram.csv"), "-o", &at("given"), "--quiet"]);
        well(&["fit", &given, &data, "--gram", &at("train_gram.npy"), "-o", &at("npy"), "--quiet"]);
        well(&["fit", &own, &data, "-o", &at("own"), "--quiet"]);
        let values = |model: &str, gram: Option<&str>| -> Vec<f64> {
            let (model, gram) = (at(model), gram.map(&at));
            let mut words = vec!["predict", &model, &held, "--top", "6", "--probabilities", "--json"];
            words.extend(gram.iter().flat_map(|gram| ["--gram", gram]));
            let lines = well(&words).json_lines();
            assert_eq!(lines.len(), test.len());
            let label = |value: &serde_json::Value| value["label"].as_str().unwrap().to_owned();
            lines
                .iter()
                .flat_map(|line| {
                    let mut all: Vec<(String, f64)> = line["labels"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|one| (label(one), number(&one["probability"])))
                        .collect();
                    all.sort_by(|a, b| a.0.cmp(&b.0));
                    all.into_iter().map(|(_, p)| p).collect::<Vec<f64>>()
                })
                .collect()
        };
        let truth = values("own", None);
        for (model, gram) in [("given", "test_gram.csv"), ("given", "test_gram.npy"), ("npy", "test_gram.csv")] {
            let said = values(model, Some(gram));
            assert!(
                said.len() == truth.len() && said.iter().zip(&truth).all(|(a, b)| (a - b).abs() < 2e-3),
                "{features}"
            );
        }
    }
    let words = ["evaluate", &at("given"), &held, "--gram", &at("test_gram.csv"), "--metric", "bep", "--json"];
    assert!(number(&well(&words).json()["metrics"]["bep"]["mean"]) > 0.3);
    well(&["simulate", &at("given"), &held, "--gram", &at("test_gram.csv"), "--questions", "1", "--strategy", "paper"]);
    // all items in folds
    let all = set.all();
    write_labels(&set, &place.path().join("all.arff")).unwrap();
    std::fs::write(place.path().join("all_gram.npy"), npy(&set, &kernel, &all, &all)).unwrap();
    let words = ["compare", METHOD, "--gram", &at("all_gram.npy"), "--cv", "3", &at("all.arff"), "--json"];
    assert_eq!(well(&words).json()["folds"], 3);
    for (words, code, says) in [
        (vec!["fit", METHOD, &data, "-o", "m"], 2, "--gram FILE"),
        (vec!["fit", "cstar", &data, "--gram", &at("train_gram.csv"), "-o", "m"], 2, "kernel=given"),
        (vec!["predict", &at("given"), &held], 2, "it wants the kernel"),
        (vec!["predict", &at("own"), &held, "--gram", &at("test_gram.csv")], 2, "leave it out"),
        (vec!["predict", &at("given"), &held, "--gram", &at("few.csv")], 1, "a column for"),
        (vec!["predict", &at("given"), &held, "--gram", &at("train_gram.csv")], 1, "30 rows, one for each id"),
        (vec!["fit", METHOD, &data, "--gram", &at("test_gram.npy"), "-o", "m"], 1, "expected 60 rows"),
        (vec!["fit", "ranksvm", &data, "--gram", &at("test_gram.npy"), "-o", "m"], 2, "--gram is for"),
    ] {
        ordain(&words).code(code).silent().says(says);
    }
}
