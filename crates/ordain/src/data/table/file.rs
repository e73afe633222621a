//! Batches from files: Parquet, and Arrow's own format, which is called Feather too.

use super::Format;
use super::batches::{Batches, Supply, guarded};
use super::bounds::Bounds;
use crate::data::packing::Packing;
use crate::data::source::{is_stream, read_whole};
use crate::error::{Error, Result};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileReader, FileReaderBuilder};
use arrow_schema::{ArrowError, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;
use rayon::prelude::*;
use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
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
        found: format!("another, or a damaged one: {}", crate::data::strings::short(&text)),
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
            Some(_) => Err(wrong(&self.path, "a Parquet file", &"other numbers than its statistics tell of")),
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
    match bytes {
        Bytes::File(file) => feather_of(path, std::io::BufReader::new(opened(&file)?)),
        Bytes::Held(held) => feather_of(path, Cursor::new(held)),
    }
}

/// Checks every size that the file declares against what it holds, because the library allocates what it is told.
///
/// The footer lists blocks; a block has a head, which lists buffers in the body; a packed buffer begins with its size when unpacked.
fn check_blocks(input: &mut (impl Read + Seek)) -> std::result::Result<(), String> {
    fn part(input: &mut (impl Read + Seek), at: u64, len: usize) -> std::result::Result<Vec<u8>, String> {
        let mut bytes = vec![0; len];
        input.seek(SeekFrom::Start(at)).and_then(|_| input.read_exact(&mut bytes)).map_err(|e| e.to_string())?;
        Ok(bytes)
    }
    let inside = |offset: i64, len: i64, all: u64| {
        let (offset, len) = (u64::try_from(offset).ok()?, u64::try_from(len).ok()?);
        offset.checked_add(len).filter(|&end| end <= all).map(|_| (offset, len))
    };
    let beyond = || "parts that would reach beyond its end".to_owned();
    let held = input.seek(SeekFrom::End(0)).map_err(|e| e.to_string())?;
    let end = part(input, held.checked_sub(10).ok_or_else(beyond)?, 10)?;
    if &end[4..] != b"ARROW1" || part(input, 0, 6)? != b"ARROW1" {
        return Err("no mark at its beginning or at its end".into());
    }
    let len = i64::from(i32::from_le_bytes([end[0], end[1], end[2], end[3]]));
    let (at, len) = inside(held as i64 - 10 - len, len, held).ok_or_else(beyond)?;
    let footer = part(input, at, len as usize)?;
    let footer = arrow_ipc::root_as_footer(&footer).map_err(|e| e.to_string())?;
    // the columns stand at the beginning too, behind the mark, which may be filled up with zeros
    let starts = (8..=64).step_by(8).map(|at| Ok((at, part(input, at as u64, 8)?)));
    let first = starts.collect::<std::result::Result<Vec<(i64, Vec<u8>)>, String>>()?;
    let first = first.into_iter().find(|(_, bytes)| bytes.iter().any(|&b| b != 0));
    let Some((at, start)) = first else { return Err("no columns at its beginning".into()) };
    let (skip, len) = if start[..4] == [0xff; 4] { (at + 8, &start[4..]) } else { (at + 4, &start[..4]) };
    let len = i64::from(i32::from_le_bytes([len[0], len[1], len[2], len[3]]));
    let (at, len) = inside(skip, len, held).ok_or_else(beyond)?;
    let first = part(input, at, len as usize)?;
    let first = arrow_ipc::root_as_message(&first).map_err(|e| e.to_string())?;
    let schema = |found: Option<arrow_ipc::Schema>| found.and_then(|found| try_fb_to_schema(found).ok());
    let schemas = (schema(first.header_as_schema()), schema(footer.schema()));
    if schemas.0.is_none() || schemas.0 != schemas.1 {
        return Err("other columns at its beginning than at its end".into());
    }
    for block in footer.recordBatches().into_iter().flatten().chain(footer.dictionaries().into_iter().flatten()) {
        let head_len = i64::from(block.metaDataLength());
        let (at, head_len) = inside(block.offset(), head_len, held).ok_or_else(beyond)?;
        let (body, body_len) = inside((at + head_len) as i64, block.bodyLength(), held).ok_or_else(beyond)?;
        let head = part(input, at, head_len as usize)?;
        // a mark of four bytes (since version 0.15) and the length stand before the message
        let skip = if head.starts_with(&[0xff; 4]) { 8 } else { 4 };
        let message = arrow_ipc::root_as_message(head.get(skip..).ok_or_else(beyond)?).map_err(|e| e.to_string())?;
        if message.bodyLength() != block.bodyLength() {
            return Err("a block whose two lengths differ".into());
        }
        let batch = message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch()?.data());
        let Some(batch) = batch else { continue };
        let rows = batch.nodes().into_iter().flatten().map(|node| node.length()).chain([batch.length()]);
        let rows = rows.map(|n| u64::try_from(n).ok().filter(|&n| n <= u64::from(u32::MAX)));
        let most = rows.collect::<Option<Vec<u64>>>().and_then(|all| all.into_iter().max());
        let most = most.ok_or("impossible numbers of rows")?;
        let nulls = |node: &arrow_ipc::FieldNode| (0..=node.length()).contains(&node.null_count());
        if !batch.nodes().into_iter().flatten().all(nulls) {
            return Err("impossible numbers of nulls".into());
        }
        for buffer in batch.buffers().into_iter().flatten() {
            let (start, len) = inside(buffer.offset(), buffer.length(), body_len).ok_or_else(beyond)?;
            if start % 8 != 0 {
                return Err("a part that does not begin at a multiple of eight bytes".into());
            }
            if batch.compression().is_some() && len >= 8 {
                let size = part(input, body + start, 8)?;
                let size = i64::from_le_bytes(size.try_into().unwrap_or_default());
                // no fixed value is wider than 32 bytes; text that packs better than 1 : 1024 is not written by anybody
                let likely = (32 * (most + 1)).max(1024 * len);
                if size < -1 || u64::try_from(size.max(0)).is_ok_and(|size| size > likely) {
                    return Err("a packed part of impossible size".into());
                }
            }
        }
    }
    Ok(())
}

fn feather_of<R: Read + Seek + Send + 'static>(path: &Path, mut input: R) -> Result<(Batches, Vec<String>)> {
    check_blocks(&mut input).map_err(|problem| wrong(path, "an Arrow (Feather) file", &problem))?;
    input.rewind().map_err(|reason| Error::Io { path: path.into(), action: "read", reason })?;
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
