//! The exact law of matchings allocates nothing once its buffers are made, and for few rows nothing at all.
#![allow(unsafe_code, clippy::unwrap_used)] // counting allocations needs an allocator of one's own

use ordain::random::Random;
use ordain::structure::matching::subsets::{Sampler, Work, log_sum};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;
static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn calls_allocate_nothing() {
    let mut random = Random::new(1);
    let w: Vec<f64> = (0..14 * 14).map(|_| 5.0 * random.normal()).collect();
    let (mut p, mut work) = (vec![0.0; 14 * 14], Work::default());
    let mut count = |work: &mut Work, m: usize| {
        let before = COUNT.load(Ordering::Relaxed);
        log_sum(&w[..m * m], m, work, &mut p[..m * m]).unwrap();
        COUNT.load(Ordering::Relaxed) - before
    };
    for m in 0..=6 {
        assert_eq!(count(&mut work, m), 0);
    }
    assert!(count(&mut work, 14) > 0);
    for m in [14, 9, 7, 13, 14] {
        assert_eq!(count(&mut work, m), 0);
    }
    let sampler = Sampler::new(&w, 14, work).unwrap();
    let mut columns = [0; 14];
    let before = COUNT.load(Ordering::Relaxed);
    (0..100).for_each(|_| sampler.draw(&mut random, &mut columns));
    assert_eq!(COUNT.load(Ordering::Relaxed), before);
}
