//! Training of stars: gradients against differences, losses against enumeration, gaps against the definition.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::data::scale::Affine;
use ordain::data::synthetic::Scenes;
use ordain::data::{Columns, LabelSet};
use ordain::matrix::{Csr, Features, Matrix};
use ordain::method::core_choice::choose_core;
use ordain::method::{CStar, Core, OneVsRest};
use ordain::pieces::Pieces;
use ordain::random::Random;
use ordain::risk::Empirical;
use ordain::scorer::labels::{Labels, LabelsWork, Linked};
use ordain::solver::block_fw::{BlockFw, Kept};
use ordain::solver::run::Watch;
use ordain::structure::exhaustive;
use ordain::structure::star::{Clamp, MaxWork, Star};
use ordain::surrogate::star::{Case, StarLikelihood, StarMargin, Target};
use ordain::task::{Method, Model, Training};
use ordain::traits::{Blocks, Risk, Scorer, Solver};

/// Items with random features, scores and labels.
pub(crate) struct Made {
    features: Features,
    units: Vec<u32>,
    pieces: Pieces,
    own: Vec<f64>,
    log_count: Vec<f64>,
    pub(crate) cases: Vec<Case>,
}

pub(crate) fn made(random: &mut Random, items: usize, n: usize, unknown: bool) -> Made {
    let d = 3;
    let values: Vec<f32> = (0..items * d).map(|_| random.normal() as f32).collect();
    let features = if random.below(2) == 0 {
        Features::Dense(Matrix::new(values, d))
    } else {
        Features::Sparse(Csr::new(
            (1..=items).map(|i| i * d).collect(),
            (0..items * d).map(|k| (k % d) as u32).collect(),
            values,
            d,
        ))
    };
    let cases: Vec<Case> = (0..items)
        .map(|_| {
            let mut labels: Vec<u32> = (0..n as u32).collect();
            random.shuffle(&mut labels);
            let k = 1 + random.below(n - 2);
            let mut yes = labels[..k].to_vec();
            yes.sort_unstable();
            let gap = usize::from(unknown && k < n - 2 && random.below(2) == 0);
            Case::new(n, &yes, &labels[k..k + gap])
        })
        .collect();
    Made {
        features,
        units: (0..items as u32).collect(),
        pieces: Pieces::of_items(items, d),
        own: (0..items * n).map(|_| random.normal()).collect(),
        log_count: cases.iter().map(|case| (case.yes.len() as f64).ln()).collect(),
        cases,
    }
}

impl Made {
    pub(crate) fn scorer(&self, n: usize, parts: usize) -> Labels<'_> {
        Labels {
            labels: n,
            units: &self.units,
            pieces: &self.pieces,
            features: (parts & 1 > 0).then_some(&self.features),
            own: (parts & 2 > 0).then_some(&self.own),
            log_count: (parts & 4 > 0).then_some(&self.log_count),
        }
    }
}

#[test]
fn the_likelihood_is_that_of_all_sets_and_its_gradient_that_of_differences() {
    let mut random = Random::new(8);
    for round in 0..60 {
        let n = 4 + random.below(4);
        let made = made(&mut random, 5, n, round % 3 == 0);
        let scorer = made.scorer(n, round % 8);
        let mut core: Vec<u32> = (0..n as u32).collect();
        random.shuffle(&mut core);
        core.truncate(round % 4);
        let loss = StarLikelihood { labels: n, core: &core, cases: &made.cases };
        let linked = Linked { scorer: &scorer, links: core.len() * n };
        let mut risk = Empirical::new(&linked, &loss, vec![0.2; 5]);
        let mut theta: Vec<f64> = (0..risk.dim()).map(|_| 0.7 * random.normal()).collect();
        let mut grad = vec![0.0; theta.len()];
        let value = risk.value(&theta, &mut grad).unwrap();
        let own = scorer.dim();
        let star = Star::new(n, &core, &theta[own..]).unwrap();
        let mut truth = 0.0;
        for (i, case) in made.cases.iter().enumerate() {
            let mut s = vec![0.0; n];
            scorer.scores(i, &theta, &mut s, &mut LabelsWork::default());
            truth += exhaustive::star_log_sum(&star, &s, &case.over()).0 - star.score(&s, &case.yes);
        }
        assert!((value - truth / 5.0).abs() < 1e-10);
        let slope = grad.clone();
        for j in 0..theta.len() {
            let at = theta[j];
            theta[j] = at + 1e-5;
            let up = risk.value(&theta, &mut grad).unwrap();
            theta[j] = at - 1e-5;
            let down = risk.value(&theta, &mut grad).unwrap();
            theta[j] = at;
            assert!(((up - down) / 2e-5 - slope[j]).abs() < 1e-7, "round {round}, parameter {j}");
        }
    }
}

#[test]
fn what_is_not_known_is_not_counted_as_no() {
    // label 2 is unknown of every item: nothing pulls at it
    let cases: Vec<Case> = (0..4).map(|i| Case::new(4, &[i % 2], &[2])).collect();
    let units: Vec<u32> = (0..4).collect();
    let pieces = Pieces::of_items(4, 1);
    let scorer = Labels { labels: 4, units: &units, pieces: &pieces, features: None, own: None, log_count: None };
    let (linked, loss) =
        (Linked { scorer: &scorer, links: 4 }, StarLikelihood { labels: 4, core: &[2], cases: &cases });
    let mut risk = Empirical::new(&linked, &loss, vec![0.25; 4]);
    let mut grad = vec![0.0; 8];
    risk.value(&[0.3, -0.1, 5.0, 0.2, 1.0, 1.0, 0.0, 1.0], &mut grad).unwrap();
    assert!(grad[2] == 0.0 && grad[4..].iter().all(|&g| g == 0.0), "{grad:?}");
    assert!(grad[0] != 0.0 && grad[3] != 0.0);
}

/// `½ Σ strength θ² + mean of max over all sets`, set by set.
pub(crate) fn primal(scorer: &Labels, core: &[u32], targets: &[Target], strength: &[f64], theta: &[f64]) -> f64 {
    let n = scorer.labels;
    let star = Star::new(n, core, &theta[scorer.dim()..]).unwrap();
    let mut sum = 0.0;
    for (i, target) in targets.iter().enumerate() {
        let mut s = vec![0.0; n];
        scorer.scores(i, theta, &mut s, &mut LabelsWork::default());
        let misses = |set: &[u32]| set.iter().filter(|l| !target.case.yes.contains(l)).count() as f64 / target.k as f64;
        let mut worst = f64::NEG_INFINITY;
        exhaustive::subsets(n, target.k, &mut |set| {
            let out = |l: &u32| target.case.clamp.get(*l as usize) == Some(&Clamp::Out);
            if !set.iter().any(out) {
                worst = worst.max(misses(set) + star.score(&s, set));
            }
        });
        sum += worst - misses(&target.right) - star.score(&s, &target.right);
    }
    let ridge: f64 = theta.iter().zip(strength).map(|(t, s)| 0.5 * s * t * t).sum();
    ridge + sum / targets.len() as f64
}

#[test]
fn the_reported_gap_is_the_gap() {
    let mut random = Random::new(4);
    for round in 0..12 {
        let n = 5 + random.below(3);
        let made = made(&mut random, 12, n, round % 3 == 1);
        let scorer = made.scorer(n, 1 + round % 7);
        let core: Vec<u32> = (0..(round % 3) as u32).collect();
        let mut targets: Vec<Target> = made.cases.iter().cloned().map(Target::break_even).collect();
        if round % 4 == 3 {
            // precision at 2, whatever the item has
            targets = made.cases.iter().cloned().map(|case| Target::precision_at(case, 2, n).unwrap()).collect();
            let star = Star::new(n, &core, &vec![0.0; core.len() * n]).unwrap();
            let s: Vec<f64> = (0..n).map(|_| random.normal()).collect();
            for target in &mut targets {
                target.complete(&star, &s, &mut MaxWork::default()).unwrap();
                let found = target.right.iter().filter(|l| target.case.yes.contains(l)).count();
                assert_eq!((target.right.len(), found), (2, target.case.yes.len().min(2)));
            }
        }
        let mut blocks = StarMargin::new(&scorer, n, &core, &targets, [0.1, 0.03]).unwrap();
        let strength = blocks.strength();
        let mut solver = BlockFw::new(&mut blocks, 1e-3, 1).unwrap();
        let start = solver.progress().objective;
        assert!((start - primal(&scorer, &core, &targets, &strength, &vec![0.0; strength.len()])).abs() < 1e-12);
        for _ in 0..400 {
            if solver.progress().done.is_some() {
                break;
            }
            solver.step().unwrap();
        }
        let now = solver.progress();
        assert!(now.gap.unwrap() <= 5e-3, "round {round}: {now:?}");
        // both sides again, from the outputs that carry weight
        let (mut theta, mut losses) = (vec![0.0; strength.len()], 0.0);
        for (i, target) in targets.iter().enumerate() {
            let alpha = solver.outputs(i);
            assert!((alpha.iter().map(|kept| kept.weight).sum::<f64>() - 1.0).abs() < 1e-12);
            for Kept { output: set, weight: a, .. } in alpha {
                assert!(set.len() == target.k && *a > 0.0);
                let misses =
                    |set: &[u32]| set.iter().filter(|l| !target.case.yes.contains(l)).count() as f64 / target.k as f64;
                losses += a * (misses(set) - misses(&target.right)) / 12.0;
                let mut d = vec![0.0; n];
                target.right.iter().for_each(|&l| d[l as usize] += a);
                set.iter().for_each(|&l| d[l as usize] -= a);
                let own = scorer.dim();
                scorer.pull_back(i, &d, &mut theta[..own], &mut LabelsWork::default());
                let star = Star::new(n, &core, &vec![0.0; core.len() * n]).unwrap();
                star.each_pair(&target.right, |at| theta[own + at] += a);
                star.each_pair(set, |at| theta[own + at] -= a);
            }
        }
        theta.iter_mut().zip(&strength).for_each(|(t, s)| *t /= s * 12.0);
        let dual = losses - theta.iter().zip(&strength).map(|(t, s)| 0.5 * s * t * t).sum::<f64>();
        let best = primal(&scorer, &core, &targets, &strength, solver.theta());
        assert!((best - now.objective).abs() < 1e-10, "round {round}: {best} {now:?}");
        assert!((best - dual - now.gap.unwrap()).abs() < 1e-10, "round {round}: {best} - {dual}, {now:?}");
    }
}

#[test]
fn settings_are_read_back_and_refused() {
    let method: CStar = "cstar[core=a;b,trainer=margin,loss=p@5,count_bias=false,c=10]".parse().unwrap();
    assert_eq!(method.lambda, ordain::method::Choice::Set(ordain::method::Positive::new(0.1).unwrap()));
    for wrong in ["cstar[core=25]", "cstar[core=a;a]", "cstar[loss=p@0]", "cstar[trainer=svm]", "independent[core=3]"] {
        assert!(wrong.parse::<CStar>().is_err(), "{wrong}");
    }
    let core = |text: &str| text.parse::<CStar>().unwrap().core;
    assert_eq!(core("cstar[core=2]"), Some(Core::Size(2)));
    assert_eq!(core("cstar[core=2;]"), Some(Core::Names(vec!["2".into()])));
    let set = Scenes { items: 60, ..Scenes::default() }.make();
    let fit = |text: &str| text.parse::<CStar>().unwrap().fit(&Training::new(&set, &set.all()), &Watch::NOBODY);
    assert!(fit("cstar[core=nonsense]").unwrap_err().to_string().contains("nonsense"));
    assert!("cstar[core=15]".parse::<CStar>().unwrap_err().to_string().contains("at most 10"));
}

/// Items with a feature per label that says whether it applies, and some labels unknown.
fn with_gaps(random: &mut Random, items: usize, n: usize, gap: impl Fn(usize, usize) -> bool) -> LabelSet {
    let (mut values, mut yes, mut unknown) = (vec![], vec![], vec![]);
    for i in 0..items {
        let on: Vec<bool> = (0..n).map(|_| random.uniform() < 0.3).collect();
        values.extend(on.iter().map(|&on| (f64::from(u8::from(on)) + 0.4 * random.normal()) as f32));
        unknown.push((0..n as u32).filter(|&l| gap(i, l as usize)).collect::<Vec<u32>>());
        yes.push((0..n as u32).filter(|&l| on[l as usize] && !gap(i, l as usize)).collect());
    }
    let names = |k: usize| (0..k).map(|j| j.to_string()).collect::<Vec<_>>();
    let columns = Columns { names: names(n), numbered: true, ..Columns::default() };
    let set = LabelSet::new(Features::Dense(Matrix::new(values, n)), columns, names(n), yes).unwrap();
    set.with_unknown(unknown).unwrap()
}

#[test]
fn labels_that_are_seldom_or_never_known_spoil_nothing() {
    let mut random = Random::new(21);
    let fit = |set: &LabelSet| {
        let method: CStar = "cstar[core=2,lambda=1e-3,link_lambda=1e-2]".parse().unwrap();
        method.fit(&Training::new(set, &set.all()), &Watch::NOBODY).unwrap().model
    };
    // label 0 is known of one item in seven, label 1 of none
    let set = with_gaps(&mut random, 350, 6, |i, l| l == 0 && i % 7 != 0 || l == 1);
    let annotator = fit(&set);
    let answers = annotator.predict(&annotator.prepare(&set).unwrap(), &set.all()).unwrap();
    assert!(answers.iter().all(|a| a.values.iter().all(|v| v.is_finite())));
    // the number of labels is learned, and label 1, of which nothing is known, leads nowhere near half of the lists
    let given = answers.iter().map(|a| a.chosen.len()).sum::<usize>() as f64 / 350.0;
    let leads = answers.iter().filter(|a| a.values.iter().all(|&v| v <= a.values[1])).count();
    assert!(given > 0.8 && given < 3.0 && leads < 60, "{given} labels, {leads} lists");
    // label 0 is learned from the items where it is known: its feature counts
    let right = |i: usize| (answers[i].values[0] > 0.35) == (set.features.value(i, 0) > 0.5);
    assert!((0..350).filter(|&i| right(i)).count() > 280);
}

#[test]
fn hundreds_of_labels_on_an_item_train() {
    let mut random = Random::new(22);
    let (items, n) = (8, 700);
    let yes: Vec<Vec<u32>> = (0..items).map(|_| (0..n as u32).filter(|_| random.uniform() < 0.55).collect()).collect();
    let values: Vec<f32> = (0..items * 3).map(|_| random.normal() as f32).collect();
    let names = |k: usize| (0..k).map(|j| j.to_string()).collect::<Vec<_>>();
    let columns = Columns { names: names(3), numbered: true, ..Columns::default() };
    let set = LabelSet::new(Features::Dense(Matrix::new(values, 3)), columns, names(n), yes).unwrap();
    let method: CStar = "cstar[core=1,lambda=1e-3,link_lambda=1e-2]".parse().unwrap();
    let model = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap();
    assert!(model.facts.report.objective.is_finite() && model.model.bias.iter().all(|v| v.is_finite()));
    let ready = model.model.prepare(&set).unwrap();
    assert!(model.model.predict(&ready, &[0]).unwrap()[0].values.iter().all(|v| v.is_finite()));
}

/// What `ordain demo annotate` trains on, as the trainer sees it.
pub(crate) struct Demo {
    pub(crate) n: usize,
    pub(crate) units: Vec<u32>,
    pub(crate) features: Features,
    pub(crate) own: Vec<f64>,
    pub(crate) log_count: Vec<f64>,
    pub(crate) targets: Vec<Target>,
    pub(crate) core: Vec<u32>,
}

impl Demo {
    pub(crate) fn new() -> Self {
        let set = Scenes { items: 3000, noise: 1.5, ..Scenes::default() }.make().only(&(0..2000).collect::<Vec<u32>>());
        Self::of(&set, 5)
    }

    /// The same of other items, with a core of this size.
    pub(crate) fn of(set: &LabelSet, core: usize) -> Self {
        let (n, units) = (set.labels.len(), set.all());
        let features =
            Affine::standard(&set.features, &set.pieces(), std::iter::once(0..set.len())).apply(&set.features);
        let (_, own) = OneVsRest::fit(&features, set, &units, &Watch::NOBODY).unwrap();
        let cases: Vec<Case> = (0..set.len()).map(|i| Case::new(n, set.yes(i), set.unknown(i))).collect();
        let log_count = cases.iter().map(|case| (case.yes.len() as f64).ln()).collect();
        let targets = cases.iter().cloned().map(Target::break_even).collect();
        let core = choose_core(set, &units, core);
        Self { n, units, features, own, log_count, targets, core }
    }
}

#[test]
fn margins_reach_their_gap_in_few_passes() {
    let Demo { n, units, features, own, log_count, targets, core } = Demo::new();
    for (own, features) in [(Some(&own[..]), None), (None, Some(&features))] {
        let pieces = Pieces::of_items(units.len(), 1);
        let log_count = Some(&log_count[..]);
        let scorer = Labels { labels: n, units: &units, pieces: &pieces, features, own, log_count };
        let mut blocks = StarMargin::new(&scorer, n, &core, &targets, [1.0; 2]).unwrap();
        let mut solver = BlockFw::new(&mut blocks, 1e-3, 0).unwrap();
        let mut passes = 0;
        while solver.progress().done.is_none() && passes < 200 {
            solver.step().unwrap();
            passes += 1;
        }
        let gap = solver.progress().gap.unwrap();
        assert!(gap <= 1e-3 && passes <= 120, "gap {gap:.1e} after {passes} passes");
    }
}
