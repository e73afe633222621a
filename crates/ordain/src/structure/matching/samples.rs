//! Matchings that were drawn, and what they say about the law that they were drawn from.

use super::graph::Graph;

/// Matchings that were drawn, each an ascending list of edges, with log-weights.
///
/// A log-weight is the logarithm of target over proposal, up to one constant: all are equal where samples are exact, or
/// come from a chain.
///
/// ```
/// use ordain::structure::matching::graph::Graph;
/// use ordain::structure::matching::samples::Samples;
/// let graph = Graph::new(1, 2, &[(0, 0), (0, 1)], false)?;
/// let mut samples = Samples::default();
/// samples.push(&[0], 0.0);
/// samples.push(&[1], 3f64.ln());
/// let mut p = [0.0; 2];
/// samples.marginals(&graph, &mut p);
/// assert!((p[1] - 0.75).abs() < 1e-15 && (samples.effective() - 1.6).abs() < 1e-12); // 4² / (1² + 3²)
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    edges: Vec<u32>,
    ends: Vec<usize>,
    log_weight: Vec<f64>,
    /// The estimate of the log-partition function, where the sampler has one.
    pub log_z: Option<f64>,
    /// How many independent samples one of these is worth: 1, and less for those of a chain.
    pub worth: f64,
}

impl Default for Samples {
    fn default() -> Self {
        Self { edges: vec![], ends: vec![], log_weight: vec![], log_z: None, worth: 1.0 }
    }
}

impl Samples {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The edges of one of them, ascending.
    pub fn get(&self, k: usize) -> &[u32] {
        &self.edges[if k == 0 { 0 } else { self.ends[k - 1] }..self.ends[k]]
    }

    /// The log-weight of one of them.
    pub fn log_weight(&self, k: usize) -> f64 {
        self.log_weight[k]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|k| self.get(k))
    }

    /// Adds one, in any order of its edges.
    pub fn push(&mut self, matching: &[u32], log_weight: f64) {
        let start = self.edges.len();
        self.edges.extend_from_slice(matching);
        self.edges[start..].sort_unstable();
        self.ends.push(self.edges.len());
        self.log_weight.push(log_weight);
    }

    /// Forgets all of them, and keeps the memory.
    pub fn clear(&mut self) {
        self.edges.clear();
        self.ends.clear();
        self.log_weight.clear();
        (self.log_z, self.worth) = (None, 1.0);
    }

    /// Weights that add up to 1, one by one.
    fn weights(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        let top = self.log_weight.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = self.log_weight.iter().map(|w| (w - top).exp()).sum();
        self.log_weight.iter().map(move |w| (w - top).exp() / sum)
    }

    /// The share of the samples, by weight, that have each edge and each null: a table. Zeros where there are no samples.
    pub fn marginals(&self, graph: &Graph, out: &mut [f64]) {
        out.fill(0.0);
        for (matching, weight) in self.iter().zip(self.weights()) {
            matching.iter().for_each(|&e| out[e as usize] += weight);
        }
        if !self.is_empty() {
            graph.write_rest(out);
            out[graph.edges()..].iter_mut().for_each(|p| *p = p.max(0.0));
        }
    }

    /// The effective sample size: independent samples of equal weight that are worth as much.
    ///
    /// ```text
    /// (Σ w)² / Σ w²
    /// ```
    pub fn effective(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.worth / self.weights().map(|w| w * w).sum::<f64>() }
    }

    /// The largest standard error of the marginal of an edge; infinite without samples.
    ///
    /// ```text
    /// error² = Σ_k w_k² (1[e in y_k] − P_e)²
    /// ```
    pub fn standard_error(&self, graph: &Graph, marginals: &[f64]) -> f64 {
        if self.is_empty() {
            return f64::INFINITY;
        }
        let squares: f64 = self.weights().map(|w| w * w).sum();
        let mut variance: Vec<f64> = marginals[..graph.edges()].iter().map(|p| p * p * squares).collect();
        for (matching, w) in self.iter().zip(self.weights()) {
            for &e in matching {
                variance[e as usize] += w * w * (1.0 - 2.0 * marginals[e as usize]);
            }
        }
        (variance.into_iter().fold(0.0, f64::max) / self.worth).sqrt()
    }
}
