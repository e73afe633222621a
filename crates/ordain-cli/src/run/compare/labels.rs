//! One round of a method that annotates.

use super::{Cut, Entry, LISTED, Listed, Protocol, Round};
use crate::report::MethodPart;
use anyhow::Result;
use ordain::answer::{Answers, LabelledItem, Reliability, Want, curve_metrics};
use ordain::data::LabelSet;
use ordain::method::{Annotate, Annotator, LabelPrediction, Trainer};
use ordain::metric::calibration::Calibration;
use ordain::metric::{Evaluation, Metric};
use ordain::task::{Fitted, Ready, Task};
use std::time::Instant;

/// Links that a report shows.
const LINKS: usize = 15;

impl Round for Annotate {
    fn measure(
        entry: &mut Entry,
        fitted: &Fitted<Annotate>,
        on: &Ready<'_, Annotate>,
        cut: &Cut,
        protocol: &Protocol,
    ) -> Result<()> {
        let (model, set) = (&fitted.model, on.set());
        let start = Instant::now();
        let said = model.predict(on, cut.test)?;
        entry.predict += start.elapsed().as_secs_f64();
        let measures = protocol.measures;
        if model.trainer == Trainer::Likelihood {
            let (_, calibration) = entry.calibration.get_or_insert_with(|| (None, Calibration::default()));
            calibrate(calibration, set, cut.test, &said);
        }
        let measure = |metrics: &[Metric]| model.evaluate_said(on, cut.test, &said, metrics, &measures.convention);
        entry.add(measure(&measures.metrics)?, measure(&curve_metrics(Annotate::WORDS, set.labels.len())).ok());
        if entry.trained.is_empty() {
            entry.links = links(model);
        }
        entry.support = entry.support.max(model.support());
        if let Some(questions) = &protocol.questions {
            super::questions::ask(entry, model, on, cut.test, (questions, protocol.seed))?;
        }
        Ok(())
    }

    fn remember(entry: &mut super::Trained, fitted: &Fitted<Annotate>) {
        entry.core = (fitted.facts.method == "cstar").then(|| fitted.model.core_names());
        entry.floor = fitted.facts.notes.floor;
        entry.below_floor = fitted.facts.below_floor();
    }

    fn part(model: &Annotator, on: &Ready<'_, Annotate>, _: &Evaluation) -> Result<MethodPart> {
        let reliability = if model.trainer == Trainer::Likelihood {
            let (all, mut calibration) = (on.set().all(), Calibration::default());
            calibrate(&mut calibration, on.set(), &all, &model.predict(on, &all)?);
            Some(Reliability::of(None, &calibration))
        } else {
            None
        };
        Ok(MethodPart { core: model.core_names(), links: links(model), reliability, ..MethodPart::default() })
    }

    /// The labels that an item is given.
    fn lists(model: &Annotator, on: &Ready<'_, Annotate>, units: &[u32]) -> Result<Vec<Listed>> {
        let set = on.set();
        let said = Annotate::predict(model, on, units, Want::default())?;
        let list = |(&i, item): (&u32, LabelledItem)| {
            let line = |label: String| {
                let at = set.labels.iter().position(|own| *own == label).map_or(u32::MAX, |at| at as u32);
                let what = match () {
                    () if set.yes(i as usize).contains(&at) => "right",
                    () if set.unknown(i as usize).contains(&at) => "not known",
                    () => "wrong",
                };
                (label, what.to_owned())
            };
            item.chosen.into_iter().take(LISTED).map(line).collect()
        };
        Ok(units.iter().zip(said).map(list).collect())
    }

    fn labels(set: &LabelSet) -> usize {
        set.labels.len()
    }
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
fn links(model: &Annotator) -> Vec<(String, f64)> {
    let links = model.strongest_links(LINKS).into_iter();
    links.map(|(core, other, weight)| (format!("{core} – {other}"), weight)).collect()
}
