//! How far people agree who answered the same questions.

use super::Subject;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How far people agree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// The people; one without a name is `""`.
    pub people: Vec<String>,
    /// Questions that somebody answered.
    pub questions: usize,
    /// Questions that two or more people answered.
    pub shared: usize,
    /// Krippendorff's alpha, of all answers to shared questions; nothing where no answer differs from any other.
    pub alpha: Option<f64>,
    /// Each two people with shared questions.
    pub pairs: Vec<Pair>,
}

/// How far two people agree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The one.
    pub a: String,
    /// The other.
    pub b: String,
    /// Questions that both answered.
    pub questions: usize,
    /// Questions that both answered alike.
    pub same: usize,
    /// Cohen's kappa; nothing where both gave one answer only.
    pub kappa: Option<f64>,
}

impl Agreement {
    /// The agreement of answers of people; the last of a person on a question counts.
    ///
    /// Answers are numbers: no is 0 and yes is 1, and a grade is itself. With `a` and `b` the answers of two people to the N questions that
    /// both answered (J. Cohen 1968, with squares as weights; of yes and no it is his kappa of 1960), and with `o(c, k)` how often answers c
    /// and k stand beside each other on a question with m answers, each pair counted 1/(m − 1) times, `n(c)` how often c is said and `n` the
    /// number of answers (K. Krippendorff 2004, chapter 11, of intervals; of yes and no the same as of names):
    ///
    /// ```text
    /// kappa = 1 − N Σ_i (a_i − b_i)² / Σ_{i,j} (a_i − b_j)²
    /// alpha = 1 − (n − 1) Σ_{c,k} o(c, k) (c − k)² / Σ_{c,k} n(c) n(k) (c − k)²
    /// ```
    ///
    /// ```
    /// use ordain::labelling::{Agreement, Subject};
    /// let of = |thing: u32, by: &str, yes: u8| (Subject { unit: 0, thing }, Some(by.to_owned()), yes);
    /// let votes = [of(0, "ann", 1), of(0, "bob", 1), of(1, "ann", 0), of(1, "bob", 1), of(2, "ann", 0), of(2, "bob", 0)];
    /// let said = Agreement::of(&votes);
    /// assert_eq!((said.shared, said.pairs[0].same), (3, 2));
    /// // one of three differs, and 5 of the 9 pairs of answers: kappa = 1 − 3 · 1 / 5; n(yes) = n(no) = 3: alpha = 1 − 5 · 2 / 18
    /// assert!((said.pairs[0].kappa.unwrap() - 0.4).abs() < 1e-12 && (said.alpha.unwrap() - 4.0 / 9.0).abs() < 1e-12);
    /// ```
    ///
    /// O(answers · people).
    pub fn of(votes: &[(Subject, Option<String>, u8)]) -> Self {
        let mut by_question: BTreeMap<Subject, BTreeMap<&str, u8>> = BTreeMap::new();
        let mut people: BTreeSet<&str> = BTreeSet::new();
        for (subject, by, answer) in votes {
            let by = by.as_deref().unwrap_or_default();
            people.insert(by);
            by_question.entry(*subject).or_default().insert(by, *answer);
        }
        let people: Vec<&str> = people.into_iter().collect();
        let mut pairs = vec![];
        for (i, &a) in people.iter().enumerate() {
            for &b in &people[i + 1..] {
                let both = by_question.values().filter_map(|own| Some((*own.get(a)?, *own.get(b)?)));
                pairs.extend(Pair::of(a, b, both));
            }
        }
        let shared = by_question.values().filter(|own| own.len() > 1);
        let (mut differ, mut all) = (0.0, Sums::default());
        for own in shared.clone() {
            let sums = own.values().fold(Sums::default(), |sums, &answer| sums.and(answer));
            differ += sums.apart(&sums) / (sums.count - 1.0);
            all = own.values().fold(all, |sums, &answer| sums.and(answer));
        }
        let chance = all.apart(&all);
        Self {
            people: people.iter().map(|&name| name.to_owned()).collect(),
            questions: by_question.len(),
            shared: shared.count(),
            alpha: (chance > 0.0).then(|| 1.0 - (all.count - 1.0) * differ / chance),
            pairs,
        }
    }
}

/// The number, the sum and the sum of squares of answers: whole numbers, so that no sum is rounded.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Sums {
    fn and(self, answer: u8) -> Self {
        let x = f64::from(answer);
        Self { count: self.count + 1.0, sum: self.sum + x, squares: self.squares + x * x }
    }

    /// The sum of (a − b)² over all answers a of these and b of others.
    fn apart(&self, other: &Self) -> f64 {
        other.count * self.squares + self.count * other.squares - 2.0 * self.sum * other.sum
    }
}

impl Pair {
    fn of(a: &str, b: &str, both: impl Iterator<Item = (u8, u8)>) -> Option<Self> {
        let (mut questions, mut same, mut differ, mut sums) = (0usize, 0usize, 0.0, [Sums::default(); 2]);
        for (one, other) in both {
            questions += 1;
            same += usize::from(one == other);
            differ += f64::from(one.abs_diff(other)).powi(2);
            sums = [sums[0].and(one), sums[1].and(other)];
        }
        let chance = sums[0].apart(&sums[1]);
        (questions > 0).then(|| Self {
            a: a.into(),
            b: b.into(),
            questions,
            same,
            kappa: (chance > 0.0).then(|| 1.0 - questions as f64 * differ / chance),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test may panic
    use super::*;
    use crate::random::Random;

    /// By all pairs of answers to a question, and by a table with a row for each answer; of yes and no as Cohen has it without weights.
    #[test]
    fn agreement_is_that_of_all_pairs_of_answers() {
        let mut random = Random::new(4);
        for case in 0..crate::cases::cases(50) {
            let (mut votes, answers) = (vec![], if case % 2 == 0 { 2 } else { 5 });
            for thing in 0..1 + random.below(12) as u32 {
                for by in ["ann", "bob", "cem"] {
                    if random.below(4) > 0 {
                        let answer = (random.below(answers) + random.below(answers)) / 2;
                        votes.push((Subject { unit: 0, thing }, Some(by.to_owned()), answer as u8));
                    }
                }
            }
            let said = Agreement::of(&votes);
            let of = |thing: u32| votes.iter().filter(move |vote| vote.0.thing == thing).collect::<Vec<_>>();
            let (mut o, mut n) = ([[0.0f64; 5]; 5], [0.0f64; 5]);
            for own in (0..12).map(of).filter(|own| own.len() > 1) {
                for (i, a) in own.iter().enumerate() {
                    n[usize::from(a.2)] += 1.0;
                    for (_, b) in own.iter().enumerate().filter(|(j, _)| *j != i) {
                        o[usize::from(a.2)][usize::from(b.2)] += 1.0 / (own.len() - 1) as f64;
                    }
                }
            }
            let cells = || (0..5).flat_map(|c| (0..5).map(move |k| (c, k, (c as f64 - k as f64).powi(2))));
            let observed: f64 = cells().map(|(c, k, apart)| o[c][k] * apart).sum();
            let expected =
                cells().map(|(c, k, apart)| n[c] * n[k] * apart).sum::<f64>() / (n.iter().sum::<f64>() - 1.0);
            match said.alpha {
                Some(alpha) => assert!((alpha - (1.0 - observed / expected)).abs() < 1e-12),
                None => assert!(n.iter().filter(|count| **count > 0.0).count() < 2),
            }
            for pair in &said.pairs {
                let vote =
                    |by: &str, thing: u32| of(thing).into_iter().find(|v| v.1.as_deref() == Some(by)).map(|v| v.2);
                let mut table = [[0.0f64; 5]; 5];
                for (a, b) in (0..12).filter_map(|t| vote(&pair.a, t).zip(vote(&pair.b, t))) {
                    table[usize::from(a)][usize::from(b)] += 1.0;
                }
                let total: f64 = table.iter().flatten().sum();
                assert_eq!(total as usize, pair.questions);
                let row = |i: usize| table[i].iter().sum::<f64>();
                let column = |j: usize| table.iter().map(|row| row[j]).sum::<f64>();
                let observed: f64 = cells().map(|(c, k, apart)| table[c][k] * apart / total).sum();
                let expected: f64 = cells().map(|(c, k, apart)| row(c) * column(k) * apart / (total * total)).sum();
                match pair.kappa {
                    Some(kappa) => assert!((kappa - (1.0 - observed / expected)).abs() < 1e-9),
                    None => assert!(expected < 1e-12),
                }
                if let (Some(kappa), 2) = (pair.kappa, answers) {
                    let p = (table[0][0] + table[1][1]) / total;
                    let e = (row(0) * column(0) + row(1) * column(1)) / (total * total);
                    assert!((kappa - (p - e) / (1.0 - e)).abs() < 1e-9);
                }
            }
        }
    }
}
