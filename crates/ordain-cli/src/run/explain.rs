//! `ordain explain`.

use super::{each_model, files};
use crate::args::{Columns, Explain};
use crate::plan;
use crate::screen::Screen;
use crate::show::{Given, Show};
use anyhow::Result;
use ordain::answer::Ask;
use ordain::task::{DataSet, Fitted};

pub(super) fn run(args: &Explain, screen: &Screen) -> Result<()> {
    let model = super::open_model(&args.model, &args.reading)?;
    each_model!(model, fitted => explain(&fitted, args, screen))
}

fn explain<T: Show>(fitted: &Fitted<T>, args: &Explain, screen: &Screen) -> Result<()> {
    plan::check_explain(args, T::WORDS)?;
    let columns = Columns::default();
    let given = Given {
        gram: args.gram.as_deref(),
        links: args.links.as_deref(),
        start: args.start.as_deref(),
        ..Given::new(&args.reading, &columns, &args.points)
    };
    let ready = files::read_for(fitted, std::slice::from_ref(&args.data), &given, screen)?;
    if args.query.is_none() && ready.set().len() != 1 {
        plan::explained(None)?;
    }
    let ask = Ask {
        unit: args.query.as_deref(),
        left: args.left.as_deref(),
        above: args.above.as_deref(),
        below: args.below.as_deref(),
    };
    let why = T::explain(&fitted.model, &ready, &ask)?;
    T::warn_of_explanation(&why, screen);
    if screen.json {
        return screen.answer(&why);
    }
    screen.data(&T::explained(&why, fitted, screen)?)
}
