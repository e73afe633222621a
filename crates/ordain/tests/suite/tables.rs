//! Tables in every syntax, with columns by name.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::cases::cases;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeListArray, Float32Array,
    Float64Array, Int64Array, ListArray, RecordBatch, StringArray, UInt64Array, types::Float64Type, types::Int32Type,
};
use arrow_schema::{DataType, Field};
use ordain::data::{
    Frame, LabelReading, MatchReading, Missing, RankReading, RankSet, Roles, Taken, Truth, read_labels, read_matches,
    read_rank,
};
use ordain::matrix::Features;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SHOP: &str = "query_id,doc_id,title,relevance,bm25,brand,in_stock,listed
shoes,d1,\"Red shoe, size 41\",2,7.5,Acme,True,2024-05-01
shoes,d2,Blue boot,0,3.25,Acme,False,2024-05-02
hats,d3,Sun hat,1,4.5,Bolt,TRUE,2023-01-31
hats,d4,Cap,0,4.25,Bolt,false,2022-12-24
";

fn file(dir: &tempfile::TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn roles(label: &str, query: &str, id: &str, ignore: &[&str]) -> Roles {
    let name = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
    Roles {
        label: name(label),
        query: name(query),
        id: name(id),
        ignore: ignore.iter().map(|&name| name.into()).collect(),
        ..Roles::default()
    }
}

fn ranked(path: &Path, roles: &Roles) -> ordain::Result<RankSet> {
    Ok(read_rank(&[vec![path.into()]], &RankReading { roles: roles.clone(), ..RankReading::default() })?.0)
}

fn refusal(text: impl AsRef<[u8]>, roles: &Roles) -> String {
    let dir = tempfile::tempdir().unwrap();
    let error = ranked(&file(&dir, "t.csv", text), roles).unwrap_err().to_string();
    error.replace(&format!("{}/", dir.path().display()), "")
}

fn rows(set: &RankSet) -> Vec<Vec<f32>> {
    (0..set.rows()).map(|row| (0..set.columns.names.len()).map(|j| at(&set.features, row, j)).collect()).collect()
}

fn at(features: &Features, row: usize, column: usize) -> f32 {
    let mut found = 0.0;
    features.each(row, |j, x| {
        if j == column {
            found = x;
        }
    });
    found
}

#[test]
fn columns_are_taken_by_name_and_by_other_usual_names() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "shop.csv", SHOP);
    let named = ranked(&path, &roles("relevance", "query_id", "doc_id", &["title", "brand", "listed"])).unwrap();
    assert_eq!(named.columns.names, ["bm25", "in_stock"]);
    assert_eq!(rows(&named), [[7.5, 1.0], [3.25, 0.0], [4.5, 1.0], [4.25, 0.0]]);
    assert_eq!((named.query(0), named.document(1).into_owned(), named.grades[0]), ("shoes", "d2".into(), 2.0));
    // relevance, query_id and doc_id are found without being named, and a model remembers them
    let found = ranked(&path, &roles("", "", "", &["title", "brand", "listed"])).unwrap();
    assert_eq!(found, named);
    let beside = found.columns.roles.found_beside(&Roles::default());
    assert_eq!(beside, [("label", "relevance"), ("query", "query_id"), ("id", "doc_id")]);
    // features by name leave all others out
    let only = Roles { features: Some(vec!["in_stock".into(), "bm25".into()]), ..Roles::default() };
    assert_eq!(ranked(&path, &only).unwrap().columns.names, ["in_stock", "bm25"]);
}

/// Blanks are space and tab. A no-break space is a letter of an id, in every syntax.
#[test]
fn only_space_and_tab_are_blanks() {
    let dir = tempfile::tempdir().unwrap();
    let text = "qid,docid,label,a\n q\t,d,1,1\nq\u{a0},d,0,2\n";
    let from_text = ranked(&file(&dir, "t.csv", text), &Roles::default()).unwrap();
    assert_eq!((from_text.query(0), from_text.query(1)), ("q", "q\u{a0}"));
    let table = batch(vec![
        ("qid", Arc::new(StringArray::from(vec![" q\t", "q\u{a0}"])) as ArrayRef),
        ("docid", Arc::new(StringArray::from(vec!["d", "d"]))),
        ("label", Arc::new(Int64Array::from(vec![1, 0]))),
        ("a", Arc::new(Float64Array::from(vec![1.0, 2.0]))),
    ]);
    feather(&dir.path().join("t.feather"), &table, 1);
    assert_eq!(ranked(&dir.path().join("t.feather"), &Roles::default()).unwrap(), from_text);
    let labels = "qid,docid,label,a\nq,d,\u{a0}1,1\n";
    assert!(refusal(labels, &Roles::default()).starts_with("t.csv:2:3: expected "));
}

#[test]
fn a_model_finds_its_columns_again() {
    let dir = tempfile::tempdir().unwrap();
    let roles = roles("stars", "session", "", &["title"]);
    let train = ranked(
        &file(&dir, "a.csv", "session,title,stars,id,x\na,t,1,5,2\na,u,0,6,3\n"),
        &Roles { features: Some(vec!["id".into(), "x".into()]), ignore: vec![], ..roles.clone() },
    )
    .unwrap();
    assert_eq!(train.columns.names, ["id", "x"]);
    // without a grade and without what is left out; a feature named id stays one
    let reading = RankReading {
        roles: train.columns.roles.clone(),
        model: Some(train.columns.names.clone()),
        ..RankReading::default()
    };
    let test = file(&dir, "b.csv", "id,x,session\n7,1,q\n");
    let set = read_rank(&[vec![test]], &reading).unwrap().0;
    assert_eq!((set.columns.names.join(","), set.graded, rows(&set)), ("id,x".into(), false, vec![vec![7.0, 1.0]]));
}

#[test]
fn what_is_no_feature_is_refused_with_the_way_out() {
    let plain = Roles::default();
    assert_eq!(
        refusal(SHOP, &plain),
        "t.csv:2:3: expected a finite number, found \"Red shoe, size 41\" in column \"title\"; ignore=title leaves the column out"
    );
    assert_eq!(
        refusal(SHOP, &roles("", "", "", &["title", "brand"])),
        "t.csv:2:8: expected a finite number, found \"2024-05-01\" in column \"listed\"; input=listed:date reads it as a date; ignore=listed leaves the column out"
    );
    assert_eq!(
        refusal(SHOP, &roles("rel", "", "", &[])),
        "t.csv:1:1: expected a header with the column \"rel\", found \"query_id,doc_id,title,relevance,bm25,brand,in_stock,listed\"; label=rel names it"
    );
    assert_eq!(
        refusal(SHOP, &roles("bm25", "bm25", "", &[])),
        "t.csv: expected one meaning of a column, found \"bm25\" as query and as label"
    );
    assert_eq!(
        refusal("a,b\n1,2\n", &plain),
        "t.csv:1:1: expected a header with a column for the query, such as qid (and label, docid, weight; the rest are features), or a column named labels for items, found \"a,b\"; query=NAME names the column of the query"
    );
    let dir = tempfile::tempdir().unwrap();
    let error = ranked(&file(&dir, "a.txt", "1 qid:1 1:2\n"), &roles("x", "", "", &[])).unwrap_err().to_string();
    assert!(error.contains("expected a table (.csv, .tsv, .parquet or .feather)"), "{error}");
}

#[test]
fn files_of_spreadsheets_are_read_right_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let read = |name: &str, bytes: &[u8]| ranked(&file(&dir, name, bytes), &Roles::default()).map(|set| rows(&set));
    let truth = vec![vec![1.5, -2.0], vec![0.25, 1000.0]];
    let semicolons = "qid;label;x;y\na;1;1,5;-2\na;0;0,25;1000\n";
    assert_eq!(read("a.csv", semicolons.as_bytes()).unwrap(), truth);
    assert_eq!(read("a.csv", format!("sep=;\r\n{}", semicolons.replace('\n', "\r\n")).as_bytes()).unwrap(), truth);
    assert_eq!(read("a.csv", format!("\u{feff}{semicolons}").as_bytes()).unwrap(), truth);
    assert_eq!(read("a.csv", semicolons.replace(';', "\t").as_bytes()).unwrap(), truth);
    assert_eq!(read("a.tsv", semicolons.replace(';', "\t").replace(',', ".").as_bytes()).unwrap(), truth);
    assert_eq!(read("a.csv", semicolons.replace(',', ".").as_bytes()).unwrap(), truth);
    for big in [false, true] {
        let units = "\u{feff}".encode_utf16().chain(semicolons.encode_utf16());
        let bytes: Vec<u8> = units.flat_map(|u| if big { u.to_be_bytes() } else { u.to_le_bytes() }).collect();
        assert_eq!(read("a.csv", &bytes).unwrap(), truth);
    }
    // thousands, and what may be thousands, is never guessed
    let refused = |text: &str| {
        let error = read("a.csv", text.as_bytes()).unwrap_err().to_string();
        error[error.find("a.csv").unwrap()..].to_owned()
    };
    assert!(refused("qid;label;x\na;1;1,234\na;0;2\n").contains("a.csv:2:3: expected one decimal mark"));
    assert!(refused("qid;label;x\na;1;1.234\na;0;2\n").contains("points before three digits, and none elsewhere"));
    assert!(refused("qid;label;x\na;1;1.234\na;0;2,5\n").contains("a point that cuts thousands, among decimal commas"));
    assert!(refused("qid;label;x\na;1;1.5\na;0;2,5\n").contains("decimal points and decimal commas in one file"));
    assert!(refused("qid;label;x\na;1;1.234,5\na;0;2\n").contains("without thousands separators"));
    assert!(refused("qid,label,x\na,1,\"1,234\"\na,0,2\n").contains("without thousands separators"));
    assert!(refused("qid,label,x\na,1,1 234\na,0,2\n").contains("without thousands separators"));
    // three digits are fine where another number tells, and in a file with commas between cells
    assert_eq!(read("a.csv", b"qid;label;x\na;1;1,234\na;0;2,5\n").unwrap(), [[1.234], [2.5]]);
    assert_eq!(read("a.csv", b"qid,label,x\na,1,1.234\na,0,2.345\n").unwrap(), [[1.234], [2.345]]);
    // Latin-1
    assert!(
        read("a.csv", b"qid,label,gr\xf6\xdfe\na,1,1\n").unwrap_err().to_string().contains("names of columns in UTF-8")
    );
    assert!(read("a.csv", b"qid,label,x\n\xe4,1,1\n").unwrap_err().to_string().contains("a query id in UTF-8"));
}

fn parquet(path: &Path, batch: &RecordBatch, group: usize, compression: Compression) {
    let properties =
        WriterProperties::builder().set_max_row_group_row_count(Some(group)).set_compression(compression).build();
    let mut writer =
        ArrowWriter::try_new(std::fs::File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn feather(path: &Path, batch: &RecordBatch, rows: usize) {
    let mut writer =
        arrow_ipc::writer::FileWriter::try_new(std::fs::File::create(path).unwrap(), &batch.schema()).unwrap();
    for start in (0..batch.num_rows()).step_by(rows) {
        writer.write(&batch.slice(start, rows.min(batch.num_rows() - start))).unwrap();
    }
    writer.finish().unwrap();
}

/// A row: grade, query, two numbers that may be missing, a truth value.
type Cells = (i64, i64, Option<f64>, Option<i64>, bool);

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]
    #[test]
    fn every_syntax_of_one_table_gives_one_set(
        cells in prop::collection::vec((0i64..3, 0i64..9, prop::option::of(-1e6f64..1e6), prop::option::of(-99i64..99), any::<bool>()), 1..60),
        group in 1usize..20,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let n = cells.len();
        let show = |x: Option<String>| x.unwrap_or_default();
        let line = |sep: &str, mark: char| {
            let row = |(i, (label, query, x, y, flag)): (usize, &Cells)| {
                let x = show(x.map(|x| x.to_string().replace('.', &mark.to_string())));
                [format!("q{query}"), label.to_string(), format!("d{i}"), x, show(y.map(|y| y.to_string())), flag.to_string()].join(sep)
            };
            let head = ["qid", "label", "docid", "x", "y", "flag"].join(sep);
            [head].into_iter().chain(cells.iter().enumerate().map(row)).collect::<Vec<_>>().join("\n") + "\n"
        };
        let strings = |of: &dyn Fn(usize) -> String| Arc::new(StringArray::from_iter_values((0..n).map(of))) as ArrayRef;
        let keys: DictionaryArray<Int32Type> = cells.iter().map(|c| ["q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8"][c.1 as usize]).collect();
        let table = batch(vec![
            ("qid", Arc::new(keys)),
            ("label", Arc::new(Int64Array::from_iter_values(cells.iter().map(|c| c.0)))),
            ("docid", strings(&|i| format!("d{i}"))),
            ("x", Arc::new(Float64Array::from_iter(cells.iter().map(|c| c.2)))),
            ("y", Arc::new(Int64Array::from_iter(cells.iter().map(|c| c.3)))),
            ("flag", Arc::new(BooleanArray::from_iter(cells.iter().map(|c| Some(c.4))))),
        ]);
        let reading = RankReading { missing: Missing::Mean, ..RankReading::default() };
        let read = |path: PathBuf| {
            let mut set = read_rank(&[vec![path]], &reading).unwrap().0;
            let all = set.all();
            set.fill(Missing::Mean, &all);
            set
        };
        let truth = read(file(&dir, "t.csv", line(",", '.')));
        prop_assert_eq!(&read(file(&dir, "t.tsv", line("\t", '.'))), &truth);
        let many = cells.iter().any(|c| c.2.is_some_and(|x| x.fract() != 0.0)); // else a mark may be in doubt
        if many {
            prop_assert_eq!(&read(file(&dir, "s.csv", line(";", ','))), &truth);
        }
        for (name, codec) in [("a", Compression::UNCOMPRESSED), ("b", Compression::SNAPPY), ("c", Compression::ZSTD(ZstdLevel::default()))] {
            let path = dir.path().join(format!("{name}.parquet"));
            parquet(&path, &table, group, codec);
            prop_assert_eq!(&read(path), &truth);
        }
        let path = dir.path().join("t.feather");
        feather(&path, &table, group);
        prop_assert_eq!(&read(path.clone()), &truth);
        // what another library holds, in parts
        let parts: Vec<RecordBatch> = (0..n).step_by(group).map(|from| table.slice(from, group.min(n - from))).collect();
        let (take, leave) = (["qid".to_owned(), "label".to_owned()], ["docid".to_owned()]);
        let frame = Frame::read(&table.schema(), &parts, &take, &leave).unwrap();
        let raw = read_rank(&[vec![path]], &reading).unwrap().0;
        let stored: Vec<u32> = (0..n).flat_map(|i| frame.features.row(i).iter().map(|x| x.to_bits())).collect();
        let mut input = vec![0; n];
        (0..n).for_each(|row| input[raw.input_row(row)] = row);
        let same = |&row: &usize| (0..3).map(|j| at(&raw.features, row, j).to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(stored, input.iter().flat_map(same).collect::<Vec<_>>());
        prop_assert_eq!(frame.columns.names.join(","), "x,y,flag");
        let queries = cells.iter().map(|c| Some(format!("q{}", c.1))).collect();
        prop_assert_eq!(&frame.taken[0], &("qid".to_owned(), Taken::Words(queries)));
        prop_assert_eq!(&frame.taken[1].1, &Taken::Whole(cells.iter().map(|c| c.0).collect()));
    }
}

#[test]
fn columns_of_another_library_are_taken_by_their_kinds() {
    let column = |array: ArrayRef| {
        let table = batch(vec![("c", array)]);
        Frame::read(&table.schema(), &[table], &["c".into()], &[]).map(|frame| frame.taken[0].1.clone()).unwrap()
    };
    assert_eq!(column(Arc::new(UInt64Array::from(vec![1, 2]))), Taken::Whole(vec![1, 2]));
    assert_eq!(
        column(Arc::new(UInt64Array::from(vec![1, 1 << 63]))),
        Taken::Numbers(vec![1.0, 9_223_372_036_854_775_808u64 as f64])
    );
    assert_eq!(column(Arc::new(BooleanArray::from(vec![true, false]))), Taken::Numbers(vec![1.0, 0.0]));
    let gaps = column(Arc::new(Int64Array::from(vec![Some(1), None])));
    assert!(matches!(gaps, Taken::Numbers(numbers) if numbers[0] > 0.5 && numbers[1].is_nan()));
    assert_eq!(column(Arc::new(Date32Array::from(vec![1]))), Taken::Other("Date32".into()));
    let features = |array: ArrayRef| {
        let table = batch(vec![("c", array)]);
        Frame::read(&table.schema(), &[table], &[], &[]).map(|frame| frame.features.values().to_vec())
    };
    let cents = Decimal128Array::from(vec![150, -25]).with_precision_and_scale(5, 2).unwrap();
    assert_eq!(features(Arc::new(cents)).unwrap(), [1.5, -0.25]);
    let lists = |rows: Vec<Vec<f64>>| {
        let rows = rows.into_iter().map(|row| Some(row.into_iter().map(Some).collect::<Vec<_>>()));
        Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows)) as ArrayRef
    };
    assert_eq!(features(lists(vec![vec![1.0, 2.0], vec![3.0, 4.0]])).unwrap(), [1.0, 2.0, 3.0, 4.0]);
    for (array, text) in [
        (Arc::new(StringArray::from(vec!["red"])) as ArrayRef, "expected columns of numbers, found \"c\" of Utf8"),
        (
            lists(vec![vec![1.0, 2.0], vec![3.0]]),
            "expected vectors of 2 numbers in column \"c\", as in its first row, found others, of List(Float64)",
        ),
        (lists(vec![vec![]]), "expected vectors of 1 to 1048576 numbers in column \"c\", found 0 of them"),
    ] {
        assert_eq!(features(array).unwrap_err().to_string(), text);
    }
}

/// A column of time stamps beside one of years and one of zeros, in every format.
#[test]
fn columns_that_single_precision_blurs_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let rows = |row: &dyn Fn(usize) -> String| (0..40).map(row).collect::<String>();
    let stamp = |i: usize| 1_700_000_000 + 86_400 * (i % 7) + i;
    let rank = |path: PathBuf| {
        let reading = RankReading { missing: Missing::Mean, ..RankReading::default() };
        read_rank(&[vec![path]], &reading).unwrap().0.columns.coarse
    };
    let items = |path: PathBuf| read_labels(&[vec![path]], &LabelReading::default()).unwrap().0.columns.coarse;
    let letor = |more: &str| {
        let line = |i: usize| format!("{} qid:{} 1:{} 2:{} 3:0{} # d{i}\n", i % 2, i / 4, stamp(i), 1990 + i, more);
        format!("#1: seen\n# a comment\n{}", rows(&line))
    };
    assert_eq!(rank(file(&dir, "regular.txt", letor(""))), ["seen"]);
    assert_eq!(rank(file(&dir, "sparse.txt", letor(" 900:0.5"))), ["seen"]);
    // a gap is no 0, but an absent value is one
    assert_eq!(rank(file(&dir, "gap.txt", letor("") + "1 qid:99 1:NULL 2:1 3:0\n")), ["seen"]);
    assert!(rank(file(&dir, "absent.txt", letor("") + "1 qid:99 2:1 3:0\n")).is_empty());
    let blurred = |i: usize| format!("{i},{}\n", stamp(i));
    assert_eq!(rank(file(&dir, "t.csv", format!("qid,seen\n{}", rows(&blurred)))), ["seen"]);
    let comma = |i: usize| format!("{i};1000,{:06}\n", 100 + i);
    assert_eq!(rank(file(&dir, "s.csv", format!("qid;near\n{}", rows(&comma)))), ["near"]);
    let text = |i: usize| format!("{} 0:{} 1:{}\n", i % 3, stamp(i), 1990 + i);
    assert_eq!(items(file(&dir, "labels.svm", rows(&text))), ["0"]);
    file(&dir, "labels.xml", "<labels><label name=\"sea\"/></labels>");
    let head = "@relation r\n@attribute seen numeric\n@attribute year numeric\n@attribute sea {0,1}\n@data\n";
    let dense = |i: usize| format!("{}, {},{}\n", stamp(i), 1990 + i, i % 2);
    assert_eq!(items(file(&dir, "dense.arff", format!("{head}{}", rows(&dense)))), ["seen"]);
    let sparse = |i: usize| format!("{{0 {},1 {}, 2 {}}}\n", stamp(i), 1990 + i, i % 2);
    assert_eq!(items(file(&dir, "sparse.arff", format!("{head}{}", rows(&sparse)))), ["seen"]);
    let table = batch(vec![
        ("qid", Arc::new(Int64Array::from_iter_values(0..40))),
        ("seen", Arc::new(Int64Array::from_iter_values((0..40).map(|i| stamp(i) as i64)))),
        ("year", Arc::new(Float64Array::from_iter_values((0..40).map(|i| 1990.0 + f64::from(i))))),
        ("zero", Arc::new(Float64Array::from(vec![0.0; 40]))),
    ]);
    let path = dir.path().join("t.parquet");
    parquet(&path, &table, 7, Compression::SNAPPY);
    assert_eq!(rank(path), ["seen"]);
    assert_eq!(Frame::read(&table.schema(), &[table], &["qid".into()], &[]).unwrap().columns.coarse, ["seen"]);
}

/// Beyond the first block of 8 MB some rows of every piece are looked at, and all of them as they are stored.
#[test]
fn columns_of_long_files_are_looked_at_too() {
    let dir = tempfile::tempdir().unwrap();
    let text = |end: &str| {
        let line =
            |i: u32| format!("{} qid:{} 1:{}.25 2:{}{}\n", i % 2, i / 4, 1_700_000_000 + i, i % 3, " ".repeat(90));
        (0..90_000).map(line).collect::<String>() + end
    };
    let read = |text: String| {
        assert!(text.len() > 9 << 20);
        read_rank(&[vec![file(&dir, "t.txt", text)]], &RankReading::default()).unwrap().0.columns.coarse
    };
    assert_eq!(read(text("")), ["1"]);
    assert!(read(text("1 qid:x 1:0 2:1\n")).is_empty());
}

#[test]
fn vectors_are_features_place_by_place() {
    let dir = tempfile::tempdir().unwrap();
    let lists = |widths: &[usize]| {
        let row =
            |(i, &width): (usize, &usize)| Some((0..width).map(|j| Some((10 * i + j) as f64)).collect::<Vec<_>>());
        Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(widths.iter().enumerate().map(row))) as ArrayRef
    };
    let fixed = FixedSizeListArray::new(
        Arc::new(Field::new("item", DataType::Float32, true)),
        2,
        Arc::new(Float32Array::from(vec![0.5, 1.5, 2.5, 3.5])),
        None,
    );
    let of = |vector: ArrayRef, fixed: ArrayRef| {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("qid", Arc::new(Int64Array::from(vec![7, 7]))),
            ("label", Arc::new(Int64Array::from(vec![1, 0]))),
            ("embedding", vector),
            ("pair", fixed),
        ];
        batch(columns)
    };
    let path = dir.path().join("v.parquet");
    parquet(&path, &of(lists(&[3, 3]), Arc::new(fixed.clone())), 100, Compression::SNAPPY);
    let set = ranked(&path, &Roles::default()).unwrap();
    assert_eq!(set.columns.names, ["embedding_0", "embedding_1", "embedding_2", "pair_0", "pair_1"]);
    assert_eq!(rows(&set), [[0.0, 1.0, 2.0, 0.5, 1.5], [10.0, 11.0, 12.0, 2.5, 3.5]]);
    parquet(&path, &of(lists(&[3, 2]), Arc::new(fixed)), 100, Compression::SNAPPY);
    let error = ranked(&path, &Roles::default()).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "v.parquet:2:3: expected a vector of 3 numbers, as in the first row, found another in column \"embedding\""
        ),
        "{error}"
    );
}

#[test]
fn typed_cells_that_are_no_features_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let read = |column: ArrayRef| {
        let path = dir.path().join("t.parquet");
        let base: Vec<(&str, ArrayRef)> = vec![("qid", Arc::new(Int64Array::from(vec![1, 1]))), ("x", column)];
        parquet(&path, &batch(base), 100, Compression::SNAPPY);
        let error = ranked(&path, &Roles::default()).unwrap_err().to_string();
        error[error.find("t.parquet").unwrap()..].to_owned()
    };
    assert_eq!(
        read(Arc::new(StringArray::from(vec!["red", "blue"]))),
        "t.parquet:1:2: expected a finite number, found \"red\" in column \"x\"; ignore=x leaves the column out"
    );
    assert_eq!(
        read(Arc::new(Date32Array::from(vec![1, 2]))),
        "t.parquet:1:2: expected a finite number, found Date32 in column \"x\"; input=x:date reads it as a date; ignore=x leaves the column out"
    );
    assert_eq!(
        read(Arc::new(Float64Array::from(vec![Some(1.0), None]))),
        "t.parquet:2:2: expected a value, found null in column \"x\"; missing=zero or missing=mean allows gaps"
    );
    assert_eq!(
        read(Arc::new(Float64Array::from(vec![1.0, 1e300]))),
        "t.parquet:2:2: expected a finite number that a float32 holds, found 1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 in column \"x\""
    );
}

#[test]
fn ids_of_typed_tables_have_no_control_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    let table = batch(vec![
        ("x", Arc::new(Float64Array::from(vec![1.0, 2.0]))),
        ("docid", Arc::new(StringArray::from(vec!["d1", "d2"]))),
        ("qid", Arc::new(StringArray::from(vec!["a", "a\0b"]))),
    ]);
    parquet(&path, &table, 100, Compression::SNAPPY);
    let error = ranked(&path, &Roles::default()).unwrap_err().to_string();
    assert!(error.contains("t.parquet:2:3: expected text without control bytes"), "{error}");
    assert!(error.ends_with("found the byte 0x00 in column \"qid\""), "{error}");
}

/// A page has no checksum, but the head of the file knows the least and the largest number, and the nulls.
/// Rows with text ids: plain, or in a dictionary that holds a word more than the rows do.
fn with_ids(ids: &[Option<&str>], in_dictionary: bool) -> RecordBatch {
    let words: ArrayRef = match in_dictionary {
        false => Arc::new(StringArray::from(ids.to_vec())),
        true => {
            let keys = ids.iter().enumerate().map(|(row, id)| id.map(|_| row as i32));
            let known = ids.iter().map(|id| id.unwrap_or("")).chain(["zzz"]);
            let (keys, known) = (keys.collect::<arrow_array::Int32Array>(), known.collect::<Vec<&str>>());
            Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(StringArray::from(known))))
        }
    };
    let numbers: Vec<f64> = (0..ids.len()).map(|row| row as f64).collect();
    batch(vec![
        ("qid", Arc::new(Int64Array::from(vec![1; ids.len()]))),
        ("docid", words),
        ("x", Arc::new(Float64Array::from(numbers))),
    ])
}

fn written(path: &Path, table: &RecordBatch, properties: parquet::file::properties::WriterPropertiesBuilder) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties.build())).unwrap();
    writer.write(table).unwrap();
    writer.close().unwrap();
}

fn documents(set: &RankSet) -> Vec<String> {
    (0..set.rows()).map(|row| set.document(row).into_owned()).collect()
}

#[test]
fn texts_that_contradict_the_statistics_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    let ids = [Some("id-d"), Some("id-b"), None, Some("id-a"), Some("id-c")];
    for (group, in_dictionary, packed_as_dictionary) in
        [(3, false, false), (100, false, false), (3, false, true), (100, true, true), (100, true, false)]
    {
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group));
        written(&path, &with_ids(&ids, in_dictionary), properties.set_dictionary_enabled(packed_as_dictionary));
        let good = std::fs::read(&path).unwrap();
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            ranked(&path, &Roles::default()).map(|set| documents(&set)).map_err(|error| error.to_string())
        };
        assert_eq!(read(&good).unwrap(), ["id-d", "id-b", "3", "id-a", "id-c"]);
        // in pages a length stands before a text: one that was the largest lies within the bounds or beyond them
        let place = b"\x04\0\0\0id-d";
        let at = (0..good.len()).find(|&at| good[at..].starts_with(place)).unwrap() + 7;
        for letter in [b'b', b'e', b'A'] {
            let mut bytes = good.clone();
            bytes[at] = letter;
            if letter == b'b' {
                read(&bytes).unwrap();
                continue;
            }
            let error = read(&bytes).unwrap_err();
            assert!(error.contains("other values in column \"docid\" than its statistics tell of"), "{error}");
        }
    }
}

#[test]
fn bounds_that_are_cut_are_only_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    let ids = [Some("item-5"), Some("item-3"), Some("item-4")];
    let properties = WriterProperties::builder().set_statistics_truncate_length(Some(5)).set_dictionary_enabled(false);
    written(&path, &with_ids(&ids, false), properties);
    let good = std::fs::read(&path).unwrap();
    let at = (0..good.len()).find(|&at| good[at..].starts_with(b"item-5")).unwrap();
    for (place, letter, fine) in [(5, b'9', true), (3, b'z', false), (0, b'a', false)] {
        let mut bytes = good.clone();
        bytes[at + place] = letter;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(ranked(&path, &Roles::default()).is_ok(), fine, "{}", letter as char);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(120)))]
    #[test]
    fn whole_files_of_text_are_never_refused(
        ids in prop::collection::vec(prop::option::weighted(0.9, "[a-c\u{e9}\u{1F600}]{0,5}"), 1..40),
        group in 1usize..20,
        cut in prop::option::of(1usize..5),
        (in_dictionary, packed_as_dictionary, second) in any::<(bool, bool, bool)>(),
    ) {
        use parquet::file::properties::{EnabledStatistics, WriterVersion};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.parquet");
        let ids: Vec<Option<&str>> = ids.iter().map(|id| id.as_deref()).collect();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(group))
            .set_statistics_truncate_length(cut)
            .set_dictionary_enabled(packed_as_dictionary)
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_writer_version(if second { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 });
        written(&path, &with_ids(&ids, in_dictionary), properties);
        let named = |(row, id): (usize, &Option<&str>)| id.filter(|id| !id.is_empty()).map_or((row + 1).to_string(), str::to_owned);
        let expected: Vec<String> = ids.iter().enumerate().map(named).collect();
        let set = ranked(&path, &Roles::default()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(documents(&set), expected);
    }
}

#[test]
fn a_damaged_schema_of_arrow_is_refused() {
    use base64::{Engine, prelude::BASE64_STANDARD};
    use parquet::arrow::arrow_writer::ArrowWriterOptions;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    let table = with_ids(&[Some("a"), Some("b")], false);
    let read = |schema: &[u8]| {
        let pair = parquet::file::metadata::KeyValue::new("ARROW:schema".into(), BASE64_STANDARD.encode(schema));
        let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![pair])).build();
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let file = std::fs::File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new_with_options(file, table.schema(), options).unwrap();
        writer.write(&table).unwrap();
        writer.close().unwrap();
        ranked(&path, &Roles::default()).map(|set| set.rows()).map_err(|error| error.to_string())
    };
    let good = BASE64_STANDARD.decode(parquet::arrow::encode_arrow_schema(&table.schema())).unwrap();
    assert_eq!(read(&good), Ok(2));
    assert_eq!(read(&[&good[..], &[0; 8]].concat()), Ok(2)); // what stands behind it is not read
    let with = |at: usize, bytes: &[u8]| {
        let mut schema = good.clone();
        schema[at..at + bytes.len()].copy_from_slice(bytes);
        schema
    };
    let longer = (good.len() as u32).to_le_bytes();
    assert!(read(&with(4, &longer)).unwrap_err().contains("reach beyond its end"));
    // wherever a byte makes another version of it, or zeros a name that begins nowhere
    let (mut versions, mut names) = (0, 0);
    for at in 8..good.len() - 4 {
        let version = with(at, &[2]);
        if arrow_ipc::root_as_message(&version[8..]).is_ok_and(|head| head.version() == arrow_ipc::MetadataVersion::V3)
        {
            assert!(read(&version).unwrap_err().contains("Arrow's version 3, not 4 or 5"));
            versions += 1;
        }
        let nowhere = with(at, &[0; 4]);
        let Ok(head) = arrow_ipc::root_as_message(&nowhere[8..]) else { continue };
        let fields = head.header_as_schema().and_then(|schema| schema.fields()).into_iter().flatten();
        if at % 4 == 0 && fields.map(|field| field.name()).collect::<Vec<_>>() == [Some("qid"), Some(""), Some("x")] {
            read(&nowhere).unwrap_err();
            names += 1;
        }
    }
    assert!(versions > 0 && names > 0, "{versions} {names}");
}

/// As polars writes it: the columns at the beginning have no length before them. They are compared with those at the end all the same.
#[test]
fn a_feather_file_of_polars_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.feather");
    feather(&path, &with_ids(&[Some("a"), Some("b")], false), 2);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = (8..=64).step_by(8).find(|&at| bytes[at..at + 4] == [0xff; 4]).unwrap();
    let len = u32::from_le_bytes(*bytes[at + 4..].first_chunk().unwrap()) as usize;
    bytes.copy_within(at + 8..at + 8 + len, at);
    bytes[at + len..at + len + 8].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(ranked(&path, &Roles::default()).unwrap().rows(), 2);
    let name = (at..at + len).find(|&place| bytes[place..].starts_with(b"qid")).unwrap();
    bytes[name + 2] = b'e';
    std::fs::write(&path, &bytes).unwrap();
    let error = ranked(&path, &Roles::default()).unwrap_err().to_string();
    assert!(error.contains("other columns at its beginning than at its end"), "{error}");
}

#[test]
fn a_feather_file_whose_heads_are_damaged_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.feather");
    let ids: Vec<String> = (0..200).map(|row| format!("document {row}")).collect();
    let table = with_ids(&ids.iter().map(|id| Some(&**id)).collect::<Vec<_>>(), false);
    let options = arrow_ipc::writer::IpcWriteOptions::default();
    let options = options.try_with_compression(Some(arrow_ipc::CompressionType::LZ4_FRAME)).unwrap();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = arrow_ipc::writer::FileWriter::try_new_with_options(file, &table.schema(), options).unwrap();
    writer.write(&table).unwrap();
    writer.finish().unwrap();
    let good = std::fs::read(&path).unwrap();
    let read = |at: usize, bytes: &[u8]| {
        let mut changed = good.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        std::fs::write(&path, changed).unwrap();
        ranked(&path, &Roles::default()).map(|set| set.rows()).map_err(|error| error.to_string())
    };
    assert_eq!(read(0, b"ARROW1"), Ok(200));
    // the heads of the columns and of the batch, each behind its mark and its length
    let footer = &good[good.len() - 10 - u32::from_le_bytes(*good[..good.len() - 6].last_chunk().unwrap()) as usize..];
    let footer = arrow_ipc::root_as_footer(footer).unwrap();
    let block = footer.recordBatches().unwrap().get(0);
    let (at, len) = (block.offset() as usize, block.metaDataLength() as usize);
    for other in [0, len as i32 - 16, len as i32, -1] {
        assert!(read(at + 4, &other.to_le_bytes()).unwrap_err().contains("has another length than it says"));
    }
    let head = arrow_ipc::root_as_message(&good[at + 8..at + len]).unwrap().header_as_record_batch().unwrap();
    let (mut packed, mut nowhere) = (0, 0);
    for part in head.buffers().unwrap().iter().filter(|part| part.length() % 8 != 0) {
        let pair = [part.offset().to_le_bytes(), part.length().to_le_bytes()].concat();
        let place = at + (0..len).find(|&at_| good[at + at_..].starts_with(&pair)).unwrap();
        // a byte of what fills the part up to a multiple of eight
        match read(place + 8, &(part.length() + 1).to_le_bytes()) {
            Err(error) => packed += usize::from(error.contains("ends elsewhere than it says")),
            Ok(_) => assert!(good[at + len + part.offset() as usize..].starts_with(&[0xff; 8])), // not packed
        }
    }
    for place in (at + 8..at + len).step_by(4) {
        nowhere += usize::from(read(place, &[0; 4]).is_err_and(|error| error.contains("begin nowhere")));
    }
    assert!(packed > 0 && nowhere >= 3, "{packed} {nowhere}");
}

#[test]
fn numbers_that_contradict_the_statistics_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    for group in [3, 100] {
        let numbers = [7.5, 3.25, 4.5, -2.0, 0.125];
        let table = batch(vec![
            ("qid", Arc::new(Int64Array::from(vec![1; 5]))),
            ("x", Arc::new(Float64Array::from(numbers.to_vec()))),
            ("y", Arc::new(UInt64Array::from(vec![Some(1), None, Some(u64::MAX), Some(0), Some(5)]))),
            ("z", Arc::new(Float32Array::from(vec![f32::NAN, 2.0, f32::NAN, -0.0, 1.0]))),
        ]);
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group));
        let properties = properties.set_dictionary_enabled(false).build();
        let mut writer =
            ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), table.schema(), Some(properties)).unwrap();
        writer.write(&table).unwrap();
        writer.close().unwrap();
        let reading = RankReading { missing: Missing::Zero, ..RankReading::default() };
        let read = || read_rank(&[vec![path.clone()]], &reading);
        assert_eq!(read().unwrap().0.rows(), 5);
        // the first number of the page of x
        let mut bytes = std::fs::read(&path).unwrap();
        let page: Vec<u8> = numbers[..group.min(5)].iter().flat_map(|x| x.to_le_bytes()).collect();
        let at = (0..bytes.len() - page.len()).find(|&at| bytes[at..].starts_with(&page)).unwrap();
        bytes[at..at + 8].copy_from_slice(&3.5f64.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        let error = read().unwrap_err().to_string();
        assert!(error.contains("other values in column \"x\" than its statistics tell of"), "{error}");
    }
}

#[test]
fn items_and_edges_come_from_tables_of_columns_too() {
    let dir = tempfile::tempdir().unwrap();
    let strings = |words: &[&str]| Arc::new(StringArray::from(words.to_vec())) as ArrayRef;
    let path = dir.path().join("photos.parquet");
    let table = batch(vec![
        ("photo", strings(&["p", "q"])),
        ("blue", Arc::new(Float64Array::from(vec![0.5, 0.25]))),
        ("labels", strings(&["sea;sky", "wood"])),
    ]);
    parquet(&path, &table, 1, Compression::SNAPPY);
    let reading = LabelReading { roles: roles("", "", "photo", &[]), ..LabelReading::default() };
    let set = read_labels(&[vec![path]], &reading).unwrap().0;
    assert_eq!(
        (set.labels.join(","), set.item(1).into_owned(), set.yes(1)),
        ("sea,sky,wood".into(), "q".into(), &[2][..])
    );
    let path = dir.path().join("links.feather");
    let table = batch(vec![
        ("a", strings(&["x", "y"])),
        ("b", Arc::new(Int64Array::from(vec![1, 2]))),
        ("likeness", Arc::new(Float32Array::from(vec![0.5, 0.25]))),
        ("same", Arc::new(BooleanArray::from(vec![Some(true), None]))),
    ]);
    feather(&path, &table, 1);
    let roles =
        Roles { left: Some("a".into()), right: Some("b".into()), matched: Some("same".into()), ..Roles::default() };
    let set = read_matches(&[vec![path]], &MatchReading { roles, ..MatchReading::default() }).unwrap().0;
    assert_eq!(set.problem(0).truth, [Truth::Yes, Truth::Unknown]);
    assert_eq!((set.problem(0).right.join(","), set.columns.names.join(",")), ("1,2".into(), "likeness".into()));
}

/// A gap is the mean, and a column says where it was; so it is for a model on other data.
#[test]
fn indicators_stand_beside_columns_with_gaps() {
    use ordain::method::RankMethod;
    use ordain::solver::run::Watch;
    use ordain::task::{Method, Model, Training};
    let dir = tempfile::tempdir().unwrap();
    let text: String = (0..40)
        .map(|i| format!("{},q{},{},{}\n", i % 3, i / 4, if i % 5 == 0 { String::new() } else { i.to_string() }, i % 7))
        .collect();
    let path = file(&dir, "t.csv", format!("label,qid,x,y\n{text}"));
    let reading = RankReading { missing: Missing::Indicator, ..RankReading::default() };
    let mut set = read_rank(&[vec![path.clone()]], &reading).unwrap().0;
    let all = set.all();
    let filled = set.fill(Missing::Indicator, &all);
    assert_eq!(set.columns.names, ["x", "y", "x_missing"]);
    assert_eq!([5, 6].map(|row| at(&set.features, row, 2) as u8), [1, 0]);
    assert!((at(&set.features, 5, 0) - filled.means().unwrap()[0]).abs() < f32::EPSILON);
    let method: RankMethod = "ranksvm[lambda=1,scale=global]".parse().unwrap();
    let fitted = method.fit(&Training { filled, ..Training::new(&set, &all) }, &Watch::NOBODY).unwrap();
    assert_eq!(fitted.model.inputs.given(), ["x", "y"]);
    let bytes = ordain::model_file::to_bytes(&fitted);
    let again: ordain::task::Fitted<ordain::method::Rank> =
        ordain::model_file::from_bytes(&bytes, Path::new("m")).unwrap();
    assert_eq!(again, fitted);
    let raw = read_rank(&[vec![path]], &reading).unwrap().0;
    let scores = |set: &RankSet| again.model.scores(&again.model.prepare(set).unwrap()).unwrap();
    assert_eq!(scores(&raw), scores(&set));
}
