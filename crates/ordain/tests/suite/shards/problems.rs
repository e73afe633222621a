//! The same of matchers.

use super::{Here, Holds, blocks};
use crate::cases::cases;
use ordain::data::synthetic::Linkage;
use ordain::data::{MatchSet, Problem, RankSet, Truth};
use ordain::matrix::{Csr, Features};
use ordain::method::{AnyMethod, Layout, Match, MatchMethod, ProblemShard, Whereabouts, fit_problem_shards, layouts};
use ordain::model_file::to_bytes;
use ordain::solver::run::Watch;
use ordain::task::{Method, Training};
use ordain::{Error, Result};
use proptest::prelude::*;
use std::ops::Range;
use std::sync::Arc;

impl Holds for ProblemShard {
    fn say(&self, common: &[u8], own: &[u8]) -> Result<Vec<u8>> {
        self.answer(common, own)
    }

    fn become_(&self, by: &[u8]) -> Result<Self> {
        self.transformed(by)
    }
}

/// The shards of blocks of problems, and their pieces.
fn shards(set: &MatchSet, blocks: &[usize]) -> Vec<(ProblemShard, Range<usize>)> {
    let mut end = 0;
    let parts: Vec<MatchSet> = blocks
        .iter()
        .map(|n| {
            end += n;
            set.part(end - n..end)
        })
        .collect();
    let of = |(b, layout): (usize, Layout)| {
        let mut own = vec![(parts[b].clone(), layout.own.0, layout.own.1)];
        if let Some(joint) = layout.joint {
            let fragments: Vec<MatchSet> =
                joint.fragments.iter().map(|(b, units)| parts[*b].part(units.clone())).collect();
            own.push((MatchSet::stacked(&fragments, &set.columns), joint.place, joint.piece..joint.piece + 1));
        }
        (ProblemShard::new(own), layout.run)
    };
    let bounds = (0..set.len()).map(|p| set.span(p).start).chain([set.edges()]).collect();
    let outline = RankSet::outline(set.columns.clone(), bounds);
    layouts(&outline, blocks).into_iter().enumerate().filter(|(_, layout)| !layout.run.is_empty()).map(of).collect()
}

/// The bytes of a fit in one place, and of one over blocks of which one is lost now and then.
fn both_ways(text: &str, set: &MatchSet, blocks: &[usize], lost: usize, valid: Option<usize>) -> [Result<Vec<u8>>; 2] {
    let AnyMethod::Match(method) = text.parse().unwrap() else { panic!("{text} matches nothing") };
    let method: MatchMethod = method;
    let all = set.all();
    let (train, held) = all.split_at(valid.unwrap_or(all.len()));
    let valid = valid.map(|_| held);
    let whole = method.fit(&Training { valid, seed: 7, ..Training::<Match>::new(set, train) }, &Watch::NOBODY);
    let outline = MatchSet::outline(set.columns.clone(), set.problems().to_vec()).unwrap();
    let (own, cut) = (set.clone(), blocks.to_vec());
    let here = Here::new(move || shards(&own, &cut).into_iter().map(|(shard, _)| shard).collect(), lost);
    let runs = shards(set, blocks).into_iter().map(|(_, run)| run).collect();
    let where_ = Whereabouts { cluster: Arc::new(here), shards: runs, weighted: false };
    let data = Training { valid, seed: 7, ..Training::<Match>::new(&outline, train) };
    let away = fit_problem_shards(&method, &data, where_, &Watch::NOBODY);
    [whole, away].map(|fitted| fitted.map(|fitted| to_bytes(&fitted)))
}

fn agree(text: &str, set: &MatchSet, blocks: &[usize], lost: usize, valid: Option<usize>) {
    match both_ways(text, set, blocks, lost, valid) {
        [Ok(whole), Ok(away)] => assert!(whole == away, "{text} {blocks:?}: other bytes"),
        [Err(whole), Err(away)] => assert_eq!(whole.to_string(), away.to_string(), "{text}"),
        [whole, away] => panic!("{text} {blocks:?}: {:?} in one place, {:?} in shards", whole.err(), away.err()),
    }
}

/// Linked records; of some edges nothing is known, and sparse features have zeros that are not stored.
fn made(problems: usize, seed: u64, sparse: bool, gaps: bool) -> MatchSet {
    let mut set = Linkage { problems, records: 4, seed, ..Linkage::default() }.make();
    if sparse {
        let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
        for row in 0..set.edges() {
            set.features.each(row, |j, x| {
                if (row * 3 + j) % 4 > 0 {
                    columns.push(j as u32);
                    values.push(x);
                }
            });
            ends.push(values.len());
        }
        set.features = Features::Sparse(Csr::new(ends, columns, values, set.features.cols()));
    }
    if gaps {
        let open = |(p, problem): (usize, &Problem)| {
            let mut problem = problem.clone();
            let each = problem.truth.iter_mut().enumerate().filter(|(e, _)| p % 4 == 3 || (e + p) % 5 == 0);
            each.for_each(|(_, truth)| *truth = Truth::Unknown);
            problem
        };
        let problems = set.problems().iter().enumerate().map(open).collect();
        set = MatchSet::new(set.features, set.columns, problems).unwrap();
    }
    set
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn any_cut_gives_the_model_of_the_whole(
        problems in 1usize..40, cuts in prop::collection::vec(0usize..40, 0..6), seed in 0u64..50, sparse: bool, gaps: bool,
        lost in 0usize..4, scale in 0usize..5, how in 0usize..3,
    ) {
        let set = made(problems, seed, sparse, gaps);
        let scale = ["none", "global", "query", "minmax", "matched"][scale];
        let how = ["null=true", "null=true,marginals=bethe", "null=true,marginals=pruned,monotone=none"][how];
        let text = format!("matchmap[lambda=0.1,transform=none,max_iter=20,scale={scale},{how}]");
        agree(&text, &set, &blocks(problems, &cuts), lost, None);
    }
}

#[test]
fn settings_nulls_and_temperatures_are_chosen_on_the_same_problems() {
    for (problems, valid) in [(12, None), (60, None), (40, Some(25))] {
        let set = made(problems, 3, false, false);
        for text in ["matchmap[null=true,max_iter=6]", "matchmap[null=true,scale=query,max_iter=5]"] {
            agree(text, &set, &blocks(problems, &[5, 6, problems / 2, problems - 3]), 5, valid);
        }
    }
}

#[test]
fn what_needs_one_machine_is_refused_by_name() {
    let set = made(8, 1, false, false);
    for (text, name) in [
        ("matchmap[kernel=rbf]", "kernel"),
        ("matchmap[scorer=linear+trees]", "scorer"),
        ("matchmap[marginals=chain]", "marginals"),
        ("matchmargin", "method"),
    ] {
        let [_, away] = both_ways(text, &set, &[4, 4], 0, None);
        let error = away.unwrap_err();
        assert!(matches!(&error, Error::Setting { name: found, .. } if found == name), "{text}: {error}");
        assert!(error.to_string().contains("several machines"), "{text}: {error}");
    }
}

#[test]
fn messages_that_are_none_are_refused() {
    let set = made(8, 1, false, false);
    let shard = shards(&set, &[8]).swap_remove(0).0;
    assert_eq!(shard.problems(), 8);
    for bytes in [&b""[..], b"1234567", &[255; 16], &[0; 64]] {
        assert!(shard.answer(bytes, &[]).is_err());
    }
}
