//! `ordain compare`: methods of one task trained and tested side by side.

mod labels;
mod matches;
mod plane;
mod published;
mod questions;
mod rank;
mod seeds;
mod show;

use super::evaluate::{features, gains};
use super::{check_output, files};
use crate::args::Compare;
use crate::plan::{self, Measures, Questions, Usage};
use crate::report::{MethodPart, PicturePart, PlacesPart, PlanePart};
use crate::screen::Screen;
use crate::show::{Given, Show, engines};
use anyhow::Result;
use ordain::answer::{self, Difference, Reliability};
use ordain::data::split::{self, Fold, Layout};
use ordain::data::{Columns, Missing, write_whole};
use ordain::method::{Annotate, AnyMethod, Floor, Match, MatchMethod, Rank};
use ordain::metric::calibration::Calibration;
use ordain::metric::{Convention, Evaluation, Metric, stats};
use ordain::model_file;
use ordain::score::Score;
use ordain::solver::run::{Report as Ended, Watch};
use ordain::task::{Chosen, DataSet, Fitted, Method, Model, Ready, Task, Training, Words};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A task whose methods are measured: what one round keeps, and what a report shows of a model.
pub(super) trait Round: Show {
    /// Measures a model on the test part of a round.
    fn measure(
        entry: &mut Entry,
        fitted: &Fitted<Self>,
        on: &Ready<'_, Self>,
        cut: &Cut,
        protocol: &Protocol,
    ) -> Result<()>;
    /// Keeps what is known of the training of a round.
    fn remember(_entry: &mut Trained, _fitted: &Fitted<Self>) {}
    /// Leaves out metrics that a model cannot be measured by; refuses them where they were asked for.
    fn measurable(_model: &Self::Model, _metrics: &mut Vec<Metric>, _asked: bool) -> Result<()> {
        Ok(())
    }
    /// Warns of what metrics rest on.
    fn warn_of_metrics(
        _model: &Self::Model,
        _on: &Ready<'_, Self>,
        _metrics: &[Metric],
        _screen: &Screen,
    ) -> Result<()> {
        Ok(())
    }
    /// What a report shows of a model beside figures.
    fn part(model: &Self::Model, on: &Ready<'_, Self>, result: &Evaluation) -> Result<MethodPart>;
    /// The first things that a model puts on the list of each unit, and what is so of them.
    fn lists(model: &Self::Model, on: &Ready<'_, Self>, units: &[u32]) -> Result<Vec<Listed>>;
    /// The number of labels of a set.
    fn labels(set: &Self::Set) -> usize;
    /// The round that the column split of pairs says, of points.
    fn split_round(_args: &Compare, _how: &Self::Reading) -> Result<Option<Rounds<Self>>> {
        Ok(None)
    }
}

/// The first things of a list, each with what is so of it.
pub(super) type Listed = Vec<(String, String)>;

/// How many things of a list a report shows.
pub(super) const LISTED: usize = 10;

/// Where the rounds of a comparison come from.
pub(super) enum Rounds<T: Task> {
    /// One set, cut in several ways.
    Cuts(T::Set, Vec<Fold>),
    /// Three files for each round.
    Files(Vec<[PathBuf; 3]>),
}

/// What is kept of the training of one round.
pub(super) struct Trained {
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
pub(super) struct Entry {
    label: String,
    /// The name of the method, and whether validation chooses a setting.
    name: &'static str,
    chooses: bool,
    result: Evaluation,
    curve: Option<Evaluation>,
    fold_means: Vec<Vec<f64>>,
    trained: Vec<Trained>,
    /// Where the model of the first round is written.
    kept: Option<PathBuf>,
    fit: f64,
    predict: f64,
    bytes: usize,
    support: usize,
    /// Strongest features, or links between labels, of the first round.
    features: Vec<(String, f64)>,
    /// What splits of trees by each feature gain, of the first round.
    gains: Vec<(String, f64)>,
    links: Vec<(String, f64)>,
    /// How probabilities come true on test documents or labels; with the number of head places, of rankings.
    calibration: Option<(Option<usize>, Calibration)>,
    /// The same of the first place of rankings alone.
    first: Option<Calibration>,
    places: Option<PlacesPart>,
    /// Matches of some test problems of the first round.
    pictures: Vec<PicturePart>,
    /// Scores over the plane of two features, of the first round.
    plane: Option<PlanePart>,
    /// The lists of the test units, where a report wants them.
    lists: Vec<Listed>,
    /// What was replayed, by strategy.
    asked: Vec<questions::Asked>,
    /// The means of the fold means by each metric, for each seed; empty where there is one.
    seeds: Vec<Vec<f64>>,
}

/// What all fits of a comparison share.
pub(super) struct Protocol<'a> {
    measures: &'a Measures,
    /// The metric of the choice, if it was asked for, and its rules.
    choose_by: (Option<Metric>, Convention),
    refit: bool,
    /// Whether a method that chooses nothing trains on the validation part too.
    all_outside_test: bool,
    missing: Missing,
    seed: u64,
    /// Whether a report wants pictures.
    pictures: bool,
    /// Questions that are replayed on test items.
    questions: Option<Questions>,
}

/// Everything that is known in the end.
struct Comparison<'a> {
    words: &'static Words,
    /// What metrics mean where it is not plain, and how many units are left out.
    remarks: fn(&[Metric]) -> Vec<String>,
    skipped: fn(&Evaluation) -> String,
    measures: &'a Measures,
    entries: Vec<Entry>,
    tests: Vec<Difference>,
    /// Questions that were replayed, and tests of what they gave.
    questions: Option<Questions>,
    /// Ids of the test units.
    tested: Vec<String>,
    /// The numbers of the folds, as a person counts them.
    folds: Vec<usize>,
    /// Whether there are folds at all, and not one file to train on and one to test on.
    folded: bool,
    /// Seconds of reading.
    load: f64,
    /// Figures of others.
    published: Vec<published::Published>,
    /// What the data of the first round hold.
    data: Vec<(String, String)>,
}

pub(super) fn run(args: &Compare, screen: &Screen) -> Result<()> {
    run_and_keep(args, &[], screen).map(drop)
}

/// The same; writes models of the first round to files, by the number of the method, and returns the mean of the first metric for
/// each method.
pub(super) fn run_and_keep(args: &Compare, kept: &[(usize, &Path)], screen: &Screen) -> Result<Vec<f64>> {
    let methods = args.methods.iter().map(|label| plan::method(label, &[])).collect::<Result<Vec<_>>>()?;
    let words = one_task(&methods)?;
    plan::check_compare(args, words)?;
    plan::check_links(args.links.is_some(), &methods)?;
    let mut measures = plan::measures(&args.metrics, words)?;
    if args.preferences.is_some() {
        methods.iter().try_for_each(|method| plan::need_pairs("--preferences", method))?;
        if args.metrics.metric.is_empty() {
            measures.metrics = vec![plan::metric("pairs")?];
        }
    }
    if let Some(method) = methods.iter().find(|method| !gives_probabilities(method)) {
        let asked = !args.metrics.metric.is_empty();
        crate::show::measurable(false, method.name(), &mut measures.metrics, asked)?;
    }
    plan::check_gram(args.gram.as_deref(), &methods)?;
    let questions = plan::questions(&args.asking, &methods)?;
    args.metrics.report.as_deref().map(check_output).transpose()?;
    let entry = |(label, method): (&String, &AnyMethod)| Entry::new(label, method, &measures.metrics);
    let mut entries: Vec<Entry> = args.methods.iter().zip(&methods).map(entry).collect();
    for &(m, path) in kept {
        entries[m].kept = Some(path.to_owned());
    }
    macro_rules! of_task {
        ($task:ident) => {{
            let own = methods.into_iter().filter_map(|m| if let AnyMethod::$task(m) = m { Some(m) } else { None });
            compare::<$task>(args, own.collect(), entries, (&measures, questions), screen)
        }};
    }
    match words.name {
        "rank" => of_task!(Rank),
        "annotate" => of_task!(Annotate),
        _ => of_task!(Match),
    }
}

fn compare<T: Round>(
    args: &Compare,
    methods: Vec<T::Method>,
    mut entries: Vec<Entry>,
    (measures, questions): (&Measures, Option<Questions>),
    screen: &Screen,
) -> Result<Vec<f64>> {
    let columns = plan::without(&args.columns, args.split_by.as_ref());
    let given = Given {
        gram: args.gram.as_deref(),
        links: args.links.as_deref(),
        preferences: args.preferences.as_deref(),
        learns: true,
        ..Given::new(&args.reading, &columns, &args.points)
    };
    let how = T::reading(&given)?;
    let published = args.published.as_deref().map_or(Ok(vec![]), published::read)?;
    let choose_by = plan::choose_by(&args.choosing, &args.metrics.rules, T::WORDS)?;
    let mut protocol = Protocol {
        measures,
        choose_by,
        refit: args.refit || !args.choosing.no_refit && args.folds.is_none(),
        all_outside_test: args.cv.is_some(),
        missing: T::missing(&how),
        seed: args.choosing.seed,
        pictures: args.metrics.report.is_some(),
        questions,
    };
    let start = Instant::now();
    let rounds = rounds::<T>(args, &how, &given)?;
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
    if let Rounds::Cuts(set, _) = &rounds {
        files::say_columns(set.columns(), &given, screen)?;
        if let Some(questions) = &mut protocol.questions {
            super::simulate::cap(&mut questions.after, T::labels(set), screen);
        }
    }
    let folded = args.train.is_none();
    let (mut tested, mut data): (Vec<String>, Vec<(String, String)>) = (vec![], vec![]);
    let mut more: Vec<Vec<Entry>> = entries.iter().map(|entry| entry.again(args.seeds)).collect();
    super::followed(screen, |watch| -> Result<()> {
        for (done, &name) in folds.iter().enumerate() {
            let (set, fold) = match &rounds {
                Rounds::Cuts(set, all) => (Cow::Borrowed(set), all[name - first].clone()),
                Rounds::Files(paths) => {
                    let start = Instant::now();
                    let parts = paths[name - first].clone().map(|file| vec![file]);
                    let (set, parts) = files::read::<T>(&parts, &how, "the method", &given)?;
                    load += start.elapsed().as_secs_f64();
                    (Cow::Owned(set), three(&parts))
                }
            };
            if protocol.pictures && data.is_empty() {
                data = summary::<T>(&set, &fold)?;
            }
            tested.extend(fold.test.iter().map(|&unit| set.name(unit as usize).into_owned()));
            let number = entries.len();
            for (m, ((entry, more), method)) in entries.iter_mut().zip(&mut more).zip(&methods).enumerate() {
                let before = (done * number + m) as f64;
                let total = (folds.len() * number) as f64;
                let what = match folded {
                    true => format!("fold {name} of {count}, {}", entry.label),
                    false => entry.label.clone(),
                };
                let tell = |share: f64, _: &str| (watch.tell)((before + share) / total, &what);
                let watch = Watch { stop: watch.stop, tell: &tell };
                entry.round::<T>(method, &set, &fold, &protocol, protocol.seed, &watch)?;
                for (seed, other) in (protocol.seed + 1..).zip(more.iter_mut()) {
                    other.round::<T>(method, &set, &fold, &protocol, seed, &watch)?;
                    if done == 0 && seed == protocol.seed + 1 && entry.is_level_with(other) {
                        break;
                    }
                }
                // nothing in it is drawn
                more.retain(|other| !other.fold_means.is_empty());
                if more.first().is_some_and(|other| entry.is_level_with(other)) && done == 0 {
                    more.clear();
                }
            }
        }
        Ok(())
    })?;
    entries.iter_mut().zip(more).for_each(|(entry, more)| entry.join(more));
    warn_of_floors(&entries, &folds, screen);
    warn_of_steps(&entries, &folds, screen);
    warn_of_sums(&entries, screen);
    let labels: Vec<String> = entries.iter().map(|entry| entry.label.clone()).collect();
    let mut tests = answer::differences(&labels, &results(&entries));
    let questions = protocol.questions;
    if let Some(questions) = &questions {
        tests.extend(questions::tests(&entries, questions));
    }
    let (remarks, skipped, words) = (T::remarks, T::skipped, T::WORDS);
    let all = Comparison {
        words,
        remarks,
        skipped,
        measures,
        entries,
        tests,
        questions,
        tested,
        folds,
        folded,
        load,
        published,
        data,
    };
    if let Some(path) = &args.metrics.report {
        let html = crate::report::html(&show::report(&all))?;
        write_whole(path, |out| out.write_all(html.as_bytes()))?;
        screen.say(&format!("wrote {}", path.display()));
    }
    if screen.json {
        screen.answer(&show::document(&all))?;
    } else {
        screen.data(&show::text(&all))?;
    }
    Ok(all.entries.iter().map(|entry| entry.result.mean(0)).collect())
}

/// What a set holds and how it was cut, as names and values for a report.
fn summary<T: Round>(set: &T::Set, fold: &Fold) -> Result<Vec<(String, String)>> {
    let [train, valid, test] = [&fold.train, &fold.valid, &fold.test].map(|units| units.len());
    let cut = format!("{train} to train, {valid} to choose, {test} to test (in the first round)");
    let mut all = vec![
        (T::WORDS.unit[1].to_owned(), format!("{}: {cut}", set.len())),
        (T::WORDS.row[1].into(), set.rows().to_string()),
    ];
    if T::WORDS.unit == T::WORDS.row {
        all.pop();
    }
    all.push(("features".into(), set.columns().names.len().to_string()));
    let Value::Object(facts) = serde_json::to_value(T::set_facts(set))? else { return Ok(all) };
    let known = ["task", "unit", "units", "rows", "features"];
    for (name, value) in facts.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => {
                number.as_f64().filter(|x| x.fract() != 0.0).map_or(number.to_string(), |x| format!("{x:.4}"))
            }
            Value::Bool(yes) => if *yes { "yes" } else { "no" }.into(),
            Value::Object(map) if map.values().all(|value| value.is_number() || value.is_string()) => {
                let one = |(name, value): (&String, &Value)| {
                    format!("{name}: {}", value.as_str().map_or(value.to_string(), str::to_owned))
                };
                map.iter().map(one).collect::<Vec<_>>().join(", ")
            }
            _ => continue,
        };
        all.push((name.replace('_', " "), text));
    }
    Ok(all)
}

/// The task of all methods; methods of two tasks cannot be compared.
fn one_task(methods: &[AnyMethod]) -> Result<&'static Words> {
    let does = |method: &AnyMethod| format!("{}, which {}", method.name(), method.task().does);
    let Some(first) = methods.first() else { return Err(Usage("give at least one method".into()).into()) };
    match methods.iter().find(|method| method.task() != first.task()) {
        None => Ok(first.task()),
        Some(other) => {
            let text = format!("methods: expected methods of one task, found {}, and {}", does(first), does(other));
            Err(Usage(text).into())
        }
    }
}

fn warn_of_floors(entries: &[Entry], folds: &[usize], screen: &Screen) {
    for entry in entries {
        for (trained, name) in entry.trained.iter().zip(folds).filter(|(trained, _)| trained.below_floor) {
            let (Some(floor), Some(chosen)) = (trained.floor, &trained.chosen) else { continue };
            let by = &chosen.metric;
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
    for (entry, by) in entries.iter().filter_map(|e| Some((e, e.trained.iter().find_map(|t| t.approximate.as_ref())?)))
    {
        let by = engines(by);
        screen.say(&format!("warning: {}: sums over matchings are approximate, found by {by}", entry.label));
    }
}

/// Whether the fits of a method have probabilities, as far as metrics of them are concerned.
fn gives_probabilities(method: &AnyMethod) -> bool {
    !matches!(method, AnyMethod::Match(MatchMethod::MatchMargin(margin)) if !margin.calibrate)
}

/// The rounds that are asked for.
fn rounds<T: Round>(args: &Compare, how: &T::Reading, given: &Given) -> Result<Rounds<T>> {
    let read = |parts: &[Vec<PathBuf>]| -> Result<(T::Set, Vec<Range<usize>>)> {
        let (mut set, ranges) = files::read::<T>(parts, how, "the method", given)?;
        if let Some(gram) = given.gram {
            set = T::with_gram(set, gram, None)?;
        }
        T::check_set(&set, given)?;
        Ok((set, ranges))
    };
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
        let folds = split::cross_validation(set.len(), k, args.shuffle).map_err(|error| Usage(format!("--{error}")))?;
        return Ok(Rounds::Cuts(set, folds));
    }
    if let Some(rounds) = T::split_round(args, how)? {
        return Ok(rounds);
    }
    if let (Some(column), Some(train)) = (&args.split_by, &args.train) {
        let files = std::slice::from_ref(train);
        let parts = args.test.iter().map(|test| vec![test.clone()]);
        let (set, ranges) = read(&std::iter::once(files.to_vec()).chain(parts).collect::<Vec<_>>())?;
        let mut units = ranges.into_iter().map(|range| range.map(|unit| unit as u32).collect::<Vec<u32>>());
        let (all, test) = (units.next().unwrap_or_default(), units.next());
        let own = set.only(&all);
        let split = |units: &[u32]| files::split_by::<T>(&own, units, files, column, given);
        let (rest, test) = if let Some(test) = test { (all, test) } else { split(&all)? };
        let (train, valid) = split(&rest)?;
        return Ok(Rounds::Cuts(set, vec![Fold { train, valid, test }]));
    }
    let (Some(train), Some(test)) = (&args.train, &args.test) else {
        let text = match T::WORDS.name {
            _ if args.train.is_some() => "--train FILE wants --test FILE beside it",
            "match" => {
                "give the data: --cv 5 FILE, or --train FILE --test FILE, or --train POINTS --pairs FILE with a column split"
            }
            "rank" => "give the data: --cv 5 FILE, or --train FILE --test FILE, or --folds DIR",
            _ => "give the data: --cv 5 FILE, or --train FILE --test FILE",
        };
        return Err(Usage(text.into()).into());
    };
    let valid: Vec<PathBuf> = args.valid.iter().cloned().collect();
    let (set, parts) = read(&[vec![train.clone()], valid, vec![test.clone()]])?;
    Ok(Rounds::Cuts(set, vec![three(&parts)]))
}

/// The round of a part for training, one for validation and one for the test.
pub(super) fn three(parts: &[Range<usize>]) -> Fold {
    let units = |part: usize| parts[part].clone().map(|unit| unit as u32).collect();
    Fold { train: units(0), valid: units(1), test: units(2) }
}

impl Trained {
    /// What every method has.
    fn of<T: Round>(fitted: &Fitted<T>) -> Self {
        let facts = &fitted.facts;
        let mut trained = Self {
            report: facts.report,
            settings: facts.settings.clone(),
            chosen: facts.chosen.clone(),
            core: None,
            floor: None,
            below_floor: false,
            approximate: None,
        };
        T::remember(&mut trained, fitted);
        trained
    }
}

impl Entry {
    fn new(label: &str, method: &AnyMethod, metrics: &[Metric]) -> Self {
        let result = Evaluation {
            metrics: metrics.to_vec(),
            values: vec![vec![]; metrics.len()],
            calibration: vec![],
            items: vec![],
        };
        Self::fresh(label, method.name(), method.chooses(), result)
    }

    /// One without results but for this evaluation.
    fn fresh(label: &str, name: &'static str, chooses: bool, result: Evaluation) -> Self {
        Self {
            label: label.to_owned(),
            name,
            chooses,
            result,
            curve: None,
            fold_means: vec![],
            trained: vec![],
            kept: None,
            fit: 0.0,
            predict: 0.0,
            bytes: 0,
            support: 0,
            features: vec![],
            gains: vec![],
            links: vec![],
            calibration: None,
            first: None,
            places: None,
            pictures: vec![],
            plane: None,
            lists: vec![],
            asked: vec![],
            seeds: vec![],
        }
    }

    /// Trains on one round and measures its test part.
    fn round<T: Round>(
        &mut self,
        method: &T::Method,
        set: &T::Set,
        fold: &Fold,
        protocol: &Protocol,
        seed: u64,
        watch: &Watch,
    ) -> Result<()> {
        let mut train = fold.train.clone();
        let mut valid = Some(fold.valid.as_slice()).filter(|valid| !valid.is_empty());
        if protocol.all_outside_test && !method.chooses() {
            train.extend_from_slice(&fold.valid);
            train.sort_unstable();
            valid = None;
        }
        let cut = Cut { train: &train, valid, test: &fold.test };
        // a copy whose gaps are filled from the training part, where there may be gaps
        let mut set = Cow::Borrowed(set);
        let filled = match protocol.missing {
            Missing::Error => Default::default(),
            Missing::Auto if !set.features().has_gaps() => Default::default(),
            missing => set.to_mut().fill(missing, cut.train),
        };
        let (by, convention) = protocol.choose_by;
        let training = Training {
            valid: cut.valid,
            by,
            convention,
            refit: protocol.refit,
            seed,
            filled,
            ..Training::new(set.as_ref(), cut.train)
        };
        let start = Instant::now();
        let fitted = method.fit(&training, watch)?;
        self.fit += start.elapsed().as_secs_f64();
        if let Some(path) = self.kept.take() {
            // its data are those that it was fitted on, not the test part that was read with them
            let mut kept = fitted.clone();
            kept.facts.data = set.only(&[cut.train, valid.unwrap_or_default()].concat()).digest();
            model_file::save(&kept, &path)?;
        }
        let ready = fitted.model.prepare(&set)?;
        T::measure(self, &fitted, &ready, &cut, protocol)?;
        if protocol.pictures {
            self.lists.extend(T::lists(&fitted.model, &ready, cut.test)?);
        }
        self.bytes = self.bytes.max(model_file::to_bytes(&fitted).len());
        self.trained.push(Trained::of(&fitted));
        Ok(())
    }

    /// Keeps the support of a score, and of the first round its strongest features, if it is linear.
    fn keep(&mut self, columns: &Columns, score: &Score) {
        if self.trained.is_empty() {
            self.features = features(columns, score.weights());
            self.gains = gains(columns, score);
        }
        self.support = self.support.max(score.support());
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
        let first = self.first.as_ref().map(Calibration::error);
        self.calibration.as_ref().map(|(k, calibration)| Reliability { first, ..Reliability::of(*k, calibration) })
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
            let mut map = Map::new();
            for candidate in trained.chosen.iter().flat_map(|chosen| &chosen.candidates) {
                for name in candidate.settings.keys().filter(|name| trained.settings.contains_key(*name)) {
                    map.insert(name.clone(), trained.settings[name].clone());
                }
            }
            if let Some(core) = &trained.core {
                map.insert("core".into(), core.clone().into());
            }
            map
        };
        self.trained.iter().map(of).collect()
    }
}

/// The units of one round, as one method uses them.
pub(super) struct Cut<'a> {
    train: &'a [u32],
    valid: Option<&'a [u32]>,
    test: &'a [u32],
}

/// The best method by a metric, and those that a test cannot tell from it.
fn best_and_level(all: &Comparison, metric: usize) -> (usize, Vec<usize>) {
    answer::best_and_level(&results(&all.entries), &all.tests, metric)
}

fn results(entries: &[Entry]) -> Vec<&Evaluation> {
    entries.iter().map(|entry| &entry.result).collect()
}
