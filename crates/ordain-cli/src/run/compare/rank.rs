//! One round of a method that ranks.

use super::{Cut, Entry, LISTED, Listed, Protocol, Round, plane};
use crate::plan::Measures;
use crate::report::{MethodPart, PlacedDocument, PlacesPart};
use crate::run::evaluate::{features, gains};
use anyhow::Result;
use ordain::answer::curve_metrics;
use ordain::data::RankSet;
use ordain::method::{Rank, Ranker};
use ordain::metric;
use ordain::metric::Evaluation;
use ordain::metric::calibration::{Calibration, in_head};
use ordain::task::{Fitted, Ready, Task};
use std::time::Instant;

impl Round for Rank {
    fn measure(
        entry: &mut Entry,
        fitted: &Fitted<Rank>,
        on: &Ready<'_, Rank>,
        cut: &Cut,
        protocol: &Protocol,
    ) -> Result<()> {
        let (model, set) = (&fitted.model, on.set());
        let start = Instant::now();
        let scores = model.scores_of(on, cut.test)?;
        entry.predict += start.elapsed().as_secs_f64();
        let Measures { metrics, convention } = protocol.measures;
        let result = metric::evaluate(set, cut.test, &scores, metrics, convention)?;
        // without gains (negative grades) there is no curve
        let curve = metric::evaluate(set, cut.test, &scores, &curve_metrics(Rank::WORDS, 0), convention);
        entry.add(result, curve.ok());
        calibrate(entry, model, on, cut.test)?;
        if entry.trained.is_empty() && protocol.pictures {
            let mut learned = cut.train.to_vec();
            learned.extend(cut.valid.filter(|_| protocol.refit && fitted.facts.chosen.is_some()).unwrap_or_default());
            entry.plane = plane::plane(model, on, &learned, cut.test)?;
        }
        entry.keep(&model.inputs.columns, &model.score);
        entry.support = entry.support.max(fitted.facts.notes.core.as_ref().map_or(0, |core| core.documents));
        Ok(())
    }

    fn part(model: &Ranker, _: &Ready<'_, Rank>, _: &Evaluation) -> Result<MethodPart> {
        let columns = &model.inputs.columns;
        let (features, gains) = (features(columns, model.score.weights()), gains(columns, &model.score));
        Ok(MethodPart { features, gains, ..MethodPart::default() })
    }

    fn lists(model: &Ranker, on: &Ready<'_, Rank>, units: &[u32]) -> Result<Vec<Listed>> {
        let (set, scores) = (on.set(), model.scores_of(on, units)?);
        let list = |&q: &u32| {
            let mut rows: Vec<usize> = set.span(q as usize).collect();
            rows.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
            let line = |&row: &usize| (set.document(row).into_owned(), format!("grade {}", set.grades[row]));
            rows.iter().take(LISTED).map(line).collect()
        };
        Ok(units.iter().map(list).collect())
    }

    fn labels(_: &RankSet) -> usize {
        0
    }
}

/// Puts the probabilities of the head beside the truth, and keeps the picture of the first test query.
fn calibrate(entry: &mut Entry, model: &Ranker, on: &Ready<'_, Rank>, test: &[u32]) -> Result<()> {
    let (set, k) = (on.set(), model.places.len());
    if k == 0 {
        return Ok(());
    }
    let (_, calibration) = entry.calibration.get_or_insert_with(|| (Some(k), Calibration::default()));
    let first = entry.first.get_or_insert_with(Calibration::default);
    for (&q, said) in test.iter().zip(model.predict(on, test, true)?) {
        let (span, probabilities) = (set.span(q as usize), said.places.unwrap_or_default());
        let truth = in_head(&set.grades[span.clone()], k);
        for (p, truth) in probabilities.iter().zip(&truth) {
            calibration.add(p.first_k, *truth);
        }
        for (p, truth) in probabilities.iter().zip(&in_head(&set.grades[span.clone()], 1)) {
            first.add(p.places.first().copied().unwrap_or(0.0), *truth);
        }
        if entry.places.is_none() && span.len() > k {
            let mut documents: Vec<PlacedDocument> = span
                .zip(&probabilities)
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
