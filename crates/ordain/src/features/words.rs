//! Words and n-grams of a text.

use unicode_segmentation::UnicodeSegmentation;

/// The most bytes of a cell that are looked at: no cell can make the work endless.
const LONGEST: usize = 1 << 20;

/// The beginning of a text, up to a whole letter.
fn bounded(text: &str) -> &str {
    let end = (0..=text.len().min(LONGEST)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

/// A text in small letters, in a buffer.
pub(super) fn lowered(text: &str, out: &mut String) {
    out.clear();
    let text = bounded(text);
    match text.is_ascii() {
        true => {
            out.push_str(text);
            out.make_ascii_lowercase();
        }
        false => out.extend(text.chars().flat_map(char::to_lowercase)),
    }
}

/// Whether a letter belongs to a word, of ASCII text.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The words of a text in small letters, by their places: runs of letters, digits and `_`, at least two of them, as scikit-learn has it. Where there are
/// letters beyond ASCII, words end by the rules of Unicode (UAX #29) too, so that a language without blanks has words, and one such letter is a word.
pub(super) fn words(text: &str, out: &mut Vec<(u32, u32)>) {
    out.clear();
    if text.is_ascii() {
        return runs(text, 0, out);
    }
    for (at, word) in text.unicode_word_indices() {
        match word.is_ascii() {
            true => runs(word, at, out),
            false => {
                // signs inside a word part it, as they do in ASCII
                let sign = |c: char| c.is_ascii() && !is_word(c as u8);
                for part in word.split(sign).filter(|part| !part.is_empty()) {
                    let from = at + (part.as_ptr() as usize - word.as_ptr() as usize);
                    if part.len() > 1 {
                        out.push((from as u32, (from + part.len()) as u32));
                    }
                }
            }
        }
    }
}

/// Runs of at least two letters of ASCII text that begins at a place of the whole.
fn runs(text: &str, start: usize, out: &mut Vec<(u32, u32)>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let from = at;
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        if at - from > 1 {
            out.push(((start + from) as u32, (start + at) as u32));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let (mut low, mut places) = (String::new(), vec![]);
        lowered(text, &mut low);
        words(&low, &mut places);
        places.iter().map(|&(a, b)| low[a as usize..b as usize].to_owned()).collect()
    }

    #[test]
    fn words_are_runs_of_letters() {
        assert_eq!(all("The can't-do a_b x 42, I'm 7!"), ["the", "can", "do", "a_b", "42"]);
        assert_eq!(all("Ärger über L'été"), ["ärger", "über", "été"]);
        assert_eq!(all("漢字 and"), ["漢", "字", "and"]);
        assert_eq!(all(""), [""; 0]);
        assert_eq!(all("\u{0}\u{feff}..."), [""; 0]);
        assert!(all(&"é".repeat(LONGEST)).len() == 1);
    }
}
