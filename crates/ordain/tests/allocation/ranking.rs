//! Top-k lists allocate nothing once their buffers are made: training goes through many of them.

use super::counting;
use ordain::random::Random;
use ordain::structure::ranking::{Design, Links, Problem, Search, Sums, UNLIMITED, Work};

#[test]
fn lists_allocate_nothing() {
    let mut random = Random::new(4);
    let mut case = |n: usize, core: usize, k: usize| {
        let scores: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let g: Vec<f64> = (0..n * core).map(|_| random.normal()).collect();
        let links = Links::new(n, &(0..core as u32).collect::<Vec<u32>>(), &g).unwrap();
        (scores, g, links, vec![1.0; k + 1], Design::distance(k + 1))
    };
    let mut cases = [case(100, 3, 5), case(60, 2, 7), case(93, 0, 4), case(20, 1, 1)];
    let (mut work, mut places, mut sums, mut values) = (Work::default(), vec![], Sums::default(), vec![]);
    let mut all = || {
        for (scores, g, links, discounts, design) in &mut cases {
            let core = links.core().len();
            links.set(scores.len(), &[0, 1, 2][..core], g).unwrap();
            let extra = [];
            let problem = Problem { scores, discounts, design, links, extra: &extra, pins: &[(9, 0)] };
            problem.best(UNLIMITED, &mut work, &mut places).unwrap();
            problem.best_list(Search::Every, &mut work, &mut places).unwrap();
            problem.log_sum(&mut work, &mut sums).unwrap();
            problem.forced(&mut work, &mut values).unwrap();
        }
    };
    all();
    let before = counting::allocations();
    all();
    assert_eq!(counting::allocations(), before);
}
