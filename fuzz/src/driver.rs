//! Runs targets, each in a process of its own, and adds up what they say.

#![allow(clippy::print_stdout)] // the counts are what a run is for

use super::suite::{self, Counts, Suite};
use super::target::{TARGETS, Target};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const USAGE: &str = "usage: fuzz [TARGET…] [--seed N] [--inputs N | --minutes N] [--jobs N]";

/// What was asked for.
struct Plan {
    targets: Vec<&'static Target>,
    seed: u64,
    inputs: Option<usize>,
    minutes: Option<u64>,
    jobs: usize,
    /// Run the one target in this process.
    here: bool,
}

fn plan(words: &[String]) -> Result<Plan, String> {
    let mut plan = Plan { targets: vec![], seed: 0, inputs: None, minutes: None, jobs: 1, here: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().ok_or(format!("{word}: expected a number, found nothing\n{USAGE}"))?;
            value.parse::<u64>().map_err(|_| format!("{word}: expected a number, found {value:?}\n{USAGE}"))
        };
        match word.as_str() {
            "--seed" => plan.seed = number()?,
            "--inputs" => plan.inputs = Some(number()?.max(1) as usize),
            "--minutes" => plan.minutes = Some(number()?),
            "--jobs" => plan.jobs = number()?.max(1) as usize,
            "--here" => plan.here = true,
            name => match TARGETS.iter().find(|target| target.name == name) {
                Some(target) => plan.targets.push(target),
                None => {
                    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
                    return Err(format!("expected one of {}, found {name:?}\n{USAGE}", names.join(", ")));
                }
            },
        }
    }
    if plan.targets.is_empty() {
        plan.targets = TARGETS.iter().collect();
    }
    if plan.inputs.is_some() && plan.minutes.is_some() {
        return Err(format!("--inputs and --minutes contradict each other\n{USAGE}"));
    }
    Ok(plan)
}

/// Does what the words say.
pub(crate) fn run(words: &[String]) -> ExitCode {
    let plan = match plan(words) {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    if plan.here {
        suite::set_seed(plan.seed);
        suite::watch_for_hangs();
        let target = plan.targets[0];
        let mut suite = Suite::new();
        (target.run)(&mut suite, plan.inputs.unwrap_or(target.usual));
        println!("{}", suite.counts(target.name));
        return ExitCode::SUCCESS;
    }
    let (start, mut seed) = (Instant::now(), plan.seed);
    let (mut total, mut failed) = (Counts::default(), 0);
    loop {
        let (counts, failures) = round(&plan, seed);
        total += counts;
        failed += failures;
        let seeds = if seed == plan.seed { format!("seed {seed}") } else { format!("seeds {} to {seed}", plan.seed) };
        println!("{seeds}, all targets: {total}; {failed} runs failed");
        seed += 1;
        let over = plan.minutes.is_none_or(|minutes| start.elapsed() >= Duration::from_secs(60 * minutes));
        if over || failed > 0 {
            return if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
    }
}

/// All targets with one seed; what they counted, and how many failed.
fn round(plan: &Plan, seed: u64) -> (Counts, usize) {
    let usual: usize = plan.targets.iter().map(|target| target.usual).sum();
    let next = AtomicUsize::new(0);
    let sum = Mutex::new((Counts::default(), 0));
    std::thread::scope(|scope| {
        for _ in 0..plan.jobs {
            scope.spawn(|| {
                while let Some(target) = plan.targets.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let share = |all: usize| (all as u128 * target.usual as u128).div_ceil(usual as u128) as usize;
                    let outcome = one(target, seed, plan.inputs.map_or(target.usual, share));
                    let mut sum = sum.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    match outcome {
                        Ok(counts) => {
                            println!("{:20} {counts}", target.name);
                            sum.0 += counts;
                        }
                        Err(told) => {
                            println!("{:20} FAILED\n{told}", target.name);
                            sum.1 += 1;
                        }
                    }
                }
            });
        }
    });
    sum.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// One target in a process of its own.
fn one(target: &Target, seed: u64, inputs: usize) -> Result<Counts, String> {
    let words =
        [target.name, "--seed", &seed.to_string(), "--inputs", &inputs.to_string(), "--here"].map(str::to_owned);
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program).args(&words).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match out.lines().last().and_then(Counts::parse).filter(|_| output.status.success()) {
        Some(counts) => Ok(counts),
        None => Err(format!("fuzz {} ended with {}\n{out}{err}", words.join(" "), output.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_others_are_refused() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let plan = super::plan(&words("links --seed 7 --inputs 100 --jobs 2")).unwrap();
        assert_eq!((plan.targets[0].name, plan.seed, plan.inputs, plan.jobs), ("links", 7, Some(100), 2));
        for wrong in ["--seed", "--seed x", "nothing", "--inputs 5 --minutes 1"] {
            assert!(super::plan(&words(wrong)).is_err(), "{wrong}");
        }
        let counts = Counts { tried: 5, refused: 3, accepted: 2 };
        assert_eq!(Counts::parse(&counts.to_string()), Some(counts));
    }
}
