//! `ordain convert`.

use super::{check_not_input, check_output, matches, read_all, tags};
use crate::args::Convert;
use crate::plan;
use crate::screen::Screen;
use anyhow::Result;
use ordain::data;
use serde_json::json;

pub(super) fn run(args: &Convert, screen: &Screen) -> Result<()> {
    let missing = plan::missing(&args.reading);
    check_output(&args.output)?;
    check_not_input(&args.output, std::iter::once(&args.input).chain(&args.points.pairs))?;
    if matches::are_problems(&args.input, &args.reading) {
        return matches::convert::run(args, screen);
    }
    plan::no_points(&args.points)?;
    if tags::are_items(&args.input, &args.reading) {
        return tags::convert::run(args, screen);
    }
    let mut set = read_all(std::slice::from_ref(&args.input), missing)?;
    set.fill(missing, &set.all());
    data::write(&set, &args.output)?;
    if screen.json && args.output.as_os_str() != "-" {
        screen
            .document(&json!({"rows": set.rows(), "units": set.len(), "output": args.output.display().to_string()}))?;
    }
    screen.say(&format!("wrote {} documents of {} queries to {}", set.rows(), set.len(), args.output.display()));
    Ok(())
}
