//! Parameters of a star measured from where the data are, so that a solver finds the minimum in few steps.

use crate::error::Result;
use crate::method::annotate::stage::Stage;
use crate::pieces::sums;
use crate::scorer::labels::Labels;
use crate::traits::Risk;

/// What parameters are measured from, so that each is felt apart from the bias of its label: the mean of the classifiers'
/// scores and of log k, and how often each label occurs.
///
/// With `v'_i = v_i + (u + u_i)·mean z_i + h_i·mean log k + Σ_c g_ic·p_c` the sets have the same scores, and the likelihood bends about
/// alike in every direction: a third of the steps.
pub(in crate::method) struct Centre {
    labels: usize,
    core: Vec<u32>,
    layout: [std::ops::Range<usize>; 3],
    pub(in crate::method) own: Vec<f64>,
    pub(in crate::method) log_count: f64,
    pub(in crate::method) often: Vec<f64>,
}

impl Centre {
    pub(in crate::method) fn new(stage: &Stage, scorer: &Labels, core: &[u32]) -> Self {
        let (n, m) = (stage.labels, stage.cases.len() as f64);
        // how often labels occur, the scores of their classifiers, log k
        let units = stage.taught.iter().map(|&i| i as usize);
        let mut often = sums(&stage.pieces, units, 2 * n + 1, |item, _, sums| {
            let (often, rest) = sums.split_at_mut(n);
            let (own, log_count) = rest.split_at_mut(n);
            stage.cases[item].yes.iter().for_each(|&i| often[i as usize] += 1.0 / m);
            own.iter_mut().zip(&stage.own[item * n..(item + 1) * n]).for_each(|(mean, z)| *mean += z / m);
            log_count[0] += stage.log_count[item];
        });
        let mut own = often.split_off(n);
        let log_count = own.pop().unwrap_or(0.0) / m;
        Self { labels: n, core: core.to_vec(), layout: scorer.layout(), own, log_count, often }
    }

    /// Biases from the plain ones to the centred ones (sign 1), or back (sign -1).
    pub(in crate::method) fn shift(&self, theta: &mut [f64], sign: f64) {
        let n = self.labels;
        let (bias, rest) = theta.split_at_mut(n);
        let [_, own, count] = &self.layout;
        if !own.is_empty() {
            let u = &rest[own.start - n..own.end - n];
            let each = bias.iter_mut().zip(&u[1..]).zip(&self.own);
            each.for_each(|((v, own), mean)| *v += sign * (u[0] + own) * mean);
        }
        if !count.is_empty() {
            let h = &rest[count.start - n..count.end - n];
            bias.iter_mut().zip(h).for_each(|(v, h)| *v += sign * h * self.log_count);
        }
        self.each_link(count.end - n, |at, c, i| {
            bias[i] += sign * rest[at] * self.often[c];
            bias[c] += sign * rest[at] * self.often[i];
        });
    }

    /// The gradient by centred parameters from that by plain ones.
    fn pull_back(&self, grad: &mut [f64]) {
        let n = self.labels;
        let (bias, rest) = grad.split_at_mut(n);
        let [_, own, count] = &self.layout;
        if !own.is_empty() {
            let u = &mut rest[own.start - n..own.end - n];
            for (i, (v, mean)) in bias.iter().zip(&self.own).enumerate() {
                u[0] -= v * mean;
                u[1 + i] -= v * mean;
            }
        }
        if !count.is_empty() {
            let h = &mut rest[count.start - n..count.end - n];
            h.iter_mut().zip(&*bias).for_each(|(h, v)| *h -= v * self.log_count);
        }
        self.each_link(count.end - n, |at, c, i| {
            rest[at] -= self.often[c] * bias[i] + self.often[i] * bias[c];
        });
    }

    /// Each pair of the core and a label once: where its link stands, and the two labels.
    fn each_link(&self, start: usize, mut visit: impl FnMut(usize, usize, usize)) {
        for (c, &label) in self.core.iter().enumerate() {
            for i in (0..self.labels).filter(|&i| !self.core[..=c].contains(&(i as u32))) {
                visit(start + c * self.labels + i, label as usize, i);
            }
        }
    }
}

/// A risk by centred parameters.
pub(in crate::method) struct Centred<'a> {
    pub(in crate::method) risk: &'a mut dyn Risk,
    pub(in crate::method) centre: &'a Centre,
    pub(in crate::method) theta: Vec<f64>,
}

impl Risk for Centred<'_> {
    fn dim(&self) -> usize {
        self.theta.len()
    }

    fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
        self.theta.copy_from_slice(theta);
        self.centre.shift(&mut self.theta, -1.0);
        let value = self.risk.value(&self.theta, grad)?;
        self.centre.pull_back(grad);
        Ok(value)
    }

    fn heed(&mut self, stop: bool) {
        self.risk.heed(stop);
    }
}
