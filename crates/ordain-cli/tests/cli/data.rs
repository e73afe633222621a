//! Made-up data, the same on every machine: whole numbers only, from a generator written out here.

use std::fmt::Write;

/// A small generator of whole numbers (Knuth's MMIX constants).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1))
    }

    /// A number from 0 to `n` − 1.
    pub(crate) fn below(&mut self, n: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n) as i64
    }
}

/// One document: grade, query, name and five features.
pub(crate) struct Row {
    pub(crate) grade: i64,
    pub(crate) query: String,
    pub(crate) document: String,
    pub(crate) values: Vec<f64>,
}

/// Queries of four to eight documents; the grade follows features 1 and 3, with noise.
pub(crate) fn rows(queries: usize, seed: u64) -> Vec<Row> {
    let mut numbers = Numbers::new(seed);
    let mut rows = vec![];
    for q in 1..=queries {
        let documents = 4 + numbers.below(5);
        for d in 1..=documents {
            let whole: Vec<i64> = (0..5).map(|_| numbers.below(200) - 100).collect();
            let truth = whole[0] - whole[2] + numbers.below(120) - 60;
            let values = whole.iter().map(|&x| x as f64 / 8.0).collect();
            rows.push(Row {
                grade: i64::from(truth > 0) + i64::from(truth > 80),
                query: format!("q{q}"),
                document: format!("d{q}-{d}"),
                values,
            });
        }
    }
    rows
}

/// Rows as LETOR text with document ids.
pub(crate) fn letor_of(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        write!(text, "{} qid:{}", row.grade, row.query).unwrap();
        for (j, x) in row.values.iter().enumerate() {
            write!(text, " {}:{x}", j + 1).unwrap();
        }
        writeln!(text, " #docid = {}", row.document).unwrap();
    }
    text
}

/// LETOR text of made-up queries.
pub(crate) fn letor(queries: usize, seed: u64) -> String {
    letor_of(&rows(queries, seed))
}

/// The names of the features in tables.
pub(crate) const NAMES: [&str; 5] = ["title", "body", "age", "links", "length"];

/// Rows as a table, the features in the given order.
pub(crate) fn table_of(rows: &[Row], delimiter: char, order: &[usize]) -> String {
    let mut head = vec!["label".to_owned(), "qid".into(), "docid".into()];
    head.extend(order.iter().map(|&j| NAMES[j].to_owned()));
    let mut text = head.join(&delimiter.to_string()) + "\n";
    for row in rows {
        let mut fields = vec![row.grade.to_string(), row.query.clone(), row.document.clone()];
        fields.extend(order.iter().map(|&j| row.values[j].to_string()));
        text += &(fields.join(&delimiter.to_string()) + "\n");
    }
    text
}

/// A hundred columns of which each row names two.
pub(crate) fn sparse(queries: usize, seed: u64) -> String {
    let mut numbers = Numbers::new(seed);
    let mut text = String::new();
    for q in 1..=queries {
        for d in 0..5 {
            let (first, second) = (1 + numbers.below(50), 51 + numbers.below(50));
            let (x, y) = (numbers.below(64) as f64 / 16.0 + 0.25, numbers.below(64) as f64 / 16.0 - 8.0);
            writeln!(text, "{} qid:{q} {first}:{x} {second}:{y}", d % 3).unwrap();
        }
    }
    text
}

/// LETOR text on which a fit with `lambda=1e-8 scale=none tol=1e-14` takes minutes: features of very different size.
pub(crate) fn slow(documents: usize, features: usize) -> String {
    let mut numbers = Numbers::new(7);
    let mut text = String::new();
    for i in 0..documents {
        let values: Vec<i64> = (0..features).map(|_| numbers.below(10)).collect();
        let truth = values[0] - values[1] + values[2] + numbers.below(17) - 8;
        write!(text, "{} qid:{}", i64::from(truth > 3) + i64::from(truth > 9), i / 50).unwrap();
        for (j, x) in values.iter().enumerate() {
            write!(text, " {}:{x}e{}", j + 1, j as i64 % 6 - 3).unwrap();
        }
        text.push('\n');
    }
    text
}
