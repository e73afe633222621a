//! Files of other programs as tables.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::data::{
    Foreign, ForeignTable, MatchReading, Missing, Truth, read_foreign, read_matches, read_rank, write_splink,
};
use std::path::{Path, PathBuf};

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn rows(table: &ForeignTable) -> Vec<String> {
    std::iter::once(&table.header).chain(&table.rows).map(|cells| cells.join(",")).collect()
}

const HIT: &str = r#"{"_id":"ID","fields":{"_ltrlog":[{"main":[FEATURES]}]}}"#;

fn answer(qid: &str, hits: &[(&str, &str)]) -> String {
    let hits: Vec<String> =
        hits.iter().map(|(id, features)| HIT.replace("ID", id).replace("FEATURES", features)).collect();
    format!("{{{qid}\"hits\":{{\"total\":9,\"hits\":[{}]}}}}", hits.join(","))
}

#[test]
fn logs_of_elasticsearch_are_queries() {
    let folder = tempfile::tempdir().unwrap();
    let (x, y) = (r#"{"name":"x","value":1.5}"#, r#"{"name":"y"}"#);
    let both = format!("{x},{y}");
    let text = [
        answer("\"qid\":\"boots\",", &[("d1", &both), ("d2", x)]),
        answer("", &[("d1", r#"{"name":"y","value":2},{"name":"x","value":-1e-3}"#)]),
    ];
    let path = written(folder.path(), "log.json", &text.join("\n"));
    let table = read_foreign(std::slice::from_ref(&path), Foreign::EsLog, None).unwrap();
    assert_eq!(rows(&table), ["qid,docid,x,y", "boots,d1,1.5,", "boots,d2,1.5,", "log-2,d1,-0.001,2"]);
    assert_eq!(table.missing, 2);
    // grades, and the way through a table
    let qrels = written(folder.path(), "q.txt", "boots 0 d1 3\nlog-2 0 d1 1\nother 0 d9 1\n");
    let table = read_foreign(std::slice::from_ref(&path), Foreign::EsLog, Some(&qrels)).unwrap();
    assert_eq!((table.header[0].as_str(), table.unjudged), ("label", 1));
    let out = folder.path().join("out.csv");
    table.write(&out).unwrap();
    let reading = ordain::data::RankReading { missing: Missing::Zero, ..Default::default() };
    let (set, _) = read_rank(&[vec![out]], &reading).unwrap();
    assert_eq!((set.grades.clone(), set.query(1)), (vec![3.0, 0.0, 1.0], "log-2"));
    // several logs
    let several = text[1].replace("\"main\"", "\"extra\"");
    let path = written(folder.path(), "two.json", &format!("{}\n{several}", text[0]));
    assert_eq!(
        read_foreign(&[path], Foreign::EsLog, None).unwrap().header[2..],
        ["main.x", "main.y", "extra.y", "extra.x"]
    );
    for (text, says) in [
        ("{\"hits\":", "wrong.json:1:8: expected answers of a search engine as JSON"),
        ("{\"hits\":{\"hits\":[]}}\n{\"hits\":{\"hi", "wrong.json:2:12: expected answers of a search engine as JSON"),
        ("{\"hits\":{\"hits\":[]}} {\"hits\": x", "wrong.json:1:31: expected answers of a search engine as JSON"),
        ("{\"hits\":{}}", "a list hits.hits, in answer 1"),
        (
            r#"{"hits":{"hits":[{"_id":"a","fields":{"_ltrlog":[{"l":[{"name":"x\u001b[31m","value":1}]}]}}]}}"#,
            "names of features without control characters",
        ),
        (r#"{"hits":{"hits":[{"fields":{}}]}}"#, "an id \"_id\" for each document"),
        (r#"{"hits":{"hits":[{"_id":"a","fields":{}}]}}"#, "features in fields._ltrlog"),
        (&answer("", &[("a", r#"{"name":"x","value":"1"}"#)]), "a number for \"x\""),
        (&answer("", &[("a", x), ("a", x)]), "each document once in a query"),
        (&answer("", &[("a", &format!("{x},{x}"))]), "each feature once in a document"),
        (&answer("", &[("a", r#"{"name":"label","value":1}"#)]), "mean nothing else"),
        (&answer("", &[]), "expected rows"),
    ] {
        let path = written(folder.path(), "wrong.json", text);
        let error = read_foreign(&[path], Foreign::EsLog, None).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn features_of_solr_are_queries() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"{"responseHeader":{"params":{"q":"red shoe"}},"response":{"numFound":2,"docs":[
        {"id":"a","score":1.0,"[features]":"bm25=1.5,age=20"},{"id":7,"[features]":"age=3.0"}]}}"#;
    let path = written(folder.path(), "solr.json", text);
    let table = read_foreign(&[path], Foreign::Solr, None).unwrap();
    assert_eq!(rows(&table), ["qid,docid,bm25,age", "red shoe,a,1.5,20", "red shoe,7,,3"]);
    let old = written(folder.path(), "old.json", r#"{"response":{"docs":[{"id":"a","[features]":"x:1;y:2"}]}}"#);
    assert_eq!(rows(&read_foreign(&[old], Foreign::Solr, None).unwrap()), ["qid,docid,x,y", "old,a,1,2"]);
    for (features, says) in [("x=1,y", "name=value"), ("x=one", "name=value"), ("x=inf", "name=value")] {
        let text = format!(r#"{{"response":{{"docs":[{{"id":"a","[features]":"{features}"}}]}}}}"#);
        let path = written(folder.path(), "wrong.json", &text);
        assert!(read_foreign(&[path], Foreign::Solr, None).unwrap_err().to_string().contains(says));
    }
}

const EDGES: &str = "match_weight,match_probability,unique_id_l,unique_id_r,gamma_name,bf_name,gamma_born
5.5,.9,p3,p1,3,20,1
-2.5,.1,p3,p4,0,.1,-1
1,.5,q2,q1,1,1,0
";

#[test]
fn edges_of_splink_are_problems_and_go_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "edges.csv", EDGES);
    let table = read_foreign(std::slice::from_ref(&path), Foreign::Splink, None).unwrap();
    assert_eq!(
        rows(&table),
        [
            "problem,left,right,match_weight,gamma_name,gamma_born",
            "p1,p3,p1,5.5,3,1",
            "p1,p3,p4,-2.5,0,",
            "q1,q2,q1,1,1,0"
        ]
    );
    let labels = "unique_id_l,unique_id_r,clerical_match_score\np1,p3,0.95\nq2,q1,0\nz,y,1\n";
    let labels = written(folder.path(), "labels.csv", labels);
    let table = read_foreign(std::slice::from_ref(&path), Foreign::Splink, Some(&labels)).unwrap();
    assert_eq!((table.header.last().unwrap().as_str(), table.unjudged), ("matched", 1));
    assert_eq!(table.rows.iter().map(|row| row.last().unwrap().as_str()).collect::<Vec<_>>(), ["1", "", "0"]);
    // and back
    let (ours, back) = (folder.path().join("ours.csv"), folder.path().join("back.csv"));
    table.write(&ours).unwrap();
    let reading = MatchReading { missing: Missing::Keep, ..MatchReading::default() };
    let (set, _) = read_matches(&[vec![ours]], &reading).unwrap();
    assert_eq!(set.problem(0).truth, [Truth::Yes, Truth::Unknown]);
    write_splink(&set, &back).unwrap();
    let text = std::fs::read_to_string(&back).unwrap();
    assert_eq!(
        text,
        "unique_id_l,unique_id_r,match_weight,gamma_name,gamma_born,clerical_match_score\np3,p1,5.5,3,1,1\np3,p4,-2.5,0,-1,\nq2,q1,1,1,0,0\n"
    );
    assert_eq!(read_foreign(&[back], Foreign::Splink, None).unwrap().rows, table.rows);
    // data sets
    let sets = "source_dataset_l,unique_id_l,source_dataset_r,unique_id_r,gamma_x\na,1,b,1,1\nc,1,b,2,1\n";
    let path = written(folder.path(), "sets.csv", sets);
    let table = read_foreign(&[path], Foreign::Splink, None).unwrap();
    assert_eq!(rows(&table)[1..], ["a:1,a:1,b:1,1", "b:2,c:1,b:2,1"]);
    for (text, says) in [
        ("unique_id_l,x\na,1\n", "wrong.csv:1:1: expected a header with the columns unique_id_l and unique_id_r"),
        ("unique_id_l,unique_id_r\na,b\n", "columns gamma_… or match_weight"),
        ("unique_id_l,unique_id_r,gamma_x\na,a,1\n", "wrong.csv:2:2: expected two records"),
        ("unique_id_l,unique_id_r,gamma_x\na,,1\n", "wrong.csv:2:2: expected an id"),
        ("unique_id_l,unique_id_r,gamma_x\na,b,x\n", "wrong.csv:2:3: expected a finite number"),
        // a blank is a space or a tab
        ("unique_id_l,unique_id_r,gamma_x\na,b,\u{a0}\n", "wrong.csv:2:3: expected a finite number"),
        (
            "unique_id_l,unique_id_r,gamma_x,clerical_match_score\na,b,1,2\n",
            "wrong.csv:2:4: expected a score from 0 to 1",
        ),
    ] {
        let path = written(folder.path(), "wrong.csv", text);
        let error = read_foreign(&[path], Foreign::Splink, None).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let twice = "problem,left,right,x,matched\np,a,b,1,1\nq,a,c,1,1\n";
    let (set, _) = read_matches(&[vec![written(folder.path(), "t.csv", twice)]], &MatchReading::default()).unwrap();
    assert!(write_splink(&set, &folder.path().join("t2.csv")).unwrap_err().to_string().contains("one problem each"));
}
