//! Responses of upstreams that ValidateResponse compares with a definition.

use weir_filter::filter::Comparison;
use weir_filter::{LocalResponse, decoded};
use weir_mock::Content;
use weir_route::Route;
use weir_snapshot::RouteTarget;

use super::cached::is_endless;
use super::exchange::Exchange;
use crate::metrics::Compared;
use crate::worker::Worker;

/// Decision about a response.
pub(super) enum Fate {
    /// It is passed on.
    Passed,
    /// Its content decides.
    NeedsContent,
    /// This answer takes its place.
    Refused(Box<LocalResponse>),
}

/// Validates the head of a response as far as possible without its content; `has_content` if a body
/// may follow.
pub(super) fn head(
    worker: &Worker,
    x: &Exchange,
    route: &Route<RouteTarget>,
    has_content: bool,
) -> Fate {
    // Partial content, content the client already has, or an endless body.
    if matches!(x.response.status, 101 | 206 | 304) || is_endless(x) {
        return Fate::Passed;
    }
    let content = if has_content { Content::Unread } else { content_of_none(x) };
    compare(worker, x, route, content, Compared::Sound)
}

/// A response to HEAD stands for one with content.
fn content_of_none(x: &Exchange) -> Content<'static> {
    let has_never = x.request.method() == b"HEAD" || x.response.status == 204;
    if has_never { Content::Absent } else { Content::Read(b"") }
}

/// Validates a response with its content as received; `max` bounds its decoded size in bytes.
pub(super) fn whole(
    worker: &Worker,
    x: &Exchange,
    route: &Route<RouteTarget>,
    content: &[u8],
    max: usize,
) -> Fate {
    let encoding = x.response.fields.get(b"content-encoding").unwrap_or_default();
    if matches!(encoding.trim_ascii(), b"" | b"identity") {
        return compare(worker, x, route, Content::Read(content), Compared::Sound);
    }
    match decoded(encoding, content.to_vec(), max) {
        Ok(plain) => compare(worker, x, route, Content::Read(&plain), Compared::Sound),
        Err(_) => unread(worker, x, route),
    }
}

/// Validates the head of a response whose content cannot be read.
pub(super) fn unread(worker: &Worker, x: &Exchange, route: &Route<RouteTarget>) -> Fate {
    compare(worker, x, route, Content::Absent, Compared::Unread)
}

/// Validates and counts a response; one without a fault is counted as `sound`.
fn compare(
    worker: &Worker,
    x: &Exchange,
    route: &Route<RouteTarget>,
    content: Content<'_>,
    sound: Compared,
) -> Fate {
    let Some(filter) = route.target.chain.validate_response() else { return Fate::Passed };
    match filter.compare(&x.request, &x.response, content) {
        Comparison::NeedsContent => Fate::NeedsContent,
        Comparison::Sound => {
            worker.counters.compared(sound);
            Fate::Passed
        }
        Comparison::Unknown => {
            worker.counters.compared(Compared::Unknown);
            Fate::Passed
        }
        Comparison::Wrong { told, refusal } => {
            worker.counters.compared(Compared::Wrong);
            if worker.counters.may_tell_wrong(worker.deadlines.now_ms()) {
                let status = x.response.status;
                tracing::warn!(route = %route.id, status, "a response breaks its definition: {told}");
            }
            refusal.map_or(Fate::Passed, Fate::Refused)
        }
    }
}
