//! Pairs of documents with features: what links between documents are made of.

use crate::data::RankSet;
use crate::data::columns::write_name;
use crate::data::strings::short;
use crate::data::table::{Format, Table, shown};
use crate::error::{Error, Result, Way};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Features of pairs of documents of one query.
///
/// A pair has no direction, and is there at most once. A pair that is not there has no link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentPairs {
    /// The names of the features.
    names: Vec<String>,
    /// Stored rows, the smaller first, ascending.
    rows: Vec<(u32, u32)>,
    /// A row of features per pair.
    values: Vec<f64>,
}

/// Why a pair cannot be one of a set: what was expected, and which of its two documents is wrong (0 or 1).
type Refused = (String, usize);

impl DocumentPairs {
    /// The names of the features.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The pairs of the rows of a query, as two stored rows and their features.
    pub fn of(&self, span: Range<usize>) -> impl Iterator<Item = (usize, usize, &[f64])> {
        let from = self.rows.partition_point(|&(a, _)| (a as usize) < span.start);
        let to = self.rows.partition_point(|&(a, _)| (a as usize) < span.end);
        let width = self.names.len();
        (from..to).map(move |at| {
            let (a, b) = self.rows[at];
            (a as usize, b as usize, &self.values[at * width..(at + 1) * width])
        })
    }

    /// Refuses features below 0, which say how unlike documents are: nothing can pull apart without end.
    pub(crate) fn need_at_least_0(&self, set: &RankSet) -> Result<()> {
        let Some(at) = self.values.iter().position(|x| *x < 0.0) else { return Ok(()) };
        let (pair, name) = (self.rows[at / self.names.len()], &self.names[at % self.names.len()]);
        let [a, b] = [pair.0, pair.1].map(|row| set.document(row as usize).into_owned());
        Err(Error::Data {
            expected: "links of at least 0, where more is more alike (ccrf)".into(),
            found: format!("{} for {name:?} of {a:?} and {b:?}", self.values[at]),
        })
    }

    /// The same pairs with the features in another order.
    fn with_names(&self, names: &[String], from: &[usize]) -> Self {
        let width = self.names.len();
        let values = self.rows.iter().enumerate().flat_map(|(at, _)| from.iter().map(move |&j| at * width + j));
        Self { names: names.to_vec(), rows: self.rows.clone(), values: values.map(|at| self.values[at]).collect() }
    }

    /// The pairs of some rows; `to` gives their new places.
    pub(in crate::data) fn of_rows(&self, to: &HashMap<u32, Vec<u32>>) -> Self {
        let width = self.names.len();
        let mut kept = vec![];
        for (at, (a, b)) in self.rows.iter().enumerate() {
            let (Some(a), Some(b)) = (to.get(a), to.get(b)) else { continue };
            // a query that was taken twice has its pairs twice
            kept.extend(a.iter().zip(b).map(|(&a, &b)| ((a.min(b), a.max(b)), at)));
        }
        kept.sort_unstable();
        Self {
            names: self.names.clone(),
            rows: kept.iter().map(|&(pair, _)| pair).collect(),
            values: kept.iter().flat_map(|&(_, at)| &self.values[at * width..(at + 1) * width]).copied().collect(),
        }
    }

    /// What a digest needs of them.
    pub(in crate::data) fn bytes(&self, out: &mut Vec<u8>) {
        self.names.iter().for_each(|name| write_name(name, out));
        self.rows.iter().for_each(|(a, b)| out.extend([a.to_le_bytes(), b.to_le_bytes()].concat()));
        self.values.iter().for_each(|x| out.extend(x.to_le_bytes()));
    }
}

/// Pairs on their way into a set.
struct Builder {
    names: Vec<String>,
    seen: HashMap<(u32, u32), usize>,
    values: Vec<f64>,
}

impl Builder {
    fn new(names: Vec<String>) -> Self {
        Self { names, seen: HashMap::new(), values: vec![] }
    }

    /// Takes a pair of stored rows of one query; its features are put in afterwards.
    fn add(&mut self, set: &RankSet, q: usize, a: usize, b: usize) -> std::result::Result<(), Refused> {
        if a == b {
            return Err((format!("another document than {:?} (a document has no link to itself)", set.document(a)), 1));
        }
        let count = self.seen.len();
        if self.seen.insert((a.min(b) as u32, a.max(b) as u32), count).is_some() {
            let (a, b) = (set.document(a), set.document(b));
            return Err((
                format!("each pair once, in either order; {a:?} and {b:?} of query {:?} are there twice", set.query(q)),
                1,
            ));
        }
        Ok(())
    }

    fn finish(self) -> DocumentPairs {
        let width = self.names.len();
        let mut pairs: Vec<((u32, u32), usize)> = self.seen.into_iter().collect();
        pairs.sort_unstable();
        let values = pairs.iter().flat_map(|&(_, at)| &self.values[at * width..(at + 1) * width]).copied().collect();
        DocumentPairs { names: self.names, rows: pairs.iter().map(|&(pair, _)| pair).collect(), values }
    }
}

impl RankSet {
    /// Features of pairs of documents, for links between documents; none where nobody gave them.
    pub fn pairs(&self) -> Option<&DocumentPairs> {
        self.pairs.as_deref()
    }

    /// The same, to be kept.
    pub(crate) fn shared_pairs(&self) -> Option<Arc<DocumentPairs>> {
        self.pairs.clone()
    }

    /// The same with features of pairs of documents: two input rows of one query each, and a row of `names.len()` features for each
    /// pair.
    ///
    /// ```
    /// let set = ordain::data::synthetic::Orders { lists: 2, ..Default::default() }.make();
    /// let set = set.with_pairs(vec!["alike".into()], &[(0, 7), (9, 8)], &[0.5, 2.0])?;
    /// let pairs: Vec<_> = set.pairs().into_iter().flat_map(|pairs| pairs.of(set.span(1))).collect();
    /// assert_eq!(pairs, [(8, 9, &[2.0][..])]);
    /// assert!(set.with_pairs(vec!["alike".into()], &[(0, 8)], &[1.0]).is_err()); // two queries
    /// # Ok::<(), ordain::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Data`] for rows that are not there, rows of two queries, a document with itself and a pair that is there twice, in
    /// either order; for a name that is there twice, and for values that are not finite.
    pub fn with_pairs(mut self, names: Vec<String>, pairs: &[(usize, usize)], values: &[f64]) -> Result<Self> {
        let refuse = |expected: String, found: String| Error::Data { expected, found };
        check_names(&names)?;
        if pairs.len().checked_mul(names.len()) != Some(values.len()) {
            return Err(refuse(
                format!("{} features for each of {} pairs", names.len(), pairs.len()),
                format!("{} numbers", values.len()),
            ));
        }
        let mut stored = vec![0; self.rows()];
        (0..self.rows()).for_each(|row| stored[self.input_row(row)] = row);
        let mut builder = Builder::new(names);
        for (at, &(a, b)) in pairs.iter().enumerate() {
            let found = || format!("rows {a} and {b} in pair {at} (from 0)");
            let (Some(&a), Some(&b)) = (stored.get(a), stored.get(b)) else {
                return Err(refuse(format!("rows of the data, from 0 to {}", self.rows() as i64 - 1), found()));
            };
            let q = self.bounds.partition_point(|&start| start <= a).saturating_sub(1);
            if !self.span(q).contains(&b) {
                return Err(refuse("two documents of one query".into(), found()));
            }
            builder.add(&self, q, a, b).map_err(|(expected, _)| refuse(expected, found()))?;
        }
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            let (pair, name) = (at / builder.names.len(), &builder.names[at % builder.names.len()]);
            return Err(refuse(
                "finite features of pairs".into(),
                format!("{} for {name:?} of pair {pair} (from 0)", values[at]),
            ));
        }
        builder.values = values.to_vec();
        self.pairs = Some(builder.finish().into());
        Ok(self)
    }

    /// The same by query and document, as [`RankSet::find_document`] finds them; a pair is that of every query of the id that has both.
    pub fn with_named_pairs(
        self,
        names: Vec<String>,
        pairs: &[(String, String, String)],
        values: &[f64],
    ) -> Result<Self> {
        let (finder, width) = (Finder::new(&self), names.len());
        let (mut rows, mut of_rows) = (vec![], vec![]);
        for (at, (query, a, b)) in pairs.iter().enumerate() {
            let wrong = |expected: String, found: &str| Error::Data {
                expected,
                found: format!("{found:?} in pair {at} (from 0)"),
            };
            let own = finder.queries.get(query.as_str());
            let own = own.ok_or_else(|| wrong("a query of the data".into(), query))?;
            let found = finder.pair(own, a, b).map_err(|(expected, of)| wrong(expected, [a, b][of]))?;
            for [_, a, b] in found {
                rows.push((self.input_row(a), self.input_row(b)));
                of_rows.extend(values.iter().skip(at * width).take(width));
            }
        }
        if pairs.len().checked_mul(width) != Some(values.len()) {
            of_rows = values.to_vec(); // refused with the numbers that were given
        }
        drop(finder);
        self.with_pairs(names, &rows, &of_rows)
    }

    /// Puts features of pairs into the order of a model's, by name; refuses a set without them, and other names.
    pub fn align_pairs(&mut self, to: &[String]) -> Result<()> {
        let named = |names: &[String]| short(&names.join(", "));
        let Some(pairs) = &self.pairs else {
            return Err(Error::Data {
                expected: format!(
                    "links between documents, with which the model was fitted: a table with qid, doc_a, doc_b and {}",
                    named(to)
                ),
                found: "none".into(),
            }
            .or(Way::new("links", ["FILE"], "gives them")));
        };
        if pairs.names == to {
            return Ok(());
        }
        let from: Option<Vec<usize>> = to.iter().map(|name| pairs.names.iter().position(|own| own == name)).collect();
        match from.filter(|_| pairs.names.len() == to.len()) {
            Some(from) => {
                self.pairs = Some(pairs.with_names(to, &from).into());
                Ok(())
            }
            None => Err(Error::Data {
                expected: format!("pairs of documents with the features {}", named(to)),
                found: named(&pairs.names),
            }),
        }
    }
}

fn check_names(names: &[String]) -> Result<()> {
    let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
    match twice {
        Some((_, name)) => {
            Err(Error::Data { expected: "each feature of pairs once".into(), found: format!("{name:?} twice") })
        }
        None if names.is_empty() => {
            Err(Error::Data { expected: "at least one feature of pairs".into(), found: "none".into() })
        }
        None => Ok(()),
    }
}

/// Queries and documents by name.
pub(super) struct Finder<'a> {
    set: &'a RankSet,
    /// Parts of a set may have the same id.
    queries: HashMap<&'a str, Vec<usize>>,
    /// Of documents of the same name the first, as [`RankSet::find_document`] has it.
    documents: HashMap<(usize, Cow<'a, str>), usize>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(set: &'a RankSet) -> Self {
        let (mut queries, mut documents) = (HashMap::<&str, Vec<usize>>::new(), HashMap::new());
        for q in 0..set.len() {
            queries.entry(set.query(q)).or_default().push(q);
            set.span(q).for_each(|row| {
                documents.entry((q, set.document(row))).or_insert(row);
            });
        }
        Self { set, queries, documents }
    }

    /// The queries of an id.
    pub(super) fn of_query(&self, name: &str) -> Option<&[usize]> {
        self.queries.get(name).map(Vec::as_slice)
    }

    fn row(&self, q: usize, name: &str) -> Option<usize> {
        let known = self.documents.get(&(q, Cow::Borrowed(name))).copied();
        known.or_else(|| name.starts_with('#').then(|| self.set.find_document(q, name).ok()).flatten())
    }

    /// The queries of one id that have two documents, with their rows; there is at least one.
    pub(super) fn pair(&self, queries: &[usize], a: &str, b: &str) -> std::result::Result<Vec<[usize; 3]>, Refused> {
        let both = |&q: &usize| Some([q, self.row(q, a)?, self.row(q, b)?]);
        let found: Vec<[usize; 3]> = queries.iter().filter_map(both).collect();
        if found.is_empty() {
            let wrong = usize::from(queries.iter().any(|&q| self.row(q, a).is_some()));
            let query = queries.first().map_or("", |&q| self.set.query(q));
            return Err((format!("a document of query {query:?}"), wrong));
        }
        Ok(found)
    }
}

/// Reads pairs of documents with features, a table with the columns qid, doc_a and doc_b; all others are features.
pub(in crate::data) fn read(path: &Path, set: &mut RankSet) -> Result<()> {
    let mut rows = Table::open(path, Format::of(path).unwrap_or(Format::Text(b',')))?;
    let header = rows.header.clone();
    rows.select(&[], &(0..header.len()).collect::<Vec<_>>())?;
    let head = |expected: &str, found: String| Error::Parse {
        path: path.into(),
        line: 1,
        column: 1,
        expected: expected.into(),
        found,
    };
    let find = |names: &[&str]| header.iter().position(|own| names.iter().any(|name| own.eq_ignore_ascii_case(name)));
    let columns = (find(&["qid", "query"]), find(&["doc_a"]), find(&["doc_b"]));
    let (Some(query), Some(first), Some(second)) = columns else {
        return Err(head(
            "a header with the columns qid, doc_a, doc_b and one for each feature of pairs",
            shown(&header),
        ));
    };
    let features: Vec<usize> = (0..header.len()).filter(|j| ![query, first, second].contains(j)).collect();
    let names: Vec<String> = features.iter().map(|&j| header[j].clone()).collect();
    check_names(&names).map_err(|error| match error {
        Error::Data { expected, .. } => head(&format!("{expected}, beside qid, doc_a and doc_b"), shown(&header)),
        other => other,
    })?;
    let mut builder = Builder::new(names);
    {
        let finder = Finder::new(set);
        while let Some(record) = rows.next()? {
            let word = |j: usize| record.word(j).ok_or_else(|| record.refuse(j, "UTF-8"));
            let own = finder.queries.get(&*word(query)?);
            let own = own.ok_or_else(|| record.refuse(query, "a query of the data"))?;
            let (a, b) = (word(first)?, word(second)?);
            let refused = |(expected, of): Refused| record.refuse([first, second][of], expected);
            for [q, a, b] in finder.pair(own, &a, &b).map_err(refused)? {
                builder.add(set, q, a, b).map_err(refused)?;
                for &j in &features {
                    let value = record.number(j).ok_or_else(|| record.refuse(j, "a finite number"));
                    builder.values.push(value?);
                }
            }
        }
    }
    set.pairs = Some(builder.finish().into());
    Ok(())
}
