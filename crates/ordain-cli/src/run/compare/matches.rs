//! One round of a method that matches.

use super::{Cut, Entry, Protocol, Test, Trained, filled};
use crate::run::evaluate::BOOTSTRAP;
use crate::run::matches::evaluate::pictures;
use anyhow::Result;
use ordain::data::MatchSet;
use ordain::method::{MatchMethod, MatchTraining};
use ordain::metric::calibration::Calibration;
use ordain::metric::{Evaluation, Kind, stats};
use ordain::model_file;
use ordain::random::Random;
use ordain::solver::run::Watch;
use std::time::Instant;

/// Random exchanges of a test.
const SWAPS: usize = 2000;

pub(super) fn round(
    entry: &mut Entry,
    method: &MatchMethod,
    set: &MatchSet,
    cut: &Cut,
    protocol: &Protocol,
    watch: &Watch,
) -> Result<()> {
    let (set, means) = filled(set, protocol.missing, |set: &mut MatchSet| set.fill(protocol.missing, cut.train));
    let set = &*set;
    let start = Instant::now();
    let model = method.fit(
        &MatchTraining {
            set,
            train: cut.train,
            valid: cut.valid,
            by: protocol.asked_by.then_some(protocol.choose_by.0),
            refit: protocol.refit,
            seed: protocol.seed,
            missing: protocol.missing,
            means: means.as_deref(),
        },
        watch,
    )?;
    entry.fit += start.elapsed().as_secs_f64();
    let start = Instant::now();
    let result = model.matcher.evaluate(set, cut.test, &protocol.measures.metrics)?;
    entry.predict += start.elapsed().as_secs_f64();
    if !result.calibration.is_empty() {
        let here = Calibration::joined(&result.calibration);
        let (_, all) = entry.calibration.get_or_insert_with(|| (None, Calibration::default()));
        *all = Calibration::joined([&*all, &here]);
    }
    if entry.trained.is_empty() && protocol.pictures {
        entry.pictures = pictures(&model.matcher, set, cut.test)?;
    }
    entry.add(result, None);
    let (bytes, matcher) = (model_file::match_to_bytes(&model).len(), &model.matcher);
    entry.keep_linear(bytes, &matcher.columns, &matcher.weights);
    let facts = model.facts;
    let approximate = (facts.accuracy == "approximate").then_some(facts.engines);
    entry.trained.push(Trained { approximate, ..Trained::of(facts.report, facts.settings, facts.chosen) });
    Ok(())
}

/// The test of a calibration error, which is of all problems together and no mean; `None` of other metrics.
///
/// As with means: problems are drawn again for the interval, and what two methods said of a problem is exchanged for p.
pub(super) fn pooled_test(metric: usize, (a, b): (usize, usize), x: &Evaluation, y: &Evaluation) -> Option<Test> {
    let n = x.calibration.len();
    if x.metrics[metric].kind != Kind::Ece || n == 0 || y.calibration.len() != n {
        return None;
    }
    let error = |parts: &mut dyn Iterator<Item = &Calibration>| Calibration::joined(parts).error();
    let difference = x.mean(metric) - y.mean(metric);
    let (low, high) = stats::interval_of(n, BOOTSTRAP, |sample| {
        error(&mut sample.iter().map(|&p| &x.calibration[p])) - error(&mut sample.iter().map(|&p| &y.calibration[p]))
    });
    let mut random = Random::new(BOOTSTRAP);
    let seen = difference.abs() * (1.0 - 1e-12);
    let extreme = (0..SWAPS).filter(|_| {
        let coins: Vec<bool> = (0..n).map(|_| random.below(2) == 1).collect();
        let side = |first: bool| {
            let one = |p: usize| if coins[p] == first { &x.calibration[p] } else { &y.calibration[p] };
            Calibration::joined((0..n).map(one)).error()
        };
        (side(true) - side(false)).abs() >= seen
    });
    let p = (1 + extreme.count()) as f64 / (1 + SWAPS) as f64;
    // the error of a sample is a little larger than that of all, so that the interval may miss what it is of
    Some(Test { metric, a, b, difference, low: low.min(difference), high: high.max(difference), p })
}
