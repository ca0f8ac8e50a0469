//! Datagrams between a client and the relay of its UDP association (RFC 1928 section 7).

use std::net::SocketAddr;

use super::address::{Address, write_address};
use super::error::{SocksError, Stop};
use super::input::{take_array, take_byte};

/// A datagram from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Destination of its data.
    pub address: Address,
    /// Data to send there; may be empty.
    pub data: &'a [u8],
}

/// Reads a datagram from a client. The reserved bytes may have any value.
///
/// # Errors
/// See [`SocksError`]. Such a datagram is dropped without an answer; the association goes on.
pub fn parse_datagram(bytes: &[u8]) -> Result<Datagram<'_>, SocksError> {
    let mut data = bytes;
    match take_head(&mut data) {
        Ok(address) => Ok(Datagram { address, data }),
        Err(Stop::More) => Err(SocksError::Truncated),
        Err(Stop::Bad(error)) => Err(error),
    }
}

/// Appends the head of a datagram to a client; the data from `source` follows it.
pub fn write_datagram_head(out: &mut Vec<u8>, source: SocketAddr) {
    out.extend_from_slice(&[0, 0, 0]);
    write_address(out, source);
}

fn take_head(input: &mut &[u8]) -> Result<Address, Stop> {
    take_array::<2>(input)?;
    match take_byte(input)? {
        0 => Address::take(input),
        number => Err(SocksError::Fragment(number).into()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// `Ok` with the address as text and the data.
    fn check(bytes: &[u8], expected: Result<(&str, &[u8]), SocksError>) {
        let read = parse_datagram(bytes);
        let shown = read.map(|read| (read.address.to_string(), read.data));
        let expected = expected.map(|(address, data)| (address.to_owned(), data));
        assert_eq!(shown, expected, "{bytes:x?}");
    }

    #[test]
    fn datagrams() {
        check(b"\0\0\0\x01\x0a\0\0\x01\0\x35data", Ok(("10.0.0.1:53", b"data")));
        check(b"\0\0\0\x01\x0a\0\0\x01\0\x35", Ok(("10.0.0.1:53", b"")));
        check(b"\0\0\0\x03\x09a.example\0\x35data", Ok(("a.example:53", b"data")));
        check(b"\0\0\x01\x01\x0a\0\0\x01\0\x35data", Err(SocksError::Fragment(1)));
        check(b"\0\0\x80", Err(SocksError::Fragment(0x80)));
        check(b"\0\0\0\x05", Err(SocksError::AddressType(5)));
        check(b"\0\0\0\x03\xffa.example\0\x35", Err(SocksError::Truncated));
        check(b"\0\0\0\x03\0\0\x35", Err(SocksError::NameLength));
        let whole = b"\0\0\0\x01\x0a\0\0\x01\0\x35";
        for end in 0..whole.len() {
            check(&whole[..end], Err(SocksError::Truncated));
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            ip in any::<IpAddr>(), port in any::<u16>(), data in vec(any::<u8>(), 0..40),
        ) {
            let mut out = Vec::new();
            write_datagram_head(&mut out, SocketAddr::new(ip, port));
            out.extend_from_slice(&data);
            let address = Address::Ip(SocketAddr::new(ip.to_canonical(), port));
            prop_assert_eq!(parse_datagram(&out), Ok(Datagram { address, data: &data }));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..300)) {
            for start in [b"".as_slice(), b"\0\0\0", b"\0\0\0\x03"] {
                let _ = parse_datagram(&[start, &bytes].concat());
            }
        }
    }
}
