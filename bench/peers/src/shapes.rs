//! Shapes of route tables: the predicates that distinguish a million routes, and the requests that
//! match them.
//!
//! A pattern is text with `{n}`, `{n/100}` and `{n%100}` in it, for the number of a route. The same
//! pattern makes a route's predicates, a probe, and the Lua by which wrk draws requests.

use std::net::SocketAddr;

/// What tells the routes of a table apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// `/17`
    Exact,
    /// `/svc17/**`
    Prefixes,
    /// `/svc17/{id}/items/{item}`
    Templates,
    /// A host per tenant, each with the same 100 paths
    HostPath,
    /// `**.t17.example.org`
    WildcardHosts,
    /// One path; the value of X-Api-Id
    Header,
    /// One path; the value of a query parameter
    Query,
    /// One path; the value of a cookie
    Cookie,
    /// Four methods of each path
    Method,
    /// `/api/v1/s17/**`: everything below one prefix
    CommonPrefix,
    /// Exact, prefixes, templates and hosts in turn
    Mixed,
}

/// A kind of route in a table: its predicates, and a request that matches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Predicates in SCG's shortcut form.
    pub predicates: &'static [&'static str],
    /// Method of a request.
    pub method: &'static str,
    /// Its target.
    pub target: &'static str,
    /// Its field lines, each ending in CRLF; with a Host field if the default does not match.
    pub fields: &'static str,
}

const EXACT: Pattern =
    Pattern { predicates: &["Path=/{n}"], method: "GET", target: "/{n}", fields: "" };
const PREFIX: Pattern =
    Pattern { predicates: &["Path=/svc{n}/**"], target: "/svc{n}/orders/7", ..EXACT };
const TEMPLATE: Pattern = Pattern {
    predicates: &["Path=/svc{n}/{id}/items/{item}"],
    target: "/svc{n}/42/items/7",
    ..EXACT
};
const HOST_PATH: Pattern = Pattern {
    predicates: &["Host=t{n/100}.example.org", "Path=/p{n%100}"],
    target: "/p{n%100}",
    fields: "Host: t{n/100}.example.org\r\n",
    ..EXACT
};
const WILDCARD_HOST: Pattern = Pattern {
    predicates: &["Host=**.t{n}.example.org"],
    target: "/orders",
    fields: "Host: a.t{n}.example.org\r\n",
    ..EXACT
};
const ONE_PATH: Pattern = Pattern { target: "/api", ..EXACT };
const METHODS: [Pattern; 4] = [method("GET"), method("POST"), method("PUT"), method("DELETE")];

const fn method(method: &'static str) -> Pattern {
    let predicates: &'static [&'static str] = match method.as_bytes() {
        b"GET" => &["Path=/{n/4}", "Method=GET"],
        b"POST" => &["Path=/{n/4}", "Method=POST"],
        b"PUT" => &["Path=/{n/4}", "Method=PUT"],
        _ => &["Path=/{n/4}", "Method=DELETE"],
    };
    Pattern { predicates, method, target: "/{n/4}", fields: "" }
}

impl Shape {
    /// The kinds of its routes; route `n` is of kind `n % len`.
    pub fn patterns(self) -> Vec<Pattern> {
        let fields = |predicates, fields| Pattern { predicates, fields, ..ONE_PATH };
        match self {
            Self::Exact => vec![EXACT],
            Self::Prefixes => vec![PREFIX],
            Self::Templates => vec![TEMPLATE],
            Self::HostPath => vec![HOST_PATH],
            Self::WildcardHosts => vec![WILDCARD_HOST],
            Self::Header => {
                vec![fields(&["Path=/api", "Header=X-Api-Id, {n}"], "X-Api-Id: {n}\r\n")]
            }
            Self::Query => {
                let predicates: &[&str] = &["Path=/api", "Query=id, {n}"];
                vec![Pattern { predicates, target: "/api?id={n}", ..ONE_PATH }]
            }
            Self::Cookie => vec![fields(&["Path=/api", "Cookie=id, {n}"], "Cookie: id={n}\r\n")],
            Self::Method => METHODS.to_vec(),
            Self::CommonPrefix => vec![Pattern {
                predicates: &["Path=/api/v1/s{n}/**"],
                target: "/api/v1/s{n}/7",
                ..EXACT
            }],
            Self::Mixed => vec![EXACT, PREFIX, TEMPLATE, WILDCARD_HOST],
        }
    }

    /// Route `n` as a line of YAML, below `routes:`.
    pub fn route(self, n: u64, upstream: SocketAddr) -> String {
        let patterns = self.patterns();
        let pattern = patterns[(n % patterns.len() as u64) as usize];
        let predicates: Vec<String> =
            pattern.predicates.iter().map(|text| format!("\"{}\"", fill(text, n))).collect();
        format!(
            "    - {{ id: api-{n}, uri: \"http://{upstream}\", predicates: [ {} ], filters: [ \
             \"AddRequestHeader=x-benchmark-routeId, api-{n}\", \"PrefixPath=/ok\" ] }}",
            predicates.join(", ")
        )
    }

    /// A request that matches route `n`: method, target, field lines.
    pub fn request(self, n: u64) -> (&'static str, String, String) {
        let patterns = self.patterns();
        let pattern = patterns[(n % patterns.len() as u64) as usize];
        (pattern.method, fill(pattern.target, n), fill(pattern.fields, n))
    }

    /// Its name in tables and on the command line.
    pub fn name(self) -> String {
        use clap::ValueEnum;
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// The placeholders for numbers derived from `n`, with the divisor or modulus.
const PLACES: [(&str, &str, u64); 4] =
    [("{n}", "", 1), ("{n/100}", "/", 100), ("{n%100}", "%", 100), ("{n/4}", "/", 4)];

/// `text` for route `n`.
pub fn fill(text: &str, n: u64) -> String {
    PLACES.iter().fold(text.to_owned(), |text, (place, operation, by)| {
        let value = if *operation == "%" { n % by } else { n / by };
        text.replace(place, &value.to_string())
    })
}

/// `text` for a route of `from..to` that `weir bench` draws for each request. Both bounds are
/// multiples of 100, since each placeholder is drawn separately.
pub fn drawn(text: &str, from: u64, to: u64) -> String {
    PLACES.iter().fold(text.to_owned(), |text, (place, operation, by)| {
        let (low, high) = match *operation {
            "%" => (0, by - 1),
            _ => (from / by, (to - 1) / by),
        };
        text.replace(place, &format!("${{random({low},{high})}}"))
    })
}

/// `text` as a Lua expression over `n`.
pub fn lua(text: &str) -> String {
    let quoted = |text: &str| format!("{text:?}");
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match PLACES.iter().find(|(place, ..)| rest.starts_with(place)) {
            Some((place, operation, by)) => {
                parts.push(quoted(&std::mem::take(&mut literal)));
                parts.push(match *operation {
                    "%" => format!("(n % {by})"),
                    "/" => format!("math.floor(n / {by})"),
                    _ => "n".to_owned(),
                });
                rest = &rest[place.len()..];
            }
            None => {
                literal.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    parts.push(quoted(&literal));
    parts.retain(|part| part != "\"\"");
    if parts.is_empty() { "\"\"".to_owned() } else { parts.join(" .. ") }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::{Shape, drawn, fill, lua};

    #[test]
    fn patterns_are_filled() {
        for (text, n, expected) in [
            ("/{n}", 17, "/17"),
            ("/svc{n}/{id}/items/{item}", 3, "/svc3/{id}/items/{item}"),
            ("t{n/100}.x/p{n%100}", 1234, "t12.x/p34"),
            ("/{n/4}", 7, "/1"),
            ("", 7, ""),
        ] {
            assert_eq!(fill(text, n), expected);
        }
    }

    #[test]
    fn patterns_are_drawn() {
        for (text, expected) in [
            ("/{n}", "/${random(400,599)}"),
            ("t{n/100}.x/p{n%100}", "t${random(4,5)}.x/p${random(0,99)}"),
            ("/{n/4}", "/${random(100,149)}"),
            ("/api", "/api"),
        ] {
            assert_eq!(drawn(text, 400, 600), expected);
        }
    }

    #[test]
    fn patterns_become_lua() {
        for (text, expected) in [
            ("", "\"\""),
            ("/{n}", "\"/\" .. n"),
            ("a{n%100}b{n/100}", "\"a\" .. (n % 100) .. \"b\" .. math.floor(n / 100)"),
            ("X: {n}\r\n", "\"X: \" .. n .. \"\\r\\n\""),
            ("/{id}", "\"/{id}\""),
        ] {
            assert_eq!(lua(text), expected);
        }
    }

    #[test]
    fn routes_of_a_shape_differ() {
        let upstream = "127.0.0.1:1".parse().unwrap();
        for shape in Shape::value_variants() {
            let predicates = |n| {
                let route = shape.route(n, upstream);
                route
                    .split_once("predicates")
                    .unwrap()
                    .1
                    .split_once("filters")
                    .unwrap()
                    .0
                    .to_owned()
            };
            let all: std::collections::HashSet<String> = (0..500).map(predicates).collect();
            assert_eq!(all.len(), 500, "{}", shape.name());
        }
    }
}
