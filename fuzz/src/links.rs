//! Damaged tables beside the data: pairs of documents, known places, known pairs of records, and records themselves.

use super::mutate;
use super::plain::cells::{Cells, word};
use super::plain::{self as texts, matches as plain};
use super::readers::files;
use super::suite::{Check, Suite, damage, ensure};
use ordain::Result;
use ordain::data::{
    Clicks, Foreign, ForeignTable, RankReading, RankSet, Records, Rules, read_foreign, read_rank, read_records,
};
use ordain::link::read_known;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Two queries of six documents each.
fn data() -> String {
    let mut text = "label,qid,docid,x\n".to_owned();
    for row in 0..12 {
        writeln!(text, "{},q{},d{},{}", row % 3, row / 6, row % 6, row).expect("text");
    }
    text
}

fn links() -> String {
    let mut text = "qid,doc_a,doc_b,near,far\n".to_owned();
    for (at, (a, b)) in [(0, 1), (2, 1), (5, 3), (4, 0), (3, 2)].into_iter().enumerate() {
        writeln!(text, "q{},d{a},d{b},{},{:.3}", at % 2, at, (at as f64).sin()).expect("text");
    }
    text
}

/// Damages a table that is read into something; `judge` says whether it is the right thing.
pub(crate) fn tables<T>(
    suite: &mut Suite,
    inputs: usize,
    (seed, name, whole): (u64, &str, &str),
    read: impl Fn(&Path) -> Result<T>,
    judge: impl Fn(&T, &[u8]) -> Check,
) {
    let mut random = damage(seed);
    let next = |turn: usize| match turn {
        0 => (whole.as_bytes().to_vec(), "whole".to_owned()),
        _ => mutate::text(whole.as_bytes(), &mut random),
    };
    files(suite, inputs + 1, name, next, read, judge);
}

/// Data with something beside them.
fn beside<R: Fn(&Path) -> RankReading>(suite: &Suite, reading: R) -> impl Fn(&Path) -> Result<RankSet> + use<R> {
    let data_path = suite.path("data.csv");
    fs::write(&data_path, data()).expect("a file");
    move |path| read_rank(&[vec![data_path.clone()]], &reading(path)).map(|(set, _)| set)
}

/// Pairs of documents with features.
pub(crate) fn damaged_links(suite: &mut Suite, inputs: usize) {
    let read = beside(suite, |path| RankReading { links: Some(path.into()), ..RankReading::default() });
    tables(suite, inputs, (77, "links.csv", &links()), read, |set, text| {
        let Some(pairs) = set.pairs() else { return Err(("no pairs".into(), String::new())) };
        let all = (0..set.len()).flat_map(|q| pairs.of(set.span(q)));
        let all: Vec<(usize, usize, Vec<f64>)> = all.map(|(a, b, z)| (a, b, z.to_vec())).collect();
        ensure!(all.len() == pairs.len(), "pairs are lost", "{} of {}", all.len(), pairs.len());
        match plain::links(text, set) {
            None => Err(("what is wrong was read".into(), format!("{all:?}"))),
            Some((names, truth)) => {
                ensure!(names == pairs.names(), "other features", "{:?}, not {names:?}", pairs.names());
                ensure!(all == truth, "other pairs", "{all:?}, not {truth:?}");
                Ok(())
            }
        }
    });
}

/// Known places.
pub(crate) fn damaged_pins(suite: &mut Suite, inputs: usize) {
    let read = beside(suite, |path| RankReading { pins: Some(path.into()), ..RankReading::default() });
    let whole = "qid,docid,place,why\nq0,d1,1,x\nq0,d2,3,\nq1,d5,6,y\nq1,#1,2,z\n";
    tables(suite, inputs, (78, "pins.csv", whole), read, |set, text| {
        let Some(truth) = plain::pins(text, set) else { return Err(("what is wrong was read".into(), String::new())) };
        for row in 0..set.rows() {
            let (found, right) = (set.pinned(row), truth.get(&row).copied());
            ensure!(found == right, "another place", "row {row}: {found:?}, not {right:?}");
        }
        Ok(())
    });
}

/// Which of two documents is better.
pub(crate) fn damaged_preferences(suite: &mut Suite, inputs: usize) {
    let read = beside(suite, |path| RankReading { preferences: Some(path.into()), ..RankReading::default() });
    let whole = "qid,winner,loser,weight,by\nq0,d1,d2,1,x\nq0,d2,d1,.5,\nq1,d5,#1,3e-1,y\nq1,d5,d0,2,z\n";
    tables(suite, inputs, (81, "preferences.csv", whole), read, |set, text| {
        let Some(truth) = plain::preferences(text, set) else {
            return Err(("what is wrong was read".into(), String::new()));
        };
        same_pairs(set, &truth)
    });
}

/// Clicks with their positions.
pub(crate) fn damaged_clicks(suite: &mut Suite, inputs: usize) {
    let whole = "qid,docid,position,clicked,x\na,1,1,0,.5\na,2,2,1,1\na,3,3,0,2\nb,1,2,0,3\nb,2,9,1,1\nb,3,1,1,0\n";
    let read = |path: &Path| {
        let how = RankReading { clicks: Some(Clicks::default()), ..RankReading::default() };
        read_rank(&[vec![path.to_path_buf()]], &how).map(|(set, _)| set)
    };
    tables(suite, inputs, (82, "clicks.csv", whole), read, |set, text| {
        let Some(truth) = plain::clicks(text, set) else {
            return Err(("what is wrong was read".into(), String::new()));
        };
        same_pairs(set, &truth)
    });
}

/// Whether a set has these preferences: stored rows, and weights.
fn same_pairs(set: &RankSet, truth: &BTreeMap<(usize, usize), f64>) -> Check {
    let Some(preferences) = set.preferences() else { return Err(("no preferences".into(), String::new())) };
    ensure!(preferences.len() == truth.len(), "other pairs", "{} for {}", preferences.len(), truth.len());
    for q in 0..set.len() {
        let start = set.span(q).start;
        for (a, b, weight) in preferences.of(set.span(q)) {
            let right = truth.get(&(start + a as usize, start + b as usize)).copied().unwrap_or(f64::NAN);
            let same = (weight - right).abs() <= 1e-12 * right;
            ensure!(same, "another weight", "{weight}, not {right}");
        }
    }
    Ok(())
}

/// Scores of another model, one for each row.
pub(crate) fn damaged_scores(suite: &mut Suite, inputs: usize) {
    let read = beside(suite, |path| RankReading { start: Some(path.into()), ..RankReading::default() });
    let whole = "0.5\n-1e-3\n2\n\n+4\n.25\n6.\n7\n-8\n 9 \n10\n1e2\n12";
    tables(suite, inputs, (88, "scores.txt", whole), read, |set, text| {
        let truth = texts::scores(text).filter(|scores| scores.len() == set.rows());
        let Some(truth) = truth else { return Err(("what is wrong was read".into(), String::new())) };
        for (row, score) in set.start().unwrap_or_default().iter().enumerate() {
            let right = truth[set.input_row(row)];
            ensure!(score.to_bits() == right.to_bits(), "another score", "row {row}: {score}, not {right}");
        }
        ensure!(set.start().is_some(), "no scores", "{}", set.rows());
        Ok(())
    });
}

/// Rules for what is shown, as a table.
pub(crate) fn damaged_rules(suite: &mut Suite, inputs: usize) {
    let whole =
        "rule,qid,docid,place,column,most,first\npin,q0,d1,3,,,\nexclude,,d2,,,,\ncap,,,,brand,2,10\npin,,d5,1,,,\n";
    tables(suite, inputs, (83, "rules.csv", whole), Rules::read, |rules, text| {
        let Some(truth) = plain::rules(text) else { return Err(("what is wrong was read".into(), String::new())) };
        ensure!(*rules == truth, "other rules", "{rules:?}, not {truth:?}");
        Ok(())
    });
}

/// The same as JSON.
pub(crate) fn damaged_rules_json(suite: &mut Suite, inputs: usize) {
    let whole = "{\"pins\":[{\"query\":\"q0\",\"document\":\"d1\",\"place\":3}],\"exclusions\":[{\"document\":\"d2\"}],\n\"caps\":[{\"column\":\"brand\",\"most\":2,\"first\":10}]}";
    tables(suite, inputs, (84, "rules.json", whole), Rules::read, |rules, text| {
        // written again they are the same
        let again = serde_json::to_string(rules).expect("rules as JSON");
        let value: Option<serde_json::Value> = serde_json::from_slice(text).ok();
        ensure!(value.is_some_and(|value| value.is_object()), "what is no JSON was read", "{again}");
        ensure!(Rules::from_json(&again).is_ok_and(|same| same == *rules), "other rules", "{again}");
        ensure!(rules.pins.iter().all(|pin| pin.place > 0), "a place 0", "{again}");
        Ok(())
    });
}

/// A table by query and document: what stands under each name.
fn cells_of(table: &ForeignTable) -> BTreeMap<(String, String, String), String> {
    let mut out = BTreeMap::new();
    for row in &table.rows {
        for (name, cell) in table.header.iter().zip(row).skip(2).filter(|(_, cell)| !cell.is_empty()) {
            out.insert((row[0].clone(), row[1].clone(), name.clone()), cell.clone());
        }
    }
    out
}

/// Answers of a search engine.
fn answers_of_search(suite: &mut Suite, inputs: usize, (seed, name, whole): (u64, &str, &str), from: Foreign) {
    let read = |path: &Path| read_foreign(&[path.to_path_buf()], from, None);
    tables(suite, inputs, (seed, name, whole), read, |table, text| {
        let Some(truth) = plain::search(text, from == Foreign::Solr) else {
            return Err(("what is wrong was read".into(), String::new()));
        };
        ensure!(table.header[..2] == ["qid", "docid"], "other columns", "{:?}", table.header);
        let found = cells_of(table);
        let same = found.len() == truth.len()
            && found.iter().zip(&truth).all(|((key, cell), (other, value))| {
                key == other && cell.parse::<f64>().is_ok_and(|x| x.total_cmp(value).is_eq())
            });
        ensure!(same, "other values", "{found:?}, not {truth:?}");
        Ok(())
    });
}

/// Feature logs of Elasticsearch.
pub(crate) fn damaged_es_log(suite: &mut Suite, inputs: usize) {
    let hit = |id: &str, x: &str| {
        format!(r#"{{"_id":"{id}","fields":{{"_ltrlog":[{{"log":[{{"name":"x","value":{x}}},{{"name":"y"}}]}}]}}}}"#)
    };
    let answer = |q: &str, hits: &[String]| format!(r#"{{"qid":"{q}","hits":{{"hits":[{}]}}}}"#, hits.join(","));
    let whole = [answer("a", &[hit("d1", "1.5"), hit("d2", "-3e2")]), answer("b", &[hit("d1", "0"), hit("7", "12")])];
    answers_of_search(suite, inputs, (85, "log.json", &whole.join("\n")), Foreign::EsLog);
}

/// Features of Solr.
pub(crate) fn damaged_solr(suite: &mut Suite, inputs: usize) {
    let whole = "{\"responseHeader\":{\"params\":{\"q\":\"shoe\"}},\"response\":{\"docs\":[{\"id\":\"d1\",\"[features]\":\"x=1.5,y=2\"},\n{\"id\":4,\"[features]\":\"x=-1e3\"}]}}";
    answers_of_search(suite, inputs, (86, "solr.json", whole), Foreign::Solr);
}

/// Edges of splink.
pub(crate) fn damaged_splink(suite: &mut Suite, inputs: usize) {
    let whole = "match_weight,unique_id_l,unique_id_r,gamma_name,gamma_born,bf_name,clerical_match_score\n5.5,a1,b1,3,1,9,1\n-2.5,a1,b2,0,-1,.1,0\n1.25,a2,b2,1,,2,\n7,a3,b3,3,1,90,.9\n";
    let read = |path: &Path| read_foreign(&[path.to_path_buf()], Foreign::Splink, None);
    tables(suite, inputs, (87, "splink.csv", whole), read, |table, text| {
        let Some((names, rows)) = plain::splink(text) else {
            return Err(("what is wrong was read".into(), String::new()));
        };
        let width = names.len();
        ensure!(table.header[3..3 + width] == names[..], "other columns", "{:?}, not {names:?}", table.header);
        ensure!(table.rows.len() == rows.len(), "other rows", "{} for {}", table.rows.len(), rows.len());
        for (row, (ends, part, values, said)) in table.rows.iter().zip(&rows) {
            ensure!(row[0] == *part && row[1..3] == ends[..], "another edge", "{row:?}, not {part} {ends:?}");
            for (cell, value) in row[3..3 + width].iter().zip(values) {
                let same = match value {
                    None => cell.is_empty(),
                    Some(value) => cell.parse::<f64>().is_ok_and(|x| x.total_cmp(value).is_eq()),
                };
                ensure!(same, "another value", "{cell} for {value:?}");
            }
            let told = row.get(3 + width).map_or("", String::as_str);
            ensure!(told == *said, "another label", "{told:?}, not {said:?}");
        }
        Ok(())
    });
}

fn people(side: &str) -> Records {
    let ids: Vec<String> = (0..6).map(|k| format!("{side}{k}")).collect();
    let names = ids.iter().map(|id| Some(format!("name of {id}").into())).collect();
    Records::new(ids, vec![("name".into(), names)]).expect("records")
}

/// Pairs of records that are known to belong together.
pub(crate) fn damaged_known(suite: &mut Suite, inputs: usize) {
    let (left, right) = (people("a"), people("b"));
    let whole = "left,right,matched\na0,b0,1\na1,b3,0\na2,b2,1\na3,b1,\na4,b4,0\n";
    let read = |path: &Path| read_known(path, &left, &right);
    tables(suite, inputs, (79, "known.csv", whole), read, |pairs, text| {
        let truth = plain::known(text);
        ensure!(truth.as_ref() == Some(pairs), "other pairs", "{pairs:?}, not {truth:?}");
        Ok(())
    });
}

/// Records to be linked.
pub(crate) fn damaged_records(suite: &mut Suite, inputs: usize) {
    let whole =
        "id,given,surname,year\n1,Ann,Ashford,1975\n2,,Oakley,\n3,\"Eve, Mae\",\"O\"\"Neil\",1980\n4,Jo,Birch,1991\n";
    let read = |path: &Path| read_records(path, "id");
    tables(suite, inputs, (80, "records.csv", whole), read, |records, text| {
        let truth = || {
            let cells = Cells::whole(text, b',')?;
            let id = cells.head.iter().position(|name| name == "id")?;
            let mut rows = vec![];
            for (_, row) in &cells.rows {
                rows.push(row.iter().map(|cell| word(cell)).collect::<Option<Vec<String>>>()?);
            }
            Some((cells.head.clone(), id, rows))
        };
        let Some((head, id, rows)) = truth() else { return Err(("what is wrong was read".into(), String::new())) };
        ensure!(rows.len() == records.len(), "other rows", "{} for {}", records.len(), rows.len());
        for (n, row) in rows.iter().enumerate() {
            ensure!(records.ids[n] == row[id] && !row[id].is_empty(), "another id", "{:?}", records.ids[n]);
            ensure!(!records.ids[..n].contains(&row[id]), "an id twice", "{:?}", row[id]);
            for (j, name) in head.iter().enumerate().filter(|(j, _)| *j != id) {
                let Some(values) = records.field(name) else { return Err(("a field is lost".into(), name.clone())) };
                ensure!(
                    values[n].as_deref().unwrap_or("") == row[j],
                    "another value",
                    "{:?} for {:?}",
                    values[n],
                    row[j]
                );
            }
        }
        Ok(())
    });
}
