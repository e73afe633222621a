//! Rankings as text.

use super::{Given, Parts, Show, contributions, losses, ranges, reasons, result_line, roles_for, scored_by};
use crate::args::Predict;
use crate::plan;
use crate::screen::{Screen, four, name, table};
use anyhow::Result;
use ordain::answer::{
    Answers, QuadraticFacts, RankExplanation, RankSetFacts, RankedList, RulesPart, Want, ruled_lists, unused_rules,
};
use ordain::data::scale::Scale;
use ordain::data::split::{self, Layout};
use ordain::data::{self, ClickFacts, Missing, PreferenceFacts, RankReading, RankSet, Rules};
use ordain::labelling::{RankQuestions, graded, grades, votes};
use ordain::method::{Rank, RankNotes, Ranker};
use ordain::metric::{Evaluation, Metric};
use ordain::model_file::Header;
use ordain::task::{Facts, Fitted, Ready, Task as _};
use std::cmp::Ordering;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

impl Show for Rank {
    fn reading(given: &Given) -> Result<RankReading> {
        let links = given.links.map(Path::to_path_buf);
        let start = given.start.map(Path::to_path_buf);
        let preferences = given.preferences.map(Path::to_path_buf);
        let clicks = given.clicks.map(plan::clicks).transpose()?;
        Ok(RankReading { links, start, preferences, clicks, ..plan::rank_reading(given.reading, given.columns)? })
    }

    fn reading_for(model: &Ranker, given: &Given) -> RankReading {
        let inputs = &model.inputs;
        let mut roles = roles_for(inputs, given);
        // what caps go by need be no number
        let kinds = given.rules.into_iter().flat_map(Rules::columns).map(str::to_owned);
        let known = |name: &String| roles.ignore.contains(name) || inputs.given().contains(name);
        let kinds: Vec<String> = kinds.filter(|name| !known(name)).collect();
        roles.ignore.extend(kinds);
        RankReading {
            missing: inputs.missing,
            roles,
            model: Some(inputs.given().to_vec()),
            pins: given.pins.map(Path::to_path_buf),
            links: given.links.map(Path::to_path_buf),
            start: given.start.map(Path::to_path_buf),
            preferences: given.preferences.map(Path::to_path_buf),
            ..RankReading::default()
        }
    }

    /// Of a query of which nothing is known, neither by the file nor by people, nothing is learned.
    fn with_answers((set, train, valid): Parts<RankSet>, answers: &Path) -> ordain::Result<(Parts<RankSet>, usize)> {
        let said = votes(answers, &RankQuestions::new(&set)?)?;
        let (own, queries) =
            graded(&set, &grades(said.iter().map(|(subject, _, grade)| (*subject, *grade))), |_| set.graded);
        let left = |units: Vec<u32>| -> Vec<u32> {
            units
                .iter()
                .filter_map(|&unit| queries.binary_search(&(unit as usize)).ok())
                .map(|unit| unit as u32)
                .collect()
        };
        Ok(((own, left(train), valid.map(left)), said.len()))
    }

    fn has_links(model: &Ranker) -> bool {
        model.links().is_some()
    }

    /// A folder stands for its parts S1, S2 …
    fn read(parts: &[Vec<PathBuf>], how: &RankReading) -> ordain::Result<(RankSet, Vec<Range<usize>>)> {
        let parts: ordain::Result<Vec<Vec<PathBuf>>> = parts.iter().map(|files| unfolded(files)).collect();
        data::read_rank(&parts?, how)
    }

    fn unit_of_rows(set: &RankSet, _: &[String]) -> Vec<u32> {
        let mut units = vec![0; set.rows()];
        for q in 0..set.len() {
            set.span(q).for_each(|row| units[set.input_row(row)] = q as u32);
        }
        units
    }

    fn row_id(set: &RankSet, row: usize) -> Option<String> {
        set.has_documents().then(|| set.document(row).into_owned())
    }

    fn missing(how: &RankReading) -> Missing {
        how.missing
    }

    fn size(set: &RankSet) -> String {
        format!("{} documents of {} queries", set.rows(), set.len())
    }

    fn before_choice(fitted: &Fitted<Rank>, _: &RankSet, _: &[u32], screen: &Screen) {
        let notes = &fitted.facts.notes;
        if let Some(preferences) = &notes.preferences {
            screen.say(&preferred(preferences));
        }
        if notes.flat_queries > 0 {
            let what = if notes.preferences.is_some() { "no preference" } else { "one grade only" };
            screen.say(&format!(
                "{} of {} queries have {what} and play no part in training",
                notes.flat_queries, notes.queries
            ));
        }
    }

    fn taken(facts: &Facts<RankNotes>) -> String {
        let setting = |name: &str| facts.settings.get(name);
        format!(
            "scale={}{}{} lambda={}{}",
            setting("scale").and_then(|scale| scale.as_str()).unwrap_or("?"),
            match (
                facts.asked.get("weight").and_then(|asked| asked.as_str()),
                setting("weight").and_then(|w| w.as_str())
            ) {
                (Some("auto"), Some(weight)) => format!(" weight={weight}"),
                _ => String::new(),
            },
            setting("gamma").map_or(String::new(), |gamma| format!(" gamma={gamma}")),
            setting("lambda").map_or("?".into(), ToString::to_string),
            facts.taken().map_or(String::new(), |taken| format!(" ({:.4})", taken.value)),
        )
    }

    fn fitted_on(fitted: &Fitted<Rank>) -> String {
        let notes = &fitted.facts.notes;
        format!("{} documents, {} queries, {:.0} {}s", notes.rows, notes.queries, notes.examples, notes.example)
    }

    fn after_summary(fitted: &Fitted<Rank>, screen: &Screen) {
        let notes = &fitted.facts.notes;
        if let Some(text) = of_the_list(&fitted.model) {
            screen.say(&text);
        }
        if let Some(core) = &notes.core {
            let ball = core.pairs.zip(core.certificate).map_or(String::new(), |(pairs, gap)| {
                format!(" from {pairs} core pairs (certified gap {:.2} % of f)", 100.0 * gap)
            });
            screen.say(&format!("the model rests on {} of {} documents{ball}", core.documents, notes.rows));
        }
    }

    fn predicted(
        model: &Ranker,
        on: &Ready<'_, Rank>,
        (args, given): (&Predict, &Given),
        screen: &Screen,
    ) -> Result<String> {
        let set = on.set();
        let mut text = String::new();
        let plain = args.run.is_none() && args.top.is_none() && given.rules.is_none();
        if !screen.json && plain && !args.probabilities {
            for score in set.in_input_order(model.scores(on)?) {
                writeln!(text, "{score}")?;
            }
            return Ok(text);
        }
        if args.run.is_some() {
            data::check_ids(set)?;
        }
        let want = Want { top: args.top.map(|k| k as usize), probabilities: args.probabilities };
        let lists = match given.rules {
            None => Rank::predict(model, on, &set.all(), want)?,
            Some(rules) => ruled(model, on, (rules, &args.data), want, screen)?,
        };
        if screen.json {
            for list in &lists {
                writeln!(text, "{}", serde_json::to_string(list)?)?;
            }
        } else if args.probabilities {
            text += &places(&lists, model.places.len())?;
        } else if let Some(tag) = &args.run {
            for (list, item) in lists.iter().flat_map(|list| list.items.iter().map(move |item| (list, item))) {
                // whoever sorts by scores gets the order of the rules
                let score = if list.rules.is_some() { -(item.rank as f64) } else { item.score };
                writeln!(text, "{} Q0 {} {} {score} {tag}", name(&list.query), name(&item.id), item.rank)?;
            }
        } else {
            text.push_str("query\trank\tdocument\tscore\n");
            for (list, item) in lists.iter().flat_map(|list| list.items.iter().map(move |item| (list, item))) {
                writeln!(text, "{}\t{}\t{}\t{}", name(&list.query), item.rank, name(&item.id), item.score)?;
            }
        }
        Ok(text)
    }

    fn explained(why: &RankExplanation, _: &Fitted<Rank>, _: &Screen) -> Result<String> {
        let RankExplanation { query, above, below, difference, contributions: parts, links } = why;
        let higher = match links {
            // with links the order is not a sort by scores
            Some(_) => below.rank.cmp(&above.rank),
            None => difference.partial_cmp(&0.0).unwrap_or(Ordering::Equal),
        };
        let verb = match higher {
            Ordering::Greater => "stands above",
            Ordering::Less => "stands BELOW",
            Ordering::Equal => "is tied with",
        };
        let text = format!(
            "query {query}: {} (rank {}, score {}) {verb} {} (rank {}, score {})\n\n",
            above.id,
            above.rank,
            four(above.score),
            below.id,
            below.rank,
            four(below.score)
        );
        let mut text = text + &contributions(parts, &above.id, &below.id, "all others", "sum", *difference);
        if let Some(links) = links {
            let sum = links.iter().map(|link| link.contribution).sum();
            let head = ["link", &above.id, &below.id, "contribution"];
            text += "\nlinks, at the places where they stand:\n";
            text += &reasons(head, links, "sum of links", sum);
            text += "\nThe score is that of a document by itself. Links weigh whole orders: a sum need not have the sign of the ranking.\n";
        }
        Ok(text)
    }

    fn remarks(metrics: &[Metric]) -> Vec<String> {
        losses(metrics).into_iter().collect()
    }

    fn skipped(result: &Evaluation) -> String {
        format!("{} left out (nothing in them is relevant)", result.skipped())
    }

    fn model_text(fitted: &Fitted<Rank>, _: &Header<Rank>) -> Result<String> {
        let (facts, mut text) = (&fitted.facts, String::new());
        let notes = &facts.notes;
        writeln!(
            text,
            "trained on {} documents of {} queries ({} of one grade), {:.0} {}s",
            notes.rows, notes.queries, notes.flat_queries, notes.examples, notes.example
        )?;
        text += &result_line(&facts.report);
        if let Some(chosen) = &facts.chosen {
            writeln!(
                text,
                "chosen     of {} by {} ({}) on {} queries{}",
                chosen.candidates.len(),
                chosen.metric,
                chosen.convention,
                chosen.units,
                super::parts(chosen)
            )?;
            if let Some(edge) = super::edge(chosen) {
                writeln!(text, "           {edge}")?;
            }
        }
        writeln!(text, "data       {}", facts.data)?;
        if let Some(preferences) = &notes.preferences {
            writeln!(text, "judged by  {}", preferred(preferences))?;
        }
        if let Some(said) = of_the_list(&fitted.model) {
            writeln!(text, "scores     {said}")?;
        }
        text += &scored_by(&fitted.model.score, &fitted.model.inputs.columns, Rank::WORDS);
        if let Some((core, pairs)) = notes.core.as_ref().and_then(|core| Some((core, core.pairs?))) {
            let (f, gap) = (core.f.unwrap_or(f64::NAN), 100.0 * core.certificate.unwrap_or(f64::NAN));
            writeln!(text, "ball       {pairs} core pairs, f {f:.6}, certified gap {gap:.2} % of f")?;
        }
        let held = Rank::model_facts(fitted);
        if let Some(pulls) = &held.pulls {
            let rows: Vec<Vec<String>> =
                pulls.0.iter().map(|(link, pull)| vec![link.clone(), format!("{pull:.4}")]).collect();
            text += "\nlinked documents pull at each other's scores\n";
            text += &table(&["link", "pull"].map(str::to_owned), &rows);
        }
        text += &held.quadratic.as_ref().map_or(String::new(), linked);
        Ok(text)
    }

    fn set_text(set: &RankSet, facts: &RankSetFacts, path: &Path, seconds: f64) -> Result<String> {
        let sizes = || (0..set.len()).map(|q| set.span(q).len());
        let mut text = format!(
            "{}: {} documents of {} queries, {} features ({}), read in {seconds:.2} s\n",
            path.display(),
            facts.rows,
            facts.units,
            facts.features,
            facts.layout
        );
        writeln!(
            text,
            "documents per query: {} to {}, mean {:.1}; {} queries have one grade only",
            sizes().min().unwrap_or(0),
            sizes().max().unwrap_or(0),
            set.rows() as f64 / set.len().max(1) as f64,
            facts.flat_queries
        )?;
        let grades = &facts.grades.0;
        let shown: Vec<String> = grades.iter().take(12).map(|(grade, n)| format!("{grade}: {n}")).collect();
        let more = if grades.len() > 12 { format!(" and {} more", grades.len() - 12) } else { String::new() };
        writeln!(text, "grades: {}{more}\n", if set.graded { shown.join(", ") } else { "none".into() })?;
        text += &ranges(&set.features, &set.columns.names);
        Ok(text)
    }

    fn converted(set: &RankSet, output: &Path, screen: &Screen) {
        screen.say(&format!("wrote {} to {}", Self::size(set), output.display()));
    }
}

/// Ranked lists under rules, with what is said of them.
fn ruled(
    model: &Ranker,
    on: &Ready<'_, Rank>,
    (rules, data): (&Rules, &Path),
    want: Want,
    screen: &Screen,
) -> Result<Vec<RankedList>> {
    let columns: Vec<String> = rules.columns().into_iter().map(str::to_owned).collect();
    if !columns.is_empty() && data::is_stream(data) {
        let text = "--rules: caps go by a column of the data, which have to be a file for that";
        return Err(plan::Usage(text.into()).into());
    }
    let values = if columns.is_empty() { vec![] } else { data::column_texts(data, &columns, "rules")? };
    let unused = unused_rules(rules, on.set());
    if let Some(first) = unused.first() {
        screen.say(&format!("note: {} rule(s) name what these data do not have, such as {first}", unused.len()));
    }
    let lists = ruled_lists(model, on, &on.set().all(), want, (rules, &values))?;
    let parts = || lists.iter().filter_map(|list| list.rules.as_ref());
    let left_out: usize = parts().map(|part| part.left_out).sum();
    if left_out > 0 {
        screen.say(&format!("note: {left_out} document(s) are in no list: caps leave no place for them"));
    }
    let open = parts().filter(|part| !part.exact).count();
    if open > 0 {
        let share = |part: &RulesPart| part.gap / part.bound.abs().max(f64::MIN_POSITIVE);
        let worst = parts().map(share).fold(0.0, f64::max);
        screen.say(&format!(
            "note: {open} of {} lists may not be the best under caps on several columns; none is more than {:.2} % below it",
            lists.len(),
            100.0 * worst
        ));
    }
    Ok(lists)
}

/// The preferences that a model was fitted on.
fn preferred(facts: &PreferenceFacts) -> String {
    let PreferenceFacts { pairs, weight, opposed, clicks } = facts;
    let own = format!("{pairs} preferences of weight {}", four(*weight));
    let own = if *opposed > 0 { format!("{own}, {opposed} of them with their opposite") } else { own };
    let Some(ClickFacts { eta, clip, lists, silent, clicks, clipped, effective }) = clicks else { return own };
    format!(
        "{own}, of {clicks} clicks on {lists} lists ({silent} lists say nothing); eta={eta}: they tell as much as {effective:.1} clicks of one weight; {clipped} ({:.1} %) are clipped at {clip}",
        100.0 * *clipped as f64 / (*clicks).max(1) as f64
    )
}

/// That a score depends on the list that a document is in.
fn of_the_list(model: &Ranker) -> Option<String> {
    let scale = model.inputs.scale;
    matches!(scale, Scale::Query | Scale::Minmax).then(|| {
        format!(
            "a score depends on the list that a document is in (scale={}): score whole lists; exportable=search or onnx chooses without it",
            scale.name()
        )
    })
}

/// Files, with those of a folder of parts in its place.
fn unfolded(paths: &[PathBuf]) -> ordain::Result<Vec<PathBuf>> {
    let mut files = vec![];
    for path in paths {
        match path.is_dir().then(|| split::layout(path)).transpose()? {
            None => files.push(path.clone()),
            Some(Layout::Parts(parts)) => files.extend(parts),
            Some(Layout::Folders(folds)) => {
                return Err(ordain::Error::Content {
                    path: path.clone(),
                    expected: "a file, or a folder of parts S1, S2 …".into(),
                    found: format!("folds: name a file, such as {}", folds[0][2].display()),
                });
            }
        }
    }
    Ok(files)
}

/// Ranked lists with the probabilities of `k` places.
fn places(lists: &[RankedList], k: usize) -> Result<String> {
    let mut text = "query\trank\tdocument\tscore".to_owned();
    (1..=k).try_for_each(|place| write!(text, "\tplace_{place}"))?;
    writeln!(text, "\tfirst_k\texpected_rank")?;
    for list in lists {
        for item in &list.items {
            let Some(p) = &item.places else { continue };
            write!(text, "{}\t{}\t{}\t{}", name(&list.query), item.rank, name(&item.id), item.score)?;
            p.places.iter().try_for_each(|p| write!(text, "\t{p:.6}"))?;
            // a list shorter than the head has no such place
            (p.places.len()..k).try_for_each(|_| write!(text, "\t0"))?;
            writeln!(text, "\t{:.6}\t{:.4}", p.first_k, p.expected_rank)?;
        }
    }
    Ok(text)
}

/// The items of a model with links.
fn linked(facts: &QuadraticFacts) -> String {
    if let Some(pairs) = &facts.pairs {
        let core = pairs
            .documents
            .as_ref()
            .map_or(format!("the {} best by their own scores", pairs.core), |names| names.join(", "));
        let rows: Vec<Vec<String>> =
            pairs.weights.0.iter().map(|(name, v)| vec![name.clone(), format!("{v:+.4}")]).collect();
        let table = table(&["feature of pairs", "link"].map(str::to_owned), &rows);
        return format!("\nlinks between documents; core of a query: {core}\n{table}");
    }
    let core = if facts.core.is_empty() { "none".into() } else { facts.core.join(", ") };
    let mut text = format!("\nitems      {} with a bias; core: {core}\n", facts.items);
    let rows: Vec<Vec<String>> =
        facts.links.iter().map(|link| vec![link.a.clone(), link.b.clone(), format!("{:+.4}", link.weight)]).collect();
    if !rows.is_empty() {
        text += "\nstrongest links\n";
        text += &table(&["core", "item", "link"].map(str::to_owned), &rows);
    }
    let rows: Vec<Vec<String>> =
        facts.biases.0.iter().map(|(item, b)| vec![item.clone(), format!("{b:+.4}")]).collect();
    if !rows.is_empty() {
        text += "\nlargest biases\n";
        text += &table(&["item", "bias"].map(str::to_owned), &rows);
    }
    text
}
