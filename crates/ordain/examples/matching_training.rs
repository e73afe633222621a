//! Table 1 of \[EFM\] at M = 20: seconds of training per pair of sheared silhouettes, beside one dense sum over matchings.
//!
//! `cargo run --release -p ordain --example matching_training -- [DATA]`; DATA, or `ORDAIN_DATA`, is the folder of data sets. One
//! thread, seconds of the processor. First whole trainings at one λ, and with the choice of λ and scaling on as many pairs. Then the
//! gradient as the paper has it, Eq. (15): 100 exact samples per pair by Huber and Law's sampler, and by DeepAR, beside the exact gradient.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::data::read_contours;
use ordain::data::scale::{Scale, Scaling};
use ordain::data::synthetic::Silhouettes;
use ordain::method::{Choice, MatchMap, MatchMargin, Positive};
use ordain::random::Random;
use ordain::scorer::rows::{self, Rows};
use ordain::solver::run::Watch;
use ordain::structure::matching::graph::Graph;
use ordain::structure::matching::{Engine, engine, huber_law, samples::Samples, subsets};
use ordain::task::{Method, Training};
use ordain::traits::Scorer;
use std::path::Path;

const M: usize = 20;
const PAIRS: u32 = 20;
const SAMPLES: usize = 100;
const ROUNDS: u8 = 30;

/// Seconds of the processor that this process has had, so that other work on the machine does not count. Of Linux alone.
fn cpu() -> f64 {
    let of = |task: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    std::fs::read_dir("/proc/self/task").map_or(f64::NAN, |tasks| tasks.filter_map(of).sum::<f64>() / 1e9)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let data = std::env::args().nth(1).or(std::env::var("ORDAIN_DATA").ok()).ok_or("the folder of data sets")?;
    let contours = read_contours(&Path::new(&data).join("matching/mpeg7-ce1-b/contours100.csv.gz"))?;
    let (_, horse) = contours.into_iter().find(|(name, _)| name == "horse-1").ok_or("no horse-1")?;
    let set = Silhouettes { pairs: [200, 200, 0], ..Silhouettes::of_contour(horse) }.make().0;
    let graph = Graph::new(M, M, &set.problem(0).edges, false)?;
    let (mut work, mut p, mut one) = (subsets::Work::default(), vec![0.0; M * M], 0.0);
    for round in 0..ROUNDS as usize {
        let w: Vec<f64> = (0..M * M).map(|e| f64::from(((e + round) % 7) as u8)).collect();
        let start = cpu();
        subsets::log_sum(&w, M, &mut work, &mut p)?;
        one += (cpu() - start) / f64::from(ROUNDS);
    }
    println!("one dense sum with all marginals, M = {M}: {:.2} ms", 1e3 * one);
    println!("   N  lambda   matchmap, s per pair   / dense sum  steps   matchmargin, s per pair  steps");
    let mut last = None;
    for n in [50u32, 100, 200] {
        let (train, valid): (Vec<u32>, Vec<u32>) = ((0..n).collect(), (200..200 + n).collect());
        for lambda in [Some(0.1), Some(0.01), Some(0.001), None] {
            let mut training = Training { refit: false, ..Training::new(&set, &train) };
            let (mut map, mut margin) =
                (MatchMap::default(), MatchMargin { calibrate: false, ..MatchMargin::default() });
            if let Some(lambda) = lambda {
                (map.scale, map.lambda) = (Choice::Set(Scale::Global), Choice::Set(Positive::new(lambda)?));
                (margin.scale, margin.lambda) = (map.scale, map.lambda);
            } else {
                training.valid = Some(&valid);
            }
            let start = cpu();
            let by_map = map.fit(&training, &Watch::NOBODY)?;
            let middle = cpu();
            let by_margin = margin.fit(&training, &Watch::NOBODY)?;
            let [a, b] = [middle - start, cpu() - middle].map(|time| time / f64::from(n));
            // of a path all candidates count, and the measurements on the validation pairs with them
            let tried = by_map.facts.chosen.as_ref().map_or(1, |chosen| chosen.candidates.len());
            let name = lambda.map_or(format!("{tried} tried"), |lambda| lambda.to_string());
            let steps = [by_map.facts.report.iterations, by_margin.facts.report.iterations];
            println!(
                "{n:4}  {name:9} {a:.5}               {:10.2}  {:5}   {b:.5} {:22}",
                a / tried as f64 / one,
                steps[0],
                steps[1]
            );
            last = Some(by_map).filter(|_| lambda == Some(0.01)).or(last);
        }
    }
    let fitted = last.ok_or("a model")?;
    println!("\ngradient of {PAIRS} pairs, {SAMPLES} samples each (at the end: weights of lambda = 0.01, N = 200)");
    println!(
        "weights  sampler    acceptance  s per pair and gradient  error / |gradient at zero|  exact, s  for {} steps, s per pair",
        fitted.facts.report.iterations
    );
    let units: Vec<u32> = (0..PAIRS).collect();
    let scaling = fitted.model.inputs.global.clone().map_or(Scaling::None, Scaling::Global);
    let edges = Rows::new(&set, &units, &scaling);
    let (zero, mut at_zero) = (vec![0.0; fitted.model.score.weights().len()], 0.0);
    for (name, theta) in [("zero", &zero[..]), ("learned", fitted.model.score.weights())] {
        for head in [0, 10] {
            let settings = huber_law::Settings { head, cap: 3_000_000 };
            let (mut engines, mut sampler, mut samples) =
                (engine::Work::default(), huber_law::Work::default(), Samples::default());
            let (mut exact, mut error, mut s, mut p, mut q) =
                (zero.clone(), zero.clone(), vec![0.0; M * M], vec![0.0; M * M], vec![0.0; M * M]);
            let (mut times, mut accepted, mut trials) = ([0.0; 2], 0, 0);
            for n in 0..units.len() {
                edges.scores(n, theta, &mut s, &mut rows::Work::default());
                let start = cpu();
                engine::log_sum(Engine::Pruned, &graph, &s, 0, &mut engines, &mut p)?;
                let middle = cpu();
                let drawn = huber_law::draw(
                    &graph,
                    &s,
                    SAMPLES,
                    &settings,
                    &mut Random::new(n as u64),
                    &mut sampler,
                    &mut samples,
                )?;
                samples.marginals(&graph, &mut q);
                times = [times[0] + middle - start, times[1] + cpu() - middle];
                (accepted, trials) = (accepted + drawn.accepted, trials + drawn.trials);
                q.iter_mut().zip(&p).for_each(|(q, p)| *q -= p);
                edges.pull_back(n, &q, &mut error, &mut rows::Work::default());
                set.problem(n).matched().for_each(|e| p[e] -= 1.0);
                edges.pull_back(n, &p, &mut exact, &mut rows::Work::default());
            }
            let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
            at_zero = if name == "zero" { norm(&exact) } else { at_zero };
            let [own, drawn] = times.map(|time| time / f64::from(PAIRS));
            println!(
                "{name:8} {:10} {:.2e} {drawn:20.5} {:25.4} {own:18.5} {:12.1}",
                if head == 0 { "huber-law" } else { "deepar" },
                accepted as f64 / trials as f64,
                norm(&error) / at_zero,
                drawn * fitted.facts.report.iterations as f64
            );
        }
    }
    Ok(())
}
