//! Tests of the command line: the program is started as a person or a script starts it.

#![allow(clippy::unwrap_used)]

#[path = "../../../ordain/tests/common/cases.rs"]
mod cases;
mod columns;
mod compare;
mod compare_tags;
mod data;
mod docs;
mod errors;
mod evaluate;
mod export;
mod faults;
mod files;
mod fit;
mod foreign;
mod formats;
mod gates;
mod golden;
mod gram;
mod inputs;
mod interrupt;
mod items;
mod judgements;
mod kernel_gates;
mod kernels;
mod linking;
mod matches;
mod matching_gates;
mod missing;
mod orders;
mod parts;
mod pictures;
mod predict;
mod questions;
mod rules;
mod serve;
mod shell;
mod speed;
mod stacking;
mod storage;
mod streams;
mod support;
mod tags;
