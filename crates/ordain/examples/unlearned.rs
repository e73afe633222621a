//! How many points are matched wrongly where nothing is learned: the least sum of the features, with equal weights, on test pairs.
//!
//! `cargo run --release -p ordain --example unlearned -- points.csv pairs.csv [FEATURES]`, with FEATURES as in `--features` of the
//! command line. The right side of every pair is shuffled, so that ties (counts are integers) are not broken in favour of the truth.
#![allow(clippy::print_stdout)] // an example shows what it does

use ordain::data::{MatchReading, PointFeature, Split, read_match_splits};
use ordain::method::Matcher;
use ordain::metric::Convention;
use ordain::task::Model;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [points, pairs, features @ ..] = &words[..] else {
        return Err("usage: unlearned <points> <pairs> [<features>]".into());
    };
    let features = features.first().map_or(Ok(vec![]), |text| PointFeature::list(text))?;
    let reading =
        MatchReading { features, pairs: Some(pairs.into()), only: vec![Split::Test], ..MatchReading::default() };
    let (set, _) = read_match_splits(&[points.into()], &reading)?;
    let matcher = Matcher::unlearned(&set, vec![-1.0; set.columns.names.len()]);
    let ready = matcher.prepare(&set)?;
    let result = matcher.evaluate(&ready, &set.all(), &["hamming".parse()?], &Convention::STANDARD)?;
    println!("{:.4}", result.mean(0));
    Ok(())
}
