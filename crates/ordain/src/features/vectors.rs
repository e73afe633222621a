//! Cells that hold vectors, and how like two vectors are.

/// The numbers of a cell such as `0.5 1 -2` or `[0.5, 1, -2]`. Between two commas stands a number: a gap must not move the others.
pub(super) fn numbers(cell: &str) -> Option<Vec<f32>> {
    let cell = cell.trim_ascii();
    let inner = match cell.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?,
        None => cell,
    };
    let mut numbers = vec![];
    for part in inner.split([',', ';']) {
        let before = numbers.len();
        for word in part.split_ascii_whitespace() {
            numbers.push(word.parse().ok().filter(|x: &f32| x.is_finite())?);
        }
        if numbers.len() == before {
            return None;
        }
    }
    Some(numbers)
}

/// The two vectors of a cell, `Some(None)` where one is missing; nothing where they are none.
pub(super) fn pair(cell: &str) -> Option<Option<[Vec<f32>; 2]>> {
    let (a, b) = cell.split_once('|').unwrap_or((cell, ""));
    match (a.trim_ascii().is_empty(), b.trim_ascii().is_empty()) {
        (true, true) => Some(None),
        (true, false) => numbers(b).map(|_| None),
        (false, true) => numbers(a).map(|_| None),
        (false, false) => {
            Some(Some([numbers(a)?, numbers(b)?])).filter(|pair| pair.as_ref().is_some_and(|[a, b]| a.len() == b.len()))
        }
    }
}

/// The columns of a pair: product, cosine, whether one is missing, and the distance in each place.
pub(super) fn names(columns: &str, places: usize) -> Vec<String> {
    let pair = columns.replacen(',', "~", 1);
    let own = ["dot", "cosine", "missing"].map(|what| format!("{pair}_{what}"));
    own.into_iter().chain((0..places).map(|n| format!("{pair}_diff_{n}"))).collect()
}

/// The columns of a cell that are not 0: `a·b`, `a·b / |a||b|` (0 where a vector is), `1` where a vector is missing, `|a_i − b_i|`.
pub(super) fn apply(cell: &str, places: usize, row: &mut Vec<(u32, f32)>) -> Option<()> {
    let Some([a, b]) = pair(cell)? else {
        row.push((2, 1.0));
        return Some(());
    };
    if a.len() != places {
        return None;
    }
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let (dot, norms) = (product(&a, &b), product(&a, &a).sqrt() * product(&b, &b).sqrt());
    row.extend([(0, dot as f32), (1, if norms > 0.0 { (dot / norms) as f32 } else { 0.0 })]);
    row.extend((3..).zip(a.iter().zip(&b).map(|(x, y)| (x - y).abs())));
    row.iter().all(|(_, x)| x.is_finite()).then_some(()) // a product may be more than single precision holds
}
