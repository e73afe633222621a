//! The L1 Ranking SVM: ridge and the hinge of every pair, by Newton's method on hinges with rounded corners.

use crate::error::Result;
use crate::matrix::axpy;
use crate::risk::Empirical;
use crate::solver::kinks::{Descent, descend};
use crate::solver::newton::EXPLICIT;
use crate::solver::run::{Report, Watch};
use crate::surrogate::pair_band::PairBand;
use crate::surrogate::pair_hinge::PairHinge;
use crate::traits::{Risk, Scorer, Stop};

/// By so much the band becomes narrower from one problem to the next.
const NARROWER: f64 = 5.0;
/// The width where nothing is known, and where a fit begins that another one leads to.
const WIDTHS: [f64; 2] = [1.0, 0.04];
/// The narrowest band: below, differences of scores are rounding.
const LEAST: f64 = 1e-11;

/// How a fit goes.
#[derive(Clone, Copy)]
pub(super) struct HingeFit<'a> {
    /// Strength of the ridge.
    pub(super) lambda: f64,
    /// The gap at which it stops, relative to the objective.
    pub(super) tol: f64,
    /// The most Newton steps at each width.
    pub(super) max_iter: usize,
    /// Who may stop it.
    pub(super) watch: &'a Watch<'a>,
    /// How Newton's equations are solved.
    pub(super) steps: Steps,
}

/// How Newton's equations are solved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Steps {
    /// With the Hessian, as far as it is written out elsewhere.
    Usual,
    /// By products with the Hessian alone.
    Products,
    /// With the Hessian of the features of a core, which are dense and few.
    Core,
}

impl Steps {
    /// Up to how many parameters the Hessian is written out.
    fn explicit(self) -> usize {
        match self {
            Self::Usual => EXPLICIT,
            Self::Products => 0,
            Self::Core => 600,
        }
    }
}

/// Minimises `λ/2·|θ|² + Σ_n weight_n Σ_pairs (1 − s_i + s_j)₊`, \[BRM\] Eq. (3).
///
/// At each width `ω` of a falling row it minimises the same with hinges rounded over a band ([`PairBand`]), `P_ω`, from the last point, by
/// Newton's method. With `g = ∇P_ω(θ)` and the dual variables `α` that the band gives to pairs,
///
/// ```text
/// P(θ) − D(α)  ≤  P(θ) − P_ω(θ) + |g|²/(2λ)
/// ```
///
/// is a duality gap of the machine with plain hinges; it ends where that is `tol` times the objective. (D is the dual objective at
/// α; `D(α) ≥ D(α) − ω/2·Σα² = P_ω(θ) − |g|²/(2λ)` by Fenchel's equality for each pair.) Returned are the parameters with the least
/// gap, the width of their band and how it ended.
pub(super) fn minimise<C: Scorer>(
    scorer: &C,
    pairs: &PairHinge,
    weight: &[f64],
    mut theta: Vec<f64>,
    how: &HingeFit,
) -> Result<(Vec<f64>, f64, Report)> {
    let moved = theta.iter().any(|&x| x != 0.0);
    let mut width = WIDTHS[usize::from(moved)];
    let (mut iterations, mut grad) = (0, vec![0.0; scorer.dim()]);
    let mut best: Option<(f64, Vec<f64>, f64, Report)> = None;
    let mut at_zero = 0.0;
    loop {
        let band = PairBand { pairs, width };
        let mut risk = Empirical::new(scorer, &band, weight.to_vec()).stopped_by(how.watch.stop);
        if best.is_none() {
            risk.value(&vec![0.0; theta.len()], &mut grad)?;
            at_zero = risk.dot(&grad, &grad).max(0.0).sqrt();
        }
        // |g|²/(2λ) of a tenth of what the band itself may cost
        let enough = (0.1 * how.lambda * width).sqrt();
        let (lambda, max_iter, explicit) = (how.lambda, how.max_iter, how.steps.explicit());
        let descent = Descent { lambda, enough, max_iter, explicit, watch: how.watch };
        let (found, steps, ended) = descend(&mut risk, theta, &descent)?;
        theta = found;
        iterations += steps;
        let rounded = risk.value(&theta, &mut grad)?;
        axpy(lambda, &theta, &mut grad);
        let slope = risk.dot(&grad, &grad).max(0.0);
        let plain = PairBand { pairs, width: 0.0 };
        let hinges = Empirical::new(scorer, &plain, weight.to_vec()).value(&theta, &mut vec![0.0; theta.len()])?;
        let objective = hinges + 0.5 * lambda * risk.dot(&theta, &theta);
        let gap = (hinges - rounded).max(0.0) + slope / (2.0 * lambda);
        let stop = match ended {
            Stop::Interrupted => Some(Stop::Interrupted),
            _ if gap <= how.tol * objective.abs().max(how.tol) => Some(Stop::Gap),
            Stop::Iterations => Some(Stop::Iterations),
            _ => (width <= LEAST).then_some(Stop::Stalled),
        };
        if best.as_ref().is_none_or(|(least, ..)| gap < *least) {
            let gradient = if at_zero > 0.0 { slope.sqrt() / at_zero } else { 0.0 };
            let stop = Stop::Stalled;
            let report = Report { iterations, objective, gradient, gap: Some(gap), rounds: None, stop };
            best = Some((gap, theta.clone(), width, report));
        }
        if let (Some(stop), Some((_, theta, width, report))) = (stop, &mut best) {
            return Ok((std::mem::take(theta), *width, Report { iterations, stop, ..*report }));
        }
        width = (width / NARROWER).max(LEAST);
    }
}
