//! Lists of documents drawn from queries, for methods that train on them.

use crate::data::RankSet;
use crate::random::Random;

/// Lists of documents of queries, each from the best grade to the least.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lists {
    /// Places of documents within their query, list after list.
    pub rows: Vec<u32>,
    /// Where each list ends in `rows`.
    pub ends: Vec<usize>,
    /// Where the lists of each query end in `ends`.
    pub of_query: Vec<usize>,
}

/// Which lists are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// Every query as it is.
    Whole,
    /// Subsets of `size` documents with at least one of every grade, `share · documents · size` of them per query.
    Subsets {
        /// Documents of a subset.
        size: usize,
        /// Subsets of a query, as a share of documents times size.
        share: f64,
    },
    /// All pairs of documents of different grades.
    Pairs,
}

impl Lists {
    /// Number of lists.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The lists of query `n`, by number.
    pub fn of(&self, n: usize) -> std::ops::Range<usize> {
        if n == 0 { 0..self.of_query[0] } else { self.of_query[n - 1]..self.of_query[n] }
    }

    /// Where list `l` stands in `rows`.
    pub fn span(&self, l: usize) -> std::ops::Range<usize> {
        if l == 0 { 0..self.ends[0] } else { self.ends[l - 1]..self.ends[l] }
    }

    /// Draws lists from the queries `units`; each query has a stream of random numbers of its own.
    ///
    /// \[EFM\] section 5.1: subsets are uniform among those with at least one document of every grade. A query that
    /// lacks one of the `grades` grades of the data gives lists of one document of each grade that it has.
    pub fn draw(set: &RankSet, units: &[u32], how: Draw, grades: usize, seed: u64) -> Self {
        let mut lists = Self::default();
        for &q in units {
            let own = &set.grades[set.span(q as usize)];
            let mut order: Vec<u32> = (0..own.len() as u32).collect();
            order.sort_by(|&a, &b| own[b as usize].total_cmp(&own[a as usize]).then(a.cmp(&b)));
            match how {
                Draw::Whole => lists.push(&order),
                Draw::Pairs => {
                    for (i, &a) in order.iter().enumerate() {
                        for &b in &order[i + 1..] {
                            if own[a as usize] > own[b as usize] {
                                lists.push(&[a, b]);
                            }
                        }
                    }
                }
                Draw::Subsets { size, share } => {
                    let levels: Vec<&[u32]> = order.chunk_by(|&a, &b| own[a as usize] <= own[b as usize]).collect();
                    let size = if levels.len() < grades { levels.len() } else { size.min(order.len()) };
                    let count = (share * order.len() as f64 * size as f64).round().max(1.0) as usize;
                    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ set.number(q));
                    let ways = ways(&levels, size);
                    (0..count).for_each(|_| lists.push(&subset(&levels, size, &ways, &mut random)));
                }
            }
            lists.of_query.push(lists.ends.len());
        }
        lists
    }

    fn push(&mut self, rows: &[u32]) {
        self.rows.extend_from_slice(rows);
        self.ends.push(self.rows.len());
    }
}

/// `n` choose `k`, as a float.
fn choose(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (k - i) as f64).product()
}

/// `ways[g][m]`: in how many ways m documents can be taken from grade g and those after it, at least one of each.
fn ways(levels: &[&[u32]], size: usize) -> Vec<Vec<f64>> {
    let mut ways = vec![vec![0.0; size + 1]; levels.len() + 1];
    ways[levels.len()][0] = 1.0;
    for g in (0..levels.len()).rev() {
        for m in 1..=size {
            ways[g][m] = (1..=m.min(levels[g].len())).map(|x| choose(levels[g].len(), x) * ways[g + 1][m - x]).sum();
        }
    }
    ways
}

/// One subset, uniform among all: first how many of each grade, then which.
fn subset(levels: &[&[u32]], size: usize, ways: &[Vec<f64>], random: &mut Random) -> Vec<u32> {
    let (mut out, mut left) = (vec![], size);
    for (g, level) in levels.iter().enumerate() {
        let mut at = random.uniform() * ways[g][left];
        let most = level.len().min(left - (levels.len() - 1 - g));
        let mut take = 1;
        while take < most {
            at -= choose(level.len(), take) * ways[g + 1][left - take];
            if at < 0.0 && ways[g + 1][left - take] > 0.0 {
                break;
            }
            take += 1;
        }
        // what is left must still fit into the grades below
        while take > 1 && left - take > 0 && ways[g + 1][left - take] <= 0.0 {
            take -= 1;
        }
        // Floyd's way to a uniform subset
        let start = out.len();
        for j in level.len() - take..level.len() {
            let row = level[random.below(j + 1)];
            let row = if out[start..].contains(&row) { level[j] } else { row };
            out.push(row);
        }
        left -= take;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::synthetic::Synthetic;
    use std::collections::HashMap;

    #[test]
    fn subsets_have_every_grade_and_are_uniform() {
        // grades 2, 1, 1, 0, 0, 0: of the 20 subsets of 3 the 6 with one of each; of 4: C(6,4) − those that lack one
        let levels: [&[u32]; 3] = [&[0], &[1, 2], &[3, 4, 5]];
        for (size, expected) in [(3, 6), (4, 9), (5, 5), (6, 1)] {
            let ways = ways(&levels, size);
            assert!((ways[0][size] - f64::from(expected)).abs() < 1e-9, "{size}: {}", ways[0][size]);
            let mut seen: HashMap<Vec<u32>, usize> = HashMap::new();
            let mut random = Random::new(size as u64);
            let draws = 6000;
            for _ in 0..draws {
                let mut one = subset(&levels, size, &ways, &mut random);
                assert!(one.len() == size && one.windows(2).all(|w| w[0] / 3 <= w[1] / 3 || w[0] < 3));
                one.sort_unstable();
                *seen.entry(one).or_default() += 1;
            }
            assert_eq!(seen.len(), expected as usize, "{size}");
            // chi-square, at most 8 degrees of freedom: 26.1 is passed by chance once in a thousand
            let mean = f64::from(draws) / f64::from(expected);
            let chi: f64 = seen.values().map(|&n| (n as f64 - mean).powi(2) / mean).sum();
            assert!(chi < 26.1, "{size}: {chi}");
        }
    }

    #[test]
    fn counts_are_those_of_the_paper() {
        let set = Synthetic { queries: 20, documents: (20, 40), grades: 3, ..Synthetic::default() }.make();
        let units: Vec<u32> = set.all().into_iter().filter(|&q| !set.is_flat(q as usize)).collect();
        let lists = Lists::draw(&set, &units, Draw::Subsets { size: 3, share: 0.4 }, 3, 7);
        for (n, &q) in units.iter().enumerate() {
            let grades = &set.grades[set.span(q as usize)];
            let complete = (0..3).all(|g| grades.contains(&f64::from(g)));
            let size = if complete { 3 } else { 2 };
            assert_eq!(lists.of(n).len(), (0.4 * grades.len() as f64 * f64::from(size)).round() as usize);
            for l in lists.of(n) {
                let own: Vec<f64> = lists.rows[lists.span(l)].iter().map(|&row| grades[row as usize]).collect();
                assert!(own.len() == size as usize && own.windows(2).all(|w| w[0] > w[1]));
            }
        }
        assert_eq!(lists, Lists::draw(&set, &units, Draw::Subsets { size: 3, share: 0.4 }, 3, 7));
        assert_ne!(lists, Lists::draw(&set, &units, Draw::Subsets { size: 3, share: 0.4 }, 3, 8));
        let pairs = Lists::draw(&set, &units, Draw::Pairs, 3, 0);
        let different = units.iter().map(|&q| {
            let grades = &set.grades[set.span(q as usize)];
            grades.iter().map(|a| grades.iter().filter(|b| a > *b).count()).sum::<usize>()
        });
        assert_eq!(pairs.len(), different.sum::<usize>());
    }
}
