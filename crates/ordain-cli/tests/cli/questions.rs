//! `ordain simulate` and `ordain ask`.

use crate::support::{Done, Place, command, has_fields, number, ordain, piped, well};
use ordain::data::synthetic::Scenes;
use ordain::data::{LabelReading, LabelSet, read_labels, write_labels};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

/// A folder with `train.txt`, `test.txt` and models of both kinds and trainers.
fn place() -> Place {
    let place = Place::empty();
    let set = Scenes { items: 330, labels: 16, scenes: 4, noise: 1.2, seed: 5 }.make();
    let units = set.all();
    write_labels(&set.only(&units[..250]), &place.path().join("train.txt")).unwrap();
    write_labels(&set.only(&units[250..]), &place.path().join("test.txt")).unwrap();
    for (method, name) in [
        ("cstar[core=3,lambda=0.001,link_lambda=0.001]", "star"),
        ("independent[lambda=0.001]", "plain"),
        ("cstar[core=3,trainer=margin,lambda=0.001,link_lambda=0.001]", "margin"),
    ] {
        well(&["fit", method, &place.at("train.txt"), "-o", &place.at(name), "--quiet"]);
    }
    place
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

#[test]
fn simulations_say_what_questions_are_worth() {
    let place = place();
    let words = |model: &str| ["simulate".to_owned(), place.at(model), place.at("test.txt"), "--json".into()];
    let run = |model: &str, more: &[&str]| {
        let words = words(model);
        let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
        well(&words)
    };
    let done = run("star", &["--against", &place.at("plain"), "--questions", "5,1,3", "--threads", "1"]);
    let json = done.json();
    has_fields(&json, &["task", "questions", "strategies", "items", "against", "saved", "differences", "count"]);
    assert_eq!((&json["task"], &json["count"], &json["items"]), (&"annotate".into(), &"oracle".into(), &80.into()));
    assert_eq!(json["questions"], serde_json::json!([0, 1, 3, 5]));
    for strategies in [&json["strategies"], &json["against"]["strategies"]] {
        assert_eq!(strategies.as_object().unwrap().len(), 4);
        for (name, one) in strategies.as_object().unwrap() {
            let (mean, low, high) = (numbers(&one["bep"]), numbers(&one["low"]), numbers(&one["high"]));
            assert!((0..4).all(|q| low[q] <= mean[q] && mean[q] <= high[q]), "{name}");
            assert!(mean[3] > mean[0], "{name}: answers help");
            assert_eq!(numbers(&one["curve"]).len(), 6);
        }
        let at = |name: &str| numbers(&strategies[name]["bep"]);
        assert!(at("paper")[0].total_cmp(&at("random")[0]).is_eq(), "no question, no difference");
        assert!(at("expected")[3] > at("random")[3]);
    }
    let gain = &json["differences"]["expected"];
    assert_eq!(gain["strategy"], "expected");
    let (a, b) = (&json["strategies"]["expected"]["bep"][3], &json["against"]["strategies"]["expected"]["bep"][3]);
    assert!((number(&gain["difference"][3]) - (number(a) - number(b))).abs() < 1e-9);
    assert!((0.0..=1.0).contains(&number(&gain["p"][3])));
    assert_eq!(json["saved"]["expected"].as_array().unwrap().len(), 4);
    // neither threads nor a second run change anything
    let again = run("star", &["--against", &place.at("plain"), "--questions", "1,3,5", "--threads", "4"]);
    assert_eq!(done.out, again.out);
    let fewer = run("star", &["--items", "10", "--count", "learned", "--strategy", "expected,random"]).json();
    assert_eq!((&fewer["items"], &fewer["count"]), (&10.into(), &"learned".into()));
    // a model by margin follows what it can, unless it is told to do what it cannot
    let margin = run("margin", &[]).says("the strategy entropy is left out").json();
    let names: Vec<&String> = margin["strategies"].as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 3, "{names:?}");
    // nothing is saved against itself, and there are no more questions than labels
    let many = ["--against", &place.at("star"), "--questions", "2,8,40", "--strategy", "paper", "--items", "20"];
    let same = run("star", &many).says("--questions 40: there are 16 labels").json();
    assert_eq!(same["questions"], serde_json::json!([0, 2, 8, 16]));
    assert!(numbers(&same["saved"]["paper"]).iter().all(|saved| saved.abs() < 1e-12));
    let (model, test) = (place.at("margin"), place.at("test.txt"));
    ordain(&["simulate", &model, &test, "--strategy", "entropy"]).code(2).silent().says("trainer=likelihood");
}

#[test]
fn simulations_have_tables_and_a_page() {
    let place = place();
    let (model, test, page) = (place.at("star"), place.at("test.txt"), place.at("page.html"));
    let words = ["simulate", &model, &test, "--against", &place.at("plain"), "--report", &page];
    let done = well(&words).says("wrote");
    for word in [
        "Auto",
        "Q1",
        "Q5",
        "Q10",
        "expected",
        "random",
        "questions saved",
        "80 items; the models are told how",
        "bootstrap",
        "randomisation",
    ] {
        assert!(done.out.contains(word), "{word}:\n{}", done.out);
    }
    let page = place.read("page.html");
    assert!(page.contains("<svg") && page.contains("prefers-color-scheme: dark") && !page.contains("<script"));
    assert_eq!(page.matches("class=\"band ").count(), 8);
    for (words, says) in [
        (&["--strategy", "expcted"][..], "did you mean \"expected\""),
        (&["--questions", "0"], "--questions"),
        (&["--items", "0"], "--items"),
        (&["--report", "/nowhere/page.html"], "mkdir -p"),
    ] {
        let all = [&["simulate", &model, &test], words].concat();
        let done = ordain(&all).silent().says(says);
        assert!(done.code == Some(2) || done.code == Some(1));
    }
    ordain(&["simulate", &place.at("train.txt"), &test]).code(1);
}

/// Answers to `ordain ask`, and what it made of them.
fn ask(place: &Place, more: &[&str], input: &str) -> Done {
    let (model, test, output) = (place.at("star"), place.at("test.txt"), place.at("answers.jsonl"));
    let words = [&["ask", &model, &test, "-o", &output, "--questions", "3"], more].concat();
    piped(&words, input.as_bytes()).code(0)
}

fn questions(done: &Done) -> Vec<String> {
    let ends = "? (y/n/skip/undo/quit)";
    done.err.lines().filter_map(|line| line.strip_suffix(ends)).map(str::to_owned).collect()
}

/// The answers of the file, without what it says of the data and the model.
fn records(place: &Place) -> Vec<Value> {
    let text = place.read("answers.jsonl");
    let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    has_fields(&lines.next().unwrap(), &["data", "model", "items"]);
    lines.collect()
}

fn names(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn answers_are_kept_taken_back_and_taken_up_again() {
    let place = place();
    let first = ask(&place, &[], "y\nmaybe\nskip\nundo\nN\n");
    let asked = questions(&first);
    // the label after an answer that is not understood, and after an undo, is the same
    assert_eq!(asked.len(), 6, "{asked:?}");
    assert!(asked[1] == asked[2] && asked[4] == asked[1] && asked[3] != asked[1]);
    first.says("expected y, n, skip, undo or quit").says("undone: item 1,");
    let lines = records(&place);
    let answers: Vec<&Value> = lines.iter().map(|line| &line["answer"]).collect();
    assert_eq!(answers, [&Value::Bool(true), &Value::Null, &Value::Null, &Value::Bool(false)]);
    assert_eq!((&lines[2]["undo"], &lines[2]["label"]), (&Value::Bool(true), &lines[1]["label"]));
    assert_eq!((&lines[0]["strategy"], lines[0]["value"].is_number()), (&"expected".into(), true));
    assert!(lines[0].get("answer").is_some() && lines[1].get("answer").is_some());

    // the same session in one go
    let other = Place::empty();
    for name in ["star", "test.txt", "labels.txt"] {
        std::fs::write(other.path().join(name), place.bytes(name)).unwrap();
    }
    let whole = ask(&other, &["--json"], "y\nn\ny\nn\nskip\nquit\ny\ny\n");
    let rest = ask(&place, &["--json"], "y\nn\nskip\nquit\n");
    assert_eq!(whole.out, rest.out, "an interrupted session is taken up where it was");
    assert_eq!(questions(&whole)[2..], questions(&rest)[..]);
    let items = rest.json_lines();
    assert_eq!(items.len(), 2);
    assert_eq!((&items[0]["item"], &items[0]["answers"]), (&"1".into(), &3.into()));
    let (labels, guessed) = (names(&items[0]["labels"]), names(&items[0]["guessed"]));
    let at = |line: usize| lines[line]["label"].as_str().unwrap();
    assert!(labels.contains(&at(0)) && !labels.contains(&at(3)), "yes is in, no is out");
    assert_eq!(labels.len(), 2, "what was answered with yes, and nothing else");
    assert!(!guessed.contains(&at(0)) && !guessed.contains(&at(3)), "what is answered is not guessed");
    // an undo goes back over the end of a session and of an item
    let back = ask(&place, &[], "undo\nundo\nundo\n");
    assert!(back.err.contains("undone: item 2,") && back.err.contains("undone: item 1,"));
    assert_eq!(back.out.lines().count(), 2, "item 2 has no answer left");
    assert!(back.out.starts_with("item\tlabels\tguessed\n1\t"));
    ask(&place, &[], "u\nu\nu\n").says("there is nothing to undo");
}

#[test]
fn an_answer_is_on_the_disk_before_the_next_question() {
    let place = place();
    let (model, test, output) = (place.at("star"), place.at("test.txt"), place.at("answers.jsonl"));
    let mut child = command(&["ask", &model, &test, "-o", &output])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut err) = (child.stdin.take().unwrap(), BufReader::new(child.stderr.take().unwrap()).lines());
    let mut wait = || while !err.next().unwrap().unwrap().ends_with("quit)") {};
    for (count, word) in ["y", "n", "skip"].iter().enumerate() {
        wait();
        assert_eq!(records(&place).len(), count);
        writeln!(input, "{word}").unwrap();
    }
    wait();
    child.kill().unwrap();
    child.wait().unwrap();
    let whole = place.read("answers.jsonl");
    assert_eq!(records(&place).len(), 3);
    // a line that was cut short is left out, a whole one without its end is not
    std::fs::write(place.path().join("answers.jsonl"), format!("{whole}{{\"item\":\"1\",\"lab")).unwrap();
    ask(&place, &[], "").says("not complete");
    assert_eq!(place.read("answers.jsonl"), whole);
    std::fs::write(place.path().join("answers.jsonl"), whole.trim_end()).unwrap();
    ask(&place, &[], "");
    assert_eq!(place.read("answers.jsonl"), whole);
    // and so with the first line
    let record = format!("{}\n", whole.lines().next().unwrap());
    for (cut, says) in [("{\"data\":", "not complete"), (record.trim_end(), "quit")] {
        std::fs::write(place.path().join("answers.jsonl"), cut).unwrap();
        ask(&place, &[], "").says(says);
        assert_eq!(place.read("answers.jsonl"), record);
    }
}

#[test]
fn wrong_answer_files_and_words_are_refused() {
    let place = place();
    let (model, test, output) = (place.at("star"), place.at("test.txt"), place.at("answers.jsonl"));
    let refused = |text: &str, says: &str| {
        std::fs::write(place.path().join("answers.jsonl"), text).unwrap();
        piped(&["ask", &model, &test, "-o", &output], b"y\n").code(1).silent().says(says);
        assert_eq!(place.read("answers.jsonl"), text, "nothing is written to a file that is not understood");
    };
    refused("hello\n", "answers.jsonl:1:");
    refused("{\"item\":\"1\",\"label\":\"beach\",\"answer\":true}\n", "does not say so in its first line");
    std::fs::remove_file(place.path().join("answers.jsonl")).unwrap();
    ask(&place, &[], "");
    let record = place.read("answers.jsonl");
    let refused = |text: &str, says: &str| refused(&format!("{record}{text}"), says);
    refused("hello\n", "answers.jsonl:2:");
    refused("{\"item\":\"1\",\"label\":\"beech\",\"answer\":true}\n", "did you mean \"beach\"");
    refused("{\"item\":\"1\",\"label\":\"beach\"}\n", "expected an answer");
    refused("{\"item\":\"1\",\"label\":\"beach\",\"undo\":true}\n", "an undo of no answer");
    refused("{\"item\":\"x\",\"label\":\"beach\",\"answer\":true}\n", "no item \"x\"");
    let twice = "{\"item\":\"1\",\"label\":\"beach\",\"answer\":true}\n";
    refused(&format!("{twice}{twice}"), "answers.jsonl:3:");
    ordain(&["ask", &model, &test, "-o", &output, "--strategy", "papr"]).code(2).says("did you mean \"paper\"");
    ordain(&["ask", &place.at("margin"), &test, "-o", &output, "--strategy", "entropy"]).code(2).says("by margin");
    ordain(&["ask", &model, "-", "-o", &output]).code(2).says("standard input");
    ordain(&["ask", &model, &test, "-o", &test]).code(1).says("another name");
    ordain(&["ask", &model, &test, "-o", &output, "--questions", "0"]).code(2).says("--questions");
}

#[test]
fn answers_are_not_mixed_with_those_on_other_data() {
    let place = place();
    let output = place.at("answers.jsonl");
    ask(&place, &[], "y\nn\n");
    let before = place.read("answers.jsonl");
    // other items of the same number, and the same ids
    let set = Scenes { items: 80, labels: 16, scenes: 4, noise: 1.2, seed: 6 }.make();
    write_labels(&set, &place.path().join("other.txt")).unwrap();
    let other = piped(&["ask", &place.at("star"), &place.at("other.txt"), "-o", &output], b"y\n").code(1).silent();
    other.says("answers on other items").says("-o FILE");
    // a model of other labels
    let few = Scenes { items: 120, labels: 9, scenes: 3, noise: 1.2, seed: 5 }.make();
    let beside = Place::empty();
    write_labels(&few, &beside.path().join("few.txt")).unwrap();
    well(&["fit", "independent", &beside.at("few.txt"), "-o", &beside.at("few"), "--quiet"]);
    let other = piped(&["ask", &beside.at("few"), &beside.at("few.txt"), "-o", &output], b"y\n").code(1).silent();
    other.says("the labels of another model");
    assert_eq!(place.read("answers.jsonl"), before);
    // another model of the same labels goes on, and so do items whose labels have changed since
    piped(&["ask", &place.at("plain"), &place.at("test.txt"), "-o", &output], b"").code(0);
    let set = read_labels(&[vec![place.path().join("test.txt")]], &LabelReading::default()).unwrap().0;
    let yes = (0..set.len()).map(|i| if i % 2 == 0 { vec![0] } else { set.yes(i).to_vec() }).collect();
    let labelled = LabelSet::new(set.features.clone(), set.columns.clone(), set.labels.clone(), yes).unwrap();
    write_labels(&labelled, &place.path().join("labelled.txt")).unwrap();
    piped(&["ask", &place.at("star"), &place.at("labelled.txt"), "-o", &output], b"").code(0);
    assert_eq!(place.read("answers.jsonl"), before);
}

#[test]
fn a_person_may_say_more_than_is_asked_and_no_to_everything() {
    let place = place();
    let labels = 16;
    // no label at all: every one is asked about before the next item
    let words = ["--questions", "99", "--json"];
    let run = |place: &Place, input: &str| {
        let (model, test, output) = (place.at("star"), place.at("test.txt"), place.at("answers.jsonl"));
        let words = [&["ask", &model, &test, "-o", &output], &words[..]].concat();
        piped(&words, input.as_bytes()).code(0)
    };
    for (answer, confirmed) in [("n\n", 0), ("y\n", labels)] {
        let done = run(&place, &answer.repeat(labels));
        assert_eq!(done.err.matches("item 1 (").count(), 1);
        assert_eq!(done.err.split("item 2 (").next().unwrap().matches("? (y/n").count(), labels);
        let items = done.json_lines();
        assert_eq!((names(&items[0]["labels"]).len(), names(&items[0]["guessed"]).len()), (confirmed, 0));
        std::fs::remove_file(place.path().join("answers.jsonl")).unwrap();
    }
    // three questions of three, and two answers beside them; the last takes the place of a skip
    let first = ask(&place, &[], "quit\n");
    let asked = questions(&first)[0].clone();
    let other = if asked == "beach" { "sea" } else { "beach" };
    let input = format!("skip\n+{other}\n-{other}\n+beech\n-{asked}\n+\nn\nn\nquit\n");
    let done = ask(&place, &["--json"], &input);
    let done = done.says("is answered already").says("did you mean \"beach\"").says("+LABEL").says("item 2 (");
    let item = &done.json_lines()[0];
    assert_eq!((names(&item["labels"]), &item["answers"]), (vec![other], &4.into()));
    assert!(!names(&item["guessed"]).contains(&asked.as_str()));
    let lines = records(&place);
    assert_eq!(
        (&lines[1]["asked"], &lines[1]["label"], &lines[1]["answer"]),
        (&false.into(), &other.into(), &true.into())
    );
    // taken up again it is the same
    assert_eq!(ask(&place, &["--json"], "").out, done.out);
    ask(&place, &[], "undo\nundo\nundo\nundo\nundo\n").says("there is nothing to undo");
}
