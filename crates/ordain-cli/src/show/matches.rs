//! Matchings as text.

use super::{Given, Operate, Parts, Show, contributions, left_out, losses, ranges, result_line, roles_for, scored_by};
use crate::args::Predict;
use crate::plan::{self, Usage};
use crate::report::PicturePart;
use crate::screen::{Screen, four, name, table};
use anyhow::Result;
use ordain::answer::{Answers, EdgeExplanation, EdgePart, MatchSetFacts, MatchedProblem, Want, doubtful};
use ordain::data::{MatchReading, MatchSet, Missing, PointFeature, Role, Split, Truth, delaunay, read_match_splits};
use ordain::labelling::{MatchQuestions, matched, standing};
use ordain::method::{DecideNotes, Match, MatchDecide, MatchNotes, MatchPrediction, Matcher, Operating, Sums};
use ordain::metric::calibration::Calibration;
use ordain::metric::{Evaluation, Metric};
use ordain::model_file::Header;
use ordain::task::{Facts, Fitted, Ready, Task};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// With fewer validation problems than this a choice is a matter of luck.
const FEW: usize = 3;
/// Problems of which a report shows a picture.
const PICTURES: usize = 3;
/// Points of a side up to which neighbours are joined in it.
const MESH: usize = 300;

impl Show for Match {
    fn reading(given: &Given) -> Result<MatchReading> {
        let reading = plan::match_reading(given.reading, given.columns, given.points)?;
        let gaps = given.learns && given.reading.missing.is_none();
        let missing = if gaps { Missing::Auto } else { reading.missing };
        Ok(MatchReading { missing, only: given.only.to_vec(), ..reading })
    }

    fn reading_for(model: &Matcher, given: &Given) -> MatchReading {
        MatchReading {
            missing: model.inputs.missing,
            features: PointFeature::of_columns(&model.inputs.columns).unwrap_or_default(),
            pairs: given.points.pairs.clone(),
            only: given.only.to_vec(),
            roles: roles_for(&model.inputs, given),
            model: Some(model.inputs.given().to_vec()),
            ..MatchReading::default()
        }
    }

    fn with_answers((set, train, valid): Parts<MatchSet>, answers: &Path) -> ordain::Result<(Parts<MatchSet>, usize)> {
        let answers = standing(answers, &MatchQuestions::new(&set)?)?;
        Ok(((matched(&set, &answers)?, train, valid), answers.len()))
    }

    const UNIT: Option<Role> = Some(Role::Problem);

    fn unit_of_rows(set: &MatchSet, names: &[String]) -> Vec<u32> {
        let known: HashMap<&str, u32> = set.problems().iter().map(|problem| problem.name.as_str()).zip(0..).collect();
        names.iter().map(|name| known.get(name.as_str()).copied().unwrap_or(0)).collect()
    }

    fn missing(how: &MatchReading) -> Missing {
        how.missing
    }

    /// Where pairs have a split, their parts for training and validation.
    fn read_training(parts: &[Vec<PathBuf>], reading: &MatchReading) -> ordain::Result<Parts<MatchSet>> {
        let units = |range: std::ops::Range<usize>| range.map(|p| p as u32).collect::<Vec<u32>>();
        let (Some(_), [points]) = (&reading.pairs, parts) else {
            let (set, ranges) = <Match as Task>::read(parts, reading)?;
            let mut units = ranges.into_iter().map(units);
            let train = units.next().unwrap_or_default();
            return Ok((set, train, units.next()));
        };
        let only = vec![Split::Train, Split::Validate];
        let (set, splits) = read_match_splits(points, &MatchReading { only, ..reading.clone() })?;
        let Some([train, valid, _]) = splits else {
            let all = set.all();
            return Ok((set, all, None));
        };
        if train.is_empty() {
            return Err(ordain::Error::Content {
                path: reading.pairs.clone().unwrap_or_default(),
                expected: "pairs of the split train".into(),
                found: "none".into(),
            });
        }
        Ok((set, units(train), Some(units(valid)).filter(|valid| !valid.is_empty())))
    }

    fn wanted() -> String {
        "edges (a table with the columns problem, left, right, features and matched) or points".into()
    }

    /// Refuses features of points where there are none.
    fn check_set(set: &MatchSet, given: &Given) -> Result<()> {
        match given.points.point_features {
            Some(_) if !set.problems().iter().any(|problem| problem.places.is_some()) => Err(Usage(
                "--point-features is for points; these are edges, whose columns are their features: leave it out"
                    .into(),
            )
            .into()),
            _ => Ok(()),
        }
    }

    fn size(set: &MatchSet) -> String {
        format!("{} edges of {}", set.edges(), problems(set.len()))
    }

    fn before_choice(fitted: &Fitted<Match>, _: &MatchSet, _: &[u32], screen: &Screen) {
        let notes = &fitted.facts.notes;
        if notes.blank_problems > 0 {
            screen.say(&format!("left out: {}, of which nobody said what is matched", problems(notes.blank_problems)));
        }
        if notes.partly_known > 0 {
            screen.say(&format!(
                "known in part: {} of {}; what is unknown counts neither as matched nor as unmatched",
                notes.partly_known,
                problems(notes.problems)
            ));
        }
        if let Some(text) = local(notes) {
            screen.say(&text);
        }
    }

    fn doubt_choice(fitted: &Fitted<Match>, screen: &Screen) {
        if let Some(chosen) = fitted.facts.chosen.as_ref().filter(|chosen| chosen.units < FEW) {
            screen.say(&format!(
                "warning: a choice on {} tells little: more problems, --valid FILE, or scale= and lambda= by hand are better",
                problems(chosen.units)
            ));
        }
    }

    fn no_choice(facts: &Facts<MatchNotes>) -> String {
        let one = if facts.notes.problems == 1 { " (without a column problem all rows are one)" } else { "" };
        format!("warning: too few problems to choose on{one}: the default settings were used")
    }

    fn before_summary(fitted: &Fitted<Match>, screen: &Screen) {
        let notes = &fitted.facts.notes;
        if !notes.engines.is_empty() {
            let warning = if notes.accuracy == "approximate" { "warning: " } else { "" };
            screen.say(&format!(
                "{warning}sums over matchings by {}: {}",
                engines(&notes.engines),
                nearness(&notes.accuracy, notes.error)
            ));
        }
    }

    fn facts(fitted: &Fitted<Match>, screen: &Screen) {
        if let Some(text) = worth(&fitted.model) {
            screen.say(&text);
        }
        if let Some(text) = decided(&fitted.facts.notes) {
            screen.say(&format!("decides by {}{text}", fitted.model.decide.name()));
        }
    }

    fn fitted_on(fitted: &Fitted<Match>) -> String {
        let notes = &fitted.facts.notes;
        format!("{} edges of {}", notes.edges, problems(notes.problems))
    }

    fn check_predict(model: &Matcher, args: &Predict) -> Result<()> {
        if args.probabilities && model.temperature.is_none() {
            return Err(Usage(
                "--probabilities: this model was fitted with calibrate=false, and has none; fit it with calibrate=true"
                    .into(),
            )
            .into());
        }
        Ok(())
    }

    fn operate(model: &mut Matcher, how: &Operate, screen: &Screen) -> Result<()> {
        let decide = how.decide.map(str::parse).transpose();
        let how =
            Operating { decide: plan::usage(decide)?, min_probability: how.min_probability, precision: how.precision };
        if let Some(reached) = plan::usage(model.operate(&how))? {
            screen.say(&format!(
                "matches with a probability of at least {}: {} of {} such matches of validation were right ({})",
                reached.least,
                reached.right,
                reached.matches,
                four(reached.precision())
            ));
        }
        Ok(())
    }

    fn predicted(
        model: &Matcher,
        on: &Ready<'_, Match>,
        (args, _): (&Predict, &Given),
        screen: &Screen,
    ) -> Result<String> {
        let want = Want { top: args.top.map(|k| k as usize), ..Want::default() };
        let all = Match::predict(model, on, &on.set().all(), want)?;
        warn_approximate(&sums(&all), screen);
        match (args.check, args.top) {
            (Some(n), _) => doubts(&all, n as usize, screen.json),
            (None, Some(_)) if !screen.json => candidates(&all),
            (None, _) if !screen.json => matches(&all),
            (None, _) => {
                let lines: serde_json::Result<Vec<String>> = all.iter().map(serde_json::to_string).collect();
                Ok(lines?.into_iter().map(|line| line + "\n").collect())
            }
        }
    }

    fn warn_of_explanation(why: &EdgeExplanation, screen: &Screen) {
        warn_approximate(&why.sums, screen);
    }

    fn explained(why: &EdgeExplanation, fitted: &Fitted<Match>, _: &Screen) -> Result<String> {
        let likely = fitted.model.decide == MatchDecide::Marginals;
        let shown = |edge: &EdgePart| {
            let sure = edge.probability.map_or(String::new(), |p| format!(", probability {}", four(p)));
            format!("score {}{sure}", four(edge.score))
        };
        let partner = [Some(&why.above), why.below.as_ref(), why.better.as_ref()];
        let partner = partner.into_iter().flatten().find(|edge| edge.matched).or(why.matched.as_ref());
        let state = match partner {
            Some(edge) => format!("is matched with {} ({})", edge.right, shown(edge)),
            None => "stays unmatched".to_owned(),
        };
        let mut text = format!("problem {}: left item {} {state}", why.problem, why.left);
        if let Some(free) = &why.unmatched {
            let sure = free.probability.map_or(String::new(), |p| format!(", probability {}", four(p)));
            text += &format!("; staying unmatched: score {}{sure}", four(free.score));
        }
        text.push('\n');
        if let (Some(best), true) = (&why.better, likely) {
            text += &format!(
                "its best candidate alone would be {} ({}): with this answer more items are expected to be matched rightly\n",
                best.right,
                shown(best)
            );
        } else if let (Some(best), Some(taken)) = (&why.better, &why.taken) {
            text += &format!(
                "its best candidate alone would be {} ({}), but left item {} needs that more (score {}): together the matches score more this way\n",
                best.right,
                shown(best),
                taken.by,
                four(taken.score_there)
            );
        } else if let Some(best) = why.better.as_ref().filter(|_| why.partner.is_none()) {
            text += &format!(
                "its best candidate is {} ({}), which is worth less than both staying unmatched\n",
                best.right,
                shown(best)
            );
        }
        let (above, Some(below), Some(difference)) = (&why.above, &why.below, why.difference) else {
            let above = &why.above;
            text += &format!(
                "{} ({}) is its only candidate: there is no other to compare with\n",
                above.right,
                shown(above)
            );
            return Ok(text);
        };
        text += &format!("\n{} ({}) against {} ({}):\n", above.right, shown(above), below.right, shown(below));
        let (a, b, last) = (&above.right, &below.right, "sum: difference of scores");
        Ok(text + &contributions(&why.contributions, a, b, "{} others", last, difference))
    }

    fn remarks(metrics: &[Metric]) -> Vec<String> {
        let mut all: Vec<String> = losses(metrics).into_iter().collect();
        if metrics.iter().any(|metric| metric.to_string() == "ece") {
            all.push("ece: of all problems together, over edges with a probability above 0.01".into());
        }
        all
    }

    fn skipped(result: &Evaluation) -> String {
        match result.skipped() {
            0 => "none left out".into(),
            n => format!("{n} left out of {} (not known, or nothing to match)", left_out(result).join(", ")),
        }
    }

    fn model_text(fitted: &Fitted<Match>, _: &Header<Match>) -> Result<String> {
        let (model, facts, mut text) = (&fitted.model, &fitted.facts, String::new());
        let notes = &facts.notes;
        let odd = [(notes.blank_problems, "unknown and left out"), (notes.partly_known, "known in part")];
        let odd: Vec<String> = odd.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        let odd = if odd.is_empty() { String::new() } else { format!(" ({})", odd.join(", ")) };
        writeln!(text, "trained on {}{odd}", Self::fitted_on(fitted))?;
        text += &local(notes).map_or(String::new(), |text| text + "\n");
        text += &result_line(&facts.report);
        if let Some(chosen) = &facts.chosen {
            let (tried, metric, on) = (chosen.candidates.len(), &chosen.metric, problems(chosen.units));
            writeln!(
                text,
                "chosen     of {tried} by {metric} on {on}{}: {}",
                super::parts(chosen),
                Self::taken(facts)
            )?;
        }
        if !notes.engines.is_empty() {
            writeln!(text, "sums       by {}: {}", engines(&notes.engines), nearness(&notes.accuracy, notes.error))?;
        }
        if let Some(said) = worth(model) {
            writeln!(text, "scores     {said}")?;
        }
        writeln!(text, "decides    by {}{}", model.decide.name(), decided(notes).unwrap_or_default())?;
        if let Some(known) = &model.precision {
            let (mut all, mut right) = (0, 0);
            known.bins().iter().for_each(|bin| (all, right) = (all + bin.matches, right + bin.right));
            writeln!(text, "precision  known: {right} of {all} matches of validation were right (--precision P)")?;
        }
        if let Some(least) = model.least {
            writeln!(text, "drops      matches with a probability below {least}")?;
        }
        if let (true, Some(chosen)) = (facts.method == "matchmap", &facts.chosen) {
            // what was fitted, and what was changed afterwards
            let of_probabilities = chosen.metric.parse::<Metric>().is_ok_and(Metric::of_probabilities);
            let null = if model.null.is_some() && !of_probabilities {
                format!("staying unmatched was moved for {}, and ", chosen.metric)
            } else {
                String::new()
            };
            writeln!(
                text,
                "law        probabilities are not Eq. (3) of the paper, which was fitted: {null}scores are divided by the temperature"
            )?;
        }
        writeln!(text, "data       {}", facts.data)?;
        text += &scored_by(&model.score, &model.inputs.columns, Match::WORDS);
        Ok(text)
    }

    fn set_text(set: &MatchSet, facts: &MatchSetFacts, path: &Path, seconds: f64) -> Result<String> {
        let mut text = format!(
            "{}: {}, {} features ({}), read in {seconds:.2} s\n",
            path.display(),
            Self::size(set),
            facts.features,
            facts.layout
        );
        writeln!(
            text,
            "left items of a problem: {}; right items: {}; edges: {}",
            facts.left, facts.right, facts.edges
        )?;
        writeln!(text, "{:.1} % of all pairs of a left and a right item are forbidden", 100.0 * facts.forbidden)?;
        if facts.labelled {
            writeln!(
                text,
                "{} edges are matched; {} left and {} right items are unmatched",
                facts.matched, facts.unmatched.left, facts.unmatched.right
            )?;
            if facts.unknown > 0 {
                let blank = match facts.blank_problems {
                    0 => String::new(),
                    n => format!("; of {} nothing is known", problems(n)),
                };
                writeln!(text, "unknown whether they are matched: {} edges{blank}", facts.unknown)?;
            }
        } else {
            text += "the file does not say what is matched: it can be predicted on, not fitted or measured\n";
        }
        text.push('\n');
        text += &ranges(&set.features, &set.columns.names);
        Ok(text)
    }

    fn converted(set: &MatchSet, output: &Path, screen: &Screen) {
        screen.say(&format!("wrote {} to {}", Self::size(set), output.display()));
    }
}

/// `1 problem`, `2 problems`.
fn problems(count: usize) -> String {
    Match::WORDS.units(count)
}

/// That problems were too large to be learned from as they are.
fn local(notes: &MatchNotes) -> Option<String> {
    let count = notes.local?;
    Some(format!(
        "too large to be summed at once: learned from {count} small parts, around items of which something is known"
    ))
}

/// How the probabilities of all problems were found.
fn sums(all: &[MatchedProblem]) -> Sums {
    let mut sums = Sums::default();
    all.iter().filter_map(|one| one.marginals.as_ref()).for_each(|one| sums.add_named(one.by, one.accuracy, one.error));
    sums
}

/// A probability, or nothing where there is none.
fn chance(p: Option<f64>) -> String {
    p.map_or(String::new(), |p| format!("{p:.6}"))
}

/// The matches, and below those of a problem its unmatched items.
fn matches(all: &[MatchedProblem]) -> Result<String> {
    let mut text = "problem\tleft\tright\tscore\tprobability\tcheck\tunlikely\n".to_owned();
    for MatchedProblem { problem, matches, unmatched, .. } in all {
        let problem = name(problem);
        for m in matches {
            let sure = chance(m.probability);
            let (left, right, unlikely) = (name(&m.left), name(&m.right), u8::from(m.unlikely));
            writeln!(text, "{problem}\t{left}\t{right}\t{}\t{sure}\t{}\t{unlikely}", m.score, m.check)?;
        }
        for (left, p) in unmatched.left.iter().zip(&unmatched.probabilities[0]) {
            writeln!(text, "{problem}\t{}\t\t\t{}\t\t", name(left), chance(*p))?;
        }
        for (right, p) in unmatched.right.iter().zip(&unmatched.probabilities[1]) {
            writeln!(text, "{problem}\t\t{}\t\t{}\t\t", name(right), chance(*p))?;
        }
    }
    Ok(text)
}

/// The best candidates of every left item.
fn candidates(all: &[MatchedProblem]) -> Result<String> {
    let mut text = "problem\tleft\tright\tscore\tprobability\tmatched\n".to_owned();
    for MatchedProblem { problem, candidates, .. } in all {
        let problem = name(problem);
        for one in candidates.iter().flatten() {
            for c in &one.candidates {
                let right = name(c.right.as_deref().unwrap_or(""));
                let (sure, matched) = (chance(c.probability), u8::from(c.matched));
                writeln!(text, "{problem}\t{}\t{right}\t{}\t{sure}\t{matched}", name(&one.left), c.score)?;
            }
        }
    }
    Ok(text)
}

/// The most doubtful matches of all problems.
fn doubts(all: &[MatchedProblem], n: usize, json: bool) -> Result<String> {
    let mut text =
        if json { String::new() } else { "check\tproblem\tleft\tright\tscore\tprobability\tmargin\tunlikely\n".into() };
    for doubt in doubtful(all, n) {
        if json {
            writeln!(text, "{}", serde_json::to_string(&doubt)?)?;
            continue;
        }
        let pair = &doubt.pair;
        let margin = pair.margin.map_or(String::new(), |margin| margin.to_string());
        writeln!(
            text,
            "{}\t{}\t{}\t{}\t{}\t{}\t{margin}\t{}",
            pair.check,
            name(&doubt.problem),
            name(&pair.left),
            name(&pair.right),
            pair.score,
            chance(pair.probability),
            u8::from(pair.unlikely)
        )?;
    }
    Ok(text)
}

/// How many sums were found by which engine: `exact (12), bethe (3)`.
pub(crate) fn engines(engines: &Map<String, Value>) -> String {
    engines.iter().map(|(name, count)| format!("{name} ({count})")).collect::<Vec<_>>().join(", ")
}

/// How near probabilities are, in words.
fn nearness(accuracy: &str, error: Option<f64>) -> String {
    match (accuracy, error) {
        ("exact", _) => "exact".into(),
        ("certified", Some(error)) => format!("off by {error:.1e} at most"),
        ("estimated", Some(error)) => format!("by samples, with a standard error of about {error:.1e}"),
        ("approximate", error) => format!("approximate, {}", how_near(error)),
        (other, _) => other.into(),
    }
}

/// How near approximate probabilities are.
fn how_near(seen: Option<f64>) -> String {
    match seen {
        Some(error) => format!("off by up to {error:.1e} in small parts, which can be summed exactly"),
        None => "and nobody knows how near they are".into(),
    }
}

/// Warns of probabilities that are approximate, and says how near they are.
pub(crate) fn warn_approximate(all: &Sums, screen: &Screen) {
    match all.accuracy() {
        "approximate" => screen.say(&format!(
            "warning: probabilities are approximate, found by {}: {}; marginals=exact or pruned gives them for small problems, marginals=chain by samples with an error",
            engines(&all.engines),
            how_near(all.error())
        )),
        "exact" => {}
        other => screen.say(&format!(
            "probabilities were found by {}: {}",
            engines(&all.engines),
            nearness(other, all.error())
        )),
    }
}

/// What both ways to decide are worth on validation, where that is known.
fn decided(notes: &MatchNotes) -> Option<String> {
    let DecideNotes { metric, problems: on, map, marginals, error } = notes.decisions.as_ref()?;
    let by = format!("{metric} {} by map, {} by marginals", four(*map), four(*marginals));
    Some(format!(": {by}; paired standard error {} on {}", four(*error), problems(*on)))
}

/// The score of staying unmatched and the temperature, of models that have them.
fn worth(model: &Matcher) -> Option<String> {
    let null = model.null.map(|null| format!("an item that stays unmatched scores {null:.4}"));
    let temperature = match model.temperature {
        Some(t) if (t - 1.0).abs() > 1e-12 => {
            Some(format!("scores are divided by {t:.4} (the temperature) to become probabilities"))
        }
        None => Some("there are no probabilities (calibrate=false)".to_owned()),
        Some(_) => None,
    };
    let said: Vec<String> = null.into_iter().chain(temperature).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Leaves out metrics of probabilities where there are none; refuses them where they were asked for.
pub(crate) fn measurable(has: bool, who: &str, metrics: &mut Vec<Metric>, asked: bool) -> Result<()> {
    if has {
        return Ok(());
    }
    match metrics.iter().find(|metric| metric.of_probabilities()).filter(|_| asked) {
        Some(metric) => Err(Usage(format!(
            "--metric {metric}: {who} has no probabilities (calibrate=false); {metric} needs them: fit matchmap, or matchmargin with calibrate=true"
        ))
        .into()),
        None => {
            metrics.retain(|metric| !metric.of_probabilities());
            Ok(())
        }
    }
}

/// How the probabilities of edges come true, as a table.
pub(crate) fn reliability(result: &Evaluation) -> Option<String> {
    let calibration = Calibration::joined(&result.calibration);
    let bins = calibration.bins.iter().enumerate().filter(|(_, bin)| bin.count > 0);
    let rows: Vec<Vec<String>> = bins
        .map(|(i, bin)| {
            let n = bin.count as f64;
            let range = format!("{:.1} to {:.1}", i as f64 / 10.0, (i + 1) as f64 / 10.0);
            vec![range, bin.count.to_string(), four(bin.predicted / n), four(bin.observed / n)]
        })
        .collect();
    let head = ["probability", "edges", "predicted", "observed"].map(str::to_owned);
    (!rows.is_empty()).then(|| format!("\nhow probabilities of edges come true:\n{}", table(&head, &rows)))
}

/// Pictures of some problems that have places.
pub(crate) fn pictures(matcher: &Matcher, on: &Ready<'_, Match>, units: &[u32]) -> Result<Vec<PicturePart>> {
    let set = on.set();
    let placed = |p: &&u32| set.problem(**p as usize).places.is_some();
    let all: Vec<u32> = units.iter().filter(placed).copied().collect();
    // files often go from the easy to the hard: the first, the last, and some between them
    let shown: Vec<u32> = match all.len() {
        n if n <= PICTURES => all,
        n => (0..PICTURES).map(|k| all[k * (n - 1) / (PICTURES - 1)]).collect(),
    };
    let said = matcher.predict(on, &shown)?;
    Ok(shown.iter().zip(&said).filter_map(|(&p, said)| picture(set, p as usize, said)).collect())
}

fn picture(set: &MatchSet, p: usize, said: &MatchPrediction) -> Option<PicturePart> {
    let problem = set.problem(p);
    let [left, right] =
        problem.places.clone()?.map(|side| side.into_iter().map(|at| at.map(f64::from)).collect::<Vec<[f64; 2]>>());
    let mesh = [mesh(&left), mesh(&right)];
    let lines = said.matches.iter().map(|m| {
        let (i, j) = problem.edges[m.edge as usize];
        let truth = match problem.truth[m.edge as usize] {
            Truth::Yes => Some(true),
            Truth::No => Some(false),
            Truth::Unknown => None,
        };
        (i as usize, j as usize, m.probability, truth)
    });
    Some(PicturePart {
        problem: problem.name.clone(),
        left,
        right,
        names: [problem.left.clone(), problem.right.clone()],
        mesh,
        lines: lines.collect(),
    })
}

/// Neighbours of the triangulation, without the long edges across hollows: twice the median length at most.
fn mesh(places: &[[f64; 2]]) -> Vec<(u32, u32)> {
    if places.len() > MESH {
        return vec![];
    }
    let length = |&(a, b): &(u32, u32)| {
        let (p, q) = (places[a as usize], places[b as usize]);
        (p[0] - q[0]).hypot(p[1] - q[1])
    };
    let mut edges = delaunay(places);
    let mut lengths: Vec<f64> = edges.iter().map(length).collect();
    lengths.sort_by(f64::total_cmp);
    let most = 2.0 * lengths.get(lengths.len() / 2).copied().unwrap_or(0.0);
    edges.retain(|edge| length(edge) <= most);
    edges
}
