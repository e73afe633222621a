//! Signals that ask the program to end: Ctrl-C, and on Unix SIGTERM, SIGHUP and SIGQUIT.

/// Calls `told` with the number of each signal, on a thread of its own. It must be called before any other thread starts:
/// signals are held back in all threads, and one thread waits for them, so that no code runs inside a handler.
#[cfg(unix)]
pub(crate) fn handle(told: impl Fn(u8) + Send + 'static) -> std::io::Result<()> {
    use nix::sys::signal::{SigSet, Signal};
    let mut set = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        // nohup asks for no end at SIGHUP, and what is ignored must stay so
        if signal != Signal::SIGHUP || !ignored(signal as u32) {
            set.add(signal);
        }
    }
    set.thread_block()?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        while let Ok(signal) = set.wait() {
            told(signal as u8);
        }
    })?;
    Ok(())
}

/// Whether a signal was ignored before the program began, where the system tells.
#[cfg(unix)]
fn ignored(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(not(unix))]
pub(crate) fn handle(told: impl Fn(u8) + Send + 'static) -> std::io::Result<()> {
    ctrlc::set_handler(move || told(2)).map_err(std::io::Error::other)
}
