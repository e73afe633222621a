//! Passes over rows of leaves, in wider registers where the machine has them: the same operations, the same bits.

#![allow(clippy::needless_range_loop)] // lane i of all rows at once

use super::largest::Largest;

/// A function that calls a plain one, compiled for AVX2 where the processor has it.
macro_rules! wide {
    ($(#[$doc:meta])* $name:ident($($at:ident: $of:ty),*) $(-> $out:ty)?, $plain:path) => {
        $(#[$doc])*
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)] // the one call of code for a newer processor, after a look at the processor
        pub(super) fn $name($($at: $of),*) $(-> $out)? {
            #[target_feature(enable = "avx2")]
            fn avx2($($at: $of),*) $(-> $out)? {
                $plain($($at),*)
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2.
                return unsafe { avx2($($at),*) };
            }
            $plain($($at),*)
        }

        $(#[$doc])*
        #[cfg(not(target_arch = "x86_64"))]
        pub(super) fn $name($($at: $of),*) $(-> $out)? {
            $plain($($at),*)
        }
    };
}

wide! {
    /// `out = row + by·g`; the largest of it.
    add(row: &[f64], g: &[f64], by: f64, out: &mut [f64]) -> f64, add_plainly
}

wide! {
    /// The largest `row − most`.
    ahead(row: &[f64], most: &[f64]) -> f64, ahead_plainly
}

wide! {
    /// [`Largest::find`].
    find(largest: &mut Largest, row: &[f64], count: usize), Largest::find_plainly
}

#[inline(always)]
fn add_plainly(row: &[f64], g: &[f64], by: f64, out: &mut [f64]) -> f64 {
    const LANES: usize = 8;
    let mut most = [f64::NEG_INFINITY; LANES];
    let (rows, rest) = row.as_chunks::<LANES>();
    let (links, other) = g.as_chunks::<LANES>();
    let (outs, last) = out.as_chunks_mut::<LANES>();
    for ((row, g), out) in rows.iter().zip(links).zip(outs) {
        for lane in 0..LANES {
            out[lane] = row[lane] + by * g[lane];
            most[lane] = if out[lane] > most[lane] { out[lane] } else { most[lane] };
        }
    }
    let mut largest = most.iter().fold(f64::NEG_INFINITY, |a, &b| if b > a { b } else { a });
    for ((row, g), out) in rest.iter().zip(other).zip(last) {
        *out = row + by * g;
        largest = if *out > largest { *out } else { largest };
    }
    largest
}

#[inline(always)]
fn ahead_plainly(row: &[f64], most: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut ahead = [f64::NEG_INFINITY; LANES];
    let (rows, rest) = row.as_chunks::<LANES>();
    let (known, others) = most.as_chunks::<LANES>();
    for (row, known) in rows.iter().zip(known) {
        for lane in 0..LANES {
            let x = row[lane] - known[lane];
            ahead[lane] = if x > ahead[lane] { x } else { ahead[lane] };
        }
    }
    let last = rest.iter().zip(others).map(|(a, b)| a - b);
    ahead.into_iter().chain(last).fold(f64::NEG_INFINITY, |a, b| if b > a { b } else { a })
}
