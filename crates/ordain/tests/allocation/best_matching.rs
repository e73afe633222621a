//! The best matching of a graph allocates nothing once its buffers are made.

use super::counting;
use ordain::random::Random;
use ordain::structure::matching::best::{Work, best, forbidden};
use ordain::structure::matching::graph::Graph;

#[test]
fn calls_allocate_nothing() {
    let mut random = Random::new(4);
    let mut case = |n: usize, m: usize, density: f64, null: bool| {
        let mut edges = vec![];
        for i in 0..n as u32 {
            edges.extend((0..m as u32).filter(|&j| i == j || random.uniform() < density).map(|j| (i, j)));
        }
        let graph = Graph::new(n, m, &edges, null).unwrap();
        let tables: Vec<Vec<f64>> = (0..3).map(|_| (0..graph.table()).map(|_| random.normal()).collect()).collect();
        (graph, tables)
    };
    let cases = [
        case(80, 80, 0.1, true),
        case(80, 90, 0.1, false),
        case(60, 60, 1.0, true),
        case(60, 60, 1.0, false),
        case(90, 50, 0.8, true),
    ];
    for (graph, tables) in &cases {
        let (mut work, mut losses) = (Work::default(), vec![]);
        best(graph, &tables[0], &mut work).unwrap();
        forbidden(graph, &tables[0], &mut work, &mut losses).unwrap();
        let before = counting::allocations();
        for s in &tables[1..] {
            best(graph, s, &mut work).unwrap();
            forbidden(graph, s, &mut work, &mut losses).unwrap();
        }
        assert_eq!(counting::allocations(), before, "{} x {}", graph.left(), graph.right());
    }
}
