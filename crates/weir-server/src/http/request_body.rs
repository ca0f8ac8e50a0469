//! Request bodies for filters that read or edit them.

use std::rc::Rc;

use weir_filter::{Answer, Side, decoded};
use weir_route::Route;
use weir_snapshot::{RouteTarget, Settings, Snapshot};
use weir_wire::http1::{BodyKind, RequestFraming};

use super::client::Client;
use super::exchange::Exchange;
use super::replay::{Body, content_of, keep_body};
use crate::error::{ErrorKind, ProxyError};
use crate::worker::Worker;

/// Runs the filters of `route` that edit the request body and puts the result back in front of the
/// client's other input. Returns its new framing.
pub(super) async fn edit_request(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    route: &Route<RouteTarget>,
) -> Result<RequestFraming, ProxyError> {
    let (chain, settings) = (&route.target.chain, &snapshot.settings);
    let field = |name: &[u8]| x.request.fields.get(name).unwrap_or_default().to_vec();
    let (content_type, encoding) = (field(b"content-type"), field(b"content-encoding"));
    let is_empty = matches!(framing.body, BodyKind::None | BodyKind::Length(0));
    if is_empty || framing.upgrade || !chain.edits(Side::Request, &content_type) {
        return Ok(framing);
    }
    let max = settings.kept_body_bytes_max;
    let Body::Kept(raw) = keep_body(worker, client, x, framing, settings, true).await? else {
        return Err(ProxyError::new(ErrorKind::BodyTooLarge(max as u64)));
    };
    let content = content_of(framing, &raw)?;
    let edited = chain.edit(Side::Request, (&content_type, &encoding), content, max);
    let edited = edited.map_err(ProxyError::from)?;
    client.carry.consume(raw.len());
    client.carry.put_back(&edited);
    // The carry no longer matches the framing that the client announced.
    x.record.is_replaced = true;
    x.request.fields.remove(b"content-encoding");
    x.request.fields.set(b"content-length", edited.len().to_string().as_bytes());
    let body = BodyKind::Length(edited.len() as u64);
    Ok(RequestFraming { body, expect_continue: false, ..framing })
}

/// Reads the content of a request for a filter that inspects it. The body stays in the carry and is
/// forwarded unchanged.
pub(super) async fn look(
    worker: &Worker,
    client: &mut Client,
    x: &mut Exchange,
    framing: &mut RequestFraming,
    settings: &Settings,
) -> Result<Answer, ProxyError> {
    let max = settings.kept_body_bytes_max;
    let body = keep_body(worker, client, x, *framing, settings, true).await?;
    // The client was told to go on, unless the length alone is too much.
    framing.expect_continue &= x.request.fields.contains(b"expect");
    let Body::Kept(raw) = body else { return Ok(Answer::ContentTooLong(max)) };
    let content = content_of(*framing, &raw)?;
    let encoding = x.request.fields.get(b"content-encoding").unwrap_or_default();
    Ok(match decoded(encoding, content, max) {
        Ok(content) => Answer::Content(content),
        Err(error) => Answer::Nobody(error.0),
    })
}
