//! The chart of a ranking function of two features.

use super::contour::{Point, Surface};
use super::draw::*;
use super::{MethodPart, PlanePart, Report};

/// Colours and outlines of grades, the highest first; an outline starts in the middle of its mark.
const MARKS: [(&str, &str); 6] = [
    ("c1", "m-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0z"),
    ("c4", "m0-4.3l4.1 7.3h-8.2z"),
    ("c2", "m-3.1-3.1h6.2v6.2h-6.2z"),
    ("c3", "m0-4.6l4.2 4.6l-4.2 4.6l-4.2-4.6z"),
    ("c5", "m-1.3-4.2h2.6v2.9h2.9v2.6h-2.9v2.9h-2.6v-2.9h-2.9v-2.6h2.9z"),
    ("c0", "m0 4.3l4.1-7.3h-8.2z"),
];

/// The circle around a core document.
const RING: f64 = 5.6;

/// What each method makes of the plane, where there are two features.
pub(super) fn planes(report: &Report) -> Option<Section> {
    let parts = || report.methods.iter().filter_map(|m| m.plane.as_ref()).flat_map(|part| &part.documents);
    let mut grades: Vec<f64> = parts().map(|d| d.grade).collect();
    grades.sort_by(|a, b| b.total_cmp(a));
    grades.dedup();
    // many grades share marks with their neighbours
    let groups: Vec<&[f64]> = grades.chunks(grades.len().div_ceil(MARKS.len()).max(1)).collect();
    let figures: Vec<Figure> = report.methods.iter().filter_map(|m| plane(m, m.plane.as_ref()?, &groups)).collect();
    let mut keys: Vec<_> = groups
        .iter()
        .zip(MARKS)
        .map(|(group, (style, outline))| {
            let [high, low] = [group[0], group[group.len() - 1]].map(number);
            let meaning = if group.len() == 1 { format!("grade {high}") } else { format!("grades {low} to {high}") };
            (outline, style.to_owned(), meaning)
        })
        .collect();
    if parts().any(|d| d.core) {
        keys.push(("ring", "ring".into(), "core document".into()));
    }
    let groups = vec![(String::new(), figures)];
    (!groups[0].1.is_empty()).then(|| Section { kind: "planes", keys, groups, ..Section::default() })
}

fn plane(method: &MethodPart, part: &PlanePart, groups: &[&[f64]]) -> Option<Figure> {
    let known = part.values.iter().chain(&part.xs).chain(&part.ys).all(|v| drawable(*v).is_some());
    if !known || part.values.len() != part.xs.len() * part.ys.len() {
        return None;
    }
    let label = short(&method.label, 200);
    let axes = part.axes.each_ref().map(|name| short(name, 50));
    let mut figure = Figure::new(format!("Ranking function of {label}"), [440.0, 420.0], 58.0, [&axes[0], &axes[1]]);
    let ends = |at: &[f64], from, to| Some(Axis { low: *at.first()?, high: *at.last()?, from, to });
    let x = ends(&part.xs, figure.left, figure.right)?;
    let y = ends(&part.ys, figure.bottom, figure.top)?;
    if x.high <= x.low || y.high <= y.low {
        return None;
    }
    let surface = Surface {
        xs: part.xs.iter().map(|&v| x.at(v)).collect(),
        ys: part.ys.iter().map(|&v| y.at(v)).collect(),
        values: part.values.clone(),
    };
    let levels: Vec<f64> = part.levels.iter().copied().filter(|v| drawable(*v).is_some()).collect();
    for (i, &level) in levels.iter().enumerate() {
        figure.areas.extend(Some(joined(&surface.areas(level))).filter(|path| !path.is_empty()));
        let line = joined(&surface.lines(level));
        if !line.is_empty() {
            let words = format!("score {}, line {} of {} from below", minus(level, 4), i + 1, levels.len());
            figure.strands.push(("level c0".into(), 0.55, line, words));
        }
    }
    for document in &part.documents {
        let group = groups.iter().position(|group| group.contains(&document.grade)).unwrap_or(0);
        let (style, outline) = MARKS[group % MARKS.len()];
        let (left, top) = (x.at(document.at[0]), y.at(document.at[1]));
        let core = if document.core { ", a core document" } else { "" };
        let (name, grade) = (short(&document.name, 100), number(document.grade));
        let words = format!("{name}: grade {grade}, score {}{core}", minus(document.score, 4));
        figure.marks.push((style, format!("M{left} {top}{outline}"), words));
        if document.core {
            figure.dots.push(("ring".into(), [left, top, RING], name));
        }
    }
    (figure.x_ticks, figure.y_ticks) = (x.ticks(7.0), y.ticks(7.0));
    let drawn = part.documents.len();
    let of = if drawn < part.all { format!("{drawn} of {} documents", part.all) } else { format!("{drawn} documents") };
    let ringed = figure.dots.len();
    let core = match part.core {
        None => String::new(),
        Some(core) if core == ringed => format!(", all {core} core documents ringed"),
        Some(core) => format!(", {ringed} of the {core} core documents ringed"),
    };
    let query =
        part.query.as_ref().map_or(String::new(), |query| format!(", the scorer of query {}", short(query, 60)));
    figure.caption = format!("{label}{query}: {of}{core}.");
    figure.describe.clone_from(&figure.caption);
    Some(figure)
}

/// Lines as one path, to a tenth of a pixel.
fn joined(lines: &[Vec<Point>]) -> String {
    let round = |v: f64| (v * 10.0).round() / 10.0;
    let one = |line: &Vec<Point>| {
        let mut points: Vec<Point> = line.iter().map(|&(x, y)| (round(x), round(y))).collect();
        points.dedup();
        if points.len() > 1 { path(points.into_iter().map(Some)) } else { String::new() }
    };
    lines.iter().map(one).collect()
}
