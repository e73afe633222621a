//! `ordain convert` of items with labels.

use crate::args::Convert;
use crate::plan;
use crate::screen::Screen;
use anyhow::Result;
use ordain::data::{read_labels, side_file, write_labels};
use serde_json::json;

pub(in crate::run) fn run(args: &Convert, screen: &Screen) -> Result<()> {
    let reading = plan::tag_reading(&args.reading);
    let (mut set, _) = read_labels(std::slice::from_ref(&args.input), &reading)?;
    super::warn_of_labels(&set, reading.labels.as_deref(), &super::files(&args.input), screen);
    set.fill(reading.missing, &set.all());
    write_labels(&set, &args.output)?;
    let output = args.output.display().to_string();
    if screen.json && output != "-" {
        screen
            .document(&json!({"rows": set.len(), "units": set.len(), "labels": set.labels.len(), "output": output}))?;
    }
    let side = side_file(&set, &args.output);
    let beside = side.as_ref().map_or(String::new(), |file| format!(", the names of the labels to {}", file.display()));
    screen.say(&format!("wrote {} items with {} labels to {output}{beside}", set.len(), set.labels.len()));
    let plain = output.trim_end_matches(".gz").trim_end_matches(".zst");
    if plain.ends_with(".arff") && set.has_items() {
        screen
            .say("warning: ARFF has no place for the ids of items: they are left out (.csv, .tsv and .txt keep them)");
    }
    let table = [".csv", ".tsv"].iter().any(|end| plain.ends_with(end));
    if table && set.labelled && !set.labels.is_empty() {
        let few = set.labels.len() <= 20 && !set.labels.iter().any(|name| name.contains([',', '"', '\'', ' ']));
        let names = if few { set.labels.join(",") } else { "NAMES, the last columns".into() };
        screen.say(&format!("read it with --labels {names}"));
    }
    Ok(())
}
