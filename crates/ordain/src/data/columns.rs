//! The columns of a data set: their names, and what is done to all values of a column alike.

use crate::data::cells::Cells;
use crate::data::strings::short;
use crate::data::table::Roles;
use crate::error::{Error, Result};
use crate::matrix::{Csr, Features, Matrix};
use crate::pieces::{self, Pieces, add_up, tree};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

/// The columns of a data set, by name.
#[derive(Clone, Debug, Default, Eq, Serialize, Deserialize)]
pub struct Columns {
    /// One name per column; the index where the file gave only numbers.
    pub names: Vec<String>,
    /// Whether the names are only the indices of an SVMlight file, where an absent index means 0.
    pub numbered: bool,
    /// The columns of the table that were no features.
    #[serde(default, skip_serializing_if = "Roles::is_empty")]
    pub roles: Roles,
    /// Columns whose values lose more than 1e-6 of their spread in single precision, as far as a reader saw it.
    #[serde(skip)]
    pub coarse: Vec<String>,
    /// Columns whose values are places of cells, until steps make numbers of them.
    #[serde(skip)]
    pub cells: Option<Cells>,
}

/// What a reader noticed is no part of what columns are.
impl PartialEq for Columns {
    fn eq(&self, other: &Self) -> bool {
        let Self { names, numbered, roles, coarse: _, cells: _ } = self;
        (names, numbered, roles) == (&other.names, &other.numbered, &other.roles)
    }
}

impl Columns {
    /// Columns of these names; a table whose columns are all numbers is LETOR text in another dress.
    pub fn of(names: Vec<String>) -> Self {
        Self { numbered: !names.is_empty() && names.iter().all(|name| is_index(name)), names, ..Self::default() }
    }

    /// Columns of these names, which are names even if they look like numbers.
    pub fn named(names: Vec<String>) -> Self {
        Self { names, ..Self::default() }
    }

    /// The columns 1, 2, … of data without names.
    pub fn numbered(n: usize) -> Self {
        Self { names: (1..=n).map(|j| j.to_string()).collect(), numbered: true, ..Self::default() }
    }

    /// The columns of text, by their indices and the names that some of them have.
    pub(in crate::data) fn of_indices(ids: &[u32], names: &HashMap<u32, String>, coarse: &[u32]) -> Self {
        let name = |id: &u32| names.get(id).cloned().unwrap_or_else(|| id.to_string());
        Self {
            names: ids.iter().map(name).collect(),
            numbered: !ids.iter().any(|id| names.contains_key(id)),
            coarse: coarse.iter().map(name).collect(),
            ..Self::default()
        }
    }

    /// Notes the coarse columns of another file of the same set.
    pub(in crate::data) fn also_coarse(&mut self, other: &[String]) {
        let new: Vec<String> = other.iter().filter(|name| !self.coarse.contains(name)).cloned().collect();
        self.coarse.extend(new);
    }

    /// Whether names and order are the same.
    pub fn same(&self, other: &Self) -> bool {
        self.numbered == other.numbered && self.names == other.names
    }

    /// The column that a person means by a name or by a number.
    pub fn find(&self, wanted: &str) -> Result<usize> {
        self.names
            .iter()
            .position(|name| name == wanted)
            .or_else(|| {
                let number: usize = wanted.parse().ok()?;
                (!self.numbered && (1..=self.names.len()).contains(&number)).then(|| number - 1)
            })
            .ok_or_else(|| Error::unknown("feature", wanted, &self.names))
    }
}

/// Names in which data and model differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aligned {
    /// In the model, nowhere in the data: they count as 0.
    pub absent: Vec<String>,
    /// In the data, unknown to the model: they carry no weight.
    pub unknown: Vec<String>,
    /// Other names in the data that the model does not know: labels.
    pub labels: Vec<String>,
}

/// Puts columns into the order of a model's, by name.
///
/// Named columns must be the same set. Of numbered columns an absent one is 0, as the format has it, and one that the
/// model does not know is left out; the names of both are returned.
pub(super) fn align(features: &mut Features, columns: &mut Columns, to: &Columns) -> Result<Aligned> {
    if columns.same(to) {
        return Ok(Aligned::default());
    }
    let here: HashMap<&str, u32> = columns.names.iter().zip(0u32..).map(|(name, j)| (name.as_str(), j)).collect();
    let from: Vec<Option<u32>> = to.names.iter().map(|name| here.get(name.as_str()).copied()).collect();
    let known: HashSet<&str> = to.names.iter().map(String::as_str).collect();
    let extra: Vec<String> = columns.names.iter().filter(|name| !known.contains(name.as_str())).cloned().collect();
    let missing: Vec<String> =
        to.names.iter().zip(&from).filter(|(_, j)| j.is_none()).map(|(name, _)| name.clone()).collect();
    let loose = columns.numbered && to.numbered;
    if !(missing.is_empty() && extra.is_empty() || loose) {
        return Err(Error::Features { missing, extra });
    }
    *features = features.select_columns(&from);
    let coarse = std::mem::take(&mut columns.coarse).into_iter().filter(|name| known.contains(name.as_str())).collect();
    *columns = Columns { coarse, ..to.clone() };
    Ok(Aligned { absent: missing, unknown: extra, labels: vec![] })
}

/// The mean of each column over the values that some rows have, 0 where there is none; and the columns with gaps.
pub(super) fn means(
    features: &Features,
    pieces: &Pieces,
    rows: impl Iterator<Item = Range<usize>>,
) -> (Vec<f32>, Vec<u32>) {
    let (cols, mut runs) = (features.cols(), pieces.row_runs(rows));
    let count: usize = runs.iter().flat_map(|(_, rows)| rows).map(Range::len).sum();
    // sums, and how many values are missing: whole numbers
    let leaf = |run: &mut pieces::Rows| {
        let mut all = vec![0.0f64; 2 * cols];
        for row in run.1.iter().cloned().flatten() {
            features.each(row, |j, x| if x.is_nan() { all[cols + j] += 1.0 } else { all[j] += f64::from(x) });
        }
        Ok::<_, ()>(all)
    };
    let all = tree(&mut runs, &|run| run.0, &leaf, &add_up).ok().flatten().unwrap_or_else(|| vec![0.0; 2 * cols]);
    let (sums, gaps) = all.split_at(cols);
    let known = gaps.iter().map(|&gaps| count as f64 - gaps);
    let means =
        sums.iter().zip(known).map(|(sum, known)| if known > 0.0 { (sum / known) as f32 } else { 0.0 }).collect();
    (means, (0..cols as u32).filter(|&j| gaps[j as usize] > 0.0).collect())
}

/// What gaps were filled with. Only filling makes one, so that a model says what was done to its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filled {
    missing: Missing,
    means: Option<Vec<f32>>,
}

impl Filled {
    /// What missing values mean.
    pub fn missing(&self) -> Missing {
        self.missing
    }

    /// The same where some of the columns were kept, so many were made behind those of the data, and what says where gaps were follows.
    pub(crate) fn expanded(&self, kept: &[usize], made: usize) -> Self {
        let means = self.means.as_ref().map(|means| {
            let own = kept.iter().filter_map(|&j| means.get(j)).copied();
            own.chain(std::iter::repeat_n(0.0, made)).collect()
        });
        Self { means, ..self.clone() }
    }

    /// The value put into each column of the data, with [`Missing::Mean`] and [`Missing::Indicator`].
    pub fn means(&self) -> Option<&[f32]> {
        self.means.as_deref()
    }
}

/// Fills gaps as `missing` says, with the means of some rows if they are asked for.
pub(super) fn fill_as(
    (features, columns): (&mut Features, &mut Columns),
    missing: Missing,
    pieces: &Pieces,
    rows: impl Iterator<Item = Range<usize>>,
) -> Filled {
    let missing = match missing {
        Missing::Auto if features.has_gaps() => Missing::Indicator,
        Missing::Auto => Missing::Error,
        other => other,
    };
    let found = matches!(missing, Missing::Mean | Missing::Indicator).then(|| means(features, pieces, rows));
    let (means, gaps) = found.map_or((None, vec![]), |(means, gaps)| (Some(means), gaps));
    if missing == Missing::Indicator && !gaps.is_empty() {
        flag(features, columns, &gaps);
    }
    if !matches!(missing, Missing::Error | Missing::Keep) {
        fill(features, means.as_deref());
    }
    Filled { missing, means }
}

/// The name of the column that says where a column has gaps: `x_missing`, with `_` behind it if there is one of that name.
fn flag_name(name: &str, known: &HashSet<&str>) -> String {
    let mut flag = format!("{name}_missing");
    while known.contains(flag.as_str()) {
        flag.push('_');
    }
    flag
}

/// Adds a column for each of `flagged` that says where it has gaps.
pub(super) fn flag(features: &mut Features, columns: &mut Columns, flagged: &[u32]) {
    let known: HashSet<&str> = columns.names.iter().map(String::as_str).collect();
    let names: Vec<String> = flagged.iter().map(|&j| flag_name(&columns.names[j as usize], &known)).collect();
    *features = features.with_flags(flagged);
    columns.names.extend(names);
}

/// The columns whose gaps the last columns say, of which `given` are those of the data; nothing where that cannot be.
pub(crate) fn flagged(names: &[String], given: usize) -> Option<Vec<u32>> {
    let (data, flags) = names.split_at_checked(given)?;
    let known: HashSet<&str> = data.iter().map(String::as_str).collect();
    let of: HashMap<String, u32> = data.iter().map(|name| flag_name(name, &known)).zip(0..).collect();
    flags.iter().map(|flag| of.get(flag).copied()).collect()
}

/// Puts `means[j]` where a value of column `j` is missing, or 0 without means.
pub(super) fn fill(features: &mut Features, means: Option<&[f32]>) {
    let fill = |j: usize, x: &mut f32| {
        if x.is_nan() {
            *x = means.and_then(|m| m.get(j)).copied().unwrap_or(0.0);
        }
    };
    let cols = features.cols();
    match features {
        Features::Dense(m) => m.values_mut().iter_mut().enumerate().for_each(|(k, x)| fill(k % cols, x)),
        Features::Sparse(m) => {
            let (columns, values) = m.entries_mut();
            columns.iter().zip(values).for_each(|(&j, x)| fill(j as usize, x));
        }
    }
}

/// The digests of a run of pieces, made on all threads.
pub(super) fn piece_digests(run: Range<usize>, piece: impl Fn(usize, &mut blake3::Hasher) + Sync) -> Vec<[u8; 32]> {
    let own = |p: usize| {
        let mut hash = blake3::Hasher::new();
        piece(p, &mut hash);
        *hash.finalize().as_bytes()
    };
    run.into_par_iter().map(own).collect()
}

/// A digest of a set: that of its head and of the digests of its pieces.
pub(super) fn digest(head: &[u8], pieces: &[[u8; 32]]) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(&(head.len() as u64).to_le_bytes()).update(head);
    pieces.iter().for_each(|own| {
        hash.update(own);
    });
    hash.finalize().to_hex().to_string()
}

/// Adds the values of some rows, and where the set is sparse their places, to a digest.
pub(super) fn hash(features: &Features, rows: Range<usize>, hash: &mut blake3::Hasher) {
    let mut bytes: Vec<u8> = vec![];
    let values = match features {
        Features::Dense(m) => &m.values()[rows.start * m.cols()..rows.end * m.cols()],
        Features::Sparse(m) => {
            for row in rows.clone() {
                bytes.clear();
                bytes.extend((m.row(row).0.len() as u32).to_le_bytes());
                bytes.extend(m.row(row).0.iter().flat_map(|j| j.to_le_bytes()));
                hash.update(&bytes);
            }
            m.values_of(rows)
        }
    };
    for part in values.chunks(16384) {
        bytes.clear();
        bytes.extend(part.iter().flat_map(|x| x.to_le_bytes()));
        hash.update(&bytes);
    }
}

/// Adds text to bytes that are digested, with its length before it.
pub(super) fn write_name(name: &str, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
    bytes.extend_from_slice(name.as_bytes());
}

/// What an empty value, `NULL` or `nan` means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Missing {
    /// It is refused.
    #[default]
    Error,
    /// It is 0.
    Zero,
    /// It is the mean of its column in the training data.
    Mean,
    /// It is that mean, and a column `x_missing` says for each column `x` with gaps in the training data where they were.
    Indicator,
    /// It stays missing: trees know what to do with it.
    Keep,
    /// As [`Self::Indicator`] where the data have gaps, else as [`Self::Error`]: the default of matchers. No model has it.
    Auto,
}

/// Whether a column name is just an index, as it would be written.
pub(in crate::data) fn is_index(name: &str) -> bool {
    name.parse::<u32>().is_ok_and(|index| index < u32::MAX && index.to_string() == name)
}

/// Rows below one another: dense where all are.
pub(in crate::data) fn stacked(parts: Vec<Features>, cols: usize) -> Features {
    if parts.iter().all(|part| matches!(part, Features::Dense(_))) {
        let values = parts.iter().flat_map(|part| if let Features::Dense(m) = part { m.values() } else { &[] });
        return Features::Dense(Matrix::new(values.copied().collect(), cols));
    }
    let (mut ends, mut columns, mut values) = (vec![], vec![], vec![]);
    for part in parts {
        for row in 0..part.rows() {
            part.each(row, |j, x| {
                columns.push(j as u32);
                values.push(x);
            });
            ends.push(values.len());
        }
    }
    Features::Sparse(Csr::new(ends, columns, values, cols))
}

/// Refuses a name that occurs twice.
pub(in crate::data) fn once(path: &Path, what: &str, names: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        None => Ok(()),
        Some(twice) => Err(Error::Content {
            path: path.into(),
            expected: format!("each {what} name once"),
            found: format!("{:?} twice", short(twice)),
        }),
    }
}
