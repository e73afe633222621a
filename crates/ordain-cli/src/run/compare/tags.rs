//! One round of a method that annotates.

use super::{Cut, Entry, Protocol, Trained, filled, reliability};
use crate::report::Reliability;
use crate::run::evaluate::precision_curve;
use anyhow::Result;
use ordain::data::LabelSet;
use ordain::method::{Annotator, CStar, FittedTags, LabelPrediction, TagTraining, Trainer};
use ordain::metric::Metric;
use ordain::metric::calibration::Calibration;
use ordain::model_file;
use ordain::solver::run::Watch;
use std::time::Instant;

/// Links that a report shows.
const LINKS: usize = 15;

pub(super) fn round(
    entry: &mut Entry,
    method: &CStar,
    set: &LabelSet,
    cut: &Cut,
    protocol: &Protocol,
    watch: &Watch,
) -> Result<()> {
    let (set, means) = filled(set, protocol.missing, |set: &mut LabelSet| set.fill(protocol.missing, cut.train));
    let set = &*set;
    let start = Instant::now();
    let model = method.fit(
        &TagTraining {
            set,
            train: cut.train,
            valid: cut.valid,
            by: protocol.choose_by,
            refit: protocol.refit,
            seed: protocol.seed,
            missing: protocol.missing,
            means: means.as_deref(),
        },
        watch,
    )?;
    entry.fit += start.elapsed().as_secs_f64();
    let start = Instant::now();
    let said = model.annotator.predict(set, cut.test)?;
    entry.predict += start.elapsed().as_secs_f64();
    let measures = protocol.measures;
    if model.annotator.trainer == Trainer::Likelihood {
        let (_, calibration) = entry.calibration.get_or_insert_with(|| (None, Calibration::default()));
        calibrate(calibration, set, cut.test, &said);
    }
    let measure =
        |metrics: &[Metric]| model.annotator.evaluate_said(set, cut.test, &said, metrics, &measures.convention);
    entry.add(measure(&measures.metrics)?, measure(&precision_curve(set)).ok());
    keep(entry, model);
    Ok(())
}

/// Puts the probability of every label of every item beside whether it applies.
fn calibrate(calibration: &mut Calibration, set: &LabelSet, units: &[u32], said: &[LabelPrediction]) {
    for (&i, item) in units.iter().zip(said) {
        let (yes, unknown) = (set.yes(i as usize), set.unknown(i as usize));
        for (label, &p) in (0u32..).zip(&item.values).filter(|(label, _)| unknown.binary_search(label).is_err()) {
            calibration.add(p, f64::from(u8::from(yes.binary_search(&label).is_ok())));
        }
    }
}

/// The strongest links between labels.
pub(in crate::run) fn links(annotator: &Annotator) -> Vec<(String, f64)> {
    let links = annotator.strongest_links(LINKS).into_iter();
    links.map(|(core, other, weight)| (format!("{core} – {other}"), weight)).collect()
}

/// How the probabilities of a model come true on the items of a set, where it has some.
pub(in crate::run) fn tag_reliability(annotator: &Annotator, set: &LabelSet) -> Result<Option<Reliability>> {
    if annotator.trainer != Trainer::Likelihood {
        return Ok(None);
    }
    let (all, mut calibration) = (set.all(), Calibration::default());
    calibrate(&mut calibration, set, &all, &annotator.predict(set, &all)?);
    Ok(Some(reliability(None, &calibration)))
}

fn keep(entry: &mut Entry, model: FittedTags) {
    let annotator = &model.annotator;
    if entry.trained.is_empty() {
        entry.links = links(annotator);
    }
    entry.bytes = entry.bytes.max(model_file::tags_to_bytes(&model).len());
    entry.support = entry.support.max(annotator.support());
    let core = annotator.star.core().iter().map(|&label| annotator.labels[label as usize].clone()).collect();
    entry.trained.push(Trained {
        core: (entry.method.name() == "cstar").then_some(core),
        floor: model.facts.floor,
        below_floor: model.facts.below_floor(),
        ..Trained::of(model.facts.report, model.facts.settings, model.facts.chosen)
    });
}
