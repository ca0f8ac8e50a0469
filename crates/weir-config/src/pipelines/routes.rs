//! Reads the routes of a pipeline: upstream groups, and the conditions that choose them.

use weir_balance::{Balance, Directory};
use weir_snapshot::{Fits, Pattern, PipelineRoute};

use super::upstreams::{Address, UPSTREAM, addresses, group};
use crate::fields::{Field, Fields, Shape, Written};
use crate::spring::Kind;

/// Fields of a route of TLS connections.
const OF_HELLOS: &[Field] = &[
    Field::new("sni", Shape::Values, "[ \"*.example.org\" ]"),
    Field::new("alpn", Shape::Values, "[ h2 ]"),
    UPSTREAM,
];

/// Fields of a route of Dubbo calls.
const OF_CALLS: &[Field] = &[
    Field::value("service", "\"org.demo.*\""),
    Field::value("method", "\"find*\""),
    Field::value("version", "\"1.*\""),
    Field::value("group", "gold"),
    UPSTREAM,
];

/// `routes` of a pipeline with the protocol `protocol`. Their upstreams are added to `upstreams`.
pub(super) fn routes(
    fields: &mut Fields<'_, '_>,
    protocol: &str,
    directory: &Directory,
    id: &str,
    (balance, slow_start_ms): (Balance, u64),
    upstreams: &mut Vec<Address>,
) -> Vec<PipelineRoute> {
    let Some(node) = fields.node("routes") else { return Vec::new() };
    let mut all = Vec::new();
    for node in node.children().filter(|node| node.kind() == Kind::Map) {
        let mut below = fields.of(node, "routes");
        let fits = match protocol {
            "dubbo" => call(&mut below),
            _ => hello(&mut below),
        };
        let addresses = addresses(&mut below);
        if below.node("upstream").is_none() {
            below.wrong(node.span(), "this route has no `upstream`", EXPECTED);
        }
        let upstream = group(directory, id, &addresses, balance, slow_start_ms);
        upstreams.extend(addresses);
        all.extend(fits.map(|fits| PipelineRoute { fits, upstream }));
    }
    all
}

const EXPECTED: &str =
    "write a list such as `[ { sni: [ \"*.example.org\" ], upstream: host:port } ]`";

fn hello(below: &mut Fields<'_, '_>) -> Option<Fits> {
    if !below.expect(OF_HELLOS) {
        return None;
    }
    let lower = |Written { text, .. }: &Written| Pattern::new(&text.to_ascii_lowercase());
    let sni: Vec<_> = below.texts("sni").iter().map(lower).collect();
    let alpn: Vec<_> = below.texts("alpn").into_iter().map(|written| written.text).collect();
    if sni.is_empty() && alpn.is_empty() {
        let at = below.at();
        let help = "write `sni: \"*\"` for every name; without a hello `upstream` serves";
        below.wrong(at, "this route has neither `sni` nor `alpn`", help);
        return None;
    }
    Some(Fits::Hello { sni, alpn })
}

fn call(below: &mut Fields<'_, '_>) -> Option<Fits> {
    if !below.expect(OF_CALLS) {
        return None;
    }
    let pattern = |name: &str| below.text(name).map(|written| Pattern::new(&written.text));
    let (service, method) = (pattern("service"), pattern("method"));
    let (version, group) = (pattern("version"), pattern("group"));
    if [&service, &method, &version, &group].iter().all(|one| one.is_none()) {
        let at = below.at();
        let help = "write `service`, `method`, `version` or `group`";
        below.wrong(at, "this route says nothing of the calls that it takes", help);
        return None;
    }
    Some(Fits::Call { service, method, version, group })
}
