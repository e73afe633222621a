//! Arrays as NumPy writes them, `.npy`.

use super::room;
use super::source::read_whole;
use super::strings::short;
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
        let wide = match bytes.get(6..8).ok_or_else(cut)? {
            [1, 0] => false,
            [2 | 3, 0] => true,
            other => return Err(wrong("a .npy file of version 1, 2 or 3", format!("{}.{}", other[0], other[1]))),
        };
        let size = bytes.get(8..if wide { 12 } else { 10 }).ok_or_else(cut)?;
        let length = size.iter().rev().fold(0usize, |sum, &byte| sum << 8 | usize::from(byte));
        let start = 8 + size.len();
        let end = start.checked_add(length).ok_or_else(cut)?;
        let text = bytes.get(start..end).ok_or_else(cut)?;
        let shown = || short(&String::from_utf8_lossy(text)).escape_debug().to_string();
        let odd = || wrong("an array of numbers f4 or f8", shown());
        let Head { kind, fortran, shape } = std::str::from_utf8(text).ok().and_then(Head::read).ok_or_else(odd)?;
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
        // numbers in single precision, and what is made of them
        room::need(path, "read", count as u64 * 16)?;
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

/// What a header says: a Python dictionary of three entries.
struct Head<'a> {
    kind: &'a str,
    fortran: bool,
    shape: Vec<usize>,
}

impl<'a> Head<'a> {
    /// Reads a header; nothing where an entry is missing, stands twice or is none of the three.
    fn read(text: &'a str) -> Option<Self> {
        let (mut kind, mut fortran, mut shape) = (None, None, None);
        let mut rest = text.trim_ascii().strip_prefix('{')?.strip_suffix('}')?.trim_ascii();
        while !rest.is_empty() {
            let (key, after) = rest.strip_prefix('\'')?.split_once('\'')?;
            let value = after.trim_ascii_start().strip_prefix(':')?.trim_ascii_start();
            let (fresh, after) = match key {
                "descr" => {
                    let (own, after) = value.strip_prefix('\'')?.split_once('\'')?;
                    (kind.replace(own).is_none(), after)
                }
                "fortran_order" => {
                    let own = value.starts_with("True");
                    (fortran.replace(own).is_none(), value.strip_prefix(if own { "True" } else { "False" })?)
                }
                "shape" => {
                    let (own, after) = value.strip_prefix('(')?.split_once(')')?;
                    let own = own.trim_ascii().strip_suffix(',').unwrap_or(own);
                    let digits =
                        |n: &str| Some(n.trim_ascii()).filter(|n| n.bytes().all(|b| b.is_ascii_digit()))?.parse().ok();
                    let sizes = match own.trim_ascii() {
                        "" => vec![],
                        own => own.split(',').map(digits).collect::<Option<Vec<usize>>>()?,
                    };
                    (shape.replace(sizes).is_none(), after)
                }
                _ => return None,
            };
            let after = after.trim_ascii_start();
            rest = if after.is_empty() { after } else { after.strip_prefix(',')?.trim_ascii_start() };
            if !fresh {
                return None;
            }
        }
        Some(Self { kind: kind?, fortran: fortran?, shape: shape? })
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
    fn heads_are_read_whole_or_not_at_all() {
        let whole = "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3), }   \n";
        let head = Head::read(whole).unwrap();
        assert_eq!((head.kind, head.fortran, head.shape), ("<f8", false, vec![4, 3]));
        assert_eq!(Head::read("{'shape':(5,),'descr':'>f4','fortran_order':True}").unwrap().shape, [5]);
        for (from, to) in [
            ("False", "Fblse"),
            ("False", "Falsely"),
            ("'descr'", "'desc'"),
            ("(4, 3)", "(4, 3"),
            ("(4, 3)", "(4, -3)"),
            ("(4, 3)", "(4, +3)"),
            ("(4, 3), }", "(4, 3), } 1"),
            ("(4, 3), ", "(4, 3), 'shape': (4, 3), "),
            ("(4, 3), ", ""),
        ] {
            assert!(Head::read(&whole.replace(from, to)).is_none(), "{from} as {to}");
        }
    }

    #[test]
    fn fortran_order_is_turned_round() {
        let shape = [2, 3, 4];
        for at in 0..24 {
            let (i, j, k) = (at / 12, at / 4 % 3, at % 4);
            assert_eq!(turned(at, &shape), i + 2 * j + 6 * k);
        }
    }
}
