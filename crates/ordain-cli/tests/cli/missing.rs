//! `--missing`: what a gap means, and that the model remembers it.

use crate::support::{Place, near, ordain, well};
use ordain::data::synthetic::{Linkage, Registers, Scenes};
use ordain::data::{write_labels, write_matches};
use std::path::PathBuf;

const GAPS: &str = "\
label,qid,age,size
1,a,2,1
0,a,4,NULL
1,b,,3
0,b,6,2
2,c,nan,5
0,c,8,1
";

/// The same with 0, or with the mean of the column, in the place of the gaps.
fn filled(age: &str, size: &str) -> String {
    GAPS.replace("NULL", size).replace("b,,", &format!("b,{age},")).replace("nan", age)
}

/// Scores of a file by a model.
fn scores(model: &str, data: &str) -> Vec<f64> {
    well(&["predict", model, data]).out.lines().map(|line| line.parse().unwrap()).collect()
}

fn fit(place: &Place, data: &str, name: &str, missing: &str) -> String {
    let model = place.at(name);
    let words = ["fit", "ranksvm", data, "-o", &model, "--set=lambda=1", "--set=scale=global", "--missing", missing];
    well(&words);
    model
}

#[test]
fn gaps_are_refused_by_default_with_the_way_out() {
    let place = Place::empty();
    let gaps = place.write("gaps.csv", GAPS);
    let done = ordain(&["inspect", &gaps]).code(1).silent();
    assert!(done.err.contains("gaps.csv:3:") && done.err.contains("--missing zero"), "{}", done.err);
    let letor = place.write("gaps.txt", "1 qid:a 1:2 2:1\n0 qid:a 1:NULL 2:3\n");
    let done = ordain(&["fit", "ranksvm", &letor, "-o", &place.at("m.ordain")]).code(1).silent();
    assert!(done.err.contains("gaps.txt:2:11:") && done.err.contains("--missing"), "{}", done.err);
}

#[test]
fn zero_is_zero_and_travels_in_the_model() {
    let place = Place::empty();
    let gaps = place.write("gaps.csv", GAPS);
    let zeros = place.write("zeros.csv", &filled("0", "0"));
    let model = fit(&place, &gaps, "zero.ordain", "zero");
    let plain = fit(&place, &zeros, "plain.ordain", "error");
    // nobody says --missing here
    let (a, b) = (scores(&model, &gaps), scores(&plain, &zeros));
    a.iter().zip(&b).for_each(|(&a, &b)| near(a, b));
    assert_eq!(well(&["inspect", &model, "--json"]).json()["missing"], "zero");
    ordain(&["predict", &plain, &gaps]).code(1).silent().says("gaps.csv:3:");
}

#[test]
fn mean_is_that_of_training_and_travels_in_the_model() {
    let place = Place::empty();
    let gaps = place.write("gaps.csv", GAPS);
    // age: (2 + 4 + 6 + 8) / 4, size: (1 + 3 + 2 + 5 + 1) / 5
    let means = place.write("means.csv", &filled("5", "2.4"));
    let model = fit(&place, &gaps, "mean.ordain", "mean");
    let plain = fit(&place, &means, "plain.ordain", "error");
    let close = |a: &[f64], b: &[f64]| {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).for_each(|(&a, &b)| assert!((a - b).abs() < 1e-5, "{a} is not {b}"));
    };
    close(&scores(&model, &gaps), &scores(&plain, &means));
    // new data: the means of training, not of the new file
    let new = place.write("new.csv", "label,qid,age,size\n1,z,,100\n0,z,50,\n");
    let by_hand = place.write("by_hand.csv", "label,qid,age,size\n1,z,5,100\n0,z,50,2.4\n");
    close(&scores(&model, &new), &scores(&plain, &by_hand));
    assert_eq!(well(&["inspect", &model, "--json"]).json()["missing"], "mean");
}

#[test]
fn compare_takes_the_means_of_each_training_part() {
    let place = Place::empty();
    let gaps = place.write("gaps.csv", GAPS);
    let means = place.write("means.csv", &filled("5", "2.4"));
    let method = "ranksvm[lambda=1,scale=global]";
    let run = |train: &str, test: &str, missing: &str| {
        let words = ["compare", method, "--train", train, "--test", test, "--json", "--missing", missing];
        well(&words).json()["methods"][0]["metrics"].clone()
    };
    assert_eq!(run(&gaps, &gaps, "mean"), run(&means, &means, "error"));
}

#[test]
fn convert_and_evaluate_fill_gaps() {
    let place = Place::empty();
    let gaps = place.write("gaps.csv", GAPS);
    let out = place.at("out.csv");
    well(&["convert", &gaps, &out, "--missing=zero"]);
    assert_eq!(place.read("out.csv"), filled("0", "0"));
    well(&["convert", &gaps, &out, "--missing=mean"]);
    assert_eq!(place.read("out.csv"), filled("5", "2.4"));
    let evaluate = |data: &str, missing: &str| {
        well(&["evaluate", data, "--feature=age", "--json", "--per-query", "--missing", missing]).out
    };
    assert_eq!(evaluate(&gaps, "mean"), evaluate(&out, "error"));
}

#[test]
fn infinity_is_never_a_gap() {
    let place = Place::empty();
    let data = place.write("inf.csv", "label,qid,age\n1,a,inf\n0,a,1\n");
    for missing in ["error", "zero", "mean"] {
        ordain(&["inspect", &data, "--missing", missing]).code(1).silent().says("inf.csv:2:");
    }
    ordain(&["inspect", &data, "--missing=median"]).code(2).silent().says("mean");
}

/// A model has its own rule; another one is refused whatever the model does and whatever is done with it.
#[test]
fn a_model_takes_no_other_rule() {
    let place = Place::empty();
    let queries = place.write("queries.txt", &crate::data::letor(10, 1));
    let (items, edges) = (place.at("items.arff"), place.at("edges.csv"));
    write_labels(&Scenes { items: 40, labels: 4, ..Scenes::default() }.make(), &PathBuf::from(&items)).unwrap();
    write_matches(&Linkage { problems: 6, records: 3, ..Linkage::default() }.make(), &PathBuf::from(&edges)).unwrap();
    for (method, data, unit) in [
        ("ranksvm[scale=query,lambda=1]", &queries, "--query=1"),
        ("independent[lambda=0.1]", &items, "--item=1"),
        ("matchmap[scale=none,lambda=1,null=true]", &edges, "--problem=1"),
    ] {
        let model = place.at("model.ordain");
        well(&["fit", method, data, "-o", &model]);
        for words in [&["predict", &model, data][..], &["evaluate", &model, data], &["explain", &model, data, unit]] {
            for rule in ["zero", "mean", "error"] {
                let said = "a model has its own rule for missing values: leave out --missing";
                ordain(&[words, &["--missing", rule]].concat()).code(2).silent().says(said);
            }
        }
        std::fs::remove_file(&model).unwrap();
    }
    let model = place.at("tags.ordain");
    well(&["fit", "independent[lambda=0.1]", &items, "-o", &model]);
    for words in [["simulate", &model, &items], ["ask", &model, &items]] {
        ordain(&[&words[..], &["--missing=zero"]].concat()).code(2).says("leave out --missing");
    }
}

/// A matcher takes indicators by itself where there are gaps, and says so in the model; `--missing error` refuses them.
#[test]
fn matchers_take_indicators_where_there_are_gaps() {
    let place = Place::empty();
    let (gaps, none, model) = (place.at("gaps.csv"), place.at("none.csv"), place.at("model.ordain"));
    write_matches(&Registers { records: 60, page: Some(6), seed: 1 }.make(), &PathBuf::from(&gaps)).unwrap();
    write_matches(&Linkage { problems: 6, records: 3, ..Linkage::default() }.make(), &PathBuf::from(&none)).unwrap();
    let method = "matchmap[scale=none,lambda=1,null=true]";
    for (data, rule) in [(&gaps, "indicator"), (&none, "error")] {
        well(&["fit", method, data, "-o", &model]);
        assert_eq!(well(&["inspect", &model, "--json"]).json()["missing"], rule);
        well(&["evaluate", &model, data]);
        well(&["compare", method, "--cv", "3", data]);
    }
    ordain(&["fit", method, &gaps, "-o", &model, "--missing=error"]).code(1).says("gaps.csv:4:");
    ordain(&["convert", &gaps, &place.at("out.tsv")]).code(1).says("gaps.csv:4:");
}
