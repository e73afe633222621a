//! Which pieces belong to whom, where a set comes in blocks that know nothing of pieces.

use crate::data::{Place, RankSet};
use std::ops::Range;

/// What becomes of a block of queries, such as a file: the pieces that begin in it are its shard.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The pieces that begin in it.
    pub run: Range<usize>,
    /// Where its queries stand, and the pieces that are whole in it.
    pub own: (Place, Range<usize>),
    /// The piece that goes on in other blocks.
    pub joint: Option<Joint>,
}

/// A piece of several blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// Where it stands.
    pub place: Place,
    /// Its number.
    pub piece: usize,
    /// Queries of blocks, one behind the other: the block, and queries by their numbers in it.
    pub fragments: Vec<(usize, Range<usize>)>,
}

/// The layout of each block; `queries` is the number of queries of each. A block in which no piece begins is no shard: its run is empty.
///
/// ```
/// use ordain::{data::synthetic::Synthetic, method::layouts};
/// let set = Synthetic { queries: 12, documents: (4, 4), ..Synthetic::default() }.make(); // pieces of two queries
/// let all = layouts(&set, &[3, 0, 9]);
/// assert_eq!((all[0].run.clone(), all[0].own.1.clone()), (0..2, 0..1));
/// assert_eq!(all[0].joint.as_ref().map(|joint| joint.fragments.clone()), Some(vec![(0, 2..3), (2, 0..1)]));
/// assert_eq!((all[1].run.clone(), all[2].run.clone()), (2..2, 2..6));
/// ```
pub fn layouts(set: &RankSet, queries: &[usize]) -> Vec<Layout> {
    let pieces = set.pieces();
    let mut end = 0;
    let blocks: Vec<Range<usize>> = queries
        .iter()
        .map(|n| {
            end += n;
            end - n..end
        })
        .collect();
    let mut rows = vec![0; end + 1];
    set.sizes().take(end).enumerate().for_each(|(q, size)| rows[q + 1] = rows[q] + size);
    let mut next = 0;
    let of = |block: &Range<usize>| {
        let first = next;
        while next < pieces.len() && pieces.units(next).start < block.end {
            next += 1;
        }
        let crosses = next > first && pieces.units(next - 1).end > block.end;
        let whole = first..next - usize::from(crosses);
        let place = Place {
            pieces: pieces.within(block.clone(), rows[block.start]..rows[block.end]),
            query: block.start,
            row: rows[block.start],
        };
        let joint = crosses.then(|| {
            let (piece, units) = (next - 1, pieces.units(next - 1));
            let inside = |other: &Range<usize>| other.start.max(units.start)..other.end.min(units.end);
            let fragments = blocks.iter().enumerate().filter(|(_, other)| !inside(other).is_empty());
            let local = |(b, other): (usize, &Range<usize>)| {
                (b, inside(other).start - other.start..inside(other).end - other.start)
            };
            let place = Place { pieces: pieces.within(units.clone(), pieces.rows(piece)), query: units.start, row: 0 };
            Joint { place, piece, fragments: fragments.map(local).collect() }
        });
        Layout { run: first..next, own: (place, whole), joint }
    };
    blocks.iter().map(of).collect()
}
