//! Cutting data into parts for training, validation and test.

use crate::error::{Error, Result};
use crate::random::Random;
use std::path::{Path, PathBuf};

/// The queries of one round of training, choosing and testing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// To fit on.
    pub train: Vec<u32>,
    /// To choose on.
    pub valid: Vec<u32>,
    /// To test on, once.
    pub test: Vec<u32>,
}

/// With fewer units than this none is held out.
pub const LEAST: usize = 5;

/// Holds out every fifth unit (unit i with i mod 5 = 4) for choosing: what remains, and what is held out.
///
/// ```
/// let (train, valid) = ordain::data::split::hold_out(&[10, 11, 12, 13, 14, 15]);
/// assert_eq!((train, valid), (vec![10, 11, 12, 13, 15], vec![14]));
/// ```
pub fn hold_out(units: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let (mut train, mut valid) = (vec![], vec![]);
    for (i, &unit) in units.iter().enumerate() {
        if i % 5 == 4 { valid.push(unit) } else { train.push(unit) }
    }
    (train, valid)
}

/// `k`-fold cross-validation of `n` units: unit i is tested in fold i mod k, and the next fold is for choosing.
pub fn cross_validation(n: usize, k: usize, shuffle: Option<u64>) -> Result<Vec<Fold>> {
    if k < 3 || k > n {
        return Err(Error::Setting {
            name: "cv".into(),
            expected: format!("a number of folds from 3 to the number of queries or items, {n}"),
            found: k.to_string(),
        });
    }
    let mut units: Vec<u32> = (0..n as u32).collect();
    if let Some(seed) = shuffle {
        Random::new(seed).shuffle(&mut units);
    }
    let part = |of: usize| units.iter().copied().skip(of).step_by(k);
    Ok((0..k)
        .map(|i| Fold {
            train: units
                .iter()
                .enumerate()
                .filter(|(u, _)| u % k != i && u % k != (i + 1) % k)
                .map(|(_, &u)| u)
                .collect(),
            valid: part((i + 1) % k).collect(),
            test: part(i).collect(),
        })
        .collect())
}

/// How a folder of folds is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Parts `S1 … SN`; fold i trains on i, i+1, i+2 (all but two), validates on the next and tests on the last.
    Parts(Vec<PathBuf>),
    /// `Fold1 … FoldN`, each with a file for training, validation and test.
    Folders(Vec<[PathBuf; 3]>),
}

/// Finds out the layout of a folder of folds.
pub fn layout(folder: &Path) -> Result<Layout> {
    let parts: Vec<PathBuf> = (1..).map_while(|i| packed(&folder.join(format!("S{i}.txt")))).collect();
    if parts.len() >= 3 {
        return Ok(Layout::Parts(parts));
    }
    let mut folds = vec![];
    for i in 1.. {
        let fold = folder.join(format!("Fold{i}"));
        if !fold.is_dir() {
            break;
        }
        let names = [["train", "trainingset"], ["vali", "validationset"], ["test", "testset"]];
        let find = |names: [&str; 2]| {
            names.iter().find_map(|name| packed(&fold.join(format!("{name}.txt")))).ok_or_else(|| Error::Content {
                path: fold.clone(),
                expected: format!("{}.txt (or .gz, .zst)", names[0]),
                found: "no such file".into(),
            })
        };
        folds.push([find(names[0])?, find(names[1])?, find(names[2])?]);
    }
    if folds.is_empty() {
        return Err(Error::Content {
            path: folder.into(),
            expected: "parts S1.txt, S2.txt, S3.txt … or folders Fold1, Fold2 … with train.txt, vali.txt and test.txt (each may end in .gz or .zst)".into(),
            found: if folder.is_dir() { "neither".into() } else { "no such folder".into() },
        });
    }
    Ok(Layout::Folders(folds))
}

/// The file itself, or packed.
fn packed(path: &Path) -> Option<PathBuf> {
    ["", ".gz", ".zst"]
        .iter()
        .map(|ending| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        })
        .find(|path| path.is_file())
}

/// Fold `i` of the rotation over parts: all parts from `i` on but the last two train, then one validates, one tests.
pub fn rotation(parts: &[std::ops::Range<usize>], i: usize) -> Fold {
    let n = parts.len();
    let units = |of: std::ops::Range<usize>| {
        of.flat_map(|k| parts[(i + k) % n].clone()).map(|u| u as u32).collect::<Vec<u32>>()
    };
    Fold { train: units(0..n - 2), valid: units(n - 2..n - 1), test: units(n - 1..n) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_share_nothing_and_cover_all() {
        for shuffle in [None, Some(4)] {
            let folds = cross_validation(23, 5, shuffle).unwrap();
            let mut tested: Vec<u32> = folds.iter().flat_map(|f| f.test.clone()).collect();
            tested.sort_unstable();
            assert_eq!(tested, (0..23).collect::<Vec<_>>());
            for fold in &folds {
                let mut all = [fold.train.clone(), fold.valid.clone(), fold.test.clone()].concat();
                all.sort_unstable();
                assert_eq!(all, (0..23).collect::<Vec<_>>());
            }
        }
        let plain = &cross_validation(7, 3, None).unwrap()[1];
        assert_eq!((&plain.test, &plain.valid, &plain.train), (&vec![1, 4], &vec![2, 5], &vec![0, 3, 6]));
        assert!(cross_validation(2, 5, None).is_err());
    }

    #[test]
    fn the_rotation_is_that_of_letor() {
        let parts: Vec<_> = (0..5).map(|i| i..i + 1).collect();
        let fold = rotation(&parts, 3); // LETOR's fold 4: train S4 S5 S1, validate on S2, test on S3
        assert_eq!(fold, Fold { train: vec![3, 4, 0], valid: vec![1], test: vec![2] });
    }
}
