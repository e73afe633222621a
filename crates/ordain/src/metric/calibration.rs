//! Whether probabilities come true.

/// One bin of predicted probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// How many predictions fell into it.
    pub count: usize,
    /// Their sum.
    pub predicted: f64,
    /// The sum of what was so, each from 0 to 1.
    pub observed: f64,
}

/// Predictions in ten equal bins, beside what was so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    /// From 0 to 1 in steps of 0.1.
    pub bins: [Bin; 10],
}

impl Calibration {
    /// Adds a prediction and what was so.
    pub fn add(&mut self, predicted: f64, observed: f64) {
        let bin = &mut self.bins[((predicted * 10.0) as usize).min(9)];
        bin.count += 1;
        bin.predicted += predicted;
        bin.observed += observed;
    }

    /// All predictions of several.
    pub fn joined<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for part in parts {
            for (bin, more) in all.bins.iter_mut().zip(&part.bins) {
                bin.count += more.count;
                bin.predicted += more.predicted;
                bin.observed += more.observed;
            }
        }
        all
    }

    /// The expected calibration error: the distance of mean prediction and mean truth in each bin, weighted by its count.
    ///
    /// ```
    /// let mut calibration = ordain::metric::calibration::Calibration::default();
    /// calibration.add(0.75, 1.0);
    /// calibration.add(0.75, 0.0);
    /// assert_eq!(calibration.error(), 0.25);
    /// ```
    pub fn error(&self) -> f64 {
        let count: usize = self.bins.iter().map(|bin| bin.count).sum();
        self.bins.iter().map(|bin| (bin.predicted - bin.observed).abs()).sum::<f64>() / count.max(1) as f64
    }
}

/// For each document the share of the right orders that have it among the first k.
///
/// Documents of one grade share the places that are left to them: with a better ones and b of its own grade, the share is
/// `(k − a) / b`, cut to the range from 0 to 1.
///
/// ```
/// let head = ordain::metric::calibration::in_head(&[2.0, 1.0, 1.0, 0.0], 2);
/// assert_eq!(head, [1.0, 0.5, 0.5, 0.0]);
/// ```
pub fn in_head(grades: &[f64], k: usize) -> Vec<f64> {
    let mut sorted = grades.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    grades
        .iter()
        .map(|grade| {
            let better = sorted.partition_point(|x| x > grade);
            let same = sorted.partition_point(|x| x >= grade) - better;
            ((k as f64 - better as f64) / same as f64).clamp(0.0, 1.0)
        })
        .collect()
}
