//! `ordain inspect` of models that match and of problems.

use super::fit::{marginals, taken, worth};
use super::{engines, nearness, problems};
use crate::args::Inspect;
use crate::plan;
use crate::run::evaluate::strongest;
use crate::run::inspect::ranges;
use crate::run::result_line;
use crate::screen::{Screen, assignments, table};
use anyhow::Result;
use ordain::data::{MatchSet, Truth, read_matches};
use ordain::matrix::Features;
use ordain::model_file;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

pub(in crate::run) fn model(bytes: &[u8], path: &Path, screen: &Screen) -> Result<()> {
    let (model, header) = model_file::matcher(bytes, path)?;
    let (matcher, facts) = (&model.matcher, &header.facts);
    if screen.json {
        let mut json = serde_json::to_value(&header)?;
        let weights = header.features.names.iter().zip(&matcher.weights);
        json["weights"] = weights.map(|(name, &w)| (name.clone(), w.into())).collect::<Map<_, _>>().into();
        json["null"] = matcher.null.into();
        json["temperature"] = matcher.temperature.into();
        json["sums"] = marginals(facts);
        return screen.document(&json);
    }
    let mut text =
        format!("{}: {} model, format {}, ordain {}\n", path.display(), facts.method, header.format, header.ordain);
    writeln!(text, "settings   {}", assignments(&facts.settings))?;
    let odd = [(facts.blank_problems, "unknown and left out"), (facts.partly_known, "known in part")];
    let odd: Vec<String> = odd.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let odd = if odd.is_empty() { String::new() } else { format!(" ({})", odd.join(", ")) };
    writeln!(text, "trained on {} edges of {}{odd}", facts.edges, problems(facts.problems))?;
    text += &result_line(&facts.report);
    if let Some(chosen) = &facts.chosen {
        let (tried, metric, on) = (chosen.candidates.len(), &chosen.metric, problems(chosen.queries));
        writeln!(text, "chosen     of {tried} by {metric} on {on}: {}", taken(facts))?;
    }
    if !facts.engines.is_empty() {
        writeln!(text, "sums       by {}: {}", engines(&facts.engines), nearness(&facts.accuracy, facts.error))?;
    }
    if let Some(said) = worth(&model) {
        writeln!(text, "scores     {said}")?;
    }
    if let (true, Some(chosen)) = (facts.method == "matchmap", &facts.chosen) {
        // what the fit was by, and what was done to it afterwards
        let measure: ordain::metric::Metric = chosen.metric.parse()?;
        let null = if matcher.null.is_some() && !measure.of_probabilities() {
            format!("staying unmatched was moved for {measure}, and ")
        } else {
            String::new()
        };
        writeln!(
            text,
            "law        probabilities are not Eq. (3) of the paper, which was fitted: {null}scores are divided by the temperature"
        )?;
    }
    writeln!(text, "data       {}", facts.data)?;
    writeln!(text, "\nstrongest of {} features (weights on scaled values):", header.features.names.len())?;
    let rows: Vec<Vec<String>> = strongest(&matcher.columns, &matcher.weights)
        .into_iter()
        .map(|(name, weight)| vec![name, format!("{weight:+.4}")])
        .collect();
    text += &table(&["feature".into(), "weight".into()], &rows);
    screen.data(&text)
}

/// Least, median and largest of some counts.
struct Spread {
    least: usize,
    median: usize,
    largest: usize,
}

impl Spread {
    fn of(counts: impl Iterator<Item = usize>) -> Self {
        let mut all: Vec<usize> = counts.collect();
        all.sort_unstable();
        let at = |i: usize| all.get(i).copied().unwrap_or(0);
        Self { least: at(0), median: at(all.len() / 2), largest: at(all.len().saturating_sub(1)) }
    }

    fn json(&self) -> Value {
        json!({"min": self.least, "median": self.median, "max": self.largest})
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} to {}, median {}", self.least, self.largest, self.median)
    }
}

/// What is counted in a set.
struct Counts {
    left: Spread,
    right: Spread,
    edges: Spread,
    /// Share of all pairs of a left and a right item that are no edge.
    forbidden: f64,
    matched: usize,
    unknown: usize,
    /// Items without a match of which no edge is unknown.
    unmatched: [usize; 2],
    blank: usize,
}

impl Counts {
    fn of(set: &MatchSet) -> Self {
        let all = set.problems();
        let pairs: f64 = all.iter().map(|p| p.left.len() as f64 * p.right.len() as f64).sum();
        let count = |truth: Truth| all.iter().flat_map(|p| &p.truth).filter(|&&t| t == truth).count();
        let mut unmatched = [0; 2];
        for problem in all {
            let mut free = [vec![true; problem.left.len()], vec![true; problem.right.len()]];
            for (&(i, j), _) in problem.edges.iter().zip(&problem.truth).filter(|(_, truth)| **truth != Truth::No) {
                (free[0][i as usize], free[1][j as usize]) = (false, false);
            }
            (0..2).for_each(|side| unmatched[side] += free[side].iter().filter(|free| **free).count());
        }
        Self {
            left: Spread::of(all.iter().map(|p| p.left.len())),
            right: Spread::of(all.iter().map(|p| p.right.len())),
            edges: Spread::of(all.iter().map(|p| p.edges.len())),
            forbidden: 1.0 - set.edges() as f64 / pairs.max(1.0),
            matched: count(Truth::Yes),
            unknown: count(Truth::Unknown),
            unmatched,
            blank: all.iter().filter(|p| p.truth.iter().all(|&t| t == Truth::Unknown)).count(),
        }
    }
}

pub(in crate::run) fn data(args: &Inspect, screen: &Screen) -> Result<()> {
    let reading = plan::match_reading(&args.reading, &args.points)?;
    let start = Instant::now();
    let (set, _) = read_matches(&[vec![args.file.clone()]], &reading)?;
    let seconds = start.elapsed().as_secs_f64();
    let counts = Counts::of(&set);
    let layout = if matches!(set.features, Features::Dense(_)) { "dense" } else { "sparse" };
    let places = set.problems().iter().any(|p| p.places.is_some());
    if screen.json {
        return screen.document(&json!({
            "task": "match", "unit": "problem", "units": set.len(), "rows": set.edges(),
            "features": set.features.cols(), "layout": layout, "labelled": set.labelled(), "places": places,
            "left": counts.left.json(), "right": counts.right.json(), "edges": counts.edges.json(),
            "forbidden": counts.forbidden, "matched": counts.matched, "unknown": counts.unknown,
            "unmatched": {"left": counts.unmatched[0], "right": counts.unmatched[1]},
            "blank_problems": counts.blank, "seconds": {"load": seconds},
        }));
    }
    let mut text = format!(
        "{}: {} edges of {}, {} features ({layout}), read in {seconds:.2} s\n",
        args.file.display(),
        set.edges(),
        problems(set.len()),
        set.features.cols()
    );
    writeln!(text, "left items of a problem: {}; right items: {}; edges: {}", counts.left, counts.right, counts.edges)?;
    writeln!(text, "{:.1} % of all pairs of a left and a right item are forbidden", 100.0 * counts.forbidden)?;
    if set.labelled() {
        writeln!(
            text,
            "{} edges are matched; {} left and {} right items are unmatched",
            counts.matched, counts.unmatched[0], counts.unmatched[1]
        )?;
        if counts.unknown > 0 {
            let blank = match counts.blank {
                0 => String::new(),
                n => format!("; of {} nothing is known", problems(n)),
            };
            writeln!(text, "unknown whether they are matched: {} edges{blank}", counts.unknown)?;
        }
    } else {
        text += "the file does not say what is matched: it can be predicted on, not fitted or measured\n";
    }
    text.push('\n');
    text += &ranges(&set.features, &set.columns.names);
    screen.data(&text)
}
