//! `ordain fit` and what `ordain inspect` shows of models and data.

use crate::data;
use crate::golden::{calm_text, golden, golden_json};
use crate::support::{Place, has_fields, number, ordain, well};

#[test]
fn json_of_a_fit() {
    let place = Place::trained();
    let model = place.at("new.ordain");
    let words = ["fit", "ranksvm", &place.at("train.txt"), "-o", &model, "--set=c=10", "--set=scale=query", "--json"];
    let value = well(&words).json();
    has_fields(&value, &["method", "objective", "gap", "iterations", "stop", "seconds", "model"]);
    assert_eq!(value["model"], model);
    assert_eq!(value["settings"]["lambda"], 0.1);
    assert_eq!(value["stop"], "gradient");
    golden_json("fit.json", &value);
    // the same setting by its other name
    assert_eq!(place.bytes("new.ordain"), place.bytes("model.ordain"));
}

/// Fits that take rounds of convex problems say how many, in JSON, in the model and in words.
#[test]
fn rounds_are_reported() {
    let place = Place::empty();
    let four = (1..4).map(|q| format!("1 qid:{q} 1:3\n0 qid:{q} 1:2\n0 qid:{q} 1:0\n0 qid:{q} 1:-2\n"));
    let (data, model) = (place.write("four.txt", &four.collect::<String>()), place.at("m.ordain"));
    let fit = |method: &str| {
        let done = well(&["fit", method, &data, "-o", &model, "--json"]);
        (done.json(), well(&["inspect", &model, "--json"]).json(), well(&["inspect", &model]).out, done.err)
    };
    let (fitted, header, text, said) = fit("dorm[scale=none,subset=4,loss=p@1,lambda=0.1]");
    for value in [&fitted, &header] {
        assert!(number(&value["rounds"]) >= 1.0 && value["stop"] == "change", "{value}");
        assert!((number(&value["objective"]) - 0.05).abs() < 1e-6 && number(&value["gap"]) < 1e-3, "{value}");
        assert_eq!(value["settings"]["ties"], "best");
    }
    assert!((number(&header["weights"]["1"]) - 1.0).abs() < 1e-6, "{header}");
    assert!(text.contains(" round, stop: change") && said.contains(" round (change)"), "{text}{said}");
    let (fitted, header, text, _) = fit("dorm[scale=none,subset=4,loss=p@1,lambda=0.1,ties=average]");
    assert!(fitted.get("rounds").is_none() && header.get("rounds").is_none() && !text.contains("round"), "{text}");
    ordain(&["fit", "dorm[ties=sum]", &data, "-o", &model]).code(2).says("known are best, average, random");
}

#[test]
fn a_fit_speaks_on_standard_error_only() {
    let place = Place::trained();
    let words = ["fit", "ranksvm", &place.at("train.txt"), "-o", &place.at("new.ordain")];
    let done = well(&words).silent();
    for text in ["by ndcg@10 on 30 queries in 5 parts", "weight=", "new.ordain"] {
        assert!(done.err.contains(text), "no {text:?} in\n{}", done.err);
    }
    assert!(!done.err.contains('\u{1b}'), "no colours or bars without a terminal");
}

/// Where λ that are far apart are level the choice is unsure, and the order of the file decides: that is said. A λ that is given is not
/// chosen.
#[test]
fn a_choice_that_the_data_cannot_make_is_said() {
    let place = Place::empty();
    // one column tells all: no λ orders better than another
    let rows: String = (0..40).map(|q| format!("2 qid:{q} 1:3\n1 qid:{q} 1:2\n0 qid:{q} 1:0\n")).collect();
    let (data, model) = (place.write("one.txt", &rows), place.at("m.ordain"));
    let said = well(&["fit", "ranksvm[scale=none,weight=pair]", &data, "-o", &model]).err;
    assert!(said.contains("warning: the choice is unsure: on 40 queries"), "{said}");
    let level = well(&["inspect", &model, "--json"]).json()["chosen"]["level"].clone();
    assert!(number(&level[1]) >= 99.9 * number(&level[0]), "{level}");
    let said = well(&["fit", "ranksvm[scale=none,weight=pair,lambda=1]", &data, "-o", &model]).err;
    assert!(!said.contains("unsure"), "{said}");
}

#[test]
fn inspect_a_model_as_json() {
    let place = Place::trained();
    let value = well(&["inspect", &place.at("model.ordain"), "--json"]).json();
    let header = ["format", "ordain", "task", "method", "settings", "features", "scale", "missing", "data", "rows"];
    has_fields(&value, &header);
    let facts = ["queries", "iterations", "stop", "objective", "gap", "seed", "generator", "weights"];
    has_fields(&value, &facts);
    assert_eq!(value["data"].as_str().unwrap().len(), 64);
    assert!(number(&value["weights"]["1"]) > 0.0 && number(&value["weights"]["3"]) < 0.0);
    golden_json("inspect_model.json", &value);
}

#[test]
fn inspect_shows_the_whole_header() {
    let place = Place::trained();
    let value = well(&["inspect", &place.at("model.ordain"), "--json"]).json();
    has_fields(&value, &["checksum"]);
    let sum = value["checksum"].as_str().unwrap();
    let bytes = place.bytes("model.ordain");
    assert!(bytes.windows(sum.len()).any(|part| part == sum.as_bytes()), "the checksum is that of the file");
}

#[test]
fn inspect_a_model_as_text() {
    let place = Place::trained();
    let done = well(&["inspect", &place.at("model.ordain")]);
    assert_eq!(done.err, "");
    golden("inspect_model.txt", &calm_text(&done.out, place.path()));
}

#[test]
fn inspect_data_as_json() {
    let place = Place::trained();
    let value = well(&["inspect", &place.at("train.txt"), "--json"]).json();
    has_fields(&value, &["task", "unit", "units", "rows", "features", "grades", "seconds"]);
    has_fields(&value["seconds"], &["load"]);
    let rows = data::rows(30, 1);
    assert_eq!((&value["units"], &value["features"]), (&30.into(), &5.into()));
    assert_eq!(value["rows"], rows.len());
    for grade in 0..3 {
        assert_eq!(value["grades"][grade.to_string()], rows.iter().filter(|row| row.grade == grade).count());
    }
    golden_json("inspect_data.json", &value);
}

#[test]
fn inspect_data_as_text() {
    let place = Place::trained();
    let done = well(&["inspect", &place.at("train.txt")]);
    assert_eq!(done.err, "");
    golden("inspect_data.txt", &calm_text(&done.out, place.path()));
}

#[test]
fn inspect_sparse_data() {
    let place = Place::empty();
    let value = well(&["inspect", &place.write("sparse.txt", &data::sparse(40, 3)), "--json"]).json();
    assert_eq!((&value["rows"], &value["layout"]), (&200.into(), &"sparse".into()));
}

#[test]
fn a_validation_file_is_used_for_the_choice() {
    let place = Place::trained();
    let (train, valid, model) = (place.at("train.txt"), place.at("test.txt"), place.at("new.ordain"));
    let words = ["fit", "ranksvm", &train, "-o", &model, "--valid", &valid, "--choose-by=map"];
    well(&words);
    let value = well(&["inspect", &model, "--json"]).json();
    // 12 are few: those of both files choose
    assert_eq!((&value["chosen"]["queries"], &value["chosen"]["parts"]), (&42.into(), &5.into()));
    assert_eq!(value["chosen"]["metric"], "map");
    assert_eq!((&value["refit"], &value["queries"]), (&true.into(), &42.into()));
    well(&[&words[..], &["--no-refit"]].concat());
    let value = well(&["inspect", &model, "--json"]).json();
    assert_eq!((&value["refit"], &value["queries"]), (&false.into(), &30.into()));
}

#[test]
fn several_training_files_are_one() {
    let place = Place::trained();
    let (a, b) = (place.at("train.txt"), place.write("more.txt", &data::letor(6, 9).replace("qid:q", "qid:r")));
    let both = place.write("both.txt", &(place.read("train.txt") + &place.read("more.txt")));
    let fit = |files: &[&str], model: &str| {
        well(&[&["fit", "ranksvm"], files, &["-o", &place.at(model), "--set=lambda=1"]].concat());
        place.bytes(model)
    };
    assert_eq!(fit(&[&a, &b], "two.ordain"), fit(&[&both], "one.ordain"));
}

#[test]
fn a_fit_that_reaches_max_iter_says_so() {
    let place = Place::trained();
    let words = ["fit", "ranksvm", &place.at("train.txt"), "-o", &place.at("m.ordain"), "--set=lambda=1e-6"];
    let done = well(&[&words[..], &["--set=max_iter=1", "--set=scale=none", "--json"]].concat());
    assert_eq!(done.json()["stop"], "iterations");
    let done = done.says("max_iter");
    assert!(done.err.contains("warning"));
}

#[test]
fn a_damaged_model_is_refused() {
    let place = Place::trained();
    let mut bytes = place.bytes("model.ordain");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(place.path().join("bad.ordain"), &bytes).unwrap();
    ordain(&["inspect", &place.at("bad.ordain")])
        .code(1)
        .silent()
        .says("checksum is wrong")
        .says("fit the model again");
    std::fs::write(place.path().join("cut.ordain"), &bytes[..last / 2]).unwrap();
    ordain(&["predict", &place.at("cut.ordain"), &place.at("test.txt")]).code(1).silent().says("cut.ordain");
    ordain(&["evaluate", &place.at("train.txt"), &place.at("test.txt")]).code(1).silent().says("not an ordain model");
}

#[test]
fn validation_without_a_relevant_document_leaves_the_choice_to_the_others() {
    let place = Place::empty();
    let mut text: String = (1..5).map(|q| format!("1 qid:{q} 1:2 2:{q}\n0 qid:{q} 1:1 2:3\n")).collect();
    // the fifth query is the one that is held out
    text += "0 qid:5 1:2 2:3\n0 qid:5 1:3 2:3\n";
    let train = place.write("train.txt", &text);
    let done = well(&["fit", "ranksvm", &train, "-o", &place.at("m.ordain"), "--json"]);
    assert!(done.err.contains("on 4 queries in 4 parts"), "{}", done.err);
}

#[test]
fn help_knows_every_method() {
    let help = well(&["help", "fit"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    let all = ordain::method::AnyMethod::all();
    let first = "The method, or auto to have it chosen: ranksvm, rankmatch, dorm, ballrank";
    assert!(help.contains(first) && help.contains("cstar, independent (annotate); matchmap, matchmargin (match)"));
    for name in all.iter().map(|method| method.name()) {
        assert!(help.contains(&format!("Settings of {name}")), "{name}");
    }
    let resumes: Vec<&str> = all.iter().filter(|method| method.resumes()).map(|method| method.name()).collect();
    assert!(help.contains(&format!("without the interruption ({})", resumes.join(", "))), "{help}");
}

/// What wins in `compare` is what `fit` makes: the same choice under the same rules, which the model keeps.
#[test]
fn a_choice_goes_by_one_convention_in_fit_and_compare() {
    let place = Place::trained();
    let (train, test, model) = (place.at("train.txt"), place.at("test.txt"), place.at("new.ordain"));
    let mut values = vec![];
    for rules in [
        &[][..],
        &["--convention=letor4"],
        &["--convention=trec"],
        &["--convention=standard", "--gain=linear", "--empty=one", "--ties=input", "--relevant-from=2"],
    ] {
        let fit = [&["fit", "ranksvm", &train, "-o", &model, "--choose-by=ndcg@3"], rules].concat();
        well(&fit);
        let facts = well(&["inspect", &model, "--json"]).json();
        let compare = ["compare", "ranksvm", "--train", &train, "--test", &test, "--choose-by=ndcg@3", "--json"];
        let compared = well(&[&compare[..], rules].concat()).json();
        assert_eq!(facts["chosen"]["convention"], compared["convention"], "{rules:?}");
        let chosen = &compared["methods"][0]["chosen"][0];
        for name in ["scale", "lambda"] {
            assert_eq!(facts["settings"][name], chosen[name], "{rules:?}");
        }
        values.push(facts["chosen"]["candidates"].clone());
    }
    assert!(values[1..].iter().all(|other| *other != values[0]), "rules that change nothing show nothing");
    let last = well(&["inspect", &model]).out;
    assert!(last.contains("(standard, gain=linear, empty=one, ties=input, relevant-from=2)"), "{last}");
    ordain(&["fit", "ranksvm", &train, "-o", &model, "--convention=letor5"]).code(2).says("did you mean");
}

#[test]
fn a_metric_of_another_task_is_refused_before_any_file_is_read() {
    for (method, metric, expected) in [
        ("ranksvm", "bep_learned", "a metric of rankings"),
        ("ballrank", "rankloss", "a metric of rankings"),
        ("rankmatch", "f1", "a metric of rankings"),
        ("cstar", "ece", "a metric of labels"),
        ("matchmap", "ndcg@10", "a metric of matches"),
    ] {
        let said = format!("--choose-by: expected {expected}");
        ordain(&["fit", method, "nowhere.txt", "-o", "m.ordain", "--choose-by", metric]).code(2).says(&said);
        ordain(&["compare", method, "--cv", "3", "nowhere.txt", "--choose-by", metric]).code(2).says(&said);
        let said = format!("--metric: expected {expected}");
        ordain(&["compare", method, "--cv", "3", "nowhere.txt", "--metric", metric]).code(2).says(&said);
    }
    let place = Place::trained();
    let words = ["evaluate", &place.at("model.ordain"), &place.at("test.txt"), "--metric=bep_learned"];
    ordain(&words).code(2).silent().says("--metric: expected a metric of rankings");
}

/// Metrics of matches have one rule: one that changes nothing is refused, in every command.
#[test]
fn matches_take_no_convention() {
    for words in [
        &["fit", "matchmap", "nowhere.csv", "-o", "m.ordain", "--convention=letor4"][..],
        &["compare", "matchmap", "--cv", "3", "nowhere.csv", "--convention=letor4"],
        &["compare", "matchmargin", "--cv", "3", "nowhere.csv", "--ties=id"],
    ] {
        ordain(words).code(2).says("those of matches have one rule: leave it out");
    }
}

/// Settings of the brackets and of `--set` are one method, checked when all of them are there.
#[test]
fn settings_are_checked_together() {
    let (at, end) = (["fit", "cstar[loss=p@3]", "nowhere.arff", "-o", "m.ordain"], ["--set", "trainer=margin"]);
    ordain(&at).code(2).says("loss: expected trainer=margin with it");
    ordain(&[&at[..], &end].concat()).code(1).says("nowhere.arff");
    ordain(&["fit", "ranksvm[degree=5]", "nowhere.txt", "-o", "m.ordain"]).code(2).says("degree: expected kernel=poly");
}

#[test]
fn auto_chooses_the_method_and_says_what_was_tried() {
    let place = Place::empty();
    let train = place.write("train.txt", &data::letor(30, 1));
    let fit = |name: &str, more: &[&str]| ordain(&[&["fit", "auto", &train, "-o", &place.at(name)], more].concat());
    let done = fit("two.ordain", &["--candidates", "2"]).code(0).silent();
    for text in ["method", "behind the best", "ranksvm", "listnet", "2 of 9 candidates", "--candidates 2 repeats it"] {
        assert!(done.err.contains(text), "no {text:?} in\n{}", done.err);
    }
    // the clock ends the list, and nothing else
    let json = fit("timed.ordain", &["--budget", "0.2s", "--json"]).code(0).json();
    let auto = &json["auto"];
    has_fields(auto, &["candidates", "of", "metric", "convention", "units", "parts", "taken", "tried"]);
    fit("again.ordain", &["--candidates", &auto["candidates"].to_string()]).code(0);
    assert_eq!(place.bytes("timed.ordain"), place.bytes("again.ordain"));
    let header = well(&["inspect", &place.at("again.ordain"), "--json"]).json();
    assert_eq!(header["auto"], *auto);
    assert!(well(&["inspect", &place.at("two.ordain")]).out.contains("2 of 9 candidates"));
    // another metric, and every model answers
    fit("map.ordain", &["--candidates", "1", "--choose-by", "map"]).code(0).says("map");
    well(&["evaluate", &place.at("map.ordain"), &train]);
    assert!(well(&["fit", "auto", "--help"]).out.contains("ranksvm[kernel=rbf]"));
}

#[test]
fn auto_knows_the_task_by_the_data() {
    let place = Place::empty();
    let tags = crate::tags::trained().read("train.csv");
    let tags = place.write("tags.csv", &tags);
    let done = well(&["fit", "auto", &tags, "-o", &place.at("t.ordain"), "--candidates", "1"]);
    assert!(done.err.contains("* independent"), "{}", done.err);
    let edges = place.write("edges.csv", &crate::matches::edges(12, 3, true, true));
    let done = well(&["fit", "auto", &edges, "-o", &place.at("e.ordain"), "--candidates", "1"]);
    assert!(done.err.contains("* matchmap[null=true]"), "{}", done.err);
}

#[test]
fn auto_refuses_what_it_decides_itself() {
    let place = Place::trained();
    let (train, model) = (place.at("train.txt"), place.at("a.ordain"));
    let fit = |method: &str, more: &[&str]| ordain(&[&["fit", method, &train, "-o", &model], more].concat()).code(2);
    fit("auto", &["--set", "lambda=1"]).says("--set is for a method by its name");
    fit("auto", &["--resume"]).says("--resume is for a method by its name");
    fit("auto", &["--no-refit"]).says("--no-refit is for a method by its name");
    fit("auto", &["--budget", "soon"]).says("--budget: expected a time up to a year");
    fit("auto", &["--budget", "60s", "--candidates", "2"]).says("cannot be used with");
    fit("ranksvm", &["--candidates", "2"]).says("are for fit auto");
    ordain(&["fit", "auto", &train, "-o", &model, "--candidates", "99"]).code(1).says("from 1 to 9");
}
