//! Two sides, one to one: the best matching, the sum over all of them, and the probability of each edge.

pub mod assignment;
pub mod best;
pub mod bethe;
pub mod chain;
pub mod engine;
pub mod forest;
mod frame;
pub mod graph;
pub mod huber_law;
pub mod importance;
pub mod likely;
pub mod partial;
pub mod places;
pub mod pruned;
pub mod samples;
pub mod sinkhorn;
pub mod subsets;
mod support;
pub mod ties;

/// How the sum over all matchings is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// By size and weights, as [`Engine::name`] of the result tells.
    Auto,
    /// Exactly, over all subsets of the lesser side.
    Exact,
    /// Over those subsets that carry weight, with a bound on what is left out.
    Pruned,
    /// By the Bethe approximation.
    Bethe,
    /// By balancing rows and columns.
    Sinkhorn,
    /// From exact samples by the rejection of Huber and Law.
    HuberLaw,
    /// The same with the first columns drawn exactly.
    DeepAr,
    /// From weighted samples, drawn row by row.
    Importance,
    /// From a Markov chain that exchanges partners.
    Chain,
}

impl Engine {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Auto,
        Self::Exact,
        Self::Pruned,
        Self::Bethe,
        Self::Sinkhorn,
        Self::HuberLaw,
        Self::DeepAr,
        Self::Importance,
        Self::Chain,
    ];

    /// The name in options and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Exact => "exact",
            Self::Pruned => "pruned",
            Self::Bethe => "bethe",
            Self::Sinkhorn => "sinkhorn",
            Self::HuberLaw => "huber-law",
            Self::DeepAr => "deepar",
            Self::Importance => "importance",
            Self::Chain => "chain",
        }
    }

    /// Whether it goes by samples.
    pub fn draws(self) -> bool {
        matches!(self, Self::HuberLaw | Self::DeepAr | Self::Importance | Self::Chain)
    }
}

/// How near a probability is to the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// But for rounding.
    Exact,
    /// No further off than this: proved.
    Certified(f64),
    /// A standard error of about this.
    Estimated(f64),
    /// This far off in small parts of the problem, which were summed exactly as well; that is no bound.
    Seen(f64),
    /// Nobody knows how near.
    Approximate,
}

/// The sum over all matchings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    /// The log-partition function.
    pub log_z: f64,
    /// How near the marginals that came with it are to the truth.
    pub accuracy: Accuracy,
    /// How it was found.
    pub by: Engine,
}
