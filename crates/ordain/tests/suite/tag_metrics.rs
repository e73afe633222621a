//! Metrics of labels against scikit-learn, against their definitions over all orders of ties, and at the edges.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::cases::cases;
use ordain::data::synthetic::Synthetic;
use ordain::data::{Columns, LabelSet};
use ordain::matrix::{Features, Matrix};
use ordain::metric::{Convention, Empty, Evaluation, LabelScores, Metric, Ties, evaluate, evaluate_labels};
use ordain::random::Random;
use proptest::prelude::*;
use serde_json::Value;

const RANKED: [&str; 5] = ["bep", "p@2", "ap", "rankloss", "coverage"];
const ALL: [&str; 7] = ["bep", "p@2", "ap", "rankloss", "coverage", "hamming", "f1"];

fn metrics(names: &[&str]) -> Vec<Metric> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn tags(labels: usize, yes: Vec<Vec<u32>>) -> LabelSet {
    let features = Features::Dense(Matrix::new(vec![0.0; yes.len()], 1));
    let columns = Columns::named(vec!["x".into()]);
    LabelSet::new(features, columns, (0..labels).map(|i| format!("label {i}")).collect(), yes).unwrap()
}

fn measure(set: &LabelSet, said: &LabelScores, names: &[&str], by: &Convention) -> Evaluation {
    evaluate_labels(set, &set.all(), said, &metrics(names), by).unwrap()
}

fn convention(name: &str) -> Convention {
    name.parse().unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12
}

fn on(value: &Value) -> Vec<u32> {
    (0u32..).zip(value.as_array().unwrap()).filter(|(_, x)| x.as_u64() == Some(1)).map(|(i, _)| i).collect()
}

/// What scikit-learn printed for random items (`scripts/metric_oracle.py`), one by one and together.
#[test]
fn labels_equal_scikit_learn() {
    let oracle: Value = serde_json::from_str(include_str!("../fixtures/metric_oracle.json")).unwrap();
    let names = ["ap", "rankloss", "coverage", "hamming", "f1"];
    let mut compared = 0;
    for block in oracle["tagged"].as_array().unwrap() {
        let items = block["items"].as_array().unwrap();
        let labels = items[0]["yes"].as_array().unwrap().len();
        let set = tags(labels, items.iter().map(|item| on(&item["yes"])).collect());
        let said = LabelScores {
            scores: items.iter().flat_map(|i| i["scores"].as_array().unwrap()).map(|x| x.as_f64().unwrap()).collect(),
            sets: items.iter().map(|item| on(&item["said"])).collect(),
        };
        let found = measure(&set, &said, &names, &convention("sklearn"));
        for (m, name) in names.iter().enumerate() {
            assert!(close(found.mean(m), block["all"][name].as_f64().unwrap()), "{name}: {}", found.mean(m));
            for (item, value) in items.iter().zip(&found.values[m]) {
                let expected = item["sklearn"][name].as_f64().unwrap();
                assert!(value.is_some_and(|value| close(value, expected)), "{name}: {value:?} for {item}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 54 * 5);
}

/// The metrics by their definitions, for labels in their order; `None` where an item says nothing.
fn by_definition(name: &str, order: &[bool]) -> Option<f64> {
    let (n, k) = (order.len(), order.iter().filter(|&&on| on).count());
    if k == 0 || (k == n && name != "p@2") {
        return None;
    }
    let precision = |j: usize| order.iter().take(j).filter(|&&on| on).count() as f64 / j as f64;
    let ranks = (1..=n).filter(|&j| order[j - 1]);
    Some(match name {
        "bep" => precision(k),
        "p@2" => precision(2),
        "ap" => ranks.map(precision).sum::<f64>() / k as f64,
        "rankloss" => {
            let pairs = (0..n).flat_map(|above| (above..n).map(move |below| (above, below)));
            pairs.filter(|&(above, below)| !order[above] && order[below]).count() as f64 / (k * (n - k)) as f64
        }
        _ => ranks.max().unwrap() as f64,
    })
}

/// All orders of labels by falling score.
fn orders(scores: &[f64]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in scores {
        all = all
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                let left: Vec<usize> = (0..scores.len()).filter(|i| !order.contains(i)).collect();
                let best = left.iter().map(|&i| scores[i]).fold(f64::NEG_INFINITY, f64::max);
                let next = left.into_iter().filter(move |&i| scores[i] >= best);
                next.map(move |i| order.iter().copied().chain([i]).collect()).collect::<Vec<Vec<usize>>>()
            })
            .collect();
    }
    all
}

/// Whether a label applies, `None` where that is unknown; its score; whether it is in the predicted set.
type Label = (Option<bool>, f64, bool);

fn item() -> impl Strategy<Value = Vec<Label>> {
    let answer = prop_oneof![4 => any::<bool>().prop_map(Some), 1 => Just(None)];
    prop::collection::vec((answer, (0..4i32).prop_map(f64::from), any::<bool>()), 6)
}

fn with(items: &[Vec<Label>]) -> (LabelSet, LabelScores) {
    let lists = |has: &dyn Fn(&Label) -> bool| -> Vec<Vec<u32>> {
        items.iter().map(|item| (0u32..).zip(item).filter(|(_, x)| has(x)).map(|(i, _)| i).collect()).collect()
    };
    let set = tags(6, lists(&|x| x.0 == Some(true))).with_unknown(lists(&|x| x.0.is_none())).unwrap();
    (set, LabelScores { scores: items.iter().flatten().map(|x| x.1).collect(), sets: lists(&|x| x.2) })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(150)))]

    /// The slow truth: the known labels alone, and the mean over all orders of ties.
    #[test]
    fn labels_equal_their_definitions(items in prop::collection::vec(item(), 1..6)) {
        let (set, said) = with(&items);
        let found = measure(&set, &said, &ALL, &Convention::STANDARD);
        for (u, item) in items.iter().enumerate() {
            let known: Vec<(bool, f64, bool)> =
                item.iter().filter_map(|&(answer, score, said)| Some((answer?, score, said))).collect();
            let scores: Vec<f64> = known.iter().map(|x| x.1).collect();
            let orders = orders(&scores);
            for (m, name) in RANKED.into_iter().enumerate() {
                let values: Option<Vec<f64>> = orders
                    .iter()
                    .map(|order| by_definition(name, &order.iter().map(|&i| known[i].0).collect::<Vec<bool>>()))
                    .collect();
                let slow = values.map(|values| values.iter().sum::<f64>() / values.len() as f64);
                let fast = found.values[m][u];
                let same = fast.zip(slow).map_or(fast == slow, |(fast, slow)| close(fast, slow));
                prop_assert!(same, "{name}: {fast:?}, not {slow:?}");
            }
            let count = |has: &dyn Fn(&(bool, f64, bool)) -> bool| known.iter().filter(|x| has(x)).count() as f64;
            let wrong = count(&|x| x.0 != x.2);
            let (both, either) = (count(&|x| x.0 && x.2), count(&|x| x.0) + count(&|x| x.2));
            let f1 = if either > 0.0 { 2.0 * both / either } else { 1.0 };
            let expected = (!known.is_empty()).then_some((wrong / known.len() as f64, f1));
            prop_assert_eq!(found.values[5][u].zip(found.values[6][u]), expected);
        }
    }

    /// What must hold: a loss and a share of right pairs are one, permuted labels change nothing, nor do more threads.
    #[test]
    fn labels_keep_the_laws(items in prop::collection::vec(item(), 1..40), seed in any::<u64>()) {
        let (set, said) = with(&items);
        let mut order: Vec<usize> = (0..6).collect();
        Random::new(seed).shuffle(&mut order);
        let moved: Vec<_> = items.iter().map(|item| order.iter().map(|&i| item[i]).collect()).collect();
        let (moved_set, moved_said) = with(&moved);
        let names: Vec<&str> = ALL.into_iter().chain(["map", "pairs", "ndcg", "mrr"]).collect();
        for by in [Convention::STANDARD, convention("sklearn")] {
            let found = measure(&set, &said, &names, &by);
            let again = measure(&moved_set, &moved_said, &names, &by);
            for (m, name) in names.iter().enumerate() {
                for (a, b) in found.values[m].iter().zip(&again.values[m]) {
                    prop_assert!(a.zip(*b).map_or(a == b, |(a, b)| close(a, b)), "{name}: {a:?}, {b:?}");
                }
            }
            prop_assert_eq!(&found.values[2], &found.values[7]);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            prop_assert_eq!(pool.install(|| measure(&set, &said, &names, &by)), found);
        }
        let found = measure(&set, &said, &["rankloss", "pairs"], &Convention::STANDARD);
        for (loss, pairs) in found.values[0].iter().zip(&found.values[1]) {
            prop_assert!(loss.zip(*pairs).map_or(loss == pairs, |(loss, pairs)| close(loss, 1.0 - pairs)));
        }
    }

    /// [QAP] section 2: `AP = Tr{A Π B Πᵀ}` with 1/k on the first k entries of row k of A, and `B = z zᵀ / 1ᵀz`.
    #[test]
    fn average_precision_is_quadratic_in_the_order(z in prop::collection::vec(any::<bool>(), 2..12), seed in any::<u64>()) {
        let n = z.len();
        let applying = z.iter().filter(|&&on| on).count();
        prop_assume!(applying > 0 && applying < n);
        let mut order: Vec<usize> = (0..n).collect(); // order[r] is the label at rank r
        Random::new(seed).shuffle(&mut order);
        let mut scores = vec![0.0; n];
        order.iter().enumerate().for_each(|(rank, &label)| scores[label] = -(rank as f64));
        let set = tags(n, vec![(0..n as u32).filter(|&i| z[i as usize]).collect()]);
        let found = measure(&set, &LabelScores { scores, sets: vec![] }, &["ap"], &Convention::STANDARD).mean(0);
        let square = |entry: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
            (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
        };
        let product = |x: &[Vec<f64>], y: &[Vec<f64>]| square(&|i, j| (0..n).map(|l| x[i][l] * y[l][j]).sum());
        let a = square(&|k, l| if l <= k { 1.0 / (k + 1) as f64 } else { 0.0 });
        let p = square(&|rank, label| f64::from(u8::from(order[rank] == label)));
        let transposed = square(&|i, j| p[j][i]);
        let b = square(&|i, j| f64::from(u8::from(z[i] && z[j])) / applying as f64);
        let full = product(&product(&product(&a, &p), &b), &transposed);
        let trace: f64 = (0..n).map(|i| full[i][i]).sum();
        prop_assert!(close(found, trace), "{found}, not {trace}");
    }
}

/// Items with no label, with all, and of which nothing is known; by hand.
#[test]
fn items_that_say_nothing() {
    let set = tags(3, vec![vec![], vec![0, 1, 2], vec![], vec![0]]);
    let set = set.with_unknown(vec![vec![], vec![], vec![0, 1, 2], vec![2]]).unwrap();
    let scores = [3.0, 2.0, 1.0].repeat(4);
    let said = LabelScores { scores, sets: vec![vec![], vec![0], vec![0, 1], vec![1, 2, 1]] };
    let standard = measure(&set, &said, &ALL, &Convention::STANDARD);
    let row = |found: &Evaluation, u: usize| -> Vec<Option<f64>> { found.values.iter().map(|m| m[u]).collect() };
    assert_eq!(row(&standard, 0), [None, None, None, None, None, Some(0.0), Some(1.0)]);
    assert_eq!(row(&standard, 1), [None, Some(1.0), None, None, None, Some(2.0 / 3.0), Some(0.5)]);
    assert_eq!(row(&standard, 2), [None; 7]);
    // label 2 is unknown: it stands nowhere, and to have said it is neither right nor wrong
    assert_eq!(row(&standard, 3), [1.0, 0.5, 1.0, 0.0, 1.0, 1.0, 0.0].map(Some));
    assert_eq!(standard.skipped(), 3);
    let zero = Convention { empty: Empty::Zero, ..Convention::STANDARD };
    assert_eq!(row(&measure(&set, &said, &RANKED, &zero), 0), [Some(0.0); 5]);
    let one = Convention { empty: Empty::One, ..Convention::STANDARD };
    assert_eq!(row(&measure(&set, &said, &RANKED, &one), 0), [1.0, 0.0, 1.0, 0.0, 0.0].map(Some));
    assert_eq!(row(&measure(&set, &said, &RANKED, &one), 1), [None, Some(1.0), None, None, None]);
    // scikit-learn counts both; an `empty` of one's own leaves both out
    let sklearn = convention("sklearn");
    assert_eq!(row(&measure(&set, &said, &["ap", "rankloss", "coverage"], &sklearn), 0), [1.0, 0.0, 0.0].map(Some));
    assert_eq!(row(&measure(&set, &said, &["ap", "rankloss", "coverage"], &sklearn), 1), [1.0, 0.0, 3.0].map(Some));
    let skip = Convention { empty: Empty::Skip, ..sklearn };
    assert_eq!(row(&measure(&set, &said, &["ap", "rankloss", "coverage"], &skip), 1), [None; 3]);
    // a grade to start from is for documents
    let from = Convention { relevant_from: Some(2.0), ..Convention::STANDARD };
    assert_eq!(measure(&set, &said, &ALL, &from), standard);
}

#[test]
fn tied_labels_go_by_number_or_name() {
    let set = tags(3, vec![vec![2]]);
    let said = LabelScores { scores: vec![1.0; 3], sets: vec![] };
    let coverage = |by: Convention| measure(&set, &said, &["coverage"], &by).mean(0);
    assert!(close(coverage(Convention::STANDARD), 2.0));
    assert!(close(coverage(convention("sklearn")), 3.0));
    assert!(close(coverage(Convention { ties: Ties::Input, ..Convention::STANDARD }), 3.0));
    assert!(close(coverage(Convention { ties: Ties::Id, ..Convention::STANDARD }), 1.0));
}

#[test]
fn metrics_of_labels_are_read_and_refused_by_name() {
    for name in ["ap", "rankloss", "coverage", "hamming", "f1"] {
        assert_eq!(name.parse::<Metric>().unwrap().to_string(), name);
    }
    assert_eq!(metrics(&ALL).iter().map(|m| m.is_loss()).filter(|&loss| loss).count(), 3);
    let message = |text: &str| text.parse::<Metric>().unwrap_err().to_string();
    assert_eq!(message("f1@3"), "metric: expected f1, which has no cut-off, found \"f1@3\"");
    assert_eq!(message("hammng"), "unknown metric \"hammng\": did you mean \"hamming\"?");
    let ranks = Synthetic::default().make();
    for name in ["rankloss", "coverage", "hamming", "f1"] {
        let error =
            evaluate(&ranks, &ranks.all(), &ranks.grades, &metrics(&[name]), &Convention::STANDARD).unwrap_err();
        let expected = format!("metric: expected a metric of rankings, such as ndcg@10, map or p@5, found {name:?}");
        assert_eq!(error.to_string(), expected);
    }
    let same = evaluate(&ranks, &ranks.all(), &ranks.grades, &metrics(&["ap", "map"]), &Convention::STANDARD).unwrap();
    assert_eq!(same.values[0], same.values[1]);

    let set = tags(2, vec![vec![0], vec![1]]);
    let refused = |said: LabelScores, name: &str| {
        evaluate_labels(&set, &set.all(), &said, &metrics(&[name]), &Convention::STANDARD).unwrap_err().to_string()
    };
    let said = |scores: usize, sets: &[Vec<u32>]| LabelScores { scores: vec![0.0; scores], sets: sets.to_vec() };
    assert_eq!(refused(said(3, &[]), "bep"), "expected 4 scores, 2 for each of 2 items, found 3 scores");
    assert_eq!(refused(said(4, &[vec![]]), "f1"), "expected a set of labels for each of 2 items, for f1, found 1 sets");
    assert_eq!(refused(said(4, &[vec![], vec![2]]), "f1"), "expected labels below 2 in the sets, found the label 2");
}

#[test]
fn label_scores_that_are_not_finite_are_refused_where_they_count() {
    let features = Features::Dense(Matrix::new(vec![0.0, 0.0], 1));
    let columns = Columns::named(vec!["x".into()]);
    let labels = ["sea", "sky", "tree"].map(String::from).to_vec();
    let set = LabelSet::new(features, columns, labels, vec![vec![0], vec![1]]).unwrap();
    let set = set.with_unknown(vec![vec![2], vec![]]).unwrap();
    let evaluate = |scores: [f64; 6]| {
        let said = LabelScores { scores: scores.to_vec(), sets: vec![] };
        evaluate_labels(&set, &[0, 1], &said, &["ap".parse().unwrap()], &Convention::STANDARD)
    };
    // what is unknown of an item is no candidate, and so its score is not looked at
    assert!(evaluate([0.0, 1.0, f64::NAN, 0.0, 1.0, 2.0]).is_ok());
    let error = evaluate([0.0, 1.0, 2.0, 0.0, f64::INFINITY, 2.0]).unwrap_err().to_string();
    assert!(error.starts_with("item \"2\", label \"sky\": expected a finite score, found inf"), "{error}");
}
