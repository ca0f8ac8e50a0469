//! Destination of a client.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::error::{SocksError, Stop};
use super::input::{take, take_array, take_byte};
use crate::syntax::is_host_byte;

const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Destination of a client, in normal form: an IPv6 address that maps an IPv4 one, and a name that
/// is an address in text, become that address, so that rules on addresses apply to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address and a port.
    Ip(SocketAddr),
    /// The name of a host, which the server looks up, and a port. 1 to 255 bytes that may stand in
    /// a host name, letters in the case they had.
    Name(String, u16),
}

impl Address {
    /// An address and a port.
    pub(super) fn ip(ip: IpAddr, port: u16) -> Self {
        Self::Ip(SocketAddr::new(ip.to_canonical(), port))
    }

    /// A host in text and a port.
    pub(super) fn host(host: &[u8], port: u16) -> Result<Self, SocksError> {
        if host.is_empty() || host.len() > 255 {
            return Err(SocksError::NameLength);
        }
        let text = std::str::from_utf8(host).unwrap_or_default();
        if let Ok(ip) = text.parse() {
            return Ok(Self::ip(ip, port));
        }
        match host.iter().find(|&&byte| !is_host_byte(byte)) {
            Some(&byte) => Err(SocksError::NameByte(byte)),
            None => Ok(Self::Name(text.to_owned(), port)),
        }
    }

    /// Reads type, address and port as SOCKS 5 has them.
    pub(super) fn take(input: &mut &[u8]) -> Result<Self, Stop> {
        let port = |input: &mut &[u8]| take_array(input).map(u16::from_be_bytes);
        match take_byte(input)? {
            IPV4 => {
                let ip = Ipv4Addr::from(take_array::<4>(input)?);
                Ok(Self::ip(ip.into(), port(input)?))
            }
            NAME => {
                let len = take_byte(input)?;
                let host = take(input, usize::from(len))?;
                Ok(Self::host(host, port(input)?)?)
            }
            IPV6 => {
                let ip = Ipv6Addr::from(take_array::<16>(input)?);
                Ok(Self::ip(ip.into(), port(input)?))
            }
            other => Err(SocksError::AddressType(other).into()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => write!(f, "{address}"),
            Self::Name(name, port) => write!(f, "{name}:{port}"),
        }
    }
}

/// Appends type, address and port as SOCKS 5 has them.
pub(super) fn write_address(out: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => {
            out.push(IPV4);
            out.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(IPV6);
            out.extend_from_slice(&ip.octets());
        }
    }
    out.extend_from_slice(&address.port().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Ok` with the address as text.
    fn check(host: &[u8], expected: Result<&str, SocksError>) {
        let shown = Address::host(host, 80).map(|address| address.to_string());
        assert_eq!(shown.as_deref(), expected.as_ref().copied(), "{host:?}");
    }

    #[test]
    fn hosts() {
        check(b"example.com", Ok("example.com:80"));
        check(b"A_b-1.", Ok("A_b-1.:80"));
        check(&[b'a'; 255], Ok(&format!("{}:80", "a".repeat(255))));
        for host in ["127.0.0.1", "::ffff:127.0.0.1"] {
            let expected = Address::Ip(([127, 0, 0, 1], 80).into());
            assert_eq!(Address::host(host.as_bytes(), 80), Ok(expected));
        }
        check(b"::1", Ok("[::1]:80"));
    }

    #[test]
    fn what_is_no_host() {
        check(b"", Err(SocksError::NameLength));
        check(&[b'a'; 256], Err(SocksError::NameLength));
        for (host, byte) in
            [("a\0.b", 0), ("a b", b' '), ("a\r\nb", b'\r'), ("a/b", b'/'), ("a:1", b':')]
        {
            check(host.as_bytes(), Err(SocksError::NameByte(byte)));
        }
        check(b"\xff", Err(SocksError::NameByte(0xff)));
        check("é.fr".as_bytes(), Err(SocksError::NameByte(0xc3)));
    }
}
