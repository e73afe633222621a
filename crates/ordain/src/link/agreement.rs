//! Who belongs together by agreement alone: in two records of one person most fields agree at once, which in others happens by chance.

use super::compare::Agreement;
use rayon::prelude::*;

/// Levels of agreement of a field: empty on either side, four steps of likeness with what is below and above them, equal.
pub(super) const LEVELS: usize = 7;
/// Where a level of likeness begins.
pub(super) const STEPS: [f64; 4] = [0.55, 0.7, 0.8, 0.9];

/// How fields agree in two records that belong together, before anything was learned.
const START: [f64; LEVELS] = [0.2, 0.02, 0.03, 0.05, 0.1, 0.15, 0.45];
/// Rounds of expectation and maximisation: from the fifth on hardly anything moves.
const ROUNDS: usize = 8;
/// The least and the largest share of records that have a partner.
const SHARES: [f64; 2] = [0.05, 0.95];

/// Log-odds beyond this are as good as sure.
const SURE: f64 = 50.0;

/// Pairs with what is known of them, and the number of left and right records.
pub(super) struct Open<'a> {
    pub(super) pairs: &'a [(u32, u32)],
    pub(super) told: &'a [Option<bool>],
    pub(super) sizes: [usize; 2],
    pub(super) right_many: bool,
}

impl Open<'_> {
    /// The probability that each pair belongs together, by expectation and maximisation under the model of Fellegi and Sunter.
    ///
    /// A field agrees on a level with a probability of its own in pairs that belong together and another one in all others, whatever other fields do; where values
    /// are equal, a rare one says more, by its share. A record belongs to one other at most. Cost: O(pairs · fields) for each round.
    pub(super) fn by_agreement(&self, fields: &[Agreement]) -> Vec<f64> {
        let mut candidates = vec![0u32; self.sizes[0]];
        self.pairs.iter().for_each(|pair| candidates[pair.0 as usize] += 1);
        let mut p = vec![0.0; self.pairs.len()];
        let mut matched = vec![START; fields.len()];
        let mut share = 0.7f64;
        for _ in 0..ROUNDS {
            let worth: Vec<([f64; LEVELS], f64)> =
                fields.iter().zip(&matched).map(|(field, matched)| worth(field, matched, &p)).collect();
            let odds = |(n, &(i, _)): (usize, &(u32, u32))| {
                let of = |(field, (levels, usual)): (&Agreement, &([f64; LEVELS], f64))| {
                    let level = field.level[n] as usize;
                    levels[level] + if level == LEVELS - 1 { f64::from(field.rarity[n]) - usual } else { 0.0 }
                };
                let agree: f64 = fields.iter().zip(&worth).map(of).sum();
                let before = (share / (1.0 - share) / f64::from(candidates[i as usize])).ln();
                (agree + before).clamp(-SURE, SURE).exp()
            };
            let odds: Vec<f64> = self.pairs.par_iter().enumerate().with_min_len(4096).map(odds).collect();
            self.exclude(&odds, &mut p);
            share = (p.iter().sum::<f64>() / self.sizes[0].max(1) as f64).clamp(SHARES[0], SHARES[1]);
            for (field, matched) in fields.iter().zip(&mut matched) {
                *matched = shares(field, &p);
            }
        }
        p
    }

    /// Probabilities by odds, where a record has one partner at most; what is known stays.
    fn exclude(&self, odds: &[f64], p: &mut [f64]) {
        let mut sums = self.sizes.map(|size| vec![0.0; size]);
        for (&(i, j), odds) in self.pairs.iter().zip(odds) {
            sums[0][i as usize] += odds;
            sums[1][j as usize] += odds;
        }
        for (n, (&(i, j), &odds)) in self.pairs.iter().zip(odds).enumerate() {
            let others = if self.right_many { 0.0 } else { (sums[1][j as usize] - odds).max(0.0) };
            p[n] = match self.told[n] {
                Some(yes) => f64::from(u8::from(yes)),
                None => odds / (1.0 + sums[0][i as usize] + others),
            };
        }
    }
}

/// The share of each level among pairs that belong together.
fn shares(field: &Agreement, p: &[f64]) -> [f64; LEVELS] {
    let mut sums = [0.5; LEVELS]; // no level is impossible
    field.level.iter().zip(p).for_each(|(&level, p)| sums[level as usize] += p);
    let all: f64 = sums.iter().sum();
    sums.map(|sum| sum / all)
}

/// What each level says for two records, as log-odds, and how rare equal values are among pairs that do not belong together: the logarithm of the mean of one over their share.
fn worth(field: &Agreement, matched: &[f64; LEVELS], p: &[f64]) -> ([f64; LEVELS], f64) {
    let (mut others, mut rare, mut equal) = ([0.5; LEVELS], 0.0, 0.0);
    for ((&level, &rarity), p) in field.level.iter().zip(&field.rarity).zip(p) {
        others[level as usize] += 1.0 - p;
        if level as usize == LEVELS - 1 {
            rare += (1.0 - p) * f64::from(rarity).exp();
            equal += 1.0 - p;
        }
    }
    let all: f64 = others.iter().sum();
    let mut levels = [0.0; LEVELS];
    levels
        .iter_mut()
        .zip(matched)
        .zip(others)
        .for_each(|((level, matched), other)| *level = (matched * all / other).ln());
    (levels, if equal > 0.0 { (rare / equal).ln() } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Fields that agree with known probabilities: who was drawn as a pair is found without any example.
    #[test]
    fn drawn_agreement_is_found_again() {
        let random = &mut Random::new(1);
        let size = 600;
        let mut pairs = vec![];
        let mut fields = vec![Agreement::default(); 4];
        let mut truth = vec![];
        for i in 0..size {
            for step in 0..5 {
                let yes = step == 0 && i % 3 != 0;
                pairs.push((i as u32, ((i + 7 * step) % size) as u32));
                truth.push(yes);
                for (n, field) in fields.iter_mut().enumerate() {
                    let equal = random.uniform() < if yes { 0.85 } else { 0.1 + 0.05 * n as f64 };
                    field.level.push(if random.uniform() < 0.1 {
                        0
                    } else if equal {
                        6
                    } else {
                        1
                    });
                    field.rarity.push(0.0);
                }
            }
        }
        let known = pairs[5];
        let told = |pair: &(u32, u32)| match *pair == known {
            true => Some(true),
            false => (pair.0 == known.0 || pair.1 == known.1 || *pair == pairs[0]).then_some(false),
        };
        let told: Vec<Option<bool>> = pairs.iter().map(told).collect();
        let open = Open { pairs: &pairs, told: &told, sizes: [size, size], right_many: false };
        let p = open.by_agreement(&fields);
        assert!(p[0].abs() < 1e-12 && (p[5] - 1.0).abs() < 1e-12, "what is known stays");
        let hits = p.iter().zip(&truth).filter(|(p, truth)| (**p > 0.5) == **truth).count();
        assert!(hits as f64 > 0.95 * truth.len() as f64, "{hits} of {}", truth.len());
        let mean = p.iter().sum::<f64>() / size as f64;
        // two of three have a partner; fewer are found, for candidates that are taken by others compete here
        assert!((0.45..0.7).contains(&mean), "{mean} of the records have a partner");
        // nobody has more than one
        for side in 0..2 {
            let mut sums = vec![0.0; size];
            pairs.iter().zip(&p).for_each(|(pair, p)| sums[if side == 0 { pair.0 } else { pair.1 } as usize] += p);
            assert!(sums.iter().all(|sum| *sum < 1.0 + 1e-9));
        }
    }
}
