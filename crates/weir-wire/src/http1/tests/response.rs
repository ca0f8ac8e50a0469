//! Status lines, fields, framing of responses.

use super::kind;
use crate::http1::{HeadLimits, Parsed, parse_response};
use crate::message::ResponseHead;

fn response(method: &str, input: &[u8]) -> String {
    let mut head = ResponseHead::default();
    match parse_response(input, method.as_bytes(), &mut head, &HeadLimits::default()) {
        Ok(Parsed::Partial) => "partial".to_owned(),
        Ok(Parsed::Complete { framing, .. }) => {
            let reason = String::from_utf8_lossy(head.reason());
            format!("{} {reason} {framing}", head.status)
        }
        Err(error) => kind(error).to_owned(),
    }
}

fn check_response(method: &str, input: impl AsRef<[u8]>, expected: &str) {
    let input = input.as_ref();
    let shown = String::from_utf8_lossy(input);
    assert_eq!(response(method, input), expected, "{method} {shown:?}");
    for end in 0..input.len() {
        let early = response(method, &input[..end]);
        assert!(early == "partial" || early == expected, "{shown:?} up to {end}: {early}");
    }
}

#[test]
fn status_lines() {
    let rest = "Content-Length: 1\r\n\r\n";
    check_response("GET", format!("HTTP/1.1 200 OK\r\n{rest}"), "200 OK 1");
    check_response("GET", format!("HTTP/1.1 200 \r\n{rest}"), "200  1");
    check_response("GET", format!("HTTP/1.1 200\r\n{rest}"), "200  1");
    check_response("GET", format!("HTTP/1.1 999 N\u{e9} o\r\n{rest}"), "999 N\u{e9} o 1");
    check_response("GET", format!("HTTP/1.3 200 OK\r\n{rest}"), "200 OK 1");
    check_response("GET", format!("HTTP/1.0 200 OK\r\n{rest}"), "200 OK 1 close");
    for bad in [
        "HTTP/1.1 099 OK\r\n",
        "HTTP/1.1 000 OK\r\n",
        "HTTP/1.1 20 OK\r\n",
        "HTTP/1.1 2000 OK\r\n",
        "HTTP/1.1  200 OK\r\n",
        "HTTP/1.1\t200 OK\r\n",
        "HTTP/1.1 2x0 OK\r\n",
        "HTTP/1.1 200 O\0K\r\n",
        "HTTP/1.1 200 O\rK\r\n",
        "HTTP/1.1 200 OK\n",
        "HTTP/1.1 200\n",
        "ICY 200 OK\r\n",
        "\r\nHTTP/1.1 200 OK\r\n",
        "<html>",
    ] {
        check_response("GET", format!("{bad}{rest}"), "syntax");
    }
    check_response("GET", format!("HTTP/2.0 200 OK\r\n{rest}"), "version");
}

#[test]
fn response_fields() {
    let check = |fields: &str, expected: &str| {
        check_response("GET", format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n"), expected);
    };
    check("Content-Length : 5", "200 OK 5");
    check("X: 1\r\n fold", "syntax");
    check("X: 1\r\n\tfold: 2", "syntax");
    check(" X: 1", "syntax");
    check("X: \0", "syntax");
    check("X: 1\nContent-Length: 5", "syntax");
    check("X\u{e9}: 1", "syntax");
    check("Content-Length: 5, 5", "framing");
    check("Content-Length: +5", "framing");
    check("Content-Length: 5\r\nContent-Length: 5", "framing");
    check("Content-Length: 5\r\nTransfer-Encoding: chunked", "framing");
    check("Transfer-Encoding: chunked", "200 OK chunked");
    check("Transfer-Encoding: gzip, chunked", "coding");
    check("Transfer-Encoding: chunked, gzip", "framing");
    check("Connection: close\r\nContent-Length: 5", "200 OK 5 close");
    check("Connection: keep-alive", "200 OK until-close close");
    check_response("GET", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "framing");
    let old = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n";
    check_response("GET", old, "200 OK 0");
}

#[test]
fn responses_without_body() {
    let check = |method: &str, status: u16, fields: &str, expected: &str| {
        let head = format!("HTTP/1.1 {status} R\r\n{fields}\r\n");
        check_response(method, head, &format!("{status} R {expected}"));
    };
    check("HEAD", 200, "Content-Length: 5\r\n", "none");
    check("HEAD", 200, "Transfer-Encoding: chunked\r\n", "none");
    check("HEAD", 200, "", "none");
    check("head", 200, "Content-Length: 5\r\n", "5");
    check("GET", 304, "Content-Length: 5\r\n", "none");
    check("GET", 204, "", "none");
    check("GET", 204, "Content-Length: 0\r\n", "none");
    check("GET", 204, "Content-Length: 5\r\n", "none close");
    check("GET", 204, "Transfer-Encoding: chunked\r\n", "none close");
    check("GET", 100, "", "none interim");
    check("GET", 103, "Link: a\r\n", "none interim");
    check("GET", 102, "Content-Length: 5\r\n", "none close interim");
    check("GET", 101, "Upgrade: a\r\nConnection: upgrade\r\n", "none tunnel");
    check("CONNECT", 200, "", "none tunnel");
    check("CONNECT", 299, "Content-Length: 5\r\n", "none close tunnel");
    check("CONNECT", 407, "Content-Length: 5\r\n", "5");
    check("GET", 205, "Content-Length: 0\r\n", "0");
}

#[test]
fn lengths_stay_in_the_fields_where_they_are_allowed() {
    let check = |method: &str, status: u16, expected: bool| {
        let text = format!("HTTP/1.1 {status} R\r\nContent-Length: 5\r\nX: 1\r\n\r\n");
        let mut head = ResponseHead::default();
        let limits = HeadLimits::default();
        parse_response(text.as_bytes(), method.as_bytes(), &mut head, &limits).unwrap();
        assert_eq!(head.fields.contains(b"content-length"), expected, "{method} {status}");
        assert_eq!(head.fields.get(b"x"), Some(&b"1"[..]));
    };
    check("HEAD", 200, true);
    check("GET", 304, true);
    check("GET", 204, false);
    check("GET", 103, false);
    check("CONNECT", 200, false);
}
