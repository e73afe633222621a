//! What known pairs teach: small problems around each of them.

use super::compare::Comparer;
use super::known::Known;
use crate::data::{Columns, MatchSet, Truth};
use crate::error::Result;
use crate::matrix::Features;
pub(super) use crate::method::matching::local::Neighbours;
use crate::method::matching::local::{Pair, problem, star};
use std::collections::{BTreeMap, BTreeSet};

/// Problems to learn from, and for each the number of the known pair that it is about: those of one pair are never parted.
///
/// A match (i, j) that is known gives three problems. The first has i, j and all candidates of either, and the match is right. The second has i and its candidates without j,
/// the third j and its candidates without i: there nobody belongs to anybody, which is what a record without a partner looks like.
/// So what staying unmatched is worth is learned from matches alone. If many left records may share a right one, there is no third problem, and no other candidate of j.
/// A record with pairs that are known not to match, and no match, gives a problem with these.
pub(super) fn problems(
    known: &Known,
    near: &Neighbours,
    right_many: bool,
    comparer: &Comparer,
    columns: &Columns,
) -> Result<(MatchSet, Vec<u32>)> {
    let mut all: Vec<(u32, Vec<Pair>)> = vec![];
    let mut add = |group: usize, edges: Vec<Pair>| {
        if !edges.is_empty() {
            all.push((group as u32, edges));
        }
    };
    for (group, &(i, j)) in known.yes.iter().enumerate() {
        let mut others = near.others((i, j));
        if right_many {
            others[1].clear();
        }
        add(group, star((i, j), &others));
        let [rights, lefts] = others;
        add(group, rights);
        add(group, lefts);
    }
    let matched: BTreeSet<u32> = known.yes.iter().map(|&(i, _)| i).collect();
    let mut others: BTreeMap<u32, Vec<Pair>> = BTreeMap::new();
    for &(i, j) in known.no.iter().filter(|(i, _)| !matched.contains(i)) {
        others.entry(i).or_default().push(((i, j), Truth::No));
    }
    for (n, (_, edges)) in others.into_iter().enumerate() {
        add(known.yes.len() + n, edges);
    }
    let pairs: Vec<(u32, u32)> = all.iter().flat_map(|(_, edges)| edges.iter().map(|edge| edge.0)).collect();
    let groups = all.iter().map(|(group, _)| *group).collect();
    let of = |(n, (_, edges)): (usize, (u32, Vec<Pair>))| problem((n + 1).to_string(), &edges, |_, k| k.to_string());
    let problems = all.into_iter().enumerate().map(of).collect();
    let set = MatchSet::new(Features::Dense(comparer.rows(&pairs)), columns.clone(), problems)?;
    Ok((set, groups))
}
