//! Orders under rules, against all orders.

use crate::cases::cases;
use ordain::answer::under_rules;
use ordain::data::Rules;
use ordain::random::Random;
use ordain::structure::ruled::{Cap, Kinds, order};

/// Documents, pins, exclusions and caps of one or several columns.
struct Case {
    scores: Vec<f64>,
    pins: Vec<(u32, usize)>,
    excluded: Vec<bool>,
    kinds: Vec<Kinds>,
}

impl Case {
    fn draw(random: &mut Random, columns: usize) -> Self {
        let n = 1 + random.below(7);
        // ties among them
        let scores = (0..n).map(|_| (random.below(9) as f64 - 4.0) / 2.0).collect();
        let excluded: Vec<bool> = (0..n).map(|_| random.below(6) == 0).collect();
        let mut pins: Vec<(u32, usize)> = vec![];
        for _ in 0..random.below(3) {
            pins.push((random.below(n) as u32, 1 + random.below(n)));
        }
        let kinds = (0..columns).map(|_| Kinds {
            of: (0..n).map(|_| (random.below(5) > 0).then(|| random.below(3) as u32)).collect(),
            caps: (0..1 + random.below(2))
                .map(|_| Cap { most: 1 + random.below(2), first: 1 + random.below(6) })
                .collect(),
        });
        let kinds = kinds.collect();
        Self { scores, pins, excluded, kinds }
    }

    fn top(&self) -> usize {
        let rest = self.excluded.iter().filter(|out| !**out).count();
        self.kinds.iter().flat_map(|kind| &kind.caps).map(|cap| cap.first).max().unwrap_or(0).min(rest)
    }

    /// Whether a list keeps the rules as far as it goes.
    fn keeps(&self, list: &[u32]) -> bool {
        let pinned = |place: usize| self.pins.iter().find(|pin| pin.1 == place + 1).map(|pin| pin.0);
        let right = list.iter().enumerate().all(|(place, &i)| {
            let own = self.pins.iter().find(|pin| pin.0 == i).is_none_or(|pin| pin.1 == place + 1);
            own && pinned(place).is_none_or(|wanted| wanted == i) && !self.excluded[i as usize]
        });
        right
            && self.kinds.iter().all(|kind| {
                kind.caps.iter().all(|cap| {
                    let top = &list[..list.len().min(cap.first)];
                    top.iter().all(|&i| match kind.of[i as usize] {
                        None => true,
                        own => top.iter().filter(|&&j| kind.of[j as usize] == own).count() <= cap.most,
                    })
                })
            })
    }

    fn worth(&self, list: &[u32]) -> f64 {
        let n = self.scores.len();
        let least = (0..n).filter(|&i| !self.excluded[i]).map(|i| self.scores[i]).fold(f64::INFINITY, f64::min);
        let head = list.iter().take(self.top()).enumerate();
        head.map(|(place, &i)| (self.scores[i as usize] - least) / ((place + 2) as f64).log2()).sum()
    }

    /// The worth of the best list of all, and the length of the longest; none where no list reaches all pins.
    fn enumerate(&self) -> Option<(f64, usize)> {
        let mut best: Option<(f64, usize)> = None;
        let last = self.pins.iter().map(|pin| pin.1).max().unwrap_or(0);
        let mut lists = vec![vec![]];
        while let Some(list) = lists.pop() {
            if !self.keeps(&list) {
                continue;
            }
            if list.len() >= last {
                let (worth, length) = best.unwrap_or((f64::NEG_INFINITY, 0));
                best = Some((worth.max(self.worth(&list)), length.max(list.len())));
            }
            for i in (0..self.scores.len() as u32).filter(|i| !list.contains(i)) {
                lists.push([&list[..], &[i]].concat());
            }
        }
        best
    }

    /// Pins that contradict each other, exclusions, the length of the list or the caps by themselves.
    fn contradicts(&self) -> bool {
        let rest = self.excluded.iter().filter(|out| !**out).count();
        let twice = |at: usize| {
            let (i, place) = self.pins[at];
            self.pins[..at].iter().any(|&(j, other)| i == j || place == other)
        };
        (0..self.pins.len()).any(|at| {
            let (i, place) = self.pins[at];
            self.excluded[i as usize] || place > rest || twice(at)
        })
    }
}

#[test]
fn orders_under_rules_are_the_best_of_all() {
    let (mut random, mut tried, mut found) = (Random::new(5), [0; 2], 0);
    for turn in 0..cases(1500) {
        let case = Case::draw(&mut random, turn as usize % 4);
        let made = order(&case.scores, &case.pins, &case.excluded, &case.kinds);
        let truth = if case.contradicts() { None } else { case.enumerate() };
        let Ok(made) = made else {
            assert!(truth.is_none(), "refused, but there is a list worth {truth:?}");
            tried[0] += 1;
            continue;
        };
        tried[1] += 1;
        let (worth, longest) = truth.expect("a list where there is none");
        assert!(case.keeps(&made.order), "the rules are broken by {:?}", made.order);
        assert!((case.worth(&made.order) - made.value).abs() < 1e-12 * (1.0 + worth));
        assert!(made.value <= worth + 1e-9 && worth <= made.bound + 1e-9, "{} {worth} {}", made.value, made.bound);
        let rest = case.excluded.iter().filter(|out| !**out).count();
        assert_eq!(made.left_out, rest - made.order.len());
        // with one column the best order is found at once, and as long a list as there is; with more a search of so few ends
        assert!((made.value - worth).abs() < 1e-9, "{} is not the best, {worth}", made.value);
        assert!(made.gap() < 1e-9);
        if case.kinds.len() < 2 {
            assert_eq!(made.order.len(), longest);
        }
        found += usize::from(!case.kinds.is_empty() && made.order.len() == rest);
    }
    assert!(tried[0] > 20 && tried[1] > 200 && found > 100, "{tried:?} {found}");
}

/// With one column the head is the best for any worth of places that falls, not for one alone.
#[test]
fn one_column_is_best_for_every_worth_of_places() {
    let mut random = Random::new(9);
    for _ in 0..cases(200) {
        let case = Case::draw(&mut random, 1);
        if case.contradicts() {
            continue;
        }
        let Ok(made) = order(&case.scores, &case.pins, &case.excluded, &case.kinds) else { continue };
        let least = case.scores.iter().copied().fold(f64::INFINITY, f64::min);
        let mut falls: Vec<f64> = (0..case.top()).map(|_| random.uniform()).collect();
        falls.sort_by(|a, b| b.total_cmp(a));
        let worth = |list: &[u32]| -> f64 {
            list.iter().zip(&falls).map(|(&i, fall)| (case.scores[i as usize] - least) * fall).sum()
        };
        let last = case.pins.iter().map(|pin| pin.1).max().unwrap_or(0);
        let mut lists = vec![vec![]];
        while let Some(list) = lists.pop() {
            if !case.keeps(&list) {
                continue;
            }
            assert!(list.len() < last || worth(&list) <= worth(&made.order) + 1e-12);
            for i in (0..case.scores.len() as u32).filter(|i| !list.contains(i)) {
                lists.push([&list[..], &[i]].concat());
            }
        }
    }
}

/// Large lists with caps on three columns: the rules hold, and the bound is one.
#[test]
fn large_lists_end_with_a_bound() {
    let mut random = Random::new(31);
    for turn in 0..4u32 {
        let n = 300;
        let scores: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let kinds: Vec<Kinds> = (0..3)
            .map(|_| Kinds {
                of: (0..n).map(|_| Some(random.below(12) as u32)).collect(),
                caps: vec![Cap { most: 1 + turn as usize % 2, first: 10 }],
            })
            .collect();
        let made = order(&scores, &[(7, 3)], &vec![false; n], &kinds).unwrap();
        assert_eq!(made.order[2], 7);
        for kind in &kinds {
            let mut counts = [0; 12];
            made.order[..10.min(made.order.len())]
                .iter()
                .for_each(|&i| counts[kind.of[i as usize].unwrap() as usize] += 1);
            assert!(counts.iter().all(|&count| count <= kind.caps[0].most));
        }
        assert!(made.gap() >= 0.0 && made.gap() < 0.2 * made.bound, "{} of {}", made.gap(), made.bound);
    }
}

#[test]
fn rules_are_read_from_tables_and_json() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Rules::read(&path)
    };
    let table =
        "rule,qid,docid,place,column,most,first\npin,q,a,2,,,\nexclude,,b,,,,\ncap,,,,brand,1,3\ncap,,,,brand,2,9\n";
    let json = r#"{"pins":[{"query":"q","document":"a","place":2}],"exclusions":[{"document":"b"}],"caps":[{"column":"brand","most":1,"first":3},{"column":"brand","most":2,"first":9}]}"#;
    let rules = read("rules.csv", table).unwrap();
    assert_eq!(rules, read("rules.json", json).unwrap());
    assert_eq!(serde_json::to_string(&rules).unwrap(), json);
    assert_eq!(rules.columns(), ["brand"]);
    assert_eq!(read("pins.csv", "qid,docid,place\nq,a,2\n").unwrap().pins, rules.pins);
    for (name, text, says) in [
        ("r.csv", "qid,docid\nq,a\n", "r.csv:1:1: expected a header with the column rule"),
        ("r.csv", "rule,docid\npin,a\n", "r.csv:2:1: expected a column place for the rule \"pin\""),
        ("r.csv", "rule,docid,place\npin,,1\n", "r.csv:2:2: expected docid for the rule \"pin\""),
        ("r.csv", "rule,docid,place\npin,a,0\n", "r.csv:2:3: expected place, a whole number from 1"),
        ("r.csv", "rule,docid,place\nhide,a,1\n", "r.csv:2:1: expected pin, exclude or cap"),
        ("r.csv", "rule,qid,column,most,first\ncap,q,x,1,1\n", "r.csv:2:2: expected no query"),
        ("r.csv", "rule,docid\n", "expected rules, found a header alone"),
        ("r.json", "{\"pins\":[{\"document\":\"a\",\"place\":0}]}", "places from 1"),
        ("r.json", "{}", "at least one rule"),
        ("r.json", "{\"caps\":[{\"column\":\"x\",\"most\":1}]}", "missing field `first`"),
    ] {
        let error = read(name, text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    // of one name the best document is pinned, and rules of other queries have no part
    let none = |_: usize, _: usize| "".into();
    let (order, did) = under_rules(&rules, "q", &["b", "a", "a", "c"], &[9.0, 1.0, 2.0, 3.0], &none).unwrap();
    assert_eq!((order, did.pinned, did.excluded), (vec![3, 2, 1], 1, 1));
    assert_eq!(under_rules(&rules, "p", &["a", "c"], &[2.0, 1.0], &none).unwrap().0, [0, 1]);
    let twice = Rules::from_json(r#"{"pins":[{"document":"a","place":1},{"document":"c","place":1}]}"#).unwrap();
    assert!(under_rules(&twice, "p", &["a", "c"], &[2.0, 1.0], &none).unwrap_err().to_string().contains("query \"p\""));
}
