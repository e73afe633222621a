//! A graph and its scores as the sums over matchings want them: rows are the greater side, columns the lesser one, and
//! no weight is above 1.

use super::assignment;
use super::graph::Graph;
use crate::error::{Error, Result};

/// The weights of a graph, divided by optimal duals.
///
/// ```text
/// weight = exp(w_ij − a_i − b_j),   stay = exp(null_i − a_i),   out = exp(null_j − b_j),   all of them ≤ 1
/// ```
///
/// and the best matching has weight 1, so that the sum over all is at least 1 and nothing overflows.
#[derive(Default)]
pub(super) struct Frame {
    /// Numbers of rows and columns.
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// Where the edges of each row start.
    pub(super) starts: Vec<u32>,
    /// Of each edge the column, its number in the graph, and the weight.
    pub(super) column: Vec<u32>,
    pub(super) edge: Vec<u32>,
    pub(super) weight: Vec<f64>,
    /// The weight of each row and of each column that is not matched: 0 where it has to be.
    pub(super) stay: Vec<f64>,
    pub(super) out: Vec<f64>,
    costs: Vec<f64>,
    solver: assignment::Work,
}

/// Whether rows are right items.
pub(super) fn turned(graph: &Graph) -> bool {
    graph.left() < graph.right()
}

/// Refuses scores that are not finite, and tables of another length.
pub(super) fn check(graph: &Graph, s: &[f64], marginals: &[f64]) -> Result<()> {
    assert_eq!(s.len(), graph.table(), "scores of the graph");
    assert_eq!(marginals.len(), graph.table(), "marginals of the graph");
    if s.iter().all(|s| s.is_finite()) { Ok(()) } else { Err(Error::NotFinite { what: "a score" }) }
}

/// Writes the marginals of unmatched rows and columns, where the graph has a place for them.
pub(super) fn write_nulls(graph: &Graph, stay: &[f64], out: &[f64], marginals: &mut [f64]) {
    if graph.null() {
        let nulls = &mut marginals[graph.edges()..];
        let (first, second) = if turned(graph) { (out, stay) } else { (stay, out) };
        nulls[..first.len()].copy_from_slice(first);
        nulls[first.len()..].copy_from_slice(second);
    }
}

impl Frame {
    /// Lays out the edges and finds the weights; `Σa + Σb`. O(columns² · rows).
    pub(super) fn set(&mut self, graph: &Graph, s: &[f64]) -> Result<f64> {
        let turned = turned(graph);
        (self.rows, self.cols) = if turned { (graph.right(), graph.left()) } else { (graph.left(), graph.right()) };
        let (n, k, null) = (self.rows, self.cols, graph.null());
        let row_null = |i: usize| if turned { graph.right_null(s, i) } else { graph.left_null(s, i) };
        let column_null = |j: usize| if turned { graph.left_null(s, j) } else { graph.right_null(s, j) };
        self.starts.clear();
        self.starts.push(0);
        self.column.clear();
        self.edge.clear();
        for i in 0..n {
            if turned {
                self.edge.extend(graph.of_right(i));
                self.column.extend(graph.of_right(i).iter().map(|&e| graph.ends(e as usize).0 as u32));
            } else {
                self.edge.extend(graph.of_left(i).map(|e| e as u32));
                self.column.extend(graph.of_left(i).map(|e| graph.ends(e).1 as u32));
            }
            self.starts.push(self.edge.len() as u32);
        }
        // Columns choose rows. With null what an edge gains over two items that stay, or nothing; a row too many keeps
        // the prices of both sides from being negative.
        let width = if null { n.max(k + 1) } else { n };
        self.costs.clear();
        self.costs.resize(k * width, if null { 0.0 } else { f64::INFINITY });
        for i in 0..n {
            for at in self.of_row(i) {
                let (j, w) = (self.column[at] as usize, s[self.edge[at] as usize]);
                self.costs[j * width + i] = if null { (row_null(i) + column_null(j) - w).min(0.0) } else { -w };
            }
        }
        let best =
            assignment::solve_with_bids(&self.costs, k, width, &mut self.solver).map_err(|error| match error {
                Error::Infeasible { index, .. } => {
                    Error::Infeasible { side: if turned { "row" } else { "column" }, index }
                }
                other => other,
            })?;
        let (a, b) = (best.column_dual, best.row_dual);
        let free = null || n > k;
        self.stay.clear();
        self.stay.extend(a[..n].iter().map(|a| if free { a.min(0.0).exp() } else { 0.0 }));
        self.out.clear();
        self.out.extend(b.iter().map(|b| if null { b.min(0.0).exp() } else { 0.0 }));
        self.weight.clear();
        for (i, a) in a[..n].iter().enumerate() {
            for at in self.starts[i] as usize..self.starts[i + 1] as usize {
                let j = self.column[at] as usize;
                let gain = s[self.edge[at] as usize] - if null { row_null(i) + column_null(j) } else { 0.0 };
                self.weight.push((gain + (a + b[j])).exp());
            }
        }
        let nulls: f64 = (0..n).map(row_null).sum::<f64>() + (0..k).map(column_null).sum::<f64>();
        Ok(nulls - a[..n].iter().sum::<f64>() - b.iter().sum::<f64>())
    }

    /// The edges of a row.
    pub(super) fn of_row(&self, i: usize) -> std::ops::Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }
}
