//! Damaged words of the command line, given to the program itself.

use super::mutate::{self, pick};
use super::suite::{Suite, damage, ensure, refused};
use ordain::data::synthetic::Synthetic;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The program, which is built beside this one.
fn program() -> PathBuf {
    let own = std::env::current_exe().expect("a program");
    let folders = own.ancestors().skip(1).take(2);
    let found =
        folders.map(|folder| folder.join(format!("ordain{}", std::env::consts::EXE_SUFFIX))).find(|p| p.is_file());
    found.expect("the program ordain beside this one: cargo build --workspace")
}

/// Options of `inspect` and `evaluate` whose damage is easy to get wrong. It ends by itself whatever is asked.
const OPTIONS: [&str; 12] = [
    "--json",
    "--missing=zero",
    "--threads=1",
    "--max-line=1000000",
    "--query=qid",
    "--label=label",
    "--ignore=x",
    "--features=1,2",
    "--strict",
    "--quiet",
    "--id=docid",
    "--verbose",
];

/// The program ends with 0, 1 or 2; with 1 and 2 it says why and prints no result. What it takes it takes as if the words stood in
/// another order.
pub(crate) fn damaged_options(suite: &mut Suite, inputs: usize) {
    let (program, data) = (program(), suite.path("data.txt"));
    let set = Synthetic { queries: 3, documents: (2, 4), features: 3, ..Synthetic::default() }.make();
    ordain::data::write(&set, &data).expect("a file");
    let mut random = damage(1200);
    for turn in 0..inputs {
        let mut words: Vec<Vec<u8>> =
            (0..1 + random.below(3)).map(|_| pick(&mut random, &OPTIONS).as_bytes().to_vec()).collect();
        let at = random.below(words.len());
        let (word, told) = mutate::text(&words[at], &mut random);
        words[at] = word;
        // the system takes no zero bytes; other bytes need not be text
        let text =
            |word: &Vec<u8>| String::from_utf8_lossy(word).replace('\0', "0").chars().take(5000).collect::<String>();
        let words: Vec<String> = words.iter().map(text).collect();
        let run = |words: &[String]| {
            let mut command = Command::new(&program);
            command.arg("inspect").arg(&data).args(words).current_dir(data.parent().expect("a folder"));
            command.stdin(Stdio::null()).env("NO_COLOR", "1").output().expect("a process")
        };
        suite.run(&format!("options {turn} ({told})"), words.join(" ").as_bytes(), || {
            let done = run(&words);
            let err = String::from_utf8_lossy(&done.stderr).into_owned();
            ensure!(!err.contains("panicked"), "a panic", "{err}");
            match done.status.code() {
                Some(0) => {
                    let turned: Vec<String> = words.iter().rev().cloned().collect();
                    let again = run(&turned);
                    let same = again.status == done.status && timeless(&again.stdout) == timeless(&done.stdout);
                    ensure!(same, "another answer in another order", "{words:?}: {:?}", again.status);
                    Ok(())
                }
                Some(1 | 2) => {
                    refused();
                    ensure!(err.contains("error: "), "no word of why", "{err:?}");
                    ensure!(done.stdout.is_empty(), "a result beside an error", "{}", done.stdout.len());
                    Ok(())
                }
                _ => Err(("another end".into(), format!("{:?} {err}", done.status))),
            }
        });
    }
}

/// An answer without the time that reading took.
fn timeless(out: &[u8]) -> String {
    let text = String::from_utf8_lossy(out).into_owned();
    let text = text.split("\"seconds\"").next().unwrap_or("");
    let lines = text.lines().map(|line| line.split(", read in ").next().unwrap_or(""));
    lines.filter(|line| !line.contains("seconds")).collect::<Vec<_>>().join("\n")
}
