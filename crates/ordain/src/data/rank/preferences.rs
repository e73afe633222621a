//! Which of two documents is better: judgements in place of grades, from a table with the columns qid, winner, loser and weight.

use super::pairs::Finder;
use crate::data::RankSet;
use crate::data::rank::clicks::ClickFacts;
use crate::data::table::{Format, Table, shown};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Pairs of documents of one query, the better one first, each with a weight above 0.
///
/// A pair that is given twice is there once, with the sum of its weights. Two pairs that contradict each other are both there:
/// a loss of pairs is the sum of what each of them costs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preferences {
    /// Stored rows of winner and loser, ascending, with their weights.
    pairs: Vec<(u32, u32, f64)>,
    /// What they were made of, if they were made of clicks.
    clicks: Option<ClickFacts>,
}

/// What is said of the preferences that a model was fitted on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreferenceFacts {
    /// Different pairs.
    pub pairs: usize,
    /// The sum of their weights.
    pub weight: f64,
    /// Pairs whose opposite is there too.
    pub opposed: usize,
    /// What they were made of, if they were made of clicks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clicks: Option<ClickFacts>,
}

impl Preferences {
    /// From pairs of stored rows of one query each.
    pub(super) fn new(mut pairs: Vec<(u32, u32, f64)>, clicks: Option<ClickFacts>) -> Self {
        // stable: weights of the same pair are added in the order in which they came
        pairs.sort_by_key(|&(winner, loser, _)| (winner, loser));
        pairs.dedup_by(|next, first| {
            let same = (next.0, next.1) == (first.0, first.1);
            if same {
                first.2 += next.2;
            }
            same
        });
        Self { pairs, clicks }
    }

    /// Number of different pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The pairs of the rows of a query: the places of winner and loser within it, and their weight.
    pub fn of(&self, span: Range<usize>) -> impl ExactSizeIterator<Item = (u32, u32, f64)> + '_ {
        let first = |row: usize| self.pairs.partition_point(|&(winner, ..)| (winner as usize) < row);
        let start = span.start as u32;
        self.pairs[first(span.start)..first(span.end)]
            .iter()
            .map(move |&(winner, loser, weight)| (winner - start, loser - start, weight))
    }

    /// What is said of them.
    pub fn facts(&self) -> PreferenceFacts {
        let opposite = |&&(winner, loser, _): &&(u32, u32, f64)| {
            self.pairs.binary_search_by_key(&(loser, winner), |&(winner, loser, _)| (winner, loser)).is_ok()
        };
        PreferenceFacts {
            pairs: self.len(),
            weight: self.pairs.iter().map(|(.., weight)| weight).sum(),
            opposed: self.pairs.iter().filter(opposite).count(),
            clicks: self.clicks.clone(),
        }
    }

    /// The pairs of some rows; `to` gives their new places.
    pub(in crate::data) fn of_rows(&self, to: &HashMap<u32, Vec<u32>>) -> Self {
        let mut kept = vec![];
        for &(winner, loser, weight) in &self.pairs {
            let (Some(winners), Some(losers)) = (to.get(&winner), to.get(&loser)) else { continue };
            // a query that was taken twice has its pairs twice
            kept.extend(winners.iter().zip(losers).map(|(&winner, &loser)| (winner, loser, weight)));
        }
        Self::new(kept, self.clicks.clone())
    }

    /// What a digest needs of them.
    pub(in crate::data) fn bytes(&self, out: &mut Vec<u8>) {
        for (winner, loser, weight) in &self.pairs {
            out.extend([winner.to_le_bytes(), loser.to_le_bytes()].concat());
            out.extend(weight.to_le_bytes());
        }
    }
}

/// Refuses what is no weight of a preference; 0 would be none.
fn above_0(weight: f64) -> bool {
    weight.is_finite() && weight > 0.0
}

impl RankSet {
    /// The preferences between its documents, where somebody gave them: they stand in place of the grades.
    pub fn preferences(&self) -> Option<&Preferences> {
        self.preferences.as_deref()
    }

    /// The same with preferences between documents of one query, in place of grades: two input rows each, the better one first, and a
    /// weight above 0.
    ///
    /// Methods that learn from pairs take the pairs as they are ([`crate::task::Method::takes_preferences`]), each with its weight; the
    /// metric `pairs` is then the share of their weight that is in the right order.
    ///
    /// ```
    /// let set = ordain::data::synthetic::Synthetic { queries: 2, documents: (3, 3), ..Default::default() }.make();
    /// let set = set.with_preferences(&[(0, 2, 1.0), (0, 2, 0.5), (4, 5, 2.0)])?;
    /// let pairs: Vec<_> = set.preferences().into_iter().flat_map(|all| all.of(set.span(0))).collect();
    /// assert_eq!(pairs, [(0, 2, 1.5)]);
    /// assert!(set.with_preferences(&[(0, 3, 1.0)]).is_err()); // two queries
    /// # Ok::<(), ordain::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Data`] for rows that are not there, rows of two queries, a document that is better than itself, weights that are not above 0, and
    /// for no pair at all.
    pub fn with_preferences(mut self, pairs: &[(usize, usize, f64)]) -> Result<Self> {
        let refuse = |expected: String, found: String| Error::Data { expected, found };
        let mut stored = vec![0; self.rows()];
        (0..self.rows()).for_each(|row| stored[self.input_row(row)] = row);
        let mut all = Vec::with_capacity(pairs.len());
        for (at, &(winner, loser, weight)) in pairs.iter().enumerate() {
            let found = || format!("rows {winner} and {loser} in preference {at} (from 0)");
            let (Some(&a), Some(&b)) = (stored.get(winner), stored.get(loser)) else {
                return Err(refuse(format!("rows of the data, from 0 to {}", self.rows() as i64 - 1), found()));
            };
            let q = self.bounds.partition_point(|&start| start <= a).saturating_sub(1);
            if a == b || !self.span(q).contains(&b) {
                return Err(refuse("two documents of one query".into(), found()));
            }
            if !above_0(weight) {
                return Err(refuse(
                    "weights of preferences above 0".into(),
                    format!("{weight} in preference {at} (from 0)"),
                ));
            }
            all.push((a as u32, b as u32, weight));
        }
        if all.is_empty() {
            return Err(refuse("at least one preference".into(), "none".into()));
        }
        self.preferences = Some(Arc::new(Preferences::new(all, None)));
        Ok(self)
    }

    /// The same by query, winner and loser, as [`RankSet::find_document`] finds them; a pair is that of every query of the id that has both.
    pub fn with_named_preferences(self, pairs: &[(String, String, String)], weights: &[f64]) -> Result<Self> {
        let refuse = |expected: String, found: String| Error::Data { expected, found };
        if pairs.len() != weights.len() {
            return Err(refuse(format!("a weight for each of {} preferences", pairs.len()), weights.len().to_string()));
        }
        let (finder, mut rows) = (Finder::new(&self), vec![]);
        for (at, ((query, winner, loser), &weight)) in pairs.iter().zip(weights).enumerate() {
            let wrong =
                |expected: String, found: &str| refuse(expected, format!("{found:?} in preference {at} (from 0)"));
            let own = finder.of_query(query).ok_or_else(|| wrong("a query of the data".into(), query))?;
            let found = finder.pair(own, winner, loser);
            let found = found.map_err(|(expected, of)| wrong(expected, [winner, loser][of]))?;
            rows.extend(found.iter().map(|&[_, a, b]| (self.input_row(a), self.input_row(b), weight)));
        }
        drop(finder);
        self.with_preferences(&rows)
    }
}

/// Reads preferences, a table with the columns qid, winner and loser, and weight where they do not all count alike.
pub(in crate::data) fn read(path: &Path, set: &mut RankSet) -> Result<()> {
    let mut rows = Table::open(path, Format::of(path).unwrap_or(Format::Text(b',')))?;
    let header = rows.header.clone();
    rows.select(&[], &(0..header.len()).collect::<Vec<_>>())?;
    let find = |names: &[&str]| header.iter().position(|own| names.iter().any(|name| own.eq_ignore_ascii_case(name)));
    let (Some(query), Some(winner), Some(loser)) = (find(&["qid", "query"]), find(&["winner"]), find(&["loser"]))
    else {
        return Err(Error::Parse {
            path: path.into(),
            line: 1,
            column: 1,
            expected: "a header with the columns qid, winner and loser, and weight if there are weights".into(),
            found: shown(&header),
        });
    };
    let weight = find(&["weight"]);
    let mut pairs = vec![];
    {
        let finder = Finder::new(set);
        while let Some(record) = rows.next()? {
            let word = |j: usize| record.word(j).ok_or_else(|| record.refuse(j, "UTF-8"));
            let own = finder.of_query(&word(query)?).ok_or_else(|| record.refuse(query, "a query of the data"))?;
            let (a, b) = (word(winner)?, word(loser)?);
            let worth = weight.map_or(Ok(1.0), |j| {
                record.number(j).filter(|&x| above_0(x)).ok_or_else(|| record.refuse(j, "a weight above 0"))
            })?;
            let refused = |(expected, of): (String, usize)| record.refuse([winner, loser][of], expected);
            for [_, a, b] in finder.pair(own, &a, &b).map_err(refused)? {
                if a == b {
                    return Err(record.refuse(loser, "another document than the winner"));
                }
                pairs.push((a as u32, b as u32, worth));
            }
        }
    }
    if pairs.is_empty() {
        return Err(Error::Content {
            path: path.into(),
            expected: "preferences".into(),
            found: "a header alone".into(),
        });
    }
    set.preferences = Some(Arc::new(Preferences::new(pairs, None)));
    Ok(())
}
