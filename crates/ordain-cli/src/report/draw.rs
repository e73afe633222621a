//! Axes, paths and words of the drawings.

use serde::Serialize;

/// A heading, a sentence, a legend and charts.
#[derive(Default, Serialize)]
pub(super) struct Section {
    /// What it shows: `curves`, `pictures`, `planes`, `differences`, `values`, `places`, `reliability`, `choices`, `features` or `links`.
    pub(super) kind: &'static str,
    pub(super) text: String,
    /// Shape (`line`, `box`, `ring`, else the outline of a mark), style and meaning.
    pub(super) keys: Vec<(&'static str, String, String)>,
    /// Charts under a heading of their own, which may be empty.
    pub(super) groups: Vec<(String, Vec<Figure>)>,
}

/// A chart: its frame, and what stands in it.
#[derive(Default, Serialize)]
pub(super) struct Figure {
    pub(super) title: String,
    pub(super) describe: String,
    pub(super) caption: String,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x_label: String,
    pub(super) y_label: String,
    pub(super) x_ticks: Vec<(f64, String)>,
    pub(super) y_ticks: Vec<(f64, String)>,
    /// A line of reference, such as zero: x and y of both ends.
    pub(super) rule: Option<[f64; 4]>,
    /// Style and path.
    pub(super) bands: Vec<(String, String)>,
    pub(super) lines: Vec<(String, String)>,
    /// Style; x, y, width, height; words.
    pub(super) bars: Vec<(String, [f64; 4], String)>,
    /// Style; x, y, radius; words.
    pub(super) dots: Vec<(String, [f64; 3], String)>,
    /// x of the end, y, what is written, and the same in full.
    pub(super) texts: Vec<(f64, f64, String, String)>,
    /// Opacity; x, y, width, height; what is written in the middle; words.
    pub(super) cells: Vec<(f64, [f64; 4], String, String)>,
    /// Paths of areas below everything; where they lie over one another the colour is stronger.
    pub(super) areas: Vec<String>,
    /// Style, path and words of a mark that a person can point at.
    pub(super) marks: Vec<(&'static str, String, String)>,
    /// Paths of faint lines below everything else.
    pub(super) mesh: Vec<String>,
    /// Style, opacity, path and words of a line that a person can point at.
    pub(super) strands: Vec<(String, f64, String, String)>,
    /// Rows of a table next to it.
    pub(super) table: Vec<[String; 4]>,
    /// Rows of the largest losses below it: the number of the unit, its id, both values and their difference.
    pub(super) losses: Vec<(usize, [String; 4])>,
}

impl Figure {
    pub(super) fn new(title: String, [width, height]: [f64; 2], left: f64, [x_label, y_label]: [&str; 2]) -> Self {
        let (right, top, bottom, x_label, y_label) =
            (width - 14.0, 12.0, height - 46.0, x_label.into(), y_label.into());
        Self { title, width, height, left, right, top, bottom, x_label, y_label, ..Self::default() }
    }
}

/// Bars of a chart of differences, bins of a histogram and folds of a choice that are drawn at most.
pub(super) const BARS: usize = 400;
pub(super) const BINS: usize = 20;
pub(super) const FOLDS: usize = 5;

/// Documents and head places of a heat map that are drawn at most.
pub(super) const ROWS: usize = 12;
pub(super) const PLACES: usize = 15;

/// A straight map from numbers to pixels.
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Axis {
    /// An axis that holds all values with some room; `None` where no value can be drawn.
    pub(super) fn over(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let ends = |(low, high): (f64, f64), v: f64| (low.min(v), high.max(v));
        let (low, high) = values.into_iter().filter_map(drawable).fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        let (span, size) = (high - low, low.abs().max(high.abs()));
        let room = if span > 1e-9 * size { 0.04 * span } else { 0.1 * size + f64::from(size < 1e-99) };
        (low <= high).then_some(Self { low: low - room, high: high + room, from, to })
    }

    pub(super) fn at(&self, v: f64) -> f64 {
        let part = ((v - self.low) / (self.high - self.low)).clamp(-1.0, 2.0);
        ((self.from + part * (self.to - self.from)) * 10.0).round() / 10.0
    }

    /// About `count` ticks at round numbers.
    pub(super) fn ticks(&self, count: f64) -> Vec<(f64, String)> {
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
    pub(super) fn powers(&self, most: i32) -> Vec<(f64, String)> {
        let (first, last) = (self.low.ceil() as i32, self.high.floor() as i32);
        let step = 1 + (last - first).max(0) / most;
        (first..=last)
            .filter(|power| power % step == 0)
            .map(|power| (self.at(f64::from(power)), number(10f64.powi(power))))
            .collect()
    }
}

/// The number where it can be drawn: finite and not absurdly large; absurdly small ones are 0.
pub(super) fn drawable(v: f64) -> Option<f64> {
    (v.abs() < 1e100).then_some(if v.abs() < 1e-100 { 0.0 } else { v })
}

/// With a real minus sign; a dash where it is not finite.
pub(super) fn minus(v: f64, decimals: usize) -> String {
    match drawable(v) {
        None => "–".into(),
        Some(v) if v.abs() >= 1e9 => format!("{v:.2e}").replace('-', "−"),
        Some(v) => format!("{v:.decimals$}").replace('-', "−"),
    }
}

/// As above, with a plus sign where it is positive.
pub(super) fn signed(v: f64) -> String {
    format!("{}{}", if drawable(v).is_some_and(|v| v > 0.0) { "+" } else { "" }, minus(v, 4))
}

/// A short form of any number to four digits, for lambda.
pub(super) fn number(v: f64) -> String {
    let Some(v) = drawable(v) else { return "–".into() };
    let v: f64 = format!("{v:.3e}").parse().unwrap_or(v);
    if v != 0.0 && !(1e-3..1e5).contains(&v.abs()) { format!("{v:e}").replace('-', "−") } else { v.to_string() }
}

/// A probability to two decimals.
pub(super) fn chance(p: f64) -> String {
    if (0.0..0.01).contains(&p) { "<.01".into() } else { minus(p, 2) }
}

/// The start and the end of a text that is too long.
pub(super) fn short(text: &str, most: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= most {
        return text.into();
    }
    let (head, tail) = (&chars[..most / 2], &chars[chars.len() - (most - 1) / 2..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

/// Left, top, width and height of a bar, at least half a pixel each way.
pub(super) fn rect(left: f64, top: f64, right: f64, bottom: f64) -> [f64; 4] {
    let size = |v: f64| (v.max(0.5) * 10.0).round() / 10.0;
    [left, top, size(right - left), size(bottom - top)]
}

/// One of six colours with one of six dash patterns; 36 styles before one comes again.
pub(super) fn style(i: usize) -> String {
    format!("c{} d{}", i % 6, (i + i / 6) % 6)
}

/// A path through the points, broken where one is missing.
pub(super) fn path(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let step = |pen: &mut char, point: Option<(f64, f64)>| {
        let drawn = point.map_or(String::new(), |(x, y)| format!("{pen}{x} {y}"));
        *pen = if point.is_some() { 'L' } else { 'M' };
        Some(drawn)
    };
    points.scan('M', step).collect()
}
