//! Limits: their state, and an operator's changes to them at run time.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};
use weir_control::Control;
use weir_filter::filter::Setting;
use weir_filter::{LIMIT_FIELDS, LimitDefinition, REQUEST_FIELDS, set_limit};
use weir_limit::{Concurrency, Counts, KeyCounts, Mode, Order, Valve, WAIT_BOUNDS_MS};

use super::describe::{BodySpec, Endpoint, Parameter, operation, read, write};
use super::shared::{BAD, FORBIDDEN, JSON_MEDIA, MEDIA, OK_OBJECT, UNAUTHORIZED};
use super::{Call, body};
use crate::answer::{Failure, ok_json};

const LIMIT: Parameter = Parameter {
    place: "path",
    name: "name",
    kind: "string",
    doc: "Name; a limit that a route brings is `route:ID`.",
};

/// In the order of the document.
pub(super) static ENDPOINTS: &[Endpoint] = &[
    read(
        "/gateway/limits",
        "gateway",
        operation!(ListLimits: list),
        "Limits in force, with what waits and what has passed.",
        &[OK_OBJECT],
    ),
    Endpoint {
        parameters: &[LIMIT],
        ..read(
            "/gateway/limits/{name}",
            "gateway",
            operation!(GetLimit: async get),
            "One limit.",
            &[OK_OBJECT, (StatusCode::NOT_FOUND, Some("Error"), "No route in force names it.")],
        )
    },
    Endpoint {
        parameters: &[LIMIT],
        body: Some(BodySpec { media: JSON_MEDIA, schema: "Limit" }),
        ..write(
            "POST",
            "/gateway/limits/{name}",
            "gateway",
            operation!(SetLimit: async set),
            "Changes a limit until the next reload; empties its queue; pauses it, until it is resumed.",
            &[
                OK_OBJECT,
                BAD,
                UNAUTHORIZED,
                FORBIDDEN,
                (StatusCode::NOT_FOUND, Some("Error"), "No route in force names it."),
                MEDIA,
            ],
        )
    },
];

pub(super) fn list(call: &Call) -> Result<Response, Failure> {
    let limits: Vec<Value> = valves(&call.site.control).iter().map(|valve| shown(valve)).collect();
    Ok(ok_json(&json!({ "limits": limits })))
}

pub(super) async fn get(mut call: Call) -> Result<Response, Failure> {
    let valve = find(&mut call).await?;
    Ok(ok_json(&shown(&valve)))
}

/// Settings by name, `paused`, and `flush: true`; all or nothing.
pub(super) async fn set(mut call: Call) -> Result<Response, Failure> {
    let valve = find(&mut call).await?;
    let bytes_max = call.site.options.limits.body_bytes_max;
    let asked = body::read_json(&call.parts.headers, call.body, bytes_max).await?;
    let Some(asked) = asked.as_object() else {
        return Err(Failure::bad_request("write an object, such as {\"rate\": \"50/s\"}"));
    };
    let mut limit = LimitDefinition { settings: valve.settings(), ..LimitDefinition::default() };
    let (mut paused, mut flush) = (None, false);
    for (name, value) in asked {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match (name.as_str(), value) {
            ("paused", Value::Bool(pause)) => paused = Some(*pause),
            ("flush", Value::Bool(all)) => flush = *all,
            (own @ ("paused" | "flush"), _) => {
                let why = format!("{own}: `{text}` is no boolean; write true or false");
                return Err(Failure::bad_request(why));
            }
            (own, _) if REQUEST_FIELDS.contains(&own) => {
                let why = format!("`{own}` can be changed in the configuration only");
                return Err(Failure::bad_request(why));
            }
            _ => set_limit(&mut limit, name, &text).map_err(|why| {
                let is_known = LIMIT_FIELDS.contains(&name.as_str());
                Failure::bad_request(match is_known {
                    true => format!("{name}: {why}"),
                    false => format!("{name}: {why}; paused, flush"),
                })
            })?,
        }
    }
    if let Some((_, why, help)) = limit.contradiction() {
        return Err(Failure::bad_request(format!("{why}; {help}")));
    }
    // Pause and flush come before the new settings, so that these admit no request in between.
    if paused == Some(true) {
        valve.pause();
        valve.of_keys().iter().for_each(|one| one.pause());
    }
    let flush_all = || valve.flush() + valve.of_keys().iter().map(|one| one.flush()).sum::<usize>();
    let flushed = if flush { flush_all() } else { 0 };
    weir_server::set_limits(vec![Setting::Limit(Arc::clone(&valve), limit.settings)]);
    if paused == Some(false) {
        let now_ns = weir_server::now_ns();
        weir_server::arm_if(&valve, valve.resume(now_ns));
        for one in valve.of_keys() {
            weir_server::arm_if(&one, one.resume(now_ns));
        }
    }
    tracing::info!(limit = valve.name(), who = call.who, asked = ?asked, "a limit was changed");
    let mut answer = shown(&valve);
    if let Some(all) = answer.as_object_mut().filter(|_| flush) {
        all.insert("flushed".to_owned(), json!(flushed));
    }
    Ok(ok_json(&answer))
}

async fn find(call: &mut Call) -> Result<Arc<Valve>, Failure> {
    let name = call.segment("name").await?;
    let found = valves(&call.site.control).into_iter().find(|valve| valve.name() == name);
    found.ok_or(Failure::missing())
}

/// The named limits in force; the one of a route's filter is called `route:<id>`.
fn valves(control: &Control) -> Vec<Arc<Valve>> {
    control.limits().all()
}

fn shown(valve: &Valve) -> Value {
    let settings = valve.settings();
    let counts = valve.counts();
    json!({
        "name": valve.name(),
        "rate": settings.rate.map(|rate| rate.to_string()),
        "mode": match settings.mode { Mode::Pace => "pace", Mode::Window => "window" },
        "burst": settings.burst,
        "warmUpMs": settings.warm_up_ns / 1_000_000,
        "concurrency": settings.concurrency.map(|most| match most {
            Concurrency::Fixed(most) => json!(most),
            Concurrency::Adaptive => json!("adaptive"),
        }),
        "concurrencyNow": counts.concurrency,
        "baselineMs": counts.baseline_ns.map(|time| time as f64 / 1e6),
        "bandwidth": settings.bandwidth,
        "streamBandwidth": settings.stream_bandwidth,
        "movedBytes": counts.moved_bytes,
        "bandwidthWaits": counts.bandwidth_waits,
        "queue": settings.queue_max,
        "queueBytes": settings.queue_bytes_max,
        "maxWaitMs": settings.wait_max_ns / 1_000_000,
        "perKey": settings.per_key,
        "keys": counts.keys,
        "order": match settings.order { Order::Fifo => "fifo", Order::Fair => "fair" },
        "ageingMs": settings.ageing_ns / 1_000_000,
        "enforce": settings.enforce,
        "paused": valve.is_paused(),
        "depth": counts.depth,
        "heldBytes": counts.held_bytes,
        "inService": counts.in_service,
        "admitted": counts.admitted,
        "waited": counts.waited,
        "refused": counts.refused_full
            + counts.refused_wait
            + counts.refused_deadline
            + counts.refused_flushed,
        "cancelled": counts.cancelled,
        "shadowed": counts.shadowed,
        "topKeys": valve.top_keys().into_iter().map(|key| json!({
            "key": key.name,
            "waited": key.waited,
            "refused": key.refused,
        })).collect::<Vec<_>>(),
    })
}

/// A metric: its name, kind, help, and the labels with the count of each of its rows.
type Row = (&'static str, &'static str, &'static str, fn(&Counts) -> Vec<(&'static str, u64)>);

const ROWS: &[Row] = &[
    ("admitted_total", "counter", "Requests that passed a limit.", |c| vec![("", c.admitted)]),
    ("refused_total", "counter", "Requests that a limit refused.", |c| {
        vec![
            (",reason=\"full\"", c.refused_full),
            (",reason=\"wait\"", c.refused_wait),
            (",reason=\"deadline\"", c.refused_deadline),
            (",reason=\"flushed\"", c.refused_flushed),
        ]
    }),
    ("cancelled_total", "counter", "Requests whose client left while they waited.", |c| {
        vec![("", c.cancelled)]
    }),
    ("shadowed_total", "counter", "Requests that would have waited if it were enforced.", |c| {
        vec![("", c.shadowed)]
    }),
    ("moved_bytes_total", "counter", "Bytes of bodies that moved under a bandwidth.", |c| {
        vec![("", c.moved_bytes)]
    }),
    ("bandwidth_waits_total", "counter", "Waits of bodies for their bandwidth limit.", |c| {
        vec![("", c.bandwidth_waits)]
    }),
    ("depth", "gauge", "Requests that wait now.", |c| vec![("", c.depth as u64)]),
    ("held_bytes", "gauge", "Bytes that waiting requests hold.", |c| vec![("", c.held_bytes)]),
    ("keys", "gauge", "Keys that have a limit of their own.", |c| vec![("", c.keys as u64)]),
    ("concurrency", "gauge", "Requests that may be in service, where that is limited.", |c| {
        c.concurrency.map(|most| ("", most)).into_iter().collect()
    }),
    ("in_service", "gauge", "Requests in service, where that is limited.", |c| {
        vec![("", c.in_service)]
    }),
];

/// Metrics of all limits in the Prometheus text format; nothing without limits.
pub fn limits_prometheus(control: &Control) -> String {
    let valves = valves(control);
    let counts: Vec<(String, Counts)> =
        valves.iter().map(|valve| (label(valve.name()), valve.counts())).collect();
    let keys: Vec<(String, Vec<KeyCounts>)> =
        valves.iter().map(|valve| (label(valve.name()), valve.top_keys())).collect();
    if counts.is_empty() { String::new() } else { metrics_of(&counts) + &metrics_of_keys(&keys) }
}

/// Name, type and meaning of every metric of a limit, without values: for the reference.
pub fn limits_metrics() -> String {
    metrics_of(&[]) + &metrics_of_keys(&[])
}

fn metrics_of(counts: &[(String, Counts)]) -> String {
    let mut out = String::new();
    for (name, kind, help, read) in ROWS {
        let name = format!("weir_limit_{name}");
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (limit, counts) in counts {
            for (labels, count) in read(counts) {
                let _ = writeln!(out, "{name}{{limit=\"{limit}\"{labels}}} {count}");
            }
        }
    }
    let name = "weir_limit_wait_seconds";
    let _ = write!(out, "# HELP {name} Waits of requests that passed.\n# TYPE {name} histogram\n");
    for (limit, counts) in counts {
        let mut sum = 0;
        for (at, count) in counts.waits.iter().enumerate() {
            sum += count;
            let bound = WAIT_BOUNDS_MS.get(at).map(|bound| *bound as f64 / 1e3);
            let bound = bound.map_or_else(|| "+Inf".to_owned(), |bound| bound.to_string());
            let _ = writeln!(out, "{name}_bucket{{limit=\"{limit}\",le=\"{bound}\"}} {sum}");
        }
        let seconds = counts.wait_sum_ns as f64 / 1e9;
        let _ = writeln!(out, "{name}_sum{{limit=\"{limit}\"}} {seconds}");
        let _ = writeln!(out, "{name}_count{{limit=\"{limit}\"}} {sum}");
    }
    let help = "Longest delay of a release after its scheduled turn.";
    seconds(&mut out, counts, ("late_max", help), |counts| Some(counts.late_max_ns));
    let help = "Time that a request takes when the upstream is not busy.";
    seconds(&mut out, counts, ("baseline", help), |counts| counts.baseline_ns);
    out
}

/// The keys that a limit holds back most; a key has its rows as long as it is one of them.
fn metrics_of_keys(keys: &[(String, Vec<KeyCounts>)]) -> String {
    type Row = (&'static str, &'static str, fn(&KeyCounts) -> u64);
    const ROWS: [Row; 2] = [
        ("waited", "Requests that waited, of the ten keys that are held back most.", |key| {
            key.waited
        }),
        (
            "refused",
            "Requests refused on arrival, of the ten keys that are held back most.",
            |key| key.refused,
        ),
    ];
    let mut out = String::new();
    for (name, help, read) in ROWS {
        let name = format!("weir_limit_key_{name}_total");
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} counter\n");
        for (limit, keys) in keys {
            for key in keys {
                let (text, count) = (label(&key.name), read(key));
                let _ = writeln!(out, "{name}{{limit=\"{limit}\",key=\"{text}\"}} {count}");
            }
        }
    }
    out
}

/// A gauge of a time; limits that do not have it have no row.
fn seconds(
    out: &mut String,
    counts: &[(String, Counts)],
    (name, help): (&str, &str),
    read: fn(&Counts) -> Option<u64>,
) {
    let name = format!("weir_limit_{name}_seconds");
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n");
    for (limit, counts) in counts {
        if let Some(time_ns) = read(counts) {
            let seconds = time_ns as f64 / 1e9;
            let _ = writeln!(out, "{name}{{limit=\"{limit}\"}} {seconds}");
        }
    }
}

/// A text as the value of a label.
pub(super) fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
