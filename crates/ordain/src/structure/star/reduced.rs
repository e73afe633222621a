//! What is left of a star to choose from: clamps are put in, and labels that can never be in a best set left out.

use crate::error::{Error, Result};
use crate::structure::star::max::Met;
use crate::structure::star::{Clamp, NOT_CORE, Star, Subsets};

/// Labels are padded to a multiple of this.
pub(in crate::structure) const LANES: usize = 8;

/// The largest of some numbers; written out so that it is done in lanes.
pub(in crate::structure) fn largest(x: &[f64; LANES]) -> f64 {
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    let [a, b, c, d, e, f, g, h] = *x;
    let (even, odd) = (larger(larger(a, c), larger(e, g)), larger(larger(b, d), larger(f, h)));
    larger(even, odd)
}

/// What is left to choose once clamps are put in and, if asked for, dominated labels left out.
#[derive(Clone, Debug, Default)]
pub(in crate::structure) struct Reduced {
    /// The score of the labels that are forced in.
    pub(in crate::structure) base: f64,
    /// Labels still to choose.
    pub(in crate::structure) k: usize,
    /// Places of the core labels that are free.
    pub(in crate::structure) core: Vec<u8>,
    /// Their scores, with the links to all labels that are forced in.
    pub(in crate::structure) own: Vec<f64>,
    /// The links between them, a square.
    pub(in crate::structure) pair: Vec<f64>,
    /// The other labels, and their number rounded up to [`LANES`].
    pub(in crate::structure) labels: Vec<u32>,
    pub(in crate::structure) stride: usize,
    /// Their scores, −∞ in the padding, and a row of links per free core label, 0 in the padding.
    pub(in crate::structure) score: Vec<f64>,
    pub(in crate::structure) rows: Vec<f64>,
    /// Scores of all labels, −∞ where the label is clamped or of the core.
    all: Vec<f64>,
    bounds: Vec<f64>,
}

/// The `t`-th largest of `values`, which are reordered; −∞ where there are fewer.
fn nth(values: &mut [f64], t: usize) -> f64 {
    if t == 0 || t > values.len() {
        return f64::NEG_INFINITY;
    }
    *values.select_nth_unstable_by(t - 1, |a, b| b.total_cmp(a)).1
}

impl Reduced {
    /// Puts in the clamps. With `dominance`, only labels are kept that can be among the `k` (for the two best sets
    /// `k + 1`) largest in some configuration.
    pub(in crate::structure) fn set(
        &mut self,
        star: &Star,
        scores: &[f64],
        over: &Subsets,
        dominance: Option<usize>,
    ) -> Result<()> {
        let n = star.len();
        if scores.len() != n || !(over.clamp.is_empty() || over.clamp.len() == n) {
            return Err(Error::Data {
                expected: format!("scores of {n} labels, and clamps of all or none of them"),
                found: format!("{} scores and {} clamps", scores.len(), over.clamp.len()),
            });
        }
        if !scores.iter().fold(true, |finite, x| finite & x.is_finite()) {
            return Err(Error::NotFinite { what: "the score of a label" });
        }
        let count = |kind: Clamp| over.clamp.iter().filter(|&&clamp| clamp == kind).count();
        let (inside, outside) = (count(Clamp::In), count(Clamp::Out));
        let free = n - inside - outside;
        if over.k < inside || over.k > inside + free {
            return Err(Error::NoSet { k: over.k, inside, free });
        }
        self.k = over.k - inside;
        self.clamps(star, scores, over);
        let others = free - self.core.len();
        self.keep(star, dominance.map(|more| self.k + more).filter(|&t| t < others));
        Ok(())
    }

    fn clamps(&mut self, star: &Star, scores: &[f64], over: &Subsets) {
        self.all.clear();
        self.all.extend(scores.iter().map(|x| x + 0.0)); // no −0, so that the total order has the ties of numbers
        self.base = 0.0;
        for (i, _) in over.clamp.iter().enumerate().filter(|&(_, &clamp)| clamp == Clamp::In) {
            self.base += self.all[i];
            match star.places()[i] {
                NOT_CORE => {
                    for (c, &label) in star.core().iter().enumerate() {
                        self.all[label as usize] += star.links(c)[i];
                    }
                }
                c => self.all.iter_mut().zip(star.links(c.into())).for_each(|(x, g)| *x += g),
            }
        }
        let is_free = |label: u32| over.clamp.get(label as usize).is_none_or(|&clamp| clamp == Clamp::Free);
        self.core.clear();
        self.core.extend((0..star.core().len()).filter(|&c| is_free(star.core()[c])).map(|c| c as u8));
        let label = |c: u8| star.core()[usize::from(c)] as usize;
        self.own.clear();
        self.own.extend(self.core.iter().map(|&c| self.all[label(c)]));
        self.pair.clear();
        for &c in &self.core {
            self.pair.extend(self.core.iter().map(|&d| star.links(c.into())[label(d)]));
        }
        star.core().iter().for_each(|&c| self.all[c as usize] = f64::NEG_INFINITY);
        for (x, _) in self.all.iter_mut().zip(over.clamp).filter(|(_, clamp)| **clamp != Clamp::Free) {
            *x = f64::NEG_INFINITY;
        }
    }

    /// Keeps the labels that no `t` others always exceed; all of them where `t` is none.
    fn keep(&mut self, star: &Star, t: Option<usize>) {
        self.labels.clear();
        let Some(t) = t else {
            self.labels.extend((0..star.len() as u32).filter(|&i| self.all[i as usize] > f64::NEG_INFINITY));
            return self.gather(star);
        };
        let (all, below, above) = (&self.all, &star.below, &star.above);
        let mut floor = f64::INFINITY;
        if t > 0 {
            // the t-th largest of the maxima of blocks is at most the t-th largest of all
            let width = (2 * t).next_power_of_two().max(32);
            self.bounds.clear();
            if all.len() >= 2 * width {
                self.bounds.resize(width, f64::NEG_INFINITY);
                for (scores, takes) in all.chunks(width).zip(below.chunks(width)) {
                    for (most, (v, take)) in self.bounds.iter_mut().zip(scores.iter().zip(takes)) {
                        let x = v + take;
                        *most = if x > *most { x } else { *most };
                    }
                }
            } else {
                self.bounds.extend(all.iter().zip(below).map(|(v, take)| v + take));
            }
            floor = nth(&mut self.bounds, t).max(f64::MIN);
        }
        let reach = |i: usize| all[i] + above[i] >= floor;
        let (scores, adds) = (all.as_chunks::<LANES>().0, above.as_chunks::<LANES>().0);
        for (block, (v, add)) in scores.iter().zip(adds).enumerate() {
            let mut most = [0.0; LANES];
            for lane in 0..LANES {
                most[lane] = v[lane] + add[lane];
            }
            if largest(&most) >= floor {
                let from = block * LANES;
                self.labels.extend((from..from + LANES).filter(|&i| reach(i)).map(|i| i as u32));
            }
        }
        self.labels.extend((scores.len() * LANES..all.len()).filter(|&i| reach(i)).map(|i| i as u32));
        if self.labels.len() > t && t > 0 && all.len() > self.bounds.len() {
            self.bounds.clear();
            self.bounds.extend(self.labels.iter().map(|&i| all[i as usize] + below[i as usize]));
            floor = nth(&mut self.bounds, t);
            self.labels.retain(|&i| all[i as usize] + above[i as usize] >= floor);
        }
        self.gather(star);
    }

    fn gather(&mut self, star: &Star) {
        self.stride = self.labels.len().next_multiple_of(LANES);
        self.score.clear();
        self.score.extend(self.labels.iter().map(|&i| self.all[i as usize]));
        self.score.resize(self.stride, f64::NEG_INFINITY);
        self.rows.clear();
        for (f, &c) in self.core.iter().enumerate() {
            let row = star.links(c.into());
            self.rows.extend(self.labels.iter().map(|&i| row[i as usize]));
            self.rows.resize((f + 1) * self.stride, 0.0);
        }
    }

    pub(in crate::structure) fn row(&self, f: usize) -> &[f64] {
        &self.rows[f * self.stride..(f + 1) * self.stride]
    }

    /// The bit of the free core label at place `f`.
    pub(in crate::structure) fn bit(&self, f: usize) -> u32 {
        1 << (self.core.len() - 1 - f)
    }

    /// The set of `met`, ascending.
    pub(in crate::structure) fn labels_of(
        &self,
        star: &Star,
        over: &Subsets,
        met: Met,
        chosen: &mut Vec<(f64, u32)>,
        set: &mut Vec<u32>,
    ) {
        chosen.clear();
        chosen.extend(self.score.iter().copied().zip(self.labels.iter().copied()));
        set.clear();
        for (f, &c) in self.core.iter().enumerate().filter(|&(f, _)| met.mask & self.bit(f) > 0) {
            set.push(star.core()[usize::from(c)]);
            chosen.iter_mut().zip(self.row(f)).for_each(|(x, g)| x.0 += g);
        }
        let r = self.k - set.len();
        let order = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if met.exchanged {
            chosen.select_nth_unstable_by(r, order);
            let last = chosen[r];
            chosen[..r].select_nth_unstable_by(r - 1, order);
            chosen[r - 1] = last;
        } else if 0 < r && r < chosen.len() {
            chosen.select_nth_unstable_by(r - 1, order);
        }
        set.extend(chosen[..r].iter().map(|x| x.1));
        let inside = over.clamp.iter().enumerate().filter(|&(_, &clamp)| clamp == Clamp::In);
        set.extend(inside.map(|(i, _)| i as u32));
        set.sort_unstable();
    }
}
