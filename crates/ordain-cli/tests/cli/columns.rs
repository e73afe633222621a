//! Columns of tables by name.

use crate::support::{Place, ordain, well};

const SHOP: &str = "query_id,doc_id,title,relevance,bm25,brand,in_stock,listed
shoes,d1,\"Red shoe, size 41\",2,7.5,Acme,True,2024-05-01
shoes,d2,Blue boot,0,3.25,Acme,False,2024-05-02
hats,d3,Sun hat,1,4.5,Bolt,TRUE,2023-01-31
hats,d4,Cap,0,4.25,Bolt,false,2022-12-24
";
const NAMED: [&str; 8] =
    ["--label", "relevance", "--query", "query_id", "--id", "doc_id", "--ignore", "title,brand,listed"];
const FIXED: [&str; 2] = ["--set=lambda=1", "--set=scale=global"];

#[test]
fn a_table_of_a_shop_goes_to_a_model_and_to_predictions() {
    let place = Place::empty();
    let (shop, model) = (place.write("shop.csv", SHOP), place.at("shop.ordain"));
    let fit = [&["fit", "ranksvm", &shop, "-o", &model], &NAMED[..], &FIXED].concat();
    assert!(!well(&fit).err.contains("columns:"));
    let scores = well(&["predict", &model, &shop]).out;
    assert!(well(&["predict", &model, &shop, "--top=1"]).out.contains("shoes\t1\td1\t"));
    // the same without a grade and without what is left out, with semicolons, and on standard input
    let bare =
        "doc_id;query_id;in_stock;bm25\nd1;shoes;true;7,5\nd2;shoes;false;3,25\nd3;hats;TRUE;4,5\nd4;hats;FALSE;4,25\n";
    assert_eq!(well(&["predict", &model, &place.write("bare.csv", bare)]).out, scores);
    // usual names are found and reported
    let found = well(
        &[&["fit", "ranksvm", &shop, "-o", &place.at("again.ordain"), "--ignore=title,brand,listed"], &FIXED[..]]
            .concat(),
    );
    assert!(
        found.err.contains("columns: relevance is the label, query_id is the query, doc_id is the id"),
        "{}",
        found.err
    );
    assert_eq!(std::fs::read(place.at("again.ordain")).unwrap(), std::fs::read(&model).unwrap());
    let one = place.at("o.ordain");
    let only = [&["fit", "ranksvm", &shop, "-o", &one, "--features=bm25"], &FIXED[..]].concat();
    well(&only);
    assert!(well(&["inspect", &place.at("o.ordain")]).out.contains("strongest of 1 features"));
    well(&["predict", &place.at("o.ordain"), &shop]);
    well(&["evaluate", &model, &shop, "--metric=ndcg"]);
    // and without any setting
    let plain = place.at("plain.ordain");
    well(&[&["fit", "ranksvm", &shop], &NAMED[..], &["-o", &plain]].concat());
    well(&["predict", &plain, &shop]);
    let csv = place.at("c.csv");
    well(&[&["convert", &shop, &csv], &NAMED[..]].concat());
    assert!(place.read("c.csv").starts_with("label,qid,docid,bm25,in_stock\n2,shoes,d1,7.5,1\n"));
}

#[test]
fn what_contradicts_a_model_or_a_task_is_refused() {
    let place = Place::empty();
    let (shop, model) = (place.write("shop.csv", SHOP), place.at("shop.ordain"));
    well(&[&["fit", "ranksvm", &shop, "-o", &model], &NAMED[..], &FIXED].concat());
    well(&["predict", &model, &shop, "--query=query_id"]);
    ordain(&["predict", &model, &shop, "--query=brand"])
        .code(2)
        .says("--query brand: the model was trained with query_id");
    ordain(&["predict", &model, &shop, "--ignore=bm25"])
        .code(2)
        .says("--ignore bm25: the model was trained with title,brand,listed");
    let fit = |option: &str| ordain(&["fit", "ranksvm", &shop, "-o", &model, option]);
    fit("--left=a").code(2).says("--left names a column of edges; here are queries: leave it out");
    fit("--labels=a").code(2).says("--labels is for items with labels");
    fit("--ignore=").code(2).says("--ignore: expected names of columns between commas");
    fit("--query=qid").code(1).says("expected a header with the column \"qid\"").says("--query qid names it");
    fit("--seed=1").code(1).says("--ignore title leaves the column out");
    ordain(&["fit", "matchmap", &shop, "-o", &model, "--label=a"]).code(2).says("--label names a column of documents");
}

#[test]
fn gaps_have_indicators_if_that_is_asked_for() {
    let place = Place::empty();
    let rows: String = (0..40)
        .map(|i| format!("{},{},{},{}\n", i % 2, i / 4, if i % 3 == 0 { String::new() } else { i.to_string() }, i % 5))
        .collect();
    let (data, model) = (place.write("gaps.csv", &format!("label,qid,x,y\n{rows}")), place.at("m.ordain"));
    well(&[&["fit", "ranksvm", &data, "-o", &model, "--missing=indicator"], &FIXED[..]].concat());
    assert!(well(&["inspect", &model]).out.contains("x_missing"));
    well(&["predict", &model, &data]);
    well(&["compare", "ranksvm[lambda=1,scale=global]", "--cv", "5", &data, "--missing=indicator"]);
    ordain(&["predict", &model, &place.write("less.csv", "qid,x\n1,2\n")]).code(1).says("missing: y");
}

#[test]
fn a_column_that_single_precision_blurs_is_named() {
    let place = Place::empty();
    let rows: String = (0..20).map(|i| format!("{},{},{},{}\n", i % 2, i / 4, 1_700_000_000 + i, 1990 + i)).collect();
    let data = place.write("t.csv", &format!("label,qid,seen,year\n{rows}"));
    let said = well(&["inspect", &data]).err;
    assert!(said.contains("warning: seen loses more than 1e-6 of its spread in single precision"), "{said}");
    let rows: String = (0..20).map(|i| format!("{} qid:{} 1:{} 2:{}\n", i % 2, i / 4, 1_700_000_000 + i, i)).collect();
    let (data, model) = (place.write("t.txt", &rows), place.at("t.ordain"));
    let said = well(&[&["fit", "ranksvm", &data, "-o", &model], &FIXED[..]].concat()).err;
    assert!(said.contains("warning: 1 loses more than 1e-6 of its spread"), "{said}");
}
