//! Linking two tables: which record of the one is which of the other?
//!
//! ```text
//! two tables → candidate pairs (blocking) → comparisons of fields → a matcher with nulls → links with probabilities
//! ```
//!
//! A [`Linking`] says which pairs are looked at and how fields are compared; where it says nothing, both follow from what the
//! tables hold. [`Linking::candidates`] makes the pairs. [`Candidates::learn`] learns a matcher from pairs that are known to belong
//! together, or not, and from how fields agree in all others; [`Candidates::unlearned`] is one that has learned nothing, to choose what to ask people about.
//! [`Candidates::links`] says who is who. One left record has one right one at most, and the other way round unless [`Linking::right_many`].
//!
//! ```
//! use ordain::data::synthetic::Registers;
//! use ordain::{link::Linking, solver::run::Watch};
//! let registers = Registers { records: 300, ..Registers::default() };
//! let [left, right] = registers.records();
//! let candidates = Linking::default().candidates(&left, &right)?;
//! let known = candidates.find(registers.matches().iter().take(40).map(|(a, b)| (a.as_str(), b.as_str(), true)))?;
//! let fitted = candidates.learn(&known, &Watch::NOBODY)?;
//! let links = candidates.links(&fitted, &known)?;
//! let right: std::collections::HashSet<(String, String)> = registers.matches().into_iter().collect();
//! let found: Vec<_> = links.iter().filter_map(|link| Some((link.left.clone()?, link.right.clone()?))).collect();
//! let hits = found.iter().filter(|pair| right.contains(pair)).count() as f64;
//! assert!(2.0 * hits / (found.len() + right.len()) as f64 > 0.9);
//! # Ok::<(), ordain::Error>(())
//! ```

mod agreement;
mod block;
mod compare;
mod explain;
mod fields;
mod known;
mod learn;
mod local;
mod pairs;
mod similar;
mod unlabelled;
mod usual;

pub use block::{Found, Key, Rule};
pub use compare::{Comparison, How};
pub use explain::Why;
pub use known::{Known, KnownPairs, read_known};
pub use similar::{jaro, levenshtein, ngrams, soundex, tokens};

use crate::data::{Columns, MatchSet, Problem, Records, Roles, Truth, room};
use crate::error::{Error, Result};
use crate::matrix::Features;
use crate::method::{Match, MatchMap, MatchNotes, Matcher};
use crate::solver::run::Report;
use crate::task::{Facts, Fitted, Method, Model};
use crate::traits::Stop;
use compare::Comparer;
use fields::Field;
use serde_json::{Map, Value};
use std::path::Path;

/// How two tables are linked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linking {
    /// Which pairs are candidates: those that any rule finds, as [`Rule::parse`] reads them. Without rules, such that follow from the tables.
    pub block: Vec<String>,
    /// How fields are compared. Without comparisons, such that suit what the fields hold.
    pub compare: Vec<Comparison>,
    /// Whether several left records may belong to the same right one.
    pub right_many: bool,
}

/// The candidate pairs of two tables, and how they compare.
#[derive(Debug)]
pub struct Candidates<'a> {
    left: &'a Records,
    right: &'a Records,
    /// What each rule of blocking found.
    pub found: Vec<Found>,
    /// How fields are compared.
    pub compared: Vec<Comparison>,
    fields: Vec<Field>,
    right_many: bool,
    pairs: Vec<(u32, u32)>,
    set: MatchSet,
}

/// Two records that belong together, or one that stays alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The id of the left record.
    pub left: Option<String>,
    /// The id of the right record.
    pub right: Option<String>,
    /// How likely it is: that the two belong together, or that the one belongs to nobody.
    pub probability: f64,
    /// Whether somebody said so.
    pub known: bool,
}

impl Linking {
    /// The candidate pairs of two tables.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if the tables share no column or no pair, or a rule has too many pairs; [`Error::Unknown`] and [`Error::Setting`] for columns,
    /// rules and comparisons that are none.
    pub fn candidates<'a>(&self, left: &'a Records, right: &'a Records) -> Result<Candidates<'a>> {
        let fields = fields::shared(left, right)?;
        let (names, sizes): (Vec<String>, _) =
            (fields.iter().map(|field| field.name.clone()).collect(), [left.len(), right.len()]);
        let rules: Vec<Rule> = match self.block.is_empty() {
            true => usual::rules(&fields, sizes),
            false => self.block.iter().map(|text| Rule::parse(text, &names)).collect::<Result<_>>()?,
        };
        let compared = if self.compare.is_empty() { compare::usual(&fields) } else { self.compare.clone() };
        let comparer = Comparer::new(&fields, &compared)?;
        let (pairs, found) = block::pairs(&rules, &fields, sizes)?;
        if pairs.is_empty() {
            let rules: Vec<&str> = found.iter().map(|found| found.rule.as_str()).collect();
            return Err(Error::Data {
                expected: "records of both tables that share something (looser rules find more)".into(),
                found: format!("no pair by {}", if rules.is_empty() { "any rule".into() } else { rules.join(", ") }),
            });
        }
        let ignore = shown(&names);
        let roles = Roles { ignore, ..Roles::default() };
        let columns = Columns { roles, ..Columns::named(comparer.names.clone()) };
        // a row of comparisons, its copies in a fit, an edge, and the name of its right record
        let each = 12 * comparer.names.len() + 192;
        room::need(Path::new("candidate pairs"), "compare", pairs.len() as u64 * each as u64)?;
        let features = Features::Dense(comparer.rows(&pairs));
        let set = MatchSet::new(features, columns, by_left(&pairs, left, right))?;
        drop(comparer);
        let right_many = self.right_many;
        Ok(Candidates { left, right, found, compared, fields, right_many, pairs, set })
    }
}

/// The columns of a table of pairs that show the fields of both records.
fn shown(fields: &[String]) -> Vec<String> {
    fields.iter().flat_map(|name| ["left", "right"].map(|side| format!("{side}.{name}"))).collect()
}

/// A problem for each left record with its candidates.
fn by_left(pairs: &[(u32, u32)], left: &Records, right: &Records) -> Vec<Problem> {
    let one = |own: &[(u32, u32)]| Problem {
        name: left.ids[own[0].0 as usize].clone(),
        left: vec![left.ids[own[0].0 as usize].clone()],
        right: own.iter().map(|&(_, j)| right.ids[j as usize].clone()).collect(),
        edges: (0..own.len() as u32).map(|n| (0, n)).collect(),
        truth: vec![Truth::Unknown; own.len()],
        places: None,
    };
    pairs.chunk_by(|a, b| a.0 == b.0).map(one).collect()
}

impl Candidates<'_> {
    /// The number of candidate pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The pairs as problems, one for each left record that has candidates, with a column for each comparison.
    pub fn set(&self) -> &MatchSet {
        &self.set
    }

    /// Of the pairs that are known to belong together, how many are candidates, and how many there are.
    pub fn reached(&self, known: &Known) -> (usize, usize) {
        let hits = known.yes.iter().filter(|pair| self.pairs.binary_search(pair).is_ok()).count();
        (hits, known.yes.len())
    }

    /// Pairs of records by their ids, with whether they belong together.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] for an id that is not there; [`Error::Data`] if a record has two partners, but that of a right one if it may have many.
    pub fn find<'k>(&self, pairs: impl IntoIterator<Item = (&'k str, &'k str, bool)>) -> Result<Known> {
        known::find(self.left, self.right, self.right_many, pairs)
    }

    fn comparer(&self) -> Result<Comparer<'_>> {
        Comparer::new(&self.fields, &self.compared)
    }

    /// A matcher that has learned nothing: all comparisons weigh 1, and an empty field counts as half alike. What staying alone is worth lies between the
    /// best and the second best candidate of a left record, in the median.
    pub fn unlearned(&self) -> Result<Fitted<Match>> {
        let comparer = self.comparer()?;
        let given = comparer.names.len() - comparer.flags();
        let half = |flag: usize| 0.5 * comparer.comparisons_of(flag) as f64;
        let weights: Vec<f64> = (0..given).map(|_| 1.0).chain((0..comparer.flags()).map(half)).collect();
        let mut matcher = Matcher::unlearned(&self.set, weights);
        let scores = matcher.scores_of(&matcher.prepare(&self.set)?, &self.set.all())?;
        let mut places: [Vec<f64>; 2] = Default::default();
        for mut own in scores {
            own.sort_by(|a, b| b.total_cmp(a));
            places.iter_mut().zip(own).for_each(|(place, score)| place.push(score));
        }
        let [best, second] = places.map(|mut place| {
            place.sort_by(f64::total_cmp);
            place.get(place.len() / 2).copied()
        });
        let best = best.unwrap_or(0.0);
        let second = second.unwrap_or(0.0).min(best - 0.5);
        matcher.null = Some(0.25 * (best + second));
        matcher.temperature = Some(0.25 * (best - second));
        let report =
            Report { iterations: 0, objective: 0.0, gradient: 0.0, gap: None, rounds: None, stop: Stop::Iterations };
        let settings = MatchMap { null: true, ..MatchMap::default() }.written().settings;
        Ok(self.fitted(matcher, settings, (0, 0), report))
    }

    /// A model with what is to be said of it: how many pairs of how many problems taught it.
    fn fitted(
        &self,
        model: Matcher,
        settings: Map<String, Value>,
        (edges, problems): (usize, usize),
        report: Report,
    ) -> Fitted<Match> {
        let notes = MatchNotes {
            edges,
            problems,
            blank_problems: self.set.len() - problems,
            partly_known: problems,
            engines: Default::default(),
            accuracy: "exact".into(),
            error: None,
            trees: None,
            local: None,
            decisions: None,
        };
        let facts = Facts {
            method: "matchmap".into(),
            settings,
            asked: Default::default(),
            data: self.set.digest(),
            notes,
            report,
            refit: false,
            chosen: None,
            seed: 0,
            auto: None,
            init: None,
        };
        Fitted { model, facts, journal: None }
    }
}
