//! Exact and pruned sums over matchings of any graph allocate nothing once their buffers are made.

use super::counting;
use ordain::random::Random;
use ordain::structure::matching::graph::Graph;
use ordain::structure::matching::{partial, pruned};

#[test]
fn calls_allocate_nothing() {
    let (mut random, mut work, mut prune) = (Random::new(1), partial::Work::default(), pruned::Work::default());
    let problems: Vec<(Graph, Vec<f64>)> =
        [(12, 12, true), (9, 14, true), (14, 8, false), (9, 10, false), (7, 7, false)]
            .into_iter()
            .map(|(n, m, null)| {
                let edges: Vec<(u32, u32)> = (0..n).flat_map(|i| (0..m).map(move |j| (i, j))).collect();
                let graph = Graph::new(n as usize, m as usize, &edges, null).unwrap();
                let s = (0..graph.table()).map(|_| 3.0 * random.normal()).collect();
                (graph, s)
            })
            .collect();
    let mut p = vec![0.0; 400];
    let mut round = || {
        let before = counting::allocations();
        for (graph, s) in &problems {
            partial::log_sum(graph, s, &mut work, &mut p[..graph.table()]).unwrap();
            pruned::log_sum(graph, s, 1e-6, 1 << 12, &mut prune, &mut p[..graph.table()]).unwrap().unwrap();
        }
        counting::allocations() - before
    };
    assert!(round() > 0);
    assert_eq!(round(), 0);
}
