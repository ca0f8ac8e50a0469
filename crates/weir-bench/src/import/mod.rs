//! Requests written for other tools, as a plan: curl commands, `.http` files, vegeta targets, HAR,
//! OpenAPI descriptions, JMeter plans, and weir's own access log.
//!
//! An unknown part is an error with its line; nothing is left out silently. All requests of a file
//! must go to one origin, since a plan has one target.

mod found;
mod jmx;
mod openapi;

pub use found::Given;
use found::{Found, Head, quote};

use crate::target::Target;
use crate::trace::Trace;
use anyhow::{Context, bail, ensure};
use std::fmt::Write;

/// What the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// curl commands, one per line; a line may go on behind a backslash
    Curl,
    /// An .http (or .rest) file
    Http,
    /// vegeta targets in text form
    Vegeta,
    /// A HAR archive; cookies are left out
    Har,
    /// An OpenAPI 3 description in JSON or YAML: each operation with its examples
    Openapi,
    /// A JMeter test plan: a strict subset
    Jmx,
    /// An access log of weir, replayed at its times
    AccessLog,
}

/// A plan in YAML that sends the requests of `text`.
///
/// # Errors
/// With the place that is not understood.
pub fn plan(format: Format, text: &str, given: &Given<'_>) -> anyhow::Result<String> {
    let (head, found) = match format {
        Format::Curl => (Head::new(), curl(text)?),
        Format::Http => (Head::new(), http(text)?),
        Format::Vegeta => (Head::new(), vegeta(text)?),
        Format::Har => (Head::new(), har(text)?),
        Format::Openapi => (Head::new(), openapi::requests(text, given.target)?),
        Format::Jmx => jmx::plan(text)?,
        Format::AccessLog => return replay(text, given),
    };
    let Some(first) = found.first() else { bail!("there is no request in it") };
    let origin = first.target(given)?.authority;
    let url = match given.target {
        Some(url) => {
            Target::parse(url).map_err(anyhow::Error::msg).context("--target")?;
            url.to_owned()
        }
        None => format!("http://{origin}"),
    };
    let mut out = format!("target: {}\n", quote(&url));
    for line in head {
        let _ = writeln!(out, "{line}");
    }
    out.push_str("requests:\n");
    for request in &found {
        let target = request.target(given)?;
        if target.authority != origin {
            bail!(
                "{}a plan has one target, which is {origin} here: take {} out of the file",
                request.at(),
                request.url
            );
        }
        request.write(&target.path, &mut out);
    }
    Ok(out)
}

/// A plan that replays a log.
fn replay(text: &str, given: &Given<'_>) -> anyhow::Result<String> {
    let trace = Trace::read(text)?;
    let url = match (given.target, &trace.host) {
        (Some(url), _) => url.to_owned(),
        (None, Some(host)) => format!("http://{host}"),
        (None, None) => bail!("the log does not tell the host: give --target URL"),
    };
    let requests = trace.order.len();
    let seconds = trace.times.last().map_or(0.0, |last| crate::clock::seconds(*last));
    let mut out = format!("# {requests} requests in {seconds:.3} s\n");
    if trace.without_body > 0 {
        let _ = writeln!(out, "# {} of them without the body they had", trace.without_body);
    }
    let _ = write!(out, "target: {}\nload:\n  replay: {}\n", quote(&url), quote(given.file));
    Ok(out)
}

fn header(line: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = line.split_once(':').with_context(|| format!("no colon in '{line}'"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Words of a shell line: blanks, quotes and backslashes, no expansion.
fn words(line: &str) -> anyhow::Result<Vec<String>> {
    let (mut words, mut word, mut open, mut quoted) = (Vec::new(), String::new(), None, false);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, open) {
            ('\'' | '"', None) => (open, quoted) = (Some(letter), true),
            (end, Some(start)) if end == start => open = None,
            ('\\', None | Some('"')) => word.extend(letters.next()),
            (' ' | '\t', None) => {
                if quoted || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                quoted = false;
            }
            (other, _) => word.push(other),
        }
    }
    if open.is_some() {
        bail!("a quote is not closed");
    }
    if quoted || !word.is_empty() {
        words.push(word);
    }
    Ok(words)
}

fn curl(text: &str) -> anyhow::Result<Vec<Found>> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let lines = joined.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| curl_line(line).with_context(|| line.to_owned()))
        .collect()
}

fn curl_line(line: &str) -> anyhow::Result<Found> {
    let mut words = words(line)?.into_iter();
    if words.next().as_deref() != Some("curl") {
        bail!("it does not begin with curl");
    }
    let mut found = Found::default();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "-X" | "--request" => found.method = value()?,
            "-H" | "--header" => found.headers.push(header(&value()?)?),
            "-A" | "--user-agent" => found.headers.push(("User-Agent".into(), value()?)),
            "-b" | "--cookie" => found.headers.push(("Cookie".into(), value()?)),
            "-d" | "--data" | "--data-raw" | "--data-binary" => {
                let more = value()?;
                if more.starts_with('@') && word != "--data-raw" {
                    bail!("{word} {more}: data from a file is not taken");
                }
                found.body = Some(match found.body.take() {
                    Some(before) => format!("{before}&{more}"),
                    None => more,
                });
            }
            "-I" | "--head" => found.method = "HEAD".into(),
            "--url" => found.url = value()?,
            "-s" | "-S" | "-sS" | "-i" | "-v" | "-k" | "--silent" | "--compressed" => {}
            other if other.starts_with('-') => bail!("{other} is not understood"),
            _ => found.url = word,
        }
    }
    if found.method.is_empty() {
        found.method = if found.body.is_some() { "POST" } else { "GET" }.into();
    }
    let typed = found.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if found.body.is_some() && !typed {
        let form = "application/x-www-form-urlencoded".to_owned();
        found.headers.push(("Content-Type".into(), form));
    }
    Ok(found)
}

/// `METHOD URL [HTTP/1.1]`, or a URL alone; the URL is whole, so that no word is taken for a host.
fn request_line(place: String, line: &str) -> anyhow::Result<Found> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (method, url) = match words.as_slice() {
        [url] | [url, "HTTP/1.1"] => ("GET", *url),
        [method, url] | [method, url, "HTTP/1.1"] => (*method, *url),
        _ => bail!("{place}: '{}' is not METHOD http://HOST:PORT/PATH", line.trim()),
    };
    ensure!(!url.contains("{{"), "{place}: {url}: variables are not taken: write their values");
    ensure!(
        url.contains("://"),
        "{place}: '{url}' is no whole URL: write METHOD http://HOST:PORT/PATH, such as GET \
         http://127.0.0.1:8080/{}",
        url.trim_start_matches('/')
    );
    ensure!(
        weir_wire::is_token(method.as_bytes()),
        "{place}: '{method}' is not a method such as GET or POST"
    );
    Ok(Found { place, method: method.into(), url: url.into(), ..Found::default() })
}

fn http(text: &str) -> anyhow::Result<Vec<Found>> {
    let lines: Vec<(usize, &str)> = (1..).zip(text.lines()).collect();
    let mut all = Vec::new();
    for block in lines.split(|(_, line)| line.starts_with("###")) {
        let comment = |line: &str| line.starts_with('#') || line.starts_with("//");
        let mut lines =
            block.iter().skip_while(|(_, line)| line.trim().is_empty() || comment(line));
        let Some((number, first)) = lines.next() else { continue };
        let mut found = request_line(format!("line {number}"), first)?;
        let head = lines.by_ref().take_while(|(_, line)| !line.trim().is_empty());
        for (number, line) in head.filter(|(_, line)| !comment(line)) {
            found.headers.push(header(line.trim()).with_context(|| format!("line {number}"))?);
        }
        let body: Vec<&str> = lines.map(|(_, line)| *line).collect();
        let body = body.join("\n");
        if body.contains("{{") || body.starts_with("< ") {
            bail!(
                "line {number}: variables, scripts and files are not taken: write what they give"
            );
        }
        found.body = (!body.trim().is_empty()).then(|| body.trim_end().to_owned());
        all.push(found);
    }
    Ok(all)
}

fn vegeta(text: &str) -> anyhow::Result<Vec<Found>> {
    let mut all: Vec<Found> = Vec::new();
    let mut inside = false;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let place = format!("line {number}");
        // A field's name, but not the scheme of a URL that stands alone.
        let field = line.split_once(':').is_some_and(|(name, rest)| {
            weir_wire::is_token(name.as_bytes()) && !rest.starts_with("//")
        });
        if line.is_empty() {
            inside = false;
        } else if line.starts_with('@') {
            bail!("{place}: bodies from files are not taken: write the body into the plan");
        } else if line.starts_with('#') {
        } else if let (true, Some(last), true) = (inside, all.last_mut(), field) {
            last.headers.push(header(line)?);
        } else {
            all.push(request_line(place, line)?);
            inside = true;
        }
    }
    Ok(all)
}

fn har(text: &str) -> anyhow::Result<Vec<Found>> {
    let archive: serde_json::Value = serde_json::from_str(text)
        .context("it is not JSON, as a HAR archive is: is the file cut short, or another one?")?;
    let entries = archive.pointer("/log/entries").and_then(|entries| entries.as_array());
    let text = |value: &serde_json::Value, at: &str| {
        value.pointer(at).and_then(|value| value.as_str()).map(str::to_owned)
    };
    let mut all = Vec::new();
    let entries = entries.context("no /log/entries: it is not a HAR archive")?;
    for (number, entry) in (1..).zip(entries) {
        let place = format!("entry {number}");
        let need = |at: &str| text(entry, at).with_context(|| format!("{place}: no {at}"));
        let headers = entry.pointer("/request/headers").and_then(|headers| headers.as_array());
        let named =
            |field: &serde_json::Value| Some((text(field, "/name")?, text(field, "/value")?));
        let kept = |field: &(String, String)| {
            !field.0.starts_with(':') && !field.0.eq_ignore_ascii_case("cookie")
        };
        all.push(Found {
            method: need("/request/method")?,
            url: need("/request/url")?,
            headers: headers.into_iter().flatten().filter_map(named).filter(kept).collect(),
            body: text(entry, "/request/postData/text"),
            more: Vec::new(),
            place,
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{Format, Given, plan};
    use crate::plan::Message;
    use crate::plan_file::PlanFile;

    /// The messages of the plan, or the error.
    fn check(format: Format, text: &str, expected: &[&str]) {
        let compiled = plan(format, text, &Given::default())
            .and_then(|yaml| Ok(PlanFile::parse(&yaml)?.compile(".".as_ref())?.0));
        let got: Vec<String> = match compiled {
            Err(error) => vec![format!("{error:#}")],
            Ok(plan) => plan
                .requests
                .iter()
                .map(|request| match &request.message {
                    Message::Fixed(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    Message::Rendered(_) => "rendered".into(),
                })
                .collect(),
        };
        assert_eq!(got.len(), expected.len(), "{got:?}");
        for (got, want) in got.iter().zip(expected) {
            assert!(want.split('~').all(|part| got.contains(part)), "{got:?} lacks {want:?}");
        }
    }

    #[test]
    fn curl_commands() {
        let text = "curl http://127.0.0.1:9/a?b=c\n\
                    curl -X PUT -H 'X-A: it\"s' \\\n  --data-raw '{\"k\": 1}' http://127.0.0.1:9/d";
        let put = "PUT /d HTTP/1.1\r\n~X-A: it\"s\r\n~Content-Length: 8\r\n\r\n{\"k\": 1}";
        check(Format::Curl, text, &["GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:9", put]);
        check(Format::Curl, "curl --proxy x http://127.0.0.1/", &["--proxy is not understood"]);
        check(Format::Curl, "curl 'http://127.0.0.1/", &["quote is not closed"]);
        let two = "curl http://127.0.0.1/\ncurl http://127.0.0.2/";
        check(Format::Curl, two, &["one target"]);
    }

    #[test]
    fn http_files() {
        let text = "# first\nGET http://127.0.0.1:9/a\nAccept: text/html\n\n### second\n\
                    POST http://127.0.0.1:9/b HTTP/1.1\nContent-Type: text/plain\n\nhello\nyou\n";
        let post = "POST /b~Content-Type: text/plain~Content-Length: 9\r\n\r\nhello\nyou";
        check(Format::Http, text, &["GET /a~Accept: text/html", post]);
        let kept = "POST http://127.0.0.1:9/b\n# why\nX-A: 1\n\n# a heading\n// and this\n";
        check(Format::Http, kept, &["X-A: 1~\r\n\r\n# a heading\n// and this"]);
        check(Format::Http, "GET http://127.0.0.1/{{x}}", &["line 1: ~variables are not taken"]);
        let bare = "### a\n\nGET example\n";
        check(Format::Http, bare, &["line 3: 'example' is no whole URL: write METHOD http://HOST"]);
        check(Format::Http, "GET /x\nHost: h\n", &["'/x' is ~GET http://127.0.0.1:8080/x"]);
        let field = "GET http://127.0.0.1/\nX-A: 1\nbroken\n";
        check(Format::Http, field, &["line 3: no colon in 'broken'"]);
    }

    #[test]
    fn vegeta_targets() {
        let text = "GET http://127.0.0.1:9/a\nX-A: 1\n\nDELETE http://127.0.0.1:9/b\n";
        check(Format::Vegeta, text, &["GET /a~X-A: 1", "DELETE /b"]);
        check(Format::Vegeta, "POST http://127.0.0.1/\n@body.json", &["line 2"]);
        let referer = "GET http://127.0.0.1:9/a\nReferer: http://127.0.0.1/x\n";
        check(Format::Vegeta, referer, &["GET /a~Referer: http://127.0.0.1/x"]);
        let bare = "GET http://127.0.0.1:9/a\n\nGET\n";
        check(Format::Vegeta, bare, &["line 3: 'GET' is no whole URL: write METHOD http://HOST"]);
        check(Format::Vegeta, "foo bar", &["line 1: 'bar' is no whole URL"]);
        check(Format::Vegeta, "GET a b c", &["line 1: 'GET a b c' is not METHOD"]);
        let two = "GET http://127.0.0.1/\n\nGET http://127.0.0.2/\n";
        check(Format::Vegeta, two, &["line 3: a plan has one target, which is 127.0.0.1 here"]);
    }

    #[test]
    fn har_archives() {
        let text = r#"{"log":{"entries":[{"request":{"method":"POST","url":"http://127.0.0.1:9/a",
            "headers":[{"name":"Cookie","value":"s=1"},{"name":"X-A","value":"1"}],
            "postData":{"text":"hi"}}}]}}"#;
        check(Format::Har, text, &["POST /a~X-A: 1~\r\n\r\nhi"]);
        let yaml = plan(Format::Har, text, &Given::default()).unwrap();
        assert!(!yaml.contains("Cookie"), "{yaml}");
        check(Format::Har, "{}", &["no /log/entries"]);
        check(Format::Har, "not JSON", &["it is not JSON, as a HAR archive is"]);
        let without = text.replace("\"method\"", "\"verb\"");
        check(Format::Har, &without, &["entry 1: no /request/method"]);
    }

    /// Browsers record mostly requests over TLS; the measured gateway may not use it.
    #[test]
    fn requests_sent_by_tls_need_another_target() {
        let text = "GET https://example.org/a\n";
        check(Format::Vegeta, text, &["line 1: https://example.org/a: ~give --target http://"]);
        let given = Given { target: Some("http://127.0.0.1:9"), file: "" };
        let yaml = plan(Format::Vegeta, text, &given).unwrap();
        assert!(yaml.starts_with("target: \"http://127.0.0.1:9\"\n"), "{yaml}");
        assert!(yaml.contains("path: \"/a\""), "{yaml}");
        let wrong = Given { target: Some("ftp://x"), file: "" };
        assert!(
            format!("{:#}", plan(Format::Vegeta, text, &wrong).unwrap_err()).contains("--target")
        );
    }

    #[test]
    fn access_logs() {
        let text = "- - - [21/Nov/2026:07:00:01 +0000] \"GET /a HTTP/1.1\" 200 5\n";
        let given = Given { target: Some("http://127.0.0.1:9"), file: "a.log" };
        let yaml = plan(Format::AccessLog, text, &given).unwrap();
        let want =
            "# 1 requests in 0.000 s\ntarget: \"http://127.0.0.1:9\"\nload:\n  replay: \"a.log\"\n";
        assert_eq!(yaml, want);
        check(Format::AccessLog, text, &["give --target URL"]);
    }
}
