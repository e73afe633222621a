//! The best values with each label forced in and forced out, all in one sweep.

use crate::error::{Error, Result};
use crate::structure::star::max::MaxWork;
use crate::structure::star::reduced::{LANES, Reduced};
use crate::structure::star::sweep::{Configuration, Visit};
use crate::structure::star::{Clamp, Star, Subsets};

/// The best value of a set with each label forced in, and forced out; −∞ where there is no such set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forced {
    /// The best value of a set that has the label.
    pub inside: Vec<f64>,
    /// The best value of a set that does not have it.
    pub outside: Vec<f64>,
}

/// `inside_i = max(inside_i, value + min(0, a_i − least))`.
fn force(inside: &mut [f64], at: &Configuration) {
    let (value, least) = (at.value, at.least);
    for (most, a) in inside.as_chunks_mut::<LANES>().0.iter_mut().zip(at.scores.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            let a = if a[lane] < least { a[lane] } else { least };
            let forced = value + (a - least);
            most[lane] = if forced > most[lane] { forced } else { most[lane] };
        }
    }
}

/// The values with labels forced in and out, so far. Whoever is not in the best set has its value when forced out, and so
/// has a core label of it when forced in: only the others are looked at.
#[derive(Clone, Debug, Default)]
pub(in crate::structure) struct Force {
    best: f64,
    mask: u32,
    head: Vec<u32>,
    kept: Vec<f64>,
    inside: Vec<f64>,
    outside: Vec<f64>,
    /// The largest scores that the labels can have, by how much the one that is furthest above `inside` is, and passes since
    /// that was found out.
    most: Vec<f64>,
    furthest: f64,
    passes: usize,
    /// Of the core labels, out and in, by their bit.
    core: [[f64; 2]; 32],
}

impl Visit for Force {
    const BOUNDED: bool = false;

    fn skip(&self, _: f64, _: u32) -> bool {
        false
    }

    fn visit(&mut self, at: Configuration) {
        let better = at.value > self.best;
        if better {
            self.spread();
            self.best = at.value;
            self.mask = at.mask;
            self.head.clear();
            self.head.extend_from_slice(at.head);
        }
        // inside_i is at most value − least + most_i here
        if at.value - at.least + self.furthest > 0.0 {
            force(&mut self.inside, &at);
            self.passes += 1;
            if better || self.passes > 16 {
                self.look_ahead();
            }
        }
        for &i in &self.head {
            let (a, most) = (at.scores[i as usize], &mut self.outside[i as usize]);
            let forced = at.value - if a > at.next { a - at.next } else { 0.0 };
            *most = if forced > *most { forced } else { *most };
        }
        let mut differ = at.mask ^ self.mask;
        while differ > 0 {
            let bit = differ.trailing_zeros() as usize;
            let side = &mut self.core[bit][(at.mask >> bit & 1) as usize];
            *side = if at.value > *side { at.value } else { *side };
            differ &= differ - 1;
        }
    }
}

impl Force {
    fn start(&mut self, reduced: &Reduced) {
        let none = f64::NEG_INFINITY;
        self.most.clear();
        self.most.extend_from_slice(&reduced.score);
        for f in 0..reduced.core.len() {
            self.most.iter_mut().zip(reduced.row(f)).for_each(|(x, &g)| *x += if g > 0.0 { g } else { 0.0 });
        }
        self.furthest = f64::INFINITY;
        (self.best, self.mask, self.core) = (none, 0, [[none; 2]; 32]);
        self.head.clear();
        for values in [&mut self.inside, &mut self.outside] {
            values.clear();
            values.resize(reduced.stride, none);
        }
    }

    fn look_ahead(&mut self) {
        let further = self.most.iter().zip(&self.inside).map(|(most, inside)| most - inside);
        // the padding has no number
        self.furthest = further.fold(f64::NEG_INFINITY, |furthest, x| if x > furthest { x } else { furthest });
        self.passes = 0;
    }

    /// Gives the best value to the labels that are not in its set, and to both sides of the core.
    fn spread(&mut self) {
        self.kept.clear();
        self.kept.extend(self.head.iter().map(|&i| self.outside[i as usize]));
        self.outside.fill(self.best);
        self.head.iter().zip(&self.kept).for_each(|(&i, &x)| self.outside[i as usize] = x);
        for (bit, sides) in self.core.iter_mut().enumerate() {
            sides[(self.mask >> bit & 1) as usize] = self.best;
        }
    }
}

impl Star {
    /// The best value with each label forced in and forced out, for all labels at once.
    ///
    /// With `V(S)` the best value for the part `S` of the core, and `T_r(S)`, `T_{r+1}(S)` the scores on both sides of its
    /// threshold,
    ///
    /// ```text
    /// inside_i  = max_S [ V(S) + min(0, a_i(S) − T_r(S)) ],   outside_i = max_S [ V(S) − max(0, a_i(S) − T_{r+1}(S)) ]
    /// ```
    ///
    /// for labels outside the core, and `max V(S)` over the `S` with and without it for a core label; \[QAP\] asks for the
    /// label whose two values differ least. A clamped label has the best value on its side and −∞ on the other.
    /// One sweep over the core, O(2^C N), where single calls of [`Star::max`] would be 2 N of them.
    ///
    /// The label to ask is never unique: with `V*` and `V2` the values of the two best sets ([`Star::two_best`]),
    ///
    /// ```text
    /// min_i |inside_i − outside_i| = V* − V2
    /// ```
    ///
    /// for every label that is in one of the two sets only. Sorted by `inside_i − outside_i`, the first `k` labels are the
    /// best set.
    ///
    /// ```
    /// use ordain::structure::star::{MaxWork, Star, Subsets};
    ///
    /// let star = Star::new(3, &[2], &[0.0, 2.0, 0.0])?;
    /// let forced = star.forced(&[3.0, 1.0, 0.0], &Subsets { k: 1, clamp: &[] }, &mut MaxWork::default())?;
    /// assert_eq!((forced.inside, forced.outside), (vec![3.0, 1.0, 0.0], vec![1.0, 3.0, 3.0]));
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn forced(&self, scores: &[f64], over: &Subsets, work: &mut MaxWork) -> Result<Forced> {
        let MaxWork { reduced, sweep, force, .. } = work;
        reduced.set(self, scores, over, None)?;
        force.start(reduced);
        sweep.each(reduced, force);
        force.spread();
        let best = force.best;
        if !best.is_finite() {
            return Err(Error::NotFinite { what: "the score of a set" });
        }
        let none = f64::NEG_INFINITY;
        let known = |i: usize, side: Clamp| over.clamp.get(i).is_some_and(|&clamp| clamp == side);
        let side = |clamp| (0..self.len()).map(|i| if known(i, clamp) { best } else { none }).collect::<Vec<f64>>();
        let mut forced = Forced { inside: side(Clamp::In), outside: side(Clamp::Out) };
        for ((&i, &yes), &no) in reduced.labels.iter().zip(&force.inside).zip(&force.outside) {
            (forced.inside[i as usize], forced.outside[i as usize]) = (yes, no);
        }
        for (f, &c) in reduced.core.iter().enumerate() {
            let [no, yes] = force.core[reduced.bit(f).trailing_zeros() as usize];
            let i = self.core()[usize::from(c)] as usize;
            (forced.inside[i], forced.outside[i]) = (yes, no);
        }
        Ok(forced)
    }
}
