//! Arrays as NumPy writes them, `.npy`.

use super::source::read_whole;
use crate::error::{Error, Result};
use std::path::Path;

/// An array of any number of dimensions, the last index running fastest.
#[derive(Debug)]
pub(super) struct Array {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f32>,
}

impl Array {
    /// Reads f4 or f8, of either byte order, in C or Fortran order.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let bytes = read_whole(path)?;
        let wrong =
            |expected: &str, found: String| Error::Content { path: path.into(), expected: expected.into(), found };
        let cut = || wrong("a whole .npy file", format!("{} bytes", bytes.len()));
        if !bytes.starts_with(b"\x93NUMPY") {
            return Err(wrong("a .npy file, which begins with \\x93NUMPY", "another beginning".into()));
        }
        // versions 2 and 3 have a longer field for the length of the header
        let wide = *bytes.get(6).ok_or_else(cut)? > 1;
        let size = bytes.get(8..if wide { 12 } else { 10 }).ok_or_else(cut)?;
        let length = size.iter().rev().fold(0usize, |sum, &byte| sum << 8 | usize::from(byte));
        let start = 8 + size.len();
        let end = start.checked_add(length).ok_or_else(cut)?;
        let header = String::from_utf8_lossy(bytes.get(start..end).ok_or_else(cut)?).replace(' ', "");
        let field = |name: &str| header.split(&format!("'{name}':")).nth(1);
        let odd = || wrong("an array of numbers f4 or f8", header.trim().into());
        let kind = field("descr").and_then(|rest| rest.split('\'').nth(1)).ok_or_else(odd)?;
        let fortran = field("fortran_order").ok_or_else(odd)?.starts_with("True");
        let shape = field("shape").and_then(|rest| rest.strip_prefix('(')?.split(')').next()).ok_or_else(odd)?;
        let sizes = shape.split(',').filter(|n| !n.is_empty()).map(|n| n.parse().map_err(|_| odd()));
        let shape: Vec<usize> = sizes.collect::<Result<_>>()?;
        let width = match kind {
            "<f4" | ">f4" => 4,
            "<f8" | ">f8" => 8,
            _ => return Err(odd()),
        };
        let count = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n)).ok_or_else(cut)?;
        let all = count.checked_mul(width).ok_or_else(cut)?;
        let data = &bytes[end..];
        if data.len() != all {
            return Err(wrong(&format!("{all} bytes of numbers"), data.len().to_string()));
        }
        let big = kind.starts_with('>');
        let read = |at: usize| -> f32 {
            let mut own = [0u8; 8];
            own[..width].copy_from_slice(&data[at * width..(at + 1) * width]);
            if big {
                own[..width].reverse();
            }
            match width {
                4 => f32::from_le_bytes([own[0], own[1], own[2], own[3]]),
                _ => f64::from_le_bytes(own) as f32,
            }
        };
        let place = |at: usize| if fortran { turned(at, &shape) } else { at };
        let values = (0..count).map(|at| read(place(at))).collect();
        Ok(Self { shape, values })
    }
}

/// Where the entry of this number, the last index running fastest, stands where the first runs fastest.
fn turned(mut at: usize, shape: &[usize]) -> usize {
    let mut place = 0;
    for k in (0..shape.len()).rev() {
        let step: usize = shape[..k].iter().product();
        place += at % shape[k] * step;
        at /= shape[k];
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_order_is_turned_round() {
        let shape = [2, 3, 4];
        for at in 0..24 {
            let (i, j, k) = (at / 12, at / 4 % 3, at % 4);
            assert_eq!(turned(at, &shape), i + 2 * j + 6 * k);
        }
    }
}
