//! What must not be lost and what must not be silent: bombs, signals, closed outputs, cut files, hostile names.
#![cfg(unix)]

use crate::data;
use crate::support::{Done, Place, command, hangups_are_ignored, ordain, well};
use std::io::Read;
use std::process::{Command, Stdio};

/// The program through a shell that does something first; `$0` is the program and `$@` its words.
pub(crate) fn shell(script: &str, words: &[&str]) -> Done {
    let mut all = Command::new("sh");
    all.args(["-c", script, env!("CARGO_BIN_EXE_ordain")]).args(words);
    all.stdin(Stdio::null()).env("NO_COLOR", "1").env_remove("RUST_BACKTRACE");
    Done::of(all.output().unwrap())
}

/// The same with 1 GB of memory.
fn little(words: &[&str]) -> Done {
    shell("ulimit -v 1000000; exec \"$0\" --threads=2 \"$@\"", words)
}

/// Writes a packed file of one unit of text again and again.
fn bomb(place: &Place, name: &str, start: &str, unit: &str, bytes: usize) -> String {
    let path = place.path().join(name);
    let block = unit.repeat((1 << 20) / unit.len());
    ordain::data::write_whole(&path, |out| {
        out.write_all(start.as_bytes())?;
        (0..bytes >> 20).try_for_each(|_| out.write_all(block.as_bytes()))
    })
    .unwrap();
    place.at(name)
}

#[test]
fn bombs_are_refused_in_little_memory() {
    let place = Place::trained();
    let model = place.at("model.ordain");
    for (name, start, unit) in [
        ("a.txt.zst", "1 qid:1 #", "aaaa"),
        ("b.csv.zst", "label,qid,x\n0,1,\"", "1111"),
        ("c.arff.gz", "@relation x", "xxxx"),
    ] {
        let file = bomb(&place, name, start, unit, 300 << 20);
        let done = little(&["inspect", &file]).code(1);
        assert!(done.err.contains("error: "), "{}", done.err);
        little(&["predict", &model, &file]).code(1);
    }
    let xml = bomb(&place, "labels.xml.zst", "<labels>", "<!--->", 64 << 20);
    place.write("items.arff", "@relation x\n@attribute a numeric\n@attribute b {0,1}\n@data\n1,0\n");
    little(&["inspect", &place.at("items.arff"), "--labels", &xml]).code(1).says("at most 16 MiB");
    // many whole rows: what they need is not there, and that is an error
    for (name, start, unit) in [
        ("rows.txt.zst", "", "1 qid:1 1:1 2:2\n"),
        ("rows.csv.zst", "label,qid,x\n", "1,1,2\n"),
        ("items.txt.zst", "", "1,2 1:1\n"),
        ("edges.csv.zst", "left,right,x\n", "a,b,1\n"),
    ] {
        let file = bomb(&place, name, start, unit, 700 << 20);
        little(&["inspect", &file]).code(1).says("leaves no room for more rows");
    }
    // a line that is short enough, of more columns than anybody has
    let file = bomb(&place, "columns.csv.zst", "label,qid,", "xxxxxxx,", 60 << 20);
    little(&["inspect", &file]).code(1).says("at most 1048576 columns");
    // a packed model is refused as such, whatever it holds
    let packed = bomb(&place, "m.ordain.gz", "", "0000", 600 << 20);
    little(&["predict", &packed, &place.at("test.txt")]).code(1).says("never packed");
    std::fs::rename(&packed, place.at("m.ordain")).unwrap();
    little(&["inspect", &place.at("m.ordain")]).code(1).says("never packed");
    little(&["predict", "/dev/zero", &place.at("test.txt")]).code(1).says("a device");
    little(&["inspect", "/dev/zero"]).code(1).says("a device");
}

/// Files that are small and mean much: numbers of JSON, cells of a table, pairs of records, an array.
#[test]
fn what_grows_when_it_is_understood_is_refused_in_little_memory() {
    let place = Place::trained();
    let (model, test, out) = (place.at("model.ordain"), place.at("test.txt"), place.at("out.csv"));
    let answers = bomb(&place, "answers.json.zst", "{\"hits\":[", "0,", 60 << 20);
    little(&["convert", "--from=es-log", &answers, &out]).code(1).says("MiB of memory");
    let long = bomb(&place, "long.json.zst", "{\"hits\":\"", "aaaa", 70 << 20);
    little(&["convert", "--from=solr", &long, &out]).code(1);
    // every document has a feature of its own
    let hit = |i: usize| {
        format!("{{\"_id\":\"{i}\",\"fields\":{{\"_ltrlog\":[{{\"l\":[{{\"name\":\"f{i}\",\"value\":1}}]}}]}}}}")
    };
    let hits: Vec<String> = (0..9000).map(hit).collect();
    let wide = place.write("wide.json", &format!("{{\"hits\":{{\"hits\":[{}]}}}}\n", hits.join(",")));
    little(&["convert", "--from=es-log", &wide, &out]).code(1).says("MiB of memory");
    let rules = bomb(&place, "rules.json.zst", "{\"pins\":[", "{},", 300 << 20);
    little(&["predict", &model, &test, "--rules", &rules]).code(1);
    // all records are candidates of all
    let records: String = (0..6000).map(|i| format!("{i},same,x{i}\n")).collect();
    let records = place.write("records.csv", &format!("id,a,b\n{records}"));
    for rule in ["a", "sort:b:9000000"] {
        let done = little(&["link", &records, &records, &format!("--block={rule}"), "-o", &place.at("links.csv")]);
        done.code(1).says("candidate pairs: cannot");
    }
    let numbers = 450 << 18;
    let head = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({numbers}, 1), }}\n");
    let path = place.path().join("array.npy.zst");
    ordain::data::write_whole(&path, |out| {
        out.write_all(b"\x93NUMPY\x01\x00")?;
        out.write_all(&(head.len() as u16).to_le_bytes())?;
        out.write_all(head.as_bytes())?;
        (0..450).try_for_each(|_| out.write_all(&[0; 1 << 20]))
    })
    .unwrap();
    std::fs::rename(&path, place.at("array.npy")).unwrap();
    little(&["features", "--tensor=1", &place.at("array.npy"), "-o", &out]).code(1).says("memory");
    assert!(!std::path::Path::new(&out).exists());
}

/// What stands beside the data is read as they are: no device, no end of a file inside quotes.
#[test]
fn files_beside_the_data_are_no_devices_and_have_no_open_quotes() {
    let place = Place::trained();
    let (model, train, test) = (place.at("model.ordain"), place.at("train.txt"), place.at("test.txt"));
    let published = place.write("p.csv", "algorithm,metric,value\n\"us, them\",ndcg@10,0.5\n");
    let compare =
        |file: &str| ordain(&["compare", "ranksvm[lambda=1]", "--train", &train, "--test", &test, "--published", file]);
    assert!(compare(&published).code(0).out.contains("us, them"));
    let open = place.write("open.csv", "algorithm,metric,value\n\"us,ndcg@10,0.5\n");
    compare(&open).code(1).silent().says("open.csv:2").says("closes the cell");
    compare("/dev/zero").code(1).silent().says("a device");
    let table = place.write("items.csv", "id,x,labels\na,1,sea\nb,2,sky\nc,3,sea\nd,4,sky\n");
    let items = place.at("items.ordain");
    well(&["fit", "independent[lambda=1]", &table, "-o", &items, "-q"]);
    ordain(&["fit", "independent[lambda=1]", &table, "-o", &items, "--answers=/dev/zero"]).code(1).says("a device");
    ordain(&["ask", &items, &table, "-o", "/dev/zero"]).code(1).says("a device");
    ordain(&["link", &table, &table, "--known=/dev/zero", "-o", &place.at("l.csv")]).code(1).says("a device");
    ordain(&["predict", &model, &test, "--rules=/dev/zero"]).code(1).says("a device");
    ordain(&["serve", &items, "--annif", "--vocabulary=/dev/zero"]).code(1).says("a device");
    ordain(&["serve", &items, "--token=/dev/zero"]).code(2).says("--token");
}

#[test]
fn the_longest_line_can_be_set() {
    let place = Place::empty();
    let long = format!("1 qid:1 1:2 #{}\n0 qid:1 1:1 #b\n", "x".repeat(20 << 20));
    let file = place.write("long.txt", &long);
    well(&["inspect", &file]);
    ordain(&["inspect", &file, "--max-line=9000000"]).code(1).says("--max-line BYTES takes longer ones");
}

#[test]
fn signals_save_what_ctrl_c_saves() {
    let signals = [("-TERM", 143), ("-HUP", 129)];
    for (name, code) in signals.into_iter().take(if hangups_are_ignored() { 1 } else { 2 }) {
        let place = Place::empty();
        let train = place.write("slow.txt", &data::slow(2000, 300));
        let model = place.at("m.ordain");
        let settings = ["--set=lambda=1e-8", "--set=scale=none", "--set=tol=1e-14", "--set=max_iter=100000"];
        let words = [&["fit", "ranksvm", &train, "-o", &model, "--verbose", "--threads=1"], &settings[..]].concat();
        let mut child = command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut err = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("fitting") {
            assert!(std::io::BufRead::read_line(&mut err, &mut said).unwrap() > 0, "the program ended: {said}");
        }
        Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
        err.read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{said}");
        assert_eq!(well(&["inspect", &model, "--json"]).json()["stop"], "interrupted");
        assert_eq!(place.names(), ["m.ordain", "slow.txt"]);
    }
    // who asked for no end at SIGHUP has none
    let place = Place::trained();
    shell("trap '' HUP; \"$0\" \"$@\" & kill -HUP $!; wait $!", &["inspect", &place.at("test.txt")]).code(0);
}

#[test]
fn new_files_have_the_mode_that_the_umask_leaves() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::trained();
    for (mask, mode) in [("077", 0o600), ("022", 0o644), ("007", 0o660)] {
        let out = place.at(&format!("out{mask}.csv"));
        shell(&format!("umask {mask}; exec \"$0\" \"$@\""), &["convert", &place.at("test.txt"), &out]).code(0);
        assert_eq!(std::fs::metadata(&out).unwrap().permissions().mode() & 0o777, mode, "umask {mask}");
    }
}

#[test]
fn closed_and_full_outputs_are_errors_and_closed_readers_are_not() {
    let place = Place::trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.txt"));
    for words in [&["--help"][..], &["--version"], &["inspect", &test], &["predict", &model, &test]] {
        shell("exec \"$0\" \"$@\" >&-", words).code(1).says("standard output is closed");
        shell("exec \"$0\" \"$@\" >/dev/full", words).code(1).says("error: ");
        shell("\"$0\" \"$@\" 2>err | true; cat err >&2", words).code(0);
    }
    shell("exec \"$0\" \"$@\" >&-", &["convert", &test, "-"]).code(1);
    well(&["inspect", &test]);
    // no reader at all: quiet, and no error
    let mut child = command(&["predict", &model, &test]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let done = Done::of(child.wait_with_output().unwrap());
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
}

#[test]
fn a_cut_file_is_said_and_strict_refuses_it() {
    let place = Place::trained();
    let whole = std::fs::read_to_string(place.at("test.txt")).unwrap();
    let file = place.write("cut.txt", whole.trim_end());
    let last = whole.lines().count();
    let warning = format!("line {last}, the last one, has no line end");
    ordain(&["inspect", &file]).code(0).says(&format!("warning: {file}: {warning}"));
    ordain(&["predict", &place.at("model.ordain"), &file]).code(0).says(&warning);
    ordain(&["fit", "ranksvm", &file, "-o", &place.at("new.ordain"), "--strict"]).code(1).says(&warning);
    ordain(&["inspect", &file, "--strict"]).code(1).silent().says(&warning);
    well(&["inspect", &place.at("test.txt"), "--strict"]);
    assert!(!place.path().join("new.ordain").exists());
    // features that the model has never seen
    let other = place.write("other.txt", "1 qid:1 1:1 99:2\n0 qid:1 1:2 99:1\n");
    ordain(&["predict", &place.at("model.ordain"), &other, "--strict"]).code(1).silent().says("by --strict");
}

/// With `--strict` nothing is written or printed of a file that may be cut, whatever the command.
#[test]
fn strict_refuses_before_anything_is_written() {
    let place = Place::trained();
    let (test, out) = (place.at("test.txt"), place.at("out.csv"));
    let table = place.write("a.csv", "id,name\n1,ann\n2,bob\n3,eve");
    let whole = place.write("b.csv", "id,name\n1,ann\n2,bob\n3,eve\n");
    let edges = place.write("edges.csv", "unique_id_l,unique_id_r,gamma_name\na,b,1\nc,d,0");
    let scores: String = (0..place.read("test.txt").lines().count()).map(|i| format!("\n{i}")).collect();
    let scores = place.write("scores.txt", scores.trim_start());
    for words in [
        &["link", &table, &whole, "-o", &out][..],
        &["link", &whole, &whole, "--known", &place.write("k.csv", "left,right\n1,1"), "-o", &out],
        &["convert", "--from=splink", &edges, &out],
        &["evaluate", &test, "--scores", &scores],
    ] {
        let before = place.names();
        let done = ordain(&[words, &["--strict"]].concat()).code(1).silent();
        assert!(done.err.contains("no line end") && done.err.contains("--strict"), "{words:?}: {}", done.err);
        assert_eq!(place.names(), before, "{words:?}");
    }
}

#[test]
fn hostile_names_reach_no_terminal_and_json_keeps_them() {
    let place = Place::trained();
    let text = "1 qid:q\u{9b}31m 1:1 2:1 #docid = d\u{202e}evil\n0 qid:q\u{9b}31m 1:2 2:1 #docid = plain\n";
    let file = place.write("hostile.txt", text);
    let model = place.at("model.ordain");
    let done = ordain(&["predict", &model, &file, "--top=5"]).code(0);
    let strange = |c: char| c != '\n' && c != '\t' && (c.is_control() || c == '\u{202e}');
    assert!(!done.out.contains(strange) && !done.err.contains(strange), "{:?}", done.out);
    assert!(done.out.contains("q\\u{9b}31m\t") && done.out.contains("\\u{202e}evil"), "{}", done.out);
    let json = ordain(&["predict", &model, &file, "--top=5", "--json"]).code(0);
    assert_eq!(json.json_lines()[0]["query"], "q\u{9b}31m");
}
