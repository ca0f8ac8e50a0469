//! Messages of a client: greeting, credentials, request.
//!
//! Each function reads the message at the start of the bytes and returns it with its length, or
//! `None` if more bytes are needed. Bytes behind it are the next message, or data for the target.

use std::fmt;
use std::net::Ipv4Addr;

use super::address::Address;
use super::error::{SocksError, Stop};
use super::input::{take, take_array, take_byte};

/// Most bytes of the user id in SOCKS 4.
pub const USER_ID_BYTES_MAX: usize = 255;

/// Most bytes of the host name in SOCKS 4a.
const NAME_BYTES_MAX: usize = 255;

const V4: u8 = 4;
const V5: u8 = 5;
const PASSWORD_V1: u8 = 1;

/// Version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// SOCKS 4 or 4a.
    V4,
    /// SOCKS 5.
    V5,
}

/// The first message of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// SOCKS 4 begins with the request.
    V4(Request),
    /// SOCKS 5 begins with the methods of authentication that the client has.
    V5(Methods),
}

/// Authentication methods that a client offers. The server selects one of them or refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Methods {
    none: bool,
    password: bool,
}

/// A method of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// No authentication.
    None,
    /// User name and password (RFC 1929); the client sends them next.
    Password,
}

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Version of the request, and so of the reply.
    pub version: Version,
    /// The command.
    pub command: Command,
    /// The target; for [`Command::UdpAssociate`] where the client sends its datagrams from, all
    /// zero if it does not know.
    pub address: Address,
    /// User id of SOCKS 4, which proves nothing; empty in SOCKS 5.
    pub user: Vec<u8>,
}

/// Command of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Connect to the address.
    Connect,
    /// Listen for one connection from the address.
    Bind,
    /// Relay datagrams as long as this connection lasts. SOCKS 5 only.
    UdpAssociate,
}

/// User name and password. Compare them in constant time.
#[derive(Clone, Copy)]
pub struct Credentials<'a> {
    /// User name, up to 255 bytes.
    pub user: &'a [u8],
    /// Password, up to 255 bytes.
    pub password: &'a [u8],
}

impl fmt::Debug for Credentials<'_> {
    /// Leaves out the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Methods {
    /// Whether the client offers this method.
    pub fn offers(&self, method: Method) -> bool {
        match method {
            Method::None => self.none,
            Method::Password => self.password,
        }
    }
}

/// Reads the first message of a connection, of either version.
///
/// # Errors
/// See [`SocksError`].
pub fn greeting(bytes: &[u8]) -> Result<Option<(Greeting, usize)>, SocksError> {
    parse(bytes, |input| match take_byte(input)? {
        V4 => Ok(Greeting::V4(request_v4(input)?)),
        V5 => {
            let count = take_byte(input)?;
            let offered = take(input, usize::from(count))?;
            Ok(Greeting::V5(Methods { none: offered.contains(&0), password: offered.contains(&2) }))
        }
        other => Err(SocksError::Version(other).into()),
    })
}

/// Reads the credentials that follow a greeting answered with [`Method::Password`].
///
/// # Errors
/// [`SocksError::AuthVersion`].
pub fn auth(bytes: &[u8]) -> Result<Option<(Credentials<'_>, usize)>, SocksError> {
    parse(bytes, |input| {
        match take_byte(input)? {
            PASSWORD_V1 => {}
            other => return Err(SocksError::AuthVersion(other).into()),
        }
        let user_len = take_byte(input)?;
        let user = take(input, usize::from(user_len))?;
        let password_len = take_byte(input)?;
        Ok(Credentials { user, password: take(input, usize::from(password_len))? })
    })
}

/// Reads the request of SOCKS 5. The reserved byte may have any value.
///
/// # Errors
/// See [`SocksError`].
pub fn request(bytes: &[u8]) -> Result<Option<(Request, usize)>, SocksError> {
    parse(bytes, |input| {
        match take_byte(input)? {
            V5 => {}
            other => return Err(SocksError::Version(other).into()),
        }
        let command = match take_byte(input)? {
            1 => Command::Connect,
            2 => Command::Bind,
            3 => Command::UdpAssociate,
            other => return Err(SocksError::Command(other).into()),
        };
        take_byte(input)?;
        let address = Address::take(input)?;
        Ok(Request { version: Version::V5, command, address, user: Vec::new() })
    })
}

/// Reads the request of SOCKS 4 behind its version. In 4a an address `0.0.0.x` other than `0.0.0.0`
/// means that a host name follows.
fn request_v4(input: &mut &[u8]) -> Result<Request, Stop> {
    let command = match take_byte(input)? {
        1 => Command::Connect,
        2 => Command::Bind,
        other => return Err(SocksError::Command(other).into()),
    };
    let port = u16::from_be_bytes(take_array(input)?);
    let ip = take_array(input)?;
    let user = take_to_nul(input, USER_ID_BYTES_MAX, SocksError::UserIdTooLong)?.to_vec();
    let address = match ip {
        [0, 0, 0, last] if last != 0 => {
            let host = take_to_nul(input, NAME_BYTES_MAX, SocksError::NameLength)?;
            Address::host(host, port)?
        }
        ip => Address::ip(Ipv4Addr::from(ip).into(), port),
    };
    Ok(Request { version: Version::V4, command, address, user })
}

/// Takes up to `max` bytes and the NUL behind them.
fn take_to_nul<'a>(
    input: &mut &'a [u8],
    max: usize,
    too_long: SocksError,
) -> Result<&'a [u8], Stop> {
    match input.iter().take(max + 1).position(|&byte| byte == 0) {
        Some(end) => {
            let text = take(input, end)?;
            take_byte(input)?;
            Ok(text)
        }
        None if input.len() > max => Err(too_long.into()),
        None => Err(Stop::More),
    }
}

fn parse<'a, T>(
    bytes: &'a [u8],
    read: impl FnOnce(&mut &'a [u8]) -> Result<T, Stop>,
) -> Result<Option<(T, usize)>, SocksError> {
    let mut input = bytes;
    match read(&mut input) {
        Ok(message) => Ok(Some((message, bytes.len() - input.len()))),
        Err(Stop::More) => Ok(None),
        Err(Stop::Bad(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    type Read<T> = Result<Option<(T, usize)>, SocksError>;

    /// Checks the message, with more bytes behind it and for every cut.
    #[track_caller]
    fn check<T: PartialEq + fmt::Debug>(
        read: fn(&[u8]) -> Read<T>,
        bytes: &[u8],
        expected: Result<T, SocksError>,
    ) {
        let expected = expected.map(|message| Some((message, bytes.len())));
        assert_eq!(read(bytes), expected, "{bytes:x?}");
        assert_eq!(read(&[bytes, b"\0early data"].concat()), expected, "{bytes:x?}");
        for end in 0..bytes.len() {
            let early = read(&bytes[..end]);
            let refused = early.is_err() && early == expected;
            assert!(early == Ok(None) || refused, "{bytes:x?} {end}: {early:?}");
        }
    }

    fn connect(version: Version, address: Address, user: &[u8]) -> Request {
        Request { version, command: Command::Connect, address, user: user.to_vec() }
    }

    fn name(name: &str, port: u16) -> Address {
        Address::Name(name.to_owned(), port)
    }

    #[test]
    fn greetings() {
        let methods = |none, password| Ok(Greeting::V5(Methods { none, password }));
        check(greeting, b"\x05\x01\0", methods(true, false));
        check(greeting, b"\x05\x03\x01\x02\0", methods(true, true));
        check(greeting, b"\x05\x02\x01\x80", methods(false, false));
        check(greeting, b"\x05\0", methods(false, false));
        check(greeting, &[b"\x05\xff".as_slice(), &[2; 255]].concat(), methods(false, true));
        for version in [0, 1, 6, b'G', 0x16] {
            check(greeting, &[version, 1], Err(SocksError::Version(version)));
        }
        let offer = Methods { none: false, password: true };
        assert!(offer.offers(Method::Password) && !offer.offers(Method::None));
    }

    #[test]
    fn requests_of_version_4() {
        let v4 = |address, user| Ok(Greeting::V4(connect(Version::V4, address, user)));
        let ip = |ip: [u8; 4]| Address::Ip((ip, 80).into());
        check(greeting, b"\x04\x01\0\x50\x7f\0\0\x01\0", v4(ip([127, 0, 0, 1]), b""));
        check(greeting, b"\x04\x01\0\x50\x7f\0\0\x01me\0", v4(ip([127, 0, 0, 1]), b"me"));
        check(greeting, b"\x04\x01\0\x50\0\0\0\0\0", v4(ip([0; 4]), b""));
        check(greeting, b"\x04\x01\0\x50\0\0\x01\x01\0", v4(ip([0, 0, 1, 1]), b""));
        let bind = Request { command: Command::Bind, ..connect(Version::V4, ip([9; 4]), b"") };
        check(greeting, b"\x04\x02\0\x50\x09\x09\x09\x09\0", Ok(Greeting::V4(bind)));
        let named = v4(name("a.example", 80), b"me");
        check(greeting, b"\x04\x01\0\x50\0\0\0\x01me\0a.example\0", named);
        let local = v4(ip([127, 0, 0, 1]), b"");
        check(greeting, b"\x04\x01\0\x50\0\0\0\xff\x00127.0.0.1\0", local);
    }

    #[test]
    fn what_is_refused_in_version_4() {
        check(greeting, b"\x04\x03\0\x50", Err(SocksError::Command(3)));
        let long = |before: &[u8], len| [before, &vec![b'a'; len], b"\0"].concat();
        let user = b"\x04\x01\0\x50\x7f\0\0\x01";
        check(greeting, &long(user, 256), Err(SocksError::UserIdTooLong));
        assert!(matches!(greeting(&long(user, 255)), Ok(Some(_))));
        let host = b"\x04\x01\0\x50\0\0\0\x01\0";
        check(greeting, &long(host, 256), Err(SocksError::NameLength));
        check(greeting, &long(host, 0), Err(SocksError::NameLength));
        assert!(matches!(greeting(&long(host, 255)), Ok(Some(_))));
        let blank = b"\x04\x01\0\x50\0\0\0\x01\0a b\0";
        check(greeting, blank, Err(SocksError::NameByte(b' ')));
    }

    #[test]
    fn credentials() {
        let read = |bytes: &[u8]| {
            auth(bytes)
                .map(|read| read.map(|(c, len)| ((c.user.to_vec(), c.password.to_vec()), len)))
        };
        check(read, b"\x01\x02me\x04word", Ok((b"me".to_vec(), b"word".to_vec())));
        check(read, b"\x01\0\0", Ok((Vec::new(), Vec::new())));
        let longest = [b"\x01\xff".as_slice(), &[b'u'; 255], b"\xff", &[b'p'; 255]].concat();
        check(read, &longest, Ok((vec![b'u'; 255], vec![b'p'; 255])));
        check(read, b"\x05\x02me\x04word", Err(SocksError::AuthVersion(5)));
        let shown = format!("{:?}", auth(b"\x01\x02me\x04word"));
        assert!(!shown.contains(&format!("{:?}", b"word")), "{shown}");
    }

    #[test]
    fn requests_of_version_5() {
        let v5 = |address| Ok(connect(Version::V5, address, b""));
        let ip = |text: &str| Address::Ip(text.parse().expect("address"));
        check(request, b"\x05\x01\0\x01\x7f\0\0\x01\0\x50", v5(ip("127.0.0.1:80")));
        let v6 = b"\x05\x01\0\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x01\xbb";
        check(request, v6, v5(ip("[2001:db8::1]:443")));
        let mapped = b"\x05\x01\0\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\x01\x01\xbb";
        check(request, mapped, v5(ip("127.0.0.1:443")));
        check(request, b"\x05\x01\0\x03\x09a.example\x01\xbb", v5(name("a.example", 443)));
        check(request, b"\x05\x01\0\x03\x03::1\x01\xbb", v5(ip("[::1]:443")));
        for (byte, command) in [(2, Command::Bind), (3, Command::UdpAssociate)] {
            let expected = Request { command, ..connect(Version::V5, ip("0.0.0.0:0"), b"") };
            check(request, &[5, byte, 0, 1, 0, 0, 0, 0, 0, 0], Ok(expected));
        }
    }

    #[test]
    fn what_is_refused_in_version_5() {
        check(request, b"\x04\x01", Err(SocksError::Version(4)));
        check(request, b"\x05\0", Err(SocksError::Command(0)));
        check(request, b"\x05\x04\0\x09", Err(SocksError::Command(4)));
        check(request, b"\x05\x01\0\x02", Err(SocksError::AddressType(2)));
        check(request, b"\x05\x01\0\x03\0\0\x50", Err(SocksError::NameLength));
        check(request, b"\x05\x01\0\x03\x02a\0\0\x50", Err(SocksError::NameByte(0)));
    }

    proptest! {
        #[test]
        fn a_prefix_says_the_same_or_nothing(
            start in proptest::sample::select(vec![
                "", "\x01", "\x04\x01\0\x50\0\0\0\x01", "\x05\x01\0\x03", "\x05\x01\0\x04",
            ]),
            rest in vec(prop_oneof![0..6u8, b'a'..b'd', any::<u8>()], 0..300),
        ) {
            let bytes = [start.as_bytes(), &rest].concat();
            let read_auth = |bytes| {
                auth(bytes).map(|read| read.map(|(c, len)| (c.user, c.password, len)))
            };
            let all = (greeting(&bytes), read_auth(&bytes), request(&bytes));
            if let Ok(Some((_, len))) = all.2 {
                prop_assert_eq!(&request(&bytes[..len]), &all.2);
            }
            for end in 0..bytes.len() {
                let early = &bytes[..end];
                let early = (greeting(early), read_auth(early), request(early));
                prop_assert!(early.0 == Ok(None) || early.0 == all.0, "{end}");
                prop_assert!(early.1 == Ok(None) || early.1 == all.1, "{end}");
                prop_assert!(early.2 == Ok(None) || early.2 == all.2, "{end}");
            }
        }
    }
}
