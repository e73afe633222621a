//! The choice of a core: sparse counting against the definition, and scenes that are found.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::cases::cases;
use ordain::data::{Columns, LabelSet};
use ordain::matrix::{Features, Matrix};
use ordain::method::core_choice::{CoreStep, FEWEST, MOST, choose_core, core_steps};
use ordain::method::core_rest::rest_steps;
use ordain::random::Random;
use proptest::prelude::*;
use std::collections::BTreeMap;

pub(crate) fn tags(labels: usize, yes: Vec<Vec<u32>>) -> LabelSet {
    let features = Features::Dense(Matrix::new(vec![0.0; yes.len()], 1));
    let columns = Columns::named(vec!["x".into()]);
    LabelSet::new(features, columns, (0..labels).map(|i| i.to_string()).collect(), yes).unwrap()
}

/// Entropy of the classes in nats, with the correction of Miller and Madow, times their number.
fn entropy<T: Ord>(classes: impl Iterator<Item = T>) -> f64 {
    let mut counts = BTreeMap::<T, usize>::new();
    classes.for_each(|class| *counts.entry(class).or_default() += 1);
    let n = counts.values().sum::<usize>() as f64;
    let plain: f64 = counts.values().map(|&c| -(c as f64 / n) * (c as f64 / n).ln()).sum();
    if counts.is_empty() { 0.0 } else { n * (plain + (counts.len() as f64 - 1.0) / (2.0 * n)) }
}

/// The slow twin: every candidate by the definition, from the answers of all items, 0, 1 or unknown.
fn by_definition(answers: &[Vec<Option<u8>>], labels: usize, size: usize) -> Vec<CoreStep> {
    // the cell of an item is the row of answers by which it was split off; `None` once an answer was unknown
    let mut cells: Vec<Option<Vec<(usize, u8)>>> = vec![Some(vec![]); answers.len()];
    let useful = |c: &usize| {
        let said = |x: u8| answers.iter().any(|item| item[*c] == Some(x));
        said(0) && said(1)
    };
    let (mut steps, mut before) = (Vec::<CoreStep>::new(), 0.0);
    while steps.len() < size {
        let mut sizes = BTreeMap::<&Vec<(usize, u8)>, usize>::new();
        cells.iter().flatten().for_each(|cell| *sizes.entry(cell).or_default() += 1);
        let large: Vec<Vec<(usize, u8)>> =
            sizes.iter().filter(|&(_, &n)| n >= FEWEST).map(|(&cell, _)| cell.clone()).collect();
        assert!(large.len() <= MOST);
        let after = |item: usize, c: usize| {
            let mut cell = cells[item].clone()?;
            if large.contains(&cell) {
                cell.push((c, answers[item][c]?));
            }
            Some(cell)
        };
        let free: Vec<usize> =
            (0..labels).filter(useful).filter(|&c| steps.iter().all(|step| step.label != c as u32)).collect();
        let total = |c: usize| -> f64 {
            let others = free.iter().filter(|&&i| i != c);
            others
                .map(|&i| {
                    // n I(i; cells) over some items
                    let about = |cell: &dyn Fn(usize) -> Option<Vec<(usize, u8)>>, given: &[usize]| {
                        let items: Vec<usize> = (0..answers.len())
                            .filter(|&item| cell(item).is_some() && answers[item][i].is_some())
                            .filter(|item| given.contains(item))
                            .collect();
                        let over = || items.iter().copied();
                        entropy(over().map(|item| answers[item][i])) + entropy(over().map(cell))
                            - entropy(over().map(|item| (answers[item][i], cell(item))))
                    };
                    let now = |item: usize| cells[item].clone();
                    let then = |item: usize| after(item, c);
                    let all: Vec<usize> = (0..answers.len()).collect();
                    let telling: Vec<usize> = (0..answers.len()).filter(|&item| then(item).is_some()).collect();
                    about(&now, &all) + about(&then, &telling) - about(&now, &telling)
                })
                .sum()
        };
        let totals: Vec<(usize, f64)> = free.iter().map(|&c| (c, total(c))).collect();
        let best = totals.iter().map(|x| x.1).fold(f64::NEG_INFINITY, f64::max);
        let Some(&(label, most)) = totals.iter().find(|x| x.1 >= best - 1e-9 * best.abs().max(1.0)) else { break };
        let information = most / cells.iter().flatten().count().max(1) as f64;
        steps.push(CoreStep { label: label as u32, gain: information - before, information });
        before = information;
        cells = (0..answers.len()).map(|item| after(item, label)).collect();
    }
    steps
}

fn same(fast: &[CoreStep], slow: &[CoreStep]) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
    let equal = |(a, b): (&CoreStep, &CoreStep)| {
        a.label == b.label && near(a.information, b.information) && near(a.gain, b.gain)
    };
    fast.len() == slow.len() && fast.iter().zip(slow).all(equal)
}

fn answered(answers: &[Vec<Option<u8>>], labels: usize) -> LabelSet {
    let lists = |wanted: Option<u8>| -> Vec<Vec<u32>> {
        answers.iter().map(|item| (0..labels as u32).filter(|&i| item[i as usize] == wanted).collect()).collect()
    };
    tags(labels, lists(Some(1))).with_unknown(lists(None)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    /// Greedy choice by sparse counting is the greedy choice by the definition, also where labels are unknown, where
    /// cells are too small to be split, and where labels are copies of each other.
    #[test]
    fn sparse_counting_equals_the_definition(
        seed in any::<u64>(), items in 0usize..140, labels in 1usize..8, size in 0usize..6,
        unknown in prop_oneof![Just(0.0), 0.0..0.4f64], copies in any::<bool>(),
    ) {
        let mut random = Random::new(seed);
        let rates: Vec<f64> = (0..labels).map(|_| [0.0, 1.0, 0.1, 0.5, 0.8][random.below(5)]).collect();
        let answers: Vec<Vec<Option<u8>>> = (0..items).map(|_| {
            let hidden = random.uniform() < 0.4;
            let mut item: Vec<Option<u8>> = rates.iter().map(|&rate| {
                let rate = if hidden { rate * rate } else { rate };
                let on = random.uniform() < rate;
                (random.uniform() >= unknown).then_some(u8::from(on))
            }).collect();
            if copies {
                item[labels - 1] = item[0];
            }
            item
        }).collect();
        let set = answered(&answers, labels);
        let (fast, slow) = (core_steps(&set, &set.all(), size), by_definition(&answers, labels, size));
        prop_assert!(same(&fast, &slow), "{fast:?}\n{slow:?}");
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        prop_assert_eq!(one_thread.install(|| core_steps(&set, &set.all(), size)), fast);
    }
}

/// n I(S; R) by the definition: entropies of whole patterns.
fn rest_by_definition(answers: &[Vec<u8>], labels: usize, size: usize) -> Vec<CoreStep> {
    let part = |core: &[usize], inside: bool| {
        let core = core.to_vec();
        let wanted: Vec<usize> = (0..labels).filter(|i| core.contains(i) == inside).collect();
        entropy(answers.iter().map(move |item| wanted.iter().map(|&i| item[i]).collect::<Vec<u8>>()))
    };
    let (mut steps, mut core, mut before) = (Vec::<CoreStep>::new(), Vec::<usize>::new(), 0.0);
    while steps.len() < size {
        let said = |c: usize, x: u8| answers.iter().any(|item| item[c] == x);
        let free = (0..labels).filter(|c| said(*c, 0) && said(*c, 1) && !core.contains(c));
        let totals: Vec<(usize, f64)> = free
            .map(|c| {
                let with = [&core[..], &[c]].concat();
                (c, part(&with, true) + part(&with, false) - entropy(answers.iter()))
            })
            .collect();
        let best = totals.iter().map(|x| x.1).fold(f64::NEG_INFINITY, f64::max);
        let Some(&(label, most)) = totals.iter().find(|x| x.1 >= best - 1e-9 * best.abs().max(1.0)) else { break };
        let information = most / answers.len() as f64;
        steps.push(CoreStep { label: label as u32, gain: information - before, information });
        (before, core) = (information, [&core[..], &[label]].concat());
    }
    steps
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]

    /// Merging patterns gives the information about all other labels together; items that are known in part count for nothing.
    #[test]
    fn patterns_of_the_rest_equal_the_definition(
        seed in any::<u64>(), items in 0usize..90, labels in 1usize..8, size in 0usize..6, unknown in 0usize..20,
    ) {
        let mut random = Random::new(seed);
        let rates: Vec<f64> = (0..labels).map(|_| [0.0, 1.0, 0.1, 0.5, 0.8][random.below(5)]).collect();
        let answers: Vec<Vec<u8>> = (0..items).map(|_| {
            let hidden = random.uniform() < 0.4;
            rates.iter().map(|&rate| {
                let rate = if hidden { rate * rate } else { rate };
                u8::from(random.uniform() < rate)
            }).collect()
        }).collect();
        let mut some: Vec<Vec<Option<u8>>> = answers.iter().map(|item| item.iter().copied().map(Some).collect()).collect();
        for _ in 0..unknown {
            let mut item: Vec<Option<u8>> = (0..labels).map(|_| Some(u8::from(random.uniform() < 0.5))).collect();
            item[random.below(labels)] = None;
            let at = random.below(some.len() + 1);
            some.insert(at, item);
        }
        let set = answered(&some, labels);
        let (fast, slow) = (rest_steps(&set, &set.all(), size), rest_by_definition(&answers, labels, size));
        prop_assert!(same(&fast, &slow), "{fast:?}\n{slow:?}");
    }
}

/// Where every item has a pattern of its own the rest tells which item it is: what is left is the entropy of the core, and labels
/// that tell of others lose to labels near one half.
#[test]
fn patterns_that_never_come_twice_tell_of_the_core_alone() {
    let mut random = Random::new(3);
    // label 0 brings 1, 2 and 3 with it on a fifth of the items; the others are coins
    let lists = (0..400).map(|i| {
        let mut list: Vec<u32> = if i % 5 == 0 { vec![0, 1, 2, 3] } else { vec![] };
        list.extend((4..40).filter(|_| random.uniform() < 0.5));
        list
    });
    let set = tags(40, lists.collect());
    assert_eq!(choose_core(&set, &set.all(), 1), [0]);
    let steps = rest_steps(&set, &set.all(), 3);
    assert!(steps.iter().all(|step| step.label >= 4), "{steps:?}");
    assert!((steps[2].information - 3.0 * 2f64.ln()).abs() < 0.02, "{steps:?}");
}

/// Items of six scenes; the first five labels mark five of them, 88 objects come at rates that depend on the scene.
fn scenes(items: usize, seed: u64) -> LabelSet {
    let mut random = Random::new(seed);
    let rates: Vec<[f64; 6]> = (0..88)
        .map(|_| std::array::from_fn(|_| if random.uniform() < 0.25 { 0.1 + 0.4 * random.uniform() } else { 0.02 }))
        .collect();
    let lists = (0..items)
        .map(|_| {
            let scene = random.below(6);
            let mut list: Vec<u32> = if scene < 5 { vec![scene as u32] } else { vec![] };
            list.extend((0..88u32).filter(|&i| random.uniform() < rates[i as usize][scene]).map(|i| i + 5));
            list
        })
        .collect();
    tags(93, lists)
}

#[test]
fn the_labels_of_scenes_are_the_core() {
    for seed in 0..5 {
        let set = scenes(4000, seed);
        let steps = core_steps(&set, &set.all(), 5);
        let mut core = choose_core(&set, &set.all(), 5);
        assert_eq!(core, steps.iter().map(|step| step.label).collect::<Vec<u32>>());
        core.sort_unstable();
        assert_eq!(core, [0, 1, 2, 3, 4]);
        assert!(steps.iter().all(|step| step.gain > 0.0));
    }
}

#[test]
fn labels_that_say_nothing_are_never_chosen() {
    // 0 is on every item, 1 on none, 4 is known of the items alone that it is on
    let set = tags(5, (0..50).map(|i| if i % 2 == 0 { vec![0, 2] } else { vec![0, 3, 4] }).collect());
    let set = set.with_unknown((0..50).map(|i| if i % 2 == 0 { vec![4] } else { vec![] }).collect()).unwrap();
    assert_eq!(choose_core(&set, &set.all(), 5), [2, 3]);
    assert!(choose_core(&set, &[], 5).is_empty());
    assert!(choose_core(&set, &set.all(), 0).is_empty());
    // of equals the lowest; and what the other half of the items says does not count
    let half: Vec<u32> = (0..25).map(|i| 2 * i).collect();
    assert!(choose_core(&set, &half, 3).is_empty());
}

/// Labels that have nothing to do with each other seem to tell nothing: the correction removes what chance alone gives,
/// which without it would be about ½ nat per pair, cell and all items together.
#[test]
fn chance_tells_nothing() {
    let (items, labels) = (4000, 20);
    let mut sums = [0.0; 4];
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let list = |random: &mut Random| (0..labels as u32).filter(|_| random.uniform() < 0.3).collect::<Vec<u32>>();
        let set = tags(labels, (0..items).map(|_| list(&mut random)).collect());
        for (sum, step) in sums.iter_mut().zip(core_steps(&set, &set.all(), 4)) {
            *sum += step.information * items as f64 / 20.0;
        }
    }
    // the core is the best of many, so that a little is left; plain counts would give 19/2, 18·3/2, 17·7/2, 16·15/2 and more
    for (sum, plain) in sums.into_iter().zip([9.5, 27.0, 59.5, 120.0]) {
        assert!(sum.abs() < 0.8 * plain, "{sums:?}");
    }
}
