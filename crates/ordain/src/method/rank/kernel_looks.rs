//! Scaling, width and λ of a kernel by successive halving: many points of the grid on few documents, few points on many.
//!
//! A point is judged by the machine on *landmarks*, a few core documents that are the same for all widths and λ, so that distances
//! are found once for each scaling, features once for each width, and each λ starts from the one before. What is chosen is then
//! fitted by the method itself.

use crate::data::scale::{Scale, Scaling};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::matrix::dot_rows;
use crate::method::CoreFacts;
use crate::method::rank::core_documents::{Block, Course, Fitting, Landmarks, apart};
use crate::method::rank::kernel_search::{
    GridPoint, KernelFit, KernelLearner, KernelProblem, Outcome, PATIENCE, Point, Search, Stage, Units, smoothest,
};
use crate::metric;
use crate::scorer::rows::Rows;
use crate::task::{Candidate, Inputs};
use std::ops::Range;

/// One look at a part of the grid.
#[derive(Clone, Copy)]
struct Look {
    /// Training documents.
    documents: usize,
    /// Landmarks; none where the fits are the method's own.
    core: Option<usize>,
    /// Scalings that are left after it.
    scales: usize,
}

/// The look at the whole grid.
const FIRST: Look = Look { documents: 1000, core: Some(64), scales: 2 };
/// A look on the way.
const SECOND: Look = Look { documents: 4000, core: Some(128), scales: 1 };
/// The last look by landmarks.
const LAST: Look = Look { documents: 16_000, core: Some(200), scales: 1 };
/// The last look by own fits.
const OWN: Look = Look { documents: 4000, core: None, scales: 1 };

/// The looks at so many documents.
///
/// By landmarks the second is left out where the last has no more documents. By own fits it is there to leave one scaling for
/// the last; without it, where the first look has seen all documents, the first does so.
fn looks(documents: usize, own: bool) -> Vec<Look> {
    match own {
        true if documents <= FIRST.documents => vec![Look { scales: 1, ..FIRST }, OWN],
        true => vec![FIRST, SECOND, OWN],
        false if documents <= SECOND.documents => vec![FIRST, LAST],
        false => vec![FIRST, SECOND, LAST],
    }
}

/// Validation documents that are scored; of more, queries are left out evenly.
const VALID: usize = 32_000;
/// The norm of the gradient at which a fit stops, relative to the one at zero: at weak ridges a rough fit would not leave the
/// one before.
const TOL: f64 = 1e-5;
/// The most Newton steps of one fit.
const STEPS: usize = 100;

/// A box of the grid of one scaling.
#[derive(Clone, Debug, PartialEq)]
struct Area {
    scale: usize,
    widths: Range<usize>,
    steps: Range<usize>,
}

impl Area {
    /// A point with its neighbours.
    fn around([scale, width, step]: [usize; 3], [widths, steps]: [usize; 2]) -> Self {
        let near = |at: usize, most: usize| at.saturating_sub(1)..(at + 2).min(most);
        Self { scale, widths: near(width, widths), steps: near(step, steps) }
    }

    /// The same with the neighbours of a point of it; whether they were in it already.
    fn stretch(&mut self, at: [usize; 3], sizes: [usize; 2]) -> bool {
        let Self { widths, steps, .. } = Self::around(at, sizes);
        let old = self.clone();
        self.widths = old.widths.start.min(widths.start)..old.widths.end.max(widths.end);
        self.steps = old.steps.start.min(steps.start)..old.steps.end.max(steps.end);
        *self == old
    }
}

/// What the looks came to.
pub(super) struct Seen {
    /// The point to take.
    pub(super) at: Option<Point>,
    /// The fit of the highest value, for a search that is interrupted.
    pub(super) best: Option<Outcome>,
    /// All that was tried, each point with its last value.
    pub(super) tried: Vec<Candidate>,
    /// Validation queries.
    pub(super) valid: usize,
}

/// The grid, and the data it is seen on.
pub(super) struct Grid<'a> {
    pub(super) scales: &'a [Scale],
    pub(super) widths: &'a [f64],
    pub(super) lambdas: &'a [f64],
    pub(super) train: Units<'a>,
    pub(super) valid: Units<'a>,
    /// The most core documents.
    pub(super) core: usize,
}

/// Looks at the grid until one point is left.
///
/// The first look is at all points, on up to 1,000 documents, and leaves the best point of the two best scalings. The later ones are at a
/// point with its neighbours in width and λ, and further where the best is at the edge, on up to 4,000 and 16,000 documents, and leave the
/// best point. The best is that of [`smoothest`]. Where only some documents are looked at, each query lends an even part of each grade.
///
/// Where the number of core documents of a fit depends on the point, as in a ball, the last look is by fits of the method.
pub(super) fn look<L: KernelLearner>(search: &Search<'_, L>, grid: &Grid<'_>) -> Result<Seen> {
    let (set, units) = grid.train;
    let documents: usize = units.iter().map(|&q| set.span(q as usize).len()).sum();
    let valid = some_queries(grid.valid);
    let grid = Grid { valid: (grid.valid.0, &valid), ..*grid };
    let sizes = [grid.widths.len(), grid.lambdas.len()];
    let mut areas: Vec<Area> =
        (0..grid.scales.len()).map(|scale| Area { scale, widths: 0..sizes[0], steps: 0..sizes[1] }).collect();
    let mut points: Vec<([usize; 3], Candidate)> = vec![];
    let mut seen = Seen { at: None, best: None, tried: vec![], valid: valid.len() };
    let looks = looks(documents, search.learner.ends_with_own());
    for (round, &look) in looks.iter().enumerate() {
        let mut eye = Eye { search, grid: &grid, look, round, found: vec![], best: None };
        let mut done = Ok(true);
        for area in &mut areas {
            done = eye.explore(area);
            if !matches!(done, Ok(true)) {
                break;
            }
        }
        for &(point, at, value) in &eye.found {
            let candidate = Candidate::new(point.settings(search.form()), value);
            match points.iter_mut().find(|(old, _)| *old == at) {
                Some((_, old)) => *old = candidate,
                None => points.push((at, candidate)),
            }
        }
        seen.best = eye.best.or(seen.best);
        match done {
            Ok(true) => {}
            Ok(false) => break,
            Err(Error::Interrupted) if seen.best.is_some() => break,
            Err(error) => return Err(error),
        }
        let mut best: Vec<([usize; 3], Point, f64)> = areas
            .iter()
            .filter_map(|area| {
                let own: Vec<GridPoint> = eye.found.iter().filter(|(_, at, _)| at[0] == area.scale).copied().collect();
                smoothest(&own)
            })
            .collect();
        // a stable sort: of equals the first stays the first
        best.sort_by(|a, b| b.2.total_cmp(&a.2));
        best.truncate(look.scales);
        areas = best.iter().map(|(at, ..)| Area::around(*at, sizes)).collect();
        seen.at = best.first().map(|(_, point, _)| *point);
    }
    seen.tried = points.into_iter().map(|(_, candidate)| candidate).collect();
    Ok(seen)
}

/// Queries with at most so many documents, evenly taken.
fn some_queries((set, units): Units) -> Vec<u32> {
    let documents: usize = units.iter().map(|&q| set.span(q as usize).len()).sum();
    let step = documents.div_ceil(VALID).max(1);
    units.iter().copied().step_by(step).collect()
}

/// One look.
struct Eye<'a, L> {
    search: &'a Search<'a, L>,
    grid: &'a Grid<'a>,
    look: Look,
    round: usize,
    found: Vec<GridPoint>,
    best: Option<Outcome>,
}

/// What a look at one scaling needs: documents, and what their kernels are made of.
struct Ground<'a> {
    scale: Scale,
    scaling: Scaling,
    stage: &'a Stage,
    blocks: &'a [Block<'a>],
    /// The kernel of width 1.
    unit: Kernel,
    /// Landmarks, and what their kernel with validation documents is made of.
    landmarks: Option<(Landmarks, Vec<f32>)>,
}

/// What serves all λ of one width: the machine on landmarks and the kernel of validation documents with them, or the carry of own fits.
enum Width<'a, C> {
    Landmarks(Box<Course<'a>>, Vec<f32>),
    Own(C),
}

impl<L: KernelLearner> Eye<'_, L> {
    /// Tries the points of an area, and of later looks those beside it while the best is at its edge; whether nobody stopped it.
    fn explore(&mut self, area: &mut Area) -> Result<bool> {
        let Self { search, grid, look, round, .. } = *self;
        let (train, scale) = (grid.train, grid.scales[area.scale]);
        let scaling = Scaling::learn(scale, train.0, train.1);
        let stage = Stage::new(search.learner, train, &scaling, look.documents)?;
        let (blocks, unit) = (stage.blocks(), stage.kernel(search.shape(), 1.0)?);
        let landmarks = match look.core {
            Some(most) => Some(self.landmarks(&blocks[0], &unit, most, (scale, &scaling))?),
            None => None,
        };
        let ground = Ground { scale, scaling, stage: &stage, blocks: &blocks, unit, landmarks };
        let sizes = [grid.widths.len(), grid.lambdas.len()];
        let mut widths: Vec<Option<Width<L::Carry>>> = (0..sizes[0]).map(|_| None).collect();
        loop {
            for width in area.widths.clone() {
                let (mut best_here, mut since) = (f64::NEG_INFINITY, 0);
                for step in area.steps.clone() {
                    let at = [area.scale, width, step];
                    if self.found.iter().any(|(_, old, _)| *old == at) {
                        continue;
                    }
                    let value = self.try_one(&ground, at, &mut widths[width])?;
                    if search.watch.stopped() {
                        return Ok(false);
                    }
                    since = if value > best_here { 0 } else { since + 1 };
                    best_here = best_here.max(value);
                    if round == 0 && since > PATIENCE {
                        break;
                    }
                }
            }
            let own: Vec<GridPoint> = self.found.iter().filter(|(_, at, _)| at[0] == area.scale).copied().collect();
            match smoothest(&own) {
                Some((at, ..)) if round > 0 && !area.stretch(at, sizes) => {}
                _ => return Ok(true),
            }
        }
    }

    /// Landmarks of a block, and what their kernel with validation documents is made of.
    fn landmarks(
        &self,
        block: &Block,
        unit: &Kernel,
        most: usize,
        (scale, scaling): (Scale, &Scaling),
    ) -> Result<(Landmarks, Vec<f32>)> {
        let (data, (set, units)) = (self.search.data, self.grid.valid);
        let landmarks = Landmarks::new(block, unit, most.min(self.grid.core))?;
        let inputs = Inputs::new(&data.set.columns, &data.filled, scale, scaling.global());
        let of_valid = inputs.scaling(set, units);
        let rows = Rows::new(set, units, &of_valid);
        let docs: Vec<f32> = (0..units.len()).flat_map(|n| rows.dense(n)).collect();
        let near = apart(unit, &docs, &landmarks.docs, block.d);
        Ok((landmarks, near))
    }

    /// Fits at a point and notes its value.
    fn try_one<'g>(
        &mut self,
        ground: &Ground<'g>,
        at: [usize; 3],
        width: &mut Option<Width<'g, L::Carry>>,
    ) -> Result<f64> {
        let (search, grid, scale) = (self.search, self.grid, ground.scale);
        let point = Point { scale, gamma: grid.widths[at[1]], lambda: grid.lambdas[at[2]] };
        self.tell(point);
        let kernel = Kernel { gamma: ground.unit.gamma * point.gamma, ..ground.unit };
        let kept = self.best.is_some() || self.round > 0;
        let (fit, value) = match &ground.landmarks {
            Some((landmarks, near)) => {
                let (watch, lambda) = (search.watch, point.lambda);
                let hinge = search.learner.hinge();
                let how = Fitting { kernel, lambda, tol: TOL, max_iter: STEPS, watch, kept, hinge };
                if width.is_none() {
                    let mut values = near.clone();
                    kernel.of_apart(&mut values);
                    let course = Box::new(landmarks.course(&ground.blocks[0], &how)?);
                    *width = Some(Width::Landmarks(course, values));
                }
                let Some(Width::Landmarks(course, values)) = width else { return Ok(f64::NEG_INFINITY) };
                let (fit, coefficients) = course.go(&how, landmarks)?;
                let (report, documents) = (fit.report, fit.documents.len());
                let core = CoreFacts { documents, pairs: None, f: None, certificate: None };
                (KernelFit { fits: vec![fit], report, core }, Some(self.value(values, &coefficients)?))
            }
            None => {
                let (blocks, pairs, seed) = (ground.blocks, ground.stage.pairs, search.data.seed);
                let problem = KernelProblem { kernel, blocks, lambda: point.lambda, pairs, seed, choosing: true, kept };
                let carry = width.get_or_insert_with(|| Width::Own(L::Carry::default()));
                let Width::Own(carry) = carry else { return Ok(f64::NEG_INFINITY) };
                (search.learner.solve(&problem, carry, None, search.watch)?, None)
            }
        };
        let ranker = || search.ranker(ground.stage.expansion(kernel, &fit.fits), scale, &ground.scaling);
        let value = match value {
            Some(value) => value,
            None => search.value(&ranker(), grid.valid)?,
        };
        self.found.push((point, at, value));
        if self.best.as_ref().is_none_or(|best| search.by.better(value, best.value)) {
            self.best = Some(Outcome { at: point, value, ranker: ranker(), fit });
        }
        Ok(value)
    }

    /// What scores by landmarks are worth on validation documents.
    fn value(&self, values: &[f32], coefficients: &[f64]) -> Result<f64> {
        let (set, units) = self.grid.valid;
        let m = coefficients.len().max(1);
        let mut own = vec![0.0; values.len() / m];
        dot_rows(values, m, coefficients, &mut own);
        let (mut scores, mut at) = (vec![0.0; set.rows()], 0);
        for span in units.iter().map(|&q| set.span(q as usize)) {
            let len = span.len();
            scores[span].copy_from_slice(&own[at..at + len]);
            at += len;
        }
        Ok(metric::evaluate(set, units, &scores, &[self.search.by], &self.search.data.convention)?.mean(0))
    }

    /// Says what is tried, and about how much of the looks is behind it.
    fn tell(&self, at: Point) {
        let Grid { scales, widths, lambdas, .. } = *self.grid;
        let all = if self.round == 0 { scales.len() * widths.len() * lambdas.len() } else { 9 };
        let part = (self.found.len() as f64 / all as f64).min(1.0);
        let what = format!("choosing: scale={} gamma={} lambda={}", at.scale.name(), at.gamma, at.lambda);
        (self.search.watch.tell)((self.round as f64 + part) / 3.1, &what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_look_is_made_and_the_first_is_cheap() {
        for documents in [5, 1000, 1001, 4000, 4001, 1_000_000] {
            for own in [false, true] {
                let looks = looks(documents, own);
                assert!(looks[0].documents == 1000 && looks[0].core == Some(64));
                assert!(looks.windows(2).all(|two| two[0].documents <= two[1].documents));
                assert!(looks.last().is_some_and(|last| last.core.is_none() == own && last.scales == 1));
                // own fits are made for one scaling only
                assert!(!own || looks[looks.len() - 2].scales == 1);
            }
        }
    }

    #[test]
    fn areas_stretch_to_what_is_beside_the_best() {
        let mut area = Area::around([1, 0, 3], [6, 8]);
        assert_eq!(area, Area { scale: 1, widths: 0..2, steps: 2..5 });
        assert!(area.stretch([1, 0, 3], [6, 8]));
        assert!(!area.stretch([1, 1, 4], [6, 8]));
        assert_eq!(area, Area { scale: 1, widths: 0..3, steps: 2..6 });
        assert!(!area.stretch([1, 2, 2], [6, 8]) && area.stretch([1, 2, 2], [6, 8]));
        let mut one = Area::around([0, 0, 0], [1, 1]);
        assert!(one == Area { scale: 0, widths: 0..1, steps: 0..1 } && one.stretch([0, 0, 0], [1, 1]));
    }
}
