//! What every forwarded head goes through: hop-by-hop fields, Host, Forwarded and X-Forwarded-*.

/// Rules for heads that are passed on, from `trusted-proxies`, `x-forwarded.*`, `forwarded.*` and
/// `filter.remove-hop-by-hop.headers`.
#[derive(Clone, Debug, Default)]
pub struct Forwarding {}
