//! Reads the routes of a pipeline: upstream groups, and the conditions that choose them.

use weir_balance::{Balance, Directory};
use weir_snapshot::{Fits, Pattern, PipelineRoute};

use super::upstreams::{addresses, group};
use crate::fields::{Fields, Written};
use crate::spring::Kind;

/// `routes` of a pipeline with the protocol `protocol`.
pub(super) fn routes(
    fields: &mut Fields<'_, '_>,
    protocol: &str,
    directory: &Directory,
    id: &str,
    (balance, slow_start_ms): (Balance, u64),
) -> Vec<PipelineRoute> {
    let Some(node) = fields.node("routes") else { return Vec::new() };
    if node.kind() != Kind::List {
        fields.wrong(node.span(), "`routes` is no list", EXPECTED);
        return Vec::new();
    }
    let mut all = Vec::new();
    for node in node.children() {
        let mut below = fields.of(node, "routes");
        let fits = match protocol {
            "dubbo" => call(&mut below),
            _ => hello(&mut below),
        };
        let addresses = addresses(&mut below);
        if addresses.is_empty() {
            below.wrong(node.span(), "this route has no `upstream`", EXPECTED);
        }
        let upstream = group(directory, id, &addresses, balance, slow_start_ms);
        all.extend(fits.map(|fits| PipelineRoute { fits, upstream }));
    }
    all
}

const EXPECTED: &str =
    "write a list such as `[ { sni: [ \"*.example.org\" ], upstream: host:port } ]`";

fn hello(below: &mut Fields<'_, '_>) -> Option<Fits> {
    below.only(&["sni", "alpn", "upstream"]);
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
    below.only(&["service", "method", "version", "group", "upstream"]);
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
