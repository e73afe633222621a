//! Trees on the values of the data: what is done to a column before a tree sees it goes into the cuts.

use super::formula::{Formula, Gaps};
use crate::data::transform::ColumnTransform;
use crate::error::{Error, Result};
use crate::tree::Parts;

/// A tree; its root is the first node.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The nodes, children behind their parent.
    pub nodes: Vec<Node>,
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// What a row that ends here is worth.
    Leaf(f64),
    /// A question about one column.
    Split(Split),
}

/// A question about one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The column of the data.
    pub column: u32,
    /// Which values go left.
    pub test: Test,
    /// Whether a missing value goes left.
    pub gap_left: bool,
    /// Left and right child.
    pub child: [u32; 2],
    /// What the split gained.
    pub gain: f64,
}

/// Which values go left.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Those of at most this.
    AtMost(f32),
    /// Those of a list, ascending.
    OneOf(Vec<f32>),
}

impl Test {
    /// Whether a value goes left.
    fn left(&self, x: f32) -> bool {
        match self {
            Self::AtMost(cut) => x <= *cut,
            Self::OneOf(values) => values.contains(&x),
        }
    }
}

impl Tree {
    /// The value of a row of the data. O(depth).
    pub fn value(&self, row: &[f32]) -> f64 {
        let mut at = 0;
        loop {
            match &self.nodes[at] {
                Node::Leaf(value) => return *value,
                Node::Split(split) => {
                    let x = row[split.column as usize];
                    let left = if x.is_nan() { split.gap_left } else { split.test.left(x) };
                    at = split.child[usize::from(!left)] as usize;
                }
            }
        }
    }
}

/// The largest value that a transform takes to at most `cut`; the least of all where there is none.
///
/// Values of single precision in order are whole numbers in order, so that it is found by halving.
fn cut_before(transform: &ColumnTransform, cut: f32) -> f32 {
    if *transform == ColumnTransform::Keep {
        return cut;
    }
    let of = |key: i64| f32::from_bits(if key >= 0 { key as u32 } else { (-1 - key) as u32 | 1 << 31 });
    let most = i64::from(f32::MAX.to_bits());
    let (mut below, mut above) = (-1 - most, most + 1);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if transform.apply(of(middle)) <= cut { below = middle } else { above = middle }
    }
    of(below)
}

/// The trees of a forest, on the columns of the data.
pub(super) fn on_data(parts: &Parts, formula: &Formula) -> Result<Vec<Tree>> {
    let given = formula.columns.len();
    let mut sets = parts.set_end.iter().scan(0, |start, &end| {
        let list = parts.set[*start..end as usize].to_vec();
        *start = end as usize;
        Some(list)
    });
    let mut trees = vec![];
    for bounds in parts.first.windows(2) {
        let first = bounds[0];
        let mut nodes = vec![];
        for at in bounds[0] as usize..bounds[1] as usize {
            if parts.kind[at] == Parts::LEAF {
                nodes.push(Node::Leaf(parts.value[at]));
                continue;
            }
            let (column, kind) = (parts.column[at] as usize, parts.kind[at]);
            let transform = formula.transform(column);
            let inner = match kind {
                Parts::SET => Test::OneOf(sets.next().unwrap_or_default()),
                _ => Test::AtMost(parts.cut[at]),
            };
            if kind == Parts::SET && *transform != ColumnTransform::Keep {
                return Err(Error::Data {
                    expected: "categories as they stand in the data".into(),
                    found: format!("a transform of column {:?}", formula.columns[column]),
                });
            }
            let kept = kind == Parts::CUT_OR_GAP;
            let (column, test, gap_left) = if column < given {
                let gap_left = match &formula.gaps {
                    Gaps::Filled(values) => inner.left(transform.apply(values[column])),
                    Gaps::Kept | Gaps::Refused => kept,
                };
                let test = match inner {
                    Test::AtMost(cut) => Test::AtMost(cut_before(transform, cut)),
                    set => set,
                };
                (column as u32, test, gap_left)
            } else {
                // a column that says where another has gaps
                let (present, gap) = (inner.left(transform.apply(0.0)), inner.left(transform.apply(1.0)));
                let all = if present { f32::MAX } else { f32::MIN };
                (formula.flags[column - given], Test::AtMost(all), gap)
            };
            let child = parts.child[at].map(|child| child - first);
            nodes.push(Node::Split(Split { column, test, gap_left, child, gain: parts.value[at] }));
        }
        trees.push(Tree { nodes });
    }
    Ok(trees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A cut behind a transform is the same question as the cut before it, for every value near it.
    #[test]
    fn cuts_go_back_through_transforms() {
        let mut random = Random::new(5);
        for round in 0..200 {
            let transform = if round % 2 == 0 {
                ColumnTransform::Log { unit: random.normal().exp() as f32 }
            } else {
                let mut values: Vec<f32> = (0..9).map(|_| random.normal() as f32).collect();
                values.sort_by(f32::total_cmp);
                values.dedup();
                let levels = (0..values.len()).map(|k| k as f32 / 4.0 - 1.0).collect();
                ColumnTransform::Quantile { values, levels }
            };
            let x = (3.0 * random.normal()) as f32;
            let cut = transform.apply(x);
            let before = cut_before(&transform, cut);
            let near = [x, before, before.next_up(), before.next_down(), (3.0 * random.normal()) as f32];
            for y in near.into_iter().filter(|y| y.is_finite()) {
                assert_eq!(y <= before, transform.apply(y) <= cut, "{transform:?} {cut} {before} {y}");
            }
        }
    }
}
