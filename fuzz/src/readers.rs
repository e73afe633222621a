//! Damaged data files.

use super::memory;
use super::mutate::{self, pick};
use super::pipeline;
use super::plain::{self, Rows};
use super::suite::{Check, Suite, clear, clear_message, cut, damage, ensure};
use ordain::data::{self, Missing, RankSet, trec};
use ordain::metric::{self, Convention};
use ordain::random::Random;
use ordain::{Error, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const MISSING: [Missing; 3] = [Missing::Error, Missing::Zero, Missing::Mean];

/// The most memory that a reader may take: two blocks of 8 MB, what is carried from one to the next and the pieces of
/// one are there whatever the file (40 MB), and each row of a few bytes becomes a grade, an id, a name and the places
/// of these in tables that grow by doubling (64 times the text).
pub(crate) fn allowed(text: usize) -> usize {
    (40 << 20) + 64 * text
}

/// Reads, and refuses memory out of proportion.
pub(crate) fn read(path: &Path, missing: Missing, text: usize) -> Check<Result<RankSet>> {
    let (read, peak) = memory::peak(|| data::read_parts(&[vec![path.to_path_buf()]], missing).map(|(set, _)| set));
    ensure!(peak <= allowed(text), "too much memory", "{peak} bytes for {text}");
    Ok(read)
}

/// Files of one name, each read within its memory: what is taken is judged, and those that are said to be whole are taken.
pub(crate) fn files<T>(
    suite: &mut Suite,
    inputs: usize,
    name: &str,
    mut next: impl FnMut(usize) -> (Vec<u8>, String),
    read: impl Fn(&Path) -> Result<T>,
    judge: impl Fn(&T, &[u8]) -> Check,
) {
    let path = suite.path(name);
    for turn in 0..inputs {
        let (bytes, told) = next(turn);
        fs::write(&path, &bytes).expect("a file");
        let taken = suite.run(&format!("{name} {turn} ({told})"), &bytes, || {
            let (outcome, peak) = memory::peak(|| read(&path));
            ensure!(peak <= allowed(bytes.len()), "too much memory", "{peak} bytes for {}", bytes.len());
            match outcome {
                Ok(read) => judge(&read, &bytes).map(|()| true),
                Err(error) => clear(&error, &[(&path, &bytes)]).map(|()| false),
            }
        });
        let whole = told != "whole" || taken == Some(true);
        assert!(whole, "the whole {name} is not read, or not right: {:?} {:?}", read(&path).err(), suite.first());
    }
}

/// The outcome is the one that the plain reader has.
pub(crate) fn judged(outcome: Result<RankSet>, truth: &Rows, files: &[(&Path, &[u8])]) -> Check<Option<RankSet>> {
    match (outcome, truth) {
        (Ok(set), Ok(rows)) => plain::same(&set, rows).map(|()| Some(set)),
        (Ok(set), Err(line)) => Err(("what is wrong was read".into(), format!("line {line}, {} rows", set.rows()))),
        (Err(error), Ok(rows)) => {
            let text = files[files.len() - 1].1;
            ensure!(plain::doubtful(text, rows), "what is right was refused", "{}", cut(&error.to_string(), 300));
            clear(&error, files).map(|()| None)
        }
        (Err(error), Err(truth)) => {
            clear(&error, files)?;
            let line = if let Error::Parse { line, .. } = error.cause() { *line } else { *truth };
            let text = files[files.len() - 1].1;
            let right = *truth == 0 || line == *truth || line < *truth && plain::strange(text);
            ensure!(right, "error on the wrong line", "{error}: it is line {truth}");
            Ok(None)
        }
    }
}

/// LETOR text of some queries; `row` writes what follows the query id.
fn letor(seed: u64, qid: bool, mut row: impl FnMut(&mut Random, usize) -> String) -> String {
    let (mut random, mut out) = (Random::new(seed), String::new());
    for q in 0..4 {
        for i in 0..2 + (q + 1) % 3 {
            let query = if qid { format!(" qid:{}", q + 1) } else { String::new() };
            let grade = random.below(3);
            let rest = row(&mut random, 10 * q + i);
            writeln!(out, "{grade}{query} {rest}").expect("text");
        }
    }
    out
}

fn dense(random: &mut Random, _: usize) -> String {
    (1..=4).map(|j| format!("{j}:{:.6}", random.uniform() * 3.0)).collect::<Vec<_>>().join(" ")
}

fn commented(random: &mut Random, i: usize) -> String {
    format!("{} #docid = D{i} inc = 1 prob = {:.3}", dense(random, i), random.uniform())
}

fn sparse(random: &mut Random, _: usize) -> String {
    let mut ids: Vec<usize> = (0..3).map(|_| 1 + random.below(40).pow(2)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.iter().map(|j| format!("{j}:{}", random.normal() as f32)).collect::<Vec<_>>().join(" ")
}

fn table(seed: u64, head: &str, between: &str) -> String {
    let (mut random, mut out) = (Random::new(seed), format!("{}\n", head.replace(',', between)));
    for i in 0..14 {
        let fields = head.split(',').map(|name| match name {
            "label" => random.below(4).to_string(),
            "qid" => format!("q{}", i / 4),
            "docid" => format!("D{i}"),
            "weight" => (1 + random.below(3)).to_string(),
            _ => format!("{:.4}", random.normal()),
        });
        out += &(fields.collect::<Vec<_>>().join(between) + "\n");
    }
    out
}

/// The files that are damaged, by the name of the file.
fn seeds() -> Vec<(&'static str, String, Option<&'static str>)> {
    let named = format!("# made up\n#1: bm25 title\n#2: page rank\n{}", letor(3, true, commented));
    vec![
        ("dense.txt", letor(1, true, dense), None),
        ("sparse.txt", letor(2, true, sparse), None),
        ("named.txt", named, None),
        ("loose.txt", letor(4, false, dense), Some(".query")),
        ("group.txt", letor(5, false, sparse), Some(".group")),
        ("table.csv", table(6, "label,qid,docid,bm25,rank,length", ","), None),
        ("table.tsv", table(7, "docid,length,label,qid,rank", "\t"), None),
        ("weighted.csv", table(8, "label,qid,weight,a,b,c", ","), None),
        ("unlabelled.csv", table(9, "qid,a,b", ","), None),
    ]
}

/// What a file means by its name.
fn truth(name: &str, text: &[u8], sizes: Option<&[u8]>, keep: bool) -> Rows {
    match name.rsplit('.').next() {
        Some("csv") => plain::table(text, b',', keep),
        Some("tsv") => plain::table(text, b'\t', keep),
        _ => plain::letor(text, sizes, keep),
    }
}

/// One file: read, judged, and then put through everything.
pub(crate) fn case(
    suite: &mut Suite,
    name: &str,
    told: &str,
    text: &[u8],
    sizes: Option<(&str, &[u8])>,
    turn: usize,
) -> bool {
    let missing = MISSING[turn % 3];
    let path = suite.path(name);
    fs::write(&path, text).expect("a file");
    let beside = suite.path(&format!("{name}{}", sizes.map_or(".query", |(ending, _)| ending)));
    if let Some((_, sizes)) = sizes {
        fs::write(&beside, sizes).expect("a file");
    }
    let folder = suite.folder.path().to_path_buf();
    let truth = truth(name, text, sizes.map(|(_, text)| text), missing != Missing::Error);
    let outcome = suite.run(&format!("{name} {turn} ({told})"), text, || {
        let read = read(&path, missing, text.len())?;
        let files = [(&*beside, sizes.map_or(&b""[..], |(_, text)| text)), (&*path, text)];
        let set = judged(read, &truth, &files)?;
        set.map(|set| pipeline::all(&set, missing, turn, &folder)).transpose()
    });
    outcome.flatten().is_some()
}

/// Text and tables of rankings.
pub(crate) fn damaged_text(suite: &mut Suite, inputs: usize) {
    let (seeds, mut random) = (seeds(), damage(100));
    let sizes = |ending: &Option<&'static str>| ending.map(|ending| (ending, &b"3\n4\n2\n3\n"[..]));
    for (name, text, ending) in &seeds {
        assert!(case(suite, name, "whole", text.as_bytes(), sizes(ending), 0), "{name} is not read");
    }
    for turn in 0..inputs {
        let (name, text, ending) = &seeds[turn % seeds.len()];
        let (text, told) = mutate::text(text.as_bytes(), &mut random);
        case(suite, name, &told, &text, sizes(ending), turn / seeds.len());
    }
}

/// Sizes of queries beside text without ids.
pub(crate) fn damaged_sizes(suite: &mut Suite, inputs: usize) {
    let mut random = damage(200);
    let text = letor(4, false, dense);
    for turn in 0..inputs {
        let (sizes, told) = mutate::text(b"3\n4\n2\n3\n", &mut random);
        let told = format!("{told}: {}", cut(&sizes.escape_ascii().to_string(), 60));
        case(suite, "loose.txt", &told, text.as_bytes(), Some((".query", &sizes)), turn);
    }
}

#[cfg(test)]
#[test]
fn sizes_of_every_kind() {
    let mut suite = Suite::new();
    let text = letor(4, false, dense);
    let whole: [&[u8]; 14] = [
        b"",
        b"\n\n",
        b"12",
        b"12\n\n\n",
        b"0\n12\n0\n",
        b"13\n",
        b"11\n",
        b"3\n4\n2\n3\n1\n",
        b"-2\n14\n",
        b"18446744073709551615\n13\n",
        b"3.0\n9\n",
        b"3 4 2 3\n",
        b"\xff\n",
        b"3\r4\r2\r3\r",
    ];
    for (turn, sizes) in whole.iter().enumerate() {
        let told = sizes.escape_ascii().to_string();
        case(&mut suite, "loose.txt", &told, text.as_bytes(), Some((".query", sizes)), turn);
    }
    suite.finish();
}

/// Packs as `write` does.
fn packed(path: &Path, text: &[u8]) -> Vec<u8> {
    data::write_whole(path, |out| out.write_all(text)).expect("a file");
    fs::read(path).expect("a file")
}

/// Damage to packed bytes: refused, or the rows as they were.
pub(crate) fn damaged_packing(suite: &mut Suite, inputs: usize) {
    let mut random = damage(300);
    let mut all = vec![];
    for (name, text, _) in seeds().into_iter().filter(|(_, _, sizes)| sizes.is_none()) {
        for ending in [".gz", ".zst"] {
            let path = suite.path(&format!("{name}{ending}"));
            let whole = packed(&path, text.as_bytes());
            let truth = truth(name, text.as_bytes(), None, false).expect("a right file");
            all.push((path, whole, truth, text.len(), ending));
        }
    }
    for turn in 0..inputs {
        let (path, whole, truth, size, ending) = &all[turn % all.len()];
        let (bytes, told) = mutate::binary(whole, &mut random);
        fs::write(path, &bytes).expect("a file");
        suite.run(&format!("{} {turn} ({told})", path.display()), &bytes, || {
            match read(path, Missing::Error, size + bytes.len())? {
                Ok(set) => plain::same(&set, truth)
                    .map_err(|(kind, detail)| (format!("damaged {ending} read with {kind}"), detail)),
                Err(error) => clear_message(&error, path),
            }
        });
    }
}

/// Damaged text inside of a whole packing.
pub(crate) fn packed_damage(suite: &mut Suite, inputs: usize) {
    let mut random = damage(400);
    let seeds: Vec<_> = seeds().into_iter().filter(|(_, _, sizes)| sizes.is_none()).collect();
    for turn in 0..inputs {
        let (name, text, _) = &seeds[turn % seeds.len()];
        let path = suite.path(&format!("{name}{}", [".gz", ".zst"][turn % seeds.len() % 2]));
        let (text, told) = mutate::text(text.as_bytes(), &mut random);
        packed(&path, &text);
        let keep = turn / seeds.len() % 2;
        let truth = truth(name, &text, None, keep == 1);
        suite.run(&format!("{name} packed {turn} ({told})"), &text, || {
            let read = read(&path, MISSING[keep], text.len())?;
            judged(read, &truth, &[(&path, &text)]).map(|_| ())
        });
    }
}

/// Runs and judgements, as trec_eval reads them.
pub(crate) fn damaged_runs(suite: &mut Suite, inputs: usize) {
    let mut random = damage(500);
    let (mut run, mut qrels) = (String::new(), String::new());
    for i in 0..12 {
        writeln!(qrels, "{} 0 d{i} {}", 300 + i / 4, random.below(3)).expect("text");
        if i % 5 != 1 {
            writeln!(run, "{} Q0 d{} {i} {:.3} us", 300 + i / 3, i, random.normal()).expect("text");
        }
    }
    let paths: [PathBuf; 2] = [suite.path("a.run"), suite.path("a.qrels")];
    let whole: [&[u8]; 8] = [b"", b"\n \n\n", b"\xef\xbb\xbf", b"# nothing\n", b"\0", b"\xff\n", b"1 0 a 1\n", b"\r\r"];
    for turn in 0..inputs {
        let which = turn % 2;
        let mut texts = [run.clone().into_bytes(), qrels.clone().into_bytes()];
        let (damaged, told) = match whole.get(turn / 2) {
            Some(text) => (text.to_vec(), "another file".to_owned()),
            None => mutate::text(&texts[which], &mut random),
        };
        texts[which] = damaged;
        paths.iter().zip(&texts).for_each(|(path, text)| fs::write(path, text).expect("a file"));
        let by = pick(&mut random, Convention::ALL);
        suite.run(&format!("{} {turn} ({told})", ["run", "qrels"][which]), &texts[which], || {
            let (read, peak) = memory::peak(|| trec::read_run(&paths[0], &paths[1]));
            ensure!(peak <= allowed(texts[0].len() + texts[1].len()), "too much memory", "{peak} bytes");
            match (read, plain::run(&texts[0], &texts[1])) {
                (Ok(read), Some(truth)) => {
                    ensure!(read == truth, "another run", "{read:?} for {truth:?}");
                    let grades = |q: &trec::Judged| q.grades.iter().chain(&q.unretrieved).copied().collect::<Vec<_>>();
                    let grades: Vec<f64> = read.queries.iter().flat_map(grades).collect();
                    for metric in pipeline::metrics() {
                        match metric::evaluate_run(&read, &[metric], by) {
                            Ok(result) => pipeline::in_range(&result, by)?,
                            Err(error) => pipeline::refused(&error, &metric, &grades)?,
                        }
                    }
                    Ok(())
                }
                (Ok(read), None) => Err(("what is wrong was read".into(), format!("{read:?}"))),
                (Err(error), Some(_)) => Err(("what is right was refused".into(), error.to_string())),
                (Err(error), None) => clear(&error, &[(&paths[0], &texts[0]), (&paths[1], &texts[1])]),
            }
        });
    }
}
