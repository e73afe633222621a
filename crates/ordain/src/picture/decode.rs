//! Pictures from the bytes of a file, within bounds.

use super::Picture;
use crate::error::{Error, Result, one_line};
use image::{ImageReader, Limits};
use std::io::Cursor;
use std::path::Path;

/// A picture of more pixels than this is refused before they are unpacked.
pub const MOST_PIXELS: u64 = 1 << 26;

/// A side longer than this is refused.
const MOST_SIDE: u32 = 1 << 16;

impl Picture {
    /// Reads PNG, JPEG, GIF (its first frame), BMP or WebP; which of them it is, its first bytes say. What is transparent is
    /// shown on white.
    ///
    /// At most [`MOST_PIXELS`] pixels and half a gigabyte are unpacked: what claims more is refused by its head.
    ///
    /// # Errors
    ///
    /// [`Error::Content`] with the name of the file where the bytes are no such picture, are damaged, or are too many.
    pub fn decode(bytes: &[u8], path: &Path) -> Result<Self> {
        let refuse =
            |expected: &str, found: String| Error::Content { path: path.into(), expected: expected.into(), found };
        let readable = "a PNG, JPEG, GIF, BMP or WebP picture";
        let open = || {
            ImageReader::new(Cursor::new(bytes))
                .with_guessed_format()
                .map_err(|e| refuse(readable, one_line(&e.to_string())))
        };
        let head = open()?;
        if head.format().is_none() {
            return Err(refuse(readable, "other bytes".into()));
        }
        let (width, height) = head.into_dimensions().map_err(|e| refuse(readable, one_line(&e.to_string())))?;
        if u64::from(width) * u64::from(height) > MOST_PIXELS || width.max(height) > MOST_SIDE {
            let expected = format!("a picture of at most {MOST_PIXELS} pixels; make it smaller");
            return Err(refuse(&expected, format!("{width} x {height}")));
        }
        let mut reader = open()?;
        let mut limits = Limits::default();
        limits.max_image_width = Some(MOST_SIDE);
        limits.max_image_height = Some(MOST_SIDE);
        limits.max_alloc = Some(1 << 29);
        reader.limits(limits);
        let image = reader.decode().map_err(|e| refuse(readable, one_line(&e.to_string())))?.into_rgba8();
        let on_white = |c: u8, alpha: u8| {
            let alpha = u32::from(alpha);
            ((u32::from(c) * alpha + 255 * (255 - alpha) + 127) / 255) as u8
        };
        let pixels = image.pixels().map(|p| [0, 1, 2].map(|c| on_white(p.0[c], p.0[3]))).collect();
        Self::new(image.width() as usize, image.height() as usize, pixels)
            .map_err(|_| refuse(readable, format!("{width} x {height} pixels")))
    }
}
