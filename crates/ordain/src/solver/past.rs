//! What steps have shown of the curvature.

use crate::matrix::{axpy, dot};
use std::collections::VecDeque;

/// A step: how far it went, what that did to the gradient, and the product of both.
pub(super) struct Step {
    pub(super) way: Vec<f64>,
    pub(super) change: Vec<f64>,
    pub(super) product: f64,
}

/// The last steps of a quasi-Newton method, oldest first.
#[derive(Default)]
pub(super) struct Past(pub(super) VecDeque<Step>);

impl Past {
    /// Remembers a step along which the gradient rose, as it does on a convex risk, and forgets the oldest of more than `most`.
    pub(super) fn push(&mut self, way: Vec<f64>, change: Vec<f64>, most: usize) {
        let product = dot(&way, &change);
        if product > 0.0 {
            self.0.push_back(Step { way, change, product });
        }
        if self.0.len() > most {
            self.0.pop_front();
        }
    }

    /// Multiplies `p` by the inverse curvature: `first` does so by what is known without the steps.
    ///
    /// The two loops of L-BFGS, Nocedal and Wright 2006, algorithm 7.4. O(steps · d).
    pub(super) fn apply(&self, p: &mut [f64], first: impl FnOnce(&mut [f64])) {
        let mut shares = Vec::with_capacity(self.0.len());
        for step in self.0.iter().rev() {
            let share = dot(&step.way, p) / step.product;
            axpy(-share, &step.change, p);
            shares.push(share);
        }
        first(p);
        for (step, share) in self.0.iter().zip(shares.into_iter().rev()) {
            let back = dot(&step.change, p) / step.product;
            axpy(share - back, &step.way, p);
        }
    }
}

/// `a − b`.
pub(super) fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
