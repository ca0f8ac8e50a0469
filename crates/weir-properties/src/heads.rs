//! Request and response heads.

use weir_testkit::judge::{Delimiter, read_requests};
use weir_wire::http1::{
    BodyKind, HeadLimits, Parsed, canonical_path, parse_request, parse_response,
};
use weir_wire::{RequestHead, ResponseHead, Version, is_plain_path};

/// A request head: a prefix says the same as the whole or that it is partial; what was accepted is
/// accepted again, with the same framing, after it was written; and the judge accepts it with that
/// framing too.
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

/// A response head: a prefix says the same as the whole or that it is partial; what was accepted is
/// accepted again, with the same body, after it was written.
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
