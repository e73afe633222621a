//! Damaged pictures: refused, or pixels that can be told.
//!
//! A bitmap of 24 bits is read by a plain reader of our own; a PNG has checksums, so that one that is taken shows what it showed. JPEG, GIF,
//! WebP and other bitmaps have neither: there the pixels are those of the library that unpacks them, shown on white.

use super::memory;
use super::mutate;
use super::readers::allowed;
use super::suite::{Check, Suite, clear_message, damage, ensure};
use image::{DynamicImage, ImageFormat, Rgba, RgbaImage};
use ordain::data::pictures::read_picture;
use ordain::picture::{Picture, edges, shape};
use ordain::random::Random;
use std::fs;
use std::io::Cursor;

const WIDTH: u32 = 7;
const HEIGHT: u32 = 5;

fn made(format: ImageFormat) -> Vec<u8> {
    let mut random = Random::new(11);
    let solid = matches!(format, ImageFormat::Bmp | ImageFormat::Jpeg);
    let pixel = |random: &mut Random| {
        let alpha = if solid { 255 } else { [255, 255, 128, 0][random.below(4)] };
        Rgba([random.bits() as u8, random.bits() as u8, random.bits() as u8, alpha])
    };
    let image = DynamicImage::from(RgbaImage::from_fn(WIDTH, HEIGHT, |_, _| pixel(&mut random)));
    let image = if solid { DynamicImage::from(image.to_rgb8()) } else { image };
    let mut out = Cursor::new(vec![]);
    image.write_to(&mut out, format).expect("a picture");
    out.into_inner()
}

fn little(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Whether the head of a bitmap says that it has 24 bits and nothing special.
fn is_plain(bytes: &[u8]) -> bool {
    let kind = little(bytes, 28).map(|word| word & 0xffff);
    bytes.starts_with(b"BM") && (little(bytes, 14), kind, little(bytes, 30)) == (Some(40), Some(24), Some(0))
}

/// A bitmap of 24 bits.
fn bitmap(bytes: &[u8]) -> Option<(usize, usize, Vec<[u8; 3]>)> {
    let start = little(bytes, 10)? as usize;
    let (width, height) = (little(bytes, 18)? as i32, little(bytes, 22)? as i32);
    let (wide, tall) = (usize::try_from(width).ok()?, height.unsigned_abs() as usize);
    let line = wide.checked_mul(3)?.next_multiple_of(4);
    let mut pixels = vec![];
    for row in 0..tall {
        let row = if height > 0 { tall - 1 - row } else { row };
        for column in 0..wide {
            let at = start.checked_add(row.checked_mul(line)?)?.checked_add(3 * column)?;
            let [b, g, r] = bytes.get(at..at.checked_add(3)?)? else { return None };
            pixels.push([*r, *g, *b]);
        }
    }
    Some((wide, tall, pixels))
}

/// What the library unpacks, shown on white.
fn unpacked(bytes: &[u8]) -> Option<(usize, usize, Vec<[u8; 3]>)> {
    let image = image::load_from_memory(bytes).ok()?.into_rgba8();
    let white = |c: u8, alpha: u8| {
        let share = f64::from(alpha) / 255.0;
        (f64::from(c) * share + 255.0 * (1.0 - share)).round() as u8
    };
    let pixels = image.pixels().map(|p| [0, 1, 2].map(|c| white(p.0[c], p.0[3]))).collect();
    Some((image.width() as usize, image.height() as usize, pixels))
}

fn same(picture: &Picture, truth: Option<(usize, usize, Vec<[u8; 3]>)>) -> Check {
    let Some((width, height, pixels)) = truth else {
        return Err(("what is wrong was read".into(), format!("{} x {}", picture.width(), picture.height())));
    };
    ensure!((picture.width(), picture.height()) == (width, height), "another size", "{width} x {height}");
    ensure!(picture.pixels() == pixels, "other pixels", "{:?}", picture.pixels());
    Ok(())
}

/// Features of any picture are finite.
fn finite(picture: &Picture) -> Check {
    let all = [edges::gradients(picture, 4, 2), shape::descriptors(picture)];
    ensure!(all.iter().flatten().all(|x| x.is_finite()), "a feature that is no number", "{all:?}");
    Ok(())
}

/// Pictures of all five formats.
pub(crate) fn damaged_pictures(suite: &mut Suite, inputs: usize) {
    let formats = [
        ("a.png", ImageFormat::Png),
        ("a.bmp", ImageFormat::Bmp),
        ("a.gif", ImageFormat::Gif),
        ("a.jpg", ImageFormat::Jpeg),
        ("a.webp", ImageFormat::WebP),
    ];
    let seeds = formats.map(|(name, format)| (name, format, made(format)));
    let mut random = damage(970);
    for turn in 0..inputs + seeds.len() {
        let (name, format, whole) = &seeds[turn % seeds.len()];
        let (bytes, told) = match turn < seeds.len() {
            true => (whole.clone(), "whole".to_owned()),
            false => mutate::binary(whole, &mut random),
        };
        let path = suite.path(name);
        fs::write(&path, &bytes).expect("a file");
        let taken = suite.run(&format!("{name} {turn} ({told})"), &bytes, || {
            let (read, peak) = memory::peak(|| read_picture(&path));
            // the bound of a picture is its number of pixels, whatever the size of the file
            ensure!(peak <= allowed(bytes.len()) + (1 << 29), "too much memory", "{peak} bytes for {}", bytes.len());
            match read {
                Err(error) => clear_message(&error, &path).map(|()| false),
                Ok(picture) => {
                    same(
                        &picture,
                        match format {
                            ImageFormat::Bmp if is_plain(&bytes) => bitmap(&bytes),
                            ImageFormat::Png => unpacked(whole),
                            _ => unpacked(&bytes),
                        },
                    )?;
                    if picture.pixels().len() < 10_000 {
                        finite(&picture)?;
                    }
                    Ok(true)
                }
            }
        });
        assert!(turn >= seeds.len() || taken == Some(true), "{name} is not read");
    }
}
