//! `ordain convert --queries`: queries made of items.

use super::{convert::written, files};
use crate::args::{Convert, Items, RowsArg};
use crate::plan::{self, Usage};
use crate::screen::Screen;
use anyhow::Result;
use ordain::data::{ItemQueries, ItemRows, LabelReading, Retrieval, read_labels};
use ordain::method::{Annotate, Rank};

pub(in crate::run) fn run(args: &Convert, what: &str, screen: &Screen) -> Result<()> {
    let (queries, category) = asked(what)?;
    if category.is_some() && args.reading.labels.is_some() {
        return Err(Usage(format!("--queries {what} has its categories in a column: leave out --labels")).into());
    }
    let reading = LabelReading { category, ..plan::label_reading(&args.reading, &args.columns)? };
    let (mut set, _) = read_labels(std::slice::from_ref(&args.input), &reading)?;
    files::need_truth::<Annotate>(&set, &args.input)?;
    screen.allow_data()?;
    set.fill(reading.missing, &set.all());
    let made = retrieval(queries, &args.items)
        .make(&set)
        .map_err(|error| anyhow::Error::from(error).context(files::named(&args.input)))?;
    written::<Rank>(&made, &args.output, screen)
}

/// What asks, and the column of categories.
fn asked(what: &str) -> Result<(ItemQueries, Option<String>)> {
    let (kind, column) = what.split_once('=').map_or((what, None), |(kind, column)| (kind, Some(column.to_owned())));
    match (kind, column) {
        ("category", Some(column)) if !column.is_empty() => Ok((ItemQueries::Labels, Some(column))),
        ("image", Some(column)) if !column.is_empty() => Ok((ItemQueries::Items, Some(column))),
        ("labels", None) => Ok((ItemQueries::Labels, None)),
        ("image", None) => Ok((ItemQueries::Items, None)),
        _ => {
            let text = format!("--queries: expected category=COLUMN, labels, image=COLUMN or image; found {what:?}");
            Err(Usage(text).into())
        }
    }
}

fn retrieval(queries: ItemQueries, items: &Items) -> Retrieval {
    let number = |n: Option<u32>| n.map(|n| n as usize);
    Retrieval {
        queries,
        rows: match items.rows {
            RowsArg::All => ItemRows::All,
            RowsArg::Even => ItemRows::Even,
            RowsArg::Odd => ItemRows::Odd,
        },
        per_label: number(items.per_category),
        commonest: number(items.commonest),
        at_most: number(items.at_most),
        among_first: number(items.among_first),
    }
}
