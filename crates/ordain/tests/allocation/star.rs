//! The best set of a star allocates nothing once its buffers are made.

use super::counting;
use ordain::random::Random;
use ordain::structure::star::{MaxWork, Search, Star, Subsets};

#[test]
fn calls_allocate_nothing() {
    let mut random = Random::new(4);
    let (mut work, mut set) = (MaxWork::default(), vec![]);
    let mut case = |n: usize, c: usize| {
        let s: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let links: Vec<f64> = (0..n * c).map(|_| 0.1 * random.normal()).collect();
        (s, Star::new(n, &(0..c as u32).collect::<Vec<u32>>(), &links).unwrap())
    };
    let cases = [case(1000, 10), case(93, 5), case(93, 10), case(20, 2), case(93, 0)];
    let mut all = || {
        for (s, star) in &cases {
            for way in [Search::Fast, Search::Sweep, Search::ShortSweep, Search::Branch] {
                star.max_by(way, s, &Subsets { k: 12, clamp: &[] }, &mut work, &mut set).unwrap();
            }
        }
    };
    all();
    let before = counting::allocations();
    all();
    assert_eq!(counting::allocations(), before);
}
