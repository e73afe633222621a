//! Colour: histograms over hue, saturation and value, and mean colours on a grid.

use super::Picture;

/// Hue in [0, 6), saturation and value in [0, 1]; greys have hue 0.
///
/// ```
/// use ordain::picture::colour::hsv;
/// assert_eq!(hsv([0, 255, 0]), [2.0, 1.0, 1.0]);
/// assert_eq!(hsv([51, 51, 51]), [0.0, 0.0, 0.2]);
/// ```
pub fn hsv([r, g, b]: [u8; 3]) -> [f32; 3] {
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    let spread = f32::from(most - least);
    let turn = |x: u8, y: u8| (f32::from(x) - f32::from(y)) / spread;
    let hue = match () {
        () if most == least => 0.0,
        () if most == r => turn(g, b).rem_euclid(6.0),
        () if most == g => 2.0 + turn(b, r),
        () => 4.0 + turn(r, g),
    };
    let saturation = if most == 0 { 0.0 } else { spread / f32::from(most) };
    [if hue >= 6.0 { 0.0 } else { hue }, saturation, f32::from(most) / 255.0]
}

/// How many pixels fall into each of `bins` bins, `bins / 8` of hue × 2 of saturation × 4 of value; they sum to the number of
/// pixels. `bins` is rounded down to a multiple of 8, and is at least 8. O(pixels).
///
/// A bin is `(hue · 2 + saturation) · 4 + value`.
///
/// ```
/// use ordain::picture::{Picture, colour::histogram};
/// let picture = Picture::new(2, 2, vec![[255, 0, 0], [255, 0, 0], [0, 0, 0], [0, 0, 255]])?;
/// let counts = histogram(&picture, 64);
/// assert_eq!((counts.len(), counts.iter().sum::<u32>()), (64, 4));
/// assert_eq!(counts[(0 * 2 + 1) * 4 + 3], 2); // red, full, bright
/// # Ok::<(), ordain::Error>(())
/// ```
pub fn histogram(picture: &Picture, bins: usize) -> Vec<u32> {
    let hues = (bins / 8).max(1);
    let mut counts = vec![0; hues * 8];
    for &pixel in picture.pixels() {
        let [hue, saturation, value] = hsv(pixel);
        let hue = ((hue / 6.0 * hues as f32) as usize).min(hues - 1);
        let saturation = usize::from(saturation >= 0.5);
        let value = ((value * 4.0) as usize).min(3);
        counts[(hue * 2 + saturation) * 4 + value] += 1;
    }
    counts
}

/// The mean of Y, Cb and Cr (ITU-R BT.601, 0 to 255) in each cell of an `n`×`n` grid, three numbers a cell; a cell that is
/// smaller than a pixel has those of the pixel that it lies in. O(pixels).
pub fn layout(picture: &Picture, n: usize) -> Vec<f32> {
    let n = n.max(1);
    let mut sums = vec![[0.0f64; 4]; n * n];
    for y in 0..picture.height {
        for x in 0..picture.width {
            let [r, g, b] = picture.pixels[y * picture.width + x].map(f64::from);
            let sum = &mut sums[picture.cell(x, y, n)];
            sum[0] += 0.299 * r + 0.587 * g + 0.114 * b;
            sum[1] += 128.0 - 0.168_736 * r - 0.331_264 * g + 0.5 * b;
            sum[2] += 128.0 + 0.5 * r - 0.418_688 * g - 0.081_312 * b;
            sum[3] += 1.0;
        }
    }
    let filled = |row: usize, column: usize| {
        // a picture smaller than the grid: the pixel that holds the cell
        let (x, y) = (column * picture.width / n, row * picture.height / n);
        sums[picture.cell(x, y, n)]
    };
    let mut means = Vec::with_capacity(3 * n * n);
    for row in 0..n {
        for column in 0..n {
            let own = sums[row * n + column];
            let [y, cb, cr, count] = if own[3] > 0.0 { own } else { filled(row, column) };
            means.extend([y, cb, cr].map(|sum| (sum / count.max(1.0)) as f32));
        }
    }
    means
}
