//! Reads the upstreams of a pipeline.

use std::sync::Arc;

use weir_balance::{Balance, Directory, Group, Instance};
use weir_filter::{Scheme, Target};

use crate::fields::{Field, Fields, Shape, Written};
use crate::source::Span;
use crate::spring::Kind;

/// An upstream as written.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub host: String,
    pub port: u16,
    pub weight: u32,
    pub at: Span,
}

/// The field `upstream`.
pub(super) const UPSTREAM: Field =
    Field::new("upstream", Shape::Mixed, "[ 10.0.0.1:80, { address: 10.0.0.2:80, weight: 2 } ]");

const FIELDS: &[Field] = &[Field::value("address", "10.0.0.1:80"), Field::value("weight", "2")];

const EXPECTED: &str = "write `host:port`, or `{ address: host:port, weight: 2 }`";

/// The upstreams of `upstream`: one or several, each with a weight.
pub(super) fn addresses(fields: &mut Fields<'_, '_>) -> Vec<Address> {
    let Some(node) = fields.node("upstream") else { return Vec::new() };
    let nodes: Vec<_> = match node.kind() {
        Kind::List => node.children().collect(),
        _ => vec![node],
    };
    if UPSTREAM.shape.misfit(node).is_some() {
        return Vec::new();
    }
    let before = fields.problems.len();
    let mut all = Vec::new();
    for node in nodes {
        if node.kind() != Kind::Map {
            let Written { text, at } = fields.text_of(node);
            for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
                // The syntax of nginx and HAProxy: `host:port weight=2`.
                let mut words = part.split_whitespace();
                let address = words.next().unwrap_or_default().to_owned();
                let weight = words.next().map(|word| word.strip_prefix("weight=").unwrap_or(word));
                let weight = weight.map(|text| Written { text: text.to_owned(), at });
                all.extend(one(fields, &Written { text: address, at }, weight));
            }
            continue;
        }
        let mut below = fields.of(node, "upstream");
        if !below.expect(FIELDS) {
            continue;
        }
        let Some(address) = below.text("address") else {
            below.wrong(node.span(), "it has no `address`", EXPECTED);
            continue;
        };
        let weight = below.text("weight");
        all.extend(one(&mut below, &address, weight));
    }
    if all.is_empty() && fields.problems.len() == before {
        fields.wrong(node.span(), "it names no upstream", EXPECTED);
    }
    all
}

fn one(fields: &mut Fields<'_, '_>, address: &Written, weight: Option<Written>) -> Option<Address> {
    let text = address.text.strip_prefix("tcp://").unwrap_or(&address.text);
    let text = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
    let parts = text.rsplit_once(':').filter(|(host, _)| Instance::is_host(host));
    let read = parts.and_then(|(host, port)| Some((host, port.parse().ok().filter(|p| *p > 0)?)));
    let Some((host, port)) = read else {
        fields.wrong(address.at, format!("`{}` is no address", address.text), EXPECTED);
        return None;
    };
    let weight = match weight {
        None => 1,
        Some(written) => match written.text.parse().ok().filter(|n| (1..=WEIGHT_MAX).contains(n)) {
            Some(weight) => weight,
            None => {
                let help = format!("write a whole number from 1 to {WEIGHT_MAX}");
                fields.wrong(written.at, format!("`{}` is no weight", written.text), help);
                return None;
            }
        },
    };
    Some(Address { host: host.to_ascii_lowercase(), port, weight, at: address.at })
}

/// Maximum weight of an upstream, as in HAProxy.
const WEIGHT_MAX: u32 = 256;

/// A group of `addresses`, with their known state.
pub(super) fn group(
    directory: &Directory,
    pipeline: &str,
    addresses: &[Address],
    balance: Balance,
    slow_start_ms: u64,
) -> Arc<Group> {
    let member = |address: &Address| {
        let target = Target::new(Scheme::Http, address.host.clone(), address.port);
        (directory.member(pipeline, target), address.weight)
    };
    Arc::new(Group::new(addresses.iter().map(member).collect(), balance, slow_start_ms))
}

/// `balance`.
pub(super) fn balance(fields: &mut Fields<'_, '_>) -> Balance {
    let expected = "`round-robin`, `least-connections`, `peak-ewma` or `hash:ip`";
    let read = |text: &str| {
        Some(match text.to_ascii_lowercase().replace('_', "-").as_str() {
            "round-robin" => Balance::RoundRobin,
            "least-connections" => Balance::LeastConnections,
            "peak-ewma" => Balance::PeakEwma,
            "hash:ip" => Balance::HashIp,
            _ => return None,
        })
    };
    fields.value("balance", expected, read).unwrap_or_default()
}

/// Reports a pipeline without upstreams.
pub(super) fn missing(fields: &mut Fields<'_, '_>, at: Span) {
    let help =
        "write `upstream: host:port`; in an ini file a module `name = proxy` with `upstream`";
    fields.wrong(at, "it has no upstream", help);
}
