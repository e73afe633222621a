//! One score per label of an item: from features that all labels share, and from a score of each label's own.

use crate::matrix::{Features, axpy};
use crate::pieces::Pieces;
use crate::traits::Scorer;
use std::ops::Range;

/// The scores of `n` labels of some items,
///
/// ```text
/// s_i = v_i + w_i·x + (u + u_i)·z_i + h_i·log k
/// ```
///
/// with x the features of the item, z_i the score of a classifier of label i, and k the number of labels of the item. Each part but
/// v may be absent. The parameters stand in the order v, w (feature after feature, a weight per label), u, u_i, h.
pub struct Labels<'a> {
    /// Number of labels.
    pub labels: usize,
    /// The items, by row of the features.
    pub units: &'a [u32],
    /// The pieces of the set that they are of.
    pub pieces: &'a Pieces,
    /// Features, with the direct part.
    pub features: Option<&'a Features>,
    /// A score per label, item after item in the order of `units`.
    pub own: Option<&'a [f64]>,
    /// The logarithm of the number of labels of each item.
    pub log_count: Option<&'a [f64]>,
}

impl Labels<'_> {
    /// Where w, u (first) with u_i, and h stand among the parameters.
    pub fn layout(&self) -> [Range<usize>; 3] {
        let n = self.labels;
        let direct = n..n + self.features.map_or(0, |f| f.cols() * n);
        let own = direct.end..direct.end + self.own.map_or(0, |_| n + 1);
        let count = own.end..own.end + self.log_count.map_or(0, |_| n);
        [direct, own, count]
    }
}

/// Scratch of [`Labels`]: the squared length of the features of the item that was scored last.
#[derive(Default)]
pub struct LabelsWork {
    scored: Option<(usize, f64)>,
}

impl Scorer for Labels<'_> {
    type Work = LabelsWork;

    fn dim(&self) -> usize {
        self.layout()[2].end
    }

    fn len(&self) -> usize {
        self.units.len()
    }

    fn span(&self, n: usize) -> Range<usize> {
        n * self.labels..(n + 1) * self.labels
    }

    fn pieces(&self) -> Pieces {
        self.pieces.clone()
    }

    fn unit(&self, n: usize) -> usize {
        self.units[n] as usize
    }

    fn scores(&self, n: usize, theta: &[f64], s: &mut [f64], work: &mut LabelsWork) {
        let (labels, [direct, own, count]) = (self.labels, self.layout());
        s.copy_from_slice(&theta[..labels]);
        if let Some(features) = self.features {
            let w = &theta[direct];
            let mut square = 0.0;
            features.each(self.units[n] as usize, |j, x| {
                let x = f64::from(x);
                square += x * x;
                s.iter_mut().zip(&w[j * labels..(j + 1) * labels]).for_each(|(s, w)| *s += x * w);
            });
            work.scored = Some((n, square));
        }
        if let Some(z) = self.own {
            let (u, z) = (&theta[own], &z[n * labels..(n + 1) * labels]);
            let shared = u[0];
            s.iter_mut().zip(&u[1..]).zip(z).for_each(|((s, u), z)| *s += (shared + u) * z);
        }
        if let Some(log_count) = self.log_count {
            let log = log_count[n];
            s.iter_mut().zip(&theta[count]).for_each(|(s, h)| *s += h * log);
        }
    }

    fn pull_back(&self, n: usize, d: &[f64], grad: &mut [f64], _: &mut LabelsWork) {
        let (labels, [direct, own, count]) = (self.labels, self.layout());
        grad.iter_mut().zip(d).for_each(|(g, d)| *g += d);
        if let Some(features) = self.features {
            let w = &mut grad[direct];
            features.each(self.units[n] as usize, |j, x| {
                let x = f64::from(x);
                w[j * labels..(j + 1) * labels].iter_mut().zip(d).for_each(|(w, d)| *w += x * d);
            });
        }
        if let Some(z) = self.own {
            let (u, z) = (&mut grad[own], &z[n * labels..(n + 1) * labels]);
            let (shared, u) = u.split_at_mut(1);
            for ((u, z), d) in u.iter_mut().zip(z).zip(d) {
                *u += z * d;
                shared[0] += z * d;
            }
        }
        if let Some(log_count) = self.log_count {
            let log = log_count[n];
            grad[count].iter_mut().zip(d).for_each(|(h, d)| *h += log * d);
        }
    }

    fn add_few(&self, n: usize, d: &[(u32, f64)], to: &mut [f64], _: &mut LabelsWork) {
        let (labels, [direct, own, count]) = (self.labels, self.layout());
        d.iter().for_each(|&(i, d)| to[i as usize] += d);
        if let Some(features) = self.features {
            let w = &mut to[direct];
            let add = |w: &mut [f64], x: f32| d.iter().for_each(|&(i, d)| w[i as usize] += f64::from(x) * d);
            match features {
                Features::Dense(m) => {
                    w.chunks_exact_mut(labels).zip(m.row(self.units[n] as usize)).for_each(|(w, &x)| add(w, x));
                }
                Features::Sparse(_) => {
                    features.each(self.units[n] as usize, |j, x| add(&mut w[j * labels..(j + 1) * labels], x))
                }
            }
        }
        if let Some(z) = self.own {
            let (shared, u) = to[own].split_at_mut(1);
            let z = &z[n * labels..(n + 1) * labels];
            for &(i, d) in d {
                u[i as usize] += z[i as usize] * d;
                shared[0] += z[i as usize] * d;
            }
        }
        if let Some(log_count) = self.log_count {
            let h = &mut to[count];
            d.iter().for_each(|&(i, d)| h[i as usize] += log_count[n] * d);
        }
    }

    fn norm2_few(&self, n: usize, d: &[(u32, f64)], work: &mut LabelsWork) -> f64 {
        let square: f64 = d.iter().map(|(_, d)| d * d).sum();
        let mut times = 1.0;
        match (self.features, work.scored) {
            (Some(_), Some((item, square))) if item == n => times += square,
            (Some(features), _) => {
                features.each(self.units[n] as usize, |_, x| times += f64::from(x) * f64::from(x));
            }
            _ => {}
        }
        if let Some(log_count) = self.log_count {
            times += log_count[n] * log_count[n];
        }
        let (mut own, mut shared) = (0.0, 0.0);
        if let Some(z) = self.own {
            let z = &z[n * self.labels..(n + 1) * self.labels];
            for &(i, d) in d {
                let x = z[i as usize] * d;
                own += x * x;
                shared += x;
            }
        }
        square * times + own + shared * shared
    }
}

/// The scores of a scorer, and after those of each example some parameters that all examples share: the links of a star. These parameters stand
/// after those of the scorer.
pub struct Linked<'a, C> {
    /// What scores labels.
    pub scorer: &'a C,
    /// Number of links.
    pub links: usize,
}

impl<C: Scorer> Scorer for Linked<'_, C> {
    type Work = C::Work;

    fn dim(&self) -> usize {
        self.scorer.dim() + self.links
    }

    fn len(&self) -> usize {
        self.scorer.len()
    }

    fn span(&self, n: usize) -> Range<usize> {
        let own = self.scorer.span(n);
        own.start + n * self.links..own.end + (n + 1) * self.links
    }

    fn pieces(&self) -> Pieces {
        self.scorer.pieces()
    }

    fn unit(&self, n: usize) -> usize {
        self.scorer.unit(n)
    }

    fn scores(&self, n: usize, theta: &[f64], s: &mut [f64], work: &mut C::Work) {
        let (own, links) = theta.split_at(self.scorer.dim());
        let (s, shared) = s.split_at_mut(s.len() - self.links);
        self.scorer.scores(n, own, s, work);
        shared.copy_from_slice(links);
    }

    fn pull_back(&self, n: usize, d: &[f64], grad: &mut [f64], work: &mut C::Work) {
        let (own, links) = grad.split_at_mut(self.scorer.dim());
        let (d, shared) = d.split_at(d.len() - self.links);
        self.scorer.pull_back(n, d, own, work);
        axpy(1.0, shared, links);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;

    #[test]
    fn a_few_labels_go_the_way_of_all() {
        let mut count = 0.0f64;
        let mut number = || {
            count += 1.0;
            (12.9898 * count).sin() * 1.5
        };
        let features = Features::Dense(Matrix::new((0..12).map(|_| number() as f32).collect(), 3));
        let own: Vec<f64> = (0..20).map(|_| number()).collect();
        let (units, log_count) = ([3, 0, 1, 2], [0.3, 1.1, 0.0, 0.7]);
        let pieces = Pieces::of_items(4, 3);
        for parts in 0..8 {
            let scorer = Labels {
                labels: 5,
                units: &units,
                pieces: &pieces,
                features: (parts & 1 > 0).then_some(&features),
                own: (parts & 2 > 0).then_some(&own),
                log_count: (parts & 4 > 0).then_some(&log_count),
            };
            for n in 0..4 {
                let few = [(4, number()), (1, number())];
                let (mut fast, mut slow, mut all) = (vec![0.5; scorer.dim()], vec![0.5; scorer.dim()], [0.0; 5]);
                few.iter().for_each(|&(i, d)| all[i as usize] = d);
                let mut work = LabelsWork::default();
                scorer.add_few(n, &few, &mut fast, &mut work);
                scorer.pull_back(n, &all, &mut slow, &mut work);
                assert!(fast.iter().zip(&slow).all(|(a, b)| (a - b).abs() < 1e-12));
                let norm: f64 = slow.iter().map(|x| (x - 0.5) * (x - 0.5)).sum();
                assert!((scorer.norm2_few(n, &few, &mut work) - norm).abs() < 1e-12 * norm);
                scorer.scores(n, &vec![0.0; scorer.dim()], &mut [0.0; 5], &mut work);
                assert!((scorer.norm2_few(n, &few, &mut work) - norm).abs() < 1e-12 * norm);
            }
        }
    }
}
