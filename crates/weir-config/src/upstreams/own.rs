//! `weir.upstreams`: instances, balance, checks and ejection by service.

use std::sync::Arc;
use std::time::Duration;

use weir_balance::{Balance, Check, HashOf, Instance, Outlier, Rules};

use super::spring::Balancing;
use crate::diagnostic::Diagnostic;
use crate::fields::{Fields, Written};
use crate::spring::{Kind, Layers, Node, key};

const NAME: &str = "weir.upstreams";
const FIELDS: &[&str] =
    &["targets", "balance", "zone", "check", "outlier", "panic-percent", "slow-start"];
const TARGETS: &str = "write `host:port`, or `{ address: host:port, weight: 2, zone: a }`";
/// Maximum number of targets of an upstream.
const TARGETS_MAX: usize = 10_000;
/// Maximum weight of a target, as in HAProxy.
const WEIGHT_MAX: u32 = 256;
/// If fewer instances than this percentage are healthy, all are used.
const PANIC_PERCENT: u32 = 50;

/// An upstream of `weir.upstreams`.
#[derive(Debug)]
pub(super) struct Own {
    pub name: String,
    pub targets: Option<Vec<Arc<Instance>>>,
    pub rules: Rules,
}

/// Every upstream, including invalid ones, so that routes to them are not reported as well.
pub(super) fn all(
    layers: &Layers<'_>,
    balancing: &Balancing,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Own> {
    let mut written: Vec<(String, Vec<Node<'_>>)> = Vec::new();
    for node in layers.all(NAME).flat_map(Node::children) {
        match written.iter_mut().find(|(known, _)| key::same(known, node.key())) {
            Some((_, nodes)) => nodes.push(node),
            None => written.push((node.key().to_owned(), vec![node])),
        }
    }
    let mut all = Vec::new();
    for (name, nodes) in written {
        let mut fields = Fields::new(layers, nodes, format!("upstream '{name}'"), problems);
        all.push(one(&mut fields, name, balancing));
    }
    all
}

fn one(fields: &mut Fields<'_, '_>, name: String, balancing: &Balancing) -> Own {
    fields.only(FIELDS);
    let mut rules = Rules { panic_percent: PANIC_PERCENT, ..balancing.start_of(&name) };
    let targets = targets(fields);
    // Weights in the list of targets enable weighting.
    rules.weighted |= targets.as_ref().is_some_and(|all| all.iter().any(|one| one.weight != 1));
    balance(fields, &mut rules);
    if let Some(zone) = fields.text("zone") {
        rules.zone = Some(zone.text);
    }
    if let Some(check) = check(fields) {
        rules.check = Some(check);
    }
    if let Some(outlier) = outlier(fields) {
        rules.outlier = Some(outlier);
    }
    if let Some(percent) = percent(fields, "panic-percent", 0) {
        rules.panic_percent = percent;
    }
    let slow_start = fields.duration("slow-start").unwrap_or_default();
    rules.slow_start_ms = milliseconds(slow_start);
    Own { name, targets, rules }
}

fn targets(fields: &mut Fields<'_, '_>) -> Option<Vec<Arc<Instance>>> {
    let node = fields.node("targets")?;
    let nodes: Vec<_> = match node.kind() {
        Kind::List => node.children().collect(),
        _ => vec![node],
    };
    let mut all: Vec<Arc<Instance>> = Vec::new();
    let mut count = 0;
    for node in nodes {
        count += 1;
        if node.kind() == Kind::Map {
            let mut below = fields.of(node, "targets");
            below.only(&["address", "weight", "zone"]);
            let Some(address) = below.text("address") else {
                below.wrong(node.span(), "it has no `address`", TARGETS);
                continue;
            };
            let weight = below.value("weight", "a whole number from 1 to 256", |text| {
                text.parse().ok().filter(|weight| (1..=WEIGHT_MAX).contains(weight))
            });
            let zone = below.text("zone").map(|written| written.text);
            all.extend(target(&mut below, &address, weight.unwrap_or(1), zone));
            continue;
        }
        let Written { text, at } = fields.text_of(node);
        count -= usize::from(text.is_empty());
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            all.extend(target(fields, &Written { text: part.to_owned(), at }, 1, None));
        }
    }
    if count == 0 {
        fields.wrong(node.span(), "it names no target", TARGETS);
    }
    if all.len() > TARGETS_MAX {
        let message = format!("it has more than {TARGETS_MAX} targets");
        fields.wrong(node.key_span(), message, "make several upstreams of it");
    }
    Some(all)
}

fn target(
    fields: &mut Fields<'_, '_>,
    address: &Written,
    weight: u32,
    zone: Option<String>,
) -> Option<Arc<Instance>> {
    if address.text.starts_with("https://") {
        let help = "weir does not speak TLS to upstreams yet; use a plain address";
        fields.wrong(address.at, format!("`{}` needs TLS", address.text), help);
        return None;
    }
    let text = address.text.strip_prefix("http://").unwrap_or(&address.text);
    let parts = text.trim_end_matches('/').rsplit_once(':');
    let parts = parts.filter(|(host, _)| Instance::is_host(host));
    let read = parts.and_then(|(host, port)| Some((host, port.parse().ok().filter(|p| *p > 0)?)));
    let Some((host, port)) = read else {
        fields.wrong(address.at, format!("`{}` is no address", address.text), TARGETS);
        return None;
    };
    let mut instance = Instance { weight, ..Instance::new(host, port, false) };
    instance.metadata.extend(zone.map(|zone| ("zone".to_owned(), zone)));
    Some(Arc::new(instance))
}

fn balance(fields: &mut Fields<'_, '_>, rules: &mut Rules) {
    let expected = "`round-robin`, `weighted`, `random`, `least-requests`, `peak-ewma`, \
                    `hash:ip`, `hash:header:NAME`, `hash:cookie:NAME` or `hash:path`";
    let read = fields.value("balance", expected, |text| {
        let text = text.trim();
        let lower = text.to_ascii_lowercase().replace('_', "-");
        if let Some(of) = lower.strip_prefix("hash:") {
            let name = text.rsplit(':').next().unwrap_or_default();
            let of = match of.split_once(':') {
                None if of == "ip" => HashOf::Ip,
                None if of == "path" => HashOf::Path,
                Some(("header", name)) if is_token(name) => HashOf::Header(name.to_owned()),
                Some(("cookie", _)) if is_token(name) => HashOf::Cookie(name.to_owned()),
                _ => return None,
            };
            return Some((Balance::Hash, of, false));
        }
        let (balance, weighted) = match lower.as_str() {
            "round-robin" => (Balance::RoundRobin, false),
            "weighted" => (Balance::RoundRobin, true),
            "random" => (Balance::Random, false),
            "least-requests" => (Balance::LeastConnections, false),
            "peak-ewma" => (Balance::PeakEwma, false),
            _ => return None,
        };
        Some((balance, HashOf::Nothing, weighted))
    });
    if let Some((balance, hash, weighted)) = read {
        (rules.balance, rules.hash) = (balance, hash);
        rules.weighted |= weighted;
    }
}

/// Whether `name` is a valid name of a header field or cookie (RFC 9110 section 5.6.2).
fn is_token(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_part)
}

fn check(fields: &mut Fields<'_, '_>) -> Option<Check> {
    let node = fields.node("check")?;
    // `check: tcp` is a short form.
    if node.kind() != Kind::Map {
        let written = fields.text_of(node);
        if written.text != "tcp" {
            let help = "write `check: tcp`, or `check: { path: /health }`";
            fields.wrong(written.at, format!("`{}` is no check", written.text), help);
        }
        return Some(Check::default());
    }
    let mut below = fields.below("check")?;
    below.only(&["path", "tcp", "port", "interval", "timeout", "rise", "fall", "status"]);
    let path = below.value("path", "a path such as `/health`", |text| {
        let is_clean = text.bytes().all(|byte| byte.is_ascii_graphic());
        (text.starts_with('/') && is_clean).then(|| text.to_owned())
    });
    let mut check = Check { path, ..Check::default() };
    let tcp = below.value("tcp", "`true` or `false`", crate::value::bool);
    if check.path.is_some() && tcp == Some(true) {
        let at = below.node("tcp").map(Node::span).unwrap_or_default();
        below.wrong(at, "a check has a `path` or is `tcp`, not both", "remove one of them");
    }
    check.port = below
        .value("port", "a port from 1 to 65535", |text| text.parse().ok().filter(|port| *port > 0));
    time(&mut below, "interval", &mut check.interval);
    time(&mut below, "timeout", &mut check.timeout);
    let mut times = |name: &str, field: &mut u32| {
        let read = below.value(name, "a whole number from 1 to 100", |text| {
            text.parse().ok().filter(|times| (1..=100).contains(times))
        });
        *field = read.unwrap_or(*field);
    };
    times("rise", &mut check.rise);
    times("fall", &mut check.fall);
    if let Some(status) = below.value("status", "a status or a range, such as `200-399`", statuses)
    {
        check.status = status;
    }
    Some(check)
}

fn statuses(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse().ok().filter(|n| (100..=599).contains(n));
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some((first, last))
}

/// A duration of at least 100 ms.
fn time(fields: &mut Fields<'_, '_>, name: &str, field: &mut Duration) {
    let Some(time) = fields.duration(name) else { return };
    if time < Duration::from_millis(100) {
        let at = fields.node(name).map(Node::span).unwrap_or_default();
        return fields.wrong(at, format!("`{name}` is too short"), "write at least `100ms`");
    }
    *field = time;
}

fn outlier(fields: &mut Fields<'_, '_>) -> Option<Outlier> {
    let mut below = fields.below("outlier")?;
    below.only(&["consecutive-errors", "interval", "base-time", "max-percent"]);
    let mut outlier = Outlier::default();
    let errors = below.value("consecutive-errors", "a whole number from 1 to 1000", |text| {
        text.parse().ok().filter(|errors| (1..=1_000).contains(errors))
    });
    outlier.errors = errors.unwrap_or(outlier.errors);
    let mut set = |name: &str, field: &mut u64| {
        let mut duration = Duration::from_millis(*field);
        time(&mut below, name, &mut duration);
        *field = milliseconds(duration);
    };
    set("interval", &mut outlier.interval_ms);
    set("base-time", &mut outlier.base_ms);
    outlier.percent_max = percent(&mut below, "max-percent", 1).unwrap_or(outlier.percent_max);
    Some(outlier)
}

fn percent(fields: &mut Fields<'_, '_>, name: &str, least: u32) -> Option<u32> {
    fields.value(name, "a percentage up to 100, such as `50`", |text| {
        let number = text.trim_end_matches('%').trim().parse().ok();
        number.filter(|percent| (least..=100).contains(percent))
    })
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
