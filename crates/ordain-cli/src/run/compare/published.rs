//! Figures of others, beside those of a comparison.

use crate::plan::Usage;
use anyhow::{Context, Result};
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

/// Reads a table of cells between commas, one figure in a line.
pub(super) fn read(path: &Path) -> Result<Vec<Published>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut lines = text.lines().enumerate();
    let head: Vec<&str> = lines.next().map_or(vec![], |(_, line)| line.split(',').map(str::trim).collect());
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
    for (line, text) in lines.filter(|(_, text)| !text.trim().is_empty()) {
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        let wrong = |expected: String, found: &str| {
            Usage(format!("--published {}:{}: expected {expected}, found {found:?}", path.display(), line + 1))
        };
        if cells.len() != head.len() {
            return Err(wrong(format!("{} cells", head.len()), text).into());
        }
        // means stand beside the folds that they are of
        let mean = fold.is_some_and(|fold| cells[fold].parse::<u32>().is_err());
        if mean || set.is_some_and(|set| !cells[set].eq_ignore_ascii_case("test")) {
            continue;
        }
        let number = cells[value].parse::<f64>().ok().filter(|x| x.is_finite());
        let number = number.ok_or_else(|| wrong("a number".into(), cells[value]))?;
        let own = match all.iter_mut().find(|own| own.label == cells[algorithm]) {
            Some(own) => own,
            None => {
                all.push(Published { label: cells[algorithm].to_owned(), values: vec![] });
                let last = all.len() - 1;
                &mut all[last]
            }
        };
        match own.values.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(cells[metric])) {
            Some((_, values)) => values.push(number),
            None => own.values.push((cells[metric].to_owned(), vec![number])),
        }
    }
    Ok(all)
}
