//! Codecs of pipelines: messages at the start of a stream that goes on.

use std::fmt::Debug;

use weir_wire::dubbo::{
    Call, DubboError, HEAD_BYTES, Status, parse_head, set_id, write_error, write_heartbeat_reply,
};
use weir_wire::frame::{FrameKind, FrameRules, LenType};
use weir_wire::socks::{auth, greeting, parse_datagram, request, write_datagram_head};
use weir_wire::zookeeper::{self, Message};
use weir_wire::{client_hello as read_hello, proxy_header, srv_answer, write_v1, write_v2};

/// The result for the whole input is the same for every prefix that contains the message, and no
/// shorter prefix gives it; an input that is refused at some length is refused at every greater
/// one.
///
/// # Panics
/// If it does not hold.
fn holds_for_starts<T: PartialEq + Debug, E: PartialEq + Debug>(
    input: &[u8],
    read: impl Fn(&[u8]) -> Result<Option<(T, usize)>, E>,
) {
    let mut decided = None;
    for end in 0..=input.len().min(600) {
        let found = read(&input[..end]);
        match (&decided, &found) {
            (None, Ok(None)) => {}
            (None, Ok(Some((_, len)))) => {
                assert!(*len <= end, "{len} bytes of {end}");
                decided = Some(found);
            }
            (None, Err(_)) => decided = Some(found),
            // More bytes after a message change nothing, and none repair an invalid one.
            (Some(Ok(_)), _) => assert_eq!(decided.as_ref(), Some(&found), "at {end}"),
            (Some(Err(_)), found) => assert!(found.is_err(), "mended at {end}"),
        }
    }
}

/// SOCKS: greetings, credentials and requests arrive in any portions; datagrams and written
/// messages are read again.
///
/// # Panics
/// If it does not hold.
pub fn socks(input: &[u8]) {
    holds_for_starts(input, greeting);
    holds_for_starts(input, request);
    holds_for_starts(input, |bytes| {
        let read = auth(bytes)?;
        let owned = |(got, len): (weir_wire::socks::Credentials<'_>, usize)| {
            ((got.user.to_vec(), got.password.to_vec()), len)
        };
        Ok::<_, weir_wire::socks::SocksError>(read.map(owned))
    });
    let Ok(datagram) = parse_datagram(input) else { return };
    assert!(input.ends_with(datagram.data));
    if let weir_wire::socks::Address::Ip(address) = &datagram.address {
        let mut written = Vec::new();
        write_datagram_head(&mut written, *address);
        written.extend_from_slice(datagram.data);
        assert_eq!(parse_datagram(&written).expect("what was written"), datagram);
    }
}

/// Dubbo2: heads arrive in any portions, replacing the id changes nothing else, the called method
/// is found, and written answers are read again.
///
/// # Panics
/// If it does not hold.
pub fn dubbo(input: &[u8]) {
    const BODY_MAX: usize = 1 << 20;
    let head =
        |bytes: &[u8]| Ok::<_, DubboError>(parse_head(bytes, BODY_MAX)?.map(|h| (h, HEAD_BYTES)));
    holds_for_starts(input, head);
    let Ok(Some(head)) = parse_head(input, BODY_MAX) else { return };
    let mut renumbered = *input.first_chunk::<HEAD_BYTES>().expect("a head");
    set_id(&mut renumbered, !head.id);
    let again = parse_head(&renumbered, BODY_MAX).expect("a head").expect("whole");
    assert_eq!(again.id, !head.id);
    assert_eq!(weir_wire::dubbo::Head { id: head.id, ..again }, head);
    let body = &input[HEAD_BYTES..];
    if let Some(call) = Call::peek(head.serialization, body) {
        assert!(!call.service.is_empty());
    }
    let mut out = Vec::new();
    write_error(&mut out, &head, Status::ServerError, &String::from_utf8_lossy(body));
    write_heartbeat_reply(&mut out, &head);
    let mut rest = out.as_slice();
    let mut count = 0;
    while let Some(answer) = parse_head(rest, BODY_MAX).expect("a head of ours") {
        assert_eq!((answer.id, answer.is_request), (head.id, false));
        rest = &rest[answer.message_len()..];
        count += 1;
    }
    assert!(rest.is_empty());
    assert_eq!(count, if head.wants_reply() { 2 } else { 0 });
}

/// Messages with a length: the rules come from the first bytes, the rest arrives in any portions.
/// No frame is longer than allowed, and each is cut in the same way alone as among others.
///
/// # Panics
/// If it does not hold.
pub fn frame(input: &[u8]) {
    let Some(([kind, offset, size, adjust, len_type, flags], input)) = input.split_first_chunk()
    else {
        return;
    };
    let kind = match kind % 2 {
        0 => FrameKind::Fixed { size: usize::from(*size) },
        _ => FrameKind::Length {
            offset: usize::from(offset % 8),
            size: usize::from(size % 22),
            len_type: [LenType::Be, LenType::Le, LenType::Ascii, LenType::Hex, LenType::Bcd]
                [usize::from(len_type % 5)],
            adjust: i64::from(*adjust as i8),
            trailer: if flags & 1 == 1 { b"\x03".to_vec() } else { Vec::new() },
        },
    };
    let correlation = (flags & 2 == 2).then_some((usize::from(flags >> 4), 4));
    let rules = FrameRules { kind, max: 512, correlation, poll: flags & 4 == 4 };
    if rules.fault().is_some() {
        return;
    }
    holds_for_starts(input, |bytes| {
        Ok::<_, weir_wire::frame::FrameError>(rules.next(bytes)?.map(|frame| (frame, frame.len)))
    });
    let mut rest = input;
    while let Ok(Some(frame)) = rules.next(rest) {
        assert!((1..=rules.max).contains(&frame.len));
        let (alone, behind) = rest.split_at(frame.len);
        assert_eq!(rules.next(alone), Ok(Some(frame)));
        if let Some(key) = rules.key(alone) {
            assert_eq!(key.len(), 4);
        }
        rest = behind;
    }
}

/// PROXY headers arrive in any portions; a header that was read and written is read again.
///
/// # Panics
/// If it does not hold.
pub fn proxy_protocol(input: &[u8]) {
    holds_for_starts(input, proxy_header);
    let Ok(Some((header, _))) = proxy_header(input) else { return };
    let mut line = Vec::new();
    write_v1(&mut line, header.addresses);
    let (again, len) = proxy_header(&line).expect("a line of ours").expect("whole");
    assert_eq!(len, line.len());
    let mut bytes = Vec::new();
    write_v2(&mut bytes, header.addresses, &header.tlvs);
    let (binary, len) = proxy_header(&bytes).expect("a header of ours").expect("whole");
    assert_eq!((binary.addresses, len), (again.addresses, bytes.len()));
}

/// Names that a DNS server sends are names, and what follows an answer does not change it.
pub fn dns_answer(input: &[u8]) {
    const NAME: &str = "_http._tcp.a";
    let id = input.first_chunk().map_or(0, |id| u16::from_be_bytes(*id));
    let Ok(answer) = srv_answer(id, NAME, input) else { return };
    for record in &answer.records {
        assert!(record.target.len() <= 253, "{record:?}");
        assert!(record.target.bytes().all(|byte| byte.is_ascii_graphic()), "{record:?}");
    }
    let longer = [input, &[0xff, 0]].concat();
    assert_eq!(srv_answer(id, NAME, &longer), Ok(answer));
}

/// Messages of Zookeeper in any portions; what they hold is not more than they are long.
///
/// # Panics
/// If it does not hold.
pub fn zookeeper(input: &[u8]) {
    holds_for_starts(input, |bytes| {
        let found = zookeeper::frame(bytes, 1 << 20)?;
        Ok::<_, zookeeper::ZookeeperError>(found.map(|(message, len)| (message.to_vec(), len)))
    });
    let _ = zookeeper::granted(input);
    if let Ok(Message::Answer { body, .. }) = zookeeper::message(input) {
        let names = zookeeper::children(body).unwrap_or_default();
        assert!(names.iter().map(|name| name.len() + 4).sum::<usize>() <= body.len());
        assert!(zookeeper::data(body).unwrap_or_default().len() <= body.len());
    }
}

/// Hellos of TLS in any portions.
///
/// # Panics
/// If it does not hold.
pub fn client_hello(input: &[u8]) {
    holds_for_starts(input, |bytes| {
        Ok::<_, weir_wire::HelloError>(read_hello(bytes)?.map(|h| (h, 0)))
    });
    let Ok(Some(hello)) = read_hello(input) else { return };
    if let Some(name) = hello.server_name {
        assert!(!name.is_empty() && name.len() <= 253);
        assert_eq!(name, name.to_ascii_lowercase());
    }
    assert!(hello.protocols.iter().all(|protocol| !protocol.is_empty()));
}
