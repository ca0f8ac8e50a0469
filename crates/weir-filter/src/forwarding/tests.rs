//! Table tests of forwarding: a head as received and as forwarded.

use weir_route::pattern::RegexCache;
use weir_wire::Fields;

use super::{Forwarding, ForwardingOptions, Hop, Part, Untrusted, XForwarded};
use crate::target::{Scheme, Target};
use crate::test_exchange::{request_head, response_head};

const TARGET: &str = "Host: up.example:81";

struct Given {
    options: ForwardingOptions,
    peer: &'static str,
    https: bool,
    upgrade: bool,
    preserve_host: bool,
    /// The prefix that a StripPrefix would remove.
    strip: &'static str,
}

impl Default for Given {
    fn default() -> Self {
        Self {
            options: ForwardingOptions::default(),
            peer: "127.0.0.1:4711",
            https: false,
            upgrade: false,
            preserve_host: false,
            strip: "",
        }
    }
}

fn trusted() -> ForwardingOptions {
    let proxies = Some(r"127\.0\.0\.1|10\.0\.0\..*|::1".to_owned());
    ForwardingOptions { trusted_proxies: proxies, ..ForwardingOptions::default() }
}

impl Given {
    fn check(&self, request: &str, expected: &str) {
        let forwarding = Forwarding::new(&self.options, &RegexCache::default()).expect("rules");
        let mut head = request_head(request);
        let client_host = head.host().to_vec();
        let peer: std::net::SocketAddr = self.peer.parse().expect("an address");
        forwarding.receive(&mut head, peer.ip());
        let path = String::from_utf8_lossy(head.path()).into_owned();
        let path = path.strip_prefix(self.strip).expect("a prefix");
        head.set_path(if path.is_empty() { b"/" } else { path.as_bytes() });
        head.fields.append(b"X-Own", b"1");
        let target = Target::new(Scheme::Http, "up.example".to_owned(), 81);
        let hop = Hop {
            peer,
            local: "192.0.2.1".parse().expect("an address"),
            https: self.https,
            client_host: &client_host,
            target: &target,
            preserve_host: self.preserve_host,
            upgrade: self.upgrade,
        };
        forwarding.request(&mut head, &hop);
        assert!(head.fields.is_sound());
        let line = |(name, value)| {
            format!("{}: {}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
        };
        let own = |line: &String| line == TARGET || line == "X-Own: 1";
        let lines: Vec<_> = head.fields.iter().map(line).filter(|line| !own(line)).collect();
        assert_eq!(lines.join("\n"), expected, "{request}");
    }
}

fn check(request: &str, expected: &str) {
    Given::default().check(request, expected);
}

fn check_response(response: &str, upgrade: bool, expected: &str) {
    let mut head = response_head(response);
    Forwarding::default().response(&mut head, upgrade);
    let mut text = Vec::new();
    head.fields.write_to(&mut text);
    let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
    assert_eq!(text.trim_end(), expected, "{response}");
}

#[test]
fn hop_by_hop_fields_end_here() {
    check(
        "GET /a HTTP/1.1\nConnection: close\nKeep-Alive: timeout=5\nProxy-Authorization: Basic x\n\
         Proxy-Authenticate: Basic\nProxy-Connection: keep-alive\nTE: trailers\nTrailer: X-T\n\
         Upgrade: h2c\nX-Application-Context: x\nX-Kept: 1",
        "X-Kept: 1",
    );
    check("GET / HTTP/1.1\nX-Kept: 1\nte: x", "X-Kept: 1");
    check("GET / HTTP/1.1\nVia: 1.1 a\nMax-Forwards: 3", "Via: 1.1 a\nMax-Forwards: 3");
}

#[test]
fn names_in_the_clients_connection_are_removed() {
    check("GET / HTTP/1.1\nConnection: X-One, x-two\nX-One: 1\nX-Two: 2\nX-Three: 3", "X-Three: 3");
    check("GET / HTTP/1.1\nConnection: X-One\nConnection: X-Two\nX-One: 1\nX-Two: 2", "");
}

#[test]
fn connection_cannot_remove_what_identifies_the_request() {
    check(
        "GET / HTTP/1.1\nConnection: Authorization, Cookie, Host, X-Own\nAuthorization: Basic x\n\
         Cookie: a=b",
        "Authorization: Basic x\nCookie: a=b",
    );
    Given { options: trusted(), ..Given::default() }.check(
        "GET / HTTP/1.1\nConnection: X-Forwarded-For, X-Forwarded-Proto, Forwarded\n\
         X-Forwarded-For: 10.0.0.9",
        "X-Forwarded-For: 10.0.0.9,127.0.0.1\n\
         Forwarded: proto=http;host=gw.example;for=\"127.0.0.1:4711\"\nX-Forwarded-Proto: http\n\
         X-Forwarded-Port: 80\nX-Forwarded-Host: gw.example",
    );
}

#[test]
fn what_the_gateway_adds_is_not_removed_by_the_client() {
    let forwarding = Forwarding::default();
    let mut head = request_head("GET / HTTP/1.1\nConnection: X-Own\nX-Own: theirs");
    forwarding.receive(&mut head, "127.0.0.1".parse().expect("an address"));
    assert!(!head.fields.contains(b"x-own") && head.fields.contains(b"connection"));
}

#[test]
fn an_own_list_replaces_the_default() {
    let list = vec!["x-one".to_owned(), "X-Two".to_owned()];
    let options = ForwardingOptions { hop_by_hop: Some(list), ..ForwardingOptions::default() };
    Given { options, ..Given::default() }.check(
        "GET / HTTP/1.1\nX-One: 1\nx-two: 2\nKeep-Alive: timeout=5\nTE: trailers\n\
         Connection: keep-alive\nTransfer-Encoding: chunked",
        "Keep-Alive: timeout=5\nTE: trailers",
    );
    let list = vec!["x one".to_owned()];
    let options = ForwardingOptions { hop_by_hop: Some(list), ..ForwardingOptions::default() };
    assert!(Forwarding::new(&options, &RegexCache::default()).is_err());
}

#[test]
fn grpc_keeps_te_trailers() {
    check(
        "POST / HTTP/1.1\nTE: trailers\nContent-Type: application/grpc+proto",
        "Content-Type: application/grpc+proto\nTE: trailers",
    );
}

#[test]
fn an_upgrade_is_passed_on_if_asked_to() {
    let request = "GET / HTTP/1.1\nConnection: keep-alive, Upgrade\nUpgrade: websocket\n\
                   Sec-WebSocket-Version: 13";
    check(request, "Sec-WebSocket-Version: 13");
    Given { upgrade: true, ..Given::default() }
        .check(request, "Upgrade: websocket\nSec-WebSocket-Version: 13\nConnection: Upgrade");
}

#[test]
fn host_is_that_of_the_target_unless_preserved() {
    Given { preserve_host: true, ..Given::default() }
        .check("GET / HTTP/1.1\nHost: gw.example:8080", "Host: gw.example:8080");
    Given { preserve_host: true, ..Given::default() }
        .check("GET http://other.example/x HTTP/1.1\nHost: gw.example", "Host: other.example");
    check("GET / HTTP/1.1\nHost: gw.example", "");
}

#[test]
fn host_has_no_port_that_the_scheme_implies() {
    let check = |scheme, port, expected: &str| {
        let mut fields = Fields::default();
        fields.append_line(Target::new(scheme, "h".to_owned(), port).host_line());
        assert_eq!(fields.get(b"host"), Some(expected.as_bytes()));
    };
    check(Scheme::Http, 80, "h");
    check(Scheme::Lb, 80, "h");
    check(Scheme::Https, 443, "h");
    check(Scheme::Https, 80, "h:80");
    check(Scheme::Http, 443, "h:443");
    check(Scheme::Http, 0, "h:0");
    check(Scheme::Lb, 65535, "h:65535");
}

const INCOMING: &str = "GET / HTTP/1.1\nX-Forwarded-For: 1.2.3.4\nX-Forwarded-Ssl: on\n\
                        X-Real-IP: 1.2.3.4\nForwarded: for=1.2.3.4\nX_Forwarded_For: 5.6.7.8\n\
                        x_forwarded-proto: https";

#[test]
fn without_trusted_proxies_incoming_fields_are_removed() {
    check(INCOMING, "X-Real-IP: 1.2.3.4");
    let options = ForwardingOptions { untrusted: Untrusted::Pass, ..ForwardingOptions::default() };
    Given { options, ..Given::default() }
        .check(INCOMING, INCOMING.split_once('\n').expect("lines").1);
    let options =
        ForwardingOptions { untrusted: Untrusted::Append, ..ForwardingOptions::default() };
    Given { options, ..Given::default() }.check(
        "GET / HTTP/1.1\nX-Forwarded-For: 1.2.3.4",
        "X-Forwarded-For: 1.2.3.4,127.0.0.1\n\
         Forwarded: proto=http;host=gw.example;for=\"127.0.0.1:4711\"\nX-Forwarded-Proto: http\n\
         X-Forwarded-Port: 80\nX-Forwarded-Host: gw.example",
    );
}

#[test]
fn what_an_untrusted_peer_says_is_replaced() {
    let given = Given { options: trusted(), peer: "127.0.0.9:1", ..Given::default() };
    let own = "Forwarded: proto=http;host=gw.example;for=\"127.0.0.9:1\"\n\
               X-Forwarded-For: 127.0.0.9\nX-Forwarded-Proto: http\nX-Forwarded-Port: 80\n\
               X-Forwarded-Host: gw.example";
    given.check(INCOMING, &format!("X-Real-IP: 1.2.3.4\n{own}"));
    given.check("GET / HTTP/1.1", own);
    let x_forwarded = XForwarded { enabled: false, ..XForwarded::default() };
    let options = ForwardingOptions { forwarded: false, x_forwarded, ..trusted() };
    Given { options, peer: "127.0.0.9:1", ..Given::default() }
        .check(INCOMING, "X-Real-IP: 1.2.3.4");
}

#[test]
fn a_trusted_peer_is_appended() {
    let given = Given { options: trusted(), ..Given::default() };
    given.check(
        "GET /a HTTP/1.1\nHost: gw.example:8080",
        "Forwarded: proto=http;host=\"gw.example:8080\";for=\"127.0.0.1:4711\"\n\
         X-Forwarded-For: 127.0.0.1\nX-Forwarded-Proto: http\nX-Forwarded-Port: 8080\n\
         X-Forwarded-Host: gw.example:8080",
    );
    given.check(
        "GET /a HTTP/1.1\nX-Forwarded-For: 10.0.0.9\nX-Forwarded-Host: h.example\n\
         X-Forwarded-Port: 444\nX-Forwarded-Proto: https\nX-Forwarded-Prefix: /p\n\
         X_Forwarded_For: 6.6.6.6",
        "X-Forwarded-For: 10.0.0.9,127.0.0.1\nX-Forwarded-Host: h.example,gw.example\n\
         X-Forwarded-Port: 444,80\nX-Forwarded-Proto: https,http\nX-Forwarded-Prefix: /p\n\
         Forwarded: proto=http;host=gw.example;for=\"127.0.0.1:4711\"",
    );
    let own = "Forwarded: proto=http;host=gw.example;for=\"127.0.0.1:4711\"\n\
               X-Forwarded-Proto: http\nX-Forwarded-Port: 80\nX-Forwarded-Host: gw.example";
    for (lines, expected) in [
        ("X-Forwarded-For: 1.2.3.4", "127.0.0.1"),
        ("X-Forwarded-For: 10.0.0.9, 1.2.3.4", "10.0.0.9, 1.2.3.4,127.0.0.1"),
        ("X-Forwarded-For: 10.0.0.9\nX-Forwarded-For: 1.2.3.4", "10.0.0.9,127.0.0.1"),
    ] {
        let expected = format!("X-Forwarded-For: {expected}\n{own}");
        given.check(&format!("GET /a HTTP/1.1\n{lines}"), &expected);
    }
}

#[test]
fn elements_of_forwarded_stay_if_their_for_is_trusted() {
    let own = "Forwarded: proto=http;host=gw.example;for=\"127.0.0.1:4711\"\n\
               X-Forwarded-For: 127.0.0.1\nX-Forwarded-Proto: http\nX-Forwarded-Port: 80\n\
               X-Forwarded-Host: gw.example";
    let given = Given { options: trusted(), ..Given::default() };
    for (value, kept) in [
        ("for=10.0.0.9;proto=https;host=h.example", "for=10.0.0.9;proto=https;host=h.example"),
        ("proto=https;host=h.example", ""),
        ("for=10.0.0.9, for=\"[2001:db8::1]:4711\";by=_x", "for=10.0.0.9"),
        ("for=1.2.3.4;x=\"a, for=10.0.0.9\"", ""),
    ] {
        let kept = if kept.is_empty() { String::new() } else { format!("Forwarded: {kept}\n") };
        given.check(&format!("GET /a HTTP/1.1\nForwarded: {value}"), &format!("{kept}{own}"));
    }
}

#[test]
fn the_prefix_that_was_stripped_is_told() {
    let base = trusted();
    let options = ForwardingOptions { forwarded: false, ..base };
    let given = Given { options, strip: "/prefix", https: true, ..Given::default() };
    let own = "X-Forwarded-For: 127.0.0.1\nX-Forwarded-Proto: https";
    let rest = "X-Forwarded-Port: 443\nX-Forwarded-Host: gw.example";
    for (path, prefix) in
        [("/prefix/a", "/prefix"), ("/prefix/a/", "/prefix"), ("/prefix", "/prefix")]
    {
        let expected = format!("{own}\nX-Forwarded-Prefix: {prefix}\n{rest}");
        given.check(&format!("GET {path} HTTP/1.1"), &expected);
    }
    given.check(
        "GET /prefix/a HTTP/1.1\nX-Forwarded-Prefix: /outer",
        &format!("X-Forwarded-Prefix: /outer,/prefix\n{own}\n{rest}"),
    );
    Given { strip: "", ..given }.check("GET /a HTTP/1.1", &format!("{own}\n{rest}"));
}

#[test]
fn fields_can_be_switched_off() {
    let off = Part { enabled: false, append: true };
    let replace = Part { enabled: true, append: false };
    let x_forwarded = XForwarded {
        host: off,
        prefix: off,
        proto: replace,
        for_: replace,
        ..XForwarded::default()
    };
    let options = ForwardingOptions { forwarded: false, x_forwarded, ..trusted() };
    Given { options, strip: "/p", ..Given::default() }.check(
        "GET /p/a HTTP/1.1\nX-Forwarded-For: 127.0.0.1\nX-Forwarded-Host: h.example\n\
         X-Forwarded-Port: 444\nX-Forwarded-Proto: https\nX-Forwarded-Prefix: /outer\n\
         Forwarded: for=127.0.0.1",
        "X-Forwarded-For: 127.0.0.1\nX-Forwarded-Host: h.example\nX-Forwarded-Port: 444,80\n\
         X-Forwarded-Proto: http\nX-Forwarded-Prefix: /outer",
    );
    let x_forwarded = XForwarded { enabled: false, ..XForwarded::default() };
    let options = ForwardingOptions {
        forwarded_by: true,
        by_port: 8080,
        x_forwarded: x_forwarded.clone(),
        ..trusted()
    };
    Given { options, peer: "127.0.0.1:9", ..Given::default() }.check(
        "GET / HTTP/1.1",
        "Forwarded: proto=http;by=\"192.0.2.1:8080\";host=gw.example;for=\"127.0.0.1:9\"",
    );
    let options = ForwardingOptions { forwarded_by: true, x_forwarded, ..trusted() };
    Given { options, peer: "[::1]:9", ..Given::default() }.check(
        "GET / HTTP/1.1\nX-Forwarded-For: 127.0.0.1\nForwarded: for=127.0.0.1",
        "Forwarded: for=127.0.0.1\n\
         Forwarded: proto=http;by=192.0.2.1;host=gw.example;for=\"[::1]:9\"",
    );
}

#[test]
fn responses_lose_hop_by_hop_fields() {
    check_response(
        "HTTP/1.1 200 OK\nKeep-Alive: timeout=5\nProxy-Authenticate: Basic\nTrailer: X-T\n\
         Upgrade: h2c\nX-Application-Context: x\nX-Kept: 1\nContent-Length: 0",
        false,
        "X-Kept: 1\nContent-Length: 0",
    );
    check_response(
        "HTTP/1.1 200 OK\nConnection: X-One, Content-Length\nX-One: 1\nX-Two: 2\nContent-Length: 0",
        false,
        "X-Two: 2\nContent-Length: 0",
    );
    check_response(
        "HTTP/1.1 101 Switching Protocols\nConnection: upgrade\nUpgrade: websocket",
        true,
        "Upgrade: websocket\nConnection: Upgrade",
    );
}

#[test]
fn names_that_pass_for_framing_are_removed() {
    let check = |keep: bool, expected: &[&str]| {
        let options = ForwardingOptions { underscore_fields: keep, ..Default::default() };
        let rules = Forwarding::new(&options, &RegexCache::default()).expect("rules");
        let mut head = weir_wire::RequestHead::default();
        for name in
            ["Content_Length", "TRANSFER_encoding", "transfer-encoding", "X_Y", "Content_Lengthy"]
        {
            head.fields.append(name.as_bytes(), b"1");
        }
        rules.receive(&mut head, "127.0.0.1".parse().expect("an address"));
        let names: Vec<String> = head
            .fields
            .iter()
            .map(|(name, _)| String::from_utf8_lossy(name).into_owned())
            .collect();
        assert_eq!(names, expected);
    };
    check(false, &["transfer-encoding", "X_Y", "Content_Lengthy"]);
    check(
        true,
        &["Content_Length", "TRANSFER_encoding", "transfer-encoding", "X_Y", "Content_Lengthy"],
    );
}
