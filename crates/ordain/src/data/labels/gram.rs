//! A kernel that is given: a Gram matrix with a row per item and a column per training item, from `.npy` or a table.

use crate::data::npy::Array;
use crate::data::source::extension;
use crate::data::table::{Format, Table};
use crate::data::{Columns, LabelSet};
use crate::error::{Error, Result};
use crate::matrix::{Features, Matrix};
use std::collections::HashMap;
use std::path::Path;

/// What a file of a Gram matrix holds.
struct Gram {
    /// Ids of the rows and of the columns, of files that have them.
    rows: Option<Vec<String>>,
    columns: Option<Vec<String>>,
    /// Row after row.
    values: Vec<f32>,
    shape: [usize; 2],
}

impl LabelSet {
    /// The same items with a kernel in place of their features: rows of a Gram matrix, `.npy` (f4 or f8, C or Fortran order) or a
    /// table whose first column is the id of an item and whose others are named by the ids of training items.
    ///
    /// `training` are the ids of the training items in the order that is wanted; those of the set itself if there are none. A table may
    /// have its rows and columns in any order, and must have exactly those of the items and of the training items. A
    /// `.npy` file has no ids: its rows are the items of the set, its columns the training items, both in their order.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use ordain::{data::{Columns, LabelSet}, matrix::{Features, Matrix}};
    /// let (labels, yes) = (vec!["a".to_string()], vec![vec![0], vec![]]);
    /// let set = LabelSet::new(Features::Dense(Matrix::new(vec![1.0, 2.0], 1)), Columns::numbered(1), labels, yes)?;
    /// let path = dir.path().join("gram.csv");
    /// std::fs::write(&path, "id,2,1\n1,0.5,1\n2,2,0.5\n").unwrap(); // the columns turned round
    /// let set = set.with_gram(&path, None)?;
    /// assert_eq!((set.features.value(0, 0), set.features.value(1, 1)), (1.0, 2.0));
    /// # Ok::<(), ordain::Error>(())
    /// ```
    pub fn with_gram(mut self, path: &Path, training: Option<&[String]>) -> Result<Self> {
        let items: Vec<String> = (0..self.len()).map(|i| self.item(i).into_owned()).collect();
        let training = training.map_or_else(|| items.clone(), <[String]>::to_vec);
        let gram = if extension(path) == "npy" { npy(path)? } else { table(path)? };
        let wrong = |expected: String, found: String| Error::Content { path: path.into(), expected, found };
        let [m, n] = gram.shape;
        let place = |what: &str, wanted: &[String], found: Option<&[String]>, count: usize| -> Result<Vec<usize>> {
            let Some(found) = found else {
                return match count == wanted.len() {
                    true => Ok((0..count).collect()),
                    false => Err(wrong(format!("{} {what}s", wanted.len()), count.to_string())),
                };
            };
            let mut at: HashMap<&str, usize> = HashMap::new();
            for (j, id) in found.iter().enumerate() {
                if at.insert(id, j).is_some() {
                    return Err(wrong(format!("every {what} once"), format!("{id:?} twice")));
                }
            }
            let of = |id: &String| at.get(id.as_str()).copied();
            let places: Vec<usize> = wanted.iter().filter_map(of).collect();
            if let Some(id) = wanted.iter().find(|id| of(id).is_none()) {
                return Err(wrong(format!("a {what} for {id:?}"), format!("none among {count}")));
            }
            match count > places.len() {
                true => {
                    let known: std::collections::HashSet<&String> = wanted.iter().collect();
                    let extra = found.iter().find(|id| !known.contains(id)).cloned().unwrap_or_default();
                    Err(wrong(
                        format!("{} {what}s, one for each id", wanted.len()),
                        format!("{count}, such as {extra:?}"),
                    ))
                }
                false => Ok(places),
            }
        };
        let rows = place("row", &items, gram.rows.as_deref(), m)?;
        let columns = place("column", &training, gram.columns.as_deref(), n)?;
        let value = |i: usize, j: usize| gram.values[rows[i] * n + columns[j]];
        let values: Vec<f32> =
            (0..rows.len()).flat_map(|i| (0..columns.len()).map(move |j| (i, j))).map(|(i, j)| value(i, j)).collect();
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            let (i, j) = (at / training.len().max(1), at % training.len().max(1));
            let found = format!("{} of items {:?} and {:?}", values[at], items[i], training[j]);
            return Err(wrong("finite numbers".into(), found));
        }
        self.features = Features::Dense(Matrix::new(values, training.len()));
        self.columns = Columns { roles: self.columns.roles, ..Columns::named(training) };
        Ok(self)
    }
}

/// A table: ids of items, then a column for each training item.
fn table(path: &Path) -> Result<Gram> {
    let mut rows = Table::open(path, Format::of(path).unwrap_or(Format::Text(b',')))?;
    let header = rows.header.clone();
    rows.select(&[], &(0..header.len()).collect::<Vec<_>>())?;
    let (mut ids, mut values) = (vec![], vec![]);
    while let Some(record) = rows.next()? {
        ids.push(record.word(0).ok_or_else(|| record.refuse(0, "UTF-8"))?.into_owned());
        for j in 1..header.len() {
            let number = record.number(j).filter(|x| x.is_finite());
            values.push(number.ok_or_else(|| record.refuse(j, "a finite number"))? as f32);
        }
    }
    let shape = [ids.len(), header.len().saturating_sub(1)];
    Ok(Gram { rows: Some(ids), columns: Some(header.into_iter().skip(1).collect()), values, shape })
}

/// A matrix as NumPy writes it.
fn npy(path: &Path) -> Result<Gram> {
    let array = Array::read(path)?;
    match array.shape[..] {
        [m, n] => Ok(Gram { rows: None, columns: None, values: array.values, shape: [m, n] }),
        _ => Err(Error::Content {
            path: path.into(),
            expected: "a matrix of two dimensions".into(),
            found: format!("{} dimensions", array.shape.len()),
        }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    /// A `.npy` file as its description has it.
    fn written(kind: &str, fortran: bool, shape: &str, numbers: &[f64]) -> Vec<u8> {
        let order = if fortran { "True" } else { "False" };
        let header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        for &x in numbers {
            match kind {
                "<f4" => bytes.extend((x as f32).to_le_bytes()),
                ">f4" => bytes.extend((x as f32).to_be_bytes()),
                ">f8" => bytes.extend(x.to_be_bytes()),
                _ => bytes.extend(x.to_le_bytes()),
            }
        }
        bytes
    }

    fn set() -> LabelSet {
        let features = Features::Dense(Matrix::new(vec![0.0; 2], 1));
        LabelSet::new(features, Columns::numbered(1), vec!["a".into()], vec![vec![0], vec![]]).unwrap()
    }

    #[test]
    fn every_kind_of_matrix_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("k.npy");
        let training = ["p", "q", "r"].map(String::from);
        for kind in ["<f4", ">f4", "<f8", ">f8"] {
            for fortran in [false, true] {
                let stored = if fortran { [1.0, 4.0, 2.0, 5.0, 3.0, 6.0] } else { [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] };
                std::fs::write(&path, written(kind, fortran, "(2, 3)", &stored)).unwrap();
                let read = set().with_gram(&path, Some(&training)).unwrap();
                let values: Vec<f32> = (0..6).map(|at| read.features.value(at / 3, at % 3)).collect();
                assert_eq!((values, &read.columns.names[..]), (vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &training[..]));
            }
        }
    }

    #[test]
    fn other_matrices_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let told = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            set().with_gram(&path, None).unwrap_err().to_string()
        };
        for (name, bytes, says) in [
            ("a.npy", written("<f8", false, "(2, 2)", &[1.0; 3]), "32 bytes of numbers"),
            ("a.npy", written("<f8", false, "(3, 2)", &[1.0; 6]), "expected 2 rows"),
            ("a.npy", written("<f8", false, "(2, 3)", &[1.0; 6]), "expected 2 columns"),
            ("a.npy", written("<f8", false, "(4,)", &[1.0; 4]), "two dimensions"),
            ("a.npy", written("<i8", false, "(2, 2)", &[1.0; 4]), "f4 or f8"),
            ("a.npy", written("<f8", false, "(2, 2)", &[1.0, 0.0, 0.0, f64::NAN]), "finite"),
            ("a.npy", b"PK".to_vec(), "NUMPY"),
            ("a.npy", b"\x93NUMPY\x01\x00\xff".to_vec(), "whole"),
            ("a.csv", b"id,1,2\n1,1,0\n".to_vec(), "a row for \"2\""),
            ("a.csv", b"id,1,2\n1,1,0\n2,0,1\n3,0,0\n".to_vec(), "such as \"3\""),
            ("a.csv", b"id,1\n1,1\n2,0\n".to_vec(), "a column for \"2\""),
            ("a.csv", b"id,1,2\n1,1,0\n1,0,1\n".to_vec(), "\"1\" twice"),
            ("a.csv", b"id,1,2\n1,1,x\n2,0,1\n".to_vec(), "a finite number"),
        ] {
            let error = told(name, &bytes);
            assert!(error.contains(says), "{says}: {error}");
        }
    }
}
