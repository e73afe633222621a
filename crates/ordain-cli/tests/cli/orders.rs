//! `quadrank` from a file to answers: items that queries share, and places that are known.

use crate::support::{Place, has_fields, number, ordain, well};
use ordain::data::synthetic::Orders;
use serde_json::Value;

/// A folder with orders as a table, and a model of them.
fn fitted(settings: &str) -> Place {
    let place = Place::empty();
    let set = Orders { lists: 80, seed: 1, ..Orders::default() }.make();
    ordain::data::write(&set, place.path().join("orders.csv").as_path()).unwrap();
    well(&["fit", &format!("quadrank[{settings}]"), &place.at("orders.csv"), "-o", &place.at("orders.ordain")]);
    place
}

const USUAL: &str = "places=3,scale=none,lambda=0.01";

#[test]
fn an_order_has_a_value_a_gap_and_probabilities() {
    let place = fitted(USUAL);
    let (model, data) = (place.at("orders.ordain"), place.at("orders.csv"));
    for line in well(&["predict", &model, &data, "--json", "--probabilities"]).json_lines() {
        has_fields(&line, &["query", "items", "value", "gap"]);
        assert!(number(&line["gap"]) >= 0.0);
        for (item, place) in line["items"].as_array().unwrap().iter().zip(1..) {
            has_fields(item, &["id", "score", "own_score", "rank", "places", "first_k", "expected_rank"]);
            assert_eq!(item["rank"], place);
        }
    }
    // one score per row, and a run, are in the order of the ranking
    let scores: Vec<f64> = well(&["predict", &model, &data]).out.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(scores.len(), 640);
    let mut first = scores[..8].to_vec();
    first.sort_by(|a, b| b.total_cmp(a));
    assert_eq!(first, [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0]);
    let run = well(&["predict", &model, &data, "--run", "tag"]).out;
    assert!(run.lines().take(8).zip(1..).all(|(line, rank)| line.ends_with(&format!(" {rank} -{rank} tag"))), "{run}");
}

#[test]
fn known_places_are_kept_and_pay() {
    let place = fitted(USUAL);
    let (model, data) = (place.at("orders.ordain"), place.at("orders.csv"));
    let set = ordain::data::read(place.path().join("orders.csv")).unwrap();
    let mut pins = "qid,docid,place\n".to_owned();
    for q in 0..set.len() {
        let grade = set.grades[set.span(q).end - 1] as usize;
        pins += &format!("{},item_8,{}\n", set.query(q), if grade > 0 { 4 - grade } else { 8 });
    }
    place.write("pins.csv", &pins);
    let told = place.at("pins.csv");
    let lines = well(&["predict", &model, &data, "--json", "--pin", &told]).json_lines();
    let at = |line: &Value| line["items"].as_array().unwrap().iter().position(|item| item["id"] == "item_8");
    assert_eq!(
        at(&lines[0]).unwrap() + 1,
        pins.lines().nth(1).unwrap().rsplit(',').next().unwrap().parse::<usize>().unwrap()
    );
    let ndcg = |more: &[&str]| {
        let words = [&["evaluate", &model, &data, "--metric", "ndcg@3", "--json"][..], more].concat();
        number(&well(&words).json()["metrics"]["ndcg@3"]["mean"])
    };
    assert!(ndcg(&["--pin", &told]) > ndcg(&[]) + 0.05);

    let wrong = |text: &str, says: &str| {
        place.write("wrong.csv", text);
        ordain(&["predict", &model, &data, "--pin", &place.at("wrong.csv")]).code(1).silent().says(says);
    };
    wrong("qid,place\n1,1\n", "wrong.csv:1:1: expected a header with the columns qid, docid and place");
    wrong("qid,docid,place\n1,item_1,0\n", "wrong.csv:2:3: expected a place from 1 to 8");
    wrong("qid,docid,place\n1,item_9,1\n", "expected a document of query \"1\"");
    wrong("qid,docid,place\nx,item_1,1\n", "wrong.csv:2:1: expected a query of the data");
    wrong("qid,docid,place\n1,item_1,1\n1,item_2,1\n", "wrong.csv:3:3: expected a free place in query \"1\"");
    // a model that sorts has no use for them
    well(&["fit", "ranksvm[scale=none,lambda=1]", &data, "-o", &place.at("svm.ordain")]);
    ordain(&["predict", &place.at("svm.ordain"), &data, "--pin", &told]).code(1).says("a model with links for places");
}

#[test]
fn links_are_inspected_and_explained() {
    let place = fitted("places=3,scale=none,lambda=0.01,core=item_8");
    let (model, data) = (place.at("orders.ordain"), place.at("orders.csv"));
    let text = well(&["inspect", &model]).out;
    assert!(
        text.contains("core: item_8") && text.contains("strongest links") && text.contains("largest biases"),
        "{text}"
    );
    let facts = well(&["inspect", &model, "--json"]).json();
    assert_eq!((&facts["core"][0], facts["links"].as_array().unwrap().len()), (&Value::from("item_8"), 7));
    let why = well(&["explain", &model, &data, "--query", "1", "--json"]).json();
    has_fields(&why, &["query", "above", "below", "difference", "contributions", "links"]);
    let sum: f64 = why["contributions"].as_array().unwrap().iter().map(|part| number(&part["contribution"])).sum();
    assert!((sum - number(&why["difference"])).abs() < 1e-9);
    assert!(why["contributions"].as_array().unwrap().iter().any(|part| part["feature"] == "bias of the item"));
    let text = well(&["explain", &model, &data, "--query", "1"]).out;
    assert!(text.contains("stands above") && text.contains("link to item_8"), "{text}");
}

#[test]
fn items_that_are_not_known_are_said_once() {
    let place = fitted(USUAL);
    let text = std::fs::read_to_string(place.path().join("orders.csv")).unwrap().replace("item_3", "other");
    place.write("others.csv", &text);
    let done = well(&["predict", &place.at("orders.ordain"), &place.at("others.csv"), "--top=1"]);
    assert_eq!(
        done.err.matches("1 item(s) that the model does not know have no bias and no links (such as other)").count(),
        1
    );
}

#[test]
fn methods_with_and_without_links_are_compared() {
    let place = fitted(USUAL);
    let (with, without) = (format!("quadrank[{USUAL}]"), format!("quadrank[core=0,{USUAL}]"));
    let words = ["compare", &with, &without, "--cv", "4", &place.at("orders.csv"), "--metric", "ndcg@3", "--json"];
    let methods = well(&words).json()["methods"].as_array().unwrap().clone();
    let mean = |at: usize| number(&methods[at]["metrics"]["ndcg@3"]["mean"]);
    assert!(mean(0) > mean(1), "{} {}", mean(0), mean(1));
}

/// A folder with lists whose documents are linked by a table of pairs.
fn linked() -> Place {
    let place = Place::empty();
    let set = Orders { lists: 80, seed: 1, ..Orders::default() }.make();
    ordain::data::write(&set, place.path().join("orders.csv").as_path()).unwrap();
    let mut links = "qid,doc_a,doc_b,kind,other\n".to_owned();
    for q in 0..set.len() {
        for i in 1..8 {
            let kind = if i % 2 == 1 { 1 } else { -1 };
            links += &format!("{},item_8,item_{i},{kind},{}\n", set.query(q), (q + i) % 3);
        }
    }
    place.write("links.csv", &links);
    place
}

#[test]
fn links_between_documents_from_a_file_to_answers() {
    let place = linked();
    let (model, data, links) = (place.at("m.ordain"), place.at("orders.csv"), place.at("links.csv"));
    let method = format!("quadrank[{USUAL},core=item_8;]");
    well(&["fit", &method, &data, "--links", &links, "-o", &model]);
    let text = well(&["inspect", &model]).out;
    assert!(text.contains("links between documents; core of a query: item_8") && text.contains("kind"), "{text}");
    let facts = well(&["inspect", &model, "--json"]).json();
    assert!(number(&facts["pairs"]["weights"]["kind"]) > 1.0, "{facts}");
    for line in well(&["predict", &model, &data, "--links", &links, "--json"]).json_lines() {
        has_fields(&line, &["query", "items", "value", "gap"]);
    }
    let why = well(&["explain", &model, &data, "--query", "1", "--links", &links]).out;
    assert!(why.contains("link to item_8"), "{why}");
    let ndcg = |words: &[&str]| number(&well(words).json()["metrics"]["ndcg@3"]["mean"]);
    let with = ndcg(&["evaluate", &model, &data, "--links", &links, "--metric", "ndcg@3", "--json"]);
    let bare = place.at("bare.ordain");
    well(&["fit", &format!("quadrank[{USUAL},core=0]"), &data, "-o", &bare]);
    assert!(with > ndcg(&["evaluate", &bare, &data, "--metric", "ndcg@3", "--json"]) + 0.02);
    // the core by scores, beside methods that have no links
    let words = ["compare", "quadrank[places=3,scale=none,lambda=0.01]", "ranksvm[scale=none,lambda=1]", "--cv", "4"];
    let compared = well(&[&words[..], &[&*data, "--links", &*links, "--metric", "ndcg@3", "--json"]].concat()).json();
    assert_eq!(compared["methods"].as_array().unwrap().len(), 2);
}

#[test]
fn links_that_are_wrong_or_not_looked_at_are_refused() {
    let place = linked();
    let (model, data, links) = (place.at("m.ordain"), place.at("orders.csv"), place.at("links.csv"));
    let method = format!("quadrank[{USUAL}]");
    well(&["fit", &method, &data, "--links", &links, "-o", &model]);
    for command in ["predict", "evaluate"] {
        ordain(&[command, &model, &data])
            .code(1)
            .says("links between documents, with which the model was fitted: a table with qid, doc_a, doc_b and kind, other")
            .says("--links FILE gives them");
    }
    place.write("others.csv", "qid,doc_a,doc_b,kind\n1,item_1,item_2,1\n");
    ordain(&["predict", &model, &data, "--links", &place.at("others.csv")])
        .code(1)
        .says("features kind, other, found kind");
    place.write("twice.csv", "qid,doc_a,doc_b,kind\n1,item_1,item_2,1\n1,item_2,item_1,1\n");
    let twice = place.at("twice.csv");
    ordain(&["fit", &method, &data, "--links", &twice, "-o", &place.at("x")])
        .code(1)
        .says("twice.csv:3:3: expected each pair once");
    // who does not look at them says so
    let svm = place.at("svm.ordain");
    ordain(&["fit", "ranksvm", &data, "--links", &links, "-o", &svm]).code(2).says("--links is for quadrank and ccrf");
    ordain(&["compare", "ranksvm", "listnet", "--cv", "2", &data, "--links", &links])
        .code(2)
        .says("--links is for quadrank");
    ordain(&["fit", "cstar", &data, "--links", &links, "-o", &svm]).code(2).says("--links is for rankings");
    well(&["fit", "ranksvm[scale=none,lambda=1]", &data, "-o", &svm]);
    ordain(&["predict", &svm, &data, "--links", &links]).code(2).says("fitted without links between documents");
    ordain(&["evaluate", &data, "--feature", "1", "--links", &links]).code(2);
}

/// Documents that are linked have like grades: the one that features tell nothing of goes with the other.
#[test]
fn links_of_a_field_from_a_file_to_answers() {
    let place = Place::empty();
    let (mut data, mut links) = ("qid,docid,label,x\n".to_owned(), "qid,doc_a,doc_b,alike\n".to_owned());
    for q in 0..12 {
        for (doc, grade, x) in
            [("a", 2, 1.0), ("b", 2, 0.5), ("c", 0, 0.0), ("d", 0, 0.5), ("e", 1, 0.6), ("f", 1, 0.4)]
        {
            data += &format!("q{q},{doc},{grade},{}\n", x + f64::from((q * 7 + grade * 3) % 5) / 50.0);
        }
        links += &format!("q{q},a,b,3\nq{q},d,c,2\nq{q},e,f,1\n");
    }
    let (data, links, model) = (place.write("d.csv", &data), place.write("l.csv", &links), place.at("m.ordain"));
    let ndcg = |words: &[&str]| number(&well(words).json()["metrics"]["ndcg@5"]["mean"]);
    let measure = ["--metric", "ndcg@5", "--json"];
    let mut values = vec![];
    for similarity in ["none", "rbf"] {
        let method = format!("ccrf[similarity={similarity}]");
        well(&["fit", &method, &data, "-o", &model]);
        values.push(ndcg(&[&["evaluate", &model, &data][..], &measure].concat()));
        ordain(&["predict", &model, &data, "--links", &links]).code(2).says("fitted without links between documents");
        well(&["fit", &method, &data, "--links", &links, "-o", &model]);
        values.push(ndcg(&[&["evaluate", &model, &data, "--links", &links][..], &measure].concat()));
        let facts = well(&["inspect", &model, "--json"]).json();
        assert!(number(&facts["pulls"]["alike"]) > 0.01, "{facts}");
        assert!(well(&["inspect", &model]).out.contains("alike"));
        ordain(&["predict", &model, &data]).code(1).says("a table with qid, doc_a, doc_b and alike");
    }
    assert!(values[1] > values[0] + 0.02 && values[3] > values[2] + 0.02, "{values:?}");
    let lines = well(&["predict", &model, &data, "--links", &links, "--json"]).json_lines();
    assert_eq!(lines.len(), 12);
    well(&["explain", &model, &data, "--links", &links, "--query", "q3"]);
    let words =
        ["compare", "ccrf", "ccrf[similarity=none]", "listnet[lambda=0.1]", "--cv", "3", &data, "--links", &links];
    assert_eq!(well(&[&words[..], &["--json"]].concat()).json()["methods"].as_array().unwrap().len(), 3);
    let below = place.write("below.csv", "qid,doc_a,doc_b,alike\nq1,a,b,-0.5\n");
    for words in [&["fit", "ccrf", &data, "-o", &place.at("x.ordain")][..], &["predict", &model, &data]] {
        ordain(&[words, &["--links", &below]].concat())
            .code(1)
            .says("links of at least 0")
            .says("-0.5 for \"alike\" of \"a\" and \"b\"");
    }
}

#[test]
fn whole_rankings_are_fitted_by_margin() {
    let place = linked();
    let (model, data) = (place.at("m.ordain"), place.at("orders.csv"));
    let method = "quadrank[places=all,trainer=margin,scale=none,lambda=0.1,max_iter=5]";
    well(&["fit", method, &data, "-o", &model]);
    let line = well(&["predict", &model, &data, "--json"]).json_lines().remove(0);
    assert!(number(&line["gap"]) < 1e-9 && line["items"].as_array().unwrap().len() == 8);
    ordain(&["fit", "quadrank[places=all]", &data, "-o", &model]).code(2).says("trainer=margin takes more, or all");
}
