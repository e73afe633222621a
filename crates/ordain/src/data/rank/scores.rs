//! Scores of another model: a number per line, in the order of the rows.

use crate::data::source::read_lines;
use crate::error::{Error, Result};
use std::path::Path;

/// Reads a finite score for each of so many rows, in the order of the file; empty lines count for nothing.
///
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("scores.txt");
/// std::fs::write(&path, "0.5\n-1e-3\n").unwrap();
/// assert_eq!(ordain::data::read_scores(&path, 2)?, [0.5, -0.001]);
/// assert!(ordain::data::read_scores(&path, 3).is_err());
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn read_scores(path: &Path, rows: usize) -> Result<Vec<f64>> {
    let mut scores = vec![];
    for (line, word) in (1..).zip(&read_lines(path)?).filter(|(_, word)| !word.is_empty()) {
        match word.parse::<f64>() {
            Ok(score) if score.is_finite() => scores.push(score),
            _ => {
                return Err(Error::Parse {
                    path: path.into(),
                    line,
                    column: 1,
                    expected: "one finite score per line".into(),
                    found: format!("{:?}", word.chars().take(60).collect::<String>()),
                });
            }
        }
    }
    if scores.len() != rows {
        return Err(Error::Content {
            path: path.into(),
            expected: format!("{rows} scores, one per row of the data"),
            found: scores.len().to_string(),
        });
    }
    Ok(scores)
}
