//! Slopes and diagonal curvatures allocate nothing once their buffers are made: a booster asks for those of every query in every round.

use super::counting;
use ordain::data::resample::{Draw, Lists};
use ordain::data::synthetic::Synthetic;
use ordain::surrogate::lists::{ListCases, ListLikelihood, PlaceValues, RightOrders};
use ordain::surrogate::pair_hinge::PairHinge;
use ordain::surrogate::pair_logistic::{Lambda, PairLogistic};
use ordain::traits::Surrogate;

/// Allocations of a second round over all queries, with scores that are not those of the first.
fn second_round<S: Surrogate>(loss: &S, sizes: &[usize]) -> usize {
    let most = sizes.iter().copied().max().unwrap();
    let (mut d, mut h, mut work) = (vec![0.0; most], vec![0.0; most], S::Work::default());
    let mut s: Vec<f64> = (0..most).map(|i| ((i * 37) % 11) as f64 / 4.0).collect();
    let mut round = |s: &[f64]| {
        for (n, &size) in sizes.iter().enumerate() {
            loss.diagonal(n, &s[..size], &mut d[..size], &mut h[..size], &mut work).unwrap().unwrap();
        }
    };
    round(&s);
    s.reverse();
    let before = counting::allocations();
    round(&s);
    counting::allocations() - before
}

#[test]
fn diagonals_allocate_nothing_per_example() {
    let set = Synthetic { queries: 100, documents: (1, 70), features: 2, ..Synthetic::default() }.make();
    let units = set.all();
    let grades: Vec<&[f64]> = units.iter().map(|&q| &set.grades[set.span(q as usize)]).collect();
    let sizes: Vec<usize> = grades.iter().map(|grades| grades.len()).collect();
    for how in [RightOrders::Average, RightOrders::Sum] {
        let lists = Lists::draw(&set, &units, Draw::Whole, 5, 3);
        let values = PlaceValues::Fixed(vec![1.0, 0.6, 0.5, 0.4, 0.3]);
        let loss = ListLikelihood(ListCases::new(lists, grades.iter().copied(), values, how, 7));
        assert_eq!(second_round(&loss, &sizes), 0);
    }
    assert_eq!(second_round(&PairHinge::new(grades.iter().copied(), None), &sizes), 0);
    assert_eq!(second_round(&PairLogistic::new(grades.iter().copied(), None), &sizes), 0);
    let loss = PairLogistic::lambda(grades.iter().copied(), None, Lambda::default()).unwrap();
    assert_eq!(second_round(&loss, &sizes), 0);
}
