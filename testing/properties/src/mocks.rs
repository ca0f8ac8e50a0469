//! API definitions of every kind, and their answers.

use std::sync::Arc;

use weir_mock::{Api, Call, Mocks, Options, ReadErrors};
use weir_wire::Fields;

/// The maximum number of operations of one definition that receive a request.
const ASKED_MAX: usize = 8;

/// A definition of any kind is read, or refused with the places of its errors. A definition that is
/// read answers each operation with a head that can be sent, and gives the same answers after it is
/// read again.
///
/// # Panics
/// If it does not hold.
pub fn mock_definition(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let alone = |_: &str| Err("it is alone".to_owned());
    let read = || Api::read("api", "file", text, &alone);
    let (one, other) = match (read(), read()) {
        (Ok(one), Ok(other)) => (one, other),
        (one, other) => {
            let (one, other) = (one.map(drop), other.map(drop));
            assert_eq!(one, other, "read twice, it is not the same");
            return one.map_or_else(|errors| refused(&errors, text), drop);
        }
    };
    let (Some(one), Some(other)) = (served(one), served(other)) else { return };
    let asked: Vec<(String, String)> = one
        .operations()
        .take(ASKED_MAX)
        .map(|one| (one.operation.method.clone(), filled(&one.operation.path)))
        .collect();
    for (method, path) in asked {
        let (path, query) = path.split_once('?').map_or((&*path, None), |(p, q)| (p, Some(q)));
        let call = Call {
            method: method.as_bytes(),
            path: path.as_bytes(),
            query: query.map(str::as_bytes),
            fields: &Fields::default(),
            body: b"",
        };
        let reply = one.answer(&call, 7, 1_700_000_000_000);
        assert!((100..=999).contains(&reply.status), "{}", reply.status);
        for (name, value) in &reply.fields {
            assert!(weir_wire::is_token(name.as_bytes()), "{name}");
            assert!(weir_wire::is_field_value(value), "{}", value.escape_ascii());
        }
        assert_eq!(other.answer(&call, 7, 1_700_000_000_000), reply, "{method} {path}");
    }
}

fn refused(errors: &ReadErrors, text: &str) {
    assert!((1..=ReadErrors::MAX).contains(&errors.0.len()));
    for error in &errors.0 {
        let is_pointer = error.pointer.is_empty() || error.pointer.starts_with('/');
        assert!(is_pointer && !error.message.is_empty(), "{error}");
    }
    let lines = u64::try_from(text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).count());
    for (place, _) in errors.located("file", text) {
        let line =
            place.strip_prefix("file:").and_then(|rest| rest.split('#').next()?.parse().ok());
        assert!(
            line.is_none_or(|line: u64| (1..=lines.unwrap_or(0) + 1).contains(&line)),
            "{place}"
        );
    }
}

/// `None` if a path or an override is refused, which comes with an error.
fn served(api: Api) -> Option<Mocks> {
    let options = Options { seed: Some(7), stateful: true, ..Options::default() };
    Mocks::new(vec![Arc::new(api)], options).map_err(|why| assert!(!why.is_empty())).ok()
}

/// A path with something for each variable.
fn filled(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        out.push('1');
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    out + rest
}
