//! Give labels to items: fit a c-star with a core of five, say why, and ask ten questions about one item.
//!
//! `cargo run --release --example annotate -- items.arff` (without a file, made-up scenes are used)
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::ask::{self, Count, Known, Strategy};
use ordain::data::{LabelReading, read_labels, split, synthetic::Scenes};
use ordain::method::{CStar, LabelWork};
use ordain::metric::{Convention, Metric};
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::structure::star::Clamp;
use ordain::task::{Method, Model, Training};

fn main() -> ordain::Result<()> {
    let set = match std::env::args_os().nth(1) {
        Some(path) => read_labels(&[vec![path.into()]], &LabelReading::default())?.0,
        None => Scenes { items: 1000, ..Scenes::default() }.make(),
    };
    println!("{} items, {} labels, {} features", set.len(), set.labels.len(), set.features.cols());

    let (train, test) = split::hold_out(&set.all());
    let method: CStar = "cstar[core=5,lambda=1e-3,link_lambda=1e-3]".parse()?;
    let annotator = method.fit(&Training::new(&set, &train), &Watch::NOBODY)?.model;
    for (a, b, weight) in annotator.strongest_links(3) {
        println!("link {a} - {b}: {weight:+.2}");
    }
    let ready = annotator.prepare(&set)?;
    let metrics: [Metric; 2] = ["bep".parse()?, "bep_learned".parse()?];
    let result = annotator.evaluate(&ready, &test, &metrics, &Convention::STANDARD)?;
    println!(
        "precision at the number of labels: {:.3} where it is told, {:.3} where it is not",
        result.mean(0),
        result.mean(1)
    );

    // ten questions about the first item held out, answered from its labels
    let item = test[0] as usize;
    let scored = annotator.score(&ready, item)?;
    let (mut clamp, mut work, mut random) = (vec![Clamp::Free; set.labels.len()], LabelWork::default(), Random::new(0));
    for _ in 0..10 {
        let known = Known { count: Count::Learned, clamp: &clamp, skipped: &[] };
        let Some(question) = ask::next(&annotator, &scored, &known, Strategy::Expected, &mut random, &mut work)? else {
            break;
        };
        let yes = set.yes(item).contains(&question.label);
        println!("{}? {}", set.labels[question.label as usize], if yes { "yes" } else { "no" });
        clamp[question.label as usize] = if yes { Clamp::In } else { Clamp::Out };
    }
    let (values, k) = annotator.values(&scored, &clamp, &mut work)?;
    let names = |labels: &[u32]| labels.iter().map(|&l| set.labels[l as usize].as_str()).collect::<Vec<_>>().join(", ");
    println!("the model says: {}", names(&ordain::method::annotator::ranked(&values)[..k]));
    println!("the truth:      {}", names(set.yes(item)));
    Ok(())
}
