//! The pipelines of a running gateway, as the admin API shows them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;

use serde_json::{Value, json};
use weir_server::PipelineStatus;

/// Logs the addresses at which a reload has begun or ended to listen.
pub fn log_changes(before: &[PipelineStatus], after: &[PipelineStatus]) {
    let addresses = |all: &[PipelineStatus]| -> BTreeSet<(String, SocketAddr)> {
        let of = |one: &PipelineStatus| {
            let id = one.id.clone();
            one.listen.clone().into_iter().map(move |address| (id.clone(), address))
        };
        all.iter().flat_map(of).collect()
    };
    let (before, after) = (addresses(before), addresses(after));
    for (pipeline, address) in after.difference(&before) {
        tracing::info!(pipeline, %address, "a pipeline listens");
    }
    for (pipeline, address) in before.difference(&after) {
        tracing::info!(pipeline, %address, "a pipeline listens no more; its connections may end");
    }
}

/// The pipeline of this name, or all of them.
pub fn show(all: &[PipelineStatus], id: Option<&str>) -> Option<Value> {
    match id {
        Some(id) => all.iter().find(|one| one.id == id).map(shown),
        None => Some(json!({ "pipelines": all.iter().map(shown).collect::<Vec<_>>() })),
    }
}

fn shown(status: &PipelineStatus) -> Value {
    let upstreams = status.members.iter().map(|member| {
        json!({
            "address": member.address,
            "weight": member.weight,
            "up": member.is_up,
            "passedOver": member.rests,
            "active": member.active,
            "taken": member.taken,
            "unreached": member.failed,
        })
    });
    json!({
        "id": status.id,
        "protocol": status.protocol,
        "listen": status.listen.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "limit": status.limit,
        "active": status.active,
        "counts": status.counts.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
        "upstreams": upstreams.collect::<Vec<_>>(),
    })
}

/// Metrics of all pipelines in the Prometheus text format; nothing without any.
pub fn prometheus(all: &[PipelineStatus]) -> String {
    let Some(first) = all.first() else { return String::new() };
    let counts: Vec<&str> = first.counts.iter().map(|(count, _)| *count).collect();
    metrics_of(&counts, all)
}

/// Names and meanings of a pipeline's metrics.
pub fn metrics() -> String {
    let counts: Vec<&str> = COUNTS.iter().map(|(count, _)| *count).collect();
    metrics_of(&counts, &[])
}

fn metrics_of(counts: &[&str], all: &[PipelineStatus]) -> String {
    let mut out = String::new();
    for (at, count) in counts.iter().enumerate() {
        let name = format!("weir_pipeline_{count}_total");
        let _ = write!(out, "# HELP {name} {}\n# TYPE {name} counter\n", help(count));
        for one in all {
            let value = one.counts.get(at).map_or(0, |(_, value)| *value);
            let _ = writeln!(out, "{name}{{pipeline=\"{}\"}} {value}", label(&one.id));
        }
    }
    let name = "weir_pipeline_active";
    let _ = write!(out, "# HELP {name} Connections open now.\n# TYPE {name} gauge\n");
    for one in all {
        let _ = writeln!(out, "{name}{{pipeline=\"{}\"}} {}", label(&one.id), one.active);
    }
    let name = "weir_pipeline_upstream_up";
    let help = "1 if an upstream is used: neither taken out by its check nor passed over.";
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n");
    for (one, member) in all.iter().flat_map(|one| one.members.iter().map(move |m| (one, m))) {
        let (pipeline, upstream) = (label(&one.id), label(&member.address));
        let up = u8::from(member.is_up && !member.rests);
        let labels = format!("pipeline=\"{pipeline}\",upstream=\"{upstream}\"");
        let _ = writeln!(out, "{name}{{{labels}}} {up}");
    }
    out
}

/// The counters of a pipeline, with their meanings.
const COUNTS: &[(&str, &str)] = &[
    ("accepted", "Connections accepted."),
    ("limited", "Connections or messages that the limit refused."),
    ("unreached", "Connections or messages for which no upstream could be reached."),
    ("messages", "Messages from clients, where they are told apart."),
    ("broken", "Connections closed for protocol violations; in HTTP, requests."),
    ("denied", "Connections denied by rules or missing credentials."),
    ("expired", "Connections ended by a timeout; in HTTP, requests."),
    ("slow", "Connections closed as clients did not read their responses."),
    ("late", "Responses dropped as nobody waits for them any more."),
    ("sent_bytes", "Bytes from clients to upstreams."),
    ("received_bytes", "Bytes from upstreams to clients."),
];

fn help(count: &str) -> &'static str {
    let known = COUNTS.iter().find(|(name, _)| *name == count);
    known.map_or("As its name says.", |(_, help)| help)
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
