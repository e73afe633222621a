//! Damage to files, from a seed.

use ordain::random::Random;

/// Words that readers stumble over.
const WORDS: [&str; 52] = [
    "1e999",
    "-1e999",
    "4294967296",
    "4294967295",
    "4294967294",
    "1000000000",
    "99999999999999999999",
    "NaN",
    "nan",
    "inf",
    "-inf",
    "infinity",
    "NULL",
    "null",
    "",
    "-1",
    "-2.5",
    "2.5",
    "-0",
    "0",
    "1e-320",
    "1e308",
    "1.7e308",
    "3.4028235e38",
    "3.5e38",
    "-3.4e38",
    "1e-45",
    "1e-46",
    "0x10",
    "1_000",
    "１",
    "+",
    "-",
    ".",
    "e5",
    "1e",
    "+5",
    "000000000000000000000000001",
    "0.000000000000000000000000000000000000000000001",
    "true",
    ":",
    "qid:",
    "qid:7",
    "#",
    "#9: name",
    "\"",
    "\"\"",
    ",",
    "\t",
    "1:",
    "16777217",
    "500.5",
];

/// A random item.
pub(crate) fn pick<'a, T>(random: &mut Random, items: &'a [T]) -> &'a T {
    &items[random.below(items.len())]
}

/// Damages a text once to three times; the second result tells how.
pub(crate) fn text(bytes: &[u8], random: &mut Random) -> (Vec<u8>, String) {
    let (mut out, mut told) = (bytes.to_vec(), vec![]);
    for _ in 0..[1, 1, 1, 2, 3][random.below(5)] {
        told.push(if random.below(3) == 0 { binary_step(&mut out, random) } else { text_step(&mut out, random) });
    }
    (out, told.join(", "))
}

/// Damages bytes once to three times.
pub(crate) fn binary(bytes: &[u8], random: &mut Random) -> (Vec<u8>, String) {
    let (mut out, mut told) = (bytes.to_vec(), vec![]);
    for _ in 0..[1, 1, 1, 1, 2, 3][random.below(6)] {
        told.push(binary_step(&mut out, random));
    }
    (out, told.join(", "))
}

fn binary_step(out: &mut Vec<u8>, random: &mut Random) -> &'static str {
    let at = random.below(out.len() + 1);
    let len = [1, 1, 1 + random.below(8), 1 + random.below(64)][random.below(4)];
    let end = (at + len).min(out.len());
    match random.below(8) {
        0 | 1 if at < out.len() => {
            out[at] ^= 1 << random.below(8);
            "a bit flipped"
        }
        2 if at < out.len() => {
            out[at] = random.bits() as u8;
            "a byte changed"
        }
        3 => {
            out.drain(at..end);
            "bytes deleted"
        }
        4 => {
            out.splice(at..at, (0..len).map(|_| random.bits() as u8));
            "bytes inserted"
        }
        5 => {
            out.truncate(at);
            "truncated"
        }
        6 => {
            let part = out[at..end].to_vec();
            out.splice(at..at, part);
            "bytes doubled"
        }
        _ => {
            out[at..end].fill(0);
            "bytes zeroed"
        }
    }
}

fn text_step(out: &mut Vec<u8>, random: &mut Random) -> &'static str {
    let mut lines: Vec<Vec<u8>> = out.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
    let (a, b) = (random.below(lines.len().max(1)), random.below(lines.len().max(1)));
    let word = pick(random, &WORDS).as_bytes();
    let at = random.below(out.len() + 1);
    let told = match random.below(18) {
        0 => {
            replace_run(out, random, word, |b| b.is_ascii_digit());
            return "digits replaced";
        }
        1 | 2 => {
            replace_run(out, random, word, |b| b > b' ' && !b":,#".contains(&b));
            return "a word replaced";
        }
        3 => {
            replace_run(out, random, word, |b| b > b' ');
            return "a token replaced";
        }
        4 => {
            out.splice(at..at, word.iter().copied());
            return "a word inserted";
        }
        5 => {
            out.splice(
                at..at,
                pick(random, &[&b"\0"[..], b"\xff", b"\xc3", b"\xfe\xed", b"\x0b", b"\x01", b"\xc2\xa0"])
                    .iter()
                    .copied(),
            );
            return "a strange byte inserted";
        }
        6 => {
            *out = replaced(out, b'\n', b"\r");
            return "CR only";
        }
        7 => {
            *out = replaced(out, b'\n', b"\r\n");
            return "CR and LF";
        }
        8 => {
            out.splice(0..0, *b"\xef\xbb\xbf");
            return "a byte order mark";
        }
        9 => {
            while out.last().is_some_and(u8::is_ascii_whitespace) {
                out.pop();
            }
            return "no final newline";
        }
        10 if random.below(12) == 0 => {
            let filling = *pick(random, &[b' ', b'0', b'x', b'#', b'9', 0, b',']);
            out.splice(at..at, std::iter::repeat_n(filling, 1 << 20));
            return "a very long line";
        }
        11 if !lines.is_empty() => {
            let line = lines[a].clone();
            lines.insert(b, line);
            "a line doubled"
        }
        12 | 13 if !lines.is_empty() => {
            lines.swap(a, b);
            "lines swapped"
        }
        14 if !lines.is_empty() => {
            lines.remove(a);
            "a line deleted"
        }
        15 if !lines.is_empty() => {
            random.shuffle(&mut lines);
            "lines shuffled"
        }
        16 => {
            lines.insert(
                a,
                pick(random, &[&b"\n"[..], b"  \t \n", b"# a remark\n", b"#1: weight\n", b"\r\n", b"\n\n\n"]).to_vec(),
            );
            "a line inserted"
        }
        _ if !lines.is_empty() => {
            let line = &mut lines[a];
            let kept = random.below(line.len() + 1);
            line.truncate(kept);
            line.push(b'\n');
            "a line cut short"
        }
        _ => "nothing",
    };
    *out = lines.concat();
    told
}

/// Puts a word in the place of a random run of bytes of one kind.
fn replace_run(out: &mut Vec<u8>, random: &mut Random, word: &[u8], kind: impl Fn(u8) -> bool) {
    let starts: Vec<usize> = (0..out.len()).filter(|&i| kind(out[i]) && (i == 0 || !kind(out[i - 1]))).collect();
    if starts.is_empty() {
        return;
    }
    let start = *pick(random, &starts);
    let len = out[start..].iter().take_while(|&&b| kind(b)).count();
    out.splice(start..start + len, word.iter().copied());
}

fn replaced(text: &[u8], byte: u8, by: &[u8]) -> Vec<u8> {
    text.iter().flat_map(|b| if *b == byte { by.to_vec() } else { vec![*b] }).collect()
}
