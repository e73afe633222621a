//! Several seeds of one method.

use super::Entry;
use ordain::metric::Evaluation;
use ordain::metric::stats::mean;

impl Entry {
    /// The same without results, for each further one of so many seeds.
    pub(super) fn again(&self, seeds: u64) -> Vec<Self> {
        let fresh = || Self::fresh(&self.label, self.name, self.chooses, self.result.clone());
        (1..seeds).map(|_| fresh()).collect()
    }

    /// Whether another seed came to the same results, to the last bit.
    pub(super) fn is_level_with(&self, other: &Self) -> bool {
        let bits = |of: &Evaluation| -> Vec<Option<u64>> {
            of.values.iter().flatten().map(|value| value.map(f64::to_bits)).collect()
        };
        bits(&self.result) == bits(&other.result)
    }

    /// Takes the mean over seeds of every value; what is no mean of metrics stays that of the first seed, seconds are those of one.
    pub(super) fn join(&mut self, others: Vec<Self>) {
        if others.is_empty() {
            return;
        }
        let means = |of: &Self| (0..of.result.metrics.len()).map(|m| of.fold_mean(m)).collect::<Vec<f64>>();
        self.seeds = std::iter::once(means(self)).chain(others.iter().map(means)).collect();
        let results: Vec<&Evaluation> = others.iter().map(|other| &other.result).collect();
        average(&mut self.result, &results);
        if let Some(curve) = &mut self.curve {
            average(curve, &others.iter().filter_map(|other| other.curve.as_ref()).collect::<Vec<_>>());
        }
        for (fold, means) in self.fold_means.iter_mut().enumerate() {
            for (m, own) in means.iter_mut().enumerate() {
                let all = others.iter().filter_map(|other| other.fold_means.get(fold)?.get(m)).copied();
                *own = mean(&std::iter::once(*own).chain(all).collect::<Vec<f64>>());
            }
        }
        let count = (others.len() + 1) as f64;
        self.fit = (self.fit + others.iter().map(|other| other.fit).sum::<f64>()) / count;
        self.predict = (self.predict + others.iter().map(|other| other.predict).sum::<f64>()) / count;
        self.bytes = others.iter().map(|other| other.bytes).fold(self.bytes, usize::max);
        self.support = others.iter().map(|other| other.support).fold(self.support, usize::max);
    }

    /// What is said of the seeds, by one metric.
    pub(super) fn seeds_text(&self, metric: usize, name: &str) -> String {
        let values: Vec<f64> = self.seeds.iter().map(|means| means[metric]).collect();
        if values.is_empty() {
            return String::new();
        }
        let (centre, ends) = (mean(&values), |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick));
        let spread = values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
        format!(
            "\n{}: means of {} seeds; {name} {:.4} to {:.4} between them, standard deviation {:.4}\n",
            self.label,
            values.len(),
            ends(f64::min).unwrap_or(centre),
            ends(f64::max).unwrap_or(centre),
            spread.sqrt()
        )
    }
}

fn average(of: &mut Evaluation, others: &[&Evaluation]) {
    for (m, values) in of.values.iter_mut().enumerate() {
        for (unit, own) in values.iter_mut().enumerate() {
            let all = others.iter().filter_map(|other| *other.values.get(m)?.get(unit)?);
            *own = own.map(|own| mean(&std::iter::once(own).chain(all).collect::<Vec<f64>>()));
        }
    }
}
