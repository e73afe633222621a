//! `ordain predict`.

use super::{each_model, files};
use crate::args::Predict;
use crate::plan;
use crate::screen::Screen;
use crate::show::{Given, Show};
use anyhow::Result;
use ordain::data::Rules;
use ordain::task::Fitted;

pub(super) fn run(args: &Predict, screen: &Screen) -> Result<()> {
    let model = super::open_model(&args.model, &args.reading)?;
    each_model!(model, fitted => predict(fitted, args, screen))
}

fn predict<T: Show>(mut fitted: Fitted<T>, args: &Predict, screen: &Screen) -> Result<()> {
    plan::check_predict(args, T::WORDS)?;
    T::operate(&mut fitted.model, &args.into(), screen)?;
    T::check_predict(&fitted.model, args)?;
    super::warn_interrupted(&fitted.facts.report, &args.model, screen);
    let rules = args.rules.as_deref().map(Rules::read).transpose()?;
    let given = Given {
        pins: args.pin.as_deref(),
        gram: args.gram.as_deref(),
        links: args.links.as_deref(),
        start: args.start.as_deref(),
        rules: rules.as_ref(),
        ..Given::new(&args.reading, &args.columns, &args.points)
    };
    let ready = files::read_for(&fitted, std::slice::from_ref(&args.data), &given, screen)?;
    files::say_left(&ready, std::slice::from_ref(&args.data), screen);
    screen.data(&T::predicted(&fitted.model, &ready, (args, &given), screen)?)
}
