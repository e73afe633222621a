//! Items with labels as people have them: ARFF, text, tables, and what is written and read again.
#![allow(clippy::unwrap_used, clippy::float_cmp)] // a test may panic, and values that are read are exact
#![allow(clippy::single_range_in_vec_init)] // a list of one range is meant

use crate::cases::cases;
use ordain::data::synthetic::Scenes;
use ordain::data::{Columns, LabelReading, LabelSet, Missing, is_labels, read_labels, write_labels, write_whole};
use ordain::matrix::{Csr, Features, Matrix};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn file(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    write_whole(&path, |out| out.write_all(text.as_bytes())).unwrap();
    path
}

fn one(path: &Path) -> ordain::Result<LabelSet> {
    Ok(read_labels(&[vec![path.into()]], &LabelReading::default())?.0)
}

fn with_labels(path: &Path, labels: &str) -> ordain::Result<LabelSet> {
    let reading = LabelReading { labels: Some(labels.into()), ..LabelReading::default() };
    Ok(read_labels(&[vec![path.into()]], &reading)?.0)
}

fn filled(path: &Path, missing: Missing) -> LabelSet {
    read_labels(&[vec![path.into()]], &LabelReading { missing, ..LabelReading::default() }).unwrap().0
}

/// The set in a folder of these files, of which the first is read.
fn from(files: &[(&str, &str)]) -> ordain::Result<LabelSet> {
    let dir = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| drop(file(&dir, name, text)));
    one(&dir.path().join(files[0].0))
}

/// The refusal of a set, from the name of the file on.
fn refusal(files: &[(&str, &str)]) -> String {
    let dir = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| drop(file(&dir, name, text)));
    let error = one(&dir.path().join(files[0].0)).unwrap_err().to_string();
    error.replace(&format!("{}/", dir.path().display()), "")
}

fn row(set: &LabelSet, i: usize) -> Vec<f32> {
    (0..set.features.cols()).map(|j| set.features.value(i, j)).collect()
}

fn yes(set: &LabelSet) -> Vec<&[u32]> {
    (0..set.len()).map(|i| set.yes(i)).collect()
}

const XML: &str = "<labels><label name=\"sea\"/><label name=\"blue sky\"></label></labels>";

#[test]
fn dense_arff() {
    let text = "% made up\n@RELATION x\n\n@Attribute size REAL % a remark\n@attribute 'blue sky' {1, 0}\n\
                @attribute \"a \\\"b\\\"\" Integer\n@ATTRIBUTE colour { red , 'dark green', \"it's\" }\n\
                @attribute flat {0,1}\n@attribute sea {0,1}\n  @DATA\n\
                % one\n1.5, 1, 2, red, 0, 0\n\n-1e-3,0,'3',  'dark green' ,1,1\n0,?,0,\"it's\",0,?";
    let set = from(&[("a.arff", text), ("l.xml", XML)]).unwrap();
    assert_eq!(set.columns.names, ["size", "a \"b\"", "colour=red", "colour=dark green", "colour=it's", "flat"]);
    assert_eq!(set.labels, ["blue sky", "sea"]); // in the order of the attributes
    assert_eq!(row(&set, 0), [1.5, 2.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(row(&set, 1), [-1e-3, 3.0, 0.0, 1.0, 0.0, 1.0]);
    assert_eq!(yes(&set), [&[0][..], &[1], &[]]);
    assert_eq!((set.unknown(2), set.unknown(0), set.labelled), (&[0, 1][..], &[][..], true));
    assert!(matches!(set.features, Features::Dense(_)));
    // CRLF, a byte order mark, packed: the same
    for (name, text) in [
        ("a.arff", text.replace('\n', "\r\n")),
        ("a.arff", format!("\u{feff}{text}")),
        ("a.arff.gz", text.to_owned()),
        ("A.ARFF.zst", text.to_owned()),
    ] {
        assert_eq!(from(&[(name, &text), ("l.xml", XML)]).unwrap(), set, "{name}");
    }
}

#[test]
fn sparse_arff() {
    let text = "@relation x\n@attribute size numeric\n@attribute sea {0,1}\n@attribute colour {red,green,blue}\n\
                @attribute flip {1,0}\n@attribute 'blue sky' {1,0}\n@data\n\
                {0 2.5, 1 1, 4 0}\n{ 2 blue , 0 0 }\n{}\n{3 0,1 ?,4 ?}\n";
    let set = from(&[("a.arff", text), ("l.xml", XML)]).unwrap();
    assert!(matches!(set.features, Features::Sparse(_)));
    assert_eq!(set.columns.names, ["size", "colour=red", "colour=green", "colour=blue", "flip"]);
    // what a row does not name has the first value of the header
    assert_eq!(row(&set, 0), [2.5, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(row(&set, 1), [0.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(row(&set, 2), [0.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(row(&set, 3), [0.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(yes(&set), [&[0][..], &[1], &[1], &[]]);
    assert_eq!(set.unknown(3), [0, 1]);
    // a file may have rows of both kinds
    let text =
        "@attribute a numeric\n@attribute sea {0,1}\n@attribute 'blue sky' {0,1}\n@data\n5,1,0\n{0 7,2 1}\n9,0,1\n";
    let set = from(&[("a.arff", text), ("l.xml", XML)]).unwrap();
    assert_eq!((yes(&set), set.features.value(1, 0)), (vec![&[0][..], &[1], &[1]], 7.0));
    assert_eq!((set.features.value(0, 0), set.features.value(2, 0)), (5.0, 9.0));
}

#[test]
fn gaps_of_arff() {
    let text = "@attribute a numeric\n@attribute c {x,y,z}\n@attribute sea {0,1}\n@data\n1,?,1\n?,x,0\n3,x,?\n";
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = (file(&dir, "a.arff", text), file(&dir, "l.xml", "<labels><label name='sea'/></labels>"));
    let error = one(&path).unwrap_err().to_string();
    assert!(error.contains("a.arff:5:3: expected a value, found \"?\"; missing=zero or missing=mean allows gaps"));
    let mut set = filled(&path, Missing::Mean);
    assert!(row(&set, 0)[1..].iter().all(|x| x.is_nan()));
    set.fill(Missing::Mean, &[0, 1, 2]);
    assert_eq!((row(&set, 0), row(&set, 1)), (vec![1.0, 1.0, 0.0, 0.0], vec![2.0, 1.0, 0.0, 0.0]));
    let mut set = filled(&path, Missing::Zero);
    set.fill(Missing::Zero, &[]);
    assert_eq!((row(&set, 1)[0], set.unknown(2)), (0.0, &[0][..]));
}

#[test]
fn labels_of_arff() {
    let text = "@attribute a numeric\n@attribute sea {0,1}\n@data\n1,1\n";
    let sea = "<labels><label name='sea'/></labels>";
    // the only XML file, the one of the same name, or the one that is given
    assert_eq!(from(&[("a.arff.gz", text), ("a.xml", sea), ("b.xml", XML)]).unwrap().labels, ["sea"]);
    let way = "expected one .xml file in its folder or one of its name, with the names of the labels";
    assert_eq!(refusal(&[("a.arff", text)]), format!("a.arff: {way}, found none; labels=FILE.xml names it"));
    assert_eq!(
        refusal(&[("a.arff", text), ("b.xml", sea), ("c.xml", sea)]),
        format!("a.arff: {way}, found 2 of them; labels=FILE.xml names it")
    );
    let dir = tempfile::tempdir().unwrap();
    let (path, xml) = (file(&dir, "a.arff", text), file(&dir, "c.xml", sea));
    file(&dir, "b.xml", XML);
    assert_eq!(with_labels(&path, xml.to_str().unwrap()).unwrap().labels, ["sea"]);
    assert_eq!(with_labels(&path, "sea").unwrap().labels, ["sea"]);
    // some labels without an attribute, and all
    assert_eq!(
        refusal(&[("a.arff", text), ("l.xml", XML)]),
        "a.arff: expected an attribute for each label, such as \"blue sky\", found none for 1 of 2"
    );
    let set = from(&[("a.arff", "@attribute a numeric\n@data\n1\n"), ("l.xml", XML)]).unwrap();
    assert_eq!((set.labelled, set.labels.len(), set.yes(0)), (false, 2, &[][..]));
    assert!(set.need_truth().is_err());
}

#[test]
fn refusals_of_arff_name_the_place() {
    let sea = ("l.xml", "<labels><label name='sea'/></labels>");
    let head = "@attribute a numeric\n@attribute c {x,y,z}\n@attribute sea {0,1}\n@data\n";
    for (rows, expected) in [
        ("1,x,2\n", "5:5: expected 0, 1 or ? for the label \"sea\", found \"2\""),
        ("1,x\n", "5:4: expected 3 values, one for each attribute, but there are 2, found the end of the line"),
        ("1,x,1,7\n", "5:6: expected 3 values, one for each attribute, found \",7\""),
        ("1,x,1,{5}\n", "5:7: expected rows without weights (take {weight} off the end of the rows), found \"{5}\""),
        ("{0 1}, {5}\n", "5:8: expected rows without weights (take {weight} off the end of the rows), found \"{5}\""),
        ("%\n\n1,w,1\n", "7:3: expected one of \"x,y,z\", found \"w\""),
        ("inf,x,1\n", "5:1: expected a finite number for \"a\", found \"inf\""),
        ("a,x,1\n", "5:1: expected a finite number for \"a\", found \"a\""),
        ("1 2,x,1\n", "5:1: expected a finite number for \"a\", found \"1 2\""),
        ("'1,x,1\n", "5:1: expected a closing ', found \"'1,x,1\""),
        ("{3 1}\n", "5:2: expected an index below 3 (attributes are counted from 0), found \"3\""),
        ("{0 1,0 2}\n", "5:1: expected each index once in a row, but 0 occurs twice, found \"{0 1,0 2}\""),
        ("{0 1\n", "5:5: expected , or } behind a value, found the end of the line"),
        ("{x 1}\n", "5:2: expected an index and a value ({index value, …}), found \"x 1}\""),
        ("", "expected items, found none: the file has no rows"),
    ] {
        let refused = refusal(&[("a.arff", &format!("{head}{rows}")), sea]);
        assert!(refused.starts_with("a.arff:") && refused.ends_with(expected), "{refused}\n{expected}");
    }
    for (text, expected) in [
        (
            "@attribute t string\n",
            "a.arff:1:14: expected a numeric or nominal attribute (take \"t\" out of the file, or turn it into numbers), found \"string\"",
        ),
        (
            "@attribute t date \"yyyy\"\n",
            "a.arff:1:14: expected a numeric or nominal attribute (take \"t\" out of the file, or turn it into numbers), found \"date\"",
        ),
        ("@attribute t float\n", "a.arff:1:14: expected numeric, real, integer or {values}, found \"float\""),
        ("@attribute t {a,b\n", "a.arff:1:18: expected , or } behind a value, found the end of the line"),
        ("@attribute t {a,a}\n", "a.arff:1:15: expected each value once, but \"a\" occurs twice, found \"a,a}\""),
        ("@attribute a numeric\n", "a.arff: expected a line @data behind the attributes, found none in 1 lines"),
        ("hello\n", "a.arff:1:1: expected @relation, @attribute or @data, found \"hello\""),
        ("@attribute sea numeric\n@data\n", "a.arff:1:1: expected {0,1} for the label \"sea\", found \"a number\""),
        (
            "@attribute a real\n@attribute a real\n@data\n",
            "a.arff:2:1: expected each attribute once (\"a\" stands in line 1), found it again",
        ),
    ] {
        assert_eq!(refusal(&[("a.arff", text), sea]), expected);
    }
}

#[test]
fn text_of_labels() {
    let text = "# a remark\n3,1 1:0.5 4:2 # a7 more\n 2:1\n2:7 3:-1e-2\n0\n1,1 4:1\r\n";
    let set = from(&[("a.txt", text)]).unwrap();
    assert_eq!(set.labels, ["0", "1", "2", "3"]);
    assert_eq!((set.columns.names.join(" "), set.columns.numbered), ("1 2 3 4".into(), true));
    assert_eq!(yes(&set), [&[1, 3][..], &[], &[], &[0], &[1]]);
    assert_eq!((row(&set, 0), row(&set, 2)), (vec![0.5, 0.0, 0.0, 2.0], vec![0.0, 7.0, -0.01, 0.0]));
    assert_eq!((set.item(0), set.item(1)), ("a7".into(), "2".into()));
    assert!(matches!(set.features, Features::Sparse(_)));
    for (name, text) in [("a.svm.gz", text.to_owned()), ("a.zst", format!("\u{feff}{text}"))] {
        assert_eq!(from(&[(name, &text)]).unwrap(), set);
    }
    // all values there: dense; columns named
    let set = from(&[("a.txt", "#1: size\n1 0:1 1:2\n 0:3 1:4\n")]).unwrap();
    assert!(matches!(set.features, Features::Dense(_)));
    assert_eq!((set.columns.names.join(" "), set.columns.numbered), ("0 size".into(), false));
    // names of labels beside it
    let names = "\u{feff}sea\r\nblue sky\r\nsand\r\n";
    let set = from(&[("a.txt", "1 1:1\n0,2 2:1\n"), ("labels.txt", names)]).unwrap();
    assert_eq!((set.labels.join(","), yes(&set)), ("sea,blue sky,sand".into(), vec![&[1][..], &[0, 2]]));
    assert_eq!(
        refusal(&[("a.txt", "1 1:1\n0,3 2:1\n"), ("labels.txt", names)]),
        "a.txt:2:3: expected a label below 3 (labels are counted from 0), found \"3\""
    );
    let dir = tempfile::tempdir().unwrap();
    let (path, names) = (file(&dir, "a.txt", "1 1:1\n0 2:1\n"), file(&dir, "names.txt", "x\ny\n"));
    assert_eq!(with_labels(&path, names.to_str().unwrap()).unwrap().labels, ["x", "y"]);
    let names = file(&dir, "names.xml", XML);
    assert_eq!(with_labels(&path, names.to_str().unwrap()).unwrap().labels, ["sea", "blue sky"]);
    // far numbers are kept without those between
    let set = from(&[("a.txt", "4000000000 1:1\n7 2:1\n")]).unwrap();
    assert_eq!((set.labels.join(","), yes(&set)), ("7,4000000000".into(), vec![&[1][..], &[0]]));
    // no label at all: items for prediction
    assert!(!from(&[("a.txt", "1:1\n2:1\n")]).unwrap().labelled);
}

#[test]
fn extreme_classification() {
    let set = from(&[("a.txt", "3 5 4\n1,0 0:1 2:2\n 3:1\n2 0:1\n")]).unwrap();
    assert_eq!((set.len(), set.features.cols(), set.labels.join(" ")), (3, 5, "0 1 2 3".into()));
    assert_eq!(
        (set.columns.names[0].as_str(), set.silent_labels(&set.all()), set.bare_items(&set.all())),
        ("0", vec![3], 1)
    );
    let rows = "1,0 0:1 2:2\n 3:1\n2 0:1\n";
    for (head, expected) in [
        ("4 5 4", "a.txt: expected 4 items, as the first line says, found 3"),
        ("3 3 4", "a.txt:3:2: expected an index below 3 (the first line counts the features), found \"3:\""),
        ("3 5 2", "a.txt:4:1: expected a label below 2 (labels are counted from 0), found \"2\""),
    ] {
        assert_eq!(refusal(&[("a.txt", &format!("{head}\n{rows}"))]), expected);
    }
    let refused = refusal(&[("a.txt", &format!("3 5 4\n{rows}")), ("labels.txt", "a\nb\n")]);
    assert_eq!(refused, "labels.txt: expected 4 names, as the first line of a.txt counts the labels, found 2");
    // counts that the rows do not bear out take no memory
    let set = from(&[("a.txt", "1 4000000000 4000000000\n5 7:1\n")]).unwrap();
    assert_eq!((set.labels.join(" "), set.yes(0)), ("5".into(), &[0][..]));
}

#[test]
fn refusals_of_text_name_the_place() {
    let labels = "labels (numbers from 0, between commas), or index:value";
    for (text, expected) in [
        ("1 1:2\nx 1:2\n", format!("a.txt:2:1: expected {labels}, found \"x\"")),
        ("1,,2 1:2\n", format!("a.txt:1:3: expected {labels}, found \",\"")),
        ("1,-2 1:2\n", format!("a.txt:1:3: expected {labels}, found \"-2\"")),
        ("1, 1:2\n", format!("a.txt:1:3: expected {labels}, found nothing")),
        ("1 qid:1 1:2\n", "a.txt:1:3: expected index:value, found \"qid:1\"".into()),
        (
            "1 1:nan\n",
            "a.txt:1:5: expected a value for feature 1, found \"nan\"; missing=zero or missing=mean allows gaps".into(),
        ),
        ("\n# x\n", "a.txt: expected features, found items without any".into()),
        ("1\n2\n", "a.txt: expected features, found items without any".into()),
    ] {
        assert_eq!(refusal(&[("a.txt", text)]), expected);
    }
    let with = |names: &str| refusal(&[("a.txt", "0 1:1\n"), ("labels.txt", names)]);
    assert_eq!(with("a\n\nb\n"), "labels.txt:2:1: expected the name of a label, found an empty line");
    assert_eq!(with("a\nb\na\n"), "labels.txt: expected each label name once, found \"a\" twice");
    assert_eq!(with("\n"), "labels.txt: expected names of labels, one per line, found 0 names");
}

#[test]
fn tables() {
    let text = "\u{feff}id,labels,x,\"y,z\"\r\np 1,sky; sea,1,2\r\n\"p,2\",,3,4\r\np3,\"sea;sea;the, sun\",5,6\r\n";
    let set = from(&[("a.csv", text)]).unwrap();
    assert_eq!((set.labels.join("|"), set.columns.names.join("|")), ("sky|sea|the, sun".into(), "x|y,z".into()));
    assert_eq!((yes(&set), set.item(1), row(&set, 2)), (vec![&[0, 1][..], &[], &[1, 2]], "p,2".into(), vec![5.0, 6.0]));
    // columns of labels
    let dir = tempfile::tempdir().unwrap();
    let text = "item\tsea\tx\tsky\tsun\na\t1\t5\tTRUE\tno\nb\tYes\t6\t?\tnan\nc\t0\t7\t\tNULL\n";
    let path = file(&dir, "a.tsv", text);
    let set = with_labels(&path, "sky, sea,sun").unwrap();
    assert_eq!((set.labels.join(" "), set.columns.names.join(" ")), ("sky sea sun".into(), "x".into()));
    assert_eq!((yes(&set), set.unknown(1), set.unknown(2)), (vec![&[0, 1][..], &[1], &[]], &[0, 2][..], &[0, 2][..]));
    assert!(
        with_labels(&path, "sea,moon")
            .unwrap_err()
            .to_string()
            .contains("a.tsv:1:1: expected a header with the column \"moon\", found")
    );
    assert!(with_labels(&path, "sea,,sky").unwrap_err().to_string().starts_with("labels: expected names of columns"));
    let refused = one(&path).unwrap_err().to_string();
    assert!(
        refused.ends_with(
            "a.tsv:2:5: expected a finite number, found \"no\" in column \"sun\"; ignore=sun leaves the column out; labels=sun takes it as a label"
        ),
        "{refused}"
    );
    let refused = with_labels(&file(&dir, "b.csv", "x,sea\n1,2\n"), "sea").unwrap_err().to_string();
    assert!(
        refused.ends_with(
            "b.csv:2:2: expected 1, 0, true, false, yes, no, or nothing where unknown, found \"2\" in column \"sea\""
        ),
        "{refused}"
    );
    // neither: items for prediction
    let set = from(&[("a.csv", "id,x\na,1\n")]).unwrap();
    assert_eq!((set.labelled, set.labels.len(), set.item(0)), (false, 0, "a".into()));
    assert_eq!(refusal(&[("a.csv", "x,x\n1,2\n")]), "a.csv: expected each column name once, found \"x\" twice");
    assert_eq!(refusal(&[("a.csv", "x,labels\n1,2,3\n")]), "a.csv:2:1: expected 2 fields, as in the header, found 3");
    let gap = refusal(&[("a.csv", "x,labels\n,a\n")]);
    assert!(gap.starts_with("a.csv:2:1: expected a value, found"), "{gap}");
}

#[test]
fn parts_are_joined_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let join = |a: &Path, b: &Path| read_labels(&[vec![a.into()], vec![b.into()]], &LabelReading::default());
    file(&dir, "l.xml", XML);
    let head = "@attribute a real\n@attribute b real\n@attribute sea {0,1}\n@attribute 'blue sky' {0,1}\n@data\n";
    let a = file(&dir, "a.arff", &format!("{head}1,2,1,0\n"));
    let b = file(
        &dir,
        "b.arff",
        "@attribute b real\n@attribute 'blue sky' {0,1}\n@attribute sea {0,1}\n@attribute a real\n@data\n{0 5,2 1}\n{1 ?}",
    );
    let (set, parts) = join(&a, &b).unwrap();
    assert_eq!((parts, set.labels.join(",")), (vec![0..1, 1..3], "sea,blue sky".into()));
    assert_eq!((row(&set, 1), yes(&set), set.unknown(2)), (vec![0.0, 5.0], vec![&[0][..], &[0], &[]], &[1][..]));
    let c = file(&dir, "c.arff", "@attribute a real\n@data\n1\n");
    assert!(join(&a, &c).unwrap_err().to_string().contains("c.arff: expected labels, as in "));
    let c = file(&dir, "c.arff", &head.replace("b real", "c real").replace("@data\n", "@data\n1,2,0,0\n"));
    let refused = join(&a, &c).unwrap_err().to_string();
    assert!(refused.contains("a.arff, found others: ") && refused.contains("missing: b"), "{refused}");
    // text: columns and labels by number; labels of tables in order of appearance
    let (x, y) = (file(&dir, "x.txt", "0 1:1 2:2\n"), file(&dir, "y.txt", "2,0 9:1 # i\n 3:1\n"));
    let (set, _) = join(&x, &y).unwrap();
    assert_eq!((set.labels.join(" "), set.features.cols(), set.item(1)), ("0 1 2".into(), 4, "i".into()));
    assert_eq!((yes(&set), row(&set, 0)[..3].to_vec()), (vec![&[0][..], &[0, 2], &[]], vec![1.0, 2.0, 0.0]));
    let (x, y) = (file(&dir, "x.csv", "f,labels\n1,b;a\n"), file(&dir, "y.csv", "labels,f\nc;a,1\n"));
    let (set, _) = join(&x, &y).unwrap();
    assert_eq!((set.labels.join(" "), yes(&set)), ("b a c".into(), vec![&[0, 1][..], &[1, 2]]));
    assert!(join(&x, &a).is_err());
    assert!(read_labels(&[], &LabelReading::default()).is_err());
}

/// Many blocks and pieces, on any number of threads, give the same as one line after another.
#[test]
fn blocks_and_threads() {
    let (mut text, mut arff, n) =
        (String::new(), String::from("@attribute a real\n@attribute b {0,1}\n@attribute sea {0,1}\n@data\n"), 400_000);
    for i in 0..n {
        text += &format!("{},{} {}:{} {}:1 # item{i}\n", i % 7, i % 3, 1 + i % 50, i as f32 * 0.25, 51 + i % 20);
        arff += &if i % 3 == 0 { format!("{i},{},{}\n", i % 2, i % 5 / 4) } else { format!("{{0 {i},2 ?}}\n") };
    }
    let dir = tempfile::tempdir().unwrap();
    file(&dir, "l.xml", "<labels><label name='sea'/></labels>");
    let (text, arff) = (file(&dir, "a.txt.zst", &text), file(&dir, "a.arff.zst", &arff));
    let sets = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (one(&text).unwrap(), one(&arff).unwrap()))
    };
    let (set, other) = sets(1);
    assert_eq!((set.len(), other.len(), set.features.cols()), (n, n, 70));
    for i in (0..n).step_by(997) {
        let mut labels = vec![i as u32 % 7, i as u32 % 3];
        labels.sort_unstable();
        labels.dedup();
        assert_eq!((set.yes(i), set.item(i)), (&labels[..], format!("item{i}").into()));
        assert_eq!((set.features.value(i, i % 50), set.features.value(i, 50 + i % 20)), (i as f32 * 0.25, 1.0));
        assert_eq!((other.features.value(i, 0), other.unknown(i).len()), (i as f32, usize::from(i % 3 > 0)));
        assert_eq!(other.yes(i).len(), usize::from(i % 3 == 0 && i % 5 == 4));
    }
    let again = sets(3);
    assert!(again.0 == set && again.1 == other);
    // a line far behind is named
    let bad = std::iter::repeat_n("0 1:1\n", 2_000_000).chain(["0 x\n"]).collect::<String>();
    assert!(
        one(&file(&dir, "bad.txt", &bad)).unwrap_err().to_string().contains("bad.txt:2000001:3: expected index:value")
    );
}

#[test]
fn kinds_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let is = |name: &str, text: &str| is_labels(&file(&dir, name, text));
    assert!(is("a.arff", "") && is("a.arff.gz", ""));
    assert!(is("a.csv", "\u{feff}labels,x\n") && is("b.tsv.gz", "x\tlabels\n") && !is("c.csv", "qid,label,x\n"));
    assert!(is("a.txt", "3 2 1\n0 1:1\n") && !is("b.txt", "3 2 1\n"));
    assert!(is("c.txt", "3 1:1\n1,2 1:1\n") && !is("d.txt", "1 qid:1 1:1\n") && !is("e.txt", "1 1:1\n0 1:2\n"));
    assert!(!is_labels(&dir.path().join("absent.txt")) && !is_labels(Path::new("-")));
    file(&dir, "labels.txt", "a\nb\n");
    assert!(is_labels(&dir.path().join("e.txt")) && !is_labels(&dir.path().join("d.txt")));
}

fn written(set: &LabelSet, name: &str) -> LabelSet {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    write_labels(set, &path).unwrap();
    let mut labels = csv::WriterBuilder::new().from_writer(vec![]);
    labels.write_record(&set.labels).unwrap();
    let labels = (name.contains(".csv") || name.contains(".tsv"))
        .then(|| String::from_utf8(labels.into_inner().unwrap()).unwrap());
    let gaps = (0..set.len()).any(|i| row(set, i).iter().any(|x| x.is_nan()));
    let missing = if gaps { Missing::Zero } else { Missing::Error };
    read_labels(
        &[vec![path]],
        &LabelReading { missing, labels: labels.filter(|_| set.labelled), ..LabelReading::default() },
    )
    .unwrap()
    .0
}

/// The same names, labels and values; sparse or not.
fn same(a: &LabelSet, b: &LabelSet) {
    assert_eq!((&a.columns, &a.labels, a.len()), (&b.columns, &b.labels, b.len()));
    for i in 0..a.len() {
        assert_eq!((a.yes(i), a.unknown(i)), (b.yes(i), b.unknown(i)));
        let bits =
            |set: &LabelSet| row(set, i).iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect::<Vec<_>>();
        assert_eq!(bits(a), bits(b));
    }
}

fn sets() -> impl Strategy<Value = (LabelSet, bool)> {
    let name = "[a-zé&<>\"'%,;{}\\\\#= .:\t\n\\[\\]]{1,8}";
    let shape = (1usize..8, 1usize..6, 1usize..6, any::<bool>(), any::<bool>(), any::<bool>());
    shape.prop_flat_map(move |(n, d, l, sparse, named, unknown)| {
        let value = prop_oneof![3 => Just(0.0f32), 3 => -1e3f32..1e3, 1 => any::<i16>().prop_map(|x| f32::from(x) * 1e-30), 1 => Just(f32::NAN), 1 => Just(-0.0)];
        (
            prop::collection::vec(value, n * d),
            prop::collection::vec(0u8..3, n * l),
            prop::collection::hash_set(name, d + l),
            0u32..2,
        )
            .prop_map(move |(values, states, names, first)| {
                let names: Vec<String> = names.into_iter().collect();
                let numbers = (first..first + d as u32).map(|j| j.to_string()).collect();
                let columns = Columns { names: if named { names[l..].to_vec() } else { numbers }, numbered: !named, ..Columns::default() };
                let features = if sparse {
                    let (mut ends, mut at, mut kept) = (vec![], vec![], vec![]);
                    for row in values.chunks(d) {
                        let stored = (0u32..).zip(row).filter(|(_, x)| x.to_bits() != 0);
                        stored.for_each(|(j, &x)| {
                            at.push(j);
                            kept.push(x);
                        });
                        ends.push(kept.len());
                    }
                    Features::Sparse(Csr::new(ends, at, kept, d))
                } else {
                    Features::Dense(Matrix::new(values, d))
                };
                let lists = |wanted: u8| -> Vec<Vec<u32>> {
                    let of = |row: &[u8]| (0u32..).zip(row).filter(|(_, s)| **s == wanted).map(|(k, _)| k).collect();
                    states.chunks(l).map(of).collect()
                };
                let mut set = LabelSet::new(features, columns, names[..l].to_vec(), lists(1)).unwrap();
                if unknown {
                    set = set.with_unknown(lists(2)).unwrap();
                }
                (set, sparse)
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(120)))]
    #[test]
    fn what_is_written_is_read_again((set, sparse) in sets()) {
        for name in ["a.arff", "a.arff.gz"] {
            let again = written(&set, name);
            same(&set, &again);
            prop_assert_eq!(matches!(again.features, Features::Sparse(_)), sparse);
        }
        let dir = tempfile::tempdir().unwrap();
        let tidy = set.columns.names.iter().chain(&set.labels).all(|name| name.trim() == name);
        let one_line = !set.columns.names.iter().chain(&set.labels).any(|name| name.contains(char::is_control));
        if tidy {
            same(&set, &written(&set, "a.csv"));
            same(&set, &written(&set, "a.tsv.zst"));
        } else {
            prop_assert!(write_labels(&set, &dir.path().join("a.csv")).is_err());
        }
        if tidy && one_line && !set.has_unknown() {
            same(&set, &written(&set, "a.svm.gz"));
        } else {
            prop_assert!(write_labels(&set, &dir.path().join("a.txt")).is_err());
        }
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let features = Features::Dense(Matrix::new(vec![1.0, 2.0], 1));
    let columns = Columns::named(vec!["sea".into()]);
    let set = LabelSet::new(features.clone(), columns, vec!["sea".into()], vec![vec![0], vec![]]).unwrap();
    let refused = |set: &LabelSet, name: &str| write_labels(set, &dir.path().join(name)).unwrap_err().to_string();
    assert!(refused(&set, "a.arff").contains("\"sea\" twice") && refused(&set, "a.csv").contains("\"sea\" twice"));
    assert!(refused(&set, "a.parquet").contains(".arff, .csv, .tsv or .txt"));
    write_labels(&set, &dir.path().join("a.txt")).unwrap();
    let columns = Columns::named(vec!["id".into()]);
    let set = LabelSet::new(features, columns, vec!["sky".into()], vec![vec![0], vec![]]).unwrap();
    assert!(refused(&set, "a.csv").contains("no feature named id, item or labels"));
    assert!(refused(&set, "b.txt").contains("labels.txt: expected no file, or the same labels"));
    let set = set.with_unknown(vec![vec![], vec![0]]).unwrap();
    assert!(refused(&set, "b.txt").ends_with("found \"sky\" unknown of item \"2\""));
    // items and their ids survive where the format has a place for them
    let dir = tempfile::tempdir().unwrap();
    let set = one(&file(&dir, "a.csv", "id,x,labels\na,1,s\nb,2,t;s\n")).unwrap();
    for name in ["b.csv", "b.txt"] {
        let again = written(&set, name);
        same(&set, &again);
        assert_eq!((again.item(0), again.item(1)), ("a".into(), "b".into()));
    }
    // a set without labels
    let set = one(&file(&dir, "u.csv", "x\n1\n")).unwrap();
    same(&set, &written(&set, "b.csv"));
    assert!(!written(&set, "b.txt").labelled);
    assert!(write_labels(&set, &dir.path().join("a.arff")).unwrap_err().to_string().contains("without a vocabulary"));
}

#[test]
fn scenes_are_like_photographs() {
    let set = Scenes { items: 5000, ..Scenes::default() }.make();
    let (n, m) = (set.labels.len(), set.len() as f64);
    let mean = set.label_counts(&set.all()).iter().sum::<usize>() as f64 / m;
    assert!((mean - 11.8).abs() < 0.5, "{mean} labels per item");
    assert!((0..set.len()).all(|i| (1..n).contains(&set.yes(i).len())));
    // break-even when a label is scored by its rate and its own detector, and when the scene is guessed from all detectors
    let scene = |i: usize| set.yes(i).first().copied().filter(|&s| s < 5).unwrap_or(5) as usize;
    let (mut rates, mut sizes) = (vec![[0.5f64; 7]; n], [1.0f64; 7]);
    for i in 0..set.len() {
        for s in [scene(i), 6] {
            sizes[s] += 1.0;
            set.yes(i).iter().for_each(|&label| rates[label as usize][s] += 1.0);
        }
    }
    rates.iter_mut().for_each(|of| of.iter_mut().zip(&sizes).for_each(|(rate, size)| *rate /= size));
    let likelihood = |i: usize, j: usize, signal: f64| {
        let off = f64::from(set.features.value(i, j)) - signal;
        (-0.5 * off * off / 0.81).exp()
    };
    let break_even = |guess: bool| {
        let mut total = 0.0;
        for i in 0..set.len() {
            let scores = |s: usize| {
                let log = |j: usize| {
                    (rates[j][s] * likelihood(i, j, 1.0) + (1.0 - rates[j][s]) * likelihood(i, j, -1.0)).ln()
                };
                (0..n).map(log).sum::<f64>()
            };
            let logs: Vec<f64> = (0..6).map(scores).collect();
            let largest = logs.iter().copied().fold(f64::MIN, f64::max);
            let weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
            let sum: f64 = weights.iter().sum();
            let score = |j: usize| {
                let mixed = || (0..6).map(|s| weights[s] * rates[j][s]).sum::<f64>() / sum;
                let rate = if guess { mixed() } else { rates[j][6] };
                (rate / (1.0 - rate)).ln() + 2.0 * f64::from(set.features.value(i, j)) / 0.81
            };
            let scores: Vec<f64> = (0..n).map(score).collect();
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            let k = set.yes(i).len();
            total += order[..k].iter().filter(|&&j| set.yes(i).contains(&(j as u32))).count() as f64 / k as f64;
        }
        total / m
    };
    let (alone, together) = (break_even(false), break_even(true));
    assert!((0.70..0.74).contains(&alone), "{alone}"); // an independent model reaches about 72 %
    assert!((0.75..0.80).contains(&together), "{together}"); // and one that links labels about 77 %
    assert_eq!(set, Scenes { items: 5000, ..Scenes::default() }.make());
    for (labels, scenes) in [(2, 1), (3, 9), (200, 8)] {
        let set = Scenes { items: 50, labels, scenes, ..Scenes::default() }.make();
        assert_eq!((set.labels.len(), set.len()), (labels, 50));
    }
}

/// What a data set of `annotation/README.md` holds: features, labels, and of each file the items, labels per item,
/// label sets and items without a label; last the labels that are never on a training item.
type Known = (&'static str, usize, usize, &'static [(&'static str, usize, f64, usize, usize)], usize);

const KNOWN: [Known; 10] = [
    ("mirflickr25k-tags", 1386, 24, &[("all.svm.gz", 20015, 3.779, 2582, 0)], 0),
    (
        "corel5k",
        499,
        374,
        &[("Corel5k-train-sparse.arff", 4500, 3.522, 2925, 0), ("Corel5k-test-sparse.arff", 500, 3.526, 434, 0)],
        3,
    ),
    (
        "mediamill_reduced",
        120,
        101,
        &[("mediamill-train.arff.gz", 1500, 4.437, 639, 53), ("mediamill-test.arff", 500, 4.264, 265, 22)],
        10,
    ),
    ("scene", 294, 6, &[("scene-train.arff.gz", 1211, 1.062, 14, 0), ("scene-test.arff.gz", 1196, 1.086, 13, 0)], 0),
    ("cal500", 68, 174, &[("cal500.arff", 502, 26.044, 502, 0)], 0),
    ("yeast", 103, 14, &[("yeast-train.arff.gz", 1500, 4.228, 164, 0), ("yeast-test.arff", 917, 4.252, 140, 0)], 0),
    // 19 attributes; landmass, zone, language and religion become 6 + 4 + 10 + 8 columns
    ("flags", 43, 7, &[("flags-train.arff", 129, 3.419, 45, 0), ("flags-test.arff", 65, 3.338, 32, 0)], 0),
    ("medical", 1449, 45, &[("medical-train.arff", 333, 1.255, 61, 0), ("medical-test.arff", 645, 1.240, 73, 0)], 7),
    (
        "bibtex",
        1836,
        159,
        &[("bibtex-train.arff.gz", 4880, 2.380, 2058, 0), ("bibtex-test.arff.gz", 2515, 2.444, 1257, 0)],
        0,
    ),
    (
        "delicious",
        500,
        983,
        &[("delicious-train.arff.gz", 12920, 19.047, 12714, 10), ("delicious-test.arff", 3185, 18.910, 3163, 4)],
        0,
    ),
];

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn published_sets_hold_what_is_counted_of_them() {
    let folder = PathBuf::from(std::env::var_os("ORDAIN_DATA").expect("ORDAIN_DATA names the data folder"));
    for (name, features, labels, files, silent) in KNOWN {
        let folder = folder.join("annotation").join(name);
        let parts: Vec<Vec<PathBuf>> = files.iter().map(|file| vec![folder.join(file.0)]).collect();
        let (set, ranges) = read_labels(&parts, &LabelReading::default()).unwrap();
        assert_eq!((set.features.cols(), set.labels.len(), set.labelled), (features, labels, true), "{name}");
        assert!(!set.has_unknown());
        for (range, &(file, items, cardinality, sets, bare)) in ranges.iter().zip(files) {
            let units: Vec<u32> = (range.start as u32..range.end as u32).collect();
            let count: usize = set.label_counts(&units).iter().sum();
            let distinct: std::collections::HashSet<&[u32]> = range.clone().map(|i| set.yes(i)).collect();
            assert_eq!((units.len(), distinct.len(), set.bare_items(&units)), (items, sets, bare), "{file}");
            assert_eq!(format!("{:.3}", count as f64 / items as f64), format!("{cardinality:.3}"), "{file}");
        }
        let train: Vec<u32> = (ranges[0].start as u32..ranges[0].end as u32).collect();
        assert_eq!(set.silent_labels(&train).len(), silent, "{name}");
        assert!(is_labels(&parts[0][0]));
    }
}
