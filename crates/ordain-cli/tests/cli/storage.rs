//! Files under bad luck: kills at any moment, full disks, folders that cannot be written to, two writers at once.
#![cfg(unix)]

use crate::cases::cases;
use crate::data;
use crate::faults::shell;
use crate::support::{Place, command, ordain, piped, well};
use std::path::Path;
use std::process::{Command, Stdio};

/// Rounds of kills: 200 of each with `ORDAIN_CASES=2000`.
fn rounds() -> u64 {
    cases(10).into()
}

/// Data whose table takes a while to write, and a small model of other data at the same name.
fn place() -> Place {
    let place = Place::empty();
    place.write("train.txt", &data::letor(30, 1));
    place.write("large.txt", &data::letor(1500, 2));
    place
}

/// Starts the program, turns round so many times, and kills it; whether it had ended before.
fn killed(words: &[&str], turns: u64) -> bool {
    let mut child = command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut over = false;
    for _ in 0..turns {
        over = over || child.try_wait().unwrap().is_some();
    }
    let _ = child.kill();
    child.wait().unwrap();
    over
}

/// How many looks a whole run takes.
fn looks(words: &[&str]) -> u64 {
    let mut child = command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut looks = 0;
    while child.try_wait().unwrap().is_none() {
        looks += 1;
    }
    looks
}

fn no_leftovers(place: &Place) {
    assert!(place.names().iter().all(|name| !name.ends_with(".part")), "{:?}", place.names());
}

/// Killed at moments that are spread over a whole run, `fit` and `convert` leave the old file or the new one, and what they leave
/// beside it goes with the next write. (Of `ask` see `questions.rs`.)
#[test]
fn kills_leave_the_old_file_or_the_new_one() {
    let place = place();
    let (train, large) = (place.at("train.txt"), place.at("large.txt"));
    let (model, table) = (place.at("killed.ordain"), place.at("killed.csv"));
    let fit = ["fit", "ranksvm", &train, "-o", &model, "--set=lambda=0.1", "--set=scale=query", "-q"];
    let convert = ["convert", &large, &table, "-q"];
    for words in [&fit[..], &convert] {
        let target = words.iter().find(|word| word.contains("killed")).unwrap();
        well(words);
        let new = std::fs::read(target).unwrap();
        // a model replaces a model alone
        let old = match words[0] {
            "fit" => {
                well(&["fit", "ranksvm", &train, "-o", &place.at("old.ordain"), "--set=lambda=1", "-q"]);
                place.bytes("old.ordain")
            }
            _ => b"what was there before".to_vec(),
        };
        let whole = looks(words);
        for round in 0..rounds() {
            std::fs::write(target, &old).unwrap();
            // a little beyond the end too, and not the same moments in each run of the test
            let over = killed(words, whole * (round + 1) / rounds());
            let found = std::fs::read(target).unwrap();
            assert!(found == old || found == new, "round {round}: neither the old nor the new file");
            assert!(!over || found == new, "round {round}: ended without its file");
        }
        well(words);
        assert!(std::fs::read(target).unwrap() == new);
        no_leftovers(&place);
    }
}

/// Two that write one name at once: one of the two whole files is there in the end, and nothing beside it.
#[test]
fn two_writers_leave_one_whole_file() {
    let place = place();
    let (train, large) = (place.at("train.txt"), place.at("large.txt"));
    for round in 0..rounds().min(20) {
        let target = place.at(&format!("both{round}.csv"));
        let words = [["convert", &train, &target, "-q"], ["convert", &large, &target, "-q"]];
        let both = words.map(|words| command(&words).stdout(Stdio::null()).spawn().unwrap());
        for mut child in both {
            assert!(child.wait().unwrap().success());
        }
        let found = std::fs::read(&target).unwrap();
        let alone = words.map(|[_, data, ..]| {
            let own = format!("{target}.csv");
            well(&["convert", data, &own, "-q"]);
            std::fs::read(&own).unwrap()
        });
        assert!(alone.contains(&found), "round {round}: {} bytes of neither", found.len());
        no_leftovers(&place);
    }
}

/// Everything that writes a file, onto a disk that is full after so many bytes.
fn on_a_full_disk(place: &Place, folder: &Path, run: &dyn Fn(&[&str]) -> crate::support::Done) {
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (train, large) = (place.at("train.txt"), place.at("large.txt"));
    let table = at("kept.csv");
    std::fs::write(&table, "old\n").unwrap();
    let done = run(&["convert", &large, &table, "-q"]).code(1).silent();
    assert!(done.err.contains("kept.csv") && done.err.contains("cannot"), "{}", done.err);
    assert_eq!(std::fs::read_to_string(&table).unwrap(), "old\n");
    let wide: String = (0..900).map(|j| format!(" {}:{}", j + 1, j % 7)).collect();
    let rows: String = (0..12).map(|i| format!("{} qid:{}{wide} 901:{i}\n", i % 3, i / 4)).collect();
    let wide = place.write("wide.txt", &rows);
    let model = at("kept.ordain");
    well(&["fit", "ranksvm", &train, "-o", &model, "--set=lambda=1", "--set=scale=query", "-q"]);
    let old = std::fs::read(&model).unwrap();
    let fit = ["fit", "ranksvm", &wide, "-o", &model, "--set=lambda=0.1", "--set=scale=query", "-q"];
    assert!(run(&fit).code(1).err.contains("kept.ordain"));
    assert!(std::fs::read(&model).unwrap() == old);
    let names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().all(|name| !name.ends_with(".part")), "{names:?}");
    // standard output on the same disk
    let out = at("out.txt");
    let done = shell(&format!("ulimit -f 8; trap '' XFSZ; exec \"$0\" \"$@\" > '{out}'"), &["convert", &large, "-"]);
    assert_eq!(done.code, Some(1), "{}", done.err);
    assert!(done.err.contains("error: "), "{}", done.err);
    std::fs::remove_file(&out).unwrap();
    well(&["inspect", &train]);
}

/// A limit on the size of files stands for a full disk wherever there is no disk to fill.
#[test]
fn a_full_disk_keeps_the_old_file() {
    let place = place();
    let folder = place.path().join("small");
    std::fs::create_dir(&folder).unwrap();
    on_a_full_disk(&place, &folder, &|words| shell("ulimit -f 8; trap '' XFSZ; exec \"$0\" \"$@\"", words));
    // who does not ignore the signal ends by it, and leaves the old file too
    let table = folder.join("kept.csv");
    let done = shell(
        "ulimit -c 0; ulimit -f 8; exec \"$0\" \"$@\"",
        &["convert", &place.at("large.txt"), table.to_str().unwrap(), "-q"],
    );
    assert_ne!(done.code, Some(0));
    assert_eq!(std::fs::read_to_string(&table).unwrap(), "old\n");
    well(&["convert", &place.at("train.txt"), table.to_str().unwrap(), "-q"]);
    // a disk of its own, where these tests may mount one
    let disk = place.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"]).arg(&disk).output();
    if mount.is_ok_and(|done| done.status.success()) {
        let tried = std::panic::catch_unwind(|| on_a_full_disk(&place, &disk, &|words| ordain(words)));
        assert!(Command::new("umount").arg(&disk).status().unwrap().success());
        tried.unwrap();
    }
}

/// An answer that does not fit is not acknowledged, and those before it stay.
#[test]
fn answers_on_a_full_disk_are_refused_and_those_before_are_kept() {
    let place = Place::empty();
    let row = |i: usize| format!("i{i},{},{},{}\n", i % 7, i % 5, ["sea", "land"][i % 7 / 4]);
    let table = "id,x,y,labels\n".to_owned() + &(0..40).map(row).collect::<String>();
    let data = place.write("items.csv", &table);
    let (model, output) = (place.at("model"), place.at("answers.jsonl"));
    well(&["fit", "independent[lambda=0.1]", &data, "-o", &model, "-q"]);
    let script = "ulimit -f 2; trap '' XFSZ; yes y | \"$0\" \"$@\"";
    let done = shell(script, &["ask", &model, &data, "-o", &output, "--questions=99"]).code(1);
    assert!(done.err.contains("answers.jsonl"), "{}", done.err);
    let kept = place.read("answers.jsonl");
    let asked = done.err.matches("quit)").count();
    let whole = kept.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()).count() - 1;
    // every question but the first says that the answer before it is kept
    assert!(whole + 1 >= asked && whole > 3, "{whole} answers, {asked} questions");
    piped(&["ask", &model, &data, "-o", &output, "--questions=1"], b"quit\n").code(0);
}

/// A folder without the right to write: said with its name, and nothing is left. For the administrator every folder is writable; then
/// the program is run by another user, where the system has a way to do that.
#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::trained();
    let done = ordain(&["convert", &place.at("test.txt"), "/proc/none.csv"]).code(1);
    assert!(done.err.contains("/proc/none.csv"), "{}", done.err);
    if Path::new("/dev/full").exists() {
        assert_ne!(ordain(&["convert", &place.at("test.txt"), "/dev/full"]).code, Some(0));
    }
    let folder = place.path().join("closed");
    std::fs::create_dir(&folder).unwrap();
    let table = folder.join("table.csv");
    std::fs::write(&table, "old\n").unwrap();
    for (path, mode) in [(&table, 0o644), (&folder, 0o555), (&place.path().join(""), 0o755)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let words = ["convert", &place.at("test.txt"), table.to_str().unwrap()];
    let other = "exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$0\" \"$@\"";
    let script = match std::fs::write(folder.join("probe"), "") {
        Err(_) => "exec \"$0\" \"$@\"", // not the administrator
        Ok(()) => {
            std::fs::remove_file(folder.join("probe")).unwrap();
            // the program itself has to be within reach of the other user
            let reach = Command::new("setpriv")
                .args(["--reuid=65534", "--regid=65534", "--clear-groups", env!("CARGO_BIN_EXE_ordain"), "--version"])
                .output();
            match reach {
                Ok(done) if done.status.success() => other,
                _ => return,
            }
        }
    };
    let done = shell(script, &words).code(1);
    assert!(done.err.contains("table.csv") && done.err.contains("denied"), "{}", done.err);
    assert_eq!(std::fs::read_to_string(&table).unwrap(), "old\n");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
}
