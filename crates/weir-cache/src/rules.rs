//! Rules for requests that may be answered from a cache, and for responses that may be stored.

use weir_wire::{RequestHead, ResponseHead};

use crate::control::Directives;

/// Longest life of a response that is believed, in seconds: a year.
const LIFE_S_MAX: u64 = 365 * 24 * 3600;

/// Cacheability of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The request bypasses the cache.
    Nothing,
    /// An answer from the cache will do.
    Any,
    /// The answer must come from the upstream (`no-cache`); it may be kept.
    Fresh,
}

/// Cacheability of a request: GET without a body, a range or `no-store`.
pub fn asked(head: &RequestHead, has_body: bool) -> Asked {
    let fields = &head.fields;
    let own = ["range", "upgrade", "if-match", "if-unmodified-since", "if-range"];
    if head.method() != b"GET"
        || has_body
        || own.iter().any(|name| fields.contains(name.as_bytes()))
    {
        return Asked::Nothing;
    }
    let directives = Directives::of(fields);
    if directives.has("no-store") {
        return Asked::Nothing;
    }
    let pragma = !fields.contains(b"cache-control")
        && fields.get(b"pragma").is_some_and(|value| value.eq_ignore_ascii_case(b"no-cache"));
    match directives.has("no-cache") || directives.seconds("max-age") == Some(0) || pragma {
        true => Asked::Fresh,
        false => Asked::Any,
    }
}

/// Lifetime of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// How long it is fresh, in milliseconds.
    pub fresh_ms: u64,
    /// Time after that in which it may be served stale while another one is fetched.
    pub stale_ms: u64,
    /// Time after that in which it may be served stale if a fetch fails.
    pub stale_if_error_ms: u64,
}

/// How long a response may be served to all clients that send the same request: `ttl_ms`, or less
/// if its own fields say so. `None` if it must not be stored: status other than 200 and 301,
/// private, with a cookie, or dependent on more than fields.
pub fn lifetime(head: &ResponseHead, ttl_ms: u64) -> Option<Lifetime> {
    let fields = &head.fields;
    let directives = Directives::of(fields);
    let forbids = ["private", "no-store", "no-cache", "must-understand"];
    let is_all =
        |value: &[u8]| value.split(|byte| *byte == b',').any(|one| one.trim_ascii() == b"*");
    let refused = !matches!(head.status, 200 | 301)
        || forbids.iter().any(|name| directives.has(name))
        || fields.contains(b"set-cookie")
        || fields.contains(b"content-range")
        || fields.get_all(b"vary").any(is_all);
    if refused {
        return None;
    }
    let own = directives.seconds("s-maxage").or_else(|| directives.seconds("max-age"));
    let age = fields.get(b"age").and_then(|value| std::str::from_utf8(value).ok());
    let age_s: u64 = age.and_then(|age| age.trim().parse().ok()).unwrap_or(0);
    let own_ms = own.map(|own| own.min(LIFE_S_MAX).saturating_sub(age_s) * 1_000);
    let fresh_ms = ttl_ms.min(own_ms.unwrap_or(u64::MAX));
    let strict = directives.has("must-revalidate") || directives.has("proxy-revalidate");
    let stale = |name: &str| match strict {
        true => 0,
        false => directives.seconds(name).unwrap_or(0).min(LIFE_S_MAX) * 1_000,
    };
    let (stale_ms, stale_if_error_ms) = (stale("stale-while-revalidate"), stale("stale-if-error"));
    (fresh_ms + stale_ms + stale_if_error_ms > 0).then_some(Lifetime {
        fresh_ms,
        stale_ms,
        stale_if_error_ms,
    })
}
