//! The page on questions: what precision they buy, for each model and strategy.

use super::draw::*;
use minijinja::value::Serde;
use minijinja::{Environment, context};
use serde::Serialize;

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    pub(crate) title: String,
    /// The command line that made it.
    pub(crate) command: String,
    /// Version of ordain.
    pub(crate) version: String,
    /// Items that were labelled.
    pub(crate) items: usize,
    /// Whether the models were told how many labels an item has.
    pub(crate) told: bool,
    /// Numbers of questions of the table.
    pub(crate) questions: Vec<usize>,
    pub(crate) curves: Vec<Curve>,
    /// Strategy, questions, difference of the models, its interval, p, and questions saved.
    pub(crate) saved: Vec<[String; 6]>,
}

/// One strategy of one model.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Curve {
    pub(crate) label: String,
    /// After 0, 1, 2 … questions.
    pub(crate) points: Vec<Point>,
}

/// Mean precision after some questions, with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Point {
    pub(crate) questions: usize,
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Writes one HTML page that needs nothing else, in the style of the other report. The same page gives the same bytes.
pub(crate) fn html(page: &Page) -> Result<String, minijinja::Error> {
    let shared = include_str!("report.html");
    let style = shared.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap_or_default();
    let mut templates = Environment::new();
    templates.add_template("questions.html", include_str!("questions.html"))?; // the name turns HTML escaping on
    let rows = page.curves.iter().map(|curve| {
        let cells = page.questions.iter().map(|&q| {
            let point = curve.points.get(q).copied().unwrap_or_default();
            context! { mean => minus(point.mean, 4), interval => interval(&point) }
        });
        context! { label => curve.label.as_str(), cells => cells.collect::<Vec<_>>() }
    });
    let (figure, keys) = chart(&page.curves).unzip();
    templates.get_template("questions.html")?.render(context! {
        style => minijinja::Value::from_safe_string(style.to_owned()),
        title => page.title.as_str(),
        command => page.command.as_str(),
        version => page.version.as_str(),
        items => page.items,
        told => page.told,
        heads => page.questions.iter().map(|&q| if q == 0 { "Auto".to_owned() } else { format!("Q{q}") }).collect::<Vec<_>>(),
        rows => rows.collect::<Vec<_>>(),
        saved => page.saved.clone(),
        f => Serde(figure),
        keys => Serde(keys.unwrap_or_default()),
    })
}

fn interval(point: &Point) -> String {
    format!("[{}, {}]", minus(point.low, 3), minus(point.high, 3))
}

/// Style and meaning of each line.
type Keys = Vec<(String, String)>;

/// Questions to the right, precision upwards; nothing where there is no curve.
pub(super) fn chart(curves: &[Curve]) -> Option<(Figure, Keys)> {
    let words = ["questions", "precision"];
    let mut figure = Figure::new("Precision after each question".into(), [900.0, 420.0], 58.0, words);
    let points = curves.iter().flat_map(|curve| &curve.points);
    let y = Axis::over(points.flat_map(|p| [p.mean, p.low, p.high]), figure.bottom, figure.top)?;
    let most = curves.iter().flat_map(|curve| &curve.points).map(|point| point.questions).max()?;
    let room = 0.02 * most.max(1) as f64;
    let x = Axis { low: -room, high: most.max(1) as f64 + room, from: figure.left, to: figure.right };
    let mut keys = vec![];
    for (i, curve) in curves.iter().enumerate() {
        let at = |p: &Point, v: f64| drawable(v).map(|v| (x.at(p.questions as f64), y.at(v)));
        let ends = curve.points.iter().filter_map(|p| at(p, p.high).zip(at(p, p.low)));
        let (high, mut low): (Vec<_>, Vec<_>) = ends.unzip();
        low.reverse();
        figure.bands.push((style(i), path(high.into_iter().chain(low).map(Some))));
        figure.lines.push((style(i), path(curve.points.iter().map(|p| at(p, p.mean)))));
        for point in &curve.points {
            let Some((x, y)) = at(point, point.mean) else { continue };
            let label = short(&curve.label, 60);
            let words = format!("{label}, {} questions: {} {}", point.questions, minus(point.mean, 4), interval(point));
            figure.dots.push((style(i), [x, y, 3.0], words));
        }
        figure.describe += &figure.dots.last().map_or(String::new(), |(.., words)| format!("{words}. "));
        keys.push((style(i), short(&curve.label, 100)));
    }
    figure.x_ticks = (0..=most).step_by(most.div_ceil(20).max(1)).map(|q| (x.at(q as f64), q.to_string())).collect();
    figure.y_ticks = y.ticks(6.0);
    Some((figure, keys))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let curve = |label: &str, start: f64| Curve {
            label: label.into(),
            points: (0..=10)
                .map(|questions| {
                    let mean = start + 0.02 * questions as f64;
                    Point { questions, mean, low: mean - 0.01, high: mean + 0.01 }
                })
                .collect(),
        };
        Page {
            title: "Questions of <cstar>".into(),
            items: 12,
            told: true,
            questions: vec![0, 5, 10],
            curves: vec![curve("cstar, expected", 0.6), curve("independent, paper", 0.5)],
            saved: vec![["paper", "5", "+0.1000", "[+0.090, +0.110]", "0.0001", "5.0"].map(str::to_owned)],
            ..Page::default()
        }
    }

    #[test]
    fn curves_stand_alone_and_say_their_numbers() {
        let text = html(&page()).unwrap();
        assert!(text.contains("Questions of &lt;cstar&gt;") && text.contains("prefers-color-scheme: dark"));
        assert_eq!((text.matches("class=\"band ").count(), text.matches("<circle").count()), (2, 22));
        assert!(text.contains("cstar, expected, 5 questions: 0.7000 [0.690, 0.710]"));
        assert!(text.contains(">Auto<") && text.contains(">Q10<") && text.contains("<td class=\"number\">5.0</td>"));
        for never in ["<script", "http", "src=", "href=", "url(", "@import"] {
            assert!(!text.contains(never), "{never}");
        }
        assert_eq!(text, html(&page()).unwrap());
        assert!(!html(&Page::default()).unwrap().contains("<svg"));
    }
}
