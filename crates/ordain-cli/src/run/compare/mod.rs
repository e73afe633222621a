//! `ordain compare`: methods trained and tested side by side.

mod show;

use super::evaluate::{BOOTSTRAP, curve_metrics, strongest};
use super::{check_interrupt, check_output};
use crate::args::Compare;
use crate::plan::{self, Measures, Usage};
use crate::report::{Bin, PlacedDocument, PlacesPart, Reliability};
use crate::screen::Screen;
use anyhow::Result;
use ordain::data::split::{self, Fold, Layout};
use ordain::data::{self, Missing, RankSet, write_whole};
use ordain::method::{Facts, Fitted, Method, Training};
use ordain::metric::calibration::{Calibration, in_head};
use ordain::metric::{self, Evaluation, Metric, stats};
use ordain::model_file;
use ordain::solver::run::Watch;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

/// Where the rounds of a comparison come from.
enum Rounds {
    /// One set, cut in several ways.
    Cuts(Rc<RankSet>, Vec<Fold>),
    /// Three files for each round.
    Files(Vec<[PathBuf; 3]>),
}

/// One method over all rounds.
struct Entry {
    label: String,
    method: Method,
    result: Evaluation,
    curve: Evaluation,
    fold_means: Vec<Vec<f64>>,
    facts: Vec<Facts>,
    fit: f64,
    predict: f64,
    bytes: usize,
    support: usize,
    features: Vec<(String, f64)>,
    /// Head places, and how their probabilities come true on test documents.
    calibration: Option<(usize, Calibration)>,
    places: Option<PlacesPart>,
}

/// A paired test of two entries by one metric.
struct Test {
    metric: usize,
    a: usize,
    b: usize,
    difference: f64,
    p: f64,
}

/// What all fits of a comparison share.
struct Protocol<'a> {
    measures: &'a Measures,
    choose_by: Metric,
    refit: bool,
    /// Whether a method that chooses nothing trains on the validation part too.
    all_outside_test: bool,
    missing: Missing,
    seed: u64,
}

pub(super) fn run(args: &Compare, screen: &Screen) -> Result<()> {
    let measures = plan::measures(&args.metrics)?;
    let choose_by = plan::metric(&args.choosing.choose_by)?;
    let mut entries = vec![];
    for label in &args.methods {
        let method = plan::method(label, &[])?;
        let none = |metrics: &[Metric]| Evaluation { metrics: metrics.to_vec(), values: vec![vec![]; metrics.len()] };
        let (result, curve) = (none(&measures.metrics), none(&curve_metrics()));
        entries.push(Entry {
            label: label.clone(),
            method,
            result,
            curve,
            fold_means: vec![],
            facts: vec![],
            fit: 0.0,
            predict: 0.0,
            bytes: 0,
            support: 0,
            features: vec![],
            calibration: None,
            places: None,
        });
    }
    args.metrics.report.as_deref().map(check_output).transpose()?;
    let protocol = Protocol {
        measures: &measures,
        choose_by,
        refit: args.refit || !args.choosing.no_refit && args.folds.is_none(),
        all_outside_test: args.cv.is_some(),
        missing: plan::missing(&args.reading),
        seed: args.choosing.seed,
    };
    let start = Instant::now();
    let rounds = rounds(args, protocol.missing)?;
    let mut load = start.elapsed().as_secs_f64();
    let count = match &rounds {
        Rounds::Cuts(_, folds) => folds.len(),
        Rounds::Files(files) => files.len(),
    };
    let chosen: Vec<usize> = match args.only_fold {
        None => (0..count).collect(),
        Some(i) if (1..=count).contains(&i) => vec![i - 1],
        Some(i) => return Err(Usage(format!("--only-fold: expected a fold from 1 to {count}, found {i}")).into()),
    };
    let mut tested: Vec<String> = vec![];
    super::watched(screen, |watch| -> Result<()> {
        for (done, &i) in chosen.iter().enumerate() {
            let (set, fold) = match &rounds {
                Rounds::Cuts(set, folds) => (set.clone(), folds[i].clone()),
                Rounds::Files(files) => {
                    let start = Instant::now();
                    let (set, parts) = data::read(&files[i].clone().map(|file| vec![file]), protocol.missing)?;
                    load += start.elapsed().as_secs_f64();
                    let units = |part: usize| parts[part].clone().map(|q| q as u32).collect();
                    (Rc::new(set), Fold { train: units(0), valid: units(1), test: units(2) })
                }
            };
            tested.extend(fold.test.iter().map(|&q| set.query(q as usize).to_owned()));
            let methods = entries.len();
            for (m, entry) in entries.iter_mut().enumerate() {
                let before = (done * methods + m) as f64;
                let total = (chosen.len() * methods) as f64;
                let what = format!("fold {} of {count}, {}", i + 1, entry.label);
                let tell = |share: f64, _: &str| (watch.tell)((before + share) / total, &what);
                entry.round(&set, &fold, &protocol, &Watch { stop: watch.stop, tell: &tell })?;
                check_interrupt()?;
            }
        }
        Ok(())
    })?;
    let tests = tests(&entries, measures.metrics.len());
    if let Some(path) = &args.metrics.report {
        let html = crate::report::html(&show::report(&entries, &tests, &measures, &tested, chosen.len()))?;
        write_whole(path, |out| out.write_all(html.as_bytes()))?;
        screen.say(&format!("wrote {}", path.display()));
    }
    if screen.json {
        return screen.document(&show::document(&entries, &tests, &measures, chosen.len(), load));
    }
    screen.data(&show::text(&entries, &tests, &measures, tested.len(), chosen.len(), load))
}

fn rounds(args: &Compare, missing: Missing) -> Result<Rounds> {
    if let Some(folder) = &args.folds {
        return match split::layout(folder)? {
            Layout::Folders(files) => Ok(Rounds::Files(files)),
            Layout::Parts(files) => {
                let (set, parts) = data::read(&files.into_iter().map(|file| vec![file]).collect::<Vec<_>>(), missing)?;
                let folds = (0..parts.len()).map(|i| split::rotation(&parts, i)).collect();
                Ok(Rounds::Cuts(Rc::new(set), folds))
            }
        };
    }
    if let Some([k, file]) = args.cv.as_deref() {
        let k = k.parse().map_err(|_| Usage(format!("--cv: expected a number of folds, then a file; found {k:?}")))?;
        let (set, _) = data::read(&[vec![file.into()]], missing)?;
        let folds = plan::usage(split::cross_validation(set.len(), k, args.shuffle))?;
        return Ok(Rounds::Cuts(Rc::new(set), folds));
    }
    let (Some(train), Some(test)) = (&args.train, &args.test) else {
        return Err(Usage("give the data: --cv 5 FILE, or --train FILE --test FILE, or --folds DIR".into()).into());
    };
    let valid: Vec<PathBuf> = args.valid.iter().cloned().collect();
    let (set, parts) = data::read(&[vec![train.clone()], valid, vec![test.clone()]], missing)?;
    let units = |part: usize| parts[part].clone().map(|q| q as u32).collect::<Vec<u32>>();
    Ok(Rounds::Cuts(Rc::new(set), vec![Fold { train: units(0), valid: units(1), test: units(2) }]))
}

impl Entry {
    /// Trains on one round and measures its test part.
    fn round(&mut self, set: &Rc<RankSet>, fold: &Fold, protocol: &Protocol, watch: &Watch) -> Result<()> {
        let mut train = fold.train.clone();
        let mut valid = Some(fold.valid.as_slice()).filter(|valid| !valid.is_empty());
        if protocol.all_outside_test && !self.method.chooses() {
            train.extend_from_slice(&fold.valid);
            train.sort_unstable();
            valid = None;
        }
        let mut filled;
        let (mut set, mut means): (&RankSet, _) = (set, None);
        if protocol.missing != Missing::Error {
            filled = set.clone();
            means = filled.fill(protocol.missing, &train);
            set = &filled;
        }
        let start = Instant::now();
        let model = self.method.fit(
            &Training {
                set,
                train: &train,
                valid,
                by: (protocol.choose_by, protocol.measures.convention),
                refit: protocol.refit,
                seed: protocol.seed,
                missing: protocol.missing,
                means: means.as_deref(),
                resume: None,
            },
            watch,
        )?;
        self.fit += start.elapsed().as_secs_f64();
        let start = Instant::now();
        let scores = model.ranker.scores_of(set, &fold.test);
        self.predict += start.elapsed().as_secs_f64();
        let Measures { metrics, convention } = protocol.measures;
        let result = metric::evaluate(set, &fold.test, &scores, metrics, convention)?;
        self.fold_means.push((0..metrics.len()).map(|m| result.mean(m)).collect());
        self.result.extend(result);
        // without gains (negative grades) there is no curve
        if let Ok(curve) = metric::evaluate(set, &fold.test, &scores, &curve_metrics(), convention) {
            self.curve.extend(curve);
        }
        self.calibrate(&model, set, &fold.test)?;
        self.keep(model);
        Ok(())
    }

    /// Puts the probabilities of the head beside the truth, and keeps the picture of the first test query.
    fn calibrate(&mut self, model: &Fitted, set: &RankSet, test: &[u32]) -> Result<()> {
        let k = model.ranker.places.len();
        if k == 0 {
            return Ok(());
        }
        let (_, calibration) = self.calibration.get_or_insert_with(|| (k, Calibration::default()));
        for &q in test {
            let probabilities = model.ranker.place_probabilities(set, q as usize)?;
            let span = set.span(q as usize);
            let truth = in_head(&set.grades[span.clone()], k);
            for (p, truth) in probabilities.iter().zip(&truth) {
                calibration.add(p.first_k, *truth);
            }
            if self.places.is_none() && span.len() > k {
                let mut documents: Vec<PlacedDocument> = span
                    .zip(&probabilities)
                    .map(|(row, p)| PlacedDocument {
                        id: set.document(row).into_owned(),
                        grade: set.grades[row],
                        places: p.places.clone(),
                        first_k: p.first_k,
                        expected_rank: p.expected_rank,
                    })
                    .collect();
                documents.sort_by(|a, b| a.expected_rank.total_cmp(&b.expected_rank));
                documents.truncate(12);
                self.places = Some(PlacesPart { query: set.query(q as usize).to_owned(), documents });
            }
        }
        Ok(())
    }

    /// The calibration as a report shows it.
    fn reliability(&self) -> Option<Reliability> {
        let (k, calibration) = self.calibration.as_ref()?;
        let bins = calibration.bins.iter().enumerate().filter(|(_, bin)| bin.count > 0).map(|(i, bin)| Bin {
            low: i as f64 / 10.0,
            high: (i + 1) as f64 / 10.0,
            documents: bin.count,
            predicted: bin.predicted / bin.count as f64,
            observed: bin.observed / bin.count as f64,
        });
        Some(Reliability { k: *k, error: calibration.error(), bins: bins.collect() })
    }

    fn keep(&mut self, model: Fitted) {
        if self.facts.is_empty() {
            self.features = strongest(&model.ranker);
        }
        self.bytes = self.bytes.max(model_file::to_bytes(&model).len());
        self.support = self.support.max(model.ranker.weights.iter().filter(|&&w| w != 0.0).count());
        self.facts.push(model.facts);
    }

    fn fold_mean(&self, m: usize) -> f64 {
        stats::mean(&self.fold_means.iter().map(|fold| fold[m]).collect::<Vec<_>>())
    }

    /// The settings that validation chose, fold by fold.
    fn chosen(&self) -> Vec<Value> {
        self.facts
            .iter()
            .map(|facts| match &facts.chosen {
                Some(chosen) => {
                    let names = chosen
                        .candidates
                        .first()
                        .map(|c| c.settings.keys().cloned().collect::<Vec<_>>())
                        .unwrap_or_default();
                    names
                        .into_iter()
                        .map(|name| (name.clone(), facts.settings[&name].clone()))
                        .collect::<Map<_, _>>()
                        .into()
                }
                None => json!({}),
            })
            .collect()
    }
}

/// All pairs of methods by all metrics; p-values are corrected for the number of pairs.
fn tests(entries: &[Entry], metrics: usize) -> Vec<Test> {
    let mut all = vec![];
    for metric in 0..metrics {
        let mut tests = vec![];
        for a in 0..entries.len() {
            for b in a + 1..entries.len() {
                let both = entries[a].result.values[metric].iter().zip(&entries[b].result.values[metric]);
                let (x, y): (Vec<f64>, Vec<f64>) = both.filter_map(|(x, y)| Some(((*x)?, (*y)?))).unzip();
                let p = stats::paired_test(&x, &y, BOOTSTRAP);
                tests.push(Test { metric, a, b, difference: stats::mean(&x) - stats::mean(&y), p });
            }
        }
        let corrected = stats::holm(&tests.iter().map(|t| t.p).collect::<Vec<_>>());
        tests.iter_mut().zip(corrected).for_each(|(test, p)| test.p = p);
        all.extend(tests);
    }
    all
}

/// The best method by a metric, and those that a test cannot tell from it.
fn best_and_level(entries: &[Entry], tests: &[Test], metric: usize) -> (usize, Vec<usize>) {
    let mean = |i: usize| entries[i].result.mean(metric);
    let best = (0..entries.len()).fold(0, |best, i| if mean(i) > mean(best) { i } else { best });
    let with_best = tests.iter().filter(|t| t.metric == metric && (t.a == best || t.b == best) && t.p >= 0.05);
    (best, with_best.map(|t| if t.a == best { t.b } else { t.a }).collect())
}
