//! The edges between two sides, and who may stay unmatched.

use crate::error::{Error, Result};

/// Two sides, the edges that may be matched, and whether items may stay unmatched at a price.
///
/// Scores, marginals, losses and matchings are *tables* of one shape: a number per edge, ascending by left, then by right
/// item; where `null` holds, a number for each left and then for each right item that stays unmatched follows.
///
/// ```text
/// score(y) = Σ_{edges in y} s_e + Σ_{left items not in y} s_{E+i} + Σ_{right items not in y} s_{E+n+j}
/// ```
///
/// Without `null` every item of the lesser side is matched (on both sides, where they are as large), and those left over on
/// the greater side cost nothing.
///
/// ```
/// use ordain::structure::matching::graph::Graph;
/// let graph = Graph::new(2, 2, &[(0, 0), (0, 1), (1, 1)], true)?; // edge 1 - 0 is forbidden
/// assert_eq!((graph.edges(), graph.table()), (3, 3 + 2 + 2));
/// assert_eq!((graph.of_left(0), graph.of_right(1)), (0..2, &[1, 2][..]));
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    left: usize,
    right: usize,
    null: bool,
    starts: Vec<u32>,
    ends: Vec<(u32, u32)>,
    right_starts: Vec<u32>,
    right_edges: Vec<u32>,
}

impl Graph {
    /// A graph of edges that ascend by left, then by right item.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] where an edge leads nowhere, stands twice or out of order.
    pub fn new(left: usize, right: usize, edges: &[(u32, u32)], null: bool) -> Result<Self> {
        let inside = edges.iter().all(|&(i, j)| (i as usize) < left && (j as usize) < right);
        if !inside || !edges.windows(2).all(|pair| pair[0] < pair[1]) || edges.len() >= u32::MAX as usize {
            return Err(Error::Data {
                expected: format!("edges between {left} left and {right} right items, ascending, each once"),
                found: "others".into(),
            });
        }
        let mut starts = vec![0; left + 1];
        let mut right_starts = vec![0; right + 1];
        for &(i, j) in edges {
            starts[i as usize + 1] += 1;
            right_starts[j as usize + 1] += 1;
        }
        for starts in [&mut starts, &mut right_starts] {
            (1..starts.len()).for_each(|k| starts[k] += starts[k - 1]);
        }
        let mut next = right_starts.clone();
        let mut right_edges = vec![0; edges.len()];
        for (e, &(_, j)) in (0u32..).zip(edges) {
            right_edges[next[j as usize] as usize] = e;
            next[j as usize] += 1;
        }
        Ok(Self { left, right, null, starts, ends: edges.to_vec(), right_starts, right_edges })
    }

    /// Number of left items.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Number of right items.
    pub fn right(&self) -> usize {
        self.right
    }

    /// Number of items of the lesser side.
    pub fn lesser(&self) -> usize {
        self.left.min(self.right)
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.ends.len()
    }

    /// Whether any item may stay unmatched, at a price of its own.
    pub fn null(&self) -> bool {
        self.null
    }

    /// Whether left items may stay unmatched: at a price, or for nothing where there are more of them than right items.
    pub fn left_may_stay(&self) -> bool {
        self.null || self.left > self.right
    }

    /// The same of right items.
    pub fn right_may_stay(&self) -> bool {
        self.null || self.right > self.left
    }

    /// Whether every left item may be matched with every right item.
    pub fn is_complete(&self) -> bool {
        self.ends.len() == self.left * self.right
    }

    /// Length of a table: edges, and with `null` all items.
    pub fn table(&self) -> usize {
        self.ends.len() + if self.null { self.left + self.right } else { 0 }
    }

    /// The ends of an edge.
    pub fn ends(&self, edge: usize) -> (usize, usize) {
        let (i, j) = self.ends[edge];
        (i as usize, j as usize)
    }

    /// The edges of a left item.
    pub fn of_left(&self, i: usize) -> std::ops::Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }

    /// The edges of a right item, by ascending left item.
    pub fn of_right(&self, j: usize) -> &[u32] {
        &self.right_edges[self.right_starts[j] as usize..self.right_starts[j + 1] as usize]
    }

    /// The score of a left item that stays unmatched: 0 without `null`.
    pub fn left_null(&self, s: &[f64], i: usize) -> f64 {
        if self.null { s[self.ends.len() + i] } else { 0.0 }
    }

    /// The score of a right item that stays unmatched: 0 without `null`.
    pub fn right_null(&self, s: &[f64], j: usize) -> f64 {
        if self.null { s[self.ends.len() + self.left + j] } else { 0.0 }
    }

    /// The table of a matching, given by its edges: 1 at each, and at each item that it leaves out; 0 elsewhere.
    pub fn write(&self, matching: &[u32], table: &mut [f64]) {
        let (edges, nulls) = table.split_at_mut(self.ends.len());
        edges.fill(0.0);
        nulls.fill(1.0);
        for &e in matching {
            edges[e as usize] = 1.0;
            let (i, j) = self.ends(e as usize);
            if self.null {
                nulls[i] = 0.0;
                nulls[self.left + j] = 0.0;
            }
        }
    }

    /// Writes to a table of probabilities, with `null`, what its edges leave to every item that stays unmatched.
    pub fn write_rest(&self, table: &mut [f64]) {
        if self.null {
            let (edges, nulls) = table.split_at_mut(self.ends.len());
            nulls.fill(1.0);
            for (p, &(i, j)) in edges.iter().zip(&self.ends) {
                nulls[i as usize] -= p;
                nulls[self.left + j as usize] -= p;
            }
        }
    }

    /// The score of a matching, given by its edges.
    pub fn score(&self, s: &[f64], matching: &[u32]) -> f64 {
        let mut sum: f64 = matching.iter().map(|&e| s[e as usize]).sum();
        if self.null {
            sum += s[self.ends.len()..].iter().sum::<f64>();
            for &e in matching {
                let (i, j) = self.ends(e as usize);
                sum -= self.left_null(s, i) + self.right_null(s, j);
            }
        }
        sum
    }
}
