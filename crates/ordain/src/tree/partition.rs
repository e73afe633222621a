//! Rows of a leaf, sent left and right.

use rayon::prelude::*;

/// Rows that one thread takes at a time.
const PART: usize = 1 << 13;

/// Puts the rows that go left before the others, both in the order in which they stood; gives their number. `spare` is as long as `rows`.
pub(super) fn partition(rows: &mut [u32], spare: &mut [u32], left: impl Fn(u32) -> bool + Sync) -> usize {
    if rows.len() < 2 * PART || rayon::current_num_threads() == 1 {
        let count = part(rows, spare, &left);
        let right = rows.len() - count;
        rows[count..].copy_from_slice(&spare[..right]);
        return count;
    }
    let counts: Vec<usize> = rows
        .par_chunks_mut(PART)
        .zip(spare.par_chunks_mut(PART))
        .map(|(rows, spare)| part(rows, spare, &left))
        .collect();
    let mut to = 0;
    for (p, &count) in counts.iter().enumerate() {
        rows.copy_within(p * PART..p * PART + count, to);
        to += count;
    }
    let middle = to;
    for (p, &count) in counts.iter().enumerate() {
        let right = PART.min(rows.len() - p * PART) - count;
        rows[to..to + right].copy_from_slice(&spare[p * PART..p * PART + right]);
        to += right;
    }
    middle
}

/// What goes left to the front of `rows`, what goes right to the front of `spare`, without a branch.
fn part(rows: &mut [u32], spare: &mut [u32], left: &impl Fn(u32) -> bool) -> usize {
    let (mut a, mut b) = (0, 0);
    for i in 0..rows.len() {
        let row = rows[i];
        let left = usize::from(left(row));
        rows[a] = row;
        spare[b] = row;
        a += left;
        b += 1 - left;
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_keep_their_order() {
        for threads in [1, 2, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for size in [0, 1, 100, 2 * PART, 5 * PART + 17] {
                for modulus in [1, 2, 3, 1000, 1 << 30] {
                    let left = |row: u32| row.wrapping_mul(2_654_435_761).is_multiple_of(modulus);
                    let all: Vec<u32> = (0..size as u32).collect();
                    let (mut rows, mut spare) = (all.clone(), vec![0; size]);
                    let count = pool.install(|| partition(&mut rows, &mut spare, left));
                    let (a, b): (Vec<u32>, Vec<u32>) = all.into_iter().partition(|&row| left(row));
                    assert_eq!((&rows[..count], &rows[count..]), (&a[..], &b[..]));
                }
            }
        }
    }
}
