//! A list under rules, from names to an order.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{at_most, fastest};
use ordain::answer::under_rules;
use ordain::data::Rules;
use ordain::random::Random;

const ONE: &str = r#"{"pins": [{"query": "q", "document": "d700", "place": 3}], "exclusions": [{"document": "d1"}],
    "caps": [{"column": "brand", "most": 2, "first": 20}]}"#;
const TWO: &str =
    r#"{"caps": [{"column": "brand", "most": 2, "first": 20}, {"column": "shop", "most": 1, "first": 20}]}"#;

#[test]
#[ignore = "a gate of speed, run by ./check --speed"]
fn a_thousand_documents_under_rules() {
    let mut random = Random::new(1);
    let names: Vec<String> = (0..1000).map(|i| format!("d{i}")).collect();
    let ids: Vec<&str> = names.iter().map(String::as_str).collect();
    let scores: Vec<f64> = ids.iter().map(|_| random.normal()).collect();
    let values: Vec<[String; 2]> =
        ids.iter().map(|_| [20, 40].map(|most| format!("v{}", random.below(most)))).collect();
    let value = |column: usize, i: usize| values[i][column].as_str().into();
    let took = |text: &str| {
        let rules = Rules::from_json(text).unwrap();
        let mut did = None;
        let seconds = fastest(5, || did = Some(under_rules(&rules, "q", &ids, &scores, &value).unwrap().1));
        (1000.0 * seconds, did.unwrap())
    };
    let (one, did) = took(ONE);
    assert!(did.exact && did.pinned == 1 && did.excluded == 1);
    at_most("1,000 documents, a pin, an exclusion and a cap in the first 20: ms", one, 20.0);
    let (two, did) = took(TWO);
    println!("the same with caps on two columns: {two:.1} ms, {:.3} % below its bound", 100.0 * did.gap / did.bound);
}
