//! Tables of one shape, of any size, with a request for each route.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use weir_route::Route;
use weir_route::predicate::PredicateOptions;

use super::{Ask, route};

/// Structure of a table's routes: their common part, and the attribute in which they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A different path for each route.
    Exact,
    /// `/svcN/**`
    Prefix,
    /// `/appN/{id}/items/{item}`
    Template,
    /// Five methods for each path.
    Rest,
    /// One host per tenant, each with the same 100 paths.
    Tenants,
    /// `**.tN.example.org`
    Wildcard,
    /// One path, a header.
    Header,
    /// One path, a query parameter.
    Query,
    /// One path, a cookie.
    Cookie,
    /// One path, the method.
    Method,
    /// `/api/v1/sN/{id}`
    Second,
    /// All of the above.
    Mixed,
    /// One path, an expression with a plain start: `/rx/{v:item-N-\d+}`.
    Regex,
    /// One path, an expression with plain text in the middle: `/rx/{v:.*-item-N-.*}`.
    Inside,
    /// One path, an expression without any required text: these are scanned.
    Opaque,
    /// [`Shape::Opaque`] and [`Shape::Exact`] alternately; requests are for the latter.
    Beside,
    /// One path, the peer's address.
    Peer,
    /// One path, the client's address as stated by a proxy.
    Client,
}

/// Shapes whose lookup time is independent of the number of routes.
pub const FLAT: [Shape; 12] = [
    Shape::Exact,
    Shape::Prefix,
    Shape::Template,
    Shape::Rest,
    Shape::Tenants,
    Shape::Wildcard,
    Shape::Header,
    Shape::Query,
    Shape::Cookie,
    Shape::Method,
    Shape::Second,
    Shape::Mixed,
];

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// Header fields as a browser sends them.
const FIELDS: [(&str, &str); 6] = [
    ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Accept-Language", "en-US,en;q=0.5"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ("Connection", "keep-alive"),
    ("Cache-Control", "no-cache"),
];

impl Shape {
    /// The predicates of route `n`.
    pub fn predicates(self, n: usize) -> Vec<String> {
        let one_path = |other: String| vec!["Path=/api/call".to_owned(), other];
        match self {
            Shape::Exact => vec![format!("Path=/api/v1/svc{}/resource{n}", n % 1000)],
            Shape::Prefix => vec![format!("Path=/svc{n}/**")],
            Shape::Template => vec![format!("Path=/app{n}/{{id}}/items/{{item}}")],
            Shape::Rest => {
                vec![format!("Path=/rest/r{}", n / 5), format!("Method={}", METHODS[n % 5])]
            }
            Shape::Tenants => vec![
                format!("Host=tenant{}.example.org", n / 100),
                format!("Path=/tenant/path{}", n % 100),
            ],
            Shape::Wildcard => vec![format!("Host=**.t{n}.example.org")],
            Shape::Header => one_path(format!("Header=X-Api-Id,id-{n}")),
            Shape::Query => one_path(format!("Query=api,id-{n}")),
            Shape::Cookie => one_path(format!("Cookie=api,id-{n}")),
            Shape::Method => one_path(format!("Method=M{n}")),
            Shape::Second => vec![format!("Path=/api/v1/s{n}/{{id}}")],
            Shape::Mixed => mixed(n).0.predicates(mixed(n).1),
            Shape::Regex => vec![format!("Path=/rx/{{v:item-{n}-\\d+}}")],
            Shape::Inside => vec![format!("Path=/rx/{{v:.*-item-{n}-.*}}")],
            Shape::Opaque => {
                let sets = ["[ab]", "[cd]", "[ef]", "[gh]", "[ij]", "[kl]", "[mn]"];
                vec![format!("Path=/rx/{{v:{}}}", digits(n).map(|digit| sets[digit]).concat())]
            }
            Shape::Beside if n % 2 == 1 => Shape::Opaque.predicates(n / 2),
            Shape::Beside => Shape::Exact.predicates(n / 2),
            Shape::Peer => vec!["Path=/net".to_owned(), format!("RemoteAddr={}/32", address(n))],
            Shape::Client => {
                vec!["Path=/net".to_owned(), format!("XForwardedRemoteAddr={}/32", address(n))]
            }
        }
    }

    /// A request that route `n` alone matches (of [`Shape::Beside`], the even one of a pair).
    pub fn ask(self, n: usize) -> Ask {
        let id = format!("id-{n}");
        let get = |host: &str, target: &str| Ask::new("GET", host, target, &FIELDS);
        match self {
            Shape::Exact => get("www.example.org", &format!("/api/v1/svc{}/resource{n}", n % 1000)),
            Shape::Prefix => get("www.example.org", &format!("/svc{n}/a/b")),
            Shape::Template => get("www.example.org", &format!("/app{n}/17/items/4")),
            Shape::Rest => {
                Ask::new(METHODS[n % 5], "www.example.org", &format!("/rest/r{}", n / 5), &FIELDS)
            }
            Shape::Tenants => {
                get(&format!("tenant{}.example.org", n / 100), &format!("/tenant/path{}", n % 100))
            }
            Shape::Wildcard => get(&format!("a.t{n}.example.org"), "/"),
            Shape::Header => with_field("X-Api-Id", &id),
            Shape::Query => get("www.example.org", &format!("/api/call?x=1&api={id}")),
            Shape::Cookie => with_field("Cookie", &format!("session=0123456789; api={id}")),
            Shape::Method => Ask::new(&format!("M{n}"), "www.example.org", "/api/call", &FIELDS),
            Shape::Second => get("www.example.org", &format!("/api/v1/s{n}/7")),
            Shape::Mixed => mixed(n).0.ask(mixed(n).1),
            Shape::Regex => get("www.example.org", &format!("/rx/item-{n}-42")),
            Shape::Inside => get("www.example.org", &format!("/rx/customer-item-{n}-42")),
            Shape::Opaque => {
                let letters = ["a", "d", "e", "h", "i", "l", "m"];
                let text = digits(n).map(|digit| letters[digit]).concat();
                get("www.example.org", &format!("/rx/{text}"))
            }
            Shape::Beside => Shape::Exact.ask(n / 2),
            Shape::Peer => get("www.example.org", "/net").from(address(n), 0),
            Shape::Client => {
                let mut fields = FIELDS.to_vec();
                let client = address(n).to_string();
                fields.push(("X-Forwarded-For", &client));
                Ask::new("GET", "www.example.org", "/net", &fields)
            }
        }
    }

    /// Route `n`.
    pub fn route(self, n: usize) -> Arc<Route<()>> {
        let options = PredicateOptions::default();
        route(&options, n as u64, 0, &self.predicates(n)).expect("a valid route")
    }

    /// All routes of a table of `count`.
    pub fn routes(self, count: usize) -> Vec<Arc<Route<()>>> {
        let options = PredicateOptions::default();
        let build = |n| route(&options, n as u64, 0, &self.predicates(n)).expect("a valid route");
        (0..count).map(build).collect()
    }
}

/// The last digits of `n` to the base 7.
fn digits(n: usize) -> [usize; 6] {
    [16_807, 2_401, 343, 49, 7, 1].map(|place| n / place % 7)
}

fn with_field(name: &str, value: &str) -> Ask {
    let mut fields = FIELDS.to_vec();
    fields.push((name, value));
    Ask::new("GET", "www.example.org", "/api/call", &fields)
}

/// The shape of route `n` of a mixed table, and its number in it.
fn mixed(n: usize) -> (Shape, usize) {
    let shapes = &FLAT[..FLAT.len() - 1];
    (shapes[n % shapes.len()], n / shapes.len())
}

fn address(n: usize) -> IpAddr {
    Ipv4Addr::from_bits(0x0A00_0000 + n as u32).into()
}
