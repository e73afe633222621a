//! Batches from files: Parquet, and Arrow's own format, which is called Feather too.

use super::Format;
use super::batches::{Batches, Supply, guarded};
use super::bounds::Bounds;
use super::messages::{check_blocks, check_schema};
use crate::data::packing::Packing;
use crate::data::source::{is_stream, read_whole};
use crate::error::{Error, Result, one_line};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::{FileReader, FileReaderBuilder};
use arrow_schema::{ArrowError, Schema};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ProjectionMask};
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;
use rayon::prelude::*;
use std::fs::File;
use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};

/// Rows of a batch.
const ROWS: usize = 8192;

/// Columns that one reader decodes; groups are decoded side by side.
const TOGETHER: usize = 16;

/// The bytes of a file: the file itself, or all that a stream or a packed file holds.
#[derive(Clone)]
enum Bytes {
    File(PathBuf),
    Held(bytes::Bytes),
}

/// Opens a file of columns; its rows, and its header.
pub(super) fn open(path: &Path, format: Format) -> Result<(Batches, Vec<String>)> {
    let bytes = match is_stream(path) || is_packed(path)? {
        true => Bytes::Held(read_whole(path)?.into()),
        false => Bytes::File(path.into()),
    };
    guarded(path, || match format {
        Format::Parquet => parquet(path, bytes),
        _ => feather(path, bytes),
    })
}

fn is_packed(path: &Path) -> Result<bool> {
    let mut start = vec![];
    let fail = |reason| Error::Io { path: path.into(), action: "open", reason };
    if std::fs::metadata(path).map_err(fail)?.is_dir() {
        crate::data::source::Source::open(path)?; // which refuses it
    }
    opened(path)?.take(4).read_to_end(&mut start).map_err(fail)?;
    Ok(Packing::of(&start) != Packing::Plain)
}

/// What a library says of a file that it cannot read.
fn wrong(path: &Path, what: &str, error: &dyn std::fmt::Display) -> Error {
    let text = error.to_string();
    Error::Content {
        path: path.into(),
        expected: what.into(),
        found: format!("another, or a damaged one: {}", crate::data::strings::short(&one_line(&text))),
    }
}

/// Row groups of Parquet, in which several readers decode some columns each.
struct ParquetSupply {
    path: PathBuf,
    bytes: Bytes,
    metadata: ArrowReaderMetadata,
    readers: Vec<ParquetRecordBatchReader>,
    /// For each column that was asked for its reader, and its place there.
    order: Vec<(usize, usize)>,
    /// Rows that are still to come.
    left: usize,
    bounds: Bounds,
}

fn parquet(path: &Path, bytes: Bytes) -> Result<(Batches, Vec<String>)> {
    let fail = |error: ParquetError| wrong(path, "a Parquet file", &error);
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(false);
    let metadata = match &bytes {
        Bytes::File(file) => ArrowReaderMetadata::load(&opened(file)?, options),
        Bytes::Held(held) => ArrowReaderMetadata::load(held, options),
    }
    .map_err(fail)?;
    // pyarrow, polars and others write the schema of Arrow beside that of Parquet
    let beside = metadata.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    for encoded in beside.filter(|pair| pair.key == ARROW_SCHEMA_META_KEY).filter_map(|pair| pair.value.as_deref()) {
        check_schema(encoded).map_err(|problem| wrong(path, "a Parquet file", &problem))?;
    }
    let schema = metadata.schema().clone();
    let supply = ParquetSupply {
        path: path.into(),
        bytes,
        metadata,
        readers: vec![],
        order: vec![],
        left: 0,
        bounds: Bounds::default(),
    };
    supply.check_sizes()?;
    Ok(Batches::new(path.into(), &schema, Box::new(supply)))
}

fn opened(path: &Path) -> Result<File> {
    File::open(path).map_err(|reason| Error::Io { path: path.into(), action: "open", reason })
}

impl ParquetSupply {
    /// Refuses what the head of the file says of sizes if the file cannot hold it, and codecs that are not built in.
    fn check_sizes(&self) -> Result<()> {
        use parquet::basic::Compression;
        let held = match &self.bytes {
            Bytes::File(path) => opened(path)?.metadata().map_or(0, |known| known.len()),
            Bytes::Held(bytes) => bytes.len() as u64,
        };
        for group in self.metadata.metadata().row_groups() {
            for column in group.columns() {
                let reaches = |start: i64| {
                    let (start, length) = (u64::try_from(start).ok()?, u64::try_from(column.compressed_size()).ok()?);
                    start.checked_add(length).filter(|&end| end <= held)
                };
                let first = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
                if reaches(first).is_none() || column.data_page_offset() < 0 || group.num_rows() < 0 {
                    let found = "columns that would reach beyond its end".to_owned();
                    return Err(Error::Content {
                        path: self.path.clone(),
                        expected: "a whole Parquet file".into(),
                        found,
                    });
                }
                if let codec @ (Compression::BROTLI(_) | Compression::LZ4 | Compression::LZ4_RAW | Compression::LZO) =
                    column.compression()
                {
                    return Err(Error::Content {
                        path: self.path.clone(),
                        expected: "Parquet packed with snappy, gzip or zstd, or not at all (write it again with compression=\"zstd\")".into(),
                        found: format!("the codec {codec}"),
                    });
                }
            }
        }
        Ok(())
    }

    fn reader<R: ChunkReader + 'static>(&self, input: R, columns: &[usize]) -> Result<ParquetRecordBatchReader> {
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), columns.iter().copied());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(input, self.metadata.clone());
        let built = builder.with_projection(mask).with_batch_size(ROWS).build();
        built.map_err(|error| wrong(&self.path, "a Parquet file", &error))
    }
}

impl Supply for ParquetSupply {
    fn project(&mut self, columns: &[usize]) -> Result<()> {
        let mut sorted = columns.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let groups: Vec<&[usize]> = sorted.chunks(TOGETHER).collect();
        self.readers = groups
            .iter()
            .map(|group| match &self.bytes {
                // a handle of its own: clones of one share their place in the file
                Bytes::File(path) => self.reader(opened(path)?, group),
                Bytes::Held(bytes) => self.reader(bytes.clone(), group),
            })
            .collect::<Result<_>>()?;
        let place = |column: &usize| {
            let at = sorted.binary_search(column).unwrap_or(0);
            (at / TOGETHER, at % TOGETHER)
        };
        self.order = columns.iter().map(place).collect();
        let rows = self.metadata.metadata().row_groups().iter().map(|group| group.num_rows()).sum::<i64>();
        self.left = usize::try_from(rows).unwrap_or(0);
        self.bounds = Bounds::new(self.metadata.metadata(), self.metadata.schema(), columns);
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Vec<ArrayRef>>> {
        let fail = |error: ArrowError| wrong(&self.path, "a Parquet file", &error);
        let parts: Vec<Option<RecordBatch>> = self
            .readers
            .par_iter_mut()
            .map(|reader| reader.next().transpose())
            .collect::<std::result::Result<_, _>>()
            .map_err(fail)?;
        if parts.iter().all(Option::is_none) {
            return match self.left {
                0 => Ok(None),
                left => Err(wrong(&self.path, "a Parquet file", &format!("{left} rows less than it says"))),
            };
        }
        let parts: Vec<RecordBatch> = parts.into_iter().flatten().collect();
        let rows = parts.first().map_or(0, RecordBatch::num_rows);
        if parts.len() < self.readers.len() || parts.iter().any(|part| part.num_rows() != rows) || rows > self.left {
            return Err(wrong(&self.path, "a Parquet file", &"columns of different lengths"));
        }
        self.left -= rows;
        let batch: Vec<ArrayRef> = self.order.iter().map(|&(reader, at)| parts[reader].column(at).clone()).collect();
        match self.bounds.check(&batch) {
            None => Ok(Some(batch)),
            Some(column) => {
                let name = crate::data::strings::short(self.metadata.schema().field(column).name());
                let problem = format!("other values in column {name:?} than its statistics tell of");
                Err(wrong(&self.path, "a Parquet file", &problem))
            }
        }
    }
}

/// Batches of an Arrow file.
struct FeatherSupply<R: Read + Seek + Send> {
    path: PathBuf,
    reader: FileReader<R>,
    columns: Vec<usize>,
}

fn feather(path: &Path, bytes: Bytes) -> Result<(Batches, Vec<String>)> {
    let fail = |problem: String| wrong(path, "an Arrow (Feather) file", &problem);
    match bytes {
        Bytes::File(file) => {
            check_blocks(&mut opened(&file)?).map_err(fail)?; // a few bytes here and there: no buffer
            feather_of(path, std::io::BufReader::new(opened(&file)?))
        }
        Bytes::Held(held) => {
            check_blocks(&mut Cursor::new(&held)).map_err(fail)?;
            feather_of(path, Cursor::new(held))
        }
    }
}

fn feather_of<R: Read + Seek + Send + 'static>(path: &Path, input: R) -> Result<(Batches, Vec<String>)> {
    let reader =
        FileReaderBuilder::new().build(input).map_err(|error| wrong(path, "an Arrow (Feather) file", &error))?;
    let schema: std::sync::Arc<Schema> = reader.schema();
    Ok(Batches::new(path.into(), &schema, Box::new(FeatherSupply { path: path.into(), reader, columns: vec![] })))
}

impl<R: Read + Seek + Send> Supply for FeatherSupply<R> {
    fn project(&mut self, columns: &[usize]) -> Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Vec<ArrayRef>>> {
        let batch = self.reader.next().transpose();
        let batch = batch.map_err(|error| wrong(&self.path, "an Arrow (Feather) file", &error))?;
        Ok(batch.map(|batch| self.columns.iter().map(|&at| batch.column(at).clone()).collect()))
    }
}
