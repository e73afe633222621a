//! The candidate pairs as a table.

use super::Candidates;
use crate::data::write_rows;
use crate::error::Result;
use std::path::Path;

impl Candidates<'_> {
    /// Writes the candidate pairs as a table of edges, a problem for each left record: the fields of both records, to be shown to a person, and the comparisons.
    pub fn write_pairs(&self, path: &Path) -> Result<()> {
        let shown = &self.set.columns.roles.ignore;
        let names = ["problem", "left", "right"].into_iter().chain(shown.iter().map(String::as_str));
        write_rows(path, names.chain(self.set.columns.names.iter().map(String::as_str)), |write| {
            let fields: Vec<_> = self
                .fields
                .iter()
                .filter_map(|field| Some([self.left.field(&field.name)?, self.right.field(&field.name)?]))
                .collect();
            let mut numbers: Vec<String> = vec![];
            for (row, &(i, j)) in self.pairs.iter().enumerate() {
                let (i, j) = (i as usize, j as usize);
                let (left, right) = (self.left.ids[i].as_str(), self.right.ids[j].as_str());
                let cells =
                    fields.iter().flat_map(|[a, b]| [&a[i], &b[j]]).map(|cell| cell.as_deref().unwrap_or_default());
                numbers.clear();
                numbers.resize(self.set.columns.names.len(), "0".into());
                self.set.features.each(row, |at, x| numbers[at] = x.to_string());
                write(&mut [left, left, right].into_iter().chain(cells).chain(numbers.iter().map(String::as_str)))?;
            }
            Ok(())
        })
    }
}
