//! One round of a method that ranks.

use super::{Cut, Entry, Protocol, Trained, filled, plane};
use crate::plan::Measures;
use crate::report::{PlacedDocument, PlacesPart};
use crate::run::evaluate::curve_metrics;
use anyhow::Result;
use ordain::data::RankSet;
use ordain::method::{Fitted, RankMethod, Training};
use ordain::metric;
use ordain::metric::calibration::{Calibration, in_head};
use ordain::model_file;
use ordain::solver::run::Watch;
use std::time::Instant;

pub(super) fn round(
    entry: &mut Entry,
    method: &RankMethod,
    set: &RankSet,
    cut: &Cut,
    protocol: &Protocol,
    watch: &Watch,
) -> Result<()> {
    let (set, means) = filled(set, protocol.missing, |set: &mut RankSet| set.fill(protocol.missing, cut.train));
    let set = &*set;
    let start = Instant::now();
    let model = method.fit(
        &Training {
            set,
            train: cut.train,
            valid: cut.valid,
            by: protocol.choose_by,
            refit: protocol.refit,
            seed: protocol.seed,
            missing: protocol.missing,
            means: means.as_deref(),
            resume: None,
        },
        watch,
    )?;
    entry.fit += start.elapsed().as_secs_f64();
    model.ranker.check_queries(set, cut.test)?;
    let start = Instant::now();
    let scores = model.ranker.scores_of(set, cut.test)?;
    entry.predict += start.elapsed().as_secs_f64();
    let Measures { metrics, convention } = protocol.measures;
    let result = metric::evaluate(set, cut.test, &scores, metrics, convention)?;
    // without gains (negative grades) there is no curve
    entry.add(result, metric::evaluate(set, cut.test, &scores, &curve_metrics(), convention).ok());
    calibrate(entry, &model, set, cut.test)?;
    if entry.trained.is_empty() && protocol.pictures {
        let mut learned = cut.train.to_vec();
        learned.extend(cut.valid.filter(|_| protocol.refit && model.facts.chosen.is_some()).unwrap_or_default());
        entry.plane = plane::plane(&model.ranker, set, &learned, cut.test)?;
    }
    let (bytes, ranker) = (model_file::to_bytes(&model).len(), &model.ranker);
    entry.keep_linear(bytes, &ranker.columns, &ranker.weights);
    entry.support = entry.support.max(model.facts.core.as_ref().map_or(0, |core| core.documents));
    let (report, settings, chosen) = (model.facts.report, model.facts.settings, model.facts.chosen);
    entry.trained.push(Trained::of(report, settings, chosen));
    Ok(())
}

/// Puts the probabilities of the head beside the truth, and keeps the picture of the first test query.
fn calibrate(entry: &mut Entry, model: &Fitted, set: &RankSet, test: &[u32]) -> Result<()> {
    let k = model.ranker.places.len();
    if k == 0 {
        return Ok(());
    }
    let (_, calibration) = entry.calibration.get_or_insert_with(|| (Some(k), Calibration::default()));
    let (_, places) = model.ranker.all_place_probabilities(set, test)?;
    for (&q, probabilities) in test.iter().zip(&places) {
        let span = set.span(q as usize);
        let truth = in_head(&set.grades[span.clone()], k);
        for (p, truth) in probabilities.iter().zip(&truth) {
            calibration.add(p.first_k, *truth);
        }
        if entry.places.is_none() && span.len() > k {
            let mut documents: Vec<PlacedDocument> = span
                .zip(probabilities)
                .map(|(row, p)| PlacedDocument {
                    id: set.document(row).into_owned(),
                    grade: set.grades[row],
                    places: p.places.clone(),
                    first_k: p.first_k,
                    expected_rank: p.expected_rank,
                })
                .collect();
            documents.sort_by(|a, b| a.expected_rank.total_cmp(&b.expected_rank));
            documents.truncate(12);
            entry.places = Some(PlacesPart { query: set.query(q as usize).to_owned(), documents });
        }
    }
    Ok(())
}
