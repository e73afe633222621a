//! The file of answers: lines that are on the disk once they are acknowledged, and one writer.

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file to which whole lines are added by one process at a time.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// Where the last whole line ends.
    end: u64,
    /// Lines that wait to be written together.
    held: Option<String>,
}

impl Journal {
    /// Opens or makes a file, locks it and reads what is there. The lock is advisory, and ends with the process.
    ///
    /// # Errors
    ///
    /// [`Error::Content`] if another process writes to it; [`Error::Io`].
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<u8>)> {
        let failed = |action| move |reason| Error::Io { path: path.into(), action, reason };
        // a pipe would be waited for, and a device may be endless
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Error::Content {
                path: path.into(),
                expected: "a file, which keeps answers".into(),
                found: "a folder, a pipe or a device".into(),
            });
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed("write"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(taken(path, &file)),
            Err(TryLockError::Error(reason)) => return Err(failed("lock")(reason)),
        }
        let mut old = vec![];
        file.seek(SeekFrom::Start(0)).map_err(failed("read"))?;
        file.read_to_end(&mut old).map_err(failed("read"))?;
        let end = old.len() as u64;
        Ok((Self { path: path.into(), file, end, held: None }, old))
    }

    /// Cuts off what follows the first `end` bytes.
    pub(super) fn cut(&mut self, end: usize) -> Result<()> {
        self.file.set_len(end as u64).map_err(|reason| self.failed(reason))?;
        self.end = end as u64;
        Ok(())
    }

    /// From now on lines wait for [`Self::release`].
    pub(super) fn hold(&mut self) {
        self.held.get_or_insert_default();
    }

    /// Writes the lines that wait.
    pub(super) fn release(&mut self) -> Result<()> {
        match self.held.take() {
            Some(text) if !text.is_empty() => self.append(&text),
            _ => Ok(()),
        }
    }

    /// Adds text, and returns once it is on the disk. If that fails, nothing of it stays.
    pub(super) fn append(&mut self, text: &str) -> Result<()> {
        if let Some(held) = &mut self.held {
            held.push_str(text);
            return Ok(());
        }
        match self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data()) {
            Ok(()) => {
                self.end += text.len() as u64;
                Ok(())
            }
            Err(reason) => {
                // if this fails too, the next opening leaves out the half line
                _ = self.file.set_len(self.end);
                Err(self.failed(reason))
            }
        }
    }

    fn failed(&self, reason: std::io::Error) -> Error {
        Error::Io { path: self.path.clone(), action: "write", reason }
    }
}

/// The error of a file that another process holds.
fn taken(path: &Path, file: &File) -> Error {
    let found = match holder(file) {
        Some(process) => format!("process {process}, which is writing to it"),
        None => "another process that is writing to it".into(),
    };
    let expected = "answers that nobody else writes to at the same time (wait for it, or give another file)";
    Error::Content { path: path.into(), expected: expected.into(), found }
}

/// The process that holds the lock of a file, where the system tells: a line of `/proc/locks` is
/// `1: FLOCK ADVISORY WRITE 4711 fe:00:1234 0 EOF` with the number of the file at the end of the sixth word.
#[cfg(target_os = "linux")]
fn holder(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let inode = file.metadata().ok()?.ino().to_string();
    let own = |line: &&str| line.split_whitespace().nth(5).and_then(|at| at.rsplit(':').next()) == Some(&inode);
    // a list that changes while it is read may lack a line
    (0..5).find_map(|_| {
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        locks.lines().find(own)?.split_whitespace().nth(4)?.parse().ok()
    })
}

#[cfg(not(target_os = "linux"))]
fn holder(_: &File) -> Option<u32> {
    None
}
