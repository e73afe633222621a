//! `ordain convert --queries`: ranking data made of items.

use crate::support::{Place, ordain, well};

const TABLE: &str = "photo,kind,name,blue,green\np1,sea,a,9,1\np2,forest,b,2,8\np3,sea,c,8,3\np4,city,d,4,4\n\
                     p5,forest,e,1,7\np6,city,f,5,5\n";

fn place() -> (Place, String) {
    let place = Place::empty();
    let table = place.write("photos.csv", TABLE);
    (place, table)
}

#[test]
fn every_category_asks_for_its_items() {
    let (place, table) = place();
    let common = ["--queries", "category=kind", "--id", "photo", "--ignore", "name"];
    let out = place.at("all.txt");
    well(&[&["convert", &table, &out], &common[..]].concat()).silent().says("wrote 18 documents of 3 queries");
    let text = place.read("all.txt");
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows[..4], ["#1: blue", "#2: green", "1 qid:sea 1:9 2:1 #docid = p1", "0 qid:sea 1:2 2:8 #docid = p2"]);
    let done = well(&[&["convert", &table, &place.at("odd.csv"), "--rows", "odd", "--json"], &common[..]].concat());
    assert_eq!((&done.json()["rows"], &done.json()["units"]), (&6.into(), &2.into())); // sea is on none of p2, p4, p6
    assert_eq!(
        place.read("odd.csv"),
        "label,qid,docid,blue,green\n1,forest,p2,2,8\n0,forest,p4,4,4\n0,forest,p6,5,5\n\
         0,city,p2,2,8\n1,city,p4,4,4\n1,city,p6,5,5\n"
    );
    well(&[&["convert", &table, &place.at("one.csv"), "--per-category", "1"], &common[..]].concat());
    assert!(
        place.read("one.csv").lines().skip(1).all(|row| ["p1", "p2", "p4"].contains(&row.split(',').nth(2).unwrap()))
    );
    well(&["fit", "ranksvm", &out, "-o", &place.at("m.ordain"), "--set=lambda=1", "--set=scale=none"]);
}

#[test]
fn every_item_asks_for_its_like() {
    let (place, table) = place();
    let words = ["convert", &table, &place.at("out.csv"), "--queries", "image=kind", "--ignore", "name,photo"];
    well(&[&words[..], &["--per-category", "2"]].concat()).says("wrote 30 documents of 6 queries");
    let text = place.read("out.csv");
    let first: Vec<&str> = text.lines().take(3).collect();
    assert_eq!(first, ["label,qid,docid,blue,green", "0,1,2,7,7", "1,1,3,1,2"]);
    // without --ignore photo the text of that column is in the way
    ordain(&["convert", &table, &place.at("x.csv"), "--queries", "image=kind", "--ignore", "name"])
        .code(1)
        .silent()
        .says("photos.csv:2:1: expected a finite number, found \"p1\" in column \"photo\"; --ignore photo leaves the column out");
}

#[test]
fn labels_of_several_files() {
    let place = Place::empty();
    let a = place.write("a.csv", "id,x,labels\na,1,sea;sky\nb,2,sky\nc,3,forest\n");
    let b = place.write("b.csv", "id,x,labels\nd,4,sky;sea\ne,5,\n");
    let out = place.at("out.csv");
    well(&["convert", &a, &b, &out, "--queries", "labels"]).says("wrote 15 documents of 3 queries");
    assert!(
        place.read("out.csv").starts_with("label,qid,docid,x\n1,sea,a,1\n0,sea,b,2\n0,sea,c,3\n1,sea,d,4\n0,sea,e,5\n")
    );
    let queries = |more: &[&str]| {
        well(&[&["convert", &a, &b, &out, "--queries", "labels"], more].concat());
        let text = place.read("out.csv");
        let mut names: Vec<String> = text.lines().skip(1).map(|row| row.split(',').nth(1).unwrap().into()).collect();
        names.dedup();
        names.join(" ")
    };
    assert_eq!(queries(&["--commonest", "1"]), "sky");
    assert_eq!(queries(&["--commonest", "1", "--at-most", "2"]), "sea");
    assert_eq!(queries(&["--at-most", "1", "--among-first", "3"]), "sea forest");
    well(&["convert", &a, &b, &out, "--queries", "image"]).says("wrote 12 documents of 3 queries");
    // several files are joined without --queries too
    well(&["convert", &a, &b, &out]).says("wrote 5 items with 3 labels");
}

#[test]
fn what_cannot_be_made_is_refused() {
    let (place, table) = place();
    let out = place.at("out.csv");
    let refused = |words: &[&str], code: i32, text: &str| {
        ordain(&[&["convert", &table, &out], words].concat()).code(code).silent().says(text);
    };
    refused(&["--queries", "category=sort"], 1, "photos.csv:1:1: expected a header with the column \"sort\"");
    refused(&["--queries", "category=kind", "--ignore", "nam"], 1, "--ignore nam names it");
    refused(&["--queries", "category=kind", "--id", "key"], 1, "--id key names it");
    refused(&["--queries", "category"], 2, "--queries: expected category=COLUMN, labels, image=COLUMN or image");
    refused(&["--queries", "category=kind", "--labels", "blue"], 2, "leave out --labels");
    refused(&["--queries", "category=kind", "--ignore", "a,,b"], 2, "--ignore: expected names of columns");
    refused(&["--queries", "category=kind", "--per-category", "0"], 2, "--per-category");
    refused(&["--rows", "even"], 2, "--queries");
    refused(&["--queries", "labels", "--ignore", "photo,kind,name"], 1, "expected labels of the items");
    refused(&["--queries", "category=kind", "--id", "kind", "--ignore", "name,photo"], 1, "\"sea\" twice");
    let one = place.write("one.csv", "x,kind\n1,sea\n2,sea\n");
    ordain(&["convert", &one, &out, "--queries", "category=kind"]).code(1).says("one.csv").says(
        "expected a label or a category that some of the items have and others have not, found none among 2 item(s)",
    );
    let empty = place.write("empty.csv", "x,kind\n");
    ordain(&["convert", &empty, &out, "--queries", "category=kind"]).code(1).says("empty.csv: expected items");
    let gap = place.write("gap.csv", "x,kind\n1,sea\n2,\n");
    ordain(&["convert", &gap, &out, "--queries", "category=kind"]).code(1).says("gap.csv:3:2: expected a category");
    let text = place.write("text.arff", "@relation r\n@attribute x real\n@attribute y {0,1}\n@data\n1,0\n");
    ordain(&["convert", &text, &out, "--queries", "category=y"]).code(1).says("text.arff: expected a table");
    assert!(!place.names().contains(&"out.csv".to_owned()));
}
