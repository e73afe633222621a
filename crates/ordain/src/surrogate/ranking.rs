//! Orders of items with links between them: the right ones made likely, or put above all others by a margin.

use crate::error::{Error, Result};
use crate::structure::ranking::{self, Design, Links, MOST_SUM, Problem, Sums, UNLIMITED};
use crate::surrogate::lists::ListLoss;
use crate::traits::{Blocks, Scorer, Surrogate};
use std::sync::OnceLock;

/// What two places have to do with each other, \[QAP\] Eq. (5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlaceDesign {
    /// `|j − l|/k`: how far they are apart, the tail being place k + 1.
    Distance,
    /// `c_j·c_l`: both near the top.
    Product,
    /// 1 where both are in the head: order in the head does not count.
    Head,
}

/// What each class of places is worth, and the design between them.
type Board = (Vec<f64>, Design);

/// The places of top-k lists: k head places, worth `c_1 ≥ … ≥ c_k`, and the tail, worth 0. Or those of whole rankings: then every document has a
/// place of its own, worth `1/log2(1 + j)`.
#[derive(Clone, Debug)]
pub struct Places {
    /// What head places are worth; of whole rankings empty.
    values: Vec<f64>,
    design: PlaceDesign,
    /// For lists of 0, 1, … documents, made when they are needed; of top-k lists the last one serves all that are longer than the head.
    boards: Vec<OnceLock<Board>>,
}

impl PartialEq for Places {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values && self.design == other.design
    }
}

impl Places {
    /// The most documents of a whole ranking, and the most head places: the design of so many places is a matrix.
    pub const MOST: usize = 1000;

    /// The places of a head; refuses one that is empty or has more than [`Places::MOST`], or values that are not finite.
    pub fn new(values: &[f64], design: PlaceDesign) -> Result<Self> {
        let k = values.len();
        if !(1..=Self::MOST).contains(&k) {
            let expected = format!("from 1 to {} head places", Self::MOST);
            return Err(Error::Data { expected, found: k.to_string() });
        }
        if values.iter().any(|c| !c.is_finite()) {
            return Err(Error::NotFinite { what: "the value of a place" });
        }
        Ok(Self { values: values.to_vec(), design, boards: vec![OnceLock::new(); k + 2] })
    }

    /// The places of whole rankings. With the design `distance` the first and the last place are 1 apart, as the first place and the tail of
    /// a list are. Refuses the design `head`: without a tail all places are in the head.
    pub fn whole(design: PlaceDesign) -> Result<Self> {
        match design {
            PlaceDesign::Head => Err(Error::Data {
                expected: "the design distance or product for whole rankings (all places are in the head)".into(),
                found: "head".into(),
            }),
            _ => Ok(Self { values: vec![], design, boards: vec![OnceLock::new(); Self::MOST + 1] }),
        }
    }

    /// Whether they are those of whole rankings.
    pub fn is_whole(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether orders can be summed up: there is a tail, and few places are above it.
    pub fn sums(&self) -> bool {
        (1..=MOST_SUM).contains(&self.values.len())
    }

    /// Refuses a list that is too long for a whole ranking.
    pub fn check(&self, n: usize) -> Result<()> {
        match self.is_whole() && n > Self::MOST {
            false => Ok(()),
            true => Err(Error::Data {
                expected: format!("at most {} documents for a whole ranking (places=K ranks the first K)", Self::MOST),
                found: n.to_string(),
            }),
        }
    }

    fn board(&self, n: usize) -> Board {
        let k = if self.is_whole() { n.max(2) - 1 } else { self.values.len() };
        let classes = n.clamp(1, k + 1);
        let worth = |j: usize| 1.0 / ((j + 2) as f64).log2();
        let discounts: Vec<f64> = match self.is_whole() {
            true => (0..classes).map(worth).collect(),
            false => self.values.iter().copied().chain([0.0]).take(classes).collect(),
        };
        let step = 1.0 / k as f64;
        let design = match self.design {
            PlaceDesign::Distance => Design::of(classes, |j, l| step * j.abs_diff(l) as f64),
            PlaceDesign::Product => Design::of(classes, |j, l| discounts[j] * discounts[l]),
            PlaceDesign::Head => Design::of(classes, |j, l| f64::from(u8::from(j.max(l) < k))),
        };
        (discounts, design)
    }

    /// What the head places are worth; of whole rankings nothing.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// What two places have to do with each other.
    pub fn design(&self) -> PlaceDesign {
        self.design
    }

    /// The places of a list of `n` documents: what each is worth, and the design. The last one of a list that is longer than the head
    /// is the tail. [`Places::check`] says whether there are so many.
    pub fn of(&self, n: usize) -> (&[f64], &Design) {
        let n = n.min(self.boards.len() - 1);
        let (discounts, design) = self.boards[n].get_or_init(|| self.board(n));
        (discounts, design)
    }
}

/// Which documents may stand where: 0 where they may, −∞ elsewhere, a row of places per document.
pub type Mask = Vec<f64>;

/// The orders that follow the grades: documents of one grade stand in any order.
pub fn by_grade(grades: &[f64], places: &Places) -> Mask {
    let classes = places.of(grades.len()).0.len();
    let row = |grade: &f64| {
        let above = grades.iter().filter(|g| *g > grade).count();
        let until = grades.iter().filter(|g| *g >= grade).count();
        // the last class holds all places from its own on
        (0..classes).map(move |j| {
            let last = if j + 1 == classes { grades.len() } else { j + 1 };
            if above < last && j < until { 0.0 } else { f64::NEG_INFINITY }
        })
    };
    grades.iter().flat_map(row).collect()
}

/// One list of documents, with what is right of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RankingCase {
    /// The documents that are in the core.
    pub core: Vec<u32>,
    /// The right orders.
    pub right: Mask,
    /// The mean over the right orders of the value of each document's place, then of the design of each link.
    mean: Vec<f64>,
}

/// The mean over all orders that follow the grades of the value of each document's place, then of the design of each link.
///
/// ```text
/// mean of D(π_c, π_i) = Σ_{j of c's grade, l of i's grade, j ≠ l} D(j, l) / number of such j, l
/// ```
///
/// Documents of one grade take the places of that grade in any order. O(n · places) for each core document.
pub fn mean_places(grades: &[f64], core: &[u32], places: &Places) -> Vec<f64> {
    let n = grades.len();
    let (discounts, design) = places.of(n);
    let last = discounts.len() - 1;
    // the classes that documents of a grade stand in, and how many places of them
    let block = |grade: f64| -> Vec<(usize, f64)> {
        let above = grades.iter().filter(|g| **g > grade).count();
        let until = grades.iter().filter(|g| **g >= grade).count();
        let head = (above..until.min(last)).map(|j| (j, 1.0));
        let rest = until.saturating_sub(above.max(last));
        head.chain((rest > 0).then_some((last, rest as f64))).collect()
    };
    let mut kinds: Vec<f64> = grades.to_vec();
    kinds.sort_by(f64::total_cmp);
    kinds.dedup();
    let kind = |i: usize| kinds.partition_point(|grade| *grade < grades[i]);
    let blocks: Vec<Vec<(usize, f64)>> = kinds.iter().map(|&grade| block(grade)).collect();
    let own = |block: &Vec<(usize, f64)>| {
        let sum: f64 = block.iter().map(|&(j, many)| many * discounts[j]).sum();
        sum / block.iter().map(|(_, many)| many).sum::<f64>()
    };
    let own: Vec<f64> = blocks.iter().map(own).collect();
    let mut mean: Vec<f64> = (0..n).map(|i| own[kind(i)]).collect();
    mean.resize(n * (1 + core.len()), 0.0);
    let apart = |a: usize, b: usize| {
        let (mut sum, mut count) = (0.0, 0.0);
        for &(j, first) in &blocks[a] {
            for &(l, second) in &blocks[b] {
                // two documents never share a place
                let many = if a == b && j == l { first * (second - 1.0) } else { first * second };
                (sum, count) = (sum + many * design.at(j, l), count + many);
            }
        }
        if count > 0.0 { sum / count } else { 0.0 }
    };
    for (c, &item) in core.iter().enumerate() {
        let of = kind(item as usize);
        let means: Vec<f64> = (0..kinds.len()).map(|other| apart(of, other)).collect();
        let pairs = (0..n).filter(|&i| core[..=c].iter().all(|&other| other as usize != i));
        pairs.for_each(|i| mean[n * (1 + c) + i] = means[kind(i)]);
    }
    mean
}

impl RankingCase {
    /// A list by the grades of its documents. One sum over all right orders; where orders cannot be summed up, [`mean_places`].
    pub fn new(grades: &[f64], core: Vec<u32>, places: &Places, work: &mut RankingWork) -> Result<Self> {
        let n = grades.len();
        places.check(n)?;
        let right = by_grade(grades, places);
        if !places.sums() {
            let mean = mean_places(grades, &core, places);
            return Ok(Self { core, right, mean });
        }
        let mut mean = vec![0.0; n * (1 + core.len())];
        work.expect(places, &core, &vec![0.0; mean.len()], &right, 1.0, &mut mean)?;
        Ok(Self { core, right, mean })
    }

    /// By how much right orders differ from all orders in the mean: minus the slope of the likelihood at zero.
    pub fn lean(&self, places: &Places) -> Vec<f64> {
        let n = self.mean.len() / (1 + self.core.len());
        let all = mean_places(&vec![0.0; n], &self.core, places);
        self.mean.iter().zip(all).map(|(right, all)| right - all).collect()
    }
}

/// Minus the log-likelihood of the right orders of lists.
///
/// ```text
/// L(s, g) = log Σ_π exp f(π) − mean over right π of f(π),   f(π) = Σ_i s_i c(π_i) + Σ_{c, i} g_ci D(π_c, π_i)
/// ```
///
/// with f of \[QAP\] Eqs. (4), (5) over top-k lists: exact, convex, the gradient by marginals and pair expectations. Where `sum` is set the
/// probabilities of right orders are added instead: `log Z − log Z(right)`, smooth but not convex. The scores of a list are those of its
/// documents, then a row of links per core document, as in [`Links::new`].
pub struct RankingLikelihood<'a> {
    /// The places.
    pub places: &'a Places,
    /// The lists.
    pub cases: &'a [RankingCase],
    /// Whether the probabilities of right orders are added.
    pub sum: bool,
}

/// Scratch of the losses of rankings.
#[derive(Default)]
pub struct RankingWork {
    ranking: ranking::Work,
    links: Links,
    sums: Sums,
}

impl RankingWork {
    /// `log Z` over the orders that a mask allows (an empty one: all); `d += sign · ∂ log Z`.
    fn expect(
        &mut self,
        places: &Places,
        core: &[u32],
        s: &[f64],
        mask: &[f64],
        sign: f64,
        d: &mut [f64],
    ) -> Result<f64> {
        let n = s.len() / (1 + core.len());
        let (discounts, design) = places.of(n);
        self.links.set(n, core, &s[n..])?;
        let problem = Problem { scores: &s[..n], discounts, design, links: &self.links, extra: mask, pins: &[] };
        let log_z = problem.log_sum(&mut self.ranking, &mut self.sums)?;
        let (own, pairs) = d.split_at_mut(n);
        for (d, p) in own.iter_mut().zip(self.sums.marginals.chunks_exact(discounts.len())) {
            *d += sign * p.iter().zip(discounts).map(|(p, c)| p * c).sum::<f64>();
        }
        self.links.each_pair(|_, _, at| pairs[at] += sign * self.sums.pairs[at]);
        Ok(log_z)
    }
}

impl Surrogate for RankingLikelihood<'_> {
    type Work = RankingWork;

    fn len(&self) -> usize {
        self.cases.len()
    }

    fn bends(&self) -> bool {
        false
    }

    fn value(&self, n: usize, s: &[f64], d: &mut [f64], work: &mut RankingWork) -> Result<f64> {
        let case = &self.cases[n];
        d.fill(0.0);
        let log_z = work.expect(self.places, &case.core, s, &[], 1.0, d)?;
        if self.sum {
            return Ok(log_z - work.expect(self.places, &case.core, s, &case.right, -1.0, d)?);
        }
        let mut right = 0.0;
        for ((d, s), mean) in d.iter_mut().zip(s).zip(&case.mean) {
            *d -= mean;
            right += s * mean;
        }
        Ok(log_z - right)
    }
}

/// One list of a max-margin problem.
#[derive(Clone, Debug, PartialEq)]
pub struct RankingTarget {
    /// The documents that are in the core.
    pub core: Vec<u32>,
    /// What a document at a place takes from the loss, a row of places per document.
    gain: Vec<f64>,
    /// The orders of the least loss.
    best: Mask,
    /// The one of them that should win, as the place of each document.
    pub right: Vec<u32>,
}

impl RankingTarget {
    /// A list by the grades of its documents; nothing where all orders are as good. Refuses grades that the loss has no meaning for. The order to
    /// win is left to [`Self::complete`].
    pub fn new(grades: &[f64], core: Vec<u32>, places: &Places, loss: ListLoss) -> Result<Option<Self>> {
        places.check(grades.len())?;
        let (discounts, _) = places.of(grades.len());
        let classes = discounts.len();
        let head = if places.is_whole() { grades.len() } else { grades.len().min(places.values().len()) };
        let mut order: Vec<usize> = (0..grades.len()).collect();
        order.sort_by(|&a, &b| grades[b].total_cmp(&grades[a]));
        let sorted: Vec<f64> = order.iter().map(|&i| grades[i]).collect();
        let mut worth = vec![0.0; grades.len()];
        order.iter().zip(loss.worth(&sorted, head)?).for_each(|(&i, own)| worth[i] = own);
        let value = |j: usize| if j < head { loss.value(j) } else { 0.0 };
        let gain: Vec<f64> = worth.iter().flat_map(|w| (0..classes).map(move |j| w * value(j))).collect();
        let flat = |row: &[f64]| row.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq());
        let columns = (0..classes).map(|j| gain.iter().skip(j).step_by(classes).copied().collect::<Vec<f64>>());
        if gain.chunks_exact(classes).all(flat) || columns.into_iter().all(|column| flat(&column)) {
            return Ok(None);
        }
        let best = least_loss(grades, &worth, places, loss);
        Ok(Some(Self { core, gain, best, right: vec![] }))
    }

    /// Takes the best of the orders with the least loss at some scores.
    pub fn complete(&mut self, places: &Places, s: &[f64], work: &mut MarginWork) -> Result<()> {
        let n = s.len() / (1 + self.core.len());
        let (discounts, design) = places.of(n);
        work.links.set(n, &self.core, &s[n..])?;
        let problem = Problem { scores: &s[..n], discounts, design, links: &work.links, extra: &self.best, pins: &[] };
        problem.best(UNLIMITED, &mut work.ranking, &mut self.right)?;
        Ok(())
    }

    /// What an order takes from the loss.
    fn gained(&self, order: &[u32]) -> f64 {
        let classes = self.gain.len() / order.len();
        order.iter().enumerate().map(|(i, &place)| self.gain[i * classes + place as usize]).sum()
    }
}

/// The orders of the least loss.
fn least_loss(grades: &[f64], worth: &[f64], places: &Places, loss: ListLoss) -> Mask {
    let classes = places.of(grades.len()).0.len();
    let good = worth.iter().filter(|&&w| w > 0.0).count();
    let k = match loss {
        ListLoss::Ndcg => return by_grade(grades, places),
        ListLoss::Precision(k) => k.min(classes),
        ListLoss::Mrr | ListLoss::Wta => 1,
    };
    // either the first k places are for good documents alone, or all good documents stand there
    let allowed = |good_one: bool, j: usize| if good >= k { good_one || j >= k } else { !good_one || j < k };
    let row = |w: &f64| {
        let good_one = *w > 0.0;
        (0..classes).map(move |j| if allowed(good_one, j) { 0.0 } else { f64::NEG_INFINITY })
    };
    worth.iter().flat_map(row).collect()
}

/// `max over orders π of  loss(π) + f(π) − f(right)`, the structured hinge of \[QAP\] Eqs. (1), (2) over top-k lists or whole rankings, for block-coordinate
/// Frank-Wolfe. The maximum is Eq. (3), [`Problem::best`] with the loss as a linear term.
pub struct RankingMargin<'a, C: Scorer> {
    /// What gives scores and links.
    pub scorer: &'a C,
    /// The places.
    pub places: &'a Places,
    /// The lists.
    pub targets: &'a [RankingTarget],
    /// The strength of the ridge on each parameter.
    pub strength: &'a [f64],
}

/// Scratch of [`RankingMargin`].
#[derive(Default)]
pub struct MarginWork<W = ()> {
    scorer: W,
    ranking: ranking::Work,
    links: Links,
    s: Vec<f64>,
    d: Vec<f64>,
    extra: Vec<f64>,
    order: Vec<u32>,
    /// The score of the right order.
    right: f64,
    /// What was taken up last, in parameters.
    change: Vec<f64>,
}

impl<C: Scorer> RankingMargin<'_, C> {
    fn problem<'b>(&'b self, n: usize, work: &'b MarginWork<C::Work>, extra: &'b [f64]) -> Problem<'b> {
        let len = self.targets[n].right.len();
        let (discounts, design) = self.places.of(len);
        Problem { scores: &work.s[..len], discounts, design, links: &work.links, extra, pins: &[] }
    }
}

impl<C: Scorer> Blocks for RankingMargin<'_, C> {
    type Output = Vec<u32>;
    type Work = MarginWork<C::Work>;

    fn len(&self) -> usize {
        self.targets.len()
    }

    fn strength(&self) -> Vec<f64> {
        self.strength.to_vec()
    }

    fn right(&self, n: usize) -> Vec<u32> {
        self.targets[n].right.clone()
    }

    fn set_theta(&mut self, _: &[f64]) -> Result<()> {
        Ok(())
    }

    fn enter(&self, n: usize, theta: &[f64], work: &mut MarginWork<C::Work>) {
        let (target, len) = (&self.targets[n], self.targets[n].right.len());
        work.s.clear();
        work.s.resize(self.scorer.span(n).len(), 0.0);
        self.scorer.scores(n, theta, &mut work.s, &mut work.scorer);
        // links that are not finite are refused by `worst`, which sees the same ones
        if work.links.set(len, &target.core, &work.s[len..]).is_err() {
            work.links = Links::none(0);
            return;
        }
        work.right = self.problem(n, work, &[]).value(&target.right);
    }

    fn worst(&self, n: usize, work: &mut MarginWork<C::Work>) -> Result<(Vec<u32>, f64)> {
        let target = &self.targets[n];
        let (mut extra, mut order) = (std::mem::take(&mut work.extra), std::mem::take(&mut work.order));
        extra.clear();
        extra.extend(target.gain.iter().map(|gain| -gain));
        let mut ranking = std::mem::take(&mut work.ranking);
        let found = self.problem(n, work, &extra).best(UNLIMITED, &mut ranking, &mut order);
        let output = order.clone();
        (work.extra, work.order, work.ranking) = (extra, order, ranking);
        Ok((output, found?.value + target.gained(&target.right) - work.right))
    }

    fn score(&self, n: usize, order: &Vec<u32>, work: &MarginWork<C::Work>) -> f64 {
        self.problem(n, work, &[]).value(order) - work.right
    }

    fn loss(&self, n: usize, order: &Vec<u32>) -> f64 {
        self.targets[n].gained(&self.targets[n].right) - self.targets[n].gained(order)
    }

    fn turn(&self, n: usize, orders: &[(f64, &Vec<u32>)], work: &mut MarginWork<C::Work>) -> f64 {
        let (target, len) = (&self.targets[n], self.targets[n].right.len());
        let (discounts, design) = self.places.of(len);
        let MarginWork { d, change, links, scorer, .. } = work;
        d.clear();
        d.resize(self.scorer.span(n).len(), 0.0);
        let total: f64 = orders.iter().map(|(weight, _)| weight).sum();
        let right = (total, &target.right);
        for (weight, order) in orders.iter().map(|(weight, order)| (-weight, *order)).chain([right]) {
            order.iter().zip(d.iter_mut()).for_each(|(&place, d)| *d += weight * discounts[place as usize]);
            let place = |i: usize| order[i] as usize;
            links.each_pair(|c, i, at| d[len + at] += weight * design.at(place(links.core()[c] as usize), place(i)));
        }
        change.clear();
        change.resize(self.strength.len(), 0.0);
        self.scorer.pull_back(n, d, change, scorer);
        change.iter().zip(self.strength).map(|(x, strength)| x * x / strength).sum()
    }

    fn advance(&mut self, _: usize, length: f64, theta: &mut [f64], work: &mut MarginWork<C::Work>) {
        for ((theta, x), strength) in theta.iter_mut().zip(&work.change).zip(self.strength) {
            *theta += length * x / strength;
        }
    }
}
