//! One round of a method that matches.

use super::{Cut, Entry, LISTED, Listed, Protocol, Round, Rounds, three};
use crate::args::Compare;
use crate::plan::Usage;
use crate::report::MethodPart;
use crate::run::evaluate::{features, gains};
use crate::screen::Screen;
use crate::show::{measurable, pictures, warn_approximate};
use anyhow::Result;
use ordain::answer::{Answers, MatchedPair, MatchedProblem, Reliability, Want};
use ordain::data::{MatchReading, MatchSet, Truth, read_match_splits};
use ordain::method::{Match, MatchDecide, Matcher, Sums};
use ordain::metric::calibration::Calibration;
use ordain::metric::{Evaluation, Metric};
use ordain::task::{Fitted, Model, Ready};
use std::time::Instant;

impl Round for Match {
    fn measure(
        entry: &mut Entry,
        fitted: &Fitted<Match>,
        on: &Ready<'_, Match>,
        cut: &Cut,
        protocol: &Protocol,
    ) -> Result<()> {
        let model = &fitted.model;
        let start = Instant::now();
        let measures = protocol.measures;
        let result = model.evaluate(on, cut.test, &measures.metrics, &measures.convention)?;
        entry.predict += start.elapsed().as_secs_f64();
        if !result.calibration.is_empty() {
            let here = Calibration::joined(&result.calibration);
            let (_, all) = entry.calibration.get_or_insert_with(|| (None, Calibration::default()));
            *all = Calibration::joined([&*all, &here]);
        }
        if entry.trained.is_empty() && protocol.pictures {
            entry.pictures = pictures(model, on, cut.test)?;
        }
        entry.add(result, None);
        entry.keep(&model.inputs.columns, &model.score);
        Ok(())
    }

    fn remember(entry: &mut super::Trained, fitted: &Fitted<Match>) {
        let notes = &fitted.facts.notes;
        entry.approximate = (notes.accuracy == "approximate").then(|| notes.engines.clone());
    }

    fn measurable(model: &Matcher, metrics: &mut Vec<Metric>, asked: bool) -> Result<()> {
        measurable(model.temperature.is_some(), "this model", metrics, asked)
    }

    /// Warns where metrics, or matches, go by probabilities that are approximate; the largest problem tells, for it is the hardest.
    fn warn_of_metrics(model: &Matcher, on: &Ready<'_, Match>, metrics: &[Metric], screen: &Screen) -> Result<()> {
        let largest = on.set().all().into_iter().max_by_key(|&p| on.set().span(p as usize).len());
        let matched = model.decide == MatchDecide::Marginals || model.least.is_some();
        let asked = matched || metrics.iter().any(|metric| metric.of_probabilities());
        let (Some(p), true) = (largest, asked) else { return Ok(()) };
        warn_approximate(&Sums::of(&model.predict(on, &[p])?), screen);
        Ok(())
    }

    fn part(model: &Matcher, on: &Ready<'_, Match>, result: &Evaluation) -> Result<MethodPart> {
        let calibration = (!result.calibration.is_empty()).then(|| Calibration::joined(&result.calibration));
        Ok(MethodPart {
            features: features(&model.inputs.columns, model.score.weights()),
            gains: gains(&model.inputs.columns, &model.score),
            reliability: calibration.map(|calibration| Reliability::of(None, &calibration)),
            pictures: pictures(model, on, &on.set().all())?,
            ..MethodPart::default()
        })
    }

    fn labels(_: &MatchSet) -> usize {
        0
    }

    /// Matches, those that a person should look at first before the others.
    fn lists(model: &Matcher, on: &Ready<'_, Match>, units: &[u32]) -> Result<Vec<Listed>> {
        let said = Match::predict(model, on, units, Want::default())?;
        let list = |(&p, mut own): (&u32, MatchedProblem)| {
            let problem = on.set().problem(p as usize);
            own.matches.sort_by_key(|pair| pair.check);
            let line = |pair: MatchedPair| {
                let ends = problem.find_left(&pair.left).ok().zip(problem.find_right(&pair.right).ok());
                let edge = ends.and_then(|(left, right)| problem.find_edge(left, right));
                let what = match edge.map(|edge| problem.truth[edge]) {
                    Some(Truth::Yes) => "right",
                    Some(Truth::No) => "wrong",
                    _ => "not known",
                };
                (format!("{} – {}", pair.left, pair.right), what.to_owned())
            };
            own.matches.into_iter().take(LISTED).map(line).collect()
        };
        Ok(units.iter().zip(said).map(list).collect())
    }

    fn split_round(args: &Compare, how: &MatchReading) -> Result<Option<Rounds<Match>>> {
        let (Some(points), None, Some(pairs)) = (&args.train, &args.test, &args.points.pairs) else { return Ok(None) };
        if args.valid.is_some() {
            let text =
                "--pairs and --valid: the column split of the pairs says what is for validation; leave out --valid";
            return Err(Usage(text.into()).into());
        }
        let (set, splits) = read_match_splits(std::slice::from_ref(points), how)?;
        let wrong = |expected: &str, found: &str| {
            Err(ordain::Error::Content { path: pairs.clone(), expected: expected.into(), found: found.into() }.into())
        };
        match splits {
            Some(parts) if !parts[0].is_empty() && !parts[2].is_empty() => {
                Ok(Some(Rounds::Cuts(set, vec![three(&parts)])))
            }
            Some(_) => wrong("pairs of the splits train and test", "only some of them"),
            None => wrong("a column split of train, validate and test (or use --cv 5 POINTS)", "none"),
        }
    }
}
