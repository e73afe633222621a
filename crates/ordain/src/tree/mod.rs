//! Trees: sums of small decision trees, grown one after another on slopes and curvatures that the caller has.
//!
//! [`Cuts`] turn columns into at most 255 bins, [`Bins`] hold the rows in bins, a [`Grower`] makes one [`Tree`] of slopes `d` and
//! curvatures `h`, and a [`Forest`] adds up trees and scores rows of raw values. Nothing here knows what the slopes are of.
//!
//! A grower minimises
//!
//! ```text
//! Σ_i d_i f(x_i) + ½ h_i f(x_i)²  +  ridge/2 Σ_leaf value²
//! ```
//!
//! over trees f, one split after another, the best gain first. Sums over rows are sums of whole numbers: slopes are rounded once per
//! tree, so that no order of adding, no number of threads and no cut of the work changes a bit.
//!
//! ```
//! use ordain::matrix::{Features, Matrix};
//! use ordain::random::Random;
//! use ordain::tree::{Cuts, Forest, Grower, Growth};
//!
//! // squared loss from the scores 0: d = −y, h = 1
//! let x = Features::Dense(Matrix::new(vec![1.0, 2.0, 3.0, f32::NAN], 1));
//! let (d, h) = ([-5.0, -5.0, -1.0, -1.0], [1.0; 4]);
//! let rows = [0, 1, 2, 3];
//! let cuts = Cuts::learn(&x, &rows, &[false], 255)?;
//! let bins = cuts.bin(&x)?;
//! let mut grower = Grower::new(&cuts, &bins);
//! let how = Growth { leaves: 2, ridge: 0.0, least_rows: 1, ..Growth::default() };
//! let tree = grower.grow(&d, &h, &rows, &how, &mut Random::new(1));
//!
//! let mut forest = Forest::empty(1);
//! forest.push(&tree, 1.0);
//! assert_eq!([forest.score_row(&[1.5]), forest.score_row(&[9.0]), forest.score_row(&[f32::NAN])], [5.0, 1.0, 1.0]);
//! # Ok::<(), ordain::Error>(())
//! ```

pub mod bins;
pub mod cuts;
mod edit;
pub mod forest;
pub mod grow;
pub mod grown;
mod histogram;
mod partition;
mod shares;
mod split;
pub mod stumps;

pub use bins::Bins;
pub use cuts::Cuts;
pub use forest::{Forest, Parts};
pub use grow::{Grower, Growth};
pub use grown::Tree;
pub use stumps::{Stump, Stumps};
