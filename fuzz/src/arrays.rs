//! Damaged arrays of NumPy: kernels, tensors and vectors; kernels as tables too.

use super::mutate::{self, pick};
use super::plain::cells::{Cells, word};
use super::plain::npy;
use super::readers::files;
use super::suite::{Check, Suite, damage, ensure};
use ordain::data::pictures::Tensors;
use ordain::data::{Columns, Input, LabelSet, RankReading, Roles, read_rank};
use ordain::features::Steps;
use ordain::matrix::{Features, Matrix};
use ordain::picture::tensor::Reduction;
use ordain::random::Random;
use ordain::{Interrupt, Result};
use std::fs;
use std::path::Path;

const ITEMS: usize = 4;

fn items() -> LabelSet {
    let features = Features::Dense(Matrix::new(vec![0.0; ITEMS], 1));
    let yes = (0..ITEMS).map(|i| if i % 2 == 0 { vec![0] } else { vec![] }).collect();
    LabelSet::new(features, Columns::numbered(1), vec!["a".into()], yes).expect("a set")
}

/// A `.npy` file as NumPy writes it; no numbers where the shape asks for many.
fn written(kind: &str, fortran: bool, shape: &[usize]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let sizes: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let sizes = if shape.len() > 1 { sizes.trim_end_matches(", ") } else { sizes.trim_end() };
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': ({sizes}), }}");
    while (header.len() + 11) % 64 > 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    let count = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n)).filter(|count| *count <= 1000);
    for at in 0..count.unwrap_or(0) {
        let x = (at as f64).sin();
        match kind {
            "<f4" => bytes.extend((x as f32).to_le_bytes()),
            ">f8" => bytes.extend(x.to_be_bytes()),
            _ => bytes.extend(x.to_le_bytes()),
        }
    }
    bytes
}

/// Sizes that are easy to get wrong.
const SIZES: [usize; 8] = [0, 1, 2, 3, ITEMS, 1 << 16, 1 << 32, usize::MAX];

/// Arrays of a shape: whole ones, then damage to all of a file, to its header as text, to its shape, and to its numbers.
fn damaged(seed: u64, shape: &[usize]) -> impl FnMut(usize) -> (Vec<u8>, String) {
    let kinds = [("<f8", false), ("<f4", true), (">f8", false)];
    let seeds: Vec<Vec<u8>> = kinds.map(|(kind, fortran)| written(kind, fortran, shape)).to_vec();
    let mut random = damage(seed);
    move |turn| {
        let whole = &seeds[turn % seeds.len()];
        let at = whole.iter().position(|&b| b == b'\n').unwrap_or(0);
        match turn / seeds.len() {
            0 => (whole.clone(), "whole".into()),
            turn if turn % 4 == 0 => mutate::binary(whole, &mut random),
            turn if turn % 4 == 1 => {
                let (header, told) = mutate::text(&whole[10..at], &mut random);
                let size = (header.len() as u16 + 1).to_le_bytes();
                ([&whole[..8], &size, &header, &whole[at..]].concat(), told)
            }
            turn if turn % 4 == 2 => {
                let shape: Vec<usize> = (0..random.below(5)).map(|_| *pick(&mut random, &SIZES)).collect();
                let (kind, fortran) = kinds[random.below(kinds.len())];
                (written(kind, fortran, &shape), format!("the shape {shape:?}"))
            }
            _ => {
                let mut bytes = whole.clone();
                let place = at + 1 + random.below(bytes.len() - at - 1);
                bytes[place] ^= 1 << random.below(8);
                (bytes, "a bit of a number flipped".into())
            }
        }
    }
}

/// The numbers of an array of this shape; nothing where it is none, or one of them is not finite.
fn plain_array(bytes: &[u8], shape: &[usize]) -> Option<Vec<f32>> {
    npy::array(bytes).filter(|(own, all)| own == shape && all.iter().all(|x| x.is_finite())).map(|(_, all)| all)
}

fn same(found: &[f32], truth: Option<Vec<f32>>) -> Check {
    let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let right = truth.as_ref().is_some_and(|truth| bits(truth) == bits(found));
    ensure!(right, "other numbers", "{found:?}, not {truth:?}");
    Ok(())
}

fn gram(path: &Path) -> Result<Vec<f32>> {
    let features = items().with_gram(path, None)?.features;
    Ok((0..ITEMS * ITEMS).map(|at| features.value(at / ITEMS, at % ITEMS)).collect())
}

/// Kernels of items with one another.
pub(crate) fn damaged_grams(suite: &mut Suite, inputs: usize) {
    let next = damaged(950, &[ITEMS; 2]);
    files(suite, inputs, "gram.npy", next, gram, |found, bytes| same(found, plain_array(bytes, &[ITEMS; 2])));
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

/// The same as tables with ids.
pub(crate) fn damaged_gram_tables(suite: &mut Suite, inputs: usize) {
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
    files(suite, inputs, "gram.csv", next, gram, |found, text| same(found, plain_table(text)));
}

/// Samples of tensors, which are then reduced.
pub(crate) fn damaged_tensors(suite: &mut Suite, inputs: usize) {
    const SHAPE: [usize; 3] = [ITEMS, 3, 2];
    let samples: Vec<f64> = (0..ITEMS * 6).map(|at| (at as f64).cos()).collect();
    let reduction = Reduction::learn(&samples, &SHAPE[1..], &[2, 2], &Interrupt::default()).expect("a reduction");
    files(suite, inputs, "tensors.npy", damaged(980, &SHAPE), Tensors::from_npy, |read, bytes| {
        let ids = (1..).zip(&read.rows).all(|(n, row)| *row == (n.to_string(), String::new()));
        let shape = [&[read.rows.len()], &read.sizes[..]].concat();
        ensure!(ids && shape.len() > 1 && !shape.contains(&0), "no samples", "{shape:?}");
        let found: Vec<f32> = read.values.iter().map(|x| *x as f32).collect();
        same(&found, plain_array(bytes, &shape))?;
        if read.sizes == SHAPE[1..] {
            // numbers may be too large for what is made of them
            let cores = read.reduced(&reduction).map_or(vec![], |table| table.values);
            ensure!(cores.iter().all(|x| x.is_finite()), "a core that is no number", "{cores:?}");
        }
        Ok(())
    });
}

/// Vectors beside a table, a row for each of its rows.
pub(crate) fn damaged_vectors(suite: &mut Suite, inputs: usize) {
    let table = suite.path("table.csv");
    fs::write(&table, "label,qid,x\n0,1,1\n1,1,2\n0,2,3\n1,2,4\n").expect("a file");
    let read = |path: &Path| {
        let input: Input = format!("emb:vector={}", path.display()).parse()?;
        let roles = Roles { inputs: vec![input], ..Roles::default() };
        let (mut set, _) = read_rank(&[vec![table.clone()]], &RankReading { roles, ..RankReading::default() })?;
        Steps::learn(&set, &set.all())?.apply(&mut set)?;
        Ok(set)
    };
    files(suite, inputs, "vectors.npy", damaged(990, &[ITEMS, 3]), read, |set, bytes| {
        let width = set.features.cols() - 1;
        let names = (0..width).map(|k| format!("emb_{k}"));
        ensure!(set.columns.names[1..].iter().cloned().eq(names), "other columns", "{:?}", set.columns.names);
        let found: Vec<f32> = (0..ITEMS * width).map(|at| set.features.value(at / width, 1 + at % width)).collect();
        // a column of numbers knows no -0
        same(&found, plain_array(bytes, &[ITEMS, width]).map(|all| all.iter().map(|x| x + 0.0).collect()))
    });
}
