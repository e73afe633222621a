//! `ordain simulate` and `ordain ask`.

use crate::cases::cases;
use crate::support::{Done, Place, command, has_fields, number, ordain, piped, well};
use ordain::data::synthetic::{Linkage, Scenes, Synthetic};
use ordain::data::{LabelReading, LabelSet, MatchSet, Problem, Truth, read_labels, write_labels, write_matches};
use ordain::random::Random;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

/// A folder with `train.txt`, `test.txt` and models of both kinds and trainers.
fn place() -> Place {
    let place = Place::empty();
    let set = Scenes { items: 330, labels: 16, scenes: 4, noise: 1.2, seed: 5 }.make();
    let units = set.all();
    write_labels(&set.only(&units[..250]), &place.path().join("train.txt")).unwrap();
    write_labels(&set.only(&units[250..]), &place.path().join("test.txt")).unwrap();
    for (method, name) in [
        ("cstar[core=3,lambda=0.001,link_lambda=0.001,features=scores]", "star"),
        ("independent[lambda=0.001,features=scores]", "plain"),
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
    assert_eq!(json["measure"], "bep");
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

/// `ordain ask` at work, to be answered and killed.
fn started(words: &[&str]) -> Child {
    command(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn questions(done: &Done) -> Vec<String> {
    let ends = "? (y/n/skip/undo/quit)";
    done.err.lines().filter_map(|line| line.strip_suffix(ends)).map(str::to_owned).collect()
}

/// The answers of the file, without what it says of the data and the model.
fn records(place: &Place) -> Vec<Value> {
    let text = place.read("answers.jsonl");
    let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let head: Value = lines.next().unwrap();
    has_fields(&head, &["ordain", "format", "task", "data", "model", "items"]);
    assert_eq!((&head["ordain"], &head["format"], &head["task"]), (&"answers".into(), &2.into(), &"annotate".into()));
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
    first.says("expected y, n, skip, undo, redo,").says("undone: item 1,");
    let lines = records(&place);
    let answers: Vec<&Value> = lines.iter().map(|line| &line["answer"]).collect();
    assert_eq!(answers, [&Value::Bool(true), &Value::Null, &Value::Null, &Value::Bool(false)]);
    assert_eq!((&lines[2]["undo"], lines[2].get("label")), (&2.into(), None));
    assert!((1..).zip(&lines).all(|(n, line)| line["n"] == n && line["t"].as_str().unwrap().ends_with('Z')));
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
    let mut child = started(&["ask", &model, &test, "-o", &output]);
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
    refused(
        "{\"ordain\":\"answers\",\"format\":2,\"task\":\"match\",\"data\":\"\",\"problems\":1}\n",
        "of the task \"match\"",
    );
    std::fs::remove_file(place.path().join("answers.jsonl")).unwrap();
    ask(&place, &[], "");
    let record = place.read("answers.jsonl");
    let refused = |text: &str, says: &str| refused(&format!("{record}{text}"), says);
    refused("hello\n", "answers.jsonl:2:");
    refused("{\"n\":1,\"item\":\"1\",\"label\":\"beech\",\"answer\":true}\n", "did you mean \"beach\"");
    refused("{\"n\":1,\"item\":\"1\",\"label\":\"beach\"}\n", "expected an answer");
    refused("{\"n\":1,\"item\":\"1\",\"label\":\"beach\",\"undo\":true}\n", "an undo of no answer");
    refused("{\"n\":1,\"item\":\"x\",\"label\":\"beach\",\"answer\":true}\n", "no item \"x\"");
    let once = "{\"n\":1,\"item\":\"1\",\"label\":\"beach\",\"answer\":true}\n";
    refused(&format!("{once}{}", once.replace("\"n\":1", "\"n\":2")), "answers.jsonl:3:");
    refused(&format!("{once}{once}"), "number 1 where 2 follows");
    refused(&once.replace("\"n\":1,", ""), "no number where 1 follows");
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
    // what an answer took the place of comes back before it is taken back itself
    let back = ask(&place, &[], "undo\nundo\nundo\nundo\nundo\nundo\n");
    assert_eq!(back.err.matches("undone: item 1,").count(), 5);
    back.says("there is nothing to undo");
}

/// Files of the first format, whose lines have no numbers, are taken up and continued.
#[test]
fn answers_of_the_first_format_are_taken_up() {
    let place = place();
    ask(&place, &[], "y\nskip\nundo\nn\n");
    let (text, path) = (place.read("answers.jsonl"), place.path().join("answers.jsonl"));
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let head = lines.next().unwrap();
    let mut first =
        format!("{}\n", serde_json::json!({"data": head["data"], "model": head["model"], "items": head["items"]}));
    let (mut last, mut said) = (Value::Null, vec![]);
    for mut line in lines {
        let fields = line.as_object_mut().unwrap();
        fields.retain(|name, _| !["n", "t"].contains(&name.as_str()));
        if fields.contains_key("undo") {
            line = serde_json::json!({"item": last["item"], "label": last["label"], "undo": true});
        }
        first += &format!("{line}\n");
        last = line.clone();
        said.push(line);
    }
    std::fs::write(&path, &first).unwrap();
    let done = ask(&place, &["--json"], "y\nundo\n");
    assert_eq!(done.json_lines()[0]["answers"], 2);
    let after = place.read("answers.jsonl");
    let more: Vec<Value> =
        after.strip_prefix(&first).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((&more[0]["n"], &more[1]["n"], &more[1]["undo"]), (&5.into(), &6.into(), &5.into()));
    assert_eq!(ask(&place, &["--json"], "").out, done.out);
}

/// Who answers stands in the file; two people may answer the same question, and undo takes back one's own.
#[test]
fn two_people_answer_in_turn_and_items_come_in_an_order() {
    let place = place();
    let first = ask(&place, &["--by", "ann"], "y\nnext\nn\nback\nquit\n");
    assert_eq!(first.err.matches("item 1 (1 of").count(), 2, "back to the first item:\n{}", first.err);
    ask(&place, &["--by", "bob"], "undo\nquit\n").says("there is nothing to undo");
    let lines = records(&place);
    assert!(lines.len() == 2 && lines.iter().all(|line| line["by"] == "ann"));
    assert_eq!((&lines[0]["item"], &lines[1]["item"]), (&"1".into(), &"2".into()));
    // undone and said again
    ask(&place, &["--by", "ann"], "undo\nredo\nquit\n").says("undone: item 2,").says("said again: item 2,");
    assert_eq!(records(&place)[3]["redo"], 3);
    // what the model guesses is taken over by one word
    let done = ask(&place, &["--by", "ann", "--json"], "accept\nquit\n");
    let item = &done.json_lines()[0];
    assert!(names(&item["guessed"]).is_empty() && !names(&item["labels"]).is_empty());
    // the order is one of all items, and the same again
    let heads = |order: &str| -> Vec<String> {
        std::fs::remove_file(place.path().join("answers.jsonl")).unwrap();
        let done = ask(&place, &["--order", order], &"next\n".repeat(80));
        done.err.lines().filter(|line| line.starts_with("item ")).map(str::to_owned).collect()
    };
    let (file, random, doubtful) = (heads("file"), heads("random"), heads("doubtful"));
    assert!(file != random && random != doubtful && doubtful != file && heads("doubtful") == doubtful);
    for order in [&file, &random, &doubtful] {
        let mut items: Vec<&str> = order.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
        items.sort_unstable();
        items.dedup();
        assert_eq!(items.len(), 80);
    }
}

/// A second process is told who writes, and writes nothing.
#[test]
fn one_process_writes_at_a_time() {
    let place = place();
    let (model, test, output) = (place.at("star"), place.at("test.txt"), place.at("answers.jsonl"));
    let mut child = started(&["ask", &model, &test, "-o", &output]);
    let mut err = BufReader::new(child.stderr.take().unwrap()).lines();
    while !err.next().unwrap().unwrap().ends_with("quit)") {}
    let before = place.read("answers.jsonl");
    let second = piped(&["ask", &model, &test, "-o", &output], b"y\n").code(1).silent().says("nobody else writes");
    if cfg!(target_os = "linux") {
        second.says(&format!("process {}", child.id()));
    }
    assert_eq!(place.read("answers.jsonl"), before);
    child.kill().unwrap();
    child.wait().unwrap();
    // the lock ends with its process
    ask(&place, &[], "y\nquit\n");
}

/// Answers teach: a fit on them is the fit on these labels, and what nobody answered does not count.
#[test]
fn a_fit_learns_from_answers() {
    let place = place();
    let set = read_labels(&[vec![place.path().join("test.txt")]], &LabelReading::default()).unwrap().0;
    // a person who knows the labels answers 16 questions on each of 40 items
    let mut input = String::new();
    let (model, test, output) = (place.at("star"), place.at("test.txt"), place.at("answers.jsonl"));
    let mut said = 0;
    for item in 0..40 {
        for (label, name) in set.labels.iter().enumerate() {
            let yes = set.yes(item).contains(&(label as u32));
            input += &format!("{}{name}\n", if yes { '+' } else { '-' });
            said += 1;
        }
    }
    piped(&["ask", &model, &test, "-o", &output, "--questions", "99"], input.as_bytes()).code(0);
    let bare =
        LabelSet::new(set.features.clone(), set.columns.clone(), set.labels.clone(), vec![vec![]; set.len()]).unwrap();
    write_labels(&bare, &place.path().join("bare.txt")).unwrap();
    let (bare, taught) = (place.at("bare.txt"), place.at("taught"));
    let done = ordain(&["fit", "independent[lambda=0.01]", &bare, "-o", &taught, "--answers", &output]).code(0);
    done.says(&format!("{said} answers that stand"));
    let taught = place.bytes("taught");
    // the same as a fit on these 40 items with their labels; others are not known, and do not count
    let known: Vec<Vec<u32>> = (0..set.len()).map(|i| if i < 40 { set.yes(i).to_vec() } else { vec![] }).collect();
    let all: Vec<u32> = (0..set.labels.len() as u32).collect();
    let unknown = (0..set.len()).map(|i| if i < 40 { vec![] } else { all.clone() }).collect();
    let truth = set.with_labels(known, unknown).unwrap();
    let method: ordain::method::AnyMethod = "independent[lambda=0.01]".parse().unwrap();
    let ordain::method::AnyMethod::Annotate(method) = method else { unreachable!() };
    let units = truth.all();
    let training = ordain::task::Training::new(&truth, &units);
    let own = ordain::task::Method::fit(&method, &training, &ordain::solver::run::Watch::NOBODY).unwrap();
    assert!(ordain::model_file::to_bytes(&own) == taught, "another model");
}

/// Grades of people teach: a fit on them is the fit on data with these grades, and of several people the middle one counts.
#[test]
fn a_fit_learns_from_grades() {
    let place = Place::empty();
    let set = Synthetic { queries: 30, ..Synthetic::default() }.make();
    let names = set.columns.names.join(",");
    let (mut bare, mut few) = (format!("qid,docid,{names}\n"), format!("label,qid,docid,{names}\n"));
    let mut answers =
        r#"{"ordain":"answers","format":2,"task":"rank","data":"","queries":30,"documents":0}"#.to_owned() + "\n";
    let mut n = 0;
    for unit in 0..set.len() {
        for (thing, row) in set.span(unit).enumerate() {
            let values: Vec<String> =
                (0..set.features.cols()).map(|j| set.features.value(row, j).to_string()).collect();
            let line = format!("q{unit},d{thing},{}\n", values.join(","));
            bare += &line;
            if unit >= 20 || thing >= 5 {
                continue;
            }
            let grade = set.grades[row] as u8;
            few += &format!("{grade},{line}");
            // of two the lesser counts, of three the middle one
            let others = [("bob", grade + 1, thing == 1), ("cem", 0, thing == 1 && unit < 5)];
            for (by, grade, says) in [("ann", grade, true)].into_iter().chain(others) {
                if says {
                    n += 1;
                    let said = serde_json::json!({"n": n, "t": "2026-11-16T12:00:00.123Z", "by": by,
                        "query": format!("q{unit}"), "doc": format!("d{thing}"), "grade": grade});
                    answers += &format!("{said}\n");
                }
            }
        }
    }
    let (bare, few) = (place.write("bare.csv", &bare), place.write("few.csv", &few));
    let (answers, model, taught) = (place.write("answers.jsonl", &answers), place.at("model"), place.at("taught"));
    well(&["fit", "ranksvm[lambda=1]", &few, "-o", &model]);
    ordain(&["fit", "ranksvm[lambda=1]", &bare, "-o", &taught]).code(1);
    let done = ordain(&["fit", "ranksvm[lambda=1]", &bare, "-o", &taught, "--answers", &answers]).code(0);
    done.says(&format!("{n} answers that stand"));
    assert!(place.bytes("taught") == place.bytes("model"), "another model");
    // grades of the file stay where nobody said anything
    let whole = well(&["--json", "fit", "ranksvm[lambda=1]", &few, "-o", &taught, "--answers", &answers]);
    assert!(place.bytes("taught") == place.bytes("model"), "{}", whole.out);
    let said = well(&["--json", "evaluate", &model, &bare, "--answers", &answers]).json();
    assert_eq!((&said["people"], &said["shared"]), (&serde_json::json!(["ann", "bob", "cem"]), &20.into()));
    let pair = &said["pairs"][0];
    assert_eq!((&pair["a"], &pair["questions"], &pair["same"]), (&"ann".into(), &20.into(), &0.into()));
    assert!(number(&pair["kappa"]) > 0.0, "one grade apart is close: {said}");
}

/// Pairs of a matching: the rest is solved again under the answers, and a fit learns from them.
#[test]
fn pairs_are_asked_about_and_teach() {
    let place = Place::empty();
    let set = Linkage { problems: 60, ..Linkage::default() }.make();
    let (train, test): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(|&p| p < 40);
    write_matches(&set.only(&train), &place.path().join("train.csv")).unwrap();
    let test = set.only(&test);
    write_matches(&test, &place.path().join("test.csv")).unwrap();
    let (model, data, output) = (place.at("model"), place.at("test.csv"), place.at("answers.jsonl"));
    well(&["fit", "matchmap[null=true,lambda=0.1,scale=matched]", &place.at("train.csv"), "-o", &model, "--quiet"]);
    let run = |more: &[&str], input: &str| {
        let words = [&["ask", &model, &data, "-o", &output, "--order", "doubtful"], more].concat();
        piped(&words, input.as_bytes()).code(0)
    };
    let done = run(&["--json"], "y\nn\nskip\nundo\nquit\n");
    assert!(done.err.contains("probability 0.") && done.err.contains(" = "), "{}", done.err);
    let text = place.read("answers.jsonl");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["task"], &lines[0]["problems"]), (&"match".into(), &20.into()));
    has_fields(&lines[1], &["n", "t", "problem", "left", "right", "answer", "value"]);
    assert!(lines[1]["answer"] == true && lines[2]["answer"] == false && lines[4]["undo"] == 3);
    for line in &lines[1..3] {
        let printed = done.json_lines();
        let problem = printed.iter().find(|one| one["problem"] == line["problem"]).unwrap();
        let ends = |one: &&Value| one["left"] == line["left"] && one["right"] == line["right"];
        let found = problem["matches"].as_array().unwrap().iter().find(ends);
        match line["answer"] == true {
            true => assert!(found.is_some_and(|one| one["answered"] == true && one["probability"] == 1.0)),
            false => assert!(found.is_none(), "{problem}"),
        }
    }
    // pairs that were not asked about, those that are none, and a table for people
    let (problem, left, right) = (&lines[1]["problem"], &lines[1]["left"], &lines[1]["right"]);
    let wrong = format!("+nobody = {}\n+{}\nquit\n", right.as_str().unwrap(), left.as_str().unwrap());
    let done = run(&[], &wrong).says("as in +LEFT = RIGHT");
    assert!(done.out.starts_with("problem\tleft\tright\tprobability\tanswered\n"));
    assert!(done.out.contains(&format!("{}\t{}\t", problem.as_str().unwrap(), left.as_str().unwrap())));
    // from answers alone
    let blank: Vec<Problem> =
        test.problems().iter().map(|p| Problem { truth: vec![Truth::Unknown; p.edges.len()], ..p.clone() }).collect();
    let blank = MatchSet::new(test.features.clone(), test.columns.clone(), blank).unwrap();
    write_matches(&blank, &place.path().join("blank.csv")).unwrap();
    let fit =
        ["fit", "matchmap[null=true,lambda=0.1,scale=matched]", &place.at("blank.csv"), "-o", &place.at("taught")];
    ordain(&fit).code(1).silent();
    ordain(&[&fit[..], &["--answers", &output]].concat()).code(0).says("2 answers that stand");
    // another file of edges has other names
    ordain(&["ask", &model, &place.at("train.csv"), "-o", &output]).code(1).silent().says("answers on other edges");
}

/// Killed at any moment, a labelling keeps every answer that was followed by another question, for labels and for matches.
#[test]
fn a_kill_loses_no_answer_that_was_acknowledged() {
    let place = place();
    let set = Linkage { problems: 30, ..Linkage::default() }.make();
    write_matches(&set, &place.path().join("pairs.csv")).unwrap();
    let matcher = place.at("matcher");
    let method = "matchmap[null=true,lambda=0.1,scale=matched]";
    well(&["fit", method, &place.at("pairs.csv"), "-o", &matcher, "--quiet"]);
    let mut random = Random::new(9);
    for (model, data) in [(place.at("star"), place.at("test.txt")), (matcher, place.at("pairs.csv"))] {
        let output = place.at("killed.jsonl");
        _ = std::fs::remove_file(&output);
        let mut least = 0;
        for _ in 0..cases(100) {
            let mut child = started(&["ask", &model, &data, "-o", &output, "--questions", "99"]);
            let mut input = child.stdin.take().unwrap();
            let mut err = BufReader::new(child.stderr.take().unwrap()).lines();
            let mut asked = || err.by_ref().any(|line| line.unwrap().ends_with("quit)"));
            let (waits, sends) = (random.below(4), random.below(3));
            for at in 0..=waits {
                if !asked() {
                    break;
                }
                // a question after an answer says that the answer is kept
                least += usize::from(at > 0);
                if at < waits {
                    writeln!(input, "{}", ["y", "n"][random.below(2)]).unwrap();
                }
            }
            // and then in the middle of whatever it does with these
            (0..sends).for_each(|_| _ = writeln!(input, "n"));
            child.kill().unwrap();
            child.wait().unwrap();
            let text = std::fs::read_to_string(&output).unwrap();
            let whole = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count() - 1;
            assert!(whole >= least, "{whole} answers, {least} acknowledged");
            least = whole;
        }
    }
}

/// What a table says of an item or a pair is shown with it, on a line each.
#[test]
fn columns_of_the_table_are_shown() {
    let place = Place::empty();
    let rows = |from: usize| -> String {
        let row = |i: usize| {
            let (x, y) = ((i * 7 % 11) as f64 / 11.0, (i * 5 % 13) as f64 / 13.0);
            format!("i{i},\"title {i}\tand more\",{x},{y},{}\n", if x > y { "sea" } else { "land" })
        };
        "id,title,x,y,labels\n".to_owned() + &(from..from + 60).map(row).collect::<String>()
    };
    std::fs::write(place.path().join("train.csv"), rows(0)).unwrap();
    std::fs::write(place.path().join("new.csv"), rows(100)).unwrap();
    let (model, new, output) = (place.at("model"), place.at("new.csv"), place.at("answers.jsonl"));
    well(&["fit", "independent[lambda=0.1]", &place.at("train.csv"), "--ignore", "title", "-o", &model, "--quiet"]);
    let words = ["ask", &model, &new, "-o", &output, "--show", "title,x"];
    let done = piped(&words, b"y\nquit\n").code(0);
    assert!(done.err.contains("item i100 (1 of 60)\n  title: title 100 and more\n  x: 0.636"), "{}", done.err);
    let wrong = piped(&["ask", &model, &new, "-o", &output, "--show", "titel"], b"").code(1).silent();
    wrong.says("a header with the column \"titel\"");
    // without a word what the model reads of them and a person can read
    let read = place.at("read");
    let inputs = ["--input", "title:text", "--ignore", "x,y"];
    well(&[&["fit", "independent[lambda=0.1]", &place.at("train.csv"), "-o", &read, "--quiet"], &inputs[..]].concat());
    let done = piped(&["ask", &read, &new, "-o", &place.at("read.jsonl")], b"quit\n").code(0);
    assert!(done.err.contains("item i100 (1 of 60)\n  title: title 100 and more\n  yes:"), "{}", done.err);
    // both sides of a pair
    let row = |i: usize| {
        let (l, r) = (i / 3, i % 3);
        let near = if l == r { 0.9 } else { 0.2 };
        format!("p,l{l},r{r},Ann {l},Anne {r},{},{}\n", near - 0.01 * i as f64, u8::from(l == r))
    };
    let table = "problem,left,right,name_a,name_b,near,matched\n".to_owned() + &(0..9).map(row).collect::<String>();
    std::fs::write(place.path().join("pairs.csv"), table).unwrap();
    let (pairs, model, output) = (place.at("pairs.csv"), place.at("pairs"), place.at("pairs.jsonl"));
    let method = "matchmap[null=true,lambda=1,scale=none]";
    well(&["fit", method, &pairs, "--ignore", "name_a,name_b", "-o", &model, "--quiet"]);
    let done = piped(&["ask", &model, &pairs, "-o", &output, "--show", "name_a,name_b"], b"quit\n").code(0);
    assert!(done.err.contains("\n  name: Ann 2 | Anne 2 (differs)\n"), "{}", done.err);
}

/// A file that is none of answers stays as it is, whether it ends in a line end or not.
#[test]
fn a_file_of_somebody_else_is_left_alone() {
    let place = Place::empty();
    let table = place.write("items.csv", "id,x,labels\na,1,sea\nb,2,sky\nc,3,sea\nd,4,sky\n");
    let model = place.at("m.ordain");
    well(&["fit", "independent[lambda=1]", &table, "-o", &model, "-q"]);
    for text in [
        "what I wrote",
        "what I wrote\n",
        "{\"mine\": 1",
        "{\"data\":\"mine",
        "\n\n  mine",
        "{\"mine\": 1}",
        "\u{0}\u{1}",
    ] {
        let notes = place.write("notes.txt", text);
        piped(&["ask", &model, &table, "-o", &notes], b"y\n").code(1).says("write new ones to another file");
        assert_eq!(place.read("notes.txt"), text);
        ordain(&["fit", "independent[lambda=1]", &table, "-o", &model, "--answers", &notes]).code(1);
    }
    // half of a first line is what a killed process left
    let half = place.write("half.jsonl", "{\"ordain\":\"ans");
    piped(&["ask", &model, &table, "-o", &half], b"y\nquit\n").code(0).says("not complete");
    // a cut last line is said, and refused if that is asked for
    let cut = place.read("half.jsonl") + "{\"n\":2,\"t\":\"20";
    let cut = place.write("cut.jsonl", &cut);
    let fit = ["fit", "independent[lambda=1]", &table, "-o", &model, "--answers", &cut];
    ordain(&fit).code(0).says("cut.jsonl: line 3, the last one, is not complete and was left out");
    ordain(&[&fit[..], &["--strict"]].concat()).code(1).says("was left out");
}
