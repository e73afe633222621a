//! `ordain compare` of methods that annotate, and the demo of them.

use crate::compare::check;
use crate::golden::golden_json;
use crate::support::{Place, command, has_fields, near, number, ordain, well};
use ordain::data::synthetic::Scenes;
use ordain::data::write_labels;
use serde_json::Value;

/// Made-up scenes of few labels, for training and for the test.
fn scenes() -> Place {
    let place = Place::empty();
    let set = Scenes { items: 300, labels: 12, scenes: 4, ..Scenes::default() }.make();
    let (train, test): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(|&i| i < 200);
    write_labels(&set.only(&train), &place.path().join("train.arff")).unwrap();
    write_labels(&set.only(&test), &place.path().join("test.arff")).unwrap();
    place
}

const FIXED: &str = "cstar[lambda=0.001,link_lambda=0.001,features=scores]";

#[test]
fn train_and_test() {
    let place = scenes();
    let (train, test) = (place.at("train.arff"), place.at("test.arff"));
    let methods = ["cstar[core=2]", "independent[count_bias=false]", "independent[trainer=margin,lambda=0.01]"];
    let words =
        [&["compare"], &methods[..], &["--train", &train, "--test", &test, "--json", "--metric=bep,rankloss,f1"]];
    let value = well(&words.concat()).json();
    check(&value, 3, 1);
    assert_eq!((&value["task"], &value["unit"], &value["units"]), (&"annotate".into(), &"item".into(), &100.into()));
    let list = value["methods"].as_array().unwrap();
    has_fields(&list[0]["chosen"][0], &["lambda", "link_lambda", "core"]);
    assert_eq!(list[0]["core"], list[0]["chosen"][0]["core"]);
    assert_eq!(list[0]["core"].as_array().unwrap().len(), 2);
    has_fields(&list[0]["floor"][0], &["one_vs_rest", "reached"]);
    has_fields(&list[1]["chosen"][0], &["lambda"]);
    assert!(list[1].get("core").is_none() && list[2].get("floor").is_none());
    // every label of every item is in a bin; a margin is no probability
    let bins = list[0]["calibration"]["bins"].as_array().unwrap();
    assert_eq!(bins.iter().map(|bin| bin["labels"].as_u64().unwrap()).sum::<u64>(), 100 * 12);
    assert!(number(&list[0]["calibration"]["error"]) < 0.1 && list[2].get("calibration").is_none());
    golden_json("compare_tags.json", &value);
}

#[test]
fn what_is_compared_is_what_fit_gives() {
    let place = scenes();
    let (train, test, model) = (place.at("train.arff"), place.at("test.arff"), place.at("m.ordain"));
    let compared = well(&["compare", FIXED, "--train", &train, "--test", &test, "--json"]).json();
    well(&["fit", FIXED, &train, "-o", &model]);
    let fitted = ordain::model_file::load::<ordain::method::Annotate>(std::path::Path::new(&model)).unwrap();
    let (set, _) = ordain::data::read_labels(&[vec![test.into()]], &Default::default()).unwrap();
    for (name, cell) in compared["methods"][0]["metrics"].as_object().unwrap() {
        let metric = [name.parse().unwrap()];
        let result = {
            use ordain::task::Model as _;
            let ready = fitted.model.prepare(&set).unwrap();
            fitted.model.evaluate(&ready, &set.all(), &metric, &ordain::metric::Convention::STANDARD).unwrap()
        };
        near(number(&cell["mean"]), result.mean(0));
    }
    assert_eq!(compared["methods"][0]["model_bytes"], place.bytes("m.ordain").len());
}

#[test]
fn cross_validation() {
    let place = scenes();
    let train = place.at("train.arff");
    let words = ["compare", FIXED, "--cv", "4", &train, "--json", "--metric=bep,hamming"];
    let value = well(&words).json();
    check(&value, 1, 4);
    assert_eq!(value["units"], 200);
    golden_json("compare_tags_cv.json", &value);
    let first = well(&[&words[..], &["--only-fold=0"]].concat()).json();
    check(&first, 1, 1);
    let folds = &value["methods"][0]["metrics"]["bep"]["folds"];
    near(number(&first["methods"][0]["metrics"]["bep"]["mean"]), number(&folds[0]));
    ordain(&[&words[..], &["--only-fold=4"]].concat()).code(2).silent().says("from 0 to 3, found 4");
    // what was chosen is fitted again on training and validation, unless that is not wanted
    let chosen = ["compare", "cstar[core=1]", "--cv", "4", &train, "--json", "--metric=ap", "--only-fold=1"];
    let (again, kept) = (well(&chosen).json(), well(&[&chosen[..], &["--no-refit"]].concat()).json());
    assert_ne!(again["methods"][0]["metrics"], kept["methods"][0]["metrics"]);
}

#[test]
fn wrong_words_are_refused_before_reading() {
    let two = ["compare", "ranksvm", "cstar", "--cv", "5", "nothing.arff"];
    ordain(&two).code(2).silent().says("methods of one task, found ranksvm, which ranks, and cstar, which annotates");
    ordain(&["compare", "cstar", "--folds", "nowhere"]).code(2).silent().says("--cv 5 FILE");
    ordain(&["compare", "cstar"]).code(2).silent().says("--cv 5 FILE");
    ordain(&["compare", "cstar[cor=5]", "--cv", "5", "nothing.arff"]).code(2).silent().says("core");
}

#[test]
fn the_table_says_what_bep_is_told_and_marks_the_least_loss() {
    let place = scenes();
    let words =
        ["compare", "independent", FIXED, "--train", "train.arff", "--test", "test.arff", "--metric=bep,rankloss"];
    // names without a folder, beside two files of labels
    let done = command(&words).current_dir(place.path()).output().unwrap();
    let (out, err) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert!(done.status.success(), "{err}");
    for text in
        ["an oracle, as in the paper", "less is better: rankloss", "differences in bep", "100 test items", "core: "]
    {
        assert!(out.contains(text), "no {text:?} in\n{out}");
    }
    assert!(!out.contains("quer") && !out.contains("document"), "{out}");
    let value = well(&[
        "compare",
        words[1],
        words[2],
        "--train",
        &place.at("train.arff"),
        "--test",
        &place.at("test.arff"),
        "--metric=bep,rankloss",
        "--json",
    ])
    .json();
    let loss = |i: usize| number(&value["methods"][i]["metrics"]["rankloss"]["mean"]);
    let line =
        out.lines().find(|line| line.starts_with(if loss(0) < loss(1) { "independent" } else { "cstar" })).unwrap();
    assert!(line.split('±').nth(2).unwrap().contains('*'), "{out}");
}

#[test]
fn a_choice_by_a_loss_takes_the_least() {
    let place = scenes();
    let (train, model) = (place.at("train.arff"), place.at("m.ordain"));
    well(&["fit", "independent", &train, "-o", &model, "--choose-by", "rankloss", "--no-refit"]);
    let facts = ordain::model_file::load::<ordain::method::Annotate>(std::path::Path::new(&model)).unwrap().facts;
    let least = facts.chosen.as_ref().unwrap().candidates.iter().map(|c| c.value).fold(f64::INFINITY, f64::min);
    near(facts.notes.floor.unwrap().reached, least);
}

#[test]
fn missing_values_are_filled_from_the_training_part() {
    let place = Place::empty();
    let row = |i: usize| {
        let size = if i % 7 == 3 { String::new() } else { format!("{}", i % 5) };
        format!("i{i},{size},{},{}\n", i % 3, ["a", "b;c"][i % 2])
    };
    place.write("t.csv", &("id,size,shade,labels\n".to_owned() + &(0..60).map(row).collect::<String>()));
    let words = [
        "compare",
        "independent[lambda=0.01,features=scores]",
        "--cv",
        "3",
        &place.at("t.csv"),
        "--json",
        "--metric=bep",
    ];
    ordain(&words).code(1).silent();
    for rule in ["--missing=zero", "--missing=mean"] {
        check(&well(&[&words[..], &[rule]].concat()).json(), 1, 3);
    }
}

#[test]
fn a_report_speaks_of_items_and_labels() {
    let place = scenes();
    let (train, test, report) = (place.at("train.arff"), place.at("test.arff"), place.at("report.html"));
    well(&["compare", "cstar[core=2]", "independent", "--train", &train, "--test", &test, "--report", &report]);
    let html = place.read("report.html");
    for text in [
        "Precision at each cut-off",
        "Item by item: bep",
        "Strongest links between labels",
        "link_lambda=",
        "with the core ",
        "predicted probability of a label",
        "an oracle, as in the paper",
        "100 test items",
        ">Labels</th>",
    ] {
        assert!(html.contains(text), "no {text:?}");
    }
    let seen = &html[html.find("<body").unwrap()..];
    for never in ["quer", "Quer", "document", "Document", "NDCG"] {
        assert!(!seen.contains(never), "{never:?} in the report");
    }
    assert!(!html.contains("src=") && html.matches("href=").count() == html.matches("href=\"#u").count());
}

#[test]
fn the_demo_shows_what_links_are_worth() {
    let place = Place::empty();
    let done = well(&["demo", "all", "--out", &place.at("demo")]);
    for name in ["train.arff", "test.arff", "model.ordain", "independent.ordain", "report.html"] {
        assert!(!place.bytes(&format!("demo/annotate/{name}")).is_empty(), "{name} is empty");
    }
    assert!(!place.bytes("demo/rank/report.html").is_empty());
    // its models know the data that they were trained on
    let known = well(&["evaluate", &place.at("demo/rank/model.ordain"), &place.at("demo/rank/train.txt")]).err;
    assert!(known.contains("these are the data that the model was trained on"), "{known}");
    crate::matches::the_demo_shows_what_learning_is_worth(&place, &done, "demo/match");
    assert!(done.err.contains("Break-even precision of the c-star"), "{}", done.err);
    // above labels by themselves, whether on the same detectors or by classifiers that see all detectors
    let above = |what: &str| {
        let at = done.err.find(what).unwrap_or_else(|| panic!("no {what:?} in\n{}", done.err));
        done.err[..at].rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(above(" against labels by themselves") >= 0.04 && above(" against classifiers") >= 0.04, "{}", done.err);
    let core = done
        .err
        .lines()
        .find_map(|line| line.strip_prefix("The labels that say most about the others, found in the data: "));
    let mut core: Vec<&str> = core.unwrap().trim_end_matches('.').split(", ").collect();
    core.sort_unstable();
    assert_eq!(core, ["beach", "forest", "kitchen", "office", "street"]);
}

#[test]
fn folds_of_values_are_all_numbers() {
    let place = scenes();
    let value =
        well(&["compare", "independent[lambda=0.01,features=scores]", "--cv", "3", &place.at("test.arff"), "--json"])
            .json();
    let metrics: Vec<&str> = value["methods"][0]["metrics"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(metrics, ["bep", "bep_learned", "p@5", "ap", "rankloss", "f1"]);
    assert!(value["methods"][0]["metrics"]["bep"]["folds"].as_array().unwrap().iter().all(Value::is_number));
}

#[test]
fn fits_that_ended_early_are_named() {
    let place = scenes();
    let (train, test) = (place.at("train.arff"), place.at("test.arff"));
    let method = "independent[lambda=0.001,max_iter=1,tol=1e-9,features=scores]";
    let done = well(&["compare", method, "--cv", "3", &train]);
    let early = |fold: usize| format!("warning: {method}, fold {fold}: max_iter=1 was reached at a relative gradient");
    assert!(done.err.contains(&early(0)) && done.err.contains(&early(2)), "{}", done.err);
    let done = well(&["compare", method, "cstar[lambda=0.001]", "--train", &train, "--test", &test]);
    assert!(done.err.contains(&format!("warning: {method}: max_iter=1 was reached")), "{}", done.err);
    assert!(!done.out.contains("fold ") && !done.err.contains("fold "), "one round is no fold:\n{}", done.out);
}

/// Table 1 of the paper as one command: what `simulate` gives for each fold, together.
#[test]
fn questions_are_asked_in_every_fold() {
    let place = scenes();
    let train = place.at("train.arff");
    let words =
        ["compare", "independent[lambda=0.001,features=scores]", FIXED, "--questions", "5,1", "--cv", "4", &train];
    let value = well(&[&words[..], &["--json", "--metric=bep", "--threads=1"]].concat()).json();
    assert_eq!((value["methods"].as_array().unwrap().len(), &value["folds"]), (2, &4.into()));
    for method in value["methods"].as_array().unwrap() {
        let one = &method["questions"]["expected"];
        has_fields(one, &["after", "count", "items", "bep", "low", "high", "fold_mean", "folds"]);
        assert_eq!((&one["after"], &one["count"]), (&serde_json::json!([0, 1, 5]), &"oracle".into()));
        let numbers = |key: &str| one[key].as_array().unwrap().iter().map(number).collect::<Vec<f64>>();
        let (mean, low, high) = (numbers("bep"), numbers("low"), numbers("high"));
        assert!((0..3).all(|q| low[q] <= mean[q] && mean[q] <= high[q]) && mean[0] < mean[1] && mean[1] < mean[2]);
        // before the first question it is the metric bep, whose items are those that can be asked about
        near(mean[0], number(&method["metrics"]["bep"]["mean"]));
        let folds = one["folds"].as_array().unwrap();
        assert_eq!(folds.len(), 4);
        (0..3)
            .for_each(|q| near(numbers("fold_mean")[q], folds.iter().map(|fold| number(&fold[q])).sum::<f64>() / 4.0));
    }
    let tests: Vec<&Value> = value["tests"].as_array().unwrap().iter().collect();
    assert_eq!(tests.len(), 1 + 3, "{tests:?}");
    assert_eq!(tests[2]["metric"], "bep Q1 by expected");
    let again = well(&[&words[..], &["--json", "--metric=bep", "--threads=3"]].concat()).json();
    assert_eq!(again["methods"][1]["questions"], value["methods"][1]["questions"]);
    // a fold by hand: fit on the others, simulate on it
    let set = ordain::data::read_labels(&[vec![train.clone().into()]], &Default::default()).unwrap().0;
    let part = |test: bool| set.all().into_iter().filter(|i| (i % 4 == 0) == test).collect::<Vec<u32>>();
    let [others, fold] = [false, true].map(|test| {
        let file = place.at(if test { "fold.arff" } else { "others.arff" });
        write_labels(&set.only(&part(test)), std::path::Path::new(&file)).unwrap();
        file
    });
    let model = place.at("m.ordain");
    well(&["fit", FIXED, &others, "-o", &model]);
    let alone = well(&["simulate", &model, &fold, "--questions", "1,5", "--strategy", "expected", "--json"]).json();
    for q in 0..3 {
        let here = &value["methods"][1]["questions"]["expected"]["folds"][0][q];
        near(number(&alone["strategies"]["expected"]["bep"][q]), number(here));
    }
    // in words, on a page, by several strategies, and with a number of labels that is not told
    let page = place.at("page.html");
    let more = ["--strategy", "paper,random", "--count", "learned", "--only-fold", "1", "--report", &page];
    let done = well(&[&words[..], &more].concat());
    for word in ["bep after questions, strategy paper", "strategy random", "Auto", "Q5", "learned"] {
        assert!(done.out.contains(word), "{word}:\n{}", done.out);
    }
    assert!(place.read("page.html").contains("Precision after each question"));
    for (words, says) in [
        (&["compare", "cstar", "--questions", "0", "--cv", "5", "no.arff"][..], "expected numbers above 0"),
        (
            &["compare", "ranksvm", "--questions", "1", "--cv", "5", "no.txt"],
            "--questions is for methods that give labels",
        ),
        (&["compare", "cstar", "--strategy", "paper", "--cv", "5", "no.arff"], "--questions"),
        (
            &["compare", "cstar[trainer=margin]", "--questions=1", "--strategy=entropy", "--cv", "5", "no.arff"],
            "needs probabilities",
        ),
    ] {
        ordain(words).code(2).silent().says(says);
    }
    let many = well(&["compare", FIXED, "--questions=40", "--cv", "4", &train, "--only-fold=0", "--json"]);
    assert_eq!(many.says("there are 12 labels").json()["methods"][0]["questions"]["expected"]["after"][1], 12);
}
