//! `ordain predict` with a model that matches.

use super::{read_for, sums, warn_approximate};
use crate::args::Predict;
use crate::plan::Usage;
use crate::screen::Screen;
use anyhow::Result;
use ordain::data::MatchSet;
use ordain::method::{FittedMatch, Match, MatchPrediction};
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(in crate::run) fn run(model: &FittedMatch, args: &Predict, screen: &Screen) -> Result<()> {
    let matcher = &model.matcher;
    if args.run.is_some() {
        return Err(
            Usage("--run is for models that rank; this one matches: use --top K, --check N or --json".into()).into()
        );
    }
    if args.probabilities && matcher.temperature.is_none() {
        return Err(Usage(
            "--probabilities: this model was fitted with calibrate=false, and has none; fit it with calibrate=true"
                .into(),
        )
        .into());
    }
    let data = std::slice::from_ref(&args.data);
    let set = read_for(matcher, data, &args.points, &[], screen)?;
    let all = matcher.predict(&set, &set.all())?;
    warn_approximate(&sums(&all), screen);
    let said = Said { set: &set, all: &all, null: matcher.null };
    screen.data(&match (args.check, args.top) {
        (Some(n), _) => said.doubtful(n as usize, screen.json)?,
        (None, Some(k)) if !screen.json => said.candidates(k as usize)?,
        (None, _) if !screen.json => said.matches()?,
        (None, top) => (0..set.len()).map(|p| format!("{}\n", said.document(p, top))).collect(),
    })
}

/// A probability, or nothing where there is none.
fn chance(p: Option<f64>) -> String {
    p.map_or(String::new(), |p| format!("{p:.6}"))
}

/// One way of a left item: its partner, its score and probability, and whether it is what the model says.
struct Candidate {
    right: Option<usize>,
    score: Option<f64>,
    probability: Option<f64>,
    matched: bool,
}

/// What a model says of all problems.
struct Said<'a> {
    set: &'a MatchSet,
    all: &'a [MatchPrediction],
    null: Option<f64>,
}

impl Said<'_> {
    fn ends(&self, p: usize, m: &Match) -> (&str, &str) {
        let problem = self.set.problem(p);
        let (i, j) = problem.edges[m.edge as usize];
        (&problem.left[i as usize], &problem.right[j as usize])
    }

    /// The matches, and below those of a problem its unmatched items.
    fn matches(&self) -> Result<String> {
        let mut text = "problem\tleft\tright\tscore\tprobability\tcheck\n".to_owned();
        for (p, said) in self.all.iter().enumerate() {
            let problem = self.set.problem(p);
            for m in &said.matches {
                let (left, right) = self.ends(p, m);
                writeln!(
                    text,
                    "{}\t{left}\t{right}\t{}\t{}\t{}",
                    problem.name,
                    m.score,
                    chance(m.probability),
                    m.check
                )?;
            }
            for &i in &said.left {
                let free = chance(said.unmatched(problem, false, i as usize));
                writeln!(text, "{}\t{}\t\t\t{free}\t", problem.name, problem.left[i as usize])?;
            }
            for &j in &said.right {
                let free = chance(said.unmatched(problem, true, j as usize));
                writeln!(text, "{}\t\t{}\t\t{free}\t", problem.name, problem.right[j as usize])?;
            }
        }
        Ok(text)
    }

    /// The best candidates of a left item, and with nulls staying unmatched; by probability, else by score.
    fn of_left(&self, p: usize, left: usize, k: usize) -> Vec<Candidate> {
        let (problem, said) = (self.set.problem(p), &self.all[p]);
        let partner = said.matches.iter().map(|m| m.edge as usize).find(|&e| problem.edges[e].0 as usize == left);
        let mut all: Vec<Candidate> = problem
            .candidates(left)
            .map(|e| Candidate {
                right: Some(problem.edges[e].1 as usize),
                score: Some(said.scores[e]),
                probability: said.probabilities.as_ref().map(|all| all[e]),
                matched: partner == Some(e),
            })
            .collect();
        all.extend(self.null.map(|null| Candidate {
            right: None,
            score: Some(null),
            probability: said.unmatched(problem, false, left),
            matched: said.left.contains(&(left as u32)),
        }));
        let worth = |c: &Candidate| (c.probability.unwrap_or(0.0), c.score.unwrap_or(f64::NEG_INFINITY));
        all.sort_by(|a, b| {
            let (a, b) = (worth(a), worth(b));
            b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        all.truncate(k);
        all
    }

    fn candidates(&self, k: usize) -> Result<String> {
        let mut text = "problem\tleft\tright\tscore\tprobability\tmatched\n".to_owned();
        for p in 0..self.all.len() {
            let problem = self.set.problem(p);
            for (i, left) in problem.left.iter().enumerate() {
                for c in self.of_left(p, i, k) {
                    let right = c.right.map_or("", |j| &problem.right[j]);
                    let score = c.score.map_or(String::new(), |score| score.to_string());
                    let (free, matched) = (chance(c.probability), u8::from(c.matched));
                    writeln!(text, "{}\t{left}\t{right}\t{score}\t{free}\t{matched}", problem.name)?;
                }
            }
        }
        Ok(text)
    }

    /// The most doubtful matches of all problems.
    fn doubtful(&self, n: usize, json: bool) -> Result<String> {
        let mut all: Vec<(usize, &Match)> =
            self.all.iter().enumerate().flat_map(|(p, said)| said.matches.iter().map(move |m| (p, m))).collect();
        // as within a problem: the least likely first, of equals the one that costs least to give up
        all.sort_by(|(p, a), (q, b)| {
            let sure = |m: &Match| m.probability.unwrap_or(0.0);
            sure(a).total_cmp(&sure(b)).then(a.margin.total_cmp(&b.margin)).then((p, a.edge).cmp(&(q, b.edge)))
        });
        let mut text =
            if json { String::new() } else { "check\tproblem\tleft\tright\tscore\tprobability\tmargin\n".into() };
        for (check, (p, m)) in all.into_iter().take(n).enumerate() {
            let (name, (left, right)) = (&self.set.problem(p).name, self.ends(p, m));
            if json {
                let mut one = json!({"problem": name});
                extend(&mut one, self.one(p, m));
                one["check"] = (check + 1).into();
                writeln!(text, "{one}")?;
            } else {
                let margin = if m.margin.is_finite() { m.margin.to_string() } else { String::new() };
                let sure = chance(m.probability);
                writeln!(text, "{}\t{name}\t{left}\t{right}\t{}\t{sure}\t{margin}", check + 1, m.score)?;
            }
        }
        Ok(text)
    }

    fn one(&self, p: usize, m: &Match) -> Value {
        let (left, right) = self.ends(p, m);
        let margin = m.margin.is_finite().then_some(m.margin);
        json!({"left": left, "right": right, "score": m.score, "probability": m.probability, "margin": margin, "check": m.check})
    }

    fn document(&self, p: usize, top: Option<u32>) -> Value {
        let (problem, said) = (self.set.problem(p), &self.all[p]);
        let names =
            |list: &[u32], names: &[String]| list.iter().map(|&i| names[i as usize].clone()).collect::<Vec<_>>();
        let mut document = json!({
            "problem": problem.name,
            "matches": said.matches.iter().map(|m| self.one(p, m)).collect::<Vec<_>>(),
            "unmatched": {"left": names(&said.left, &problem.left), "right": names(&said.right, &problem.right)},
            "marginals": said.sum.as_ref().map(|sum| {
                let all = sums(std::slice::from_ref(said));
                json!({"by": sum.by.name(), "accuracy": all.accuracy(), "error": all.error()})
            }),
        });
        if let Some(k) = top {
            let of = |(i, left): (usize, &String)| {
                let list = self.of_left(p, i, k as usize).into_iter().map(|c| {
                    json!({"right": c.right.map(|j| &problem.right[j]), "score": c.score, "probability": c.probability,
                           "matched": c.matched})
                });
                json!({"left": left, "candidates": list.collect::<Vec<_>>()})
            };
            document["candidates"] = problem.left.iter().enumerate().map(of).collect();
        }
        document
    }
}

fn extend(one: &mut Value, more: Value) {
    if let (Value::Object(one), Value::Object(more)) = (one, more) {
        one.extend(more);
    }
}
