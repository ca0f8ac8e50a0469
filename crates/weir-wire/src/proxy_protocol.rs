//! The PROXY protocol, versions 1 and 2: a proxy's header with the client's address, sent first on
//! a connection.

use std::fmt;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Most bytes of version 1, its line end included.
pub const V1_BYTES_MAX: usize = 107;
/// Most bytes behind the head of version 2.
pub const V2_BYTES_MAX: usize = 4096;

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
const V2_HEAD: usize = 16;
const CRC32C: u8 = 0x03;

/// Content of a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyHeader {
    /// Address of the client, and the address of the proxy it connected to. `None` if the proxy
    /// connects on its own behalf or does not know them: then the addresses of the connection
    /// apply.
    pub addresses: Option<(SocketAddr, SocketAddr)>,
    /// More about the connection, as type and value; of version 2 alone.
    pub tlvs: Vec<(u8, Vec<u8>)>,
}

/// Why bytes are no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyError {
    /// The bytes start with neither version's signature.
    Signature,
    /// The line of version 1 does not end in time.
    LineTooLong,
    /// The line of version 1 is not as it has to be.
    Line,
    /// Version, command or family of version 2 that there is not.
    Head,
    /// More than [`V2_BYTES_MAX`], or fewer than the addresses take.
    Length,
    /// A TLV leads out of the header.
    Tlv,
    /// The checksum is wrong.
    Checksum,
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Signature => "no PROXY header",
            Self::LineTooLong => "the PROXY line does not end",
            Self::Line => "the PROXY line is malformed",
            Self::Head => "a version, command or family of the PROXY protocol that there is not",
            Self::Length => "a PROXY header of a length that cannot be",
            Self::Tlv => "a TLV leads out of its PROXY header",
            Self::Checksum => "the PROXY header does not have its checksum",
        })
    }
}

impl std::error::Error for ProxyError {}

/// Reads the header that a connection starts with, and its length; `None` if more bytes are needed.
///
/// # Errors
/// See [`ProxyError`]; at the first byte that is wrong.
pub fn proxy_header(bytes: &[u8]) -> Result<Option<(ProxyHeader, usize)>, ProxyError> {
    let starts = |with: &[u8]| bytes.iter().zip(with).all(|(byte, wanted)| byte == wanted);
    if starts(b"PROXY ") {
        return v1(bytes);
    }
    if !starts(&SIGNATURE) {
        return Err(ProxyError::Signature);
    }
    v2(bytes)
}

fn v1(bytes: &[u8]) -> Result<Option<(ProxyHeader, usize)>, ProxyError> {
    let within = bytes.get(..V1_BYTES_MAX).unwrap_or(bytes);
    let Some(end) = within.windows(2).position(|pair| pair == b"\r\n") else {
        return if bytes.len() >= V1_BYTES_MAX { Err(ProxyError::LineTooLong) } else { Ok(None) };
    };
    let line = within.get(..end).and_then(|line| std::str::from_utf8(line).ok());
    let mut words = line.ok_or(ProxyError::Line)?.split(' ').skip(1);
    let family = words.next().unwrap_or_default();
    // The rest of the line is to be ignored.
    if family == "UNKNOWN" {
        return Ok(Some((ProxyHeader::default(), end + 2)));
    }
    let mut words = || words.next().ok_or(ProxyError::Line);
    let (source, target) = (words()?, words()?);
    let (source_port, target_port) = (words()?, words()?);
    let is_end = words().is_err();
    let address = |text: &str, port: &str| -> Result<SocketAddr, ProxyError> {
        let ip: IpAddr = text.parse().map_err(|_| ProxyError::Line)?;
        let is_family = match family {
            "TCP4" => ip.is_ipv4(),
            "TCP6" => ip.is_ipv6(),
            _ => false,
        };
        let is_plain = port.bytes().all(|byte| byte.is_ascii_digit())
            && (port == "0" || !port.starts_with('0'));
        match port.parse() {
            Ok(port) if is_family && is_plain && is_end => Ok(SocketAddr::new(ip, port)),
            _ => Err(ProxyError::Line),
        }
    };
    let addresses = Some((address(source, source_port)?, address(target, target_port)?));
    Ok(Some((ProxyHeader { addresses, tlvs: Vec::new() }, end + 2)))
}

fn v2(bytes: &[u8]) -> Result<Option<(ProxyHeader, usize)>, ProxyError> {
    let is_local = match bytes.get(12) {
        None => return Ok(None),
        Some(0x20) => true,
        Some(0x21) => false,
        Some(_) => return Err(ProxyError::Head),
    };
    let Some(family) = bytes.get(13).copied() else { return Ok(None) };
    let Some([high, low]) = bytes.get(14..).and_then(|rest| rest.first_chunk()).copied() else {
        return Ok(None);
    };
    let len = usize::from(u16::from_be_bytes([high, low]));
    let addresses_len = match (family >> 4, family & 15) {
        (0, 0..=2) => 0,
        (1, 0..=2) => 12,
        (2, 0..=2) => 36,
        (3, 0..=2) => 216,
        _ => return Err(ProxyError::Head),
    };
    // A LOCAL header needs no address block.
    let addresses_len = if is_local { addresses_len.min(len) } else { addresses_len };
    if len > V2_BYTES_MAX || len < addresses_len {
        return Err(ProxyError::Length);
    }
    let Some(header) = bytes.get(..V2_HEAD + len) else { return Ok(None) };
    let body = header.get(V2_HEAD..).unwrap_or_default();
    let (addresses, rest) = body.split_at_checked(addresses_len).ok_or(ProxyError::Length)?;
    let tlvs = match tlvs(rest) {
        // A LOCAL header's TLVs must be skipped, whatever they are.
        Err(_) if is_local => Vec::new(),
        tlvs => tlvs?,
    };
    if let Some((_, sum)) = tlvs.iter().find(|(kind, _)| *kind == CRC32C) {
        check(header, rest, sum)?;
    }
    let addresses = match (is_local, family) {
        (false, 0x11) => pair(addresses, v4),
        (false, 0x21) => pair(addresses, v6),
        _ => None,
    };
    Ok(Some((ProxyHeader { addresses, tlvs }, header.len())))
}

/// Two addresses, then two ports.
fn pair(
    bytes: &[u8],
    ip: impl Fn(&mut &[u8]) -> Option<IpAddr>,
) -> Option<(SocketAddr, SocketAddr)> {
    let mut input = bytes;
    let (source, target) = (ip(&mut input)?, ip(&mut input)?);
    let [a, b, c, d] = *input.first_chunk()?;
    let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    Some((SocketAddr::new(source, ports.0), SocketAddr::new(target, ports.1)))
}

fn v4(input: &mut &[u8]) -> Option<IpAddr> {
    let (bytes, rest) = input.split_first_chunk::<4>()?;
    *input = rest;
    Some(Ipv4Addr::from(*bytes).into())
}

fn v6(input: &mut &[u8]) -> Option<IpAddr> {
    let (bytes, rest) = input.split_first_chunk::<16>()?;
    *input = rest;
    Some(Ipv6Addr::from(*bytes).into())
}

fn tlvs(mut rest: &[u8]) -> Result<Vec<(u8, Vec<u8>)>, ProxyError> {
    let mut all = Vec::new();
    while let Some(([kind, high, low], behind)) = rest.split_first_chunk::<3>() {
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        let (value, behind) = behind.split_at_checked(len).ok_or(ProxyError::Tlv)?;
        all.push((*kind, value.to_vec()));
        rest = behind;
    }
    if rest.is_empty() { Ok(all) } else { Err(ProxyError::Tlv) }
}

/// Checks that `header`, whose TLVs are `rest`, has this checksum with zeros in its place.
fn check(header: &[u8], rest: &[u8], sum: &[u8]) -> Result<(), ProxyError> {
    let expected = sum.first_chunk::<4>().filter(|_| sum.len() == 4).ok_or(ProxyError::Tlv)?;
    let mut place = header.len() - rest.len();
    let mut left = rest;
    while let Some(([kind, high, low], behind)) = left.split_first_chunk::<3>() {
        if *kind == CRC32C {
            break;
        }
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        place += 3 + len;
        left = behind.get(len..).unwrap_or_default();
    }
    let mut zeroed = header.to_vec();
    if let Some(sum) = zeroed.get_mut(place + 3..place + 7) {
        sum.fill(0);
    }
    let is_right = crc32c(&zeroed) == u32::from_be_bytes(*expected);
    if is_right { Ok(()) } else { Err(ProxyError::Checksum) }
}

/// Appends a header of version 1 for a connection of `source` to `target`; `None` if the proxy
/// speaks for itself.
pub fn write_v1(out: &mut Vec<u8>, addresses: Option<(SocketAddr, SocketAddr)>) {
    // Writing to memory does not fail.
    let _ = match addresses.map(same_family) {
        None => out.write_all(b"PROXY UNKNOWN\r\n"),
        Some((source, target)) => {
            let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
            let (from, to) = (source.ip(), target.ip());
            write!(out, "PROXY {family} {from} {to} {} {}\r\n", source.port(), target.port())
        }
    };
}

/// Appends a header of version 2, with these TLVs and a checksum.
pub fn write_v2(
    out: &mut Vec<u8>,
    addresses: Option<(SocketAddr, SocketAddr)>,
    tlvs: &[(u8, Vec<u8>)],
) {
    let mut body = Vec::new();
    let (command, family) = match addresses.map(same_family) {
        None => (0x20, 0),
        Some((source, target)) => {
            for ip in [source.ip(), target.ip()] {
                match ip {
                    IpAddr::V4(ip) => body.extend(ip.octets()),
                    IpAddr::V6(ip) => body.extend(ip.octets()),
                }
            }
            body.extend(source.port().to_be_bytes());
            body.extend(target.port().to_be_bytes());
            (0x21, if source.is_ipv4() { 0x11 } else { 0x21 })
        }
    };
    for (kind, value) in tlvs.iter().filter(|(kind, _)| *kind != CRC32C) {
        let Ok(len) = u16::try_from(value.len()) else { continue };
        if body.len() + value.len() + 10 > V2_BYTES_MAX {
            continue;
        }
        body.push(*kind);
        body.extend(len.to_be_bytes());
        body.extend(value);
    }
    body.extend([CRC32C, 0, 4, 0, 0, 0, 0]);
    let start = out.len();
    out.extend(SIGNATURE);
    out.extend([command, family]);
    out.extend(u16::try_from(body.len()).unwrap_or(u16::MAX).to_be_bytes());
    out.extend(body);
    let sum = crc32c(out.get(start..).unwrap_or_default());
    let place = out.len().saturating_sub(4);
    out.truncate(place);
    out.extend(sum.to_be_bytes());
}

/// Both of one family: an IPv4 address beside an IPv6 one is written as one of those.
fn same_family((source, target): (SocketAddr, SocketAddr)) -> (SocketAddr, SocketAddr) {
    let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let (source, target) = (plain(source), plain(target));
    if source.is_ipv4() == target.is_ipv4() {
        return (source, target);
    }
    let mapped = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        IpAddr::V6(_) => address,
    };
    (mapped(source), mapped(target))
}

/// CRC-32C (Castagnoli), reflected.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        let entry = (sum ^ u32::from(*byte)) & 0xff;
        (sum >> 8) ^ TABLE.get(entry as usize).copied().unwrap_or_default()
    })
}

static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut value = at as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ 0x82f6_3b78 } else { value >> 1 };
            bit += 1;
        }
        #[expect(clippy::indexing_slicing, reason = "`at` is below 256; checked by the compiler")]
        {
            table[at] = value;
        }
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::{ProxyError, ProxyHeader, crc32c, proxy_header, write_v1, write_v2};

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    fn both(source: &str, target: &str) -> Option<(SocketAddr, SocketAddr)> {
        Some((address(source), address(target)))
    }

    #[test]
    fn the_checksum_is_castagnolis() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn version_1_is_read_as_it_is_specified() {
        for (line, expected) in [
            (
                "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n",
                both("192.0.2.1:56324", "192.0.2.2:443"),
            ),
            ("PROXY TCP6 2001:db8::1 ::1 1 65535\r\n", both("[2001:db8::1]:1", "[::1]:65535")),
            ("PROXY UNKNOWN\r\n", None),
            ("PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n", None),
        ] {
            let header = ProxyHeader { addresses: expected, tlvs: Vec::new() };
            let more = [line.as_bytes(), b"GET"].concat();
            assert_eq!(proxy_header(&more), Ok(Some((header, line.len()))), "{line}");
            for len in 0..line.len() {
                assert_eq!(proxy_header(&line.as_bytes()[..len]), Ok(None), "{line} {len}");
            }
        }
        for wrong in [
            "PROXY TCP4 192.0.2.1 192.0.2.2 56324\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443 1\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 056324 443\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 +1 443\r\n",
            "PROXY TCP4 ::1 ::2 1 2\r\n",
            "PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n",
            "PROXY TCP4  192.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n",
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n",
            "PROXY \r\n",
        ] {
            assert_eq!(proxy_header(wrong.as_bytes()), Err(ProxyError::Line), "{wrong}");
        }
        let endless = [b"PROXY TCP4 ".as_slice(), &[b'1'; 100]].concat();
        assert_eq!(proxy_header(&endless), Err(ProxyError::LineTooLong));
        assert_eq!(proxy_header(b"GET / HTTP/1.1\r\n"), Err(ProxyError::Signature));
    }

    #[test]
    fn what_is_written_is_read() {
        let pairs = [
            both("192.0.2.1:56324", "192.0.2.2:443"),
            both("[2001:db8::1]:1", "[2001:db8::2]:2"),
            None,
        ];
        for addresses in pairs {
            let mut line = Vec::new();
            write_v1(&mut line, addresses);
            let header = ProxyHeader { addresses, tlvs: Vec::new() };
            assert_eq!(proxy_header(&line), Ok(Some((header, line.len()))));
            let sent = vec![(1, b"h2".to_vec()), (2, b"example.org".to_vec()), (4, vec![0; 9])];
            let mut bytes = Vec::new();
            write_v2(&mut bytes, addresses, &sent);
            let (header, len) = proxy_header(&bytes).unwrap().unwrap();
            assert_eq!((header.addresses, len), (addresses, bytes.len()));
            assert_eq!(header.tlvs[..3], sent);
            for len in 0..bytes.len() {
                assert_eq!(proxy_header(&bytes[..len]), Ok(None), "{len}");
            }
            // All but the type of the checksum itself; the TLVs of a LOCAL header are skipped.
            let places =
                (16..bytes.len()).filter(|at| addresses.is_some() && at + 7 != bytes.len());
            for at in places {
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                assert!(proxy_header(&changed).is_err(), "{at}");
            }
        }
    }

    #[test]
    fn families_are_made_the_same() {
        let mixed = both("192.0.2.1:1", "[2001:db8::2]:2");
        let mut bytes = Vec::new();
        write_v2(&mut bytes, mixed, &[]);
        let (header, _) = proxy_header(&bytes).unwrap().unwrap();
        assert_eq!(header.addresses, both("[::ffff:192.0.2.1]:1", "[2001:db8::2]:2"));
        let mut line = Vec::new();
        write_v1(&mut line, both("[::ffff:192.0.2.1]:1", "192.0.2.2:2"));
        assert_eq!(line, b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n");
    }

    #[test]
    fn version_2_is_read_as_it_is_specified() {
        let head = |command: u8, family: u8, body: &[u8]| {
            let mut bytes = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
            bytes.extend([command, family]);
            bytes.extend((body.len() as u16).to_be_bytes());
            bytes.extend(body);
            bytes
        };
        let read = |bytes: &[u8]| proxy_header(bytes);
        let tcp4 = [192, 0, 2, 1, 192, 0, 2, 2, 0xdc, 4, 1, 0xbb];
        let (header, len) = read(&head(0x21, 0x11, &tcp4)).unwrap().unwrap();
        assert_eq!((header.addresses, len), (both("192.0.2.1:56324", "192.0.2.2:443"), 28));
        for (command, family, body) in
            [(0x20, 0, &[][..]), (0x20, 0x11, &[]), (0x21, 0x31, &[0; 216])]
        {
            let (header, _) = read(&head(command, family, body)).unwrap().unwrap();
            assert_eq!(header, ProxyHeader::default(), "{command:x} {family:x}");
        }
        assert_eq!(read(&head(0x22, 0x11, &tcp4)), Err(ProxyError::Head));
        assert_eq!(read(&head(0x11, 0x11, &tcp4)), Err(ProxyError::Head));
        assert_eq!(read(&head(0x21, 0x13, &tcp4)), Err(ProxyError::Head));
        assert_eq!(read(&head(0x21, 0x41, &tcp4)), Err(ProxyError::Head));
        assert_eq!(read(&head(0x21, 0x11, &tcp4[..11])), Err(ProxyError::Length));
        assert_eq!(read(&head(0x21, 0x11, &[0; 5_000])), Err(ProxyError::Length));
        let with = |tlv: &[u8]| head(0x21, 0x11, &[&tcp4, tlv].concat());
        assert_eq!(read(&with(&[4, 0])), Err(ProxyError::Tlv));
        assert_eq!(read(&with(&[4, 0, 2, 0])), Err(ProxyError::Tlv));
        assert_eq!(read(&with(&[3, 0, 3, 0, 0, 0])), Err(ProxyError::Tlv));
        assert_eq!(read(&with(&[3, 0, 4, 0, 0, 0, 0])), Err(ProxyError::Checksum));
    }
}
