//! The page on links between two tables.

use super::Reliability;
use super::charts::{diagram, weights};
use super::draw::*;
use minijinja::value::Serde;
use minijinja::{Environment, context};
use ordain::link::Why;

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    pub(crate) title: String,
    /// The command line that made it.
    pub(crate) command: String,
    /// Version of ordain.
    pub(crate) version: String,
    /// Candidate pairs.
    pub(crate) pairs: usize,
    /// Known matches that are candidates, and all of them.
    pub(crate) reached: usize,
    pub(crate) known: usize,
    /// Rule, pairs, and pairs that no rule before has.
    pub(crate) rules: Vec<[String; 3]>,
    /// Comparisons by what they are worth.
    pub(crate) worth: Vec<(String, f64)>,
    /// How many links, and records that stay alone, have which probability: 20 bins each.
    pub(crate) counts: [[usize; 20]; 2],
    /// How probabilities of known pairs come true.
    pub(crate) reliability: Option<Reliability>,
    /// Why some links stand.
    pub(crate) whys: Vec<Why>,
}

/// Writes one HTML page that needs nothing else, in the style of the other report. The same page gives the same bytes.
pub(crate) fn html(page: &Page) -> Result<String, minijinja::Error> {
    let shared = include_str!("report.html");
    let style = shared.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap_or_default();
    let mut templates = Environment::new();
    templates.add_template("linkage.html", include_str!("linkage.html"))?; // the name turns HTML escaping on
    let mut worth = weights("What comparisons are worth".into(), &page.worth, 24, String::new());
    if let Some(figure) = &mut worth {
        figure.x_label = "log-odds from 0 to 1".into();
    }
    let figures = |name: &str, all: Vec<Figure>| context! { name => name, figures => Serde(all) };
    let sections = vec![
        figures("What comparisons are worth", worth.into_iter().collect()),
        figures("How sure links are", histogram(&page.counts).into_iter().collect()),
        figures(
            "How probabilities come true",
            page.reliability.iter().filter_map(|part| diagram("links", part, "edges")).collect(),
        ),
        figures(
            "Why two records are linked, against both staying alone",
            page.whys.iter().filter_map(waterfall).collect(),
        ),
    ];
    templates.get_template("linkage.html")?.render(context! {
        style => minijinja::Value::from_safe_string(style.to_owned()),
        title => page.title.as_str(),
        command => page.command.as_str(),
        version => page.version.as_str(),
        pairs => page.pairs,
        reached => page.reached,
        known => page.known,
        rules => page.rules.clone(),
        sections => sections,
    })
}

/// How many links, and records alone, have which probability.
fn histogram(counts: &[[usize; 20]; 2]) -> Option<Figure> {
    let most = counts.iter().flatten().copied().max().filter(|&most| most > 0)? as f64;
    let mut figure = Figure::new(
        "Probabilities".into(),
        [900.0, 320.0],
        58.0,
        ["probability", "links, and records alone (second bar)"],
    );
    let x = Axis { low: 0.0, high: 1.0, from: figure.left, to: figure.right };
    let y = Axis { low: 0.0, high: (1.0 + most).ln(), from: figure.bottom, to: figure.top };
    for (kind, (all, what)) in counts.iter().zip(["links", "records alone"]).enumerate() {
        for (bin, &count) in all.iter().enumerate().filter(|(_, count)| **count > 0) {
            let from = bin as f64 / 20.0 + 0.025 * kind as f64;
            let words = format!("{count} {what} from {:.2} to {:.2}", bin as f64 / 20.0, (bin + 1) as f64 / 20.0);
            let place = rect(x.at(from + 0.001), y.at((1.0 + count as f64).ln()), x.at(from + 0.024), figure.bottom);
            figure.bars.push((super::draw::style(kind), place, words));
        }
    }
    let powers = std::iter::successors(Some(1.0), |n| Some(n * 10.0)).take_while(|n| *n <= most);
    figure.y_ticks = powers.map(|n: f64| (y.at((1.0 + n).ln()), n.to_string())).collect();
    figure.x_ticks = x.ticks(10.0);
    figure.describe = "How many links and records alone have which probability.".into();
    Some(figure)
}

/// The comparisons of a pair one after another, from both staying alone to the link.
fn waterfall(why: &Why) -> Option<Figure> {
    let shown = 12;
    let mut steps: Vec<(String, f64)> = vec![("nothing in common".into(), why.alone)];
    steps.extend(
        why.parts.iter().take(shown).map(|(name, x, part)| (format!("{name} = {}", number(f64::from(*x))), *part)),
    );
    let rest: f64 = why.parts.iter().skip(shown).map(|part| part.2).sum();
    if why.parts.len() > shown {
        steps.push((format!("{} others", why.parts.len() - shown), rest));
    }
    let title = format!("{} = {}", short(&why.pair.0, 40), short(&why.pair.1, 40));
    let size = [440.0, steps.len() as f64 * 20.0 + 62.0];
    let mut figure = Figure::new(title.clone(), size, 28.0 + 7.0 * 24.0, ["log-odds against both staying alone", ""]);
    figure.right -= 50.0;
    let ends = steps.iter().scan(0.0, |sum, (_, part)| {
        let from = *sum;
        *sum += part;
        Some((from, *sum))
    });
    let ends: Vec<(f64, f64)> = ends.collect();
    let x = Axis::over(ends.iter().flat_map(|&(a, b)| [a, b]), figure.left, figure.right)?;
    for (i, ((name, part), (from, to))) in steps.iter().zip(&ends).enumerate() {
        let middle = figure.top + 20.0 * (i as f64 + 0.5);
        let place = rect(x.at(from.min(*to)), middle - 6.0, x.at(from.max(*to)), middle + 6.0);
        figure.texts.push((figure.left - 8.0, middle + 4.0, short(name, 24), name.clone()));
        figure.texts.push((figure.width - 6.0, middle + 4.0, minus(*part, 2), String::new()));
        figure.bars.push((super::draw::style(usize::from(*part < 0.0)), place, format!("{name}: {}", minus(*part, 3))));
    }
    figure.rule = Some([x.at(0.0), figure.top, x.at(0.0), figure.bottom]);
    figure.x_ticks = x.ticks(4.0);
    figure.caption = format!("{title}: sum {}, probability {}", minus(why.sum, 2), minus(why.probability, 3));
    figure.describe.clone_from(&figure.caption);
    Some(figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_stands_alone_and_says_its_numbers() {
        let why = Why {
            pair: ("a<1>".into(), "b1".into()),
            probability: 0.75,
            alone: -3.0,
            parts: vec![("birth_exact".into(), 1.0, 4.5), ("given_jaro".into(), 0.5, -0.4)],
            sum: 1.1,
        };
        let mut counts = [[0; 20]; 2];
        (counts[0][19], counts[1][2]) = (100, 7);
        let page = Page {
            title: "Links".into(),
            pairs: 1234,
            reached: 98,
            known: 100,
            rules: vec![["birth".into(), "50".into(), "40".into()]],
            worth: vec![("birth_exact".into(), 4.5)],
            counts,
            whys: vec![why],
            ..Page::default()
        };
        let text = html(&page).unwrap();
        for said in [
            "1234 candidate pairs",
            "98 of 100",
            "100 links from 0.95",
            "7 records alone",
            "a&lt;1&gt; = b1",
            "birth_exact = 1",
        ] {
            assert!(text.contains(said), "{said}");
        }
        for never in ["<script", "http", "src=", "href=", "url(", "@import"] {
            assert!(!text.contains(never), "{never}");
        }
        assert_eq!(text, html(&page).unwrap());
        assert!(!html(&Page::default()).unwrap().contains("<svg"));
    }
}
