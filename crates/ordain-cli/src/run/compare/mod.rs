//! `ordain compare`: methods of one task trained and tested side by side.

mod matches;
mod plane;
mod rank;
mod show;
mod tags;

pub(super) use show::calibration;
pub(super) use tags::{links, tag_reliability};

use super::check_output;
use super::evaluate::{BOOTSTRAP, strongest};
use crate::args::Compare;
use crate::plan::{self, Measures, Usage};
use crate::report::{Bin, PicturePart, PlacesPart, PlanePart, Reliability};
use crate::screen::Screen;
use anyhow::Result;
use ordain::data::split::{self, Fold, Layout};
use ordain::data::{
    self, Columns, LabelReading, LabelSet, MatchReading, MatchSet, Missing, RankSet, read_match_splits, write_whole,
};
use ordain::method::cstar::Floor;
use ordain::method::{Chosen, MatchMethod, Method, Task};
use ordain::metric::calibration::Calibration;
use ordain::metric::{Convention, Evaluation, Metric, stats};
use ordain::solver::run::{Report as Ended, Watch};
use rayon::prelude::*;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

/// What is learned from, of any task.
#[derive(Clone)]
enum Units {
    Queries(Rc<RankSet>),
    Items(Rc<LabelSet>),
    Problems(Rc<MatchSet>),
}

/// How files are read, whatever the task.
struct Readings {
    task: Task,
    tags: LabelReading,
    matches: MatchReading,
}

impl Readings {
    fn new(args: &Compare, task: Task) -> Result<Self> {
        if task != Task::Match {
            plan::no_points(&args.points)?;
        }
        let matches = plan::match_reading(&args.reading, &args.points)?;
        Ok(Self { task, tags: plan::tag_reading(&args.reading), matches })
    }

    /// Reads files as one set, and where each part of it is.
    fn read(&self, parts: &[Vec<PathBuf>]) -> Result<(Units, Vec<Range<usize>>)> {
        let strange = |wanted: &str, error: ordain::Error| -> anyhow::Error {
            match parts
                .iter()
                .flatten()
                .find(|path| self.tags.labels.is_none() && super::looked(path, data::is_matches))
            {
                None => error.into(),
                Some(path) => ordain::Error::Content {
                    path: path.clone(),
                    expected: wanted.into(),
                    found: "two sides with edges between them, which matchmap and matchmargin are for".into(),
                }
                .into(),
            }
        };
        Ok(match self.task {
            Task::Rank => {
                let read = data::read(parts, self.tags.missing);
                let (set, parts) = read.map_err(|error| strange("queries with documents", error))?;
                (Units::Queries(Rc::new(set)), parts)
            }
            Task::Annotate => {
                let read = data::read_labels(parts, &self.tags);
                let (set, parts) = read.map_err(|error| strange("items with labels", error))?;
                (Units::Items(Rc::new(set)), parts)
            }
            Task::Match => {
                let read = data::read_matches(parts, &self.matches);
                let (set, parts) = read.map_err(|error| super::matches::not_problems(error, "the method"))?;
                (Units::Problems(Rc::new(set)), parts)
            }
        })
    }
}

impl Units {
    fn len(&self) -> usize {
        match self {
            Self::Queries(set) => set.len(),
            Self::Items(set) => set.len(),
            Self::Problems(set) => set.len(),
        }
    }

    /// The id of one of them.
    fn id(&self, unit: u32) -> String {
        match self {
            Self::Queries(set) => set.query(unit as usize).to_owned(),
            Self::Items(set) => set.item(unit as usize).into_owned(),
            Self::Problems(set) => set.problem(unit as usize).name.clone(),
        }
    }
}

/// Where the rounds of a comparison come from.
enum Rounds {
    /// One set, cut in several ways.
    Cuts(Units, Vec<Fold>),
    /// Three files for each round.
    Files(Vec<[PathBuf; 3]>),
}

/// What is kept of the training of one round.
struct Trained {
    /// How the solver ended.
    report: Ended,
    settings: Map<String, Value>,
    chosen: Option<Chosen>,
    /// The names of the core, of models that have one.
    core: Option<Vec<String>>,
    floor: Option<Floor>,
    /// Whether it does worse on validation than a classifier for each label.
    below_floor: bool,
    /// How sums over matchings were found, where nobody knows how near they are.
    approximate: Option<Map<String, Value>>,
}

/// One method over all rounds.
struct Entry {
    label: String,
    method: Method,
    result: Evaluation,
    curve: Option<Evaluation>,
    fold_means: Vec<Vec<f64>>,
    trained: Vec<Trained>,
    fit: f64,
    predict: f64,
    bytes: usize,
    support: usize,
    /// Strongest features, or links between labels, of the first round.
    features: Vec<(String, f64)>,
    links: Vec<(String, f64)>,
    /// How probabilities come true on test documents or labels; with the number of head places, of rankings.
    calibration: Option<(Option<usize>, Calibration)>,
    places: Option<PlacesPart>,
    /// Matches of some test problems of the first round.
    pictures: Vec<PicturePart>,
    /// Scores over the plane of two features, of the first round.
    plane: Option<PlanePart>,
}

/// A paired test of two entries by one metric.
struct Test {
    metric: usize,
    a: usize,
    b: usize,
    difference: f64,
    low: f64,
    high: f64,
    p: f64,
}

/// What all fits of a comparison share.
struct Protocol<'a> {
    measures: &'a Measures,
    choose_by: (Metric, Convention),
    /// Whether the metric of the choice was asked for.
    asked_by: bool,
    refit: bool,
    /// Whether a method that chooses nothing trains on the validation part too.
    all_outside_test: bool,
    missing: Missing,
    seed: u64,
    /// Whether a report wants pictures.
    pictures: bool,
}

/// Everything that is known in the end.
struct Comparison {
    task: Task,
    measures: Measures,
    entries: Vec<Entry>,
    tests: Vec<Test>,
    /// Ids of the test units.
    tested: Vec<String>,
    /// The numbers of the folds, as a person counts them.
    folds: Vec<usize>,
    /// Whether there are folds at all, and not one file to train on and one to test on.
    folded: bool,
    /// Seconds of reading.
    load: f64,
}

pub(super) fn run(args: &Compare, screen: &Screen) -> Result<()> {
    run_and_tell(args, screen).map(drop)
}

/// The same; returns the mean of the first metric for each method.
pub(super) fn run_and_tell(args: &Compare, screen: &Screen) -> Result<Vec<f64>> {
    let methods = args.methods.iter().map(|label| plan::method(label, &[])).collect::<Result<Vec<_>>>()?;
    let task = one_task(&methods)?;
    if task != Task::Rank && args.folds.is_some() {
        let what = if task == Task::Annotate { "items with labels" } else { "problems of matching" };
        let text = format!(
            "--folds reads the layouts of ranking data; for {what} give --cv 5 FILE, or --train FILE --test FILE"
        );
        return Err(Usage(text).into());
    }
    let readings = Readings::new(args, task)?;
    let mut measures = plan::measures(&args.metrics, task)?;
    if let Some(method) = methods.iter().find(|method| !gives_probabilities(method)) {
        let asked = !args.metrics.metric.is_empty();
        super::matches::evaluate::measurable(false, method.name(), &mut measures.metrics, asked)?;
    }
    let choose_by = plan::choose_by(&args.choosing, &args.metrics.rules, task)?;
    args.metrics.report.as_deref().map(check_output).transpose()?;
    let protocol = Protocol {
        measures: &measures,
        choose_by,
        asked_by: args.choosing.choose_by.is_some(),
        refit: args.refit || !args.choosing.no_refit && args.folds.is_none(),
        all_outside_test: args.cv.is_some(),
        missing: plan::missing(&args.reading),
        seed: args.choosing.seed,
        pictures: args.metrics.report.is_some(),
    };
    let entry = |(label, method): (&String, Method)| Entry::new(label, method, &measures.metrics);
    let mut entries: Vec<Entry> = args.methods.iter().zip(methods).map(entry).collect();
    let start = Instant::now();
    let rounds = rounds(args, &readings)?;
    let mut load = start.elapsed().as_secs_f64();
    let count = match &rounds {
        Rounds::Cuts(_, folds) => folds.len(),
        Rounds::Files(files) => files.len(),
    };
    // folds of --cv are numbered by the remainder that they test, others as their folders are
    let first = usize::from(args.cv.is_none());
    let folds: Vec<usize> = match args.only_fold {
        None => (first..count + first).collect(),
        Some(i) if (first..count + first).contains(&i) => vec![i],
        Some(i) => {
            let last = count + first - 1;
            return Err(Usage(format!("--only-fold: expected a fold from {first} to {last}, found {i}")).into());
        }
    };
    let folded = args.train.is_none();
    let mut tested: Vec<String> = vec![];
    super::followed(screen, |watch| -> Result<()> {
        for (done, &name) in folds.iter().enumerate() {
            let (set, fold) = match &rounds {
                Rounds::Cuts(set, all) => (set.clone(), all[name - first].clone()),
                Rounds::Files(files) => {
                    let start = Instant::now();
                    let parts = files[name - first].clone().map(|file| vec![file]);
                    let (set, parts) = readings.read(&parts)?;
                    load += start.elapsed().as_secs_f64();
                    (set, three(&parts))
                }
            };
            tested.extend(fold.test.iter().map(|&unit| set.id(unit)));
            let methods = entries.len();
            for (m, entry) in entries.iter_mut().enumerate() {
                let before = (done * methods + m) as f64;
                let total = (folds.len() * methods) as f64;
                let what = match folded {
                    true => format!("fold {name} of {count}, {}", entry.label),
                    false => entry.label.clone(),
                };
                let tell = |share: f64, _: &str| (watch.tell)((before + share) / total, &what);
                entry.round(&set, &fold, &protocol, &Watch { stop: watch.stop, tell: &tell })?;
            }
        }
        Ok(())
    })?;
    warn_of_floors(&entries, &folds, choose_by.0, screen);
    warn_of_steps(&entries, &folds, screen);
    warn_of_sums(&entries, screen);
    let tests = tests(&entries, measures.metrics.len());
    let all = Comparison { task, measures, entries, tests, tested, folds, folded, load };
    if let Some(path) = &args.metrics.report {
        let html = crate::report::html(&show::report(&all))?;
        write_whole(path, |out| out.write_all(html.as_bytes()))?;
        screen.say(&format!("wrote {}", path.display()));
    }
    if screen.json {
        screen.document(&show::document(&all))?;
    } else {
        screen.data(&show::text(&all))?;
    }
    Ok(all.entries.iter().map(|entry| entry.result.mean(0)).collect())
}

/// The task of all methods; methods of two tasks cannot be compared.
fn one_task(methods: &[Method]) -> Result<Task> {
    let does = |method: &Method| match method.task() {
        Task::Rank => format!("{}, which ranks", method.name()),
        Task::Annotate => format!("{}, which annotates", method.name()),
        Task::Match => format!("{}, which matches", method.name()),
    };
    let Some(first) = methods.first() else { return Err(Usage("give at least one method".into()).into()) };
    match methods.iter().find(|method| method.task() != first.task()) {
        None => Ok(first.task()),
        Some(other) => {
            let text = format!("methods: expected methods of one task, found {}, and {}", does(first), does(other));
            Err(Usage(text).into())
        }
    }
}

fn warn_of_floors(entries: &[Entry], folds: &[usize], by: Metric, screen: &Screen) {
    for entry in entries {
        for (trained, name) in entry.trained.iter().zip(folds).filter(|(trained, _)| trained.below_floor) {
            let Some(floor) = trained.floor else { continue };
            let fold = if folds.len() > 1 { format!(", fold {name}") } else { String::new() };
            screen.say(&format!(
                "warning: {}{fold}: {by} {:.4} on validation is worse than {:.4}, that of a classifier for each label alone",
                entry.label, floor.reached, floor.one_vs_rest
            ));
        }
    }
}

/// Says which fits max_iter ended.
fn warn_of_steps(entries: &[Entry], folds: &[usize], screen: &Screen) {
    for entry in entries {
        for (trained, name) in entry.trained.iter().zip(folds) {
            let fold = if folds.len() > 1 { format!(", fold {name}") } else { String::new() };
            if let Some(text) = trained.report.unfinished(&trained.settings) {
                screen.say(&format!("warning: {}{fold}: {text}", entry.label));
            }
        }
    }
}

/// Says of which methods sums over matchings are approximate.
fn warn_of_sums(entries: &[Entry], screen: &Screen) {
    for (entry, engines) in
        entries.iter().filter_map(|e| Some((e, e.trained.iter().find_map(|t| t.approximate.as_ref())?)))
    {
        let by = super::matches::engines(engines);
        screen.say(&format!("warning: {}: sums over matchings are approximate, found by {by}", entry.label));
    }
}

/// Whether the fits of a method have probabilities, as far as metrics of them are concerned.
fn gives_probabilities(method: &Method) -> bool {
    !matches!(method, Method::Match(MatchMethod::MatchMargin(margin)) if !margin.calibrate)
}

fn rounds(args: &Compare, readings: &Readings) -> Result<Rounds> {
    let read = |parts: &[Vec<PathBuf>]| readings.read(parts);
    if let Some(folder) = &args.folds {
        return match split::layout(folder)? {
            Layout::Folders(files) => Ok(Rounds::Files(files)),
            Layout::Parts(files) => {
                let files: Vec<Vec<PathBuf>> = files.into_iter().map(|file| vec![file]).collect();
                let (set, parts) = read(&files)?;
                let folds = (0..parts.len()).map(|i| split::rotation(&parts, i)).collect();
                Ok(Rounds::Cuts(set, folds))
            }
        };
    }
    if let Some([k, file]) = args.cv.as_deref() {
        let k = k.parse().map_err(|_| Usage(format!("--cv: expected a number of folds, then a file; found {k:?}")))?;
        let (set, _) = read(&[vec![file.into()]])?;
        let folds = plan::usage(split::cross_validation(set.len(), k, args.shuffle))?;
        return Ok(Rounds::Cuts(set, folds));
    }
    if let (Some(train), None, Some(pairs)) = (&args.train, &args.test, &args.points.pairs) {
        return split_round(args, train, pairs, &readings.matches);
    }
    let (Some(train), Some(test)) = (&args.train, &args.test) else {
        let text = match readings.task {
            _ if args.train.is_some() => "--train FILE wants --test FILE beside it",
            Task::Match => {
                "give the data: --cv 5 FILE, or --train FILE --test FILE, or --train POINTS --pairs FILE with a column split"
            }
            Task::Rank => "give the data: --cv 5 FILE, or --train FILE --test FILE, or --folds DIR",
            Task::Annotate => "give the data: --cv 5 FILE, or --train FILE --test FILE",
        };
        return Err(Usage(text.into()).into());
    };
    let valid: Vec<PathBuf> = args.valid.iter().cloned().collect();
    let (set, parts) = read(&[vec![train.clone()], valid, vec![test.clone()]])?;
    Ok(Rounds::Cuts(set, vec![three(&parts)]))
}

/// The round that the column split of pairs says.
fn split_round(args: &Compare, points: &PathBuf, pairs: &Path, reading: &MatchReading) -> Result<Rounds> {
    if args.valid.is_some() {
        let text = "--pairs and --valid: the column split of the pairs says what is for validation; leave out --valid";
        return Err(Usage(text.into()).into());
    }
    let (set, splits) = read_match_splits(std::slice::from_ref(points), reading)
        .map_err(|error| super::matches::not_problems(error, "the method"))?;
    match splits {
        Some(parts) if !parts[0].is_empty() && !parts[2].is_empty() => {
            Ok(Rounds::Cuts(Units::Problems(Rc::new(set)), vec![three(&parts)]))
        }
        Some(_) => Err(ordain::Error::Content {
            path: pairs.to_path_buf(),
            expected: "pairs of the splits train and test".into(),
            found: "only some of them".into(),
        }
        .into()),
        None => Err(ordain::Error::Content {
            path: pairs.to_path_buf(),
            expected: "a column split of train, validate and test (or use --cv 5 POINTS)".into(),
            found: "none".into(),
        }
        .into()),
    }
}

/// The round of a part for training, one for validation and one for the test.
fn three(parts: &[Range<usize>]) -> Fold {
    let units = |part: usize| parts[part].clone().map(|unit| unit as u32).collect();
    Fold { train: units(0), valid: units(1), test: units(2) }
}

impl Trained {
    /// What every method has.
    fn of(report: Ended, settings: Map<String, Value>, chosen: Option<Chosen>) -> Self {
        Self { report, settings, chosen, core: None, floor: None, below_floor: false, approximate: None }
    }
}

impl Entry {
    fn new(label: &str, method: Method, metrics: &[Metric]) -> Self {
        Self {
            label: label.to_owned(),
            method,
            result: Evaluation { metrics: metrics.to_vec(), values: vec![vec![]; metrics.len()], calibration: vec![] },
            curve: None,
            fold_means: vec![],
            trained: vec![],
            fit: 0.0,
            predict: 0.0,
            bytes: 0,
            support: 0,
            features: vec![],
            links: vec![],
            calibration: None,
            places: None,
            pictures: vec![],
            plane: None,
        }
    }

    /// Trains on one round and measures its test part.
    fn round(&mut self, set: &Units, fold: &Fold, protocol: &Protocol, watch: &Watch) -> Result<()> {
        let mut train = fold.train.clone();
        let mut valid = Some(fold.valid.as_slice()).filter(|valid| !valid.is_empty());
        if protocol.all_outside_test && !self.method.chooses() {
            train.extend_from_slice(&fold.valid);
            train.sort_unstable();
            valid = None;
        }
        let cut = Cut { train: &train, valid, test: &fold.test };
        match (set, self.method.clone()) {
            (Units::Queries(set), Method::Rank(method)) => rank::round(self, &method, set, &cut, protocol, watch),
            (Units::Items(set), Method::Annotate(method)) => tags::round(self, &method, set, &cut, protocol, watch),
            (Units::Problems(set), Method::Match(method)) => matches::round(self, &method, set, &cut, protocol, watch),
            _ => Err(Usage("methods: expected methods of one task".into()).into()), // ruled out before reading
        }
    }

    /// Keeps the size of a model with a weight per feature, and of the first round its strongest features.
    fn keep_linear(&mut self, bytes: usize, columns: &Columns, weights: &[f64]) {
        if self.trained.is_empty() {
            self.features = strongest(columns, weights);
        }
        self.bytes = self.bytes.max(bytes);
        self.support = self.support.max(weights.iter().filter(|&&w| w != 0.0).count());
    }

    /// Adds what was measured in a round.
    fn add(&mut self, result: Evaluation, curve: Option<Evaluation>) {
        self.fold_means.push((0..result.metrics.len()).map(|m| result.mean(m)).collect());
        self.result.extend(result);
        match (&mut self.curve, curve) {
            (Some(all), Some(curve)) => all.extend(curve),
            (all @ None, curve) => *all = curve,
            (Some(_), None) => {}
        }
    }

    /// The calibration as a report shows it.
    fn reliability(&self) -> Option<Reliability> {
        self.calibration.as_ref().map(|(k, calibration)| reliability(*k, calibration))
    }

    fn fold_mean(&self, m: usize) -> f64 {
        stats::mean(&self.fold_means.iter().map(|fold| fold[m]).collect::<Vec<_>>())
    }

    /// The core of the first round.
    fn core(&self) -> Option<&[String]> {
        self.trained.first()?.core.as_deref().filter(|core| !core.is_empty())
    }

    /// The settings that the data chose, fold by fold.
    fn chosen(&self) -> Vec<Map<String, Value>> {
        let of = |trained: &Trained| {
            let tried = trained.chosen.as_ref().and_then(|chosen| chosen.candidates.first());
            let names = tried.map(|c| c.settings.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
            let mut map: Map<String, Value> =
                names.into_iter().map(|name| (name.clone(), trained.settings[&name].clone())).collect();
            if let Some(core) = &trained.core {
                map.insert("core".into(), core.clone().into());
            }
            map
        };
        self.trained.iter().map(of).collect()
    }
}

/// A calibration as a report shows it.
pub(super) fn reliability(k: Option<usize>, calibration: &Calibration) -> Reliability {
    let bins = calibration.bins.iter().enumerate().filter(|(_, bin)| bin.count > 0).map(|(i, bin)| Bin {
        low: i as f64 / 10.0,
        high: (i + 1) as f64 / 10.0,
        documents: bin.count,
        predicted: bin.predicted / bin.count as f64,
        observed: bin.observed / bin.count as f64,
    });
    Reliability { k, error: calibration.error(), bins: bins.collect() }
}

/// A set as one round uses it: a copy whose gaps are filled from the training part, where there may be gaps; and what they were
/// filled with.
fn filled<S: Clone>(
    set: &S,
    missing: Missing,
    fill: impl FnOnce(&mut S) -> Option<Vec<f32>>,
) -> (Cow<'_, S>, Option<Vec<f32>>) {
    let mut set = Cow::Borrowed(set);
    let means = if missing == Missing::Error { None } else { fill(set.to_mut()) };
    (set, means)
}

/// The units of one round, as one method uses them.
struct Cut<'a> {
    train: &'a [u32],
    valid: Option<&'a [u32]>,
    test: &'a [u32],
}

/// All pairs of methods by all metrics; p-values are corrected for the number of pairs.
fn tests(entries: &[Entry], metrics: usize) -> Vec<Test> {
    let pairs: Vec<(usize, usize)> =
        (0..entries.len()).flat_map(|a| (a + 1..entries.len()).map(move |b| (a, b))).collect();
    let results: Vec<&Evaluation> = entries.iter().map(|entry| &entry.result).collect();
    let mut all = vec![];
    for metric in 0..metrics {
        let one = |&(a, b): &(usize, usize)| {
            if let Some(test) = matches::pooled_test(metric, (a, b), results[a], results[b]) {
                return test;
            }
            let both = results[a].values[metric].iter().zip(&results[b].values[metric]);
            let (x, y): (Vec<f64>, Vec<f64>) = both.filter_map(|(x, y)| Some(((*x)?, (*y)?))).unzip();
            let (low, high) = stats::paired_interval(&x, &y, BOOTSTRAP);
            let difference = stats::mean(&x) - stats::mean(&y);
            Test { metric, a, b, difference, low, high, p: stats::paired_test(&x, &y, BOOTSTRAP) }
        };
        let mut tests: Vec<Test> = pairs.par_iter().map(one).collect();
        let corrected = stats::holm(&tests.iter().map(|t| t.p).collect::<Vec<_>>());
        tests.iter_mut().zip(corrected).for_each(|(test, p)| test.p = p);
        all.extend(tests);
    }
    all
}

/// The best method by a metric, and those that a test cannot tell from it.
fn best_and_level(all: &Comparison, metric: usize) -> (usize, Vec<usize>) {
    let worth = |i: usize| {
        let mean = all.entries[i].result.mean(metric);
        if all.measures.metrics[metric].is_loss() { -mean } else { mean }
    };
    let best = (0..all.entries.len()).fold(0, |best, i| if worth(i) > worth(best) { i } else { best });
    let with_best = all.tests.iter().filter(|t| t.metric == metric && (t.a == best || t.b == best) && t.p >= 0.05);
    (best, with_best.map(|t| if t.a == best { t.b } else { t.a }).collect())
}
