//! Random tables over a small vocabulary, so that routes overlap in every way, and matching
//! requests.

use std::net::IpAddr;

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::test_runner::Config;
use weir_route::predicate::PredicateOptions;

use super::Ask;

/// Bodies of requests as JSON; an invalid one, and one that was not read.
pub const BODIES: [Option<&str>; 5] =
    [None, Some(""), Some("{\"t\":\"a\"}"), Some("{\"t\":\"b\"}"), Some("{\"t\":null}")];

/// A route as text: order and predicates.
#[derive(Clone, Debug)]
pub struct Written {
    pub order: i32,
    pub predicates: Vec<String>,
}

/// A request as text.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: &'static str,
    pub host: String,
    pub target: String,
    pub fields: Vec<(&'static str, &'static str)>,
    pub peer: &'static str,
    pub dice: u64,
}

impl Asked {
    pub fn ask(&self) -> Ask {
        let peer: IpAddr = self.peer.parse().expect("an address");
        let ask = Ask::new(self.method, &self.host, &self.target, &self.fields);
        ask.from(peer, self.dice).with_content(&BODIES[(self.dice % 5) as usize])
    }
}

/// Configuration of a property test: `count` cases, different on each run.
pub fn cases(count: u32) -> Config {
    Config { cases: count, failure_persistence: None, ..Config::default() }
}

/// The options that change the meaning of predicates.
pub fn options() -> impl Strategy<Value = PredicateOptions> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(slash, port, split)| {
        PredicateOptions {
            trailing_slash: slash,
            host_include_port: port,
            split_header_values: split,
            ..PredicateOptions::default()
        }
    })
}

/// Any route: most have a Path or a Host.
pub fn written() -> impl Strategy<Value = Written> {
    let order = prop_oneof![8 => Just(0), 1 => -2..3i32];
    let path = weighted(0.8, paths());
    let host = weighted(0.4, hosts());
    let predicates = (path, host, vec(other(), 0..3), any::<bool>());
    (order, predicates).prop_map(|(order, (path, host, mut others, path_first))| {
        let mut predicates: Vec<String> = host.into_iter().chain(path).collect();
        if path_first {
            predicates.reverse();
        }
        predicates.append(&mut others);
        Written { order, predicates }
    })
}

/// Any request.
pub fn asked() -> impl Strategy<Value = Asked> {
    let segment = select(&[
        "a", "b", "c", "d", "a", "b", "pre1post", "ab", "x1", "%61", "a%2Fb", "b;v=1", "", "%zz",
        "A", "{v}", "*",
    ]);
    let slash = select(&["", "", "/"]);
    let path = prop_oneof![
        6 => (vec(segment.clone(), 0..6), slash.clone()),
        6 => (vec(segment, 1..3), slash),
    ];
    let path = path.prop_map(|(segments, slash)| format!("/{}{slash}", segments.join("/")));
    let path = prop_oneof![12 => path, 1 => Just("*".to_owned()), 1 => Just(String::new())];
    let query = weighted(0.5, vec(select(&["p=1", "p=2", "p", "q=%31", "q=", "p=12", "&"]), 0..3));
    let target = (path, query).prop_map(|(path, query)| match query {
        Some(query) => format!("{path}?{}", query.join("&")),
        None => path,
    });
    let label = select(&["a", "b", "org", "example", "t1", "T1", "x", ""]);
    let port = select(&["", "", "", ":8080", ".", ":"]);
    let host = (vec(label, 0..5), port).prop_map(|(labels, port)| labels.join(".") + port);
    let field = select(&[
        ("X-A", "1"),
        ("x-a", "2"),
        ("X-A", "1, 2"),
        ("X-A", ""),
        ("X-B", "12"),
        ("X-B", "\"1\""),
        ("Cookie", "c=1; d=2"),
        ("Cookie", "c=\"12\""),
        ("X-Forwarded-For", "10.1.2.3"),
        ("X-Forwarded-For", "10.1.2.3, , ::ffff:10.1.9.9"),
        ("X-Forwarded-For", "10.1.2.3, unknown"),
        ("X-B", "\u{e9}"),
    ]);
    let peer =
        select(&["127.0.0.1", "10.1.2.3", "10.1.9.9", "::1", "::ffff:10.1.2.3", "2001:db8::1"]);
    let method = select(&["GET", "GET", "POST", "PUT", "get"]);
    (method, host, target, vec(field, 0..4), peer, any::<u64>()).prop_map(
        |(method, host, target, fields, peer, dice)| Asked {
            method,
            host,
            target,
            fields,
            peer,
            dice,
        },
    )
}

fn paths() -> impl Strategy<Value = String> {
    (vec(path_pattern(), 1..4), select(&["", "", "", ",true", ",false"]))
        .prop_map(|(patterns, flag)| format!("Path={}{flag}", patterns.join(",")))
}

fn path_pattern() -> impl Strategy<Value = String> {
    let segment = select(&[
        "a",
        "b",
        "c",
        "d",
        "a",
        "b",
        "*",
        "*",
        "{V}",
        "{V:[a-c]+}",
        "{V:a.*}",
        "{V:ab?}",
        "a*",
        "?",
        "pre{V}post",
        "{V}{W}",
        "{V:(a)}",
        "",
        "x1",
        "*1",
        "{V:a|b}",
        "{V:.*b}",
        "{V:.*re.*}",
        "{V:(?i)AB?}",
        "p*e*t",
    ]);
    let start = select(&["/", "/", "/", "/", "/**/", "/{*S}/", ""]);
    let end = select(&["", "", "", "/", "/**", "/{*R}", "/*"]);
    let segments = prop_oneof![vec(segment.clone(), 0..5), vec(segment, 1..3)];
    (start, segments, end).prop_map(|(start, segments, end)| {
        let named = segments.iter().enumerate().map(|(n, segment)| {
            segment.replace('V', &format!("v{n}")).replace('W', &format!("w{n}"))
        });
        let named: Vec<String> = named.collect();
        match (named.is_empty(), end) {
            (true, _) => format!("{}{end}", start.trim_end_matches('/')),
            (false, _) => format!("{start}{}{end}", named.join("/")),
        }
    })
}

fn hosts() -> impl Strategy<Value = String> {
    let label = select(&[
        "a", "b", "org", "example", "t1", "T1", "*", "**", "{h}", "a*", "?", "{h:t\\d}", "**",
        "*1", "{h:.*1}", "{h:EX.*}", "e*m*e",
    ]);
    let port = select(&["", "", "", ":8080", ":*", "."]);
    let pattern = (vec(label, 1..4), port).prop_map(|(labels, port)| labels.join(".") + port);
    vec(pattern, 1..3).prop_map(|patterns| format!("Host={}", patterns.join(",")))
}

fn other() -> impl Strategy<Value = String> {
    let fixed = select(&[
        "Method=GET",
        "Method=POST,PUT",
        "Method=",
        "ReadBody=/t",
        "ReadBody=/t,a",
        "ReadBody=/t,[ab]",
        "Header=X-A",
        "Header=X-A,1",
        "Header=x-a,2",
        "Header=X-A,1.*",
        "Header=X-B,12",
        "Header=X-B,1(2|3)",
        "Header=X-B,.*2",
        "Header=X-A,.*1, .*",
        "Header=X-B,((1|12)(?=2*))+\\2?",
        "Header=X-B,\u{e9}",
        "Query=p",
        "Query=p,1",
        "Query=p,2",
        "Query=q,1",
        "Query=q,",
        "Query=p,1.",
        "Query=p,.*2",
        "Query=p,.?1.?",
        "Cookie=c,1",
        "Cookie=c,12",
        "Cookie=d,2",
        "Cookie=c,1.*",
        "Cookie=c,.*2",
        "RemoteAddr=127.0.0.1",
        "RemoteAddr=10.1.0.0/16",
        "RemoteAddr=10.1.2.0/24,::/0",
        "RemoteAddr=0.0.0.0/0",
        "RemoteAddr=2001:db8::/32",
        "XForwardedRemoteAddr=10.0.0.0/8",
        "XForwardedRemoteAddr=10.1.2.3,::1/128",
        "XForwardedRemoteAddr=127.0.0.1,10.1.0.0/16",
        "After=2000-01-01T00:00:00Z",
        "Before=2000-01-01T00:00:00Z",
    ]);
    let weight = ("[gh]", 0..4u32).prop_map(|(group, weight)| format!("Weight={group},{weight}"));
    prop_oneof![9 => fixed.prop_map(str::to_owned), 1 => weight]
}
