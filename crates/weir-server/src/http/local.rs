//! Answers the gateway gives itself: those of filters, and errors in Spring's shape.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use serde_json::json;
use weir_filter::filter::request_too_large;
use weir_filter::{LocalResponse, ResponseContext, reason};
use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot};
use weir_wire::http1::{BodyKind, Connection, RequestFraming};
use weir_wire::{ResponseHead, Version};

use super::client::{Client, write_all};
use super::exchange::{BodyRead, Exchange, Next};
use super::framing::unframe;
use super::pace::Pace;
use super::protection::protect;
use super::relay::{Framing, Relay};
use super::replay::pause;
use super::upstream::poll_gone;
use crate::drain::Phase;
use crate::error::{ErrorKind, ProxyError};
use crate::worker::Worker;

/// How long a client may take to read a local answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Parts of a slow body at most.
const SLOW_PARTS_MAX: usize = 20;

/// Runs the response filters that are due, on top of the added fields.
pub(crate) fn filter_response(
    x: &mut Exchange,
    route: Option<&Route<RouteTarget>>,
) -> Result<(), ProxyError> {
    if !x.added.is_empty() {
        x.response.fields.prepend_all(&x.added);
    }
    super::panic::point("response filters", &x.request);
    // By now the route is in no cache: it is not looked at where nothing is due.
    if let Some(route) = route.filter(|_| x.record.filters_ran > 0) {
        let mut context = ResponseContext {
            head: &mut x.response,
            request: &x.request,
            client_host: &x.client_host,
            vars: &x.vars,
        };
        let result = route.target.chain.response(&mut context, x.record.filters_ran);
        result.map_err(|error| ProxyError::with(ErrorKind::Filter, error.0))?;
    }
    Ok(())
}

/// An edit made a value that cannot be sent: with it, one head could pass for two.
pub(crate) fn unsound() -> ProxyError {
    ProxyError::with(ErrorKind::Filter, "a filter set a value that cannot be sent")
}

/// Adds the connection fields for a client of HTTP version `version` and writes the head to `out`.
///
/// # Errors
/// The head is invalid; nothing of it was written.
pub(crate) fn finish_head(
    response: &mut ResponseHead,
    version: Version,
    keep: bool,
    out: &mut Vec<u8>,
) -> Result<(), ProxyError> {
    match (keep, version) {
        (false, _) => response.fields.append(b"connection", b"close"),
        (true, Version::Http10) => response.fields.append(b"connection", b"keep-alive"),
        (true, Version::Http11) => {}
    }
    write_head(response, out)
}

/// Writes a response head to `out`, and nothing else, if it can be sent.
pub(crate) fn write_head(response: &ResponseHead, out: &mut Vec<u8>) -> Result<(), ProxyError> {
    out.clear();
    if !response.fields.is_sound() {
        return Err(unsound());
    }
    response.write_to(out);
    Ok(())
}

/// Sends `local`, after the response filters of `route` that are due, its body over `spread_ms`
/// milliseconds.
pub(crate) async fn answer(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    route: Option<&Route<RouteTarget>>,
    (local, spread_ms): (&LocalResponse, u64),
) -> Result<Next, ProxyError> {
    x.response.clear();
    x.response.set_status(local.status, reason(local.status).as_bytes());
    for (name, value) in &local.fields {
        x.response.fields.append(name.as_bytes(), value);
    }
    filter_response(x, route)?;
    send(worker, client, x, Some(framing), snapshot, &local.body, spread_ms).await
}

/// The one error exit: sends the client an error response, if none was begun.
pub(crate) async fn answer_error(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: Option<RequestFraming>,
    snapshot: &Snapshot,
    error: &ProxyError,
) -> Next {
    x.record.error = Some(error.kind);
    worker.counters.failed(error.kind);
    tracing::debug!(kind = error.kind.name(), detail = %error.detail, "exchange failed");
    if x.record.head_sent || error.kind == ErrorKind::ClientGone {
        // With an orderly end, it would pass for a whole one.
        if x.record.head_sent && is_ended_by_close(x) {
            client.stream.reset_when_closed();
        }
        return Next::Abort;
    }
    let status = match error.kind {
        ErrorKind::NoInstance => snapshot.settings.no_instance_status,
        kind => kind.status(snapshot.settings.refused_status),
    };
    x.response.clear();
    x.response.set_status(status, reason(status).as_bytes());
    x.response.fields.prepend_all(&x.added);
    x.added.clear();
    let body = match error.kind {
        ErrorKind::BodyTooLarge(max) => {
            for (name, value) in request_too_large(max + 1, max).fields {
                x.response.fields.append(name.as_bytes(), &value);
            }
            Vec::new()
        }
        ErrorKind::BadRequest(_) => Vec::new(),
        _ => error_body(worker, x, snapshot, status, error),
    };
    let sent = send(worker, client, x, framing, snapshot, &body, 0).await;
    sent.unwrap_or(Next::Abort)
}

/// Whether only the end of the connection marks the end of the response body.
fn is_ended_by_close(x: &Exchange) -> bool {
    let fields = &x.response.fields;
    let is_framed = fields.contains(b"content-length") || fields.contains(b"transfer-encoding");
    let has_body = x.request.method() != b"HEAD" && !matches!(x.response.status, 204 | 304);
    has_body && !is_framed
}

/// Writes `x.response` with `body`. The connection is kept only if the request was read to its end.
pub(super) async fn send(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: Option<RequestFraming>,
    snapshot: &Snapshot,
    body: &[u8],
    spread_ms: u64,
) -> Result<Next, ProxyError> {
    let max = snapshot.settings.keep_alive_requests_max;
    let read = framing.is_some_and(|framing| is_read(client, x, framing.body));
    let keep = framing.is_some_and(|framing| framing.connection == Connection::KeepAlive)
        && read
        && !worker.lets_go()
        && max.is_none_or(|max| client.requests < max);
    unframe(&mut x.response.fields);
    if !matches!(x.response.status, 204 | 304) {
        x.response.fields.append(b"content-length", body.len().to_string().as_bytes());
    }
    protect(snapshot.security.as_deref(), &mut x.response);
    finish_head(&mut x.response, x.request.version, keep, &mut x.down)?;
    let head_len = x.down.len();
    if x.request.method() != b"HEAD" && !matches!(x.response.status, 204 | 304) {
        x.down.extend_from_slice(body);
    }
    x.record.status = x.response.status;
    x.record.head_sent = true;
    x.record.sent_bytes = x.down.len() as u64;
    let (head, body) = x.down.split_at_checked(head_len).unwrap_or_default();
    match (&mut x.download.pace, spread_ms) {
        (None, 0) => write_in_time(client, &x.down).await?,
        (Some(pace), 0) => {
            write_in_time(client, head).await?;
            write_at_pace(worker, client, pace, body).await?;
        }
        (_, spread_ms) => {
            write_in_time(client, head).await?;
            write_slowly(worker, client, body, spread_ms).await?;
        }
    }
    Ok(match keep {
        true => Next::KeepAlive,
        false => after_last(client, framing, read),
    })
}

async fn write_in_time(client: &mut Client, bytes: &[u8]) -> Result<(), ProxyError> {
    client.deadline.set(ANSWER_TIMEOUT);
    let written = write_all(client, bytes).await;
    client.deadline.clear();
    written
}

/// Writes a body as its bandwidth lets it.
async fn write_at_pace(
    worker: &Worker,
    client: &mut Client,
    pace: &mut Pace,
    mut body: &[u8],
) -> Result<(), ProxyError> {
    while !body.is_empty() {
        let most = poll_fn(|cx| {
            if poll_gone(worker, client) || worker.drain.phase() == Phase::Stopped {
                return Poll::Ready(Err(ProxyError::new(ErrorKind::ClientGone)));
            }
            pace.poll(cx).map(Ok)
        });
        let most = most.await?;
        let (now, rest) = body.split_at_checked(most).unwrap_or((body, &[]));
        write_in_time(client, now).await?;
        pace.moved(now.len());
        body = rest;
    }
    Ok(())
}

/// Writes a body in equal parts, each behind a wait; it takes `spread_ms` milliseconds.
async fn write_slowly(
    worker: &Worker,
    client: &mut Client,
    body: &[u8],
    spread_ms: u64,
) -> Result<(), ProxyError> {
    let parts = SLOW_PARTS_MAX.min(body.len());
    let len = body.len().div_ceil(parts.max(1)).max(1);
    let count = body.len().div_ceil(len) as u64;
    for (at, part) in (0_u64..).zip(body.chunks(len)) {
        // Together they are exactly as long as was asked for.
        pause(worker, client, (at + 1) * spread_ms / count - at * spread_ms / count).await?;
        write_in_time(client, part).await?;
    }
    Ok(())
}

/// How to close after the last answer. If the client announced the close, sent its request in full
/// (`read`) and nothing behind it, no bytes are in flight that would turn the close into a reset
/// (RFC 9112 section 9.6), so there is nothing to wait for.
pub(crate) fn after_last(client: &Client, framing: Option<RequestFraming>, read: bool) -> Next {
    let announced = framing.is_some_and(|framing| framing.connection == Connection::Close);
    if announced && read && client.carry.is_empty() { Next::Abort } else { Next::Close }
}

/// Drops a request body that has arrived already; `false` if more of it is to come.
fn is_read(client: &mut Client, x: &Exchange, body: BodyKind) -> bool {
    if x.record.is_replaced && x.record.body != BodyRead::Whole {
        return false;
    }
    match x.record.body {
        BodyRead::Whole => return true,
        BodyRead::Partly => return false,
        BodyRead::Untouched => {}
    }
    let mut rest = Relay::new(body, Framing::Discard);
    rest.fill(&mut client.carry).is_ok() && rest.is_decoded()
}

/// Spring Boot's error attributes: JSON, or a page for a client that asks for HTML (scg.md 4.5).
fn error_body(
    worker: &Worker,
    x: &mut Exchange,
    snapshot: &Snapshot,
    status: u16,
    error: &ProxyError,
) -> Vec<u8> {
    let timestamp =
        jiff::Timestamp::from_millisecond(worker.deadlines.wall_ms()).unwrap_or_default();
    let path = String::from_utf8_lossy(x.request.received_path()).into_owned();
    let request_id = format!("{:08x}-{}", worker.roll() as u32, worker.counters.requests() + 1);
    let phrase = reason(status);
    let accept = x.request.fields.get(b"accept").unwrap_or_default();
    if memchr::memmem::find(accept, b"text/html").is_some() {
        x.response.fields.append(b"Content-Type", b"text/html;charset=UTF-8");
        return format!(
            "<html><body><h1>Whitelabel Error Page</h1>\
             <p>This application has no configured error view, so you are seeing this as a \
             fallback.</p><div id='created'>{timestamp}</div><div>[{request_id}] There was an \
             unexpected error (type={phrase}, status={status}).</div></body></html>"
        )
        .into_bytes();
    }
    x.response.fields.append(b"Content-Type", b"application/json");
    let mut body = json!({
        "timestamp": format!("{timestamp:.3}"),
        "path": path,
        "status": status,
        "error": phrase,
        "requestId": request_id,
    });
    if let Some(members) = body.as_object_mut()
        && snapshot.settings.error_include_message
    {
        members.insert("message".to_owned(), json!(error.detail));
    }
    body.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use weir_wire::{ResponseHead, Version};

    use super::{finish_head, write_head};
    use crate::error::ErrorKind;

    fn check(value: &[u8], sent: bool) {
        let mut head = ResponseHead::default();
        head.set_status(200, b"OK");
        head.fields.append(b"X-A", value);
        let expected = if sent { Ok(()) } else { Err(ErrorKind::Filter) };
        let mut out = b"of the response before".to_vec();
        let written = write_head(&head, &mut out).map_err(|error| error.kind);
        assert_eq!((written, !out.is_empty()), (expected, sent), "{value:?}");
        out.extend_from_slice(b"of the response before");
        let written = finish_head(&mut head, Version::Http11, false, &mut out);
        assert_eq!((written.map_err(|e| e.kind), !out.is_empty()), (expected, sent), "{value:?}");
    }

    #[test]
    fn nothing_of_an_unsound_head_is_written() {
        check(b"1", true);
        check(b"1\r\nX-B: 2", false);
        check(b"1\0", false);
    }
}
