//! API definitions of every kind, and their answers.

use std::sync::Arc;

use weir_mock::{Api, Call, CallbackTargets, Firing, Mocks, NotFired, Options, ReadErrors};
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
            prefix: b"",
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
        for request in reply.callbacks.iter().filter_map(|one| one.request.as_ref().ok()) {
            assert!(request.url.starts_with("http://127.0.0.1:1/"), "{}", request.url);
            for (name, value) in &request.fields {
                assert!(weir_wire::is_token(name.as_bytes()), "{name}");
                assert!(weir_wire::is_field_value(value), "{}", value.escape_ascii());
            }
        }
        assert_eq!(other.answer(&call, 7, 1_700_000_000_000), reply, "{method} {path}");
    }
}

/// A URL that a client names for a callback: it is refused with a reason, or leads to a server of
/// the list however it is read, and reading it again changes nothing.
///
/// # Panics
/// If it does not hold.
pub fn callback_url(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let list = ["http://127.0.0.1:9000", "https://*.example.org", "http://[::1]:*"];
    let (callbacks, wrong) = CallbackTargets::read(list.into_iter());
    assert!(wrong.is_empty());
    let definition = r#"{ "openapi": "3.1.0", "webhooks": { "w": { "post": {} } } }"#;
    let alone = |_: &str| Err("it is alone".to_owned());
    let api = Api::read("api", "file", definition, &alone).map_err(|error| error.to_string());
    let options = Options { callbacks, ..Options::default() };
    let mocks = api.and_then(|api| Mocks::new(vec![Arc::new(api)], options));
    let mocks = mocks.unwrap_or_else(|error| panic!("{error}"));
    let fire = |to: &str| {
        let firing = Firing { to: to.to_owned(), ..Firing::default() };
        mocks.webhook(("api", "w"), &firing, 7, 0).map(|request| request.url)
    };
    let url = match fire(text) {
        Ok(url) => url,
        Err(NotFired::Refused(why)) => return assert!(!why.is_empty()),
        Err(other) => panic!("{other:?}"),
    };
    assert!(url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'), "{url}");
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    // Whichever of these ends the host for a reader, it is the same one.
    let authority = rest.split(['/', '\\', '?', '@']).next().unwrap_or_default();
    let is_listed = match scheme {
        "http" => authority == "127.0.0.1:9000" || authority.starts_with("[::1]:"),
        _ => scheme == "https" && authority.ends_with(".example.org:443"),
    };
    assert!(is_listed && rest.strip_prefix(authority).is_some_and(|rest| rest.starts_with('/')));
    assert_eq!(fire(&url).as_ref(), Ok(&url));
}

fn refused(errors: &ReadErrors, text: &str) {
    assert!((1..=ReadErrors::MAX).contains(&errors.0.len()));
    for error in &errors.0 {
        let is_pointer = error.pointer.is_empty() || error.pointer.starts_with('/');
        assert!(is_pointer && !error.message.is_empty(), "{error}");
    }
    let lines = u64::try_from(text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).count());
    for error in errors.located(&|_| Some(text.to_owned())) {
        let line = error.line.unwrap_or(1);
        assert!((1..=lines.unwrap_or(0) + 1).contains(&line), "{}", error.place());
    }
}

/// `None` if a path or an override is refused, which comes with an error.
fn served(api: Api) -> Option<Mocks> {
    let (callbacks, _) = CallbackTargets::read(["http://127.0.0.1:1"].into_iter());
    let options = Options { seed: Some(7), stateful: true, callbacks, ..Options::default() };
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
