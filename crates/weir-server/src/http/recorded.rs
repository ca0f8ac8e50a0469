//! Exchanges that are recorded: from the request that goes to an upstream to the end of its
//! response.

use std::sync::Arc;

use weir_mock::{RecordedBody, RecordedExchange};
use weir_wire::http1::canonical_path;

use super::exchange::Exchange;
use super::tap::{Tap, Tapped};
use crate::worker::Worker;

/// Has a request that is about to be sent to an upstream recorded, if a recording wants it.
#[cold]
pub(super) fn begin(worker: &Worker, x: &mut Exchange, route: &str) {
    let received = x.request.received_path();
    let canonical = canonical_path(received).ok().flatten();
    let path = canonical.as_deref().unwrap_or(received);
    let recordings = worker.recorder.wanting(route, path, worker.deadlines.wall_ms());
    dismiss(x);
    let Some(max) = recordings.iter().map(|one| one.bounds.body_bytes_max).max() else { return };
    x.tapped = Some(Box::new(Tapped { recordings, response: None }));
    x.upload.tap = Some(Tap::new(max));
    x.download.tap = Some(Tap::new(max));
}

/// Notes the response that the client gets, as the upstream sent it.
#[cold]
pub(super) fn answered(x: &mut Exchange) {
    if let Some(tapped) = &mut x.tapped {
        tapped.response = Some((x.response.status, x.response.fields.clone()));
    }
}

/// Notes the content of a response that was read whole.
pub(super) fn collected(x: &mut Exchange, content: &[u8]) {
    if let Some(tap) = &mut x.download.tap {
        tap.clear();
        tap.take(content);
    }
}

/// Nothing of this exchange is recorded.
pub(super) fn dismiss(x: &mut Exchange) {
    x.tapped = None;
    x.upload.tap = None;
    x.download.tap = None;
}

/// Gives an exchange that is over to its recordings, if it went well.
#[cold]
pub(super) fn keep(x: &mut Exchange) {
    let tapped = x.tapped.take();
    let (sent, got) = (x.upload.tap.take(), x.download.tap.take());
    let Some(Tapped { recordings, response: Some((status, fields)) }) = tapped.map(|own| *own)
    else {
        return;
    };
    // A part of a content, or that the client has it, is no answer to another client.
    let is_answer = status >= 200 && !matches!(status, 206 | 304);
    if x.record.error.is_some() || !is_answer || !x.upload.is_decoded() {
        return;
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let whole = RecordedExchange {
        method: text(x.request.method()),
        path: text(x.request.path()),
        query: text(x.request.query().unwrap_or_default()),
        request: sent.and_then(|tap| tap.body(&x.request.fields)),
        status,
        response: got.and_then(|tap| tap.body(&fields)),
        fields: fields.iter().map(|(name, value)| (text(name), text(value))).collect(),
    };
    let whole = Arc::new(whole);
    for recording in recordings {
        recording.keep(&within(&whole, recording.bounds.body_bytes_max));
    }
}

/// The exchange without bodies of more than `max` bytes.
fn within(whole: &Arc<RecordedExchange>, max: usize) -> Arc<RecordedExchange> {
    let is_long = |body: &Option<RecordedBody>| {
        body.as_ref().and_then(|body| body.content.as_ref()).is_some_and(|own| own.len() > max)
    };
    if !is_long(&whole.request) && !is_long(&whole.response) {
        return Arc::clone(whole);
    }
    let mut own = RecordedExchange::clone(whole);
    for body in [&mut own.request, &mut own.response] {
        if is_long(body)
            && let Some(body) = body
        {
            body.content = None;
        }
    }
    Arc::new(own)
}
