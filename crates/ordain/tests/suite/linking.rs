//! Linking of two tables: rules, comparisons, what is learned and what is said.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and gates print what they measured

use crate::cases::cases;
use ordain::data::Records;
use ordain::data::synthetic::Registers;
use ordain::link::{Comparison, Link, Linking, jaro, levenshtein, ngrams, tokens};
use ordain::random::Random;
use ordain::solver::run::Watch;
use std::collections::HashSet;

fn records(ids: &[&str], fields: &[(&str, &[&str])]) -> Records {
    let cell = |text: &&str| (!text.is_empty()).then(|| (*text).into());
    let fields = fields.iter().map(|(name, all)| ((*name).to_owned(), all.iter().map(cell).collect())).collect();
    Records::new(ids.iter().map(|id| (*id).to_owned()).collect(), fields).unwrap()
}

fn f1(links: &[Link], truth: &HashSet<(String, String)>, known: usize) -> f64 {
    let open = links.iter().filter(|link| !link.known);
    let found: Vec<_> = open.filter_map(|link| Some((link.left.clone()?, link.right.clone()?))).collect();
    let hits = found.iter().filter(|pair| truth.contains(pair)).count();
    2.0 * hits as f64 / (found.len() + truth.len() - known) as f64
}

/// What linking reaches with so many matches known, everything else by default: F1 of what is not known, and the share of matches that are candidates.
fn reached(registers: &Registers, known: usize) -> (f64, f64) {
    let [left, right] = registers.records();
    let candidates = Linking::default().candidates(&left, &right).unwrap();
    let all = registers.matches();
    let every = candidates.find(all.iter().map(|(a, b)| (a.as_str(), b.as_str(), true))).unwrap();
    let (hits, of) = candidates.reached(&every);
    let mut some = all.clone();
    Random::new(registers.seed).shuffle(&mut some);
    let some = candidates.find(some[..known].iter().map(|(a, b)| (a.as_str(), b.as_str(), true))).unwrap();
    let fitted = candidates.learn(&some, &Watch::NOBODY).unwrap();
    let links = candidates.links(&fitted, &some).unwrap();
    (f1(&links, &all.into_iter().collect(), known), hits as f64 / of as f64)
}

#[test]
fn registers_are_linked() {
    let (f1, share) = reached(&Registers { records: 1000, page: None, seed: 1 }, 100);
    assert!(f1 >= 0.97 && share >= 0.98, "F1 {f1:.4}, candidates {share:.4}");
}

/// Words of a generator that `scripts/similarity_oracle.py` has too.
fn word(state: &mut u64) -> String {
    let mut next = |n: u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % n
    };
    let letters = ["a", "b", "c", "d", "e", " ", "é", "ß", "1", "漢"];
    let count = next(25);
    (0..count).map(|_| letters[next(10) as usize]).collect()
}

/// The values are those of Python's rapidfuzz 3, on 10,000 pairs of words.
#[test]
fn similarities_are_those_of_rapidfuzz() {
    let text = include_str!("../data/rapidfuzz.txt");
    let (mut state, mut pairs) = (1u64, 0);
    for line in text.lines() {
        let expected: Vec<f64> = line.split(' ').map(|cell| cell.parse().unwrap()).collect();
        let mut sums = [0.0; 3];
        for n in 0..10 {
            let (a, b) = (word(&mut state), word(&mut state));
            let own = [jaro(&a, &b), levenshtein(&a, &b), tokens(&a, &b)];
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += (f64::from(n) + 1.0) * own);
            pairs += 1;
        }
        for (own, expected) in sums.iter().zip(expected) {
            assert!((own - expected).abs() < 1e-6, "{sums:?}, {line}");
        }
    }
    assert_eq!(pairs, 10_000);
}

/// Edits counted cell by cell.
#[test]
fn levenshtein_and_ngrams_are_what_they_say() {
    let mut state = 7;
    for _ in 0..cases(300) {
        let (a, b) = (word(&mut state), word(&mut state));
        let (x, y): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let mut row: Vec<usize> = (0..=y.len()).collect();
        for (i, c) in x.iter().enumerate() {
            let mut last = std::mem::replace(&mut row[0], i + 1);
            for (j, d) in y.iter().enumerate() {
                let least = (last + usize::from(c != d)).min(row[j] + 1).min(row[j + 1] + 1);
                last = std::mem::replace(&mut row[j + 1], least);
            }
        }
        let longest = x.len().max(y.len());
        let slow = if longest == 0 { 1.0 } else { 1.0 - row[y.len()] as f64 / longest as f64 };
        assert!((levenshtein(&a, &b) - slow).abs() < 1e-12, "{a:?} {b:?}");
        let grams = |text: &str| -> HashSet<Vec<char>> {
            let padded: Vec<char> = format!(" {text} ").chars().collect();
            padded.windows(3).map(<[char]>::to_vec).collect()
        };
        let (p, q) = (grams(&a), grams(&b));
        let slow = match p.len() + q.len() {
            0 => 1.0,
            all => 2.0 * p.intersection(&q).count() as f64 / all as f64,
        };
        assert!((ngrams(&a, &b) - slow).abs() < 1e-12, "{a:?} {b:?}");
    }
}

/// Candidates of rules against a look at all pairs.
#[test]
fn rules_find_all_pairs_that_share_what_they_say() {
    let [left, right] = Registers { records: 60, page: None, seed: 3 }.records();
    let small = |records: &Records, field: &str, n: usize| -> Option<String> {
        records.field(field).unwrap()[n].as_deref().map(str::to_lowercase)
    };
    let first = |text: Option<String>, n: usize| text.map(|text| text.chars().take(n).collect::<String>());
    type Shares<'a> = &'a dyn Fn(&Records, usize) -> Option<String>;
    let rules: [(&str, Shares); 3] = [
        ("surname", &|records, n| small(records, "surname", n)),
        ("suburb:2", &|records, n| first(small(records, "suburb", n), 2)),
        ("postcode+given:1", &|records, n| {
            Some(small(records, "postcode", n)? + "/" + &first(small(records, "given", n), 1)?)
        }),
    ];
    let mut union = HashSet::new();
    let block: Vec<String> = rules.iter().map(|(rule, _)| (*rule).to_owned()).collect();
    let candidates = Linking { block, ..Linking::default() }.candidates(&left, &right).unwrap();
    for ((_, shares), found) in rules.iter().zip(&candidates.found) {
        let (mut pairs, before) = (0, union.len());
        for i in 0..60 {
            for j in 0..60 {
                let (a, b) = (shares(&left, i), shares(&right, j));
                if a.is_some() && a == b {
                    pairs += 1;
                    union.insert((i, j));
                }
            }
        }
        assert_eq!((found.pairs, found.fresh), (pairs, union.len() - before), "{}", found.rule);
    }
    assert_eq!(candidates.len(), union.len());
    // neighbours: the sorted values of both tables in one list
    let candidates =
        Linking { block: vec!["sort:surname:4".into()], ..Linking::default() }.candidates(&left, &right).unwrap();
    let mut all: Vec<(String, usize, usize)> = vec![];
    for (side, records) in [&left, &right].into_iter().enumerate() {
        all.extend((0..60).filter_map(|n| Some((small(records, "surname", n)?, side, n))));
    }
    all.sort();
    let mut near = HashSet::new();
    for (a, x) in all.iter().enumerate() {
        for y in all[a + 1..].iter().take(3).filter(|y| y.1 != x.1) {
            near.insert(if x.1 == 0 { (x.2, y.2) } else { (y.2, x.2) });
        }
    }
    assert_eq!(candidates.len(), near.len());
}

#[test]
fn an_empty_side_is_a_column_of_its_own_and_rare_values_count_for_more() {
    let left = records(&["a1", "a2", "a3"], &[("town", &["Rome", "", "Paris"]), ("age", &["10.5", "20.5", "30.5"])]);
    let right = records(&["b1", "b2"], &[("town", &["rome", "Paris "]), ("age", &["11.5", ""])]);
    let linking = Linking {
        block: vec!["sort:age:9".into(), "town".into()],
        compare: Comparison::list("town:exact,frequency,age:number").unwrap(),
        right_many: false,
    };
    let candidates = linking.candidates(&left, &right).unwrap();
    let set = candidates.set();
    assert_eq!(set.columns.names.join(" "), "town_exact town_frequency age_number town_missing age_missing");
    let row = |left: &str, right: &str| {
        let p = set.find_problem(left).unwrap();
        let (own, span) = (set.problem(p), set.span(p));
        let e = own.find_edge(0, own.find_right(right).unwrap()).unwrap();
        let mut out = vec![0.0; 5];
        set.features.each(span.start + e, |j, x| out[j] = x);
        out
    };
    assert_eq!(row("a2", "b1")[..2], [0.0, 0.0]);
    assert_eq!(row("a2", "b1")[3..], [1.0, 0.0]);
    assert_eq!((row("a1", "b1")[0], row("a1", "b1")[3]), (1.0, 0.0), "small letters and blanks do not count");
    assert_eq!((row("a3", "b2")[2], row("a3", "b2")[4]), (0.0, 1.0));
}

#[test]
fn known_pairs_are_kept_and_what_is_known_wrong_is_never_said() {
    let registers = Registers { records: 200, page: None, seed: 2 };
    let [left, right] = registers.records();
    let all = registers.matches();
    for right_many in [false, true] {
        let candidates = Linking { right_many, ..Linking::default() }.candidates(&left, &right).unwrap();
        let yes = all[..40].iter().map(|(a, b)| (a.as_str(), b.as_str(), true));
        let no = all[40..43].iter().map(|(a, b)| (a.as_str(), b.as_str(), false));
        let known = candidates.find(yes.chain(no)).unwrap();
        assert_eq!(known.counts(), (40, 3));
        let fitted = candidates.learn(&known, &Watch::NOBODY).unwrap();
        let links = candidates.links(&fitted, &known).unwrap();
        let said: HashSet<(String, String)> =
            links.iter().filter_map(|link| Some((link.left.clone()?, link.right.clone()?))).collect();
        assert!(all[..40].iter().all(|pair| said.contains(pair)));
        assert!(!all[40..43].iter().any(|pair| said.contains(pair)));
        let count = |side: &dyn Fn(&Link) -> Option<String>| {
            let all: Vec<String> = links.iter().filter_map(side).collect();
            (all.len(), all.iter().collect::<HashSet<_>>().len())
        };
        assert_eq!(count(&|link| link.left.clone()), (200, 200), "every left record is there once");
        let (said, different) = count(&|link| link.right.clone());
        assert!(different == 200 && (said == 200 || right_many), "{said}");
        assert!(links.is_sorted_by(|a, b| a.probability <= b.probability));
        assert!(links.iter().all(|link| (0.0..=1.0).contains(&link.probability)));
        let why = links.iter().rev().find(|link| !link.known && link.right.is_some() && link.left.is_some()).unwrap();
        let why = candidates.why(&fitted, why).unwrap();
        assert!(why.sum > 0.0 && (why.alone + why.parts.iter().map(|part| part.2).sum::<f64>() - why.sum).abs() < 1e-9);
    }
}

/// Cells of a million letters, blanks alone, and signs of all kinds: bounded work, and no panic.
#[test]
fn hostile_cells_are_bounded() {
    let long = "ab ".repeat(400_000);
    let cells = ["", " \t ", "\0\u{feff}", &long, "١٢٣", "1e999", "nan", "-0", "2024-13-45", "//", "+:+"];
    let ids: Vec<String> = (0..cells.len()).map(|n| n.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let table = records(&ids, &[("x", &cells), ("y:z", &cells)]);
    let compare: Vec<Comparison> =
        ordain::link::How::ALL.iter().map(|&how| Comparison { field: "y:z".into(), how }).collect();
    let linking =
        Linking { block: vec!["sort:x:99".into(), "y:z".into(), "x:soundex".into()], compare, right_many: false };
    let candidates = linking.candidates(&table, &table).unwrap();
    let known = candidates.find([("3", "3", true), ("4", "4", true)]).unwrap();
    let fitted = candidates.learn(&known, &Watch::NOBODY).unwrap();
    assert!(candidates.links(&fitted, &known).unwrap().iter().all(|link| link.probability.is_finite()));
    drop(Linking::default().candidates(&table, &table).unwrap());
}

/// Seeds that nothing was chosen on.
#[test]
#[ignore = "a minute: registers of the size of real ones"]
fn large_registers_are_linked() {
    for (known, least) in [(100, 0.975), (20, 0.95)] {
        let all: Vec<(f64, f64)> =
            (201..=202).map(|seed| reached(&Registers { seed, ..Registers::default() }, known)).collect();
        println!("{known} known, F1 and share of matches that are candidates: {all:.4?}");
        let mean = all.iter().map(|one| one.0).sum::<f64>() / all.len() as f64;
        assert!(mean >= least && all.iter().all(|one| one.1 >= 0.98), "{known} known: {all:?}");
    }
}
