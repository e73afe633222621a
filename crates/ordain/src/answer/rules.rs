//! Ranked lists under rules: pins, exclusions and caps.

use super::Want;
use super::predict::{RankedDocument, RankedList};
use crate::data::{RankSet, Rules};
use crate::error::{Error, Result};
use crate::method::{Rank, Ranker};
use crate::structure::ruled::{self, Cap, Kinds, Ruled};
use crate::task::Ready;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// What rules did to a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RulesPart {
    /// Whether no order under the rules is better.
    pub exact: bool,
    /// What the places are worth that caps speak of: `Σ_j (s_j − least)/log2(1 + j)`.
    pub value: f64,
    /// No order under the rules is worth more.
    pub bound: f64,
    /// By how much another order could be worth more.
    pub gap: f64,
    /// Documents that stand at places that were given.
    pub pinned: usize,
    /// Documents that were left out.
    pub excluded: usize,
    /// Documents that are not listed because caps close every place that is left.
    pub left_out: usize,
}

/// The order of the documents of one query under rules, and what the rules did; `ids` and `scores` have one entry per document, and
/// `value` gives the value of a column (by its place in [`Rules::columns`]) of a document, empty where it has none.
///
/// Rules that name other queries or documents have no part in it. Of documents of one name a pin takes the one of the best score.
///
/// ```
/// use ordain::{answer::under_rules, data::Rules};
/// let rules = Rules::from_json(r#"{"exclusions": [{"document": "b"}], "caps": [{"column": "brand", "most": 1, "first": 2}]}"#)?;
/// let brands = ["x", "x", "x", "y"];
/// let value = |_: usize, document: usize| brands[document].into();
/// let (order, did) = under_rules(&rules, "q", &["a", "b", "c", "d"], &[4.0, 3.0, 2.0, 1.0], &value)?;
/// assert_eq!((order, did.exact, did.excluded), (vec![0, 3, 2], true, 1));
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// Those of [`crate::structure::ruled::order`], with the query.
pub fn under_rules<'v>(
    rules: &Rules,
    query: &str,
    ids: &[&str],
    scores: &[f64],
    value: &dyn Fn(usize, usize) -> Cow<'v, str>,
) -> Result<(Vec<u32>, RulesPart)> {
    if ids.len() != scores.len() {
        let expected = format!("a score for each of {} documents", ids.len());
        return Err(Error::Data { expected, found: scores.len().to_string() });
    }
    let mut named: HashMap<&str, Vec<u32>> = HashMap::new();
    (0..).zip(ids).for_each(|(i, id)| named.entry(id).or_default().push(i));
    let concerns = |own: &Option<String>| own.as_deref().is_none_or(|own| own == query);
    let mut excluded = vec![false; ids.len()];
    for rule in rules.exclusions.iter().filter(|rule| concerns(&rule.query)) {
        let own = named.get(rule.document.as_str()).into_iter().flatten();
        own.for_each(|&i| excluded[i as usize] = true);
    }
    let mut pins = vec![];
    for rule in rules.pins.iter().filter(|rule| concerns(&rule.query)) {
        let own = named.get(rule.document.as_str()).into_iter().flatten().copied();
        let best = own.max_by(|&a, &b| scores[a as usize].total_cmp(&scores[b as usize]).then(b.cmp(&a)));
        pins.extend(best.map(|i| (i, rule.place)));
    }
    let columns = rules.columns();
    let kinds = columns.iter().enumerate().map(|(at, column)| {
        let mut known: HashMap<Cow<str>, u32> = HashMap::new();
        let mut kind = |i: usize| {
            let next = known.len() as u32;
            let value = value(at, i);
            (!value.is_empty()).then(|| *known.entry(value).or_insert(next))
        };
        let of = (0..ids.len()).map(&mut kind).collect();
        let own = rules.caps.iter().filter(|cap| cap.column == *column);
        Kinds { of, caps: own.map(|cap| Cap { most: cap.most, first: cap.first }).collect() }
    });
    let kinds: Vec<Kinds> = kinds.collect();
    let made = ruled::order(scores, &pins, &excluded, &kinds).map_err(|error| match error {
        Error::Data { expected, found } => Error::Data { expected: format!("{expected} (query {query:?})"), found },
        other => other,
    })?;
    let gap = made.gap();
    let Ruled { order, left_out, value, bound } = made;
    let count = excluded.iter().filter(|out| **out).count();
    // rounding of sums in another order is no gap
    let exact = gap <= 1e-9 * bound.abs().max(1e-9);
    Ok((order, RulesPart { exact, value, bound, gap, pinned: pins.len(), excluded: count, left_out }))
}

/// What a model says of some queries under rules. `values` has for each of [`Rules::columns`] the value of each input row.
///
/// # Errors
///
/// Those of [`under_rules`] and of a prediction; [`Error::Data`] for another number of values.
pub fn ruled_lists(
    model: &Ranker,
    on: &Ready<'_, Rank>,
    units: &[u32],
    want: Want,
    (rules, values): (&Rules, &[Vec<String>]),
) -> Result<Vec<RankedList>> {
    let set = on.set();
    let columns = rules.columns();
    if values.len() != columns.len() || values.iter().any(|own| own.len() != set.rows()) {
        return Err(Error::Data {
            expected: format!("a value for each of {} rows of the columns {}", set.rows(), columns.join(", ")),
            found: format!("{} columns of other lengths", values.len()),
        });
    }
    let list = |(&q, said): (&u32, crate::method::RankPrediction)| {
        let start = set.span(q as usize).start;
        let names: Vec<Cow<str>> = said.order.iter().map(|&row| set.document(row)).collect();
        let ids: Vec<&str> = names.iter().map(|name| &**name).collect();
        let scores: Vec<f64> = said.order.iter().map(|&row| said.scores[row - start]).collect();
        let value = |column: usize, i: usize| values[column][set.input_row(said.order[i])].as_str().into();
        let (order, did) = under_rules(rules, set.query(q as usize), &ids, &scores, &value)?;
        let items = order.iter().take(want.most()).zip(1..).map(|(&i, rank)| RankedDocument {
            id: ids[i as usize].to_owned(),
            score: scores[i as usize],
            own_score: said.placed.as_ref().map(|placed| placed.own[said.order[i as usize] - start]),
            rank,
            places: None,
        });
        let items = items.collect();
        Ok(RankedList { query: set.query(q as usize).to_owned(), items, value: None, gap: None, rules: Some(did) })
    };
    units.iter().zip(model.predict(on, units, false)?).map(list).collect()
}

/// Pins and exclusions that name nothing in a set, as a person would find them.
pub fn unused_rules(rules: &Rules, set: &RankSet) -> Vec<String> {
    let pins = rules.pins.iter().map(|rule| (&rule.query, &rule.document));
    let all: Vec<(&Option<String>, &String)> =
        pins.chain(rules.exclusions.iter().map(|rule| (&rule.query, &rule.document))).collect();
    let wanted: HashSet<&str> = all.iter().map(|(_, document)| document.as_str()).collect();
    let (mut anywhere, mut there) = (HashSet::new(), HashSet::new());
    for q in 0..set.len() {
        for row in set.span(q) {
            let id = set.document(row);
            if let Some(&id) = wanted.get(&*id) {
                anywhere.insert(id);
                there.insert((set.query(q), id));
            }
        }
    }
    let unknown = all.into_iter().filter(|(query, document)| match query {
        Some(query) => !there.contains(&(query.as_str(), document.as_str())),
        None => !anywhere.contains(document.as_str()),
    });
    unknown
        .map(|(query, document)| match query {
            Some(query) => format!("document {document:?} of query {query:?}"),
            None => format!("document {document:?}"),
        })
        .collect()
}
