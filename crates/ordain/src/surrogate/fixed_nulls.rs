//! The likelihood of matchings as a function of the scores of edges alone.

use crate::error::Result;
use crate::structure::matching::engine;
use crate::surrogate::matching::MatchLikelihood;
use crate::traits::Surrogate;

/// [`MatchLikelihood`] of the scores of edges alone, where every item that stays unmatched has one and the same score.
///
/// A null that is learned beside them is a shift of all edges: matching i with j instead of leaving both alone adds `s_ij − 2·null`.
///
/// ```
/// use ordain::structure::matching::{Engine, graph::Graph};
/// use ordain::surrogate::{fixed_nulls::FixedNulls, matching::{Case, MatchLikelihood}};
/// use ordain::traits::Surrogate;
/// let cases = [Case::new(Graph::new(1, 1, &[(0, 0)], true)?, &[0], &[])?]; // one edge, and it is right
/// let likelihood = MatchLikelihood { cases: &cases, engines: vec![Engine::Exact] };
/// let (mut d, mut h) = ([0.0], [0.0]);
/// let value = FixedNulls { likelihood, null: 0.5 }.diagonal(0, &[1.0], &mut d, &mut h, &mut Default::default())?;
/// assert!((value.unwrap_or(0.0) - 2f64.ln()).abs() < 1e-12); // matched or not: both score 1
/// assert!((d[0] + 0.5).abs() < 1e-12 && (h[0] - 0.25).abs() < 1e-12);
/// # Ok::<(), ordain::Error>(())
/// ```
pub struct FixedNulls<'a> {
    /// The likelihood of whole tables.
    pub likelihood: MatchLikelihood<'a>,
    /// The score of an item that stays unmatched.
    pub null: f64,
}

/// Scratch of [`FixedNulls`]: tables of scores, slopes and variances.
#[derive(Default)]
pub struct FixedWork {
    engine: engine::Work,
    s: Vec<f64>,
    d: Vec<f64>,
    h: Vec<f64>,
}

impl Surrogate for FixedNulls<'_> {
    type Work = FixedWork;

    fn len(&self) -> usize {
        self.likelihood.len()
    }

    fn bends(&self) -> bool {
        false
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut FixedWork) -> Result<f64> {
        let FixedWork { engine, s: table, d: slopes, .. } = work;
        self.fill(n, s, table, slopes);
        let value = self.likelihood.value(n, table, slopes, engine)?;
        d.copy_from_slice(&slopes[..s.len()]);
        Ok(value)
    }

    fn diagonal(&self, n: usize, s: &[f64], d: &mut [f64], h: &mut [f64], work: &mut FixedWork) -> Result<Option<f64>> {
        let FixedWork { engine, s: table, d: slopes, h: table_h } = work;
        self.fill(n, s, table, slopes);
        table_h.resize(table.len(), 0.0);
        let value = self.likelihood.diagonal(n, table, slopes, table_h, engine)?;
        d.copy_from_slice(&slopes[..s.len()]);
        h.copy_from_slice(&table_h[..s.len()]);
        Ok(value)
    }
}

impl FixedNulls<'_> {
    /// The whole table of problem `n`, and room for its slopes.
    fn fill(&self, n: usize, s: &[f64], table: &mut Vec<f64>, d: &mut Vec<f64>) {
        table.clear();
        table.extend_from_slice(s);
        table.resize(self.likelihood.cases[n].graph.table(), self.null);
        d.resize(table.len(), 0.0);
    }
}
