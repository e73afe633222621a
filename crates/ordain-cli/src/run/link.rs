//! `ordain link`.

use super::{check_not_input, check_output, followed};
use crate::args::Link;
use crate::plan::{Usage, usage};
use crate::report::linkage;
use crate::screen::{Screen, table};
use anyhow::Result;
use ordain::answer::Reliability;
use ordain::data::{read_records, write_rows, write_whole};
use ordain::link::{self, Candidates, Comparison, Known, Linking, read_known};
use ordain::method::{Match, Operating};
use ordain::model_file;
use ordain::task::Fitted;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Links below this probability are called doubtful.
const DOUBT: f64 = 0.9;
/// Doubtful links that a report explains.
const EXPLAINED: usize = 6;

pub(super) fn run(args: &Link, screen: &Screen) -> Result<()> {
    if args.output.as_os_str() == "-" {
        let text = "-o -: links come with candidate pairs and a model, in files beside them: give the links a name";
        return Err(Usage(text.into()).into());
    }
    let compare = args.compare.iter().map(|text| usage(Comparison::list(text))).collect::<Result<Vec<_>>>()?.concat();
    let (pairs, model) = (beside(&args.output, "pairs.csv"), beside(&args.output, "ordain"));
    for output in [&args.output, &pairs, &model].into_iter().chain(&args.report) {
        check_output(output)?;
        check_not_input(output, [&args.left, &args.right].into_iter().chain(&args.known))?;
    }
    let start = Instant::now();
    let (left, right) = (read_records(&args.left, &args.id)?, read_records(&args.right, &args.id)?);
    let linking = Linking { block: args.block.clone(), compare, right_many: args.right_many };
    let candidates = linking.candidates(&left, &right)?;
    let known = match &args.known {
        None => None,
        Some(path) => {
            let all = read_known(path, &left, &right)?;
            let named = all.iter().map(|(a, b, yes)| (a.as_str(), b.as_str(), *yes));
            Some(
                candidates
                    .find(named)
                    .map_err(|error| anyhow::Error::from(error).context(path.display().to_string()))?,
            )
        }
    };
    screen.allow_data()?;
    screen.say(&blocking(&candidates, [left.len(), right.len()]));
    candidates.write_pairs(&pairs)?;
    let Some(known) = known else {
        model_file::save(&candidates.unlearned()?, &model)?;
        if screen.json {
            screen.answer(&document(args, &candidates, [left.len(), right.len()], None))?;
        }
        ask(args, &candidates, (&pairs, &model), screen);
        return Ok(());
    };
    let ((yes, no), reached) = (known.counts(), candidates.reached(&known));
    let share = 100.0 * reached.0 as f64 / reached.1.max(1) as f64;
    screen.say(&format!(
        "known: {yes} pairs that match and {no} that do not; {} of the matches are candidates ({share:.1} %)",
        reached.0
    ));
    let fitted = followed(screen, |watch| candidates.learn(&known, watch))?;
    // the model that is saved drops nothing
    let mut dropping = fitted.clone();
    dropping.model.operate(&Operating { min_probability: args.min_probability, ..Operating::default() })?;
    let links = candidates.links(&dropping, &known)?;
    write_links(&links, &args.output)?;
    model_file::save(&fitted, &model)?;
    let seconds = start.elapsed().as_secs_f64();
    if let Some(path) = &args.report {
        let page = page(args, &candidates, &fitted, &known, &links, screen)?;
        let html = linkage::html(&page)?;
        write_whole(path, |out| out.write_all(html.as_bytes()))?;
    }
    if screen.json {
        screen.answer(&document(args, &candidates, [left.len(), right.len()], Some((&fitted, &known, &links))))?;
    }
    let count = |test: &dyn Fn(&link::Link) -> bool| links.iter().filter(|link| test(link)).count();
    let matched = |link: &link::Link| link.left.is_some() && link.right.is_some();
    screen.say(&format!(
        "{} links, of which {} are in doubt (probability below {DOUBT}); {} left and {} right records stay alone; {seconds:.1} s",
        count(&matched),
        count(&|link| matched(link) && link.probability < DOUBT),
        count(&|link| link.right.is_none()),
        count(&|link| link.left.is_none()),
    ));
    screen.say(&format!("wrote {}, {} and {}", args.output.display(), pairs.display(), model.display()));
    if let Some(path) = &args.report {
        screen.say(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// A file beside the links: `links.csv` and `pairs.csv` give `links.pairs.csv`.
fn beside(links: &Path, ending: &str) -> PathBuf {
    let name = links.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut stem = name.as_str();
    for cut in [".gz", ".zst", ".csv", ".tsv"] {
        stem = stem.strip_suffix(cut).unwrap_or(stem);
    }
    links.with_file_name(format!("{stem}.{ending}"))
}

/// What each rule found.
fn blocking(candidates: &Candidates, [left, right]: [usize; 2]) -> String {
    let head = ["rule", "pairs", "new"].map(str::to_owned);
    let row = |found: &link::Found| vec![found.rule.clone(), found.pairs.to_string(), found.fresh.to_string()];
    let rows: Vec<Vec<String>> = candidates.found.iter().map(row).collect();
    let all = candidates.len();
    format!("{}{all} candidate pairs of {left} and {right} records", table(&head, &rows))
}

/// What a person should do next, where nothing is known.
fn ask(args: &Link, candidates: &Candidates, (pairs, model): (&Path, &Path), screen: &Screen) {
    let show = &candidates.set().columns.roles.ignore.join(",");
    let answers = beside(&args.output, "answers.jsonl");
    let mut again = format!("ordain link {} {} --id {}", args.left.display(), args.right.display(), args.id);
    args.block.iter().for_each(|rule| again += &format!(" --block {rule}"));
    args.compare.iter().for_each(|how| again += &format!(" --compare {how}"));
    again += if args.right_many { " --right-many" } else { "" };
    screen.say(&format!(
        "wrote {} and {}; nothing is known yet. Answer about 100 questions, then link by the answers:\n  \
         ordain ask {} {} --order random --show {show} -o {}\n  \
         {again} --known {} -o {}",
        pairs.display(),
        model.display(),
        model.display(),
        pairs.display(),
        answers.display(),
        answers.display(),
        args.output.display()
    ));
}

fn write_links(links: &[link::Link], path: &Path) -> Result<()> {
    Ok(write_rows(path, ["left", "right", "probability"].into_iter(), |row| {
        links.iter().try_for_each(|link| {
            let probability = format!("{:.6}", link.probability);
            let id = |id: &Option<String>| id.clone().unwrap_or_default();
            row(&mut [id(&link.left).as_str(), id(&link.right).as_str(), &probability].into_iter())
        })
    })?)
}

fn document(
    args: &Link,
    candidates: &Candidates,
    sizes: [usize; 2],
    done: Option<(&Fitted<Match>, &Known, &Vec<link::Link>)>,
) -> Value {
    let rules: Vec<Value> = candidates
        .found
        .iter()
        .map(|found| json!({"rule": found.rule, "pairs": found.pairs, "new": found.fresh}))
        .collect();
    let mut all = json!({
        "left": sizes[0], "right": sizes[1], "pairs": candidates.len(), "rules": rules,
        "comparisons": candidates.set().columns.names,
    });
    if let Some((fitted, known, links)) = done {
        let ((yes, no), (reached, _)) = (known.counts(), candidates.reached(known));
        let worth: Vec<Value> =
            candidates.worth(fitted).into_iter().map(|(name, worth)| json!({"name": name, "worth": worth})).collect();
        all["known"] = json!({"matched": yes, "unmatched": no, "reached": reached});
        all["worth"] = worth.into();
        all["links"] = links.iter().filter(|link| link.left.is_some() && link.right.is_some()).count().into();
        all["alone"] = json!({
            "left": links.iter().filter(|link| link.right.is_none()).count(),
            "right": links.iter().filter(|link| link.left.is_none()).count(),
        });
        all["output"] = args.output.display().to_string().into();
    }
    all
}

/// Everything that the report shows.
fn page(
    args: &Link,
    candidates: &Candidates,
    fitted: &Fitted<Match>,
    known: &Known,
    links: &[link::Link],
    screen: &Screen,
) -> Result<linkage::Page> {
    let calibration = followed(screen, |watch| candidates.calibration(known, watch))?;
    let mut counts = [[0usize; 20]; 2];
    for link in links.iter().filter(|link| !link.known) {
        let bin = ((link.probability * 20.0) as usize).min(19);
        counts[usize::from(link.left.is_none() || link.right.is_none())][bin] += 1;
    }
    let (reached, all) = candidates.reached(known);
    let open = |link: &&link::Link| link.left.is_some() && link.right.is_some() && !link.known;
    let (doubtful, sure) = (links.iter().filter(open), links.iter().rev().filter(open).take(1));
    Ok(linkage::Page {
        title: format!("Links of {} and {}", name(&args.left), name(&args.right)),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        version: env!("CARGO_PKG_VERSION").into(),
        pairs: candidates.len(),
        reached,
        known: all,
        rules: candidates.found.iter().map(|f| [f.rule.clone(), f.pairs.to_string(), f.fresh.to_string()]).collect(),
        worth: candidates.worth(fitted),
        counts,
        reliability: calibration.map(|all| Reliability::of(None, &all)),
        whys: doubtful.take(EXPLAINED).chain(sure).filter_map(|link| candidates.why(fitted, link)).collect(),
    })
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
