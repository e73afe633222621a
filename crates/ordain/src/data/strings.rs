//! Many short strings in one block of bytes.

/// Byte strings one after another, without an allocation for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// String `i`.
    pub fn get(&self, i: usize) -> &[u8] {
        &self.bytes[if i == 0 { 0 } else { self.ends[i - 1] }..self.ends[i]]
    }

    /// All strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }

    pub(crate) fn last(&self) -> &[u8] {
        self.len().checked_sub(1).map_or(b"", |i| self.get(i))
    }

    pub(crate) fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    /// Adds empty strings until there are `n`.
    pub(crate) fn fill_to(&mut self, n: usize) {
        if self.ends.len() < n {
            self.ends.resize(n, self.bytes.len());
        }
    }

    pub(crate) fn append(&mut self, other: &Self) {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| before + end));
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(crate) fn permuted(&self, from: &[u32]) -> Self {
        let mut out = Self::default();
        from.iter().for_each(|&i| out.push(self.get(i as usize)));
        out
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(all: I) -> Self {
        let mut out = Self::default();
        all.into_iter().for_each(|string| out.push(string.as_ref()));
        out
    }
}

/// The beginning of a text, for messages.
pub(in crate::data) fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

/// What is wrong with JSON, and where.
pub(in crate::data) fn no_json(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    format!("{} in line {}, column {}", visible(said), error.line(), error.column())
}

/// The beginning of a text that may hold anything, for messages: control characters are escaped.
pub(in crate::data) fn visible(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(60) {
        if c.is_control() { out.extend(c.escape_debug()) } else { out.push(c) }
    }
    out
}
