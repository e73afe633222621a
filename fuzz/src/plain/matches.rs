//! Problems of matching, pairs of documents, pins and known pairs, out of plain tables.

use super::cells::{Cells, word};
use crate::suite::{Check, ensure};
use ordain::data::{CapRule, ExclusionRule, PinRule, Rules};
use ordain::data::{Cloud, MatchSet, PointFeature, Problem, RankSet, Truth};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A problem with its features, edge by edge.
pub(crate) type Whole = Vec<(Problem, Vec<Vec<f32>>)>;

/// The place of an id in a list, at the end of which it is put if it is new.
fn place(list: &mut Vec<String>, id: &str) -> usize {
    list.iter().position(|own| own == id).unwrap_or_else(|| {
        list.push(id.to_owned());
        list.len() - 1
    })
}

fn distinct(names: &[String]) -> bool {
    names.iter().collect::<BTreeSet<_>>().len() == names.len()
}

/// A word that is not empty.
fn id(cell: &[u8]) -> Option<String> {
    word(cell).filter(|word| !word.is_empty())
}

fn truth(cell: &[u8]) -> Option<Truth> {
    match String::from_utf8_lossy(cell).to_ascii_lowercase().as_str() {
        "" => Some(Truth::Unknown),
        "0" | "0.0" | "false" => Some(Truth::No),
        "1" | "1.0" | "true" => Some(Truth::Yes),
        _ => None,
    }
}

/// A table of edges: names of the features, and the problems.
pub(crate) fn edges(text: &[u8], usual: u8, keep: bool) -> Option<(Vec<String>, Whole)> {
    let cells = Cells::whole(text, usual)?;
    let special = ["problem", "left", "right", "matched"].map(|name| cells.find(&[name]));
    let [problem, left, right, matched] = special;
    let (left, right) = (left?, right?);
    let features = cells.others(&special);
    let names: Vec<String> = features.iter().map(|&j| cells.head[j].clone()).collect();
    if !distinct(&cells.head) || names.is_empty() || cells.rows.is_empty() {
        return None;
    }
    type Edges = BTreeMap<(u32, u32), (Truth, Vec<f32>)>;
    let mut all: Vec<(Problem, Edges)> = vec![];
    for (_, row) in &cells.rows {
        let name = problem.map_or(Some("1".to_owned()), |j| id(&row[j]))?;
        let at = all.iter().position(|(own, _)| own.name == name).unwrap_or_else(|| {
            all.push((Problem { name: name.clone(), ..Problem::default() }, Edges::new()));
            all.len() - 1
        });
        let (own, edges) = &mut all[at];
        let ends = (place(&mut own.left, &id(&row[left])?) as u32, place(&mut own.right, &id(&row[right])?) as u32);
        let known = matched.map_or(Some(Truth::Unknown), |j| truth(&row[j]))?;
        let values = features.iter().map(|&j| cells.feature(&row[j], keep)).collect::<Option<Vec<f32>>>()?;
        if edges.insert(ends, (known, values)).is_some() {
            return None;
        }
    }
    let mut out = vec![];
    for (mut own, edges) in all {
        let yes: Vec<(u32, u32)> = edges.iter().filter(|(_, e)| e.0 == Truth::Yes).map(|(ends, _)| *ends).collect();
        let once = |items: Vec<u32>| items.iter().collect::<BTreeSet<_>>().len() == items.len();
        if !once(yes.iter().map(|ends| ends.0).collect()) || !once(yes.iter().map(|ends| ends.1).collect()) {
            return None;
        }
        own.edges = edges.keys().copied().collect();
        own.truth = edges.values().map(|(truth, _)| *truth).collect();
        out.push((own, edges.into_values().map(|(_, values)| values).collect()));
    }
    cells.marks_are_clear().then_some((names, out))
}

/// Clouds of points by the name of their group and their side (of frames: always the same), in order, and the names of descriptors.
type Clouds = (Vec<((String, String), Cloud)>, Vec<String>, bool);

fn clouds(text: &[u8], usual: u8, keep: bool) -> Option<Clouds> {
    let cells = Cells::whole(text, usual)?;
    let find = |name: &str| cells.find(&[name]);
    let sides = ["side", "id", "x", "y"].iter().all(|name| find(name).is_some());
    let (group, side, point) =
        if sides { (find("problem"), find("side"), find("id")?) } else { (Some(find("frame")?), None, find("point")?) };
    let (x, y) = (find("x")?, find("y")?);
    let further = cells.others(&[group, side, Some(point), Some(x), Some(y)]);
    if !distinct(&cells.head) || cells.rows.is_empty() {
        return None;
    }
    let mut all: Vec<((String, String), Cloud)> = vec![];
    for (_, row) in &cells.rows {
        let name = group.map_or(Some("1".to_owned()), |j| id(&row[j]))?;
        let hand = side.map_or(String::new(), |j| String::from_utf8_lossy(&row[j]).to_ascii_lowercase());
        let key = (name, hand);
        let at = all.iter().position(|(own, _)| *own == key).unwrap_or_else(|| {
            all.push((key.clone(), Cloud::default()));
            all.len() - 1
        });
        let point = id(&row[point])?;
        let spot = [x, y].map(|j| cells.number(&row[j]).filter(|x| x.abs() <= 1e18));
        if all[at].1.ids.contains(&point) {
            return None;
        }
        let cloud = &mut all[at].1;
        cloud.ids.push(point);
        cloud.places.push([spot[0]?, spot[1]?]);
        for &j in &further {
            cloud.descriptors.push(cells.feature(&row[j], keep)?);
        }
    }
    let names = further.iter().map(|&j| cells.head[j].clone()).collect();
    cells.marks_are_clear().then_some((all, names, sides))
}

/// The names of pairs, each with its two frames.
fn frame_pairs(text: &[u8], frames: &[&str]) -> Option<Vec<(String, [String; 2])>> {
    let cells = Cells::whole(text, b',')?;
    let (a, b) = (cells.find(&["frame_a"])?, cells.find(&["frame_b"])?);
    let mut out: Vec<(String, [String; 2])> = vec![];
    for (_, row) in &cells.rows {
        let ends = [word(&row[a])?, word(&row[b])?];
        if let Some(j) = cells.find(&["split"]) {
            let known = ["train", "validate", "valid", "validation", "test"];
            known.contains(&word(&row[j])?.to_ascii_lowercase().as_str()).then_some(())?;
        }
        let own = cells.find(&["problem"]).map_or(Some(String::new()), |j| word(&row[j]))?;
        let name = if own.is_empty() { format!("{}-{}", ends[0], ends[1]) } else { own };
        let again = (2..).map(|k| format!("{name}#{k}"));
        let free = |name: &String| out.iter().all(|(own, _)| own != name);
        let name = std::iter::once(name.clone()).chain(again).find(free)?;
        ends.iter().all(|end| frames.contains(&end.as_str())).then(|| out.push((name, ends)))?;
    }
    (!out.is_empty()).then_some(out)
}

/// A file of points: every problem as the library makes it of two clouds, without a file.
pub(crate) fn points(
    text: &[u8],
    pairs: Option<&[u8]>,
    keep: bool,
    features: &[PointFeature],
) -> Option<Vec<MatchSet>> {
    let (all, descriptors, sides) = clouds(text, b',', keep)?;
    let (mut problems, empty) = (vec![], Cloud::default());
    let find = |group: &str, hand: &str| {
        let own = |(key, _): &&((String, String), Cloud)| key.0 == group && key.1 == hand;
        all.iter().find(own).map_or(&empty, |(_, cloud)| cloud)
    };
    match (sides, pairs) {
        (true, None) => {
            let styles = [["left", "right"], ["l", "r"], ["a", "b"], ["0", "1"], ["1", "2"]];
            let fits = |style: &&[&str; 2]| all.iter().all(|((_, hand), _)| style.contains(&hand.as_str()));
            let style = styles.iter().find(fits)?;
            let mut names = vec![];
            for ((name, _), _) in &all {
                place(&mut names, name);
            }
            problems.extend(names.into_iter().map(|name| (name.clone(), style.map(|hand| find(&name, hand)))));
        }
        (false, Some(pairs)) => {
            let frames: Vec<&str> = all.iter().map(|((name, _), _)| name.as_str()).collect();
            for (name, ends) in frame_pairs(pairs, &frames)? {
                problems.push((name, [find(&ends[0], ""), find(&ends[1], "")]));
            }
        }
        _ => return None,
    }
    let make = |(name, ends): (String, [&Cloud; 2])| MatchSet::of_points(&name, ends, &descriptors, features).ok();
    problems.into_iter().map(make).collect()
}

fn alike(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// The set holds just these problems.
pub(crate) fn same_edges(set: &MatchSet, (names, whole): &(Vec<String>, Whole)) -> Check {
    ensure!(set.columns.names == *names, "other columns", "{:?} for {names:?}", set.columns.names);
    ensure!(set.problems().len() == whole.len(), "other problems", "{} for {}", set.problems().len(), whole.len());
    for (p, (problem, values)) in whole.iter().enumerate() {
        ensure!(set.problem(p) == problem, "another problem", "{:?} for {problem:?}", set.problem(p));
        for (row, values) in set.span(p).zip(values) {
            let right = values.iter().enumerate().all(|(j, &x)| alike(set.features.value(row, j), x));
            ensure!(right, "other values", "edge {row}, {values:?}");
        }
    }
    Ok(())
}

/// The set is made of these problems of one each.
pub(crate) fn same_points(set: &MatchSet, parts: &[MatchSet]) -> Check {
    ensure!(set.problems().len() == parts.len(), "other problems", "{} for {}", set.problems().len(), parts.len());
    let matched = parts.iter().any(|part| part.problem(0).matched().next().is_some());
    for (p, part) in parts.iter().enumerate() {
        ensure!(set.columns.names == part.columns.names, "other columns", "{:?}", set.columns.names);
        let mut truth = part.problem(0).clone();
        if !matched {
            truth.truth.fill(Truth::Unknown); // no id is on both sides anywhere
        }
        ensure!(*set.problem(p) == truth, "another problem", "{:?} for {truth:?}", set.problem(p));
        for (row, own) in set.span(p).zip(0..) {
            let right =
                (0..set.features.cols()).all(|j| alike(set.features.value(row, j), part.features.value(own, j)));
            ensure!(right, "other values", "edge {own} of {:?}", truth.name);
        }
    }
    Ok(())
}

/// A document by its name, or as `#N` the N-th of the query.
fn document(set: &RankSet, q: usize, name: &str) -> Option<usize> {
    let named = set.span(q).find(|&row| set.document(row) == name);
    let numbered = || name.strip_prefix('#')?.parse::<usize>().ok()?.checked_sub(1).and_then(|k| set.span(q).nth(k));
    named.or_else(numbered)
}

fn query(set: &RankSet, name: &str) -> Option<usize> {
    (0..set.len()).find(|&q| set.query(q) == name)
}

/// Pairs of documents: the names of their features, and two rows with the features of each, in order.
#[allow(clippy::type_complexity)]
pub(crate) fn links(text: &[u8], set: &RankSet) -> Option<(Vec<String>, Vec<(usize, usize, Vec<f64>)>)> {
    let cells = Cells::whole(text, b',')?;
    let first = |names: &[&str]| cells.head.iter().position(|own| names.iter().any(|n| own.eq_ignore_ascii_case(n)));
    let (q, a, b) = (first(&["qid", "query"])?, first(&["doc_a"])?, first(&["doc_b"])?);
    let features = cells.others(&[Some(q), Some(a), Some(b)]);
    let names: Vec<String> = features.iter().map(|&j| cells.head[j].clone()).collect();
    let mut out = BTreeMap::new();
    for (_, row) in &cells.rows {
        let of = query(set, &word(&row[q])?)?;
        let ends = [a, b].map(|j| word(&row[j]).and_then(|name| document(set, of, &name)));
        let (a, b) = (ends[0]?, ends[1]?);
        let values = features.iter().map(|&j| cells.number(&row[j])).collect::<Option<Vec<f64>>>()?;
        if a == b || out.insert((a.min(b), a.max(b)), values).is_some() {
            return None;
        }
    }
    let right = distinct(&names) && !names.is_empty() && cells.marks_are_clear();
    right.then(|| (names, out.into_iter().map(|((a, b), values)| (a, b, values)).collect()))
}

/// Known places: the row of each, and its place from 1.
pub(crate) fn pins(text: &[u8], set: &RankSet) -> Option<BTreeMap<usize, usize>> {
    let cells = Cells::whole(text, b',')?;
    let first = |names: &[&str]| cells.head.iter().position(|own| names.iter().any(|n| own.eq_ignore_ascii_case(n)));
    let (q, d, place) = (first(&["qid", "query"])?, first(&["docid", "document", "id"])?, first(&["place"])?);
    let mut out = BTreeMap::new();
    for (_, row) in &cells.rows {
        let of = query(set, &word(&row[q])?)?;
        let at = document(set, of, &word(&row[d])?)?;
        let number = cells.number(&row[place])?;
        let place = (1..=set.span(of).len()).find(|&k| (k as f64 - number).abs() <= 0.0)?;
        let clash = |(&other, &own): (&usize, &usize)| set.span(of).contains(&other) && (own == place) != (other == at);
        if out.iter().any(clash) {
            return None;
        }
        out.insert(at, place);
    }
    cells.marks_are_clear().then_some(out)
}

/// Rules of a table.
pub(crate) fn rules(text: &[u8]) -> Option<Rules> {
    let cells = Cells::whole(text, b',')?;
    let first = |names: &[&str]| cells.head.iter().position(|own| names.iter().any(|n| own.eq_ignore_ascii_case(n)));
    let (rule, q, d) = (first(&["rule"]), first(&["qid", "query"]), first(&["docid", "document", "id"]));
    let [place, column, most, top] = ["place", "column", "most", "first"].map(|name| first(&[name]));
    let mut out = Rules::default();
    for (_, row) in &cells.rows {
        let said = |j: Option<usize>| j.map(|j| word(&row[j]));
        let some = |j: Option<usize>| said(j)?.filter(|text| !text.is_empty());
        let whole = |j: Option<usize>| {
            let x = cells.number(&row[j?])?;
            (x >= 1.0 && x.fract() <= 0.0 && x <= f64::from(u32::MAX)).then_some(x as usize)
        };
        let query = match said(q) {
            Some(None) => return None,
            Some(Some(text)) if !text.is_empty() => Some(text),
            _ => None,
        };
        match rule.map_or(Some("pin".into()), |j| word(&row[j]))?.as_str() {
            "pin" => out.pins.push(PinRule { query, document: some(d)?, place: whole(place)? }),
            "exclude" => out.exclusions.push(ExclusionRule { query, document: some(d)? }),
            "cap" if query.is_none() => {
                out.caps.push(CapRule { column: some(column)?, most: whole(most)?, first: whole(top)? });
            }
            _ => return None,
        }
    }
    (cells.marks_are_clear() && !out.is_empty()).then_some(out)
}

/// Features of answers of a search engine, by query, document and name; none where something is wrong.
pub(crate) fn search(text: &[u8], solr: bool) -> Option<BTreeMap<(String, String, String), f64>> {
    let said = |value: &Value| -> Option<String> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) if !number.is_f64() => number.to_string(),
            _ => return None,
        };
        let plain = text.trim_ascii() == text && !text.is_empty() && !text.chars().any(char::is_control);
        plain.then_some(text)
    };
    let answers: Vec<Value> =
        serde_json::Deserializer::from_slice(text).into_iter::<Value>().collect::<Result<_, _>>().ok()?;
    let stem = if solr { "solr" } else { "log" };
    let mut all = vec![];
    for (n, answer) in answers.iter().enumerate() {
        let list = if solr { &answer["response"]["docs"] } else { &answer["hits"]["hits"] };
        let name = if answers.len() > 1 { format!("{stem}-{}", n + 1) } else { stem.to_owned() };
        let of_solr = said(&answer["responseHeader"]["params"]["q"]).filter(|_| solr);
        let query = said(&answer["qid"]).or(of_solr).unwrap_or(name);
        for hit in list.as_array()? {
            let id = said(&hit[if solr { "id" } else { "_id" }])?;
            let mut features = vec![];
            if solr {
                let text = hit["[features]"].as_str().or(hit["features"].as_str())?;
                let [between, is] = if text.contains('=') { [',', '='] } else { [';', ':'] };
                for part in text.split(between).filter(|part| !part.is_empty()) {
                    let at = part.rfind(is)?;
                    let value: f64 = part[at + 1..].parse().ok()?;
                    features.push((String::new(), part[..at].to_owned(), value.is_finite().then_some(value)?.into()));
                }
            } else {
                for (log, list) in hit["fields"]["_ltrlog"].as_array()?.first()?.as_object()? {
                    for feature in list.as_array()? {
                        let value = match feature.get("value") {
                            None | Some(Value::Null) => None,
                            Some(value) => Some(value.as_f64()?),
                        };
                        features.push((log.clone(), feature["name"].as_str()?.to_owned(), value));
                    }
                }
            }
            all.push((query.clone(), id, features));
        }
    }
    let logs: BTreeSet<&String> = all.iter().flat_map(|(.., features)| features).map(|(log, ..)| log).collect();
    let mut out = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (query, id, features) in &all {
        if !seen.insert((query, id)) {
            return None;
        }
        let mut own = BTreeSet::new();
        for (log, name, value) in features {
            let name = if logs.len() > 1 { format!("{log}.{name}") } else { name.clone() };
            let meaning = ["qid", "docid", "weight", "label", ""].iter().any(|word| name.eq_ignore_ascii_case(word));
            if meaning || name.trim_ascii() != name || !own.insert(name.clone()) {
                return None;
            }
            out.extend(value.map(|value| ((query.clone(), id.clone(), name), value)));
        }
    }
    (!all.is_empty()).then_some(out)
}

/// An edge of splink: its ends, its problem, its features and its label.
type SplinkEdge = ([String; 2], String, Vec<Option<f64>>, &'static str);

/// Edges of splink, with the names of their features.
pub(crate) fn splink(text: &[u8]) -> Option<(Vec<String>, Vec<SplinkEdge>)> {
    let cells = Cells::whole(text, b',')?;
    let find = |name: &str| cells.head.iter().position(|own| own == name);
    let (a, b, score) = (find("unique_id_l")?, find("unique_id_r")?, find("clerical_match_score"));
    let sets = find("source_dataset_l").zip(find("source_dataset_r"));
    let own: Vec<usize> = (0..cells.head.len())
        .filter(|&j| cells.head[j].starts_with("gamma_") || cells.head[j] == "match_weight")
        .collect();
    if own.is_empty() || sets.is_some() {
        return None; // data sets are not among the inputs
    }
    let names: Vec<String> = own.iter().map(|&j| cells.head[j].clone()).collect();
    let mut edges = vec![];
    for (_, row) in &cells.rows {
        let ends = [word(&row[a]).filter(|id| !id.is_empty())?, word(&row[b]).filter(|id| !id.is_empty())?];
        let mut values = vec![];
        for &j in &own {
            let value = if row[j].is_empty() { None } else { Some(cells.number(&row[j])?) };
            values.push(value.filter(|x| !(cells.head[j].starts_with("gamma_") && (x + 1.0).abs() <= 0.0)));
        }
        let said = match score.map(|j| &row[j]).filter(|cell| !cell.is_empty()) {
            None => "",
            Some(cell) => {
                let score = cells.number(cell).filter(|score| (0.0..=1.0).contains(score))?;
                if score >= 0.5 { "1" } else { "0" }
            }
        };
        if ends[0] == ends[1] {
            return None;
        }
        edges.push((ends, values, said));
    }
    // parts grow until nothing changes
    let mut part: BTreeMap<String, String> =
        edges.iter().flat_map(|(ends, ..)| ends).map(|id| (id.clone(), id.clone())).collect();
    loop {
        let before = part.clone();
        for (ends, ..) in &edges {
            let least = part[&ends[0]].clone().min(part[&ends[1]].clone());
            ends.iter().for_each(|id| drop(part.insert(id.clone(), least.clone())));
        }
        if part == before {
            break;
        }
    }
    let rows: Vec<SplinkEdge> =
        edges.into_iter().map(|(ends, values, said)| (ends.clone(), part[&ends[0]].clone(), values, said)).collect();
    (cells.marks_are_clear() && !rows.is_empty()).then_some((names, rows))
}

/// Preferences: stored rows of winner and loser, with the sums of their weights.
pub(crate) fn preferences(text: &[u8], set: &RankSet) -> Option<BTreeMap<(usize, usize), f64>> {
    let cells = Cells::whole(text, b',')?;
    let first = |names: &[&str]| cells.head.iter().position(|own| names.iter().any(|n| own.eq_ignore_ascii_case(n)));
    let (q, a, b, weight) = (first(&["qid", "query"])?, first(&["winner"])?, first(&["loser"])?, first(&["weight"]));
    let mut out = BTreeMap::new();
    for (_, row) in &cells.rows {
        let of = query(set, &word(&row[q])?)?;
        let (winner, loser) = (document(set, of, &word(&row[a])?)?, document(set, of, &word(&row[b])?)?);
        let worth = weight.map_or(Some(1.0), |j| cells.number(&row[j]))?;
        if winner == loser || worth <= 0.0 {
            return None;
        }
        *out.entry((winner, loser)).or_insert(0.0) += worth;
    }
    (cells.marks_are_clear() && !out.is_empty()).then_some(out)
}

/// The preferences of clicks by the rule of the documents, of rows as they are written.
pub(crate) fn clicks(text: &[u8], set: &RankSet) -> Option<BTreeMap<(usize, usize), f64>> {
    let cells = Cells::whole(text, b',')?;
    let first = |name: &str| cells.head.iter().position(|own| own.eq_ignore_ascii_case(name));
    let (position, clicked) = (cells.head.iter().position(|own| own == "position")?, first("clicked")?);
    let mut seen = vec![];
    for (_, row) in &cells.rows {
        let (place, click) = (cells.number(&row[position])?, cells.number(&row[clicked])?);
        if place < 1.0 || place.fract() > 0.0 || place > f64::from(u32::MAX) || click * (1.0 - click) > 0.0 {
            return None;
        }
        if !(0.0..=1.0).contains(&click) || click.fract() > 0.0 {
            return None;
        }
        seen.push((place, click > 0.0));
    }
    let mut out = BTreeMap::new();
    for q in 0..set.len() {
        let mut shown: Vec<(f64, usize, bool)> = vec![];
        for row in set.span(q) {
            let (place, click) = *seen.get(set.input_row(row))?;
            shown.push((place, row, click));
        }
        shown.sort_by(|a, b| a.0.total_cmp(&b.0));
        if shown.windows(2).any(|two| two[0].0 >= two[1].0) {
            return None;
        }
        for (at, &(place, row, _)) in shown.iter().enumerate().filter(|(_, own)| own.2) {
            let beside = shown.iter().enumerate().filter(|(other, own)| !own.2 && *other <= at + 1);
            out.extend(beside.map(|(_, own)| ((row, own.1), place.min(10.0))));
        }
    }
    (!out.is_empty()).then_some(out)
}

/// Pairs of records that are known to belong together or not.
pub(crate) fn known(text: &[u8]) -> Option<Vec<(String, String, bool)>> {
    let cells = Cells::whole(text, b',')?;
    let [left, right, matched] = ["left", "right", "matched"].map(|name| cells.find(&[name]));
    let mut out = vec![];
    let said = |row: &[Vec<u8>]| matched.map_or(Some(String::new()), |j| word(&row[j]));
    let silent = cells.rows.iter().all(|(_, row)| said(row).is_some_and(|word| word.is_empty()));
    for (_, row) in &cells.rows {
        let ids = [left, right].map(|j| j.map_or(Some(String::new()), |j| word(&row[j])));
        let [a, b] = [ids[0].clone()?, ids[1].clone()?];
        let yes = match said(row)?.as_str() {
            "" if silent => true,
            "" => continue,
            "1" | "1.0" | "true" => true,
            "0" | "0.0" | "false" => false,
            _ => return None,
        };
        if a.is_empty() || b.is_empty() {
            return None;
        }
        out.push((a, b, yes));
    }
    Some(out)
}
