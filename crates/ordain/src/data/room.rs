//! Memory under a limit: an error while there is still room for one.
//!
//! Rows that are read are held in vectors that grow by doubling, and an allocation that fails ends the process, and with it the
//! interpreter of Python. Where the address space has a limit (`ulimit -v`, RLIMIT_AS), readers therefore ask before each block whether
//! all that they hold could double. Linux alone tells; elsewhere there is always room. Where it is known beforehand how much work takes,
//! [`need`] asks whether it is there.

use crate::error::{Error, Result};
use std::io;
use std::path::Path;
use std::sync::OnceLock;

/// What a block and the pieces of one may take, whatever was read before.
const LEAST: u64 = 64 << 20;

/// The address space of the process before it read anything.
static BEFORE: OnceLock<u64> = OnceLock::new();

/// The soft limit of the address space in bytes, by the text of `/proc/self/limits`; none where it is unlimited.
fn limit(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Bytes of address space in use, by the text of `/proc/self/status`, which counts units of 1024.
fn used(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Whether there is room for what was read to double, and for another half of it on the way.
fn enough(limit: u64, before: u64, used: u64) -> bool {
    let held = used.saturating_sub(before);
    used.saturating_add(held + held / 2 + LEAST) <= limit
}

/// Refuses to read on where a limit of the address space would end the process.
pub(super) fn check(path: &Path) -> Result<()> {
    let read = |name: &str| std::fs::read_to_string(name).ok();
    let Some(now) = read("/proc/self/status").and_then(|text| used(&text)) else { return Ok(()) };
    let before = *BEFORE.get_or_init(|| now);
    match read("/proc/self/limits").and_then(|text| limit(&text)) {
        Some(limit) if !enough(limit, before, now) => Err(Error::Io {
            path: path.into(),
            action: "read",
            reason: io::Error::new(
                io::ErrorKind::OutOfMemory,
                format!(
                    "{} MiB of memory are in use, and the limit of {} MiB leaves no room for more rows (raise it: ulimit -v, or read a part of the file)",
                    now >> 20,
                    limit >> 20
                ),
            ),
        }),
        _ => Ok(()),
    }
}

/// The memory of the machine, by the text of `/proc/meminfo`, which counts units of 1024.
fn memory(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Refuses work on a file that takes so many bytes at once, where a limit of the address space leaves no room for them, or the machine
/// has not as many. Linux alone tells.
pub(crate) fn need(path: &Path, action: &'static str, bytes: u64) -> Result<()> {
    if bytes <= LEAST {
        return Ok(());
    }
    let read = |name: &str| std::fs::read_to_string(name).ok();
    let used = read("/proc/self/status").and_then(|text| used(&text)).unwrap_or(0);
    let limit = read("/proc/self/limits").and_then(|text| limit(&text));
    let left = limit.map(|limit| limit.saturating_sub(used).saturating_sub(LEAST));
    let all = read("/proc/meminfo").and_then(|text| memory(&text));
    match left.into_iter().chain(all).min() {
        Some(room) if bytes > room => Err(Error::Io {
            path: path.into(),
            action,
            reason: io::Error::new(
                io::ErrorKind::OutOfMemory,
                format!("it takes about {} MiB of memory, and there is room for {} MiB", bytes >> 20, room >> 20),
            ),
        }),
        _ => Ok(()),
    }
}

/// Text of JSON that is shorter needs little, whatever it holds.
const SHORT: usize = 1 << 20;
/// What a value of JSON takes at most, for each sign that may begin one: an object of one member is a node of a tree.
const VALUE: u64 = 256;

/// Refuses text of JSON whose values have no room under a limit of the address space: `[0,0,…]` takes sixteen bytes for one.
pub(crate) fn for_json(path: &Path, text: &[u8]) -> Result<()> {
    if text.len() < SHORT {
        return Ok(());
    }
    let values = text.iter().filter(|&&b| matches!(b, b',' | b'[' | b'{' | b':')).count() as u64;
    need(path, "read", text.len() as u64 + VALUE * values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_the_system_writes_them() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max cpu time              unlimited            unlimited            seconds   \n\
                    Max address space         1024000000           unlimited            bytes     \n";
        assert_eq!(limit(text), Some(1_024_000_000));
        assert_eq!(limit(&text.replace("1024000000", "unlimited ")), None);
        assert_eq!(used("Name:\tordain\nVmPeak:\t   90 kB\nVmSize:\t   25 kB\n"), Some(25 << 10));
        assert_eq!(memory("MemTotal:       24 kB\nMemFree: 1 kB\n"), Some(24 << 10));
        assert_eq!((limit(""), used(""), memory("")), (None, None, None));
    }

    #[test]
    fn what_is_needed_is_there_or_refused() {
        let path = Path::new("a.json");
        assert!(need(path, "read", 1 << 20).is_ok() && need(path, "read", 200 << 20).is_ok());
        #[cfg(target_os = "linux")]
        for bytes in [1 << 62, u64::MAX] {
            let error = need(path, "read", bytes).unwrap_err();
            assert!(matches!(&error, Error::Io { reason, .. } if reason.kind() == io::ErrorKind::OutOfMemory));
        }
        let text = vec![b','; 1 << 20];
        assert!(for_json(path, &text).is_ok());
    }

    #[test]
    fn all_that_is_held_may_double() {
        let mib = 1 << 20;
        assert!(enough(1000 * mib, 100 * mib, 400 * mib)); // 300 held: 450 more and 64
        assert!(!enough(1000 * mib, 100 * mib, 500 * mib));
        assert!(enough(1000 * mib, 100 * mib, 50 * mib));
        assert!(!enough(100 * mib, 0, 90 * mib));
        assert!(!enough(100, u64::MAX, u64::MAX));
    }
}
