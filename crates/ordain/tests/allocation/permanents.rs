//! The exact law of matchings allocates nothing once its buffers are made, and for few rows nothing at all.

use super::counting;
use ordain::random::Random;
use ordain::structure::matching::subsets::{Sampler, Work, log_sum};

#[test]
fn calls_allocate_nothing() {
    let mut random = Random::new(1);
    let w: Vec<f64> = (0..14 * 14).map(|_| 5.0 * random.normal()).collect();
    let (mut p, mut work) = (vec![0.0; 14 * 14], Work::default());
    let mut count = |work: &mut Work, m: usize| {
        let before = counting::allocations();
        log_sum(&w[..m * m], m, work, &mut p[..m * m]).unwrap();
        counting::allocations() - before
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
    let before = counting::allocations();
    (0..100).for_each(|_| sampler.draw(&mut random, &mut columns));
    assert_eq!(counting::allocations(), before);
}
