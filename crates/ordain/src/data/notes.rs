//! What readers notice on the way, and the longest line that they take: one of each for the process.
//!
//! Readers have no way to say a word beside their result. What they notice is put here, and who called them takes it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The most bytes of a line, unless another number is set: 64 MiB.
pub const LONGEST_LINE: usize = 64 << 20;

/// Notes that nobody takes do not pile up.
const MOST: usize = 100;

static MAX_LINE: AtomicUsize = AtomicUsize::new(LONGEST_LINE);
static NOTES: Mutex<Vec<Note>> = Mutex::new(vec![]);

/// What a reader noticed of a file that it read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The last line has no line end: the file may be cut.
    Cut {
        /// The file.
        path: PathBuf,
        /// The number of its last line.
        line: usize,
    },
    /// The last line is not whole: it was left out.
    Half {
        /// The file.
        path: PathBuf,
        /// The number of its last line.
        line: usize,
    },
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Cut { path, line } => write!(
                f,
                "{}: line {line}, the last one, has no line end: is the file cut? It was read as it stands",
                path.display()
            ),
            Self::Half { path, line } => {
                write!(f, "{}: line {line}, the last one, is not complete and was left out", path.display())
            }
        }
    }
}

/// The most bytes of a line.
pub fn max_line() -> usize {
    MAX_LINE.load(Ordering::Relaxed)
}

/// Sets the most bytes of a line, for the whole process: a small packed file may unpack to one line that fills the memory.
pub fn set_max_line(bytes: usize) {
    MAX_LINE.store(bytes, Ordering::Relaxed);
}

/// Notes that a file has no line end behind its last line.
pub(crate) fn cut(path: &Path, line: usize) {
    note(Note::Cut { path: path.into(), line });
}

/// Notes that the last line of a file is not whole, and was left out.
pub(crate) fn half(path: &Path, line: usize) {
    note(Note::Half { path: path.into(), line });
}

fn note(note: Note) {
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    if notes.len() < MOST && !notes.contains(&note) {
        notes.push(note);
    }
}

/// Takes what readers noticed since the last call, in this process.
///
/// ```
/// use ordain::data;
/// # let dir = tempfile::tempdir().unwrap();
/// let path = dir.path().join("cut.txt");
/// std::fs::write(&path, "1 qid:1 1:2\n0 qid:1 1:0.7").unwrap(); // or was it 1:0.75?
/// data::read(&path)?;
/// let notes = data::take_notes();
/// assert!(notes.iter().any(|note| note.to_string().contains("line 2, the last one, has no line end")));
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn take_notes() -> Vec<Note> {
    std::mem::take(&mut *NOTES.lock().unwrap_or_else(PoisonError::into_inner))
}
