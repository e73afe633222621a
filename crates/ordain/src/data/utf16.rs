//! UTF-16 as UTF-8, as it is read: spreadsheets write "Unicode text" so, with a mark before it.

use std::io::{self, Read};

/// The marks before UTF-16, the low byte first and the high byte first.
const MARKS: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

/// What `raw` holds in UTF-8: decoded where it begins with a mark of UTF-16, else as it is.
pub(super) fn decoded(mut raw: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut start = Vec::with_capacity(10);
    (&mut raw).take(10).read_to_end(&mut start)?;
    // the length of a model's header may look like a mark
    let mark = MARKS.iter().position(|mark| start.starts_with(mark)).filter(|_| !start[2..].ends_with(b"{\""));
    Ok(match mark {
        Some(order) => {
            let raw = Box::new(io::Cursor::new(start.split_off(2)).chain(raw));
            Box::new(Utf16 { raw, big: order == 1, bytes: vec![], text: vec![], at: 0, high: None })
        }
        None => Box::new(io::Cursor::new(start).chain(raw)),
    })
}

/// What is wrong with the text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Broken(&'static str);

/// Whether an error of reading is one of UTF-16.
pub(super) fn broken(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Broken>())
}

struct Utf16 {
    raw: Box<dyn Read + Send>,
    big: bool,
    /// Bytes that were read, and the half of a unit that is left of those before.
    bytes: Vec<u8>,
    text: Vec<u8>,
    at: usize,
    /// The first half of a pair.
    high: Option<u16>,
}

impl Utf16 {
    /// Decodes the next bytes; nothing at the end.
    fn more(&mut self) -> io::Result<()> {
        let wrong = |what: &'static str| io::Error::new(io::ErrorKind::InvalidData, Broken(what));
        let kept = self.bytes.len();
        self.bytes.reserve(1 << 16);
        if (&mut self.raw).take(1 << 16).read_to_end(&mut self.bytes)? == 0 {
            return match (kept, self.high) {
                (0, None) => Ok(()),
                _ => Err(wrong("a file that ends inside a character")),
            };
        }
        self.text.clear();
        self.at = 0;
        let mut buffer = [0; 4];
        for unit in self.bytes.chunks_exact(2) {
            let pair = [unit[0], unit[1]];
            let unit = if self.big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
            let character = match (self.high.take(), unit) {
                (None, 0xd800..=0xdbff) => {
                    self.high = Some(unit);
                    continue;
                }
                (None, _) => char::from_u32(u32::from(unit)),
                (Some(high), _) => {
                    char::decode_utf16([high, unit]).next().and_then(Result::ok).filter(|c| c.len_utf16() == 2)
                }
            };
            let Some(character) = character else { return Err(wrong("half a pair of surrogates")) };
            self.text.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        }
        let rest = self.bytes.len() / 2 * 2;
        self.bytes.drain(..rest);
        Ok(())
    }
}

impl Read for Utf16 {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() {
            self.text.clear();
            self.at = 0;
            let before = self.high.is_some();
            self.more()?;
            if self.text.is_empty() && self.high.is_some() == before && self.bytes.is_empty() {
                return Ok(0);
            }
        }
        let n = out.len().min(self.text.len() - self.at);
        out[..n].copy_from_slice(&self.text[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: Vec<u8>) -> io::Result<String> {
        let mut text = String::new();
        decoded(Box::new(io::Cursor::new(bytes)))?.read_to_string(&mut text).map(|_| text)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::cases::cases(300)))]
        #[test]
        fn any_text_comes_back(text in "\\PC{0,40}", times in 1usize..4000, big in any::<bool>()) {
            let text = text.repeat(times);
            let units = text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() });
            let bytes: Vec<u8> = MARKS[usize::from(big)].into_iter().chain(units).collect();
            prop_assert_eq!(read(bytes).unwrap(), text);
        }
    }

    #[test]
    fn what_is_cut_or_broken_is_refused() {
        assert_eq!(read(b"plain".to_vec()).unwrap(), "plain");
        assert_eq!(read(vec![0xff, 0xfe]).unwrap(), "");
        assert!(read(vec![0xff, 0xfe, b'a']).is_err());
        assert!(read(vec![0xff, 0xfe, 0x00, 0xd8]).is_err());
        assert!(read(vec![0xff, 0xfe, 0x00, 0xd8, b'a', 0]).is_err());
        assert!(read(vec![0xff, 0xfe, 0x00, 0xdc, b'a', 0]).is_err());
    }
}
