//! Cache keys.

use weir_wire::RequestHead;

/// Fields that many servers use for their response without a Vary: if a request has one, its value
/// is part of the key. Otherwise one client could poison the cache for others.
const UNKEYED_ELSEWHERE: &[&str] = &[
    "forwarded",
    "front-end-https",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-proto",
    "x-forwarded-scheme",
    "x-forwarded-server",
    "x-forwarded-ssl",
    "x-host",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
    "x-url-scheme",
];

/// Parts of a key besides the request.
#[derive(Clone, Copy, Debug)]
pub struct KeyParts<'a> {
    /// The route, so that routes never share a response.
    pub route: &'a str,
    /// Destination of the request.
    pub target: &'a str,
    /// The Host that the client asked for.
    pub host: &'a [u8],
}

/// The key of a request as it is sent: route, target, Host, path and query, `Authorization`,
/// `Cookie`, and fields that clients might misuse.
pub fn key(parts: &KeyParts<'_>, head: &RequestHead) -> Vec<u8> {
    let mut key = Vec::with_capacity(128);
    push(&mut key, parts.route.as_bytes());
    push(&mut key, parts.target.as_bytes());
    push(&mut key, &parts.host.to_ascii_lowercase());
    push(&mut key, head.path());
    // No query is not an empty one.
    key.push(u8::from(head.query().is_some()));
    push(&mut key, head.query().unwrap_or_default());
    let names = ["authorization", "cookie"].into_iter().chain(UNKEYED_ELSEWHERE.iter().copied());
    for (number, name) in (0_u8..).zip(names) {
        push_values(&mut key, number, head, name.as_bytes());
    }
    key
}

/// The same for a response that depends on the fields `names` (its Vary), too.
pub(crate) fn varied(key: &[u8], head: &RequestHead, names: &[Vec<u8>]) -> Vec<u8> {
    let mut varied = key.to_vec();
    for name in names {
        push(&mut varied, name);
        push_values(&mut varied, u8::MAX, head, name);
    }
    varied
}

fn push_values(key: &mut Vec<u8>, number: u8, head: &RequestHead, name: &[u8]) {
    for value in head.fields.get_all(name) {
        key.push(number);
        push(key, value.trim_ascii());
    }
}

/// With its length, so that no two lists of texts look alike.
fn push(key: &mut Vec<u8>, text: &[u8]) {
    key.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
    key.extend_from_slice(text);
}
