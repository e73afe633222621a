//! Files of other programs as tables of ours: logs of features of search engines, and edges of splink.

mod search;
mod splink;

use crate::data::records::write_rows;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

pub use splink::write_splink;

/// What another program wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// Answers of `_search` with the log of Learning to Rank for Elasticsearch or OpenSearch.
    EsLog,
    /// Answers of Solr with `[features]`.
    Solr,
    /// Edges that splink predicted.
    Splink,
}

/// A table that was made of files of another program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignTable {
    /// The names of its columns.
    pub header: Vec<String>,
    /// Its cells, empty where there is no value.
    pub rows: Vec<Vec<String>>,
    /// Features without a value.
    pub missing: usize,
    /// Of search engines: documents without a judgement, which count as grade 0. Of splink: labels of pairs that are no edges.
    pub unjudged: usize,
}

impl ForeignTable {
    /// Writes it, as CSV or as TSV if the name of the file says so.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_rows(path, self.header.iter().map(String::as_str), |row| {
            self.rows.iter().try_for_each(|cells| row(&mut cells.iter().map(String::as_str)))
        })
    }
}

/// Reads files of another program as one table.
///
/// *Elasticsearch*: one answer of `_search`, or one per line. A hit is a row with its `_id` and the features of `fields._ltrlog`; of several logs
/// features are named `log.feature`. *Solr*: the documents of `response.docs`, with `id` and `[features]` (`a=1,b=2`). An answer is one query:
/// its member `qid`, of Solr else the parameter `q`, else the name of its file. A feature that is not logged for a document has no value.
/// Grades are those of `beside`, a file of TREC qrels; a document that is not in it has grade 0.
///
/// *splink*: a table of edges. Columns `gamma_…` (−1 is no value) and `match_weight` are features, `unique_id_l` and `unique_id_r` the items,
/// and a problem is what edges join, named by its least id. `clerical_match_score`, from a half on a match, is a column of the table or of
/// `beside`, a table with `unique_id_l` and `unique_id_r`.
///
/// ```
/// use ordain::data::{Foreign, read_foreign};
/// # let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("boots.json");
/// std::fs::write(&path, r#"{"hits": {"hits": [{"_id": "b1", "fields": {"_ltrlog": [{"log": [{"name": "bm25", "value": 2.5}]}]}}]}}"#).unwrap();
/// let table = read_foreign(&[path], Foreign::EsLog, None)?;
/// assert_eq!((table.header.join(","), table.rows[0].join(",")), ("qid,docid,bm25".into(), "boots,b1,2.5".into()));
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Parse`] with the place where a file is not what it should be, [`Error::Content`] where a document or a feature is there twice, a
/// feature has a name with a meaning, or nothing is there.
pub fn read_foreign(files: &[PathBuf], from: Foreign, beside: Option<&Path>) -> Result<ForeignTable> {
    let table = match from {
        Foreign::EsLog | Foreign::Solr => search::read(files, from, beside)?,
        Foreign::Splink => splink::read(files, beside)?,
    };
    match (table.rows.is_empty(), files.first()) {
        (true, Some(path)) => Err(Error::Content { path: path.clone(), expected: "rows".into(), found: "none".into() }),
        _ => Ok(table),
    }
}
