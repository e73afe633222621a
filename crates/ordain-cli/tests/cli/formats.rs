//! Reading and writing: standard input, tables, packed files, conversions and the names of features.

use crate::data::{self, NAMES};
use crate::support::{Place, near, ordain, piped, well};
use serde_json::Value;

/// Fits with fixed settings and gives the JSON of the model.
fn fitted(place: &Place, train: &str, model: &str) -> Value {
    well(&["fit", "ranksvm", train, "-o", &place.at(model), "--set=lambda=1", "--set=scale=query"]);
    well(&["inspect", &place.at(model), "--json"]).json()
}

/// The scores of a file.
fn scores(place: &Place, model: &str, data: &str) -> Vec<f64> {
    let done = well(&["predict", &place.at(model), data]);
    done.out.lines().map(|line| line.parse().unwrap()).collect()
}

/// Checks that two lists hold the same numbers, but for rounding.
fn all_near(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).for_each(|(&a, &b)| near(a, b));
}

#[test]
fn standard_input() {
    let place = Place::trained();
    let (model, test, text) = (place.at("model.ordain"), place.at("test.txt"), place.read("test.txt"));
    let done = piped(&["evaluate", &model, "-", "--json"], text.as_bytes()).code(0);
    assert_eq!(done.out, well(&["evaluate", &model, &test, "--json"]).out);
    let done = piped(&["predict", &model, "-"], text.as_bytes()).code(0);
    assert_eq!(done.out, well(&["predict", &model, &test]).out);
    let train = place.read("train.txt");
    let words = ["fit", "ranksvm", "-", "-o", &place.at("in.ordain"), "--set=lambda=0.1", "--set=scale=query"];
    piped(&words, train.as_bytes()).code(0);
    assert_eq!(place.bytes("in.ordain"), place.bytes("model.ordain"));
    let done = piped(&["inspect", "-"], b"1 qid:1 1:0.5\n0 qid:1 oops\n").code(1);
    assert!(done.err.contains(":2:9: expected index:value"), "{}", done.err);
}

#[test]
fn packed_standard_input_and_plain_standard_output() {
    let place = Place::trained();
    well(&["convert", &place.at("test.txt"), &place.at("test.txt.gz")]);
    let done = piped(&["convert", "-", "-"], &place.bytes("test.txt.gz")).code(0);
    assert_eq!(done.out, place.read("test.txt"));
}

#[test]
fn tables_and_letor_give_the_same_scores() {
    let place = Place::empty();
    let (train, test) = (data::rows(20, 1), data::rows(8, 2));
    let order = [0, 1, 2, 3, 4];
    let letor = place.write("train.txt", &data::letor_of(&train));
    let csv = place.write("train.csv", &data::table_of(&train, ',', &order));
    let tsv = place.write("train.tsv", &data::table_of(&train, '\t', &order));
    fitted(&place, &letor, "letor.ordain");
    fitted(&place, &csv, "csv.ordain");
    fitted(&place, &tsv, "tsv.ordain");
    assert_eq!(place.bytes("csv.ordain"), place.bytes("tsv.ordain"));
    let expected = scores(&place, "letor.ordain", &place.write("test.txt", &data::letor_of(&test)));
    for (name, delimiter) in [("test.csv", ','), ("test.tsv", '\t')] {
        let file = place.write(name, &data::table_of(&test, delimiter, &order));
        all_near(&scores(&place, "csv.ordain", &file), &expected);
    }
}

#[test]
fn columns_in_another_order_are_put_right() {
    let place = Place::empty();
    let rows = data::rows(20, 1);
    let right = place.write("right.csv", &data::table_of(&rows, ',', &[0, 1, 2, 3, 4]));
    let turned = place.write("turned.csv", &data::table_of(&rows, ',', &[4, 2, 0, 1, 3]));
    let model = fitted(&place, &right, "m.ordain");
    assert_eq!(model["features"]["names"], Value::from(NAMES.to_vec()));
    let by_name = scores(&place, "m.ordain", &turned);
    all_near(&by_name, &scores(&place, "m.ordain", &right));
    let model = place.at("m.ordain");
    let evaluate = |file: &str| well(&["evaluate", &model, file, "--json", "--per-query"]).out;
    assert_eq!(evaluate(&turned), evaluate(&right));
}

#[test]
fn a_missing_or_extra_named_feature_is_an_error() {
    let place = Place::empty();
    let rows = data::rows(20, 1);
    let right = place.write("right.csv", &data::table_of(&rows, ',', &[0, 1, 2, 3, 4]));
    fitted(&place, &right, "m.ordain");
    let model = place.at("m.ordain");
    let less = place.write("less.csv", &data::table_of(&rows, ',', &[0, 1, 2, 4]));
    ordain(&["predict", &model, &less]).code(1).silent().says("less.csv").says("missing: links");
    let more = place.write("more.csv", &place.read("right.csv").replacen("length\n", "length,colour\n", 1));
    let text = place.read("more.csv");
    let (head, body) = text.split_once('\n').unwrap();
    let body: String = body.lines().map(|line| format!("{line},1\n")).collect();
    place.write("more.csv", &format!("{head}\n{body}"));
    ordain(&["evaluate", &model, &more]).code(1).silent().says("more.csv").says("colour");
    // numbers are no names
    let letor = place.write("numbers.txt", &data::letor_of(&rows));
    ordain(&["predict", &model, &letor]).code(1).silent().says("missing");
}

#[test]
fn an_extra_numbered_feature_warns_and_carries_no_weight() {
    let place = Place::trained();
    let more = place.read("test.txt").replace(" #docid", " 6:3.5 9:1 #docid");
    let file = place.write("more.txt", &more);
    let model = place.at("model.ordain");
    let done = well(&["predict", &model, &file]);
    assert_eq!(done.out, well(&["predict", &model, &place.at("test.txt")]).out);
    assert!(done.err.contains("warning") && done.err.contains("more.txt"), "{}", done.err);
    assert_eq!(well(&["predict", &model, &file, "--quiet"]).err, "");
}

#[test]
fn an_absent_numbered_feature_is_zero() {
    let place = Place::trained();
    let zero: String = place.read("test.txt").lines().map(|line| set_feature(line, 4, Some("0"))).collect();
    let absent: String = place.read("test.txt").lines().map(|line| set_feature(line, 4, None)).collect();
    let (zero, absent) = (place.write("zero.txt", &zero), place.write("absent.txt", &absent));
    all_near(&scores(&place, "model.ordain", &zero), &scores(&place, "model.ordain", &absent));
}

/// A line with one feature changed or left out.
fn set_feature(line: &str, index: usize, value: Option<&str>) -> String {
    let start = format!("{index}:");
    let words = line.split(' ').filter_map(|word| match (word.starts_with(&start), value) {
        (true, Some(value)) => Some(format!("{start}{value}")),
        (true, None) => None,
        _ => Some(word.to_owned()),
    });
    words.collect::<Vec<_>>().join(" ") + "\n"
}

#[test]
fn packed_files_are_read_whatever_their_name() {
    let place = Place::trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.txt"));
    let expected = well(&["predict", &model, &test]).out;
    for name in ["t.txt.gz", "t.txt.zst"] {
        well(&["convert", &test, &place.at(name)]);
        assert!(place.bytes(name).len() < place.bytes("test.txt").len());
        assert_eq!(well(&["predict", &model, &place.at(name)]).out, expected);
        std::fs::rename(place.at(name), place.at("plain.txt")).unwrap();
        assert_eq!(well(&["predict", &model, &place.at("plain.txt")]).out, expected);
    }
    let gz = place.at("cut.txt.gz");
    well(&["convert", &test, &gz]);
    let bytes = place.bytes("cut.txt.gz");
    std::fs::write(&gz, &bytes[..bytes.len() / 2]).unwrap();
    ordain(&["predict", &model, &gz]).code(1).silent().says("cut.txt.gz");
}

#[test]
fn letor_to_table_and_back_keeps_all_values() {
    let place = Place::trained();
    let (csv, back, again) = (place.at("t.csv"), place.at("back.txt"), place.at("again.csv"));
    well(&["convert", &place.at("test.txt"), &csv]);
    let head = place.read("t.csv").lines().next().unwrap().to_owned();
    assert!(head.starts_with("label,qid,docid,"), "{head}");
    well(&["convert", &csv, &back]);
    well(&["convert", &back, &again]);
    assert_eq!(place.read("t.csv"), place.read("again.csv"));
    let rows = |text: String| text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(rows(place.read("back.txt")), rows(place.read("test.txt")));
}

#[test]
fn a_converted_file_still_fits_the_model_of_the_original() {
    let place = Place::trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.txt"));
    let expected = well(&["predict", &model, &test]).out;
    let csv = place.at("t.csv");
    well(&["convert", &test, &csv]);
    assert_eq!(well(&["predict", &model, &csv]).out, expected);
    let back = place.at("back.txt");
    well(&["convert", &csv, &back]);
    assert_eq!(well(&["predict", &model, &back]).out, expected);
}

#[test]
fn sparse_rows_to_table_and_back_keep_all_values() {
    let place = Place::empty();
    let sparse = place.write("s.txt", &data::sparse(40, 3));
    well(&["convert", &sparse, &place.at("copy.txt")]);
    assert_eq!(place.read("copy.txt"), place.read("s.txt"));
    let tsv = place.at("s.tsv.zst");
    well(&["convert", &sparse, &tsv]);
    well(&["convert", &tsv, &place.at("back.txt")]);
    let values = |text: String| -> Vec<Vec<(String, f64)>> {
        let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let pairs = line.split(' ').skip(2).map(|pair| pair.split_once(':').unwrap());
            let pairs = pairs.map(|(j, x)| (j.to_owned(), x.parse::<f64>().unwrap()));
            pairs.filter(|(_, x)| *x != 0.0).collect()
        });
        rows.collect()
    };
    assert_eq!(values(place.read("back.txt")), values(place.read("s.txt")));
}

#[test]
fn weights_of_rows_are_not_lost_in_silence() {
    let place = Place::empty();
    let table = place.write("w.csv", "label,qid,weight,age\n1,a,2,3\n0,a,1,4\n");
    well(&["convert", &table, &place.at("w.tsv")]);
    assert_eq!(place.read("w.tsv"), "label\tqid\tweight\tage\n1\ta\t2\t3\n0\ta\t1\t4\n");
    let done = ordain(&["convert", &table, &place.at("w.txt")]);
    assert!(done.err.contains("weight"), "LETOR text has no weights, and nothing was said:\n{}", done.err);
}

#[test]
fn sizes_of_queries_in_a_file_beside() {
    let place = Place::empty();
    place.write("rank.train.query", "2\n3\n");
    let data = place.write("rank.train", "1 1:1\n0 1:2\n0 1:3\n2 1:4\n1 1:5\n");
    let value = well(&["inspect", &data, "--json"]).json();
    assert_eq!((&value["units"], &value["rows"]), (&2.into(), &5.into()));
    place.write("rank.train.query", "2\n4\n");
    ordain(&["inspect", &data]).code(1).silent().says("rank.train.query").says("5 rows");
}

#[test]
fn windows_line_ends_and_a_byte_order_mark() {
    let place = Place::trained();
    let text = place.read("test.txt");
    let file = place.write("windows.txt", &format!("\u{feff}{}", text.trim_end().replace('\n', "\r\n")));
    let model = place.at("model.ordain");
    assert_eq!(well(&["predict", &model, &file]).out, well(&["predict", &model, &place.at("test.txt")]).out);
    let rows = data::rows(3, 1);
    let csv = place.write("t.csv", &data::table_of(&rows, ',', &[0, 1]));
    let windows = format!("\u{feff}{}", place.read("t.csv").replace('\n', "\r\n"));
    let windows = place.write("w.csv", &windows);
    let evaluate = |file: &str| well(&["evaluate", file, "--feature=title", "--json"]).out;
    assert_eq!(evaluate(&csv), evaluate(&windows));
}

#[test]
fn grades_are_not_made_up_in_silence() {
    let place = Place::empty();
    let table = place.write("new.csv", "qid,age\na,3\na,4\n");
    let done = ordain(&["convert", &table, &place.at("new.txt")]);
    assert!(done.err.contains("grade") || done.err.contains("label"), "grades of 0 were written:\n{}", done.err);
    ordain(&["convert", &table, &place.at("new.qrels")]).code(1).says("label");
}

#[test]
fn ids_with_spaces_are_refused_where_the_format_has_no_room_for_them() {
    let place = Place::empty();
    let query = place.write("query.csv", "label,qid,docid,age\n1,new york,a,2\n0,new york,c,1\n");
    let document = place.write("document.csv", "label,qid,docid,age\n1,q,a b,2\n0,q,c,1\n");
    let model = place.at("m.ordain");
    well(&["fit", "ranksvm", &query, "-o", &model, "--set=lambda=1"]);
    ordain(&["convert", &query, &place.at("o.txt")]).code(1).silent().says("white space").says("new york");
    for data in [&query, &document] {
        ordain(&["convert", data, &place.at("o.qrels")]).code(1).silent().says("white space");
        ordain(&["predict", &model, data, "--run=me"]).code(1).silent().says("white space");
    }
    ordain(&["convert", &document, &place.at("o.txt")]).code(1).silent().says("white space").says("a b");
}

#[test]
fn a_model_from_standard_input() {
    let place = Place::trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.txt"));
    let done = piped(&["predict", "-", &test], &place.bytes("model.ordain")).code(0);
    assert_eq!(done.out, well(&["predict", &model, &test]).out);
}
