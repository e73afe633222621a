//! Quadratic assignment on QAPLIB within a time: how far its values are from the best known ones, and its bounds from the optima.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic, and this one prints what it measured

use super::{at_most, folder, seconds};
use crate::quadratic::{Instance, qaplib};
use ordain::Interrupt;
use ordain::structure::quadratic::{Limit, Settings, Solution, solve};

/// What is found within a limit, and the seconds that it took.
fn within(instance: &Instance, limit: f64) -> (Solution, f64) {
    let settings = Settings { limit: Limit::Seconds(limit), ..Settings::default() };
    let mut found = None;
    let took = seconds(|| found = Some(solve(&instance.problem, &settings, Interrupt::default()).unwrap()));
    (found.unwrap(), took)
}

#[test]
#[ignore = "a gate of speed, run by ./check --speed"]
fn qaplib_real() {
    let all = qaplib(&folder());
    for (limit, most) in [(0.1, 1.0), (1.0, 0.1)] {
        let (mut gap, mut below, mut longest, mut optimal, mut proven, mut count) = (0.0, 0.0, 0.0f64, 0, 0, 0);
        for instance in all.iter().filter(|one| one.proven && (12..=30).contains(&one.n)) {
            let (found, took) = within(instance, limit);
            assert!(found.bound <= instance.best && found.value >= instance.best, "{}: {found:?}", instance.name);
            gap += (found.value - instance.best) / instance.best.max(1.0);
            below += (instance.best - found.bound) / instance.best.max(1.0);
            longest = longest.max(took / limit);
            optimal += usize::from(found.value <= instance.best);
            proven += usize::from(found.proven);
            count += 1;
        }
        let mean = |sum: f64| 100.0 * sum / f64::from(count);
        println!("{limit} s: {count} instances, {optimal} optimal, {proven} proven; bounds {:.1} % below", mean(below));
        at_most(&format!("QAPLIB, mean gap in % at {limit} s"), mean(gap), most);
        at_most(&format!("QAPLIB, longest call over its limit of {limit} s"), longest, 1.2);
    }
    println!("larger, and not proven: instance, n, best known, gap % at 1 s, steps, bound % below");
    for instance in all.iter().filter(|one| one.n >= 30 && !(one.proven && one.n == 30)) {
        let (found, _) = within(instance, 1.0);
        let [gap, below] =
            [found.value - instance.best, instance.best - found.bound].map(|x| 100.0 * x / instance.best.max(1.0));
        let Instance { name, n, best, proven, .. } = instance;
        println!("{name:8} {n:4} {best:11} {gap:6.2} {:8} {below:6.1}", found.steps);
        assert!(!proven || found.bound <= *best);
    }
}
