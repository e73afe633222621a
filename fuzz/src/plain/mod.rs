//! Readers written the plain way, line by line with the standard library: what the files mean.

pub(crate) mod arff;
pub(crate) mod cells;
pub(crate) mod inputs;
pub(crate) mod labels;
pub(crate) mod matches;
pub(crate) mod npy;

use super::suite::{Check, ensure};
use cells::Cells;
use ordain::data::RankSet;
use ordain::data::trec::{Judged, Run};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A document as the file has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    grade: Option<f64>,
    weight: Option<f64>,
    query: Vec<u8>,
    document: Option<Vec<u8>>,
    values: BTreeMap<u32, f32>,
}

/// The rows of a file, or the line that is wrong (0 where it is not about one line).
pub(crate) type Rows = Result<Vec<Row>, usize>;

/// Whether a LETOR text may be refused although its rows can be told: for query ids that are not UTF-8, and for two
/// columns of one name.
pub(crate) fn doubtful(text: &[u8], rows: &[Row]) -> bool {
    let ids: BTreeSet<u32> = rows.iter().flat_map(|row| row.values.keys().copied()).collect();
    let mut names: BTreeMap<u32, String> = ids.iter().map(|id| (*id, id.to_string())).collect();
    for line in text.split(|&b| b == b'\n' || b == b'\r') {
        let line = String::from_utf8_lossy(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)).into_owned();
        if let Some((id, name)) =
            line.trim_start_matches(|c| c <= ' ').strip_prefix('#').and_then(|l| l.split_once(':'))
            && let Some(old) = id.parse().ok().and_then(|id| names.get_mut(&id))
        {
            *old = name.trim_ascii().to_owned();
        }
    }
    let distinct: BTreeSet<&String> = names.values().collect();
    distinct.len() < names.len() || rows.iter().any(|row| std::str::from_utf8(&row.query).is_err())
}

/// Whether a text may be refused early for its bytes alone: not UTF-8.
pub(crate) fn strange(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_err()
}

/// A line without the CR at its end.
fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Whether a line has a byte that is neither text nor blank.
fn has_control(line: &[u8]) -> bool {
    line.iter().any(|&b| b.is_ascii_control() && b != b'\t')
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn number(token: &[u8]) -> Option<f64> {
    std::str::from_utf8(token).ok()?.parse::<f64>().ok().filter(|x| x.is_finite())
}

/// A value of a feature; NaN where it is missing and that is allowed.
fn value(token: &[u8], keep: bool) -> Option<f32> {
    if token.is_empty() || token.eq_ignore_ascii_case(b"null") || token.eq_ignore_ascii_case(b"nan") {
        return keep.then_some(f32::NAN);
    }
    std::str::from_utf8(token).ok()?.parse::<f32>().ok().filter(|x| x.is_finite())
}

/// LETOR text, with the text of `FILE.query` where there is one.
pub(crate) fn letor(text: &[u8], sizes: Option<&[u8]>, keep: bool) -> Rows {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let (mut rows, mut loose) = (vec![], 0);
    for (i, line) in text.split(|&b| b == b'\n').map(trimmed).enumerate() {
        let start = line.iter().position(|&b| b > b' ').unwrap_or(line.len());
        let rest = String::from_utf8_lossy(&line[start..]).into_owned();
        let digits = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
        let names_nothing = |text: &str| !text.split_once(':').is_some_and(|(name, _)| digits(name));
        let comment = rest.strip_prefix('#').is_some_and(names_nothing);
        if has_control(line) && !comment {
            return Err(i + 1);
        }
        let comment = line.iter().position(|&b| b == b'#');
        let words: Vec<&[u8]> =
            line[..comment.unwrap_or(line.len())].split(|&b| is_blank(b)).filter(|w| !w.is_empty()).collect();
        let Some((grade, mut rest)) = words.split_first() else { continue };
        let mut row = Row { grade: Some(number(grade).ok_or(i + 1)?), ..Row::default() };
        match rest.split_first() {
            Some((first, others)) if first.starts_with(b"qid:") => {
                row.query = first[4..].to_vec();
                if row.query.is_empty() {
                    return Err(i + 1);
                }
                rest = others;
            }
            _ => loose += 1,
        }
        for pair in rest {
            let colon = pair.iter().position(|&b| b == b':').ok_or(i + 1)?;
            let (index, x) = (&pair[..colon], &pair[colon + 1..]);
            if index.is_empty() || !index.iter().all(u8::is_ascii_digit) {
                return Err(i + 1);
            }
            let zeros = index.iter().take_while(|&&b| b == b'0').count();
            let digits = String::from_utf8_lossy(&index[zeros.min(index.len() - 1)..]).into_owned();
            let index = digits.parse::<u32>().ok().filter(|&n| n < u32::MAX).ok_or(i + 1)?;
            if row.values.insert(index, value(x, keep).ok_or(i + 1)?).is_some() {
                return Err(i + 1);
            }
        }
        row.document = comment.map(|at| document(&line[at + 1..]));
        rows.push(row);
    }
    if rows.iter().all(|row| row.values.is_empty()) || loose != 0 && loose != rows.len() {
        return Err(0);
    }
    if loose > 0 {
        let sizes = parsed_sizes(sizes.ok_or(0usize)?, rows.len())?;
        let queries = sizes.iter().enumerate().flat_map(|(q, &n)| std::iter::repeat_n(q + 1, n));
        rows.iter_mut().zip(queries).for_each(|(row, q)| row.query = q.to_string().into_bytes());
    }
    Ok(rows)
}

/// The sizes above 0, if they add up to the number of rows.
fn parsed_sizes(text: &[u8], rows: usize) -> Result<Vec<usize>, usize> {
    let text = std::str::from_utf8(text).map_err(|_| 0usize)?.trim_start_matches('\u{feff}');
    if text.split('\n').any(|line| has_control(trimmed(line.as_bytes()))) {
        return Err(0);
    }
    let words = text.lines().map(str::trim_ascii).filter(|word| !word.is_empty());
    let sizes: Vec<usize> = words.map(|word| word.parse().map_err(|_| 0usize)).collect::<Result<_, _>>()?;
    let total = sizes.iter().try_fold(0usize, |sum, &n| sum.checked_add(n)).ok_or(0usize)?;
    if total == rows { Ok(sizes.into_iter().filter(|&n| n > 0).collect()) } else { Err(0) }
}

fn document(comment: &[u8]) -> Vec<u8> {
    let first = |text: &[u8]| text.split(|&b| b <= b' ').find(|word| !word.is_empty()).map_or(vec![], <[u8]>::to_vec);
    if let Some(at) = comment.windows(5).position(|w| w == b"docid") {
        let after = &comment[at + 5..];
        let sign = after.iter().position(|&b| b > b' ');
        if let Some(sign) = sign.filter(|&sign| after[sign] == b'=') {
            return first(&after[sign + 1..]);
        }
    }
    first(comment)
}

/// Whether commas and points of numbers can mean two things; each number with the place of its mark.
fn marks_clash(numbers: &[String], delimiter: u8) -> bool {
    let of = |sign: char| {
        let with = numbers.iter().filter(move |n| n.contains(sign));
        let (mut sure, mut doubtful) = (0, 0);
        for number in with {
            let digits = number.strip_prefix('-').unwrap_or(number);
            let Some((before, after)) = digits.split_once(sign) else { continue };
            let all = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
            let open = (1..=3).contains(&before.len()) && !before.starts_with('0') && after.len() == 3;
            if open && all(before) && all(after) { doubtful += 1 } else { sure += 1 }
        }
        (sure > 0, doubtful > 0)
    };
    match (of('.'), of(',')) {
        ((true, _), (true, _)) | ((true, _), (false, true)) | ((false, true), (true, _)) => true,
        ((false, true), (false, comma)) => comma || delimiter == b';',
        ((_, _), (false, true)) => true,
        _ => false,
    }
}

/// A finite number for each line that is not empty.
pub(crate) fn scores(text: &[u8]) -> Option<Vec<f64>> {
    let text = std::str::from_utf8(text).ok()?.trim_start_matches('\u{feff}');
    let lines: Vec<&[u8]> = text.split('\n').map(|line| trimmed(line.as_bytes())).collect();
    let words = lines.iter().map(|line| line.trim_ascii()).filter(|word| !word.is_empty());
    let scores = words.map(number).collect::<Option<Vec<f64>>>()?;
    (!lines.iter().any(|line| has_control(line))).then_some(scores)
}

/// A table of documents.
pub(crate) fn table(text: &[u8], usual: u8, keep: bool) -> Rows {
    table_beside(text, usual, keep, &[]).map(|(_, rows)| rows)
}

/// The names of the features of a table of documents, and its rows. Some columns, by name, are no features.
fn table_beside(text: &[u8], usual: u8, keep: bool, beside: &[&str]) -> Result<(Vec<String>, Vec<Row>), usize> {
    let cells = Cells::parse(text, usual)?;
    let query = cells.find(&["qid", "query", "query_id", "group"]);
    let free = |at: Option<usize>, taken: &[Option<usize>]| at.filter(|&j| !taken.contains(&Some(j)));
    let label = free(cells.find(&["label", "relevance", "grade", "rel", "target"]), &[query]);
    let document = free(cells.find(&["docid", "doc_id", "docno", "id"]), &[query, label]);
    let weight = free(cells.find(&["weight"]), &[query, label, document]);
    let mut features = cells.others(&[label, document, weight, query]);
    features.retain(|&j| !beside.contains(&cells.head[j].as_str()));
    let query = query.ok_or(0usize)?;
    let all: BTreeSet<&String> = cells.head.iter().collect();
    if all.len() < cells.head.len() || features.is_empty() || cells.rows.is_empty() {
        return Err(0);
    }
    let mut rows = vec![];
    for (at, fields) in &cells.rows {
        let readable = |j: usize| std::str::from_utf8(&fields[j]).is_ok();
        if fields.len() != cells.head.len() || fields[query].is_empty() || !document.is_none_or(readable) {
            return Err(*at);
        }
        let numeric = |j: Option<usize>| j.map(|j| cells.number(&fields[j]).ok_or(*at)).transpose();
        let (grade, weight) = (numeric(label)?, numeric(weight)?);
        if weight.is_some_and(|w| w < 0.0) {
            return Err(*at);
        }
        let mut row = Row { grade, weight, query: fields[query].clone(), ..Row::default() };
        row.document = document.map(|j| fields[j].clone());
        for (&j, id) in features.iter().zip(1..) {
            row.values.insert(id, cells.feature(&fields[j], keep).ok_or(*at)?);
        }
        rows.push(row);
    }
    if cells.broken || !cells.marks_are_clear() {
        return Err(0);
    }
    Ok((features.into_iter().map(|j| cells.head[j].clone()).collect(), rows))
}

/// The set holds just these rows, those of a query together, queries in the order in which they first appear.
pub(crate) fn same(set: &RankSet, rows: &[Row]) -> Check {
    ensure!(set.rows() == rows.len(), "wrong number of rows", "{} for {}", set.rows(), rows.len());
    let mut ids: Vec<u32> = rows.iter().flat_map(|r| r.values.keys().copied()).collect();
    ids.sort_unstable();
    ids.dedup();
    if set.features.cols() != ids.len() {
        ids = (ids[0].min(1)..=ids[ids.len() - 1]).collect();
    }
    ensure!(set.features.cols() == ids.len(), "wrong number of columns", "{} for {}", set.features.cols(), ids.len());
    if set.columns.numbered {
        let right = set.columns.names.iter().zip(&ids).all(|(name, id)| *name == id.to_string());
        ensure!(right, "wrong columns", "{:?}", set.columns.names);
    }
    let mut seen: HashSet<&[u8]> = HashSet::new();
    let order: Vec<&[u8]> = rows.iter().map(|r| &r.query[..]).filter(|q| seen.insert(q)).collect();
    ensure!(set.len() == order.len(), "wrong number of queries", "{} for {}", set.len(), order.len());
    for (q, id) in order.iter().enumerate() {
        let right = std::str::from_utf8(id).is_ok_and(|id| id == set.query(q)) || std::str::from_utf8(id).is_err();
        ensure!(right, "wrong query", "{:?}", set.query(q));
        let inputs: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].query == *id).collect();
        let stored: Vec<usize> = set.span(q).map(|row| set.input_row(row)).collect();
        ensure!(inputs == stored, "rows in the wrong query", "{stored:?} for {inputs:?}");
        for (stored, input) in set.span(q).zip(inputs) {
            one(set, stored, input, &rows[input], &ids)?;
        }
    }
    ensure!(set.graded == rows[0].grade.is_some(), "grades or not", "{}", set.graded);
    Ok(())
}

fn one(set: &RankSet, stored: usize, input: usize, row: &Row, ids: &[u32]) -> Check {
    let grade = row.grade.unwrap_or(0.0);
    ensure!(set.grades[stored].to_bits() == grade.to_bits(), "wrong grade", "{} for {grade}", set.grades[stored]);
    let weight = set.weights.as_ref().map(|w| w[stored].to_bits());
    ensure!(weight == row.weight.map(f64::to_bits), "wrong weight", "row {input}");
    let id = match &row.document {
        Some(id) if !id.is_empty() => String::from_utf8_lossy(id).into_owned(),
        _ => (input + 1).to_string(),
    };
    ensure!(set.document(stored) == id, "wrong document", "{:?} for {id:?}", set.document(stored));
    for (j, id) in ids.iter().enumerate() {
        let (x, truth) = (set.features.value(stored, j), row.values.get(id).copied().unwrap_or(0.0));
        let right = x.to_bits() == truth.to_bits() || x.is_nan() && truth.is_nan();
        ensure!(right, "wrong value", "{x} for {truth} in row {input}, column {id}");
    }
    Ok(())
}

/// A run and its judgements.
pub(crate) fn run(run: &[u8], qrels: &[u8]) -> Option<Run> {
    let words = |text: &[u8]| -> Vec<Vec<String>> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let lines = text.split(|&b| b == b'\n').map(trimmed).map(String::from_utf8_lossy); // it is UTF-8
        let words =
            |line: &str| line.split([' ', '\t']).filter(|w| !w.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        lines.map(|line| words(&line)).filter(|words| !words.is_empty()).collect()
    };
    let wrong = |text: &&[u8]| strange(text) || text.split(|&b| b == b'\n').any(|line| has_control(trimmed(line)));
    if [run, qrels].iter().any(wrong) {
        return None;
    }
    let (run, qrels) = (words(run), words(qrels));
    if run.is_empty() || qrels.is_empty() {
        return None;
    }
    let mut judged: Vec<(String, BTreeMap<String, f64>)> = vec![];
    for line in qrels {
        let [query, _, document, grade] = &line[..] else { return None };
        let grade = number(grade.as_bytes())?;
        let at = judged.iter().position(|(q, _)| q == query).unwrap_or_else(|| {
            judged.push((query.clone(), BTreeMap::new()));
            judged.len() - 1
        });
        if judged[at].1.insert(document.clone(), grade).is_some() {
            return None;
        }
    }
    let mut out: Vec<Judged> = judged.iter().map(|(q, _)| Judged { query: q.clone(), ..Judged::default() }).collect();
    let mut strangers = BTreeSet::new();
    for line in run {
        let [query, _, document, _, score] = line.get(..5)? else { return None };
        let score = number(score.as_bytes())?;
        if line.len() > 6 {
            return None;
        }
        let Some(at) = judged.iter().position(|(q, _)| q == query) else {
            strangers.insert(query.clone());
            continue;
        };
        if out[at].documents.contains(document) {
            return None;
        }
        out[at].grades.push(judged[at].1.get(document).copied().unwrap_or(0.0));
        out[at].documents.push(document.clone());
        out[at].scores.push(score);
    }
    for (query, (_, grades)) in out.iter_mut().zip(&judged) {
        query.unretrieved = grades.iter().filter(|(d, _)| !query.documents.contains(d)).map(|(_, &g)| g).collect();
    }
    let all = out.len();
    out.retain(|query| !query.documents.is_empty());
    Some(Run { not_run: all - out.len(), not_judged: strangers.len(), queries: out })
}
