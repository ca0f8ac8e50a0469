//! Request and response heads.

use weir_testkit::judge::{Delimiter, read_requests};
use weir_wire::http1::{
    BodyKind, HeadError, HeadLimits, Parsed, RequestFraming, canonical_path, parse_request,
    parse_response,
};
use weir_wire::{RequestHead, ResponseHead, Version, is_plain_path};

/// A request head: a prefix gives the same result as the whole or "partial", also after an empty
/// line. A head that was accepted is accepted again after it was written, with the same framing;
/// and the judge accepts it with that framing too.
///
/// # Panics
/// If it does not hold.
pub fn request_head(input: &[u8]) {
    let limits = HeadLimits { target_bytes_max: 64, fields_max: 16, head_bytes_max: 512 };
    let mut head = RequestHead::default();
    let whole = parse_request(input, &mut head, &limits);
    let mut early = RequestHead::default();
    for end in 0..input.len().min(600) {
        let prefix = parse_request(&input[..end], &mut early, &limits);
        assert!(prefix == Ok(Parsed::Partial) || prefix == whole, "{end}: {prefix:?} {whole:?}");
    }
    behind_an_empty_line(input, &head, whole, &limits);
    let Ok(Parsed::Complete { consumed, framing }) = whole else { return };
    assert!(consumed <= input.len() && head.fields.is_sound());
    assert!(!head.method().is_empty());
    judged(input, &head, framing.body);
    assert!(!head.path_is_plain() || is_plain_path(head.path()));
    if let Ok(Some(path)) = canonical_path(head.path()) {
        head.set_path(&path);
    }
    let mut written = Vec::new();
    head.write_to(&mut written);
    assert!(!written.contains(&0));
    let mut again = RequestHead::default();
    let wide = HeadLimits { head_bytes_max: 4096, fields_max: 17, ..limits };
    // Written as 1.1, a head that was 1.0 may lack Host.
    if head.fields.contains(b"host") {
        let parsed = parse_request(&written, &mut again, &wide);
        let Ok(Parsed::Complete { consumed, framing: second }) = parsed else {
            panic!("refused its own head: {parsed:?}");
        };
        assert_eq!((consumed, second.body), (written.len(), framing.body));
        assert_eq!(again.method(), head.method());
        assert_eq!(again.path(), if head.path().is_empty() { again.path() } else { head.path() });
        assert_eq!(again.query(), head.query());
        assert!(again.fields.iter().eq(head.fields.iter()));
    }
}

/// A head after an empty line gives the same result.
fn behind_an_empty_line(
    input: &[u8],
    head: &RequestHead,
    whole: Result<Parsed<RequestFraming>, HeadError>,
    limits: &HeadLimits,
) {
    if matches!(input, [b'\r' | b'\n', ..]) {
        return;
    }
    let limits = HeadLimits { head_bytes_max: limits.head_bytes_max + 2, ..*limits };
    let mut other = RequestHead::default();
    let parsed = parse_request(&[b"\r\n", input].concat(), &mut other, &limits);
    let Ok(Parsed::Complete { consumed, framing }) = whole else {
        assert_eq!(parsed, whole);
        return;
    };
    assert_eq!(parsed, Ok(Parsed::Complete { consumed: consumed + 2, framing }));
    assert_eq!((head.version, head.path_is_plain()), (other.version, other.path_is_plain()));
    assert!(head.fields.iter().eq(other.fields.iter()));
    let parts = |head: &RequestHead| {
        let parts = [Some(head.method()), Some(head.path()), head.query(), head.authority()];
        parts.map(|part| part.map(<[u8]>::to_vec))
    };
    assert_eq!(parts(head), parts(&other));
}

/// A response head: a prefix gives the same result as the whole or "partial". A head that was
/// accepted is accepted with another blank before its first value, and again after it was written,
/// with the same body.
///
/// # Panics
/// If it does not hold.
pub fn response_head(input: &[u8]) {
    let limits = HeadLimits { target_bytes_max: 64, fields_max: 16, head_bytes_max: 512 };
    for method in [&b"GET"[..], b"HEAD", b"CONNECT"] {
        let mut head = ResponseHead::default();
        let whole = parse_response(input, method, &mut head, &limits);
        let mut early = ResponseHead::default();
        for end in 0..input.len().min(600) {
            let prefix = parse_response(&input[..end], method, &mut early, &limits);
            assert!(prefix == Ok(Parsed::Partial) || prefix == whole, "{end}: {prefix:?}");
        }
        let Ok(Parsed::Complete { consumed, framing }) = whole else { return };
        assert!(consumed <= input.len() && (100..1000).contains(&head.status));
        if let Some(line) = input.windows(2).position(|pair| pair == b"\r\n")
            && let Some(len) = input[line..consumed].iter().position(|byte| *byte == b':')
        {
            let (before, behind) = input.split_at(line + len + 1);
            let limits = HeadLimits { head_bytes_max: limits.head_bytes_max + 1, ..limits };
            let mut other = ResponseHead::default();
            let text = [before, b" ", behind].concat();
            let parsed = parse_response(&text, method, &mut other, &limits);
            assert_eq!(parsed, Ok(Parsed::Complete { consumed: consumed + 1, framing }));
            assert_eq!((head.status, head.version), (other.status, other.version));
            assert_eq!(head.reason(), other.reason());
            assert!(head.fields.iter().eq(other.fields.iter()));
        }
        if method != b"GET" && framing.tunnel {
            assert_eq!(framing.body, BodyKind::None);
        }
        let mut written = Vec::new();
        head.write_to(&mut written);
        let wide = HeadLimits { head_bytes_max: 4096, ..limits };
        let mut again = ResponseHead::default();
        let parsed = parse_response(&written, method, &mut again, &wide);
        let Ok(Parsed::Complete { consumed, framing: second }) = parsed else {
            panic!("refused its own head: {parsed:?}");
        };
        assert_eq!((consumed, second.body), (written.len(), framing.body));
        assert_eq!((again.status, again.reason()), (head.status, head.reason()));
        assert_eq!(again.version, Version::Http11);
        assert!(again.fields.iter().eq(head.fields.iter()));
    }
}

/// A strict reader sees the same head, and as much body behind it.
fn judged(input: &[u8], head: &RequestHead, body: BodyKind) {
    let reading = read_requests(input);
    let message = reading.messages.first().or(reading.open.as_ref());
    let Some(message) = message else { panic!("the judge says {:?}", reading.end) };
    let delimiter = match body {
        BodyKind::Length(length) => Delimiter::Length(length),
        BodyKind::Chunked => Delimiter::Chunked,
        BodyKind::None | BodyKind::UntilClose => Delimiter::Nothing,
    };
    assert_eq!((message.delimiter, message.method.as_slice()), (delimiter, head.method()));
}
