//! Linear assignment allocates nothing once its buffers are made.

use super::counting::allocations;
use ordain::random::Random;
use ordain::structure::matching::assignment::{Work, solve};

#[test]
fn solving_again_allocates_nothing() {
    let mut random = Random::new(7);
    for (rows, cols) in [(12, 12), (30, 50), (70, 20), (640, 700), (700, 640)] {
        let problems: Vec<Vec<f64>> = (0..4).map(|_| (0..rows * cols).map(|_| random.uniform()).collect()).collect();
        let mut work = Work::default();
        solve(&problems[0], rows, cols, &mut work).unwrap();
        let before = allocations();
        for costs in &problems[1..] {
            solve(costs, rows, cols, &mut work).unwrap();
        }
        assert_eq!(allocations(), before, "{rows} x {cols}");
    }
}
