//! Damaged inputs for everything that ordain reads: files of every format, models behind a right checksum, answers of people, words
//! of the command line.
//!
//! Each input must end in a clear error or in the right answer: never in a panic, a crash, a hang, or memory out of proportion to
//! it. What is taken is judged: plain readers of our own ([`plain`]) say what an input means, or it must mean what it meant before
//! the damage. Rankings that are read are then fitted, scored, measured, explained, written and read again ([`pipeline`]).
//!
//! ```text
//! fuzz [TARGET…] [--seed N] [--inputs N | --minutes N] [--jobs N]
//! ```
//!
//! Every target runs in a process of its own, so that a crash is seen and named. The same words give the same inputs. `--inputs` are
//! those of all targets together; without it each has its usual number, which `cargo test` runs too.

mod answers;
mod arrays;
#[cfg(test)]
mod cases;
mod driver;
mod frames;
mod inputs;
mod label_models;
mod learned;
#[cfg(test)]
mod limits;
mod links;
mod match_models;
mod matches;
mod memory;
mod models;
mod mutate;
mod options;
mod pictures;
mod pipeline;
mod plain;
mod readers;
mod suite;
mod tags;
mod target;
mod words;

fn main() -> std::process::ExitCode {
    driver::run(&std::env::args().skip(1).collect::<Vec<_>>())
}
