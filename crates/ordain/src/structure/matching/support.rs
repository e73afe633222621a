//! Which edges are part of some matching at all.

use super::graph::Graph;
use crate::error::{Error, Result};

const NOBODY: u32 = u32::MAX;

/// Buffers of [`Work::find`], and what it found.
#[derive(Default)]
pub(super) struct Work {
    /// By edge: whether some allowed matching has it. Empty where all have one.
    pub(super) alive: Vec<bool>,
    /// By item of the greater side: whether some allowed matching leaves it out. Empty where that is all or none of them.
    pub(super) leaves: Vec<bool>,
    /// A matching of the whole lesser side, by its items: the edge.
    edge_of: Vec<u32>,
    /// By item of the greater side: the item of the lesser side.
    owner: Vec<u32>,
    seen: Vec<u32>,
    queue: Vec<u32>,
    from: Vec<u32>,
    order: Vec<u32>,
    low: Vec<u32>,
    part: Vec<u32>,
    calls: Vec<(u32, u32)>,
}

/// The graph seen from its lesser side.
struct Side<'a> {
    graph: &'a Graph,
    left: bool,
}

impl Side<'_> {
    fn degree(&self, i: usize) -> usize {
        if self.left { self.graph.of_left(i).len() } else { self.graph.of_right(i).len() }
    }

    /// The k-th edge of an item, and the item of the greater side that it leads to.
    fn edge(&self, i: usize, k: usize) -> (u32, usize) {
        if self.left {
            let e = self.graph.of_left(i).start + k;
            (e as u32, self.graph.ends(e).1)
        } else {
            let e = self.graph.of_right(i)[k];
            (e, self.graph.ends(e as usize).0)
        }
    }
}

impl Work {
    /// Finds the edges that are part of some matching, and one matching.
    ///
    /// Where items may stay for a price, and where all edges are there, nothing has to be done. Otherwise augmenting
    /// paths in breadth find one matching, in O(V E) at worst, and strong components the edges that can be exchanged
    /// into it, in O(V + E) (Dulmage and Mendelsohn).
    pub(super) fn find(&mut self, graph: &Graph) -> Result<()> {
        self.alive.clear();
        self.leaves.clear();
        if graph.null() || graph.is_complete() {
            return Ok(());
        }
        let side = Side { graph, left: graph.left() <= graph.right() };
        let (small, great) = (graph.lesser(), graph.left().max(graph.right()));
        self.matching(&side, small, great)?;
        // strong components of the lesser items, and of one more node (the last) for all that stays unmatched
        self.components(&side, small, great);
        let part = |i: u32| self.part[if i == NOBODY { small } else { i as usize }];
        self.alive.resize(graph.edges(), false);
        for i in 0..small {
            for k in 0..side.degree(i) {
                let (e, j) = side.edge(i, k);
                self.alive[e as usize] = e == self.edge_of[i] || part(self.owner[j]) == self.part[i];
            }
        }
        if great > small {
            self.leaves.extend(self.owner.iter().map(|&owner| part(owner) == self.part[small]));
        }
        Ok(())
    }

    fn matching(&mut self, side: &Side, small: usize, great: usize) -> Result<()> {
        reset(&mut self.edge_of, small, NOBODY);
        reset(&mut self.owner, great, NOBODY);
        reset(&mut self.seen, great, NOBODY);
        reset(&mut self.from, great, 0);
        for start in 0..small {
            self.queue.clear();
            self.queue.push(start as u32);
            let (mut head, mut end) = (0, None);
            'search: while head < self.queue.len() {
                let i = self.queue[head] as usize;
                head += 1;
                for k in 0..side.degree(i) {
                    let (e, j) = side.edge(i, k);
                    if self.seen[j] == start as u32 {
                        continue;
                    }
                    self.seen[j] = start as u32;
                    self.from[j] = e;
                    if self.owner[j] == NOBODY {
                        end = Some(j);
                        break 'search;
                    }
                    self.queue.push(self.owner[j]);
                }
            }
            let Some(mut j) = end else {
                return Err(Error::Infeasible { side: if side.left { "row" } else { "column" }, index: start });
            };
            loop {
                let e = self.from[j];
                let (a, b) = side.graph.ends(e as usize);
                let (i, other) = if side.left { (a, b) } else { (b, a) };
                let before = self.edge_of[i];
                self.edge_of[i] = e;
                self.owner[other] = i as u32;
                if i == start {
                    break;
                }
                let (a, b) = side.graph.ends(before as usize);
                j = if side.left { b } else { a };
            }
        }
        Ok(())
    }

    /// Tarjan's components, without recursion.
    fn components(&mut self, side: &Side, small: usize, great: usize) {
        reset(&mut self.order, small + 1, NOBODY);
        reset(&mut self.low, small + 1, 0);
        reset(&mut self.part, small + 1, NOBODY);
        let mut count = 0;
        for start in 0..=small {
            if self.order[start] != NOBODY {
                continue;
            }
            self.calls.clear();
            self.queue.clear();
            self.calls.push((start as u32, 0));
            while let Some(&(node, k)) = self.calls.last() {
                let at = node as usize;
                if k == 0 {
                    self.order[at] = count;
                    self.low[at] = count;
                    count += 1;
                    self.queue.push(node);
                }
                let degree = if at < small {
                    side.degree(at)
                } else if great > small {
                    small
                } else {
                    0
                };
                if (k as usize) < degree {
                    let last = self.calls.len() - 1;
                    self.calls[last].1 += 1;
                    let next = if at == small {
                        k as usize
                    } else {
                        match self.owner[side.edge(at, k as usize).1] {
                            NOBODY => small,
                            owner => owner as usize,
                        }
                    };
                    if self.order[next] == NOBODY {
                        self.calls.push((next as u32, 0));
                    } else if self.part[next] == NOBODY {
                        self.low[at] = self.low[at].min(self.order[next]);
                    }
                    continue;
                }
                self.calls.pop();
                if let Some(&(above, _)) = self.calls.last() {
                    self.low[above as usize] = self.low[above as usize].min(self.low[at]);
                }
                if self.low[at] == self.order[at] {
                    while let Some(member) = self.queue.pop() {
                        self.part[member as usize] = node;
                        if member == node {
                            break;
                        }
                    }
                }
            }
        }
    }
}

fn reset(values: &mut Vec<u32>, len: usize, value: u32) {
    values.clear();
    values.resize(len, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn an_edge_is_alive_where_a_matching_has_it() {
        let mut random = Random::new(5);
        let mut work = Work::default();
        let (mut dead, mut none) = (0, 0);
        for _ in 0..2000 {
            let (n, m) = (1 + random.below(5), 1 + random.below(5));
            let all: Vec<(u32, u32)> = (0..n as u32).flat_map(|i| (0..m as u32).map(move |j| (i, j))).collect();
            let edges: Vec<_> = all.into_iter().filter(|_| random.below(5) < 2).collect();
            let graph = Graph::new(n, m, &edges, false).unwrap();
            let mut truth = vec![false; edges.len()];
            let mut leaves = vec![false; n.max(m)];
            let mut any = false;
            for set in 0u32..1 << edges.len() {
                let chosen: Vec<usize> = (0..edges.len()).filter(|e| set >> e & 1 == 1).collect();
                let (mut left, mut right) = (0u32, 0u32);
                chosen.iter().for_each(|&e| {
                    left |= 1 << edges[e].0;
                    right |= 1 << edges[e].1;
                });
                let fits = left.count_ones() as usize == chosen.len() && right.count_ones() as usize == chosen.len();
                if fits && chosen.len() == n.min(m) {
                    any = true;
                    chosen.iter().for_each(|&e| truth[e] = true);
                    let taken = if n <= m { right } else { left };
                    leaves.iter_mut().enumerate().for_each(|(k, leaves)| *leaves |= taken >> k & 1 == 0);
                }
            }
            match work.find(&graph) {
                Ok(()) if work.alive.is_empty() => assert!(any && truth.iter().all(|&t| t)),
                Ok(()) => {
                    assert!(any && work.alive == truth, "{n} {m} {edges:?} {:?} {truth:?}", work.alive);
                    assert!(if n == m { work.leaves.is_empty() } else { work.leaves == leaves });
                    dead += usize::from(truth.contains(&false));
                }
                Err(_) => {
                    assert!(!any);
                    none += 1;
                }
            }
        }
        assert!(dead > 100 && none > 100);
    }
}
