//! Reads the access rules of a SOCKS proxy.

use std::net::{IpAddr, SocketAddr};

use weir_snapshot::{AddressRule, Secret, SocksRules};

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::fields::{Field, Fields, Shape, Written};
use crate::property::report;
use crate::spring::Kind;

const FIELDS: &[Field] = &[
    Field::new("users", Shape::Map, "{ alice: \"${SOCKS_PASSWORD}\" }"),
    Field::new("allow", Shape::Values, "[ \"10.0.0.0/8:80,443\" ]"),
    Field::new("deny", Shape::Values, "[ 10.0.0.1 ]"),
];

/// `socks`. A proxy without any access rules listens on loopback only, which is reported.
pub(super) fn rules(fields: &mut Fields<'_, '_>, listen: &mut [SocketAddr]) -> SocksRules {
    let mut rules = SocksRules::default();
    let before = fields.problems.len();
    let is_map = fields.node("socks").is_none_or(|node| Shape::Map.misfit(node).is_none());
    if let Some(mut below) = fields.below("socks") {
        if !below.expect(FIELDS) {
            return rules;
        }
        rules.users = users(&mut below);
        rules.allow = addresses(&mut below, "allow");
        rules.deny = addresses(&mut below, "deny");
    }
    // Rules that were not understood are no open proxy.
    if fields.problems.len() > before || !is_map {
        return rules;
    }
    if !rules.is_private() || listen.iter().all(|address| address.ip().is_loopback()) {
        return rules;
    }
    for address in listen {
        let loopback = match address {
            SocketAddr::V4(_) => IpAddr::from([127, 0, 0, 1]),
            SocketAddr::V6(_) => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
        };
        address.set_ip(loopback);
    }
    let at = fields.node("listen").map(|node| node.span()).unwrap_or_default();
    let message = "a SOCKS proxy that everybody may use listens on loopback only";
    let help = "give it `socks.users`, or `socks.allow` with the addresses it may connect to";
    fields.problems.push(Diagnostic::new(Code::OpenProxy, message).at(at).help(help));
    rules
}

/// A map of names to passwords.
fn users(fields: &mut Fields<'_, '_>) -> Vec<(String, Secret)> {
    let Some(mut below) = fields.below("users") else { return Vec::new() };
    let before = below.problems.len();
    let mut users: Vec<(String, Secret)> = Vec::new();
    for entry in below.entries() {
        let Written { text, at } = below.text_of(entry);
        let name = entry.key().to_owned();
        if users.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let written = entry.text().unwrap_or_default();
        if let (_, Some(trouble)) = below.layers.resolve(&written) {
            report(Some(trouble), &format!("socks.users.{name}"), entry, below.problems);
            // Elsewhere a warning: without this user, the proxy would serve others than intended.
            if let Some(found) = below.problems.last_mut() {
                found.severity = Severity::Error;
            }
            continue;
        }
        if text.is_empty() || text.len() > 255 || name.len() > 255 {
            let message = format!("`{name}` has no password that SOCKS can carry");
            below.wrong(at, message, "write 1 to 255 bytes, such as `${SOCKS_PASSWORD}`");
            continue;
        }
        users.push((name, Secret::new(&text)));
    }
    if users.is_empty() && below.problems.len() == before {
        let at = below.at();
        below.wrong(at, "it names nobody", "write `users: { alice: \"${SOCKS_PASSWORD}\" }`");
    }
    users
}

/// A list of rules, or a text of rules separated by blanks.
fn addresses(fields: &mut Fields<'_, '_>, name: &str) -> Vec<AddressRule> {
    let Some(node) = fields.node(name) else { return Vec::new() };
    let nodes: Vec<_> = match node.kind() {
        Kind::List => node.children().collect(),
        _ => vec![node],
    };
    let mut rules = Vec::new();
    let mut is_empty = true;
    for node in nodes {
        let Written { text, at } = fields.text_of(node);
        for part in text.split_whitespace() {
            is_empty = false;
            match AddressRule::parse(part) {
                Some(rule) => rules.push(rule),
                None => {
                    let help = "write `10.0.0.0/8`, `10.0.0.1:80,443`, `[2001:db8::/32]:443` or \
                                `*:443`";
                    fields.wrong(at, format!("`{part}` is no address rule"), help);
                }
            }
        }
    }
    if is_empty {
        fields.wrong(node.span(), format!("`{name}` names no address"), "remove it, or fill it");
    }
    rules
}
