//! Retry: sends a request again after its upstream failed.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::attempt::Outcome;
use crate::status;
use crate::styled::Styled;

/// Maximum `Retry-After` to wait for; a response with a longer one goes to the client.
const RETRY_AFTER_MS_MAX: u64 = 10_000;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "Retry",
    doc: r#"Sends a request again after a failure, at most `retries` times. The method must be one of
`methods`. Failures are a status in `statuses` or in a `series`, and the `exceptions`
(`IOException`: no connection, or a broken one; `TimeoutException`: no response in time). The client
gets the last response. With several instances, each attempt goes to the next one. weir waits between
attempts as `backoff` says, and for a `Retry-After` of up to 10 seconds.

The body is buffered up to `spring.http.codecs.max-in-memory-size`; a request with a larger one is
sent once. Retries are at most `weir.retry.budget` percent of the requests to an upstream, plus ten a
second.

```yaml
filters:
- name: Retry
  args:
    retries: 3
    statuses: BAD_GATEWAY,SERVICE_UNAVAILABLE
    methods: GET,PUT
    backoff.firstBackoff: 10ms
    backoff.maxBackoff: 50ms
    backoff.factor: 2
```
```http request
GET / HTTP/1.1
```
```http sent
GET / HTTP/1.1
```"#,
    args: &[
        optional("retries", ArgKind::Int, Some("3"), "How often it is sent again at most."),
        optional("statuses", ArgKind::List, None, "Statuses by number or name."),
        optional("methods", ArgKind::List, Some("GET"), "Methods that are sent again."),
        optional("backoff.firstBackoff", ArgKind::Duration, None, "Wait before the first retry."),
        optional("backoff.maxBackoff", ArgKind::Duration, None, "The longest wait."),
        optional("backoff.factor", ArgKind::Int, Some("2"), "By what each wait is longer."),
        optional(
            "backoff.basedOnPreviousValue",
            ArgKind::Bool,
            Some("true"),
            "The factor applies to the wait before, chance included.",
        ),
        optional("jitter.randomFactor", ArgKind::Text, None, "Share of a wait left to chance."),
        optional("timeout", ArgKind::Duration, None, "After this time no further attempt begins."),
        optional(
            "series",
            ArgKind::List,
            Some("SERVER_ERROR"),
            "`INFORMATIONAL`, `SUCCESSFUL`, `REDIRECTION`, `CLIENT_ERROR`, `SERVER_ERROR`.",
        ),
        optional(
            "exceptions",
            ArgKind::List,
            Some("IOException,TimeoutException"),
            "Java classes of failures.",
        ),
    ],
    shortcut: Shortcut::Positions(9),
    compatibility: Compatibility::Differs(
        "there is a budget of retries for each upstream; `Retry-After` is honoured; response \
         filters run once, on the last answer; a body too large to keep is sent once, where SCG \
         keeps any",
    ),
    build,
};

const SERIES: &[&str] =
    &["INFORMATIONAL", "SUCCESSFUL", "REDIRECTION", "CLIENT_ERROR", "SERVER_ERROR"];

/// The Retry filter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Retry(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Inner {
    retries: u32,
    statuses: Vec<u16>,
    /// First digits of status codes.
    series: Vec<u16>,
    methods: Vec<String>,
    /// Class names as written, for display.
    exceptions: Vec<String>,
    backoff: Option<Backoff>,
    /// Random part of a wait, in thousandths.
    jitter: Option<u64>,
    timeout_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Backoff {
    first_ms: u64,
    max_ms: Option<u64>,
    factor: u64,
    on_previous: bool,
}

impl Retry {
    /// Whether requests with this method may be sent again.
    pub fn takes(&self, method: &[u8]) -> bool {
        self.0.methods.iter().any(|own| own.as_bytes() == method)
    }

    /// Time limit of all attempts together, in milliseconds.
    pub fn timeout_ms(&self) -> Option<u64> {
        self.0.timeout_ms
    }

    /// Whether to send a request again whose method [`Retry::takes`], after `sent` attempts, the
    /// last of which ended with `outcome`.
    pub fn is_due(&self, sent: u32, outcome: Outcome) -> bool {
        let inner = &*self.0;
        let has = |names: &[&str]| {
            let simple = |class: &String| class.rsplit(['.', '$']).next().map(str::to_owned);
            let mut classes = inner.exceptions.iter().filter_map(simple);
            classes.any(|class| names.contains(&class.as_str()))
        };
        let matches = match outcome {
            Outcome::Status(status) => {
                inner.statuses.contains(&status)
                    || status::is_known(status) && inner.series.contains(&(status / 100))
            }
            Outcome::Unresolved => has(&["IOException", "UnknownHostException", "Exception"]),
            Outcome::Unreached => has(&["IOException", "ConnectException", "Exception"]),
            Outcome::Broken => has(&["IOException", "PrematureCloseException", "Exception"]),
            Outcome::TimedOut => has(&["TimeoutException", "Exception"]),
            Outcome::Open => false,
        };
        matches && sent <= inner.retries
    }

    /// Delay before the next attempt, in milliseconds, after `sent` attempts; `None` if the
    /// upstream's Retry-After exceeds the maximum. `last_ms` is the previous delay and is updated;
    /// `dice` is random.
    pub fn wait_ms(
        &self,
        sent: u32,
        retry_after_s: Option<u64>,
        last_ms: &mut u64,
        dice: u64,
    ) -> Option<u64> {
        let inner = &*self.0;
        let mut wait_ms = 0;
        if let Some(backoff) = inner.backoff {
            let grown = match (sent, backoff.on_previous) {
                (0 | 1, _) => backoff.first_ms,
                (_, true) => (*last_ms).max(1).saturating_mul(backoff.factor),
                (_, false) => {
                    backoff.first_ms.saturating_mul(backoff.factor.saturating_pow(sent - 1))
                }
            };
            let max_ms = backoff.max_ms.unwrap_or(u64::MAX);
            wait_ms = grown.min(max_ms);
            if let Some(share) = inner.jitter {
                let span = wait_ms.saturating_mul(share) / 1000;
                let low = wait_ms.saturating_sub(span).max(backoff.first_ms.min(wait_ms));
                let high = wait_ms.saturating_add(span).min(max_ms);
                wait_ms = low + dice % (high - low + 1);
            }
        }
        *last_ms = wait_ms;
        let after_ms = retry_after_s.unwrap_or(0).saturating_mul(1000);
        (after_ms <= RETRY_AFTER_MS_MAX).then(|| wait_ms.max(after_ms))
    }
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let retries = args.int("retries")?.unwrap_or(3);
    let retries = u32::try_from(retries).ok().filter(|retries| (1..=100).contains(retries));
    let retries = retries.ok_or_else(|| {
        ArgError::new("retries", "`retries` is not a number of retries")
            .help("write a whole number from 1 to 100")
    })?;
    let texts = |name: &str| -> Vec<String> {
        let list = args.list(name).iter().map(|text| text.trim().to_owned());
        list.filter(|text| !text.is_empty()).collect()
    };
    let methods: Vec<String> =
        texts("methods").iter().map(|method| method.to_ascii_uppercase()).collect();
    if methods.is_empty() {
        return Err(ArgError::new("methods", "no request would be sent again")
            .help("write methods such as `GET,PUT`"));
    }
    let statuses = args.statuses("statuses")?;
    let mut series = Vec::new();
    for text in texts("series") {
        let name = text.replace('-', "_").to_ascii_uppercase();
        let place = (1..).zip(SERIES).find(|(_, own)| **own == name);
        let (digit, _) = place.ok_or_else(|| {
            ArgError::new("series", format!("`{text}` is not a series of statuses"))
                .help(format!("write one of {}", SERIES.join(", ")))
        })?;
        series.push(digit);
    }
    let exceptions = texts("exceptions");
    if statuses.is_empty() && series.is_empty() && exceptions.is_empty() {
        return Err(ArgError::new("statuses", "nothing would be sent again")
            .help("write `statuses`, `series` or `exceptions`"));
    }
    let ms = |name: &str| -> Result<Option<u64>, ArgError> {
        let duration = args.duration(name)?;
        Ok(duration.map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    };
    let (first_ms, max_ms) = (ms("backoff.firstBackoff")?, ms("backoff.maxBackoff")?);
    let factor = args.int("backoff.factor")?.unwrap_or(2);
    let factor = u64::try_from(factor).ok().filter(|factor| *factor > 0);
    let factor = factor.ok_or_else(|| {
        ArgError::new("backoff.factor", "the factor is not a whole number of at least 1")
    })?;
    let on_previous = args.bool("backoff.basedOnPreviousValue")?.unwrap_or(true);
    let has_backoff = args.is_written("backoff.factor") || first_ms.is_some() || max_ms.is_some();
    // SCG's default first backoff.
    let first_ms = first_ms.unwrap_or(5);
    let backoff = has_backoff.then_some(Backoff { first_ms, max_ms, factor, on_previous });
    let jitter = match args.text("jitter.randomFactor").map(str::trim) {
        None => None,
        Some(text) => {
            let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
            let share = share.ok_or_else(|| {
                ArgError::new("jitter.randomFactor", format!("`{text}` is not a share"))
                    .help("write a number from 0 to 1, such as `0.5`")
            })?;
            Some((share * 1000.0) as u64)
        }
    };
    let timeout_ms = ms("timeout")?.filter(|timeout| *timeout > 0);
    let inner =
        Inner { retries, statuses, series, methods, exceptions, backoff, jitter, timeout_ms };
    Ok(Filter::Retry(Retry(Box::new(inner))))
}

impl Behaviour for Retry {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_policy(&self) -> bool {
        true
    }

    fn caution(&self) -> Option<String> {
        const KNOWN: &[&str] = &[
            "IOException",
            "TimeoutException",
            "ConnectException",
            "PrematureCloseException",
            "Exception",
        ];
        let unknown = self.0.exceptions.iter().find(|class| {
            let simple = class.rsplit(['.', '$']).next().unwrap_or_default();
            !KNOWN.contains(&simple)
        });
        unknown.map(|class| format!("Retry: `{class}` does not occur in weir, and is ignored"))
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        let inner = &*self.0;
        styled.plain("retries", inner.retries)?;
        let series = inner.series.iter().filter_map(|digit| SERIES.get(usize::from(*digit) - 1));
        styled.plain("series", listed(series))?;
        styled.plain("statuses", listed(inner.statuses.iter().map(|s| status::constant(*s))))?;
        styled.plain("methods", listed(inner.methods.iter()))?;
        styled.plain("exceptions", listed(inner.exceptions.iter()))
    }

    fn explain(&self) -> String {
        let inner = &*self.0;
        let what = inner.statuses.iter().map(u16::to_string);
        let what = what.chain(inner.series.iter().map(|digit| format!("{digit}xx")));
        let what: Vec<String> = what.chain(inner.exceptions.iter().cloned()).collect();
        let (retries, methods) = (inner.retries, inner.methods.join(", "));
        format!("sends {methods} again up to {retries} times after {}", what.join(", "))
    }
}

/// A list as Spring prints it.
fn listed(names: impl Iterator<Item = impl fmt::Display>) -> String {
    let names: Vec<String> = names.map(|name| name.to_string()).collect();
    match names.is_empty() {
        true => "list[[empty]]".to_owned(),
        false => format!("list[{}]", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_exchange::{TestExchange, check_refused};

    fn retry(text: &str) -> Retry {
        let trial = TestExchange::new(text);
        let entry = trial.chain.entries().first().expect("a filter");
        let Filter::Retry(retry) = &entry.filter else { panic!("{text} is another filter") };
        retry.clone()
    }

    #[test]
    fn what_is_sent_again() {
        let check = |text, method: &[u8], sent, outcome, expected| {
            let retry = retry(text);
            let due = retry.takes(method) && retry.is_due(sent, outcome);
            assert_eq!(due, expected, "{text} {sent} {outcome:?}");
        };
        let status = Outcome::Status;
        check("- Retry", b"GET", 1, status(503), true);
        check("- Retry", b"GET", 3, status(503), true);
        check("- Retry", b"GET", 4, status(503), false);
        check("- Retry", b"POST", 1, status(503), false);
        check("- Retry", b"GET", 1, status(404), false);
        check("- Retry", b"GET", 1, status(599), false);
        check("- Retry", b"GET", 1, Outcome::Unreached, true);
        check("- Retry", b"GET", 1, Outcome::TimedOut, true);
        check("- Retry", b"GET", 1, Outcome::Open, false);
        check("- Retry=1,NOT_FOUND,POST", b"POST", 1, status(404), true);
        let only = "- name: Retry\n  args:\n    exceptions: java.net.ConnectException";
        check(only, b"GET", 1, Outcome::Unreached, true);
        check(only, b"GET", 1, Outcome::Broken, false);
        check(only, b"GET", 1, Outcome::TimedOut, false);
        check_refused("Retry=0", "retries");
        check_refused("Retry=1,NOPE", "statuses");
    }

    #[test]
    fn waits_grow_and_stay_within_bounds() {
        let check = |text, expected: &[u64]| {
            let (retry, mut last) = (retry(text), 0);
            let waits = (1..).zip(expected).map(|(n, _)| retry.wait_ms(n, None, &mut last, 0));
            assert_eq!(waits.map(|wait| wait.expect("a wait")).collect::<Vec<_>>(), expected);
        };
        check("- Retry", &[0, 0, 0]);
        check("- Retry=3,BAD_GATEWAY,GET,10ms,50ms,3,false", &[10, 30, 50, 50]);
        let long = "- name: Retry\n  args:\n    backoff.firstBackoff: 10ms\n    backoff.factor: 2";
        check(long, &[10, 20, 40]);
    }

    #[test]
    fn an_upstream_may_ask_for_time() {
        let (retry, mut last) = (retry("- Retry"), 0);
        assert_eq!(retry.wait_ms(1, Some(2), &mut last, 0), Some(2_000));
        assert_eq!(retry.wait_ms(1, Some(60), &mut last, 0), None);
    }
}
