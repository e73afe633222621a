//! Items with labels: every command that takes them.

use crate::golden::{calm_text, golden, golden_json};
use crate::support::{Place, fit, has_fields, near, number, ordain, shape, well};
use ordain::data::LabelSet;
use ordain::data::synthetic::Scenes;
use serde_json::{Value, json};
use std::fmt::Write;

fn scenes(items: usize, seed: u64) -> LabelSet {
    Scenes { items, labels: 9, scenes: 3, noise: 0.9, seed }.make()
}

/// A table with ids and, where asked, a column of labels.
fn csv(set: &LabelSet, labelled: bool) -> String {
    let mut text = format!("id,{}{}\n", set.columns.names.join(","), if labelled { ",labels" } else { "" });
    for i in 0..set.len() {
        write!(text, "i{}", i + 1).unwrap();
        (0..set.features.cols()).for_each(|j| write!(text, ",{}", set.features.value(i, j)).unwrap());
        if labelled {
            let names: Vec<&str> = set.yes(i).iter().map(|&label| set.labels[label as usize].as_str()).collect();
            write!(text, ",{}", names.join(";")).unwrap();
        }
        text.push('\n');
    }
    text
}

/// A table with a column for each label; every seventh entry is unknown.
fn columns(set: &LabelSet) -> String {
    let mut text = format!("id,{},{}\n", set.columns.names.join(","), set.labels.join(","));
    for i in 0..set.len() {
        write!(text, "i{}", i + 1).unwrap();
        (0..set.features.cols()).for_each(|j| write!(text, ",{}", set.features.value(i, j)).unwrap());
        for label in 0..set.labels.len() as u32 {
            let state = if set.yes(i).contains(&label) { "1" } else { "0" };
            let unknown = (i + label as usize) % 7 == 3;
            write!(text, ",{}", if unknown { "?" } else { state }).unwrap();
        }
        text.push('\n');
    }
    text
}

const FIT: [&str; 4] = ["--set=lambda=0.01", "--set=link_lambda=0.01", "--set=core=2", "--set=features=scores"];

/// A folder with `train.csv`, `test.csv`, `bare.csv` without labels, and a `model.ordain` fitted on the first.
pub(crate) fn trained() -> Place {
    let place = Place::empty();
    place.write("train.csv", &csv(&scenes(90, 1), true));
    place.write("test.csv", &csv(&scenes(30, 2), true));
    place.write("bare.csv", &csv(&scenes(30, 2), false));
    fit(&place, "cstar", "model.ordain", &FIT);
    place
}

#[test]
fn the_json_of_every_command_keeps_its_shape() {
    let place = trained();
    let (model, test, new) = (place.at("model.ordain"), place.at("test.csv"), place.at("new.ordain"));
    fit(&place, "cstar", "margin.ordain", &["--set=trainer=margin", "--set=lambda=0.1", "--set=max_iter=20"]);
    let margin = place.at("margin.ordain");
    let shapes = json!({
        "fit": shape(&well(&["fit", "cstar", &place.at("train.csv"), "-o", &new, "--json"]).json()),
        "predict": shape(&well(&["predict", &model, &test, "--json"]).json_lines()[0]),
        "predict_margin": shape(&well(&["predict", &margin, &test, "--json"]).json_lines()[0]),
        "evaluate": shape(&well(&["evaluate", &model, &test, "--json", "--per-query"]).json()),
        "inspect_model": shape(&well(&["inspect", &new, "--json"]).json()),
        "inspect_data": shape(&well(&["inspect", &test, "--json"]).json()),
        "explain": shape(&well(&["explain", &model, &test, "--item=i3", "--json"]).json()),
        "convert": shape(&well(&["convert", &test, &place.at("x.txt"), "--json"]).json()),
    });
    golden_json("tags_shapes.json", &shapes);
}

#[test]
fn a_decision_is_taken_at_prediction_too() {
    let place = trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.csv"));
    let sizes = |how: &[&str]| -> usize {
        let lines = well(&[&["predict", &model, &test, "--json"], how].concat()).out;
        let items = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        items.map(|item| item["chosen"].as_array().unwrap().len()).sum()
    };
    assert_eq!(sizes(&[]), sizes(&["--decide=f1"]));
    assert!(sizes(&["--decide=f1"]) > sizes(&["--decide=hamming"]));
    let of = |how: &str, metric: &str| {
        let value = well(&["evaluate", &model, &test, "--json", "--metric", metric, "--decide", how]).json();
        value["metrics"][metric]["mean"].as_f64().unwrap()
    };
    assert!(of("f1", "f1") >= of("hamming", "f1") && of("hamming", "hamming") <= of("f1", "hamming"));
    let refused = |model: &str, how: &str, text: &str| {
        let done = ordain(&["predict", model, &test, "--decide", how]);
        assert!(done.code == Some(2) && done.err.contains(text), "{}", done.err);
    };
    refused(&model, "threshold", "tuned at the fit");
    refused(&model, "best", "decide");
    let margin = place.at("margin.ordain");
    fit(&place, "cstar", "margin.ordain", &["--set=trainer=margin", "--set=lambda=0.1", "--set=max_iter=20"]);
    refused(&margin, "f1", "trainer=margin");
}

#[test]
fn a_fit_says_what_was_chosen() {
    let place = trained();
    let done = fit(&place, "cstar", "new.ordain", &[]).silent();
    for text in
        ["chosen of 10 by bep on 18 items: lambda=", "core=", "link_lambda=", "cstar: 90 items, 9 labels; objective"]
    {
        assert!(done.err.contains(text), "no {text:?} in\n{}", done.err);
    }
    let done = fit(&place, "independent", "new.ordain", &["--json"]);
    let value = done.json();
    assert_eq!(value["method"], "independent");
    assert!(value["settings"].get("core").is_none());
    has_fields(&value["floor"], &["one_vs_rest", "reached", "metric"]);
    let (words, test) = (["--no-refit", "--choose-by=f1"], place.at("test.csv"));
    fit(&place, "cstar", "new.ordain", &[&words[..], &["--valid", &test]].concat());
    let value = well(&["inspect", &place.at("new.ordain"), "--json"]).json();
    assert_eq!((&value["items"], &value["refit"]), (&90.into(), &false.into()));
    assert_eq!((&value["chosen"]["metric"], &value["chosen"]["queries"]), (&"f1".into(), &30.into()));
}

#[test]
fn a_fit_says_what_is_odd_about_the_items() {
    let place = Place::empty();
    let mut text = "id,a,b,sea,sky,snow\n".to_owned();
    for i in 0..30 {
        let (sea, sky) = (i % 2, i % 3 / 2);
        writeln!(text, "i{i},{},{},{sea},{sky},0", sea * 2 + i % 5, sky * 3 + i % 4).unwrap();
    }
    let train = place.write("train.csv", &text);
    let words = ["fit", "independent", &train, "-o", &place.at("m.ordain"), "--labels=sea,sky,snow"];
    let done = well(&[&words[..], &["--set=lambda=0.01", "--set=features=scores"]].concat());
    let done = done.says("10 of 30 items have no label").says("1 of 3 labels are on no training item (snow)");
    assert!(!done.err.contains("chosen"), "nothing was left to choose:\n{}", done.err);
    let steps = ["--set=lambda=0.01", "--set=max_iter=1", "--set=tol=1e-9", "--set=features=scores"];
    well(&[&words[..], &steps].concat()).says("max_iter=1 was reached at a relative gradient").says("max_iter=2 helps");
    let value = well(&["inspect", &train, "--labels=sea,sky,snow", "--json"]).json();
    assert_eq!((&value["bare_items"], &value["silent_labels"]), (&10.into(), &json!(["snow"])));
}

#[test]
fn what_was_chosen_stands_apart_from_the_core_of_the_model() {
    let place = trained();
    let done = fit(&place, "cstar[core=auto]", "m.ordain", &[]);
    let value = well(&["inspect", &place.at("m.ordain"), "--json"]).json();
    let candidates = value["chosen"]["candidates"].as_array().unwrap();
    let best = candidates.iter().map(|c| number(&c["value"])).fold(0.0, f64::max);
    let best = candidates.iter().find(|c| number(&c["value"]) >= best).unwrap();
    let size = best["settings"]["core"].as_array().unwrap().len();
    let said = format!("core={size} ({:.4}), then fitted on all", number(&best["value"]));
    assert!(done.err.contains(&said), "no {said:?} in\n{}", done.err);
    assert_eq!(done.err.contains("core of the model: "), size > 0);
    assert!(well(&["inspect", &place.at("m.ordain")]).out.contains(&format!("core={size} (")));
    let done = fit(&place, "cstar[core=0]", "m.ordain", &[]);
    assert!(!done.err.contains(" core") && !done.err.contains("link_lambda"), "{}", done.err);
}

#[test]
fn counts_of_silent_labels_and_unknown_items_are_of_the_items_fitted_on() {
    let place = Place::empty();
    let row = |i: usize, snow: &str| format!("i{i},{},{},{},{snow}\n", i % 2 * 2 + i % 5, i % 3, i % 2);
    let head = "id,a,b,sea,snow\n";
    let text: String = (0..30).map(|i| row(i, "0")).collect();
    let train = place.write("train.csv", &format!("{head}{text}i30,1,1,?,?\n"));
    let valid = place.write("valid.csv", &format!("{head}{}", (0..10).map(|i| row(i, "1")).collect::<String>()));
    let words = ["fit", "independent", &train, "-o", &place.at("m.ordain"), "--labels=sea,snow", "--valid", &valid];
    let done = well(&[&words[..], &["--no-refit"]].concat());
    let done =
        done.says("1 of 2 labels are on no training item (snow)").says("of 1 of 31 items every label is unknown");
    done.says("15 of 31 items have no label");
    assert!(!well(&words).err.contains("on no training item"), "the last fit is on both");
}

#[test]
fn a_model_below_the_classifiers_is_said() {
    let place = trained();
    // on 18 items for validation, weights on features do not reach what classifiers say
    let done = fit(&place, "cstar[core=0,features=both]", "m.ordain", &[]);
    done.says("of a classifier for each label alone; the classifiers alone rank as well; features=scores may help");
}

#[test]
fn labels_are_given_with_and_without_known_ones() {
    let place = trained();
    let (model, test, bare) = (place.at("model.ordain"), place.at("test.csv"), place.at("bare.csv"));
    let plain = well(&["predict", &model, &bare]);
    assert_eq!(plain.err, "");
    assert_eq!(plain.out, well(&["predict", &model, &test]).out, "known labels do not change the answer");
    let mut lines = plain.out.lines();
    assert_eq!(lines.next(), Some("item\tlabels"));
    let json = well(&["predict", &model, &bare, "--json"]).json_lines();
    assert_eq!(json.len(), 30);
    for (line, item) in lines.zip(&json) {
        let (id, labels) = line.split_once('\t').unwrap();
        let chosen: Vec<&str> = item["chosen"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!((id, labels), (item["item"].as_str().unwrap(), chosen.join(";").as_str()));
        let all = item["labels"].as_array().unwrap();
        assert_eq!(all.len(), 9);
        for (rank, pair) in all.windows(2).enumerate() {
            assert!(number(&pair[0]["probability"]) >= number(&pair[1]["probability"]));
            assert_eq!(pair[0]["rank"], rank + 1);
        }
        let first: Vec<&str> = all.iter().take(chosen.len()).map(|label| label["label"].as_str().unwrap()).collect();
        assert_eq!(first, chosen);
    }
    let top = well(&["predict", &model, &bare, "--top=2", "--probabilities"]).out;
    assert_eq!(top.lines().next(), Some("item\trank\tlabel\tscore\tprobability"));
    assert_eq!(top.lines().count(), 61);
    let first: Vec<&str> = top.lines().nth(1).unwrap().split('\t').collect();
    assert_eq!((first[0], first[1], first[2]), ("i1", "1", json[0]["labels"][0]["label"].as_str().unwrap()));
    near(first[3].parse().unwrap(), number(&json[0]["labels"][0]["score"]));
    assert_eq!(well(&["predict", &model, &bare, "--top=2"]).out.lines().next(), Some("item\trank\tlabel\tscore"));
}

#[test]
fn a_model_by_margin_has_no_probabilities() {
    let place = trained();
    fit(&place, "cstar", "m.ordain", &["--set=trainer=margin", "--set=lambda=0.1", "--set=max_iter=20"]);
    let (model, bare) = (place.at("m.ordain"), place.at("bare.csv"));
    ordain(&["predict", &model, &bare, "--probabilities"]).code(2).silent().says("trainer=likelihood");
    let top = well(&["predict", &model, &bare, "--top=1"]).out;
    assert_eq!(top.lines().next(), Some("item\trank\tlabel\tscore\tmargin"));
    let line = &well(&["predict", &model, &bare, "--json"]).json_lines()[0]["labels"][0];
    assert!(line.get("probability").is_none() && line["margin"].is_number());
    ordain(&["predict", &model, &bare, "--run=x"]).code(2).silent().says("--run is for models that rank");
    ordain(&["predict", &model, &bare, "--missing=zero"]).code(2).silent().says("its own rule");
}

#[test]
fn what_is_measured_and_what_was_told() {
    let place = trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.csv"));
    let done = well(&["evaluate", &model, &test]);
    for text in [
        "bep: the model is told the true number of labels of each item",
        "bep_learned: the model ranks labels without being told; the first k of that ranking are counted",
        "f1: by the labels that the model itself chose",
        "p@5, ap, rankloss: by the ranking of labels",
    ] {
        assert!(done.out.contains(text), "no {text:?} in\n{}", done.out);
    }
    let value = well(&["evaluate", &model, &test, "--json", "--per-query", "--metric=bep,ap,f1"]).json();
    assert_eq!((&value["task"], &value["unit"], &value["units"]), (&"annotate".into(), &"item".into(), &30.into()));
    let rows = value["per_query"].as_array().unwrap();
    rows.iter().for_each(|row| has_fields(row, &["item", "bep", "ap", "f1"]));
    assert_eq!(rows[3]["item"], "i4");
    let counted: Vec<f64> = rows.iter().filter_map(|row| row["bep"].as_f64()).collect();
    near(counted.iter().sum::<f64>() / counted.len() as f64, number(&value["metrics"]["bep"]["mean"]));
    assert!(number(&value["metrics"]["bep"]["mean"]) > 0.5);
    well(&["evaluate", &model, &place.at("train.csv")]).says("trained on");
    ordain(&["evaluate", &model, &place.at("bare.csv")])
        .code(1)
        .silent()
        .says("bare.csv: expected labels of the items");
    well(&["evaluate", &model, &test, "--report", &place.at("r.html")]);
    let page = place.read("r.html");
    for text in [
        "30 test items",
        "Precision at each cut-off",
        "Can the probabilities be trusted?",
        "Strongest links",
        "is told the true number",
    ] {
        assert!(page.contains(text), "no {text:?} in the report");
    }
    assert!(!page.contains("NDCG") && !page.contains("queries"), "a page of labels");
}

#[test]
fn a_model_knows_its_labels() {
    let place = trained();
    let (model, bare, test) = (place.at("model.ordain"), place.at("bare.csv"), place.at("test.csv"));
    let dir = place.path().join("new");
    std::fs::create_dir(&dir).unwrap();
    let (arff, xml) = (dir.join("new.arff"), dir.join("new.xml"));
    let (arff, wide) = (arff.to_str().unwrap().to_owned(), place.at("wide.csv"));
    well(&["convert", &test, &arff]).says("new.xml").says("ARFF has no place for the ids");
    std::fs::remove_file(&xml).unwrap();
    let metrics = |data: &str| well(&["evaluate", &model, data, "--json"]).json()["metrics"].clone();
    assert_eq!(metrics(&arff), metrics(&test), "labels of the model are attributes");
    well(&["convert", &test, &wide]);
    assert_eq!(metrics(&wide), metrics(&test), "labels of the model are columns");
    let plain: String = std::fs::read_to_string(&arff).unwrap();
    let labels = scenes(2, 1).labels.len();
    let cut = |line: &str| line.rsplitn(labels + 1, ',').last().unwrap().to_owned() + "\n";
    let (head, rows) = plain.split_once("@data\n").unwrap();
    let head: String = head.lines().filter(|line| !line.contains("{0,1}")).map(|line| line.to_owned() + "\n").collect();
    std::fs::write(&arff, format!("{head}@data\n{}", rows.lines().map(cut).collect::<String>())).unwrap();
    let given = |data: &str| {
        let out = well(&["predict", &model, data]).out;
        out.lines().map(|line| line.split('\t').next_back().unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(given(&arff), given(&bare));
    let other = place.write("other.xml", "<labels><label name=\"no\"></label></labels>");
    well(&["inspect", &arff, "--labels", &other]).says("none of the 1 labels of");
    ordain(&["fit", "independent", &arff, "-o", &place.at("x.ordain"), "--labels", &other])
        .code(1)
        .says("the 1 labels no");
}

#[test]
fn what_is_typed_wrong_is_said_with_the_way_out() {
    let place = trained();
    let fit = |method: &str| ordain(&["fit", method, &place.at("train.csv"), "-o", &place.at("x.ordain")]).code(2);
    fit("cstar[core=-1]").says("expected a whole number up to 20");
    fit("cstar[core=2.5]").says("expected a whole number up to 20");
    fit("cstar[core=red,green]").says("core=red;green");
    fit("cstar[loss=p@3]").says("trainer=likelihood has no loss to choose");
    fit("cstar[core=15]").says("at most 10 labels with trainer=likelihood");
    let explain = ["explain", &place.at("model.ordain"), &place.at("train.csv"), "--item=nothing"];
    ordain(&explain).code(1).says("i8 and 82 more");
    let inspect = |text: &str| ordain(&["inspect", &place.write("x.csv", text)]);
    inspect("a,b\n1,2\n").code(1).says("a column for the query, such as qid").says("a column named labels for items");
    inspect("id;a;labels\n1;2;sea\n").code(0); // as spreadsheets write it
    let value = well(&["inspect", &place.write("x.csv", "ID,a,Labels\nq,2,sea;sky\n"), "--json"]).json();
    assert_eq!((&value["labels"], &value["features"]), (&2.into(), &1.into()));
    place.write("y.xml", "<labels><label name=\"other\"></label></labels>");
    let convert = ["convert", &place.at("train.csv"), &place.at("y.arff")];
    ordain(&convert).code(1).says("y.xml: expected no file, or the same labels").says("another name");
    assert!(place.read("y.xml").contains("other"));
}

#[test]
fn scores_from_elsewhere_are_measured() {
    let place = Place::empty();
    let data = place.write("small.csv", "id,x,sea,sky,snow\na,1,1,0,0\nb,2,0,1,1\n");
    let scores = place.write("scores.txt", "3 2 1\n0.5, 0.1, 0.9\n");
    let words = ["evaluate", &data, "--labels=sea,sky,snow", "--scores", &scores, "--json", "--per-query"];
    let value = well(&words).json();
    near(number(&value["per_query"][0]["bep"]), 1.0);
    near(number(&value["per_query"][1]["bep"]), 0.5);
    assert!(value["metrics"].get("f1").is_none() && value["metrics"].get("bep_learned").is_none());
    ordain(&[&words[..], &["--metric=f1"]].concat()).code(2).silent().says("needs a model");
    let bad = place.write("bad.txt", "3 2 1\n0.5 x 0.9\n");
    let with = |file: &str| ordain(&["evaluate", &data, "--labels=sea,sky,snow", "--scores", file]).code(1).silent();
    with(&bad).says("bad.txt:2:5: expected a finite score, found \"x\"");
    with(&place.write("few.txt", "3 2\n1 2 3\n")).says("few.txt:1:1: expected 3 scores, one per label, found 2");
    with(&place.write("short.txt", "3 2 1\n")).says("expected 2 lines of scores");
    ordain(&["evaluate", &data, "--labels=sea,sky", "--feature=x"]).code(2).silent().says("use --scores");
    ordain(&["evaluate", "--run=r", "--qrels=q", "--labels=sea"]).code(2).silent().says("use --scores");
}

#[test]
fn inspect_shows_core_links_and_counts() {
    let place = trained();
    let done = well(&["inspect", &place.at("model.ordain")]);
    assert_eq!(done.err, "");
    for text in
        ["cstar model", "trained on 90 items with 9 labels", "core       ", "strongest links", "on a usual item"]
    {
        assert!(done.out.contains(text), "no {text:?} in\n{}", done.out);
    }
    let value = well(&["inspect", &place.at("model.ordain"), "--json"]).json();
    assert_eq!(value["core"].as_array().unwrap().len(), 2);
    assert_eq!(value["links"].as_array().unwrap().len(), 8 + 7, "each pair once");
    assert!(value["core"][0].is_string());
    fit(&place, "independent", "alone.ordain", &["--set=lambda=0.01", "--set=features=scores"]);
    assert!(well(&["inspect", &place.at("alone.ordain")]).out.contains("core       none"));
    let done = well(&["inspect", &place.at("test.csv")]);
    golden("tags_inspect_data.txt", &calm_text(&done.out, place.path()));
}

#[test]
fn unknown_labels_are_neither_yes_nor_no() {
    let place = Place::empty();
    let set = scenes(80, 1);
    let train = place.write("train.csv", &columns(&set));
    let labels = format!("--labels={}", set.labels.join(","));
    let value = well(&["inspect", &train, &labels, "--json"]).json();
    let unknown = (0..80).flat_map(|i| (0..9).map(move |l| (i + l) % 7 == 3)).filter(|&unknown| unknown).count();
    assert_eq!(value["unknown"], unknown);
    let model = place.at("m.ordain");
    well(&[&["fit", "cstar", &train, "-o", &model, &labels], &FIT[..]].concat());
    let value = well(&["evaluate", &model, &train, &labels, "--json", "--metric=bep,hamming"]).json();
    assert!(number(&value["metrics"]["bep"]["mean"]) > 0.5 && number(&value["metrics"]["hamming"]["mean"]) < 0.4);
}

#[test]
fn an_explanation_adds_up() {
    let place = trained();
    let (model, test) = (place.at("model.ordain"), place.at("test.csv"));
    let value = well(&["explain", &model, &test, "--item=i3", "--json"]).json();
    assert_eq!((&value["above"]["rank"], &value["below"]["rank"]), (&1.into(), &2.into()));
    let sum = |list: &Value| list.as_array().unwrap().iter().map(|part| number(&part["contribution"])).sum::<f64>();
    near(sum(&value["contributions"]), number(&value["difference"]));
    near(number(&value["above"]["score"]) - number(&value["below"]["score"]), number(&value["difference"]));
    near(sum(&value["links"]), number(&value["link_difference"]));
    let done = well(&["explain", &model, &test, "--query=i3", "--above=beach", "--below=forest"]);
    for text in ["item i3: beach (rank ", "forest", "its own classifier", "links, at the probabilities of the labels"] {
        assert!(done.out.contains(text), "no {text:?} in\n{}", done.out);
    }
    let explain = |more: &[&str]| ordain(&[&["explain", &model, &test], more].concat());
    explain(&["--item=i3", "--above=beech"]).code(1).silent().says("unknown label \"beech\": did you mean \"beach\"?");
    explain(&["--item=i333"]).code(1).silent().says("unknown item \"i333\"");
    explain(&["--item=i3", "--above=beach", "--below=beach"]).code(2).silent().says("same label");
}

#[test]
fn items_go_from_format_to_format() {
    let place = trained();
    let facts = |words: &[&str]| {
        let mut value = well(&[&["inspect", "--json"], words].concat()).json();
        value["seconds"] = Value::Null;
        value
    };
    let (test, arff, text) = (place.at("test.csv"), place.at("a/x.arff"), place.at("b/x.txt.gz"));
    ordain(&["convert", &test, &arff]).code(1).silent().says("mkdir -p");
    ["a", "b"].iter().for_each(|name| std::fs::create_dir(place.path().join(name)).unwrap());
    let first = facts(&[&test]);
    well(&["convert", &test, &arff]).says("wrote 30 items with 9 labels");
    assert_eq!(facts(&[&arff]), first);
    well(&["convert", &arff, &text]);
    assert_eq!(facts(&[&text])["frequent"], first["frequent"]);
    let done = well(&["convert", &arff, &place.at("back.csv")]).says("read it with --labels");
    let labels = done.err.lines().find_map(|line| line.strip_prefix("read it with --labels ")).unwrap();
    assert_eq!(facts(&[&place.at("back.csv"), "--labels", labels]), first);
    ordain(&["convert", &arff, &place.at("x.qrels")]).code(1).silent().says(".arff, .csv, .tsv or .txt");
}

#[test]
fn a_model_of_another_task_is_named() {
    let place = trained();
    let other = Place::trained();
    let (cstar, svm) = (place.at("model.ordain"), other.at("model.ordain"));
    let (items, queries) = (place.at("test.csv"), other.at("test.txt"));
    for command in ["predict", "evaluate"] {
        ordain(&[command, &svm, &items]).code(1).silent().says("because this model ranks, found items with labels");
        ordain(&[command, &cstar, &queries]).code(1).silent().says("annotates, found queries with documents");
    }
    let out = place.at("new.ordain");
    ordain(&["fit", "ranksvm", &items, "-o", &out]).code(1).silent().says("found items with labels");
    ordain(&["fit", "cstar", &queries, "-o", &out]).code(1).silent().says("because cstar annotates, found queries");
    let table = place.write("plain.csv", "a,b\n1,2\n3,4\n");
    ordain(&["fit", "cstar", &table, "-o", &out]).code(1).silent().says("--labels NAMES");
    assert!(!place.names().contains(&"new.ordain".to_owned()));
}

#[test]
fn slips_are_named() {
    let place = trained();
    let train = place.at("train.csv");
    let before = place.names();
    let new = place.at("new.ordain");
    let with = |method: &str, file: &str, more: &[&str], code: i32, hint: &str| {
        ordain(&[&["fit", method, file, "-o", &new], more].concat()).code(code).silent().says(hint);
    };
    // before any file is read
    let usage = |method: &str, setting: &str, hint: &str| with(method, "nowhere.csv", &["--set", setting], 2, hint);
    usage("cstar", "lambda=-1", "lambda: expected auto or a number above 0, found \"-1\"");
    usage("cstar", "link_lambda=0", "link_lambda: expected auto or a number above 0");
    usage("cstar", "core=25", "core: expected a number up to 20");
    usage("cstar", "core=15", "at most 10 labels with trainer=likelihood");
    usage("cstar", "core=sea;sea", "different names");
    usage("cstar", "linklambda=1", "did you mean \"link_lambda\"?");
    usage("cstar", "trainer=margn", "did you mean \"margin\"?");
    usage("cstar", "loss=p@0", "p@K");
    usage("independent", "core=2", "unknown setting \"core\"");
    with("cstra", "nowhere.csv", &[], 2, "did you mean \"cstar\"?");
    with("cstar", "nowhere.csv", &["--resume"], 2, "leave it out and fit anew");
    ordain(&["fit", "cstar", "nowhere.csv", "-o", "-", "--json"]).code(2).silent().says("cannot share");
    // of the data
    with("cstar", &train, &["--set=core=bech"], 1, "unknown label \"bech\": did you mean \"beach\"?");
    with("cstar", &train, &["--labels=beach"], 1, "--labels beach names it");
    assert_eq!(place.names(), before);
    let lone = place.write("lone/x.arff", "@relation x\n@attribute a numeric\n@attribute sea {0,1}\n@data\n1,0\n");
    with("cstar", &lone, &[], 1, "expected one .xml file in its folder");
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let place = trained();
    for method in ["cstar", "cstar[trainer=margin,lambda=0.1,max_iter=10]"] {
        fit(&place, method, "one.ordain", &["--threads=1"]);
        fit(&place, method, "two.ordain", &["--threads=2"]);
        assert!(place.bytes("one.ordain") == place.bytes("two.ordain"), "{method}");
        let said = |threads: &str| {
            let words = ["--json", threads];
            well(&[&["predict", &place.at("one.ordain"), &place.at("bare.csv")], &words[..]].concat()).out
        };
        assert_eq!(said("--threads=1"), said("--threads=2"), "{method}");
    }
}

#[test]
fn a_failed_fit_leaves_the_old_model() {
    let place = trained();
    let old = place.bytes("model.ordain");
    let names = place.names();
    ordain(&["fit", "cstar", &place.at("bare.csv"), "-o", &place.at("model.ordain")]).code(1);
    ordain(&["fit", "cstar", &place.at("train.csv"), "-o", &place.at("train.csv")]).code(1);
    assert!(place.bytes("model.ordain") == old);
    fit(&place, "cstar", "model.ordain", &["--set=core=1"]);
    assert_eq!(place.names(), names, "no temporary file stays");
}

#[test]
fn help_and_manual_tell_of_labels() {
    let help = well(&["help", "fit"]).out;
    for text in ["Settings of cstar", "Settings of independent", "core ", "link_lambda ", "count_bias ", "trainer "] {
        assert!(help.contains(text), "no {text:?} in\n{help}");
    }
    let manual = well(&["man"]).out.replace("\\-", "-");
    for text in [
        "the model is told the true number of labels",
        "bep_learned (the model ranks labels without being told",
        "trainer=margin",
    ] {
        assert!(manual.contains(text), "no {text:?} in the manual");
    }
}
