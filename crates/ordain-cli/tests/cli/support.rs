//! Starting the program and looking at what it did.

use crate::data;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program, not yet started; it sees neither a terminal nor standard input.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
    command.args(words).stdin(Stdio::null()).env("NO_COLOR", "1").env_remove("RUST_BACKTRACE");
    command
}

/// What a run of the program left.
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    /// Takes over a finished process; a panic is never right.
    pub(crate) fn of(output: Output) -> Self {
        let out = String::from_utf8(output.stdout).expect("standard output is UTF-8");
        let err = String::from_utf8(output.stderr).expect("standard error is UTF-8");
        assert!(!err.contains("panicked at"), "the program panicked:\n{err}");
        Self { code: output.status.code(), out, err }
    }

    /// Checks the exit code.
    pub(crate) fn code(self, expected: i32) -> Self {
        assert_eq!(self.code, Some(expected), "exit code\nstdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Checks that standard error says this.
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.err.contains(text), "expected {text:?} on standard error, found:\n{}", self.err);
        self
    }

    /// Checks that there is nothing on standard output.
    pub(crate) fn silent(self) -> Self {
        assert_eq!(self.out, "", "expected nothing on standard output");
        self
    }

    /// Standard output as one JSON document on one line.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.out.lines().count(), 1, "expected one line of JSON, found:\n{}", self.out);
        serde_json::from_str(&self.out).expect("standard output is JSON")
    }

    /// Standard output as JSON lines.
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
    }
}

/// Runs the program to its end.
pub(crate) fn ordain(words: &[&str]) -> Done {
    Done::of(command(words).output().unwrap())
}

/// Runs the program, which must end well.
pub(crate) fn well(words: &[&str]) -> Done {
    ordain(words).code(0)
}

/// Runs the program with this on its standard input.
pub(crate) fn piped(words: &[&str], input: &[u8]) -> Done {
    let mut child = command(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let done = Done::of(child.wait_with_output().unwrap());
    // a program that refuses its options need not read its input
    let _ = writer.join().unwrap();
    done
}

/// A temporary folder with the usual files in it.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// An empty folder.
    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A folder with `train.txt`, `test.txt` and a `model.ordain` fitted on the first.
    pub(crate) fn trained() -> Self {
        let place = Self::empty();
        place.write("train.txt", &data::letor(30, 1));
        place.write("test.txt", &data::letor(12, 2));
        well(&[
            "fit",
            "ranksvm",
            &place.at("train.txt"),
            "-o",
            &place.at("model.ordain"),
            "--set=lambda=0.1",
            "--set=scale=query",
        ]);
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a file here, as a word of a command.
    pub(crate) fn at(&self, name: &str) -> String {
        self.path().join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file and gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path: PathBuf = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self.at(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path().join(name)).unwrap()
    }

    /// The names of all that is here, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().to_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }
}

/// Checks that an object has these fields; more are allowed.
pub(crate) fn has_fields(value: &Value, names: &[&str]) {
    let object = value.as_object().expect("an object");
    for name in names {
        assert!(object.contains_key(*name), "no field {name:?} in {value}");
    }
}

/// A number out of JSON.
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("expected a number, found {value}"))
}

/// Checks that two numbers are the same but for rounding.
pub(crate) fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs())), "{a} is not {b}");
}

/// A fit on `train.csv` of a folder.
pub(crate) fn fit(place: &Place, method: &str, model: &str, more: &[&str]) -> Done {
    well(&[&["fit", method, &place.at("train.csv"), "-o", &place.at(model)], more].concat())
}

/// What JSON looks like, without its numbers and names.
pub(crate) fn shape(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), shape(value))).collect::<Map<_, _>>().into(),
        Value::Array(list) => list.first().map_or(json!([]), |first| json!([shape(first)])),
        Value::Number(_) => "number".into(),
        Value::String(_) => "text".into(),
        Value::Bool(_) => "true or false".into(),
        Value::Null => Value::Null,
    }
}

/// Whether these tests were started by something that goes on after SIGHUP, such as nohup: what they start does so too.
pub(crate) fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
