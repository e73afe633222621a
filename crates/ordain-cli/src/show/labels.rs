//! Labels as text.

use super::{Given, Operate, Parts, Show, kernel, left_out, losses, reasons, result_line, roles_for};
use crate::args::Predict;
use crate::plan::{self, Usage};
use crate::screen::{Screen, assignments, four, name, table};
use anyhow::Result;
use ordain::answer::{Answers, LabelExplanation, LabelSetFacts, Want};
use ordain::data::{LabelReading, LabelSet, Missing, side_file};
use ordain::labelling::{LabelQuestions, label, standing};
use ordain::method::{Annotate, Annotator, LabelNotes, Trainer};
use ordain::metric::{Evaluation, Kind, Metric};
use ordain::model_file::Header;
use ordain::score::Score;
use ordain::task::{Facts, Fitted, Ready};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

impl Show for Annotate {
    const TRUTH: &'static str = "; --labels NAMES says which columns are labels";

    fn reading(given: &Given) -> Result<LabelReading> {
        plan::label_reading(given.reading, given.columns)
    }

    fn reading_for(model: &Annotator, given: &Given) -> LabelReading {
        // where nothing else says it, columns with the names of the model's labels are labels
        let columns: HashSet<&String> = model.inputs.columns.names.iter().collect();
        let known = model.labels.iter().filter(|label| !columns.contains(label)).cloned().collect();
        LabelReading {
            missing: model.inputs.missing,
            labels: given.reading.labels.clone(),
            known,
            roles: roles_for(&model.inputs, given),
            // features of the file play no part beside a kernel that is given
            model: given.gram.is_none().then(|| model.inputs.given().to_vec()),
            ..LabelReading::default()
        }
    }

    fn with_gram(set: LabelSet, gram: &Path, training: Option<&[String]>) -> ordain::Result<LabelSet> {
        set.with_gram(gram, training)
    }

    fn with_answers((set, train, valid): Parts<LabelSet>, answers: &Path) -> ordain::Result<(Parts<LabelSet>, usize)> {
        let answers = standing(answers, &LabelQuestions::new(&set)?)?;
        Ok(((label(&set, &answers)?, train, valid), answers.len()))
    }

    fn unit_of_rows(set: &LabelSet, _: &[String]) -> Vec<u32> {
        set.all()
    }

    fn missing(how: &LabelReading) -> Missing {
        how.missing
    }

    fn warn_of_set(set: &LabelSet, given: &Given, name: &str, screen: &Screen) {
        warn_of_labels(set, given.reading.labels.as_deref(), name, screen);
    }

    fn size(set: &LabelSet) -> String {
        format!("{} items with {} labels", set.len(), set.labels.len())
    }

    fn before_choice(fitted: &Fitted<Annotate>, set: &LabelSet, units: &[u32], screen: &Screen) {
        let notes = &fitted.facts.notes;
        if notes.bare_items > 0 {
            screen.say(&format!(
                "{} of {} items have no label: they teach how many labels there are, and no more",
                notes.bare_items, notes.items
            ));
        }
        let blank = set.blank_items(units);
        if blank > 0 {
            screen.say(&format!(
                "warning: of {blank} of {} items every label is unknown: they teach nothing",
                units.len()
            ));
        }
        let silent = set.silent_labels(units);
        if !silent.is_empty() {
            let names: Vec<&str> = silent.iter().map(|&label| set.labels[label as usize].as_str()).collect();
            screen.say(&format!(
                "warning: {} of {} labels are on no training item ({}): the model will hardly ever give them",
                silent.len(),
                set.labels.len(),
                some(&names)
            ));
        }
    }

    /// The settings that were open, and the size of the core.
    fn taken(facts: &Facts<LabelNotes>) -> String {
        let Some(best) = facts.taken() else { return String::new() };
        let mut settings = best.settings.clone();
        let size = settings.get("core").and_then(Value::as_array).map(Vec::len);
        match size {
            Some(0) if facts.asked.get("core") != Some(&"auto".into()) => {
                // no core was asked for: links have no settings
                settings.retain(|name, _| name == "lambda" || name == "features");
            }
            Some(size) => {
                settings.insert("core".into(), size.into());
            }
            None => {}
        }
        format!("{} ({:.4})", assignments(&settings), best.value)
    }

    fn doubt_choice(fitted: &Fitted<Annotate>, screen: &Screen) {
        let (facts, model) = (&fitted.facts, &fitted.model);
        let below = facts.notes.floor.filter(|_| facts.below_floor());
        let (Some(chosen), Some(floor)) = (&facts.chosen, below) else { return };
        let is = |name: &str, value: &str| facts.settings.get(name).and_then(Value::as_str) == Some(value);
        let auto = facts.asked.get("core") == Some(&"auto".into());
        let cure = match model.trainer {
            Trainer::Margin => "trainer=likelihood is the better trainer of noisy labels",
            Trainer::Likelihood if !model.star.core().is_empty() && auto => "try `fit independent`",
            Trainer::Likelihood if !model.star.core().is_empty() => "try core=auto, or `fit independent`",
            Trainer::Likelihood if is("features", "scores") => {
                "the classifiers alone rank as well; features=direct may help"
            }
            Trainer::Likelihood => "the classifiers alone rank as well; features=scores may help",
        };
        screen.say(&format!(
            "warning: {} of {:.4} on validation is below the {:.4} of a classifier for each label alone; {cure}",
            chosen.metric, floor.reached, floor.one_vs_rest
        ));
    }

    fn facts(fitted: &Fitted<Annotate>, screen: &Screen) {
        let core = fitted.model.core_names();
        if !core.is_empty() {
            screen.say(&format!("core of the model: {}", core.join(", ")));
        }
    }

    fn fitted_on(fitted: &Fitted<Annotate>) -> String {
        format!("{} items, {} labels", fitted.facts.notes.items, fitted.model.labels.len())
    }

    fn check_predict(model: &Annotator, args: &Predict) -> Result<()> {
        if args.probabilities && model.trainer == Trainer::Margin {
            return Err(Usage(
                "--probabilities: this model was fitted with trainer=margin, which has none; fit it with trainer=likelihood"
                    .into(),
            )
            .into());
        }
        Ok(())
    }

    fn operate(model: &mut Annotator, how: &Operate, _: &Screen) -> Result<()> {
        let Some(how) = how.decide else { return Ok(()) };
        let decide = plan::usage(how.parse())?;
        plan::usage(model.can_decide(decide))?;
        model.decide = decide;
        Ok(())
    }

    fn predicted(
        model: &Annotator,
        on: &Ready<'_, Annotate>,
        (args, _): (&Predict, &Given),
        screen: &Screen,
    ) -> Result<String> {
        let want = Want { top: args.top.map(|k| k as usize), ..Want::default() };
        let all = Annotate::predict(model, on, &on.set().all(), want)?;
        let mut text = String::new();
        if screen.json {
            for item in &all {
                writeln!(text, "{}", serde_json::to_string(item)?)?;
            }
        } else if args.top.is_some() || args.probabilities {
            // without probabilities a model by margin still shows what it ranks by
            let shown = args.probabilities || model.trainer == Trainer::Margin;
            let last = if shown { format!("\t{}", rank_name(model.trainer)) } else { String::new() };
            writeln!(text, "item\trank\tlabel\tscore{last}")?;
            for (item, label) in all.iter().flat_map(|item| item.labels.iter().map(move |label| (item, label))) {
                write!(text, "{}\t{}\t{}\t{}", name(&item.item), label.rank, name(&label.label), label.score)?;
                match model.trainer {
                    Trainer::Likelihood if shown => writeln!(text, "\t{:.6}", label.value())?,
                    Trainer::Margin => writeln!(text, "\t{}", label.value())?,
                    Trainer::Likelihood => text.push('\n'),
                }
            }
        } else {
            text.push_str("item\tlabels\n");
            for item in &all {
                writeln!(text, "{}\t{}", name(&item.item), name(&item.chosen.join(";")))?;
            }
        }
        Ok(text)
    }

    fn explained(why: &LabelExplanation, fitted: &Fitted<Annotate>, _: &Screen) -> Result<String> {
        let (model, LabelExplanation { above, below, contributions, links, .. }) = (&fitted.model, why);
        let (a, b, kind) = (&above.label, &below.label, rank_name(model.trainer));
        let verb = match above.value().total_cmp(&below.value()) {
            std::cmp::Ordering::Greater => "stands above",
            std::cmp::Ordering::Less => "stands BELOW",
            std::cmp::Ordering::Equal => "is tied with",
        };
        let mut text = format!(
            "item {}: {a} (rank {}, {kind} {}) {verb} {b} (rank {}, {kind} {})\n\n",
            why.item,
            above.rank,
            four(above.value()),
            below.rank,
            four(below.value())
        );
        text += &reasons(["what", a, b, "contribution"], contributions, "sum: difference of scores", why.difference);
        if model.direct.is_none() && !model.own.is_empty() {
            text += "single features are inside the classifiers: a model with features=direct or features=both shows them\n";
        }
        if !links.is_empty() {
            let heading = match model.trainer {
                Trainer::Likelihood => "links, at the probabilities of the labels (in brackets):",
                Trainer::Margin => "links, to the labels of the best set (1.00):",
            };
            text += &format!("\n{heading}\n");
            text += &reasons(["link", a, b, "contribution"], links, "sum of links", why.link_difference);
        }
        let links = if links.is_empty() { "" } else { ", and the links, with a sum of their own, are not in it" };
        text += &format!("\nThe first table adds up to the difference of the scores{links}.\n");
        text += match model.trainer {
            Trainer::Likelihood => {
                "Labels are ranked by probability, which weighs whole sets of labels: a sum need not have the sign of the ranking.\n"
            }
            Trainer::Margin => {
                "Labels are ranked by margin, which compares whole sets of labels: a sum need not have the sign of the ranking.\n"
            }
        };
        Ok(text)
    }

    fn remarks(metrics: &[Metric]) -> Vec<String> {
        remarks(metrics)
    }

    fn skipped(result: &Evaluation) -> String {
        match result.skipped() {
            0 => "none left out".into(),
            n => format!("{n} left out of {} (no label, or all)", left_out(result).join(", ")),
        }
    }

    fn shown_settings(facts: &Facts<LabelNotes>, model: &Annotator) -> String {
        let (mut settings, core) = (facts.settings.clone(), model.star.core().len());
        if settings.contains_key("core") {
            settings.insert("core".into(), core.into()); // the names have a line of their own
        }
        if core == 0 {
            settings.retain(|name, _| name != "core" && name != "link_lambda");
        }
        assignments(&settings)
    }

    fn model_text(fitted: &Fitted<Annotate>, header: &Header<Annotate>) -> Result<String> {
        let (facts, model, shown) = (&fitted.facts, &fitted.model, Annotate::model_facts(fitted));
        let (notes, mut text) = (&facts.notes, String::new());
        writeln!(
            text,
            "trained on {} items with {} labels and {} features; {} items have no label, {} labels never occur",
            notes.items,
            header.parts.labels.len(),
            header.features.names.len(),
            notes.bare_items,
            notes.silent_labels
        )?;
        text += &result_line(&facts.report);
        if let Some(chosen) = &facts.chosen {
            writeln!(
                text,
                "chosen     of {} by {} ({}) on {} items: {}",
                chosen.candidates.len(),
                chosen.metric,
                chosen.convention,
                chosen.units,
                Self::taken(facts)
            )?;
            if let Some(floor) = notes.floor {
                writeln!(
                    text,
                    "validation {} {:.4}; a classifier for each label alone {:.4}",
                    chosen.metric, floor.reached, floor.one_vs_rest
                )?;
            }
        }
        let count = shown.labels_per_item;
        writeln!(text, "labels     {} on a usual item, {} to {} on nine of ten", count.median, count.low, count.high)?;
        let threshold = model.threshold.map_or(String::new(), |t| format!(": labels above {t:.4}"));
        let decide = facts.settings.get("decide").and_then(Value::as_str).unwrap_or("count");
        writeln!(text, "decides    by {decide}{threshold}")?;
        if let Some(t) = notes.temperature {
            writeln!(text, "temperature {t:.4}: scores are divided by it, as held-out items say")?;
        }
        writeln!(text, "data       {}", facts.data)?;
        let classifiers = (!model.own.is_empty()).then_some(&model.classifiers.score);
        for score in model.direct.iter().chain(classifiers).filter_map(Score::expansion) {
            text += &kernel(score, &format!("a scorer for each of {} labels", score.parts.len()), "items");
        }
        if shown.core.is_empty() {
            text += "core       none: labels are independent of one another\n";
            return Ok(text);
        }
        writeln!(text, "core       {}", shown.core.join(", "))?;
        writeln!(text, "\nstrongest links (+ together, - apart):")?;
        let row =
            |link: &ordain::answer::LinkPart| vec![link.a.clone(), link.b.clone(), format!("{:+.4}", link.weight)];
        let rows: Vec<Vec<String>> = shown.links.iter().take(20).map(row).collect();
        text += &table(&["core label", "label", "weight"].map(str::to_owned), &rows);
        Ok(text)
    }

    fn set_text(_: &LabelSet, facts: &LabelSetFacts, path: &Path, seconds: f64) -> Result<String> {
        let mut text = format!(
            "{}: {} items, {} labels, {} features ({}), read in {seconds:.2} s\n",
            path.display(),
            facts.units,
            facts.labels,
            facts.features,
            facts.layout
        );
        if !facts.labelled {
            text += "the file does not say which labels apply: it can be predicted on, not fitted or measured\n";
            return Ok(text);
        }
        let per_item = facts.labels_per_item;
        writeln!(
            text,
            "labels per item: {} to {}, mean {:.2}; {} different sets; {} items have no label",
            per_item.min, per_item.max, per_item.mean, facts.label_sets, facts.bare_items
        )?;
        if facts.unknown > 0 {
            let blank = match facts.blank_items {
                0 => String::new(),
                n => format!("; of {n} items every label is unknown"),
            };
            writeln!(text, "unknown whether a label applies: {} entries{blank}", facts.unknown)?;
        }
        let silent: Vec<&str> = facts.silent_labels.iter().map(String::as_str).collect();
        match silent.len() {
            0 => writeln!(text, "every label occurs")?,
            n => writeln!(text, "{n} labels never occur: {}", some(&silent))?,
        }
        text += "\nmost frequent labels:\n";
        let share = |n: usize| format!("{:.1} %", 100.0 * n as f64 / facts.units.max(1) as f64);
        let rows: Vec<Vec<String>> = facts
            .frequent
            .iter()
            .take(20)
            .map(|one| vec![one.label.clone(), one.items.to_string(), share(one.items)])
            .collect();
        text += &table(&["label", "items", "share"].map(str::to_owned), &rows);
        if facts.occurring > 20 {
            writeln!(text, "… and {} more", facts.occurring - 20)?;
        }
        Ok(text)
    }

    fn converted(set: &LabelSet, path: &Path, screen: &Screen) {
        let output = path.display().to_string();
        let side = side_file(set, path);
        let beside =
            side.as_ref().map_or(String::new(), |file| format!(", the names of the labels to {}", file.display()));
        screen.say(&format!("wrote {} to {output}{beside}", Self::size(set)));
        let plain = output.trim_end_matches(".gz").trim_end_matches(".zst");
        if plain.ends_with(".arff") && set.has_items() {
            screen.say(
                "warning: ARFF has no place for the ids of items: they are left out (.csv, .tsv and .txt keep them)",
            );
        }
        let table = [".csv", ".tsv"].iter().any(|end| plain.ends_with(end));
        if table && set.labelled && !set.labels.is_empty() {
            let few = set.labels.len() <= 20 && !set.labels.iter().any(|name| name.contains([',', '"', '\'', ' ']));
            let names = if few { set.labels.join(",") } else { "NAMES, the last columns".into() };
            screen.say(&format!("read it with --labels {names}"));
        }
    }

    fn converted_facts(set: &LabelSet) -> Vec<(&'static str, Value)> {
        vec![("labels", set.labels.len().into())]
    }
}

/// What labels are ranked by, as it is called in tables.
fn rank_name(trainer: Trainer) -> &'static str {
    match trainer {
        Trainer::Likelihood => "probability",
        Trainer::Margin => "margin",
    }
}

/// The first of some names.
fn some(names: &[&str]) -> String {
    let more = names.len() - names.len().min(5);
    names[..names.len().min(5)].join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// Says that none of the labels of `--labels` is in the data.
fn warn_of_labels(set: &LabelSet, given: Option<&str>, name: &str, screen: &Screen) {
    if let Some(given) = given.filter(|_| !set.labelled && !set.labels.is_empty()) {
        let n = set.labels.len();
        screen.doubt(&format!("{name}: none of the {n} labels of {given} is an attribute: items without labels"));
    }
}

/// What metrics of what a model says know of how many labels an item has; which are losses.
fn remarks(metrics: &[Metric]) -> Vec<String> {
    let some = |right: &dyn Fn(&Metric) -> bool| {
        let names: Vec<String> = metrics.iter().filter(|metric| right(metric)).map(Metric::to_string).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let told = |metric: &Metric| metric.kind == Kind::Bep;
    let cut = |metric: &Metric| metric.kind == Kind::BepLearned;
    let mut all = vec![];
    all.extend(some(&told).map(|name| {
        format!("{name}: the model is told the true number of labels of each item (an oracle, as in the paper), and its answer for that number is measured")
    }));
    all.extend(some(&cut).map(|name| {
        format!("{name}: the model ranks labels without being told; the first k of that ranking are counted, with k the true number")
    }));
    all.extend(
        some(&|metric| metric.of_sets()).map(|names| format!("{names}: by the labels that the model itself chose")),
    );
    all.extend(
        some(&|metric| !told(metric) && !cut(metric) && !metric.of_sets())
            .map(|names| format!("{names}: by the ranking of labels, without being told")),
    );
    all.extend(losses(metrics));
    all
}
