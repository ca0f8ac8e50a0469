//! A response whose content is there: edited, filtered, compressed and sent.

use std::rc::Rc;

use weir_filter::{Encoder, Side};
use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot};
use weir_wire::http1::RequestFraming;

use super::client::Client;
use super::exchange::{Exchange, Next};
use super::local::{filter_response, send};
use crate::error::ProxyError;
use crate::worker::Worker;

/// Runs the filters on a response's content and head, and sends it.
pub(super) async fn finish_with(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    route: &Route<RouteTarget>,
    mut content: Vec<u8>,
) -> Result<Next, ProxyError> {
    let chain = &route.target.chain;
    let content_type = x.response.fields.get(b"content-type").unwrap_or_default();
    if !content.is_empty() && chain.edits(Side::Response, content_type) {
        let encoding = x.response.fields.get(b"content-encoding").unwrap_or_default();
        let max = snapshot.settings.kept_body_bytes_max;
        content = chain
            .edit(Side::Response, (content_type, encoding), content, max)
            .map_err(ProxyError::from)?;
        x.response.fields.remove(b"content-encoding");
    }
    filter_response(x, Some(route))?;
    if let Some(compress) = chain.compress().filter(|_| x.request.method() != b"HEAD")
        && let Some(coding) =
            compress.apply(&x.request, &mut x.response, Some(content.len() as u64))
    {
        let mut encoder = Encoder::new(coding).map_err(ProxyError::from)?;
        encoder.write(&content);
        content = encoder.finish();
    }
    send(worker, client, x, Some(framing), snapshot, &content, 0).await
}
