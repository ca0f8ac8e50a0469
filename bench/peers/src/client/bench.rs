//! The JSON of `weir bench`.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;
use weir_bench::outcome::Distribution;
use weir_bench::record::FailureCount;

use super::Counted;
use crate::stats::grouped;

/// The used parts of the JSON; times in nanoseconds.
#[derive(Debug, Deserialize)]
struct Outcome {
    verdict: Verdict,
    ok: u64,
    failed: u64,
    failures: BTreeMap<String, FailureCount>,
    rate: f64,
    opened: u64,
    response: Distribution,
}

#[derive(Debug, Deserialize)]
struct Verdict {
    limit: String,
}

/// The measurement of a run of `weir bench`. Response times run from the due time of a request to
/// its last byte; they include requests without an answer.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Latency {
    /// Successes.
    pub ok: u64,
    /// Failures of any kind.
    pub failed: u64,
    /// Failures by kind.
    pub failures: BTreeMap<String, u64>,
    /// Successes per second.
    pub rate: f64,
    /// Connections opened.
    pub opened: u64,
    /// Milliseconds.
    pub mean_ms: f64,
    /// Milliseconds.
    pub p50_ms: f64,
    /// Milliseconds.
    pub p95_ms: f64,
    /// Milliseconds.
    pub p99_ms: f64,
    /// Milliseconds.
    pub max_ms: f64,
    /// Its verdict, such as `rate-met`.
    pub verdict: String,
}

impl Latency {
    /// The failures of all runs by kind, such as `3 (closed 1, timeout 2)`.
    pub fn show_failures<'a>(all: impl IntoIterator<Item = &'a Latency>) -> String {
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        for (kind, count) in all.into_iter().flat_map(|latency| &latency.failures) {
            *kinds.entry(kind).or_default() += count;
        }
        let sum = grouped(kinds.values().sum::<u64>() as f64, 0);
        if kinds.is_empty() {
            return sum;
        }
        let kinds: Vec<String> = kinds.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        format!("{sum} ({})", kinds.join(", "))
    }

    /// The same as a count of answers.
    pub fn counted(&self) -> Counted {
        Counted { requests: self.ok + self.failed, errors: self.failed, rate: self.rate }
    }
}

impl Outcome {
    /// Adds what another client measured at the same time.
    fn add(&mut self, other: Self) {
        self.ok += other.ok;
        self.failed += other.failed;
        self.rate += other.rate;
        self.opened += other.opened;
        for (kind, of) in other.failures {
            self.failures.entry(kind).or_default().count += of.count;
        }
        self.response = Distribution::together([&self.response, &other.response]);
        let (limits, other) = (&mut self.verdict.limit, &other.verdict.limit);
        if !limits.split(", ").any(|limit| limit == other) {
            *limits = format!("{limits}, {other}");
        }
    }
}

impl From<Outcome> for Latency {
    fn from(outcome: Outcome) -> Self {
        let ms = |ns: f64| ns / 1e6;
        let response = &outcome.response;
        Self {
            ok: outcome.ok,
            failed: outcome.failed,
            failures: outcome.failures.into_iter().map(|(kind, of)| (kind, of.count)).collect(),
            rate: outcome.rate,
            opened: outcome.opened,
            mean_ms: ms(response.mean_ns),
            p50_ms: ms(response.quantile(0.50) as f64),
            p95_ms: ms(response.quantile(0.95) as f64),
            p99_ms: ms(response.quantile(0.99) as f64),
            max_ms: ms(response.max_ns as f64),
            verdict: outcome.verdict.limit,
        }
    }
}

/// Reads what clients that ran at the same time have written, as if they were one.
///
/// # Errors
/// One is not such a document, or there is none.
pub fn parse(documents: &[impl AsRef<str>]) -> anyhow::Result<Latency> {
    let mut outcomes = documents.iter().map(|json| serde_json::from_str(json.as_ref()));
    let mut all: Outcome = outcomes.next().context("nothing was measured")??;
    for outcome in outcomes {
        all.add(outcome?);
    }
    Ok(all.into())
}

/// A plan for `weir bench plan`: GETs whose targets are drawn at random.
#[derive(Clone, Debug)]
pub struct Gets {
    /// `http://` URL without a path.
    pub base: String,
    /// Path with `${random(0,N)}` in it.
    pub path: String,
    /// Requests per second, at random times; `None`: the next one after each answer.
    pub rate: Option<f64>,
    /// Connections.
    pub connections: usize,
    /// Seconds.
    pub seconds: u64,
}

impl Gets {
    /// The plan as YAML (JSON is YAML).
    pub fn plan(&self) -> String {
        let mut load = serde_json::json!({
            "connections": self.connections,
            "threads": 1,
            "duration": format!("{}s", self.seconds),
        });
        if let Some(rate) = self.rate {
            load["rate"] = rate.round().max(1.0).into();
            load["arrival"] = "poisson".into();
        }
        let requests = serde_json::json!([{ "path": self.path, "name": "get" }]);
        serde_json::json!({ "target": self.base, "load": load, "requests": requests }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Gets, Latency, parse};

    #[test]
    fn only_an_open_loop_has_a_rate() {
        let gets = |rate| Gets {
            base: "http://127.0.0.1:1".to_owned(),
            path: "/${random(0,9)}".to_owned(),
            rate,
            connections: 64,
            seconds: 3,
        };
        let plan = |rate| serde_json::from_str::<serde_json::Value>(&gets(rate).plan()).unwrap();
        let (open, closed) = (plan(Some(1000.4)), plan(None));
        assert_eq!(
            (open["load"]["rate"].as_f64(), &open["load"]["arrival"]),
            (Some(1000.0), &"poisson".into())
        );
        assert_eq!((closed["load"].get("rate"), closed["load"].get("arrival")), (None, None));
        assert_eq!((&open["requests"], &open["target"]), (&closed["requests"], &closed["target"]));
    }

    #[test]
    fn results_are_read() {
        let json = r#"{ "verdict": { "limit": "rate-met", "evidence": [] }, "ok": 3, "failed": 1,
            "failures": { "never sent": { "count": 1, "first_ns": 5, "last_ns": 5 } },
            "rate": 10.5, "opened": 2, "more": 1, "response": { "count": 4, "min_ns": 1000000,
            "mean_ns": 2500000.0, "max_ns": 4000000, "stdev_ns": 0.5,
            "buckets": [[1000000, 2], [2000000, 1], [4100000, 1]] } }"#;
        let got = parse(&[json]).unwrap();
        assert_eq!((got.ok, got.failed, got.opened, &*got.verdict), (3, 1, 2, "rate-met"));
        assert_eq!(got.failures, BTreeMap::from([("never sent".to_owned(), 1)]));
        assert_eq!(Latency::show_failures([&got, &got]), "2 (never sent 2)");
        assert_eq!(Latency::show_failures([]), "0");
        let times = [got.mean_ms, got.p50_ms, got.p95_ms, got.p99_ms, got.max_ms];
        assert_eq!(times, [2.5, 1.0, 4.0, 4.0, 4.0]);
        let counted = got.counted();
        assert_eq!((counted.requests, counted.errors, counted.rate), (4, 1, 10.5));
        assert!(parse(&["{}"]).is_err() && parse(&[""; 0]).is_err());
    }

    #[test]
    fn clients_that_ran_at_once_are_added_up() {
        let json = |limit: &str, count: u64, ns: u64, failures: &str| {
            format!(
                r#"{{ "verdict": {{ "limit": "{limit}" }}, "ok": {count}, "failed": 1,
                "failures": {{ {failures} }}, "rate": 10.5, "opened": 2, "response": {{
                "count": {count}, "min_ns": {ns}, "mean_ns": {ns}.0, "max_ns": {ns},
                "stdev_ns": 0.0, "buckets": [[{ns}, {count}]] }} }}"#
            )
        };
        let closed = r#""closed": { "count": 1, "first_ns": 5, "last_ns": 5 }"#;
        let both = r#""closed": { "count": 2, "first_ns": 5, "last_ns": 5 },
            "timeout": { "count": 1, "first_ns": 5, "last_ns": 5 }"#;
        let (fast, slow) =
            (json("users", 96, 1_000_000, closed), json("users", 4, 9_000_000, both));
        let all = parse(&[&fast, &slow]).unwrap();
        assert_eq!((all.ok, all.failed, all.opened, all.rate), (100, 2, 4, 21.0));
        assert_eq!(Latency::show_failures([&all]), "4 (closed 3, timeout 1)");
        let times = [all.mean_ms, all.p50_ms, all.p95_ms, all.p99_ms, all.max_ms];
        assert_eq!(times.map(f64::round), [1.0, 1.0, 1.0, 9.0, 9.0]);
        assert_eq!(all.verdict, "users");
        let other = parse(&[&fast, &json("system", 1, 1_000, ""), &fast]).unwrap();
        assert_eq!(other.verdict, "users, system");
    }
}
