//! The access log: formatted into a buffer by each worker, written by one thread. Where it has
//! bodies, that thread decodes, masks and formats them, so that no worker does.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use weir_mock::{RecordedExchange, mask_address};
use weir_route::Route;
use weir_snapshot::{AccessLog, AccessLogFormat, RouteTarget};
use weir_wire::{RequestHead, Version};

use crate::http::exchange::Record;
use crate::http::tap::RawBody;
use crate::metrics::WorkerCounters;

/// A worker's buffer is handed over when it holds so much.
const FLUSH_BYTES: usize = 32 * 1024;
/// What a line with bodies takes besides its fields and bodies.
const LINE_BYTES: usize = 1024;
/// Buffers waiting for the disk at most; beyond, lines are dropped and the drop is logged.
const QUEUE_MAX: usize = 64;

/// Source of one log line.
pub(crate) struct Line<'a> {
    pub(crate) record: &'a Record,
    pub(crate) request: &'a RequestHead,
    /// Host the client asked for.
    pub(crate) host: &'a [u8],
    pub(crate) route: Option<&'a Route<RouteTarget>>,
    pub(crate) took: Duration,
    /// Wall clock in milliseconds since 1970.
    pub(crate) now_ms: i64,
}

/// What an exchange with an upstream had, where the log has bodies.
pub(crate) struct Exchanged {
    /// Without its bodies.
    pub(crate) heads: RecordedExchange,
    pub(crate) request: Option<RawBody>,
    pub(crate) response: Option<RawBody>,
}

/// A line with bodies on its way to the writer.
pub(crate) struct LongLine {
    line: Value,
    exchanged: Option<Box<Exchanged>>,
}

/// What a worker hands to the writer.
pub(crate) enum Batch {
    /// Formatted lines.
    Lines(Vec<u8>),
    /// Lines with bodies.
    LongLines(Vec<LongLine>),
}

/// A worker's end of the log.
pub(crate) struct LogBuffer {
    format: AccessLogFormat,
    /// Bytes of a body that are logged; `None` if bodies are not.
    pub(crate) bodies_max: Option<usize>,
    buffer: RefCell<Vec<u8>>,
    long: RefCell<LongLines>,
    stamp: RefCell<Stamp>,
    sender: SyncSender<Batch>,
    counters: Arc<WorkerCounters>,
}

/// Lines with bodies so far, and roughly their bytes.
#[derive(Default)]
struct LongLines {
    lines: Vec<LongLine>,
    bytes: usize,
}

/// The time as the Common Log Format has it, made once for all lines of a second.
#[derive(Default)]
struct Stamp {
    second: Option<i64>,
    text: String,
}

impl Stamp {
    fn at(&mut self, now_ms: i64) -> &str {
        let second = now_ms.div_euclid(1000);
        if self.second != Some(second) {
            let time = jiff::Timestamp::from_second(second).unwrap_or_default();
            let time = time.to_zoned(jiff::tz::TimeZone::UTC);
            self.text.clear();
            let _ = write!(self.text, "{}", time.strftime("%d/%b/%Y:%H:%M:%S %z"));
            self.second = Some(second);
        }
        &self.text
    }
}

/// Opens the log and starts its writer, which ends once all senders are gone.
///
/// # Errors
/// The file cannot be opened.
pub(crate) fn open(settings: &AccessLog) -> io::Result<(SyncSender<Batch>, JoinHandle<()>)> {
    let mut sink: Box<dyn Write + Send> = match &settings.path {
        None => Box::new(io::stdout()),
        Some(path) => {
            let mut options = OpenOptions::new();
            // Bodies have personal data: a new file is for its owner alone.
            if settings.bodies_max.is_some() {
                options.mode(0o600);
            }
            Box::new(options.create(true).append(true).open(path)?)
        }
    };
    let (sender, receiver) = sync_channel(QUEUE_MAX);
    let writer = move || {
        for batch in receiver {
            let lines = match batch {
                Batch::Lines(lines) => lines,
                Batch::LongLines(lines) => formatted(lines),
            };
            if let Err(error) = sink.write_all(&lines).and_then(|()| sink.flush()) {
                tracing::error!(%error, "the access log cannot be written");
            }
        }
    };
    let thread = std::thread::Builder::new().name("weir-log".into()).spawn(writer)?;
    Ok((sender, thread))
}

impl LogBuffer {
    pub(crate) fn new(
        settings: &AccessLog,
        sender: SyncSender<Batch>,
        counters: Arc<WorkerCounters>,
    ) -> Self {
        Self {
            format: settings.format,
            bodies_max: settings.bodies_max,
            buffer: RefCell::default(),
            long: RefCell::default(),
            stamp: RefCell::default(),
            sender,
            counters,
        }
    }

    pub(crate) fn write(&self, line: &Line<'_>, exchanged: Option<Box<Exchanged>>) {
        if self.bodies_max.is_some() {
            self.write_long(line, exchanged);
            return;
        }
        let mut buffer = self.buffer.borrow_mut();
        let mut stamp = self.stamp.borrow_mut();
        match self.format {
            AccessLogFormat::Common => common(&mut buffer, line, stamp.at(line.now_ms)),
            AccessLogFormat::Combined => {
                common(&mut buffer, line, stamp.at(line.now_ms));
                for name in [&b"referer"[..], b"user-agent"] {
                    buffer.extend_from_slice(b" \"");
                    escape(&mut buffer, line.request.fields.get(name).unwrap_or(b"-"));
                    buffer.push(b'"');
                }
            }
            // Control characters are escaped by JSON itself, so a record stays on its line.
            AccessLogFormat::Json => _ = serde_json::to_writer(&mut *buffer, &json_line(line)),
        }
        buffer.push(b'\n');
        let full = buffer.len() >= FLUSH_BYTES;
        drop(buffer);
        if full {
            self.flush();
        }
    }

    fn write_long(&self, line: &Line<'_>, exchanged: Option<Box<Exchanged>>) {
        let mut long = self.long.borrow_mut();
        long.bytes += LINE_BYTES + exchanged.as_ref().map_or(0, |own| own.bytes());
        long.lines.push(LongLine { line: json_line(line), exchanged });
        let full = long.bytes >= FLUSH_BYTES;
        drop(long);
        if full {
            self.flush();
        }
    }

    /// Passes the buffered log lines on.
    pub(crate) fn flush(&self) {
        let Some(batch) = self.batch() else { return };
        if let Err(TrySendError::Full(lost)) = self.sender.try_send(batch) {
            let lines = match lost {
                Batch::Lines(lines) => lines.iter().filter(|byte| **byte == b'\n').count(),
                Batch::LongLines(lines) => lines.len(),
            };
            (0..lines).for_each(|_| self.counters.log_line_dropped());
            tracing::warn!(lines, "the access log cannot keep up; lines were dropped");
        }
    }

    /// What was logged since the last one.
    fn batch(&self) -> Option<Batch> {
        let lines = std::mem::take(&mut *self.buffer.borrow_mut());
        let long = std::mem::take(&mut *self.long.borrow_mut()).lines;
        match (lines.is_empty(), long.is_empty()) {
            (true, true) => None,
            (false, _) => Some(Batch::Lines(lines)),
            (true, false) => Some(Batch::LongLines(long)),
        }
    }
}

impl Drop for LogBuffer {
    fn drop(&mut self) {
        if let Some(batch) = self.batch() {
            // The writer is gone only when the process is ending.
            let _ = self.sender.send(batch);
        }
    }
}

fn common(out: &mut Vec<u8>, line: &Line<'_>, stamp: &str) {
    match line.record.peer.map(|peer| peer.ip()) {
        Some(IpAddr::V4(ip)) => {
            for (at, octet) in ip.octets().into_iter().enumerate() {
                if at > 0 {
                    out.push(b'.');
                }
                number(out, u64::from(octet));
            }
        }
        Some(IpAddr::V6(ip)) => _ = Write::write_fmt(out, format_args!("{ip}")),
        None => out.push(b'-'),
    }
    out.extend_from_slice(b" - - [");
    out.extend_from_slice(stamp.as_bytes());
    out.extend_from_slice(b"] \"");
    escape(out, line.request.method());
    out.push(b' ');
    target(out, line.request);
    out.extend_from_slice(match line.request.version {
        Version::Http10 => b" HTTP/1.0\" ",
        Version::Http11 => b" HTTP/1.1\" ",
    });
    number(out, u64::from(line.record.status));
    out.push(b' ');
    number(out, line.record.sent_bytes);
}

/// Writes a decimal number; cheaper than by way of `fmt`.
fn number(out: &mut Vec<u8>, mut rest: u64) {
    let start = out.len();
    loop {
        out.push(b'0' + (rest % 10) as u8);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if let Some(digits) = out.get_mut(start..) {
        digits.reverse();
    }
}

fn json_line(line: &Line<'_>) -> Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut path = Vec::new();
    path.extend_from_slice(line.request.received_path());
    json!({
        "time": jiff::Timestamp::from_millisecond(line.now_ms).unwrap_or_default().to_string(),
        "peer": line.record.peer.map(|peer| peer.to_string()),
        "method": text(line.request.method()),
        "path": text(&path),
        "query": line.request.received_query().map(text),
        "host": text(line.host),
        "status": line.record.status,
        "bytes": line.record.sent_bytes,
        "us": line.took.as_micros() as u64,
        "route": line.route.map(|route| route.id.to_string()),
        "error": line.record.error.map(|kind| kind.name()),
        "userAgent": line.request.fields.get(b"user-agent").map(text),
    })
}

/// Lines with the fields and bodies of their exchanges, as JSON.
fn formatted(lines: Vec<LongLine>) -> Vec<u8> {
    let mut out = Vec::new();
    for LongLine { mut line, exchanged } in lines {
        match (line.as_object_mut(), exchanged) {
            (Some(members), Some(exchanged)) => {
                let Exchanged { heads, request, response } = *exchanged;
                let request = request.map(RawBody::decoded);
                let response = response.map(RawBody::decoded);
                members.extend(RecordedExchange { request, response, ..heads }.line());
            }
            (Some(members), None) => mask_address(members),
            (None, _) => {}
        }
        let _ = serde_json::to_writer(&mut out, &line);
        out.push(b'\n');
    }
    out
}

impl Exchanged {
    fn bytes(&self) -> usize {
        let fields = self.heads.request_fields.iter().chain(&self.heads.fields);
        let bodies = [&self.request, &self.response].into_iter().flatten();
        fields.map(|(name, value)| name.len() + value.len()).sum::<usize>()
            + bodies.map(RawBody::bytes).sum::<usize>()
    }
}

fn target(out: &mut Vec<u8>, request: &RequestHead) {
    escape(out, request.received_path());
    if let Some(query) = request.received_query() {
        out.push(b'?');
        escape(out, query);
    }
}

/// Bytes that could end a field or a line, or drive a terminal, are written as `\xNN`.
fn escape(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut rest = bytes;
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20 | 0x7f..);
    while let Some(at) = rest.iter().position(special) {
        out.extend_from_slice(rest.get(..at).unwrap_or_default());
        let byte = rest.get(at).copied().unwrap_or_default();
        let _ = Write::write_fmt(out, format_args!("\\x{byte:02x}"));
        rest = rest.get(at + 1..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::{Stamp, escape, number};

    #[test]
    fn numbers_and_times_are_decimal() {
        let mut out = Vec::new();
        for one in [0, 7, 10, 204, u64::MAX] {
            number(&mut out, one);
            out.push(b' ');
        }
        assert_eq!(out, b"0 7 10 204 18446744073709551615 ");
        let mut stamp = Stamp::default();
        assert_eq!(stamp.at(1_999), "01/Jan/1970:00:00:01 +0000");
        assert_eq!(stamp.at(2_000), "01/Jan/1970:00:00:02 +0000");
        assert_eq!(stamp.at(-1), "31/Dec/1969:23:59:59 +0000");
    }

    #[test]
    fn nothing_ends_a_field_or_a_line() {
        let mut out = Vec::new();
        escape(&mut out, b"a\"b\\c\r\n\x1b[31m\xe2");
        assert_eq!(String::from_utf8_lossy(&out), r"a\x22b\x5cc\x0d\x0a\x1b[31m\xe2");
    }
}
