//! One function per chart of the report; each gives nothing where there is nothing to draw.

use super::draw::*;
use super::{Bin, ChoicePart, ListPart, MethodPart, PicturePart, PlacesPart, Reliability, Report, interval};
use std::collections::BTreeSet;

/// NDCG@k or precision of every method with its interval.
pub(super) fn curves(report: &Report) -> Option<Section> {
    let name = report.words.curve[1];
    let mut figure = Figure::new(format!("{name} of each method"), [900.0, 380.0], 58.0, ["k", name]);
    let cells = report.methods.iter().flat_map(|m| &m.curve);
    let others = report.published.iter().flat_map(|own| &own.1).map(|point| point.1);
    let all = cells.flat_map(|c| [c.mean, c.low, c.high]).chain(others);
    let y = Axis::over(all, figure.bottom, figure.top)?;
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
    for (i, (label, points)) in report.published.iter().enumerate().filter(|(_, own)| !own.1.is_empty()) {
        let style = style(report.methods.len() + i);
        let at = |&(k, v): &(usize, f64)| drawable(v).filter(|_| k <= most).map(|v| (x.at(k as f64), y.at(v)));
        figure.lines.push((style.clone(), path(points.iter().map(at))));
        keys.push(("line", style, format!("published: {}", short(label, 90))));
    }
    figure.x_ticks = (1..=most).step_by(most.div_ceil(20)).map(|k| (x.at(k as f64), k.to_string())).collect();
    figure.y_ticks = y.ticks(6.0);
    Some(Section { kind: "curves", keys, groups: vec![(String::new(), vec![figure])], ..Section::default() })
}

/// Losses that are named for each pair of methods.
const LOSSES: usize = 8;

/// The method with the best mean of the watched metric.
fn best_method(report: &Report) -> usize {
    let sign = if report.watched_is_loss { -1.0 } else { 1.0 };
    let mean = |method: &MethodPart| {
        let values: Vec<f64> = method.per_query.iter().filter_map(|(_, value)| drawable(sign * (*value)?)).collect();
        if values.is_empty() { f64::NEG_INFINITY } else { values.iter().sum::<f64>() / values.len() as f64 }
    };
    let means: Vec<f64> = report.methods.iter().map(mean).collect();
    (0..means.len()).fold(0, |best, m| if means[m] > means[best] { m } else { best })
}

/// What each query gains from the best method against each other; neighbours are averaged where there are many.
pub(super) fn differences(report: &Report) -> Option<Section> {
    let best = best_method(report);
    let others: Vec<usize> = (0..report.methods.len()).filter(|&m| m != best).collect();
    let bars = BARS / others.len().max(1);
    let one = |&other: &usize| Some((other, difference(report, best, other, bars.max(20))?));
    let mut figures: Vec<(usize, Figure)> = others.iter().filter_map(one).collect();
    let first = short(&report.methods.get(best)?.label, 80);
    let key = |m: usize, words: String| ("box", style(m), words);
    let (text, second) = match &figures[..] {
        [] => return None,
        [(other, figure)] => (figure.caption.clone(), short(&report.methods[*other].label, 80)),
        _ => (format!("{first}, which has the best mean, against each other method."), "the other".to_owned()),
    };
    if figures.len() == 1 {
        figures.iter_mut().for_each(|(_, figure)| figure.caption.clear());
    }
    let heading = |other: usize| match others.len() {
        1 => String::new(),
        _ => format!("{first} against {}", short(&report.methods[other].label, 80)),
    };
    let keys = vec![key(0, format!("{first} better")), key(1, format!("{second} better"))];
    let groups = figures.into_iter().map(|(other, figure)| (heading(other), vec![figure])).collect();
    Some(Section { kind: "differences", text, keys, groups })
}

/// What each query gains from one method against another, and where it loses most.
fn difference(report: &Report, best: usize, other: usize, bars: usize) -> Option<Figure> {
    let (a, b) = (report.methods.get(best)?, report.methods.get(other)?);
    let pairs = a.per_query.iter().zip(&b.per_query).enumerate().filter(|(_, (x, y))| x.0 == y.0);
    let sign = if report.watched_is_loss { -1.0 } else { 1.0 };
    let mut sorted: Vec<(f64, &str, usize)> =
        pairs.filter_map(|(n, (x, y))| Some((drawable(sign * (x.1? - y.1?))?, &*x.0, n))).collect();
    sorted.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(y.1)).then(x.2.cmp(&y.2)));
    let (n, unit, units) = (sorted.len(), report.words.unit, report.words.units);
    let words = format!("{units}, from the largest gain to the largest loss");
    let title = format!("Difference for each {unit}");
    let mut figure = Figure::new(title, [900.0, 300.0], 58.0, [&words, "difference"]);
    let ends = [sorted.first()?.0, sorted.last()?.0, 0.0];
    let y = Axis::over(ends, figure.bottom, figure.top)?;
    let size = n.div_ceil(bars);
    let x = Axis { low: 0.0, high: n.div_ceil(size).max(20) as f64, from: figure.left, to: figure.right };
    for (i, part) in sorted.chunks(size).enumerate() {
        let mean = part.iter().map(|d| d.0).sum::<f64>() / part.len() as f64;
        let tip = match part {
            [(_, id, _)] => format!("{unit} {id}: {}", signed(mean)),
            _ => format!("{units} {} to {} of {n}: mean {}", i * size + 1, i * size + part.len(), signed(mean)),
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
    figure.describe =
        format!("{first} is better on {}, {second} on {losses}; {level} level.", report.words.count(wins));
    let grouped = if size > 1 { format!(" Each bar is the mean of {size} neighbours.") } else { String::new() };
    figure.caption = format!("{}{grouped}", figure.describe);
    let value = |m: &MethodPart, n: usize| m.per_query[n].1.map_or("–".into(), |value| minus(value, 4));
    let lost = sorted.iter().rev().take_while(|d| d.0 < -1e-12).take(LOSSES);
    figure.losses =
        lost.map(|&(difference, id, n)| (n, [short(id, 60), value(a, n), value(b, n), signed(difference)])).collect();
    Some(figure)
}

/// The lists of all methods for the units that losses name.
pub(super) fn lists(report: &Report, differences: Option<&Section>) -> Vec<(usize, String, Vec<ListPart>)> {
    let figures = differences.iter().flat_map(|section| &section.groups).flat_map(|(_, figures)| figures);
    let units: BTreeSet<usize> = figures.flat_map(|figure| &figure.losses).map(|(n, _)| *n).collect();
    let list = |m: &MethodPart, n: usize| {
        let lines = m.lists.get(n)?;
        Some(ListPart { label: short(&m.label, 60), lines: lines.clone() })
    };
    let of = |n: usize| {
        let lists: Vec<ListPart> = report.methods.iter().filter_map(|m| list(m, n)).collect();
        let name = report.methods.first()?.per_query.get(n).map(|(id, _)| short(id, 60))?;
        (!lists.is_empty()).then_some((n, name, lists))
    };
    units.into_iter().filter_map(of).collect()
}

/// How the values of the queries are spread, for a single method.
pub(super) fn histogram(report: &Report) -> Option<Section> {
    let values = report.methods.first()?.per_query.iter().filter_map(|(_, v)| drawable((*v)?));
    let values: Vec<f64> = values.collect();
    let metric = &report.watched;
    let mut figure = Figure::new(format!("Spread of {metric}"), [900.0, 300.0], 58.0, [metric, report.words.units]);
    let mut x = Axis::over(values.iter().copied(), figure.left, figure.right)?;
    if values.iter().all(|v| (0.0..=1.0).contains(v)) {
        (x.low, x.high) = (0.0, 1.0);
    }
    let (mut counts, step) = ([0usize; BINS], (x.high - x.low) / BINS as f64);
    values.iter().for_each(|v| counts[(((v - x.low) / step) as usize).min(BINS - 1)] += 1);
    let y = Axis { low: 0.0, ..Axis::over(counts.map(|c| c as f64), figure.bottom, figure.top)? };
    for (bin, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (from, to) = (x.low + bin as f64 * step, x.low + (bin + 1) as f64 * step);
        let tip = format!("{} to {}: {}", minus(from, 2), minus(to, 2), report.words.count(count));
        figure.bars.push((style(0), rect(x.at(from) + 1.0, y.at(count as f64), x.at(to) - 1.0, figure.bottom), tip));
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    figure.rule = Some([x.at(mean), figure.top, x.at(mean), figure.bottom]);
    (figure.x_ticks, figure.y_ticks) = (x.ticks(10.0), y.ticks(5.0));
    figure.y_ticks.retain(|(_, text)| !text.contains('.'));
    let units = report.words.units;
    let text = format!("How many {units} have which value; the upright line is their mean, {}.", minus(mean, 4));
    figure.describe.clone_from(&text);
    Some(Section { kind: "values", text, groups: vec![(String::new(), vec![figure])], ..Section::default() })
}

/// What each method matched with what, where items are points.
pub(super) fn pictures(report: &Report) -> Option<Section> {
    let group = |m: &MethodPart| {
        let figures: Vec<Figure> = m.pictures.iter().filter_map(|part| picture(&m.label, part)).collect();
        (!figures.is_empty()).then(|| (short(&m.label, 200), figures))
    };
    let groups: Vec<_> = report.methods.iter().filter_map(group).collect();
    let key = |style: &str, meaning: &str| ("line", style.to_owned(), meaning.to_owned());
    let drawn = |style: &str| groups.iter().flat_map(|(_, all)| all).flat_map(|f| &f.strands).any(|s| s.0 == style);
    let all = [(RIGHT, "right"), (WRONG, "wrong"), (OPEN, "nobody knows")];
    let keys = all.into_iter().filter(|(style, _)| drawn(style)).map(|(style, meaning)| key(style, meaning)).collect();
    (!groups.is_empty()).then(|| Section { kind: "pictures", keys, groups, ..Section::default() })
}

/// How right, wrong and unknown matches are drawn: by colour and by dashes.
const RIGHT: &str = "c0 d0";
const WRONG: &str = "c1 d1";
const OPEN: &str = "c4 d2";

/// The two sides beside each other, upright as in a picture, with a line for each match.
fn picture(label: &str, part: &PicturePart) -> Option<Figure> {
    let (label, name) = (short(label, 200), short(&part.problem, 60));
    let mut figure = Figure::new(format!("Matches of problem {name} by {label}"), [900.0, 360.0], 20.0, ["", ""]);
    let (left, right) = (side(&part.left, 20.0)?, side(&part.right, 550.0)?);
    for (at, mesh) in [(&left, &part.mesh[0]), (&right, &part.mesh[1])] {
        let end = |i: u32| at.get(i as usize).copied();
        let ends = mesh.iter().filter_map(|&(a, b)| end(a).zip(end(b)));
        let joined: String = ends.map(|((x, y), (u, v))| format!("M{x} {y}L{u} {v}")).collect();
        figure.mesh.extend(Some(joined).filter(|path| !path.is_empty()));
    }
    let called = |side: usize, i: usize| part.names[side].get(i).map_or(String::new(), |name| short(name, 40));
    let (mut hit, mut miss, mut open) = (0, 0, 0);
    for &(i, j, p, truth) in &part.lines {
        let (Some((x, y)), Some((u, v))) = (left.get(i).copied(), right.get(j).copied()) else { continue };
        let (style, word, count) = match truth {
            Some(true) => (RIGHT, "right", &mut hit),
            Some(false) => (WRONG, "wrong", &mut miss),
            None => (OPEN, "nobody knows", &mut open),
        };
        *count += 1;
        let p = p.and_then(drawable);
        let sure = p.map_or(String::new(), |p| format!(", probability {}", chance(p)));
        let shade = p.map_or(0.8, |p| 0.25 + 0.75 * p.clamp(0.0, 1.0)); // the most doubtful is still seen
        let words = format!("{} – {}: {word}{sure}", called(0, i), called(1, j));
        figure.strands.push((style.into(), (shade * 1e3).round() / 1e3, format!("M{x} {y}L{u} {v}"), words));
    }
    let taken = |side: usize| part.lines.iter().map(|l| if side == 0 { l.0 } else { l.1 }).collect::<BTreeSet<_>>();
    for (s, at) in [&left, &right].into_iter().enumerate() {
        let taken = taken(s);
        for (i, &(x, y)) in at.iter().enumerate() {
            let (style, state) = if taken.contains(&i) { ("point", "") } else { ("point free", ", unmatched") };
            figure.dots.push((style.into(), [x, y, 3.5], format!("{}{state}", called(s, i))));
        }
    }
    let unknown = if open > 0 { format!("; of {open} nobody knows") } else { String::new() };
    let count = hit + miss;
    figure.caption = match count {
        0 => format!("Problem {name}: {open} matches, of which nobody knows whether they are right."),
        _ => format!("Problem {name}: {hit} of {count} matches are right{unknown}."),
    };
    figure.describe.clone_from(&figure.caption);
    Some(figure)
}

/// Places of one side, put into a box of 330 pixels without changing their shape; `None` where one cannot be drawn.
fn side(places: &[[f64; 2]], from: f64) -> Option<Vec<(f64, f64)>> {
    let ends = |d: usize| {
        let values = places.iter().map(|at| drawable(at[d]).filter(|v| v.abs() < 1e15));
        values
            .collect::<Option<Vec<f64>>>()
            .and_then(|v| Some((v.iter().copied().reduce(f64::min)?, v.iter().copied().reduce(f64::max)?)))
    };
    let ((x0, x1), (y0, y1)) = (ends(0)?, ends(1)?);
    let scale = (330.0 / (x1 - x0).max(1e-12)).min(330.0 / (y1 - y0).max(1e-12));
    let (x_room, y_room) = ((330.0 - scale * (x1 - x0)) / 2.0, (330.0 - scale * (y1 - y0)) / 2.0);
    let round = |v: f64| (v * 10.0).round() / 10.0;
    let at = |at: &[f64; 2]| (round(from + x_room + scale * (at[0] - x0)), round(15.0 + y_room + scale * (at[1] - y0)));
    Some(places.iter().map(at).collect())
}

/// How likely each document of a query takes each head place.
pub(super) fn places(report: &Report) -> Option<Section> {
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
pub(super) fn reliability(report: &Report) -> Option<Section> {
    let group = |m: &MethodPart| {
        let figure = diagram(&m.label, m.reliability.as_ref()?, report.words.things)?;
        Some((short(&m.label, 200), vec![figure]))
    };
    let groups: Vec<_> = report.methods.iter().filter_map(group).collect();
    (!groups.is_empty()).then(|| Section { kind: "reliability", groups, ..Section::default() })
}

pub(super) fn diagram(label: &str, part: &Reliability, things: &str) -> Option<Figure> {
    let real = |b: &&Bin| b.documents > 0 && drawable(b.predicted).and(drawable(b.observed)).is_some();
    let bins: Vec<&Bin> = part.bins.iter().filter(real).collect();
    let most = bins.iter().map(|b| b.documents).max()? as f64;
    let x_label = match part.k {
        Some(k) => format!("predicted probability of being among the first {k}"),
        None if things == "edges" => "predicted probability of an edge".into(),
        None => "predicted probability of a label".into(),
    };
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
        let words = format!("predicted {}, observed {}, {things} {}", row[2], row[3], row[1]);
        figure.dots.push(("c0 count".into(), [x.at(bin.predicted), y.at(bin.observed), radius], words));
        figure.table.push(row);
    }
    figure.dots.sort_by(|a, b| b.1[2].total_cmp(&a.1[2])); // small ones on top
    figure.rule = Some([x.at(0.0), y.at(0.0), x.at(1.0), y.at(1.0)]);
    (figure.x_ticks, figure.y_ticks) = (x.ticks(6.0), y.ticks(6.0));
    let off = if part.error < 5e-4 { "less than 0.001".into() } else { minus(part.error, 3) };
    let said = format!("On average over {things} the prediction is off by {off}.");
    figure.caption = drawable(part.error).map_or(String::new(), |_| said);
    figure.describe.clone_from(&figure.caption);
    Some(figure)
}

/// What validation saw for each lambda and scaling, and what it took.
pub(super) fn choices(report: &Report) -> Option<Section> {
    let lines = report.methods.iter().flat_map(|m| &m.choices).flat_map(|choice| &choice.lines);
    let scalings: BTreeSet<&str> = lines.map(|(name, _)| name.as_str()).collect();
    let group = |method: &MethodPart| {
        let figures = method.choices.iter().take(FOLDS).enumerate().filter_map(|(i, c)| choice(c, i == 0, &scalings));
        (short(&method.label, 200), figures.collect::<Vec<_>>())
    };
    let groups: Vec<_> = report.methods.iter().map(group).filter(|g| !g.1.is_empty()).collect();
    let key = |(i, name): (usize, &&str)| ("line", style(i), short(name, 66));
    let keys = scalings.iter().enumerate().map(key).collect();
    (!groups.is_empty()).then(|| Section { kind: "choices", keys, groups, ..Section::default() })
}

/// One fold of a choice; the first is drawn large.
fn choice(choice: &ChoicePart, large: bool, scalings: &BTreeSet<&str>) -> Option<Figure> {
    let point = |&(lambda, v): &(f64, f64)| Some((drawable(lambda).filter(|l| *l > 0.0)?.log10(), drawable(v)?));
    let words = |name: &str, x: f64, v: f64| {
        let setting = if name.ends_with("lambda") { name.to_owned() } else { format!("{}, lambda", short(name, 46)) };
        format!("{setting}={}: {}", number(x), minus(v, 4))
    };
    let (settings, lambda, value) = (&choice.taken.0, choice.taken.1, choice.taken.2);
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
    let said = format!("{}: {}", short(settings, 120), minus(value, 4));
    figure.describe = format!("taken: {said}");
    figure.dots.extend(taken.map(|(at, v)| ("taken".into(), [x.at(at), y.at(v), 7.0], figure.describe.clone())));
    figure.caption = format!("Fold {}: {said}", choice.fold);
    (figure.x_ticks, figure.y_ticks) = (x.powers(ticks), y.ticks(f64::from(ticks)));
    Some(figure)
}

/// The largest weights of each method.
pub(super) fn features(report: &Report) -> Option<Section> {
    let bars = |m: &MethodPart| {
        let title = format!("Weights of {}", short(&m.label, 200));
        weights(title, &m.features, 18, short(&m.label, 200))
    };
    let gains = |m: &MethodPart| {
        let title = format!("Trees of {}", short(&m.label, 200));
        let caption = format!("{}, trees: the share of each feature in what splits gain", short(&m.label, 200));
        let mut figure = weights(title, &m.gains, 18, caption)?;
        figure.x_label = "share of the gain".into();
        Some(figure)
    };
    let figures = |m| [bars(m), gains(m)].into_iter().flatten();
    let groups = vec![(String::new(), report.methods.iter().flat_map(figures).collect::<Vec<_>>())];
    (!groups[0].1.is_empty()).then(|| Section { kind: "features", groups, ..Section::default() })
}

/// The strongest links between labels, and the core that they start from.
pub(super) fn links(report: &Report) -> Option<Section> {
    let bars = |m: &MethodPart| {
        let title = format!("Links of {}", short(&m.label, 200));
        let caption = format!("{}, with the core {}", short(&m.label, 200), short(&m.core.join(", "), 400));
        weights(title, &m.links, 25, caption)
    };
    let groups = vec![(String::new(), report.methods.iter().filter_map(bars).collect::<Vec<_>>())];
    (!groups[0].1.is_empty()).then(|| Section { kind: "links", groups, ..Section::default() })
}

/// Named bars to both sides; names have room for so many letters.
pub(super) fn weights(title: String, bars: &[(String, f64)], letters: usize, caption: String) -> Option<Figure> {
    let drawn = bars.iter().filter_map(|(name, w)| Some((name, drawable(*w)?)));
    let drawn: Vec<(&String, f64)> = drawn.take(15).collect();
    let size = [440.0, drawn.len() as f64 * 22.0 + 62.0];
    let mut figure = Figure::new(title, size, 28.0 + 7.0 * letters as f64, ["weight", ""]);
    figure.right -= 62.0;
    let x =
        Axis::over(drawn.first().map(|_| 0.0).into_iter().chain(drawn.iter().map(|f| f.1)), figure.left, figure.right)?;
    for (i, (name, w)) in drawn.iter().enumerate() {
        let middle = figure.top + 22.0 * (i as f64 + 0.5);
        let place = rect(x.at(w.min(0.0)), middle - 7.0, x.at(w.max(0.0)), middle + 7.0);
        let value = if (1e-3..1e4).contains(&w.abs()) { minus(*w, 3) } else { format!("{w:.1e}").replace('-', "−") };
        figure.texts.push((figure.left - 8.0, middle + 4.0, short(name, letters), name.to_string()));
        figure.texts.push((figure.width - 6.0, middle + 4.0, value.clone(), String::new()));
        figure.bars.push((style(usize::from(*w < 0.0)), place, format!("{name}: {value}")));
    }
    figure.rule = Some([x.at(0.0), figure.top, x.at(0.0), figure.bottom]);
    figure.caption = caption;
    figure.describe = figure.bars.iter().take(3).map(|(.., words)| format!("{}. ", short(words, 60))).collect();
    figure.x_ticks = x.ticks(4.0);
    Some(figure)
}
