//! Exchanges that are recorded, or logged with their bodies: from the request that goes to an
//! upstream to the end of its response.

use std::sync::Arc;

use weir_mock::{RecordedBody, RecordedExchange, is_answer};
use weir_wire::Fields;
use weir_wire::http1::canonical_path;

use super::exchange::Exchange;
use super::tap::{RawBody, Tap, Tapped};
use crate::access_log::Exchanged;
use crate::worker::Worker;

/// Has a request that is about to be sent to an upstream recorded, if a recording or the access log
/// wants it.
#[cold]
pub(super) fn begin(worker: &Worker, x: &mut Exchange, route: &str) {
    let received = x.request.received_path();
    let canonical = canonical_path(received).ok().flatten();
    let path = canonical.as_deref().unwrap_or(received);
    let recordings = worker.recorder.wanting(route, path, worker.deadlines.wall_ms());
    dismiss(x);
    let logged_max = worker.log.as_ref().and_then(|log| log.bodies_max);
    let own = recordings.iter().map(|one| one.bounds.body_bytes_max);
    let Some(max) = own.chain(logged_max).max() else { return };
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

/// Gives an exchange that is over to its recordings, if it went well, and back for the access log,
/// if that has bodies.
#[cold]
pub(super) fn keep(worker: &Worker, x: &mut Exchange) -> Option<Box<Exchanged>> {
    let tapped = x.tapped.take();
    let (sent, got) = (x.upload.tap.take(), x.download.tap.take());
    let Tapped { recordings, response } = *tapped?;
    let (status, fields) = response?;
    if x.record.error.is_some() || !x.upload.is_decoded() {
        return None;
    }
    let request = sent.and_then(|tap| tap.body(&x.request.fields));
    let response = got.and_then(|tap| tap.body(&fields));
    if is_answer(status) && !recordings.is_empty() {
        let whole = Arc::new(RecordedExchange {
            method: text(x.request.method()),
            path: text(x.request.path()),
            query: text(x.request.query().unwrap_or_default()),
            request_fields: Vec::new(),
            request: request.clone().map(RawBody::decoded),
            status,
            fields: texts(&fields),
            response: response.clone().map(RawBody::decoded),
        });
        for recording in recordings {
            recording.keep(&within(&whole, recording.bounds.body_bytes_max));
        }
    }
    let max = worker.log.as_ref()?.bodies_max?;
    let heads = RecordedExchange {
        method: text(x.request.method()),
        path: text(x.request.received_path()),
        query: text(x.request.received_query().unwrap_or_default()),
        request_fields: texts(&x.request.fields),
        status,
        fields: texts(&fields),
        ..RecordedExchange::default()
    };
    let (request, response) =
        (request.map(|body| body.within(max)), response.map(|body| body.within(max)));
    Some(Box::new(Exchanged { heads, request, response }))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn texts(fields: &Fields) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| (text(name), text(value))).collect()
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
