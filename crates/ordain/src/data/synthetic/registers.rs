//! Made-up registers with gaps and slips, as large as wanted: who in one is who in the other?

use super::linkage::likeness;
use crate::data::{Columns, MatchSet, Problem, Records, Truth};
use crate::matrix::{Features, Matrix};
use crate::random::Random;
use std::collections::{BTreeMap, BTreeSet};

/// What made-up registers look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Registers {
    /// Number of records of either register.
    pub records: usize,
    /// About how many records of either register are on a page, where registers are cut into pages; else all of it is one problem.
    pub page: Option<usize>,
    /// Seed.
    pub seed: u64,
}

impl Default for Registers {
    fn default() -> Self {
        Self { records: 5000, page: None, seed: 1 }
    }
}

/// The share of the right records whose person is on the left too.
const MATCHED: f64 = 0.7;
/// The share of fields that are empty.
const EMPTY: f64 = 0.12;
/// The share of fields with a typo, a swap or an abbreviation.
const SLIPS: f64 = 0.15;

const GIVEN: &str = "Jack Olivia William Charlotte Noah Isla Thomas Amelia James Mia Oliver Ava Lucas Grace Henry Chloe \
                     Leo Willow Ethan Harper Joshua Emily Samuel Ella Daniel Sophie Benjamin Lucy Alexander Zoe Max Ruby \
                     Isaac Sarah Liam Hannah Harrison Georgia Cooper Jessica Ryan Alyssa Lachlan Matilda Jacob Lily Oscar \
                     Evie Nicholas Madison Patrick Rebecca Dylan Caitlin Connor Erin Mitchell Kayla Riley Tahlia";
/// Beginnings and endings of surnames; together 1,000.
const SURNAMES: [&str; 2] = [
    "Ash Black Brad Brom Camp Carl Chest Clay Crom Dal Dun East Fair Farn Glen Green Hal Hart Hather Hol Ken King Lang \
     Lin Mar Mel Mor New Nor Oak Pem Rad Ross Shel Stan Stock Thorn Wal West Whit",
    "well ford ton ley by ham worth field man wood son bury stone ridge combe more gate land wick hurst brook den ster \
     dale er",
];
/// Beginnings and endings of suburbs; together 300.
const SUBURBS: [&str; 2] = [
    "Bal Ban Cam Car Dar Don Ed Fitz Gar Haw Ken Lil Mal Mit Nar Pak Rich San Tem War",
    "aroo bank bridge dale den erton field gum hill lan more park port ton vale",
];
/// Beginnings of the names of streets, and what kind they are; together 240.
const STREETS: [&str; 2] = [
    "Acacia Albert Banksia Beach Bridge Castle Cedar Church Coral Derby Ferny Forest George Grange Harbour High Hunter \
     Ivy Jasmine King Lake Maple Mill Murray Oak Orchard Park Pine Queen Railway River Rose Station Sturt Summit Union \
     Victoria Wattle Willow York",
    "Street Road Avenue Place Crescent Court",
];

/// The names of the fields of a record.
pub const FIELDS: [&str; 6] = ["given", "surname", "street", "suburb", "postcode", "birth"];
const GIVEN_AT: usize = 0;
const SURNAME_AT: usize = 1;
const STREET_AT: usize = 2;
const SUBURB_AT: usize = 3;
const POSTCODE_AT: usize = 4;
const BIRTH_AT: usize = 5;

/// What a register says of a person: the fields of [`FIELDS`]; one may be empty.
pub type Record = [Option<String>; 6];

/// A register: records with the ids of their people.
#[derive(Clone, Debug, PartialEq)]
pub struct Register {
    /// The id of each record.
    pub ids: Vec<String>,
    /// The records.
    pub records: Vec<Record>,
    /// The number of the person of each record, the same in both registers.
    pub people: Vec<usize>,
}

/// One of n by the law of Zipf: the k-th with a probability in proportion to 1/k.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(n: usize) -> Self {
        let sums = (1..=n).scan(0.0, |sum, k| {
            *sum += 1.0 / k as f64;
            Some(*sum)
        });
        Self(sums.collect())
    }

    fn draw(&self, random: &mut Random) -> usize {
        let at = random.uniform() * self.0[self.0.len() - 1];
        self.0.partition_point(|&sum| sum <= at).min(self.0.len() - 1)
    }
}

/// All joined beginnings and endings, in an order of their own, so that frequent ones are not all alike.
fn joined([first, second]: [&str; 2], between: &str, random: &mut Random) -> Vec<String> {
    let mut all: Vec<String> = first
        .split_whitespace()
        .flat_map(|a| second.split_whitespace().map(move |b| format!("{a}{between}{b}")))
        .collect();
    random.shuffle(&mut all);
    all
}

/// The words that people are made of.
struct Words {
    given: Vec<&'static str>,
    surnames: Vec<String>,
    streets: Vec<String>,
    suburbs: Vec<String>,
    surname: Zipf,
    suburb: Zipf,
}

impl Words {
    fn new() -> Self {
        let random = &mut Random::new(0); // the same words whatever the seed of the people
        let (surnames, suburbs) = (joined(SURNAMES, "", random), joined(SUBURBS, "", random));
        Self {
            given: GIVEN.split_whitespace().collect(),
            streets: joined(STREETS, " ", random),
            surname: Zipf::new(surnames.len()),
            suburb: Zipf::new(suburbs.len()),
            surnames,
            suburbs,
        }
    }

    fn person(&self, random: &mut Random) -> [String; 6] {
        let suburb = self.suburb.draw(random);
        let street = &self.streets[random.below(self.streets.len())];
        [
            self.given[random.below(self.given.len())].to_owned(),
            self.surnames[self.surname.draw(random)].clone(),
            format!("{} {street}", 1 + random.below(90)),
            self.suburbs[suburb].clone(),
            (2000 + 7 * (suburb / 2)).to_string(), // two suburbs share a postcode
            format!("{}{:02}{:02}", 1930 + random.below(75), 1 + random.below(12), 1 + random.below(28)),
        ]
    }
}

/// How a register writes a person: some fields are empty, and some have a slip.
///
/// A clerk who has read the birth date right has found the person by it, and takes less care of the surname; one who
/// has not has found the person by the surname. So a slip in the surname says less where birth dates agree.
fn written(person: &[String; 6], random: &mut Random) -> Record {
    let mut faults = [0.0; 6].map(|_: f64| random.uniform());
    // a uniform number says which fields are empty, which have a slip, and which are as they should be
    if faults[SURNAME_AT] >= EMPTY {
        let slipped = (EMPTY..EMPTY + SLIPS).contains(&faults[BIRTH_AT]);
        let share = if slipped { 0.0 } else { SLIPS / (1.0 - SLIPS) };
        let slip = random.uniform() * (1.0 - EMPTY) < share;
        faults[SURNAME_AT] = if slip { EMPTY } else { 1.0 };
    }
    let mut record = [const { None }; 6];
    for (field, fault) in faults.into_iter().enumerate() {
        let word = person[field].clone();
        record[field] = match fault {
            fault if fault < EMPTY => None,
            fault if fault < EMPTY + SLIPS => Some(slip(&word, field, random)),
            _ => Some(word),
        };
    }
    record
}

/// A word with a typo, two neighbours swapped, or abbreviated; numbers are not abbreviated.
fn slip(word: &str, field: usize, random: &mut Random) -> String {
    let digits = field == POSTCODE_AT || field == BIRTH_AT;
    let mut letters: Vec<u8> = word.bytes().collect(); // all words are ASCII
    match random.below(if digits { 2 } else { 3 }) {
        0 => {
            let from = if digits { b'0' } else { b'a' };
            let fresh = from + random.below(if digits { 10 } else { 26 }) as u8;
            let at = random.below(letters.len());
            match random.below(3) {
                0 if !digits => drop(letters.remove(at)),
                1 if !digits => letters.insert(at, fresh),
                _ => letters[at] = fresh,
            }
        }
        1 if field == BIRTH_AT && random.below(2) == 0 => (0..2).for_each(|k| letters.swap(4 + k, 6 + k)), // day and month
        1 => {
            let at = random.below(letters.len() - 1);
            letters.swap(at, at + 1);
        }
        _ => match field {
            GIVEN_AT => letters.truncate(1),
            STREET_AT => {
                let end = letters.iter().rposition(|&c| c == b' ').map_or(letters.len(), |at| at + 3);
                letters.truncate(end);
            }
            _ => letters.truncate(4),
        },
    }
    String::from_utf8_lossy(&letters).into_owned()
}

/// The likeness of two words by Jaro: letters that both have no further apart than half of the longer, and their order.
///
/// ```text
/// (m/|a| + m/|b| + (m − t)/m) / 3,   m letters in common, of which 2t stand in another order
/// ```
fn jaro(a: &str, b: &str) -> f32 {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let reach = (a.len().max(b.len()) / 2).saturating_sub(1);
    let (mut first, mut taken) = (vec![], vec![false; b.len()]);
    for (i, &letter) in a.iter().enumerate() {
        let near = i.saturating_sub(reach)..(i + reach + 1).min(b.len());
        if let Some(j) = near.into_iter().find(|&j| !taken[j] && b[j] == letter) {
            taken[j] = true;
            first.push(letter);
        }
    }
    let second = (0..b.len()).filter(|&j| taken[j]).map(|j| b[j]);
    let moved = first.iter().zip(second).filter(|(a, b)| **a != *b).count() as f64 / 2.0;
    let m = first.len() as f64;
    match first.is_empty() {
        true => 0.0,
        false => ((m / a.len() as f64 + m / b.len() as f64 + (m - moved) / m) / 3.0) as f32,
    }
}

/// How two records compare: of every field whether it is equal, of words the likeness by Jaro and by Levenshtein, of numbers by
/// Levenshtein; NaN where either is empty.
fn compared(a: &Record, b: &Record, out: &mut Vec<f32>) {
    for (field, pair) in a.iter().zip(b).enumerate() {
        let of = |by: &dyn Fn(&str, &str) -> f32| match pair {
            (Some(a), Some(b)) => by(a, b),
            _ => f32::NAN,
        };
        out.push(of(&|a, b| f32::from(u8::from(a == b))));
        if field < POSTCODE_AT {
            out.push(of(&jaro));
        }
        out.push(of(&likeness));
    }
}

/// By what records become candidates: each of these that two records share, where nothing of it is empty.
fn keys(record: &Record) -> impl Iterator<Item = String> + '_ {
    let initial = |field: usize| record[field].as_ref().and_then(|word| word.get(..1));
    let join = |rule: usize, field: usize, more: Option<&str>| {
        Some(format!("{rule} {} {}", record[field].as_ref()?, more?)) // nothing where either is empty
    };
    [
        join(1, SURNAME_AT, initial(GIVEN_AT)),
        join(2, POSTCODE_AT, initial(GIVEN_AT)),
        join(3, BIRTH_AT, Some("")),
        join(4, STREET_AT, Some("")),
        join(5, SUBURB_AT, initial(SURNAME_AT)),
    ]
    .into_iter()
    .flatten()
}

impl Registers {
    /// The two tables.
    ///
    /// Surnames and suburbs follow the law of Zipf; of the right records 30 % have no partner, and so have as many of the left.
    /// On either side 12 % of the fields are empty and 15 % have a typo, a swap or an abbreviation.
    ///
    /// ```
    /// let [left, right] = ordain::data::synthetic::Registers { records: 100, ..Default::default() }.tables();
    /// assert_eq!((left.records.len(), right.records.len()), (100, 100));
    /// assert_eq!(left.people.iter().filter(|person| right.people.contains(person)).count(), 70);
    /// ```
    pub fn tables(&self) -> [Register; 2] {
        self.draw().0
    }

    /// The two tables as records, to be linked.
    pub fn records(&self) -> [Records; 2] {
        self.tables().map(|Register { ids, records, .. }| {
            let field = |f: usize| records.iter().map(|own| own[f].as_deref().map(Into::into)).collect();
            let values = (0..FIELDS.len()).map(field).collect();
            Records { ids, fields: FIELDS.map(str::to_owned).to_vec(), values }
        })
    }

    /// The ids of the records of the same person, left and right, in the order of the left table.
    ///
    /// ```
    /// let registers = ordain::data::synthetic::Registers { records: 100, ..Default::default() };
    /// assert_eq!(registers.matches().len(), 70);
    /// ```
    pub fn matches(&self) -> Vec<(String, String)> {
        let [left, right] = self.tables();
        let of: BTreeMap<usize, &String> = right.people.iter().copied().zip(&right.ids).collect();
        let pair = |(person, id): (&usize, &String)| Some((id.clone(), (*of.get(person)?).clone()));
        left.people.iter().zip(&left.ids).filter_map(pair).collect()
    }

    /// The two tables, and the people as they are.
    fn draw(&self) -> ([Register; 2], Vec<[String; 6]>) {
        let (random, words) = (&mut Random::new(self.seed), Words::new());
        let both = (MATCHED * self.records as f64).round() as usize;
        let (mut sides, mut people) = ([vec![], vec![]], vec![]);
        for number in 0..2 * self.records - both {
            let person = words.person(random);
            for (side, records) in sides.iter_mut().enumerate() {
                // people of both registers come first, then those of the left alone
                if number < both || (number < self.records) == (side == 0) {
                    records.push((written(&person, random), number));
                }
            }
            people.push(person);
        }
        let mut letters = ["a", "b"].into_iter();
        let registers = sides.map(|mut side| {
            random.shuffle(&mut side);
            let letter = letters.next().unwrap_or_default();
            let (records, people): (Vec<Record>, Vec<usize>) = side.into_iter().unzip();
            Register { ids: (1..=people.len()).map(|k| format!("{letter}{k}")).collect(), records, people }
        });
        (registers, people)
    }

    /// The candidate edges with their comparisons.
    ///
    /// As one problem: pairs that share the surname or the postcode and the initial of the given name, the suburb and the
    /// initial of the surname, the birth date, or the street. In pages: both registers sorted by suburb and surname of their people, and cut so that about
    /// `page` people are on either side; all pairs of a page are edges. Columns say how alike the fields are (`exact`,
    /// `jaro`, `levenshtein`); where either is empty, the value is missing (NaN).
    ///
    /// ```
    /// let set = ordain::data::synthetic::Registers { records: 400, page: Some(8), seed: 1 }.make();
    /// assert_eq!((set.len(), set.columns.names.len()), (50, 16));
    /// assert_eq!(set.columns.names[..3].join(" "), "given_exact given_jaro given_levenshtein");
    /// ```
    pub fn make(&self) -> MatchSet {
        let ([left, right], people) = self.draw();
        let all = |register: &Register| -> Vec<usize> { (0..register.people.len()).collect() };
        let (mut problems, mut values) = (vec![], vec![]);
        let mut add = |lefts: &[usize], rights: &[usize], pairs: &mut dyn Iterator<Item = (u32, u32)>| {
            let mut problem = Problem {
                name: (problems.len() + 1).to_string(),
                left: lefts.iter().map(|&i| left.ids[i].clone()).collect(),
                right: rights.iter().map(|&j| right.ids[j].clone()).collect(),
                ..Problem::default()
            };
            for (i, j) in pairs {
                let (a, b) = (lefts[i as usize], rights[j as usize]);
                problem.edges.push((i, j));
                problem.truth.push(if left.people[a] == right.people[b] { Truth::Yes } else { Truth::No });
                compared(&left.records[a], &right.records[b], &mut values);
            }
            problems.push(problem);
        };
        if let Some(page) = self.page {
            for (lefts, rights) in pages(self.records.div_ceil(page.max(1)), &people, [&left, &right]) {
                let (n, m) = (lefts.len() as u32, rights.len() as u32);
                add(&lefts, &rights, &mut (0..n).flat_map(|i| (0..m).map(move |j| (i, j))));
            }
        } else {
            let mut blocks: BTreeMap<String, Vec<u32>> = BTreeMap::new();
            for (j, record) in (0u32..).zip(&right.records) {
                keys(record).for_each(|key| blocks.entry(key).or_default().push(j));
            }
            let mut pairs: BTreeSet<(u32, u32)> = BTreeSet::new();
            for (i, record) in (0u32..).zip(&left.records) {
                pairs.extend(keys(record).filter_map(|key| blocks.get(&key)).flatten().map(|&j| (i, j)));
            }
            add(&all(&left), &all(&right), &mut pairs.into_iter());
        }
        let mut names = vec![];
        for (field, name) in FIELDS.iter().enumerate() {
            let how =
                if field < POSTCODE_AT { &["exact", "jaro", "levenshtein"][..] } else { &["exact", "levenshtein"] };
            names.extend(how.iter().map(|how| format!("{name}_{how}")));
        }
        MatchSet::new(Features::Dense(Matrix::new(values, names.len())), Columns::named(names), problems)
            .expect("the parts are made to fit together")
    }
}

/// That many pages of both registers: people by suburb and surname, as they are and not as they were written, in runs.
fn pages(count: usize, people: &[[String; 6]], registers: [&Register; 2]) -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut order: Vec<usize> = (0..people.len()).collect();
    order.sort_by_key(|&number| (&people[number][SUBURB_AT], &people[number][SURNAME_AT], number));
    let mut page_of = vec![0; people.len()];
    order.iter().enumerate().for_each(|(at, &number)| page_of[number] = at * count / people.len());
    let mut pages = vec![(vec![], vec![]); count];
    registers[0].people.iter().enumerate().for_each(|(i, &person)| pages[page_of[person]].0.push(i));
    registers[1].people.iter().enumerate().for_each(|(j, &person)| pages[page_of[person]].1.push(j));
    pages
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn jaro_of_known_words() {
        // the examples of Winkler 1990
        for (a, b, wanted) in
            [("MARTHA", "MARHTA", 0.9444), ("DIXON", "DICKSONX", 0.7667), ("JELLYFISH", "SMELLYFISH", 0.8963)]
        {
            assert!((jaro(a, b) - wanted).abs() < 1e-4, "{a} {b}: {}", jaro(a, b));
        }
        assert!(jaro("abc", "xyz").abs() < 1e-9 && jaro("", "").abs() < 1e-9 && (jaro("a", "a") - 1.0).abs() < 1e-9);
    }

    #[test]
    fn gaps_and_slips_are_as_frequent_as_said() {
        let words = Words::new();
        let random = &mut Random::new(3);
        let (mut empty, mut slips, mut together) = ([0.0; 6], [0.0; 6], [0.0; 2]);
        let n = 20_000;
        for _ in 0..n {
            let person = words.person(random);
            let record = written(&person, random);
            let wrong = |field: usize| record[field].as_ref().is_some_and(|word| *word != person[field]);
            (0..6).filter(|&f| record[f].is_none()).for_each(|f| empty[f] += 1.0 / f64::from(n));
            (0..6).filter(|&f| wrong(f)).for_each(|f| slips[f] += 1.0 / f64::from(n));
            together[usize::from(wrong(BIRTH_AT))] += f64::from(u8::from(wrong(SURNAME_AT)));
        }
        assert!(empty.iter().all(|share| (share - EMPTY).abs() < 0.01), "{empty:?}");
        // some slips leave a word as it was
        assert!(slips.iter().all(|share| (0.11..=0.16).contains(share)), "{slips:?}");
        assert!(together[1].abs() < 1e-9 && together[0] > 0.0, "{together:?}");
    }

    #[test]
    fn one_problem_or_pages_of_the_same_records() {
        let one = Registers { records: 600, ..Registers::default() };
        let (whole, pages) = (one.make(), Registers { page: Some(8), ..one.clone() }.make());
        assert_eq!((whole.len(), pages.len()), (1, 75));
        assert_eq!(whole.digest(), one.make().digest());
        let matched = |set: &MatchSet| set.problems().iter().map(|problem| problem.matched().count()).sum::<usize>();
        assert_eq!(matched(&pages), 420);
        assert!((380..420).contains(&matched(&whole)), "{}", matched(&whole)); // few are no candidates
        let ids = |set: &MatchSet, side: fn(&Problem) -> &Vec<String>| -> BTreeSet<String> {
            set.problems().iter().flat_map(side).cloned().collect()
        };
        assert_eq!(ids(&whole, |p| &p.left), ids(&pages, |p| &p.left));
        assert_eq!(ids(&whole, |p| &p.right), ids(&pages, |p| &p.right));
    }
}
