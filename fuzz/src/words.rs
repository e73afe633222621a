//! Damaged words: methods with settings, metrics and conventions as they are typed.

use super::mutate;
use super::suite::{Check, Suite, damage, ensure, refused};
use ordain::method::AnyMethod;
use ordain::metric::{Convention, Metric};
use std::fmt::Display;
use std::str::FromStr;

/// Damages words that are read into something that says what it is.
fn words<T: FromStr<Err = ordain::Error> + Display + PartialEq>(
    suite: &mut Suite,
    inputs: usize,
    seed: u64,
    seeds: &[&str],
    judge: impl Fn(&str, &T) -> Check,
) {
    let mut random = damage(seed);
    let (mut turn, mut tried) = (0, 0);
    while tried < inputs {
        let (text, told) = mutate::text(seeds[turn % seeds.len()].as_bytes(), &mut random);
        turn += 1;
        let Ok(text) = String::from_utf8(text) else { continue }; // words are UTF-8
        tried += 1;
        suite.run(&format!("{turn} ({told})"), text.as_bytes(), || match text.parse::<T>() {
            Err(error) => {
                refused();
                let said = error.to_string();
                ensure!(!said.is_empty() && said.len() < 4000, "an error without words", "{} bytes", said.len());
                Ok(())
            }
            Ok(taken) => {
                let again = taken.to_string().parse::<T>();
                ensure!(again.is_ok_and(|again| again == taken), "another one by its own words", "{taken}");
                judge(&text, &taken)
            }
        });
    }
}

/// The settings of a method as they are typed: its name, and each name with its value.
fn settings(text: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let text = text.trim_ascii();
    let Some((name, rest)) = text.split_once('[') else { return Some((text, vec![])) };
    let inside = rest.strip_suffix(']')?;
    let pairs = inside.split(',').map(str::trim_ascii).filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').map(|(key, value)| (key.trim_ascii(), value.trim_ascii())));
    Some((name.trim_ascii(), pairs.collect::<Option<Vec<_>>>()?))
}

/// Methods: one that is taken has the name that was typed, and every value that was typed is its own.
pub(crate) fn damaged_methods(suite: &mut Suite, inputs: usize) {
    let seeds = [
        "ranksvm[lambda=1,scale=query]",
        "rankmatch[places=5,lambda=auto]",
        "quadrank[places=2,core=2,scale=query,lambda=0.1]",
        "cstar[trainer=margin,loss=p@3]",
        "matchmap[null=true,lambda=0.5]",
        "ranksvm[kernel=rbf,gamma=0.5,documents=100]",
        "ranksvm",
    ];
    words::<AnyMethod>(suite, inputs, 800, &seeds, |text, method| {
        let Some((name, typed)) = settings(text) else {
            return Err(("what is wrong was taken".into(), format!("as {method}")));
        };
        let said = method.to_string();
        let Some((own, kept)) = settings(&said) else { return Err(("no method".into(), said.clone())) };
        ensure!(own == name, "another method", "{said}");
        for (at, &(key, value)) in typed.iter().enumerate() {
            // what is typed twice counts as it was typed last
            if typed[at + 1..].iter().any(|(later, _)| *later == key) {
                continue;
            }
            // what is left out of its words is as usual: typed or not, it is the same method
            let Some((_, kept)) = kept.iter().find(|(own, _)| *own == key) else {
                let bare = format!("{own}[{key}={value}]").parse::<AnyMethod>();
                let usual = own.parse::<AnyMethod>();
                let same = matches!((&bare, &usual), (Ok(bare), Ok(usual)) if bare == usual);
                ensure!(same, "a setting is lost", "{key}={value} of {said}");
                continue;
            };
            let number = |text: &str| text.parse::<f64>().ok();
            // one name is a list of names
            let same = kept.trim_end_matches(';').eq_ignore_ascii_case(value.trim_end_matches(';'))
                || matches!((number(kept), number(value)), (Some(a), Some(b)) if (a - b).abs() <= 1e-12 * a.abs());
            ensure!(same, "another value", "{key}={value} became {kept}");
        }
        Ok(())
    });
}

/// Metrics and conventions: what is taken says itself in the words that were typed.
pub(crate) fn damaged_metrics(suite: &mut Suite, inputs: usize) {
    let metrics = ["ndcg@10", "map", "p@5", "recall@100", "err@20", "kendall", "bep", "hamming"];
    words::<Metric>(suite, inputs - inputs / 2, 810, &metrics, |text, metric| {
        // zeros before a cut-off mean nothing
        let (name, k) = text.split_once('@').map_or((text, None), |(name, k)| (name, Some(k)));
        let plain = k.map_or(name.to_owned(), |k| {
            format!("{name}@{}", k.strip_prefix('+').unwrap_or(k).trim_start_matches('0'))
        });
        ensure!(metric.to_string().eq_ignore_ascii_case(&plain), "another metric", "{text:?} became {metric}");
        Ok(())
    });
    let conventions = ["standard", "letor2", "trec", "standard, empty=zero", "letor4, ties=average"];
    words::<Convention>(suite, inputs / 2, 820, &conventions, |text, by| {
        let said = by.to_string();
        let parts = |text: &str| {
            let mut parts: Vec<String> = text
                .split(',')
                .map(|part| part.split('=').map(str::trim_ascii).collect::<Vec<_>>().join("="))
                .collect();
            parts.sort();
            parts.dedup();
            parts
        };
        // rules that the preset has anyway are left out, so that all that is said must have been typed
        let typed = parts(text);
        ensure!(parts(&said).iter().all(|part| typed.contains(part)), "another convention", "{text:?} became {said}");
        Ok(())
    });
}
