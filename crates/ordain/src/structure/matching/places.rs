//! Whole lists: which documents take the k head places, when the places below do not differ.
//!
//! With weights `exp(s_i c_j)` of document i at place j, `c_1 ≥ … ≥ c_k ≥ 0` and 0 below, the law of all orders is
//! known from its head: the rest of the list is in any order. Documents are walked one by one, and the states are the
//! sets of places taken so far:
//!
//! ```text
//! A_i[S] = t_i A_{i−1}[S] + Σ_{j ∈ S} B_ij A_{i−1}[S∖j],   A_0[∅] = 1,   Z = A_n[all places]
//! ```
//!
//! Every term is positive, so nothing cancels: the error is a few units in the last place per document.

use crate::error::{Error, Interrupt, Result};

/// The most head places: time and memory double with each.
pub const MOST: usize = 16;

/// Above this many numbers the forward table is kept for some documents only, and made again block by block.
const TABLE: usize = 1 << 22;

/// Scratch, made once and used again.
#[derive(Default)]
pub struct Work {
    order: Vec<u32>,
    weights: Vec<f64>,
    stay: Vec<f64>,
    lift: Vec<f64>,
    /// Forward states of one block of documents, and at the start of each block.
    inside: Vec<f64>,
    starts: Vec<f64>,
    back: Vec<f64>,
    spare: Vec<f64>,
    stop: Interrupt,
}

/// `log Z` of a list, and the probability of each document at each head place.
///
/// ```text
/// Z = Σ over ordered choices y of k documents   exp(Σ_j s_{y(j)} c_j)
/// ```
///
/// `marginals` is `n × k`, row by row; with fewer than k documents only the first n places exist, and the table is `n × n`.
/// \[EFM\] Eqs. (4), (11)-(14) for a list of any length. Cost O(n k 2^k) time, O(√n 2^k) memory on long lists.
///
/// No underflow: weights are divided by the duals of the best order, which is sorting (the rearrangement inequality, \[EFM\]
/// footnote 2), so that the best order has weight 1 and no edge more. With `s` descending, document i ≤ k is lifted
/// by `u_i = Σ_{l=i}^{k−1} (s_l − s_{l+1}) c_{l+1}` and place j by `s_j c_j − u_j`.
///
/// ```
/// use ordain::structure::matching::places::{log_sum, Work};
/// let mut marginals = [0.0; 3];
/// let log_z = log_sum(&[1.0, 0.0, 0.0], &[1.0], &mut Work::default(), &mut marginals)?;
/// assert!((log_z - (1f64.exp() + 2.0).ln()).abs() < 1e-15);
/// assert!((marginals[0] - 1f64.exp() / (1f64.exp() + 2.0)).abs() < 1e-15);
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn log_sum(s: &[f64], c: &[f64], work: &mut Work, marginals: &mut [f64]) -> Result<f64> {
    let (n, k) = (s.len(), c.len().min(s.len()));
    let c = &c[..k];
    assert!(c.windows(2).all(|pair| pair[0] >= pair[1]) && c.iter().all(|&c| c >= 0.0));
    if k > MOST {
        return Err(Error::Setting {
            name: "places".into(),
            expected: format!("at most {MOST}"),
            found: k.to_string(),
        });
    }
    if !s.iter().all(|s| s.is_finite()) {
        return Err(Error::NotFinite { what: "a score" });
    }
    if k == 0 {
        return Ok(0.0);
    }
    let lifted = work.shift(s, c);
    let z = work.sweep(n, k, marginals)?;
    Ok(z.ln() + lifted)
}

impl Work {
    /// The same, but it asks whether to stop.
    pub fn stopped_by(self, stop: Interrupt) -> Self {
        Self { stop, ..self }
    }

    /// Sets the weights, divided by the duals of the best order; the logarithm of what they were divided by.
    fn shift(&mut self, s: &[f64], c: &[f64]) -> f64 {
        let (n, k) = (s.len(), c.len());
        self.order.clear();
        self.order.extend(0..n as u32);
        let best = |a: &u32, b: &u32| s[*b as usize].total_cmp(&s[*a as usize]).then(a.cmp(b));
        if k < n {
            self.order.select_nth_unstable_by(k, best);
        }
        self.order[..k].sort_unstable_by(best);
        self.stay.clear();
        self.stay.resize(n, 1.0);
        self.lift.clear();
        self.lift.resize(n, 0.0);
        let (mut up, mut lifted, mut places) = (0.0, 0.0, [0.0; MOST]);
        for place in (0..k).rev() {
            let here = self.order[place] as usize;
            if place + 1 < k {
                up += (s[here] - s[self.order[place + 1] as usize]) * c[place + 1];
            }
            self.lift[here] = up;
            self.stay[here] = (-up).exp();
            places[place] = s[here] * c[place] - up;
            lifted += s[here] * c[place];
        }
        self.weights.clear();
        self.weights.reserve(n * k);
        for (s, lift) in s.iter().zip(&self.lift) {
            self.weights.extend(c.iter().zip(&places).map(|(c, place)| (s * c - lift - place).exp()));
        }
        lifted
    }

    /// The weights of `n` documents at `k` places, document by document, and those of staying below: to be filled in before
    /// [`Work::sweep`]. The best choice should weigh 1, and no document more than 1 anywhere.
    pub(in crate::structure) fn tables(&mut self, n: usize, k: usize) -> (&mut [f64], &mut [f64]) {
        self.weights.resize(n * k, 0.0);
        self.stay.resize(n, 0.0);
        (&mut self.weights, &mut self.stay)
    }

    /// [`Work::sweep`] that keeps the states of few places in registers.
    pub(in crate::structure) fn sweep_short(&mut self, n: usize, k: usize, marginals: &mut [f64]) -> Result<f64> {
        let tables = (&self.weights[..], &self.stay[..], &mut self.inside);
        match k {
            1 => Ok(short_1(tables, marginals)),
            2 => Ok(short_2(tables, marginals)),
            3 => Ok(short_3(tables, marginals)),
            _ => self.sweep(n, k, marginals),
        }
    }

    /// Forward and backward over the documents; the sum over all choices.
    pub(in crate::structure) fn sweep(&mut self, n: usize, k: usize, marginals: &mut [f64]) -> Result<f64> {
        let states = 1usize << k;
        let block = if n * states <= TABLE { n } else { (n as f64).sqrt().ceil() as usize };
        let blocks = n.div_ceil(block);
        self.inside.resize((block + 1) * states, 0.0);
        self.starts.resize(blocks * states, 0.0);
        self.back.clear();
        self.back.resize(states, 0.0);
        self.back[states - 1] = 1.0;
        self.spare.resize(states, 0.0);
        self.starts[..states].fill(0.0);
        self.starts[0] = 1.0;
        for b in 0..blocks - 1 {
            self.forward(b, block, n, k)?;
            let end = block * states;
            self.starts[(b + 1) * states..(b + 2) * states].copy_from_slice(&self.inside[end..end + states]);
        }
        let mut z = 0.0;
        for b in (0..blocks).rev() {
            let rows = self.forward(b, block, n, k)?;
            if b + 1 == blocks {
                z = self.inside[rows.len() * states + states - 1];
            }
            for i in rows.clone().rev() {
                self.stop.check()?;
                let at = (i - rows.start) * states;
                let (weights, out) = (&self.weights[i * k..(i + 1) * k], &mut marginals[i * k..(i + 1) * k]);
                let forward = &self.inside[at..at + states];
                let (back, new) = (&self.back, &mut self.spare);
                match k {
                    0..=3 => step_back::<0>(forward, back, self.stay[i], weights, |_| true, new, out),
                    4..=6 => step_back::<3>(forward, back, self.stay[i], weights, |_| true, new, out),
                    _ => step_back::<{ MOST - 3 }>(forward, back, self.stay[i], weights, |_| true, new, out),
                }
                out.iter_mut().zip(weights).for_each(|(p, w)| *p *= w / z);
                std::mem::swap(&mut self.back, &mut self.spare);
            }
        }
        Ok(z)
    }

    /// The forward states of one block, from its start; its documents.
    fn forward(&mut self, b: usize, block: usize, n: usize, k: usize) -> Result<std::ops::Range<usize>> {
        let states = 1usize << k;
        let rows = b * block..((b + 1) * block).min(n);
        self.inside[..states].copy_from_slice(&self.starts[b * states..(b + 1) * states]);
        for (i, row) in rows.clone().enumerate() {
            self.stop.check()?;
            let (old, new) = self.inside[i * states..(i + 2) * states].split_at_mut(states);
            step(old, self.stay[row], &self.weights[row * k..(row + 1) * k], |_| true, new);
        }
        Ok(rows)
    }
}

/// [`Work::sweep`] for `K` places with their `S = 2^K` states; `forward` and `back` are one step each, and `back` first sums
/// as [`step_back`] does.
#[inline(always)]
fn short<const K: usize, const S: usize>(
    (weights, stay, inside): (&[f64], &[f64], &mut Vec<f64>),
    marginals: &mut [f64],
    forward: impl Fn(&[f64; S], f64, &[f64; K]) -> [f64; S],
    back: impl Fn(&[f64; S], &[f64; S], f64, &[f64; K]) -> ([f64; S], [f64; K]),
) -> f64 {
    let weights = weights.as_chunks::<K>().0;
    inside.resize(inside.len().max(weights.len() * S), 0.0);
    let inside = inside.as_chunks_mut::<S>().0;
    let mut states = [0.0; S];
    states[0] = 1.0;
    for ((w, &stay), kept) in weights.iter().zip(stay).zip(&mut *inside) {
        *kept = states;
        states = forward(&states, stay, w);
    }
    let z = states[S - 1];
    let mut states = [0.0; S];
    states[S - 1] = 1.0 / z;
    let out = marginals.as_chunks_mut::<K>().0;
    for (((w, &stay), kept), out) in weights.iter().zip(stay).zip(&*inside).zip(out).rev() {
        let sums;
        (states, sums) = back(kept, &states, stay, w);
        (0..K).for_each(|j| out[j] = sums[j] * w[j]);
    }
    z
}

fn short_1(tables: (&[f64], &[f64], &mut Vec<f64>), marginals: &mut [f64]) -> f64 {
    let forward = |o: &[f64; 2], t: f64, w: &[f64; 1]| [t * o[0], t * o[1] + w[0] * o[0]];
    let back = |f: &[f64; 2], o: &[f64; 2], t: f64, w: &[f64; 1]| ([t * o[0] + w[0] * o[1], t * o[1]], [f[0] * o[1]]);
    short(tables, marginals, forward, back)
}

fn short_2(tables: (&[f64], &[f64], &mut Vec<f64>), marginals: &mut [f64]) -> f64 {
    let forward = |o: &[f64; 4], t: f64, &[a, b]: &[f64; 2]| {
        [t * o[0], t * o[1] + a * o[0], t * o[2] + b * o[0], t * o[3] + (a * o[2] + b * o[1])]
    };
    let back = |f: &[f64; 4], o: &[f64; 4], t: f64, &[a, b]: &[f64; 2]| {
        let new = [t * o[0] + (a * o[1] + b * o[2]), t * o[1] + b * o[3], t * o[2] + a * o[3], t * o[3]];
        (new, [f[0] * o[1] + f[2] * o[3], f[0] * o[2] + f[1] * o[3]])
    };
    short(tables, marginals, forward, back)
}

fn short_3(tables: (&[f64], &[f64], &mut Vec<f64>), marginals: &mut [f64]) -> f64 {
    let forward = |o: &[f64; 8], t: f64, &[a, b, c]: &[f64; 3]| {
        [
            t * o[0],
            t * o[1] + a * o[0],
            t * o[2] + b * o[0],
            t * o[3] + (a * o[2] + b * o[1]),
            t * o[4] + c * o[0],
            t * o[5] + (a * o[4] + c * o[1]),
            t * o[6] + (b * o[4] + c * o[2]),
            t * o[7] + ((a * o[6] + b * o[5]) + c * o[3]),
        ]
    };
    let back = |f: &[f64; 8], o: &[f64; 8], t: f64, &[a, b, c]: &[f64; 3]| {
        let new = [
            t * o[0] + ((a * o[1] + b * o[2]) + c * o[4]),
            t * o[1] + (b * o[3] + c * o[5]),
            t * o[2] + (a * o[3] + c * o[6]),
            t * o[3] + c * o[7],
            t * o[4] + (a * o[5] + b * o[6]),
            t * o[5] + b * o[7],
            t * o[6] + a * o[7],
            t * o[7],
        ];
        let sums = [
            (f[0] * o[1] + f[2] * o[3]) + (f[4] * o[5] + f[6] * o[7]),
            (f[0] * o[2] + f[1] * o[3]) + (f[4] * o[6] + f[5] * o[7]),
            (f[0] * o[4] + f[1] * o[5]) + (f[2] * o[6] + f[3] * o[7]),
        ];
        (new, sums)
    };
    short(tables, marginals, forward, back)
}

/// One document forward: `new[S] = stay·old[S] + Σ_{j ∈ S} w_j old[S∖j]`.
///
/// The three lowest places are the lanes of a group of eight states, moved between by hand; the others join whole groups.
/// Groups that are not `wanted` become 0.
#[inline(always)]
pub(super) fn step(old: &[f64], stay: f64, w: &[f64], wanted: impl Fn(usize) -> bool, new: &mut [f64]) {
    match (w, old, &mut *new) {
        (&[], &[o], [x]) => return *x = stay * o,
        (&[a], &[o, p], [x, y]) => return (*x, *y) = (stay * o, stay * p + a * o),
        (&[a, b], &[o, p, q, r], [x, y, z, both]) => {
            (*x, *y, *z) = (stay * o, stay * p + a * o, stay * q + b * o);
            return *both = stay * r + (a * q + b * p);
        }
        _ => {}
    }
    let (groups, _) = old.as_chunks::<8>();
    for (h, new) in new.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        if !wanted(h) {
            *new = [0.0; 8];
            continue;
        }
        let o = &groups[h];
        let mut x = o.map(|o| stay * o);
        for lane in [1, 3, 5, 7] {
            x[lane] += w[0] * o[lane - 1];
        }
        for lane in [2, 3, 6, 7] {
            x[lane] += w[1] * o[lane - 2];
        }
        for lane in [4, 5, 6, 7] {
            x[lane] += w[2] * o[lane - 4];
        }
        let mut rest = h;
        while rest != 0 {
            let bit = rest & rest.wrapping_neg();
            rest ^= bit;
            let (w, o) = (w[3 + bit.trailing_zeros() as usize], &groups[h ^ bit]);
            for lane in 0..8 {
                x[lane] += w * o[lane];
            }
        }
        *new = x;
    }
}

/// One document backward: `new[S] = stay·back[S] + Σ_{j ∉ S} w_j back[S∪j]`, and `sums[j] = Σ_{S ∌ j} forward[S] back[S∪j]`.
///
/// `HIGH` is the most places there are above the lowest three. Groups that are not `wanted` become 0.
#[inline(always)]
pub(super) fn step_back<const HIGH: usize>(
    forward: &[f64],
    back: &[f64],
    stay: f64,
    w: &[f64],
    wanted: impl Fn(usize) -> bool,
    new: &mut [f64],
    sums: &mut [f64],
) {
    match (w, back, &mut *new, &mut *sums, forward) {
        (&[], &[o], [x], ..) => return *x = stay * o,
        (&[a], &[o, p], [x, y], [sum], &[f, _]) => {
            *sum = f * p;
            return (*x, *y) = (stay * o + a * p, stay * p);
        }
        (&[a, b], &[o, p, q, r], [x, y, z, both], [one, two], &[f, g, h, _]) => {
            (*one, *two) = (f * p + h * r, f * q + g * r);
            (*x, *y) = (stay * o + a * p + b * q, stay * p + b * r);
            return (*z, *both) = (stay * q + a * r, stay * r);
        }
        _ => {}
    }
    sums.fill(0.0);
    let (groups, all) = (back.as_chunks::<8>().0, back.len() / 8 - 1);
    let mut low = [[0.0; 8]; 3];
    let mut high = [[0.0; 8]; HIGH];
    for (h, (f, new)) in forward.as_chunks::<8>().0.iter().zip(new.as_chunks_mut::<8>().0).enumerate() {
        if !wanted(h) {
            *new = [0.0; 8];
            continue;
        }
        let g = &groups[h];
        let mut x = g.map(|g| stay * g);
        for (j, lanes) in [[0, 2, 4, 6], [0, 1, 4, 5], [0, 1, 2, 3]].into_iter().enumerate() {
            for lane in lanes {
                x[lane] += w[j] * g[lane + (1 << j)];
                low[j][lane] += f[lane] * g[lane + (1 << j)];
            }
        }
        let mut rest = !h & all;
        while rest != 0 {
            let bit = rest & rest.wrapping_neg();
            rest ^= bit;
            let j = bit.trailing_zeros() as usize;
            let (w, g, sum) = (w[3 + j], &groups[h | bit], &mut high[j]);
            for lane in 0..8 {
                x[lane] += w * g[lane];
                sum[lane] += f[lane] * g[lane];
            }
        }
        *new = x;
    }
    for (sum, lanes) in sums.iter_mut().zip(low.iter().chain(&high)) {
        *sum = lanes.iter().sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The slow truth: every ordered choice of k documents.
    fn slow(s: &[f64], c: &[f64]) -> (f64, Vec<f64>) {
        let (n, k) = (s.len(), c.len().min(s.len()));
        let mut terms: Vec<(f64, Vec<usize>)> = vec![];
        fn go(s: &[f64], c: &[f64], chosen: &mut Vec<usize>, score: f64, terms: &mut Vec<(f64, Vec<usize>)>) {
            if chosen.len() == c.len() {
                return terms.push((score, chosen.clone()));
            }
            for i in 0..s.len() {
                if !chosen.contains(&i) {
                    chosen.push(i);
                    go(s, c, chosen, score + s[i] * c[chosen.len() - 1], terms);
                    chosen.pop();
                }
            }
        }
        go(s, &c[..k], &mut vec![], 0.0, &mut terms);
        let top = terms.iter().fold(f64::NEG_INFINITY, |a, t| a.max(t.0));
        let z: f64 = terms.iter().map(|t| (t.0 - top).exp()).sum();
        let mut marginals = vec![0.0; n * k];
        for (score, chosen) in &terms {
            chosen.iter().enumerate().for_each(|(j, &i)| marginals[i * k + j] += (score - top).exp() / z);
        }
        (top + z.ln(), marginals)
    }

    fn places(k: usize, log: bool) -> Vec<f64> {
        (0..k).map(|j| if log { 1.0 / ((j + 2) as f64).log2() } else { (k - j) as f64 }).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::cases::cases(200)))]
        #[test]
        fn the_recursion_equals_enumeration(
            s in prop::collection::vec(prop_oneof![-2.0..2.0f64, (-3..3i32).prop_map(f64::from)], 1..9),
            k in 1usize..6, log in any::<bool>(), scale in prop::sample::select(vec![0.1, 1.0, 30.0]), shift in prop::sample::select(vec![0.0, 1e4, -1e4]),
        ) {
            let s: Vec<f64> = s.iter().map(|x| x * scale + shift).collect();
            let c = places(k, log);
            let (n, k) = (s.len(), k.min(s.len()));
            let mut marginals = vec![0.0; n * k];
            let fast = log_sum(&s, &c, &mut Work::default(), &mut marginals).unwrap();
            let (log_z, truth) = slow(&s, &c);
            let tol = if shift == 0.0 { 1e-12 } else { 1e-10 };
            prop_assert!((fast - log_z).abs() <= tol * (1.0 + log_z.abs()));
            for (a, b) in marginals.iter().zip(&truth) {
                prop_assert!((a - b).abs() <= tol * 10.0, "{a} {b}");
            }
            for j in 0..k {
                prop_assert!(((0..n).map(|i| marginals[i * k + j]).sum::<f64>() - 1.0).abs() < 1e-12);
            }
            prop_assert!((0..n).all(|i| marginals[i * k..(i + 1) * k].iter().sum::<f64>() < 1.0 + 1e-12));
        }
    }

    #[test]
    fn blocks_change_nothing() {
        // long enough for several blocks at k = 10
        let s: Vec<f64> = (0..5000).map(|i| ((i * 7919) % 1009) as f64 / 300.0).collect();
        let c = places(10, true);
        let mut marginals = vec![0.0; 50_000];
        let mut work = Work::default();
        log_sum(&s, &c, &mut work, &mut marginals).unwrap();
        assert!(work.starts.len() > 1024);
        for j in 0..10 {
            assert!(((0..5000).map(|i| marginals[i * 10 + j]).sum::<f64>() - 1.0).abs() < 1e-11);
        }
        // slope of log Z by differences
        let moved = |by: f64| {
            let mut s = s.clone();
            s[17] += by;
            log_sum(&s, &c, &mut Work::default(), &mut vec![0.0; 50_000]).unwrap()
        };
        let slope = (moved(1e-4) - moved(-1e-4)) / 2e-4;
        let expected: f64 = (0..10).map(|j| c[j] * marginals[170 + j]).sum();
        assert!((slope - expected).abs() < 1e-6, "{slope} {expected}");
    }

    #[test]
    fn a_document_that_dominates_everything_is_no_trouble() {
        let mut marginals = vec![0.0; 12];
        let log_z = log_sum(&[1e6, 3.0, 2.0, 1.0], &[3.0, 2.0, 1.0], &mut Work::default(), &mut marginals).unwrap();
        assert!((log_z - slow(&[1e6, 3.0, 2.0, 1.0], &[3.0, 2.0, 1.0]).0).abs() < 1e-6);
        assert!((marginals[0] - 1.0).abs() < 1e-12);
        assert!(log_sum(&[f64::NAN], &[1.0], &mut Work::default(), &mut [0.0]).is_err());
    }
}
