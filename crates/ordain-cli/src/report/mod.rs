//! The HTML report: one file, inline SVG, no network.

mod charts;
mod contour;
mod draw;
pub(crate) mod linkage;
mod plane;
pub(crate) mod questions;

pub(crate) use ordain::answer::{Bin, Reliability};

use charts::{choices, curves, differences, features, histogram, links, lists, pictures, places, reliability};
use draw::*;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use ordain::metric::{Convention, Discount, Gain, Short};
use ordain::task::{self, Task};
use serde::Serialize;
use std::collections::BTreeMap;

/// What things are called, by task.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Words {
    pub(crate) unit: &'static str,
    pub(crate) units: &'static str,
    /// What is put in order.
    pub(crate) thing: &'static str,
    pub(crate) things: &'static str,
    /// The metric of the curve, in a heading and on an axis.
    pub(crate) curve: [&'static str; 2],
    /// Why a unit is left out of the means.
    pub(crate) empty: &'static str,
}

impl From<&task::Words> for Words {
    fn from(words: &task::Words) -> Self {
        let task::Words { unit: [unit, units], thing: [thing, things], curve, empty, .. } = *words;
        Self { unit, units, thing, things, curve, empty }
    }
}

impl Words {
    /// `1 query`, `2 queries`.
    fn count(&self, n: usize) -> String {
        format!("{n} {}", if n == 1 { self.unit } else { self.units })
    }
}

impl Default for Words {
    fn default() -> Self {
        ordain::method::Rank::WORDS.into()
    }
}

/// Everything that a report shows.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Report {
    /// Headline, such as `ranksvm, ranksvm[weight=pair] on ohsumed`.
    pub(crate) title: String,
    /// The command line that made it.
    pub(crate) command: String,
    /// Version of ordain.
    pub(crate) version: String,
    /// What queries and documents are called here.
    pub(crate) words: Words,
    /// What the numbers are of: `letor2`, or `standard, empty=zero`.
    pub(crate) convention: String,
    /// Test queries, and how many were left out because nothing in them is relevant.
    pub(crate) units: usize,
    pub(crate) skipped: usize,
    /// The metrics that leave them out, where others do not.
    pub(crate) left_out: Vec<String>,
    pub(crate) folds: usize,
    /// Names of the metrics of the table, in order.
    pub(crate) metrics: Vec<String>,
    /// What must be said about them.
    pub(crate) notes: Vec<String>,
    /// The metric of the query by query part.
    pub(crate) watched: String,
    /// Whether less of it is better.
    pub(crate) watched_is_loss: bool,
    pub(crate) methods: Vec<MethodPart>,
    /// Paired tests between methods.
    pub(crate) tests: Vec<TestPart>,
    /// Precision after questions about labels, by method and strategy.
    pub(crate) questions: Vec<questions::Curve>,
    /// What the data hold, in words: a name and a value.
    pub(crate) data: Vec<(String, String)>,
    /// Figures of others: NDCG by cut-off.
    pub(crate) published: Vec<(String, Vec<(usize, f64)>)>,
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
    /// NDCG@1..10, of labels precision: mean and interval at each k.
    pub(crate) curve: Vec<Cell>,
    /// The value of the watched metric for each test query, with the query's id; `None` where it was left out.
    pub(crate) per_query: Vec<(String, Option<f64>)>,
    /// The first things of the list of each test unit, each with what is so of it; empty where there are none.
    pub(crate) lists: Vec<Vec<(String, String)>>,
    /// What was left to validation, and what it came to, one row per fold.
    pub(crate) chosen: Vec<ChosenPart>,
    /// What was tried on validation, one entry per fold.
    pub(crate) choices: Vec<ChoicePart>,
    /// Strongest features of the model (of the first fold), by absolute weight, largest first: name and weight.
    pub(crate) features: Vec<(String, f64)>,
    /// What splits of trees by each feature gain, as a share (of the first fold), largest first.
    pub(crate) gains: Vec<(String, f64)>,
    /// Labels that are linked with all others (of the first fold), and the strongest of these links.
    pub(crate) core: Vec<String>,
    pub(crate) links: Vec<(String, f64)>,
    /// How far probabilities of being among the head places can be trusted, of methods that give them.
    pub(crate) reliability: Option<Reliability>,
    /// Place probabilities of one test query.
    pub(crate) places: Option<PlacesPart>,
    /// Matches of some test problems whose items have places.
    pub(crate) pictures: Vec<PicturePart>,
    /// Scores over the plane, of rankings by two features.
    pub(crate) plane: Option<PlanePart>,
}

/// The list that a method makes of one test unit.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ListPart {
    pub(crate) label: String,
    pub(crate) lines: Vec<(String, String)>,
}

/// What validation chose in one fold.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ChosenPart {
    pub(crate) fold: usize,
    /// The settings that were open, as they were taken.
    pub(crate) settings: String,
    /// The value of the metric of the choice, and its name.
    pub(crate) value: Option<f64>,
    pub(crate) metric: String,
    /// How many candidates there were, on how many units, and how these were held out.
    pub(crate) candidates: usize,
    pub(crate) on: String,
    /// Why the choice may be another with other data.
    pub(crate) doubt: String,
}

/// A ranking function of two features (of the first fold).
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct PlanePart {
    /// What the two axes are.
    pub(crate) axes: [String; 2],
    /// The query whose scorer it is, where each has its own.
    pub(crate) query: Option<String>,
    /// The points of a grid, and the scores there, row by row.
    pub(crate) xs: Vec<f64>,
    pub(crate) ys: Vec<f64>,
    pub(crate) values: Vec<f64>,
    /// Scores that get a line, from below.
    pub(crate) levels: Vec<f64>,
    /// Documents that are drawn, and how many there are.
    pub(crate) documents: Vec<PlaneDocument>,
    pub(crate) all: usize,
    /// How many of all are core documents, of models with a kernel.
    pub(crate) core: Option<usize>,
}

/// One document of it.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct PlaneDocument {
    pub(crate) name: String,
    pub(crate) at: [f64; 2],
    pub(crate) grade: f64,
    pub(crate) score: f64,
    pub(crate) core: bool,
}

/// The matches of one problem, to be drawn.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct PicturePart {
    pub(crate) problem: String,
    /// Where the left and the right items are.
    pub(crate) left: Vec<[f64; 2]>,
    pub(crate) right: Vec<[f64; 2]>,
    /// What they are called.
    pub(crate) names: [Vec<String>; 2],
    /// Neighbours on either side, which are joined by faint lines.
    pub(crate) mesh: [Vec<(u32, u32)>; 2],
    /// Left and right item, the probability, and whether the match is right, where these are known.
    pub(crate) lines: Vec<(usize, usize, Option<f64>, Option<bool>)>,
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

/// A choice by validation: lines of (lambda, metric), such as one for each scaling.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ChoicePart {
    pub(crate) fold: usize,
    pub(crate) metric: String,
    /// What a line is of, `scale=query` or `link_lambda`, and its points.
    pub(crate) lines: Vec<(String, Vec<(f64, f64)>)>,
    /// What was taken, in words; where it stands, and its value.
    pub(crate) taken: (String, f64, f64),
}

/// A paired randomisation test between two methods.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct TestPart {
    pub(crate) metric: String,
    /// Whether less of it is better.
    pub(crate) is_loss: bool,
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) difference: f64,
    /// Its 95 % interval.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// After Holm's correction.
    pub(crate) p: f64,
}

/// Writes the report as one HTML page that needs nothing else: no script, no font, no network.
///
/// The same report gives the same bytes. A number that is not finite is shown as a dash and is not drawn.
pub(crate) fn html(report: &Report) -> Result<String, minijinja::Error> {
    let mut templates = Environment::new();
    templates.add_template("report.html", include_str!("report.html"))?; // the name turns HTML escaping on
    let per_query = differences(report);
    let listed = lists(report, per_query.as_ref());
    let per_query = per_query.or_else(|| histogram(report));
    let sections = [
        curves(report),
        asked(report),
        pictures(report),
        plane::planes(report),
        per_query,
        places(report),
        reliability(report),
        choices(report),
        features(report),
        links(report),
    ];
    let compared = report.methods.len() > 1;
    templates.get_template("report.html")?.render(context! {
        title => report.title.as_str(),
        command => report.command.as_str(),
        version => report.version.as_str(),
        words => Serde(report.words),
        notes => report.notes.clone(),
        convention => report.convention.as_str(),
        rules => Serde(rules(&report.convention)),
        units => report.units,
        skipped => report.skipped,
        left_out => report.left_out.join(", "),
        folds => report.folds,
        metrics => report.metrics.clone(),
        watched => report.watched.clone(),
        rows => report.methods.iter().map(|method| row(method, compared)).collect::<Vec<_>>(),
        data => report.data.clone(),
        lists => Serde(listed),
        chosen => report.methods.iter().flat_map(chosen).collect::<Vec<_>>(),
        sections => Serde(sections.into_iter().flatten().collect::<Vec<_>>()),
        tests => report.tests.iter().map(test).collect::<Vec<_>>(),
    })
}

/// What questions are worth to each method.
fn asked(report: &Report) -> Option<Section> {
    let (figure, keys) = questions::chart(&report.questions)?;
    let keys = keys.into_iter().map(|(style, meaning)| ("line", style, meaning)).collect();
    Some(Section { kind: "questions", keys, groups: vec![(String::new(), vec![figure])], ..Section::default() })
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

/// Rows of what validation chose for a method.
fn chosen(method: &MethodPart) -> Vec<Value> {
    let row = |part: &ChosenPart| {
        context! {
            label => method.label.as_str(),
            fold => part.fold,
            settings => part.settings.as_str(),
            value => part.value.and_then(drawable).map(|value| minus(value, 4)),
            metric => part.metric.as_str(),
            candidates => part.candidates,
            on => part.on.as_str(),
            doubt => part.doubt.as_str(),
        }
    };
    method.chosen.iter().map(row).collect()
}

/// `[0.40, 0.48]`, with more decimals where it is narrow; nothing where an end is not finite.
fn interval(cell: &Cell) -> String {
    let Some((low, high)) = drawable(cell.low).zip(drawable(cell.high)) else { return String::new() };
    let decimals = 2 + usize::from(high - low < 0.02) + usize::from(high - low < 0.002);
    format!("[{}, {}]", minus(low, decimals), minus(high, decimals))
}

/// A row of the tests; `better` is the method that is, if one can be shown to be.
fn test(test: &TestPart) -> Value {
    let better = if (test.difference > 0.0) != test.is_loss { &test.a } else { &test.b };
    let ends = drawable(test.low).zip(drawable(test.high)).filter(|(low, high)| low <= high);
    context! {
        metric => test.metric.as_str(),
        a => test.a.as_str(),
        b => test.b.as_str(),
        difference => signed(test.difference),
        interval => ends.map(|(low, high)| format!("[{}, {}]", signed(low), signed(high))),
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
#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn method(label: &str, values: &[f64]) -> MethodPart {
        let cell = |&mean: &f64| Cell { mean, low: mean - 0.1, high: mean + 0.1, ..Cell::default() };
        let lines = vec![("scale=query".to_owned(), values.iter().map(|v| (v.abs(), *v)).collect())];
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
            choices: vec![ChoicePart {
                fold: 1,
                metric: "map".into(),
                lines,
                taken: ("scale=query, lambda=1".into(), 1.0, 0.5),
            }],
            features: values.iter().enumerate().map(|(i, v)| (format!("f{i}"), *v)).collect(),
            reliability: values.first().map(|v| Reliability { k: Some(3), error: *v, first: None, bins }),
            places: Some(PlacesPart { query: "q0".into(), documents }),
            pictures: vec![picture(values)],
            plane: Some(plane(values)),
            ..MethodPart::default()
        }
    }

    fn picture(values: &[f64]) -> PicturePart {
        let places: Vec<[f64; 2]> = values.iter().take(20).map(|v| [*v, 1.0 - v]).collect();
        let names: Vec<String> = (0..places.len()).map(|i| format!("p{i}")).collect();
        let lines = (0..places.len()).map(|i| (i, i, values.first().copied(), [Some(true), Some(false), None][i % 3]));
        let mesh = [vec![(0, 1), (1, 2)], vec![(0, 99)]];
        PicturePart {
            problem: "q0".into(),
            left: places.clone(),
            right: places.clone(),
            names: [names.clone(), names],
            mesh,
            lines: lines.collect(),
        }
    }

    /// A slope over a square, with a document for each value.
    fn plane(values: &[f64]) -> PlanePart {
        let document = |(i, &v): (usize, &f64)| PlaneDocument {
            name: format!("d{i}"),
            at: [v, 1.0 - v],
            grade: v,
            score: v,
            core: i == 0,
        };
        PlanePart {
            axes: ["x".into(), "y".into()],
            query: None,
            xs: vec![0.0, 0.5, 1.0],
            ys: vec![0.0, values.first().copied().unwrap_or(0.5), 1.0],
            values: [0.0, 1.0, 2.0].repeat(3),
            levels: values.iter().take(9).copied().collect(),
            documents: values.iter().take(20).enumerate().map(document).collect(),
            all: 50,
            core: Some(1),
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
        bad.pictures[0].problem = evil.into();
        bad.pictures[0].names[0][0] = evil.into();
        let plane = bad.plane.as_mut().unwrap();
        (plane.axes, plane.query) = ([evil.into(), evil.into()], Some(evil.into()));
        plane.documents[0].name = evil.into();
        let mut report = report(vec![bad.clone(), bad]);
        (report.title, report.command, report.version) = (evil.into(), evil.into(), evil.into());
        report.watched = evil.into();
        (report.convention, report.metrics[0]) = (format!("standard, relevant-from={evil}"), evil.into());
        report.tests[0] = TestPart {
            metric: evil.into(),
            a: evil.into(),
            b: evil.into(),
            difference: 0.1,
            p: 0.01,
            ..TestPart::default()
        };
        let page = html(&report).unwrap();
        assert!(page.contains("&lt;script&gt;"));
        for never in ["<script", "http://", "https://", "src=", "url(", "@import"] {
            assert!(!page.contains(never), "{never}");
        }
        assert_eq!(page.matches("href=").count(), page.matches("href=\"#u").count(), "nothing leads out of the page");
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
        assert!(bars.matches("<rect").count() <= BARS + 2 && bars.len() < 200_000, "{}", bars.len());
        assert!(bars.contains("Each bar is the mean of 556 neighbours."), "36 bars for each of eleven pairs");
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
    fn losses_lead_to_their_lists() {
        let (mut a, mut b) = (method("a", &[0.5, 0.2, 0.4]), method("b", &[0.1, 0.3, 0.4]));
        for (part, first) in [(&mut a, "d1"), (&mut b, "d2")] {
            part.lists = vec![vec![(first.into(), "grade 2".into())]; 3];
        }
        let page = html(&report(vec![b.clone(), a.clone(), method("c", &[0.2, 0.2, 0.2])])).unwrap();
        // the best stands first whatever the order
        assert!(page.contains("a against b") && page.contains("a against c"), "{page}");
        assert!(page.contains("<a href=\"#u1\">q1</a>") && page.contains("<h3 id=\"u1\">Query q1</h3>"));
        assert!(page.contains("<li>d2 <span class=\"soft\">grade 2</span></li>"));
        assert!(!page.contains("id=\"u0\""), "no loss, no list");
        a.lists.clear();
        b.lists.clear();
        let bare = html(&report(vec![a, b])).unwrap();
        assert!(!bare.contains("href=") && bare.contains("The largest losses of the best method"));
    }

    #[test]
    fn choices_and_data_are_tables() {
        let mut part = method("a", &[0.5, 0.2]);
        part.chosen = vec![ChosenPart {
            fold: 1,
            settings: "scale=query lambda=1".into(),
            value: Some(0.25),
            metric: "map".into(),
            candidates: 20,
            on: "63 queries in 5 parts".into(),
            doubt: String::new(),
        }];
        let mut whole = report(vec![part]);
        whole.data = vec![("queries".into(), "63".into())];
        let page = html(&whole).unwrap();
        assert!(page.contains("<dt>queries</dt><dd>63</dd>"));
        assert!(page.contains("scale=query lambda=1") && page.contains("20 on 63 queries in 5 parts"));
    }

    #[test]
    fn matches_are_drawn() {
        let page = html(&report(vec![method("a", &[0.5, 0.25, 0.75])])).unwrap();
        assert!(page.contains("<h2>Matches"));
        assert!(page.contains("1 of 2 matches are right; of 1 nobody knows"), "{page}");
        assert!(page.contains("<title>p0 – p0: right, probability 0.50</title>"));
        assert!(page.contains("<title>p1 – p1: wrong, probability 0.50</title>"));
        let mut bare = method("a", &[0.5, 0.25]);
        bare.pictures = vec![PicturePart::default()];
        assert!(!html(&report(vec![bare])).unwrap().contains("<h2>Matches"));
    }

    #[test]
    fn the_plane_is_drawn() {
        let page = html(&report(vec![method("a", &[0.5, 0.25, 0.75])])).unwrap();
        assert!(page.contains(">Ranking function of a</title>"));
        assert!(page.contains("a: 3 of 50 documents, all 1 core documents ringed."));
        assert!(page.contains("<title>d0: grade 0.5, score 0.5000, a core document</title>"));
        // twice x is 0.5 on the upright line at a quarter of the way from 58 to 426
        assert!(page.contains("<title>score 0.5000, line 1 of 3 from below</title>"), "{page}");
        let line = page.split("class=\"strand level c0\"").nth(1).unwrap().split(" d=\"").nth(1).unwrap();
        let line = line.split('"').next().unwrap();
        assert!(line.trim_start_matches('M').split('L').all(|point| point.starts_with("150 ")), "{line}");
        for grade in ["grade 0.75", "grade 0.5", "grade 0.25", "core document"] {
            assert!(page.contains(&format!("<span>{grade}</span>")), "{grade}");
        }
        let many: Vec<f64> = (0..20).map(f64::from).collect();
        let mut part = method("a", &[0.5; 20]);
        part.plane.as_mut().unwrap().documents.iter_mut().zip(&many).for_each(|(d, v)| d.grade = *v);
        assert!(html(&report(vec![part])).unwrap().contains("<span>grades 16 to 19</span>"), "six marks at most");
    }

    #[test]
    fn probabilities_are_drawn_where_there_are_some() {
        let (heat, trust) = ("<h2>Probabilities of places", "<h2>Can the probabilities be trusted?");
        let mut part = method("a", &[0.5, 0.0, 0.25, 1.0]);
        part.reliability = Some(Reliability { k: Some(4), error: 0.0128, first: None, bins: vec![Bin::default(); 2] });
        let page = html(&report(vec![part.clone()])).unwrap();
        assert!(page.contains(heat) && !page.contains(trust), "bins of no documents");
        assert!(page.contains(
            "How likely each document takes each of the first 4 places of query q0, by a; computed exactly, not sampled."
        ));
        assert_eq!(page.matches(">&lt;.01</text>").count(), 5, "0 in four rows, and one of the first four");
        assert!(page.contains("<title>document d2, place 3: 0.2500</title>") && page.contains(">first 4</text>"));
        let bin = Bin { low: 0.2, high: 0.3, documents: 40, predicted: 0.25, observed: 0.2 };
        part.reliability =
            Some(Reliability { k: Some(4), error: 0.0128, first: None, bins: vec![bin, Bin { documents: 10, ..bin }] });
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
