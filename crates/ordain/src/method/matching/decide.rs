//! Who is matched with whom: by the best sum of scores, or by the probabilities of edges; and how precise matches of a probability are.

use crate::error::{Error, Result};
use crate::method::Choice;
use crate::method::matching::crossed::apart;
use crate::method::matching::matcher::{MatchNotes, MatchPrediction, Matcher, evaluate_said};
use crate::method::matching::precision::Precision;
use crate::method::matching::search::{Learner, Search, chooses_by};
use crate::method::settings::{name_of, shown};
use crate::task::Setting;
use serde::{Deserialize, Serialize};

/// What the matching of a problem is best for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchDecide {
    /// The largest sum of scores: the likeliest matching.
    #[default]
    Map,
    /// The smallest expected Hamming loss: the largest sum of marginals, each less the probability that its item of the lesser side
    /// stays unmatched ([`likely::worth`](crate::structure::matching::likely::worth)).
    Marginals,
}

/// Every way to decide, by name.
const DECIDES: [(&str, MatchDecide); 2] = [("map", MatchDecide::Map), ("marginals", MatchDecide::Marginals)];

/// `decide`, as matchers have it.
pub(in crate::method) const DECIDE: Setting = Setting {
    name: "decide",
    range: "auto, map, marginals",
    default: "auto",
    help: "which matching is predicted: map, the likeliest (the best sum of scores); marginals, the one with the most items that are expected to be matched rightly (the best sum of the probabilities of edges, each less that of its item to stay unmatched); auto: marginals where problems that the fit has not seen are matched better by it, by more than one paired standard error, else map",
};

/// With fewer problems than this the spread of a difference is not known.
const FEW: usize = 5;

impl MatchDecide {
    /// The name in settings.
    pub fn name(self) -> &'static str {
        name_of(&self, &DECIDES)
    }
}

impl std::str::FromStr for MatchDecide {
    type Err = Error;

    /// ```
    /// use ordain::method::MatchDecide;
    /// assert_eq!("marginals".parse::<MatchDecide>().unwrap(), MatchDecide::Marginals);
    /// assert!("marginal".parse::<MatchDecide>().is_err());
    /// ```
    fn from_str(name: &str) -> Result<Self> {
        crate::method::settings::one_of("decide", name, &DECIDES)
    }
}

/// The setting as it is typed.
pub(super) fn typed(value: &str) -> Result<Choice<MatchDecide>> {
    if value == "auto" {
        return Ok(Choice::Auto);
    }
    let known = || DECIDES.iter().map(|(name, _)| *name).chain(["auto"]);
    value.parse().map(Choice::Set).map_err(|_| Error::unknown("decide", value, known()))
}

/// The setting as text.
pub(super) fn written(decide: Choice<MatchDecide>) -> String {
    shown(&decide, |decide| decide.name().into())
}

/// What both decisions are worth on problems that the fit has not seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecideNotes {
    /// The metric that they were compared by, over the items of all these problems.
    pub metric: String,
    /// On how many problems.
    pub problems: usize,
    /// Its value under `map`.
    pub map: f64,
    /// Its value under `marginals`.
    pub marginals: f64,
    /// The paired standard error of the difference.
    pub error: f64,
}

/// What fits say of problems that they have not seen.
pub(super) struct Unseen {
    pub(super) units: Vec<u32>,
    /// The score of every edge of each of them.
    pub(super) scores: Vec<Vec<f64>>,
    /// The null and the temperature that go with these scores.
    pub(super) null: Option<f64>,
    pub(super) temperature: Option<f64>,
}

/// Gives a fitted matcher its decision, and what is known of the precision of its matches.
///
/// The two decisions are compared on problems that no fit has seen, by the metric of the choice (that of the method, where that one is of
/// probabilities). `marginals` is taken if it is better by more than the paired standard error of the difference over problems. Without
/// such problems, with fewer than [`FEW`] of them, without probabilities, or if somebody stops the fit it is `map`.
pub(super) fn settle<L: Learner>(
    search: &Search<'_, L>,
    matcher: &mut Matcher,
    notes: &mut MatchNotes,
    unseen: Option<&Unseen>,
) -> Result<()> {
    let asked = search.choices.decide;
    if let Choice::Set(decide) = asked {
        matcher.decide = decide;
    }
    let some = |unseen: &&Unseen| unseen.temperature.is_some() && !unseen.units.is_empty();
    let Some(unseen) = unseen.filter(some).filter(|_| !search.watch.stopped()) else { return Ok(()) };
    let set = search.data.set;
    let said = |decide: MatchDecide| {
        let matcher = Matcher { null: unseen.null, temperature: unseen.temperature, decide, ..matcher.clone() };
        matcher.said_of(set, &unseen.units, &unseen.scores)
    };
    let mut taken = said(matcher.decide)?;
    if asked == Choice::Auto && unseen.units.len() >= FEW {
        let by = if search.by.of_probabilities() { chooses_by(search.learner.null()) } else { search.by };
        let other = said(MatchDecide::Marginals)?;
        let measure = |said: &[MatchPrediction]| evaluate_said(set, &unseen.units, said, &[by]);
        let (map, marginals) = (measure(&taken)?, measure(&other)?);
        let error = apart(&map.ratios(0), &marginals.ratios(0));
        let (map, marginals) = (map.together(0), marginals.together(0));
        let gain = if by.is_loss() { map - marginals } else { marginals - map };
        if gain > error {
            matcher.decide = MatchDecide::Marginals;
            taken = other;
        }
        let (metric, problems) = (by.to_string(), unseen.units.len());
        notes.decisions = Some(DecideNotes { metric, problems, map, marginals, error });
    }
    let known = unseen.units.iter().zip(&taken).flat_map(|(&p, said)| {
        let truth = &set.problem(p as usize).truth;
        said.matches.iter().filter_map(|m| Some((m.probability?, truth[m.edge as usize])))
    });
    matcher.precision = Precision::learn(known);
    Ok(())
}
