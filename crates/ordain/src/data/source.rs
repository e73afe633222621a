//! Text in large blocks that end at line boundaries, from plain, gzip or zstd files.

use super::notes;
use super::packing::Packing;
use super::room;
use super::utf16;
use crate::error::{Error, Result, Way};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Size of the blocks that are read at once.
pub(super) const BLOCK: usize = 8 << 20;

/// The most bytes of a list: names of labels, sizes of queries, scores.
const LISTS: usize = 1 << 28;

/// The mark that some programs put before UTF-8.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The beginnings of streams that somebody looked at: who reads a stream next begins with them.
static BEGUN: Mutex<Vec<(PathBuf, Source)>> = Mutex::new(vec![]);

/// Whether standard input was handed out: it comes once.
static STDIN_GONE: AtomicBool = AtomicBool::new(false);

/// An open text file, unpacked by its magic bytes; `-` is standard input.
///
/// A *stream* (standard input, a pipe, a FIFO) can be read once only. [`peek`] looks at its beginning and leaves it to the
/// next [`Source::open`].
pub(crate) struct Source {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    at_end: bool,
    started: bool,
    /// Whether UTF-16 was looked for.
    decoded: bool,
    /// Whether it is gzip or zstd.
    packed: bool,
    carried: Vec<u8>,
    /// Line ends so far.
    lines: usize,
}

impl Source {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut begun = begun();
        if let Some(at) = begun.iter().position(|(begun, _)| begun == path) {
            return Ok(begun.swap_remove(at).1);
        }
        drop(begun); // to open a FIFO waits for its writer
        Self::anew(path)
    }

    fn anew(path: &Path) -> Result<Self> {
        let fail = |reason| Error::Io { path: path.into(), action: "open", reason };
        let raw: Box<dyn Read + Send> = if path.as_os_str() == "-" {
            if STDIN_GONE.swap(true, Ordering::SeqCst) {
                return Err(Error::Content {
                    path: path.into(),
                    expected: "standard input once (give the other file a name)".into(),
                    found: "it was read already".into(),
                });
            }
            Box::new(io::stdin())
        } else {
            if let Some(found) = no_text(&std::fs::metadata(path).map_err(fail)?.file_type()) {
                return Err(Error::Content {
                    path: path.into(),
                    expected: "a file or a pipe".into(),
                    found: found.into(),
                }
                .or(Way::new("folds", ["FOLDER"], "takes a folder of folds")));
            }
            Box::new(File::open(path).map_err(fail)?)
        };
        let (packing, reader) = unpack(raw).map_err(fail)?;
        Ok(Self {
            path: path.into(),
            reader,
            at_end: false,
            started: false,
            decoded: false,
            packed: packing != Packing::Plain,
            carried: vec![],
            lines: 0,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// An error of reading: of the system, of a packed file, or of text that is not what its mark says.
    fn failed(&self, reason: io::Error) -> Error {
        match utf16::broken(&reason) {
            true => Error::Content {
                path: self.path.clone(),
                expected: "UTF-16, as its first bytes say".into(),
                found: reason.to_string(),
            },
            false => Error::Io { path: self.path.clone(), action: "read", reason },
        }
    }

    /// Decodes UTF-16, if that is what the file is in: for those who read text.
    fn decode(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.decoded, true) {
            let raw = std::mem::replace(&mut self.reader, Box::new(io::empty()));
            let fail = |reason| Error::Io { path: self.path.clone(), action: "read", reason };
            self.reader = utf16::decoded(raw).map_err(fail)?;
        }
        Ok(())
    }

    /// Fills `block` with whole lines, about 8 MB of them; empty at the end of the file.
    ///
    /// A line longer than a block makes the block grow to hold it, up to [`notes::max_line`]. A last line without its end is
    /// noted, for it may be cut.
    pub(crate) fn next_block(&mut self, block: &mut Vec<u8>) -> Result<()> {
        self.decode()?;
        room::check(&self.path)?;
        block.clear();
        block.append(&mut self.carried);
        while !self.at_end {
            let start = block.len();
            let more = BLOCK.saturating_sub(start).max(BLOCK / 8);
            block.try_reserve(more).map_err(|_| self.failed(io::ErrorKind::OutOfMemory.into()))?;
            let want = block.capacity() - start;
            let got = (&mut self.reader).take(want as u64).read_to_end(block).map_err(|reason| self.failed(reason))?;
            self.at_end = got < want;
            if !self.started {
                self.started = true;
                if block.starts_with(BOM) {
                    block.drain(..3);
                }
            }
            if !self.at_end
                && let Some(last) = memchr::memrchr(b'\n', block)
            {
                self.carried.extend_from_slice(&block[last + 1..]);
                block.truncate(last + 1);
                break;
            }
            if !self.at_end && block.len() > notes::max_line() {
                return Err(self.long_line());
            }
        }
        self.lines += memchr::memchr_iter(b'\n', block).count();
        if let Some(&last) = block.last()
            && last != b'\n'
        {
            notes::cut(&self.path, self.lines + 1);
        }
        Ok(())
    }

    #[cold]
    fn long_line(&self) -> Error {
        Error::Parse {
            path: self.path.clone(),
            line: self.lines + 1,
            column: 1,
            expected: format!("lines of at most {} bytes", notes::max_line()),
            found: "a longer one".into(),
        }
        .or(Way::new("max-line", ["BYTES"], "takes longer ones"))
    }
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.reader.read(out)
    }
}

fn begun() -> MutexGuard<'static, Vec<(PathBuf, Source)>> {
    BEGUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a path is a stream (standard input, a pipe, a FIFO), which can be read once only.
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-" || std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// The first bytes of a file, at most so many, unpacked and without the mark of UTF-8. A stream still has them after it.
pub(crate) fn peek(path: &Path, most: usize) -> Result<Vec<u8>> {
    let mut source = Source::open(path)?;
    source.decode()?;
    let mut start = vec![];
    (&mut source.reader).take(most as u64).read_to_end(&mut start).map_err(|reason| Error::Io {
        path: path.into(),
        action: "read",
        reason,
    })?;
    let text = start.strip_prefix(BOM).unwrap_or(&start).to_vec();
    if is_stream(path) {
        source.reader = Box::new(io::Cursor::new(start).chain(source.reader));
        begun().push((path.into(), source));
    }
    Ok(text)
}

/// What a thing is that holds no text; `None` where it may.
#[cfg(unix)]
fn no_text(kind: &std::fs::FileType) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    match () {
        () if kind.is_dir() => Some("a folder"),
        () if kind.is_char_device() || kind.is_block_device() => Some("a device"),
        () if kind.is_socket() => Some("a socket"),
        () => None,
    }
}

#[cfg(not(unix))]
fn no_text(kind: &std::fs::FileType) -> Option<&'static str> {
    kind.is_dir().then_some("a folder")
}

/// Where the first control byte is: any but the tab. Line ends are no part of `text`.
#[inline]
pub(crate) fn control(text: &[u8]) -> Option<usize> {
    let is_control = |b: u8| (b < b' ') & (b != b'\t') | (b == 0x7f);
    // without a branch, so that it is done for many bytes at a time
    let any = text.iter().fold(false, |any, &b| any | is_control(b));
    if any { text.iter().position(|&b| is_control(b)) } else { None }
}

/// What is expected where a control byte stands.
pub(crate) const NO_CONTROL: &str = "text without control bytes (blanks are space and tab, lines end in LF or CRLF)";

/// A control byte, as it is called in messages.
pub(crate) fn control_name(byte: u8) -> String {
    match byte {
        b'\r' => "a CR without LF".into(),
        b'\n' => "a line end".into(),
        _ => format!("the byte 0x{byte:02x}"),
    }
}

/// Lines of a small text file, numbered from 1, without their ends and the blanks around them; UTF-8, no control bytes.
pub fn read_lines(path: &Path) -> Result<Vec<String>> {
    let bytes = read_at_most(path, LISTS, "a list")?;
    let mut lines: Vec<&[u8]> = bytes.split(|&b| b == b'\n').collect();
    match lines.pop() {
        Some(last) if !last.is_empty() => {
            lines.push(last);
            notes::cut(path, lines.len());
        }
        _ => {}
    }
    let line = |(number, line): (usize, &[u8])| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let refuse = |column: usize, expected: &str, found: String| Error::Parse {
            path: path.into(),
            line: number,
            column,
            expected: expected.into(),
            found,
        };
        if let Some(at) = control(line) {
            return Err(refuse(at + 1, NO_CONTROL, control_name(line[at])));
        }
        match std::str::from_utf8(line) {
            Ok(text) if number == 1 => Ok(text.trim_start_matches('\u{feff}').trim_ascii().to_owned()),
            Ok(text) => Ok(text.trim_ascii().to_owned()),
            Err(error) => Err(refuse(error.valid_up_to() + 1, "text in UTF-8", "other bytes".into())),
        }
    };
    (1..).zip(lines).map(line).collect()
}

fn unpack(mut raw: Box<dyn Read + Send>) -> io::Result<(Packing, Box<dyn Read + Send>)> {
    let mut magic = Vec::with_capacity(4);
    (&mut raw).take(4).read_to_end(&mut magic)?;
    let packing = Packing::of(&magic);
    Ok((packing, packing.unpack(io::Cursor::new(magic).chain(raw))?))
}

/// The name of a file without `.gz` or `.zst`.
pub(crate) fn plain_name(path: &Path) -> PathBuf {
    match path.extension().and_then(|e| e.to_str()) {
        Some("gz" | "zst" | "zstd") => path.with_extension(""),
        _ => path.to_path_buf(),
    }
}

/// The whole of a file, unpacked; `-` is standard input.
pub fn read_whole(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    Source::open(path)?.read_to_end(&mut bytes).map_err(|reason| Error::Io {
        path: path.into(),
        action: "read",
        reason,
    })?;
    Ok(bytes)
}

/// The same for a file that has no reason to be longer than `most` bytes, unpacked.
pub(crate) fn read_at_most(path: &Path, most: usize, what: &str) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    let failed = |reason| Error::Io { path: path.into(), action: "read", reason };
    Source::open(path)?.take(most as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > most {
        let expected = format!("{what} of at most {} MiB, unpacked", most >> 20);
        return Err(Error::Content { path: path.into(), expected, found: "a longer one".into() });
    }
    Ok(bytes)
}

/// The whole of a file that is never packed and begins in a way that `known` knows; nothing more is read of any other.
/// `None` where it does not begin so.
pub(crate) fn read_plain(path: &Path, known: impl Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>> {
    let failed = |reason| Error::Io { path: path.into(), action: "read", reason };
    let mut source = Source::open(path)?;
    if source.packed {
        return Err(Error::Content {
            path: path.into(),
            expected: "a model, which is never packed (unpack it first: gzip -d, zstd -d)".into(),
            found: "a packed file".into(),
        });
    }
    let mut bytes = vec![];
    (&mut source).take(64).read_to_end(&mut bytes).map_err(failed)?;
    if !known(&bytes) {
        return Ok(None);
    }
    source.read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}

/// What a file is by its name, in small letters.
pub(in crate::data) fn extension(path: &Path) -> String {
    plain_name(path).extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::write_whole;

    #[test]
    fn blocks_end_at_lines_whatever_the_packing() {
        let dir = tempfile::tempdir().unwrap();
        let text: String = (0..300_000).map(|i| format!("line number {i} of the file, quite long\n")).collect();
        for name in ["a.txt", "a.txt.gz", "a.txt.zst"] {
            let path = dir.path().join(name);
            write_whole(&path, |out| out.write_all(format!("\u{feff}{text}no end").as_bytes())).unwrap();
            let mut source = Source::open(&path).unwrap();
            let (mut all, mut block, mut blocks) = (vec![], vec![], 0);
            loop {
                source.next_block(&mut block).unwrap();
                if block.is_empty() {
                    break;
                }
                blocks += 1;
                assert!(block.ends_with(b"\n") || block.ends_with(b"no end"));
                all.extend_from_slice(&block);
            }
            assert!(blocks > 1);
            assert!(all == format!("{text}no end").as_bytes());
        }
        assert_eq!(plain_name(Path::new("a/rank.train.zst")), Path::new("a/rank.train"));
    }
}
