//! The upstreams of a running gateway, as the admin API shows them, and what an operator does to
//! them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use weir_balance::{Cluster, Directory, InstanceState, MemberState};

/// The maximum number of rows of one metric.
const ROWS_MAX: usize = 10_000;

fn now_ms() -> u64 {
    weir_server::now_ns() / 1_000_000
}

/// The upstream of this name, or all of them.
pub fn show(directory: &Directory, name: Option<&str>) -> Option<Value> {
    match name {
        Some(name) => directory.cluster(name).map(|cluster| shown(&cluster)),
        None => {
            let all: Vec<Value> = directory.clusters().iter().map(shown).collect();
            Some(json!({ "upstreams": all }))
        }
    }
}

/// The reasons why rules exclude instances of a service, by id; empty without rules.
pub fn reasons(directory: &Directory, name: &str) -> HashMap<String, String> {
    let Some(cluster) = directory.cluster(name) else { return HashMap::new() };
    let states = cluster.states(now_ms());
    states.into_iter().filter_map(|one| Some((one.instance.id.clone(), one.why?))).collect()
}

/// Drains an instance, or ends the drain; returns the upstream's new state. `None` if there is no
/// such upstream, or no such instance in it.
pub fn drain(directory: &Directory, name: &str, instance: &str, drained: bool) -> Option<Value> {
    let cluster = directory.cluster(name)?;
    let is_meant = |one: &weir_balance::Instance| {
        one.id == instance || format!("{}:{}", one.target.host, one.target.port) == instance
    };
    let found: Vec<_> = cluster.members().into_iter().filter(|(_, one)| is_meant(one)).collect();
    if found.is_empty() {
        return None;
    }
    for (member, _) in found {
        member.drain(drained);
    }
    Some(shown(&cluster))
}

fn shown(cluster: &Arc<Cluster>) -> Value {
    let rules = cluster.rules();
    let instances: Vec<Value> = cluster.states(now_ms()).iter().map(instance).collect();
    json!({
        "name": cluster.name(),
        "balance": rules.balance.name(),
        "zone": rules.zone,
        "checked": rules.check.is_some(),
        "usesAll": cluster.uses_all(now_ms()),
        "instances": instances,
    })
}

fn instance(state: &InstanceState) -> Value {
    let (one, member) = (&state.instance, state.member.as_ref());
    let count = |read: fn(&MemberState) -> u64| member.map(read);
    json!({
        "id": one.id,
        "address": format!("{}:{}", one.target.host, one.target.port),
        "zone": one.zone(),
        "weight": count(|m| u64::from(m.weight)),
        "active": count(|m| m.active as u64),
        "requests": count(|m| m.taken),
        "unreached": count(|m| m.failed),
        "drained": member.is_some_and(|m| m.is_drained),
        "used": state.why.is_none(),
        "why": state.why,
    })
}

/// Metrics of all upstreams in the Prometheus text format; nothing without any.
pub fn prometheus(directory: &Directory) -> String {
    let states: Vec<(String, InstanceState)> = directory
        .clusters()
        .iter()
        .flat_map(|one| one.states(now_ms()).into_iter().map(|state| (one.name().into(), state)))
        .take(ROWS_MAX)
        .collect();
    if states.is_empty() { String::new() } else { metrics_of(&states) }
}

/// Metrics of instances; without a state, only their names and meanings.
pub fn metrics_of(states: &[(String, InstanceState)]) -> String {
    let mut out = String::new();
    type Read = fn(&InstanceState) -> u64;
    fn member(state: &InstanceState, read: fn(&MemberState) -> u64) -> u64 {
        state.member.as_ref().map_or(0, read)
    }
    let rows: [(&str, &str, &str, Read); 4] = [
        ("used", "gauge", "1 if requests are sent to the instance.", |s| {
            u64::from(s.why.is_none())
        }),
        ("active", "gauge", "Requests under way at the instance.", |s| {
            member(s, |m| m.active as u64)
        }),
        ("requests_total", "counter", "Requests assigned to the instance.", |s| {
            member(s, |m| m.taken)
        }),
        ("unreached_total", "counter", "Of these, requests that could not reach it.", |s| {
            member(s, |m| m.failed)
        }),
    ];
    for (name, kind, help, read) in rows {
        let name = format!("weir_upstream_instance_{name}");
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (upstream, state) in states {
            let (upstream, instance) = (label(upstream), label(&state.instance.id));
            let labels = format!("upstream=\"{upstream}\",instance=\"{instance}\"");
            let _ = writeln!(out, "{name}{{{labels}}} {}", read(state));
        }
    }
    out
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
