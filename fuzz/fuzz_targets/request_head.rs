//! A request head: a prefix says the same as the whole or that it is partial; what was accepted is
//! accepted again, with the same framing, after it was written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_wire::RequestHead;
use weir_wire::http1::{HeadLimits, Parsed, canonical_path, parse_request};

fuzz_target!(|input: &[u8]| {
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
});
