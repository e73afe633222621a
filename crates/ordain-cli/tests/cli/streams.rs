//! Streams: whatever a file is, standard input, a FIFO and `/dev/fd/N` give the same answer, and nothing is lost.

use crate::support::{Done, Place, command, ordain, piped, well};
use serde_json::Value;
use std::fmt::Write as _;
use std::process::{Command, Stdio};

/// More than the 8 MB that are read at once: rows of `WIDE` numbers of eight characters.
const ROWS: usize = 2_000;
const WIDE: usize = 600;

/// A number that looks as those of LETOR do.
fn value(row: usize, column: usize) -> String {
    format!("0.{:06}", (row * 7919 + column * 104_729 + row * column) % 1_000_000)
}

/// The features of a row, each after a separator.
fn features(row: usize) -> String {
    (0..WIDE).map(|column| format!(",{}", value(row, column))).collect()
}

fn letor() -> String {
    let mut text = String::new();
    for row in 0..ROWS {
        write!(text, "{} qid:{}", row % 3, row / 10).unwrap();
        (0..WIDE).for_each(|column| write!(text, " {}:{}", column + 1, value(row, column)).unwrap());
        writeln!(text, " #docid = d{row}").unwrap();
    }
    text
}

fn names() -> String {
    (0..WIDE).map(|column| format!(",f{column}")).collect()
}

fn queries() -> String {
    let rows = (0..ROWS).map(|row| format!("{},{},d{row}{}\n", row % 3, row / 10, features(row)));
    format!("label,qid,docid{}\n{}", names(), rows.collect::<String>())
}

fn items() -> String {
    let labels = ["sea", "sky", "sea;sky", "", "sky;tree"];
    let rows = (0..ROWS).map(|row| format!("i{row},{}{}\n", labels[row % 5], features(row)));
    format!("id,labels{}\n{}", names(), rows.collect::<String>())
}

fn edges() -> String {
    let mut text = format!("problem,left,right{},matched\n", names());
    for row in 0..ROWS {
        let (problem, left, right) = (row / 4, row / 2 % 2, row % 2);
        writeln!(text, "{problem},a{left},b{right}{},{}", features(row), u8::from(left == right)).unwrap();
    }
    text
}

/// The four ways to give a program a file.
const WAYS: [&str; 4] = ["file", "-", "fifo", "/dev/fd/N"];

/// Runs the program with a file in the place of the word `DATA`, given in one of the ways.
fn given(place: &Place, way: &str, file: &str, words: &[&str]) -> Done {
    let with = |name: &str| -> Vec<String> { words.iter().map(|word| word.replace("DATA", name)).collect() };
    let run = |name: &str| {
        let words = with(name);
        ordain(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (mut done, name) = match way {
        "file" => (run(file), file.to_owned()),
        "-" => {
            let words = with("-");
            (piped(&words.iter().map(String::as_str).collect::<Vec<_>>(), &std::fs::read(file).unwrap()), "-".into())
        }
        "fifo" => {
            let fifo = place.at("fifo");
            let _ = std::fs::remove_file(&fifo);
            assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
            let (text, to) = (std::fs::read(file).unwrap(), fifo.clone());
            // opening waits for the reader; a program that refuses the text need not read it all
            let writer = std::thread::spawn(move || std::fs::write(to, text));
            let done = run(&fifo);
            let _ = writer.join().unwrap();
            (done, fifo)
        }
        _ => {
            let script = format!("exec \"$@\" 9< <(cat '{file}')");
            let program = command(&[]).get_program().to_owned();
            let output = Command::new("bash")
                .args(["-c", &script, "bash"])
                .arg(program)
                .args(with("/dev/fd/9"))
                .stdin(Stdio::null())
                .env("NO_COLOR", "1")
                .output()
                .unwrap();
            (Done::of(output), "/dev/fd/9".into())
        }
    };
    for text in [&mut done.out, &mut done.err] {
        *text = match name.as_str() {
            "-" => format!("\n{text}").replace("\n-: ", "\nDATA: ").replace("\"-\"", "\"DATA\"")[1..].to_owned(),
            name => text.replace(name, "DATA"),
        };
    }
    done
}

/// What is printed, without seconds: they are never the same.
fn timeless(text: &str) -> String {
    fn drop_seconds(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|key, _| !key.contains("seconds"));
                map.values_mut().for_each(drop_seconds);
            }
            Value::Array(list) => list.iter_mut().for_each(drop_seconds),
            _ => {}
        }
    }
    let line = |line: &str| match serde_json::from_str::<Value>(line) {
        Ok(mut value) => {
            drop_seconds(&mut value);
            value.to_string()
        }
        Err(_) => line.split(", read in ").next().unwrap().to_owned(),
    };
    text.lines().map(|text| line(text) + "\n").collect()
}

/// Checks that all ways to give a file have the same outcome, in what is printed and in what is written to `OUT`.
fn same(place: &Place, file: &str, words: &[&str]) -> Done {
    let out = place.at("out.csv");
    let words: Vec<String> = words.iter().map(|word| word.replace("OUT", &out)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let run = |way: &str| {
        let _ = std::fs::remove_file(&out);
        let done = given(place, way, file, &words);
        ((done.code, timeless(&done.out), std::fs::read(&out).ok()), done)
    };
    let (truth, done) = run("file");
    assert_eq!(done.code, Some(0), "{words:?}: {}", done.err);
    for way in &WAYS[1..] {
        let (found, other) = run(way);
        assert!(found == truth, "{words:?} by {way}: {:?}\n{:.300}\n{:.300}", found.0, other.err, other.out);
    }
    done
}

#[test]
fn queries_come_by_any_way() {
    let place = Place::empty();
    let (text, table) = (place.write("big.txt", &letor()), place.write("big.csv", &queries()));
    let model = place.at("model.ordain");
    let settings = ["--set=lambda=1", "--set=scale=global"];
    well(&[&["fit", "ranksvm", &text, "-o", &model], &settings[..]].concat());
    for file in [&text, &table] {
        assert!(std::fs::metadata(file).unwrap().len() > 9 << 20);
        same(&place, file, &[&["fit", "ranksvm", "DATA", "-o", "OUT"], &settings[..]].concat());
        same(&place, file, &["inspect", "DATA"]);
        same(&place, file, &["convert", "DATA", "OUT"]);
        same(&place, file, &["evaluate", "DATA", "--feature", if file == &text { "3" } else { "f3" }]);
    }
    let done = same(&place, &text, &["predict", &model, "DATA"]);
    assert_eq!(done.out.lines().count(), ROWS);
    let scores = place.write("scores.txt", &done.out);
    same(&place, &text, &["evaluate", &model, "DATA"]);
    same(&place, &text, &["explain", &model, "DATA", "--query", "7"]);
    let method = "ranksvm[lambda=1,scale=global]";
    same(&place, &text, &["compare", method, "--train", "DATA", "--test", &text, "--json"]);
    // what is given beside the data
    same(&place, &scores, &["evaluate", &text, "--scores", "DATA"]);
    same(&place, &model, &["inspect", "DATA"]);
    same(&place, &model, &["predict", "DATA", &text]);
    let (run, qrels) = (place.at("a.run"), place.at("a.qrels"));
    std::fs::write(&run, well(&["predict", &model, &text, "--run", "us"]).out).unwrap();
    well(&["convert", &text, &qrels]);
    same(&place, &run, &["evaluate", "--run", "DATA", "--qrels", &qrels]);
    same(&place, &qrels, &["evaluate", "--run", &run, "--qrels", "DATA"]);
}

#[test]
fn items_come_by_any_way() {
    let place = Place::empty();
    let (table, model) = (place.write("big.csv", &items()), place.at("model.ordain"));
    let settings = ["--set=lambda=1"];
    well(&[&["fit", "independent", &table, "-o", &model], &settings[..]].concat());
    place.write("arff/readme", "");
    well(&["convert", &table, &place.at("arff/big.arff")]);
    let (arff, labels) = (place.at("arff/big.arff"), place.at("arff/big.xml"));
    same(&place, &table, &[&["fit", "independent", "DATA", "-o", "OUT"], &settings[..]].concat());
    same(&place, &table, &["inspect", "DATA"]);
    same(&place, &arff, &["inspect", "DATA", "--labels", &labels]);
    same(&place, &table, &["convert", "DATA", "OUT"]);
    same(&place, &table, &["predict", &model, "DATA"]);
    same(&place, &table, &["evaluate", &model, "DATA"]);
    same(&place, &table, &["explain", &model, "DATA", "--item", "i7"]);
    same(&place, &table, &["simulate", &model, "DATA", "--questions", "1", "--items", "5", "--json"]);
    same(&place, &table, &["compare", "independent[lambda=1]", "--train", "DATA", "--test", &table, "--json"]);
    // answers come from standard input, so that data come from elsewhere
    let asked = |way: &str| {
        given(&place, way, &table, &["ask", &model, "DATA", "-o", &place.at(&format!("{}.jsonl", way.len()))])
    };
    assert_eq!(asked("file").out, asked("fifo").out);
    assert_eq!(asked("-").code, Some(2));
}

#[test]
fn edges_come_by_any_way() {
    let place = Place::empty();
    let (table, model) = (place.write("big.csv", &edges()), place.at("model.ordain"));
    let settings = ["--set=lambda=1", "--set=scale=none"];
    well(&[&["fit", "matchmap", &table, "-o", &model], &settings[..]].concat());
    same(&place, &table, &[&["fit", "matchmap", "DATA", "-o", "OUT"], &settings[..]].concat());
    same(&place, &table, &["inspect", "DATA"]);
    same(&place, &table, &["convert", "DATA", "OUT"]);
    same(&place, &table, &["predict", &model, "DATA"]);
    same(&place, &table, &["evaluate", &model, "DATA"]);
    same(&place, &table, &["explain", &model, "DATA", "--problem", "7"]);
    same(&place, &table, &["compare", "matchmap[lambda=1,scale=none]", "--train", "DATA", "--test", &table, "--json"]);
}

/// What other commands and options read. Where files have few rows, one long cell makes them as large as the others.
#[test]
fn what_newer_commands_read_comes_by_any_way() {
    let place = Place::trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.txt"));
    let long = "x".repeat(9 << 20);
    // two registers
    let names = ["ann", "bob", "eve", "ian", "joe", "kim", "lea", "max", "ned", "pia"];
    let register = |from: usize| {
        let row = |i: usize| format!("{},{}{},{}\n", from + i, names[i % 10], i / 10, 1950 + i);
        format!("id,name,year\n{}0,{long},1900\n", (1..40).map(row).collect::<String>())
    };
    let (left, right) = (place.write("left.csv", &register(100)), place.write("right.csv", &register(200)));
    let known: String = (1..20).map(|i| format!("{},{}\n", 100 + i, 200 + i)).collect();
    let known = place.write("known.csv", &format!("left,right\n{known}"));
    let rules = ["--block=year", "--compare=name:exact,year:number"];
    same(&place, &left, &[&["link", "DATA", &right, "--known", &known, "-o", "OUT"], &rules[..]].concat());
    same(&place, &right, &[&["link", &left, "DATA", "--known", &known, "-o", "OUT"], &rules[..]].concat());
    same(&place, &known, &[&["link", &left, &right, "--known", "DATA", "-o", "OUT"], &rules[..]].concat());
    // logs and edges of other programs
    let hit = |i: usize| {
        format!("{{\"_id\":\"{i}\",\"fields\":{{\"_ltrlog\":[{{\"l\":[{{\"name\":\"f\",\"value\":{i}}}]}}]}}}}")
    };
    let hits =
        |n: usize| format!("{{\"qid\":\"q{n}\",\"x\":\"{long}\",\"hits\":{{\"hits\":[{},{}]}}}}\n", hit(n), hit(n + 1));
    let log = place.write("log.json", &(hits(1) + &hits(2)));
    same(&place, &log, &["convert", "--from=es-log", "DATA", "OUT"]);
    let edges: String = (0..5).map(|i| format!("a{i},b{i},{i},t\n")).collect();
    let edges = format!("unique_id_l,unique_id_r,gamma_name,note\n{edges}a8,b8,1,{long}\n");
    let edges = place.write("splink.csv", &edges);
    same(&place, &edges, &["convert", "--from=splink", "DATA", "OUT"]);
    // what is given beside the data
    let table = |head: &str, cells: &str, last: &str| format!("{head},note\n{cells},t\n{last},{long}\n");
    let pins = table("rule,docid,place", "pin,d1-1,1", "exclude,d1-2,");
    let pins = place.write("rules.csv", &pins);
    same(&place, &pins, &["predict", &model, &test, "--rules", "DATA"]);
    let json = format!("{{\"pins\": [{{\"document\": \"d1-1\", \"place\": 1}}]}}{}\n", " ".repeat(9 << 20));
    let json = place.write("rules.json", &json);
    same(&place, &json, &["predict", &model, &test, "--rules", "DATA"]);
    let padded = place.write("padded.txt", &(place.read("test.txt") + "# " + &long + "\n"));
    same(&place, &padded, &["export", &model, "--to=python", "--check", "DATA", "-o", "OUT"]);
    let published = place.write("p.csv", &table("algorithm,metric,value", "us,ndcg@10,0.5", "them,ndcg@10,0.4"));
    let compare = ["compare", "ranksvm[lambda=1]", "--train", &test, "--test", &test, "--json"];
    same(&place, &published, &[&compare[..], &["--published", "DATA"]].concat());
    // answers of people
    let items = place.write("items.csv", "id,x,labels\na,1,sea\nb,2,sky\nc,3,sea\nd,4,sky\n");
    let labels = place.at("labels.ordain");
    well(&["fit", "independent[lambda=1]", &items, "-o", &labels]);
    let answers = place.at("answers.jsonl");
    piped(&["ask", &labels, &items, "-o", &answers, "--questions=1"], b"y\nn\ny\nn\n").code(0);
    std::fs::write(&answers, place.read("answers.jsonl") + &"\n".repeat(9 << 20)).unwrap();
    same(&place, &answers, &["fit", "independent[lambda=1]", &items, "-o", "OUT", "--answers", "DATA"]);
    // pairs of documents
    let pairs: String = (1..=30).map(|q| format!("q{q},d{q}-1,d{q}-2,t\n")).collect();
    let pairs = place.write("pairs.csv", &format!("qid,winner,loser,note\n{pairs}q1,d1-1,d1-3,{long}\n"));
    let plain = place.write("plain.csv", &crate::data::table_of(&crate::data::rows(30, 1), ',', &[0, 1, 2, 3, 4]));
    let fit = ["fit", "ranksvm[lambda=1,scale=query]", &plain, "--ignore=label", "-o", "OUT", "--preferences", "DATA"];
    same(&place, &pairs, &fit);
}

#[test]
fn wrong_text_in_a_stream_is_refused_and_does_not_hang() {
    let place = Place::trained();
    let model = place.at("model.ordain");
    let wrong = place.write("wrong.txt", "1 qid:1 1:0.5\n0 qid:1 oops\n");
    let items = place.write("items.csv", "id,labels,a\nx,sea,1\n");
    for way in WAYS {
        given(&place, way, &wrong, &["predict", &model, "DATA"]).code(1).says(":2:9: expected index:value");
        given(&place, way, &items, &["predict", &model, "DATA"]).code(1).says("items with labels");
        given(&place, way, &items, &["fit", "ranksvm", "DATA", "-o", &place.at("x.ordain")]).code(1);
    }
}

#[test]
fn folders_devices_and_a_second_look_at_standard_input_are_refused_by_name() {
    let place = Place::trained();
    let model = place.at("model.ordain");
    ordain(&["predict", &model, place.path().to_str().unwrap()]).code(1).says("parts S1.txt");
    ordain(&["evaluate", &place.at("test.txt"), "--scores", place.path().to_str().unwrap()]).code(1).says("a folder");
    for device in ["/dev/null", "/dev/zero"] {
        ordain(&["predict", &model, device]).code(1).says(device).says("found a device");
        ordain(&["inspect", device]).code(1).says("found a device");
    }
    let text = place.bytes("test.txt");
    piped(&["evaluate", "-", "-"], &place.bytes("model.ordain")).code(1).says("it was read already");
    piped(&["evaluate", "-", "--scores", "-"], &text).code(1).says("it was read already");
    piped(&["predict", &model, "-"], b"").code(1).says("the file is empty");
}
