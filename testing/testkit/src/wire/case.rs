//! The text form of a wire case; `tests/wire/README.md` describes it.

use std::path::Path;

use crate::received::latin1;

/// The cases of one file, and the gateway they need.
#[derive(Debug, Default)]
pub struct Cases {
    /// Routes in YAML flow form, before the catch-all route; `ORIGIN` is the upstream.
    pub routes: Vec<String>,
    /// Further configuration.
    pub config: Vec<String>,
    /// In order.
    pub list: Vec<Case>,
}

/// One exchange, or several on one connection.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// File, line and title.
    pub title: String,
    /// The reason why other gateways may behave differently.
    pub open: Option<String>,
    /// The bytes that the client sends.
    pub request: Vec<u8>,
    /// The client then sends FIN.
    pub finishes: bool,
    /// The upstream's scripts for the first requests; it answers further ones with `ok`.
    pub answers: Vec<Script>,
    /// The expected requests at the upstream.
    pub upstream: Option<Upstream>,
    /// The responses the client must get, in order.
    pub responses: Vec<Response>,
    /// The expected fate of the upstream connection: pooled or dropped.
    pub pool: Option<Pool>,
}

/// The upstream's script for one request.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// The answer does not wait for the request's body.
    pub early: bool,
    /// The bytes sent before the request's body is read.
    pub interim: Vec<u8>,
    /// The bytes sent.
    pub bytes: Vec<u8>,
    /// And then.
    pub end: ScriptEnd,
}

/// The upstream's action after its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScriptEnd {
    /// Awaits the next request.
    #[default]
    Keep,
    /// Sends FIN.
    Close,
    /// Sends RST.
    Reset,
}

/// The expected requests at an upstream.
#[derive(Clone, Debug)]
pub enum Upstream {
    /// No request, not even a part of one.
    Nothing,
    /// No request to its end; its beginning perhaps, on a connection then cut.
    Aborted,
    /// These, in order.
    Requests(Vec<Request>),
}

/// A request an upstream must have got.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Its request line; anything if empty.
    pub line: String,
    /// The body must have been cut off.
    pub cut: bool,
    /// Further checks.
    pub checks: Vec<Check>,
}

/// A response the client must get.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// 0: no response, the connection is closed.
    pub status: u16,
    /// It answers a HEAD request.
    pub to_head: bool,
    /// The expected continuation.
    pub end: End,
    /// Further checks.
    pub checks: Vec<Check>,
}

/// The expected continuation after a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// As the next expectation requires.
    #[default]
    Any,
    /// The connection serves another request.
    Keeps,
    /// The connection is closed without another byte.
    Closes,
    /// The connection ends inside the response, so that the client notices the truncation.
    Cut,
}

/// The expected fate of the upstream connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// The next request uses it.
    Kept,
    /// It carries no other request.
    Dropped,
}

/// A check of a message.
#[derive(Clone, Debug)]
pub enum Check {
    /// It has exactly this field line.
    Has(String),
    /// It has no field with this name.
    Lacks(String),
    /// The values of all lines with this name, in order.
    All(String, Vec<String>),
    /// Its decoded body.
    Body(Vec<u8>),
    /// Its trailers are these lines.
    Trailers(Vec<String>),
    /// Status codes of the 1xx before it.
    Interim(Vec<String>),
}

/// Reads a file of cases.
///
/// # Panics
/// If it is not in the form described.
pub fn read(path: &Path) -> Cases {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut cases = Cases::default();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        cases.take(line, &place);
    }
    for case in &cases.list {
        assert!(case.upstream.is_some(), "{}: does not say what the upstream gets", case.title);
        assert!(!case.responses.is_empty(), "{}: does not say what the client gets", case.title);
    }
    cases
}

impl Cases {
    fn take(&mut self, line: &str, place: &str) {
        if let Some(title) = line.strip_prefix("== ") {
            assert!(title.starts_with('['), "{place}: a title starts with its row, as in [12]");
            self.list.push(Case { title: format!("{place} {title}"), ..Case::default() });
            return;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, self.list.last_mut()) {
            ("" | "#", _) => {}
            ("%route", None) => self.routes.push(rest.to_owned()),
            ("%config", None) => self.config.push(rest.to_owned()),
            (_, Some(case)) => case.take(word, rest, place),
            _ => panic!("{place}: {line:?} before the first case"),
        }
    }
}

impl Case {
    fn take(&mut self, word: &str, rest: &str, place: &str) {
        match word {
            ">" => self.request.extend(unescape(rest, place)),
            "open:" => self.open = Some(rest.to_owned()),
            ">fin" => self.finishes = true,
            "<" => self.answer().bytes.extend(unescape(rest, place)),
            "<early" => self.answer().early = true,
            "<body" => {
                let answer = self.answer();
                assert!(!answer.bytes.is_empty(), "{place}: nothing is sent before <body");
                answer.early = true;
                answer.interim = std::mem::take(&mut answer.bytes);
            }
            "<close" => self.answer().end = ScriptEnd::Close,
            "<reset" => self.answer().end = ScriptEnd::Reset,
            "<next" => self.answers.push(Script::default()),
            "refused:" => {
                self.upstream = Some(Upstream::Nothing);
                self.take("client:", &format!("{rest} closes"), place);
            }
            "aborted:" => {
                self.upstream = Some(Upstream::Aborted);
                self.take("client:", &format!("{rest} closes"), place);
            }
            "client:" => self.responses.push(response(rest, place)),
            "upstream:" => self.expect_upstream(rest, place),
            "pool:" => {
                self.pool = Some(match rest {
                    "kept" => Pool::Kept,
                    "dropped" => Pool::Dropped,
                    _ => panic!("{place}: kept or dropped"),
                });
            }
            _ => {
                let check = check(word, rest, place);
                self.checks(place).push(check);
            }
        }
    }

    fn answer(&mut self) -> &mut Script {
        if self.answers.is_empty() {
            self.answers.push(Script::default());
        }
        self.answers.last_mut().expect("one was just pushed")
    }

    fn expect_upstream(&mut self, rest: &str, place: &str) {
        if rest == "nothing" {
            self.upstream = Some(Upstream::Nothing);
            return;
        }
        let (line, cut) = match rest.strip_suffix(" cut") {
            Some(line) => (line, true),
            None => (rest, false),
        };
        let line = if line == "any" { String::new() } else { latin1(&unescape(line, place)) };
        let request = Request { line, cut, checks: Vec::new() };
        match &mut self.upstream {
            Some(Upstream::Requests(requests)) => requests.push(request),
            other => *other = Some(Upstream::Requests(vec![request])),
        }
    }

    /// The list that a check belongs to: responses come after requests.
    fn checks(&mut self, place: &str) -> &mut Vec<Check> {
        if let Some(response) = self.responses.last_mut() {
            return &mut response.checks;
        }
        match &mut self.upstream {
            Some(Upstream::Requests(requests)) => {
                &mut requests.last_mut().expect("never empty").checks
            }
            _ => panic!("{place}: a check of nothing"),
        }
    }
}

fn response(words: &str, place: &str) -> Response {
    let mut response = Response::default();
    for word in words.split(' ') {
        match word {
            "nothing" => response.end = End::Closes,
            "keeps" => response.end = End::Keeps,
            "closes" => response.end = End::Closes,
            "cut" => response.end = End::Cut,
            "head" => response.to_head = true,
            status => {
                let status = status.parse();
                response.status = status.unwrap_or_else(|_| panic!("{place}: {word:?}?"));
            }
        }
    }
    response
}

fn check(word: &str, rest: &str, place: &str) -> Check {
    let listed = |text: &str, by: &str| -> Vec<String> {
        let items = text.split(by).map(str::trim).filter(|item| !item.is_empty());
        items.map(|item| latin1(&unescape(item, place))).collect()
    };
    match word {
        "has:" => Check::Has(latin1(&unescape(rest, place))),
        "lacks:" => Check::Lacks(rest.to_owned()),
        "all:" => {
            let (name, values) = rest.split_once(" = ").unwrap_or((rest, ""));
            Check::All(name.to_owned(), listed(values, " | "))
        }
        "body:" => Check::Body(unescape(rest, place)),
        "trailers:" => Check::Trailers(listed(rest, " | ")),
        "interim:" => Check::Interim(listed(rest, " ")),
        _ => panic!("{place}: {word:?} is not known"),
    }
}

/// Reads `\r \n \t \\ \xNN`, and `{text*count}` as so many times the text.
fn unescape(text: &str, place: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        match first {
            '\\' => rest = escape(rest, &mut out, place),
            '{' if run(rest).is_some() => {
                let (unit, count, tail) = run(rest).expect("just looked");
                out.extend(unescape(unit, place).repeat(count));
                rest = tail;
            }
            _ => out.extend(first.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out
}

fn escape<'t>(text: &'t str, out: &mut Vec<u8>, place: &str) -> &'t str {
    let (byte, length) = match text.as_bytes() {
        [b'r', ..] => (b'\r', 1),
        [b'n', ..] => (b'\n', 1),
        [b't', ..] => (b'\t', 1),
        [b'\\', ..] => (b'\\', 1),
        [b'x', ..] => {
            let digits = text.get(1..3).unwrap_or_default();
            let byte = u8::from_str_radix(digits, 16);
            (byte.unwrap_or_else(|_| panic!("{place}: \\x{digits}?")), 3)
        }
        _ => panic!("{place}: unknown escape at {text:?}"),
    };
    out.push(byte);
    &text[length..]
}

/// The repeated text, the number of repetitions, and the rest; `text` starts behind the brace.
fn run(text: &str) -> Option<(&str, usize, &str)> {
    let (inside, tail) = text.split_once('}')?;
    let (unit, count) = inside.rsplit_once('*')?;
    Some((unit, count.parse().ok()?, tail))
}

#[cfg(test)]
mod tests {
    use super::unescape;

    fn check(text: &str, expected: &[u8]) {
        assert_eq!(unescape(text, "here"), expected, "{text:?}");
    }

    #[test]
    fn escapes_and_runs() {
        check("GET /\\r\\n", b"GET /\r\n");
        check("\\x00\\xff\\t\\\\", b"\0\xff\t\\");
        check("{a*3}b{\\r\\n*2}", b"aaab\r\n\r\n");
        check("{a} {b*c} }", b"{a} {b*c} }");
        check("\u{e9}", "\u{e9}".as_bytes());
    }
}
