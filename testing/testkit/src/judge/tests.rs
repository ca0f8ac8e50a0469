//! The judge's reading of connections.

use super::{End, canonical, read_requests};

/// `bytes` give these requests (`METHOD target body`, joined by ` | `) and this end.
fn check(bytes: impl AsRef<[u8]>, requests: &str, end: End) {
    let bytes = bytes.as_ref();
    let reading = read_requests(bytes);
    let shown = String::from_utf8_lossy(bytes);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let list: Vec<String> = reading
        .messages
        .iter()
        .map(|m| format!("{} {} {}", text(&m.method), text(&m.target), text(&m.body)))
        .collect();
    assert_eq!((list.join("| ").as_str(), reading.end), (requests, end), "{shown:?}");
    let mut at = 0;
    for message in &reading.messages {
        assert_eq!(message.start, at + 2 * message.empty_lines);
        at = message.end;
    }
}

/// A request whose field lines are `fields` is refused, whatever follows.
fn refused(fields: &str) {
    let bytes = format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    let reading = read_requests(bytes.as_bytes());
    assert!(matches!(reading.end, End::Refused(_)), "{fields:?}: {reading:?}");
    assert_eq!(reading.messages, []);
}

#[test]
fn requests_follow_one_another() {
    check("", "", End::Clean);
    check("GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n", "GET /a?b ", End::Clean);
    check(
        "POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 5\r\n\r\nhello\
         PUT /b HTTP/1.1\r\nHost:\r\nTransfer-Encoding: Chunked\r\n\r\n\
         3;x=\"y\"\r\nabc\r\n02 ;z\r\nde\r\n0\r\nX-T: 1\r\n\r\n\r\nGET / HTTP/1.0\r\n\r\nrest",
        "POST / hello| PUT /b abcde| GET / ",
        End::Last,
    );
    check("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n\0", "CONNECT a:1 ", End::Last);
    check("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\nGET", "GET / ", End::Last);
    check("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / ", End::Clean);
    check("OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "OPTIONS * ", End::Clean);
    check("GET http://b:1/c HTTP/1.9\r\nHost: a\r\n\r\n", "GET http://b:1/c ", End::Clean);
}

#[test]
fn an_unfinished_request_is_not_one() {
    let whole = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
        5;a\r\nhello\r\n0\r\nX: 1\r\n\r\n";
    for cut in 1..whole.len() {
        check(&whole[..cut], "", End::Inside);
    }
    check(whole, "POST / hello", End::Clean);
    let open = read_requests(&whole.as_bytes()[..65]).open.unwrap();
    assert_eq!(open.body, b"hell");
    check("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell", "", End::Inside);
}

#[test]
fn what_can_be_read_in_two_ways_is_refused() {
    for fields in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5, 5",
        "Content-Length: +5",
        "Content-Length: 0x5",
        "Content-Length:",
        "Content-Length: 18446744073709551616",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: \x0bchunked",
        "Transfer-Encoding: identity",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding: chunked\nX: y",
        "X: a\r\n folded",
        "X: \0",
        "X: a\rb",
        "X",
        ": x",
        "X\u{e9}: y",
        "Host: a",
    ] {
        refused(fields);
    }
    for line in [
        "GET / HTTP/2.0",
        "GET / HTTP/1.10",
        "GET / http/1.1",
        "GET  / HTTP/1.1",
        "GET / HTTP/1.1 ",
        "GET /",
        "GE\tT / HTTP/1.1",
        "GET /a#b HTTP/1.1",
        "GET /%zz HTTP/1.1",
        "GET a HTTP/1.1",
        "GET * HTTP/1.1",
        "GET http://u@a/ HTTP/1.1",
        "GET ftp://a/ HTTP/1.1",
        "CONNECT / HTTP/1.1",
        "GET /\u{e9} HTTP/1.1",
    ] {
        let end = read_requests(format!("{line}\r\nHost: a\r\n\r\n").as_bytes()).end;
        assert!(matches!(end, End::Refused(_)), "{line:?}: {end:?}");
    }
}

#[test]
fn chunks_that_are_not() {
    for chunks in [
        "\r\n",
        "x\r\n",
        "0x5\r\n",
        " 5\r\n",
        "5 \r\n",
        "5\n",
        "5\r\nhelloX",
        "5;\x01\r\n",
        "10000000000000005\r\n",
        "0\r\nX\r\n",
        "0\r\n X: y\r\n",
        "+5\r\n",
        "5;a\nb\r\n",
    ] {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let reading = read_requests(format!("{head}{chunks}\r\n").as_bytes());
        assert!(matches!(reading.end, End::Refused(_)), "{chunks:?}: {reading:?}");
        assert!(reading.open.is_some() && reading.messages.is_empty());
    }
}

#[test]
fn canonical_targets() {
    for (target, expected) in [
        ("/", Some("/")),
        ("/a//b/?c/../d", Some("/a//b/?c/../d")),
        ("/a/%2e%2E/b", Some("/b")),
        ("/a/b/..;x", Some("/a/")),
        ("/a/.", Some("/a/")),
        ("/..", None),
        ("http://h?q", Some("/?q")),
        ("http://h/a/../b", Some("/b")),
        ("/%2E%2e%2e/..a", Some("/%2E%2e%2e/..a")),
    ] {
        let path = canonical(b"GET", target.as_bytes());
        assert_eq!(path, expected.map(|path| path.as_bytes().to_vec()), "{target}");
    }
    assert_eq!(canonical(b"OPTIONS", b"http://h"), Some(b"*".to_vec()));
}
