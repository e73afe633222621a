//! What known pairs teach: small problems around each of them.

use super::compare::Comparer;
use super::known::Known;
use crate::data::{Columns, MatchSet, Problem, Truth};
use crate::error::Result;
use crate::matrix::Features;
use std::collections::{BTreeMap, BTreeSet};

/// Candidate pairs by either side.
pub(super) struct Neighbours {
    of: [Vec<Vec<u32>>; 2],
}

impl Neighbours {
    pub(super) fn new(pairs: &[(u32, u32)], sizes: [usize; 2]) -> Self {
        let mut of = sizes.map(|size| vec![vec![]; size]);
        for &(i, j) in pairs {
            of[0][i as usize].push(j);
            of[1][j as usize].push(i);
        }
        Self { of }
    }

    pub(super) fn of(&self, side: usize, record: u32) -> &[u32] {
        &self.of[side][record as usize]
    }

    /// The candidates without those of records that others have: two that are matched are candidates of each other alone.
    pub(super) fn without(mut self, matched: &[(u32, u32)]) -> Self {
        for side in 0..2 {
            let pairs = matched.iter().map(|&(i, j)| if side == 0 { (j, i) } else { (i, j) });
            let partner: BTreeMap<u32, u32> = pairs.collect();
            for (record, near) in (0u32..).zip(&mut self.of[side]) {
                near.retain(|other| partner.get(other).is_none_or(|own| *own == record));
            }
        }
        self
    }
}

/// A pair with what is known of it.
type Edge = ((u32, u32), Truth);

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
    let mut all: Vec<(u32, Vec<Edge>)> = vec![];
    let mut add = |group: usize, edges: Vec<Edge>| {
        if !edges.is_empty() {
            all.push((group as u32, edges));
        }
    };
    for (group, &(i, j)) in known.yes.iter().enumerate() {
        let rights: Vec<Edge> = near.of(0, i).iter().filter(|&&k| k != j).map(|&k| ((i, k), Truth::No)).collect();
        let lefts: Vec<Edge> = match right_many {
            true => vec![],
            false => near.of(1, j).iter().filter(|&&l| l != i).map(|&l| ((l, j), Truth::No)).collect(),
        };
        let mut star = [&rights[..], &lefts, &[((i, j), Truth::Yes)]].concat();
        star.sort_unstable_by_key(|edge| edge.0);
        add(group, star);
        add(group, rights);
        add(group, lefts);
    }
    let matched: BTreeSet<u32> = known.yes.iter().map(|&(i, _)| i).collect();
    let mut others: BTreeMap<u32, Vec<Edge>> = BTreeMap::new();
    for &(i, j) in known.no.iter().filter(|(i, _)| !matched.contains(i)) {
        others.entry(i).or_default().push(((i, j), Truth::No));
    }
    for (n, (_, edges)) in others.into_iter().enumerate() {
        add(known.yes.len() + n, edges);
    }
    let pairs: Vec<(u32, u32)> = all.iter().flat_map(|(_, edges)| edges.iter().map(|edge| edge.0)).collect();
    let groups = all.iter().map(|(group, _)| *group).collect();
    let problems = all.into_iter().enumerate().map(|(n, (_, edges))| problem(n, &edges)).collect();
    let set = MatchSet::new(Features::Dense(comparer.rows(&pairs)), columns.clone(), problems)?;
    Ok((set, groups))
}

/// A problem of some edges, which ascend.
fn problem(number: usize, edges: &[Edge]) -> Problem {
    let numbers = |all: BTreeSet<u32>| -> BTreeMap<u32, u32> { all.into_iter().zip(0..).collect() };
    let lefts = numbers(edges.iter().map(|((i, _), _)| *i).collect());
    let rights = numbers(edges.iter().map(|((_, j), _)| *j).collect());
    Problem {
        name: (number + 1).to_string(),
        left: lefts.keys().map(ToString::to_string).collect(),
        right: rights.keys().map(ToString::to_string).collect(),
        edges: edges.iter().map(|((i, j), _)| (lefts[i], rights[j])).collect(),
        truth: edges.iter().map(|edge| edge.1).collect(),
        places: None,
    }
}
