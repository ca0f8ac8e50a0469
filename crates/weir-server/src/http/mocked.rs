//! A request that is answered from API definitions.

use std::rc::Rc;

use tokio::sync::oneshot;
use weir_filter::{LocalResponse, Outcome, Question, Side};
use weir_mock::{Call, Callback, CallbackWarnings, InjectedFault, MockSource, Reply};
use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot};
use weir_wire::http1::RequestFraming;

use super::client::{Client, write_all};
use super::exchange::{BodyRead, Exchange, Next};
use super::local::answer;
use super::replay::{Body, content_of, keep_body, pause};
use crate::error::{ErrorKind, ProxyError};
use crate::worker::Worker;

/// How long a mocked timeout stays silent, unless the client gives up first.
const SILENCE_MS: u64 = 600_000;

/// Reads the body, generates the answer, waits for its delay, and sends it after the route's
/// response filters.
pub(super) async fn mocked(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    route: &Route<RouteTarget>,
    mocks: &MockSource,
) -> Result<Next, ProxyError> {
    let settings = &snapshot.settings;
    let body = keep_body(worker, client, x, framing, settings, true).await?;
    let Body::Kept(raw) = body else {
        let max = u64::try_from(settings.kept_body_bytes_max).unwrap_or(u64::MAX);
        return Err(ProxyError::new(ErrorKind::BodyTooLarge(max)));
    };
    let content = content_of(framing, &raw)?;
    client.carry.consume(raw.len());
    x.record.body = BodyRead::Whole;
    let call = Call {
        method: x.request.method(),
        path: x.request.path(),
        prefix: b"",
        query: x.request.query(),
        fields: &x.request.fields,
        body: &content,
    };
    let mut reply = mocks.answer(&call, worker.roll(), worker.deadlines.wall_ms());
    tracing::debug!(
        target: "weir::mock",
        "{} {} → {} {}",
        call.method.escape_ascii(),
        call.path.escape_ascii(),
        reply.status,
        reply.why
    );
    pause(worker, client, reply.delay_ms).await?;
    match reply.fault {
        None | Some(InjectedFault::Status(_)) => {}
        Some(fault) => return spoil(worker, client, x, &reply, fault).await,
    }
    let mut local = LocalResponse { status: reply.status, fields: reply.fields, body: reply.body };
    edit_local(&mut local, route, settings.kept_body_bytes_max)?;
    let callbacks = std::mem::take(&mut reply.callbacks);
    let to_answer = (&local, reply.body_ms);
    let next = answer(worker, client, x, framing, snapshot, Some(route), to_answer).await?;
    call_back(worker, callbacks);
    Ok(next)
}

/// Has the control plane send what an answer sets off, if there is room for it.
fn call_back(worker: &Worker, callbacks: Vec<Callback>) {
    let now_ms = worker.deadlines.wall_ms();
    let mut requests = Vec::with_capacity(callbacks.len());
    for Callback { name, request } in callbacks {
        match request {
            Ok(request) => requests.push(request),
            Err(why) => warn_of_callback(now_ms, &format!("callback {name}: not sent: {why}")),
        }
    }
    let Some(inquiries) = worker.inquiries.as_ref().filter(|_| !requests.is_empty()) else {
        return;
    };
    // Nobody waits for an answer.
    let (sender, _) = oneshot::channel();
    let question = Question::Callbacks { requests, admin: worker.identity.admin() };
    let kind = question.kind();
    let sent = inquiries.try_send((question, sender));
    if sent.is_err() {
        warn_of_callback(now_ms, "callbacks dropped: too many questions wait");
    }
    worker.counters.asked(kind, sent.is_ok());
}

/// Warns of a callback that failed; of many in a minute, the later ones are for debugging.
/// `now_ms` is in milliseconds since 1970.
pub fn warn_of_callback(now_ms: i64, message: &str) {
    static WARNINGS: CallbackWarnings = CallbackWarnings::new();
    match WARNINGS.has_room(now_ms) {
        true => tracing::warn!(target: "weir::mock", "{message}"),
        false => tracing::debug!(target: "weir::mock", "{message}"),
    }
}

/// Marks and counts a mock answer in place of an upstream whose call ended with `outcome`.
pub(super) fn tell_fallback(worker: &Worker, x: &mut Exchange, outcome: Outcome) {
    worker.counters.mocked();
    let cause = match outcome {
        Outcome::Status(status) => status.to_string(),
        _ => "unreachable".to_owned(),
    };
    x.added.append(b"Weir-Mock-Fallback", cause.as_bytes());
}

/// Runs the filters of `route` that edit the body on a locally generated answer.
fn edit_local(
    local: &mut LocalResponse,
    route: &Route<RouteTarget>,
    max: usize,
) -> Result<(), ProxyError> {
    let is_type = |(name, _): &&(String, Vec<u8>)| name.eq_ignore_ascii_case("content-type");
    let content_type = local.fields.iter().find(is_type).map(|(_, value)| value.clone());
    let content_type = content_type.unwrap_or_default();
    let chain = &route.target.chain;
    if chain.takes_response() && chain.edits(Side::Response, &content_type) {
        let content = std::mem::take(&mut local.body);
        let edited = chain.edit(Side::Response, (&content_type, b""), content, max);
        local.body = edited.map_err(ProxyError::from)?;
    }
    Ok(())
}

/// Answers as a server that fails.
async fn spoil(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    reply: &Reply,
    fault: InjectedFault,
) -> Result<Next, ProxyError> {
    let mut bytes = Vec::new();
    match fault {
        InjectedFault::Timeout => pause(worker, client, SILENCE_MS).await?,
        InjectedFault::Reset => client.stream.reset_when_closed(),
        InjectedFault::Malformed => bytes.extend_from_slice(b"\0\x15 this is no response\r\n\r\n"),
        InjectedFault::Truncated(len) => {
            let (status, whole) = (reply.status, reply.body.len());
            let head = format!("HTTP/1.1 {status} \r\nContent-Length: {whole}\r\n");
            bytes.extend_from_slice(head.as_bytes());
            for (name, value) in &reply.fields {
                bytes.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
            }
            bytes.extend_from_slice(b"\r\n");
            // Something is always missing.
            let sent = len.min(whole.saturating_sub(1));
            bytes.extend_from_slice(reply.body.get(..sent).unwrap_or_default());
            x.record.status = status;
        }
        InjectedFault::Status(_) => {}
    }
    x.record.head_sent = !bytes.is_empty();
    x.record.sent_bytes = bytes.len() as u64;
    write_all(client, &bytes).await?;
    Ok(Next::Abort)
}
