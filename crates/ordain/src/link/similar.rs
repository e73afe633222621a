//! How alike two values are, from 0 to 1.

use rapidfuzz::distance::{indel, jaro, levenshtein};

/// The likeness by Jaro: letters that both have no further apart than half of the longer, and their order. As Python's
/// `rapidfuzz.distance.Jaro.normalized_similarity`.
///
/// ```
/// assert!((ordain::link::jaro("martha", "marhta") - 17.0 / 18.0).abs() < 1e-12);
/// ```
pub fn jaro(a: &str, b: &str) -> f64 {
    jaro::normalized_similarity(a.chars(), b.chars())
}

/// One minus the number of edits over the length of the longer. As `rapidfuzz.distance.Levenshtein.normalized_similarity`.
///
/// ```
/// assert!((ordain::link::levenshtein("ashford", "ashfrod") - 5.0 / 7.0).abs() < 1e-12);
/// ```
pub fn levenshtein(a: &str, b: &str) -> f64 {
    levenshtein::normalized_similarity(a.chars(), b.chars())
}

/// The words of a text in order, with a blank between them.
pub(super) fn sorted_words(text: &str) -> String {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    words.join(" ")
}

/// The likeness of the words, whatever their order: insertions and deletions between the sorted words, over both lengths. As
/// `rapidfuzz.fuzz.token_sort_ratio` divided by 100.
///
/// ```
/// assert!(ordain::link::tokens("12 park road", "park road 12") > 0.999);
/// ```
pub fn tokens(a: &str, b: &str) -> f64 {
    of_sorted(&sorted_words(a), &sorted_words(b))
}

/// The same for words that are sorted already.
pub(super) fn of_sorted(a: &str, b: &str) -> f64 {
    match (a.is_empty(), b.is_empty()) {
        (false, false) => indel::normalized_similarity(a.chars(), b.chars()),
        (true, true) => 1.0,
        _ => 0.0,
    }
}

/// The runs of three letters of a text with a blank before and behind it, each once, in order.
pub(super) fn trigrams(text: &str) -> Vec<[char; 3]> {
    let letters: Vec<char> = std::iter::once(' ').chain(text.chars()).chain([' ']).collect();
    let mut all: Vec<[char; 3]> = letters.windows(3).map(|w| [w[0], w[1], w[2]]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The share of the runs of three letters that both have (Dice): `2 |A ∩ B| / (|A| + |B|)`.
///
/// ```
/// assert!((ordain::link::ngrams("night", "nacht") - 2.0 / 10.0).abs() < 1e-12); // "ht " alone
/// ```
pub fn ngrams(a: &str, b: &str) -> f64 {
    dice(&trigrams(a), &trigrams(b))
}

/// The same for runs that are there already.
pub(super) fn dice(a: &[[char; 3]], b: &[[char; 3]]) -> f64 {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        both += usize::from(x == y);
        (i, j) = (i + usize::from(x <= y), j + usize::from(y <= x));
    }
    match a.len() + b.len() {
        0 => 1.0,
        all => 2.0 * both as f64 / all as f64,
    }
}

/// A date as year, month and day.
pub(super) type Date = (u32, u32, u32);

/// The share of year, month and day that agree; five sixths where day and month changed places.
pub(super) fn dates(a: Date, b: Date) -> f64 {
    if a != b && a.0 == b.0 && (a.1, a.2) == (b.2, b.1) {
        return 5.0 / 6.0;
    }
    [a.0 == b.0, a.1 == b.1, a.2 == b.2].into_iter().filter(|&same| same).count() as f64 / 3.0
}

/// How a word sounds in English: its first letter and three digits for the consonants that follow (American Soundex).
///
/// ```
/// assert_eq!(["robert", "rupert", "tymczak", "pfister"].map(ordain::link::soundex), ["r163", "r163", "t522", "p236"]);
/// ```
pub fn soundex(word: &str) -> String {
    let code = |c: char| match c.to_ascii_lowercase() {
        'b' | 'f' | 'p' | 'v' => Some('1'),
        'c' | 'g' | 'j' | 'k' | 'q' | 's' | 'x' | 'z' => Some('2'),
        'd' | 't' => Some('3'),
        'l' => Some('4'),
        'm' | 'n' => Some('5'),
        'r' => Some('6'),
        _ => None,
    };
    let mut letters = word.chars().filter(|c| c.is_alphabetic());
    let Some(first) = letters.next() else { return word.chars().take(4).collect() };
    let (mut out, mut last) = (String::from(first), code(first));
    for c in letters {
        let own = code(c);
        if own.is_some() && own != last {
            out.extend(own);
        }
        if !matches!(c.to_ascii_lowercase(), 'h' | 'w') {
            last = own;
        }
        if out.chars().count() == 4 {
            return out;
        }
    }
    out.extend(std::iter::repeat_n('0', 4 - out.chars().count().min(4)));
    out
}
