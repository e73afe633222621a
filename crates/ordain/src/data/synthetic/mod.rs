//! Made-up data for ranking, tagging and matching, for the demo, the tests and the benchmarks.

mod interactions;
mod levels;
mod linkage;
mod orders;
mod registers;
mod shapes;
mod silhouettes;

pub use interactions::Interactions;
pub use levels::Levels;
pub use linkage::Linkage;
pub use orders::Orders;
pub use registers::{FIELDS as REGISTER_FIELDS, Record, Register, Registers};
pub use shapes::{Shapes, Videos};
pub use silhouettes::{Silhouettes, read_contours};

use crate::data::{Columns, LabelSet, RankSet};
use crate::matrix::{Features, Matrix};
use crate::random::Random;

/// What made-up data look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// Number of queries.
    pub queries: usize,
    /// Least and largest number of documents of a query.
    pub documents: (usize, usize),
    /// Number of features.
    pub features: usize,
    /// Number of grades, from 0.
    pub grades: usize,
    /// Standard deviation of the noise on the true score, whose own is 1.
    pub noise: f64,
    /// Seed.
    pub seed: u64,
}

impl Default for Synthetic {
    fn default() -> Self {
        Self { queries: 300, documents: (10, 40), features: 20, grades: 4, noise: 1.0, seed: 1 }
    }
}

impl Synthetic {
    /// Makes the data: a true linear score plus noise, cut into grades, under features that mislead as real ones do.
    ///
    /// Each feature has its own unit (spread over three decades), an offset and a spread that change from query to
    /// query, half of the features carry nothing, and the last one is constant. About half of the documents get grade
    /// 0, and each higher grade is rarer.
    ///
    /// ```
    /// let set = ordain::data::synthetic::Synthetic::default().make();
    /// assert_eq!((set.len(), set.features.cols()), (300, 20));
    /// ```
    pub fn make(&self) -> RankSet {
        let mut random = Random::new(self.seed);
        let d = self.features;
        let truth: Vec<f64> = (0..d).map(|j| if j % 2 == 0 { random.normal() } else { 0.0 }).collect();
        let norm = truth.iter().map(|w| w * w).sum::<f64>().sqrt().max(1e-9);
        let unit: Vec<f64> = (0..d).map(|_| 10f64.powf(3.0 * random.uniform() - 1.5)).collect();
        let (mut values, mut grades, mut bounds) = (vec![], vec![], vec![0]);
        for _ in 0..self.queries {
            let n = self.documents.0 + random.below(self.documents.1 - self.documents.0 + 1);
            let shift: Vec<f64> = (0..d).map(|_| 2.0 * random.normal()).collect();
            let spread: Vec<f64> = (0..d).map(|_| (0.4 * random.normal()).exp()).collect();
            for _ in 0..n {
                let mut score = self.noise * random.normal();
                for j in 0..d {
                    let x = random.normal();
                    score += truth[j] / norm * x;
                    values.push(if j + 1 == d && d > 1 { 1.0 } else { (unit[j] * (spread[j] * x + shift[j])) as f32 });
                }
                // grade g needs a score above 0, 0.8, 1.6, … of one standard deviation
                let steps = score / (1.0 + self.noise * self.noise).sqrt() / 0.8;
                grades.push((steps + 1.0).floor().clamp(0.0, self.grades as f64 - 1.0));
            }
            bounds.push(grades.len());
        }
        let columns = Columns { names: (1..=d).map(|j| j.to_string()).collect(), numbered: true, ..Columns::default() };
        let queries = (1..=self.queries).map(|q| q.to_string()).collect();
        RankSet::new(Features::Dense(Matrix::new(values, d)), columns, grades, bounds, queries)
            .expect("the parts are made to fit together")
    }
}

/// What made-up tagging data look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenes {
    /// Number of items.
    pub items: usize,
    /// Number of labels: one for each scene but the last, and objects.
    pub labels: usize,
    /// Number of scenes.
    pub scenes: usize,
    /// Standard deviation of the noise of a detector, whose signal is −1 or 1.
    pub noise: f64,
    /// Seed.
    pub seed: u64,
}

impl Default for Scenes {
    fn default() -> Self {
        Self { items: 3000, labels: 93, scenes: 6, noise: 0.9, seed: 1 }
    }
}

/// Words for what is seen in a scene; the last scene has no label of its own.
const WORDS: [(&str, &str); 6] = [
    ("beach", "sand sea wave boat sail shell umbrella swimmer surfboard gull lighthouse pier palm towel crab"),
    ("forest", "tree moss fern trail creek deer mushroom log owl squirrel leaves waterfall hiker cabin bear"),
    (
        "street",
        "car bus bicycle pedestrian sidewalk shop traffic_light crossing taxi sign lamp_post motorbike truck tram kiosk",
    ),
    ("kitchen", "stove sink fridge oven kettle pan plate cup spoon knife fruit bread toaster jar apron"),
    ("office", "desk chair screen keyboard mouse printer notebook pen shelf phone whiteboard folder lamp plant badge"),
    ("field", "cow horse sheep tractor fence hay barn windmill corn wheat dog farmer goat gate pond"),
];

impl Scenes {
    /// Makes the data: what is on an item depends on a scene that is not seen, and each label has a noisy detector.
    ///
    /// An item has a scene, all equally likely. Label `s` is on the items of scene `s`; the last scene has none. Each
    /// object is typical of a scene, half of the objects of two, and is there much more often than elsewhere: so labels
    /// say much about one another. Feature `j` is 1 where label `j` is on the item, else −1, plus noise. Every item has
    /// at least one label and lacks at least one.
    ///
    /// ```
    /// let set = ordain::data::synthetic::Scenes::default().make();
    /// assert_eq!((set.len(), set.labels.len(), set.features.cols()), (3000, 93, 93));
    /// assert_eq!(set.labels[..6], ["beach", "forest", "street", "kitchen", "office", "sand"]);
    /// ```
    pub fn make(&self) -> LabelSet {
        let mut random = Random::new(self.seed);
        let (scenes, n) = (self.scenes.max(1), self.labels.max(2));
        let named = (scenes - 1).min(n);
        let labels = label_names(scenes, n);
        let objects = n - named;
        let mut ranks: Vec<usize> = (0..objects).collect();
        random.shuffle(&mut ranks);
        let rates: Vec<Vec<f64>> = (0..objects)
            .map(|k| {
                // base rates are spread over a decade
                let base = 0.031 * 10f64.powf((ranks[k] as f64 + 0.5) / objects as f64);
                let first = k % scenes;
                let second = (first + 1 + random.below((scenes - 1).max(1))) % scenes;
                let typical = |s| s == first || s == second && k / scenes % 2 == 1;
                (0..scenes).map(|s| if typical(s) { 2.6 * base } else { 0.5 * base }).collect()
            })
            .collect();
        let (mut values, mut yes) = (Vec::with_capacity(self.items * n), vec![]);
        for _ in 0..self.items {
            let scene = random.below(scenes);
            let mut list: Vec<u32> = vec![];
            while list.is_empty() || list.len() == n {
                list.clear();
                list.extend((scene < named).then_some(scene as u32));
                list.extend((0..objects).filter(|&k| random.uniform() < rates[k][scene]).map(|k| (named + k) as u32));
                if n == named && list.is_empty() {
                    list.push(0); // no object could be on it
                }
            }
            let start = values.len();
            values.extend((0..n).map(|_| (self.noise * random.normal() - 1.0) as f32));
            list.iter().for_each(|&label| values[start + label as usize] += 2.0);
            yes.push(list);
        }
        let columns = Columns::named(labels.iter().map(|name| format!("score_{name}")).collect());
        LabelSet::new(Features::Dense(Matrix::new(values, n)), columns, labels, yes)
            .expect("the parts are made to fit together")
    }
}

/// Scenes but for the last, then objects; object `k` is typical of scene `k mod scenes`.
fn label_names(scenes: usize, n: usize) -> Vec<String> {
    let scene = |s: usize| WORDS.get(s).map_or_else(|| format!("scene_{}", s + 1), |(name, _)| (*name).to_owned());
    let object = |k: usize| {
        let word = WORDS.get(k % scenes).and_then(|(_, words)| words.split(' ').nth(k / scenes));
        word.map_or_else(|| format!("object_{:02}", k + 1), str::to_owned)
    };
    (0..scenes - 1).map(scene).chain((0..).map(object)).take(n).collect()
}
