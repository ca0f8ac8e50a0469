//! The ClientHello of TLS: RFC 8446 section 4.1.2, RFC 6066, RFC 7301.
//!
//! The bytes are only parsed, not consumed: they are forwarded to the peer that terminates TLS.

use std::fmt;

/// Most bytes that are looked at: a hello of the greatest size in records of one byte is refused.
pub const HELLO_BYTES_MAX: usize = 32 * 1024;

/// Most bytes of a hello itself.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;
const RECORD_HEAD: usize = 5;
const RECORD_BYTES_MAX: usize = 16 * 1024;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const ALPN: u16 = 16;

/// Server name and protocols requested by a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHello {
    /// Name of the server, in lower case and without a dot at the end.
    pub server_name: Option<String>,
    /// Protocols that it offers, the one it likes best first.
    pub protocols: Vec<Vec<u8>>,
}

/// Why bytes are no hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelloError {
    /// The bytes are not a TLS handshake.
    NotTls,
    /// A record is empty or longer than it may be.
    RecordLength,
    /// The handshake does not begin with a client's hello.
    NotHello,
    /// The hello is longer than weir looks at.
    TooLong,
    /// A length in it leads out of it, or an extension comes twice.
    Malformed,
    /// The name of the server is none.
    ServerName,
}

impl fmt::Display for HelloError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotTls => "no TLS handshake",
            Self::RecordLength => "a TLS record of a length that there is not",
            Self::NotHello => "the TLS handshake does not begin with a client's hello",
            Self::TooLong => "the TLS hello is too long",
            Self::Malformed => "the TLS hello is malformed",
            Self::ServerName => "the TLS hello names a server that cannot be one",
        })
    }
}

impl std::error::Error for HelloError {}

/// Reads the hello that a connection starts with; `None` if more bytes are needed. It may be
/// spread over any number of records.
///
/// # Errors
/// See [`HelloError`]; at the first byte that is wrong.
pub fn client_hello(bytes: &[u8]) -> Result<Option<ClientHello>, HelloError> {
    let mut message = Vec::new();
    let mut rest = bytes;
    loop {
        if let Some(len) = message_len(&message)?
            && let Some(hello) = message.get(4..4 + len)
        {
            return parse(hello).map(Some);
        }
        if rest.first().is_some_and(|kind| *kind != HANDSHAKE)
            || rest.get(1).is_some_and(|major| *major != 3)
        {
            return Err(HelloError::NotTls);
        }
        let Some((head, behind)) = rest.split_at_checked(RECORD_HEAD) else { break };
        let len = usize::from(u16::from_be_bytes([byte(head, 3), byte(head, 4)]));
        if len == 0 || len > RECORD_BYTES_MAX {
            return Err(HelloError::RecordLength);
        }
        let part = behind.get(..len).unwrap_or(behind);
        message.extend_from_slice(part);
        rest = behind.get(part.len()..).unwrap_or_default();
        if part.len() < len {
            // The start of a record may already hold the whole of the hello's length.
            message_len(&message)?;
            break;
        }
    }
    if bytes.len() >= HELLO_BYTES_MAX { Err(HelloError::TooLong) } else { Ok(None) }
}

fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or_default()
}

/// Bytes of the hello behind its head, once these are known.
fn message_len(message: &[u8]) -> Result<Option<usize>, HelloError> {
    if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
        return Err(HelloError::NotHello);
    }
    let Some([_, high, middle, low]) = message.first_chunk::<4>().copied() else { return Ok(None) };
    let len = u32::from_be_bytes([0, high, middle, low]) as usize;
    if len > MESSAGE_BYTES_MAX { Err(HelloError::TooLong) } else { Ok(Some(len)) }
}

/// Takes `count` bytes.
fn take<'a>(input: &mut &'a [u8], count: usize) -> Result<&'a [u8], HelloError> {
    let (taken, rest) = input.split_at_checked(count).ok_or(HelloError::Malformed)?;
    *input = rest;
    Ok(taken)
}

fn take_u16(input: &mut &[u8]) -> Result<u16, HelloError> {
    let bytes = take(input, 2)?;
    Ok(u16::from_be_bytes([byte(bytes, 0), byte(bytes, 1)]))
}

/// Takes bytes that are prefixed with their count, in one byte or two.
fn take_short<'a>(input: &mut &'a [u8]) -> Result<&'a [u8], HelloError> {
    let count = byte(take(input, 1)?, 0);
    take(input, usize::from(count))
}

fn take_long<'a>(input: &mut &'a [u8]) -> Result<&'a [u8], HelloError> {
    let count = take_u16(input)?;
    take(input, usize::from(count))
}

fn parse(mut input: &[u8]) -> Result<ClientHello, HelloError> {
    let mut hello = ClientHello::default();
    // Version and chance, session, ciphers, compressions.
    take(&mut input, 2 + 32)?;
    take_short(&mut input)?;
    take_long(&mut input)?;
    take_short(&mut input)?;
    if input.is_empty() {
        return Ok(hello);
    }
    let mut extensions = take_long(&mut input)?;
    if !input.is_empty() {
        return Err(HelloError::Malformed);
    }
    let (mut has_name, mut has_protocols) = (false, false);
    while !extensions.is_empty() {
        let kind = take_u16(&mut extensions)?;
        let body = take_long(&mut extensions)?;
        let is_second = match kind {
            SERVER_NAME => std::mem::replace(&mut has_name, true),
            ALPN => std::mem::replace(&mut has_protocols, true),
            _ => continue,
        };
        if is_second {
            return Err(HelloError::Malformed);
        }
        match kind {
            SERVER_NAME => hello.server_name = server_name(body)?,
            _ => hello.protocols = protocols(body)?,
        }
    }
    Ok(hello)
}

fn server_name(mut body: &[u8]) -> Result<Option<String>, HelloError> {
    let mut list = take_long(&mut body)?;
    if !body.is_empty() || list.is_empty() {
        return Err(HelloError::Malformed);
    }
    let mut found = None;
    while !list.is_empty() {
        let kind = byte(take(&mut list, 1)?, 0);
        let name = take_long(&mut list)?;
        // Zero is the name of a host; nothing else was ever defined.
        if kind != 0 {
            continue;
        }
        if found.is_some() {
            return Err(HelloError::Malformed);
        }
        let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
        let name = name.strip_suffix(b".").unwrap_or(name);
        if name.is_empty() || name.len() > 253 || !name.iter().all(is_host) {
            return Err(HelloError::ServerName);
        }
        found = Some(String::from_utf8_lossy(name).to_ascii_lowercase());
    }
    Ok(found)
}

fn protocols(mut body: &[u8]) -> Result<Vec<Vec<u8>>, HelloError> {
    let mut list = take_long(&mut body)?;
    if !body.is_empty() || list.is_empty() {
        return Err(HelloError::Malformed);
    }
    let mut all = Vec::new();
    while !list.is_empty() {
        let name = take_short(&mut list)?;
        if name.is_empty() {
            return Err(HelloError::Malformed);
        }
        all.push(name.to_vec());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{ClientHello, HelloError, client_hello};

    fn with_len(bytes: &[u8], size: usize) -> Vec<u8> {
        let len = (bytes.len() as u32).to_be_bytes();
        [&len[4 - size..], bytes].concat()
    }

    fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
        [kind.to_be_bytes().to_vec(), with_len(body, 2)].concat()
    }

    fn name(name: &[u8]) -> Vec<u8> {
        extension(0, &with_len(&[vec![0], with_len(name, 2)].concat(), 2))
    }

    fn alpn(names: &[&[u8]]) -> Vec<u8> {
        let list: Vec<u8> = names.iter().flat_map(|name| with_len(name, 1)).collect();
        extension(16, &with_len(&list, 2))
    }

    /// A hello with these extensions, as a handshake message.
    fn message(extensions: &[Vec<u8>]) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend(with_len(&[9; 32], 1));
        body.extend(with_len(&[0x13, 1, 0x13, 2], 2));
        body.extend([1, 0]);
        body.extend(with_len(&extensions.concat(), 2));
        [vec![1], with_len(&body, 3)].concat()
    }

    /// Records of `size` bytes each.
    fn records(message: &[u8], size: usize) -> Vec<u8> {
        message.chunks(size).flat_map(|part| [vec![22, 3, 1], with_len(part, 2)].concat()).collect()
    }

    fn grease() -> Vec<u8> {
        extension(0x2a2a, &[0])
    }

    fn usual() -> Vec<u8> {
        message(&[grease(), name(b"WWW.Example.org."), alpn(&[b"h2", b"http/1.1"]), grease()])
    }

    fn expected() -> ClientHello {
        ClientHello {
            server_name: Some("www.example.org".to_owned()),
            protocols: vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        }
    }

    #[test]
    fn any_split_gives_the_same() {
        for size in 1..usual().len() {
            let bytes = [records(&usual(), size), b"early data".to_vec()].concat();
            let end = bytes.len() - 10;
            assert_eq!(client_hello(&bytes), Ok(Some(expected())), "records of {size}");
            for len in 0..end {
                assert_eq!(client_hello(&bytes[..len]), Ok(None), "{len} bytes of {size} each");
            }
        }
    }

    #[test]
    fn a_hello_may_say_nothing() {
        let plain = records(&message(&[]), 9_999);
        assert_eq!(client_hello(&plain), Ok(Some(ClientHello::default())));
    }

    #[test]
    fn what_is_wrong_is_found_at_once() {
        let of = |extensions: &[Vec<u8>]| client_hello(&records(&message(extensions), 9_999));
        assert_eq!(of(&[name(b"a"), name(b"b")]), Err(HelloError::Malformed));
        assert_eq!(of(&[name(b"a/b")]), Err(HelloError::ServerName));
        assert_eq!(of(&[alpn(&[])]), Err(HelloError::Malformed));
        assert_eq!(of(&[alpn(&[b""])]), Err(HelloError::Malformed));
        assert_eq!(of(&[extension(0, &[0, 9, 0])]), Err(HelloError::Malformed));
        assert_eq!(client_hello(b"GET / HTTP/1.1"), Err(HelloError::NotTls));
        assert_eq!(client_hello(&[0x80, 0x2e, 1, 3, 1]), Err(HelloError::NotTls));
        assert_eq!(client_hello(&[22, 3, 1, 0, 0]), Err(HelloError::RecordLength));
        assert_eq!(client_hello(&[22, 3, 1, 0, 4, 2]), Err(HelloError::NotHello));
        assert_eq!(client_hello(&[22, 3, 1, 0, 4, 1, 0, 0x40, 1]), Err(HelloError::TooLong));
        let long = message(&[extension(21, &[0; 12_000])]);
        assert_eq!(client_hello(&records(&long, 1)[..40_000]), Err(HelloError::TooLong));
    }

    #[test]
    fn changed_bytes_never_panic() {
        let bytes = records(&usual(), 40);
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                let _ = client_hello(&changed);
            }
        }
    }
}
