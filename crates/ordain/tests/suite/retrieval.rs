//! Queries made of items, against a slow truth and on real data.
#![allow(clippy::unwrap_used, clippy::float_cmp)] // a test may panic, and grades are exact

use ordain::data::{
    Columns, ItemQueries, ItemRows, LabelReading, LabelSet, RankSet, Retrieval, is_labels, read_labels, write,
};
use ordain::matrix::{Csr, Features, Matrix};
use ordain::random::Random;
use std::path::PathBuf;

/// Items with up to three of six labels, some of them unknown, and three whole numbers as features.
fn items(n: usize, seed: u64, sparse: bool) -> LabelSet {
    let mut random = Random::new(seed);
    let values: Vec<f32> = (0..3 * n).map(|_| random.below(3) as f32 - 1.0).collect();
    let (mut yes, mut unknown) = (vec![], vec![]);
    for _ in 0..n {
        let list: Vec<u32> = (0..6).filter(|_| random.below(4) == 0).collect();
        unknown.push((0..6).filter(|label| !list.contains(label) && random.below(12) == 0).collect());
        yes.push(list);
    }
    let features = if sparse {
        let (mut ends, mut columns, mut kept) = (vec![], vec![], vec![]);
        for row in values.chunks(3) {
            (0u32..).zip(row).filter(|(_, x)| **x != 0.0).for_each(|(j, &x)| {
                columns.push(j);
                kept.push(x);
            });
            ends.push(kept.len());
        }
        Features::Sparse(Csr::new(ends, columns, kept, 3))
    } else {
        Features::Dense(Matrix::new(values, 3))
    };
    let columns = Columns::named(["a", "b", "c"].map(String::from).to_vec());
    let labels = (0..6).map(|label| format!("l{label}")).collect();
    LabelSet::new(features, columns, labels, yes).unwrap().with_unknown(unknown).unwrap()
}

/// Query, document, grade and features of every row.
type Row = (String, String, f64, Vec<f32>);

fn rows(set: &RankSet) -> Vec<Row> {
    let values = |row| (0..set.features.cols()).map(|j| set.features.value(row, j)).collect();
    (0..set.len())
        .flat_map(|q| set.span(q).map(move |row| (q, row)))
        .map(|(q, row)| (set.query(q).into(), set.document(row).into_owned(), set.grades[row], values(row)))
        .collect()
}

/// The same by the words of the documentation, without regard to cost.
fn truth(how: &Retrieval, set: &LabelSet) -> Vec<Row> {
    let n = set.len();
    let count = |label: u32| (0..n.min(how.among_first.unwrap_or(n))).filter(|&i| set.yes(i).contains(&label)).count();
    let mut labels: Vec<u32> =
        (0..set.labels.len() as u32).filter(|&label| how.at_most.is_none_or(|most| count(label) <= most)).collect();
    while labels.len() > how.commonest.unwrap_or(6) {
        let rarest = labels.iter().map(|&label| count(label)).min().unwrap();
        let last = labels.iter().rposition(|&label| count(label) == rarest).unwrap();
        labels.remove(last);
    }
    let mut taken: Vec<usize> = vec![];
    for i in 0..n {
        let right = match how.rows {
            ItemRows::All => true,
            ItemRows::Even => i % 2 == 0,
            ItemRows::Odd => i % 2 == 1,
        };
        let before = |label: &u32| taken.iter().filter(|&&t| set.yes(t).contains(label)).count();
        let room = |most: usize| set.yes(i).iter().any(|label| labels.contains(label) && before(label) < most);
        if right && how.per_label.is_none_or(room) {
            taken.push(i);
        }
    }
    // whether an item has a label: yes, no, or nobody knows
    let state = |i: usize, label: u32| match (set.yes(i).contains(&label), set.unknown(i).contains(&label)) {
        (true, _) => 2,
        (_, true) => 1,
        _ => 0,
    };
    let x = |i: usize| -> Vec<f32> { (0..3).map(|j| set.features.value(i, j)).collect() };
    let mut queries: Vec<Vec<Row>> = vec![];
    if how.queries == ItemQueries::Labels {
        for &label in &labels {
            let row = |&d: &usize| {
                (set.labels[label as usize].clone(), set.item(d).into_owned(), f64::from(state(d, label) / 2), x(d))
            };
            queries.push(taken.iter().filter(|&&d| state(d, label) != 1).map(row).collect());
        }
    } else {
        for &q in &taken {
            let mut list = vec![];
            for &d in taken.iter().filter(|&&d| d != q) {
                // 4 where both have it, 1 or 2 where both may have it
                let best = labels.iter().map(|&label| state(q, label) * state(d, label)).max().unwrap_or(0);
                if best == 4 || best == 0 {
                    let far = x(q).iter().zip(x(d)).map(|(a, b)| (a - b).abs()).collect();
                    list.push((set.item(q).into_owned(), set.item(d).into_owned(), f64::from(best / 4), far));
                }
            }
            queries.push(list);
        }
    }
    queries.retain(|list| list.iter().any(|row| row.2 == 1.0) && list.iter().any(|row| row.2 == 0.0));
    queries.concat()
}

#[test]
fn every_choice_is_as_the_slow_truth_has_it() {
    let (mut random, mut made, mut refused) = (Random::new(7), 0, 0);
    for seed in 0..600 {
        let set = items(1 + random.below(30), seed, seed % 2 == 1);
        let mut some = |most: usize| (random.below(2) == 0).then(|| 1 + random.below(most));
        let how = Retrieval {
            per_label: some(6),
            commonest: some(6),
            at_most: some(10),
            among_first: some(40),
            queries: [ItemQueries::Labels, ItemQueries::Items][seed as usize / 2 % 2],
            rows: [ItemRows::All, ItemRows::Even, ItemRows::Odd][seed as usize % 3],
        };
        let truth = truth(&how, &set);
        match how.make(&set) {
            Ok(got) => {
                assert_eq!(rows(&got), truth, "{how:?}");
                made += 1;
            }
            Err(error) => {
                assert!(truth.is_empty(), "{how:?}: {error}");
                refused += 1;
            }
        }
    }
    assert!(made > 200 && refused > 20, "{made} made, {refused} refused");
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let columns = Columns::named(vec!["x".into()]);
    let features = || Features::Dense(Matrix::new(vec![0.0, 1.0, 2.0], 1));
    let set = LabelSet::new(features(), columns, vec!["sea".into()], vec![vec![0], vec![0], vec![0]]).unwrap();
    let labels = Retrieval::default().make(&set).unwrap_err().to_string();
    assert_eq!(
        labels,
        "expected a label or a category that some of the items have and others have not, found none among 3 item(s) with 1 label(s)"
    );
    let items = Retrieval { queries: ItemQueries::Items, ..Retrieval::default() };
    assert!(items.make(&set).unwrap_err().to_string().contains("found none among 3 item(s)"));
    let none = Retrieval { per_label: Some(0), ..Retrieval::default() };
    assert!(none.make(&set).unwrap_err().to_string().contains("no items: none is taken"));
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(std::env::var_os("ORDAIN_DATA").expect("ORDAIN_DATA names the data folder")).join(name)
}

/// Both halves of files; each is checked to have ten queries with documents of two grades.
fn both_halves(files: &[&str], reading: &LabelReading, how: &Retrieval) -> [RankSet; 2] {
    let files = files.iter().map(|name| data(name)).collect();
    let set = read_labels(&[files], reading).unwrap().0;
    [ItemRows::Even, ItemRows::Odd].map(|rows| {
        let half = Retrieval { rows, ..how.clone() }.make(&set).unwrap();
        assert!(half.len() == 10 && (0..10).all(|q| !half.is_flat(q)));
        half
    })
}

fn relevant(set: &RankSet, q: usize) -> usize {
    set.grades[set.span(q)].iter().filter(|&&grade| grade == 1.0).count()
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn halves_of_real_data() {
    let reading = LabelReading {
        category: Some("category".into()),
        roles: ordain::data::Roles { id: Some("image".into()), ignore: vec!["name".into()], ..Default::default() },
        ..LabelReading::default()
    };
    let corel = ["retrieval/wang-corel1k/features.csv.gz"];
    let halves = both_halves(&corel, &reading, &Retrieval::default());
    for (first, half) in ["0", "1"].iter().zip(&halves) {
        assert_eq!((half.rows(), half.features.cols(), half.document(0).as_ref()), (5000, 102, *first));
        assert!((0..10).all(|q| half.span(q).len() == 500 && relevant(half, q) == 50));
    }
    for k in [5, 10, 20, 50] {
        for half in both_halves(&corel, &reading, &Retrieval { per_label: Some(k), ..Retrieval::default() }) {
            assert!((0..10).all(|q| half.span(q).len() == 10 * k && relevant(&half, q) == k));
        }
    }
    let reading = LabelReading { category: Some("digit".into()), ..LabelReading::default() };
    let halves = both_halves(&["retrieval/digits/digits.csv"], &reading, &Retrieval::default());
    for (n, half) in [899, 898].into_iter().zip(&halves) {
        assert!(half.features.cols() == 64 && (0..10).all(|q| half.span(q).len() == n));
        assert_eq!((0..10).map(|q| relevant(half, q)).sum::<usize>(), n);
    }
    let folder = "annotation/mediamill_reduced";
    let files = [format!("{folder}/mediamill-train.arff.gz"), format!("{folder}/mediamill-test.arff")];
    assert!(is_labels(&data(&files[0])));
    let how = Retrieval { commonest: Some(10), at_most: Some(400), among_first: Some(1500), ..Retrieval::default() };
    let halves = both_halves(&[&files[0], &files[1]], &LabelReading::default(), &how);
    for half in &halves {
        assert!((0..10).all(|q| half.span(q).len() == 1000 && (50..400).contains(&relevant(half, q))));
    }
    assert!((0..10).all(|q| halves[0].query(q) == halves[1].query(q)));
    // what is written is read again
    let path = tempfile::tempdir().unwrap().keep().join("half.txt.gz");
    write(&halves[0], &path).unwrap();
    let again = ordain::data::read(&path).unwrap();
    assert_eq!((again.len(), again.rows(), &again.grades), (10, 10_000, &halves[0].grades));
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}
