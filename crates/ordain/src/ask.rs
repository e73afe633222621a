//! Which label or pair to ask a person about next, and what such questions are worth.

mod matches;
mod replay;

pub use matches::{GivenMatches, PairQuestion, SURE, given, next_pair, pair_doubts};
pub use replay::{Replayed, replay, replay_all, replayable};

use crate::error::{Error, Result};
use crate::method::annotator::median;
use crate::method::{Annotate, Annotator, LabelWork, Scored, Trainer};
use crate::random::Random;
use crate::structure::star::sum::StarSum;
use crate::structure::star::{Clamp, Subsets};
use crate::task::Ready;
use std::fmt;
use std::str::FromStr;

/// How the next label is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Strategy {
    /// The label whose best scores inside and outside the set differ least, \[QAP\] section 5.
    Paper,
    /// The label whose probability is nearest 1/2; needs probabilities, which models by margin do not have.
    Entropy,
    /// The label whose answer promises the best precision.
    Expected,
    /// Any label.
    Random,
}

impl Strategy {
    /// All of them, the default first.
    pub const ALL: &'static [Self] = &[Self::Expected, Self::Paper, Self::Entropy, Self::Random];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Entropy => "entropy",
            Self::Expected => "expected",
            Self::Random => "random",
        }
    }

    /// Whether a model of this trainer can follow it.
    ///
    /// ```
    /// use ordain::{ask::Strategy, method::Trainer};
    /// assert!(!Strategy::Entropy.suits(Trainer::Margin) && Strategy::Expected.suits(Trainer::Margin));
    /// ```
    pub fn suits(self, trainer: Trainer) -> bool {
        self != Self::Entropy || trainer == Trainer::Likelihood
    }

    fn check(self, trainer: Trainer) -> Result<()> {
        if self.suits(trainer) {
            return Ok(());
        }
        Err(Error::Data {
            expected: "a model with probabilities for the strategy entropy (fit it with trainer=likelihood, or ask by paper or expected)"
                .into(),
            found: "a model by margin, whose labels have differences of scores".into(),
        })
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = Error;

    /// ```
    /// use ordain::ask::Strategy;
    /// assert_eq!("paper".parse::<Strategy>()?, Strategy::Paper);
    /// assert!("entropi".parse::<Strategy>().unwrap_err().to_string().contains("did you mean \"entropy\""));
    /// # Ok::<(), ordain::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.iter().copied().find(|strategy| strategy.name() == text);
        found.ok_or_else(|| Error::unknown("strategy", text, Self::ALL.iter().map(|one| one.name())))
    }
}

/// How many labels an item has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// So many: an oracle, as in \[QAP\].
    Told(usize),
    /// As many as the model thinks: its distribution, restricted to the numbers that the answers allow, and never certain;
    /// see [`Annotator::numbers`].
    Learned,
}

/// What is known of an item before a question.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The number of its labels.
    pub count: Count,
    /// The answers so far; empty before the first.
    pub clamp: &'a [Clamp],
    /// Labels that nobody could answer for: the model goes on to think about them, and they are not asked again.
    pub skipped: &'a [u32],
}

/// The label to ask about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// The label.
    pub label: u32,
    /// What it was chosen by: the difference of scores (paper, smaller first), the probability of the label (entropy), the
    /// expected precision after the answer or, by margin, the expected number of labels that it changes (expected, larger
    /// first), 0 (random).
    pub value: f64,
}

/// Labels whose answers are looked ahead to.
pub const CANDIDATES: usize = 8;

/// Numbers of labels that are looked ahead with, where the number is not known.
const NUMBERS: usize = 5;

/// The next label to ask about; none where nothing is left to ask: every label was answered or skipped, or the answers leave
/// one set of the number of labels that was told. Of equal labels the one with the lowest number is asked.
///
/// With `in_i` and `out_i` the best score of a set with and without label `i`, and `p_i` its marginal probability, all given
/// the answers:
///
/// ```text
/// paper     min_i |in_i − out_i|
/// entropy   min_i |p_i − 1/2|
/// expected  max_i 1/k [ p_i · top_k(p | i in) + (1 − p_i) · top_k(p | i out) ]      top_k: the sum of the k largest
/// ```
///
/// - **paper**: the least difference is that of the two best sets, and every label that one of them has and the other has not
///   attains it (so that the rule of \[QAP\] never names a single label). Of these the ones of the best set are asked, the lowest
///   number first; others only where those were skipped. Costs one [two-best search](crate::structure::star::Star::two_best), about O(N); O(2^C N)
///   where all labels of both were skipped.
/// - **entropy**: one sum, O(2^C N k).
/// - **expected**: the [`CANDIDATES`] labels with the largest `p_i (1 − p_i)` are tried, with two sums each: O(2^C N k) times 17.
///   A model by margin has no probabilities. There the candidates are those with the least difference, `d_i = in_i − out_i`, and the
///   value is `logistic(−|d_i|)` times the number of labels that leave the best set when the answer goes against it:
///   one [search](crate::structure::star::Star::max) each.
///
/// Without links, paper and expected both ask about the k-th or the (k + 1)-th label, and which of the two makes no difference to
/// the precision that follows.
///
/// Where the number of labels is [learned](Count::Learned), paper (and expected by margin) take the number nearest the median
/// that leaves a choice, entropy averages the probabilities as [`Annotator::values`] does, and expected averages over the 5
/// likeliest numbers that leave a choice; where one label is open, they ask about it, with the value 0. Answers restrict the
/// distribution of the number, which is [never certain](Annotator::numbers), and do not weigh it otherwise.
pub fn next(
    annotator: &Annotator,
    item: &Scored,
    known: &Known,
    strategy: Strategy,
    random: &mut Random,
    work: &mut LabelWork,
) -> Result<Option<Question>> {
    next_of(annotator, item, known, strategy, CANDIDATES, random, work)
}

/// The best score of a set with a label that is open, and of one without it, given the answers.
///
/// Both sets have the number of labels that was told, else the one nearest the median that leaves a choice; where one label
/// alone is open, the set with it has a label more.
pub fn sides(
    annotator: &Annotator,
    item: &Scored,
    known: &Known,
    label: u32,
    work: &mut LabelWork,
) -> Result<(f64, f64)> {
    let situation = Situation::new(annotator, item, known)?;
    let (yes, no) = situation.number().map_or((situation.inside + 1, situation.inside), |k| (k, k));
    let mut best = |answer: Clamp, k: usize| {
        let (mut clamp, mut scores, mut set) = (situation.clamp.clone(), vec![], vec![]);
        clamp[label as usize] = answer;
        annotator.scores_at(item, k, &mut scores);
        annotator.star.max(&scores, &Subsets { k, clamp: &clamp }, &mut work.max, &mut set)
    };
    Ok((best(Clamp::In, yes)?, best(Clamp::Out, no)?))
}

/// What answers say of an item with so many labels: a clamp for each label, and the labels that nobody could answer for.
///
/// ```
/// let (clamp, skipped) = ordain::ask::known(3, [(0, Some(true)), (2, None)]);
/// assert_eq!((clamp.len(), skipped), (3, vec![2]));
/// ```
pub fn known(labels: usize, answers: impl IntoIterator<Item = (u32, Option<bool>)>) -> (Vec<Clamp>, Vec<u32>) {
    let (mut clamp, mut skipped) = (vec![Clamp::Free; labels], vec![]);
    for (label, yes) in answers {
        match yes {
            Some(yes) => clamp[label as usize] = if yes { Clamp::In } else { Clamp::Out },
            None => skipped.push(label),
        }
    }
    (clamp, skipped)
}

/// How much each item of a set is in doubt: the expected number of labels that are guessed wrongly one by one; of a model by margin minus the
/// least difference of scores. Costs a prediction of the set.
pub fn doubts(annotator: &Annotator, on: &Ready<'_, Annotate>) -> Result<Vec<f64>> {
    let said = annotator.predict(on, &on.set().all())?;
    let one = |values: &[f64]| match annotator.trainer {
        Trainer::Likelihood => values.iter().map(|p| p.min(1.0 - p)).sum(),
        Trainer::Margin => -values.iter().fold(f64::INFINITY, |least, v| least.min(v.abs())),
    };
    Ok(said.iter().map(|said| one(&said.values)).collect())
}

/// The expected precision of the best labels of an item before a question, `1/k top_k(p)` averaged over numbers of labels as the strategy
/// `expected` does it, so that the difference to the value of its question is what the answer is expected to gain. Where nothing is left to
/// choose it is averaged over all likely numbers; nothing of a model by margin.
pub fn precision(annotator: &Annotator, item: &Scored, known: &Known, work: &mut LabelWork) -> Result<Option<f64>> {
    if annotator.trainer != Trainer::Likelihood {
        return Ok(None);
    }
    let situation = Situation::new(annotator, item, known)?;
    let mut numbers = situation.looked_ahead();
    if numbers.is_empty() {
        numbers.clone_from(&situation.numbers);
        numbers.retain(|&(k, _)| k > 0);
    }
    let total: f64 = numbers.iter().map(|(_, p)| p).sum();
    if numbers.is_empty() || total <= 0.0 {
        return Ok(None);
    }
    let (sum, mut mean) = (StarSum::new(&annotator.star)?, 0.0);
    for &(k, weight) in &numbers {
        let (mut scores, mut p) = (vec![], vec![0.0; situation.clamp.len()]);
        annotator.scores_at(item, k, &mut scores);
        sum.log_sum(&scores, &situation.over(k), &mut work.sum, &mut p, None)?;
        mean += weight / total * top(&mut p, k) / k as f64;
    }
    Ok(Some(mean.clamp(0.0, 1.0)))
}

/// The generator of a question about an item after so many answers: the same question comes again where it is asked again.
pub fn generator(seed: u64, item: usize, answers: usize) -> Random {
    Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(((item as u64) << 20) + answers as u64))
}

/// [`next`] with another number of candidates.
#[doc(hidden)]
pub fn next_of(
    annotator: &Annotator,
    item: &Scored,
    known: &Known,
    strategy: Strategy,
    candidates: usize,
    random: &mut Random,
    work: &mut LabelWork,
) -> Result<Option<Question>> {
    strategy.check(annotator.trainer)?;
    let situation = Situation::new(annotator, item, known)?;
    if situation.open.is_empty() || situation.decided() {
        return Ok(None);
    }
    match (strategy, annotator.trainer) {
        (Strategy::Random, _) => {
            let label = situation.open[random.below(situation.open.len())];
            Ok(Some(Question { label, value: 0.0 }))
        }
        (Strategy::Entropy, _) => situation.entropy(work),
        (Strategy::Paper, _) => situation.paper(work),
        (Strategy::Expected, Trainer::Likelihood) => situation.expected_precision(candidates, work),
        (Strategy::Expected, Trainer::Margin) => situation.expected_change(candidates, work),
    }
}

/// An item before a question.
struct Situation<'a> {
    annotator: &'a Annotator,
    item: &'a Scored,
    clamp: Vec<Clamp>,
    /// Labels that may be asked about, ascending.
    open: Vec<u32>,
    /// Labels that are in, and labels that are free.
    inside: usize,
    free: usize,
    /// Numbers of labels and their probabilities.
    numbers: Vec<(usize, f64)>,
}

impl<'a> Situation<'a> {
    fn new(annotator: &'a Annotator, item: &'a Scored, known: &Known) -> Result<Self> {
        let n = annotator.labels.len();
        if !(known.clamp.is_empty() || known.clamp.len() == n) || item.base.len() != n {
            return Err(Error::Data {
                expected: format!("scores of {n} labels, and answers for all or none of them"),
                found: format!("{} scores and {} answers", item.base.len(), known.clamp.len()),
            });
        }
        let mut clamp = known.clamp.to_vec();
        clamp.resize(n, Clamp::Free);
        let inside = clamp.iter().filter(|&&clamp| clamp == Clamp::In).count();
        let free = clamp.iter().filter(|&&clamp| clamp == Clamp::Free).count();
        let numbers = match known.count {
            Count::Told(k) if k < inside || k > inside + free => return Err(Error::NoSet { k, inside, free }),
            Count::Told(k) => vec![(k, 1.0)],
            Count::Learned => annotator.open_numbers(item, &clamp),
        };
        let open = |&i: &u32| clamp[i as usize] == Clamp::Free && !known.skipped.contains(&i);
        let open = (0..n as u32).filter(open).collect();
        Ok(Self { annotator, item, clamp, open, inside, free, numbers })
    }

    /// Whether sets of `k` labels leave a choice.
    fn choice(&self, k: usize) -> bool {
        self.inside < k && k < self.inside + self.free
    }

    /// Whether one set is left.
    fn decided(&self) -> bool {
        self.numbers.len() == 1 && !self.choice(self.numbers[0].0)
    }

    fn over(&self, k: usize) -> Subsets<'_> {
        Subsets { k, clamp: &self.clamp }
    }

    /// The number nearest the median that leaves a choice, the smaller of two.
    fn number(&self) -> Option<usize> {
        let middle = median(&self.numbers);
        let choices = self.numbers.iter().map(|&(k, _)| k).filter(|&k| self.choice(k));
        choices.min_by_key(|&k| (k.abs_diff(middle), k))
    }

    /// The likeliest numbers that leave a choice.
    fn looked_ahead(&self) -> Vec<(usize, f64)> {
        let mut numbers: Vec<(usize, f64)> = self.numbers.iter().copied().filter(|&(k, _)| self.choice(k)).collect();
        numbers.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        numbers.truncate(NUMBERS);
        numbers
    }

    /// The first open label, where any one decides between all of them and none.
    fn any(&self) -> Option<Question> {
        self.open.first().map(|&label| Question { label, value: 0.0 })
    }

    /// The open label with the least key, the first of equals.
    fn least(&self, key: impl Fn(u32) -> f64) -> Option<u32> {
        self.open.iter().copied().min_by(|&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)))
    }

    fn paper(&self, work: &mut LabelWork) -> Result<Option<Question>> {
        let Some(k) = self.number() else { return Ok(self.any()) };
        let mut scores = vec![];
        self.annotator.scores_at(self.item, k, &mut scores);
        let (best, next) = self.annotator.star.two_best(&scores, &self.over(k), &mut work.max)?;
        let Some(next) = next else { return Ok(None) };
        let only = |a: &[u32], b: &[u32]| {
            a.iter().copied().find(|i| b.binary_search(i).is_err() && self.open.binary_search(i).is_ok())
        };
        let label = only(&best.labels, &next.labels).or_else(|| only(&next.labels, &best.labels));
        if let Some(label) = label {
            return Ok(Some(Question { label, value: best.value - next.value }));
        }
        // all of them were skipped
        let forced = self.annotator.star.forced(&scores, &self.over(k), &mut work.max)?;
        let difference = |i: u32| (forced.inside[i as usize] - forced.outside[i as usize]).abs();
        Ok(self.least(difference).map(|label| Question { label, value: difference(label) }))
    }

    fn entropy(&self, work: &mut LabelWork) -> Result<Option<Question>> {
        let sum = self.annotator.sum()?;
        let p = self.annotator.average(sum.as_ref(), self.item, &self.numbers, &self.clamp, work)?;
        let label = self.least(|i| (p[i as usize] - 0.5).abs());
        Ok(label.map(|label| Question { label, value: p[label as usize] }))
    }

    fn expected_precision(&self, most: usize, work: &mut LabelWork) -> Result<Option<Question>> {
        let numbers = self.looked_ahead();
        if numbers.is_empty() {
            return Ok(self.any());
        }
        let total: f64 = numbers.iter().map(|(_, p)| p).sum();
        let (n, sum) = (self.clamp.len(), StarSum::new(&self.annotator.star)?);
        let mut before = vec![];
        let mut mean = vec![0.0; n];
        for &(k, weight) in &numbers {
            let (mut scores, mut p) = (vec![], vec![0.0; n]);
            self.annotator.scores_at(self.item, k, &mut scores);
            sum.log_sum(&scores, &self.over(k), &mut work.sum, &mut p, None)?;
            mean.iter_mut().zip(&p).for_each(|(mean, p)| *mean += weight / total * p);
            before.push((k, weight / total, scores, p));
        }
        let spread = |i: u32| mean[i as usize] * (1.0 - mean[i as usize]);
        let mut candidates = self.open.clone();
        candidates.sort_by(|&a, &b| spread(b).total_cmp(&spread(a)).then(a.cmp(&b)));
        candidates.truncate(most);
        let (mut clamp, mut after, mut best) = (self.clamp.clone(), vec![0.0; n], None);
        candidates.sort_unstable();
        for label in candidates {
            let mut value = 0.0;
            for (k, weight, scores, p) in &before {
                let yes = p[label as usize].clamp(0.0, 1.0);
                for (answer, chance) in [(Clamp::In, yes), (Clamp::Out, 1.0 - yes)] {
                    if chance > 0.0 {
                        clamp[label as usize] = answer;
                        sum.log_sum(scores, &Subsets { k: *k, clamp: &clamp }, &mut work.sum, &mut after, None)?;
                        value += weight * chance * top(&mut after, *k) / *k as f64;
                    }
                }
            }
            clamp[label as usize] = Clamp::Free;
            if best.is_none_or(|best: Question| value > best.value) {
                best = Some(Question { label, value });
            }
        }
        Ok(best)
    }

    fn expected_change(&self, most: usize, work: &mut LabelWork) -> Result<Option<Question>> {
        let Some(k) = self.number() else { return Ok(self.any()) };
        let mut scores = vec![];
        self.annotator.scores_at(self.item, k, &mut scores);
        let forced = self.annotator.star.forced(&scores, &self.over(k), &mut work.max)?;
        let difference = |i: u32| forced.inside[i as usize] - forced.outside[i as usize];
        let mut candidates = self.open.clone();
        candidates.sort_by(|&a, &b| difference(a).abs().total_cmp(&difference(b).abs()).then(a.cmp(&b)));
        candidates.truncate(most);
        candidates.sort_unstable();
        let (mut clamp, mut set, mut best) = (self.clamp.clone(), vec![], None);
        self.annotator.star.max(&scores, &self.over(k), &mut work.max, &mut set)?;
        let mut other = vec![];
        for label in candidates {
            // the answer that the best set does not expect
            let inside = set.binary_search(&label).is_ok();
            clamp[label as usize] = if inside { Clamp::Out } else { Clamp::In };
            self.annotator.star.max(&scores, &Subsets { k, clamp: &clamp }, &mut work.max, &mut other)?;
            clamp[label as usize] = Clamp::Free;
            let changed = set.iter().filter(|i| other.binary_search(i).is_err()).count();
            let value = changed as f64 / (1.0 + difference(label).abs().exp());
            if best.is_none_or(|best: Question| value > best.value) {
                best = Some(Question { label, value });
            }
        }
        Ok(best)
    }
}

/// The sum of the `k` largest values, which are reordered; added from the largest on.
fn top(values: &mut [f64], k: usize) -> f64 {
    if k == 0 || values.is_empty() {
        return 0.0;
    }
    let k = k.min(values.len());
    values.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
    values[..k].sort_unstable_by(|a, b| b.total_cmp(a));
    values[..k].iter().sum()
}
