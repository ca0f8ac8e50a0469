//! An HTTP/1 message in the form of the fixtures: raw head lines and a decoded body. Converts
//! between files and bytes on the wire; compares nothing. The counterpart of the recorder's
//! `Message`.
//!
//! Text is Latin-1 throughout: a `char` is a byte.

use std::io::{self, BufRead, Read};

/// A message, sent, received or written in a fixture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Start line and field lines, without line ends.
    pub head: Vec<String>,
    /// The body without chunked coding.
    pub body: String,
    /// Whether the connection ended before the end of the message.
    pub is_cut: bool,
}

/// The content of a recorded block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A message.
    Message(Message),
    /// A note instead of a message: `(nothing)`, `(no answer)`, `(connection closed)`, `(connection
    /// reset)`.
    Note(String),
}

impl Message {
    /// Reads the lines of a fixture.
    pub fn from_lines(lines: &[String]) -> Self {
        let mut lines = without_blank_end(lines);
        let is_cut = lines.last().is_some_and(|line| line == "(cut)");
        if is_cut {
            lines = &lines[..lines.len() - 1];
        }
        let blank = lines.iter().position(String::is_empty).unwrap_or(lines.len());
        let head = lines[..blank].iter().map(|line| unescape(line)).collect();
        let body = lines.get(blank + 1..).unwrap_or_default().join("\n");
        Self { head, body: unescape(&body), is_cut }
    }

    /// The bytes to send; chunked bodies as one chunk.
    pub fn to_wire(&self, with_body: bool) -> Vec<u8> {
        let length = self.body.len_latin1().to_string();
        let lines = self.head.iter().map(|line| line.replace("{length}", &length) + "\r\n");
        let mut out = lines.collect::<String>() + "\r\n";
        if with_body && self.is_chunked() {
            if !self.body.is_empty() {
                out += &format!("{:x}\r\n{}\r\n", self.body.len_latin1(), self.body);
            }
            out += "0\r\n\r\n";
        } else if with_body {
            out += &self.body;
        }
        to_bytes(&out)
    }

    /// Reads one message; `None` at the end of the stream. An answer to HEAD is `bodyless`.
    ///
    /// # Errors
    /// The stream's, while the head is read; in a body they make the message a cut one.
    pub fn read(
        stream: &mut impl BufRead,
        is_response: bool,
        bodyless: bool,
    ) -> io::Result<Option<Self>> {
        let mut raw = Vec::new();
        while !raw.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte)? == 0 {
                let message = Self { head: vec![to_text(&raw)], body: String::new(), is_cut: true };
                return Ok((!raw.is_empty()).then_some(message));
            }
            raw.push(byte[0]);
        }
        let head = to_text(&raw[..raw.len() - 4]);
        let head = head.split("\r\n").map(str::to_owned).collect();
        let mut message = Self { head, ..Self::default() };
        if !(is_response && (bodyless || message.has_bodyless_status())) {
            let mut body = Vec::new();
            message.is_cut = message.read_body(stream, &mut body, is_response).is_err();
            message.body = to_text(&body);
        }
        Ok(Some(message))
    }

    fn read_body(
        &self,
        stream: &mut impl BufRead,
        body: &mut Vec<u8>,
        to_the_end: bool,
    ) -> io::Result<()> {
        if self.is_chunked() {
            loop {
                let line = read_line(stream)?;
                let size = line.split(';').next().unwrap_or_default();
                match usize::from_str_radix(size, 16).map_err(io::Error::other)? {
                    0 => break,
                    size => copy(stream, body, size)?,
                }
                read_line(stream)?;
            }
            while !read_line(stream)?.is_empty() {}
            return Ok(());
        }
        match self.field("content-length") {
            Some(length) => copy(stream, body, length.parse().map_err(io::Error::other)?),
            None if to_the_end => stream.read_to_end(body).map(drop),
            None => Ok(()),
        }
    }

    /// The first line.
    pub fn start_line(&self) -> &str {
        self.head.first().map_or("", String::as_str)
    }

    /// The status of a response; 0 if the message is none.
    pub fn status(&self) -> u16 {
        self.start_line().split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
    }

    /// Names and values of all field lines.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let split = |line: &'_ String| line.find(':').map(|colon| (colon, line.len()));
        self.head.iter().skip(1).filter_map(move |line| {
            let (colon, _) = split(line)?;
            Some((line[..colon].trim(), line[colon + 1..].trim_matches([' ', '\t'])))
        })
    }

    /// The first value of the field `name`.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Drops the field lines for which `drop` holds; returns their number.
    pub fn drop_fields(&mut self, drop: impl Fn(&str, &str) -> bool) -> usize {
        let before = self.head.len();
        let mut is_start = true;
        self.head.retain(|line| {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            std::mem::take(&mut is_start) || !drop(&name.trim().to_ascii_lowercase(), value.trim())
        });
        before - self.head.len()
    }

    /// Whether the body is chunked.
    pub fn is_chunked(&self) -> bool {
        let coding = self.field("transfer-encoding");
        coding.is_some_and(|value| value.to_ascii_lowercase().contains("chunked"))
    }

    fn has_bodyless_status(&self) -> bool {
        matches!(self.status(), 100..=199 | 204 | 304)
    }
}

impl Block {
    /// Reads the lines of a recorded block.
    pub fn from_lines(lines: &[String]) -> Self {
        match without_blank_end(lines) {
            [note] if note.starts_with('(') && note.ends_with(')') => Self::Note(note.clone()),
            lines => Self::Message(Message::from_lines(lines)),
        }
    }
}

trait Latin1 {
    /// Length in bytes on the wire.
    fn len_latin1(&self) -> usize;
}

impl Latin1 for String {
    fn len_latin1(&self) -> usize {
        self.chars().count()
    }
}

/// Without the empty lines at the end.
pub fn without_blank_end(lines: &[String]) -> &[String] {
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    &lines[..end]
}

/// Bytes as text, a `char` for each.
pub fn to_text(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

fn to_bytes(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(c).expect("a char is a byte")).collect()
}

fn read_line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line)?;
    match line.last() {
        Some(b'\n') => Ok(to_text(&line).trim().to_owned()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn copy(stream: &mut impl BufRead, body: &mut Vec<u8>, count: usize) -> io::Result<()> {
    let copied = stream.take(count as u64).read_to_end(body)?;
    if copied == count { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Printable ASCII for any text, on one line; long runs shortened.
pub fn escape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let mut times = 1;
        while rest.next_if_eq(&c).is_some() {
            times += 1;
        }
        let one = match c {
            '\\' => "\\\\".to_owned(),
            ' '..='~' => c.to_string(),
            _ => format!("\\x{:02X}", u32::from(c)),
        };
        out += &if times < 200 { one.repeat(times) } else { format!("{{{one}*{times}}}") };
    }
    out
}

/// The bytes that a fixture's text denotes.
pub fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (taken, stands_for) = match c {
            '{' => repetition(rest).unwrap_or((1, "{".to_owned())),
            '\\' => match rest.strip_prefix("\\x").and_then(|hex| hex.get(..2)) {
                Some(hex) => (4, char::from(u8::from_str_radix(hex, 16).expect("hex")).to_string()),
                None => (2, "\\".to_owned()),
            },
            _ => (c.len_utf8(), c.to_string()),
        };
        out += &stands_for;
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

/// `{a*9000}` at the start of `text`: its length, and its expansion.
fn repetition(text: &str) -> Option<(usize, String)> {
    let (inside, _) = text.strip_prefix('{')?.split_once('}')?;
    let (what, times) = inside.split_once('*')?;
    let times = times.parse().ok()?;
    (what.chars().count() == 1).then(|| (inside.len() + 2, what.repeat(times)))
}

#[cfg(test)]
mod tests {
    use super::{Block, Message, escape, unescape};

    fn message(text: &str) -> Message {
        Message::from_lines(&text.split('\n').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn text_survives_being_escaped() {
        let check = |text: &str, escaped: &str| {
            assert_eq!(escape(text), escaped);
            assert_eq!(unescape(escaped), text);
        };
        check("a\\b\n\u{e9}{x}", "a\\\\b\\x0A\\xE9{x}");
        check(&"a".repeat(200), "{a*200}");
        check("{upstream}", "{upstream}");
    }

    #[test]
    fn messages_go_to_the_wire() {
        let check = |text: &str, wire: &str| {
            assert_eq!(message(text).to_wire(true), wire.as_bytes(), "{text:?}");
        };
        check("GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        let lines = "POST / HTTP/1.1\nContent-Length: {length}\n\na\nb\\x0A\n";
        check(lines, "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\na\nb\n");
        let lines = "POST / HTTP/1.1\nTransfer-Encoding: chunked\n\nhello";
        check(
            lines,
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        );
    }

    #[test]
    fn messages_come_from_the_wire() {
        let read = |wire: &str| Message::read(&mut wire.as_bytes(), true, false).unwrap().unwrap();
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore").body, "ok");
        assert_eq!(read("HTTP/1.1 200 OK\r\n\r\nto the end").body, "to the end");
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(read(&format!("{chunked}2;x\r\nok\r\n0\r\n\r\n")).body, "ok");
        let cut = read(&format!("{chunked}5\r\nok"));
        assert!(cut.is_cut && cut.body == "ok");
        assert!(read("HTTP/1.1 2").is_cut);
    }

    #[test]
    fn notes_are_no_messages() {
        let lines = ["(nothing)".to_owned(), String::new()];
        assert_eq!(Block::from_lines(&lines), Block::Note("(nothing)".to_owned()));
    }
}
