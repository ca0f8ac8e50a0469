//! Rules for every forwarded head: hop-by-hop fields, Host, Forwarded and X-Forwarded-*.
//!
//! A request is processed twice. [`Forwarding::receive`] runs before the filters and removes fields
//! that the client must not set: those that its Connection field names, and Forwarded and
//! X-Forwarded-* of an untrusted peer. So neither can reach, or remove, fields that the gateway
//! adds. [`Forwarding::request`] runs after the filters and writes the fields for the next hop. A
//! response is processed once, before the filters ([`Forwarding::response`]).

mod elements;
mod hop;
mod hop_by_hop;
mod options;
pub mod via;

use std::net::IpAddr;

use weir_route::ArgError;
use weir_route::pattern::{JavaRegex, RegexCache};
use weir_wire::{Fields, RequestHead, ResponseHead, list_members};

use crate::target::Target;
pub use hop::Hop;
use hop_by_hop::HopByHop;
pub use options::{ForwardingOptions, Part, Untrusted, XForwarded};

/// Rules for forwarded heads, from `trusted-proxies`, `x-forwarded.*`, `forwarded.*` and
/// `filter.remove-hop-by-hop.headers`. The default is SCG's.
#[derive(Clone, Debug, Default)]
pub struct Forwarding {
    trusted: Option<JavaRegex>,
    untrusted: Untrusted,
    x_forwarded: XForwarded,
    forwarded: bool,
    by: bool,
    by_port: u16,
    hop_by_hop: HopByHop,
    underscore_fields: bool,
}

/// Treatment of the Forwarded and X-Forwarded-* fields of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// Remove them, add none.
    Remove,
    /// Remove them, add the gateway's own.
    Renew,
    /// Leave them unchanged.
    Pass,
    /// Keep them and append the gateway's own.
    Append,
}

impl Forwarding {
    /// Compiles rules.
    ///
    /// # Errors
    /// `trusted-proxies` is not a Java regular expression, or a name is not a header name.
    pub fn new(options: &ForwardingOptions, regexes: &RegexCache) -> Result<Self, ArgError> {
        let written = options.trusted_proxies.as_deref().filter(|text| !text.trim().is_empty());
        let flags = Default::default();
        let trusted = written.map(|text| {
            regexes
                .get(text, flags)
                .map_err(|error| ArgError::of_pattern("trusted-proxies", text, error))
        });
        Ok(Self {
            trusted: trusted.transpose()?,
            untrusted: options.untrusted,
            x_forwarded: options.x_forwarded.clone(),
            forwarded: options.forwarded,
            by: options.forwarded_by,
            by_port: options.by_port,
            hop_by_hop: HopByHop::new(options.hop_by_hop.as_deref())?,
            underscore_fields: options.underscore_fields,
        })
    }

    /// Whether [`Hop::local`] is needed.
    pub fn names_itself(&self) -> bool {
        self.by && self.forwarded
    }

    /// Removes fields that the client must not set. Runs after routing, before the filters.
    pub fn receive(&self, head: &mut RequestHead, peer: IpAddr) {
        let options = |value| list_members(value).any(is_nomination);
        let nominates = head.fields.get_all(b"connection").any(options);
        let forwarded = head.fields.iter().any(|(name, _)| Forwarded::of(name).is_some());
        if !self.underscore_fields && head.fields.iter().any(|(name, _)| frames_in_disguise(name)) {
            head.fields.retain(|name, _| !frames_in_disguise(name));
        }
        if nominates {
            remove_nominated(head);
        }
        if forwarded {
            self.remove_forwarded(head, peer);
        }
    }

    /// Writes the fields for the next hop. Runs after the filters.
    pub fn request(&self, head: &mut RequestHead, hop: &Hop<'_>) {
        let trust = self.trust(hop.peer.ip());
        match trust {
            Trust::Remove | Trust::Pass => {}
            Trust::Renew => {
                // `receive` has removed the client's fields; these were added by filters.
                Self::retain_forwarded(head, !self.forwarded, !self.x_forwarded.enabled);
                self.append_forwarded(head, hop);
            }
            Trust::Append => self.append_forwarded(head, hop),
        }
        self.hop_by_hop.clean_request(&mut head.fields, hop.upgrade);
        let keep = hop.preserve_host && head.fields.contains(b"host");
        if !keep {
            head.fields.set_line(hop.target.host_line());
        }
    }

    /// Redirects a head that [`Forwarding::request`] wrote to another instance of the same service.
    pub fn redirect(&self, head: &mut RequestHead, target: &Target, preserve_host: bool) {
        if !(preserve_host && head.fields.contains(b"host")) {
            head.fields.set_line(target.host_line());
        }
    }

    /// Removes fields that must not reach the client. Runs before the filters.
    pub fn response(&self, head: &mut ResponseHead, upgrade: bool) {
        self.hop_by_hop.clean_response(&mut head.fields, upgrade);
    }

    fn trust(&self, peer: IpAddr) -> Trust {
        match (&self.trusted, self.untrusted) {
            (Some(_), _) if self.is_trusted(&peer.to_string()) => Trust::Append,
            (Some(_), _) => Trust::Renew,
            (None, Untrusted::Strip) => Trust::Remove,
            (None, Untrusted::Pass) => Trust::Pass,
            (None, Untrusted::Append) => Trust::Append,
        }
    }

    /// Whether `text` is a trusted address. If the expression takes too many steps, it is not.
    fn is_trusted(&self, text: &str) -> bool {
        match &self.trusted {
            Some(trusted) => trusted.full_match(text) == Ok(true),
            None => self.untrusted == Untrusted::Append,
        }
    }

    fn remove_forwarded(&self, head: &mut RequestHead, peer: IpAddr) {
        let trust = self.trust(peer);
        if trust == Trust::Pass {
            return;
        }
        let keep_forwarded = trust == Trust::Append && self.forwarded;
        let keep_x = trust == Trust::Append && self.x_forwarded.enabled;
        Self::retain_forwarded(head, keep_forwarded, keep_x);
    }

    fn retain_forwarded(head: &mut RequestHead, keep_forwarded: bool, keep_x: bool) {
        head.fields.retain(|name, _| match Forwarded::of(name) {
            None => true,
            Some(Forwarded::Standard) => keep_forwarded,
            Some(Forwarded::X) => keep_x,
            // An upstream that maps field names to variables (CGI) cannot tell `X_Forwarded_For`
            // from `X-Forwarded-For`.
            Some(Forwarded::Alias) => false,
        });
    }

    fn append_forwarded(&self, head: &mut RequestHead, hop: &Hop<'_>) {
        if self.forwarded {
            let by = self.by.then_some((hop.local, self.by_port));
            elements::append_standard(head, hop, by, |text| self.is_trusted(text));
        }
        if self.x_forwarded.enabled {
            elements::append_x(head, hop, &self.x_forwarded, |text| self.is_trusted(text));
        }
    }
}

/// A field with information about earlier hops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Forwarded {
    /// `Forwarded` (RFC 7239).
    Standard,
    /// `X-Forwarded-…`.
    X,
    /// `X-Forwarded-…` spelled with `_`.
    Alias,
}

impl Forwarded {
    fn of(name: &[u8]) -> Option<Self> {
        if name.len() == 9 {
            return name.eq_ignore_ascii_case(b"forwarded").then_some(Self::Standard);
        }
        let (prefix, rest) = name.split_at_checked(12)?;
        let [b'x' | b'X', first, word @ .., last] = prefix else { return None };
        let dash = |byte: u8| matches!(byte, b'-' | b'_');
        if !dash(*first) || !dash(*last) || !word.eq_ignore_ascii_case(b"forwarded") {
            return None;
        }
        let alias = [*first, *last].contains(&b'_') || rest.contains(&b'_');
        Some(if alias { Self::Alias } else { Self::X })
    }
}

/// Whether an upstream that maps field names to variables (CGI) would take the field for
/// Content-Length or Transfer-Encoding, although its name differs.
fn frames_in_disguise(name: &[u8]) -> bool {
    let real = match name.len() {
        14 => &b"content-length"[..],
        17 => b"transfer-encoding",
        _ => return false,
    };
    let same =
        |(own, real): (&u8, &u8)| own.eq_ignore_ascii_case(real) || (*own == b'_' && *real == b'-');
    name.contains(&b'_') && name.iter().zip(real).all(same)
}

/// Whether a member of Connection names a field, rather than a connection option such as `close`.
fn is_nomination(member: &[u8]) -> bool {
    ![b"close".as_slice(), b"keep-alive", b"upgrade", b"te"]
        .iter()
        .any(|option| option.eq_ignore_ascii_case(member))
}

/// Fields that a client cannot remove by naming them in Connection: they carry the host, the
/// credentials, the framing or the origin of the request (CVE-2022-31813, CVE-2024-45410).
fn is_protected(name: &[u8]) -> bool {
    const PROTECTED: [&[u8]; 7] = [
        b"host",
        b"authorization",
        b"content-length",
        b"transfer-encoding",
        b"content-type",
        b"cookie",
        b"origin",
    ];
    Forwarded::of(name).is_some() || PROTECTED.iter().any(|p| p.eq_ignore_ascii_case(name))
}

/// The hop-by-hop fields that Connection names, which must be removed from the trailers too (RFC
/// 9110 section 7.6.1).
pub fn nominated(fields: &Fields) -> Vec<Vec<u8>> {
    let lists = fields.get_all(b"connection").flat_map(list_members);
    lists.filter(|m| is_nomination(m) && !is_protected(m)).map(<[u8]>::to_vec).collect()
}

fn remove_nominated(head: &mut RequestHead) {
    let nominated = nominated(&head.fields);
    head.fields.retain(|name, _| {
        let connection = name.eq_ignore_ascii_case(b"connection");
        connection || !nominated.iter().any(|listed| listed.eq_ignore_ascii_case(name))
    });
}

#[cfg(test)]
mod tests;
