//! Cutting data into parts for training, validation and test.

use crate::data::parse_date;
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

/// The moments of rows, as numbers in their order: numbers if all cells are, else dates, of one day by what stands behind the day.
///
/// ```
/// use ordain::data::split::moments;
/// assert_eq!(moments(&["9", "10.5", "9"].map(String::from))?, [0, 1, 0]);
/// assert_eq!(moments(&["2024-05-01", "3.12.1975"].map(String::from))?, [1, 0]);
/// assert!(moments(&["2024-05-01".into(), "soon".into()]).is_err());
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn moments(cells: &[String]) -> Result<Vec<usize>> {
    let number = |cell: &String| cell.trim_ascii().parse::<f64>().ok().filter(|x| x.is_finite());
    let date = |cell: &String| Some((parse_date(cell.trim_ascii())?, cell.trim_ascii().to_owned()));
    if let Some(numbers) = cells.iter().map(number).collect::<Option<Vec<f64>>>() {
        return Ok(ranks(&numbers, f64::total_cmp));
    }
    if let Some(dates) = cells.iter().map(date).collect::<Option<Vec<_>>>() {
        return Ok(ranks(&dates, Ord::cmp));
    }
    let wrong = |cell: &String| date(cell).is_none();
    let at = cells.iter().position(|cell| number(cell).is_none() && wrong(cell)).or(cells.iter().position(wrong));
    let at = at.unwrap_or(0);
    Err(Error::Data {
        expected: "a number in every row, or a date (1975-12-03, 3.12.1975, 12/3/1975) in every row, to split by"
            .into(),
        found: format!(
            "{:?} in row {}",
            cells.get(at).map_or("", String::as_str).chars().take(40).collect::<String>(),
            at + 1
        ),
    })
}

/// The place of each value among the different ones.
fn ranks<T>(values: &[T], compare: impl Fn(&T, &T) -> std::cmp::Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| compare(&values[a], &values[b]).then(a.cmp(&b)));
    let (mut of, mut rank) = (vec![0; values.len()], 0);
    for (at, &row) in order.iter().enumerate() {
        rank += usize::from(at > 0 && compare(&values[order[at - 1]], &values[row]).is_ne());
        of[row] = rank;
    }
    of
}

/// Holds out the newest fifth of some units by their moments: the others, and the newest. Units of one moment stay together.
///
/// ```
/// use ordain::data::split::newest;
/// assert_eq!(newest(&[4, 5, 6, 7, 8], |unit| 10 - unit as usize)?, (vec![5, 6, 7, 8], vec![4]));
/// assert!(newest(&[4, 5, 6], |_| 1).is_err());
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn newest(units: &[u32], moment: impl Fn(u32) -> usize) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut all: Vec<usize> = units.iter().map(|&unit| moment(unit)).collect();
    all.sort_unstable();
    let fifth = (units.len() / 5).max(1);
    // from this moment on; where that is most of them, after it
    let cut = all.len().checked_sub(fifth).map_or(0, |at| all[at]);
    let from = [cut, cut + 1].into_iter().find(|&from| {
        let count = all.len() - all.partition_point(|&own| own < from);
        count > 0 && 2 * count <= all.len()
    });
    let Some(from) = from else {
        return Err(Error::Data {
            expected: "units of several moments to split by, of which at most half are the newest".into(),
            found: format!("{} of {} different moments", units.len(), all.chunk_by(|a, b| a == b).count()),
        });
    };
    let (held, rest) = units.iter().partition(|&&unit| moment(unit) >= from);
    Ok((rest, held))
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
