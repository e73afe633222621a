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
    /// Krippendorff's alpha for names, of all answers to shared questions; nothing where no answer differs from any other.
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
    /// With `p` the share of questions that two people answered alike, and `e` the share that they would answer alike if each drew at
    /// random as often yes as they said it (J. Cohen 1960), and with `o(c, k)` how often answers c and k stand beside each other on a
    /// question with m answers, each pair counted 1/(m − 1) times, `n(c)` how often c is said and `n` the number of answers
    /// (K. Krippendorff 2004, chapter 11):
    ///
    /// ```text
    /// kappa = (p − e) / (1 − e)
    /// alpha = 1 − (n − 1) Σ_{c ≠ k} o(c, k) / Σ_{c ≠ k} n(c) n(k)
    /// ```
    ///
    /// ```
    /// use ordain::labelling::{Agreement, Subject};
    /// let of = |thing: u32, by: &str, yes: bool| (Subject { unit: 0, thing }, Some(by.to_owned()), yes);
    /// let votes = [of(0, "ann", true), of(0, "bob", true), of(1, "ann", false), of(1, "bob", true), of(2, "ann", false), of(2, "bob", false)];
    /// let said = Agreement::of(&votes);
    /// assert_eq!((said.shared, said.pairs[0].same), (3, 2));
    /// // p = 2/3, e = 1/3 · 2/3 + 2/3 · 1/3 = 4/9; o = 1 + 1, n(yes) = n(no) = 3: alpha = 1 − 5 · 2 / 18
    /// assert!((said.pairs[0].kappa.unwrap() - 0.4).abs() < 1e-12 && (said.alpha.unwrap() - 4.0 / 9.0).abs() < 1e-12);
    /// ```
    ///
    /// O(answers · people).
    pub fn of(votes: &[(Subject, Option<String>, bool)]) -> Self {
        let mut by_question: BTreeMap<Subject, BTreeMap<&str, bool>> = BTreeMap::new();
        let mut people: BTreeSet<&str> = BTreeSet::new();
        for (subject, by, yes) in votes {
            let by = by.as_deref().unwrap_or_default();
            people.insert(by);
            by_question.entry(*subject).or_default().insert(by, *yes);
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
        let (mut differ, mut said) = (0.0, [0.0f64; 2]);
        for own in shared.clone() {
            let yes = own.values().filter(|yes| **yes).count() as f64;
            let no = own.len() as f64 - yes;
            differ += 2.0 * yes * no / (own.len() as f64 - 1.0);
            said = [said[0] + no, said[1] + yes];
        }
        let (all, chance) = (said[0] + said[1], 2.0 * said[0] * said[1]);
        Self {
            people: people.iter().map(|&name| name.to_owned()).collect(),
            questions: by_question.len(),
            shared: shared.count(),
            alpha: (chance > 0.0).then(|| 1.0 - (all - 1.0) * differ / chance),
            pairs,
        }
    }
}

impl Pair {
    fn of(a: &str, b: &str, both: impl Iterator<Item = (bool, bool)>) -> Option<Self> {
        let (mut n, mut same, mut yes) = (0usize, 0usize, [0usize; 2]);
        for (one, other) in both {
            n += 1;
            same += usize::from(one == other);
            yes = [yes[0] + usize::from(one), yes[1] + usize::from(other)];
        }
        let share = |count: usize| count as f64 / n as f64;
        let [p, q] = yes.map(share);
        let chance = p * q + (1.0 - p) * (1.0 - q);
        (n > 0).then(|| Self {
            a: a.into(),
            b: b.into(),
            questions: n,
            same,
            kappa: (chance < 1.0).then(|| (share(same) - chance) / (1.0 - chance)),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test may panic
    use super::*;
    use crate::random::Random;

    /// By all pairs of answers to a question, and by a table of two rows.
    #[test]
    fn agreement_is_that_of_all_pairs_of_answers() {
        let mut random = Random::new(4);
        for _ in 0..crate::cases::cases(50) {
            let mut votes = vec![];
            for thing in 0..1 + random.below(12) as u32 {
                for by in ["ann", "bob", "cem"] {
                    if random.below(4) > 0 {
                        votes.push((Subject { unit: 0, thing }, Some(by.to_owned()), random.below(3) > 0));
                    }
                }
            }
            let said = Agreement::of(&votes);
            let of = |thing: u32| votes.iter().filter(move |vote| vote.0.thing == thing).collect::<Vec<_>>();
            let (mut o, mut n) = ([[0.0f64; 2]; 2], [0.0f64; 2]);
            for own in (0..12).map(of).filter(|own| own.len() > 1) {
                for (i, a) in own.iter().enumerate() {
                    n[usize::from(a.2)] += 1.0;
                    for (_, b) in own.iter().enumerate().filter(|(j, _)| *j != i) {
                        o[usize::from(a.2)][usize::from(b.2)] += 1.0 / (own.len() - 1) as f64;
                    }
                }
            }
            let expected = 2.0 * n[0] * n[1] / (n[0] + n[1] - 1.0);
            match said.alpha {
                Some(alpha) => assert!((alpha - (1.0 - (o[0][1] + o[1][0]) / expected)).abs() < 1e-12),
                None => assert!(n[0] == 0.0 || n[1] == 0.0),
            }
            for pair in &said.pairs {
                let vote =
                    |by: &str, thing: u32| of(thing).into_iter().find(|v| v.1.as_deref() == Some(by)).map(|v| v.2);
                let mut table = [[0.0f64; 2]; 2];
                for (a, b) in (0..12).filter_map(|t| vote(&pair.a, t).zip(vote(&pair.b, t))) {
                    table[usize::from(a)][usize::from(b)] += 1.0;
                }
                let total: f64 = table.iter().flatten().sum();
                assert_eq!(total as usize, pair.questions);
                let row = |i: usize| table[i][0] + table[i][1];
                let column = |j: usize| table[0][j] + table[1][j];
                let (p, e) =
                    ((table[0][0] + table[1][1]) / total, (row(0) * column(0) + row(1) * column(1)) / (total * total));
                match pair.kappa {
                    Some(kappa) => assert!((kappa - (p - e) / (1.0 - e)).abs() < 1e-9),
                    None => assert!((e - 1.0).abs() < 1e-12),
                }
            }
        }
    }
}
