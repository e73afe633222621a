//! Single cases: each is a file that is easy to get wrong.

use super::pipeline::{self, again};
use super::readers::{case, read};
use super::suite::{Check, Suite, clear, clear_message, cut, ensure};
use ordain::data::scale::Scale;
use ordain::data::{self, Missing, RankSet};
use ordain::method::Rank;
use ordain::metric::{self, Convention};
use ordain::task::{Method, Training};
use ordain::{Error, model_file};
use std::fs;
use std::path::{Path, PathBuf};

/// Reads a text under this name.
fn reading(folder: &Path, name: &str, text: &[u8]) -> Check<Result<RankSet, Error>> {
    let path = folder.join(name);
    fs::write(&path, text).expect("a file");
    let read = read(&path, Missing::Error, text.len())?;
    if let Err(error) = &read {
        clear(error, &[(&path, text)])?;
    }
    Ok(read)
}

/// Runs one case in a folder of its own.
fn single(name: &str, text: &[u8], work: impl FnOnce(&Path, Result<RankSet, Error>) -> Check) {
    let mut suite = Suite::new();
    let folder = suite.folder.path().to_path_buf();
    suite.run(name, text, || work(&folder, reading(&folder, name, text)?));
    suite.finish();
}

/// Every one of these reads, and then goes through everything under each scaling.
fn through(name: &str, text: &str) {
    let mut suite = Suite::new();
    for turn in 0..12 {
        case(&mut suite, name, "whole", text.as_bytes(), None, turn);
    }
    suite.finish();
}

#[test]
fn whole_files() {
    let mut suite = Suite::new();
    let texts: [&[u8]; 26] = [
        b"",
        b"\n",
        b"\n \n\t\r\n",
        b"# one\n# two\n",
        b"#1: one\n",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf1 qid:1 1:1\n0 qid:1 1:0\n",
        b"\xff\xfe1\0 \0",
        b"\0",
        b"1",
        b"1 qid:1",
        b"1 qid:1\n0 qid:1\n",
        b"1 qid:1 1:1",
        b"1 qid:1 1:1\n1 qid:2 1:2\n0 qid:3 1:3\n",
        b"1 qid:1 1:1\n1 qid:1 1:2\n1 qid:1 1:3\n",
        b"1 qid:1 1:1\n0 1:2\n",
        b"1 1:1\n0 1:2\n",
        b"1 qid:1 4294967294:1\n0 qid:1 4294967293:1\n",
        b"1 qid:1 0:1\n0 qid:1 0:2\n",
        b"1 qid:1 1000000000:1\n0 qid:1 1:2\n0 qid:2 5:1\n2 qid:2\n",
        b"-1 qid:1 1:1\n-2.5 qid:1 1:2\n",
        b"2 qid:1 1:1 2:1\n1 qid:1 1:1 2:1\n0 qid:1 1:1 2:1\n",
        b"label,qid\n1,1\n",
        b"label,qid,a\n",
        b"label,qid,a\n1,1,2\n0,1,3",
        b"label\tqid\ta\n\n\n1\t1\t2\r\n0\t1\t3",
    ];
    for (turn, text) in texts.iter().enumerate() {
        for name in ["whole.txt", "whole.csv", "whole.tsv"] {
            for turn in turn..turn + 12 {
                case(&mut suite, name, "whole", text, None, turn);
            }
        }
    }
    suite.finish();
}

#[test]
fn values_of_every_size() {
    let rows = |values: [&str; 4]| -> String {
        let row = |(i, x): (usize, &&str)| format!("{} qid:{} 1:{x} 2:{i} 3:7\n", i % 3, i / 8);
        values.iter().cycle().take(16).enumerate().map(row).collect()
    };
    through("large.txt", &rows(["3.4028235e38", "-3.4028235e38", "0", "1e38"]));
    through("small.txt", &rows(["1e-45", "-1e-45", "0", "2e-45"]));
    through("mixed.txt", &rows(["1e-45", "3e38", "1", "-1e20"]));
    through("close.txt", &rows(["16777216", "16777215", "16777214", "16777213"]));
}

#[test]
fn more_columns_than_the_hessian_takes() {
    let row = |i: usize| {
        let values: String = (1..300).map(|j| format!(" {j}:{}", (i * j) % 17)).collect();
        format!("{} qid:{}{values}\n", i % 4, i / 6)
    };
    through("wide.txt", &(0..18).map(row).collect::<String>());
    let row = |i: usize| format!("{} qid:{} {}:3e38 {}:-3e38 900:1e-40\n", i % 4, i / 6, 3 + i, 30 + 7 * i);
    through("far.txt", &(0..18).map(row).collect::<String>());
}

/// What cannot be a weight is refused; all others give a model or a clear error.
#[test]
fn weights_of_every_size() {
    let mut suite = Suite::new();
    for (turn, weights) in
        [["0", "0"], ["1e308", "1e308"], ["1e-320", "1e-320"], ["1e-320", "1e308"], ["0", "1"]].iter().enumerate()
    {
        let row = |i: usize| format!("{},q,{},{i}\n", i % 2, weights[i % 4 / 2]);
        let text = format!("label,qid,weight,a\n{}", (0..8).map(row).collect::<String>());
        case(&mut suite, "weights.csv", "whole", text.as_bytes(), None, turn);
    }
    suite.finish();
}

#[test]
fn ids_that_are_not_utf8_stay_apart() {
    let texts: [(&str, &[u8]); 2] = [
        ("ids.txt", b"1 qid:\xff 1:1\n0 qid:\xff 1:2\n1 qid:\xfe 1:3\n0 qid:\xfe 1:4\n"),
        ("ids.csv", b"label,qid,a\n1,\xff,1\n0,\xff,2\n1,\xfe,3\n0,\xfe,4\n"),
    ];
    for (name, text) in texts {
        single(name, text, |folder, read| match read {
            Ok(set) => again(&set, &folder.join(format!("again{name}"))),
            Err(_) => Ok(()),
        });
    }
}

/// A model keeps whatever names its columns have, also one that looks like a checksum.
#[test]
fn a_column_named_as_an_empty_checksum() {
    let zeros = "0".repeat(64);
    through("zeros.csv", &format!("label,qid,{zeros},b\n1,1,1,4\n0,1,2,3\n"));
}

/// Lines that end in CR alone are lines, or are refused: they do not vanish behind the first comment.
#[test]
fn old_line_ends_do_not_hide_rows() {
    single("old.txt", b"1 qid:1 1:1 #a\r0 qid:1 1:2 #b\r2 qid:1 1:3 #c\r", |_, read| {
        let rows = read.map_or(3, |set| set.rows());
        ensure!(rows == 3, "rows behind CR are lost", "{rows} rows of 3");
        Ok(())
    });
}

/// A file whose end was never written to disk holds zeros there.
#[test]
fn zeros_at_the_end_are_refused() {
    let text = [&b"1 qid:1 1:1 2:2\n0 qid:1 1:2"[..], &[0; 4096]].concat();
    single("torn.txt", &text, |_, read| {
        ensure!(read.is_err(), "a file that ends in zeros was read", "as {:?}", read.map(|set| set.rows()).ok());
        Ok(())
    });
}

#[test]
fn huge_grades_give_finite_metrics() {
    let row = |i: usize| format!("1.{i}e308 qid:1 1:{i}\n");
    let text: String = (0..6).map(row).collect();
    single("grades.txt", text.as_bytes(), |_, read| {
        let Ok(set) = read else { return Ok(()) };
        for (by, metric) in Convention::ALL.iter().flat_map(|by| pipeline::metrics().into_iter().map(move |m| (by, m)))
        {
            match metric::evaluate(&set, &set.all(), &[1.0, 5.0, 2.0, 2.0, 3.0, 0.0], &[metric], by) {
                Ok(result) => {
                    ensure!(
                        result.mean(0).is_finite(),
                        format!("{metric} by {by} is not finite"),
                        "{}",
                        result.mean(0)
                    );
                    pipeline::in_range(&result, by)?;
                }
                Err(error) => pipeline::refused(&error, &metric, &set.grades)?,
            }
        }
        Ok(())
    });
}

/// −0 and 0 are one grade, in training and in every metric.
#[test]
fn minus_zero_is_zero() {
    single("zero.txt", b"-0 qid:1 1:1\n0 qid:1 1:2\n0 qid:1 1:3\n", |_, read| {
        let Ok(set) = read else { return Ok(()) };
        for name in ["pairs", "kendall"] {
            let metrics = [name.parse().expect("a metric")];
            let result = metric::evaluate(&set, &[0], &[3.0, 2.0, 1.0], &metrics, &Convention::STANDARD);
            let value = result.map_err(|e| (e.to_string(), String::new()))?.values[0][0];
            ensure!(value.is_none(), format!("{name} sees two grades in -0 and 0"), "{value:?}");
        }
        Ok(())
    });
}

/// A column may have any name, also one that means something in a table.
#[test]
fn columns_with_names_of_their_own() {
    let mut suite = Suite::new();
    let folder = suite.folder.path().to_path_buf();
    let heads =
        ["#1: weight", "#1: docid", "#1: label", "#1: qid", "#1: same\n#2: same", "#1: 2", "#2: a,\"b\"", "#1: \t"];
    for head in heads {
        let text = format!("{head}\n1 qid:1 1:1 2:4\n0 qid:1 1:2 2:3\n");
        for ending in ["csv", "txt"] {
            suite.run(&format!("{head:?} as {ending}"), text.as_bytes(), || {
                match reading(&folder, "head.txt", text.as_bytes())? {
                    Ok(set) => again(&set, &folder.join(format!("again.{ending}"))),
                    Err(_) => Ok(()),
                }
            });
        }
    }
    suite.finish();
}

/// A table can hold what LETOR text cannot; then writing it as such is refused, and nothing is lost in silence.
#[test]
fn tables_written_as_text() {
    let mut suite = Suite::new();
    let folder = suite.folder.path().to_path_buf();
    let texts: [(&str, &str); 14] = [
        ("a query with a space", "label,qid,a\n1,x y,1\n0,x y,2\n"),
        ("a document with a space", "label,qid,docid,a\n1,x,d 1,1\n0,x,d 2,2\n"),
        ("a document with #", "label,qid,docid,a\n1,x,#d,1\n0,x,e#f,2\n"),
        ("a document with docid =", "label,qid,docid,a\n1,x,docid,1\n0,x,docid=e,2\n"),
        ("a long query with a space", &format!("label,qid,a\n1,{0} {0},1\n0,x,2\n", "x".repeat(5000))),
        ("weights", "label,qid,weight,a\n1,x,5,1\n0,x,2,2\n"),
        ("no grades", "qid,a\nx,1\nx,2\n"),
        ("a column without a name", "label,qid,,b\n1,x,1,1\n0,x,2,2\n"),
        ("a column with a line end", "label,qid,\"a\nb\",b\n1,x,1,1\n0,x,2,2\n"),
        ("columns named by one number", "label,qid,007,7\n1,x,1,1\n0,x,2,2\n"),
        ("a column named by a strange number", "label,qid,+5,06\n1,x,1,1\n0,x,2,2\n"),
        ("a column named by the largest number", "label,qid,4294967295,1\n1,x,1,1\n0,x,2,2\n"),
        ("columns named by numbers apart", "label,qid,1,3\n1,x,1,1\n0,x,2,2\n"),
        ("columns named as numbers", "label,qid,2,1\n1,x,1,1\n0,x,2,2\n"),
    ];
    for (what, text) in texts {
        for ending in ["txt", "csv", "tsv"] {
            suite.run(what, text.as_bytes(), || {
                let set =
                    reading(&folder, "set.csv", text.as_bytes())?.map_err(|e| ("refused".into(), e.to_string()))?;
                again(&set, &folder.join(format!("again.{ending}")))
                    .map_err(|(kind, detail)| (format!("{what}, as {ending}: {kind}"), detail))
            });
        }
    }
    suite.finish();
}

/// Ids that no file can hold are refused where they would be written.
#[test]
fn ids_that_no_table_holds_are_refused() {
    let mut suite = Suite::new();
    let folder = suite.folder.path().to_path_buf();
    let text = "label,qid,docid,a\n1,x,d,1\n0,y,e,2\n";
    for id in ["x\u{1}2:5", "x\n1 qid:7 1:3", "x\r", "\0"] {
        for ending in ["txt", "csv", "tsv", "qrels"] {
            suite.run(id, text.as_bytes(), || {
                let set = reading(&folder, "set.csv", text.as_bytes())?.expect("a table");
                let queries = vec!["x".to_owned(), id.to_owned()];
                let set = RankSet::new(set.features, set.columns, set.grades, vec![0, 1, 2], queries).expect("a set");
                let written = data::write(&set, &folder.join(format!("again.{ending}")));
                ensure!(matches!(written, Err(Error::Data { .. })), "written", "{id:?} as {ending}");
                Ok(())
            });
        }
    }
    suite.finish();
}

/// Messages stay short whatever stands in the file.
#[test]
fn messages_stay_short() {
    let mut suite = Suite::new();
    let folder = suite.folder.path().to_path_buf();
    let (long, rows) = ("x".repeat(100_000), "1 qid:1 1:1 2:2\n".repeat(5_000));
    for (name, text) in [
        ("quote.csv", format!("label,qid,a\n1,1,\"2\n{}", "1,1,2\n".repeat(10_000))),
        ("field.csv", format!("label,qid,a\n1,1,{long}\n")),
        ("label.csv", format!("label,qid,a\n{long},1,2\n")),
        ("letor.csv", rows.replace('\n', " ")),
        ("twice.csv", format!("label,qid,{long},{long}\n1,1,2,3\n")),
        ("grade.txt", format!("{long} qid:1 1:1\n")),
        ("value.txt", format!("1 qid:1 1:{long}\n")),
        ("index.txt", format!("1 qid:1 {long}:1\n")),
    ] {
        suite.run(name, text.as_bytes(), || {
            let read = reading(&folder, name, text.as_bytes())
                .map_err(|(kind, detail)| (format!("{kind}: {name}"), detail))?;
            ensure!(read.is_err(), "read", "{name}");
            Ok(())
        });
    }
    let path = folder.join("loose.txt");
    fs::write(&path, "1 1:1\n0 1:2\n").expect("a file");
    fs::write(folder.join("loose.txt.query"), &long).expect("a file");
    suite.run("sizes", long.as_bytes(), || match data::read_parts(&[vec![path]], Missing::Error) {
        Ok(_) => Err(("read".into(), String::new())),
        Err(error) => clear_message(&error, &folder.join("loose.txt.query"))
            .map_err(|(kind, detail)| (format!("{kind}: sizes"), detail)),
    });
    suite.finish();
}

/// An error in a table names the line where the row begins, whatever the lines end with and whatever stands before.
#[test]
fn lines_of_tables_are_counted_right() {
    let mut suite = Suite::new();
    let folder = suite.folder.path().to_path_buf();
    for (what, text, line) in [
        ("LF", "label,qid,a\n1,1,2\n1,1,x\n", 3),
        ("CR and LF", "label,qid,a\r\n1,1,2\r\n1,1,x\r\n", 3),
        ("CR and LF, other length", "label,qid,a\r\n1,1,2\r\n1,1\r\n", 3),
        ("CR alone", "label,qid,a\r1,1,2\r1,1,x\r", 1),
        ("CR alone in a row", "label,qid,a\n1,1,2\n1,1\r,2\n", 3),
        ("a zero byte", "label,qid,a\n1,1,2\n1,\0,2\n", 3),
        ("blank lines", "label,qid,a\n\n\n1,1,2\n\n\n1,1,x\n", 7),
        ("blank lines, other length", "label,qid,a\n\n\n1,1,2\n\n\n1,1\n", 7),
        ("line ends in a name", "label,qid,\"a\n\nb\"\n1,1,2\n1,1,x\n", 5),
        ("line ends in quotes", "label,qid,a\n1,1,2\n1,\"1\n\n\",2\n1,1,x\n", 3),
        ("an open quote", "label,a,qid\n1,2,1\n1,2,\"5 inch\n1,2,1\n1,2,1\n", 3),
    ] {
        suite.run(what, text.as_bytes(), || match reading(&folder, "lines.csv", text.as_bytes())? {
            Err(error) if matches!(error.cause(), Error::Parse { line: found, .. } if *found == line) => Ok(()),
            other => Err((format!("{what}: another line"), format!("{:?}, it is {line}", other.map(|set| set.rows())))),
        });
    }
    suite.finish();
}

/// With several files the message names the one that is wrong.
#[test]
fn the_wrong_file_of_two_is_named() {
    let mut suite = Suite::new();
    let folder = suite.folder.path().to_path_buf();
    for (what, ending, first, second) in [
        ("other columns", "csv", "label,qid,a,b\n1,1,2,3\n", "label,qid,a,c\n1,1,2,3\n"),
        ("a bad value", "csv", "label,qid,a\n1,1,2\n", "label,qid,a\n1,1,x\n"),
        ("a bad row", "txt", "1 qid:1 1:1\n", "1 qid:1 1:x\n"),
        ("no rows", "txt", "1 qid:1 1:1\n", "\n"),
        ("no query ids", "txt", "1 qid:1 1:1\n", "1 1:1\n"),
    ] {
        let paths: Vec<PathBuf> = ["first", "second"].iter().map(|n| folder.join(format!("{n}.{ending}"))).collect();
        fs::write(&paths[0], first).expect("a file");
        fs::write(&paths[1], second).expect("a file");
        suite.run(what, second.as_bytes(), || match data::read_parts(std::slice::from_ref(&paths), Missing::Error) {
            Ok(_) => Err(("read".into(), what.into())),
            Err(error) => {
                clear_message(&error, &paths[1]).map_err(|(kind, detail)| (format!("{what}: {kind}"), detail))
            }
        });
    }
    suite.finish();
}

#[test]
fn what_is_not_a_file() {
    let mut suite = Suite::new();
    let folder = suite.folder.path().to_path_buf();
    for name in ["", "absent.txt", "absent.csv.gz", "a.parquet"] {
        let path = folder.join(name);
        suite.run(name, b"", || match data::read_parts(&[vec![path.clone()]], Missing::Error) {
            Ok(_) => Err(("read".into(), name.into())),
            Err(error) => clear_message(&error, &path),
        });
    }
    suite.run("nothing", b"", || {
        let outcome = data::read_parts(&[], Missing::Error).map(|(set, _)| set.rows());
        ensure!(outcome.is_err(), "read", "{outcome:?}");
        Ok(())
    });
    suite.finish();
}

/// The rows of a query come together wherever they stand, and go back to where they stood.
#[test]
fn interleaved_queries() {
    let mut suite = Suite::new();
    let folder = suite.folder.path().to_path_buf();
    let rows = 999;
    for width in [2, 40] {
        let row = |i: usize| format!("{} qid:{} {}:{i} #d{i}\n", i % 3, i * 7 % 13, 1 + i % width);
        let text: String = (0..rows).map(row).collect();
        for turn in 0..4 {
            case(&mut suite, "interleaved.txt", "whole", text.as_bytes(), None, turn);
        }
        suite.run("order", text.as_bytes(), || {
            let set = reading(&folder, "order.txt", text.as_bytes())?.map_err(|e| ("refused".into(), e.to_string()))?;
            ensure!(set.len() == 13, "queries", "{}", set.len());
            let numbers: Vec<usize> = (0..rows).map(|row| set.input_row(row)).collect();
            ensure!(set.in_input_order(numbers.clone()) == (0..rows).collect::<Vec<_>>(), "order", "{numbers:?}");
            let ids: Vec<String> = (0..rows).map(|row| set.document(row).into_owned()).collect();
            let right = set.in_input_order(ids.clone()).iter().enumerate().all(|(i, id)| *id == format!("d{i}"));
            ensure!(right, "documents", "{ids:?}");
            Ok(())
        });
    }
    suite.finish();
}

/// A model that was loaded is written as the same bytes again.
#[test]
fn a_loaded_model_is_the_one_that_was_saved() {
    let mut suite = Suite::new();
    let path = suite.path("model.ordain");
    for seed in 0..40 {
        let set = data::synthetic::Synthetic { queries: 9, features: 5, seed, ..Default::default() }.make();
        let method = format!("ranksvm[scale={},lambda=0.{}]", Scale::ALL[seed as usize % 4].name(), seed + 1);
        suite.run(&format!("{method}, seed {seed}"), b"", || {
            let method: ordain::method::RankMethod = method.parse().expect("a method");
            let train = set.all();
            let model = method.fit(&Training::new(&set, &train), &ordain::solver::run::Watch::NOBODY);
            let bytes = model_file::to_bytes(&model.map_err(|e| ("refused".into(), e.to_string()))?);
            let loaded =
                model_file::from_bytes::<Rank>(&bytes, &path).map_err(|e| ("refused".into(), e.to_string()))?;
            ensure!(
                model_file::to_bytes(&loaded) == bytes,
                "other bytes",
                "{}",
                cut(&format!("{:?}", loaded.facts.report), 300)
            );
            Ok(())
        });
    }
    suite.finish();
}
