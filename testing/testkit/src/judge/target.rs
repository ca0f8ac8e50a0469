//! The forms of a request target, and what a path comes to when its dot segments are resolved.

use super::grammar::{is_absolute_path, is_authority, is_query};
use super::message::Stop;

/// RFC 9112 section 3.2: the form that fits the method.
pub(super) fn check(method: &[u8], target: &[u8]) -> Result<(), Stop> {
    if method == b"CONNECT" {
        let fine = is_authority(target, true);
        return if fine { Ok(()) } else { Err(Stop::Refused("CONNECT without host:port")) };
    }
    if target == b"*" {
        let fine = method == b"OPTIONS";
        return if fine { Ok(()) } else { Err(Stop::Refused("* without OPTIONS")) };
    }
    let (authority, path, query) = split(target);
    if authority.is_some_and(|authority| !is_authority(authority, false)) {
        return Err(Stop::Refused("authority of the target"));
    }
    let path_is_fine = is_absolute_path(path) || (authority.is_some() && path.is_empty());
    if path_is_fine && query.is_none_or(is_query) {
        return Ok(());
    }
    Err(Stop::Refused("neither origin-form nor absolute-form of an http URI"))
}

/// Authority, path and query of a target in origin-form or absolute-form.
pub fn split(target: &[u8]) -> (Option<&[u8]>, &[u8], Option<&[u8]>) {
    let mut rest = target;
    let mut authority = None;
    for scheme in [&b"http://"[..], b"https://"] {
        if target.len() >= scheme.len() && target[..scheme.len()].eq_ignore_ascii_case(scheme) {
            rest = &target[scheme.len()..];
            let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?'));
            let (host, behind) = rest.split_at(end.unwrap_or(rest.len()));
            (authority, rest) = (Some(host), behind);
        }
    }
    match rest.iter().position(|byte| *byte == b'?') {
        Some(mark) => (authority, &rest[..mark], Some(&rest[mark + 1..])),
        None => (authority, rest, None),
    }
}

/// The target that a gateway with canonical paths sends for `target` of a request with `method`:
/// origin-form, dot segments resolved (a dot may be `%2e`, and `;x` behind the dots is dropped with
/// them), all else as written. `None` for what climbs above the root.
pub fn canonical(method: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    let (authority, path, query) = split(target);
    if target == b"*" || (authority.is_some() && method == b"OPTIONS" && path.is_empty()) {
        return Some(if query.is_none() { b"*".to_vec() } else { with_query(b"/", query) });
    }
    let mut kept: Vec<&[u8]> = Vec::new();
    let mut slash_follows = false;
    for segment in path.split(|byte| *byte == b'/').skip(1) {
        let name = segment.split(|byte| *byte == b';').next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).replace("%2e", ".").replace("%2E", ".");
        slash_follows = name == "." || name == "..";
        match name.as_str() {
            "." => {}
            ".." => drop(kept.pop()?),
            _ => kept.push(segment),
        }
    }
    let mut out = Vec::new();
    for segment in kept {
        out.push(b'/');
        out.extend(segment);
    }
    if slash_follows || out.is_empty() {
        out.push(b'/');
    }
    Some(with_query(&out, query))
}

fn with_query(path: &[u8], query: Option<&[u8]>) -> Vec<u8> {
    match query {
        Some(query) => [path, b"?", query].concat(),
        None => path.to_vec(),
    }
}
