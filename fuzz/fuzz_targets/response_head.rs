//! A response head: a prefix says the same as the whole or that it is partial; what was accepted is
//! accepted again, with the same body, after it was written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_wire::http1::{BodyKind, HeadLimits, Parsed, parse_response};
use weir_wire::{ResponseHead, Version};

fuzz_target!(|input: &[u8]| {
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
});
