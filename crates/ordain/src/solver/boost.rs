//! Boosting: a sum of trees, each grown on slope and curvature of the loss at the scores so far.
//!
//! Several *courses* run side by side, round by round: one for each part that is held out, and one on everything. The mean
//! of what held-out units are worth is the curve by which the number of rounds is chosen, and the trees of the last course
//! up to that round are the model. So there is no second fit, and whoever stops the work has the best model so far.

use crate::error::{Error, Result};
use crate::matrix::Features;
use crate::random::Random;
use crate::solver::run::{Report, Watch};
use crate::solver::stages::{Judge, Pace, Ran, Stage};
use crate::traits::{State, Surrogate};
use crate::tree::{Bins, Cuts, Forest, Grower, Growth, Parts};
use rayon::prelude::*;
use std::ops::Range;

/// How trees are added.
///
/// ```text
/// F ← F + rate · tree,   tree ≈ argmin over trees of  Σ_n weight_n Σ_i (d_i·t(x_i) + ½ h_i·t(x_i)²) + ridge/2·Σ_leaves t²
/// ```
///
/// with `d = ∂L_n/∂s` and h the diagonal of its curvature at `s = start + F` ([`Surrogate::diagonal`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Boost {
    /// The most trees.
    pub rounds: usize,
    /// What a tree is multiplied by.
    pub rate: f64,
    /// The share of examples that each tree sees.
    pub share: f64,
    /// After how many rounds without a better mean of held-out units it ends; `None`: all rounds are made, and kept.
    pub patience: Option<usize>,
    /// How one tree is grown.
    pub growth: Growth,
    /// The seed of whatever is drawn.
    pub seed: u64,
}

/// What one course learns from.
pub struct Course<'a, S> {
    /// The loss of its examples.
    pub loss: &'a S,
    /// The weight of each example.
    pub weight: Vec<f64>,
    /// The rows of each example, ascending.
    pub spans: Vec<Range<usize>>,
    /// The score that each row of the data starts from.
    pub start: Vec<f64>,
    /// Rows that are judged and not learned from, ascending.
    pub held: Vec<u32>,
}

/// Rows as trees see them.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    /// All rows with their values.
    pub features: &'a Features,
    /// Where columns are cut.
    pub cuts: &'a Cuts,
    /// All rows by the cuts.
    pub bins: &'a Bins,
}

/// What boosting came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Boosted {
    /// The trees of the last course, as many as were chosen.
    pub forest: Forest,
    /// The mean worth of held-out units after so many rounds, from 0 on; empty where nothing was held out.
    pub curve: Vec<f64>,
    /// What each held-out unit is worth at the start, and with as many trees as are best for the *other* units (in fifths): a fair
    /// judgement of the trees, since a unit that helps to choose their number finds them better than they are.
    pub worth: [Vec<f64>; 2],
    /// The mean worth of all units with the trees that were chosen, over rounds nearby; minus infinity where nothing was held out.
    pub best: f64,
    /// The scores of the held rows of each course with the trees that were chosen.
    pub held: Vec<Vec<f64>>,
    /// How it ended.
    pub report: Report,
    /// All trees of all courses.
    courses: Vec<Forest>,
}

impl Boosted {
    /// From where it goes on, if it was interrupted: the trees of all courses.
    pub fn state(&self) -> State {
        self.courses.iter().enumerate().flat_map(|(course, forest)| state_of(course, forest)).collect()
    }
}

/// Rows of a job: fewer are not worth a thread.
const JOB: usize = 2048;

impl Boost {
    /// Runs all courses; the last one gives the model. A course with held rows is judged after every round.
    ///
    /// Without held rows all rounds are made. With them it ends [`Boost::patience`] rounds after the best one, by the mean over
    /// neighbours: single rounds are chosen by chance. The result is
    /// the same on any number of threads, and after an interruption: trees of `state` are taken instead of grown.
    ///
    /// # Errors
    ///
    /// [`Error::Data`] if the loss has no curvature by rows (losses by margin).
    pub fn run<S: Surrogate>(
        &self,
        table: Table<'_>,
        courses: &[Course<'_, S>],
        judge: &Judge<'_>,
        state: Option<&State>,
        watch: &Watch,
    ) -> Result<Boosted> {
        let saved = state.and_then(|state| forests(state, courses.len(), table.cuts.columns()));
        let mut saved: Vec<Option<Forest>> = match saved {
            Some(saved) => saved.into_iter().map(Some).collect(),
            None => courses.iter().map(|_| None).collect(),
        };
        let mut runners: Vec<Runner<'_, S>> = courses
            .iter()
            .zip(&mut saved)
            .enumerate()
            .map(|(n, (course, saved))| Runner::new(self, table, course, n, saved.take()))
            .collect();
        let pace = Pace { rounds: self.rounds, patience: self.patience, word: "growing trees" };
        let Ran { best, curve, worth, mean, stop } = pace.run(&mut runners, judge, watch)?;
        let held = runners.par_iter().map(|runner| runner.held(best)).collect();
        let objective = runners.last().map_or(Ok(0.0), |last| last.objective(best))?;
        let courses: Vec<Forest> = runners.into_iter().map(|runner| runner.forest).collect();
        let Some(mut forest) = courses.last().cloned() else {
            return Err(Error::Data { expected: "something to learn from".into(), found: "no course".into() });
        };
        forest.truncate(best);
        let report = Report { iterations: best, objective, gradient: 0.0, gap: None, rounds: None, stop };
        Ok(Boosted { forest, curve, worth, best: mean, held, report, courses })
    }
}

/// One course while it runs.
struct Runner<'a, S> {
    how: &'a Boost,
    table: Table<'a>,
    course: &'a Course<'a, S>,
    number: usize,
    /// Examples in stretches of at least [`JOB`] rows.
    jobs: Vec<Range<usize>>,
    grower: Grower<'a>,
    forest: Forest,
    /// Trees of an interrupted run.
    saved: Option<Forest>,
    scores: Vec<f64>,
    d: Vec<f64>,
    h: Vec<f64>,
}

impl<'a, S: Surrogate> Runner<'a, S> {
    fn new(how: &'a Boost, table: Table<'a>, course: &'a Course<'a, S>, number: usize, saved: Option<Forest>) -> Self {
        let (mut jobs, mut first, mut rows) = (vec![], 0, 0);
        for (n, span) in course.spans.iter().enumerate() {
            rows += span.len();
            if rows >= JOB || n + 1 == course.spans.len() {
                jobs.push(first..n + 1);
                (first, rows) = (n + 1, 0);
            }
        }
        let rows = table.bins.rows();
        Self {
            how,
            table,
            course,
            number,
            jobs,
            grower: Grower::new(table.cuts, table.bins),
            forest: Forest::empty(table.cuts.columns()),
            saved,
            scores: course.start.clone(),
            d: vec![0.0; rows],
            h: vec![0.0; rows],
        }
    }

    /// The scores of the held rows with the first trees.
    fn held(&self, trees: usize) -> Vec<f64> {
        let mut all = self.course.start.clone();
        (0..trees).for_each(|tree| self.forest.add_tree(tree, self.table.features, &self.course.held, &mut all));
        self.course.held.iter().map(|&row| all[row as usize]).collect()
    }

    /// The mean loss with the first trees.
    fn objective(&self, trees: usize) -> Result<f64> {
        let (course, mut scores) = (self.course, self.course.start.clone());
        let rows: Vec<u32> = course.spans.iter().flat_map(|span| span.start as u32..span.end as u32).collect();
        (0..trees).for_each(|tree| self.forest.add_tree(tree, self.table.features, &rows, &mut scores));
        let (mut sum, mut work) = (0.0, S::Work::default());
        for (n, span) in course.spans.iter().enumerate() {
            sum += course.weight[n]
                * course.loss.value(n, &scores[span.clone()], &mut vec![0.0; span.len()], &mut work)?;
        }
        Ok(sum / course.spans.len().max(1) as f64)
    }

    /// Slope and curvature of every row; in parallel over examples.
    fn slopes(&mut self) -> Result<()> {
        let (spans, loss, weight) = (&self.course.spans, self.course.loss, &self.course.weight);
        let (mut d, mut h, mut at, mut work) = (&mut self.d[..], &mut self.h[..], 0, vec![]);
        for job in &self.jobs {
            let (from, to) = (spans[job.start].start, spans[job.end - 1].end);
            let (own_d, rest_d) = d.split_at_mut(to - at);
            let (own_h, rest_h) = h.split_at_mut(to - at);
            work.push((job.clone(), from, &mut own_d[from - at..], &mut own_h[from - at..]));
            (d, h, at) = (rest_d, rest_h, to);
        }
        let scores = &self.scores;
        let one = |scratch: &mut S::Work, (job, from, d, h): (Range<usize>, usize, &mut [f64], &mut [f64])| {
            for n in job {
                let (rows, span) = (spans[n].clone(), spans[n].start - from..spans[n].end - from);
                let (d, h) = (&mut d[span.clone()], &mut h[span]);
                loss.diagonal(n, &scores[rows], d, h, scratch)?.ok_or_else(no_curvature)?;
                d.iter_mut().chain(h.iter_mut()).for_each(|x| *x *= weight[n]);
            }
            Ok(())
        };
        work.into_par_iter().map_init(S::Work::default, one).collect()
    }
}

impl<S: Surrogate> Stage for Runner<'_, S> {
    /// One more tree.
    fn round(&mut self, made: usize) -> Result<bool> {
        let rate = self.how.rate;
        if let Some(saved) = self.saved.as_ref().filter(|saved| made < saved.trees()) {
            let learned = self.course.spans.iter().flat_map(|span| span.start as u32..span.end as u32);
            for rows in [&learned.collect::<Vec<u32>>(), &self.course.held] {
                saved.add_tree(made, self.table.features, rows, &mut self.scores);
            }
            self.forest.push_from(saved, made);
            return Ok(true);
        }
        self.slopes()?;
        let seed = self.how.seed ^ ((self.number as u64 + 1) << 48) ^ (made as u64) << 16;
        let mut random = Random::new(seed);
        let (mut seen, mut unseen) = (vec![], vec![]);
        for span in &self.course.spans {
            let takes = self.how.share >= 1.0 || random.uniform() < self.how.share;
            let rows = span.start as u32..span.end as u32;
            if takes { seen.extend(rows) } else { unseen.extend(rows) }
        }
        let tree = self.grower.grow(&self.d, &self.h, &seen, &self.how.growth, &mut random);
        self.grower.add_last(&tree, rate, &mut self.scores);
        for rows in [&unseen, &self.course.held] {
            self.grower.walk(&tree, self.table.bins, rows, rate, &mut self.scores);
        }
        self.forest.push(&tree, rate);
        Ok(true)
    }

    fn scores(&self) -> &[f64] {
        &self.scores
    }

    fn judged(&self) -> bool {
        !self.course.held.is_empty()
    }
}

fn no_curvature() -> Error {
    Error::Data {
        expected: "a loss with a curvature for trees (scorer=linear takes any)".into(),
        found: "one without".into(),
    }
}

/// The trees of a course, as named vectors.
fn state_of(course: usize, forest: &Forest) -> State {
    let parts = forest.parts();
    let named = |name: &str, values: Vec<f64>| (format!("course{course}/{name}"), values);
    let whole = |values: &[u32]| values.iter().map(|&x| f64::from(x)).collect();
    let single = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect();
    vec![
        named("first", whole(&parts.first)),
        named("kind", parts.kind.iter().map(|&x| f64::from(x)).collect()),
        named("column", whole(&parts.column)),
        named("cut", single(&parts.cut)),
        named("child", whole(parts.child.as_flattened())),
        named("value", parts.value),
        named("set_end", whole(&parts.set_end)),
        named("set", single(&parts.set)),
    ]
}

/// The trees of all courses; `None` if they are not there, or do not fit.
fn forests(state: &State, courses: usize, columns: usize) -> Option<Vec<Forest>> {
    let one = |course: usize| {
        let of = |name: &str| {
            let name = format!("course{course}/{name}");
            state.iter().find(|(own, _)| *own == name).map(|(_, values)| values.as_slice())
        };
        // what is no whole number ends up as another one, and is refused with it
        let whole = |name: &str| Some(of(name)?.iter().map(|&x| x as u32).collect::<Vec<u32>>());
        let single = |name: &str| Some(of(name)?.iter().map(|&x| x as f32).collect::<Vec<f32>>());
        let parts = Parts {
            first: whole("first")?,
            kind: of("kind")?.iter().map(|&x| x as u8).collect(),
            column: whole("column")?,
            cut: single("cut")?,
            child: whole("child")?.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect(),
            value: of("value")?.to_vec(),
            set_end: whole("set_end")?,
            set: single("set")?,
        };
        Forest::new(parts, columns).ok()
    };
    (0..courses).map(one).collect()
}
