//! `ordain convert`.

use super::{check_not_input, check_output, matches, read_all, tags};
use crate::args::Convert;
use crate::plan;
use crate::screen::Screen;
use anyhow::Result;
use ordain::data::{self, RankSet};
use serde_json::json;
use std::path::Path;

pub(super) fn run(args: &Convert, screen: &Screen) -> Result<()> {
    let missing = plan::missing(&args.reading);
    check_output(&args.output)?;
    check_not_input(&args.output, args.input.iter().chain(&args.points.pairs))?;
    if let Some(what) = &args.items.queries {
        plan::no_points(&args.points)?;
        return tags::queries::run(args, what, screen);
    }
    if args.input.iter().any(|path| matches::are_problems(path, &args.reading)) {
        return matches::convert::run(args, screen);
    }
    plan::no_points(&args.points)?;
    if args.input.iter().any(|path| tags::are_items(path, &args.reading)) {
        return tags::convert::run(args, screen);
    }
    let mut set = read_all(&args.input, missing)?;
    set.fill(missing, &set.all());
    written(&set, &args.output, screen)
}

/// Writes queries, and says so.
pub(super) fn written(set: &RankSet, output: &Path, screen: &Screen) -> Result<()> {
    data::write(set, output)?;
    let name = output.display().to_string();
    if screen.json && name != "-" {
        screen.document(&json!({"rows": set.rows(), "units": set.len(), "output": name}))?;
    }
    screen.say(&format!("wrote {} documents of {} queries to {name}", set.rows(), set.len()));
    Ok(())
}
