//! Parameters of a star measured from where the data are, so that a solver finds the minimum in few steps.

use crate::error::Result;
use crate::matrix::axpy;
use crate::method::annotate::stage::Stage;
use crate::pieces::sums;
use crate::scorer::labels::Labels;
use crate::traits::Risk;

/// What parameters are measured from, so that each is felt apart from the bias of its label: the means of features, of the classifiers'
/// scores and of log k, and how often each label occurs.
///
/// With `v'_i = v_i + w_i·mean x + (u + u_i)·mean z_i + h_i·mean log k + Σ_c g_ic·p_c` the sets have the same scores, and the likelihood
/// bends about alike in every direction: a third of the steps. (Sparse features are never moved to mean 0 themselves: the mean of a set of
/// words is the direction in which they bend most.)
pub(in crate::method) struct Centre {
    labels: usize,
    core: Vec<u32>,
    layout: [std::ops::Range<usize>; 3],
    /// Empty without direct weights.
    pub(in crate::method) features: Vec<f64>,
    pub(in crate::method) own: Vec<f64>,
    pub(in crate::method) log_count: f64,
    pub(in crate::method) often: Vec<f64>,
}

impl Centre {
    pub(in crate::method) fn new(stage: &Stage, scorer: &Labels, core: &[u32]) -> Self {
        let (n, m) = (stage.labels, stage.cases.len() as f64);
        // how often labels occur, the scores of their classifiers, log k
        let units = stage.taught.iter().map(|&i| i as usize);
        let features = scorer.features.map_or(vec![], |features| {
            sums(&stage.pieces, units.clone(), features.cols(), |_, i, mean| {
                features.each(i, |j, x| mean[j] += f64::from(x) / m);
            })
        });
        let mut often = sums(&stage.pieces, units, 2 * n + 1, |item, _, sums| {
            let (often, rest) = sums.split_at_mut(n);
            let (own, log_count) = rest.split_at_mut(n);
            stage.cases[item].yes.iter().for_each(|&i| often[i as usize] += 1.0 / m);
            own.iter_mut().zip(&stage.own[item * n..(item + 1) * n]).for_each(|(mean, z)| *mean += z / m);
            log_count[0] += stage.log_count[item];
        });
        let mut own = often.split_off(n);
        let log_count = own.pop().unwrap_or(0.0) / m;
        Self { labels: n, core: core.to_vec(), layout: scorer.layout(), features, own, log_count, often }
    }

    /// Biases from the plain ones to the centred ones (sign 1), or back (sign -1).
    pub(in crate::method) fn shift(&self, theta: &mut [f64], sign: f64) {
        let n = self.labels;
        let (bias, rest) = theta.split_at_mut(n);
        let [_, own, count] = &self.layout;
        for (w, &mean) in rest.chunks_exact(n.max(1)).zip(&self.features) {
            axpy(sign * mean, w, bias);
        }
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
        for (w, &mean) in rest.chunks_exact_mut(n.max(1)).zip(&self.features) {
            axpy(-mean, bias, w);
        }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::matrix::dot;
    use crate::random::Random;

    /// `Σ_j a_j θ_j²/2 + sin(b·θ)`.
    struct Wave {
        a: Vec<f64>,
        b: Vec<f64>,
    }

    impl Risk for Wave {
        fn dim(&self) -> usize {
            self.a.len()
        }

        fn value(&mut self, theta: &[f64], grad: &mut [f64]) -> Result<f64> {
            let angle = dot(&self.b, theta);
            grad.iter_mut().zip(&self.a).zip(theta).for_each(|((g, a), t)| *g = a * t);
            axpy(angle.cos(), &self.b, grad);
            Ok(0.5 * self.a.iter().zip(theta).map(|(a, t)| a * t * t).sum::<f64>() + angle.sin())
        }
    }

    /// The value is that of the plain parameters, the gradient that of differences of values; each part may be absent.
    #[test]
    fn a_centred_risk_is_the_plain_one() {
        let mut random = Random::new(3);
        for round in 0..16 {
            let (n, d) = (4, if round % 2 == 0 { 3 } else { 0 });
            let direct = n..n + d * n;
            let own = direct.end..direct.end + if round & 2 == 0 { n + 1 } else { 0 };
            let count = own.end..own.end + if round & 4 == 0 { n } else { 0 };
            let core: Vec<u32> = if round & 8 == 0 { vec![2, 0] } else { vec![] };
            let dim = count.end + core.len() * n;
            let mut some = |many: usize| (0..many).map(|_| random.normal()).collect::<Vec<f64>>();
            let centre = Centre {
                labels: n,
                core,
                layout: [direct, own, count],
                features: some(d),
                own: some(n),
                log_count: some(1)[0],
                often: some(n),
            };
            let (theta, mut risk) = (some(dim), Wave { a: some(dim), b: some(dim) });
            let mut grad = vec![0.0; dim];
            let plain = risk.value(&theta, &mut grad).unwrap();
            let mut moved = theta.clone();
            centre.shift(&mut moved, 1.0);
            let mut centred = Centred { risk: &mut risk, centre: &centre, theta: vec![0.0; dim] };
            assert!((centred.value(&moved, &mut grad).unwrap() - plain).abs() < 1e-12, "round {round}");
            let mut beside = |j: usize, step: f64| {
                let mut there = moved.clone();
                there[j] += step;
                centred.value(&there, &mut vec![0.0; dim]).unwrap()
            };
            for (j, g) in grad.iter().enumerate() {
                let slope = (beside(j, 1e-5) - beside(j, -1e-5)) / 2e-5;
                assert!((slope - g).abs() < 1e-6 * (1.0 + g.abs()), "round {round}, parameter {j}: {slope} {g}");
            }
            centre.shift(&mut moved, -1.0);
            moved.iter().zip(&theta).for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
        }
    }
}
