//! Bad input: thousands of damaged files for every reader and for the loader of models.
//!
//! Each case must end in a clear error or in the right answer: never in a panic, a hang, or memory out of proportion to
//! the file. Plain readers of our own ([`plain`]) say what the right answer is. What reads is then fitted, scored,
//! measured, explained, written and read again ([`pipeline`]).

mod cases;
mod limits;
mod links;
mod match_models;
mod matches;
mod memory;
mod models;
mod mutate;
mod pipeline;
mod plain;
mod readers;
mod suite;
mod tags;
mod words;
