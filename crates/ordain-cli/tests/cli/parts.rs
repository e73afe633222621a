//! Parts of data: by time, what stands in two of them, and which columns a later one has left.

use crate::data;
use crate::support::{Place, has_fields, ordain, well};
use std::fmt::Write;

/// A table with a day for each document; later queries are newer, but for every third.
fn dated(queries: usize) -> String {
    let mut text = "qid,docid,label,day,a,b\n".to_owned();
    for row in data::rows(queries, 4) {
        let q: usize = row.query[1..].parse().unwrap();
        let day = if q.is_multiple_of(3) { 1 } else { q };
        let (a, b) = (row.values[0], row.values[2]);
        writeln!(text, "{},{},{},2024-01-{day:02},{a},{b}", row.query, row.document, row.grade).unwrap();
    }
    text
}

/// The rows of a file with one feature multiplied.
fn scaled(queries: usize, seed: u64, by: f64) -> String {
    let mut rows = data::rows(queries, seed);
    rows.iter_mut().for_each(|row| row.values[2] *= by);
    data::letor_of(&rows)
}

#[test]
fn columns_that_left_their_range_are_said() {
    let place = Place::trained();
    let model = place.at("model.ordain");
    let near = place.write("near.txt", &scaled(12, 2, 1.0));
    let far = place.write("far.txt", &scaled(12, 2, 100.0));
    for command in ["predict", "evaluate"] {
        let quiet = well(&[command, &model, &near]);
        assert!(!quiet.err.contains("in training"), "{}", quiet.err);
        let said = well(&[command, &model, &far]).err;
        assert!(said.contains(": 3: ") && said.contains("of rows above ") && said.contains("of rows below "), "{said}");
        assert!(said.contains("the largest value in training (up to "), "{said}");
        assert!(!said.contains(": 1: "), "the other columns are as they were: {said}");
        assert_eq!(well(&[command, &model, &far, "--quiet"]).err, "");
    }
    let ranges = well(&["inspect", &model, "--json"]).json()["ranges"].clone();
    let (names, first) = (ranges.as_object().unwrap(), ranges["1"].as_array().unwrap());
    assert_eq!((names.len(), first.len()), (5, 7));
    assert!(first.windows(2).all(|pair| pair[0].as_f64() <= pair[1].as_f64()), "{first:?}");
}

#[test]
fn the_newest_units_choose() {
    let place = Place::empty();
    let table = place.write("t.csv", &dated(30));
    let fit = |name: &str, more: &[&str]| ordain(&[&["fit", "ranksvm", &table, "-o", &place.at(name)], more].concat());
    let done = fit("m.ordain", &["--split-by", "day"]).code(0);
    assert!(done.err.contains("the newest 6 by day choose, of 30 queries"), "{}", done.err);
    let header = well(&["inspect", &place.at("m.ordain"), "--json"]).json();
    assert_eq!(header["features"]["names"], serde_json::json!(["a", "b"]), "the moment is no feature");
    well(&["predict", &place.at("m.ordain"), &table]);
    // the same as a file of the newest
    let rows = |wanted: &dyn Fn(usize) -> bool| {
        let of =
            |line: &&str| line.strip_prefix('q').and_then(|l| l.split(',').next()?.parse().ok()).is_some_and(wanted);
        let text = dated(30);
        let head = text.lines().next().unwrap().to_owned();
        text.lines().filter(of).fold(head, |all, line| all + "\n" + line) + "\n"
    };
    // of days 29, 28, 26, 25, 23, 22 the sixth newest is 22; multiples of three are old
    let newest = |q: usize| q >= 22 && !q.is_multiple_of(3);
    let (rest, new) = (place.write("rest.csv", &rows(&|q| !newest(q))), place.write("new.csv", &rows(&newest)));
    let words = ["fit", "ranksvm", &rest, "--valid", &new, "-o", &place.at("two.ordain"), "--ignore", "day", "--json"];
    let two = well(&words).json();
    let one = fit("one.ordain", &["--split-by", "day", "--json"]).code(0).json();
    assert_eq!(one["settings"], two["settings"]);
    // auto and compare know it too
    let auto = well(&["fit", "auto", &table, "-o", &place.at("a.ordain"), "--candidates", "1", "--split-by", "day"]);
    assert!(auto.err.contains("the newest 6 by day choose"), "{}", auto.err);
    let report = well(&["compare", "ranksvm", "--train", &table, "--split-by", "day", "--json"]).json();
    assert_eq!(report["units"], 6);
    fit("x.ordain", &["--split-by", "docid", "--ignore", "day"]).code(1).says("a number in every row, or a date");
    fit("x.ordain", &["--split-by", "never", "--ignore", "day"]).code(1).says("never");
    ordain(&["compare", "ranksvm", "--cv", "3", &table, "--split-by", "day"]).code(2);
}

#[test]
fn what_stands_in_both_parts_is_found() {
    let place = Place::empty();
    let (first, second) = (data::rows(10, 1), data::rows(6, 2));
    let train = place.write("train.txt", &data::letor_of(&first));
    let mut test = second;
    test[3].values = first[5].values.clone();
    let test = place.write("test.txt", &data::letor_of(&test));
    let done = well(&["inspect", &train, &test]);
    for text in ["queries of the same name", "documents of the same values", "1 of ", "documents of the same id"] {
        assert!(done.out.contains(text), "no {text:?} in\n{}", done.out);
    }
    let json = well(&["inspect", &train, &test, "--json"]).json();
    has_fields(&json, &["task", "unit", "parts", "both"]);
    assert_eq!(json["both"]["rows"]["count"], 1);
    assert_eq!((&json["both"]["names"]["count"], &json["both"]["names"]["of"]), (&6.into(), &6.into()));
    assert_eq!(json["both"]["units"]["count"], 0);
    let same = well(&["inspect", &train, &train, "--json"]).json();
    assert_eq!((&same["both"]["units"]["count"], &same["parts"][0]["units"]), (&10.into(), &10.into()));
    // texts, which are no numbers
    let a = place.write("a.csv", "qid,label,title,x\n1,0,red shoe,1\n1,1,blue boot,2\n");
    let b = place.write("b.csv", "qid,label,title,x\n2,0,red shoe ,3\n2,1,hat,4\n");
    let json = well(&["inspect", &a, &b, "--input", "title:text", "--json"]).json();
    let texts = &json["both"]["texts"][0];
    assert_eq!((&texts["column"], &texts["count"], &texts["of"]), (&"title".into(), &1.into(), &2.into()));
    assert_eq!(json["both"]["rows"]["count"], 0);
    let model = Place::trained();
    ordain(&["inspect", &model.at("model.ordain"), &train]).code(2).says("inspect A B is for two parts of data");
}
