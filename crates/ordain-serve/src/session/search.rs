//! Search in names: those that begin with a text first, then those that hold it; case and accents do not count.

/// Names that can be searched.
pub(crate) struct Search(Vec<String>);

impl Search {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self(names.map(folded).collect())
    }

    /// The first names by number, and how many there are.
    pub(crate) fn find(&self, text: &str, most: usize) -> (Vec<u32>, usize) {
        let text = folded(text.trim());
        let (mut first, mut second) = (vec![], vec![]);
        for (n, name) in (0..).zip(&self.0) {
            match name.find(&text) {
                Some(0) => first.push(n),
                Some(_) => second.push(n),
                None => {}
            }
        }
        let total = first.len() + second.len();
        first.append(&mut second);
        first.truncate(most);
        (first, total)
    }
}

/// Letters with accents, and what they are without.
const PLAIN: &[(&str, char)] = &[
    ("àáâãäåāăąǎ", 'a'),
    ("çćĉċč", 'c'),
    ("ďđ", 'd'),
    ("èéêëēĕėęě", 'e'),
    ("ĝğġģ", 'g'),
    ("ĥħ", 'h'),
    ("ìíîïĩīĭįı", 'i'),
    ("ĵ", 'j'),
    ("ķ", 'k'),
    ("ĺļľŀł", 'l'),
    ("ñńņňŉ", 'n'),
    ("òóôõöøōŏőǒ", 'o'),
    ("ŕŗř", 'r'),
    ("śŝşšș", 's'),
    ("ţťŧț", 't'),
    ("ùúûüũūŭůűųǔ", 'u'),
    ("ŵ", 'w'),
    ("ýÿŷ", 'y'),
    ("źżž", 'z'),
];

/// A name in small letters without accents; combining accents are left out.
fn folded(text: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii() => c,
        c => PLAIN.iter().find(|(all, _)| all.contains(c)).map_or(c, |(_, plain)| *plain),
    };
    text.chars()
        .filter(|c| !('\u{300}'..='\u{36f}').contains(c))
        .flat_map(char::to_lowercase)
        .map(plain)
        .filter(|c| !('\u{300}'..='\u{36f}').contains(c))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_come_first_and_accents_do_not_count() {
        let search = Search::new(["Teboat", "Boat", "Böötes", "sea", "boa\u{301}"].into_iter());
        assert_eq!(search.find("bo", 2), (vec![1, 2], 4));
        assert_eq!(search.find("BÖÖ", 9), (vec![2], 1));
        assert_eq!(search.find("", 9).1, 5);
        assert_eq!(search.find("İ", 9).1, 0);
    }
}
