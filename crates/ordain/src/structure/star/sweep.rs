//! Every configuration of a star's core, each from another one by a single row of links.
//!
//! Configurations are visited depth-first, so that scores are only ever added to: unlike in a Gray code nothing drifts.

use crate::structure::star::max::{Found, Met, at_most, front};
use crate::structure::star::reduced::{LANES, Reduced, largest};

/// Buffers of a sweep.
#[derive(Clone, Debug, Default)]
pub(in crate::structure) struct Sweep {
    /// Scores of the labels, of the free core labels and of the best labels, one row per level.
    scores: Vec<f64>,
    own: Vec<f64>,
    heads: Vec<Vec<u32>>,
    reach: Vec<(f64, u32)>,
    /// The largest scores without links, descending.
    steps: Vec<f64>,
}

/// A configuration: the part `mask` of the core is in.
pub(in crate::structure) struct Configuration<'a> {
    pub(in crate::structure) mask: u32,
    /// Its best value; none where there are too few labels for it.
    pub(in crate::structure) value: f64,
    /// The least score among the labels that are in (∞ if there are none), and the largest among the others (−∞).
    pub(in crate::structure) least: f64,
    pub(in crate::structure) next: f64,
    /// The scores of all labels, −∞ in the padding.
    pub(in crate::structure) scores: &'a [f64],
    /// The labels that are in.
    pub(in crate::structure) head: &'a [u32],
}

/// `child = parent + row`; what reaches `floor` goes to `reach`.
fn add(parent: &[f64], row: &[f64], child: &mut [f64], floor: f64, reach: &mut Vec<(f64, u32)>) {
    let (parent, row) = (parent.as_chunks::<LANES>().0, row.as_chunks::<LANES>().0);
    for (block, ((v, g), x)) in parent.iter().zip(row).zip(child.as_chunks_mut::<LANES>().0).enumerate() {
        for lane in 0..LANES {
            x[lane] = v[lane] + g[lane];
        }
        if largest(x) >= floor {
            for (lane, &value) in x.iter().enumerate() {
                if value >= floor {
                    reach.push((value, (block * LANES + lane) as u32));
                }
            }
        }
    }
}

/// What a sweep does at each configuration.
pub(in crate::structure) trait Visit {
    /// Whether a bound on the value is asked for first.
    const BOUNDED: bool;
    /// Whether a configuration with no more than this value is of no use.
    fn skip(&self, bound: f64, mask: u32) -> bool;
    /// Looks at a configuration.
    fn visit(&mut self, at: Configuration);
}

/// Offers the best set of every configuration, and the next one where two are sought.
struct Offer<'a, const BOUNDED: bool>(&'a mut Found);

impl<const BOUNDED: bool> Visit for Offer<'_, BOUNDED> {
    const BOUNDED: bool = BOUNDED;

    fn skip(&self, bound: f64, mask: u32) -> bool {
        self.0.beats(bound, mask)
    }

    fn visit(&mut self, at: Configuration) {
        self.0.offer(Met { value: at.value, mask: at.mask, exchanged: false });
        let lost = at.least - at.next;
        if self.0.two && lost < f64::INFINITY {
            self.0.offer(Met { value: at.value - lost, mask: at.mask, exchanged: true });
        }
    }
}

/// A configuration to be visited: `taken` core labels are in, and those from `from` on may still be added.
#[derive(Clone, Copy)]
struct Node {
    taken: usize,
    from: usize,
    mask: u32,
    constant: f64,
    /// The level above, whose best labels are known.
    known: usize,
}

impl Sweep {
    /// Offers the best sets of all configurations; if `bounded`, of those that can be better than the ones before.
    pub(in crate::structure) fn max(&mut self, reduced: &Reduced, bounded: bool, found: &mut Found) {
        if bounded {
            self.each(reduced, &mut Offer::<true>(found));
        } else {
            self.each(reduced, &mut Offer::<false>(found));
        }
    }

    /// Visits every configuration for which there are enough labels.
    pub(in crate::structure) fn each(&mut self, reduced: &Reduced, visit: &mut impl Visit) {
        let (free, stride) = (reduced.core.len(), reduced.stride);
        let levels = free.min(reduced.k) + 1;
        self.scores.resize(self.scores.len().max(levels * stride), 0.0);
        self.own.resize(self.own.len().max(levels * free), 0.0);
        self.heads.resize_with(self.heads.len().max(levels), Vec::new);
        self.scores[..stride].copy_from_slice(&reduced.score);
        self.own[..free].copy_from_slice(&reduced.own);
        self.reach.clear();
        let root = reduced.score.iter().zip(0..).take(reduced.labels.len());
        self.reach.extend(root.map(|(&v, i)| (v, i)));
        let root = Node { taken: 0, from: 0, mask: 0, constant: reduced.base, known: 0 };
        self.look(reduced, root, visit);
        self.steps.clear();
        self.steps.extend(self.heads[0].iter().map(|&i| reduced.score[i as usize]));
        self.steps.sort_unstable_by(|a, b| b.total_cmp(a));
        self.descend(reduced, root, visit);
    }

    /// Chooses the labels of a configuration from those in reach and visits it.
    fn look(&mut self, reduced: &Reduced, at: Node, visit: &mut impl Visit) {
        let (r, stride) = (reduced.k - at.taken, reduced.stride);
        let next = front(&mut self.reach, r, |x| x.0);
        let (mut value, mut least) = (at.constant, f64::INFINITY);
        let head = &mut self.heads[at.taken];
        head.clear();
        for &(x, i) in self.reach.iter().take(r) {
            value += x;
            least = if x < least { x } else { least };
            head.push(i);
        }
        if head.len() == r {
            let scores = &self.scores[at.taken * stride..(at.taken + 1) * stride];
            visit.visit(Configuration { mask: at.mask, value, least, next, scores, head });
        }
    }

    /// Visits the configurations that add core labels to a visited one.
    fn descend<V: Visit>(&mut self, reduced: &Reduced, at: Node, visit: &mut V) {
        let (free, stride) = (reduced.core.len(), reduced.stride);
        let Node { taken, known, .. } = at;
        let r = reduced.k - taken;
        for f in if r > 0 { at.from..free } else { 0..0 } {
            let row = reduced.row(f);
            let (parent, child) = self.scores.split_at_mut((taken + 1) * stride);
            let (parent, child) = (&parent[taken * stride..], &mut child[..stride]);
            let (own, more) = self.own.split_at_mut((taken + 1) * free);
            let own = &own[taken * free..];
            for (x, (v, g)) in more.iter_mut().zip(own.iter().zip(&reduced.pair[f * free..(f + 1) * free])) {
                *x = v + g;
            }
            let mask = at.mask | reduced.bit(f);
            let mut node = Node { taken: taken + 1, from: f + 1, mask, constant: at.constant + own[f], known };
            // the level of the scores without links is near enough
            let bound = match self.steps.get(r.wrapping_sub(2)) {
                Some(&level) if V::BOUNDED => {
                    child.iter_mut().zip(parent.iter().zip(row)).for_each(|(x, (v, g))| *x = v + g);
                    node.constant + at_most(child, r - 1, level)
                }
                _ => f64::INFINITY,
            };
            if !visit.skip(bound, mask) {
                // r labels or more: the r-th largest of now is no less than the least of them
                let head = &self.heads[known];
                let now = head.iter().map(|&i| parent[i as usize] + row[i as usize]);
                let floor = now.fold(f64::INFINITY, |least, x| if x < least { x } else { least });
                let floor = if head.len() >= r { floor } else { f64::MIN };
                self.reach.clear();
                add(parent, row, child, floor, &mut self.reach);
                self.look(reduced, node, visit);
                node.known = node.taken;
            }
            self.descend(reduced, node, visit);
        }
    }
}
