//! Properties that hold for any bytes and any split of them.

use std::fmt::Write;

use proptest::prelude::*;

use crate::http1::{HeadLimits, Parsed, parse_request, parse_response};
use crate::message::{RequestHead, ResponseHead};

fn field() -> impl Strategy<Value = (String, String)> {
    ("[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}", "([!-~\u{e9}]([!-~ \t]{0,12}[!-~])?)?")
        .prop_map(|(name, value)| (format!("X-{name}"), value))
}

/// A valid request as text.
fn valid_request() -> impl Strategy<Value = String> {
    let target = "/([a-z.;/]|%[0-9a-fA-F]{2}){0,20}(\\?[a-z=&?]{0,12})?";
    let fields = proptest::collection::vec(field(), 0..12);
    let framing = prop_oneof![
        Just(""),
        Just("Content-Length: 12\r\n"),
        Just("Transfer-Encoding: chunked\r\n"),
        Just("Connection: x, close\r\n"),
    ];
    ("[A-Z]{1,10}!?", target, fields, framing).prop_map(|(method, target, fields, framing)| {
        let mut text = format!("{method}! {target} HTTP/1.1\r\nHost: a.example:80\r\n{framing}");
        for (name, value) in fields {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
        text + "\r\n"
    })
}

proptest! {
    #[test]
    fn what_was_parsed_prints_the_same(text in valid_request()) {
        let mut head = RequestHead::default();
        let parsed = parse_request(text.as_bytes(), &mut head, &HeadLimits::default());
        prop_assert!(
            matches!(parsed, Ok(Parsed::Complete { consumed, .. }) if consumed == text.len()),
            "{parsed:?}"
        );
        let mut out = Vec::new();
        head.write_to(&mut out);
        prop_assert_eq!(String::from_utf8_lossy(&out), text);
    }

    #[test]
    fn a_prefix_says_the_same_or_nothing(
        text in valid_request(),
        noise in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        method in prop_oneof![Just("GET"), Just("HEAD")],
        target_bytes_max in 8usize..40,
        head_bytes_max in 40usize..300,
    ) {
        let mut bytes = text.clone().into_bytes();
        for (at, byte) in &noise {
            *at.get_mut(&mut bytes) = *byte;
        }
        let limits = HeadLimits { target_bytes_max, fields_max: 8, head_bytes_max };
        let mut head = RequestHead::default();
        let whole = parse_request(&bytes, &mut head, &limits);
        for end in 0..bytes.len() {
            let early = parse_request(&bytes[..end], &mut head, &limits);
            prop_assert!(early == Ok(Parsed::Partial) || early == whole, "{end}: {early:?}");
        }
        let text = text.split_once("\r\n").map_or("", |(_, fields)| fields);
        let mut bytes = format!("HTTP/1.1 200 OK\r\n{text}").into_bytes();
        for (at, byte) in &noise {
            *at.get_mut(&mut bytes) = *byte;
        }
        let mut head = ResponseHead::default();
        let whole = parse_response(&bytes, method.as_bytes(), &mut head, &limits);
        for end in 0..bytes.len() {
            let early = parse_response(&bytes[..end], method.as_bytes(), &mut head, &limits);
            prop_assert!(early == Ok(Parsed::Partial) || early == whole, "{end}: {early:?}");
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let limits = HeadLimits::default();
        let _ = parse_request(&bytes, &mut RequestHead::default(), &limits);
        let _ = parse_response(&bytes, b"GET", &mut ResponseHead::default(), &limits);
    }
}
