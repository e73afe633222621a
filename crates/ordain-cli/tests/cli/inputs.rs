//! `--input`: texts, categories, dates and vectors.

use crate::support::{Place, ordain, well};

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
