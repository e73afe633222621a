//! Damaged Parquet and Feather files.
//!
//! Of a file without packing and dictionaries it is known where each number stands: after damage to these bytes alone, the numbers that
//! are read must be the bytes at these places. Whatever else is taken must be what the libraries of these formats read by themselves,
//! column by column: the heads of Feather files have no checksum, and one that is damaged may point to other bytes of the file.

use super::memory;
use super::mutate;
use super::readers::allowed;
use super::suite::{Check, Suite, clear_message, damage, ensure};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use ordain::data::{self, Missing, RankSet};
use ordain::random::Random;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

const ROWS: usize = 9;

fn batch() -> RecordBatch {
    let mut random = Random::new(21);
    let text =
        |what: &str, step: usize| StringArray::from_iter_values((0..ROWS).map(|i| format!("{what}{}", i / step)));
    let (mut x, mut y) = (vec![], vec![]);
    for _ in 0..ROWS {
        x.push(random.normal());
        y.push(random.normal() as f32);
    }
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("qid", Arc::new(text("q", 4))),
        ("docid", Arc::new(text("d", 1))),
        ("label", Arc::new(Int32Array::from_iter_values((0..ROWS as i32).map(|i| 1000 + i % 3)))),
        ("x", Arc::new(Float64Array::from(x))),
        ("y", Arc::new(Float32Array::from(y))),
        ("flag", Arc::new(BooleanArray::from((0..ROWS).map(|i| i % 2 == 0).collect::<Vec<_>>()))),
    ];
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

fn parquet(packing: Compression, dictionary: bool) -> Vec<u8> {
    let how = WriterProperties::builder().set_compression(packing).set_dictionary_enabled(dictionary).build();
    let mut out = vec![];
    let mut writer = ArrowWriter::try_new(&mut out, batch().schema(), Some(how)).expect("a writer");
    writer.write(&batch()).expect("rows");
    writer.close().expect("a file");
    out
}

fn feather() -> Vec<u8> {
    let mut writer = arrow_ipc::writer::FileWriter::try_new(vec![], &batch().schema()).expect("a writer");
    writer.write(&batch()).expect("rows");
    writer.into_inner().expect("a file")
}

/// Where the numbers of a column stand in a file: the only place with these bytes.
fn place(file: &[u8], numbers: &[u8]) -> usize {
    let all: Vec<usize> = (0..file.len()).filter(|&at| file[at..].starts_with(numbers)).collect();
    assert_eq!(all.len(), 1, "numbers stand in one place");
    all[0]
}

/// The places of `label`, `x` and `y`.
fn places(file: &[u8]) -> [usize; 3] {
    let batch = batch();
    let label: Vec<u8> =
        batch["label"].as_primitive::<Int32Type>().values().iter().flat_map(|x| x.to_le_bytes()).collect();
    let x: Vec<u8> = batch["x"].as_primitive::<Float64Type>().values().iter().flat_map(|x| x.to_le_bytes()).collect();
    let y: Vec<u8> = batch["y"].as_primitive::<Float32Type>().values().iter().flat_map(|x| x.to_le_bytes()).collect();
    [&label, &x, &y].map(|numbers| place(file, numbers))
}

/// Whether two files differ in nothing but numbers.
fn numbers_alone(bytes: &[u8], whole: &[u8], places: [usize; 3]) -> bool {
    let inside =
        |at: usize| places.iter().zip([4, 8, 4]).any(|(&from, width)| (from..from + width * ROWS).contains(&at));
    bytes.len() == whole.len() && (0..whole.len()).all(|at| bytes[at] == whole[at] || inside(at))
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 0.0
}

/// The numbers at their places, row by row: grade, x and y; nothing where the set has no such column.
fn at_their_places(set: &RankSet, file: &[u8], places: [usize; 3]) -> Check {
    let bytes = |at: usize, width: usize, row: usize| &file[at + width * row..at + width * (row + 1)];
    ensure!(set.rows() == ROWS, "another number of rows", "{}", set.rows());
    for stored in 0..ROWS {
        let row = set.input_row(stored);
        let label = i32::from_le_bytes(bytes(places[0], 4, row).try_into().expect("four bytes"));
        let x = f64::from_le_bytes(bytes(places[1], 8, row).try_into().expect("eight bytes")) as f32;
        let y = f32::from_le_bytes(bytes(places[2], 4, row).try_into().expect("four bytes"));
        // a name that is damaged is another column, which the other judge looks at
        if set.graded {
            ensure!(same(set.grades[stored], label.into()), "another grade", "{label} in row {row}");
        }
        for (name, truth) in [("x", x), ("y", y)] {
            let Ok(j) = set.columns.find(name) else { continue };
            let found = set.features.value(stored, j);
            let right = found.to_bits() == truth.to_bits() || found.is_nan() && truth.is_nan();
            ensure!(right, "another number", "{found} for {truth} in row {row}, {name}");
        }
    }
    Ok(())
}

/// Cells of a column, as text and as numbers, where the library can tell.
#[derive(Debug, PartialEq)]
enum Cell {
    Number(f64),
    Text(String),
    Nothing,
}

fn cells(column: &ArrayRef) -> Option<Vec<Cell>> {
    let number = |row: usize| match column.data_type() {
        DataType::Int32 => Some(f64::from(column.as_primitive::<Int32Type>().value(row))),
        DataType::Int64 => Some(column.as_primitive::<Int64Type>().value(row) as f64),
        DataType::Float32 => Some(f64::from(column.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => Some(column.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => Some(f64::from(u8::from(column.as_boolean().value(row)))),
        _ => None,
    };
    let cell = |row: usize| match column.data_type() {
        _ if column.is_null(row) => Some(Cell::Nothing),
        DataType::Utf8 => Some(Cell::Text(column.as_string::<i32>().value(row).trim_ascii().to_owned())),
        DataType::LargeUtf8 => Some(Cell::Text(column.as_string::<i64>().value(row).trim_ascii().to_owned())),
        DataType::Utf8View => Some(Cell::Text(column.as_string_view().value(row).trim_ascii().to_owned())),
        _ => number(row).map(Cell::Number),
    };
    (0..column.len()).map(cell).collect()
}

/// The columns of a file as its library reads them.
fn by_library(path: &Path) -> Option<BTreeMap<String, Vec<Cell>>> {
    let file = fs::File::open(path).ok()?;
    let batches: Vec<RecordBatch> = if path.extension()? == "parquet" {
        ParquetRecordBatchReaderBuilder::try_new(file).ok()?.build().ok()?.collect::<Result<_, _>>().ok()?
    } else {
        arrow_ipc::reader::FileReader::try_new(file, None).ok()?.collect::<Result<_, _>>().ok()?
    };
    let mut out: BTreeMap<String, Vec<Cell>> = BTreeMap::new();
    for batch in &batches {
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            out.entry(field.name().trim_ascii().to_owned()).or_default().extend(cells(column)?);
        }
    }
    Some(out)
}

/// The set has what the library reads.
fn as_the_library(set: &RankSet, path: &Path) -> Check {
    let Some(columns) = by_library(path) else { return Err(("what is wrong was read".into(), String::new())) };
    for stored in 0..set.rows() {
        let row = set.input_row(stored);
        for (j, name) in set.columns.names.iter().enumerate() {
            let found = set.features.value(stored, j);
            let right = match columns.get(name).and_then(|column| column.get(row)) {
                // no number, in any of the ways to say so: a gap
                Some(Cell::Number(x)) if x.is_nan() => found.is_nan(),
                Some(Cell::Number(x)) => (*x as f32).to_bits() == found.to_bits(),
                Some(Cell::Nothing) => found.is_nan(),
                _ => false,
            };
            ensure!(right, "another number", "{found} in row {row}, {name:?}: {:?}", columns.get(name));
        }
        let text =
            |name: &str, found: &str, absent: Option<String>| match columns.get(name).map(|column| column.get(row)) {
                Some(Some(Cell::Text(own))) if !own.is_empty() => own == found,
                Some(Some(Cell::Nothing | Cell::Text(_))) => absent.is_some_and(|absent| absent == found),
                Some(_) => false,
                None => true, // under another name after damage
            };
        let q = (0..set.len()).find(|&q| set.span(q).contains(&stored)).unwrap_or(0);
        ensure!(text("qid", set.query(q), None), "another query", "{:?}", set.query(q));
        let own = set.document(stored);
        ensure!(text("docid", &own, Some((row + 1).to_string())), "another document", "{own:?}");
        if let Some(Cell::Number(grade)) = columns.get("label").and_then(|column| column.get(row)) {
            ensure!(same(set.grades[stored], *grade), "another grade", "{grade} in row {row}");
        }
    }
    Ok(())
}

/// A file that is damaged: its name, its bytes, and the places of its numbers where they are known.
type Seed = (&'static str, Vec<u8>, Option<[usize; 3]>);

fn tables(suite: &mut Suite, inputs: usize, seed: u64, seeds: &[Seed]) {
    let mut random = damage(seed);
    for turn in 0..inputs + seeds.len() {
        let (name, whole, places) = &seeds[turn % seeds.len()];
        let (bytes, told) = match turn < seeds.len() {
            true => (whole.clone(), "whole".to_owned()),
            false => mutate::binary(whole, &mut random),
        };
        let path = suite.path(name);
        fs::write(&path, &bytes).expect("a file");
        let taken = suite.run(&format!("{name} {turn} ({told})"), &bytes, || {
            let read = || data::read_parts(&[vec![path.clone()]], Missing::Zero).map(|(set, _)| set);
            let (read, peak) = memory::peak(read);
            ensure!(peak <= allowed(bytes.len()), "too much memory", "{peak} bytes for {}", bytes.len());
            match read {
                Err(error) => clear_message(&error, &path).map(|()| false),
                Ok(set) => {
                    if let Some(places) = places.filter(|places| numbers_alone(&bytes, whole, *places)) {
                        at_their_places(&set, &bytes, places)?;
                    }
                    as_the_library(&set, &path).map(|()| true)
                }
            }
        });
        assert!(turn >= seeds.len() || taken == Some(true), "{name} is not read");
    }
}

/// Parquet, plain and packed.
pub(crate) fn damaged_parquet(suite: &mut Suite, inputs: usize) {
    let plain = parquet(Compression::UNCOMPRESSED, false);
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).expect("a level"));
    let seeds = [
        ("plain.parquet", plain.clone(), Some(places(&plain))),
        ("snappy.parquet", parquet(Compression::SNAPPY, true), None),
        ("zstd.parquet", parquet(zstd, false), None),
    ];
    tables(suite, inputs, 980, &seeds);
}

/// Feather.
pub(crate) fn damaged_feather(suite: &mut Suite, inputs: usize) {
    let plain = feather();
    tables(suite, inputs, 990, &[("plain.feather", plain.clone(), Some(places(&plain)))]);
}
