//! Circuit breakers: `/actuator/circuitbreakers`, and metrics by resilience4j's names.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::response::Response;
use serde_json::{Map, Value, json};
use weir_control::Control;
use weir_limit::{Breaker, BreakerState, BreakerView};
use weir_server::now_ns;

use super::Call;
use super::describe::{Endpoint, operation, read};
use super::limits::label;
use super::shared::OK_OBJECT;
use crate::answer::{Failure, ok_json};

const STATES: &[(&str, BreakerState)] = &[
    ("closed", BreakerState::Closed),
    ("open", BreakerState::Open),
    ("half_open", BreakerState::HalfOpen),
];

/// In the order of the document.
pub(super) static ENDPOINTS: &[Endpoint] = &[read(
    "/circuitbreakers",
    "circuitbreakers",
    operation!(ListBreakers: list),
    "Circuit breakers, in the form of resilience4j's endpoint.",
    &[OK_OBJECT],
)];

/// The list, as resilience4j's `CircuitBreakerEndpoint` shows it.
pub(super) fn list(call: &Call) -> Result<Response, Failure> {
    let mut all = Map::new();
    for breaker in breakers(&call.site.control) {
        let (view, settings) = (breaker.view(now_ns()), breaker.settings());
        let percent = |rate: f64| format!("{rate:.1}%");
        all.insert(
            breaker.name().to_owned(),
            json!({
                "failureRate": percent(view.failure_rate),
                "slowCallRate": percent(view.slow_rate),
                "failureRateThreshold": percent(settings.failure_rate),
                "slowCallRateThreshold": percent(settings.slow_rate),
                "bufferedCalls": view.buffered,
                "failedCalls": view.failed,
                "slowCalls": view.slow,
                "slowFailedCalls": view.slow_failed,
                "notPermittedCalls": view.refused,
                "state": view.state.name(),
            }),
        );
    }
    Ok(ok_json(&json!({ "circuitBreakers": Value::Object(all) })))
}

fn breakers(control: &Control) -> Vec<Arc<Breaker>> {
    control.limits().breakers()
}

/// A metric: its name, kind, help, and the labels with the value of each of its rows.
type Row = (&'static str, &'static str, &'static str, fn(&BreakerView) -> Vec<(String, f64)>);

const ROWS: &[Row] = &[
    ("state", "gauge", "The state of a circuit breaker: 1 for the one it is in.", |view| {
        let is = |state| f64::from(u8::from(view.state == state));
        STATES.iter().map(|(name, state)| (format!(",state=\"{name}\""), is(*state))).collect()
    }),
    ("buffered_calls", "gauge", "Calls in the window of a circuit breaker.", |view| {
        let ok = view.buffered - view.failed;
        [("failed", view.failed), ("successful", ok)]
            .map(|(kind, count)| (format!(",kind=\"{kind}\""), f64::from(count)))
            .to_vec()
    }),
    ("failure_rate", "gauge", "Failed calls of the window in percent; -1: too few.", |view| {
        vec![(String::new(), view.failure_rate)]
    }),
    ("slow_call_rate", "gauge", "Slow calls of the window in percent; -1: too few.", |view| {
        vec![(String::new(), view.slow_rate)]
    }),
    ("calls_total", "counter", "Calls through a circuit breaker.", |view| {
        [("failed", view.failed_total), ("successful", view.succeeded_total)]
            .map(|(kind, count)| (format!(",kind=\"{kind}\""), count as f64))
            .to_vec()
    }),
    ("not_permitted_calls_total", "counter", "Calls that an open breaker refused.", |view| {
        vec![(String::new(), view.refused as f64)]
    }),
];

/// Metrics of all breakers in the Prometheus text format; nothing without breakers.
pub fn breakers_prometheus(control: &Control) -> String {
    let views: Vec<(String, BreakerView)> =
        breakers(control).iter().map(|one| (label(one.name()), one.view(now_ns()))).collect();
    if views.is_empty() { String::new() } else { metrics_of(&views) }
}

/// Name, type and meaning of every metric of a breaker, without values: for the reference.
pub fn breakers_metrics() -> String {
    metrics_of(&[])
}

fn metrics_of(views: &[(String, BreakerView)]) -> String {
    let mut out = String::new();
    for (name, kind, help, read) in ROWS {
        let name = format!("resilience4j_circuitbreaker_{name}");
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (breaker, view) in views {
            for (labels, value) in read(view) {
                let _ = writeln!(out, "{name}{{name=\"{breaker}\"{labels}}} {value}");
            }
        }
    }
    out
}
