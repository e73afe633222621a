//! Exit codes and what is said with them.

use crate::data;
use crate::support::{Place, ordain};

#[test]
fn a_missing_file_is_1_and_named_once() {
    let done = ordain(&["inspect", "no-such-file.txt"]).code(1).silent().says("error: no-such-file.txt: cannot open");
    assert_eq!(done.err.lines().count(), 1);
    assert_eq!(done.err.matches("No such file").count(), 1, "the reason is said once:\n{}", done.err);
}

#[test]
fn a_missing_model_is_1() {
    let place = Place::trained();
    ordain(&["predict", &place.at("gone.ordain"), &place.at("test.txt")]).code(1).silent().says("gone.ordain");
    ordain(&["predict", &place.at("model.ordain"), &place.at("gone.txt")]).code(1).silent().says("gone.txt");
}

#[test]
fn a_bad_line_is_named_by_file_line_and_column() {
    let place = Place::empty();
    let bad = place.write("bad.txt", "1 qid:1 1:0.5 2:1\n0 qid:1 1:0.4 two:1\n");
    let done = ordain(&["inspect", &bad]).code(1).silent();
    assert_eq!(done.err, format!("error: {bad}:2:15: expected index:value, found \"two:1\"\n"));
    let bad = place.write("grade.txt", "1 qid:1 1:0.5\n\n# a comment\nhigh qid:1 1:0.4\n");
    ordain(&["fit", "ranksvm", &bad, "-o", &place.at("m")]).code(1).says("grade.txt:4:1: expected a grade");
    let bad = place.write("inf.txt", "1 qid:1 1:0.5\n0 qid:1 1:inf\n");
    ordain(&["inspect", &bad]).code(1).says("inf.txt:2:11: expected a finite number for feature 1, found \"inf\"");
    let bad = place.write("bad.csv", "label,qid,age\n1,a,3\n0,a,old\n");
    ordain(&["inspect", &bad]).code(1).says("bad.csv:3:").says("\"old\" in column \"age\"");
    let bad = place.write("short.csv", "label,qid,age\n1,a,3\n0,a\n");
    ordain(&["inspect", &bad]).code(1).says("short.csv:3:").says("expected 3 fields");
}

#[test]
fn the_place_of_a_bad_line_holds_in_large_and_packed_files() {
    let place = Place::empty();
    let mut text: String = data::letor(30, 1).repeat(60);
    let lines = text.lines().count();
    assert!(text.len() > 300_000, "more than one piece");
    let good = place.write("good.txt", &text);
    text += "1 qid:z 1:x\n";
    let bad = place.write("large.txt", &text);
    let expected = format!("large.txt:{}:11: expected", lines + 1);
    ordain(&["inspect", &bad]).code(1).says(&expected);
    ordain(&["inspect", &good]).code(0);
}

#[test]
fn no_pair_to_learn_from_is_1() {
    let place = Place::empty();
    let flat = place.write("flat.txt", "1 qid:1 1:0.5\n1 qid:1 1:0.4\n0 qid:2 1:0.5\n");
    let done = ordain(&["fit", "ranksvm", &flat, "-o", &place.at("m.ordain")]).code(1).silent();
    assert!(done.err.contains("no pair to learn from"), "{}", done.err);
    assert_eq!(place.names(), ["flat.txt"]);
}

#[test]
fn an_empty_file_is_1() {
    let place = Place::empty();
    ordain(&["inspect", &place.write("empty.txt", "")]).code(1).silent().says("empty.txt: expected rows, found none");
    ordain(&["inspect", &place.write("remarks.txt", "# nothing\n\n")]).code(1).says("expected rows");
    ordain(&["inspect", &place.at(".")]).code(1).silent().says("S1.txt");
}

#[test]
fn rows_without_queries_say_what_to_do() {
    let place = Place::empty();
    let loose = place.write("loose.txt", "1 1:0.5\n0 1:0.4\n");
    ordain(&["inspect", &loose]).code(1).silent().says("qid:ID").says("loose.txt.query");
}

/// Wrong words: exit code 2, the right word named, and no file looked for.
fn slip(words: &[&str], hint: &str) {
    let done = ordain(words).code(2).silent().says(hint);
    assert!(
        !done.err.contains("cannot open") && !done.err.contains("nowhere.txt:"),
        "a file was read first: {}",
        done.err
    );
}

#[test]
fn an_unknown_method_is_2_before_any_file() {
    slip(&["fit", "ranksvn", "nowhere.txt", "-o", "m"], "unknown method \"ranksvn\": did you mean \"ranksvm\"?");
    slip(&["compare", "ranksv", "--train=nowhere.txt", "--test=nowhere.txt"], "did you mean \"ranksvm\"?");
    slip(&["compare", "forest", "--cv", "5", "nowhere.txt"], "known are ranksvm");
}

#[test]
fn an_unknown_setting_is_2_before_any_file() {
    let fit = ["fit", "ranksvm", "nowhere.txt", "-o", "m", "--set"];
    slip(&[&fit[..], &["lamda=1"]].concat(), "unknown setting \"lamda\": did you mean \"lambda\"?");
    slip(&[&fit[..], &["lambda=-1"]].concat(), "lambda: expected auto or a number above 0, found \"-1\"");
    slip(&[&fit[..], &["lambda=nan"]].concat(), "lambda: expected");
    slip(&[&fit[..], &["scale=querry"]].concat(), "did you mean \"query\"?");
    slip(&[&fit[..], &["weight=pairs"]].concat(), "did you mean \"pair\"?");
    slip(&[&fit[..], &["max_iter=0"]].concat(), "max_iter: expected a whole number above 0");
    slip(&[&fit[..], &["lambda"]].concat(), "expected name=value");
    slip(&["compare", "ranksvm[lamda=1]", "--cv", "5", "nowhere.txt"], "did you mean \"lambda\"?");
    slip(&["compare", "ranksvm[lambda=1", "--cv", "5", "nowhere.txt"], "METHOD[name=value");
}

#[test]
fn an_unknown_metric_or_convention_is_2_before_any_file() {
    let evaluate = ["evaluate", "nowhere.ordain", "nowhere.txt"];
    slip(&[&evaluate[..], &["--metric=nddcg"]].concat(), "did you mean \"ndcg\"");
    slip(&[&evaluate[..], &["--metric=map@3"]].concat(), "no cut-off");
    slip(&[&evaluate[..], &["--metric=p"]].concat(), "p@10");
    slip(&[&evaluate[..], &["--metric=ndcg@0"]].concat(), "above 0");
    slip(&[&evaluate[..], &["--convention=letor3"]].concat(), "unknown convention \"letor3\": did you mean \"letor");
    slip(&[&evaluate[..], &["--relevant-from=nan"]].concat(), "finite");
    slip(&["fit", "ranksvm", "nowhere.txt", "-o", "m", "--choose-by=nddcg"], "did you mean \"ndcg\"");
}

#[test]
fn a_slip_in_a_metric_with_a_cut_off_is_understood() {
    slip(&["evaluate", "nowhere.ordain", "nowhere.txt", "--metric=ndgc@10"], "did you mean \"ndcg@10\"?");
}

#[test]
fn an_unknown_option_or_command_is_2() {
    slip(&["fit", "ranksvm", "nowhere.txt", "-o", "m", "--sed=3"], "--seed");
    slip(&["evalute", "m", "d"], "evaluate");
    slip(&["evaluate", "nowhere.txt"], "--scores");
    slip(&["evaluate", "nowhere.txt", "--run=r"], "--qrels");
    slip(&["compare", "ranksvm", "--train=nowhere.txt"], "--test");
    slip(&["compare", "ranksvm", "--cv", "five", "nowhere.txt"], "found \"five\"");
    slip(&["predict", "nowhere.ordain", "nowhere.txt", "--top=0"], "--top");
    slip(&["inspect", "nowhere.txt", "--threads=0"], "--threads");
    slip(&["inspect", "nowhere.txt", "--quiet", "--verbose"], "cannot be used with");
    slip(&["fit", "ranksvm", "nowhere.txt"], "--output");
}

#[test]
fn too_many_folds_is_2() {
    let place = Place::trained();
    for folds in ["0", "1", "31"] {
        let done = ordain(&["compare", "ranksvm", "--cv", folds, &place.at("train.txt")]).code(2).silent();
        assert!(done.err.contains("--cv"), "{}", done.err);
    }
}

#[test]
fn a_method_setting_follows_the_method_in_fit_too() {
    let place = Place::trained();
    let words = ["fit", "ranksvm[lambda=0.1,scale=query]", &place.at("train.txt"), "-o", &place.at("new.ordain")];
    ordain(&words).code(0);
    assert_eq!(place.bytes("new.ordain"), place.bytes("model.ordain"));
}
