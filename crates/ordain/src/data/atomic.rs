//! Files that are written as a whole or not at all.

use super::packing::Packing;
use crate::error::{Error, Result};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The end of the names of unfinished files.
const UNDER_WAY: &str = ".part";

/// Writes a file as a whole or not at all: to a file beside it, synced, then renamed; then the folder is synced.
///
/// `.gz` and `.zst` names are packed; `-` is standard output. A link is followed, also one to a file that is not there yet; a
/// pipe or a device is written to as it is. A new file has the mode that the `umask` leaves, one that replaces another has
/// the mode of that.
///
/// Until it is renamed the file is called `.NAME.ordain-….part`, and is locked. One without a lock is what a process left
/// that was killed: the next write to the same name removes it.
pub fn write_whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let fail = |reason| Error::Io { path: path.into(), action: "write", reason };
    if path.as_os_str() == "-" {
        let mut out = io::BufWriter::new(io::stdout().lock());
        return fill(&mut out).and_then(|()| out.flush()).map_err(fail);
    }
    let target = followed(path).map_err(fail)?;
    let packing = Packing::named(path.extension().and_then(|e| e.to_str()).unwrap_or(""));
    if std::fs::metadata(&target).is_ok_and(|m| !m.is_file()) {
        let mut device = std::fs::OpenOptions::new().write(true).open(&target).map_err(fail)?;
        return packing.pack(&mut device, fill).map_err(fail);
    }
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    remove_stale(folder, &prefix(&target));
    let (mut file, unfinished) = Unfinished::create(folder, &target).map_err(fail)?;
    packing.pack(&mut file, fill).and_then(|()| file.as_file().sync_all()).map_err(fail)?;
    keep_mode(&target, file.as_file()).map_err(fail)?;
    let mut open = unfinished.list();
    file.persist(&target).map_err(|e| fail(e.error))?;
    open.retain(|path| *path != unfinished.0);
    drop(open);
    sync_folder(folder).map_err(fail)
}

/// Where a path leads: through links, to a file that need not be there.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_path_buf();
    for _ in 0..40 {
        match std::fs::symlink_metadata(&at) {
            Ok(found) if found.is_symlink() => {
                let to = std::fs::read_link(&at)?;
                at = at.parent().unwrap_or(Path::new("")).join(to);
            }
            _ => return Ok(at),
        }
    }
    Err(io::Error::other("too many links, one behind the other"))
}

/// How the names of unfinished files begin.
fn prefix(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    format!(".{}.ordain-", name.chars().take(40).collect::<String>())
}

/// Removes unfinished files that nobody writes to any more.
fn remove_stale(folder: &Path, prefix: &str) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let own = name.to_str().is_some_and(|name| name.starts_with(prefix) && name.ends_with(UNDER_WAY));
        // a link, a pipe or a folder of that name is not ours
        if own && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            // the lock is held until the file is gone: who has just made it sees the one or the other
            if let Ok(file) = File::open(entry.path())
                && file.try_lock().is_ok()
            {
                let _ = std::fs::remove_file(entry.path()); // somebody else may be faster
            }
        }
    }
}

/// Files that are being written, under their passing names.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(vec![]);

/// One of them.
struct Unfinished(PathBuf);

impl Unfinished {
    /// A new file in a folder. It is on the list before anybody else can look at the list: [`abandon_writes`] removes it,
    /// or it is never made.
    fn create(folder: &Path, target: &Path) -> io::Result<(tempfile::NamedTempFile, Self)> {
        let mut open = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let prefix = prefix(target);
            let mut make = tempfile::Builder::new();
            make.prefix(&prefix).suffix(UNDER_WAY);
            #[cfg(unix)]
            make.permissions(mode(target).unwrap_or_else(|| std::os::unix::fs::PermissionsExt::from_mode(0o666)));
            let file = make.tempfile_in(folder)?;
            // who looked for stale files between these two lines took it for one: it holds the lock, or it has removed the file.
            // Where there are no locks, nothing is taken for stale
            let taken = matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock));
            if !taken && file.path().exists() {
                open.push(file.path().into());
                let own = Self(file.path().into());
                return Ok((file, own));
            }
        }
    }

    fn list(&self) -> MutexGuard<'static, Vec<PathBuf>> {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.list().retain(|path| *path != self.0);
    }
}

/// Removes what [`write_whole`] has not finished, and lets nothing be finished any more: for a program that ends at once.
pub fn abandon_writes() {
    let mut open = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for path in open.drain(..) {
        let _ = std::fs::remove_file(path); // it may be gone already
    }
    std::mem::forget(open); // whoever is about to finish waits for the end
}

/// The mode of a file that is there.
#[cfg(unix)]
fn mode(path: &Path) -> Option<std::fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    let found = std::fs::metadata(path).ok()?;
    Some(std::fs::Permissions::from_mode(found.permissions().mode() & 0o777))
}

/// Gives the new file the mode of the one that it replaces.
#[cfg(unix)]
fn keep_mode(path: &Path, file: &File) -> io::Result<()> {
    mode(path).map_or(Ok(()), |mode| file.set_permissions(mode))
}

#[cfg(not(unix))]
fn keep_mode(_path: &Path, _file: &File) -> io::Result<()> {
    Ok(())
}

/// Brings a new name in a folder to the disk. Folders that cannot be read, and systems that cannot do it, are left alone.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(reason) if reason.kind() == io::ErrorKind::StorageFull || reason.raw_os_error() == Some(5) => Err(reason),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_being_written_is_known_and_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new");
        let own = || {
            let open = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
            open.iter().filter(|path| path.starts_with(dir.path())).cloned().collect::<Vec<_>>()
        };
        let mut during = vec![];
        write_whole(&path, |out| {
            during = own();
            out.write_all(b"text")
        })
        .unwrap();
        assert_eq!(during.len(), 1);
        assert!(during[0] != path && !during[0].exists() && path.exists());
        let _ = write_whole(&path, |_| Err(io::Error::other("no")));
        assert!(own().is_empty());
    }

    #[test]
    fn many_write_one_name_and_none_takes_the_file_of_another_for_stale() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new");
        std::thread::scope(|scope| {
            for own in 0..8u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..crate::cases::cases(60) {
                        write_whole(path, |out| out.write_all(&[own; 64])).unwrap();
                    }
                });
            }
        });
        let found = std::fs::read(&path).unwrap();
        assert!(found.len() == 64 && found.iter().all(|byte| *byte == found[0]));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kept");
        write_whole(&path, |out| out.write_all(b"old")).unwrap();
        let full = || io::Error::new(io::ErrorKind::StorageFull, "disk full");
        assert!(write_whole(&path, |out| out.write_all(b"ne").and_then(|()| Err(full()))).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_under_way_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new");
        let (left, live) = (dir.path().join(".new.ordain-left.part"), dir.path().join(".new.ordain-live.part"));
        let other = dir.path().join(".other.ordain-left.part");
        [&left, &live, &other].into_iter().for_each(|path| std::fs::write(path, "half").unwrap());
        let held = File::open(&live).unwrap();
        held.try_lock().unwrap();
        write_whole(&path, |out| out.write_all(b"text")).unwrap();
        assert!(path.exists() && !left.exists() && live.exists() && other.exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_modes_are_kept() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (link, target) = (dir.path().join("link"), dir.path().join("target"));
        std::os::unix::fs::symlink("target", &link).unwrap();
        // a link to a file that is not there yet
        write_whole(&link, |out| out.write_all(b"text")).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&target).unwrap(), b"text");
        std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o600)).unwrap();
        write_whole(&link, |out| out.write_all(b"more")).unwrap();
        assert_eq!(std::fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read(&target).unwrap(), b"more");
        std::os::unix::fs::symlink("round", dir.path().join("round")).unwrap();
        assert!(write_whole(&dir.path().join("round"), |out| out.write_all(b"x")).is_err());
    }
}
