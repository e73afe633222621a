//! Output files: whole or not at all, and the same bytes from the same input.

use crate::data;
use crate::golden::calm;
use crate::support::{Place, ordain, well};

#[test]
fn an_output_in_a_missing_folder_is_refused_before_the_work() {
    let place = Place::trained();
    let (train, test, model) = (place.at("train.txt"), place.at("test.txt"), place.at("model.ordain"));
    let inside = |name: &str| place.at(&format!("gone/{name}"));
    let before = place.names();
    // the data do not exist either, so that whoever reads first shows it
    ordain(&["fit", "ranksvm", "nowhere.txt", "-o", &inside("m.ordain")]).code(1).silent().says("mkdir -p");
    ordain(&["convert", "nowhere.txt", &inside("x.csv")]).code(1).silent().says("mkdir -p");
    ordain(&["evaluate", &model, "nowhere.txt", "--report", &inside("r.html")]).code(1).silent().says("mkdir -p");
    let words = ["compare", "ranksvm", "--train", &train, "--test", &test, "--report", &inside("r.html")];
    ordain(&words).code(1).silent().says("mkdir -p");
    assert_eq!(place.names(), before);
}

#[test]
fn an_output_that_is_a_folder_is_refused_before_the_work() {
    let place = Place::trained();
    std::fs::create_dir(place.path().join("folder")).unwrap();
    let folder = place.at("folder");
    ordain(&["fit", "ranksvm", "nowhere.txt", "-o", &folder]).code(1).silent().says("found a folder");
    ordain(&["convert", "nowhere.txt", &folder]).code(1).silent().says("found a folder");
    let words = ["evaluate", &place.at("model.ordain"), "nowhere.txt", "--report", &folder];
    ordain(&words).code(1).silent().says("found a folder");
}

#[test]
fn no_temporary_files_stay() {
    let place = Place::trained();
    let train = place.at("train.txt");
    well(&["convert", &train, &place.at("out.csv.gz")]);
    well(&["fit", "ranksvm", &train, "-o", &place.at("model.ordain")]);
    well(&["evaluate", &place.at("model.ordain"), &place.at("test.txt"), "--report", &place.at("r.html")]);
    let names = ["model.ordain", "out.csv.gz", "r.html", "test.txt", "train.txt"];
    assert_eq!(place.names(), names);
    place.write("bad.txt", "1 qid:1 1:x\n");
    ordain(&["fit", "ranksvm", &place.at("bad.txt"), "-o", &place.at("model.ordain")]).code(1);
    ordain(&["convert", &place.at("bad.txt"), &place.at("out.csv.gz")]).code(1);
    ordain(&["convert", &train, &place.at("out.parquet")]).code(1).says(".parquet");
    assert_eq!(place.names(), ["bad.txt", "model.ordain", "out.csv.gz", "r.html", "test.txt", "train.txt"]);
}

#[test]
fn a_failed_fit_leaves_the_old_model() {
    let place = Place::trained();
    let old = place.bytes("model.ordain");
    let bad = place.write("bad.txt", "1 qid:1 1:0.5\n0 qid:1 1:x\n");
    ordain(&["fit", "ranksvm", &bad, "-o", &place.at("model.ordain")]).code(1);
    assert_eq!(place.bytes("model.ordain"), old);
}

#[test]
fn the_same_bytes_on_any_number_of_threads_and_again() {
    let place = Place::empty();
    let train = place.write("train.txt", &data::letor(300, 4));
    let sparse = place.write("sparse.txt", &data::sparse(300, 4));
    for file in [&train, &sparse] {
        let fit = |threads: &str, name: &str| {
            well(&["fit", "ranksvm", file, "-o", &place.at(name), "--threads", threads, "--seed=7"]);
            place.bytes(name)
        };
        let one = fit("1", "one.ordain");
        for (threads, name) in [("1", "again.ordain"), ("2", "two.ordain"), ("3", "three.ordain")] {
            assert!(fit(threads, name) == one, "other bytes with --threads {threads}");
        }
    }
}

#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    let place = Place::trained();
    let (model, train, test) = (place.at("model.ordain"), place.at("train.txt"), place.at("test.txt"));
    let evaluate = ["evaluate", &model, &test, "--json", "--per-query"];
    let with = |words: &[&str], threads: &str| well(&[words, &["--threads", threads]].concat());
    assert_eq!(with(&evaluate, "1").out, with(&evaluate, "2").out);
    let predict = ["predict", &model, &test];
    assert_eq!(with(&predict, "1").out, with(&predict, "2").out);
    let compare = ["compare", "ranksvm", "ranksvm[weight=pair]", "--cv", "3", &train, "--json"];
    // all but the seconds to the last bit
    let strip = |threads: &str| {
        let mut value = with(&compare, threads).json();
        for method in value["methods"].as_array_mut().unwrap() {
            method["seconds"] = calm(&method["seconds"].take());
            assert!(method["seconds"].is_object());
            method["seconds"] = "seconds".into();
        }
        value
    };
    assert_eq!(strip("1"), strip("2"));
}

#[test]
fn a_model_does_not_say_where_it_was_made() {
    let (here, there) = (Place::trained(), Place::trained());
    assert_ne!(here.path(), there.path());
    assert_eq!(here.bytes("model.ordain"), there.bytes("model.ordain"));
    // packed or not, the data are the same
    well(&["convert", &here.at("train.txt"), &here.at("train.txt.zst")]);
    let words = ["fit", "ranksvm", &here.at("train.txt.zst"), "-o", &here.at("z.ordain"), "--set=lambda=0.1"];
    well(&[&words[..], &["--set=scale=query"]].concat());
    assert_eq!(here.bytes("z.ordain"), there.bytes("model.ordain"));
}

#[test]
fn a_model_can_go_to_standard_output() {
    let place = Place::trained();
    let words = ["fit", "ranksvm", &place.at("train.txt"), "-o", "-", "--set=lambda=0.1", "--set=scale=query"];
    let output = crate::support::command(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, place.bytes("model.ordain"));
    // model and report cannot share standard output
    let mixed = crate::support::command(&[&words[..], &["--json"]].concat()).output().unwrap();
    let bytes = mixed.stdout;
    assert!(mixed.status.code() == Some(2) || bytes == place.bytes("model.ordain"), "a model with JSON behind it");
}

#[cfg(unix)]
#[test]
fn a_new_model_keeps_the_mode_of_the_old_one() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::trained();
    let path = place.path().join("model.ordain");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    well(&["fit", "ranksvm", &place.at("train.txt"), "-o", &place.at("model.ordain")]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "the mode of the old file");
}

#[test]
fn a_fit_does_not_overwrite_its_own_data() {
    let place = Place::trained();
    let (train, old) = (place.at("train.txt"), place.read("train.txt"));
    let done = ordain(&["fit", "ranksvm", &train, "-o", &train]);
    assert!(place.bytes("train.txt") == old.as_bytes(), "the training data are gone:\n{}", done.err);
    assert!(matches!(done.code, Some(1 | 2)), "{:?}", done.code);
}

#[cfg(unix)]
#[test]
fn a_pipe_or_device_is_not_replaced_by_a_file() {
    use std::os::unix::fs::FileTypeExt;
    let place = Place::trained();
    let pipe = place.path().join("pipe.txt");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // held open at both ends, so that neither side waits
    let held = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    ordain(&["convert", &place.at("test.txt"), &place.at("pipe.txt")]);
    assert!(
        std::fs::metadata(&pipe).unwrap().file_type().is_fifo(),
        "the pipe is a plain file now, as /dev/null would be"
    );
    drop(held);
}
