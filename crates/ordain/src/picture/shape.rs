//! Silhouettes: what is in front, and numbers for its shape that do not change when it is moved, turned or made larger.

use super::{Grey, Picture};

/// Pictures are reduced to this many pixels on their longer side.
const SIDE: usize = 128;
/// Radial and angular frequencies of the Fourier descriptors.
const RADIAL: usize = 4;
const ANGULAR: usize = 9;

/// The number of [`descriptors`].
pub const LENGTH: usize = RADIAL * ANGULAR + 7 + 3;

/// Their names, in order.
pub fn names() -> Vec<String> {
    let fourier = (0..RADIAL).flat_map(|r| (0..ANGULAR).map(move |a| format!("fourier{r}_{a}")));
    let hu = (1..=7).map(|k| format!("hu{k}"));
    let others = ["extent", "eccentricity", "compactness"].map(str::to_owned);
    fourier.chain(hu).chain(others).collect()
}

/// What is in front, as 1: brighter or darker than Otsu's threshold, whichever the border is not for the most part. A picture
/// of one brightness is all in front.
///
/// Otsu, *A threshold selection method from gray-level histograms*, 1979.
pub fn foreground(plane: &Grey) -> Grey {
    let mut counts = [0usize; 256];
    for v in &plane.values {
        counts[v.clamp(0.0, 255.0) as usize] += 1;
    }
    let bright = |v: f32, cut: usize| v.clamp(0.0, 255.0) as usize > cut;
    let Some(cut) = otsu(&counts) else {
        return Grey { values: vec![1.0; plane.values.len()], ..plane.clone() };
    };
    let (w, h) = (plane.width, plane.height);
    let rows = (0..w).flat_map(|x| [x, (h - 1) * w + x]);
    let border: Vec<usize> = rows.chain((0..h).flat_map(|y| [y * w, y * w + w - 1])).collect();
    let on = border.iter().filter(|&&at| bright(plane.values[at], cut)).count();
    let back_is_bright = 2 * on > border.len();
    let value = |v: &f32| f32::from(u8::from(bright(*v, cut) != back_is_bright));
    Grey { values: plane.values.iter().map(value).collect(), ..plane.clone() }
}

/// The last level of the lower class, where the variance between the two classes is largest; none where there is one level.
fn otsu(counts: &[usize; 256]) -> Option<usize> {
    let total: usize = counts.iter().sum();
    let sum: f64 = counts.iter().enumerate().map(|(v, &n)| v as f64 * n as f64).sum();
    let (mut below, mut below_sum, mut best) = (0usize, 0.0, None::<(f64, usize)>);
    for (v, &n) in counts.iter().enumerate() {
        below += n;
        below_sum += v as f64 * n as f64;
        if below == 0 || below == total {
            continue;
        }
        let (a, b) = (below as f64, (total - below) as f64);
        let apart = below_sum / a - (sum - below_sum) / b;
        let between = a * b * apart * apart;
        if best.is_none_or(|(most, _)| between > most) {
            best = Some((between, v));
        }
    }
    best.map(|(_, cut)| cut)
}

/// 46 numbers of a silhouette, in the order of [`names`]:
///
/// - generic Fourier descriptors, |Σ exp(−2πi (ρ r/R) − i φ θ)| over the pixels in front in polar coordinates (r, θ) around
///   their centre, R the largest r, ρ = 0 to 3, φ = 0 to 8; the first divided by π R², the others by the first (Zhang, Lu,
///   *Shape-based image retrieval using generic Fourier descriptor*, 2002);
/// - Hu's seven moments, as sign(m) log(1 + |m| 10⁶);
/// - extent (share of the bounding box), eccentricity (ratio of the axes, 0 to 1), compactness (4π area / perimeter²).
///
/// O(pixels), after a reduction to 128 pixels on the longer side.
pub fn descriptors(picture: &Picture) -> Vec<f32> {
    let front = foreground(&picture.brightness()).within(SIDE);
    let inside = |x: usize, y: usize| front.values[y * front.width + x] >= 0.5;
    let points: Vec<(f64, f64)> = (0..front.height)
        .flat_map(|y| (0..front.width).map(move |x| (x, y)))
        .filter(|&(x, y)| inside(x, y))
        .map(|(x, y)| (x as f64, y as f64))
        .collect();
    if points.is_empty() {
        return vec![0.0; LENGTH]; // thinner than a reduced pixel everywhere
    }
    let n = points.len() as f64;
    let (mx, my) = points.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let centred: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x - mx, y - my)).collect();
    let mut out = fourier(&centred);
    let moment = |p: i32, q: i32| centred.iter().map(|(x, y)| x.powi(p) * y.powi(q)).sum::<f64>();
    out.extend(hu(&moment, n).map(|m| m.signum() * (1.0 + m.abs() * 1e6).ln()));
    let spread = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let (low, high) = points.iter().map(of).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        high - low + 1.0
    };
    out.push(n / (spread(&|p| p.0) * spread(&|p| p.1)));
    let (a, b, c) = (moment(2, 0) / n, moment(0, 2) / n, moment(1, 1) / n);
    let root = ((a - b) * (a - b) + 4.0 * c * c).sqrt();
    out.push(if a + b > 0.0 { (((a + b - root).max(0.0)) / (a + b + root)).sqrt() } else { 1.0 });
    let is = |x: isize, y: isize| {
        x >= 0 && y >= 0 && (x as usize) < front.width && (y as usize) < front.height && inside(x as usize, y as usize)
    };
    let open = |&(x, y): &(f64, f64)| {
        let (x, y) = (x as isize, y as isize);
        [(1, 0), (-1, 0), (0, 1), (0, -1)].iter().filter(|(dx, dy)| !is(x + dx, y + dy)).count()
    };
    // sides of pixels overstate a slanted outline by 4/π on average
    let perimeter = points.iter().map(open).sum::<usize>() as f64 * std::f64::consts::FRAC_PI_4;
    out.push(4.0 * std::f64::consts::PI * n / (perimeter * perimeter));
    out.into_iter().map(|v| v as f32).collect()
}

fn fourier(centred: &[(f64, f64)]) -> Vec<f64> {
    let largest = centred.iter().map(|(x, y)| x.hypot(*y)).fold(0.5f64, f64::max);
    let mut sums = [[(0.0f64, 0.0f64); ANGULAR]; RADIAL];
    for &(x, y) in centred {
        let r = x.hypot(y);
        let (cos, sin) = if r > 0.0 { (x / r, y / r) } else { (1.0, 0.0) };
        let step = -std::f64::consts::TAU * r / largest;
        for (rho, row) in sums.iter_mut().enumerate() {
            let (mut im, mut re) = (step * rho as f64).sin_cos();
            for sum in row {
                sum.0 += re;
                sum.1 += im;
                (re, im) = (re * cos + im * sin, im * cos - re * sin);
            }
        }
    }
    let first = sums[0][0].0.hypot(sums[0][0].1);
    let disc = std::f64::consts::PI * largest * largest;
    let all = sums.iter().flatten().enumerate();
    all.map(|(k, (re, im))| re.hypot(*im) / if k == 0 { disc } else { first }).collect()
}

/// Hu, *Visual pattern recognition by moment invariants*, 1962.
fn hu(moment: &dyn Fn(i32, i32) -> f64, n: f64) -> [f64; 7] {
    let eta = |p: i32, q: i32| moment(p, q) / n.powf(1.0 + f64::from(p + q) / 2.0);
    let (a, b, c) = (eta(2, 0), eta(0, 2), eta(1, 1));
    let (d, e, f, g) = (eta(3, 0), eta(1, 2), eta(2, 1), eta(0, 3));
    let (p, q, r, s) = (d + e, f + g, d - 3.0 * e, 3.0 * f - g);
    let (u, v) = (p * p - 3.0 * q * q, 3.0 * p * p - q * q);
    [
        a + b,
        (a - b).powi(2) + 4.0 * c * c,
        r * r + s * s,
        p * p + q * q,
        r * p * u + s * q * v,
        (a - b) * (p * p - q * q) + 4.0 * c * p * q,
        s * p * u - r * q * v,
    ]
}
