//! An allocator that counts what it is asked for: by each thread, and by a group of threads together.
#![allow(unsafe_code)] // an allocator cannot be written without; each call is passed on as it came

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

thread_local! {
    static OWN: Cell<usize> = const { Cell::new(0) };
    static IN_GROUP: Cell<bool> = const { Cell::new(false) };
}
static GROUP: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        OWN.set(OWN.get() + 1);
        if IN_GROUP.get() {
            GROUP.fetch_add(1, Ordering::Relaxed);
        }
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of this thread so far: what other tests do beside it does not count.
pub(crate) fn allocations() -> usize {
    OWN.get()
}

/// From now on this thread is one of the group. One test alone may use it.
pub(crate) fn join_group() {
    IN_GROUP.set(true);
}

/// Allocations of the group so far.
pub(crate) fn allocations_of_group() -> usize {
    GROUP.load(Ordering::Relaxed)
}
