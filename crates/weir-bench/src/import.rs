//! Requests written for other tools, as a plan: curl commands, `.http` files, vegeta targets, HAR.
//!
//! What is not understood is an error with its line; nothing is left out silently. All requests of
//! a file must go to one origin, since a plan has one target.

use crate::target::Target;
use anyhow::{Context, bail};
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
}

/// A request found.
#[derive(Clone, Debug, Default, PartialEq)]
struct Found {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Option<String>,
}

/// Fields the bench writes itself.
const OWN: [&str; 4] = ["host", "content-length", "connection", "accept-encoding"];

/// A plan in YAML that sends the requests of `text`.
///
/// # Errors
/// With the line that is not understood.
pub fn plan(format: Format, text: &str) -> anyhow::Result<String> {
    let found = match format {
        Format::Curl => curl(text)?,
        Format::Http => http(text)?,
        Format::Vegeta => vegeta(text)?,
        Format::Har => har(text)?,
    };
    let Some(first) = found.first() else { bail!("there is no request in it") };
    let base = Target::parse(&first.url).map_err(anyhow::Error::msg)?;
    let mut out = format!("target: {}\nrequests:\n", quote(&format!("http://{}", base.authority)));
    for request in &found {
        let target = Target::parse(&request.url).map_err(anyhow::Error::msg)?;
        if target.authority != base.authority {
            bail!("{}: a plan has one target, and it is {}", request.url, base.authority);
        }
        let _ = writeln!(out, "  - method: {}", quote(&request.method));
        let _ = writeln!(out, "    path: {}", quote(&target.path));
        let kept = || {
            request.headers.iter().filter(|(name, _)| !OWN.contains(&&*name.to_ascii_lowercase()))
        };
        if kept().next().is_some() {
            out.push_str("    headers:\n");
        }
        for (name, value) in kept() {
            let _ = writeln!(out, "      {}: {}", quote(name), quote(value));
        }
        if let Some(body) = &request.body {
            let _ = writeln!(out, "    body: {}", quote(body));
        }
    }
    Ok(out)
}

/// A YAML string; JSON's strings are YAML's.
fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
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

/// `METHOD URL [HTTP/1.1]`, or a URL alone.
fn request_line(line: &str) -> anyhow::Result<Found> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (method, url) = match words.as_slice() {
        [url] | [url, "HTTP/1.1"] => ("GET", url),
        [method, url] | [method, url, "HTTP/1.1"] => (*method, url),
        _ => bail!("'{line}' is not METHOD URL"),
    };
    Ok(Found { method: method.into(), url: (*url).into(), ..Found::default() })
}

fn http(text: &str) -> anyhow::Result<Vec<Found>> {
    let mut all = Vec::new();
    let mut at = 0;
    for block in text
        .replace("\r\n", "\n")
        .split_inclusive('\n')
        .collect::<Vec<_>>()
        .split(|line| line.starts_with("###"))
    {
        let place = at + 1;
        at += block.len() + 1;
        let comment = |line: &&&str| line.starts_with('#') || line.starts_with("//");
        let mut lines = block.iter().skip_while(|line| line.trim().is_empty() || comment(line));
        let Some(first) = lines.next() else { continue };
        let block_error = || format!("the request after line {place}");
        let mut found = request_line(first).with_context(block_error)?;
        let mut lines = lines.filter(|line| !comment(line));
        for line in lines.by_ref().map(|line| line.trim()).take_while(|line| !line.is_empty()) {
            found.headers.push(header(line).with_context(block_error)?);
        }
        let body: String = lines.copied().collect();
        if body.contains("{{") || found.url.contains("{{") || body.starts_with("< ") {
            bail!("{}: variables, scripts and files are not taken", block_error());
        }
        found.body = (!body.trim().is_empty()).then(|| body.trim_end().to_owned());
        all.push(found);
    }
    Ok(all)
}

fn vegeta(text: &str) -> anyhow::Result<Vec<Found>> {
    let mut all: Vec<Found> = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().map(str::trim).enumerate() {
        let place = || format!("line {}", number + 1);
        if line.is_empty() {
            inside = false;
        } else if line.starts_with('@') {
            bail!("{}: bodies from files are not taken", place());
        } else if line.starts_with('#') {
        } else if let (true, Some(last), false) = (inside, all.last_mut(), line.contains("://")) {
            last.headers.push(header(line).with_context(place)?);
        } else {
            all.push(request_line(line).with_context(place)?);
            inside = true;
        }
    }
    Ok(all)
}

fn har(text: &str) -> anyhow::Result<Vec<Found>> {
    let archive: serde_json::Value = serde_json::from_str(text)?;
    let entries = archive.pointer("/log/entries").and_then(|entries| entries.as_array());
    let text = |value: &serde_json::Value, at: &str| {
        value.pointer(at).and_then(|value| value.as_str()).map(str::to_owned)
    };
    let mut all = Vec::new();
    for (number, entry) in entries.context("no /log/entries")?.iter().enumerate() {
        let place = || format!("entry {}", number + 1);
        let headers = entry.pointer("/request/headers").and_then(|headers| headers.as_array());
        let named =
            |field: &serde_json::Value| Some((text(field, "/name")?, text(field, "/value")?));
        let kept = |field: &(String, String)| {
            !field.0.starts_with(':') && !field.0.eq_ignore_ascii_case("cookie")
        };
        all.push(Found {
            method: text(entry, "/request/method").with_context(place)?,
            url: text(entry, "/request/url").with_context(place)?,
            headers: headers.into_iter().flatten().filter_map(named).filter(kept).collect(),
            body: text(entry, "/request/postData/text"),
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{Format, plan};
    use crate::plan::Message;
    use crate::plan_file::PlanFile;

    /// The messages of the plan, or the error.
    fn check(format: Format, text: &str, expected: &[&str]) {
        let compiled = plan(format, text)
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
        check(Format::Http, "GET http://127.0.0.1/{{x}}", &["variables"]);
    }

    #[test]
    fn vegeta_targets() {
        let text = "GET http://127.0.0.1:9/a\nX-A: 1\n\nDELETE http://127.0.0.1:9/b\n";
        check(Format::Vegeta, text, &["GET /a~X-A: 1", "DELETE /b"]);
        check(Format::Vegeta, "POST http://127.0.0.1/\n@body.json", &["line 2"]);
    }

    #[test]
    fn har_archives() {
        let text = r#"{"log":{"entries":[{"request":{"method":"POST","url":"http://127.0.0.1:9/a",
            "headers":[{"name":"Cookie","value":"s=1"},{"name":"X-A","value":"1"}],
            "postData":{"text":"hi"}}}]}}"#;
        check(Format::Har, text, &["POST /a~X-A: 1~\r\n\r\nhi"]);
        let yaml = plan(Format::Har, text).unwrap();
        assert!(!yaml.contains("Cookie"), "{yaml}");
        check(Format::Har, "{}", &["no /log/entries"]);
    }
}
