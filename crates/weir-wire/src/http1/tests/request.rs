//! Request lines, fields, framing, bounds.

use super::{check, request_within};
use crate::http1::{HeadLimits, parse_request};
use crate::message::RequestHead;

/// Checks a request with these fields besides Host.
fn check_fields(fields: &str, expected: &str) {
    let expected = match expected {
        "syntax" | "framing" | "coding" | "target" => expected.to_owned(),
        framing => format!("POST / {framing}"),
    };
    check(format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n"), &expected);
}

#[test]
fn request_lines() {
    check("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / none");
    check("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET", "GET / none +rest");
    check("get / HTTP/1.1\r\nHost: a\r\n\r\n", "get / none");
    check("M-SEARCH! / HTTP/1.1\r\nHost: a\r\n\r\n", "M-SEARCH! / none");
    check("GET / HTTP/1.0\r\n\r\n", "GET / none close");
    check("GET / HTTP/1.2\r\nHost: a\r\n\r\n", "GET / none");
    check("GET / HTTP/1.9\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", "GET / 1 +rest");
    for bad in [
        "GET /\r\n",
        "GET / \r\n",
        "GET  / HTTP/1.1\r\n",
        "GET /  HTTP/1.1\r\n",
        " GET / HTTP/1.1\r\n",
        "GET\t/ HTTP/1.1\r\n",
        "GE\u{e9}T / HTTP/1.1\r\n",
        "G(T / HTTP/1.1\r\n",
        "GET / HTTP/1.1 \r\n",
        "GET / http/1.1\r\n",
        "GET / HTTP/1.12\r\n",
        "GET / HTTP/1.x\r\n",
        "GET / HTTP/1\r\n",
        "GET / HTTP/11\r\n",
        "GET / HTTP/a.1\r\n",
        "GET / XTTP/1.1\r\n",
        "\x16\x03\x01\x02",
        "\0",
    ] {
        check(bad, "syntax");
    }
    for bad in ["0.9", "2.0", "3", "9.1"] {
        check(format!("GET / HTTP/{bad}\r\nHost: a\r\n\r\n"), "version");
    }
    check("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "version");
}

#[test]
fn a_few_empty_lines_are_skipped() {
    let head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    check(format!("\r\n\r\n\r\n{head}"), "GET / none");
    check(format!("\r\n\r\n\r\n\r\n{head}"), "GET / none");
    check("\r\n".repeat(1000), "syntax");
    check(format!("\n{head}"), "syntax");
    check(format!("\r{head}"), "syntax");
    check(format!("\r\n\n{head}"), "syntax");
}

#[test]
fn line_ends_are_crlf() {
    for bad in [
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET / HTTP/1.1\r\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX:\nY: 1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: \n\r\n",
        "GET / HTTP/1.1\rHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r2\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\rX: 1\r\n\r\n",
        "GET / HTTP/1.0\n\n",
    ] {
        check(bad, "syntax");
    }
}

#[test]
fn field_lines() {
    check_fields("X:", "none");
    check_fields("X: \t\u{e9}\u{4e2d} \t", "none");
    check_fields("X: a\tb", "none");
    for bad in [
        "X : 1",
        "X\t: 1",
        " X: 1",
        "X: 1\r\n fold",
        "X: 1\r\n\tfold",
        "X:\r\n fold",
        ": 1",
        "X",
        "X Y: 1",
        "X\u{e9}: 1",
        "X\0: 1",
        "X: \0",
        "X: a\x0bb",
        "X: \x7f",
        "(X): 1",
        "X@: 1",
    ] {
        check_fields(bad, "syntax");
    }
    check("GET / HTTP/1.1\r\n Host: a\r\n\r\n", "syntax");
    check("GET / HTTP/1.1\r\nHost : a\r\n\r\n", "syntax");
    check(b"GET / HTTP/1.1\r\nHost: a\r\nX: \xff\x80\r\n\r\n", "GET / none");
    check(b"GET / HTTP/1.1\r\nHost: a\r\nX\xff: 1\r\n\r\n", "syntax");
}

#[test]
fn content_length() {
    check_fields("Content-Length: 0", "0");
    check_fields("content-LENGTH:5", "5");
    check_fields("Content-Length: 005", "5");
    check_fields("Content-Length: 18446744073709551615", "18446744073709551615");
    for bad in [
        "",
        "+5",
        "-0",
        "-1",
        "0x5",
        "5_0",
        "5 0",
        "5.0",
        "5e1",
        "18446744073709551616",
        "99999999999999999999999",
        "5, 5",
        "5, 6",
        "5,",
        "\u{663}",
        "\"5\"",
    ] {
        check_fields(&format!("Content-Length: {bad}"), "framing");
    }
    check_fields("Content-Length: 5\r\nContent-Length: 5", "framing");
    check_fields("Content-Length: 5\r\ncontent-length: 6", "framing");
    check_fields("Content_Length: 5", "none");
}

#[test]
fn transfer_encoding() {
    check_fields("Transfer-Encoding: chunked", "chunked");
    check_fields("transfer-encoding:\tCHUNKED ", "chunked");
    for bad in [
        "",
        "chunked, x",
        "chunked, identity",
        "identity",
        "gzip",
        ",chunked",
        "chunked,",
        "chunked, chunked",
        "\"chunked\"",
        "'chunked'",
        "chunked;a=b",
        "xchunked",
        "chunked chunked",
        "gzip, , chunked",
        "\u{a0}chunked",
    ] {
        check_fields(&format!("Transfer-Encoding: {bad}"), "framing");
    }
    check_fields("Transfer-Encoding: \x0bchunked", "syntax");
    check_fields("Transfer-Encoding: gzip, chunked", "coding");
    check_fields("Transfer-Encoding: br;q=1,chunked", "coding");
    check_fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "framing");
    check_fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "framing");
    check_fields("Transfer-Encoding: chunked\r\nContent-Length: 5", "framing");
    check_fields("Content-Length: 5\r\nTransfer-Encoding: chunked", "framing");
    check_fields("Content-Length: 0\r\nTransfer-Encoding: chunked", "framing");
    check_fields("Transfer-Encoding : chunked", "syntax");
    check("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "framing");
}

#[test]
fn connection_and_upgrade() {
    check_fields("Connection: close", "none close");
    check_fields("Connection: keep-alive", "none");
    check_fields("Connection: x, CLOSE ,y", "none close");
    check_fields("Connection: x\r\nconnection: close", "none close");
    check_fields("Connection: keep-alive, close", "none close");
    check_fields("Connection: closed", "none");
    check_fields("Connection: Upgrade\r\nUpgrade: websocket", "none upgrade");
    check_fields("Connection: keep-alive\r\nConnection: upgrade\r\nUpgrade: a", "none upgrade");
    check_fields("Upgrade: websocket", "none");
    check_fields("Connection: upgrade", "none");
    let old = |fields: &str| format!("GET / HTTP/1.0\r\n{fields}\r\n\r\n");
    check(old("Connection: keep-alive"), "GET / none");
    check(old("Connection: Keep-Alive, close"), "GET / none close");
    check(old("Connection: upgrade, keep-alive\r\nUpgrade: websocket"), "GET / none");
    check(old("Expect: 100-continue\r\nContent-Length: 5"), "GET / 5 close");
    check_fields("Expect: 100-Continue\r\nContent-Length: 5", "5 continue");
    check_fields("Transfer-Encoding: chunked\r\nExpect: 100-continue", "chunked continue");
    check_fields("Expect: 100-continue", "none");
    check_fields("Expect: 100-continue\r\nContent-Length: 0", "0");
    check_fields("Expect: other\r\nContent-Length: 5", "5");
}

#[test]
fn other_fields_of_the_same_length_do_not_frame() {
    check_fields("From: b\r\nAccept: 100-continue\r\nContent-Length: 5", "5");
    check_fields("Connection: upgrade\r\nReferer: websocket", "none");
    check_fields("User-Agent: close", "none");
    check_fields("Accept-Charset: 5", "none");
    check_fields("If-Modified-Since: chunked", "none");
}

#[test]
fn bounds_hold_at_the_limit_and_one_above() {
    let limits = HeadLimits { target_bytes_max: 10, fields_max: 3, head_bytes_max: 100 };
    let check = |input: String, expected: &str| {
        assert_eq!(request_within(input.as_bytes(), &limits), expected, "{input:?}");
    };
    let tail = "HTTP/1.1\r\nHost: a\r\n";
    check(format!("GET /234567890 {tail}\r\n"), "GET /234567890 none");
    check(format!("GET /2345678901 {tail}\r\n"), "target too long");
    check("GET /234567890".to_owned(), "partial");
    check("GET /2345678901".to_owned(), "target too long");
    check("GET /2345678901 HTTP/3".to_owned(), "target too long");
    check("GET /2345678901\0".to_owned(), "target too long");
    check(" /2345678901".to_owned(), "syntax");
    check(format!("GET / {tail}A: 1\r\nB: 2\r\n\r\n"), "GET / none");
    check(format!("GET / {tail}A: 1\r\nB: 2\r\nC: 3\r\n\r\n"), "too many fields");
    check(format!("GET / {tail}A: 1\r\nB: 2\r\nC: 3\r\n"), "too many fields");
    let full = format!("GET / {tail}A: ");
    let pad = |count: usize| full.clone() + &"x".repeat(count - full.len());
    check(pad(96) + "\r\n\r\n", "GET / none");
    check(pad(97) + "\r\n\r\n", "head too large");
    check(pad(99), "partial");
    check(pad(100), "head too large");
    check(pad(101), "head too large");
    check(format!("{} / {tail}\r\n", "M".repeat(32)), &format!("{} / none", "M".repeat(32)));
    check(format!("{} / {tail}\r\n", "M".repeat(33)), "method too long");
    check("M".repeat(32), "partial");
    check("M".repeat(33), "method too long");
    let huge = HeadLimits { fields_max: 100_000, ..limits };
    let head = HeadLimits { head_bytes_max: 1 << 20, ..huge };
    let lines = |count: usize| format!("GET / {tail}{}\r\n", "A: 1\r\n".repeat(count - 1));
    assert_eq!(request_within(lines(256).as_bytes(), &head), "GET / none");
    assert_eq!(request_within(lines(257).as_bytes(), &head), "too many fields");
    let none = HeadLimits { head_bytes_max: 0, ..limits };
    assert_eq!(request_within(b"", &none), "head too large");
}

#[test]
fn a_reused_head_keeps_its_memory() {
    let long = format!("GET /{0} HTTP/1.1\r\nHost: a\r\nX: {0}\r\n\r\n", "x".repeat(500));
    let mut head = RequestHead::default();
    let mut place_of = |text: &str| {
        parse_request(text.as_bytes(), &mut head, &HeadLimits::default()).unwrap();
        head.method().as_ptr()
    };
    let place = place_of(&long);
    assert_eq!(place_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), place);
    assert_eq!(place_of("GET /"), place_of("GET / HT"));
    assert_eq!(place_of(&long), place);
}
