//! Options of forwarding.

/// Settings of [`Forwarding`](super::Forwarding), by property. The default is SCG's.
#[derive(Clone, Debug)]
pub struct ForwardingOptions {
    /// `trusted-proxies`: a Java regular expression for peer addresses; blank trusts none.
    pub trusted_proxies: Option<String>,
    /// `weir.compat.forwarded`: policy if `trusted_proxies` is not set.
    pub untrusted: Untrusted,
    /// `x-forwarded.*`.
    pub x_forwarded: XForwarded,
    /// `forwarded.enabled` (true).
    pub forwarded: bool,
    /// `forwarded.by.enabled` (false).
    pub forwarded_by: bool,
    /// `server.port`, used in `by`; 0 (any free port) is omitted, as in SCG.
    pub by_port: u16,
    /// `filter.remove-hop-by-hop.headers`: replaces the default list of removed fields.
    pub hop_by_hop: Option<Vec<String>>,
    /// `weir.server.underscore-fields=keep` (false): forwards `Content_Length` and similar fields.
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

/// Policy for Forwarded and X-Forwarded-* if no proxy is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Untrusted {
    /// Remove them, add none (SCG 4.3.5+, 5.0.2+).
    #[default]
    Strip,
    /// Leave them unchanged, add none (SCG 3.1.10, 4.1.8, 4.2.3 and up).
    Pass,
    /// Keep them and append (earlier versions of SCG).
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
    /// The gateway writes it; otherwise a received one stays.
    pub enabled: bool,
    /// The value is appended to a received one, instead of replacing it.
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
