//! Files as people have them: quirks, packing, tables, sizes beside a file, queries split over a file.
#![allow(clippy::unwrap_used, clippy::float_cmp)] // a test may panic, and values that are read are exact
#![allow(clippy::single_range_in_vec_init)] // a list of one range is meant

use crate::cases::cases;
use ordain::data::split::{self, Layout};
use ordain::data::synthetic::Synthetic;
use ordain::data::{Missing, RankSet, read_parts, trec, write};
use ordain::matrix::Features;
use proptest::prelude::*;
use std::io::Write;
use std::path::PathBuf;
use tempfile::TempDir;

fn file(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn one(path: PathBuf) -> ordain::Result<RankSet> {
    Ok(read_parts(&[vec![path]], Missing::Error)?.0)
}

fn from_text(name: &str, text: &str) -> ordain::Result<RankSet> {
    let dir = tempfile::tempdir().unwrap();
    one(file(&dir, name, text))
}

fn row(set: &RankSet, row: usize) -> Vec<f32> {
    (0..set.features.cols()).map(|j| set.features.value(row, j)).collect()
}

#[test]
fn interleaved_queries_are_grouped_and_answers_come_back_in_input_order() {
    let set = from_text("a.txt", "1 qid:b 1:10 # x\n0 qid:a 1:20 # y\n2 qid:b 1:30 # z\n0 qid:a 1:40\n").unwrap();
    assert_eq!((set.len(), set.query(0), set.query(1)), (2, "b", "a"));
    assert_eq!(set.grades, [1.0, 2.0, 0.0, 0.0]);
    let scores: Vec<f64> = (0..4).map(|i| f64::from(set.features.value(i, 0))).collect();
    assert_eq!(scores, [10.0, 30.0, 20.0, 40.0]);
    assert_eq!(set.in_input_order(scores), [10.0, 20.0, 30.0, 40.0]);
    let names: Vec<String> = (0..4).map(|i| set.document(i).into_owned()).collect();
    assert_eq!(names, ["x", "z", "y", "4"]); // the last row has no id: its number stands in
}

#[test]
fn the_same_id_is_one_query_within_a_part_and_two_across_parts() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (file(&dir, "a.txt", "1 qid:1 1:1\n0 qid:1 1:2\n"), file(&dir, "b.txt", "2 qid:1 1:3\n"));
    let (set, parts) = read_parts(&[vec![a.clone(), b.clone()]], Missing::Error).unwrap();
    assert_eq!((set.len(), parts), (1, vec![0..1]));
    let (set, parts) = read_parts(&[vec![a], vec![b]], Missing::Error).unwrap();
    assert_eq!((set.len(), parts), (2, vec![0..1, 1..2]));
}

#[test]
fn sizes_beside_a_file_make_its_queries() {
    let dir = tempfile::tempdir().unwrap();
    let text = "1 1:1\n0 1:2\n2 1:3\n";
    file(&dir, "rank.train.query", "2\n1\n");
    let mut packed =
        zstd::stream::write::Encoder::new(std::fs::File::create(dir.path().join("rank.train.zst")).unwrap(), 0)
            .unwrap();
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap();
    let set = one(dir.path().join("rank.train.zst")).unwrap();
    assert_eq!((set.len(), set.span(0), set.span(1)), (2, 0..2, 2..3));
    file(&dir, "x.txt.group", "1\n1\n1\n");
    assert_eq!(one(file(&dir, "x.txt", text)).unwrap().len(), 3);
    file(&dir, "y.txt.query", "1\n1\n");
    let refusal = one(file(&dir, "y.txt", text)).unwrap_err().to_string();
    assert!(refusal.contains("y.txt.query") && refusal.contains("add up to the 3 rows"), "{refusal}");
    let refusal = one(file(&dir, "z.txt", text)).unwrap_err().to_string();
    assert!(
        refusal.contains("expected qid:ID in each row, or the sizes of the queries in")
            && refusal.contains("z.txt.query")
    );
    let refusal = one(file(&dir, "w.txt", "1 qid:1 1:1\n1 1:2\n")).unwrap_err().to_string();
    assert!(refusal.contains("qid:ID in every row or in none"), "{refusal}");
}

#[test]
fn dense_and_sparse_by_density() {
    // an index that no row names is a column of zeros
    let set = from_text("a.txt", "1 qid:1 1:5 3:7\n0 qid:1 3:9\n").unwrap();
    assert!(matches!(set.features, Features::Dense(_)));
    assert_eq!(set.columns.names, ["1", "2", "3"]);
    assert_eq!((row(&set, 0), row(&set, 1)), (vec![5.0, 0.0, 7.0], vec![0.0, 0.0, 9.0]));
    // far indices are kept by their number, without the columns between
    let text: String = (0..50).map(|i| format!("{} qid:1 {}:1 {}:2\n", i % 2, i + 1, 1_000_000_000 + i)).collect();
    let set = from_text("b.txt", &text).unwrap();
    assert!(matches!(set.features, Features::Sparse(_)));
    assert_eq!((set.features.cols(), set.columns.names[99].as_str()), (100, "1000000049"));
    assert_eq!(set.features.value(49, 99), 2.0);
    // names of columns
    let set = from_text("c.txt", "#1: bm25\n#2: title length\n1 qid:1 1:5 2:7\n").unwrap();
    assert_eq!(set.columns.names, ["bm25", "title length"]);
    assert_eq!((set.columns.find("bm25").unwrap(), set.columns.find("2").unwrap()), (0, 1));
}

#[test]
fn tables() {
    let set = from_text(
        "a.csv",
        "\u{feff}docid,qid,label,\"title, length\",bm25,weight\r\nd1,q 1,2,3.5,1e-2,1\r\n\"d,2\",q 1,0,4,5,0.5\r\n",
    )
    .unwrap();
    assert_eq!(
        (set.columns.names.clone(), set.columns.numbered),
        (vec!["title, length".to_owned(), "bm25".to_owned()], false)
    );
    assert_eq!(
        (set.document(1).into_owned(), set.query(0), set.grades.clone()),
        ("d,2".to_owned(), "q 1", vec![2.0, 0.0])
    );
    assert_eq!(set.weights, Some(vec![1.0, 0.5]));
    assert_eq!(row(&set, 0), [3.5, 0.01]);
    let set = from_text("a.tsv", "qid\tx\n1\t2\n").unwrap();
    assert!(!set.graded && set.need_truth().is_err());
    // columns of a second file are put right by name; others are refused
    let dir = tempfile::tempdir().unwrap();
    let a = file(&dir, "a.csv", "label,qid,x,y\n1,1,10,20\n");
    let b = file(&dir, "b.csv", "y,label,x,qid\n21,0,11,2\n");
    let (set, _) = read_parts(&[vec![a.clone()], vec![b]], Missing::Error).unwrap();
    assert_eq!(row(&set, 1), [11.0, 21.0]);
    let c = file(&dir, "c.csv", "label,qid,x,z\n1,1,10,20\n");
    let refusal = read_parts(&[vec![a], vec![c]], Missing::Error).unwrap_err().to_string();
    assert!(refusal.contains("c.csv") && refusal.contains("missing: y; not expected: z"), "{refusal}");
    let message = |text: &str| from_text("t.csv", text).unwrap_err().to_string();
    assert!(
        message("label,qid,x\n1,1,2\n1,1,oops\n")
            .contains("t.csv:3:3: expected a finite number, found \"oops\" in column \"x\"")
    );
    assert!(message("label,qid,x\n1,1\n").contains("t.csv:2:1: expected 3 fields, as in the header, found 2"));
    assert!(
        message("label,questions,x\n1,1,1\n").contains("expected a header with a column for the query, such as qid")
    );
    assert!(message("label,qid,x,x\n1,1,1,1\n").contains("\"x\" twice"));
}

#[test]
fn gaps_are_refused_or_filled() {
    let dir = tempfile::tempdir().unwrap();
    for path in [
        file(&dir, "a.txt", "1 qid:1 1:2 2:NULL\n0 qid:1 1:4 2:6\n"),
        file(&dir, "a.csv", "label,qid,a,b\n1,1,2,\n0,1,4,6\n"),
    ] {
        let refusal = one(path.clone()).unwrap_err().to_string();
        assert!(refusal.contains("missing=zero or missing=mean"), "{refusal}");
        let (mut set, _) = read_parts(&[vec![path]], Missing::Mean).unwrap();
        assert!(set.features.value(0, 1).is_nan());
        let means = set.column_means(&set.all());
        assert_eq!(means, [3.0, 6.0]);
        set.fill_missing(Some(&means));
        assert_eq!(row(&set, 0), [2.0, 6.0]);
    }
}

#[test]
fn columns_follow_the_model() {
    let named = from_text("a.csv", "label,qid,x,y\n1,1,10,20\n").unwrap();
    let mut other = from_text("b.csv", "label,qid,y,x\n1,1,20,10\n").unwrap();
    assert!(other.align(&named.columns).unwrap() == Default::default());
    assert_eq!(row(&other, 0), [10.0, 20.0]);
    let mut extra = from_text("c.csv", "label,qid,y,x,z\n1,1,20,10,5\n").unwrap();
    assert!(extra.align(&named.columns).unwrap_err().to_string().contains("not expected: z"));
    // numbered: what is absent is 0, what the model has never seen is left out and named
    let model = from_text("a.txt", "1 qid:1 1:1 2:2 3:3\n").unwrap();
    let mut data = from_text("b.txt", "1 qid:1 2:5 4:7\n").unwrap();
    let differ = data.align(&model.columns).unwrap();
    assert_eq!((differ.absent.len(), differ.unknown), (0, vec!["4".to_owned()]));
    assert_eq!(row(&data, 0), [0.0, 5.0, 0.0]);
    let mut short = from_text("c.txt", "1 qid:1 1:5\n").unwrap();
    assert_eq!(short.align(&model.columns).unwrap().absent, ["2", "3"]);
}

#[test]
fn folds_in_both_layouts() {
    let dir = tempfile::tempdir().unwrap();
    for i in 1..=5 {
        file(&dir, &format!("S{i}.txt"), "1 qid:1 1:1\n");
    }
    assert!(matches!(split::layout(dir.path()).unwrap(), Layout::Parts(parts) if parts.len() == 5));
    let dir = tempfile::tempdir().unwrap();
    for i in 1..=2 {
        std::fs::create_dir(dir.path().join(format!("Fold{i}"))).unwrap();
        for name in ["train", "vali", "test"] {
            file(&dir, &format!("Fold{i}/{name}.txt"), "1 qid:1 1:1\n");
        }
    }
    assert!(matches!(split::layout(dir.path()).unwrap(), Layout::Folders(folds) if folds.len() == 2));
    std::fs::remove_file(dir.path().join("Fold2/vali.txt")).unwrap();
    assert!(split::layout(dir.path()).unwrap_err().to_string().contains("expected vali.txt"));
}

#[test]
fn runs_and_judgements() {
    let dir = tempfile::tempdir().unwrap();
    let qrels = file(&dir, "q.qrels", "1 0 a 2\n1 0 b 0\n1 0 c 1\n2 0 a 1\n");
    let run = file(&dir, "r.run", "1 Q0 b 1 0.5 tag\n1 Q0 a 2 0.25 tag\n1 Q0 x 3 0.1 tag\n9 Q0 a 1 1 tag\n");
    let read = trec::read_run(&run, &qrels).unwrap();
    assert_eq!((read.queries.len(), read.not_run, read.not_judged), (1, 1, 1));
    assert_eq!((read.queries[0].grades.clone(), read.queries[0].unretrieved.clone()), (vec![0.0, 2.0, 0.0], vec![1.0]));
    let twice = file(&dir, "t.run", "1 Q0 b 1 0.5 tag\n1 Q0 b 2 0.4 tag\n");
    assert!(trec::read_run(&twice, &qrels).unwrap_err().to_string().contains("t.run:2:1: expected each document once"));
}

/// The fast reader against the plainest one: split at white space and colons.
type Row = (f64, String, Vec<(u32, f32)>);

fn slow(text: &str) -> Vec<Row> {
    let rows = text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let mut words = line.split('#').next().unwrap().split_whitespace();
        let grade = words.next().unwrap().parse().unwrap();
        let query = words.next().unwrap().strip_prefix("qid:").unwrap().to_owned();
        let features =
            words.map(|word| word.split_once(':').unwrap()).map(|(i, x)| (i.parse().unwrap(), x.parse().unwrap()));
        (grade, query, features.collect())
    });
    rows.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]
    #[test]
    fn reading_equals_the_plain_reader(
        rows in prop::collection::vec((0..5u8, 0..4u8, prop::collection::btree_map(1u32..12, -1000..1000i32, 1..8), any::<bool>()), 1..60),
        regular in any::<bool>(),
    ) {
        let text: String = rows.iter().map(|(grade, query, features, comment)| {
            let features: String = if regular {
                (1..=3).map(|j| format!(" {j}:{:.6}", f64::from(features.get(&j).copied().unwrap_or(0)) / 512.0)).collect()
            } else {
                features.iter().map(|(j, x)| format!(" {j}:{}", f64::from(*x) / 64.0)).collect()
            };
            format!("{grade} qid:{query}{features}{}\n", if *comment { " # doc" } else { "" })
        }).collect();
        let truth = slow(&text);
        let set = from_text("p.txt", &text).unwrap();
        for q in 0..set.len() {
            for stored in set.span(q) {
                let (grade, query, features) = &truth[set.input_row(stored)];
                prop_assert!(set.grades[stored] == *grade && set.query(q) == query);
                for (j, name) in set.columns.names.iter().enumerate() {
                    let expected = features.iter().find(|(i, _)| i.to_string() == *name).map_or(0.0, |&(_, x)| x);
                    prop_assert_eq!(set.features.value(stored, j), expected);
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_read_again(seed in 0u64..1000, ending in prop::sample::select(vec!["txt", "csv", "tsv", "txt.gz", "csv.zst"])) {
        let set = Synthetic { queries: 6, documents: (1, 5), features: 4, seed, ..Synthetic::default() }.make();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(format!("w.{ending}"));
        write(&set, &path).unwrap();
        let again = one(path).unwrap();
        prop_assert_eq!(&again.features, &set.features);
        prop_assert_eq!(&again.grades, &set.grades);
        prop_assert_eq!((0..6).map(|q| again.span(q)).collect::<Vec<_>>(), (0..6).map(|q| set.span(q)).collect::<Vec<_>>());
    }
}

#[test]
fn many_blocks_and_any_number_of_threads_give_one_set() {
    let made = Synthetic { queries: 900, documents: (20, 60), features: 40, ..Synthetic::default() }.make();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("big.txt");
    write(&made, &path).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > 10 << 20, "several blocks");
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let set = pool.install(|| one(path.clone())).unwrap();
        assert!(set.features == made.features && set.grades == made.grades);
        assert_eq!(set.digest(), made.digest());
    }
}
