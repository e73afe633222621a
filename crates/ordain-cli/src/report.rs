//! The HTML report: one file, inline SVG, no network.

use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use ordain::metric::{Convention, Discount, Gain, Short};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that a report shows.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Report {
    /// Headline, such as `ranksvm, ranksvm[weight=pair] on ohsumed`.
    pub(crate) title: String,
    /// The command line that made it.
    pub(crate) command: String,
    /// Version of ordain.
    pub(crate) version: String,
    /// What the numbers are of: `letor2`, or `standard, empty=zero`.
    pub(crate) convention: String,
    /// Test queries, and how many were left out because nothing in them is relevant.
    pub(crate) units: usize,
    pub(crate) skipped: usize,
    pub(crate) folds: usize,
    /// Names of the metrics of the table, in order.
    pub(crate) metrics: Vec<String>,
    /// The metric of the query by query part.
    pub(crate) watched: String,
    pub(crate) methods: Vec<MethodPart>,
    /// Paired tests between methods.
    pub(crate) tests: Vec<TestPart>,
}

/// One method of the comparison (or the one model of an evaluation).
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct MethodPart {
    /// As it was typed, `ranksvm[lambda=1]`.
    pub(crate) label: String,
    /// One cell per metric.
    pub(crate) cells: Vec<Cell>,
    /// Seconds of fitting and predicting; `None` where nothing was fitted.
    pub(crate) fit_seconds: Option<f64>,
    pub(crate) predict_seconds: Option<f64>,
    pub(crate) model_bytes: Option<usize>,
    /// NDCG@1..10: mean and interval at each k.
    pub(crate) curve: Vec<Cell>,
    /// The value of the watched metric for each test query, with the query's id; `None` where it was left out.
    pub(crate) per_query: Vec<(String, Option<f64>)>,
    /// What was tried on validation, one entry per fold.
    pub(crate) choices: Vec<ChoicePart>,
    /// Strongest features of the model (of the first fold), by absolute weight, largest first: name and weight.
    pub(crate) features: Vec<(String, f64)>,
    /// How far probabilities of being among the head places can be trusted, of methods that give them.
    pub(crate) reliability: Option<Reliability>,
    /// Place probabilities of one test query.
    pub(crate) places: Option<PlacesPart>,
}

/// Predicted probabilities of being among the first k against what was so, over all test documents.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Reliability {
    /// Number of head places.
    pub(crate) k: usize,
    /// Mean distance of prediction and truth, weighted by documents (expected calibration error).
    pub(crate) error: f64,
    /// Bins that are not empty.
    pub(crate) bins: Vec<Bin>,
}

/// One bin of predictions.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Bin {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) documents: usize,
    pub(crate) predicted: f64,
    pub(crate) observed: f64,
}

/// The likeliest documents of one query at its head places, best score first.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct PlacesPart {
    pub(crate) query: String,
    pub(crate) documents: Vec<PlacedDocument>,
}

/// One document of it.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct PlacedDocument {
    pub(crate) id: String,
    pub(crate) grade: f64,
    /// Probability of each head place.
    pub(crate) places: Vec<f64>,
    pub(crate) first_k: f64,
    pub(crate) expected_rank: f64,
}

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Cell {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Mean of the fold means, where there are several folds.
    pub(crate) fold_mean: Option<f64>,
    /// Whether it is the best of its column, or statistically level with it.
    pub(crate) best: bool,
    pub(crate) level: bool,
}

/// A choice by validation: for each scaling a line of (lambda, metric).
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ChoicePart {
    pub(crate) fold: usize,
    pub(crate) metric: String,
    /// Scaling and its points.
    pub(crate) lines: Vec<(String, Vec<(f64, f64)>)>,
    /// What was taken: scaling, lambda, value.
    pub(crate) taken: (String, f64, f64),
}

/// A paired randomisation test between two methods.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct TestPart {
    pub(crate) metric: String,
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) difference: f64,
    /// After Holm's correction.
    pub(crate) p: f64,
}

/// Writes the report as one HTML page that needs nothing else: no script, no font, no network.
///
/// The same report gives the same bytes. A number that is not finite is shown as a dash and is not drawn.
pub(crate) fn html(report: &Report) -> Result<String, minijinja::Error> {
    let mut templates = Environment::new();
    templates.add_template("report.html", include_str!("report.html"))?; // the name turns HTML escaping on
    let per_query = differences(report).or_else(|| histogram(report));
    let sections = [curves(report), per_query, places(report), reliability(report), choices(report), features(report)];
    let compared = report.methods.len() > 1;
    templates.get_template("report.html")?.render(context! {
        title => report.title.as_str(),
        command => report.command.as_str(),
        version => report.version.as_str(),
        convention => report.convention.as_str(),
        rules => Serde(rules(&report.convention)),
        units => report.units,
        skipped => report.skipped,
        folds => report.folds,
        metrics => report.metrics.clone(),
        watched => report.watched.clone(),
        rows => report.methods.iter().map(|method| row(method, compared)).collect::<Vec<_>>(),
        sections => Serde(sections.into_iter().flatten().collect::<Vec<_>>()),
        tests => report.tests.iter().map(test).collect::<Vec<_>>(),
    })
}

/// A row of the table.
fn row(method: &MethodPart, compared: bool) -> Value {
    let seconds = |s: f64| minus(s, if s < 0.1 { 3 } else { usize::from(s < 100.0) + usize::from(s < 10.0) });
    let size = |bytes: usize| format!("{:.1} kB", bytes as f64 / 1e3);
    let cell = |cell: &Cell| {
        context! {
            mean => minus(cell.mean, 4),
            interval => interval(cell),
            folds => cell.fold_mean.map(|mean| minus(mean, 4)),
            best => compared && cell.best,
            level => compared && cell.level && !cell.best,
        }
    };
    context! {
        label => method.label.as_str(),
        cells => method.cells.iter().map(cell).collect::<Vec<_>>(),
        fit => method.fit_seconds.map(seconds),
        predict => method.predict_seconds.map(seconds),
        size => method.model_bytes.map(size),
    }
}

/// `[0.40, 0.48]`, with more decimals where it is narrow; nothing where an end is not finite.
fn interval(cell: &Cell) -> String {
    let Some((low, high)) = drawable(cell.low).zip(drawable(cell.high)) else { return String::new() };
    let decimals = 2 + usize::from(high - low < 0.02) + usize::from(high - low < 0.002);
    format!("[{}, {}]", minus(low, decimals), minus(high, decimals))
}

/// A row of the tests; `better` is the method that is, if one can be shown to be.
fn test(test: &TestPart) -> Value {
    let better = if test.difference > 0.0 { &test.a } else { &test.b };
    context! {
        metric => test.metric.as_str(),
        a => test.a.as_str(),
        b => test.b.as_str(),
        difference => signed(test.difference),
        p => if test.p < 1e-4 { "< 0.0001".into() } else { minus(test.p, 4) },
        tested => test.p.is_finite() && test.difference.is_finite(),
        better => (test.p < 0.05 && test.difference != 0.0).then(|| short(better, 60)),
    }
}

/// The rules of a convention such as `standard, empty=zero`; none where it has no known name.
fn rules(convention: &str) -> BTreeMap<&str, &str> {
    let mut parts = convention.split(", ");
    let Ok(by) = parts.next().unwrap_or_default().parse::<Convention>() else { return BTreeMap::new() };
    let mut rules = BTreeMap::from([
        ("gain", if by.gain == Gain::Exp { "exp" } else { "linear" }),
        ("discount", if by.discount == Discount::Log2 { "log2" } else { "letor" }),
        ("empty", ["skip", "zero", "one"][by.empty as usize]),
        ("short", if by.short == Short::Keep { "keep" } else { "zero" }),
        ("ties", ["average", "input", "id"][by.ties as usize]),
    ]);
    rules.extend(parts.filter_map(|part| part.split_once('=')));
    rules
}

/// A heading, a sentence, a legend and charts.
#[derive(Default, Serialize)]
struct Section {
    /// What it shows: `curves`, `differences`, `values`, `places`, `reliability`, `choices` or `features`.
    kind: &'static str,
    text: String,
    /// Shape (`line`, `box`), style and meaning.
    keys: Vec<(&'static str, String, String)>,
    /// Charts under a heading of their own, which may be empty.
    groups: Vec<(String, Vec<Figure>)>,
}

/// A chart: its frame, and what stands in it.
#[derive(Default, Serialize)]
struct Figure {
    title: String,
    describe: String,
    caption: String,
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x_label: String,
    y_label: String,
    x_ticks: Vec<(f64, String)>,
    y_ticks: Vec<(f64, String)>,
    /// A line of reference, such as zero: x and y of both ends.
    rule: Option<[f64; 4]>,
    /// Style and path.
    bands: Vec<(String, String)>,
    lines: Vec<(String, String)>,
    /// Style; x, y, width, height; words.
    bars: Vec<(String, [f64; 4], String)>,
    /// Style; x, y, radius; words.
    dots: Vec<(String, [f64; 3], String)>,
    /// x of the end, y, what is written, and the same in full.
    texts: Vec<(f64, f64, String, String)>,
    /// Opacity; x, y, width, height; what is written in the middle; words.
    cells: Vec<(f64, [f64; 4], String, String)>,
    /// Rows of a table next to it.
    table: Vec<[String; 4]>,
}

impl Figure {
    fn new(title: String, [width, height]: [f64; 2], left: f64, [x_label, y_label]: [&str; 2]) -> Self {
        let (right, top, bottom, x_label, y_label) =
            (width - 14.0, 12.0, height - 46.0, x_label.into(), y_label.into());
        Self { title, width, height, left, right, top, bottom, x_label, y_label, ..Self::default() }
    }
}

/// Bars of a chart of differences, bins of a histogram and folds of a choice that are drawn at most.
const BARS: usize = 400;
const BINS: usize = 20;
const FOLDS: usize = 5;

/// Documents and head places of a heat map that are drawn at most.
const ROWS: usize = 12;
const PLACES: usize = 15;

/// A straight map from numbers to pixels.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis that holds all values with some room; `None` where no value can be drawn.
    fn over(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let ends = |(low, high): (f64, f64), v: f64| (low.min(v), high.max(v));
        let (low, high) = values.into_iter().filter_map(drawable).fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        let (span, size) = (high - low, low.abs().max(high.abs()));
        let room = if span > 1e-9 * size { 0.04 * span } else { 0.1 * size + f64::from(size < 1e-99) };
        (low <= high).then_some(Self { low: low - room, high: high + room, from, to })
    }

    fn at(&self, v: f64) -> f64 {
        let part = ((v - self.low) / (self.high - self.low)).clamp(-1.0, 2.0);
        ((self.from + part * (self.to - self.from)) * 10.0).round() / 10.0
    }

    /// About `count` ticks at round numbers.
    fn ticks(&self, count: f64) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / count;
        let unit = 10f64.powf(rough.log10().floor());
        let step = unit * [1.0, 2.0, 5.0].into_iter().find(|m| m * unit >= rough).unwrap_or(10.0);
        let decimals = (-step.log10() - 1e-9).ceil().max(0.0) as usize;
        let first = (self.low / step).ceil();
        let at = (0..30).map(|i| (first + f64::from(i)) * step + 0.0).take_while(|v| *v <= self.high);
        at.map(|v| (self.at(v), if decimals > 5 || v.abs() >= 1e6 { format!("{v:.1e}") } else { minus(v, decimals) }))
            .collect()
    }

    /// Ticks at powers of ten, at most about `most`; the axis is of logarithms.
    fn powers(&self, most: i32) -> Vec<(f64, String)> {
        let (first, last) = (self.low.ceil() as i32, self.high.floor() as i32);
        let step = 1 + (last - first).max(0) / most;
        (first..=last)
            .filter(|power| power % step == 0)
            .map(|power| (self.at(f64::from(power)), number(10f64.powi(power))))
            .collect()
    }
}

/// The number where it can be drawn: finite and not absurdly large; absurdly small ones are 0.
fn drawable(v: f64) -> Option<f64> {
    (v.abs() < 1e100).then_some(if v.abs() < 1e-100 { 0.0 } else { v })
}

/// With a real minus sign; a dash where it is not finite.
fn minus(v: f64, decimals: usize) -> String {
    match drawable(v) {
        None => "–".into(),
        Some(v) if v.abs() >= 1e9 => format!("{v:.2e}").replace('-', "−"),
        Some(v) => format!("{v:.decimals$}").replace('-', "−"),
    }
}

/// As above, with a plus sign where it is positive.
fn signed(v: f64) -> String {
    format!("{}{}", if drawable(v).is_some_and(|v| v > 0.0) { "+" } else { "" }, minus(v, 4))
}

/// A short form of any number to four digits, for lambda.
fn number(v: f64) -> String {
    let Some(v) = drawable(v) else { return "–".into() };
    let v: f64 = format!("{v:.3e}").parse().unwrap_or(v);
    if v != 0.0 && !(1e-3..1e5).contains(&v.abs()) { format!("{v:e}").replace('-', "−") } else { v.to_string() }
}

/// A probability to two decimals.
fn chance(p: f64) -> String {
    if (0.0..0.01).contains(&p) { "<.01".into() } else { minus(p, 2) }
}

/// `1 query`, `2 queries`.
fn queries(n: usize) -> String {
    format!("{n} {}", if n == 1 { "query" } else { "queries" })
}

/// The start and the end of a text that is too long.
fn short(text: &str, most: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= most {
        return text.into();
    }
    let (head, tail) = (&chars[..most / 2], &chars[chars.len() - (most - 1) / 2..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

/// Left, top, width and height of a bar, at least half a pixel each way.
fn rect(left: f64, top: f64, right: f64, bottom: f64) -> [f64; 4] {
    let size = |v: f64| (v.max(0.5) * 10.0).round() / 10.0;
    [left, top, size(right - left), size(bottom - top)]
}

/// One of six colours with one of six dash patterns; 36 styles before one comes again.
fn style(i: usize) -> String {
    format!("c{} d{}", i % 6, (i + i / 6) % 6)
}

/// A path through the points, broken where one is missing.
fn path(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let step = |pen: &mut char, point: Option<(f64, f64)>| {
        let drawn = point.map_or(String::new(), |(x, y)| format!("{pen}{x} {y}"));
        *pen = if point.is_some() { 'L' } else { 'M' };
        Some(drawn)
    };
    points.scan('M', step).collect()
}

/// NDCG@k of every method with its interval.
fn curves(report: &Report) -> Option<Section> {
    let mut figure = Figure::new("NDCG@k of each method".into(), [900.0, 380.0], 58.0, ["k", "NDCG@k"]);
    let cells = report.methods.iter().flat_map(|m| &m.curve);
    let y = Axis::over(cells.flat_map(|c| [c.mean, c.low, c.high]), figure.bottom, figure.top)?;
    let most = report.methods.iter().map(|m| m.curve.len()).max()?;
    let x = Axis { low: 0.8, high: most as f64 + 0.2, from: figure.left, to: figure.right };
    let mut keys = Vec::new();
    for (i, method) in report.methods.iter().enumerate().filter(|(_, m)| !m.curve.is_empty()) {
        let curve = || (1..).zip(&method.curve);
        let at = |k: u32, v: f64| drawable(v).map(|v| (x.at(f64::from(k)), y.at(v)));
        let (high, mut low): (Vec<_>, Vec<_>) = curve().filter_map(|(k, c)| at(k, c.high).zip(at(k, c.low))).unzip();
        low.reverse();
        figure.bands.push((style(i), path(high.into_iter().chain(low).map(Some))));
        figure.lines.push((style(i), path(curve().map(|(k, c)| at(k, c.mean)))));
        for (k, cell) in curve() {
            let Some((x, y)) = at(k, cell.mean) else { continue };
            let words = format!("{}, k = {k}: {} {}", short(&method.label, 60), minus(cell.mean, 4), interval(cell));
            figure.dots.push((style(i), [x, y, 3.0], words));
        }
        figure.describe += &figure.dots.last().map_or(String::new(), |(.., words)| format!("{words}. "));
        keys.push(("line", style(i), short(&method.label, 100)));
    }
    figure.x_ticks = (1..=most).step_by(most.div_ceil(20)).map(|k| (x.at(k as f64), k.to_string())).collect();
    figure.y_ticks = y.ticks(6.0);
    Some(Section { kind: "curves", keys, groups: vec![(String::new(), vec![figure])], ..Section::default() })
}

/// What each query gains from the first method against the second; neighbours are averaged where there are many.
fn differences(report: &Report) -> Option<Section> {
    let [a, b, ..] = report.methods.as_slice() else { return None };
    let pairs = a.per_query.iter().zip(&b.per_query).filter(|(x, y)| x.0 == y.0);
    let mut sorted: Vec<(f64, &str)> = pairs.filter_map(|(x, y)| Some((drawable(x.1? - y.1?)?, &*x.0))).collect();
    sorted.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(y.1)));
    let (n, words) = (sorted.len(), "queries, from the largest gain to the largest loss");
    let mut figure = Figure::new("Difference for each query".into(), [900.0, 300.0], 58.0, [words, "difference"]);
    let ends = [sorted.first()?.0, sorted.last()?.0, 0.0];
    let y = Axis::over(ends, figure.bottom, figure.top)?;
    let size = n.div_ceil(BARS);
    let x = Axis { low: 0.0, high: n.div_ceil(size).max(20) as f64, from: figure.left, to: figure.right };
    for (i, part) in sorted.chunks(size).enumerate() {
        let mean = part.iter().map(|d| d.0).sum::<f64>() / part.len() as f64;
        let tip = match part {
            [(_, id)] => format!("query {id}: {}", signed(mean)),
            _ => format!("queries {} to {} of {n}: mean {}", i * size + 1, i * size + part.len(), signed(mean)),
        };
        let (left, right) = (x.at(i as f64), x.at(i as f64 + 1.0));
        let gap = if right - left > 4.0 { 1.0 } else { 0.0 };
        let place = rect(left, y.at(mean.max(0.0)), right - gap, y.at(mean.min(0.0)));
        figure.bars.push((style(usize::from(mean < 0.0)), place, tip));
    }
    figure.rule = Some([figure.left, y.at(0.0), figure.right, y.at(0.0)]);
    figure.y_ticks = y.ticks(6.0);
    let count = |sign: f64| sorted.iter().filter(|d| d.0 * sign > 1e-12).count();
    let (wins, losses, first, second) = (count(1.0), count(-1.0), short(&a.label, 80), short(&b.label, 80));
    let level = n - wins - losses;
    figure.describe = format!("{first} is better on {}, {second} on {losses}; {level} level.", queries(wins));
    let grouped = if size > 1 { format!(" Each bar is the mean of {size} neighbours.") } else { String::new() };
    let text = format!("{}{grouped}", figure.describe);
    let keys = vec![("box", style(0), format!("{first} better")), ("box", style(1), format!("{second} better"))];
    Some(Section { kind: "differences", text, keys, groups: vec![(String::new(), vec![figure])] })
}

/// How the values of the queries are spread, for a single method.
fn histogram(report: &Report) -> Option<Section> {
    let values = report.methods.first()?.per_query.iter().filter_map(|(_, v)| drawable((*v)?));
    let values: Vec<f64> = values.collect();
    let metric = &report.watched;
    let mut figure = Figure::new(format!("Spread of {metric}"), [900.0, 300.0], 58.0, [metric, "queries"]);
    let mut x = Axis::over(values.iter().copied(), figure.left, figure.right)?;
    if values.iter().all(|v| (0.0..=1.0).contains(v)) {
        (x.low, x.high) = (0.0, 1.0);
    }
    let (mut counts, step) = ([0usize; BINS], (x.high - x.low) / BINS as f64);
    values.iter().for_each(|v| counts[(((v - x.low) / step) as usize).min(BINS - 1)] += 1);
    let y = Axis { low: 0.0, ..Axis::over(counts.map(|c| c as f64), figure.bottom, figure.top)? };
    for (bin, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (from, to) = (x.low + bin as f64 * step, x.low + (bin + 1) as f64 * step);
        let tip = format!("{} to {}: {}", minus(from, 2), minus(to, 2), queries(count));
        figure.bars.push((style(0), rect(x.at(from) + 1.0, y.at(count as f64), x.at(to) - 1.0, figure.bottom), tip));
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    figure.rule = Some([x.at(mean), figure.top, x.at(mean), figure.bottom]);
    (figure.x_ticks, figure.y_ticks) = (x.ticks(10.0), y.ticks(5.0));
    figure.y_ticks.retain(|(_, text)| !text.contains('.'));
    let text = format!("How many queries have which value; the upright line is their mean, {}.", minus(mean, 4));
    figure.describe.clone_from(&text);
    Some(Section { kind: "values", text, groups: vec![(String::new(), vec![figure])], ..Section::default() })
}

/// How likely each document of a query takes each head place.
fn places(report: &Report) -> Option<Section> {
    let figures: Vec<Figure> = report.methods.iter().filter_map(|m| heat(&m.label, m.places.as_ref()?)).collect();
    let groups = vec![(String::new(), figures)];
    (!groups[0].1.is_empty()).then(|| Section { kind: "places", groups, ..Section::default() })
}

fn heat(label: &str, part: &PlacesPart) -> Option<Figure> {
    let drawn = &part.documents[..part.documents.len().min(ROWS)];
    let k = drawn.iter().map(|d| d.places.len()).max().filter(|k| *k > 0)?;
    let (shown, label, query) = (k.min(PLACES), short(label, 200), short(&part.query, 60));
    let size = [900.0, drawn.len() as f64 * 28.0 + 46.0];
    let mut figure = Figure::new(format!("Probabilities of places by {label}"), size, 320.0, ["", ""]);
    let step = (570.0 / (shown + 1) as f64).min(88.0).floor();
    let square = |column: usize, top: f64| {
        let left = figure.left + step * column as f64 + if column == shown { 10.0 } else { 0.0 };
        rect(left, top, left + step - 2.0, top + 26.0)
    };
    let head = |column: usize| if column == shown { format!("first {k}") } else { format!("{}", column + 1) };
    figure.cells.extend((0..=shown).map(|column| (0.0, square(column, figure.top), head(column), String::new())));
    let mut rows = vec![["document".to_owned(), "grade".into(), "expected rank".into(), String::new()]];
    for (i, document) in drawn.iter().enumerate() {
        let (top, id) = (figure.top + 28.0 * (i + 1) as f64, short(&document.id, 60));
        let chances = document.places.iter().copied().chain([f64::NAN; PLACES]).take(shown);
        for (column, p) in chances.chain([document.first_k]).enumerate() {
            let shade = 0.55 * drawable(p).unwrap_or(0.0).clamp(0.0, 1.0).sqrt(); // the number stays readable on it
            let at = if column == shown { head(column) } else { format!("place {}", head(column)) };
            let words = format!("document {id}, {at}: {}", minus(p, 4));
            figure.cells.push(((shade * 1e3).round() / 1e3, square(column, top), chance(p), words));
        }
        figure.describe += &format!("document {id}, first {k}: {}. ", chance(document.first_k));
        rows.push([short(&id, 20), number(document.grade), minus(document.expected_rank, 1), id]);
    }
    for (i, [name, grade, rank, full]) in rows.into_iter().enumerate() {
        let y = figure.top + 28.0 * i as f64 + 17.5;
        figure.texts.extend([
            (156.0, y, name, full),
            (204.0, y, grade, String::new()),
            (306.0, y, rank, String::new()),
        ]);
    }
    let few = if shown < k { format!(" The first {shown} are drawn.") } else { String::new() };
    let which = if k == 1 { "the first place".into() } else { format!("each of the first {k} places") };
    figure.caption = format!(
        "How likely each document takes {which} of query {query}, by {label}; computed exactly, not sampled.{few}"
    );
    Some(figure)
}

/// Whether predicted probabilities come true.
fn reliability(report: &Report) -> Option<Section> {
    let group = |m: &MethodPart| Some((short(&m.label, 200), vec![diagram(&m.label, m.reliability.as_ref()?)?]));
    let groups: Vec<_> = report.methods.iter().filter_map(group).collect();
    (!groups.is_empty()).then(|| Section { kind: "reliability", groups, ..Section::default() })
}

fn diagram(label: &str, part: &Reliability) -> Option<Figure> {
    let real = |b: &&Bin| b.documents > 0 && drawable(b.predicted).and(drawable(b.observed)).is_some();
    let bins: Vec<&Bin> = part.bins.iter().filter(real).collect();
    let most = bins.iter().map(|b| b.documents).max()? as f64;
    let x_label = format!("predicted probability of being among the first {}", part.k);
    let title = format!("Reliability of {}", short(label, 200));
    let mut figure = Figure::new(title, [440.0, 420.0], 58.0, [&x_label, "observed share"]);
    let x = Axis::over([0.0, 1.0], figure.left, figure.right)?;
    let y = Axis::over([0.0, 1.0], figure.bottom, figure.top)?;
    for bin in bins {
        let row = [
            format!("{} to {}", minus(bin.low, 2), minus(bin.high, 2)),
            bin.documents.to_string(),
            minus(bin.predicted, 3),
            minus(bin.observed, 3),
        ];
        let radius = (140.0 * (bin.documents as f64 / most).sqrt()).round().max(25.0) / 10.0;
        let words = format!("predicted {}, observed {}, documents {}", row[2], row[3], row[1]);
        figure.dots.push(("c0 count".into(), [x.at(bin.predicted), y.at(bin.observed), radius], words));
        figure.table.push(row);
    }
    figure.dots.sort_by(|a, b| b.1[2].total_cmp(&a.1[2])); // small ones on top
    figure.rule = Some([x.at(0.0), y.at(0.0), x.at(1.0), y.at(1.0)]);
    (figure.x_ticks, figure.y_ticks) = (x.ticks(6.0), y.ticks(6.0));
    let off = if part.error < 5e-4 { "less than 0.001".into() } else { minus(part.error, 3) };
    let said = format!("On average over documents the prediction is off by {off}.");
    figure.caption = drawable(part.error).map_or(String::new(), |_| said);
    figure.describe.clone_from(&figure.caption);
    Some(figure)
}

/// What validation saw for each lambda and scaling, and what it took.
fn choices(report: &Report) -> Option<Section> {
    let lines = report.methods.iter().flat_map(|m| &m.choices).flat_map(|choice| &choice.lines);
    let scalings: BTreeSet<&str> = lines.map(|(name, _)| name.as_str()).collect();
    let group = |method: &MethodPart| {
        let figures = method.choices.iter().take(FOLDS).enumerate().filter_map(|(i, c)| choice(c, i == 0, &scalings));
        (short(&method.label, 200), figures.collect::<Vec<_>>())
    };
    let groups: Vec<_> = report.methods.iter().map(group).filter(|g| !g.1.is_empty()).collect();
    let key = |(i, name): (usize, &&str)| ("line", style(i), format!("scale={}", short(name, 60)));
    let keys = scalings.iter().enumerate().map(key).collect();
    (!groups.is_empty()).then(|| Section { kind: "choices", keys, groups, ..Section::default() })
}

/// One fold of a choice; the first is drawn large.
fn choice(choice: &ChoicePart, large: bool, scalings: &BTreeSet<&str>) -> Option<Figure> {
    let point = |&(lambda, v): &(f64, f64)| Some((drawable(lambda).filter(|l| *l > 0.0)?.log10(), drawable(v)?));
    let words = |scale: &str, lambda: f64, v: f64| {
        format!("scale={}, lambda={}: {}", short(scale, 40), number(lambda), minus(v, 4))
    };
    let (scale, lambda, value) = (&choice.taken.0, choice.taken.1, choice.taken.2);
    let taken = point(&(lambda, value));
    let points = || choice.lines.iter().flat_map(|(_, line)| line.iter().filter_map(point)).chain(taken);
    let title = format!("Fold {}: {} against lambda", choice.fold, choice.metric);
    let (size, left, labels, ticks) =
        if large { ([440.0, 360.0], 58.0, ["lambda", &choice.metric], 6) } else { ([220.0, 160.0], 42.0, ["", ""], 4) };
    let mut figure = Figure::new(title, size, left, labels);
    let mut x = Axis::over(points().map(|p| p.0), figure.left, figure.right)?;
    let y = Axis::over(points().map(|p| p.1), figure.bottom, figure.top)?;
    let short_of = (1.1 - (x.high - x.low)).max(0.0) / 2.0; // so that at least one power of ten is in sight
    (x.low, x.high) = (x.low - short_of, x.high + short_of);
    for (name, line) in &choice.lines {
        let class = style(scalings.iter().position(|s| s == name).unwrap_or(0));
        let pixels = |p: &(f64, f64)| point(p).map(|(at, v)| (x.at(at), y.at(v)));
        figure.lines.push((class.clone(), path(line.iter().map(pixels))));
        for p in line {
            let Some((left, top)) = pixels(p) else { continue };
            figure.dots.push((class.clone(), [left, top, 2.5], words(name, p.0, p.1)));
        }
    }
    figure.describe = format!("taken: {}", words(scale, lambda, value));
    figure.dots.extend(taken.map(|(at, v)| ("taken".into(), [x.at(at), y.at(v), 7.0], figure.describe.clone())));
    figure.caption = format!("Fold {}: {}", choice.fold, words(scale, lambda, value));
    (figure.x_ticks, figure.y_ticks) = (x.powers(ticks), y.ticks(f64::from(ticks)));
    Some(figure)
}

/// The largest weights of each method.
fn features(report: &Report) -> Option<Section> {
    let figures: Vec<Figure> = report.methods.iter().filter_map(weights).collect();
    let groups = vec![(String::new(), figures)];
    (!groups[0].1.is_empty()).then(|| Section { kind: "features", groups, ..Section::default() })
}

fn weights(method: &MethodPart) -> Option<Figure> {
    let drawn = method.features.iter().filter_map(|(name, w)| Some((name, drawable(*w)?)));
    let drawn: Vec<(&String, f64)> = drawn.take(15).collect();
    let size = [440.0, drawn.len() as f64 * 22.0 + 62.0];
    let mut figure = Figure::new(format!("Weights of {}", short(&method.label, 200)), size, 154.0, ["weight", ""]);
    figure.right -= 62.0;
    let x =
        Axis::over(drawn.first().map(|_| 0.0).into_iter().chain(drawn.iter().map(|f| f.1)), figure.left, figure.right)?;
    for (i, (name, w)) in drawn.iter().enumerate() {
        let middle = figure.top + 22.0 * (i as f64 + 0.5);
        let place = rect(x.at(w.min(0.0)), middle - 7.0, x.at(w.max(0.0)), middle + 7.0);
        let value = if (1e-3..1e4).contains(&w.abs()) { minus(*w, 3) } else { format!("{w:.1e}").replace('-', "−") };
        figure.texts.push((figure.left - 8.0, middle + 4.0, short(name, 18), name.to_string()));
        figure.texts.push((figure.width - 6.0, middle + 4.0, value.clone(), String::new()));
        figure.bars.push((style(usize::from(*w < 0.0)), place, format!("{name}: {value}")));
    }
    figure.rule = Some([x.at(0.0), figure.top, x.at(0.0), figure.bottom]);
    figure.caption = short(&method.label, 200);
    figure.describe = figure.bars.iter().take(3).map(|(.., words)| format!("{}. ", short(words, 60))).collect();
    figure.x_ticks = x.ticks(4.0);
    Some(figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(label: &str, values: &[f64]) -> MethodPart {
        let cell = |&mean: &f64| Cell { mean, low: mean - 0.1, high: mean + 0.1, ..Cell::default() };
        let lines = vec![("query".to_owned(), values.iter().map(|v| (v.abs(), *v)).collect())];
        let bin = |&v: &f64| Bin { low: v, high: v, documents: (v as usize).max(1), predicted: v, observed: 1.0 - v };
        let placed = |(i, &v): (usize, &f64)| PlacedDocument {
            id: format!("d{i}"),
            grade: v,
            places: values.iter().take(20).copied().collect(),
            first_k: v,
            expected_rank: v,
        };
        let bins: Vec<Bin> = values.iter().take(20).map(bin).collect();
        let documents = values.iter().take(20).enumerate().map(placed).collect();
        MethodPart {
            label: label.into(),
            cells: values.iter().take(1).map(cell).collect(),
            fit_seconds: values.first().copied(),
            curve: values.iter().take(10).map(cell).collect(),
            per_query: values.iter().enumerate().map(|(i, v)| (format!("q{i}"), Some(*v))).collect(),
            choices: vec![ChoicePart { fold: 1, metric: "map".into(), lines, taken: ("query".into(), 1.0, 0.5) }],
            features: values.iter().enumerate().map(|(i, v)| (format!("f{i}"), *v)).collect(),
            reliability: values.first().map(|v| Reliability { k: 3, error: *v, bins }),
            places: Some(PlacesPart { query: "q0".into(), documents }),
            ..MethodPart::default()
        }
    }

    fn report(methods: Vec<MethodPart>) -> Report {
        let (title, convention) = ("a title".into(), "standard, empty=zero".into());
        let tests = vec![TestPart { metric: "map".into(), difference: f64::NAN, p: 0.01, ..TestPart::default() }];
        Report {
            title,
            convention,
            metrics: vec!["map".into()],
            watched: "map".into(),
            units: 3,
            folds: 2,
            methods,
            tests,
            ..Report::default()
        }
    }

    #[test]
    fn odd_numbers_are_never_drawn() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, -0.0, 1e99, -1e99, 5e-324];
        let mut cases = vec![vec![], vec![0.0], vec![0.5], vec![-3.0; 40], vec![1e15, 1e15 + 1.0], odd.to_vec()];
        cases.extend(odd.iter().map(|v| vec![*v]));
        cases.extend(odd.iter().map(|v| vec![*v, 0.3, 0.1]));
        for values in &cases {
            for others in [vec![], vec![method("b", &[0.25; 50])], vec![method("b", values); 11]] {
                let page = html(&report([vec![method("a", values)], others].concat())).unwrap();
                assert!(!page.contains("NaN") && !page.contains("inf"), "{values:?}");
                assert!(!page.contains("=\"\""), "an empty attribute: {values:?}");
            }
        }
        assert!(html(&Report::default()).unwrap().contains("</html>"));
    }

    #[test]
    fn text_is_escaped_and_the_page_stands_alone() {
        let evil = "<script>\"'&</script> https://example.org/";
        let mut bad = method(evil, &[0.1, 0.2]);
        bad.per_query[0].0 = evil.into();
        bad.features[0].0 = evil.into();
        bad.choices[0].lines[0].0 = evil.into();
        bad.choices[0].metric = evil.into();
        let documents = vec![PlacedDocument { id: evil.into(), places: vec![0.5], ..PlacedDocument::default() }];
        bad.places = Some(PlacesPart { query: evil.into(), documents });
        let mut report = report(vec![bad.clone(), bad]);
        (report.title, report.command, report.version) = (evil.into(), evil.into(), evil.into());
        report.watched = evil.into();
        (report.convention, report.metrics[0]) = (format!("standard, relevant-from={evil}"), evil.into());
        report.tests[0] = TestPart { metric: evil.into(), a: evil.into(), b: evil.into(), difference: 0.1, p: 0.01 };
        let page = html(&report).unwrap();
        assert!(page.contains("&lt;script&gt;"));
        for never in ["<script", "http://", "https://", "src=", "href=", "url(", "@import"] {
            assert!(!page.contains(never), "{never}");
        }
        assert_eq!(page, html(&report).unwrap());
    }

    #[test]
    fn many_queries_methods_and_letters_stay_small() {
        let values =
            |shift: usize| (0..20_000).map(|i| ((i * 7919 + shift) % 1000) as f64 / 1000.0).collect::<Vec<_>>();
        let long = "long ".repeat(200);
        let page = html(&report((0..12).map(|m| method(&format!("{long}{m}"), &values(m * 13))).collect())).unwrap();
        // (choices have 20,000 points each here, which no run has; they are left out of the count)
        let bars = page.split("<h2>Query by query").nth(1).unwrap().split("<h2>").next().unwrap();
        assert!(bars.matches("<rect").count() <= BARS + 2 && bars.len() < 100_000, "{}", bars.len());
        assert!(bars.contains("Each bar is the mean of 50 neighbours."));
        let styles: BTreeSet<String> = (0..36).map(style).collect();
        assert_eq!(styles.len(), 36);
    }

    #[test]
    fn words_match_the_numbers() {
        let page = html(&report(vec![method("a", &[0.5, 0.2, 0.4]), method("b", &[0.1, 0.3, 0.4])])).unwrap();
        assert!(page.contains("a is better on 1 query, b on 1; 1 level."), "wins, losses and level ones");
        assert!(page.contains("<title>query q0: +0.4000</title>"));
        assert!(page.contains("3 test queries in 2 folds; measured by the convention <b>standard, empty=zero</b>."));
        assert!(page.contains("A query in which nothing is relevant counts 0."));
        assert!(page.contains("not tested"));
        let alone = html(&report(vec![method("a", &[0.5, 0.2, 0.4])])).unwrap();
        assert!(alone.contains("the upright line is their mean, 0.3667."));
        let axis = Axis::over([0.0, 1.0], 0.0, 100.0).unwrap();
        let ticks: Vec<String> = axis.ticks(6.0).into_iter().map(|(_, text)| text).collect();
        assert_eq!(ticks, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(number(1e-23), "1e−23");
        assert_eq!(short("abcdefghij", 5), "ab…ij");
    }

    #[test]
    fn probabilities_are_drawn_where_there_are_some() {
        let (heat, trust) = ("<h2>Probabilities of places", "<h2>Can the probabilities be trusted?");
        let mut part = method("a", &[0.5, 0.0, 0.25, 1.0]);
        part.reliability = Some(Reliability { k: 4, error: 0.0128, bins: vec![Bin::default(); 2] });
        let page = html(&report(vec![part.clone()])).unwrap();
        assert!(page.contains(heat) && !page.contains(trust), "bins of no documents");
        assert!(page.contains(
            "How likely each document takes each of the first 4 places of query q0, by a; computed exactly, not sampled."
        ));
        assert_eq!(page.matches(">&lt;.01</text>").count(), 5, "0 in four rows, and one of the first four");
        assert!(page.contains("<title>document d2, place 3: 0.2500</title>") && page.contains(">first 4</text>"));
        let bin = Bin { low: 0.2, high: 0.3, documents: 40, predicted: 0.25, observed: 0.2 };
        part.reliability = Some(Reliability { k: 4, error: 0.0128, bins: vec![bin, Bin { documents: 10, ..bin }] });
        part.places = Some(PlacesPart { documents: vec![PlacedDocument::default(); 3], ..PlacesPart::default() });
        let page = html(&report(vec![part.clone()])).unwrap();
        assert!(!page.contains(heat) && page.contains(trust), "documents without places");
        assert!(page.contains("On average over documents the prediction is off by 0.013."));
        assert!(page.contains("predicted 0.250, observed 0.200, documents 40"));
        assert!(page.contains("r=\"14.0\"") && page.contains("r=\"7.0\""), "a quarter of the area");
        (part.reliability, part.places) = (None, None);
        let page = html(&report(vec![part, method("b", &[0.1; 30])])).unwrap();
        assert!(page.contains("The first 15 are drawn.") && page.contains("document d11,"));
        assert!(!page.contains("document d12,"), "twelve rows");
    }
}
