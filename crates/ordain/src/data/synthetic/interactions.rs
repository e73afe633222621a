//! Queries whose grades depend on pairs of columns.

use crate::data::{Columns, RankSet};
use crate::matrix::{Features, Matrix};
use crate::random::Random;

/// What data with strong interactions look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Interactions {
    /// Number of queries.
    pub queries: usize,
    /// Least and largest number of documents of a query.
    pub documents: (usize, usize),
    /// Number of features, at least 12.
    pub features: usize,
    /// Standard deviation of the noise on the true score, whose own is about 1.
    pub noise: f64,
    /// Seed.
    pub seed: u64,
}

impl Default for Interactions {
    fn default() -> Self {
        Self { queries: 300, documents: (10, 40), features: 20, noise: 0.5, seed: 1 }
    }
}

impl Interactions {
    /// Makes the data: products and thresholds of pairs of columns, a little of single ones, and noise.
    ///
    /// ```text
    /// score = ½ (x1·x2 − x3·x4 + [x5 > 0][x6 > 0] + [x7 < x8] − [|x9| < ½][x10 > 0]) + 0.2 (x11 + x12) + noise
    /// ```
    ///
    /// Features are standard normal. Grades go from 0 to 4; about half of the documents get 0.
    ///
    /// ```
    /// let set = ordain::data::synthetic::Interactions::default().make();
    /// assert_eq!((set.len(), set.features.cols()), (300, 20));
    /// ```
    pub fn make(&self) -> RankSet {
        let (mut random, d) = (Random::new(self.seed), self.features.max(12));
        let (mut values, mut grades, mut bounds) = (vec![], vec![], vec![0]);
        for _ in 0..self.queries {
            let n = self.documents.0 + random.below(self.documents.1 - self.documents.0 + 1);
            for _ in 0..n {
                let x: Vec<f64> = (0..d).map(|_| random.normal()).collect();
                let is = |holds: bool| f64::from(u8::from(holds));
                let pairs = x[0] * x[1] - x[2] * x[3] + is(x[4] > 0.0) * is(x[5] > 0.0) + is(x[6] < x[7])
                    - is(x[8].abs() < 0.5) * is(x[9] > 0.0);
                let score = 0.5 * pairs + 0.2 * (x[10] + x[11]) + self.noise * random.normal();
                grades.push(((score - 0.3) / 0.5 + 1.0).floor().clamp(0.0, 4.0));
                values.extend(x.iter().map(|&x| x as f32));
            }
            bounds.push(grades.len());
        }
        let columns = Columns { names: (1..=d).map(|j| j.to_string()).collect(), numbered: true, ..Columns::default() };
        let queries = (1..=self.queries).map(|q| q.to_string()).collect();
        RankSet::new(Features::Dense(Matrix::new(values, d)), columns, grades, bounds, queries)
            .expect("the parts are made to fit together")
    }
}
