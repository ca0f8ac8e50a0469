//! Options of forwarded heads.

/// Settings of [`Forwarding`](super::Forwarding), by property. The default is SCG's.
#[derive(Clone, Debug)]
pub struct ForwardingOptions {
    /// `trusted-proxies`: a Java regular expression for peer addresses; blank is none.
    pub trusted_proxies: Option<String>,
    /// `weir.compat.forwarded`: what happens while there is no `trusted_proxies`.
    pub untrusted: Untrusted,
    /// `x-forwarded.*`.
    pub x_forwarded: XForwarded,
    /// `forwarded.enabled` (true).
    pub forwarded: bool,
    /// `forwarded.by.enabled` (false).
    pub forwarded_by: bool,
    /// `server.port`, which `by` names; 0 (any free port) is left out, as in SCG.
    pub by_port: u16,
    /// `filter.remove-hop-by-hop.headers`: replaces the list of fields that are not passed on.
    pub hop_by_hop: Option<Vec<String>>,
    /// `weir.server.underscore-fields=keep` (false): passes on `Content_Length` and the like.
    pub underscore_fields: bool,
}

impl Default for ForwardingOptions {
    fn default() -> Self {
        Self {
            trusted_proxies: None,
            untrusted: Untrusted::default(),
            x_forwarded: XForwarded::default(),
            forwarded: true,
            forwarded_by: false,
            by_port: 0,
            hop_by_hop: None,
            underscore_fields: false,
        }
    }
}

/// What becomes of Forwarded and X-Forwarded-* while no proxy is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Untrusted {
    /// Removed, none added (SCG 4.3.5+, 5.0.2+).
    #[default]
    Strip,
    /// Left alone, none added (SCG 3.1.10, 4.1.8, 4.2.3 and up).
    Pass,
    /// Kept and appended to (SCG before that).
    Append,
}

/// `x-forwarded.*`.
#[derive(Clone, Debug)]
pub struct XForwarded {
    /// `enabled`.
    pub enabled: bool,
    /// `for-enabled`, `for-append`.
    pub for_: Part,
    /// `host-enabled`, `host-append`.
    pub host: Part,
    /// `port-enabled`, `port-append`.
    pub port: Part,
    /// `proto-enabled`, `proto-append`.
    pub proto: Part,
    /// `prefix-enabled`, `prefix-append`.
    pub prefix: Part,
}

/// One of the X-Forwarded-* fields.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The gateway writes it; what came in stays otherwise.
    pub enabled: bool,
    /// It is added to what came in, instead of replacing that.
    pub append: bool,
}

impl Default for Part {
    fn default() -> Self {
        Self { enabled: true, append: true }
    }
}

impl Default for XForwarded {
    fn default() -> Self {
        let part = Part::default();
        Self { enabled: true, for_: part, host: part, port: part, proto: part, prefix: part }
    }
}
