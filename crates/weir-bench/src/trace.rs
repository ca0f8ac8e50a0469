//! An access log of weir as a trace: the logged requests and their times, to be replayed at the
//! recorded times.
//!
//! Takes the three formats of `weir.access-log`. A log holds no bodies: a request that had one is
//! sent without, and counted. The JSON format has the time of the end and the length of each
//! request, so beginnings are exact; the common and combined formats have whole seconds only, over
//! which the requests of a second are spread evenly in the order of their lines.

use crate::arrival::{Arrival, Schedule};
use crate::clock::{Nanos, SECOND};
use crate::plan::{Mix, Plan, Request};
use crate::target::{Shape, Target};
use anyhow::{Context, bail};
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of groups in reports; further ones share the last group.
const GROUPS_MAX: usize = 50;

/// Requests in the order of their beginnings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Start times since the first one, rising.
    pub times: Vec<Nanos>,
    /// For each of them, its entry in `requests`.
    pub order: Vec<u32>,
    /// Requests that differ.
    pub requests: Vec<Recorded>,
    /// The host of the first request, if the format has it.
    pub host: Option<String>,
    /// Requests whose method usually has a body, which the log does not hold.
    pub without_body: usize,
}

/// A request as far as the log has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recorded {
    /// Method.
    pub method: String,
    /// Path and query as received.
    pub target: String,
    /// The matched route, or the method: the name it is counted under.
    pub group: String,
}

/// A line of the log.
struct Line {
    begins: i128,
    whole_second: bool,
    request: Recorded,
    host: Option<String>,
}

impl Trace {
    /// Reads a log.
    ///
    /// # Errors
    /// With the number of the line that is not understood.
    pub fn read(text: &str) -> anyhow::Result<Self> {
        let mut lines = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let read = if line.starts_with('{') { json(line) } else { common(line) };
            lines.push(read.with_context(|| format!("line {}", number + 1))?);
        }
        if lines.is_empty() {
            bail!("the log is empty");
        }
        spread(&mut lines);
        lines.sort_by_key(|line| line.begins);
        let first = lines.first().map_or(0, |line| line.begins);
        let mut trace = Self { host: lines.iter().find_map(|l| l.host.clone()), ..Self::default() };
        let mut known: HashMap<Recorded, u32> = HashMap::new();
        for line in lines {
            let bodied = matches!(line.request.method.as_str(), "POST" | "PUT" | "PATCH");
            trace.without_body += usize::from(bodied);
            trace.times.push(Nanos::try_from(line.begins - first).unwrap_or(Nanos::MAX));
            let next = u32::try_from(known.len()).context("too many different requests")?;
            let index = *known.entry(line.request.clone()).or_insert(next);
            if index == next {
                trace.requests.push(line.request);
            }
            trace.order.push(index);
        }
        Ok(trace)
    }

    /// Makes `plan` replay this at `speed` times the recorded pace, against `base`.
    pub fn apply(&self, plan: &mut Plan, base: &Target, shape: &Shape<'_>, speed: f64) {
        let mut groups: Vec<&str> = Vec::new();
        let prefix = base.path.trim_end_matches('/');
        let requests = self.requests.iter().map(|recorded| {
            let mut group = groups.iter().position(|known| *known == recorded.group);
            if group.is_none() && groups.len() < GROUPS_MAX {
                groups.push(&recorded.group);
                group = Some(groups.len() - 1);
            }
            let target = Target { path: format!("{prefix}{}", recorded.target), ..base.clone() };
            let shape = Shape { method: &recorded.method, ..shape.clone() };
            let group = group.unwrap_or(GROUPS_MAX);
            let name = if group == GROUPS_MAX { "others" } else { &recorded.group };
            let expect = plan.requests.first().map(|r| r.expect.clone()).unwrap_or_default();
            Request { name: name.to_owned(), group, expect, ..target.request(&shape) }
        });
        plan.requests = requests.collect();
        plan.mix = Mix::Trace(self.order.clone().into());
        let times = self.times.iter().map(|time| (*time as f64 / speed) as Nanos);
        plan.arrival = Arrival::Open(Schedule::Replay(Arc::from_iter(times)));
    }
}

/// Requests of which only the second is known are spread evenly over it.
fn spread(lines: &mut [Line]) {
    let mut of_second: HashMap<i128, (i128, i128)> = HashMap::new();
    for line in lines.iter().filter(|line| line.whole_second) {
        of_second.entry(line.begins).or_default().1 += 1;
    }
    for line in lines.iter_mut().filter(|line| line.whole_second) {
        if let Some((at, count)) = of_second.get_mut(&line.begins) {
            line.begins += *at * i128::from(SECOND) / *count;
            *at += 1;
        }
    }
}

fn json(line: &str) -> anyhow::Result<Line> {
    let value: serde_json::Value = serde_json::from_str(line)?;
    let text = |name: &str| value.get(name).and_then(|value| value.as_str()).map(str::to_owned);
    let need = |name: &str| text(name).with_context(|| format!("no \"{name}\""));
    let ended: jiff::Timestamp = need("time")?.parse()?;
    let took = value.get("us").and_then(serde_json::Value::as_u64).context("no \"us\"")?;
    let method = need("method")?;
    let query = text("query").map_or(String::new(), |query| format!("?{query}"));
    Ok(Line {
        begins: ended.as_nanosecond() - i128::from(took) * 1_000,
        whole_second: false,
        request: Recorded {
            group: text("route").unwrap_or_else(|| method.clone()),
            target: checked(need("path")? + &query)?,
            method,
        },
        host: text("host").filter(|host| !host.is_empty()),
    })
}

/// `PEER - - [TIME] "METHOD TARGET HTTP/1.1" STATUS BYTES`, and whatever follows.
fn common(line: &str) -> anyhow::Result<Line> {
    let (_, rest) = line.split_once('[').context("neither JSON nor the common format")?;
    let (time, rest) = rest.split_once("] \"").context("no ']' and request behind the time")?;
    let time = jiff::fmt::strtime::parse("%d/%b/%Y:%H:%M:%S %z", time)?.to_timestamp()?;
    let (request, _) = rest.split_once("\" ").context("the request does not end")?;
    let words: Vec<&str> = request.split(' ').collect();
    let [method, target, "HTTP/1.1" | "HTTP/1.0"] = words.as_slice() else {
        bail!("'{request}' is not METHOD TARGET HTTP/1.1");
    };
    Ok(Line {
        begins: time.as_nanosecond(),
        whole_second: true,
        request: Recorded {
            method: (*method).to_owned(),
            target: checked(unescape(target)?)?,
            group: (*method).to_owned(),
        },
        host: None,
    })
}

/// A target that is valid in a request line.
fn checked(target: String) -> anyhow::Result<String> {
    if !target.starts_with('/') || target.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        bail!("'{}' is not a path", target.escape_debug());
    }
    Ok(target)
}

/// Undoes `\xNN`.
fn unescape(text: &str) -> anyhow::Result<String> {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).context("\\x without two digits")?;
        bytes.push(u8::from_str_radix(digits, 16).context("\\x without two digits")?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).context("a path that is not UTF-8 cannot be replayed")
}

#[cfg(test)]
mod tests {
    use super::Trace;

    fn check(text: &str, expected: Result<(&[u64], &[&str]), &str>) {
        match (Trace::read(text), expected) {
            (Ok(trace), Ok((times, requests))) => {
                let ms: Vec<u64> = trace.times.iter().map(|time| time / 1_000_000).collect();
                assert_eq!(ms, times, "{text}");
                let got = trace.order.iter().map(|index| &trace.requests[*index as usize]);
                let got: Vec<String> =
                    got.map(|r| format!("{} {} {}", r.method, r.target, r.group)).collect();
                assert_eq!(got, requests, "{text}");
            }
            (Err(why), Err(want)) => {
                let why = format!("{why:#}");
                assert!(why.contains(want), "{text}: {why}");
            }
            (got, _) => panic!("{text}: {got:?}"),
        }
    }

    /// The second line began first: it took longer.
    #[test]
    fn json_logs_give_beginnings() {
        let text = r#"{"time":"2026-11-21T07:00:01.5Z","method":"GET","path":"/a","query":"b=c","host":"h","us":1000,"route":"r"}
{"time":"2026-11-21T07:00:02Z","method":"POST","path":"/d","query":null,"host":"h","us":1000000,"route":null}
"#;
        check(text, Ok((&[0, 499], &["POST /d POST", "GET /a?b=c r"])));
        assert_eq!(Trace::read(text).unwrap().without_body, 1);
        check("{\"time\":\"2026-11-21T07:00:01Z\"}", Err("line 1: no \"us\""));
    }

    #[test]
    fn common_logs_give_seconds() {
        let text = "1.2.3.4 - - [21/Nov/2026:07:00:01 +0000] \"GET /a HTTP/1.1\" 200 5\n\
                    1.2.3.4 - - [21/Nov/2026:07:00:01 +0000] \"GET /\\x22 HTTP/1.1\" 200 5 \"-\" \"x\"\n\
                    1.2.3.4 - - [21/Nov/2026:08:00:03 +0100] \"GET /a HTTP/1.0\" 200 5\n";
        check(text, Ok((&[0, 500, 2000], &["GET /a GET", "GET /\" GET", "GET /a GET"])));
        assert_eq!(Trace::read(text).unwrap().requests.len(), 2);
        check("hello", Err("line 1: neither"));
        check("", Err("empty"));
        let injected = text.replace("/\\x22", "/\\x0d\\x0aX:1");
        check(&injected, Err("line 2: '/\\r\\nX:1' is not a path"));
    }
}
