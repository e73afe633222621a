//! The few largest of many numbers.

use super::wide;

/// Numbers that are taken at once.
const BLOCK: usize = 16;

#[inline(always)]
fn larger(x: f64, y: f64) -> f64 {
    if x > y { x } else { y }
}

/// Puts a number among the `count` largest, falling, behind equal ones; what the next one has to exceed.
#[inline]
fn put(x: (f64, u32), count: usize, short: &mut Vec<(f64, u32)>, least: f64) -> f64 {
    if short.len() < count {
        short.push(x);
    }
    let mut to = short.len() - 1;
    while to > 0 && short[to - 1].0 < x.0 {
        short[to] = short[to - 1];
        to -= 1;
    }
    short[to] = x;
    if short.len() == count { short[count - 1].0 } else { least }
}

/// Buffers of [`Largest::find`].
#[derive(Default)]
pub(super) struct Largest {
    /// The largest numbers, falling, with their places.
    pub(super) short: Vec<(f64, u32)>,
    /// The largest of each block.
    peaks: Vec<f64>,
}

impl Largest {
    /// Finds the `count` largest of `row`, at least one; equal ones by place. Those of −∞ are left out.
    ///
    /// Up to eight, a first pass tells what they are at least, and only blocks with a number as large are looked into. O(n).
    pub(super) fn find(&mut self, row: &[f64], count: usize) {
        wide::find(self, row, count);
    }

    #[inline(always)]
    pub(super) fn find_plainly(&mut self, row: &[f64], count: usize) {
        let mut least = self.reached(row, count).next_down();
        let Self { short, peaks } = self;
        short.clear();
        let (blocks, rest) = row.as_chunks::<BLOCK>();
        for (at, (block, &peak)) in blocks.iter().zip(&*peaks).enumerate() {
            if peak <= least {
                continue;
            }
            for (lane, &x) in block.iter().enumerate() {
                if x > least {
                    least = put((x, (at * BLOCK + lane) as u32), count, short, least);
                }
            }
        }
        for (at, &x) in rest.iter().enumerate() {
            if x > least {
                least = put((x, (blocks.len() * BLOCK + at) as u32), count, short, least);
            }
        }
    }

    /// What `count` numbers of `row` reach: the largest of eight parts, by their rank. −∞ for more than eight.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // lane i of both at once
    fn reached(&mut self, row: &[f64], count: usize) -> f64 {
        const PARTS: usize = BLOCK / 2;
        let mut most = [f64::NEG_INFINITY; PARTS];
        let blocks = row.as_chunks::<BLOCK>().0;
        self.peaks.resize(blocks.len(), 0.0);
        for (block, peak) in blocks.iter().zip(&mut self.peaks) {
            let mut half = [0.0; PARTS];
            for lane in 0..PARTS {
                half[lane] = larger(block[lane], block[lane + PARTS]);
                most[lane] = larger(most[lane], half[lane]);
            }
            for lane in 0..PARTS / 2 {
                half[lane] = larger(half[lane], half[lane + PARTS / 2]);
            }
            *peak = larger(larger(half[0], half[2]), larger(half[1], half[3]));
        }
        most.sort_unstable_by(|a, b| b.total_cmp(a));
        if count <= PARTS { most[count - 1] } else { f64::NEG_INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_largest_are_those_of_a_sort() {
        let (mut random, mut found) = (Random::new(5), Largest::default());
        for round in 0..2000 {
            let (n, count) = (random.below(70), 1 + random.below(12));
            // whole numbers, so that there are equal ones, and -inf
            let row: Vec<f64> = (0..n)
                .map(|_| match random.below(20) {
                    0 => f64::NEG_INFINITY,
                    x if round % 2 == 0 => x as f64,
                    _ => random.normal(),
                })
                .collect();
            let mut sorted: Vec<(f64, u32)> = (0..n as u32).map(|at| (row[at as usize], at)).collect();
            sorted.retain(|x| x.0 > f64::NEG_INFINITY);
            sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
            sorted.truncate(count);
            found.find(&row, count);
            assert_eq!(found.short, sorted);
        }
    }
}
