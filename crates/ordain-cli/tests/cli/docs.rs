//! The documents: every fenced block in them is run, read or compared, and a block that nobody knows is an error.
//!
//! What a block is stands in the line that opens it:
//!
//! - `console`: commands after `$ `, run one after the other in a folder of their section (`## …`). Lines below a command are its
//!   standard output: numbers may differ by one in a million, numbers before ` s` (seconds) are not looked at, and a line `…`
//!   stands for any lines. A comment begins with two blanks and `#`; a line that ends in `\` goes on.
//! - `text NAME` or `xml NAME`: the file of that name in the same folder. It is there for the commands; where none of its section
//!   names it, `ordain inspect` has to read it, alone or with a file of [`BESIDE`].
//! - `text end of NAME`: lines that stand at the end of a file that the test makes.
//! - `text serve`: commands that do not end, whose options have to be there. `text requests`: by the tests of `ordain-serve`.
//! - `text for SCRIPT` or `xml for SCRIPT`: what people paste into another program, as that script does.
//! - `text json TASK`: the fields of the JSON that commands print, by their golden files: both must have the same.
//! - `python`, and `text output` right below: by `python/tests/test_examples.py`. `rust`: by the tests of the library's page.

use crate::data::{Numbers, letor};
use crate::golden::calm_text;
use crate::support::{Done, Place, command, piped, well};
use crate::{matches, tags};
use ordain::data::synthetic::Scenes;
use ordain::data::write_labels;
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Files that are read together with another one.
const BESIDE: [&str; 2] = ["photos.xml", "pairs.csv"];

/// What `inspect` has to be told to read a file.
const TOLD: [(&str, [&str; 2]); 2] =
    [("frames.csv", ["--pairs", "pairs.csv"]), ("labelled.csv", ["--labels", "sea,sky"])];

/// Demonstrations of half a minute, which `./check` runs: here it is enough that they are known.
const LONG: [&str; 2] = ["demo annotate", "demo match"];

/// A fenced block of a page.
struct Block {
    page: String,
    line: usize,
    section: String,
    info: String,
    text: String,
}

impl Block {
    fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All pages, by their path from the root.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "python/README.md".into()];
    let entries = std::fs::read_dir(root().join("docs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    pages.extend(names.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}")));
    pages.sort();
    pages
}

fn blocks(page: &str) -> Vec<Block> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let (mut found, mut section, mut open) = (vec![], String::new(), None::<Block>);
    for (line, text) in text.lines().enumerate() {
        match (text.strip_prefix("```"), &mut open) {
            (Some(""), Some(_)) => found.extend(open.take()),
            (Some(info), None) => {
                let (page, section, info) = (page.to_owned(), section.clone(), info.to_owned());
                open = Some(Block { page, line: line + 1, section, info, text: String::new() });
            }
            (_, Some(block)) => writeln!(block.text, "{text}").unwrap(),
            (None, None) => {
                assert!(!text.trim_start().starts_with("```"), "{page}:{}: a block that is indented", line + 1);
                if let Some(name) = text.strip_prefix("## ") {
                    name.clone_into(&mut section);
                }
            }
        }
    }
    assert!(open.is_none(), "{page}: a block that is not closed");
    found
}

/// The sections of a page, each with its blocks.
fn sections(page: &str) -> Vec<Vec<Block>> {
    let mut all: Vec<Vec<Block>> = vec![];
    for block in blocks(page) {
        match all.last_mut().filter(|last| last[0].section == block.section) {
            Some(last) => last.push(block),
            None => all.push(vec![block]),
        }
    }
    all
}

/// One thing that a block of the console does.
#[derive(Debug, PartialEq)]
struct Step {
    words: Vec<String>,
    output: Vec<String>,
}

/// The words of a command; quotes of one kind, and comments.
fn words(line: &str) -> Vec<String> {
    let line = line.split("  #").next().unwrap_or_default();
    let (mut all, mut word, mut quoted) = (vec![], String::new(), false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => all.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
            _ => word.push(c),
        }
    }
    all.extend(Some(word).filter(|word| !word.is_empty()));
    all
}

fn steps(block: &Block) -> Vec<Step> {
    let text = block.text.replace("\\\n", " ");
    let mut all: Vec<Step> = vec![];
    for line in text.lines() {
        match line.strip_prefix("$ ") {
            Some(line) => all.push(Step { words: words(line), output: vec![] }),
            None => {
                let last = all.last_mut().unwrap_or_else(|| panic!("{}: output before a command", block.place()));
                last.output.push(line.to_owned());
            }
        }
    }
    assert!(!all.is_empty(), "{}: a console without a command", block.place());
    all
}

/// A line in numbers and in what stands between them.
fn parts(line: &str) -> Vec<Result<f64, &str>> {
    let number = |c: char| c.is_ascii_digit() || c == '.';
    let mut rest = line;
    let mut all = vec![];
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| number(c) != number(first)).unwrap_or(rest.len());
        let (part, more) = rest.split_at(end);
        all.push(part.parse().map_err(|_| part));
        rest = more;
    }
    all
}

/// Whether two lines are the same but for the last digits of numbers.
fn alike(a: &str, b: &str) -> bool {
    let (a, b) = (parts(a), parts(b));
    let same = |pair: (&Result<f64, &str>, &Result<f64, &str>)| match pair {
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-6 * a.abs(),
        (a, b) => a == b,
    };
    a.len() == b.len() && a.iter().zip(&b).all(same)
}

/// Whether lines are those that were expected, where `…` stands for any.
fn agree(expected: &[&str], found: &[&str]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((&"…", rest)) => (0..=found.len()).any(|skipped| agree(rest, &found[skipped..])),
        Some((line, rest)) => {
            found.split_first().is_some_and(|(first, others)| alike(line, first) && agree(rest, others))
        }
    }
}

/// Runs the program in a folder, as a person does who stands there.
fn run(place: &Place, words: &[&str]) -> Done {
    Done::of(command(words).current_dir(place.path()).output().unwrap())
}

/// Does what a command of a document says, and compares.
fn follow(step: &Step, at: &str, place: &Place) {
    let words: Vec<&str> = step.words.iter().map(String::as_str).collect();
    let exists = |path: &str| assert!(root().join(path).exists(), "{at}: there is no {path}");
    let mine = match &words[..] {
        ["ordain", rest @ ..] | ["cargo", "run", "--release", "--", rest @ ..] => rest,
        ["cargo", "run", "--release", "-p", package, "--example", name, ..] => {
            return exists(&format!("crates/{package}/examples/{name}.rs"));
        }
        ["cargo", "install", "--locked", "--path", path] => return exists(&format!("{path}/Cargo.toml")),
        ["pip", "install", path] => return exists(&format!("{path}/pyproject.toml")),
        ["./check", options @ ..] => {
            let script = std::fs::read_to_string(root().join("check")).unwrap();
            let known = |option: &&str| script.contains(&format!("{option})"));
            return assert!(options.iter().all(known), "{at}: ./check does not know {options:?}");
        }
        _ => panic!("{at}: a command that no test knows: {words:?}"),
    };
    if LONG.contains(&mine.join(" ").as_str()) {
        assert!(step.output.is_empty(), "{at}: this demonstration is not run here: show no output");
        run(place, &[mine, &["--help"]].concat()).code(0);
        return;
    }
    let (mine, into) = match mine {
        [most @ .., ">", name] => (most, Some(*name)),
        all => (all, None),
    };
    let done = run(place, mine);
    into.map(|name| place.write(name, &done.out));
    assert_eq!(done.code, Some(0), "{at}: {mine:?}\n{}\n{}", done.out, done.err);
    if step.output.is_empty() {
        return;
    }
    let [expected, found] = [&step.output.join("\n"), &done.out].map(|text| calm_text(text, place.path()));
    let lines = [&expected, &found].map(|text| text.lines().collect::<Vec<_>>());
    assert!(
        agree(&lines[0], &lines[1]),
        "{at}: {mine:?}: the document shows\n{expected}\nand the program prints\n{found}"
    );
}

/// Photographs of three kinds, some of them of buses.
fn photos() -> String {
    let mut numbers = Numbers::new(5);
    let mut text = "id,kind,blue,green,red\n".to_owned();
    for i in 0..48 {
        let kind = i % 3;
        let value = |j: usize, numbers: &mut Numbers| numbers.below(40) + if j == kind { 30 } else { 0 };
        let [blue, green, red] = [0, 1, 2].map(|j| value(j, &mut numbers));
        writeln!(text, "p{i},{},{blue},{green},{red}", ["sea", "forest", "bus"][kind]).unwrap();
    }
    text
}

/// The folds of a LETOR set.
fn folds(place: &Place, name: &str) {
    for fold in 1..=5 {
        for (part, seed) in [("train", 10), ("vali", 20), ("test", 30)] {
            place.write(&format!("{name}/Fold{fold}/{part}.txt"), &letor(12, seed + fold));
        }
    }
}

/// What the commands of a section find in their folder.
fn prepare(page: &str, section: &str, place: &Place) {
    match (page, section) {
        ("README.md", "Your own file") => {
            place.write("train.txt", &letor(30, 1));
            place.write("vali.txt", &letor(12, 3));
            place.write("test.txt", &letor(12, 2));
            folds(place, "MQ2008");
        }
        ("README.md", "Trees" | "Into other programs") => {
            place.write("train.txt", &letor(30, 1));
            place.write("test.txt", &letor(12, 2));
        }
        ("README.md", "Kernels and retrieval") => {
            place.write("train.txt", &letor(30, 1));
            place.write("photos.csv", &photos());
            folds(place, "OHSUMED");
        }
        ("README.md", "Labels") => {
            for (name, items, seed) in [("items", 60, 1), ("new", 9, 2), ("test", 20, 3)] {
                let mut set = Scenes { items, labels: 9, scenes: 3, noise: 0.9, seed }.make();
                for (at, name) in ["sea", "sky"].into_iter().enumerate() {
                    if !set.labels.iter().any(|label| label == name) {
                        set.labels[at] = name.into();
                    }
                }
                write_labels(&set, &place.path().join(format!("{name}.arff"))).unwrap();
            }
        }
        ("README.md", "Matching") => {
            let edges = matches::edges(8, 2, true, true);
            let short = |line: &str| {
                let [problem, left, right, likeness, _, matched] = line.split(',').collect::<Vec<_>>()[..] else {
                    panic!("an edge of six columns, not {line}")
                };
                format!("{problem},{left},{right},{likeness},{matched}\n")
            };
            place.write("test.csv", &edges.lines().map(short).collect::<String>());
            for (name, problems) in [("train", 10), ("valid", 6), ("test", 5)] {
                place.write(&format!("{name}-points.csv"), &matches::points(problems));
            }
            let (frames, pairs) = matches::frames();
            place.write("frames.csv", &frames);
            place.write("pairs.csv", &pairs);
        }
        ("docs/benchmarks.md", _) => {
            place.write("levels/side4-seed1-train.txt", &letor(20, 1));
            place.write("levels/side4-seed1-test.txt", &letor(10, 2));
        }
        _ => {}
    }
}

/// Follows the blocks of a section in its folder.
fn section(blocks: &[Block]) {
    let place = Place::empty();
    prepare(&blocks[0].page, &blocks[0].section, &place);
    let consoles = blocks.iter().filter(|block| block.info == "console");
    let named: Vec<String> = consoles.flat_map(steps).flat_map(|step| step.words).collect();
    let (mut above, mut unread) = ("", vec![]);
    for block in blocks {
        let at = block.place();
        let info: Vec<&str> = block.info.split(' ').collect();
        match &info[..] {
            ["console"] => steps(block).iter().for_each(|step| follow(step, &at, &place)),
            ["text", "json", task] => fields(block, task),
            ["text", "end", "of", name] => {
                assert!(place.path().join(name).exists(), "{at}: there is no {name} to add lines to");
                let whole = place.read(name) + &block.text;
                place.write(name, &whole);
            }
            ["text", "serve"] => block.text.lines().for_each(|line| {
                // a server does not end: it is enough that each option is one
                let words = words(line);
                let more: Vec<&str> = words[1..].iter().map(String::as_str).chain(["--help"]).collect();
                well(&more);
            }),
            // by the script that runs the other program and pastes it there
            ["text" | "xml", "for", script] => {
                let text = std::fs::read_to_string(root().join(script)).unwrap();
                assert!(text.contains(&format!("\"```{}\\n\"", block.info)), "{at}: {script} does not read it");
            }
            // by the tests of the server
            ["text", "requests"] => assert_eq!(block.page, "docs/serve.md", "{at}"),
            ["text", "output"] => assert_eq!(above, "python", "{at}: output of nothing"),
            ["text" | "xml", name] => {
                place.write(name, &block.text);
                if !BESIDE.contains(name) && !named.contains(&(*name).to_owned()) {
                    unread.push((at, *name));
                }
            }
            ["python"] => {}
            ["rust"] => assert_eq!(block.page, "README.md", "{at}: only this page is tested with the library"),
            _ => panic!("{at}: a block that no test knows ({:?}): see tests/cli/docs.rs for what there is", block.info),
        }
        above = info[0];
    }
    for (at, name) in unread {
        let more = TOLD.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, more)| more);
        let done = run(&place, &[&["inspect", name], more].concat());
        assert_eq!(done.code, Some(0), "{at}: the program cannot read it\n{}", done.err);
    }
}

fn follow_page(page: &str, of: impl Fn(&str) -> bool) {
    let all = sections(page);
    let wanted: Vec<_> = all.iter().filter(|blocks| of(&blocks[0].section)).collect();
    assert!(!wanted.is_empty(), "{page}: no such section");
    wanted.into_iter().for_each(|blocks| section(blocks));
}

// the longest sections have a test of their own, so that they run side by side
const SLOW: [&str; 3] = ["Kernels and retrieval", "Labels", "Matching"];

#[test]
fn the_readme_on_kernels() {
    follow_page("README.md", |section| section == SLOW[0]);
}

#[test]
fn the_readme_on_labels() {
    follow_page("README.md", |section| section == SLOW[1]);
}

#[test]
fn the_readme_on_matching() {
    follow_page("README.md", |section| section == SLOW[2]);
}

#[test]
fn all_other_blocks_of_all_pages() {
    follow_page("README.md", |section| !SLOW.contains(&section));
    for page in pages().iter().filter(|page| *page != "README.md") {
        sections(page).iter().for_each(|blocks| section(blocks));
    }
}

/// What a document says of JSON: fields, with what is in them where that is said.
#[derive(Debug, PartialEq)]
enum Said {
    /// Anything.
    Something,
    /// A list, of this where it is said.
    List(Option<Box<Said>>),
    /// These fields and no others.
    Fields(Vec<(String, Said)>),
}

/// Reads JSON in which a field may stand without its value.
fn said(text: &mut &str) -> Said {
    let eat = |text: &mut &str, c: char| {
        *text = text.trim_start();
        text.starts_with(c).then(|| *text = &text[1..]).is_some()
    };
    let word = |text: &mut &str| {
        let (word, rest) = text[1..].split_once('"').expect("a closing quote");
        *text = rest;
        word.to_owned()
    };
    if eat(text, '{') {
        let mut fields = vec![];
        while !eat(text, '}') {
            assert!(text.starts_with('"'), "expected a field, found {text:?}");
            let name = word(text);
            fields.push((name, if eat(text, ':') { said(text) } else { Said::Something }));
            eat(text, ',');
        }
        return if fields.is_empty() { Said::Something } else { Said::Fields(fields) };
    }
    if eat(text, '[') {
        let of = (!eat(text, ']')).then(|| Box::new(said(text)));
        assert!(of.is_none() || eat(text, ']'), "expected one item in a list, found {text:?}");
        return Said::List(of);
    }
    if text.starts_with('"') {
        word(text);
    } else {
        *text = text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '.' || c == '-');
    }
    Said::Something
}

/// Checks that a value has what was said, and nothing that was not.
fn has(value: &Value, said: &Said, at: &str) {
    match said {
        Said::Something => {}
        Said::List(of) => {
            let list = value.as_array().unwrap_or_else(|| panic!("{at}: the program prints no list, but {value}"));
            if let (Some(of), Some(first)) = (of, list.first()) {
                has(first, of, at);
            }
        }
        Said::Fields(fields) => {
            let object = value.as_object().unwrap_or_else(|| panic!("{at}: the program prints no fields, but {value}"));
            let mut names: [Vec<&str>; 2] =
                [fields.iter().map(|(name, _)| name.as_str()).collect(), object.keys().map(String::as_str).collect()];
            names.iter_mut().for_each(|names| names.sort_unstable());
            assert_eq!(names[0], names[1], "{at}: fields of the document, and of the program");
            fields.iter().for_each(|(name, said)| has(&object[name], said, &format!("{at} {name}")));
        }
    }
}

/// What the program prints: out of a golden file, which its own test compares with the program.
fn printed(task: &str, what: &str) -> Option<Value> {
    let golden = |name: &str| {
        let text = std::fs::read_to_string(root().join("crates/ordain-cli/tests/cli/golden").join(name)).unwrap();
        serde_json::from_str::<Value>(if name.ends_with(".jsonl") { text.lines().next().unwrap() } else { &text })
            .unwrap()
    };
    let within = |name: &str, key: &str| golden(name).get(key).cloned();
    match (task, what) {
        ("rank", "evaluate --per-query") => Some(golden("evaluate_per_query.json")),
        ("rank", "compare") => Some(golden("compare.json")),
        ("rank", "predict") => Some(golden("predict.jsonl")),
        ("rank", "predict --probabilities") => {
            let place = Place::trained();
            let (train, model) = (place.at("train.txt"), place.at("places.ordain"));
            well(&["fit", "rankmatch", &train, "-o", &model, "--set=lambda=0.1", "--set=scale=query"]);
            well(&["predict", &model, &train, "--probabilities", "--json"]).json_lines().into_iter().next()
        }
        ("rank", "fit") => Some(golden("fit.json")),
        ("rank", "fit of a kernel" | "fit of ballrank") => {
            let place = Place::trained();
            let method = if what == "fit of ballrank" { "ballrank" } else { "ranksvm" };
            let fixed = ["--set=kernel=rbf", "--set=gamma=1", "--set=lambda=0.1", "--set=scale=query", "--json"];
            let words = ["fit", method, &place.at("train.txt"), "-o", &place.at("kernel.ordain")];
            Some(well(&[&words[..], &fixed].concat()).json())
        }
        ("rank", "inspect of data") => Some(golden("inspect_data.json")),
        ("rank", "inspect of a model") => Some(golden("inspect_model.json")),
        ("rank", "explain") => Some(golden("explain.json")),
        ("annotate", "compare") => Some(golden("compare_tags.json")),
        ("annotate", "simulate" | "simulate --against") => {
            let place = tags::trained();
            let (model, test) = (place.at("model.ordain"), place.at("test.csv"));
            let against: &[&str] = if what == "simulate" { &[] } else { &["--against", &model] };
            Some(
                well(
                    &[&["simulate", &model, &test, "--json", "--questions=1,2", "--strategy=expected"], against]
                        .concat(),
                )
                .json(),
            )
        }
        ("ask", what) => {
            let place = tags::trained();
            let answers = place.at("answers.jsonl");
            let words = ["ask", &place.at("model.ordain"), &place.at("bare.csv"), "-o", &answers];
            piped(&words, b"y\nundo\nredo\nundo\n+beach\nquit\n").code(0);
            let lines: Vec<Value> =
                place.read("answers.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let with = |field: &str| lines.iter().skip(1).find(|line| line.get(field).is_some()).cloned();
            match what {
                "first line" => lines.first().cloned(),
                "an answer" => with("strategy"),
                "an answer that is taken back" => with("undo"),
                "an undo that is taken back" => with("redo"),
                "an answer unasked" => with("asked"),
                _ => None,
            }
        }
        ("annotate" | "match", what) => {
            let key = match what {
                "evaluate --per-query" => "evaluate",
                "inspect of data" => "inspect_data",
                "inspect of a model" => "inspect_model",
                "predict --top" => "predict_top",
                "predict --check" => "predict_check",
                other => other,
            };
            within(if task == "match" { "matches_shapes.json" } else { "tags_shapes.json" }, key)
        }
        _ => None,
    }
}

/// Compares the fields of a block with those that are printed. An entry begins at the margin with its command, and goes on indented.
fn fields(block: &Block, task: &str) {
    let joined = block.text.lines().fold(String::new(), |all, line| match line.strip_prefix(' ') {
        Some(line) => all + line.trim_start(),
        None => all + "\n" + line,
    });
    for entry in joined.lines().filter(|line| !line.is_empty()) {
        let start = entry.find('{').unwrap_or_else(|| panic!("{}: no fields in {entry:?}", block.place()));
        let (what, mut rest) = (entry[..start].trim(), &entry[start..]);
        let at = format!("{}: {what}", block.place());
        let value = printed(task, what).unwrap_or_else(|| panic!("{at}: an entry that no test knows"));
        has(&value, &said(&mut rest), &at);
        assert_eq!(rest.trim(), "", "{at}: more than one value");
    }
}

#[test]
fn commands_and_outputs_are_told_apart() {
    let block = |text: &str| {
        let (page, section, info) = ("x.md".into(), String::new(), "console".into());
        Block { page, line: 1, section, info, text: text.into() }
    };
    let all = steps(&block("$ ordain fit 'a b' \\\n  c   # why\nout 1\n\n$ x\n"));
    let step = |words: &[&str], output: &[&str]| Step {
        words: words.iter().map(|&word| word.into()).collect(),
        output: output.iter().map(|&line| line.into()).collect(),
    };
    assert_eq!(all, [step(&["ordain", "fit", "a b", "c"], &["out 1", ""]), step(&["x"], &[])]);
}

#[test]
fn lines_differ_but_for_last_digits_and_what_is_left_out() {
    assert!(alike("a 0.12345678 b", "a 0.12345679 b") && alike("1..2 x", "1..2 x") && !alike("1..2", "1..3"));
    for (a, b) in [("a 0.986751", "a 0.850910"), ("a 1", "b 1"), ("a", "a 1"), ("1.5", "-1.5")] {
        assert!(!alike(a, b), "{a} {b}");
    }
    assert!(agree(&["a", "…", "d"], &["a", "b", "c", "d"]) && agree(&["a", "…"], &["a"]));
    assert!(!agree(&["a", "…", "d"], &["a", "b"]) && !agree(&["a"], &["a", "b"]));
}

#[test]
#[should_panic(expected = "fields of the document, and of the program")]
fn a_field_that_is_not_said_is_found() {
    let mut text = r#"{"a":{"b","c":[0.5]},"d":null}"#;
    has(&serde_json::json!({"a": {"b": 1, "c": [], "more": 2}, "d": 3}), &said(&mut text), "here");
}

#[test]
#[should_panic(expected = "a block that no test knows")]
fn a_block_that_no_test_knows_is_found() {
    let (page, section_name, info) = ("x.md".to_owned(), String::new(), String::new());
    section(&[Block { page, line: 1, section: section_name, info, text: "0.5 0.6\n".into() }]);
}
