//! TREC runs and judgements (qrels): what a search engine ranked, and what people said of it.

use crate::data::layout::Problem;
use crate::data::source::{NO_CONTROL, Source, control};
use crate::data::strings::short;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::path::Path;

/// A query of a run with its judgements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// The query.
    pub query: String,
    /// The documents of the run.
    pub documents: Vec<String>,
    /// Their scores.
    pub scores: Vec<f64>,
    /// Their grades; 0 where nobody judged them.
    pub grades: Vec<f64>,
    /// Grades of judged documents that the run does not have.
    pub unretrieved: Vec<f64>,
}

/// A run put beside judgements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Queries that have both, in the order of the judgements.
    pub queries: Vec<Judged>,
    /// Judged queries that the run does not have; trec_eval leaves them out of its means too.
    pub not_run: usize,
    /// Queries of the run that nobody judged.
    pub not_judged: usize,
}

/// Reads `query Q0 document rank score tag` lines and `query 0 document grade` lines.
pub fn read_run(run: &Path, qrels: &Path) -> Result<Run> {
    let mut queries: Vec<Judged> = vec![];
    let mut index: HashMap<String, usize> = HashMap::new();
    let mut grades: HashMap<(usize, String), f64> = HashMap::new();
    lines(qrels, 4, 4, "query 0 document grade", |words, number| {
        let grade = number(3, "a grade")?;
        let q = *index.entry(words[0].to_owned()).or_insert_with(|| {
            queries.push(Judged { query: words[0].to_owned(), ..Judged::default() });
            queries.len() - 1
        });
        Ok(grades.insert((q, words[2].to_owned()), grade).is_none())
    })?;
    let mut strangers = std::collections::HashSet::new();
    let mut seen = std::collections::HashSet::new();
    lines(run, 5, 6, "query Q0 document rank score tag", |words, number| {
        let score = number(4, "a score")?;
        let Some(&q) = index.get(words[0]) else {
            strangers.insert(words[0].to_owned());
            return Ok(true);
        };
        let fresh = seen.insert((q, words[2].to_owned()));
        queries[q].grades.push(grades.remove(&(q, words[2].to_owned())).unwrap_or(0.0));
        queries[q].documents.push(words[2].to_owned());
        queries[q].scores.push(score);
        Ok(fresh)
    })?;
    let mut rest: Vec<((usize, String), f64)> = grades.into_iter().collect();
    rest.sort_by(|a, b| a.0.cmp(&b.0));
    for ((q, _), grade) in rest {
        queries[q].unretrieved.push(grade);
    }
    let all = queries.len();
    queries.retain(|query| !query.documents.is_empty());
    Ok(Run { not_run: all - queries.len(), not_judged: strangers.len(), queries })
}

/// The grades of `query 0 document grade` lines, by query and document.
pub(in crate::data) fn read_grades(qrels: &Path) -> Result<HashMap<(String, String), f64>> {
    let mut grades = HashMap::new();
    lines(qrels, 4, 4, "query 0 document grade", |words, number| {
        let grade = number(3, "a grade")?;
        Ok(grades.insert((words[0].to_owned(), words[2].to_owned()), grade).is_none())
    })?;
    Ok(grades)
}

type Number<'a> = &'a dyn Fn(usize, &str) -> Result<f64>;

/// Calls `take` with the words of each line; it answers whether the document is new in its query.
fn lines(
    path: &Path,
    least: usize,
    most: usize,
    form: &str,
    mut take: impl FnMut(&[&str], Number) -> Result<bool>,
) -> Result<()> {
    let mut source = Source::open(path)?;
    let (mut block, mut line, mut full) = (vec![], 0, 0);
    loop {
        source.next_block(&mut block)?;
        if block.is_empty() {
            break;
        }
        for bytes in block.split_inclusive(|&b| b == b'\n') {
            line += 1;
            let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            if let Some(at) = control(bytes) {
                return Err(Problem::new(line, bytes, (at, NO_CONTROL.into(), 1)).error(path, 0));
            }
            // two ids of other bytes would look alike
            let Ok(text) = std::str::from_utf8(bytes) else {
                let at = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
                return Err(Problem::new(line, bytes, (at, "text in UTF-8".into(), 1)).error(path, 0));
            };
            let words: Vec<&str> = text.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
            if words.is_empty() {
                continue;
            }
            full += 1;
            let refuse = |expected: String, found: &str| Error::Parse {
                path: source.path().into(),
                line,
                column: 1,
                expected,
                found: format!("{:?}", short(found)),
            };
            if !(least..=most).contains(&words.len()) {
                return Err(refuse(form.to_owned(), text.trim_ascii()));
            }
            let number = |at: usize, what: &str| match words[at].parse::<f64>() {
                Ok(x) if x.is_finite() => Ok(x),
                _ => Err(refuse(format!("{what} (a finite number)"), words[at])),
            };
            if !take(&words, &number)? {
                return Err(refuse("each document once in a query".to_owned(), words[2]));
            }
        }
    }
    if full == 0 {
        return Err(Error::Content {
            path: path.into(),
            expected: format!("lines of the form {form}"),
            found: "nothing".into(),
        });
    }
    Ok(())
}
