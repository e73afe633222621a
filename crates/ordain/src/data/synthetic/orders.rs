//! Made-up lists of named items whose places depend on one another.

use crate::data::{Columns, RankSet};
use crate::matrix::{Features, Matrix};
use crate::random::Random;

/// What the lists look like: eight items, of which the first three places are observed.
///
/// The last item is the core. It attracts or repels the others: the probability of a head (three of eight items in order) is
///
/// ```text
/// p ∝ exp( Σ_i 1.5·s_i·c(π_i) + Σ_i g_i·|π_i − π_core|/3 ),   c_j = 1/log2(1 + j) at places 1 to 3, 0 in the tail (place 4)
/// ```
///
/// with a score `s_i ~ N(0, 1)` for each item of each list, and `g_i = +link` for the first, third, … item, `−link` for the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Orders {
    /// Number of lists.
    pub lists: usize,
    /// The strength of a link.
    pub link: f64,
    /// Seed.
    pub seed: u64,
}

impl Default for Orders {
    fn default() -> Self {
        Self { lists: 1200, link: 5.0, seed: 0 }
    }
}

/// Items of a list.
const ITEMS: usize = 8;
/// Places that are observed.
const HEAD: usize = 3;

impl Orders {
    /// The name of the item that all links touch.
    pub const CORE: &'static str = "item_8";

    /// Makes the data: queries `1`, `2`, …, each with the documents `item_1` to `item_8`. The one feature is the score; the
    /// grades of the head are 3, 2 and 1, the others have 0.
    ///
    /// ```
    /// let set = ordain::data::synthetic::Orders::default().make();
    /// assert_eq!((set.len(), set.rows(), set.document(7).as_ref()), (1200, 9600, "item_8"));
    /// assert_eq!(set.grades[..8].iter().sum::<f64>(), 6.0);
    /// ```
    pub fn make(&self) -> RankSet {
        let mut random = Random::new(self.seed);
        let heads = heads();
        let (mut values, mut grades, mut names) = (vec![], vec![], vec![]);
        let mut weights = vec![0.0; heads.len()];
        for _ in 0..self.lists {
            let scores: [f64; ITEMS] = std::array::from_fn(|_| random.normal());
            let logs = heads.iter().map(|head| self.log_weight(&scores, head));
            weights.iter_mut().zip(logs).for_each(|(weight, log)| *weight = log);
            let most = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            weights.iter_mut().for_each(|weight| *weight = (*weight - most).exp());
            let mut left = random.uniform() * weights.iter().sum::<f64>();
            let drawn = weights.iter().position(|weight| {
                left -= weight;
                left < 0.0
            });
            let head = heads[drawn.unwrap_or(heads.len() - 1)];
            for (item, &score) in scores.iter().enumerate() {
                values.push(score as f32);
                grades.push(head.iter().position(|&i| i == item).map_or(0.0, |place| (HEAD - place) as f64));
                names.push(format!("item_{}", item + 1));
            }
        }
        let columns = Columns::named(vec!["score".into()]);
        let bounds = (0..=self.lists).map(|list| list * ITEMS).collect();
        let queries = (1..=self.lists).map(|list| list.to_string()).collect();
        RankSet::new(Features::Dense(Matrix::new(values, 1)), columns, grades, bounds, queries)
            .and_then(|set| set.with_documents(&names))
            .expect("the parts are made to fit together")
    }

    /// The logarithm of the weight of a head.
    fn log_weight(&self, scores: &[f64; ITEMS], head: &[usize; HEAD]) -> f64 {
        let place = |item: usize| head.iter().position(|&i| i == item).unwrap_or(HEAD);
        let core = place(ITEMS - 1) as f64;
        let own: f64 = head.iter().zip(2..).map(|(&item, j)| 1.5 * scores[item] / f64::from(j).log2()).sum();
        let links = (0..ITEMS - 1).map(|item| {
            let link = if item % 2 == 0 { self.link } else { -self.link };
            link * (place(item) as f64 - core).abs() / HEAD as f64
        });
        own + links.sum::<f64>()
    }
}

/// All choices of three of eight items in order: 336.
fn heads() -> Vec<[usize; HEAD]> {
    let mut all = vec![];
    for a in 0..ITEMS {
        for b in (0..ITEMS).filter(|&b| b != a) {
            all.extend((0..ITEMS).filter(|&c| c != a && c != b).map(|c| [a, b, c]));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_says_all_and_links_show() {
        let make = |seed, link| Orders { seed, link, lists: 400 }.make();
        assert!(make(3, 5.0) == make(3, 5.0) && make(3, 5.0).features != make(4, 5.0).features);
        assert_eq!(heads().len(), 336);
        // with the core in the tail, items that it repels stand in the head, and the other way round
        let repelled = |link: f64| {
            let set = make(1, link);
            let heads = (0..set.len()).filter(|&q| set.grades[set.span(q).start + 7] > 0.0);
            let share = |q: usize| (0..7).step_by(2).filter(|i| set.grades[set.span(q).start + i] > 0.0).count();
            let (lists, items) = heads.fold((0, 0), |(lists, items), q| (lists + 1, items + share(q)));
            items as f64 / f64::from(lists)
        };
        assert!(repelled(5.0) < 0.5 && repelled(0.0) > 0.8, "{} {}", repelled(5.0), repelled(0.0));
    }
}
