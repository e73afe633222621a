//! Made-up record linkage: two registers of people, and who in one is who in the other.

use crate::data::{Columns, MatchSet, Problem, Truth};
use crate::matrix::{Features, Matrix};
use crate::random::Random;

/// What made-up registers look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Linkage {
    /// Number of problems: one is a page of each register.
    pub problems: usize,
    /// About how many people are on a page.
    pub records: usize,
    /// The share of people of a page who are on the other one too.
    pub matched: f64,
    /// The share of the others who are brothers and sisters of somebody on the other page.
    pub look_alikes: f64,
    /// Seed.
    pub seed: u64,
}

impl Default for Linkage {
    fn default() -> Self {
        Self { problems: 200, records: 8, matched: 0.7, look_alikes: 0.6, seed: 1 }
    }
}

const GIVEN: &str = "Anna Maria Johanna Elisabeth Karl Johan Peter Erik Margareta Kristina Gustav Sofia Anders Nils \
                     Katarina Lars Helena Olof Matilda August Brita Hilda Jakob Emma";
const SURNAMES: &str = "Lindberg Lindgren Berg Bergman Nystrom Nyberg Holm Holmberg Sandberg Sandstrom Dahl Dahlberg \
                        Ekman Eklund Wallin Wallgren Forsberg Forsman Hedlund Hedman";
const PLACES: &str = "Uppsala Lund Visby Kalmar Falun Umea Gavle Skara Lulea Karlstad";
const TRADES: &str = "farmer smith tailor maid sailor miller carpenter clerk weaver baker";

/// What a register says of a person.
#[derive(Clone, Debug)]
struct Person {
    given: String,
    surname: String,
    born: [usize; 3],
    place: &'static str,
    trade: &'static str,
}

fn pick(random: &mut Random, words: &'static str) -> &'static str {
    let words: Vec<&str> = words.split_whitespace().collect();
    words[random.below(words.len())]
}

impl Person {
    fn new(random: &mut Random) -> Self {
        Self {
            given: pick(random, GIVEN).into(),
            surname: pick(random, SURNAMES).into(),
            born: [1840 + random.below(50), 1 + random.below(12), 1 + random.below(28)],
            place: pick(random, PLACES),
            trade: pick(random, TRADES),
        }
    }

    /// Somebody with the same surname and place, a few years apart.
    fn relative(&self, random: &mut Random) -> Self {
        let year = self.born[0] + 1 + random.below(4) - [0, 5][random.below(2)];
        Self {
            surname: self.surname.clone(),
            place: self.place,
            born: [year, 1 + random.below(12), 1 + random.below(28)],
            ..Self::new(random)
        }
    }

    /// The same person in the other register, years later and by another hand.
    fn again(&self, random: &mut Random) -> Self {
        let mut other = self.clone();
        match random.below(10) {
            0 | 1 => other.given.truncate(1 + random.below(3)), // an initial, or a short form
            2 | 3 => slip(&mut other.given, random),
            4 => other.given = pick(random, GIVEN).into(), // the second given name
            _ => {}
        }
        match random.below(10) {
            0 => other.surname = pick(random, SURNAMES).into(), // married
            1 | 2 => slip(&mut other.surname, random),
            _ => {}
        }
        match random.below(10) {
            0 => other.born.swap(1, 2),
            1 | 2 => other.born[0] += 1 + random.below(2), // reckoned from the age
            3 => other.born[2] = 1 + random.below(28),
            _ => {}
        }
        if random.below(10) < 4 {
            other.place = pick(random, PLACES);
        }
        if random.below(10) < 6 {
            other.trade = pick(random, TRADES);
        }
        other
    }

    fn date(&self) -> String {
        format!("{}-{:02}-{:02}", self.born[0], self.born[1], self.born[2])
    }

    /// How alike two records are, column by column, each from 0 to 1.
    fn alike(&self, other: &Self) -> [f32; 5] {
        let same = |a: &str, b: &str| f32::from(u8::from(a == b));
        [
            likeness(&self.given, &other.given),
            likeness(&self.surname, &other.surname),
            likeness(&self.date(), &other.date()),
            same(self.place, other.place),
            same(self.trade, other.trade),
        ]
    }
}

/// A letter changed, left out or doubled.
fn slip(word: &mut String, random: &mut Random) {
    let at = random.below(word.len().max(1)); // all words are ASCII
    match random.below(3) {
        0 if word.len() > 2 => drop(word.remove(at)),
        1 => word.insert(at, char::from(b'a' + random.below(26) as u8)),
        _ => word.replace_range(at..at + 1, &char::from(b'a' + random.below(26) as u8).to_string()),
    }
}

/// One minus the edits between two words over the length of the longer.
pub(super) fn likeness(a: &str, b: &str) -> f32 {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let best = (corner + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            corner = std::mem::replace(&mut row[j + 1], best);
        }
    }
    1.0 - row[b.len()] as f32 / a.len().max(b.len()).max(1) as f32
}

impl Linkage {
    /// Makes the data: people as two registers have them, with slips of the pen, moves and marriages.
    ///
    /// The features of a pair say how alike given name, surname, birth date, place and trade are. All pairs of a page
    /// are edges. Some people are in one register only, and many of them are brothers or sisters of somebody who is
    /// in the other: alike in surname, place and year, yet no match.
    ///
    /// ```
    /// let set = ordain::data::synthetic::Linkage::default().make();
    /// assert_eq!((set.len(), set.columns.names.join(" ")), (200, "given surname birth place trade".into()));
    /// ```
    pub fn make(&self) -> MatchSet {
        let mut random = Random::new(self.seed);
        let (mut problems, mut values) = (vec![], vec![]);
        for number in 1..=self.problems {
            let (mut left, mut right) = (vec![], vec![]);
            // person k of the left is person k of the right as far as both are there
            let size = |random: &mut Random| (self.records + random.below(5)).saturating_sub(2).max(1);
            let (n, m) = (size(&mut random), size(&mut random));
            let both =
                (0..n.min(m)).filter(|_| random.uniform() < self.matched * (n + m) as f64 / (2 * n.min(m)) as f64);
            let both = both.count();
            for _ in 0..both {
                let person = Person::new(&mut random);
                right.push((person.again(&mut random), left.len()));
                left.push(person);
            }
            while left.len() < n {
                let other = random.below(right.len().max(1));
                let alike = random.uniform() < self.look_alikes && !right.is_empty();
                left.push(if alike { right[other].0.relative(&mut random) } else { Person::new(&mut random) });
            }
            while right.len() < m {
                let alike = random.uniform() < self.look_alikes;
                let other = random.below(left.len());
                let person = if alike { left[other].relative(&mut random) } else { Person::new(&mut random) };
                right.push((person, usize::MAX));
            }
            let mut order: Vec<usize> = (0..n).collect();
            random.shuffle(&mut order);
            random.shuffle(&mut right);
            let (mut edges, mut truth) = (vec![], vec![]);
            for (i, &person) in order.iter().enumerate() {
                for (j, (other, same)) in right.iter().enumerate() {
                    edges.push((i as u32, j as u32));
                    truth.push(if *same == person { Truth::Yes } else { Truth::No });
                    values.extend(left[person].alike(other));
                }
            }
            problems.push(Problem {
                name: number.to_string(),
                left: (1..=n).map(|k| format!("a{k}")).collect(),
                right: (1..=m).map(|k| format!("b{k}")).collect(),
                edges,
                truth,
                places: None,
            });
        }
        let names = ["given", "surname", "birth", "place", "trade"].map(String::from).to_vec();
        MatchSet::new(Features::Dense(Matrix::new(values, names.len())), Columns::named(names), problems)
            .expect("the parts are made to fit together")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_of_known_words() {
        assert!((likeness("kitten", "sitting") - 4.0 / 7.0).abs() < 1e-6); // three edits
        assert!((likeness("Anna", "A") - 0.25).abs() < 1e-6 && likeness("", "").to_bits() == 1f32.to_bits());
    }

    #[test]
    fn about_seven_of_ten_are_matched() {
        let set = Linkage::default().make();
        let (mut items, mut matched) = (0, 0);
        for problem in set.problems() {
            items += problem.left.len() + problem.right.len();
            matched += 2 * problem.matched().count();
        }
        let share = f64::from(matched as u32) / f64::from(items as u32);
        assert!((0.65..0.75).contains(&share), "{share}");
        assert_eq!(set, Linkage::default().make());
        assert_ne!(set.digest(), Linkage { seed: 2, ..Linkage::default() }.make().digest());
    }
}
