//! One score per edge of a problem, and one for every item that stays unmatched.

use super::rows::{Rows, Work};
use crate::data::Groups;
use crate::data::scale::Scaling;
use crate::pieces::Pieces;
use crate::traits::Scorer;
use std::ops::Range;

/// What the score of an unmatched item is in units of its parameter: the ridge hardly touches it.
pub const NULL_UNIT: f64 = 10.0;

/// `s_e = ⟨θ, x_e⟩` for the edges of some problems, \[EFM\] Eq. (10), as [`Rows`] has it; with nulls each item that stays unmatched
/// scores `10·θ_d`, with one more parameter. The table of a problem is that of
/// [`Graph`](crate::structure::matching::graph::Graph).
///
/// One parameter serves both sides: an edge more is an unmatched item less on either side, so that only the sum of two would count.
pub struct Edges<'a> {
    rows: Rows<'a>,
    /// Where the table of each problem ends, and the number of its edges.
    ends: Vec<(usize, usize)>,
    cols: usize,
    null: bool,
}

impl<'a> Edges<'a> {
    /// The edges of the problems `units`; `items` are the numbers of items of both sides together, where they may stay unmatched.
    pub fn new(
        set: impl Into<Groups<'a>>,
        units: &'a [u32],
        scaling: &'a Scaling,
        items: Option<&dyn Fn(u32) -> usize>,
    ) -> Self {
        let set = set.into();
        let ends = units.iter().scan(0, |end, &p| {
            let edges = set.span(p as usize).len();
            *end += edges + items.map_or(0, |items| items(p));
            Some((*end, edges))
        });
        let (ends, cols, null) = (ends.collect(), set.features.cols(), items.is_some());
        Self { rows: Rows::new(set, units, scaling), ends, cols, null }
    }
}

impl Scorer for Edges<'_> {
    type Work = Work;

    fn dim(&self) -> usize {
        self.cols + usize::from(self.null)
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn span(&self, n: usize) -> Range<usize> {
        if n == 0 { 0..self.ends[0].0 } else { self.ends[n - 1].0..self.ends[n].0 }
    }

    fn pieces(&self) -> Pieces {
        self.rows.pieces()
    }

    fn unit(&self, n: usize) -> usize {
        self.rows.unit(n)
    }

    fn scores(&self, n: usize, theta: &[f64], s: &mut [f64], work: &mut Work) {
        let (edges, nulls) = s.split_at_mut(self.ends[n].1);
        self.rows.scores(n, &theta[..self.cols], edges, work);
        if self.null {
            nulls.fill(NULL_UNIT * theta[self.cols]);
        }
    }

    fn pull_back(&self, n: usize, d: &[f64], grad: &mut [f64], work: &mut Work) {
        let (edges, nulls) = d.split_at(self.ends[n].1);
        self.rows.pull_back(n, edges, &mut grad[..self.cols], work);
        if self.null {
            grad[self.cols] += NULL_UNIT * nulls.iter().sum::<f64>();
        }
    }

    fn matrix(&self, n: usize, out: &mut [f64]) -> bool {
        if !self.null {
            return self.rows.matrix(n, out);
        }
        let (edges, wide) = (self.ends[n].1, self.cols + 1);
        let mut narrow = vec![0.0; edges * self.cols];
        if !self.rows.matrix(n, &mut narrow) {
            return false;
        }
        out.fill(0.0);
        for (row, out) in out.chunks_exact_mut(wide).enumerate() {
            if row < edges {
                out[..self.cols].copy_from_slice(&narrow[row * self.cols..(row + 1) * self.cols]);
            } else {
                out[self.cols] = NULL_UNIT;
            }
        }
        true
    }
}
