//! A risk whose examples are on other machines.

use super::field::Field;
use super::wire::{Question, What, torn};
use crate::error::Result;
use crate::matrix::{finite, mirror};
use crate::pieces::add_up;
use crate::traits::Risk;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The sum of what all shards say of a risk.
pub(in crate::method) struct Remote<'a, F> {
    pub(in crate::method) field: Arc<Field>,
    /// What is asked for.
    pub(in crate::method) question: F,
    /// Numbers that stand before the parameters.
    pub(in crate::method) numbers: Vec<Vec<f64>>,
    pub(in crate::method) masks: Vec<Vec<u8>>,
    pub(in crate::method) dim: usize,
    pub(in crate::method) stop: &'a AtomicBool,
    pub(in crate::method) heeds: bool,
}

impl<Q: Serialize, F: Fn(What) -> Q> Remote<'_, F> {
    /// The sum, written to `out`, and the number behind it; nothing where there is no curvature.
    fn sum(&self, what: What, [theta, v]: [&[f64]; 2], out: &mut [f64]) -> Result<Option<f64>> {
        let question = Question::Own((self.question)(what));
        let numbers: Vec<&[f64]> = self.numbers.iter().map(Vec::as_slice).chain([theta, v]).collect();
        let stop = Some(self.stop).filter(|_| self.heeds);
        let Some(sum) = Field::sum(self.field.ask(&question, &numbers, &self.masks, stop)?, 0, add_up) else {
            return Ok(None);
        };
        let sum = sum.unwrap_or_else(|| vec![0.0; out.len() + 1]);
        if sum.len() < out.len() {
            return Err(torn("a sum of another size"));
        }
        out.copy_from_slice(&sum[..out.len()]);
        Ok(Some(sum.get(out.len()).copied().unwrap_or(0.0)))
    }
}

impl<Q: Serialize, F: Fn(What) -> Q> Risk for Remote<'_, F> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        finite("the objective", self.sum(What::Value, [theta, &[]], grad)?.unwrap_or(0.0))
    }

    fn curvature(&mut self, theta: &[f64], v: &[f64], out: &mut [f64]) -> Result<bool> {
        Ok(self.sum(What::Product, [theta, v], out)?.is_some())
    }

    fn hessian(&mut self, theta: &[f64], out: &mut [f64]) -> Result<bool> {
        let there = self.sum(What::Hessian, [theta, &[]], out)?.is_some();
        mirror(out, self.dim);
        Ok(there)
    }

    fn heed(&mut self, stop: bool) {
        self.heeds = stop;
    }
}
