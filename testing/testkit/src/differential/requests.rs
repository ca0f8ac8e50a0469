//! Connections' worth of requests, some of them hostile: grammar first, then single bytes.

use crate::dice::Dice;
use crate::mutation::mutate;

/// The request behind all others on a connection; it ends it.
pub const SENTINEL: &[u8] = b"GET /sentinel HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n";

const METHODS: &[&str] = &["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"];
const ODD_METHODS: &[&str] = &["TRACE", "CONNECT", "get", "X-a!", "", "G\tET", "PRI", "GET/"];

const TARGETS: &[&str] = &[
    "/",
    "/a",
    "/a/b?c=d",
    "/a//b",
    "/a/../b",
    "/a/%2e%2e/b",
    "/a/..;x/b",
    "/a%2Fb",
    "/%7Ea",
    "/a?",
    "/a?b?c",
    "/a.b/..c",
    "/a;x=1/b",
];
const ODD_TARGETS: &[&str] = &[
    "http://other/x",
    "http://other",
    "HTTP://o:80/x?y",
    "https://o/x",
    "*",
    "/..",
    "/%00",
    "/%c0%ae/",
    "/a b",
    "/a#b",
    "/%zz",
    "/a\\b",
    "a",
    "//other/x",
    "/\u{e9}",
    "http://u@o/",
    "http:///x",
    "ftp://o/",
    "/a\tb",
    "o:80",
    "/[x]",
    "?a",
    "",
];
const VERSIONS: &[&str] = &[
    "HTTP/1.0",
    "HTTP/1.2",
    "HTTP/1.9",
    "HTTP/2.0",
    "HTTP/0.9",
    "HTTP/1.10",
    "http/1.1",
    "HTTP/1",
    "HTTP/1.1 ",
    " HTTP/1.1",
    "",
    "HTTP/1.1\t",
    "XTTP/1.1",
    "HTTP/1.1\r\nX:",
];
const FIELDS: &[&str] = &[
    "Accept: */*",
    "X-A: 1",
    "X-A: 2",
    "Cookie: a=b; c=d",
    "User-Agent: \u{e9}",
    "X-Empty:",
    "X-Blanks: \t a  b \t",
    "TE: trailers",
    "Expect: 100-continue",
    "Connection: keep-alive",
    "Connection: X-A",
    "Keep-Alive: timeout=5",
    "Trailer: X-T",
    "Via: 1.1 x",
    "X_A: 1",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Range: bytes=0-1",
    "Authorization: Basic x",
];
const ODD_FIELDS: &[&str] = &[
    "Host: b",
    "Host : b",
    "X-A : 1",
    " X-A: 1",
    "X-A: a\r\n b",
    "X-A: a\r\n\tb",
    "X-A",
    ": x",
    "X-A: a\nX-B: b",
    "X-A: a\rX-B: b",
    "X-A: \0",
    "X\0A: 1",
    "X-\u{e9}: 1",
    "X-A: \x7f",
    "X(A: 1",
    "Connection: Content-Length",
    "Connection: Transfer-Encoding",
    "Connection: Host",
    "Connection: close",
    "Content_Length: 5",
    "Transfer_Encoding: chunked",
    "Content-Length : 5",
    "Content-Length: 5",
    "Content-Length: 0",
    "Transfer-Encoding: chunked",
    "X-A: a\r",
    "Transfer-Encoding\t: chunked",
    "X-A: b\r\n\r",
    "Upgrade: h2c",
    "HTTP2-Settings: AAMAAABk",
    "Content-Length\r\n : 5",
    "Content-Encoding: gzip",
    "X-Forwarded-Host: e",
    "Proxy-Connection: x",
];
const LENGTHS: &[&str] = &[
    "+5",
    "-5",
    "0x5",
    "5 ",
    " 5",
    "05",
    "5, 5",
    "5,6",
    "5;",
    "",
    "5_0",
    "\t5",
    "5\x0b",
    "4",
    "6",
    "18446744073709551616",
    "18446744073709551621",
    "5\r\nContent-Length: 5",
    "5\r\nContent-Length: 6",
    "5\r\nTransfer-Encoding: chunked",
    "\u{665}",
    "5.0",
    "5e0",
    "0005",
];
const CODINGS: &[&str] = &[
    "Chunked",
    "CHUNKED",
    " chunked ",
    "\tchunked",
    "\x0bchunked",
    "chunked\x0b",
    "chunked,",
    ",chunked",
    "chunked, chunked",
    "chunked, identity",
    "identity",
    "gzip, chunked",
    "gzip",
    "identity, chunked",
    "\"chunked\"",
    "chunked;x=y",
    "xchunked",
    "chunke",
    "",
    "chunked\0",
    "chunked\r\nContent-Length: 5",
    "chunked\r\nTransfer-Encoding: chunked",
    "cow, chunked",
    "chunked\r\nTransfer-Encoding: identity",
    "\r\n chunked",
    "chunked\r\n\t",
    "\u{a0}chunked",
];
const SIZES: &[&str] = &[
    "0x5",
    "+5",
    "-5",
    " 5",
    "5 ",
    "5\t",
    "05",
    "0000000000000005",
    "00000000000000000005",
    "5;",
    "5;a",
    "5;a=b",
    "5 ; a=b",
    "5;a=\"x;y\"",
    "5;a=\"",
    "5;\u{e9}",
    "5;\0",
    "5;a\nb",
    "5;a\rb",
    "5\n",
    "5\r",
    "10000000000000005",
    "ffffffffffffffff",
    "5g",
    "5.0",
    "",
    "5,5",
    "6",
    "4",
    "5;a\n",
];

/// The bytes of the case with this number; the last request, [`SENTINEL`], is part of them.
pub fn generate(seed: u64, number: u64) -> Vec<u8> {
    let mut dice = Dice::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ number);
    let mut bytes = Vec::new();
    for _ in 0..=dice.below(3) {
        request(&mut dice, &mut bytes);
    }
    if dice.one_in(3) {
        mutate(&mut dice, &mut bytes);
    }
    bytes.extend(SENTINEL);
    bytes
}

fn request(dice: &mut Dice, out: &mut Vec<u8>) {
    if dice.one_in(50) {
        out.extend(dice.pick(&["\r\n", "\n", "\r\n\r\n\r\n\r\n\r\n\r\n", "\r", " ", "\0"]).bytes());
    }
    let odd = |dice: &mut Dice| dice.one_in(40);
    let method = *if odd(dice) { dice.pick(ODD_METHODS) } else { dice.pick(METHODS) };
    let target = *if odd(dice) { dice.pick(ODD_TARGETS) } else { dice.pick(TARGETS) };
    let version = if odd(dice) { *dice.pick(VERSIONS) } else { "HTTP/1.1" };
    let end = if dice.one_in(80) { *dice.pick(&["\n", "\r", "\r\r\n", "\0\r\n"]) } else { "\r\n" };
    out.extend(format!("{method} {target} {version}{end}").bytes());
    let mut lines: Vec<String> = Vec::new();
    for _ in 0..dice.below(4) {
        let list = if dice.one_in(25) { ODD_FIELDS } else { FIELDS };
        lines.push((*dice.pick(list)).to_owned());
    }
    if !dice.one_in(50) {
        let host = if odd(dice) { *dice.pick(&["", "a@b", "a,b", "a b", "[::1"]) } else { "a:80" };
        lines.insert(dice.below(lines.len() + 1), format!("Host: {host}"));
    }
    let body = body(dice, &mut lines);
    for line in lines {
        out.extend(line.bytes());
        let end =
            if dice.one_in(150) { *dice.pick(&["\n", "\r", "\r\r\n", "\r\n\r\n"]) } else { "\r\n" };
        out.extend(end.bytes());
    }
    out.extend(if dice.one_in(150) { &b"\n"[..] } else { b"\r\n" });
    out.extend(body);
}

/// The body, and the field lines for it among `lines`.
fn body(dice: &mut Dice, lines: &mut Vec<String>) -> Vec<u8> {
    let content = content(dice);
    let at = dice.below(lines.len() + 1);
    match dice.below(3) {
        0 => Vec::new(),
        1 => {
            let length = match dice.one_in(12) {
                true => (*dice.pick(LENGTHS)).to_owned(),
                false => content.len().to_string(),
            };
            lines.insert(at, format!("Content-Length: {length}"));
            content
        }
        _ => {
            let coding = if dice.one_in(12) { *dice.pick(CODINGS) } else { "chunked" };
            lines.insert(at, format!("Transfer-Encoding: {coding}"));
            chunks(dice, &content)
        }
    }
}

fn content(dice: &mut Dice) -> Vec<u8> {
    match dice.below(5) {
        0 => Vec::new(),
        1 => b"GET /smuggled HTTP/1.1\r\nHost: s\r\n\r\n".to_vec(),
        2 => b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nX: ".to_vec(),
        3 => (0..dice.below(300)).map(|_| dice.roll() as u8).collect(),
        _ => b"hello".to_vec(),
    }
}

fn chunks(dice: &mut Dice, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = content;
    while !rest.is_empty() {
        let (chunk, tail) = rest.split_at(1 + dice.below(rest.len()));
        let size = match dice.one_in(50) {
            true => (*dice.pick(SIZES)).to_owned(),
            false => format!("{:x}", chunk.len()),
        };
        out.extend(format!("{size}\r\n").bytes());
        out.extend(chunk);
        let end = match dice.one_in(80) {
            true => *dice.pick(&["\n", "\r", "", "\r\n\r\n", "XX", "\r\n "]),
            false => "\r\n",
        };
        out.extend(end.bytes());
        rest = tail;
    }
    let last =
        if dice.one_in(12) { *dice.pick(&["0;a=b", "00", "0 ", "0\n", "-0", "0x0"]) } else { "0" };
    out.extend(format!("{last}\r\n").bytes());
    if dice.one_in(6) {
        let list = if dice.one_in(8) { ODD_FIELDS } else { FIELDS };
        out.extend(format!("{}\r\n", dice.pick(list)).bytes());
    }
    out.extend(if dice.one_in(50) { &b"\n"[..] } else { b"\r\n" });
    out
}
