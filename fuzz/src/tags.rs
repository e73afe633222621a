//! Damaged files of items with labels. Plain readers say what those that are taken hold.

use super::memory;
use super::mutate;
use super::plain::{arff, labels};
use super::readers::allowed;
use super::suite::{Check, Suite, clear, damage, ensure};
use ordain::data::{LabelReading, LabelSet, Missing, is_labels, read_labels, write_labels};
use ordain::random::Random;
use std::fs;
use std::path::Path;

const XML: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<labels xmlns=\"x\">\n<label name=\"sea\"></label>\n\
                   <!-- two -->\n<label name=\"blue &amp; sky\"><label name='sun'/></label>\n</labels>\n";

fn rows(seed: u64, mut row: impl FnMut(&mut Random) -> String) -> String {
    let mut random = Random::new(seed);
    (0..12).map(|_| row(&mut random) + "\n").collect()
}

fn dense(random: &mut Random) -> String {
    let colour = ["red", "'dark green'", "blue"][random.below(3)];
    let bits: Vec<String> = (0..4).map(|_| random.below(2).to_string()).collect();
    format!("{:.4},{},{colour},{}", random.normal(), random.below(9), bits.join(","))
}

fn sparse(random: &mut Random) -> String {
    let mut fields = vec![];
    for (j, value) in ["1.5", "3", "blue", "1", "1", "0", "?"].iter().enumerate() {
        if random.below(2) == 0 {
            fields.push(format!("{j} {value}"));
        }
    }
    format!("{{{}}}", fields.join(","))
}

fn text(random: &mut Random) -> String {
    let labels: Vec<String> = (0..random.below(4)).map(|_| random.below(3).to_string()).collect();
    let kept = random.below(3);
    let values: Vec<String> = (0..8).filter(|j| j % 3 == kept).map(|j| format!("{j}:{:.3}", random.normal())).collect();
    format!("{} {}", labels.join(","), values.join(" ") + if random.below(3) == 0 { " 9:1 # id7" } else { " 9:2" })
}

/// A file that is damaged: its name, what it holds, the file beside it and what that holds, and the labels.
type Seed = (&'static str, String, Option<(&'static str, &'static str)>, Option<&'static str>);

fn seeds() -> Vec<Seed> {
    let head = "% made up\n@relation x\n@attribute size numeric\n@ATTRIBUTE \"a b\" integer\n\
                @attribute colour {red,'dark green',blue}\n@attribute flat {0,1}\n@attribute sea {0,1}\n\
                @attribute 'blue & sky' {1,0}\n@attribute sun {0,1}\n@data\n";
    let names = "sea\nblue sky\nsun\n";
    let table = |between: &str| {
        let row = |random: &mut Random| {
            let cells = [format!("{:.3}", random.normal()), ["1", "yes", "TRUE"][random.below(3)].into()];
            let more = ["0", "", "?"][random.below(3)].to_owned();
            [cells.to_vec(), vec![more, random.below(9).to_string()]].concat().join(between)
        };
        format!("{}\n{}", ["x", "sea", "sky", "y"].join(between), rows(6, row))
    };
    let listed = |random: &mut Random| {
        format!("p{},{:.2},{}", random.below(99), random.normal(), ["sea;sky", "", "sun", "sea; sun"][random.below(4)])
    };
    vec![
        ("dense.arff", format!("{head}{}", rows(1, dense)), Some(("l.xml", XML)), None),
        ("sparse.arff", format!("{head}{}", rows(2, sparse)), Some(("l.xml", XML)), None),
        ("tags.txt", rows(3, text), None, None),
        ("named.txt", format!("#1: size\n{}", rows(4, text)), Some(("labels.txt", names)), None),
        ("extreme.txt", format!("12 10 3\n{}", rows(5, text)), None, None),
        ("columns.csv", table(","), None, Some("sea,sky")),
        ("columns.tsv", table("\t"), None, Some("sea,sky")),
        ("listed.csv", format!("id,x,labels\n{}", rows(7, listed)), None, None),
    ]
}

/// What was read holds together, and what is written of it is read again.
fn sound(set: &LabelSet, name: &str, folder: &Path, missing: Missing) -> Check {
    let all = set.all();
    ensure!(!set.is_empty() && set.features.cols() == set.columns.names.len(), "an empty set", "{name}");
    ensure!(set.label_counts(&all).len() == set.labels.len(), "wrong counts", "{name}");
    for i in 0..set.len() {
        let right = set.yes(i).iter().chain(set.unknown(i)).all(|&label| (label as usize) < set.labels.len())
            && set.yes(i).windows(2).all(|pair| pair[0] < pair[1])
            && set.unknown(i).iter().all(|label| !set.yes(i).contains(label));
        ensure!(right, "wrong labels", "item {i}");
        let mut bad = false;
        set.features.each(i, |_, x| bad |= x.is_infinite() || x.is_nan() && missing == Missing::Error);
        ensure!(!bad, "a value that is no number", "item {i}");
    }
    let folder = folder.join("out");
    fs::create_dir_all(&folder).expect("a folder");
    for file in ["again.arff", "again.txt"] {
        let path = folder.join(file);
        let _ = fs::remove_file(folder.join("labels.txt"));
        if write_labels(set, &path).is_err() {
            continue; // names that the format has no place for
        }
        let read = read_labels(&[vec![path]], &LabelReading { missing, ..LabelReading::default() });
        let again = read.map_err(|error| ("what was written is refused".to_owned(), format!("{file}: {error}")))?.0;
        ensure!(again.labels == set.labels || again.labels.is_empty(), "other labels", "{file}");
        for i in 0..set.len() {
            ensure!(
                again.yes(i) == set.yes(i) && again.unknown(i) == set.unknown(i),
                "other labels",
                "{file}: item {i}"
            );
            let differs = |j: usize| {
                let Ok(there) = again.columns.find(&set.columns.names[j]) else { return true };
                let (a, b) = (set.features.value(i, j), again.features.value(i, there));
                a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan())
            };
            ensure!(!(0..set.features.cols()).any(differs), "other values", "{file}: item {i}");
        }
    }
    Ok(())
}

/// What was read is what the plain readers find.
fn judged(set: &LabelSet, name: &str, text: &[u8], beside: Option<&[u8]>, columns: Option<&str>, keep: bool) -> Check {
    let truth = match name.rsplit('.').next() {
        Some("arff") => labels::xml(beside.unwrap_or(b"")).and_then(|names| arff::arff(text, &names, keep)),
        Some("csv") => labels::table(text, b',', columns, keep),
        Some("tsv") => labels::table(text, b'\t', columns, keep),
        _ => match beside {
            None => labels::text(text, None, keep),
            Some(names) => labels::names(names).and_then(|names| labels::text(text, Some(&names), keep)),
        },
    };
    match truth {
        Some(items) => labels::same(set, &items),
        None => Err(("what is wrong was read".into(), format!("{} items of {name}", set.len()))),
    }
}

/// One file and the one beside it: read, judged, and what is read is sound.
fn case(
    suite: &mut Suite,
    (name, text): (&str, &[u8]),
    beside: Option<(&str, &[u8])>,
    labels: Option<&str>,
    told: &str,
    turn: usize,
) -> bool {
    let missing = [Missing::Error, Missing::Zero, Missing::Mean][turn % 3];
    let folder = suite.folder.path().to_path_buf();
    let path = suite.path(name);
    fs::write(&path, text).expect("a file");
    let other = folder.join(beside.map_or("none", |(name, _)| name));
    if let Some((_, text)) = beside {
        fs::write(&other, text).expect("a file");
    }
    let reading = LabelReading { missing, labels: labels.map(str::to_owned), ..LabelReading::default() };
    let size = text.len() + beside.map_or(0, |(_, text)| text.len());
    let outcome = suite.run(&format!("{name} {turn} ({told})"), text, || {
        let (read, peak) = memory::peak(|| read_labels(&[vec![path.clone()]], &reading));
        ensure!(peak <= allowed(size), "too much memory", "{peak} bytes for {size}");
        is_labels(&path);
        match read {
            Ok((set, _)) => {
                judged(&set, name, text, beside.map(|(_, text)| text), labels, missing != Missing::Error)?;
                sound(&set, name, &folder, missing).map(|()| true)
            }
            Err(error) => {
                let files = [(&*other, beside.map_or(&b""[..], |(_, text)| text)), (&*path, text)];
                clear(&error, &files).map(|()| false)
            }
        }
    });
    if beside.is_some() {
        fs::remove_file(&other).expect("the file was written above");
    }
    outcome == Some(true)
}

/// Data files.
pub(crate) fn damaged_tags(suite: &mut Suite, inputs: usize) {
    let (seeds, mut random) = (seeds(), damage(300));
    for (name, text, beside, labels) in &seeds {
        let beside = beside.map(|(name, text)| (name, text.as_bytes()));
        assert!(case(suite, (name, text.as_bytes()), beside, *labels, "whole", 1), "{name} is not read");
    }
    for turn in 0..inputs {
        let (name, text, beside, labels) = &seeds[turn % seeds.len()];
        let beside = beside.map(|(name, text)| (name, text.as_bytes()));
        let (text, told) = mutate::text(text.as_bytes(), &mut random);
        case(suite, (name, &text), beside, *labels, &told, turn / seeds.len());
    }
}

/// Lists of labels beside them: XML and names.
pub(crate) fn damaged_names(suite: &mut Suite, inputs: usize) {
    let seeds: Vec<Seed> = seeds().into_iter().filter(|seed| seed.2.is_some()).collect();
    let mut random = damage(400);
    for turn in 0..inputs {
        let (name, text, beside, labels) = &seeds[turn % seeds.len()];
        let (file, names) = beside.expect("a list");
        let (names, told) = mutate::text(names.as_bytes(), &mut random);
        case(suite, (name, text.as_bytes()), Some((file, &names)), *labels, &told, turn / seeds.len());
    }
}

#[cfg(test)]
#[test]
fn strange_labels_option() {
    let mut suite = Suite::new();
    let path = suite.path("a.csv");
    fs::write(&path, "x,sea,labels\n1,0,sky\n").expect("a file");
    for labels in ["", ",", "\"", "sea,sea", "x,sea,labels", "\n", "no", "\0", "sea\nlabels", "/"] {
        suite.run(labels, b"", || {
            let reading = LabelReading { labels: Some(labels.into()), ..LabelReading::default() };
            if let Err(error) = read_labels(&[vec![path.clone()]], &reading) {
                let message = error.to_string();
                ensure!(
                    message.starts_with("labels: ") || super::suite::clear_message(&error, &path).is_ok(),
                    "unclear",
                    "{}",
                    super::suite::cut(&message, 200)
                );
            }
            Ok(())
        });
    }
    suite.finish();
}
