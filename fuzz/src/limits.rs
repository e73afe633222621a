//! Large and lopsided files: time and memory stay in proportion.

use super::memory;
use super::pipeline;
use super::readers::{allowed, case, read};
use super::suite::{Check, Suite, clear, ensure};
use ordain::data::{self, Missing, RankSet};
use ordain::method::RankMethod;
use ordain::metric::{self, Convention};
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::task::{Method, Model, Training};
use ordain::{Error, Result};
use std::fmt::Write as _;
use std::fs;

fn made(rows: usize, mut row: impl FnMut(usize, &mut String)) -> String {
    let mut out = String::new();
    (0..rows).for_each(|i| row(i, &mut out));
    out
}

fn told<T>(outcome: Result<T>) -> Check<T> {
    outcome.map_err(|error| ("an error".to_owned(), error.to_string()))
}

/// Reads, fits by query and measures everything.
fn everything(set: &RankSet) -> Check {
    let method: RankMethod = "ranksvm[scale=query,lambda=1]".parse().expect("a method");
    let train = set.all();
    let ranker = told(method.fit(&Training::new(set, &train), &Watch::NOBODY))?.model;
    let scores = told(ranker.prepare(set).and_then(|ready| ranker.scores(&ready)))?;
    // once as they are, and once all tied
    for scores in [&scores, &vec![0.0; scores.len()]] {
        for &by in Convention::ALL {
            pipeline::in_range(&told(metric::evaluate(set, &train, scores, &pipeline::metrics(), &by))?, &by)?;
        }
    }
    Ok(())
}

#[test]
fn a_query_of_200_000_documents() {
    let mut suite = Suite::with_limit(20);
    let path = suite.path("one.txt");
    let mut random = Random::new(1);
    for grades in [5, 100_000] {
        let text = made(200_000, |i, out| {
            let grade = if grades == 5 { i % 5 } else { i % grades / 400 };
            write!(out, "{grade} qid:7").expect("text");
            (1..=8).for_each(|j| write!(out, " {j}:{:.6}", random.uniform()).expect("text"));
            out.push('\n');
        });
        fs::write(&path, &text).expect("a file");
        suite.run(&format!("{grades} grades"), b"", || {
            let set = told(read(&path, Missing::Error, text.len())?)?;
            ensure!((set.len(), set.rows()) == (1, 200_000), "sizes", "{} {}", set.len(), set.rows());
            everything(&set)
        });
    }
    suite.finish();
}

#[test]
fn a_hundred_thousand_queries() {
    let mut suite = Suite::with_limit(20);
    let path = suite.path("many.txt");
    for size in [1, 2] {
        let text = made(100_000, |i, out| writeln!(out, "{} qid:{} 1:{i}", i % 2, i / size).expect("text"));
        fs::write(&path, &text).expect("a file");
        suite.run(&format!("queries of {size}"), b"", || {
            let set = told(read(&path, Missing::Error, text.len())?)?;
            ensure!(set.len() == 100_000 / size, "queries", "{}", set.len());
            if size > 1 { everything(&set) } else { Ok(()) }
        });
    }
    suite.finish();
}

/// A table of many columns costs time in proportion to them.
#[test]
fn many_columns() {
    let mut suite = Suite::new();
    let columns = 60_000;
    let head = made(columns, |j, out| write!(out, ",column{j}").expect("text"));
    let row = |i: usize| made(columns, |j, out| write!(out, ",{}", (i * j) % 7).expect("text"));
    let text = format!("label,qid{head}\n0,1{}\n1,1{}\n", row(1), row(2));
    let path = suite.path("columns.csv");
    fs::write(&path, &text).expect("a file");
    suite.run("a table", &text.as_bytes()[..40], || {
        let set = told(read(&path, Missing::Error, text.len())?)?;
        ensure!(set.features.cols() == columns, "columns", "{}", set.features.cols());
        Ok(())
    });
    let row = |i: usize| made(columns, |j, out| write!(out, " {}:{}", j + 1, (i * j) % 7).expect("text"));
    let text: String = (0..4).map(|i| format!("{} qid:1{}\n", i % 3, row(i))).collect();
    let path = suite.path("columns.txt");
    fs::write(&path, &text).expect("a file");
    suite.run("text", &text.as_bytes()[..40], || {
        let set = told(read(&path, Missing::Error, text.len())?)?;
        ensure!(set.features.cols() == columns, "columns", "{}", set.features.cols());
        everything(&set)
    });
    suite.finish();
}

/// Files without query ids after files with them get ids of their own, without a search for each.
#[test]
fn ids_for_queries_without() {
    let mut suite = Suite::new();
    let n = 10_000;
    let paths = vec![suite.path("with.txt"), suite.path("without.txt")];
    fs::write(&paths[0], made(n, |i, out| writeln!(out, "1 qid:{} 1:1", n + 1 + i).expect("text"))).expect("a file");
    fs::write(&paths[1], "0 1:1\n".repeat(n)).expect("a file");
    fs::write(suite.path("without.txt.query"), "1\n".repeat(n)).expect("a file");
    suite.run("two files", b"", || {
        let (set, _) = told(data::read_parts(std::slice::from_ref(&paths), Missing::Error))?;
        ensure!(set.len() == 2 * n, "queries", "{}", set.len());
        Ok(())
    });
    suite.finish();
}

/// Each row has a column of its own: what is sparse on disk stays so in memory.
#[test]
fn sparse_stays_sparse() {
    let mut suite = Suite::new();
    let path = suite.path("sparse.txt");
    let text = made(6_000, |i, out| writeln!(out, "{} qid:1 {}:1.5", i % 3, 1 + 1000 * i).expect("text"));
    fs::write(&path, &text).expect("a file");
    suite.run("sparse", &text.as_bytes()[..60], || {
        let set = told(read(&path, Missing::Error, text.len())?)?;
        ensure!(set.features.cols() == 6_000, "columns", "{}", set.features.cols());
        let method: RankMethod = "ranksvm[scale=query,lambda=1]".parse().expect("a method");
        let train = set.all();
        let (model, peak) = memory::peak(|| method.fit(&Training::new(&set, &train), &Watch::NOBODY));
        ensure!(peak < allowed(text.len()), "too much memory to fit", "{peak} bytes for {}", text.len());
        let ranker = told(model)?.model;
        let (scores, peak) = memory::peak(|| ranker.scores(&ranker.prepare(&set)?));
        told(scores)?;
        ensure!(peak < allowed(text.len()), "too much memory to score", "{peak} bytes for {}", text.len());
        let (parts, peak) = memory::peak(|| ranker.explain(&ranker.prepare(&set)?, 0, 0, 1));
        told(parts)?;
        ensure!(peak < allowed(text.len()), "too much memory to explain", "{peak} bytes for {}", text.len());
        Ok(())
    });
    suite.finish();
}

/// Rows of few bytes, each of another kind: the memory that they take is in proportion.
#[test]
fn short_rows() {
    let mut suite = Suite::with_limit(10);
    let path = suite.path("short.txt");
    fs::write(suite.path("short.txt.query"), "1\n".repeat(500_000)).expect("a file");
    let texts = [
        ("no query ids", made(500_000, |_, out| out.push_str("0 1:\n"))),
        ("another query each", made(500_000, |i, out| writeln!(out, "0 qid:{i:x} 1:1").expect("text"))),
        ("no features but in the last", format!("{}1 qid:1 9:1\n", "0 qid:1\n".repeat(500_000))),
        ("another column each", made(500_000, |i, out| writeln!(out, "0 qid:1 {}:1", 9 * i).expect("text"))),
        ("names alone", format!("{}1 qid:1 1:1\n", made(500_000, |i, out| writeln!(out, "#{i}:x").expect("text")))),
        ("comments alone", format!("{}1 qid:1 1:1\n", "1 qid:1 1:1#\n".repeat(500_000))),
    ];
    for (what, text) in texts {
        fs::write(&path, &text).expect("a file");
        suite.run(what, &text.as_bytes()[..40], || told(read(&path, Missing::Zero, text.len())?).map(|_| ()));
    }
    suite.finish();
}

/// Lines across the ends of blocks, and one that is longer than two blocks.
#[test]
fn lines_across_blocks() {
    let mut suite = Suite::with_limit(10);
    let path = suite.path("blocks.txt");
    let rows = 400_000;
    let text = made(rows, |i, out| writeln!(out, "{} qid:{} 1:{i} 2:0.5 # document{i}", i % 3, i / 100).expect("text"));
    assert!(text.len() > 16 << 20);
    fs::write(&path, &text).expect("a file");
    suite.run("whole", b"", || {
        let set = told(read(&path, Missing::Error, text.len())?)?;
        let right =
            |i: usize| (set.features.value(i, 0) - i as f32).abs() < 1e-6 && set.document(i) == format!("document{i}");
        ensure!(set.rows() == rows && (0..rows).all(right), "other rows", "{}", set.rows());
        Ok(())
    });
    for line in [1, 150_000, 199_999, 399_999, 400_000] {
        let mut broken: Vec<&str> = text.lines().collect();
        broken[line - 1] = "0 qid:x 1:1 2";
        let broken = broken.join("\n");
        fs::write(&path, &broken).expect("a file");
        suite.run(&format!("line {line}"), b"", || match read(&path, Missing::Error, broken.len())? {
            Ok(set) => Err(("read".into(), set.rows().to_string())),
            Err(error) => {
                clear(&error, &[(&path, broken.as_bytes())])?;
                ensure!(
                    matches!(error.cause(), Error::Parse { line: l, column: 13, .. } if *l == line),
                    "another line",
                    "{error}"
                );
                Ok(())
            }
        });
    }
    let long = format!("1 qid:1 1:2 #{}\n0 qid:1 1:3 #b\n", "x".repeat(20 << 20));
    fs::write(&path, &long).expect("a file");
    suite.run("a long line", b"", || {
        let set = told(read(&path, Missing::Error, long.len())?)?;
        ensure!(set.rows() == 2 && set.document(1) == "b", "other rows", "{}", set.rows());
        Ok(())
    });
    suite.finish();
}

/// A very long line in a small file, everything included.
#[test]
fn a_line_of_a_megabyte() {
    let mut suite = Suite::new();
    let values = made(90_000, |j, out| write!(out, " {}:{}", 1 + 3 * j, j % 11).expect("text"));
    let text = format!("1 qid:1{values}\n0 qid:1 1:1\n2 qid:1 3:4\n0 qid:2 7:1\n1 qid:2 1:2\n");
    for turn in 0..4 {
        case(&mut suite, "long.txt", "whole", text.as_bytes(), None, turn);
    }
    suite.finish();
}
