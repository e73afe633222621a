//! Packed files: gzip and zstd, with the feature `compression`. Without it a packed file is refused by name.

use std::io::{self, Read, Write};

/// How the bytes of a file are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data) enum Packing {
    Gzip,
    Zstd,
    Plain,
}

impl Packing {
    /// By the first bytes.
    pub(in crate::data) fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// By the ending of a name.
    pub(super) fn named(extension: &str) -> Self {
        match extension {
            "gz" => Self::Gzip,
            "zst" | "zstd" => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// What `packed` holds.
    #[cfg(feature = "compression")]
    pub(super) fn unpack(self, packed: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(io::BufReader::with_capacity(1 << 16, packed))),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(packed)?),
            Self::Plain => Box::new(packed),
        })
    }

    /// Fills `file` with what `fill` writes, packed.
    #[cfg(feature = "compression")]
    pub(super) fn pack(
        self,
        file: &mut dyn Write,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut file = io::BufWriter::new(file);
        match self {
            Self::Gzip => {
                let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::default());
                fill(&mut out).and_then(|()| out.finish()).and_then(|mut out| out.flush())
            }
            Self::Zstd => {
                let mut out = zstd::stream::write::Encoder::new(file, 0)?;
                out.include_checksum(true)?;
                fill(&mut out).and_then(|()| out.finish()).and_then(|mut out| out.flush())
            }
            Self::Plain => fill(&mut file).and_then(|()| file.flush()),
        }
    }

    #[cfg(not(feature = "compression"))]
    pub(super) fn unpack(self, packed: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        self.plain().map(|()| Box::new(packed) as Box<dyn Read + Send>)
    }

    #[cfg(not(feature = "compression"))]
    pub(super) fn pack(
        self,
        file: &mut dyn Write,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.plain()?;
        let mut file = io::BufWriter::new(file);
        fill(&mut file).and_then(|()| file.flush())
    }

    #[cfg(not(feature = "compression"))]
    fn plain(self) -> io::Result<()> {
        match self {
            Self::Plain => Ok(()),
            packed => Err(io::Error::other(format!(
                "{packed:?} files need a build with the feature \"compression\"; this build has none"
            ))),
        }
    }
}
