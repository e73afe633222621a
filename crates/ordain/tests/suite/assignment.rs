//! Linear assignment against two other solvers, its own prices, known optima, and costs at the edge of what fits.
#![allow(clippy::unwrap_used, clippy::float_cmp)] // a test may panic, and sums of whole numbers are exact

use crate::cases::cases;
use ordain::Error;
use ordain::structure::matching::assignment::{Matched, Work, solve, sorted};
use pathfinding::kuhn_munkres::kuhn_munkres_min;
use pathfinding::matrix::Matrix;
use proptest::prelude::*;
use std::io::Read;
use std::path::PathBuf;

/// Asserts that the matching is one, and that its prices prove it optimal within `slack`.
fn prove(costs: &[f64], rows: usize, cols: usize, best: &Matched, slack: f64) {
    let (mut sum, mut left) = (0.0, vec![true; cols]);
    for (i, &column) in best.column_of.iter().enumerate() {
        let u = best.row_dual[i];
        let row = &costs[i * cols..][..cols];
        assert!(row.iter().zip(best.column_dual).all(|(c, v)| u + v <= c + slack));
        match column {
            Some(j) => {
                let j = j as usize;
                assert!(std::mem::replace(&mut left[j], false));
                assert!(u + best.column_dual[j] >= row[j] - slack);
                sum += row[j];
            }
            None => assert!(rows > cols && u == 0.0),
        }
        assert!(rows <= cols || u <= 0.0);
    }
    for (&v, left) in best.column_dual.iter().zip(left) {
        assert!(rows >= cols || v <= 0.0);
        assert!(!left || rows < cols && v == 0.0);
    }
    let prices: f64 = best.row_dual.iter().chain(best.column_dual).sum();
    let many = (rows + cols) as f64;
    assert!((sum - best.cost).abs() <= many * slack && (sum - prices).abs() <= many * slack);
}

/// Repeatable numbers in [0, 1).
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Costs on which paths are long: products of places.
pub(crate) fn hard(n: usize) -> Vec<f64> {
    (0..n * n).map(|at| ((at / n + 1) * (at % n + 1)) as f64).collect()
}

fn flipped(costs: &[f64], cols: usize) -> Vec<f64> {
    (0..cols).flat_map(|j| costs.iter().skip(j).step_by(cols).copied()).collect()
}

fn whole_costs(most: usize) -> impl Strategy<Value = (usize, usize, Vec<i64>)> {
    let sizes = (1..=most, 1..=most, prop_oneof![Just(3i64), Just(1000), Just(1 << 40)]);
    sizes.prop_flat_map(|(rows, cols, size)| {
        prop::collection::vec(-size..size, rows * cols).prop_map(move |costs| (rows, cols, costs))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn equals_pathfinding_and_its_own_transpose((rows, cols, whole) in whole_costs(40)) {
        let costs: Vec<f64> = whole.iter().map(|&c| c as f64).collect();
        let (mut work, mut other) = (Work::default(), Work::default());
        let best = solve(&costs, rows, cols, &mut work).unwrap();
        let matrix = Matrix::from_vec(rows, cols, whole).unwrap();
        let matrix = if rows <= cols { matrix } else { matrix.transposed() };
        prop_assert_eq!(best.cost, kuhn_munkres_min(&matrix).0 as f64);
        prove(&costs, rows, cols, &best, 0.0);
        let turned = solve(&flipped(&costs, cols), cols, rows, &mut other).unwrap();
        prop_assert_eq!(turned.cost, best.cost);
        if rows != cols {
            // then both are the same problem inside
            prop_assert_eq!((turned.row_dual, turned.column_dual), (best.column_dual, best.row_dual));
            for (i, &column) in best.column_of.iter().enumerate() {
                prop_assert_eq!(column, turned.column_of.iter().position(|&row| row == Some(i as u32)).map(|j| j as u32));
            }
        }
    }

    /// lapjv takes square problems: a rectangular one gets rows or columns that cost nothing.
    #[test]
    fn equals_lapjv(rows in 1..=40usize, cols in 1..=40usize, square: bool, seed: u64, ties: bool) {
        let cols = if square { rows } else { cols };
        let n = rows.max(cols);
        let mut next = numbers(seed);
        let costs: Vec<f64> = (0..rows * cols).map(|_| if ties { (next() * 5.0).floor() } else { next() - 0.5 }).collect();
        let cost = |i: usize, j: usize| if i < rows && j < cols { costs[i * cols + j] } else { 0.0 };
        let padded: Vec<f64> = (0..n * n).map(|at| cost(at / n, at % n)).collect();
        let matrix = lapjv::Matrix::from_shape_vec((n, n), padded).unwrap();
        let (columns, _) = lapjv::lapjv(&matrix).unwrap();
        let other: f64 = columns.iter().enumerate().map(|(i, &j)| cost(i, j)).sum();
        let mut work = Work::default();
        let best = solve(&costs, rows, cols, &mut work).unwrap();
        prop_assert!((best.cost - other).abs() < 1e-12);
        prove(&costs, rows, cols, &best, if ties { 0.0 } else { 1e-13 });
    }

    #[test]
    fn sorting_is_the_best_matching_of_products(
        scores in prop::collection::vec(-4..5i32, 0..8),
        values in prop::collection::vec(-4..5i32, 0..8),
    ) {
        let numbers = |list: &[i32]| list.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        let (scores, values) = (numbers(&scores), numbers(&values));
        let costs: Vec<f64> = scores.iter().flat_map(|s| values.iter().map(move |c| -s * c)).collect();
        let mut work = Work::default();
        let best = solve(&costs, scores.len(), values.len(), &mut work).unwrap();
        let columns = sorted(&scores, &values).unwrap();
        let sum = columns.iter().zip(&scores).filter_map(|(j, s)| j.map(|j| s * values[j as usize])).fold(0.0, |a, b| a + b);
        prop_assert_eq!(-best.cost, sum);
        let mut used: Vec<u32> = columns.iter().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        prop_assert_eq!(used.len(), scores.len().min(values.len()));
    }
}

/// Large enough for lists: uniform, with ties, between points, products, nearly all forbidden; both ways of oblong.
#[test]
fn prices_prove_large_matchings() {
    let mut work = Work::default();
    for (seed, (rows, cols)) in [(600, 600), (520, 777), (901, 300), (3, 2000)].into_iter().enumerate() {
        let mut next = numbers(seed as u64 + 1);
        let places: Vec<(f64, f64)> = (0..rows + cols).map(|_| (next(), next())).collect();
        let mut make = |cost: &mut dyn FnMut(usize, usize, f64) -> f64| -> Vec<f64> {
            (0..rows * cols).map(|at| cost(at / cols, at % cols, next())).collect()
        };
        let (a, b) = places.split_at(rows);
        let kinds = [
            make(&mut |_, _, x| x),
            make(&mut |_, _, x| (x * 8.0).floor()),
            make(&mut |i, j, _| (a[i].0 - b[j].0).hypot(a[i].1 - b[j].1)),
            make(&mut |i, j, _| -a[i].0 * b[j].0),
            // the diagonal keeps it feasible; about ten more pairs a row
            make(&mut |i, j, x| if i == j || x < 0.02 { (x * 5e4).round() } else { f64::INFINITY }),
            vec![1.0; rows * cols],
        ];
        for (kind, costs) in kinds.iter().enumerate() {
            let exact = [1, 4, 5].contains(&kind);
            let best = solve(costs, rows, cols, &mut work).unwrap();
            prove(costs, rows, cols, &best, if exact { 0.0 } else { 1e-12 });
        }
    }
}

#[test]
fn what_cannot_be_solved_is_named() {
    let mut work = Work::default();
    let mut message = |costs: &[f64], rows, cols| solve(costs, rows, cols, &mut work).unwrap_err().to_string();
    let range = "expected costs of at most 1e300 in size, or infinity for a pair that is forbidden, found";
    let nan = [1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN];
    assert_eq!(message(&nan, 2, 3), format!("{range} NaN in row 1, column 2 (counted from 0)"));
    assert_eq!(message(&nan, 3, 2), format!("{range} NaN in row 2, column 1 (counted from 0)"));
    assert_eq!(message(&[0.0, -f64::INFINITY], 1, 2), format!("{range} -inf in row 0, column 1 (counted from 0)"));
    assert!(message(&[f64::MAX], 1, 1).starts_with(range));
    assert!(message(&[1.0; 5], 2, 3).ends_with("found 5 costs"));
    assert!(message(&[], usize::MAX, 2).ends_with("found 0 costs"));
    assert!(message(&[], 0, usize::MAX).ends_with("found 0 costs"));

    let no = f64::INFINITY;
    // rows 0 and 2 both need column 1
    let costs = [no, 1.0, no, 1.0, 1.0, 1.0, no, 1.0, no];
    let Err(Error::Infeasible { side: "row", index }) = solve(&costs, 3, 3, &mut work) else { panic!() };
    assert!(index == 0 || index == 2);
    let Err(Error::Infeasible { side: "row", index: 1 }) = solve(&[1.0, 1.0, no, no], 2, 2, &mut work) else {
        panic!()
    };
    let error = solve(&[1.0, no, 1.0, no, 1.0, no], 3, 2, &mut work).unwrap_err();
    assert!(matches!(error, Error::Infeasible { side: "column", index: 1 }));
    assert_eq!(
        error.to_string(),
        "column 1 (counted from 0) cannot be matched: every row that it allows is taken by columns that have no other; \
         allow more pairs"
    );
    assert!(sorted(&[1.0, f64::NAN], &[0.0]).unwrap_err().to_string().contains("NaN as score 1"));
    assert!(sorted(&[1.0], &[f64::INFINITY]).is_err());
}

#[test]
fn empty_problems_have_empty_matchings() {
    let mut work = Work::default();
    for (rows, cols) in [(0, 0), (0, 3), (3, 0)] {
        let best = solve(&[], rows, cols, &mut work).unwrap();
        assert_eq!((best.cost.to_bits(), best.column_of), (0, &vec![None; rows][..]));
        assert_eq!((best.row_dual, best.column_dual), (&vec![0.0; rows][..], &vec![0.0; cols][..]));
    }
    assert_eq!(sorted(&[], &[1.0]).unwrap(), []);
    assert_eq!(sorted(&[1.0], &[]).unwrap(), [None]);
}

/// Rounding must neither loop nor break the matching, where costs lie 600 orders of magnitude apart.
#[test]
fn costs_of_any_size_end() {
    let mut work = Work::default();
    for (rows, cols) in [(9, 9), (20, 33), (40, 13), (530, 530), (515, 600)] {
        let mut next = numbers(rows as u64);
        for kind in 0..4 {
            let costs: Vec<f64> = (0..rows * cols)
                .map(|_| match kind {
                    0 => 1e300 * (1.0 - 2.0 * next()),
                    1 => 10f64.powf(600.0 * next() - 300.0).copysign(next() - 0.5),
                    2 => [1e300, -1e300, 1e-300, 2e-300, 0.0][(next() * 5.0) as usize],
                    _ => 1e300 + 1e-300 * next() + f64::from(u8::from(next() < 0.5)),
                })
                .collect();
            let best = solve(&costs, rows, cols, &mut work).unwrap();
            prove(&costs, rows, cols, &best, 1e289);
        }
        let tiny: Vec<f64> = (0..rows * cols).map(|_| 1e-300 * next()).collect();
        let best = solve(&tiny, rows, cols, &mut work).unwrap();
        prove(&tiny, rows, cols, &best, 1e-312);
    }
}

#[test]
#[ignore = "needs the folder ORDAIN_DATA, run by ./check --data"]
fn or_library_optima() {
    let folder = PathBuf::from(std::env::var_os("ORDAIN_DATA").expect("ORDAIN_DATA names the data folder"));
    let folder = folder.join("matching/lap-orlib");
    let mut work = Work::default();
    // published with the instances, J. E. Beasley 1990
    for (n, optimum) in [(100usize, 305.0), (500, 991.0), (600, 1176.0), (700, 1362.0)] {
        let plain = folder.join(format!("assign{n}.txt"));
        let mut text = String::new();
        if plain.exists() {
            text = std::fs::read_to_string(plain).unwrap();
        } else {
            let packed = std::fs::File::open(plain.with_extension("txt.gz")).unwrap();
            flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap();
        }
        let mut words = text.split_ascii_whitespace();
        assert_eq!(words.next().unwrap(), n.to_string());
        let costs: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
        let best = solve(&costs, n, n, &mut work).unwrap();
        assert_eq!(best.cost, optimum);
        prove(&costs, n, n, &best, 0.0);
    }
}
