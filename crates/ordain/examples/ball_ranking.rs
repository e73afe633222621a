//! Figures 3 and 4 of \[BRM\]: what the Ball Ranking Machine costs, what it rests on and how well it ranks, against the size of the training set.
//!
//! `cargo run --release -p ordain --example ball_ranking -- [DATA] [--short]`; DATA, or `ORDAIN_DATA`, is the folder of data sets, without it only made-up data are
//! ranked. `--write DIR` only writes the made-up data, as files for `ordain compare --train … --test …`, whose report draws figures 1 and 2. A Gaussian kernel, width 1 in units of the median distance, C = 1 in units of the paper (λ = 1/pairs); one thread, seconds of the processor; means
//! over seeds or halves. NDCG is of whole lists, convention `letor2`, on queries or images that were not trained on. The machine takes at most 4,000 steps, each for one core pair: a `+` marks
//! rows in which a fit ended there, before its ε; core pairs that lost their weight again are not counted. Beside it the exact RankSVM with one coefficient per document, where no block has more than 6,000.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::data::synthetic::Levels;
use ordain::data::{ItemRows, LabelReading, LabelSet, RankSet, Retrieval, Roles, read_labels, write};
use ordain::method::RankMethod;
use ordain::metric::Convention;
use ordain::solver::run::Watch;
use ordain::surrogate::pair_hinge::PairHinge;
use ordain::task::{Method, Model, Training};
use ordain::traits::{Stop, Surrogate};
use std::path::{Path, PathBuf};

const CAP: usize = 4000;
const EXACT: usize = 6000;

type Done = Result<(), Box<dyn std::error::Error>>;

/// Seconds of the processor that this process has had, so that other work on the machine does not count. Of Linux alone.
fn cpu() -> f64 {
    let of = |task: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    std::fs::read_dir("/proc/self/task").map_or(f64::NAN, |tasks| tasks.filter_map(of).sum::<f64>() / 1e9)
}

/// Queries to train on and queries to test on, each of a set.
struct Fold {
    train: (RankSet, Vec<u32>),
    test: (RankSet, Vec<u32>),
}

/// One line for each method, of the means over folds.
fn rows(size: &str, folds: &[Fold], blocks: bool, scale: &str) -> Done {
    let ball = |epsilon: &str, polish: bool| format!("ballrank[epsilon={epsilon},polish={polish},max_iter={CAP}");
    let methods = [
        ("ball 1e-2", ball("1e-2", false)),
        ("ball 1e-3", ball("1e-3", false)),
        ("ball 1e-4", ball("1e-4", false)),
        ("1e-3, polished", ball("1e-3", true)),
        ("exact", "ranksvm[kernel=rbf,weight=pair,documents=all".to_owned()),
    ];
    for (name, method) in &methods {
        // seconds, pairs to learn from, core pairs, core documents, documents, NDCG
        let (mut sums, mut capped) = ([0.0; 6], 0);
        for Fold { train: (set, units), test: (other, asked) } in folds {
            let spans = || units.iter().map(|&q| set.span(q as usize));
            let documents: usize = spans().map(|span| span.len()).sum();
            let block = if blocks { spans().map(|span| span.len()).max().unwrap_or(0) } else { documents };
            if *name == "exact" && block > EXACT {
                return Ok(());
            }
            let loss = PairHinge::new(spans().map(|span| &set.grades[span]), None);
            let pairs: f64 = (0..loss.len()).map(|n| loss.pairs(n).0).sum();
            let method: RankMethod =
                format!("{method},scale={scale},blocks={blocks},gamma=1,lambda={:e}]", 1.0 / pairs).parse()?;
            let start = cpu();
            let fitted = method.fit(&Training::new(set, units), &Watch::NOBODY)?;
            let seconds = cpu() - start;
            let core = fitted.facts.notes.core.as_ref().ok_or("a model without core documents")?;
            capped += usize::from(fitted.facts.report.stop == Stop::Iterations);
            let (ndcg, by): (_, Convention) = ("ndcg".parse()?, "letor2".parse()?);
            let ndcg = fitted.model.evaluate(&fitted.model.prepare(other)?, asked, &[ndcg], &by)?.mean(0);
            let own = [seconds, pairs, core.pairs.unwrap_or(0) as f64, core.documents as f64, documents as f64, ndcg];
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own / folds.len() as f64);
        }
        let [seconds, pairs, core, of, documents, ndcg] = sums;
        let mark = if capped > 0 { "+" } else { "" };
        let core = if core > 0.0 { format!("{core:.0}{mark}") } else { "-".into() };
        println!("{size:>9}  {name:14}  {seconds:8.3}  {pairs:9.0}  {core:>10}  {of:9.0}  {documents:9.0}  {ndcg:.4}");
    }
    Ok(())
}

fn head(name: &str, size: &str) {
    println!("\n{name}\n{size:>9}  method          CPU, s        pairs  core pairs  core docs  documents  NDCG");
}

/// Each half in turn to train on, with the whole other half to test on.
fn halves(set: &LabelSet, how: &Retrieval) -> ordain::Result<Vec<Fold>> {
    let mut folds = vec![];
    for [train, test] in [[ItemRows::Even, ItemRows::Odd], [ItemRows::Odd, ItemRows::Even]] {
        let train = Retrieval { rows: train, ..how.clone() }.make(set)?;
        let test = Retrieval { rows: test, per_label: None, ..how.clone() }.make(set)?;
        let (units, asked) = (train.all(), test.all());
        folds.push(Fold { train: (train, units), test: (test, asked) });
    }
    Ok(folds)
}

/// The made-up queries: twenty to train on and twenty to test on.
fn levels(side: f64, seed: u64) -> RankSet {
    Levels { queries: 40, side, seed, ..Levels::default() }.make()
}

/// Writes them as text, a file for either part of each side and seed.
fn write_levels(folder: &Path) -> Done {
    std::fs::create_dir_all(folder)?;
    for (side, seed) in [2, 4].iter().flat_map(|&side| (1..=5).map(move |seed| (side, seed))) {
        let set = levels(f64::from(side), seed);
        for (part, units) in [("train", 0..20), ("test", 20..40)] {
            let path = folder.join(format!("side{side}-seed{seed}-{part}.txt"));
            write(&set.only(&units.collect::<Vec<u32>>()), &path)?;
        }
    }
    Ok(())
}

fn main() -> Done {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = words.iter().position(|word| word == "--write") {
        return write_levels(Path::new(words.get(at + 1).ok_or("--write wants a folder")?));
    }
    let (flags, names): (Vec<String>, Vec<String>) = words.into_iter().partition(|word| word == "--short");
    let (short, data) = (!flags.is_empty(), names.first().cloned().or(std::env::var("ORDAIN_DATA").ok()));
    for side in [2.0, 4.0] {
        head(&format!("Levels, side {side}, 300 documents a query"), "queries");
        for n in if short { vec![5] } else { vec![5, 10, 20] } {
            let fold = |seed| {
                let set = levels(side, seed);
                Fold { train: (set.clone(), (0..n).collect()), test: (set, (20..40).collect()) }
            };
            rows(&n.to_string(), &(1..=if short { 1 } else { 5 }).map(fold).collect::<Vec<_>>(), false, "none")?;
        }
    }
    let Some(data) = data else { return Ok(()) };
    let read = |names: &[&str], reading: &LabelReading| -> ordain::Result<LabelSet> {
        let files: Vec<PathBuf> = names.iter().map(|name| Path::new(&data).join(name)).collect();
        Ok(read_labels(&[files], reading)?.0)
    };
    let reading = LabelReading {
        category: Some("category".into()),
        roles: Roles { id: Some("image".into()), ignore: vec!["name".into()], ..Roles::default() },
        ..LabelReading::default()
    };
    let corel = read(&["retrieval/wang-corel1k/features.csv.gz"], &reading)?;
    head("wang-corel1k by category, ten categories", "images");
    for n in if short { vec![5, 10] } else { vec![5, 10, 20, 30, 50] } {
        let how = Retrieval { per_label: Some(n), ..Retrieval::default() };
        rows(&n.to_string(), &halves(&corel, &how)?, true, "global")?;
    }
    if !short {
        let files =
            ["mediamill-train.arff.gz", "mediamill-test.arff"].map(|f| format!("annotation/mediamill_reduced/{f}"));
        let shots = read(&[&files[0], &files[1]], &LabelReading::default())?;
        let how =
            Retrieval { commonest: Some(10), at_most: Some(400), among_first: Some(1500), ..Retrieval::default() };
        head("mediamill_reduced, ten concepts", "shots");
        rows("half", &halves(&shots, &how)?, true, "global")?;
    }
    Ok(())
}
