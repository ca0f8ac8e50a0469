//! A request that is answered from API definitions.

use std::rc::Rc;

use weir_config::{RouteTarget, Snapshot};
use weir_filter::LocalResponse;
use weir_mock::{Call, Mocks};
use weir_route::Route;
use weir_wire::http1::{BodyDecoder, RequestFraming};

use super::downstream::Client;
use super::exchange::{BodyRead, Exchange, Next};
use super::local::answer;
use super::replay::{Body, keep_body, pause};
use crate::error::{ErrorKind, ProxyError, body_error_text};
use crate::worker::Worker;

/// Reads the body, has the answer made, waits as long as it says, and sends it behind the route's
/// response filters.
pub(super) async fn mocked(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    route: &Route<RouteTarget>,
    mocks: &Mocks,
) -> Result<Next, ProxyError> {
    let settings = &snapshot.settings;
    let body = keep_body(worker, client, x, framing, settings, true).await?;
    let Body::Kept(raw) = body else {
        let max = u64::try_from(settings.kept_body_bytes_max).unwrap_or(u64::MAX);
        return Err(ProxyError::new(ErrorKind::BodyTooLarge(max)));
    };
    let content = content(framing, &raw)?;
    client.carry.consume(raw.len());
    x.record.body = BodyRead::Whole;
    let call = Call {
        method: x.request.method(),
        path: x.request.path(),
        query: x.request.query(),
        fields: &x.request.fields,
        body: &content,
    };
    let reply = mocks.answer(&call, worker.roll(), worker.deadlines.wall_ms());
    tracing::info!(
        target: "weir::mock",
        "{} {} → {} {}",
        call.method.escape_ascii(),
        call.path.escape_ascii(),
        reply.status,
        reply.why
    );
    pause(worker, client, reply.delay_ms).await?;
    let local = LocalResponse { status: reply.status, fields: reply.fields, body: reply.body };
    answer(worker, client, x, framing, snapshot, Some(route), &local).await
}

/// A body as it came without its framing.
fn content(framing: RequestFraming, raw: &[u8]) -> Result<Vec<u8>, ProxyError> {
    let mut decoder = BodyDecoder::new(framing.body);
    let (mut content, mut used) = (Vec::with_capacity(raw.len()), 0);
    while !decoder.is_done() {
        let rest = raw.get(used..).unwrap_or_default();
        let step = decoder.step(rest);
        let step =
            step.map_err(|error| ProxyError::with(ErrorKind::BadBody, body_error_text(error)))?;
        let (start, end) = step.content;
        content.extend_from_slice(rest.get(start..end).unwrap_or_default());
        used += step.consumed;
        if step.consumed == 0 {
            break;
        }
    }
    Ok(content)
}
