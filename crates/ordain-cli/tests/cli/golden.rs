//! Golden files: what the program printed when it was right.

use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;

/// Compares a text with a golden file; `UPDATE_GOLDEN=1` writes the file instead.
pub(crate) fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cli/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    if expected != text {
        let path = path.display();
        panic!("{path} differs (UPDATE_GOLDEN=1 rewrites it; - golden, + now):\n{}", difference(&expected, text));
    }
}

/// The same for JSON, after [`calm`].
pub(crate) fn golden_json(name: &str, value: &Value) {
    golden(name, &(serde_json::to_string_pretty(&calm(value)).unwrap() + "\n"));
}

/// The same for JSON lines, one golden line for each.
pub(crate) fn golden_lines(name: &str, values: &[Value]) {
    golden(name, &values.iter().map(|value| calm(value).to_string() + "\n").collect::<String>());
}

/// JSON without what changes from machine to machine: numbers are rounded to four significant digits; times, sizes,
/// digests, versions and paths are replaced by their names; the checksum of a model has its own test.
pub(crate) fn calm(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            map.iter()
                .map(|(key, value)| {
                    let value = match key.as_str() {
                        "seconds" | "model_bytes" | "data" | "ordain" | "model" | "output" | "gradient"
                        | "checksum" => placeholder(key, value),
                        _ => calm(value),
                    };
                    (key.clone(), value)
                })
                .collect()
        }
        Value::Array(list) => list.iter().map(calm).collect(),
        Value::Number(n) if !(n.is_u64() || n.is_i64()) => rounded(n.as_f64().unwrap()).into(),
        other => other.clone(),
    }
}

fn placeholder(key: &str, value: &Value) -> Value {
    match value {
        Value::Object(map) => map.keys().map(|key| (key.clone(), Value::from(format!("<{key}>")))).collect(),
        Value::Null => Value::Null,
        _ => format!("<{key}>").into(),
    }
}

/// Four significant digits; what is below 1e-12 is rounding, and 0.
fn rounded(x: f64) -> f64 {
    if x.abs() < 1e-12 { 0.0 } else { format!("{x:.3e}").parse().unwrap() }
}

/// Text without times, digests, the version and the folder.
pub(crate) fn calm_text(text: &str, folder: &std::path::Path) -> String {
    let text = text.replace(folder.to_str().unwrap(), "<folder>").replace(env!("CARGO_PKG_VERSION"), "<version>");
    let mut out = String::new();
    for line in text.lines() {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        for i in 0..words.len() {
            let digest = words[i].len() == 64 && words[i].chars().all(|c| c.is_ascii_hexdigit());
            if digest {
                words[i] = "<digest>".into();
            }
            let after =
                |i: usize, word: &str| words.get(i + 1).is_some_and(|next| next.trim_end_matches([',', '.']) == word);
            if words[i].parse::<f64>().is_ok() && after(i, "s") {
                words[i] = "<seconds>".into();
            }
            if i > 1 && words[i - 2] == "relative" && words[i - 1] == "gradient" {
                words[i] = "<gradient>,".into();
            }
        }
        out += &(words.join(" ") + "\n");
    }
    out
}

/// The lines that differ, with a few around them.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    let context = |text: &mut String, lines: &[&str]| lines.iter().for_each(|l| writeln!(text, "  {l}").unwrap());
    writeln!(text, "@ line {}", same + 1).unwrap();
    context(&mut text, &old[same.saturating_sub(3)..same]);
    old[same..old.len() - tail].iter().take(40).for_each(|l| writeln!(text, "- {l}").unwrap());
    new[same..new.len() - tail].iter().take(40).for_each(|l| writeln!(text, "+ {l}").unwrap());
    context(&mut text, &old[old.len() - tail..(old.len() - tail + 3).min(old.len())]);
    text
}

#[test]
fn numbers_are_rounded_and_times_replaced() {
    let value: Value =
        serde_json::from_str(r#"{"mean":0.123456,"units":12345,"seconds":{"fit":0.5},"x":[1e-17]}"#).unwrap();
    assert_eq!(calm(&value).to_string(), r#"{"mean":0.1235,"units":12345,"seconds":{"fit":"<fit>"},"x":[0.0]}"#);
}

#[test]
fn a_difference_shows_the_changed_lines() {
    assert_eq!(difference("a\nb\nc\n", "a\nx\nc\n"), "@ line 2\n  a\n- b\n+ x\n  c\n");
    assert_eq!(difference("a\n", "a\nb\n"), "@ line 2\n  a\n+ b\n");
}
