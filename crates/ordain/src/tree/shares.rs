//! Who made the difference of two scores: exact Shapley shares.

use super::forest::{Forest, Parts};

/// What is still to be done in a walk.
enum Todo {
    /// This node, with so many columns taken from above and from below.
    Visit(u32),
    /// This node, where the column is taken from above, or from below.
    Take(u32, u32, bool),
    /// Forget what was said last of columns from above, or from below.
    Forget(bool),
}

/// Where the value of a column is taken from on the way to a node.
#[derive(Clone, Copy, PartialEq)]
enum From {
    Open,
    Above,
    Below,
}

impl Forest {
    /// Exact Shapley shares of `F(above) − F(below)`, with `below` as the one background, by column, ascending.
    ///
    /// The players are columns. A coalition S is worth `F(x_S)`, where `x_S` has the columns of S from `above` and all others from
    /// `below`. Shares add up to the difference, but for rounding. Columns that are equal in both (NaN equals NaN) do not appear.
    ///
    /// In one tree, a leaf that is reached with the columns A from `above` and B from `below` is worth its value v to coalitions that
    /// have all of A and none of B. It gives `v (|A|−1)! |B|! / (|A|+|B|)!` to each of A, and takes `v |A|! (|B|−1)! / (|A|+|B|)!`
    /// from each of B. A tree is walked once, by both rows together: O(nodes where they part · depth).
    pub fn shares(&self, above: &[f32], below: &[f32]) -> Vec<(usize, f64)> {
        let mut shares = vec![0.0; self.columns()];
        let mut from = vec![From::Open; self.columns()];
        let mut taken: [Vec<u32>; 2] = [vec![], vec![]]; // from above, from below
        let mut todo = vec![];
        for &root in &self.parts.first[..self.trees()] {
            todo.push(Todo::Visit(root));
            while let Some(next) = todo.pop() {
                let mut node = match next {
                    Todo::Visit(node) => node,
                    Todo::Take(node, column, is_above) => {
                        from[column as usize] = if is_above { From::Above } else { From::Below };
                        taken[usize::from(!is_above)].push(column);
                        node
                    }
                    Todo::Forget(is_above) => {
                        if let Some(column) = taken[usize::from(!is_above)].pop() {
                            from[column as usize] = From::Open;
                        }
                        continue;
                    }
                };
                // on, until they part or end
                loop {
                    let step = &self.steps[node as usize];
                    if self.parts.kind[node as usize] == Parts::LEAF {
                        give(&mut shares, &taken, self.parts.value[node as usize]);
                        break;
                    }
                    let j = step.column();
                    let [a, b] = [above[j], below[j]].map(|x| self.left(node as usize, x));
                    let way = match from[j] {
                        From::Above => a,
                        From::Below => b,
                        From::Open if a == b => a,
                        From::Open => {
                            let child = |left: bool| step.child[usize::from(!left)];
                            todo.push(Todo::Forget(false));
                            todo.push(Todo::Take(child(b), j as u32, false));
                            todo.push(Todo::Forget(true));
                            todo.push(Todo::Take(child(a), j as u32, true));
                            break;
                        }
                    };
                    node = step.child[usize::from(!way)];
                }
            }
        }
        let same = |a: f32, b: f32| a.partial_cmp(&b).map_or(a.is_nan() && b.is_nan(), |order| order.is_eq());
        let used = shares.into_iter().enumerate();
        used.filter(|&(j, share)| share != 0.0 && !same(above[j], below[j])).collect()
    }
}

/// What a leaf gives to the columns that lead to it.
fn give(shares: &mut [f64], taken: &[Vec<u32>; 2], value: f64) {
    let (a, b) = (taken[0].len(), taken[1].len());
    // 1 / (|A|+|B| over |A|), factor by factor
    let few = a.min(b);
    let ways = (1..=few).fold(1.0, |ways, k| ways * (a + b - few + k) as f64 / k as f64);
    if a > 0 {
        let share = value / ways / a as f64;
        taken[0].iter().for_each(|&j| shares[j as usize] += share);
    }
    if b > 0 {
        let share = value / ways / b as f64;
        taken[1].iter().for_each(|&j| shares[j as usize] -= share);
    }
}
