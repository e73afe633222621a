//! `ordain convert` of edges and points.

use crate::args::Convert;
use crate::plan::{self, Usage};
use crate::screen::Screen;
use anyhow::Result;
use ordain::data::{PointFeature, is_frames, read_matches, write_contexts, write_matches};
use serde_json::json;

pub(in crate::run) fn run(args: &Convert, screen: &Screen) -> Result<()> {
    let reading = plan::match_reading(&args.reading, &args.points)?;
    let output = args.output.display().to_string();
    let loud = screen.json && output != "-";
    if let ([input], None) = (args.input.as_slice(), &reading.pairs)
        && is_frames(input)
    {
        if reading.features.iter().any(|feature| *feature != PointFeature::ShapeContext) {
            let text = "--features: points of frames alone give shape-context; with --pairs FILE, which says which frames belong together, all features of their edges";
            return Err(Usage(text.into()).into());
        }
        let points = write_contexts(input, &args.output)?;
        if loud {
            screen.document(&json!({"rows": points, "output": output}))?;
        }
        screen.say(&format!(
            "wrote the shape contexts of {points} points to {output}; with --pairs FILE it would be edges"
        ));
        return Ok(());
    }
    let (mut set, _) = read_matches(std::slice::from_ref(&args.input), &reading)?;
    set.fill(reading.missing, &set.all());
    write_matches(&set, &args.output)?;
    if loud {
        screen.document(&json!({"rows": set.edges(), "units": set.len(), "output": output}))?;
    }
    screen.say(&format!("wrote {} edges of {} to {output}", set.edges(), super::problems(set.len())));
    Ok(())
}
