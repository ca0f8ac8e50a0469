//! Answers that a proxy makes itself: to heartbeats, and to calls that it does not forward.

use super::head::{FASTJSON2, HESSIAN2, Head, Status};
use super::{hessian, jsonb};

/// Appends the answer to a heartbeat: a null in its serialization. Writes nothing if `head` is not
/// a request that waits for an answer. Heartbeats are answered on each connection by itself.
pub fn write_heartbeat_reply(out: &mut Vec<u8>, head: &Head) {
    let body: &[u8] = match head.serialization {
        FASTJSON2 => &[0, 0, 0, 1, jsonb::NULL],
        _ => &[hessian::NULL],
    };
    write_reply(out, head, Status::Ok, body);
}

/// Appends a heartbeat that waits for an answer.
pub fn write_heartbeat(out: &mut Vec<u8>, id: u64) {
    let body = [hessian::NULL];
    let head = Head {
        is_request: true,
        two_way: true,
        event: true,
        serialization: HESSIAN2,
        status: 0,
        id,
        body_len: body.len(),
    };
    head.write_to(out);
    out.extend_from_slice(&body);
}

/// Appends an error response with a text for the caller. A text beyond 1023 UTF-16 units (Hessian
/// 2) or 2047 bytes (fastjson2) is cut. Writes nothing if `head` is not a request that expects a
/// response.
pub fn write_error(out: &mut Vec<u8>, head: &Head, status: Status, text: &str) {
    let mut body = Vec::new();
    match head.serialization {
        FASTJSON2 => jsonb::write_framed_text(&mut body, text),
        _ => hessian::write_text(&mut body, text),
    }
    write_reply(out, head, status, &body);
}

/// Whether this body of an event announces that the sender takes no more calls ("R"), as a provider
/// does at shutdown. Calls in progress still get their response.
pub fn is_readonly_event(body: &[u8]) -> bool {
    matches!(body, b"\x01R" | b"\0\0\0\x02\x4aR")
}

/// Callers read any serialization they know, whatever their request used: all of them know Hessian
/// 2.
fn write_reply(out: &mut Vec<u8>, request: &Head, status: Status, body: &[u8]) {
    if !request.wants_reply() {
        return;
    }
    let serialization = match request.serialization {
        FASTJSON2 => FASTJSON2,
        _ => HESSIAN2,
    };
    let reply = Head {
        is_request: false,
        two_way: false,
        event: request.event,
        serialization,
        status: status.code(),
        id: request.id,
        body_len: body.len(),
    };
    reply.write_to(out);
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::head::{HEAD_BYTES, parse_head};
    use super::*;

    fn request(serialization: u8, event: bool) -> Head {
        let (is_request, two_way, status, id, body_len) = (true, true, 0, 258, 1);
        Head { is_request, two_way, event, serialization, status, id, body_len }
    }

    fn check(expected: &[u8], write: impl Fn(&mut Vec<u8>)) {
        let mut out = b"before".to_vec();
        write(&mut out);
        assert_eq!(out, [b"before", expected].concat());
    }

    #[test]
    fn heartbeats() {
        let hessian = b"\xda\xbb\x22\x14\0\0\0\0\0\0\x01\x02\0\0\0\x01N";
        check(hessian, |out| write_heartbeat_reply(out, &request(HESSIAN2, true)));
        check(hessian, |out| write_heartbeat_reply(out, &request(8, true)));
        let jsonb = b"\xda\xbb\x37\x14\0\0\0\0\0\0\x01\x02\0\0\0\x05\0\0\0\x01\xaf";
        check(jsonb, |out| write_heartbeat_reply(out, &request(FASTJSON2, true)));
    }

    #[test]
    fn errors() {
        let not_found = |serialization| {
            move |out: &mut Vec<u8>| {
                write_error(out, &request(serialization, false), Status::ServiceNotFound, "no wäy");
            }
        };
        let hessian = b"\xda\xbb\x02\x3c\0\0\0\0\0\0\x01\x02\0\0\0\x08\x06no w\xc3\xa4y";
        check(hessian, not_found(HESSIAN2));
        check(hessian, not_found(3));
        let jsonb =
            b"\xda\xbb\x17\x3c\0\0\0\0\0\0\x01\x02\0\0\0\x0d\0\0\0\x09\x7a\x07no w\xc3\xa4y";
        check(jsonb, not_found(FASTJSON2));
    }

    #[test]
    fn what_wants_no_answer_gets_none() {
        let one_way = Head { two_way: false, ..request(HESSIAN2, true) };
        let response = Head { is_request: false, ..request(HESSIAN2, true) };
        for head in [one_way, response] {
            check(b"", |out| write_heartbeat_reply(out, &head));
            check(b"", |out| write_error(out, &head, Status::ServerError, "text"));
        }
    }

    #[test]
    fn readonly_events() {
        assert!(is_readonly_event(b"\x01R"));
        assert!(is_readonly_event(b"\0\0\0\x02\x4aR"));
        for other in [b"N".as_slice(), b"", b"\0\0\0\x01\xaf", b"\x01W", b"R", b"\x01RR"] {
            assert!(!is_readonly_event(other), "{other:x?}");
        }
    }

    proptest! {
        #[test]
        fn errors_are_read_back(
            text in "\\PC{0,400}", serialization in 0..32u8, id in any::<u64>(),
        ) {
            let mut out = Vec::new();
            let head = Head { id, ..request(serialization, false) };
            write_error(&mut out, &head, Status::ServerTimeout, &text);
            let reply = parse_head(&out, out.len()).expect("magic").expect("whole");
            prop_assert_eq!(reply.message_len(), out.len());
            prop_assert_eq!((reply.id, reply.status), (id, 31));
            let mut body = &out[HEAD_BYTES..];
            let read = match reply.serialization {
                FASTJSON2 => jsonb::framed_text(&mut body),
                _ => hessian::text(&mut body),
            };
            prop_assert_eq!(read.as_deref(), Some(text.as_str()));
            prop_assert_eq!(body, b"");
        }
    }
}
