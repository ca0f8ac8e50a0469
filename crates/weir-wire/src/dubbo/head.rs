//! The head of a Dubbo2 message (`ExchangeCodec` in Apache Dubbo).
//!
//! | bytes | field |
//! | --- | --- |
//! | 0–1 | magic `da bb` |
//! | 2 | bit 7 request, bit 6 two-way, bit 5 event, bits 0–4 serialization |
//! | 3 | status, of responses only |
//! | 4–11 | id of the request, big-endian |
//! | 12–15 | length of the body, big-endian |

use std::fmt;

/// Bytes of a head.
pub const HEAD_BYTES: usize = 16;

/// Serialization number of Hessian 2.
pub const HESSIAN2: u8 = 2;

/// Serialization number of fastjson2, which writes JSONB.
pub const FASTJSON2: u8 = 23;

const MAGIC: [u8; 2] = [0xda, 0xbb];
const REQUEST: u8 = 0x80;
const TWO_WAY: u8 = 0x40;
const EVENT: u8 = 0x20;
const SERIALIZATION: u8 = 0x1f;

/// The head of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// A request; otherwise a response. Both sides of a connection may send requests.
    pub is_request: bool,
    /// The sender of the request waits for a response.
    pub two_way: bool,
    /// A heartbeat or another event of the connection, not a call.
    pub event: bool,
    /// Serialization of the body: [`HESSIAN2`], [`FASTJSON2`] or another number up to 31.
    pub serialization: u8,
    /// [`Status`] of a response as a number, 0 in requests.
    pub status: u8,
    /// Pairs a response with its request, within one connection.
    pub id: u64,
    /// Bytes of the body, which follows the head.
    pub body_len: usize,
}

/// Error in a head. The connection cannot be read further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DubboError {
    /// Not Dubbo2: telnet commands, HTTP/2 (Triple) or HTTP/1 come to the same port of a provider.
    Magic,
    /// The body is longer than the bound given.
    BodyTooLong {
        /// Bytes announced.
        len: u32,
        /// Bytes allowed.
        max: usize,
    },
}

impl fmt::Display for DubboError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => write!(f, "not a Dubbo message: does not start with da bb"),
            Self::BodyTooLong { len, max } => {
                write!(f, "Dubbo body of {len} bytes is longer than the {max} allowed")
            }
        }
    }
}

impl std::error::Error for DubboError {}

/// Status of a response (`Response` in Apache Dubbo). If the called method itself fails, the status
/// is [`Status::Ok`] with an exception as the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// The body is the result.
    Ok = 20,
    /// The body could not be serialized.
    SerializationError = 25,
    /// The request was not sent in time.
    ClientTimeout = 30,
    /// The response did not come in time.
    ServerTimeout = 31,
    /// The connection broke before the response.
    ChannelInactive = 35,
    /// The request could not be read.
    BadRequest = 40,
    /// The response could not be read.
    BadResponse = 50,
    /// No such service.
    ServiceNotFound = 60,
    /// The service failed.
    ServiceError = 70,
    /// The server failed.
    ServerError = 80,
    /// The client failed.
    ClientError = 90,
    /// The server has no thread left for the request, or limits the rate.
    ServerThreadpoolExhausted = 100,
}

impl Status {
    /// The number in the head.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// Reads the head at the start of `bytes`; `None` if more bytes are needed.
///
/// # Errors
/// [`DubboError::Magic`] at the first byte that differs, so that a client that waits for an answer
/// to fewer than 16 bytes is refused at once. [`DubboError::BodyTooLong`] if the body has more than
/// `body_max` bytes. Dubbo's own bound is 8 MiB.
pub fn parse_head(bytes: &[u8], body_max: usize) -> Result<Option<Head>, DubboError> {
    if bytes.iter().zip(&MAGIC).any(|(byte, magic)| byte != magic) {
        return Err(DubboError::Magic);
    }
    let Some(head) = bytes.first_chunk::<HEAD_BYTES>() else { return Ok(None) };
    let [_, _, flags, status, rest @ ..] = *head;
    let [i0, i1, i2, i3, i4, i5, i6, i7, l0, l1, l2, l3] = rest;
    let len = u32::from_be_bytes([l0, l1, l2, l3]);
    let body_len = usize::try_from(len).unwrap_or(usize::MAX);
    if body_len > body_max {
        return Err(DubboError::BodyTooLong { len, max: body_max });
    }
    Ok(Some(Head {
        is_request: flags & REQUEST != 0,
        two_way: flags & TWO_WAY != 0,
        event: flags & EVENT != 0,
        serialization: flags & SERIALIZATION,
        status,
        id: u64::from_be_bytes([i0, i1, i2, i3, i4, i5, i6, i7]),
        body_len,
    }))
}

/// Writes another id into a head. Messages of several connections that share one need ids of
/// their own there.
pub fn set_id(head: &mut [u8; HEAD_BYTES], id: u64) {
    let [_, _, _, _, place @ .., _, _, _, _] = head;
    *place = id.to_be_bytes();
}

impl Head {
    /// Whether the message is a request that expects a response. No other message may be answered.
    pub fn wants_reply(&self) -> bool {
        self.is_request && self.two_way
    }

    /// Bytes of head and body.
    pub fn message_len(&self) -> usize {
        HEAD_BYTES.saturating_add(self.body_len)
    }

    /// Appends the head. Body lengths beyond 4 GiB cannot be written.
    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(self.is_request, REQUEST)
            | flag(self.two_way, TWO_WAY)
            | flag(self.event, EVENT)
            | self.serialization & SERIALIZATION;
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[flags, self.status]);
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&u32::try_from(self.body_len).unwrap_or(u32::MAX).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAX: usize = 8 << 20;

    const CALL: Head = Head {
        is_request: true,
        two_way: true,
        event: false,
        serialization: HESSIAN2,
        status: 0,
        id: 0xbb16_2bdf_46d4_d5ff,
        body_len: 155,
    };

    fn check(bytes: &[u8], expected: Result<Option<Head>, DubboError>) {
        assert_eq!(parse_head(bytes, MAX), expected, "{bytes:x?}");
    }

    /// A head as sent by a consumer of Dubbo 3.2.
    const BYTES: &[u8] = b"\xda\xbb\xc2\0\xbb\x16\x2b\xdf\x46\xd4\xd5\xff\0\0\0\x9b";

    #[test]
    fn heads() {
        check(BYTES, Ok(Some(CALL)));
        let response = [b"\xda\xbb\x02\x14".as_slice(), &BYTES[4..]].concat();
        let ok = Head { is_request: false, two_way: false, status: 20, ..CALL };
        check(&response, Ok(Some(ok)));
        let heartbeat = [b"\xda\xbb\xf7\0".as_slice(), &BYTES[4..]].concat();
        check(&heartbeat, Ok(Some(Head { event: true, serialization: FASTJSON2, ..CALL })));
    }

    #[test]
    fn what_is_refused() {
        for bytes in [b"G".as_slice(), b"\xbb", b"\xda\xda", b"PRI * HTTP/2.0\r\n\r\n", b"ls\r\n"] {
            check(bytes, Err(DubboError::Magic));
        }
        for (len, refused) in
            [(0, false), (MAX as u32, false), (MAX as u32 + 1, true), (1 << 31, true)]
        {
            let bytes = [&BYTES[..12], &len.to_be_bytes()].concat();
            let too_long =
                parse_head(&bytes, MAX) == Err(DubboError::BodyTooLong { len, max: MAX });
            assert_eq!(too_long, refused, "{len}");
        }
        let error =
            parse_head(&[&BYTES[..12], &[0xff; 4]].concat(), MAX).map_err(|e| e.to_string());
        let text = "Dubbo body of 4294967295 bytes is longer than the 8388608 allowed";
        assert_eq!(error, Err(text.to_owned()));
    }

    #[test]
    fn only_two_way_requests_are_answered() {
        assert!(CALL.wants_reply());
        assert!(!Head { two_way: false, ..CALL }.wants_reply());
        assert!(!Head { is_request: false, ..CALL }.wants_reply());
        assert_eq!(CALL.message_len(), 171);
    }

    proptest! {
        #[test]
        fn a_prefix_says_the_same_or_nothing(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..24),
            magic in any::<bool>(),
        ) {
            if magic {
                bytes.splice(0..bytes.len().min(2), MAGIC);
            }
            let whole = parse_head(&bytes, MAX);
            for end in 0..bytes.len() {
                let early = parse_head(&bytes[..end], MAX);
                prop_assert!(early == Ok(None) || early == whole, "{end}: {early:?}");
            }
        }

        #[test]
        fn what_was_parsed_prints_the_same(tail in any::<[u8; 14]>(), id in any::<u64>()) {
            let mut bytes: [u8; 16] = [&MAGIC[..], &tail].concat().try_into().expect("16 bytes");
            let head = parse_head(&bytes, usize::MAX).expect("magic").expect("whole");
            let mut out = Vec::new();
            head.write_to(&mut out);
            prop_assert_eq!(&out, &bytes);
            set_id(&mut bytes, id);
            let renamed = parse_head(&bytes, usize::MAX);
            prop_assert_eq!(renamed, Ok(Some(Head { id, ..head })));
        }
    }
}
