//! wrk: its scripts and its report.

use super::Counted;
use crate::shapes::{Pattern, lua};

/// A body of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// None: a GET.
    None,
    /// So many bytes, with their length.
    Length(usize),
    /// So many bytes in chunks of 4 KiB.
    Chunked(usize),
}

/// The parts of a request beside its pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Extra {
    /// Further field lines, each ending in CRLF.
    pub fields: String,
    /// Body.
    pub body: Body,
    /// Requests sent at a time on each connection.
    pub pipelined: usize,
}

impl Default for Extra {
    fn default() -> Self {
        Self { fields: String::new(), body: Body::None, pipelined: 1 }
    }
}

/// Bytes of a chunk of a chunked request.
const CHUNK_BYTES: usize = 4096;

/// Above this size, a request is made once and not for each time it is sent.
const DRAWN_BYTES_MAX: usize = 64 * 1024;

/// The script for requests to `count` routes of a shape. Each request draws its route at random, so
/// that all parts of a large table are used.
pub fn script(host: &str, patterns: &[Pattern], count: u64, extra: &Extra) -> String {
    let (framing, payload) = match extra.body {
        Body::None => (String::new(), "local payload = \"\"\n".to_owned()),
        Body::Length(bytes) => (
            format!("Content-Length: {bytes}\r\n"),
            format!("local payload = string.rep(\"x\", {bytes})\n"),
        ),
        Body::Chunked(bytes) => ("Transfer-Encoding: chunked\r\n".to_owned(), chunks(bytes)),
    };
    let mut one =
        format!("local function one()\n  local n = math.random(0, {})\n", count.saturating_sub(1));
    for (kind, pattern) in patterns.iter().enumerate() {
        let method = if extra.body == Body::None { pattern.method } else { "POST" };
        let host = match pattern.fields.starts_with("Host:") {
            true => String::new(),
            false => format!("Host: {host}\r\n"),
        };
        let head = format!(
            "{method} {} HTTP/1.1\r\n{host}{}{}{framing}\r\n",
            pattern.target, pattern.fields, extra.fields
        );
        // The last one needs no condition, nor does the only one.
        let condition = match kind + 1 == patterns.len() {
            true => "do".to_owned(),
            false => format!("if n % {} == {kind} then", patterns.len()),
        };
        one.push_str(&format!("  {condition} return {} .. payload end\n", lua(&head)));
    }
    one.push_str("end\n");
    let bytes = match extra.body {
        Body::None => 0,
        Body::Length(bytes) | Body::Chunked(bytes) => bytes,
    };
    let request = match (bytes > DRAWN_BYTES_MAX, extra.pipelined) {
        (true, _) => {
            "local made\nfunction request()\n  made = made or one()\n  return made\nend\n".into()
        }
        (false, 1) => "request = one\n".to_owned(),
        (false, many) => format!(
            "function request()\n  local all = {{}}\n  for i = 1, {many} do all[i] = one() end\n  \
             return table.concat(all)\nend\n"
        ),
    };
    // Every run draws other routes.
    format!("math.randomseed(os.time())\n{payload}{one}{request}")
}

fn chunks(bytes: usize) -> String {
    let (whole, rest) = (bytes / CHUNK_BYTES, bytes % CHUNK_BYTES);
    let mut lua = format!(
        "local payload = string.rep(\"{CHUNK_BYTES:x}\\r\\n\" .. string.rep(\"x\", {CHUNK_BYTES}) .. \
         \"\\r\\n\", {whole})\n"
    );
    if rest > 0 {
        lua.push_str(&format!(
            "payload = payload .. \"{rest:x}\\r\\n\" .. string.rep(\"x\", {rest}) .. \"\\r\\n\"\n"
        ));
    }
    lua.push_str("payload = payload .. \"0\\r\\n\\r\\n\"\n");
    lua
}

/// Reads wrk's report.
///
/// # Errors
/// It is not one.
pub fn parse(report: &str) -> anyhow::Result<Counted> {
    let mut counted = Counted::default();
    let mut seen = 0;
    for line in report.lines().map(str::trim) {
        if let Some((requests, _)) = line.split_once(" requests in ") {
            counted.requests = requests.parse()?;
            seen += 1;
        } else if let Some(rate) = line.strip_prefix("Requests/sec:") {
            counted.rate = rate.trim().parse()?;
            seen += 1;
        } else if let Some(errors) = line.strip_prefix("Socket errors:") {
            let words = errors.split([' ', ',']).filter(|word| !word.is_empty());
            counted.errors += words.filter_map(|word| word.parse::<u64>().ok()).sum::<u64>();
        } else if let Some(bad) = line.strip_prefix("Non-2xx or 3xx responses:") {
            counted.errors += bad.trim().parse::<u64>()?;
        }
    }
    anyhow::ensure!(seen == 2, "wrk reported nothing:\n{report}");
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::{Body, Counted, Extra, parse, script};
    use crate::shapes::Shape;

    const REPORT: &str = "\
Running 3s test @ http://127.0.0.1:21999/ok
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   269.96us   91.57us   4.56ms   92.77%
    Req/Sec   243.14k     8.29k  254.12k    83.87%
  750370 requests in 3.10s, 47.95MB read
  Socket errors: connect 1, read 20, write 0, timeout 300
  Non-2xx or 3xx responses: 4000
Requests/sec: 242099.67
Transfer/sec:     15.47MB
";

    #[test]
    fn reports_are_read() {
        let got = parse(REPORT).unwrap();
        assert_eq!(got, Counted { requests: 750_370, errors: 4321, rate: 242_099.67 });
        let clean: String = REPORT
            .lines()
            .filter(|line| !line.contains("errors") && !line.contains("Non-2xx"))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(parse(&clean).unwrap().errors, 0);
        assert!(parse("unable to connect to 127.0.0.1:1 Connection refused").is_err());
    }

    #[test]
    fn scripts_have_what_is_asked_for() {
        let make = |shape: Shape, extra| script("a:1", &shape.patterns(), 1000, &extra);
        let lua = make(Shape::Exact, Extra { pipelined: 16, ..Extra::default() });
        assert!(lua.contains("math.random(0, 999)") && lua.contains("for i = 1, 16"), "{lua}");
        let get =
            "do return \"GET /\" .. n .. \" HTTP/1.1\\r\\nHost: a:1\\r\\n\\r\\n\" .. payload end";
        assert!(lua.contains(get), "{lua}");
        let lua = make(Shape::Exact, Extra { body: Body::Chunked(5000), ..Extra::default() });
        assert!(lua.contains("\"1000\\r\\n\"") && lua.contains("\"388\\r\\n\""), "{lua}");
        assert!(lua.contains("POST /") && lua.contains("chunked"), "{lua}");
        let lua = make(Shape::Exact, Extra { body: Body::Length(1 << 20), ..Extra::default() });
        assert!(lua.contains("made = made or one()"), "{lua}");
        let lua = make(Shape::Mixed, Extra::default());
        assert!(lua.contains("if n % 4 == 2 then") && !lua.contains("if n % 4 == 3"), "{lua}");
        assert_eq!(lua.matches("Host: a:1").count(), 3, "{lua}");
    }
}
