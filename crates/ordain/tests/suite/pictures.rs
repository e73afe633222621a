//! Pictures, sequences and tensors as numbers.
#![allow(clippy::unwrap_used)] // a test may panic

use crate::cases::cases;
use ordain::Interrupt;
use ordain::data::pictures::{Kept, Tensors, find, read_picture};
use ordain::picture::tensor::Reduction;
use ordain::picture::{Grey, Learned, Picture, Recipe, colour, edges, shape};
use ordain::random::Random;
use std::f64::consts::TAU;
use std::path::Path;

fn drawn(width: usize, height: usize, value: impl Fn(usize, usize) -> [u8; 3]) -> Picture {
    let pixels = (0..width * height).map(|at| value(at % width, at / width)).collect();
    Picture::new(width, height, pixels).unwrap()
}

/// A picture of 24 bits as a BMP file.
pub(crate) fn bmp(picture: &Picture) -> Vec<u8> {
    let (w, h) = (picture.width(), picture.height());
    let row = (3 * w).next_multiple_of(4);
    let mut bytes = b"BM".to_vec();
    for n in [54 + row * h, 0, 54, 40, w, h] {
        bytes.extend((n as u32).to_le_bytes());
    }
    bytes.extend([1, 0, 24, 0]);
    bytes.extend([0; 24]);
    for y in (0..h).rev() {
        for x in 0..w {
            let [r, g, b] = picture.pixels()[y * w + x];
            bytes.extend([b, g, r]);
        }
        bytes.resize(bytes.len() + row - 3 * w, 0);
    }
    bytes
}

#[test]
fn ramps_fill_the_bin_of_their_direction() {
    for size in [40usize, 97] {
        for k in 0..16 {
            let angle = TAU * k as f64 / 16.0;
            let reach = size as f64 * 0.75;
            let ramp = drawn(size, size, |x, y| {
                let (x, y) = (x as f64 - size as f64 / 2.0, y as f64 - size as f64 / 2.0);
                let along = x * angle.cos() + y * angle.sin();
                [(127.5 + 120.0 * along / reach).round() as u8; 3]
            });
            let counts = edges::directions(&ramp, 16, 1);
            let all: u32 = counts.iter().sum();
            assert!(all as usize > size * size / 3, "{all} pixels of {size} x {size} are on an edge");
            assert_eq!(counts[k], all, "direction {k}: {counts:?}");
        }
    }
}

#[test]
fn counts_sum_to_pixels_and_cells_to_the_whole() {
    let mut random = Random::new(1);
    for _ in 0..cases(40) {
        let (w, h) = (1 + random.below(40), 1 + random.below(40));
        let bytes: Vec<u8> = (0..3 * w * h).map(|_| random.below(256) as u8).collect();
        let picture = drawn(w, h, |x, y| [0, 1, 2].map(|c| bytes[3 * (y * w + x) + c]));
        let bins = 8 * (1 + random.below(32));
        let counts = colour::histogram(&picture, bins);
        assert_eq!((counts.len(), counts.iter().sum::<u32>() as usize), (bins, w * h));
        let n = 1 + random.below(6);
        let (whole, cells) = (edges::directions(&picture, 16, 1), edges::directions(&picture, 16, n));
        for k in 0..16 {
            assert_eq!(whole[k], (0..n * n).map(|cell| cells[cell * 16 + k]).sum::<u32>());
        }
        let recipe =
            Recipe { colour: bins, layout: true, edges: 16, gradients: 9, shape: true, grid: n, ..Recipe::default() };
        let learned = Learned::learn(recipe, 0, |_| unreachable!(), 0, &Interrupt::default()).unwrap();
        let row = learned.apply(&picture);
        assert_eq!(row.len(), learned.names().len());
        assert!(row.iter().all(|x| x.is_finite()));
    }
}

/// Layouts of a picture of four colours on a grid of two, and of a picture smaller than the grid.
#[test]
fn layouts_are_means() {
    let corner = |x: usize, y: usize| if x < 3 && y < 2 { [255, 255, 255] } else { [0, 0, 0] };
    let layout = colour::layout(&drawn(6, 4, corner), 2);
    assert!((layout[0] - 255.0).abs() < 1e-3 && layout[3].abs() < 1e-3 && (layout[4] - 128.0).abs() < 1e-3);
    assert!(colour::layout(&drawn(1, 1, |_, _| [255; 3]), 3).chunks(3).all(|cell| (cell[0] - 255.0).abs() < 1e-3));
}

/// Resizing keeps the mean, and equals a plain loop over shares of areas.
#[test]
fn resized_planes_are_means_of_areas() {
    let mut random = Random::new(2);
    for _ in 0..cases(40) {
        let [w, h, a, b] = [0; 4].map(|_| 1 + random.below(12));
        let values: Vec<f32> = (0..w * h).map(|_| random.below(256) as f32).collect();
        let plane = Grey::new(w, h, values.clone()).unwrap();
        let small = plane.resized(a, b);
        let share = |k: usize, new: usize, old: usize, cell: usize| {
            let (from, to) = (k as f64 * old as f64 / new as f64, (k + 1) as f64 * old as f64 / new as f64);
            ((to.min(cell as f64 + 1.0) - from.max(cell as f64)).max(0.0)) * new as f64 / old as f64
        };
        for (at, got) in small.values().iter().enumerate() {
            let want: f64 = (0..w * h)
                .map(|p| share(at % a, a, w, p % w) * share(at / a, b, h, p / w) * f64::from(values[p]))
                .sum();
            assert!((f64::from(*got) - want).abs() < 1e-3);
        }
    }
}

/// A silhouette that is moved, turned by a quarter, made twice as large or shown dark on bright has the same numbers.
#[test]
fn shapes_do_not_depend_on_place_size_and_turn() {
    let inside =
        |x: f64, y: f64| (x * x + 3.0 * y * y < 900.0 && x > -20.0) || ((x - 20.0).abs() < 6.0 && y.abs() < 30.0);
    let shown = |scale: f64, turn: bool, dx: f64, dark: bool| {
        drawn(128, 128, |x, y| {
            let (x, y) = ((x as f64 - 64.0 - dx) / scale, (y as f64 - 64.0) / scale);
            let front = if turn { inside(y, -x) } else { inside(x, y) };
            if front != dark { [255; 3] } else { [10; 3] }
        })
    };
    let base = shape::descriptors(&shown(1.0, false, 0.0, false));
    assert_eq!((base.len(), shape::names().len()), (shape::LENGTH, shape::LENGTH));
    let same = |other: Picture, within: f32| {
        for ((a, b), name) in base.iter().zip(shape::descriptors(&other)).zip(shape::names()) {
            assert!((a - b).abs() <= within * (1.0 + a.abs()), "{name}: {a} and {b}");
        }
    };
    same(shown(1.0, false, 0.0, true), 1e-6);
    same(shown(1.0, false, 9.0, false), 1e-3);
    same(shown(1.0, true, 0.0, false), 0.05);
    same(shown(1.6, false, 0.0, false), 0.25);
    let disc = drawn(100, 100, |x, y| if (x as f64 - 50.0).hypot(y as f64 - 50.0) < 40.0 { [255; 3] } else { [0; 3] });
    let numbers = shape::descriptors(&disc);
    assert!((numbers[shape::LENGTH - 2] - 1.0).abs() < 0.02 && (numbers[shape::LENGTH - 1] - 1.0).abs() < 0.1);
    shape::descriptors(&drawn(1, 1, |_, _| [0; 3]));
}

fn random_tensors(random: &mut Random, n: usize, sizes: &[usize]) -> Vec<f64> {
    (0..n * sizes.iter().product::<usize>()).map(|_| random.normal()).collect()
}

#[test]
fn factors_are_orthonormal_and_the_error_never_rises() {
    let mut random = Random::new(3);
    for _ in 0..cases(30) {
        let modes = 1 + random.below(3);
        let sizes: Vec<usize> = (0..modes).map(|_| 1 + random.below(6)).collect();
        let ranks: Vec<usize> = sizes.iter().map(|&s| 1 + random.below(s)).collect();
        let n = 1 + random.below(40);
        let samples = random_tensors(&mut random, n, &sizes);
        let reduction = Reduction::learn(&samples, &sizes, &ranks, &Interrupt::default()).unwrap();
        for (k, (&s, &r)) in sizes.iter().zip(&ranks).enumerate() {
            let u = reduction.factor(k);
            for i in 0..r {
                for j in 0..r {
                    let dot: f64 = (0..s).map(|x| u[i * s + x] * u[j * s + x]).sum();
                    assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-10);
                }
            }
        }
        assert!(reduction.errors().is_sorted_by(|a, b| a >= b));
        let whole: usize = sizes.iter().product();
        let mut lost = 0.0;
        for sample in samples.chunks_exact(whole) {
            let back = reduction.restore(&reduction.apply(sample).unwrap());
            lost += sample.iter().zip(&back).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        }
        assert!((lost - reduction.error()).abs() < 1e-9 * (1.0 + lost), "{lost} is lost, not {}", reduction.error());
        let full = Reduction::learn(&samples, &sizes, &sizes, &Interrupt::default()).unwrap();
        for sample in samples.chunks_exact(whole) {
            let back = full.restore(&full.apply(sample).unwrap());
            assert!(sample.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-10));
        }
    }
}

/// Samples of one mode: what is lost is the sum of the squared singular values that are left out. Here they are known: the
/// samples are multiples of orthogonal rows.
#[test]
fn a_matrix_gives_its_singular_values() {
    let axes = [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]];
    let sizes = [5.0f64, 3.0, 2.0];
    let mut samples = vec![];
    for (axis, size) in axes.iter().zip(sizes) {
        for part in [0.6, 0.8] {
            samples.extend(axis.iter().map(|x| x * size * part));
        }
    }
    for rank in 1..=3 {
        let reduction = Reduction::learn(&samples, &[3], &[rank], &Interrupt::default()).unwrap();
        let lost: f64 = sizes[rank..].iter().map(|s| s * s).sum();
        assert!((reduction.error() - lost).abs() < 1e-12);
        assert!(axes[0].iter().zip(reduction.factor(0)).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}

#[test]
fn what_is_learned_is_the_same_on_any_number_of_threads() {
    let mut random = Random::new(4);
    let samples = random_tensors(&mut random, 70, &[5, 4, 3]);
    let bytes: Vec<u8> = (0..3 * 60 * 48 * 4).map(|_| random.below(256) as u8).collect();
    let picture = |i: usize| Ok(drawn(60, 48, |x, y| [0, 1, 2].map(|c| bytes[(i * 60 * 48 + y * 60 + x) * 3 + c])));
    let run = |threads: usize| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let stop = Interrupt::default();
            let recipe = Recipe { fisher: 2, ..Recipe::default() };
            let learned = Learned::learn(recipe, 4, picture, 1, &stop).unwrap();
            let row = learned.apply(&picture(1).unwrap());
            (Reduction::learn(&samples, &[5, 4, 3], &[2, 2, 2], &stop).unwrap(), learned, row)
        })
    };
    let one = run(1);
    assert!(one == run(2) && one == run(7));
}

#[test]
fn folders_are_walked_in_order_of_names() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bmp(&drawn(5, 3, |x, y| [x as u8, y as u8, 7]))).unwrap();
    };
    for name in ["cat/2.bmp", "cat/10.bmp", "dog/1.bmp", "dog/notes.txt"] {
        file(name);
    }
    let found = find(&[dir.path().into()], false).unwrap();
    let ids: Vec<(&str, &str)> = found.found.iter().map(|f| (&f.id[..], &f.category[..])).collect();
    assert_eq!(ids, [("cat/2.bmp", "cat"), ("cat/10.bmp", "cat"), ("dog/1.bmp", "dog")]);
    assert_eq!(found.skipped, 1);
    assert_eq!(read_picture(&found.found[0].files[0]).unwrap(), drawn(5, 3, |x, y| [x as u8, y as u8, 7]));
    let frames = find(&[dir.path().into()], true).unwrap();
    assert_eq!(frames.found.iter().map(|f| f.files.len()).collect::<Vec<_>>(), [2, 1]);
    let error = Tensors::from_frames(&frames.found, 4).unwrap_err().to_string();
    assert!(error.contains("expected 2 frames, as \"cat\" has, found 1"), "{error}");
    let tensors = Tensors::from_frames(&frames.found[..1], 2).unwrap();
    assert_eq!((tensors.sizes, tensors.values.len()), (vec![2, 2, 2], 8));
    let empty = tempfile::tempdir().unwrap();
    assert!(find(&[empty.path().into()], false).unwrap_err().to_string().contains("a folder with pictures"));
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &b| {
        (0..8).fold(crc ^ u32::from(b), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

/// Pictures that claim more than they may have, and pictures that are cut or changed, are refused or read, within bounds.
#[test]
fn hostile_pictures_are_refused() {
    let name = Path::new("hostile");
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut head = b"IHDR".to_vec();
    head.extend(100_000u32.to_be_bytes());
    head.extend(100_000u32.to_be_bytes());
    head.extend([8, 6, 0, 0, 0]);
    png.extend(13u32.to_be_bytes());
    png.extend(&head);
    png.extend(crc(&head).to_be_bytes());
    let good = bmp(&drawn(20, 10, |x, y| [x as u8, y as u8, 200]));
    let mut large = good.clone();
    large[18..22].copy_from_slice(&100_000u32.to_le_bytes());
    large[22..26].copy_from_slice(&100_000u32.to_le_bytes());
    for bytes in [png.clone(), large] {
        let error = Picture::decode(&bytes, name).unwrap_err().to_string();
        assert!(error.contains("hostile: expected a"), "{error}");
    }
    assert!(Picture::decode(b"", name).is_err() && Picture::decode(b"GIF89a", name).is_err());
    let mut random = Random::new(5);
    let seeds = [good, png, b"RIFF\x10\0\0\0WEBPVP8 ".to_vec(), b"\xff\xd8\xff\xe0\0\x10JFIF\0".to_vec()];
    for case in 0..cases(2000) {
        let mut bytes = seeds[case as usize % seeds.len()].clone();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, random.below(256) as u8),
            }
        }
        if let Ok(picture) = Picture::decode(&bytes, name) {
            assert_eq!(picture.pixels().len(), picture.width() * picture.height());
        }
    }
}

/// A picture is the same in every format that keeps what it is given, and nearly so in JPEG.
#[test]
fn pictures_of_all_formats_are_read() {
    use image::{ExtendedColorType::Rgb8, ImageFormat};
    // two colours in blocks of JPEG
    let picture = drawn(32, 16, |x, _| if x < 16 { [200, 30, 30] } else { [20, 20, 220] });
    let bytes = picture.pixels().concat();
    for format in [ImageFormat::Png, ImageFormat::Gif, ImageFormat::Bmp, ImageFormat::WebP, ImageFormat::Jpeg] {
        let dir = tempfile::tempdir().unwrap();
        // the first bytes say what it is, whatever the name
        let path = dir.path().join("picture.png");
        image::save_buffer_with_format(&path, &bytes, 32, 16, Rgb8, format).unwrap();
        let read = read_picture(&path).unwrap();
        assert_eq!((read.width(), read.height()), (32, 16), "{format:?}");
        let apart = |(a, b): (&[u8; 3], &[u8; 3])| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
        let most = read.pixels().iter().zip(picture.pixels()).map(apart).max().unwrap();
        assert!(most <= if format == ImageFormat::Jpeg { 12 } else { 0 }, "{format:?}: {most}");
    }
}

#[test]
fn what_was_kept_is_read_again_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kept.json");
    let samples = random_tensors(&mut Random::new(6), 9, &[3, 2]);
    let kept = Kept::Tensors(Reduction::learn(&samples, &[3, 2], &[2, 1], &Interrupt::default()).unwrap());
    kept.write(&path).unwrap();
    assert_eq!(Kept::read(&path).unwrap(), kept);
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in [("\"ranks\":[2,1]", "\"ranks\":[3,1]"), ("\"sizes\":[3,2]", "\"sizes\":[3]"), ("{", "[")] {
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let error = Kept::read(&path).unwrap_err().to_string();
        assert!(error.contains("ordain features --keep"), "{error}");
    }
    // what cannot be learned is refused, place by place
    let wholes = [kept, Kept::Pictures(gaussians())];
    let forged: [(usize, &str, &str, serde_json::Value); 12] = [
        (0, "tensors", "/note", 1.into()),
        (0, "tensors", "/factors/1/0", 2.5.into()),
        (0, "tensors", "/factors/0/3", 0.into()),
        (0, "tensors", "/errors", serde_json::json!([])),
        (0, "tensors", "/errors", serde_json::json!([1.0, 2.0])),
        (1, "pictures", "/fisher/note", 1.into()),
        (1, "pictures", "/fisher/kinds/0/note", 1.into()),
        (1, "pictures", "/fisher/kinds/0/centre/5", 7.into()),
        (1, "pictures", "/fisher/kinds/1/axes/9", 1.5.into()),
        (1, "pictures", "/fisher/kinds/1/weights/0", 1.5.into()),
        (1, "pictures", "/fisher/kinds/0/means/3", 1e300.into()),
        (1, "pictures", "/fisher/kinds/0/deviations/3", 1e-300.into()),
    ];
    for (which, name, place, value) in forged {
        let mut json = serde_json::to_value(&wholes[which]).unwrap();
        let (parent, key) = place.rsplit_once('/').unwrap();
        match json[name].pointer_mut(parent).unwrap() {
            serde_json::Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
            other => other[key] = value,
        }
        std::fs::write(&path, json.to_string()).unwrap();
        assert!(Kept::read(&path).is_err(), "{place}");
    }
    // what is said of it is short and can be shown
    std::fs::write(&path, format!("{{\"tensors\":{{\"\u{7f}{}\":1}}}}", ",".repeat(1 << 16))).unwrap();
    let error = Kept::read(&path).unwrap_err().to_string();
    assert!(error.len() < 400 && !error.contains(char::is_control), "{error:?}");
    // 64 modes of two: more numbers than can be counted
    let (sizes, ranks, factors) = (vec![2; 64], vec![1; 64], vec![vec![1.0, 0.0]; 64]);
    let many = serde_json::json!({"tensors": {"sizes": sizes, "ranks": ranks, "factors": factors, "errors": [0.0]}});
    std::fs::write(&path, many.to_string()).unwrap();
    assert!(Kept::read(&path).is_err());
}

/// Fisher vectors of two Gaussians, learned from noise.
fn gaussians() -> Learned {
    let pictures: Vec<Picture> =
        (0..6).map(|k| drawn(48, 48, |x, y| [0, 1, 2].map(|c| noise(x, y, c + 3 * k)))).collect();
    let recipe = Recipe { fisher: 2, ..Recipe::default() };
    Learned::learn(recipe, 6, |i| Ok(pictures[i].clone()), 0, &Interrupt::default()).unwrap()
}

fn noise(x: usize, y: usize, k: usize) -> u8 {
    Random::new((x + 64 * y + 4096 * k) as u64).bits() as u8
}

/// An array of samples of this shape, of f4, each number of which is the same.
fn array(shape: &str, count: usize, x: f32) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    (0..count).for_each(|_| bytes.extend(x.to_le_bytes()));
    bytes
}

/// Arrays that hold no number may speak of more samples than there is memory for their names.
#[test]
fn arrays_without_numbers_are_no_samples() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("samples.npy");
    for shape in ["(0, 2)", "(3, 0)", "(18446744073709551615, 0)", "(4000000000000, 2, 0)"] {
        std::fs::write(&path, array(shape, 0, 1.0)).unwrap();
        let error = Tensors::from_npy(&path).unwrap_err().to_string();
        assert!(error.contains("at least one sample"), "{shape}: {error}");
    }
}

/// A core may be larger than any number of its sample.
#[test]
fn cores_beyond_single_precision_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("samples.npy");
    let reduction = Reduction::learn(&[1.0; 12], &[2, 3], &[1, 1], &Interrupt::default()).unwrap();
    for (x, right) in [(1e38, true), (3e38, false)] {
        std::fs::write(&path, array("(2, 2, 3)", 12, x)).unwrap();
        let reduced = Tensors::from_npy(&path).unwrap().reduced(&reduction);
        assert_eq!(reduced.is_ok(), right, "{reduced:?}");
    }
}
