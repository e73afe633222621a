//! Figures of others, beside those of a comparison.

use crate::plan::Usage;
use anyhow::Result;
use ordain::data::all_texts;
use ordain::metric::{Kind, Metric, stats};
use std::path::Path;

/// What somebody published of one algorithm: the mean over folds by metric, as they came.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Published {
    pub(super) label: String,
    pub(super) values: Vec<(String, Vec<f64>)>,
}

impl Published {
    /// The value of a metric, by its name in any case.
    pub(super) fn value(&self, metric: &str) -> Option<f64> {
        let known = self.values.iter().find(|(name, _)| name.eq_ignore_ascii_case(metric));
        known.map(|(_, values)| stats::mean(values))
    }

    /// NDCG@k, as far as it is known.
    pub(super) fn curve(&self) -> Vec<(usize, f64)> {
        let at = |k: usize| Some((k, self.value(&Metric { kind: Kind::Ndcg, k: Some(k) }.to_string())?));
        (1..=10).filter_map(at).collect()
    }
}

/// Reads a table with a figure in each row.
pub(super) fn read(path: &Path) -> Result<Vec<Published>> {
    let (head, rows) = all_texts(path)?;
    let column = |name: &str| head.iter().position(|own| own.eq_ignore_ascii_case(name));
    let needed = |name: &str| {
        column(name).ok_or_else(|| {
            Usage(format!(
                "--published {}: expected the columns algorithm, metric and value, found {}",
                path.display(),
                head.join(", ")
            ))
        })
    };
    let (algorithm, metric, value) = (needed("algorithm")?, needed("metric")?, needed("value")?);
    let (set, fold) = (column("set"), column("fold"));
    let mut all: Vec<Published> = vec![];
    for (line, cells) in (2..).zip(rows) {
        // means stand beside the folds that they are of
        let mean = fold.is_some_and(|fold| cells[fold].parse::<u32>().is_err());
        if mean || set.is_some_and(|set| !cells[set].eq_ignore_ascii_case("test")) {
            continue;
        }
        let figure = cells[value].parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(|| {
            let path = path.display();
            Usage(format!("--published {path}:{line}: expected a number, found {:?}", cells[value]))
        })?;
        let own = match all.iter_mut().find(|own| own.label == cells[algorithm]) {
            Some(own) => own,
            None => {
                all.push(Published { label: cells[algorithm].clone(), values: vec![] });
                let last = all.len() - 1;
                &mut all[last]
            }
        };
        match own.values.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(&cells[metric])) {
            Some((_, values)) => values.push(figure),
            None => own.values.push((cells[metric].clone(), vec![figure])),
        }
    }
    Ok(all)
}
