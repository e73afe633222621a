//! The XML list of labels beside a Mulan ARFF file: the names of its `<label name="…">` tags, nested or not.

use crate::data::columns::once;
use crate::data::source::{NO_CONTROL, control, control_name, read_at_most};
use crate::data::strings::short;
use crate::error::{Error, Result};
use std::path::Path;

/// The most bytes of a list.
const LONGEST: usize = 16 << 20;

/// The names of the labels, in the order of the file.
pub(in crate::data) fn read(path: &Path) -> Result<Vec<String>> {
    let bytes = read_at_most(path, LONGEST, "a list of labels")?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let ends = |at: usize| bytes[at] == b'\n' || bytes[at..].starts_with(b"\r\n");
    if let Some(at) = (0..bytes.len()).find(|&at| control(&bytes[at..=at]).is_some() && !ends(at)) {
        return Err(place(path, bytes, at, NO_CONTROL.into(), control_name(bytes[at])));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let found = "other bytes".into();
        place(path, bytes, error.valid_up_to(), "XML in UTF-8".into(), found)
    })?;
    let names = Scan { text, at: 0 }.labels().map_err(|(at, expected)| {
        let found = match text[at..].split(char::is_control).next().map(short).as_deref() {
            None | Some("") if text[at..].trim_ascii().is_empty() => "the end of the file".to_owned(),
            None | Some("") => "the end of the line".to_owned(),
            Some(found) => format!("{found:?}"),
        };
        place(path, bytes, at, expected, found)
    })?;
    if names.is_empty() {
        return Err(Error::Content {
            path: path.into(),
            expected: "labels (<label name=\"…\"></label>)".into(),
            found: "none".into(),
        });
    }
    once(path, "label", &names)?;
    Ok(names)
}

fn place(path: &Path, text: &[u8], at: usize, expected: String, found: String) -> Error {
    let at = at.min(text.trim_ascii_end().len()); // the end of the file is that of its last line
    let before = &text[..at];
    let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    Error::Parse {
        path: path.into(),
        line: memchr::memchr_iter(b'\n', before).count() + 1,
        column: at - start + 1,
        expected,
        found,
    }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

/// Where the text is wrong, and what was expected there.
type Wrong = (usize, String);

impl<'a> Scan<'a> {
    fn labels(mut self) -> std::result::Result<Vec<String>, Wrong> {
        let (mut names, mut open): (Vec<String>, Vec<&str>) = (vec![], vec![]);
        let mut rooted = false;
        while let Some(next) = self.text[self.at..].find('<') {
            let start = self.at + next;
            if open.is_empty() {
                self.blank(start)?;
            }
            self.at = start;
            let tag = &self.text[start..];
            let skipped = [("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>"), ("<!", ">")];
            if let Some((_, end)) = skipped.iter().find(|(begin, _)| tag.starts_with(begin)) {
                self.past(end)?;
            } else if tag.starts_with("</") {
                self.at += 2;
                let name = self.word();
                if open.pop() != Some(name) {
                    return Err((start, "a closing tag for the last one that was opened".into()));
                }
                self.space();
                self.sign('>')?;
            } else {
                if open.is_empty() && rooted {
                    return Err((start, "the end of the file behind the tag that holds all others".into()));
                }
                rooted = true;
                self.at += 1;
                let name = self.word();
                if name.is_empty() {
                    return Err((start, "the name of a tag behind <".into()));
                }
                let (label, closed) = self.attributes()?;
                if name.rsplit(':').next() == Some("label") {
                    names.push(label.ok_or((start, "<label name=\"…\">".to_owned()))?);
                }
                if !closed {
                    open.push(name);
                }
            }
        }
        match open.last() {
            None => self.blank(self.text.len()).map(|()| names),
            Some(name) => Err((self.text.len(), format!("</{}>", short(name)))),
        }
    }

    /// Refuses text between here and `end`: outside of all tags there are blanks alone.
    fn blank(&self, end: usize) -> std::result::Result<(), Wrong> {
        let text = &self.text[self.at..end];
        match text.trim_ascii_start() {
            "" => Ok(()),
            rest => Err((end - rest.len(), "tags alone outside of the one that holds all others".into())),
        }
    }

    /// The value of the attribute `name`, where there is one, and whether the tag closes itself.
    fn attributes(&mut self) -> std::result::Result<(Option<String>, bool), Wrong> {
        let (mut found, mut keys) = (None, vec![]);
        loop {
            self.space();
            if self.text[self.at..].starts_with("/>") {
                self.at += 2;
                return Ok((found, true));
            }
            if self.text[self.at..].starts_with('>') {
                self.at += 1;
                return Ok((found, false));
            }
            let (before, key) = (self.at, self.word());
            if key.is_empty() {
                return Err((self.at, "name=\"…\" or > in a tag".into()));
            }
            if keys.contains(&key) {
                return Err((before, format!("each attribute of a tag once, and {} stands twice", short(key))));
            }
            keys.push(key);
            self.space();
            self.sign('=')?;
            self.space();
            let rest = &self.text[self.at..];
            let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
                return Err((self.at, "a value in quotes".into()));
            };
            let Some(len) = rest[1..].find(quote) else {
                return Err((self.at, format!("a value that ends in {quote}")));
            };
            if let Some(at) = rest[1..=len].find('<') {
                return Err((self.at + 1 + at, "&lt; for a < in a value".into()));
            }
            if key == "name" {
                found = Some(decoded(&rest[1..=len]).map_err(|at| (self.at + 1 + at, "an XML entity".to_owned()))?);
            }
            self.at += len + 2;
        }
    }

    /// Goes behind the next `end`.
    fn past(&mut self, end: &str) -> std::result::Result<(), Wrong> {
        let len = self.text[self.at..].find(end).ok_or_else(|| (self.text.len(), end.to_owned()))?;
        self.at += len + end.len();
        Ok(())
    }

    fn sign(&mut self, sign: char) -> std::result::Result<(), Wrong> {
        if !self.text[self.at..].starts_with(sign) {
            return Err((self.at, sign.to_string()));
        }
        self.at += 1;
        Ok(())
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_ascii_start().len();
    }

    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let ends = |c: char| c.is_whitespace() || c.is_control() || "<>/='\"".contains(c);
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }
}

/// Text with its entities replaced; where one is wrong.
fn decoded(text: &str) -> std::result::Result<String, usize> {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(start) = text[at..].find('&').map(|next| at + next) {
        out.push_str(&text[at..start]);
        let len = text[start..].find(';').ok_or(start)?;
        let name = &text[start + 1..start + len];
        let number = match name.strip_prefix('#') {
            Some(digits) => match digits.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok(),
                None => digits.parse().ok(),
            },
            None => None,
        };
        out.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => number.and_then(char::from_u32).ok_or(start)?,
        });
        at = start + len + 1;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Result<Vec<String>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("labels.xml");
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn names_nested_or_not() {
        let text = "\u{feff}<?xml version='1.0'?>\r\n<!-- <label name=\"no\"> -->\n<labels xmlns=\"x\">\n\
                    <label name=\"a&amp;b &#60;&#x3E;&quot;&apos;\">\n  <label  id = '1' name = 'the \"sea\"' />\n</label >\n\
                    <label name='é'></label><other name='x'/></labels>\n";
        assert_eq!(labels(text).unwrap(), ["a&b <>\"'", "the \"sea\"", "é"]);
    }

    #[test]
    fn refusals_name_the_place() {
        let refusal = |text: &str| {
            let text = labels(text).unwrap_err().to_string();
            text.split("labels.xml").nth(1).unwrap_or("").to_owned()
        };
        assert_eq!(refusal("<labels>\n<label name=\"a\">\n"), ":2:17: expected </label>, found the end of the file");
        assert_eq!(
            refusal("<labels>\n <label nam=\"a\"/></labels>"),
            ":2:2: expected <label name=\"…\">, found \"<label nam=\\\"a\\\"/></labels>\""
        );
        assert_eq!(
            refusal("<labels><label name=a/></labels>"),
            ":1:21: expected a value in quotes, found \"a/></labels>\""
        );
        assert_eq!(
            refusal("<labels><label name=\"&no;\"/></labels>"),
            ":1:22: expected an XML entity, found \"&no;\\\"/></labels>\""
        );
        assert_eq!(refusal("<labels></labels>"), ": expected labels (<label name=\"…\"></label>), found none");
        assert_eq!(
            refusal("<l><label name='a'/><label name='a'/></l>"),
            ": expected each label name once, found \"a\" twice"
        );
        assert!(refusal("<labels></label>").contains("a closing tag"));
        for (text, place, expected) in [
            ("<l><label name='a'/></l><l><label name='b'/></l>", ":1:25:", "the end of the file"),
            ("<l><label name='a'/></l>b", ":1:25:", "tags alone outside"),
            ("x<l><label name='a'/></l>", ":1:1:", "tags alone outside"),
            ("<l><label name='a' name='b'/></l>", ":1:20:", "each attribute of a tag once"),
            ("<l><label name='a<b'/></l>", ":1:18:", "&lt; for a <"),
            ("<l>< label name='a'/></l>", ":1:4:", "the name of a tag"),
        ] {
            let found = refusal(text);
            assert!(found.starts_with(place) && found.contains(expected), "{text}: {found}");
        }
        let found = refusal("<labels>\r\n<label name='a\u{1}b'/></labels>");
        assert!(found.starts_with(":2:15: expected text without control bytes"), "{found}");
    }
}
