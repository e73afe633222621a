//! The messages of Arrow: a length, a head (a flatbuffer) and a body. Every size and place is checked before a library believes it, and
//! what pyarrow refuses in a head is refused: a head that is damaged says that the body, which has no checksum, may be damaged too.

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{
    CompressionType, DictionaryEncoding, Field, Footer, KeyValue, Message, MetadataVersion, RecordBatch, Schema,
};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::io::{Read, Seek, SeekFrom};

/// What is wrong with a file.
type Checked<T = ()> = Result<T, String>;

/// The mark before the length of a message, since version 0.15.
const MARK: [u8; 4] = [0xff; 4];

fn beyond() -> String {
    "parts that would reach beyond its end".into()
}

/// A part of a file.
fn part(input: &mut (impl Read + Seek), at: u64, len: usize) -> Checked<Vec<u8>> {
    let mut bytes = vec![0; len];
    input.seek(SeekFrom::Start(at)).and_then(|_| input.read_exact(&mut bytes)).map_err(|e| e.to_string())?;
    Ok(bytes)
}

/// A place and a length, if they lie within `all` bytes.
fn inside(offset: i64, len: i64, all: u64) -> Checked<(u64, u64)> {
    let (offset, len) = (u64::try_from(offset).map_err(|_| beyond())?, u64::try_from(len).map_err(|_| beyond())?);
    offset.checked_add(len).filter(|&end| end <= all).map(|_| (offset, len)).ok_or_else(beyond)
}

/// Four bytes as a length.
fn length(bytes: &[u8]) -> i64 {
    bytes.first_chunk().map_or(-1, |&bytes| i64::from(i32::from_le_bytes(bytes)))
}

/// Whether one of some fields of a table of a flatbuffer would begin at the very place that tells where it begins.
macro_rules! loops {
    ($table:expr, $($field:expr),+) => {{
        let table = $table._tab;
        [$($field),+].into_iter().any(|field| match usize::from(table.vtable().get(field)) {
            0 => false, // not there
            at => table.buf()[table.loc() + at..].starts_with(&[0; 4]),
        })
    }};
}

/// Refuses columns, or parts of a head, that begin nowhere.
fn whole(loops: bool) -> Checked {
    if loops { Err("a head with parts that begin nowhere".into()) } else { Ok(()) }
}

fn check_columns(schema: &Schema) -> Checked {
    fn pairs<'a>(pairs: impl Iterator<Item = KeyValue<'a>>) -> bool {
        pairs.into_iter().any(|pair| loops!(pair, KeyValue::VT_KEY, KeyValue::VT_VALUE))
    }
    fn column(field: &Field) -> bool {
        loops!(
            field,
            Field::VT_NAME,
            Field::VT_TYPE_,
            Field::VT_DICTIONARY,
            Field::VT_CHILDREN,
            Field::VT_CUSTOM_METADATA
        ) || field.dictionary().is_some_and(|keys| loops!(keys, DictionaryEncoding::VT_INDEXTYPE))
            || pairs(field.custom_metadata().into_iter().flatten())
            || field.children().into_iter().flatten().any(|child| column(&child))
    }
    whole(
        loops!(schema, Schema::VT_FIELDS, Schema::VT_CUSTOM_METADATA, Schema::VT_FEATURES)
            || pairs(schema.custom_metadata().into_iter().flatten())
            || schema.fields().into_iter().flatten().any(|field| column(&field)),
    )
}

/// The message of a head.
fn message(head: &[u8]) -> Checked<Message<'_>> {
    let message = arrow_ipc::root_as_message(head).map_err(|e| e.to_string())?;
    whole(loops!(message, Message::VT_HEADER, Message::VT_CUSTOM_METADATA))?;
    match message.version() {
        MetadataVersion::V4 | MetadataVersion::V5 => Ok(message),
        other => Err(format!("Arrow's version {}, not 4 or 5", i32::from(other.0) + 1)),
    }
}

/// Checks the schema of Arrow that stands in a Parquet file, in base64.
pub(super) fn check_schema(encoded: &str) -> Checked {
    let bytes = BASE64_STANDARD.decode(encoded).map_err(|e| e.to_string())?;
    let (head, rest) = match bytes.strip_prefix(&MARK) {
        Some(behind) => {
            let (_, len) = inside(4, length(behind), behind.len() as u64)?;
            behind[4..].split_at(len as usize)
        }
        None => (&bytes[..], &[][..]),
    };
    let message = message(head)?;
    inside(0, message.bodyLength(), rest.len() as u64)?;
    check_columns(&message.header_as_schema().ok_or("another message where Arrow's columns should be")?)
}

/// Checks every size that an Arrow file declares against what it holds, because the library allocates what it is told.
///
/// The footer lists blocks; a block has a head, which lists buffers in the body; a packed buffer begins with its size when unpacked.
pub(super) fn check_blocks(input: &mut (impl Read + Seek)) -> Checked {
    let held = input.seek(SeekFrom::End(0)).map_err(|e| e.to_string())?;
    let end = part(input, held.checked_sub(10).ok_or_else(beyond)?, 10)?;
    if &end[4..] != b"ARROW1" || part(input, 0, 6)? != b"ARROW1" {
        return Err("no mark at its beginning or at its end".into());
    }
    let (at, len) = inside(held as i64 - 10 - length(&end), length(&end), held)?;
    let footer = part(input, at, len as usize)?;
    let footer = arrow_ipc::root_as_footer(&footer).map_err(|e| e.to_string())?;
    whole(loops!(
        footer,
        Footer::VT_SCHEMA,
        Footer::VT_DICTIONARIES,
        Footer::VT_RECORDBATCHES,
        Footer::VT_CUSTOM_METADATA
    ))?;
    footer.schema().map_or(Ok(()), |schema| check_columns(&schema))?;
    let schema = |found: Option<Schema>| found.and_then(|found| try_fb_to_schema(found).ok());
    let first = first_columns(input, &footer, at, held)?;
    let first = arrow_ipc::root_as_message(&first).map_err(|e| e.to_string())?;
    let schemas = (schema(first.header_as_schema()), schema(footer.schema()));
    if schemas.0.is_none() || schemas.0 != schemas.1 {
        return Err("other columns at its beginning than at its end".into());
    }
    for block in footer.recordBatches().into_iter().flatten().chain(footer.dictionaries().into_iter().flatten()) {
        let (at, head_len) = inside(block.offset(), i64::from(block.metaDataLength()), held)?;
        let (body, body_len) = inside((at + head_len) as i64, block.bodyLength(), held)?;
        let head = part(input, at, head_len as usize)?;
        let behind = head.strip_prefix(&MARK).unwrap_or(&head);
        if length(behind) != behind.len() as i64 - 4 {
            return Err("a block whose head has another length than it says".into());
        }
        let message = message(&behind[4..])?;
        if message.bodyLength() != block.bodyLength() {
            return Err("a block whose two lengths differ".into());
        }
        let batch = message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch()?.data());
        batch.map_or(Ok(()), |batch| check_batch(input, &batch, body, body_len))?;
    }
    Ok(())
}

/// The head with the columns that stands at the beginning too, behind the mark, which may be filled up with zeros.
///
/// It has a length before it, as every head has, unless polars wrote it: then it reaches up to the first block.
fn first_columns(input: &mut (impl Read + Seek), footer: &Footer, end: u64, held: u64) -> Checked<Vec<u8>> {
    let starts = (8..=64).step_by(8).map(|at| Ok((at, part(input, at as u64, 8)?)));
    let first = starts.collect::<Checked<Vec<(i64, Vec<u8>)>>>()?;
    let first = first.into_iter().find(|(_, bytes)| bytes.iter().any(|&b| b != 0));
    let Some((at, start)) = first else { return Err("no columns at its beginning".into()) };
    let (skip, len) = if start.starts_with(&MARK) { (at + 8, &start[4..]) } else { (at + 4, &start[..4]) };
    let (place, len) = inside(skip, length(len), held)?;
    let head = part(input, place, len as usize)?;
    if start.starts_with(&MARK) || arrow_ipc::root_as_message(&head).is_ok() {
        return Ok(head);
    }
    let blocks = footer.recordBatches().into_iter().flatten().chain(footer.dictionaries().into_iter().flatten());
    let until = blocks.map(|block| block.offset()).min().unwrap_or(end as i64);
    let (place, len) = inside(at, until - at, held)?;
    part(input, place, len as usize)
}

/// Checks the parts of a batch whose body lies at a place of the file.
fn check_batch(input: &mut (impl Read + Seek), batch: &RecordBatch, body: u64, body_len: u64) -> Checked {
    whole(loops!(batch, RecordBatch::VT_NODES, RecordBatch::VT_BUFFERS, RecordBatch::VT_COMPRESSION))?;
    let rows = batch.nodes().into_iter().flatten().map(|node| node.length()).chain([batch.length()]);
    let rows = rows.map(|n| u64::try_from(n).ok().filter(|&n| n <= u64::from(u32::MAX)));
    let most = rows.collect::<Option<Vec<u64>>>().and_then(|all| all.into_iter().max());
    let most = most.ok_or("impossible numbers of rows")?;
    let nulls = |node: &arrow_ipc::FieldNode| (0..=node.length()).contains(&node.null_count());
    if !batch.nodes().into_iter().flatten().all(nulls) {
        return Err("impossible numbers of nulls".into());
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let (start, len) = inside(buffer.offset(), buffer.length(), body_len)?;
        if start % 8 != 0 {
            return Err("a part that does not begin at a multiple of eight bytes".into());
        }
        let Some(packing) = batch.compression().filter(|_| len >= 8) else { continue };
        let size = part(input, body + start, 8)?;
        let size = i64::from_le_bytes(size.try_into().unwrap_or_default());
        // no fixed value is wider than 32 bytes; text that packs better than 1 : 1024 is not written by anybody
        let likely = (32 * (most + 1)).max(1024 * len);
        if size < -1 || u64::try_from(size.max(0)).is_ok_and(|size| size > likely) {
            return Err("a packed part of impossible size".into());
        }
        if packing.codec() == CompressionType::LZ4_FRAME && size > 0 {
            check_frame(input, body + start + 8, len - 8)?;
        }
    }
    Ok(())
}

/// Refuses a part that is more or less than one frame of LZ4.
///
/// A frame has a head (magic number, flags, the most bytes of a block, what the flags announce, a checksum), blocks (a length of four
/// bytes, whose highest bit says that the block is not packed, and that many bytes), a length of 0, and what the flags announce.
fn check_frame(input: &mut (impl Read + Seek), at: u64, len: u64) -> Checked {
    let head = part(input, at, len.min(7) as usize)?;
    let [4, 0x22, 0x4d, 0x18, flags, ..] = head[..] else { return Ok(()) }; // which the library refuses
    let flag = |bit: u8, bytes: u64| if flags >> bit & 1 == 1 { bytes } else { 0 };
    let mut next = 7 + flag(3, 8) + flag(0, 4);
    loop {
        inside(next as i64, 4, len)?;
        let size = length(&part(input, at + next, 4)?) as u64 & 0x7fff_ffff;
        next += 4;
        if size == 0 {
            break;
        }
        next += size + flag(4, 4);
    }
    match next + flag(2, 4) == len {
        true => Ok(()),
        false => Err("a packed part that ends elsewhere than it says".into()),
    }
}
