//! Questions against enumeration: every rule, looked up in all sets of labels.
#![allow(clippy::unwrap_used, clippy::float_cmp)] // a test may panic, and a share of all is exactly 1

use crate::cases::cases;
use ordain::answer::{AskHow, AskedProblem, PairName, asked_item, asked_problem};
use ordain::ask::{Count, Known, Strategy, given, next, next_of, next_pair, replay, replayable, sides};
use ordain::data::scale::Scale;
use ordain::data::synthetic::{Linkage, Scenes};
use ordain::data::transform::Transforms;
use ordain::data::{Columns, LabelSet, Missing};
use ordain::matrix::{Features, Matrix};
use ordain::method::{Annotator, CStar, CountModel, Decide, LabelWork, MatchMap, Matcher, OneVsRest, Scored, Trainer};
use ordain::metric::Convention;
use ordain::random::Random;
use ordain::score::Score;
use ordain::solver::run::Watch;
use ordain::structure::exhaustive;
use ordain::structure::star::{Clamp, MaxWork, Star, Subsets};
use ordain::task::{Inputs, Method, Model, Training};

/// A model without features: the scores of an item are what they are.
fn model(random: &mut Random, n: usize, c: usize, sigma: f64, trainer: Trainer) -> Annotator {
    let mut labels: Vec<u32> = (0..n as u32).collect();
    random.shuffle(&mut labels);
    let links: Vec<f64> = (0..c * n).map(|_| sigma * random.normal()).collect();
    Annotator {
        inputs: Inputs {
            columns: Columns::named(vec![]),
            missing: Missing::Error,
            means: None,
            steps: Default::default(),
            ranges: Default::default(),
            transforms: Transforms::default(),
            scale: Scale::None,
            global: None,
        },
        labels: (0..n).map(|i| format!("label {i}")).collect(),
        trainer,
        bias: vec![0.0; n],
        direct: None,
        own: vec![],
        count_bias: (0..n).map(|_| 0.2 * random.normal()).collect(),
        classifiers: OneVsRest {
            score: Score::Linear(vec![]),
            offset: vec![0.0; n],
            slope: vec![1.0; n],
            shift: vec![0.0; n],
        },
        count: CountModel {
            numbers: (0..=n as u32).collect(),
            level: vec![0.0; n + 1],
            slope: [0.0; 2],
            center: [0.0, 1.0],
        },
        star: Star::new(n, &labels[..c], &links).unwrap(),
        decide: Decide::Count,
        threshold: None,
    }
}

fn scored(random: &mut Random, n: usize, spread: f64) -> Scored {
    let counts: Vec<f64> = (0..=n).map(|_| random.uniform()).collect();
    let total: f64 = counts.iter().sum();
    Scored {
        base: (0..n).map(|_| spread * random.normal()).collect(),
        counts: counts.iter().map(|p| p / total).collect(),
    }
}

fn clamps(random: &mut Random, n: usize) -> Vec<Clamp> {
    let rate = 2 + random.below(5);
    let one = |random: &mut Random| match random.below(rate) {
        0 => Clamp::In,
        1 => Clamp::Out,
        _ => Clamp::Free,
    };
    (0..n).map(|_| one(random)).collect()
}

fn with(clamp: &[Clamp], label: usize, answer: Clamp) -> Vec<Clamp> {
    let mut clamp = clamp.to_vec();
    clamp[label] = answer;
    clamp
}

fn top(values: &[f64], k: usize) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(|a, b| b.total_cmp(a));
    values[..k].iter().sum()
}

/// |in − out| of a label, by looking at every set.
fn difference(star: &Star, scores: &[f64], k: usize, clamp: &[Clamp], label: usize) -> f64 {
    let best = |answer| exhaustive::star_max(star, scores, &Subsets { k, clamp: &with(clamp, label, answer) });
    (best(Clamp::In).unwrap().0 - best(Clamp::Out).unwrap().0).abs()
}

/// The expected precision after the answer on a label, by looking at every set.
fn precision(star: &Star, scores: &[f64], k: usize, clamp: &[Clamp], label: usize) -> f64 {
    let p = |clamp: &[Clamp]| exhaustive::star_log_sum(star, scores, &Subsets { k, clamp }).1;
    let yes = p(clamp)[label];
    let after = |answer| top(&p(&with(clamp, label, answer)), k) / k as f64;
    yes * after(Clamp::In) + (1.0 - yes) * after(Clamp::Out)
}

/// What is checked of a model, an item, a number of labels and answers.
type Check<'a> = dyn FnMut(&Annotator, &Scored, usize, &[Clamp]) + 'a;

/// Calls `check` with small models, items, numbers of labels and answers; how many of them leave a choice.
fn each(rounds: usize, trainer: Trainer, check: &mut Check) -> usize {
    let (mut random, mut open) = (Random::new(5), 0);
    for _ in 0..rounds {
        let n = 2 + random.below(7);
        let c = random.below(4).min(n);
        let sigma = [0.3, 2.0][random.below(2)];
        let annotator = model(&mut random, n, c, sigma, trainer);
        let item = scored(&mut random, n, 1.5);
        let clamp = clamps(&mut random, n);
        let inside = clamp.iter().filter(|&&c| c == Clamp::In).count();
        let free = clamp.iter().filter(|&&c| c == Clamp::Free).count();
        for k in inside..=inside + free {
            let known = Known { count: Count::Told(k), clamp: &clamp, skipped: &[] };
            for strategy in Strategy::ALL.iter().copied().filter(|s| s.suits(trainer)) {
                let found = next(&annotator, &item, &known, strategy, &mut random, &mut LabelWork::default()).unwrap();
                let choice = inside < k && k < inside + free;
                assert_eq!(found.is_some(), choice, "{strategy}: {k} of {clamp:?}");
                assert!(found.is_none_or(|question| clamp[question.label as usize] == Clamp::Free));
            }
            if inside < k && k < inside + free {
                open += 1;
                check(&annotator, &item, k, &clamp);
            }
        }
    }
    open
}

fn scores_at(annotator: &Annotator, item: &Scored, k: usize) -> Vec<f64> {
    let mut scores = vec![];
    annotator.scores_at(item, k, &mut scores);
    scores
}

#[test]
fn the_rule_of_the_paper_is_the_least_difference_of_forced_values() {
    for trainer in [Trainer::Likelihood, Trainer::Margin] {
        let (mut work, mut random) = (LabelWork::default(), Random::new(1));
        let seen = each(400, trainer, &mut |annotator, item, k, clamp| {
            let known = Known { count: Count::Told(k), clamp, skipped: &[] };
            let question = next(annotator, item, &known, Strategy::Paper, &mut random, &mut work).unwrap().unwrap();
            let scores = scores_at(annotator, item, k);
            let free = || (0..clamp.len()).filter(|&i| clamp[i] == Clamp::Free);
            let truth: Vec<(usize, f64)> =
                free().map(|i| (i, difference(&annotator.star, &scores, k, clamp, i))).collect();
            let least = truth.iter().map(|t| t.1).fold(f64::INFINITY, f64::min);
            assert!((question.value - least).abs() < 1e-9, "{question:?} {truth:?}");
            // of the labels that attain it, the first of the best set
            let best = exhaustive::star_max(&annotator.star, &scores, &Subsets { k, clamp }).unwrap().1;
            let ties: Vec<usize> = truth.iter().filter(|t| t.1 < least + 1e-9).map(|t| t.0).collect();
            assert!(ties.len() >= 2, "never a single label");
            let first = ties.iter().find(|&&i| best.contains(&(i as u32))).unwrap();
            assert_eq!(question.label as usize, *first);
            // and the same out of all forced values at once
            let forced = annotator.star.forced(&scores, &Subsets { k, clamp }, &mut MaxWork::default()).unwrap();
            let fast = free().map(|i| (forced.inside[i] - forced.outside[i]).abs()).fold(f64::INFINITY, f64::min);
            assert!((fast - least).abs() < 1e-9);
        });
        assert!(seen > 500, "{seen}");
    }
}

#[test]
fn entropy_and_expected_precision_equal_enumeration() {
    let (mut work, mut random) = (LabelWork::default(), Random::new(2));
    let seen = each(300, Trainer::Likelihood, &mut |annotator, item, k, clamp| {
        let known = Known { count: Count::Told(k), clamp, skipped: &[] };
        let scores = scores_at(annotator, item, k);
        let p = exhaustive::star_log_sum(&annotator.star, &scores, &Subsets { k, clamp }).1;
        let free = || (0..clamp.len()).filter(|&i| clamp[i] == Clamp::Free);
        let asked = next(annotator, item, &known, Strategy::Entropy, &mut random, &mut work).unwrap().unwrap();
        let nearest = free().map(|i| (p[i] - 0.5).abs()).fold(f64::INFINITY, f64::min);
        assert!((asked.value - p[asked.label as usize]).abs() < 1e-9);
        assert!(((asked.value - 0.5).abs() - nearest).abs() < 1e-9);
        // with all candidates it is the best of all labels, and no answer is expected to do harm
        let all = next_of(annotator, item, &known, Strategy::Expected, 99, &mut random, &mut work).unwrap().unwrap();
        let truth = |i: usize| precision(&annotator.star, &scores, k, clamp, i);
        let best = free().map(truth).fold(0.0, f64::max);
        assert!((all.value - best).abs() < 1e-9 && (truth(all.label as usize) - best).abs() < 1e-9);
        assert!(all.value > top(&p, k) / k as f64 - 1e-12);
        let few = next(annotator, item, &known, Strategy::Expected, &mut random, &mut work).unwrap().unwrap();
        assert!(few.value <= all.value + 1e-12 && (truth(few.label as usize) - few.value).abs() < 1e-9);
    });
    assert!(seen > 400, "{seen}");
}

#[test]
fn expected_change_equals_enumeration() {
    let (mut work, mut random) = (LabelWork::default(), Random::new(3));
    let seen = each(300, Trainer::Margin, &mut |annotator, item, k, clamp| {
        let known = Known { count: Count::Told(k), clamp, skipped: &[] };
        let scores = scores_at(annotator, item, k);
        let set = |clamp: &[Clamp]| exhaustive::star_max(&annotator.star, &scores, &Subsets { k, clamp }).unwrap().1;
        let best = set(clamp);
        let truth = |i: usize| {
            let against = if best.contains(&(i as u32)) { Clamp::Out } else { Clamp::In };
            let other = set(&with(clamp, i, against));
            let changed = best.iter().filter(|i| !other.contains(i)).count();
            changed as f64 / (1.0 + difference(&annotator.star, &scores, k, clamp, i).exp())
        };
        let most = (0..clamp.len()).filter(|&i| clamp[i] == Clamp::Free).map(truth).fold(0.0, f64::max);
        let all = next_of(annotator, item, &known, Strategy::Expected, 99, &mut random, &mut work).unwrap().unwrap();
        assert!((all.value - most).abs() < 1e-9 && (truth(all.label as usize) - most).abs() < 1e-9);
    });
    assert!(seen > 400, "{seen}");
}

#[test]
fn a_learned_number_goes_by_its_distribution() {
    let (mut work, mut random) = (LabelWork::default(), Random::new(4));
    let (mut asked, mut none) = (0, 0);
    for round in 0..600 {
        let n = 2 + random.below(7);
        let trainer = if round % 2 == 0 { Trainer::Likelihood } else { Trainer::Margin };
        let c = random.below(4).min(n);
        let annotator = model(&mut random, n, c, 1.0, trainer);
        let item = scored(&mut random, n, 1.5);
        let clamp = clamps(&mut random, n);
        let known = Known { count: Count::Learned, clamp: &clamp, skipped: &[] };
        let numbers = annotator.numbers(&item, &clamp);
        assert!((numbers.iter().map(|x| x.1).sum::<f64>() - 1.0).abs() < 1e-12);
        let inside = clamp.iter().filter(|&&c| c == Clamp::In).count();
        let free = clamp.iter().filter(|&&c| c == Clamp::Free).count();
        assert!(numbers.iter().all(|&(k, _)| inside <= k && k <= inside + free));
        for strategy in Strategy::ALL.iter().copied().filter(|s| s.suits(trainer)) {
            let Some(question) = next(&annotator, &item, &known, strategy, &mut random, &mut work).unwrap() else {
                none += 1;
                assert_eq!(free, 0, "{strategy}: something can be asked");
                continue;
            };
            asked += 1;
            assert_eq!(clamp[question.label as usize], Clamp::Free);
            if strategy == Strategy::Entropy && free < n {
                let p = annotator.values(&item, &clamp, &mut work).unwrap().0;
                assert!((p[question.label as usize] - question.value).abs() < 1e-9);
            }
            if strategy == Strategy::Paper {
                let star = &annotator.star;
                let is = |k: usize| {
                    let scores = scores_at(&annotator, &item, k);
                    let value = difference(star, &scores, k, &clamp, question.label as usize);
                    (value - question.value).abs() < 1e-9
                };
                let choices = || numbers.iter().map(|x| x.0).filter(|&k| inside < k && k < inside + free);
                assert!(choices().any(is) || choices().count() == 0);
            }
        }
    }
    assert!(asked > 1000 && none > 5, "{asked} {none}");
}

/// Whatever the model has learned of the number of labels, every label can be asked about, whatever the answers are.
#[test]
fn a_learned_number_is_never_certain() {
    let (mut work, mut random) = (LabelWork::default(), Random::new(11));
    let n = 7;
    for trainer in [Trainer::Likelihood, Trainer::Margin] {
        let annotator = model(&mut random, n, 2, 1.0, trainer);
        for counts in [vec![1.0], vec![0.0, 1.0], vec![0.0, 0.0, 0.5, 0.5], [vec![0.0; 7], vec![1.0]].concat()] {
            let item = Scored { counts: counts.clone(), ..scored(&mut random, n, 1.5) };
            let learned: Vec<(usize, f64)> = counts.iter().copied().enumerate().filter(|x| x.1 > 0.0).collect();
            assert_eq!(annotator.numbers(&item, &[]), learned, "predictions know the learned numbers only");
            for strategy in Strategy::ALL.iter().copied().filter(|s| s.suits(trainer)) {
                for answer in [Some(Clamp::In), Some(Clamp::Out), None] {
                    let mut clamp = vec![Clamp::Free; n];
                    for asked in 0..n {
                        let known = Known { count: Count::Learned, clamp: &clamp, skipped: &[] };
                        let question = next(&annotator, &item, &known, strategy, &mut random, &mut work).unwrap();
                        let label = question.unwrap_or_else(|| panic!("{strategy}: {counts:?} {clamp:?}")).label;
                        let either = [Clamp::In, Clamp::Out][random.below(2)];
                        clamp[label as usize] = answer.unwrap_or(either);
                        let inside = clamp.iter().filter(|&&c| c == Clamp::In).count();
                        let numbers = annotator.numbers(&item, &clamp);
                        assert!(numbers.windows(2).all(|w| w[0].0 < w[1].0) && numbers.iter().all(|x| x.1 > 0.0));
                        assert!((numbers.iter().map(|x| x.1).sum::<f64>() - 1.0).abs() < 1e-12);
                        assert!(numbers.len() > 1 || asked + 1 == n, "{numbers:?}");
                        let (values, k) = annotator.values(&item, &clamp, &mut work).unwrap();
                        assert!((inside..=inside + n - asked - 1).contains(&k));
                        let open = |p: f64| trainer == Trainer::Margin || (0.0 < p && p < 1.0);
                        assert!((0..n).all(|i| clamp[i] != Clamp::Free || open(values[i])), "{values:?}");
                    }
                    let known = Known { count: Count::Learned, clamp: &clamp, skipped: &[] };
                    assert_eq!(next(&annotator, &item, &known, strategy, &mut random, &mut work).unwrap(), None);
                }
            }
            // more labels than any item had: no further one is thought to apply
            let known = [[Clamp::In; 4].as_slice(), &[Clamp::Free; 3]].concat();
            if counts.len() <= 4 {
                assert_eq!(annotator.values(&item, &known, &mut work).unwrap().1, 4);
            }
        }
    }
}

#[test]
fn skipped_labels_are_not_asked_again() {
    let (mut work, mut random) = (LabelWork::default(), Random::new(6));
    for trainer in [Trainer::Likelihood, Trainer::Margin] {
        let annotator = model(&mut random, 7, 3, 1.0, trainer);
        let item = scored(&mut random, 7, 1.5);
        for strategy in Strategy::ALL.iter().copied().filter(|s| s.suits(trainer)) {
            let mut skipped = vec![];
            for _ in 0..7 {
                let known = Known { count: Count::Told(3), clamp: &[], skipped: &skipped };
                let question = next(&annotator, &item, &known, strategy, &mut random, &mut work).unwrap().unwrap();
                assert!(!skipped.contains(&question.label));
                if strategy == Strategy::Paper {
                    let scores = scores_at(&annotator, &item, 3);
                    let open = (0..7u32).filter(|i| !skipped.contains(i));
                    let value = |i: u32| difference(&annotator.star, &scores, 3, &[Clamp::Free; 7], i as usize);
                    assert!((question.value - open.map(value).fold(f64::INFINITY, f64::min)).abs() < 1e-9);
                }
                skipped.push(question.label);
            }
            let known = Known { count: Count::Told(3), clamp: &[], skipped: &skipped };
            assert_eq!(next(&annotator, &item, &known, strategy, &mut random, &mut work).unwrap(), None);
        }
    }
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let (mut work, mut random) = (LabelWork::default(), Random::new(7));
    let annotator = model(&mut random, 4, 1, 1.0, Trainer::Margin);
    let item = scored(&mut random, 4, 1.0);
    let mut ask = |count, clamp: &[Clamp], strategy| {
        let known = Known { count, clamp, skipped: &[] };
        next(&annotator, &item, &known, strategy, &mut Random::new(1), &mut work).map_err(|error| error.to_string())
    };
    let entropy = ask(Count::Told(2), &[], Strategy::Entropy).unwrap_err();
    assert!(entropy.contains("trainer=likelihood"), "{entropy}");
    let inside = [Clamp::In, Clamp::In, Clamp::In, Clamp::Free];
    let many = ask(Count::Told(2), &inside, Strategy::Paper).unwrap_err();
    assert!(many.contains("cannot choose 2 labels"), "{many}");
    assert!(ask(Count::Told(2), &[Clamp::Free; 3], Strategy::Paper).is_err());
    assert_eq!(ask(Count::Told(3), &inside, Strategy::Paper), Ok(None));
}

#[test]
fn a_replay_ends_at_the_truth() {
    let set = Scenes { items: 160, labels: 12, scenes: 3, noise: 1.5, seed: 3 }.make();
    let units = set.all();
    for method in [CStar::default(), CStar { trainer: Trainer::Margin, ..CStar::default() }] {
        let annotator = method.fit(&Training::new(&set, &units[..120]), &Watch::NOBODY).unwrap().model;
        let ready = annotator.prepare(&set).unwrap();
        let mut work = LabelWork::default();
        let (mut sums, mut before) = ([0.0; 4], vec![]);
        for &i in &units[120..] {
            let (i, item) = (i as usize, annotator.score(&ready, i as usize).unwrap());
            for (s, strategy) in Strategy::ALL.iter().copied().enumerate().filter(|(_, s)| s.suits(annotator.trainer)) {
                for told in [true, false] {
                    let mut run = || {
                        let how = (strategy, 12, told);
                        replay(&annotator, &item, &set, i, how, &mut Random::new(9), &mut work).unwrap()
                    };
                    let curve = run();
                    assert_eq!(curve, run());
                    assert_eq!(curve.len(), if replayable(&set, i) { 13 } else { 0 });
                    if told {
                        before.extend(curve.first().filter(|_| strategy == Strategy::Paper));
                        assert!(curve.last().is_none_or(|&last| last == 1.0), "12 answers say all: {curve:?}");
                        sums[s] += curve.get(3).copied().unwrap_or(0.0);
                    }
                }
            }
        }
        // without questions it is break-even precision as it is measured elsewhere
        let bep = ["bep".parse().unwrap()];
        let measured = annotator.evaluate(&ready, &units[120..], &bep, &Convention::STANDARD).unwrap();
        let mean = before.iter().sum::<f64>() / before.len() as f64;
        assert!((measured.mean(0) - mean).abs() < 1e-9 && measured.counted(0).len() == before.len());
        assert!(sums[0] > sums[3] && sums[1] > sums[3], "chosen questions are worth more than random ones: {sums:?}");
    }
}

#[test]
fn unknown_labels_are_neither_asked_nor_counted() {
    let mut random = Random::new(8);
    let annotator = model(&mut random, 5, 2, 1.0, Trainer::Likelihood);
    let item = Scored { base: vec![0.0, 0.1, 9.0, 0.2, -0.1], counts: vec![0.0, 0.4, 0.4, 0.2] };
    let set = |yes: Vec<u32>, unknown: Vec<u32>| {
        let columns = Columns::named(vec!["x".into()]);
        let features = Features::Dense(Matrix::new(vec![0.0], 1));
        let set = LabelSet::new(features, columns, annotator.labels.clone(), vec![yes]).unwrap();
        set.with_unknown(vec![unknown]).unwrap()
    };
    // label 2 has by far the best score, and would be first if it counted
    let known = set(vec![1], vec![2]);
    for &strategy in Strategy::ALL {
        for told in [true, false] {
            let how = (strategy, 5, told);
            let curve = replay(&annotator, &item, &known, 0, how, &mut random, &mut LabelWork::default()).unwrap();
            assert!(curve.last().is_some_and(|&last| last == 1.0), "{strategy}, {told}: {curve:?}");
        }
    }
    assert!(!replayable(&set(vec![], vec![]), 0) && !replayable(&set(vec![0, 1, 3, 4], vec![2]), 0));
    let how = (Strategy::Paper, 5, true);
    let none = replay(&annotator, &item, &set(vec![], vec![]), 0, how, &mut random, &mut LabelWork::default());
    assert_eq!(none.unwrap(), Vec::<f64>::new());
}

#[test]
fn without_links_the_paper_and_expected_precision_agree() {
    let (mut random, mut work) = (Random::new(10), LabelWork::default());
    for _ in 0..500 {
        let n = 3 + random.below(6);
        let annotator = model(&mut random, n, 0, 0.0, Trainer::Likelihood);
        let item = scored(&mut random, n, 1.5);
        let yes: Vec<u32> = (0..n as u32).filter(|_| random.below(2) == 0).collect();
        let columns = Columns::named(vec!["x".into()]);
        let features = Features::Dense(Matrix::new(vec![0.0], 1));
        let set = LabelSet::new(features, columns, annotator.labels.clone(), vec![yes]).unwrap();
        let mut curve = |strategy| replay(&annotator, &item, &set, 0, (strategy, n, true), &mut random, &mut work);
        assert_eq!(curve(Strategy::Paper).unwrap(), curve(Strategy::Expected).unwrap());
    }
}

#[test]
fn answers_hold_and_both_sides_are_the_best_of_all_sets() {
    let mut random = Random::new(31);
    let mut work = LabelWork::default();
    for round in 0..200 {
        let n = 2 + random.below(6);
        let trainer = if round % 2 == 0 { Trainer::Likelihood } else { Trainer::Margin };
        let annotator = model(&mut random, n, n.min(2), 1.0, trainer);
        let (item, clamp) = (scored(&mut random, n, 1.0), clamps(&mut random, n));
        let said = annotator.predict_item(&item, &clamp, &mut work).unwrap();
        let chosen = |label: usize| said.chosen.contains(&(label as u32));
        for (label, clamp) in clamp.iter().enumerate().filter(|(_, clamp)| **clamp != Clamp::Free) {
            assert_eq!(chosen(label), *clamp == Clamp::In, "round {round}: {clamp:?} {:?}", said.chosen);
        }
        let inside = clamp.iter().filter(|&&clamp| clamp == Clamp::In).count();
        let free: Vec<usize> = (0..n).filter(|&label| clamp[label] == Clamp::Free).collect();
        if free.len() < 2 {
            continue;
        }
        let (k, label) = (inside + 1, free[random.below(free.len())]);
        let known = Known { count: Count::Told(k), clamp: &clamp, skipped: &[] };
        let (yes, no) = sides(&annotator, &item, &known, label as u32, &mut work).unwrap();
        let mut scores = vec![];
        annotator.scores_at(&item, k, &mut scores);
        let best = |answer| {
            let clamp = with(&clamp, label, answer);
            exhaustive::star_max(&annotator.star, &scores, &Subsets { k, clamp: &clamp }).unwrap().0
        };
        assert!((yes - best(Clamp::In)).abs() < 1e-9 && (no - best(Clamp::Out)).abs() < 1e-9, "round {round}");
    }
}

/// All matchings of a problem whose edges are (left, right), one by one.
fn matchings(edges: &[(u32, u32)], from: usize, taken: &mut Vec<usize>, each: &mut dyn FnMut(&[usize])) {
    if from == edges.len() {
        return each(taken);
    }
    matchings(edges, from + 1, taken, each);
    if taken.iter().all(|&e| edges[e].0 != edges[from].0 && edges[e].1 != edges[from].1) {
        taken.push(from);
        matchings(edges, from + 1, taken, each);
        taken.pop();
    }
}

/// Probabilities, the best matching and the next pair, given answers, against all matchings that agree with them.
#[test]
fn pairs_given_answers_are_those_of_the_matchings_that_agree() {
    let set = Linkage { problems: cases(40) as usize, records: 4, ..Linkage::default() }.make();
    let (mut random, mut refused) = (Random::new(5), 0);
    for null in [Some(0.3), None] {
        let weights = (0..set.features.cols()).map(|_| random.normal()).collect();
        let matcher = Matcher { null, temperature: Some(0.8), ..Matcher::unlearned(&set, weights) };
        let ready = matcher.prepare(&set).unwrap();
        for p in 0..set.len() {
            let problem = set.problem(p);
            let known: Vec<Option<bool>> =
                problem.edges.iter().map(|_| [None, None, None, Some(false), Some(true)][random.below(5)]).collect();
            let s = matcher.scores(&ready, p).unwrap();
            let lesser = problem.left.len().min(problem.right.len());
            let (mut z, mut sums, mut best) = (0.0, vec![0.0; s.len()], (f64::NEG_INFINITY, vec![]));
            matchings(&problem.edges, 0, &mut vec![], &mut |y| {
                let agrees = known.iter().enumerate().all(|(e, said)| said.is_none_or(|yes| yes == y.contains(&e)));
                if !agrees || null.is_none() && y.len() < lesser {
                    return;
                }
                let alone = (problem.left.len() + problem.right.len() - 2 * y.len()) as f64;
                let score = y.iter().map(|&e| s[e]).sum::<f64>() + null.unwrap_or(0.0) * alone;
                z += (score / 0.8).exp();
                y.iter().for_each(|&e| sums[e] += (score / 0.8).exp());
                if score > best.0 {
                    best = (score, y.iter().map(|&e| e as u32).collect::<Vec<u32>>());
                }
            });
            match given(&matcher, &ready, p, &known) {
                Ok(said) => {
                    best.1.sort_unstable();
                    assert_eq!(said.edges, best.1, "problem {p}");
                    let all = said.probabilities.as_ref().unwrap();
                    assert!(all.iter().zip(&sums).all(|(p, sum)| (p - sum / z).abs() < 1e-10), "problem {p}");
                    let skipped = [random.below(s.len()) as u32];
                    let doubt = |e: usize| all[e] * (1.0 - all[e]);
                    let open =
                        |&e: &usize| known[e].is_none() && e as u32 != skipped[0] && all[e] > 0.01 && all[e] < 0.99;
                    let most = (0..s.len()).filter(open).map(doubt).fold(f64::NEG_INFINITY, f64::max);
                    match next_pair(&said, &known, &skipped) {
                        Some(question) => assert!((doubt(question.edge as usize) - most).abs() < 1e-12),
                        None => assert!(most.is_infinite()),
                    }
                }
                Err(error) => {
                    assert!(z <= 0.0, "problem {p}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 0, "some answers contradict each other");
}

#[test]
fn the_matching_agrees_with_the_answers_and_says_what_the_last_one_changed() {
    let set = Linkage { problems: 6, ..Linkage::default() }.make();
    let method = MatchMap { null: true, ..MatchMap::default() };
    let model = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap().model;
    let (ready, mut random) = (model.prepare(&set).unwrap(), Random::new(5));
    for _ in 0..cases(40) {
        let p = random.below(set.len());
        let problem = set.problem(p);
        let mut answers: Vec<(u32, Option<bool>)> = vec![];
        for _ in 0..random.below(5) {
            let e = random.below(problem.edges.len()) as u32;
            answers.retain(|own| own.0 != e);
            answers.push((e, [Some(true), Some(false), None][random.below(3)]));
        }
        let said = asked_problem(&model, &ready, p, &answers, None).unwrap();
        let mut taken: Vec<(u32, bool)> = vec![]; // ends of answers with yes
        let clash = answers.iter().filter(|own| own.1 == Some(true)).any(|own| {
            let (i, j) = problem.edges[own.0 as usize];
            let twice = taken.contains(&(i, false)) || taken.contains(&(j, true));
            taken.extend([(i, false), (j, true)]);
            twice
        });
        if clash {
            assert!(said.impossible.is_some(), "{answers:?}");
        }
        if said.impossible.is_some() {
            continue;
        }
        let name = |e: u32| {
            let (i, j) = problem.edges[e as usize];
            PairName { left: problem.left[i as usize].clone(), right: Some(problem.right[j as usize].clone()) }
        };
        let matched = |of: &AskedProblem, e| of.matching.iter().any(|own| own.pair == name(e));
        for &(e, yes) in &answers {
            assert!(yes.is_none_or(|yes| matched(&said, e) == yes), "{answers:?}");
            assert!(said.question.as_ref().is_none_or(|question| question.edge != e), "{answers:?}");
        }
        let last = answers.iter().rposition(|own| own.1.is_some());
        let mut less = answers.clone();
        last.into_iter().for_each(|at| _ = less.remove(at));
        let before = asked_problem(&model, &ready, p, &less, None).unwrap();
        for (now, old) in said.matching.iter().zip(&before.matching) {
            assert_eq!(now.changed, now.pair != old.pair, "{answers:?}");
        }
        let wanted = random.below(problem.edges.len()) as u32;
        let own = asked_problem(&model, &ready, p, &answers, Some(wanted)).unwrap();
        assert_eq!(own.question.unwrap().edge, wanted);
        assert_eq!((own.matching, own.refused), (said.matching, said.refused));
    }
}

/// One label is open: whatever the answer is, everything is known then, and the question does not say that precision falls to nothing.
#[test]
fn the_last_open_label_promises_no_precision() {
    let set = Scenes { items: 60, labels: 3, ..Scenes::default() }.make();
    let model = CStar::independent().fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap().model;
    let ready = model.prepare(&set).unwrap();
    let how = AskHow { strategy: Strategy::Expected, control: false, target: 2.0, seed: 0 };
    for item in 0..20 {
        let mut answers = vec![];
        for open in (1..=3).rev() {
            let said = asked_item(&model, &ready, item, &answers, &how).unwrap();
            let question = said.question.unwrap();
            match open {
                1 => assert_eq!((question.gain, &*question.why), (None, "nothing else is left to ask")),
                _ => assert!(
                    question.gain.unwrap() > -1e-9 && question.why.contains("is expected to lift"),
                    "{question:?}"
                ),
            }
            assert!((0.0..=1.0).contains(&said.expected_precision.unwrap()));
            answers.push((question.number, Some(item % 2 == 0)));
        }
        assert!(asked_item(&model, &ready, item, &answers, &how).unwrap().question.is_none());
    }
}
