//! Fits whose rows are cut into shards have the bytes of fits in one place.
#![allow(clippy::unwrap_used)] // a test may panic

mod problems;

use crate::cases::cases;
use ordain::data::synthetic::Synthetic;
use ordain::data::{Columns, RankSet};
use ordain::matrix::{Csr, Features};
use ordain::method::{AnyMethod, Cluster, Rank, RankMethod, Shard, Whereabouts, fit_shards, layouts};
use ordain::metric::Convention;
use ordain::model_file::to_bytes;
use ordain::solver::run::Watch;
use ordain::task::{Method, Training};
use ordain::{Error, Result};
use proptest::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What holds rows.
pub(crate) trait Holds: Sized + Send + 'static {
    fn say(&self, common: &[u8], own: &[u8]) -> Result<Vec<u8>>;
    fn become_(&self, by: &[u8]) -> Result<Self>;
}

impl Holds for Shard {
    fn say(&self, common: &[u8], own: &[u8]) -> Result<Vec<u8>> {
        self.answer(common, own)
    }

    fn become_(&self, by: &[u8]) -> Result<Self> {
        self.transformed(by)
    }
}

/// All shards in this process; one of them is made anew before every so many-th question.
pub(crate) struct Here<S> {
    make: Box<dyn Fn() -> Vec<S> + Send + Sync>,
    shards: Mutex<Vec<S>>,
    transforms: Mutex<Vec<u8>>,
    asked: AtomicUsize,
    lost: usize,
}

impl<S> Here<S> {
    pub(crate) fn new(make: impl Fn() -> Vec<S> + Send + Sync + 'static, lost: usize) -> Self {
        let (shards, asked) = (Mutex::new(make()), AtomicUsize::new(1));
        Self { shards, make: Box::new(make), asked, transforms: Mutex::default(), lost }
    }
}

impl<S: Holds> Cluster for Here<S> {
    fn ask(&self, common: &[u8], own: &[Vec<u8>], _: Option<&AtomicBool>) -> Result<Vec<Vec<u8>>> {
        let mut shards = self.shards.lock().unwrap();
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if self.lost > 0 && asked.is_multiple_of(self.lost) {
            let at = asked / self.lost % shards.len();
            let transforms = self.transforms.lock().unwrap();
            let raw = (self.make)().swap_remove(at);
            shards[at] = if transforms.is_empty() { raw } else { raw.become_(&transforms)? };
        }
        shards.iter().zip(own).map(|(shard, own)| shard.say(common, own)).collect()
    }

    fn transform(&self, by: &[u8]) -> Result<()> {
        *self.transforms.lock().unwrap() = by.to_vec();
        let mut shards = self.shards.lock().unwrap();
        *shards = shards.iter().map(|shard| shard.become_(by)).collect::<Result<_>>()?;
        Ok(())
    }
}

/// The shards of blocks of queries, and their pieces.
fn shards(set: &RankSet, blocks: &[usize]) -> Vec<(Shard, Range<usize>)> {
    let mut end = 0;
    // each with the number of its first row; where its rows stood before is not known
    let parts: Vec<(RankSet, usize)> = blocks
        .iter()
        .map(|n| {
            end += n;
            let part = set.part(end - n..end);
            let rows = (0..part.rows() as u32).collect();
            (part.from_input(rows), (0..end - n).map(|q| set.span(q).len()).sum())
        })
        .collect();
    let of = |(b, layout): (usize, ordain::method::Layout)| {
        let mut own = vec![(parts[b].0.clone(), layout.own.0, layout.own.1)];
        if let Some(joint) = layout.joint {
            let fragment = |(b, units): &(usize, Range<usize>)| (parts[*b].0.part(units.clone()), parts[*b].1);
            let fragments: Vec<(RankSet, usize)> = joint.fragments.iter().map(fragment).collect();
            own.push((RankSet::stacked(&fragments, &set.columns), joint.place, joint.piece..joint.piece + 1));
        }
        (Shard::new(own), layout.run)
    };
    layouts(set, blocks).into_iter().enumerate().filter(|(_, layout)| !layout.run.is_empty()).map(of).collect()
}

fn method(text: &str) -> RankMethod {
    let AnyMethod::Rank(method) = text.parse().unwrap() else { panic!("{text} ranks nothing") };
    method
}

/// The bytes of a fit in one place, and of one over blocks of which one is lost now and then.
fn both_ways(
    text: &str,
    set: &RankSet,
    blocks: &[usize],
    lost: usize,
    valid: Option<usize>,
    convention: Convention,
) -> [Result<Vec<u8>>; 2] {
    let method = method(text);
    let all = set.all();
    let (train, held) = all.split_at(valid.unwrap_or(all.len()));
    let valid = valid.map(|_| held);
    let whole =
        method.fit(&Training { valid, convention, seed: 7, ..Training::<Rank>::new(set, train) }, &Watch::NOBODY);
    let bounds = std::iter::once(0).chain(set.sizes().scan(0, |end, size| {
        *end += size;
        Some(*end)
    }));
    let outline = RankSet::outline(set.columns.clone(), bounds.collect());
    let (own, cut) = (set.clone(), blocks.to_vec());
    let make = move || shards(&own, &cut).into_iter().map(|(shard, _)| shard).collect::<Vec<Shard>>();
    let runs = shards(set, blocks).into_iter().map(|(_, run)| run).collect();
    let here = Here::new(make, lost);
    let where_ = Whereabouts { cluster: Arc::new(here), shards: runs, weighted: set.weights.is_some() };
    let data = Training { valid, convention, seed: 7, ..Training::<Rank>::new(&outline, train) };
    let away = fit_shards(&method, &data, where_, &Watch::NOBODY);
    [whole, away].map(|fitted| fitted.map(|fitted| to_bytes(&fitted)))
}

fn agree(text: &str, set: &RankSet, blocks: &[usize], lost: usize, valid: Option<usize>) {
    agree_by(text, set, blocks, lost, valid, Convention::STANDARD);
}

fn agree_by(text: &str, set: &RankSet, blocks: &[usize], lost: usize, valid: Option<usize>, by: Convention) {
    let [whole, away] = both_ways(text, set, blocks, lost, valid, by);
    match (whole, away) {
        (Ok(whole), Ok(away)) => assert!(whole == away, "{text} {blocks:?}: other bytes"),
        (Err(whole), Err(away)) => assert_eq!(whole.to_string(), away.to_string(), "{text}"),
        (whole, away) => panic!("{text} {blocks:?}: {:?} in one place, {:?} in shards", whole.err(), away.err()),
    }
}

fn synthetic(queries: usize, seed: u64, sparse: bool, weighted: bool) -> RankSet {
    let mut set = Synthetic { queries, documents: (1, 9), features: 4, grades: 3, noise: 0.3, seed }.make();
    if sparse {
        let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
        for row in 0..set.rows() {
            set.features.each(row, |j, x| {
                if (row * 3 + j) % 4 == 0 {
                    columns.push(j as u32);
                    values.push(x);
                }
            });
            ends.push(values.len());
        }
        set.features = Features::Sparse(Csr::new(ends, columns, values, 4));
    }
    if weighted {
        set.weights = Some((0..set.rows()).map(|row| 0.1 + (row % 7) as f64 / 3.0).collect());
    }
    set
}

/// Cuts of so many queries into blocks, some of them empty.
fn blocks(queries: usize, cuts: &[usize]) -> Vec<usize> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut % (queries + 1)).chain([0, queries]).collect();
    at.sort_unstable();
    at.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

const METHODS: [&str; 9] = [
    "ranksvm[lambda=0.1]",
    "ranksvm[lambda=0.1,weight=pair]",
    "rankmatch[lambda=0.1]",
    "rankmatch[lambda=0.1,subset=R]",
    "rankmatch[lambda=0.1,subset=3,ties=sum]",
    "rankmatch[lambda=0.1,subset=2,draws=all]",
    "dorm[lambda=0.1,ties=average]",
    "dorm[lambda=0.1,ties=average,subset=4,loss=p@2]",
    "listnet[lambda=0.1]",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    /// Value, gradient, Hessian and its products are those of the whole: else the bytes would differ after some steps.
    #[test]
    fn any_cut_gives_the_model_of_the_whole(
        queries in 1usize..60, cuts in prop::collection::vec(0usize..60, 0..7), seed in 0u64..50, sparse: bool, weighted: bool,
        lost in 0usize..4, scale in 0usize..4, text in 0usize..METHODS.len(),
    ) {
        let set = synthetic(queries, seed, sparse, weighted && METHODS[text].starts_with("ranksvm"));
        let scale = ["none", "global", "query", "minmax"][scale];
        let text = METHODS[text].replace(']', &format!(",transform=none,scale={scale}]"));
        agree(&text, &set, &blocks(queries, &cuts), lost, None);
    }
}

/// A set whose columns have values of all kinds: heavy tails of both signs, counts, few values, many of which are 0.
fn skewed(queries: usize, seed: u64) -> RankSet {
    let mut set = Synthetic { queries, documents: (20, 40), features: 6, grades: 3, noise: 0.3, seed }.make();
    let Features::Dense(matrix) = &mut set.features else { unreachable!("made dense") };
    for (k, x) in matrix.values_mut().iter_mut().enumerate() {
        *x = match k % 6 {
            0 => (3.0 * *x).exp(),
            1 => (4.0 * *x).exp() * if k % 7 < 3 { -1.0 } else { 1.0 },
            2 => (9.0 * *x).round(),
            3 => (x.abs() * 40.0).exp().floor().min(1e6),
            4 if k % 3 > 0 => 0.0,
            _ => *x,
        };
    }
    set
}

#[test]
fn transforms_are_learned_from_ranks_alone() {
    for (queries, seed) in [(60, 1), (90, 2), (12, 3)] {
        let set = skewed(queries, seed);
        for how in ["auto", "log", "quantile"] {
            let text = format!("listnet[lambda=0.1,max_iter=20,scale=global,transform={how}]");
            agree(&text, &set, &blocks(queries, &[5, 17, 18, 40]), 3, None);
            agree(&text, &set, &blocks(queries, &[queries / 2]), 0, Some(queries * 3 / 4));
        }
    }
}

#[test]
fn settings_are_chosen_on_the_same_queries() {
    for (queries, valid) in [(30, None), (300, None), (120, Some(60)), (40, Some(33))] {
        let set = synthetic(queries, 3, false, false);
        for text in [
            "ranksvm[transform=none,max_iter=4]",
            "listnet[transform=none,max_iter=5]",
            "rankmatch[transform=none,max_iter=3,scale=global]",
        ] {
            agree(text, &set, &blocks(queries, &[7, 8, queries / 2, queries - 5]), 5, valid);
        }
    }
}

/// Documents are told apart by their names, or by their numbers in the whole set, where scores are equal.
#[test]
fn ties_by_name_are_those_of_the_whole() {
    for named in [false, true] {
        let mut set = synthetic(150, 5, false, false);
        let Features::Dense(matrix) = &mut set.features else { unreachable!("made dense") };
        matrix.values_mut().iter_mut().for_each(|x| *x = x.round());
        if named {
            let names: Vec<String> = (0..set.rows()).map(|row| format!("d{}", row * 7919 % 1000)).collect();
            set = set.with_documents(&names).unwrap();
        }
        let convention = "standard, ties=id".parse().unwrap();
        agree_by(
            "ranksvm[transform=none,scale=none,max_iter=3]",
            &set,
            &blocks(150, &[11, 12, 70]),
            0,
            None,
            convention,
        );
    }
}

#[test]
fn a_hessian_in_products_has_the_same_bytes() {
    let set = Synthetic { queries: 25, documents: (5, 9), features: 210, grades: 3, noise: 0.3, seed: 1 }.make();
    agree("ranksvm[lambda=0.01,scale=query,transform=none]", &set, &[3, 11, 11], 2, None);
}

#[test]
fn nothing_to_learn_is_refused_alike() {
    let mut set = synthetic(20, 1, false, false);
    set.grades.fill(1.0);
    for text in METHODS {
        agree(&text.replace(']', ",transform=none,scale=query]"), &set, &[5, 15], 0, None);
    }
}

#[test]
fn what_needs_one_machine_is_refused_by_name() {
    let set = synthetic(20, 1, false, false);
    for (text, name) in [
        ("ranksvm[kernel=rbf]", "kernel"),
        ("ranksvm[blocks=true]", "blocks"),
        ("ranksvm[loss=hinge]", "loss"),
        ("ranksvm[scorer=trees,transform=none]", "scorer"),
        ("rankmatch[subset=3,ties=random]", "ties"),
        ("dorm", "ties"),
        ("svmmap", "method"),
        ("ballrank", "method"),
    ] {
        let [_, away] = both_ways(text, &set, &[10, 10], 0, None, Convention::STANDARD);
        let error = away.unwrap_err();
        assert!(matches!(&error, Error::Setting { name: found, .. } if found == name), "{text}: {error}");
        assert!(error.to_string().contains("several machines"), "{text}: {error}");
    }
}

#[test]
fn weights_of_lists_are_refused() {
    let set = synthetic(20, 1, false, true);
    for name in ["rankmatch", "dorm[ties=average]", "listnet"] {
        let [_, away] = both_ways(name, &set, &[10, 10], 0, None, Convention::STANDARD);
        let error = away.unwrap_err().to_string();
        assert!(error.contains("on several machines") && error.contains("ranksvm"), "{error}");
    }
}

#[test]
fn messages_that_are_none_are_refused() {
    let set = synthetic(20, 1, false, false);
    let shard = shards(&set, &[20]).swap_remove(0).0;
    assert_eq!((shard.queries(), shard.rows()), (20, set.rows()));
    for bytes in [&b""[..], b"1234567", &[255; 16], &[0; 64]] {
        assert!(shard.answer(bytes, &[]).is_err());
    }
}

/// What a shard says depends on the rows alone, not on the names of columns beside it.
#[test]
fn an_outline_has_sizes_and_no_rows() {
    let outline = RankSet::outline(Columns::numbered(3), vec![0, 4, 9]);
    assert_eq!((outline.len(), outline.span(1), outline.features.cols(), outline.rows()), (2, 4..9, 3, 0));
}
