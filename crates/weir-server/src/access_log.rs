//! The access log: formatted into a buffer by each worker, written by one thread.

use std::cell::RefCell;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;
use weir_config::{AccessLog, AccessLogFormat, RouteTarget};
use weir_route::Route;
use weir_wire::{RequestHead, Version};

use crate::http::exchange::Record;

/// A worker's buffer is handed over when it holds so much.
const FLUSH_BYTES: usize = 32 * 1024;
/// Buffers waiting for the disk at most; beyond, lines are dropped and the drop is logged.
const QUEUE_MAX: usize = 64;

/// What one line is made of.
pub(crate) struct Line<'a> {
    pub(crate) record: &'a Record,
    pub(crate) request: &'a RequestHead,
    /// Host the client asked for.
    pub(crate) host: &'a [u8],
    pub(crate) route: Option<&'a Arc<Route<RouteTarget>>>,
    pub(crate) took: Duration,
}

/// A worker's end of the log.
pub(crate) struct LogBuffer {
    format: AccessLogFormat,
    buffer: RefCell<Vec<u8>>,
    sender: SyncSender<Vec<u8>>,
}

/// Opens the log and starts its writer, which ends once all senders are gone.
///
/// # Errors
/// The file cannot be opened.
pub(crate) fn open(settings: &AccessLog) -> io::Result<(SyncSender<Vec<u8>>, JoinHandle<()>)> {
    let mut sink: Box<dyn Write + Send> = match &settings.path {
        None => Box::new(io::stdout()),
        Some(path) => Box::new(OpenOptions::new().create(true).append(true).open(path)?),
    };
    let (sender, receiver) = sync_channel::<Vec<u8>>(QUEUE_MAX);
    let writer = move || {
        for lines in receiver {
            if let Err(error) = sink.write_all(&lines).and_then(|()| sink.flush()) {
                tracing::error!(%error, "the access log cannot be written");
            }
        }
    };
    let thread = std::thread::Builder::new().name("weir-log".into()).spawn(writer)?;
    Ok((sender, thread))
}

impl LogBuffer {
    pub(crate) fn new(format: AccessLogFormat, sender: SyncSender<Vec<u8>>) -> Self {
        Self { format, buffer: RefCell::default(), sender }
    }

    pub(crate) fn write(&self, line: &Line<'_>) {
        let mut buffer = self.buffer.borrow_mut();
        match self.format {
            AccessLogFormat::Common => common(&mut buffer, line),
            AccessLogFormat::Combined => {
                common(&mut buffer, line);
                for name in [&b"referer"[..], b"user-agent"] {
                    buffer.extend_from_slice(b" \"");
                    escape(&mut buffer, line.request.fields.get(name).unwrap_or(b"-"));
                    buffer.push(b'"');
                }
            }
            AccessLogFormat::Json => json_line(&mut buffer, line),
        }
        buffer.push(b'\n');
        let full = buffer.len() >= FLUSH_BYTES;
        drop(buffer);
        if full {
            self.flush();
        }
    }

    /// Hands over what has been logged so far.
    pub(crate) fn flush(&self) {
        let lines = std::mem::take(&mut *self.buffer.borrow_mut());
        if lines.is_empty() {
            return;
        }
        if let Err(TrySendError::Full(lost)) = self.sender.try_send(lines) {
            let lines = lost.iter().filter(|byte| **byte == b'\n').count();
            tracing::warn!(lines, "the access log cannot keep up; lines were dropped");
        }
    }
}

impl Drop for LogBuffer {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut *self.buffer.borrow_mut());
        if !lines.is_empty() {
            // The writer is gone only when the process is ending.
            let _ = self.sender.send(lines);
        }
    }
}

fn common(out: &mut Vec<u8>, line: &Line<'_>) {
    match line.record.peer {
        Some(peer) => _ = write!(out, "{}", peer.ip()),
        None => out.push(b'-'),
    }
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let _ = write!(out, " - - [{}] \"", now.strftime("%d/%b/%Y:%H:%M:%S %z"));
    escape(out, line.request.method());
    out.push(b' ');
    target(out, line.request);
    let version = if line.request.version == Version::Http10 { "1.0" } else { "1.1" };
    let _ = write!(out, " HTTP/{version}\" {} ", line.record.status);
    let _ = write!(out, "{}", line.record.sent_bytes);
}

fn json_line(out: &mut Vec<u8>, line: &Line<'_>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut path = Vec::new();
    path.extend_from_slice(line.request.received_path());
    let value = json!({
        "time": jiff::Timestamp::now().to_string(),
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
    });
    // Control characters are escaped by JSON itself, so a record stays on its line.
    let _ = serde_json::to_writer(&mut *out, &value);
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
    for &byte in bytes {
        match byte {
            b'"' | b'\\' | 0..0x20 | 0x7f.. => _ = write!(out, "\\x{byte:02x}"),
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_ends_a_field_or_a_line() {
        let mut out = Vec::new();
        escape(&mut out, b"a\"b\\c\r\n\x1b[31m\xe2");
        assert_eq!(String::from_utf8_lossy(&out), r"a\x22b\x5cc\x0d\x0a\x1b[31m\xe2");
    }
}
