//! What allocates nothing once its buffers are made, with an allocator that counts.
#![allow(clippy::unwrap_used)] // a test may panic

mod assignment;
mod best_matching;
mod counting;
mod diagonals;
mod partial_matchings;
mod permanents;
mod ranking;
mod risk;
mod star;
