//! Damaged matrices of kernels: `.npy` and tables.

use super::memory;
use super::mutate;
use super::plain::cells::{Cells, word};
use super::readers::allowed;
use super::suite::{Suite, clear, damage, ensure};
use ordain::data::{Columns, LabelSet};
use ordain::matrix::{Features, Matrix};
use ordain::random::Random;
use std::fs;

const ITEMS: usize = 4;

fn items() -> LabelSet {
    let features = Features::Dense(Matrix::new(vec![0.0; ITEMS], 1));
    let yes = (0..ITEMS).map(|i| if i % 2 == 0 { vec![0] } else { vec![] }).collect();
    LabelSet::new(features, Columns::numbered(1), vec!["a".into()], yes).expect("a set")
}

/// A `.npy` file as NumPy writes it.
fn npy(kind: &str, fortran: bool) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': ({ITEMS}, {ITEMS}), }}");
    while (header.len() + 11) % 64 > 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    for at in 0..ITEMS * ITEMS {
        let x = (at as f64).sin();
        match kind {
            "<f4" => bytes.extend((x as f32).to_le_bytes()),
            ">f8" => bytes.extend(x.to_be_bytes()),
            _ => bytes.extend(x.to_le_bytes()),
        }
    }
    bytes
}

/// The header of an array: a Python dictionary of three entries, each once, and nothing else.
fn entries(header: &str) -> Option<(String, bool, Vec<usize>)> {
    let inside = header.trim_ascii().strip_prefix('{')?.strip_suffix('}')?;
    let (mut kind, mut fortran, mut shape) = (None, None, None);
    let mut rest = inside.trim_ascii();
    while !rest.is_empty() {
        let (key, after) = rest.strip_prefix('\'')?.split_once('\'')?;
        let after = after.trim_ascii_start().strip_prefix(':')?.trim_ascii_start();
        let end = match key {
            "descr" => after.strip_prefix('\'')?.find('\'')? + 2,
            "shape" => after.find(')')? + 1,
            _ => after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len()),
        };
        let (value, after) = after.split_at(end);
        let fresh = match key {
            "descr" => kind.replace(value.trim_matches('\'').to_owned()).is_none(),
            "fortran_order" if value == "True" || value == "False" => fortran.replace(value == "True").is_none(),
            "shape" => {
                let sizes = value.strip_prefix('(')?.strip_suffix(')')?;
                let sizes = sizes.strip_suffix(',').unwrap_or(sizes).split(',').map(|n| n.trim_ascii().parse().ok());
                shape.replace(sizes.collect::<Option<Vec<usize>>>()?).is_none()
            }
            _ => false,
        };
        let after = after.trim_ascii_start();
        rest = if after.is_empty() { "" } else { after.strip_prefix(',')?.trim_ascii_start() };
        fresh.then_some(())?;
    }
    Some((kind?, fortran?, shape?))
}

/// The matrix of a file, row after row; nothing where it is none of these items.
fn plain_npy(bytes: &[u8]) -> Option<Vec<f32>> {
    let rest = bytes.strip_prefix(b"\x93NUMPY")?;
    let (length, start) = match rest.get(..2)? {
        [1, 0] => (u16::from_le_bytes(rest.get(2..4)?.try_into().ok()?) as usize, 4usize),
        [2 | 3, 0] => (u32::from_le_bytes(rest.get(2..6)?.try_into().ok()?) as usize, 6),
        _ => return None,
    };
    let header = std::str::from_utf8(rest.get(start..start.checked_add(length)?)?).ok()?;
    let (kind, fortran, shape) = entries(header)?;
    let data = &rest[start + length..];
    let width = match kind.as_str() {
        "<f4" | ">f4" => 4,
        "<f8" | ">f8" => 8,
        _ => return None,
    };
    if shape != [ITEMS, ITEMS] || data.len() != width * ITEMS * ITEMS {
        return None;
    }
    let number = |at: usize| {
        let mut own = data[at * width..(at + 1) * width].to_vec();
        if kind.starts_with('>') {
            own.reverse();
        }
        match width {
            4 => f32::from_le_bytes([own[0], own[1], own[2], own[3]]),
            _ => f64::from_le_bytes(<[u8; 8]>::try_from(own).expect("eight bytes")) as f32,
        }
    };
    let place = |i: usize, j: usize| if fortran { j * ITEMS + i } else { i * ITEMS + j };
    let values: Vec<f32> = (0..ITEMS * ITEMS).map(|at| number(place(at / ITEMS, at % ITEMS))).collect();
    values.iter().all(|x| x.is_finite()).then_some(values)
}

/// A table: the id of an item first, then a column for each.
fn plain_table(text: &[u8]) -> Option<Vec<f32>> {
    let cells = Cells::whole(text, b',')?;
    let mut values = vec![None; ITEMS * ITEMS];
    let id = |name: &str| (1..=ITEMS).find(|id| id.to_string() == name).map(|id| id - 1);
    let columns = cells.head[1..].iter().map(|name| id(name)).collect::<Option<Vec<usize>>>()?;
    for (_, row) in &cells.rows {
        let i = id(&word(&row[0])?)?;
        for (&j, cell) in columns.iter().zip(&row[1..]) {
            let x = cells.number(cell)? as f32;
            values[i * ITEMS + j].replace(x).is_none().then_some(())?;
        }
    }
    let values = values.into_iter().collect::<Option<Vec<f32>>>()?;
    (cells.marks_are_clear() && columns.len() == ITEMS && values.iter().all(|x| x.is_finite())).then_some(values)
}

fn matrices(
    suite: &mut Suite,
    inputs: usize,
    name: &str,
    mut next: impl FnMut(usize) -> (Vec<u8>, String),
    plain: impl Fn(&[u8]) -> Option<Vec<f32>>,
) {
    let path = suite.path(name);
    for turn in 0..inputs {
        let (bytes, told) = next(turn);
        fs::write(&path, &bytes).expect("a file");
        suite.run(&format!("{name} {turn} ({told})"), &bytes, || {
            let (read, peak) = memory::peak(|| items().with_gram(&path, None));
            ensure!(peak <= allowed(bytes.len()), "too much memory", "{peak} bytes for {}", bytes.len());
            match read {
                Err(error) => clear(&error, &[(&path, &bytes)]),
                Ok(set) => {
                    let found: Vec<f32> =
                        (0..ITEMS * ITEMS).map(|at| set.features.value(at / ITEMS, at % ITEMS)).collect();
                    let truth = plain(&bytes);
                    let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                    let same = truth.as_ref().is_some_and(|truth| bits(truth) == bits(&found));
                    ensure!(same, "another matrix", "{found:?}, not {truth:?}");
                    Ok(())
                }
            }
        });
    }
}

/// Arrays of NumPy: damage to all of a file, to its header as text, and to its numbers.
pub(crate) fn damaged_npy(suite: &mut Suite, inputs: usize) {
    let seeds: Vec<Vec<u8>> = [("<f8", false), ("<f4", true), (">f8", false)].map(|(kind, f)| npy(kind, f)).to_vec();
    let mut random = damage(950);
    let next = |turn: usize| {
        let whole = &seeds[turn % seeds.len()];
        match turn / seeds.len() % 3 {
            0 => mutate::binary(whole, &mut random),
            1 => {
                let at = whole.iter().position(|&b| b == b'\n').unwrap_or(0);
                let (header, told) = mutate::text(&whole[10..at], &mut random);
                let size = (header.len() as u16 + 1).to_le_bytes();
                ([&whole[..8], &size, &header, &whole[at..]].concat(), told)
            }
            _ => {
                let mut bytes = whole.clone();
                let at = bytes.len() - 1 - random.below(4 * ITEMS * ITEMS);
                bytes[at] ^= 1 << random.below(8);
                (bytes, "a bit of a number flipped".into())
            }
        }
    };
    matrices(suite, inputs, "gram.npy", next, plain_npy);
}

/// Tables with ids.
pub(crate) fn damaged_table(suite: &mut Suite, inputs: usize) {
    let mut random = damage(960);
    let mut numbers = Random::new(5);
    let mut text = "id,2,1,4,3\n".to_owned();
    for id in [3, 1, 2, 4] {
        let row: Vec<String> = (0..ITEMS).map(|_| format!("{:.4}", numbers.normal())).collect();
        text += &format!("{id},{}\n", row.join(","));
    }
    let next = |turn: usize| match turn {
        0 => (text.clone().into_bytes(), "whole".to_owned()),
        _ => mutate::text(text.as_bytes(), &mut random),
    };
    matrices(suite, inputs, "gram.csv", next, plain_table);
}
