//! Configuration of one attempt to forward a request.

use std::time::Duration;

use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot};
use weir_wire::http1::RequestFraming;

/// One attempt's view of the exchange to forward.
pub(super) struct Outgoing<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) framing: RequestFraming,
    pub(super) response_timeout: Option<Duration>,
    pub(super) content_max: Option<u64>,
}

impl<'a> Outgoing<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        framing: RequestFraming,
        route: &Route<RouteTarget>,
    ) -> Self {
        let settings = &snapshot.settings;
        let response_timeout = route.target.timeouts().and_then(|timeouts| timeouts.response);
        Self {
            snapshot,
            framing,
            response_timeout: response_timeout.unwrap_or(settings.response_timeout),
            content_max: smaller(route.target.chain.request_size_max(), settings.body_bytes_max),
        }
    }
}

fn smaller(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}
