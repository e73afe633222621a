//! The ranking function of two features, over the plane that they make.

use crate::report::{PlaneDocument, PlanePart};
use ordain::data::scale::Scale;
use ordain::method::{Rank, Ranker};
use ordain::random::Random;
use ordain::task::Ready;
use std::collections::HashSet;

/// Documents that are drawn at most.
const DOCUMENTS: usize = 600;
/// Points of the grid along each side.
const SIDE: usize = 64;
/// Between two lines is one of so many equal parts of the documents.
const PARTS: usize = 10;

/// The scores over the plane and the documents that were learned from; nothing where there are not two features.
///
/// Where features are scaled within each query the plane is that of the scaled ones, in which all queries have the same function. A model with a scorer for each query
/// is drawn with that of the first test query, and its documents.
pub(super) fn plane(
    ranker: &Ranker,
    on: &Ready<'_, Rank>,
    learned: &[u32],
    test: &[u32],
) -> ordain::Result<Option<PlanePart>> {
    let set = on.set();
    let (2, Some(&first)) = (set.features.cols(), test.first()) else { return Ok(None) };
    let query = set.query(first as usize);
    let part = ranker.score.expansion().and_then(|expansion| expansion.part(query));
    let alone = part.is_some_and(|part| part.query.is_some());
    let units: Vec<u32> = learned.iter().copied().filter(|&q| !alone || set.query(q as usize) == query).collect();
    let rows: Vec<(u32, usize)> = units.iter().flat_map(|&q| set.span(q as usize).map(move |row| (q, row))).collect();
    let scaled = ranker.scaled_rows(on, &units)?;
    let Some(scores) = ranker.scores_of_scaled(query, &scaled) else { return Ok(None) };
    let within = matches!(ranker.inputs.scale, Scale::Query | Scale::Minmax);
    let at: Vec<[f64; 2]> = rows
        .iter()
        .zip(scaled.chunks_exact(2))
        .map(|(&(_, row), own)| [0, 1].map(|j| f64::from(if within { own[j] } else { set.features.value(row, j) })))
        .collect();
    let [xs, ys] = [0, 1].map(|j| ticks(at.iter().map(|at| at[j])));
    let affine = ranker.inputs.global.as_ref();
    let seen = |j: usize, x: f64| affine.map_or(x, |a| (x - f64::from(a.offset[j])) * f64::from(a.factor[j])) as f32;
    let grid: Vec<f32> = ys.iter().flat_map(|&y| xs.iter().flat_map(move |&x| [seen(0, x), seen(1, y)])).collect();
    let Some(values) = ranker.scores_of_scaled(query, &grid) else { return Ok(None) };
    if !scores.iter().chain(&values).all(|s| s.is_finite()) {
        return Ok(None); // between the documents a function may be beyond all bounds: there is nothing to draw
    }

    // a core document is the first document that looks like it
    let mut core: HashSet<[u32; 2]> = match (part, ranker.score.expansion()) {
        (Some(part), Some(expansion)) => {
            part.documents.iter().map(|&j| bits(expansion.documents.row(j as usize))).collect()
        }
        _ => HashSet::new(),
    };
    let is_core: Vec<bool> = scaled.chunks_exact(2).map(|own| core.remove(&bits(own))).collect();
    let all_core = is_core.iter().filter(|&&core| core).count();
    let mut drawn: Vec<usize> = (0..rows.len()).collect();
    Random::new(1).shuffle(&mut drawn);
    if all_core <= DOCUMENTS / 2 {
        drawn.sort_by_key(|&i| !is_core[i]); // stable: all that are core, then the others as they fell
    }
    drawn.truncate(DOCUMENTS);
    drawn.sort_unstable();
    let document = |i: usize| PlaneDocument {
        name: format!("document {} of query {}", set.document(rows[i].1), set.query(rows[i].0 as usize)),
        at: at[i],
        grade: set.grades[rows[i].1],
        score: scores[i],
        core: is_core[i],
    };
    let how = match ranker.inputs.scale {
        Scale::Query => ", standardised within its query",
        Scale::Minmax => ", from 0 to 1 within its query",
        _ => "",
    };
    let name = |j: usize| {
        let known = if set.columns.numbered { "feature " } else { "" };
        format!("{known}{}{how}", set.columns.names[j])
    };
    Ok(Some(PlanePart {
        axes: [name(0), name(1)],
        query: alone.then(|| query.to_owned()),
        levels: levels(&scores),
        xs,
        ys,
        values,
        documents: drawn.into_iter().map(document).collect(),
        all: rows.len(),
        core: ranker.score.expansion().map(|_| all_core),
    }))
}

fn bits(document: &[f32]) -> [u32; 2] {
    [document[0].to_bits(), document[1].to_bits()]
}

/// Points of one side of the grid, from below the least value to above the largest.
fn ticks(values: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max));
    let room = if high > low { 0.04 * (high - low) } else { 0.1 * low.abs() + 1e-3 };
    let (from, to) = (low - room, high + room);
    (0..SIDE).map(|i| from + (to - from) * i as f64 / (SIDE - 1) as f64).collect()
}

/// Scores that cut the documents into equal parts.
fn levels(scores: &[f64]) -> Vec<f64> {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut levels: Vec<f64> = (1..PARTS).filter_map(|i| sorted.get(i * sorted.len() / PARTS).copied()).collect();
    levels.dedup();
    levels
}
