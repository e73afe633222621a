//! Made-up ranking data, for the demo, the tests and the benchmarks.

use super::{Columns, RankSet};
use crate::matrix::{Features, Matrix};
use crate::random::Random;

/// What made-up data look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// Number of queries.
    pub queries: usize,
    /// Least and largest number of documents of a query.
    pub documents: (usize, usize),
    /// Number of features.
    pub features: usize,
    /// Number of grades, from 0.
    pub grades: usize,
    /// Standard deviation of the noise on the true score, whose own is 1.
    pub noise: f64,
    /// Seed.
    pub seed: u64,
}

impl Default for Synthetic {
    fn default() -> Self {
        Self { queries: 300, documents: (10, 40), features: 20, grades: 4, noise: 1.0, seed: 1 }
    }
}

impl Synthetic {
    /// Makes the data: a true linear score plus noise, cut into grades, under features that mislead as real ones do.
    ///
    /// Each feature has its own unit (spread over three decades), an offset and a spread that change from query to
    /// query, half of the features carry nothing, and the last one is constant. About half of the documents get grade
    /// 0, and each higher grade is rarer.
    ///
    /// ```
    /// let set = ordain::data::synthetic::Synthetic::default().make();
    /// assert_eq!((set.len(), set.features.cols()), (300, 20));
    /// ```
    pub fn make(&self) -> RankSet {
        let mut random = Random::new(self.seed);
        let d = self.features;
        let truth: Vec<f64> = (0..d).map(|j| if j % 2 == 0 { random.normal() } else { 0.0 }).collect();
        let norm = truth.iter().map(|w| w * w).sum::<f64>().sqrt().max(1e-9);
        let unit: Vec<f64> = (0..d).map(|_| 10f64.powf(3.0 * random.uniform() - 1.5)).collect();
        let (mut values, mut grades, mut bounds) = (vec![], vec![], vec![0]);
        for _ in 0..self.queries {
            let n = self.documents.0 + random.below(self.documents.1 - self.documents.0 + 1);
            let shift: Vec<f64> = (0..d).map(|_| 2.0 * random.normal()).collect();
            let spread: Vec<f64> = (0..d).map(|_| (0.4 * random.normal()).exp()).collect();
            for _ in 0..n {
                let mut score = self.noise * random.normal();
                for j in 0..d {
                    let x = random.normal();
                    score += truth[j] / norm * x;
                    values.push(if j + 1 == d && d > 1 { 1.0 } else { (unit[j] * (spread[j] * x + shift[j])) as f32 });
                }
                // grade g needs a score above 0, 0.8, 1.6, … of one standard deviation
                let steps = score / (1.0 + self.noise * self.noise).sqrt() / 0.8;
                grades.push((steps + 1.0).floor().clamp(0.0, self.grades as f64 - 1.0));
            }
            bounds.push(grades.len());
        }
        let columns = Columns { names: (1..=d).map(|j| j.to_string()).collect(), numbered: true };
        let queries = (1..=self.queries).map(|q| q.to_string()).collect();
        RankSet::new(Features::Dense(Matrix::new(values, d)), columns, grades, bounds, queries)
            .expect("the parts are made to fit together")
    }
}
