//! An evaluation of the risk allocates nothing once its buffers are made.

use super::counting;
use ordain::data::scale::{Scale, Scaling};
use ordain::data::synthetic::Synthetic;
use ordain::risk::Empirical;
use ordain::scorer::rows::Rows;
use ordain::surrogate::pair_hinge::PairHinge;
use ordain::traits::Risk;

#[test]
fn evaluations_allocate_nothing_per_example() {
    let set = Synthetic { queries: 2000, documents: (5, 20), features: 10, ..Synthetic::default() }.make();
    let units: Vec<u32> = set.all().into_iter().filter(|&q| !set.is_flat(q as usize)).collect();
    let loss = PairHinge::new(units.iter().map(|&q| &set.grades[set.span(q as usize)]), None);
    let scaling = Scaling::learn(Scale::Query, &set, &units);
    let rows = Rows::new(&set, &units, &scaling);
    let mut risk = Empirical::new(&rows, &loss, vec![1.0; units.len()]);
    let (theta, mut grad, mut hessian) = (vec![0.1; 10], vec![0.0; 10], vec![0.0; 100]);
    let mut counts = || {
        let start = counting::allocations_of_group();
        risk.value(&theta, &mut grad).unwrap();
        risk.curvature(&theta, &theta, &mut grad).unwrap();
        let middle = counting::allocations_of_group();
        risk.hessian(&theta, &mut hessian).unwrap();
        (middle - start, counting::allocations_of_group() - middle)
    };
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(4).start_handler(|_| counting::join_group()).build().unwrap();
    pool.install(&mut counts);
    pool.install(&mut counts);
    // what is left is the fork and join of up to 64 pieces, and the packing of the matrix product for every 256 rows
    let (evaluation, hessian) = pool.install(counts);
    assert!(evaluation < 200, "{evaluation} allocations in an evaluation and a product");
    assert!(hessian < 200 + 2 * (32 + set.rows() / 256), "{hessian} allocations in a Hessian");
}
