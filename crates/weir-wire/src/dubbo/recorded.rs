//! Messages that consumers and providers of Apache Dubbo 3.3.6 sent: `tests/dubbo`, recorded by
//! `cargo xtask dubbo --record`.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Call, FASTJSON2, HEAD_BYTES, HESSIAN2, Head, Status, is_readonly_event, parse_head};

/// Dubbo's own bound of a body.
const MAX: usize = 8 << 20;

const GREETER: &str = "weir.bench.dubbo.Greeter";

/// All messages by the names of their files, without `.hex`.
fn messages() -> BTreeMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/dubbo");
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path).expect("a file");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let digits = lines.collect::<String>().into_bytes();
        let pair = |pair: &[u8]| {
            u8::from_str_radix(std::str::from_utf8(pair).expect("text"), 16).expect("digits")
        };
        digits.chunks(2).map(pair).collect()
    };
    let paths =
        std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("it").path());
    let named = paths.filter(|path| path.extension().is_some_and(|ending| ending == "hex"));
    let name = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
    named.map(|path| (name(&path), read(&path))).collect()
}

/// Head and body of a message. Only the starts of those beyond 1024 bytes were kept.
#[track_caller]
fn split<'a>(name: &str, bytes: &'a [u8]) -> (Head, &'a [u8]) {
    let head = parse_head(bytes, MAX).expect("Dubbo").expect("a whole head");
    let kept = bytes.len() == head.message_len() || bytes.len() == 1024;
    assert!(kept && bytes.len() <= head.message_len(), "{name}: {head:?}");
    (head, &bytes[HEAD_BYTES..])
}

/// Takes a message out of `all`; the test checks that none is left unused at the end.
#[track_caller]
fn take(all: &mut BTreeMap<String, Vec<u8>>, name: &str) -> Vec<u8> {
    all.remove(name).unwrap_or_else(|| panic!("{name} is not recorded"))
}

/// `expected` is `group/version method`.
#[track_caller]
fn check_call(name: &str, serialization: u8, bytes: &[u8], expected: &str) -> Head {
    let (head, body) = split(name, bytes);
    assert!(head.is_request && !head.event, "{name}: {head:?}");
    assert_eq!(head.serialization, serialization, "{name}");
    let call = Call::peek(serialization, body).expect(name);
    let group = call.group.as_deref().unwrap_or("-");
    assert_eq!(call.service, GREETER, "{name}");
    assert_eq!(format!("{group}/{} {}", call.version, call.method), expected, "{name}");
    head
}

const CALLS: [(&str, &str, Status); 9] = [
    ("say", "-/0.0.0 say", Status::Ok),
    ("refuse", "-/0.0.0 refuse", Status::Ok),
    ("later", "-/0.0.0 later", Status::Ok),
    ("echo", "-/0.0.0 $echo", Status::Ok),
    ("blue", "blue/1.2.0 context", Status::Ok),
    ("generic", "blue/1.2.0 say", Status::Ok),
    ("generic-async", "-/0.0.0 say", Status::Ok),
    ("large", "-/0.0.0 say", Status::Ok),
    ("unknown", "red/0.0.0 say", Status::ServiceError),
];

#[test]
fn every_recorded_message_is_understood() {
    let mut all = messages();
    for (suffix, serialization) in [("hessian2", HESSIAN2), ("fastjson2", FASTJSON2)] {
        for (name, expected, status) in CALLS {
            let bytes = take(&mut all, &format!("{name}-{suffix}.request"));
            let request = check_call(name, serialization, &bytes, expected);
            assert!(request.wants_reply(), "{name}");
            let bytes = take(&mut all, &format!("{name}-{suffix}.response"));
            let (response, _) = split(name, &bytes);
            assert!(!response.is_request && !response.event, "{name}: {response:?}");
            assert_eq!((response.id, response.status), (request.id, status.code()), "{name}");
        }
        let note = take(&mut all, &format!("note-{suffix}.request"));
        let note = check_call("note", serialization, &note, "-/0.0.0 note");
        assert!(!note.wants_reply(), "{note:?}");
        let bytes = take(&mut all, &format!("exhausted-{suffix}.response"));
        let (exhausted, _) = split("exhausted", &bytes);
        assert_eq!(exhausted.status, Status::ServerThreadpoolExhausted.code());
        check_events(&mut all, suffix, serialization);
    }
    assert!(all.is_empty(), "not looked at: {:?}", all.keys());
}

fn check_events(all: &mut BTreeMap<String, Vec<u8>>, suffix: &str, serialization: u8) {
    let bytes = take(all, &format!("heartbeat-{suffix}.request"));
    let (heartbeat, body) = split("heartbeat", &bytes);
    assert!(heartbeat.event && heartbeat.wants_reply(), "{heartbeat:?}");
    assert_eq!(heartbeat.serialization, serialization);
    assert!(!is_readonly_event(body));
    // The generated reply is the same as a provider's.
    let mut reply = Vec::new();
    super::write_heartbeat_reply(&mut reply, &heartbeat);
    assert_eq!(reply, take(all, &format!("heartbeat-{suffix}.response")));

    let bytes = take(all, &format!("readonly-{suffix}.request"));
    let (readonly, body) = split("readonly", &bytes);
    assert!(readonly.event && readonly.is_request && !readonly.two_way, "{readonly:?}");
    assert!(is_readonly_event(body), "{body:x?}");
}

/// A provider that prefers fastjson2 reports failures, and that it stops, in that: whatever the
/// requests on the connection were in.
#[test]
fn a_provider_may_answer_in_another_serialization_than_it_was_asked_in() {
    let all = messages();
    for name in ["unknown-hessian2.response", "readonly-hessian2.request"] {
        let (head, _) = split(name, &all[name]);
        assert_eq!(head.serialization, FASTJSON2, "{name}");
    }
}

/// The start of a large message is enough to read its target, but not the group.
#[test]
fn a_call_is_known_before_its_body_has_come() {
    let all = messages();
    for (name, bytes) in all.iter().filter(|(name, _)| name.ends_with(".request")) {
        let (head, body) = split(name, bytes);
        let Some(whole) = Call::peek(head.serialization, body) else { continue };
        for end in 0..body.len() {
            if let Some(early) = Call::peek(head.serialization, &body[..end]) {
                assert_eq!(
                    (early.service, early.method),
                    (whole.service.clone(), whole.method.clone())
                );
            }
        }
    }
}
