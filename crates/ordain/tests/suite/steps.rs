//! Feature steps: what they make of cells, and that they see the training part alone.
#![allow(clippy::unwrap_used)] // a test may panic

use ordain::data::{
    Input, LabelReading, LabelSet, MatchReading, RankReading, Roles, read_labels, read_matches, read_rank,
};
use ordain::features::{Step, Steps, Text, TextSettings};
use ordain::method::{CStar, MatchMap, RankMethod};
use ordain::model_file;
use ordain::solver::run::Watch;
use ordain::task::{Method, Model, Training};
use std::path::PathBuf;

/// Texts of a generator that `scripts/tfidf_oracle.py` has too.
fn texts() -> Vec<String> {
    let mut state = 5u64;
    let mut next = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let signs = [" ", ", ", ". ", "-", "'", "_", " (", ") ", "\n"];
    let mut all = vec![];
    for _ in 0..200 {
        let mut text = String::new();
        for _ in 0..next(30) {
            let word = next(40);
            text += &format!("W{}{}", word * word % 97, ["", "x", "Ab"][next(3) as usize]);
            text += if next(9) == 0 { " a " } else { signs[next(9) as usize] };
        }
        all.push(text);
    }
    all
}

/// The values are those of scikit-learn's TfidfVectorizer: words, pairs of words, and the 50 most frequent words.
#[test]
fn tf_idf_is_that_of_scikit_learn() {
    let (texts, mut checked) = (texts(), 0);
    let usual = TextSettings::default();
    for (name, settings) in [("words", usual.clone()), ("pairs", TextSettings { words: 2, ..usual.clone() })] {
        let step = Text::learn(settings, texts.iter().map(String::as_str)).unwrap();
        let terms: Vec<&str> = step.terms().collect();
        let mut lines = include_str!("../data/tfidf.txt").lines().filter(|line| line.starts_with(name));
        for text in &texts {
            let mut row = vec![];
            step.apply(text, &mut row);
            let mut expected: Vec<(&str, f64)> = vec![];
            for cell in lines.next().unwrap().split('\t').skip(1).filter(|cell| !cell.is_empty()) {
                let (term, value) = cell.split_once(':').unwrap();
                expected.push((term, value.parse().unwrap()));
            }
            assert_eq!(row.len(), expected.len(), "{text:?}");
            for ((column, x), (term, value)) in row.iter().zip(&expected) {
                assert_eq!(terms[*column as usize], *term);
                assert!((f64::from(*x) - value).abs() < 1e-6, "{term}: {x} {value}");
                checked += 1;
            }
        }
    }
    assert!(checked > 3000, "{checked}");
}

#[test]
fn a_vocabulary_is_bounded_by_what_is_frequent_and_a_hash_needs_none() {
    let texts = texts();
    let all = || texts.iter().map(String::as_str);
    let step = Text::learn(TextSettings { most: 50, ..TextSettings::default() }, all()).unwrap();
    assert_eq!(step.columns(), 50);
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for text in &texts {
        let low = text.to_lowercase();
        let words = low.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| word.len() > 1);
        words.for_each(|word| *counts.entry(word.to_owned()).or_default() += 1);
    }
    let least = step.terms().map(|term| counts[term]).min().unwrap();
    let kept: Vec<&str> = step.terms().collect();
    assert!(counts.iter().all(|(word, &count)| count <= least || kept.contains(&word.as_str())));
    let hashed = Text::learn(TextSettings { hash: 64, ..TextSettings::default() }, all()).unwrap();
    let mut row = vec![];
    hashed.apply(&texts[1], &mut row);
    assert!(hashed.columns() == 64 && hashed.terms().next().is_none() && row.iter().all(|(at, _)| *at < 64));
    let letters = Text::learn(TextSettings { letters: 3, ..TextSettings::default() }, ["Ab c"].into_iter()).unwrap();
    assert_eq!(letters.terms().collect::<Vec<_>>(), [" ab", "ab", "ab "]);
    assert!(Text::learn(TextSettings { words: 9, ..TextSettings::default() }, all()).is_err());
}

fn learned(input: &str, cells: &[&str]) -> ordain::Result<Step> {
    Step::learn(&input.parse::<Input>()?, cells.iter().copied())
}

fn row(step: &Step, cell: &str) -> Option<Vec<(u32, f32)>> {
    let mut row = vec![];
    step.apply(cell, &mut row).map(|()| row)
}

#[test]
fn categories_dates_and_vectors_become_columns() {
    let step = learned("country:category[most=2]", &["FR", "DE", "FR", "", "IT", "DE", "FR"]).unwrap();
    assert_eq!(step.names("country"), ["country=FR", "country=DE", "country=(other)"]);
    assert_eq!(row(&step, "DE").unwrap(), [(1, 1.0)]);
    assert_eq!(row(&step, "never seen").unwrap(), [(2, 1.0)]);
    assert_eq!(row(&step, "").unwrap(), []);
    let step = learned("born:date", &["1970-01-01", "", "1.1.1972"]).unwrap();
    assert_eq!(step.names("born"), ["born_years", "born_month", "born_weekday", "born_missing"]);
    let [years, month, weekday, gap] = row(&step, "1972-01-01").unwrap()[..] else { unreachable!() };
    assert!(
        (years.1 - 1.9987).abs() < 1e-3 && [month.1, weekday.1, gap.1].map(|x| x as i64) == [1, 5, 0],
        "a Saturday"
    );
    let gap = row(&step, "").unwrap();
    assert!((gap[0].1 - 0.99935).abs() < 1e-3 && (gap[3].1 - 1.0).abs() < 1e-6);
    for wrong in ["yesterday", "1999-02-29", "31.4.1999", "2/30/2000", "19000229"] {
        assert_eq!(row(&step, wrong), None, "{wrong:?}");
    }
    assert!(["2000-02-29", "31.12.1999"].iter().all(|day| row(&step, day).is_some()));
    let step = learned("emb:vector", &["", "[0.5, 1, -2]", "1 2 3"]).unwrap();
    assert_eq!((step.names("emb").join(" "), row(&step, "1;2;3").unwrap()[2]), ("emb_0 emb_1 emb_2".into(), (2, 3.0)));
    // a gap moves no number, brackets are two, and a blank of another script is none
    for wrong in ["1 2", "1 2 nan", "1,,2 3", ",1,2 3", "1,2,3,", "[1 2 3", "1 2 3]", "[[1 2 3]]", "1\u{a0}2 3"] {
        assert_eq!(row(&step, wrong), None, "{wrong:?}");
    }
    for (input, cells) in [("born:date", ["soon"]), ("emb:vector", [""]), ("emb:vector", ["a b"])] {
        assert!(learned(input, &cells).is_err(), "{input}");
    }
    for wrong in ["title", ":text", "title:words", "title:text[words]", "title:text[words=x]"] {
        assert!(wrong.parse::<Input>().is_err(), "{wrong}");
    }
    assert!(learned("title:text[word=2]", &["a"]).is_err());
}

/// Cells of many letters, of signs alone, and of all planes of Unicode.
#[test]
fn hostile_cells_are_bounded() {
    let long = "word ".repeat(1 << 20);
    let one = "x".repeat(3 << 20);
    let signs: String = (0..0x11_0000u32).step_by(97).filter_map(char::from_u32).collect();
    let cells = ["", "\0", "\u{202e}\u{feff}", &long, &one, &signs];
    for input in ["x:text", "x:text[words=3,letters=4]", "x:text[hash=16]", "x:category", "x:date", "x:vector"] {
        let Ok(step) = learned(input, &cells) else { continue };
        for cell in cells {
            assert!(row(&step, cell).is_none_or(|row| row.iter().all(|(_, x)| x.is_finite())), "{input}");
        }
    }
}

/// Items whose text tells their label, with a word of its own in each.
fn news(folder: &std::path::Path, count: usize, word: &dyn Fn(usize) -> String) -> LabelSet {
    let path: PathBuf = folder.join("news.csv");
    let mut text = String::from("id,title,section,size,labels\n");
    for n in 0..count {
        let label = ["sea", "sky", "wood"][n % 3];
        let more = ["fish boat wave", "cloud bird sun", "tree leaf fox"][n % 3].split(' ').nth(n / 3 % 3).unwrap();
        text += &format!("i{n},The {more} of {},s{},{}.5,{label}\n", word(n), n % 4, n % 7);
    }
    std::fs::write(&path, text).unwrap();
    let inputs = vec!["title:text".parse().unwrap(), "section:category".parse().unwrap()];
    let roles = Roles { inputs, ..Roles::default() };
    read_labels(&[vec![path]], &LabelReading { roles, ..LabelReading::default() }).unwrap().0
}

/// A fit learns its steps from its training units: what others say changes nothing, and their words are unknown. The same steps by hand give the same model.
#[test]
fn a_step_never_sees_what_it_is_not_trained_on() {
    let folder = tempfile::tempdir().unwrap();
    let method: CStar = "independent[lambda=0.1]".parse().unwrap();
    let (mut all, mut models) = (vec![], vec![]);
    for version in 0..2 {
        let test = move |n: usize| if n % 5 == 4 { format!("secret{version}x{n}") } else { format!("own{n}") };
        let set = news(folder.path(), 60, &test);
        let (test, train): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(|n| n % 5 == 4);
        let fitted = method.fit(&Training::new(&set, &train), &Watch::NOBODY).unwrap();
        let names = &fitted.model.inputs.columns.names;
        assert!(names.contains(&"title=own3".into()) && names.contains(&"section=s1".into()));
        assert!(!names.iter().any(|name| name.contains("secret")), "a word of the test part");
        // by hand: steps of the training units, then a fit on numbers
        let steps = Steps::learn(&set, &train).unwrap();
        let mut numbers = set.clone();
        steps.apply(&mut numbers).unwrap();
        let slow = method.fit(&Training::new(&numbers, &train), &Watch::NOBODY).unwrap();
        let (ready, by_hand) = (fitted.model.prepare(&set).unwrap(), slow.model.prepare(&numbers).unwrap());
        let said = fitted.model.predict(&ready, &test).unwrap();
        assert_eq!(said, slow.model.predict(&by_hand, &test).unwrap());
        let bytes = model_file::to_bytes(&fitted);
        let again = model_file::from_bytes::<ordain::method::Annotate>(&bytes, std::path::Path::new("m")).unwrap();
        assert_eq!(again.model, fitted.model);
        assert_eq!(again.model.predict(&again.model.prepare(&set).unwrap(), &test).unwrap(), said);
        let right = said.iter().zip(&test).filter(|(said, n)| said.chosen == set.yes(**n as usize)).count();
        assert!(right * 10 >= test.len() * 9, "{right} of {}", test.len());
        all.push(fitted.facts.data.clone());
        models.push(fitted.model);
    }
    assert_eq!(models[0], models[1], "the words of the test part changed the model");
    assert_ne!(all[0], all[1], "other texts are other data");
}

/// Texts of documents and of edges; files of two parts; a column that is read as a number.
#[test]
fn all_tasks_take_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut text = String::from("qid,label,title,age\n");
    for n in 0..60 {
        let good = n % 3 == 0;
        text += &format!("q{},{},{} shoe,{}\n", n % 10, u8::from(good), if good { "red" } else { "blue" }, n % 5);
    }
    std::fs::write(path("a.csv"), &text).unwrap();
    std::fs::write(path("b.csv"), text.replace(",q", ",r").replace("\nq", "\nr")).unwrap();
    let inputs = vec!["title:text".parse().unwrap(), "age:number".parse().unwrap()];
    let roles = Roles { inputs, ..Roles::default() };
    let reading = RankReading { roles: roles.clone(), ..RankReading::default() };
    let (set, parts) = read_rank(&[vec![path("a.csv")], vec![path("b.csv")]], &reading).unwrap();
    assert_eq!(parts, [0..10, 10..20]);
    let method: RankMethod = "ranksvm[lambda=0.1,scale=none]".parse().unwrap();
    let fitted = method.fit(&Training::new(&set, &set.all()[..10]), &Watch::NOBODY).unwrap();
    assert_eq!(fitted.model.inputs.columns.names, ["age", "title=blue", "title=red", "title=shoe"]);
    let ready = fitted.model.prepare(&set).unwrap();
    let metrics = ["ndcg@10".parse().unwrap()];
    let said =
        fitted.model.evaluate(&ready, &set.all()[10..], &metrics, &ordain::metric::Convention::STANDARD).unwrap();
    assert!(said.mean(0) > 0.999);
    let mut edges = String::from("problem,left,right,colours,matched\n");
    for p in 0..20 {
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            edges +=
                &format!("{p},a{i},b{j},{},{}\n", if i == j { "same tone" } else { "other tone" }, u8::from(i == j));
        }
    }
    std::fs::write(path("edges.csv"), edges).unwrap();
    let roles = Roles { inputs: vec!["colours:category".parse().unwrap()], ..Roles::default() };
    let (set, _) =
        read_matches(&[vec![path("edges.csv")]], &MatchReading { roles, ..MatchReading::default() }).unwrap();
    let fitted = MatchMap::default().fit(&Training::new(&set, &set.all()), &Watch::NOBODY).unwrap();
    let said = fitted.model.predict(&fitted.model.prepare(&set).unwrap(), &[0]).unwrap();
    assert_eq!(said[0].matches.iter().map(|m| m.edge).collect::<Vec<_>>(), [0, 3]);
}

/// A value with the name of all others is one of them; a column with the name of one that an input makes is refused: no model could
/// be read again.
#[test]
fn no_two_columns_have_one_name() {
    let step = learned("country:category", &["(other)", "(other)", "FR"]).unwrap();
    assert_eq!(step.names("country"), ["country=FR", "country=(other)"]);
    assert_eq!(row(&step, "(other)").unwrap(), [(1, 1.0)]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    for (input, head, text) in [
        ("born:date", "born,born_years", "1999-01-01,1"),
        ("title:text", "title=red,title", "1,red"),
        ("emb:vector", "emb,emb_0", "1 2,3"),
    ] {
        std::fs::write(&path, format!("qid,label,{head}\n1,1,{text}\n1,0,{text}\n")).unwrap();
        let roles = Roles { inputs: vec![input.parse().unwrap()], ..Roles::default() };
        let reading = RankReading { roles, ..RankReading::default() };
        let (mut set, _) = read_rank(&[vec![path.clone()]], &reading).unwrap();
        let error = Steps::learn(&set, &[0]).unwrap().apply(&mut set).unwrap_err().to_string();
        assert!(error.contains("twice"), "{input}: {error}");
    }
}

/// Product, cosine and differences of two vectors, number by number from the text of the cells.
#[test]
fn pairs_of_vectors_are_a_plain_loop() {
    let mut random = ordain::random::Random::new(7);
    for case in 0..200 {
        let places = 1 + random.below(6);
        let mut vector = |zero: bool| -> Vec<f32> {
            (0..places).map(|_| if zero { 0.0 } else { (8.0 * random.normal()).round() as f32 / 4.0 }).collect()
        };
        let (a, b) = (vector(case % 20 == 0), vector(case % 30 == 0));
        let cell = ordain::data::pair_text(
            &ordain::data::vector_text(a.iter().copied()),
            &ordain::data::vector_text(b.iter().copied()),
        );
        let step = learned("q,d:vectors", &["|", "1|", &cell]).unwrap();
        let names = step.names("q,d");
        assert_eq!(names[..4], ["q~d_dot", "q~d_cosine", "q~d_missing", "q~d_diff_0"]);
        let mut all = vec![0.0f32; names.len()];
        row(&step, &cell).unwrap().iter().for_each(|&(at, x)| all[at as usize] = x);
        let (mut dot, mut left, mut right) = (0.0f64, 0.0f64, 0.0f64);
        for i in 0..places {
            let (x, y) = (f64::from(a[i]), f64::from(b[i]));
            dot += x * y;
            left += x * x;
            right += y * y;
            assert!((f64::from(all[3 + i]) - (x - y).abs()).abs() < 1e-6);
        }
        let cosine = if left * right > 0.0 { dot / (left * right).sqrt() } else { 0.0 };
        assert!((f64::from(all[0]) - dot).abs() < 1e-4 && (f64::from(all[1]) - cosine).abs() < 1e-6, "{cell}");
        assert!(all[2].abs() < 1e-9 && all.len() == 3 + places);
        for missing in ["", "|", "1 2|", "| 3"] {
            assert_eq!(row(&step, missing).unwrap(), [(2, 1.0)], "{missing:?}");
        }
    }
    let step = learned("q,d:vectors", &["1 2|3 4"]).unwrap();
    for wrong in ["1 2|3", "1|2", "1 2 3|1 2 3", "a|b", "1 2|x", "1e30 0|1e30 0"] {
        assert_eq!(row(&step, wrong), None, "{wrong:?}");
    }
    for wrong in ["q:vectors", "q,d,e:vectors", ",d:vectors", "q,d:vectors=F.npy", "q:text=F.npy", "q:vector="] {
        assert!(wrong.parse::<Input>().is_err(), "{wrong}");
    }
    let files: Input = "q,d:vectors=a.npy,b.npy".parse().unwrap();
    assert_eq!((files.columns(), files.files.len(), files.to_string()), (vec!["q", "d"], 2, "q,d:vectors".into()));
    assert!(learned("q,d:vectors", &["|", "1 2|"]).is_err(), "no pair to learn from");
}

/// Fisher vectors of a step are learned from the training pictures alone, and a model keeps them.
#[test]
fn pictures_are_a_step() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = ordain::data::synthetic::Shapes { classes: 3, each: 6, side: 32, seed: 5 }.make();
    let write = |n: usize, invert: bool| {
        let values = shapes[n].1.values().iter().map(|v| if invert { 255.0 - v } else { *v }).collect();
        let plane = ordain::picture::Grey::new(32, 32, values).unwrap();
        ordain::data::pictures::write_grey(&plane, &folder.path().join(format!("{n}.png"))).unwrap();
    };
    let mut table = String::from("id,photo,labels\n");
    for n in 0..18 {
        write(n, false);
        table += &format!("i{n},{},c{}\n", if n == 7 { String::new() } else { format!("{n}.png") }, n / 6);
    }
    let path = folder.path().join("pictures.csv");
    std::fs::write(&path, table).unwrap();
    let read = |input: &str| {
        let roles = Roles { inputs: vec![input.parse().unwrap()], ..Roles::default() };
        read_labels(&[vec![path.clone()]], &LabelReading { roles, ..LabelReading::default() }).unwrap().0
    };
    let set = read("photo:image[fisher=2,colour=8]");
    let (test, train): (Vec<u32>, Vec<u32>) = set.all().into_iter().partition(|n| n % 5 == 4);
    let steps = Steps::learn(&set, &train).unwrap();
    assert_eq!(steps.columns(), 8 + 4 * 32 * 2);
    // other pictures of the test part change nothing that is learned
    test.iter().for_each(|&n| write(n as usize, true));
    assert_eq!(Steps::learn(&set, &train).unwrap(), steps);
    assert_ne!(Steps::learn(&set, &set.all()).unwrap(), steps);
    let method: CStar = "independent[lambda=1]".parse().unwrap();
    let fitted = method.fit(&Training::new(&set, &train), &Watch::NOBODY).unwrap();
    assert_eq!(fitted.model.inputs.steps, steps);
    let again: ordain::task::Fitted<ordain::method::Annotate> =
        model_file::from_bytes(&model_file::to_bytes(&fitted), std::path::Path::new("m")).unwrap();
    assert_eq!(again.model.inputs.steps, steps);
    // a row is what the recipe makes of the picture by itself
    let mut numbers = set.clone();
    steps.apply(&mut numbers).unwrap();
    let (_, step) = steps.iter().next().unwrap();
    let Step::Image(learned) = step else { unreachable!() };
    let picture = ordain::data::pictures::read_picture(&folder.path().join("3.png")).unwrap();
    let mut seen = vec![0.0; steps.columns()];
    numbers.features.each(3, |j, x| seen[j] = x);
    assert_eq!(seen, learned.apply(&picture));
    numbers.features.each(7, |_, x| assert!(x.abs() < 1e-9, "no picture"));
    assert_eq!(numbers.columns.names[0], "photo_colour0");
    let usual = Steps::learn(&read("photo:image"), &train).unwrap();
    assert_eq!(usual.columns(), 64 + 16 * (3 + 16 + 8));
    // a damaged picture is refused with its row, whoever meets it first
    std::fs::write(folder.path().join("3.png"), b"\x89PNG\r\n\x1a\nshort").unwrap();
    for error in [steps.apply(&mut set.clone()).unwrap_err(), Steps::learn(&set, &train).unwrap_err()] {
        let text = error.to_string();
        assert!(text.contains("a picture in column \"photo\" in row 5") && text.contains("3.png"), "{text}");
    }
    for wrong in ["photo:image[colour=9]", "photo:image[colour=0]", "photo:image[size=3]"] {
        assert!(Steps::learn(&read(wrong), &train).is_err(), "{wrong}");
    }
}
