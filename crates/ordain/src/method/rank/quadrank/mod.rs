//! QuadRank: orders of items that queries share, with links between them.

mod choose;
mod documents;
mod items;
mod solve;
mod words;

use self::documents::Documents;
pub(in crate::method) use self::documents::{best_documents, named_documents};
use self::items::Shared;
pub(in crate::method) use self::items::find;
pub use self::words::{Core, Head};
use self::words::{DESIGNS, ORDERS, TIES, TRAINERS};
use crate::data::RankSet;
use crate::data::scale::Scale;
use crate::data::transform::Transform;
use crate::error::{Error, Result};
use crate::method::annotate::annotator::Trainer;
use crate::method::rank::lists::ListSettings;
use crate::method::rank::lists::Subset;
use crate::method::rank::rankmatch::PlaceDiscount;
use crate::method::rank::search::{Choices, Drawn, Learner, Problem, Solved, Start, lbfgs};
use crate::method::settings::{self, Common, name_of, one_of, serves};
use crate::method::{Choice, GivenOrder, PairCore, PairLinks, Positive, Quadratic, Rank, Ranker};
use crate::scorer::items::Items;
use crate::scorer::rows;
use crate::solver::run::Watch;
use crate::structure::ranking::{MOST_CORE, MOST_SUM};
use crate::surrogate::lists::{ListLoss, RightOrders};
use crate::surrogate::ranking::{PlaceDesign, Places, RankingCase, RankingTarget, RankingWork};
use crate::task::{About, Method, Setting, Training};
use crate::traits::{Risk, Scorer};
use serde_json::{Map, Value};

use std::sync::atomic::AtomicBool;

/// QuadRank: the score of an order has links between items, so that where one item stands changes where others should stand.
///
/// ```text
/// f(π) = Σ_i (w·x_i + b_item(i)) c(π_i) + Σ_{c in the core, i} g_ci D(π_c, π_i)
///
/// min over w, b, g:   λ/2·|w|² + λ_links/2·(|b|² + |g|²) + mean over queries of L
/// ```
///
/// \[QAP\] Eq. (2) with the scores of Eqs. (4) and (5), over lists of k head places and a tail, or over whole rankings (`places=all`, by margin).
/// L is minus the log-likelihood of the right
/// orders (exact, by L-BFGS), or the structured hinge of Eq. (1) (block-coordinate Frank-Wolfe to a certified gap; where several orders are right,
/// in rounds over the best of them, Eq. (8)).
///
/// By likelihood a query is put in the order of the expected worth of places, by margin in the order of the largest f: `order` says which.
///
/// The documents of queries are *items* that recur by name: labels, channels, products. The `core` is a few items whose places matter to
/// others. The design D says how: `distance` is |j − l|/k, so that a link above 0 drives two items apart and one below 0 draws them
/// together.
///
/// Or links are between documents, whatever their names: the set has features z of pairs ([`RankSet::with_pairs`]), `g_ci = v·z_ci`, and v is
/// learned beside w. The core of a query is then its m documents of the largest `w0·x`, where w0 is the fit of the same problem without links. It
/// is found first and stays, so that the problem in w and v is convex; the model keeps w0. Features of pairs are divided by their root mean square
/// over the training queries (not with `scale=none`). Documents are then no items: they have no biases.
///
/// ```
/// use ordain::{data::synthetic::Orders, method::QuadRank, solver::run::Watch, task::{Method, Model, Training}};
/// let set = Orders { lists: 60, ..Orders::default() }.make();
/// let method: ordain::method::RankMethod = "quadrank[places=3,scale=none,lambda=0.01]".parse()?;
/// let fitted = method.fit(&Training::new(&set, &set.all()), &Watch::NOBODY)?;
/// let said = fitted.model.predict(&fitted.model.prepare(&set)?, &[0], true)?.remove(0);
/// let placed = said.placed.expect("a model with links");
/// assert!(said.order.len() == 8 && placed.own.len() == 8 && placed.gap >= 0.0);
/// # Ok::<(), ordain::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct QuadRank {
    /// The items that are linked with all others.
    pub core: Core,
    /// What two places have to do with each other.
    pub design: PlaceDesign,
    /// The places that have an order.
    pub places: Head,
    /// What is minimised.
    pub trainer: Trainer,
    /// What a wrong order costs, of the margin; NDCG where nothing is said.
    pub loss: Option<ListLoss>,
    /// What is right among equal grades, of the likelihood: the mean, or the sum.
    pub ties: RightOrders,
    /// Which order is given; by likelihood the expected one, by margin the best one.
    pub order: Option<GivenOrder>,
    /// Strength of the ridge on weights.
    pub lambda: Choice<Positive>,
    /// Strength of the ridge on biases and links; that on weights where nothing is said.
    pub link_lambda: Option<Positive>,
    /// Transform of columns before they are scaled.
    pub transform: Transform,
    /// Scaling of the features.
    pub scale: Choice<Scale>,
    /// The most steps of one fit, of the margin passes over the lists.
    pub max_iter: usize,
    /// Where a fit stops: the norm of the gradient relative to the one at zero, of the margin the duality gap.
    pub tol: Positive,
}

impl Default for QuadRank {
    fn default() -> Self {
        Self {
            core: Core::Size(1),
            design: PlaceDesign::Distance,
            places: Head::Places(5),
            trainer: Trainer::Likelihood,
            loss: None,
            ties: RightOrders::Average,
            order: None,
            lambda: Choice::Auto,
            link_lambda: None,
            transform: Transform::Auto,
            scale: Choice::Auto,
            max_iter: 500,
            tol: Positive(1e-3),
        }
    }
}

/// λ if nothing can be chosen.
const LAMBDA: f64 = 0.01;
/// The λ that are tried on validation, from the strongest.
const PATH: [f64; 7] = [1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4];

/// What is learned from: lists with what is right of them.
pub(in crate::method) struct Cases {
    linked: Linked,
    places: Places,
    /// The lists; of links between documents those without a core.
    lists: Lists,
    seed: u64,
}

/// What links are between.
enum Linked {
    /// Items that queries share.
    Items(Shared),
    /// Documents with features of pairs.
    Documents(Documents),
}

/// Lists with what is right of them.
#[derive(Default)]
pub(in crate::method) struct Lists {
    likely: Vec<RankingCase>,
    /// What wins, of the margin; else empty.
    targets: Vec<RankingTarget>,
}

impl Lists {
    /// Lists by the grades of their documents and by their core.
    fn new<'a>(method: &QuadRank, places: &Places, lists: impl Iterator<Item = (&'a [f64], Vec<u32>)>) -> Result<Self> {
        let (mut made, mut work) = (Self::default(), RankingWork::default());
        for (grades, core) in lists {
            if method.trainer == Trainer::Margin {
                made.targets.extend(RankingTarget::new(grades, core.clone(), places, method.loss())?);
            }
            made.likely.push(RankingCase::new(grades, core, places, &mut work)?);
        }
        Ok(made)
    }
}

impl QuadRank {
    /// What head places are worth: `1/log2(1 + j)`.
    fn values(places: usize) -> Vec<f64> {
        let (discount, ties, subset) = (PlaceDiscount::Log, RightOrders::Average, Subset::Full);
        ListSettings { subset, places, discount, ties, draws: None }.place_values()
    }

    /// The places of lists.
    fn board(&self) -> Result<Places> {
        match self.places {
            Head::Places(k) => Places::new(&Self::values(k), self.design),
            Head::All => Places::whole(self.design),
        }
    }

    /// The head by which the core is chosen of items: at most as many places as can be summed over.
    fn first_places(&self) -> usize {
        if let Head::Places(k) = self.places { k.min(MOST_SUM) } else { MOST_SUM }
    }

    fn order(&self) -> GivenOrder {
        let likely = self.trainer == Trainer::Likelihood;
        self.order.unwrap_or(if likely { GivenOrder::Expected } else { GivenOrder::Best })
    }

    fn loss(&self) -> ListLoss {
        self.loss.unwrap_or(ListLoss::Ndcg)
    }

    /// The lists of some queries with what is right of them, and which of the queries teach something.
    fn cases(&self, data: &Training<'_, Rank>, units: Vec<u32>) -> Result<(Vec<u32>, Cases)> {
        let set = data.set;
        let places = self.board()?;
        let first = self.first_places();
        let design: Vec<f64> = {
            let places = Places::new(&Self::values(first), self.design)?;
            let design = places.of(usize::MAX).1;
            (0..=first).flat_map(|j| design.row(j).to_vec()).collect()
        };
        let grades = |q: u32| &set.grades[set.span(q as usize)];
        let target = |core: Vec<u32>, q: u32| RankingTarget::new(grades(q), core, &places, self.loss());
        let margin = self.trainer == Trainer::Margin;
        let mut kept = vec![];
        for q in units {
            if !margin || target(vec![], q)?.is_some() {
                kept.push(q);
            }
        }
        let linked = match set.shared_pairs() {
            Some(_) if self.core.is_empty() => Linked::Items(Shared::bare(set, &kept)),
            Some(pairs) => Linked::Documents(Documents::new(self, set, pairs, &kept)),
            None => Linked::Items(Shared::new(set, &kept, &self.core, first, &design)?),
        };
        let core = |n: usize| match &linked {
            Linked::Items(shared) => shared.index.inside(n).iter().map(|&(_, document)| document).collect(),
            Linked::Documents(_) => vec![],
        };
        let lists = Lists::new(self, &places, kept.iter().enumerate().map(|(n, &q)| (grades(q), core(n))))?;
        Ok((kept, Cases { linked, places, lists, seed: data.seed }))
    }
}

impl QuadRank {
    /// Fits lists at one λ by what gives their scores and links.
    fn solve_by<S: Scorer<Work = rows::Work>>(
        &self,
        scorer: S,
        lists: &Lists,
        problem: &Problem<Cases>,
        from: Start<()>,
        watch: &Watch,
    ) -> Result<Solved<()>> {
        let Cases { places, seed, .. } = &problem.drawn.examples;
        let (columns, lambda) = (problem.rows.dim(), problem.lambda);
        let about = solve::About { method: self, places, columns, lambda };
        match self.trainer {
            Trainer::Likelihood => {
                let mut risk = solve::Likelihood::new(scorer, &about, &lists.likely, watch.stop);
                self.descend(&mut risk, lambda, from, watch)
            }
            Trainer::Margin => solve::margin(scorer, &about, lists, *seed, watch),
        }
    }
}

impl Method<Rank> for QuadRank {
    fn name(&self) -> &'static str {
        "quadrank"
    }

    fn about(&self) -> About {
        About {
            good_for: "links between documents, and places known before",
            measured_on: "made-up orders",
            figures: &[("ndcg@3", 0.6990)],
        }
    }

    fn settings(&self) -> &'static [Setting] {
        Self::SETTINGS
    }

    fn get(&self, name: &str) -> Option<String> {
        match name {
            "core" => Some(self.core.to_string()),
            "design" => Some(name_of(&self.design, &DESIGNS).into()),
            "places" => Some(self.places.to_string()),
            "trainer" => Some(name_of(&self.trainer, &TRAINERS).into()),
            "loss" => self.loss.map(|loss| loss.to_string()),
            "ties" => Some(name_of(&self.ties, &TIES).into()),
            "order" => self.order.map(|order| name_of(&order, &ORDERS).into()),
            "link_lambda" => self.link_lambda.map(|lambda| lambda.get().to_string()),
            _ => settings::common(name, self.transform, &self.scale, &self.lambda, self.max_iter, self.tol),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let Self { transform, scale, lambda, max_iter, tol, .. } = self;
        if (Common { transform, scale, lambda, max_iter, tol }).set(name, value)? {
            return Ok(());
        }
        match name {
            "core" => self.core = value.parse()?,
            "design" => self.design = one_of("design", value, &DESIGNS)?,
            "places" => self.places = value.parse()?,
            "trainer" => self.trainer = one_of("trainer", value, &TRAINERS)?,
            "loss" => {
                let loss = settings::list_loss(value).map_err(|_| Error::Setting {
                    name: name.into(),
                    expected: "ndcg, p@K, mrr or wta (a loss has to be linear in the places, so that the worst order can be found)".into(),
                    found: value.into(),
                });
                self.loss = Some(loss?);
            }
            "ties" => self.ties = one_of("ties", value, &TIES)?,
            "order" => self.order = Some(one_of("order", value, &ORDERS)?),
            _ => {
                self.link_lambda = match settings::lambda(name, value)? {
                    Choice::Auto => None,
                    Choice::Set(lambda) => Some(lambda),
                }
            }
        }
        Ok(())
    }

    /// Refuses settings that do not go together.
    fn check(&self) -> Result<()> {
        settings::check(self.scale, self.max_iter)?;
        let wrong =
            |name: &str, expected: String, found: String| Err(Error::Setting { name: name.into(), expected, found });
        let likely = self.trainer == Trainer::Likelihood;
        let most = if likely { MOST_SUM } else { Places::MOST };
        let fits = if let Head::Places(k) = self.places { (1..=most).contains(&k) } else { !likely };
        if !fits {
            let why = if likely {
                " (the exact sum doubles its time with each place; trainer=margin takes more, or all)"
            } else {
                ", or all"
            };
            return wrong("places", format!("a number from 1 to {most}{why}"), self.places.to_string());
        }
        if self.places == Head::All && self.design == PlaceDesign::Head {
            return wrong(
                "design",
                "distance or product with places=all (all places are in the head)".into(),
                "head".into(),
            );
        }
        if self.core.len() > MOST_CORE {
            return wrong("core", format!("at most {MOST_CORE} items"), self.core.to_string());
        }
        let (margin, trainer) =
            (self.trainer == Trainer::Margin, format!("trainer={}", name_of(&self.trainer, &TRAINERS)));
        serves("loss", self.loss.is_some(), margin, "trainer=margin", &trainer)?;
        serves("order", self.order() == GivenOrder::Expected, !margin, "trainer=likelihood", &trainer)?;
        serves("ties", self.ties != RightOrders::Average, !margin, "trainer=likelihood", &trainer)?;
        if !matches!(self.ties, RightOrders::Average | RightOrders::Sum) {
            return wrong("ties", "average or sum".into(), format!("{:?}", self.ties));
        }
        match self.loss {
            Some(loss @ ListLoss::Precision(k)) if matches!(self.places, Head::Places(places) if k > places) => wrong(
                "loss",
                format!("p@K with K up to the {} head places (the tail has no order)", self.places),
                loss.to_string(),
            ),
            _ => Ok(()),
        }
    }

    fn chooses(&self) -> bool {
        self.choices().open() || self.core == Core::Auto
    }

    fn chooses_by(&self) -> crate::metric::Metric {
        crate::method::rank::CHOOSES_BY
    }

    fn resumes(&self) -> bool {
        self.trainer == Trainer::Likelihood && self.core != Core::Auto
    }

    fn takes_links(&self) -> bool {
        true
    }

    fn transform(&self) -> Transform {
        self.transform
    }

    fn written(&self) -> crate::task::Written {
        let (mut asked, mut settings) = (self.choices().asked(), self.used());
        if self.core == Core::Auto {
            asked.extend(settings.remove("core").map(|core| ("core".to_owned(), core)));
        }
        crate::task::Written { asked, settings }
    }

    fn learn(&self, data: &Training<'_, Rank>, watch: &Watch) -> Result<crate::task::Fitted<Rank>> {
        if self.core == Core::Auto {
            return choose::fit(self, data, watch);
        }
        crate::method::rank::search::fit(self, data, watch)
    }
}

impl Learner for QuadRank {
    type Examples = Cases;
    type Carry = ();

    fn choices(&self) -> Choices {
        Choices::new(self.scale, self.lambda, LAMBDA, &PATH)
    }

    fn draw(&self, data: &Training<'_, Rank>, units: &[u32]) -> Result<Drawn<Cases>> {
        let set = data.set;
        crate::method::rank::refuse_weights(set, "quadrank")?;
        let units: Vec<u32> = units.iter().copied().filter(|&q| !set.is_flat(q as usize)).collect();
        let (units, examples) = self.cases(data, units)?;
        if units.is_empty() {
            return Err(Error::Data {
                expected: "at least one training query with two different grades".into(),
                found: "none: there is nothing to put in order".into(),
            });
        }
        Ok(Drawn { count: units.len() as f64, units, examples, weights: None, kind: "list" })
    }

    /// The risk of the lists; of links between documents that of the first step, without links.
    fn risk<'a>(&self, problem: &Problem<'a, Cases>, stop: &'a AtomicBool) -> Box<dyn Risk + 'a> {
        let Cases { linked, places, lists, .. } = &problem.drawn.examples;
        let (columns, lambda) = (problem.rows.dim(), problem.lambda);
        let about = solve::About { method: self, places, columns, lambda };
        match linked {
            Linked::Items(shared) => {
                Box::new(solve::Likelihood::new(Items::new(problem.rows, &shared.index), &about, &lists.likely, stop))
            }
            Linked::Documents(_) => Box::new(solve::Likelihood::new(problem.rows.clone(), &about, &lists.likely, stop)),
        }
    }

    fn descend(&self, risk: &mut dyn Risk, lambda: f64, from: Start<()>, watch: &Watch) -> Result<Solved<()>> {
        lbfgs(risk, lambda, (self.tol.get(), self.max_iter), from, watch)
    }

    fn solve(&self, problem: &Problem<Cases>, from: Start<()>, watch: &Watch) -> Result<Solved<()>> {
        let Cases { linked, lists, .. } = &problem.drawn.examples;
        match linked {
            Linked::Items(shared) => {
                self.solve_by(Items::new(problem.rows, &shared.index), lists, problem, from, watch)
            }
            Linked::Documents(documents) => documents.solve(self, problem, from, watch),
        }
    }

    fn used(&self) -> Map<String, Value> {
        let link_lambda = self.link_lambda.map_or("lambda".into(), |lambda| lambda.get().into());
        let mut used = Map::from_iter([
            ("core".into(), self.core.to_string().into()),
            ("design".into(), name_of(&self.design, &DESIGNS).into()),
            ("places".into(), if let Head::Places(k) = self.places { k.into() } else { "all".into() }),
            ("trainer".into(), name_of(&self.trainer, &TRAINERS).into()),
            ("order".into(), name_of(&self.order(), &ORDERS).into()),
            ("link_lambda".into(), link_lambda),
            ("max_iter".into(), self.max_iter.into()),
            ("tol".into(), self.tol.get().into()),
        ]);
        match self.trainer {
            Trainer::Likelihood => used.insert("ties".into(), name_of(&self.ties, &TIES).into()),
            Trainer::Margin => used.insert("loss".into(), self.loss().to_string().into()),
        };
        used
    }

    fn places(&self) -> Vec<f64> {
        // a margin is no probability
        match self.places {
            Head::Places(k) if self.trainer == Trainer::Likelihood => Self::values(k),
            _ => vec![],
        }
    }

    fn dim(&self, columns: usize, cases: &Cases) -> usize {
        match &cases.linked {
            Linked::Items(shared) => columns + shared.index.dim(),
            Linked::Documents(documents) => columns + documents.dim(columns),
        }
    }

    fn quadratic(&self, theta: &mut Vec<f64>, cases: &Cases) -> Option<Quadratic> {
        let (places, order) = (cases.places.clone(), self.order());
        match &cases.linked {
            Linked::Items(Shared { names, index }) => {
                let mut biases = theta.split_off(theta.len() - index.dim());
                let links = biases.split_off(index.items);
                let (items, core) = (names.clone(), index.core.clone());
                Some(Quadratic { places, order, items, biases, core, links, pairs: None })
            }
            Linked::Documents(documents) => {
                // columns, features of pairs, and columns again where scores find the core
                let width = documents.names().len();
                let columns = (theta.len() - width) / (1 + usize::from(documents.by_score()));
                let mut weights = theta.split_off(columns);
                let first = weights.split_off(width);
                weights.iter_mut().zip(&documents.factors).for_each(|(v, factor)| *v *= factor);
                let core = match &self.core {
                    Core::Names(names) => PairCore::Named(names.clone()),
                    size => PairCore::Best { size: size.len(), weights: first },
                };
                let pairs = Some(PairLinks { names: documents.names().to_vec(), weights, core });
                Some(Quadratic { places, order, items: vec![], biases: vec![], core: vec![], links: vec![], pairs })
            }
        }
    }

    /// Items are found by name: other queries may have others.
    fn parameters(&self, ranker: &Ranker, cases: &Cases) -> Vec<f64> {
        let mut theta = ranker.score.weights().to_vec();
        let Some(old) = &ranker.quadratic else { return theta };
        let Shared { names, index } = match &cases.linked {
            Linked::Items(shared) => shared,
            Linked::Documents(documents) => {
                let none = (vec![0.0; documents.names().len()], theta.clone());
                let (weights, first) = old.pairs.as_ref().map_or(none, |pairs| match &pairs.core {
                    PairCore::Best { weights, .. } => (pairs.weights.clone(), weights.clone()),
                    PairCore::Named(_) => (pairs.weights.clone(), vec![]),
                });
                theta.extend(weights.iter().zip(&documents.factors).map(|(v, factor)| v / factor));
                theta.extend(first);
                return theta;
            }
        };
        let places: Vec<Option<usize>> = names.iter().map(|name| find(&old.items, name)).collect();
        theta.extend(places.iter().map(|place| place.map_or(0.0, |place| old.biases[place])));
        for &core in &index.core {
            let same = |c: &u32| old.items[*c as usize] == names[core as usize];
            let row = old.core.iter().position(same);
            let link = |place: &Option<usize>| {
                row.zip(*place).map_or(0.0, |(row, place)| old.links[row * old.items.len() + place])
            };
            theta.extend(places.iter().map(link));
        }
        theta
    }

    fn digest(&self, set: &RankSet) -> Result<String> {
        Ok(set.linked_digest())
    }
}
