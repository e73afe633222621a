//! The values of columns in order, with how often each occurs: a summary that no order of the rows changes.
//!
//! The summary of some rows is the [merge] of those of any parts of them, in any order, to the bit. What is learned
//! from it alone is the same for any cut of the data into shards.

use super::Features;
use rayon::prelude::*;

/// A value, as a [key], and in how many rows it is.
pub(crate) type Run = (u32, usize);

/// Columns side by side that are read together.
const WIDTH: usize = 8;

/// A number whose order is that of `x`, 0 and −0 the same, NaN above all.
pub(crate) fn key(x: f32) -> u32 {
    let bits = (x + 0.0).to_bits();
    let key = bits ^ (((bits as i32 >> 31) as u32) | 0x8000_0000);
    if x.is_nan() { u32::MAX } else { key }
}

/// The value of a key.
pub(crate) fn value(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key ^ 0x8000_0000 } else { !key })
}

/// What `of` makes of each column over some rows: it is given the column and its runs, ascending. O(rows · columns), on all
/// threads; what a sparse row does not store counts as 0.
pub(crate) fn columns<T: Send>(x: &Features, rows: &[u32], of: impl Fn(usize, &[Run]) -> T + Sync) -> Vec<T> {
    match x {
        Features::Dense(_) => dense(x, rows, &of),
        Features::Sparse(_) => sparse(x, rows, &of),
    }
}

/// The runs of the rows of both.
pub(crate) fn merge(a: &[Run], b: &[Run]) -> Vec<Run> {
    let mut all = [a, b].concat();
    all.sort_unstable_by_key(|run| run.0);
    all.chunk_by(|a, b| a.0 == b.0).map(|same| (same[0].0, same.iter().map(|run| run.1).sum())).collect()
}

/// Sorted keys as runs of equal ones. They are counted first: a list that grows would be there twice while it does.
fn runs(keys: &[u32]) -> Vec<Run> {
    let of = || keys.chunk_by(|a, b| a == b);
    let mut runs = Vec::with_capacity(of().count());
    runs.extend(of().map(|run| (run[0], run.len())));
    runs
}

/// Sorts keys by eleven bits at a time; `spare` is as long.
fn sort(keys: &mut Vec<u32>, spare: &mut Vec<u32>) {
    const BITS: u32 = 11;
    if keys.len() < 512 {
        keys.sort_unstable();
        return;
    }
    spare.resize(keys.len(), 0);
    let mut counts = [[0u32; 1 << BITS]; 3];
    let digit = |key: u32, pass: u32| (key >> (BITS * pass)) as usize & ((1 << BITS) - 1);
    for &key in keys.iter() {
        (0..3).for_each(|pass| counts[pass as usize][digit(key, pass)] += 1);
    }
    for (pass, counts) in (0..).zip(&mut counts) {
        if counts[digit(keys[0], pass)] as usize == keys.len() {
            continue; // the same in all
        }
        let mut at = 0;
        for count in counts.iter_mut() {
            at += std::mem::replace(count, at);
        }
        for &key in keys.iter() {
            let place = &mut counts[digit(key, pass)];
            spare[*place as usize] = key;
            *place += 1;
        }
        std::mem::swap(keys, spare);
    }
}

fn dense<T: Send>(x: &Features, rows: &[u32], of_column: &(impl Fn(usize, &[Run]) -> T + Sync)) -> Vec<T> {
    let Features::Dense(x) = x else { return vec![] };
    let groups: Vec<usize> = (0..x.cols()).step_by(WIDTH).collect();
    let of = |&start: &usize| {
        let width = WIDTH.min(x.cols() - start);
        let mut keys = vec![vec![0; rows.len()]; width];
        for (i, &row) in rows.iter().enumerate() {
            let values = &x.row(row as usize)[start..start + width];
            keys.iter_mut().zip(values).for_each(|(keys, &value)| keys[i] = key(value));
        }
        let mut spare = vec![];
        let columns = keys.iter_mut().enumerate().map(|(k, keys)| {
            sort(keys, &mut spare);
            of_column(start + k, &runs(keys))
        });
        columns.collect::<Vec<_>>()
    };
    groups.par_iter().flat_map_iter(of).collect()
}

fn sparse<T: Send>(x: &Features, rows: &[u32], of_column: &(impl Fn(usize, &[Run]) -> T + Sync)) -> Vec<T> {
    let mut keys: Vec<Vec<u32>> = vec![vec![]; x.cols()];
    let zero = key(0.0);
    for &row in rows {
        x.each(row as usize, |j, value| {
            if key(value) != zero {
                keys[j].push(key(value));
            }
        });
    }
    let of = |(j, keys): (usize, &mut Vec<u32>)| {
        keys.sort_unstable();
        let mut runs = runs(keys);
        let zeros = rows.len() - keys.len();
        if zeros > 0 {
            runs.insert(runs.partition_point(|run| run.0 < zero), (zero, zeros));
        }
        of_column(j, &runs)
    };
    keys.par_iter_mut().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::cases;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(200)))]

        #[test]
        fn keys_have_the_order_of_values(a in any::<f32>(), b in any::<f32>()) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            prop_assert_eq!(key(a).cmp(&key(b)), a.partial_cmp(&b).unwrap());
            prop_assert_eq!((value(key(a))).to_bits(), (a + 0.0).to_bits());
            prop_assert!(key(a) < key(f32::NAN));
        }

        #[test]
        fn the_sort_is_a_sort(mut keys in prop::collection::vec(any::<u32>(), 0..6000), same in 0u32..32) {
            keys.iter_mut().for_each(|key| *key >>= same);
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            sort(&mut keys, &mut vec![]);
            prop_assert_eq!(keys, sorted);
        }
    }
}
