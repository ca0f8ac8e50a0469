//! Targets and Host.

use super::check;
use crate::http1::{HeadLimits, parse_request};
use crate::message::RequestHead;

/// Checks a request with this target.
fn check_target(method: &str, target: &str, expected: &str) {
    let head = format!("{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n");
    match expected {
        "target" | "syntax" => check(head, expected),
        _ => check(head, &format!("{method} {expected} none")),
    }
}

#[test]
fn targets() {
    check_target("GET", "/a/../%2e//?", "/a/../%2e// ?");
    check_target("GET", "/a?b=c?d&e[]=%7E+/", "/a ?b=c?d&e[]=%7E+/");
    check_target("GET", "//a:b@c/d", "//a:b@c/d");
    check_target("OPTIONS", "*", "*");
    check_target("CONNECT", "b:443", " @b:443");
    check_target("CONNECT", "[::1]:443", " @[::1]:443");
    check_target("GET", "http://b/c?d", "/c ?d @b");
    check_target("GET", "HTTPS://b:1/", "/ @b:1");
    check_target("GET", "http://b", "/ @b");
    check_target("GET", "http://b?c=http://d/", "/ ?c=http://d/ @b");
    check_target("OPTIONS", "http://b", "* @b");
    check_target("OPTIONS", "http://b/", "/ @b");
    check_target("OPTIONS", "http://b?c", "/ ?c @b");
    for bad in [
        "*",
        "**",
        "b:443",
        "b",
        "?a",
        "http:/b",
        "http:b",
        "http://",
        "http:///c",
        "http://?c",
        "http://u@b/",
        "http://u:p@b/",
        "http://b:x/",
        "http://a,b/",
        "ftp://b/",
        "file:///etc/passwd",
        "unix:/a",
        "/#",
        "/a#b",
        "/%zz",
        "/%2",
        "/%",
        "/?%g0",
        "/\u{e9}",
        "/?\u{e9}",
        "/\\",
        "/\"",
        "/<",
        "/>",
        "/^",
        "/`",
        "/{",
        "/|",
        "/}",
        "/?{}",
        "/\0",
        "/a\tb",
        "/\x7f",
    ] {
        check_target("GET", bad, "target");
    }
    check(b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", "target");
    check_target("GET", "/a b", "syntax");
    for bad in ["/", "b", "b:", "*", "http://b/", "b:443/", "u@b:443", "b:x"] {
        check_target("CONNECT", bad, "target");
    }
}

#[test]
fn hosts() {
    check("GET / HTTP/1.1\r\n\r\n", "target");
    check("GET http://b/ HTTP/1.1\r\n\r\n", "target");
    check("GET / HTTP/1.0\r\n\r\n", "GET / none close");
    check("GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET / none");
    check("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "target");
    check("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", "target");
    check("GET / HTTP/1.1\r\nHost: A.b:80\r\n\r\n", "GET / none");
    check("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "GET / none");
    for bad in ["a@b", "a,b", "a, b", "a b", "[::1", "a:b", "http://a", "a/", "a:1:2", ":80"] {
        check(format!("GET / HTTP/1.1\r\nHost: {bad}\r\n\r\n"), "target");
        check(format!("GET / HTTP/1.0\r\nHost: {bad}\r\n\r\n"), "target");
    }
}

#[test]
fn a_path_that_every_server_reads_alike_is_known_to_be() {
    let mut head = RequestHead::default();
    let mut check = |target: &str, expected: bool| {
        let text = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        parse_request(text.as_bytes(), &mut head, &HeadLimits::default()).unwrap();
        assert_eq!(head.path_is_plain(), expected, "{target}");
    };
    for other in ["/a//b", "/a.b", "/a%20b", "/a;b", "/a?b", "http://a/b", "http://a"] {
        check(other, false);
        check("/", true);
        check("/a/b-c_d/7", true);
    }
    assert!(head.path_is_plain());
    head.set_path(b"/a");
    assert!(!head.path_is_plain());
}

#[test]
fn the_authority_of_the_target_replaces_host() {
    let host_of = |input: &str| {
        let mut head = RequestHead::default();
        parse_request(input.as_bytes(), &mut head, &HeadLimits::default()).unwrap();
        let fields: Vec<_> = head.fields.get_all(b"host").map(<[u8]>::to_vec).collect();
        assert_eq!(fields, [head.host().to_vec()]);
        String::from_utf8(head.host().to_vec()).unwrap()
    };
    assert_eq!(host_of("GET http://x/ HTTP/1.1\r\nHost: a\r\n\r\n"), "x");
    assert_eq!(host_of("GET http://x:1 HTTP/1.0\r\n\r\n"), "x:1");
    assert_eq!(host_of("CONNECT x:1 HTTP/1.1\r\nHost: a\r\n\r\n"), "x:1");
    assert_eq!(host_of("GET / HTTP/1.1\r\nhost: a\r\n\r\n"), "a");
}
