//! The labelling interface of a project: which choices there are. Enough of XML is read for that, and nothing is expanded.

use crate::problem::{Problem, Result};

/// The largest interface that is read.
const LARGEST: usize = 4 << 20;

/// Choices of which several can be taken.
pub(super) struct Config {
    pub(super) from: String,
    pub(super) to: String,
    /// The label of the model that each choice is, by its value or else its alias, and what it is called in results.
    choices: Vec<(String, String)>,
}

/// A tag: its name, its attributes, and whether it closes or is closed at once.
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
    closes: bool,
    empty: bool,
}

impl Tag {
    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

impl Config {
    /// The choices of which several can be taken; of several such lists the one that has the most of these labels.
    pub(super) fn read(xml: &str, labels: &[String]) -> Result<Self> {
        let mut found: Vec<Self> = vec![];
        let mut open = None::<Self>;
        for tag in tags(xml)? {
            match (tag.name.as_str(), tag.closes) {
                ("Choices", false) if tag.get("choice") == Some("multiple") => {
                    let name = |name: &str| tag.get(name).unwrap_or_default().to_owned();
                    open = Some(Self { from: name("name"), to: name("toName"), choices: vec![] });
                    found.extend(open.take_if(|_| tag.empty));
                }
                ("Choices", true) => found.extend(open.take()),
                ("Choice", false) => {
                    if let (Some(list), Some(value)) = (&mut open, tag.get("value")) {
                        let name = tag.get("alias").filter(|alias| !alias.is_empty()).unwrap_or(value);
                        let label = if labels.iter().any(|own| own == value) { value } else { name };
                        list.choices.push((label.to_owned(), name.to_owned()));
                    }
                }
                _ => {}
            }
        }
        let known = |list: &Self| list.choices.iter().filter(|(label, _)| labels.contains(label)).count();
        let best = found.into_iter().rev().max_by_key(known);
        best.ok_or_else(|| {
            Problem::unfit("expected <Choices choice=\"multiple\"> in the labelling interface, found none")
        })
    }

    /// What a label is called in results; nothing where it is no choice.
    pub(super) fn choice(&self, label: &str) -> Option<&str> {
        self.choices.iter().find(|(own, _)| own == label).map(|(_, name)| name.as_str())
    }

    /// The label that a choice is.
    pub(super) fn label<'a>(&'a self, choice: &'a str) -> &'a str {
        self.choices.iter().find(|(_, name)| name == choice).map_or(choice, |(label, _)| label)
    }
}

/// The tags of a text of XML.
fn tags(xml: &str) -> Result<Vec<Tag>> {
    let wrong = |what: &str| Problem::unfit(format!("the labelling interface: {what}"));
    if xml.len() > LARGEST {
        return Err(wrong("expected at most 4 MiB"));
    }
    let (mut rest, mut all) = (xml, vec![]);
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = &comment[comment.find("-->").ok_or_else(|| wrong("a comment without an end"))? + 3..];
            continue;
        }
        if rest.starts_with('!') {
            return Err(wrong("expected neither a document type nor sections of characters"));
        }
        // quotes may hold what would end a tag
        let (mut quote, mut end) = (None, None);
        for (i, c) in rest.char_indices() {
            match (c, quote) {
                ('"' | '\'', None) => quote = Some(c),
                (c, Some(own)) if c == own => quote = None,
                ('>', None) => {
                    end = Some(i);
                    break;
                }
                _ => {}
            }
        }
        let end = end.ok_or_else(|| wrong("a tag without an end"))?;
        let (text, next) = (&rest[..end], &rest[end + 1..]);
        rest = next;
        if !text.starts_with('?') {
            all.push(tag(text));
        }
    }
    Ok(all)
}

fn tag(text: &str) -> Tag {
    let closes = text.starts_with('/');
    let empty = text.ends_with('/');
    let text = text.trim_start_matches('/').trim_end_matches('/');
    let cut = text.find(char::is_whitespace).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(cut);
    let mut attributes = vec![];
    while let Some(at) = rest.find('=') {
        let key = rest[..at].trim().to_owned();
        let value = rest[at + 1..].trim_start();
        let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else { break };
        let Some(end) = value[1..].find(quote) else { break };
        attributes.push((key, plain(&value[1..=end])));
        rest = &value[end + 2..];
    }
    Tag { name: name.to_owned(), attributes, closes, empty }
}

/// Text without the five entities that XML has by itself, and without characters by number.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find(';').filter(|end| *end <= 10);
        let known = end.and_then(|end| match &rest[1..end] {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            name => {
                let number = name.strip_prefix('#')?;
                let code = match number.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                    None => number.parse().ok()?,
                };
                char::from_u32(code)
            }
        });
        match known.zip(end) {
            Some((c, end)) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test may panic
    use super::*;

    #[test]
    fn the_choices_that_cover_most_labels_are_taken() {
        let xml = "<?xml version='1.0'?><!-- <Choices choice=\"multiple\"> --><View><Text name=\"text\" value=\"$a > b\"/>\
                   <Choices name=\"one\" toName=\"text\" choice=\"single\"><Choice value=\"sea\"/></Choices>\
                   <Choices name='few' toName='text' choice='multiple'><Choice value='sea'/></Choices>\
                   <Choices name='all' toName='text' choice='multiple'><Choice value='sea'/>\
                   <Choice value='A &amp; B &#x263a;' alias='ab'/><Choice value='Wald' alias='forest'/></Choices></View>";
        let labels = ["sea", "A & B ☺", "forest"].map(str::to_owned);
        let config = Config::read(xml, &labels).unwrap();
        assert_eq!((config.from.as_str(), config.to.as_str()), ("all", "text"));
        assert_eq!((config.choice("A & B ☺"), config.choice("sky")), (Some("ab"), None));
        assert_eq!((config.label("ab"), config.label("sea")), ("A & B ☺", "sea"));
        // an alias that is the label, of a choice that is shown in another language
        assert_eq!((config.choice("forest"), config.label("forest")), (Some("forest"), "forest"));
        for wrong in ["", "<View/>", "<!DOCTYPE x [<!ENTITY a \"b\">]><View/>", "<View", "<![CDATA[x]]>"] {
            assert!(Config::read(wrong, &labels).is_err(), "{wrong}");
        }
    }
}
