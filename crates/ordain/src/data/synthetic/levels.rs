//! Made-up queries with three levels of relevance in the plane.

use crate::data::{Columns, RankSet};
use crate::matrix::{Features, Matrix};
use crate::random::Random;

/// What the queries look like: the made-up set of the paper on ball ranking machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// Number of queries.
    pub queries: usize,
    /// Number of documents of each of the three levels.
    pub documents: usize,
    /// How far the centres of two levels are from one another, in standard deviations: 2 overlaps, 4 hardly does.
    pub side: f64,
    /// Seed.
    pub seed: u64,
}

impl Default for Levels {
    fn default() -> Self {
        Self { queries: 20, documents: 100, side: 4.0, seed: 1 }
    }
}

impl Levels {
    /// Makes the data: a document is a point around the centre of its level, the same centre in all queries.
    ///
    /// The centres of the grades 2, 1 and 0 are the corners of an equilateral triangle around the origin; deviations
    /// are normal with variance 1 in each direction. The paper does not say where its centres are.
    ///
    /// ```
    /// let set = ordain::data::synthetic::Levels::default().make();
    /// assert_eq!((set.len(), set.rows(), set.features.cols()), (20, 6000, 2));
    /// ```
    pub fn make(&self) -> RankSet {
        let mut random = Random::new(self.seed);
        let n = 3 * self.documents;
        let (mut values, mut grades) = (vec![], vec![]);
        for _ in 0..self.queries {
            for level in 0..3u32 {
                let angle = std::f64::consts::TAU * f64::from(level) / 3.0;
                let far = self.side / 3f64.sqrt();
                let centre = [far * angle.sin(), far * angle.cos()];
                for _ in 0..self.documents {
                    values.extend(centre.map(|x| (x + random.normal()) as f32));
                    grades.push(f64::from(2 - level));
                }
            }
        }
        let columns = Columns { names: vec!["1".into(), "2".into()], numbered: true, ..Columns::default() };
        let bounds = (0..=self.queries).map(|q| q * n).collect();
        let queries = (1..=self.queries).map(|q| q.to_string()).collect();
        RankSet::new(Features::Dense(Matrix::new(values, 2)), columns, grades, bounds, queries)
            .expect("the parts are made to fit together")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centres_are_a_side_apart_and_deviations_are_normal() {
        for side in [2.0, 4.0] {
            let set = Levels { side, queries: 20, ..Levels::default() }.make();
            assert!((0..set.len()).all(|q| set.span(q).len() == 300 && !set.is_flat(q)));
            let (mut sums, mut squares) = ([[0.0; 2]; 3], [[0.0; 2]; 3]);
            for row in 0..set.rows() {
                set.features.each(row, |j, x| {
                    sums[set.grades[row] as usize][j] += f64::from(x) / 2000.0;
                    squares[set.grades[row] as usize][j] += f64::from(x * x) / 2000.0;
                });
            }
            for (a, b) in [(0, 1), (1, 2), (2, 0)] {
                let far = (sums[a][0] - sums[b][0]).hypot(sums[a][1] - sums[b][1]);
                assert!((far - side).abs() < 0.15, "{a} and {b} are {far} apart");
                let spread: Vec<f64> = (0..2).map(|j| squares[a][j] - sums[a][j].powi(2)).collect();
                assert!(spread.iter().all(|v| (v - 1.0).abs() < 0.15), "{spread:?}");
            }
        }
    }

    #[test]
    fn the_seed_says_all() {
        let make = |seed| Levels { seed, ..Levels::default() }.make();
        assert!(make(3) == make(3) && make(3).features != make(4).features);
    }
}
