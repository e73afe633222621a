//! `--input`: texts, categories, dates and vectors.

use crate::support::{Done, Place, command, ordain, well};
use std::io::Write;
use std::process::Stdio;

fn news(place: &Place) -> String {
    let mut text = String::from("id,title,country,born,emb,labels\n");
    for n in 0..90 {
        let (label, words) = [("sea", "boat wave fish"), ("sky", "cloud bird sun"), ("wood", "tree leaf fox")][n % 3];
        let word = words.split(' ').nth(n / 3 % 3).unwrap();
        text +=
            &format!("i{n},\"A {word}, today\",{},{}-03-01,{} {},{label}\n", ["FR", "DE"][n % 2], 1970 + n, n % 3, n);
    }
    place.write("news.csv", &text)
}

const INPUTS: [&str; 8] =
    ["--input", "title:text", "--input", "country:category", "--input", "born:date", "--input", "emb:vector"];

#[test]
fn a_model_learns_from_texts_and_remembers_how() {
    let place = Place::empty();
    let (news, model) = (news(&place), place.at("news.ordain"));
    well(&[&["fit", "independent", &news, "-o", &model, "--set=lambda=0.1"], &INPUTS[..]].concat());
    let shown = well(&["inspect", &model]).out;
    assert!(shown.contains("input      title:text: ") && shown.contains("title=bird"), "{shown}");
    assert!(shown.contains("country:category: 3 columns (country=DE, country=FR, country=(other))"), "{shown}");
    // the labels are not told, and cells may be empty or new
    let fresh = "id,title,country,born,emb\nx,One wave and a fish,FR,1980-01-01,0 3\ny,,ES,,\nz,Tree,DE,2.4.1990,2 8\n";
    let said = well(&["predict", &model, &place.write("fresh.csv", fresh), "--top=1"]).out;
    assert!(said.contains("x\t") && said.lines().nth(1).unwrap().contains("sea"), "{said}");
    let measured = well(&["--json", "evaluate", &model, &news, "--metric=bep"]).json();
    assert!(measured["metrics"]["bep"]["mean"].as_f64().unwrap() > 0.95, "{measured}");
    let direct = place.at("direct.ordain");
    let settings = ["--set=lambda=0.1", "--set=features=direct"];
    well(&[&["fit", "independent", &news, "-o", &direct], &settings[..], &INPUTS[..]].concat());
    let why = well(&["explain", &direct, &news, "--item=i0", "--above=sea", "--below=sky"]).out;
    assert!(why.contains("title=boat"), "{why}");
    well(&[&["compare", "independent[lambda=0.1]", "--cv", "3", &news, "--metric=bep"], &INPUTS[..]].concat());
    let numbers = place.at("numbers.csv");
    well(&[&["convert", &news, &numbers], &INPUTS[..]].concat());
    let head = place.read("numbers.csv");
    assert!(head.starts_with("id,title=bird,title=boat"), "{}", head.lines().next().unwrap());
    assert!(head.lines().next().unwrap().contains("born_years,born_month,born_weekday"));
    // the numeric table goes to a model like any other
    let labels = "--labels=sea,sky,wood";
    well(&["fit", "independent", &numbers, "-o", &place.at("n.ordain"), "--set=lambda=0.1", labels]);
    assert!(well(&[&["inspect", &news], &INPUTS[..]].concat()).out.contains("90 items"));
}

#[test]
fn what_is_no_input_is_refused() {
    let place = Place::empty();
    let (news, model) = (news(&place), place.at("m.ordain"));
    let fit = |more: &[&str]| ordain(&[&["fit", "independent", &news, "-o", &model, "--set=lambda=1"], more].concat());
    fit(&["--input", "title"]).code(2).says("COLUMN:text");
    fit(&["--input", "title:words"]).code(2).says("unknown kind of input \"words\"");
    fit(&["--input", "titel:text"]).code(1).says("a header with the column \"titel\"");
    let others = ["--input", "title:text", "--input", "country:category", "--input", "emb:vector"];
    fit(&[&others[..], &["--input", "born:date[most=3]"]].concat())
        .code(1)
        .says("unknown setting of an input \"most\"");
    fit(&[&others[..5], &["title:date", "--ignore", "born"]].concat()).code(1).says("as an input twice");
    fit(&INPUTS).code(0);
    ordain(&["predict", &model, &news, "--input", "title:category"])
        .code(2)
        .says("the model was trained with title:text");
    let bad = place.write("bad.csv", "id,title,country,born,emb\nx,a,FR,soon,0 3\n");
    ordain(&["predict", &model, &bad]).code(1).says("dates such as").says("\"soon\"");
    let bad = place.write("bad.csv", "id,title,country,born,emb\nx,a,FR,,0 3 4\n");
    ordain(&["predict", &model, &bad]).code(1).says("as many in every row");
}

/// Every fold of a cross-validation learns its steps anew: it gives what files of its parts give by themselves. Numbers that were made of the whole file
/// before it was cut give something else, so that a step that sees the test part would be found.
#[test]
fn folds_learn_their_steps_anew() {
    let place = Place::empty();
    let mut random = ordain::random::Random::new(3);
    let words: Vec<&str> = "boat wave fish cloud bird sun tree leaf fox".split(' ').collect();
    let head = "id,title,country,labels\n";
    let row = |n: usize| {
        let label = random.below(3);
        let mut said =
            |own: usize| words[3 * (if random.below(3) == 0 { random.below(3) } else { own }) + random.below(3)];
        let text = format!("{} {} {}", said(label), said(label), said(label));
        let country = ["FR", "DE", "ES", "IT", "PL"][random.below(5)];
        // words that only a few items have, and whose number changes what all others weigh
        format!("i{n},\"{text} w{}\",{country},{}\n", n % 29, ["sea", "sky", "wood"][label])
    };
    let rows: Vec<String> = (0..90).map(row).collect();
    let of = |folds: &[usize]| -> String {
        head.to_owned()
            + &rows
                .iter()
                .enumerate()
                .filter(|(n, _)| folds.contains(&(n % 3)))
                .map(|(_, row)| &**row)
                .collect::<String>()
    };
    let inputs = ["--input", "title:text", "--input", "country:category"];
    let method = "independent[lambda=0.1,features=direct]";
    let measure = ["--metric=bep,ndcg", "--json"];
    let means = |words: &[&str], fold: usize| -> Vec<f64> {
        let value = well(&[&["compare", method], words, &measure].concat()).json();
        let metrics = value["methods"][0]["metrics"].as_object().unwrap().values();
        metrics.map(|own| own["folds"].get(fold).unwrap_or(&own["mean"]).as_f64().unwrap()).collect()
    };
    let whole = place.write("all.csv", &of(&[0, 1, 2]));
    let numbers = place.at("numbers.csv");
    well(&[&["convert", &whole, &numbers], &inputs[..]].concat());
    let mut told = 0;
    for fold in 0..3 {
        // nothing is chosen, so that the part to choose by is learned from too
        let train = place.write("train.csv", &of(&[(fold + 1) % 3, (fold + 2) % 3]));
        let test = place.write("test.csv", &of(&[fold]));
        let by_hand = [&["--train", &train, "--test", &test], &inputs[..]].concat();
        let by_hand = means(&by_hand, 0);
        let own = means(&[&["--cv", "3", &whole], &inputs[..]].concat(), fold);
        assert!(own.iter().zip(&by_hand).all(|(a, b)| (a - b).abs() < 1e-12), "fold {fold}: {own:?} and {by_hand:?}");
        let before = means(&["--cv", "3", &numbers, "--labels=sea,sky,wood"], fold);
        told += usize::from(before != own);
    }
    assert!(told > 0, "steps that have seen all items are not told from those of the folds");
}

/// A `.npy` file of rows of float32.
fn npy(rows: &[[f32; 2]]) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 2), }}", rows.len());
    header += &" ".repeat(117 - header.len());
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    rows.iter().flatten().for_each(|x| bytes.extend(x.to_le_bytes()));
    bytes
}

/// Vectors of a file are those of a column: the same model, but for what it calls its data by.
#[test]
fn vectors_come_from_columns_and_from_files() {
    let place = Place::empty();
    let rows: Vec<[f32; 2]> = (0..60).map(|n: u16| [f32::from(n % 7) - 2.5, f32::from(n * 5 % 11) / 4.0]).collect();
    let other: Vec<[f32; 2]> = rows.iter().rev().copied().collect();
    let (mut plain, mut bare) = ("qid,label,size,q,d\n".to_owned(), "qid,label,size\n".to_owned());
    for (n, (a, b)) in rows.iter().zip(&other).enumerate() {
        let grade = u8::from(a[0] * b[0] + a[1] * b[1] > 1.0);
        bare += &format!("q{},{grade},{}\n", n / 6, n % 3);
        plain += &format!("q{},{grade},{},{} {},\"[{}, {}]\"\n", n / 6, n % 3, a[0], a[1], b[0], b[1]);
    }
    let (plain, bare) = (place.write("plain.csv", &plain), place.write("bare.csv", &bare));
    std::fs::write(place.at("q.npy"), npy(&rows)).unwrap();
    std::fs::write(place.at("d.npy"), npy(&other)).unwrap();
    let (model, same) = (place.at("m.ordain"), place.at("s.ordain"));
    let files = format!("q,d:vectors={},{}", place.at("q.npy"), place.at("d.npy"));
    let one = format!("q:vector={}", place.at("q.npy"));
    let method = "ranksvm[lambda=0.01]";
    well(&["fit", method, &plain, "-o", &model, "--input=q,d:vectors", "--input=q:vector"]);
    well(&["fit", method, &bare, "-o", &same, "--input", &files, "--input", &one]);
    let shown = well(&["inspect", &model]).out;
    assert!(
        shown.contains("input      q,d:vectors: 5 columns (q~d_dot, q~d_cosine, q~d_missing, q~d_diff_0, …)"),
        "{shown}"
    );
    let said = well(&["predict", &model, &plain]).out;
    assert_eq!(well(&["predict", &same, &bare, "--input", &files, "--input", &one]).out, said);
    assert_eq!(well(&["predict", &same, &plain]).out, said, "a model does not keep its files");
    let ndcg = well(&["--json", "evaluate", &model, &plain, "--metric=map"]).json();
    assert!(ndcg["metrics"]["map"]["mean"].as_f64().unwrap() > 0.9, "the product tells the grade: {ndcg}");
    // files that do not fit
    let fit = |more: &[&str]| ordain(&[&["fit", method, &bare, "-o", &model], more].concat());
    fit(&["--input=q:vector"]).code(1).says("a header with the column \"q\"");
    std::fs::write(place.at("short.npy"), npy(&rows[1..])).unwrap();
    let short = format!("q:vector={}", place.at("short.npy"));
    fit(&["--input", &short]).code(1).says("short.npy").says("as many vectors as the tables have rows");
    std::fs::write(place.at("long.npy"), npy(&[&rows[..], &rows[..1]].concat())).unwrap();
    let long = format!("q:vector={}", place.at("long.npy"));
    fit(&["--input", &long]).code(1).says("which are 60").says("61");
    let twice = ordain(&["fit", method, &plain, "-o", &model, "--input", &one, "--input=d:vector"]);
    twice.code(1).says("as a column and as a file");
    std::fs::write(place.at("nan.npy"), npy(&[&[[f32::NAN, 0.0]], &rows[1..]].concat())).unwrap();
    fit(&["--input", &format!("q:vector={}", place.at("nan.npy"))]).code(1).says("NaN in row 1");
}

/// A table of paths: pictures are read from its folder, and whatever cannot be read is refused with its line.
#[test]
fn pictures_are_inputs() {
    let place = Place::empty();
    let folder = place.at("shapes");
    well(&["make", "silhouettes", "-o", &folder, "--each", "6"]);
    let table = format!("{folder}/pictures.csv");
    let model = place.at("m.ordain");
    let input = ["--input", "photo:image[gradients=8,grid=2]"];
    well(&[&["fit", "independent", &table, "-o", &model, "--set=lambda=1"], &input[..]].concat());
    let measured = well(&["--json", "evaluate", &model, &table, "--metric=bep"]).json();
    assert!(measured["metrics"]["bep"]["mean"].as_f64().unwrap() > 0.9, "{measured}");
    assert!(well(&["inspect", &model]).out.contains("input      photo:image[gradients=8,grid=2]: 32 columns"));
    let numbers = place.at("numbers.csv");
    well(&[&["convert", &table, &numbers], &input[..]].concat());
    assert!(place.read("numbers.csv").starts_with("id,photo_gradients0_0,photo_gradients0_1"));
    let absent = "id,photo\nx,class0/class0-0.png\ny,class0/none.png\n";
    std::fs::write(format!("{folder}/absent.csv"), absent).unwrap();
    let done = ordain(&["predict", &model, &format!("{folder}/absent.csv")]).code(1);
    done.says("absent.csv:3").says("the path of a picture, from the folder of the table");
    // claims 100,000 x 100,000 pixels
    let mut huge = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\x01\x86\xa0\0\x01\x86\xa0\x08\0\0\0\0".to_vec();
    huge.extend([0; 40]);
    std::fs::write(format!("{folder}/huge.png"), huge).unwrap();
    std::fs::write(format!("{folder}/text.png"), "no picture").unwrap();
    for name in ["huge.png", "text.png", "pictures.csv"] {
        std::fs::write(format!("{folder}/bad.csv"), format!("id,photo\nx,{name}\n")).unwrap();
        let done = ordain(&["predict", &model, &format!("{folder}/bad.csv")]).code(1);
        done.says("a picture in column \"photo\" in row 2").says(name);
    }
}

#[test]
fn what_is_made_up_is_the_same_for_a_seed() {
    let place = Place::empty();
    for (name, seed) in [("a", "3"), ("b", "3"), ("c", "4")] {
        well(&["make", "levels", "-o", &place.at(name), "--seed", seed]);
        well(&["make", "videos", "-o", &place.at(&format!("{name}/v")), "--seed", seed, "--each", "1"]);
    }
    let same = |x: &str, y: &str, file: &str| {
        let read = |name: &str| std::fs::read(place.at(&format!("{name}/{file}"))).unwrap();
        read(x) == read(y)
    };
    for file in ["train.txt", "test.txt", "v/class4/004/3.png"] {
        assert!(same("a", "b", file) && !same("a", "c", file), "{file}");
    }
    // silhouettes of the made-up videos serve as pictures for others
    let (from, videos) = (place.at("a/v"), place.at("w"));
    ordain(&["make", "videos", "-o", &videos, "--from", &place.at("c/v/class1")])
        .code(2)
        .says("10 folders of pictures");
    well(&["make", "videos", "-o", &videos, "--from", &from, "--each", "1"]);
    let table = place.at("videos.csv");
    well(&["features", &videos, "-o", &table, "--tensor", "3x3x2", "--side", "20"]);
    assert_eq!(place.read("videos.csv").lines().count(), 11);
}

#[test]
fn the_demo_goes_from_pixels_to_a_ranking() {
    let place = Place::empty();
    let out = place.at("demo");
    let done = ordain(&["demo", "rank", "--pictures", "--out", &out]).code(0);
    assert!(done.out.contains("ballrank") && done.out.contains("ndcg@10"), "{}", done.out);
    assert!(place.read("demo/report.html").contains("ranksvm"));
    ordain(&["demo", "match", "--pictures", "--out", &out]).code(2).says("demo rank");
}

/// Cells that never end are refused long before their 10^9 characters are read, quoted or not.
#[test]
fn cells_without_an_end_are_refused_in_time() {
    for quote in ["", "\""] {
        let words = ["convert", "-", "/dev/null", "--max-line", "4000000", "--input", "title:text"];
        let mut child =
            command(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut to = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            let block = vec![b'x'; 1 << 20];
            let mut taken = to.write(format!("qid,label,title\n1,0,{quote}").as_bytes()).unwrap_or(0);
            while taken < 1_000_000_000 {
                match to.write(&block) {
                    Ok(more) => taken += more,
                    Err(_) => break, // nobody reads any more
                }
            }
            taken
        });
        let done = Done::of(child.wait_with_output().unwrap());
        let taken = writer.join().unwrap();
        assert!(taken < 100_000_000, "{taken} bytes were read");
        done.code(1).says("4000000");
    }
}
