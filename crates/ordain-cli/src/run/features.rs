//! `ordain features`: tables of numbers from pictures, frames and tensors.

use super::{check_not_input, check_output, find_pictures, followed};
use crate::args::Features;
use crate::plan::Usage;
use crate::screen::Screen;
use anyhow::Result;
use ordain::Interrupt;
use ordain::data::pictures::{self, Collection, Kept, PictureTable, Tensors};
use ordain::picture::Recipe;
use ordain::picture::tensor::Reduction;
use serde_json::json;
use std::sync::atomic::Ordering;

pub(super) fn run(args: &Features, screen: &Screen) -> Result<()> {
    check_output(&args.output)?;
    check_not_input(&args.output, args.input.iter().chain(&args.learned))?;
    if let Some(keep) = &args.keep {
        check_output(keep)?;
    }
    let stop = Interrupt::when(|| crate::INTERRUPTED.load(Ordering::SeqCst));
    let (table, kept) = match (&args.learned, &args.tensor) {
        (Some(path), _) => match Kept::read(path)? {
            Kept::Pictures(learned) => {
                let found = found(args, false, screen)?;
                let table = followed(screen, |watch| {
                    pictures::describe(&learned, &found.found, &stop, &|share| (watch.tell)(share, "pictures"))
                })?;
                (table, None)
            }
            Kept::Tensors(reduction) => (tensors(args, screen)?.reduced(&reduction)?, None),
        },
        (None, Some(ranks)) => {
            let ranks = sizes(ranks)?;
            let tensors = tensors(args, screen)?;
            let reduction = Reduction::learn(&tensors.values, &tensors.sizes, &ranks, &stop)?;
            let total: f64 = tensors.values.iter().map(|x| x * x).sum();
            screen.say(&format!(
                "{} of {} numbers each, reduced to {}: {:.1} % of the sum of squares is kept",
                tensors.rows.len(),
                args_of(reduction.sizes()),
                args_of(reduction.ranks()),
                100.0 * (1.0 - reduction.error() / total.max(f64::MIN_POSITIVE))
            ));
            (tensors.reduced(&reduction)?, Some(Kept::Tensors(reduction)))
        }
        (None, None) => pictures_of(args, &stop, screen)?,
    };
    if let (Some(path), Some(kept)) = (&args.keep, &kept) {
        kept.write(path)?;
    }
    table.write(&args.output)?;
    let output = args.output.display().to_string();
    if screen.json && output != "-" {
        screen.answer(&json!({ "rows": table.rows.len(), "features": table.names.len(), "output": output }))?;
    }
    let learned = matches!(kept, Some(Kept::Tensors(_))) || args.fisher.is_some();
    screen.say(&format!("wrote {} rows of {} features to {output}", table.rows.len(), table.names.len()));
    if learned && args.keep.is_none() {
        screen.say(
            "what was learned saw all of these rows: to test honestly, learn on the training part with --keep FILE, and describe the test part with --learned FILE",
        );
    }
    Ok(())
}

/// The features of pictures, learned first where they have to be.
fn pictures_of(args: &Features, stop: &Interrupt, screen: &Screen) -> Result<(PictureTable, Option<Kept>)> {
    let recipe = Recipe {
        colour: args.colour.unwrap_or(0),
        layout: args.layout,
        edges: args.edges.unwrap_or(0),
        gradients: args.gradients.unwrap_or(0),
        shape: args.shape,
        fisher: args.fisher.unwrap_or(0),
        grid: args.grid.unwrap_or(1),
        shares: args.shares,
    };
    recipe.check().map_err(|error| Usage(format!("{error} (see ordain features --help)")))?;
    let found = found(args, false, screen)?;
    let (learned, table) = followed(screen, |watch| -> Result<_> {
        (watch.tell)(0.0, "learning");
        let learned = pictures::learn(recipe, &found.found, args.seed, stop)?;
        let table = pictures::describe(&learned, &found.found, stop, &|share| (watch.tell)(share, "pictures"))?;
        Ok((learned, table))
    })?;
    Ok((table, Some(Kept::Pictures(learned))))
}

fn found(args: &Features, frames: bool, screen: &Screen) -> Result<Collection> {
    find_pictures(&args.input, frames, screen)
}

fn tensors(args: &Features, screen: &Screen) -> Result<Tensors> {
    match args.input.as_slice() {
        [one] if one.extension().is_some_and(|e| e == "npy") => Ok(Tensors::from_npy(one)?),
        _ => Ok(Tensors::from_frames(&found(args, true, screen)?.found, args.side as usize)?),
    }
}

/// `5x5x4` as numbers.
fn sizes(text: &str) -> Result<Vec<usize>> {
    let sizes: Result<Vec<usize>, _> = text.split('x').map(str::parse).collect();
    sizes.map_err(|_| Usage(format!("--tensor: expected sizes such as 5x5x4, found {text:?}")).into())
}

fn args_of(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}
