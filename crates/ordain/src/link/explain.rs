//! What comparisons are worth, and why a pair is linked or not.

use super::known::Known;
use super::learn::HELD;
use super::{Candidates, Link};
use crate::data::scale::Scale;
use crate::error::Result;
use crate::method::{Match, Matcher};
use crate::metric::calibration::Calibration;
use crate::solver::run::Watch;
use crate::task::Fitted;
use std::collections::BTreeMap;

/// Why two records are linked rather than each staying alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// The ids.
    pub pair: (String, String),
    /// How likely the link is.
    pub probability: f64,
    /// What two records without anything in common have against it: minus the worth of both staying alone, as log-odds.
    pub alone: f64,
    /// What each comparison adds, with its value, as log-odds: the largest first.
    pub parts: Vec<(String, f32, f64)>,
    /// The sum of all this: the log-odds of the link against both staying alone.
    pub sum: f64,
}

/// Offset and worth of a unit of every column, as log-odds; nothing of models that are not linear.
fn slopes(matcher: &Matcher) -> Option<(Vec<f32>, Vec<f64>)> {
    let (weights, t) = (matcher.score.weights(), matcher.temperature.unwrap_or(1.0));
    if !matcher.score.is_linear() || matches!(matcher.inputs.scale, Scale::Query | Scale::Minmax) {
        return None;
    }
    let (offset, factor) = match &matcher.inputs.global {
        Some(affine) => (affine.offset.clone(), affine.factor.clone()),
        None => (vec![0.0; weights.len()], vec![1.0; weights.len()]),
    };
    let worth = weights.iter().zip(&factor).map(|(w, &factor)| w * f64::from(factor) / t).collect();
    Some((offset, worth))
}

impl Candidates<'_> {
    /// What each comparison is worth to a model: by how much the log-odds of a link rise when it goes from 0 to 1; the largest first. Empty if that is not one number.
    pub fn worth(&self, fitted: &Fitted<Match>) -> Vec<(String, f64)> {
        let Some((_, worth)) = slopes(&fitted.model) else { return vec![] };
        let mut all: Vec<(String, f64)> = self.set.columns.names.iter().cloned().zip(worth).collect();
        all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        all
    }

    /// Why a link stands, against both records staying alone; nothing of records alone, of pairs that are no candidates, and of models that are not linear.
    pub fn why(&self, fitted: &Fitted<Match>, link: &Link) -> Option<Why> {
        let (offset, worth) = slopes(&fitted.model)?;
        let place = |ids: &[String], id: &Option<String>| ids.iter().position(|own| Some(own) == id.as_ref());
        let pair = (place(&self.left.ids, &link.left)? as u32, place(&self.right.ids, &link.right)? as u32);
        let row = self.pairs.binary_search(&pair).ok()?;
        let mut values = vec![0f32; worth.len()];
        self.set.features.each(row, |j, x| values[j] = x);
        let null = 2.0 * fitted.model.null.unwrap_or(0.0) / fitted.model.temperature.unwrap_or(1.0);
        let alone = -null - offset.iter().zip(&worth).map(|(&x, worth)| f64::from(x) * worth).sum::<f64>();
        let mut parts: Vec<(String, f32, f64)> = self
            .set
            .columns
            .names
            .iter()
            .cloned()
            .zip(values)
            .zip(&worth)
            .map(|((name, x), worth)| (name, x, f64::from(x) * worth))
            .filter(|(_, x, _)| *x != 0.0)
            .collect();
        parts.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
        let sum = alone + parts.iter().map(|part| part.2).sum::<f64>();
        let (left, right) = (link.left.clone()?, link.right.clone()?);
        Some(Why { pair: (left, right), probability: link.probability, alone, parts, sum })
    }

    /// How probabilities come true on known pairs that a fit has not seen: all candidates of the left records of one match in five. Nothing if fewer than five are known.
    pub fn calibration(&self, known: &Known, watch: &Watch) -> Result<Option<Calibration>> {
        if known.yes.len() < HELD as usize {
            return Ok(None);
        }
        let (some, held) = known.held_out();
        let said = self.said(&self.learn(&some, watch)?.model, &some)?;
        let partner: BTreeMap<u32, u32> = held.into_iter().collect();
        let mut all = Calibration::default();
        for ((i, j), probability) in self.pairs.iter().zip(&said.pair) {
            if let Some(own) = partner.get(i) {
                all.add(*probability, f64::from(u8::from(own == j)));
            }
        }
        Ok(Some(all))
    }
}
