//! The tests of the library: one program, so that it is linked once. Each module is about one part; a new one is a file here and a line below.
//!
//! What needs more than a build is ignored: modules of [`speed`] measure time (`./check --speed`), other ignored tests need the data folder (`./check --data`).
//! Tests that count allocations are in `tests/allocation`, damaged inputs in the crate `fuzz`. The number of random cases is `ORDAIN_CASES` per cent of the usual one.

mod ask;
mod assignment;
mod auto;
mod ball;
mod best_matching;
mod boosters;
mod boosting;
#[path = "../common/cases.rs"]
mod cases;
mod choices;
mod contract;
mod core_choice;
mod diagonals;
mod document_links;
mod edge_kernels;
mod export;
mod foreign;
mod guided;
mod hinge;
mod interrupts;
mod label_choices;
mod label_kernels;
mod layering;
mod linking;
mod lists;
mod match_metrics;
mod matching_bounds;
mod matching_data;
mod matching_decisions;
mod matching_samplers;
mod matching_training;
mod metrics;
mod networks;
mod papers;
mod partial_matchings;
mod permanents;
mod pictures;
mod preferences;
mod programme;
mod quadrank;
mod quadratic;
mod ranking;
mod ranking_losses;
mod reading;
mod retrieval;
mod risk;
mod rules;
mod scores;
mod shards;
mod speed;
mod star;
mod star_optimisers;
mod star_sum;
mod star_training;
mod steps;
mod tables;
mod tag_metrics;
mod tagging_data;
mod transforms;
mod trees;
