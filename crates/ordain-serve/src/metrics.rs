//! Counts for Prometheus, in its text format. No item, label or text is among them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the classes of times, in milliseconds.
const ENDS: [u64; 10] = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000];

/// Times in classes.
#[derive(Clone, Default)]
struct Times {
    counts: [u64; ENDS.len()],
    all: u64,
    micros: u64,
}

impl Times {
    fn add(&mut self, time: Duration) {
        let micros = time.as_micros() as u64;
        for (count, end) in self.counts.iter_mut().zip(ENDS) {
            *count += u64::from(micros <= end * 1000);
        }
        self.all += 1;
        self.micros += micros;
    }

    /// The lines of a histogram.
    fn write(&self, name: &str, labels: &str, out: &mut String) {
        let seconds = |micros: u64| Duration::from_micros(micros).as_secs_f64();
        let comma = if labels.is_empty() { "" } else { "," };
        for (count, end) in self.counts.iter().zip(ENDS) {
            _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"{}\"}} {count}", seconds(end * 1000));
        }
        _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {}", self.all);
        _ = writeln!(out, "{name}_sum{{{labels}}} {}", seconds(self.micros));
        _ = writeln!(out, "{name}_count{{{labels}}} {}", self.all);
    }
}

#[derive(Default)]
struct Counts {
    requests: BTreeMap<(String, u16), u64>,
    seconds: BTreeMap<String, Times>,
    rows: BTreeMap<String, u64>,
    reloads: BTreeMap<(String, &'static str), u64>,
    answers: BTreeMap<&'static str, u64>,
    synced: Times,
}

/// All counts.
#[derive(Default)]
pub(crate) struct Metrics {
    counts: Mutex<Counts>,
    running: AtomicU64,
    full: AtomicU64,
}

impl Metrics {
    fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A request begins.
    pub(crate) fn begin(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    /// A request was answered.
    pub(crate) fn end(&self, route: &str, status: u16, time: Duration) {
        self.running.fetch_sub(1, Ordering::Relaxed);
        self.change(|counts| {
            match counts.requests.get_mut(&(route.to_owned(), status)) {
                Some(count) => *count += 1,
                None => _ = counts.requests.insert((route.into(), status), 1),
            }
            match counts.seconds.get_mut(route) {
                Some(times) => times.add(time),
                None => counts.seconds.entry(route.into()).or_default().add(time),
            }
        });
    }

    pub(crate) fn queue_full(&self) {
        self.full.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn rows(&self, model: &str, rows: usize) {
        self.change(|counts| *counts.rows.entry(model.into()).or_default() += rows as u64);
    }

    pub(crate) fn reloaded(&self, model: &str, result: &'static str) {
        self.change(|counts| *counts.reloads.entry((model.into(), result)).or_default() += 1);
    }

    pub(crate) fn answered(&self, what: &'static str) {
        self.change(|counts| *counts.answers.entry(what).or_default() += 1);
    }

    pub(crate) fn synced(&self, time: Duration) {
        self.change(|counts| counts.synced.add(time));
    }

    /// The page of counts; `models` are name, version, task and method of each.
    pub(crate) fn text(&self, models: &[[String; 4]]) -> String {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = String::new();
        let kind = |out: &mut String, name: &str, kind: &str, help: &str| {
            _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        kind(&mut out, "ordain_requests_total", "counter", "Requests by route and status.");
        for ((route, status), count) in &counts.requests {
            _ = writeln!(out, "ordain_requests_total{{route=\"{route}\",status=\"{status}\"}} {count}");
        }
        kind(&mut out, "ordain_request_seconds", "histogram", "How long requests took.");
        for (route, times) in &counts.seconds {
            times.write("ordain_request_seconds", &format!("route=\"{route}\""), &mut out);
        }
        kind(&mut out, "ordain_rows_total", "counter", "Rows that were scored, by model.");
        for (model, rows) in &counts.rows {
            _ = writeln!(out, "ordain_rows_total{{model=\"{}\"}} {rows}", escaped(model));
        }
        kind(&mut out, "ordain_in_flight", "gauge", "Requests that are under way.");
        _ = writeln!(out, "ordain_in_flight {}", self.running.load(Ordering::Relaxed));
        kind(&mut out, "ordain_queue_full_total", "counter", "Requests that were refused because too many waited.");
        _ = writeln!(out, "ordain_queue_full_total {}", self.full.load(Ordering::Relaxed));
        kind(&mut out, "ordain_model_info", "gauge", "The models that are served.");
        for [name, version, task, method] in models {
            let name = escaped(name);
            _ = writeln!(
                out,
                "ordain_model_info{{model=\"{name}\",version=\"{version}\",task=\"{task}\",method=\"{method}\"}} 1"
            );
        }
        kind(&mut out, "ordain_model_reloads_total", "counter", "Model files that were read again.");
        for ((model, result), count) in &counts.reloads {
            _ = writeln!(out, "ordain_model_reloads_total{{model=\"{}\",result=\"{result}\"}} {count}", escaped(model));
        }
        kind(&mut out, "ordain_answers_total", "counter", "Lines of the file of answers, by what they say.");
        for (what, count) in &counts.answers {
            _ = writeln!(out, "ordain_answers_total{{answer=\"{what}\"}} {count}");
        }
        kind(&mut out, "ordain_answers_fsync_seconds", "histogram", "How long answers took to be on the disk.");
        counts.synced.write("ordain_answers_fsync_seconds", "", &mut out);
        out
    }
}

/// The value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
