//! `convert --from` and `--to`: files of other programs.

use crate::support::{Place, number, ordain, well};

const LOG: &str = r#"{"qid":"q1","hits":{"hits":[
 {"_id":"a","fields":{"_ltrlog":[{"main":[{"name":"x","value":2.5},{"name":"y","value":1}]}]}},
 {"_id":"b","fields":{"_ltrlog":[{"main":[{"name":"x","value":0.5},{"name":"y"}]}]}}]}}"#;

#[test]
fn logs_become_tables_that_are_fitted() {
    let place = Place::empty();
    let second = LOG.replace("q1", "q2").replace("2.5", "3.5");
    let log = place.write("log.json", &format!("{LOG}\n{second}"));
    let qrels = place.write("q.txt", "q1 0 a 2\nq2 0 a 1\nq2 0 b 0\n");
    let (table, model) = (place.at("table.csv"), place.at("m.ordain"));
    let done = well(&["convert", &log, &table, "--from", "es-log", "--qrels", &qrels, "--json"]);
    assert_eq!((number(&done.json()["rows"]), number(&done.json()["missing"])), (4.0, 2.0));
    assert!(done.err.contains("2 features have no value; --missing zero counts them 0"), "{}", done.err);
    assert!(done.err.contains("1 documents have no judgement: their grade is 0"), "{}", done.err);
    well(&["fit", "ranksvm[scale=none,lambda=0.1]", &table, "--missing", "zero", "-o", &model]);
    let text = r#"{"response":{"docs":[{"id":"a","[features]":"x=1,y=2"},{"id":"b","[features]":"x=0,y=0"}]}}"#;
    let solr = place.write("boots.json", text);
    let out = well(&["convert", &solr, "-", "--from", "solr"]).out;
    assert_eq!(out, "qid,docid,x,y\nboots,a,1,2\nboots,b,0,0\n");
    let wrong = |words: &[&str], says: &str| {
        ordain(&[&["convert", &log][..], words].concat()).code(2).silent().says(says);
    };
    wrong(&[&place.at("t.txt"), "--from", "es-log"], "the ending .csv or .tsv");
    wrong(&[&table, "--from", "es-log", "--labels", "x"], "--labels is for --from splink");
    wrong(&[&table, "--from", "splink", "--qrels", &qrels], "--qrels is for --from es-log and solr");
    wrong(&[&table, "--from", "es-log", "--label", "x"], "cannot be used with");
    wrong(&[&table, "--qrels", &qrels], "--from");
}

#[test]
fn edges_of_splink_go_there_and_back() {
    let place = Place::empty();
    let edges = "match_weight,unique_id_l,unique_id_r,gamma_name,clerical_match_score\n5,a1,b1,3,1\n-2,a1,b2,-1,0\n";
    let edges = place.write("edges.csv", edges);
    let labels = place.write("labels.csv", "unique_id_l,unique_id_r,clerical_match_score\nb2,a1,1\nx,y,1\n");
    let (ours, back) = (place.at("ours.csv"), place.at("back.csv"));
    well(&["convert", &edges, &ours, "--from", "splink"]);
    let text = std::fs::read_to_string(&ours).unwrap();
    assert_eq!(text, "problem,left,right,match_weight,gamma_name,matched\na1,a1,b1,5,3,1\na1,a1,b2,-2,,0\n");
    well(&["convert", &ours, &back, "--to", "splink"]);
    let text = std::fs::read_to_string(&back).unwrap();
    assert_eq!(
        text,
        "unique_id_l,unique_id_r,match_weight,gamma_name,clerical_match_score\na1,b1,5,3,1\na1,b2,-2,-1,0\n"
    );
    // labels of a file stand above those of the table
    let done = well(&["convert", &edges, "-", "--from", "splink", "--labels", &labels]);
    assert!(done.out.ends_with("a1,a1,b2,-2,,1\n") && done.err.contains("1 labels are of pairs"), "{}", done.err);
}
