//! A matcher from known pairs, and the links that it finds.

use super::known::Known;
use super::local::{self, Neighbours};
use super::{Candidates, Link};
use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::data::{MatchSet, Problem, Truth};
use crate::error::{Error, Result};
use crate::method::{Choice, Match, MatchDecide, MatchMap, Matcher};
use crate::metric::Convention;
use crate::solver::run::Watch;
use crate::task::{Fitted, Method, Model, Training};
use std::collections::{BTreeMap, BTreeSet};

/// Of how many known pairs one is held out to choose by.
pub(super) const HELD: u32 = 5;

/// The fewest links that are worth another fit, and the most that it takes.
const LEAST: usize = 50;
const MOST: usize = 600;

/// What learns. Comparisons are between 0 and 1 as they are, so that nothing is transformed; links are one matching, the best by the sum of
/// scores.
fn method() -> MatchMap {
    let decide = Choice::Set(MatchDecide::Map);
    MatchMap { null: true, transform: Transform::None, decide, ..MatchMap::default() }
}

/// Problems to learn from, and those to choose by: no known pair is on both sides.
fn training(set: &MatchSet, groups: &[u32]) -> (Vec<u32>, Vec<u32>) {
    set.all().into_iter().partition(|&p| groups[p as usize] % HELD != HELD - 1)
}

impl Candidates<'_> {
    /// A matcher that has learned what comparisons are worth, and what staying alone is.
    ///
    /// Two can teach it: known pairs by themselves, and all pairs, whose fields agree where records belong together. That one is taken to which one in five of the known
    /// matches, learned without them, are likelier; where fewer than five are known, all pairs teach.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if no match is known; else as a fit.
    pub fn learn(&self, known: &Known, watch: &Watch) -> Result<Fitted<Match>> {
        if known.yes.is_empty() {
            return Err(Error::Data {
                expected: "pairs that are known to match".into(),
                found: format!("none, and {} that do not", known.no.len()),
            });
        }
        if known.yes.len() >= HELD as usize {
            let (some, held) = known.held_out();
            let all = self.likelihood(&self.by_all(&some, watch)?.0, &some, &held)?;
            let alone = self.likelihood(&self.by_known(&some, watch)?.model, &some, &held)?;
            if alone > all {
                return self.by_known(known, watch);
            }
        }
        let (model, report) = self.by_all(known, watch)?;
        let settings = MatchMap { scale: Choice::Set(Scale::None), ..method() }.written().settings;
        Ok(self.fitted(model, settings, (self.len(), self.set.len()), report))
    }

    /// A matcher that known pairs teach by themselves, and the links that it finds.
    fn by_known(&self, known: &Known, watch: &Watch) -> Result<Fitted<Match>> {
        let near = || Neighbours::new(&self.pairs, [self.left.len(), self.right.len()]);
        let (set, groups) = local::problems(known, &near(), self.right_many, &self.comparer()?, &self.set.columns)?;
        let (train, valid) = training(&set, &groups);
        let data = Training {
            valid: (!valid.is_empty()).then_some(&valid[..]),
            by: Some("nll".parse()?),
            ..Training::new(&set, &train)
        };
        let mut fitted = method().fit(&data, watch)?;
        fitted.model.null = self.null_of_all(&fitted.model, known, &near())?;
        let links = self.paired(&fitted, known)?;
        let near = match self.right_many {
            true => near(),
            false => near().without(&[&known.yes[..], &links].concat()),
        };
        fitted = self.again(known, &links, (&near, fitted.model.inputs.scale), watch)?.unwrap_or(fitted);
        fitted.model.null = self.null_of_all(&fitted.model, known, &near)?;
        // it was that of another null
        fitted.model.precision = None;
        Ok(fitted)
    }

    /// The links that a model finds and nobody knows.
    fn paired(&self, fitted: &Fitted<Match>, known: &Known) -> Result<Vec<(u32, u32)>> {
        let (set, ends) = self.unknown(known)?;
        let said = fitted.model.plain().answer(&fitted.model.plain().prepare(&set)?, &set.all(), false)?;
        let mut all = vec![];
        for (p, (said, [lefts, rights])) in said.iter().zip(&ends).enumerate() {
            let edges = said.matches.iter().map(|matched| set.problem(p).edges[matched.edge as usize]);
            all.extend(edges.map(|(i, j)| (lefts[i as usize], rights[j as usize])));
        }
        Ok(all)
    }

    /// A fit on links that a first fit found, chosen and calibrated on the known pairs: there are many more of the former, but only the latter are sure. Other
    /// links stand as they are, so that nobody competes with records that have found theirs. Nothing if few were found.
    fn again(
        &self,
        known: &Known,
        links: &[(u32, u32)],
        (near, scale): (&Neighbours, Scale),
        watch: &Watch,
    ) -> Result<Option<Fitted<Match>>> {
        if links.len() < LEAST {
            return Ok(None);
        }
        let some = links.iter().step_by(links.len().div_ceil(MOST));
        let all = Known { yes: known.yes.iter().chain(some).copied().collect(), no: known.no.clone() };
        let (set, groups) = local::problems(&all, near, self.right_many, &self.comparer()?, &self.set.columns)?;
        let sure = |p: &u32| {
            let group = groups[*p as usize] as usize;
            group < known.yes.len() || group >= all.yes.len()
        };
        let (valid, train): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(sure);
        let data = Training { valid: Some(&valid), by: Some("nll".parse()?), ..Training::new(&set, &train) };
        let mut fitted = MatchMap { scale: Choice::Set(scale), ..method() }.fit(&data, watch)?;
        let (Some(null), Some(t)) = (fitted.model.null, fitted.model.temperature) else { return Ok(None) };
        // what staying alone is worth, on what is known: the likeliest of steps of a tenth of a log-odds
        let ready = fitted.model.prepare(&set)?;
        let mut best = (f64::INFINITY, null);
        for step in -30..=30 {
            let null = null + 0.1 * f64::from(step) * t;
            let moved = Matcher { null: Some(null), ..fitted.model.clone() };
            let nll = moved.evaluate(&ready, &valid, &["nll".parse()?], &Convention::STANDARD)?.mean(0);
            if nll < best.0 {
                best = (nll, null);
            }
        }
        fitted.model.null = Some(best.1);
        Ok(Some(fitted))
    }

    /// What staying alone is worth once the share of records that have a partner is that of all records: known pairs teach it for half of them.
    fn null_of_all(&self, matcher: &Matcher, known: &Known, near: &Neighbours) -> Result<Option<f64>> {
        let (Some(null), Some(t)) = (matcher.null, matcher.temperature) else { return Ok(matcher.null) };
        let taken: BTreeSet<u32> = known.yes.iter().map(|pair| pair.0).collect();
        let ready = matcher.prepare(&self.set)?;
        let scores = matcher.scores_of(&ready, &self.set.all())?;
        let own = self.pairs.chunk_by(|a, b| a.0 == b.0).zip(&scores).filter(|(own, _)| !taken.contains(&own[0].0));
        // how much likelier some candidate is than none, if as many records have a partner as have not
        let odds = |(own, scores): (&[(u32, u32)], &Vec<f64>)| {
            let free = own.iter().zip(scores).filter(|((i, j), _)| near.of(0, *i).binary_search(j).is_ok());
            free.map(|(_, s)| ((s - 2.0 * null) / t).exp()).sum::<f64>()
        };
        let odds: Vec<f64> = own.map(odds).collect();
        let mut share = 0.5;
        for _ in 0..200 {
            let matched = |odds: &f64| {
                let odds = odds * share / (1.0 - share);
                if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 }
            };
            let next = (odds.iter().map(matched).sum::<f64>() / odds.len().max(1) as f64).clamp(0.01, 0.99);
            if (next - share).abs() < 1e-9 {
                break;
            }
            share = next;
        }
        Ok(Some(null - 0.5 * t * (share / (1.0 - share)).ln()))
    }

    /// Who belongs to whom, and who stays alone; the most doubtful first.
    ///
    /// Pairs that are known are as they are known. All others are one matching, the best by the sum of scores.
    pub fn links(&self, fitted: &Fitted<Match>, known: &Known) -> Result<Vec<Link>> {
        let matcher = &fitted.model;
        let (set, open) = self.unknown(known)?;
        let said = matcher.answer(&matcher.prepare(&set)?, &set.all(), false)?;
        let mut links: Vec<Link> = vec![];
        let link = |left: Option<u32>, right: Option<u32>, probability: f64, known: bool| Link {
            left: left.map(|i| self.left.ids[i as usize].clone()),
            right: right.map(|j| self.right.ids[j as usize].clone()),
            probability,
            known,
        };
        let mut alone = [vec![1.0; self.left.len()], vec![1.0; self.right.len()]].map(|all: Vec<f64>| all);
        for (p, (said, ends)) in said.iter().zip(&open).enumerate() {
            let (problem, [lefts, rights]) = (set.problem(p), ends);
            for (side, names) in [lefts, rights].into_iter().enumerate() {
                for (n, &record) in names.iter().enumerate() {
                    alone[side][record as usize] *= said.unmatched(problem, side == 1, n).unwrap_or(0.0);
                }
            }
            for matched in &said.matches {
                let (i, j) = problem.edges[matched.edge as usize];
                let (i, j) = (lefts[i as usize], rights[j as usize]);
                links.push(link(Some(i), Some(j), matched.probability.unwrap_or(0.0), false));
                (alone[0][i as usize], alone[1][j as usize]) = (f64::NAN, f64::NAN);
            }
        }
        for &(i, j) in &known.yes {
            links.push(link(Some(i), Some(j), 1.0, true));
            (alone[0][i as usize], alone[1][j as usize]) = (f64::NAN, f64::NAN);
        }
        let single = |(side, all): (usize, Vec<f64>)| {
            let free = (0u32..).zip(all).filter(|(_, p)| !p.is_nan());
            free.map(|(n, p)| if side == 0 { link(Some(n), None, p, false) } else { link(None, Some(n), p, false) })
                .collect::<Vec<_>>()
        };
        links.extend(alone.into_iter().enumerate().flat_map(single));
        links.sort_by(|a, b| a.probability.total_cmp(&b.probability)); // of equals as they were found
        Ok(links)
    }

    /// The candidates of which nothing is known, and for each problem its left and its right records: one problem, or one for each left record
    /// if a right one may have many.
    pub(super) fn unknown(&self, known: &Known) -> Result<(MatchSet, Vec<[Vec<u32>; 2]>)> {
        let taken = [0, 1].map(|side| {
            let of = |&(i, j): &(u32, u32)| if side == 0 { i } else { j };
            known.yes.iter().map(of).collect::<BTreeSet<u32>>()
        });
        let free = |&(i, j): &(u32, u32)| {
            !taken[0].contains(&i) && (self.right_many || !taken[1].contains(&j)) && !known.no.contains(&(i, j))
        };
        let rows: Vec<u32> = (0u32..).zip(&self.pairs).filter(|(_, pair)| free(pair)).map(|(row, _)| row).collect();
        let pairs: Vec<(u32, u32)> = rows.iter().map(|&row| self.pairs[row as usize]).collect();
        let blocks: Vec<&[(u32, u32)]> = match self.right_many {
            true => pairs.chunk_by(|a, b| a.0 == b.0).collect(),
            false => Some(&pairs[..]).filter(|all| !all.is_empty()).into_iter().collect(),
        };
        let (mut problems, mut ends) = (vec![], vec![]);
        for (n, block) in blocks.into_iter().enumerate() {
            let side = |of: &dyn Fn(&(u32, u32)) -> u32| -> Vec<u32> {
                block.iter().map(of).collect::<BTreeSet<u32>>().into_iter().collect()
            };
            let (lefts, rights) = (side(&|pair| pair.0), side(&|pair| pair.1));
            let numbers = |side: &[u32]| -> BTreeMap<u32, u32> { side.iter().copied().zip(0..).collect() };
            let (of_left, of_right) = (numbers(&lefts), numbers(&rights));
            problems.push(Problem {
                name: (n + 1).to_string(),
                left: lefts.iter().map(|&i| self.left.ids[i as usize].clone()).collect(),
                right: rights.iter().map(|&j| self.right.ids[j as usize].clone()).collect(),
                edges: block.iter().map(|(i, j)| (of_left[i], of_right[j])).collect(),
                truth: vec![Truth::Unknown; block.len()],
                places: None,
            });
            ends.push([lefts, rights]);
        }
        let features = self.set.features.select_rows(&rows);
        Ok((MatchSet::new(features, self.set.columns.clone(), problems)?, ends))
    }
}
