//! Speed gates of kernels: prediction beside the bare matrix product, and training as documents are added. On one thread,
//! so that time is CPU time.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{alone, at_least, at_most, fastest, seconds};
use ordain::data::synthetic::Synthetic;
use ordain::data::{Columns, RankSet};
use ordain::kernel::{self, Expansion, Form, Kernel, Part};
use ordain::matrix::{Features, Matrix, multiply_f32};
use ordain::method::RankMethod;
use ordain::random::Random;
use ordain::solver::run::Watch;
use ordain::task::{Method, Training};
use std::hint::black_box;

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn prediction_is_a_matrix_product() {
    let (n, core, d, chunk) = (100_000, 500, 100, 128);
    let mut random = Random::new(1);
    let mut documents = |n: usize| -> Vec<f32> { (0..n * d).map(|_| random.normal() as f32).collect() };
    let (docs, own) = (documents(n), documents(core));
    let part = Part {
        query: None,
        documents: (0..core as u32).collect(),
        coefficients: (0..core).map(|j| (j % 7) as f64 - 3.0).collect(),
    };
    let kernel = Kernel { form: Form::Rbf, gamma: 1.0 / 200.0 };
    let model = Expansion::new(kernel, Matrix::new(own.clone(), d), vec![part.clone()]);
    alone(|| {
        let (mut bare, mut whole) = (f64::INFINITY, f64::INFINITY);
        let (mut scores, mut block) = (vec![0.0; n], vec![0.0f32; chunk * core]);
        for _ in 0..9 {
            bare = bare.min(seconds(|| {
                for docs in docs.chunks(chunk * d) {
                    let m = docs.len() / d;
                    block.fill(0.0);
                    multiply_f32([m, d, core], 1.0, (docs, [d, 1]), (&own, [1, d]), (&mut block, core));
                    black_box(&block);
                }
            }));
            whole = whole.min(seconds(|| model.scores(&part, &docs, &mut scores)));
            black_box(&scores);
        }
        let ratio = whole / bare;
        println!(
            "{n} documents x {core} core documents x {d}: {whole:.3} s, bare product {bare:.3} s: {ratio:.2} times"
        );
        at_most("prediction beside the bare matrix product", ratio, 2.0);
    });
}

/// Ten categories that ask for their images, so many of each: 60 features, a centre for each category.
fn images(each: usize) -> RankSet {
    let (categories, d) = (10, 60);
    let mut random = Random::new(3);
    let centres: Vec<f64> = (0..categories * d).map(|_| random.normal()).collect();
    let mut values: Vec<f32> = vec![];
    for _ in 0..each {
        values.extend(centres.iter().map(|x| (x + 1.5 * random.normal()) as f32));
    }
    let n = categories * each;
    let grades = (0..categories * n).map(|row| f64::from(u8::from(row / n == row % n % categories))).collect();
    let columns = Columns { names: (1..=d).map(|j| j.to_string()).collect(), numbered: true, ..Columns::default() };
    let features = Features::Dense(Matrix::new(values.repeat(categories), d));
    let (bounds, names) = ((0..=categories).map(|q| q * n), (0..categories).map(|q| q.to_string()));
    RankSet::new(features, columns, grades, bounds.collect(), names.collect()).unwrap()
}

#[test]
#[ignore = "measures time, run by ./check --speed"]
fn training_of_a_ball_is_about_linear_in_documents() {
    alone(|| {
        let sizes = [5, 10, 20, 50];
        let times = sizes.map(|each| {
            let set = images(each);
            let pairs = (10 * each * 9 * each) as f64; // C = 1
            let text = format!("ballrank[epsilon=1e-3,scale=global,blocks=true,gamma=1,lambda={:e}]", 1.0 / pairs);
            let (method, units): (RankMethod, Vec<u32>) = (text.parse().unwrap(), set.all());
            let (mut best, mut core) = (f64::INFINITY, String::new());
            for _ in 0..3 {
                best = best.min(seconds(|| {
                    let model = method.fit(&Training::new(&set, &units), &Watch::NOBODY).unwrap();
                    let facts = model.facts.notes.core.unwrap();
                    core = format!("{} core pairs, {} core documents", facts.pairs.unwrap(), facts.documents);
                }));
            }
            println!("{each} images of each category, {} documents: {best:.4} s, {core}", set.rows());
            best
        });
        let ratio = times[3] / times[0];
        println!("ten times the documents: {ratio:.1} times, slope {:.2}", ratio.log10());
        at_most("a ball on ten times the documents", ratio, 20.0);
    });
}

/// A fit with everything open beside the linear one: 30 times is what the choice of a kernel may cost.
#[test]
#[ignore = "measures time, run by ./check --speed"]
fn a_kernel_fit_costs_at_most_thirty_linear_ones() {
    alone(|| {
        for (queries, documents, features) in [(123, (20, 40), 136), (500, (30, 50), 46), (150, (5, 15), 46)] {
            let set = Synthetic { queries, documents, features, ..Synthetic::default() }.make();
            let units = set.all();
            let time = |text: &str, tries: usize| {
                let method: RankMethod = text.parse().unwrap();
                fastest(tries, || {
                    black_box(method.fit(&Training::new(&set, &units), &Watch::NOBODY).unwrap());
                })
            };
            let linear = time("ranksvm", 3);
            for method in ["ranksvm[kernel=rbf]", "ballrank"] {
                let own = time(method, 1);
                let ratio = own / linear;
                let rows = set.rows();
                println!("{method}, {rows} x {features}: {own:.3} s, linear {linear:.3} s: {ratio:.1} times");
                at_most(&format!("{method} with everything open beside the linear fit, {rows} documents"), ratio, 30.0);
            }
        }
    });
}

/// Single columns of a kernel: documents are packed once, not for each column as by a matrix product.
#[test]
#[ignore = "measures time, run by ./check --speed"]
fn a_column_does_not_pack_the_documents_again() {
    let (n, d) = (5000, 50);
    let mut random = Random::new(1);
    let docs: Vec<f32> = (0..n * d).map(|_| random.normal() as f32).collect();
    let kernel = Kernel { form: Form::Rbf, gamma: 1.0 / 100.0 };
    alone(|| {
        let product = fastest(3, || {
            let mut column = vec![0.0; n];
            for i in 0..500 {
                kernel.block(&docs, &docs[i * d..(i + 1) * d], d, &mut column);
                black_box(&column);
            }
        });
        let packed = fastest(3, || {
            let columns = kernel::Columns::new(kernel, &docs, d, 1 << 30);
            for i in 0..500 {
                black_box(columns.get(i));
            }
        });
        let ratio = product / packed;
        println!("500 columns of {n} x {d}: {packed:.4} s, by products {product:.4} s: {ratio:.1} times");
        at_least("kernel columns beside products with one column", ratio, 2.0);
    });
}
