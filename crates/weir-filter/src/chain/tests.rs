//! Order, sharing and size of chains; and invariants of heads after any chain.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use proptest::prelude::*;
use serde_json::Value;
use weir_route::{Arguments, Vars, parse_shortcut};
use weir_wire::Fields;
use weir_wire::http1::canonical_path;

use super::{Chain, ChainEntry};
use crate::context::{RequestContext, ResponseContext, Verdict};
use crate::filter::{Filter, FilterOptions, find};
use crate::test_exchange::{TestExchange, request_head, response_head};

fn filters(texts: &[&str]) -> Vec<Filter> {
    let build = |text: &&str| {
        let named = parse_shortcut(text, true).expect("a shortcut");
        let spec = find(&named.name).expect("a filter");
        let args = spec.bind(&named.args).expect("arguments");
        (spec.build)(&args, &FilterOptions::default()).expect("a filter")
    };
    texts.iter().map(build).collect()
}

fn check(defaults: &[&str], own: &[&str], expected: &[&str]) {
    let chain = Chain::merge(filters(defaults), filters(own));
    let shown: Vec<_> = chain.entries().iter().map(ChainEntry::to_string).collect();
    assert_eq!(shown, expected);
}

#[test]
fn default_filters_interleave_with_own_ones() {
    check(
        &["PrefixPath=/d1", "SetRequestUri=http://d2", "StripPrefix=3"],
        &["PrefixPath=/r1", "StripPrefix=2"],
        &[
            "[[PrefixPath prefix = '/d1'], order = 1]",
            "[[PrefixPath prefix = '/r1'], order = 1]",
            "[[StripPrefix parts = 2], order = 2]",
            "[[StripPrefix parts = 3], order = 3]",
            "[[SetRequestUri template = 'http://d2'], order = 10001]",
        ],
    );
    check(&[], &[], &[]);
}

#[test]
fn texts_are_those_of_scg() {
    let texts = [
        ("AddRequestHeader=X, Bar", "AddRequestHeader X = 'Bar'"),
        ("AddRequestHeadersIfNotPresent=A:1,B:2", "AddRequestHeadersIfNotPresent A = '1', B = '2'"),
        ("AddRequestParameter=a, b", "AddRequestParameter a = 'b'"),
        ("AddResponseHeader=A, 1", "AddResponseHeader name = 'A', value = '1', override = true"),
        ("MapRequestHeader=A, B", "MapRequestHeader fromHeader = 'A', toHeader = 'B'"),
        ("PreserveHostHeader", "PreserveHostHeader"),
        ("RemoveRequestHeader=A", "RemoveRequestHeader name = 'A'"),
        ("RemoveRequestParameter=a", "RemoveRequestParameter name = 'a'"),
        ("RequestHeaderSize=1KB", "RequestHeaderSize maxSize = 1024B"),
        ("RequestSize", "RequestSize max = 5000000B"),
        ("RewriteRequestParameter=a, b", "RewriteRequestParameter a = 'b'"),
        (
            "RewriteResponseHeader=A, b, c",
            "RewriteResponseHeader name = 'A', regexp = 'b', replacement = 'c'",
        ),
        ("SetRequestHostHeader=a.b", "SetRequestHostHeader 'a.b'"),
        ("SetPath=/a", "SetPath template = '/a'"),
    ];
    for (written, expected) in texts {
        check(&[], &[written], &[&format!("[[{expected}], order = 1]")]);
    }
}

#[test]
fn equal_chains_are_known_as_such() {
    let hash = |chain: &Chain| {
        let mut hasher = DefaultHasher::new();
        chain.hash(&mut hasher);
        hasher.finish()
    };
    let texts =
        ["RewritePath=/a(?=b), /c", "RewriteResponseHeader=A, b, c", "AddRequestHeader=A, 1"];
    let [one, same] = [0; 2].map(|_| Chain::merge(Vec::new(), filters(&texts)));
    assert_eq!((&one, hash(&one)), (&same, hash(&same)));
    for (left, right) in [
        ("RewritePath=/a(?=b), /c", "RewritePath=/a(?=b), /d"),
        ("RewritePath=/a(?=b), /c", "RewritePath=/a(?=c), /c"),
        ("RewritePath=/a, /c", "RewritePath=/, a/c"),
        ("AddRequestHeader=A, 1", "AddRequestHeader=A, 2"),
        ("AddRequestHeader=A, 1", "SetRequestHeader=A, 1"),
        ("RewriteResponseHeader=A, b, c", "RewriteResponseHeader=A, b, d"),
    ] {
        let chain = |text| Chain::merge(Vec::new(), filters(&[text]));
        assert_ne!(chain(left), chain(right));
    }
}

#[test]
fn a_few_small_filters_lie_in_the_chain() {
    assert!(size_of::<Chain>() <= 128, "{}", size_of::<Chain>());
    for (texts, shared) in [
        (&[][..], false),
        (&["StripPrefix=1"], false),
        (&["AddRequestHeader=A, 1", "PrefixPath=/a"], false),
        (&["AddRequestHeader=A, 1", "PrefixPath=/a", "StripPrefix=1"], true),
        (&["RewritePath=/a(?=b), /c"], true),
    ] {
        let chain = Chain::merge(Vec::new(), filters(texts));
        assert_eq!((chain.entries().len(), chain.shared().is_some()), (texts.len(), shared));
    }
}

#[test]
fn policy_is_told() {
    let chain = |texts: &[&str]| Chain::merge(Vec::new(), filters(texts));
    assert_eq!(chain(&["AddRequestHeader=A, 1"]).request_size_max(), None);
    let mut small = Arguments::default();
    small.insert("maxSize", Value::from("5B"));
    let spec = find("RequestSize").expect("a filter");
    let small = (spec.build)(&spec.bind(&small).expect("args"), &FilterOptions::default());
    let both = Chain::merge(filters(&["RequestSize"]), vec![small.expect("a filter")]);
    assert_eq!(both.request_size_max(), Some(5));
    assert!(chain(&["AddResponseHeader=A, {v}"]).needs_vars());
    assert!(chain(&["SetPath=/{*rest}"]).needs_vars());
    assert!(!chain(&["AddRequestHeader=A, 1", "SetPath=/a"]).needs_vars());
}

#[test]
fn a_failing_filter_ends_the_chain() {
    let trial = TestExchange::new("- AddRequestHeader=A, {nope}\n- RedirectTo=302, /x");
    let outcome = trial.run("GET / HTTP/1.1", "");
    assert!(outcome.error.is_some() && outcome.response.is_none());
}

/// Filters that copy request data into a head in every possible way.
const HOSTILE: &[&str] = &[
    "AddRequestHeader=X-A, {a}{b}",
    "AddRequestHeadersIfNotPresent=X-B:{a}",
    "AddRequestParameter=p, {b}",
    "AddResponseHeader=X-C, {b}",
    "MapRequestHeader=X-In, X-Out",
    "PrefixPath=/p/{a}",
    "PrefixPath=/.{b}",
    "RedirectTo=302, /x, true",
    "RemoveRequestParameter=a",
    "RequestHeaderToRequestUri=X-In",
    "RewriteLocationResponseHeader",
    "RewritePath=/(?<r>.*), /x/.${r}",
    "RewritePath=%, /",
    "RewritePath=([a-c]), $1/..",
    "RewriteRequestParameter=a, {b}",
    "RewriteResponseHeader=X-In, (.), $1$1",
    "SetPath=/s/{a}/{b}",
    "SetPath={b}",
    "SetRequestHeader=X-D, {b}",
    "SetRequestHostHeader={a}",
    "SetRequestUri=http://{a}/{b}",
    "SetResponseHeader=X-E, {a}",
    "StripPrefix=1",
];

fn has_line_break(head: &[u8]) -> bool {
    let lines = String::from_utf8_lossy(head).replace("\r\n", "");
    lines.contains(['\r', '\n', '\0'])
}

proptest! {
    #[test]
    fn no_chain_injects_lines_or_leaves_its_prefix(
        picked in proptest::collection::vec(0..HOSTILE.len(), 1..6),
        a in "[ab./%\r\n\0 {}?#:é-]{0,8}",
        b in "(\\.\\.|[ab/\r\n\0])*",
        path in "/([a-c./]|%2[eEfF]|%0[dDaA]|%25){0,12}",
        query in proptest::option::of("[a-c=&+./]{0,8}"),
        field in "[a-z:/.%-]{0,12}",
    ) {
        let Ok(canonical) = canonical_path(path.as_bytes()) else { return Ok(()) };
        let path = canonical.unwrap_or(path.into_bytes());
        let texts: Vec<_> = picked.iter().filter_map(|&at| HOSTILE.get(at).copied()).collect();
        let chain = Chain::merge(Vec::new(), filters(&texts));
        let mut head = request_head(&format!("GET / HTTP/1.1\nX-In: {field}"));
        head.set_path(&path);
        head.set_query(query.as_deref().map(str::as_bytes));
        let mut vars = Vars::default();
        vars.set("a", a);
        vars.set("b", b);
        let (mut target, mut preserve_host, mut prefixed, mut ran) = (None, false, false, 0);
        let mut context = RequestContext {
            head: &mut head,
            vars: &vars,
            target: &mut target,
            preserve_host: &mut preserve_host,
            prefixed: &mut prefixed,
            claims: &mut None,
            kept: &mut None,
            failure: None,
            peer: "192.0.2.9:1".parse().expect("an address"),
            added: &mut Fields::default(),
            now_ms: 0,
 dice: 0,
 is_asked: false,
        };
        match chain.request(&mut context, &mut ran) {
            Err(_) => return Ok(()),
            Ok(Verdict::Respond(local)) => {
                for (name, value) in &local.fields {
                    prop_assert!(!has_line_break(value), "{name}: {value:?}");
                }
                return Ok(());
            }
            Ok(Verdict::Continue | Verdict::Admit(_) | Verdict::Ask(_)) => {}
        }
        let mut sent = Vec::new();
        head.write_to(&mut sent);
        prop_assert!(!has_line_break(&sent) && head.fields.is_sound(), "{sent:?}");
        prop_assert_eq!(canonical_path(head.path()), Ok(None));
        prop_assert!(head.path().starts_with(b"/"));
        let mut answer = response_head(&format!(
            "HTTP/1.1 200 OK\nX-In: {field}\nLocation: http://up/{field}"
        ));
        let mut context = ResponseContext {
            head: &mut answer,
            request: &head,
            client_host: b"gw.example",
            vars: &vars,
        };
        if chain.response(&mut context, ran).is_ok() {
            let mut sent = Vec::new();
            answer.write_to(&mut sent);
            prop_assert!(!has_line_break(&sent) && answer.fields.is_sound(), "{sent:?}");
        }
    }
}
