//! Small problems around items of which something is known, in the place of one that is too large to be summed.

use crate::data::scale::Scale;
use crate::data::{MatchSet, Problem, Truth};
use crate::error::Result;
use crate::method::matching::matcher::{graph_of, tells};
use crate::method::{Choice, Match};
use crate::structure::matching::engine;
use crate::task::{Fitted, Training, both};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Two items with what is known of them.
pub(crate) type Pair = ((u32, u32), Truth);

/// Candidate pairs by either side.
pub(crate) struct Neighbours {
    of: [Vec<Vec<u32>>; 2],
}

impl Neighbours {
    pub(crate) fn new(pairs: &[(u32, u32)], sizes: [usize; 2]) -> Self {
        let mut of = sizes.map(|size| vec![vec![]; size]);
        for &(i, j) in pairs {
            of[0][i as usize].push(j);
            of[1][j as usize].push(i);
        }
        Self { of }
    }

    pub(crate) fn of(&self, side: usize, item: u32) -> &[u32] {
        &self.of[side][item as usize]
    }

    /// The candidates without those of items that others have: two that are matched are candidates of each other alone.
    pub(crate) fn without(mut self, matched: &[(u32, u32)]) -> Self {
        for side in 0..2 {
            let pairs = matched.iter().map(|&(i, j)| if side == 0 { (j, i) } else { (i, j) });
            let partner: BTreeMap<u32, u32> = pairs.collect();
            for (item, near) in (0u32..).zip(&mut self.of[side]) {
                near.retain(|other| partner.get(other).is_none_or(|own| *own == item));
            }
        }
        self
    }

    /// The other candidates of the left and of the right item of a match: none of them is one.
    pub(crate) fn others(&self, (i, j): (u32, u32)) -> [Vec<Pair>; 2] {
        let rights = self.of(0, i).iter().filter(|&&k| k != j).map(|&k| ((i, k), Truth::No));
        let lefts = self.of(1, j).iter().filter(|&&l| l != i).map(|&l| ((l, j), Truth::No));
        [rights.collect(), lefts.collect()]
    }
}

/// The pairs of a match: both items with all their candidates, as [`Neighbours::others`] gives them.
pub(crate) fn star(pair: (u32, u32), [rights, lefts]: &[Vec<Pair>; 2]) -> Vec<Pair> {
    let mut star = [&rights[..], lefts, &[(pair, Truth::Yes)]].concat();
    star.sort_unstable_by_key(|edge| edge.0);
    star
}

/// A problem of some pairs, which ascend, with the names of the items of either side.
pub(crate) fn problem(name: String, pairs: &[Pair], names: impl Fn(usize, u32) -> String) -> Problem {
    let numbers = |all: BTreeSet<u32>| -> BTreeMap<u32, u32> { all.into_iter().zip(0..).collect() };
    let lefts = numbers(pairs.iter().map(|((i, _), _)| *i).collect());
    let rights = numbers(pairs.iter().map(|((_, j), _)| *j).collect());
    Problem {
        name,
        left: lefts.keys().map(|&i| names(0, i)).collect(),
        right: rights.keys().map(|&j| names(1, j)).collect(),
        edges: pairs.iter().map(|((i, j), _)| (lefts[i], rights[j])).collect(),
        truth: pairs.iter().map(|edge| edge.1).collect(),
        places: None,
    }
}

/// The pairs of a problem that something is known of, in groups: each is learned from alone.
///
/// A match gives both its items with all their candidates, of which no other is one. A left item that is known to match none of its candidates
/// gives these; then a right one, unless all that it says was said already. What is known beyond that comes by left items
/// with all their candidates, those that nobody knows too. The graph of each group is a tree, so that its sum over matchings is exact.
fn groups(problem: &Problem) -> Vec<Vec<Pair>> {
    let near = Neighbours::new(&problem.edges, [problem.left.len(), problem.right.len()]);
    let truth = |i: u32, j: u32| problem.edges.binary_search(&(i, j)).map_or(Truth::No, |e| problem.truth[e]);
    let mut taken = [vec![false; problem.left.len()], vec![false; problem.right.len()]];
    // items whose candidates are in a group
    let mut said = taken.clone();
    let mut all = vec![];
    for e in problem.matched() {
        let (i, j) = problem.edges[e];
        (taken[0][i as usize], taken[1][j as usize]) = (true, true);
        all.push(star((i, j), &near.others((i, j))));
    }
    said.clone_from(&taken);
    for side in [0, 1] {
        for item in 0..said[side].len() as u32 {
            let pair = |other: u32| if side == 0 { (item, other) } else { (other, item) };
            let own = || near.of(side, item).iter().map(|&other| (pair(other), truth(pair(other).0, pair(other).1)));
            let news = near.of(side, item).iter().any(|&other| !said[1 - side][other as usize]);
            if !said[side][item as usize] && news && own().all(|(_, truth)| truth == Truth::No) {
                all.push(own().collect());
                said[side][item as usize] = true;
            }
        }
    }
    for i in (0..problem.left.len() as u32).filter(|&i| !said[0][i as usize]) {
        let of = |&j: &u32| ((i, j), if taken[1][j as usize] { Truth::No } else { truth(i, j) });
        let news = |&&j: &&u32| !said[1][j as usize] && truth(i, j) == Truth::No;
        if near.of(0, i).iter().any(|j| news(&j)) {
            all.push(near.of(0, i).iter().map(of).collect());
        }
    }
    all
}

/// A training in which problems that are too large are cut into small ones.
pub(super) struct Local {
    set: MatchSet,
    train: Vec<u32>,
    valid: Option<Vec<u32>>,
    made: usize,
}

impl Local {
    /// Cuts what has to be cut: problems in which something is known, with nulls, and with more items that edges connect than any sum but an approximate
    /// one can take. Of these nobody could be held out to choose by, and how near their sums are nobody knows. Nothing where there is none,
    /// or where a problem has a scaling of its own, which that of a part would not be.
    pub(super) fn of(data: &Training<'_, Match>, null: bool, scale: Choice<Scale>) -> Result<Option<Self>> {
        let (units, cut) = Self::cuts(data, null, scale)?;
        if !cut.contains(&true) {
            return Ok(None);
        }
        let set = data.set;
        let (mut problems, mut rows, mut made): (Vec<Problem>, Vec<u32>, usize) = (vec![], vec![], 0);
        let mut places: BTreeMap<u32, Range<u32>> = BTreeMap::new();
        for (&p, cut) in units.iter().zip(cut) {
            let (whole, span, first) = (set.problem(p as usize), set.span(p as usize), problems.len());
            if cut {
                for (n, pairs) in groups(whole).iter().enumerate() {
                    let row = |pair: &Pair| whole.edges.binary_search(&pair.0).ok().map(|e| (span.start + e) as u32);
                    rows.extend(pairs.iter().filter_map(row));
                    let names = |side: usize, item: u32| [&whole.left, &whole.right][side][item as usize].clone();
                    problems.push(problem(format!("{} ({})", whole.name, n + 1), pairs, names));
                }
                made += problems.len() - first;
            } else {
                rows.extend(span.map(|row| row as u32));
                problems.push(Problem { places: None, ..whole.clone() });
            }
            places.insert(p, first as u32..problems.len() as u32);
        }
        let of = |units: &[u32]| units.iter().flat_map(|p| places[p].clone()).collect::<Vec<u32>>();
        let (train, valid) = (of(data.train), data.valid.map(of));
        let set = MatchSet::new(set.features.select_rows(&rows), set.columns.clone(), problems)?;
        Ok(Some(Self { set, train, valid, made }))
    }

    /// The first problem that would have to be cut.
    pub(super) fn large(data: &Training<'_, Match>, null: bool, scale: Choice<Scale>) -> Result<Option<u32>> {
        let (units, cut) = Self::cuts(data, null, scale)?;
        Ok(units.into_iter().zip(cut).find(|(_, cut)| *cut).map(|(p, _)| p))
    }

    /// All problems of a training, and which of them have to be cut.
    fn cuts(data: &Training<'_, Match>, null: bool, scale: Choice<Scale>) -> Result<(Vec<u32>, Vec<bool>)> {
        let set = data.set;
        let large = |&p: &u32| -> Result<bool> {
            let problem = set.problem(p as usize);
            let wide = problem.left.len().min(problem.right.len()) > engine::PRUNED;
            Ok(wide && tells(set, p) && !engine::may_prune(&graph_of(set, p as usize, null)?))
        };
        let own = matches!(scale, Choice::Set(Scale::Query | Scale::Minmax));
        let units = both(data.train, data.valid.unwrap_or_default());
        let cut: Vec<bool> = units.iter().map(large).collect::<Result<_>>()?;
        Ok((units, cut.into_iter().map(|cut| cut && null && !own).collect()))
    }

    /// The training on the small problems.
    pub(super) fn training<'a>(&'a self, data: &Training<'_, Match>) -> Training<'a, Match> {
        Training {
            valid: self.valid.as_deref(),
            by: data.by,
            convention: data.convention,
            refit: data.refit,
            seed: data.seed,
            filled: data.filled.clone(),
            ..Training::new(&self.set, &self.train)
        }
    }

    /// Says of a fit on the small problems what it was learned from.
    pub(super) fn told(&self, mut fitted: Fitted<Match>, data: &Training<'_, Match>) -> Fitted<Match> {
        let (set, notes) = (data.set, &mut fitted.facts.notes);
        let refitted = if fitted.facts.refit { data.valid.unwrap_or_default() } else { &[] };
        let known: Vec<u32> = both(data.train, refitted).into_iter().filter(|&p| tells(set, p)).collect();
        notes.problems = known.len();
        notes.partly_known = known.iter().filter(|&&p| !set.problem(p as usize).is_known()).count();
        notes.blank_problems = data.train.iter().filter(|&&p| !tells(set, p)).count();
        notes.local = Some(self.made);
        fitted.facts.data = set.digest();
        fitted
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::random::Random;

    /// Whatever is known of a problem, its groups say it: each is a tree, no pair has another truth than one that follows from what is known, and
    /// none that is known is left out.
    #[test]
    fn groups_say_what_is_known_and_nothing_else() {
        let mut random = Random::new(1);
        for round in 0..300 {
            let (n, m) = (1 + random.below(6), 1 + random.below(6));
            let (mut problem, mut free) = (Problem::default(), vec![true; m]);
            problem.left = (0..n).map(|i| format!("a{i}")).collect();
            problem.right = (0..m).map(|j| format!("b{j}")).collect();
            for i in 0..n {
                let partner = (0..m).find(|&j| free[j] && random.below(4) == 0);
                partner.into_iter().for_each(|j| free[j] = false);
                let labelled = random.below(3) > 0;
                for j in (0..m).filter(|&j| Some(j) == partner || random.below(2) == 0).collect::<Vec<_>>() {
                    let told = if round % 2 == 0 { labelled } else { random.below(2) == 0 };
                    problem.edges.push((i as u32, j as u32));
                    problem.truth.push(match told {
                        true if Some(j) == partner => Truth::Yes,
                        true => Truth::No,
                        false => Truth::Unknown,
                    });
                }
            }
            let all = groups(&problem);
            let known: BTreeMap<(u32, u32), Truth> = problem.edges.iter().copied().zip(problem.truth.clone()).collect();
            let taken = |side: usize, item: u32| {
                known.iter().any(|(&(i, j), &truth)| truth == Truth::Yes && [i, j][side] == item)
            };
            for group in &all {
                let part = super::problem("part".into(), group, |side, item| format!("{side}{item}"));
                let graph =
                    crate::structure::matching::graph::Graph::new(part.left.len(), part.right.len(), &part.edges, true);
                assert!(crate::structure::matching::forest::fits(&graph.unwrap()), "round {round}");
                for &((i, j), truth) in group {
                    let follows =
                        truth == Truth::No && known[&(i, j)] == Truth::Unknown && (taken(0, i) || taken(1, j));
                    assert!(truth == known[&(i, j)] || follows, "round {round}: {i} {j}");
                }
            }
            let told: BTreeSet<(u32, u32)> = all.iter().flatten().map(|pair| pair.0).collect();
            let left_out = known.iter().find(|(pair, truth)| **truth != Truth::Unknown && !told.contains(pair));
            assert_eq!(left_out, None, "round {round}");
        }
    }
}
