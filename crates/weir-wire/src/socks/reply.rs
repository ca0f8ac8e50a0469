//! Replies of the server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::address::write_address;
use super::error::SocksError;
use super::request::{Method, Version};

/// Result of a request. `Granted` may be sent only once the connection to the target is
/// established; the client sends its data from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Done.
    Granted,
    /// Failed for a reason without a code of its own.
    GeneralFailure,
    /// The server's rules do not allow it.
    NotAllowed,
    /// No route to the target's network.
    NetworkUnreachable,
    /// No route to the target, no answer from it, or no such name.
    HostUnreachable,
    /// The target refused.
    ConnectionRefused,
    /// The time to live ran out under way.
    TtlExpired,
    /// The server does not know the command.
    CommandNotSupported,
    /// The server does not know the type of address.
    AddressTypeNotSupported,
    /// The server cannot reach identd at the client. SOCKS 4 only.
    IdentUnreachable,
    /// Identd at the client names another user. SOCKS 4 only.
    IdentMismatch,
}

impl Reply {
    /// The code in SOCKS 4, which has one for most failures.
    pub fn code_v4(self) -> u8 {
        match self {
            Self::Granted => 0x5a,
            Self::IdentUnreachable => 0x5c,
            Self::IdentMismatch => 0x5d,
            Self::GeneralFailure
            | Self::NotAllowed
            | Self::NetworkUnreachable
            | Self::HostUnreachable
            | Self::ConnectionRefused
            | Self::TtlExpired
            | Self::CommandNotSupported
            | Self::AddressTypeNotSupported => 0x5b,
        }
    }

    /// The code in SOCKS 5 (RFC 1928 section 6).
    pub fn code_v5(self) -> u8 {
        match self {
            Self::Granted => 0,
            Self::GeneralFailure => 1,
            Self::NotAllowed | Self::IdentUnreachable | Self::IdentMismatch => 2,
            Self::NetworkUnreachable => 3,
            Self::HostUnreachable => 4,
            Self::ConnectionRefused => 5,
            Self::TtlExpired => 6,
            Self::CommandNotSupported => 7,
            Self::AddressTypeNotSupported => 8,
        }
    }
}

/// Appends the answer to a greeting of SOCKS 5: the method taken, which the client must have
/// offered, or that there is none, after which the client closes.
pub fn write_method(out: &mut Vec<u8>, method: Option<Method>) {
    let method = match method {
        Some(Method::None) => 0,
        Some(Method::Password) => 2,
        None => 0xff,
    };
    out.extend_from_slice(&[5, method]);
}

/// Appends the answer to credentials (RFC 1929). The server closes after a refusal.
pub fn write_auth_reply(out: &mut Vec<u8>, accepted: bool) {
    out.extend_from_slice(&[1, u8::from(!accepted)]);
}

/// Appends the reply to a request. `bound` is the server's own address towards the target, where it
/// listens for [`Command::Bind`](super::Command::Bind), or where it receives datagrams for
/// [`Command::UdpAssociate`](super::Command::UdpAssociate); all zero is sent for `None`, and for an
/// IPv6 address in SOCKS 4.
pub fn write_reply(out: &mut Vec<u8>, version: Version, reply: Reply, bound: Option<SocketAddr>) {
    let bound = bound.unwrap_or_else(|| (Ipv4Addr::UNSPECIFIED, 0).into());
    match version {
        Version::V4 => {
            let ip = match bound.ip() {
                IpAddr::V4(ip) => ip,
                IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
            };
            out.extend_from_slice(&[0, reply.code_v4()]);
            out.extend_from_slice(&bound.port().to_be_bytes());
            out.extend_from_slice(&ip.octets());
        }
        Version::V5 => {
            out.extend_from_slice(&[5, reply.code_v5(), 0]);
            write_address(out, bound);
        }
    }
}

impl SocksError {
    /// The reply to send before closing.
    pub fn reply(&self) -> Reply {
        match self {
            Self::Command(_) => Reply::CommandNotSupported,
            Self::AddressType(_) => Reply::AddressTypeNotSupported,
            Self::Version(_)
            | Self::AuthVersion(_)
            | Self::UserIdTooLong
            | Self::NameLength
            | Self::NameByte(_)
            | Self::Truncated
            | Self::Fragment(_) => Reply::GeneralFailure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: &[u8], write: impl Fn(&mut Vec<u8>)) {
        let mut out = b"before".to_vec();
        write(&mut out);
        assert_eq!(out, [b"before", expected].concat());
    }

    #[test]
    fn answers_before_the_request() {
        check(b"\x05\0", |out| write_method(out, Some(Method::None)));
        check(b"\x05\x02", |out| write_method(out, Some(Method::Password)));
        check(b"\x05\xff", |out| write_method(out, None));
        check(b"\x01\0", |out| write_auth_reply(out, true));
        check(b"\x01\x01", |out| write_auth_reply(out, false));
    }

    #[test]
    fn every_code() {
        for (reply, v4, v5) in [
            (Reply::Granted, 0x5a, 0),
            (Reply::GeneralFailure, 0x5b, 1),
            (Reply::NotAllowed, 0x5b, 2),
            (Reply::NetworkUnreachable, 0x5b, 3),
            (Reply::HostUnreachable, 0x5b, 4),
            (Reply::ConnectionRefused, 0x5b, 5),
            (Reply::TtlExpired, 0x5b, 6),
            (Reply::CommandNotSupported, 0x5b, 7),
            (Reply::AddressTypeNotSupported, 0x5b, 8),
            (Reply::IdentUnreachable, 0x5c, 2),
            (Reply::IdentMismatch, 0x5d, 2),
        ] {
            let none = [0; 6];
            let v4 = [[0, v4].as_slice(), &none].concat();
            check(&v4, |out| write_reply(out, Version::V4, reply, None));
            let v5 = [[5, v5, 0, 1].as_slice(), &none].concat();
            check(&v5, |out| write_reply(out, Version::V5, reply, None));
        }
    }

    #[test]
    fn bound_addresses() {
        let granted = |version, bound: &str| {
            let bound = Some(bound.parse().expect("address"));
            move |out: &mut Vec<u8>| write_reply(out, version, Reply::Granted, bound)
        };
        check(b"\0\x5a\x04\x38\x0a\0\0\x01", granted(Version::V4, "10.0.0.1:1080"));
        check(b"\0\x5a\x04\x38\0\0\0\0", granted(Version::V4, "[::1]:1080"));
        check(b"\x05\0\0\x01\x0a\0\0\x01\x04\x38", granted(Version::V5, "10.0.0.1:1080"));
        let v6 = b"\x05\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x04\x38";
        check(v6, granted(Version::V5, "[::1]:1080"));
    }
}
