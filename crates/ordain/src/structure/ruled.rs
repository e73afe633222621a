//! The best order of documents under rules: places that are given, documents that are left out, and at most so many of a kind on top.

use crate::error::{Error, Result};
use std::collections::{HashMap, HashSet};

/// A kind for each document, and how many of one kind may stand on top.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kinds {
    /// The kind of each document; none where it is of no kind, and nothing limits it.
    pub of: Vec<Option<u32>>,
    /// Of the first so many places, how many may have documents of one kind.
    pub caps: Vec<Cap>,
}

/// At most so many documents of one kind in the first places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// How many.
    pub most: usize,
    /// Of how many places, from the top.
    pub first: usize,
}

/// An order under rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruled {
    /// Documents, best first.
    pub order: Vec<u32>,
    /// Documents that no rule excludes and that no place is left for: every place that they could have is closed by caps.
    pub left_out: usize,
    /// What the places are worth that caps speak of: `Σ_j (s_j − least)/log2(1 + j)`, with the least score of the documents that are not excluded.
    pub value: f64,
    /// No order under the rules is worth more.
    pub bound: f64,
}

impl Ruled {
    /// By how much another order could be worth more; 0 where this is the best one.
    pub fn gap(&self) -> f64 {
        (self.bound - self.value).max(0.0)
    }
}

/// Documents looked at before a search ends.
const WORK: usize = 1_000_000;
/// Places that are searched through at most; of more the first order found serves.
const DEPTH: usize = 200;
/// Differences of values below this share are rounding.
const SAME: f64 = 1e-12;

/// Orders documents by their scores as far as the rules let it.
///
/// `pins` are documents with their places from 1; they stay there whatever else holds, and count for the caps. Documents of the same score stand in
/// their own order. Behind the places that caps speak of documents stand by score. A list ends where every document that is left is closed out
/// of its next place.
///
/// With the caps of at most one of `kinds` the order is the best one, for any worth of places that falls from the top: document t of a kind, by
/// score, may stand from some place on, and to take at each place the best of those that may is then optimal (unit jobs with release times).
/// With several it is the best that a search finds in a fixed number of steps, and the bound says how far from the best that may be: it is that
/// of the caps of one kind at a time.
///
/// ```
/// use ordain::structure::ruled::{Cap, Kinds, order};
/// let brands = Kinds { of: vec![Some(0), Some(0), Some(1), None], caps: vec![Cap { most: 1, first: 2 }] };
/// let made = order(&[4.0, 3.0, 2.0, 1.0], &[], &[false; 4], &[brands])?;
/// assert_eq!((made.order, made.bound - made.value), (vec![0, 2, 1, 3], 0.0));
/// # Ok::<(), ordain::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Data`] for lengths that differ, scores that are not finite, two pins for a document or a place, a pin of an excluded document, pins
/// that break a cap by themselves, and pins behind the end of the list.
pub fn order(scores: &[f64], pins: &[(u32, usize)], excluded: &[bool], kinds: &[Kinds]) -> Result<Ruled> {
    let kinds: Vec<&Kinds> = kinds.iter().filter(|kind| !kind.caps.is_empty()).collect();
    let search = Search::new(scores, pins, excluded, &kinds)?;
    let all: Vec<usize> = (0..kinds.len()).collect();
    let mut state = search.start();
    let first = search.greedy(&mut state, &all);
    let (head, value, bound) = match kinds.len() {
        0 | 1 => (first.documents, first.value, first.value),
        _ => search.best(first)?,
    };
    let order = search.whole(head)?;
    let left_out = excluded.iter().filter(|out| !**out).count() - order.len();
    Ok(Ruled { order, left_out, value, bound })
}

/// What does not change while an order is looked for.
struct Search<'a> {
    scores: &'a [f64],
    kinds: &'a [&'a Kinds],
    /// The document that is pinned to a place.
    pins: HashMap<usize, u32>,
    /// The place behind the last pin.
    last: usize,
    /// All documents that may stand anywhere, by score; and those of them that can stand on top.
    free: Vec<u32>,
    some: Vec<u32>,
    /// How many places caps speak of.
    top: usize,
    /// For each of `kinds`, cap and kind: documents that are pinned inside the window.
    pinned: Vec<Vec<HashMap<u32, usize>>>,
    least: f64,
}

/// What an order so far has used up.
struct State {
    used: Vec<bool>,
    /// Of each of `kinds`, how many documents of a kind stand at free places.
    counts: Vec<HashMap<u32, usize>>,
    place: usize,
    value: f64,
    work: usize,
}

/// An order of the top.
struct Head {
    documents: Vec<u32>,
    value: f64,
    /// Whether it reaches all pins.
    whole: bool,
}

impl<'a> Search<'a> {
    fn new(scores: &'a [f64], pins: &[(u32, usize)], excluded: &[bool], kinds: &'a [&'a Kinds]) -> Result<Self> {
        let n = scores.len();
        let refuse = |expected: String, found: String| Err(Error::Data { expected, found });
        if excluded.len() != n || kinds.iter().any(|kind| kind.of.len() != n) {
            return refuse(format!("rules for {n} documents"), "rules for another number".into());
        }
        if scores.iter().any(|s| !s.is_finite()) {
            return Err(Error::NotFinite { what: "a score" });
        }
        let rest = excluded.iter().filter(|out| !**out).count();
        let (mut places, mut own) = (HashMap::new(), vec![false; n]);
        for &(document, place) in pins {
            let at = document as usize;
            if at >= n || !(1..=rest).contains(&place) {
                return refuse(format!("pins of documents to places from 1 to {rest}"), format!("place {place}"));
            }
            if excluded[at] || own[at] || places.insert(place - 1, document).is_some() {
                return refuse(
                    "one place for each pinned document, one pinned document for each place, and no pin of an excluded one".into(),
                    format!("a second rule for document {} or place {place}", at + 1),
                );
            }
            own[at] = true;
        }
        let mut free: Vec<u32> = (0..n as u32).filter(|&i| !excluded[i as usize] && !own[i as usize]).collect();
        free.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b)));
        let top = kinds.iter().flat_map(|kind| &kind.caps).map(|cap| cap.first).max().unwrap_or(0).min(rest);
        let mut pinned = vec![];
        for kind in kinds {
            let mut of_caps = vec![];
            for cap in &kind.caps {
                let mut counts: HashMap<u32, usize> = HashMap::new();
                let inside = places.iter().filter(|(place, _)| **place < cap.first);
                inside.filter_map(|(_, &i)| kind.of[i as usize]).for_each(|v| *counts.entry(v).or_default() += 1);
                if let Some(most) = counts.values().max().filter(|most| **most > cap.most) {
                    return refuse(
                        format!("pins that leave the cap of {} in the first {} places", cap.most, cap.first),
                        format!("{most} pinned documents of one kind there"),
                    );
                }
                of_caps.push(counts);
            }
            pinned.push(of_caps);
        }
        // of documents of the same kinds only the best can stand on top
        let mut alike: HashMap<Vec<Option<u32>>, usize> = HashMap::new();
        let some = free.iter().copied().filter(|&i| {
            let count = alike.entry(kinds.iter().map(|kind| kind.of[i as usize]).collect()).or_default();
            *count += 1;
            *count <= top
        });
        let some = some.collect();
        let least = (0..n).filter(|&i| !excluded[i]).map(|i| scores[i]).fold(f64::INFINITY, f64::min);
        let last = places.keys().max().map_or(0, |place| place + 1);
        Ok(Self { scores, kinds, pins: places, last, free, some, top, pinned, least })
    }

    fn start(&self) -> State {
        let counts = vec![HashMap::new(); self.kinds.len()];
        State { used: vec![false; self.scores.len()], counts, place: 0, value: 0.0, work: 0 }
    }

    /// What a document is worth at a place.
    fn worth(&self, document: u32, place: usize) -> f64 {
        (self.scores[document as usize] - self.least) / ((place + 2) as f64).log2()
    }

    /// Whether the caps of some kinds let a document stand at the next place.
    fn may(&self, state: &State, document: u32, which: &[usize]) -> bool {
        which.iter().all(|&k| {
            let Some(kind) = self.kinds[k].of[document as usize] else { return true };
            let here = state.counts[k].get(&kind).copied().unwrap_or(0);
            let mut caps = self.kinds[k].caps.iter().zip(&self.pinned[k]).filter(|(cap, _)| cap.first > state.place);
            caps.all(|(cap, pinned)| here + pinned.get(&kind).copied().unwrap_or(0) < cap.most)
        })
    }

    fn take(&self, state: &mut State, document: u32) {
        state.used[document as usize] = true;
        for (kind, counts) in self.kinds.iter().zip(&mut state.counts) {
            kind.of[document as usize].iter().for_each(|&v| *counts.entry(v).or_default() += 1);
        }
        state.value += self.worth(document, state.place);
        state.place += 1;
    }

    fn give_back(&self, state: &mut State, document: u32) {
        state.used[document as usize] = false;
        for (kind, counts) in self.kinds.iter().zip(&mut state.counts) {
            kind.of[document as usize].iter().for_each(|v| {
                counts.entry(*v).and_modify(|count| *count -= 1);
            });
        }
    }

    /// From here on the best document of each place that the caps of some kinds let stand there; the state is left as it was.
    fn greedy(&self, state: &mut State, which: &[usize]) -> Head {
        let (place, value) = (state.place, state.value);
        let (mut documents, mut taken) = (vec![], vec![]);
        let mut from = 0;
        while state.place < self.top {
            if let Some(&document) = self.pins.get(&state.place) {
                documents.push(document);
                state.value += self.worth(document, state.place);
                state.place += 1;
                continue;
            }
            while self.some.get(from).is_some_and(|&i| state.used[i as usize]) {
                from += 1;
            }
            let mut work = 0;
            let next = self.some[from..].iter().copied().find(|&i| {
                work += 1;
                !state.used[i as usize] && self.may(state, i, which)
            });
            state.work += work;
            let Some(next) = next else { break };
            self.take(state, next);
            documents.push(next);
            taken.push(next);
        }
        let head = Head { documents, value: state.value, whole: state.place >= self.last.min(self.top) };
        taken.iter().for_each(|&document| self.give_back(state, document));
        (state.place, state.value) = (place, value);
        head
    }

    /// What the rest is worth at most: with the caps of one kind at a time.
    fn bound(&self, state: &mut State) -> f64 {
        (0..self.kinds.len()).map(|k| self.greedy(state, &[k]).value).fold(f64::INFINITY, f64::min)
    }

    /// The best order of the top that a search finds, its value, and what no order is above.
    fn best(&self, first: Head) -> Result<(Vec<u32>, f64, f64)> {
        let mut state = self.start();
        let bound = self.bound(&mut state);
        let mut found = Found { best: first.whole.then_some((first.documents, first.value)), open: f64::NEG_INFINITY };
        if self.top <= DEPTH {
            self.branch(&mut state, bound, &mut vec![], &mut found);
        } else {
            found.open = bound;
        }
        match found.best {
            Some((documents, value)) => Ok((documents, value, bound.min(found.open.max(value)))),
            None => Err(Error::Data {
                expected: "rules that some order keeps".into(),
                found: "pins behind the places that caps leave open".into(),
            }),
        }
    }

    fn branch(&self, state: &mut State, bound: f64, so_far: &mut Vec<u32>, found: &mut Found) {
        let enough = found.best.as_ref().map_or(f64::NEG_INFINITY, |(_, value)| value + SAME * value.abs());
        if bound <= enough {
            return;
        }
        if state.work > WORK {
            found.open = found.open.max(bound);
            return;
        }
        if let Some(&document) = self.pins.get(&state.place).filter(|_| state.place < self.top) {
            let worth = self.worth(document, state.place);
            so_far.push(document);
            (state.place, state.value) = (state.place + 1, state.value + worth);
            self.branch(state, bound, so_far, found);
            (state.place, state.value) = (state.place - 1, state.value - worth);
            so_far.pop();
            return;
        }
        let all: Vec<usize> = (0..self.kinds.len()).collect();
        let mut seen: HashSet<Vec<Option<u32>>> = HashSet::new();
        let mut next = vec![];
        if state.place < self.top {
            for &i in self.some.iter().filter(|&&i| !state.used[i as usize]) {
                state.work += 1;
                // of documents of the same kinds the best comes first
                let alike: Vec<Option<u32>> = self.kinds.iter().map(|kind| kind.of[i as usize]).collect();
                if self.may(state, i, &all) && seen.insert(alike) {
                    next.push(i);
                }
            }
        }
        if next.is_empty() && state.place >= self.last.min(self.top) && state.value > enough {
            found.best = Some((so_far.clone(), state.value));
        }
        for i in next {
            if state.work > WORK {
                found.open = found.open.max(bound);
                return;
            }
            let value = state.value;
            self.take(state, i);
            let bound = self.bound(state).min(bound);
            so_far.push(i);
            self.branch(state, bound, so_far, found);
            so_far.pop();
            self.give_back(state, i);
            (state.place, state.value) = (state.place - 1, value);
        }
    }

    /// The top with everything behind it: by score, where no pin stands.
    fn whole(&self, mut order: Vec<u32>) -> Result<Vec<u32>> {
        let closed = order.len() < self.top;
        let mut used = vec![false; self.scores.len()];
        order.iter().for_each(|&i| used[i as usize] = true);
        let mut rest = self.free.iter().copied().filter(|&i| !used[i as usize]);
        // a list that caps end has nothing behind it
        while let Some(next) = self.pins.get(&order.len()).copied().or_else(|| rest.next()).filter(|_| !closed) {
            order.push(next);
        }
        if order.len() < self.last {
            return Err(Error::Data {
                expected: "pins at places that the list reaches".into(),
                found: format!("a pin to place {} of a list that caps end at {}", self.last, order.len()),
            });
        }
        Ok(order)
    }
}

/// What a search has found.
struct Found {
    best: Option<(Vec<u32>, f64)>,
    /// What orders that were not looked at are worth at most.
    open: f64,
}
