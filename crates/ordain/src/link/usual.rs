//! Rules of blocking where nobody gave any.

use super::block::{Key, Rule, key};
use super::fields::Field;
use crate::random::Random;
use rayon::prelude::*;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Records of either side that the number of pairs of a rule is estimated from.
const SAMPLE: usize = 2000;
/// Keys of a field that rules are made of, the strictest first.
const KEYS: [Key; 4] = [Key::Whole, Key::First(4), Key::First(2), Key::First(1)];
/// How often two records of the same person agree by each key where neither field is empty: one value of six has a slip on either side, and
/// slips are anywhere.
const AGREE: [f64; 4] = [0.70, 0.78, 0.86, 0.92];
/// Made-up matches that rules have to find.
const MATCHES: usize = 4000;
/// The share of them that is enough.
const ENOUGH: f64 = 0.998;
/// The most candidate pairs for each record of the larger table.
const PAIRS: f64 = 100.0;
/// The most fields that rules are made of: those with the fewest pairs that agree by chance.
const FIELDS: usize = 8;

/// Rules that find almost all matches with few pairs.
///
/// Rules are joined keys of up to three fields. What a rule costs is the number of its pairs, estimated on [`SAMPLE`] records of either side. What it is worth is the share of
/// made-up matches that it finds and no rule before it does: their fields are empty as often as those of the tables are, and agree as often as [`AGREE`] says. Rules are
/// taken by worth per pair, until they find [`ENOUGH`] or have [`PAIRS`] pairs for each record. Cost: O(rules · SAMPLE).
pub(super) fn rules(fields: &[Field], sizes: [usize; 2]) -> Vec<Rule> {
    let hashes: Vec<[[Vec<u64>; 2]; 4]> =
        fields.iter().map(|field| KEYS.map(|key| [0, 1].map(|side| hashed(field, side, sizes[side], key)))).collect();
    let scale = (0..2).map(|side| sizes[side] as f64 / sizes[side].clamp(1, SAMPLE) as f64).product::<f64>();
    let mut order: Vec<(u64, usize)> = (0..fields.len())
        .map(|at| (shared(&[&hashes[at][0]]), at))
        .filter(|(_, at)| fields[*at].filled(0) > 0.0)
        .collect();
    order.sort_unstable();
    order.truncate(FIELDS);
    let candidates = joined(&order.iter().map(|&(_, at)| at).collect::<Vec<_>>());
    let cost = |parts: &Vec<(usize, usize)>| {
        let all: Vec<&[Vec<u64>; 2]> = parts.iter().map(|&(at, key)| &hashes[at][key]).collect();
        shared(&all) as f64 * scale
    };
    let costs: Vec<f64> = candidates.par_iter().map(cost).collect();
    let matches = made_up(fields);
    let finds = |parts: &[(usize, usize)], one: &[u8]| parts.iter().all(|&(at, key)| one[at] as usize <= key);
    let most = PAIRS * sizes[0].max(sizes[1]) as f64;
    let (mut open, mut spent, mut taken) = (matches, 0.0, vec![]);
    while open.len() as f64 > (1.0 - ENOUGH) * MATCHES as f64 {
        let worth = |n: usize| {
            let found = open.iter().filter(|one| finds(&candidates[n], one)).count() as f64;
            // a rule costs something even if it has no pairs: few rules are easier to read
            found / (costs[n] + 0.006 * most)
        };
        let fits = |n: &usize| spent + costs[*n] <= most && !taken.contains(n);
        let all: Vec<(f64, usize)> =
            (0..candidates.len()).into_par_iter().filter(fits).map(|n| (worth(n), n)).collect();
        let best = all.into_iter().max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let Some((_, n)) = best.filter(|(worth, _)| *worth > 0.0) else { break };
        open.retain(|one| !finds(&candidates[n], one));
        spent += costs[n];
        taken.push(n);
    }
    let named = |n: usize| candidates[n].iter().map(|&(at, key)| (fields[at].name.clone(), KEYS[key])).collect();
    taken.into_iter().map(|n| Rule::Same(named(n))).collect()
}

/// All joined keys of up to three fields, as places in the fields and in [`KEYS`].
fn joined(fields: &[usize]) -> Vec<Vec<(usize, usize)>> {
    let mut all: Vec<Vec<(usize, usize)>> = vec![vec![]];
    for &at in fields {
        let longer = all.iter().filter(|parts| parts.len() < 3);
        let more: Vec<Vec<(usize, usize)>> =
            longer.flat_map(|parts| (0..KEYS.len()).map(|key| [&parts[..], &[(at, key)]].concat())).collect();
        all.extend(more);
    }
    all.remove(0);
    all
}

/// The hashes of the keys of some records of a side, spread evenly; 0 where the field is empty.
fn hashed(field: &Field, side: usize, size: usize, how: Key) -> Vec<u64> {
    let records = size.min(SAMPLE);
    let of = |n: usize| match field.word(side, (n * size / records.max(1)) as u32) {
        None => 0,
        Some(word) => {
            let mut hash = DefaultHasher::new();
            key(word, how).hash(&mut hash);
            hash.finish() | 1
        }
    };
    (0..records).map(of).collect()
}

/// The number of pairs of the samples that agree by all keys.
fn shared(keys: &[&[Vec<u64>; 2]]) -> u64 {
    let side = |side: usize| {
        let count = keys[0][side].len();
        let of = |n: usize| {
            let mut all = 0u64;
            for key in keys {
                let own = key[side][n];
                if own == 0 {
                    return None;
                }
                all = (all.rotate_left(17) ^ own).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
            Some(all)
        };
        let mut hashes: Vec<u64> = (0..count).filter_map(of).collect();
        hashes.sort_unstable();
        hashes
    };
    let (left, right) = (side(0), side(1));
    let (mut i, mut j, mut pairs) = (0, 0, 0);
    while let (Some(&x), Some(&y)) = (left.get(i), right.get(j)) {
        if x != y {
            (i, j) = (i + usize::from(x < y), j + usize::from(y < x));
            continue;
        }
        let (a, b) =
            (left[i..].iter().take_while(|&&z| z == x).count(), right[j..].iter().take_while(|&&z| z == x).count());
        pairs += (a * b) as u64;
        (i, j) = (i + a, j + b);
    }
    pairs
}

/// Made-up matches: of each field the strictest key by which its two values agree, or the number of keys where none does.
fn made_up(fields: &[Field]) -> Vec<Vec<u8>> {
    let random = &mut Random::new(0);
    let both: Vec<f64> = fields.iter().map(|field| field.filled(0) * field.filled(1)).collect();
    let mut one = |filled: &f64| {
        let (there, slip) = (random.uniform() < *filled, random.uniform());
        match there {
            true => AGREE.iter().position(|&agree| slip < agree).unwrap_or(KEYS.len()) as u8,
            false => KEYS.len() as u8,
        }
    };
    (0..MATCHES).map(|_| both.iter().map(&mut one).collect()).collect()
}
