//! Reports pipelines that lead back to themselves: one connection through such a circle would open
//! further ones until the process has no file descriptor left.
//!
//! Only literal addresses count. What routes choose counts where it leads straight back: along a
//! longer way, the routes of the next pipeline may send the same connection elsewhere.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::upstreams::Address;
use crate::diagnostic::{Code, Diagnostic};

/// Where a pipeline listens, and where it leads.
#[derive(Debug)]
pub(super) struct Way {
    pub id: String,
    pub listen: Vec<SocketAddr>,
    pub upstreams: Vec<Address>,
    /// Upstreams of its routes.
    pub routed: Vec<Address>,
}

const HELP: &str = "one connection would open others without end; name the server that is meant";

/// Reports every circle at the upstream that closes it.
pub(super) fn circles(ways: &[Way], problems: &mut Vec<Diagnostic>) {
    let mut edges: Vec<_> = edges(ways).into_iter().map(Vec::into_iter).collect();
    let mut seen = vec![false; ways.len()];
    for start in 0..ways.len() {
        let mut path = enter(start, &mut seen).into_iter().collect::<Vec<_>>();
        while let Some(here) = path.last().copied() {
            let Some((to, address)) = edges.get_mut(here).and_then(Iterator::next) else {
                path.pop();
                continue;
            };
            match path.iter().position(|one| *one == to) {
                Some(from) => {
                    let circle = path.get(from..).unwrap_or_default();
                    problems.extend(report(ways, circle, address));
                }
                None => path.extend(enter(to, &mut seen)),
            }
        }
    }
}

/// The pipeline `n`, if it has not been visited before.
fn enter(n: usize, seen: &mut [bool]) -> Option<usize> {
    let seen = seen.get_mut(n)?;
    (!std::mem::replace(seen, true)).then_some(n)
}

/// The pipelines that each pipeline leads to.
fn edges(ways: &[Way]) -> Vec<Vec<(usize, &Address)>> {
    let mut by_port: HashMap<u16, Vec<(usize, IpAddr)>> = HashMap::new();
    for (n, way) in ways.iter().enumerate() {
        for listen in way.listen.iter().filter(|listen| listen.port() != 0) {
            by_port.entry(listen.port()).or_default().push((n, listen.ip()));
        }
    }
    let at = |address: &Address| {
        let ip = literal(&address.host);
        let there = by_port.get(&address.port).into_iter().flatten();
        there.filter(move |(_, listen)| ip.is_some_and(|ip| accepts(*listen, ip))).map(|(n, _)| *n)
    };
    let mut all = Vec::new();
    for (n, way) in ways.iter().enumerate() {
        let straight = way.upstreams.iter().flat_map(|one| at(one).map(move |to| (to, one)));
        let routed = way.routed.iter().flat_map(|one| at(one).map(move |to| (to, one)));
        all.push(straight.chain(routed.filter(|(to, _)| *to == n)).collect());
    }
    all
}

/// The address of a host that is no name; connecting to the unspecified address reaches loopback.
fn literal(host: &str) -> Option<IpAddr> {
    if host == "localhost" {
        return Some(Ipv4Addr::LOCALHOST.into());
    }
    let ip: IpAddr = host.trim_start_matches('[').trim_end_matches(']').parse().ok()?;
    Some(match ip.to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    })
}

/// Whether a listener on `listen` accepts connections to `ip`. Of the machine's own addresses only
/// loopback is known here.
fn accepts(listen: IpAddr, ip: IpAddr) -> bool {
    listen.to_canonical() == ip || (listen.is_unspecified() && ip.is_loopback())
}

/// The error of `circle`, whose last pipeline leads to its first by `address`.
fn report(ways: &[Way], circle: &[usize], address: &Address) -> Option<Diagnostic> {
    let (last, others) = circle.split_last()?;
    let id = |n: &usize| ways.get(*n).map(|way| format!("'{}'", way.id)).unwrap_or_default();
    let (host, port) = (&address.host, address.port);
    let back = match others {
        [] => "is where it listens itself".to_owned(),
        others => {
            let names: Vec<_> = others.iter().map(id).collect();
            format!("leads back to it, by way of {}", names.join(", "))
        }
    };
    let message = format!("pipeline {}: `{host}:{port}` {back}", id(last));
    Some(Diagnostic::new(Code::InvalidValue, message).at(address.at).help(HELP))
}
